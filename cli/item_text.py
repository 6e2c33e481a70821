"""Find an item by its id, and print it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from fcreview.cli.item_rows import iterate_item_rows
from fcreview.cli.output import emit_lines, get_wrap_width
from fcreview.cli.workspace import WorkspaceSession, format_run_choices
from fcreview.errors import CommandError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import INCIDENT_PREFIX, format_verdict
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text, sanitize_and_wrap

if TYPE_CHECKING:
    from fcreview.store.rows import ItemDetail, RunRow


MAX_SEARCHED = 20_000  # maximum number of ids that are searched for a similar id
FULL_HINT = "use --full for the full text"
INDENT = " " * 8


def find_item_number(session: WorkspaceSession, item_id: str, run: str | None) -> int:
    """Return the number of the item with an id, in the run that `run` names or in any run.

    Raises CommandError if no item or several items have the id.
    """
    item_numbers: list[int] = []
    runs_with_item: list[RunRow] = []
    for row in session.select_runs(run):
        numbers_in_run = session.store.find_items(item_id, row.run)
        if numbers_in_run:
            item_numbers += numbers_in_run
            runs_with_item.append(row)

    if not item_numbers:
        raise CommandError(f"no item has the id {item_id!r}. {_suggest_ids(session, item_id, run)}")
    if len(item_numbers) > 1:
        raise CommandError(_explain_ambiguous_id(item_id, len(item_numbers), runs_with_item))
    return item_numbers[0]


def _explain_ambiguous_id(item_id: str, n_items: int, runs_with_item: Sequence[RunRow]) -> str:
    """Say how to choose one of several items with the same id."""
    run_choices = format_run_choices(runs_with_item)
    if len(runs_with_item) == 1:
        return (
            f"{n_items} items of run {run_choices} have the id {item_id!r}. Choose one of them in"
            " the app with fcreview open"
        )
    return f"{len(runs_with_item)} runs have an item {item_id!r}. Choose --run {run_choices}"


def _suggest_ids(session: WorkspaceSession, item_id: str, run: str | None) -> str:
    """Return advice with similar ids among the first items."""
    rows = iterate_item_rows(session, session.build_view(run=run), MAX_SEARCHED)
    ids = dict.fromkeys(row.id for row in rows)
    similar = get_close_matches(item_id, list(ids), n=3, cutoff=0.6)
    if similar:
        return f"Did you mean {' or '.join(similar)}?"
    return "Run fcreview items to list the ids"


def print_item(session: WorkspaceSession, item: int, *, full: bool = False) -> None:
    detail = read_compared_detail(session, item)
    emit_lines(format_item_lines(detail, session.annotator, get_wrap_width(), full=full))


def read_compared_detail(session: WorkspaceSession, item: int) -> ItemDetail:
    """Read an item, compared with the golden answer that annotators accepted, if there is one."""
    from fcreview.importers.registry import compare_with_golden_fix
    from fcreview.tui.accepted_golden import compare_with_accepted_golden

    return compare_with_accepted_golden(session.store.read_detail(item), compare_with_golden_fix)


def format_item_lines(
    detail: ItemDetail, annotator: str, width: int, *, full: bool = False
) -> Iterator[str]:
    """Format an item as lines of sanitised text, as the app shows it.

    Unless `full`, long texts are shortened and show their full size.
    """
    yield format_item_heading(detail)
    options = DisplayOptions(full_dialogue=full, unfold_all=full, print_hint=FULL_HINT)
    for block in build_document(detail, annotator, options):
        # Very long texts stay folded, so they are printed from their source.
        if full and block.folded and block.full_text:
            yield f"{sanitize(block.title)}:"
            for line in sanitize_and_wrap(block.full_text(), width - len(INDENT)):
                yield INDENT + line
        else:
            for styled_line in block.lines(width):
                yield plain_text(styled_line)


def format_item_heading(detail: ItemDetail) -> str:
    """Format the verdicts of an item: `simple_3 official fail recomp. fail judge - human -
    value_error`.
    """
    row = detail.row
    error = sanitize(row.error_type or row.rule_error_type or "")
    if row.is_incident:
        error = f"{INCIDENT_PREFIX}{row.incident}"
    parts = [
        sanitize(row.id),
        f"official {format_verdict(row.official)}",
        f"recomp. {format_verdict(row.rule)}",
        f"judge {format_verdict(row.judge)}",
        f"human {format_verdict(row.human)}",
        error,
    ]
    if row.stale:
        parts.append("STALE REVIEW")
    return "   ".join(parts).rstrip()

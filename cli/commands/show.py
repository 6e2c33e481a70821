"""`fcreview show`: one item as text, laid out as on the item screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.commands.items import rows_of
from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.options import Annotator, AsJson, Data, ErrataOption, PathArgument, RunOption, WorkspaceOption
from fcreview.cli.output import cells, emit, emit_json, note
from fcreview.cli.workspace import Opened, Place, listed, opened
from fcreview.model.sanitize import visible
from fcreview.model.wording import word

if TYPE_CHECKING:
    from fcreview.store.rows import ItemDetail
    from fcreview.tui.item_view.blocks import Block

SEARCHED = 20_000
"""Items whose ids are looked through for 'did you mean'."""
WHOLE = "whole with --full"


def show(
    path: PathArgument,
    item: Annotated[
        str, typer.Argument(metavar="ITEM", help="The item's id, as `items` lists it.", show_default=False)
    ],
    run: RunOption = None,
    full: Annotated[bool, typer.Option("--full", help="All messages, and long texts whole.")] = False,
    annotator: Annotator = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write it as a page instead: one file.", show_default=False),
    ] = None,
) -> None:
    """Show one item.

    The dialogue, golden beside predicted calls argument by argument, the verdicts and the reviews.

    Example: fcreview show runs/gpt4o live_simple_3-3-0 --full
    """
    with opened(Place([path], data, workspace, annotator=annotator, errata=errata)) as session:
        chosen = one_item(session, item, run)
        if html is not None:
            if as_json:
                raise UsageError("--html and --json are two forms: name one")
            _write_page(session, chosen, html)
        elif as_json:
            emit_json(item_json(session.store.detail(chosen)))
        else:
            print_item(session, chosen, full=full)


def _write_page(session: Opened, item: int, file: Path) -> None:
    """ExportError if it cannot be written; what was there before then stays."""
    from fcreview.cli.item_page import item_page
    from fcreview.exporters.export import write_file

    detail = session.store.detail(item)
    page = item_page(detail, session.annotator, heading(detail))
    write_file(file, page.encode("utf-8", "replace"))
    note(f"written: {file}")


def one_item(session: Opened, named: str, run: str | None) -> int:
    """The row key of the item a person means. CommandError with candidates if it is unknown or there are several."""
    found = [(row, item) for row in session.chosen(run) for item in session.store.find(named, row.run)]
    if len(found) == 1:
        return found[0][1]
    if not found:
        close = get_close_matches(named, _ids(session, run), n=3, cutoff=0.6)
        raise CommandError(f"no item {named!r} here" + (f"; did you mean {' or '.join(close)}?" if close else ""))
    several = list({row.run: row for row, _ in found}.values())
    if len(several) == 1:
        raise CommandError(f"{named!r} stands {len(found)} times in run {listed(several)}: its files repeat an id")
    raise CommandError(f"{named!r} is in {len(several)} runs, choose one with --run: {listed(several)}")


def _ids(session: Opened, run: str | None) -> list[str]:
    rows = rows_of(session, session.view(run=run), SEARCHED)
    return list(dict.fromkeys(row.id for row in rows))


def item_json(detail: ItemDetail) -> dict[str, Any]:
    """The detail's own fields. In `item.extra` all names stand beside each other, those of the benchmark too."""
    extra = detail.item.extra.as_json()
    if "state_differences" in extra:
        sides = extra["state_differences"].items()
        extra["state_differences"] = {
            name: {"model": both["predicted"], "ground_truth": both["golden"]} for name, both in sides
        }
    extra = {**extra.pop("more", {}), **extra}
    return _shallow(detail) | {"item": _shallow(detail.item) | {"extra": extra}}


def _shallow(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}


def print_item(session: Opened, item: int, *, full: bool = False) -> None:
    for line in item_lines(session.store.detail(item), session.annotator, cells(), full=full):
        emit(line)


def item_lines(detail: ItemDetail, annotator: str, width: int, *, full: bool = False) -> Iterator[str]:
    """The item as lines of safe text. Without `full`, long texts show their head and their size."""
    from fcreview.tui.item_view.blocks import Options
    from fcreview.tui.item_view.document import document
    from fcreview.tui.text.lines import plain

    yield heading(detail)
    for block in document(detail, annotator, Options(dialogue=full, open_all=full, in_print=WHOLE)):
        yield from _whole(block, width) if full and block.folded and block.full else map(plain, block.lines(width))


def heading(detail: ItemDetail) -> str:
    """`live_simple_3-2-1   official fail   rule fail   judge -   human -   value_error:string`"""
    row = detail.row
    said = [f"{name} {word(getattr(row, name))}" for name in ("official", "rule", "judge", "human")]
    error = visible(row.error_type or row.rule_error_type or "")
    return "   ".join([visible(row.id), *said, error, "STALE REVIEW" if row.stale else ""]).rstrip()


def _whole(block: Block, width: int) -> Iterator[str]:
    """A text that the screen would open in its pager."""
    from fcreview.tui.text.lines import wrap_text

    yield f"{visible(block.title)}:"
    for line in wrap_text(block.full() if block.full else "", width - 8):
        yield "        " + line

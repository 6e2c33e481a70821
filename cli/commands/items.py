"""`fcreview items`: list items with their verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.options import (
    JsonOption,
    OrderSeedOption,
    QueueOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    clip_to_terminal,
    emit,
    emit_json,
    format_cell,
    format_row,
    print_message,
    show_activity,
)
from fcreview.cli.workspace import WorkspaceSession
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import UsageError
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import INCIDENT_PREFIX, format_count, format_verdict

if TYPE_CHECKING:
    from fcreview.model.item import Run
    from fcreview.store.queries.runs import RunMissingItem
    from fcreview.store.rows import QueueRow, View

WINDOW_ROWS = 1000  # number of rows that one query fetches
HEADERS = ["item", "category", "official", "recomp.", "judge", "human", "error", "first difference"]
MAX_COLUMN = 30  # width limit of columns, except for ids and the last column, in terminal columns


@workspace_command("annotator", "policy")
def items(
    options: WorkspaceOptions,
    where: WhereOption = "",
    limit: Annotated[int | None, option("--limit N", "List at most N items.", min=0)] = None,
    queue: QueueOption = "dataset",
    seed: OrderSeedOption = 0,
    run: RunOption = None,
    ids: Annotated[bool, option("--ids", "Print only the ids, each once, one a line.")] = False,
    not_run: Annotated[
        bool,
        option(
            "--not-run",
            "Also list the items of the dataset without a result. --where does not apply to them.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List items with their verdicts.

    Prints the official, recomputed, judge and human verdict, the error type and the first
    difference. To list what a benchmark's program should run again, use --where incident:any --ids
    --not-run.

    Example: fcreview items runs/gpt4o --where 'official:fail -reviewed' --limit 20
    """
    if ids and as_json:
        raise UsageError("--ids and --json exclude each other. Pass only one of them")
    with open_workspace(options) as session:
        view = session.build_view(where, queue=queue, seed=seed, run=run)
        missing = session.store.fetch_not_run(view.runs) if not_run else []
        if ids:
            _print_ids(session, view, limit, missing)
            return
        session.print_policy(as_json=as_json)
        if limit != 0:
            with show_activity("searching items"):
                session.store.count_items(view)
        if as_json:
            for rows in _fetch_row_windows(session, view, limit):
                judged = session.store.analysis.fetch_judge_verdicts([row.item for row in rows])
                for row in rows:
                    emit_json(
                        _build_row_json(row, session.store.runs[row.run])
                        | {"judged": judged.get(row.item, [])}
                    )
            store = session.store
            emit_json(
                *(
                    _build_missing_json(each, store.runs[each.run], store.run_names[each.run])
                    for each in missing
                )
            )
        else:
            print_item_rows(session, view, limit)
            for each in missing:
                emit(f"{sanitize(each.item.id)}  {format_cell(each.item.category)}  not run")
        if limit != 0 and not session.store.count_items(view):
            print_message(f"fcreview: {session.explain_empty_view(view)}")


def _print_ids(
    session: WorkspaceSession, view: View, limit: int | None, missing: Sequence[RunMissingItem]
) -> None:
    """Print each id once. Several runs can have items of the same id."""
    printed: set[str] = set()
    for row in iterate_item_rows(session, view, limit):
        if row.id not in printed:
            printed.add(row.id)
            emit(sanitize(row.id))
    for each in missing:
        if each.item.id not in printed:
            printed.add(each.item.id)
            emit(sanitize(each.item.id))


def _build_missing_json(missing: RunMissingItem, run: Run, run_name: str) -> dict[str, Any]:
    """Build the JSON object of an item without a result.

    Only these objects have the field `not_run`.
    """
    names = {name: getattr(run, name) for name in ("benchmark", "generation", "language")}
    item = missing.item
    run_fields = {"run": missing.run, "run_name": run_name, "model": run.model, **names}
    return {**run_fields, "category": item.category, "id": item.id, "not_run": True}


def iterate_item_rows(
    session: WorkspaceSession, view: View, limit: int | None
) -> Iterator[QueueRow]:
    return (row for rows in _fetch_row_windows(session, view, limit) for row in rows)


def _fetch_row_windows(
    session: WorkspaceSession, view: View, limit: int | None
) -> Iterator[list[QueueRow]]:
    """Fetch rows in windows, so that memory use does not grow with the list."""
    offset = 0
    while limit is None or offset < limit:
        size = WINDOW_ROWS if limit is None else min(WINDOW_ROWS, limit - offset)
        window = session.store.fetch_page(view, offset, size)
        yield window
        offset += len(window)
        if len(window) < WINDOW_ROWS:
            return


def _build_row_json(row: QueueRow, run: Run) -> dict[str, Any]:
    """Build the JSON object of an item.

    An automatic verdict is true (pass), false or null (unknown).
    """
    fields = {
        name: value
        for name, value in asdict(row).items()
        if name not in ("item", "seq", "model", "run_name")
    }
    names = {name: getattr(run, name) for name in ("benchmark", "generation", "language")}
    return {"run": row.run, "run_name": row.run_name, "model": row.model, **names, **fields}


def print_item_rows(session: WorkspaceSession, view: View, limit: int | None) -> None:
    """Print items as a table with complete ids.

    The first rows determine the widths of the other columns.
    """
    has_names = (len(view.runs) or session.n_runs) > 1
    headers = ["run", *HEADERS] if has_names else HEADERS
    printed, widths = 0, list[int]()
    for rows in _fetch_row_windows(session, view, limit):
        cells = [[*([row.run_name] if has_names else []), *_format_row_cells(row)] for row in rows]
        printed += len(cells)
        if cells and not widths:
            widths = [
                min(max(map(display_width, column)), MAX_COLUMN)
                for column in zip(headers, *cells, strict=True)
            ]
            cells = [headers, *cells]
        for line in cells:
            own_widths = list(widths)
            for at in (headers.index("item"), len(line) - 1):
                own_widths[at] = max(widths[at], display_width(line[at]))
            emit(clip_to_terminal(format_row(line, own_widths)))
    total = session.store.count_items(view)
    print_message(
        f"{printed:,} of {format_count(total, 'item')}"
        if printed < total
        else format_count(total, "item")
    )


def _format_row_cells(row: QueueRow) -> list[str]:
    error = row.error_type or row.rule_error_type
    if row.is_incident:
        error = f"{INCIDENT_PREFIX}{row.incident}"
    return [
        sanitize(row.id),
        format_cell(row.category),
        *map(format_verdict, (row.official, row.rule, row.judge, row.human)),
        format_cell(error),
        format_cell(row.first_difference),
    ]

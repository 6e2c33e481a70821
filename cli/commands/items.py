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
            # The first count takes the time of the search. The store keeps it for the rows below.
            with show_activity("searching items"):
                session.store.count_items(view)

        if as_json:
            _emit_items_as_json(session, view, limit, missing)
        else:
            print_item_rows(session, view, limit)
            _print_missing_items(missing)
        if limit != 0 and not session.store.count_items(view):
            print_message(f"fcreview: {session.explain_empty_view(view)}")


def _print_missing_items(missing: Sequence[RunMissingItem]) -> None:
    for missing_item in missing:
        item = missing_item.item
        emit(f"{sanitize(item.id)}  {format_cell(item.category)}  not run")


def _emit_items_as_json(
    session: WorkspaceSession, view: View, limit: int | None, missing: Sequence[RunMissingItem]
) -> None:
    """Print a JSON object for each item, then for each item of the dataset without a result."""
    store = session.store
    for rows in _fetch_row_windows(session, view, limit):
        judge_verdicts = store.analysis.fetch_judge_verdicts([row.item for row in rows])
        for row in rows:
            fields = _build_row_json(row, store.runs[row.run])
            fields["judged"] = judge_verdicts.get(row.item, [])
            emit_json(fields)
    for missing_item in missing:
        run = store.runs[missing_item.run]
        emit_json(_build_missing_json(missing_item, run, store.run_names[missing_item.run]))


def _print_ids(
    session: WorkspaceSession, view: View, limit: int | None, missing: Sequence[RunMissingItem]
) -> None:
    """Print each id once. Several runs can have items of the same id."""
    printed: set[str] = set()
    for item_id in _iterate_ids(session, view, limit, missing):
        if item_id not in printed:
            printed.add(item_id)
            emit(sanitize(item_id))


def _iterate_ids(
    session: WorkspaceSession, view: View, limit: int | None, missing: Sequence[RunMissingItem]
) -> Iterator[str]:
    """Yield the ids of the items of a view, then those that a run lacks."""
    for row in iterate_item_rows(session, view, limit):
        yield row.id
    for missing_item in missing:
        yield missing_item.item.id


def _build_missing_json(missing: RunMissingItem, run: Run, run_name: str) -> dict[str, Any]:
    """Build the JSON object of an item without a result.

    Only these objects have the field `not_run`.
    """
    return {
        "run": missing.run,
        "run_name": run_name,
        "model": run.model,
        "benchmark": run.benchmark,
        "generation": run.generation,
        "language": run.language,
        "category": missing.item.category,
        "id": missing.item.id,
        "not_run": True,
    }


def iterate_item_rows(
    session: WorkspaceSession, view: View, limit: int | None
) -> Iterator[QueueRow]:
    for rows in _fetch_row_windows(session, view, limit):
        yield from rows


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
    row_fields = asdict(row)
    # The first two are internal, and the other two come first, beside the fields of the run.
    for name in ("item", "seq", "model", "run_name"):
        del row_fields[name]
    return {
        "run": row.run,
        "run_name": row.run_name,
        "model": row.model,
        "benchmark": run.benchmark,
        "generation": run.generation,
        "language": run.language,
        **row_fields,
    }


def print_item_rows(session: WorkspaceSession, view: View, limit: int | None) -> None:
    """Print items as a table with complete ids.

    The first rows determine the widths of the other columns.
    """
    n_runs = len(view.runs) or session.n_runs
    shows_runs = n_runs > 1
    headers = ["run", *HEADERS] if shows_runs else HEADERS

    n_printed = 0
    widths: list[int] = []
    for rows in _fetch_row_windows(session, view, limit):
        table = [_format_row_cells(row, shows_run=shows_runs) for row in rows]
        if table and not widths:
            # Later rows may be wider, but waiting for them would take long.
            widths = _measure_columns([headers, *table])
            _print_table_line(headers, widths, headers)
        for cells in table:
            _print_table_line(cells, widths, headers)
        n_printed += len(table)

    n_items = session.store.count_items(view)
    items = format_count(n_items, "item")
    if n_printed < n_items:
        print_message(f"{n_printed:,} of {items}")
    else:
        print_message(items)


def _measure_columns(table: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of the widest cell of each column, at most `MAX_COLUMN`."""
    widths = []
    for cells in zip(*table, strict=True):
        widest = max(display_width(cell) for cell in cells)
        widths.append(min(widest, MAX_COLUMN))
    return widths


def _print_table_line(cells: Sequence[str], widths: Sequence[int], headers: Sequence[str]) -> None:
    """Print a line. The id and the last cell are never cut, so that they can be copied."""
    line_widths = list(widths)
    for column in (headers.index("item"), len(cells) - 1):
        line_widths[column] = max(widths[column], display_width(cells[column]))
    emit(clip_to_terminal(format_row(cells, line_widths)))


def _format_row_cells(row: QueueRow, *, shows_run: bool) -> list[str]:
    """Format the cells of an item, in the order of `HEADERS`. The run comes first if it is
    shown.
    """
    error = row.error_type or row.rule_error_type
    if row.is_incident:
        error = f"{INCIDENT_PREFIX}{row.incident}"
    cells = [
        sanitize(row.id),
        format_cell(row.category),
        format_verdict(row.official),
        format_verdict(row.rule),
        format_verdict(row.judge),
        format_verdict(row.human),
        format_cell(error),
        format_cell(row.first_difference),
    ]
    return [row.run_name, *cells] if shows_run else cells

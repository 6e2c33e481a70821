"""Print lists of items as tables or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fcreview.cli.output import (
    clip_to_terminal,
    emit,
    format_cell,
    format_row,
    print_message,
)
from fcreview.cli.workspace import WorkspaceSession
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import INCIDENT_PREFIX, format_count, format_verdict

if TYPE_CHECKING:
    from fcreview.model.item import Run
    from fcreview.store.judgements import ItemJudgement
    from fcreview.store.rows import QueueRow, View


WINDOW_ROWS = 1000  # number of rows that one query fetches
HEADERS = ["item", "category", "official", "recomp.", "judge", "human", "error", "first difference"]
MAX_COLUMN = 30  # width limit of columns, except for ids and the last column, in terminal columns


def iterate_item_rows(
    session: WorkspaceSession, view: View, limit: int | None
) -> Iterator[QueueRow]:
    for rows in fetch_row_windows(session, view, limit):
        yield from rows


def fetch_row_windows(
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


def build_row_json(row: QueueRow, run: Run) -> dict[str, Any]:
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
    """Print the items of a view as a table, and how many items the view has.

    Only the first rows determine the widths of the columns.
    """
    n_runs = len(view.runs) or session.n_runs
    shows_runs = n_runs > 1
    headers = _list_headers(session.store.judgements.names, shows_run=shows_runs)

    n_printed = 0
    widths: list[int] = []
    for rows in fetch_row_windows(session, view, limit):
        table = _format_table_rows(session, rows, headers, shows_run=shows_runs)
        is_first_window = bool(table) and not widths
        if is_first_window:
            # Later rows may be wider, but waiting for them would take long.
            widths = _measure_columns([headers, *table])
            _print_table_line(headers, widths, headers)
        for cells in table:
            _print_table_line(cells, widths, headers)
        n_printed += len(table)
    _print_item_count(n_printed, session.store.count_items(view))


def _print_item_count(n_printed: int, n_items: int) -> None:
    items = format_count(n_items, "item")
    if n_printed < n_items:
        print_message(f"{n_printed:,} of {items}")
    else:
        print_message(items)


def _format_table_rows(
    session: WorkspaceSession, rows: Sequence[QueueRow], headers: list[str], *, shows_run: bool
) -> list[list[str]]:
    """Format the cells of items, with a cell for each judge of `fcreview judge`."""
    judges = session.store.judgements.names
    judgements = session.store.fetch_visible_judgements(rows)
    # The columns of `fcreview judge` follow that of the imported judge verdict.
    index = headers.index("judge") + 1
    table = []
    for row in rows:
        cells = _format_row_cells(row, shows_run=shows_run)
        cells[index:index] = _format_judgement_cells(session, row, judgements, judges)
        table.append(cells)
    return table


def _list_headers(judges: Sequence[str], *, shows_run: bool) -> list[str]:
    """Return the headings: those of all tables, and one for each judge of `fcreview judge`."""
    index = HEADERS.index("judge") + 1
    names = [f"judge {name}" for name in judges]
    headers = [*HEADERS[:index], *names, *HEADERS[index:]]
    if shows_run:
        headers.insert(0, "run")
    return headers


def _format_judgement_cells(
    session: WorkspaceSession,
    row: QueueRow,
    judgements: Mapping[int, Sequence[ItemJudgement]],
    judges: Sequence[str],
) -> list[str]:
    """Format the verdict of each judge of `fcreview judge`, which is hidden until the review."""
    is_hidden = row.you is None and not session.store.judgements.shows_all
    if is_hidden:
        return ["hidden"] * len(judges)
    verdicts = {each.judge: each.verdict for each in judgements.get(row.item, ())}
    return [format_verdict(verdicts.get(judge)) for judge in judges]


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

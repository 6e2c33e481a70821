"""`fcreview items`: one line an item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.options import (
    Annotator,
    AsJson,
    Data,
    ErrataOption,
    PathArgument,
    PolicyOption,
    Queue,
    RunOption,
    Seed,
    WhereOption,
    WorkspaceOption,
)
from fcreview.cli.output import cut, emit, emit_json, laid_out, note, text_of
from fcreview.cli.workspace import Opened, Place, opened
from fcreview.model.sanitize import visible, width
from fcreview.model.wording import count_of, word

if TYPE_CHECKING:
    from fcreview.store.rows import QueueRow, RunRow, View

WINDOW = 1000
HEADERS = ["item", "category", "off", "rule", "judge", "human", "error", "first difference"]
WIDEST = 30
"""Cells of a column, but for ids and the last one."""


def items(
    path: PathArgument,
    where: WhereOption = "",
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=0, help="At most N items.", show_default=False)
    ] = None,
    queue: Queue = "dataset",
    seed: Seed = 0,
    run: RunOption = None,
    annotator: Annotator = None,
    policy: PolicyOption = "unanimous",
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """List items with the verdicts on them.

    Example: fcreview items runs/gpt4o --where 'official:fail -reviewed' --limit 20
    """
    with opened(Place([path], data, workspace, annotator=annotator, policy=policy, errata=errata)) as session:
        view = session.view(where, queue=queue, seed=seed, run=run)
        session.head(as_json=as_json)
        if as_json:
            runs = {row.run: row for row in session.runs}
            for rows in windows(session, view, limit):
                judged = session.store.told.judged([row.item for row in rows])
                for row in rows:
                    emit_json(fields_of(row, runs[row.run]) | {"judged": judged.get(row.item, [])})
        else:
            print_rows(session, view, limit)
        if limit != 0 and not session.store.count(view):
            note(f"fcreview: {session.why_none(view)}")


def rows_of(session: Opened, view: View, limit: int | None) -> Iterator[QueueRow]:
    return (row for rows in windows(session, view, limit) for row in rows)


def windows(session: Opened, view: View, limit: int | None) -> Iterator[list[QueueRow]]:
    """Rows in windows: memory does not grow with the list."""
    offset = 0
    while limit is None or offset < limit:
        window = session.store.page(view, offset, WINDOW if limit is None else min(WINDOW, limit - offset))
        yield window
        offset += len(window)
        if len(window) < WINDOW:
            return


def fields_of(row: QueueRow, run: RunRow) -> dict[str, Any]:
    """The JSON object of an item: the fields of `QueueRow` and of its run. Verdicts are true, false or null; `human`
    may be "disputed" or "unsure"."""
    fields = asdict(row)
    for internal in ("item", "seq", "run_name"):
        del fields[internal]
    info = run.info
    names = {"benchmark": info.benchmark, "generation": info.generation, "language": info.language}
    return {"run": row.run, "model": row.model, **names, **fields}


def print_rows(session: Opened, view: View, limit: int | None) -> None:
    """Lines for people. Ids are never cut."""
    several = (len(view.runs) or len(session.runs)) > 1
    headers = ["model", *HEADERS] if several else HEADERS
    shown, batch = 0, []
    sizes: list[int] = []
    for row in rows_of(session, view, limit):
        batch.append([text_of(row.model), *_cells_of(row)] if several else _cells_of(row))
        if len(batch) == WINDOW:
            sizes = _print_batch(headers, batch, sizes)
            shown, batch = shown + len(batch), []
    _print_batch(headers, batch, sizes)
    shown += len(batch)
    total = session.store.count(view)
    note(f"{shown:,} of {count_of(total, 'item')}" if shown < total else count_of(total, "item"))


def _cells_of(row: QueueRow) -> list[str]:
    error = row.error_type or row.rule_error_type
    return [
        visible(row.id), text_of(row.category), word(row.official), word(row.rule), word(row.judge), word(row.human),
        text_of(error), text_of(row.first_difference),
    ]  # fmt: skip


def _print_batch(headers: list[str], batch: list[list[str]], sizes: list[int]) -> list[int]:
    """Widths are those of the first batch; the header is printed with it."""
    if not batch:
        return sizes
    if not sizes:
        sizes = [min(max(map(width, column)), WIDEST) for column in zip(headers, *batch, strict=True)]
        batch = [headers, *batch]
    ids = headers.index("item")
    for row in batch:
        own = [max(size, width(row[at])) if at in (ids, len(row) - 1) else size for at, size in enumerate(sizes)]
        emit(cut(laid_out(row, own)))
    return sizes

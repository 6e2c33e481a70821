"""`fcreview report`: every run's published tables, official, recomputed and corrected side by side."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.common import Place, opened
from fcreview.cli.options import AsJson, Data, PathArgument, PolicyOption, WorkspaceOption
from fcreview.cli.output import aligned, emit, emit_json, text_of
from fcreview.figures import SOURCES, Figure, FigureSource, Unit

if TYPE_CHECKING:
    from fcreview.store.rows import RunRow
    from fcreview.store.store import Store

RunOption = Annotated[int | None, typer.Option("--run", help="Only this run (its number in `fcreview runs`).")]


@dataclass(slots=True)
class FigureLine:
    """One figure with its value from every source."""

    table: str
    name: str
    unit: Unit
    level: int
    note: str
    values: dict[FigureSource, float | None] = field(default_factory=dict)


def report(
    path: PathArgument,
    run: RunOption = None,
    policy: PolicyOption = "unanimous",
    data: Data = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show each run's tables as the benchmark publishes them: official, recomputed, and corrected by reviews.

    Example: fcreview report runs/gpt4o --json
    """
    with opened(Place([path], data, workspace, policy=policy)) as session:
        session.head(as_json=as_json)
        for row in session.runs:
            if run is None or row.run == run:
                lines = figures_of(session.store, row)
                show_json(row, lines) if as_json else show(row, lines)


def figures_of(store: Store, row: RunRow) -> list[FigureLine]:
    """The lines of a run in the order of its benchmark's tables."""
    from fcreview.importers.registry import figures

    rows = store.scored(row.run)
    lines: dict[tuple[str, str], FigureLine] = {}
    for source in SOURCES:
        found: list[Figure] = figures(rows[source], row.info)
        for one in found:
            line = lines.setdefault(
                (one.table, one.name), FigureLine(one.table, one.name, one.unit, one.level, one.note)
            )
            line.values[source] = one.value
    return list(lines.values())


def show_json(row: RunRow, lines: list[FigureLine]) -> None:
    info = row.info
    head = {"run": row.run, "benchmark": info.benchmark, "generation": info.generation, "language": info.language}
    for line in lines:
        fields = asdict(line)
        values: dict[str, Any] = fields.pop("values")
        emit_json(head | {"model": info.model} | fields | {source: values.get(source) for source in SOURCES})


def show(row: RunRow, lines: list[FigureLine]) -> None:
    info = row.info
    words = [text_of(word) for word in (info.benchmark, info.generation, info.language, info.model) if word]
    emit(f"run {row.run}   {'  '.join(words)}   {row.n_items:,} items")
    for table in dict.fromkeys(line.table for line in lines):
        part = [line for line in lines if line.table == table]
        cells = [
            [
                "  " * line.level + text_of(line.name),
                *(number(line.values.get(source), line.unit) for source in SOURCES),
                text_of(line.note),
            ]
            for line in part
        ]
        emit()
        for text in aligned([text_of(table), *SOURCES, ""], cells, right=(1, 2, 3), widest=44):
            emit(text.rstrip())
    emit()


def number(value: float | None, unit: Unit) -> str:
    if value is None:
        return "·"
    if unit == "share":
        return f"{100 * value:.1f} %"
    if unit == "percent":
        return f"{value:.1f} %"
    return f"{value:,.0f}" if unit == "count" else f"{value:.3f}"

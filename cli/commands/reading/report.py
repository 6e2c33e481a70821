"""`fcreview report`: every run's published tables, official, recomputed and corrected side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.common import Place, opened
from fcreview.cli.finding.errata import applied
from fcreview.cli.options import AsJson, Data, ErrataOption, PathArgument, PolicyOption, WorkspaceOption
from fcreview.cli.output import alert, aligned, emit, emit_json, text_of
from fcreview.figures import SOURCES, WITH_ERRATA, Figure, FigureSource, Key, RunItems, Scored, Unit
from fcreview.text.numbers import number
from fcreview.text.words import NO_DATASET, count_of

if TYPE_CHECKING:
    from fcreview.errata.file import Errata
    from fcreview.model import Run
    from fcreview.store.rows import RunRow

RunOption = Annotated[int | None, typer.Option("--run", help="Only this run (its number in `fcreview runs`).")]


@dataclass(slots=True)
class FigureLine:
    """One figure with its value from every source."""

    table: str
    name: str
    unit: Unit
    level: int
    note: str
    digits: int
    counted: str
    of: int | None = None
    """How many verdicts there would be."""
    n: dict[FigureSource, int | None] = field(default_factory=dict)
    """How many there are, by source."""
    values: dict[FigureSource, float | None] = field(default_factory=dict)


Sourced = dict[FigureSource, list[Scored]]


@dataclass(slots=True)
class Part:
    """A run with its items, read once: for its own tables and for those over several runs."""

    row: RunRow
    rows: Sourced


def report(
    path: PathArgument,
    run: RunOption = None,
    policy: PolicyOption = "unanimous",
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show each run's tables as the benchmark publishes them: official, recomputed, and corrected by reviews.

    Runs of one model that the benchmark publishes figures of together (ACEBench: both languages) follow at the end.

    Where errata are applied (--errata), a column says what the rules make of the runs with them; corrected figures
    start from the official verdict as ever.

    Example: fcreview report runs/gpt4o --json
    """
    from fcreview.importers.registry import IMPORTERS

    show_it = show_json if as_json else show
    with opened(Place([path], data, workspace, policy=policy, errata=errata)) as session:
        session.head(as_json=as_json)
        known = applied(session.workspace)
        together: dict[tuple[str, str, str], list[Part]] = {}
        for row in session.runs:
            if run is None or row.run == run:
                sources = _sources(known, row.info)
                part = Part(row, session.store.told.scored(row.run, errata="errata" in sources))
                show_it(_head(row), figures_of(part.rows, row.info), sources)
                if row.info.lacks_dataset:
                    alert(f"run {row.run}: {NO_DATASET}")
                importer = IMPORTERS.get(row.info.benchmark)
                if importer is not None and importer.combines:
                    together.setdefault((row.info.benchmark, row.info.generation, row.info.model), []).append(part)
        for parts in together.values():
            if lines := combined_of(parts):
                show_it(_head_of(parts), lines, tuple(parts[0].rows))


def _sources(errata: Errata | None, info: Run) -> tuple[FigureSource, ...]:
    """With `errata` where the run was read with any."""
    from fcreview.importers.registry import IMPORTERS

    mends = info.benchmark in IMPORTERS and IMPORTERS[info.benchmark].mends
    return WITH_ERRATA if errata and mends and errata.of(info.benchmark) else SOURCES


def figures_of(rows: Sourced, info: Run) -> list[FigureLine]:
    """The lines of a run in the order of its benchmark's tables."""
    from fcreview.importers.registry import figures

    return _lines(lambda source: figures(rows[source], info), rows)


def combined_of(parts: list[Part]) -> list[FigureLine]:
    """The lines over several runs of one model; none if its benchmark publishes none for these."""
    from fcreview.importers.registry import combined

    return _lines(
        lambda source: combined([RunItems(part.row.info, part.rows[source]) for part in parts]), parts[0].rows
    )


def _lines(figures: Callable[[FigureSource], Iterable[Figure]], sources: Iterable[FigureSource]) -> list[FigureLine]:
    lines: dict[Key, FigureLine] = {}
    for source in sources:
        for one in figures(source):
            line = lines.get(one.key)
            if line is None:
                line = FigureLine(one.table, one.name, one.unit, one.level, one.note, one.digits, one.counted, one.of)
                lines[one.key] = line
            line.values[source], line.n[source] = one.value, one.n
    return list(lines.values())


def _head(row: RunRow) -> dict[str, Any]:
    info = row.info
    return {
        "run": row.run, "benchmark": info.benchmark, "generation": info.generation, "language": info.language,
        "model": info.model, "n_items": row.n_items,
    }  # fmt: skip


def _head_of(parts: list[Part]) -> dict[str, Any]:
    """Of several runs together: `run` is null, languages are joined by `+`."""
    languages = "+".join(dict.fromkeys(part.row.info.language for part in parts))
    return _head(parts[0].row) | {
        "run": None,
        "language": languages,
        "n_items": sum(part.row.n_items for part in parts),
    }


def show_json(head: dict[str, Any], lines: list[FigureLine], sources: tuple[FigureSource, ...]) -> None:
    shown = {name: value for name, value in head.items() if name != "n_items"}
    for line in lines:
        fields = asdict(line)
        values, n = fields.pop("values"), fields.pop("n")
        counts = {"n": {source: n.get(source) for source in sources}}
        emit_json(shown | fields | counts | {source: values.get(source) for source in sources})


def show(head: dict[str, Any], lines: list[FigureLine], sources: tuple[FigureSource, ...]) -> None:
    words = [text_of(head[name]) for name in ("benchmark", "generation", "language", "model") if head[name]]
    first = f"run {head['run']}" if head["run"] is not None else "together"
    emit(f"{first}   {'  '.join(words)}   {head['n_items']:,} items")
    for table in dict.fromkeys(line.table for line in lines):
        part = [line for line in lines if line.table == table]
        cells = [
            [
                "  " * line.level + text_of(line.name),
                *(number(shown_value(line, source), line.unit, line.digits) for source in sources),
                "; ".join(filter(None, (_basis(line, sources), text_of(line.note)))),
            ]
            for line in part
        ]
        emit()
        for text in aligned([text_of(table), *sources, ""], cells, right=range(1, len(sources) + 1), widest=44):
            emit(text.rstrip())
    emit()


def shown_value(line: FigureLine, source: FigureSource) -> float | None:
    """None for what is recomputed of a part only: which part is no accident, so that it is not to be compared."""
    n = line.n.get(source)
    partial = source in ("rule", "errata") and n is not None and line.of is not None and n < line.of
    return None if partial else line.values.get(source)


def _basis(line: FigureLine, sources: Iterable[FigureSource]) -> str:
    """`400 items`, and of which sources' verdicts there are fewer: `400 items (rule 380)`."""
    if line.of is None:
        return ""
    fewer = [f"{s} {n:,}" for s in sources if (n := line.n.get(s)) is not None and n < line.of]
    return count_of(line.of, line.counted.removesuffix("s")) + (f" ({', '.join(fewer)})" if fewer else "")

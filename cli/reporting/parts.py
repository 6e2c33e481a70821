"""Runs with their items, and the figures that their benchmarks publish of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fcreview.cli.finding.errata import applied, of_importer
from fcreview.cli.progress import Progress
from fcreview.figures import FigureSource, RunItems, Scored
from fcreview.reporting.lines import FigureLine, lines_of
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.cli.opened import Opened
    from fcreview.errata.file import Errata
    from fcreview.model import Run
    from fcreview.store.rows import RunRow
    from fcreview.store.told import Told as StoreTold

Sourced = dict[FigureSource, list[Scored]]


@dataclass(slots=True)
class Part:
    """A run with its items, read once: for its own tables and for those over several runs."""

    row: RunRow
    rows: Sourced


@dataclass(slots=True)
class Told:
    """Lines of one run, or of several together."""

    head: dict[str, Any]
    lines: list[FigureLine]
    row: RunRow | None = None
    """None: several."""
    several: Sequence[RunRow] = ()


def told(session: Opened, run: str | None, *, quiet: bool = False) -> Iterator[Told]:
    """Of every run, or of the one that is named; then of those of one model that the benchmark publishes figures of
    together. `quiet`: without progress on the terminal."""
    from fcreview.importers.registry import IMPORTERS

    together: dict[tuple[str, str, str], list[Part]] = {}
    errata = applied(session.workspace)
    for part in parts_of(session.store.told, session.chosen(run), errata, quiet=quiet):
        row = part.row
        yield Told(head(row), figures_of(part.rows, row.info), row)
        importer = IMPORTERS.get(row.info.benchmark)
        if importer is not None and importer.combines:
            together.setdefault((row.info.benchmark, row.info.generation, row.info.model), []).append(part)
    for parts in together.values():
        if lines := combined_of(parts):
            yield Told(head_of(parts), lines, several=[part.row for part in parts])


def parts_of(
    told: StoreTold, runs: Sequence[RunRow], errata: Errata | None = None, *, quiet: bool = False
) -> Iterator[Part]:
    """The runs with their items, in order; of those whose figures count, and that no errata are applied to, with items
    that are alike as one."""
    from fcreview.importers.registry import beside, counts

    progress = Progress("counting", lambda count: count_of(count, "item"), quiet=quiet)
    total, done = sum(row.n_items for row in runs), 0
    benchmarks = {row.info.benchmark for row in runs}
    mended = {each for each in benchmarks if of_importer(errata, each)}
    alike = {row.run for row in runs if counts(row.info) and row.info.benchmark not in mended}
    counted = told.counted([row.run for row in runs if row.run in alike], {row.run for row in runs if beside(row.info)})
    try:
        for row in runs:
            progress(row.info.model, done, total)
            rows = next(counted)[1] if row.run in alike else told.scored(row.run, errata=row.info.benchmark in mended)
            progress.close()
            yield Part(row, rows)
            done += row.n_items
    finally:
        progress.close()


def figures_of(rows: Sourced, info: Run) -> list[FigureLine]:
    """The lines of a run in the order of its benchmark's tables."""
    from fcreview.importers.registry import figures

    return lines_of(lambda source: figures(rows[source], info), rows)


def combined_of(parts: list[Part]) -> list[FigureLine]:
    """The lines over several runs of one model; none if its benchmark publishes none for these."""
    from fcreview.importers.registry import combined

    return lines_of(
        lambda source: combined([RunItems(part.row.info, part.rows[source]) for part in parts]), parts[0].rows
    )


def head(row: RunRow) -> dict[str, Any]:
    info = row.info
    return {
        "run": row.run, "benchmark": info.benchmark, "generation": info.generation, "language": info.language,
        "model": info.model, "n_items": row.n_items,
    }  # fmt: skip


def head_of(parts: list[Part]) -> dict[str, Any]:
    """Of several runs together: `run` is null, languages are joined by `+`."""
    languages = "+".join(dict.fromkeys(part.row.info.language for part in parts))
    return head(parts[0].row) | {
        "run": None,
        "language": languages,
        "n_items": sum(part.row.n_items for part in parts),
    }

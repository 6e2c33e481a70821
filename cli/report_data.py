"""What `fcreview report` gathers, for text, JSON and pages alike.

Runs with their items, and the figures that their benchmarks publish of them.

The whole report as a page: figures, why items fail, calibration, agreement, progress, and how items were chosen.

A run's tables as lines of text: what `fcreview report` prints and the screens show.

A page put in its place: there whole, or what was there before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.commands.suspects import ranked
from fcreview.cli.import_options import applied, of_importer
from fcreview.cli.output import Progress, aligned, note, text_of
from fcreview.exporters.export import write_file
from fcreview.exporters.report.html import html
from fcreview.exporters.report.metrics import (
    FigureLine,
    Interval,
    Intervals,
    figure_table,
    lines_of,
    shown_value,
    sources_of,
)
from fcreview.exporters.report.metrics import basis as metrics_basis
from fcreview.exporters.report.sections import (
    CLUSTERS,
    Calibrated,
    Drawn,
    Example,
    Failing,
    Page,
    RunPasses,
    RunProgress,
    Section,
    Text,
    agreement_section,
    calibration_section,
    chosen_section,
    failing_section,
    passing_section,
    progress_section,
    suspects_section,
)
from fcreview.model.metric import FigureSource, RunItems, Scored
from fcreview.model.verdict import UNANIMOUS
from fcreview.model.wording import NO_DATASET, count_of, kind_of, number
from fcreview.stats.agreement import apart
from fcreview.stats.calibration import Scope, basis

if TYPE_CHECKING:
    from fcreview.cli.workspace import Opened
    from fcreview.corrections.errata_file import Errata
    from fcreview.model.item import Run
    from fcreview.store.analysis import Told as StoreTold
    from fcreview.store.rows import RunRow, View


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
    from fcreview.importers.registry import aggregates_rows, needs_part_verdicts

    progress = Progress("counting", lambda count: count_of(count, "item"), quiet=quiet)
    total, done = sum(row.n_items for row in runs), 0
    benchmarks = {row.info.benchmark for row in runs}
    mended = {each for each in benchmarks if of_importer(errata, each)}
    alike = {row.run for row in runs if aggregates_rows(row.info) and row.info.benchmark not in mended}
    counted = told.counted(
        [row.run for row in runs if row.run in alike], {row.run for row in runs if needs_part_verdicts(row.info)}
    )
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


BY: tuple[Scope, ...] = ("benchmark", "category", "tier", "error")
"""Groups by which calibration is told; functions are among the kinds of cases that a source gets wrong."""
SOURCES_SAID = (
    "Each figure three times. official: as the benchmark's own score files have it; rule: recomputed here with the "
    "benchmark's rules; corrected: with what people settled in the place of the automatic verdict. A figure that could "
    "be recomputed for a part of its items only is left out: which part that is is no accident."
)


def page_of(session: Opened, run: str | None) -> Page:
    """Of every run, or of the one that is named. StoreError where verdicts are hidden from this annotator."""
    found = list(told(session, run))
    rows = [each.row for each in found if each.row is not None]
    view = session.view(queue="dataset", run=run)
    queues = drawn(session)
    many = f"{count_of(len(rows), 'run')}, {count_of(sum(row.n_items for row in rows), 'item')}"
    lead = [f"{many}. Made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC with fcreview.", SOURCES_SAID]
    if session.policy != UNANIMOUS:
        lead.append(f"Policy {session.policy}: where annotators differ, what more than half say counts.")
    return Page(
        "Report on function-calling runs",
        lead,
        [
            *([passing_section([_passes(row) for row in rows])] if len(rows) > 1 else []),
            Section("Figures", sections=[_figures(each, _intervals(session, each, queues)) for each in found]),
            failing_section(failing(session, view, rows)),
            suspects_section(ranked(session, "" if run is None else f"run:{session.run(run)}")),
            calibrated(session, view),
            agreement(session, view),
            progress_section([_progress(row) for row in rows], queues),
            chosen_section(queues),
        ],
    )


def _intervals(session: Opened, each: Told, queues: Sequence[Drawn]) -> Intervals:
    """What is estimated of the corrected figures of a run: where nothing was drawn at random, nothing is."""
    if not queues:
        return {}
    from fcreview.cli.commands.estimate import HALF_WIDTH, estimates_of, estimates_together

    if each.row is None:
        found = estimates_together(session, each.several, HALF_WIDTH)
    else:
        found = estimates_of(session, each.row, session.store.told.standings(each.row.run), HALF_WIDTH)
    return {
        (one.table, one.level, one.name): Interval(one.corrected, one.low, one.high, one.n_random)
        for one in found
        if one.corrected is not None and one.low is not None and one.high is not None
    }


def _figures(each: Told, known: Intervals) -> Section:
    blocks: list[Any] = [Text(_subtitle(each.head))]
    if each.row is not None and each.row.info.lacks_dataset:
        blocks.append(Text(NO_DATASET))
    for title in dict.fromkeys(line.table for line in each.lines):
        blocks.append(figure_table(title, [line for line in each.lines if line.table == title], known))
    name = f"run {each.head['run']}" if each.row is not None else "together"
    return Section(f"{name}: {each.head['model']}", blocks)


def _subtitle(head: dict[str, Any]) -> str:
    return f"{kind_of(head['benchmark'], head['generation'], head['language'])}, {count_of(head['n_items'], 'item')}"


def failing(session: Opened, view: View, rows: Sequence[RunRow]) -> list[Failing]:
    """By dataset: failures alike, over all of its runs."""
    datasets: dict[str, list[RunRow]] = {}
    for row in rows:
        datasets.setdefault(_kind(row), []).append(row)
    parts = []
    for kind, of in datasets.items():
        runs = tuple(row.run for row in of)
        clusters = session.store.clusters(replace(view, runs=runs))
        examples = [_example(session, replace(view, where=cluster.where, runs=runs)) for cluster in clusters[:CLUSTERS]]
        parts.append(Failing(f"{kind}, {count_of(len(of), 'run')}", clusters, examples))
    return parts


def _example(session: Opened, alike: View) -> Example:
    """The first of these items; there is one."""
    row = session.store.page(alike, 0, 1)[0]
    return Example(row.id, row.question, row.first_difference)


def calibrated(session: Opened, view: View) -> Section:
    cases = session.store.told.cases(view)
    if not cases:
        return calibration_section(Calibrated())
    from fcreview.stats.calibration_summary import (
        calibration,
        wrong_kinds,  # needs numpy
    )

    figures = list(calibration(cases, ("overall", *BY)))
    return calibration_section(Calibrated(basis(cases), figures, list(wrong_kinds(cases)), BY))


def agreement(session: Opened, view: View) -> Section:
    ratings = session.store.told.agreement_rows(view)
    if len({rating.annotator for rating in ratings}) < 2:
        return agreement_section({})
    from fcreview.stats.agreement_summary import agreement as figures  # needs numpy

    return agreement_section({how: list(figures(said, ["overall"], how)) for how, said in apart(ratings).items()})


def _passes(row: RunRow) -> RunPasses:
    return RunPasses(
        _name(row),
        _kind(row),
        row.n_items,
        (row.official_pass, row.official_known),
        (row.rule_pass, row.rule_known),
        (row.effective_pass, row.effective_known),
        (row.stated_pass, row.stated_of),
    )


def _kind(row: RunRow) -> str:
    return kind_of(row.info.benchmark, row.info.generation, row.info.language)


def _name(row: RunRow) -> str:
    return f"run {row.run}: {row.info.model}"


def _progress(row: RunRow) -> RunProgress:
    return RunProgress(_name(row), row.n_items, row.reviewed, row.in_part)


def drawn(session: Opened) -> list[Drawn]:
    """The workspace's queues; of one that cannot be read stderr says so."""
    from fcreview.store.queues.queue_file import QueueError, read_queues

    found = []
    for queue in read_queues(session.workspace):
        if isinstance(queue, QueueError):
            note(f"fcreview: {queue}")
            continue
        design = queue.design
        done = {each.annotator: each.said for each in session.store.progress(queue.name)}
        of = (design.size, design.population, design.where, design.stratify, design.seed)
        found.append(Drawn(queue.name, queue.created, *of, done))
    return found


def shown(head: dict[str, Any], lines: list[FigureLine], *, whole: bool = False) -> Iterator[str]:
    """`whole`: lines are not cut at the terminal's width."""
    words = [text_of(head[name]) for name in ("benchmark", "generation", "language", "model") if head[name]]
    first = f"run {head['run']}" if head["run"] is not None else "together"
    yield f"{first}   {'  '.join(words)}   {head['n_items']:,} items"
    sources = sources_of(lines)
    for table in dict.fromkeys(line.table for line in lines):
        part = [line for line in lines if line.table == table]
        cells = [
            [
                "  " * line.level + text_of(line.name),
                *(number(shown_value(line, source), line.unit, line.digits) for source in sources),
                "; ".join(filter(None, (metrics_basis(line), text_of(line.note)))),
            ]
            for line in part
        ]
        yield ""
        numbers = range(1, len(sources) + 1)
        for text in aligned([text_of(table), *sources, ""], cells, right=numbers, widest=44, whole=whole):
            yield text.rstrip()
    yield ""


def as_text(session: Opened, stopped: Callable[[], bool]) -> str:
    """All of its runs, or those up to when it is stopped. StoreError where verdicts are hidden from this annotator."""
    from fcreview.model.wording import NO_DATASET

    lines: list[str] = []
    for found in told(session, None, quiet=True):
        if stopped():
            break
        if found.row is not None and found.row.info.lacks_dataset:
            lines.append(NO_DATASET)
        lines += shown(found.head, found.lines, whole=True)
    return "\n".join(lines)


def write_html(path: Path, page: Page) -> None:
    """ExportError if the place cannot be written to."""
    write_file(path, html(page).encode())

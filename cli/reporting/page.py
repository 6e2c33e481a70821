"""The whole report as a page: figures, why items fail, calibration, agreement, progress, and how items were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fcreview.agreement.ratings import apart
from fcreview.calibration.cases import Scope
from fcreview.calibration.wording import basis
from fcreview.cli.commands.reading.suspects import ranked
from fcreview.cli.output import note
from fcreview.cli.reporting.parts import Told, told
from fcreview.reporting.blocks import Page, Section, Text
from fcreview.reporting.calibrated import Calibrated, calibration_section
from fcreview.reporting.failing import CLUSTERS, Example, Failing, failing_section
from fcreview.reporting.lines import Interval, Intervals, figure_table
from fcreview.reporting.passing import RunPasses, passing_section
from fcreview.reporting.people import Drawn, RunProgress, agreement_section, chosen_section, progress_section
from fcreview.reporting.suspected import suspects_section
from fcreview.rollup import UNANIMOUS
from fcreview.text.words import NO_DATASET, count_of, kind_of

if TYPE_CHECKING:
    from fcreview.cli.opened import Opened
    from fcreview.store.rows import RunRow, View

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
    from fcreview.cli.commands.reading.estimate import HALF_WIDTH, estimates_of, estimates_together

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
    from fcreview.calibration.summary import calibration, wrong_kinds  # needs numpy

    figures = list(calibration(cases, ("overall", *BY)))
    return calibration_section(Calibrated(basis(cases), figures, list(wrong_kinds(cases)), BY))


def agreement(session: Opened, view: View) -> Section:
    ratings = session.store.told.agreement_rows(view)
    if len({rating.annotator for rating in ratings}) < 2:
        return agreement_section({})
    from fcreview.agreement.summary import agreement as figures  # needs numpy

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
    from fcreview.store.queues.file import QueueError, read_queues

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

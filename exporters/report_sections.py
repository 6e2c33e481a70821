"""Build the sections of a report as text and tables, which the HTML and Markdown renderers escape.

The sections cover failures by error type and cluster, review progress, inter-annotator agreement,
item selection, calibration of automatic verdicts, and golden answers that look wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fcreview.matching.clusters import BY_ERROR_TYPE, Cluster, group_clusters
from fcreview.model.run_check import RunCheck, sort_by_problems
from fcreview.model.wording import format_count
from fcreview.stats.calibration import (
    MAX_ERROR_GROUPS,
    MEASURE_LABELS,
    NO_PAIRS_MESSAGE,
    NOTES,
    CalibrationScope,
    VerdictPair,
    compute_calibrations,
    describe_selection,
    find_error_groups,
)
from fcreview.tables.agreement import (
    NO_LABELS,
    AgreementStatistic,
    build_agreement_table,
    describe_ratings,
)
from fcreview.tables.agreement import NOTES as AGREEMENT_NOTES
from fcreview.tables.calibration import (
    build_calibration_table,
    build_error_table,
    build_scope_table,
    build_trust_table,
    compute_calibration_groups,
    list_useful_scopes,
)
from fcreview.tables.checks import build_run_check_table, summarize_checks
from fcreview.tables.clusters import (
    ClusterExample,
    build_cluster_table,
    build_example_table,
    list_cluster_rows,
)
from fcreview.tables.queues import ITEMS_TITLE, QueueShares, ShareProgress, build_progress_table
from fcreview.tables.suspects import NO_SUSPECTS, build_suspects_table, describe_suspect_counts
from fcreview.tables.table import Table, make_table

if TYPE_CHECKING:
    from fcreview.golden_audit.score import Suspect
    from fcreview.stats.agreement_ratings import BlindStatus, Rating


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    blocks: Sequence[Paragraph | Table] = ()
    sections: Sequence[Section] = field(default_factory=list)
    is_folded: bool = True
    """Whether HTML folds the section. Only sections in the details can be folded."""


@dataclass(frozen=True, slots=True)
class Card:
    label: str
    value: str
    note: str
    needs_attention: bool = False


@dataclass(frozen=True, slots=True)
class ReportPage:
    title: str
    lead: Sequence[str]
    cards: Sequence[Card]
    summary: Sequence[Section]
    details: Sequence[Section]


CALIBRATION_TITLE = "Calibration of automatic verdicts"
MAX_CALIBRATION_GROUPS = 40
"""Maximum number of groups in a calibration table, the largest first.

`fcreview calibrate` lists all groups.
"""
OMITTED_MEASURES = tuple(MEASURE_LABELS[measure] for measure in ("precision", "wrong_fails", "f1"))
"""Titles of the columns that calibration tables by category and by other properties omit."""
MAX_MATRIX_CELLS = 20
"""Maximum number of pairs (automatic verdict, human verdict) of a source, the most frequent
first.
"""


def build_calibration_section(
    pairs: Sequence[VerdictPair], scopes: Sequence[CalibrationScope]
) -> Section:
    """Return the section that compares automatic verdicts with human ones.

    It compares the sources, and has the confusion matrix and measures of each source, the measures
    by each of `scopes`, and the most frequent errors.
    """
    if not pairs:
        return Section(CALIBRATION_TITLE, [Paragraph(NO_PAIRS_MESSAGE)])
    return Section(
        CALIBRATION_TITLE,
        blocks=[Paragraph(text) for text in (*describe_selection(pairs), *NOTES)],
        sections=[build_table_section(table) for table in _list_calibration_tables(pairs, scopes)],
    )


def _list_calibration_tables(
    pairs: Sequence[VerdictPair], scopes: Sequence[CalibrationScope]
) -> Iterator[Table]:
    trust_table = _build_trust_table(pairs)
    if trust_table is not None:
        yield trust_table
    groups = compute_calibration_groups(pairs, "overall")
    yield build_calibration_table(groups, max_cells=MAX_MATRIX_CELLS)

    useful_scopes = list_useful_scopes(pairs)
    for scope in scopes:
        if scope in useful_scopes:
            calibrations = list(compute_calibrations(pairs, [scope]))
            table = build_scope_table(calibrations, scope, MAX_CALIBRATION_GROUPS)
            # A page has no room for all measures. `fcreview calibrate` prints them.
            yield table.without(OMITTED_MEASURES)

    errors = build_error_table(list(find_error_groups(pairs)), max_groups=MAX_ERROR_GROUPS)
    if errors.rows:
        yield errors


def _build_trust_table(pairs: Sequence[VerdictPair]) -> Table | None:
    """Return the table that compares automatic sources, as in `fcreview calibrate`; None with fewer
    than two sources that judge whole items.
    """
    from fcreview.stats.judge_trust import compute_judge_figures  # imports numpy

    figures = compute_judge_figures(pairs)
    if len(figures.sources) < 2:
        return None
    return build_trust_table(figures)


def build_table_section(table: Table) -> Section:
    """Return a section with the title, the notes and the rows of a table."""
    notes = [Paragraph(note) for note in table.notes]
    return Section(table.title, [*notes, table])


MAX_CLUSTERS = 20


@dataclass(frozen=True, slots=True)
class DatasetFailures:
    title: str
    clusters: Sequence[Cluster]
    examples: Sequence[ClusterExample]


def build_failures_section(datasets: Sequence[DatasetFailures]) -> Section:
    return Section(
        "Failure clusters",
        sections=[_build_dataset_failures_section(dataset) for dataset in datasets],
    )


def _build_dataset_failures_section(dataset: DatasetFailures) -> Section:
    """Return the section on the failing items of a dataset: by error type, and in smaller
    clusters.
    """
    n_failing = sum(cluster.count for cluster in dataset.clusters)
    if not n_failing:
        return Section(dataset.title, [Paragraph("No item fails.")])

    groups = group_clusters(dataset.clusters, BY_ERROR_TYPE)
    items = format_count(n_failing, "failing item")
    blocks: list[Paragraph | Table] = [
        Paragraph(f"The runs of the dataset have {items}, with the reviews applied."),
        build_cluster_table(list_cluster_rows(groups), BY_ERROR_TYPE, n_failing).without_graphics(),
        build_example_table(dataset.clusters, dataset.examples),
    ]
    n_omitted = len(dataset.clusters) - len(dataset.examples)
    if n_omitted:
        blocks.append(Paragraph(f"{format_count(n_omitted, 'smaller cluster')} not shown."))
    return Section(dataset.title, blocks)


HAND_PICKED_NOTE = (
    "Items outside queues were chosen by the annotators. Their reviews count for these items only"
    " and do not "
    "contribute to estimates."
)


@dataclass(frozen=True, slots=True)
class RunReviewProgress:
    name: str
    items: int
    reviewed: int
    partly_reviewed: int


@dataclass(frozen=True, slots=True)
class QueueSample:
    name: str
    created: str
    size: int
    population: int
    where: str
    stratify: str
    seed: int
    shares: Sequence[ShareProgress]
    """Progress of each annotator in the queue."""


AGREEMENT_TITLE = "Inter-annotator agreement"


def build_agreement_section(
    ratings_by_status: Mapping[BlindStatus, Sequence[Rating]],
    statistics: Sequence[AgreementStatistic],
) -> Section:
    """Return the section on inter-annotator agreement. Without statistics, it says that no item has
    labels of two annotators.

    `statistics` are those of blind reviews, followed by those of other reviews.
    """
    if not statistics:
        return Section(AGREEMENT_TITLE, [Paragraph(NO_LABELS)])
    texts = [describe_ratings(ratings, status) for status, ratings in ratings_by_status.items()]
    table = build_agreement_table(statistics, "overall")
    paragraphs = [Paragraph(text) for text in (*texts, *AGREEMENT_NOTES)]
    return Section(AGREEMENT_TITLE, [*paragraphs, table])


def build_progress_section(
    runs: Sequence[RunReviewProgress], queues: Sequence[QueueSample]
) -> Section:
    """Return the section on how far each run and each annotator's part of a queue is reviewed."""
    run_rows = []
    for run in runs:
        counts = [f"{run.items:,}", f"{run.reviewed:,}", f"{run.partly_reviewed:,}"]
        run_rows.append([run.name, *counts])
    blocks = [make_table(["run", "items", "reviewed", "partly reviewed"], run_rows, (1, 2, 3))]

    shares = [QueueShares(queue.name, queue.size, queue.shares) for queue in queues]
    progress = build_progress_table(shares)
    if progress.rows:
        # The table of the samples has the number of items.
        blocks.append(progress.without([ITEMS_TITLE]))
    return Section("Review progress", blocks)


CHECK_TITLE = "Is this score real?"
CHECK_NOTE = (
    "A line is ok, or ! for a problem. Nothing can be checked in a line with –. The filter lists"
    " the items of a line:"
    " fcreview items PATH --where FILTER."
)


def build_check_section(checks: Sequence[RunCheck]) -> Section:
    """Build the section with a table for each run, those with problems first.

    It is folded if there is no problem.
    """
    summary = summarize_checks(checks)
    runs = [_build_run_check_section(check) for check in sort_by_problems(checks)]
    return Section(
        CHECK_TITLE,
        blocks=[Paragraph(f"{summary}. {CHECK_NOTE}")],
        sections=runs,
        is_folded=all(check.is_ok for check in checks),
    )


def _build_run_check_section(check: RunCheck) -> Section:
    table = build_run_check_table(check)
    return Section(f"run {check.run}: {check.run_name}", [table], is_folded=check.is_ok)


def build_item_selection_section(queues: Sequence[QueueSample]) -> Section:
    """Return the section on how the reviewed items were selected: at random, or by hand."""
    title = "Item selection"
    if not queues:
        return Section(title, [Paragraph(f"No random sample was drawn. {HAND_PICKED_NOTE}")])
    drawn = f"{format_count(len(queues), 'queue was', 'queues were')} drawn at random."
    return Section(title, [Paragraph(f"{drawn} {HAND_PICKED_NOTE}"), _build_queue_table(queues)])


def _build_queue_table(queues: Sequence[QueueSample]) -> Table:
    rows = []
    for queue in queues:
        row = [
            queue.name,
            f"{queue.size:,} of {queue.population:,}",
            queue.where or "all items",
            queue.stratify or "not stratified",
            str(queue.seed),
            queue.created,
        ]
        rows.append(row)
    return make_table(["queue", "drawn", "from", "strata", "seed", "created"], rows)


MAX_SUSPECTS = 20
MAX_QUESTION_CHARS = 400
SUSPECTS_NOTE = (
    "Suspects are questions with reasons to doubt the golden answer, the question text or the"
    " checker."
)


def build_suspects_section(ranking: Sequence[Suspect]) -> Section:
    """Return the section on golden answers that look wrong.

    `ranking` starts with the most suspect answer. Answers without a reason are omitted.
    """
    title = "Golden answers that look wrong"
    suspects = [suspect for suspect in ranking if suspect.reasons]
    if not suspects:
        return Section(title, [Paragraph(NO_SUSPECTS)])
    table = build_suspects_table(
        suspects, max_rows=MAX_SUSPECTS, max_question_chars=MAX_QUESTION_CHARS
    )
    counts = describe_suspect_counts(ranking)
    notes = [Paragraph(f"{counts}. {SUSPECTS_NOTE}")]
    notes += [Paragraph(note) for note in table.notes]
    return Section(title, [*notes, table])

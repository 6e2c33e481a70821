"""Build the sections of a report as text and tables, which the HTML and Markdown renderers escape.

The sections cover failures by error type and cluster, review progress, inter-annotator agreement,
item selection, calibration of automatic verdicts, and golden answers that look wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from fcreview.golden_audit.score import count_questions
from fcreview.matching.clusters import (
    BY_ERROR_TYPE,
    Cluster,
    format_share,
    group_clusters,
    summarize_group,
)
from fcreview.model.incident import describe_incident
from fcreview.model.run_check import STATE_MARKS, RunCheck, sort_by_problems, summarize_problems
from fcreview.model.wording import format_count, format_verdict
from fcreview.stats.agreement_ratings import (
    BLIND_STATUS_LABELS,
    BlindStatus,
    format_coefficient_name,
)
from fcreview.stats.agreement_ratings import format_value_and_interval as agreement_value_of
from fcreview.stats.calibration import (
    MAX_ERROR_GROUPS,
    MEASURE_LABELS,
    NO_PAIRS_MESSAGE,
    NOTES,
    format_error,
    format_measure,
    format_measures,
    format_selection_method,
    format_source_and_criterion,
)

if TYPE_CHECKING:
    from fcreview.golden_audit.score import Suspect
    from fcreview.stats.agreement_ratings import AgreementCoefficient
    from fcreview.stats.calibration import Calibration, CalibrationScope, ErrorGroup, MeasureName


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a bar chart.

    `share` is its length relative to the longest bar of the table, from 0 to 1.
    """

    share: float


@dataclass(frozen=True, slots=True)
class Whisker:
    """An estimated pass rate with the ends of its 95 % interval, and the official pass rate.

    All are from 0 to 1.
    """

    low: float
    value: float
    high: float
    official: float | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    cells: Sequence[str]
    level: int = 0
    graphic: Bar | Whisker | None = None


@dataclass(frozen=True, slots=True)
class Table:
    heads: Sequence[str]
    rows: Sequence[TableRow]
    right: frozenset[int] = frozenset()
    graphic_at: int = 0
    """Index of the column before which HTML shows the graphics of the rows. 0 for a table
    without graphics.
    """
    heat_from: int = 0
    """Index of the first column that HTML shows as a heat map of percentages. 0 for a table
    without a heat map.
    """


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    blocks: Sequence[Paragraph | Table] = ()
    sections: Sequence[Section] = field(default_factory=list)
    is_folded: bool = True
    """Whether HTML folds the section. Only sections in the details can be folded."""


def make_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], right_aligned: Sequence[int] = ()
) -> Table:
    return Table(headings, rows=[TableRow(row) for row in rows], right=frozenset(right_aligned))


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
GROUP_MEASURES: tuple[MeasureName, ...] = ("tpr", "tnr", "kappa", "agreement")
MAX_MATRIX_LABELS = 4
"""Maximum number of different verdicts in a confusion matrix.

With more verdicts, the table lists pairs instead.
"""
MAX_PAIRS = 20
"""Maximum number of pairs (automatic verdict, human verdict) that the table lists, the most
frequent first.
"""


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """Data for the section on calibration of automatic verdicts.

    Empty if no automatic verdict was reviewed.
    """

    basis: Sequence[str] = ()
    calibrations: Sequence[Calibration] = ()
    """Calibrations in the order of their scopes, starting with the scope `overall`."""
    error_groups: Sequence[ErrorGroup] = field(default=())
    scopes: Sequence[CalibrationScope] = ()


def build_calibration_section(result: CalibrationResult) -> Section:
    if not result.calibrations:
        return Section(CALIBRATION_TITLE, [Paragraph(NO_PAIRS_MESSAGE)])
    sections = [
        _build_source_section(each) for each in result.calibrations if each.scope == "overall"
    ]
    for scope in result.scopes:
        sections += _build_scope_section(
            scope, [each for each in result.calibrations if each.scope == scope]
        )
    sections += _build_error_group_sections(result.error_groups)
    return Section(
        CALIBRATION_TITLE,
        blocks=[Paragraph(text) for text in (*result.basis, *NOTES)],
        sections=sections,
    )


def _build_source_section(calibration: Calibration) -> Section:
    rates = [
        [MEASURE_LABELS[rate.metric], *format_measure(rate), f"{rate.n:,}"]
        for rate in sorted(
            calibration.rates, key=lambda rate: list(MEASURE_LABELS).index(rate.metric)
        )
    ]
    count, method = format_count(calibration.n, "verdict"), format_selection_method(calibration)
    says = Paragraph(f"{count} on reviewed items or parts of items. Item selection: {method}.")
    figures = make_table(
        ["measure", "value", "95 % interval", "n"], rows=rates, right_aligned=(1, 2, 3)
    )
    return Section(
        " · ".join(format_source_and_criterion(calibration)),
        [says, _build_confusion_table(calibration), figures],
    )


def _build_confusion_table(calibration: Calibration) -> Table:
    """Return the matrix of automatic and human verdicts or, if there are many different verdicts,
    a list of the most frequent pairs.
    """
    words: dict[str, str] = {}
    for cell in calibration.cells:
        for verdict in (cell.automatic, cell.human):
            words[str(verdict)] = format_verdict(verdict, calibration.criterion)
    if calibration.binary or len(words) <= MAX_MATRIX_LABELS:
        return _build_confusion_matrix(calibration, words)
    return _build_list_of_pairs(calibration, words)


def _build_confusion_matrix(calibration: Calibration, words: Mapping[str, str]) -> Table:
    """`words` contains the text of each verdict."""
    labels = sorted(set(words.values()))
    if calibration.binary:
        labels = [format_verdict(verdict, calibration.criterion) for verdict in (True, False)]
    counts: dict[tuple[str, str], int] = {}
    for cell in calibration.cells:
        counts[words[str(cell.automatic)], words[str(cell.human)]] = cell.n

    rows = []
    for automatic in labels:
        row = [f"verdict {automatic}"]
        for human in labels:
            row.append(f"{counts.get((automatic, human), 0):,}")
        rows.append(row)
    heads = ["", *(f"human: {label}" for label in labels)]
    return make_table(heads, rows, range(1, len(heads)))


def _build_list_of_pairs(calibration: Calibration, words: Mapping[str, str]) -> Table:
    """`words` contains the text of each verdict."""
    most_frequent = sorted(calibration.cells, key=lambda cell: -cell.n)[:MAX_PAIRS]
    rows = []
    for cell in most_frequent:
        rows.append([words[str(cell.automatic)], words[str(cell.human)], f"{cell.n:,}"])
    n_others = sum(cell.n for cell in calibration.cells) - sum(cell.n for cell in most_frequent)
    if n_others:
        rows.append(["others", "", f"{n_others:,}"])
    return make_table(["verdict", "human", "n"], rows, (2,))


def _build_scope_row(calibration: Calibration) -> list[str]:
    measures = format_measures(calibration.rates)
    return [
        calibration.name or "",
        " · ".join(format_source_and_criterion(calibration)),
        f"{calibration.n:,}",
        format_selection_method(calibration),
        *(measures[metric] for metric in GROUP_MEASURES),
    ]


def _build_scope_section(
    scope: CalibrationScope, calibrations: Sequence[Calibration]
) -> Iterator[Section]:
    """Yield the section with calibrations by category or another property, if there are at least
    two groups.
    """
    if len({calibration.name for calibration in calibrations}) < 2:
        return

    by_size = sorted(calibrations, key=lambda calibration: -calibration.n)
    kept = {id(calibration) for calibration in by_size[:MAX_CALIBRATION_GROUPS]}
    heads = [scope, "verdicts", "n", "selection"]
    heads += [MEASURE_LABELS[metric] for metric in GROUP_MEASURES]
    rows = [_build_scope_row(each) for each in calibrations if id(each) in kept]
    blocks: list[Paragraph | Table] = [make_table(heads, rows, (2, *range(4, len(heads))))]
    if rest := len(calibrations) - len(kept):
        note = (
            f"{format_count(rest, 'smaller group')} not shown. For all groups: `fcreview calibrate"
            f" --by {scope}`."
        )
        blocks.append(Paragraph(note))
    yield Section(f"by {scope}", blocks)


def _build_error_group_sections(error_groups: Sequence[ErrorGroup]) -> Iterator[Section]:
    rows = []
    for _, found in groupby(error_groups, format_source_and_criterion):
        for error_group in sorted(found, key=lambda error_group: -error_group.wrong)[
            :MAX_ERROR_GROUPS
        ]:
            verdicts = " · ".join(format_source_and_criterion(error_group))
            share = f"{error_group.wrong:,} of {error_group.of:,}"
            rows.append(
                [f"{error_group.by} {error_group.name}", verdicts, format_error(error_group), share]
            )
    if rows:
        note = (
            f"The table lists the {MAX_ERROR_GROUPS} most frequent kinds of errors of each source."
            " The column `wrong` "
            "counts the wrong verdicts among all verdicts of this source on these items that have"
            " the same value."
        )
        table = make_table(["items", "verdicts", "verdict", "wrong"], rows, (3,))
        yield Section("errors of automatic verdicts", [Paragraph(note), table])


MAX_CLUSTERS = 20
NO_ERROR_TYPE = "no error type"


@dataclass(frozen=True, slots=True)
class ClusterExample:
    id: str
    question: str
    difference: str | None


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
    failing = sum(cluster.count for cluster in dataset.clusters)
    if not failing:
        return Section(dataset.title, [Paragraph("No item fails.")])
    errors = [
        [
            group.name or NO_ERROR_TYPE,
            f"{group.count:,}",
            format_share(group.count, failing),
            summarize_group(group, BY_ERROR_TYPE),
        ]
        for group in group_clusters(dataset.clusters, BY_ERROR_TYPE)
    ]
    rows = [
        _build_cluster_row(*each) for each in zip(dataset.clusters, dataset.examples, strict=False)
    ]
    blocks: list[Paragraph | Table] = [
        Paragraph(
            f"The runs of the dataset have {format_count(failing, 'failing item')}, with the"
            " reviews applied."
        ),
        make_table(["error type", "items", "share", "largest subgroup"], errors, (1, 2)),
        make_table(["items", "cluster", "example", "first difference", "question"], rows, (0,)),
    ]
    if rest := len(dataset.clusters) - len(dataset.examples):
        blocks.append(Paragraph(f"{format_count(rest, 'smaller cluster')} not shown."))
    return Section(dataset.title, blocks)


def _build_cluster_row(cluster: Cluster, example: ClusterExample) -> list[str]:
    if cluster.incident is not None:
        sentence = describe_incident(cluster.incident, None)
        return [f"{cluster.count:,}", sentence, example.id, cluster.difference, example.question]
    names = [
        cluster.error_type or NO_ERROR_TYPE,
        *filter(None, (cluster.function, cluster.argument)),
    ]
    return [
        f"{cluster.count:,}",
        " · ".join(names),
        example.id,
        example.difference or "",
        example.question,
    ]


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
    progress_by_annotator: Mapping[str, str]
    """Progress of each annotator in the queue, such as `12 of 80`."""


def build_agreement_section(
    coefficients_by_blind_status: Mapping[BlindStatus, Sequence[AgreementCoefficient]],
) -> Section:
    """Return the section on inter-annotator agreement, with separate tables for blind reviews
    and for other reviews.
    """
    title = "Inter-annotator agreement"
    if not coefficients_by_blind_status:
        return Section(title, [Paragraph("No item has reviews by two or more annotators.")])
    heads = ["criterion", "coefficient", "annotators", "value", "95 % interval", "units", "labels"]
    parts = []
    for how, figures in coefficients_by_blind_status.items():
        rows = [
            [
                each.criterion,
                format_coefficient_name(each),
                ", ".join(each.annotators),
                *agreement_value_of(each),
                f"{each.n_units:,}",
                f"{each.n_labels:,}",
            ]
            for each in figures
        ]
        parts.append(Section(BLIND_STATUS_LABELS[how], [make_table(heads, rows, (3, 4, 5, 6))]))
    return Section(
        title,
        blocks=[Paragraph("Adjudications and stale, retracted or unsure reviews are excluded.")],
        sections=parts,
    )


def build_progress_section(
    runs: Sequence[RunReviewProgress], queues: Sequence[QueueSample]
) -> Section:
    rows = [
        [run.name, f"{run.items:,}", f"{run.reviewed:,}", f"{run.partly_reviewed:,}"]
        for run in runs
    ]
    blocks = [make_table(["run", "items", "reviewed", "partly reviewed"], rows, (1, 2, 3))]
    shares = [
        [queue.name, name, done]
        for queue in queues
        for name, done in queue.progress_by_annotator.items()
    ]
    if shares:
        blocks.append(make_table(["queue", "annotator", "done"], shares))
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
    summary = summarize_problems(checks) or "no problem"
    runs = [_build_run_check_section(check) for check in sort_by_problems(checks)]
    return Section(
        CHECK_TITLE,
        blocks=[Paragraph(f"{summary}. {CHECK_NOTE}")],
        sections=runs,
        is_folded=all(check.is_ok for check in checks),
    )


def _build_run_check_section(check: RunCheck) -> Section:
    rows = [[STATE_MARKS[line.state], line.title, line.detail, line.where] for line in check.lines]
    table = make_table(["state", "check", "found", "filter"], rows)
    return Section(f"run {check.run}: {check.run_name}", [table], is_folded=check.is_ok)


def build_item_selection_section(queues: Sequence[QueueSample]) -> Section:
    rows = [
        [
            queue.name,
            f"{queue.size:,} of {queue.population:,}",
            queue.where or "all items",
            queue.stratify or "not stratified",
            str(queue.seed),
            queue.created,
        ]
        for queue in queues
    ]
    heads = ["queue", "drawn", "from", "strata", "seed", "created"]
    drawn = f"{format_count(len(queues), 'queue was', 'queues were')} drawn at random."
    text = Paragraph(f"{drawn if queues else 'No random sample was drawn.'} {HAND_PICKED_NOTE}")
    return Section("Item selection", [text, make_table(heads, rows)] if rows else [text])


MAX_SUSPECTS = 20
MAX_REASONS = 3
"""Maximum number of reasons that the table gives for a golden answer, the strongest first."""
MAX_MODELS = 3  # maximum number of models named for an alternative answer
MAX_QUESTION_LENGTH = 400


def build_suspects_section(ranking: Sequence[Suspect]) -> Section:
    """Return the section on golden answers that look wrong. `ranking` starts with the most suspect
    answer. Answers without a reason are omitted.
    """
    title = "Golden answers that look wrong"
    suspects = [suspect for suspect in ranking if suspect.reasons]
    if not suspects:
        return Section(title, [Paragraph("No golden answer looks wrong.")])
    count = format_count(count_questions(suspects), "question gives", "questions give")
    n_strong = count_questions(suspect for suspect in suspects if suspect.is_strong)
    strong = f"{n_strong:,} of the suspicions are strong (score 0.5 or more)"
    rest = (
        f" The table lists the {MAX_SUSPECTS} most suspect." if len(suspects) > MAX_SUSPECTS else ""
    )
    text = (
        f"{count} reasons to doubt the golden answer, the question text or the checker."
        f" {strong}.{rest}"
    )
    heads = ["score", "item", "failing runs", "reasons", "alternative answer", "question"]
    table = make_table(heads, [_build_suspect_row(each) for each in suspects[:MAX_SUSPECTS]], (0,))
    return Section(title, [Paragraph(text), table])


def _build_suspect_row(suspect: Suspect) -> list[str]:
    question, alternative = suspect.question, suspect.alternative
    text = " ".join(question.text.split())
    answer = ""
    if alternative:
        more = ["..."] if len(alternative.models) > MAX_MODELS else []
        models = ", ".join([*alternative.models[:MAX_MODELS], *more])
        answer = alternative.answer + (f" ({models})" if models else "")
    return [
        f"{suspect.score:.2f}",
        question.key.id,
        f"{question.n_failing} of {len(question.runs)}",
        "; ".join(reason.full_text for reason in suspect.reasons[:MAX_REASONS]),
        answer,
        text if len(text) <= MAX_QUESTION_LENGTH else text[:MAX_QUESTION_LENGTH].rstrip() + " …",
    ]

"""Build the sections of a report as text and tables. The HTML and Markdown renderers escape the text.

The details of a report are sections about failures by error type and cluster, review progress, inter-annotator
agreement, item selection, calibration of automatic verdicts, and golden answers that look wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from fcreview.matching.clusters import BY_ERROR_TYPE, Cluster, format_share, group_clusters, summarize_group
from fcreview.model.wording import format_count, format_verdict
from fcreview.stats.agreement_ratings import BLIND_STATUS_LABELS, BlindStatus, format_coefficient_name
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
    """A bar, with its length as a share of the longest bar of the table, from 0 to 1."""

    share: float


@dataclass(frozen=True, slots=True)
class Whisker:
    """An estimate with the ends of its 95 % interval, and the official value. All are from 0 to 1."""

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
    """Index of the column before which HTML shows the graphics of rows; 0 if rows have none."""
    heat_from: int = 0
    """Index of the first column of percentages that HTML shows as heat cells; 0 without heat cells."""


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    blocks: Sequence[Paragraph | Table] = ()
    sections: Sequence[Section] = field(default_factory=list)
    is_folded: bool = True
    """Whether HTML folds the section. Only sections in the details can be folded."""


def make_table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Table:
    return Table(heads, [TableRow(row) for row in rows], frozenset(right))


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
"""Maximum number of groups in a table, the largest groups first. `fcreview calibrate` lists all groups."""
GROUP_MEASURES: tuple[MeasureName, ...] = ("tpr", "tnr", "kappa", "agreement")
MAX_MATRIX_LABELS = 4
"""Maximum number of labels of a confusion matrix. A larger matrix becomes a list of pairs."""
MAX_PAIRS = 20
"""Maximum number of (automatic verdict, human label) pairs in a list, the most frequent first."""


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """Calibration of automatic verdicts. Empty if no automatic verdict was reviewed."""

    basis: Sequence[str] = ()
    calibrations: Sequence[Calibration] = ()
    """Calibrations ordered by scope, the overall calibrations first."""
    error_groups: Sequence[ErrorGroup] = field(default=())
    scopes: Sequence[CalibrationScope] = ()


def build_calibration_section(found: CalibrationResult) -> Section:
    if not found.calibrations:
        return Section(CALIBRATION_TITLE, [Paragraph(NO_PAIRS_MESSAGE[0].upper() + NO_PAIRS_MESSAGE[1:] + ".")])
    sections = [_build_source_section(each) for each in found.calibrations if each.scope == "overall"]
    for scope in found.scopes:
        sections += _build_scope_section(scope, [each for each in found.calibrations if each.scope == scope])
    sections += _build_error_group_sections(found.error_groups)
    return Section(CALIBRATION_TITLE, [Paragraph(text) for text in (*found.basis, *NOTES)], sections)


def _build_source_section(of: Calibration) -> Section:
    rates = [
        [MEASURE_LABELS[rate.metric], *format_measure(rate), f"{rate.n:,}"]
        for rate in sorted(of.rates, key=lambda rate: list(MEASURE_LABELS).index(rate.metric))
    ]
    says = Paragraph(
        f"{format_count(of.n, 'verdict')} on reviewed targets. Item selection: {format_selection_method(of)}."
    )
    figures = make_table(["measure", "value", "95 % interval", "n"], rows=rates, right=(1, 2, 3))
    return Section(" · ".join(format_source_and_criterion(of)), [says, _build_confusion_table(of), figures])


def _build_confusion_table(of: Calibration) -> Table:
    if of.binary or len({str(each) for cell in of.cells for each in (cell.automatic, cell.human)}) <= MAX_MATRIX_LABELS:
        pairs = {
            (format_verdict(cell.automatic, of.criterion), format_verdict(cell.human, of.criterion)): cell.n
            for cell in of.cells
        }
        labels = (
            [format_verdict(each, of.criterion) for each in (True, False)] if of.binary else sorted({*sum(pairs, ())})
        )
        rows = [[f"verdict {one}", *(f"{pairs.get((one, other), 0):,}" for other in labels)] for one in labels]
        return make_table(["", *(f"human: {label}" for label in labels)], rows, range(1, len(labels) + 1))
    most = sorted(of.cells, key=lambda cell: -cell.n)[:MAX_PAIRS]
    listed = [
        [format_verdict(cell.automatic, of.criterion), format_verdict(cell.human, of.criterion), f"{cell.n:,}"]
        for cell in most
    ]
    rest = sum(cell.n for cell in of.cells) - sum(cell.n for cell in most)
    return make_table(["verdict", "human", "n"], [*listed, *([["others", "", f"{rest:,}"]] if rest else [])], (2,))


def _build_scope_section(scope: CalibrationScope, figures: Sequence[Calibration]) -> Iterator[Section]:
    if len({each.name for each in figures}) < 2:
        return
    kept = {id(each) for each in sorted(figures, key=lambda each: -each.n)[:MAX_CALIBRATION_GROUPS]}
    rows = [
        [each.name or "", " · ".join(format_source_and_criterion(each)), f"{each.n:,}", format_selection_method(each),
         *(format_measures(each.rates)[metric] for metric in GROUP_MEASURES)]
        for each in figures if id(each) in kept
    ]  # fmt: skip
    heads = [scope, "verdicts", "n", "selection", *(MEASURE_LABELS[metric] for metric in GROUP_MEASURES)]
    blocks: list[Paragraph | Table] = [make_table(heads, rows, (2, *range(4, len(heads))))]
    if rest := len(figures) - len(kept):
        note = f"{format_count(rest, 'smaller group')} not shown. For all groups: `fcreview calibrate --by {scope}`."
        blocks.append(Paragraph(note))
    yield Section(f"by {scope}", blocks)


def _build_error_group_sections(kinds: Sequence[ErrorGroup]) -> Iterator[Section]:
    rows = []
    for _, found in groupby(kinds, format_source_and_criterion):
        for kind in sorted(found, key=lambda kind: -kind.wrong)[:MAX_ERROR_GROUPS]:
            verdicts, share = " · ".join(format_source_and_criterion(kind)), f"{kind.wrong:,} of {kind.of:,}"
            rows.append([f"{kind.by} {kind.name}", verdicts, format_error(kind), share])
    if rows:
        note = (
            f"The table lists the {MAX_ERROR_GROUPS} most frequent kinds of errors of each source. "
            "`wrong` shows how many of the source's verdicts of the same kind on such items are wrong."
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


def build_failures_section(parts: Sequence[DatasetFailures]) -> Section:
    return Section("Failure clusters", sections=[_build_dataset_failures_section(part) for part in parts])


def _build_dataset_failures_section(part: DatasetFailures) -> Section:
    failing = sum(cluster.count for cluster in part.clusters)
    if not failing:
        return Section(part.title, [Paragraph("No failing items.")])
    errors = [
        [group.name or NO_ERROR_TYPE, f"{group.count:,}", format_share(group.count, failing),
         summarize_group(group, BY_ERROR_TYPE)]
        for group in group_clusters(part.clusters, BY_ERROR_TYPE)
    ]  # fmt: skip
    rows = [
        _build_cluster_row(cluster, example) for cluster, example in zip(part.clusters, part.examples, strict=False)
    ]
    blocks: list[Paragraph | Table] = [
        Paragraph(f"{format_count(failing, 'failing item')} in all runs of the dataset, after reviews."),
        make_table(["error type", "items", "share", "mostly in"], errors, (1, 2)),
        make_table(["items", "cluster", "example", "first difference", "question"], rows, (0,)),
    ]
    if rest := len(part.clusters) - len(part.examples):
        blocks.append(Paragraph(f"{format_count(rest, 'smaller cluster')} not shown."))
    return Section(part.title, blocks)


def _build_cluster_row(cluster: Cluster, example: ClusterExample) -> list[str]:
    names = [cluster.error_type or NO_ERROR_TYPE, *filter(None, (cluster.function, cluster.argument))]
    return [f"{cluster.count:,}", " · ".join(names), example.id, example.difference or "", example.question]


HAND_PICKED_NOTE = (
    "Items outside queues were chosen by the annotators. Their reviews count for these items only and do not "
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
    """Progress such as `12 of 80`, by annotator."""


def build_agreement_section(found: Mapping[BlindStatus, Sequence[AgreementCoefficient]]) -> Section:
    """Return the section on overall inter-annotator agreement, separately for blind and other reviews."""
    title = "Inter-annotator agreement"
    if not found:
        return Section(title, [Paragraph("No item has reviews by two or more annotators.")])
    heads = ["criterion", "coefficient", "annotators", "value", "95 % interval", "units", "labels"]
    parts = []
    for how, figures in found.items():
        rows = [
            [each.criterion, format_coefficient_name(each), ", ".join(each.annotators), *agreement_value_of(each),
             f"{each.n_units:,}", f"{each.n_labels:,}"]
            for each in figures
        ]  # fmt: skip
        parts.append(Section(BLIND_STATUS_LABELS[how], [make_table(heads, rows, (3, 4, 5, 6))]))
    return Section(title, [Paragraph("Adjudications and stale, retracted or unsure reviews are excluded.")], parts)


def build_progress_section(runs: Sequence[RunReviewProgress], queues: Sequence[QueueSample]) -> Section:
    rows = [[run.name, f"{run.items:,}", f"{run.reviewed:,}", f"{run.partly_reviewed:,}"] for run in runs]
    blocks = [make_table(["run", "items", "reviewed", "partly reviewed"], rows, (1, 2, 3))]
    shares = [[queue.name, name, done] for queue in queues for name, done in queue.progress_by_annotator.items()]
    if shares:
        blocks.append(make_table(["queue", "annotator", "done"], shares))
    return Section("Review progress", blocks)


def build_item_selection_section(queues: Sequence[QueueSample]) -> Section:
    rows = [
        [
            queue.name, f"{queue.size:,} of {queue.population:,}", queue.where or "all items",
            queue.stratify or "not stratified", str(queue.seed), queue.created,
        ]
        for queue in queues
    ]  # fmt: skip
    heads = ["queue", "drawn", "from", "strata", "seed", "created"]
    drawn = f"{format_count(len(queues), 'queue was', 'queues were')} drawn at random."
    text = Paragraph(f"{drawn if queues else 'No random sample was drawn.'} {HAND_PICKED_NOTE}")
    return Section("Item selection", [text, make_table(heads, rows)] if rows else [text])


MAX_SUSPECTS = 20
MAX_REASONS = 3
"""Maximum number of reasons per golden answer, the strongest first."""
MAX_MODELS = 3
MAX_QUESTION_LENGTH = 400


def build_suspects_section(found: Sequence[Suspect]) -> Section:
    """Return the section on suspect golden answers, the most suspect first. Answers without a reason are omitted."""
    title = "Golden answers that look wrong"
    suspects = [suspect for suspect in found if suspect.reasons]
    if not suspects:
        return Section(title, [Paragraph("No golden answer looks wrong.")])
    count = format_count(len(suspects), "question")
    strong = f"{sum(suspect.is_strong for suspect in suspects):,} of them strong (score 0.5 or more)"
    rest = f" The table lists the {MAX_SUSPECTS} most suspect." if len(suspects) > MAX_SUSPECTS else ""
    text = f"{count} with reasons to doubt the golden answer, the question or the checker, {strong}.{rest}"
    heads = ["score", "item", "failing runs", "reasons", "may be right instead", "question"]
    table = make_table(heads, [_build_suspect_row(each) for each in suspects[:MAX_SUSPECTS]], (0,))
    return Section(title, [Paragraph(text), table])


def _build_suspect_row(suspect: Suspect) -> list[str]:
    case, other = suspect.question, suspect.alternative
    text = " ".join(case.text.split())
    models = ", ".join([*other.models[:MAX_MODELS], *["..."] * (len(other.models) > MAX_MODELS)]) if other else ""
    return [
        f"{suspect.score:.2f}",
        case.key.id,
        f"{case.n_failing} of {len(case.runs)}",
        "; ".join(reason.full_text for reason in suspect.reasons[:MAX_REASONS]),
        other.answer + (f" ({models})" if models else "") if other else "",
        text if len(text) <= MAX_QUESTION_LENGTH else text[:MAX_QUESTION_LENGTH].rstrip() + " …",
    ]

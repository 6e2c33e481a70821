"""What a report is made of. Texts are as they are in data: whoever writes them escapes them.

How far automatic verdicts can be believed, as a section: of each source its confusion matrix and figures, then by
groups of cases, then the kinds of cases that it gets wrong.

Why items fail, as a section: error types, then groups of failures alike, each with an example.

Runs beside each other: of each dataset the share of items that pass, best run first.

What people did, as sections: how far they agree, how far they are, and how the items came to be reviewed.

Golden answers that look wrong, as a section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from fcreview.matching.clusters import BY_ERROR_TYPE, Cluster, group_clusters, summarize_group, format_share
from fcreview.model.metric import METRIC_SOURCES, MetricSource
from fcreview.model.wording import NO_VALUE, format_count, format_official_rate, format_rate_of_known, format_recomputed_rate, format_verdict
from fcreview.stats.agreement import BLIND_STATUS_LABELS, BlindStatus, format_coefficient_name
from fcreview.stats.agreement import format_value_and_interval as agreement_value_of
from fcreview.stats.calibration import MEASURE_LABELS, NO_PAIRS_MESSAGE, NOTES, MAX_ERROR_GROUPS, format_measures, format_selection_method, format_source_and_criterion, format_error, format_measure

if TYPE_CHECKING:
    from fcreview.golden_audit.score import Suspect
    from fcreview.stats.agreement import AgreementCoefficient
    from fcreview.stats.calibration import Calibration, MeasureName, CalibrationScope, ErrorGroup


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A share as a bar."""

    source: MetricSource
    value: float
    """0 to 1."""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    cells: Sequence[str]
    level: int = 0
    """Indentation of the first cell."""
    bars: Sequence[Bar] = ()


@dataclass(frozen=True, slots=True)
class Table:
    heads: Sequence[str]
    rows: Sequence[TableRow]
    right: frozenset[int] = frozenset()
    """Columns of numbers."""


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    blocks: Sequence[Text | Table] = ()
    sections: Sequence[Section] = field(default_factory=list)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Table:
    return Table(heads, [TableRow(row) for row in rows], frozenset(right))


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    lead: Sequence[str]
    """Paragraphs below the title."""
    sections: Sequence[Section]


TITLE = "How far automatic verdicts can be believed"
GROUPS = 40
"""Rows of one table, those with most cases; `fcreview calibrate` has all."""
GROUPED: tuple[MeasureName, ...] = ("tpr", "tnr", "kappa", "agreement")
"""Figures of groups: a page has room for so many beside each other."""
LABELS = 4
"""Labels up to which a confusion matrix is drawn as one, else as a list of what occurs."""
PAIRS = 20
"""Lines of such a list, those with most cases."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What there is to say; all empty where nothing automatic was reviewed."""

    basis: Sequence[str] = ()
    """Paragraphs: what the figures rest on."""
    figures: Sequence[Calibration] = ()
    """In the order of scopes, the overall ones first."""
    wrong: Sequence[ErrorGroup] = field(default=())
    scopes: Sequence[CalibrationScope] = ()
    """By which groups the figures are told, beside the overall ones."""


def calibration_section(found: Calibrated) -> Section:
    if not found.figures:
        return Section(TITLE, [Text(NO_PAIRS_MESSAGE[0].upper() + NO_PAIRS_MESSAGE[1:] + ".")])
    overall = [_source(each) for each in found.figures if each.scope == "overall"]
    parts = [_groups(scope, [each for each in found.figures if each.scope == scope]) for scope in found.scopes]
    texts = [Text(text) for text in (*found.basis, *NOTES)]
    return Section(TITLE, texts, [*overall, *filter(None, parts), *_wrong(found.wrong)])


def _source(of: Calibration) -> Section:
    rates = [
        [MEASURE_LABELS[rate.metric], *format_measure(rate), f"{rate.n:,}"]
        for rate in sorted(of.rates, key=lambda rate: list(MEASURE_LABELS).index(rate.metric))
    ]
    says = Text(f"{format_count(of.n, 'verdict')} on what people settled; how the items were chosen: {format_selection_method(of)}.")
    figures = table(["figure", "value", "95 % interval", "over"], rows=rates, right=(1, 2, 3))
    return Section(" · ".join(format_source_and_criterion(of)), [says, _matrix(of), figures])


def _matrix(of: Calibration) -> Table:
    """A row what it says, a column what people say; of many labels a line each pair that occurs."""
    if of.binary or len({str(each) for cell in of.cells for each in (cell.automatic, cell.human)}) <= LABELS:
        pairs = {(format_verdict(cell.automatic, of.criterion), format_verdict(cell.human, of.criterion)): cell.n for cell in of.cells}
        labels = [format_verdict(each, of.criterion) for each in (True, False)] if of.binary else sorted({*sum(pairs, ())})
        rows = [[f"says {one}", *(f"{pairs.get((one, other), 0):,}" for other in labels)] for one in labels]
        return table(["", *(f"people: {label}" for label in labels)], rows, range(1, len(labels) + 1))
    most = sorted(of.cells, key=lambda cell: -cell.n)[:PAIRS]
    listed = [[format_verdict(cell.automatic, of.criterion), format_verdict(cell.human, of.criterion), f"{cell.n:,}"] for cell in most]
    rest = sum(cell.n for cell in of.cells) - sum(cell.n for cell in most)
    return table(["it says", "people", "n"], [*listed, *([["others", "", f"{rest:,}"]] if rest else [])], (2,))


def _groups(scope: CalibrationScope, figures: Sequence[Calibration]) -> Section | None:
    """None where there is one group only: that is the overall one."""
    if len({each.name for each in figures}) < 2:
        return None
    kept = {id(each) for each in sorted(figures, key=lambda each: -each.n)[:GROUPS]}
    rows = [
        [each.name or "", " · ".join(format_source_and_criterion(each)), f"{each.n:,}", format_selection_method(each),
         *(format_measures(each.rates)[metric] for metric in GROUPED)]
        for each in figures if id(each) in kept
    ]  # fmt: skip
    rest = len(figures) - len(kept)
    more = [Text(f"{format_count(rest, 'smaller group')} not shown: `fcreview calibrate --by {scope}`.")] if rest else []
    heads = [scope, "verdicts", "n", "chosen", *(MEASURE_LABELS[metric] for metric in GROUPED)]
    return Section(f"by {scope}", [table(heads, rows, (2, *range(4, len(heads)))), *more])


def _wrong(kinds: Sequence[ErrorGroup]) -> Iterator[Section]:
    rows = []
    for _, found in groupby(kinds, format_source_and_criterion):
        for kind in sorted(found, key=lambda kind: -kind.wrong)[:MAX_ERROR_GROUPS]:
            share = f"{kind.wrong:,} of {kind.of:,}"
            rows.append([f"{kind.by} {kind.name}", " · ".join(format_source_and_criterion(kind)), format_error(kind), share])
    if rows:
        says = f"Of each source the {MAX_ERROR_GROUPS} most frequent kinds, and how often it says so at all in cases of that kind."
        yield Section(
            "where they are wrong", [Text(says), table(["cases", "verdicts", "it says", "wrong"], rows, (3,))]
        )


CLUSTERS = 20
"""Groups that are shown, of each dataset."""
UNNAMED = "no error type given"


@dataclass(frozen=True, slots=True)
class Example:
    id: str
    question: str
    difference: str | None


@dataclass(frozen=True, slots=True)
class Failing:
    """Failures of the runs of one dataset."""

    title: str
    clusters: Sequence[Cluster]
    examples: Sequence[Example]
    """One of each of the first groups: those that are shown."""


def failing_section(parts: Sequence[Failing]) -> Section:
    return Section("Why items fail", sections=[_part(part) for part in parts])


def _part(part: Failing) -> Section:
    failing = sum(cluster.count for cluster in part.clusters)
    if not failing:
        return Section(part.title, [Text("No item fails.")])
    errors = [
        [group.name or UNNAMED, f"{group.count:,}", format_share(group.count, failing), summarize_group(group, BY_ERROR_TYPE)]
        for group in group_clusters(part.clusters, BY_ERROR_TYPE)
    ]
    rest = len(part.clusters) - len(part.examples)
    rows = [_row(cluster, example) for cluster, example in zip(part.clusters, part.examples, strict=False)]
    more = [Text(f"{format_count(rest, 'smaller group')} not shown.")] if rest else []
    return Section(
        part.title,
        [
            Text(f"{format_count(failing, 'item')} failing, after reviews, in all of these runs."),
            table(["error type", "items", "share", "mostly in"], errors, (1, 2)),
            table(["items", "fails alike", "example", "what differs first", "question"], rows, (0,)),
            *more,
        ],
    )


def _row(cluster: Cluster, example: Example) -> list[str]:
    names = [cluster.error_type or UNNAMED, *filter(None, (cluster.function, cluster.argument))]
    return [f"{cluster.count:,}", " · ".join(names), example.id, example.difference or "", example.question]


WHAT = (
    "Of each run the share of its items that pass, each item counted once; the highest corrected share first. "
    "The benchmarks' own figures, which weigh items, stand below."
)


@dataclass(frozen=True, slots=True)
class RunPasses:
    name: str
    kind: str
    """Its dataset: `bfcl V1 en`."""
    items: int
    official: tuple[int, int]
    """How many pass, of how many that have such a verdict."""
    rule: tuple[int, int]
    corrected: tuple[int, int]
    stated: tuple[int, int] = (0, 0)
    """What the headers of score files say, where the results are missing."""


def passing_section(runs: Sequence[RunPasses]) -> Section:
    blocks: list[Text | Table] = [Text(WHAT)]
    heads = ["items", *METRIC_SOURCES]
    for kind in dict.fromkeys(run.kind for run in runs):
        of = sorted((run for run in runs if run.kind == kind), key=_share, reverse=True)
        blocks.append(Table([kind, *heads], [_passing_row(run) for run in of], frozenset(range(1, 1 + len(heads)))))
    return Section("Items that pass", blocks)


def _share(run: RunPasses) -> float:
    passed, known = run.corrected
    return passed / known if known else -1.0


def _passing_row(run: RunPasses) -> TableRow:
    passed, of = run.stated
    cells = [
        run.name,
        f"{run.items:,}",
        format_official_rate(*run.official, run.items, stated_pass=passed, stated_of=of),
        format_recomputed_rate(*run.rule, run.items),
        format_rate_of_known(*run.corrected, run.items),
    ]
    shares = zip(METRIC_SOURCES, (run.official, run.rule, run.corrected), strict=True)
    cells = ["·" if cell == NO_VALUE else cell for cell in cells]
    return TableRow(cells, bars=[Bar(source, ok / known) for source, (ok, known) in shares if 0 < known == run.items])


BY_HAND = (
    "Items that are in no queue were chosen by whoever reviewed them: their reviews count for these items and say "
    "nothing of the others."
)


@dataclass(frozen=True, slots=True)
class RunProgress:
    name: str
    items: int
    reviewed: int
    in_part: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """A queue: a sample with known probabilities, and how far annotators are with it."""

    name: str
    created: str
    size: int
    population: int
    where: str
    stratify: str
    seed: int
    done: Mapping[str, str]
    """Annotator -> `12 of 80`."""


def agreement_section(found: Mapping[BlindStatus, Sequence[AgreementCoefficient]]) -> Section:
    """Overall figures, each way in which reviews were given apart."""
    title = "How far annotators agree"
    if not found:
        return Section(title, [Text("No item was reviewed by two annotators or more.")])
    heads = ["criterion", "figure", "annotators", "value", "95 % interval", "units", "labels"]
    parts = []
    for how, figures in found.items():
        rows = [
            [each.criterion, format_coefficient_name(each), ", ".join(each.annotators), *agreement_value_of(each), f"{each.n_units:,}",
             f"{each.n_labels:,}"]
            for each in figures
        ]  # fmt: skip
        parts.append(Section(BLIND_STATUS_LABELS[how], [table(heads, rows, (3, 4, 5, 6))]))
    return Section(title, [Text("Adjudications, stale and retracted reviews do not count; unsure is no label.")], parts)


def progress_section(runs: Sequence[RunProgress], queues: Sequence[Drawn]) -> Section:
    rows = [[run.name, f"{run.items:,}", f"{run.reviewed:,}", f"{run.in_part:,}"] for run in runs]
    blocks = [table(["run", "items", "reviewed", "only in part"], rows, (1, 2, 3))]
    shares = [[queue.name, name, done] for queue in queues for name, done in queue.done.items()]
    if shares:
        blocks.append(table(["queue", "annotator", "done"], shares))
    return Section("How far reviewing is", blocks)


def chosen_section(queues: Sequence[Drawn]) -> Section:
    rows = [
        [
            queue.name, f"{queue.size:,} of {queue.population:,}", queue.where or "all items",
            queue.stratify or "not stratified", str(queue.seed), queue.created,
        ]
        for queue in queues
    ]  # fmt: skip
    heads = ["queue", "drawn", "from", "strata", "seed", "made"]
    said = format_count(len(queues), "queue was", "queues were") + " drawn at random." if queues else "No queue was drawn."
    text = Text(f"{said} {BY_HAND}")
    return Section("How items were chosen", [text, table(heads, rows)] if rows else [text])


SHOWN = 20
REASONS = 3
"""Of each: the most telling."""
MODELS = 3
LONGEST = 400
"""Letters of a question."""


def suspects_section(found: Sequence[Suspect]) -> Section:
    """Most suspect first; those without a reason are left out."""
    title = "Golden answers that look wrong"
    telling = [suspect for suspect in found if suspect.reasons]
    if not telling:
        return Section(title, [Text("Nothing speaks against any golden answer.")])
    says = f"{format_count(len(telling), 'question')} with a reason to doubt the golden answer, the question or the checker"
    rest = f"; the {SHOWN} most suspect." if len(telling) > SHOWN else "."
    heads = ["score", "item", "runs fail", "why", "instead", "question"]
    return Section(title, [Text(says + rest), table(heads, [_suspected_row(each) for each in telling[:SHOWN]], (0,))])


def _suspected_row(suspect: Suspect) -> list[str]:
    case, other = suspect.question, suspect.alternative
    who = f" ({', '.join(other.models[:MODELS])}{', ...' if len(other.models) > MODELS else ''})" if other else ""
    return [
        f"{suspect.score:.2f}",
        case.key.id,
        f"{case.n_failing} of {len(case.runs)}",
        "; ".join(reason.text for reason in suspect.reasons[:REASONS]),
        f"{other.answer}{who if other.models else ''}" if other else "",
        _beginning(" ".join(case.text.split())),
    ]


def _beginning(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " …"

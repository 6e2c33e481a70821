"""Group the ratings of annotators for measuring agreement, and format agreement and disagreements
as text.

A unit is one target of one item on one criterion. A label is a verdict other than "unsure". The
store already excludes adjudications, stale and retracted reviews, and verdicts that only follow
from verdicts on parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fcreview.model.address import ITEM
from fcreview.model.decision import Disagreement
from fcreview.model.effective_verdict import (
    DISPUTED,
    SCORING_ORDER,
    find_agreed_verdict,
    is_definite,
)
from fcreview.model.item import Item, Verdict
from fcreview.model.metric import MetricUnit
from fcreview.model.review import CORRECT, Fault, ItemKey, Opinion
from fcreview.model.sanitize import sanitize
from fcreview.model.verdict import PASS_FAIL_CRITERIA, SCALES
from fcreview.model.wording import NO_VALUE, format_verdict, format_with_interval

FAULT_UNRESOLVED = "all pass; fault unresolved"


def list_automatic_verdicts(item: Item, disagreement: Disagreement) -> list[Verdict]:
    """List the automatic verdicts on the target and criterion of a disagreement, including the
    verdicts that are only in the fields `official`, `rule` and `judge` of the item.
    """
    about = disagreement.target, disagreement.criterion
    verdicts = [
        verdict for verdict in item.verdicts if (verdict.target, verdict.criterion) == about
    ]
    if about != (ITEM, CORRECT):
        return verdicts

    listed_sources = {verdict.source for verdict in verdicts}
    for source in SCORING_ORDER:
        value = getattr(item, source)
        if source not in listed_sources and value is not None:
            verdicts.append(Verdict(source, value))
    return verdicts


def list_verdicts_for_adjudication(item: Item, disagreement: Disagreement) -> list[Verdict]:
    """List the automatic verdicts on a disagreement, then the judge verdicts on other criteria
    of its target.
    """
    verdicts = list_automatic_verdicts(item, disagreement)
    for verdict in item.verdicts:
        is_by_judge = verdict.source == "judge"
        is_on_target = verdict.target == disagreement.target
        if is_by_judge and is_on_target and verdict.criterion != disagreement.criterion:
            verdicts.append(verdict)
    return verdicts


def format_opinion(opinion: Opinion) -> str:
    """Format an annotator's verdict and fault: `pass, fault: golden`."""
    verdict = format_verdict(opinion.verdict, opinion.criterion)
    return f"{verdict}, fault: {opinion.fault}" if opinion.fault else verdict


def format_source_verdict(verdict: Verdict, criterion: str) -> str:
    """Format an automatic verdict with the judge's name, the criterion if it is not `criterion`,
    and the rationale: `gpt-4o equivalent pass: same city`.
    """
    words = []
    if verdict.source == "judge":
        words.append(verdict.by)
    if verdict.criterion != criterion:
        words.append(verdict.criterion)
    words.append(format_verdict(verdict.value, verdict.criterion))
    value = " ".join(word for word in words if word)

    parts = [value, verdict.error_type, verdict.rationale]
    return ": ".join(part for part in parts if part)


def is_fault_disagreement(disagreement: Disagreement) -> bool:
    """Whether the annotators agree on the verdict and disagree only on the fault."""
    if disagreement.is_only_about_golden:
        return False
    return bool(find_agreed_verdict(answer.verdict for answer in disagreement.answers) != DISPUTED)


def format_majority(disagreement: Disagreement) -> str:
    if is_fault_disagreement(disagreement):
        return FAULT_UNRESOLVED
    if disagreement.majority is None:
        return "none"
    return f"{format_verdict(disagreement.majority, disagreement.criterion)} (not applied)"


BlindStatus = Literal["blind", "seen", "unknown", "all"]
"""Whether other verdicts were hidden (`blind`), visible (`seen`) or it is `unknown`; `all` for
all reviews.
"""
BLIND_STATUSES: tuple[BlindStatus, ...] = ("blind", "seen", "unknown", "all")
_STATUS_OF_RATING: dict[bool | None, BlindStatus] = {True: "blind", False: "seen", None: "unknown"}

MeasurementLevel = Literal["nominal", "ordinal", "masi"]
"""How labels are compared: by equality (`nominal`), by order (`ordinal`), or as sets that may
overlap (`masi`).
"""

AgreementScope = Literal["overall", "benchmark", "category"]
AGREEMENT_SCOPES: tuple[AgreementScope, ...] = ("overall", "benchmark", "category")

GroupKey = tuple[str | None, str | None, str]
"""Benchmark, category and criterion of a group of ratings.

None means all benchmarks or all categories.
"""
LabelKey = str | frozenset[str]
"""Hashable form of a label.

True and 1 have different keys. Lists with the same elements have the same key.
"""


@dataclass(frozen=True, slots=True)
class Rating:
    """An annotator's current verdict on one target and criterion of an item."""

    item: int
    key: ItemKey
    target: str
    criterion: str
    annotator: str
    value: Any
    fault: Fault | None = None
    blind: bool | None = None


@dataclass(frozen=True, slots=True)
class RepeatedRating:
    """The two verdicts of an annotator on one target and criterion of an item that the queue
    showed twice.
    """

    item: int
    key: ItemKey
    target: str
    criterion: str
    annotator: str
    first: Any
    """Verdict that the annotator had given when the queue showed the item for the second time."""
    second: Any


@dataclass(frozen=True, slots=True)
class RatingGroup:
    """Ratings on one criterion whose agreement is measured together."""

    given: BlindStatus
    scope: AgreementScope
    benchmark: str | None
    category: str | None
    criterion: str
    ratings: Sequence[Rating]


CoefficientName = Literal["percent", "fleiss", "alpha", "ac1", "ac2", "cohen", "weighted"]
"""`ac2` and `weighted` (weighted kappa) exist only for scores."""
PAIR_COEFFICIENTS: tuple[CoefficientName, ...] = ("cohen", "weighted")
IntervalMethod = Literal["mid-p", "wilson", "bayesian bootstrap"]


@dataclass(frozen=True, slots=True)
class AgreementCoefficient:
    """An agreement coefficient of one group of ratings.

    `fcreview agreement --json` prints these fields.
    """

    scope: AgreementScope
    benchmark: str | None
    category: str | None
    criterion: str
    level: MeasurementLevel
    metric: CoefficientName
    annotators: tuple[str, ...]
    value: float | None
    """1 for perfect agreement, 0 for agreement by chance; `percent` is from 0 to 1.

    None if undefined.
    """
    low: float | None
    high: float | None
    n_units: int
    """Number of units that at least two of the annotators labelled; for `fleiss`, with equally
    many labels.
    """
    n_labels: int
    given: BlindStatus
    interval: IntervalMethod | None = None
    interval_note: str = ""
    """Why there is no interval: `no disagreement`, or `fewer than 10 items`."""


def split_by_blind_status(ratings: Iterable[Rating]) -> dict[BlindStatus, list[Rating]]:
    """Split ratings by blind status, in the order of `BLIND_STATUSES`.

    A status without ratings is omitted.
    """
    groups: dict[BlindStatus, list[Rating]] = {status: [] for status in BLIND_STATUSES}
    for rating in ratings:
        groups[_STATUS_OF_RATING[rating.blind]].append(rating)
    return {status: group for status, group in groups.items() if group}


def build_labels_with_faults(ratings: Iterable[Rating]) -> list[Rating]:
    """Return the ratings without "unsure", and copies of some of them that include the fault.

    The copies show whether annotators agree on faults too. They have values such as `pass:golden`,
    and the criterion `<criterion>+fault`. Only a criterion on which some rating is a pass with a
    fault gets copies.
    """
    labels = [rating for rating in ratings if is_definite(rating.value)]
    criteria_with_fault = {label.criterion for label in labels if _get_fault_of_pass(label)}
    fault_labels = []
    for label in labels:
        if label.criterion not in criteria_with_fault:
            continue
        value = "pass" if label.value is True else "fail"
        fault = _get_fault_of_pass(label)
        if fault:
            value = f"{value}:{fault}"
        fault_labels.append(replace(label, criterion=f"{label.criterion}+fault", value=value))
    return labels + fault_labels


def group_ratings(
    ratings: Iterable[Rating], scope: AgreementScope, blind_status: BlindStatus
) -> list[RatingGroup]:
    """Group ratings by criterion and, depending on `scope`, also by benchmark or category.

    The groups are sorted by benchmark, category and criterion.
    """
    ratings_by_group: dict[GroupKey, list[Rating]] = {}
    for rating in ratings:
        benchmark = None if scope == "overall" else rating.key.benchmark
        category = rating.key.category if scope == "category" else None
        group_key = (benchmark, category, rating.criterion)
        ratings_by_group.setdefault(group_key, []).append(rating)

    return [
        RatingGroup(blind_status, scope, *group_key, ratings_by_group[group_key])
        for group_key in sorted(ratings_by_group, key=_get_group_sort_key)
    ]


def _get_group_sort_key(group_key: GroupKey) -> tuple[str, str, int, str]:
    """Return the sort key of a group: by benchmark, category, and criterion."""
    benchmark, category, criterion = group_key
    # Criteria have the order of `SCALES`. Unknown ones come last.
    scales = list(SCALES)
    base = criterion.removesuffix("+fault")
    position = scales.index(base) if base in scales else len(scales)
    return benchmark or "", category or "", position, criterion


def find_jointly_labelled_items(group: RatingGroup, annotators: Sequence[str]) -> list[int]:
    """Return the sorted numbers of the items with a target that at least two of the `annotators`
    labelled.
    """
    annotators_of: dict[tuple[int, str], set[str]] = {}
    for rating in group.ratings:
        if rating.annotator in annotators:
            annotators_of.setdefault((rating.item, rating.target), set()).add(rating.annotator)
    return sorted({item for (item, _), names in annotators_of.items() if len(names) > 1})


def to_label_key(value: Any) -> LabelKey:
    return frozenset(map(repr, value)) if isinstance(value, list) else repr(value)


def infer_measurement_level(values: Iterable[Any]) -> MeasurementLevel:
    """Return `masi` if any value is a list of labels, `ordinal` if all values are numbers, else
    `nominal`.
    """
    types = {type(value) for value in values}
    if list in types:
        return "masi"
    return "ordinal" if types and types <= {int, float} else "nominal"


def list_label_keys(criterion: str, values: Sequence[Any]) -> list[LabelKey]:
    """List the keys of all labels of the criterion's scale, then of all others in `values`.

    Numbers are sorted.
    """
    labels = []
    if criterion in SCALES:
        labels += [value for value in SCALES[criterion].words.values() if is_definite(value)]
    labels += values
    if infer_measurement_level(labels) == "ordinal":
        labels.sort()
    keys = [to_label_key(label) for label in labels]
    # Each key once, at its first place
    return list(dict.fromkeys(keys))


def _get_fault_of_pass(rating: Rating) -> str | None:
    return rating.fault if rating.value is True and rating.criterion in PASS_FAIL_CRITERIA else None


SCOPE_HEADINGS: dict[AgreementScope, str] = {
    "overall": "overall",
    "benchmark": "by benchmark",
    "category": "by category",
}
BLIND_STATUS_LABELS: dict[BlindStatus, str] = {
    "blind": "blind reviews",
    "seen": "reviews that were not blind",
    "unknown": "reviews with unknown blind status",
    "all": "all reviews, blind or not",
}
COEFFICIENT_LABELS: dict[CoefficientName, str] = {
    "percent": "% agreement",
    "fleiss": "Fleiss' kappa",
    "alpha": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
    "ac2": "Gwet's AC2",
    "cohen": "Cohen's kappa",
    "weighted": "weighted kappa",
}


def format_group_cells(
    coefficients: Iterable[AgreementCoefficient], coefficient: AgreementCoefficient
) -> list[str]:
    """Format which ratings a coefficient is about, as table cells: the benchmark and category, if
    the ratings are divided by them, and the criterion.

    `coefficients` are those of the whole table. If all have the same benchmark, it is not repeated
    before a category.
    """
    benchmark, category, _ = get_group_key(coefficient)
    has_one_benchmark = len({each.benchmark for each in coefficients}) == 1
    is_category_enough = category is not None and has_one_benchmark
    names = []
    if benchmark is not None and not is_category_enough:
        names.append(benchmark)
    if category is not None:
        names.append(category)

    cells = []
    if names:
        cells.append(sanitize("/".join(names)))
    cells.append(sanitize(coefficient.criterion))
    return cells


def format_coefficient_name(coefficient: AgreementCoefficient) -> str:
    """Return the name of the coefficient. Add the level of measurement, unless it is nominal."""
    suffixes = {"nominal": "", "ordinal": " (ordinal)", "masi": " (MASI)"}
    return COEFFICIENT_LABELS[coefficient.metric] + suffixes[coefficient.level]


def format_value_and_interval(coefficient: AgreementCoefficient) -> list[str]:
    unit: MetricUnit = "share" if coefficient.metric == "percent" else "score"
    value, interval = format_with_interval(
        coefficient.value, coefficient.low, coefficient.high, unit, 3
    )
    return [value, interval or NO_VALUE]


def get_group_key(coefficient: AgreementCoefficient) -> GroupKey:
    return coefficient.benchmark, coefficient.category, coefficient.criterion

"""Group the ratings of annotators for measuring agreement, and format agreement and disagreements as text.

A unit is one target of one item on one criterion. "Unsure" is not a label. The store already excludes adjudications,
stale and retracted reviews, and verdicts that only follow from verdicts on parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fcreview.model.address import ITEM
from fcreview.model.decision import Disagreement
from fcreview.model.item import Item, Verdict
from fcreview.model.metric import MetricUnit
from fcreview.model.review import CORRECT, Fault, ItemKey, Opinion
from fcreview.model.sanitize import sanitize
from fcreview.model.verdict import DISPUTED, PASS_FAIL_CRITERIA, SCALES, SCORING_ORDER, agreed_verdict, decides
from fcreview.model.wording import NO_VALUE, format_verdict, format_with_interval

FAULT_UNRESOLVED = "all pass; fault unresolved"


def list_automatic_verdicts(item: Item, disagreement: Disagreement) -> list[Verdict]:
    """List the automatic verdicts on the target and criterion of a disagreement. For the whole item, the list includes
    verdicts that only the fields `official`, `rule` and `judge` of the item contain."""
    about = disagreement.target, disagreement.criterion
    verdicts = [verdict for verdict in item.verdicts if (verdict.target, verdict.criterion) == about]
    if about == (ITEM, CORRECT):
        listed = {verdict.source for verdict in verdicts}
        own = {source: getattr(item, source) for source in SCORING_ORDER if source not in listed}
        verdicts += [Verdict(source, value) for source, value in own.items() if value is not None]
    return verdicts


def list_verdicts_for_adjudication(item: Item, disagreement: Disagreement) -> list[Verdict]:
    """List the automatic verdicts on a disagreement, then the judge verdicts on other criteria of its target."""
    others = [v for v in item.verdicts if (v.source, v.target) == ("judge", disagreement.target)]
    same = list_automatic_verdicts(item, disagreement)
    return [*same, *(verdict for verdict in others if verdict.criterion != disagreement.criterion)]


def format_opinion(opinion: Opinion) -> str:
    """Format an annotator's verdict and fault: `pass, fault: golden`."""
    verdict = format_verdict(opinion.verdict, opinion.criterion)
    return f"{verdict}, fault: {opinion.fault}" if opinion.fault else verdict


def format_source_verdict(verdict: Verdict, criterion: str) -> str:
    """Format an automatic verdict: `gpt-4o equivalent pass: rationale`. The text contains the name of a judge, and the
    criterion if it differs from `criterion`."""
    judge = verdict.by if verdict.source == "judge" else ""
    other = verdict.criterion if verdict.criterion != criterion else ""
    value = " ".join(filter(None, (judge, other, format_verdict(verdict.value, verdict.criterion))))
    return ": ".join(filter(None, (value, verdict.error_type, verdict.rationale)))


def is_fault_disagreement(disagreement: Disagreement) -> bool:
    """Whether all annotators pass the target and disagree only on the fault."""
    return bool(agreed_verdict(answer.verdict for answer in disagreement.answers) != DISPUTED)


def format_majority(disagreement: Disagreement) -> str:
    if is_fault_disagreement(disagreement):
        return FAULT_UNRESOLVED
    if disagreement.majority is None:
        return "none"
    return f"{format_verdict(disagreement.majority, disagreement.criterion)} (not applied)"


BlindStatus = Literal["blind", "seen", "unknown", "all"]
"""Whether other verdicts were hidden from the annotator (`blind`) or visible (`seen`). `all` combines the others."""
BLIND_STATUSES: tuple[BlindStatus, ...] = ("blind", "seen", "unknown", "all")
_STATUS_OF_RATING: dict[bool | None, BlindStatus] = {True: "blind", False: "seen", None: "unknown"}

MeasurementLevel = Literal["nominal", "ordinal", "masi"]
"""How labels are compared: for equality (`nominal`), by order (`ordinal`), or as sets that may overlap (`masi`)."""

AgreementScope = Literal["overall", "benchmark", "category"]
AGREEMENT_SCOPES: tuple[AgreementScope, ...] = ("overall", "benchmark", "category")

LabelKey = str | frozenset[str]
"""Hashable form of a label. True and 1 have different keys, and the order of a list does not matter."""


@dataclass(frozen=True, slots=True)
class Rating:
    """An annotator's current verdict on one target of an item, on one criterion."""

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
    """An annotator's two verdicts on one target and criterion of a hidden duplicate."""

    item: int
    key: ItemKey
    target: str
    criterion: str
    annotator: str
    first: Any
    """First verdict, as it was when the queue showed the item for the second time."""
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


CoefficientName = Literal["percent", "fleiss", "alpha", "ac1", "cohen"]


@dataclass(frozen=True, slots=True)
class AgreementCoefficient:
    """An agreement coefficient of one group of ratings. `fcreview agreement --json` prints these fields."""

    scope: AgreementScope
    benchmark: str | None
    category: str | None
    criterion: str
    level: MeasurementLevel
    metric: CoefficientName
    annotators: tuple[str, ...]
    value: float | None
    """1 for perfect agreement, 0 for agreement by chance; `percent` is from 0 to 1. None if it is undefined."""
    low: float | None
    high: float | None
    n_units: int
    """Number of units that at least two of the annotators labelled. For `fleiss`, all have the same number of
    labels."""
    n_labels: int
    given: BlindStatus


def split_by_blind_status(ratings: Iterable[Rating]) -> dict[BlindStatus, list[Rating]]:
    """Split ratings by blind status, in the order of `BLIND_STATUSES`, without empty groups."""
    groups: dict[BlindStatus, list[Rating]] = {status: [] for status in BLIND_STATUSES}
    for rating in ratings:
        groups[_STATUS_OF_RATING[rating.blind]].append(rating)
    return {status: group for status, group in groups.items() if group}


def build_label_ratings(ratings: Iterable[Rating]) -> list[Rating]:
    """Return the ratings without "unsure". If an annotator passes a target with a fault, also add all ratings on this
    criterion as `<criterion>+fault`, with values such as `pass:golden`, so that different faults count as
    disagreement."""
    labels = [rating for rating in ratings if decides(rating.value)]
    with_fault = {label.criterion for label in labels if _passed_fault(label)}
    return labels + [
        replace(label, criterion=f"{label.criterion}+fault", value=f"{word}:{fault}" if fault else word)
        for label in labels
        if label.criterion in with_fault
        for word, fault in [("pass" if label.value is True else "fail", _passed_fault(label))]
    ]


def group_ratings(ratings: Iterable[Rating], scope: AgreementScope, given: BlindStatus) -> list[RatingGroup]:
    """Group ratings by criterion. Depending on `scope`, ratings of different benchmarks or categories are also in
    separate groups. Groups are sorted by benchmark, category and criterion, criteria in the order of `SCALES`."""
    groups: dict[tuple[str | None, str | None, str], list[Rating]] = {}
    for rating in ratings:
        benchmark = None if scope == "overall" else rating.key.benchmark
        category = rating.key.category if scope == "category" else None
        groups.setdefault((benchmark, category, rating.criterion), []).append(rating)
    order = list(SCALES)

    def sort_key(names: tuple[str | None, str | None, str]) -> tuple[str, str, int, str]:
        benchmark, category, criterion = names
        base = criterion.removesuffix("+fault")
        return benchmark or "", category or "", order.index(base) if base in order else len(order), criterion

    return [RatingGroup(given, scope, *names, groups[names]) for names in sorted(groups, key=sort_key)]


def find_multiply_labelled_items(group: RatingGroup, annotators: Sequence[str]) -> list[int]:
    """Return the sorted numbers of items with a target that at least two of these annotators labelled."""
    annotators_of: dict[tuple[int, str], set[str]] = {}
    for rating in group.ratings:
        if rating.annotator in annotators:
            annotators_of.setdefault((rating.item, rating.target), set()).add(rating.annotator)
    return sorted({item for (item, _), names in annotators_of.items() if len(names) > 1})


def to_label_key(value: Any) -> LabelKey:
    return frozenset(map(repr, value)) if isinstance(value, list) else repr(value)


def infer_measurement_level(values: Iterable[Any]) -> MeasurementLevel:
    """Return `masi` if any value is a list of labels, `ordinal` if all values are numbers, else `nominal`."""
    types = {type(value) for value in values}
    if list in types:
        return "masi"
    return "ordinal" if types and types <= {int, float} else "nominal"


def list_label_keys(criterion: str, values: Sequence[Any]) -> list[LabelKey]:
    """List the keys of all labels of the criterion's scale, then of all others in `values`. Numbers are sorted."""
    words = SCALES[criterion].words if criterion in SCALES else {}
    labels = [*(value for value in words.values() if decides(value)), *values]
    if infer_measurement_level(labels) == "ordinal":
        labels.sort()
    return list(dict.fromkeys(map(to_label_key, labels)))


def _passed_fault(rating: Rating) -> str | None:
    return rating.fault if rating.value is True and rating.criterion in PASS_FAIL_CRITERIA else None


SCOPE_HEADINGS: dict[AgreementScope, str] = {
    "overall": "overall", "benchmark": "by benchmark", "category": "by category"
}  # fmt: skip
BLIND_STATUS_LABELS: dict[BlindStatus, str] = {
    "blind": "blind reviews", "seen": "reviews that were not blind",
    "unknown": "reviews with unknown blind status", "all": "all reviews, blind or not",
}  # fmt: skip
COEFFICIENT_LABELS: dict[CoefficientName, str] = {
    "percent": "% agreement", "fleiss": "Fleiss' kappa", "alpha": "Krippendorff's alpha", "ac1": "Gwet's AC1",
    "cohen": "Cohen's kappa",
}  # fmt: skip


def format_group_cells(table: Iterable[AgreementCoefficient], coefficient: AgreementCoefficient) -> list[str]:
    """Return the table cells with the benchmark or category of a coefficient, if any, and its criterion. The benchmark
    is omitted before a category if all coefficients of the table are of one benchmark."""
    names = [name for name in get_group_key(coefficient)[:2] if name is not None]
    if len(names) > 1 and len({each.benchmark for each in table}) == 1:
        names = names[1:]
    return [sanitize(each) for each in (*(["/".join(names)] if names else []), coefficient.criterion)]


def format_coefficient_name(coefficient: AgreementCoefficient) -> str:
    """Return the name of the coefficient, with the level of measurement unless it is nominal."""
    suffixes = {"nominal": "", "ordinal": " (ordinal)", "masi": " (MASI)"}
    return COEFFICIENT_LABELS[coefficient.metric] + suffixes[coefficient.level]


def format_value_and_interval(coefficient: AgreementCoefficient) -> list[str]:
    unit: MetricUnit = "share" if coefficient.metric == "percent" else "score"
    value, interval = format_with_interval(coefficient.value, coefficient.low, coefficient.high, unit, 3)
    return [value, interval or NO_VALUE]


def get_group_key(coefficient: AgreementCoefficient) -> tuple[str | None, str | None, str]:
    """Return (benchmark, category, criterion) of the group that a coefficient describes."""
    return coefficient.benchmark, coefficient.category, coefficient.criterion

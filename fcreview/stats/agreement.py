"""A dispute in words: answers, what the benchmark says, what most say. The same in commands and on screens. Pure.

What annotators said, as figures of agreement are made of it.

A unit is one target of one item on one criterion. "unsure" is no label. Adjudications, stale and retracted reviews are
left out before anything comes here, and so are verdicts that only follow from those on parts.

Figures of agreement in words: the same in the command and on its screen. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fcreview.model.address import ITEM
from fcreview.model.decision import Dispute
from fcreview.model.item import Item, Verdict
from fcreview.model.metric import Unit
from fcreview.model.review import CORRECT, Fault, ItemKey, Opinion
from fcreview.model.sanitize import visible
from fcreview.model.verdict import DISPUTED, PASSING, SCALES, SCORING, agreed, decides
from fcreview.model.wording import number, word

ONLY_FAULT = "all let it pass; who is wrong is open"


def automatic_of(item: Item, dispute: Dispute) -> list[Verdict]:
    """What the benchmark says of the target; an importer may give the item's own verdict as a column only."""
    said = [v for v in item.verdicts if (v.target, v.criterion) == (dispute.target, dispute.criterion)]
    if (dispute.target, dispute.criterion) == (ITEM, CORRECT):
        known = {v.source for v in said}
        own = {source: getattr(item, source) for source in SCORING if source not in known}
        said += [Verdict(source, value) for source, value in own.items() if value is not None]
    return said


def told_of(item: Item, dispute: Dispute) -> list[Verdict]:
    """The same, and what a judge says of the target on other criteria."""
    others = [v for v in item.verdicts if (v.source, v.target) == ("judge", dispute.target)]
    return [*automatic_of(item, dispute), *(v for v in others if v.criterion != dispute.criterion)]


def answer_text(answer: Opinion) -> str:
    """`pass, wrong: golden`."""
    said = word(answer.verdict, answer.criterion)
    return f"{said}, wrong: {answer.fault}" if answer.fault else said


def verdict_text(verdict: Verdict, criterion: str) -> str:
    """`gpt-4o equivalent pass: why`; the criterion only where it is another than the one that is disputed."""
    by = verdict.by if verdict.source == "judge" else ""
    other = verdict.criterion if verdict.criterion != criterion else ""
    said = " ".join(filter(None, (by, other, word(verdict.value, verdict.criterion))))
    return ": ".join(filter(None, (said, verdict.error_type, verdict.rationale)))


def only_fault(dispute: Dispute) -> bool:
    """All let it pass, and differ in who is wrong."""
    return bool(agreed(answer.verdict for answer in dispute.answers) != DISPUTED)


def majority_text(dispute: Dispute) -> str:
    if only_fault(dispute):
        return ONLY_FAULT
    return "none" if dispute.majority is None else f"{word(dispute.majority, dispute.criterion)} (not taken)"


Given = Literal["blind", "seen", "unknown", "all"]
"""How reviews were given: without having seen what others found, having seen it, before that was recorded; or
taken together."""
GIVEN: tuple[Given, ...] = ("blind", "seen", "unknown", "all")
_GIVEN: dict[bool | None, Given] = {True: "blind", False: "seen", None: "unknown"}

Level = Literal["nominal", "ordinal", "masi"]
"""Of measurement: same or not, numbers in an order, sets of labels that can agree in part."""

Scope = Literal["overall", "benchmark", "category"]
SCOPES: tuple[Scope, ...] = ("overall", "benchmark", "category")

Category = str | frozenset[str]
"""A value that can be compared and counted: True and 1 are two, lists in another order are one."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One annotator's current verdict on one target of one item on one criterion."""

    item: int
    """Which item: the same number for all ratings of it."""
    key: ItemKey
    target: str
    criterion: str
    annotator: str
    value: Any
    fault: Fault | None = None
    blind: bool | None = None


@dataclass(frozen=True, slots=True)
class RatingGroup:
    """Ratings that one set of figures is made of. Of one criterion: what is asked on different scales never mixes."""

    given: Given
    scope: Scope
    benchmark: str | None
    """None overall."""
    category: str | None
    """None but by category."""
    criterion: str
    ratings: Sequence[Rating]


Metric = Literal["percent", "fleiss", "alpha", "ac1", "cohen"]


@dataclass(frozen=True, slots=True)
class AgreementFigure:
    """One coefficient of one group. As JSON one object with these fields."""

    scope: Scope
    benchmark: str | None
    """None overall."""
    category: str | None
    """None but by category."""
    criterion: str
    level: Level
    """How two labels are compared."""
    metric: Metric
    annotators: tuple[str, ...]
    """Whose labels: two for a pair, else all of the group."""
    value: float | None
    """1 is perfect agreement, 0 what chance would give (but `percent`: a share, 0 to 1); None: not defined."""
    low: float | None
    high: float | None
    """Of the 95 % bootstrap interval."""
    n_units: int
    """Units with two labels or more, of a pair with both theirs; for `fleiss` those with the same number of labels."""
    n_labels: int
    """Labels on these units."""
    given: Given


def apart(ratings: Iterable[Rating]) -> dict[Given, list[Rating]]:
    """By how they were given; only what there is, in the order of `GIVEN`."""
    found: dict[Given, list[Rating]] = {given: [] for given in GIVEN}
    for rating in ratings:
        found[_GIVEN[rating.blind]].append(rating)
    return {given: some for given, some in found.items() if some}


def labels(ratings: Iterable[Rating]) -> list[Rating]:
    """Those that say something, and again with the fault where that makes a difference: two who let a prediction pass
    do not agree if one of them calls the golden answer wrong. Criterion `correct+fault`, value `pass:golden`.
    """
    sure = [rating for rating in ratings if decides(rating.value)]
    blamed = {each.criterion for each in sure if _passes(each) and each.fault}
    return sure + [
        replace(each, criterion=f"{each.criterion}+fault", value=_with_fault(each))
        for each in sure
        if each.criterion in blamed
    ]


def groups(ratings: Iterable[Rating], scope: Scope, given: Given) -> list[RatingGroup]:
    """The ratings by scope and criterion; benchmarks and categories by name, criteria in the order of `SCALES`."""
    found: dict[tuple[str | None, str | None, str], list[Rating]] = {}
    for rating in ratings:
        found.setdefault((*_place(scope, rating.key), rating.criterion), []).append(rating)
    order = list(SCALES)

    def sorted_as(names: tuple[str | None, str | None, str]) -> tuple[str, str, int, str]:
        benchmark, category, criterion = names
        known = criterion.removesuffix("+fault")
        return benchmark or "", category or "", order.index(known) if known in order else len(order), criterion

    return [RatingGroup(given, scope, *names, found[names]) for names in sorted(found, key=sorted_as)]


def several(group: RatingGroup, annotators: Sequence[str]) -> list[int]:
    """The items with a target that two or more of these annotators labelled, in order."""
    said: dict[tuple[int, str], set[str]] = {}
    for rating in group.ratings:
        if rating.annotator in annotators:
            said.setdefault((rating.item, rating.target), set()).add(rating.annotator)
    return sorted({item for (item, _), names in said.items() if len(names) > 1})


def category(value: Any) -> Category:
    return frozenset(map(repr, value)) if isinstance(value, list) else repr(value)


def level_of(values: Iterable[Any]) -> Level:
    """Lists of labels are sets, numbers are ordered, all else is the same or not."""
    kinds = {type(value) for value in values}
    if list in kinds:
        return "masi"
    return "ordinal" if kinds and kinds <= {int, float} else "nominal"


def categories(criterion: str, values: Sequence[Any]) -> list[Category]:
    """Those of the criterion's scale, used or not, and others that were used; numbers in their order."""
    words = SCALES[criterion].words if criterion in SCALES else {}
    scale = [value for value in words.values() if decides(value)]
    both = [*scale, *values]
    if level_of(both) == "ordinal":
        both.sort()
    return list(dict.fromkeys(map(category, both)))


def _place(scope: Scope, key: ItemKey) -> tuple[str | None, str | None]:
    return None if scope == "overall" else key.benchmark, key.category if scope == "category" else None


def _passes(rating: Rating) -> bool:
    return rating.value is True and rating.criterion in PASSING


def _with_fault(rating: Rating) -> str:
    word = "pass" if rating.value is True else "fail"
    return f"{word}:{rating.fault}" if _passes(rating) and rating.fault else word


HEADINGS: dict[Scope, str] = {"overall": "overall", "benchmark": "by benchmark", "category": "by category"}
HOW: dict[Given, str] = {
    "blind": "blind reviews",
    "seen": "reviews that were not blind",
    "unknown": "reviews of which it was not recorded whether they were blind",
    "all": "all reviews, blind or not",
}
METRICS: dict[Metric, str] = {
    "percent": "percent", "fleiss": "Fleiss' kappa", "alpha": "alpha", "ac1": "Gwet's AC1", "cohen": "Cohen's kappa"
}  # fmt: skip


def places(figures: Iterable[AgreementFigure], figure: AgreementFigure) -> list[str]:
    """Where (not overall; a category by its name alone if all are of one benchmark) and on which criterion."""
    names = [name for name in group_of(figure)[:2] if name is not None]
    if len(names) > 1 and len({each.benchmark for each in figures}) == 1:
        names = names[1:]
    return [visible(each) for each in (*(["/".join(names)] if names else []), figure.criterion)]


def name_of(figure: AgreementFigure) -> str:
    words = {"nominal": "", "ordinal": " (ordinal)", "masi": " (MASI)"}
    return METRICS[figure.metric] + words[figure.level]


def value_of(figure: AgreementFigure) -> list[str]:
    """Value and interval."""
    unit: Unit = "share" if figure.metric == "percent" else "score"
    value, low, high = (
        number(None if each is None else round(each, 3) + 0.0, unit)  # no -0.000
        for each in (figure.value, figure.low, figure.high)
    )
    return [value, "·" if figure.low is None else f"[{low}, {high}]"]


def group_of(figure: AgreementFigure) -> tuple[str | None, str | None, str]:
    """(benchmark, category, criterion)"""
    return figure.benchmark, figure.category, figure.criterion

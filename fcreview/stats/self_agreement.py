"""Self-agreement: how far annotators say the same when an item comes to them a second time without their knowing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fcreview.model.review import ItemKey
from fcreview.model.verdict import decides


@dataclass(frozen=True, slots=True)
class Repeated:
    """Both answers of one annotator on one target and criterion."""

    item: int
    key: ItemKey
    target: str
    criterion: str
    annotator: str
    first: Any
    """What stood when the item came again."""
    second: Any


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """Of one annotator on one criterion, or of all of them. As JSON one object with these fields."""

    scope: Literal["self"]
    annotator: str | None
    """None: of all together."""
    criterion: str
    n: int
    """Targets answered twice; "unsure" is no answer."""
    percent: float | None
    """A share, 0 to 1."""
    percent_low: float | None
    percent_high: float | None
    """Of the 95 % bootstrap interval, as `kappa_low` and `kappa_high`; none of a single target."""
    kappa: float | None
    """Cohen's, the first answers against the second; None: not defined."""
    kappa_low: float | None
    kappa_high: float | None


def self_agreement(repeats: Iterable[Repeated]) -> Iterator[SelfAgreement]:
    """By criterion: of each annotator by name, then of all if there are several."""
    found: dict[str, dict[str, list[Repeated]]] = {}
    for each in repeats:
        if decides(each.first) and decides(each.second):
            found.setdefault(each.criterion, {}).setdefault(each.annotator, []).append(each)
    for criterion, by_annotator in sorted(found.items()):
        for annotator, some in sorted(by_annotator.items()):
            yield _figure(annotator, criterion, some)
        if len(by_annotator) > 1:
            yield _figure(None, criterion, [each for some in by_annotator.values() for each in some])


def _figure(annotator: str | None, criterion: str, repeats: Sequence[Repeated]) -> SelfAgreement:
    import numpy as np

    from fcreview.stats.agreement import Rating
    from fcreview.stats.agreement_coefficients import cohen, estimates, percent
    from fcreview.stats.agreement_summary import table_of

    ratings = [
        Rating(unit, each.key, each.target, criterion, time, value)
        for unit, each in enumerate(repeats)
        for time, value in (("1", each.first), ("2", each.second))
    ]
    table = table_of(criterion, ratings)
    same = np.asarray(table.cells[:, 0] == table.cells[:, 1])
    both = estimates(table.times, [percent(same), cohen(table.cells)])
    share, kappa = (each.over(len(repeats)) for each in both)
    return SelfAgreement(
        scope="self",
        annotator=annotator,
        criterion=criterion,
        n=len(repeats),
        percent=share.value,
        percent_low=share.low,
        percent_high=share.high,
        kappa=kappa.value,
        kappa_low=kappa.low,
        kappa_high=kappa.high,
    )

"""Compute self-agreement: how often annotators give the same verdict when a queue shows them an item a second time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fcreview.model.review import ItemKey
from fcreview.model.verdict import decides


@dataclass(frozen=True, slots=True)
class RepeatedRating:
    """An annotator's two verdicts on one target and criterion of a hidden duplicate."""

    item: int
    key: ItemKey
    target: str
    criterion: str
    annotator: str
    first: Any
    """Verdict that the annotator had on the target when a queue showed the item the second time."""
    second: Any


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """Self-agreement of one annotator or of all annotators, on one criterion. `fcreview agreement --json` prints these
    fields."""

    scope: Literal["self"]
    annotator: str | None
    """Name of the annotator; None for all annotators together."""
    criterion: str
    n: int
    """Number of targets with two labels; "unsure" is not a label."""
    percent: float | None
    """Share of equal labels, 0 to 1."""
    percent_low: float | None
    """Lower end of the 95 % bootstrap interval; None for a single target."""
    percent_high: float | None
    kappa: float | None
    """Cohen's kappa of first and second labels; None if undefined."""
    kappa_low: float | None
    """Lower end of the 95 % bootstrap interval; None for a single target."""
    kappa_high: float | None


def compute_self_agreement(repeats: Iterable[RepeatedRating]) -> Iterator[SelfAgreement]:
    """Compute self-agreement by criterion: first for each annotator, by name, then for all annotators together if there
    are several."""
    by_criterion: dict[str, dict[str, list[RepeatedRating]]] = {}
    for each in repeats:
        if decides(each.first) and decides(each.second):
            by_criterion.setdefault(each.criterion, {}).setdefault(each.annotator, []).append(each)
    for criterion, by_annotator in sorted(by_criterion.items()):
        for annotator, group in sorted(by_annotator.items()):
            yield _compute_for(annotator, criterion, group)
        if len(by_annotator) > 1:
            yield _compute_for(None, criterion, [each for group in by_annotator.values() for each in group])


def _compute_for(annotator: str | None, criterion: str, repeats: Sequence[RepeatedRating]) -> SelfAgreement:
    import numpy as np

    from fcreview.stats.agreement import build_rating_table
    from fcreview.stats.agreement_coefficients import bootstrap, cohen_kappa, percent_agreement
    from fcreview.stats.agreement_ratings import Rating

    ratings = [
        Rating(unit, each.key, each.target, criterion, occasion, value)
        for unit, each in enumerate(repeats)
        for occasion, value in (("1", each.first), ("2", each.second))
    ]
    table = build_rating_table(criterion, ratings)
    equal = np.asarray(table.cells[:, 0] == table.cells[:, 1])
    estimates = bootstrap(table.multiplicity, [percent_agreement(equal), cohen_kappa(table.cells)])
    share, kappa = (each.for_units(len(repeats)) for each in estimates)
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

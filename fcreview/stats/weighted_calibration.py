"""Compute the measures of an automatic source from samples whose items had different chances to be
drawn.

Each item of a sample stands for 1 / p items, where p is its inclusion probability (Horvitz and
Thompson 1952). Without these weights, a sample that contains relatively many failures makes a
checker look stricter than it is (verification bias, Begg and Greenes 1983). The pairs are divided
into strata of equal weight and equal automatic verdict. Intervals come from a Bayesian bootstrap in
each stratum: the share of passing items of a stratum has the posterior Beta(k + 1/2, n - k + 1/2),
and the shares of the two automatic verdicts among the items of one weight vary as in a sample of
their size.

If the sample contains only one automatic verdict, nobody knows how many items with the other one
humans would pass. Only precision, or the share of wrong fails, is known then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
N_DRAWS = 2000
SEED = 0
INTERVAL_PERCENTILES = (2.5, 97.5)
JEFFREYS = 0.5


@dataclass(frozen=True, slots=True)
class WeightedPair:
    """An automatic and a human verdict, and the number of items for which they stand."""

    automatic: bool
    human: bool
    weight: float


@dataclass(frozen=True, slots=True)
class _Stratum:
    """Pairs of equal weight and equal automatic verdict."""

    automatic: bool
    weight: float
    n: int
    n_passed: int
    """Number of pairs with the human verdict pass."""


@dataclass(frozen=True, slots=True)
class _Confusion:
    """Weighted numbers of items in the cells of the confusion matrix: arrays with one entry per
    draw.
    """

    tp: FloatArray
    fp: FloatArray
    fn: FloatArray
    tn: FloatArray


@dataclass(frozen=True, slots=True)
class WeightedMeasure:
    name: str
    value: float | None
    low: float | None
    high: float | None


def compute_weighted_measures(pairs: Sequence[WeightedPair]) -> list[WeightedMeasure]:
    """Compute the measures of verdicts that are true or false. A measure has no value if it depends
    on an automatic verdict that no pair has.
    """
    strata = _build_strata(pairs)
    value = _compute_confusion(strata)
    draws = _draw_confusion(strata)
    known_verdicts = {stratum.automatic for stratum in strata}
    measures = []
    for name, measure in _MEASURES.items():
        if measure.needs <= known_verdicts:
            measures.append(_compute_measure(name, measure.compute, value, draws))
        else:
            measures.append(WeightedMeasure(name, value=None, low=None, high=None))
    return measures


def _build_strata(pairs: Sequence[WeightedPair]) -> list[_Stratum]:
    """Group pairs of verdicts by their weight and their automatic verdict."""
    groups: dict[tuple[float, bool], list[WeightedPair]] = {}
    for pair in pairs:
        groups.setdefault((pair.weight, pair.automatic), []).append(pair)
    return [
        _Stratum(automatic, weight, n=len(members), n_passed=sum(pair.human for pair in members))
        for (weight, automatic), members in groups.items()
    ]


def _compute_confusion(strata: Sequence[_Stratum]) -> _Confusion:
    sizes = [np.array([stratum.weight * stratum.n]) for stratum in strata]
    rates = [np.array([stratum.n_passed / stratum.n]) for stratum in strata]
    return _sum_confusion(strata, sizes, rates)


def _draw_confusion(strata: Sequence[_Stratum]) -> _Confusion:
    """Draw random confusion matrices that are compatible with the reviewed pairs."""
    generator = np.random.default_rng(SEED)
    sizes = _draw_stratum_sizes(strata, generator)
    rates = [
        generator.beta(
            stratum.n_passed + JEFFREYS, stratum.n - stratum.n_passed + JEFFREYS, N_DRAWS
        )
        for stratum in strata
    ]
    return _sum_confusion(strata, sizes, rates)


def _draw_stratum_sizes(
    strata: Sequence[_Stratum], generator: np.random.Generator
) -> list[FloatArray]:
    """Draw the number of items for which each stratum stands, as an array of `N_DRAWS` numbers for
    each stratum.

    Each pair stands for `weight` items. So the items of all strata with one weight are known, and
    only their division into strata is drawn.
    """
    sizes: dict[int, FloatArray] = {}
    for weight in dict.fromkeys(stratum.weight for stratum in strata):
        indexes = [index for index, stratum in enumerate(strata) if stratum.weight == weight]
        n_pairs = [strata[index].n for index in indexes]
        # Of shape (draws, strata of this weight): shares that could have led to these numbers
        # (Bayesian bootstrap).
        shares = generator.dirichlet(n_pairs, N_DRAWS)
        for column, index in enumerate(indexes):
            sizes[index] = shares[:, column] * weight * sum(n_pairs)
    return [sizes[index] for index in range(len(strata))]


def _sum_confusion(
    strata: Sequence[_Stratum], sizes: Sequence[FloatArray], rates: Sequence[FloatArray]
) -> _Confusion:
    """Add up the strata to a confusion matrix of automatic and human verdicts.

    Args:
        strata: The strata. The items of a stratum have the same automatic verdict.
        sizes: The number of items of each stratum.
        rates: The share of the items of each stratum that pass by human verdicts.
    """
    true_passes = np.zeros_like(sizes[0])
    false_passes = np.zeros_like(sizes[0])
    false_fails = np.zeros_like(sizes[0])
    true_fails = np.zeros_like(sizes[0])
    for stratum, size, rate in zip(strata, sizes, rates, strict=True):
        n_passed = size * rate
        n_failed = size * (1 - rate)
        if stratum.automatic:
            true_passes = true_passes + n_passed
            false_passes = false_passes + n_failed
        else:
            false_fails = false_fails + n_passed
            true_fails = true_fails + n_failed
    return _Confusion(tp=true_passes, fp=false_passes, fn=false_fails, tn=true_fails)


def _compute_measure(
    name: str, compute: Callable[[_Confusion], FloatArray], value: _Confusion, draws: _Confusion
) -> WeightedMeasure:
    """Compute a measure, such as kappa, with its interval from the drawn confusion matrices.

    `value` has one confusion matrix, that of the data.
    """
    # Without items of a kind, a measure divides by zero and is not a number.
    with np.errstate(invalid="ignore", divide="ignore"):
        measured = float(compute(value)[0])
        drawn_measures = compute(draws)
    if np.isnan(measured):
        return WeightedMeasure(name, value=None, low=None, high=None)

    defined_measures = drawn_measures[~np.isnan(drawn_measures)]
    low, high = np.percentile(defined_measures, INTERVAL_PERCENTILES)
    return WeightedMeasure(name, value=measured, low=float(low), high=float(high))


def _compute_kappa(cells: _Confusion) -> FloatArray:
    """Compute Cohen's kappa of automatic and human verdicts."""
    n = cells.tp + cells.fp + cells.fn + cells.tn
    observed = (cells.tp + cells.tn) / n
    passes = (cells.tp + cells.fp) * (cells.tp + cells.fn)
    fails = (cells.fn + cells.tn) * (cells.fp + cells.tn)
    expected = (passes + fails) / n**2
    kappa: FloatArray = (observed - expected) / (1 - expected)
    return kappa


def _compute_bias(cells: _Confusion) -> FloatArray:
    """Return the pass rate of the source minus that of people."""
    n = cells.tp + cells.fp + cells.fn + cells.tn
    bias: FloatArray = (cells.fp - cells.fn) / n
    return bias


def _compute_squared_correlation(cells: _Confusion) -> FloatArray:
    """Return the squared correlation (phi) between the verdicts of the source and of people."""
    product = cells.tp * cells.tn - cells.fp * cells.fn
    margins = (
        (cells.tp + cells.fp)
        * (cells.fn + cells.tn)
        * (cells.tp + cells.fn)
        * (cells.fp + cells.tn)
    )
    squared: FloatArray = product**2 / margins
    return squared


@dataclass(frozen=True, slots=True)
class _Measure:
    compute: Callable[[_Confusion], FloatArray]
    needs: frozenset[bool]
    """Automatic verdicts on which the measure depends."""


_BOTH = frozenset({True, False})
_MEASURES = {
    "agreement": _Measure(lambda c: (c.tp + c.tn) / (c.tp + c.fp + c.fn + c.tn), _BOTH),
    "tpr": _Measure(lambda c: c.tp / (c.tp + c.fn), _BOTH),
    "tnr": _Measure(lambda c: c.tn / (c.tn + c.fp), _BOTH),
    "precision": _Measure(lambda c: c.tp / (c.tp + c.fp), frozenset({True})),
    "wrong_fails": _Measure(lambda c: c.fn / (c.fn + c.tn), frozenset({False})),
    "f1": _Measure(lambda c: 2 * c.tp / (2 * c.tp + c.fp + c.fn), _BOTH),
    "kappa": _Measure(_compute_kappa, _BOTH),
    "bias": _Measure(_compute_bias, _BOTH),
    "labels_saved": _Measure(_compute_squared_correlation, _BOTH),
}

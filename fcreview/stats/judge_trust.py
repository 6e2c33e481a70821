"""Compare how far automatic sources can be trusted: how often they agree with people, whether they
pass too many items, how many labels they save, and how many independent judges they are worth.

* The *bias of the pass rate* is the pass rate of the source minus that of people, on the reviewed
  items.
* A source *saves labels* because people differ less on items on which it gives the same verdict. An
  estimate that is poststratified by the source needs 1 - phi^2 of the labels of a plain sample,
  where phi is the correlation between its verdicts and those of people. The share of labels saved
  is therefore phi^2.
* Judges that make the same errors add little to each other. k judges are worth

      k / (1 + (k - 1) r)

  independent ones, where r is the mean correlation of the errors of two judges among items with
  the same human verdict: the design effect of equally correlated measurements (Kish 1965).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcreview.model.review import CORRECT
from fcreview.stats.calibration import (
    Calibration,
    CalibrationMeasure,
    MeasureName,
    SelectionMethod,
    VerdictPair,
    VerdictPairGroup,
    calibrate_group,
    group_verdict_pairs,
    list_item_numbers,
)
from fcreview.stats.weighted_calibration import (
    INTERVAL_PERCENTILES,
    WeightedMeasure,
    WeightedPair,
    compute_weighted_measures,
)

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
_MIN_VARIANCE = 1e-12
_MIN_WEIGHT = 1e-12
N_DRAWS = 1000
SEED = 0
MIN_ITEMS = 10
"""Minimum number of items for an effective number of judges."""
MAX_JUDGES = 50
"""Maximum number of judges of an effective number. Its time grows with their square."""


@dataclass(frozen=True, slots=True)
class SourceTrust:
    """Figures of one automatic source on the reviewed items."""

    source: str
    judge: str | None
    chosen: SelectionMethod
    n: int
    agreement: CalibrationMeasure | None
    tpr: CalibrationMeasure | None
    tnr: CalibrationMeasure | None
    bias: WeightedMeasure
    """Pass rate of the source minus that of people, from -1 to 1."""
    labels_saved: WeightedMeasure
    """Share of the labels of a plain sample that an estimate with this source saves."""
    items: tuple[int, ...]
    """Numbers of the reviewed items."""


@dataclass(frozen=True, slots=True)
class EffectiveNumber:
    """Number of independent judges that are as good as the judges."""

    n_judges: int
    value: float
    low: float
    high: float
    mean_correlation: float
    """Mean correlation of the errors of two judges, among items with the same human verdict."""
    n_items: int
    """Number of reviewed items on which all judges have a verdict."""


def compute_source_trust(pairs: Iterable[VerdictPair]) -> list[SourceTrust]:
    """Compute the figures of each source with pass or fail verdicts on whole items, the source that
    saves most labels first.
    """
    groups = group_verdict_pairs(_select_item_pairs(pairs), ("overall",))
    trusts = [_compute_trust_of_group(group) for group in groups]
    return sorted(trusts, key=lambda trust: -(trust.labels_saved.value or 0.0))


def _select_item_pairs(pairs: Iterable[VerdictPair]) -> list[VerdictPair]:
    """Return the pairs of pass and fail verdicts on whole items."""
    selected = []
    for pair in pairs:
        is_on_item = pair.is_on_item and pair.criterion == CORRECT
        if is_on_item and isinstance(pair.automatic, bool) and isinstance(pair.human, bool):
            selected.append(pair)
    return selected


def _compute_trust_of_group(group: VerdictPairGroup) -> SourceTrust:
    """Measure how far a source can be trusted, from its pairs of automatic and human verdicts."""
    calibration = calibrate_group(group)
    weighted = [
        WeightedPair(automatic=pair.automatic, human=pair.human, weight=pair.weight)
        for pair in group.measured_pairs
    ]
    measures = {measure.name: measure for measure in compute_weighted_measures(weighted)}
    return SourceTrust(
        group.source,
        judge=group.judge,
        chosen=calibration.chosen,
        n=len(group.measured_pairs),
        agreement=_find_measure(calibration, "agreement"),
        tpr=_find_measure(calibration, "tpr"),
        tnr=_find_measure(calibration, "tnr"),
        bias=measures["bias"],
        labels_saved=measures["labels_saved"],
        items=list_item_numbers(group.measured_pairs),
    )


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """The figures of all sources, and of all judges together."""

    sources: Sequence[SourceTrust]
    effective_number: EffectiveNumber | None


def compute_judge_figures(pairs: Sequence[VerdictPair]) -> JudgeFigures:
    return JudgeFigures(compute_source_trust(pairs), compute_effective_number(pairs))


def _find_measure(calibration: Calibration, name: MeasureName) -> CalibrationMeasure | None:
    for measure in calibration.rates:
        if measure.metric == name:
            return measure
    return None


# -- effective number of judges


def compute_effective_number(pairs: Iterable[VerdictPair]) -> EffectiveNumber | None:
    """Compute the effective number of independent judges. None with fewer than two judges whose
    errors vary, or with fewer than `MIN_ITEMS` items on which all have a verdict.
    """
    errors = _collect_errors(_select_item_pairs(pairs))
    if errors is None or errors.n_judges < 2:
        return None

    # The value is computed like a draw in which each item has exactly its own weight.
    own_weights = errors.weights / errors.weights.sum()
    value = _compute_from_weights(errors, own_weights[np.newaxis, :])
    draws = _compute_from_weights(errors, _draw_item_weights(errors.weights))
    low, high = np.percentile(draws.effective, INTERVAL_PERCENTILES)
    return EffectiveNumber(
        errors.n_judges,
        value=float(value.effective[0]),
        low=float(low),
        high=float(high),
        mean_correlation=float(value.mean_correlation[0]),
        n_items=len(errors.weights),
    )


@dataclass(frozen=True, slots=True)
class _Errors:
    values: FloatArray
    """Error of each judge on each item, of shape (items, judges): 1 for a wrong pass, -1 for a
    wrong failure, 0 for a right verdict.
    """
    human: BoolArray
    """Human verdict on each item."""
    weights: FloatArray
    """Number of items for which each item stands."""

    @property
    def n_judges(self) -> int:
        return int(self.values.shape[1])


def _compute_error(pair: VerdictPair) -> int:
    """Return 1 for a wrong pass, -1 for a wrong failure, and 0 for a right verdict."""
    return int(pair.automatic) - int(pair.human)


def _collect_errors(pairs: Sequence[VerdictPair]) -> _Errors | None:
    """Return the errors on the items on which all judges have a verdict. Return None for fewer than
    `MIN_ITEMS` such items. Of more than `MAX_JUDGES` judges, only the first ones by name count.

    A judge whose error is the same on all items is left out: without a variance, it has no
    correlation with the others. Nearly always, such a judge makes no error at all.
    """
    complete_items = _list_complete_items(_select_judge_pairs(pairs))
    if len(complete_items) < MIN_ITEMS:
        return None

    errors = [[_compute_error(pair) for pair in pairs_of_item] for pairs_of_item in complete_items]
    values = np.array(errors, dtype=np.float64)
    has_varying_errors = values.std(axis=0) > 0
    # The human verdict and the weight are the same for all judges.
    first_pairs = [pairs_of_item[0] for pairs_of_item in complete_items]
    return _Errors(
        values[:, has_varying_errors],
        human=np.array([pair.human for pair in first_pairs]),
        weights=np.array([pair.weight for pair in first_pairs]),
    )


def _list_complete_items(judge_pairs: Sequence[VerdictPair]) -> list[list[VerdictPair]]:
    """Return the pairs of each item on which all judges have a verdict: one pair for each judge, in
    the order of their names.
    """
    all_judges = sorted({pair.judge or "" for pair in judge_pairs})
    judges = all_judges[:MAX_JUDGES]
    complete_items = []
    for pair_by_judge in _group_pairs_by_item(judge_pairs):
        if all(judge in pair_by_judge for judge in judges):
            complete_items.append([pair_by_judge[judge] for judge in judges])
    return complete_items


def _select_judge_pairs(pairs: Sequence[VerdictPair]) -> list[VerdictPair]:
    """Return the pairs with a judge's verdict: those on random items or, without any, all."""
    judge_pairs = [pair for pair in pairs if pair.source == "judge"]
    random_pairs = [pair for pair in judge_pairs if pair.is_random]
    return random_pairs or judge_pairs


def _group_pairs_by_item(judge_pairs: Sequence[VerdictPair]) -> Iterable[dict[str, VerdictPair]]:
    """Return the pairs of each item, by the name of the judge."""
    pairs_by_item: dict[int, dict[str, VerdictPair]] = {}
    for pair in judge_pairs:
        pair_by_judge = pairs_by_item.setdefault(pair.item, {})
        pair_by_judge[pair.judge or ""] = pair
    return pairs_by_item.values()


def _draw_item_weights(weights: FloatArray) -> FloatArray:
    """Draw weights of the items for a Bayesian bootstrap, of shape (draws, items)."""
    generator = np.random.default_rng(SEED)
    drawn = generator.exponential(size=(N_DRAWS, len(weights))) * weights
    normalized: FloatArray = drawn / drawn.sum(axis=1, keepdims=True)
    return normalized


@dataclass(frozen=True, slots=True)
class _EffectiveNumbers:
    """Arrays with one entry per draw of the weights."""

    effective: FloatArray
    mean_correlation: FloatArray


def _compute_from_weights(errors: _Errors, weights: FloatArray) -> _EffectiveNumbers:
    """Compute the effective number k / (1 + (k - 1) r) of k judges, whose errors have the mean
    correlation r, with each row of `weights`, of shape (draws, items).
    """
    # Of shape (draws, judges, judges). The variances are on the diagonal.
    covariances = _compute_covariances(errors, weights)
    variances = np.maximum(np.diagonal(covariances, axis1=1, axis2=2), _MIN_VARIANCE)
    deviations = np.sqrt(variances)

    # Each pair of judges once
    first, second = np.triu_indices(errors.n_judges, k=1)
    products_of_deviations = deviations[:, first] * deviations[:, second]
    correlations = covariances[:, first, second] / products_of_deviations
    mean_correlation = correlations.mean(axis=1)
    # Judges whose errors exclude each other count as independent, not as more than they are.
    design_effect = 1 + (errors.n_judges - 1) * np.maximum(mean_correlation, 0.0)
    return _EffectiveNumbers(errors.n_judges / design_effect, mean_correlation=mean_correlation)


def _compute_covariances(errors: _Errors, weights: FloatArray) -> FloatArray:
    """Compute the covariances of the errors with each row of `weights`, of shape (draws, items).
    The result has the shape (draws, judges, judges). The weights of a row add up to 1.

    They are computed among items with the same human verdict. Over all items, even independent
    judges would seem correlated, because nobody can wrongly pass an item that passes.
    """
    covariances = np.zeros((len(weights), errors.n_judges, errors.n_judges))
    for human in (True, False):
        is_in_class = errors.human == human
        covariances += _compute_covariances_of_class(
            errors.values[is_in_class], weights[:, is_in_class]
        )
    return covariances


def _compute_covariances_of_class(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Compute the part of the covariances that comes from the items with one human verdict, of
    shape (draws, judges, judges).

    For the errors a and b of two judges, it is the weighted sum of a b, minus (weighted sum of a)
    (weighted sum of b) / (sum of the weights).

    Args:
        values: Errors, of shape (items, judges).
        weights: Weights of the items, of shape (draws, items).
    """
    n_judges = values.shape[1]
    # No division by 0 if there are no such items.
    total_weight = np.maximum(weights.sum(axis=1), _MIN_WEIGHT)[:, np.newaxis]
    # Of shape (draws, judges)
    sums = weights @ values
    covariances = np.empty((len(weights), n_judges, n_judges))
    for judge in range(n_judges):
        products = values[:, judge, np.newaxis] * values
        sums_of_products = weights @ products
        products_of_sums = sums[:, judge, np.newaxis] * sums
        covariances[:, judge, :] = sums_of_products - products_of_sums / total_weight
    return covariances

"""Compute confusion matrices of automatic verdicts, measures with intervals, and the most frequent errors.

Shares (TPR, TNR, precision, agreement) have Wilson's score interval. F1 and kappa have a bootstrap interval, which
resamples verdict pairs with replacement (Efron and Tibshirani 1993).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcreview.stats.agreement_coefficients import FloatArray, Statistic, bootstrap, cohen_kappa
from fcreview.stats.agreement_ratings import to_label_key
from fcreview.stats.calibration_pairs import (
    ERROR_GROUPINGS,
    Calibration,
    CalibrationMeasure,
    CalibrationScope,
    ConfusionCell,
    ErrorGroup,
    ErrorGrouping,
    MeasureName,
    VerdictPair,
    VerdictPairGroup,
    group_verdict_pairs,
)
from fcreview.stats.intervals import wilson_interval


def compute_binary_measures(counts: Sequence[int]) -> list[CalibrationMeasure]:
    """Compute the measures of verdicts that are true or false. `counts`: true positives, false positives, false
    negatives, true negatives. Positive means pass or yes."""
    tp, fp, fn, tn = counts
    n = tp + fp + fn + tn
    labels = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=np.int64)
    return [
        _share_measure("agreement", tp + tn, n),
        _share_measure("tpr", tp, tp + fn),
        _share_measure("tnr", tn, tn + fp),
        _share_measure("precision", tp, tp + fp),
        *_bootstrap_measures(np.array(counts, dtype=np.int64), {"f1": _f1, "kappa": cohen_kappa(labels)}),
    ]


def compute_multiclass_measures(labels: Sequence[tuple[int, int]]) -> list[CalibrationMeasure]:
    """Compute agreement and kappa of verdicts with any labels, given as pairs of label numbers (automatic, human)."""
    patterns, counts = np.unique(np.array(labels, dtype=np.int64).reshape(-1, 2), axis=0, return_counts=True)
    n_equal = int(counts[patterns[:, 0] == patterns[:, 1]].sum())
    agreement = _share_measure("agreement", n_equal, int(counts.sum()))
    return [agreement, *_bootstrap_measures(counts, {"kappa": cohen_kappa(patterns)})]


def _share_measure(name: MeasureName, count: int, n: int) -> CalibrationMeasure:
    low, high = wilson_interval(count, n) or (None, None)
    return CalibrationMeasure(name, count / n if n else None, low, high, "wilson", n)


def _f1(weights: FloatArray) -> FloatArray:
    """Compute 2 tp / (2 tp + fp + fn) of each sample; NaN without positives."""
    tp, wrong = weights[:, 0], weights[:, 1] + weights[:, 2]
    with np.errstate(invalid="ignore"):
        value: FloatArray = 2 * tp / (2 * tp + wrong)
    return value


def _bootstrap_measures(
    counts: NDArray[np.int64], statistics: dict[MeasureName, Statistic]
) -> list[CalibrationMeasure]:
    n = int(counts.sum())
    estimates = [each.for_units(n) for each in bootstrap(counts, list(statistics.values()))]
    return [
        CalibrationMeasure(name, each.value, each.low, each.high, "bootstrap", n)
        for name, each in zip(statistics, estimates, strict=True)
    ]


def compute_calibrations(pairs: Iterable[VerdictPair], scopes: Iterable[CalibrationScope]) -> Iterator[Calibration]:
    yield from map(calibrate_group, group_verdict_pairs(pairs, scopes))


def calibrate_group(group: VerdictPairGroup) -> Calibration:
    """Compute the confusion matrix and the measures of one group."""
    cells = _confusion_cells(group.pairs)
    return Calibration(
        scope=group.scope,
        name=group.name,
        source=group.source,
        judge=group.judge,
        criterion=group.criterion,
        binary=group.is_binary,
        chosen=group.selection,
        n=len(group.pairs),
        n_random=sum(pair.is_random for pair in group.pairs),
        cells=cells,
        rates=tuple(_compute_measures(group, cells)),
    )


def find_error_groups(pairs: Iterable[VerdictPair]) -> Iterator[ErrorGroup]:
    """Yield the error groups of each source, judge and criterion: first the groups by category, then by error type,
    then by function. Larger groups come first."""
    for group in group_verdict_pairs(pairs, ("overall",)):
        for by in ERROR_GROUPINGS:
            yield from sorted(_group_errors(group, by), key=lambda errors: (-errors.wrong, errors.name))


def _group_errors(group: VerdictPairGroup, by: ErrorGrouping) -> Iterator[ErrorGroup]:
    totals: Counter[tuple[str, Any]] = Counter()
    wrong: dict[tuple[str, Any, Any], list[VerdictPair]] = {}
    for pair in group.pairs:
        name = getattr(pair, by)
        if name is None:
            continue
        totals[name, to_label_key(pair.automatic)] += 1
        if not pair.is_correct:
            wrong.setdefault((name, to_label_key(pair.automatic), to_label_key(pair.human)), []).append(pair)
    for (name, automatic, _), errors in wrong.items():
        yield ErrorGroup(
            group.source, group.judge, group.criterion, by, name,
            errors[0].automatic, errors[0].human, len(errors), totals[name, automatic], _unique_items(errors),
        )  # fmt: skip


def _confusion_cells(pairs: Iterable[VerdictPair]) -> tuple[ConfusionCell, ...]:
    cells: dict[tuple[Any, Any], list[VerdictPair]] = {}
    for pair in pairs:
        cells.setdefault((to_label_key(pair.automatic), to_label_key(pair.human)), []).append(pair)

    def sort_key(labels: tuple[Any, Any]) -> tuple[bool, bool, str]:
        texts = [sorted(label) if isinstance(label, frozenset) else label for label in labels]
        return labels[0] != labels[1], labels[0] != "True", str(texts)

    order = sorted(cells, key=sort_key)
    return tuple(
        ConfusionCell(members[0].automatic, members[0].human, len(members), _unique_items(members))
        for members in (cells[labels] for labels in order)
    )


def _unique_items(pairs: Iterable[VerdictPair]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(pair.item for pair in pairs))


def _compute_measures(group: VerdictPairGroup, cells: tuple[ConfusionCell, ...]) -> list[CalibrationMeasure]:
    if group.is_binary:
        counts = {(cell.automatic, cell.human): cell.n for cell in cells}
        order = ((True, True), (True, False), (False, True), (False, False))
        return compute_binary_measures([counts.get(verdicts, 0) for verdicts in order])
    numbers: dict[Any, int] = {}

    def number_of(value: Any) -> int:
        return numbers.setdefault(to_label_key(value), len(numbers))

    return compute_multiclass_measures([(number_of(pair.automatic), number_of(pair.human)) for pair in group.pairs])

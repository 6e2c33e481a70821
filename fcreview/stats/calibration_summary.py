"""Figures of a confusion matrix, each with an interval.

A share (TPR, TNR, precision, agreement) has Wilson's score interval. F1 and kappa have a bootstrap
interval: cases are drawn again with replacement, and the middle 95 % is the interval (Efron and Tibshirani 1993).

Calibration of every source, judge and criterion: confusion matrix, figures, and the kinds of cases it gets wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcreview.stats.agreement import to_label_key as label_of
from fcreview.stats.agreement_coefficients import FloatArray, Statistic, bootstrap, cohen_kappa
from fcreview.stats.calibration import (
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
    """Of (true positives, false positives, false negatives, true negatives); positive is pass or yes, true is what
    people say."""
    tp, fp, fn, tn = counts
    n = tp + fp + fn + tn
    rows = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=np.int64)
    return [
        _share("agreement", tp + tn, n),
        _share("tpr", tp, tp + fn),
        _share("tnr", tn, tn + fp),
        _share("precision", tp, tp + fp),
        *_resampled(np.array(counts, dtype=np.int64), {"f1": _f1, "kappa": cohen_kappa(rows)}),
    ]


def compute_multiclass_measures(pairs: Sequence[tuple[int, int]]) -> list[CalibrationMeasure]:
    """Of labels that are more than two: (said, settled) by number, one pair a case."""
    rows, times = np.unique(np.array(pairs, dtype=np.int64).reshape(-1, 2), axis=0, return_counts=True)
    same = int(times[rows[:, 0] == rows[:, 1]].sum())
    return [_share("agreement", same, int(times.sum())), *_resampled(times, {"kappa": cohen_kappa(rows)})]


def _share(metric: MeasureName, passed: int, n: int) -> CalibrationMeasure:
    low, high = wilson_interval(passed, n) or (None, None)
    return CalibrationMeasure(metric, passed / n if n else None, low, high, "wilson", n)


def _f1(weights: FloatArray) -> FloatArray:
    """2 tp / (2 tp + fp + fn), NaN where nothing is positive."""
    tp, wrong = weights[:, 0], weights[:, 1] + weights[:, 2]
    with np.errstate(invalid="ignore"):
        value: FloatArray = 2 * tp / (2 * tp + wrong)
    return value


def _resampled(times: NDArray[np.int64], statistics: dict[MeasureName, Statistic]) -> list[CalibrationMeasure]:
    n = int(times.sum())
    found = [each.for_units(n) for each in bootstrap(times, list(statistics.values()))]
    return [
        CalibrationMeasure(metric, each.value, each.low, each.high, "bootstrap", n)
        for metric, each in zip(statistics, found, strict=True)
    ]


def compute_calibrations(cases: Iterable[VerdictPair], scopes: Iterable[CalibrationScope]) -> Iterator[Calibration]:
    yield from map(calibrate_group, group_verdict_pairs(cases, scopes))


def calibrate_group(group: VerdictPairGroup) -> Calibration:
    cells = _cells(group.pairs)
    return Calibration(
        scope=group.scope,
        name=group.name,
        source=group.source,
        judge=group.judge,
        criterion=group.criterion,
        binary=group.is_binary,
        chosen=group.selection,
        n=len(group.pairs),
        n_random=sum(case.is_random for case in group.pairs),
        cells=cells,
        rates=tuple(_rates(group, cells)),
    )


def find_error_groups(cases: Iterable[VerdictPair]) -> Iterator[ErrorGroup]:
    """Of each source, judge and criterion, most cases first."""
    for group in group_verdict_pairs(cases, ("overall",)):
        found = [kind for by in ERROR_GROUPINGS for kind in _kinds(group, by)]
        yield from sorted(found, key=lambda kind: (ERROR_GROUPINGS.index(kind.by), -kind.wrong, kind.name))


def _kinds(group: VerdictPairGroup, by: ErrorGrouping) -> Iterator[ErrorGroup]:
    said: Counter[tuple[str, Any]] = Counter()
    wrong: dict[tuple[str, Any, Any], list[VerdictPair]] = {}
    for case in group.pairs:
        name = getattr(case, by)
        if name is None:
            continue
        said[name, label_of(case.automatic)] += 1
        if not case.is_correct:
            wrong.setdefault((name, label_of(case.automatic), label_of(case.human)), []).append(case)
    for (name, label, _), some in wrong.items():
        items = tuple(dict.fromkeys(case.item for case in some))
        yield ErrorGroup(
            group.source, group.judge, group.criterion, by, name,
            some[0].automatic, some[0].human, len(some), said[name, label], items,
        )  # fmt: skip


def _cells(cases: Iterable[VerdictPair]) -> tuple[ConfusionCell, ...]:
    found: dict[tuple[Any, Any], list[VerdictPair]] = {}
    for case in cases:
        found.setdefault((label_of(case.automatic), label_of(case.human)), []).append(case)
    order = sorted(found, key=lambda labels: (labels[0] != labels[1], str(labels[0]) != "True", str(labels)))
    return tuple(
        ConfusionCell(some[0].automatic, some[0].human, len(some), tuple(dict.fromkeys(case.item for case in some)))
        for some in (found[labels] for labels in order)
    )


def _rates(group: VerdictPairGroup, cells: tuple[ConfusionCell, ...]) -> list[CalibrationMeasure]:
    if group.is_binary:
        counts = {(cell.automatic, cell.human): cell.n for cell in cells}
        return compute_binary_measures(
            [counts.get(pair, 0) for pair in ((True, True), (True, False), (False, True), (False, False))]
        )
    number: dict[Any, int] = {}
    pairs = [
        (number.setdefault(label_of(case.automatic), len(number)), number.setdefault(label_of(case.human), len(number)))
        for case in group.pairs
    ]
    return compute_multiclass_measures(pairs)

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

from fcreview.stats.agreement import category as label_of
from fcreview.stats.agreement_coefficients import Array, Statistic, cohen, estimates
from fcreview.stats.calibration import (
    WRONG_BY,
    Calibration,
    Case,
    CaseGroup,
    Cell,
    Metric,
    Rate,
    Scope,
    WrongBy,
    WrongKind,
    case_groups,
)
from fcreview.stats.intervals import wilson


def binary_rates(counts: Sequence[int]) -> list[Rate]:
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
        *_resampled(np.array(counts, dtype=np.int64), {"f1": _f1, "kappa": cohen(rows)}),
    ]


def other_rates(pairs: Sequence[tuple[int, int]]) -> list[Rate]:
    """Of labels that are more than two: (said, settled) by number, one pair a case."""
    rows, times = np.unique(np.array(pairs, dtype=np.int64).reshape(-1, 2), axis=0, return_counts=True)
    same = int(times[rows[:, 0] == rows[:, 1]].sum())
    return [_share("agreement", same, int(times.sum())), *_resampled(times, {"kappa": cohen(rows)})]


def _share(metric: Metric, passed: int, n: int) -> Rate:
    low, high = wilson(passed, n) or (None, None)
    return Rate(metric, passed / n if n else None, low, high, "wilson", n)


def _f1(weights: Array) -> Array:
    """2 tp / (2 tp + fp + fn), NaN where nothing is positive."""
    tp, wrong = weights[:, 0], weights[:, 1] + weights[:, 2]
    with np.errstate(invalid="ignore"):
        value: Array = 2 * tp / (2 * tp + wrong)
    return value


def _resampled(times: NDArray[np.int64], statistics: dict[Metric, Statistic]) -> list[Rate]:
    n = int(times.sum())
    found = [each.over(n) for each in estimates(times, list(statistics.values()))]
    return [
        Rate(metric, each.value, each.low, each.high, "bootstrap", n)
        for metric, each in zip(statistics, found, strict=True)
    ]


def calibration(cases: Iterable[Case], scopes: Iterable[Scope]) -> Iterator[Calibration]:
    yield from map(calibrated, case_groups(cases, scopes))


def calibrated(group: CaseGroup) -> Calibration:
    cells = _cells(group.cases)
    return Calibration(
        scope=group.scope,
        name=group.name,
        source=group.source,
        judge=group.judge,
        criterion=group.criterion,
        binary=group.binary,
        chosen=group.chosen,
        n=len(group.cases),
        n_random=sum(case.random for case in group.cases),
        cells=cells,
        rates=tuple(_rates(group, cells)),
    )


def wrong_kinds(cases: Iterable[Case]) -> Iterator[WrongKind]:
    """Of each source, judge and criterion, most cases first."""
    for group in case_groups(cases, ("overall",)):
        found = [kind for by in WRONG_BY for kind in _kinds(group, by)]
        yield from sorted(found, key=lambda kind: (WRONG_BY.index(kind.by), -kind.wrong, kind.name))


def _kinds(group: CaseGroup, by: WrongBy) -> Iterator[WrongKind]:
    said: Counter[tuple[str, Any]] = Counter()
    wrong: dict[tuple[str, Any, Any], list[Case]] = {}
    for case in group.cases:
        name = getattr(case, by)
        if name is None:
            continue
        said[name, label_of(case.said)] += 1
        if not case.right:
            wrong.setdefault((name, label_of(case.said), label_of(case.settled)), []).append(case)
    for (name, label, _), some in wrong.items():
        items = tuple(dict.fromkeys(case.item for case in some))
        yield WrongKind(
            group.source, group.judge, group.criterion, by, name,
            some[0].said, some[0].settled, len(some), said[name, label], items,
        )  # fmt: skip


def _cells(cases: Iterable[Case]) -> tuple[Cell, ...]:
    found: dict[tuple[Any, Any], list[Case]] = {}
    for case in cases:
        found.setdefault((label_of(case.said), label_of(case.settled)), []).append(case)
    order = sorted(found, key=lambda labels: (labels[0] != labels[1], str(labels[0]) != "True", str(labels)))
    return tuple(
        Cell(some[0].said, some[0].settled, len(some), tuple(dict.fromkeys(case.item for case in some)))
        for some in (found[labels] for labels in order)
    )


def _rates(group: CaseGroup, cells: tuple[Cell, ...]) -> list[Rate]:
    if group.binary:
        counts = {(cell.said, cell.settled): cell.n for cell in cells}
        return binary_rates(
            [counts.get(pair, 0) for pair in ((True, True), (True, False), (False, True), (False, False))]
        )
    number: dict[Any, int] = {}
    pairs = [
        (number.setdefault(label_of(case.said), len(number)), number.setdefault(label_of(case.settled), len(number)))
        for case in group.cases
    ]
    return other_rates(pairs)

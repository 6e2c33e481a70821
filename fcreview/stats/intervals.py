"""Compute Wilson's confidence interval of a share (Wilson 1927), and the lowest and highest value
that a corrected metric can have when all open disagreements are resolved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite, lgamma, log, log1p, sqrt
from typing import Any

from fcreview.model.address import WHOLE_TARGETS
from fcreview.model.effective_verdict import is_definite, is_same_verdict
from fcreview.model.metric import Metric, MetricKey, ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import GOLDEN_ACTS_KEY, TRUE_MEANS_FAILURE, TargetCriterion, find_scale

CONFIDENCE_LEVEL = 0.95
NORMAL_QUANTILE = 1.959963984540054
"""Half-width of a normal 95 % interval, in standard deviations."""
_BISECTION_STEPS = 60


def compute_wilson_interval(n_passed: int, n_all: int) -> tuple[float, float] | None:
    """Compute the ends of the 95 % interval of the share `n_passed / n_all`, or return None if
    `n_all` is 0.
    """
    if n_all == 0:
        return None
    share, square = n_passed / n_all, NORMAL_QUANTILE**2 / n_all
    center = (share + square / 2) / (1 + square)
    half_width = (
        NORMAL_QUANTILE / (1 + square) * sqrt(share * (1 - share) / n_all + square / (4 * n_all))
    )
    low, high = max(0.0, center - half_width), min(1.0, center + half_width)
    return low if n_passed else 0.0, high if n_passed < n_all else 1.0


def compute_mid_p_interval(n_passed: int, n_all: int) -> tuple[float, float]:
    """Compute the ends of the 95 % mid-p interval of the share `n_passed / n_all` (Berry and
    Armitage 1995, The Statistician 44:417). `n_all` must not be 0.

    For few items, it contains the true share more reliably than Wilson's interval.
    """
    tail = (1 - CONFIDENCE_LEVEL) / 2

    def compute_mid_p(share: float) -> float:
        """Return the probability of more passes plus half the probability of as many passes."""
        as_many_or_more = compute_binomial_tail(n_passed, n_all, share)
        more = compute_binomial_tail(n_passed + 1, n_all, share)
        return (as_many_or_more + more) / 2

    low = _bisect_share(compute_mid_p, tail) if n_passed > 0 else 0.0
    high = _bisect_share(compute_mid_p, 1 - tail) if n_passed < n_all else 1.0
    return low, high


def compute_binomial_tail(n_passed: int, n_all: int, share: float) -> float:
    """Return the probability that at least `n_passed` of `n_all` items pass."""
    if n_passed <= 0:
        return 1.0
    if n_passed > n_all:
        return 0.0
    return compute_beta_probability(share, n_passed, b=n_all - n_passed + 1)


def _bisect_share(compute_probability: Callable[[float], float], probability: float) -> float:
    """Return the share at which an increasing function has the given value."""
    low = 0.0
    high = 1.0
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        if compute_probability(middle) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def compute_beta_probability(x: float, a: float, b: float) -> float:
    """Compute the probability that a beta variable is below `x` (0 to 1), by the continued
    fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8).
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    # The fraction converges quickly below the mean.
    if x > (a + 1) / (a + b + 2):
        return 1 - compute_beta_probability(1 - x, b, b=a)

    n_terms = 20 + 5 * int(sqrt(max(a, b)))
    fraction = 1.0
    for m in range(n_terms, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        fraction = 1 + even / (1 + odd / fraction)
    fraction = 1 - (a + b) * x / (a + 1) / fraction
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    return exp(a * log(x) + b * log1p(-x) - log_beta) / (a * fraction)


DisagreementKind = tuple[str, bool, str]
"""Category of the item, whether the target is the item or the response, and criterion."""


@dataclass(frozen=True, slots=True)
class DisagreementBounds:
    """Range of one metric that depends on open disagreements."""

    n: int
    """Number of open disagreements on which the metric depends."""
    low: float
    """Lowest value of the metric if all disagreements are resolved as pass, all as fail, or all
    stay open.
    """
    high: float


def compute_disagreement_bounds(
    items: Sequence[Sequence[ScoredItem]],
    compute_metrics: Callable[[Sequence[Sequence[ScoredItem]]], Sequence[Metric]],
) -> dict[MetricKey, DisagreementBounds]:
    """Compute the bounds of each metric that depends on an open disagreement, from the corrected
    items of each run.
    """
    kinds = _count_disagreement_kinds(items)
    if not kinds:
        return {}

    def compute_resolved_metrics(
        resolved_kinds: set[DisagreementKind], *, is_pass: bool
    ) -> dict[MetricKey, float]:
        resolved = []
        for part in items:
            resolved.append(
                [_resolve_disagreements(item, resolved_kinds, is_pass) for item in part]
            )
        metrics = compute_metrics(resolved)
        return {metric.key: metric.value for metric in metrics if metric.value is not None}

    unresolved = compute_resolved_metrics(set(), is_pass=False)
    all_pass = compute_resolved_metrics(set(kinds), is_pass=True)
    all_fail = compute_resolved_metrics(set(kinds), is_pass=False)
    n_relevant: Counter[MetricKey] = Counter()
    for kind, n_disagreements in kinds.items():
        # With one kind, its disagreements are all disagreements.
        is_only_kind = len(kinds) == 1
        passing = all_pass if is_only_kind else compute_resolved_metrics({kind}, is_pass=True)
        failing = all_fail if is_only_kind else compute_resolved_metrics({kind}, is_pass=False)
        for key, value in unresolved.items():
            if passing.get(key) != value or failing.get(key) != value:
                n_relevant[key] += n_disagreements

    bounds = {}
    for key, value in unresolved.items():
        low = min(value, all_pass.get(key, value), all_fail.get(key, value))
        high = max(value, all_pass.get(key, value), all_fail.get(key, value))
        if n_relevant[key] or low != high:
            n = n_relevant[key] or kinds.total()
            bounds[key] = DisagreementBounds(n, low=low, high=high)
    return bounds


def _count_disagreement_kinds(
    items: Sequence[Sequence[ScoredItem]],
) -> Counter[DisagreementKind]:
    kinds: Counter[DisagreementKind] = Counter()
    for part in items:
        for item in part:
            kinds.update(_get_disagreement_kind(item, disputed) for disputed in item.disputed)
    return kinds


def _get_disagreement_kind(item: ScoredItem, target_criterion: TargetCriterion) -> DisagreementKind:
    target, criterion = target_criterion
    return item.category, target in WHOLE_TARGETS, criterion


def _resolve_disagreements(
    item: ScoredItem, kinds: set[DisagreementKind], is_pass: bool
) -> ScoredItem:
    """Return the item as if the disagreements of these kinds were resolved."""
    disputed = [
        target_criterion
        for target_criterion in item.disputed
        if _get_disagreement_kind(item, target_criterion) in kinds
    ]
    if not disputed:
        return item

    part_verdicts: dict[TargetCriterion, Any] = {
        (target, criterion): value for target, criterion, value in item.part_verdicts
    }
    overrides = dict(item.overrides)
    values = dict(item.values)
    for target, criterion in disputed:
        about = target, criterion
        is_about_whole_item = target in WHOLE_TARGETS
        automatic = item.valid if about == ITEM_CORRECT else part_verdicts.get(about)
        if automatic is None and is_about_whole_item:
            automatic = values.get(criterion)
        verdict = _choose_extreme_verdict(criterion, automatic, item.metadata, is_best=is_pass)
        if is_same_verdict(verdict, automatic):
            continue
        overrides[about] = verdict
        part_verdicts[about] = verdict
        if is_about_whole_item and about != ITEM_CORRECT:
            values[criterion] = verdict

    valid = overrides.get(ITEM_CORRECT, item.valid)
    remaining_parts = []
    for (target, criterion), value in part_verdicts.items():
        if target not in WHOLE_TARGETS:
            remaining_parts.append((target, criterion, value))
    return replace(
        item,
        valid=valid,
        error_type=item.error_type if valid is False else None,
        values=values,
        part_verdicts=remaining_parts,
        overrides=overrides,
    )


def _choose_extreme_verdict(
    criterion: str, automatic: Any, metadata: Mapping[str, Any], is_best: bool
) -> Any:
    """Return the best or worst verdict on a criterion's scale, or the automatic verdict if the
    scale has no bounds.
    """
    if criterion == "dialog_act":
        golden_acts = metadata.get(GOLDEN_ACTS_KEY)
        return golden_acts if is_best and isinstance(golden_acts, list) else []
    if isinstance(automatic, list):
        # The list contains the names of wrong arguments.
        return [] if is_best else automatic or ["·"]

    scale = find_scale(criterion, [automatic])
    if scale is not None and scale.numbers is not None:
        lowest, highest = scale.numbers
        if not (isfinite(lowest) and isfinite(highest)):
            return automatic
        return highest if is_best else lowest
    scores = (
        [verdict for verdict in scale.words.values() if is_definite(verdict)]
        if scale is not None
        else []
    )
    if scores and not isinstance(scores[0], bool):
        return max(scores) if is_best else min(scores)
    return is_best is not (criterion in TRUE_MEANS_FAILURE)

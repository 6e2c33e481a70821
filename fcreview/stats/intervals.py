"""Compute Wilson's confidence interval of a share (Wilson 1927), and the lowest and highest value
that a corrected metric can have when all open disagreements are resolved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, pi, sqrt, tan
from typing import Any

from fcreview.model.address import WHOLE_TARGETS
from fcreview.model.derivation import GOLDEN_ACTS_KEY
from fcreview.model.effective_verdict import is_definite, is_same_verdict
from fcreview.model.metric import Metric, MetricKey, ScoredItem
from fcreview.model.review import CORRECT, ITEM_CORRECT
from fcreview.model.verdict import (
    TRUE_MEANS_FAILURE,
    Scale,
    TargetCriterion,
    find_scale,
)

CONFIDENCE_LEVEL = 0.95
NORMAL_QUANTILE = 1.959963984540054
"""Half-width of a normal 95 % interval, in standard deviations."""
UNKNOWN_ARGUMENT = "·"
"""Name of a wrong argument of which only the number matters."""
MetricsFunction = Callable[[Sequence[Sequence[ScoredItem]]], Sequence[Metric]]
"""Computes metrics from the items of each run."""


def compute_wilson_interval(n_passed: int, n_all: int) -> tuple[float, float]:
    """Compute the ends of the 95 % interval of the share `n_passed / n_all`. `n_all` is at least 1.

    With the share p, n for `n_all` and the normal quantile z, the ends are

        (p + z^2 / (2 n) -/+ z sqrt(p (1 - p) / n + z^2 / (4 n^2))) / (1 + z^2 / n)
    """
    share = n_passed / n_all
    square = NORMAL_QUANTILE**2 / n_all
    center = (share + square / 2) / (1 + square)
    root = sqrt(share * (1 - share) / n_all + square / (4 * n_all))
    half_width = NORMAL_QUANTILE / (1 + square) * root

    # Without rounding errors, these ends are exactly 0 and 1.
    low = max(0.0, center - half_width) if n_passed > 0 else 0.0
    high = min(1.0, center + half_width) if n_passed < n_all else 1.0
    return low, high


COVERED_SHARE = 0.95
"""Share of a distribution between its 2.5 % and its 97.5 % quantile."""


def compute_t_quantile(degrees_of_freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution.

    With 1 and 2 degrees of freedom, the quantile has an exact formula. From 3 on, it comes from the
    expansion around the normal distribution (Fisher and Cornish; Abramowitz and Stegun 1964,
    formula 26.7.5), with an error below 1 %.
    """
    if degrees_of_freedom == 1:
        return tan(pi * COVERED_SHARE / 2)
    if degrees_of_freedom == 2:
        return COVERED_SHARE * sqrt(2 / (1 - COVERED_SHARE**2))

    n = degrees_of_freedom
    z = NORMAL_QUANTILE
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3


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
    items: Sequence[Sequence[ScoredItem]], compute_metrics: MetricsFunction
) -> dict[MetricKey, DisagreementBounds]:
    """Compute between which values a metric lies, whichever way the open disagreements of
    annotators are resolved. Metrics that depend on no disagreement are left out.

    Args:
        items: The corrected items of each run.
        compute_metrics: Computes the metrics of such items.
    """
    n_by_kind = _count_disagreement_kinds(items)
    if not n_by_kind:
        return {}

    current_values = _compute_resolved_values(items, set(), compute_metrics, is_pass=False)
    extremes = _Extremes.compute(items, set(n_by_kind), compute_metrics)
    if len(n_by_kind) == 1:
        extremes_by_kind = dict.fromkeys(n_by_kind, extremes)
    else:
        extremes_by_kind = {
            kind: _Extremes.compute(items, {kind}, compute_metrics) for kind in n_by_kind
        }

    bounds = {}
    for key, value in current_values.items():
        low, high = extremes.find_range(key, value)
        n_relevant = 0
        for kind, n_disagreements in n_by_kind.items():
            if extremes_by_kind[kind].can_change(key, value):
                n_relevant += n_disagreements
        # Perhaps no kind changes the metric alone, but several kinds together do.
        if not n_relevant and low != high:
            n_relevant = n_by_kind.total()
        if n_relevant:
            bounds[key] = DisagreementBounds(n_relevant, low=low, high=high)
    return bounds


@dataclass(frozen=True, slots=True)
class _Extremes:
    """The values of all metrics if some open disagreements are resolved."""

    all_pass: dict[MetricKey, float]
    all_fail: dict[MetricKey, float]

    @classmethod
    def compute(
        cls,
        items: Sequence[Sequence[ScoredItem]],
        kinds: set[DisagreementKind],
        compute_metrics: MetricsFunction,
    ) -> _Extremes:
        """Compute the metrics as if all disagreements were resolved as pass, and as fail."""
        return cls(
            all_pass=_compute_resolved_values(items, kinds, compute_metrics, is_pass=True),
            all_fail=_compute_resolved_values(items, kinds, compute_metrics, is_pass=False),
        )

    def can_change(self, key: MetricKey, value: float) -> bool:
        """Whether a metric, whose present value is `value`, has another value or none in one of the
        two cases.
        """
        return self.all_pass.get(key) != value or self.all_fail.get(key) != value

    def find_range(self, key: MetricKey, value: float) -> tuple[float, float]:
        """Return the lowest and the highest value of a metric in the two cases and at present. A
        case in which the metric has no value is left out.
        """
        values = (value, self.all_pass.get(key, value), self.all_fail.get(key, value))
        return min(values), max(values)


def _compute_resolved_values(
    items: Sequence[Sequence[ScoredItem]],
    kinds: set[DisagreementKind],
    compute_metrics: MetricsFunction,
    *,
    is_pass: bool,
) -> dict[MetricKey, float]:
    """Compute the metrics as if the disagreements of these kinds were resolved."""
    resolved = []
    for items_of_run in items:
        resolved.append([_resolve_disagreements(item, kinds, is_pass) for item in items_of_run])
    metrics = compute_metrics(resolved)
    return {metric.key: metric.value for metric in metrics if metric.value is not None}


def _count_disagreement_kinds(
    items: Sequence[Sequence[ScoredItem]],
) -> Counter[DisagreementKind]:
    """Count the open disagreements of annotators by kind."""
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
    """Return the item as if its disagreements of these kinds were resolved.

    All of them are resolved in favour of the model with `is_pass`, else against it.
    """
    disputed = [
        target_criterion
        for target_criterion in item.disputed
        if _get_disagreement_kind(item, target_criterion) in kinds
    ]
    if not disputed:
        return item

    # Resolved in favour of the model, each disagreement gets the best verdict of its criterion.
    return _override(item, _choose_changed_verdicts(item, disputed, is_best=is_pass))


def _override(item: ScoredItem, verdicts: Mapping[TargetCriterion, Any]) -> ScoredItem:
    """Return the item with verdicts that override its automatic ones. The verdict on the whole item
    is in `valid`, one on another criterion of it in `values`, and one on a part in `part_verdicts`.
    """
    values = dict(item.values)
    part_verdicts = {(target, criterion): value for target, criterion, value in item.part_verdicts}
    for (target, criterion), verdict in verdicts.items():
        if target not in WHOLE_TARGETS:
            part_verdicts[target, criterion] = verdict
        elif (target, criterion) != ITEM_CORRECT:
            values[criterion] = verdict

    overrides = {**item.overrides, **verdicts}
    valid = overrides.get(ITEM_CORRECT, item.valid)
    # Only a failing item has an error type.
    error_type = item.error_type if valid is False else None
    return replace(
        item,
        valid=valid,
        error_type=error_type,
        values=values,
        part_verdicts=[
            (target, criterion, value) for (target, criterion), value in part_verdicts.items()
        ],
        overrides=overrides,
    )


def _choose_changed_verdicts(
    item: ScoredItem, disputed: Iterable[TargetCriterion], *, is_best: bool
) -> dict[TargetCriterion, Any]:
    """Return the best or worst verdicts, without those that the automatic verdict equals."""
    verdicts: dict[TargetCriterion, Any] = {}
    for target_criterion in disputed:
        automatic = _find_automatic_verdict(item, target_criterion)
        _, criterion = target_criterion
        verdict = _choose_extreme_verdict(criterion, automatic, item.metadata, is_best)
        if not is_same_verdict(verdict, automatic):
            verdicts[target_criterion] = verdict
    return verdicts


def _find_automatic_verdict(item: ScoredItem, target_criterion: TargetCriterion) -> Any:
    """Return the automatic verdict on an item, on one of its parts or on another criterion."""
    if target_criterion == ITEM_CORRECT:
        # A whole item without a verdict can have one among its values.
        return item.values.get(CORRECT) if item.valid is None else item.valid
    target, criterion = target_criterion
    if target in WHOLE_TARGETS:
        return item.values.get(criterion)
    for part, part_criterion, value in item.part_verdicts:
        if (part, part_criterion) == target_criterion:
            return value
    return None


def _choose_extreme_verdict(
    criterion: str, automatic: Any, metadata: Mapping[str, Any], is_best: bool
) -> Any:
    """Return the best or worst verdict on a criterion, or the automatic verdict if the scale has
    no bounds.

    A criterion has labels, wrong arguments, numbers in a range, a few scores, or true and false.
    """
    if criterion == "dialog_act":
        return _choose_extreme_labels(metadata, is_best)
    # An automatic verdict that is a list has the names of the wrong arguments.
    if isinstance(automatic, list):
        return _choose_extreme_wrong_arguments(automatic, is_best)

    scale = find_scale(criterion, [automatic])
    if scale is not None and scale.numbers is not None:
        lowest, highest = scale.numbers
        if not (isfinite(lowest) and isfinite(highest)):
            return automatic
        return highest if is_best else lowest

    scores = _list_scores_of_words(scale)
    if scores:
        return max(scores) if is_best else min(scores)
    # The verdict is true or false. On some criteria, true is the worse one.
    if criterion in TRUE_MEANS_FAILURE:
        return not is_best
    return is_best


def _choose_extreme_labels(metadata: Mapping[str, Any], is_best: bool) -> list[Any]:
    """Return the best labels of a response, which are the golden ones, or the worst: none."""
    golden_acts = metadata.get(GOLDEN_ACTS_KEY)
    if is_best and isinstance(golden_acts, list):
        return golden_acts
    return []


def _choose_extreme_wrong_arguments(automatic: list[Any], is_best: bool) -> list[Any]:
    """Return the best list of wrong arguments, which is empty, or the worst: the automatic one.

    If the automatic list is empty, the worst one contains an argument without a known name.
    """
    if is_best:
        return []
    if automatic:
        return automatic
    return [UNKNOWN_ARGUMENT]


def _list_scores_of_words(scale: Scale | None) -> list[Any]:
    """Return the scores that the words of a scale mean. Empty if its words mean true and false."""
    if scale is None:
        return []
    verdicts = [verdict for verdict in scale.words.values() if is_definite(verdict)]
    return [verdict for verdict in verdicts if not isinstance(verdict, bool)]

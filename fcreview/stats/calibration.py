"""Compare automatic verdicts with human verdicts: compute confusion matrices, measures with
intervals, and groups of errors, and format them as text.

Shares (TPR, TNR, precision, agreement) have Wilson's score interval. F1 and kappa have a bootstrap
interval, from verdict pairs that are resampled with replacement (Efron and Tibshirani 1993).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fcreview.model.metric import MetricUnit
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import (
    NO_VALUE,
    format_count,
    format_verdict,
    format_with_interval,
    get_source_name,
)
from fcreview.stats.agreement_ratings import LabelKey, infer_measurement_level, to_label_key
from fcreview.stats.intervals import compute_wilson_interval

if TYPE_CHECKING:
    from fcreview.stats.agreement_coefficients import FloatArray, IntArray, Statistic

WEIGHT_DIGITS = 9
"""Decimals to which the weights of pairs are equal."""
CalibrationScope = Literal["overall", "benchmark", "category", "tier", "error", "function"]
CALIBRATION_SCOPES: tuple[CalibrationScope, ...] = (
    "overall",
    "benchmark",
    "category",
    "tier",
    "error",
    "function",
)
SelectionMethod = Literal["random", "by hand", "both"]
"""How items were selected: `random` if all items are from a random sample, `by hand` if no item
is, else `both`.
"""


@dataclass(frozen=True, slots=True)
class VerdictPair:
    """An automatic verdict and the human verdict on the same target and criterion."""

    item: int
    source: str
    judge: str | None
    criterion: str
    automatic: Any
    human: Any
    is_random: bool
    benchmark: str
    category: str
    tier: str | None = None
    error: str | None = None
    function: str | None = None
    weight: float = 1.0
    """Number of items for which an item of a random sample stands: 1 / its inclusion
    probability.
    """
    is_on_item: bool = True
    """Whether the verdicts are on the whole item, and not on a part of it."""

    @property
    def is_correct(self) -> bool:
        return to_label_key(self.automatic) == to_label_key(self.human)


@dataclass(frozen=True, slots=True)
class VerdictPairGroup:
    """Verdict pairs of one source on one criterion for which measures are computed together."""

    scope: CalibrationScope
    name: str | None
    """Benchmark, category, tier, error type or function; None in the scope `overall`."""
    source: str
    judge: str | None
    criterion: str
    pairs: tuple[VerdictPair, ...]

    @property
    def is_binary(self) -> bool:
        return all(
            isinstance(pair.automatic, bool) and isinstance(pair.human, bool) for pair in self.pairs
        )

    @property
    def selection(self) -> SelectionMethod:
        n_random = sum(pair.is_random for pair in self.pairs)
        if n_random == len(self.pairs):
            return "random"
        return "both" if n_random else "by hand"

    @property
    def measured_pairs(self) -> Sequence[VerdictPair]:
        """The pairs from which measures are computed: those of random samples or, if there are
        none, all pairs.

        Pairs that were chosen by hand say nothing about other items.
        """
        return [pair for pair in self.pairs if pair.is_random] or self.pairs

    @property
    def has_equal_weights(self) -> bool:
        return len({round(pair.weight, WEIGHT_DIGITS) for pair in self.measured_pairs}) == 1


MeasureName = Literal["agreement", "tpr", "tnr", "precision", "wrong_fails", "f1", "kappa"]
IntervalMethod = Literal["wilson", "bootstrap", "stratified"]
"""`stratified` is the weighted bootstrap of `fcreview.stats.weighted_calibration`."""


@dataclass(frozen=True, slots=True)
class CalibrationMeasure:
    """A measure of a confusion matrix. `fcreview calibrate --json` prints these fields."""

    metric: MeasureName
    value: float | None
    low: float | None
    high: float | None
    interval: IntervalMethod
    n: int
    """Number of verdict pairs in the denominator."""


ErrorGrouping = Literal["category", "error", "function"]
ERROR_GROUPINGS: tuple[ErrorGrouping, ...] = ("category", "error", "function")


@dataclass(frozen=True, slots=True)
class ConfusionCell:
    automatic: Any
    human: Any
    n: int
    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Confusion matrix and measures of one group.

    `fcreview calibrate --json` prints these fields.
    """

    scope: CalibrationScope
    name: str | None
    source: str
    judge: str | None
    criterion: str
    binary: bool
    chosen: SelectionMethod
    n: int
    n_random: int
    cells: tuple[ConfusionCell, ...]
    """Cells of the confusion matrix, without empty cells. The cells on the diagonal come first."""
    rates: tuple[CalibrationMeasure, ...]


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Wrong automatic verdicts with the same human verdict, on items with the same category,
    error type or function.
    """

    source: str
    judge: str | None
    criterion: str
    by: ErrorGrouping
    name: str
    automatic: Any
    human: Any
    wrong: int
    of: int
    """Number of all verdict pairs, right or wrong, with the same `name` and the same automatic
    verdict.
    """
    items: tuple[int, ...]


def group_verdict_pairs(
    pairs: Iterable[VerdictPair], scopes: Iterable[CalibrationScope]
) -> Iterator[VerdictPairGroup]:
    """Group verdict pairs by source, judge and criterion, once for each scope.

    The scope `overall` has only these groups. Any other scope is a field of the pairs, such as the
    error type: it divides the groups by the value of this field, which is the name of the group.
    """
    # Numbers become floats, so that 1 and 1.0 are the same label.
    comparable = [_convert_numbers(pair) for pair in pairs]
    for scope in scopes:
        groups = _group_by_scope(comparable, scope)
        for key in sorted(groups, key=_to_sortable_names):
            source, judge, criterion, name = key
            yield VerdictPairGroup(
                scope,
                name=name,
                source=source,
                judge=judge,
                criterion=criterion,
                pairs=tuple(groups[key]),
            )


_GroupKey = tuple[str, str | None, str, str | None]
"""(source, judge, criterion, name in the scope)."""


def _group_by_scope(
    pairs: Iterable[VerdictPair], scope: CalibrationScope
) -> dict[_GroupKey, list[VerdictPair]]:
    """Group pairs for one scope. Pairs without a value in the field of the scope are omitted."""
    groups: dict[_GroupKey, list[VerdictPair]] = {}
    for pair in pairs:
        name = None
        if scope != "overall":
            name = getattr(pair, scope)
            if name is None:
                continue
        groups.setdefault((pair.source, pair.judge, pair.criterion, name), []).append(pair)
    return groups


def _convert_numbers(pair: VerdictPair) -> VerdictPair:
    """Convert the verdicts of a pair to floats if they are numbers."""
    if infer_measurement_level((pair.automatic, pair.human)) != "ordinal":
        return pair
    return replace(pair, automatic=float(pair.automatic), human=float(pair.human))


def _to_sortable_names(names: Iterable[str | None]) -> list[str]:
    return [name or "" for name in names]


MEASURE_LABELS: dict[MeasureName, str] = {
    "tpr": "TPR",
    "tnr": "TNR",
    "precision": "precision",
    "wrong_fails": "wrong fails",
    "f1": "F1",
    "kappa": "kappa",
    "agreement": "agreement",
}
MAX_ERROR_GROUPS = 12
"""Maximum number of error groups of a source that commands and screens with limited space show."""
BY_HAND = (
    "The items were chosen by hand, so the measures describe only these items."
    " Use `fcreview queue create` to draw a random sample."
)
NOTES = (
    "Positive means pass or yes. Unsure and stale reviews, and open disagreements, are excluded.",
    "[ ]: 95 % interval (Wilson for shares, bootstrap for F1 and kappa, stratified bootstrap for"
    " samples with unequal"
    " chances). –: not available.",
)
NO_PAIRS_MESSAGE = "No item has both an automatic and a human verdict to compare."


def describe_selection(pairs: Iterable[VerdictPair]) -> list[str]:
    """Describe how many reviewed items are in a random sample.

    If none is, add a line with a warning.
    """
    is_random = {pair.item: pair.is_random for pair in pairs}
    n_random = sum(is_random.values())
    counts = (
        f"{format_count(len(is_random), 'reviewed item')}, {n_random:,} of them in a random sample"
    )
    return [counts] if n_random else [counts, BY_HAND]


def format_source_and_criterion(group: Calibration | VerdictPairGroup | ErrorGroup) -> list[str]:
    """Return two table cells: the source, with the name of a judge, and the criterion."""
    judge = f" {sanitize(group.judge)}" if group.judge else ""
    return [get_source_name(group.source) + judge, sanitize(group.criterion)]


def format_selection_method(group: Calibration) -> str:
    """Format how items were selected: `by hand`, `random` or `12 of 40 random`."""
    return group.chosen if group.chosen != "both" else f"{group.n_random:,} of {group.n:,} random"


def format_error(group: ErrorGroup) -> str:
    """Format the automatic and the human verdict of an error group: `pass, human fail`."""
    automatic, human = (
        format_verdict(value, group.criterion) for value in (group.automatic, group.human)
    )
    return f"{automatic}, human {human}"


def format_measure(measure: CalibrationMeasure | None) -> list[str]:
    """Return two table cells: the value of a measure and its interval, such as `91.2 %` and
    `[85.0, 95.1]`.
    """
    if measure is None:
        return [NO_VALUE, ""]
    unit: MetricUnit = "score" if measure.metric in ("kappa", "f1") else "share"
    return [*format_with_interval(measure.value, measure.low, measure.high, unit, 6)]


def format_measures(measures: Sequence[CalibrationMeasure]) -> dict[MeasureName, str]:
    """Return the formatted value and interval of each measure, in the order of `MEASURE_LABELS`."""
    by_name = {measure.metric: measure for measure in measures}
    return {
        name: " ".join(filter(None, format_measure(by_name.get(name)))) for name in MEASURE_LABELS
    }


def compute_binary_measures(confusion_counts: Sequence[int]) -> list[CalibrationMeasure]:
    """Compute the measures of verdicts that are true or false. `confusion_counts` contains the
    numbers of true positives, false positives, false negatives and true negatives. Positive means
    pass or yes.
    """
    import numpy as np

    from fcreview.stats.agreement_coefficients import build_cohen_kappa

    tp, fp, fn, tn = confusion_counts
    n = tp + fp + fn + tn
    labels = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=np.int64)
    return [
        _compute_share_measure("agreement", tp + tn, n),
        _compute_share_measure("tpr", tp, tp + fn),
        _compute_share_measure("tnr", tn, tn + fp),
        _compute_share_measure("precision", tp, tp + fp),
        _compute_share_measure("wrong_fails", fn, fn + tn),
        *_compute_bootstrap_measures(
            np.array(confusion_counts, dtype=np.int64),
            {"f1": _compute_f1, "kappa": build_cohen_kappa(labels)},
        ),
    ]


def compute_multiclass_measures(label_pairs: Sequence[tuple[int, int]]) -> list[CalibrationMeasure]:
    """Compute agreement and kappa.

    Each pair contains the numbers of the automatic label and of the human label.
    """
    import numpy as np

    from fcreview.stats.agreement_coefficients import build_cohen_kappa

    patterns, counts = np.unique(
        np.array(label_pairs, dtype=np.int64).reshape(-1, 2), axis=0, return_counts=True
    )
    n_equal = int(counts[patterns[:, 0] == patterns[:, 1]].sum())
    agreement = _compute_share_measure("agreement", n_equal, int(counts.sum()))
    return [agreement, *_compute_bootstrap_measures(counts, {"kappa": build_cohen_kappa(patterns)})]


def _compute_weighted_measures(pairs: Sequence[VerdictPair]) -> list[CalibrationMeasure]:
    """Compute the measures of pairs that stand for different numbers of items, or that have only
    one automatic verdict.
    """
    from fcreview.stats.weighted_calibration import WeightedPair, compute_weighted_measures

    # These are shares of the pairs with one verdict. The other measures use all pairs.
    n_pairs_of_share: dict[MeasureName, int] = {
        "tpr": sum(pair.human for pair in pairs),
        "tnr": sum(not pair.human for pair in pairs),
        "precision": sum(pair.automatic for pair in pairs),
        "wrong_fails": sum(not pair.automatic for pair in pairs),
    }
    weighted = [
        WeightedPair(
            automatic=pair.automatic, human=pair.human, weight=round(pair.weight, WEIGHT_DIGITS)
        )
        for pair in pairs
    ]
    values = {measure.name: measure for measure in compute_weighted_measures(weighted)}
    return [
        CalibrationMeasure(
            name,
            value=values[name].value,
            low=values[name].low,
            high=values[name].high,
            interval="stratified",
            n=n_pairs_of_share.get(name, len(pairs)),
        )
        for name in MEASURE_LABELS
    ]


def _compute_weighted_agreement(pairs: Sequence[VerdictPair]) -> CalibrationMeasure:
    """Compute the share of equal scores or labels, in which pairs count by their weight.

    The interval is Wilson's for the effective number of pairs: the number of pairs with equal
    weights that would say as much (Kish). It is at least 1.
    """
    total = sum(pair.weight for pair in pairs)
    share = sum(pair.weight for pair in pairs if pair.is_correct) / total
    effective_n = total**2 / sum(pair.weight**2 for pair in pairs)
    low, high = compute_wilson_interval(round(share * effective_n), round(effective_n))
    return CalibrationMeasure(
        "agreement", value=share, low=low, high=high, interval="wilson", n=len(pairs)
    )


def _compute_share_measure(name: MeasureName, count: int, n: int) -> CalibrationMeasure:
    """Compute the share `count / n`. It has no value if `n` is 0."""
    if not n:
        return CalibrationMeasure(name, value=None, low=None, high=None, interval="wilson", n=n)
    low, high = compute_wilson_interval(count, n)
    return CalibrationMeasure(name, value=count / n, low=low, high=high, interval="wilson", n=n)


def _compute_f1(pattern_counts: FloatArray) -> FloatArray:
    """Compute the F1 score from the counts of true and false positives and false negatives."""
    import numpy as np

    tp, fp, fn, _ = pattern_counts.T
    with np.errstate(invalid="ignore"):
        value: FloatArray = 2 * tp / (2 * tp + (fp + fn))
    return value


def _compute_bootstrap_measures(
    counts: IntArray, statistics: dict[MeasureName, Statistic]
) -> list[CalibrationMeasure]:
    """Compute the measures with intervals by the bootstrap. `counts` has the number of items of
    each kind.
    """
    from fcreview.stats.bootstrap import bootstrap

    n = int(counts.sum())
    estimates = bootstrap(counts, list(statistics.values()))
    measures = []
    for name, estimate in zip(statistics, estimates, strict=True):
        value, low, high = estimate.omit_interval_of_single_unit(n)
        measures.append(
            CalibrationMeasure(name, value=value, low=low, high=high, interval="bootstrap", n=n)
        )
    return measures


def compute_calibrations(
    pairs: Iterable[VerdictPair], scopes: Iterable[CalibrationScope]
) -> Iterator[Calibration]:
    yield from map(calibrate_group, group_verdict_pairs(pairs, scopes))


def calibrate_group(group: VerdictPairGroup) -> Calibration:
    """Compare the automatic and the human verdicts of a group: their counts, and measures such as
    the agreement.
    """
    cells = _count_confusion_cells(group.pairs)
    n_random = sum(pair.is_random for pair in group.pairs)
    return Calibration(
        group.scope,
        name=group.name,
        source=group.source,
        judge=group.judge,
        criterion=group.criterion,
        binary=group.is_binary,
        chosen=group.selection,
        n=len(group.pairs),
        n_random=n_random,
        cells=cells,
        rates=tuple(_compute_measures(group)),
    )


def find_error_groups(pairs: Iterable[VerdictPair]) -> Iterator[ErrorGroup]:
    """Yield the error groups of each source, judge and criterion, for each of `ERROR_GROUPINGS`
    the largest first.
    """
    for group in group_verdict_pairs(pairs, ("overall",)):
        for grouping in ERROR_GROUPINGS:
            yield from sorted(
                _group_errors(group, grouping), key=lambda errors: (-errors.wrong, errors.name)
            )


def _group_errors(group: VerdictPairGroup, grouping: ErrorGrouping) -> Iterator[ErrorGroup]:
    """Group the pairs with different verdicts by the value of `grouping` and by the verdicts."""
    named_pairs = [pair for pair in group.pairs if getattr(pair, grouping) is not None]
    n_by_automatic = Counter(_get_automatic_key(pair, grouping) for pair in named_pairs)

    wrong_pairs: dict[tuple[Any, ...], list[VerdictPair]] = {}
    for pair in named_pairs:
        if not pair.is_correct:
            key = (*_get_automatic_key(pair, grouping), to_label_key(pair.human))
            wrong_pairs.setdefault(key, []).append(pair)

    for errors in wrong_pairs.values():
        example = errors[0]
        yield ErrorGroup(
            group.source,
            judge=group.judge,
            criterion=group.criterion,
            by=grouping,
            name=getattr(example, grouping),
            automatic=example.automatic,
            human=example.human,
            wrong=len(errors),
            of=n_by_automatic[_get_automatic_key(example, grouping)],
            items=list_item_numbers(errors),
        )


def _get_automatic_key(pair: VerdictPair, grouping: ErrorGrouping) -> tuple[str, Any]:
    """Return the value of `grouping` and the automatic verdict, by which errors are counted."""
    return getattr(pair, grouping), to_label_key(pair.automatic)


def _count_confusion_cells(pairs: Iterable[VerdictPair]) -> tuple[ConfusionCell, ...]:
    """Return a cell for each combination of verdicts: equal verdicts first, and passes first."""
    pairs_by_labels: dict[_LabelPair, list[VerdictPair]] = {}
    for pair in pairs:
        labels = _LabelPair(to_label_key(pair.automatic), to_label_key(pair.human))
        pairs_by_labels.setdefault(labels, []).append(pair)

    cells = []
    for labels in sorted(pairs_by_labels, key=_LabelPair.get_sort_key):
        equal_pairs = pairs_by_labels[labels]
        cells.append(
            ConfusionCell(
                equal_pairs[0].automatic,
                human=equal_pairs[0].human,
                n=len(equal_pairs),
                items=list_item_numbers(equal_pairs),
            )
        )
    return tuple(cells)


class _LabelPair(NamedTuple):
    """Keys of two verdicts, see `to_label_key`."""

    automatic: LabelKey
    human: LabelKey

    def get_sort_key(self) -> tuple[bool, bool, str]:
        texts = [sorted(label) if isinstance(label, frozenset) else label for label in self]
        is_different = self.automatic != self.human
        return is_different, self.automatic != "True", str(texts)


def list_item_numbers(pairs: Iterable[VerdictPair]) -> tuple[int, ...]:
    """Return the numbers of the items of verdict pairs, each once."""
    return tuple(dict.fromkeys(pair.item for pair in pairs))


def _compute_measures(group: VerdictPairGroup) -> list[CalibrationMeasure]:
    """Compute the measures of a group: those of pass and fail, or those of other labels."""
    if group.is_binary:
        return _compute_measures_of_binary_group(group)

    pairs = group.measured_pairs
    if not group.has_equal_weights:
        return [_compute_weighted_agreement(pairs)]
    # The measures need labels as numbers: each new label gets the next one.
    number_by_label: dict[Any, int] = {}
    numbers = []
    for pair in pairs:
        automatic = to_label_key(pair.automatic)
        human = to_label_key(pair.human)
        automatic_number = number_by_label.setdefault(automatic, len(number_by_label))
        human_number = number_by_label.setdefault(human, len(number_by_label))
        numbers.append((automatic_number, human_number))
    return compute_multiclass_measures(numbers)


def _compute_measures_of_binary_group(group: VerdictPairGroup) -> list[CalibrationMeasure]:
    """Compute the measures of pass and fail, such as the true positive rate."""
    pairs = group.measured_pairs
    has_both_verdicts = len({pair.automatic for pair in pairs}) == 2
    # The measures by counts need equal weights, and automatic verdicts of both kinds.
    if not has_both_verdicts or not group.has_equal_weights:
        return _compute_weighted_measures(pairs)

    counts = Counter((pair.automatic, pair.human) for pair in pairs)
    true_positives = counts[True, True]
    false_positives = counts[True, False]
    false_negatives = counts[False, True]
    true_negatives = counts[False, False]
    return compute_binary_measures(
        [true_positives, false_positives, false_negatives, true_negatives]
    )

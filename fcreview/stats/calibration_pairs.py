"""Group pairs of automatic and human verdicts for calibration, and format the results as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fcreview.model.metric import MetricUnit
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_VALUE, format_count, format_metric_value, format_verdict, source_label
from fcreview.stats.agreement_ratings import infer_measurement_level, to_label_key

CalibrationScope = Literal["overall", "benchmark", "category", "tier", "error", "function"]
CALIBRATION_SCOPES: tuple[CalibrationScope, ...] = ("overall", "benchmark", "category", "tier", "error", "function")
SelectionMethod = Literal["random", "by hand", "both"]
"""How items were selected for review: `random` if all items are from a random sample, `by hand` if none is, `both` if
some are."""


@dataclass(frozen=True, slots=True)
class VerdictPair:
    """An automatic verdict and the human verdict on the same target and criterion."""

    item: int
    source: str
    """Source of the automatic verdict: `official`, `rule` or `judge`."""
    judge: str | None
    """Name of the judge; None for the other sources."""
    criterion: str
    automatic: Any
    human: Any
    is_random: bool
    """Whether the item is part of a random sample."""
    benchmark: str
    category: str
    tier: str | None = None
    """Tier of the checker, if the verdict names it."""
    error: str | None = None
    """Error type of the item; None if it has none."""
    function: str | None = None
    """Function of the item's first difference; None if it has none."""

    @property
    def is_correct(self) -> bool:
        """Whether the automatic verdict equals the human verdict."""
        return to_label_key(self.automatic) == to_label_key(self.human)


@dataclass(frozen=True, slots=True)
class VerdictPairGroup:
    """Verdict pairs of one source and criterion that are measured together."""

    scope: CalibrationScope
    name: str | None
    """Benchmark, category, tier, error type or function; None in the scope `overall`."""
    source: str
    judge: str | None
    criterion: str
    pairs: tuple[VerdictPair, ...]

    @property
    def is_binary(self) -> bool:
        """Whether all verdicts are true or false."""
        return all(isinstance(value, bool) for pair in self.pairs for value in (pair.automatic, pair.human))

    @property
    def selection(self) -> SelectionMethod:
        """How the items of the group were selected."""
        n_random = sum(pair.is_random for pair in self.pairs)
        return "random" if n_random == len(self.pairs) else "both" if n_random else "by hand"


MeasureName = Literal["agreement", "tpr", "tnr", "precision", "f1", "kappa"]
IntervalMethod = Literal["wilson", "bootstrap"]


@dataclass(frozen=True, slots=True)
class CalibrationMeasure:
    """A measure of a confusion matrix. `fcreview calibrate --json` prints these fields."""

    metric: MeasureName
    value: float | None
    """Value of the measure; None if the denominator is 0."""
    low: float | None
    high: float | None
    interval: IntervalMethod
    """Method of the 95 % interval."""
    n: int
    """Number of verdict pairs in the denominator."""


ErrorGrouping = Literal["category", "error", "function"]
ERROR_GROUPINGS: tuple[ErrorGrouping, ...] = ("category", "error", "function")


@dataclass(frozen=True, slots=True)
class ConfusionCell:
    automatic: Any
    human: Any
    n: int
    """Number of verdict pairs."""
    items: tuple[int, ...]
    """Store numbers of the items of the verdict pairs, without duplicates."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of one source on one criterion in one group. `fcreview calibrate --json` prints these fields."""

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
    """Cells of the confusion matrix that are not empty, the diagonal first."""
    rates: tuple[CalibrationMeasure, ...]


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Equal wrong verdicts of a source on items of the same category, error type or function."""

    source: str
    judge: str | None
    criterion: str
    by: ErrorGrouping
    name: str
    automatic: Any
    human: Any
    wrong: int
    """Number of verdict pairs in the group."""
    of: int
    """Number of all verdict pairs, right or wrong, with the same category, error type or function and the same
    automatic verdict."""
    items: tuple[int, ...]
    """Numbers of the group's items, without duplicates."""


def group_verdict_pairs(pairs: Iterable[VerdictPair], scopes: Iterable[CalibrationScope]) -> Iterator[VerdictPairGroup]:
    """Yield the groups of each scope, sorted by source, judge, criterion and name. Pairs without a tier, error type or
    function are omitted from the scope of that property. Numbers become floats, so that 1 and 1.0 are the same
    label."""
    comparable = []
    for pair in pairs:
        if infer_measurement_level((pair.automatic, pair.human)) == "ordinal":
            pair = replace(pair, automatic=float(pair.automatic), human=float(pair.human))
        comparable.append(pair)
    for scope in scopes:
        groups: dict[tuple[str, str | None, str, str | None], list[VerdictPair]] = {}
        for pair in comparable:
            name = None if scope == "overall" else getattr(pair, scope)
            if scope == "overall" or name is not None:
                groups.setdefault((pair.source, pair.judge, pair.criterion, name), []).append(pair)
        for source, judge, criterion, name in sorted(groups, key=lambda names: [each or "" for each in names]):
            group = tuple(groups[source, judge, criterion, name])
            yield VerdictPairGroup(scope, name, source, judge, criterion, group)


MEASURE_LABELS: dict[MeasureName, str] = {
    "tpr": "TPR", "tnr": "TNR", "precision": "precision", "f1": "F1", "kappa": "kappa", "agreement": "agreement"
}  # fmt: skip
MAX_ERROR_GROUPS = 12
"""Number of error groups to show for each source where space is limited."""
BY_HAND = (
    "items chosen by hand: the measures describe these items only. Use `fcreview queue create` to draw a random sample."
)
NOTES = (
    "Positive means pass, or yes. 'unsure', disputed and stale reviews are excluded.",
    "[ ]: 95 % interval (Wilson for shares, bootstrap for F1 and kappa). –: n/a.",
)
NO_PAIRS_MESSAGE = "nothing to compare: no item has both an automatic and a human verdict"


def describe_selection(pairs: Iterable[VerdictPair]) -> list[str]:
    """Return lines of text: the number of reviewed items, the number of these items in a random sample, and a warning
    if it is 0."""
    is_random = {pair.item: pair.is_random for pair in pairs}
    n_random = sum(is_random.values())
    counts = f"{format_count(len(is_random), 'reviewed item')}, {n_random:,} of them in a random sample"
    return [counts] if n_random else [counts, BY_HAND]


def format_source_and_criterion(group: Calibration | VerdictPairGroup | ErrorGroup) -> list[str]:
    """Return the table cells of the source, with the judge's name, and the criterion."""
    judge = f" {sanitize(group.judge)}" if group.judge else ""
    return [source_label(group.source) + judge, sanitize(group.criterion)]


def format_selection_method(group: Calibration) -> str:
    """Format how items were selected: `by hand`, `random` or `12 of 40 random`."""
    return group.chosen if group.chosen != "both" else f"{group.n_random:,} of {group.n:,} random"


def format_error(group: ErrorGroup) -> str:
    """Format the automatic and the human verdict of an error group: `pass, human fail`."""
    automatic, human = (format_verdict(value, group.criterion) for value in (group.automatic, group.human))
    return f"{automatic}, human {human}"


def format_measure(measure: CalibrationMeasure | None) -> list[str]:
    """Return the table cells of the value and its interval: `91.2 %`, `[85.0, 95.1]`."""
    if measure is None or measure.value is None:
        return [NO_VALUE, ""]
    unit: MetricUnit = "score" if measure.metric in ("kappa", "f1") else "share"
    value, low, high = (
        format_metric_value(None if each is None else round(each, 6) + 0.0, unit)  # Adding 0.0 turns -0.0 into 0.0.
        for each in (measure.value, measure.low, measure.high)
    )
    return [value, "" if measure.low is None else f"[{low.removesuffix(' %')}, {high.removesuffix(' %')}]"]


def format_measures(measures: Sequence[CalibrationMeasure]) -> dict[MeasureName, str]:
    """Return the value and interval of each measure, in the order of `MEASURE_LABELS`."""
    by_name = {measure.metric: measure for measure in measures}
    return {name: " ".join(filter(None, format_measure(by_name.get(name)))) for name in MEASURE_LABELS}

"""How far automatic verdicts can be believed, measured against what people settled. Pure.

What an automatic source said beside what people settled, and the groups in which the two are compared.

Figures of calibration in words: the same in the command, on its screen and in reports. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fcreview.model.metric import MetricUnit
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count, format_metric_value, format_verdict
from fcreview.stats.agreement import infer_measurement_level
from fcreview.stats.agreement import to_label_key as label_of

CalibrationScope = Literal["overall", "benchmark", "category", "tier", "error", "function"]
CALIBRATION_SCOPES: tuple[CalibrationScope, ...] = ("overall", "benchmark", "category", "tier", "error", "function")
SelectionMethod = Literal["random", "by hand", "both"]
"""How the items came before people: in a sample with known probabilities, otherwise, some so and some so."""


@dataclass(frozen=True, slots=True)
class VerdictPair:
    """One automatic verdict on one target and criterion that people settled."""

    item: int
    source: str
    """`official`, `rule` or `judge`."""
    judge: str | None
    """Which judge; None for the other sources."""
    criterion: str
    automatic: Any
    human: Any
    is_random: bool
    """The review was given in a queue file, or the item is of one that is settled whole."""
    benchmark: str
    category: str
    tier: str | None = None
    """Of the checker, where one says by what it decided."""
    error: str | None = None
    function: str | None = None
    """Of the first difference."""

    @property
    def is_correct(self) -> bool:
        return label_of(self.automatic) == label_of(self.human)


@dataclass(frozen=True, slots=True)
class VerdictPairGroup:
    """Cases of one source and criterion that one set of figures is made of."""

    scope: CalibrationScope
    name: str | None
    """The benchmark, category, ...; None overall, and for cases without one."""
    source: str
    judge: str | None
    criterion: str
    pairs: tuple[VerdictPair, ...]

    @property
    def is_binary(self) -> bool:
        """Whether both say yes or no."""
        return all(isinstance(value, bool) for case in self.pairs for value in (case.automatic, case.human))

    @property
    def selection(self) -> SelectionMethod:
        random = sum(case.is_random for case in self.pairs)
        return "random" if random == len(self.pairs) else "both" if random else "by hand"


MeasureName = Literal["agreement", "tpr", "tnr", "precision", "f1", "kappa"]
IntervalMethod = Literal["wilson", "bootstrap"]


@dataclass(frozen=True, slots=True)
class CalibrationMeasure:
    """One figure. As JSON an object with these fields."""

    metric: MeasureName
    value: float | None
    """None: not defined, there is nothing to divide by."""
    low: float | None
    high: float | None
    interval: IntervalMethod
    """How the 95 % interval was made."""
    n: int
    """Cases that the value is over."""


ErrorGrouping = Literal["category", "error", "function"]
ERROR_GROUPINGS: tuple[ErrorGrouping, ...] = ("category", "error", "function")


@dataclass(frozen=True, slots=True)
class ConfusionCell:
    """Cases of which the source and people say these two things."""

    automatic: Any
    human: Any
    n: int
    items: tuple[int, ...]
    """Each once."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """One source on one criterion in one group."""

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
    """The confusion matrix: right ones first, what does not occur is left out."""
    rates: tuple[CalibrationMeasure, ...]


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Cases alike that a source gets wrong in the same way: those of one category, error type or function."""

    source: str
    judge: str | None
    criterion: str
    by: ErrorGrouping
    name: str
    automatic: Any
    human: Any
    wrong: int
    of: int
    """Cases of this kind on which the source said this."""
    items: tuple[int, ...]
    """That it gets wrong; each once."""


def convert_numbers_to_float(cases: Iterable[VerdictPair]) -> list[VerdictPair]:
    """Numbers compare as numbers: 1 and 1.0 are one label."""
    found = []
    for case in cases:
        if infer_measurement_level((case.automatic, case.human)) == "ordinal":
            case = replace(case, automatic=float(case.automatic), human=float(case.human))
        found.append(case)
    return found


def group_verdict_pairs(cases: Iterable[VerdictPair], scopes: Iterable[CalibrationScope]) -> Iterator[VerdictPairGroup]:
    """By scope; within it by source, judge and criterion, then by name. What has no tier, error or function is left
    out of those scopes."""
    comparing = convert_numbers_to_float(cases)
    for scope in scopes:
        found: dict[tuple[str, str | None, str, str | None], list[VerdictPair]] = {}
        for case in comparing:
            name = None if scope == "overall" else getattr(case, scope)
            if scope == "overall" or name is not None:
                found.setdefault((case.source, case.judge, case.criterion, name), []).append(case)
        for (source, judge, criterion, name), some in sorted(
            found.items(), key=lambda pair: [n or "" for n in pair[0]]
        ):
            yield VerdictPairGroup(scope, name, source, judge, criterion, tuple(some))


MEASURE_LABELS: dict[MeasureName, str] = {
    "tpr": "TPR", "tnr": "TNR", "precision": "precision", "f1": "F1", "kappa": "kappa", "agreement": "agreement"
}  # fmt: skip
MAX_ERROR_GROUPS = 12
"""Kinds of wrong cases shown of a source, where not all are."""
BY_HAND = "chosen by hand: these figures are of these cases only; `fcreview queue create` draws a sample for all"
NOTES = (
    "positive: pass (yes); true: what people settled. 'unsure', disputed and stale reviews do not count.",
    "[ ]: 95 % interval, Wilson's for shares, bootstrap for F1 and kappa. ·: cannot be said.",
)
NO_PAIRS_MESSAGE = "nothing to compare: no automatic verdict on anything that people settled"


def describe_selection(cases: Iterable[VerdictPair]) -> list[str]:
    """What the figures rest on, and how it was chosen."""
    random = {case.item: case.is_random for case in cases}
    said = f"{format_count(len(random), 'reviewed item')}, {sum(random.values()):,} of them found in a queue file"
    return [said] if any(random.values()) else [said, BY_HAND]


def format_source_and_criterion(group: Calibration | VerdictPairGroup | ErrorGroup) -> list[str]:
    """Whose verdicts, and on which criterion."""
    judge = f" {sanitize(group.judge)}" if group.judge else ""
    return [group.source + judge, sanitize(group.criterion)]


def format_selection_method(group: Calibration) -> str:
    """`by hand`, `random`, or how many of them are: `12 of 40 random`."""
    return group.chosen if group.chosen != "both" else f"{group.n_random:,} of {group.n:,} random"


def format_error(kind: ErrorGroup) -> str:
    return f"{format_verdict(kind.automatic, kind.criterion)}, people {format_verdict(kind.human, kind.criterion)}"


def format_measure(rate: CalibrationMeasure | None) -> list[str]:
    """Value and interval: `91.2 %`, `[85.0, 95.1]`."""
    if rate is None or rate.value is None:
        return ["·", ""]
    unit: MetricUnit = "score" if rate.metric in ("kappa", "f1") else "share"
    value, low, high = (
        format_metric_value(None if each is None else round(each, 6) + 0.0, unit)  # no -0.000
        for each in (rate.value, rate.low, rate.high)
    )
    return [value, "" if rate.low is None else f"[{low.removesuffix(' %')}, {high.removesuffix(' %')}]"]


def format_measures(rates: Sequence[CalibrationMeasure]) -> dict[MeasureName, str]:
    """Value with interval of each metric, in the order of `METRICS`."""
    found = {rate.metric: rate for rate in rates}
    return {metric: " ".join(filter(None, format_measure(found.get(metric)))) for metric in MEASURE_LABELS}

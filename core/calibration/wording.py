"""Figures of calibration in words: the same in the command, on its screen and in reports. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fcreview.figures import Unit
from fcreview.sanitise import visible
from fcreview.text.numbers import number
from fcreview.text.words import count_of, word

if TYPE_CHECKING:  # rates need numpy: loaded where there are any
    from fcreview.calibration.cases import Case, CaseGroup
    from fcreview.calibration.rates import Metric, Rate
    from fcreview.calibration.summary import Calibration, WrongKind

METRICS: dict[Metric, str] = {
    "tpr": "TPR", "tnr": "TNR", "precision": "precision", "f1": "F1", "kappa": "kappa", "agreement": "agreement"
}  # fmt: skip
WORST = 12
"""Kinds of wrong cases shown of a source, where not all are."""
BY_HAND = "chosen by hand: these figures are of these cases only; `fcreview queue create` draws a sample for all"
NOTES = (
    "positive: pass (yes); true: what people settled. 'unsure', disputed and stale reviews do not count.",
    "[ ]: 95 % interval, Wilson's for shares, bootstrap for F1 and kappa. ·: cannot be said.",
)
NONE = "nothing to compare: no automatic verdict on anything that people settled"


def basis(cases: Iterable[Case]) -> list[str]:
    """What the figures rest on, and how it was chosen."""
    random = {case.item: case.random for case in cases}
    said = f"{count_of(len(random), 'reviewed item')}, {sum(random.values()):,} of them found in a queue file"
    return [said] if any(random.values()) else [said, BY_HAND]


def named(group: Calibration | CaseGroup | WrongKind) -> list[str]:
    """Whose verdicts, and on which criterion."""
    judge = f" {visible(group.judge)}" if group.judge else ""
    return [group.source + judge, visible(group.criterion)]


def chosen(group: Calibration) -> str:
    """`by hand`, `random`, or how many of them are: `12 of 40 random`."""
    return group.chosen if group.chosen != "both" else f"{group.n_random:,} of {group.n:,} random"


def said_of(kind: WrongKind) -> str:
    return f"{word(kind.said, kind.criterion)}, people {word(kind.settled, kind.criterion)}"


def value_of(rate: Rate | None) -> list[str]:
    """Value and interval: `91.2 %`, `[85.0, 95.1]`."""
    if rate is None or rate.value is None:
        return ["·", ""]
    unit: Unit = "score" if rate.metric in ("kappa", "f1") else "share"
    value, low, high = (
        number(None if each is None else round(each, 6) + 0.0, unit)  # no -0.000
        for each in (rate.value, rate.low, rate.high)
    )
    return [value, "" if rate.low is None else f"[{low.removesuffix(' %')}, {high.removesuffix(' %')}]"]


def by_metric(rates: Sequence[Rate]) -> dict[Metric, str]:
    """Value with interval of each metric, in the order of `METRICS`."""
    found = {rate.metric: rate for rate in rates}
    return {metric: " ".join(filter(None, value_of(found.get(metric)))) for metric in METRICS}

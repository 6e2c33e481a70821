"""How far automatic verdicts can be believed, measured against what people settled. Pure.

What an automatic source said beside what people settled, and the groups in which the two are compared.

Figures of calibration in words: the same in the command, on its screen and in reports. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fcreview.model.metric import Unit
from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of, number, word
from fcreview.stats.agreement import category as label_of
from fcreview.stats.agreement import level_of

Scope = Literal["overall", "benchmark", "category", "tier", "error", "function"]
SCOPES: tuple[Scope, ...] = ("overall", "benchmark", "category", "tier", "error", "function")
Chosen = Literal["random", "by hand", "both"]
"""How the items came before people: in a sample with known probabilities, otherwise, some so and some so."""


@dataclass(frozen=True, slots=True)
class Case:
    """One automatic verdict on one target and criterion that people settled."""

    item: int
    source: str
    """`official`, `rule` or `judge`."""
    judge: str | None
    """Which judge; None for the other sources."""
    criterion: str
    said: Any
    settled: Any
    random: bool
    """The review was given in a queue file, or the item is of one that is settled whole."""
    benchmark: str
    category: str
    tier: str | None = None
    """Of the checker, where one says by what it decided."""
    error: str | None = None
    function: str | None = None
    """Of the first difference."""

    @property
    def right(self) -> bool:
        return label_of(self.said) == label_of(self.settled)


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Cases of one source and criterion that one set of figures is made of."""

    scope: Scope
    name: str | None
    """The benchmark, category, ...; None overall, and for cases without one."""
    source: str
    judge: str | None
    criterion: str
    cases: tuple[Case, ...]

    @property
    def binary(self) -> bool:
        """Whether both say yes or no."""
        return all(isinstance(value, bool) for case in self.cases for value in (case.said, case.settled))

    @property
    def chosen(self) -> Chosen:
        random = sum(case.random for case in self.cases)
        return "random" if random == len(self.cases) else "both" if random else "by hand"


Metric = Literal["agreement", "tpr", "tnr", "precision", "f1", "kappa"]
Interval = Literal["wilson", "bootstrap"]


@dataclass(frozen=True, slots=True)
class Rate:
    """One figure. As JSON an object with these fields."""

    metric: Metric
    value: float | None
    """None: not defined, there is nothing to divide by."""
    low: float | None
    high: float | None
    interval: Interval
    """How the 95 % interval was made."""
    n: int
    """Cases that the value is over."""


WrongBy = Literal["category", "error", "function"]
WRONG_BY: tuple[WrongBy, ...] = ("category", "error", "function")


@dataclass(frozen=True, slots=True)
class Cell:
    """Cases of which the source and people say these two things."""

    said: Any
    settled: Any
    n: int
    items: tuple[int, ...]
    """Each once."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """One source on one criterion in one group."""

    scope: Scope
    name: str | None
    source: str
    judge: str | None
    criterion: str
    binary: bool
    chosen: Chosen
    n: int
    n_random: int
    cells: tuple[Cell, ...]
    """The confusion matrix: right ones first, what does not occur is left out."""
    rates: tuple[Rate, ...]


@dataclass(frozen=True, slots=True)
class WrongKind:
    """Cases alike that a source gets wrong in the same way: those of one category, error type or function."""

    source: str
    judge: str | None
    criterion: str
    by: WrongBy
    name: str
    said: Any
    settled: Any
    wrong: int
    of: int
    """Cases of this kind on which the source said this."""
    items: tuple[int, ...]
    """That it gets wrong; each once."""


def comparable(cases: Iterable[Case]) -> list[Case]:
    """Numbers compare as numbers: 1 and 1.0 are one label."""
    found = []
    for case in cases:
        if level_of((case.said, case.settled)) == "ordinal":
            case = replace(case, said=float(case.said), settled=float(case.settled))
        found.append(case)
    return found


def case_groups(cases: Iterable[Case], scopes: Iterable[Scope]) -> Iterator[CaseGroup]:
    """By scope; within it by source, judge and criterion, then by name. What has no tier, error or function is left
    out of those scopes."""
    comparing = comparable(cases)
    for scope in scopes:
        found: dict[tuple[str, str | None, str, str | None], list[Case]] = {}
        for case in comparing:
            name = None if scope == "overall" else getattr(case, scope)
            if scope == "overall" or name is not None:
                found.setdefault((case.source, case.judge, case.criterion, name), []).append(case)
        for (source, judge, criterion, name), some in sorted(
            found.items(), key=lambda pair: [n or "" for n in pair[0]]
        ):
            yield CaseGroup(scope, name, source, judge, criterion, tuple(some))


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

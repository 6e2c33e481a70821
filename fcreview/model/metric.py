"""A benchmark's published figures as data: each importer computes them from scored items, for one source at a time.

The same pure function serves the official, the recomputed and the corrected figures: only the verdicts it is given
differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Literal, TypeVar

from fcreview.model.item import Run

Unit = Literal["share", "percent", "score", "count", "seconds", "dollars"]
"""0 to 1, 0 to 100, a mean on the criterion's own scale, a number of things, a time, a price."""
FigureSource = Literal["official", "rule", "errata", "corrected"]
Key = tuple[str, int, str]
"""(table, level, name)"""
T = TypeVar("T")
SOURCES: tuple[FigureSource, ...] = ("official", "rule", "corrected")
WITH_ERRATA: tuple[FigureSource, ...] = ("official", "rule", "errata", "corrected")
"""Of runs that are read with errata: `rule` is by the dataset's own golden answers, `errata` by theirs."""


@dataclass(slots=True)
class Scored:
    """An item as one source sees it."""

    id: str
    category: str
    group: str | None
    valid: bool | None
    error_type: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    """Criterion -> value, of verdicts on the whole item or its response."""
    parts: Sequence[tuple[str, str, Any]] = ()
    """(target, criterion, value) of verdicts on calls, arguments and turns."""
    overruled: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    """(target, criterion) -> what people say where it differs from what the benchmark says; None while they differ
    among themselves. A verdict that is confirmed is not here, so that confirming one changes no figure. `valid`,
    `values` and `parts` hold these values already; this says which other figures follow."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """The item's `Extra.more`: what the benchmark's importer has put there for its figures."""
    n_golden: int = 0
    n_predicted: int = 0
    n_functions: int = 0
    n_turns: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: tuple[float, ...] = ()
    """Of each step, of all items that the row stands for; where no steps are told, of the whole item."""
    setting: str | None = None
    """The item's own, see `Item.setting`."""
    times: int = 1
    """How many items the row stands for: those of a category of which every source says the same, given as one to
    figures that count them so (`Plugin.counts`). Tokens are then summed; `id`, `more`, `group` and the
    numbers of calls, functions and turns say nothing."""
    tags: Sequence[str] = ()
    """What people tagged the item and its parts with, each once; of the corrected source only."""
    kept: dict[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)
    """What `once` has computed of it."""


def once(made: Callable[[Scored], T]) -> Callable[[Scored], T]:
    """What follows from a row alone, computed once a row: an estimate puts the same rows through a benchmark's figures
    many hundred times, in other combinations. No row is changed after it was asked."""

    @wraps(made)
    def found(row: Scored) -> T:
        kept = row.kept
        if kept is None:
            kept = row.kept = {}
        value: T = kept[made] if made in kept else kept.setdefault(made, made(row))
        return value

    return found


@once
def chain_of(row: Scored) -> str | None:
    """With which other rows' answers its own are multiplied: `more.chain.turn`; None if with none."""
    chain = row.more.get("chain")
    return str(chain["turn"]) if isinstance(chain, dict) else None


@dataclass(frozen=True, slots=True)
class RunItems:
    """A run with its items as one source sees them."""

    run: Run
    rows: Sequence[Scored]


@dataclass(slots=True)
class Figure:
    table: str
    name: str
    value: float | None
    unit: Unit = "share"
    level: int = 0
    """Indentation below the figure before it. Table, level and name together tell a figure from any other."""
    note: str = ""
    """Where the official program has a known fault, or a denominator is not what it seems."""
    n: int | None = None
    """How many verdicts it is over, where that says something; below `of` if some have none of this source."""
    of: int | None = None
    """How many there would be."""
    counted: str = "items"
    """What `n` and `of` count."""
    digits: int = 1
    """Decimals that the benchmark prints (of a percentage, a time, a price)."""

    @property
    def key(self) -> Key:
        return self.table, self.level, self.name


def pass_rate(rows: Sequence[Scored]) -> float | None:
    """Share of passes among the items with a verdict; None if there are none."""
    known = sum(row.times for row in rows if row.valid is not None)
    return sum(row.times for row in rows if row.valid) / known if known else None


def rated(table: str, name: str, rows: Sequence[Scored], level: int = 0) -> Figure:
    """A pass rate with its denominator."""
    known = sum(row.times for row in rows if row.valid is not None)
    return Figure(table, name, pass_rate(rows), level=level, n=known, of=sum(row.times for row in rows))


def tag_counts(rows: Sequence[Scored], known: Sequence[str] = ()) -> list[Figure]:
    """Items by what people tagged them with: `known` tags first in their order, then others, most first."""
    counts = Counter(tag for row in rows for tag in row.tags)
    names = [*(tag for tag in known if tag in counts), *(tag for tag, _ in counts.most_common() if tag not in known)]
    return [Figure("tags", name, counts[name], "count") for name in names]


def by_category(rows: Sequence[Scored], table: str = "accuracy") -> list[Figure]:
    """Overall first, then every category in order of appearance."""
    categories: dict[str, list[Scored]] = {}
    for row in rows:
        categories.setdefault(row.category, []).append(row)
    return [rated(table, "all items", rows), *(rated(table, name, part, 1) for name, part in categories.items())]

"""Define the metrics that a benchmark publishes and the scored items that they are computed from.

Each importer has one pure function that computes the official, recomputed and corrected metrics. Only the verdicts
differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Literal, TypeVar

from fcreview.model.derivation import TargetCriterion, derive_verdict
from fcreview.model.item import Run

MetricUnit = Literal["share", "percent", "score", "count", "seconds", "dollars"]
"""`share` is from 0 to 1, `percent` from 0 to 100, and `score` is a mean on the scale of the criterion."""
MetricSource = Literal["official", "rule", "errata", "corrected"]
"""Source of the verdicts behind a metric. `rule` is recomputed, `errata` is recomputed with corrected golden answers,
and `corrected` is the automatic score with reviewed verdicts replaced."""
MetricKey = tuple[str, int, str]
"""Identity of a metric: (table, level, name)."""
T = TypeVar("T")
METRIC_SOURCES: tuple[MetricSource, ...] = ("official", "rule", "corrected")
METRIC_SOURCES_WITH_ERRATA: tuple[MetricSource, ...] = ("official", "rule", "errata", "corrected")
"""Sources for runs that were imported with errata. `rule` then uses the dataset's own golden answers."""


@dataclass(slots=True)
class ScoredItem:
    """An item with the verdicts of one source, or several equal items (see `n_items`)."""

    id: str
    category: str
    group: str | None
    valid: bool | None
    error_type: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    """Criterion -> verdict on the item or its response."""
    part_verdicts: Sequence[tuple[str, str, Any]] = ()
    """(target, criterion, verdict) on turns, calls and arguments."""
    overrides: Mapping[TargetCriterion, Any] = field(default_factory=dict)
    """(target, criterion) -> human verdict that contradicts the automatic one. `valid`, `values` and `part_verdicts`
    already contain the overrides; an importer uses this to update values that depend on them, see `derive`."""
    reviewed: Collection[TargetCriterion] = ()
    """Targets and criteria with a human verdict or an open disagreement. They have no derived verdict."""
    disputed: Collection[TargetCriterion] = ()
    """Targets and criteria in `reviewed` on which annotators disagree. They keep the automatic verdict."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    n_golden: int = 0
    n_predicted: int = 0
    n_functions: int = 0
    n_turns: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: tuple[float, ...] = ()
    """Seconds of each step of all items. An item without the times of its steps adds the seconds of the whole item."""
    setting: str | None = None
    n_items: int = 1
    """Number of items that this object represents. An importer with `aggregates_rows` gets one object for all items of
    a category that every source scores alike, with summed tokens. The `id`, `metadata`, `group` and numbers of calls,
    functions and turns of such an object have no meaning."""
    tags: Sequence[str] = ()
    """Distinct error tags by annotators on the item and its parts. Only items of the source `corrected` have tags."""
    cache: dict[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)
    """Results of functions with the decorator `cached_on_item`."""

    def has_own_verdict(self, target: str, criterion: str) -> bool:
        """Whether annotators reviewed this, so that no verdict is derived from other criteria."""
        return (target, criterion) in self.overrides or (target, criterion) in self.reviewed

    def derive(self, benchmark: str, target: str, criterion: str) -> Any:
        """Return the verdict that follows from overrides on other criteria. None if nothing follows, or if the target
        has a human verdict or an open disagreement on this criterion."""
        if self.has_own_verdict(target, criterion):
            return None
        return derive_verdict(benchmark, (target, criterion), self.overrides, self.metadata)


def cached_on_item(compute: Callable[[ScoredItem], T]) -> Callable[[ScoredItem], T]:
    """Cache the result of a function on the item that it is called with. An estimate computes a benchmark's metrics
    many hundred times from different combinations of the same items. Items must not change after the first call."""

    @wraps(compute)
    def cached(item: ScoredItem) -> T:
        cache = item.cache
        if cache is None:
            cache = item.cache = {}
        value: T = cache[compute] if compute in cache else cache.setdefault(compute, compute(item))
        return value

    return cached


@cached_on_item
def chain_id(item: ScoredItem) -> str | None:
    """Return `metadata["chain"]["turn"]`, or None. The scores of the items in a chain are multiplied."""
    chain = item.metadata.get("chain")
    return str(chain["turn"]) if isinstance(chain, dict) else None


@dataclass(frozen=True, slots=True)
class RunItems:
    run: Run
    items: Sequence[ScoredItem]


@dataclass(slots=True)
class Metric:
    """One number of a benchmark's results, identified by table, level and name."""

    table: str
    name: str
    value: float | None
    unit: MetricUnit = "share"
    level: int = 0
    """Indentation of the line, from 0. A line belongs to the nearest line above it with a lower level."""
    note: str = ""
    """Remark, such as a known fault of the official program or an unexpected denominator."""
    n: int | None = None
    """Number of verdicts that the value is computed from. It is less than `total` if the source lacks some verdicts."""
    total: int | None = None
    """Number of verdicts that are needed to compute the metric over all items."""
    counted_noun: str = "items"
    digits: int = 1

    @property
    def key(self) -> MetricKey:
        """Identity of a metric: (table, level, name)."""
        return self.table, self.level, self.name


def pass_rate(items: Sequence[ScoredItem]) -> float | None:
    """Compute the share of passes among the items with a verdict. Returns None without verdicts."""
    known = sum(item.n_items for item in items if item.valid is not None)
    return sum(item.n_items for item in items if item.valid) / known if known else None


def pass_rate_metric(table: str, name: str, items: Sequence[ScoredItem], level: int = 0) -> Metric:
    """Build a metric from the pass rate of items, with the number of items and the number of verdicts."""
    known = sum(item.n_items for item in items if item.valid is not None)
    return Metric(table, name, pass_rate(items), level=level, n=known, total=sum(item.n_items for item in items))


def tag_metrics(items: Sequence[ScoredItem], first_tags: Sequence[str] = ()) -> list[Metric]:
    """Count items by error tag: `first_tags` in their order, then the other tags by frequency."""
    counts = Counter(tag for item in items for tag in item.tags)
    names = [tag for tag in first_tags if tag in counts]
    names += [tag for tag, _ in counts.most_common() if tag not in first_tags]
    return [Metric("tags", name, counts[name], "count") for name in names]


def metrics_by_category(items: Sequence[ScoredItem], table: str = "accuracy") -> list[Metric]:
    """Compute the pass rate of all items, then the pass rate of each category in order of appearance."""
    categories: dict[str, list[ScoredItem]] = {}
    for item in items:
        categories.setdefault(item.category, []).append(item)
    rates = [pass_rate_metric(table, name, part, 1) for name, part in categories.items()]
    return [pass_rate_metric(table, "all items", items), *rates]

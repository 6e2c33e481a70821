"""Define the metrics that a benchmark publishes, and the scored items from which they are computed.

Each importer has one pure function that computes the official, the recomputed and the corrected
metrics. The three kinds of metrics differ only in the verdicts of the scored items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import wraps
from typing import Any, Literal, Protocol, TypeVar

from fcreview.model.address import ITEM
from fcreview.model.benchmark_rules import find_benchmark_rules
from fcreview.model.derivation import NO_VERDICTS
from fcreview.model.item import Run
from fcreview.model.verdict import (
    TargetCriterion,
)

MetricUnit = Literal["share", "percent", "score", "count", "seconds", "dollars"]
"""Unit: `share` is from 0 to 1, `percent` from 0 to 100, and `score` is a mean on the scale of a
criterion.
"""
MetricSource = Literal["official", "rule", "errata", "corrected"]
"""Source of the verdicts of a metric: `rule` means recomputed verdicts, `errata` means verdicts
recomputed with corrected golden answers, and `corrected` means automatic verdicts that human
verdicts replace where there are any.
"""
MetricKey = tuple[str, int, str]
T = TypeVar("T")
METRIC_SOURCES: tuple[MetricSource, ...] = ("official", "rule", "corrected")
METRIC_SOURCES_WITH_ERRATA: tuple[MetricSource, ...] = ("official", "rule", "errata", "corrected")
"""Sources for runs imported with errata. `rule` then uses the golden answers of the dataset."""


@dataclass(slots=True)
class ScoredItem:
    """An item with its verdicts from one source, or several items with equal verdicts (see
    `n_items`).
    """

    id: str
    category: str
    group: str | None
    valid: bool | None
    error_type: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    """Criterion -> verdict of the source on the item or its response."""
    part_verdicts: Sequence[tuple[str, str, Any]] = ()
    """(target, criterion, verdict) of each verdict on a turn, call or argument."""
    overrides: Mapping[TargetCriterion, Any] = field(default_factory=dict)
    """(target, criterion) -> human verdict that overrides the automatic verdict. `valid`, `values`
    and `part_verdicts` contain it. Importers derive other verdicts from it (see `derive_verdict`).
    """
    reviewed: Collection[TargetCriterion] = ()
    """Targets and criteria whose verdicts are never derived: those with a human verdict, and those
    with an open disagreement in which derived verdicts take part.
    """
    disputed: Collection[TargetCriterion] = ()
    """Targets and criteria on which annotators disagree. They keep the verdict that follows from
    other verdicts, else the automatic verdict.
    """
    metadata: Mapping[str, Any] = field(default_factory=dict)
    n_golden: int = 0
    n_predicted: int = 0
    n_functions: int = 0
    n_turns: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: tuple[float, ...] = ()
    """Duration of each step, in seconds.

    For an item without durations of steps, the total duration.
    """
    setting: str | None = None
    n_items: int = 1
    """Number of items that this object represents. If `aggregates_rows` of the importer is true,
    one object represents all items of a category with equal verdicts, and has the sum of their
    tokens. The fields `id`, `metadata` and `group` and the numbers of calls, functions and turns
    are then meaningless.
    """
    is_incident: bool = False
    """Whether the item has no answer for a reason outside the question, so that figures without
    incidents omit it.
    """
    is_group_incomplete: bool = False
    """Whether figures without incidents left out an item of the same group, such as a trial of
    the same task.
    """
    tags: Sequence[str] = ()
    """Distinct error tags that annotators gave to the item and its parts.

    Empty for other sources than `corrected`.
    """
    cache: dict[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)

    def is_target_reviewed(self, target: str, criterion: str) -> bool:
        """Whether the target has a human verdict or an open disagreement on the criterion."""
        return (target, criterion) in self.overrides or (target, criterion) in self.reviewed

    def derive_verdict(self, benchmark: str, target: str, criterion: str) -> Any:
        """Derive the verdict on a criterion from overrides on other criteria. Returns None if no
        verdict follows, or if the target has a human verdict or an open disagreement on the
        criterion.
        """
        if self.is_target_reviewed(target, criterion):
            return None
        derivation = find_benchmark_rules(benchmark).derivation
        automatic = NO_VERDICTS
        if derivation.needs_other_criteria:
            automatic = {(ITEM, name): value for name, value in self.values.items()}
        return derivation.derive((target, criterion), self.overrides, self.metadata, automatic)


def cached_on_item(compute: Callable[[ScoredItem], T]) -> Callable[[ScoredItem], T]:
    """Cache the results of the decorated function in its argument, the item, because estimates
    compute metrics several hundred times from the same items. An item must not change after the
    first call.
    """

    @wraps(compute)
    def cached(item: ScoredItem) -> T:
        """Return the cached result for the item, or compute and cache it."""
        if item.cache is None:
            item.cache = {}
        if compute not in item.cache:
            item.cache[compute] = compute(item)
        result: T = item.cache[compute]
        return result

    return cached


@cached_on_item
def get_chain_id(item: ScoredItem) -> str | None:
    """Return the id of the item's chain, or None.

    The score of a chain is the product of the scores of its items.
    """
    chain = item.metadata.get("chain")
    if not isinstance(chain, dict):
        return None
    return str(chain["turn"])


@dataclass(frozen=True, slots=True)
class RunItems:
    run: Run
    items: Sequence[ScoredItem]


@dataclass(slots=True)
class Metric:
    """One number in a benchmark's results.

    The table, the level and the name identify the metric.
    """

    table: str
    name: str
    _: KW_ONLY
    value: float | None
    unit: MetricUnit = "share"
    level: int = 0
    """Indentation of the metric's row, from 0.

    The row belongs to the nearest row above it with a lower level.
    """
    note: str = ""
    """Remark, such as a known error of the official program or an unusual denominator."""
    n: int | None = None
    """Number of verdicts from which the value is computed.

    It is less than `total` if some items have no verdict.
    """
    total: int | None = None
    counted_noun: str = "items"
    digits: int = 1
    measures_spread: bool = False
    """Whether the metric measures the spread of the results, such as a standard error. It has no
    true value that a review of all items would give.
    """

    @property
    def key(self) -> MetricKey:
        return self.table, self.level, self.name


@dataclass(frozen=True, slots=True)
class OwnMetric:
    """Name of the metric by which a benchmark ranks models, which is not always the share of items
    that pass.
    """

    name: str
    title: str
    """Text that names the metric without its table."""
    table: str = ""
    """Title of its table. Empty if the table has another title in each run."""

    def is_name_of(self, metric: Metric) -> bool:
        has_table = self.table in ("", metric.table)
        return has_table and metric.level == 0 and metric.name == self.name


@dataclass(frozen=True, slots=True)
class OwnScore:
    """Value of a benchmark's own metric for one run."""

    title: str
    value: float
    unit: MetricUnit
    digits: int
    table: str
    name: str


def find_own_score(metrics: Iterable[Metric], own_metrics: Iterable[OwnMetric]) -> OwnScore | None:
    """Return the first of a benchmark's own metrics that has a value, or None."""
    metrics_with_value = [metric for metric in metrics if metric.value is not None]
    for own in own_metrics:
        for metric in metrics_with_value:
            if metric.value is not None and own.is_name_of(metric):
                return OwnScore(
                    own.title,
                    value=metric.value,
                    unit=metric.unit,
                    digits=metric.digits,
                    table=metric.table,
                    name=metric.name,
                )
    return None


class _HasTable(Protocol):
    @property
    def table(self) -> str: ...


Row = TypeVar("Row", bound=_HasTable)


def group_by_table(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Group metrics, or rows about metrics, by the title of their table, in order of appearance."""
    tables: dict[str, list[Row]] = {}
    for row in rows:
        tables.setdefault(row.table, []).append(row)
    return tables


def pass_rate(items: Sequence[ScoredItem]) -> float | None:
    """Compute the share of passing items among the items with a verdict.

    Returns None if no item has a verdict.
    """
    n_verdicts = _count_verdicts(items)
    if n_verdicts == 0:
        return None
    n_passed = sum(item.n_items for item in items if item.valid)
    return n_passed / n_verdicts


def _count_verdicts(items: Iterable[ScoredItem]) -> int:
    return sum(item.n_items for item in items if item.valid is not None)


def build_pass_rate_metric(
    table: str, name: str, items: Sequence[ScoredItem], level: int = 0
) -> Metric:
    """Build a metric with the pass rate, the number of verdicts and the number of items."""
    return Metric(
        table,
        name,
        value=pass_rate(items),
        level=level,
        n=_count_verdicts(items),
        total=sum(item.n_items for item in items),
    )


MAX_TAG_METRICS = 200
"""Maximum number of error tags with a metric. A single review can have any number of tags."""


def build_tag_metrics(items: Sequence[ScoredItem], first_tags: Sequence[str] = ()) -> list[Metric]:
    """Build a metric with the number of items for each error tag, such as `wrong_value`.

    The tags in `first_tags` come first, then all others by frequency. If there are more than
    `MAX_TAG_METRICS` tags, the last metric counts the items with other tags.
    """
    counts: Counter[str] = Counter()
    for item in items:
        # Hardly any item has tags, and `update` takes a while without them, too.
        if item.tags:
            counts.update(item.tags)

    used_first_tags = [tag for tag in dict.fromkeys(first_tags) if tag in counts]
    # Sorting only as many tags as can be listed is faster than sorting all.
    most_common = counts.most_common(MAX_TAG_METRICS + len(used_first_tags))
    other_tags = [tag for tag, _ in most_common if tag not in used_first_tags]
    listed_tags = (used_first_tags + other_tags)[:MAX_TAG_METRICS]

    metrics = [Metric("tags", tag, value=counts[tag], unit="count") for tag in listed_tags]
    if len(counts) > len(listed_tags):
        metrics.append(_count_items_with_other_tags(items, set(listed_tags), len(counts)))
    return metrics


def _count_items_with_other_tags(
    items: Sequence[ScoredItem], listed_tags: set[str], n_tags: int
) -> Metric:
    """Count the items that have at least one tag without a metric of its own."""
    n_items = 0
    for item in items:
        has_other_tag = not listed_tags.issuperset(item.tags)
        if has_other_tag:
            n_items += 1

    note = f"{n_tags - len(listed_tags):,} tags are not listed"
    return Metric("tags", "other tags", value=n_items, unit="count", level=1, note=note)


def build_category_metrics(items: Sequence[ScoredItem], table: str = "accuracy") -> list[Metric]:
    """Build a metric with the pass rate of all items, then one for each category in order of
    appearance.
    """
    items_by_category: dict[str, list[ScoredItem]] = {}
    for item in items:
        items_by_category.setdefault(item.category, []).append(item)

    metrics = [build_pass_rate_metric(table, "all items", items)]
    for category, items_of_category in items_by_category.items():
        metrics.append(build_pass_rate_metric(table, category, items_of_category, level=1))
    return metrics

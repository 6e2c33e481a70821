"""Build the report tables of metrics, with a column for each verdict source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from fcreview.exporters.report_sections import Table, TableRow
from fcreview.model.metric import (
    METRIC_SOURCES,
    METRIC_SOURCES_WITH_ERRATA,
    Metric,
    MetricKey,
    MetricSource,
    MetricUnit,
)
from fcreview.model.wording import format_count, format_metric_value, source_label

OPEN_DISAGREEMENTS = "open disagreements"
"""Heading of the column with the open disagreements and the bounds of the corrected value."""
DISAGREEMENTS_NOTE = (
    "Open disagreements keep the automatic verdict. The range is the corrected score if all of them are resolved as "
    "fail or all as pass."
)


@dataclass(frozen=True, slots=True)
class Interval:
    """Estimated value of a metric with its 95 % confidence interval, in the metric's unit."""

    value: float
    low: float
    high: float
    n_random: int
    """Number of randomly drawn and reviewed items that the estimate is based on."""
    bounds: tuple[float, float] | None = None
    """Ends of the interval if all undecided items fail, or all pass. None without undecided items."""
    n_undecided: int = 0
    is_bounds_headline: bool = False
    """Whether so many sampled items are undecided that the bounds replace the interval."""


@dataclass(slots=True)
class MetricRow:
    table: str
    name: str
    unit: MetricUnit
    level: int
    note: str
    digits: int
    counted: str
    of: int | None = None
    """Number of verdicts that a source would have if it had one on every item (`Metric.total`)."""
    n: dict[MetricSource, int | None] = field(default_factory=dict)
    values: dict[MetricSource, float | None] = field(default_factory=dict)
    open_disagreements: int = 0
    """Number of open disagreements on which the corrected value depends."""
    corrected_low: float | None = None
    """Lowest value if all open disagreements are resolved as pass, or all as fail; None without any."""
    corrected_high: float | None = None

    @property
    def key(self) -> MetricKey:
        return self.table, self.level, self.name


ESTIMATE_HEADING = "estimated accuracy, 95 % CI"
Intervals = dict[MetricKey, Interval]
"""Estimates by metric. A metric without a random sample has no entry."""


def collect_metric_rows(
    figures: Callable[[MetricSource], Iterable[Metric]], sources: Iterable[MetricSource] = METRIC_SOURCES
) -> list[MetricRow]:
    """Merge the metrics of all sources into one row per metric, in the order of first occurrence."""
    lines: dict[MetricKey, MetricRow] = {}
    for source in sources:
        for one in figures(source):
            row = MetricRow(one.table, one.name, one.unit, one.level, one.note, one.digits, one.counted_noun, one.total)
            line = lines.setdefault(one.key, row)
            line.values[source], line.n[source] = one.value, one.n
    return list(lines.values())


def format_disagreements(line: MetricRow) -> str:
    """Format the open disagreements and the bounds of the corrected value: `13 · 20.5 % to 53.8 %`."""
    if not line.open_disagreements:
        return ""
    low, high = (_format_value(each, line) for each in (line.corrected_low, line.corrected_high))
    return f"{line.open_disagreements:,} · {low} to {high}"


def select_metric_sources(lines: Sequence[MetricRow]) -> tuple[MetricSource, ...]:
    """Return the sources that have a column. Errata have one only if they were applied."""
    return METRIC_SOURCES_WITH_ERRATA if any("errata" in line.values for line in lines) else METRIC_SOURCES


def get_displayed_value(line: MetricRow, source: MetricSource) -> float | None:
    """Return the value to display. None if only some items, which are not representative, could be recomputed."""
    n = line.n.get(source)
    partial = source in ("rule", "errata") and n is not None and line.of is not None and n < line.of
    return None if partial else line.values.get(source)


def format_denominator(line: MetricRow) -> str:
    """Format the denominator, and smaller ones of single sources: `400 items (recomputed 380)`."""
    if line.of is None:
        return ""
    fewer = [f"{source_label(source)} {n:,}" for source, n in line.n.items() if n is not None and n < line.of]
    return format_count(line.of, line.counted.removesuffix("s")) + (f" ({', '.join(fewer)})" if fewer else "")


def build_metric_table(title: str, lines: Sequence[MetricRow], intervals: Intervals) -> Table:
    """Return a table of published metrics, with columns of open disagreements and estimates if there are any."""
    estimated = any(line.key in intervals for line in lines)
    sources = select_metric_sources(lines)
    disputed = any(line.open_disagreements for line in lines)
    more = [*([OPEN_DISAGREEMENTS] if disputed else []), *([ESTIMATE_HEADING] if estimated else [])]
    heads = [title, *map(source_label, sources), *more, "over"]
    rows = [TableRow(_cells(line, sources, intervals, more), line.level) for line in lines]
    return Table(heads, rows, frozenset(range(1, len(heads) - 1)))


def _cells(line: MetricRow, sources: Sequence[MetricSource], intervals: Intervals, more: Sequence[str]) -> list[str]:
    found = intervals.get(line.key)
    optional = {
        OPEN_DISAGREEMENTS: format_disagreements(line),
        ESTIMATE_HEADING: format_estimate(found, line) if found else "",
    }
    return [
        line.name,
        *(_format_value(get_displayed_value(line, source), line) for source in sources),
        *(optional[head] for head in more),
        "; ".join(filter(None, (format_denominator(line), line.note, describe_sample(found, line) if found else ""))),
    ]


def format_estimate(estimate: Interval, line: MetricRow) -> str:
    """Format an estimate: `75.3 % [72.9, 77.7]`, or a range if too many sampled items are undecided."""
    if estimate.is_bounds_headline and estimate.bounds is not None:
        return _format_range(estimate.bounds, line)
    low, high = (_format_value(each, line).removesuffix(" %") for each in (estimate.low, estimate.high))
    return f"{_format_value(estimate.value, line)} [{low}, {high}]"


def describe_sample(estimate: Interval, line: MetricRow) -> str:
    """Describe the sample: `120 sampled, 71.8 to 79.0 % if the 5 undecided items all fail or all pass`."""
    text = f"{estimate.n_random:,} sampled"
    if estimate.bounds is None:
        return text
    n = estimate.n_undecided
    undecided = "the undecided item fails or passes" if n == 1 else f"the {n:,} undecided items all fail or all pass"
    return f"{text}, {_format_range(estimate.bounds, line)} if {undecided}"


def _format_range(ends: tuple[float, float], line: MetricRow) -> str:
    low, high = (_format_value(each, line) for each in ends)
    return f"{low.removesuffix(' %')} to {high}"


def _format_value(value: float | None, line: MetricRow) -> str:
    return format_metric_value(value, line.unit, line.digits)

"""Figures with their values from every source, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from fcreview.exporters.report.sections import Bar, Table, TableRow
from fcreview.model.metric import METRIC_SOURCES, METRIC_SOURCES_WITH_ERRATA, Metric, MetricSource, MetricKey, MetricUnit
from fcreview.model.wording import format_count, format_metric_value

_WHOLE: dict[MetricUnit, float] = {"share": 1.0, "percent": 100.0}
"""Units that are drawn as bars, and what fills one."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate of the corrected figure and its 95 % interval, in the figure's unit."""

    value: float
    low: float
    high: float
    n_random: int
    """Reviewed items that were drawn at random: those that it rests on."""


@dataclass(slots=True)
class FigureLine:
    """One figure with its value from every source."""

    table: str
    name: str
    unit: MetricUnit
    level: int
    note: str
    digits: int
    counted: str
    of: int | None = None
    """How many verdicts there would be."""
    n: dict[MetricSource, int | None] = field(default_factory=dict)
    """How many there are, by source."""
    values: dict[MetricSource, float | None] = field(default_factory=dict)

    @property
    def key(self) -> MetricKey:
        return self.table, self.level, self.name


Intervals = dict[MetricKey, Interval]
"""By figure; a figure that nobody estimated, or of which nothing was drawn at random, is not in it."""


def lines_of(
    figures: Callable[[MetricSource], Iterable[Metric]], sources: Iterable[MetricSource] = METRIC_SOURCES
) -> list[FigureLine]:
    """The lines of the figures of each source, in the order in which they first come."""
    lines: dict[MetricKey, FigureLine] = {}
    for source in sources:
        for one in figures(source):
            line = lines.get(one.key)
            if line is None:
                line = FigureLine(one.table, one.name, one.unit, one.level, one.note, one.digits, one.counted_noun, one.total)
                lines[one.key] = line
            line.values[source], line.n[source] = one.value, one.n
    return list(lines.values())


def sources_of(lines: Sequence[FigureLine]) -> tuple[MetricSource, ...]:
    """Official, rule, errata where these are applied, corrected."""
    return METRIC_SOURCES_WITH_ERRATA if any("errata" in line.values for line in lines) else METRIC_SOURCES


def shown_value(line: FigureLine, source: MetricSource) -> float | None:
    """None for what is recomputed of a part only: which part is no accident, so that it is not to be compared."""
    n = line.n.get(source)
    partial = source in ("rule", "errata") and n is not None and line.of is not None and n < line.of
    return None if partial else line.values.get(source)


def basis(line: FigureLine) -> str:
    """`400 items`, and of which sources' verdicts there are fewer: `400 items (rule 380)`."""
    if line.of is None:
        return ""
    fewer = [f"{source} {n:,}" for source, n in line.n.items() if n is not None and n < line.of]
    return format_count(line.of, line.counted.removesuffix("s")) + (f" ({', '.join(fewer)})" if fewer else "")


def figure_table(title: str, lines: Sequence[FigureLine], intervals: Intervals) -> Table:
    """One published table. Where there is an estimate of the corrected figure, it stands in a column of its own."""
    estimated = any(line.key in intervals for line in lines)
    sources = sources_of(lines)
    heads = [title, *sources, *(["estimate [95 %]"] if estimated else []), "over"]
    rows = [TableRow(_cells(line, sources, intervals, estimated), line.level, _bars(line, intervals)) for line in lines]
    return Table(heads, rows, frozenset(range(1, len(heads) - 1)))


def _cells(line: FigureLine, sources: Sequence[MetricSource], intervals: Intervals, estimated: bool) -> list[str]:
    def shown(value: float | None) -> str:
        return format_metric_value(value, line.unit, line.digits)

    found = intervals.get(line.key)
    interval = f"[{shown(found.low)}, {shown(found.high)}]" if found else ""
    estimate = f"{shown(found.value)} {interval}, {found.n_random:,} drawn" if found else ""
    return [
        line.name,
        *(shown(shown_value(line, source)) for source in sources),
        *([estimate] if estimated else []),
        "; ".join(filter(None, (basis(line), line.note))),
    ]


def _bars(line: FigureLine, intervals: Intervals) -> list[Bar]:
    whole = _WHOLE.get(line.unit)
    if whole is None:
        return []
    found = []
    for source in METRIC_SOURCES:
        value = shown_value(line, source)
        estimate = intervals.get(line.key) if source == "corrected" else None
        if estimate is not None:
            found.append(Bar(source, *(_part(each, whole) for each in (estimate.value, estimate.low, estimate.high))))
        elif value is not None:
            found.append(Bar(source, _part(value, whole)))
    return found


def _part(value: float, whole: float) -> float:
    return min(max(value / whole, 0.0), 1.0)

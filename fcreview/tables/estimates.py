"""Tables of estimates: the metrics of a run, and the share of items that pass of several runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.model.metric import MetricUnit, OwnScore
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_VALUE, format_count, format_metric_value
from fcreview.tables.runs import RunFigures, format_own_score, make_own_column
from fcreview.tables.table import (
    ALWAYS_SHOWN,
    Cell,
    CellStyle,
    Column,
    Row,
    Table,
    Whisker,
    make_row,
)

if TYPE_CHECKING:
    from fcreview.stats.estimation import MetricEstimate, PassRateEstimate
    from fcreview.stats.source_strata import SourceStrata

ESTIMATE_TITLE = "estimated [95 % CI]"
"""Title of the column with estimates. The brackets are the interval; a range has none."""
ITEMS_PASSED_ESTIMATE_TITLE = "items passed, est. [95 % CI]"
"""Title of the column with estimated pass rates. It names the figure, because the benchmark's own
metric is another one.
"""
SHORT_ITEMS_PASSED_ESTIMATE_TITLE = "passed, est. [95 %]"
"""The same title, as narrow as an estimate with its interval."""
OWN_ESTIMATE_TITLE = "estimated [95 %]"
FULL_SCALES: dict[MetricUnit, float] = {"share": 1.0, "percent": 100.0}
"""Highest value of a metric, by its unit."""
RANGE_TITLE = "range (undecided)"


def format_labels_goal(half_width: float) -> str:
    """Return the title of the column with the labels that an interval needs: `for ±2`."""
    return f"for ±{half_width:g}"


def format_labels_needed(needed: int | None) -> str:
    """Return how many more labels an interval needs: `38 labels` or `enough`."""
    if needed is None:
        return NO_VALUE
    if needed == 0:
        return "enough"
    return format_count(needed, "label")


# -- automatic sources


MAX_LISTED_SOURCES = 4
"""Maximum number of sources that a line lists."""


def describe_source_strata(sources: SourceStrata) -> list[str]:
    """Describe in lines which automatic sources an estimate uses, with the strata that they define,
    and why it does not use the others. Return nothing for a run with fewer than two sources.
    """
    if not sources.uses:
        return []
    lines = [summarize_source_strata(sources)]
    if sources.strata:
        lines.append(f"strata: {_format_strata(sources)}")

    # Sources with the same reason share a line. The common reason is in the first line.
    names_by_reason: dict[str, list[str]] = {}
    for use in sources.uses:
        if not use.is_used and use.why != sources.why:
            names_by_reason.setdefault(use.why, []).append(sanitize(use.name))
    for reason, names in names_by_reason.items():
        lines.append(f"not used: {_list_first_names(names)}. {sanitize(reason)}")
    return lines


def _list_first_names(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    listed = ", ".join(names[:MAX_LISTED_SOURCES])
    n_more = len(names) - MAX_LISTED_SOURCES
    if n_more > 0:
        return f"{listed} and {n_more:,} more"
    return listed


def summarize_source_strata(sources: SourceStrata) -> str:
    """Return one sentence on whether and why an estimate uses several automatic sources."""
    if not sources.strata:
        n_sources = format_count(len(sources.uses), "source")
        return f"items are divided by the automatic verdict only, not by {n_sources}. {sources.why}"
    names = ", ".join(sanitize(name) for name in sources.used_names)
    return f"items are divided by how many sources pass them: {names}. {sources.why}"


def _format_strata(sources: SourceStrata) -> str:
    """Return `0 of 3 pass: 1 of 34 (170 items) · ...`: reviewed items that people pass."""
    texts = []
    for stratum in sources.strata:
        reviewed = f"{stratum.n_passed:,} of {stratum.n_reviewed:,} reviewed items pass"
        texts.append(f"{stratum.name}: {reviewed} ({stratum.n_items:,} items)")
    return " · ".join(texts)


# -- metrics of a run


def build_metric_estimate_table(
    title: str, estimates: Sequence[MetricEstimate], half_width: float, *, has_ranges: bool
) -> Table:
    """Return a row for each metric of a benchmark's table: its automatic value, the value corrected
    by reviews, the estimate from a sample, and the labels that are still needed.

    Args:
        title: Title of the first column.
        estimates: The metrics.
        half_width: Half width of the target interval, in percentage points.
        has_ranges: Adds a column with the value if all undecided items fail, and if all pass.
    """
    columns = [
        Column(sanitize(title)),
        Column("automatic", align_right=True),
        Column("corrected", align_right=True),
        Column(ESTIMATE_TITLE, align_right=True),
    ]
    if has_ranges:
        columns.append(Column(RANGE_TITLE))
    columns.append(Column("sampled", align_right=True))
    columns.append(Column("labelled", align_right=True))
    columns.append(Column(format_labels_goal(half_width), align_right=True))
    rows = [_build_metric_row(estimate, has_ranges=has_ranges) for estimate in estimates]
    return Table(columns, rows)


def _build_metric_row(estimate: MetricEstimate, *, has_ranges: bool) -> Row:
    """Return the row of a metric: its automatic, corrected and estimated value, and the numbers of
    labels behind the estimate.
    """
    texts = [
        sanitize(estimate.name),
        format_metric_value(estimate.automatic, estimate.unit, estimate.digits),
        format_metric_value(estimate.corrected, estimate.unit, estimate.digits),
        format_metric_estimate(estimate),
    ]
    if has_ranges:
        texts.append(format_metric_range(estimate))
    texts.append(f"{estimate.n_random:,}")
    texts.append(f"{estimate.n_known:,}")
    texts.append(format_labels_needed(estimate.needed))
    return make_row(texts, level=estimate.level)


def format_metric_estimate(estimate: MetricEstimate) -> str:
    """Return an estimate with its interval, such as `74.9 % [69.8, 79.6]`, or a range such as
    `range 71.8 to 79.0 %` if too many sampled items are undecided. An unknown estimate is `–`.
    """
    if estimate.is_bounds_headline:
        # The title of the column promises an interval, which a range is not.
        return f"range {format_metric_range(estimate)}"
    if estimate.low is None or estimate.high is None:
        return NO_VALUE
    value = format_metric_value(estimate.estimated, estimate.unit, estimate.digits)
    low = _format_end(estimate.low, estimate.unit, estimate.digits)
    high = _format_end(estimate.high, estimate.unit, estimate.digits)
    return f"{value} [{low}, {high}]"


def format_metric_range(estimate: MetricEstimate) -> str:
    """Return the value if all undecided items fail, and if all pass, such as `71.8 to 79.0 %`, or
    `–` if no item is undecided.
    """
    if estimate.bounds is None:
        return NO_VALUE
    low, high = estimate.bounds
    highest = format_metric_value(high, estimate.unit, estimate.digits)
    return f"{_format_end(low, estimate.unit, estimate.digits)} to {highest}"


def _format_end(value: float, unit: MetricUnit, digits: int) -> str:
    """Return an end of an interval without the sign of per cent."""
    return format_metric_value(value, unit, digits).removesuffix(" %")


def describe_own_metric(own: OwnScore, estimates: Sequence[MetricEstimate]) -> str:
    """Return `overall accuracy (the benchmark's own metric): automatic 39.71 %, estimated 41.20 %
    [38.00, 44.40]`.
    """
    parts = [f"automatic {format_own_score(own)}"]
    estimate = _find_own_estimate(own, estimates)
    if estimate is not None:
        corrected = format_metric_value(estimate.corrected, estimate.unit, estimate.digits)
        parts.append(f"corrected {corrected}")
        parts.append(f"estimated {format_metric_estimate(estimate)}")
    return f"{sanitize(own.title)} (the benchmark's own metric): {', '.join(parts)}"


def _find_own_estimate(own: OwnScore, estimates: Sequence[MetricEstimate]) -> MetricEstimate | None:
    """Return the estimate of the benchmark's own metric. A metric of a higher level is a part of
    another one.
    """
    for estimate in estimates:
        is_own = estimate.table == own.table and estimate.name == own.name
        if is_own and estimate.level == 0:
            return estimate
    return None


# -- items passed by several runs


@dataclass(frozen=True, slots=True)
class AccuracyFigures:
    """Run with the estimates of the benchmark's own metric and of the share of items that pass."""

    run: RunFigures
    own_estimate: MetricEstimate | None = None
    """Estimate of the benchmark's own metric."""
    is_estimating_own: bool = False
    """Whether the benchmark's own metric is still to be estimated."""
    is_reading: bool = False
    """Whether the sample of the run is not read yet."""

    @property
    def leads_with_own_metric(self) -> bool:
        """Whether the benchmark's own metric has an estimate, or will have one."""
        return self.is_estimating_own or self.own_estimate is not None


def build_accuracy_table(runs: Sequence[AccuracyFigures], half_width: float) -> Table:
    """Return a table of the accuracy of each run: the benchmark's own metric and the share of items
    passed, each with its estimate from reviews.

    If the benchmark's own metric has an estimate, the interval and the number of needed labels are
    those of this estimate. Otherwise, they are those of the items passed.

    Args:
        runs: The figures of each run.
        half_width: Half the width of the wanted interval, in percentage points.
    """
    names = [_AccuracyColumn(Column("run", cut="run name", min_cells=12), _make_name_cell)]
    own = _list_own_columns(runs)
    goal = format_labels_goal(half_width)
    needed = _AccuracyColumn(Column(goal, align_right=True, min_cells=12), _needed_cell)

    # The graphic of the interval comes before the column of the needed labels.
    has_own_estimates = any(row.leads_with_own_metric for row in runs)
    if has_own_estimates:
        columns = [*names, *own, needed, *_list_passed_columns(priority=3, estimate_priority=4)]
    else:
        passed = _list_passed_columns(priority=ALWAYS_SHOWN, estimate_priority=ALWAYS_SHOWN)
        columns = [*names, *own, *passed, needed]
    graphic_at = columns.index(needed)

    rows = []
    for row in runs:
        cells = [column.make_cell(row) for column in columns]
        rows.append(Row(cells, graphic=_make_whisker(row)))
    return Table([column.column for column in columns], rows, graphic_at=graphic_at)


def _list_passed_columns(priority: int, estimate_priority: int) -> list[_AccuracyColumn]:
    """Return the columns of the share of items passed and of its estimate."""
    passed = Column("items passed", align_right=True, priority=priority)
    estimate = Column(SHORT_ITEMS_PASSED_ESTIMATE_TITLE, priority=estimate_priority)
    return [
        _AccuracyColumn(passed, _make_passed_cell),
        _AccuracyColumn(estimate, _make_passed_estimate_cell),
    ]


@dataclass(frozen=True, slots=True)
class _AccuracyColumn:
    column: Column
    make_cell: Callable[[AccuracyFigures], Cell]


def _list_own_columns(runs: Sequence[AccuracyFigures]) -> list[_AccuracyColumn]:
    """Return the columns of the benchmark's own metric: its value and, if there is one, its
    estimate.
    """
    own = make_own_column([row.run for row in runs])
    if own is None:
        return []
    columns = [_AccuracyColumn(own.column, lambda row: own.make_cell(row.run))]
    if any(row.leads_with_own_metric for row in runs):
        columns.append(_AccuracyColumn(Column(OWN_ESTIMATE_TITLE), _make_own_estimate_cell))
    return columns


def _make_name_cell(row: AccuracyFigures) -> Cell:
    return Cell(row.run.name)


def _make_own_estimate_cell(row: AccuracyFigures) -> Cell:
    if row.is_estimating_own:
        return Cell("estimating", "dim")
    if row.own_estimate is None:
        return Cell(NO_VALUE, "dim")
    return Cell(format_metric_estimate(row.own_estimate), "strong")


def _make_passed_cell(row: AccuracyFigures) -> Cell:
    return Cell(row.run.official_text)


def _make_passed_estimate_cell(row: AccuracyFigures) -> Cell:
    """Return the cell with the estimated pass rate. It is dim beside a more important estimate."""
    if row.is_reading:
        return Cell("reading", "dim")
    style: CellStyle = "strong"
    if row.run.estimate is None or row.leads_with_own_metric:
        style = "dim"
    return Cell(format_pass_rate_estimate(row.run.estimate), style)


def _needed_cell(row: AccuracyFigures) -> Cell:
    """Return how many more labels the leading estimate of the run needs."""
    if row.is_estimating_own:
        return Cell("", "dim")
    if row.own_estimate is not None:
        return Cell(format_labels_needed(row.own_estimate.needed))
    if row.run.estimate is None:
        return Cell(NO_VALUE, "dim")
    return Cell(format_labels_needed(row.run.estimate.needed))


def _make_whisker(row: AccuracyFigures) -> Whisker | None:
    """Return the interval of the leading estimate of the run."""
    if row.leads_with_own_metric:
        return _make_own_whisker(row)
    return make_estimate_whisker(row.run)


def _make_own_whisker(row: AccuracyFigures) -> Whisker | None:
    """Return the interval of the benchmark's own metric, as a share, and its official value."""
    estimate = row.own_estimate
    if estimate is None or estimate.estimated is None or estimate.unit not in FULL_SCALES:
        return None
    low = estimate.low
    high = estimate.high
    # With many undecided items, their bounds are shown in place of the interval.
    if estimate.is_bounds_headline and estimate.bounds is not None:
        low, high = estimate.bounds
    if low is None or high is None:
        return None
    scale = FULL_SCALES[estimate.unit]
    official = None if row.run.own is None else row.run.own.value / scale
    return Whisker(
        low / scale, value=estimate.estimated / scale, high=high / scale, official=official
    )


def format_pass_rate_estimate(estimate: PassRateEstimate | None) -> str:
    """Format an estimated pass rate as `75.3 % [72.9, 77.7]`, or as a range if too many sampled
    items are undecided.
    """
    if estimate is None:
        return NO_VALUE
    if estimate.is_bounds_headline and estimate.bounds is not None:
        return format_pass_rate_range(*estimate.bounds)
    return f"{100 * estimate.estimated:.1f} % [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def format_seen_reviews(n_seen_reviews: int) -> str:
    """Return `50 reviews not blind`, or an empty text if all reviews of a sample were blind."""
    if not n_seen_reviews:
        return ""
    return f"{format_count(n_seen_reviews, 'review')} not blind"


def format_pass_rate_range(low: float, high: float) -> str:
    """Return `72.9 to 77.7 %` for a range from 0.729 to 0.777."""
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def make_estimate_whisker(run: RunFigures) -> Whisker | None:
    """Return the interval of the estimate, or its range, and the official rate if it is of all
    items.
    """
    estimate = run.estimate
    if estimate is None:
        return None
    low = estimate.low
    high = estimate.high
    if estimate.is_bounds_headline and estimate.bounds is not None:
        low, high = estimate.bounds

    official = None
    n_passed, n_known = run.official
    is_rate_of_all_items = n_known > 0 and n_known == run.items
    if is_rate_of_all_items:
        official = n_passed / run.items
    return Whisker(low, value=estimate.estimated, high=high, official=official)

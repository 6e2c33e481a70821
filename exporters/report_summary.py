"""Build the summary of a report: cards, pass rates by category, reasons for failures, and scores
with estimates.

The module also builds the tables of a benchmark's metrics, with a column for each verdict source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fcreview.exporters.report_sections import (
    Card,
    DatasetFailures,
    Paragraph,
    Section,
)
from fcreview.matching.clusters import BY_ERROR_TYPE, group_clusters
from fcreview.model.metric import (
    METRIC_SOURCES,
    METRIC_SOURCES_WITH_ERRATA,
    Metric,
    MetricKey,
    MetricSource,
    MetricUnit,
)
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import (
    NO_ANSWERS,
    NO_VALUE,
    format_count,
    format_metric_value,
    get_source_name,
    is_nearly_complete,
)
from fcreview.tables.clusters import build_reason_table
from fcreview.tables.estimates import (
    ESTIMATE_TITLE,
    ITEMS_PASSED_ESTIMATE_TITLE,
    format_labels_goal,
    format_labels_needed,
    format_metric_estimate,
    format_metric_range,
    format_pass_rate_estimate,
    format_seen_reviews,
    make_estimate_whisker,
)
from fcreview.tables.runs import (
    TIE_MARK,
    RunColumn,
    RunFigures,
    build_run_table,
    format_own_score,
    list_run_notes,
    list_score_columns,
    make_items_column,
    make_name_column,
    make_without_incidents_column,
)
from fcreview.tables.table import Cell, Column, Table, make_row

if TYPE_CHECKING:
    from fcreview.stats.estimation import MetricEstimate

MAX_CATEGORIES = 18
"""Maximum number of categories in the table of pass rates.

The categories with the most items are shown.
"""
MAX_REASONS = 6
RATES_NOTE = (
    "Each cell is the percentage of items that pass. A category uses recomputed verdicts if some of"
    " its items have no "
    "official verdict."
)
SCORES_NOTE = (
    "In the corrected share, reviewed verdicts replace automatic ones. The details list all metrics"
    " of the benchmark."
)
TIE_NOTE = (
    f"{TIE_MARK}: the run may be as good as the best run, because the 95 % interval of the"
    " difference contains 0 (fcreview compare)."
)
WHISKER_NOTE = (
    "In the graphics, the dot is the estimate, the line its 95 % interval, and the upright mark the"
    " official pass rate. If too many items of a sample are undecided, a range (low to high) is in"
    " the place of the interval."
)
NO_SAMPLE_NOTE = (
    "Draw and review a random sample (`fcreview queue create`) to estimate the accuracy of all"
    " items."
)


@dataclass(frozen=True, slots=True)
class SuspectCounts:
    """Numbers of different questions whose golden answers look wrong."""

    suspect: int
    confirmed: int
    """Number of suspect questions on which annotators found a fault of the benchmark."""
    strong: int = 0


def _sort_key(rate: float | None) -> float:
    return -1.0 if rate is None else rate


def build_summary_cards(
    runs: Sequence[RunFigures], n_open_disagreements: int, suspect_counts: SuspectCounts
) -> list[Card]:
    """Build the cards at the top of the report."""
    return [
        *_build_best_run_cards(runs),
        _build_disagreements_card(runs, n_open_disagreements),
        _build_suspects_card(suspect_counts),
    ]


def _build_disagreements_card(runs: Sequence[RunFigures], n_open: int) -> Card:
    note = "nothing to adjudicate"
    if n_open:
        note = f"pass rates change by at most {_find_largest_change(runs):.1f} points"
    return Card("Open disagreements", value=f"{n_open:,}", note=note, needs_attention=n_open > 0)


def _find_largest_change(runs: Sequence[RunFigures]) -> float:
    """Return by how many points the open disagreements can change the pass rate of a run."""
    largest = 0.0
    for run in runs:
        _, n_verdicts = run.corrected
        if n_verdicts:
            largest = max(largest, 100 * run.disputed / n_verdicts)
    return largest


def _build_suspects_card(counts: SuspectCounts) -> Card:
    """Return the card with the number of golden answers that look wrong."""
    # Weak suspects are many, and most of them are right.
    n_weak = counts.suspect - counts.strong
    notes = [f"{n_weak:,} weak"] if n_weak else []
    if counts.confirmed:
        notes.append(f"{counts.confirmed:,} confirmed by annotators")
    else:
        notes.append("none confirmed yet")
    return Card(
        "Strong suspects among golden answers",
        value=f"{counts.strong:,}",
        note=", ".join(notes),
        needs_attention=counts.strong > 0,
    )


def _build_best_run_cards(runs: Sequence[RunFigures]) -> list[Card]:
    """Return the cards about the best run of the largest group of comparable runs.

    Runs are comparable if they have the same dataset and number of items. The best run has the
    highest pass rate.
    """
    # The rate of a run with few or missing items says little about the dataset, so it is shown only
    # if there is no other run.
    shown_runs = [run for run in runs if not run.has_few_items] or runs
    group = _find_largest_group(shown_runs)
    if not group:
        return []

    best = max(group, key=lambda run: _sort_key(run.pass_rate))
    rate = NO_VALUE if best.pass_rate is None else f"{100 * best.pass_rate:.1f} %"
    n_tied = sum(run.is_tied for run in group)
    note = " · ".join(_list_best_run_notes(best, n_tied))
    best_run_card = Card(_format_best_run_label(best, len(group)), value=rate, note=note)
    return [best_run_card, _build_estimate_card(best)]


def _format_best_run_label(best: RunFigures, n_runs: int) -> str:
    """Return `Best of 4 runs, official`, with the source of the verdicts of the rate."""
    _, n_official_verdicts = best.official
    _, n_stated_verdicts = best.stated
    source = "recomputed"
    if n_official_verdicts > 0 or n_stated_verdicts > 0:
        source = "official"
    if n_runs == 1:
        return f"Items passed, {source}"
    return f"Best of {n_runs:,} runs, {source}"


def _find_largest_group(runs: Sequence[RunFigures]) -> list[RunFigures]:
    """Return the largest group of runs with the same dataset and number of items. Of several,
    return the one with the most items.
    """
    groups: dict[tuple[str, int], list[RunFigures]] = {}
    for run in runs:
        groups.setdefault((run.kind, run.items), []).append(run)
    return max(groups.values(), key=lambda group: (len(group), group[0].items), default=[])


def _list_best_run_notes(best: RunFigures, n_tied: int) -> Iterator[str]:
    """Yield the notes on the card of the best run: its name, its items, and how clearly it is the
    best.
    """
    yield best.name
    yield best.kind
    if best.own is not None:
        yield f"{best.own.title} {format_own_score(best.own)}"
    if best.is_unfinished:
        yield f"{best.items_text} items"
    # With verdicts on only some items, the rate is about these.
    elif 0 < best.n_automatic_verdicts < best.items:
        yield f"{best.n_automatic_verdicts:,} of {format_count(best.items, 'item')}"
    else:
        yield format_count(best.items, "item")
    if best.incidents:
        incidents = format_count(best.incidents, "incident")
        yield f"without {incidents}: {best.without_incidents}"
    if n_tied:
        yield f"not clearly better than {format_count(n_tied, 'other run')}"


def _build_estimate_card(run: RunFigures) -> Card:
    """Return the card with the pass rate of a run, as estimated from its random sample.

    If too many items of the sample are undecided, only the range of the rate is known.
    """
    title = "Items passed by this run, estimated"
    estimate = run.estimate
    if estimate is None:
        return Card(title, value=NO_VALUE, note="no reviewed random sample")

    sampled = format_count(run.n_sampled, "sampled item")
    if estimate.is_bounds_headline:
        value = format_pass_rate_estimate(estimate)
        undecided = format_count(estimate.n_undecided, "undecided item")
        note = f"depends on {undecided} (unsure or disputed); {sampled} decided"
    else:
        half_width = (estimate.high - estimate.low) / 2
        value = f"{100 * estimate.estimated:.1f} % ± {100 * half_width:.1f}"
        interval = f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}"
        note = f"95 % interval {interval}, from {sampled}"
    return Card(title, value=value, note=note + _list_estimate_limits(run))


def _list_estimate_limits(run: RunFigures) -> str:
    """Return a text with the limits of an estimate, such as ` · 50 reviews not blind · not overall
    accuracy`. The text is empty if there are none.
    """
    limits = ""
    seen_reviews = format_seen_reviews(run.n_seen_reviews)
    if seen_reviews:
        limits += f" · {seen_reviews}"
    if run.own is not None:
        limits += f" · not {sanitize(run.own.title)}"
    return limits


def _group_by_dataset(
    runs: Sequence[RunFigures], get_rate: Callable[[RunFigures], float | None]
) -> dict[str, list[RunFigures]]:
    """Group runs by dataset, those with the highest rate first, and those with few or missing
    items last.
    """
    runs_by_dataset: dict[str, list[RunFigures]] = {}
    for run in runs:
        runs_by_dataset.setdefault(run.kind, []).append(run)
    for group in runs_by_dataset.values():
        group.sort(key=lambda run: _sort_key(get_rate(run)), reverse=True)
        # Sorting keeps the order of equal runs, so the rate still decides among them.
        group.sort(key=lambda run: run.has_few_items)
    return runs_by_dataset


def build_category_section(runs: Sequence[RunFigures]) -> Section:
    """Return the section with pass rates by category: a table for each dataset, with the best
    run first.
    """
    note = RATES_NOTE
    if any(run.is_tied for run in runs):
        note = f"{RATES_NOTE} {TIE_NOTE}"
    blocks: list[Paragraph | Table] = [Paragraph(note)]
    for dataset, group in _group_by_dataset(runs, lambda run: run.pass_rate).items():
        blocks.extend(_build_category_blocks(dataset, group))
    return Section("Pass rate by category", blocks)


def _build_category_blocks(dataset: str, runs: Sequence[RunFigures]) -> Iterator[Paragraph | Table]:
    """Yield the table of pass rates by category, for the runs of a dataset.

    Only the largest categories have a column, the largest first, as on the overview of the app.
    """
    columns = [make_name_column(dataset), make_items_column()]
    columns.append(RunColumn("items passed", lambda run: Cell(_format_overall_rate(run))))
    if any(run.incidents for run in runs):
        columns.append(make_without_incidents_column())

    # The columns of the categories are coloured by their rates.
    n_columns_without_heat = len(columns)
    categories = _list_categories(runs)
    columns += [_make_category_column(name) for name in categories[:MAX_CATEGORIES]]
    yield replace(build_run_table(columns, runs), heat_from=n_columns_without_heat)

    n_more = len(categories) - MAX_CATEGORIES
    if n_more > 0:
        more = format_count(n_more, "smaller category", "smaller categories")
        yield Paragraph(f"{more} not shown.")


def _list_categories(runs: Sequence[RunFigures]) -> list[str]:
    """Return the names of the categories, that with most items in all runs first."""
    n_items_by_category: Counter[str] = Counter()
    for run in runs:
        for name, (n_items, _) in run.categories.items():
            n_items_by_category[name] += n_items
    return [name for name, _ in n_items_by_category.most_common()]


def _format_overall_rate(run: RunFigures) -> str:
    rate = NO_VALUE if run.pass_rate is None else f"{100 * run.pass_rate:.1f}"
    if 0 < run.n_automatic_verdicts < run.items:
        return f"{rate} of {run.n_automatic_verdicts:,}"
    return rate


def _make_category_column(name: str) -> RunColumn:
    """Return the column with the pass rate of a category in each run."""

    def make_cell(run: RunFigures) -> Cell:
        _, rate = run.categories.get(name, (0, None))
        if rate is None:
            return Cell(NO_VALUE)
        return Cell(f"{100 * rate:.1f}", value=rate)

    return RunColumn(name, make_cell)


def build_failure_reasons_section(datasets: Sequence[DatasetFailures]) -> Section:
    """Return the section with the most frequent error types of failing items, in a table for
    each dataset.
    """
    blocks = [_build_failure_reasons_table(dataset) for dataset in datasets if dataset.clusters]
    return Section("Why items fail", blocks or [Paragraph("No item fails.")])


def _build_failure_reasons_table(dataset: DatasetFailures) -> Table:
    """Return the table of the most frequent error types of a dataset."""
    groups = group_clusters(dataset.clusters, BY_ERROR_TYPE)
    n_failing = sum(group.count for group in groups)
    heading = f"{dataset.title}: {format_count(n_failing, 'failing item')} after reviews"
    return build_reason_table(groups, heading=heading, max_reasons=MAX_REASONS)


def build_score_section(runs: Sequence[RunFigures]) -> Section:
    """Return the section with the own metric and official, recomputed, corrected and estimated pass
    rates: a table for each dataset, with the highest corrected rate first.
    """
    has_estimates = any(run.estimate is not None for run in runs)
    note = WHISKER_NOTE if has_estimates else NO_SAMPLE_NOTE
    notes = " ".join([*list_run_notes(runs), SCORES_NOTE, note])
    blocks: list[Paragraph | Table] = [Paragraph(notes)]
    for dataset, group in _group_by_dataset(runs, lambda run: run.corrected_pass_rate).items():
        blocks.append(_build_score_table(dataset, group))
    return Section("Scores", blocks)


def _build_score_table(dataset: str, runs: Sequence[RunFigures]) -> Table:
    """Return the table of the scores of runs of a dataset, with estimates if a run has one."""
    columns = [make_name_column(dataset), make_items_column(), *list_score_columns(runs)]
    if all(run.estimate is None for run in runs):
        return build_run_table(columns, runs)

    def make_estimate_cell(run: RunFigures) -> Cell:
        return Cell(format_pass_rate_estimate(run.estimate))

    def make_labels_cell(run: RunFigures) -> Cell:
        return Cell(_format_needed_labels(run))

    # The graphic of the estimate stands after its interval.
    graphic_position = len(columns) + 1
    columns.append(RunColumn(ITEMS_PASSED_ESTIMATE_TITLE, make_estimate_cell))
    columns.append(RunColumn(format_labels_goal(TARGET_POINTS), make_labels_cell))

    table = build_run_table(columns, runs)
    rows = []
    for row, run in zip(table.rows, runs, strict=True):
        rows.append(replace(row, graphic=make_estimate_whisker(run)))
    return replace(table, rows=rows, graphic_at=graphic_position)


TARGET_POINTS = 2.0
"""Half width of the target interval, in percentage points."""


def _format_needed_labels(run: RunFigures) -> str:
    return NO_VALUE if run.estimate is None else format_labels_needed(run.estimate.needed)


OPEN_DISAGREEMENTS = "open disagreements"
DISAGREEMENTS_NOTE = (
    "Items with an open disagreement keep their automatic verdict. The range shows the corrected"
    " score if all of them "
    "are resolved as fail, and if all are resolved as pass."
)


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
    """Number of verdicts that the metric is computed from (`Metric.total`)."""
    n: dict[MetricSource, int | None] = field(default_factory=dict)
    """Number of verdicts of each source, which may have fewer than `of`."""
    values: dict[MetricSource, float | None] = field(default_factory=dict)
    open_disagreements: int = 0
    """Number of open disagreements on which the corrected value depends."""
    corrected_low: float | None = None
    """Lowest corrected value that the open disagreements allow. None without open disagreements."""
    corrected_high: float | None = None
    incidents: int = 0
    """Number of incidents of the run. If it is 0, the next two fields are empty."""
    without_incidents: dict[MetricSource, float | None] = field(default_factory=dict)
    """Value of each source without incidents. None if it is unknown."""
    n_without_incidents: dict[MetricSource, int | None] = field(default_factory=dict)
    """Number of verdicts of each source from which the value without incidents is computed."""

    @property
    def key(self) -> MetricKey:
        return self.table, self.level, self.name


EstimateByMetric = Mapping[MetricKey, "MetricEstimate"]
"""Estimate of each metric that has a reviewed random sample. Its `low` and `high` are known."""


def collect_metric_rows(
    compute_metrics: Callable[[MetricSource], Iterable[Metric]],
    sources: Iterable[MetricSource] = METRIC_SOURCES,
) -> list[MetricRow]:
    """Compute the metrics of a run by each source of verdicts, such as `official`.

    Return one row for each metric, with its value by each source. The rows are in the order in
    which the metrics first occur.
    """
    rows: dict[MetricKey, MetricRow] = {}
    for source in sources:
        for metric in compute_metrics(source):
            if metric.key not in rows:
                rows[metric.key] = _make_empty_row(metric)
            row = rows[metric.key]
            row.values[source] = metric.value
            row.n[source] = metric.n
    return list(rows.values())


def _make_empty_row(metric: Metric) -> MetricRow:
    """Return a row that describes a metric, and has no values yet."""
    return MetricRow(
        metric.table,
        name=metric.name,
        unit=metric.unit,
        level=metric.level,
        note=metric.note,
        digits=metric.digits,
        counted=metric.counted_noun,
        of=metric.total,
    )


def add_values_without_incidents(
    rows: Iterable[MetricRow],
    compute_metrics: Callable[[MetricSource], Iterable[Metric]],
    sources: Iterable[MetricSource],
    n_incidents: int,
) -> None:
    """Add to each row the value that its metric would have without the items that have no answer
    because of an incident, such as a failed request.

    `compute_metrics` computes the metrics of a source from the other items. A metric that it does
    not compute has no such value.
    """
    rows_by_key = {row.key: row for row in rows}
    for row in rows_by_key.values():
        row.incidents = n_incidents

    for source in sources:
        for row in rows_by_key.values():
            row.without_incidents[source] = None
            row.n_without_incidents[source] = None
        for metric in compute_metrics(source):
            row_of_metric = rows_by_key.get(metric.key)
            if row_of_metric is not None:
                row_of_metric.without_incidents[source] = metric.value
                row_of_metric.n_without_incidents[source] = metric.n


def find_incident_source(rows: Sequence[MetricRow]) -> MetricSource | None:
    """Return the source whose values without incidents are shown: official, else recomputed, else
    corrected verdicts. None if the run has no incident.
    """
    if not any(row.incidents for row in rows):
        return None
    for source in METRIC_SOURCES:
        if any(get_displayed_value(row, source) is not None for row in rows):
            return source
    return None


def format_value_without_incidents(row: MetricRow, source: MetricSource) -> str:
    """Format the value without incidents and the number of its verdicts: `46.9 % (211)`.

    Empty if the metric covers no incident, so that both values are the same. `no item has an
    answer` if it covers nothing else.
    """
    value = row.without_incidents.get(source)
    n_verdicts = row.n_without_incidents.get(source)
    n_all_verdicts = row.n.get(source)
    covers_no_incident = n_verdicts == n_all_verdicts and value == row.values.get(source)
    if covers_no_incident:
        return ""
    covers_only_incidents = n_verdicts == 0 and bool(n_all_verdicts)
    if covers_only_incidents:
        return NO_ANSWERS

    # A value that is not shown for all items is not shown here either.
    is_shown = get_displayed_value(row, source) is not None
    text = _format_metric_value(value if is_shown else None, row)
    # The number of verdicts is that of the value, so it needs one.
    if n_verdicts is None or value is None:
        return text
    return f"{text} ({n_verdicts:,})"


def format_open_disagreements(row: MetricRow) -> str:
    """Format the number of open disagreements and the range of the corrected value: `13 · 20.5 %
    to 53.8 %`.
    """
    if not row.open_disagreements:
        return ""
    low, high = (
        _format_metric_value(each, row) for each in (row.corrected_low, row.corrected_high)
    )
    return f"{row.open_disagreements:,} · {low} to {high}"


def select_metric_sources(rows: Sequence[MetricRow]) -> tuple[MetricSource, ...]:
    """Return the verdict sources to show as columns.

    `errata` is among them only if errata were applied.
    """
    return (
        METRIC_SOURCES_WITH_ERRATA
        if any("errata" in row.values for row in rows)
        else METRIC_SOURCES
    )


def get_displayed_value(row: MetricRow, source: MetricSource) -> float | None:
    """Return the value of a source. None if too few items have recomputed verdicts, because they
    may not represent all.

    The denominator of a value of some items is in `format_denominator`.
    """
    n = row.n.get(source)
    is_recomputed = source in ("rule", "errata") and n is not None and row.of is not None
    if is_recomputed and not is_nearly_complete(n or 0, row.of or 0):
        return None
    return row.values.get(source)


def format_denominator(row: MetricRow) -> str:
    """Format the number of items that a metric covers: `400 items (recomputed 380)`.

    The parentheses name the sources that have a verdict on fewer items. Empty if the number is
    unknown.
    """
    if row.of is None:
        return ""
    smaller_numbers = []
    for source, n in row.n.items():
        if n is not None and n < row.of:
            smaller_numbers.append(f"{get_source_name(source)} {n:,}")

    text = format_count(row.of, row.counted.removesuffix("s"))
    if smaller_numbers:
        text += f" ({', '.join(smaller_numbers)})"
    return text


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """Column of a table of metrics."""

    title: str
    format_cell: Callable[[MetricRow], str]
    align_right: bool = True


def list_value_columns(all_rows: Sequence[MetricRow]) -> list[MetricColumn]:
    """Return the columns of values that all tables of a run have in common: a column for each
    verdict source and, if the run has incidents, one for the values without these.

    `all_rows` are the rows of all tables of the run.
    """
    columns = [_make_value_column(source) for source in select_metric_sources(all_rows)]
    incident_source = find_incident_source(all_rows)
    if incident_source is not None:
        columns.append(
            MetricColumn(
                f"{get_source_name(incident_source)} w/o incidents",
                lambda row: format_value_without_incidents(row, incident_source),
            )
        )
    return columns


def build_metric_table(
    title: str,
    rows: Sequence[MetricRow],
    estimates: EstimateByMetric,
    value_columns: Sequence[MetricColumn],
) -> Table:
    """Return a table of a benchmark's metrics: a row for each metric, a column for each source.

    `value_columns` are those of `list_value_columns`. Open disagreements and estimates have a
    column if there are any.
    """
    columns = [MetricColumn(sanitize(title), lambda row: sanitize(row.name), align_right=False)]
    columns += value_columns
    if any(row.open_disagreements for row in rows):
        columns.append(MetricColumn(OPEN_DISAGREEMENTS, format_open_disagreements))
    if any(row.key in estimates for row in rows):
        columns.append(_make_estimate_column(estimates))
    columns.append(_make_remarks_column(estimates))

    table_columns = [Column(column.title, align_right=column.align_right) for column in columns]
    table_rows = []
    for row in rows:
        cells = [column.format_cell(row) for column in columns]
        table_rows.append(make_row(cells, level=row.level))
    return Table(table_columns, table_rows)


def _make_estimate_column(estimates: EstimateByMetric) -> MetricColumn:
    def format_cell(row: MetricRow) -> str:
        return _format_estimate_cell(estimates.get(row.key))

    return MetricColumn(ESTIMATE_TITLE, format_cell)


def _make_remarks_column(estimates: EstimateByMetric) -> MetricColumn:
    def format_cell(row: MetricRow) -> str:
        return _format_metric_remarks(row, estimates.get(row.key))

    return MetricColumn("over", format_cell, align_right=False)


def _make_value_column(source: MetricSource) -> MetricColumn:
    def format_value(row: MetricRow) -> str:
        return _format_metric_value(get_displayed_value(row, source), row)

    return MetricColumn(get_source_name(source), format_value)


def _format_estimate_cell(estimate: MetricEstimate | None) -> str:
    return "" if estimate is None else format_metric_estimate(estimate)


def _format_metric_remarks(row: MetricRow, estimate: MetricEstimate | None) -> str:
    """Format the denominator, the note and the sample of a metric."""
    remarks = [format_denominator(row), sanitize(row.note)]
    if estimate is not None:
        remarks.append(format_sample_and_bounds(estimate))
    return "; ".join(remark for remark in remarks if remark)


def format_sample_and_bounds(estimate: MetricEstimate) -> str:
    """Format the size of the sample and the bounds of the estimate: `120 sampled, 71.8 to 79.0 %,
    depending on 5 undecided items`.
    """
    text = f"{estimate.n_random:,} sampled"
    if estimate.bounds is None:
        return text
    condition = f"depending on {format_count(estimate.n_undecided, 'undecided item')}"
    return f"{text}, {format_metric_range(estimate)}, {condition}"


def _format_metric_value(value: float | None, row: MetricRow) -> str:
    return format_metric_value(value, row.unit, row.digits)

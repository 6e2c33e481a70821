"""Build the summary of a report: cards, pass rates by category, reasons for failures, and scores with estimates. Build
the tables of the benchmark's metrics, with a column for each verdict source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fcreview.exporters.report_sections import (
    NO_ERROR_TYPE,
    Bar,
    Card,
    DatasetFailures,
    Paragraph,
    Section,
    Table,
    TableRow,
    Whisker,
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
from fcreview.model.wording import (
    NO_VALUE,
    describe_error_type,
    describe_undecided_verdicts,
    format_corrected_rate,
    format_count,
    format_metric_value,
    format_official_rate,
    format_recomputed_rate,
    get_source_name,
)

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate

MAX_CATEGORIES = 18
"""Maximum number of categories in the table of pass rates, those with the most items first."""
MAX_REASONS = 6
RATES_NOTE = (
    "Percentage of items that pass. A category uses recomputed verdicts if some of its items have no official verdict."
)
SCORES_NOTE = (
    "Share of items that pass, each item counted once. In the corrected share, reviewed verdicts replace automatic "
    "ones. The details list the benchmark's own metrics, which may weight items."
)
WHISKER_NOTE = (
    "In the graphics, the dot is the estimate, the line its 95 % interval, and the upright mark the official pass rate."
)
NO_SAMPLE_NOTE = "Draw and review a random sample (`fcreview queue create`) to estimate the accuracy of all items."


@dataclass(frozen=True, slots=True)
class RunPassCounts:
    name: str
    kind: str
    """Dataset of the run: `bfcl V1 en`."""
    items: int
    official: tuple[int, int]
    """(number of items that pass, number of items with an official verdict)."""
    rule: tuple[int, int]
    corrected: tuple[int, int]
    stated: tuple[int, int] = (0, 0)
    """(passing items, all items) according to the headers of score files, in categories without result files."""
    disputed: int = 0
    categories: Mapping[str, tuple[int, float | None]] = field(default_factory=dict)
    """Category -> (number of items, pass rate from 0 to 1, or None if it is not known)."""
    estimate: PassRateEstimate | None = None
    n_sampled: int = 0

    @property
    def share(self) -> float:
        """Pass rate by official verdict, else by recomputed verdict, else -1."""
        for passed, known in (self.official, self.stated, self.rule):
            if known:
                return passed / known
        return -1.0

    @property
    def corrected_share(self) -> float:
        return self.corrected[0] / self.corrected[1] if self.corrected[1] else -1.0

    @property
    def n_verdicts(self) -> int:
        """Number of official verdicts. If there are none, number of recomputed verdicts."""
        return self.official[1] or self.rule[1]


@dataclass(frozen=True, slots=True)
class SuspectCounts:
    suspect: int
    confirmed: int
    """Number of suspect questions for which annotators decided on a fault of the benchmark."""
    strong: int = 0


def build_cards(runs: Sequence[RunPassCounts], n_disagreements: int, suspects: SuspectCounts) -> list[Card]:
    moved = max((100 * run.disputed / run.corrected[1] for run in runs if run.corrected[1]), default=0.0)
    checked = f"{suspects.confirmed:,} confirmed by annotators" if suspects.confirmed else "none confirmed yet"
    checked = f"{suspects.strong:,} strong, {checked}" if suspects.strong else checked
    open_note = f"pass rates change by at most {moved:.1f} points" if n_disagreements else "nothing to adjudicate"
    return [
        *_build_best_run_cards(runs),
        Card("Open disagreements", f"{n_disagreements:,}", open_note, n_disagreements > 0),
        Card("Suspect golden answers", f"{suspects.suspect:,}", checked, suspects.suspect > 0),
    ]


def _build_best_run_cards(runs: Sequence[RunPassCounts]) -> list[Card]:
    """Build the cards of the run with the highest pass rate, among the largest group of runs with the same number of
    items. Other runs are not comparable."""
    sizes = Counter((run.kind, run.items) for run in runs)
    if not sizes:
        return []
    kind, items = max(sizes, key=lambda key: (sizes[key], key[1]))
    best = max((run for run in runs if (run.kind, run.items) == (kind, items)), key=lambda run: run.share)
    source = "official" if best.official[1] or best.stated[1] else "recomputed"
    label = f"Best of {sizes[kind, items]:,} runs, {source}" if sizes[kind, items] > 1 else f"Pass rate, {source}"
    rate = f"{100 * best.share:.1f} %" if best.share >= 0 else NO_VALUE
    part = f"{best.n_verdicts:,} of " if 0 < best.n_verdicts < items else ""
    note = " · ".join((best.name, kind, f"{part}{format_count(items, 'item')}"))
    value, basis = _format_headline_estimate(best)
    return [Card(label, rate, note), Card("Estimated accuracy of this run", value, basis)]


def _format_headline_estimate(run: RunPassCounts) -> tuple[str, str]:
    estimate = run.estimate
    if estimate is None:
        return NO_VALUE, "no reviewed random sample"
    sampled = format_count(run.n_sampled, "sampled item")
    if estimate.is_bounds_headline:
        undecided = format_count(estimate.n_undecided, "undecided item")
        return format_pass_rate_estimate(estimate), f"depends on {undecided} (unsure or disputed); {sampled} decided"
    value = f"{100 * estimate.estimated:.1f} % ± {50 * (estimate.high - estimate.low):.1f}"
    return value, f"95 % interval {100 * estimate.low:.1f} to {100 * estimate.high:.1f}, from {sampled}"


def format_pass_rate_estimate(estimate: PassRateEstimate | None) -> str:
    """Format `75.3 % [72.9, 77.7]`, or a range if too many sampled items are undecided."""
    if estimate is None:
        return NO_VALUE
    if estimate.is_bounds_headline and estimate.bounds is not None:
        low, high = estimate.bounds
        return f"{100 * low:.1f} to {100 * high:.1f} %"
    return f"{100 * estimate.estimated:.1f} % [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def build_category_section(runs: Sequence[RunPassCounts]) -> Section:
    """Return a table for each dataset: a row for each run, the best first, and a column for each category."""
    blocks: list[Paragraph | Table] = [Paragraph(RATES_NOTE)]
    for kind in dict.fromkeys(run.kind for run in runs):
        of = sorted((run for run in runs if run.kind == kind), key=lambda run: run.share, reverse=True)
        sizes: Counter[str] = Counter()
        for run in of:
            sizes.update({name: n for name, (n, _) in run.categories.items()})
        largest = {name for name, _ in sizes.most_common(MAX_CATEGORIES)}
        names = [name for name in sizes if name in largest]
        heads = [kind, "items", "overall", *names]
        rows = [TableRow(_format_category_cells(run, names)) for run in of]
        blocks.append(Table(heads, rows, frozenset(range(1, len(heads))), heat_from=3))
        if len(sizes) > len(names):
            more = format_count(len(sizes) - len(names), "smaller category", "smaller categories")
            blocks.append(Paragraph(f"{more} not shown."))
    return Section("Pass rate by category", blocks)


def _format_category_cells(run: RunPassCounts, names: Sequence[str]) -> list[str]:
    overall = f"{100 * run.share:.1f}" if run.share >= 0 else NO_VALUE
    if 0 < run.n_verdicts < run.items:
        overall += f" of {run.n_verdicts:,}"
    shares = (run.categories.get(name, (0, None))[1] for name in names)
    rates = [NO_VALUE if share is None else f"{100 * share:.1f}" for share in shares]
    return [run.name, f"{run.items:,}", overall, *rates]


def build_reasons_section(parts: Sequence[DatasetFailures]) -> Section:
    """Return a table for each dataset: the most frequent error types of failing items (by effective verdict)."""
    blocks = [_build_reasons_table(part) for part in parts if part.clusters]
    return Section("Why items fail", blocks or [Paragraph("No item fails.")])


def _build_reasons_table(part: DatasetFailures) -> Table:
    groups = group_clusters(part.clusters, BY_ERROR_TYPE)
    total, largest = sum(group.count for group in groups), max(group.count for group in groups)
    rows = []
    for group in groups[:MAX_REASONS]:
        code = group.name or NO_ERROR_TYPE
        meaning = describe_error_type(code)
        sentence, code = (meaning[0].upper() + meaning[1:], code) if meaning else (code, "")
        rows.append(TableRow([f"{group.count:,}", sentence, code], graphic=Bar(group.count / largest)))
    if rest := groups[MAX_REASONS:]:
        n = sum(group.count for group in rest)
        text = format_count(len(rest), "other error type")
        rows.append(TableRow([f"{n:,}", text, ""]))
    head = f"{part.title}: {format_count(total, 'failing item')} after reviews"
    return Table(["items", head, "error type"], rows, frozenset({0}), graphic_at=1)


def build_score_section(runs: Sequence[RunPassCounts]) -> Section:
    """Return a table for each dataset with official, recomputed and corrected pass rates, and with estimates if there
    are any. Runs with a higher corrected rate come first."""
    note = WHISKER_NOTE if any(run.estimate is not None for run in runs) else NO_SAMPLE_NOTE
    blocks: list[Paragraph | Table] = [Paragraph(f"{SCORES_NOTE} {note}")]
    heads = ["items", "official", "recomputed", "corrected"]
    more = ["estimated, 95 % CI", "labels for ±2"]
    for kind in dict.fromkeys(run.kind for run in runs):
        of = sorted((run for run in runs if run.kind == kind), key=lambda run: run.corrected_share, reverse=True)
        has_estimates = any(run.estimate is not None for run in of)
        shown = [kind, *heads, *(more if has_estimates else [])]
        rows = [_score_row(run, has_estimates=has_estimates) for run in of]
        blocks.append(Table(shown, rows, frozenset(range(1, len(shown))), graphic_at=6 if has_estimates else 0))
    return Section("Scores", blocks)


def _score_row(run: RunPassCounts, *, has_estimates: bool) -> TableRow:
    passed, of = run.stated
    estimate = run.estimate
    cells = [
        run.name,
        f"{run.items:,}",
        format_official_rate(*run.official, run.items, stated_pass=passed, stated_of=of),
        format_recomputed_rate(*run.rule, run.items, NO_VALUE),
        format_corrected_rate(*run.corrected, run.items, run.disputed),
    ]
    if has_estimates:
        needed = NO_VALUE if estimate is None or estimate.needed is None else f"{estimate.needed:,}"
        cells += [format_pass_rate_estimate(estimate), needed]
    if estimate is None:
        return TableRow(cells)
    low, high = (estimate.bounds if estimate.is_bounds_headline else None) or (estimate.low, estimate.high)
    official = run.official[0] / run.items if 0 < run.official[1] == run.items else None
    return TableRow(cells, graphic=Whisker(low, estimate.estimated, high, official))


OPEN_DISAGREEMENTS = "open disagreements"
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
    """Number of verdicts that the metric needs (`Metric.total`). A source may have fewer."""
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
    rows: dict[MetricKey, MetricRow] = {}
    for source in sources:
        for one in figures(source):
            row = MetricRow(one.table, one.name, one.unit, one.level, one.note, one.digits, one.counted_noun, one.total)
            row = rows.setdefault(one.key, row)
            row.values[source], row.n[source] = one.value, one.n
    return list(rows.values())


def format_disagreements(line: MetricRow) -> str:
    """Format the open disagreements and the bounds of the corrected value: `13 · 20.5 % to 53.8 %`."""
    if not line.open_disagreements:
        return ""
    low, high = (_format_value(each, line) for each in (line.corrected_low, line.corrected_high))
    return f"{line.open_disagreements:,} · {low} to {high}"


def select_metric_sources(lines: Sequence[MetricRow]) -> tuple[MetricSource, ...]:
    """Return the sources that have a column. The source `errata` has a column only if errata were applied."""
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
    fewer = [f"{get_source_name(source)} {n:,}" for source, n in line.n.items() if n is not None and n < line.of]
    return format_count(line.of, line.counted.removesuffix("s")) + (f" ({', '.join(fewer)})" if fewer else "")


def build_metric_table(title: str, lines: Sequence[MetricRow], intervals: Intervals) -> Table:
    """Return a table of published metrics, with columns of open disagreements and estimates if there are any."""
    estimated = any(line.key in intervals for line in lines)
    sources = select_metric_sources(lines)
    disputed = any(line.open_disagreements for line in lines)
    more = [*([OPEN_DISAGREEMENTS] if disputed else []), *([ESTIMATE_HEADING] if estimated else [])]
    heads = [title, *map(get_source_name, sources), *more, "over"]
    rows = [TableRow(_format_metric_cells(line, sources, intervals, more), line.level) for line in lines]
    return Table(heads, rows, frozenset(range(1, len(heads) - 1)))


def _format_metric_cells(
    line: MetricRow, sources: Sequence[MetricSource], intervals: Intervals, more: Sequence[str]
) -> list[str]:
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
    """Describe the sample: `120 sampled, 71.8 to 79.0 % whatever the verdicts on the 5 undecided items are`.

    The range is from the lower end of the 95 % interval if all undecided items fail to the upper end if all pass.
    """
    text = f"{estimate.n_random:,} sampled"
    if estimate.bounds is None:
        return text
    return f"{text}, {_format_range(estimate.bounds, line)} {describe_undecided_verdicts(estimate.n_undecided)}"


def _format_range(ends: tuple[float, float], line: MetricRow) -> str:
    low, high = (_format_value(each, line) for each in ends)
    return f"{low.removesuffix(' %')} to {high}"


def _format_value(value: float | None, line: MetricRow) -> str:
    return format_metric_value(value, line.unit, line.digits)

"""Build the summary of a report: cards, pass rates by category, reasons for failures, and scores with estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
from fcreview.model.wording import (
    NO_VALUE,
    describe_error_type,
    format_corrected_rate,
    format_count,
    format_official_rate,
    format_recomputed_rate,
)

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate

MAX_CATEGORIES = 18
"""Maximum number of categories in the table of pass rates, those with the most items first."""
MAX_REASONS = 6
RATES_NOTE = (
    "Percentage of items that pass, by official verdict. If some items of a category have no official verdict, by "
    "recomputed verdict."
)
SCORES_NOTE = (
    "Share of items that pass, each item counted once. Corrected: with reviewed verdicts in place of automatic ones. "
    "The benchmarks' own metrics, which may weight items, follow in the details."
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
    """Number of sampled items with a human verdict."""

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
        """Number of official verdicts or, without any, of recomputed verdicts."""
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
        *_best_run_cards(runs),
        Card("Open disagreements", f"{n_disagreements:,}", open_note, n_disagreements > 0),
        Card("Suspect golden answers", f"{suspects.suspect:,}", checked, suspects.suspect > 0),
    ]


def _best_run_cards(runs: Sequence[RunPassCounts]) -> list[Card]:
    """Return cards with the pass rate and the estimated accuracy of the best run. Only runs with the same number of
    items are comparable, so the best run is chosen from the largest group of such runs."""
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
    value, basis = _headline_estimate(best)
    return [Card(label, rate, note), Card("Estimated accuracy of this run", value, basis)]


def _headline_estimate(run: RunPassCounts) -> tuple[str, str]:
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


def category_section(runs: Sequence[RunPassCounts]) -> Section:
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
        rows = [TableRow(_category_cells(run, names)) for run in of]
        blocks.append(Table(heads, rows, frozenset(range(1, len(heads))), heat_from=3))
        if len(sizes) > len(names):
            more = format_count(len(sizes) - len(names), "smaller category", "smaller categories")
            blocks.append(Paragraph(f"{more} not shown."))
    return Section("Pass rate by category", blocks)


def _category_cells(run: RunPassCounts, names: Sequence[str]) -> list[str]:
    overall = f"{100 * run.share:.1f}" if run.share >= 0 else NO_VALUE
    if 0 < run.n_verdicts < run.items:
        overall += f" of {run.n_verdicts:,}"
    shares = (run.categories.get(name, (0, None))[1] for name in names)
    rates = [NO_VALUE if share is None else f"{100 * share:.1f}" for share in shares]
    return [run.name, f"{run.items:,}", overall, *rates]


def reasons_section(parts: Sequence[DatasetFailures]) -> Section:
    """Return a table for each dataset: the most frequent error types of failing items (by effective verdict)."""
    blocks = [_reasons_table(part) for part in parts if part.clusters]
    return Section("Why items fail", blocks or [Paragraph("No item fails.")])


def _reasons_table(part: DatasetFailures) -> Table:
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


def score_section(runs: Sequence[RunPassCounts]) -> Section:
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

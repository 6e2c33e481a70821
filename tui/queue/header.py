"""Header lines of the queue: runs and annotator, pass rates, filter and position, and messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import NO_DATASET_MESSAGE, format_count
from fcreview.store.rows import PARTIAL_QUEUES, RunRow, View
from fcreview.tui.queue.state import SHUFFLED
from fcreview.tui.text.lines import (
    Line,
    StyledText,
    format_pass_rate,
    format_recomputed_pass_rate,
    justify_line,
    line_width,
    progress_message,
    rule_line,
    truncate,
    truncate_middle,
)
from fcreview.tui.text.theme import symbols

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate

TARGET_HALF_WIDTH = 0.02
"""Target half-width of the 95 % confidence interval of the estimated pass rate, as a fraction."""
NO_DATASET_SHORT = "no dataset: --data DIR"
COLUMN_GAP: StyledText = ("   ", "")


@dataclass(frozen=True, slots=True)
class RateTotals:
    """Item counts, added up over several runs."""

    items: int
    official: tuple[int, int]
    """(passes, verdicts): number of items that pass by official verdict, and number of items with an official
    verdict."""
    rule: tuple[int, int]
    """(passes, verdicts): number of items that pass by recomputed verdict, and number of items with a recomputed
    verdict."""
    effective: tuple[int, int]
    """(passes, verdicts): number of items that pass by effective verdict, and number of items with an effective
    verdict."""
    reviewed: int
    """Number of items reviewed by any annotator."""
    yours: int
    """Number of items reviewed by this annotator."""
    issues: int
    disputed: int = 0
    """Number of items on which annotators disagree."""


def sum_rates(runs: Sequence[RunRow]) -> RateTotals:
    def sum_counts(source: str) -> tuple[int, int]:
        passes, known = f"{source}_pass", f"{source}_known"
        return sum(getattr(run, passes) for run in runs), sum(getattr(run, known) for run in runs)

    return RateTotals(
        items=sum(run.n_items for run in runs),
        official=sum_counts("official"),
        rule=sum_counts("rule"),
        effective=sum_counts("effective"),
        reviewed=sum(run.reviewed for run in runs),
        yours=sum(run.yours for run in runs),
        issues=sum(run.n_issues for run in runs) + max((run.n_search_issues for run in runs), default=0),
        disputed=sum(run.disputed for run in runs),
    )


UNREVIEWED_TERMS = ("-reviewed", "you:none", "you:unknown")
"""Filter terms that select only items without a review."""


def run_title(run: RunRow) -> str:
    """Return the run's title: benchmark, version and language, sanitized."""
    return sanitize(run.info.full_title)


def join_run_titles(runs: Sequence[RunRow]) -> str:
    """Format the titles of several runs on one line.

    Titles that differ only in the language are combined, such as `ACEBench v1 en, zh`.
    """
    languages = {run.info.language for run in runs}
    common = {run_title(run).removesuffix(f" {sanitize(run.info.language)}") for run in runs}
    if len(common) == 1 and len(languages) > 1:
        return f"{common.pop()} {sanitize(', '.join(sorted(languages)))}"
    return ", ".join(sorted({run_title(run) for run in runs}))


def runs_line(runs: Sequence[RunRow] | None, annotator: str, cells: int, *, blind: bool = False) -> Line:
    """Return the line with the runs and the annotator's progress. `runs` is None until the runs are read.

    Example: `runs/gpt4o BFCL V4 gpt-4o ... alice · 12 of 640 reviewed (40 by all)`. The number of items reviewed by all
    annotators together is shown if it is higher than the annotator's own. The path is shown if there is room.
    """
    if runs is None:
        return justify_line(((" opening ", "dim"),), ((sanitize(annotator) + " ", ""),), cells)
    total = sum_rates(runs)
    dot = symbols().separator
    right: Line = (
        (truncate_middle(sanitize(annotator), 20), "strong"),
        (f" {dot} {total.yours:,} of {total.items:,} reviewed", ""),
        (f" ({total.reviewed:,} by all) " if total.reviewed > total.yours and not blind else " ", "dim"),
    )
    room = cells - line_width(right) - 3
    if not runs:
        return justify_line(((" no runs", "warn"),), right, cells)
    if len(runs) > 1:
        benchmarks = len({run.info.benchmark for run in runs})
        titles = join_run_titles(runs) if benchmarks == 1 else format_count(benchmarks, "benchmark")
        several: Line = (
            (" " + format_count(len(runs), "run"), "strong"),
            COLUMN_GAP,
            (truncate(titles, max(room - 12, 4)), ""),
        )
        return justify_line(several, right, cells)
    run = runs[0]
    title, model = run_title(run), sanitize(run.info.model)
    path = "/".join(PurePath(sanitize(run.info.path)).parts[-2:]).lstrip("/")
    shown_model = truncate_middle(model, max(room - display_width(title) - 4, 8))
    left: Line = ((" " + shown_model, "strong"), COLUMN_GAP, (title, ""))
    if not path.endswith(model) and display_width(path) + line_width(left) + 4 <= room:
        left = ((" " + path, ""), COLUMN_GAP, (title, ""), COLUMN_GAP, (model, "strong"))
    return justify_line(left, right, cells)


def format_estimate(estimate: PassRateEstimate, *, short: bool = False) -> str:
    """Format an estimated pass rate: `74.9 % [69.8, 79.6] · 38 more for ±2`.

    The brackets contain the 95 % confidence interval. The last part is the number of labels that are still needed for
    an interval of ±2 percentage points, or, if sampled items are undecided, the range if they all fail or all pass. If
    too many are undecided, the range replaces the interval. `short` omits the last part.
    """
    text = f"{100 * estimate.estimated:.1f} % [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
    if estimate.bounds is not None:
        bounds = "{:.1f} to {:.1f} %".format(*(100 * each for each in estimate.bounds))
        reason = "" if short else f" if {estimate.n_undecided:,} undecided fail or pass"
        return bounds + reason if estimate.is_bounds_headline else f"{text} {symbols().separator} {bounds}{reason}"
    if not estimate.needed or short:
        return text
    target = f"{symbols().plus_minus}{100 * TARGET_HALF_WIDTH:g}"
    return f"{text} {symbols().separator} {estimate.needed:,} more for {target}"


def rates_line(
    runs: Sequence[RunRow] | None, cells: int, *, blind: bool = False, estimate: PassRateEstimate | None = None
) -> Line:
    """Return the line with the official, recomputed and corrected pass rates, and warnings at the right.

    If the line is too short for both, an `estimate` replaces the corrected rate. In blind mode, the line has no rates.
    `runs` is None until the runs are read.
    """
    if runs is None:
        return store_loading_line()
    total = sum_rates(runs)
    warnings = _warning_variants(total, lacks_dataset=any(run.info.lacks_dataset for run in runs))
    if blind:
        lefts: list[Line] = [((" blind: other verdicts are hidden until you submit", "dim"),)]
    else:
        lefts = [_format_rates(total, estimate, short=short) for short in range(4 if estimate else 2)]
    both = [(left, text) for left in lefts for text in warnings]
    left, warning = next((each for each in both if line_width(each[0]) + display_width(each[1]) + 2 <= cells), both[-1])
    return justify_line(left, ((warning + " ", "warn"),) if warning else (), cells)


def _format_rates(total: RateTotals, estimate: PassRateEstimate | None, *, short: int) -> Line:
    """Format the rates. A higher `short` gives a shorter line: 1 omits a recomputed rate that does not cover all items
    and the noun of open disagreements, 2 the corrected rate if there is an estimate, and 3 the end of the estimate."""
    parts: list[StyledText] = [(" official ", "dim"), (format_pass_rate(*total.official, total.items), "strong")]
    if total.rule[1]:
        covers_all = total.rule[1] == total.items
        rate = symbols().none if short and not covers_all else format_recomputed_pass_rate(*total.rule, total.items)
        parts += [COLUMN_GAP, ("recomp. ", "dim"), (rate, "strong" if covers_all else "dim")]
    if estimate is None or short < 2:
        corrected = format_pass_rate(*total.effective, total.items)
        parts += [COLUMN_GAP, ("corrected ", "dim"), (corrected, "strong")]
        if total.disputed:
            count = f"{total.disputed:,} open" if short else format_count(total.disputed, "open disagreement")
            parts.append((f" {symbols().separator} {count}", "strong"))
    if estimate is not None:
        parts += [COLUMN_GAP, ("estimated ", "dim"), (format_estimate(estimate, short=short > 2), "strong")]
    return tuple(parts)


def _warning_variants(total: RateTotals, *, lacks_dataset: bool) -> list[str]:
    """Return variants of the warning at the right, the longest first."""
    issues = [format_count(total.issues, "import issue")] if total.issues else []
    if not lacks_dataset:
        return [*issues, format_count(total.issues, "issue")] if issues else [""]
    return [
        *(", ".join([text, *issues]) for text in (NO_DATASET_MESSAGE, NO_DATASET_SHORT)),
        NO_DATASET_SHORT,
        "no dataset",
    ]


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """Position and progress of the annotator in the queue."""

    position: int | None
    """Position of the cursor, from 1. None until rows are loaded, and if the queue is empty."""
    total: int | None
    """Number of items in the queue. None until rows are loaded."""
    reviewed: str = ""
    """Progress in the open queue file, such as `12 of 80`. Empty if no queue file is open."""


def view_line(view: View, where: str, search: str, progress: QueueProgress, cells: int) -> Line:
    """Return the line with filter, search and position: `filter official:fail ... order failures · 12/640`.

    With an open queue file, the line ends with `queue pilot · 12 of 80 reviewed · 13/80`. `where` and `search` are the
    filter and the search as the annotator entered them; `view.where` combines both.
    """
    position, total = progress.position, progress.total
    left: list[StyledText] = []
    if view.items:
        left += [(" selected ", "dim"), (format_count(len(view.items), "item"), "strong")]
    if where:
        left += [COLUMN_GAP if left else (" ", ""), ("filter ", "dim"), (sanitize(where), "strong")]
    if search:
        left += [COLUMN_GAP if left else (" ", ""), ("search ", "dim"), (sanitize(search), "strong")]
    if not left:
        items = f"{view.queue} items only" if view.queue in PARTIAL_QUEUES else "all items"
        left = [(" your share" if view.share else f" {items}", "dim")]
    right: list[StyledText] = [("queue " if view.queue_file else "order ", "dim"), (format_order(view), "strong")]
    if progress.reviewed:
        right += [(f" {symbols().separator} {progress.reviewed} reviewed", "")]
    if total is not None:
        count = f"{position:,}/{total:,}" if position else f"{total:,}"
        right += [(f" {symbols().separator} {count} ", "")]
    if line_width(tuple(left)) + line_width(tuple(right)) >= cells:
        right = right[2 if not progress.reviewed else 0 :]  # the filter matters more than the order
    return justify_line(tuple(left), tuple(right), cells)


def search_progress_line(runs: Sequence[RunRow] | None, seconds: float, cancel_key: str) -> str:
    """Return the message during a long search: the number of searched items, and the key that cancels the search."""
    items = f" {format_count(sum_rates(runs).items, 'item')}" if runs else ""
    return progress_message(f"searching{items}", seconds, cancel_key)


def store_loading_line(seconds: float = 0) -> Line:
    """Return the line that replaces the rates until the first rows are loaded: ` reading the store · 2 s`."""
    return ((f" {progress_message('reading the store', seconds)} ", "dim"),)


def message_line(message: str, cells: int) -> Line:
    """Return the horizontal rule above the list, with a message in it if there is one."""
    rule = symbols().rule
    return rule_line(((sanitize(message), "warn"),), cells, rule) if message else ((rule * cells, "dim"),)


def empty_line(where: str, search: str, reviewed: int) -> Line:
    """Return the line that replaces the rows of an empty list. `reviewed`: number of items reviewed in this session."""
    if reviewed and any(term in where.split() for term in UNREVIEWED_TERMS):
        commands = "run fcreview export for labels, fcreview report for metrics"
        return ((f" Queue complete ({reviewed:,} reviewed): {commands}", "good"),)
    criteria = "search and the filter" if search and where else "search" if search else "filter"
    return ((f" no item matches the {criteria}", "warn"),)


def format_order(view: View) -> str:
    """Return the name of the view's order or queue file. A random order is followed by its seed."""
    name = truncate_middle(sanitize(view.queue), 24)
    return f"{name} (seed {view.seed})" if view.queue in SHUFFLED else name

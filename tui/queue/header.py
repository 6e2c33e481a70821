"""Header lines of the queue: runs and annotator, pass rates, filter and position, messages."""

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
"""Target half-width of the interval of the corrected rate, as a share."""
NO_DATASET_SHORT = "no dataset: --data DIR"
COLUMN_GAP: StyledText = ("   ", "")


@dataclass(frozen=True, slots=True)
class RateTotals:
    """Sums over the shown runs."""

    items: int
    official: tuple[int, int]
    """(passes, known)"""
    rule: tuple[int, int]
    effective: tuple[int, int]
    reviewed: int
    """Items reviewed by any annotator."""
    yours: int
    issues: int


def sum_rates(runs: Sequence[RunRow]) -> RateTotals:
    def both(name: str) -> tuple[int, int]:
        passes, known = f"{name}_pass", f"{name}_known"
        return sum(getattr(run, passes) for run in runs), sum(getattr(run, known) for run in runs)

    return RateTotals(
        items=sum(run.n_items for run in runs),
        official=both("official"),
        rule=both("rule"),
        effective=both("effective"),
        reviewed=sum(run.reviewed for run in runs),
        yours=sum(run.yours for run in runs),
        issues=sum(run.n_issues for run in runs),
    )


UNREVIEWED_TERMS = ("-reviewed", "you:none", "you:unknown")
"""Filter terms that select items without a review."""


def run_title(run: RunRow) -> str:
    return sanitize(run.info.full_title)


def join_run_titles(runs: Sequence[RunRow]) -> str:
    """Titles of several runs: `ACEBench v1 en, zh`, or separated by commas if more than the language differs."""
    languages = {run.info.language for run in runs}
    common = {run_title(run).removesuffix(f" {sanitize(run.info.language)}") for run in runs}
    if len(common) == 1 and len(languages) > 1:
        return f"{common.pop()} {sanitize(', '.join(sorted(languages)))}"
    return ", ".join(sorted({run_title(run) for run in runs}))


def runs_line(runs: Sequence[RunRow] | None, annotator: str, cells: int, *, blind: bool = False) -> Line:
    """`runs/gpt4o   BFCL V4   gpt-4o   ...   alice · 12 of 640 reviewed (40 by all)`. The number for all annotators
    is shown if it is higher; the path is shown if there is room."""
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
        return justify_line(((" no run", "warn"),), right, cells)
    if len(runs) > 1:
        benchmarks = len({run.info.benchmark for run in runs})
        shown = join_run_titles(runs) if benchmarks == 1 else format_count(benchmarks, "benchmark")
        several: Line = (
            (" " + format_count(len(runs), "run"), "strong"),
            COLUMN_GAP,
            (truncate(shown, max(room - 12, 4)), ""),
        )
        return justify_line(several, right, cells)
    run = runs[0]
    title, model = run_title(run), sanitize(run.info.model)
    path = "/".join(PurePath(sanitize(run.info.path)).parts[-2:]).lstrip("/")
    left: Line = ((" " + truncate_middle(model, max(room - display_width(title) - 4, 8)), "strong"), COLUMN_GAP, (title, ""))
    if not path.endswith(model) and display_width(path) + line_width(left) + 4 <= room:
        left = ((" " + path, ""), COLUMN_GAP, (title, ""), COLUMN_GAP, (model, "strong"))
    return justify_line(left, right, cells)


def format_estimate(share: PassRateEstimate) -> str:
    """`74.9 % [69.8, 79.6] · 38 more for ±2`"""
    said = f"{100 * share.corrected:.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}]"
    more = (
        f" {symbols().separator} {share.needed:,} more for {symbols().plus_minus}{100 * TARGET_HALF_WIDTH:g}"
        if share.needed
        else ""
    )
    return said + more


def rates_line(runs: Sequence[RunRow] | None, cells: int, *, blind: bool = False, share: PassRateEstimate | None = None) -> Line:
    """Official, recomputed (if there is one) and corrected rate (with its interval if `share` is given), and the number
    of import issues."""
    if runs is None:
        return store_loading_line()
    total = sum_rates(runs)
    warnings = _warning_variants(total, lacks_dataset=any(run.info.lacks_dataset for run in runs))
    if blind:
        lefts: list[Line] = [((" blind: other verdicts are hidden until you submit", "dim"),)]
    else:
        lefts = [_format_rates(total, share, short=False), _format_rates(total, share, short=True)]
    both = [(left, text) for left in lefts for text in warnings]
    left, warning = next((each for each in both if line_width(each[0]) + display_width(each[1]) + 2 <= cells), both[-1])
    return justify_line(left, ((warning + " ", "warn"),) if warning else (), cells)


def _format_rates(total: RateTotals, share: PassRateEstimate | None, *, short: bool) -> Line:
    """`short` omits a recomputed rate that does not cover all items."""
    parts: list[StyledText] = [(" official ", "dim"), (format_pass_rate(*total.official, total.items), "strong")]
    if total.rule[1]:
        whole = total.rule[1] == total.items
        shown = symbols().none if short and not whole else format_recomputed_pass_rate(*total.rule, total.items)
        parts += [COLUMN_GAP, ("rule ", "dim"), (shown, "strong" if whole else "dim")]
    corrected = format_pass_rate(*total.effective, total.items) if share is None else format_estimate(share)
    return (*parts, COLUMN_GAP, ("corrected ", "dim"), (corrected, "strong"))


def _warning_variants(total: RateTotals, *, lacks_dataset: bool) -> list[str]:
    """Variants of the warning at the right, the longest first."""
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
    """Position of the cursor, from 1."""
    total: int | None
    reviewed: str = ""
    """Items of a queue file that the annotator has reviewed: `12 of 80`."""


def view_line(view: View, where: str, search: str, progress: QueueProgress, cells: int) -> Line:
    """`filter official:fail   search celsius   ...   failures · 12/640`; of a queue file
    `queue pilot · 12 of 80 done · 13/80`.

    `where` and `search` are shown as they were entered; `view.where` combines both.
    """
    place, total = progress.position, progress.total
    left: list[StyledText] = []
    if view.items:
        left += [(" behind a figure ", "dim"), (format_count(len(view.items), "item"), "strong")]
    if where:
        left += [COLUMN_GAP if left else (" ", ""), ("filter ", "dim"), (sanitize(where), "strong")]
    if search:
        left += [COLUMN_GAP if left else (" ", ""), ("search ", "dim"), (sanitize(search), "strong")]
    if not left:
        all_of = (
            "your share" if view.share else f"{view.queue} items only" if view.queue in PARTIAL_QUEUES else "all items"
        )
        left = [(f" {all_of}", "dim")]
    right: list[StyledText] = [("queue " if view.queue_file else "order ", "dim"), (format_order(view), "strong")]
    if progress.reviewed:
        right += [(f" {symbols().separator} {progress.reviewed} done", "")]
    if total is not None:
        at = f"{place:,}/{total:,}" if place else f"{total:,}"
        right += [(f" {symbols().separator} {at} ", "")]
    if line_width(tuple(left)) + line_width(tuple(right)) >= cells:
        right = right[2 if not progress.reviewed else 0 :]  # what is selected matters more than in which order
    return justify_line(tuple(left), tuple(right), cells)


def search_progress_line(runs: Sequence[RunRow] | None, seconds: float, cancel_key: str) -> str:
    """`searching 1,000,000 items · 2 s · Esc leaves them`"""
    items = f" {format_count(sum_rates(runs).items, 'item')}" if runs else ""
    return progress_message(f"searching{items}", seconds, cancel_key)


def store_loading_line(seconds: float = 0) -> Line:
    """Shown instead of rates until the first rows arrive: ` reading the store · 2 s`"""
    return ((f" {progress_message('reading the store', seconds)} ", "dim"),)


def message_line(message: str, cells: int) -> Line:
    """The rule above the list, with a message in it."""
    line = symbols().rule
    return rule_line(((sanitize(message), "warn"),), cells, line) if message else ((line * cells, "dim"),)


def empty_line(where: str, search: str, reviewed: int) -> Line:
    """Shown instead of rows. `done` is the number of items reviewed in this session."""
    if reviewed and any(term in where.split() for term in UNREVIEWED_TERMS):
        return (
            (
                f" Queue complete ({reviewed:,} reviewed): run fcreview export for labels, fcreview report for figures",
                "good",
            ),
        )
    if not search:
        return ((" no item matches the filter", "warn"),)
    return ((" no item matches the search" + (" and the filter" if where else ""), "warn"),)


def format_order(view: View) -> str:
    name = truncate_middle(sanitize(view.queue), 24)
    return f"{name} (seed {view.seed})" if view.queue in SHUFFLED else name

"""Header lines of the queue: runs and annotator, pass rates, filter and position, messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from fcreview.model.sanitize import visible, width
from fcreview.model.wording import NO_DATASET, count_of
from fcreview.store.rows import CHOOSING, RunRow, View
from fcreview.tui.queue.state import SHUFFLED
from fcreview.tui.text.lines import (
    Line,
    Part,
    cut,
    cut_middle,
    line_width,
    rate_of,
    recomputed,
    rule,
    spread,
    waiting_words,
)
from fcreview.tui.text.theme import symbols

if TYPE_CHECKING:
    from fcreview.stats.estimation import Share

HALF_WIDTH = 0.02
"""Target half-width of the interval of the corrected rate, as a share."""
NO_DATASET_SHORT = "no dataset: --data DIR"
GAP: Part = ("   ", "")


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


def total_rates(runs: Sequence[RunRow]) -> RateTotals:
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
    return visible(run.info.kind)


def titles_of(runs: Sequence[RunRow]) -> str:
    """Titles of several runs: `ACEBench v1 en, zh`, or separated by commas if more than the language differs."""
    languages = {run.info.language for run in runs}
    common = {run_title(run).removesuffix(f" {visible(run.info.language)}") for run in runs}
    if len(common) == 1 and len(languages) > 1:
        return f"{common.pop()} {visible(', '.join(sorted(languages)))}"
    return ", ".join(sorted({run_title(run) for run in runs}))


def run_line(runs: Sequence[RunRow] | None, annotator: str, cells: int, *, blind: bool = False) -> Line:
    """`runs/gpt4o   BFCL V4   gpt-4o   ...   alice · 12 of 640 reviewed (40 by all)`. The number for all annotators
    is shown if it is higher; the path is shown if there is room."""
    if runs is None:
        return spread(((" opening ", "dim"),), ((visible(annotator) + " ", ""),), cells)
    total = total_rates(runs)
    dot = symbols().between
    right: Line = (
        (cut_middle(visible(annotator), 20), "strong"),
        (f" {dot} {total.yours:,} of {total.items:,} reviewed", ""),
        (f" ({total.reviewed:,} by all) " if total.reviewed > total.yours and not blind else " ", "dim"),
    )
    room = cells - line_width(right) - 3
    if not runs:
        return spread(((" no run", "warn"),), right, cells)
    if len(runs) > 1:
        benchmarks = len({run.info.benchmark for run in runs})
        shown = titles_of(runs) if benchmarks == 1 else count_of(benchmarks, "benchmark")
        several: Line = ((" " + count_of(len(runs), "run"), "strong"), GAP, (cut(shown, max(room - 12, 4)), ""))
        return spread(several, right, cells)
    run = runs[0]
    title, model = run_title(run), visible(run.info.model)
    path = "/".join(PurePath(visible(run.info.path)).parts[-2:]).lstrip("/")
    left: Line = ((" " + cut_middle(model, max(room - width(title) - 4, 8)), "strong"), GAP, (title, ""))
    if not path.endswith(model) and width(path) + line_width(left) + 4 <= room:
        left = ((" " + path, ""), GAP, (title, ""), GAP, (model, "strong"))
    return spread(left, right, cells)


def estimate_words(share: Share) -> str:
    """`74.9 % [69.8, 79.6] · 38 more for ±2`"""
    said = f"{100 * share.corrected:.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}]"
    more = (
        f" {symbols().between} {share.needed:,} more for {symbols().plus_minus}{100 * HALF_WIDTH:g}"
        if share.needed
        else ""
    )
    return said + more


def rates_line(runs: Sequence[RunRow] | None, cells: int, *, blind: bool = False, share: Share | None = None) -> Line:
    """Official, recomputed (if there is one) and corrected rate (with its interval if `share` is given), and the number
    of import issues."""
    if runs is None:
        return reading_line()
    total = total_rates(runs)
    warnings = _warnings(total, lacking=any(run.info.lacks_dataset for run in runs))
    if blind:
        lefts: list[Line] = [((" blind: other verdicts are hidden until you submit", "dim"),)]
    else:
        lefts = [_rate_parts(total, share, short=False), _rate_parts(total, share, short=True)]
    both = [(left, text) for left in lefts for text in warnings]
    left, warning = next((each for each in both if line_width(each[0]) + width(each[1]) + 2 <= cells), both[-1])
    return spread(left, ((warning + " ", "warn"),) if warning else (), cells)


def _rate_parts(total: RateTotals, share: Share | None, *, short: bool) -> Line:
    """`short` omits a recomputed rate that does not cover all items."""
    parts: list[Part] = [(" official ", "dim"), (rate_of(*total.official, total.items), "strong")]
    if total.rule[1]:
        whole = total.rule[1] == total.items
        shown = symbols().none if short and not whole else recomputed(*total.rule, total.items)
        parts += [GAP, ("rule ", "dim"), (shown, "strong" if whole else "dim")]
    corrected = rate_of(*total.effective, total.items) if share is None else estimate_words(share)
    return (*parts, GAP, ("corrected ", "dim"), (corrected, "strong"))


def _warnings(total: RateTotals, *, lacking: bool) -> list[str]:
    """Variants of the warning at the right, the longest first."""
    issues = [count_of(total.issues, "import issue")] if total.issues else []
    if not lacking:
        return [*issues, count_of(total.issues, "issue")] if issues else [""]
    return [*(", ".join([text, *issues]) for text in (NO_DATASET, NO_DATASET_SHORT)), NO_DATASET_SHORT, "no dataset"]


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """Position and progress of the annotator in the queue."""

    place: int | None
    """Position of the cursor, from 1."""
    total: int | None
    done: str = ""
    """Items of a queue file that the annotator has reviewed: `12 of 80`."""


def view_line(view: View, where: str, search: str, progress: QueueProgress, cells: int) -> Line:
    """`filter official:fail   search celsius   ...   failures · 12/640`; of a queue file
    `queue pilot · 12 of 80 done · 13/80`.

    `where` and `search` are shown as they were entered; `view.where` combines both.
    """
    place, total = progress.place, progress.total
    left: list[Part] = []
    if view.items:
        left += [(" behind a figure ", "dim"), (count_of(len(view.items), "item"), "strong")]
    if where:
        left += [GAP if left else (" ", ""), ("filter ", "dim"), (visible(where), "strong")]
    if search:
        left += [GAP if left else (" ", ""), ("search ", "dim"), (visible(search), "strong")]
    if not left:
        all_of = "your share" if view.share else f"{view.queue} items only" if view.queue in CHOOSING else "all items"
        left = [(f" {all_of}", "dim")]
    right: list[Part] = [("queue " if view.file else "order ", "dim"), (order_name(view), "strong")]
    if progress.done:
        right += [(f" {symbols().between} {progress.done} done", "")]
    if total is not None:
        at = f"{place:,}/{total:,}" if place else f"{total:,}"
        right += [(f" {symbols().between} {at} ", "")]
    if line_width(tuple(left)) + line_width(tuple(right)) >= cells:
        right = right[2 if not progress.done else 0 :]  # what is selected matters more than in which order
    return spread(tuple(left), tuple(right), cells)


def search_progress_line(runs: Sequence[RunRow] | None, seconds: float, leave: str) -> str:
    """`searching 1,000,000 items · 2 s · Esc leaves them`"""
    items = f" {count_of(total_rates(runs).items, 'item')}" if runs else ""
    return waiting_words(f"searching{items}", seconds, leave)


def reading_line(seconds: float = 0) -> Line:
    """Shown instead of rates until the first rows arrive: ` reading the store · 2 s`"""
    return ((f" {waiting_words('reading the store', seconds)} ", "dim"),)


def message_line(message: str, cells: int) -> Line:
    """The rule above the list, with a message in it."""
    line = symbols().rule
    return rule(((visible(message), "warn"),), cells, line) if message else ((line * cells, "dim"),)


def empty_line(where: str, search: str, done: int) -> Line:
    """Shown instead of rows. `done` is the number of items reviewed in this session."""
    if done and any(term in where.split() for term in UNREVIEWED_TERMS):
        return (
            (
                f" Queue complete ({done:,} reviewed): run fcreview export for labels, fcreview report for figures",
                "good",
            ),
        )
    if not search:
        return ((" no item matches the filter", "warn"),)
    return ((" no item matches the search" + (" and the filter" if where else ""), "warn"),)


def order_name(view: View) -> str:
    name = cut_middle(visible(view.queue), 24)
    return f"{name} (seed {view.seed})" if view.queue in SHUFFLED else name

"""Format the lines above the queue (path, progress, pass rates, filter, order, position) and the
names of runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fcreview.model.incident import format_incident_kind
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import (
    INCIDENT_PREFIX,
    NO_DATASET_MESSAGE,
    describe_error_type,
    format_count,
    format_rate_without_incidents,
)
from fcreview.store.filters.tokens import FAILING_FILTER
from fcreview.store.rows import PARTIAL_QUEUES, SUSPECTS_QUEUE, RunRow, View
from fcreview.tui.queue.state import SHUFFLED, QueueProgress, QueueState, ReviewProgress
from fcreview.tui.text.graphics import interval_bar, progress_bar_line, share_bar
from fcreview.tui.text.lines import (
    Line,
    StyledText,
    format_pass_rate,
    format_recomputed_pass_rate,
    justify_line,
    line_width,
    progress_message,
    truncate,
    truncate_middle,
)
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.styles import symbols

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate

TARGET_HALF_WIDTH = 0.02
"""Half width of the 95 % interval for which `labels needed` are counted: ±2 points."""
NO_DATASET_SHORT = "no dataset: --data DIR"
COLUMN_GAP: StyledText = ("   ", "")
MAX_PATH_CELLS = 40
WIDE_TOP_LINE = 100


class PassCounts(NamedTuple):
    """Numbers of items that pass and that have a verdict, according to one source of verdicts."""

    n_passing: int
    n_with_verdict: int


NO_PASS_COUNTS = PassCounts(0, 0)


@dataclass(frozen=True, slots=True)
class RunTotals:
    """Item counts, added up over several runs."""

    items: int
    official: PassCounts
    rule: PassCounts
    judge: PassCounts
    effective: PassCounts
    reviewed: int
    yours: int
    issues: int
    disputed: int = 0
    notices: int = 0
    """Number of `issues` that are harmless."""
    incidents: int = 0
    official_without_incidents: PassCounts = NO_PASS_COUNTS
    rule_without_incidents: PassCounts = NO_PASS_COUNTS
    judge_without_incidents: PassCounts = NO_PASS_COUNTS


def sum_run_counts(runs: Sequence[RunRow]) -> RunTotals:
    """Add up the counts of several runs."""

    def sum_pass_counts(source: str, suffix: str = "") -> PassCounts:
        passes, known = f"{source}_pass{suffix}", f"{source}_known{suffix}"
        return PassCounts(
            sum(getattr(run, passes) for run in runs), sum(getattr(run, known) for run in runs)
        )

    return RunTotals(
        items=sum(run.n_items for run in runs),
        official=sum_pass_counts("official"),
        rule=sum_pass_counts("rule"),
        judge=sum_pass_counts("judge"),
        effective=sum_pass_counts("effective"),
        reviewed=sum(run.reviewed for run in runs),
        yours=sum(run.yours for run in runs),
        issues=sum(run.n_issues for run in runs)
        + max((run.n_search_issues for run in runs), default=0),
        notices=sum(run.n_notices for run in runs)
        + max((run.n_search_notices for run in runs), default=0),
        disputed=sum(run.disputed for run in runs),
        incidents=sum(run.incidents for run in runs),
        official_without_incidents=sum_pass_counts("official", "_without_incidents"),
        rule_without_incidents=sum_pass_counts("rule", "_without_incidents"),
        judge_without_incidents=sum_pass_counts("judge", "_without_incidents"),
    )


ERROR_TERM = re.compile(r'error:"?([^\s"]+)"?')
UNREVIEWED_TERMS = ("-reviewed", "you:none", "you:unknown")


def format_run_title(run: RunRow) -> str:
    """Return the benchmark with version and language: `ACEBench v1 en`."""
    return sanitize(run.info.full_title)


def join_run_titles(runs: Sequence[RunRow]) -> str:
    """Return the titles of the runs.

    Titles that differ only in the language are joined: `ACEBench v1 en, zh`.
    """
    languages = {run.info.language for run in runs}
    common = {format_run_title(run).removesuffix(f" {sanitize(run.info.language)}") for run in runs}
    if len(common) == 1 and len(languages) > 1:
        return f"{common.pop()} {sanitize(', '.join(sorted(languages)))}"
    return ", ".join(sorted({format_run_title(run) for run in runs}))


def list_queue_breadcrumbs(
    runs: Sequence[RunRow] | None, view: View, filter_text: str, search_text: str
) -> tuple[str, ...]:
    """Return the path in the top line: the model or the number of runs, then the filter, search,
    selection or order. `runs` is None until the store is open.
    """
    if runs is None:
        return ("opening",)
    name = format_run_name(runs[0]) if len(runs) == 1 else format_count(len(runs), "run")
    if filter_text == FAILING_FILTER and not search_text:
        return name, "failures"
    if filter_text or search_text:
        text = _describe_filter(filter_text) if filter_text else f"search {search_text}"
        return name, truncate(sanitize(text), MAX_PATH_CELLS)
    if view.items:
        return name, format_count(len(view.items), "selected item")
    return name, _shorten_queue_name(view) if view.queue_file else _describe_order(
        view
    ).removeprefix("order ")


def _describe_filter(filter_text: str) -> str:
    """Return a filter, in words if it selects failing items: `failures: value has the wrong
    type`.
    """
    failing, _, rest = filter_text.partition(f"{FAILING_FILTER} ")
    rest = rest.removesuffix(" incident:none")
    if failing or not rest:
        return filter_text
    if rest.startswith(INCIDENT_PREFIX):
        return f"incidents: {format_incident_kind(rest.removeprefix(INCIDENT_PREFIX))}"
    error = ERROR_TERM.fullmatch(rest)
    return f"failures: {(describe_error_type(error[1]) if error else '') or rest}"


def top_progress_line(
    annotator: str, progress: ReviewProgress | None, width: int, *, n_reviewed_by_anyone: int = 0
) -> Line:
    """Return the right end of the top line: a bar, `84 of 401 reviewed` and the annotator.
    `n_reviewed_by_anyone`: 0 in blind mode, where this number is hidden.
    """
    name: StyledText = (truncate_middle(sanitize(annotator), 20), "people")
    if progress is None:
        return (name,)
    done, total = progress
    wide = width >= WIDE_TOP_LINE
    counts = f"  {done:,} of {total:,}" + (" reviewed" if wide else "")
    anyone_counts = (
        f" ({n_reviewed_by_anyone:,} by anyone)" if wide and n_reviewed_by_anyone > done else ""
    )
    parts = share_bar(done / total if total else 0, 20 if wide else 8) if total else ()
    return (*parts, (counts, "strong"), (anyone_counts, "dim"), ("   ", ""), name)


def queue_progress_line(progress: QueueProgress, width: int) -> Line:
    """Return an annotator's progress in a queue file: `pilot · anna  ━━━━──── 12 / 30`."""
    share = progress.share
    name = f"{sanitize(progress.queue)} {symbols().separator} {sanitize(share.annotator)}"
    return progress_bar_line(name, share.done, share.total, width)


def format_rate_and_interval(estimate: PassRateEstimate) -> str:
    """Return `75.3 % [72.9, 77.7]`.

    If too many sampled items are undecided, return the range of the rate instead.
    """
    if estimate.is_bounds_headline and estimate.bounds is not None:
        return format_rate_range(*estimate.bounds)
    return f"{100 * estimate.estimated:.1f} % [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def format_rate_range(low: float, high: float) -> str:
    """Return `72.9 to 77.7 %` for a range from 0.729 to 0.777."""
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def format_estimate(estimate: PassRateEstimate, *, is_short: bool = False) -> str:
    """Format an estimated pass rate with its 95 % interval: `74.9 % [69.8, 79.6] · 38 more labels
    for ±2`.

    If the sample has undecided items, the last part is the range of the rate instead of the labels
    needed. If too many items are undecided, return only the range. `is_short` omits the labels
    needed and the words after the range.
    """
    text = format_rate_and_interval(estimate)
    if estimate.bounds is not None:
        reason = (
            ""
            if is_short
            else f", depending on {format_count(estimate.n_undecided, 'undecided item')}"
        )
        bounds = (
            ""
            if estimate.is_bounds_headline
            else f" {symbols().separator} {format_rate_range(*estimate.bounds)}"
        )
        return text + bounds + reason
    if not estimate.needed or is_short:
        return text
    target = f"{symbols().plus_minus}{100 * TARGET_HALF_WIDTH:g}"
    return (
        f"{text} {symbols().separator} {format_count(estimate.needed, 'more label')} for {target}"
    )


def estimate_bar(estimate: PassRateEstimate, run: RunRow, width: int) -> Line:
    """Draw the interval of an estimate on a scale from 0 to 100 %, with a mark at the official
    score.
    """
    low, high = (
        estimate.bounds
        if estimate.is_bounds_headline and estimate.bounds
        else (estimate.low, estimate.high)
    )
    official = run.official_pass / run.n_items if run.official_known == run.n_items > 0 else None
    return interval_bar(low, estimate.estimated, high, (0, 1), width, official)


def rates_line(
    runs: Sequence[RunRow] | None,
    width: int,
    *,
    blind: bool = False,
    estimate: PassRateEstimate | None = None,
    adjudicate_key: str = "",
) -> Line:
    """Return the line with pass rates and warnings. In blind mode, it has no rates.

    Args:
        runs: None until the runs are read.
        adjudicate_key: Displayed name of the key that opens the disagreements.
    """
    if runs is None:
        return store_loading_line()
    total = sum_run_counts(runs)
    lacks_dataset = any(run.info.lacks_dataset for run in runs)
    warnings = _list_warning_variants(total, lacks_dataset=lacks_dataset)
    if blind:
        lefts: list[Line] = [((" blind: other verdicts are hidden until you submit", "dim"),)]
    else:
        steps = (
            "word",
            "incidents",
            "details",
            *(("corrected", "interval") if estimate else ()),
            "disagreements",
            "repeated",
            "only count",
        )
        rates = [
            _format_rates(total, estimate, steps[:at], lacks_dataset=lacks_dataset)
            for at in range(len(steps) + 1)
        ]
        disagreements = _format_disagreement_variants(total.disputed, adjudicate_key)
        lefts = [
            (*line, *disagreements["disagreements" in steps[:at]]) for at, line in enumerate(rates)
        ]
    both = [(left, text) for left in lefts for text in warnings]
    left, warning = next(
        (each for each in both if line_width(each[0]) + display_width(each[1]) + 2 <= width),
        both[-1],
    )
    style = "warn" if lacks_dataset or total.issues > total.notices else "dim"
    return justify_line(left, ((warning + " ", style),) if warning else (), width)


def _format_rates(
    totals: RunTotals,
    estimate: PassRateEstimate | None,
    shortening_steps: Sequence[str],
    *,
    lacks_dataset: bool,
) -> Line:
    """Format the rates.

    Args:
        shortening_steps: Steps that make the line shorter. `word`: write `recomp.` instead of
        `recomputed`.
            `incidents`: shorten the rate without incidents. `details`: omit the number of
            recomputed verdicts behind a dash. `corrected`: omit the corrected rate. `interval`:
            shorten the estimate. `repeated`: omit the recomputed rate, or the corrected rate if
            only the recomputed rate differs from the official rate. `only count`: state only the
            number of incidents.
    """
    covers_all = totals.rule.n_with_verdict == totals.items
    only_recomputed_differs = covers_all and totals.effective == totals.official != totals.rule
    omitted = {"corrected"} if "corrected" in shortening_steps else set()
    if "repeated" in shortening_steps:
        omitted.add("corrected" if only_recomputed_differs else "recomputed")
    is_judged = (
        totals.judge.n_with_verdict
        and not totals.official.n_with_verdict
        and not totals.rule.n_with_verdict
    )
    title, counts = (" judge ", totals.judge) if is_judged else (" official ", totals.official)
    parts: list[StyledText] = [(title, "dim"), (format_pass_rate(*counts, totals.items), "strong")]
    if totals.incidents:
        parts += _format_rate_without_incidents(totals, shortening_steps, is_judged=bool(is_judged))
    if totals.rule.n_with_verdict and "recomputed" not in omitted:
        is_short = "details" in shortening_steps and not covers_all
        rate = format_recomputed_pass_rate(*totals.rule, totals.items, lacks_dataset=lacks_dataset)
        if is_short:
            rate = rate.partition(" (")[0]
        title = "recomp. " if "word" in shortening_steps else "recomputed "
        parts += [COLUMN_GAP, (title, "dim"), (rate, "strong" if covers_all else "dim")]
    if "corrected" not in omitted:
        corrected = format_pass_rate(*totals.effective, totals.items)
        parts += [COLUMN_GAP, ("corrected ", "dim"), (corrected, "strong")]
    if estimate is not None:
        text = format_estimate(estimate, is_short="interval" in shortening_steps)
        parts += [COLUMN_GAP, ("estimated ", "dim"), (text, "strong")]
    return tuple(parts)


def _format_rate_without_incidents(
    totals: RunTotals, shortening_steps: Sequence[str], *, is_judged: bool
) -> Line:
    """Return ` · without 29 incidents 46.9 % (211)` for the rate before it, else ` · w/o 29
    incidents 46.9 %`, else the number of incidents.
    """
    if "only count" in shortening_steps:
        return ((f" {symbols().separator} {format_count(totals.incidents, 'incident')}", "warn"),)
    is_short = "incidents" in shortening_steps
    counts = totals.official_without_incidents
    if is_judged:
        counts = totals.judge_without_incidents
    n_answered = totals.items - totals.incidents
    rate = format_rate_without_incidents(*counts, n_answered)
    if is_short and n_answered:
        rate = rate.partition(" (")[0]
    word = "w/o" if is_short else "without"
    text = f" {symbols().separator} {word} {format_count(totals.incidents, 'incident')} "
    return ((text, "dim"), (rate, "warn" if not n_answered else "strong"))


def _format_disagreement_variants(count: int, adjudicate_key: str) -> tuple[Line, Line]:
    """Return a long and a short text about the open disagreements, both empty if there are none."""
    if not count:
        return (), ()
    long: Line = (COLUMN_GAP, (format_count(count, "disagreement"), "disputed"))
    hint: Line = ((": press ", "dim"), (adjudicate_key, "key")) if adjudicate_key else ()
    return (*long, *hint), (COLUMN_GAP, (f"{count:,} unresolved", "disputed"))


def _list_warning_variants(totals: RunTotals, *, lacks_dataset: bool) -> list[str]:
    """Return texts about a missing dataset or import issues, the longest first."""
    n_issues = totals.issues - totals.notices
    issues = [format_count(n_issues, "import issue")] if n_issues else []
    if not lacks_dataset:
        notice = format_count(totals.notices, "notice") if totals.notices else ""
        return [*issues, format_count(n_issues, "issue")] if issues else [notice]
    return [
        *(", ".join([text, *issues]) for text in (NO_DATASET_MESSAGE, NO_DATASET_SHORT)),
        NO_DATASET_SHORT,
        "no dataset",
    ]


@dataclass(frozen=True, slots=True)
class QueueCursor:
    """Cursor in the queue, as the queue's facts show it."""

    position: int | None = None
    """Position of the cursor from 1. None if the queue is empty."""
    total: int | None = None
    """Number of items in the queue. None until they are counted."""
    run_name: str = ""
    """Full name of the run under the cursor.

    Empty unless the list shows a short form of the name.
    """
    n_strong: int | None = None
    """Number of strong suspects. None except in the queue of suspects."""
    n_strong_questions: int | None = None
    """Number of different questions of the strong suspects."""


def format_queue_facts(
    runs: Sequence[RunRow] | None,
    view: View,
    filter_text: str,
    search_text: str,
    cursor: QueueCursor,
    width: int,
) -> str:
    """Return `BFCL V4 · filter official:fail · failures first · 12/640`.

    If there is no room, omit the benchmark, then the order. If there is still no room, return only
    the position with the run name or, if `cursor` has none, with the shortened filter.
    """
    position, total = cursor.position, cursor.total
    selection = [f"selected {format_count(len(view.items), 'item')}"] if view.items else []
    selection += [f"filter {sanitize(filter_text)}"] if filter_text else []
    selection += [f"search {sanitize(search_text)}"] if search_text else []
    if not selection:
        partial = view.queue if view.queue == SUSPECTS_QUEUE else f"{view.queue} items"
        items = f"{partial} only" if view.queue in PARTIAL_QUEUES else "all items"
        selection = ["your items" if view.share else items]
    is_named = selection[0].endswith(" only")
    if view.queue == SUSPECTS_QUEUE and cursor.n_strong is not None:
        is_named, strong = True, f"suspects, {_format_strong_suspects(cursor)}"
        selection = [strong] if selection[0].endswith(" only") else [*selection, strong]
    order = () if is_named else (_describe_order(view),)
    counts = [] if total is None else [f"{position:,}/{total:,}" if position else f"{total:,}"]
    separator = f" {symbols().separator} "
    n_benchmarks = len({run.info.benchmark for run in runs or ()})
    titles = (
        [join_run_titles(runs) if n_benchmarks == 1 else format_count(n_benchmarks, "benchmark")]
        if runs
        else []
    )
    end = separator.join(["", *counts])
    room = max(width - display_width(end), 1)
    run_name = [truncate_middle(sanitize(cursor.run_name), room)] if cursor.run_name else []
    for parts in ([*titles, *selection, *order], [*selection, *order], selection):
        text = separator.join([*parts, *run_name]) + end
        if display_width(text) <= width:
            return text
    return (*run_name, truncate(separator.join(selection), room))[0] + end


def _format_strong_suspects(cursor: QueueCursor) -> str:
    """Return `382 strong`, or `382 strong (354 questions)` if benchmarks repeat a question."""
    text = f"{cursor.n_strong:,} strong"
    if cursor.n_strong_questions in (None, cursor.n_strong):
        return text
    return f"{text} ({format_count(cursor.n_strong_questions, 'question')})"


def describe_loading(state: QueueState, runs: Sequence[RunRow] | None) -> str:
    """Describe what the queue is loading: `searching 8,282 items`, `loading suspects`."""
    if state.where or state.search:
        return (
            f"searching {format_count(sum_run_counts(runs).items, 'item')}" if runs else "searching"
        )
    return (
        f"loading {state.queue}" if state.queue in ("failures", SUSPECTS_QUEUE) else "loading items"
    )


def store_loading_line(seconds: float = 0) -> Line:
    """Return the line that replaces the rates until the first rows are loaded: `reading the
    store · 2 s`.
    """
    return ((f" {progress_message('reading the store', seconds)} ", "dim"),)


def empty_queue_line(filter_text: str, search_text: str, n_reviewed: int) -> Line:
    """Return the line that an empty list shows.

    `n_reviewed`: number of items reviewed in this session.
    """
    if n_reviewed and any(term in filter_text.split() for term in UNREVIEWED_TERMS):
        text = (
            f"Queue complete: {format_count(n_reviewed, 'item')} reviewed. Run fcreview export or"
            " fcreview report"
        )
        return ((f" {text}", "good"),)
    if search_text and filter_text:
        return ((" no item matches the search and the filter", "warn"),)
    return (
        (" no item matches the search" if search_text else " no item matches the filter", "warn"),
    )


def _describe_order(view: View) -> str:
    """Return the view's queue file or order: `queue pilot`, `failures first`, `order random
    (seed 3)`.
    """
    if view.queue_file:
        return f"queue {_shorten_queue_name(view)}"
    if view.queue in ("failures", "unreviewed"):
        return f"{view.queue} first"
    return f"order {_shorten_queue_name(view)}" + (
        f" (seed {view.seed})" if view.queue in SHUFFLED else ""
    )


def _shorten_queue_name(view: View) -> str:
    return truncate_middle(sanitize(view.queue), 24)

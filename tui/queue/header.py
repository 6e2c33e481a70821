"""Format the lines above the queue (path, progress, pass rates, filter, order, position) and the
names of runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
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
from fcreview.tables.estimates import format_pass_rate_estimate, format_pass_rate_range
from fcreview.tui.queue_state import SHUFFLED, QueueProgress, QueueState, ReviewProgress
from fcreview.tui.text.graphics import interval_bar, progress_bar_line, share_bar
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    LineBuilder,
    StyledText,
    format_pass_rate,
    format_recomputed_pass_rate,
    justify_line,
    line_width,
    make_line,
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
MIN_RUN_NAME_CELLS = 12
MIN_SEARCH_CELLS = 16
"""Smallest widths, in cells, of a cut run name and of a cut search or filter beside it."""
MAX_NAME_BESIDE_FILTER = 24
"""Part of the title, in cells, that a cut filter leaves to the run name."""
WIDE_TOP_LINE = 100
WIDE_TOP_BAR_CELLS = 20
NARROW_TOP_BAR_CELLS = 8


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
    """Add up the counts of several runs, such as items, passes by source, and import issues.

    A pass count is a pair: items that pass, and items with a verdict.
    """
    # Each run repeats the number of import issues that belong to no run, so these are not summed.
    n_search_issues = max((run.n_search_issues for run in runs), default=0)
    n_search_notices = max((run.n_search_notices for run in runs), default=0)
    return RunTotals(
        items=sum(run.n_items for run in runs),
        official=_sum_counts((run.official_pass, run.official_known) for run in runs),
        rule=_sum_counts((run.rule_pass, run.rule_known) for run in runs),
        judge=_sum_counts((run.judge_pass, run.judge_known) for run in runs),
        effective=_sum_counts((run.effective_pass, run.effective_known) for run in runs),
        reviewed=sum(run.reviewed for run in runs),
        yours=sum(run.yours for run in runs),
        issues=sum(run.n_issues for run in runs) + n_search_issues,
        notices=sum(run.n_notices for run in runs) + n_search_notices,
        disputed=sum(run.disputed for run in runs),
        incidents=sum(run.incidents for run in runs),
        official_without_incidents=_sum_counts(
            (run.official_pass_without_incidents, run.official_known_without_incidents)
            for run in runs
        ),
        rule_without_incidents=_sum_counts(
            (run.rule_pass_without_incidents, run.rule_known_without_incidents) for run in runs
        ),
        judge_without_incidents=_sum_counts(
            (run.judge_pass_without_incidents, run.judge_known_without_incidents) for run in runs
        ),
    )


def _sum_counts(counts: Iterable[tuple[int, int]]) -> PassCounts:
    """Add up pairs of (passing items, items with a verdict)."""
    n_passing = 0
    n_with_verdict = 0
    for n_passing_of_run, n_with_verdict_of_run in counts:
        n_passing += n_passing_of_run
        n_with_verdict += n_with_verdict_of_run
    return PassCounts(n_passing, n_with_verdict)


ERROR_TERM = re.compile(r'error:"?(?P<error_type>[^\s"]+)"?')
UNREVIEWED_TERMS = ("-reviewed", "you:none", "you:unknown")


def format_run_title(run: RunRow) -> str:
    """Return the benchmark with version and language: `ACEBench v1 en`."""
    return sanitize(run.info.full_title)


def join_run_titles(runs: Sequence[RunRow]) -> str:
    """Return the titles of the benchmarks of the runs: `ACEBench v1, BFCL V4`.

    Titles that differ only in the language are joined: `ACEBench v1 en, zh`.
    """
    languages = {run.info.language for run in runs}
    titles_without_language = set()
    for run in runs:
        language = sanitize(run.info.language)
        titles_without_language.add(format_run_title(run).removesuffix(f" {language}"))
    if len(titles_without_language) == 1 and len(languages) > 1:
        (title,) = titles_without_language
        return f"{title} {sanitize(', '.join(sorted(languages)))}"
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
    return name, _name_queue_content(view, filter_text, search_text)


def _name_queue_content(view: View, filter_text: str, search_text: str) -> str:
    """Return a short name of the items in the queue, for the path at the top of the screen."""
    if filter_text == FAILING_FILTER and not search_text:
        return "failures"
    if filter_text:
        return truncate(sanitize(_describe_filter(filter_text)), MAX_PATH_CELLS)
    if search_text:
        return truncate(sanitize(f"search {search_text}"), MAX_PATH_CELLS)
    if view.items:
        return format_count(len(view.items), "selected item")
    if view.queue_file:
        return _shorten_queue_name(view)
    return _describe_order(view).removeprefix("order ")


def _describe_filter(filter_text: str) -> str:
    """Return a filter in words if it selects a cause of failures.

    Such a filter is `FAILING_FILTER` with one of these, perhaps followed by `incident:none`:

    - the kind of an incident: `incidents: rate limit`
    - an error type with a known meaning: `failures: value has the wrong type`
    - other terms, which are kept: `failures: category:simple`

    Other filters are returned as they are.
    """
    beginning = f"{FAILING_FILTER} "
    if not filter_text.startswith(beginning):
        return filter_text
    cause = filter_text.removeprefix(beginning).removesuffix(" incident:none")
    if not cause:
        return filter_text
    if cause.startswith(INCIDENT_PREFIX):
        incident = cause.removeprefix(INCIDENT_PREFIX)
        return f"incidents: {format_incident_kind(incident)}"

    error_term = ERROR_TERM.fullmatch(cause)
    meaning = describe_error_type(error_term["error_type"]) if error_term else ""
    return f"failures: {meaning or cause}"


MAX_ANNOTATOR_CELLS = 20


def top_progress_line(
    annotator: str, progress: ReviewProgress | None, width: int, *, n_reviewed_by_anyone: int = 0
) -> Line:
    """Return the right end of the top line: a progress bar, `84 of 401 reviewed`, and the
    annotator.

    Without a queue to review, it is only the annotator. `n_reviewed_by_anyone`: also counts the
    other annotators; 0 in blind mode, which hides their number.
    """
    name = truncate_middle(sanitize(annotator), MAX_ANNOTATOR_CELLS)
    if progress is None or not progress.n_items:
        return make_line(name, "people")

    n_reviewed, n_items = progress
    is_wide = width >= WIDE_TOP_LINE
    line = LineBuilder()
    bar_cells = WIDE_TOP_BAR_CELLS if is_wide else NARROW_TOP_BAR_CELLS
    line.add_line(share_bar(n_reviewed / n_items, bar_cells))
    line.add(f"  {n_reviewed:,} of {n_items:,}", "strong")
    if is_wide:
        line.add(" reviewed", "strong")
    if is_wide and n_reviewed_by_anyone > n_reviewed:
        line.add(f" ({n_reviewed_by_anyone:,} by anyone)", "dim")
    line.add("   ")
    line.add(name, "people")
    return line.build()


def queue_progress_line(progress: QueueProgress, width: int) -> Line:
    """Return an annotator's progress in a queue file: `pilot · anna  ━━━━──── 12 / 30`."""
    share = progress.share
    name = f"{sanitize(progress.queue)} {symbols().separator} {sanitize(share.annotator)}"
    return progress_bar_line(name, share.done, share.total, width)


def format_estimate(estimate: PassRateEstimate, *, is_short: bool = False) -> str:
    """Format an estimated pass rate with its 95 % interval: `74.9 % [69.8, 79.6] · 38 more labels
    for ±2`.

    If annotators have not decided some items of the sample, the range in which the rate can lie
    replaces the number of labels. If many items are undecided, the text is only this range. With
    `is_short`, the number of labels and the number of undecided items are omitted.
    """
    separator = f" {symbols().separator} "
    text = format_pass_rate_estimate(estimate)
    if estimate.bounds is not None:
        if not estimate.is_bounds_headline:
            text += separator + format_pass_rate_range(*estimate.bounds)
        if not is_short:
            text += f", depending on {format_count(estimate.n_undecided, 'undecided item')}"
        return text

    if not estimate.needed or is_short:
        return text
    target = f"{symbols().plus_minus}{100 * TARGET_HALF_WIDTH:g}"
    return f"{text}{separator}{format_count(estimate.needed, 'more label')} for {target}"


def estimate_bar(estimate: PassRateEstimate, run: RunRow, width: int) -> Line:
    """Draw the interval of an estimated pass rate, with a mark at the official pass rate."""
    low = estimate.low
    high = estimate.high
    # Too many items are undecided for an interval, so the bar shows the possible range.
    if estimate.is_bounds_headline and estimate.bounds is not None:
        low, high = estimate.bounds
    return interval_bar(
        low,
        estimate.estimated,
        high,
        scale=(0, 1),
        cells=width,
        marked_value=find_official_rate(run),
    )


def find_official_rate(run: RunRow) -> float | None:
    """Return the official pass rate (0 to 1). None unless every item has an official verdict."""
    if run.n_items == 0 or run.official_known != run.n_items:
        return None
    return run.official_pass / run.n_items


def rates_line(
    runs: Sequence[RunRow] | None,
    width: int,
    *,
    blind: bool = False,
    estimate: PassRateEstimate | None = None,
    adjudicate_key: str = "",
) -> Line:
    """Return the line below the title of the queue: pass rates on the left, warnings on the right.

    In blind mode, the rates are hidden. If the line is too long, both sides are shortened.

    Args:
        runs: None until the runs are read.
        adjudicate_key: Displayed name of the key that opens the disagreements.
    """
    if runs is None:
        return store_loading_line()

    totals = sum_run_counts(runs)
    lacks_dataset = any(run.info.lacks_dataset for run in runs)
    if blind:
        rates = [make_line(" blind: other verdicts are hidden until you submit", "dim")]
    else:
        rates = _list_rate_variants(totals, estimate, adjudicate_key, lacks_dataset=lacks_dataset)
    warnings = _list_warning_variants(totals, lacks_dataset=lacks_dataset)
    shown_rates, warning = _choose_variants(rates, warnings, width)

    right = BLANK_LINE
    if warning:
        # A missing dataset and most import issues can make the rates wrong. Notices do not.
        is_serious = lacks_dataset or totals.issues > totals.notices
        right = make_line(f"{warning} ", "warn" if is_serious else "dim")
    return justify_line(shown_rates, right, width)


def _choose_variants(
    rates: Sequence[Line], warnings: Sequence[str], width: int
) -> tuple[Line, str]:
    """Return the longest rates and the longest warning that fit into `width`. The warning is
    shortened before the rates. If nothing fits, return the shortest.
    """
    for line in rates:
        for warning in warnings:
            if line_width(line) + display_width(warning) + 2 <= width:
                return line, warning
    return rates[-1], warnings[-1]


class _Shortening(Enum):
    """Step that makes the rates shorter."""

    RECOMPUTED_WORD = "write `recomp.` instead of `recomputed`"
    INCIDENTS = "shorten the rate without incidents"
    DETAILS = "omit the number of recomputed verdicts behind a dash"
    CORRECTED = "omit the corrected rate"
    INTERVAL = "shorten the estimate"
    DISAGREEMENTS = "shorten the number of disagreements"
    REPEATED = "omit the rate that repeats another one"
    ONLY_COUNT = "state only the number of incidents"
    NO_DISAGREEMENTS = "omit the number of disagreements, which the overview has"


def _list_rate_variants(
    totals: RunTotals,
    estimate: PassRateEstimate | None,
    adjudicate_key: str,
    *,
    lacks_dataset: bool,
) -> list[Line]:
    """Return the left side of the line in forms of decreasing length: rates and open disagreements.

    The first form is complete. Each next form shortens one more part, the least important one
    first.
    """
    least_important_first = [
        _Shortening.RECOMPUTED_WORD,
        _Shortening.INCIDENTS,
        _Shortening.DETAILS,
    ]
    if estimate is not None:
        least_important_first += [_Shortening.CORRECTED, _Shortening.INTERVAL]
    least_important_first += [
        _Shortening.DISAGREEMENTS,
        _Shortening.REPEATED,
        _Shortening.ONLY_COUNT,
        _Shortening.NO_DISAGREEMENTS,
    ]

    variants = []
    for n_shortened in range(len(least_important_first) + 1):
        shortenings = frozenset(least_important_first[:n_shortened])
        parts = _format_rates(totals, estimate, shortenings, lacks_dataset=lacks_dataset)
        if _Shortening.NO_DISAGREEMENTS not in shortenings:
            is_short = _Shortening.DISAGREEMENTS in shortenings
            parts += _format_disagreements(totals.disputed, adjudicate_key, is_short=is_short)
        variants.append(parts)
    return variants


def _format_rates(
    totals: RunTotals,
    estimate: PassRateEstimate | None,
    shortenings: frozenset[_Shortening],
    *,
    lacks_dataset: bool,
) -> Line:
    """Format the pass rates of the runs: official (or judge), recomputed, corrected and estimated.

    The corrected rate counts reviewed verdicts in place of automatic ones. `shortenings`: parts to
    shorten or omit.
    """
    line = LineBuilder()
    line.add_line(_format_first_rate(totals, shortenings))

    omitted_rates = _choose_omitted_rates(totals, shortenings)
    if "recomputed" not in omitted_rates:
        line.add_line(_format_recomputed_rate(totals, shortenings, lacks_dataset=lacks_dataset))
    if "corrected" not in omitted_rates:
        line.add(*COLUMN_GAP)
        line.add("corrected ", "dim")
        line.add(format_pass_rate(*totals.effective, totals.items), "strong")

    if estimate is not None:
        line.add(*COLUMN_GAP)
        line.add("estimated ", "dim")
        is_short = _Shortening.INTERVAL in shortenings
        line.add(format_estimate(estimate, is_short=is_short), "strong")
    return line.build()


def _choose_omitted_rates(totals: RunTotals, shortenings: frozenset[_Shortening]) -> set[str]:
    """Return which of the rates `recomputed` and `corrected` are not shown."""
    omitted = set()
    if not totals.rule.n_with_verdict:
        omitted.add("recomputed")
    if _Shortening.CORRECTED in shortenings:
        omitted.add("corrected")
    if _Shortening.REPEATED in shortenings:
        # The corrected rate goes if it repeats the official one and the recomputed rate does not.
        omitted.add("corrected" if _differs_only_recomputed(totals) else "recomputed")
    return omitted


def _format_first_rate(totals: RunTotals, shortenings: frozenset[_Shortening]) -> Line:
    """Format the official pass rate or, if the only verdicts are from judges, their pass rate.

    An incident is an item without an answer. If there are any, the rate without them follows.
    """
    has_other_verdicts = totals.official.n_with_verdict > 0 or totals.rule.n_with_verdict > 0
    is_judged = totals.judge.n_with_verdict > 0 and not has_other_verdicts
    counts = totals.judge if is_judged else totals.official
    line = LineBuilder()
    line.add(" judge " if is_judged else " official ", "dim")
    line.add(format_pass_rate(*counts, totals.items), "strong")
    if totals.incidents:
        line.add_line(_format_rate_without_incidents(totals, shortenings, is_judged=is_judged))
    return line.build()


def _has_complete_recomputation(totals: RunTotals) -> bool:
    return totals.rule.n_with_verdict == totals.items


def _differs_only_recomputed(totals: RunTotals) -> bool:
    """Whether the recomputed rate differs from the official rate, unlike the corrected one."""
    is_corrected_equal = totals.effective == totals.official
    is_recomputed_equal = totals.rule == totals.official
    return _has_complete_recomputation(totals) and is_corrected_equal and not is_recomputed_equal


def _format_recomputed_rate(
    totals: RunTotals, shortenings: frozenset[_Shortening], *, lacks_dataset: bool
) -> Line:
    """Format the pass rate by recomputed verdicts. It is dim if items have no recomputed
    verdict.
    """
    is_complete = _has_complete_recomputation(totals)
    rate = format_recomputed_pass_rate(*totals.rule, totals.items, lacks_dataset=lacks_dataset)
    if _Shortening.DETAILS in shortenings and not is_complete:
        # Leave out the number of items with a recomputed verdict.
        rate, _, _ = rate.partition(" (")
    word = "recomp." if _Shortening.RECOMPUTED_WORD in shortenings else "recomputed"
    return (COLUMN_GAP, (f"{word} ", "dim"), (rate, "strong" if is_complete else "dim"))


def _format_rate_without_incidents(
    totals: RunTotals, shortenings: frozenset[_Shortening], *, is_judged: bool
) -> Line:
    """Return ` · without 29 incidents 46.9 % (211)`, which follows the rate of all items.

    A shorter form is ` · w/o 29 incidents 46.9 %`, and the shortest one only counts the incidents.
    An incident is an item without an answer, such as a failed request.
    """
    incidents = format_count(totals.incidents, "incident")
    if _Shortening.ONLY_COUNT in shortenings:
        return make_line(f" {symbols().separator} {incidents}", "warn")

    counts = totals.official_without_incidents
    if is_judged:
        counts = totals.judge_without_incidents
    n_answered = totals.items - totals.incidents
    rate = format_rate_without_incidents(*counts, n_answered)

    # Without an answer, the rate is a warning in words, which is never cut.
    word = "without"
    if _Shortening.INCIDENTS in shortenings:
        word = "w/o"
        if n_answered:
            rate, _, _n_verdicts_in_brackets = rate.partition(" (")
    text = f" {symbols().separator} {word} {incidents} "
    return ((text, "dim"), (rate, "strong" if n_answered else "warn"))


def _format_disagreements(count: int, adjudicate_key: str, *, is_short: bool) -> Line:
    """Return `   3 disagreements: press x` or `   3 unresolved`. Empty if there are none."""
    if not count:
        return BLANK_LINE
    if is_short:
        return (COLUMN_GAP, (f"{count:,} unresolved", "disputed"))
    line = LineBuilder()
    line.add(*COLUMN_GAP)
    line.add(format_count(count, "disagreement"), "disputed")
    if adjudicate_key:
        line.add(": press ", "dim")
        line.add(adjudicate_key, "key")
    return line.build()


def _list_warning_variants(totals: RunTotals, *, lacks_dataset: bool) -> list[str]:
    """Return texts about a missing dataset or import issues, the longest first."""
    n_issues = totals.issues - totals.notices
    issues = format_count(n_issues, "import issue")
    if lacks_dataset:
        variants = [NO_DATASET_MESSAGE, NO_DATASET_SHORT]
        if n_issues:
            variants = [f"{text}, {issues}" for text in variants]
        return [*variants, NO_DATASET_SHORT, "no dataset"]
    if n_issues:
        return [issues, format_count(n_issues, "issue")]
    if totals.notices:
        return [format_count(totals.notices, "notice")]
    return [""]


@dataclass(frozen=True, slots=True)
class QueueCursor:
    """Facts about the cursor for the line above the queue: position, number of items, and run."""

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


def format_queue_facts(
    runs: Sequence[RunRow] | None,
    view: View,
    filter_text: str,
    search_text: str,
    cursor: QueueCursor,
    width: int,
) -> str:
    """Return what the queue shows: `BFCL V4 · filter official:fail · failures first · 12/640`.

    The parts are the benchmark, the filter or search, the order, the run and the position. If there
    is no room, the benchmark is omitted, then the order. Then the run name is shortened or, without
    one, the filter.
    """
    separator = f" {symbols().separator} "
    position = _format_cursor_position(cursor)
    ending = separator + position if position else ""
    cells = max(width - display_width(ending), 1)

    selection = _list_selection(view, filter_text, search_text, cursor)
    run_names = []
    if cursor.run_name:
        run_names.append(truncate_middle(sanitize(cursor.run_name), cells))
    for optional_parts in _list_optional_parts(runs or (), view, selection):
        text = separator.join(optional_parts + run_names) + ending
        if display_width(text) <= width:
            return text

    if cursor.run_name:
        return _shorten_run_beside_selection(selection, cursor.run_name, cells) + ending
    return truncate(separator.join(selection.parts), cells) + ending


def _list_optional_parts(
    runs: Sequence[RunRow], view: View, selection: _Selection
) -> list[list[str]]:
    """Return the parts before the run name with the benchmark and the order, without the benchmark,
    and without both.
    """
    order = [] if selection.names_order else [_describe_order(view)]
    without_titles = selection.parts + order
    return [_list_run_titles(runs) + without_titles, without_titles, selection.parts]


def _shorten_run_beside_selection(selection: _Selection, run_name: str, cells: int) -> str:
    """Return a filter or search with a shortened run name after it, in at most `cells` cells.

    If there is not enough room, the search or the filter is shortened. If even that does not
    suffice, the result is only the run name.
    """
    separator = f" {symbols().separator} "
    name = sanitize(run_name)
    cells_without_separator = cells - len(separator)
    min_name_cells = min(MIN_RUN_NAME_CELLS, display_width(name))

    for text in _list_selection_variants(selection, name, cells_without_separator):
        name_cells = cells_without_separator - display_width(text)
        if name_cells >= min_name_cells:
            return text + separator + truncate_middle(name, name_cells)
    return truncate_middle(name, cells)


def _list_selection_variants(selection: _Selection, run_name: str, cells: int) -> list[str]:
    """Return the filter and search in full and shortened, to share `cells` cells with a run name.

    Empty if nothing narrows the queue. The shortened form is omitted if it would be narrower than
    `MIN_SEARCH_CELLS`.
    """
    if not selection.is_narrowed:
        return []
    full_text = f" {symbols().separator} ".join(selection.parts)
    if selection.search:
        # A search says more than the filter and the run name, so it gets their room.
        shortened_text = selection.search
        available_cells = cells - MIN_RUN_NAME_CELLS
    else:
        shortened_text = full_text
        available_cells = cells - min(display_width(run_name), MAX_NAME_BESIDE_FILTER)

    if available_cells < MIN_SEARCH_CELLS:
        return [full_text]
    return [full_text, truncate(shortened_text, available_cells)]


def _format_cursor_position(cursor: QueueCursor) -> str:
    """Return `12/640`, or `640` if no item is under the cursor. Empty until the items are
    counted.
    """
    if cursor.total is None:
        return ""
    if not cursor.position:
        return f"{cursor.total:,}"
    return f"{cursor.position:,}/{cursor.total:,}"


def _list_run_titles(runs: Sequence[RunRow]) -> list[str]:
    """Return the title of the runs, or the number of benchmarks if there are several. Empty
    without runs.
    """
    if not runs:
        return []
    n_benchmarks = len({run.info.benchmark for run in runs})
    if n_benchmarks == 1:
        return [join_run_titles(runs)]
    return [format_count(n_benchmarks, "benchmark")]


@dataclass(frozen=True, slots=True)
class _Selection:
    """Description of the items in the queue."""

    parts: list[str]
    names_order: bool = False
    """Whether the parts also name the order, such as `suspects only`."""
    search: str = ""
    """The part with the search. Empty without a search."""
    is_narrowed: bool = False
    """Whether a filter, a search or selected items narrow the queue."""


def _list_selection(
    view: View, filter_text: str, search_text: str, cursor: QueueCursor
) -> _Selection:
    """Describe which items the queue contains, in parts such as `filter official:fail`.

    Without a filter, search or selection, the description is the kind of queue, such as `all
    items`. The result says whether the parts already name the order of the items (`names_order`).
    """
    selection = _describe_narrowing(view, filter_text, search_text)
    # The number of strong suspects is shown beside a filter too. It is None until it is counted.
    if view.queue == SUSPECTS_QUEUE and cursor.n_strong is not None:
        suspects = f"suspects, {format_count(cursor.n_strong, 'strong item')}"
        return replace(selection, parts=[*selection.parts, suspects], names_order=True)
    if selection.parts:
        return selection
    return _describe_queue_kind(view)


def _describe_narrowing(view: View, filter_text: str, search_text: str) -> _Selection:
    """Describe the selected items, the filter and the search or, without one, the annotator's share
    of a queue file. The result has no parts if nothing limits the items.
    """
    search = f"search {sanitize(search_text)}" if search_text else ""
    parts = []
    if view.items:
        parts.append(f"selected {format_count(len(view.items), 'item')}")
    if filter_text:
        parts.append(f"filter {sanitize(filter_text)}")
    if search:
        parts.append(search)
    if parts:
        return _Selection(parts, search=search, is_narrowed=True)
    return _Selection(["your items"] if view.share else [])


def _describe_queue_kind(view: View) -> _Selection:
    """Describe a queue that nothing narrows. The suspects and parts have an order of their own."""
    if view.queue == SUSPECTS_QUEUE:
        return _Selection(["suspects only"], names_order=True)
    if view.queue in PARTIAL_QUEUES:
        return _Selection([f"{view.queue} items only"], names_order=True)
    return _Selection(["all items"])


def describe_loading(state: QueueState, runs: Sequence[RunRow] | None) -> str:
    """Describe what the queue is loading: `searching 8,282 items`, `loading suspects`."""
    if state.where or state.search:
        if not runs:
            return "searching"
        return f"searching {format_count(sum_run_counts(runs).items, 'item')}"
    if state.queue in ("failures", SUSPECTS_QUEUE):
        return f"loading {state.queue}"
    return "loading items"


def store_loading_line(seconds: float = 0) -> Line:
    """Return the line that replaces the rates until the first rows are loaded: `reading the
    store · 2 s`.
    """
    return ((f" {progress_message('reading the store', seconds)} ", "dim"),)


def empty_queue_line(filter_text: str, search_text: str, n_reviewed: int) -> Line:
    """Return the line that an empty list shows: nothing matches, or the annotator has reviewed all
    items.

    `n_reviewed`: number of items reviewed in this session.
    """
    shows_only_unreviewed = any(term in filter_text.split() for term in UNREVIEWED_TERMS)
    if n_reviewed and shows_only_unreviewed:
        items = format_count(n_reviewed, "item")
        text = f" Queue complete: {items} reviewed. Run fcreview export or fcreview report"
        return make_line(text, "good")
    if search_text and filter_text:
        return make_line(" no item matches the search and the filter", "warn")
    if search_text:
        return make_line(" no item matches the search", "warn")
    return make_line(" no item matches the filter", "warn")


def _describe_order(view: View) -> str:
    """Return the view's queue file or order: `queue pilot`, `failures first`, `order random
    (seed 3)`.
    """
    name = _shorten_queue_name(view)
    if view.queue_file:
        return f"queue {name}"
    if view.queue in ("failures", "unreviewed"):
        return f"{view.queue} first"
    if view.queue in SHUFFLED:
        return f"order {name} (seed {view.seed})"
    return f"order {name}"


def _shorten_queue_name(view: View) -> str:
    return truncate_middle(sanitize(view.queue), 24)

"""Build the content of the overview: pass rates by category, failures, review progress, scores and next actions.

A blind annotator sees only the runs without rates, and their own progress.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fcreview.matching.clusters import BY_ERROR_TYPE, ClusterGroup, group_clusters
from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import describe_error_type, format_count
from fcreview.store.queries.runs import SORT_KEYS, search_runs, sort_runs
from fcreview.store.queue_file import RUN_KEY_FIELDS, QueueError, ShareProgress, list_queue_names, read_queue
from fcreview.store.rows import SUSPECTS_QUEUE, RunRow, View
from fcreview.tui.queue.columns import parse_difference, shorten_difference, shorten_ids, shorten_run_names
from fcreview.tui.queue.header import (
    PassCounts,
    format_rate_and_interval,
    join_run_titles,
    sum_run_counts,
    unique_run_labels,
)
from fcreview.tui.text.graphics import bar, heat_cell, interval_bar
from fcreview.tui.text.lines import (
    Line,
    StyledText,
    format_pass_rate,
    justify_line,
    line_width,
    make_line,
    truncate,
    truncate_error_type,
    truncate_middle,
)
from fcreview.tui.text.styles import symbols

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate
    from fcreview.store.store import Store

MAX_REASONS = 60
MIN_NAME_CELLS, MAX_NAME_CELLS = 12, 34
RATE_CELLS, RATE_BAR_CELLS = 8, 14
MIN_CATEGORY_CELLS, MAX_CATEGORY_CELLS = 8, 18
"""Minimum and maximum width of the column of a category, in cells."""
MIN_INTERVAL_CELLS = 8
SCORE_CELLS, ESTIMATE_CELLS = 10, 24
"""Width of a column of scores, and of the column of estimates, in cells."""
REASON_BAR_CELLS = (8, 14)
"""Minimum and maximum width, in cells, of a bar in the list of reasons. A bar is narrow where a sentence is long."""
REASON_LINES = 2


@dataclass(frozen=True, slots=True)
class QueueProgress:
    queue: str
    share: ShareProgress

    @property
    def n_reviews_left(self) -> int:
        """Number of reviews that the annotator still has to record."""
        return self.share.total - self.share.done


@dataclass(frozen=True, slots=True)
class NextAction:
    action_id: str
    text: str
    facts: str = ""
    facts_style: str = "dim"


@dataclass(frozen=True, slots=True)
class Overview:
    """Data of the overview. A field is None until its data is read."""

    runs: Sequence[RunRow]
    annotator: str
    blind: bool = False
    reasons: Sequence[ClusterGroup] | None = None
    queues: Sequence[QueueProgress] | None = None
    n_disagreements: int | None = None
    """Number of targets with an unresolved disagreement."""
    n_suspects: int | None = None
    """Number of questions whose golden answer looks wrong."""
    n_strong_suspects: int = 0
    sampled_runs: frozenset[int] = frozenset()
    """Numbers of the runs that have a sample in a queue file."""
    estimates: dict[int, PassRateEstimate | None] = field(default_factory=dict)
    """Estimated pass rate by run number. None for a run that cannot be estimated."""

    @property
    def n_failures(self) -> int | None:
        """Number of failing items. None until `reasons` is read."""
        return None if self.reasons is None else sum(group.count for group in self.reasons)


# -- reading

OverviewReader = Callable[[Overview, View, "Store"], Overview]


def with_failure_reasons(overview: Overview, view: View, store: Store) -> Overview:
    groups = group_clusters(store.fetch_clusters(view), BY_ERROR_TYPE)
    return replace(overview, reasons=groups)


def with_queue_progress(overview: Overview, view: View, store: Store) -> Overview:
    """Return the overview with the progress of all annotators in the queue files and the number of open disagreements.
    A blind annotator sees only their own progress."""
    queues: list[QueueProgress] = []
    sampled: set[tuple[str, ...]] = set()
    for name in list_queue_names(store.workspace):
        try:
            shares = store.measure_queue_progress(name, overview.annotator if overview.blind else None)
            design = read_queue(store.workspace, name).design
        except QueueError:
            continue
        queues += [QueueProgress(name, share) for share in shares]
        sampled |= {tuple(str(run.get(name, "")) for name in RUN_KEY_FIELDS) for run in design.runs}
    disagreements = None if overview.blind else len(store.analysis.fetch_disagreements(view))
    runs = (run for run in overview.runs if tuple(getattr(run.info, name) for name in RUN_KEY_FIELDS) in sampled)
    return replace(
        overview, queues=queues, n_disagreements=disagreements, sampled_runs=frozenset(run.run for run in runs)
    )


def with_suspect_counts(
    overview: Overview, view: View, store: Store, on_progress: Callable[[int, int], object]
) -> Overview:
    """Return the overview with the number of questions whose golden answer looks wrong. Counting takes seconds.
    `on_progress` is called with the number of checked questions and the number of all questions."""
    store.load_suspects(view, on_progress)
    suspects = replace(view, queue=SUSPECTS_QUEUE, where="")
    n_strong = store.count_strong_suspects(suspects)
    return replace(overview, n_suspects=store.count_items(suspects), n_strong_suspects=n_strong)


# -- runs


def list_categories(runs: Sequence[RunRow]) -> list[str]:
    sizes: Counter[str] = Counter()
    for run in runs:
        sizes.update({row["category"]: row["n"] for row in run.categories})
    return [name for name, _ in sizes.most_common()]


def _overall_pass_counts(run: RunRow) -> PassCounts:
    if run.has_only_judge_verdicts:
        return PassCounts(run.judge_pass, run.judge_known)
    official = PassCounts(run.official_pass, run.official_known)
    return official if official.n_with_verdict else PassCounts(run.rule_pass, run.rule_known)


def _format_overall_pass_rate(run: RunRow) -> str:
    passes, known = _overall_pass_counts(run)
    rate = format_pass_rate(passes, known, run.n_items) if known else symbols().none
    return f"{rate} judge" if run.has_only_judge_verdicts else rate


def _category_pass_rate(run: RunRow, category: str) -> float | None:
    """Return the pass rate of a category, from 0 to 1. None if no source has a verdict on every item of the
    category."""
    row = next((each for each in run.categories if each["category"] == category), None)
    if row is None:
        return None
    for source in ("official", "rule", *(("judge",) if run.has_only_judge_verdicts else ())):
        if row[f"{source}_known"] == row["n"] and row["n"]:
            return float(row[f"{source}_pass"] / row["n"])
    return None


def sort_runs_by_pass_rate(runs: Sequence[RunRow], *, blind: bool) -> list[RunRow]:
    """Return the runs, highest overall pass rate first. In blind review, the runs are sorted by model."""
    if blind:
        return sorted(runs, key=lambda run: (run.info.model.casefold(), run.run))
    rates = {
        run.run: passes / known if known else -1.0 for run in runs for passes, known in [_overall_pass_counts(run)]
    }
    return sorted(runs, key=lambda run: -rates[run.run])


ORDERS = ("overall", "corrected", "model", "date", "items", "reviewed", "issues")
BLIND_ORDERS = ("model", "date", "items")


@dataclass(slots=True)
class RunArrangement:
    """Order and search of the runs on the overview."""

    blind: bool
    order: str = ""
    search: str = ""

    def select_next_order(self) -> None:
        orders = BLIND_ORDERS if self.blind else ORDERS
        self.order = orders[(orders.index(self.order or orders[0]) + 1) % len(orders)]

    def filter_and_sort_runs(self, runs: Sequence[RunRow]) -> list[RunRow]:
        """Return the runs that match the search, sorted by `order`, or by pass rate if there is no order."""
        found = search_runs(runs, self.search)
        if self.order in SORT_KEYS:
            return sort_runs(found, self.order)
        return sort_runs_by_pass_rate(found, blind=self.blind)

    @property
    def order_description(self) -> str:
        """Order and search as text, such as `by corrected`. Empty for the default order without search."""
        parts = [f"by {self.order}" if self.order else "", f"search {sanitize(self.search)}" if self.search else ""]
        return f" {symbols().separator} ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class RunTable:
    heading: Line
    lines: list[Line]
    hidden_categories: int


def build_run_table(overview: Overview, runs: Sequence[RunRow], cells: int, first_category_index: int) -> RunTable:
    """Lay out the runs as a table. `first_category_index`: index in `list_categories` of the first category to show."""
    labels = unique_run_labels(overview.runs)
    longest = max((display_width(labels[run.run]) for run in runs), default=0)
    if overview.blind:
        size = max(MIN_NAME_CELLS, min(longest, cells - 24))
        names = _padded_run_names(labels, runs, size)
        lines: list[Line] = [
            ((f"{name}  ", ""), (f"{run.yours:,} of {run.n_items:,}", "dim"))
            for name, run in zip(names, runs, strict=True)
        ]
        return RunTable(make_line(pad("run", size) + "  reviewed by you", "dim"), lines, 0)
    categories = list_categories(runs)[first_category_index:]
    size = max(MIN_NAME_CELLS, min(longest, MAX_NAME_CELLS if cells >= 100 else 30))
    names = _padded_run_names(labels, runs, size)
    bar_cells = RATE_BAR_CELLS if cells >= 100 else 0
    rates = [_format_overall_pass_rate(run) for run in runs]
    rate_cells = max([RATE_CELLS, *map(display_width, rates)])
    room = cells - size - rate_cells - bar_cells - 4
    shown = _category_column_widths(categories, room)
    heading: list[StyledText] = [
        (pad("run", size), "dim"),
        (" " + "overall".rjust(rate_cells), "dim"),
        (" " * (bar_cells + 2), ""),
    ]
    titles = shorten_ids(list(shown), MAX_CATEGORY_CELLS)
    heading += [(" " + titles.get(name, sanitize(name)).center(width), "dim") for name, width in shown.items()]
    lines = []
    for name, rate, run in zip(names, rates, runs, strict=True):
        passes, known = _overall_pass_counts(run)
        line: list[StyledText] = [(name, "strong")]
        line.append((" " + rate.rjust(rate_cells), "strong" if known == run.n_items else "dim"))
        line += [(" ", ""), *(bar(passes / known if known else 0, bar_cells) if bar_cells else ()), (" ", "")]
        for category, width in shown.items():
            line += [(" ", ""), heat_cell(_category_pass_rate(run, category), width)]
        lines.append(tuple(line))
    return RunTable(tuple(heading), lines, len(categories) - len(shown))


def _category_column_widths(categories: Sequence[str], max_width: int) -> dict[str, int]:
    """Map as many of the first categories as fit into `max_width` cells to the widths of their columns."""
    widths: dict[str, int] = {}
    for name in categories:
        width = min(max(display_width(sanitize(name)), MIN_CATEGORY_CELLS), MAX_CATEGORY_CELLS)
        max_width -= width + 1
        if max_width < 0:
            break
        widths[name] = width
    return widths


def _padded_run_names(labels: Mapping[int, str], runs: Sequence[RunRow], width: int) -> list[str]:
    shortened = shorten_run_names(list(dict.fromkeys(labels[run.run] for run in runs)), width)
    return [pad(shortened.get(labels[run.run], labels[run.run]), width) for run in runs]


def runs_facts(overview: Overview, hidden_categories: int) -> str:
    """Return `4 runs · 8,282 items · BFCL V4`, and the number of hidden categories."""
    runs, dot = overview.runs, symbols().separator
    titles = join_run_titles(runs)
    parts = [format_count(len(runs), "run"), format_count(sum_run_counts(runs).items, "item")]
    n_benchmarks = len({run.info.benchmark for run in runs})
    parts.append(titles if display_width(titles) <= 40 else format_count(n_benchmarks, "benchmark"))
    if hidden_categories:
        parts.append(f"{format_count(hidden_categories, 'more category', 'more categories')} {symbols().arrow}")
    return f" {dot} ".join(parts)


# -- failures


def failure_reason_lines(groups: Sequence[ClusterGroup], width: int) -> list[Line]:
    largest = max((group.count for group in groups), default=1)
    count_cells = max(display_width(f"{largest:,}"), 3)
    room = width - count_cells - 2
    shown = groups[:MAX_REASONS]
    meanings = [describe_error_type(group.name or "") for group in shown]
    least, most = REASON_BAR_CELLS
    bar_cells = max(least, min(most, room - 2 - max(map(display_width, meanings), default=0)))
    lines: list[Line] = []
    for group, meaning in zip(shown, meanings, strict=True):
        code = sanitize(group.name or "(no error type)")
        sentence = meaning[:1].upper() + meaning[1:] if meaning else code
        code = truncate_error_type(code, room // 2) if meaning else ""
        example = parse_difference(group.example_cluster.difference or "") if group.example_cluster is not None else ()
        share = bar(group.count / largest, bar_cells, "fail")
        text = truncate(sentence, room - bar_cells - 2)
        lines.append(((f"{group.count:>{count_cells},}  ", "strong"), *share, ("  ", ""), (text, "")))
        head: Line = ((" " * (count_cells + 2), ""), (code, "dim"), ("  " if code else "", ""))
        lines.append((*head, *shorten_difference(example, max(width - line_width(head), 1))))
    return lines


def failure_reasons_facts(overview: Overview) -> str:
    if overview.reasons is None:
        return "reading"
    failures = format_count(overview.n_failures or 0, "failure")
    scope = f"all runs {symbols().separator} " if len(overview.runs) > 1 else ""
    return f"{scope}{failures} {symbols().separator} {format_count(len(overview.reasons), 'error type')}"


# -- reviews, scores and next actions


def review_progress_lines(overview: Overview, width: int) -> list[Line]:
    """Return the progress of each queue file and of the runs as a whole, and the number of open disagreements."""
    total = sum_run_counts(overview.runs)
    lines = [queue_progress_line(each, width) for each in overview.queues or ()]
    own = total.yours if overview.blind or total.reviewed == total.yours else total.reviewed
    label = "reviewed by you" if overview.blind else "reviewed"
    lines.append(progress_bar_line(label, own, total.items, width))
    if overview.n_disagreements:
        lines.append(make_line(format_count(overview.n_disagreements, "open disagreement"), "disputed"))
    return lines


def format_label_progress(overview: Overview) -> str:
    """Return the numbers of recorded and required labels in all queue files: `31 of 50 labels`. Empty without queue
    files."""
    shares = [each.share for each in overview.queues or ()]
    done, total = sum(share.done for share in shares), sum(share.total for share in shares)
    return f"{done:,} of {format_count(total, 'label')}" if shares else ""


def format_completed_queues(overview: Overview) -> str:
    """Return the number of completed queue files: `1 of 2 queues complete`. Empty without queue files."""
    queues = overview.queues or ()
    names = {each.queue for each in queues}
    open_names = {each.queue for each in queues if each.n_reviews_left}
    return f"{len(names - open_names)} of {format_count(len(names), 'queue')} complete" if names else ""


def queue_progress_line(progress: QueueProgress, width: int) -> Line:
    share = progress.share
    name = f"{sanitize(progress.queue)} {symbols().separator} {sanitize(share.annotator)}"
    return progress_bar_line(name, share.done, share.total, width)


def progress_bar_line(name: str, done: int, total: int, width: int) -> Line:
    figure = f"{done:,} / {total:,}"
    bar_cells = max(min(18, width - display_width(figure) - 16), 0)
    name_cells = max(width - bar_cells - display_width(figure) - 3, 4)
    return (
        (pad(truncate_middle(name, name_cells), name_cells), "people"),
        ("  ", ""),
        *bar(done / total if total else 0, bar_cells),
        (" ", ""),
        (figure, ""),
    )


def score_lines(overview: Overview, runs: Sequence[RunRow], width: int) -> list[Line]:
    """Return a heading line and one line for each run: official score, corrected score, and the estimate with its
    interval. The corrected score is omitted if there is no room for it beside the estimate."""
    has_estimates = bool(overview.sampled_runs)
    estimate_cells = ESTIMATE_CELLS if has_estimates else 0
    has_corrected = width > MIN_NAME_CELLS + 2 * SCORE_CELLS + estimate_cells
    fixed = SCORE_CELLS * (1 + has_corrected) + estimate_cells + 1
    labels = unique_run_labels(overview.runs)
    longest = max((display_width(labels[run.run]) for run in runs), default=0)
    size = max(MIN_NAME_CELLS, min(34, longest, width - fixed))
    bar_cells = max(width - size - fixed + 1, 0) if has_estimates else 0
    titles = [f"{title:>{SCORE_CELLS}}" for title in ("official", *(["corrected"] if has_corrected else []))]
    heading = pad("run", size) + "".join(titles) + ("  estimated" if has_estimates else "")
    lines = [make_line(truncate(heading, width), "dim")]
    for name, run in zip(_padded_run_names(labels, runs, size), runs, strict=True):
        official = _format_rate_if_complete(run.official_pass, run.official_known, run.n_items)
        corrected = _format_rate_if_complete(run.effective_pass, run.effective_known, run.n_items)
        line: list[StyledText] = [(name, ""), (official.rjust(SCORE_CELLS), "")]
        line += [(corrected.rjust(SCORE_CELLS), "strong")] if has_corrected else []
        if (estimate := overview.estimates.get(run.run)) is not None:
            line += _estimate_line(estimate, run, bar_cells)
        elif run.run in overview.sampled_runs:
            is_read = run.run in overview.estimates
            line.append((f"  {symbols().none if is_read else symbols().ellipsis}", "dim"))
        lines.append(tuple(line))
    return lines


def _estimate_line(estimate: PassRateEstimate, run: RunRow, bar_cells: int) -> Line:
    figure: Line = ((f"  {format_rate_and_interval(estimate)}".ljust(ESTIMATE_CELLS), "strong"),)
    if bar_cells <= MIN_INTERVAL_CELLS:
        return figure
    return (*figure, (" ", ""), *estimate_bar(estimate, run, bar_cells - 1))


def estimate_bar(estimate: PassRateEstimate, run: RunRow, width: int) -> Line:
    """Draw the interval of an estimate on a scale from 0 to 100 %, with a mark at the official score."""
    low, high = estimate.bounds if estimate.is_bounds_headline and estimate.bounds else (estimate.low, estimate.high)
    official = run.official_pass / run.n_items if run.official_known == run.n_items > 0 else None
    return interval_bar(low, estimate.estimated, high, (0, 1), width, official)


def _format_rate_if_complete(n_passes: int, n_known: int, n_items: int) -> str:
    return f"{100 * n_passes / n_known:.1f} %" if n_known and n_known == n_items else symbols().none


def list_next_actions(overview: Overview) -> list[NextAction]:
    """Return the next actions, the most useful first."""
    actions: list[NextAction] = []
    if overview.n_disagreements:
        text = f"Resolve {format_count(overview.n_disagreements, 'disagreement')}"
        actions.append(NextAction("overview.adjudicate", text))
    if (own := _find_own_unfinished_queue(overview)) is not None:
        text = f"Review {format_count(own.n_reviews_left, 'item')} of {sanitize(own.queue)}"
        actions.append(NextAction("overview.queue", text, sanitize(overview.annotator), "people"))
    if overview.blind:
        actions.append(NextAction("overview.failures", "Review items"))
    else:
        count = overview.n_failures
        failures = "failures" if count is None else format_count(count, "failure")
        actions.append(NextAction("overview.failures", f"Review {failures}"))
    if overview.queues is not None and not overview.blind:
        actions.append(_next_estimate_action(overview))
    if overview.n_suspects:
        n_weak = overview.n_suspects - overview.n_strong_suspects
        text = f"Check {format_count(overview.n_strong_suspects or n_weak, 'suspect golden answer')}"
        weak = f"{n_weak:,} weak" if overview.n_strong_suspects else "weak evidence"
        actions.append(NextAction("overview.suspects", text, weak if n_weak else ""))
    if len(overview.runs) > 1 and not overview.blind:
        actions.append(NextAction("overview.compare", "Compare two runs"))
    return actions


def _next_estimate_action(overview: Overview) -> NextAction:
    estimates = [each for each in overview.estimates.values() if each is not None]
    needed = max((each.needed or 0 for each in estimates), default=0)
    if not overview.sampled_runs:
        return NextAction("overview.estimates", "Draw a sample", "to estimate accuracy")
    if needed and not any(each.n_reviews_left for each in overview.queues or ()):
        facts = f"{format_count(needed, 'more label')} for {symbols().plus_minus} 2 points"
        return NextAction("overview.estimates", "See estimated accuracy", facts)
    return NextAction("overview.estimates", "See estimated accuracy", format_count(len(overview.sampled_runs), "run"))


def next_action_lines(overview: Overview, key_names: dict[str, str], width: int) -> list[Line]:
    """Return a line for each next action. `key_names`: name of the key by action id."""
    lines: list[Line] = []
    for action in list_next_actions(overview):
        left: Line = ((f"{key_names.get(action.action_id, ' ')} ", "key"), (action.text, ""))
        right: Line = ((action.facts, action.facts_style),) if action.facts else ()
        fits = line_width(left) + line_width(right) + 1 <= width
        lines.append(justify_line(left, right if fits else (), width))
    return lines


def find_unfinished_queue(overview: Overview) -> str | None:
    """Return the name of the first queue file in which the annotator still has items to review, or None."""
    own = _find_own_unfinished_queue(overview)
    return None if own is None else own.queue


def _find_own_unfinished_queue(overview: Overview) -> QueueProgress | None:
    own = (each for each in overview.queues or () if each.share.annotator == overview.annotator)
    return next((each for each in own if each.n_reviews_left), None)

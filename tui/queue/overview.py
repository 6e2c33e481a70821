"""Read the data of the overview, and format it: pass rates by category, review progress, scores and
next actions.

In blind mode, the overview shows only the runs without rates, and the annotator's own progress.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from fcreview.matching.clusters import BY_ERROR_TYPE, ClusterGroup, group_clusters
from fcreview.model.run_check import RunCheck, summarize_problems
from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import format_count
from fcreview.store.queries.runs import RATE_ORDERS, SORT_KEYS, search_runs, sort_runs
from fcreview.store.queue_file import RUN_KEY_FIELDS, QueueError, list_queue_names, read_queue
from fcreview.store.rows import SUSPECTS_QUEUE, RunRow, View
from fcreview.tui.queue.columns import shorten_ids, shorten_run_names
from fcreview.tui.queue.header import (
    PassCounts,
    estimate_bar,
    format_rate_and_interval,
    join_run_titles,
    queue_progress_line,
    sum_run_counts,
)
from fcreview.tui.queue.state import QueueProgress
from fcreview.tui.text.graphics import heat_cell, progress_bar_line, share_bar
from fcreview.tui.text.lines import (
    Line,
    StyledText,
    format_pass_rate,
    justify_line,
    line_width,
    make_line,
    truncate,
)
from fcreview.tui.text.run_names import format_run_names
from fcreview.tui.text.styles import symbols

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate
    from fcreview.store.store import Store

MIN_NAME_CELLS, MAX_NAME_CELLS = 12, 34
RATE_CELLS, RATE_BAR_CELLS = 8, 14
MIN_CATEGORY_CELLS, MAX_CATEGORY_CELLS = 8, 18
"""Minimum and maximum width of the column of a category, in cells."""
MIN_INTERVAL_CELLS = 8
SCORE_CELLS, ESTIMATE_CELLS = 10, 24
"""Width of a column of scores, and of the column of estimates, in cells."""


@dataclass(frozen=True, slots=True)
class NextAction:
    """Action that the overview suggests, with facts such as the number of items."""

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
    checks: Sequence[RunCheck] | None = None
    n_disagreements: int | None = None
    """Number of targets with an unresolved disagreement."""
    n_suspects: int | None = None
    """Number of different questions whose golden answer looks wrong."""
    n_strong_suspects: int = 0
    sampled_runs: frozenset[int] = frozenset()
    """Numbers of the runs that have a sample in a queue file."""
    estimates: dict[int, PassRateEstimate | None] = field(default_factory=dict)
    """Estimated pass rate by run number. None for a run that cannot be estimated."""

    @property
    def n_failures(self) -> int | None:
        """Number of failing items. None until `reasons` is read."""
        return None if self.reasons is None else sum(group.count for group in self.reasons)

    @property
    def missing_verdict_reason(self) -> str:
        """Why no item of any run has a verdict, such as `no verdicts: choose one of ...`. Empty if
        some may have one.

        For several runs with different reasons, it is only `no verdicts`.
        """
        reasons = {run.info.missing_verdict_reason for run in self.runs}
        if not reasons or "" in reasons or self.n_failures:
            return ""
        return reasons.pop() if len(reasons) == 1 else "no verdicts"

    @property
    def own_unfinished_queue(self) -> QueueProgress | None:
        """The first queue file in which the annotator has items left, or None."""
        own = (each for each in self.queues or () if each.share.annotator == self.annotator)
        return next((each for each in own if each.n_reviews_left), None)


OverviewReader = Callable[[Overview, View, "Store"], Overview]
"""Reads data of a view, and returns the overview with this data added."""


def add_failure_reasons(overview: Overview, view: View, store: Store) -> Overview:
    return replace(overview, reasons=group_clusters(store.fetch_clusters(view), BY_ERROR_TYPE))


def add_checks(overview: Overview, view: View, store: Store) -> Overview:  # noqa: ARG001 - the runs are those of the view
    return replace(overview, checks=store.check_runs(overview.runs))


def add_queue_progress(overview: Overview, view: View, store: Store) -> Overview:
    """Add the progress of all annotators in the queue files, and the number of open disagreements.
    In blind mode, add only the annotator's own progress.
    """
    queues: list[QueueProgress] = []
    sampled: set[tuple[str, ...]] = set()
    for name in list_queue_names(store.workspace):
        try:
            shares = store.measure_queue_progress(
                name, overview.annotator if overview.blind else None
            )
            design = read_queue(store.workspace, name).design
        except QueueError:
            continue
        queues += [QueueProgress(name, share) for share in shares]
        sampled |= {tuple(str(run.get(name, "")) for name in RUN_KEY_FIELDS) for run in design.runs}
    disagreements = None if overview.blind else len(store.analysis.fetch_disagreements(view))
    runs = (
        run
        for run in overview.runs
        if tuple(getattr(run.info, name) for name in RUN_KEY_FIELDS) in sampled
    )
    return replace(
        overview,
        queues=queues,
        n_disagreements=disagreements,
        sampled_runs=frozenset(run.run for run in runs),
    )


def add_suspect_counts(
    overview: Overview, view: View, store: Store, on_progress: Callable[[int, int], object]
) -> Overview:
    """Add the number of questions whose golden answer looks wrong. This takes seconds:
    `on_progress` is called with the number of checked questions and of all questions.
    """
    store.load_suspects(view, on_progress)
    suspects = replace(view, queue=SUSPECTS_QUEUE, where="")
    questions = store.count_suspect_questions(suspects)
    return replace(overview, n_suspects=questions.all, n_strong_suspects=questions.strong)


# -- runs


def list_categories_by_size(runs: Sequence[RunRow]) -> list[str]:
    """Return the categories of the runs. The categories with the most items come first."""
    sizes: Counter[str] = Counter()
    for run in runs:
        sizes.update({row["category"]: row["n"] for row in run.categories})
    return [name for name, _ in sizes.most_common()]


def _count_overall_passes(run: RunRow) -> PassCounts:
    """Return the counts of the official verdicts or, without these, of the recomputed or the
    only judge verdicts.
    """
    if run.has_only_judge_verdicts:
        return PassCounts(run.judge_pass, run.judge_known)
    official = PassCounts(run.official_pass, run.official_known)
    return official if official.n_with_verdict else PassCounts(run.rule_pass, run.rule_known)


def _format_overall_pass_rate(run: RunRow) -> str:
    rate = format_pass_rate(*_count_overall_passes(run), run.n_items)
    return f"{rate} judge" if run.has_only_judge_verdicts else rate


def _find_category_pass_rate(run: RunRow, category: str) -> float | None:
    """Return the pass rate of a category (0 to 1) by the first source with a verdict on every
    item, or None.
    """
    row = next(
        (each for each in run.categories if each["category"] == category and each["n"]), None
    )
    for source in ("official", "rule", *(("judge",) if run.has_only_judge_verdicts else ())):
        if row is not None and row[f"{source}_known"] == row["n"]:
            return float(row[f"{source}_pass"] / row["n"])
    return None


def sort_runs_by_pass_rate(runs: Sequence[RunRow], *, blind: bool) -> list[RunRow]:
    """Return the runs, highest overall pass rate first.

    In blind mode, sort the runs by model instead.
    """
    if blind:
        return sorted(runs, key=lambda run: (run.info.model.casefold(), run.run))
    counts = {run.run: _count_overall_passes(run) for run in runs}
    rates = {
        run: each.n_passing / each.n_with_verdict if each.n_with_verdict else -1
        for run, each in counts.items()
    }
    return move_unfinished_runs_to_end(sorted(runs, key=lambda run: -rates[run.run]))


def move_unfinished_runs_to_end(runs: Sequence[RunRow]) -> list[RunRow]:
    """Return the unfinished runs after all others.

    Their rates are of few items, so they must not rank first.
    """
    return sorted(runs, key=lambda run: run.is_unfinished)


ORDERS = ("overall", "corrected", "model", "date", "items", "reviewed", "issues")
BLIND_ORDERS = ("model", "date", "items")


@dataclass(slots=True)
class RunArrangement:
    """Order and search of the runs on the overview."""

    blind: bool
    order: str = ""
    """One of `ORDERS`. Empty for the default order, by pass rate."""
    search: str = ""

    def select_next_order(self) -> None:
        orders = BLIND_ORDERS if self.blind else ORDERS
        self.order = orders[(orders.index(self.order or orders[0]) + 1) % len(orders)]

    def filter_and_sort_runs(self, runs: Sequence[RunRow]) -> list[RunRow]:
        """Return the runs that match the search, in the selected order."""
        found = search_runs(runs, self.search)
        if self.order in RATE_ORDERS:
            return move_unfinished_runs_to_end(sort_runs(found, self.order))
        if self.order in SORT_KEYS:
            return sort_runs(found, self.order)
        return sort_runs_by_pass_rate(found, blind=self.blind)

    @property
    def order_description(self) -> str:
        """Order and search as text, such as `by corrected`.

        Empty for the default order without search.
        """
        parts = [
            f"by {self.order}" if self.order else "",
            f"search {sanitize(self.search)}" if self.search else "",
        ]
        return f" {symbols().separator} ".join(filter(None, parts))


class RunTable(NamedTuple):
    heading: Line
    lines: list[Line]
    n_hidden_categories: int
    """Number of categories to the right that do not fit."""


def build_run_table(
    overview: Overview, runs: Sequence[RunRow], cells: int, first_category_index: int
) -> RunTable:
    """Lay out the runs as a table.

    `first_category_index`: index of the first visible category, by size.
    """
    labels = format_run_names(overview.runs)
    longest = max((display_width(labels[run.run]) for run in runs), default=0)
    if overview.blind:
        size = max(MIN_NAME_CELLS, min(longest, cells - 24))
        names = _pad_run_names(labels, runs, size)
        lines: list[Line] = [
            ((f"{name}  ", ""), (f"{run.yours:,} of {run.n_items:,}", "dim"))
            for name, run in zip(names, runs, strict=True)
        ]
        return RunTable(
            make_line(pad("run", size) + "  reviewed by you", "dim"),
            lines=lines,
            n_hidden_categories=0,
        )
    categories = list_categories_by_size(runs)[first_category_index:]
    size = max(MIN_NAME_CELLS, min(longest, MAX_NAME_CELLS if cells >= 100 else 30))
    names = _pad_run_names(labels, runs, size)
    bar_cells = RATE_BAR_CELLS if cells >= 100 else 0
    extra_columns = _list_extra_columns(runs)
    rates = [_format_overall_pass_rate(run) for run in runs]
    rate_cells = max([RATE_CELLS, *map(display_width, rates)])
    room = (
        cells
        - size
        - rate_cells
        - bar_cells
        - 4
        - sum(column.width + 2 for column in extra_columns)
    )
    shown = _fit_category_columns(categories, room)
    heading: list[StyledText] = [
        (f"{pad('run', size)} {'overall':>{rate_cells}}{'':{bar_cells + 2}}", "dim")
    ]
    heading += [(f"{column.title:>{column.width}}  ", "dim") for column in extra_columns]
    titles = shorten_ids(list(shown), MAX_CATEGORY_CELLS)
    heading += [
        (" " + titles.get(name, sanitize(name)).center(width), "dim")
        for name, width in shown.items()
    ]
    lines = []
    for name, rate, run in zip(names, rates, runs, strict=True):
        passes, known = _count_overall_passes(run)
        line: list[StyledText] = [(name, "strong")]
        line.append((" " + rate.rjust(rate_cells), "strong" if known == run.n_items else "dim"))
        line += [
            (" ", ""),
            *(share_bar(passes / known if known else 0, bar_cells) if bar_cells else ()),
            (" ", ""),
        ]
        for column in extra_columns:
            text, style = column.format_cell(run)
            line.append((f"{text:>{column.width}}  ", style))
        for category, width in shown.items():
            line += [(" ", ""), heat_cell(_find_category_pass_rate(run, category), width)]
        lines.append(tuple(line))
    return RunTable(tuple(heading), lines=lines, n_hidden_categories=len(categories) - len(shown))


@dataclass(frozen=True, slots=True)
class _ExtraColumn:
    """Column between the overall rate and the categories, which exists only if a run needs it."""

    title: str
    width: int
    format_cell: Callable[[RunRow], StyledText]


def _list_extra_columns(runs: Sequence[RunRow]) -> list[_ExtraColumn]:
    """Return the rates without incidents, if a run has incidents, and the numbers of items, if a
    run lacks items.
    """
    columns = []
    if any(run.incidents for run in runs):
        columns.append(_make_extra_column("w/o incidents", runs, _without_incidents_cell))
    if any(run.not_run for run in runs):
        columns.append(_make_extra_column("items", runs, _items_cell))
    return columns


def _make_extra_column(
    title: str, runs: Sequence[RunRow], format_cell: Callable[[RunRow], StyledText]
) -> _ExtraColumn:
    width = max([display_width(title), *(display_width(format_cell(run)[0]) for run in runs)])
    return _ExtraColumn(title, width=width, format_cell=format_cell)


def _without_incidents_cell(run: RunRow) -> StyledText:
    if run.incidents and not run.n_answered:
        return "no answers", "warn"
    return run.without_incidents_text, ""


def _items_cell(run: RunRow) -> StyledText:
    return run.items_text, "warn" if run.is_unfinished else "dim"


def _fit_category_columns(categories: Sequence[str], max_width: int) -> dict[str, int]:
    """Return the column widths of the first categories, as many as fit into `max_width`, by
    category.
    """
    widths: dict[str, int] = {}
    for name in categories:
        width = min(max(display_width(sanitize(name)), MIN_CATEGORY_CELLS), MAX_CATEGORY_CELLS)
        max_width -= width + 1
        if max_width < 0:
            break
        widths[name] = width
    return widths


def _pad_run_names(labels: Mapping[int, str], runs: Sequence[RunRow], width: int) -> list[str]:
    shortened = shorten_run_names(list(dict.fromkeys(labels[run.run] for run in runs)), width)
    return [pad(shortened.get(labels[run.run], labels[run.run]), width) for run in runs]


def format_run_facts(overview: Overview, n_hidden_categories: int) -> str:
    """Return `4 runs · 8,282 items · BFCL V4 · 2 more categories →`."""
    runs = overview.runs
    titles = join_run_titles(runs)
    parts = [format_count(len(runs), "run"), format_count(sum_run_counts(runs).items, "item")]
    n_benchmarks = len({run.info.benchmark for run in runs})
    parts.append(titles if display_width(titles) <= 40 else format_count(n_benchmarks, "benchmark"))
    if n_hidden_categories:
        parts.append(
            f"{format_count(n_hidden_categories, 'more category', 'more categories')}"
            f" {symbols().arrow}"
        )
    return f" {symbols().separator} ".join(parts)


# -- failures, reviews and scores


def format_failure_facts(overview: Overview) -> str:
    """Return `all runs · 312 failures · 14 error types`."""
    if overview.reasons is None:
        return "reading"
    if overview.missing_verdict_reason:
        return "no verdicts"
    failures = format_count(overview.n_failures or 0, "failure")
    scope = f"all runs {symbols().separator} " if len(overview.runs) > 1 else ""
    return (
        f"{scope}{failures} {symbols().separator}"
        f" {format_count(len(overview.reasons), 'error type')}"
    )


def review_progress_lines(overview: Overview, width: int) -> list[Line]:
    """Return the progress in each queue file and in all items, and the number of open
    disagreements.
    """
    total = sum_run_counts(overview.runs)
    lines = [queue_progress_line(each, width) for each in overview.queues or ()]
    label, n_reviewed = (
        ("reviewed by you", total.yours) if overview.blind else ("reviewed", total.reviewed)
    )
    lines.append(progress_bar_line(label, n_reviewed, total.items, width))
    if overview.n_disagreements:
        lines.append(
            make_line(format_count(overview.n_disagreements, "open disagreement"), "disputed")
        )
    return lines


def format_label_progress(overview: Overview) -> str:
    """Return the number of recorded labels in all queue files: `31 of 50 labels`.

    Empty without queue files.
    """
    shares = [each.share for each in overview.queues or ()]
    done, total = sum(share.done for share in shares), sum(share.total for share in shares)
    return f"{done:,} of {format_count(total, 'label')}" if shares else ""


def format_completed_queues(overview: Overview) -> str:
    """Return the number of completed queue files: `1 of 2 queues complete`.

    Empty without queue files.
    """
    queues = overview.queues or ()
    names = {each.queue for each in queues}
    open_names = {each.queue for each in queues if each.n_reviews_left}
    return (
        f"{len(names - open_names)} of {format_count(len(names), 'queue')} complete"
        if names
        else ""
    )


def score_lines(overview: Overview, runs: Sequence[RunRow], width: int) -> list[Line]:
    """Return a heading and a line for each run with its official score, corrected score, and
    estimate with interval. If there is no room, the corrected score is omitted.
    """
    has_estimates = bool(overview.sampled_runs)
    estimate_cells = ESTIMATE_CELLS if has_estimates else 0
    has_corrected = width > MIN_NAME_CELLS + 2 * SCORE_CELLS + estimate_cells
    fixed = SCORE_CELLS * (1 + has_corrected) + estimate_cells + 1
    labels = format_run_names(overview.runs)
    longest = max((display_width(labels[run.run]) for run in runs), default=0)
    size = max(MIN_NAME_CELLS, min(34, longest, width - fixed))
    bar_cells = max(width - size - fixed + 1, 0) if has_estimates else 0
    titles = [
        f"{title:>{SCORE_CELLS}}"
        for title in ("official", *(["corrected"] if has_corrected else []))
    ]
    heading = pad("run", size) + "".join(titles) + ("  estimated" if has_estimates else "")
    lines = [make_line(truncate(heading, width), "dim")]
    for name, run in zip(_pad_run_names(labels, runs, size), runs, strict=True):
        official = _format_rate_if_complete(run.official_pass, run.official_known, run.n_items)
        corrected = _format_rate_if_complete(run.effective_pass, run.effective_known, run.n_items)
        line: list[StyledText] = [(name, ""), (official.rjust(SCORE_CELLS), "")]
        line += [(corrected.rjust(SCORE_CELLS), "strong")] if has_corrected else []
        if (estimate := overview.estimates.get(run.run)) is not None:
            line.append((f"  {format_rate_and_interval(estimate)}".ljust(ESTIMATE_CELLS), "strong"))
            if bar_cells > MIN_INTERVAL_CELLS:
                line += [(" ", ""), *estimate_bar(estimate, run, bar_cells - 1)]
        elif run.run in overview.sampled_runs:
            is_read = run.run in overview.estimates
            line.append((f"  {symbols().none if is_read else symbols().ellipsis}", "dim"))
        lines.append(tuple(line))
    return lines


def _format_rate_if_complete(n_passing: int, n_with_verdict: int, n_items: int) -> str:
    """Return the pass rate, or a dash unless every item has a verdict."""
    return f"{100 * n_passing / n_items:.1f} %" if n_with_verdict == n_items > 0 else symbols().none


# -- next actions


def list_next_actions(overview: Overview) -> list[NextAction]:
    """Return the next actions, the most useful first."""
    actions: list[NextAction] = []
    if problems := summarize_problems(overview.checks or ()):
        actions.append(
            NextAction(
                "overview.check", text="Check the scores", facts=problems, facts_style="warn"
            )
        )
    if overview.n_disagreements:
        text = f"Resolve {format_count(overview.n_disagreements, 'disagreement')}"
        actions.append(NextAction("overview.adjudicate", text))
    if (own := overview.own_unfinished_queue) is not None:
        text = f"Review {format_count(own.n_reviews_left, 'item')} of {sanitize(own.queue)}"
        actions.append(
            NextAction(
                "overview.queue",
                text=text,
                facts=sanitize(overview.annotator),
                facts_style="people",
            )
        )
    count = overview.n_failures
    failures = (
        "items"
        if overview.blind
        else "failures"
        if count is None
        else format_count(count, "failure")
    )
    if overview.missing_verdict_reason:
        failures = "items"
    actions.append(NextAction("overview.failures", f"Review {failures}"))
    if overview.queues is not None and not overview.blind:
        actions.append(_suggest_estimate_action(overview))
    if overview.n_suspects:
        n_weak = overview.n_suspects - overview.n_strong_suspects
        text = (
            f"Check {format_count(overview.n_strong_suspects or n_weak, 'suspect golden answer')}"
        )
        weak = f"{n_weak:,} weak" if overview.n_strong_suspects else "weak evidence"
        actions.append(NextAction("overview.suspects", text=text, facts=weak if n_weak else ""))
    if len(overview.runs) > 1 and not overview.blind:
        actions.append(NextAction("overview.compare", "Compare two runs"))
    return actions


def _suggest_estimate_action(overview: Overview) -> NextAction:
    estimates = [each for each in overview.estimates.values() if each is not None]
    needed = max((each.needed or 0 for each in estimates), default=0)
    if not overview.sampled_runs:
        return NextAction("overview.estimates", text="Draw a sample", facts="to estimate accuracy")
    if needed and not any(each.n_reviews_left for each in overview.queues or ()):
        facts = f"{format_count(needed, 'more label')} for {symbols().plus_minus} 2 points"
        return NextAction("overview.estimates", text="See estimated accuracy", facts=facts)
    return NextAction(
        "overview.estimates",
        text="See estimated accuracy",
        facts=format_count(len(overview.sampled_runs), "run"),
    )


def next_action_lines(overview: Overview, key_names: dict[str, str], width: int) -> list[Line]:
    """Return a line for each next action. `key_names`: displayed key names by action id."""
    lines: list[Line] = []
    for action in list_next_actions(overview):
        left: Line = ((f"{key_names.get(action.action_id, ' ')} ", "key"), (action.text, ""))
        right: Line = ((action.facts, action.facts_style),) if action.facts else ()
        fits = line_width(left) + line_width(right) + 1 <= width
        lines.append(justify_line(left, right if fits else (), width))
    return lines

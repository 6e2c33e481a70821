"""Read the data of the overview, and format it: pass rates by category, review progress, scores and
next actions.

In blind mode, the overview shows only the runs without rates, and the annotator's own progress.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    NamedTuple,
)

from fcreview.matching.clusters import BY_ERROR_TYPE, ClusterGroup, group_clusters
from fcreview.model.run_check import RunCheck, summarize_problems
from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import format_count
from fcreview.store.queries.runs import (
    SORT_KEYS,
    make_run_figures,
    move_small_runs_to_end,
    search_runs,
    sort_runs,
)
from fcreview.store.queue_file import RUN_KEY_FIELDS, QueueError, list_queue_names, read_queue
from fcreview.store.rows import SUSPECTS_QUEUE, RunRow, View
from fcreview.tables.estimates import format_pass_rate_estimate
from fcreview.tables.runs import MIN_RANKED_ITEMS, OwnScores, make_own_column
from fcreview.tui.queue.header import (
    PassCounts,
    estimate_bar,
    join_run_titles,
    queue_progress_line,
    sum_run_counts,
)
from fcreview.tui.queue_state import QueueProgress
from fcreview.tui.text.graphics import heat_cell, progress_bar_line, share_bar
from fcreview.tui.text.lines import (
    BLANK_LINE,
    CELL_GAP,
    FixedColumn,
    Line,
    StyledText,
    fixed_columns_width,
    format_pass_rate,
    justify_line,
    lay_out_fixed_columns,
    line_width,
    make_line,
    plain_text,
    truncate,
)
from fcreview.tui.text.run_names import format_run_names
from fcreview.tui.text.short_names import shorten_ids, shorten_run_names
from fcreview.tui.text.styles import symbols
from fcreview.tui.text.tables import make_styled_text

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate
    from fcreview.store.store import Store

MIN_NAME_CELLS = 12
MAX_NAME_CELLS = 34
ITEMS_PASSED_TITLE = "items passed"
RATE_BAR_CELLS = 14
MIN_CATEGORY_CELLS = 8
MAX_CATEGORY_CELLS = 18
"""Minimum and maximum width of the column of a category, in cells."""
MIN_INTERVAL_CELLS = 8
SCORE_CELLS = 10
ESTIMATE_CELLS = 24
"""Width of a column of scores, and of the column of estimates, in cells."""
INTERVAL_BAR_GAP = " "
"""Blank between the estimate and the bar of its interval."""
RIGHT_MARGIN_CELLS = 1
"""Cells at the right edge of a table that its columns leave free."""


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
    can_end_blind_review: bool = False
    """Whether the review is blind because of a queue, so that the user can end it."""
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
    seen_review_counts: dict[int, int] = field(default_factory=dict)
    """Number of reviews in the sample that were not blind, by the number of an estimated run."""
    own_scores: OwnScores = field(default_factory=dict)
    """Value of the benchmark's own metric by run number."""
    pending_own_metric: str = ""
    """Title of the benchmark's own metric while it is computed. Its column is drawn already."""

    @property
    def n_failures(self) -> int | None:
        """Number of failing items. None until `reasons` is read."""
        return None if self.reasons is None else sum(group.count for group in self.reasons)

    @property
    def missing_verdict_reason(self) -> str:
        """Text that says why no item of any run has a verdict: `no verdicts: choose one of ...`.

        If several runs have different reasons, the text is only `no verdicts`. It is empty if items
        of some run can have a verdict.
        """
        reasons = {run.info.missing_verdict_reason for run in self.runs}
        if not reasons or "" in reasons or self.n_failures:
            return ""
        return reasons.pop() if len(reasons) == 1 else "no verdicts"

    @property
    def own_unfinished_queue(self) -> QueueProgress | None:
        """The first queue file in which the annotator has items left, or None."""
        for progress in self.queues or ():
            if progress.share.annotator == self.annotator and progress.n_reviews_left:
                return progress
        return None


OverviewReader = Callable[[Overview, View, "Store"], Overview]
"""Reads data of a view, and returns the overview with this data added."""


def add_failure_reasons(overview: Overview, view: View, store: Store) -> Overview:
    return replace(overview, reasons=group_clusters(store.fetch_clusters(view), BY_ERROR_TYPE))


def add_checks(overview: Overview, view: View, store: Store) -> Overview:  # noqa: ARG001 - the runs are those of the view
    return replace(overview, checks=store.check_runs(overview.runs))


def add_queue_progress(overview: Overview, view: View, store: Store) -> Overview:
    """Add how far the queue files are reviewed, and how many disagreements are open.

    In blind mode, this is only the annotator's own progress.
    """
    queue_files = _read_queue_files(overview, store)
    queues: list[QueueProgress] = []
    for queue_file in queue_files:
        queues += queue_file.progress

    n_disagreements = None
    if not overview.blind:
        n_disagreements = len(store.analysis.fetch_disagreements(view))
    return replace(
        overview,
        queues=queues,
        n_disagreements=n_disagreements,
        sampled_runs=_find_sampled_runs(overview.runs, queue_files),
    )


@dataclass(frozen=True, slots=True)
class _QueueFileProgress:
    progress: Sequence[QueueProgress]
    """Progress of each annotator. In blind mode, only that of the reader."""
    sampled_keys: frozenset[RunKey]
    """Runs from which the items were drawn, if the queue is a random sample."""


def _read_queue_files(overview: Overview, store: Store) -> list[_QueueFileProgress]:
    """Read the queue files of the workspace, without those that cannot be read."""
    only_annotator = overview.annotator if overview.blind else None
    queue_files = []
    for name in list_queue_names(store.workspace):
        try:
            shares = store.measure_queue_progress(name, only_annotator)
            design = read_queue(store.workspace, name).design
        except QueueError:
            continue
        progress = [QueueProgress(name, share) for share in shares]
        sampled_keys = frozenset(_run_key_from_json(fields) for fields in design.runs)
        queue_files.append(_QueueFileProgress(progress, sampled_keys))
    return queue_files


def _find_sampled_runs(
    runs: Sequence[RunRow], queue_files: Sequence[_QueueFileProgress]
) -> frozenset[int]:
    """Return the numbers of the runs from which a queue file has a sample."""
    sampled_keys: set[RunKey] = set()
    for queue_file in queue_files:
        sampled_keys |= queue_file.sampled_keys
    return frozenset(run.run for run in runs if _run_key(run) in sampled_keys)


RunKey = tuple[str, ...]
"""Values of `RUN_KEY_FIELDS`, which identify a run in queue files."""


def _run_key(run: RunRow) -> RunKey:
    return tuple(getattr(run.info, name) for name in RUN_KEY_FIELDS)


def _run_key_from_json(fields: Mapping[str, Any]) -> RunKey:
    return tuple(str(fields.get(name, "")) for name in RUN_KEY_FIELDS)


def add_suspect_counts(
    overview: Overview, view: View, store: Store, on_progress: Callable[[int, int], object]
) -> Overview:
    """Add to the overview how many questions have a golden answer that looks wrong.

    Checking all questions takes seconds, so `on_progress` is called with the number of checked
    questions and of all questions.
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
        for category in run.categories:
            sizes[category["category"]] += category["n"]
    return [name for name, _ in sizes.most_common()]


def _count_overall_passes(run: RunRow) -> PassCounts:
    """Return the counts of the official verdicts or, without these, of the recomputed or the
    only judge verdicts.
    """
    if run.has_only_judge_verdicts:
        return PassCounts(run.judge_pass, run.judge_known)
    if run.official_known:
        return PassCounts(run.official_pass, run.official_known)
    return PassCounts(run.rule_pass, run.rule_known)


def _format_overall_pass_rate(run: RunRow) -> str:
    """Return the share of items that pass, such as `56.0 %`, and its source if that is not
    official.
    """
    rate = format_pass_rate(*_count_overall_passes(run), run.n_items)
    if run.has_only_judge_verdicts:
        return f"{rate} judge"
    # The other figures of the overview are official, so the source of this one has a name.
    if run.rule_known and not run.official_known:
        return f"{rate} recomputed"
    return rate


def _find_category_pass_rate(run: RunRow, category: str) -> float | None:
    """Return the pass rate of a category, from 0 to 1, or None.

    The first source that has a verdict on every item counts, in this order: official, recomputed,
    judge.
    """
    counts = _find_category_counts(run, category)
    if counts is None:
        return None
    # `rule` is the key of recomputed verdicts.
    sources = ["official", "rule"]
    if run.has_only_judge_verdicts:
        sources.append("judge")

    n_items = counts["n"]
    for source in sources:
        has_all_verdicts = counts[f"{source}_known"] == n_items
        if has_all_verdicts:
            return float(counts[f"{source}_pass"] / n_items)
    return None


def _find_category_counts(run: RunRow, category: str) -> Mapping[str, Any] | None:
    """Return the counts of a category of the run, or None if it has no items."""
    for counts in run.categories:
        if counts["category"] == category and counts["n"]:
            return counts
    return None


def sort_runs_by_pass_rate(runs: Sequence[RunRow], *, blind: bool) -> list[RunRow]:
    """Return the runs, highest overall pass rate first. In blind mode, sort the runs by model
    instead.
    """
    if blind:
        return sorted(runs, key=lambda run: (run.info.model.casefold(), run.run))
    by_rate = sorted(runs, key=_overall_pass_rate, reverse=True)
    return move_small_runs_to_end(by_rate)


def _overall_pass_rate(run: RunRow) -> float:
    """Return the overall pass rate (0 to 1), or -1 without verdicts, so that such runs come
    last.
    """
    counts = _count_overall_passes(run)
    if not counts.n_with_verdict:
        return -1
    return counts.n_passing / counts.n_with_verdict


ORDERS = ("items passed", "corrected", "model", "date", "items", "reviewed", "issues")
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
        current_index = orders.index(self.order or orders[0])
        self.order = orders[(current_index + 1) % len(orders)]

    def filter_and_sort_runs(self, runs: Sequence[RunRow]) -> list[RunRow]:
        """Return the runs that match the search, in the selected order."""
        matching = search_runs(runs, self.search)
        if self.order in SORT_KEYS:
            return sort_runs(matching, self.order)
        return sort_runs_by_pass_rate(matching, blind=self.blind)

    @property
    def order_description(self) -> str:
        """Order and search as text, such as `by corrected`. Empty for the default order without
        search.
        """
        parts = []
        if self.order:
            parts.append(f"by {self.order}")
        if self.search:
            parts.append(f"search {sanitize(self.search)}")
        return f" {symbols().separator} ".join(parts)


class RunTable(NamedTuple):
    heading: Line
    lines: list[Line]
    n_hidden_categories: int
    """Number of categories to the right that do not fit."""
    upper_heading: Line = BLANK_LINE
    """Line above the heading with the first words of long titles. Empty if all titles are short."""


WIDE_TABLE_CELLS = 100
"""Width, in cells, from which the table of runs has bars and long names."""
MAX_NARROW_NAME_CELLS = 30
BLIND_PROGRESS_TITLE = "reviewed by you"
BLIND_PROGRESS_CELLS = 24


def build_run_table(
    overview: Overview, runs: Sequence[RunRow], cells: int, first_category_index: int
) -> RunTable:
    """Lay out the runs as a table: name, benchmark's own score, pass rate, and rates by category.

    As many categories are shown as fit, the largest first. The reader scrolls to the others:
    `first_category_index` is the index of the first visible one. Blind mode shows only the
    annotator's progress instead of the rates.
    """
    if overview.blind:
        return _lay_out_blind_run_table(overview, runs, cells)

    is_wide = cells >= WIDE_TABLE_CELLS
    columns = _list_columns_before_categories(overview, runs, is_wide=is_wide, has_bar=is_wide)
    categories = list_categories_by_size(runs)[first_category_index:]
    category_columns = _list_category_columns(categories, _measure_room_beside(columns, cells))
    n_hidden_categories = len(categories) - len(category_columns)

    if is_wide and n_hidden_categories:
        # Rates of categories say more than the bar. With titles on two lines, more of them fit.
        columns = _list_columns_before_categories(overview, runs, is_wide=True, has_bar=False)
        return _lay_out_run_table_with_long_titles(columns, categories, runs, cells)

    table = lay_out_fixed_columns(columns + category_columns, runs)
    return RunTable(table.heading, table.rows, n_hidden_categories)


def _list_columns_before_categories(
    overview: Overview, runs: Sequence[RunRow], *, is_wide: bool, has_bar: bool
) -> list[FixedColumn[RunRow]]:
    """Return the columns with the name, the scores and further counts of each run."""
    # A narrow table has shorter names.
    max_name = MAX_NAME_CELLS if is_wide else MAX_NARROW_NAME_CELLS
    columns = [_name_column(overview, runs, max_name, style="strong")]
    columns += _list_own_score_columns(runs, overview)
    columns.append(_overall_rate_column(runs))
    columns.append(_overall_bar_column(RATE_BAR_CELLS if has_bar else 0))
    columns += _list_extra_columns(runs)
    return columns


def _measure_room_beside(columns: Sequence[FixedColumn[RunRow]], cells: int) -> int:
    """Return the cells that these columns leave to the categories, in a table of `cells`."""
    return cells - fixed_columns_width(columns) - RIGHT_MARGIN_CELLS


def _lay_out_run_table_with_long_titles(
    columns: Sequence[FixedColumn[RunRow]],
    categories: Sequence[str],
    runs: Sequence[RunRow],
    cells: int,
) -> RunTable:
    """Lay out the table of runs with titles of categories on two lines: `live_` above
    `irrelevance`.

    `columns` stand before the categories. `cells` is the width of the table.
    """
    titles = _choose_split_titles(categories, _measure_room_beside(columns, cells))

    upper_columns = [replace(column, title="") for column in columns]
    upper_columns += [title.make_column(title.upper) for title in titles]
    upper_heading = lay_out_fixed_columns(upper_columns, ()).heading

    lower_columns = [*columns, *(title.make_column(title.lower) for title in titles)]
    table = lay_out_fixed_columns(lower_columns, runs)
    return RunTable(
        table.heading,
        table.rows,
        n_hidden_categories=len(categories) - len(titles),
        upper_heading=upper_heading,
    )


def _choose_split_titles(categories: Sequence[str], room: int) -> list[_CategoryTitle]:
    """Return the titles of the first categories, as many as fit into `room` cells."""
    short_names = shorten_ids(categories, MAX_CATEGORY_CELLS)
    titles = []
    free_cells = room
    for category in categories:
        title = _split_category_title(category, short_names.get(category, sanitize(category)))
        free_cells -= fixed_columns_width([title.make_column("")])
        if free_cells < 0:
            break
        titles.append(title)
    return titles


@dataclass(frozen=True, slots=True)
class _CategoryTitle:
    """Title of a category on two lines."""

    category: str
    upper: str
    """Empty if the title is one word."""
    lower: str

    @property
    def width(self) -> int:
        longest = max(display_width(self.upper), display_width(self.lower))
        return max(longest, MIN_CATEGORY_CELLS)

    def make_column(self, title_line: str) -> FixedColumn[RunRow]:
        """Return the column of the category, with one of the two lines as its title."""
        make_cell = partial(_category_cell, self.category, self.width)
        return FixedColumn(title_line.center(self.width), self.width, make_cell, gap=" ")


_CATEGORY_WORD_END = re.compile(r"[_\-./ ]+")


def _split_category_title(category: str, title: str) -> _CategoryTitle:
    """Divide a title after one of its words, so that it becomes as narrow as possible."""
    narrowest = _CategoryTitle(category, "", title)
    for match in _CATEGORY_WORD_END.finditer(title):
        upper = title[: match.end()].rstrip()
        divided = _CategoryTitle(category, upper, lower=title[match.end() :])
        if divided.width < narrowest.width:
            narrowest = divided
    return narrowest


def _lay_out_blind_run_table(overview: Overview, runs: Sequence[RunRow], cells: int) -> RunTable:
    """Lay out the runs with their names and the annotator's own progress."""
    max_name = cells - BLIND_PROGRESS_CELLS
    columns = [_name_column(overview, runs, max_name), _own_progress_column()]
    table = lay_out_fixed_columns(columns, runs)
    return RunTable(table.heading, table.rows, n_hidden_categories=0)


def _name_column(
    overview: Overview, runs: Sequence[RunRow], max_cells: int, style: str = ""
) -> FixedColumn[RunRow]:
    """Return the column with the names of `runs`. Names longer than `max_cells` are shortened."""
    labels = format_run_names(overview.runs)
    longest_name = max((display_width(labels[run.run]) for run in runs), default=0)
    cells = max(MIN_NAME_CELLS, min(longest_name, max_cells))
    short_names = _shorten_names_of_runs(labels, runs, cells)
    return FixedColumn("run", cells, lambda run: make_line(short_names[run.run], style), gap="")


OWN_SCORE_CELLS = len("100.00 %")


def _own_progress_column() -> FixedColumn[RunRow]:
    def make_cell(run: RunRow) -> Line:
        return make_line(f"{run.yours:,} of {run.n_items:,}", "dim")

    return FixedColumn(BLIND_PROGRESS_TITLE, len(BLIND_PROGRESS_TITLE), make_cell)


def _list_own_score_columns(
    runs: Sequence[RunRow], overview: Overview
) -> list[FixedColumn[RunRow]]:
    """Return the column with the benchmark's own metric. Empty if the benchmark has none."""
    if overview.pending_own_metric:
        return [_pending_score_column(overview.pending_own_metric)]

    figures_by_run = {}
    for run in runs:
        own_score = overview.own_scores.get(run.run)
        figures_by_run[run.run] = replace(make_run_figures(run), own=own_score)
    own_column = make_own_column(list(figures_by_run.values()))
    if own_column is None:
        return []

    text_by_run = {}
    for run_number, figures in figures_by_run.items():
        text_by_run[run_number] = make_styled_text(own_column.make_cell(figures))
    return [_make_score_column(own_column.title, text_by_run)]


def _make_score_column(title: str, text_by_run: Mapping[int, StyledText]) -> FixedColumn[RunRow]:
    """Return a column that is as wide as its widest text."""
    texts = [title, *(text for text, _ in text_by_run.values())]
    width = max(display_width(text) for text in texts)
    return FixedColumn(title, width, lambda run: (text_by_run[run.run],), align_right=True)


def _pending_score_column(metric_title: str) -> FixedColumn[RunRow]:
    """Return a column of ellipses for a metric that is still being computed. Its width is final."""
    title = sanitize(metric_title)
    width = max(display_width(title), OWN_SCORE_CELLS)
    waiting = make_line(symbols().ellipsis, "dim")
    return FixedColumn(title, width, lambda _: waiting, align_right=True)


def _overall_rate_column(runs: Sequence[RunRow]) -> FixedColumn[RunRow]:
    """Return the column with the pass rate of each run. It is dim if not all items have a
    verdict.
    """

    def make_cell(run: RunRow) -> Line:
        covers_all_items = _count_overall_passes(run).n_with_verdict == run.n_items
        return make_line(_format_overall_pass_rate(run), "strong" if covers_all_items else "dim")

    widths = [display_width(_format_overall_pass_rate(run)) for run in runs]
    cells = max([len(ITEMS_PASSED_TITLE), *widths])
    return FixedColumn(ITEMS_PASSED_TITLE, cells, make_cell, align_right=True)


def _overall_bar_column(bar_cells: int) -> FixedColumn[RunRow]:
    """Return the column that draws each overall pass rate as a bar of `bar_cells` cells.

    With 0 cells, the column is only a blank.
    """

    def make_cell(run: RunRow) -> Line:
        if not bar_cells:
            return BLANK_LINE
        counts = _count_overall_passes(run)
        if not counts.n_with_verdict:
            return share_bar(0, bar_cells)
        return share_bar(counts.n_passing / counts.n_with_verdict, bar_cells)

    return FixedColumn("", bar_cells + 1, make_cell, gap=" ")


def _list_extra_columns(runs: Sequence[RunRow]) -> list[FixedColumn[RunRow]]:
    """Return further columns of the run table, if a run needs them.

    These are the pass rate without incidents, and the number of items if a run lacks some, or has
    too few for a ranking.
    """
    columns = []
    if any(run.incidents for run in runs):
        columns.append(_make_extra_column("w/o incidents", runs, _without_incidents_cell))
    if any(run.not_run or run.n_items < MIN_RANKED_ITEMS for run in runs):
        columns.append(_make_extra_column("items", runs, _items_cell))
    return columns


def _make_extra_column(
    title: str, runs: Sequence[RunRow], format_cell: Callable[[RunRow], StyledText]
) -> FixedColumn[RunRow]:
    """Return a column between the overall rate and the categories, such as the latency.

    It is as wide as its longest text. The texts are aligned to the right, with two blanks after
    them.
    """
    widths = [display_width(title)]
    for run in runs:
        text, _ = format_cell(run)
        widths.append(display_width(text))
    text_cells = max(widths)

    def make_cell(run: RunRow) -> Line:
        text, style = format_cell(run)
        return make_line(text.rjust(text_cells) + CELL_GAP, style)

    return FixedColumn(title.rjust(text_cells), text_cells + len(CELL_GAP), make_cell, gap="")


def _without_incidents_cell(run: RunRow) -> StyledText:
    if run.incidents and not run.n_answered:
        return "no answers", "warn"
    return run.without_incidents_text, ""


def _items_cell(run: RunRow) -> StyledText:
    return run.items_text, "warn" if run.is_unfinished else "dim"


def _list_category_columns(categories: Sequence[str], max_width: int) -> list[FixedColumn[RunRow]]:
    """Return a column with the pass rate of each category, as many as fit into `max_width`."""
    gap = " "
    widths: dict[str, int] = {}
    free_cells = max_width
    for name in categories:
        needed_cells = max(display_width(sanitize(name)), MIN_CATEGORY_CELLS)
        width = min(needed_cells, MAX_CATEGORY_CELLS)
        free_cells -= len(gap) + width
        if free_cells < 0:
            break
        widths[name] = width

    short_names = shorten_ids(list(widths), MAX_CATEGORY_CELLS)
    columns = []
    for name, width in widths.items():
        title = short_names.get(name, sanitize(name)).center(width)
        columns.append(FixedColumn(title, width, partial(_category_cell, name, width), gap=gap))
    return columns


def _category_cell(category: str, width: int, run: RunRow) -> Line:
    return (heat_cell(_find_category_pass_rate(run, category), width),)


def _shorten_names_of_runs(
    labels: Mapping[int, str], runs: Sequence[RunRow], width: int
) -> dict[int, str]:
    """Return the name of each run in at most `width` cells, by run number."""
    distinct_labels = list(dict.fromkeys(labels[run.run] for run in runs))
    short_labels = shorten_run_names(distinct_labels, width)
    short_names = {}
    for run in runs:
        label = labels[run.run]
        short_names[run.run] = pad(short_labels.get(label, label), width)
    return short_names


MAX_TITLES_CELLS = 40


def format_run_facts(overview: Overview, n_hidden_categories: int) -> str:
    """Return the facts above the table of runs: `4 runs · 8,282 items · BFCL V4 · 2 more categories
    →`.
    """
    runs = overview.runs
    facts = [
        format_count(len(runs), "run"),
        format_count(sum_run_counts(runs).items, "item"),
    ]
    titles = join_run_titles(runs)
    if display_width(titles) <= MAX_TITLES_CELLS:
        facts.append(titles)
    else:
        n_benchmarks = len({run.info.benchmark for run in runs})
        facts.append(format_count(n_benchmarks, "benchmark"))
    if n_hidden_categories:
        more = format_count(n_hidden_categories, "more category", "more categories")
        facts.append(f"{more} {symbols().arrow}")
    return f" {symbols().separator} ".join(facts)


# -- failures, reviews and scores


def format_failure_facts(overview: Overview) -> str:
    """Return the facts above the failure reasons: `all runs · 312 failures · 14 error types`."""
    if overview.reasons is None:
        return "reading"
    if overview.missing_verdict_reason:
        return "no verdicts"
    facts = [
        format_count(overview.n_failures or 0, "failure"),
        format_count(len(overview.reasons), "error type"),
    ]
    if len(overview.runs) > 1:
        facts.insert(0, "all runs")
    return f" {symbols().separator} ".join(facts)


def review_progress_lines(overview: Overview, width: int) -> list[Line]:
    """Return a progress bar for each queue file and for all items, and the number of open
    disagreements.

    In blind mode, the bars count only the annotator's own reviews.
    """
    lines = [queue_progress_line(progress, width) for progress in overview.queues or ()]
    totals = sum_run_counts(overview.runs)
    if overview.blind:
        lines.append(progress_bar_line("reviewed by you", totals.yours, totals.items, width))
    else:
        lines.append(progress_bar_line("reviewed", totals.reviewed, totals.items, width))
    if overview.n_disagreements:
        disagreements = format_count(overview.n_disagreements, "open disagreement")
        lines.append(make_line(disagreements, "disputed"))
    return lines


def format_label_progress(overview: Overview) -> str:
    """Return the number of recorded labels in all queue files: `31 of 50 labels`. Empty without
    queue files.
    """
    if not overview.queues:
        return ""
    n_done = sum(progress.share.done for progress in overview.queues)
    n_labels = sum(progress.share.total for progress in overview.queues)
    return f"{n_done:,} of {format_count(n_labels, 'label')}"


def format_completed_queues(overview: Overview) -> str:
    """Return the number of completed queue files: `1 of 2 queues complete`. Empty without queue
    files.
    """
    if not overview.queues:
        return ""
    names = {progress.queue for progress in overview.queues}
    open_names = {progress.queue for progress in overview.queues if progress.n_reviews_left}
    n_complete = len(names - open_names)
    return f"{n_complete} of {format_count(len(names), 'queue')} complete"


def score_lines(overview: Overview, runs: Sequence[RunRow], width: int) -> list[Line]:
    """Return a table of the scores of the runs: official, corrected, and estimated with its
    interval.

    If there is no room, the corrected score is omitted. Estimates are shown only if a run has a
    random sample.
    """
    score_columns = _list_score_columns(overview, width)
    room_for_name = width - fixed_columns_width(score_columns) - RIGHT_MARGIN_CELLS
    columns = [_name_column(overview, runs, min(MAX_NAME_CELLS, room_for_name)), *score_columns]

    # The bar of the interval gets the cells that are left.
    room_for_bar = width - fixed_columns_width(columns) - len(INTERVAL_BAR_GAP)
    if overview.sampled_runs and room_for_bar >= MIN_INTERVAL_CELLS:
        columns.append(_estimate_bar_column(overview, room_for_bar))

    table = lay_out_fixed_columns(columns, runs)
    heading = plain_text(table.heading).rstrip()
    return [make_line(truncate(heading, width), "dim"), *table.rows]


def _list_score_columns(overview: Overview, width: int) -> list[FixedColumn[RunRow]]:
    """Return the columns with figures, without the corrected score if a table of `width` cells has
    no room for it beside the shortest column of names.
    """
    official = _score_column("official", _official_score)
    corrected = _score_column("corrected", _corrected_score, style="strong")
    columns = [official, corrected]
    if overview.sampled_runs:
        columns.append(_estimate_column(overview))

    needed_cells = MIN_NAME_CELLS + fixed_columns_width(columns) + RIGHT_MARGIN_CELLS
    if needed_cells <= width:
        return columns
    return [column for column in columns if column is not corrected]


def _score_column(
    title: str, format_score: Callable[[RunRow], str], style: str = ""
) -> FixedColumn[RunRow]:
    """Return a column with a score of each run, right-aligned."""
    return FixedColumn(
        title,
        SCORE_CELLS,
        lambda run: make_line(format_score(run), style),
        align_right=True,
        gap="",
    )


def _official_score(run: RunRow) -> str:
    return _format_rate_if_complete(run.official_pass, run.official_known, run.n_items)


def _corrected_score(run: RunRow) -> str:
    return _format_rate_if_complete(run.effective_pass, run.effective_known, run.n_items)


def _estimate_column(overview: Overview) -> FixedColumn[RunRow]:
    """Return the column with the estimated pass rate of each run and its interval.

    A run without a sample has an empty cell, and one whose estimate is not computed yet an
    ellipsis.
    """

    def make_cell(run: RunRow) -> Line:
        estimate = overview.estimates.get(run.run)
        if estimate is not None:
            return make_line(format_pass_rate_estimate(estimate), "strong")
        if run.run not in overview.sampled_runs:
            return BLANK_LINE
        # A sample without reviews has the estimate None.
        is_read = run.run in overview.estimates
        return make_line(symbols().none if is_read else symbols().ellipsis, "dim")

    return FixedColumn("estimated items passed", ESTIMATE_CELLS - len(CELL_GAP), make_cell)


def name_estimate_kinds(estimates: Iterable[PassRateEstimate | None]) -> str:
    """Say whether estimates have 95 % intervals, or ranges because of undecided items, or both.

    None stands for a run that cannot be estimated. While nothing is estimated, intervals are
    expected.
    """
    is_range = {estimate.is_bounds_headline for estimate in estimates if estimate is not None}
    if is_range == {True}:
        return "ranges"
    if is_range == {True, False}:
        return "95 % intervals, ranges"
    return "95 % intervals"


def _estimate_bar_column(overview: Overview, cells: int) -> FixedColumn[RunRow]:
    """Return a column that draws the interval of each run's estimated score."""

    def make_cell(run: RunRow) -> Line:
        estimate = overview.estimates.get(run.run)
        return BLANK_LINE if estimate is None else estimate_bar(estimate, run, cells)

    return FixedColumn("", cells, make_cell, gap=INTERVAL_BAR_GAP)


def _format_rate_if_complete(n_passing: int, n_with_verdict: int, n_items: int) -> str:
    """Return the pass rate, or a dash unless every item has a verdict."""
    if n_items == 0 or n_with_verdict != n_items:
        return symbols().none
    return f"{100 * n_passing / n_items:.1f} %"


# -- next actions


def list_next_actions(overview: Overview) -> list[NextAction]:
    """Return what the reader can sensibly do next, the most useful action first."""
    # Problems with the scores come first, because they can make all other figures wrong.
    actions = _suggest_score_check(overview)
    actions += _suggest_awaited_work(overview)
    actions.append(NextAction("overview.failures", f"Review {_name_reviewed_items(overview)}"))
    if overview.queues is not None and not overview.blind:
        actions.append(_suggest_estimate_action(overview))
    if overview.n_suspects:
        actions.append(_suggest_suspects_action(overview.n_suspects, overview.n_strong_suspects))
    if not overview.blind:
        actions += _suggest_comparisons(overview.runs)
    if overview.can_end_blind_review and overview.own_unfinished_queue is None:
        actions.append(
            NextAction("overview.estimates", "End the blind review", "to see verdicts and figures")
        )
    return actions


def _suggest_score_check(overview: Overview) -> list[NextAction]:
    """Suggest to look at the problems with the scores, if there are any."""
    problems = summarize_problems(overview.checks or ())
    if not problems:
        return []
    return [NextAction("overview.check", "Check the scores", facts=problems, facts_style="warn")]


def _suggest_awaited_work(overview: Overview) -> list[NextAction]:
    """Suggest work that somebody waits for: open disagreements and the annotator's own queue."""
    actions = []
    if overview.n_disagreements:
        disagreements = format_count(overview.n_disagreements, "disagreement")
        actions.append(NextAction("overview.adjudicate", f"Resolve {disagreements}"))
    own = overview.own_unfinished_queue
    if own is not None:
        actions.append(_suggest_own_queue_action(own))
    return actions


def _suggest_comparisons(runs: Sequence[RunRow]) -> list[NextAction]:
    """Suggest to rank the runs, if they have a ranking, and to compare two of them."""
    if len(runs) < 2:
        return []
    actions = []
    if _can_rank(runs):
        n_runs = format_count(len(runs), "run")
        actions.append(NextAction("overview.ranking", "See how sure the ranking is", n_runs))
    actions.append(NextAction("overview.run_list", "Compare two runs"))
    return actions


def _can_rank(runs: Sequence[RunRow]) -> bool:
    """Whether the runs have a ranking: they are runs of one benchmark, with automatic verdicts."""
    benchmarks = {run.info.benchmark for run in runs}
    have_verdicts = all(run.official_known or run.rule_known for run in runs)
    return len(runs) > 1 and len(benchmarks) == 1 and have_verdicts


def _suggest_own_queue_action(own: QueueProgress) -> NextAction:
    """Suggest to review the rest of a queue that is assigned to the annotator."""
    items = format_count(own.n_reviews_left, "item")
    return NextAction(
        "overview.queue",
        f"Review {items} of {sanitize(own.queue)}",
        facts=sanitize(own.share.annotator),
        facts_style="people",
    )


def _name_reviewed_items(overview: Overview) -> str:
    """Return `312 failures` or, if failures are hidden or there are no verdicts, `items`."""
    if overview.missing_verdict_reason or overview.blind:
        return "items"
    if overview.n_failures is None:
        return "failures"
    return format_count(overview.n_failures, "failure")


def _suggest_suspects_action(n_suspects: int, n_strong: int) -> NextAction:
    """Suggest to check the golden answers that look wrong: those with strong evidence or, if there
    are none, those with weak evidence.
    """
    n_weak = n_suspects - n_strong
    if n_strong:
        suspects = format_count(n_strong, "suspect golden answer")
        facts = f"{n_weak:,} weak" if n_weak else ""
    else:
        suspects = format_count(n_weak, "suspect golden answer")
        facts = "weak evidence"
    return NextAction("overview.suspects", f"Check {suspects}", facts=facts)


def _suggest_estimate_action(overview: Overview) -> NextAction:
    """Suggest to draw a sample or, if there is one, to look at the estimate from it."""
    if not overview.sampled_runs:
        return NextAction("overview.estimates", "Draw a sample", facts="to estimate accuracy")

    # An estimate knows how many labels it lacks for its target of ± 2 points. The run that needs
    # most labels counts.
    n_needed = 0
    for estimate in overview.estimates.values():
        if estimate is not None:
            n_needed = max(n_needed, estimate.needed or 0)

    # The samples are in queues. Before they are reviewed, it is not known how many labels they
    # lack.
    facts = format_count(len(overview.sampled_runs), "run")
    is_sample_reviewed = all(progress.n_reviews_left == 0 for progress in overview.queues or ())
    if n_needed and is_sample_reviewed:
        labels = format_count(n_needed, "more label")
        facts = f"{labels} for {symbols().plus_minus} 2 points"
    return NextAction("overview.estimates", "See estimated accuracy", facts=facts)


def next_action_lines(overview: Overview, key_names: dict[str, str], width: int) -> list[Line]:
    """Return a line for each next action: its key, the action, and facts at the right end.

    Facts that do not fit are omitted. `key_names`: displayed key names by action id.
    """
    lines: list[Line] = []
    for action in list_next_actions(overview):
        key = key_names.get(action.action_id, " ")
        left: Line = ((f"{key} ", "key"), (action.text, ""))
        right = make_line(action.facts, action.facts_style) if action.facts else BLANK_LINE
        if line_width(left) + line_width(right) + 1 > width:
            right = BLANK_LINE
        lines.append(justify_line(left, right, width))
    return lines

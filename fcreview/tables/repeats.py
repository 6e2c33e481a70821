"""Table of groups of runs that repeat the same questions: mean, spread, pass^k and pass@k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_VALUE, format_count
from fcreview.stats.repeats import GroupDifference, GroupSummary, RepeatedFigure
from fcreview.stats.run_comparison import format_p_value
from fcreview.tables.table import (
    SEPARATOR,
    Cell,
    Column,
    Row,
    Table,
    make_heading_row,
    make_row,
    make_whisker,
)

INTERVAL_NOTE = (
    "[ ]: 95 % interval by clusters of questions (Miller 2024). It covers the choice of the"
    " questions and the chance of each answer. SD: standard deviation of the runs."
)
DIFFERENCE_NOTE = (
    "versus: mean minus that of the best group, on the questions that both answer in every run."
    " p: McNemar's test for clusters; p (Holm): corrected for the number of groups."
)
NO_COMMON_QUESTION = "no question has a verdict in every run"
POOLED_NOTE = (
    "pass^k: share of questions that k trials all pass. pass@k: share that at least one of k trials"
    " passes."
)


@dataclass(frozen=True, slots=True)
class GroupTitle:
    """What a table says about a group of runs."""

    name: str
    run_names: Sequence[str]
    run_numbers: Sequence[int]


def build_repeat_table(summaries: Sequence[GroupSummary], titles: Sequence[GroupTitle]) -> Table:
    """Return a table with a heading for each group of runs, and rows with its runs and figures.

    `titles` has the titles of the groups in the order of `summaries`.
    """
    columns = [
        Column("group and figure", cut="middle", min_cells=24),
        Column("value", align_right=True),
        Column("95 % interval"),
        Column("p", align_right=True),
        Column("p (Holm)", align_right=True, priority=2),
    ]
    best_name = titles[0].name if titles else ""
    rows: list[Row] = []
    for summary, title in zip(summaries, titles, strict=True):
        heading = describe_group(summary, title)
        rows.append(make_heading_row(heading, len(columns)))
        rows += _build_run_rows(summary, title)
        if not summary.figures:
            rows.append(make_row([NO_COMMON_QUESTION, NO_VALUE, "", "", ""], level=1))
        for figure in summary.figures:
            rows.append(_build_figure_row(figure))
            if figure is summary.mean:
                # The spread of the runs belongs to their mean.
                rows.append(_build_spread_row(summary))
        if summary.versus_best is not None:
            rows.append(_build_difference_row(summary.versus_best, best_name))

    notes = [INTERVAL_NOTE, POOLED_NOTE]
    if len(summaries) > 1:
        notes.append(DIFFERENCE_NOTE)
    return Table(columns, rows, notes=notes, graphic_at=3)


def describe_group(summary: GroupSummary, title: GroupTitle) -> str:
    """Return `maple-8b · 3 runs, 1,000 questions, 2 left out, 31 unstable`."""
    runs = format_count(len(title.run_names), "run")
    questions = format_count(summary.n_questions, "question")
    text = f"{sanitize(title.name)}{SEPARATOR}{runs}, {questions}, {summary.n_left_out:,} left out"
    if len(title.run_names) > 1:
        text += f", {summary.n_unstable:,} unstable"
    return text


def _build_run_rows(summary: GroupSummary, title: GroupTitle) -> list[Row]:
    """Return a row with the pass rate of each run of a group."""
    rows = []
    for index, name in enumerate(title.run_names):
        value = NO_VALUE
        if summary.run_values:
            value = _format_share(summary.run_values[index])
        text = f"run {title.run_numbers[index]}{SEPARATOR}{sanitize(name)}"
        cells = [Cell(text, "dim"), Cell(value, "dim"), Cell(""), Cell(""), Cell("")]
        rows.append(Row(cells, level=1))
    return rows


def _build_figure_row(figure: RepeatedFigure) -> Row:
    """Return the row of a figure, such as pass^k, with its interval."""
    interval = NO_VALUE
    if figure.low is not None and figure.high is not None:
        interval = f"[{100 * figure.low:.1f}, {100 * figure.high:.1f}]"
    cells = [Cell(figure.name), Cell(_format_share(figure.value), "strong"), Cell(interval)]
    cells += [Cell(""), Cell("")]
    return Row(cells, level=1, graphic=make_whisker(figure.low, figure.value, figure.high))


def _build_spread_row(summary: GroupSummary) -> Row:
    """Return the row of the spread of the runs: `SD 0.35` with the lowest and highest run."""
    if summary.spread is None:
        return make_row(["SD of the runs", NO_VALUE, "one run", "", ""], level=1)
    lowest = 100 * min(summary.run_values)
    highest = 100 * max(summary.run_values)
    extremes = f"from {lowest:.1f} to {highest:.1f}"
    return make_row(["SD of the runs", _format_share(summary.spread), extremes, "", ""], level=1)


def _build_difference_row(versus_best: GroupDifference, best_name: str) -> Row:
    """Return the row with the difference to the best group, its interval and its p values."""
    difference = versus_best.difference
    name = f"versus {sanitize(best_name)}"
    if difference.value is None or difference.low is None or difference.high is None:
        return make_row([name, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE], level=1)
    return make_row(
        [
            name,
            f"{100 * difference.value:+.2f}",
            f"[{100 * difference.low:+.1f}, {100 * difference.high:+.1f}]",
            format_p_value(difference.p),
            format_p_value(versus_best.p_holm),
        ],
        level=1,
    )


def _format_share(share: float) -> str:
    return f"{100 * share:.2f} %"

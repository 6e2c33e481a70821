"""Tables of a comparison: the pass rates of two runs, and the ranking of many runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_VALUE, format_count, format_rate, format_verdict
from fcreview.stats.paired_difference import INTERVAL_DESCRIPTION
from fcreview.stats.run_comparison import (
    ComparisonGroup,
    Flip,
    RankedRun,
    RunComparison,
    VerdictSource,
    describe_test,
    format_difference,
    format_p_value,
    format_points,
    is_clustered,
    list_table_groups,
)
from fcreview.tables.table import Cell, Column, Row, Table, Whisker, make_row, make_whisker

if TYPE_CHECKING:
    from fcreview.stats.estimated_difference import EstimatedDifference

CLUSTER_MARK = "c"
HOLM_TITLE = "p (Holm)"
"""Title of the column with p values that are corrected for the number of categories."""


@dataclass(frozen=True, slots=True)
class _GroupRow:
    """Items of a row of the table of pass rates."""

    group: ComparisonGroup
    is_comparable: bool
    """Whether both runs have verdicts from the same source on some of the items.

    Otherwise only counts are known: the items with a verdict would be no random sample.
    """


def build_pass_rate_table(
    comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource
) -> Table:
    """Return a table that compares the pass rates of two runs A and B, for all items and for each
    category.

    `source_a` and `source_b` say whose verdicts count, for example the official ones.
    """
    rows = []
    for group in list_table_groups(comparison, source_a, source_b):
        rows.append(_make_group_row(group, source_a, source_b))

    columns = [
        Column("category", cut="middle", min_cells=10),
        Column("items", align_right=True, min_cells=5),
        Column("A, %", align_right=True, min_cells=5),
        Column("B, %", align_right=True, min_cells=5),
        Column("A - B, 95 % interval", min_cells=_measure_differences(rows)),
    ]
    # The interval is drawn after its figures.
    graphic_at = len(columns)
    columns += [
        Column("both pass", align_right=True, priority=1),
        Column("both fail", align_right=True, priority=1),
        Column("only A", align_right=True, priority=30),
        Column("only B", align_right=True, priority=30),
        Column("p", align_right=True, priority=3),
    ]
    # p values of several categories are also corrected for their number.
    has_categories = len(rows) > 1
    if has_categories:
        columns.append(Column(HOLM_TITLE, align_right=True, priority=2))
    return Table(
        columns,
        [_build_group_row(row, has_holm=has_categories) for row in rows],
        notes=[_explain_figures([row.group for row in rows])],
        graphic_at=graphic_at,
        scale="difference",
    )


def _make_group_row(
    group: ComparisonGroup, source_a: VerdictSource, source_b: VerdictSource
) -> _GroupRow:
    is_comparable = group.is_comparable(source_a, source_b) and group.counts.n > 0
    return _GroupRow(group, is_comparable)


def _measure_differences(rows: Sequence[_GroupRow]) -> int:
    """Return the width, in cells, of the longest difference, which is never cut."""
    return max(len(_format_difference(row)) for row in rows)


def _build_group_row(row: _GroupRow, *, has_holm: bool) -> Row:
    """Return the row of a category, or of all items: the pass rates of both runs, their difference,
    and the numbers of items by the verdicts of both.

    `has_holm` adds the p value that is corrected for the number of categories.
    """
    group = row.group
    counts = group.counts
    name = Cell("all items", "strong")
    if group.category is not None:
        name = Cell(sanitize(group.category))

    cells = [
        name,
        Cell(format_item_count(group)),
        _make_rate_cell(row, group.rate_a),
        _make_rate_cell(row, group.rate_b),
        Cell(_format_difference(row), "strong" if row.is_comparable else "dim"),
        Cell(f"{counts.both_pass:,}"),
        Cell(f"{counts.both_fail:,}"),
        Cell(f"{counts.only_a:,}"),
        Cell(f"{counts.only_b:,}"),
        Cell(_format_p_value_and_mark(row), "dim"),
    ]
    if has_holm:
        holm = format_p_value(group.p_holm) if row.is_comparable else NO_VALUE
        cells.append(Cell(holm, "dim"))
    return Row(cells, graphic=_find_whisker(row))


def format_item_count(group: ComparisonGroup) -> str:
    """Return the number of compared items: `3`, or `2 of 3` if one of three items lacks a
    verdict in run A or B.
    """
    if group.counts.n < group.n_pairs:
        return f"{group.counts.n:,} of {group.n_pairs:,}"
    return f"{group.counts.n:,}"


def _make_rate_cell(row: _GroupRow, rate: float | None) -> Cell:
    if rate is None or not row.is_comparable:
        return Cell(NO_VALUE, "dim")
    return Cell(f"{100 * rate:.1f}")


def _format_difference(row: _GroupRow) -> str:
    return format_difference(row.group.difference) if row.is_comparable else NO_VALUE


def format_group_p_value(
    group: ComparisonGroup, source_a: VerdictSource, source_b: VerdictSource
) -> str:
    """Return the p value of the items of a row, as in the table of pass rates. It is `–` if the
    pass rates cannot be compared, such as when some pairs lack a recomputed verdict.
    """
    return _format_p_value(_make_group_row(group, source_a, source_b))


def _format_p_value(row: _GroupRow) -> str:
    """Format a p value. Items that are no random sample have none."""
    if not row.is_comparable:
        return NO_VALUE
    return format_p_value(row.group.difference.p)


def _format_p_value_and_mark(row: _GroupRow) -> str:
    """Format a p value. A mark says that the test is by cluster."""
    text = _format_p_value(row)
    if text != NO_VALUE and is_clustered(row.group):
        return f"{text} {CLUSTER_MARK}"
    return text


def _find_whisker(row: _GroupRow) -> Whisker | None:
    if not row.is_comparable:
        return None
    difference = row.group.difference
    return make_whisker(difference.low, difference.value, difference.high)


def _explain_figures(groups: Sequence[ComparisonGroup]) -> str:
    """Name the interval and the tests of the table."""
    sentences = [f"[ ]: {INTERVAL_DESCRIPTION}."]
    tests = describe_test(groups)
    if tests:
        sentences.append(f"p: {tests}, two-sided.")
    if any(is_clustered(group) for group in groups):
        sentences.append(f"{CLUSTER_MARK}: test and interval by cluster.")
    if len(groups) > 1:
        sentences.append(f"{HOLM_TITLE}: corrected for the number of categories (Holm 1979).")
    return " ".join(sentences)


SIDE_TITLES = ("A", "B")
"""Titles of the columns with the verdicts of both runs."""


def build_flip_table(flips: Sequence[Flip]) -> Table:
    """Return the flips: items that only one of two runs passes, and why the other one fails."""
    columns = [
        Column("item", cut="middle", min_cells=14),
        *[Column(title) for title in SIDE_TITLES],
        Column("cause"),
    ]
    rows = []
    for flip in flips:
        cells = [
            Cell(sanitize(flip.a.question_key.id)),
            _make_verdict_cell(flip.a.verdict),
            _make_verdict_cell(flip.b.verdict),
            Cell(sanitize(flip.cause)),
        ]
        rows.append(Row(cells))
    return Table(columns, rows)


def _make_verdict_cell(verdict: bool | None) -> Cell:
    return Cell(format_verdict(verdict), "pass" if verdict else "fail")


def format_flip_count(n_flips: int, passing_side: str) -> str:
    """Return the number of flips: `only A passes: 3 items`.

    `passing_side`: `a`, `b`, or empty for both.
    """
    count = format_count(n_flips, "item")
    return f"only {passing_side.upper()} passes: {count}" if passing_side else count


def describe_estimated_difference(estimate: EstimatedDifference) -> list[str]:
    """Return lines with the estimated difference of two runs, or with the reason why there is
    none.
    """
    if estimate.headline is None:
        return [f"no estimated difference: {estimate.reason}"]

    n_pairs = format_count(estimate.n_questions, "pair")
    lines = [
        f"estimated A - B if all {n_pairs} were reviewed: {_format_estimate(estimate)}."
        f" {_describe_joint_sample(estimate)}"
    ]
    if estimate.is_bounds_headline:
        lines.append(
            "At the low end of the range, A fails and B passes all undecided items. At the high"
            " end, it is the reverse. There is no p, because too many pairs are undecided."
        )
    if estimate.n_outside:
        outside = format_count(estimate.n_outside, "pair")
        lines.append(f"{outside} of both runs could not be drawn, so the estimate leaves them out.")
    return lines


def _format_estimate(estimate: EstimatedDifference) -> str:
    """Return `+3.1 [+0.2, +6.0], p 0.037`, or the range `-1.0 to +7.0`."""
    if estimate.is_bounds_headline and estimate.bounds is not None:
        low, high = estimate.bounds
        return f"{format_points(low)} to {format_points(high)}"
    value = format_points(estimate.value)
    interval = f"{value} [{format_points(estimate.low)}, {format_points(estimate.high)}]"
    if estimate.p is None:
        return interval
    return f"{interval}, p {format_p_value(estimate.p)}"


def _describe_joint_sample(estimate: EstimatedDifference) -> str:
    """Return `Joint sample: 100 pairs reviewed, 25 clusters; automatic verdicts: +2.0.`"""
    facts = [f"{format_count(estimate.n_reviewed, 'pair')} reviewed"]
    if estimate.n_undecided:
        facts.append(f"{estimate.n_undecided:,} undecided")
    if 0 < estimate.n_clusters < estimate.n_reviewed:
        clusters = format_count(estimate.n_clusters, "cluster")
        facts.append(f"{clusters} (design effect {estimate.design_effect:.1f})")
    automatic = format_points(estimate.automatic)
    return f"Joint sample: {', '.join(facts)}; automatic verdicts: {automatic}."


TIE_MARK = "="
"""Marks a run that may be as good as the best run."""
RANKING_NOTE = (
    "[ ]: 95 % intervals, by cluster. to best: difference from the first run."
    f" {TIE_MARK}: its interval contains 0, not corrected for the number of runs."
)


@dataclass(frozen=True, slots=True)
class RankedName:
    """Run of a ranking with its number and name."""

    ranked: RankedRun
    number: int
    name: str


def build_ranking_table(runs: Sequence[RankedName], *, shows_reviews: bool) -> Table:
    """Return the runs, best first, with intervals and the differences from the best run."""
    columns = [
        Column("rank", align_right=True),
        Column(""),
        Column("run", align_right=True),
        Column("name"),
        Column("pass rate", align_right=True),
        Column("95 % interval"),
        Column("passed", align_right=True),
        Column("of", align_right=True),
        Column("to best, points"),
    ]
    if shows_reviews:
        columns.append(Column("reviewed", align_right=True))
    rows = [_build_ranking_row(run, shows_reviews=shows_reviews) for run in runs]
    return Table(columns, rows, notes=[RANKING_NOTE])


def _build_ranking_row(run: RankedName, *, shows_reviews: bool) -> Row:
    """Return the row of a run in the ranking: its rank, name, pass rate and distance to the best
    run.
    """
    ranked = run.ranked
    rate = ranked.clustered_rate
    interval = NO_VALUE
    if rate is not None:
        interval = f"[{100 * rate.low:.1f}, {100 * rate.high:.1f}]"
    to_best = NO_VALUE
    if ranked.to_best is not None:
        to_best = format_difference(ranked.to_best)

    texts = [
        str(ranked.rank),
        TIE_MARK if ranked.is_tied else "",
        str(run.number),
        sanitize(run.name),
        format_rate(ranked.passed, ranked.known),
        interval,
        f"{ranked.passed:,}",
        f"{ranked.known:,}",
        to_best,
    ]
    if shows_reviews:
        texts.append(f"{ranked.n_reviewed:,}")
    return make_row(texts)

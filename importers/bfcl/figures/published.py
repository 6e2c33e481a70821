"""What the leaderboards of V2 and V3 printed besides the groups that both have.

V2 (`data_combined.csv`): live and non-live calls have one column, the mean of both, and the overall figure is the mean
of ten columns. V3 (`data_overall.csv`): the overall figure is the mean of non-live, live and multi-turn; non-live is
that of nine columns, of five since the executable categories were given up in April 2025.
"""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.importers.bfcl.figures.groups import CategoryGroup, all_of, category_of, unweighted, without
from fcreview.importers.bfcl.figures.rates import Mean, Rates, mean, weighted

LIVE = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
Published = tuple[CategoryGroup, list[CategoryGroup]]
"""The overall figure, and further groups."""


def published_v2(rates: Rates, groups: Sequence[CategoryGroup]) -> Published:
    by_name = {group.name: group for group in groups}
    ast = by_name["ast"].parts
    pairs = zip(ast, all_of(rates, LIVE), strict=True)
    combined = [_only(f"combined_{one.name}", [one.mean, live.mean]) for one, live in pairs]
    irrelevance, relevance = _irrelevance(rates), category_of(rates, "live_relevance")
    columns = [*combined, *by_name["executable"].parts, irrelevance, relevance]
    more = [unweighted("combined_ast", combined), non_live(by_name), _live_ast(rates), irrelevance]
    return _overall(columns), more


def published_v3(rates: Rates, groups: Sequence[CategoryGroup]) -> Published:
    by_name = {group.name: group for group in groups}
    first = non_live(by_name)
    overall = _overall([first, by_name["live"], by_name["multi_turn"]])
    return overall, [first, _live_ast(rates), _irrelevance(rates)]


def non_live(groups: dict[str, CategoryGroup]) -> CategoryGroup:
    """The mean of the columns of `data_non_live.csv`; without the executable ones where none of them was run."""
    run = groups["executable"].parts if groups["executable"].mean.of else ()
    return _only("non_live", [part.mean for part in (*groups["ast"].parts, *run, *groups["irrelevance"].parts)])


def _live_ast(rates: Rates) -> CategoryGroup:
    """`AST Summary` of `data_live.csv`, by items."""
    under = weighted(rates, LIVE)
    return CategoryGroup("live_ast", under, note=without(under.missing))


def _irrelevance(rates: Rates) -> CategoryGroup:
    """`Irrelevance Detection` of the overall table."""
    return _only("irrelevance_detection", [part.mean for part in all_of(rates, ("irrelevance", "live_irrelevance"))])


def _only(name: str, parts: Sequence[Mean]) -> CategoryGroup:
    """A mean whose parts stand elsewhere."""
    under = mean(parts)
    return CategoryGroup(name, under, note=without(under.missing))


def _overall(columns: Sequence[CategoryGroup]) -> CategoryGroup:
    """Given only where every column is whole: one over a part would be compared with whole ones."""
    under = mean([column.mean for column in columns])
    if under.missing:
        return CategoryGroup("overall", Mean(None, under.n, under.of, under.missing), note=without(under.missing))
    return CategoryGroup("overall", under, note="the leaderboard's")

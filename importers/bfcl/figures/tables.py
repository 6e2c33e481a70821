"""BFCL's accuracy table: from pass counts of categories to the figures of the generation's leaderboard.

Sources: `eval_runner_helper.py` of the official program, that of package bfcl-eval 2026.3.23 for V4, that of summer
2024 for V1, those of September 2024 and of January to June 2025 for V2 and V3 (`published.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from fcreview.figures import Figure
from fcreview.importers.bfcl.figures.groups import (
    CategoryGroup,
    all_of,
    category_of,
    counted_as_0,
    na_if_missing,
    unweighted,
    weighted_group,
    without,
)
from fcreview.importers.bfcl.figures.published import published_v2, published_v3
from fcreview.importers.bfcl.figures.rates import Mean, Rate, Rates, mean, pooled, weighted

LIVE_SIZES = {"live_simple": 258, "live_multiple": 1053, "live_parallel": 16, "live_parallel_multiple": 24}
"""Items of V4's dataset: what a category that was not run weighs."""
WEIGHTS = {"non_live": 0.1, "live": 0.1, "irrelevance": 0.1, "multi_turn": 0.3, "agentic": 0.4}
APART = ("format_sensitivity", "chatable", "sql")
"""Categories of no accuracy table: one has a table of its own, two are not scored."""
_SIMPLE = ("simple_python", "simple_java", "simple_javascript")
_MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")


def table(generation: str, rates: Rates) -> Sequence[Figure]:
    """The overall line, groups, their parts and categories; then the categories that no group has."""
    return _table(generation, tuple(rates.items()))


@lru_cache(maxsize=2)
def _table(generation: str, of_categories: tuple[tuple[str, Rate], ...]) -> Sequence[Figure]:
    """Sources that count the same, as the corrected one does until somebody reviews, ask one after the other."""
    rates = dict(of_categories)
    if generation in ("V1", "V2", "V3"):
        groups = _before(generation, rates)
        overall = [_all_items(generation, rates, groups)]
        if generation != "V1":
            first, more = (published_v2 if generation == "V2" else published_v3)(rates, groups)
            overall.insert(0, first)
            groups += more
    else:
        groups = _v4(rates)
        overall = [_overall(groups)]
    grouped = {category for group in groups for category in group.categories()}
    rest = [category_of(rates, name) for name in rates if name not in grouped and name not in APART]
    whole = [line for group in overall for line in group.lines(0)]
    return (*whole, *(line for group in (*groups, *rest) for line in group.lines(1)))


def _v4(rates: Rates) -> list[CategoryGroup]:
    """A group in which nothing was run is printed as 0, parts of groups as N/A."""
    simple = na_if_missing(unweighted("simple", all_of(rates, _SIMPLE), absent_is_0=True))
    others = all_of(rates, ("multiple", "parallel", "parallel_multiple"))
    live = CategoryGroup("live", weighted(rates, tuple(LIVE_SIZES), LIVE_SIZES), all_of(rates, tuple(LIVE_SIZES)))
    live.note = counted_as_0(live.mean)
    irrelevance = unweighted("irrelevance", all_of(rates, ("irrelevance", "live_irrelevance")), absent_is_0=True)
    web_search = unweighted("web_search", all_of(rates, ("web_search_base", "web_search_no_snippet")), absent_is_0=True)
    memory = unweighted("memory", all_of(rates, ("memory_kv", "memory_vector", "memory_rec_sum")), absent_is_0=True)
    return [
        unweighted("non_live", [simple, *others], absent_is_0=True),
        live,
        na_if_missing(irrelevance),
        unweighted("multi_turn", all_of(rates, _MULTI_TURN), absent_is_0=True),
        unweighted("agentic", [na_if_missing(web_search), na_if_missing(memory)], absent_is_0=True),
    ]


def _overall(groups: Sequence[CategoryGroup]) -> CategoryGroup:
    means = [group.mean for group in groups]
    under = mean(means, absent_is_0=True)
    value = None
    if under.of and under.value is not None:
        value = sum(WEIGHTS[group.name] * (group.mean.value or 0.0) for group in groups)
    return CategoryGroup("overall", Mean(value, under.n, under.of, under.missing), note=counted_as_0(under))


def _before(generation: str, rates: Rates) -> list[CategoryGroup]:
    """V1 weighs the languages of simple calls, and REST among executable ones, by their items; V2 and V3 do not."""
    first = generation == "V1"
    ast, run = "_function" if first else "", "executable_" if first else "exec_"
    others = (f"multiple{ast}", f"parallel{ast}", f"parallel_multiple{ast}")
    pool = weighted_group if first else unweighted
    simple = pool("simple", all_of(rates, ("simple", "java", "javascript")), rates)
    simple_run = pool(f"{run}simple", all_of(rates, (f"{run}simple", "rest")), rates)
    irrelevance = "relevance" if first else "irrelevance"
    groups = [
        unweighted("ast", [simple, *all_of(rates, others)]),
        unweighted("executable", [simple_run, *all_of(rates, [f"{run}{name}" for name in others])]),
        unweighted("irrelevance", all_of(rates, (irrelevance,))),
    ]
    if not first:
        live = (*LIVE_SIZES, "live_irrelevance", "live_relevance")
        groups += [
            weighted_group("live", all_of(rates, live), rates),
            unweighted("multi_turn", all_of(rates, _MULTI_TURN)),
        ]
    return groups


def _all_items(generation: str, rates: Rates, groups: Sequence[CategoryGroup]) -> CategoryGroup:
    under = pooled(rates, [category for group in groups for category in group.categories()])
    missing = [category for group in groups for category in group.mean.missing]
    official = "the leaderboard's overall" if generation == "V1" else ""
    return CategoryGroup("all items", under, note="; ".join(filter(None, (official, without(missing)))))

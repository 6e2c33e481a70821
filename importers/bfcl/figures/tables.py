"""BFCL's accuracy table: from pass counts of categories to the figures of the generation's leaderboard.

Sources: `eval_runner_helper.py` of the official program, that of package bfcl-eval 2026.3.23 for V4, that of summer
2024 for V1. For V2 and V3 only group means are given: their published overall changed between versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fcreview.figures import Figure
from fcreview.importers.bfcl.figures.rates import Mean, Rates, mean, pooled, weighted

LIVE_SIZES = {"live_simple": 258, "live_multiple": 1053, "live_parallel": 16, "live_parallel_multiple": 24}
"""Items of V4's dataset: what a category that was not run weighs."""
WEIGHTS = {"non_live": 0.1, "live": 0.1, "irrelevance": 0.1, "multi_turn": 0.3, "agentic": 0.4}
APART = ("format_sensitivity", "chatable", "sql")
"""Categories of no accuracy table: one has a table of its own, two are not scored."""
_SIMPLE = ("simple_python", "simple_java", "simple_javascript")
_MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")


@dataclass(slots=True)
class CategoryGroup:
    """A figure and those it is made of; a category has none."""

    name: str
    mean: Mean
    parts: Sequence[CategoryGroup] = ()
    note: str = ""
    hidden: bool = False
    """The program prints N/A for it; what stands above it is computed with its `mean`."""

    def lines(self, level: int) -> Iterator[Figure]:
        if self.mean.of or self.mean.value is not None:
            value = None if self.hidden else self.mean.value
            under = self.mean
            n, of = (under.n, under.of) if under.of else (None, None)
            yield Figure("accuracy", self.name, value, level=level, note=self.note, n=n, of=of, digits=2)
        for part in self.parts:
            yield from part.lines(level + 1)

    def categories(self) -> Iterator[str]:
        if not self.parts:
            yield self.name
        for part in self.parts:
            yield from part.categories()


def table(generation: str, rates: Rates) -> list[Figure]:
    """The overall line, groups, their parts and categories; then the categories that no group has."""
    if generation in ("V1", "V2", "V3"):
        groups = _before(generation, rates)
        overall = _all_items(generation, rates, groups)
    else:
        groups = _v4(rates)
        overall = _overall(groups)
    grouped = {category for group in groups for category in group.categories()}
    rest = [_category(rates, name) for name in rates if name not in grouped and name not in APART]
    top = [overall, *groups, *rest]
    return [line for level, group in zip((0, *[1] * (len(top) - 1)), top, strict=True) for line in group.lines(level)]


def _v4(rates: Rates) -> list[CategoryGroup]:
    """A group in which nothing was run is printed as 0, parts of groups as N/A."""
    simple = _na_if_missing(_unweighted("simple", _all(rates, _SIMPLE), absent_is_0=True))
    others = _all(rates, ("multiple", "parallel", "parallel_multiple"))
    live = CategoryGroup("live", weighted(rates, tuple(LIVE_SIZES), LIVE_SIZES), _all(rates, tuple(LIVE_SIZES)))
    live.note = _counted_as_0(live.mean)
    irrelevance = _unweighted("irrelevance", _all(rates, ("irrelevance", "live_irrelevance")), absent_is_0=True)
    web_search = _unweighted("web_search", _all(rates, ("web_search_base", "web_search_no_snippet")), absent_is_0=True)
    memory = _unweighted("memory", _all(rates, ("memory_kv", "memory_vector", "memory_rec_sum")), absent_is_0=True)
    return [
        _unweighted("non_live", [simple, *others], absent_is_0=True),
        live,
        _na_if_missing(irrelevance),
        _unweighted("multi_turn", _all(rates, _MULTI_TURN), absent_is_0=True),
        _unweighted("agentic", [_na_if_missing(web_search), _na_if_missing(memory)], absent_is_0=True),
    ]


def _overall(groups: Sequence[CategoryGroup]) -> CategoryGroup:
    means = [group.mean for group in groups]
    under = mean(means, absent_is_0=True)
    value = None
    if under.of and under.value is not None:
        value = sum(WEIGHTS[group.name] * (group.mean.value or 0.0) for group in groups)
    return CategoryGroup("overall", Mean(value, under.n, under.of, under.missing), note=_counted_as_0(under))


def _before(generation: str, rates: Rates) -> list[CategoryGroup]:
    """V1 weighs the languages of simple calls, and REST among executable ones, by their items; V2 and V3 do not."""
    first = generation == "V1"
    ast, run = "_function" if first else "", "executable_" if first else "exec_"
    others = (f"multiple{ast}", f"parallel{ast}", f"parallel_multiple{ast}")
    pool = _weighted if first else _unweighted
    simple = pool("simple", _all(rates, ("simple", "java", "javascript")), rates)
    simple_run = pool(f"{run}simple", _all(rates, (f"{run}simple", "rest")), rates)
    irrelevance = "relevance" if first else "irrelevance"
    groups = [
        _unweighted("ast", [simple, *_all(rates, others)]),
        _unweighted("executable", [simple_run, *_all(rates, [f"{run}{name}" for name in others])]),
        _unweighted("irrelevance", _all(rates, (irrelevance,))),
    ]
    if not first:
        live = (*LIVE_SIZES, "live_irrelevance", "live_relevance")
        groups += [
            _weighted("live", _all(rates, live), rates),
            _unweighted("multi_turn", _all(rates, _MULTI_TURN)),
        ]
    return groups


def _all_items(generation: str, rates: Rates, groups: Sequence[CategoryGroup]) -> CategoryGroup:
    under = pooled(rates, [category for group in groups for category in group.categories()])
    missing = [category for group in groups for category in group.mean.missing]
    official = "the leaderboard's overall" if generation == "V1" else ""
    return CategoryGroup("all items", under, note="; ".join(filter(None, (official, _without(missing)))))


def _all(rates: Rates, categories: Sequence[str]) -> list[CategoryGroup]:
    return [_category(rates, category) for category in categories]


def _category(rates: Rates, category: str) -> CategoryGroup:
    return CategoryGroup(category, weighted(rates, (category,)))


def _unweighted(
    name: str, parts: Sequence[CategoryGroup], _: Rates | None = None, *, absent_is_0: bool = False
) -> CategoryGroup:
    under = mean([part.mean for part in parts], absent_is_0=absent_is_0)
    return CategoryGroup(name, under, parts, _counted_as_0(under) if absent_is_0 else _without(under.missing))


def _weighted(name: str, parts: Sequence[CategoryGroup], rates: Rates) -> CategoryGroup:
    under = weighted(rates, [part.name for part in parts])
    return CategoryGroup(name, under, parts, _without(under.missing))


def _na_if_missing(group: CategoryGroup) -> CategoryGroup:
    if group.mean.missing:
        group.hidden = True
        group.note = f"not run: {', '.join(group.mean.missing)}; printed as N/A, counted as 0 above"
        if not group.mean.of:
            group.mean = Mean(None, 0, 0, group.mean.missing)
    return group


def _counted_as_0(under: Mean) -> str:
    return f"not run, counted as 0: {', '.join(under.missing)}" if under.missing else ""


def _without(missing: Sequence[str]) -> str:
    return f"without {', '.join(missing)}: not run" if missing else ""

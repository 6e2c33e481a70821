"""Compute the metrics of BFCL's leaderboards, which docs/bfcl-metrics.md lists.

Sources: `eval_runner.py` and `eval_runner_helper.py` of the official program, from summer 2024 for
V1, from September 2024 for V2, from January to June 2025 for V3, and from package bfcl-eval
2026.3.23 for V4.

A category that was not run is *missing*. It counts as 0 or is omitted, as in the official program.
A source may have verdicts on only some items of a category; the metric then states their number. If
a source has no verdict on a category, the means that include this category have no value.

Tokens, cost and latency follow the V4 leaderboard, with its prices (`constants/model_config.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from math import dist, fsum, sqrt
from statistics import stdev
from typing import Any, NamedTuple

from fcreview.importers.bfcl import filenames
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, build_pass_rate_metric
from fcreview.model.wording import read_header_accuracy
from fcreview.stats.conventions import Ending, Trial, TrialTable


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Compute all metrics of the run's BFCL version.

    Returns an empty list if no item has a verdict.
    """
    if all(item.valid is None for item in items):
        return []
    rates = count_category_rates(items, run.official_metrics)
    return [
        *make_accuracy_table(run.generation, tuple(rates.items())),
        *compute_format_sensitivity(items),
        *compute_cost_and_latency(items, run),
    ]


class CategoryRate(NamedTuple):
    """Counts of one category, from which its pass rate is computed."""

    passed: int
    n_verdicts: int
    n_items: int
    note: str = ""
    """Reason why the pass rate cannot be computed from the known verdicts."""


RatesByCategory = Mapping[str, CategoryRate]


class MeanRate(NamedTuple):
    """Pass rate over one or more categories."""

    value: float | None
    """Pass rate from 0 to 1; None if one of the categories has no verdict or all categories are
    missing.
    """
    n_verdicts: int
    n_items: int
    """Number of items, 0 if all categories are missing."""
    missing: tuple[str, ...] = ()


def count_category_rates(
    items: Iterable[ScoredItem], score_headers: Mapping[str, Any]
) -> dict[str, CategoryRate]:
    """Count the items, verdicts and passes of each category.

    `score_headers` maps categories to the headers of their score files, which state the accuracy.
    """
    rates = {}
    for category, counts in _count_by_category(items).items():
        n_items = counts.n_items
        rate = CategoryRate(counts.n_passed, n_verdicts=counts.n_verdicts, n_items=n_items)
        # A score file lists only failed items. Without the results, the passed items are unknown,
        # so the rate would be 0. Then the category has no rate, but a note with the header's.
        header = read_header_accuracy(score_headers.get(category), n_items, rate.passed)
        if header is not None:
            rate = CategoryRate(0, n_verdicts=0, n_items=n_items, note=header.message)
        rates[category] = rate
    return rates


def _count_by_category(items: Iterable[ScoredItem]) -> dict[str, _CategoryCounts]:
    counts_by_category: defaultdict[str, _CategoryCounts] = defaultdict(_CategoryCounts)
    for item in items:
        counts = counts_by_category[item.category]
        counts.n_items += item.n_items
        if item.valid is not None:
            counts.n_verdicts += item.n_items
        if item.valid:
            counts.n_passed += item.n_items
    return counts_by_category


@dataclass(slots=True)
class _CategoryCounts:
    """Numbers of items, which `count_category_rates` adds up. Estimates call it for each draw."""

    n_items: int = 0
    n_verdicts: int = 0
    n_passed: int = 0


def average_rates(rates: Sequence[MeanRate], *, missing_as_zero: bool = False) -> MeanRate:
    """Average pass rates with equal weights.

    A rate without items, which was not run, is left out or, with `missing_as_zero`, counts as 0.
    If one of the other rates is unknown, the average is unknown.
    """
    missing: list[str] = []
    for rate in rates:
        missing += rate.missing
    return MeanRate(
        _average_values(rates, missing_as_zero=missing_as_zero),
        n_verdicts=sum(rate.n_verdicts for rate in rates),
        n_items=sum(rate.n_items for rate in rates),
        missing=tuple(missing),
    )


def _average_values(rates: Sequence[MeanRate], *, missing_as_zero: bool) -> float | None:
    """Return the average of the values of pass rates, or None if it is unknown."""
    rates_with_items = [rate for rate in rates if rate.n_items]
    known_values = [rate.value for rate in rates_with_items if rate.value is not None]
    if len(known_values) < len(rates_with_items):
        return None
    if missing_as_zero:
        return sum(known_values) / len(rates)
    if not rates_with_items:
        return None
    return sum(known_values) / len(rates_with_items)


def pool_category_rates(
    rates: RatesByCategory,
    categories: Sequence[str],
    missing_sizes: Mapping[str, int] | None = None,
) -> MeanRate:
    """Compute one pass rate over the items of several categories, as if they were one category.

    Args:
        rates: Category -> its counts. Categories that were not run are missing.
        categories: The categories to pool.
        missing_sizes: Category -> number of its items. If given, the items of categories that were
            not run count as failed; otherwise, these categories are left out.
    """
    known = [rates[category] for category in categories if category in rates]
    missing = tuple(category for category in categories if category not in rates)
    n_verdicts = sum(rate.n_verdicts for rate in known)
    n_counted = n_verdicts
    if missing_sizes is not None:
        n_counted += sum(missing_sizes[category] for category in missing)

    # A category with items but no verdicts makes the whole rate unknown.
    has_unknown_rate = any(rate.n_verdicts == 0 for rate in known)
    value = None
    if n_counted and not has_unknown_rate:
        value = sum(rate.passed for rate in known) / n_counted
    return MeanRate(
        value,
        n_verdicts=n_verdicts,
        n_items=sum(rate.n_items for rate in known),
        missing=missing,
    )


@dataclass(slots=True)
class CategoryGroup:
    """A metric and the metrics that it is computed from.

    A single category is a group without `parts`.
    """

    name: str
    rate: MeanRate
    parts: Sequence[CategoryGroup] = ()
    note: str = ""
    is_hidden: bool = False
    """Whether the leaderboard shows N/A for the group.

    Other groups are still computed from its rate.
    """
    program_value: float | None = None
    """Rate that the official program prints for the group of an incomplete run; None if it is
    not shown.
    """

    def list_metrics(self, level: int) -> Iterator[Metric]:
        """Yield the metric of the group, and then the metrics of its parts, one level deeper.

        `level` is the indentation in the table. A group without items that has no rate either
        yields only its parts.
        """
        has_items = self.rate.n_items > 0
        if has_items or self.rate.value is not None:
            yield Metric(
                "accuracy",
                self.name,
                value=None if self.is_hidden else self.rate.value,
                level=level,
                note=self.note,
                n=self.rate.n_verdicts if has_items else None,
                total=self.rate.n_items if has_items else None,
                digits=2,
            )
            yield from self._list_program_metrics(level)
        for part in self.parts:
            yield from part.list_metrics(level + 1)

    def _list_program_metrics(self, level: int) -> Iterator[Metric]:
        """Yield the accuracy as the official program prints it, if it is known."""
        if self.program_value is None:
            return
        yield Metric(
            "accuracy",
            f"{self.name} {OFFICIAL_PROGRAM}",
            value=self.program_value,
            level=level,
            note="as the official program prints it: categories not run count as 0",
            n=self.rate.n_verdicts,
            total=self.rate.n_items,
            digits=2,
        )

    def list_categories_by_size(self) -> Iterator[str]:
        """Yield the categories of the group and of its parts."""
        if not self.parts:
            yield self.name
        for part in self.parts:
            yield from part.list_categories_by_size()


def make_category_groups(rates: RatesByCategory, categories: Iterable[str]) -> list[CategoryGroup]:
    return [_make_category_group(category, rates.get(category)) for category in categories]


def _make_category_group(category: str, rate: CategoryRate | None) -> CategoryGroup:
    """Make the group of one category. Without a rate, the category was not run."""
    if rate is None:
        missing = MeanRate(None, n_verdicts=0, n_items=0, missing=(category,))
        return CategoryGroup(category, missing)
    value = rate.passed / rate.n_verdicts if rate.n_verdicts else None
    mean_rate = MeanRate(value, n_verdicts=rate.n_verdicts, n_items=rate.n_items)
    return CategoryGroup(category, mean_rate, note=rate.note)


def make_unweighted_group(
    name: str, parts: Sequence[CategoryGroup], *, missing_as_zero: bool = False
) -> CategoryGroup:
    """Make a group whose rate is the mean of its parts."""
    rate = average_rates([part.rate for part in parts], missing_as_zero=missing_as_zero)
    effect = "counted as 0" if missing_as_zero else "omitted"
    return CategoryGroup(name, rate=rate, parts=parts, note=describe_missing(rate.missing, effect))


def make_item_weighted_group(
    name: str, parts: Sequence[CategoryGroup], rates: RatesByCategory
) -> CategoryGroup:
    rate = pool_category_rates(rates, [part.name for part in parts])
    return CategoryGroup(name, rate=rate, parts=parts, note=describe_missing(rate.missing))


def make_group_without_parts(name: str, parts: Sequence[CategoryGroup]) -> CategoryGroup:
    """Make a group with the mean of `parts`.

    It does not list them, because they are parts of other groups.
    """
    rate = average_rates([part.rate for part in parts])
    return CategoryGroup(name, rate, note=describe_missing(rate.missing))


def hide_if_incomplete(group: CategoryGroup) -> CategoryGroup:
    """Hide a group with missing categories, as the leaderboard of V4 does, and return it."""
    missing = group.rate.missing
    if missing:
        group.is_hidden = True
        group.note = (
            f"not run: {', '.join(missing)} (shown as N/A, counted as 0 in the averages above)"
        )
        if not group.rate.n_items:
            group.rate = MeanRate(None, n_verdicts=0, n_items=0, missing=missing)
    return group


def describe_missing(missing: Sequence[str], effect: str = "omitted") -> str:
    """Describe missing categories and their `effect` on the mean.

    Empty if no category is missing.
    """
    return f"categories not run ({effect}): {', '.join(missing)}" if missing else ""


LIVE_AST_CATEGORIES = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
V4_LIVE_SIZES = dict(zip(LIVE_AST_CATEGORIES, (258, 1053, 16, 24), strict=True))
"""Category -> number of items in V4's dataset, which is the weight of the category if it was not
run.
"""
LIVE_CATEGORIES = (*LIVE_AST_CATEGORIES, "live_irrelevance", "live_relevance")
V3_LIVE_SIZES = dict(zip(LIVE_CATEGORIES, (258, 1053, 16, 24, 882, 18), strict=True))
OFFICIAL_PROGRAM = "(official program)"
"""Mark of a figure of an incomplete run that the official program prints."""
V4_WEIGHTS = {"non_live": 0.1, "live": 0.1, "irrelevance": 0.1, "multi_turn": 0.3, "agentic": 0.4}
SIMPLE_MEAN = "simple (average)"
"""Name of the leaderboard's column `Simple AST`.

Its name tells it from the categories `simple` and `simple_python`.
"""
_SIMPLE = ("simple_python", "simple_java", "simple_javascript")
_MULTI_TURN = (
    "multi_turn_base",
    "multi_turn_miss_func",
    "multi_turn_miss_param",
    "multi_turn_long_context",
)


# Sources with equal counts have the same table, and are computed one after the other.
@lru_cache(maxsize=2)
def make_accuracy_table(
    version: str, category_rates: tuple[tuple[str, CategoryRate], ...]
) -> Sequence[Metric]:
    """Make the accuracy table of a BFCL version.

    The rows are the overall accuracy, the columns of the leaderboard (groups of categories) with
    their parts below, and the categories that belong to no group. `category_rates` are pairs of a
    category and its counts, as a tuple so that the result can be cached.
    """
    rates = dict(category_rates)
    if version in ("V1", "V2", "V3"):
        overall, groups = _make_tables_before_v4(version, rates)
    else:
        groups = _make_v4_groups(rates)
        overall = [_make_v4_overall(groups)]

    groups_with_items = [group for group in groups if group.rate.n_items]
    ungrouped = make_category_groups(rates, _list_ungrouped(rates, groups))
    listed = groups_with_items + ungrouped
    # Groups that were not run come last. If no group was run, the leaderboard means nothing.
    if groups_with_items:
        listed += [group for group in groups if not group.rate.n_items]

    metrics: list[Metric] = []
    for group in overall:
        metrics += group.list_metrics(level=0)
    for group in listed:
        metrics += group.list_metrics(level=1)
    return tuple(metrics)


def _list_ungrouped(rates: RatesByCategory, groups: Sequence[CategoryGroup]) -> list[str]:
    """Return the scored categories that are part of no group."""
    omitted = {*filenames.UNSCORED_CATEGORIES, "format_sensitivity"}
    for group in groups:
        omitted.update(group.list_categories_by_size())
    return [category for category in rates if category not in omitted]


def _make_tables_before_v4(
    version: str, rates: RatesByCategory
) -> tuple[list[CategoryGroup], list[CategoryGroup]]:
    """Make the table of V1, V2 or V3.

    Returns two lists: the overall accuracy with the accuracy over all items, and the columns of the
    leaderboard. From V2 on, each row also gets the value that the official program prints, in which
    categories that were not run count as 0.
    """
    groups = _make_groups_before_v4(version, rates)
    all_items = _make_all_items_group(version, rates, groups)
    if version == "V1":
        return [all_items], groups

    if version == "V2":
        overall, further_groups = make_v2_overall_and_groups(rates, groups)
    else:
        overall, further_groups = make_v3_overall_and_groups(rates, groups)
    program_rates = compute_program_rates(version, rates)
    shown_groups = []
    for group in (*groups, *further_groups):
        shown_groups.append(_add_program_value(group, program_rates))
    return [_add_program_value(overall, program_rates), all_items], shown_groups


def _add_program_value(
    group: CategoryGroup, program_rates: Mapping[str, MeanRate]
) -> CategoryGroup:
    """Return the group with the figure of the official program, if the run lacks categories of
    the group.
    """
    program_rate = program_rates.get(group.name)
    # Without missing categories, both figures are the same.
    if program_rate is None or program_rate.value is None or not group.rate.missing:
        return group
    return replace(
        group,
        note=f"{group.note}; the next line counts them as 0",
        program_value=program_rate.value,
    )


def compute_program_rates(version: str, rates: RatesByCategory) -> dict[str, MeanRate]:
    """Compute the columns of the leaderboard as the official program of V2 or V3 prints them for an
    incomplete run: categories that were not run count as 0.

    Returns the name of each column with its rate. Source: `generate_leaderboard_csv` and
    `get_category_score` in `eval_runner_helper.py`, August 2024 to June 2025.
    """
    ast_columns = _make_program_ast_columns(rates)
    exec_columns = _make_program_exec_columns(rates)
    non_live_columns = list(ast_columns)
    # In April 2025, V3 retired the executable categories.
    if version == "V2" or any(group.rate.n_items for group in exec_columns):
        non_live_columns += exec_columns
    non_live_columns += make_category_groups(rates, ("irrelevance",))
    non_live = _average_with_missing("non_live", non_live_columns)

    # The live column is a mean over items. Since 25 December 2024, V3 counts a category that was
    # not run with its number of items in the dataset. V2 leaves it out.
    missing_sizes = V3_LIVE_SIZES if version == "V3" else None
    live = CategoryGroup("live", pool_category_rates(rates, LIVE_CATEGORIES, missing_sizes))

    groups = [non_live, live]
    if version == "V3":
        multi_turn = _average_with_missing("multi_turn", make_category_groups(rates, _MULTI_TURN))
        groups.append(multi_turn)
        groups.append(_average_with_missing("overall", groups))
    else:
        # The overall figure of V2 is no mean of these columns. It combines each AST column with the
        # live category of the same kind, and takes the executable columns as they are.
        groups.append(_average_combined_columns(rates, ast_columns, exec_columns))
    return {group.name: group.rate for group in groups}


def _make_program_ast_columns(rates: RatesByCategory) -> list[CategoryGroup]:
    simple = make_category_groups(rates, ("simple", "java", "javascript"))
    others = make_category_groups(rates, ("multiple", "parallel", "parallel_multiple"))
    return [_average_with_missing("simple", simple), *others]


def _make_program_exec_columns(rates: RatesByCategory) -> list[CategoryGroup]:
    simple = make_category_groups(rates, ("exec_simple", "rest"))
    others = make_category_groups(
        rates, ("exec_multiple", "exec_parallel", "exec_parallel_multiple")
    )
    return [_average_with_missing("exec_simple", simple), *others]


def _average_with_missing(name: str, parts: Sequence[CategoryGroup]) -> CategoryGroup:
    """Average parts, of which missing ones count as 0."""
    return make_unweighted_group(name, list(parts), missing_as_zero=True)


def _average_combined_columns(
    rates: RatesByCategory, ast: Sequence[CategoryGroup], executable: Sequence[CategoryGroup]
) -> CategoryGroup:
    """Average the columns of V2, of which some combine a non-live and a live category."""
    columns = []
    live_ast = make_category_groups(rates, LIVE_AST_CATEGORIES)
    for group, live_group in zip(ast, live_ast, strict=True):
        columns.append(_average_with_missing(group.name, [group, live_group]))
    columns += executable
    irrelevance = make_category_groups(rates, ("irrelevance", "live_irrelevance"))
    columns.append(_average_with_missing("irrelevance", irrelevance))
    columns += make_category_groups(rates, ("live_relevance",))
    return _average_with_missing("overall", columns)


def _make_v4_groups(rates: RatesByCategory) -> list[CategoryGroup]:
    """Make the columns of the V4 leaderboard, each with the categories that it averages.

    As in the official program, a category that was not run counts as 0 in the averages. The columns
    that the leaderboard shows as N/A in this case are hidden.
    """
    simple = _average_categories(rates, SIMPLE_MEAN, _SIMPLE)
    others = make_category_groups(rates, ("multiple", "parallel", "parallel_multiple"))
    non_live = _average_with_missing("non_live", [hide_if_incomplete(simple), *others])

    irrelevance = _average_categories(rates, "irrelevance", ("irrelevance", "live_irrelevance"))
    multi_turn = _average_categories(rates, "multi_turn", _MULTI_TURN)

    web_search = _average_categories(
        rates, "web_search", ("web_search_base", "web_search_no_snippet")
    )
    memory = _average_categories(rates, "memory", ("memory_kv", "memory_vector", "memory_rec_sum"))
    agentic = _average_with_missing(
        "agentic", [hide_if_incomplete(web_search), hide_if_incomplete(memory)]
    )
    return [
        non_live,
        _make_v4_live_group(rates),
        hide_if_incomplete(irrelevance),
        multi_turn,
        agentic,
    ]


def _average_categories(
    rates: RatesByCategory, name: str, categories: Sequence[str]
) -> CategoryGroup:
    return _average_with_missing(name, make_category_groups(rates, categories))


def _make_v4_live_group(rates: RatesByCategory) -> CategoryGroup:
    """Make the group of live categories, which count by their numbers of items."""
    rate = pool_category_rates(rates, LIVE_AST_CATEGORIES, V4_LIVE_SIZES)
    return CategoryGroup(
        "live",
        rate=rate,
        parts=make_category_groups(rates, LIVE_AST_CATEGORIES),
        note=describe_missing(rate.missing, "counted as 0"),
    )


def _make_v4_overall(groups: Sequence[CategoryGroup]) -> CategoryGroup:
    """Compute the overall score of V4, the weighted mean of the groups.

    Missing groups count as 0.
    """
    rate = average_rates([group.rate for group in groups], missing_as_zero=True)
    value = None
    if rate.n_items and rate.value is not None:
        value = sum(V4_WEIGHTS[group.name] * (group.rate.value or 0.0) for group in groups)
    return CategoryGroup(
        "overall", rate._replace(value=value), note=describe_missing(rate.missing, "counted as 0")
    )


def _make_groups_before_v4(version: str, rates: RatesByCategory) -> list[CategoryGroup]:
    """Make the columns of the leaderboard of V1, V2 or V3, each with the categories that it
    averages.

    In V2 and V3, all averages have equal weights, except that the live column is a mean over items.
    """
    if version == "V1":
        return _make_v1_groups(rates)

    simple = make_unweighted_group(
        SIMPLE_MEAN, make_category_groups(rates, ("simple", "java", "javascript"))
    )
    other_ast = make_category_groups(rates, ("multiple", "parallel", "parallel_multiple"))
    executable_simple = make_unweighted_group(
        "exec_simple", make_category_groups(rates, ("exec_simple", "rest"))
    )
    other_executable = make_category_groups(
        rates, ("exec_multiple", "exec_parallel", "exec_parallel_multiple")
    )
    return [
        make_unweighted_group("ast", [simple, *other_ast]),
        make_unweighted_group("executable", [executable_simple, *other_executable]),
        make_unweighted_group("irrelevance", make_category_groups(rates, ("irrelevance",))),
        make_item_weighted_group("live", make_category_groups(rates, LIVE_CATEGORIES), rates),
        make_unweighted_group("multi_turn", make_category_groups(rates, _MULTI_TURN)),
    ]


def _make_v1_groups(rates: RatesByCategory) -> list[CategoryGroup]:
    """Make the columns of the V1 leaderboard, each with the categories that it averages.

    The averages have equal weights, except that the simple categories are averaged over their
    items.
    """
    other_names = ("multiple_function", "parallel_function", "parallel_multiple_function")
    simple = make_item_weighted_group(
        SIMPLE_MEAN, make_category_groups(rates, ("simple", "java", "javascript")), rates
    )
    other_ast = make_category_groups(rates, other_names)
    executable_simple = make_item_weighted_group(
        "executable_simple", make_category_groups(rates, ("executable_simple", "rest")), rates
    )
    other_executable = make_category_groups(rates, [f"executable_{name}" for name in other_names])
    return [
        make_unweighted_group("ast", [simple, *other_ast]),
        make_unweighted_group("executable", [executable_simple, *other_executable]),
        # In V1, the category of irrelevance is called `relevance`.
        make_unweighted_group("irrelevance", make_category_groups(rates, ("relevance",))),
    ]


def _make_all_items_group(
    version: str, rates: RatesByCategory, groups: Sequence[CategoryGroup]
) -> CategoryGroup:
    """Compute the pass rate over all items of the leaderboard's columns, as if they were one
    category.

    This is the overall accuracy of V1. Later versions average the columns instead.
    """
    rates_of_run = []
    missing: list[str] = []
    for group in groups:
        missing += group.rate.missing
        for category in group.list_categories_by_size():
            if category in rates:
                rates_of_run.append(rates[category])

    n_passed = sum(rate.passed for rate in rates_of_run)
    n_verdicts = sum(rate.n_verdicts for rate in rates_of_run)
    n_items = sum(rate.n_items for rate in rates_of_run)
    value = n_passed / n_verdicts if n_verdicts else None

    notes = []
    if version == "V1":
        notes.append("the leaderboard's overall accuracy")
    if missing:
        notes.append(describe_missing(missing))
    return CategoryGroup(
        "all items", MeanRate(value, n_verdicts=n_verdicts, n_items=n_items), note="; ".join(notes)
    )


OverallAndGroups = tuple[CategoryGroup, list[CategoryGroup]]


def make_v2_overall_and_groups(
    rates: RatesByCategory, groups: Sequence[CategoryGroup]
) -> OverallAndGroups:
    """Return (overall accuracy, groups) of `data_combined.csv`.

    The overall accuracy is the mean of ten columns: four kinds of calls, each the mean of the live
    and the non-live category, the executable categories, irrelevance and relevance.
    """
    by_name = {group.name: group for group in groups}
    combined = _combine_live_and_non_live(rates, by_name["ast"].parts)
    irrelevance = _make_irrelevance_group(rates)
    relevance = make_category_groups(rates, ["live_relevance"])
    overall = _make_overall_of_columns(
        [*combined, *by_name["executable"].parts, irrelevance, *relevance]
    )
    return overall, [
        make_unweighted_group("combined_ast", combined),
        _make_non_live_group(by_name),
        _make_live_ast_group(rates),
        irrelevance,
    ]


def _combine_live_and_non_live(
    rates: RatesByCategory, non_live_parts: Sequence[CategoryGroup]
) -> list[CategoryGroup]:
    """Return a group for each kind of call, such as simple, with its non-live and live categories.

    `non_live_parts` are the groups of the non-live categories, in the order of the live ones.
    """
    names = (
        "combined_simple",
        "combined_multiple",
        "combined_parallel",
        "combined_parallel_multiple",
    )
    live_parts = make_category_groups(rates, LIVE_AST_CATEGORIES)
    groups = []
    for name, non_live, live in zip(names, non_live_parts, live_parts, strict=True):
        groups.append(make_group_without_parts(name, [non_live, live]))
    return groups


def make_v3_overall_and_groups(
    rates: RatesByCategory, groups: Sequence[CategoryGroup]
) -> OverallAndGroups:
    """Return (overall accuracy, groups) of `data_overall.csv`.

    Overall is the mean of non-live, live and multi-turn.
    """
    by_name = {group.name: group for group in groups}
    non_live = _make_non_live_group(by_name)
    overall = _make_overall_of_columns([non_live, by_name["live"], by_name["multi_turn"]])
    return overall, [non_live, _make_live_ast_group(rates), _make_irrelevance_group(rates)]


def _make_non_live_group(groups: dict[str, CategoryGroup]) -> CategoryGroup:
    """Average the columns of `data_non_live.csv`, without the executable columns if none of them
    was run.
    """
    executable = groups["executable"].parts if groups["executable"].rate.n_items else ()
    return make_group_without_parts(
        "non_live", [*groups["ast"].parts, *executable, *groups["irrelevance"].parts]
    )


def _make_live_ast_group(rates: RatesByCategory) -> CategoryGroup:
    """Make the column `AST Summary` of `data_live.csv`."""
    rate = pool_category_rates(rates, LIVE_AST_CATEGORIES)
    return CategoryGroup("live_ast", rate, note=describe_missing(rate.missing))


def _make_irrelevance_group(rates: RatesByCategory) -> CategoryGroup:
    """Make the column `Irrelevance Detection` of the overall table."""
    parts = make_category_groups(rates, ("irrelevance", "live_irrelevance"))
    return make_group_without_parts("irrelevance_detection", parts)


def _make_overall_of_columns(columns: Sequence[CategoryGroup]) -> CategoryGroup:
    """Average the columns.

    If a category is missing, the mean has no value, because it would not be comparable.
    """
    rate = average_rates([column.rate for column in columns])
    if rate.missing:
        rate = rate._replace(value=None)
    return CategoryGroup(
        "overall", rate, note=describe_missing(rate.missing) or "the leaderboard's overall accuracy"
    )


def compute_format_sensitivity(items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute how much the accuracy varies with the format of the prompt.

    Items of the category format_sensitivity repeat the same questions with many prompt formats,
    called configurations (`item.setting`). Returns the spread of their accuracies, and the accuracy
    of each configuration.
    """
    items_by_config: dict[str, list[ScoredItem]] = {}
    for item in items:
        if item.category == "format_sensitivity" and item.setting is not None:
            items_by_config.setdefault(item.setting, []).append(item)
    if not items_by_config:
        return []

    config_metrics = []
    for name, items_of_config in items_by_config.items():
        metric = build_pass_rate_metric(FORMAT_TABLE, name, items_of_config, level=1)
        metric.digits = 2
        config_metrics.append(metric)
    return _compute_spread(config_metrics) + config_metrics


def _compute_spread(configs: Sequence[Metric]) -> list[Metric]:
    """Compute the range and the standard deviation of the accuracies of prompt formats, in
    percentage points.

    Both are unknown if the accuracy of a format is unknown.
    """
    percentages = [100 * config.value for config in configs if config.value is not None]
    max_delta = None
    deviation = None
    are_all_known = len(percentages) == len(configs)
    if are_all_known:
        max_delta = max(percentages) - min(percentages)
        deviation = stdev(percentages) if len(percentages) > 1 else 0.0

    n = sum(config.n or 0 for config in configs)
    total = sum(config.total or 0 for config in configs)
    spread = {"max delta": max_delta, "standard deviation": deviation}
    return [
        Metric(FORMAT_TABLE, name, value=value, unit="percent", n=n, total=total, digits=2)
        for name, value in spread.items()
    ]


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:  # noqa: ARG001
    """Return one trial for each item, because BFCL runs each task once."""
    trials = []
    for item in items:
        task = f"{item.category}/{item.id}"
        # An item without a verdict counts as not passed.
        passed = item.valid is True
        trials.append(Trial(item.id, task=task, passed=passed, ending=_find_ending(item)))
    return TrialTable(trials, "BFCL")


def _find_ending(item: ScoredItem) -> Ending:
    """Return how a trial ended. An item whose model call failed ended with an error."""
    if item.valid is None:
        return "not run"
    if item.valid is False and "inference_error" in (item.error_type or ""):
        return "error"
    return "graded"


TOKEN_PRICES: dict[str, tuple[float, float]] = {
    "gpt-5.2-2025-12-11": (1.75, 14),
    "gpt-5-mini-2025-08-07": (0.25, 2),
    "gpt-5-nano-2025-08-07": (0.05, 0.4),
    "gpt-4.1-2025-04-14": (2, 8),
    "gpt-4.1-mini-2025-04-14": (0.4, 1.6),
    "gpt-4.1-nano-2025-04-14": (0.1, 0.4),
    "gpt-4o-2024-11-20": (2.5, 10),
    "gpt-4o-mini-2024-07-18": (0.15, 0.6),
    "o3-2025-04-16": (2, 8),
    "o4-mini-2025-04-16": (1.1, 4.4),
    "claude-opus-4-5-20251101": (5, 25),
    "claude-sonnet-4-5-20250929": (3, 15),
    "claude-haiku-4-5-20251001": (0.8, 4),
    "nova-pro-v1.0": (0.8, 3.2),
    "nova-2-lite-v1.0": (0.3, 2.5),
    "nova-micro-v1.0": (0.035, 0.14),
    "open-mistral-nemo-2407": (0.15, 0.15),
    "mistral-large-2411": (2, 6),
    "mistral-small-2506": (0.1, 0.3),
    "mistral-medium-2505": (0.4, 2),
    "gemini-2.5-flash-lite": (0.1, 0.4),
    "gemini-2.5-flash": (0.3, 2.5),
    "gemini-3-pro-preview": (2, 12),
    "gemini-3.1-flash-lite-preview": (0.25, 1.5),
    "command-r7b-12-2024": (0.0375, 0.15),
    "command-a-03-2025": (2.5, 10),
    "palmyra-x-004": (5, 12),
    "grok-4-0709": (3, 15),
    "grok-4-1-fast-reasoning": (0.2, 0.5),
    "grok-4-1-fast-non-reasoning": (0.2, 0.5),
    "meta-llama_llama-4-maverick-17b-128e-instruct-fp8-novita": (0.2, 0.85),
    "meta-llama_llama-4-scout-17b-16e-instruct-novita": (0.1, 0.5),
    "qwen_qwq-32b-novita": (0.18, 0.2),
}
"""Model folder without `-FC` -> price of a million input tokens and of a million output tokens, in
dollars.

Models that are not listed are served locally.
"""
GPU_HOUR_PRICE = 23.92
"""Price of an hour of the machine that serves local models, in dollars."""
CONCURRENT_REQUESTS = 100
COST_TABLE = "cost and latency"
FORMAT_TABLE = "format sensitivity"
TOKENS_PER_PRICE = 1e6
SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Latency of the steps of a run, in seconds.

    As in the official program, steps with a latency of 0 are ignored.
    """

    n_steps: int
    total: float
    mean: float
    deviation: float | None
    """Sample standard deviation; None for a single step."""
    p95: float


def compute_cost_and_latency(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Compute the tokens, the cost in dollars and the latency in seconds of a run.

    Figures that the files do not contain are left out, and so are items of unscored categories.
    """
    scored = [item for item in items if item.category not in filenames.UNSCORED_CATEGORIES]
    tokens_in = sum(item.tokens_in or 0 for item in scored)
    tokens_out = sum(item.tokens_out or 0 for item in scored)
    times = _summarize_step_times(tuple(item.seconds for item in scored))

    metrics = []
    for name, count in (("input tokens", tokens_in), ("output tokens", tokens_out)):
        if count:
            metrics.append(Metric(COST_TABLE, name, value=count, unit="count"))
    # The programs of earlier versions print no cost.
    if run.generation not in ("V1", "V2", "V3"):
        metrics += _estimate_cost(run.model, tokens_in, tokens_out, times)
    if times is not None:
        metrics += _list_latency_metrics(times)
    return metrics


def _list_latency_metrics(times: StepTimes) -> list[Metric]:
    """Return the metrics of the time that a step takes."""
    latencies = {
        "mean": times.mean,
        "standard deviation": times.deviation,
        "95th percentile": times.p95,
    }
    return [
        Metric(
            COST_TABLE,
            f"latency {name}",
            value=value,
            unit="seconds",
            n=times.n_steps,
            total=times.n_steps,
            counted_noun="steps",
            digits=2,
        )
        for name, value in latencies.items()
    ]


# all sources of a run have the same latencies and are computed one after the other
@lru_cache(maxsize=1)
def _summarize_step_times(seconds_by_item: tuple[tuple[float, ...], ...]) -> StepTimes | None:
    """Summarize how long the model took for a step: sum, mean, deviation and 95th percentile.

    `seconds_by_item` contains the seconds of each step of each item; 0 means unknown. Returns None
    if no step has a known time.
    """
    seconds = sorted(duration for duration in chain.from_iterable(seconds_by_item) if duration)
    if not seconds:
        return None

    n_steps = len(seconds)
    total = fsum(seconds)
    mean = total / n_steps
    deviation = None
    if n_steps > 1:
        # The sample standard deviation. `statistics.stdev` computes with fractions and takes
        # twenty times as long.
        deviation = dist(seconds, [mean] * n_steps) / sqrt(n_steps - 1)
    return StepTimes(
        n_steps,
        total=total,
        mean=mean,
        deviation=deviation,
        p95=_compute_percentile(seconds, 95),
    )


def _compute_percentile(sorted_values: Sequence[float], percentile: int) -> float:
    """Return a percentile by linear interpolation between two values, as NumPy does."""
    last = len(sorted_values) - 1
    position = last * percentile / 100
    index = int(position)
    low = sorted_values[index]
    high = sorted_values[min(index + 1, last)]
    return low + (high - low) * (position - index)


def _estimate_cost(
    model: str, tokens_in: int, tokens_out: int, times: StepTimes | None
) -> list[Metric]:
    """Estimate the cost of a run as the official program does. Empty if it cannot be estimated.

    Models with a known price are paid by tokens, all others by the time of the machine.
    """
    # "-FC" in a name only says that the model was called with native function calling.
    price = TOKEN_PRICES.get(model.removesuffix("-FC").replace("-FC-", "-"))
    if price is not None:
        return _estimate_cost_of_tokens(price, tokens_in, tokens_out)
    if times is not None:
        return _estimate_cost_of_machine(times)
    return []


def _estimate_cost_of_tokens(
    price: tuple[float, float], tokens_in: int, tokens_out: int
) -> list[Metric]:
    """Estimate the cost by (input price, output price) of a million tokens.

    Empty if a number of tokens is not known.
    """
    if not tokens_in or not tokens_out:
        return []
    input_price, output_price = price
    dollars = (tokens_in * input_price + tokens_out * output_price) / TOKENS_PER_PRICE
    note = (
        "prices of the official program in March 2026, per million tokens:"
        f" ${input_price} input, ${output_price} output"
    )
    return [Metric(COST_TABLE, "cost", value=dollars, unit="dollars", note=note, digits=2)]


def _estimate_cost_of_machine(times: StepTimes) -> list[Metric]:
    """Estimate the cost by the time of the machine that serves local models."""
    hours = times.total / SECONDS_PER_HOUR
    dollars = hours * GPU_HOUR_PRICE / CONCURRENT_REQUESTS
    note = (
        f"estimated from machine time: ${GPU_HOUR_PRICE} per hour, with {CONCURRENT_REQUESTS}"
        " concurrent requests. The official program has no token price for this model"
    )
    return [Metric(COST_TABLE, "cost", value=dollars, unit="dollars", note=note, digits=2)]

"""BFCL's published tables: accuracy, format sensitivity, cost and latency.

BFCL's format sensitivity: how far accuracy varies with the prompt format. Source: `eval_runner.py` (bfcl-eval
2026.3.23).

What the official program takes tokens to cost. Source: `constants/model_config.py` of package bfcl-eval 2026.3.23
(Apache-2.0).

Means over BFCL categories, and what they rest on.

Three things may be the matter with a category: it was not run, it was run but this source has no verdict on it, or
on some of its items only. What was not run counts as 0 where the official program counts it so, and is left out
elsewhere; a mean with a category without a verdict is not given; one over a part says the denominator.

Figures over categories, and the figures that these are parts of.

What the leaderboards of V2 and V3 printed besides the groups that both have.

V2 (`data_combined.csv`): live and non-live calls have one column, the mean of both, and the overall figure is the mean
of ten columns. V3 (`data_overall.csv`): the overall figure is the mean of non-live, live and multi-turn; non-live is
that of nine columns, of five since the executable categories were given up in April 2025.

BFCL's accuracy table: from pass counts of categories to the figures of the generation's leaderboard.

Sources: `eval_runner_helper.py` of the official program, that of package bfcl-eval 2026.3.23 for V4, that of summer
2024 for V1, those of September 2024 and of January to June 2025 for V2 and V3 (`published.py`).

What a run cost and how long its steps took, as the leaderboard counts it.

Source: `record_cost_latency` and `get_cost_latency_info` of `eval_runner_helper.py` (bfcl-eval 2026.3.23): every step
of a multi-turn item counts for itself, and what was recorded as 0 does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import dist, fsum, sqrt
from statistics import stdev
from typing import Any, NamedTuple

from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, pass_rate_metric
from fcreview.model.wording import read_header_accuracy

FORMAT_SENSITIVITY_TABLE = "format sensitivity"


def format_sensitivity_metrics(rows: Sequence[ScoredItem]) -> list[Metric]:
    """Greatest difference and sample standard deviation of the configurations' accuracies, in points of a percentage,
    and these accuracies. The spread of a single configuration is 0; none is given if one has no verdict."""
    by_config: dict[str, list[ScoredItem]] = {}
    for row in rows:
        if row.category == "format_sensitivity" and row.setting is not None:
            by_config.setdefault(row.setting, []).append(row)
    if not by_config:
        return []
    lines = [pass_rate_metric(FORMAT_SENSITIVITY_TABLE, config, part, level=1) for config, part in by_config.items()]
    values = [100 * line.value for line in lines if line.value is not None]
    whole = len(values) == len(lines)
    spread = {
        "max delta": max(values) - min(values) if whole else None,
        "standard deviation": (stdev(values) if len(values) > 1 else 0.0) if whole else None,
    }
    n, of = sum(line.n or 0 for line in lines), sum(line.total or 0 for line in lines)
    for line in lines:
        line.digits = 2
    top = [
        Metric(FORMAT_SENSITIVITY_TABLE, name, value, "percent", n=n, total=of, digits=2)
        for name, value in spread.items()
    ]
    return top + lines


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
"""Model folder without `FC` -> dollars a million input and output tokens. Others are served locally."""
GPU_HOUR_PRICE = 23.92
"""Dollars an hour of the machine that serves local models, for `REQUESTS` requests at once."""
CONCURRENT_REQUESTS = 100


def token_price(model: str) -> tuple[float, float] | None:
    """(input, output) in dollars a million tokens; None for a model without a price."""
    return TOKEN_PRICES.get(model.removesuffix("-FC").replace("-FC-", "-"))


class CategoryRate(NamedTuple):
    """Passes out of the items with a known verdict, and how many items there are."""

    passed: int
    n_verdicts: int
    n_items: int
    note: str = ""
    """Why there is no verdict that says something."""


RatesByCategory = Mapping[str, CategoryRate]
"""By category; one that was not run is not in it."""


class MeanRate(NamedTuple):
    """A figure over one or more categories."""

    value: float | None
    """0 to 1; None if a category that was run has no verdict, or none was run."""
    n_verdicts: int
    """Items with a verdict."""
    n_items: int
    """Items of the categories that were run; 0 if none was."""
    missing: tuple[str, ...] = ()
    """Categories that were not run."""


def count_category_rates(rows: Iterable[ScoredItem], headers: Mapping[str, Any]) -> dict[str, CategoryRate]:
    """`headers` are the score files', by category."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        count = counts.setdefault(row.category, [0, 0, 0])
        count[2] += row.n_items
        if row.valid is not None:
            count[0] += row.n_items if row.valid else 0
            count[1] += row.n_items
    rates = {}
    for name, (passed, known, items) in counts.items():
        said = read_header_accuracy(headers.get(name), items, passed)
        rates[name] = CategoryRate(0, 0, items, said.message) if said else CategoryRate(passed, known, items)
    return rates


def mean_rate(parts: Sequence[MeanRate], *, absent_is_0: bool = False) -> MeanRate:
    """Unweighted."""
    run = [part for part in parts if part.n_items]
    n, of = sum(part.n_verdicts for part in parts), sum(part.n_items for part in parts)
    missing = tuple(category for part in parts for category in part.missing)
    values = [part.value for part in run if part.value is not None]
    if len(values) < len(run) or not (run or absent_is_0):
        return MeanRate(None, n, of, missing)
    return MeanRate(sum(values) / len(parts if absent_is_0 else run), n, of, missing)


def category_rate(rates: RatesByCategory, category: str) -> MeanRate:
    """Of a single category."""
    rate = rates.get(category)
    if rate is None:
        return MeanRate(None, 0, 0, (category,))
    return MeanRate(rate.passed / rate.n_verdicts if rate.n_verdicts else None, rate.n_verdicts, rate.n_items)


def weighted_rate(
    rates: RatesByCategory, categories: Sequence[str], sizes: Mapping[str, int] | None = None
) -> MeanRate:
    """Passes of all categories out of all their items. With `sizes`, one that was not run counts as that many items
    failed."""
    run = [rates[category] for category in categories if category in rates]
    missing = tuple(category for category in categories if category not in rates)
    failed = sum(sizes[category] for category in missing) if sizes else 0
    known, items = sum(part.n_verdicts for part in run), sum(part.n_items for part in run)
    if any(part.n_verdicts == 0 for part in run) or not known + failed:
        return MeanRate(None, known, items, missing)
    return MeanRate(sum(part.passed for part in run) / (known + failed), known, items, missing)


def pooled_rate(rates: RatesByCategory, categories: Iterable[str]) -> MeanRate:
    """Passes out of whatever has a verdict: it says its denominator."""
    run = [rates[category] for category in categories if category in rates]
    known = sum(part.n_verdicts for part in run)
    value = sum(part.passed for part in run) / known if known else None
    return MeanRate(value, known, sum(part.n_items for part in run))


@dataclass(slots=True)
class CategoryGroup:
    """A figure and those it is made of; a category has none."""

    name: str
    rate: MeanRate
    parts: Sequence[CategoryGroup] = ()
    note: str = ""
    hidden: bool = False
    """The program prints N/A for it; what stands above it is computed with its `mean`."""

    def metrics(self, level: int) -> Iterator[Metric]:
        if self.rate.n_items or self.rate.value is not None:
            value = None if self.hidden else self.rate.value
            under = self.rate
            n, of = (under.n_verdicts, under.n_items) if under.n_items else (None, None)
            yield Metric("accuracy", self.name, value, level=level, note=self.note, n=n, total=of, digits=2)
        for part in self.parts:
            yield from part.metrics(level + 1)

    def categories(self) -> Iterator[str]:
        if not self.parts:
            yield self.name
        for part in self.parts:
            yield from part.categories()


def category_groups(rates: RatesByCategory, categories: Sequence[str]) -> list[CategoryGroup]:
    return [category_group(rates, category) for category in categories]


def category_group(rates: RatesByCategory, category: str) -> CategoryGroup:
    note = rates[category].note if category in rates else ""
    return CategoryGroup(category, category_rate(rates, category), note=note)


def unweighted_group(
    name: str, parts: Sequence[CategoryGroup], _: RatesByCategory | None = None, *, absent_is_0: bool = False
) -> CategoryGroup:
    under = mean_rate([part.rate for part in parts], absent_is_0=absent_is_0)
    return CategoryGroup(
        name, under, parts, counted_as_zero_note(under) if absent_is_0 else omitted_note(under.missing)
    )


def weighted_group(name: str, parts: Sequence[CategoryGroup], rates: RatesByCategory) -> CategoryGroup:
    under = weighted_rate(rates, [part.name for part in parts])
    return CategoryGroup(name, under, parts, omitted_note(under.missing))


def hide_if_incomplete(group: CategoryGroup) -> CategoryGroup:
    if group.rate.missing:
        group.hidden = True
        group.note = f"not run: {', '.join(group.rate.missing)}; printed as N/A, counted as 0 above"
        if not group.rate.n_items:
            group.rate = MeanRate(None, 0, 0, group.rate.missing)
    return group


def counted_as_zero_note(under: MeanRate) -> str:
    return f"not run, counted as 0: {', '.join(under.missing)}" if under.missing else ""


def omitted_note(missing: Sequence[str]) -> str:
    return f"without {', '.join(missing)}: not run" if missing else ""


LIVE_AST_CATEGORIES = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
OverallAndGroups = tuple[CategoryGroup, list[CategoryGroup]]
"""The overall figure, and further groups."""


def overall_v2(rates: RatesByCategory, groups: Sequence[CategoryGroup]) -> OverallAndGroups:
    by_name = {group.name: group for group in groups}
    ast = by_name["ast"].parts
    pairs = zip(ast, category_groups(rates, LIVE_AST_CATEGORIES), strict=True)
    combined = [_mean_without_parts(f"combined_{one.name}", [one.rate, live.rate]) for one, live in pairs]
    irrelevance, relevance = _irrelevance_group(rates), category_group(rates, "live_relevance")
    columns = [*combined, *by_name["executable"].parts, irrelevance, relevance]
    more = [unweighted_group("combined_ast", combined), non_live_group(by_name), _live_ast_group(rates), irrelevance]
    return _overall_of_columns(columns), more


def overall_v3(rates: RatesByCategory, groups: Sequence[CategoryGroup]) -> OverallAndGroups:
    by_name = {group.name: group for group in groups}
    first = non_live_group(by_name)
    overall = _overall_of_columns([first, by_name["live"], by_name["multi_turn"]])
    return overall, [first, _live_ast_group(rates), _irrelevance_group(rates)]


def non_live_group(groups: dict[str, CategoryGroup]) -> CategoryGroup:
    """The mean of the columns of `data_non_live.csv`; without the executable ones where none of them was run."""
    run = groups["executable"].parts if groups["executable"].rate.n_items else ()
    return _mean_without_parts(
        "non_live", [part.rate for part in (*groups["ast"].parts, *run, *groups["irrelevance"].parts)]
    )


def _live_ast_group(rates: RatesByCategory) -> CategoryGroup:
    """`AST Summary` of `data_live.csv`, by items."""
    under = weighted_rate(rates, LIVE_AST_CATEGORIES)
    return CategoryGroup("live_ast", under, note=omitted_note(under.missing))


def _irrelevance_group(rates: RatesByCategory) -> CategoryGroup:
    """`Irrelevance Detection` of the overall table."""
    return _mean_without_parts(
        "irrelevance_detection", [part.rate for part in category_groups(rates, ("irrelevance", "live_irrelevance"))]
    )


def _mean_without_parts(name: str, parts: Sequence[MeanRate]) -> CategoryGroup:
    """A mean whose parts stand elsewhere."""
    under = mean_rate(parts)
    return CategoryGroup(name, under, note=omitted_note(under.missing))


def _overall_of_columns(columns: Sequence[CategoryGroup]) -> CategoryGroup:
    """Given only where every column is whole: one over a part would be compared with whole ones."""
    under = mean_rate([column.rate for column in columns])
    if under.missing:
        return CategoryGroup(
            "overall", MeanRate(None, under.n_verdicts, under.n_items, under.missing), note=omitted_note(under.missing)
        )
    return CategoryGroup("overall", under, note="the leaderboard's")


V4_LIVE_SIZES = {"live_simple": 258, "live_multiple": 1053, "live_parallel": 16, "live_parallel_multiple": 24}
"""Items of V4's dataset: what a category that was not run weighs."""
V4_WEIGHTS = {"non_live": 0.1, "live": 0.1, "irrelevance": 0.1, "multi_turn": 0.3, "agentic": 0.4}
UNGROUPED_CATEGORIES = ("format_sensitivity", "chatable", "sql")
"""Categories of no accuracy table: one has a table of its own, two are not scored."""
_SIMPLE = ("simple_python", "simple_java", "simple_javascript")
_MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")


def accuracy_table(generation: str, rates: RatesByCategory) -> Sequence[Metric]:
    """The overall line, groups, their parts and categories; then the categories that no group has."""
    return _cached_accuracy_table(generation, tuple(rates.items()))


@lru_cache(maxsize=2)
def _cached_accuracy_table(generation: str, of_categories: tuple[tuple[str, CategoryRate], ...]) -> Sequence[Metric]:
    """Sources that count the same, as the corrected one does until somebody reviews, ask one after the other."""
    rates = dict(of_categories)
    if generation in ("V1", "V2", "V3"):
        groups = _groups_before_v4(generation, rates)
        overall = [_all_items_group(generation, rates, groups)]
        if generation != "V1":
            first, more = (overall_v2 if generation == "V2" else overall_v3)(rates, groups)
            overall.insert(0, first)
            groups += more
    else:
        groups = _groups_v4(rates)
        overall = [_overall_v4(groups)]
    grouped = {category for group in groups for category in group.categories()}
    rest = [category_group(rates, name) for name in rates if name not in grouped and name not in UNGROUPED_CATEGORIES]
    whole = [line for group in overall for line in group.metrics(0)]
    return (*whole, *(line for group in (*groups, *rest) for line in group.metrics(1)))


def _groups_v4(rates: RatesByCategory) -> list[CategoryGroup]:
    """A group in which nothing was run is printed as 0, parts of groups as N/A."""
    simple = hide_if_incomplete(unweighted_group("simple", category_groups(rates, _SIMPLE), absent_is_0=True))
    others = category_groups(rates, ("multiple", "parallel", "parallel_multiple"))
    live = CategoryGroup(
        "live", weighted_rate(rates, tuple(V4_LIVE_SIZES), V4_LIVE_SIZES), category_groups(rates, tuple(V4_LIVE_SIZES))
    )
    live.note = counted_as_zero_note(live.rate)
    irrelevance = unweighted_group(
        "irrelevance", category_groups(rates, ("irrelevance", "live_irrelevance")), absent_is_0=True
    )
    web_search = unweighted_group(
        "web_search", category_groups(rates, ("web_search_base", "web_search_no_snippet")), absent_is_0=True
    )
    memory = unweighted_group(
        "memory", category_groups(rates, ("memory_kv", "memory_vector", "memory_rec_sum")), absent_is_0=True
    )
    return [
        unweighted_group("non_live", [simple, *others], absent_is_0=True),
        live,
        hide_if_incomplete(irrelevance),
        unweighted_group("multi_turn", category_groups(rates, _MULTI_TURN), absent_is_0=True),
        unweighted_group("agentic", [hide_if_incomplete(web_search), hide_if_incomplete(memory)], absent_is_0=True),
    ]


def _overall_v4(groups: Sequence[CategoryGroup]) -> CategoryGroup:
    means = [group.rate for group in groups]
    under = mean_rate(means, absent_is_0=True)
    value = None
    if under.n_items and under.value is not None:
        value = sum(V4_WEIGHTS[group.name] * (group.rate.value or 0.0) for group in groups)
    return CategoryGroup(
        "overall", MeanRate(value, under.n_verdicts, under.n_items, under.missing), note=counted_as_zero_note(under)
    )


def _groups_before_v4(generation: str, rates: RatesByCategory) -> list[CategoryGroup]:
    """V1 weighs the languages of simple calls, and REST among executable ones, by their items; V2 and V3 do not."""
    first = generation == "V1"
    ast, run = "_function" if first else "", "executable_" if first else "exec_"
    others = (f"multiple{ast}", f"parallel{ast}", f"parallel_multiple{ast}")
    pool = weighted_group if first else unweighted_group
    simple = pool("simple", category_groups(rates, ("simple", "java", "javascript")), rates)
    simple_run = pool(f"{run}simple", category_groups(rates, (f"{run}simple", "rest")), rates)
    irrelevance = "relevance" if first else "irrelevance"
    groups = [
        unweighted_group("ast", [simple, *category_groups(rates, others)]),
        unweighted_group("executable", [simple_run, *category_groups(rates, [f"{run}{name}" for name in others])]),
        unweighted_group("irrelevance", category_groups(rates, (irrelevance,))),
    ]
    if not first:
        live = (*V4_LIVE_SIZES, "live_irrelevance", "live_relevance")
        groups += [
            weighted_group("live", category_groups(rates, live), rates),
            unweighted_group("multi_turn", category_groups(rates, _MULTI_TURN)),
        ]
    return groups


def _all_items_group(generation: str, rates: RatesByCategory, groups: Sequence[CategoryGroup]) -> CategoryGroup:
    under = pooled_rate(rates, [category for group in groups for category in group.categories()])
    missing = [category for group in groups for category in group.rate.missing]
    official = "the leaderboard's overall" if generation == "V1" else ""
    return CategoryGroup("all items", under, note="; ".join(filter(None, (official, omitted_note(missing)))))


COST_TABLE = "cost and latency"


@dataclass(frozen=True, slots=True)
class StepTimes:
    """What the steps of a run took together, in seconds. Steps that took no time are none."""

    steps: int
    total: float
    mean: float
    deviation: float | None
    p95: float


def cost_and_latency_metrics(rows: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Dollars and seconds; what the files do not say is left out. Verdicts do not matter here."""
    used = [row for row in rows if row.category not in UNGROUPED_CATEGORIES[1:]]
    spent = _step_times(tuple(row.seconds for row in used))
    tokens_in, tokens_out = sum(row.tokens_in or 0 for row in used), sum(row.tokens_out or 0 for row in used)
    lines = [
        Metric(COST_TABLE, "input tokens", tokens_in, "count"),
        Metric(COST_TABLE, "output tokens", tokens_out, "count"),
    ]
    found = [line for line in lines if line.value]
    if run.generation not in ("V1", "V2", "V3"):
        found += _cost_metrics(run.model, tokens_in, tokens_out, spent)
    if spent is None:
        return found
    values = (("mean", spent.mean), ("standard deviation", spent.deviation), ("95th percentile", spent.p95))
    return found + [
        Metric(
            COST_TABLE,
            f"latency {name}",
            value,
            "seconds",
            n=spent.steps,
            total=spent.steps,
            counted_noun="steps",
            digits=2,
        )
        for name, value in values
    ]


@lru_cache(maxsize=1)
def _step_times(of_rows: tuple[tuple[float, ...], ...]) -> StepTimes | None:
    """None if no step took any time. Every source asks for the same, in turn. `statistics.stdev` counts in fractions
    and takes twenty times as long."""
    seconds = sorted(filter(None, chain.from_iterable(of_rows)))
    if not seconds:
        return None
    steps, total = len(seconds), fsum(seconds)
    mean = total / steps
    deviation = dist(seconds, [mean] * steps) / sqrt(steps - 1) if steps > 1 else None
    return StepTimes(steps, total, mean, deviation, percentile(seconds, 95))


def _cost_metrics(model: str, tokens_in: int, tokens_out: int, spent: StepTimes | None) -> list[Metric]:
    """By the program's price of tokens; of models it has no price for, by the time of the machine."""
    of = token_price(model)
    if of is not None:
        dollars = (tokens_in * of[0] + tokens_out * of[1]) / 1e6
        note = f"{of[0]} and {of[1]} $ a million tokens, the official program's prices of March 2026"
        return [Metric(COST_TABLE, "cost", dollars, "dollars", note=note, digits=2)] if tokens_in and tokens_out else []
    if spent is None:
        return []
    note = f"no price in the official program: machine time at {GPU_HOUR_PRICE} $ an hour for {CONCURRENT_REQUESTS} requests at once"
    dollars = spent.total / 3600 * GPU_HOUR_PRICE / CONCURRENT_REQUESTS
    return [Metric(COST_TABLE, "cost", dollars, "dollars", note=note, digits=2)]


def percentile(values: Sequence[float], percent: float) -> float:
    """Of ranked values: between the two nearest ranks in proportion, as NumPy's default. IndexError for no values."""
    place = (len(values) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def compute_metrics(rows: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """The tables of the run's generation. Nothing where this source has no verdict at all."""
    if all(row.valid is None for row in rows):
        return []
    return [
        *accuracy_table(run.generation, count_category_rates(rows, run.official_metrics)),
        *format_sensitivity_metrics(rows),
        *cost_and_latency_metrics(rows, run),
    ]

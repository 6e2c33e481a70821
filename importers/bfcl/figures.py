"""BFCL's published tables: from scored items to pass counts per category, and from these to the generation's figures.

V4's overall is the leaderboard's formula: 10 % non-live, 10 % live, 10 % irrelevance, 30 % multi-turn, 40 % agentic, a
category that was not run counting as 0. For V1 to V3 only group means are given, and the count-weighted accuracy over
all scored categories; their published overall changed between versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fcreview.figures import Figure, Scored
from fcreview.model import Run


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:
    """The generation's groups and categories; a group's mean counts categories that were not run as 0, as the
    leaderboard does."""
    counts: dict[str, tuple[int, int]] = {}
    for row in rows:
        if row.valid is not None:
            passed, known = counts.get(row.category, (0, 0))
            counts[row.category] = (passed + row.valid, known + 1)
    if not counts:
        return []
    return table(run.generation, {name: Rate(passed, known) for name, (passed, known) in counts.items()})


@dataclass(frozen=True, slots=True)
class Rate:
    """Passes out of the items with a known verdict."""

    passed: int
    known: int

    @property
    def value(self) -> float | None:
        """0 to 1; None if nothing is known."""
        return self.passed / self.known if self.known else None


Rates = Mapping[str, Rate]

SIMPLE = ("simple_python", "simple_java", "simple_javascript")
LIVE = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
IRRELEVANCE = ("irrelevance", "live_irrelevance")
MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
WEB_SEARCH = ("web_search_base", "web_search_no_snippet")
MEMORY = ("memory_kv", "memory_vector", "memory_rec_sum")

_AST = {"V1": ("multiple_function", "parallel_function", "parallel_multiple_function")}
_AST_LATER = ("multiple", "parallel", "parallel_multiple")
_EXECUTABLE = {
    "V1": ("executable_simple", "executable_multiple_function", "executable_parallel_function",
           "executable_parallel_multiple_function", "rest"),
}  # fmt: skip
_EXECUTABLE_LATER = ("exec_simple", "exec_multiple", "exec_parallel", "exec_parallel_multiple", "rest")


def value(rates: Rates, category: str) -> float | None:
    """The rate of one category; None if it was not run."""
    rate = rates.get(category)
    return rate.value if rate is not None else None


def mean(values: Sequence[float | None]) -> float | None:
    """Unweighted mean in which what was not run counts as 0; None if nothing was."""
    if all(one is None for one in values):
        return None
    return sum(one or 0.0 for one in values) / len(values)


def weighted(rates: Rates, categories: Sequence[str]) -> float | None:
    """Passes of all categories out of all their items."""
    parts = [rates[category] for category in categories if category in rates]
    return Rate(sum(part.passed for part in parts), sum(part.known for part in parts)).value


def mean_of(rates: Rates, categories: Sequence[str]) -> float | None:
    return mean([value(rates, category) for category in categories])


def groups_v4(rates: Rates) -> dict[str, float | None]:
    """V4's five group accuracies: `non_live`, `live`, `irrelevance`, `multi_turn`, `agentic`."""
    return {
        "non_live": mean([mean_of(rates, SIMPLE), *(value(rates, category) for category in _AST_LATER)]),
        "live": weighted(rates, LIVE),
        "irrelevance": mean_of(rates, IRRELEVANCE),
        "multi_turn": mean_of(rates, MULTI_TURN),
        "agentic": mean([mean_of(rates, WEB_SEARCH), mean_of(rates, MEMORY)]),
    }


WEIGHTS = {"non_live": 0.1, "live": 0.1, "irrelevance": 0.1, "multi_turn": 0.3, "agentic": 0.4}


def overall_v4(rates: Rates) -> float | None:
    """V4's overall accuracy, 0 to 1; None if no category of it was run."""
    groups = groups_v4(rates)
    if all(one is None for one in groups.values()):
        return None
    return sum(weight * (groups[name] or 0.0) for name, weight in WEIGHTS.items())


def table(generation: str, rates: Rates) -> list[Figure]:
    """The table of a generation: an overall line, groups, and their categories. Groups not run are left out."""
    return _table_v4(rates) if generation not in ("V1", "V2", "V3") else _table_before(generation, rates)


def _table_v4(rates: Rates) -> list[Figure]:
    groups = groups_v4(rates)
    members = {
        "non_live": (*SIMPLE, *_AST_LATER),
        "live": LIVE,
        "irrelevance": IRRELEVANCE,
        "multi_turn": MULTI_TURN,
        "agentic": (*WEB_SEARCH, *MEMORY),
    }
    lines = [_line("overall", overall_v4(rates), _known(rates, [c for m in members.values() for c in m]), 0)]
    for name, categories in members.items():
        lines += _group(name, groups[name], rates, categories)
    return lines + _others(rates, {category for part in members.values() for category in part})


def _table_before(generation: str, rates: Rates) -> list[Figure]:
    ast = _AST.get(generation, _AST_LATER)
    executable = _EXECUTABLE.get(generation, _EXECUTABLE_LATER)
    simple = ("simple", "java", "javascript")
    members: dict[str, tuple[float | None, Sequence[str]]] = {
        "ast": (mean([mean_of(rates, simple), *(value(rates, category) for category in ast)]), (*simple, *ast)),
        "executable": (mean_of(rates, executable), executable),
        "irrelevance": (mean_of(rates, ("relevance",) if generation == "V1" else ("irrelevance",)),
                        ("relevance",) if generation == "V1" else ("irrelevance",)),
    }  # fmt: skip
    if generation != "V1":
        live = (*LIVE, "live_irrelevance", "live_relevance")
        members["live"] = (weighted(rates, live), live)
        members["multi_turn"] = (mean_of(rates, MULTI_TURN), MULTI_TURN)
    every = [category for _, part in members.values() for category in part]
    lines = [_line("all items", weighted(rates, every), _known(rates, every), 0)]
    for name, (one, categories) in members.items():
        lines += _group(name, one, rates, categories)
    return lines + _others(rates, set(every))


def _group(name: str, one: float | None, rates: Rates, categories: Sequence[str]) -> list[Figure]:
    if one is None:
        return []
    shown = [category for category in categories if category in rates]
    return [
        _line(name, one, _known(rates, categories), 1),
        *(_line(category, rates[category].value, rates[category].known, 2) for category in shown),
    ]


def _others(rates: Rates, counted: set[str]) -> list[Figure]:
    """Categories that the overall figure leaves out: live_relevance, format_sensitivity, unknown ones."""
    return [_line(category, rate.value, rate.known, 1) for category, rate in rates.items() if category not in counted]


def _line(name: str, one: float | None, known: int, level: int) -> Figure:
    return Figure("accuracy", name, one, level=level, note=f"{known} items")


def _known(rates: Rates, categories: Sequence[str]) -> int:
    return sum(rates[category].known for category in categories if category in rates)

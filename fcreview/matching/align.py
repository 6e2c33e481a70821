"""Which predicted call answers which golden call: the pairing of least cost.

Cost, most important first: calls whose functions differ, arguments that are not accepted, distance in position.
Every call is in exactly one pair. Calls of different functions are partners only where the one was made instead of the
other: names alike, or as many calls on both sides and neither function among the other side's. A call that only repeats
one of another function stands for nothing: it is extra, and what was to be called is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher
from math import inf
from typing import Any

from fcreview.matching.diff import (
    EXACT_RULES,
    NORMALISED_WEIGHT,
    SCALAR_TYPES,
    ComparisonRules,
    ComparisonBudget,
    is_accepted,
    diff_call,
    diff_accepted_values,
    are_arguments_accepted,
    is_same_function,
    is_equivalent_scalar,
    difference_weight,
)
from fcreview.model.item import AcceptedValues, Call, CallPair

OTHER_FUNCTION = 1e6
UNPAIRED = 0.6e6
"""In golden order: less than a pair of different functions, and two of these more than one such pair."""
UNREADABLE = 100.0
LEAST = 1e-3
"""Of the arguments of a call of another function: such a pair may come apart and must not part others."""
APART = 1e-5
MAX_COMPARED_PAIRS = 3600
"""Beyond this many possible pairs (60 by 60), calls are paired by function and position instead."""

ALIKE = 0.8
"""Names of functions at least as similar as this are taken for a slip of the pen."""
LONG_NAME = 100

Places = list[tuple[int, int]]


def align_turns(
    golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules = EXACT_RULES, *, ordered: bool = False
) -> list[CallPair]:
    """`align` within each turn, turns ascending."""
    turns: defaultdict[int, tuple[list[Call], list[Call]]] = defaultdict(lambda: ([], []))
    for call in golden:
        turns[call.turn][0].append(call)
    for call in predicted:
        turns[call.turn][1].append(call)
    return [pair for turn in sorted(turns) for pair in align(*turns[turn], rules, ordered=ordered)]


def align(
    golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules = EXACT_RULES, *, ordered: bool = False
) -> list[CallPair]:
    """The calls of one turn. Pairs are in golden order; predicted calls without a partner follow.

    `ordered`: partners stand in the same order on both sides, as where the benchmark compares sequences.
    """
    if len(golden) == len(predicted):
        for one, other in zip(golden, predicted, strict=True):
            if not _same_call(one, other, rules):
                break
        else:
            return [_equal(one, other) for one, other in zip(golden, predicted, strict=True)]
        if len(golden) == 1:
            return [_compared(golden[0], predicted[0], rules)]
    found = _partners(golden, predicted, rules, ordered)
    names = {call.name for call in golden}, {call.name for call in predicted}
    partners = {i: j for i, j in found if _instead(golden, predicted, (i, j), rules, names)}
    pairs = [
        _compared(call, predicted[partners[at]], rules)
        if at in partners
        else CallPair(call.turn, call.index, None, call.name, "-")
        for at, call in enumerate(golden)
    ]
    taken = set(partners.values())
    extra = (call for at, call in enumerate(predicted) if at not in taken)
    return pairs + [CallPair(call.turn, None, call.index, call.name, "+") for call in extra]


def _instead(
    golden: Sequence[Call],
    predicted: Sequence[Call],
    at: tuple[int, int],
    rules: ComparisonRules,
    names: tuple[set[str], set[str]],
) -> bool:
    """Whether the two calls are of one function, or the predicted one was made instead of the golden one. `names` are
    those of both sides: of very many calls spellings that the rules take for the same are not looked for."""
    wanted, made = golden[at[0]], predicted[at[1]]
    if is_same_function(wanted, made, rules) or _alike(wanted.name, made.name):
        return True
    if len(golden) != len(predicted) or made.name in names[0] or wanted.name in names[1]:
        return False
    if len(golden) * len(predicted) > MAX_COMPARED_PAIRS:
        return True
    asked = any(is_same_function(each, made, rules) for each in golden)
    return not asked and not any(is_same_function(wanted, each, rules) for each in predicted)


def _alike(one: str, other: str) -> bool:
    """`Maps.search` and `search`, `get_wether` and `get_weather`."""
    one, other = one[:LONG_NAME].casefold(), other[:LONG_NAME].casefold()
    if not one or not other or one.rpartition(".")[2] == other.rpartition(".")[2]:
        return True
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE


def _same_call(golden: Call, predicted: Call, rules: ComparisonRules) -> bool:
    wanted, given = golden.arguments, predicted.arguments
    if wanted is None or given is None or not are_arguments_accepted(wanted, given):
        return False
    return is_same_function(golden, predicted, rules)


def _equal(golden: Call, predicted: Call) -> CallPair:
    return CallPair(golden.turn, golden.index, predicted.index, golden.name, "=")


def _compared(golden: Call, predicted: Call, rules: ComparisonRules) -> CallPair:
    pair = _equal(golden, predicted)
    pair.diff = diff_call(golden, predicted, rules)
    if pair.diff:
        pair.state = "~" if all(place.state == "~" for place in pair.diff) else "!"
    return pair


def _partners(golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules, ordered: bool) -> Places:
    """Places in the two sequences that are paired."""
    if not golden or not predicted:
        return []
    if len(golden) * len(predicted) > MAX_COMPARED_PAIRS:
        return _by_position(golden, predicted, ordered)
    if ordered:
        return _in_order(_costs(golden, predicted, rules, range(len(golden)), range(len(predicted))))
    sure = _by_name(golden, predicted, rules)
    taken = set(sure.values())
    rows = [i for i in range(len(golden)) if i not in sure]
    columns = [j for j in range(len(predicted)) if j not in taken]
    found = list(sure.items())
    if rows and columns:
        found += [(rows[i], columns[j]) for i, j in _in_any_order(_costs(golden, predicted, rules, rows, columns))]
    return found


def _by_name(golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules) -> dict[int, int]:
    """Partners that no pairing of least cost can part: neither side has another call of their function."""
    only: dict[int, int] = {}
    counts = [0] * len(predicted)
    for i, one in enumerate(golden):
        alike = [j for j, other in enumerate(predicted) if is_same_function(one, other, rules)]
        for j in alike:
            counts[j] += 1
        if len(alike) == 1:
            only[i] = alike[0]
    return {i: j for i, j in only.items() if counts[j] == 1}


def _costs(
    golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules, rows: Sequence[int], columns: Sequence[int]
) -> list[list[float]]:
    return [[_cost(golden[i], predicted[j], rules) + APART * abs(i - j) for j in columns] for i in rows]


def _cost(golden: Call, predicted: Call, rules: ComparisonRules) -> float:
    if not is_same_function(golden, predicted, rules):
        return OTHER_FUNCTION + LEAST * _arguments_cost(golden, predicted, rules)
    return _arguments_cost(golden, predicted, rules)


def _arguments_cost(golden: Call, predicted: Call, rules: ComparisonRules) -> float:
    cost = 0.0
    if golden.arguments is None or predicted.arguments is None:
        return cost + UNREADABLE
    given = predicted.arguments
    for name, accept in golden.arguments.items():
        if name in given:
            cost += _argument_cost(accept, given[name], rules)
        elif not accept.optional:
            cost += 1
    return cost + sum(name not in golden.arguments for name in given)


def _argument_cost(accept: AcceptedValues, value: Any, rules: ComparisonRules) -> float:
    """As `weight` has it, at most one; of a scalar without putting the difference into words."""
    if is_accepted(accept, value):
        return 0
    if type(value) in SCALAR_TYPES:
        return NORMALISED_WEIGHT if any(is_equivalent_scalar(one, value, rules) for one in accept.any_of) else 1
    return min(1.0, difference_weight(diff_accepted_values(accept, value, "", 0, ComparisonBudget(rules))))


def _in_any_order(costs: list[list[float]]) -> Places:
    rows, columns = len(costs), len(costs[0])
    if rows > columns:
        turned = [list(column) for column in zip(*costs, strict=True)]
        return [(i, j) for j, i in _in_any_order(turned)]
    cheapest = [min(range(columns), key=row.__getitem__) for row in costs]
    if len(set(cheapest)) == rows:  # no two want the same partner: nothing can cost less
        return list(enumerate(cheapest))
    return _assignment(costs)


def _assignment(costs: list[list[float]]) -> Places:
    """One column for each row at the least cost in all; at least as many columns as rows.

    The Hungarian method by shortest augmenting paths: a row at a time is added, and those before it give way along the
    cheapest path to a free column. `row_price` and `column_price` are the duals, `owner` the row a column belongs to.
    """
    rows, columns = len(costs), len(costs[0])
    row_price, column_price = [0.0] * rows, [0.0] * columns
    owner: list[int | None] = [None] * columns
    for added in range(rows):
        row, end = added, -1
        shortest, before = [inf] * columns, [-1] * columns
        left = set(range(columns))
        reached: list[int] = []
        length, last = 0.0, -1
        while end < 0:
            for j in left:
                through = length + costs[row][j] - row_price[row] - column_price[j]
                if through < shortest[j]:
                    shortest[j], before[j] = through, last
            last = min(left, key=shortest.__getitem__)
            length = shortest[last]
            left.remove(last)
            taken = owner[last]
            if taken is None:
                end = last
            else:
                reached.append(last)
                row = taken
        row_price[added] += length
        for j in reached:
            row_price[owner[j]] += length - shortest[j]  # type: ignore[index]  # those reached have an owner
            column_price[j] -= length - shortest[j]
        while end >= 0:
            owner[end] = added if before[end] < 0 else owner[before[end]]
            end = before[end]
    return sorted((row, j) for j, row in enumerate(owner) if row is not None)


def _in_order(costs: list[list[float]]) -> Places:
    """Least cost of pairs that do not cross, a call without a partner costing `UNPAIRED`."""
    rows, columns = len(costs), len(costs[0])
    best = [[UNPAIRED * (rows - i + columns - j) for j in range(columns + 1)] for i in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            skipped = UNPAIRED + min(best[i + 1][j], best[i][j + 1])
            best[i][j] = min(costs[i][j] + best[i + 1][j + 1], skipped)
    found: Places = []
    i = j = 0
    while i < rows and j < columns:
        if best[i][j] == costs[i][j] + best[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == UNPAIRED + best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _by_position(golden: Sequence[Call], predicted: Sequence[Call], ordered: bool) -> Places:
    if ordered:
        return [(at, at) for at in range(min(len(golden), len(predicted)))]
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    for j in reversed(range(len(predicted))):
        waiting[predicted[j].name].append(j)
    found = [(i, waiting[call.name].pop()) for i, call in enumerate(golden) if waiting.get(call.name)]
    paired, taken = {i for i, _ in found}, {j for _, j in found}
    rest = (i for i in range(len(golden)) if i not in paired)
    return found + list(zip(rest, (j for j in range(len(predicted)) if j not in taken), strict=False))

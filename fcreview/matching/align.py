"""Pair predicted calls with golden calls so that the total cost of the pairs is lowest.

The cost of a pair depends on different functions, arguments that are not accepted, and different
positions, in this order of importance. Each call is in exactly one pair. A missing or extra call is
alone in its pair.

Calls of different functions are paired only if the predicted call replaces the golden call. This
requires similar names, or equal numbers of golden and predicted calls, where neither function is
called on the other side. Therefore, if the model repeats one golden call instead of making another
one, the repeated call is extra and the other golden call is missing.
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
    ComparisonBudget,
    ComparisonRules,
    are_arguments_accepted,
    diff_accepted_values,
    diff_call,
    is_accepted,
    is_equivalent_scalar,
    is_same_function,
    sum_difference_weights,
)
from fcreview.model.item import AcceptedValues, Call, CallPair

OTHER_FUNCTION_COST = 1e6
UNPAIRED_COST = 0.6e6
"""Cost of an unpaired call if the order is kept.

A pair of different functions costs less than two unpaired calls.
"""
UNDECODABLE_COST = 100.0
OTHER_FUNCTION_ARGUMENT_FACTOR = 1e-3
"""Factor for the cost of arguments in a pair of different functions, too small to change the
other pairs.
"""
DISTANCE_COST = 1e-5
MAX_COMPARED_PAIRS = 3600
"""Maximum number of possible pairs (60 by 60) for which costs are compared."""

MIN_NAME_SIMILARITY = 0.8
MAX_NAME_LENGTH = 100

IndexPair = tuple[int, int]
"""(index in the golden calls, index in the predicted calls) of a pair."""


def align_calls_by_turn(
    golden: Sequence[Call],
    predicted: Sequence[Call],
    rules: ComparisonRules = EXACT_RULES,
    *,
    keep_order: bool = False,
) -> list[CallPair]:
    """Pair and compare the calls of each turn with `align_calls`."""
    turns: defaultdict[int, tuple[list[Call], list[Call]]] = defaultdict(lambda: ([], []))
    for call in golden:
        turns[call.turn][0].append(call)
    for call in predicted:
        turns[call.turn][1].append(call)
    return [
        pair
        for turn in sorted(turns)
        for pair in align_calls(*turns[turn], rules, keep_order=keep_order)
    ]


def align_calls(
    golden: Sequence[Call],
    predicted: Sequence[Call],
    rules: ComparisonRules = EXACT_RULES,
    *,
    keep_order: bool = False,
) -> list[CallPair]:
    """Pair and compare the golden and predicted calls of one turn. Returns the pairs in golden
    order, then the extra predicted calls. With `keep_order`, the predicted calls of the pairs are
    in order too.
    """
    if len(golden) == len(predicted):
        if all(
            _is_equal_call(one, other, rules) for one, other in zip(golden, predicted, strict=True)
        ):
            return [
                _make_equal_pair(one, other) for one, other in zip(golden, predicted, strict=True)
            ]
        if len(golden) == 1:
            return [_compare_pair(golden[0], predicted[0], rules)]
    assigned = _pair_calls(golden, predicted, rules, keep_order)
    names = {call.name for call in golden}, {call.name for call in predicted}
    partners = {
        i: j for i, j in assigned if _can_be_paired(golden, predicted, (i, j), rules, names)
    }
    pairs = [
        _compare_pair(call, predicted[partners[at]], rules)
        if at in partners
        else CallPair(call.turn, golden=call.index, predicted=None, name=call.name, state="-")
        for at, call in enumerate(golden)
    ]
    paired = set(partners.values())
    extra = (call for at, call in enumerate(predicted) if at not in paired)
    return pairs + [
        CallPair(call.turn, golden=None, predicted=call.index, name=call.name, state="+")
        for call in extra
    ]


def _can_be_paired(
    golden: Sequence[Call],
    predicted: Sequence[Call],
    pair: IndexPair,
    rules: ComparisonRules,
    function_names: tuple[set[str], set[str]],
) -> bool:
    """Whether a golden and a predicted call may be paired.

    `function_names` are all golden and all predicted names.
    """
    wanted, made = golden[pair[0]], predicted[pair[1]]
    if is_same_function(wanted, made, rules) or _is_similar_name(wanted.name, made.name):
        return True
    if (
        len(golden) != len(predicted)
        or made.name in function_names[0]
        or wanted.name in function_names[1]
    ):
        return False
    if len(golden) * len(predicted) > MAX_COMPARED_PAIRS:
        return True
    if any(is_same_function(each, made, rules) for each in golden):
        return False
    return not any(is_same_function(wanted, each, rules) for each in predicted)


def _is_similar_name(first: str, second: str) -> bool:
    """Whether two names differ only in spelling or qualifier: `get_wether`, `get_weather`;
    `Maps.find`, `find`.
    """
    first, second = first[:MAX_NAME_LENGTH].casefold(), second[:MAX_NAME_LENGTH].casefold()
    if not first or not second or first.rpartition(".")[2] == second.rpartition(".")[2]:
        return True
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= MIN_NAME_SIMILARITY


def _is_equal_call(golden: Call, predicted: Call, rules: ComparisonRules) -> bool:
    wanted, given = golden.arguments, predicted.arguments
    if wanted is None or given is None or not are_arguments_accepted(wanted, given):
        return False
    return is_same_function(golden, predicted, rules)


def _make_equal_pair(golden: Call, predicted: Call) -> CallPair:
    return CallPair(
        golden.turn, golden=golden.index, predicted=predicted.index, name=golden.name, state="="
    )


def _compare_pair(golden: Call, predicted: Call, rules: ComparisonRules) -> CallPair:
    pair = _make_equal_pair(golden, predicted)
    pair.diff = diff_call(golden, predicted, rules)
    if pair.diff:
        pair.state = "~" if all(difference.state == "~" for difference in pair.diff) else "!"
    return pair


def _pair_calls(
    golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules, keep_order: bool
) -> list[IndexPair]:
    if not golden or not predicted:
        return []
    if len(golden) * len(predicted) > MAX_COMPARED_PAIRS:
        return _pair_without_costs(golden, predicted, keep_order)

    def compute_cost(golden_index: int, predicted_index: int) -> float:
        return _compute_pair_cost(
            golden[golden_index], predicted[predicted_index], rules
        ) + DISTANCE_COST * abs(golden_index - predicted_index)

    if keep_order:
        return _assign_in_order(
            [[compute_cost(i, j) for j in range(len(predicted))] for i in range(len(golden))]
        )
    by_name = dict(_pair_unique_functions(golden, predicted, rules))
    paired = set(by_name.values())
    rows = [i for i in range(len(golden)) if i not in by_name]
    columns = [j for j in range(len(predicted)) if j not in paired]
    pairs = list(by_name.items())
    if rows and columns:
        assigned = _assign_in_any_order([[compute_cost(i, j) for j in columns] for i in rows])
        pairs += [(rows[i], columns[j]) for i, j in assigned]
    return pairs


def _pair_unique_functions(
    golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules
) -> list[IndexPair]:
    """Pair calls whose function occurs once on each side.

    The cheapest pairing always contains these pairs.
    """
    single: dict[int, int] = {}
    counts = [0] * len(predicted)
    for i, one in enumerate(golden):
        same_function = [
            j for j, other in enumerate(predicted) if is_same_function(one, other, rules)
        ]
        for j in same_function:
            counts[j] += 1
        if len(same_function) == 1:
            single[i] = same_function[0]
    return [(i, j) for i, j in single.items() if counts[j] == 1]


def _compute_pair_cost(golden: Call, predicted: Call, rules: ComparisonRules) -> float:
    cost = _compute_arguments_cost(golden, predicted, rules)
    if is_same_function(golden, predicted, rules):
        return cost
    return OTHER_FUNCTION_COST + OTHER_FUNCTION_ARGUMENT_FACTOR * cost


def _compute_arguments_cost(golden: Call, predicted: Call, rules: ComparisonRules) -> float:
    if golden.arguments is None or predicted.arguments is None:
        return UNDECODABLE_COST
    cost = 0.0
    given = predicted.arguments
    for name, accepted in golden.arguments.items():
        if name in given:
            cost += _compute_argument_cost(accepted, given[name], rules)
        elif not accepted.optional:
            cost += 1
    return cost + sum(name not in golden.arguments for name in given)


def _compute_argument_cost(accepted: AcceptedValues, value: Any, rules: ComparisonRules) -> float:
    if is_accepted(accepted, value):
        return 0
    if type(value) in SCALAR_TYPES:
        return (
            NORMALISED_WEIGHT
            if any(is_equivalent_scalar(one, value, rules) for one in accepted.any_of)
            else 1
        )
    return min(
        1.0,
        sum_difference_weights(
            diff_accepted_values(accepted, value, "", 0, ComparisonBudget(rules))
        ),
    )


def _assign_in_any_order(costs: list[list[float]]) -> list[IndexPair]:
    rows, columns = len(costs), len(costs[0])
    if rows > columns:
        transposed = [list(column) for column in zip(*costs, strict=True)]
        return [(i, j) for j, i in _assign_in_any_order(transposed)]
    cheapest = [min(range(columns), key=row.__getitem__) for row in costs]
    # Each row has its own cheapest column, so no other assignment costs less.
    if len(set(cheapest)) == rows:
        return list(enumerate(cheapest))
    return _assign_by_hungarian_method(costs)


def _assign_by_hungarian_method(costs: list[list[float]]) -> list[IndexPair]:
    """Assign a column to each row so that the total cost is lowest. There must be at least as many
    columns as rows. The Hungarian method adds one row at a time, and reassigns earlier rows along
    the cheapest path to a free column.
    """
    # The prices are the dual variables of the assignment problem. `owner` is the row of each
    # column.
    rows, columns = len(costs), len(costs[0])
    row_price, column_price = [0.0] * rows, [0.0] * columns
    owner: list[int | None] = [None] * columns
    for added in range(rows):
        row, end = added, -1
        shortest, before = [inf] * columns, [-1] * columns
        unreached = set(range(columns))
        reached: list[int] = []
        length, last = 0.0, -1
        while end < 0:
            for j in unreached:
                through = length + costs[row][j] - row_price[row] - column_price[j]
                if through < shortest[j]:
                    shortest[j], before[j] = through, last
            last = min(unreached, key=shortest.__getitem__)
            length = shortest[last]
            unreached.remove(last)
            last_owner = owner[last]
            if last_owner is None:
                end = last
            else:
                reached.append(last)
                row = last_owner
        row_price[added] += length
        for j in reached:
            row_price[owner[j]] += length - shortest[j]  # type: ignore[index]  # Every reached column has an owner.
            column_price[j] -= length - shortest[j]
        while end >= 0:
            owner[end] = added if before[end] < 0 else owner[before[end]]
            end = before[end]
    return sorted((row, j) for j, row in enumerate(owner) if row is not None)


def _assign_in_order(costs: list[list[float]]) -> list[IndexPair]:
    rows, columns = len(costs), len(costs[0])
    best = [
        [UNPAIRED_COST * (rows - i + columns - j) for j in range(columns + 1)]
        for i in range(rows + 1)
    ]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            skipped = UNPAIRED_COST + min(best[i + 1][j], best[i][j + 1])
            best[i][j] = min(costs[i][j] + best[i + 1][j + 1], skipped)
    pairs: list[IndexPair] = []
    i = j = 0
    while i < rows and j < columns:
        if best[i][j] == costs[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == UNPAIRED_COST + best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _pair_without_costs(
    golden: Sequence[Call], predicted: Sequence[Call], keep_order: bool
) -> list[IndexPair]:
    """Pair calls of the same function in order, then all others.

    With `keep_order`, pair calls at equal positions.
    """
    if keep_order:
        return [(at, at) for at in range(min(len(golden), len(predicted)))]
    unpaired: defaultdict[str, list[int]] = defaultdict(list)
    for j in reversed(range(len(predicted))):
        unpaired[predicted[j].name].append(j)
    pairs = [
        (i, unpaired[call.name].pop()) for i, call in enumerate(golden) if unpaired.get(call.name)
    ]
    paired_golden, paired_predicted = {i for i, _ in pairs}, {j for _, j in pairs}
    rest = (i for i in range(len(golden)) if i not in paired_golden)
    return pairs + list(
        zip(rest, (j for j in range(len(predicted)) if j not in paired_predicted), strict=False)
    )

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

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import chain
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
    golden_by_turn = _group_by_turn(golden)
    predicted_by_turn = _group_by_turn(predicted)
    pairs = []
    for turn in sorted(golden_by_turn.keys() | predicted_by_turn.keys()):
        golden_calls = golden_by_turn.get(turn, [])
        predicted_calls = predicted_by_turn.get(turn, [])
        pairs.extend(align_calls(golden_calls, predicted_calls, rules, keep_order=keep_order))
    return pairs


def _group_by_turn(calls: Sequence[Call]) -> dict[int, list[Call]]:
    calls_by_turn: defaultdict[int, list[Call]] = defaultdict(list)
    for call in calls:
        calls_by_turn[call.turn].append(call)
    return calls_by_turn


def align_calls(
    golden: Sequence[Call],
    predicted: Sequence[Call],
    rules: ComparisonRules = EXACT_RULES,
    *,
    keep_order: bool = False,
) -> list[CallPair]:
    """Pair the golden calls of a turn with the predicted calls that differ least, and compare them.

    Returns the pairs in golden order, then the predicted calls without a partner. A golden call
    without a partner is missing.

    Args:
        golden: The golden calls of the turn.
        predicted: The predicted calls of the turn.
        rules: Which different values and names count as equal.
        keep_order: Whether pairs may not cross: the predicted calls of the pairs are in order too.
    """
    if _are_equal_calls(golden, predicted, rules):
        return [_make_equal_pair(*calls) for calls in zip(golden, predicted, strict=True)]
    if len(golden) == len(predicted) == 1:
        return [_compare_pair(golden[0], predicted[0], rules)]

    partner_by_golden_index = _find_partners(golden, predicted, rules, keep_order=keep_order)
    pairs = []
    for index, call in enumerate(golden):
        partner = partner_by_golden_index.get(index)
        if partner is not None:
            pairs.append(_compare_pair(call, predicted[partner], rules))
        else:
            pairs.append(_make_missing_pair(call))
    paired_predicted = set(partner_by_golden_index.values())
    for index, call in enumerate(predicted):
        if index not in paired_predicted:
            pairs.append(_make_extra_pair(call))
    return pairs


def _find_partners(
    golden: Sequence[Call],
    predicted: Sequence[Call],
    rules: ComparisonRules,
    *,
    keep_order: bool,
) -> dict[int, int]:
    """Return the index of the predicted call for each golden call that has one.

    The calls are paired by their differences. A pair of calls of two functions counts only if the
    model probably meant the golden function, else the golden call is missing and the predicted one
    is unexpected.
    """
    replacements = _Replacements(golden, predicted, rules)
    partners = {}
    for golden_index, predicted_index in _pair_calls(golden, predicted, rules, keep_order):
        if replacements.is_possible(golden[golden_index], predicted[predicted_index]):
            partners[golden_index] = predicted_index
    return partners


def _are_equal_calls(
    golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules
) -> bool:
    """Whether the calls are equal one by one. This is the usual case, and needs no pairing."""
    if len(golden) != len(predicted):
        return False
    return all(
        _is_equal_call(wanted, made, rules) for wanted, made in zip(golden, predicted, strict=True)
    )


class _Replacements:
    """Decides which predicted calls may stand for a golden call of another function."""

    def __init__(
        self, golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules
    ) -> None:
        """Prepare to say which golden and predicted calls of a turn may be paired."""
        self._golden = golden
        self._predicted = predicted
        self._rules = rules
        self._golden_names = {call.name for call in golden}
        self._predicted_names = {call.name for call in predicted}

    def is_possible(self, wanted: Call, made: Call) -> bool:
        """Whether a golden call (`wanted`) and a predicted call (`made`) may be paired.

        Calls of the same function, or of functions with similar names, may be paired. Calls of
        other functions may be paired if there are as many golden as predicted calls, and neither
        function is called on the other side: then the model probably chose the wrong function.
        """
        if is_same_function(wanted, made, self._rules):
            return True
        if _is_similar_name(wanted.name, made.name):
            return True
        if len(self._golden) != len(self._predicted):
            return False
        if made.name in self._golden_names or wanted.name in self._predicted_names:
            return False

        # Names may also be equal by the rules of the benchmark. With many calls, this is not
        # checked, because it compares every call with every other one.
        if len(self._golden) * len(self._predicted) > MAX_COMPARED_PAIRS:
            return True
        if any(is_same_function(call, made, self._rules) for call in self._golden):
            return False
        return not any(is_same_function(wanted, call, self._rules) for call in self._predicted)


def _is_similar_name(first: str, second: str) -> bool:
    """Whether two names differ only in spelling or qualifier: `get_wether`, `get_weather`;
    `Maps.find`, `find`.

    An empty name, which a call that cannot be decoded has, may stand for any name.
    """
    first_name = first[:MAX_NAME_LENGTH].casefold()
    second_name = second[:MAX_NAME_LENGTH].casefold()
    if not first_name or not second_name:
        return True
    has_same_last_part = first_name.rpartition(".")[2] == second_name.rpartition(".")[2]
    if has_same_last_part:
        return True
    similarity = SequenceMatcher(None, first_name, second_name, autojunk=False).ratio()
    return similarity >= MIN_NAME_SIMILARITY


def _is_equal_call(golden: Call, predicted: Call, rules: ComparisonRules) -> bool:
    wanted = golden.arguments
    given = predicted.arguments
    if wanted is None or given is None or not are_arguments_accepted(wanted, given):
        return False
    return is_same_function(golden, predicted, rules)


def _make_equal_pair(golden: Call, predicted: Call) -> CallPair:
    return CallPair(
        golden.turn, golden=golden.index, predicted=predicted.index, name=golden.name, state="="
    )


def _make_missing_pair(golden: Call) -> CallPair:
    return CallPair(golden.turn, golden=golden.index, predicted=None, name=golden.name, state="-")


def _make_extra_pair(predicted: Call) -> CallPair:
    return CallPair(
        predicted.turn, golden=None, predicted=predicted.index, name=predicted.name, state="+"
    )


def _compare_pair(golden: Call, predicted: Call, rules: ComparisonRules) -> CallPair:
    """Pair two calls, with their differences. The state of the pair is `=` (equal), `~`
    (equivalent) or `!` (different).
    """
    pair = _make_equal_pair(golden, predicted)
    pair.diff = diff_call(golden, predicted, rules)
    if pair.diff:
        is_equivalent = all(difference.state == "~" for difference in pair.diff)
        pair.state = "~" if is_equivalent else "!"
    return pair


def _pair_calls(
    golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules, keep_order: bool
) -> list[IndexPair]:
    """Pair golden and predicted calls so that the pairs differ least in total.

    Returns pairs of a golden and a predicted index. The cost of a pair says how much the two calls
    differ. With `keep_order`, the pairs are in the order of both lists: none crosses another one.
    """
    if not golden or not predicted:
        return []
    is_too_large = len(golden) * len(predicted) > MAX_COMPARED_PAIRS
    if is_too_large:
        return _pair_without_costs(golden, predicted, keep_order)
    if not keep_order:
        return _pair_in_any_order(golden, predicted, rules)

    golden_indexes = list(range(len(golden)))
    predicted_indexes = list(range(len(predicted)))
    costs = _compute_costs(golden, predicted, golden_indexes, predicted_indexes, rules)
    return _assign_in_order(costs)


def _pair_in_any_order(
    golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules
) -> list[IndexPair]:
    """Pair calls with the lowest total cost. Pairs may cross."""
    # The cheapest pairing always contains these pairs, so that fewer costs are needed.
    pairs = _pair_unique_functions(golden, predicted, rules)
    paired_golden = {golden_index for golden_index, _ in pairs}
    paired_predicted = {predicted_index for _, predicted_index in pairs}
    open_golden = [index for index in range(len(golden)) if index not in paired_golden]
    open_predicted = [index for index in range(len(predicted)) if index not in paired_predicted]
    if not open_golden or not open_predicted:
        return pairs

    costs = _compute_costs(golden, predicted, open_golden, open_predicted, rules)
    for row, column in _assign_in_any_order(costs):
        pairs.append((open_golden[row], open_predicted[column]))
    return pairs


def _compute_costs(
    golden: Sequence[Call],
    predicted: Sequence[Call],
    golden_indexes: Sequence[int],
    predicted_indexes: Sequence[int],
    rules: ComparisonRules,
) -> list[list[float]]:
    """Return the costs: a row for each golden call, and a column for each predicted call."""
    costs = []
    for golden_index in golden_indexes:
        row = []
        for predicted_index in predicted_indexes:
            cost = _compute_pair_cost(golden[golden_index], predicted[predicted_index], rules)
            distance = abs(golden_index - predicted_index)
            row.append(cost + DISTANCE_COST * distance)
        costs.append(row)
    return costs


def _pair_unique_functions(
    golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules
) -> list[IndexPair]:
    """Pair golden and predicted calls whose function occurs once on each side. Returns pairs of a
    golden and a predicted index.
    """
    matches_of_golden = [
        _find_calls_of_same_function(golden_call, predicted, rules) for golden_call in golden
    ]
    # Number of golden calls that have the function of a predicted call, by its index.
    n_golden_matches = Counter(chain.from_iterable(matches_of_golden))

    pairs: list[IndexPair] = []
    for golden_index, matches in enumerate(matches_of_golden):
        if len(matches) != 1:
            continue
        (predicted_index,) = matches
        if n_golden_matches[predicted_index] == 1:
            pairs.append((golden_index, predicted_index))
    return pairs


def _find_calls_of_same_function(
    golden_call: Call, predicted: Sequence[Call], rules: ComparisonRules
) -> list[int]:
    """Return the indexes of the predicted calls that have the function of a golden call."""
    return [
        index
        for index, predicted_call in enumerate(predicted)
        if is_same_function(golden_call, predicted_call, rules)
    ]


def _compute_pair_cost(golden: Call, predicted: Call, rules: ComparisonRules) -> float:
    cost = _compute_arguments_cost(golden, predicted, rules)
    if is_same_function(golden, predicted, rules):
        return cost
    return OTHER_FUNCTION_COST + OTHER_FUNCTION_ARGUMENT_FACTOR * cost


def _compute_arguments_cost(golden: Call, predicted: Call, rules: ComparisonRules) -> float:
    """Return how much the arguments of two calls differ: 1 for each argument that only one call
    has, and at most 1 for each that both have.
    """
    if golden.arguments is None or predicted.arguments is None:
        return UNDECODABLE_COST

    cost = 0.0
    for name, accepted in golden.arguments.items():
        if name in predicted.arguments:
            cost += _compute_argument_cost(accepted, predicted.arguments[name], rules)
        elif not accepted.optional:
            cost += 1
    unexpected_names = predicted.arguments.keys() - golden.arguments.keys()
    return cost + len(unexpected_names)


def _compute_argument_cost(accepted: AcceptedValues, value: Any, rules: ComparisonRules) -> float:
    """Return how much a value differs from the accepted values, from 0 (accepted) to 1
    (different).
    """
    if is_accepted(accepted, value):
        return 0
    if type(value) not in SCALAR_TYPES:
        differences = diff_accepted_values(accepted, value, "", 0, ComparisonBudget(rules))
        return min(1.0, sum_difference_weights(differences))
    if any(is_equivalent_scalar(expected, value, rules) for expected in accepted.any_of):
        return NORMALISED_WEIGHT
    return 1


def _assign_in_any_order(costs: list[list[float]]) -> list[IndexPair]:
    """Pair each row with a column, or the other way round if there are more rows, so that the total
    cost is lowest. `costs` has the cost of each pair by row and column.
    """
    n_rows = len(costs)
    n_columns = len(costs[0])
    if n_rows > n_columns:
        transposed = [list(column) for column in zip(*costs, strict=True)]
        return [(row, column) for column, row in _assign_in_any_order(transposed)]

    # If each row has its own cheapest column, no other assignment costs less.
    cheapest_columns = [min(range(n_columns), key=row.__getitem__) for row in costs]
    if len(set(cheapest_columns)) == n_rows:
        return list(enumerate(cheapest_columns))
    return _HungarianMethod(costs).assign()


class _HungarianMethod:
    """Assigns a column to each row so that the total cost is lowest.

    There must be at least as many columns as rows. This is the Hungarian method (Kuhn 1955) in the
    form with shortest paths (Jonker and Volgenant 1987).

    Rows are added one at a time. A new row can take the column of an earlier row, which then takes
    the column of another one, and so on, until a row takes a free column. The cheapest such chain
    is the shortest path in a graph whose edges are pairs of a row and a column.

    Rows and columns have prices, the dual variables of the assignment problem. The length of an
    edge is the cost of the pair without the prices of both. The prices are chosen so that no edge
    is negative, and that assigned pairs have the length 0. Shortest paths need the first, and
    the second means that no other assignment is cheaper.
    """

    def __init__(self, costs: list[list[float]]) -> None:
        """Start without an assigned row. `costs` has the cost of each row and column."""
        self._costs = costs
        n_columns = len(costs[0])
        self._row_prices = [0.0] * len(costs)
        self._column_prices = [0.0] * n_columns
        self._owners: list[int | None] = [None] * n_columns
        """Row to which each column is assigned."""

    def assign(self) -> list[IndexPair]:
        """Return (row, column) of each row."""
        for row in range(len(self._costs)):
            self._add_row(row)
        assigned = [
            (owner, column) for column, owner in enumerate(self._owners) if owner is not None
        ]
        return sorted(assigned)

    def _add_row(self, added_row: int) -> None:
        """Assign a column to one more row. The rows before it may get other columns, so that the
        total cost stays lowest.

        The nearest column is taken again and again, by Dijkstra's algorithm, until it is a free
        one. If a column has an owner, the path goes on from there: the owner would give the column
        away and need another one.
        """
        path = _ShortestPath(len(self._column_prices))
        row: int | None = added_row
        while row is not None:
            self._extend(path, row)
            column = path.take_nearest()
            # None for a free column, which ends the path.
            row = self._owners[column]

        self._change_prices(added_row, path)
        self._reassign(added_row, path)

    def _extend(self, path: _ShortestPath, row: int) -> None:
        """Shorten the paths to the columns that are not reached yet, if they lead through a row."""
        for column in path.unreached:
            # The order of the terms decides the rounding.
            distance = path.length + self._costs[row][column]
            distance = distance - self._row_prices[row] - self._column_prices[column]
            path.offer(column, distance)

    def _change_prices(self, added_row: int, path: _ShortestPath) -> None:
        """Change the prices (dual variables of the Hungarian method) before the columns of a path
        get new owners, so that the assignment stays a cheapest one.

        Each reached column that is nearer than the end of the path becomes cheaper by the
        difference, and the row that owns it more expensive, so that their pair keeps the length 0.
        Then all pairs on the path have the length 0, and no pair has a negative one.
        """
        self._row_prices[added_row] += path.length
        # The last column is the end of the path. It has the difference 0, and no owner.
        for column in path.reached[:-1]:
            owner = self._owners[column]
            assert owner is not None, "only the last column of a path is free"  # noqa: S101
            nearer_by = path.length - path.distances[column]
            self._row_prices[owner] += nearer_by
            self._column_prices[column] -= nearer_by

    def _reassign(self, added_row: int, path: _ShortestPath) -> None:
        """Give each column of the path the row of the column before it. The first column gets the
        added row.
        """
        # From the end of the path to its start.
        column = path.reached[-1]
        previous = path.previous[column]
        while previous is not None:
            self._owners[column] = self._owners[previous]
            column = previous
            previous = path.previous[column]
        self._owners[column] = added_row


class _ShortestPath:
    """Shortest paths from a row to the columns, found by Dijkstra's algorithm."""

    def __init__(self, n_columns: int) -> None:
        """Start with paths to none of the columns."""
        self.distances = [inf] * n_columns
        self.previous: list[int | None] = [None] * n_columns
        """Column before each column on its path; None for the first column."""
        self.unreached = set(range(n_columns))
        self.reached: list[int] = []
        """Columns in the order in which they were reached."""
        self.length = 0.0
        """Distance of the column that was reached last."""

    def offer(self, column: int, distance: float) -> None:
        """Offer a path to a column through the column that was reached last."""
        if distance < self.distances[column]:
            self.distances[column] = distance
            self.previous[column] = self.reached[-1] if self.reached else None

    def take_nearest(self) -> int:
        column = min(self.unreached, key=self.distances.__getitem__)
        self.unreached.remove(column)
        self.reached.append(column)
        self.length = self.distances[column]
        return column


def _assign_in_order(costs: list[list[float]]) -> list[IndexPair]:
    """Pair rows and columns in order, without crossing, so that the total cost is lowest.

    This is the alignment of two sequences by dynamic programming.
    """
    return _follow_lowest_cost(costs, _compute_remaining_costs(costs))


def _compute_remaining_costs(costs: list[list[float]]) -> list[list[float]]:
    """Return remaining[row][column]: the lowest cost of all rows and columns from these positions
    on.
    """
    n_rows = len(costs)
    n_columns = len(costs[0])
    remaining = [[0.0] * (n_columns + 1) for _ in range(n_rows + 1)]

    # Behind the last row or column, everything is unpaired.
    for row in range(n_rows + 1):
        remaining[row][n_columns] = UNPAIRED_COST * (n_rows - row)
    for column in range(n_columns + 1):
        remaining[n_rows][column] = UNPAIRED_COST * (n_columns - column)

    for row in reversed(range(n_rows)):
        for column in reversed(range(n_columns)):
            if_paired = costs[row][column] + remaining[row + 1][column + 1]
            if_row_unpaired = UNPAIRED_COST + remaining[row + 1][column]
            if_column_unpaired = UNPAIRED_COST + remaining[row][column + 1]
            remaining[row][column] = min(if_paired, if_row_unpaired, if_column_unpaired)
    return remaining


def _follow_lowest_cost(
    costs: list[list[float]], remaining_cost: list[list[float]]
) -> list[IndexPair]:
    """Return the pairs (row, column) that together have the lowest cost.

    Args:
        costs: The cost of each pair.
        remaining_cost: The lowest cost of all rows and columns from each position on.
    """
    pairs: list[IndexPair] = []
    row = 0
    column = 0
    while row < len(costs) and column < len(costs[0]):
        lowest_cost = remaining_cost[row][column]
        if lowest_cost == costs[row][column] + remaining_cost[row + 1][column + 1]:
            pairs.append((row, column))
            row += 1
            column += 1
        elif lowest_cost == UNPAIRED_COST + remaining_cost[row + 1][column]:
            # The row stays without a pair.
            row += 1
        else:
            column += 1
    return pairs


def _pair_without_costs(
    golden: Sequence[Call], predicted: Sequence[Call], keep_order: bool
) -> list[IndexPair]:
    """Pair calls by their functions, because there are too many to compare each with each.

    Returns pairs of a golden and a predicted index. Calls of the same function are paired in order,
    then all others. With `keep_order`, calls at equal positions are paired.
    """
    if keep_order:
        n_pairs = min(len(golden), len(predicted))
        return [(index, index) for index in range(n_pairs)]

    pairs = _pair_same_functions(golden, predicted)
    paired_golden = {golden_index for golden_index, _ in pairs}
    paired_predicted = {predicted_index for _, predicted_index in pairs}
    other_golden = [index for index in range(len(golden)) if index not in paired_golden]
    other_predicted = [index for index in range(len(predicted)) if index not in paired_predicted]
    # The longer list has calls that stay without a pair.
    pairs.extend(zip(other_golden, other_predicted, strict=False))
    return pairs


def _pair_same_functions(golden: Sequence[Call], predicted: Sequence[Call]) -> list[IndexPair]:
    """Pair the first golden call of a function with its first predicted call, and so on."""
    # Function -> indexes of its predicted calls without a pair.
    free_by_name: defaultdict[str, deque[int]] = defaultdict(deque)
    for index, call in enumerate(predicted):
        free_by_name[call.name].append(index)

    pairs: list[IndexPair] = []
    for index, call in enumerate(golden):
        if free_by_name[call.name]:
            pairs.append((index, free_by_name[call.name].popleft()))
    return pairs

"""Pair golden actions with the calls of a conversation, by the benchmark's own rule for a matching call.

The golden actions are one way to solve a task. They count only if `ACTION` is part of the reward.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fcreview.matching.align import align
from fcreview.matching.diff import diff_call
from fcreview.model.item import AcceptedValues, Call, CallPair, Item


@dataclass(frozen=True, slots=True)
class GoldenAction:
    name: str
    arguments: dict[str, Any] | None
    compare_arguments: list[str] | None = None
    """Names of the arguments that must be equal; None for the arguments that the predicted call has."""

    def matches(self, call: Call) -> bool:
        """Whether a call matches by the official rule (`Action.compare_with_tool_call` of tau2-bench).

        Without `compare_arguments`, an argument that the predicted call leaves out is not compared.
        """
        if call.name != self.name or call.arguments is None:
            return False
        given, wanted = call.arguments, self.arguments or {}
        names = list(given) if self.compare_arguments is None else self.compare_arguments
        return _select(given, names) == _select(wanted, names)


def _select(arguments: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: arguments[name] for name in names if name in arguments}


def pair_actions(item: Item, actions: Sequence[GoldenAction]) -> list[int]:
    """Add golden calls and call pairs to an item whose predicted calls are known.

    Calls are paired by the official rule first, then with the most similar call of the same function. A golden call
    without a partner is placed in the turn of the golden call before it. Returns the index of each action's pair in
    `item.pairs`.
    """
    partners = _match_actions(actions, item.predicted)
    _match_by_function(actions, item.predicted, partners)
    turns = _golden_turns(len(actions), partners, item)
    pairs_by_turn: defaultdict[int, list[CallPair]] = defaultdict(list)
    pair_of_action: dict[int, CallPair] = {}
    n_golden: defaultdict[int, int] = defaultdict(int)
    for at, (action, turn) in enumerate(zip(actions, turns, strict=True)):
        accepted = {name: AcceptedValues([value]) for name, value in (action.arguments or {}).items()}
        golden = Call("golden", action.name, accepted, turn, 0, n_golden[turn])
        n_golden[turn] += 1
        item.golden.append(golden)
        pair = _make_pair(action, golden, item.predicted[partners[at]] if at in partners else None)
        pairs_by_turn[turn].append(pair)
        pair_of_action[at] = pair
    used = set(partners.values())
    for at, call in enumerate(item.predicted):
        if at not in used:
            pairs_by_turn[call.turn].append(CallPair(call.turn, None, call.index, call.name, "+"))
    item.pairs = [pair for turn in sorted(pairs_by_turn) for pair in pairs_by_turn[turn]]
    positions = {id(pair): at for at, pair in enumerate(item.pairs)}
    return [positions[id(pair_of_action[at])] for at in range(len(actions))]


def _match_actions(actions: Sequence[GoldenAction], calls: Sequence[Call]) -> dict[int, int]:
    """Pair each action with one call that matches it. Calls with equal arguments are preferred, then earlier calls."""
    partners: dict[int, int] = {}
    used: set[int] = set()
    for is_exact in (True, False):
        for at, action in enumerate(actions):
            if at in partners:
                continue
            for position, call in enumerate(calls):
                is_equal = call.arguments == action.arguments or not is_exact
                if position not in used and is_equal and action.matches(call):
                    partners[at] = position
                    used.add(position)
                    break
    return partners


def _match_by_function(actions: Sequence[GoldenAction], calls: Sequence[Call], partners: dict[int, int]) -> None:
    """Pair the remaining actions with the remaining calls of the same function that differ least."""
    used = set(partners.values())
    for name in dict.fromkeys(action.name for action in actions):
        open_actions = [at for at, action in enumerate(actions) if action.name == name and at not in partners]
        open_calls = [at for at, call in enumerate(calls) if call.name == name and at not in used]
        golden = [
            Call("golden", name, {key: AcceptedValues([value]) for key, value in (actions[at].arguments or {}).items()})
            for at in open_actions
        ]
        for index, call in enumerate(golden):
            call.index = index
        predicted = [replace(calls[at], turn=0, index=index) for index, at in enumerate(open_calls)]
        for pair in align(golden, predicted) if golden and predicted else ():
            if pair.golden is not None and pair.predicted is not None:
                partners[open_actions[pair.golden]] = open_calls[pair.predicted]


def _golden_turns(n_actions: int, partners: dict[int, int], item: Item) -> list[int]:
    """Return the turn of each action: of its partner, or else of the nearest action with one, preferably before it."""
    known = {at: item.predicted[position].turn for at, position in partners.items()}
    turn = known[min(known)] if known else item.n_turns - 1
    turns = []
    for at in range(n_actions):
        turn = known.get(at, turn)
        turns.append(turn)
    return turns


def _make_pair(action: GoldenAction, golden: Call, predicted: Call | None) -> CallPair:
    if predicted is None:
        return CallPair(golden.turn, golden.index, None, golden.name, "-")
    differences = diff_call(golden, predicted)
    if differences and action.matches(predicted):
        differences = [replace(each, state="~") for each in differences]
    state: Any = "=" if not differences else "~" if all(each.state == "~" for each in differences) else "!"
    return CallPair(golden.turn, golden.index, predicted.index, golden.name, state, differences)

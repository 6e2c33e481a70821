"""Golden actions of tau-bench, and the predicted calls that match them.

Calls are found without a comparison of each action with each call, because a conversation can have
thousands of both.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from fcreview.model.item import AcceptedValues, Call

ArgumentNames = tuple[str, ...]
CallKey = tuple[str, Hashable]
"""Function and compared arguments of a call."""
_MISSING = ("missing",)
"""Key of an argument that a call does not have. No value has this key."""


@dataclass(frozen=True, slots=True)
class GoldenAction:
    name: str
    arguments: dict[str, Any] | None
    compare_arguments: list[str] | None = None
    """Names of the arguments that must be equal.

    None means the arguments that the predicted call has.
    """

    def matches_call(self, call: Call) -> bool:
        """Return whether a call matches by the official rule (`Action.compare_with_tool_call` of
        tau2-bench).

        Without `compare_arguments`, arguments that the predicted call omits are not compared.
        """
        if call.name != self.name or call.arguments is None:
            return False

        expected = self.arguments or {}
        names = self.compare_arguments
        if names is None:
            names = list(call.arguments)
        for name in names:
            if (name in call.arguments) != (name in expected):
                return False
            if call.arguments.get(name) != expected.get(name):
                return False
        return True

    def to_call(self, turn: int, index: int) -> Call:
        accepted = {name: AcceptedValues([value]) for name, value in (self.arguments or {}).items()}
        return Call("golden", self.name, arguments=accepted, turn=turn, step=0, index=index)


@dataclass(slots=True)
class _EqualCalls:
    """Indexes of calls that are equal in the compared arguments, in order."""

    indexes: list[int] = field(default_factory=list)
    n_skipped: int = 0
    """Number of calls at the beginning that are used."""

    def get_first_unused(self, used: Set[int]) -> int | None:
        while self.n_skipped < len(self.indexes):
            index = self.indexes[self.n_skipped]
            if index not in used:
                return index
            self.n_skipped += 1
        return None


Groups = dict[CallKey, _EqualCalls]


class CallFinder:
    """Finds calls that match a golden action by the official rule (`GoldenAction.matches_call`).

    An action takes a call, so that no other action gets the same one.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self._used: set[int] = set()
        self._equal_calls = self._group_by_all_arguments()
        self._groups_by_own_names = self._group_by_own_arguments()
        self._groups_by_compared_names: dict[ArgumentNames, Groups] = {}

    def has_match(self, action: GoldenAction) -> bool:
        """Whether any call matches an action, used or not."""
        return any(True for _ in self._find_groups(action))

    def take_equal_call(self, action: GoldenAction) -> int | None:
        """Use the first call with the same arguments as an action, and return its index."""
        if action.arguments is None:
            return None
        group = self._equal_calls.get((action.name, _make_key(action.arguments)))
        return self._take_first([] if group is None else [group])

    def take_matching_call(self, action: GoldenAction) -> int | None:
        """Use the first call that matches an action, and return its index."""
        return self._take_first(self._find_groups(action))

    def _take_first(self, groups: Iterable[_EqualCalls]) -> int | None:
        """Return the first unused call of the groups, and mark it as used.

        None if there is none.
        """
        unused = [group.get_first_unused(self._used) for group in groups]
        indexes = [index for index in unused if index is not None]
        if not indexes:
            return None
        first_index = min(indexes)
        self._used.add(first_index)
        return first_index

    def _find_groups(self, action: GoldenAction) -> Iterator[_EqualCalls]:
        """Yield the groups of equal calls that match a golden action by the official rule
        (`GoldenAction.matches_call`).
        """
        expected = action.arguments or {}
        for names, groups in self._get_groups_by_compared_names(action).items():
            # Calls match if their function and the values of these arguments are the expected ones.
            expected_call = (action.name, _make_values_key(expected, names))
            if expected_call in groups:
                yield groups[expected_call]

    def _get_groups_by_compared_names(self, action: GoldenAction) -> Mapping[ArgumentNames, Groups]:
        """Return the calls that may match an action: names of the arguments to compare -> groups of
        the calls that are equal in these arguments.

        If the action lists the arguments to compare, exactly these are compared. Otherwise, the
        arguments that the call has are compared, so a call may lack some.
        """
        if action.compare_arguments is None:
            return self._groups_by_own_names.get(action.name, {})
        names = tuple(action.compare_arguments)
        return {names: self._group_once(names)}

    def _group_once(self, names: ArgumentNames) -> Groups:
        """Return the groups of calls that are equal in these arguments. They are made once."""
        if names not in self._groups_by_compared_names:
            self._groups_by_compared_names[names] = self._group_by(names)
        return self._groups_by_compared_names[names]

    def _group_by_all_arguments(self) -> Groups:
        groups: Groups = {}
        for index, call in enumerate(self._calls):
            if call.arguments is not None:
                key = (call.name, _make_key(call.arguments))
                groups.setdefault(key, _EqualCalls()).indexes.append(index)
        return groups

    def _group_by_own_arguments(self) -> dict[str, dict[ArgumentNames, Groups]]:
        """Return function -> names of the arguments of its calls -> groups of these calls."""
        groups_by_function: dict[str, dict[ArgumentNames, Groups]] = {}
        for index, call in enumerate(self._calls):
            if call.arguments is None:
                continue
            names = tuple(sorted(call.arguments))
            groups = groups_by_function.setdefault(call.name, {}).setdefault(names, {})
            key = (call.name, _make_values_key(call.arguments, names))
            groups.setdefault(key, _EqualCalls()).indexes.append(index)
        return groups_by_function

    def _group_by(self, names: ArgumentNames) -> Groups:
        groups: Groups = {}
        for index, call in enumerate(self._calls):
            if call.arguments is not None:
                key = (call.name, _make_values_key(call.arguments, names))
                groups.setdefault(key, _EqualCalls()).indexes.append(index)
        return groups


def _make_values_key(arguments: dict[str, Any], names: ArgumentNames) -> Hashable:
    keys = [_make_key(arguments[name]) if name in arguments else _MISSING for name in names]
    return tuple(keys)


def _make_key(value: Any) -> Hashable:
    """Return a key that is equal for equal JSON values, as `==` compares them."""
    if isinstance(value, dict):
        return "object", frozenset((name, _make_key(part)) for name, part in value.items())
    if isinstance(value, list):
        return "list", tuple(_make_key(part) for part in value)
    if value != value:
        # NaN equals nothing.
        return object()
    key: Hashable = value
    return key

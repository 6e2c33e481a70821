"""ACEBench's end states side by side: attribute by attribute down to the value that differs, as BFCL's are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fcreview.extra import ABSENT, StateDifference
from fcreview.importers.acebench.check_agent import differences

MOST = 40
"""Values listed; the rest is counted."""
MAX_DEPTH = 12


def state_differences(states: Any, golden: Any) -> dict[str, StateDifference] | None:
    """`{"FoodPlatform.users.Eve.balance": golden 412.0, predicted 500.0}` of what the evaluator objects to, and classes
    of one side only, but for those that golden spells in another case: they are never compared. None if nothing
    differs or no side can be read."""
    if not isinstance(states, list) or not isinstance(golden, list):
        return None
    found: dict[str, StateDifference] = {}
    wanted, recorded = _classes(golden), _classes(states)
    spelt = {name.casefold() for name in wanted} & {name.casefold() for name in recorded}
    for name, expected in wanted.items():
        ours = recorded.get(name)
        if ours is None:
            if name.casefold() not in spelt:
                found[name] = StateDifference(expected, ABSENT)
            continue
        for attribute, _ in differences(ours, expected):
            for path, one in _inside(f"{name}.{attribute}", expected.get(attribute, ABSENT), ours[attribute], 0):
                found[path] = one
    for name, ours in recorded.items():
        if name.casefold() not in spelt:
            found[name] = StateDifference(ABSENT, ours)
    if len(found) > MOST:
        kept = dict(list(found.items())[:MOST])
        return kept | {f"({len(found) - MOST} more)": StateDifference("", "")}
    return found or None


def _classes(states: list[Any]) -> dict[str, dict[str, Any]]:
    """The attributes of every class; a list of one-key objects."""
    found: dict[str, dict[str, Any]] = {}
    for state in states:
        if isinstance(state, dict):
            found |= {str(name): one for name, one in state.items() if isinstance(one, dict)}
    return found


def _inside(path: str, golden: Any, ours: Any, depth: int) -> Iterator[tuple[str, StateDifference]]:
    """Where in the two values something differs; objects by name, lists of one length by place."""
    if golden == ours:
        return
    if depth < MAX_DEPTH and isinstance(golden, dict) and isinstance(ours, dict):
        for name in {**golden, **ours}:
            yield from _inside(f"{path}.{name}", golden.get(name, ABSENT), ours.get(name, ABSENT), depth + 1)
    elif depth < MAX_DEPTH and isinstance(golden, list) and isinstance(ours, list) and len(golden) == len(ours):
        for at, (one, other) in enumerate(zip(golden, ours, strict=True)):
            yield from _inside(f"{path}[{at}]", one, other, depth + 1)
    else:
        yield path, StateDifference(golden, ours)

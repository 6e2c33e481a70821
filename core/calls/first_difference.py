"""The first thing in which a prediction fails, for lists and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.calls.paths import steps
from fcreview.calls.rules import EXACT, Rules
from fcreview.calls.table import NOTHING, locate
from fcreview.model import ArgumentDiff, Call, Pair
from fcreview.values import brief, brief_golden

TEXT = 60
"""Characters of each value in the line."""

Difference = tuple[str | None, str | None, str | None]


def first_difference(
    pairs: Sequence[Pair], golden: Sequence[Call], predicted: Sequence[Call], rules: Rules = EXACT
) -> Difference:
    """(function, argument path, one line) of the first pair that is neither `=` nor `~`; three Nones if there is none.

    Lines read `location "Hangzhou, CN" (golden "Hangzhou, China")`, `days 3 (not in golden)`, `get_weather not called`.
    No path if the call as a whole is missing, extra or of another function. Not safe to draw before `sanitise.visible`.
    """
    for pair in pairs:
        if pair.state == "-":
            return pair.name, None, f"{pair.name} not called"
        if pair.state == "+":
            return pair.name, None, f"{pair.name} called, not in golden"
        if pair.state == "!":
            return _inside(
                pair, _find(golden, pair.turn, pair.golden), _find(predicted, pair.turn, pair.predicted), rules
            )
    return None, None, None


def _find(calls: Sequence[Call], turn: int, index: int | None) -> Call | None:
    return next((call for call in calls if call.index == index and call.turn == turn), None)


def _inside(pair: Pair, golden: Call | None, predicted: Call | None, rules: Rules) -> Difference:
    place = next((place for place in pair.diff if place.state != "~"), None)
    if place is None:
        return pair.name, None, None
    if not place.path:
        return pair.name, None, place.reason
    wanted = (golden.arguments if golden else None) or {}
    given = (predicted.arguments if predicted else None) or {}
    name, *inside = steps(place.path)
    left, right = locate(wanted.get(str(name), NOTHING), given.get(str(name), NOTHING), inside, rules)
    return pair.name, place.path, f"{place.path} {_line(place, left, right)}"


def _line(place: ArgumentDiff, golden: Any, predicted: Any) -> str:
    if place.state == "-":
        return "missing" if golden is NOTHING else f"missing (golden {brief_golden(golden, TEXT)})"
    if predicted is NOTHING or place.reason.startswith("length ") or isinstance(predicted, (dict, list, tuple)):
        return place.reason
    if place.state == "+":
        return f"{brief(predicted, TEXT)} (not in golden)"
    return f"{brief(predicted, TEXT)} (golden {brief_golden(golden, TEXT)})" if golden is not NOTHING else place.reason

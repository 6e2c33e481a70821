"""The first thing in which a prediction fails, for lists and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.calls.paths import steps
from fcreview.calls.rules import EXACT, Rules
from fcreview.calls.table import NOTHING, locate
from fcreview.model import ArgumentDiff, Call, Item, Pair
from fcreview.values import brief, brief_golden

TEXT = 60
"""Characters of each value in the line."""

VALUE = 120
"""Characters of a value that failures are grouped by."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a prediction fails first, and in what."""

    function: str | None = None
    argument: str | None = None
    """Its path; None if the call as a whole is missing, extra or of another function."""
    text: str | None = None
    """`location "Hangzhou, CN" (golden "Hangzhou, China")`"""
    golden: str | None = None
    predicted: str | None = None
    """The two values of the argument as they read; None on the side that has none."""

    def put(self, item: Item) -> None:
        item.diff_function, item.diff_argument, item.first_difference = self.function, self.argument, self.text
        item.diff_golden, item.diff_predicted = self.golden, self.predicted


def blame(item: Item, function: str | None, argument: str | None) -> None:
    """The benchmark's rule names this place: an argument as a whole, where the first difference lies inside of it.
    Values of another place are not its."""
    inside = argument is not None and (item.diff_argument or "").startswith(argument)
    if function != item.diff_function or not inside:
        item.diff_golden = item.diff_predicted = None
    item.diff_function, item.diff_argument = function, argument


def first_difference(
    pairs: Sequence[Pair], golden: Sequence[Call], predicted: Sequence[Call], rules: Rules = EXACT
) -> Difference:
    """Of the first pair that is neither `=` nor `~`; an empty one if there is none.

    Texts read `location "Hangzhou, CN" (golden "Hangzhou, China")`, `days 3 (not in golden)`, `get_weather not called`,
    `get_news called (golden get_weather)`, `a call that cannot be decoded (golden get_weather)`.
    Not safe to draw before `sanitise.visible`.
    """
    for pair in pairs:
        if pair.state == "-":
            return Difference(pair.name, None, f"{pair.name} not called")
        if pair.state == "+":
            return Difference(pair.name, None, f"{pair.name} called, not in golden")
        if pair.state == "!":
            return _inside(
                pair, _find(golden, pair.turn, pair.golden), _find(predicted, pair.turn, pair.predicted), rules
            )
    return Difference()


def _find(calls: Sequence[Call], turn: int, index: int | None) -> Call | None:
    return next((call for call in calls if call.index == index and call.turn == turn), None)


def _inside(pair: Pair, golden: Call | None, predicted: Call | None, rules: Rules) -> Difference:
    place = next((place for place in pair.diff if place.state != "~"), None)
    if place is None:
        return Difference(pair.name)
    if not place.path:
        other = golden is not None and predicted is not None and golden.name != predicted.name
        called = place.reason
        if other and predicted and golden:
            called = f"{predicted.name} called" if predicted.name else "a call that cannot be decoded"
            called += f" (golden {golden.name})"
        return Difference(pair.name, None, called)
    wanted = (golden.arguments if golden else None) or {}
    given = (predicted.arguments if predicted else None) or {}
    name, *inside = steps(place.path)
    left, right = locate(wanted.get(str(name), NOTHING), given.get(str(name), NOTHING), inside, rules)
    return Difference(
        pair.name,
        place.path,
        f"{place.path} {_line(place, left, right)}",
        None if left is NOTHING else brief_golden(left, VALUE),
        None if right is NOTHING else brief(right, VALUE),
    )


def _line(place: ArgumentDiff, golden: Any, predicted: Any) -> str:
    if place.state == "-":
        return "missing" if golden is NOTHING else f"missing (golden {brief_golden(golden, TEXT)})"
    if predicted is NOTHING or place.reason.startswith("length ") or isinstance(predicted, (dict, list, tuple)):
        return place.reason
    if place.state == "+":
        return f"{brief(predicted, TEXT)} (not in golden)"
    return f"{brief(predicted, TEXT)} (golden {brief_golden(golden, TEXT)})" if golden is not NOTHING else place.reason

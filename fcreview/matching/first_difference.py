"""The first thing in which a prediction fails, for lists and clusters.

The argument table of a call pair: what screens and `fcreview show` print, as text that is not yet safe to draw.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.matching.diff import EXACT_RULES, ComparisonRules, find_closest_value
from fcreview.model.item import AcceptedValues, ArgumentDiff, Call, GoldenObject, Item, CallPair, DiffState
from fcreview.model.json_value import abbreviate, abbreviate_golden, child_path, split_path, to_json_text

MAX_INDENT = 3
NO_VALUE: Any = object()
"""Stands for the value of a side that has none at a place."""


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """An argument, or a place inside the argument whose row is above it."""

    path: str
    """"" is the call as a whole: then golden and predicted are function names."""
    depth: int
    """0 for an argument; places inside have more, at most 3, to indent by."""
    state: DiffState
    golden: str | None
    """Accepted values as JSON joined with " or "; None where there is none."""
    predicted: str | None
    reason: str | None
    """None if equal."""
    optional: bool = False

    @property
    def is_required_by_function(self) -> bool:
        """Left out, which golden allows and the function does not."""
        return self.state == "-" and self.optional and self.reason is not None


def build_argument_rows(
    golden: Call | None, predicted: Call | None, diff: Sequence[ArgumentDiff], rules: ComparisonRules = EXACT_RULES
) -> list[ArgumentRow]:
    """Rows in golden order, then arguments not in golden. Each has below it the places inside that differ.

    `diff` is the pair's. Without a partner all rows are `-` (no prediction) or `+` (no golden). An optional argument
    that was left out is `=` with no predicted text.
    """
    wanted: dict[str, AcceptedValues] = (golden.arguments if golden else None) or {}
    given: dict[str, Any] = (predicted.arguments if predicted else None) or {}
    places: defaultdict[str, list[ArgumentDiff]] = defaultdict(list)
    for place in diff:
        if place.path:
            places[str(split_path(place.path)[0])].append(place)
    names = (golden.name if golden else None, predicted.name if predicted else None)
    rows = [ArgumentRow("", 0, place.state, *names, place.reason) for place in diff if not place.path]
    unread = predicted is None or predicted.arguments is None
    for name, accept in wanted.items():
        rows += _rows(name, accept, given.get(name, NO_VALUE), places[name], rules, unread)
    for name, value in given.items():
        if name not in wanted:
            rows += _rows(name, None, value, places[name], rules, unread)
    return rows


def _rows(
    name: str, accept: AcceptedValues | None, value: Any, places: list[ArgumentDiff], rules: ComparisonRules, unread: bool
) -> list[ArgumentRow]:
    path, optional = child_path("", name), accept is not None and accept.optional
    state, reason = _state(path, accept, value, places, unread)
    top = ArgumentRow(path, 0, state, _text(accept) if accept else None, _text(value), reason, optional)
    inner = [place for place in places if place.path != path]
    return [top, *(_inner_row(place, accept, value, rules) for place in inner)]


def _state(
    path: str, accept: AcceptedValues | None, value: Any, places: list[ArgumentDiff], unread: bool
) -> tuple[DiffState, str | None]:
    if not places:
        if accept is None:
            return "+", None
        if value is not NO_VALUE:
            return "=", None
        return ("=", "optional, left out") if accept.optional and not unread else ("-", None)
    own = [place for place in places if place.path == path]
    inner = len(places) - len(own)
    worse = any(place.state != "~" for place in places)
    if own:
        return ("!" if worse and own[0].state == "~" else own[0].state), own[0].reason
    count = "one place inside" if inner == 1 else f"{inner} places inside"
    if not worse:
        return "~", f"equal after normalisation in {count}"
    return "!", f"{count} {'differs' if inner == 1 else 'differ'}"


def _inner_row(place: ArgumentDiff, accept: AcceptedValues | None, value: Any, rules: ComparisonRules) -> ArgumentRow:
    inside = split_path(place.path)[1:]
    golden, predicted = find_values_at(accept, value, inside, rules)
    depth = min(len(inside), MAX_INDENT)
    optional = isinstance(golden, AcceptedValues) and golden.optional
    left = None if place.state == "+" else _text(golden)
    right = None if place.state == "-" else _text(predicted)
    return ArgumentRow(place.path, depth, place.state, left, right, place.reason, optional)


def find_values_at(golden: Any, predicted: Any, inside: Sequence[str | int], rules: ComparisonRules = EXACT_RULES) -> tuple[Any, Any]:
    """What stands at a place inside an argument on both sides, `NOTHING` on a side that has no such place.

    Golden values are followed through the alternative closest to the prediction.
    """
    for step in inside:
        if isinstance(golden, AcceptedValues):
            golden = find_closest_value(golden, predicted, rules)
        golden = _item(golden.fields if isinstance(golden, GoldenObject) else golden, step)
        predicted = _item(predicted, step)
    return golden, predicted


def _item(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step, NO_VALUE)
    if isinstance(value, (list, tuple)) and isinstance(step, int) and 0 <= step < len(value):
        return value[step]
    return NO_VALUE


def _text(value: Any) -> str | None:
    return None if value is NO_VALUE else to_json_text(value)


TEXT = 60
"""Characters of each value in the line."""

VALUE = 120
"""Characters of a value that failures are grouped by."""


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """Where a prediction fails first, and in what."""

    function: str | None = None
    argument: str | None = None
    """Its path; None if the call as a whole is missing, extra or of another function."""
    text: str | None = None
    """`location "Hangzhou, CN" (golden "Hangzhou, China")`"""
    golden: str | None = None
    predicted: str | None = None
    """The two values of the argument as they read; None on the side that has none."""

    def apply_to(self, item: Item) -> None:
        item.diff_function, item.diff_argument, item.first_difference = self.function, self.argument, self.text
        item.diff_golden, item.diff_predicted = self.golden, self.predicted


def set_difference_location(item: Item, function: str | None, argument: str | None) -> None:
    """The benchmark's rule names this place: an argument as a whole, where the first difference lies inside of it.
    Values of another place are not its."""
    inside = argument is not None and (item.diff_argument or "").startswith(argument)
    if function != item.diff_function or not inside:
        item.diff_golden = item.diff_predicted = None
    item.diff_function, item.diff_argument = function, argument


def find_first_difference(
    pairs: Sequence[CallPair], golden: Sequence[Call], predicted: Sequence[Call], rules: ComparisonRules = EXACT_RULES
) -> FirstDifference:
    """Of the first pair that is neither `=` nor `~`; an empty one if there is none.

    Texts read `location "Hangzhou, CN" (golden "Hangzhou, China")`, `days 3 (not in golden)`, `get_weather not called`,
    `get_news called (golden get_weather)`, `a call that cannot be decoded (golden get_weather)`.
    Not safe to draw before `sanitise.visible`.
    """
    for pair in pairs:
        if pair.state == "-":
            return FirstDifference(pair.name, None, f"{pair.name} not called")
        if pair.state == "+":
            return FirstDifference(pair.name, None, f"{pair.name} called, not in golden")
        if pair.state == "!":
            return _inside(
                pair, _find(golden, pair.turn, pair.golden), _find(predicted, pair.turn, pair.predicted), rules
            )
    return FirstDifference()


def _find(calls: Sequence[Call], turn: int, index: int | None) -> Call | None:
    return next((call for call in calls if call.index == index and call.turn == turn), None)


def _inside(pair: CallPair, golden: Call | None, predicted: Call | None, rules: ComparisonRules) -> FirstDifference:
    place = next((place for place in pair.diff if place.state != "~"), None)
    if place is None:
        return FirstDifference(pair.name)
    if not place.path:
        other = golden is not None and predicted is not None and golden.name != predicted.name
        called = place.reason
        if other and predicted and golden:
            called = f"{predicted.name} called" if predicted.name else "a call that cannot be decoded"
            called += f" (golden {golden.name})"
        return FirstDifference(pair.name, None, called)
    wanted = (golden.arguments if golden else None) or {}
    given = (predicted.arguments if predicted else None) or {}
    name, *inside = split_path(place.path)
    left, right = find_values_at(wanted.get(str(name), NO_VALUE), given.get(str(name), NO_VALUE), inside, rules)
    return FirstDifference(
        pair.name,
        place.path,
        f"{place.path} {_line(place, left, right)}",
        None if left is NO_VALUE else abbreviate_golden(left, VALUE),
        None if right is NO_VALUE else abbreviate(right, VALUE),
    )


def _line(place: ArgumentDiff, golden: Any, predicted: Any) -> str:
    if place.state == "-":
        return "missing" if golden is NO_VALUE else f"missing (golden {abbreviate_golden(golden, TEXT)})"
    if predicted is NO_VALUE or place.reason.startswith("length ") or isinstance(predicted, (dict, list, tuple)):
        return place.reason
    if place.state == "+":
        return f"{abbreviate(predicted, TEXT)} (not in golden)"
    return f"{abbreviate(predicted, TEXT)} (golden {abbreviate_golden(golden, TEXT)})" if golden is not NO_VALUE else place.reason

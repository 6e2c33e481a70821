"""Describe the differences of a call pair: build the rows of the argument table, and find the first
difference, which lists and clusters show.

The texts are not sanitized.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from difflib import SequenceMatcher
from typing import Any

from fcreview.matching.diff import EXACT_RULES, ComparisonRules, find_closest_value
from fcreview.model.item import (
    AcceptedValues,
    ArgumentDiff,
    Call,
    CallPair,
    DiffState,
    GoldenObject,
    Item,
)
from fcreview.model.json_value import (
    abbreviate,
    abbreviate_golden,
    append_to_path,
    split_path,
    to_json_text,
)

_BLANKS_AROUND_QUOTES = re.compile(r" *(['\"]) *")
MAX_TEXT_LENGTH = 2000
_MAX_NAMED_CHARACTERS = 3
_LETTERS = dict(
    zip(
        "аеорсухіјѕԁһӏАВЕКМНОРСТХІЅЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧονι",
        "aeopcyxijsdhlABEKMHOPCTXISJABEZHIKMNOPTYXovi",
        strict=True,
    )
)
"""Cyrillic or Greek letter -> Latin letter that looks equal, from Unicode's `confusables.txt`."""
_MARKS = dict(zip("‘’‚′“”„″‐‑‒–—−⁄∕×…", "''''\"\"\"\"------//x.", strict=True))
"""Punctuation mark -> similar ASCII mark that keyboards and word processors use instead."""
_TABLE = str.maketrans(_LETTERS | _MARKS)


def normalize_lookalikes(text: str) -> str:
    """Replace letters, quotation marks, dashes and blanks, so that texts that look equal become
    equal.
    """
    plain = unicodedata.normalize("NFKC", text.translate(_TABLE))
    drawn = "".join(char for char in plain if unicodedata.category(char) not in ("Cf", "Mn"))
    return _BLANKS_AROUND_QUOTES.sub(r"\1", " ".join(drawn.split()))


def describe_hidden_difference(golden: str, predicted: str) -> str | None:
    """Describe the first difference between two strings that look equal: `texts look alike: U+0430
    CYRILLIC SMALL LETTER A instead of U+0061 LATIN SMALL LETTER A at character 5`. Returns None if
    they do not look equal.
    """
    if golden == predicted or max(len(golden), len(predicted)) > MAX_TEXT_LENGTH:
        return None
    if normalize_lookalikes(golden) != normalize_lookalikes(predicted):
        return None

    for operation in SequenceMatcher(None, golden, predicted, autojunk=False).get_opcodes():
        kind, golden_start, golden_end, start, end = operation
        if kind != "equal":
            expected = golden[golden_start:golden_end]
            change = _describe_character_change(expected, predicted[start:end])
            return f"texts look alike: {change} at character {start + 1}"
    return None


def _describe_character_change(expected: str, given: str) -> str:
    if not given:
        return f"missing {_format_character_names(expected)}"
    if not expected:
        return f"extra {_format_character_names(given)}"
    return f"{_format_character_names(given)} instead of {_format_character_names(expected)}"


def _format_character_names(text: str) -> str:
    """Name the characters of a text by their code and Unicode name, such as `U+0061 LATIN SMALL
    LETTER A`, because they look like others.
    """
    is_blank = text.strip(" ") == ""
    if is_blank:
        return "1 blank" if len(text) == 1 else f"{len(text)} blanks"

    names = []
    for char in text[:_MAX_NAMED_CHARACTERS]:
        name = unicodedata.name(char, "")
        names.append(f"U+{ord(char):04X} {name}".strip())
    more = " ..." if len(text) > _MAX_NAMED_CHARACTERS else ""
    return ", ".join(names) + more


MAX_INDENT = 3
NO_VALUE: Any = object()


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """Row of the argument table: an argument, or a nested value of the argument above it."""

    path: str
    """Path of the argument or nested value; empty in a row for the call as a whole, which shows
    the function names.
    """
    depth: int
    """Indentation: 0 for an argument, 1 to `MAX_INDENT` for a nested value."""
    state: DiffState
    golden: str | None
    """Accepted values as JSON, joined with " or "; None if there is no golden value."""
    predicted: str | None
    reason: str | None
    optional: bool = False

    @property
    def is_required_by_function(self) -> bool:
        """Whether the function requires this missing argument although the golden answer allows
        omitting it.
        """
        return self.state == "-" and self.optional and self.reason is not None


def build_argument_rows(
    golden: Call | None, predicted: Call | None, diff: Sequence[ArgumentDiff]
) -> list[ArgumentRow]:
    """Build the rows of the argument table of a call pair from `CallPair.diff`, in golden order.
    Each argument is followed by its nested values that differ. Unexpected arguments come last.

    If one of the calls is missing, all rows have the state `-` or `+`. An omitted optional argument
    has the state `=` and no predicted value.
    """
    rows = []
    differences_by_argument: defaultdict[str, list[ArgumentDiff]] = defaultdict(list)
    for difference in diff:
        if difference.path:
            name = str(split_path(difference.path)[0])
            differences_by_argument[name].append(difference)
        else:
            rows.append(_build_call_row(golden, predicted, difference))

    for argument in _list_arguments(golden, predicted):
        differences = differences_by_argument[argument.name]
        rows.append(_build_row(argument, differences))
        for difference in differences:
            if difference.path != argument.path:
                rows.append(_build_nested_row(difference, argument))
    return rows


@dataclass(frozen=True, slots=True)
class _Argument:
    """Argument of a golden call, a predicted call, or both."""

    name: str
    _: KW_ONLY
    accepted: AcceptedValues | None
    """None if the golden call does not have the argument."""
    value: Any
    """`NO_VALUE` if the predicted call does not have the argument."""
    has_prediction: bool
    """Whether there is a predicted call with arguments."""

    @property
    def path(self) -> str:
        return append_to_path("", self.name)

    @property
    def is_optional(self) -> bool:
        return self.accepted is not None and self.accepted.optional


def _list_arguments(golden: Call | None, predicted: Call | None) -> list[_Argument]:
    """Return the arguments in golden order, and then the unexpected ones."""
    wanted = _get_arguments(golden)
    given = _get_arguments(predicted)
    unexpected = [name for name in given if name not in wanted]
    has_prediction = predicted is not None and predicted.arguments is not None
    return [
        _Argument(
            name,
            accepted=wanted.get(name),
            value=given.get(name, NO_VALUE),
            has_prediction=has_prediction,
        )
        for name in [*wanted, *unexpected]
    ]


def _get_arguments(call: Call | None) -> dict[str, Any]:
    if call is None or call.arguments is None:
        return {}
    return call.arguments


def _build_call_row(
    golden: Call | None, predicted: Call | None, difference: ArgumentDiff
) -> ArgumentRow:
    """Build a row for the call as a whole, with the names of the functions."""
    return ArgumentRow(
        "",
        depth=0,
        state=difference.state,
        golden=None if golden is None else golden.name,
        predicted=None if predicted is None else predicted.name,
        reason=difference.reason,
    )


def _build_row(argument: _Argument, differences: list[ArgumentDiff]) -> ArgumentRow:
    """Return the row that compares a golden and a predicted argument."""
    state, reason = _find_state_and_reason(argument, differences)
    golden = None
    if argument.accepted:
        golden = _format_if_present(argument.accepted)
    return ArgumentRow(
        argument.path,
        depth=0,
        state=state,
        golden=golden,
        predicted=_format_if_present(argument.value),
        reason=reason,
        optional=argument.is_optional,
    )


def _find_state_and_reason(
    argument: _Argument, differences: list[ArgumentDiff]
) -> tuple[DiffState, str | None]:
    """Return the state and the reason in an argument's row.

    A difference of the argument as a whole comes before those of values inside it, which are only
    counted. The state `~` means that a difference does not matter by the rules of the benchmark,
    and `!` that it does.
    """
    if not differences:
        return _find_state_without_differences(argument)
    of_argument = [difference for difference in differences if difference.path == argument.path]
    matters = any(difference.state != "~" for difference in differences)
    if not of_argument:
        return _summarize_nested_differences(len(differences), is_different=matters)

    first_difference = of_argument[0]
    # A value that is equal after normalisation may have nested values that are not.
    if matters and first_difference.state == "~":
        return "!", first_difference.reason
    return first_difference.state, first_difference.reason


def _find_state_without_differences(argument: _Argument) -> tuple[DiffState, str | None]:
    """Return the state of an argument, such as `-` for a missing one, and the reason if it needs
    one.
    """
    if argument.accepted is None:
        return "+", None
    if argument.value is not NO_VALUE:
        return "=", None
    if argument.is_optional and argument.has_prediction:
        return "=", "optional, omitted"
    return "-", None


def _summarize_nested_differences(n_nested: int, is_different: bool) -> tuple[DiffState, str]:
    """Return the state of an argument and a text about the differences inside it."""
    values = "1 nested value" if n_nested == 1 else f"{n_nested} nested values"
    if not is_different:
        return "~", f"equal after normalisation in {values}"
    verb = "differs" if n_nested == 1 else "differ"
    return "!", f"{values} {verb}"


def _build_nested_row(difference: ArgumentDiff, argument: _Argument) -> ArgumentRow:
    """Build the row of a nested value that differs, such as `filter.cities[0]`, below the row of
    its argument.
    """
    keys = split_path(difference.path)[1:]
    golden, predicted = find_values_at(argument.accepted, argument.value, keys)
    # `+` is a value that is only predicted, and `-` one that is only golden.
    golden_text = None
    if difference.state != "+":
        golden_text = _format_if_present(golden)
    predicted_text = None
    if difference.state != "-":
        predicted_text = _format_if_present(predicted)
    return ArgumentRow(
        difference.path,
        depth=min(len(keys), MAX_INDENT),
        state=difference.state,
        golden=golden_text,
        predicted=predicted_text,
        reason=difference.reason,
        optional=isinstance(golden, AcceptedValues) and golden.optional,
    )


def find_values_at(
    golden: Any, predicted: Any, keys: Sequence[str | int], rules: ComparisonRules = EXACT_RULES
) -> tuple[Any, Any]:
    """Return the golden and the predicted value at a path inside an argument. A missing value is
    `NO_VALUE`. If several golden values are accepted, the path is followed in the value closest to
    the prediction.
    """
    golden_part = golden
    predicted_part = predicted
    for key in keys:
        golden_container = golden_part
        if isinstance(golden_container, AcceptedValues):
            golden_container = find_closest_value(golden_container, predicted_part, rules)
        if isinstance(golden_container, GoldenObject):
            golden_container = golden_container.fields
        golden_part = _get_child(golden_container, key)
        predicted_part = _get_child(predicted_part, key)
    return golden_part, predicted_part


def _get_child(value: Any, key: str | int) -> Any:
    """Return the value at a key of an object or an index of a list, or `NO_VALUE`."""
    if isinstance(value, dict):
        return value.get(key, NO_VALUE)
    if isinstance(value, (list, tuple)) and isinstance(key, int) and 0 <= key < len(value):
        return value[key]
    return NO_VALUE


def _format_if_present(value: Any) -> str | None:
    return None if value is NO_VALUE else to_json_text(value)


MAX_VALUE_IN_LINE = 60
MAX_VALUE_IN_CLUSTER = 120


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """First difference of a prediction from the golden answer.

    All fields are None if there is no difference.
    """

    function: str | None = None
    argument: str | None = None
    """Path of the argument; None if the whole call is missing or unexpected, or has a different
    function.
    """
    text: str | None = None
    """Description of the difference in one line: `location "Hangzhou, CN" (golden "Hangzhou,
    China")`.
    """
    golden: str | None = None
    predicted: str | None = None

    def apply_to(self, item: Item) -> None:
        item.diff_function = self.function
        item.diff_argument = self.argument
        item.first_difference = self.text
        item.diff_golden = self.golden
        item.diff_predicted = self.predicted


def set_difference_location(item: Item, function: str | None, argument: str | None) -> None:
    """Set the function and the argument in which the benchmark's checker reports the error.

    If the first difference is in another function or argument, its values are removed.
    """
    is_same_place = function == item.diff_function and is_in_argument(item.diff_argument, argument)
    if not is_same_place:
        item.diff_golden = None
        item.diff_predicted = None
    item.diff_function = function
    item.diff_argument = argument


def is_in_argument(path: str | None, argument: str | None) -> bool:
    """Whether the path of a difference names an argument or a value in it.

    Checkers report the name of an argument as it is. The path is quoted if the name has dots or
    brackets. So `argument` may also be the same path.
    """
    if not path or argument is None:
        return False
    return path == argument or split_path(path)[0] == argument


def find_first_difference(
    pairs: Sequence[CallPair],
    golden: Sequence[Call],
    predicted: Sequence[Call],
    rules: ComparisonRules = EXACT_RULES,
) -> FirstDifference:
    """Find and describe the first difference between the golden and the predicted calls.

    Examples are `location "Hangzhou, CN" (golden "Hangzhou, China")`, `days 3 (not in golden)`,
    `get_weather not called` and `get_news called (golden get_weather)`. Values that normalisation
    makes equal, and extra calls that are allowed, are no difference.
    """
    for pair in pairs:
        if pair.state == "-":
            return FirstDifference(pair.name, argument=None, text=f"{pair.name} not called")
        if pair.state == "+":
            return FirstDifference(
                pair.name, argument=None, text=f"{pair.name} called, not in golden"
            )
        if pair.state == "!":
            golden_call = _find_call(golden, pair.turn, pair.golden)
            predicted_call = _find_call(predicted, pair.turn, pair.predicted)
            return _describe_pair_difference(pair, golden_call, predicted_call, rules)
    return FirstDifference()


def _find_call(calls: Sequence[Call], turn: int, index: int | None) -> Call | None:
    for call in calls:
        if call.index == index and call.turn == turn:
            return call
    return None


def _describe_pair_difference(
    pair: CallPair, golden: Call | None, predicted: Call | None, rules: ComparisonRules
) -> FirstDifference:
    """Describe the first difference between the two calls of a pair, such as `city "Rom" (golden
    "Rome")`.

    Differences of the whole call come first and have no path. Values that are equal after the
    benchmark's normalisation (state `~`) are no differences.
    """
    differences = [difference for difference in pair.diff if difference.state != "~"]
    if not differences:
        return FirstDifference(pair.name)
    difference = differences[0]
    if not difference.path:
        text = _describe_call_difference(golden, predicted) or difference.reason
        return FirstDifference(pair.name, argument=None, text=text)

    name, *keys = split_path(difference.path)
    expected, value = find_values_at(
        _get_arguments(golden).get(str(name), NO_VALUE),
        _get_arguments(predicted).get(str(name), NO_VALUE),
        keys,
        rules,
    )
    return FirstDifference(
        pair.name,
        argument=difference.path,
        text=f"{difference.path} {_format_difference(difference, expected, value)}",
        golden=_shorten_golden(expected),
        predicted=_shorten_predicted(value),
    )


def _shorten_golden(expected: Any) -> str | None:
    """Return a short text of the golden value. None without one."""
    return None if expected is NO_VALUE else abbreviate_golden(expected, MAX_VALUE_IN_CLUSTER)


def _shorten_predicted(value: Any) -> str | None:
    """Return a short text of the predicted value. None without one."""
    return None if value is NO_VALUE else abbreviate(value, MAX_VALUE_IN_CLUSTER)


def _describe_call_difference(golden: Call | None, predicted: Call | None) -> str | None:
    """Say which function is called instead of the golden one, or return None."""
    if golden is None or predicted is None or golden.name == predicted.name:
        return None
    called = f"{predicted.name} called" if predicted.name else "a call that cannot be decoded"
    return f"{called} (golden {golden.name})"


def _format_difference(difference: ArgumentDiff, golden: Any, predicted: Any) -> str:
    """Format a difference in one line: `"Rom" (golden "Rome")`, `3 (not in golden)`, `missing
    (golden 5)`, or the reason if the values do not show it better.

    The state of the difference is `-` for a missing value, `+` for an unexpected one, and `!` or
    `~` for another one. `golden` or `predicted` is `NO_VALUE` if there is none.
    """
    golden_text = ""
    if golden is not NO_VALUE:
        golden_text = f"(golden {abbreviate_golden(golden, MAX_VALUE_IN_LINE)})"
    if difference.state == "-":
        return f"missing {golden_text}".rstrip()

    # Objects and lists are too long to show. The reason of a list or text of another length
    # (`length 3, golden 4`) says more than its values.
    is_container = isinstance(predicted, dict | list | tuple)
    is_about_length = difference.reason.startswith("length ")
    if predicted is NO_VALUE or is_container or is_about_length:
        return difference.reason

    predicted_text = abbreviate(predicted, MAX_VALUE_IN_LINE)
    if difference.state == "+":
        return f"{predicted_text} (not in golden)"
    if golden_text:
        return f"{predicted_text} {golden_text}"
    return difference.reason

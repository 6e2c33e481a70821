"""Describe the differences of a call pair: build the rows of the argument table, and find the first
difference, which lists and clusters show.

The texts are not sanitized.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
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
    opcodes = SequenceMatcher(None, golden, predicted, autojunk=False).get_opcodes()
    _, golden_start, golden_end, start, end = next(each for each in opcodes if each[0] != "equal")
    expected, found = (
        _format_character_names(golden[golden_start:golden_end]),
        _format_character_names(predicted[start:end]),
    )
    if found and expected:
        change = f"{found} instead of {expected}"
    else:
        change = f"extra {found}" if found else f"missing {expected}"
    return f"texts look alike: {change} at character {start + 1}"


def _format_character_names(text: str) -> str:
    if text and not text.strip(" "):
        return "1 blank" if len(text) == 1 else f"{len(text)} blanks"
    names = [
        f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip()
        for char in text[:_MAX_NAMED_CHARACTERS]
    ]
    return ", ".join(names) + (" ..." if len(text) > _MAX_NAMED_CHARACTERS else "")


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
    Each argument is followed by its nested values that differ. Unexpected arguments come last. If
    one of the calls is missing, all rows have the state `-` or `+`. An omitted optional argument
    has the state `=` and no predicted value.
    """
    wanted: dict[str, AcceptedValues] = (golden.arguments if golden else None) or {}
    given: dict[str, Any] = (predicted.arguments if predicted else None) or {}
    by_argument: defaultdict[str, list[ArgumentDiff]] = defaultdict(list)
    for difference in diff:
        if difference.path:
            by_argument[str(split_path(difference.path)[0])].append(difference)
    names = (golden.name if golden else None, predicted.name if predicted else None)
    rows = [ArgumentRow("", 0, each.state, *names, each.reason) for each in diff if not each.path]
    is_decoded = predicted is not None and predicted.arguments is not None
    for name in [*wanted, *(name for name in given if name not in wanted)]:
        accepted, value, differences = (
            wanted.get(name),
            given.get(name, NO_VALUE),
            by_argument[name],
        )
        path, optional = append_to_path("", name), accepted is not None and accepted.optional
        state, reason = _find_state_and_reason(path, accepted, value, differences, is_decoded)
        golden_text = _format_if_present(accepted) if accepted else None
        rows.append(
            ArgumentRow(
                path,
                depth=0,
                state=state,
                golden=golden_text,
                predicted=_format_if_present(value),
                reason=reason,
                optional=optional,
            )
        )
        rows += [
            _build_nested_row(each, accepted, value) for each in differences if each.path != path
        ]
    return rows


def _find_state_and_reason(
    path: str,
    accepted: AcceptedValues | None,
    value: Any,
    differences: list[ArgumentDiff],
    is_decoded: bool,
) -> tuple[DiffState, str | None]:
    """Return the state and the reason in an argument's row.

    `is_decoded` is false without predicted arguments.
    """
    if not differences:
        if accepted is None:
            return "+", None
        if value is not NO_VALUE:
            return "=", None
        return ("=", "optional, omitted") if accepted.optional and is_decoded else ("-", None)
    own = [each for each in differences if each.path == path]
    n_nested = len(differences) - len(own)
    is_different = any(each.state != "~" for each in differences)
    if own:
        return ("!" if is_different and own[0].state == "~" else own[0].state), own[0].reason
    count = f"{n_nested} nested value{'s' if n_nested > 1 else ''}"
    if not is_different:
        return "~", f"equal after normalisation in {count}"
    return "!", f"{count} {'differ' if n_nested > 1 else 'differs'}"


def _build_nested_row(
    difference: ArgumentDiff, accepted: AcceptedValues | None, value: Any
) -> ArgumentRow:
    keys, state = split_path(difference.path)[1:], difference.state
    golden, predicted = find_values_at(accepted, value, keys)
    optional = isinstance(golden, AcceptedValues) and golden.optional
    texts = (
        None if state == "+" else _format_if_present(golden),
        None if state == "-" else _format_if_present(predicted),
    )
    return ArgumentRow(
        difference.path, min(len(keys), MAX_INDENT), state, *texts, difference.reason, optional
    )


def find_values_at(
    golden: Any, predicted: Any, keys: Sequence[str | int], rules: ComparisonRules = EXACT_RULES
) -> tuple[Any, Any]:
    """Return the golden and the predicted value at a path inside an argument. A missing value is
    `NO_VALUE`. If several golden values are accepted, the path is followed in the value closest to
    the prediction.
    """
    for key in keys:
        if isinstance(golden, AcceptedValues):
            golden = find_closest_value(golden, predicted, rules)
        golden = _get_child(golden.fields if isinstance(golden, GoldenObject) else golden, key)
        predicted = _get_child(predicted, key)
    return golden, predicted


def _get_child(value: Any, key: str | int) -> Any:
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
        item.diff_function, item.diff_argument, item.first_difference = (
            self.function,
            self.argument,
            self.text,
        )
        item.diff_golden, item.diff_predicted = self.golden, self.predicted


def set_difference_location(item: Item, function: str | None, argument: str | None) -> None:
    """Set the function and the argument in which the benchmark's checker reports the error. The
    golden and predicted value of the first difference are removed if they belong to another
    function or argument.
    """
    is_inside = argument is not None and (item.diff_argument or "").startswith(argument)
    if function != item.diff_function or not is_inside:
        item.diff_golden = item.diff_predicted = None
    item.diff_function, item.diff_argument = function, argument


def find_first_difference(
    pairs: Sequence[CallPair],
    golden: Sequence[Call],
    predicted: Sequence[Call],
    rules: ComparisonRules = EXACT_RULES,
) -> FirstDifference:
    """Find and describe the first difference that is not equal after normalisation: `location
    "Hangzhou, CN" (golden "Hangzhou, China")`, `days 3 (not in golden)`, `get_weather not called`,
    `get_news called (golden get_weather)`.
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
            return _describe_pair_difference(
                pair, golden_call, _find_call(predicted, pair.turn, pair.predicted), rules
            )
    return FirstDifference()


def _find_call(calls: Sequence[Call], turn: int, index: int | None) -> Call | None:
    return next((call for call in calls if call.index == index and call.turn == turn), None)


def _describe_pair_difference(
    pair: CallPair, golden: Call | None, predicted: Call | None, rules: ComparisonRules
) -> FirstDifference:
    difference = next((each for each in pair.diff if each.state != "~"), None)
    if difference is None:
        return FirstDifference(pair.name)
    if not difference.path:
        text = difference.reason
        if golden is not None and predicted is not None and golden.name != predicted.name:
            called = (
                f"{predicted.name} called" if predicted.name else "a call that cannot be decoded"
            )
            text = f"{called} (golden {golden.name})"
        return FirstDifference(pair.name, argument=None, text=text)
    wanted = (golden.arguments if golden else None) or {}
    given = (predicted.arguments if predicted else None) or {}
    name, *keys = split_path(difference.path)
    left, right = (arguments.get(str(name), NO_VALUE) for arguments in (wanted, given))
    left, right = find_values_at(left, right, keys, rules)
    return FirstDifference(
        pair.name,
        argument=difference.path,
        text=f"{difference.path} {_format_difference(difference, left, right)}",
        golden=None if left is NO_VALUE else abbreviate_golden(left, MAX_VALUE_IN_CLUSTER),
        predicted=None if right is NO_VALUE else abbreviate(right, MAX_VALUE_IN_CLUSTER),
    )


def _format_difference(difference: ArgumentDiff, golden: Any, predicted: Any) -> str:
    golden_text = (
        "" if golden is NO_VALUE else f"(golden {abbreviate_golden(golden, MAX_VALUE_IN_LINE)})"
    )
    if difference.state == "-":
        return f"missing {golden_text}".rstrip()
    is_container = isinstance(predicted, (dict, list, tuple))
    if predicted is NO_VALUE or is_container or difference.reason.startswith("length "):
        return difference.reason
    if difference.state == "+":
        return f"{abbreviate(predicted, MAX_VALUE_IN_LINE)} (not in golden)"
    return (
        f"{abbreviate(predicted, MAX_VALUE_IN_LINE)} {golden_text}"
        if golden_text
        else difference.reason
    )

"""Compare a predicted call with a golden call and describe the differences, down to nested values.

Values of different types are not equal, unless `ComparisonRules` states that a benchmark treats
them as equal. Each difference has the path of the innermost value that differs. If a golden answer
accepts several values, the prediction is compared with the closest one. In lists of different
lengths, equal elements at the beginning and at the end are matched first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any

from fcreview.model.item import AcceptedValues, ArgumentDiff, Call, GoldenObject
from fcreview.model.json_value import (
    MAX_DEPTH,
    TOO_DEEP_TEXT,
    abbreviate,
    append_to_path,
    to_json_text,
)

_TYPE_NAMES = {
    str: "string",
    int: "integer",
    float: "float",
    bool: "boolean",
    type(None): "null",
    list: "list",
    tuple: "tuple",
    dict: "object",
    GoldenObject: "object",
}


def get_type_name(value: Any) -> str:
    """Return the name of a value's type as in JSON, or the name of the Python type if JSON has
    no such type.
    """
    return _TYPE_NAMES.get(type(value)) or type(value).__name__


def describe_value_difference(accepted: Sequence[Any], value: Any) -> str:
    """Describe how a value differs from the accepted values: `value differs: 3, golden 5` or `none
    of 2 accepted values`. If only the type, the case, white space or quotation marks differ, the
    text says so.
    """
    none_of = f"none of {len(accepted)} accepted values"
    if get_type_name(value) not in {get_type_name(one) for one in accepted}:
        golden = f"golden {_format_with_type(accepted[0])}" if len(accepted) == 1 else none_of
        return f"type differs: {_format_with_type(value)}, {golden}"
    small = next(
        (found for one in accepted if (found := _describe_small_difference(one, value))), None
    )
    if len(accepted) > 1:
        return none_of + (f": {small}" if small else "")
    return small or f"value differs: {abbreviate(value)}, golden {abbreviate(accepted[0])}"


def _format_with_type(value: Any) -> str:
    return "null" if value is None else f"{get_type_name(value)} {abbreviate(value)}"


def _describe_small_difference(expected: Any, value: Any) -> str | None:
    if not (isinstance(expected, str) and isinstance(value, str)):
        return None
    if expected.casefold() == value.casefold():
        return f"differs only in case from {abbreviate(expected)}"
    if "".join(expected.split()) == "".join(value.split()):
        return f"differs only in white space from {abbreviate(expected)}"
    if to_json_text(value) == expected or value == to_json_text(expected):
        return f"differs only in quotation marks from {abbreviate(expected)}"
    return None


SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True, slots=True)
class ComparisonRules:
    """Rules by which a benchmark treats different values as equal, with the state `~`.

    By default, no rule is set.
    """

    normalise: Callable[[str], str] = str
    int_is_float: bool = False
    """Whether an integer equals a golden float of the same value, outside lists and objects."""
    tuple_is_list: bool = False
    is_same_name: Callable[[str, str], bool] = eq
    """Whether a golden and a predicted name mean the same function.

    The state of such calls is `=`, not `~`.
    """


EXACT_RULES = ComparisonRules()


def is_accepted(golden: AcceptedValues, value: Any, depth: int = 0) -> bool:
    kind = type(value)
    if kind in SCALAR_TYPES:
        for expected in golden.any_of:
            if type(expected) is kind and (
                expected == value or (expected != expected and value != value)
            ):
                return True
        return False
    return any(is_same_value(expected, value, depth) for expected in golden.any_of)


def is_same_value(expected: Any, value: Any, depth: int = 0) -> bool:
    """Whether two values are exactly equal. 1, 1.0 and True are different at every depth, and NaN
    equals NaN. `expected` can contain `GoldenObject`. Values that are nested deeper than
    `json_value.MAX_DEPTH` are different.
    """
    kind = type(value)
    if type(expected) is not kind:
        return (
            kind is dict
            and type(expected) is GoldenObject
            and depth < MAX_DEPTH
            and are_arguments_accepted(expected.fields, value, depth + 1)
        )
    if kind in SCALAR_TYPES:
        return bool(expected == value or (expected != expected and value != value))
    if kind is list or kind is tuple:
        if len(expected) != len(value) or depth >= MAX_DEPTH:
            return False
        return all(
            is_same_value(one, other, depth + 1) for one, other in zip(expected, value, strict=True)
        )
    if kind is dict:
        if len(expected) != len(value) or depth >= MAX_DEPTH:
            return False
        return all(
            key in value and is_same_value(one, value[key], depth + 1)
            for key, one in expected.items()
        )
    return bool(expected == value)  # Values such as bytes and sets are compared as a whole.


def is_equivalent_scalar(expected: Any, value: Any, rules: ComparisonRules) -> bool:
    """Whether a benchmark's rules treat two strings or numbers as equal, although they are not
    exactly equal.
    """
    if isinstance(value, str):
        return isinstance(expected, str) and rules.normalise(value) == rules.normalise(expected)
    return (
        rules.int_is_float and type(expected) is float and type(value) is int and expected == value
    )


def are_arguments_accepted(
    golden: dict[str, AcceptedValues], given: dict[str, Any], depth: int = 0
) -> bool:
    """Whether all values are accepted, only optional arguments are omitted, and no argument is
    unexpected.
    """
    n_accepted = 0
    for name, accepted in golden.items():
        if name in given:
            if not is_accepted(accepted, given[name], depth):
                return False
            n_accepted += 1
        elif not accepted.optional:
            return False
    return n_accepted == len(given)


MAX_DIFFERENCES = 50
MAX_COMPARED_VALUES = 200_000
"""Maximum number of values in a call that are compared.

A difference reports that a larger call is too large.
"""
MAX_COMPARED_CONTAINERS = 50
NORMALISED_WEIGHT = 0.1
"""Weight of a difference with the state `~`. Any other difference has the weight 1."""


def diff_call(
    golden: Call, predicted: Call, rules: ComparisonRules = EXACT_RULES
) -> list[ArgumentDiff]:
    """Return the differences between two calls: first the differences in golden arguments in golden
    order, then the unexpected arguments. A difference of the call as a whole, such as another
    function, has an empty path.
    """
    found: list[ArgumentDiff] = []
    if not is_same_function(golden, predicted, rules):
        found.append(
            ArgumentDiff(
                "", state="!", reason=f"function differs: {predicted.name}, golden {golden.name}"
            )
        )
    if golden.arguments is None or predicted.arguments is None:
        return found + _diff_undecodable_calls(golden, predicted)
    if are_arguments_accepted(golden.arguments, predicted.arguments):
        return found
    budget = ComparisonBudget(rules)
    for name, accepted in golden.arguments.items():
        path = append_to_path("", name)
        if name in predicted.arguments:
            found += _summarize_differences(
                path, diff_accepted_values(accepted, predicted.arguments[name], path, 0, budget)
            )
        elif not accepted.optional:
            found.append(ArgumentDiff(path, state="-", reason="required, but missing"))
    unexpected = (name for name in predicted.arguments if name not in golden.arguments)
    return found + [
        ArgumentDiff(append_to_path("", name), state="+", reason="not in golden")
        for name in unexpected
    ]


def is_same_function(golden: Call, predicted: Call, rules: ComparisonRules) -> bool:
    return golden.name == predicted.name or rules.is_same_name(golden.name, predicted.name)


def sum_difference_weights(differences: Iterable[ArgumentDiff]) -> float:
    """Return the total weight of differences: `NORMALISED_WEIGHT` for the state `~`, 1 for any
    other state.
    """
    return sum(NORMALISED_WEIGHT if difference.state == "~" else 1.0 for difference in differences)


def find_closest_value(
    accepted: AcceptedValues, value: Any, rules: ComparisonRules = EXACT_RULES
) -> Any:
    """Return the accepted value with the smallest differences, or None if there is no accepted
    value.
    """
    for expected in accepted.any_of:
        if is_same_value(expected, value):
            return expected

    def compute_weight(expected: Any) -> float:
        return sum_difference_weights(diff_values(expected, value, "", 0, ComparisonBudget(rules)))

    return min(_select_candidates(accepted, value), key=compute_weight, default=None)


class ComparisonBudget:
    """Rules of a comparison, and the number of further values that it may compare."""

    __slots__ = ("remaining", "rules")

    def __init__(self, rules: ComparisonRules) -> None:
        self.rules = rules
        self.remaining = MAX_COMPARED_VALUES


def diff_accepted_values(
    accepted: AcceptedValues, value: Any, path: str, depth: int, budget: ComparisonBudget
) -> list[ArgumentDiff]:
    """Return the differences from the closest accepted value.

    The list is empty if the value is accepted.
    """
    if is_accepted(accepted, value, depth):
        return []
    if not accepted.any_of:
        return [
            ArgumentDiff(path, state="!", reason="must be omitted, because no value is accepted")
        ]
    compared = [
        diff_values(expected, value, path, depth, budget)
        for expected in _select_candidates(accepted, value)
    ]
    best = min(compared, key=sum_difference_weights)
    if len(accepted.any_of) == 1 or all(difference.state == "~" for difference in best):
        return best
    if len(best) == 1 and best[0].path == path:
        return [
            ArgumentDiff(path, state="!", reason=describe_value_difference(accepted.any_of, value))
        ]
    reason = f"{best[0].reason} (closest of {len(accepted.any_of)} accepted values)"
    return [ArgumentDiff(best[0].path, state=best[0].state, reason=reason), *best[1:]]


def diff_values(
    expected: Any, value: Any, path: str, depth: int, budget: ComparisonBudget
) -> list[ArgumentDiff]:
    """Return the differences between a value and one golden value, which may contain
    `GoldenObject`.
    """
    budget.remaining -= 1
    if budget.remaining < 0:
        return [ArgumentDiff(path, state="!", reason="too large to compare in full")]
    golden_kind, kind = get_type_name(expected), get_type_name(value)
    tuple_as_list = budget.rules.tuple_is_list and (golden_kind, kind) == ("list", "tuple")
    if (golden_kind != kind and not tuple_as_list) or kind not in ("object", "list", "tuple"):
        return _diff_scalars(expected, value, path, depth, budget.rules)
    if depth >= MAX_DEPTH:
        return (
            []
            if expected is value
            else [ArgumentDiff(path, state="!", reason=f"not compared: {TOO_DEEP_TEXT[2:]}")]
        )
    if kind == "object":
        fields = expected.fields if isinstance(expected, GoldenObject) else expected
        return _diff_objects(fields, value, path, depth, budget)
    differences = _diff_lists(expected, value, path, depth, budget)
    return (
        [ArgumentDiff(path, state="~", reason="tuple accepted as list"), *differences]
        if tuple_as_list
        else differences
    )


def _select_candidates(accepted: AcceptedValues, value: Any) -> list[Any]:
    """Return the accepted values to compare; for an object or list, at most
    `MAX_COMPARED_CONTAINERS` of its type.
    """
    kind = get_type_name(value)
    if kind not in ("object", "list", "tuple"):
        return accepted.any_of
    same_type = [
        one
        for one in accepted.any_of
        if get_type_name(one) == kind or (get_type_name(one), kind) == ("list", "tuple")
    ]
    return (same_type or accepted.any_of)[:MAX_COMPARED_CONTAINERS]


def _diff_scalars(
    expected: Any, value: Any, path: str, depth: int, rules: ComparisonRules
) -> list[ArgumentDiff]:
    if is_same_value(expected, value):
        return []
    if isinstance(expected, str) and isinstance(value, str):
        normalised = rules.normalise(value)
        if normalised == rules.normalise(expected):
            return [
                ArgumentDiff(
                    path, state="~", reason=f"equal after normalisation: {abbreviate(normalised)}"
                )
            ]
    if (
        depth == 0
        and rules.int_is_float
        and type(expected) is float
        and type(value) is int
        and expected == value
    ):
        reason = f"integer {abbreviate(value)} accepted as float {abbreviate(expected)}"
        return [ArgumentDiff(path, state="~", reason=reason)]
    return [ArgumentDiff(path, state="!", reason=describe_value_difference([expected], value))]


def _diff_objects(
    fields: Mapping[str, Any],
    value: dict[str, Any],
    path: str,
    depth: int,
    budget: ComparisonBudget,
) -> list[ArgumentDiff]:
    found: list[ArgumentDiff] = []
    for name, expected in fields.items():
        field_path = append_to_path(path, name)
        if name not in value:
            if not isinstance(expected, AcceptedValues):
                found.append(ArgumentDiff(field_path, state="-", reason="missing"))
            elif not expected.optional:
                found.append(ArgumentDiff(field_path, state="-", reason="required, but missing"))
        elif isinstance(expected, AcceptedValues):
            found += diff_accepted_values(expected, value[name], field_path, depth + 1, budget)
        else:
            found += diff_values(expected, value[name], field_path, depth + 1, budget)
        if budget.remaining < 0:
            return found
    return found + [
        ArgumentDiff(append_to_path(path, name), state="+", reason="not in golden")
        for name in value
        if name not in fields
    ]


def _diff_lists(
    expected: Any, value: Any, path: str, depth: int, budget: ComparisonBudget
) -> list[ArgumentDiff]:
    found: list[ArgumentDiff] = []
    start, golden_end, end = 0, len(expected), len(value)
    if golden_end != end:
        found.append(ArgumentDiff(path, state="!", reason=f"length {end}, golden {golden_end}"))
        shorter = min(golden_end, end)
        while start < shorter and is_same_value(expected[start], value[start], depth + 1):
            start += 1
        while min(golden_end, end) > start and is_same_value(
            expected[golden_end - 1], value[end - 1], depth + 1
        ):
            golden_end, end = golden_end - 1, end - 1
    common_end = min(golden_end, end)
    for index in range(start, common_end):
        found += diff_values(
            expected[index], value[index], append_to_path(path, index), depth + 1, budget
        )
        if budget.remaining < 0:
            return found
    found += [
        ArgumentDiff(append_to_path(path, index), state="-", reason="missing")
        for index in range(common_end, golden_end)
    ]
    return found + [
        ArgumentDiff(append_to_path(path, index), state="+", reason="not in golden")
        for index in range(common_end, end)
    ]


def _summarize_differences(path: str, differences: list[ArgumentDiff]) -> list[ArgumentDiff]:
    """Limit the differences in the argument at `path` to `MAX_DIFFERENCES`, and add their
    number.
    """
    if len(differences) <= MAX_DIFFERENCES:
        return differences
    own = [difference for difference in differences[:1] if difference.path == path]
    inner = [difference for difference in differences if difference.path != path][:MAX_DIFFERENCES]
    reason = f"{own[0].reason}; " if own else ""
    reason += (
        f"{len(differences) - len(own):,} nested values differ, the first {MAX_DIFFERENCES} are"
        " listed"
    )
    return [ArgumentDiff(path, state="!", reason=reason), *inner]


def _diff_undecodable_calls(golden: Call, predicted: Call) -> list[ArgumentDiff]:
    if predicted.arguments is not None:
        reason = (
            f"golden call cannot be decoded: {golden.decode_error or abbreviate(golden.raw or '')}"
        )
        return [ArgumentDiff("", state="!", reason=reason)]
    if golden.arguments is None and golden.raw is not None and golden.raw == predicted.raw:
        return []
    return [
        ArgumentDiff(
            "", state="!", reason=predicted.decode_error or "cannot be decoded into a call"
        )
    ]

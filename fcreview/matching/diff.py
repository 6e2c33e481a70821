"""Compare a predicted call with a golden call and describe the differences, down to nested values.

Values of different types are not equal, unless `ComparisonRules` states that a benchmark treats
them as equal. Each difference has the path of the innermost value that differs. If a golden answer
accepts several values, the prediction is compared with the closest one. In lists of different
lengths, equal elements at the beginning and at the end are matched first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any

from fcreview.model.item import AcceptedValues, ArgumentDiff, Call, DiffState, GoldenObject
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
    """Describe how a value differs from the accepted values, such as `value differs: 3, golden 5`.

    If only the type, the case, white space or quotation marks differ, the text says so.
    """
    accepted_types = {get_type_name(expected) for expected in accepted}
    has_other_type = get_type_name(value) not in accepted_types
    if len(accepted) == 1:
        return _describe_difference_from_one(accepted[0], value, has_other_type=has_other_type)

    none_of = f"none of {len(accepted)} accepted values"
    if has_other_type:
        return f"type differs: {_format_with_type(value)}, {none_of}"
    small_difference = _find_small_difference(accepted, value)
    return f"{none_of}: {small_difference}" if small_difference else none_of


def _describe_difference_from_one(golden: Any, value: Any, *, has_other_type: bool) -> str:
    """Describe how a value differs from the only accepted value."""
    if has_other_type:
        return f"type differs: {_format_with_type(value)}, golden {_format_with_type(golden)}"
    small_difference = _find_small_difference([golden], value)
    if small_difference:
        return small_difference
    return f"value differs: {abbreviate(value)}, golden {abbreviate(golden)}"


def _find_small_difference(accepted: Sequence[Any], value: Any) -> str | None:
    for expected in accepted:
        description = _describe_small_difference(expected, value)
        if description is not None:
            return description
    return None


def _format_with_type(value: Any) -> str:
    return "null" if value is None else f"{get_type_name(value)} {abbreviate(value)}"


def _describe_small_difference(expected: Any, value: Any) -> str | None:
    """Describe a difference between two texts in case, white space or quotation marks only, or
    return None.
    """
    if not isinstance(expected, str) or not isinstance(value, str):
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
    """Whether a value equals one of the accepted values."""
    kind = type(value)
    # The usual case, without the calls of `is_same_value`.
    if kind in SCALAR_TYPES:
        return any(
            type(expected) is kind and _are_equal_scalars(expected, value)
            for expected in golden.any_of
        )
    return any(is_same_value(expected, value, depth) for expected in golden.any_of)


def is_same_value(expected: Any, value: Any, depth: int = 0) -> bool:
    """Whether two values are exactly equal. 1, 1.0 and True are different at every depth, and NaN
    equals NaN. `expected` can contain `GoldenObject`. Values that are nested deeper than
    `json_value.MAX_DEPTH` are different.
    """
    kind = type(value)
    if type(expected) is GoldenObject and kind is dict:
        return depth < MAX_DEPTH and are_arguments_accepted(expected.fields, value, depth + 1)
    if type(expected) is not kind:
        return False
    if kind in SCALAR_TYPES:
        return _are_equal_scalars(expected, value)
    if kind is list or kind is tuple:
        return _are_equal_lists(expected, value, depth)
    if kind is dict:
        return _are_equal_objects(expected, value, depth)
    # Values such as bytes and sets are compared as a whole.
    return bool(expected == value)


def _are_equal_scalars(expected: Any, value: Any) -> bool:
    """Compare two values of the same type. NaN is the only value that differs from itself."""
    if expected == value:
        return True
    return bool(expected != expected and value != value)


def _are_equal_lists(expected: Sequence[Any], value: Sequence[Any], depth: int) -> bool:
    """Whether two lists have the same values in the same order. Lists that are too deep differ."""
    if len(expected) != len(value) or depth >= MAX_DEPTH:
        return False
    return all(
        is_same_value(expected_element, element, depth + 1)
        for expected_element, element in zip(expected, value, strict=True)
    )


def _are_equal_objects(expected: dict[Any, Any], value: dict[Any, Any], depth: int) -> bool:
    """Whether two objects have the same keys and equal values. Deeply nested objects count as
    different.
    """
    if len(expected) != len(value) or depth >= MAX_DEPTH:
        return False
    return all(
        key in value and is_same_value(expected_field, value[key], depth + 1)
        for key, expected_field in expected.items()
    )


def is_equivalent_scalar(expected: Any, value: Any, rules: ComparisonRules) -> bool:
    """Whether a benchmark's rules treat two strings or numbers as equal, although they are not
    exactly equal.
    """
    if isinstance(value, str):
        return isinstance(expected, str) and rules.normalise(value) == rules.normalise(expected)
    return rules.int_is_float and _is_integer_of_float(expected, value)


def _is_integer_of_float(expected: Any, value: Any) -> bool:
    return type(expected) is float and type(value) is int and expected == value


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
    differences: list[ArgumentDiff] = []
    if not is_same_function(golden, predicted, rules):
        reason = f"function differs: {predicted.name}, golden {golden.name}"
        differences.append(ArgumentDiff("", state="!", reason=reason))

    if golden.arguments is None or predicted.arguments is None:
        differences.extend(_diff_undecodable_calls(golden, predicted))
    elif not are_arguments_accepted(golden.arguments, predicted.arguments):
        differences.extend(_diff_arguments(golden.arguments, predicted.arguments, rules))
    return differences


def _diff_arguments(
    golden: dict[str, AcceptedValues], predicted: dict[str, Any], rules: ComparisonRules
) -> Iterator[ArgumentDiff]:
    """Yield the differences between the golden and the predicted arguments of a call.

    First come arguments that differ or are missing, in the order of the golden call, then arguments
    that the golden call does not have.
    """
    budget = ComparisonBudget(rules)
    for name, accepted in golden.items():
        path = append_to_path("", name)
        if name in predicted:
            differences = diff_accepted_values(
                accepted, predicted[name], path, depth=0, budget=budget
            )
            yield from _summarize_differences(path, differences)
        elif not accepted.optional:
            yield ArgumentDiff(path, state="-", reason="required, but missing")
    for name in predicted:
        if name not in golden:
            yield ArgumentDiff(append_to_path("", name), state="+", reason="not in golden")


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
    """Return the accepted value that is most similar to `value`.

    Returns None if there is no accepted value.
    """
    for expected in accepted.any_of:
        if is_same_value(expected, value):
            return expected

    def compute_weight(expected: Any) -> float:
        """Return how different an accepted value is."""
        budget = ComparisonBudget(rules)
        return sum_difference_weights(diff_values(expected, value, path="", depth=0, budget=budget))

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
    """Compare a value with the accepted values of a golden argument or field, and return its
    differences from the closest one.

    The list is empty if the value is accepted.

    Args:
        accepted: The accepted values.
        value: The predicted value.
        path: Where the value is, for example `filter.cities[0]`.
        depth: How deep the value is nested in its argument.
        budget: The rules, and how many more values may be compared.
    """
    if is_accepted(accepted, value, depth):
        return []
    if not accepted.any_of:
        reason = "must be omitted, because no value is accepted"
        return [ArgumentDiff(path, state="!", reason=reason)]

    candidates = _select_candidates(accepted, value)
    compared = [diff_values(expected, value, path, depth, budget) for expected in candidates]
    closest = min(compared, key=sum_difference_weights)
    # The state `~` means that a difference does not matter by the rules.
    is_equivalent = all(difference.state == "~" for difference in closest)
    if len(accepted.any_of) == 1 or is_equivalent:
        return closest

    differs_as_whole = len(closest) == 1 and closest[0].path == path
    if differs_as_whole:
        reason = describe_value_difference(accepted.any_of, value)
        return [ArgumentDiff(path, state="!", reason=reason)]
    return _name_choice_in_first_reason(closest, len(accepted.any_of))


def _name_choice_in_first_reason(
    closest: Sequence[ArgumentDiff], n_accepted: int
) -> list[ArgumentDiff]:
    """Return the differences, the first of which says that there are other accepted values."""
    first, *others = closest
    reason = f"{first.reason} (closest of {n_accepted} accepted values)"
    return [ArgumentDiff(first.path, state=first.state, reason=reason), *others]


def diff_values(
    expected: Any, value: Any, path: str, depth: int, budget: ComparisonBudget
) -> list[ArgumentDiff]:
    """Compare a value with one golden value, and return their differences, also inside objects and
    lists.

    Args:
        expected: The golden value. It may contain `GoldenObject`: an object whose fields have
            several accepted values.
        value: The predicted value.
        path: Where the value is, for example `filter.cities[0]`.
        depth: How deep the value is nested in its argument.
        budget: The rules, and how many more values may be compared.
    """
    budget.remaining -= 1
    if budget.remaining < 0:
        return [ArgumentDiff(path, state="!", reason="too large to compare in full")]

    golden_kind = get_type_name(expected)
    kind = get_type_name(value)
    # Some benchmarks accept a tuple for a golden list, but not the reverse.
    is_tuple_for_list = golden_kind == "list" and kind == "tuple" and budget.rules.tuple_is_list
    has_same_kind = golden_kind == kind or is_tuple_for_list
    is_container = kind in ("object", "list", "tuple")
    if not (is_container and has_same_kind):
        return _diff_scalars(expected, value, path, depth, budget.rules)
    if depth >= MAX_DEPTH:
        return _diff_too_deep_values(expected, value, path)
    if kind == "object":
        fields = expected.fields if isinstance(expected, GoldenObject) else expected
        return _diff_objects(fields, value, path, depth, budget)

    differences = _diff_lists(expected, value, path, depth, budget)
    if is_tuple_for_list:
        differences.insert(0, ArgumentDiff(path, state="~", reason="tuple accepted as list"))
    return differences


def _diff_too_deep_values(expected: Any, value: Any, path: str) -> list[ArgumentDiff]:
    """Return that two objects or lists are not compared. Only the same object cannot differ from
    itself.
    """
    if expected is value:
        return []
    # The text stands for a value elsewhere, and begins with an ellipsis there.
    too_deep = TOO_DEEP_TEXT.removeprefix("… ")
    return [ArgumentDiff(path, state="!", reason=f"not compared: {too_deep}")]


def _select_candidates(accepted: AcceptedValues, value: Any) -> list[Any]:
    """Return the accepted values to compare; for an object or list, at most
    `MAX_COMPARED_CONTAINERS` of its type.
    """
    kind = get_type_name(value)
    if kind not in ("object", "list", "tuple"):
        return accepted.any_of

    # Some benchmarks accept a tuple for a list.
    kinds = ("list", "tuple") if kind == "tuple" else (kind,)
    same_type = [expected for expected in accepted.any_of if get_type_name(expected) in kinds]
    return (same_type or accepted.any_of)[:MAX_COMPARED_CONTAINERS]


def _diff_scalars(
    expected: Any, value: Any, path: str, depth: int, rules: ComparisonRules
) -> list[ArgumentDiff]:
    """Compare a value that is no list or object with the golden value, or two values of different
    types.

    Returns at most one difference. Its state is `~` if the rules of the benchmark accept the value:
    it is equal after normalisation, or is an integer instead of a float.
    """
    if is_same_value(expected, value):
        return []
    if isinstance(expected, str) and isinstance(value, str):
        normalised = rules.normalise(value)
        if normalised == rules.normalise(expected):
            reason = f"equal after normalisation: {abbreviate(normalised)}"
            return [ArgumentDiff(path, state="~", reason=reason)]

    # Only arguments themselves may be integers instead of floats, and no values inside them.
    is_argument = depth == 0
    if is_argument and rules.int_is_float and _is_integer_of_float(expected, value):
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
    """Compare an object with a golden object: first the golden fields in order, then additional
    fields.

    A golden field has one value or, in a `GoldenObject`, several accepted values. The comparison
    ends early if the budget of compared values is used up.
    """
    differences: list[ArgumentDiff] = []
    for name, expected in fields.items():
        field_path = append_to_path(path, name)
        if name not in value:
            differences += _diff_missing_field(expected, field_path)
        elif isinstance(expected, AcceptedValues):
            differences += diff_accepted_values(
                expected, value[name], field_path, depth + 1, budget
            )
        else:
            differences += diff_values(expected, value[name], field_path, depth + 1, budget)
        if budget.remaining < 0:
            return differences

    for name in value:
        if name not in fields:
            field_path = append_to_path(path, name)
            differences.append(ArgumentDiff(field_path, state="+", reason="not in golden"))
    return differences


def _diff_missing_field(expected: Any, path: str) -> Iterator[ArgumentDiff]:
    if not isinstance(expected, AcceptedValues):
        yield ArgumentDiff(path, state="-", reason="missing")
    elif not expected.optional:
        yield ArgumentDiff(path, state="-", reason="required, but missing")


def _diff_lists(
    expected: Sequence[Any], value: Sequence[Any], path: str, depth: int, budget: ComparisonBudget
) -> list[ArgumentDiff]:
    """Compare the elements of a list with those of a golden list at equal positions.

    If the lengths differ, equal elements at the beginning and at the end are left out first, so
    that one inserted element does not make all later elements different. What then remains on only
    one side is missing or unexpected.
    """
    differences: list[ArgumentDiff] = []
    ends = _EqualEnds(at_start=0, at_end=0)
    if len(expected) != len(value):
        reason = f"length {len(value)}, golden {len(expected)}"
        differences.append(ArgumentDiff(path, state="!", reason=reason))
        ends = _find_equal_ends(expected, value, depth)

    golden_stop = len(expected) - ends.at_end
    stop = len(value) - ends.at_end
    common_stop = min(golden_stop, stop)
    for index in range(ends.at_start, common_stop):
        element_path = append_to_path(path, index)
        differences.extend(
            diff_values(expected[index], value[index], element_path, depth + 1, budget)
        )
        if budget.remaining < 0:
            return differences

    # One of these ranges is empty.
    differences += _report_elements(path, range(common_stop, golden_stop), "-", "missing")
    differences += _report_elements(path, range(common_stop, stop), "+", "not in golden")
    return differences


@dataclass(frozen=True, slots=True)
class _EqualEnds:
    """Numbers of elements that are equal at the beginning and at the end of two lists."""

    at_start: int
    at_end: int


def _find_equal_ends(expected: Sequence[Any], value: Sequence[Any], depth: int) -> _EqualEnds:
    at_start = _count_equal_elements(expected, value, depth)
    # An element that is already counted at the beginning does not count again at the end.
    golden_from_end = expected[at_start:][::-1]
    value_from_end = value[at_start:][::-1]
    return _EqualEnds(at_start, _count_equal_elements(golden_from_end, value_from_end, depth))


def _report_elements(
    path: str, indexes: Iterable[int], state: DiffState, reason: str
) -> Iterator[ArgumentDiff]:
    """Yield the elements that only one of two lists has."""
    for index in indexes:
        yield ArgumentDiff(append_to_path(path, index), state=state, reason=reason)


def _count_equal_elements(expected: Sequence[Any], value: Sequence[Any], depth: int) -> int:
    """Count the elements at the beginning of two lists that are equal."""
    n_equal = 0
    for expected_element, element in zip(expected, value, strict=False):
        if not is_same_value(expected_element, element, depth + 1):
            break
        n_equal += 1
    return n_equal


def _summarize_differences(path: str, differences: list[ArgumentDiff]) -> list[ArgumentDiff]:
    """Limit the differences in the argument at `path` to `MAX_DIFFERENCES`, and add their
    number.
    """
    if len(differences) <= MAX_DIFFERENCES:
        return differences

    has_own_difference = differences[0].path == path
    n_nested = len(differences) - int(has_own_difference)
    reason = f"{n_nested:,} nested values differ, the first {MAX_DIFFERENCES} are listed"
    if has_own_difference:
        reason = f"{differences[0].reason}; {reason}"
    inner = [difference for difference in differences if difference.path != path]
    return [ArgumentDiff(path, state="!", reason=reason), *inner[:MAX_DIFFERENCES]]


def _diff_undecodable_calls(golden: Call, predicted: Call) -> list[ArgumentDiff]:
    """Compare two calls of which at least one could not be decoded, so that only their texts can be
    compared.
    """
    if predicted.arguments is not None:
        cause = golden.decode_error or abbreviate(golden.raw or "")
        return [ArgumentDiff("", state="!", reason=f"golden call cannot be decoded: {cause}")]

    is_equal_text = golden.raw is not None and golden.raw == predicted.raw
    if golden.arguments is None and is_equal_text:
        return []
    reason = predicted.decode_error or "cannot be decoded into a call"
    return [ArgumentDiff("", state="!", reason=reason)]

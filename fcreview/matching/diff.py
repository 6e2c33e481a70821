"""Argument by argument, down to the places inside: what a predicted call has otherwise than the golden one, and why.

A place is listed with the innermost path at which the two part. Of several accepted values the one closest to the
prediction explains the difference. Lists of different length are laid against each other at both ends.

One-line reasons why a predicted value is not an accepted one.

What a benchmark takes for equal beyond what is equal, and equality itself, which is exact about types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any

from fcreview.model.item import AcceptedValues, ArgumentDiff, Call, GoldenObject
from fcreview.model.json_value import MAX_DEPTH, TOO_DEEP_TEXT, abbreviate, child_path, to_json_text

_WORDS = {
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


def type_name(value: Any) -> str:
    """JSON's word for the type of a value; Python's for other literals."""
    return _WORDS.get(type(value)) or type(value).__name__


def describe_type_difference(accepted: Sequence[Any], value: Any) -> str:
    """`type differs: string "5", golden integer 5`."""
    golden = f"golden {_typed(accepted[0])}" if len(accepted) == 1 else f"none of {len(accepted)} accepted values"
    return f"type differs: {_typed(value)}, {golden}"


def describe_value_difference(accepted: Sequence[Any], value: Any) -> str:
    """`value differs: 3, golden 5`, `none of 2 accepted values`; says so if only case, blanks or the type differ."""
    if type_name(value) not in {type_name(one) for one in accepted}:
        return describe_type_difference(accepted, value)
    if len(accepted) > 1:
        near = next((found for one in accepted if (found := _near(one, value))), None)
        return f"none of {len(accepted)} accepted values" + (f": {near}" if near else "")
    return _near(accepted[0], value) or f"value differs: {abbreviate(value)}, golden {abbreviate(accepted[0])}"


def too_many(places: int, listed: int) -> str:
    return f"{places:,} places inside differ, the first {listed} are listed"


def _typed(value: Any) -> str:
    return "null" if value is None else f"{type_name(value)} {abbreviate(value)}"


def _near(expected: Any, value: Any) -> str | None:
    if not (isinstance(expected, str) and isinstance(value, str)):
        return None
    if expected.casefold() == value.casefold():
        return f"only upper and lower case differ from {abbreviate(expected)}"
    if "".join(expected.split()) == "".join(value.split()):
        return f"only blanks differ from {abbreviate(expected)}"
    if to_json_text(value) == expected or value == to_json_text(expected):
        return f"only quotation marks differ from {abbreviate(expected)}"
    return None


SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})


def _unchanged(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class ComparisonRules:
    """A benchmark's leniency. What is equal only by it has the state `~`; the defaults allow nothing."""

    normalise: Callable[[str], str] = _unchanged
    """Strings with the same normalised text are equal."""
    int_is_float: bool = False
    """An integer is taken where the golden answer has a float of the same value; not inside lists and objects."""
    tuple_is_list: bool = False
    """A tuple is taken where the golden answer has a list."""
    is_same_name: Callable[[str, str], bool] = eq
    """Whether a golden and a predicted function name mean the same function. Leaves the state at `=`."""


EXACT_RULES = ComparisonRules()


def is_accepted(golden: AcceptedValues, value: Any, depth: int = 0) -> bool:
    """Whether one of the accepted values is exactly this value."""
    kind = type(value)
    if kind in SCALAR_TYPES:
        for expected in golden.any_of:
            if type(expected) is kind and (expected == value or (expected != expected and value != value)):
                return True
        return False
    return any(is_same_value(expected, value, depth) for expected in golden.any_of)


def is_same_value(expected: Any, value: Any, depth: int = 0) -> bool:
    """Equality that tells 1, 1.0 and True apart at every depth; NaN is the same as NaN. `expected` may hold `Fields`.

    What is nested deeper than `values.MAX_DEPTH` counts as different.
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
        return all(is_same_value(one, other, depth + 1) for one, other in zip(expected, value, strict=True))
    if kind is dict:
        if len(expected) != len(value) or depth >= MAX_DEPTH:
            return False
        return all(key in value and is_same_value(one, value[key], depth + 1) for key, one in expected.items())
    return bool(expected == value)  # bytes, sets and other literals


def is_equivalent_scalar(expected: Any, value: Any, rules: ComparisonRules) -> bool:
    """Whether a text or number that is not the same is equal by the benchmark's rules."""
    if isinstance(value, str):
        return isinstance(expected, str) and rules.normalise(value) == rules.normalise(expected)
    return rules.int_is_float and type(expected) is float and type(value) is int and expected == value


def are_arguments_accepted(golden: dict[str, AcceptedValues], given: dict[str, Any], depth: int = 0) -> bool:
    """Whether every argument is accepted exactly, those left out are optional, and there are no others."""
    found = 0
    for name, accept in golden.items():
        if name in given:
            if not is_accepted(accept, given[name], depth):
                return False
            found += 1
        elif not accept.optional:
            return False
    return found == len(given)


MAX_DIFFERENCES = 50
"""Places listed inside one argument."""
MAX_COMPARED_VALUES = 200_000
"""Values looked at in one call; what is beyond is reported as not compared."""
MAX_CONTAINERS = 50
"""Accepted objects or lists among which the closest is looked for."""
NORMALISED_WEIGHT = 0.1
"""How far off what is equal after normalisation is; any other place is one."""


def diff_call(golden: Call, predicted: Call, rules: ComparisonRules = EXACT_RULES) -> list[ArgumentDiff]:
    """What is not `=`, in golden order, then the arguments that are not in golden. Path "" is the call as a whole."""
    found: list[ArgumentDiff] = []
    if not is_same_function(golden, predicted, rules):
        found.append(ArgumentDiff("", "!", f"function differs: {predicted.name}, golden {golden.name}"))
    if golden.arguments is None or predicted.arguments is None:
        return found + _undecodable(golden, predicted)
    if are_arguments_accepted(golden.arguments, predicted.arguments):
        return found
    work = ComparisonBudget(rules)
    for name, accept in golden.arguments.items():
        path = child_path("", name)
        if name in predicted.arguments:
            found += _bounded(path, diff_accepted_values(accept, predicted.arguments[name], path, 0, work))
        elif not accept.optional:
            found.append(ArgumentDiff(path, "-", "missing, and not optional"))
    extra = (name for name in predicted.arguments if name not in golden.arguments)
    return found + [ArgumentDiff(child_path("", name), "+", "not in golden") for name in extra]


def is_same_function(golden: Call, predicted: Call, rules: ComparisonRules) -> bool:
    return golden.name == predicted.name or rules.is_same_name(golden.name, predicted.name)


def difference_weight(places: Iterable[ArgumentDiff]) -> float:
    """How far off: a tenth for what is equal after normalisation, one for every other place."""
    return sum(NORMALISED_WEIGHT if place.state == "~" else 1.0 for place in places)


def find_closest_value(accept: AcceptedValues, value: Any, rules: ComparisonRules = EXACT_RULES) -> Any:
    """The accepted value that explains `value` best; None if nothing is accepted."""
    for expected in accept.any_of:
        if is_same_value(expected, value):
            return expected
    tried = [(expected, diff_values(expected, value, "", 0, ComparisonBudget(rules))) for expected in _candidates(accept, value)]
    return min(tried, key=lambda one: difference_weight(one[1]))[0] if tried else None


class ComparisonBudget:
    """The rules, and how many more values may be looked at."""

    __slots__ = ("remaining", "rules")

    def __init__(self, rules: ComparisonRules) -> None:
        self.rules = rules
        self.remaining = MAX_COMPARED_VALUES


def diff_accepted_values(accept: AcceptedValues, value: Any, path: str, depth: int, work: ComparisonBudget) -> list[ArgumentDiff]:
    """Nothing if accepted, else what the closest accepted value has otherwise."""
    if is_accepted(accept, value, depth):
        return []
    if not accept.any_of:
        return [ArgumentDiff(path, "!", "golden accepts no value, only leaving it out")]
    tried = [diff_values(expected, value, path, depth, work) for expected in _candidates(accept, value)]
    best = min(tried, key=difference_weight)
    if len(accept.any_of) == 1 or all(place.state == "~" for place in best):
        return best
    if len(best) == 1 and best[0].path == path:
        return [ArgumentDiff(path, "!", describe_value_difference(accept.any_of, value))]
    note = f"{best[0].reason} (closest of {len(accept.any_of)} accepted values)"
    return [ArgumentDiff(best[0].path, best[0].state, note), *best[1:]]


def diff_values(expected: Any, value: Any, path: str, depth: int, work: ComparisonBudget) -> list[ArgumentDiff]:
    """What `value` has otherwise than one golden value, which may hold `Fields`."""
    work.remaining -= 1
    if work.remaining < 0:
        return [ArgumentDiff(path, "!", "too large to compare in full")]
    golden_kind, kind = type_name(expected), type_name(value)
    lenient = work.rules.tuple_is_list and (golden_kind, kind) == ("list", "tuple")
    if (golden_kind != kind and not lenient) or kind not in ("object", "list", "tuple"):
        return _explain_scalar(expected, value, path, depth, work.rules)
    if depth >= MAX_DEPTH:
        return [] if expected is value else [ArgumentDiff(path, "!", f"not compared: {TOO_DEEP_TEXT[2:]}")]
    if kind == "object":
        fields = expected.fields if isinstance(expected, GoldenObject) else expected
        return _explain_object(fields, value, path, depth, work)
    places = _explain_list(expected, value, path, depth, work)
    return [ArgumentDiff(path, "~", "tuple taken as list"), *places] if lenient else places


def _candidates(accept: AcceptedValues, value: Any) -> list[Any]:
    kind = type_name(value)
    if kind not in ("object", "list", "tuple"):
        return accept.any_of
    alike = [one for one in accept.any_of if type_name(one) == kind or (type_name(one), kind) == ("list", "tuple")]
    return (alike or accept.any_of)[:MAX_CONTAINERS]


def _explain_scalar(expected: Any, value: Any, path: str, depth: int, rules: ComparisonRules) -> list[ArgumentDiff]:
    if is_same_value(expected, value):
        return []
    if isinstance(expected, str) and isinstance(value, str):
        normalised = rules.normalise(value)
        if normalised == rules.normalise(expected):
            return [ArgumentDiff(path, "~", f"equal after normalisation: {abbreviate(normalised)}")]
    if depth == 0 and rules.int_is_float and type(expected) is float and type(value) is int and expected == value:
        return [ArgumentDiff(path, "~", f"integer {abbreviate(value)} taken as float {abbreviate(expected)}")]
    if type_name(expected) != type_name(value):
        return [ArgumentDiff(path, "!", describe_type_difference([expected], value))]
    return [ArgumentDiff(path, "!", describe_value_difference([expected], value))]


def _explain_object(
    fields: Mapping[str, Any], value: dict[str, Any], path: str, depth: int, work: ComparisonBudget
) -> list[ArgumentDiff]:
    found: list[ArgumentDiff] = []
    for name, expected in fields.items():
        place = child_path(path, name)
        if name not in value:
            if not isinstance(expected, AcceptedValues):
                found.append(ArgumentDiff(place, "-", "missing"))
            elif not expected.optional:
                found.append(ArgumentDiff(place, "-", "missing, and not optional"))
        elif isinstance(expected, AcceptedValues):
            found += diff_accepted_values(expected, value[name], place, depth + 1, work)
        else:
            found += diff_values(expected, value[name], place, depth + 1, work)
        if work.remaining < 0:
            return found
    return found + [ArgumentDiff(child_path(path, name), "+", "not in golden") for name in value if name not in fields]


def _explain_list(expected: Any, value: Any, path: str, depth: int, work: ComparisonBudget) -> list[ArgumentDiff]:
    found: list[ArgumentDiff] = []
    start, golden_end, end = 0, len(expected), len(value)
    if golden_end != end:
        found.append(ArgumentDiff(path, "!", f"length {end}, golden {golden_end}"))
        shorter = min(golden_end, end)
        while start < shorter and is_same_value(expected[start], value[start], depth + 1):
            start += 1
        while min(golden_end, end) > start and is_same_value(expected[golden_end - 1], value[end - 1], depth + 1):
            golden_end, end = golden_end - 1, end - 1
    both = min(golden_end, end)
    for index in range(start, both):
        found += diff_values(expected[index], value[index], child_path(path, index), depth + 1, work)
        if work.remaining < 0:
            return found
    found += [ArgumentDiff(child_path(path, index), "-", "missing") for index in range(both, golden_end)]
    return found + [ArgumentDiff(child_path(path, index), "+", "not in golden") for index in range(both, end)]


def _bounded(path: str, places: list[ArgumentDiff]) -> list[ArgumentDiff]:
    if len(places) <= MAX_DIFFERENCES:
        return places
    own = [place for place in places[:1] if place.path == path]
    inner = [place for place in places if place.path != path][:MAX_DIFFERENCES]
    reason = f"{own[0].reason}; " if own else ""
    return [ArgumentDiff(path, "!", reason + too_many(len(places) - len(own), MAX_DIFFERENCES)), *inner]


def _undecodable(golden: Call, predicted: Call) -> list[ArgumentDiff]:
    if predicted.arguments is not None:
        return [ArgumentDiff("", "!", f"golden call cannot be read: {golden.decode_error or abbreviate(golden.raw or '')}")]
    if golden.arguments is None and golden.raw is not None and golden.raw == predicted.raw:
        return []
    return [ArgumentDiff("", "!", predicted.decode_error or "cannot be decoded into a call")]

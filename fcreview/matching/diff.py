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

from fcreview.model.item import Accept, ArgumentDiff, Call, Fields
from fcreview.model.json_value import MAX_DEPTH, TOO_DEEP, brief, child, to_json_text

_WORDS = {
    str: "string",
    int: "integer",
    float: "float",
    bool: "boolean",
    type(None): "null",
    list: "list",
    tuple: "tuple",
    dict: "object",
    Fields: "object",
}


def word(value: Any) -> str:
    """JSON's word for the type of a value; Python's for other literals."""
    return _WORDS.get(type(value)) or type(value).__name__


def type_differs(accepted: Sequence[Any], value: Any) -> str:
    """`type differs: string "5", golden integer 5`."""
    golden = f"golden {_typed(accepted[0])}" if len(accepted) == 1 else f"none of {len(accepted)} accepted values"
    return f"type differs: {_typed(value)}, {golden}"


def value_differs(accepted: Sequence[Any], value: Any) -> str:
    """`value differs: 3, golden 5`, `none of 2 accepted values`; says so if only case, blanks or the type differ."""
    if word(value) not in {word(one) for one in accepted}:
        return type_differs(accepted, value)
    if len(accepted) > 1:
        near = next((found for one in accepted if (found := _near(one, value))), None)
        return f"none of {len(accepted)} accepted values" + (f": {near}" if near else "")
    return _near(accepted[0], value) or f"value differs: {brief(value)}, golden {brief(accepted[0])}"


def too_many(places: int, listed: int) -> str:
    return f"{places:,} places inside differ, the first {listed} are listed"


def _typed(value: Any) -> str:
    return "null" if value is None else f"{word(value)} {brief(value)}"


def _near(expected: Any, value: Any) -> str | None:
    if not (isinstance(expected, str) and isinstance(value, str)):
        return None
    if expected.casefold() == value.casefold():
        return f"only upper and lower case differ from {brief(expected)}"
    if "".join(expected.split()) == "".join(value.split()):
        return f"only blanks differ from {brief(expected)}"
    if to_json_text(value) == expected or value == to_json_text(expected):
        return f"only quotation marks differ from {brief(expected)}"
    return None


SCALARS = frozenset({str, int, float, bool, type(None)})


def _unchanged(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Rules:
    """A benchmark's leniency. What is equal only by it has the state `~`; the defaults allow nothing."""

    normalise: Callable[[str], str] = _unchanged
    """Strings with the same normalised text are equal."""
    int_is_float: bool = False
    """An integer is taken where the golden answer has a float of the same value; not inside lists and objects."""
    tuple_is_list: bool = False
    """A tuple is taken where the golden answer has a list."""
    same_name: Callable[[str, str], bool] = eq
    """Whether a golden and a predicted function name mean the same function. Leaves the state at `=`."""


EXACT = Rules()


def accepts(golden: Accept, value: Any, depth: int = 0) -> bool:
    """Whether one of the accepted values is exactly this value."""
    kind = type(value)
    if kind in SCALARS:
        for expected in golden.any_of:
            if type(expected) is kind and (expected == value or (expected != expected and value != value)):
                return True
        return False
    return any(same(expected, value, depth) for expected in golden.any_of)


def same(expected: Any, value: Any, depth: int = 0) -> bool:
    """Equality that tells 1, 1.0 and True apart at every depth; NaN is the same as NaN. `expected` may hold `Fields`.

    What is nested deeper than `values.MAX_DEPTH` counts as different.
    """
    kind = type(value)
    if type(expected) is not kind:
        return (
            kind is dict
            and type(expected) is Fields
            and depth < MAX_DEPTH
            and same_arguments(expected.fields, value, depth + 1)
        )
    if kind in SCALARS:
        return bool(expected == value or (expected != expected and value != value))
    if kind is list or kind is tuple:
        if len(expected) != len(value) or depth >= MAX_DEPTH:
            return False
        return all(same(one, other, depth + 1) for one, other in zip(expected, value, strict=True))
    if kind is dict:
        if len(expected) != len(value) or depth >= MAX_DEPTH:
            return False
        return all(key in value and same(one, value[key], depth + 1) for key, one in expected.items())
    return bool(expected == value)  # bytes, sets and other literals


def same_scalar(expected: Any, value: Any, rules: Rules) -> bool:
    """Whether a text or number that is not the same is equal by the benchmark's rules."""
    if isinstance(value, str):
        return isinstance(expected, str) and rules.normalise(value) == rules.normalise(expected)
    return rules.int_is_float and type(expected) is float and type(value) is int and expected == value


def same_arguments(golden: dict[str, Accept], given: dict[str, Any], depth: int = 0) -> bool:
    """Whether every argument is accepted exactly, those left out are optional, and there are no others."""
    found = 0
    for name, accept in golden.items():
        if name in given:
            if not accepts(accept, given[name], depth):
                return False
            found += 1
        elif not accept.optional:
            return False
    return found == len(given)


MAX_PLACES = 50
"""Places listed inside one argument."""
MAX_WORK = 200_000
"""Values looked at in one call; what is beyond is reported as not compared."""
MAX_CONTAINERS = 50
"""Accepted objects or lists among which the closest is looked for."""
NORMALISED = 0.1
"""How far off what is equal after normalisation is; any other place is one."""


def diff_call(golden: Call, predicted: Call, rules: Rules = EXACT) -> list[ArgumentDiff]:
    """What is not `=`, in golden order, then the arguments that are not in golden. Path "" is the call as a whole."""
    found: list[ArgumentDiff] = []
    if not same_function(golden, predicted, rules):
        found.append(ArgumentDiff("", "!", f"function differs: {predicted.name}, golden {golden.name}"))
    if golden.arguments is None or predicted.arguments is None:
        return found + _undecodable(golden, predicted)
    if same_arguments(golden.arguments, predicted.arguments):
        return found
    work = Work(rules)
    for name, accept in golden.arguments.items():
        path = child("", name)
        if name in predicted.arguments:
            found += _bounded(path, explain_accept(accept, predicted.arguments[name], path, 0, work))
        elif not accept.optional:
            found.append(ArgumentDiff(path, "-", "missing, and not optional"))
    extra = (name for name in predicted.arguments if name not in golden.arguments)
    return found + [ArgumentDiff(child("", name), "+", "not in golden") for name in extra]


def same_function(golden: Call, predicted: Call, rules: Rules) -> bool:
    return golden.name == predicted.name or rules.same_name(golden.name, predicted.name)


def weight(places: Iterable[ArgumentDiff]) -> float:
    """How far off: a tenth for what is equal after normalisation, one for every other place."""
    return sum(NORMALISED if place.state == "~" else 1.0 for place in places)


def closest(accept: Accept, value: Any, rules: Rules = EXACT) -> Any:
    """The accepted value that explains `value` best; None if nothing is accepted."""
    for expected in accept.any_of:
        if same(expected, value):
            return expected
    tried = [(expected, explain(expected, value, "", 0, Work(rules))) for expected in _candidates(accept, value)]
    return min(tried, key=lambda one: weight(one[1]))[0] if tried else None


class Work:
    """The rules, and how many more values may be looked at."""

    __slots__ = ("left", "rules")

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.left = MAX_WORK


def explain_accept(accept: Accept, value: Any, path: str, depth: int, work: Work) -> list[ArgumentDiff]:
    """Nothing if accepted, else what the closest accepted value has otherwise."""
    if accepts(accept, value, depth):
        return []
    if not accept.any_of:
        return [ArgumentDiff(path, "!", "golden accepts no value, only leaving it out")]
    tried = [explain(expected, value, path, depth, work) for expected in _candidates(accept, value)]
    best = min(tried, key=weight)
    if len(accept.any_of) == 1 or all(place.state == "~" for place in best):
        return best
    if len(best) == 1 and best[0].path == path:
        return [ArgumentDiff(path, "!", value_differs(accept.any_of, value))]
    note = f"{best[0].reason} (closest of {len(accept.any_of)} accepted values)"
    return [ArgumentDiff(best[0].path, best[0].state, note), *best[1:]]


def explain(expected: Any, value: Any, path: str, depth: int, work: Work) -> list[ArgumentDiff]:
    """What `value` has otherwise than one golden value, which may hold `Fields`."""
    work.left -= 1
    if work.left < 0:
        return [ArgumentDiff(path, "!", "too large to compare in full")]
    golden_kind, kind = word(expected), word(value)
    lenient = work.rules.tuple_is_list and (golden_kind, kind) == ("list", "tuple")
    if (golden_kind != kind and not lenient) or kind not in ("object", "list", "tuple"):
        return _explain_scalar(expected, value, path, depth, work.rules)
    if depth >= MAX_DEPTH:
        return [] if expected is value else [ArgumentDiff(path, "!", f"not compared: {TOO_DEEP[2:]}")]
    if kind == "object":
        fields = expected.fields if isinstance(expected, Fields) else expected
        return _explain_object(fields, value, path, depth, work)
    places = _explain_list(expected, value, path, depth, work)
    return [ArgumentDiff(path, "~", "tuple taken as list"), *places] if lenient else places


def _candidates(accept: Accept, value: Any) -> list[Any]:
    kind = word(value)
    if kind not in ("object", "list", "tuple"):
        return accept.any_of
    alike = [one for one in accept.any_of if word(one) == kind or (word(one), kind) == ("list", "tuple")]
    return (alike or accept.any_of)[:MAX_CONTAINERS]


def _explain_scalar(expected: Any, value: Any, path: str, depth: int, rules: Rules) -> list[ArgumentDiff]:
    if same(expected, value):
        return []
    if isinstance(expected, str) and isinstance(value, str):
        normalised = rules.normalise(value)
        if normalised == rules.normalise(expected):
            return [ArgumentDiff(path, "~", f"equal after normalisation: {brief(normalised)}")]
    if depth == 0 and rules.int_is_float and type(expected) is float and type(value) is int and expected == value:
        return [ArgumentDiff(path, "~", f"integer {brief(value)} taken as float {brief(expected)}")]
    if word(expected) != word(value):
        return [ArgumentDiff(path, "!", type_differs([expected], value))]
    return [ArgumentDiff(path, "!", value_differs([expected], value))]


def _explain_object(
    fields: Mapping[str, Any], value: dict[str, Any], path: str, depth: int, work: Work
) -> list[ArgumentDiff]:
    found: list[ArgumentDiff] = []
    for name, expected in fields.items():
        place = child(path, name)
        if name not in value:
            if not isinstance(expected, Accept):
                found.append(ArgumentDiff(place, "-", "missing"))
            elif not expected.optional:
                found.append(ArgumentDiff(place, "-", "missing, and not optional"))
        elif isinstance(expected, Accept):
            found += explain_accept(expected, value[name], place, depth + 1, work)
        else:
            found += explain(expected, value[name], place, depth + 1, work)
        if work.left < 0:
            return found
    return found + [ArgumentDiff(child(path, name), "+", "not in golden") for name in value if name not in fields]


def _explain_list(expected: Any, value: Any, path: str, depth: int, work: Work) -> list[ArgumentDiff]:
    found: list[ArgumentDiff] = []
    start, golden_end, end = 0, len(expected), len(value)
    if golden_end != end:
        found.append(ArgumentDiff(path, "!", f"length {end}, golden {golden_end}"))
        shorter = min(golden_end, end)
        while start < shorter and same(expected[start], value[start], depth + 1):
            start += 1
        while min(golden_end, end) > start and same(expected[golden_end - 1], value[end - 1], depth + 1):
            golden_end, end = golden_end - 1, end - 1
    both = min(golden_end, end)
    for index in range(start, both):
        found += explain(expected[index], value[index], child(path, index), depth + 1, work)
        if work.left < 0:
            return found
    found += [ArgumentDiff(child(path, index), "-", "missing") for index in range(both, golden_end)]
    return found + [ArgumentDiff(child(path, index), "+", "not in golden") for index in range(both, end)]


def _bounded(path: str, places: list[ArgumentDiff]) -> list[ArgumentDiff]:
    if len(places) <= MAX_PLACES:
        return places
    own = [place for place in places[:1] if place.path == path]
    inner = [place for place in places if place.path != path][:MAX_PLACES]
    reason = f"{own[0].reason}; " if own else ""
    return [ArgumentDiff(path, "!", reason + too_many(len(places) - len(own), MAX_PLACES)), *inner]


def _undecodable(golden: Call, predicted: Call) -> list[ArgumentDiff]:
    if predicted.arguments is not None:
        return [ArgumentDiff("", "!", f"golden call cannot be read: {golden.decode_error or brief(golden.raw or '')}")]
    if golden.arguments is None and golden.raw is not None and golden.raw == predicted.raw:
        return []
    return [ArgumentDiff("", "!", predicted.decode_error or "cannot be decoded into a call")]

"""What a benchmark takes for equal beyond what is equal, and equality itself, which is exact about types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import eq
from typing import Any

from fcreview.model import Accept, Fields
from fcreview.values import MAX_DEPTH

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

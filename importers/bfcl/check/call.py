"""Predicted against golden calls: one against one, and all against all in any order (`ast_checker.py`)."""

from __future__ import annotations

from typing import Any, NamedTuple

from fcreview.importers.bfcl.check.lenient import accepted_by_rule
from fcreview.importers.bfcl.check.prepare import Golden
from fcreview.importers.bfcl.check.value import check_value
from fcreview.importers.bfcl.decode.decoder import Spelling
from fcreview.importers.bfcl.decode.decoding import Calls

SIMPLE = "simple_function_checker"
NO_ORDER = "parallel_function_checker_no_order"


class Failure(NamedTuple):
    """The first thing that is wrong, in the benchmark's order of looking."""

    error_type: str
    function: str | None
    argument: str | None
    message: str


def check_call(golden: Golden, name: str, arguments: dict[str, Any], spelling: Spelling, v1: bool) -> Failure | None:
    """`spelling`: how the function was offered, `math.factorial` or `math_factorial`; only this is its name."""
    expected = golden.name if spelling == "dotted" else golden.flat_name
    if name != expected and not (spelling == "either" and name == golden.name):
        message = f"{name} is called where {expected} was expected"
        return Failure(f"{SIMPLE}:wrong_func_name", golden.name, None, message)
    for key in golden.required:
        if key not in arguments:
            return Failure(f"{SIMPLE}:missing_required", golden.name, key, f"{key}: required and missing")
    parameters = golden.parameters
    for key, value in arguments.items():
        parameter = parameters.get(key)
        if parameter is None:
            return Failure(f"{SIMPLE}:unexpected_param", golden.name, str(key), f"{key}: not expected in this call")
        if parameter.at_once and type(value) is parameter.expected and value in parameter.accepted:
            continue
        finding = check_value(parameter, value, v1)
        if finding is not None and not (parameter.lenient and accepted_by_rule(parameter, value)):
            return Failure(finding[0], golden.name, key, f"{key}: {finding[1]}")
    for key in golden.needed:
        if key not in arguments:
            return Failure(f"{SIMPLE}:missing_optional", golden.name, key, f"{key}: may not be left out here")
    return None


def check_one(golden: list[Golden], calls: Calls, spelling: Spelling, v1: bool, error: str) -> Failure | None:
    """Exactly one call; `error` is the checker's name in the error type of a wrong count."""
    if len(calls) != 1:
        return Failure(f"{error}:wrong_count", golden[0].name, None, f"{_count(len(calls))} where 1 was expected")
    return check_call(golden[0], *calls[0], spelling, v1)


def check_any_order(golden: list[Golden], calls: Calls, spelling: Spelling, v1: bool) -> Failure | None:
    """Each golden call takes the first call left that passes. There is no going back: an early golden call
    can take what a later one needed."""
    if len(calls) != len(golden):
        message = f"{_count(len(calls))} where {len(golden)} were expected"
        return Failure(f"{NO_ORDER}:wrong_count", golden[0].name, None, message)
    left = list(calls)
    for index, expected in enumerate(golden):
        if not expected.described:
            message = f"golden call {index + 1}, {expected.name}, is not a function on offer"
            return Failure(f"{NO_ORDER}:cannot_find_description", expected.name, None, message)
        nearest: Failure | None = None
        for place, (name, arguments) in enumerate(left):
            failure = check_call(expected, name, arguments, spelling, v1)
            if failure is None:
                del left[place]
                break
            if nearest is None or _nearer(failure, nearest):
                nearest = failure
        else:
            return _unmatched(index, expected, nearest)
    return None


def _nearer(failure: Failure, than: Failure) -> bool:
    wrong_name = f"{SIMPLE}:wrong_func_name"
    return than.error_type == wrong_name and failure.error_type != wrong_name


def _unmatched(index: int, golden: Golden, nearest: Failure | None) -> Failure:
    message = f"golden call {index + 1}, {golden.name}, is answered by none of the calls left"
    argument = None
    if nearest is not None:
        argument = nearest.argument
        message += f"; nearest: {nearest.message}"
    return Failure(f"{NO_ORDER}:cannot_find_match", golden.name, argument, message)


def _count(number: int) -> str:
    return "no call" if number == 0 else "1 call" if number == 1 else f"{number} calls"

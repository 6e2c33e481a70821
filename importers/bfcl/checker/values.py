"""Objects and lists of objects against golden ones whose fields have alternatives (`ast_checker.py`).

One argument against its acceptable values (`ast_checker.py`).

Every check returns None if the value passes, else `(error type, message)`.

Predicted against golden calls: one against one, and all against all in any order (`ast_checker.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fcreview.importers.bfcl.checker.schema import (
    ExpectedArgument,
    ExpectedCall,
    is_accepted_by_rule,
    list_accepted,
    normalise_list,
    normalise_string,
    normalise_value,
    shorten,
    type_name,
)
from fcreview.importers.bfcl.decoders.base import Calls, NameSpelling

Mismatch = tuple[str, str]
"""Error type and message."""


def check_object(value: dict[str, Any], alternatives: list[Any], v1: bool) -> Mismatch | None:
    """Whether one alternative takes the object; else what the last one objects to."""
    finding: Mismatch | None = ("dict_checker:unclear", "the golden answer accepts no object here")
    for golden in alternatives:
        if golden == "":
            continue
        finding = _check_fields_v1(value, golden) if v1 else _check_fields(value, golden)
        if finding is None:
            return None
    return finding


def _check_fields(value: dict[str, Any], golden: Any) -> Mismatch | None:
    if type(golden) is not dict:
        return "value_error:dict_key", f"{shorten(value)} is not {shorten(golden)}"
    finding = None
    for key, field in value.items():
        if key not in golden:
            finding = ("value_error:dict_key", f"field {shorten(key)} is not in the golden object")
            break
        if not _is_accepted(field, golden[key]):
            finding = (
                "value_error:dict_value",
                f"field {key}: {shorten(field)} is none of {list_accepted(golden[key])}",
            )
            break
    for key, accepted in golden.items():
        if key not in value and not _is_optional(accepted):
            finding = ("value_error:dict_key", f"field {shorten(key)} is missing")
            break
    return finding


def _check_fields_v1(value: dict[str, Any], golden: Any) -> Mismatch | None:
    """V1: the number of fields must be equal, and golden objects may lie directly in golden objects."""
    if type(golden) is not dict or type(value) is not dict:
        return "value_error:dict_items", f"{shorten(value)} is not {shorten(golden)}"
    if len(value) != len(golden):
        return "value_error:dict_items", f"{len(value)} fields where the golden object has {len(golden)}"
    for key, field in value.items():
        if key not in golden:
            return "value_error:dict_key", f"field {shorten(key)} is not in the golden object"
        accepted = golden[key]
        if type(accepted) is dict:
            finding = _check_fields_v1(field, accepted)
            if finding is not None:
                return finding[0], f"field {key}: {finding[1]}"
        elif not _is_accepted(field, accepted):
            return "value_error:dict_value", f"field {key}: {shorten(field)} is none of {list_accepted(accepted)}"
    return None


def _is_accepted(field: Any, accepted: Any) -> bool:
    if not isinstance(accepted, (list, dict, str)):
        return False
    return normalise_value(field) in [normalise_value(one) for one in accepted]


def _is_optional(accepted: Any) -> bool:
    return isinstance(accepted, str) or (isinstance(accepted, (list, dict)) and "" in accepted)


def check_objects(values: list[Any], alternatives: list[Any], v1: bool) -> Mismatch | None:
    """A list of objects, in order, of which one alternative must take every object."""
    finding: Mismatch | None = ("list_dict_checker:unclear", "the golden answer accepts no list here")
    for golden in alternatives:
        if not isinstance(golden, (list, str)):
            continue
        if len(values) != len(golden):
            finding = ("value_error:list_dict_count", f"{len(values)} objects where the golden list has {len(golden)}")
            continue
        finding = None
        for index, (value, one) in enumerate(zip(values, golden, strict=True)):
            found = check_object(value, [one], v1) if type(value) is dict else ("value_error:dict_key", "no object")
            if found is not None:
                finding = (found[0], f"[{index}] {found[1]}")
                break
        if finding is None:
            return None
    return finding


def check_value(parameter: ExpectedArgument, value: Any, v1: bool) -> Mismatch | None:
    if parameter.convert is not None:
        if type(value) is not str:
            language = "java" if parameter.language == "java" else "js"
            return f"type_error:{language}", f"{shorten(value)} was not delivered as source text"
        value = parameter.convert(value)
    try:
        value = _convert_to_declared(parameter, value)
    except OverflowError:
        return "value_error:others", "a number too big for a float"
    kind = type(value)
    variable = parameter.is_variable
    if kind is not parameter.expected_type:
        if parameter.golden_type is None or kind is not parameter.golden_type:
            return "type_error:simple", _wrong_type_message(parameter, value)
        variable = True
    elif parameter.element_type is not None and not _has_element_type(parameter, value):
        if parameter.golden_type is list:
            return (
                "type_error:nested",
                f"{shorten(value)} has elements that are not {type_name(parameter.element_type)}",
            )
        return "type_error:simple", _wrong_type_message(parameter, value)
    if not variable and (check := CHECK_BY_TYPE.get(parameter.expected_type)):
        return check(parameter, value, v1)
    if value in parameter.accepted:
        return None
    return "value_error:others", _not_accepted_message(parameter, value)


def _convert_to_declared(parameter: ExpectedArgument, value: Any) -> Any:
    """A tuple as a list and an integer as a float where the declared type asks for that."""
    if parameter.to_list and type(value) is tuple:
        return list(value)
    return float(value) if parameter.to_float and type(value) is int else value


def _has_element_type(parameter: ExpectedArgument, values: list[Any]) -> bool:
    """Whether the elements have the declared type, or the type some golden list starts with."""
    for accepted in parameter.accepted:
        if type(accepted) is not list:
            return True
        first = next((type(element) for element in accepted if element != ""), None)
        if all(
            type(value) is parameter.element_type or (type(value) is first and first is not None) for value in values
        ):
            return True
    return False


def _check_string(parameter: ExpectedArgument, value: str, _v1: bool) -> Mismatch | None:
    if normalise_string(value) in parameter.normalised_strings:
        return None
    return "value_error:string", _not_accepted_message(parameter, value)


def _check_list(parameter: ExpectedArgument, value: list[Any], v1: bool) -> Mismatch | None:
    if parameter.element_type is dict:
        return check_objects(value, parameter.accepted, v1)
    if normalise_list(value) in parameter.normalised_lists:
        return None
    return "value_error:list/tuple", _not_accepted_message(parameter, value)


def _check_dict(parameter: ExpectedArgument, value: dict[str, Any], v1: bool) -> Mismatch | None:
    return check_object(value, parameter.accepted, v1)


CHECK_BY_TYPE: dict[type, Callable[[ExpectedArgument, Any, bool], Mismatch | None]] = {
    str: _check_string,
    list: _check_list,
    dict: _check_dict,
}


def _not_accepted_message(parameter: ExpectedArgument, value: Any) -> str:
    return f"{shorten(value)} is none of {list_accepted(parameter.accepted)}"


def _wrong_type_message(parameter: ExpectedArgument, value: Any) -> str:
    return f"{shorten(value)} is {type_name(type(value))}, declared {parameter.declared_type}"


SIMPLE_CHECKER = "simple_function_checker"
PARALLEL_CHECKER = "parallel_function_checker_no_order"


class CallFailure(NamedTuple):
    """The first thing that is wrong, in the benchmark's order of looking."""

    error_type: str
    function: str | None
    argument: str | None
    message: str


def check_call(
    golden: ExpectedCall, name: str, arguments: dict[str, Any], spelling: NameSpelling, v1: bool
) -> CallFailure | None:
    """`spelling`: how the function was offered, `math.factorial` or `math_factorial`; only this is its name."""
    expected = golden.name if spelling == "dotted" else golden.flat_name
    if name != expected and not (spelling == "either" and name == golden.name):
        message = f"{name} is called where {expected} was expected"
        return CallFailure(f"{SIMPLE_CHECKER}:wrong_func_name", golden.name, None, message)
    for key in golden.required:
        if key not in arguments:
            return CallFailure(f"{SIMPLE_CHECKER}:missing_required", golden.name, key, f"{key}: required and missing")
    parameters = golden.parameters
    for key, value in arguments.items():
        parameter = parameters.get(key)
        if parameter is None:
            return CallFailure(
                f"{SIMPLE_CHECKER}:unexpected_param", golden.name, str(key), f"{key}: not expected in this call"
            )
        if parameter.passes_if_equal and type(value) is parameter.expected_type and value in parameter.accepted:
            continue
        finding = check_value(parameter, value, v1)
        if finding is not None and not (parameter.equivalence_rules and is_accepted_by_rule(parameter, value)):
            return CallFailure(finding[0], golden.name, key, f"{key}: {finding[1]}")
    for key in golden.not_omittable:
        if key not in arguments:
            return CallFailure(
                f"{SIMPLE_CHECKER}:missing_optional", golden.name, key, f"{key}: may not be left out here"
            )
    return None


def check_single_call(
    golden: list[ExpectedCall], calls: Calls, spelling: NameSpelling, v1: bool, error: str
) -> CallFailure | None:
    """Exactly one call; `error` is the checker's name in the error type of a wrong count."""
    if len(calls) != 1:
        return CallFailure(
            f"{error}:wrong_count", golden[0].name, None, f"{_count_calls(len(calls))} where 1 was expected"
        )
    return check_call(golden[0], *calls[0], spelling, v1)


def check_unordered_calls(
    golden: list[ExpectedCall], calls: Calls, spelling: NameSpelling, v1: bool
) -> CallFailure | None:
    """Each golden call takes the first call left that passes. There is no going back: an early golden call
    can take what a later one needed."""
    if len(calls) != len(golden):
        message = f"{_count_calls(len(calls))} where {len(golden)} were expected"
        return CallFailure(f"{PARALLEL_CHECKER}:wrong_count", golden[0].name, None, message)
    left = list(calls)
    for index, expected in enumerate(golden):
        if not expected.has_function_doc:
            message = f"golden call {index + 1}, {expected.name}, is not a function on offer"
            return CallFailure(f"{PARALLEL_CHECKER}:cannot_find_description", expected.name, None, message)
        nearest: CallFailure | None = None
        for place, (name, arguments) in enumerate(left):
            failure = check_call(expected, name, arguments, spelling, v1)
            if failure is None:
                del left[place]
                break
            if nearest is None or _is_nearer(failure, nearest):
                nearest = failure
        else:
            return _no_match_failure(index, expected, nearest)
    return None


def _is_nearer(failure: CallFailure, than: CallFailure) -> bool:
    wrong_name = f"{SIMPLE_CHECKER}:wrong_func_name"
    return than.error_type == wrong_name and failure.error_type != wrong_name


def _no_match_failure(index: int, golden: ExpectedCall, nearest: CallFailure | None) -> CallFailure:
    message = f"golden call {index + 1}, {golden.name}, is answered by none of the calls left"
    argument = None
    if nearest is not None:
        argument = nearest.argument
        message += f"; nearest: {nearest.message}"
    return CallFailure(f"{PARALLEL_CHECKER}:cannot_find_match", golden.name, argument, message)


def _count_calls(number: int) -> str:
    return "no call" if number == 0 else "1 call" if number == 1 else f"{number} calls"

"""One argument against its acceptable values (`ast_checker.py`).

Every check returns None if the value passes, else `(error type, message)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fcreview.importers.bfcl.check.objects import Finding, check_object, check_objects
from fcreview.importers.bfcl.check.prepare import Parameter
from fcreview.importers.bfcl.check.texts import choices, normalise, normalise_list, shown, type_name


def check_value(parameter: Parameter, value: Any, v1: bool) -> Finding | None:
    if parameter.convert is not None:
        if type(value) is not str:
            language = "java" if parameter.language == "java" else "js"
            return f"type_error:{language}", f"{shown(value)} was not delivered as source text"
        value = parameter.convert(value)
    kind = type(value)
    if parameter.to_list and kind is tuple:
        value, kind = list(value), list
    elif parameter.to_float and kind is int:
        try:
            value, kind = float(value), float
        except OverflowError:
            return "value_error:others", "a number too big for a float"
    variable = parameter.variable
    if kind is not parameter.expected:
        if parameter.golden_type is None or kind is not parameter.golden_type:
            return "type_error:simple", _wrong_type(parameter, value)
        variable = True
    elif parameter.nested is not None and not _elements_fit(parameter, value):
        if parameter.golden_type is list:
            return "type_error:nested", f"{shown(value)} has elements that are not {type_name(parameter.nested)}"
        return "type_error:simple", _wrong_type(parameter, value)
    if not variable and (check := CHECKS.get(parameter.expected)):
        return check(parameter, value, v1)
    if value in parameter.accepted:
        return None
    return "value_error:others", _not_among(parameter, value)


def _elements_fit(parameter: Parameter, values: list[Any]) -> bool:
    """Whether the elements have the declared type, or the type some golden list starts with."""
    for accepted in parameter.accepted:
        if type(accepted) is not list:
            return True
        first = next((type(element) for element in accepted if element != ""), None)
        if all(type(value) is parameter.nested or (type(value) is first and first is not None) for value in values):
            return True
    return False


def _check_text(parameter: Parameter, value: str, _v1: bool) -> Finding | None:
    if normalise(value) in parameter.texts:
        return None
    return "value_error:string", _not_among(parameter, value)


def _check_list(parameter: Parameter, value: list[Any], v1: bool) -> Finding | None:
    if parameter.nested is dict:
        return check_objects(value, parameter.accepted, v1)
    if normalise_list(value) in parameter.lists:
        return None
    return "value_error:list/tuple", _not_among(parameter, value)


def _check_dict(parameter: Parameter, value: dict[str, Any], v1: bool) -> Finding | None:
    return check_object(value, parameter.accepted, v1)


CHECKS: dict[type, Callable[[Parameter, Any, bool], Finding | None]] = {
    str: _check_text,
    list: _check_list,
    dict: _check_dict,
}


def _not_among(parameter: Parameter, value: Any) -> str:
    return f"{shown(value)} is none of {choices(parameter.accepted)}"


def _wrong_type(parameter: Parameter, value: Any) -> str:
    return f"{shown(value)} is {type_name(type(value))}, declared {parameter.kind}"

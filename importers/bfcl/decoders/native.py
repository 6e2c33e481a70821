"""Replies that the program had as objects already: `result` is a list of `{name: arguments}`.

The families differ in whether arguments are JSON text or an object, and in what they make of anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fcreview.importers.bfcl.decoders.base import Calls, DecoderContext, WrongFormat, parse_json, validate_calls
from fcreview.importers.common.records import Undecodable

NOT_A_LIST = "text where calls were expected"


def decode_fc(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """`[{"f": "{\\"a\\": 1}"}]`."""
    if type(result) is not list:
        return _decode_non_list(result)
    return validate_calls((name, _parse_arguments(text)) for name, text in map(_first_entry, result))


def decode_gemini_v1(result: Any, how: DecoderContext) -> Calls:
    """As `fc`; one object counts as a list of one."""
    return decode_fc(result if type(result) is list else [result], how)


def decode_cohere_v1(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """`[{"f": {"a": 1}}]`."""
    if type(result) is not list:
        return _decode_non_list(result)
    return validate_calls(map(_first_entry, result))


def decode_gemini(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """`[{"f": {"a": 1}}]`, taken as it is: whatever else there is has the wrong format."""
    if type(result) is not list:
        raise WrongFormat(NOT_A_LIST)
    return _decode_objects(result)


def decode_list(result: Any, how: DecoderContext) -> Calls:
    """As `as_it_is`; text is a failure in V4 and was no call before."""
    if type(result) is not list:
        if how.version == "V4":
            raise Undecodable(NOT_A_LIST)
        return []
    return _decode_objects(result)


def decode_strict_list(result: Any, how: DecoderContext) -> Calls:
    """As `listed`; an element that is no object is a failure."""
    if type(result) is list and any(type(part) is not dict for part in result):
        raise Undecodable(NOT_A_LIST)
    return decode_list(result, how)


def decode_cohere(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """`[{"tool_name": "f", "parameters": {"a": 1}}]`; whatever is no list is no call."""
    if type(result) is not list:
        return []
    return validate_calls(_require_keys(part, "tool_name", "parameters") for part in result)


def decode_named_arguments(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """`[{"name": "f", "arguments": {"a": 1}}]`."""
    if type(result) is not list:
        return _decode_non_list(result)
    return validate_calls(_require_keys(part, "name", "arguments") for part in result)


def decode_any_list(result: list[Any]) -> Calls:
    """Whatever a list may say, for models that nobody knows: any of the forms above."""
    calls: list[tuple[Any, Any]] = []
    for item in result:
        if type(item) is dict and "tool_name" in item and "parameters" in item:
            name, arguments = item["tool_name"], item["parameters"]
        else:
            name, arguments = _first_entry(item)
        if type(arguments) is str:
            arguments = parse_json(arguments)
        elif len(item) != 1 and "tool_name" not in item:
            arguments = None
        calls.append((name, arguments))
    return validate_calls(calls)


def stringify_arguments(calls: Calls) -> Calls:
    """Every argument as Python's text of it."""
    return [(name, {key: str(value) for key, value in arguments.items()}) for name, arguments in calls]


def _decode_non_list(result: Any) -> Calls:
    if result == "":
        return []
    raise Undecodable("no output" if result is None else NOT_A_LIST)


def _first_entry(item: Any) -> tuple[Any, Any]:
    if type(item) is not dict:
        raise Undecodable("text where a call was expected" if isinstance(item, str) else "not an object")
    if not item:
        raise Undecodable("a call without a name")
    return next(iter(item.items()))


def _parse_arguments(arguments: Any) -> Any:
    if type(arguments) is not str:
        raise Undecodable("arguments that are no JSON text")
    return parse_json(arguments)


def _require_keys(item: Any, name: str, arguments: str) -> tuple[Any, Any]:
    if type(item) is not dict or name not in item or arguments not in item:
        raise Undecodable(f"not an object with {name} and {arguments}")
    return item[name], item[arguments]


def _decode_objects(result: Iterable[Any]) -> Calls:
    pairs = []
    for item in result:
        if type(item) is not dict or len(item) != 1:
            raise WrongFormat("not an object of one name")
        pairs.append(next(iter(item.items())))
    return validate_calls(pairs)

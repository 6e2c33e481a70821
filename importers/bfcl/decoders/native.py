"""Decode native calls, which the official program stores as objects: `result` is a list of `{name: arguments}`.

The families differ in the form of the arguments (JSON text or an object) and in how they treat any other `result`.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.bfcl.decoders.base import Calls, DecoderContext, WrongFormat, parse_json, validate_calls
from fcreview.importers.common.records import Undecodable

NOT_A_LIST = "text where calls were expected"


def decode_fc(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode `[{"f": "{\\"a\\": 1}"}]`, where the arguments are JSON text."""
    if type(result) is not list:
        return _decode_non_list(result)
    return validate_calls((name, _parse_arguments(text)) for name, text in map(_first_entry, result))


def decode_gemini_v1(result: Any, context: DecoderContext) -> Calls:
    """Decode like `decode_fc`. Any other `result` counts as a list of one element."""
    return decode_fc(result if type(result) is list else [result], context)


def decode_cohere_v1(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode `[{"f": {"a": 1}}]`."""
    if type(result) is not list:
        return _decode_non_list(result)
    return validate_calls(map(_first_entry, result))


def decode_gemini(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode `[{"f": {"a": 1}}]`. Any other `result` has the wrong format."""
    if type(result) is not list:
        raise WrongFormat(NOT_A_LIST)
    pairs = []
    for call in result:
        if type(call) is not dict or len(call) != 1:
            raise WrongFormat("not an object with exactly one name")
        pairs.append(next(iter(call.items())))
    return validate_calls(pairs)


def decode_list(result: Any, context: DecoderContext) -> Calls:
    """Decode like `decode_gemini`, except that text is an error in V4 and no call in earlier versions."""
    if type(result) is list:
        return decode_gemini(result, context)
    if context.version == "V4":
        raise Undecodable(NOT_A_LIST)
    return []


def decode_strict_list(result: Any, context: DecoderContext) -> Calls:
    """Decode like `decode_list`, except that an element that is not an object is an error."""
    if type(result) is list and any(type(call) is not dict for call in result):
        raise Undecodable(NOT_A_LIST)
    return decode_list(result, context)


def decode_cohere(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode `[{"tool_name": "f", "parameters": {"a": 1}}]`. A `result` that is not a list contains no call."""
    if type(result) is not list:
        return []
    return validate_calls(_require_keys(call, "tool_name", "parameters") for call in result)


def decode_named_arguments(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode `[{"name": "f", "arguments": {"a": 1}}]`."""
    if type(result) is not list:
        return _decode_non_list(result)
    return validate_calls(_require_keys(call, "name", "arguments") for call in result)


def decode_any_list(result: list[Any]) -> Calls:
    """Decode a list in any of the forms above, for unknown models."""
    calls: list[tuple[Any, Any]] = []
    for call in result:
        if type(call) is dict and "tool_name" in call and "parameters" in call:
            name, arguments = call["tool_name"], call["parameters"]
        else:
            name, arguments = _first_entry(call)
        if type(arguments) is str:
            arguments = parse_json(arguments)
        elif len(call) != 1 and "tool_name" not in call:
            arguments = None
        calls.append((name, arguments))
    return validate_calls(calls)


def _decode_non_list(result: Any) -> Calls:
    """Return no calls for empty text. Raises Undecodable for anything else."""
    if result == "":
        return []
    raise Undecodable("no output" if result is None else NOT_A_LIST)


def _first_entry(call: Any) -> tuple[Any, Any]:
    if type(call) is not dict:
        raise Undecodable("text where a call was expected" if isinstance(call, str) else "not an object")
    if not call:
        raise Undecodable("a call without a name")
    return next(iter(call.items()))


def _parse_arguments(arguments: Any) -> Any:
    if type(arguments) is not str:
        raise Undecodable("arguments that are not JSON text")
    return parse_json(arguments)


def _require_keys(call: Any, name_key: str, arguments_key: str) -> tuple[Any, Any]:
    if type(call) is not dict or name_key not in call or arguments_key not in call:
        raise Undecodable(f"not an object with {name_key} and {arguments_key}")
    return call[name_key], call[arguments_key]

"""Decode native calls, which are objects in `result`, and calls in JSON text."""

from __future__ import annotations

import ast
from typing import Any

from fcreview.importers.bfcl.decoders.base import (
    Calls,
    DecoderContext,
    WrongFormat,
    parse_json,
    require_text,
    validate_calls,
)
from fcreview.importers.common.python_syntax import compute_arithmetic, parse_expression
from fcreview.importers.common.records import Undecodable

NOT_A_LIST = "not a list of calls"


def decode_fc(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode `[{"f": "{\\"a\\": 1}"}]`, where the arguments are JSON text."""
    if type(result) is not list:
        return _decode_empty_reply(result)
    return validate_calls(
        (name, _parse_argument_text(text)) for name, text in map(_first_key_and_value, result)
    )


def decode_gemini_v1(result: Any, context: DecoderContext) -> Calls:
    """Decode like `decode_fc`, but treat a `result` that is not a list as the only element of a
    list.
    """
    return decode_fc(result if type(result) is list else [result], context)


def decode_cohere_v1(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode `[{"f": {"a": 1}}]`."""
    if type(result) is not list:
        return _decode_empty_reply(result)
    return validate_calls(map(_first_key_and_value, result))


def decode_gemini(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode `[{"f": {"a": 1}}]`. Any other `result` has the wrong format."""
    if type(result) is not list:
        raise WrongFormat(NOT_A_LIST)
    if any(type(call) is not dict or len(call) != 1 for call in result):
        raise WrongFormat("a call is not an object with exactly one key, the function name")
    return validate_calls(next(iter(call.items())) for call in result)


def decode_list(result: Any, context: DecoderContext) -> Calls:
    """Decode like `decode_gemini`.

    If `result` is not a list, it is an error in V4 and contains no call before V4.
    """
    if type(result) is list:
        return decode_gemini(result, context)
    if context.version == "V4":
        raise Undecodable(NOT_A_LIST)
    return []


def decode_strict_list(result: Any, context: DecoderContext) -> Calls:
    """Decode like `decode_list`, but treat a list with an element that is not an object like
    text.
    """
    if type(result) is list and any(type(call) is not dict for call in result):
        return decode_list(None, context)
    return decode_list(result, context)


def decode_cohere(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode `[{"tool_name": "f", "parameters": {"a": 1}}]`.

    A `result` that is not a list contains no call.
    """
    if type(result) is not list:
        return []
    return validate_calls(_read_native_call(call, "tool_name", "parameters") for call in result)


def decode_named_arguments(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode `[{"name": "f", "arguments": {"a": 1}}]`."""
    if type(result) is not list:
        return _decode_empty_reply(result)
    return validate_calls(_read_native_call(call, "name", "arguments") for call in result)


def decode_any_list(result: list[Any]) -> Calls:
    """Decode a list of native calls, for models whose form of calls is unknown.

    A call is `{"tool_name": "f", "parameters": {...}}` or `{"f": arguments}`. Arguments can be an
    object, or JSON text of an object.
    """
    calls = [_read_call_of_any_form(call) for call in result]
    return validate_calls(calls)


def _read_call_of_any_form(call: Any) -> tuple[Any, Any]:
    """Return the name and the arguments of a native call in one of two forms.

    In the form `{"f": arguments}`, the decoders for JSON text ignore further keys, while those for
    objects fail. They fail here by None as arguments, which `validate_calls` rejects.
    """
    if type(call) is dict and "tool_name" in call and "parameters" in call:
        name = call["tool_name"]
        arguments = call["parameters"]
        return name, parse_json(arguments) if type(arguments) is str else arguments

    name, arguments = _first_key_and_value(call)
    if type(arguments) is str:
        return name, parse_json(arguments)
    has_other_keys = len(call) > 1 and "tool_name" not in call
    return name, None if has_other_keys else arguments


def _decode_empty_reply(result: Any) -> Calls:
    """Return no calls for an empty string. Raises Undecodable for any other reply."""
    if result == "":
        return []
    raise Undecodable("the reply is empty" if result is None else NOT_A_LIST)


def _first_key_and_value(call: Any) -> tuple[Any, Any]:
    """Return the name and the arguments of a call such as `{"f": {"a": 1}}`. Raises Undecodable for
    another form.
    """
    if isinstance(call, str):
        raise Undecodable("an element of the list is text, not a call")
    if type(call) is not dict:
        raise Undecodable("a call is not an object")
    if not call:
        raise Undecodable("a call has no name")
    return next(iter(call.items()))


def _parse_argument_text(arguments: Any) -> Any:
    if type(arguments) is not str:
        raise Undecodable("the arguments of a call are not JSON text")
    return parse_json(arguments)


def _read_native_call(call: Any, name_key: str, arguments_key: str) -> tuple[Any, Any]:
    if type(call) is not dict or name_key not in call or arguments_key not in call:
        raise Undecodable(f"a call is not an object with {name_key} and {arguments_key}")
    return call[name_key], call[arguments_key]


def read_json_call(found: Any, arguments_key: str = "arguments") -> tuple[Any, Any]:
    """Return the name and arguments of a call object.

    Raises Undecodable if it lacks one of them.
    """
    if type(found) is not dict or "name" not in found or arguments_key not in found:
        raise Undecodable(f"the JSON is not a call with name and {arguments_key}")
    return found["name"], found[arguments_key]


def read_json_calls(found: Any, arguments_key: str = "arguments") -> Calls:
    """Return the calls in a call object or a list of call objects."""
    calls = [found] if type(found) is dict else found
    if not isinstance(calls, (list, tuple)):
        raise Undecodable("the JSON is not a list of calls")
    return validate_calls(read_json_call(call, arguments_key) for call in calls)


def _require_list(found: Any) -> list[Any]:
    if type(found) is not list:
        raise Undecodable("the JSON is not a list of calls")
    return found


def decode_json(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    return read_json_calls(parse_json(require_text(result)))


def decode_hammer(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode a JSON list, optionally in a code fence. A reply that is not JSON contains no call."""
    text = require_text(result)
    try:
        found = parse_json(text.replace("```", ""))
    except Undecodable:
        return []
    if found in ({}, ""):
        return []
    return read_json_calls(_require_list(found))


def decode_xlam1(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode a JSON list or an object with `tool_calls`.

    A reply that is not JSON has the wrong format.
    """
    text = require_text(result)
    try:
        value = parse_json(text)
    except Undecodable as error:
        raise WrongFormat(str(error)) from None
    if type(value) is dict:
        value = value.get("tool_calls", [])
    calls = []
    for call in _require_list(value):
        if type(call) is dict:
            calls.append((call.get("name", ""), call.get("arguments", {})))
    return validate_calls(calls)


def decode_xlam2(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode a JSON list, one call, or calls separated by semicolons."""
    text = require_text(result)
    try:
        found = parse_json(text)
    except Undecodable:
        found = [parse_json(part) for part in text.split(";")]
    return read_json_calls(found)


def decode_think(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode the JSON list after `</think>`. Single quotes are read as double quotes."""
    _, tag, rest = require_text(result).replace("'", '"').partition("</think>")
    if not tag:
        return []
    return read_json_calls(_require_list(parse_json(rest)))


def decode_llama(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode calls such as `{"name": "f", "parameters": {"a": 1}}`.

    Several calls are separated by semicolons, and each is JSON. One call, or a list of calls, is a
    Python literal.
    """
    text = require_text(result).replace("<|python_tag|>", "")
    if ";" in text:
        return read_json_calls([parse_json(part) for part in text.split(";")], "parameters")
    try:
        value = _evaluate_literal(parse_expression(text.lstrip(" \t")))
    except (ValueError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        # The text of the error ends with the address of an object, which would differ each time.
        reason = str(error).partition(": <")[0]
        raise Undecodable(f"not a Python literal: {reason}") from None
    return read_json_calls(value, "parameters")


def _evaluate_literal(node: ast.expr | None) -> Any:
    """Evaluate a literal as `ast.literal_eval` does, and also arithmetic such as `5*3`, which
    BFCL accepts.
    """
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Dict(keys=keys, values=values):
            return {
                _evaluate_literal(k): _evaluate_literal(v)
                for k, v in zip(keys, values, strict=True)
            }
        case ast.List(elts=elements):
            return [_evaluate_literal(element) for element in elements]
        case ast.Tuple(elts=elements):
            return tuple(_evaluate_literal(element) for element in elements)
        case ast.UnaryOp() | ast.BinOp():
            return compute_arithmetic(node)
    raise ValueError(type(node).__name__)

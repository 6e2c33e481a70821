"""Replies that are JSON: a list of `{"name": "f", "arguments": {"a": 1}}`, in the forms of each family's handler."""

from __future__ import annotations

import ast
from typing import Any

from fcreview.importers.bfcl.decoders.base import Calls, DecoderContext, WrongFormat, parse_json, validate_calls
from fcreview.importers.bfcl.decoders.code import require_text
from fcreview.importers.bfcl.decoders.python_calls import parse_expression
from fcreview.importers.common.python_syntax import compute
from fcreview.importers.common.records import Undecodable


def call_from_object(found: Any, key: str = "arguments") -> tuple[Any, Any]:
    """Name and arguments of an object that must have both. Raises Undecodable."""
    if type(found) is not dict or "name" not in found or key not in found:
        raise Undecodable(f"JSON, but not a call with name and {key}")
    return found["name"], found[key]


def calls_from_objects(found: Any, key: str = "arguments") -> Calls:
    """Calls of an object or a list of them."""
    if type(found) is dict:
        found = [found]
    if not isinstance(found, (list, tuple)):
        raise Undecodable("JSON, but not a list of calls")
    return validate_calls(call_from_object(one, key) for one in found)


def _require_list(found: Any) -> list[Any]:
    """Raises Undecodable for anything but a list."""
    if type(found) is not list:
        raise Undecodable("JSON, but not a list of calls")
    return found


def decode_json(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """A list or one object."""
    return calls_from_objects(parse_json(require_text(result)))


def decode_hammer(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """A list, perhaps fenced; what is no JSON is no call."""
    try:
        found = parse_json(require_text(result).replace("```", ""))
    except Undecodable:
        if type(result) is not str:
            raise
        return []
    if found in ({}, ""):
        return []
    return calls_from_objects(_require_list(found))


def decode_xlam1(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """A list, or an object with `tool_calls`; what is no JSON has the wrong format."""
    text = require_text(result)
    try:
        found = parse_json(text)
    except Undecodable as error:
        raise WrongFormat(str(error)) from None
    listed = _require_list(found.get("tool_calls", []) if type(found) is dict else found)
    return validate_calls((one.get("name", ""), one.get("arguments", {})) for one in listed if type(one) is dict)


def decode_xlam2(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """A list, one object, or objects joined by semicolons."""
    text = require_text(result)
    try:
        found = parse_json(text)
    except Undecodable:
        found = [parse_json(part) for part in text.split(";")]
    return calls_from_objects(found)


def decode_think(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """A list behind `</think>`, quoted in whatever way."""
    _, tag, rest = require_text(result).replace("'", '"').partition("</think>")
    if not tag:
        return []
    found = parse_json(rest)
    return calls_from_objects(_require_list(found))


def decode_llama(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """`{"name", "parameters"}`: JSON objects joined by semicolons; else one, or a list, in *Python's* notation, where
    `true` and `null` are nothing."""
    text = require_text(result).replace("<|python_tag|>", "")
    if ";" in text:
        return calls_from_objects([parse_json(part) for part in text.split(";")], "parameters")
    try:
        found = _evaluate_literal(parse_expression(text.lstrip(" \t")))
    except (ValueError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise Undecodable(f"not a Python literal: {str(error).partition(': <')[0]}") from None
    return calls_from_objects(found, "parameters")


def _evaluate_literal(node: ast.expr | None) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Dict(keys=keys, values=values):
            return {_evaluate_literal(key): _evaluate_literal(value) for key, value in zip(keys, values, strict=True)}
        case ast.List(elts=elements):
            return [_evaluate_literal(element) for element in elements]
        case ast.Tuple(elts=elements):
            return tuple(_evaluate_literal(element) for element in elements)
        case ast.UnaryOp() | ast.BinOp():
            return compute(node)
    raise ValueError(type(node).__name__)

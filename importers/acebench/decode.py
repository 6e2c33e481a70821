"""Decode ACEBench replies. A reply is one Python expression. Its syntax tree is read and never evaluated.

This module reproduces the released `eval_main.py` and its AST decoder (revision e6db74b): white space is removed first,
also inside strings; positional arguments are ignored; a variable name becomes text; every unary operator negates.
"""

from __future__ import annotations

import ast
from typing import Any

from fcreview.importers.common.python_syntax import compute_arithmetic, dotted_name, has_brackets_deeper_than
from fcreview.importers.common.records import Undecodable

DecodedCall = tuple[str, dict[Any, Any]]
"""(function name, arguments) of a decoded call."""
MAX_LENGTH = 200_000
MAX_DEPTH = 80


def remove_whitespace(reply: str) -> str:
    """Remove all white space, as the evaluator does before decoding. Replies in score files have no white space."""
    return "".join(reply.split())


def decode_reply(reply: Any, *, keep_whitespace: bool = False) -> list[DecodedCall]:
    """Decode the calls of a reply such as `[f(a=1), g(b='x')]`. Raises Undecodable if it is not a list of calls.

    With `keep_whitespace`, strings keep their white space. This is only for display: the evaluator removes all white
    space.
    """
    if not isinstance(reply, str):
        raise Undecodable("the reply is not text")
    expression = parse_expression(reply.strip() if keep_whitespace else remove_whitespace(reply))
    elements = getattr(expression, "elts", None)
    if elements is None:
        raise Undecodable("not a list of calls")
    return [_read_call(element) for element in elements]


def parse_expression(text: str) -> ast.expr:
    """Parse one Python expression. Raises Undecodable for invalid text and for text that could exhaust the memory."""
    if len(text) > MAX_LENGTH or has_brackets_deeper_than(text, MAX_DEPTH):
        raise Undecodable("too long or too deeply nested to decode")
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise Undecodable(f"invalid syntax: {reason.partition(' (detected at')[0]}") from None


def decode_for_display(reply: str) -> list[DecodedCall]:
    """Decode the calls of a reply with the white space in strings or, if that fails, without it."""
    try:
        return decode_reply(reply, keep_whitespace=True)
    except Undecodable:
        return decode_reply(reply)


def _read_call(node: ast.expr) -> DecodedCall:
    if not isinstance(node, ast.Call):
        raise Undecodable(f"expected a call, not a {type(node).__name__.lower()}")
    return dotted_name(node.func), {keyword.arg: _read_value(keyword.value) for keyword in node.keywords}


def _read_value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return "..." if value is Ellipsis else value
        case ast.UnaryOp(operand=ast.Constant(value=int() | float() | complex() as value)):
            return -value
        case ast.List(elts=elements):
            return [_read_value(element) for element in elements]
        case ast.Tuple(elts=elements):
            return tuple(_read_value(element) for element in elements)
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_read_key(key): _read_value(value) for key, value in zip(keys, values, strict=True)}
        case ast.Name(id=name):
            return name
        case ast.BinOp():
            return _read_arithmetic(node)
        case ast.Call():
            name, arguments = _read_call(node)
            return {name: arguments} if arguments else ast.unparse(node)
        case ast.Subscript():
            return ast.unparse(node)
    raise Undecodable(f"unsupported argument of type {type(node).__name__.lower()}")


def _read_key(node: ast.expr | None) -> Any:
    value = _read_value(node) if node is not None else None
    if isinstance(value, (list, dict)):
        raise Undecodable("an object key that is not a string or number")
    return value


def _read_arithmetic(node: ast.expr) -> Any:
    try:
        return compute_arithmetic(node)
    except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, MemoryError) as error:
        raise Undecodable(str(error) or "unsupported arithmetic") from None

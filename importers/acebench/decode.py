"""ACEBench replies as calls: one Python expression, read without ever running it.

Source of the rules: the released `eval_main.py` and its AST decoder (revision e6db74b). Whitespace is removed
first, inside string literals too; positional arguments are dropped; names stand for their text; any unary operator
negates.
"""

from __future__ import annotations

import ast
from typing import Any

from fcreview.importers.common.python_syntax import has_brackets_deeper_than, compute_arithmetic, dotted_name
from fcreview.importers.common.records import Undecodable

DecodedCall = tuple[str, dict[Any, Any]]
MAX_LENGTH = 200_000
MAX_DEPTH = 80


def remove_whitespace(reply: str) -> str:
    """The reply without any whitespace: what the evaluator decodes and what its score file repeats."""
    return "".join(reply.split())


def decode_reply(reply: Any, *, keep_whitespace: bool = False) -> list[DecodedCall]:
    """Calls of a reply `[f(a=1), g(b='x')]`; `whole` keeps the blanks, for people to read. Raises Undecodable."""
    if not isinstance(reply, str):
        raise Undecodable("the reply is not text")
    elements = getattr(parse_expression(reply.strip() if keep_whitespace else remove_whitespace(reply)), "elts", None)
    if elements is None:
        raise Undecodable("not a list of calls")
    return [_read_call(element) for element in elements]


def parse_expression(text: str) -> ast.expr:
    """One Python expression. Raises Undecodable, also for text so long or so deep that parsing it would be a risk."""
    if len(text) > MAX_LENGTH or has_brackets_deeper_than(text, MAX_DEPTH):
        raise Undecodable("too long or too deeply nested to decode")
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise Undecodable(f"invalid syntax: {said.partition(' (detected at')[0]}") from None


def decode_for_display(reply: str) -> list[DecodedCall]:
    """The calls with their texts as they were written, where they can be read that way. Raises Undecodable."""
    try:
        return decode_reply(reply, keep_whitespace=True)
    except Undecodable:
        return decode_reply(reply)


def _read_call(node: ast.expr) -> DecodedCall:
    if not isinstance(node, ast.Call):
        raise Undecodable(f"a {type(node).__name__.lower()} stands where a call should")
    return dotted_name(node.func), {word.arg: _read_value(word.value) for word in node.keywords}


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
            return _compute_value(node)
        case ast.Call():
            name, arguments = _read_call(node)
            return {name: arguments} if arguments else ast.unparse(node)
        case ast.Subscript():
            return ast.unparse(node)
    raise Undecodable(f"a {type(node).__name__.lower()} cannot be an argument")


def _read_key(node: ast.expr | None) -> Any:
    value = _read_value(node) if node is not None else None
    if isinstance(value, (list, dict)):
        raise Undecodable("an object key that is not text or a number")
    return value


def _compute_value(node: ast.expr) -> Any:
    try:
        return compute_arithmetic(node)
    except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, MemoryError) as error:
        raise Undecodable(str(error) or "an expression that is not plain arithmetic") from None

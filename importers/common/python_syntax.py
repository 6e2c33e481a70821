"""Read calls in Python syntax from the syntax tree, as the decoders of BFCL and ACEBench do. No
text is evaluated.

The official programs evaluate an argument such as `2*3`, `1/6` or `'x'+'y'` as Python. fcreview
computes the same value, but rejects expressions with a huge value.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable
from typing import Any

from fcreview.importers.common.records import Undecodable

MAX_TEXT = 1_000_000
"""Longest reply that is decoded, in characters.

No real call is that long, and the limit bounds time and memory.
"""
MAX_DEPTH = 100
"""Maximum nesting depth of brackets.

CPython's parser fails at 200 levels; 100 levels cannot exhaust the C stack.
"""
MAX_INTEGER_BITS = 4096
MAX_SEQUENCE_LENGTH = 100_000
MAX_NODES = 1000

BINARY_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}
UNARY_OPERATORS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
CALLABLE_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "float": float,
    "int": int,
    "len": len,
    "max": max,
    "min": min,
    "round": round,
    "sum": sum,
}
SEQUENCE_TYPES = (str, bytes, list, tuple)


class UnsupportedArithmetic(ValueError):
    """Raised for an expression that is not arithmetic on constants, or whose value would be too
    large.
    """


def compute_arithmetic(node: ast.expr) -> Any:
    """Compute the value of constants, lists, tuples, operators and a few functions such as `round`.

    Raises UnsupportedArithmetic for anything else and for huge values, and the errors of the
    operators.
    """
    return _compute_node(node, [MAX_NODES])


def _compute_node(node: ast.expr, remaining_nodes: list[int]) -> Any:
    """Compute the value of a syntax node.

    `remaining_nodes[0]` is the number of nodes that may still be computed.
    """
    remaining_nodes[0] -= 1
    if remaining_nodes[0] < 0:
        raise UnsupportedArithmetic("the arithmetic has too many terms")
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp):
        left, right = (
            _compute_node(node.left, remaining_nodes),
            _compute_node(node.right, remaining_nodes),
        )
        _check_result_size(node.op, left, right)
        return BINARY_OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp):
        return UNARY_OPERATORS[type(node.op)](_compute_node(node.operand, remaining_nodes))
    if isinstance(node, ast.List):
        return [_compute_node(part, remaining_nodes) for part in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_compute_node(part, remaining_nodes) for part in node.elts)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and (name := node.func.id) in CALLABLE_FUNCTIONS
    ):
        values = [_compute_node(part, remaining_nodes) for part in node.args]
        if node.keywords or (len(values) > 1 and name not in ("max", "min")):
            raise UnsupportedArithmetic(f"the arguments of {name} are not supported")
        return CALLABLE_FUNCTIONS[name](*values)
    what = (
        f"the name {node.id}"
        if isinstance(node, ast.Name)
        else f"the expression type {type(node).__name__}"
    )
    raise UnsupportedArithmetic(f"arithmetic with {what} is not supported")


def _check_result_size(op: ast.operator, left: Any, right: Any) -> None:
    if isinstance(op, ast.MatMult):
        raise UnsupportedArithmetic("the matrix product @ is not supported")
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
        # '%999999999d' % 1 would be huge
        raise UnsupportedArithmetic("string formatting with % is not supported")
    if isinstance(left, SEQUENCE_TYPES) or isinstance(right, SEQUENCE_TYPES):
        _check_sequence_length(op, left, right)
    elif isinstance(left, int) and isinstance(right, int):
        if isinstance(op, ast.Pow) and right > 0 and left.bit_length() * right > MAX_INTEGER_BITS:
            raise UnsupportedArithmetic("the result of ** is too large")
        if isinstance(op, ast.LShift) and left.bit_length() + right > MAX_INTEGER_BITS:
            raise UnsupportedArithmetic("the result of << is too large")
        if isinstance(op, ast.Mult) and left.bit_length() + right.bit_length() > MAX_INTEGER_BITS:
            raise UnsupportedArithmetic("the result of * is too large")


def _check_sequence_length(op: ast.operator, left: Any, right: Any) -> None:
    if isinstance(op, ast.Mult):
        sequence, times = (left, right) if isinstance(left, SEQUENCE_TYPES) else (right, left)
        if isinstance(times, int) and len(sequence) * max(times, 0) > MAX_SEQUENCE_LENGTH:
            raise UnsupportedArithmetic("the value of a repetition is too long")
        return
    are_sequences = isinstance(left, SEQUENCE_TYPES) and isinstance(right, SEQUENCE_TYPES)
    if are_sequences and len(left) + len(right) > MAX_SEQUENCE_LENGTH:
        raise UnsupportedArithmetic("the value of a concatenation is too long")


def has_brackets_deeper_than(text: str, limit: int) -> bool:
    """Return whether brackets are nested more than `limit` deep, which could crash a parser."""
    if text.count("(") + text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for char in text:
        if char in "([{":
            depth += 1
            if depth > limit:
                return True
        elif char in ")]}":
            depth -= 1
    return False


def check_text_size(text: str) -> None:
    """Raise Undecodable for text that is too long or too deeply nested for a parser."""
    if len(text) > MAX_TEXT:
        raise Undecodable(f"the text is too long to be decoded ({len(text):,} characters)")
    if has_brackets_deeper_than(text, MAX_DEPTH):
        raise Undecodable(f"the text has more than {MAX_DEPTH} nested brackets")


def parse_expression(text: str) -> ast.expr:
    """Parse one expression of limited size. Raises Undecodable."""
    check_text_size(text)
    try:
        with warnings.catch_warnings():
            # invalid escapes in a reply must not print warnings to the terminal
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise Undecodable(
            f"not Python call syntax: {error.msg.partition(' (detected at')[0]}"
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Undecodable(f"not Python call syntax: {error}") from None


def read_call(node: ast.Call) -> tuple[str, dict[str, Any]]:
    """Return the name and keyword arguments of a call.

    If a keyword is repeated, its last value is used.
    """
    arguments: dict[str, Any] = {}
    for argument in node.keywords:
        arguments[argument.arg] = read_argument_value(argument.value)  # type: ignore[index]  # `**x` gives the key None
    return read_dotted_name(node.func), arguments


def read_argument_value(node: ast.expr) -> Any:
    """Return the value of one argument. Raises Undecodable."""
    try:
        return _read_argument_value(node)
    except Undecodable:
        raise
    except (TypeError, ValueError, ArithmeticError, RecursionError, MemoryError, KeyError) as error:
        raise Undecodable(f"argument {unparse_node(node)[:80]}: {error}") from None


def _read_argument_value(node: ast.expr | None) -> Any:
    match node:
        case ast.Constant(value=value):
            return "..." if value is ... else value
        case ast.Name(id=name):
            return name
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            values = [_read_argument_value(element) for element in elts]
            return values if isinstance(node, ast.List) else tuple(values)
        case ast.Dict(keys=keys, values=fields):
            return {
                _read_argument_value(key): _read_argument_value(field)
                for key, field in zip(keys, fields, strict=True)
            }
        case ast.UnaryOp(operand=ast.Constant(value=value)):
            return -value  # type: ignore[operator]  # the programs negate for any operator; some constants raise
        case ast.BinOp():
            return compute_arithmetic(node)
        case ast.Call(keywords=keywords):
            if not keywords:
                return unparse_node(node)
            name, arguments = read_call(node)
            return {name: arguments}
        case ast.Subscript():
            return unparse_node(node)
    raise Undecodable(f"{type(node).__name__} is not supported as an argument value")


def unparse_node(node: ast.expr) -> str:
    """Return the source text of a node, or its type if it is nested too deeply."""
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError, MemoryError):
        return type(node).__name__


def read_dotted_name(node: ast.expr) -> str:
    """Return names joined by dots, such as `a.b.c`. A first part that is not a name is omitted."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))

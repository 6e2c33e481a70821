"""Help the decoders of Python calls to compute bounded arithmetic, check bracket depth and read dotted names.

Official evaluators evaluate an argument such as `2*3`, `1/6` or `'x'+'y'` as Python. fcreview computes the same value
from the syntax tree without evaluating any text. Expressions with names fail in the official evaluators and in
fcreview. Expressions with a huge value fail only in fcreview.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

MAX_INTEGER_BITS = 4096
MAX_SEQUENCE_LENGTH = 100_000
MAX_NODES = 1000

BINARY_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.BitAnd: operator.and_,
}  # fmt: skip
UNARY_OPERATORS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
CALLABLE_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "float": float, "int": int, "len": len, "max": max, "min": min, "round": round, "sum": sum,
}  # fmt: skip
SEQUENCE_TYPES = (str, bytes, list, tuple)


class UnsupportedArithmetic(ValueError):
    """Raised for an expression that is not arithmetic on constants, or whose value would be too large."""


def compute_arithmetic(node: ast.expr) -> Any:
    """Compute the value of an expression of constants, lists, tuples, operators and a few functions such as `round`.

    Raises UnsupportedArithmetic for anything else and for huge values. Errors of the operators and functions, such as
    ZeroDivisionError, are raised too.
    """
    return _compute_node(node, [MAX_NODES])


def _compute_node(node: ast.expr, budget: list[int]) -> Any:
    """Compute the value of a syntax node. `budget` is a list with one number: how many more nodes may be computed."""
    budget[0] -= 1
    if budget[0] < 0:
        raise UnsupportedArithmetic("arithmetic with too many terms")
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp):
        left, right = _compute_node(node.left, budget), _compute_node(node.right, budget)
        _check_result_size(node.op, left, right)
        return BINARY_OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp):
        return UNARY_OPERATORS[type(node.op)](_compute_node(node.operand, budget))
    if isinstance(node, ast.List):
        return [_compute_node(part, budget) for part in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_compute_node(part, budget) for part in node.elts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLABLE_FUNCTIONS:
        return _compute_call(node.func.id, node, budget)
    what = f"the name {node.id}" if isinstance(node, ast.Name) else f"a node of type {type(node).__name__}"
    raise UnsupportedArithmetic(f"unsupported arithmetic with {what}")


def _compute_call(name: str, node: ast.Call, budget: list[int]) -> Any:
    values = [_compute_node(part, budget) for part in node.args]
    if node.keywords or (len(values) > 1 and name not in ("max", "min")):
        raise UnsupportedArithmetic(f"unsupported arguments of {name}")
    return CALLABLE_FUNCTIONS[name](*values)


def _check_result_size(op: ast.operator, left: Any, right: Any) -> None:
    if isinstance(op, ast.MatMult):
        raise UnsupportedArithmetic("unsupported matrix product")
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
        raise UnsupportedArithmetic("unsupported string formatting")  # '%999999999d' % 1 would be huge
    if isinstance(left, SEQUENCE_TYPES) or isinstance(right, SEQUENCE_TYPES):
        _check_sequence_length(op, left, right)
    elif isinstance(left, int) and isinstance(right, int):
        if isinstance(op, ast.Pow) and right > 0 and left.bit_length() * right > MAX_INTEGER_BITS:
            raise UnsupportedArithmetic("the result of ** is too large")
        if isinstance(op, ast.LShift) and left.bit_length() + right > MAX_INTEGER_BITS:
            raise UnsupportedArithmetic("the value of a shift is too large")
        if isinstance(op, ast.Mult) and left.bit_length() + right.bit_length() > MAX_INTEGER_BITS:
            raise UnsupportedArithmetic("the value of a product is too large")


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


def dotted_name(node: ast.expr) -> str:
    """Return an attribute chain as text, such as `a.b.c`. A leftmost part that is not a name is omitted."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))

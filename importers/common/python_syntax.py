"""Arithmetic inside an argument (`2*3`, `1/6`, `'x'+'y'`), computed from the syntax tree with bounds;
nothing is evaluated.

The evaluator computes such expressions as Python would and fails on any name in them; so does this, except that an
expression whose value would be huge is a failure here.

Python syntax in model outputs: what every decoder of it needs, before and after the parser.
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
ALLOWED_FUNCTIONS: dict[str, Callable[..., Any]] = {
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
    """The expression is not plain arithmetic, or its value would be too big."""


def compute_arithmetic(node: ast.expr) -> Any:
    """The value of an expression of constants, displays and operators.

    Raises OutOfBounds; also ZeroDivisionError, TypeError, OverflowError as the operators do.
    """
    budget = [MAX_NODES]
    return _compute(node, budget)


def _compute(node: ast.expr, budget: list[int]) -> Any:
    budget[0] -= 1
    if budget[0] < 0:
        raise UnsupportedArithmetic("arithmetic with too many terms")
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp):
        left, right = _compute(node.left, budget), _compute(node.right, budget)
        _check_result_size(node.op, left, right)
        return BINARY_OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp):
        return UNARY_OPERATORS[type(node.op)](_compute(node.operand, budget))
    if isinstance(node, ast.List):
        return [_compute(part, budget) for part in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_compute(part, budget) for part in node.elts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ALLOWED_FUNCTIONS:
        return _compute_call(node.func.id, node, budget)
    raise UnsupportedArithmetic(f"arithmetic with {_describe_node(node)}")


def _compute_call(name: str, node: ast.Call, budget: list[int]) -> Any:
    values = [_compute(part, budget) for part in node.args]
    if node.keywords or (len(values) > 1 and name not in ("max", "min")):
        raise UnsupportedArithmetic(f"{name} with unusual arguments")
    return ALLOWED_FUNCTIONS[name](*values)


def _check_result_size(op: ast.operator, left: Any, right: Any) -> None:
    if isinstance(op, ast.MatMult):
        raise UnsupportedArithmetic("matrix product")
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
        raise UnsupportedArithmetic("text formatting")  # '%999999999d' % 1
    if isinstance(left, SEQUENCE_TYPES) or isinstance(right, SEQUENCE_TYPES):
        _check_sequence_length(op, left, right)
    elif isinstance(left, int) and isinstance(right, int):
        if isinstance(op, ast.Pow) and right > 0 and left.bit_length() * right > MAX_INTEGER_BITS:
            raise UnsupportedArithmetic("power makes too big a number")
        if isinstance(op, ast.LShift) and left.bit_length() + right > MAX_INTEGER_BITS:
            raise UnsupportedArithmetic("shift makes too big a number")
        if isinstance(op, ast.Mult) and left.bit_length() + right.bit_length() > MAX_INTEGER_BITS:
            raise UnsupportedArithmetic("product is too big a number")


def _check_sequence_length(op: ast.operator, left: Any, right: Any) -> None:
    if isinstance(op, ast.Mult):
        sequence, times = (left, right) if isinstance(left, SEQUENCE_TYPES) else (right, left)
        if isinstance(times, int) and len(sequence) * max(times, 0) > MAX_SEQUENCE_LENGTH:
            raise UnsupportedArithmetic("repetition makes too long a value")
    elif isinstance(left, SEQUENCE_TYPES) and isinstance(right, SEQUENCE_TYPES) and len(left) + len(right) > MAX_SEQUENCE_LENGTH:
        raise UnsupportedArithmetic("concatenation makes too long a value")


def _describe_node(node: ast.expr) -> str:
    return f"the name {node.id}" if isinstance(node, ast.Name) else type(node).__name__


def has_brackets_deeper_than(text: str, limit: int) -> bool:
    """Whether brackets are nested more than `limit` deep: such text is not given to a parser."""
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
    """`a.b.c` of an attribute chain; what is not a name at its left end is left out."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))

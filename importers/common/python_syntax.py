"""Read calls in Python syntax from the syntax tree, as the decoders of BFCL and ACEBench do. No
text is evaluated.

The official programs evaluate an argument such as `2*3`, `1/6` or `'x'+'y'` as Python. fcreview
computes the same value, but rejects expressions with a huge value.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
FUNCTIONS_OF_SEVERAL_VALUES = ("max", "min")
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
    return _ArithmeticComputer().compute(node)


@dataclass(slots=True)
class _ArithmeticComputer:
    """Computes the value of one expression, with a limit on the number of its nodes."""

    remaining_nodes: int = MAX_NODES
    """Number of nodes that may still be computed."""

    def compute(self, node: ast.expr) -> Any:
        """Compute the value of an arithmetic expression, such as `2 * 3 + len([1, 2])`.

        Only a few kinds of terms are allowed, and their number is limited. Raises
        UnsupportedArithmetic for anything else.
        """
        # Terms are computed here and not in methods, so that a long sum needs few stack frames.
        self._count_node()
        match node:
            case ast.Constant(value=value):
                return value
            case ast.BinOp(left=left_node, op=operation, right=right_node):
                left = self.compute(left_node)
                right = self.compute(right_node)
                return _compute_binary_operation(operation, left, right)
            case ast.UnaryOp(op=unary_operation, operand=operand):
                compute_unary_operation = UNARY_OPERATORS[type(unary_operation)]
                return compute_unary_operation(self.compute(operand))
            case ast.List(elts=elements):
                return [self.compute(element) for element in elements]
            case ast.Tuple(elts=elements):
                values = [self.compute(element) for element in elements]
                return tuple(values)
            case ast.Call(func=ast.Name(id=name)) if name in CALLABLE_FUNCTIONS:
                values = [self.compute(argument) for argument in node.args]
                return _call_function(name, values, has_keywords=bool(node.keywords))
            case ast.Name(id=name):
                raise UnsupportedArithmetic(f"arithmetic with the name {name} is not supported")

        expression_type = type(node).__name__
        raise UnsupportedArithmetic(
            f"arithmetic with the expression type {expression_type} is not supported"
        )

    def _count_node(self) -> None:
        self.remaining_nodes -= 1
        if self.remaining_nodes < 0:
            raise UnsupportedArithmetic("the arithmetic has too many terms")


def _compute_binary_operation(operation: ast.operator, left: Any, right: Any) -> Any:
    _check_result_size(operation, left, right)
    compute = BINARY_OPERATORS[type(operation)]
    return compute(left, right)


def _call_function(name: str, values: Sequence[Any], *, has_keywords: bool) -> Any:
    """Return the value of a call, such as 2 for `min` and the values 2 and 3."""
    takes_several_values = name in FUNCTIONS_OF_SEVERAL_VALUES
    if has_keywords or (len(values) > 1 and not takes_several_values):
        raise UnsupportedArithmetic(f"the arguments of {name} are not supported")
    function = CALLABLE_FUNCTIONS[name]
    return function(*values)


def _check_result_size(operation: ast.operator, left: Any, right: Any) -> None:
    """Raise UnsupportedArithmetic if an operation is unsupported or its result would be huge."""
    if isinstance(operation, ast.MatMult):
        raise UnsupportedArithmetic("the matrix product @ is not supported")
    if isinstance(operation, ast.Mod) and isinstance(left, (str, bytes)):
        # '%999999999d' % 1 would be huge
        raise UnsupportedArithmetic("string formatting with % is not supported")

    if isinstance(left, SEQUENCE_TYPES) or isinstance(right, SEQUENCE_TYPES):
        _check_sequence_length(operation, left, right)
    elif isinstance(left, int) and isinstance(right, int):
        _check_integer_size(operation, left, right)


def _check_integer_size(operation: ast.operator, left: int, right: int) -> None:
    """Raise UnsupportedArithmetic if an integer would have more than MAX_INTEGER_BITS bits."""
    left_bits = left.bit_length()
    match operation:
        case ast.Pow():
            sign = "**"
            n_bits = left_bits * max(right, 0)
        case ast.LShift():
            sign = "<<"
            n_bits = left_bits + right
        case ast.Mult():
            sign = "*"
            n_bits = left_bits + right.bit_length()
        case _:
            return
    if n_bits > MAX_INTEGER_BITS:
        raise UnsupportedArithmetic(f"the result of {sign} is too large")


def _check_sequence_length(operation: ast.operator, left: Any, right: Any) -> None:
    """Raise UnsupportedArithmetic if the result of `"ab" * 3`, or of `[1] + [2]`, would be too
    long. A model's reply must not use up the memory.
    """
    if isinstance(operation, ast.Mult):
        # The number can be on either side.
        sequence = left
        times = right
        if not isinstance(left, SEQUENCE_TYPES):
            sequence = right
            times = left
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
    """Return the value of an argument of a call that is written as Python source text.

    As in BFCL's programs, more than literals can be read. A name becomes a text, a call with
    keyword arguments becomes `{name: arguments}`, and any other call or an index expression becomes
    a text with its source.
    """
    match node:
        case ast.Constant(value=value):
            return "..." if value is ... else value
        case ast.Name(id=name):
            return name
        case ast.List(elts=elements):
            return [_read_argument_value(element) for element in elements]
        case ast.Tuple(elts=elements):
            values = [_read_argument_value(element) for element in elements]
            return tuple(values)
        case ast.Dict():
            return _read_dictionary(node)
        case ast.UnaryOp(operand=ast.Constant(value=value)):
            # The programs take any operator before a constant for a minus. A constant that cannot
            # be negated raises TypeError.
            return -value  # type: ignore[operator]
        case ast.BinOp():
            return compute_arithmetic(node)
        case ast.Call(keywords=[_, *_]):
            name, arguments = read_call(node)
            return {name: arguments}
        case ast.Call() | ast.Subscript():
            return unparse_node(node)
    raise Undecodable(f"{type(node).__name__} is not supported as an argument value")


def _read_dictionary(node: ast.Dict) -> dict[Any, Any]:
    values: dict[Any, Any] = {}
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        key = _read_argument_value(key_node)
        values[key] = _read_argument_value(value_node)
    return values


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

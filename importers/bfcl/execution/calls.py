"""Decide which call texts may be executed: calls of known functions with literal arguments.

The official package evaluates call texts as Python, so no other text may reach it.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

MAX_CALL_LENGTH = 100_000
MAX_BRACKET_DEPTH = 100
"""Deeper nesting could exhaust the stack of Python's parser."""
NOT_EXECUTED = "fcreview_did_not_execute_this_call()"
"""Call that takes the place of one that is not executed. It fails, because there is no such
function."""


class CallSafety(Enum):
    SAFE = "safe"
    FAILS = "calls no known function"
    """The official package fails with a NameError, which changes no state."""
    UNKNOWN = "is no call with literal arguments"
    """The official package evaluates the text, so its effect is unknown."""


@dataclass(frozen=True, slots=True)
class CallNames:
    """Names that call texts of an item can use."""

    methods: Collection[str]
    """Public methods of the item's classes."""
    visible_names: Collection[str]
    """Other names that exist where the official package evaluates a text."""


def classify_call(text: str, names: CallNames) -> CallSafety:
    """Decide whether a call text may be executed, without evaluating it.

    A call is safe if it calls a method of the item's classes with literals. `names` has the names
    that exist where the official package would evaluate the text.
    """
    call = _parse_call(text)
    if call is None:
        return CallSafety.UNKNOWN

    function = call.func
    is_known_function = isinstance(function, ast.Name) and function.id in names.methods
    if not is_known_function:
        return _classify_unknown_function(function, names)
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    has_only_literals = all(map(_is_literal, arguments))
    # `**values` has no name, and `*values` is no literal.
    has_names = all(keyword.arg is not None for keyword in call.keywords)
    return CallSafety.SAFE if has_only_literals and has_names else CallSafety.UNKNOWN


def _parse_call(text: str) -> ast.Call | None:
    """Return the syntax tree of a call. None if the text is no call, or too long or too deep."""
    if len(text) > MAX_CALL_LENGTH or _measure_depth(text) > MAX_BRACKET_DEPTH:
        return None
    try:
        with warnings.catch_warnings():
            # An invalid escape in a string causes a warning.
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree.body if isinstance(tree.body, ast.Call) else None


def _measure_depth(text: str) -> int:
    """Return the largest number of open brackets. Brackets in strings count, too."""
    depth = 0
    largest = 0
    for char in text:
        if char in "([{":
            depth += 1
            largest = max(largest, depth)
        elif char in ")]}":
            depth -= 1
    return largest


def _classify_unknown_function(function: ast.expr, names: CallNames) -> CallSafety:
    """Decide about a call whose function is not a method of the item's classes.

    Python looks up the first name, `a` of `a.b.c()`, before it evaluates anything else. If there is
    no such name, the call fails without any effect. Otherwise, its effect is unknown.
    """
    first_name = function
    while isinstance(first_name, ast.Attribute):
        first_name = first_name.value
    if not isinstance(first_name, ast.Name):
        return CallSafety.UNKNOWN

    # A method can also be the beginning of a longer name, as in `ls.real()`.
    exists = first_name.id in names.methods or first_name.id in names.visible_names
    return CallSafety.UNKNOWN if exists else CallSafety.FAILS


def _is_literal(node: ast.expr) -> bool:
    """Whether an expression is a constant, or a collection of constants, so that it runs no
    code.
    """
    if isinstance(node, ast.Constant):
        return node.value is not Ellipsis
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return all(map(_is_literal, node.elts))
    if isinstance(node, ast.Dict):
        # A key of None is `**values`.
        are_keys_literal = all(key is not None and _is_literal(key) for key in node.keys)
        return are_keys_literal and all(map(_is_literal, node.values))
    # A number with a sign, such as `-1`, is an operation.
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        operand = node.operand
        return isinstance(operand, ast.Constant) and type(operand.value) in (int, float)
    return False

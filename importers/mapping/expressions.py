"""Compile and evaluate the JMESPath expressions of a mapping file, within a time limit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from jmespath import exceptions, parser, visitor

MAX_EXPRESSION_LENGTH = 2_000
MAX_SECONDS = 0.05
"""Processor time, in seconds, that one expression may take on one item."""


class InvalidExpression(ValueError):
    """Raised for a text that is not a JMESPath expression. The message says where."""


class FailedExpression(ValueError):
    """Raised if an expression cannot be evaluated on a value, or takes too long."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled JMESPath expression."""

    text: str
    tree: dict[str, Any]


def compile_expression(text: str) -> Expression:
    """Compile an expression. Raises InvalidExpression."""
    if len(text) > MAX_EXPRESSION_LENGTH:
        raise InvalidExpression(
            f"the expression is longer than {MAX_EXPRESSION_LENGTH:,} characters"
        )
    try:
        parsed = parser.Parser().parse(text)
    except exceptions.ParseError as error:
        column = error.lex_position + 1
        raise InvalidExpression(
            f"`{text}` is not a JMESPath expression (column {column})"
        ) from error
    except (exceptions.JMESPathError, RecursionError) as error:
        raise InvalidExpression(f"`{text}` is not a JMESPath expression ({error})") from error
    return Expression(text, parsed.parsed)


def evaluate(expression: Expression, value: Any) -> Any:
    """Evaluate an expression on a JSON value. A path that does not exist gives None.

    Raises FailedExpression.
    """
    try:
        return _TimedInterpreter().visit(expression.tree, value)
    except (exceptions.JMESPathError, RecursionError, TypeError, ValueError) as error:
        first_line = str(error).partition("\n")[0]
        raise FailedExpression(f"`{expression.text}` cannot be evaluated ({first_line})") from error


class _TimedInterpreter(visitor.TreeInterpreter):  # type: ignore[misc]  # it has no types
    """Interpreter that stops an expression which takes too long.

    Projections multiply, so that a short expression can take any time.
    """

    def __init__(self) -> None:
        super().__init__()
        self._deadline = time.thread_time() + MAX_SECONDS

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        if time.thread_time() > self._deadline:
            raise FailedExpression(f"it takes more than {MAX_SECONDS * 1000:.0f} ms")
        return super().visit(node, *args, **kwargs)

"""Find the values of a mapping in a record, and decide what a verdict means."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.json_text import (
    is_nested_too_deeply,
    make_excerpt,
    parse_json_text,
)
from fcreview.importers.common.python_syntax import check_text_size, has_brackets_deeper_than
from fcreview.importers.common.records import is_number
from fcreview.importers.mapping.expressions import FailedExpression, evaluate
from fcreview.importers.mapping.files import MappedRecord
from fcreview.importers.mapping.mapping_file import (
    Parser,
    Value,
    VerdictRule,
    normalize_verdict_text,
)
from fcreview.model.json_value import to_json_text

MAX_PYTHON_DEPTH = 50
MAX_SEARCHED_CHARACTERS = 200_000
MAX_SHOWN_CHARACTERS = 80


class UnreadableValue(ValueError):
    """Raised for a value that is not what the mapping says. The message is a phrase."""


class NotAVerdict(UnreadableValue):
    """Raised for a value that is neither among the passing nor among the failing values."""


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value of a record, or why there is none."""

    value: Any = None
    problem: str = ""


MISSING = FoundValue()


def find_value(value: Value, record: MappedRecord) -> FoundValue:
    """Return a value of a record. Null is a missing value."""
    try:
        found = _locate(value, record)
        if value.parser is not None and isinstance(found, str):
            found = _parse(found, value.parser)
        if is_nested_too_deeply(found):
            raise UnreadableValue("is nested too deeply to be read")
    except (FailedExpression, UnreadableValue) as error:
        return FoundValue(problem=str(error))
    return FoundValue(found)


def _locate(value: Value, record: MappedRecord) -> Any:
    """Return the value at the place that a mapping file names: in the record, the document, or the
    path of the file.
    """
    match value.source:
        case "path" if value.expression is not None:
            return evaluate(value.expression, record.value)
        case "doc" if value.expression is not None:
            return evaluate(value.expression, record.document)
        case "file":
            return record.groups.get(value.text)
        case "entry":
            return record.entry
        case "index":
            return record.index
        case _:
            return value.text


def _parse(text: str, parser: Parser) -> Any:
    """Parse a text as lines, JSON or a Python literal. Raises UnreadableValue."""
    if parser == "lines":
        return [line for line in text.splitlines() if line.strip()]
    try:
        if parser == "json":
            return parse_json_text(text, [])
        return _parse_python_literal(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        name = "JSON" if parser == "json" else "a Python literal"
        raise UnreadableValue(f"is not {name}: {quote(text)}") from error


def _parse_python_literal(text: str) -> Any:
    """Parse a Python literal. Nothing is run."""
    check_text_size(text)
    if has_brackets_deeper_than(text, MAX_PYTHON_DEPTH):
        raise ValueError("nested too deeply")
    return _to_json(ast.literal_eval(text.strip()))


def _to_json(value: Any) -> Any:
    """Return a Python value as a JSON value. Sets and tuples become lists, other objects text."""
    if isinstance(value, dict):
        return {str(name): _to_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_json(part) for part in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def quote(value: Any) -> str:
    """Return a short form of a JSON value for a message."""
    text = value if isinstance(value, str) else to_json_text(value)
    return make_excerpt(text, MAX_SHOWN_CHARACTERS)


def to_name(value: Any) -> str | None:
    """Return a text or a number as a text, and nothing as None.

    Raises UnreadableValue for another value.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return normalize_verdict_text(value)
    raise UnreadableValue(f"is neither a text nor a number: {quote(value)}")


def to_written_text(value: Any) -> str | None:
    """Return a text unchanged, nothing as None, and another value as JSON."""
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else to_json_text(value)


def to_number(value: Any) -> int | float | None:
    """Return a number, or the number in a text.

    Raises UnreadableValue for another value, also for NaN and infinity: they are the result of
    a failed calculation, and can be neither compared nor stored.
    """
    if value is None or value == "":
        return None
    number = _parse_number(value)
    is_finite = isinstance(number, int) or (number is not None and math.isfinite(number))
    if not is_finite:
        raise UnreadableValue(f"is not a number: {quote(value)}")
    return number


def _parse_number(value: Any) -> int | float | None:
    """Return a number, or the number that a text contains, or None."""
    if is_number(value):
        number: int | float = value
        return number
    if not isinstance(value, str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def decide_verdict(rule: VerdictRule, value: Any) -> bool | None:
    """Return whether a value means pass (true) or fail (false) by a rule. None if the value, or
    what the rule finds in it, is null or empty.

    Raises NotAVerdict for a text that the rule does not know, and UnreadableValue for a value that
    is no number where the rule needs one. The meaning is never guessed.
    """
    if value is None or value == "":
        return None
    answer = value
    # The pattern finds the verdict in a longer text. A value that is a verdict as it is needs no
    # search.
    if rule.pattern is not None and not _is_verdict_text(rule, value):
        answer = _find_last_match(rule, value)

    if rule.pass_at is not None:
        number = to_number(answer)
        return None if number is None else number >= rule.pass_at
    if not _is_verdict_text(rule, answer):
        raise NotAVerdict(f"is not a verdict: {quote(answer)}")
    return normalize_verdict_text(answer) in rule.passes


def _is_verdict_text(rule: VerdictRule, value: Any) -> bool:
    """Whether a value is one of those that pass or fail. With `find`, it is then not searched."""
    if not isinstance(value, str | int | float):
        return False
    return normalize_verdict_text(value) in rule.passes | rule.fails


def _find_last_match(rule: VerdictRule, value: Any) -> str:
    """Return the group of the last match of `find`, or the whole match without a group."""
    if not isinstance(value, str) or rule.pattern is None:
        raise UnreadableValue(f"is not a text: {quote(value)}")
    if len(value) > MAX_SEARCHED_CHARACTERS:
        raise UnreadableValue(
            f"is longer than {MAX_SEARCHED_CHARACTERS:,} characters, which are not searched"
        )
    last = None
    for match in rule.pattern.finditer(value):
        last = match
    if last is None:
        raise NotAVerdict(f"has no match of {rule.pattern.pattern!r}: {quote(value)}")
    # A pattern with a group marks there which part of its match is the verdict.
    if last.re.groups > 0:
        return str(last.group(1))
    return str(last.group())

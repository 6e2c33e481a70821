"""What an item asks, on one line: what lists and searches have of it. The whole stands in its messages.

One place for what a record of unforeseen form does to an item: it is kept as far as it got, and an issue says
why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.model.item import ImportIssue, Item, Message

MAX_QUESTION_LENGTH = 400
"""Characters."""


def shorten_question(text: str) -> str:
    """Its beginning, `…` behind it where it goes on."""
    line = " ".join(text[: 4 * MAX_QUESTION_LENGTH].split())
    return line if len(line) <= MAX_QUESTION_LENGTH and len(text) <= 4 * MAX_QUESTION_LENGTH else line[: MAX_QUESTION_LENGTH - 1].rstrip() + "…"


def first_question(messages: Iterable[Message]) -> str:
    """The first that a user said."""
    return shorten_question(next((each.content for each in messages if each.role == "user"), ""))


def last_question(messages: Sequence[Message]) -> str:
    """The last that a user said."""
    return first_question(reversed(messages))


class Undecodable(ValueError):
    """Raised for a reply that does not contain calls; the message says why."""


def fill_safely(item: Item, fill: Callable[[], object]) -> Item:
    """`item` after `fill`, which may raise on broken data; then the item has an issue of severity `error`."""
    try:
        fill()
    except MALFORMED_DATA as error:
        why = f"{type(error).__name__}: {str(error)[:200]}"
        what = f"the record is not of the expected form ({why}): shown as far as it goes"
        item.issues.append(ImportIssue(item.file, item.line, what, item=item.id, severity="error"))
    if not all(isinstance(one, dict) for one in item.functions):
        item.functions = [one for one in item.functions if isinstance(one, dict)]
    return item


def read_function_docs(value: Any) -> list[dict[str, Any]]:
    """Function documents of a record: the very list if it is one of objects (the store knows it again), else what
    is usable."""
    if isinstance(value, list):
        return value if all(isinstance(one, dict) for one in value) else [one for one in value if isinstance(one, dict)]
    return [value] if isinstance(value, dict) else []


def function_names(functions: Iterable[dict[str, Any]]) -> set[str]:
    """The names in function documents; what is no text is none."""
    return {name for name in (one.get("name") for one in functions) if isinstance(name, str)}

"""Helpers for filling an item from a record of any form: its question, its function docs, and errors in the record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.model.item import ImportIssue, Item, Message

MAX_QUESTION_LENGTH = 400
"""Maximum number of characters of `Item.question`. The item's messages contain the whole question."""


class Undecodable(ValueError):
    """Raised for a reply that does not contain calls. The message is the reason."""


def shorten_question(text: str) -> str:
    """Return the text on one line, cut at MAX_QUESTION_LENGTH with `…`."""
    longest_read = 4 * MAX_QUESTION_LENGTH
    line = " ".join(text[:longest_read].split())
    if len(line) <= MAX_QUESTION_LENGTH and len(text) <= longest_read:
        return line
    return line[: MAX_QUESTION_LENGTH - 1].rstrip() + "…"


def first_question(messages: Iterable[Message]) -> str:
    """Return the first user message as a short line, or an empty string."""
    return shorten_question(next((each.content for each in messages if each.role == "user"), ""))


def last_question(messages: Sequence[Message]) -> str:
    """Return the last user message as a short line, or an empty string."""
    return first_question(reversed(messages))


def fill_safely(item: Item, fill: Callable[[], object]) -> Item:
    """Call `fill`, which fills the item, and return the item.

    If `fill` raises because the record has an unexpected format, the item keeps what was filled so far and gets an
    issue of severity `error`.
    """
    try:
        fill()
    except MALFORMED_DATA as error:
        reason = f"{type(error).__name__}: {str(error)[:200]}"
        what = f"unexpected record format ({reason}): the item is incomplete"
        item.issues.append(ImportIssue(item.file, item.line, what, item=item.id, severity="error"))
    if not all(isinstance(each, dict) for each in item.functions):
        item.functions = [each for each in item.functions if isinstance(each, dict)]
    return item


def read_function_docs(value: Any) -> list[dict[str, Any]]:
    """Return the objects among the function docs of a record, which may be a list, one object or anything else.

    A valid list is returned itself, not a copy, so that the store writes a list that several items share only once.
    """
    if isinstance(value, list):
        objects = [each for each in value if isinstance(each, dict)]
        return value if len(objects) == len(value) else objects
    return [value] if isinstance(value, dict) else []


def function_names(functions: Iterable[dict[str, Any]]) -> set[str]:
    """Return the names in function docs. Names that are not strings are ignored."""
    return {name for name in (each.get("name") for each in functions) if isinstance(name, str)}

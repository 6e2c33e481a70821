"""What an item asks, on one line: what lists and searches have of it. The whole stands in its messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fcreview.model import Message

LONGEST = 400
"""Characters."""


def question_line(text: str) -> str:
    """Its beginning, `…` behind it where it goes on."""
    line = " ".join(text[: 4 * LONGEST].split())
    return line if len(line) <= LONGEST and len(text) <= 4 * LONGEST else line[: LONGEST - 1].rstrip() + "…"


def asked_first(messages: Iterable[Message]) -> str:
    """The first that a user said."""
    return question_line(next((each.content for each in messages if each.role == "user"), ""))


def asked_last(messages: Sequence[Message]) -> str:
    """The last that a user said."""
    return asked_first(reversed(messages))

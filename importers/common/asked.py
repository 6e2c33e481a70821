"""What an item asks, on one line: what lists and searches have of it. The whole stands in its messages."""

from __future__ import annotations

LONGEST = 400
"""Characters."""


def question_line(text: str) -> str:
    """Its beginning, `…` behind it where it goes on."""
    line = " ".join(text[: 4 * LONGEST].split())
    return line if len(line) <= LONGEST and len(text) <= 4 * LONGEST else line[: LONGEST - 1].rstrip() + "…"

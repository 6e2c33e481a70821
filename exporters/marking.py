"""Text from data in Markdown: nothing of it is read as markup, as a mention or as a link."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fcreview.sanitise import visible, visible_lines

TICKS = re.compile(r"`+")


def block(text: str, language: str = "") -> list[str]:
    """A fenced block: nothing in it is markup, no mention, no link. The fence is longer than any in the text."""
    fence = "`" * max(3, 1 + _longest(text))
    return [fence + language, *visible_lines(text), fence]


def code(text: str) -> str:
    """A code span on one line."""
    shown = " ".join(visible(text).split()) or "(none)"
    ticks = "`" * (1 + _longest(shown))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def titled(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines under a title in bold. `title` is Markdown already."""
    yield f"**{title}**"
    yield ""
    yield from lines
    yield ""


def _longest(text: str) -> int:
    """Of the runs of backticks."""
    return max(map(len, TICKS.findall(text)), default=0)

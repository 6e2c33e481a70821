"""A report as Markdown (CommonMark with GitHub's tables).

Text from data in Markdown: nothing of it is read as markup, as a mention or as a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fcreview.exporters.report.sections import Page, Section, Table, Text
from fcreview.model.sanitize import sanitize, sanitize_lines

TICKS = re.compile(r"`+")


def block(text: str, language: str = "") -> list[str]:
    """A fenced block: nothing in it is markup, no mention, no link. The fence is longer than any in the text."""
    fence = "`" * max(3, 1 + _longest(text))
    return [fence + language, *sanitize_lines(text), fence]


def code(text: str) -> str:
    """A code span on one line."""
    shown = " ".join(sanitize(text).split()) or "(none)"
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


_PLAIN = re.compile(r"(?:[^\W_]|(?<=[^\W_])_(?=[^\W_])|[] .,;:()%/·…+='?[-])*")
"""Text that means nothing in Markdown wherever it stands inside a line, once its brackets are escaped."""
_BRACKET = re.compile(r"[][]")
_LINK = re.compile(r"://|www\.", re.IGNORECASE)
INDENT = "\u2003"
"""An em space: others are swallowed."""


def markdown(page: Page) -> str:
    lines = [f"# {inline(page.title)}", ""]
    for text in page.lead:
        lines += [inline(text), ""]
    for section in page.sections:
        lines += _section(section, 2)
    return "\n".join(lines)


def inline(text: str) -> str:
    """As it is if nothing in it is markup, else as a code span: then nothing is, no mention and no link either."""
    shown = sanitize(text)
    if _PLAIN.fullmatch(shown) and not _LINK.search(shown):
        return _BRACKET.sub(r"\\\g<0>", shown)
    return code(text)


def _section(section: Section, level: int) -> Iterator[str]:
    yield f"{'#' * level} {inline(section.title)}"
    yield ""
    for block in section.blocks:
        if isinstance(block, Text):
            yield inline(block.text)
        else:
            yield from _table(block)
        yield ""
    for inner in section.sections:
        yield from _section(inner, level + 1)


def _table(block: Table) -> Iterator[str]:
    """Bars are left out: the numbers beside them say the same."""
    yield _row([_cell(head) for head in block.heads])
    yield _row(["--:" if at in block.right else "---" for at in range(len(block.heads))])
    for row in block.rows:
        first, *others = map(_cell, row.cells)
        yield _row([INDENT * row.level + first, *others])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return inline(text).replace("|", "\\|") if text.strip() else ""

"""Render a report as GitHub Markdown. Text from data never becomes markup, a mention or a link."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fcreview.exporters.report_sections import Paragraph, ReportPage, Section, Table
from fcreview.model.sanitize import sanitize, sanitize_lines

TICKS = re.compile(r"`+")


def code_block(text: str, language: str = "") -> list[str]:
    """Return a fenced code block, with a fence longer than any run of backticks in the text."""
    fence = "`" * max(3, 1 + _longest_backticks(text))
    return [fence + language, *sanitize_lines(text), fence]


def code_span(text: str) -> str:
    shown = " ".join(sanitize(text).split()) or "(none)"
    ticks = "`" * (1 + _longest_backticks(shown))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def titled_lines(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield a bold title and the lines below it. `title` must be Markdown."""
    yield f"**{title}**"
    yield ""
    yield from lines
    yield ""


def _longest_backticks(text: str) -> int:
    return max(map(len, TICKS.findall(text)), default=0)


_PLAIN = re.compile(r"(?:[^\W_]|(?<=[^\W_])_(?=[^\W_])|[] .,;:()%/·…+='?[-])*")
"""Pattern of text that contains no Markdown markup once brackets are escaped."""
_BRACKET = re.compile(r"[][]")
_LINK = re.compile(r"://|www\.", re.IGNORECASE)
INDENT = "\u2003"
"""Em space that indents a cell, because Markdown drops leading spaces."""


def render_markdown(page: ReportPage) -> str:
    lines = [f"# {inline_text(page.title)}", ""]
    for text in page.lead:
        lines += [inline_text(text), ""]
    for card in page.cards:
        lines.append(f"- {inline_text(card.label)}: {inline_text(card.value)} · {inline_text(card.note)}")
    lines.append("")
    for section in (*page.summary, *page.details):
        lines += _render_section(section, 2)
    return "\n".join(lines)


def inline_text(text: str) -> str:
    """Return the text unchanged if it contains no markup, else as a code span."""
    shown = sanitize(text)
    if _PLAIN.fullmatch(shown) and not _LINK.search(shown):
        return _BRACKET.sub(r"\\\g<0>", shown)
    return code_span(text)


def _render_section(section: Section, level: int) -> Iterator[str]:
    yield f"{'#' * level} {inline_text(section.title)}"
    yield ""
    for block in section.blocks:
        if isinstance(block, Paragraph):
            yield inline_text(block.text)
        else:
            yield from _render_table(block)
        yield ""
    for inner in section.sections:
        yield from _render_section(inner, level + 1)


def _render_table(block: Table) -> Iterator[str]:
    yield _format_row([_format_cell(head) for head in block.heads])
    yield _format_row(["--:" if at in block.right else "---" for at in range(len(block.heads))])
    for row in block.rows:
        first, *others = map(_format_cell, row.cells)
        yield _format_row([INDENT * row.level + first, *others])


def _format_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _format_cell(text: str) -> str:
    return inline_text(text).replace("|", "\\|") if text.strip() else ""

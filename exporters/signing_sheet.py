"""Format a signing sheet: one page for the appendix of a paper, with what a reader needs to
judge a number.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WIDTH = 100
LABEL_WIDTH = 16


@dataclass(frozen=True, slots=True)
class SheetEntry:
    label: str
    lines: Sequence[str]
    """Paragraphs of plain text. They must be safe to print."""


@dataclass(frozen=True, slots=True)
class SigningSheet:
    title: str
    entries: Sequence[SheetEntry]


def format_signing_sheet(sheet: SigningSheet) -> Iterator[str]:
    """Yield the lines of a sheet: labels on the left, and wrapped text beside them."""
    yield sheet.title
    yield "=" * min(len(sheet.title), WIDTH)
    for entry in sheet.entries:
        yield from _format_entry(entry)
    yield ""
    signature_line = "_" * 30
    date_line = "_" * 14
    yield f"{'signed':<{LABEL_WIDTH}}{signature_line}  {'date':<6}{date_line}"


def _format_entry(entry: SheetEntry) -> Iterator[str]:
    """Yield the lines of an entry of the sheet: the label with the first wrapped line beside it,
    then the other lines with the same indentation.
    """
    label = entry.label
    paragraphs = entry.lines or ("–",)
    for paragraph in paragraphs:
        rows = textwrap.wrap(paragraph, WIDTH - LABEL_WIDTH) or [""]
        for row in rows:
            yield f"{label:<{LABEL_WIDTH}}{row}"
            label = ""

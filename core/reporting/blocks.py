"""What a report is made of. Texts are as they are in data: whoever writes them escapes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fcreview.figures import FigureSource


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A share as a bar."""

    source: FigureSource
    value: float
    """0 to 1."""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    cells: Sequence[str]
    level: int = 0
    """Indentation of the first cell."""
    bars: Sequence[Bar] = ()


@dataclass(frozen=True, slots=True)
class Table:
    heads: Sequence[str]
    rows: Sequence[TableRow]
    right: frozenset[int] = frozenset()
    """Columns of numbers."""


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    blocks: Sequence[Text | Table] = ()
    sections: Sequence[Section] = field(default_factory=list)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Table:
    return Table(heads, [TableRow(row) for row in rows], frozenset(right))


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    lead: Sequence[str]
    """Paragraphs below the title."""
    sections: Sequence[Section]

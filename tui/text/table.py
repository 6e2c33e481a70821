"""Short tables: cells to lines whose columns fit the width. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fcreview.text.columns import GAP, column_sizes, filled
from fcreview.tui.text.format import cut
from fcreview.tui.text.lines import Line, Part


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    right: bool = False
    """Numbers."""
    cut: Callable[[str, int], str] = cut
    """How text that is too long is shortened."""
    least: int = 6
    """Cells it is not squeezed below while another column can give."""


def table(columns: Sequence[Column], rows: Sequence[Sequence[Part]], cells: int) -> tuple[Line, list[Line]]:
    """(heading, lines); cells hold visible text. The last column is not filled up."""
    texts = [[text for text, _ in row] for row in rows]
    least = [column.least for column in columns]
    sizes = column_sizes([column.title for column in columns], texts, cells=cells, least=least)
    heading = _line(columns, [(column.title, "dim") for column in columns], sizes)
    return heading, [_line(columns, row, sizes) for row in rows]


def _line(columns: Sequence[Column], row: Sequence[Part], sizes: Sequence[int]) -> Line:
    parts: list[Part] = []
    for at, (column, (text, style), size) in enumerate(zip(columns, row, sizes, strict=True)):
        shown = filled(column.cut(text, size), size, right=column.right)
        parts.append((shown if at == 0 else " " * GAP + shown, style))
    return tuple(parts)

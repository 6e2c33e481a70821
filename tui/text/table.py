"""Short tables: cells to lines whose columns fit the width. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fcreview.sanitise import width
from fcreview.tui.text.format import cut, fill
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


def column_sizes(columns: Sequence[Column], rows: Sequence[Sequence[Part]], cells: int) -> list[int]:
    """Cells per column: what each needs; where that is too much, the last gives first, then whichever is widest.

    Two blanks stand between columns.
    """
    sizes = [max([width(column.title), *(width(row[at][0]) for row in rows)]) for at, column in enumerate(columns)]
    room = cells - 2 * (len(columns) - 1)
    while sum(sizes) > room:
        givers = [at for at, column in enumerate(columns) if sizes[at] > max(column.least, width(column.title))]
        if not givers:
            break
        giver = last if (last := len(columns) - 1) in givers else max(givers, key=sizes.__getitem__)
        sizes[giver] -= 1
    return sizes


def table(columns: Sequence[Column], rows: Sequence[Sequence[Part]], cells: int) -> tuple[Line, list[Line]]:
    """(heading, lines); cells hold visible text. The last column is not filled up."""
    sizes = column_sizes(columns, rows, cells)
    heading = _line(columns, [(column.title, "dim") for column in columns], sizes)
    return heading, [_line(columns, row, sizes) for row in rows]


def _line(columns: Sequence[Column], row: Sequence[Part], sizes: Sequence[int]) -> Line:
    parts: list[Part] = []
    for at, (column, (text, style), size) in enumerate(zip(columns, row, sizes, strict=True)):
        shown = column.cut(text, size)
        shown = " " * (size - width(shown)) + shown if column.right else fill(shown, size)
        parts.append((shown if at == 0 else "  " + shown, style))
    return tuple(parts)

"""How wide the columns of a table are, and text filled up to them. Pure: visible text in, cells out."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.sanitise import width

GAP = 2
"""Blanks between columns."""


def column_sizes(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    widest: int | None = None,
    cells: int | None = None,
    least: Sequence[int] = (),
) -> list[int]:
    """Cells per column: what its title and texts need, at most `widest` in all columns but the last.

    With `cells` for the whole table, the last column gives first where that is too much, then whichever is widest; none
    goes below its `least` or its title.
    """
    sizes = [max([width(title), *(width(row[at]) for row in rows)]) for at, title in enumerate(titles)]
    last = len(sizes) - 1
    if widest is not None:
        sizes = [min(size, widest) if at < last else size for at, size in enumerate(sizes)]
    if cells is None:
        return sizes
    lowest = [max([width(title), *least[at : at + 1]]) for at, title in enumerate(titles)]
    while sum(sizes) + GAP * last > cells:
        givers = [at for at, size in enumerate(sizes) if size > lowest[at]]
        if not givers:
            break
        sizes[last if last in givers else max(givers, key=sizes.__getitem__)] -= 1
    return sizes


def filled(text: str, cells: int, *, right: bool = False) -> str:
    """Text that fits, with blanks up to its column's width; `right` for numbers."""
    blanks = " " * (cells - width(text))
    return blanks + text if right else text + blanks

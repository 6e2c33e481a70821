"""Two panes side by side, and a function's document beside its values: from which width on, how wide each is, and what
stands above them. Pure."""

from __future__ import annotations

from fcreview.sanitise import width
from fcreview.tui.text.lines import Line
from fcreview.tui.text.theme import symbols

TWO_FROM = 140
"""Columns of the screen."""
LEAST_LIST = 59
MOST_LIST = 100
ITEM = 100
"""Columns an item gets before the list gets more than its least."""
VALUES = 90
"""Columns an item keeps for itself when the document stands beside it: names, and some forty for each side."""
LEAST_DOCUMENT = 38
MOST_DOCUMENT = 70
THREE_FROM = LEAST_LIST + 1 + VALUES + 1 + LEAST_DOCUMENT
"""Columns of the screen, from which on list, item and document stand side by side."""


def list_cells(cells: int) -> int:
    """Of a screen of so many columns; one is the line between the panes, the rest is the item's. What is there beyond
    the least of the one and the due of the other is shared."""
    spare = (cells - THREE_FROM) // 3 if cells >= THREE_FROM else max(cells - 1 - LEAST_LIST - ITEM, 0) // 2
    return min(LEAST_LIST + spare, MOST_LIST)


def document_cells(cells: int) -> int:
    """Of an item's pane of so many columns; 0 where there is no room for a document. One more is the line before it."""
    spare = cells - VALUES - 1 - LEAST_DOCUMENT
    return min(LEAST_DOCUMENT + spare // 2, MOST_DOCUMENT) if spare >= 0 else 0


def title_line(name: str, cells: int, *, focused: bool) -> Line:
    """`━━▸ item ━━━━━` above the pane with the focus, `─── list ─────` above the other: told apart without colour."""
    sign = symbols()
    line, mark = (sign.heavy, sign.cursor) if focused else (sign.rule, sign.rule)
    head = f"{line * 2}{mark} {name} "
    return ((head + line * max(cells - width(head), 0), "strong" if focused else "dim"),)

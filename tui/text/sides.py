"""Two panes side by side: from which width on, how wide each is, and what stands above them. Pure."""

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


def list_cells(cells: int) -> int:
    """Of a screen of so many columns; one is the line between the panes, the rest is the item's. What is there beyond
    the least of the one and the due of the other is shared."""
    return min(LEAST_LIST + max(cells - 1 - LEAST_LIST - ITEM, 0) // 2, MOST_LIST)


def title_line(name: str, cells: int, *, focused: bool) -> Line:
    """`━━▸ item ━━━━━` above the pane with the focus, `─── list ─────` above the other: told apart without colour."""
    sign = symbols()
    line, mark = (sign.heavy, sign.cursor) if focused else (sign.rule, sign.rule)
    head = f"{line * 2}{mark} {name} "
    return ((head + line * max(cells - width(head), 0), "strong" if focused else "dim"),)

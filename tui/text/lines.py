"""Styled lines as plain data, and the wrapping that all screens of text share. Pure: no app, no terminal.

A style is a name of `theme.style` (`dim`, `strong`, `bad`, `diff`); what it looks like is decided where it is drawn.
Widths are display cells. Text that comes from data has been through `fcreview.sanitise` before it gets here.
"""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.sanitise import MAX_MARKS, clip, pad, visible_lines, width
from fcreview.tui.text.theme import symbols

Part = tuple[str, str]
"""(text, style name)"""
Line = tuple[Part, ...]

BLANK: Line = ()
RULE = 6
"""Cells of a rule that its text never takes."""


def line(text: str, style: str = "") -> Line:
    return ((text, style),)


def plain(of: Line) -> str:
    return "".join(text for text, _ in of)


def line_width(of: Line) -> int:
    return sum(width(text) for text, _ in of)


def _reach(text: str, start: int, cells: int) -> int:
    """The end of the longest piece from `start` that is at most `cells` wide; at least one character."""
    end, used = start, 0
    while end < len(text):
        used += width(text[end])
        if used > cells and end > start:
            break
        end += 1
        if used > cells:
            break
    return end


def _head(text: str, cells: int, limit: int) -> str:
    """Enough of a text to fill `limit` rows and tell that there is more: a cell may hold a character and its marks."""
    return text[: (limit + 1) * (cells + 1) * (1 if text.isascii() else 1 + MAX_MARKS)]


def wrap(text: str, cells: int, limit: int | None = None) -> list[str]:
    """Rows of at most `cells` cells that joined are `text`. Breaks behind a blank if one lies in the row's second half,
    else inside the word. Stops after `limit` rows, so that the cost does not depend on what lies behind."""
    cells = max(cells, 1)
    if limit is not None:
        text = _head(text, cells, limit)
    rows: list[str] = []
    start, size, simple = 0, len(text), text.isascii()
    while start < size and (limit is None or len(rows) < limit):
        end = min(start + cells, size) if simple else _reach(text, start, cells)
        if end < size:
            blank = text.rfind(" ", start + max(1, (end - start) // 2), end)
            if blank > 0:
                end = blank + 1
        rows.append(text[start:end])
        start = end
    return rows or [""]


def wrap_text(text: str, cells: int, limit: int | None = None) -> list[str]:
    """Rows of a text from data: made visible, its own line breaks kept. With `limit`, only the head is looked at."""
    if limit is not None:
        text = _head(text, max(cells, 1), limit)
    rows: list[str] = []
    for part in visible_lines(text):
        left = None if limit is None else limit - len(rows)
        if left is not None and left <= 0:
            break
        rows.extend(wrap(part, cells, left))
    return rows


def fold_text(text: str, cells: int, limit: int) -> tuple[list[str], bool]:
    """The first `limit` rows of a text and whether there is more."""
    rows = wrap_text(text, cells, limit + 1)
    if len(rows) > limit:
        return rows[:limit], True
    return rows, False


def size_text(text: str) -> str:
    """`12 KB`: size in UTF-8, as people read it. Lone surrogates count three bytes, as they would be stored."""
    n = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if n < 1000:
        return f"{n} B"
    return f"{n / 1000:.1f} KB" if n < 10_000 else f"{n // 1000} KB" if n < 1_000_000 else f"{n / 1e6:.1f} MB"


def labelled(label: str, rows: Sequence[str], style: str = "", label_style: str = "dim") -> list[Line]:
    """Rows behind a label that stands in the first line only."""
    indent = " " * width(label)
    return [((label if at == 0 else indent, label_style), (row, style)) for at, row in enumerate(rows)]


def rule(parts: Line, cells: int, dash: str = "") -> Line:
    """`── text ─────────` over the whole width; the text is clipped so that two dashes remain at its end."""
    dash = dash or symbols().rule
    fitted = fit(parts, max(cells - RULE, 1))
    rest = max(cells - 4 - line_width(fitted), 0)
    return ((dash * 2 + " ", "dim"), *fitted, (" " + dash * rest, "dim"))


def fit(parts: Line, cells: int) -> Line:
    """The parts cut to `cells`, with `…` where something was cut; blanks at the end are nothing to cut."""
    if line_width(parts) <= cells:
        return parts
    short = list(parts)
    while short and not short[-1][0].strip(" "):
        short.pop()
    short[-1:] = [(text.rstrip(" "), style) for text, style in short[-1:]]
    fitted: list[Part] = []
    left = cells - (1 if line_width(tuple(short)) > cells else 0)
    for text, style in short:
        if (w := width(text)) > left:
            fitted += [(clip(text + "  ", left + 1), style)] if left >= 0 else []
            break
        fitted.append((text, style))
        left -= w
    return tuple(fitted)


def spread(left: Line, right: Line, cells: int) -> Line:
    """One line with `left` at its start and `right` at its end; where both do not fit, the left is cut."""
    right = fit(right, cells)
    room = cells - line_width(right)
    left = fit(left, max(room - 1, 0))
    return (*left, (" " * (room - line_width(left)), ""), *right)


def column(text: str, cells: int, style: str = "") -> Part:
    return (pad(clip(text, cells), cells), style)

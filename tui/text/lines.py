"""Styled lines as plain data, and the wrapping that all screens of text share. Pure: no app, no terminal.

A style is a name of `theme.style` (`dim`, `strong`, `bad`, `diff`); what it looks like is decided where it is drawn.
Widths are display cells. Text that comes from data has been through `fcreview.model.sanitize` before it gets here.

JSON as people read it: what fits stands on one line. Pure.

Text cut to the room there is for it, rates, and key hints. Pure: visible text in, visible text out.

Names (ids, models, error types) are cut in the middle, since what tells them
apart mostly stands at the end; sentences are cut at the end.

Two panes side by side, and a function's document beside its values: from which width on, how wide each is, and what
stands above them. Pure.

Short tables: cells to lines whose columns fit the width. Pure.

What a list to choose from holds. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fcreview.model import wording
from fcreview.model.sanitize import MAX_MARKS, clip, pad, visible_lines, width
from fcreview.model.wording import align_row, column_sizes, filled
from fcreview.tui.text.theme import symbols

CELLS = 76
LONGEST = 200_000
"""Characters up to which a text is laid out so: it is measured once for each level."""


def laid_out(value: Any, cells: int = CELLS, indent: int = 0) -> str:
    """Objects and lists that do not fit into `cells` characters are broken, a line each part, others are not. Raises
    as `json.dumps` does; recursion is as deep as the value."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) + indent <= cells or not isinstance(value, (dict, list)) or not value:
        return text
    inner, blank = indent + 2, " " * (indent + 2)
    if isinstance(value, dict):
        keys = [json.dumps(name, ensure_ascii=False) for name in value]
        parts = [f"{blank}{key}: {laid_out(one, cells, inner)}" for key, one in zip(keys, value.values(), strict=True)]
        opening, closing = "{", "}"
    else:
        parts = [blank + laid_out(one, cells, inner) for one in value]
        opening, closing = "[", "]"
    return "\n".join([opening, ",\n".join(parts), " " * indent + closing])


def laid_out_text(text: str) -> str:
    """JSON text laid out; any other text as it is."""
    if len(text) > LONGEST:
        return text
    try:
        return laid_out(json.loads(text))
    except (ValueError, RecursionError):
        return text


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


LEAST_HEAD = 4
"""Fewer letters of a name's beginning say nothing."""
_DOTTED = re.compile(r"(^|\(golden )(?:[^\W\d]\w*\.)+(?=[^\W\d])")


def cut(text: str, cells: int) -> str:
    """The beginning of visible text, with the ellipsis of the symbol set if something was left out."""
    clipped = clip(text, cells)
    return clipped if clipped == text else clipped[:-1] + symbols().ellipsis


def cut_middle(text: str, cells: int, share: float = 1 / 3) -> str:
    """Beginning and end of a visible name, `share` of the room for the beginning: `live_…le_23-20-0`."""
    if width(text) <= cells:
        return text
    if cells < 4:
        return cut(text, cells)
    head = _format_reach(text, int((cells - 1) * share))
    tail = _format_reach(text[::-1], cells - 1 - width(head))[::-1]
    return head + symbols().ellipsis + tail


def cut_type(text: str, cells: int) -> str:
    """An error type such as `simple_function_checker:wrong_count`: what stands behind its last colon tells it from the
    others and is kept whole if it fits, behind as much of the rest as says something: `…:decoder_failed`."""
    if width(text) <= cells:
        return text
    kind = text.rpartition(":")[2]
    room = cells - 2 - width(kind)
    if kind != text and room >= 0:
        return (_format_reach(text, room) if room >= LEAST_HEAD else "") + symbols().ellipsis + ":" + kind
    return kind if width(kind) <= cells else cut_middle(kind, cells, 1 / 2)


def cut_difference(text: str, cells: int) -> str:
    """A first difference: what it names stands behind the last dot, as in `…queryViolation not called`."""
    if width(text) > cells:
        text = _DOTTED.sub(lambda found: found[1] + symbols().ellipsis, text)
    return cut(text, cells)


def _format_reach(text: str, cells: int) -> str:
    used = 0
    for at, char in enumerate(text):
        used += width(char)
        if used > cells:
            return text[:at]
    return text


def centre(text: str, cells: int) -> str:
    left = (cells - width(text)) // 2
    return " " * left + filled(text, cells - left)


def rate_of(passes: int, known: int, items: int) -> str:
    """`71.3 %`, `71.3 % of 998` where not all items are known, or a dash where nothing is."""
    return wording.rate_of(passes, known, items) if known or symbols().rule == wording.NOTHING else "–"


def recomputed(passes: int, known: int, items: int) -> str:
    """As `words.recomputed`, in symbols that the terminal has."""
    return wording.recomputed(passes, known, items, symbols().none)


def hints_line(hints: Sequence[tuple[str, str]], cells: int, always: int = 2) -> Line:
    """The key line: as many hints as fit, the last `always` of them in any case (help and quit)."""
    kept = list(hints)
    gap = _gap(kept, cells)
    while gap < 1 and len(kept) > always:
        kept.pop(-always - 1)
        gap = _gap(kept, cells)
    parts: list[Part] = []
    for at, (key, says) in enumerate(kept):
        parts += [(" " * (max(gap, 1) if at else 1), ""), (key, "key"), (" " + says, "")]
    return tuple(parts)


def _gap(hints: Sequence[tuple[str, str]], cells: int) -> int:
    """Blanks between hints that fit, at most 3; less than 1 if they do not fit at all."""
    if len(hints) < 2:
        return 3
    return min(3, (cells - 1 - sum(width(key) + 1 + width(says) for key, says in hints)) // (len(hints) - 1))


def waiting_words(what: str, seconds: float, leave: str = "") -> str:
    """`counting failures · 2 s · Esc leaves them`; `leave`: the key that does."""
    parts = [what, f"{seconds:.0f} s" if seconds >= 1 else "", f"{leave} leaves them" if leave else ""]
    return f" {symbols().between} ".join(filter(None, parts))


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
    texts = [column.cut(text, size) for column, (text, _), size in zip(columns, row, sizes, strict=True)]
    shown = align_row(texts, sizes, [at for at, column in enumerate(columns) if column.right])
    return tuple((text, style) for text, (_, style) in zip(shown, row, strict=True))


T = TypeVar("T")


@dataclass(slots=True)
class Choices(Generic[T]):
    """A table (cells hold visible text) and what each row stands for."""

    title: str
    noun: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Part]]
    values: Sequence[T]
    cursor: int = 0
    empty: str = "nothing here"
    note: str = ""
    """Shown at the right of the title."""
    small: bool = False
    """Needs few lines: what lies behind stays visible."""
    amount: int | None = None
    """How many to say there are, where that is not the number of rows."""

    def lines(self, cells: int) -> tuple[Line, list[Line]]:
        heading, lines = table(self.columns, self.rows, cells - 3)
        return (("  ", ""), *heading), [((" ", ""), *line) for line in lines]

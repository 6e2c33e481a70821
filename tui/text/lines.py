"""Build styled lines as plain data: wrap, truncate and align texts, and format tables, JSON and
pane widths.

A style is a name such as `dim` or `diff`, which `styles.get_style` resolves when the line is drawn.
Widths are display cells. Texts are visible: text from data has been sanitized with
`fcreview.model.sanitize`, unless stated otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from fcreview.model import wording
from fcreview.model.sanitize import MAX_MARKS, clip, display_width, pad, sanitize_lines
from fcreview.model.wording import align_row, compute_column_widths
from fcreview.tui.text.styles import symbols

JSON_WIDTH = 76
JSON_INDENTATION = 2
MAX_JSON_CHARS = 200_000
"""Maximum length, in characters, of a JSON text to format. Longer texts take too long, because each
value is serialized once per nesting level.
"""


def format_json(value: Any, cells: int = JSON_WIDTH, indentation: int = 0) -> str:
    """Format a JSON value on one line or, if it does not fit into `cells`, with a line for each
    member.

    Members are treated in the same way. `indentation`: blanks before the value. Raises the
    exceptions of `json.dumps`.
    """
    text = json.dumps(value, ensure_ascii=False)
    fits = len(text) + indentation <= cells
    if fits or not isinstance(value, (dict, list)) or not value:
        return text

    inner_indentation = indentation + JSON_INDENTATION
    if isinstance(value, list):
        elements = [format_json(element, cells, inner_indentation) for element in value]
        return _join_json_members(elements, opening="[", closing="]", indentation=indentation)

    members = []
    for name, member in value.items():
        key = json.dumps(name, ensure_ascii=False)
        members.append(f"{key}: {format_json(member, cells, inner_indentation)}")
    return _join_json_members(members, opening="{", closing="}", indentation=indentation)


def _join_json_members(
    members: Sequence[str], *, opening: str, closing: str, indentation: int
) -> str:
    """Join the members of an object or array, each on a line of its own, indented."""
    outer_blank = " " * indentation
    inner_blank = " " * (indentation + JSON_INDENTATION)
    body = ",\n".join(inner_blank + member for member in members)
    return f"{opening}\n{body}\n{outer_blank}{closing}"


def format_json_text(text: str) -> str:
    """Format a JSON text. Return any other text unchanged."""
    if len(text) > MAX_JSON_CHARS:
        return text
    try:
        return format_json(json.loads(text))
    except (ValueError, RecursionError):
        return text


StyledText = tuple[str, str]
"""(text, name of its style)"""
Line = tuple[StyledText, ...]
KeyHint = tuple[str, str]
"""(displayed name of a key, label of its action) in the key line."""

BLANK_LINE: Line = ()
RULE_MARGIN = 6
"""Minimum width, in cells, of the dashes and blanks around the text of a horizontal rule."""


def make_line(text: str, style: str = "") -> Line:
    return ((text, style),)


def plain_text(line: Line) -> str:
    """Return the text of a line without styles."""
    return "".join(text for text, _ in line)


def line_width(line: Line) -> int:
    return sum(display_width(text) for text, _ in line)


class LineBuilder:
    """Builds a line from left to right."""

    def __init__(self) -> None:
        self._parts: list[StyledText] = []

    def add(self, text: str, style: str = "") -> None:
        if text:
            self._parts.append((text, style))

    def add_line(self, line: Line) -> None:
        """Add all parts of another line."""
        self._parts.extend(line)

    def add_padded(self, text: str, cells: int, style: str = "") -> None:
        """Add a text that is clipped or padded to exactly `cells`."""
        self.add(pad(text, cells), style)

    def pad_to(self, cells: int) -> None:
        """Add blanks until the line is `cells` wide. A wider line stays as it is."""
        self.add(" " * (cells - self.width))

    @property
    def width(self) -> int:
        """Width of the line so far, in cells."""
        return line_width(tuple(self._parts))

    @property
    def is_empty(self) -> bool:
        return not self._parts

    def build(self) -> Line:
        return tuple(self._parts)


def join_lines(lines: Sequence[Line], separator: StyledText) -> Line:
    """Join lines to one line. Empty lines are omitted."""
    joined = LineBuilder()
    for line in lines:
        if not line:
            continue
        if not joined.is_empty:
            joined.add(*separator)
        joined.add_line(line)
    return joined.build()


def _find_row_end(text: str, start: int, cells: int) -> int:
    """Return the end offset of the longest slice from `start` that fits into `cells`. It has at
    least one character.
    """
    used = 0
    for end in range(start, len(text)):
        used += display_width(text[end])
        if used > cells:
            return max(end, start + 1)
    return len(text)


def _cut_after_first_rows(text: str, cells: int, max_rows: int) -> str:
    """Return a beginning of a text that fills more than `max_rows` rows."""
    # A cell may hold a character and its combining marks.
    max_chars_per_cell = 1 if text.isascii() else 1 + MAX_MARKS
    max_chars = (max_rows + 1) * (cells + 1) * max_chars_per_cell
    return text[:max_chars]


WORD_SIGNS = "._/-,:"
"""Signs after which a row may end inside a word."""


def wrap_sanitized(text: str, cells: int, max_rows: int | None = None) -> list[str]:
    """Split visible text into rows of at most `cells` cells, at most `max_rows` if given. The
    joined rows are the text.

    A row ends after a blank if the row's second half has one, or if the next word fits on a row.
    Otherwise it ends inside a word, after a sign such as `.` or `_` if the second half has one.
    """
    cells = max(cells, 1)
    # A long text is cut first, so that the time does not depend on its length.
    if max_rows is not None:
        text = _cut_after_first_rows(text, cells, max_rows)
    size = len(text)
    is_ascii = text.isascii()

    rows: list[str] = []
    start = 0
    while start < size and (max_rows is None or len(rows) < max_rows):
        # Each ASCII character takes one cell. Others are measured.
        end = min(start + cells, size) if is_ascii else _find_row_end(text, start, cells)
        if end < size:
            end = _find_break(text, start, end, cells)
        rows.append(text[start:end])
        start = end
    return rows or [""]


def _find_break(text: str, start: int, end: int, cells: int) -> int:
    """Return the offset where a row should end, so that words are not cut if possible.

    The row begins at `start` and is full at `end`.
    """
    middle = start + (end - start) // 2
    last_blank = text.rfind(" ", start + 1, end)
    if last_blank > middle:
        return last_blank + 1
    # A row that is less than half full looks bad, but it is better than a cut in a word that fits.
    has_blank = last_blank >= 0
    if has_blank and _word_fits(text, last_blank + 1, cells):
        return last_blank + 1

    # A long word is cut after a sign such as `.` or `_`.
    last_sign = max(text.rfind(sign, middle, end) for sign in WORD_SIGNS)
    if last_sign >= 0:
        return last_sign + 1
    return end


def _word_fits(text: str, start: int, cells: int) -> bool:
    """Whether there is a word at `start`, and it fits into `cells`."""
    # One character more than `cells` shows whether a word ends there or is longer.
    text_after_start = text[start : start + cells + 1]
    word, _, _ = text_after_start.partition(" ")
    if not word or len(word) > cells:
        return False
    # A character can take two cells.
    return display_width(word) <= cells


def sanitize_and_wrap(text: str, cells: int, max_rows: int | None = None) -> list[str]:
    """Sanitize text from data and wrap it to rows of `cells`. Line breaks in the text stay.

    `max_rows`: maximum number of rows.
    """
    if max_rows is not None:
        # Sanitizing all of a long text would take too long.
        text = _cut_after_first_rows(text, max(cells, 1), max_rows)

    rows: list[str] = []
    for part in sanitize_lines(text):
        remaining = None if max_rows is None else max_rows - len(rows)
        if remaining is not None and remaining <= 0:
            break
        rows.extend(wrap_sanitized(part, cells, remaining))
    return rows


class FirstRows(NamedTuple):
    rows: list[str]
    has_more: bool
    """Whether more rows follow."""


def wrap_first_rows(text: str, cells: int, max_rows: int) -> FirstRows:
    """Sanitize text from data, and return its first `max_rows` rows."""
    rows = sanitize_and_wrap(text, cells, max_rows + 1)
    return FirstRows(rows[:max_rows], len(rows) > max_rows)


def format_size(text: str) -> str:
    """Format the size of a text in UTF-8: `12 KB`."""
    # The size of ASCII text is known without encoding it.
    n_bytes = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if n_bytes < 1_000:
        return f"{n_bytes} B"
    if n_bytes < 10_000:
        return f"{n_bytes / 1_000:.1f} KB"
    if n_bytes < 1_000_000:
        return f"{n_bytes // 1_000} KB"
    return f"{n_bytes / 1_000_000:.1f} MB"


def prefix_rows_with_label(
    label: str, rows: Sequence[str], style: str = "", label_style: str = "dim"
) -> list[Line]:
    """Return lines with the label before the first row and blanks before the other rows."""
    lines: list[Line] = []
    prefix = label
    for row in rows:
        lines.append(((prefix, label_style), (row, style)))
        prefix = " " * display_width(label)
    return lines


def rule_line(line: Line, cells: int, dash: str = "") -> Line:
    """Return `── text ─────────`, `cells` wide.

    A long text is clipped so that at least two dashes follow.
    """
    rule = dash or symbols().rule
    start = f"{rule}{rule} "
    fitted = fit_line(line, max(cells - RULE_MARGIN, 1))
    n_dashes = max(cells - len(start) - line_width(fitted) - 1, 0)
    return ((start, "dim"), *fitted, (f" {rule * n_dashes}", "dim"))


def fit_line(line: Line, cells: int) -> Line:
    """Return a styled line that is at most `cells` wide.

    If texts are cut, the line ends with `…`. Blanks at the end are cut without a sign.
    """
    if line_width(line) <= cells:
        return line
    stripped = _strip_trailing_blanks(line)
    if line_width(stripped) <= cells:
        return stripped
    return _cut_line(stripped, cells)


def _cut_line(line: Line, cells: int) -> Line:
    """Return the beginning of a line that does not fit into `cells`, with `…` at its end."""
    if cells <= 0:
        return ()

    beginning = LineBuilder()
    free_cells = cells
    for text, style in line:
        text_cells = display_width(text)
        # This text does not fit, or it leaves no cell for the `…` after it.
        if text_cells >= free_cells:
            beginning.add(_clip_with_ellipsis(text, free_cells), style)
            break
        beginning.add(text, style)
        free_cells -= text_cells
    return beginning.build()


def _strip_trailing_blanks(line: Line) -> Line:
    """Return the line without blanks at its end, which may be spread over several parts."""
    parts = list(line)
    while parts:
        text, style = parts.pop()
        stripped_text = text.rstrip(" ")
        if stripped_text:
            parts.append((stripped_text, style))
            break
    return tuple(parts)


def _clip_with_ellipsis(text: str, cells: int) -> str:
    """Clip a text to `cells`. It always ends with an ellipsis, because more texts follow it."""
    # With blanks at its end, a text that fits is too long, so that `clip` adds the ellipsis.
    return clip(text + "  ", cells)


def justify_line(left: Line, right: Line, cells: int) -> Line:
    """Return a line, `cells` wide, with `left` and `right` at its ends. If both do not fit, `left`
    is clipped.
    """
    fitted_right = fit_line(right, cells)
    left_cells = cells - line_width(fitted_right)
    # At least one blank stands between them.
    fitted_left = fit_line(left, max(left_cells - 1, 0))
    blanks = " " * (left_cells - line_width(fitted_left))
    return (*fitted_left, (blanks, ""), *fitted_right)


MIN_MIDDLE_CUT_CELLS = 4
"""Minimum width, in cells, of a name that is shortened in the middle, not at the end."""
MIN_PREFIX_WIDTH = 4
"""Minimum width, in cells, of a shortened prefix of an error type. A shorter prefix is omitted."""
_QUALIFIER = re.compile(r"(^|\(golden )(?:[^\W\d]\w*\.)+(?=[^\W\d])")


def truncate(text: str, cells: int) -> str:
    """Clip visible text to `cells`, with the ellipsis of the active symbol set at the cut."""
    clipped = clip(text, cells)
    if clipped == text:
        return text
    text_before_ellipsis = clipped[:-1]
    return text_before_ellipsis + symbols().ellipsis


def truncate_middle(text: str, cells: int, head_share: float = 1 / 3) -> str:
    """Shorten a name in the middle, since names mostly differ at the end: `live_…le_23-20-0`.
    `head_share`: part of the width (0 to 1) for the beginning.
    """
    if display_width(text) <= cells:
        return text
    if cells < MIN_MIDDLE_CUT_CELLS:
        return truncate(text, cells)

    # One cell is for the ellipsis.
    text_cells = cells - 1
    head = _cut_to_width(text, int(text_cells * head_share))
    # The end of the text is cut at its front, so it is reversed, cut and reversed back.
    reversed_tail = _cut_to_width(text[::-1], text_cells - display_width(head))
    return head + symbols().ellipsis + reversed_tail[::-1]


def truncate_error_type(text: str, cells: int) -> str:
    """Shorten an error type such as `value_error:nested:wrong_count` to `value…:wrong_count`.

    Error types of one family begin equally, so the part after the last colon is kept as long as it
    fits.
    """
    if display_width(text) <= cells:
        return text

    _, colon, kind = text.rpartition(":")
    ending = f"{symbols().ellipsis}:{kind}"
    room = cells - display_width(ending)
    if colon and room >= MIN_PREFIX_WIDTH:
        return _cut_to_width(text, room) + ending
    if colon and room >= 0:
        return ending
    return truncate_middle(kind, cells, 1 / 2)


def truncate_difference(text: str, cells: int) -> str:
    """Shorten the text of a first difference. Prefixes of dotted names are cut first:
    `…queryViolation not called`.
    """
    if display_width(text) > cells:
        text = _QUALIFIER.sub(lambda match: match[1] + symbols().ellipsis, text)
    return truncate(text, cells)


def _cut_to_width(text: str, cells: int) -> str:
    """Return the beginning of a text that fits into `cells`. A wide character takes two cells."""
    used = 0
    for index, char in enumerate(text):
        used += display_width(char)
        if used > cells:
            return text[:index]
    return text


def center_text(text: str, cells: int) -> str:
    """Pad a text on both sides to `cells`."""
    left = (cells - display_width(text)) // 2
    return " " * left + pad(text, cells - left)


def replace_missing_value_sign(text: str) -> str:
    """Return the sign of a missing value in the active symbol set if `text` is the usual sign, else
    `text`.
    """
    return symbols().none if text == wording.NO_VALUE else text


def format_pass_rate(n_passing: int, n_with_verdict: int, n_items: int) -> str:
    """Format a pass rate: `71.3 %`, `71.3 % of 998` if not all items have a verdict, a dash if no
    item has one.
    """
    if not n_with_verdict:
        return symbols().none
    return wording.format_rate_with_count(n_passing, n_with_verdict, n_items)


def format_recomputed_pass_rate(
    n_passing: int, n_with_verdict: int, n_items: int, *, lacks_dataset: bool
) -> str:
    """Format the rate of recomputed verdicts as `wording.format_recomputed_rate` does, with the
    active symbol set.
    """
    return wording.format_recomputed_rate(
        n_passing, n_with_verdict, n_items, symbols().none, lacks_dataset=lacks_dataset
    )


MAX_HINT_GAP = 3


def key_hints_line(hints: Sequence[KeyHint], cells: int, n_always_shown: int = 2) -> Line:
    """Return the key line at the bottom of a screen: keys with their labels.

    Hints that do not fit are omitted from the end, except the last `n_always_shown` ones. The gaps
    between hints are as wide as the line allows.
    """
    n_optional = max(len(hints) - n_always_shown, 0)
    always_shown = list(hints[n_optional:])

    # Omit the last optional hint, until a blank fits between all hints.
    shown_hints = list(hints)
    while n_optional > 0 and _find_hint_gap(shown_hints, cells) < 1:
        n_optional -= 1
        shown_hints = [*hints[:n_optional], *always_shown]
    gap = " " * max(_find_hint_gap(shown_hints, cells), 1)

    line = LineBuilder()
    for key, label in shown_hints:
        line.add(" " if line.is_empty else gap)
        line.add(key, "key")
        if label:
            line.add(f" {label}")
    return line.build()


def _find_hint_gap(hints: Sequence[KeyHint], cells: int) -> int:
    """Return the number of blanks between hints, at most `MAX_HINT_GAP`. Below 1, the hints do not
    fit.
    """
    n_gaps = len(hints) - 1
    if n_gaps < 1:
        return MAX_HINT_GAP
    hint_cells = sum(display_width(f"{key} {label}".rstrip()) for key, label in hints)
    # The line begins with a blank.
    cells_for_gaps = cells - 1 - hint_cells
    return min(MAX_HINT_GAP, cells_for_gaps // n_gaps)


def progress_message(activity: str, seconds: float, cancel_key: str = "") -> str:
    """Return `counting failures · 2 s · Esc cancels`. `cancel_key`: displayed name of the key, if a
    key cancels.
    """
    parts = [activity]
    if seconds >= 1:
        parts.append(f"{seconds:.0f} s")
    if cancel_key:
        parts.append(f"{cancel_key} cancels")
    return f" {symbols().separator} ".join(parts)


TWO_PANES_MIN_WIDTH = 120
"""Minimum screen width, in cells, for showing list and item side by side."""
MIN_LIST_WIDTH = 54
LIST_WIDTH = 66
"""Minimum width of the list pane, in cells, beside the item and function docs."""
MAX_LIST_WIDTH = 100
"""Largest width of the list pane, in cells, beside item and function docs."""
MAX_PAIR_LIST_WIDTH = 76
"""Largest width of the list pane, in cells, beside the item only."""
MIN_ITEM_WIDTH = 90
"""Minimum width, in cells, of the item text beside function docs: a name and two values of about 40
cells.
"""
MIN_DOCS_WIDTH = 38
MAX_DOCS_WIDTH = 70
THREE_PANES_MIN_WIDTH = LIST_WIDTH + 1 + MIN_ITEM_WIDTH + 1 + MIN_DOCS_WIDTH
"""Minimum screen width, in cells, for showing list, item and function docs side by side."""


def list_pane_width(screen_width: int) -> int:
    """Return the width of the list pane beside the item pane."""
    if screen_width >= THREE_PANES_MIN_WIDTH:
        spare = screen_width - THREE_PANES_MIN_WIDTH
        return min(LIST_WIDTH + spare // 3, MAX_LIST_WIDTH)
    spare = max(screen_width - TWO_PANES_MIN_WIDTH, 0)
    return min(MIN_LIST_WIDTH + spare // 2, MAX_PAIR_LIST_WIDTH)


def docs_column_width(pane_width: int) -> int:
    """Return the width of the function docs in an item pane, without the divider. 0 if they do not
    fit.
    """
    spare = pane_width - MIN_ITEM_WIDTH - 1 - MIN_DOCS_WIDTH
    if spare < 0:
        return 0
    return min(MIN_DOCS_WIDTH + spare // 2, MAX_DOCS_WIDTH)


@dataclass(frozen=True, slots=True)
class TextColumn:
    title: str
    align_right: bool = False
    truncate: Callable[[str, int], str] = truncate
    """Shortens a text to a number of cells."""
    min_width: int = 6
    """Width, in cells, below which the column shrinks only if no other column can."""


class TableLines(NamedTuple):
    """Lines of a table on screen."""

    heading: Line
    rows: list[Line]


def lay_out_table(
    columns: Sequence[TextColumn], rows: Sequence[Sequence[StyledText]], cells: int
) -> TableLines:
    """Lay out rows of cells in columns that fit into `cells`.

    Each column is as wide as its widest text needs, or shorter if not all columns fit. A cell is a
    sanitized text and its style.
    """
    texts_by_row = []
    for row in rows:
        texts_by_row.append([text for text, _ in row])
    widths = compute_column_widths(
        titles=[column.title for column in columns],
        rows=texts_by_row,
        table_width=cells,
        min_widths=[column.min_width for column in columns],
    )
    heading = _lay_out_row(columns, [(column.title, "dim") for column in columns], widths)
    lines = [_lay_out_row(columns, row, widths) for row in rows]
    return TableLines(heading, lines)


def _lay_out_row(
    columns: Sequence[TextColumn], row: Sequence[StyledText], widths: Sequence[int]
) -> Line:
    """Shorten the cells of a row to the widths of the columns, and align them."""
    texts = []
    styles = []
    for column, (text, style), width in zip(columns, row, widths, strict=True):
        texts.append(column.truncate(text, width))
        styles.append(style)
    right_columns = [index for index, column in enumerate(columns) if column.align_right]
    aligned_texts = align_row(texts, widths, right_columns)
    return tuple(zip(aligned_texts, styles, strict=True))


T = TypeVar("T")


CHOICE_ROW_PREFIX: Line = ((" ", ""),)
"""Blank before a row of a table of choices. The list draws the mark of its cursor before it."""
CHOICE_HEADING_PREFIX: Line = (("  ", ""),)
"""Blanks above the mark of the cursor and the blank before each row."""
CHOICE_MARGIN = 3
"""Width, in cells, of the cursor mark and of the blanks on both sides of a table of choices."""


@dataclass(slots=True)
class ChoiceTable(Generic[T]):
    """Table in which the user chooses a row."""

    title: str
    noun: str
    """Singular noun for a row, such as `run`."""
    columns: Sequence[TextColumn]
    rows: Sequence[Sequence[StyledText]]
    values: Sequence[T]
    """Value that each row selects."""
    cursor: int = 0
    """Index of the row under the cursor."""
    empty_message: str = "no entries"
    """Message shown instead of rows if there are none."""
    note: str = ""
    """Text at the right end of the title line."""
    compact: bool = False
    """Whether the list is only as high as its lines, so that the screen behind it stays visible."""
    total: int | None = None
    """Number of entries for the title, if it differs from the number of rows."""

    def lines(self, cells: int) -> TableLines:
        """Return the lines of the table for a list that is `cells` wide.

        The rows leave out the mark of the cursor, which the list draws before each of them.
        """
        table = lay_out_table(self.columns, self.rows, cells - CHOICE_MARGIN)
        heading = CHOICE_HEADING_PREFIX + table.heading
        rows = [CHOICE_ROW_PREFIX + row for row in table.rows]
        return TableLines(heading, rows)


R = TypeVar("R")
CELL_GAP = "  "
"""Blanks before each column but the first of a table of `FixedColumn`s."""


@dataclass(frozen=True, slots=True)
class FixedColumn(Generic[R]):
    """Column of a table: its title, its width, and the function that makes its cells.

    The width does not depend on the cells.
    """

    title: str
    width: int
    """Width in cells, without the gap before the column."""
    make_cell: Callable[[R], Line]
    """Makes the cell of a row. It is padded to the width of the column."""
    align_right: bool = False
    gap: str = CELL_GAP
    """Blanks before the column."""


def fixed_columns_width(columns: Sequence[FixedColumn[R]]) -> int:
    """Return the width, in cells, of a table with these columns."""
    return sum(len(column.gap) + column.width for column in columns)


def lay_out_fixed_columns(columns: Sequence[FixedColumn[R]], rows: Sequence[R]) -> TableLines:
    """Lay out a heading and rows in columns whose widths are known.

    A column makes its cell from the value of the row.
    """
    heading = LineBuilder()
    for column in columns:
        heading.add(column.gap)
        title = truncate(column.title, column.width)
        heading.add(pad(title, column.width, align_right=column.align_right), "dim")

    lines: list[Line] = []
    for row in rows:
        line = LineBuilder()
        for column in columns:
            line.add(column.gap)
            line.add_line(_align_cell(column.make_cell(row), column))
        lines.append(line.build())
    return TableLines(heading.build(), lines)


def _align_cell(cell: Line, column: FixedColumn[R]) -> Line:
    """Pad a cell to the width of its column. A wider cell stays as it is."""
    blanks: Line = make_line(" " * (column.width - line_width(cell)))
    return (*blanks, *cell) if column.align_right else (*cell, *blanks)

"""Print text or JSON Lines to stdout, and messages and progress to stderr.

The functions sanitise all text that they print to a terminal, because it may come from untrusted
result files.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import threading
import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from fcreview.errors import UsageError
from fcreview.model.json_value import to_plain_json
from fcreview.model.sanitize import clip, display_width, sanitize
from fcreview.model.wording import COLUMN_GAP, align_row, compute_column_widths, format_not_run

if TYPE_CHECKING:
    from fcreview.exporters.base import Content
    from fcreview.tables.table import Row, Table

Name = TypeVar("Name", bound=str)
Shortener = Callable[[str, int], str]
"""Shortens a text to a number of terminal columns."""
DEFAULT_WIDTH = 100  # width of text in terminal columns if standard output is a file or pipe
MIN_WIDTH = 40
MIN_COLUMN = 24  # width in terminal columns to which the text columns of a table can shrink
MIN_TABLE_COLUMNS = 2  # number of columns that a table has even if they are wider than the page
MAX_PROGRESS_CELLS = 78  # maximum width of a progress line in terminal columns
LAST_PRINTABLE_ASCII = "~"
PAGER_WIDTH_VARIABLE = (
    "FCREVIEW_PAGER_WIDTH"  # environment variable with the width of the app's pager in columns
)


def check_choice(choices: Collection[Name], value: str, noun: str) -> Name:
    """Return `value` if it is one of `choices`.

    Otherwise raise a UsageError that lists the choices.
    """
    for choice in choices:
        if choice == value:
            return choice
    raise UsageError(f"invalid {noun} {value!r}: choose {', '.join(choices)}")


class OutputClosedError(Exception):
    """Raised when a program such as `head` has closed the pipe.

    The command then ends without an error message.
    """


class _JsonEscapes(dict[int, str]):
    """Table for `str.translate` that maps invisible and control characters to JSON escapes,
    computed on first use.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = _escape_for_json(char) if _is_invisible(char) else char
        return self[code]


def _is_invisible(char: str) -> bool:
    """Whether a terminal shows nothing for a character, or would obey it.

    Combining characters belong to the visible character before them.
    """
    if char <= LAST_PRINTABLE_ASCII or unicodedata.combining(char):
        return False
    is_control = unicodedata.category(char).startswith("C")
    return is_control or sanitize(char) != char


def _escape_for_json(char: str) -> str:
    """Escape a character as `\\u202e`, or as two of these for a character above U+FFFF."""
    code_units = char.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    return "".join(f"\\u{code_unit}" for code_unit in code_units)


_json_escapes = _JsonEscapes()


def format_json_line(value: Any) -> bytes:
    """Serialise a value, such as a dataclass or named tuple, as a line of JSON that is safe on a
    terminal.
    """
    try:
        line = orjson.dumps(value, default=_convert_named_tuple)
    except TypeError:
        line = orjson.dumps(to_plain_json(_convert_to_plain_tree(value)))
    return escape_invisible_characters(line) + b"\n"


def escape_invisible_characters(lines: bytes) -> bytes:
    """Escape DEL, C1, bidi, zero-width and other invisible characters in JSON text."""
    if lines.isascii() and b"\x7f" not in lines:
        return lines
    return lines.decode().translate(_json_escapes).encode()


def _convert_named_tuple(value: Any) -> Any:
    fields = getattr(value, "_asdict", None)
    return fields() if fields is not None else to_plain_json(value)


def _convert_to_plain_tree(value: Any) -> Any:
    """Convert dataclasses and named tuples at all depths to dictionaries, and tuples to lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return _convert_to_plain_tree(asdict(value))
    if hasattr(value, "_asdict"):
        return _convert_to_plain_tree(value._asdict())
    if isinstance(value, dict):
        return {key: _convert_to_plain_tree(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [_convert_to_plain_tree(element) for element in value]
    return value


def emit_json(*values: Any) -> None:
    """Print each value as a line of JSON."""
    for value in values:
        emit_raw_bytes(format_json_line(value))


def emit_raw_bytes(chunk: bytes) -> None:
    """Print bytes unchanged. Raises OutputClosedError if the reader has closed the pipe."""
    try:
        sys.stdout.buffer.write(chunk)
    except BrokenPipeError as error:
        raise OutputClosedError from error


def emit_utf8(chunk: bytes) -> None:
    """Print UTF-8 text. Sanitise the text only if stdout is a terminal."""
    if not sys.stdout.isatty():
        emit_raw_bytes(chunk)
        return
    lines = chunk.decode().split("\n")
    safe_text = "\n".join(sanitize(line.rstrip("\r")) for line in lines)
    emit_raw_bytes(safe_text.encode())


@dataclass(frozen=True, slots=True)
class StdoutWriter:
    """File-like object that writes to stdout. Callers must pass complete lines to `write`."""

    write: Callable[[bytes], None]


def create_stdout_writer(content: Content) -> StdoutWriter:
    """Create a writer to standard output that treats a kind of content correctly.

    Control characters in JSON are escaped, and binary content is refused on a terminal
    (UsageError).
    """
    match content:
        case "json":
            return StdoutWriter(lambda lines: emit_raw_bytes(escape_invisible_characters(lines)))
        case "text":
            return StdoutWriter(emit_utf8)
        case "binary":
            if sys.stdout.isatty():
                raise UsageError("This format cannot be printed to a terminal. Use -o FILE.")
            return StdoutWriter(emit_raw_bytes)
        case "folder":
            raise ValueError("a folder has no content for standard output")


def emit(*texts: str) -> None:
    """Sanitise texts of one or more lines and print them to stdout.

    Without a text, print an empty line.
    """
    emit_lines(texts or [""])


def emit_lines(texts: Iterable[str]) -> None:
    """Sanitise texts of one or more lines and print them to stdout, each on lines of its own."""
    for text in texts:
        lines = [sanitize(line.rstrip()) for line in text.split("\n")]
        try:
            sys.stdout.write("\n".join(lines) + "\n")
        except BrokenPipeError as error:
            raise OutputClosedError from error


def print_message(text: str) -> None:
    """Sanitise a message of one or more lines and print it to stderr."""
    for line in text.split("\n"):
        _try_print_to_stderr(sanitize(line))


def print_limited_messages(
    messages: Sequence[str], limit: int, describe_rest: Callable[[int], str]
) -> None:
    """Print at most `limit` messages to stderr.

    If n messages are left, also print `describe_rest(n)`.
    """
    for message in messages[:limit]:
        print_message(f"fcreview: {message}")
    n_left = len(messages) - limit
    if n_left > 0:
        print_message(f"fcreview: {describe_rest(n_left)}")


def print_warning(text: str) -> None:
    """Print a one-line message to stderr, in yellow on a colour terminal."""
    safe_text = sanitize(text)
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR") and _has_full_terminal():
        safe_text = f"\x1b[33m{safe_text}\x1b[0m"
    _try_print_to_stderr(safe_text)


def _has_full_terminal() -> bool:
    """Whether the terminal, if there is one, can show colours and move the cursor."""
    return os.environ.get("TERM", "") not in ("", "dumb")


def _try_print_to_stderr(line: str) -> None:
    """Print a line to stderr.

    Ignore errors, so that a closed or full stderr does not stop the command.
    """
    with suppress(OSError):
        print(line, file=sys.stderr)


def is_in_browser() -> bool:
    """Whether `fcreview serve` has started this process."""
    return os.environ.get("FCREVIEW_BROWSER") == "1"


def can_show_app() -> bool:
    """Whether stdin and stdout are a terminal that can show a full-screen app, or are connected
    to a browser.
    """
    if is_in_browser():
        return True
    return sys.stdin.isatty() and sys.stdout.isatty() and _has_full_terminal()


def find_page_width() -> int | None:
    """Return the width of the terminal or of the app's pager in columns, or None for files and
    pipes.
    """
    if sys.stdout.isatty():
        return max(shutil.get_terminal_size().columns, MIN_WIDTH)
    pager_width = os.environ.get(PAGER_WIDTH_VARIABLE, "")
    if pager_width.isdecimal():
        return max(int(pager_width), MIN_WIDTH)
    return None


def get_wrap_width() -> int:
    """Return the width to which text is wrapped, in terminal columns."""
    return find_page_width() or DEFAULT_WIDTH


def clip_to_terminal(line: str) -> str:
    """Clip a line to the width of the terminal. Without a terminal, return the whole line."""
    if not sys.stdout.isatty():
        return line
    return clip(line, get_wrap_width())


def format_cell(value: Any) -> str:
    """Format a value as sanitised text for a table cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return sanitize(str(value))


def format_run_heading(
    run_number: int | None, names: Sequence[str], n_items: int, n_expected: int | None = None
) -> str:
    """Format the heading of a run: `run 1 bfcl V4 en maple-8b 39 items`.

    `run_number` is None for combined runs. If items of the dataset have no result, `n_expected` is
    the number of all items, and the heading ends with `results for 3 of 400 items`.
    """
    title = "combined" if run_number is None else f"run {run_number}"
    cells = [format_cell(name) for name in names]
    shown_names = "  ".join(cell for cell in cells if cell)
    if n_expected is None:
        count = f"{n_items:,} items"
    else:
        count = format_not_run(n_items, n_expected)
    return f"{title}   {shown_names}   {count}"


def format_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right_aligned: Sequence[int] = (),
    max_width: int = 60,
    page_width: int | None = None,
    shorteners: Mapping[int, Shortener] | None = None,
    min_width: int = MIN_COLUMN,
) -> list[str]:
    """Format rows as lines with aligned columns that fit the terminal or the page.

    A row with one text is a heading, which may be wider than its column.

    Args:
        right_aligned: Indexes of the columns that are aligned to the right, such as numbers.
        max_width: Limit of the width of each column except the last, in terminal columns.
        page_width: Width of a page, on which long texts of the last column are wrapped instead of
            clipped. None for the terminal.
        shorteners: Functions that shorten the texts of a column, by its index. The texts of other
            columns are clipped.
        min_width: Width to which the text columns can shrink, in terminal columns.
    """
    table = [list(headers), *map(list, rows)]
    rows_with_columns = [row for row in table if not _is_heading(row, len(headers))]
    full_widths = compute_column_widths(headers, rows_with_columns, max_width=max_width)
    table_width = page_width or find_page_width()
    if table_width is None:
        return _format_clipped_table(table, full_widths, right_aligned)

    widths = compute_column_widths(
        headers,
        rows_with_columns,
        max_width=max_width,
        table_width=table_width,
        min_widths=_list_min_widths(full_widths, right_aligned, min_width),
    )
    fitting_table = [_shorten_texts(row, widths, shorteners or {}) for row in table]
    # A page and the pager of the app can scroll down, but not to the right.
    can_clip = page_width is None and sys.stdout.isatty()
    if can_clip:
        return _format_clipped_table(fitting_table, widths, right_aligned)
    # A text that is shortened, such as a list of ids, is not wrapped.
    unwrapped = {*right_aligned, *(shorteners or {})}
    return _format_wrapped_table(
        fitting_table, widths, right_aligned, unwrapped=unwrapped, page_width=table_width
    )


def _format_clipped_table(
    rows: Iterable[Sequence[str]], widths: Sequence[int], right_aligned: Sequence[int]
) -> list[str]:
    """Format each row as one line. A terminal clips what does not fit."""
    lines = []
    for row in rows:
        is_heading = _is_heading(row, len(widths))
        line = row[0] if is_heading else format_row(row, widths, right_aligned)
        lines.append(clip_to_terminal(line))
    return lines


def _list_min_widths(
    widths: Sequence[int], right_aligned: Sequence[int], min_width: int
) -> list[int]:
    """Return the width to which each column can shrink. Numbers keep their width."""
    min_widths = []
    for column, width in enumerate(widths):
        is_number = column in right_aligned
        min_widths.append(width if is_number else min(width, min_width))
    return min_widths


def _shorten_texts(
    row: list[str], widths: Sequence[int], shorteners: Mapping[int, Shortener]
) -> list[str]:
    """Shorten the texts of a row that are wider than their columns."""
    if _is_heading(row, len(widths)):
        return row
    texts = list(row)
    for column, shorten in shorteners.items():
        texts[column] = shorten(texts[column], widths[column])
    return texts


def _is_heading(row: Sequence[str], n_columns: int) -> bool:
    """Whether a row has only a heading instead of a text for each column."""
    return len(row) == 1 and n_columns > 1


def _format_wrapped_table(
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    right_aligned: Sequence[int],
    *,
    unwrapped: Collection[int],
    page_width: int,
) -> list[str]:
    """Format a table for a page. The last of the first columns that fit beside each other is
    wrapped at the edge of the page.

    The columns that do not fit are a second table below, which repeats the first column. At least
    two columns count as fitting, so that each further table has fewer columns.

    Args:
        right_aligned: Indexes of the columns that are aligned to the right.
        unwrapped: Indexes of the columns that are not wrapped: numbers and shortened texts.
    """
    n_columns = _count_fitting_columns(widths, page_width)
    is_end_wrapped = n_columns - 1 not in unwrapped
    lines = _format_rows_with_wrapped_end(
        [row[:n_columns] for row in rows],
        widths[:n_columns],
        right_aligned=right_aligned,
        page_width=page_width if is_end_wrapped else None,
    )
    if n_columns == len(widths):
        return lines

    # The second table repeats the first column, which names the rows.
    remaining_rows = [[row[0], *row[n_columns:]] for row in rows]
    remaining_widths = [widths[0], *widths[n_columns:]]
    lines.append("")
    lines += _format_wrapped_table(
        remaining_rows,
        remaining_widths,
        _shift_remaining_columns(right_aligned, n_columns),
        unwrapped=_shift_remaining_columns(unwrapped, n_columns),
        page_width=page_width,
    )
    return lines


def _shift_remaining_columns(columns: Iterable[int], n_columns: int) -> list[int]:
    """Convert indexes of columns for a table without columns 1 to `n_columns - 1`. The first column
    is 0.

    The indexes of removed columns are left out.
    """
    shifted = []
    for column in columns:
        if column == 0:
            shifted.append(0)
        elif column >= n_columns:
            shifted.append(column - n_columns + 1)
    return shifted


def _count_fitting_columns(widths: Sequence[int], page_width: int) -> int:
    """Count the columns that fit the page, with gaps between them.

    The first two always count, so that the rest of the table has fewer columns.
    """
    n_fitting = 0
    used_width = 0
    for width in widths:
        if n_fitting:
            used_width += COLUMN_GAP
        used_width += width
        if used_width > page_width and n_fitting >= MIN_TABLE_COLUMNS:
            break
        n_fitting += 1
    return n_fitting


def _format_rows_with_wrapped_end(
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    *,
    right_aligned: Sequence[int],
    page_width: int | None,
) -> list[str]:
    """Format rows of a page. The texts of the last column are wrapped at the edge of the page.

    `page_width`: None if the texts are not wrapped, such as numbers.
    """
    *first_widths, last_width = widths
    indent = sum(width + COLUMN_GAP for width in first_widths)

    lines = []
    for row in rows:
        if _is_heading(row, len(widths)):
            lines.append(row[0])
            continue
        *first_cells, last_cell = row
        parts = _wrap_last_cell(last_cell, indent, page_width)
        # Texts without spaces can be wider than the column. They are not clipped.
        part_width = max(display_width(part) for part in parts)
        row_widths = [*first_widths, max(last_width, part_width)]
        lines.append(format_row([*first_cells, parts[0]], row_widths, right_aligned))
        for part in parts[1:]:
            lines.append(" " * indent + part)
    return lines


def _wrap_last_cell(text: str, indent: int, page_width: int | None) -> list[str]:
    """Wrap a text between the indent and the edge of the page. Return at least one line."""
    if page_width is None:
        return [text]
    wrap_width = max(page_width - indent, MIN_COLUMN)
    return textwrap.wrap(text, wrap_width) or [""]


def format_row(row: Sequence[str], widths: Sequence[int], right_aligned: Sequence[int] = ()) -> str:
    """Format a table row as a line.

    Texts are clipped and padded to the column widths, in terminal columns.
    """
    return "".join(align_row(row, widths, right_aligned)).rstrip()


TEXT_INDENT = "  "
"""Indentation of a row of a table below the row to which it belongs."""


def print_figure(table: Table, *, max_width: int = 60) -> None:
    """Print an empty line, the title, the rows and the notes of a figure's table. Without rows,
    print nothing. `max_width` limits every column except the last, in terminal columns.
    """
    if not table.rows:
        return
    emit()
    if table.title:
        emit(table.title)
    emit_lines(format_figure(table, max_width=max_width))
    if table.notes:
        emit("", *table.notes)


def format_figure(table: Table, *, max_width: int = 60, page_width: int | None = None) -> list[str]:
    """Format the table of a figure as lines.

    Rows of a lower level are indented. The explanation of a row stands below it. For `page_width`,
    see `format_table`.
    """
    shown = _draw_bars(table)
    shorteners = {}
    for index, column in enumerate(shown.columns):
        if column.cut in _SHORTENERS:
            shorteners[index] = _SHORTENERS[column.cut]
    return format_table(
        shown.titles,
        _list_figure_rows(shown),
        right_aligned=shown.right_columns,
        max_width=max_width,
        page_width=page_width,
        shorteners=shorteners,
        min_width=max(MIN_COLUMN, *[column.min_cells for column in shown.columns]),
    )


def _list_figure_rows(table: Table) -> Iterator[list[str]]:
    """Yield the texts of each row. A heading and a line of an explanation have one text."""
    explanation_indent = " " * _measure_explanation_indent(table)
    for row in table.rows:
        first_text, *other_texts = row.texts
        indented_text = TEXT_INDENT * row.level + first_text
        if row.is_heading:
            yield [indented_text]
            continue
        yield [indented_text, *other_texts]
        if table.explained_column is not None:
            for line in row.explanation.splitlines():
                yield [explanation_indent + line]


BAR_WIDTH = 5  # width of the longest bar in terminal columns


def _draw_bars(table: Table) -> Table:
    """Return the table with a column of bars drawn as text. Other graphics are omitted."""
    from fcreview.tables.table import Column

    position = table.graphic_at
    if position is None or not table.has_bars:
        return table

    columns = list(table.columns)
    columns.insert(position, Column(""))
    rows = [_insert_bar(row, position) for row in table.rows]
    # The inserted column moves the columns behind it.
    explained_column = table.explained_column
    if explained_column is not None and explained_column >= position:
        explained_column += 1
    return replace(
        table, columns=columns, rows=rows, graphic_at=None, explained_column=explained_column
    )


def _insert_bar(row: Row, position: int) -> Row:
    """Insert the bar of a row as a cell. A row without a bar gets an empty one."""
    from fcreview.tables.table import Bar, Cell

    share = row.graphic.share if isinstance(row.graphic, Bar) else 0.0
    cells = list(row.cells)
    cells.insert(position, Cell(draw_bar(share, BAR_WIDTH)))
    return replace(row, cells=cells)


def draw_bar(share: float, width: int) -> str:
    """Draw a share from 0 to 1 as a bar of up to `width` terminal columns.

    The bar is empty only for 0.
    """
    if share <= 0:
        return ""
    eighths = max(round(8 * width * share), 1)
    n_full_cells, rest = divmod(eighths, 8)
    bar = "█" * n_full_cells
    if rest:
        bar += " ▏▎▍▌▋▊▉"[rest]
    return bar


def _measure_explanation_indent(table: Table) -> int:
    """Return the position, in terminal columns, of the column with explanations below it."""
    n_columns = table.explained_column or 0
    texts_by_row = [row.texts[:n_columns] for row in table.rows]
    widths = compute_column_widths(table.titles[:n_columns], texts_by_row)
    return sum(width + COLUMN_GAP for width in widths)


MIN_HEAD_WIDTH = 5  # minimum width of the part of an error type before its last colon


def _shorten_error_type(error_type: str, width: int) -> str:
    """Shorten an error type, but keep the part after its last colon, which distinguishes it from
    other types.
    """
    if display_width(error_type) <= width:
        return error_type
    head, colon, tail = error_type.rpartition(":")
    head_width = width - display_width(colon + tail)
    if not colon or head_width < MIN_HEAD_WIDTH:
        return clip(error_type, width)
    return clip(head, head_width) + colon + tail


def _shorten_id_list(text: str, width: int) -> str:
    """Omit ids at the end of a list until it fits. The first id stays, so that it can be copied."""
    ids = text.split(" ")
    while len(ids) > 1 and display_width(" ".join(ids)) > width:
        ids.pop()
    return " ".join(ids)


_SHORTENERS: dict[str, Shortener] = {
    "error type": _shorten_error_type,
    "id list": _shorten_id_list,
}
"""Functions that shorten the texts of columns, by `Column.cut`. Other texts are clipped."""


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]], **layout: Any) -> None:
    """Print rows as a table. `layout` are keyword arguments of `format_table`."""
    emit_lines(format_table(headers, rows, **layout))


UPDATE_SECONDS = 0.1  # seconds before the first update of a progress line and between updates
ACTIVITY_SECONDS = 1.0  # seconds before the first update by `show_activity` and between updates


PROGRESS_LINES_VARIABLE = "FCREVIEW_PROGRESS_LINES"
"""Environment variable with which the app asks a command for its progress."""
PROGRESS_MARK = b"\x1eprogress "
"""Beginning of a line with a progress report."""


class Progress:
    """Progress line on stderr, if stderr is a terminal. The end of a `with` block erases the line.

    Call the object with a label, the amount that is done and the total amount, or 0 for an unknown
    total. By default, amounts are in bytes.
    """

    def __init__(
        self,
        activity: str = "importing",
        format_amount: Callable[[int], str] | None = None,
        *,
        quiet: bool = False,
    ) -> None:
        """Show nothing at first, because a short command needs no progress line."""
        self._activity = activity
        self._format_amount = format_amount or _format_megabytes
        self._visible = False
        self._next_update = time.monotonic() + UPDATE_SECONDS
        has_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._prints_lines = PROGRESS_LINES_VARIABLE in os.environ
        self._enabled = not quiet and (has_terminal or self._prints_lines)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.erase()

    def __call__(self, label: str, done: int, total: int) -> None:
        """Show the progress on one line, which the next call replaces. `total`: 0 if it is not
        known.
        """
        now = time.monotonic()
        if not self._enabled or now < self._next_update:
            return
        self._next_update = now + UPDATE_SECONDS

        if total:
            progress = f"{100 * done // total:3d} % of {self._format_amount(total)}"
        else:
            progress = self._format_amount(done)
        line = f"{self._activity} {progress}  {sanitize(label)}"
        self._show(clip(line, MAX_PROGRESS_CELLS))

    def show_first_line(self) -> None:
        """Show the name of the activity now, because the first progress report may take seconds."""
        if self._enabled:
            self._show(f"{self._activity} ...")

    def _show(self, text: str) -> None:
        """Show a progress report on the terminal, or print it for the app that runs the command."""
        if self._prints_lines:
            sys.stderr.write(f"{PROGRESS_MARK.decode()}{text}\n")
            sys.stderr.flush()
            return
        _rewrite_progress_line(text)
        self._visible = True

    def erase(self) -> None:
        if self._visible:
            _rewrite_progress_line("")
            self._visible = False


def _format_megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.0f} MB"


def _rewrite_progress_line(text: str) -> None:
    """Replace the text of the current line on stderr, and leave the cursor behind it."""
    sys.stderr.write(f"\r{text}\x1b[K")
    sys.stderr.flush()


@contextmanager
def show_activity(activity: str) -> Iterator[None]:
    """While the block runs, show what the command does, and for how long: `searching items · 2 s`.

    This is shown only on a terminal.
    """
    has_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if not has_terminal:
        yield
        return

    is_done = threading.Event()
    started = time.monotonic()

    def update_until_done() -> None:
        while not is_done.wait(ACTIVITY_SECONDS):
            _rewrite_progress_line(f"{activity} · {time.monotonic() - started:.0f} s")

    thread = threading.Thread(target=update_until_done, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()
        if time.monotonic() - started >= ACTIVITY_SECONDS:
            # An empty text erases the line.
            _rewrite_progress_line("")

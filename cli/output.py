"""Print text or JSON Lines to stdout, and messages and progress to stderr.

All text is sanitised before it reaches a terminal, because it may come from untrusted result files.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.cli.errors import OutputClosedError, UsageError
from fcreview.model.json_value import to_plain_json
from fcreview.model.sanitize import clip, sanitize
from fcreview.model.wording import align_row, compute_column_widths

if TYPE_CHECKING:
    from fcreview.exporters.base import Content


DEFAULT_WIDTH = 100
"""Width of text in cells if standard output is not a terminal."""


class _JsonEscapes(dict[int, str]):
    """Table for `str.translate` that maps invisible and control characters to JSON escapes. Filled on use."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        hidden = code > 0x7E and (unicodedata.category(char)[0] == "C" or sanitize(char) != char)
        if hidden and not unicodedata.combining(char):
            units = char.encode("utf-16-be", "surrogatepass")
            char = "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
        self[code] = char
        return char


_json_escapes = _JsonEscapes()


def format_json_line(value: Any) -> bytes:
    """Serialise a value, which may contain dataclasses and named tuples, as a line of JSON that is safe on a
    terminal."""
    try:
        line = orjson.dumps(value, default=_to_plain_fields)
    except TypeError:
        line = orjson.dumps(to_plain_json(_to_plain_tree(value)))
    return escape_json(line) + b"\n"


def escape_json(lines: bytes) -> bytes:
    """Escape DEL, C1, bidi, zero-width and other invisible characters in JSON text."""
    if lines.isascii() and b"\x7f" not in lines:
        return lines
    return lines.decode().translate(_json_escapes).encode()


def _to_plain_fields(value: Any) -> Any:
    fields = getattr(value, "_asdict", None)  # a named tuple
    return fields() if fields is not None else to_plain_json(value)


def _to_plain_tree(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _to_plain_tree(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_plain_tree(each) for each in value]
    return value


def emit_json(value: Any) -> None:
    """Print a value as a line of JSON."""
    emit_bytes(format_json_line(value))


def emit_bytes(chunk: bytes) -> None:
    """Print bytes unchanged. Raises OutputClosedError if the reader has closed the pipe."""
    try:
        sys.stdout.buffer.write(chunk)
    except BrokenPipeError as error:
        raise OutputClosedError from error


def emit_data(chunk: bytes) -> None:
    """Print UTF-8 text unchanged to a file or pipe, and sanitised to a terminal."""
    if sys.stdout.isatty():
        chunk = "\n".join(sanitize(line.rstrip("\r")) for line in chunk.decode().split("\n")).encode()
    emit_bytes(chunk)


@dataclass(frozen=True, slots=True)
class StdoutWriter:
    """File-like object that writes to stdout. Each call of `write` gets complete lines."""

    write: Callable[[bytes], None]


def create_stdout_writer(content: Content) -> StdoutWriter:
    """Create a writer to stdout for a kind of content. Raises UsageError for binary content on a terminal."""
    if content == "binary" and sys.stdout.isatty():
        raise UsageError("This format cannot be printed to a terminal. Use -o FILE.")
    return StdoutWriter(
        {"json": lambda lines: emit_bytes(escape_json(lines)), "text": emit_data, "binary": emit_bytes}[content]
    )


def emit(line: str = "") -> None:
    """Print one or more lines of text to stdout, sanitised."""
    try:
        sys.stdout.write("\n".join(sanitize(each.rstrip()) for each in line.split("\n")) + "\n")
    except BrokenPipeError as error:
        raise OutputClosedError from error


def print_message(text: str) -> None:
    """Print a message of one or more lines to stderr, sanitised."""
    for line in text.split("\n"):
        _try_print_to_stderr(sanitize(line))


def print_warning(text: str) -> None:
    """Print a one-line message to stderr, in yellow on a colour terminal."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")
    _try_print_to_stderr(f"\x1b[33m{sanitize(text)}\x1b[0m" if coloured else sanitize(text))


def _try_print_to_stderr(line: str) -> None:
    """Print a line to stderr. Errors are ignored, so that a closed or full stderr does not stop the command."""
    with suppress(OSError):
        print(line, file=sys.stderr)


def is_in_browser() -> bool:
    """Whether `fcreview serve` has started this process to show the app in a browser."""
    return os.environ.get("FCREVIEW_BROWSER") == "1"


def has_terminal() -> bool:
    """Whether stdin and stdout are a terminal that can show a full-screen app, or lead to a browser."""
    return is_in_browser() or (
        sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    )


def terminal_width() -> int:
    """Return the width of the terminal in cells, at least 40, or `DEFAULT_WIDTH` without a terminal."""
    return max(shutil.get_terminal_size().columns, 40) if sys.stdout.isatty() else DEFAULT_WIDTH


def clip_to_terminal(line: str) -> str:
    """Clip a line to the width of the terminal. Without a terminal, return the whole line."""
    return clip(line, terminal_width()) if sys.stdout.isatty() else line


def cell_text(value: Any) -> str:
    """Format a value as sanitised text for a table cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return sanitize(value if isinstance(value, str) else str(value))


def format_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right_aligned: Sequence[int] = (),
    max_width: int = 60,
    unclipped: bool = False,
) -> list[str]:
    """Format rows as lines with aligned columns. The last column is not padded.

    Args:
        right_aligned: indexes of the columns to align right, such as columns of numbers.
        max_width: maximum width in cells of every column but the last.
        unclipped: keep lines that are wider than the terminal.
    """
    body = [list(row) for row in rows]
    sizes = compute_column_widths(headers, body, widest=max_width)
    lines = [format_row(row, sizes, right_aligned) for row in [list(headers), *body]]
    return lines if unclipped else list(map(clip_to_terminal, lines))


def format_row(row: Sequence[str], widths: Sequence[int], right_aligned: Sequence[int] = ()) -> str:
    """Format a table row as a line. Cells are clipped and padded to the column widths, which are in cells."""
    return "".join(align_row(row, widths, right_aligned)).rstrip()


UPDATE_SECONDS = 0.1
"""Seconds before the first update of a progress line, and between updates."""
ACTIVITY_SECONDS = 1.0
"""Seconds before the first update of `show_activity`, and between updates."""


def format_megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB"


class Progress:
    """Progress line on stderr. Only shown on a terminal, and erased by `close`.

    Call the object with (label, amount done, total amount); a total of 0 means that it is unknown.

    Args:
        activity: text at the start of the line.
        format_amount: formats an amount; the default formats bytes.
        quiet: show nothing.
    """

    def __init__(
        self,
        activity: str = "importing",
        format_amount: Callable[[int], str] = format_megabytes,
        *,
        quiet: bool = False,
    ) -> None:
        self._activity, self._format_amount = activity, format_amount
        self._visible = False
        self._next_update = time.monotonic() + UPDATE_SECONDS
        self._enabled = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, label: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._enabled or now < self._next_update:
            return
        self._next_update = now + UPDATE_SECONDS
        share = f"{100 * done // total:3d} %" if total else self._format_amount(done)
        line = f"{self._activity} {share}{f' of {self._format_amount(total)}' if total else ''}  {sanitize(label)}"
        sys.stderr.write("\r" + clip(line, 78) + "\x1b[K")
        sys.stderr.flush()
        self._visible = True

    def close(self) -> None:
        if self._visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._visible = False


@contextmanager
def show_activity(activity: str) -> Iterator[None]:
    """Show an activity with its seconds on stderr while the block runs: `searching 8,282 items · 2 s`.

    The line is only shown on a terminal, and is erased at the end.
    """
    if not (sys.stderr.isatty() and os.environ.get("TERM") != "dumb"):
        yield
        return
    is_done = threading.Event()
    started = time.monotonic()

    def draw() -> None:
        while not is_done.wait(ACTIVITY_SECONDS):
            sys.stderr.write(f"\r{activity} · {time.monotonic() - started:.0f} s\x1b[K")
            sys.stderr.flush()

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()
        if time.monotonic() - started >= ACTIVITY_SECONDS:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

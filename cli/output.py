"""Print JSON Lines or text to stdout, messages to stderr, and progress to a terminal.

Text from data never reaches a terminal unsanitised.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.cli.errors import OutputClosedError, UsageError
from fcreview.model.json_value import to_plain_json
from fcreview.model.sanitize import clip, sanitize
from fcreview.model.wording import align_row, compute_column_widths

if TYPE_CHECKING:
    from fcreview.exporters.base import Content


PIPED_CELLS = 100
"""Width of text, in cells, without a terminal."""


class _Escapes(dict[int, str]):
    """Table for `str.translate` that turns invisible and control characters into JSON escapes."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        hidden = code > 0x7E and (unicodedata.category(char)[0] == "C" or sanitize(char) != char)
        if hidden and not unicodedata.combining(char):
            units = char.encode("utf-16-be", "surrogatepass")
            char = "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
        self[code] = char
        return char


_escapes = _Escapes()


def json_line(value: Any) -> bytes:
    """One line of JSON that is safe on a terminal. `value` may contain dataclasses and named tuples."""
    try:
        line = orjson.dumps(value, default=_plain)
    except TypeError:
        line = orjson.dumps(to_plain_json(_deep_plain(value)))
    return escape_json(line) + b"\n"


def escape_json(lines: bytes) -> bytes:
    """Escape DEL, C1, bidi, zero-width and other invisible characters in JSON text."""
    if lines.isascii() and b"\x7f" not in lines:
        return lines
    return lines.decode().translate(_escapes).encode()


def _plain(value: Any) -> Any:
    fields = getattr(value, "_asdict", None)  # a named tuple
    return fields() if fields is not None else to_plain_json(value)


def _deep_plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _deep_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_deep_plain(each) for each in value]
    return value


def emit_json(value: Any) -> None:
    emit_bytes(json_line(value))


def emit_bytes(chunk: bytes) -> None:
    try:
        sys.stdout.buffer.write(chunk)
    except BrokenPipeError as error:
        raise OutputClosedError from error


def emit_data(chunk: bytes) -> None:
    """Print text for other programs unchanged. On a terminal it is sanitised."""
    if sys.stdout.isatty():
        chunk = "\n".join(sanitize(line.rstrip("\r")) for line in chunk.decode().split("\n")).encode()
    emit_bytes(chunk)


@dataclass(frozen=True, slots=True)
class StdoutWriter:
    """A file-like object that prints what is written to it; each write has whole lines."""

    write: Callable[[bytes], None]


def stdout_writer(content: Content) -> StdoutWriter:
    """Writer to stdout for this kind of content. UsageError for binary content on a terminal."""
    if content == "binary" and sys.stdout.isatty():
        raise UsageError("This format cannot be printed to a terminal. Use -o FILE.")
    return StdoutWriter(
        {"json": lambda lines: emit_bytes(escape_json(lines)), "text": emit_data, "binary": emit_bytes}[content]
    )


def emit(line: str = "") -> None:
    """Print lines of text to stdout, sanitised."""
    try:
        sys.stdout.write("\n".join(sanitize(each.rstrip()) for each in line.split("\n")) + "\n")
    except BrokenPipeError as error:
        raise OutputClosedError from error


def note(text: str) -> None:
    """Print a message to stderr, sanitised line by line."""
    for line in text.split("\n"):
        _print_message(sanitize(line))


def alert(text: str) -> None:
    """Print an important message to stderr, in yellow on a colour terminal."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")
    _print_message(f"\x1b[33m{sanitize(text)}\x1b[0m" if coloured else sanitize(text))


def _print_message(line: str) -> None:
    """Print to stderr. A closed or full stderr does not stop the command."""
    with suppress(OSError):
        print(line, file=sys.stderr)


def on_terminal() -> bool:
    """Whether a full-screen app can run: stdin and stdout are a terminal that is not dumb."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def terminal_width() -> int:
    """Width of the terminal in cells, or `PIPED_CELLS` without one."""
    return max(shutil.get_terminal_size().columns, 40) if sys.stdout.isatty() else PIPED_CELLS


def truncate(line: str) -> str:
    """Clip a line to the width of the terminal, if there is one."""
    return clip(line, terminal_width()) if sys.stdout.isatty() else line


def cell_text(value: Any) -> str:
    """A value as sanitised text of a table cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return sanitize(value if isinstance(value, str) else str(value))


def format_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[int] = (),
    widest: int = 60,
    whole: bool = False,
) -> list[str]:
    """Rows as lines with aligned columns; the last column is not padded.

    Args:
        right: columns to align right, such as numbers.
        widest: width limit of all columns but the last, in cells.
        whole: do not clip lines to the width of the terminal.
    """
    body = [list(row) for row in rows]
    sizes = compute_column_widths(headers, body, widest=widest)
    lines = [format_row(row, sizes, right) for row in [list(headers), *body]]
    return lines if whole else list(map(truncate, lines))


def format_row(row: Sequence[str], sizes: Sequence[int], right: Sequence[int] = ()) -> str:
    """One line of a table, with cells clipped and padded to these sizes."""
    return "".join(align_row(row, sizes, right)).rstrip()


UPDATE_SECONDS = 0.1
"""Seconds before the first update and between two updates."""


def megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB"


class Progress:
    """A progress line on stderr, shown on a terminal only and erased at the end.

    Call it with (label, amount done, total amount); 0 means that the total is unknown.
    """

    def __init__(
        self, doing: str = "importing", amount: Callable[[int], str] = megabytes, *, quiet: bool = False
    ) -> None:
        self._doing, self._amount = doing, amount
        self._shown = False
        self._next = time.monotonic() + UPDATE_SECONDS
        self._on = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._on or now < self._next:
            return
        self._next = now + UPDATE_SECONDS
        share = f"{100 * done // total:3d} %" if total else self._amount(done)
        line = f"{self._doing} {share}{f' of {self._amount(total)}' if total else ''}  {sanitize(what)}"
        sys.stderr.write("\r" + clip(line, 78) + "\x1b[K")
        sys.stderr.flush()
        self._shown = True

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False

"""JSON Lines or plain text on stdout, remarks on stderr; nothing from data reaches a terminal raw.

Progress on stderr: one line that is rewritten, on a terminal only, gone at the end.
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

from fcreview.cli.errors import ReaderGoneError, UsageError
from fcreview.model.json_value import json_safe
from fcreview.model.sanitize import clip, visible
from fcreview.model.wording import GAP, column_sizes, filled

if TYPE_CHECKING:
    from fcreview.exporters.base import Content


PIPED_CELLS = 100
"""Width of laid-out text where there is no terminal."""


class _Escapes(dict[int, str]):
    """For `str.translate`: what draws nothing, or worse than nothing, as a JSON escape; all else as it is."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        hidden = code > 0x7E and (unicodedata.category(char)[0] == "C" or visible(char) != char)
        if hidden and not unicodedata.combining(char):
            units = char.encode("utf-16-be", "surrogatepass")
            char = "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
        self[code] = char
        return char


_escapes = _Escapes()


def json_line(value: Any) -> bytes:
    """`value` (JSON, dataclasses, named tuples) as one line of JSON that is safe on a terminal."""
    try:
        line = orjson.dumps(value, default=_plain)
    except TypeError:
        line = orjson.dumps(json_safe(_deep_plain(value)))
    return escaped(line) + b"\n"


def escaped(lines: bytes) -> bytes:
    """JSON with DEL, C1, bidi, zero-width and other invisible characters as escapes; it means the same."""
    if lines.isascii() and b"\x7f" not in lines:
        return lines
    return lines.decode().translate(_escapes).encode()


def _plain(value: Any) -> Any:
    fields = getattr(value, "_asdict", None)  # a named tuple
    return fields() if fields is not None else json_safe(value)


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
        raise ReaderGoneError from error


def emit_data(chunk: bytes) -> None:
    """Text for other programs: as it is, unless a person would get it on a terminal."""
    if sys.stdout.isatty():
        chunk = "\n".join(visible(line.rstrip("\r")) for line in chunk.decode().split("\n")).encode()
    emit_bytes(chunk)


@dataclass(frozen=True, slots=True)
class Printed:
    """Takes a file's bytes, whole lines at a time, and prints them."""

    write: Callable[[bytes], None]


def printed(content: Content) -> Printed:
    """Standard output for a file of that content. UsageError for bytes that a terminal would obey."""
    if content == "binary" and sys.stdout.isatty():
        raise UsageError("this format is nothing for a terminal: name a file with -o")
    return Printed({"json": lambda lines: emit_bytes(escaped(lines)), "text": emit_data, "binary": emit_bytes}[content])


def emit(line: str = "") -> None:
    """Lines of text. What was laid out is visible already; what was forgotten becomes so here."""
    try:
        sys.stdout.write("\n".join(visible(each.rstrip()) for each in line.split("\n")) + "\n")
    except BrokenPipeError as error:
        raise ReaderGoneError from error


def note(text: str) -> None:
    """A remark or an error on stderr, made visible line by line."""
    for line in text.split("\n"):
        _remark(visible(line))


def alert(text: str) -> None:
    """A remark that must not be overlooked: `note`, in yellow where that can be shown."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")
    _remark(f"\x1b[33m{visible(text)}\x1b[0m" if coloured else visible(text))


def _remark(line: str) -> None:
    """A remark that cannot be printed (its disk is full, its reader gone) stops no command in the middle."""
    with suppress(OSError):
        print(line, file=sys.stderr)


def on_terminal() -> bool:
    """Whether a full-screen app can run: keyboard and screen are a terminal that can do more than print."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def cells() -> int:
    """Width to lay text out for: the terminal's, or a fixed one where output goes elsewhere."""
    return max(shutil.get_terminal_size().columns, 40) if sys.stdout.isatty() else PIPED_CELLS


def cut(line: str) -> str:
    """The line as wide as the terminal; whole where there is none."""
    return clip(line, cells()) if sys.stdout.isatty() else line


def text_of(value: Any) -> str:
    """One table cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return visible(value if isinstance(value, str) else str(value))


def aligned(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[int] = (),
    widest: int = 60,
    whole: bool = False,
) -> list[str]:
    """A table as lines; `rows` hold visible text. Columns in `right` are numbers. The last column ends where its text
    ends; on a terminal lines are cut at its width, unless they are wanted `whole`. Columns other than the last are at
    most `widest` cells."""
    body = [list(row) for row in rows]
    sizes = column_sizes(headers, body, widest=widest)
    lines = [laid_out(row, sizes, right) for row in [list(headers), *body]]
    return lines if whole else list(map(cut, lines))


def laid_out(row: Sequence[str], sizes: Sequence[int], right: Sequence[int] = ()) -> str:
    cells = enumerate(zip(row, sizes, strict=True))
    return (" " * GAP).join(filled(clip(text, size), size, right=at in right) for at, (text, size) in cells).rstrip()


PAUSE = 0.1
"""Seconds between two updates: few writes over a slow link. What takes less shows nothing."""


def megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB"


class Progress:
    """What `import_runs` calls with (what, bytes done, bytes in all); others with what they count, 0 in all where that
    is not known."""

    def __init__(
        self, doing: str = "importing", amount: Callable[[int], str] = megabytes, *, quiet: bool = False
    ) -> None:
        self._doing, self._amount = doing, amount
        self._shown = False
        self._next = time.monotonic() + PAUSE
        self._on = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._on or now < self._next:
            return
        self._next = now + PAUSE
        share = f"{100 * done // total:3d} %" if total else self._amount(done)
        line = f"{self._doing} {share}{f' of {self._amount(total)}' if total else ''}  {visible(what)}"
        sys.stderr.write("\r" + clip(line, 78) + "\x1b[K")
        sys.stderr.flush()
        self._shown = True

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False

"""Read JSON that is too large for memory, one value at a time, and skip values that are not needed.

To skip a value, fcreview does not parse it, but counts the brackets outside strings in each chunk
of bytes. This is several times as fast as parsing, and needs little memory.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

CHUNK_BYTES = 1 << 20
FIRST_CHUNK_BYTES = 1 << 14
"""Size of the first chunk of a value, in bytes. It is small, because most values are short."""
_SPACES = re.compile(rb"[ \t\r\n]*")
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STRING_REST = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR_END = re.compile(rb"[,\]}\s]")
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")
_TO_STEPS = bytes(1 if byte in b"{[" else 255 if byte in b"}]" else 0 for byte in range(256))
"""Table for `bytes.translate`: an opening bracket becomes 1, and a closing bracket -1 (as a
signed byte).
"""
MAX_KEY_BYTES = 1 << 20


class JsonStreamError(ValueError):
    """Raised for text that is not JSON or ends too early. The message contains the position."""


class JsonStream:
    """Reads a JSON text from beginning to end.

    `read(n)` must return at most the next n bytes, and no bytes at the end of the text.
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._buffer = b""
        self._at = 0
        self._start = 0
        """Position in the text of the buffer's first byte."""
        self._lines = 0
        """Number of line feeds in the text before the buffer."""

    @property
    def position(self) -> int:
        """Current position in the text, in bytes from 0."""
        return self._start + self._at

    @property
    def line(self) -> int:
        """Number of the line at the current position, from 1."""
        return self._lines + self._buffer.count(b"\n", 0, self._at) + 1

    def peek_after_space(self) -> bytes:
        """Skip white space and return the next byte, or no byte at the end of the text."""
        while self._at < len(self._buffer) or self._read_more():
            spaces = _SPACES.match(self._buffer, self._at)
            self._at = spaces.end() if spaces else self._at
            if self._at < len(self._buffer):
                return self._buffer[self._at : self._at + 1]
        return b""

    def skip_bytes(self, number: int) -> None:
        """Skip bytes that are not part of the text, such as a byte order mark."""
        while len(self._buffer) - self._at < number and self._read_more():
            pass
        self._at = min(self._at + number, len(self._buffer))

    def iterate_keys(self) -> Iterator[str]:
        """Yield the keys of an object.

        The caller must read or skip each value before it asks for the next key.
        """
        self._skip_expected_byte(b"{")
        if self._skip_byte_if_next(b"}"):
            return
        while True:
            if self.peek_after_space() != b'"':
                raise self._make_error("a key is missing")
            key = self._read_string(MAX_KEY_BYTES)
            self._skip_expected_byte(b":")
            self.peek_after_space()
            yield key
            if self._skip_byte_if_next(b"}"):
                return
            self._skip_expected_byte(b",")

    def iterate_elements(self) -> Iterator[int]:
        """Yield the indexes of an array's elements. The caller must read or skip each element."""
        self._skip_expected_byte(b"[")
        if self._skip_byte_if_next(b"]"):
            return
        for index in itertools.count():
            self.peek_after_space()
            yield index
            if self._skip_byte_if_next(b"]"):
                return
            self._skip_expected_byte(b",")

    def read_value(self, limit: int) -> bytes | None:
        """Return the text of the next value.

        If it has more than `limit` bytes, skip it and return None.
        """
        kept: list[bytes] = []
        size = 0
        for part in self._iterate_value_chunks():
            size += len(part)
            if size <= limit:
                kept.append(part)
            else:
                kept.clear()
        return b"".join(kept) if size <= limit else None

    def skip_value(self) -> int:
        """Skip the next value and return its length in bytes."""
        return sum(map(len, self._iterate_value_chunks()))

    def skip_rest_of_container(self) -> None:
        """Skip the remaining elements of the current array or object, and its closing bracket."""
        for _ in self._iterate_container_chunks(1):
            pass

    def _iterate_value_chunks(self) -> Iterator[bytes]:
        first = self.peek_after_space()
        if not first:
            raise self._make_error("a value is missing")
        if first in b"{[":
            yield from self._iterate_container_chunks(0)
        elif first == b'"':
            yield from self._iterate_string_chunks()
        else:
            yield self._read_scalar()

    def _iterate_container_chunks(self, depth: int) -> Iterator[bytes]:
        in_string = False
        size = FIRST_CHUNK_BYTES
        while True:
            part = self._get_next_chunk(size)
            size = CHUNK_BYTES
            steps, ends_in_string = _read_bracket_steps(part, in_string)
            if _find_lowest_depth(steps, depth) <= 0:
                end = _find_container_end(part, depth, in_string)
                self._at += end
                yield part[:end]
                return
            depth += steps.count(1) - steps.count(255)
            in_string = ends_in_string
            self._at += len(part)
            yield part

    def _iterate_string_chunks(self) -> Iterator[bytes]:
        part = self._get_next_chunk(FIRST_CHUNK_BYTES)
        match = _STRING.match(part)
        while match is None:
            self._at += len(part)
            yield part
            part = self._get_next_chunk(CHUNK_BYTES)
            match = _STRING_REST.match(part)
        self._at += match.end()
        yield part[: match.end()]

    def _get_next_chunk(self, size: int) -> bytes:
        """Return the next bytes of the text, which never end inside an escape sequence."""
        if (
            len(self._buffer) - self._at < 2
            and not self._read_more()
            and self._at >= len(self._buffer)
        ):
            raise self._make_error("the text ends inside a value")
        part = self._buffer[self._at : self._at + size]
        while (len(part) - len(part.rstrip(b"\\"))) % 2:
            if self._at + len(part) >= len(self._buffer) and not self._read_more():
                raise self._make_error("the text ends inside a value")
            part = self._buffer[self._at : self._at + len(part) + 1]
        return part

    def _read_scalar(self) -> bytes:
        while (match := _SCALAR_END.search(self._buffer, self._at)) is None:
            if len(self._buffer) - self._at > CHUNK_BYTES:
                raise self._make_error("a number is too long")
            if not self._read_more():
                break
        end = match.start() if match else len(self._buffer)
        text = self._buffer[self._at : end]
        if not text:
            raise self._make_error("a value is missing")
        self._at = end
        return text

    def _read_string(self, limit: int) -> str:
        text = self.read_value(limit)
        try:
            return str(json.loads((text or b'""').decode("utf-8", "replace")))
        except ValueError:
            raise self._make_error("a key is not a JSON string") from None

    def _skip_byte_if_next(self, byte: bytes) -> bool:
        if self.peek_after_space() != byte:
            return False
        self._at += 1
        return True

    def _skip_expected_byte(self, byte: bytes) -> None:
        if not self._skip_byte_if_next(byte):
            found = self.peek_after_space()
            what = f"{byte.decode()} is expected instead of {found.decode('utf-8', 'replace')}"
            what = what if found else "the text ends too early"
            raise self._make_error(what)

    def _make_error(self, what: str) -> JsonStreamError:
        return JsonStreamError(f"{what} at byte {self.position + 1}")

    def _read_more(self) -> bool:
        """Read more bytes and drop the bytes before the current position.

        Return False at the end of the text.
        """
        more = self._read(CHUNK_BYTES)
        if not more:
            return False
        self._lines += self._buffer.count(b"\n", 0, self._at)
        self._start += self._at
        self._buffer = self._buffer[self._at :] + more
        self._at = 0
        return True


class BracketSteps(NamedTuple):
    steps: bytes
    """A signed byte for each bracket outside strings: 1 for an opening and -1 for a closing
    bracket.
    """
    ends_in_string: bool


def _read_bracket_steps(chunk: bytes, starts_in_string: bool) -> BracketSteps:
    if b"\\" in chunk:
        chunk = chunk.replace(b"\\\\", b"").replace(b'\\"', b"")
    pieces = chunk.split(b'"')
    outside = b"".join(pieces[1 if starts_in_string else 0 :: 2])
    return BracketSteps(
        outside.translate(_TO_STEPS, _NOT_BRACKETS), starts_in_string ^ (len(pieces) % 2 == 0)
    )


def _find_lowest_depth(steps: bytes, start_depth: int) -> int:
    """Return the lowest nesting depth in a chunk, or any number above 0 if the chunk does not
    reach depth 0.
    """
    if not steps or steps.count(255) < start_depth:
        return max(start_depth, 1)
    import numpy

    return start_depth + int(
        numpy.cumsum(numpy.frombuffer(steps, numpy.int8), dtype=numpy.int32).min()
    )


def _find_container_end(chunk: bytes, depth: int, starts_in_string: bool) -> int:
    """Return the index after the bracket that closes the array or object.

    The chunk must contain it.
    """
    at = 0
    if starts_in_string:
        match = _STRING_REST.match(chunk)
        at = match.end() if match else len(chunk)
    for token in _TOKEN.finditer(chunk, at):
        char = chunk[token.start()]
        if char == 34:
            continue
        depth += 1 if char in b"{[" else -1
        if depth <= 0:
            return token.end()
    return len(chunk)

"""Read JSON that is too large for memory. Members and elements are read one by one, and unwanted values are skipped.

Skipping does not parse. It counts the brackets outside strings, a chunk at a time, which is several times as fast as
parsing and needs no memory.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator

CHUNK_BYTES = 1 << 20
FIRST_CHUNK_BYTES = 1 << 14
"""Number of bytes that are searched first for the end of a value, because most values are short."""
_SPACE = b" \t\r\n"
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STRING_REST = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR_END = re.compile(rb"[,\]}\s]")
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")
_TO_STEPS = bytes(1 if byte in b"{[" else 255 if byte in b"}]" else 0 for byte in range(256))
"""Translates brackets to 1 and -1 as signed bytes."""
MAX_KEY_BYTES = 1 << 20


class JsonStreamError(ValueError):
    """Raised if the text is not JSON or ends too early. The message contains the position."""


class JsonStream:
    """Reads a JSON text from beginning to end. `read(n)` must return the next bytes, at most n, and none at the end."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._buffer = b""
        self._at = 0
        self._start = 0
        """Position of the buffer's first byte in the text."""
        self._lines = 0
        """Number of line feeds before the buffer."""

    @property
    def position(self) -> int:
        """Position in the text, in bytes from 0."""
        return self._start + self._at

    @property
    def line(self) -> int:
        """Line of the position, from 1."""
        return self._lines + self._buffer.count(b"\n", 0, self._at) + 1

    def peek(self) -> bytes:
        """Skip white space and return the next byte, or no byte at the end of the text."""
        while self._at < len(self._buffer) or self._fill():
            if self._buffer[self._at] not in _SPACE:
                return self._buffer[self._at : self._at + 1]
            self._at += 1
        return b""

    def skip_bytes(self, number: int) -> None:
        """Skip bytes that are not part of the text, such as a byte order mark."""
        while len(self._buffer) - self._at < number and self._fill():
            pass
        self._at = min(self._at + number, len(self._buffer))

    def members(self) -> Iterator[str]:
        """Yield the keys of an object. The caller reads, skips or enters each value before it takes the next key."""
        self._expect(b"{")
        if self._accept(b"}"):
            return
        while True:
            if self.peek() != b'"':
                raise self._error("a key is missing")
            key = self._take_string(MAX_KEY_BYTES)
            self._expect(b":")
            self.peek()
            yield key
            if self._accept(b"}"):
                return
            self._expect(b",")

    def elements(self) -> Iterator[int]:
        """Yield the indexes of an array's elements. The caller reads, skips or enters each of them."""
        self._expect(b"[")
        if self._accept(b"]"):
            return
        for index in itertools.count():
            self.peek()
            yield index
            if self._accept(b"]"):
                return
            self._expect(b",")

    def read_value(self, limit: int) -> bytes | None:
        """Return the text of the next value, or None after skipping a value of more than `limit` bytes."""
        kept: list[bytes] = []
        size = 0
        for part in self._value_parts():
            size += len(part)
            if size <= limit:
                kept.append(part)
            else:
                kept.clear()
        return b"".join(kept) if size <= limit else None

    def skip_value(self) -> int:
        """Skip the next value and return its length in bytes."""
        return sum(map(len, self._value_parts()))

    def skip_rest(self) -> None:
        """Skip to the end of the array or object whose element was read last, including its bracket."""
        for _ in self._container_parts(1):
            pass

    def _value_parts(self) -> Iterator[bytes]:
        first = self.peek()
        if not first:
            raise self._error("a value is missing")
        if first in b"{[":
            yield from self._container_parts(0)
        elif first == b'"':
            yield from self._string_parts()
        else:
            yield self._take_scalar()

    def _container_parts(self, depth: int) -> Iterator[bytes]:
        in_string = False
        size = FIRST_CHUNK_BYTES
        while True:
            part = self._next_part(size)
            size = CHUNK_BYTES
            steps, ends_in_string = _bracket_steps(part, in_string)
            if _lowest_depth(steps, depth) <= 0:
                end = _find_end(part, depth, in_string)
                self._at += end
                yield part[:end]
                return
            depth += steps.count(1) - steps.count(255)
            in_string = ends_in_string
            self._at += len(part)
            yield part

    def _string_parts(self) -> Iterator[bytes]:
        part = self._next_part(FIRST_CHUNK_BYTES)
        match = _STRING.match(part)
        while match is None:
            self._at += len(part)
            yield part
            part = self._next_part(CHUNK_BYTES)
            match = _STRING_REST.match(part)
        self._at += match.end()
        yield part[: match.end()]

    def _next_part(self, size: int) -> bytes:
        """Return the next bytes of the text. They never end inside an escape sequence."""
        if len(self._buffer) - self._at < 2 and not self._fill() and self._at >= len(self._buffer):
            raise self._error("the text ends inside a value")
        part = self._buffer[self._at : self._at + size]
        while (len(part) - len(part.rstrip(b"\\"))) % 2:
            if self._at + len(part) >= len(self._buffer) and not self._fill():
                raise self._error("the text ends inside a value")
            part = self._buffer[self._at : self._at + len(part) + 1]
        return part

    def _take_scalar(self) -> bytes:
        while (match := _SCALAR_END.search(self._buffer, self._at)) is None:
            if len(self._buffer) - self._at > CHUNK_BYTES:
                raise self._error("a number is too long")
            if not self._fill():
                break
        end = match.start() if match else len(self._buffer)
        text = self._buffer[self._at : end]
        if not text:
            raise self._error("a value is missing")
        self._at = end
        return text

    def _take_string(self, limit: int) -> str:
        text = self.read_value(limit)
        try:
            return str(json.loads((text or b'""').decode("utf-8", "replace")))
        except ValueError:
            raise self._error("a key is not JSON") from None

    def _accept(self, byte: bytes) -> bool:
        if self.peek() != byte:
            return False
        self._at += 1
        return True

    def _expect(self, byte: bytes) -> None:
        if not self._accept(byte):
            found = self.peek()
            what = f"{byte.decode()} expected, {found.decode('utf-8', 'replace')} found" if found else "the text ends"
            raise self._error(what)

    def _error(self, what: str) -> JsonStreamError:
        return JsonStreamError(f"{what} at byte {self.position + 1}")

    def _fill(self) -> bool:
        """Read more bytes and drop the bytes before the position. Returns False at the end of the text."""
        more = self._read(CHUNK_BYTES)
        if not more:
            return False
        self._lines += self._buffer.count(b"\n", 0, self._at)
        self._start += self._at
        self._buffer = self._buffer[self._at :] + more
        self._at = 0
        return True


def _bracket_steps(part: bytes, in_string: bool) -> tuple[bytes, bool]:
    """Return a byte (1 or -1) for each bracket outside strings, and whether the part ends inside a string."""
    if b"\\" in part:
        part = part.replace(b"\\\\", b"").replace(b'\\"', b"")
    pieces = part.split(b'"')
    outside = b"".join(pieces[1 if in_string else 0 :: 2])
    return outside.translate(_TO_STEPS, _NOT_BRACKETS), in_string ^ (len(pieces) % 2 == 0)


def _lowest_depth(steps: bytes, depth: int) -> int:
    """Return the lowest nesting depth in a part that begins at `depth`.

    If the part cannot reach depth 0, the result is above 0.
    """
    if not steps or steps.count(255) < depth:
        return max(depth, 1)
    import numpy

    return depth + int(numpy.cumsum(numpy.frombuffer(steps, numpy.int8), dtype=numpy.int32).min())


def _find_end(part: bytes, depth: int, in_string: bool) -> int:
    """Return the index after the bracket that closes the array or object. The bracket must be in `part`."""
    at = 0
    if in_string:
        match = _STRING_REST.match(part)
        at = match.end() if match else len(part)
    for token in _TOKEN.finditer(part, at):
        char = part[token.start()]
        if char == 34:
            continue
        depth += 1 if char in b"{[" else -1
        if depth <= 0:
            return token.end()
    return len(part)

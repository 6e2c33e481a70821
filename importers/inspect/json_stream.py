"""Read JSON that is too large for memory, one value at a time, and skip values that are not needed.

To skip a value, fcreview does not parse it, but counts the brackets outside strings in each chunk
of bytes. This is several times as fast as parsing, and needs little memory.

Why not `ijson`: its C backend (3.6.0) refuses `NaN`, which Inspect writes, and bytes that are not
UTF-8. It reads a lone surrogate as `?` without an error, ends the process at an integer of 5,000
digits, holds a long string in memory as a whole, and does not tell the position of a value. For
200 MB of events, it needs three times as long.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
CHUNK_BYTES = 1 << 20
FIRST_CHUNK_BYTES = 1 << 10
"""Size of the first chunk of a value, in bytes. It is small, because most values are short."""
CHUNK_GROWTH = 16
"""Factor by which each further chunk of a value is larger, up to `CHUNK_BYTES`."""
MAX_KEY_BYTES = 1 << 20
MAX_KEYS = 200_000
"""Maximum number of keys of an object that is read key by key.

A compressed object of 512 MB could have 80 million keys, which would take minutes.
"""
_SPACES = re.compile(rb"[ \t\r\n]*+")
_SCALAR_END = re.compile(rb"[,\]}\s]")
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")
_TO_STEPS = bytes(1 if byte in b"{[" else 255 if byte in b"}]" else 0 for byte in range(256))
"""Table for `bytes.translate`: an opening bracket becomes 1, and a closing bracket -1 (as a
signed byte).
"""
_CLOSING_STEP = 255
_QUOTE = b'"'


class JsonStreamError(ValueError):
    """Raised for text that is not JSON or ends too early. The message contains the position."""


class JsonStream:
    """Reads a JSON text from beginning to end.

    `read(n)` must return at most the next n bytes, and no bytes at the end of the text.
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._buffer = b""
        self._index = 0
        """Index of the current position in the buffer."""
        self._start = 0
        """Position in the text of the buffer's first byte."""
        self._counted_index = 0
        """Index in the buffer up to which `_n_line_feeds` counts."""
        self._n_line_feeds = 0

    @property
    def position(self) -> int:
        """Current position in the text, in bytes from 0."""
        return self._start + self._index

    @property
    def line(self) -> int:
        """Number of the line at the current position, from 1."""
        self._count_line_feeds()
        return self._n_line_feeds + 1

    def peek_after_space(self) -> bytes:
        """Skip white space and return the next byte, or no byte at the end of the text."""
        # White space can be longer than the buffer, so more is read until another byte comes.
        while self._index < len(self._buffer) or self._read_more():
            spaces = _SPACES.match(self._buffer, self._index)
            if spaces is not None:
                self._index = spaces.end()
            if self._index < len(self._buffer):
                return self._buffer[self._index : self._index + 1]
        return b""

    def skip_bytes(self, number: int) -> None:
        """Skip bytes that are not part of the text, such as a byte order mark."""
        while len(self._buffer) - self._index < number and self._read_more():
            pass
        self._index = min(self._index + number, len(self._buffer))

    def iterate_keys(self) -> Iterator[str]:
        """Yield the keys of an object.

        The caller must read or skip each value before it asks for the next key. Raises
        JsonStreamError after `MAX_KEYS` keys.
        """
        self._skip_expected_byte(b"{")
        if self._skip_byte_if_next(b"}"):
            return
        for _ in range(MAX_KEYS):
            if self.peek_after_space() != _QUOTE:
                raise self._make_error("a key is missing")
            key = self._read_string(MAX_KEY_BYTES)
            self._skip_expected_byte(b":")
            self.peek_after_space()
            yield key
            if self._skip_byte_if_next(b"}"):
                return
            self._skip_expected_byte(b",")
        raise self._make_error(f"an object has more than {MAX_KEYS:,} keys")

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
        chunks: list[bytes] = []
        size = 0
        for chunk in self._iterate_value_chunks():
            size += len(chunk)
            if size <= limit:
                chunks.append(chunk)
            else:
                chunks.clear()
        if size > limit:
            return None
        return b"".join(chunks)

    def skip_value(self) -> int:
        """Skip the next value and return its length in bytes."""
        return sum(map(len, self._iterate_value_chunks()))

    def skip_rest_of_container(self) -> None:
        """Skip the remaining elements of the current array or object, and its closing bracket."""
        for _ in self._iterate_container_chunks(depth=1):
            pass

    def _iterate_value_chunks(self) -> Iterator[bytes]:
        """Yield the next value of the text in pieces. Only numbers and words are in one piece."""
        first_byte = self.peek_after_space()
        if not first_byte:
            raise self._make_error("a value is missing")
        if first_byte in b"{[":
            yield from self._iterate_container_chunks(depth=0)
        elif first_byte == _QUOTE:
            yield from self._iterate_string_chunks()
        else:
            yield self._read_scalar()

    def _iterate_container_chunks(self, depth: int) -> Iterator[bytes]:
        """Yield the text up to the bracket that closes an array or an object, in chunks.

        Brackets are counted, except those in strings. `depth` is the number of open brackets: 0
        before the opening one, or 1 inside.
        """
        starts_in_string = False
        size = FIRST_CHUNK_BYTES
        while True:
            chunk = self._get_next_chunk(size)
            brackets = _Brackets.of_chunk(chunk, starts_in_string=starts_in_string)
            if brackets.close_container(depth):
                end = _find_container_end(chunk, depth, starts_in_string=starts_in_string)
                self._index += end
                yield chunk[:end]
                return

            depth += brackets.depth_change
            starts_in_string = brackets.ends_in_string
            self._index += len(chunk)
            yield chunk
            size = min(size * CHUNK_GROWTH, CHUNK_BYTES)

    def _iterate_string_chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the string at the current position in chunks, including its quotes.
        Chunks grow, because most strings are short, but some are very long.
        """
        size = FIRST_CHUNK_BYTES
        # The first chunk begins with the opening quote.
        search_start = len(_QUOTE)
        while True:
            # No chunk ends inside an escape sequence, so each can be searched on its own.
            chunk = self._get_next_chunk(size)
            closing_quote = _hide_escaped_characters(chunk).find(_QUOTE, search_start)
            if closing_quote >= 0:
                end = closing_quote + len(_QUOTE)
                self._index += end
                yield chunk[:end]
                return

            self._index += len(chunk)
            yield chunk
            search_start = 0
            size = min(size * CHUNK_GROWTH, CHUNK_BYTES)

    def _get_next_chunk(self, size: int) -> bytes:
        """Return about `size` bytes from the current position, which stays the same.

        The chunk is shorter if the buffer ends, and a byte longer if it would end inside an escape
        sequence.
        """
        if len(self._buffer) - self._index < 2:
            has_more = self._read_more()
            if not has_more and self._index >= len(self._buffer):
                raise self._make_error("the text ends inside a value")

        chunk = self._buffer[self._index : self._index + size]
        if not _ends_with_escape_character(chunk):
            return chunk

        # `_read_more` also moves the current position to the start of the buffer.
        is_next_byte_buffered = self._index + len(chunk) < len(self._buffer)
        if not is_next_byte_buffered and not self._read_more():
            raise self._make_error("the text ends inside a value")
        return self._buffer[self._index : self._index + len(chunk) + 1]

    def _read_scalar(self) -> bytes:
        """Read a number, true, false or null, up to the next character that cannot be a part of it.

        More of the file is read if the value may go on there.
        """
        end = _SCALAR_END.search(self._buffer, self._index)
        while end is None:
            if len(self._buffer) - self._index > CHUNK_BYTES:
                raise self._make_error("a number is too long")
            if not self._read_more():
                break
            end = _SCALAR_END.search(self._buffer, self._index)

        end_index = len(self._buffer) if end is None else end.start()
        text = self._buffer[self._index : end_index]
        if not text:
            raise self._make_error("a value is missing")
        self._index = end_index
        return text

    def _read_string(self, limit: int) -> str:
        """Read a key of at most `limit` bytes. A longer one is returned as an empty text."""
        text = self.read_value(limit)
        if text is None:
            return ""
        try:
            return str(json.loads(text.decode("utf-8", "replace")))
        except ValueError:
            raise self._make_error("a key is not a JSON string") from None

    def _skip_byte_if_next(self, byte: bytes) -> bool:
        if self.peek_after_space() != byte:
            return False
        self._index += 1
        return True

    def _skip_expected_byte(self, byte: bytes) -> None:
        """Skip a byte such as `:`. Raises JsonStreamError if another one is next."""
        if self._skip_byte_if_next(byte):
            return
        actual = self.peek_after_space()
        if not actual:
            raise self._make_error("the text ends too early")
        actual_text = actual.decode("utf-8", "replace")
        raise self._make_error(f"{byte.decode()} is expected instead of {actual_text}")

    def _make_error(self, what: str) -> JsonStreamError:
        return JsonStreamError(f"{what} at byte {self.position + 1}")

    def _read_more(self) -> bool:
        """Read more bytes and drop the bytes before the current position.

        Return False at the end of the text.
        """
        more = self._read(CHUNK_BYTES)
        if not more:
            return False
        self._count_line_feeds()
        self._start += self._index
        self._buffer = self._buffer[self._index :] + more
        self._index = 0
        self._counted_index = 0
        return True

    def _count_line_feeds(self) -> None:
        self._n_line_feeds += self._buffer.count(b"\n", self._counted_index, self._index)
        self._counted_index = self._index


def _ends_with_escape_character(chunk: bytes) -> bool:
    """Whether a chunk ends inside an escape sequence: with an odd number of backslashes."""
    n_backslashes = len(chunk) - len(chunk.rstrip(b"\\"))
    return n_backslashes % 2 == 1


@dataclass(frozen=True, slots=True)
class _Brackets:
    """The brackets outside strings in a chunk of JSON."""

    steps: bytes
    """A signed byte for each bracket: 1 for an opening and -1 for a closing bracket."""
    ends_in_string: bool
    """Whether the chunk ends inside a string."""

    @classmethod
    def of_chunk(cls, chunk: bytes, *, starts_in_string: bool) -> _Brackets:
        """Find the brackets outside strings in a chunk, which may begin inside a string."""
        # Quotes divide a chunk into pieces that are alternately inside and outside of strings.
        pieces = _hide_escaped_characters(chunk).split(_QUOTE)
        first_piece_outside = 1 if starts_in_string else 0
        outside = b"".join(pieces[first_piece_outside::2])

        n_quotes = len(pieces) - 1
        has_odd_quotes = n_quotes % 2 == 1
        ends_in_string = not starts_in_string if has_odd_quotes else starts_in_string
        return cls(outside.translate(_TO_STEPS, _NOT_BRACKETS), ends_in_string)

    @property
    def n_closing(self) -> int:
        return self.steps.count(_CLOSING_STEP)

    @property
    def depth_change(self) -> int:
        return len(self.steps) - 2 * self.n_closing

    def close_container(self, start_depth: int) -> bool:
        """Whether a bracket of the chunk closes the container, so that the depth becomes 0."""
        if not self.steps or self.n_closing < start_depth:
            return False
        import numpy

        steps = numpy.frombuffer(self.steps, numpy.int8)
        lowest_depth = start_depth + int(numpy.cumsum(steps, dtype=numpy.int32).min())
        return lowest_depth <= 0


def _hide_escaped_characters(chunk: bytes) -> bytes:
    """Replace escaped quotes and backslashes by other characters. Positions stay the same."""
    if b"\\" not in chunk:
        return chunk
    return chunk.replace(rb"\\", b"__").replace(rb"\"", b"__")


def _find_container_end(chunk: bytes, depth: int, *, starts_in_string: bool) -> int:
    """Return the index after the bracket that closes an array or object. The chunk contains it.

    A chunk can have many megabytes, so numpy computes the depth of nesting at all bytes at once.

    Args:
        chunk: Bytes of a JSON text.
        depth: Number of brackets that are open before the chunk.
        starts_in_string: Whether the chunk begins inside a string.
    """
    import numpy

    text = _hide_escaped_characters(chunk)
    is_outside = _find_bytes_outside_strings(text, starts_in_string=starts_in_string)

    # A step is 1 at an opening bracket, -1 at a closing one, and 0 elsewhere.
    steps = numpy.frombuffer(text.translate(_TO_STEPS), numpy.int8) * is_outside
    depths = depth + numpy.cumsum(steps, dtype=numpy.int32)
    closes_container = (depths <= 0) & (steps < 0)
    # `argmax` returns the first index with the largest value, which is True.
    return int(numpy.argmax(closes_container)) + 1


def _find_bytes_outside_strings(text: bytes, *, starts_in_string: bool) -> NDArray[numpy.bool_]:
    """Return for each byte of a text without escaped quotes whether it is outside of strings.

    It is if the number of quotes up to it is even, or odd if the text begins inside a string.
    """
    import numpy

    is_quote = numpy.frombuffer(text, numpy.uint8) == ord(_QUOTE)
    # Only the last bit of the number of quotes matters, so the number may overflow.
    n_quotes = numpy.cumsum(is_quote, dtype=numpy.uint8)
    outside_parity = 1 if starts_in_string else 0
    is_outside: NDArray[numpy.bool_] = (n_quotes & 1) == outside_parity
    return is_outside

"""Budgets of all importers: how much text an item may have, and how much an archive may decompress
to.

A small file can stand for gigabytes: by compression, by a text that is referenced a thousand times,
or by a document that contains itself. Budgets are counted on the expanded text, before it is built.
What is above a budget stays a placeholder or is omitted, and an import issue says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fcreview.safe_files import ArchiveError

MAX_ITEM_TEXT = 32 << 20
"""Maximum number of characters of the texts of one item, after references were replaced."""
MAX_MEMBER_BYTES = 512 << 20
"""Maximum size, in bytes, of one archive member after decompression."""
MAX_ARCHIVE_BYTES = 4 << 30
"""Maximum number of bytes that are decompressed from one archive."""
MAX_REFERENCES = 20_000
"""Maximum number of references to other documents that are followed for one item."""
_MEGABYTE = 1 << 20


@dataclass(slots=True)
class TextBudget:
    """The text that an item may still get. `spend` refuses a text that does not fit."""

    remaining: int = MAX_ITEM_TEXT
    n_refused: int = 0
    """Number of texts that did not fit."""

    def spend(self, n_characters: int) -> bool:
        """Count a text, and return whether it fits."""
        if n_characters > self.remaining:
            self.n_refused += 1
            return False
        self.remaining -= n_characters
        return True


@dataclass(slots=True)
class ArchiveBudget:
    """The bytes that may still be decompressed from one archive, in one pass over its members."""

    remaining: int = MAX_ARCHIVE_BYTES

    def limit_reading(self, read: Callable[[int], bytes]) -> Callable[[int], bytes]:
        """Return a function that reads a member like `read`, and raises ArchiveError where the
        budget ends.
        """
        n_read = 0

        def read_within_budget(size: int) -> bytes:
            nonlocal n_read
            data = read(size)
            n_read += len(data)
            self.remaining -= len(data)
            if n_read > MAX_MEMBER_BYTES:
                raise ArchiveError(
                    f"it has more than {format_megabytes(MAX_MEMBER_BYTES)} after decompression"
                )
            if self.remaining < 0:
                limit = format_megabytes(MAX_ARCHIVE_BYTES)
                raise ArchiveError(f"the archive has more than {limit} after decompression")
            return data

        return read_within_budget


def format_megabytes(n_bytes: int) -> str:
    return f"{n_bytes // _MEGABYTE:,} MB"


MAX_ITEM_TEXT_SHOWN = format_megabytes(MAX_ITEM_TEXT)
"""The maximum text of an item, for import issues: `32 MB`."""

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
MIN_ARCHIVE_BYTES = 1 << 30
"""Number of bytes that may be decompressed from any archive, however small it is."""
MAX_EXPANSION = 100
"""Maximum ratio of an archive's bytes after and before decompression, above `MIN_ARCHIVE_BYTES`.

Texts of genuine logs have a ratio of 5 to 25.
"""
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


class ArchiveBudgetError(ArchiveError):
    """Raised where the budget of a whole archive ends, so that no other member can be read."""


@dataclass(slots=True)
class ArchiveBudget:
    """The bytes that may still be decompressed from one open archive."""

    limit: int = MAX_ARCHIVE_BYTES
    n_bytes: int = 0
    """Number of bytes that were decompressed so far."""

    @classmethod
    def for_archive(cls, n_compressed: int, min_bytes: int | None = None) -> ArchiveBudget:
        """Return the budget of an archive that has `n_compressed` bytes in its file.

        `min_bytes` (default: MIN_ARCHIVE_BYTES) may be decompressed, however small the file is.
        """
        least = MIN_ARCHIVE_BYTES if min_bytes is None else min_bytes
        expanded = max(n_compressed * MAX_EXPANSION, least)
        return cls(min(expanded, MAX_ARCHIVE_BYTES))

    @property
    def is_spent(self) -> bool:
        return self.n_bytes > self.limit

    def limit_reading(self, read: Callable[[int], bytes]) -> Callable[[int], bytes]:
        """Return a function that reads one member like `read`, within the budget.

        It raises ArchiveError for a member that is too large, and ArchiveBudgetError where the
        budget of the archive ends.
        """
        n_read = 0

        def read_within_budget(size: int) -> bytes:
            nonlocal n_read
            if self.is_spent:
                raise self._make_error()
            data = read(size)
            n_read += len(data)
            check_member_size(n_read)
            self.spend(len(data))
            return data

        return read_within_budget

    def spend(self, n_bytes: int) -> None:
        """Count decompressed bytes. Raises ArchiveBudgetError where the budget ends."""
        self.n_bytes += n_bytes
        if self.is_spent:
            raise self._make_error()

    def _make_error(self) -> ArchiveBudgetError:
        limit = format_megabytes(self.limit)
        return ArchiveBudgetError(f"the archive has more than {limit} after decompression")


def check_member_size(n_bytes: int) -> None:
    """Raise ArchiveError if an archive member has too many bytes after decompression."""
    if n_bytes > MAX_MEMBER_BYTES:
        limit = format_megabytes(MAX_MEMBER_BYTES)
        raise ArchiveError(f"it has more than {limit} after decompression")


def format_megabytes(n_bytes: int) -> str:
    return f"{n_bytes // _MEGABYTE:,} MB"


MAX_ITEM_TEXT_SHOWN = format_megabytes(MAX_ITEM_TEXT)
"""The maximum text of an item, for import issues: `32 MB`."""

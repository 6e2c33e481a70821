"""The beginning of a journal that was read before: told by its bytes, so that it need not be verified again."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from fcreview.store.kept import open_source


@dataclass(frozen=True, slots=True)
class Verified:
    """What was read, with nothing to warn of."""

    size: int
    digest: str
    """As `digest_of` gives it, in hex."""


def digest_of(data: bytes = b"") -> blake2b:
    """blake2b-32, to be gone on with."""
    return blake2b(data, digest_size=32)


def begins_with(path: Path, verified: Verified) -> bool:
    """Whether the file still begins with what was read."""
    return beginning(path, verified) is not None


def beginning(path: Path, verified: Verified) -> bytes | None:
    """What was read; None if the file does not begin with it any more, or cannot be read."""
    try:
        with open_source(path) as file:
            data = file.read(verified.size)
    except OSError:
        return None
    fits = len(data) == verified.size and digest_of(data).hexdigest() == verified.digest
    return data if fits else None

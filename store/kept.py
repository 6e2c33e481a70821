"""Files: none that never ends is read, whatever was put in a file's place. Small JSON ones that a workspace keeps are
read with forbearance, written whole."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from fcreview.store.modes import share

LARGEST = 300_000_000
"""Bytes of a file that is read whole, by whomever it was written."""
LARGEST_JOURNAL = 4_000_000_000
"""Bytes: some six million acts of one annotator."""


def read_object(file: Path) -> dict[str, Any]:
    """The JSON object in the file; an empty one if there is none that can be read."""
    try:
        kept = orjson.loads(read_small(file))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def write_object(file: Path, value: Any) -> None:
    """In the place of what was there, never half. OSError if it cannot be written."""
    write_whole(file, orjson.dumps(value, option=orjson.OPT_INDENT_2))


def write_whole(file: Path, content: bytes) -> None:
    """As `write_object`, of any content."""
    fresh = file.with_suffix(f".{os.getpid()}.tmp")
    with open_fresh(fresh) as made:
        made.write(content)
    share(fresh)
    fresh.replace(file)


def open_fresh(path: Path) -> BinaryIO:
    """To write into a file of one's own. What stands there, and may be a link to elsewhere or a pipe, is taken away."""
    path.unlink(missing_ok=True)
    return path.open("xb")


def open_source(path: Path) -> BinaryIO:
    """OSError for what is no file: a pipe would wait for a writer for ever, a device never end."""

    def opener(name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NONBLOCK)
        try:
            check_file(descriptor, name)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    return open(path, "rb", opener=opener)


def check_file(descriptor: int, name: str) -> None:
    """OSError if what was opened is no file."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "not a file", name)


def read_source(path: Path) -> bytes:
    with open_source(path) as file:
        return file.read()


def read_small(path: Path) -> bytes:
    """OSError for more than `LARGEST` bytes."""
    with open_source(path) as file:
        check_size(file.fileno(), str(path), LARGEST)
        return file.read()


def check_size(descriptor: int, name: str, most: int) -> None:
    """OSError for more bytes than that: a file with a hole in it may say that it has a thousand gigabytes."""
    if os.fstat(descriptor).st_size > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)

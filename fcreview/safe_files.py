"""Who may read and write in a workspace: whoever may in the folder it lies in, whatever the umask of the person who was
first there. In a folder that a group shares, everybody of the group can import and review; a private one stays so.

Files: none that never ends is read, whatever was put in a file's place. Small JSON ones that a workspace keeps are
read with forbearance, written whole.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

import orjson


def make_folder(path: Path) -> None:
    """With what is missing above it. Folders that are made here get the rights of the one they lie in. OSError if one
    cannot be made."""
    if path.is_dir():
        return
    if not path.parent.is_dir():
        make_folder(path.parent)
    path.mkdir(exist_ok=True)
    _set(path, path.parent.stat().st_mode & 0o777 | 0o700)


def share(file: Path, *, writing: bool = False) -> None:
    """Gives a file that was made just now to those who may read in its folder; `writing`: and to write to those who may
    write there."""
    mode = file.parent.stat().st_mode
    _set(file, mode & (0o666 if writing else 0o644) | 0o600)


def _set(path: Path, mode: int) -> None:
    """Somebody else's file, or a file system without rights, stays as it is. Set-group-id is inherited and kept: it
    decides on the group of what is made in a folder."""
    with contextlib.suppress(OSError):
        path.chmod(path.stat().st_mode & 0o7000 | mode)


LARGEST = 300 << 20
"""Largest size, in bytes, of a workspace file that is read whole."""
LARGEST_JOURNAL = 4_000 << 20
"""Largest size, in bytes, of a journal: about six million reviews by one annotator."""


def read_object(file: Path) -> dict[str, Any]:
    """The JSON object in the file; an empty one if there is none that can be read."""
    try:
        kept = orjson.loads(read_file(file, LARGEST))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def write_object(file: Path, value: Any) -> None:
    """In the place of what was there, never half. OSError if it cannot be written."""
    write_whole(file, orjson.dumps(value, option=orjson.OPT_INDENT_2))


def write_whole(file: Path, content: bytes, *, sync: bool = False) -> None:
    """As `write_object`, of any content. With `sync` the content is on disk before it replaces the old one."""
    fresh = file.with_suffix(f".{os.getpid()}.tmp")
    with open_fresh(fresh) as made:
        made.write(content)
        if sync:
            made.flush()
            os.fsync(made.fileno())
    share(fresh)
    fresh.replace(file)


def open_fresh(path: Path) -> BinaryIO:
    """To write into a file of one's own. What stands there, and may be a link to elsewhere or a pipe, is taken away."""
    path.unlink(missing_ok=True)
    return path.open("xb")


def open_file(path: Path, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading. Raises OSError for anything else: a pipe would wait for a writer forever, and a
    device would never end."""

    def opener(name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NONBLOCK)
        try:
            check_file(descriptor, name)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    return open(path, "rb", buffering, opener=opener)


def read_file(path: Path, limit: int | None = None) -> bytes:
    """Read a regular file. Raises OSError as `open_file` does, and for a file of more than `limit` bytes."""
    with open_file(path) as file:
        if limit is not None:
            check_size(file.fileno(), str(path), limit)
        return file.read()


def check_file(descriptor: int, name: str) -> None:
    """Raise OSError unless the descriptor is a regular file."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "not a file", name)


def check_size(descriptor: int, name: str, limit: int) -> None:
    """Raise OSError for a file of more than `limit` bytes. A sparse file may claim to have a thousand gigabytes."""
    if os.fstat(descriptor).st_size > limit:
        raise OSError(errno.EFBIG, f"larger than {limit >> 20:,} MB", name)

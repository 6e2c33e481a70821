"""Safe reading and writing of files in a workspace.

Readers open regular files only, because reading a pipe or device could block or never end. Writers replace a file as a
whole. New files and folders get the permissions of the folder that contains them, whatever the umask is: in a folder
that a group shares, the whole group can import and review, and a private folder stays private.
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
    """Create a folder and its missing parents, each with the permissions of its parent. Raises OSError on failure."""
    if path.is_dir():
        return
    if not path.parent.is_dir():
        make_folder(path.parent)
    path.mkdir(exist_ok=True)
    _set_permissions(path, path.parent.stat().st_mode & 0o777 | 0o700)


def apply_folder_permissions(file: Path, *, group_can_write: bool = False) -> None:
    """Let everyone who can read the folder of a new file read the file. With `group_can_write`, let everyone who can
    write in the folder write the file."""
    mode = file.parent.stat().st_mode
    _set_permissions(file, mode & (0o666 if group_can_write else 0o644) | 0o600)


def _set_permissions(path: Path, mode: int) -> None:
    """Set the permission bits, but keep the set-group-id bit, which decides the group of files created in a folder."""
    with contextlib.suppress(OSError):  # Another user owns the file, or the file system has no permissions.
        path.chmod(path.stat().st_mode & 0o7000 | mode)


MAX_FILE_BYTES = 300 << 20
"""Maximum size of a workspace file that is read into memory as a whole."""
MAX_JOURNAL_BYTES = 4_000 << 20
"""Maximum size of a journal, about six million reviews by one annotator."""


def read_json_object(file: Path) -> dict[str, Any]:
    """Read a JSON object. Returns an empty object if the file cannot be read or contains anything else."""
    try:
        value = orjson.loads(read_file(file, MAX_FILE_BYTES))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(file: Path, value: Any) -> None:
    """Replace a file by the JSON of a value. See `write_atomically`."""
    write_atomically(file, orjson.dumps(value, option=orjson.OPT_INDENT_2))


def write_atomically(file: Path, content: bytes, *, sync: bool = False) -> None:
    """Write to a temporary file and rename it to `file`, so that readers never see half of the content.

    With `sync`, the content is on disk before the file is replaced. Raises OSError if the file cannot be written.
    """
    temporary = file.with_suffix(f".{os.getpid()}.tmp")
    with create_file(temporary) as stream:
        stream.write(content)
        if sync:
            stream.flush()
            os.fsync(stream.fileno())
    apply_folder_permissions(temporary)
    temporary.replace(file)


def create_file(path: Path) -> BinaryIO:
    """Create a file for writing. Removes an existing entry first, because it could be a link or a pipe."""
    path.unlink(missing_ok=True)
    return path.open("xb")


def open_file(path: Path, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading.

    Raises OSError for anything else, because a pipe would wait for a writer, and a device might never end.
    """

    def open_without_blocking(name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NONBLOCK)
        try:
            check_regular_file(descriptor, name)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    return open(path, "rb", buffering, opener=open_without_blocking)


def read_file(path: Path, limit: int | None = None) -> bytes:
    """Read a regular file. Raises OSError as `open_file` does, and if the file has more than `limit` bytes."""
    with open_file(path) as file:
        if limit is not None:
            check_file_size(file.fileno(), str(path), limit)
        return file.read()


def check_regular_file(descriptor: int, name: str) -> None:
    """Raise OSError unless the descriptor is a regular file."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", name)


def check_file_size(descriptor: int, name: str, limit: int) -> None:
    """Raise OSError if the file has more than `limit` bytes. A sparse file can claim to have a thousand gigabytes."""
    if os.fstat(descriptor).st_size > limit:
        raise OSError(errno.EFBIG, f"larger than {limit >> 20:,} MB", name)

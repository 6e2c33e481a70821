"""Keep the content of dataset files in memory, because many runs use the same files."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

Content = TypeVar("Content")
MAX_CACHED_BYTES = 16_000_000
"""Size of all files whose content a cache keeps. The datasets of most benchmarks are smaller."""


class FileStamp(NamedTuple):
    """What shows whether a file has changed."""

    path: str
    modified_ns: int
    """Modification time in nanoseconds; 0 if the file does not exist."""
    changed_ns: int
    """Time of the last change of the content or the permissions, in nanoseconds; 0 likewise. A file
    that could not be read is read again when its permissions allow it.
    """
    n_bytes: int


def file_stamp(path: Path) -> FileStamp:
    try:
        status = path.stat()
    except OSError:
        return FileStamp(str(path), modified_ns=0, changed_ns=0, n_bytes=0)
    return FileStamp(
        str(path),
        modified_ns=status.st_mtime_ns,
        changed_ns=status.st_ctime_ns,
        n_bytes=status.st_size,
    )


class FileCache(Generic[Content]):
    """Loads files, and keeps their content for the next run. A file that has changed is loaded
    again.

    Runs share the content, so that they must not change it.
    """

    def __init__(self, load: Callable[[Path], Content]) -> None:
        self._load = load
        self._contents: OrderedDict[FileStamp, Content] = OrderedDict()
        """Content of the files in the order of their last use."""
        self._n_bytes = 0

    def load(self, path: Path) -> Content:
        """Return the content of a file, from memory if it is known."""
        stamp = file_stamp(path)
        if stamp in self._contents:
            self._contents.move_to_end(stamp)
            return self._contents[stamp]

        content = self._load(path)
        self._contents[stamp] = content
        self._n_bytes += stamp.n_bytes
        self._forget_files_above_limit()
        return content

    def _forget_files_above_limit(self) -> None:
        """Forget the files that were not used for the longest time."""
        while self._n_bytes > MAX_CACHED_BYTES:
            stamp, _ = self._contents.popitem(last=False)
            self._n_bytes -= stamp.n_bytes

"""Read and write the files of a lake: the interface for every storage location, and lakes in a local folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from fcreview import safe_files
from fcreview.store.importing.sources import hash_file

LAKE_FILE = "_lake.json"
"""File that makes a folder a lake."""
_COPY_BYTES = 1 << 20


class LakeFiles(Protocol):
    """Files by their path below the lake, such as `benchmark=bfcl/run=12/items.parquet`."""

    location: str
    """Folder or address of the lake."""
    file_system: Any
    """File system of fsspec with which DuckDB reads the files. None for a local folder."""

    def list_sizes(self) -> dict[str, int]:
        """Return the size in bytes of every file of the lake, by path. Temporary files are omitted."""

    def read_all(self, names: list[str]) -> dict[str, bytes]:
        """Read small files. A file that cannot be read is omitted."""

    def write(self, name: str, content: bytes) -> None:
        """Replace a file atomically. Raises: OSError if it cannot be written."""

    def put(self, name: str, source: Path) -> None:
        """Replace a file by a copy of `source`, atomically. Raises: OSError if it cannot be written."""

    def remove(self, name: str) -> None:
        """Delete a file. Does nothing if it does not exist."""

    def hash_of(self, name: str) -> str:
        """Return the hash of a file's content, as `hash_file` does. Empty if it cannot be read."""

    def path_of(self, name: str) -> str:
        """Return the path or address with which DuckDB opens the file."""


class LocalFiles:
    """Implementation of `LakeFiles` for a folder. Symbolic links in the folder are ignored."""

    file_system = None

    def __init__(self, folder: Path) -> None:
        self.location = os.fspath(folder)
        self._folder = folder
        self._files = safe_files.WorkspaceFiles(folder)

    def list_sizes(self) -> dict[str, int]:
        return dict(self._walk(self.location, "")) if self._folder.is_dir() else {}

    def _walk(self, folder: str, prefix: str) -> Iterator[tuple[str, int]]:
        for entry in os.scandir(folder):
            if entry.name.startswith(".") or entry.name.endswith(".tmp"):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name.startswith(("benchmark=", "run=", "_")) or prefix.startswith("_"):
                    yield from self._walk(entry.path, f"{prefix}{entry.name}/")
            elif stat.S_ISREG((status := entry.stat(follow_symlinks=False)).st_mode):
                yield prefix + entry.name, status.st_size

    def read_all(self, names: list[str]) -> dict[str, bytes]:
        found = {}
        for name in names:
            with contextlib.suppress(OSError):
                found[name] = self._files.read(self._folder / name)
        return found

    def write(self, name: str, content: bytes) -> None:
        if self.read_all([name]) == {name: content}:  # parts write some files with the same content
            return
        self._files.make_folder((self._folder / name).parent)
        self._files.write(self._folder / name, content, sync=True)

    def put(self, name: str, source: Path) -> None:
        path = self._folder / name
        temporary = path.with_name(f".{path.name}.{uuid4().hex}")
        self._files.make_folder(path.parent)
        try:
            with (
                safe_files.open_file(source) as content,
                os.fdopen(self._files.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as copy,
            ):
                shutil.copyfileobj(content, copy, _COPY_BYTES)
            self._files.replace(temporary, path)
        except BaseException:
            self._files.remove(temporary)
            raise

    def remove(self, name: str) -> None:
        self._files.remove(self._folder / name)

    def hash_of(self, name: str) -> str:
        return hash_file(self._folder / name)

    def path_of(self, name: str) -> str:
        return f"{self.location}/{name}"


def open_lake_files(location: str) -> LakeFiles:
    """Return an object that reads and writes the files of a lake, given an absolute path or an `s3://` address.

    Raises: StoreError if a package for the address is missing.
    """
    if location.startswith("s3://"):
        from fcreview.store.lake.object_store import ObjectStoreFiles

        return ObjectStoreFiles(location)
    return LocalFiles(Path(location))

"""Read and write the files of a lake, in a local folder or in an object store."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from fcreview import safe_files
from fcreview.store.database import StoreError
from fcreview.store.importing.sources import hash_file

LAKE_FILE = "_lake.json"  # file that makes a folder a lake
_COPY_BYTES = 1 << 20


class LakeFiles(Protocol):
    """Access to the files of a lake. The name of a file is its path in the lake:
    `benchmark=bfcl/run=12/items.parquet`."""

    location: str  # folder or address of the lake
    file_system: Any  # File system of fsspec with which DuckDB reads the files. None for a local folder.

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
    """Return access to the files of a lake at an absolute path or `s3://` address. Raises StoreError without s3fs."""
    if location.startswith("s3://"):
        from fcreview.store.lake.files import ObjectStoreFiles

        return ObjectStoreFiles(location)
    return LocalFiles(Path(location))


BLOCK_BYTES = 1 << 20  # Number of bytes to read ahead. The default of s3fs would read whole files.


class ObjectStoreFiles:
    """Implementation of `LakeFiles` for an address such as `s3://bucket/lake`. Every write is atomic."""

    def __init__(self, location: str) -> None:
        """Raises: StoreError if s3fs is not installed."""
        try:
            s3fs = import_module("s3fs")
        except ImportError:
            raise StoreError("a lake in an object store needs s3fs: pip install 'fcreview[cluster]'") from None
        self.location = location
        self.file_system: Any = s3fs.S3FileSystem(default_block_size=BLOCK_BYTES, use_listings_cache=False)
        self._root = location.removeprefix("s3://")

    def list_sizes(self) -> dict[str, int]:
        with _as_os_errors():
            try:
                found = self.file_system.find(self._root, detail=True)
            except FileNotFoundError:
                return {}
        return {path.removeprefix(self._root + "/"): int(entry["size"]) for path, entry in found.items()}

    def read_all(self, names: list[str]) -> dict[str, bytes]:
        if not names:
            return {}
        with _as_os_errors():
            found = self.file_system.cat([self._path(name) for name in names], on_error="omit")
        return {path.removeprefix(self._root + "/"): bytes(content) for path, content in found.items()}

    def write(self, name: str, content: bytes) -> None:
        with _as_os_errors():
            self.file_system.pipe_file(self._path(name), content)

    def put(self, name: str, source: Path) -> None:
        with _as_os_errors():
            self.file_system.put_file(str(source), self._path(name))

    def remove(self, name: str) -> None:
        with _as_os_errors(), contextlib.suppress(FileNotFoundError):
            self.file_system.rm_file(self._path(name))

    def hash_of(self, name: str) -> str:
        content = self.read_all([name]).get(name)
        return "" if content is None else blake2b(content, digest_size=16).hexdigest()

    def path_of(self, name: str) -> str:
        return f"{self.location}/{name}"

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


@contextlib.contextmanager
def _as_os_errors() -> Iterator[None]:
    """Raise errors of the S3 client, such as missing credentials, as OSError."""
    errors = import_module("botocore.exceptions")
    try:
        yield
    except (errors.BotoCoreError, errors.ClientError) as error:
        raise OSError(" ".join(str(error).split())[:300]) from error

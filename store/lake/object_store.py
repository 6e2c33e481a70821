"""Read and write the files of a lake in an object store (`s3://`), with s3fs. The package is imported on first use."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

from fcreview.store.database import StoreError

BLOCK_BYTES = 1 << 20
"""Number of bytes to read ahead. The default of s3fs would read whole files."""


class ObjectStoreFiles:
    """Implementation of `LakeFiles` for an address such as `s3://bucket/lake`. s3fs finds the credentials, for example
    in environment variables.

    A file appears when it is complete, so no temporary names are needed.
    """

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

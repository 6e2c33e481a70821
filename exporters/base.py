"""Exports: a format is a function from labels to text; writing it safely is the same for all."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fcreview.errors import FcreviewError
from fcreview.store.rows import View

if TYPE_CHECKING:
    from fcreview.store.store import Store

Label = dict[str, Any]
"""One row with the fields of `fcreview.store.queries.labels.COLUMNS`."""

Writer = Callable[[Iterable[list[Label]]], Iterator[bytes]]
"""Turns chunks of labels into chunks of the file."""


class ExportError(FcreviewError):
    """An export that was not written; whatever was at its place before is still there."""


def export(store: Store, format: str, out: str | Path, view: View | None = None) -> int:  # noqa: A002
    """Writes the labels of the items of the view. Returns how many labels.

    `out` is a file, replaced only when the new one is complete, or `-` for standard output. ExportError for an unknown
    format or a file that cannot be written; FilterError and StoreError are the store's own.
    """
    from fcreview.exporters.registry import EXPORTERS

    if format not in EXPORTERS:
        raise ExportError(f"no format {format!r}: there are {', '.join(sorted(EXPORTERS))}")
    counted = _Count(store.labels(view or View()))
    chunks = EXPORTERS[format]()(counted)
    if str(out) == "-":
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    else:
        try:
            with _replacing(Path(out)) as file:
                file.writelines(chunks)
        except OSError as error:
            raise ExportError(f"{out}: {error.strerror or error}") from error
    return counted.rows


class _Count:
    """Passes chunks on and counts their rows."""

    def __init__(self, chunks: Iterable[list[Label]]) -> None:
        self.rows = 0
        self._chunks = chunks

    def __iter__(self) -> Iterator[list[Label]]:
        for chunk in self._chunks:
            self.rows += len(chunk)
            yield chunk


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file beside `path` that takes its place when all is written, with the rights a new file would get."""
    if path.exists() and not path.is_file():  # a pipe or a device is written as it is; a folder refuses
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask

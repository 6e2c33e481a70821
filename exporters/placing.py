"""Files and folders that take their place when they are complete; until then what was there before is."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from fcreview.exporters.base import ExportError


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` that replaces it when all is written, with the rights of the old one or those a new file
    would get. A pipe or a device is written as it is. ExportError if `path` is a folder."""
    if path.is_dir():
        raise ExportError(f"{path} is a folder, and this format makes a file")
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(_rights(target, 0o666))
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder beside `path` that takes its place when all is written. ExportError if there is anything at
    `path` but an empty folder: a folder's files are never mixed with others, and never deleted."""
    if path.exists() and not path.is_dir():
        raise ExportError(f"{path} is no folder, and this format makes one")
    if path.is_dir() and any(path.iterdir()):
        raise ExportError(f"{path} is not empty: name a folder that is not there yet")
    target = Path(os.path.realpath(path))
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name[:100]}.", dir=target.parent))
    try:
        yield folder
        for file in folder.rglob("*"):
            _to_disk(file)
        _to_disk(folder)
        folder.chmod(_rights(target, 0o777))
        folder.replace(target)  # the system refuses if somebody has put something there meanwhile
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rights(target: Path, fresh: int) -> int:
    """Of what is there, else those of anything new."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0o022)
    os.umask(mask)
    return fresh & ~mask

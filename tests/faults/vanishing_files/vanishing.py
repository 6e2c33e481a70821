"""Make files of a run vanish or change at the n-th access of fcreview to a file of the run."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

Event = Callable[[Path], object]


def delete(file: Path) -> None:
    file.unlink()


def truncate_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def empty(file: Path) -> None:
    os.truncate(file, 0)


def append_bytes(file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(b'{"id": "half a li')


def replace(file: Path) -> None:
    """Replace the file by one of the same size and form with other values."""
    new = file.with_name(f".{file.name}.new")
    new.write_bytes(
        file.read_bytes()
        .replace(b" the ", b" teh ")
        .replace(b"true", b"null")
        .replace(b"00", b"11")
    )
    new.replace(file)


def overwrite(file: Path) -> None:
    """Overwrite the file in place, so that an open reader continues with the new bytes."""
    with file.open("rb+") as stream:
        stream.write(b"\xff\x00}{" * (file.stat().st_size // 8))


def replace_by_folder(file: Path) -> None:
    file.unlink()
    (file / "inner").mkdir(parents=True)


def replace_by_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def delete_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def forbid(_: Path) -> None:
    """Do nothing.

    `at_access` then refuses further access, because file modes do not stop the superuser.
    """


KINDS: list[Event] = [
    delete,
    truncate_half,
    empty,
    append_bytes,
    replace,
    overwrite,
    replace_by_folder,
    replace_by_pipe,
    delete_folder,
    forbid,
]


class Watch:
    """Accesses of the program to files below a folder."""

    def __init__(self, place: Path) -> None:
        self.asked: list[Path] = []
        """Accessed files in order."""
        self.gone: Path | None = None
        """File that the program may no longer read."""
        self._place = f"{place}{os.sep}"
        self._away = False

    def file_of_run(self, path: object) -> Path | None:
        """Return the accessed file if it belongs to the run."""
        if self._away or not isinstance(path, str | os.PathLike):
            return None
        file = Path(os.fsdecode(path))
        if not str(file).startswith(self._place) or ".fcreview" in file.parts:
            return None
        self._away = True
        try:
            return file if file.is_file() else None
        finally:
            self._away = False

    def see(self, event: Event | None, file: Path) -> None:
        self._away = True
        if event is not None:
            event(file)
        self._away = False
        if event is forbid:
            self.gone = file


@contextmanager
def at_access(place: Path, number: int | None, event: Event | None = None) -> Iterator[Watch]:
    """Call `event` with the file of the `number`-th access (from 0) below `place`: before the
    access if the number is even, else after it.
    """
    watch = Watch(place)

    def wrap(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *more: Any, **named: Any) -> Any:
            file = watch.file_of_run(path)
            if file is None:
                return real(path, *more, **named)
            now = event is not None and len(watch.asked) == number
            before = now and len(watch.asked) % 2 == 0
            watch.asked.append(file)
            if before:
                watch.see(event, file)
            if watch.gone == file:
                raise PermissionError(13, "Permission denied", str(file))
            result = real(path, *more, **named)
            if now and not before:
                watch.see(event, file)
            return result

        return call

    with (
        patch.object(os, "open", wrap(os.open)),
        patch.object(io, "open", wrap(io.open)),
        patch.object(os, "stat", wrap(os.stat)),
    ):
        yield watch

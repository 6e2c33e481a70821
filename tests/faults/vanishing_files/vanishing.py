"""Files that go or change between being found and being read, or in the middle of it: what happens at the n-th time
that the program asks the disk for something of a run."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

Happens = Callable[[Path], object]


def deleted(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def grown(file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(b'{"id": "half a li')


def replaced(file: Path) -> None:
    """By another file of the same size and form, which says other things."""
    new = file.with_name(f".{file.name}.new")
    new.write_bytes(file.read_bytes().replace(b" the ", b" teh ").replace(b"true", b"null").replace(b"00", b"11"))
    new.replace(file)


def of_other_bytes(file: Path) -> None:
    """In its place: whoever has it open reads on in them."""
    with file.open("rb+") as stream:
        stream.write(b"\xff\x00}{" * (file.stat().st_size // 8))


def a_folder(file: Path) -> None:
    file.unlink()
    (file / "inner").mkdir(parents=True)


def a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def without_its_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def forbidden(_: Path) -> None:
    """`at_time` refuses it from then on: the superuser could read it whatever its mode."""


KINDS: list[Happens] = [
    deleted, cut, emptied, grown, replaced, of_other_bytes, a_folder, a_pipe, without_its_folder, forbidden,
]  # fmt: skip


class Watch:
    """What the program asked of the files below a folder."""

    def __init__(self, place: Path) -> None:
        self.asked: list[Path] = []
        """In order, a file as often as it was asked for."""
        self.gone: Path | None = None
        """What it may not read any more."""
        self._place = f"{place}{os.sep}"
        self._away = False

    def concerned(self, path: object) -> Path | None:
        """The file that is asked for, if it is one of the run's."""
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

    def see(self, happens: Happens | None, file: Path) -> None:
        self._away = True
        if happens is not None:
            happens(file)
        self._away = False
        if happens is forbidden:
            self.gone = file


@contextmanager
def at_time(place: Path, number: int | None, happens: Happens | None = None) -> Iterator[Watch]:
    """At the `number`-th time (from 0) that a file below `place` is looked at or opened, something happens to it: just
    before if it is even, else just after."""
    watch = Watch(place)

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *more: Any, **named: Any) -> Any:
            file = watch.concerned(path)
            if file is None:
                return real(path, *more, **named)
            now = happens is not None and len(watch.asked) == number
            before = now and len(watch.asked) % 2 == 0
            watch.asked.append(file)
            if before:
                watch.see(happens, file)
            if watch.gone == file:
                raise PermissionError(13, "Permission denied", str(file))
            result = real(path, *more, **named)
            if now and not before:
                watch.see(happens, file)
            return result

        return call

    with (
        patch.object(os, "open", watched(os.open)),
        patch.object(io, "open", watched(io.open)),
        patch.object(os, "stat", watched(os.stat)),
    ):
        yield watch

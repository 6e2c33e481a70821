"""Exports: chooses the format and puts what it makes in place.

Files and folders that take their place when they are complete; until then what was there before is.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fcreview.errors import EXIT_USAGE_ERROR
from fcreview.exporters.base import (
    EXPORTERS,
    Benchmarks,
    Content,
    ExportError,
    FolderFormat,
    Format,
    Sink,
    Source,
    Told,
)

if TYPE_CHECKING:
    from fcreview.store.labels.read import LabelSelection
    from fcreview.store.rows import View
    from fcreview.store.store import Store


TEMPORARY = ".part"
"""What the name of a file or folder ends in that is not whole yet."""


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
    _sweep(target)
    descriptor, name = tempfile.mkstemp(prefix=_prefix(target, os.getpid()), suffix=TEMPORARY, dir=target.parent)
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


def write_file(path: Path, content: bytes) -> None:
    """All of a file that a person named, as `new_file`. ExportError if the place cannot be written to."""
    try:
        with new_file(path) as file:
            file.write(content)
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror or error}") from error


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder beside `path` that takes its place when all is written. ExportError if there is anything at
    `path` but an empty folder: a folder's files are never mixed with others, and never deleted."""
    if path.exists() and not path.is_dir():
        raise ExportError(f"{path} is no folder, and this format makes one")
    if path.is_dir() and any(path.iterdir()):
        raise ExportError(f"{path} is not empty: name a folder that is not there yet")
    target = Path(os.path.realpath(path))
    _sweep(target)
    folder = Path(tempfile.mkdtemp(prefix=_prefix(target, os.getpid()), suffix=TEMPORARY, dir=target.parent))
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


def _prefix(target: Path, process: int | str) -> str:
    """Of what is being written: whose it is stands in the name, so that a later export knows what is left over."""
    return f".{target.name.encode()[:80].decode(errors='ignore')}.fcreview.{_host()}.{process}."


def _host() -> str:
    """A folder may be shared by machines: only those of this one can be asked whether they are at work."""
    return re.sub("[^A-Za-z0-9]", "-", platform.node())[:40] or "here"


def _sweep(target: Path) -> None:
    """Takes away what exports to this place left that were killed: ours by name, of this machine, of no process."""
    start = _prefix(target, "")[:-1]
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in list(entries):
            process = entry.name.removeprefix(start).partition(".")[0]
            ours = entry.name.startswith(start) and entry.name.endswith(TEMPORARY) and process.isdigit()
            if not ours or _is_at_work(int(process)):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink()


def _is_at_work(process: int) -> bool:
    """A process of that number, whoever's: rather leave a file than take one that is being written."""
    if os.name != "posix":
        return True  # there, the question would end it
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


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


STANDARD_OUTPUT = "-"


class FormatError(ExportError):
    """The format does not exist, or cannot go where it was sent."""

    exit_code = EXIT_USAGE_ERROR


def standard_output(content: Content) -> Sink:  # noqa: ARG001 - bytes are bytes: who prints for people hands in another
    return sys.stdout.buffer


@dataclass(frozen=True, slots=True)
class Watched:
    """By a person, or by nobody."""

    stdout: Callable[[Content], Sink] = standard_output
    """What takes the bytes that go to standard output."""
    told: Told | None = None
    """Hears how many there are so far."""


NOBODY = Watched()


def export(
    store: Store,
    name: str,
    out: str | Path,
    view: View | None = None,
    watched: Watched = NOBODY,
    choice: LabelSelection | None = None,
    benchmarks: Benchmarks | None = None,
) -> dict[str, int]:
    """Writes the items that the view selects in the format `name`. Returns how many of what: {"label": 5}. `choice`
    says which labels of these items, and how much of each; all of them, unless it is given. `benchmarks` is needed by
    formats that write their files.

    `out` is a file or a folder, which is there whole or not at all, or `-` for standard output. ExportError for a place
    that cannot be written to or that holds something else; FilterError and StoreError are the store's own.
    """
    from fcreview.store.labels.read import ALL_LABELS
    from fcreview.store.rows import View

    source = Source(store, view or View(), choice or ALL_LABELS, benchmarks, watched.told)
    chosen = _format(name)
    if str(out) == STANDARD_OUTPUT:
        if isinstance(chosen, FolderFormat):
            raise FormatError(f"{name} makes a folder, which standard output cannot take: name one with -o")
        sink = watched.stdout(chosen.content)
        chosen.load()(source, sink)
        sys.stdout.flush()
        return source.counts
    try:
        if isinstance(chosen, FolderFormat):
            with new_folder(Path(out)) as folder:
                chosen.load()(source, folder)
        else:
            with new_file(Path(out)) as file:
                chosen.load()(source, file)
    except OSError as error:
        raise ExportError(f"{out}: {error.strerror or error}") from error
    return source.counts


def _format(name: str) -> Format:
    if name not in EXPORTERS:
        raise FormatError(f"no format {name!r}: there are {', '.join(sorted(EXPORTERS))}")
    return EXPORTERS[name]

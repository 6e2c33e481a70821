"""Export a view in a format. A target file or folder is replaced only when its new content is complete."""

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
    BenchmarkServices,
    Content,
    ExportError,
    ExportFormat,
    ExportSource,
    FolderFormat,
    ProgressCallback,
    Sink,
)

if TYPE_CHECKING:
    from fcreview.store.labels.read import LabelSelection
    from fcreview.store.rows import View
    from fcreview.store.store import Store


TEMPORARY_SUFFIX = ".part"
"""Suffix of unfinished files and folders."""


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Write to a temporary file and rename it to `path` on success.

    The permissions of an existing file are kept. A pipe or device is written directly. Raises ExportError if `path` is
    a folder.
    """
    if path.is_dir():
        raise ExportError(f"{path} is a folder, but this format writes a file")
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    _remove_leftovers(target)
    descriptor, name = tempfile.mkstemp(
        prefix=_temporary_prefix(target, os.getpid()), suffix=TEMPORARY_SUFFIX, dir=target.parent
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(_file_mode(target, 0o666))
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_file(path: Path, content: bytes) -> None:
    """Write a file with `new_file`. Raises ExportError if it cannot be written."""
    try:
        with new_file(path) as file:
            file.write(content)
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror or error}") from error


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Write to a temporary folder and rename it to `path` on success.

    Raises ExportError unless `path` is absent or an empty folder, so that existing files are neither mixed with new
    ones nor deleted.
    """
    if path.exists() and not path.is_dir():
        raise ExportError(f"{path} is a file, but this format writes a folder")
    if path.is_dir() and any(path.iterdir()):
        raise ExportError(f"{path} is not empty. Choose a new folder.")
    target = Path(os.path.realpath(path))
    _remove_leftovers(target)
    folder = Path(
        tempfile.mkdtemp(prefix=_temporary_prefix(target, os.getpid()), suffix=TEMPORARY_SUFFIX, dir=target.parent)
    )
    try:
        yield folder
        for file in folder.rglob("*"):
            _fsync_path(file)
        _fsync_path(folder)
        folder.chmod(_file_mode(target, 0o777))
        folder.replace(target)  # fails if another program created files there meanwhile
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _temporary_prefix(target: Path, process: int | str) -> str:
    """Return the start of a temporary name. It has host and process id, so that later exports recognise leftovers."""
    return f".{target.name.encode()[:80].decode(errors='ignore')}.fcreview.{_host_name()}.{process}."


def _host_name() -> str:
    """Return the name of this machine. A shared folder may have temporary files of other machines."""
    return re.sub("[^A-Za-z0-9]", "-", platform.node())[:40] or "here"


def _remove_leftovers(target: Path) -> None:
    """Delete temporary files that killed exports of this machine left beside the target."""
    start = _temporary_prefix(target, "")[:-1]
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in list(entries):
            process = entry.name.removeprefix(start).partition(".")[0]
            ours = entry.name.startswith(start) and entry.name.endswith(TEMPORARY_SUFFIX) and process.isdigit()
            if not ours or _is_process_running(int(process)):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink()


def _is_process_running(process: int) -> bool:
    """Whether any process with this id is running. If an unrelated process has the id, the leftover file is kept."""
    if os.name != "posix":
        return True  # os.kill would terminate the process
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _fsync_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _file_mode(target: Path, fresh: int) -> int:
    """Return the permissions of the existing target, or `fresh` if the target does not exist."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0o022)
    os.umask(mask)
    return fresh & ~mask


STANDARD_OUTPUT = "-"


class FormatError(ExportError):
    """Raised for an unknown format, or one that cannot be written to the target."""

    exit_code = EXIT_USAGE_ERROR


def standard_output(content: Content) -> Sink:  # noqa: ARG001 - terminals pass another function
    return sys.stdout.buffer


@dataclass(frozen=True, slots=True)
class ExportOutput:
    """The receivers of standard output and of progress reports."""

    stdout: Callable[[Content], Sink] = standard_output
    """Returns the receiver of bytes written to standard output."""
    on_progress: ProgressCallback | None = None
    """Function to call with the progress. None if progress is not reported."""


QUIET_OUTPUT = ExportOutput()


def export(
    store: Store,
    format_name: str,
    out: str | Path,
    view: View | None = None,
    output: ExportOutput = QUIET_OUTPUT,
    selection: LabelSelection | None = None,
    benchmarks: BenchmarkServices | None = None,
) -> dict[str, int]:
    """Write the items of a view and return the number of rows by noun: {"label": 5}.

    Args:
        out: a file or folder, replaced only when complete, or `-` for standard output.
        selection: the labels and fields to write; default: all labels.
        benchmarks: importer functions, for formats that write benchmark files.

    Raises:
        ExportError: the target cannot be written, or is a file instead of a folder or the reverse.
        FilterError: the view's filter is invalid.
        StoreError: the store cannot be read, for example in blind mode.
    """
    from fcreview.store.labels.read import ALL_LABELS
    from fcreview.store.rows import View

    source = ExportSource(store, view or View(), selection or ALL_LABELS, benchmarks, output.on_progress)
    chosen = _find_format(format_name)
    if str(out) == STANDARD_OUTPUT:
        if isinstance(chosen, FolderFormat):
            raise FormatError(f"{format_name} writes a folder, which cannot go to standard output. Use -o FOLDER.")
        sink = output.stdout(chosen.content)
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


def _find_format(name: str) -> ExportFormat:
    if name not in EXPORTERS:
        raise FormatError(f"no format {name!r}: choose {', '.join(sorted(EXPORTERS))}")
    return EXPORTERS[name]

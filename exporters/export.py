"""Export a view in a format.

A target file or folder is replaced only when its new content is complete.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import orjson

from fcreview.errors import EXIT_USAGE_ERROR
from fcreview.exporters.base import (
    EXPORTERS,
    BenchmarkServices,
    Content,
    ExportError,
    ExportFormat,
    ExportSource,
    ProgressCallback,
    Sink,
)
from fcreview.model.json_value import to_plain_json
from fcreview.store.workspace import WORKSPACE_FOLDER

if TYPE_CHECKING:
    from fcreview.store.label_fields import LabelSelection
    from fcreview.store.rows import View
    from fcreview.store.store import Store


TEMPORARY_SUFFIX = ".part"
MAX_HOST_LENGTH = 40
MAX_NAME_BYTES = 80


@dataclass(frozen=True, slots=True)
class OverwriteRules:
    """Rules for which existing files an output may replace.

    Files in a folder `.fcreview` are never replaced.
    """

    force: bool = False
    inputs: Sequence[Path] = ()
    workspace: Path | None = None
    """The workspace folder.

    It is needed if a link named `.fcreview` points to a folder with a different name.
    """

    @classmethod
    def for_store(cls, store: Store, *, force: bool) -> OverwriteRules:
        """Return rules that protect the imported files and the workspace of a store."""
        return cls(force, store.fetch_source_paths(), store.workspace.root)

    def raise_if_not_replaceable(self, path: Path) -> None:
        """Raise ExportError if an export must not create or replace a file at this path.

        Protected are the workspace folder, the files from which runs were imported and, without
        `force`, all existing files.
        """
        target = Path(os.path.realpath(path))
        if self._is_in_workspace(target):
            raise ExportError(
                f"{path}: the workspace folder {WORKSPACE_FOLDER} is protected. Choose another"
                " path."
            )
        if not target.is_file():
            return

        status = target.stat()
        if any(_is_same_file(input_file, status) for input_file in self.inputs):
            raise ExportError(f"{path}: imported files are protected. Choose another path.")
        if not self.force:
            raise ExportError(f"{path}: the file already exists. Pass --force to replace it.")

    def _is_in_workspace(self, target: Path) -> bool:
        """Whether a path without links is in this workspace, or in a folder `.fcreview`.

        Some file systems ignore case.
        """
        if WORKSPACE_FOLDER in {name.casefold() for name in target.parts}:
            return True
        if self.workspace is None:
            return False
        return target.is_relative_to(os.path.realpath(self.workspace))


def _is_same_file(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), status)
    except OSError:
        return False


@contextlib.contextmanager
def open_output_file(path: Path, rules: OverwriteRules) -> Iterator[BinaryIO]:
    """Open a file for an export, so that it appears at `path` only when it is complete.

    The export goes to a temporary file, which is renamed on success. An existing file keeps its
    permissions. A pipe or device is opened directly. Raises ExportError if `path` is a folder or
    the rules protect it.
    """
    if path.is_dir():
        raise ExportError(
            f"{path} is a folder, but this format writes a file. Choose another path."
        )
    rules.raise_if_not_replaceable(path)
    is_pipe_or_device = path.exists() and not path.is_file()
    if is_pipe_or_device:
        with path.open("wb") as file:
            yield file
        return

    target = Path(os.path.realpath(path))
    descriptor, temporary_file = _create_temporary_file(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # Another program may have created the file meanwhile.
        rules.raise_if_not_replaceable(path)
        temporary_file.chmod(_choose_file_mode(target, 0o666))
        temporary_file.replace(target)
    except BaseException:
        temporary_file.unlink(missing_ok=True)
        raise


def _create_temporary_file(target: Path) -> tuple[int, Path]:
    """Create a file beside the target. Return its descriptor and its path."""
    _remove_old_temporary_files(target)
    prefix = f"{_build_temporary_prefix(target)}{os.getpid()}."
    descriptor, name = tempfile.mkstemp(TEMPORARY_SUFFIX, prefix, target.parent)
    return descriptor, Path(name)


def write_output_file(path: Path, content: bytes, rules: OverwriteRules) -> None:
    """Write or replace a file in one step, as `open_output_file` does.

    Raises ExportError if it cannot be written.
    """
    try:
        with open_output_file(path, rules) as file:
            file.write(content)
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror or error}") from error


@contextlib.contextmanager
def create_output_folder(path: Path, rules: OverwriteRules) -> Iterator[Path]:
    """Create a folder for an export, so that it appears at `path` only when it is complete.

    The export goes to a temporary folder, which is renamed on success. Raises ExportError if `path`
    is a file, a folder that is not empty, or inside the workspace.
    """
    if path.exists() and not path.is_dir():
        raise ExportError(
            f"{path} is a file, but this format writes a folder. Choose another path."
        )
    if path.is_dir() and any(path.iterdir()):
        raise ExportError(f"{path} is not empty. Choose a new folder.")
    rules.raise_if_not_replaceable(path)

    target = Path(os.path.realpath(path))
    temporary_folder = _create_temporary_folder(target)
    try:
        yield temporary_folder
        for file in temporary_folder.rglob("*"):
            _fsync_path(file)
        _fsync_path(temporary_folder)
        temporary_folder.chmod(_choose_file_mode(target, 0o777))
        # This fails if another program created files there meanwhile.
        temporary_folder.replace(target)
    except BaseException:
        shutil.rmtree(temporary_folder, ignore_errors=True)
        raise


def _create_temporary_folder(target: Path) -> Path:
    """Create a folder beside the target."""
    _remove_old_temporary_files(target)
    prefix = f"{_build_temporary_prefix(target)}{os.getpid()}."
    return Path(tempfile.mkdtemp(TEMPORARY_SUFFIX, prefix, target.parent))


def _build_temporary_prefix(target: Path) -> str:
    """Return the start of the names of the target's temporary files.

    The id of the process follows it.
    """
    # Other machines may share the folder.
    host = re.sub("[^A-Za-z0-9]", "-", platform.node())[:MAX_HOST_LENGTH] or "here"
    # A file name has at most 255 bytes on most file systems.
    shortened_name = target.name.encode()[:MAX_NAME_BYTES].decode(errors="ignore")
    return f".{shortened_name}.fcreview.{host}."


def _remove_old_temporary_files(target: Path) -> None:
    """Remove the temporary files that earlier exports to this target left when they were killed.

    The name of such a file contains the id of its process. Errors are ignored.
    """
    prefix = _build_temporary_prefix(target)
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in list(entries):
            if not _is_left_over(entry.name, prefix):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink()


def _is_left_over(name: str, prefix: str) -> bool:
    """Whether a temporary file has this name, and its process no longer runs."""
    if not (name.startswith(prefix) and name.endswith(TEMPORARY_SUFFIX)):
        return False
    process_id, _, _ = name.removeprefix(prefix).partition(".")
    return process_id.isdigit() and not _is_process_running(int(process_id))


def _is_process_running(process_id: int) -> bool:
    """Whether a process exists. On doubt, it does, so that its files are not removed."""
    if os.name != "posix":
        # On other systems, os.kill would terminate the process.
        return True
    try:
        os.kill(process_id, 0)
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


def _choose_file_mode(target: Path, default_mode: int) -> int:
    """Return the permissions for a new file: those of the file that it replaces or, if there is
    none, the usual ones.
    """
    if target.exists():
        return target.stat().st_mode & 0o777
    # The mask can only be read by setting it.
    mask = os.umask(0o022)
    os.umask(mask)
    return default_mode & ~mask


STANDARD_OUTPUT = "-"


class FormatError(ExportError):
    """Raised for an unknown format, or if a format that writes a folder is exported to standard
    output.
    """

    exit_code = EXIT_USAGE_ERROR


@dataclass(frozen=True, slots=True)
class ExportOutput:
    """Settings of an export: its standard output and progress callback, and whether it may
    replace a file.
    """

    stdout: Callable[[Content], Sink] = lambda _: sys.stdout.buffer
    on_progress: ProgressCallback | None = None
    force: bool = False


QUIET_OUTPUT = ExportOutput()
CountByNoun = dict[str, int]
"""Number of exported rows or files by noun: {"label": 5}."""


def export(
    store: Store,
    format_name: str,
    out: str | Path,
    view: View | None = None,
    output: ExportOutput = QUIET_OUTPUT,
    selection: LabelSelection | None = None,
    benchmarks: BenchmarkServices | None = None,
) -> CountByNoun:
    """Export a view to a file or folder, or to standard output if `out` is `-`.

    Return the number of exported rows by noun.

    Raises:
        ExportError: `out` is protected, cannot be written, or does not suit the format.
        FilterError: The filter of the view is invalid.
        StoreError: The store cannot be read, for example in blind mode.
    """
    from fcreview.store.label_fields import ALL_LABELS
    from fcreview.store.rows import View

    if format_name not in EXPORTERS:
        raise FormatError(
            f"unknown format {format_name!r}. Choose one of {', '.join(sorted(EXPORTERS))}."
        )
    exporter = EXPORTERS[format_name]
    source = ExportSource(
        store, view or View(), selection or ALL_LABELS, benchmarks, output.on_progress
    )
    if str(out) == STANDARD_OUTPUT:
        _export_to_standard_output(source, exporter, output)
        return source.counts

    rules = OverwriteRules.for_store(store, force=output.force)
    try:
        _export_to_path(source, exporter, Path(out), rules)
    except OSError as error:
        raise ExportError(f"{out}: {error.strerror or error}") from error
    return source.counts


def _export_to_path(
    source: ExportSource, exporter: ExportFormat, path: Path, rules: OverwriteRules
) -> None:
    """Write the complete export to a temporary file or folder, and then rename it to the path."""
    write = exporter.load()
    if exporter.content == "folder":
        with create_output_folder(path, rules) as folder:
            write(source, folder)
    else:
        with open_output_file(path, rules) as file:
            write(source, file)
            # If the disk is full, the card and the manifest of the earlier export stay, too.
            file.flush()
            _write_dataset_card(source, path, rules)
            _write_manifest(source, path, rules)


def _export_to_standard_output(
    source: ExportSource, exporter: ExportFormat, output: ExportOutput
) -> None:
    """Write the export to standard output. Raises FormatError for a format that writes a folder."""
    if exporter.content == "folder":
        raise FormatError(
            f"{exporter.name} writes a folder and cannot be printed to standard output. Use -o"
            " FOLDER."
        )
    sink = output.stdout(exporter.content)
    exporter.load()(source, sink)
    sys.stdout.flush()


def _write_dataset_card(source: ExportSource, path: Path, rules: OverwriteRules) -> None:
    """Write the dataset card beside the file, if the format has one. A pipe has none."""
    is_pipe_or_device = path.exists() and not path.is_file()
    if source.make_card is None or is_pipe_or_device:
        return
    card = source.make_card(path.name).encode("utf-8", "replace")
    write_output_file(path.with_name(f"{path.stem}.card.md"), card, rules)


def _write_manifest(source: ExportSource, path: Path, rules: OverwriteRules) -> None:
    """Write the manifest beside the file, if the format has one. A pipe has none."""
    is_file = path.is_file() or not path.exists()
    if source.make_manifest is None or not is_file:
        return
    manifest = orjson.dumps(
        to_plain_json(source.make_manifest()),
        option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
    )
    write_output_file(path.with_name(f"{path.name}.manifest.json"), manifest, rules)

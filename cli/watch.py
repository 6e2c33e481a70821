"""Watch the files of the opened runs and import them again when they change (`open --follow`)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from fcreview.cli.workspace import WorkspaceOptions, search_paths, workspace_of
from fcreview.importers.common.discovery import gather_files
from fcreview.store.rows import ImportChanges
from fcreview.tui.live_reload import ReloadError, ReloadResult

STOP_TIMEOUT = 5.0
"""Seconds that the import process has to clean up."""
FileStates = dict[str, tuple[int, int] | None]
"""Size in bytes and modification time in nanoseconds by path; None for a missing file."""


class FileWatcher:
    """A `tui.live_reload.RunWatcher` for the paths of a command.

    It watches all files below the paths and every other file that the runs were imported from, such as score files and
    datasets. Create it before the first import, so that it also finds what changes during that import.
    """

    def __init__(self, options: WorkspaceOptions, interval: float) -> None:
        """Raises: CommandError if a path does not exist."""
        self.interval = interval
        self.runs: Sequence[int] = ()
        """Numbers of the opened runs; empty for all runs of the workspace."""
        self._options = options
        self._paths = search_paths(options)
        self._files = file_states(gather_files(self._paths).files)
        self._sources: FileStates = {}
        self._imported: FileStates | None = None
        """Source files as they were imported; None: to be read at the next check."""
        self._failed = self._closed = False
        self._process: subprocess.Popen[bytes] | None = None

    def has_changed(self) -> bool:
        files = file_states(gather_files(self._paths).files)
        if self._imported is None:
            self._imported = self._imported_sources()
        sources = file_states(Path(path) for path in self._imported if path not in files)
        before = self._imported | self._sources
        changed = files != self._files or any(before[path] != state for path, state in sources.items())
        self._files, self._sources = files, sources
        return changed or self._failed

    def import_changes(self) -> ReloadResult:
        options = replace(self._options, forget_data=False, errata=None)  # both apply to the first import only
        self._failed = True
        answer = self._run_import(orjson.dumps(options, default=os.path.abspath).decode())
        if "error" in answer:
            raise ReloadError(answer["error"])
        self._failed, self._imported = False, None
        previous, self.runs = tuple(self.runs), tuple(answer["runs"])
        news = ImportChanges(answer["new"], answer["changed"], answer["gone"])
        return ReloadResult(news, self.runs, previous, answer["warning"])

    def close(self) -> None:
        self._closed = True
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _run_import(self, request: str) -> dict[str, Any]:
        """The answer of `cli.import_process`. Its standard input stays open while this process lives, and it ends when
        that closes."""
        with subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-m", "fcreview.cli.import_process", request],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # signals of the terminal are for the app
        ) as process:
            self._process = process
            if self._closed:
                process.terminate()
            assert process.stdout is not None  # noqa: S101 - for the type checker
            line = process.stdout.readline()
        answer: dict[str, Any] = orjson.loads(line) if line else {"error": "the import was interrupted"}
        return answer

    def _imported_sources(self) -> FileStates:
        from fcreview.store.importing.builder import read_store_index

        workspace = workspace_of(self._options, create=False)
        runs = [run for run in read_store_index(workspace).runs.values() if not self.runs or run.run_number in self.runs]
        return {
            os.fspath(workspace.to_absolute_path(source.path)): (source.size, source.mtime_ns)
            for run in runs
            for source in run.sources
            if source.size >= 0
        }


def file_states(files: Iterable[Path]) -> FileStates:
    return {os.fspath(file): _state(file) for file in files}


def _state(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns

"""Watch the files of runs while the app is open, and import changes in a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson

from fcreview.cli.workspace import WorkspaceOptions, search_paths, workspace_of
from fcreview.importers.common.discovery import gather
from fcreview.store.rows import News
from fcreview.tui.live_reload import FollowError, Taken

CLEANUP_SECONDS = 5.0
"""Time for the import process to clean up before it is killed."""
PREFIX = "fcreview: "
"""Prefix of messages on stderr."""
State = dict[str, tuple[int, int]]
"""Size and modification time of files by path."""


class RunWatcher:
    """Detects and imports changes of result files, score files and datasets.

    Create it before the import, so that it notices files that change meanwhile.
    """

    def __init__(self, options: WorkspaceOptions, interval: float) -> None:
        """CommandError if a path does not exist."""
        self.interval = interval
        self._options = options
        self._paths = search_paths(options)
        self.runs: Sequence[int] = ()
        """Numbers of the open runs; empty for all runs of the workspace."""
        self._state = _file_state(gather(self._paths).files)
        self._outside: list[Path] | None = None
        self._failed = self._imported = False
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def changed(self) -> bool:
        """Whether a file changed since the last call, or the last import failed."""
        files = gather(self._paths).files
        if self._outside is None:
            imported = self._imported_files(files)
            self._outside = sorted(map(Path, imported))
            state = {path: of for path, of in self._state.items() if path in imported or self._is_inside(Path(path))}
            # the first time compare with the state at import; later a lost dataset may have another
            self._state = (_file_state(self._outside) if self._imported else imported) | state
        now = _file_state([*files, *self._outside])
        before, self._state = self._state, now
        return now != before or self._failed

    def take_in(self) -> Taken:
        options = self._options
        request = {
            "paths": [os.path.abspath(path) for path in options.paths],  # noqa: PTH100 - do not follow links
            "data": [os.path.abspath(path) for path in options.data or ()] or None,  # noqa: PTH100
            "workspace": os.path.abspath(options.workspace) if options.workspace else None,  # noqa: PTH100
            "format": options.format,
            "decoder": options.decoder,
        }
        self._failed = True
        answer, message = self._import(orjson.dumps(request).decode())
        try:
            found = orjson.loads(answer)
        except ValueError:
            raise FollowError(message or "the import was interrupted") from None
        if "error" in found:
            raise FollowError(str(found["error"]).removeprefix(PREFIX))
        before, self.runs = tuple(self.runs), tuple(found["runs"])
        self._failed, self._imported, self._outside = False, True, None
        return Taken(News(found["new"], found["changed"], found["gone"]), self.runs, before, message)

    def close(self) -> None:
        self._closed = True
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(CLEANUP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _import(self, request: str) -> tuple[bytes, str]:
        """Run the import process and return its answer and its first message.

        Its stdin stays open meanwhile, so that it ends when this process does.
        """
        command = [sys.executable, "-P", "-m", "fcreview.cli.import_process", request]
        with (
            tempfile.TemporaryFile() as messages,
            subprocess.Popen(  # noqa: S603 - our own module
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                start_new_session=True,  # signals of the terminal go to the app only
            ) as process,
        ):
            self._process = process
            if self._closed:
                process.terminate()
            assert process.stdin and process.stdout  # noqa: S101 - for the type checker: they are pipes
            answer = process.stdout.readline()
            process.stdin.close()
            process.wait()
            messages.seek(0)
            lines = messages.read().decode("utf-8", "replace").splitlines()
        notes = [line.removeprefix(PREFIX) for line in lines if line.startswith(PREFIX)]
        return answer, notes[0] if notes else ""

    def _imported_files(self, files: Iterable[Path]) -> State:
        """State at import of the runs' files outside the paths, such as scores and datasets."""
        from fcreview.store.importing.builder import read_index

        workspace = workspace_of(self._options, create=False)
        runs = [stored for stored in read_index(workspace).runs.values() if not self.runs or stored.run in self.runs]
        here = set(files)
        sources = [(workspace.full(source.path), source) for stored in runs for source in stored.sources]
        return {
            os.fspath(path): (source.size, source.mtime_ns)
            for path, source in sources
            if path not in here and not self._is_inside(path) and source.size >= 0
        }

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(each) for each in self._paths)


def _file_state(files: Iterable[Path]) -> State:
    state: State = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        state[os.fspath(file)] = (status.st_size, status.st_mtime_ns)
    return state

"""Watch the files of open runs and re-import them when they change (`fcreview open --follow`).

The import runs in a separate process at low priority, `python -m fcreview.cli.watch OPTIONS`, where
OPTIONS is a `WorkspaceOptions` as JSON. The process prints one line of JSON: `{"runs": [1, 2],
"new": 3, "changed": 0, "gone": 0, "warning": ""}` or `{"error": text}`. The process ends early if
its standard input closes.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.cli.config import load_config
from fcreview.cli.main import describe_error
from fcreview.cli.options import WorkspaceOptions
from fcreview.cli.signals import TERMINATION_SIGNALS, install_signal_handlers
from fcreview.cli.workspace import locate_workspace, resolve_run_paths
from fcreview.cli.workspace_import import update_workspace
from fcreview.importers.common.discovery import gather_files
from fcreview.store.rows import ImportChanges

if TYPE_CHECKING:
    from fcreview.tui.live_reload import ReloadResult

STOP_TIMEOUT = 5.0  # seconds that the import process has for its cleanup
PREFIX = "fcreview: "  # prefix of warnings and errors on stderr
NICENESS = 10  # added to the nice value of the import process, so that the app stays responsive
# size in bytes and mtime in ns by path; None if missing
FileStates = dict[str, tuple[int, int] | None]


class FileWatcher:
    """Watches the files at the paths of a command, and files outside the paths that the import
    reads, such as datasets.

    Implements `tui.live_reload.RunWatcher`. Create the watcher before the first import, so that it
    notices files that change during the import.
    """

    def __init__(self, options: WorkspaceOptions, interval: float) -> None:
        """Raises: CommandError if a path does not exist."""
        self.interval = interval
        self.runs: Sequence[
            int
        ] = ()  # numbers of the opened runs; empty for all runs of the workspace
        self._options = options
        self._paths = resolve_run_paths(options)
        self._files = read_file_states(gather_files(self._paths).files)
        self._sources: FileStates = {}
        self._imported: FileStates | None = (
            None  # sources at the last import; None to load them from the store
        )
        self._failed = self._closed = False
        self._process: subprocess.Popen[bytes] | None = None

    def create_copy(self) -> FileWatcher:
        """Return a new watcher of the same files and runs, for use after `close`."""
        watcher = FileWatcher(self._options, self.interval)
        watcher.runs = self.runs
        return watcher

    def has_changed_files(self) -> bool:
        files = read_file_states(gather_files(self._paths).files)
        if self._imported is None:
            self._imported = self._load_imported_file_states()
        sources = read_file_states(Path(path) for path in self._imported if path not in files)
        before = self._imported | self._sources
        changed = files != self._files or any(
            before[path] != state for path, state in sources.items()
        )
        self._files, self._sources = files, sources
        return changed or self._failed

    def import_changes(self) -> ReloadResult:
        from fcreview.tui.live_reload import ReloadError, ReloadResult

        # the first import has applied both options
        options = replace(self._options, forget_data=False, errata=None)
        self._failed = True
        answer = self._run_import_process(orjson.dumps(options, default=os.path.abspath).decode())
        if "error" in answer:
            raise ReloadError(answer["error"])
        self._failed, self._imported = False, None
        previous, self.runs = tuple(self.runs), tuple(answer["runs"])
        changes = ImportChanges(answer["new"], changed=answer["changed"], gone=answer["gone"])
        return ReloadResult(
            changes, runs=self.runs, previous_runs=previous, warning=answer["warning"]
        )

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

    def _run_import_process(self, options_json: str) -> dict[str, Any]:
        """Run the import process, and return the JSON object that it prints. If this process ends
        early, the import process ends too, because its standard input is then closed.
        """
        with subprocess.Popen(  # noqa: S603 - our own program
            # -P: see `wiring._run_python`
            [
                sys.executable,
                "-P",
                "-m",
                "fcreview.cli.watch",
                options_json,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that Ctrl-C in the terminal reaches the app only
        ) as process:
            self._process = process
            if self._closed:
                process.terminate()
            assert process.stdout is not None  # noqa: S101 - for the type checker
            line = process.stdout.readline()
        answer: dict[str, Any] = (
            orjson.loads(line) if line else {"error": "The import process ended without a result"}
        )
        return answer

    def _load_imported_file_states(self) -> FileStates:
        from fcreview.store.importing.builder import read_store_index

        workspace = locate_workspace(self._options, create=False)
        return {
            os.fspath(workspace.to_absolute_path(source.path)): (source.size, source.mtime_ns)
            for run in read_store_index(workspace).runs.values()
            if not self.runs or run.run_number in self.runs
            for source in run.sources
            if source.size >= 0
        }


def read_file_states(files: Iterable[Path]) -> FileStates:
    states: FileStates = {}
    for file in files:
        states[os.fspath(file)] = None
        with suppress(OSError):
            status = file.stat()
            states[os.fspath(file)] = status.st_size, status.st_mtime_ns
    return states


def main() -> None:
    install_signal_handlers()
    with suppress(OSError):
        os.nice(NICENESS)
    threading.Thread(target=_terminate_when_stdin_closes, daemon=True).start()
    try:
        answer = import_and_report_changes(orjson.loads(sys.argv[1]))
    except Exception as error:
        answer = {"error": describe_error(error).lines[0].removeprefix(PREFIX)}
    for each in TERMINATION_SIGNALS:
        # the import is complete, and only the answer has to be printed
        signal.signal(each, signal.SIG_IGN)
    sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
    sys.stdout.buffer.flush()


def import_and_report_changes(option_fields: dict[str, Any]) -> dict[str, Any]:
    """Import changes, and return the JSON that the process prints.

    `option_fields` are those of WorkspaceOptions.
    """
    from fcreview.store.importing.run_importer import ItemSnapshot

    paths, data = (list(map(Path, option_fields[name] or ())) for name in ("paths", "data"))
    workspace = Path(option_fields["workspace"]) if option_fields["workspace"] else None
    options = WorkspaceOptions(
        **option_fields | {"paths": paths, "data": data or None, "workspace": workspace}
    )
    with (
        ItemSnapshot(locate_workspace(options, create=False)) as before,
        redirect_stderr(io.StringIO()) as messages,
    ):
        runs = update_workspace(options, load_config()).scope
        warnings = [
            line.removeprefix(PREFIX)
            for line in messages.getvalue().splitlines()
            if line.startswith(PREFIX)
        ]
        return {
            "runs": runs,
            **asdict(before.count_changes(runs)),
            "warning": warnings[0] if warnings else "",
        }


def _terminate_when_stdin_closes() -> None:
    sys.stdin.buffer.read()
    # the handler raises SystemExit, so that the import removes unfinished files
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_TIMEOUT)
    os._exit(1)


if __name__ == "__main__":
    main()

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
from fcreview.cli.workspace_import import forgets_scores, update_workspace
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
        self.runs: Sequence[int] = ()
        """Numbers of the opened runs; empty for all runs of the workspace."""
        self._options = options
        self._paths = resolve_run_paths(options)
        self._files_at_paths = self._read_files_at_paths()
        self._sources_elsewhere: FileStates = {}
        """Files outside the paths, such as datasets, when they were last compared."""
        self._imported_sources: FileStates | None = None
        """Files of the last import; None to load them from the store."""
        self._import_failed = False
        self._is_closed = False
        self._process: subprocess.Popen[bytes] | None = None

    def create_copy(self) -> FileWatcher:
        """Return a new watcher of the same files and runs, for use after `close`."""
        watcher = FileWatcher(self._options, self.interval)
        watcher.runs = self.runs
        return watcher

    def has_changed_files(self) -> bool:
        """Whether a file changed since the last call, or the last import failed.

        Also records the current states of the files, for the next call. Files at the paths are
        first compared with their state when the watcher was created, and files elsewhere with that
        at the import.
        """
        if self._imported_sources is None:
            self._imported_sources = self._load_imported_file_states()
        # The states of the last call replace those of the import.
        earlier_sources = self._imported_sources | self._sources_elsewhere

        files_at_paths = self._read_files_at_paths()
        paths_elsewhere = [path for path in self._imported_sources if path not in files_at_paths]
        sources_elsewhere = read_file_states(Path(path) for path in paths_elsewhere)

        have_files_changed = files_at_paths != self._files_at_paths
        have_sources_changed = any(
            state != earlier_sources[path] for path, state in sources_elsewhere.items()
        )
        self._files_at_paths = files_at_paths
        self._sources_elsewhere = sources_elsewhere
        return have_files_changed or have_sources_changed or self._import_failed

    def _read_files_at_paths(self) -> FileStates:
        return read_file_states(gather_files(self._paths).files)

    def import_changes(self) -> ReloadResult:
        """Import changed files in another process, and return what has changed.

        Raises ReloadError if the import failed. The next call then tries again.
        """
        from fcreview.tui.live_reload import ReloadError, ReloadResult

        # The first import has applied the options that change the workspace: those that set errata,
        # or make it forget datasets or scores.
        options = replace(self._options, forget_data=False, errata=None)
        if forgets_scores(options):
            options = replace(options, score=None)
        # JSON has no paths. They become absolute texts.
        options_json = orjson.dumps(options, default=os.path.abspath).decode()

        # Whatever goes wrong from here on, `has_changed_files` is true until an import succeeds.
        self._import_failed = True
        answer = self._run_import_process(options_json)
        if "error" in answer:
            raise ReloadError(answer["error"])
        self._import_failed = False
        self._imported_sources = None

        previous_runs = tuple(self.runs)
        runs = tuple(answer["runs"])
        self.runs = runs
        changes = ImportChanges(answer["new"], changed=answer["changed"], gone=answer["gone"])
        return ReloadResult(
            changes, runs=runs, previous_runs=previous_runs, warning=answer["warning"]
        )

    def close(self) -> None:
        """End the import process, if it is running, and let no other one start."""
        self._is_closed = True
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
        """Run the import process, and return the JSON object that it prints.

        If this process ends early, the standard input of the import process closes, which ends it
        too.
        """
        # `-P` keeps Python from importing modules from the working folder, where others may write.
        command = [sys.executable, "-P", "-m", "fcreview.cli.watch", options_json]
        with subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that Ctrl-C in the terminal reaches the app only
        ) as process:
            self._process = process
            # `close`, in another thread, may have missed this process.
            if self._is_closed:
                process.terminate()
            assert process.stdout is not None  # noqa: S101 - for the type checker
            line = process.stdout.readline()

        if not line:
            return {"error": "The import process ended without a result"}
        answer: dict[str, Any] = orjson.loads(line)
        return answer

    def _load_imported_file_states(self) -> FileStates:
        """Return the states that the files of the opened runs had at their import."""
        from fcreview.store.importing.builder import read_store_index

        workspace = locate_workspace(self._options, create=False)
        states: FileStates = {}
        for run in read_store_index(workspace).runs.values():
            if self.runs and run.run_number not in self.runs:
                continue
            for source in run.sources:
                # A negative size marks a file that the import could not read.
                if source.size >= 0:
                    path = os.fspath(workspace.to_absolute_path(source.path))
                    states[path] = (source.size, source.mtime_ns)
        return states


def read_file_states(files: Iterable[Path]) -> FileStates:
    """Return the size and the time of each file. None for a file that does not exist."""
    states: FileStates = {}
    for file in files:
        path = os.fspath(file)
        try:
            status = file.stat()
        except OSError:
            states[path] = None
        else:
            states[path] = (status.st_size, status.st_mtime_ns)
    return states


def main() -> None:
    """Import the changes and print the result, for the `FileWatcher` of another process."""
    install_signal_handlers()
    with suppress(OSError):
        os.nice(NICENESS)
    threading.Thread(target=_terminate_when_stdin_closes, daemon=True).start()
    try:
        answer = import_and_report_changes(orjson.loads(sys.argv[1]))
    except Exception as error:
        problem = describe_error(error).lines[0]
        answer = {"error": problem.removeprefix(PREFIX)}

    # The import is complete, and only the answer has to be printed.
    for signal_number in TERMINATION_SIGNALS:
        signal.signal(signal_number, signal.SIG_IGN)
    sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
    sys.stdout.buffer.flush()


def import_and_report_changes(option_fields: dict[str, Any]) -> dict[str, Any]:
    """Import changes, and return the JSON object that the process prints.

    `option_fields` are the fields of a WorkspaceOptions.
    """
    from fcreview.store.importing.run_importer import ItemSnapshot

    options = _parse_options(option_fields)
    workspace = locate_workspace(options, create=False)
    with ItemSnapshot(workspace) as snapshot, redirect_stderr(io.StringIO()) as messages:
        runs = update_workspace(options, load_config()).scope
        changes = snapshot.count_changes(runs)
    return {"runs": runs, **asdict(changes), "warning": _find_first_warning(messages.getvalue())}


def _parse_options(option_fields: dict[str, Any]) -> WorkspaceOptions:
    """Build the options from JSON, in which paths are texts."""
    fields = dict(option_fields)
    for name in ("paths", "data", "score"):
        if option_fields[name]:
            fields[name] = [Path(path) for path in option_fields[name]]
    if option_fields["workspace"]:
        fields["workspace"] = Path(option_fields["workspace"])
    return WorkspaceOptions(**fields)


def _find_first_warning(messages: str) -> str:
    """Return the first warning of an import without its prefix, or an empty text."""
    for line in messages.splitlines():
        if line.startswith(PREFIX):
            return line.removeprefix(PREFIX)
    return ""


def _terminate_when_stdin_closes() -> None:
    sys.stdin.buffer.read()
    # the handler raises SystemExit, so that the import removes unfinished files
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_TIMEOUT)
    os._exit(1)


if __name__ == "__main__":
    main()

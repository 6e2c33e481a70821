"""The process that imports changed files while the app is open, at a lower priority than the app.

`python -m fcreview.cli.import_process OPTIONS`, where OPTIONS is a `cli.workspace.WorkspaceOptions` as JSON. It prints one line,
`{"runs": [1, 2], "new": 3, "changed": 0, "gone": 0, "warning": ""}` or `{"error": text}`, and ends when its standard
input closes.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from fcreview.cli.signals import TERMINATION_SIGNALS, install_signal_handlers

PREFIX = "fcreview: "
"""What lines of warnings and errors begin with."""
NICENESS = 10
STOP_TIMEOUT = 5.0
"""Seconds for cleaning up after the app has ended."""


def main() -> None:
    install_signal_handlers()
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        answer = import_changes(orjson.loads(sys.argv[1]))
    except Exception as error:
        from fcreview.cli.errors import describe_error

        answer = {"error": describe_error(error)[1][0].removeprefix(PREFIX)}
    for each in TERMINATION_SIGNALS:
        signal.signal(each, signal.SIG_IGN)  # the import is complete, and the app closes the pipe after the answer
    sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
    sys.stdout.buffer.flush()


def import_changes(fields: dict[str, Any]) -> dict[str, Any]:
    """Update the workspace. `fields` are those of `WorkspaceOptions`. Raises what `fcreview import` reports as an error."""
    from fcreview.cli.config import load_config
    from fcreview.cli.workspace import WorkspaceOptions, update_workspace, workspace_of
    from fcreview.store.importing.run_importer import ItemSnapshot

    paths = {name: [Path(each) for each in fields[name] or ()] for name in ("paths", "data")}
    workspace = Path(fields["workspace"]) if fields["workspace"] else None
    options = WorkspaceOptions(
        **fields | {"paths": paths["paths"], "data": paths["data"] or None, "workspace": workspace}
    )
    with ItemSnapshot(workspace_of(options, create=False)) as before, contextlib.redirect_stderr(io.StringIO()) as messages:
        _, runs = update_workspace(options, load_config())
        warnings = [line.removeprefix(PREFIX) for line in messages.getvalue().splitlines() if line.startswith(PREFIX)]
        return {"runs": runs, **asdict(before.compare(runs)), "warning": warnings[0] if warnings else ""}


def _end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)  # unfinished files are removed
    time.sleep(STOP_TIMEOUT)
    os._exit(1)


if __name__ == "__main__":
    main()

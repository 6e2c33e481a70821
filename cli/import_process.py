"""Import changed files in a separate process while the app is open (`fcreview open --follow`).

`cli.watch` starts it as `python -m fcreview.cli.import_process OPTIONS`, where OPTIONS is a `WorkspaceOptions` as JSON.
The process runs at low priority, prints one line of JSON, `{"runs": [1, 2], "new": 3, "changed": 0, "gone": 0,
"warning": ""}` or `{"error": text}`, and ends early if its standard input closes.
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

from fcreview.cli.app import TERMINATION_SIGNALS, install_signal_handlers

PREFIX = "fcreview: "
"""Prefix of warnings and errors on stderr."""
NICENESS = 10
"""Increment of the process's nice value, so that the app stays responsive."""
STOP_TIMEOUT = 5.0
"""Seconds to clean up after the app has ended, before the process exits without cleanup."""


def main() -> None:
    install_signal_handlers()
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    threading.Thread(target=_terminate_when_stdin_closes, daemon=True).start()
    try:
        answer = import_changes(orjson.loads(sys.argv[1]))
    except Exception as error:
        from fcreview.cli.errors import describe_error

        answer = {"error": describe_error(error)[1][0].removeprefix(PREFIX)}
    for each in TERMINATION_SIGNALS:
        signal.signal(each, signal.SIG_IGN)  # the import is complete: only the answer is left to print
    sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
    sys.stdout.buffer.flush()


def import_changes(option_fields: dict[str, Any]) -> dict[str, Any]:
    """Import new and changed files and return the answer as a JSON object.

    Args:
        option_fields: fields of `WorkspaceOptions` with paths as strings.
    """
    from fcreview.cli.config import load_config
    from fcreview.cli.workspace import WorkspaceOptions, locate_workspace, update_workspace
    from fcreview.store.importing.run_importer import ItemSnapshot

    paths, data = (list(map(Path, option_fields[name] or ())) for name in ("paths", "data"))
    workspace = Path(option_fields["workspace"]) if option_fields["workspace"] else None
    options = WorkspaceOptions(**option_fields | {"paths": paths, "data": data or None, "workspace": workspace})
    with (
        ItemSnapshot(locate_workspace(options, create=False)) as before,
        contextlib.redirect_stderr(io.StringIO()) as messages,
    ):
        _, runs = update_workspace(options, load_config())
        warnings = [line.removeprefix(PREFIX) for line in messages.getvalue().splitlines() if line.startswith(PREFIX)]
        return {"runs": runs, **asdict(before.compare(runs)), "warning": warnings[0] if warnings else ""}


def _terminate_when_stdin_closes() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)  # its handler raises SystemExit, so that unfinished files are removed
    time.sleep(STOP_TIMEOUT)
    os._exit(1)


if __name__ == "__main__":
    main()

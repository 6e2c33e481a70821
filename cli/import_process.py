"""Import changed files in a separate process, so that `open --follow` never blocks the screen.

Run `python -m fcreview.cli.import_process JSON` with `{"paths": [...], "data": [...] or null, "workspace": path or
null, "format": name or null, "decoder": name or null}`. It prints one line: `{"runs": [1, 2], "new": 3, "changed": 0,
"gone": 0}` or `{"error": text}`, and import messages to stderr. It ends when its stdin is closed.
"""

from __future__ import annotations

import contextlib
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

NICENESS = 10
"""Lower scheduling priority than the app."""
CLEANUP_SECONDS = 5.0
"""Time for cleanup after stdin is closed, before the process is killed."""


def main() -> None:
    install_signal_handlers()
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    threading.Thread(target=_exit_when_stdin_closes, daemon=True).start()
    try:
        answer = import_changes(orjson.loads(sys.argv[1]))
    except Exception as error:
        from fcreview.cli.errors import describe_error

        answer = {"error": describe_error(error)[1][0]}
    for each in TERMINATION_SIGNALS:
        signal.signal(each, signal.SIG_IGN)  # the import is complete; the app ends this process when it has the answer
    sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
    sys.stdout.buffer.flush()


def import_changes(request: dict[str, Any]) -> dict[str, Any]:
    """Import what changed and return the answer. It raises the same errors as `fcreview import`."""
    from fcreview.cli.config import load_config
    from fcreview.cli.workspace import WorkspaceOptions, update_workspace, workspace_of
    from fcreview.store.importing.run_importer import Before

    paths, data, workspace = request["paths"], request["data"], request["workspace"]
    options = WorkspaceOptions(
        [Path(each) for each in paths],
        [Path(each) for each in data] if data else None,
        Path(workspace) if workspace else None,
        request["format"],
        decoder=request["decoder"],
    )
    with Before(workspace_of(options, create=False)) as before:
        _, runs = update_workspace(options, load_config())
        return {"runs": runs, **asdict(before.news(runs))}


def _exit_when_stdin_closes() -> None:
    """End this process when the app has ended, for whatever reason."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)  # the handler cleans up
    time.sleep(CLEANUP_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()

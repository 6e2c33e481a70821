"""The process that imports changed files while the app is open, at a lower priority than the app.

`python -m fcreview.cli.import_process PLACE`, where PLACE is a `cli.workspace.Place` as JSON. It prints one line,
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

from fcreview.cli.signals import ENDING, heed

PREFIX = "fcreview: "
"""What lines of warnings and errors begin with."""
NICENESS = 10
STOP_TIMEOUT = 5.0
"""Seconds for cleaning up after the app has ended."""


def main() -> None:
    heed()
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        answer = import_changes(orjson.loads(sys.argv[1]))
    except Exception as error:
        from fcreview.cli.errors import explain

        answer = {"error": explain(error)[1][0].removeprefix(PREFIX)}
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)  # the import is complete, and the app closes the pipe after the answer
    sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
    sys.stdout.buffer.flush()


def import_changes(fields: dict[str, Any]) -> dict[str, Any]:
    """Update the workspace. `fields` are those of `Place`. Raises what `fcreview import` reports as an error."""
    from fcreview.cli.config import load_config
    from fcreview.cli.workspace import Place, up_to_date, workspace_of
    from fcreview.store.importing.run_importer import Before

    paths = {name: [Path(each) for each in fields[name] or ()] for name in ("paths", "data")}
    workspace = Path(fields["workspace"]) if fields["workspace"] else None
    place = Place(**fields | {"paths": paths["paths"], "data": paths["data"] or None, "workspace": workspace})
    with Before(workspace_of(place, create=False)) as before, contextlib.redirect_stderr(io.StringIO()) as messages:
        _, runs = up_to_date(place, load_config())
        warnings = [line.removeprefix(PREFIX) for line in messages.getvalue().splitlines() if line.startswith(PREFIX)]
        return {"runs": runs, **asdict(before.news(runs)), "warning": warnings[0] if warnings else ""}


def _end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)  # unfinished files are removed
    time.sleep(STOP_TIMEOUT)
    os._exit(1)


if __name__ == "__main__":
    main()

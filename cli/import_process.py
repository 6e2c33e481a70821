"""The process that imports what changed while the app is open, so that the screen never waits for it.

`python -m fcreview.cli.import_process JSON`, where JSON is `{"paths": [...], "data": [...] or null, "workspace": path
or null, "format": name or null, "decoder": name or null}`. Answers with one line on standard output: `{"runs": [1, 2],
"new": 3, "changed": 0, "gone": 0}` or `{"error": text}`; what could not be read stands on standard error, as after
every command. It ends when its standard input does.
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

from fcreview.cli.signals import ENDING, heed

NICE = 10
"""People at the screen come first."""
PATIENCE = 5.0
"""Seconds for tidying up when nobody waits for the answer any more."""


def main() -> None:
    heed()
    with contextlib.suppress(OSError):
        os.nice(NICE)
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        answer = taken(orjson.loads(sys.argv[1]))
    except Exception as error:
        from fcreview.cli.errors import explain

        answer = {"error": explain(error)[1][0]}
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)  # all is done: who asked lets go as soon as the answer is there
    sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
    sys.stdout.buffer.flush()


def taken(asked: dict[str, Any]) -> dict[str, Any]:
    """Brings the workspace up to date. Raises what `fcreview import` would tell."""
    from fcreview.cli.config import load_config
    from fcreview.cli.workspace import Place, up_to_date, workspace_of
    from fcreview.store.importing.run_importer import Before

    paths, data, workspace = asked["paths"], asked["data"], asked["workspace"]
    place = Place(
        [Path(each) for each in paths],
        [Path(each) for each in data] if data else None,
        Path(workspace) if workspace else None,
        asked["format"],
        decoder=asked["decoder"],
    )
    with Before(workspace_of(place, create=False)) as before:
        _, runs = up_to_date(place, load_config())
        return {"runs": runs, **asdict(before.news(runs))}


def _end_with_input() -> None:
    """The app is gone, however it ended."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)  # what is half done is taken away
    time.sleep(PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    main()

"""Count the source files that Python executes between the key `f` on the item screen and the first
`os.fsync`.

Usage: python benchmarks/key_path.py [KEY]      (default: f)

Copies a sample run to a temporary folder, imports it, opens one item without a terminal (Textual's
Pilot), presses the key and records each call of product code in every thread until `os.fsync` is
called. Prints the number of distinct files and their paths in the order of the first call. The
annotator has an earlier review, so that the first `os.fsync` is for the line of the journal and not
for a new folder. Runs in fcreview's own environment.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from textual import events

import fcreview.sample_runs
from fcreview.store.rows import View
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session

SAMPLES = Path(fcreview.sample_runs.__file__).resolve().parent
ROOT = SAMPLES.parent
PACKAGES = ("fcreview", "core", "cli", "tui", "store", "exporters", "importers")
"""Folders of the product. Versions before the package was named `fcreview` have `core`."""
SIZE = (100, 40)
"""Columns and rows: too narrow for two panes."""
ITEM = (1 << 32) + 2
"""The third item of the first run, see `QueueRow.item`."""
PATIENCE = 15.0
"""Seconds to wait for the screen or for the disk."""


class Recorder:
    """Records the product files that are entered while it is active, in all threads that start
    after `install`.
    """

    def __init__(self) -> None:
        self.files: dict[Path, str] = {}
        """Each file with the function that was entered first."""
        self.active = False
        self.synced = threading.Event()
        self._fsync = os.fsync
        self._product: dict[str, Path | None] = {}

    def install(self) -> None:
        os.fsync = self._record_fsync
        threading.setprofile(self._record)
        sys.setprofile(self._record)

    def _record(self, frame: FrameType, event: str, _: Any) -> None:
        if self.active and event == "call":
            code = frame.f_code
            if code.co_filename not in self._product:
                self._product[code.co_filename] = product_file(code.co_filename)
            path = self._product[code.co_filename]
            if path is not None:
                self.files.setdefault(path, f"{code.co_qualname}:{frame.f_lineno}")

    def _record_fsync(self, descriptor: Any) -> None:
        self.active = False
        self.synced.set()
        self._fsync(descriptor)


def product_file(name: str) -> Path | None:
    """Return the path relative to the root with links resolved, or None for a file that is not
    part of fcreview.
    """
    path = Path(name).resolve()
    if not path.is_relative_to(ROOT):
        return None
    relative = path.relative_to(ROOT)
    return relative if relative.parts[0] in PACKAGES else None


async def press(recorder: Recorder, workspace: Workspace, key: str) -> None:
    """Open the third item of the run, press the key and wait for `os.fsync`."""
    app = FcreviewApp(Session(workspace, "annotator"), View(queue="dataset"), open_item=ITEM)
    async with app.run_test(size=SIZE) as pilot:
        await wait_until(
            lambda: type(app.screen).__name__ == "ItemScreen" and not app.screen.is_item_loading
        )
        await pilot.pause(1.0)  # until the next items have been read ahead
        event = events.Key(key, key if len(key) == 1 else None)
        event.set_sender(app)
        recorder.active = True
        app._driver.send_message(event)
        await wait_until(recorder.synced.is_set)


async def wait_until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def import_sample(folder: Path) -> Workspace:
    run = folder / "run"
    shutil.copytree(SAMPLES / "bfcl", run)
    program = Path(sys.executable).parent / "fcreview"
    subprocess.run([program, "import", run], check=True, capture_output=True)
    return Workspace(next(run.rglob(".fcreview")))


def record(workspace: Workspace, key: str) -> Recorder:
    recorder = Recorder()
    recorder.install()
    asyncio.run(press(recorder, workspace, key))
    return recorder


def main() -> None:
    key, *workspace = sys.argv[1:] or ["f"]
    if workspace:
        record(Workspace(Path(workspace[0])), key)
        return
    with tempfile.TemporaryDirectory() as folder:
        imported = import_sample(Path(folder))
        # The earlier review is made in another process, so that this one has loaded no module for
        # it.
        subprocess.run([sys.executable, __file__, "p", imported.root], check=True)
        recorder = record(imported, key)
    print(f"{len(recorder.files)} product files between the key {key} and the first os.fsync")
    for file, entered in recorder.files.items():
        print(f"  {file}  {entered}")


if __name__ == "__main__":
    main()

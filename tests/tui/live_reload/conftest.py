"""An app that follows handmade runs: a test changes rows, and a thread imports them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from fcreview.store.importing.run_importer import ItemSnapshot, import_runs
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui import live_reload
from fcreview.tui.app import FcreviewApp
from fcreview.tui.live_reload import ReloadError, ReloadResult
from tests.store.factory import read, write_run
from tests.tui.conftest import MakeApp, Rows, screen_lines

MODEL = "maple-8b"
TIMEOUT = 30.0


class RewrittenRun:
    """The run watcher of an app. The next check imports the rows given to `write`."""

    interval = 0.02

    def __init__(self, place: Path, rows: Rows) -> None:
        self.place, self.rows, self.due = place, rows, False
        self.fails = ""
        self.n_imports = 0
        self.closed = False

    @property
    def workspace(self) -> Workspace:
        return find_workspace(self.place)

    def write(self, rows: Rows) -> None:
        self.rows, self.due = rows, True

    def has_changed_files(self) -> bool:
        due, self.due = self.due, False
        return due

    def import_changes(self) -> ReloadResult:
        if self.fails:
            raise ReloadError(self.fails)
        with ItemSnapshot(self.workspace) as before:
            import_runs(
                self.workspace, [write_run(self.place / MODEL, self.rows, MODEL)], read, n_workers=1
            )
            self.n_imports += 1
            return ReloadResult(before.count_changes([]))

    def close(self) -> None:
        self.closed = True

    def read_events(self) -> list[dict[str, Any]]:
        file = self.workspace.reviews / "alice.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def make_row(name: str, **fields: Any) -> dict[str, Any]:
    """Return an item that keeps its name and hashes in any line."""
    usual = {
        "prediction_hash": f"p {name}",
        "golden_hash": f"g {name}",
        "question": f"What is {name}?",
        "messages": [],
    }
    return {"id": name, "first_difference": f"city of {name}", **usual, **fields}


def make_rows(*names: str) -> Rows:
    return [make_row(name) for name in names]


@pytest.fixture(autouse=True)
def remove_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the pause that lasts as long as the last import."""
    monkeypatch.setattr(live_reload, "PAUSE_FACTOR", 0)


@pytest.fixture
def make_following_app(
    make_app: MakeApp, tmp_path: Path
) -> Callable[..., tuple[FcreviewApp, RewrittenRun]]:
    def make(rows: Rows, **options: Any) -> tuple[FcreviewApp, RewrittenRun]:
        source = RewrittenRun(tmp_path / "work", rows)
        return make_app(rows, run_watcher=source, **options), source

    return make


async def wait_for_lines(pilot: Pilot[Any], condition: Callable[[list[str]], object]) -> list[str]:
    """Return the lines of the screen as soon as the condition is true."""
    end = asyncio.get_running_loop().time() + TIMEOUT
    while not condition(lines := screen_lines(pilot.app)):
        assert asyncio.get_running_loop().time() < end, "\n".join(lines)
        await asyncio.sleep(0.01)
    return lines


def cursor_line(lines: list[str]) -> tuple[int, str]:
    """Return the screen line of the list's cursor, and the item there."""
    at = next(at for at, line in enumerate(lines) if line.startswith(("▌", "│ ▌")))
    return at, lines[at].partition("▌")[2].split()[0]

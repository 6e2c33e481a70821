"""A review key acts only on an item that a person can have seen."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from fcreview.cli.config import load_config
from fcreview.errors import CommandError
from fcreview.store.rows import View
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.session import Session
from fcreview.tui.terminal_output import FlushTimes, TerminalFile
from fcreview.tui.text.lines import plain_text
from fcreview.tui.widgets.document_view import LineBar
from tests.store.factory import Imported

GUARD = 0.2


class Clock:
    """A clock that only the test advances."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


class GuardedApp:
    """An app with a key guard, on the first of four items."""

    def __init__(self, app: FcreviewApp, pilot: Pilot[Any], clock: Clock) -> None:
        self.app, self._pilot, self._clock = app, pilot, clock

    async def press(self, key: str, after: float = 0.001) -> None:
        """Press a key this many seconds after the last event, and wait for its effects."""
        self._clock.time += after
        event = events.Key(key, key if len(key) == 1 else None)
        event.time = self._clock.time
        event.set_sender(self.app)
        assert self.app._driver is not None
        self.app._driver.send_message(event)
        for _ in range(3):
            await self._pilot.pause()

    @property
    def item_name(self) -> str:
        assert isinstance(self.app.screen, ItemScreen)
        return self.app.screen.cursor.detail.row.id

    @property
    def status(self) -> str:
        return plain_text(self.app.screen.query_one("#item-status", LineBar).line)


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    return imported(tmp_path / "work", {"maple-8b": [{}, {}, {}, {}]})


@asynccontextmanager
async def open_guarded_app(workspace: Workspace, guard: float = GUARD) -> AsyncIterator[GuardedApp]:
    session, clock = Session(workspace, "alice"), Clock()
    session.key_guard_time, session.clock = guard, clock
    app = FcreviewApp(session, View(queue="dataset"), "simple_0")
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(3):
            await app.workers.wait_for_complete()
            await pilot.pause()
        yield GuardedApp(app, pilot, clock)


def recorded_verdicts(workspace: Workspace) -> list[tuple[str, Any]]:
    path = workspace.reviews / "alice.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    reviews = map(json.loads, lines)
    return [(review["key"]["id"], review["verdict"]) for review in reviews]


async def test_verdict_on_an_item_that_has_just_appeared_is_ignored(workspace: Workspace) -> None:
    async with open_guarded_app(workspace) as guarded:
        await guarded.press("f", after=0.19)
        assert "f ignored: the item had just appeared" in guarded.status
        assert recorded_verdicts(workspace) == []

        await guarded.press("p", after=0.011)
        assert recorded_verdicts(workspace) == [("simple_0", True)]


async def test_every_item_has_its_own_guard_time(workspace: Workspace) -> None:
    async with open_guarded_app(workspace) as guarded:
        await guarded.press("f", after=1)
        await guarded.press("p", after=0.1)
        assert guarded.item_name == "simple_1"
        assert "p ignored: the item had just appeared" in guarded.status
        assert recorded_verdicts(workspace) == [("simple_0", False)]

        await guarded.press("right_square_bracket")
        await guarded.press("p", after=0.19)
        assert guarded.item_name == "simple_2"
        assert len(recorded_verdicts(workspace)) == 1
        await guarded.press("u", after=0.02)
        assert recorded_verdicts(workspace)[1:] == [("simple_2", "unsure")]


async def test_held_key_reviews_one_item(workspace: Workspace) -> None:
    async with open_guarded_app(workspace) as guarded:
        await guarded.press("f", after=1)
        for _ in range(40):
            await guarded.press("f", after=0.033)
        assert "f ignored: it was pressed twice" in guarded.status
        assert recorded_verdicts(workspace) == [("simple_0", False)]

        await guarded.press("f", after=0.31)
        assert recorded_verdicts(workspace)[1:] == [("simple_1", False)]


async def test_repeated_verdict_on_one_item_counts_once(workspace: Workspace) -> None:
    async with open_guarded_app(workspace) as guarded:
        await guarded.press("f", after=1)
        await guarded.press("left_square_bracket")
        assert guarded.item_name == "simple_0"
        await guarded.press("f", after=0.29)
        assert "f ignored: it was pressed twice" in guarded.status
        assert len(recorded_verdicts(workspace)) == 1

        await guarded.press("p")
        assert recorded_verdicts(workspace)[1:] == [("simple_0", True)], "another key is no repeat"


async def test_without_guard_every_key_acts(workspace: Workspace) -> None:
    async with open_guarded_app(workspace, guard=0) as guarded:
        for _ in range(3):
            await guarded.press("f")
        assert [item for item, _ in recorded_verdicts(workspace)] == [
            "simple_0",
            "simple_1",
            "simple_2",
        ]


async def test_incident_key_is_guarded(workspace: Workspace) -> None:
    async with open_guarded_app(workspace) as guarded:
        await guarded.press("I", after=0.1)
        assert "I ignored: the item had just appeared" in guarded.status
        assert not recorded_verdicts(workspace)


class SlowFile:
    """A terminal that needs two seconds to take its output."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        self._clock.time += 2


def test_frame_counts_from_its_flush() -> None:
    clock = Clock()
    flush_times = FlushTimes(clock)
    terminal: Any = SlowFile(clock)
    file = TerminalFile(terminal, flush_times)

    file.write("first frame")
    file.flush()
    file.write("second frame")
    assert flush_times.find_time(1) == 1002
    assert flush_times.find_time(2) == float("inf")

    file.flush()
    assert flush_times.find_time(2) == 1004
    assert flush_times.find_time(1) == 1002


@pytest.mark.parametrize(
    ("line", "guard"), [("", 200), ("key_guard_ms = 0", 0), ("key_guard_ms = 350", 350)]
)
def test_config_sets_the_guard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, guard: int
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"[review]\n{line}\n")
    monkeypatch.setenv("FCREVIEW_CONFIG", str(config))
    assert load_config().review.key_guard_ms == guard


@pytest.mark.parametrize("value", ["-1", "1.5", "true", '"200"', "10001", "200\nother = 1"])
def test_invalid_guard_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"[review]\nkey_guard_ms = {value}\n")
    monkeypatch.setenv("FCREVIEW_CONFIG", str(config))
    with pytest.raises(CommandError, match=r"\[review\]"):
        load_config()

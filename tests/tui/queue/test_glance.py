"""What stands on the screen while the store opens: what was there the last time, and only if it still holds."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Said
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.queue.loader import read_glance
from fcreview.tui.queue.state import Standing
from fcreview.tui.session import Session
from tests.store.factory import Imported
from tests.tui import idle

SIZE = (80, 24)
ROWS: list[dict[str, Any]] = [{"official": number % 3 == 0} for number in range(600)]


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    return imported(tmp_path / "work", {"maple-8b": ROWS})


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The store opens when it is set."""
    may, opens = threading.Event(), Session._open_store

    def waits(self: Session) -> Store:
        assert may.wait(20)
        return opens(self)

    monkeypatch.setattr(Session, "_open_store", waits)
    return may


def app(workspace: Workspace, **more: Any) -> FcreviewApp:
    return FcreviewApp(Session(workspace, "alice", **more), resume=True)


async def test_files_of_others_whose_names_are_no_text_do_not_end_it(workspace: Workspace) -> None:
    """A queue file that somebody sent in an archive made elsewhere."""
    for folder in (workspace.queues, workspace.reviews):
        folder.mkdir(exist_ok=True)
        (folder / os.fsdecode(b"pil\xf6t.json")).write_text("{}")
    one = app(workspace)
    async with one.run_test(size=SIZE) as pilot:
        await idle.worked(one)
        await pilot.press("down", "ctrl+q")
    assert json.loads((workspace.root / "first" / "alice.json").read_text())["total"] == 600


async def left_at(workspace: Workspace, settled: Callable[..., Any], *keys: str, **more: Any) -> list[str]:
    """The screen as it was when the program was left."""
    async with app(workspace, **more).run_test(size=SIZE) as pilot:
        await settled(pilot)
        await pilot.press(*keys)
        lines = await settled(pilot)
        await pilot.press("ctrl+c")
    return list(lines)


async def before_opening(
    workspace: Workspace,
    gate: threading.Event,
    shown: Callable[..., list[str]],
    settled: Callable[..., Any],
    **more: Any,
) -> tuple[list[str], list[str]]:
    """The screen before the store is open, and after."""
    with ExitStack() as holding:
        holding.enter_context(idle.held_threads())
        async with app(workspace, **more).run_test(size=SIZE) as pilot:
            await pilot.pause()
            before = shown(pilot.app)
            gate.set()
            holding.close()
            return before, await settled(pilot)


@pytest.mark.sweep
async def test_what_was_there_stands_there_at_once(workspace, gate, shown, settled):
    gate.set()
    left = await left_at(workspace, settled, "f", *"official:fail", "enter", *["pagedown"] * 20, "up")
    assert any("simple_5" in line for line in left)
    gate.clear()
    before, after = await before_opening(workspace, gate, shown, settled)
    assert before == after == left


async def test_the_first_rows_are_kept_when_they_are_there_not_only_when_the_program_is_left(
    workspace, gate, shown, settled
):
    gate.set()
    async with app(workspace).run_test(size=SIZE) as pilot:
        lines = await settled(pilot)
        kept = (workspace.root / "first" / "alice.json").read_bytes()
    (workspace.root / "first" / "alice.json").write_bytes(kept)  # as after a crash
    gate.clear()
    before, _ = await before_opening(workspace, gate, shown, settled)
    assert before == lines


async def test_moving_before_the_store_is_open_is_not_undone(workspace, gate, settled):
    gate.set()
    await left_at(workspace, settled)
    gate.clear()
    with ExitStack() as holding:
        holding.enter_context(idle.held_threads())
        async with app(workspace).run_test(size=SIZE) as pilot:
            await pilot.pause()
            await pilot.press("down", "down")
            gate.set()
            holding.close()
            lines = await settled(pilot)
            assert lines[2].endswith("3/600")
            await pilot.press("enter")
            opened = await settled(pilot)
    assert "simple_4" in opened[0]


@pytest.mark.sweep
async def test_a_view_that_comes_back_is_drawn_again(workspace, gate, settled):
    gate.set()
    left = await left_at(workspace, settled)
    async with app(workspace).run_test(size=SIZE) as pilot:
        await settled(pilot)
        await pilot.press("f", *"official:pass", "enter")
        assert any("simple_0" in line for line in await settled(pilot))
        await pilot.press("escape")
        assert await settled(pilot) == left


async def test_what_another_said_meanwhile_is_not_missed(workspace, gate, shown, settled):
    gate.set()
    await left_at(workspace, settled)
    with Store.open(workspace, "bob") as store:
        item = store.page(View(), 0, 1)[0].item
        Reviewer(store, Journal(workspace, "bob")).review(item, Said(verdict=True))
    gate.clear()
    before, after = await before_opening(workspace, gate, shown, settled)
    assert not any("simple_1" in line for line in before)
    assert any("simple_1" in line for line in after)


@pytest.mark.parametrize("blind", [False, True])
async def test_blind_and_open_eyes_do_not_see_each_others(workspace, gate, shown, settled, blind):
    gate.set()
    await left_at(workspace, settled, blind=blind)
    gate.clear()
    before, _ = await before_opening(workspace, gate, shown, settled, blind=not blind)
    assert not any("simple_" in line for line in before)


async def test_another_store_another_screen(workspace, gate, shown, settled, imported, tmp_path):
    gate.set()
    await left_at(workspace, settled)
    imported(tmp_path / "work", {"maple-8b": ROWS[:5]})
    gate.clear()
    before, after = await before_opening(workspace, gate, shown, settled)
    assert not any("simple_" in line for line in before)
    assert any(line.endswith("1/5") for line in after)


def broken(kept: dict[str, Any]) -> list[dict[str, Any]]:
    row = kept["rows"][0]
    return [
        kept | {"rows": [row | {"id": 5}]},
        kept | {"rows": [row | {"more": 1}]},
        kept | {"rows": "simple"},
        kept | {"cursor": -1},
        kept | {"total": 0},
        kept | {"cursor": None},
        kept | {"bars": {"view": "text"}},
        kept | {"bars": []},
        kept | {"extent": {"item": "wide"}},
        kept | {"made": []},
        {},
    ]


async def test_what_is_damaged_is_left_alone(workspace, gate, settled):
    gate.set()
    await left_at(workspace, settled)
    file, session = workspace.root / "first" / "alice.json", Session(workspace, "alice")
    kept = json.loads(file.read_bytes())
    assert read_glance(session, View(), Standing()) is not None
    for each in broken(kept):
        file.write_text(json.dumps(each))
        assert read_glance(session, View(), Standing()) is None, each.keys()
    file.write_bytes(b"\xff{")
    assert read_glance(session, View(), Standing()) is None
    session.close()


async def test_what_is_kept_by_others_reaches_the_terminal_through_the_sanitiser(workspace, gate, shown, settled):
    gate.set()
    await left_at(workspace, settled)
    file = workspace.root / "first" / "alice.json"
    kept = json.loads(file.read_bytes())
    kept["rows"][1]["id"] = kept["bars"]["runs"][0][0] = "a\x1b]0;b\x07\u202e"
    kept["bars"]["rates"][0][1] = "no such style"
    file.write_text(json.dumps(kept))
    gate.clear()
    before, _ = await before_opening(workspace, gate, shown, settled)
    assert "simple_4" in "".join(before)
    assert not {"\x1b", "\x07", "\u202e"} & set("".join(before))


async def test_a_place_that_cannot_be_written_to_keeps_nothing(workspace, gate, settled):
    gate.set()
    (workspace.root / "first").write_text("a file where a folder should be")
    lines = await left_at(workspace, settled)
    assert any("simple_1" in line for line in lines)
    assert (workspace.root / "first").read_text() == "a file where a folder should be"

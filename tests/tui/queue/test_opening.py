"""The queue opens from workspaces of earlier versions, next to unknown files, and ignores keys
until then.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.store.factory import Imported
from tests.tui import idle

SIZE = (80, 24)
ROWS: list[dict[str, Any]] = [{"official": number % 3 == 0} for number in range(600)]


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    return imported(tmp_path / "work", {"maple-8b": ROWS})


@pytest.fixture
def store_gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return an event that lets the store open."""
    may, opens = threading.Event(), Session._get_store

    def open_later(self: Session) -> Store:
        assert may.wait(20)
        return opens(self)

    monkeypatch.setattr(Session, "_get_store", open_later)
    return may


def make_queue_app(workspace: Workspace) -> FcreviewApp:
    return FcreviewApp(Session(workspace, "alice"), resume=True)


async def test_file_names_that_are_not_text_are_ignored(
    workspace: Workspace, wait_for_screen: Callable[..., Any]
) -> None:
    """Archives of other systems contain such file names."""
    for folder in (workspace.queues, workspace.reviews):
        folder.mkdir(exist_ok=True)
        (folder / os.fsdecode(b"pil\xf6t.json")).write_text("{}")
    async with make_queue_app(workspace).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("down")
        assert (await wait_for_screen(pilot))[2].rstrip("─ ").endswith("2/600")


async def test_keys_before_the_store_is_open_wait_for_the_rows(
    workspace, store_gate, wait_for_screen
):
    with ExitStack() as holding:
        holding.enter_context(idle.ignore_threads())
        async with make_queue_app(workspace).run_test(size=SIZE) as pilot:
            await pilot.pause()
            await pilot.press("down", "down", "enter")
            store_gate.set()
            holding.close()
            lines = await wait_for_screen(pilot)
            assert "simple_4" in lines[0], "the third item of the list"


@pytest.mark.sweep
async def test_earlier_view_is_drawn_again(workspace, wait_for_screen):
    async with make_queue_app(workspace).run_test(size=SIZE) as pilot:
        before = list(await wait_for_screen(pilot))
        await pilot.press("F", *"official:pass", "enter")
        assert any("simple_0" in line for line in await wait_for_screen(pilot))
        await pilot.press("escape")
        assert await wait_for_screen(pilot) == before


async def test_page_cache_of_earlier_versions_is_removed(workspace, wait_for_screen):
    (workspace.root / "first").mkdir()
    (workspace.root / "first" / "alice.json").write_text('{"rows": []}')
    async with make_queue_app(workspace).run_test(size=SIZE) as pilot:
        assert (await wait_for_screen(pilot))[2].rstrip("─ ").endswith("1/600")
    assert not (workspace.root / "first").exists()


async def test_link_named_like_the_old_cache_is_kept(workspace, wait_for_screen, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kept.json").write_text("{}")
    (workspace.root / "first").symlink_to(tmp_path / "other")
    async with make_queue_app(workspace).run_test(size=SIZE) as pilot:
        assert (await wait_for_screen(pilot))[2].rstrip("─ ").endswith("1/600")
    assert (tmp_path / "other" / "kept.json").exists()

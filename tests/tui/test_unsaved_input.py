"""Quitting asks, once, before it discards what the user has entered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from fcreview.cli.wiring import build_golden_services
from fcreview.store.rows import View
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.golden_editor import GoldenScreen
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.prompts import AskScreen, ConfirmScreen
from fcreview.tui.screens.review_dialogs import NoteBox, NoteScreen, TagsScreen
from fcreview.tui.session import Session
from tests.sharing import Imports
from tests.tui.key_input import wait_until


@pytest.fixture
def sample_app(imports: Imports, samples: Path, tmp_path: Path) -> FcreviewApp:
    workspace = imports.copy([samples / "bfcl"], tmp_path / "work")
    session = Session(workspace, "alice", golden=build_golden_services())
    return FcreviewApp(session, View(queue="dataset"), "simple_python_3")


@asynccontextmanager
async def open_item(app: FcreviewApp) -> AsyncIterator[Pilot[Any]]:
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(lambda: isinstance(app.screen, ItemScreen))
        await wait_until(lambda: not app.screen.is_item_loading)
        await pilot.pause()
        yield pilot


def has_quit(app: FcreviewApp) -> bool:
    return app.return_value is not None


async def test_note_is_kept_unless_the_user_confirms(sample_app: FcreviewApp) -> None:
    async with open_item(sample_app) as pilot:
        await pilot.press("n", *"ab", "ctrl+c")
        assert isinstance(sample_app.screen, ConfirmScreen) and not has_quit(sample_app)
        await pilot.press("n")
        assert isinstance(sample_app.screen, NoteScreen)
        assert sample_app.screen.query_one(NoteBox).text == "ab"

        await pilot.press("ctrl+c", "y")
        assert has_quit(sample_app)


async def test_second_interrupt_quits(sample_app: FcreviewApp) -> None:
    async with open_item(sample_app) as pilot:
        await pilot.press("n", "a", "ctrl+c")
        assert not has_quit(sample_app)
        await pilot.press("ctrl+c")
        assert has_quit(sample_app)


async def test_changed_tags_are_asked_about(sample_app: FcreviewApp) -> None:
    async with open_item(sample_app) as pilot:
        await pilot.press("e", "space", "ctrl+c")
        assert isinstance(sample_app.screen, ConfirmScreen)
        await pilot.press("n")
        assert isinstance(sample_app.screen, TagsScreen)

        await pilot.press("n", *"new", "ctrl+q")
        assert isinstance(sample_app.screen, ConfirmScreen), "the name of a new tag"
        await pilot.press("n")
        assert isinstance(sample_app.screen, AskScreen) and not has_quit(sample_app)


async def test_changed_golden_answer_is_asked_about(sample_app: FcreviewApp) -> None:
    async with open_item(sample_app) as pilot:
        await pilot.press("G", "tab", "x", "ctrl+c")
        assert isinstance(sample_app.screen, ConfirmScreen)
        await pilot.press("escape")
        assert isinstance(sample_app.screen, GoldenScreen) and not has_quit(sample_app)


@pytest.mark.parametrize("keys", [[], ["n"], ["e"], ["G"], ["slash", "a"]])
async def test_without_input_an_interrupt_quits_at_once(
    sample_app: FcreviewApp, keys: list[str]
) -> None:
    async with open_item(sample_app) as pilot:
        await pilot.press(*keys, "ctrl+c")
        assert has_quit(sample_app)


async def test_suspend_key_undoes_in_a_text_box(sample_app: FcreviewApp) -> None:
    async with open_item(sample_app) as pilot:
        await pilot.press("n", "a", "ctrl+z")
        assert isinstance(sample_app.screen, NoteScreen)
        assert sample_app.screen.query_one(NoteBox).text == ""

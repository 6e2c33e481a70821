"""With hidden model names, no screen shows of which model a run is, and nothing hidden is stored."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.wiring import build_golden_services
from fcreview.importers.registry import discover, read_items
from fcreview.model.sanitize import HiddenNames, sanitize, use_hidden_names
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import plain_text
from tests.examples import only_long
from tests.sharing import Imports
from tests.tui.conftest import screen_lines
from tests.tui.screens.test_palette_everywhere import PLACES, TEXT_PLACES

MODEL = "maple"
"""Word that the names of both models of the sample have."""
MAX_BACK_STEPS = 6


@pytest.fixture
def app(samples: Path, tmp_path: Path) -> Iterator[FcreviewApp]:
    """Return an app that hides the names of two models."""
    folder = shutil.copytree(samples / "bfcl", tmp_path / "bfcl")
    workspace = find_workspace(folder, folder)
    import_runs(workspace, discover([folder]).plans, read_items, n_workers=1)
    session = Session(workspace, "alice", golden=build_golden_services())
    session.hidden_names = HiddenNames()
    yield FcreviewApp(session, View())
    use_hidden_names(None)


def find_models(text: str) -> list[str]:
    return [line for line in text.splitlines() if MODEL in line.lower()]


async def go_back_to_list(pilot: Any, wait_for_screen: Any) -> None:
    for _ in range(MAX_BACK_STEPS):
        if isinstance(pilot.app.screen, QueueScreen):
            return
        await pilot.press("escape")
        await wait_for_screen(pilot)
    raise AssertionError(f"{pilot.app.screen} stays")


@pytest.mark.slow
@pytest.mark.parametrize("size", [pytest.param((80, 24), marks=only_long), (160, 45)])
async def test_no_screen_names_a_model(
    app: FcreviewApp, wait_for_screen: Any, size: tuple[int, int]
) -> None:
    places = {**PLACES, **TEXT_PLACES}
    leaks = {}
    async with app.run_test(size=size) as pilot:
        await wait_for_screen(pilot)
        for place, keys in places.items():
            for key in keys:
                await pilot.press(key)
                await wait_for_screen(pilot)
            found = find_models("\n".join(screen_lines(app)))
            if found:
                leaks[place] = found
            await go_back_to_list(pilot, wait_for_screen)
    assert not leaks


async def test_whole_item_shows_the_number_of_the_run(
    app: FcreviewApp, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        screen = app.screen
        assert isinstance(screen, ItemScreen)
        assert "run 1" in "\n".join(screen_lines(app))
        lines = [line for block in screen.cursor.blocks for line in block.lines(78)]
        whole_item = "\n".join(map(plain_text, lines))
        assert whole_item and not find_models(whole_item)

        # The key starts the app again with the names shown, on the same item.
        row = screen.item_reviewer.displayed.detail.row
        await pilot.press("asterisk")
        await pilot.pause()
    switch = app.next_switch
    assert switch is not None and switch.hides_models is False
    position = switch.position
    assert position is not None and position.is_item_open
    assert position.cursor.key == (row.id, row.run)


def test_hiding_changes_no_stored_name(samples: Path, imports: Imports) -> None:
    workspace = imports.of([samples / "bfcl"])
    with Store.open(workspace, "alice") as store:
        shown = [run.run_name for run in store.fetch_runs()]
        names = store.hide_models()
        assert {run.run_name for run in store.fetch_runs()} == {"run 1", "run 2"}
        assert any("maple" in name for name in names) and any("maple" in name for name in shown)
        ((name,),) = store.connection.execute(
            "SELECT run_name FROM run_names WHERE run = 1"
        ).fetchall()
        assert name == shown[0]


def test_names_are_hidden_whole_and_in_the_context_only() -> None:
    names = HiddenNames()
    names.hide({"maple-8b", "maple-8b-FC", "model", "m1"})
    use_hidden_names(names)
    try:
        assert sanitize("result/Maple-8B-fc/x, maple-8b") == "result/(model)/x, (model)"
        assert sanitize(sanitize("maple-8b")) == "(model)"
        assert sanitize("maple-8bit, m1, model") == "maple-8bit, m1, model"
    finally:
        use_hidden_names(None)
    assert sanitize("maple-8b") == "maple-8b"

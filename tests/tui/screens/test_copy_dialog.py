"""`y` and a letter copy a form of the item to the file beside the clipboard."""

from __future__ import annotations

import json

import pytest

from fcreview.store.workspace import Workspace
from tests.tui.screens.item_host import bar_text, open_item_host


@pytest.mark.parametrize(
    ("letter", "begins"),
    [
        ("y", "{"),
        ("c", "get_weather("),
        ("d", "── turn 1"),
        ("m", "### `simple_0`"),
        ("j", "{"),
        ("l", "fcreview open"),
    ],
)
async def test_letter_copies_its_form(workspace: Workspace, letter: str, begins: str) -> None:
    async with open_item_host(workspace) as (app, pilot):
        app.session._workspace = workspace
        await pilot.press("y", letter)
        assert (workspace.root / "copied.txt").read_text().startswith(begins)
        assert "sent to the terminal" in bar_text(app, "status")


async def test_json_contains_the_input_of_the_model(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        app.session._workspace = workspace
        await pilot.press("y", "j")
        whole = json.loads((workspace.root / "copied.txt").read_text())
        key = ("benchmark", "generation", "language", "model", "category", "id")
        content = ("messages", "functions", "golden", "predicted", "prediction_hash", "golden_hash")
        assert tuple(whole) == (*key, *content)
        assert whole["messages"][-1]["content"] == "Weather in city 0?"
        assert whole["functions"][0]["name"] == "get_weather"
        assert whole["golden"][0]["call"] == {
            "get_weather": {"unit": ["C"], "city": ["Hangzhou", "杭州"]}
        }


async def test_cancelled_dialog_copies_nothing(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        app.session._workspace = workspace
        await pilot.press("y", "escape")
        assert not (workspace.root / "copied.txt").exists()

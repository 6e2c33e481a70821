"""Dialog acts are reviewed on the screen, in the sample run of CONFETTI."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.model.verdict import DIALOG_ACTS
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.review_dialogs import TagsScreen
from tests.sharing import Imports
from tests.tui.screens.item_host import bar_text, document_rows, open_item_host, read_events


@pytest.fixture
def confetti(imports: Imports, samples: Path, tmp_path: Path) -> Workspace:
    return imports.copy([samples / "confetti"], tmp_path / "here")


def find_labelled_item(workspace: Workspace) -> tuple[str, list[str]]:
    """Return the name of an item with labels, and the judge's labels."""
    with Store.open(workspace) as store:
        for run in store.fetch_runs():
            for name in range(50):
                for item in store.find_items(f"dialogacts_{name}", run.run):
                    for verdict in store.read_detail(item).item.verdicts:
                        if verdict.criterion == "dialog_act" and verdict.value:
                            return f"dialogacts_{name}", verdict.value
    raise AssertionError("no sample with labels")


@pytest.mark.sweep
async def test_labels_are_set_and_cleared_as_verdict(confetti: Workspace) -> None:
    name, labels = find_labelled_item(confetti)
    async with open_item_host(confetti, name) as (app, pilot):
        await pilot.press("l")
        assert isinstance(app.screen, TagsScreen)
        shown = document_rows(app)
        assert [any(label in row for row in shown) for label in DIALOG_ACTS] == [True] * 5
        assert {
            label for label in DIALOG_ACTS if any("[x]" in row and label in row for row in shown)
        } == set(labels)
        expected = sorted(set(DIALOG_ACTS[:2]) ^ set(labels), key=DIALOG_ACTS.index)
        await pilot.press("1", "2", "enter")
        (event,) = read_events(confetti)
        assert (event["target"], event["criterion"], event["verdict"]) == (
            "response",
            "dialog_act",
            expected,
        )
        assert event["overrules"]["source"] == "judge"
        assert "saved: dialog_act" in bar_text(app, "status")
        await pilot.press("z")
        assert read_events(confetti)[-1]["act"] == "retract"


async def test_current_labels_can_be_confirmed(confetti: Workspace) -> None:
    name, labels = find_labelled_item(confetti)
    async with open_item_host(confetti, name) as (_, pilot):
        await pilot.press("l", "enter")
        assert [event["verdict"] for event in read_events(confetti)] == [
            [each for each in DIALOG_ACTS if each in labels]
        ]


async def test_blind_dialog_starts_without_labels(confetti: Workspace) -> None:
    name, _ = find_labelled_item(confetti)
    async with open_item_host(confetti, name, blind=True, store_blind=True) as (app, pilot):
        await pilot.press("l")
        assert isinstance(app.screen, TagsScreen)
        assert not any("[x]" in row for row in document_rows(app))
        await pilot.press("escape")
        assert not (confetti.reviews / "alice.jsonl").exists() or not read_events(confetti)


async def test_item_without_labels_is_reported(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("l")
        assert isinstance(app.screen, ItemScreen)
        assert "this benchmark has no response labels" in bar_text(app, "status")

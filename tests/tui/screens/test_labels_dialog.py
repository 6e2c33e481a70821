"""Dialog acts judged on the screen, over the sample run of CONFETTI."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.model.verdict import DIALOG_ACTS
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.screens.dialogs import TagsScreen
from fcreview.tui.screens.item_pane import ItemScreen
from tests.sharing import Imports
from tests.tui.screens.item_host import bar, events, opened, rows


@pytest.fixture
def confetti(imports: Imports, samples: Path, tmp_path: Path) -> Workspace:
    return imports.copy([samples / "confetti"], tmp_path / "here")


def labelled(workspace: Workspace) -> tuple[str, list[str]]:
    """An item with labels, and those that the judge gave it."""
    with Store.open(workspace) as store:
        for run in store.fetch_runs():
            for name in range(50):
                for item in store.find_items(f"dialogacts_{name}", run.run):
                    for verdict in store.read_detail(item).item.verdicts:
                        if verdict.criterion == "dialog_act" and verdict.value:
                            return f"dialogacts_{name}", verdict.value
    raise AssertionError("no sample with labels")


@pytest.mark.sweep
async def test_labels_are_set_and_cleared_and_are_the_verdict(confetti: Workspace) -> None:
    name, given = labelled(confetti)
    async with opened(confetti, name) as (app, pilot):
        await pilot.press("l")
        assert isinstance(app.screen, TagsScreen)
        shown = rows(app)
        assert [any(label in row for row in shown) for label in DIALOG_ACTS] == [True] * 5
        assert {label for label in DIALOG_ACTS if any("[x]" in row and label in row for row in shown)} == set(given)
        wanted = sorted(set(DIALOG_ACTS[:2]) ^ set(given), key=DIALOG_ACTS.index)
        await pilot.press("1", "2", "enter")
        (event,) = events(confetti)
        assert (event["target"], event["criterion"], event["verdict"]) == ("response", "dialog_act", wanted)
        assert event["overrules"]["source"] == "judge"
        assert "saved: dialog_act" in bar(app, "status")
        await pilot.press("z")
        assert events(confetti)[-1]["act"] == "retract"


async def test_those_that_stand_can_be_given_as_ones_own(confetti: Workspace) -> None:
    name, given = labelled(confetti)
    async with opened(confetti, name) as (_, pilot):
        await pilot.press("l", "enter")
        assert [event["verdict"] for event in events(confetti)] == [[each for each in DIALOG_ACTS if each in given]]


async def test_blind_they_can_be_given_and_nothing_is_chosen_before(confetti: Workspace) -> None:
    name, _ = labelled(confetti)
    async with opened(confetti, name, blind=True, store_blind=True) as (app, pilot):
        await pilot.press("l")
        assert isinstance(app.screen, TagsScreen)
        assert not any("[x]" in row for row in rows(app))
        await pilot.press("escape")
        assert not (confetti.reviews / "alice.jsonl").exists() or not events(confetti)


async def test_where_there_are_none_it_says_so(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        await pilot.press("l")
        assert isinstance(app.screen, ItemScreen)
        assert "this benchmark has no response labels" in bar(app, "status")

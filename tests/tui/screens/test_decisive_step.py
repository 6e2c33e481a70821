"""The decisive step on the item screen: where the item opens, what is shown there, and how a person moves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.model.item import Verdict
from fcreview.model.verdict import DECISIVE_STEP
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.tui.screens.conftest import imported, multi_turn, simple
from tests.tui.screens.item_host import bar, events, opened, rows, screen_of

REASON = 'cd has folder "b", but the golden action has "a".'
ITEM = "multi_turn_0"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A conversation whose decisive step is the call of its third turn, with an earlier difference in turn 2."""
    item = multi_turn()
    item.verdicts = [
        Verdict("official", False),
        Verdict("rule", 12, criterion=DECISIVE_STEP, error_type="wrong_write", rationale=REASON),
    ]
    return imported(tmp_path, [simple(0), item])


def note(shown: list[str]) -> str:
    """The note, and the line below it."""
    at = next(n for n, row in enumerate(shown) if "decisive step ·" in row)
    return f"{shown[at]} {shown[at + 1].strip()}"


async def test_the_item_opens_at_the_step_and_the_difference_comes_next(workspace: Workspace) -> None:
    async with opened(workspace, ITEM) as (app, pilot):
        assert "message 12 · guess from facts · D to confirm" in note(rows(app)) and REASON in note(rows(app))
        assert "wrong_write" in note(rows(app))
        cursor = screen_of(app).cursor
        assert cursor.block.key == "turn:3/call:1"
        assert cursor.block.is_decisive and cursor.block.message == 12 and not cursor.block.folded
        await pilot.press("full_stop")
        assert cursor.block.key == "turn:2/call:1/arg:folder"
        await pilot.press("full_stop")
        assert cursor.block.is_decisive


async def test_a_person_confirms_moves_and_undoes(workspace: Workspace) -> None:
    async with opened(workspace, ITEM) as (app, pilot):
        await pilot.press("D")
        assert "saved: decisive step: message 12" in bar(app, "status") and "z undo" in bar(app, "status")
        assert "confirmed by you" in note(rows(app))
        await pilot.press("end")
        assert any("decisive step: message 12" in row for row in rows(app))
        await pilot.press("full_stop", "full_stop")
        await pilot.press("k")
        assert screen_of(app).cursor.block.key == "turn:3/opening:0"
        await pilot.press("D")
        moved = note(rows(app))
        assert "message 11 · marked by you" in moved and "guess: message 12" in moved and REASON in moved
        assert "score" not in bar(app, "status")
        await pilot.press("z")
        assert "message 12 · confirmed by you" in note(rows(app))
        await pilot.press("z")
        assert "guess from facts" in note(rows(app))
    said = [(each["target"], each["criterion"], each["verdict"]) for each in events(workspace)[:2]]
    assert said == [("item", DECISIVE_STEP, 12), ("item", DECISIVE_STEP, 11)]


async def test_a_step_completes_no_item_and_is_exported(workspace: Workspace) -> None:
    async with opened(workspace, ITEM) as (app, pilot):
        await pilot.press("k", "D")
        assert screen_of(app).cursor.detail.row.you is None
        assert screen_of(app).cursor.detail.row.your_parts == 1
    with Store.open(workspace, "alice") as store:
        batches = store.iter_labels(View(queue="dataset"))
        labels = [each for batch in batches for each in batch if each["criterion"] == DECISIVE_STEP]
    assert [(each["target"], each["human"], each["rule"]) for each in labels] == [("item", 11, 12)]


async def test_a_blind_annotator_sees_only_an_own_step(workspace: Workspace) -> None:
    async with opened(workspace, ITEM, store_blind=True, blind=True) as (app, pilot):
        assert not any("decisive step ·" in row for row in rows(app))
        assert screen_of(app).cursor.block.key == "turn:2/call:1"
        await pilot.press("D")
        assert "message 7 · marked by you" in note(rows(app))
        assert REASON not in "\n".join(rows(app)) and "guess" not in note(rows(app))


async def test_outside_conversations_there_is_no_step_to_mark(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        await pilot.press("D")
        assert "no message of a conversation" in bar(app, "status")
    assert not (workspace.reviews / "alice.jsonl").exists() or not events(workspace)

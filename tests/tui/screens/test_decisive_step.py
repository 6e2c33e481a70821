"""The decisive step on the item screen: cursor, note, and changes by an annotator."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.model.item import Verdict
from fcreview.model.verdict import DECISIVE_STEP
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.labels import fetch_labels
from tests.tui.screens.conftest import import_items, make_multi_turn_item, make_simple_item
from tests.tui.screens.item_host import (
    bar_text,
    document_rows,
    item_screen,
    open_item_host,
    read_events,
)

REASON = 'cd has folder "b", but the golden action has "a".'
ITEM = "multi_turn_0"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a conversation with the decisive step in its third turn and a difference in its
    second.
    """
    item = make_multi_turn_item()
    item.verdicts = [
        Verdict("official", False),
        Verdict("rule", 12, criterion=DECISIVE_STEP, error_type="wrong_write", rationale=REASON),
    ]
    return import_items(tmp_path, [make_simple_item(0), item])


def step_note(shown: list[str]) -> str:
    """Return the note and the line below it."""
    at = next(n for n, row in enumerate(shown) if "decisive step ·" in row)
    return f"{shown[at]} {shown[at + 1].strip()}"


async def test_item_opens_at_the_step_and_the_difference_is_next(workspace: Workspace) -> None:
    async with open_item_host(workspace, ITEM) as (app, pilot):
        note = step_note(document_rows(app))
        assert "message 12 · guessed by fcreview · D to confirm" in note and REASON in note
        assert "wrong_write" in step_note(document_rows(app))
        cursor = item_screen(app).cursor
        assert cursor.block.key == "turn:3/call:1"
        assert (
            cursor.block.is_decisive
            and cursor.block.message_number == 12
            and not cursor.block.folded
        )
        await pilot.press("full_stop")
        assert cursor.block.key == "turn:2/call:1/arg:folder"
        await pilot.press("full_stop")
        assert cursor.block.is_decisive


async def test_annotator_confirms_moves_and_undoes_the_step(workspace: Workspace) -> None:
    async with open_item_host(workspace, ITEM) as (app, pilot):
        await pilot.press("D")
        assert "saved: decisive step: message 12" in bar_text(
            app, "status"
        ) and "z undo" in bar_text(app, "status")
        assert "confirmed by you" in step_note(document_rows(app))
        await pilot.press("end")
        assert any("decisive step: message 12" in row for row in document_rows(app))
        await pilot.press("full_stop", "k")
        assert item_screen(app).cursor.block.key == "turn:3/opening:0"
        await pilot.press("D")
        moved = step_note(document_rows(app))
        assert (
            "message 11 · marked by you" in moved
            and "guess: message 12" in moved
            and REASON in moved
        )
        assert "score" not in bar_text(app, "status")
        await pilot.press("z")
        assert "message 12 · confirmed by you" in step_note(document_rows(app))
        await pilot.press("z")
        assert "guessed by fcreview" in step_note(document_rows(app))
    reviews = [
        (each["target"], each["criterion"], each["verdict"]) for each in read_events(workspace)[:2]
    ]
    assert reviews == [("item", DECISIVE_STEP, 12), ("item", DECISIVE_STEP, 11)]


async def test_step_completes_no_item_and_is_exported(workspace: Workspace) -> None:
    async with open_item_host(workspace, ITEM) as (app, pilot):
        await pilot.press("k", "D")
        assert item_screen(app).cursor.detail.row.you is None
        assert item_screen(app).cursor.detail.row.your_parts == 1
    with Store.open(workspace, "alice") as store:
        labels = [
            each
            for each in fetch_labels(store, View(queue="dataset"))
            if each["criterion"] == DECISIVE_STEP
        ]
    assert [(each["target"], each["human"], each["rule"]) for each in labels] == [("item", 11, 12)]


async def test_blind_annotator_sees_only_an_own_step(workspace: Workspace) -> None:
    async with open_item_host(workspace, ITEM, store_blind=True, blind=True) as (app, pilot):
        assert not any("decisive step ·" in row for row in document_rows(app))
        assert item_screen(app).cursor.block.key == "turn:2/call:1"
        await pilot.press("D")
        assert "message 7 · marked by you" in step_note(document_rows(app))
        assert REASON not in "\n".join(document_rows(app)) and "guess" not in step_note(
            document_rows(app)
        )


async def test_step_cannot_be_marked_outside_conversations(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("D")
        assert "not on a message of a conversation" in bar_text(app, "status")
    assert not (workspace.reviews / "alice.jsonl").exists() or not read_events(workspace)

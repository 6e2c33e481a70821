"""Verdicts, faults, tags, notes and undo on the item screen, checked in the journal."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.store.workspace import Workspace
from tests.tui.screens.item_host import (
    bar_text,
    document_rows,
    item_screen,
    open_item_host,
    read_events,
    shown_item_id,
)


async def test_verdict_is_saved_and_the_next_item_is_shown(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        assert bar_text(app, "header").startswith(
            " 1/4   official  FAIL    recomputed  FAIL    you  –"
        )
        await pilot.press("f")
        (event,) = read_events(workspace)
        assert (event["verdict"], event["key"]["id"], event["target"]) == (
            False,
            "simple_0",
            "item",
        )
        assert shown_item_id(app) == "simple_1"
        assert "saved: fail · simple_0" in bar_text(app, "status")
        assert any("Hangzhou, CN 1" in row for row in document_rows(app))


@pytest.mark.parametrize(
    ("key", "verdict", "fault"),
    [("p", True, None), ("f", False, None), ("g", True, "golden"), ("u", "unsure", None)],
)
async def test_verdict_keys(
    workspace: Workspace, key: str, verdict: Any, fault: str | None
) -> None:
    async with open_item_host(workspace) as (_, pilot):
        await pilot.press(key)
        assert [(event["verdict"], event.get("fault")) for event in read_events(workspace)] == [
            (verdict, fault)
        ]


async def test_last_item_stays_and_unreviewed_items_are_counted(workspace: Workspace) -> None:
    async with open_item_host(workspace, "simple_2") as (app, pilot):
        order = []
        for _ in range(2):
            await pilot.press("p")
            order.append(shown_item_id(app))
        assert order == ["multi_turn_0", "multi_turn_0"]
        status = bar_text(app, "status")
        assert (
            "saved: pass" in status
            and "end of the queue, 2 unreviewed; press ] for the first" in status
        )
        await pilot.press("]")
        assert shown_item_id(app) == "simple_0"
        assert "first unreviewed item" in bar_text(app, "status")
        # simple_2 and multi_turn_0 have verdicts, so no unreviewed item follows simple_1
        await pilot.press("p", "p")
        assert shown_item_id(app) == "simple_1"
        assert "queue complete" in bar_text(app, "status")
        assert len(read_events(workspace)) == 4


async def test_verdict_removes_the_fault_of_the_verdict_before(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("g", "left_square_bracket")
        assert any("fault: golden" in row for row in document_rows(app))
        await pilot.press("f", "left_square_bracket")
        assert not any("fault: golden" in row for row in document_rows(app))
        assert [(o.verdict, o.fault) for o in item_screen(app).cursor.detail.opinions] == [
            (False, None)
        ]


async def test_fault_before_the_verdict_is_kept(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("w", "q")
        assert "no verdict yet" in bar_text(app, "status")
        await pilot.press("f")
        assert [(event.get("verdict"), event["fault"]) for event in read_events(workspace)][-1] == (
            False,
            "question",
        )
        await pilot.press("left_square_bracket", "w", "m")
        assert "no verdict yet" not in bar_text(app, "status")


async def test_undo_reverts_and_returns_to_the_item(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("f", "p", "z")
        assert shown_item_id(app) == "simple_1"
        assert "undone: pass · simple_1" in bar_text(app, "status")
        await pilot.press("z")
        assert shown_item_id(app) == "simple_0"
        assert "you  –" in bar_text(app, "header")
        assert [event["act"] for event in read_events(workspace)] == [
            "review",
            "review",
            "retract",
            "retract",
        ]
        await pilot.press("z")
        assert "nothing to undo" in bar_text(app, "status")


@pytest.mark.sweep
async def test_fault_tag_and_note_stay_on_the_item(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("w", "c")
        await pilot.press("e", "space", "enter")
        await pilot.press("n", *"why", "down", *"not", "enter")
        first, second, third = read_events(workspace)
        assert first["fault"] == "checker"
        assert second["tags"] == ["value_error:string"]
        assert third["note"] == "why\nnot"
        assert shown_item_id(app) == "simple_0"
        assert any("fault: checker · tags: value_error:string" in row for row in document_rows(app))


async def test_cancelled_prompts_write_nothing(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (_, pilot):
        await pilot.press("w", "escape", "e", "escape", "n", "x", "escape")
        assert not (workspace.reviews / "alice.jsonl").exists() or not read_events(workspace)


async def test_new_tag_is_created(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (_, pilot):
        await pilot.press("e", "n", *"odd", "enter", "enter")
        assert read_events(workspace)[0]["tags"] == ["odd"]


async def test_verdict_on_the_target_at_the_cursor(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        assert "verdict on: item" in bar_text(app, "status")
        await pilot.press("full_stop", "T")
        assert "verdict on: turn 1 call 1 city" in bar_text(app, "status")
        await pilot.press("g")
        assert shown_item_id(app) == "simple_0"
        await pilot.press("a", "u")
        assert [event["target"] for event in read_events(workspace)] == [
            "turn:1/call:1/arg:city",
            "turn:1/call:1",
        ]
        await pilot.press("]")
        assert "verdict on: item" in bar_text(app, "status")


async def test_failed_review_is_reported_and_the_item_stays(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        path = workspace.reviews / "alice.jsonl"
        path.unlink(missing_ok=True)
        path.mkdir(parents=True)
        await pilot.press("f")
        assert "NOT SAVED (fail)" in bar_text(app, "status")
        assert shown_item_id(app) == "simple_0"
        assert "you  –" in bar_text(app, "header")


async def test_blind_item_shows_verdicts_only_after_own_review(workspace: Workspace) -> None:
    async with open_item_host(workspace, blind=True) as (app, pilot):
        assert "✗" not in bar_text(app, "header") + "".join(document_rows(app))
        await pilot.press("p", "[")
        assert "official  FAIL" in bar_text(app, "header")


async def test_lines_without_target_cannot_be_selected(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        screen = app.screen
        screen.text.required_cursor.index = 0
        screen.text.action_scroll(0)
        await pilot.press("T")
        assert (
            "part under the cursor cannot have a verdict" in bar_text(app, "status")
            and screen.target == "item"
        )
        screen.text.required_cursor.move_to_decisive_or_difference()
        await pilot.press("T")
        assert screen.target != "item"
        screen.text.required_cursor.index = 0
        screen.text.action_scroll(0)
        assert screen.target == "item" and "verdict target: whole item" in bar_text(app, "status")
        await pilot.press("greater_than_sign")
        assert "no search term yet; press / to search" in bar_text(app, "status")


async def test_capital_keys_apply_to_the_last_reviewed_item(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("W")
        assert "no item was reviewed yet" in bar_text(app, "status")
        await pilot.press("f", "W")
        assert shown_item_id(app) == "simple_1"
        await pilot.press("g", "N", *"why", "enter")
        reviews = [
            (e["key"]["id"], e.get("verdict"), e.get("fault"), e.get("note"))
            for e in read_events(workspace)
        ]
        assert reviews == [
            ("simple_0", False, None, None),
            ("simple_0", None, "golden", None),
            ("simple_0", None, None, "why"),
        ]
        assert shown_item_id(app) == "simple_1" and "1 reviewed" in bar_text(app, "status")

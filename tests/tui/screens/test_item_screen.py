"""The item screen: navigation, folding, search, records and copies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from fcreview.store.workspace import Workspace
from fcreview.tui.screens.pager import PagerScreen
from fcreview.tui.widgets.document_view import DocumentView
from tests.tui.screens.conftest import import_items, make_simple_item
from tests.tui.screens.item_host import (
    OBSERVATION,
    bar_text,
    document_rows,
    item_screen,
    open_item_host,
    read_events,
    shown_item_id,
)


async def test_next_and_previous_write_nothing_and_stop_at_the_ends(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("[")
        assert "this is the first item" in bar_text(app, "status")
        await pilot.press("]", "]")
        assert (shown_item_id(app), " 3/4 " in bar_text(app, "header")) == ("simple_2", True)
        await pilot.press("[")
        assert shown_item_id(app) == "simple_1"
        await pilot.press("q")
        assert app.left == app.store.find_items("simple_1")[0]
        assert not (workspace.reviews / "alice.jsonl").exists() or not read_events(workspace)


async def test_full_dialogue_is_shown_and_hidden(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        assert not any("You are careful." in row for row in document_rows(app))
        await pilot.press("t")
        assert any("You are careful." in row for row in document_rows(app))
        await pilot.press("t")
        assert not any("You are careful." in row for row in document_rows(app))


async def test_raw_record_opens_indented_in_the_pager(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("R")
        await pilot.pause()
        assert isinstance(app.screen, PagerScreen)
        assert document_rows(app)[:4] == [
            "── result ──",
            "simple_result.json:1",
            "{",
            '  "id": "simple_0",',
        ]
        await pilot.press("R")
        assert document_rows(app)[2].startswith('{"id": "simple_0", "result": [{')
        await pilot.press("q")
        assert app.screen is item_screen(app)


async def test_missing_result_file_is_reported(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        (workspace.root.parent / "simple_result.json").unlink()
        await pilot.press("R")
        await pilot.pause()
        assert "The record cannot be read" in "".join(document_rows(app))
        assert "simple_result.json" in "".join(document_rows(app))


async def test_function_docs_mark_the_argument_at_the_cursor(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("full_stop", "d")
        shown = document_rows(app)
        assert any("→ city  string, required" in row for row in shown)
        assert any('enum: ["C", "F"]' in row for row in shown)
        blocks = item_screen(app).cursor.blocks
        assert any(block.key.endswith("/document") for block in blocks)
        await pilot.press("d")
        assert not any(block.key.endswith("/document") for block in item_screen(app).cursor.blocks)


async def test_turns_fold_and_keep_the_position(workspace: Workspace) -> None:
    async with open_item_host(workspace, "multi_turn_0") as (app, pilot):
        reader = item_screen(app).cursor
        assert reader.block.key == "turn:2"
        assert any("▸── turn 2 of 4" in row and "FAILS HERE" in row for row in document_rows(app))
        await pilot.press("k", "enter")
        assert (reader.block.key, reader.block.folded) == ("turn:1", False)
        assert any("Part 0 is done." in row for row in document_rows(app))
        await pilot.press("enter")
        assert not any("Part 0 is done." in row for row in document_rows(app))
        assert reader.block.key == "turn:1"


async def test_long_result_opens_in_the_pager_and_can_be_searched(workspace: Workspace) -> None:
    async with open_item_host(workspace, "multi_turn_0") as (app, pilot):
        assert len(OBSERVATION) > 300_000
        reader = item_screen(app).cursor
        while reader.block.key != "turn:2/step:1/tool:1":
            before = reader.block.key
            await pilot.press("j")
            assert reader.block.key != before
        assert any(" KB, enter to open" in row for row in document_rows(app))
        await pilot.press("enter")
        await pilot.pause()
        assert document_rows(app)[0] == "{"
        await pilot.press("slash", *"row 11999", "enter")
        await pilot.pause()
        assert any("row 11999 of" in row for row in document_rows(app))
        await pilot.press("end")
        assert document_rows(app)[-1] == "}"


async def test_search_finds_matches_in_folded_turns(workspace: Workspace) -> None:
    async with open_item_host(workspace, "multi_turn_0") as (app, pilot):
        await pilot.press("slash", *"part 3", "enter")
        await pilot.pause()
        assert "match 1 of 2" in bar_text(app, "status")
        assert any("Please do part 3." in row for row in document_rows(app))
        await pilot.press("greater_than_sign")
        assert any(row.startswith("▸") and "Part 3 is done." in row for row in document_rows(app))
        await pilot.press("less_than_sign")
        assert "match 1 of 2" in bar_text(app, "status")
        await pilot.press("slash", *"nowhere", "enter")
        await pilot.pause()
        assert "no match for nowhere" in bar_text(app, "status")


async def test_copy_writes_the_calls_at_the_cursor_to_the_workspace(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("y", "y")
        copied = json.loads((workspace.root / "copied.txt").read_text())
        assert copied == {
            "golden": {"get_weather": {"unit": ["C"], "city": ["Hangzhou", "杭州"]}},
            "predicted": {"get_weather": {"unit": "C", "city": "Hangzhou, CN 0"}},
        }
        assert "sent to the terminal" in bar_text(app, "status")


async def test_position_is_kept_on_width_changes(workspace: Workspace) -> None:
    async with open_item_host(workspace, "multi_turn_0") as (app, pilot):
        await pilot.press("end")
        before = document_rows(app)[-3:]
        await pilot.resize_terminal(160, 24)
        await pilot.pause()
        assert [row.split()[:2] for row in document_rows(app)[-3:]] == [
            row.split()[:2] for row in before
        ]
        assert all(len(row) <= 160 for row in document_rows(app))


async def test_cursor_step_redraws_two_lines(workspace: Workspace) -> None:
    async with open_item_host(workspace, "simple_0") as (app, pilot):
        await pilot.press("full_stop", "k")
        view = app.screen.query_one(DocumentView)
        drawn: list[int] = []
        render = view.render_line
        view.render_line = lambda y: (drawn.append(y), render(y))[1]  # type: ignore[method-assign]
        await pilot.press("j")
        await pilot.pause()
        assert view.document_layout is not None
        text = [y for y in drawn if y < len(view.document_layout.visible_rows())]
        assert 1 <= len(text) <= 2
        assert len(drawn) <= 4, "the parameter is described at the bottom"


@pytest.mark.sweep
async def test_items_of_a_conversation_are_reached_outside_the_queue(tmp_path: Path) -> None:
    items = [make_simple_item(number) for number in range(4)]
    for item in (items[0], items[2], items[3]):
        item.group = "talk_1"
    items[3].official = items[3].rule = True
    workspace = import_items(tmp_path, items)
    async with open_item_host(workspace) as (app, pilot):
        assert any("group  [1 ✗]  2 ✗  3 ✓" in row and "{ }" in row for row in document_rows(app))
        await pilot.press("}")
        assert shown_item_id(app) == "simple_2"
        await pilot.press("}", "}")
        assert shown_item_id(app) == "simple_3"
        assert "this is the last item of its group" in bar_text(app, "status")
        await pilot.press("{")
        assert shown_item_id(app) == "simple_2"
        await pilot.press("[", "}")
        assert shown_item_id(app) == "simple_1"
        assert "belongs to no group" in bar_text(app, "status")


async def test_free_rows_describe_the_parameter_at_the_cursor(workspace: Workspace) -> None:
    async with open_item_host(workspace, size=(80, 40)) as (app, pilot):
        foot = visible_rows(app)[-9:-2]
        assert any("docs of" in row for row in foot) and any("Which city." in row for row in foot)
        await pilot.press("full_stop")
        assert any("→ city  string, required" in row for row in visible_rows(app)[-9:-2])
    async with open_item_host(workspace, size=(80, 20)) as (app, pilot):
        assert not any("Which city." in row for row in visible_rows(app)), (
            "the description does not fit"
        )
        await pilot.press("full_stop")
        last = visible_rows(app)[-4:-2]
        assert (
            last[0].strip().startswith("── city · string, required")
            and last[1].strip() == "Which city."
        )
    async with open_item_host(workspace, size=(80, 12)) as (app, pilot):
        await pilot.press("full_stop")
        assert not any("Which city." in row for row in visible_rows(app)), "no row is free"


def visible_rows(app: App[Any]) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]

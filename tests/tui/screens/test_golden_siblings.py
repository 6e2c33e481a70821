"""The golden editor finds the siblings of a question and corrects them in the same save."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fcreview.cli.wiring import build_golden_services
from fcreview.store.workspace import Workspace
from fcreview.tui.screens.golden_editor import GoldenEffectScreen, GoldenTextArea
from fcreview.tui.text.lines import format_json, plain_text
from fcreview.tui.widgets.document_view import DocumentView, LineBar
from tests.sharing import Imports
from tests.sibling_runs import BASE_ITEM, FIX, write_sibling_runs
from tests.store.reviews.test_full_disk import LimitedDisk
from tests.tui.screens.item_host import (
    ItemHost,
    KeyPresser,
    bar_text,
    document_rows,
    open_item_host,
    read_events,
)

WIDE = (100, 40)
BYTES_BETWEEN_ONE_AND_TWO_LINES = 1000


@pytest.fixture(scope="module")
def sibling_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sibling_runs(tmp_path_factory.mktemp("runs") / "runs")


@pytest.fixture
def sibling_workspace(imports: Imports, sibling_runs: Path, tmp_path: Path) -> Workspace:
    return imports.copy([sibling_runs], tmp_path / "here")


@asynccontextmanager
async def open_effect(workspace: Workspace) -> AsyncIterator[tuple[ItemHost, KeyPresser]]:
    """Open the screen that shows what the fix of the base item changes."""
    golden = build_golden_services()
    async with open_item_host(workspace, BASE_ITEM, WIDE, golden=golden) as (app, pilot):
        await pilot.press("G")
        app.screen.query_one(GoldenTextArea).text = format_json(FIX)
        await pilot.press("enter")
        assert isinstance(app.screen, GoldenEffectScreen)
        yield app, pilot


def effect_text(app: ItemHost) -> str:
    view = app.screen.query_one("#effect-runs", DocumentView)
    return "\n".join(view.render_line(y).text for y in range(view.size.height))


async def test_siblings_are_named_and_corrected_only_if_the_annotator_chooses_them(
    sibling_workspace: Workspace,
) -> None:
    async with open_effect(sibling_workspace) as (app, pilot):
        text = effect_text(app)
        assert "verdicts change with fcreview errata rescore --execute" in text
        assert "2 siblings still without the corrected calls · s corrects 1 of them" in text
        assert "multi_turn_miss_func_0" in text
        assert "multi_turn_long_context_0 (V4)  stays: its golden answer lacks" in text

        await pilot.press("p")
        (event,) = read_events(sibling_workspace)
        assert event["key"]["id"] == BASE_ITEM
        assert "golden answer accepted without 1 sibling" in bar_text(app, "status")


async def test_siblings_are_corrected_and_undone_with_the_item(
    sibling_workspace: Workspace,
) -> None:
    async with open_effect(sibling_workspace) as (app, pilot):
        await pilot.press("s")
        assert "your verdict corrects 1 of them too · s leaves them" in effect_text(app)
        assert "✓ multi_turn_miss_func_0" in effect_text(app)

        await pilot.press("p")
        own, sibling = read_events(sibling_workspace)
        assert (own["key"]["id"], own["verdict"], own.get("bulk")) == (BASE_ITEM, True, None)
        assert sibling["key"]["id"] == "multi_turn_miss_func_0"
        assert (sibling.get("verdict"), sibling["golden_status"]) == (None, "accepted")
        assert sibling["golden_fix"]["ground_truth"][1] == FIX["ground_truth"][0]
        assert "golden answer accepted with 1 sibling" in bar_text(app, "status")

        await pilot.press("z")
        retracted = [event["retracts"] for event in read_events(sibling_workspace)[2:]]
        assert retracted == [own["event"], sibling["event"]]
        assert f"{BASE_ITEM} and 1 sibling" in bar_text(app, "status")


async def test_full_disk_saves_neither_the_item_nor_its_siblings(
    sibling_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_effect(sibling_workspace) as (app, pilot):
        await pilot.press("s")
        with monkeypatch.context() as patched:
            disk = LimitedDisk(patched, room=BYTES_BETWEEN_ONE_AND_TWO_LINES)
            await pilot.press("p")
            assert disk.room == 0, "the first line fits"
        assert "NOT SAVED" in bar_text(app, "status")
        assert read_events(sibling_workspace) == []


async def test_second_press_leaves_the_siblings(sibling_workspace: Workspace) -> None:
    async with open_effect(sibling_workspace) as (_, pilot):
        await pilot.press("s", "s", "p")
        assert len(read_events(sibling_workspace)) == 1


async def test_verdict_key_before_the_siblings_are_known_waits_for_them(
    sibling_workspace: Workspace,
) -> None:
    async with open_effect(sibling_workspace) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, GoldenEffectScreen)
        screen._is_complete = False
        await pilot.press("p")
        assert app.screen is screen
        message = plain_text(screen.query_one("#effect-message", LineBar).line)
        assert "Is this answer right?" in message


async def test_golden_column_shows_the_accepted_answer(sibling_workspace: Workspace) -> None:
    async with open_effect(sibling_workspace) as (app, pilot):
        await pilot.press("p", "left_square_bracket")
        rows = "\n".join(document_rows(app))
        assert "the golden column shows it" in rows
        assert 'before  cp(source="report")' in rows
        assert 'destination  "backup"' in rows

        await pilot.press("z")
        rows = "\n".join(document_rows(app))
        assert "destination" not in rows and "the golden column shows it" not in rows

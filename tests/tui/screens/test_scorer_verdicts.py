"""The verdict of a further scorer of an Inspect log can be reviewed on the item screen."""

from __future__ import annotations

from pathlib import Path

from fcreview.importers.registry import discover, read_items
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.item_view.blocks import DisplayOptions
from tests.tui.screens.item_host import (
    bar_text,
    document_rows,
    item_screen,
    open_item_host,
    read_events,
    shown_item_id,
)

CASE = Path(__file__).parents[2] / "cases" / "inspect" / "08-same-scorer"


def import_case(place: Path) -> Workspace:
    """Import a log with the scorers `match` and `match1`."""
    workspace = find_workspace(place, place)
    import_runs(workspace, discover([CASE]).plans, read_items, n_workers=1)
    return workspace


async def test_verdict_keys_apply_to_the_scorer_at_the_cursor(tmp_path: Path) -> None:
    workspace = import_case(tmp_path)
    async with open_item_host(workspace, "a") as (app, pilot):
        cursor = item_screen(app).cursor
        assert any("official: match1" in row for row in document_rows(app))
        for _ in range(len(cursor.blocks)):
            if cursor.criterion:
                break
            await pilot.press("j")
        assert cursor.criterion == "match1"
        await pilot.press("T")
        assert "verdict on: item match1" in bar_text(app, "status")
        await pilot.press("p")
        (event,) = read_events(workspace)
        assert (event["target"], event["criterion"], event["verdict"]) == ("item", "match1", True)
        assert shown_item_id(app) == "a"  # the item itself has no verdict yet


async def test_verdict_keys_apply_to_the_item_without_a_choice(tmp_path: Path) -> None:
    workspace = import_case(tmp_path)
    async with open_item_host(workspace, "a") as (_, pilot):
        await pilot.press("f")
        (event,) = read_events(workspace)
        assert (event["target"], event.get("criterion", "correct"), event["verdict"]) == (
            "item",
            "correct",
            False,
        )


async def test_blind_review_hides_the_verdicts_of_scorers(tmp_path: Path) -> None:
    workspace = import_case(tmp_path)
    async with open_item_host(workspace, "a", store_blind=True, blind=True) as (app, _):
        screen = item_screen(app)
        assert screen.cursor.hides_verdicts and isinstance(screen.cursor.options, DisplayOptions)
        assert not any(block.criterion for block in screen.cursor.blocks)

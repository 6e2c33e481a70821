"""The same item in other runs, on the real screens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import Item, Run
from fcreview.run_plan import RunPlan
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.rows import QueueRow
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.review.other_runs import RunPrediction, prediction_choice_table
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.prompts import PickerScreen
from fcreview.tui.text.lines import lay_out_table, plain_text
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.lists import TextList
from tests.tui.screens.conftest import make_simple_item
from tests.tui.screens.item_host import ItemHost, bar_text, open_item_host, read_events

CITIES = {"ash": "Ulm", "birch": "Hangzhou", "cedar": "Ulm", "dogwood": "Ulm"}
"""The predicted city of each model."""


@pytest.fixture
def four_runs(tmp_path: Path) -> Workspace:
    """Return four runs of the same three items, and a run of another version with the same item
    ids.
    """
    workspace = find_workspace(tmp_path, tmp_path)
    plans = []
    for model in (*CITIES, "elm"):
        file = tmp_path / model / "result.jsonl"
        file.parent.mkdir()
        file.write_text("{}\n")
        plans.append(
            RunPlan(
                Run("bfcl", "V3" if model == "elm" else "V4", "en", model, str(file.parent)), [file]
            )
        )

    def read(plan: RunPlan) -> Any:
        for number in range(3):
            yield set_answer(
                make_simple_item(number), CITIES.get(plan.run.model, "Bonn"), str(plan.results[0])
            )

    import_runs(workspace, plans, read, n_workers=1)
    return workspace


def set_answer(item: Item, city: str, file: str) -> Item:
    item.predicted[0].arguments = (
        {"city": city, "unit": "C"} if city == "Ulm" else {"unit": "C", "city": city}
    )
    item.official = item.rule = city == "Hangzhou"
    item.prediction_hash, item.file, item.line, item.length = city, file, 1, 3
    return item


def list_lines(app: ItemHost) -> list[str]:
    shown = app.screen.query_one(TextList)
    return [" ".join(plain_text(shown.line_at(at)).split()) for at in range(shown.total)]


async def test_runs_are_listed_and_equal_predictions_are_adjacent(four_runs: Workspace) -> None:
    async with open_item_host(four_runs) as (app, pilot):
        await pilot.press("m")
        assert isinstance(app.screen, PickerScreen)
        assert "3 of 4 runs fail · 3 predictions equal" in plain_text(
            app.screen.query_one("#pick-title", LineBar).line
        )
        assert "enter show" in plain_text(app.screen.query_one(KeyLine).line)
        lines = list_lines(app)
        assert [line.split()[1 if line[0] in "31" else 0] for line in lines] == [
            "ash",
            "cedar",
            "dogwood",
            "birch",
        ]
        assert lines[0].startswith("3 ash ✗ ✗ –") and lines[3].startswith("1 birch ✓ ✓ –")
        assert '"Ulm"' in lines[0] and '"Hangzhou"' in lines[3]


@pytest.mark.sweep
async def test_enter_opens_the_item_of_the_run_and_escape_returns(four_runs: Workspace) -> None:
    async with open_item_host(four_runs, "simple_1") as (app, pilot):
        here = app.screen
        assert isinstance(here, ItemScreen)
        first = here.cursor.detail.run.model
        await pilot.press("j", "m", "end", "enter")
        there = app.screen
        assert isinstance(there, ItemScreen) and there is not here
        assert (there.cursor.detail.row.id, there.cursor.detail.run.model) == ("simple_1", "birch")
        await pilot.press("f")
        assert read_events(four_runs)[0]["key"]["model"] == "birch"
        await pilot.press("escape")
        assert app.screen is here
        assert here.cursor.detail.run.model == first
        await pilot.press("f")
        assert read_events(four_runs)[1]["key"]["model"] == first


@pytest.mark.sweep
async def test_blind_list_is_available_after_review_without_verdicts(four_runs: Workspace) -> None:
    async with open_item_host(four_runs, blind=True, store_blind=True) as (app, pilot):
        await pilot.press("m")
        assert isinstance(app.screen, ItemScreen)
        assert "other runs are hidden until you submit" in bar_text(app, "status")
        await pilot.press("f", "left_square_bracket", "m")
        assert isinstance(app.screen, PickerScreen)
        assert "3 predictions equal" in plain_text(
            app.screen.query_one("#pick-title", LineBar).line
        )
        lines = list_lines(app)
        assert sum("✗" in line or "✓" in line for line in lines) == 1, (
            "the verdict of the reviewed item"
        )


async def test_item_of_one_run_is_reported(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("m")
        assert "no other run has this item" in bar_text(app, "status")


def test_cut_name_keeps_its_end() -> None:
    """The suffix `-FC` distinguishes runs."""
    names = [f"a-model-of-a-long-name-2024-07-18{end}" for end in ("", "-FC")]
    rows = [
        QueueRow(item=n, run=n, seq=0, id="a", category="c", model=name, run_name=name)
        for n, name in enumerate(names)
    ]
    choices = prediction_choice_table(
        [RunPrediction(row, "f(" + "x" * 60 + ")", 1) for row in rows], 0
    )
    _, lines = lay_out_table(choices.columns, choices.rows, 60)
    assert ["-FC" in plain_text(line) for line in lines] == [False, True], [
        plain_text(line) for line in lines
    ]

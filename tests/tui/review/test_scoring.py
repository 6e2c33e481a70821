"""Both scores of a response can be recorded and changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import Verdict
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.store.factory import make_item, write_run


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    scored = [
        Verdict("judge", 1, criterion=name, target="response")
        for name in ("completeness", "correctness")
    ]
    items = [make_item(0, verdicts=scored), make_item(1)]
    items[0].extra.final_answer = "It rains."
    plan = write_run(tmp_path / "run", [{}, {}])
    result = find_workspace(tmp_path)
    import_runs(result, [plan], lambda _: iter(items), n_workers=1)
    return result


def recorded_scores(workspace: Workspace) -> list[tuple[str, Any]]:
    journal = workspace.reviews / "alice.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    return [
        (event["criterion"], event["verdict"])
        for event in map(json.loads, lines)
        if "criterion" in event
    ]


@pytest.mark.sweep
async def test_each_score_can_be_changed_after_both_are_recorded(
    workspace: Workspace, wait_for_screen: Any
) -> None:
    with Store.open(workspace, "alice") as store:
        session = Session(workspace, "alice", store, Reviewer(store, Journal(workspace, "alice")))
        app = FcreviewApp(session, View(queue="dataset"), "simple_0")
        async with app.run_test(size=(100, 30)) as pilot:
            await wait_for_screen(pilot)
            await pilot.press("T", "2")
            lines = await wait_for_screen(pilot)
            if not recorded_scores(workspace):  # the first key only moved to the response
                assert "press 0, 1 or 2 to score completeness of the response" in lines[-2]
                await pilot.press("2")
                await wait_for_screen(pilot)
            await pilot.press("2")
            await wait_for_screen(pilot)
            assert recorded_scores(workspace) == [("completeness", 2), ("correctness", 2)]
            await pilot.press("left_square_bracket")
            await wait_for_screen(pilot)
            await pilot.press("0")
            lines = await wait_for_screen(pilot)
            if len(recorded_scores(workspace)) == 2:
                await pilot.press("0")
                lines = await wait_for_screen(pilot)
            assert "completeness 0, overrides judge · next: correctness" in lines[-2]
            await pilot.press("1")
            await wait_for_screen(pilot)
    assert recorded_scores(workspace)[2:] == [("completeness", 0), ("correctness", 1)]

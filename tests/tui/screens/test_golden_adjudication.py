"""Golden fixes of several annotators are adjudicated: a card shows the fix, and one key decides."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import rescore
from fcreview.model.review import Annotation
from fcreview.store.golden_fix_effect import collect_changed_verdicts, measure_run_effects
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.adjudication import AdjudicationScreen
from fcreview.tui.session import Session
from tests.sharing import Imports
from tests.tui import idle
from tests.tui.conftest import screen_lines
from tests.tui.key_input import wait_until

QUESTION = "simple_python_4"


def make_fix(days: list[str]) -> dict[str, Any]:
    return {"ground_truth": [{"alarm.set": {"time": ["06:45"], "days": [days], "label": [""]}}]}


FIX = make_fix(["Monday", "Wednesday"])
OTHER_FIX = make_fix(["Monday", "Friday"])


@pytest.fixture
def workspace(imports: Imports, samples: Path, tmp_path: Path) -> Workspace:
    return imports.copy([samples / "bfcl"], tmp_path / "here")


def propose_fix(
    workspace: Workspace, annotator: str, fix: dict[str, Any], model: str = "maple-8b"
) -> None:
    with Store.open(workspace, annotator) as store:
        rows = store.fetch_rows(store.find_items(QUESTION))
        (item,) = [row.item for row in rows if row.model == model]
        effects = measure_run_effects(store, item, fix, rescore)
        annotation = Annotation(
            verdict=True,
            fault="golden",
            golden_fix=fix,
            golden_status="proposed",
            golden_verdicts=collect_changed_verdicts(effects),
        )
        Reviewer(store, Journal(workspace, annotator)).review(item, annotation)


def read_effective(workspace: Workspace) -> dict[str, bool | None]:
    """Return the effective verdict on the question by model."""
    with Store.open(workspace, "chief") as store:
        rows = store.fetch_rows(store.find_items(QUESTION))
        return {row.model: row.effective for row in rows}


def read_adjudications(workspace: Workspace) -> list[dict[str, Any]]:
    text = (workspace.reviews / "chief.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


class Keys:
    def __init__(self, app: FcreviewApp, pilot: Any) -> None:
        self.app = app
        self._pilot = pilot

    async def press(self, *keys: str) -> str:
        for key in keys:
            await self._pilot.press(key)
            await idle.wait_for_workers(self.app)
            await self._pilot.pause()
        return self.text

    @property
    def text(self) -> str:
        return "\n".join(screen_lines(self.app))


@asynccontextmanager
async def open_adjudication(workspace: Workspace) -> AsyncIterator[Keys]:
    session = Session(workspace, "chief")
    app = FcreviewApp(session, adjudicate=True)
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_until(lambda: isinstance(app.screen, AdjudicationScreen))
        keys = Keys(app, pilot)
        await idle.wait_for_workers(app)
        await pilot.pause()
        yield keys


async def test_card_shows_a_proposed_fix_and_one_key_accepts_it(workspace: Workspace) -> None:
    propose_fix(workspace, "alice", FIX, model="maple-8b-FC")
    assert read_effective(workspace)["maple-8b"] is False
    async with open_adjudication(workspace) as keys:
        assert "Is this golden answer right?" in keys.text
        assert "golden fix proposed · changes 1 of 2 answers" in keys.text
        assert '["Monday", "Wednesday"]' in keys.text
        text = await keys.press("1")
        assert "golden fix accepted, 1 verdict corrected" in text
    assert read_effective(workspace)["maple-8b"] is True
    (event,) = read_adjudications(workspace)
    assert (event["act"], event["golden_status"]) == ("adjudicate", "accepted")


@pytest.mark.parametrize(("key", "status"), [("g", "accepted"), ("f", "rejected")])
async def test_verdict_key_decides_about_the_only_fix(
    workspace: Workspace, key: str, status: str
) -> None:
    propose_fix(workspace, "alice", FIX)
    async with open_adjudication(workspace) as keys:
        await keys.press(key)
        with Store.open(workspace, "chief") as store:
            assert store.analysis.fetch_disagreements(View()) == []
        await keys.press("z")
    adjudication, retraction = read_adjudications(workspace)
    assert adjudication["golden_status"] == status
    assert retraction["act"] == "retract"
    with Store.open(workspace, "chief") as store:
        assert len(store.analysis.fetch_disagreements(View())) == 1, "undo opens the case again"


async def test_unsure_leaves_the_fix_proposed(workspace: Workspace) -> None:
    propose_fix(workspace, "alice", FIX)
    async with open_adjudication(workspace) as keys:
        await keys.press("u")
    with Store.open(workspace, "chief") as store:
        assert len(store.analysis.fetch_disagreements(View())) == 1


async def test_different_fixes_of_two_runs_are_answers_of_one_decision(
    workspace: Workspace,
) -> None:
    propose_fix(workspace, "alice", FIX)
    propose_fix(workspace, "bob", OTHER_FIX, model="maple-8b-FC")
    with Store.open(workspace, "chief") as store:
        cases = store.analysis.fetch_disagreements(View())
        assert [case.disagreement.golden_status for case in cases] == ["disputed", "disputed"]
        answers = cases[0].disagreement.answers
        assert {answer.annotator for answer in answers} == {"alice", "bob"}
        number = 1 + [answer.golden_fix for answer in answers].index(FIX)
    async with open_adjudication(workspace) as keys:
        await keys.press(str(number))
        assert "2 of 2 resolved" in keys.text or "all resolved" in keys.text
    assert read_effective(workspace)["maple-8b"] is True

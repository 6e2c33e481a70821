"""What a verdict rests on is on the screen when it is asked: the reply, and what the judge said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import Message, Verdict
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.store.factory import make_item, write_run


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A question so long that the reply lies below the first screen."""
    scored = [
        Verdict("judge", 1, criterion=name, target="response", rationale=f"the {name} lacks")
        for name in ("completeness", "correctness")
    ]
    asked = [Message(0, -1, "user", "\n".join(f"line {n}" for n in range(9)))]
    observed = [Message(0, n, "tool", "\n".join(f"seen {n} {m}" for m in range(4))) for n in range(4)]
    reply = Message(0, 4, "assistant", "It rains in Hangzhou.")
    item = make_item(0, messages=[*asked, *observed, reply], verdicts=scored)
    made = find_workspace(tmp_path)
    import_runs(made, [write_run(tmp_path / "run", [{}])], lambda _: iter([item]), n_workers=1)
    return made


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_the_reply_is_seen_where_its_score_is_asked(
    workspace: Workspace, size: tuple[int, int], settled: Any
) -> None:
    with Store.open(workspace, "alice") as store:
        session = Session(workspace, "alice", store, Reviewer(store, Journal(workspace, "alice")))
        app = FcreviewApp(session, View(queue="judged"))
        async with app.run_test(size=size) as pilot:
            await settled(pilot)
            await pilot.press("enter")
            shown = "\n".join(await settled(pilot))
            assert "0 1 2 on: response completeness" in shown
            assert "It rains in Hangzhou." in shown, shown
            assert "the completeness lacks" in shown, shown
            await pilot.resize_terminal(size[0], size[1] + 1)
            shown = "\n".join(await settled(pilot))
            assert "the completeness lacks" in shown, shown

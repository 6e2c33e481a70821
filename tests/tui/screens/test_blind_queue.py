"""A queue that is drawn as blind is reviewed blind, also if the session is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.stats.sampling import ShareOptions
from fcreview.store.queue_file import is_blind_queue, write_queue
from fcreview.store.queue_sampling import QueueRequest
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.adjudication import AdjudicationScreen
from fcreview.tui.screens.estimates import EstimatesScreen
from fcreview.tui.screens.overview import OverviewScreen
from fcreview.tui.session import Session
from tests.store.factory import Imported
from tests.tui.conftest import screen_lines


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    """A workspace with the queue `sample`, which `alice` reviews blind."""
    workspace = imported(tmp_path / "work", {"maple-8b": [{"official": False}] * 4})
    with Store.open(workspace, "alice") as store:
        sharing = ShareOptions(["alice"], seed=4)
        queue = store.draw_queue(
            QueueRequest("sample", view=View(), size=4, stratify="", sharing=sharing, blind=True)
        )
        write_queue(workspace, queue)
    return workspace


@pytest.mark.parametrize(("key", "screen"), [("M", EstimatesScreen), ("x", AdjudicationScreen)])
async def test_queue_starts_a_blind_session_and_estimates_or_adjudication_end_it(
    workspace: Workspace, wait_for_screen: Any, key: str, screen: type
) -> None:
    assert is_blind_queue(workspace, "sample") and not is_blind_queue(workspace, "other")
    app = FcreviewApp(Session(workspace, "alice"), View())
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press("b")
        await pilot.pause()
    switch = app.next_switch
    assert switch is not None and switch.blind and switch.annotator == "alice"
    assert switch.position is not None and switch.position.settings.file == "sample"

    session = Session(workspace, "alice", blind=True)
    session.switch = switch
    session.can_end_blind_review = True
    blind_app = FcreviewApp(session, View())
    async with blind_app.run_test(size=(120, 40)) as pilot:
        await wait_for_screen(pilot)
        text = "\n".join(screen_lines(blind_app))
        assert "hidden" in text and "resumed" not in text
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press(key)
        assert "End the blind review?" in "\n".join(await wait_for_screen(pilot))
        await pilot.press("y")
        await pilot.pause()
    switch = blind_app.next_switch
    assert switch is not None and switch.blind is False

    session = Session(workspace, "alice")
    session.switch = switch
    app = FcreviewApp(session, View())
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_for_screen(pilot)
        assert isinstance(app.screen, screen), "the screen that the user asked for is open"
        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, OverviewScreen), "the screen on which the user asked"


async def test_session_that_the_user_started_as_blind_stays_blind(
    workspace: Workspace, wait_for_screen: Any
) -> None:
    app = FcreviewApp(Session(workspace, "alice", blind=True), View())
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        for key, name in (("M", "estimates"), ("x", "adjudicate")):
            await pilot.press(key)
            text = "\n".join(await wait_for_screen(pilot))
            assert f"{name}: not available in blind mode" in text

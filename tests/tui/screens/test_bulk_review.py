"""Bulk review records what the screen shows, and nothing before the number is confirmed."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.reviews import journal
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.clusters import BulkReviewScreen, ClustersScreen
from fcreview.tui.screens.command_palette import PaletteProvider
from fcreview.tui.screens.palette_context import PaletteContext
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.session import Session
from tests.store.factory import Imported
from tests.tui import idle
from tests.tui.key_input import send_keys, wait_until
from tests.tui.screens.test_adjudication import AppDriver

N_ITEMS = 25


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    """Return a workspace with 25 items of one error type and two of another."""
    other = {"error_type": "type_error:simple"}
    return imported(tmp_path / "work", {"maple-8b": [*({} for _ in range(N_ITEMS)), other, other]})


@asynccontextmanager
async def open_queue(
    workspace: Workspace, size: tuple[int, int], *, blind: bool = False
) -> AsyncIterator[AppDriver]:
    app = FcreviewApp(Session(workspace, "alice", blind=blind))
    async with app.run_test(size=size) as pilot:
        await idle.wait_for_workers(app)
        await pilot.pause()
        yield AppDriver(pilot, app, workspace)


def read_events(workspace: Workspace) -> list[dict[str, Any]]:
    path = workspace.reviews / "alice.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def notifications(person: AppDriver) -> list[str]:
    return [each.message for each in person.app._notifications]


@pytest.mark.parametrize("size", [pytest.param((120, 32), marks=pytest.mark.sweep), (80, 24)])
async def test_cluster_is_reviewed_and_undone_in_one_step(
    workspace: Workspace, size: tuple[int, int]
) -> None:
    async with open_queue(workspace, size) as person:
        lines = await person.press("c")
        assert "B review all" in lines[-1]
        text = "\n".join(lines := await person.press("B"))
        assert isinstance(person.app.screen, BulkReviewScreen)
        assert "the first 20 of 25 items" in text and "simple_0" in text and "simple_20" not in text
        assert all(
            hint in lines[-1]
            for hint in ("p pass", "f fail", "g golden wrong", "u unsure", "w fault", "e tag")
        )
        assert "Give a verdict first: press p, f, g, u" in (await person.press("enter"))[-2]
        text = "\n".join(await person.press("g"))
        assert "PASS" in text and "golden" in text
        await person.press("f", "w", "m", "e", "n", *"unit", "enter", "enter")
        question = (await person.press("enter"))[-1]
        assert "Record fail, fault: model, tags unit for 25 items? y yes" in question
        await person.press("enter", "n")
        assert read_events(workspace) == []
        await person.press("enter", "y")
        assert isinstance(person.app.screen, ClustersScreen)
        assert notifications(person) == [
            "saved: fail, fault: model, tags unit, bulk review of 25 items\nz undo"
        ]
        saved = read_events(workspace)
        fields = {
            (each["verdict"], each["fault"], *each["tags"], each["blind"], each["bulk"])
            for each in saved
        }
        assert fields == {(False, "model", "unit", False, saved[0]["bulk"])}
        assert [each["key"]["id"] for each in saved] == [f"simple_{at}" for at in range(N_ITEMS)]
        assert "you have reviewed all items of this cluster" in (await person.press("B"))[-2]
        lines = await person.press("escape")
        assert isinstance(person.app.screen, QueueScreen)
        assert any("simple_0" in line and "✗" in line for line in lines)
        await person.press("c", "z")
        assert [each["act"] for each in read_events(workspace)[N_ITEMS:]] == ["retract"] * N_ITEMS
        assert (
            notifications(person)[-1]
            == "undone: fail, fault: model, tags unit · bulk review of 25 items"
        )


async def test_undo_is_reported_if_another_review_begins_at_once(workspace: Workspace) -> None:
    async with open_queue(workspace, (80, 24)) as person:
        await person.press("c", "B", "f", "enter", "y")
        can_undo = threading.Event()
        person.app.session._thread.submit(can_undo.wait, 20)
        with idle.ignore_threads():
            send_keys(person.app, "z", "B")
            await wait_until(lambda: person.app.session._thread._work_queue.qsize() >= 2)
            can_undo.set()
        await person.press()
        await idle.wait_for_workers(person.app)
        assert len(read_events(workspace)) == 2 * N_ITEMS
        assert any("undone: fail" in message for message in notifications(person))


async def test_failed_bulk_review_is_reported_and_can_be_repeated(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    async with open_queue(workspace, (80, 24)) as person:
        with monkeypatch.context() as broken:
            broken.setattr(journal, "_append_and_sync", fail)
            lines = await person.press("c", "B", "f", "enter", "y")
            assert (
                "NOT SAVED (fail): No space left on device. The 25 reviews were not saved"
                in lines[-2]
            )
            assert isinstance(person.app.screen, BulkReviewScreen)
        await person.press("enter", "y")
        assert len(read_events(workspace)) == N_ITEMS


async def test_undo_on_an_item_reverts_the_whole_bulk_review(workspace: Workspace) -> None:
    async with open_queue(workspace, (80, 24)) as person:
        await person.press("c", "B", "u", "enter", "y", "escape", "enter")
        lines = await person.press("z")
        assert any("undone: unsure · bulk review of 25 items" in line for line in lines)
        assert len(read_events(workspace)) == 2 * N_ITEMS


async def test_bulk_review_is_not_available_in_blind_mode(workspace: Workspace) -> None:
    async with open_queue(workspace, (120, 32), blind=True) as person:
        for keys in (("c",), ("B",), ("c", "B", "f")):
            await person.press(*keys)
            assert isinstance(person.app.screen, QueueScreen)
        assert "review all" not in "\n".join(await person.press("question_mark"))
        await person.press("escape")
        provider = PaletteProvider(
            PaletteContext(person.app, person.app.session, person.app._state), person.app.screen
        )
        assert [hit.text async for hit in provider.search("review all")] == []
        assert read_events(workspace) == []


async def test_palette_has_bulk_review_on_a_cluster(workspace: Workspace) -> None:
    async with open_queue(workspace, (120, 32)) as person:
        text = "\n".join(await person.press("c", "colon", *"review all"))
        assert "review all" in text
        await person.press("enter")
        assert isinstance(person.app.screen, BulkReviewScreen)
        assert "keys: " in "\n".join(await person.press("question_mark"))

"""No verdict is given to another item than the one the header names, however fast keys come."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation, Event
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.tui.app import FcreviewApp
from fcreview.tui.queue.loader import QueuePage, QueueRequest
from fcreview.tui.queue.state import CursorPosition
from fcreview.tui.screens.item_pane import ItemPane
from fcreview.tui.screens.queue_pane import QueuePane
from fcreview.tui.session import Session
from tests.store.factory import Imported
from tests.tui.key_input import send_keys, wait_until
from tests.tui.screens.split.sides import TWO, focused, journal, listed, named, panes_of, queue_of

KEYS = ["j", "j", "k", "end", "g", "d", "tab", "tab", "enter", "escape", "p", "p", "u", "z", "]", "[", "F"]
"""`u` is half a page up in the list; `f` and others that type are left out."""
SHIFTED = {"]": "right_square_bracket", "[": "left_square_bracket"}


class SlowReviewer(Reviewer):
    """The real one, on a disk that takes its time."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, Journal(store.workspace, "alice"))

    def review(self, item: int, annotation: Annotation, detail: ItemDetail | None = None) -> Event:
        time.sleep(0.01)
        return super().review(item, annotation, detail)


class Seen:
    """An app with two panes; `said`: the item of each verdict that a key gave."""

    def __init__(self, app: FcreviewApp, store: Store) -> None:
        self.app, self.store = app, store
        self.said: list[str] = []

    def watch(self) -> None:
        pane = queue_of(self.app).query_one(ItemPane)
        record, begin = pane.item_reviewer.record, pane.show_item
        before = ""

        def begun(shown: Any, remark: Any) -> None:
            nonlocal before
            before = named(self.app)
            begin(shown, remark)

        def judged(about: Any, judgement: Any) -> None:
            name = about.detail.row.id
            assert name in (named(self.app), before), "named now, or until the key was pressed"
            assert named(self.app) == listed(self.app), "the list's cursor stands on what the header names"
            self.said.append(name)
            record(about, judgement)

        pane.item_reviewer.record, pane.show_item = judged, begun  # type: ignore[method-assign]

    async def done(self) -> None:
        """Nothing waits, nothing rests."""

        def still() -> bool:
            panes = panes_of(self.app)
            busy = [worker for worker in self.app.workers if not worker.is_finished]
            return not busy and panes.item_pane is not None and not panes.item_pane.opening

        for _ in range(3):
            await wait_until(still)
            await asyncio.sleep(0.02)


@asynccontextmanager
async def seen(imported: Imported, place: Path) -> AsyncIterator[Seen]:
    with Store.open(imported(place, {"maple-8b": [{} for _ in range(80)]}), "alice") as store:
        app = FcreviewApp(Session(None, "alice", store, SlowReviewer(store)), View(queue="dataset"))
        async with app.run_test(size=TWO):
            made = Seen(app, store)
            await wait_until(lambda: bool(app.screen_stack and app.screen.query(ItemPane)))
            await made.done()
            made.watch()
            yield made


@pytest.mark.sweep
async def test_a_verdict_before_the_item_is_there_is_dropped_with_a_bell(imported: Imported, tmp_path: Path) -> None:
    async with seen(imported, tmp_path / "work") as made:
        rung: list[bool] = []
        made.app.bell = lambda: rung.append(True)  # type: ignore[method-assign]
        send_keys(made.app, "j", "j", "j", "tab", "p")
        await made.done()
        assert focused(made.app) == "item" and named(made.app) == listed(made.app)
        assert [name for name, _ in journal(made.store)] == made.said
        assert bool(rung) is not bool(made.said), "either it was about the item that was named, or it rang"
        assert set(made.said) <= {"simple_3"}


@pytest.mark.sweep
async def test_while_another_list_is_read_nothing_is_judged(imported: Imported, tmp_path: Path) -> None:
    """The item on screen is of the list before: `]` would lead along that one."""
    async with seen(imported, tmp_path / "work") as made:
        pane = queue_of(made.app).query_one(QueuePane)
        read, go = pane._loader.load_view, asyncio.Event()

        async def slowly(request: QueueRequest) -> QueuePage:
            await go.wait()
            return await read(request)

        pane._loader.load_view = slowly  # type: ignore[method-assign]
        queue_of(made.app).state.search = "city 7"
        pane.load_view(CursorPosition())
        send_keys(made.app, "tab", "p", "right_square_bracket", "p")
        await wait_until(lambda: focused(made.app) == "item")
        await asyncio.sleep(0.05)
        go.set()
        await made.done()
        assert journal(made.store) == [] and named(made.app) == listed(made.app) == "simple_7"
        send_keys(made.app, "p")
        await made.done()
        assert journal(made.store) == [("simple_7", True)] and named(made.app) == listed(made.app) == "simple_70"


async def storm(made: Seen, seed: int, keys: list[str]) -> None:
    chosen = random.Random(seed)
    for _ in range(8):
        together = [chosen.choice(keys) for _ in range(chosen.randint(1, 8))]
        send_keys(made.app, *(SHIFTED.get(key, key) for key in together))
        await asyncio.sleep(chosen.choice([0, 0, 0.01, 0.15]))
    await made.done()
    assert named(made.app) == listed(made.app)


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_a_storm_in_the_item_is_written_as_it_was_seen(imported: Imported, tmp_path: Path, seed: int) -> None:
    async with seen(imported, tmp_path / "work") as made:
        send_keys(made.app, "tab")
        await made.done()
        await storm(made, seed, ["p", "f", "u", "z", "]", "[", "j", "T"])
        assert made.said and [name for name, _ in journal(made.store)] == made.said


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
async def test_a_storm_over_both_panes_judges_only_what_is_named(imported: Imported, tmp_path: Path, seed: int) -> None:
    """What is pressed behind a key that leaves the item is dropped, as it would mean nothing in the list."""
    async with seen(imported, tmp_path / "work") as made:
        await storm(made, seed, KEYS)
        said = iter(made.said)
        kept = [name for name, _ in journal(made.store)]
        assert all(name in said for name in kept), (kept, made.said)

"""The welcome line at the first start, and the summary of a complete queue."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from textual.widgets._toast import Toast

from fcreview.cli.config import record_first_start
from fcreview.model.review import Annotation
from fcreview.stats.sampling import ShareOptions
from fcreview.store.queue_file import write_queue
from fcreview.store.queue_sampling import QueueRequest
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View

WELCOME = "Welcome. Press enter to open, ? for all keys, : for commands"


def combine(one: tuple[Any, Any], other: tuple[Any, Any]) -> list[Any]:
    """Combine the values.

    `make test` runs two combinations, which have all values. The others run in the sweep.
    """
    quick = list(zip(one, other, strict=True))
    return [
        each if each in quick else pytest.param(*each, marks=pytest.mark.sweep)
        for each in product(one, other)
    ]


def test_first_start_is_detected_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert [record_first_start(), record_first_start()] == [True, False]
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert not record_first_start()


@pytest.mark.parametrize(("n_runs", "overview"), combine((1, 2), (False, True)))
async def test_first_screen_shows_the_welcome_line_once(
    make_app: Any, wait_for_screen: Any, n_runs: int, overview: bool
) -> None:
    app = make_app(runs={f"maple-{at}": [{"official": False}] for at in range(n_runs)}, resume=True)
    app.session.opens_overview, app.session.shows_welcome = overview, True
    async with app.run_test(size=(100, 30)) as pilot:
        assert WELCOME in "\n".join(await wait_for_screen(pilot))
        await pilot.press("question_mark")
        await wait_for_screen(pilot)
        await pilot.press("q", "v")
        await wait_for_screen(pilot)
        await pilot.press("v")
        assert not app.session.shows_welcome


@pytest.mark.parametrize(("blind", "filtered"), combine((False, True), (False, True)))
async def test_complete_queue_shows_a_summary(
    make_app: Any, wait_for_screen: Any, blind: bool, filtered: bool
) -> None:
    app = make_app([{} for _ in range(3)], blind=blind)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await wait_for_screen(pilot)
        if filtered:
            await pilot.press("F", *"-reviewed", "enter")
            await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        for key in "pfu":
            await pilot.press(key)
            await wait_for_screen(pilot)
        text = "\n".join(line.strip() for line in await wait_for_screen(pilot))
        assert (
            "Queue complete\n3 items reviewed: 1 pass, 1 fail, 1 unsure\n3 reviewed · 0 left"
            in text
        ), text
        assert ("estimate" in text) != blind and "Next: v overview; : export" in text
        assert "A review as another annotator" in text and not app.screen.query(Toast), (
            "nothing is covered"
        )
        await pilot.press("f")
        text = "\n".join(await wait_for_screen(pilot))
        assert text.count("Queue complete") == 1 and "2 fail" in text, "the summary is replaced"
        await pilot.press("[")
        assert "Queue complete" not in "\n".join(await wait_for_screen(pilot))


async def test_summary_counts_shared_items_only_for_their_annotators(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app([{} for _ in range(4)], view=View(queue="pilot", share=True))
    store = make_app.stores[-1]
    sharing = ShareOptions(["alice", "bob"], overlap=1)
    queue = store.draw_queue(QueueRequest("pilot", View(), 3, "", sharing))
    write_queue(store.workspace, queue)
    ids = {
        share.annotator: {queue.items[at].key.id for at in share.order} for share in queue.shares
    }
    (shared,) = ids["alice"] & ids["bob"]
    (own,) = ids["alice"] - ids["bob"]
    bob = Reviewer(store, Journal(store.workspace, "bob"))
    # the second item is assigned to alice only
    for name, verdict in (
        (shared, True),
        (own, False),
    ):
        bob.review(store.find_items(name)[0], Annotation(verdict=verdict))
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        for _ in ids["alice"]:
            await pilot.press("p")
            text = "\n".join(await wait_for_screen(pilot))
        assert "all annotators agree on 1 of 1 shared item" in text

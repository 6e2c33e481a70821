"""Shares of a queue file: order, progress and hidden duplicates on the screens."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation
from fcreview.stats.sampling import ShareOptions
from fcreview.store.queue_file import QueueFile, read_queue, write_queue
from fcreview.store.queue_sampling import QueueRequest
from fcreview.store.rows import View
from fcreview.tui.app import FcreviewApp
from fcreview.tui.queue_state import CursorPosition, QueueState
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.session import Session
from tests.tui import idle
from tests.tui.conftest import screen_lines
from tests.tui.key_input import wait_until

SHARE = View(queue="pilot", share=True)


@pytest.fixture
def make_share_app(make_app: Any, tmp_path: Path) -> Callable[..., FcreviewApp]:
    def make(**options: Any) -> FcreviewApp:
        app: FcreviewApp = make_app([{} for _ in range(8)], view=SHARE, **options)
        store = make_app.stores[-1]
        sharing = ShareOptions(["alice", "bob"], overlap=6, repeats=2, seed=4)
        write_queue(
            store.workspace, store.draw_queue(QueueRequest("pilot", View(), 6, "", sharing))
        )
        return app

    return make


def share_order(app: FcreviewApp) -> list[str]:
    workspace = app.session._workspace
    assert workspace is not None
    queue: QueueFile = read_queue(workspace, "pilot")
    share = queue.find_share("alice")
    assert share is not None and len(share.order) == 8
    return [queue.items[at].key.id for at in share.order]


@pytest.mark.parametrize("blind", [pytest.param(False, marks=pytest.mark.sweep), True])
async def test_other_queues_point_to_the_own_share(
    make_share_app: Callable[..., FcreviewApp], wait_for_screen: Any, blind: bool
) -> None:
    app = make_share_app(blind=blind)
    app._state = QueueState.from_view(View(), blind)
    async with app.run_test(size=(80, 24)) as pilot:
        assert "Press v, then b to review your 8 items of queue pilot" in "\n".join(
            await wait_for_screen(pilot)
        )
        for position in ("1/8", "2/8"):
            await pilot.press("v", "b")
            text = "\n".join(await wait_for_screen(pilot))
            assert position in text and "golden wrong" in text, "the first unreviewed item is open"
            await pilot.press("p")
            await wait_for_screen(pilot)
            await pilot.press("q")
            assert "queue pilot" in "\n".join(await wait_for_screen(pilot))


async def test_reloaded_browser_page_shows_the_selected_queue(
    make_share_app: Callable[..., FcreviewApp], wait_for_screen: Any
) -> None:
    app = make_share_app()
    app._state = QueueState.from_view(View())
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v", "b")
        await wait_for_screen(pilot)
        await pilot.press("q")
        await wait_for_screen(pilot)
        await pilot.press("j", "ctrl+q")
        await wait_for_screen(pilot)
    workspace = app.session._workspace
    assert workspace is not None
    again = FcreviewApp(Session(workspace, "alice"), resume=True)
    async with again.run_test(size=(80, 24)) as pilot:
        assert "queue pilot · 2/8" in "\n".join(await wait_for_screen(pilot))
    (workspace.queues / "pilot.json").unlink()
    without = FcreviewApp(Session(workspace, "alice"), resume=True)
    async with without.run_test(size=(80, 24)) as pilot:
        assert "failures first" in "\n".join(await wait_for_screen(pilot))


@pytest.mark.sweep
@pytest.mark.parametrize("blind", [False, True])
async def test_share_keeps_its_order_and_reviews_name_the_queue(
    make_share_app: Callable[..., FcreviewApp], wait_for_screen: Any, blind: bool
) -> None:
    app = make_share_app(blind=blind)
    order = share_order(app)
    async with app.run_test(size=(100, 30)) as pilot:
        lines = await wait_for_screen(pilot)
        assert "› pilot " in lines[0] and " 0 of 8 reviewed " in lines[0]
        assert "your items · queue pilot · 1/8" in lines[-3]
        assert [line.strip("│▌ ").split()[0] for line in lines if "simple_" in line] == order
        await pilot.press("enter")
        for place, name in enumerate(order):
            shown = await wait_for_screen(pilot)
            assert f"› {name} " in shown[0] and shown[1].split()[0] == f"{place + 1}/8"
            assert "you  –" in shown[1] and not any("reviews" in line for line in shown[2:-2])
            if blind:
                assert "official hidden" in shown[1] and "value_error" not in "\n".join(shown)
            await pilot.press("p" if place < 6 else "f")
        await wait_for_screen(pilot)
        await pilot.press("q")
        assert " 8 of 8 reviewed " in (await wait_for_screen(pilot))[0]
    folder = app.session.workspace_folder
    assert folder is not None
    events = [
        json.loads(line) for line in (folder / "reviews" / "alice.jsonl").read_text().splitlines()
    ]
    assert {event["queue"] for event in events} == {"pilot"}
    assert [event["key"]["id"] for event in events] == order
    repeats = {
        order.index(event["key"]["id"]) for event in events if event.get("presentation") == 2
    }
    assert len(repeats) == 2 and sum(event.get("presentation") == 2 for event in events) == 2


async def test_available_orders_include_the_share(
    make_share_app: Callable[..., FcreviewApp], wait_for_screen: Any
) -> None:
    app = make_share_app(blind=True)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("o")
        text = "\n".join(await wait_for_screen(pilot))
        assert (
            "pilot" in text
            and "stratified" in text
            and "a judge said" not in text
            and "uncertain" not in text
        )


@pytest.mark.sweep
@pytest.mark.parametrize("blind", [False, True])
async def test_estimate_has_an_interval_after_sample_unless_blind(
    make_app: Any, wait_for_screen: Any, blind: bool
) -> None:
    app: FcreviewApp = make_app(
        [{"official": n % 4 != 0} for n in range(40)], view=SHARE, blind=blind
    )
    store = make_app.stores[-1]
    write_queue(
        store.workspace,
        store.draw_queue(QueueRequest("pilot", View(), 8, "", ShareOptions(["alice"], seed=4))),
    )
    async with app.run_test(size=(100, 30)) as pilot:
        before = (await wait_for_screen(pilot))[1]
        assert "[" not in before and "more for" not in before
        await pilot.press("enter")
        for _ in range(8):
            await wait_for_screen(pilot)
            await pilot.press("p")
        await wait_for_screen(pilot)
        await pilot.press("q")
        rates = (await wait_for_screen(pilot))[1]
        estimate = re.search(
            r"estimated \d+\.\d % \[(\d+\.\d), (\d+\.\d)\] · \d+ more labels for ±2", rates
        )
        assert (estimate is None) is blind and ("[" in rates) is not blind
        if estimate is not None:
            assert float(estimate[1]) < float(estimate[2])


async def test_estimate_is_not_shown_beside_the_rates_of_another_run(
    make_app: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"official": n % 4 != 0} for n in range(8)]
    app: FcreviewApp = make_app(runs={"maple-8b": rows, "birch-8b": rows})
    store = make_app.stores[-1]
    maple, birch = sorted(store.fetch_runs(), key=lambda run: run.info.model, reverse=True)
    sample = QueueRequest("pilot", View(runs=(maple.run,)), 4, "", ShareOptions(["alice"], seed=4))
    write_queue(store.workspace, store.draw_queue(sample))
    app.session.queue_file = "pilot"
    async with app.run_test(size=(120, 30)) as pilot:
        for row in store.fetch_page(View(queue="pilot"), 0, 4):
            await app.session.record_review(row.item, Annotation(verdict=True))
        await wait_for_screen(pilot)
        screen = app.screen
        assert isinstance(screen, QueueScreen)

        def show_run(run: int) -> None:
            screen.state.select_run(run)
            screen.pane.load_view(CursorPosition())

        show_run(maple.run)
        await wait_for_screen(pilot)
        await wait_until(lambda: "estimated" in screen_lines(app)[1])

        # The estimate of the other run takes long.
        can_estimate = threading.Event()
        fetch_sample_status = store.analysis.fetch_sample_status

        def fetch_sample_status_later(run: int) -> Any:
            can_estimate.wait(20)
            return fetch_sample_status(run)

        monkeypatch.setattr(store.analysis, "fetch_sample_status", fetch_sample_status_later)
        with idle.ignore_threads():
            show_run(birch.run)
            await wait_until(lambda: screen.pane._shown.run == birch.run)
            assert "estimated" not in screen_lines(app)[1]
            can_estimate.set()
        await wait_for_screen(pilot)
        assert "estimated" not in screen_lines(app)[1]


@pytest.mark.sweep
@pytest.mark.parametrize("blind", [False, True])
async def test_two_panes_count_each_review_immediately(
    make_share_app: Callable[..., FcreviewApp], wait_for_screen: Any, blind: bool
) -> None:
    async with make_share_app(blind=blind).run_test(size=(140, 30)) as pilot:
        assert " 0 of 8 reviewed " in (await wait_for_screen(pilot))[0]
        await pilot.press("enter")
        for done in (1, 2):
            await wait_for_screen(pilot)
            await pilot.press("p")
            top = (await wait_for_screen(pilot))[0]
            assert f" {done} of 8 reviewed " in top and "by anyone" not in top

"""The overview opens first for several runs, Enter drills down, and keys open other screens."""

from __future__ import annotations

from asyncio import Event, sleep
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from time import monotonic
from typing import Any

import pytest

from fcreview.model.review import Annotation
from fcreview.stats.sampling import ShareOptions
from fcreview.store.queue_file import write_queue
from fcreview.store.queue_sampling import QueueRequest
from fcreview.store.rows import View
from fcreview.tui.figures.overview import Overview
from fcreview.tui.screens.help import HelpScreen
from fcreview.tui.screens.overview import PANELS, OverviewScreen
from fcreview.tui.screens.queue import QueueScreen
from tests.tui.conftest import screen_lines
from tests.tui.key_input import send_keys

FAILING = {
    "official": False,
    "error_type": "value_error:string",
    "first_difference": 'city "a" (golden "b")',
}
RUNS = {
    "maple-8b": [FAILING, {"official": True}, FAILING],
    "birch-8b": [{"official": True}, {"official": True}],
}

OpenOverview = Callable[..., AbstractAsyncContextManager[tuple[Any, Any]]]


@pytest.fixture
def open_overview(make_app: Any, wait_for_screen: Any) -> OpenOverview:
    """Return a function that opens the overview of two runs and returns the app and its pilot."""

    @asynccontextmanager
    async def open_it(
        size: tuple[int, int] = (120, 34), **options: Any
    ) -> AsyncIterator[tuple[Any, Any]]:
        app = make_app(runs=RUNS, **options)
        async with app.run_test(size=size) as pilot:
            await wait_for_screen(pilot)
            await pilot.press("v")
            await wait_for_screen(pilot)
            yield app, pilot

    return open_it


async def test_several_runs_open_on_the_overview(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app(runs=RUNS, resume=True)
    app.session.opens_overview = True
    async with app.run_test(size=(120, 34)) as pilot:
        text = "\n".join(await wait_for_screen(pilot))
        assert isinstance(app.screen, OverviewScreen)
        for part in (
            "1 Runs",
            "birch-8b",
            "100.0 %",
            "33.3 %",
            "2 Why items fail",
            "Review 2 failures",
            "2 runs",
        ):
            assert part in text, text
        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen)


async def test_key_pressed_while_the_app_opens_acts_on_the_overview(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(runs=RUNS, resume=True)
    app.session.opens_overview = True
    async with app.run_test(size=(120, 34)) as pilot:
        # The list is on screen before it is known that several runs open on the overview.
        send_keys(app, "L")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen)
        assert "failures" in lines[0], lines[0]
        assert "works on the overview" not in "\n".join(lines)


async def test_one_run_opens_on_the_queue(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app([FAILING], resume=True)
    app.session.opens_overview = True
    async with app.run_test(size=(120, 34)) as pilot:
        send_keys(app, "question_mark")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, HelpScreen), "a key that waited acts on the list"
        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen)


async def test_all_next_actions_are_visible(open_overview: OpenOverview) -> None:
    for size in ((80, 24), (120, 34)):
        async with open_overview(size) as (app, _):
            next_list = app.screen.query_one("#next")
            assert next_list.total >= 5
            assert next_list.size.height >= next_list.total, size


async def test_enter_shows_the_items_of_a_run_or_a_reason(
    open_overview: OpenOverview, wait_for_screen: Any
) -> None:
    async with open_overview() as (app, pilot):
        await pilot.press("j", "enter")
        lines = await wait_for_screen(pilot)
        assert (
            isinstance(app.screen, QueueScreen)
            and "maple-8b" in lines[0]
            and "/3" in "\n".join(lines[:4])
        )
        app.screen.state.select_order("suspects")
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press("enter")
        assert "failures first" in (await wait_for_screen(pilot))[0], (
            "all items of the run, not its suspects"
        )
        app.screen.state.select_order("suspects")
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press("2", "enter")
        lines = await wait_for_screen(pilot)
        assert "failures: string is not an accepted" in "\n".join(lines[:4]) and "1/2" in "\n".join(
            lines[:4]
        )
        assert app.screen.state.queue == "failures"


async def test_back_returns_to_the_overview_and_failures_are_of_all_runs(
    open_overview: OpenOverview, wait_for_screen: Any
) -> None:
    async with open_overview() as (app, pilot):
        await pilot.press("j", "enter")
        await wait_for_screen(pilot)
        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, OverviewScreen)
        await pilot.press("j", "L")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen) and "2 runs › failures " in lines[0]
        assert "1/2" in "\n".join(lines), "the failing items of both runs only"


async def test_back_restores_panel_cursor_and_order_of_the_overview(
    open_overview: OpenOverview, wait_for_screen: Any
) -> None:
    async with open_overview() as (app, pilot):
        await pilot.press("o", "j")
        order = app.screen._arrangement.order
        run = app.screen._list_entry_keys("runs")[1]
        await pilot.press("2", "enter")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen)

        await pilot.press("escape")
        await wait_for_screen(pilot)
        overview = app.screen
        assert isinstance(overview, OverviewScreen)
        assert overview.focused is overview._get_list("reasons")
        assert overview._arrangement.order == order
        runs = overview._get_list("runs")
        assert overview._list_entry_keys("runs")[runs.entry_index] == run

        await pilot.press("enter")
        lines = await wait_for_screen(pilot)
        assert "failures: string is not an accepted" in "\n".join(lines[:4]), (
            "the reason again, not the run"
        )


async def test_enter_waits_until_the_chosen_run_is_loaded(
    open_overview: OpenOverview, wait_for_screen: Any
) -> None:
    async with open_overview(size=(80, 24)) as (app, pilot):
        gate = Event()
        app.screen_stack[0].pane._loader.load_page = hold(
            app.screen_stack[0].pane._loader.load_page, gate
        )
        await pilot.press("j", "enter", "enter")
        assert isinstance(app.screen, QueueScreen)
        gate.set()
        lines = await wait_for_screen(pilot)
        assert "maple-8b" in lines[1] and "1/3" in lines[1]


def hold(load: Callable[..., Awaitable[Any]], gate: Event) -> Callable[..., Awaitable[Any]]:
    async def load_later(*args: Any) -> Any:
        await gate.wait()
        return await load(*args)

    return load_later


async def test_tab_and_digits_move_between_the_panels(open_overview: OpenOverview) -> None:
    async with open_overview() as (app, pilot):
        focused = [app.focused.id]
        for key in ("tab", "tab", "tab", "tab", "tab", "shift+tab", "2", "1"):
            await pilot.press(key)
            focused.append(app.focused.id)
        assert focused == [
            "runs",
            "reasons",
            "reviews",
            "scores",
            "next",
            "runs",
            "next",
            "reasons",
            "runs",
        ]


async def test_blind_overview_has_no_rates_and_no_way_to_them(
    open_overview: OpenOverview, wait_for_screen: Any
) -> None:
    async with open_overview(blind=True) as (app, pilot):
        text = "\n".join(screen_lines(app))
        assert "%" not in text and "value_error" not in text and "0 of 3" in text
        await pilot.press("L")
        assert "› dataset " in "\n".join(await wait_for_screen(pilot)) and isinstance(
            app.screen, QueueScreen
        )
        await pilot.press("v")
        await wait_for_screen(pilot)
        for key in ("x", "s", "r"):
            await pilot.press(key)
            assert isinstance(app.screen, OverviewScreen)
            assert "not available in blind mode" in "\n".join(await wait_for_screen(pilot))


async def test_small_overview_fits_80_columns(open_overview: OpenOverview) -> None:
    async with open_overview(size=(80, 24)) as (app, _):
        lines = screen_lines(app)
        text = "\n".join(lines)
        assert all(
            part in text
            for part in ("birch-8b", "String is not an accepted value", "Review 2 failures")
        ), text
        assert "open" in lines[-1] and "help" in lines[-1]
        assert any(line.startswith("─ 1 Runs ─") for line in lines), (
            "the title has blanks around it"
        )


async def test_runs_are_sorted_and_found_by_any_word(
    open_overview: OpenOverview, wait_for_screen: Any
) -> None:
    async with open_overview() as (app, pilot):
        for order in ("by corrected", "by model", "by date", "by items"):
            await pilot.press("o")
            assert order in "\n".join(await wait_for_screen(pilot))
        lines = await wait_for_screen(pilot)
        assert "maple-8b" in lines[3] and "birch-8b" in lines[4], "the larger run is first"
        await pilot.press("slash", *"birch")
        lines = await wait_for_screen(pilot)
        assert (
            "birch-8b" in lines[3]
            and "maple-8b" not in "\n".join(lines[2:6])
            and "search birch" in "\n".join(lines)
        )
        await pilot.press("enter", "enter")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen) and "birch-8b" in lines[0]


async def test_escape_ends_the_search_before_it_leaves(
    open_overview: OpenOverview, wait_for_screen: Any
) -> None:
    async with open_overview(size=(80, 24)) as (app, pilot):
        await pilot.press("slash", *"q:?")
        assert "no matches" in "\n".join(await wait_for_screen(pilot)), (
            "keys are typed into the search"
        )
        await pilot.press("escape")
        assert "maple-8b" in "\n".join(await wait_for_screen(pilot)) and isinstance(
            app.screen, OverviewScreen
        )
        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen)


async def test_only_sampled_runs_have_an_estimate(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app(runs=RUNS)
    store = make_app.stores[-1]
    (maple,) = [row.run for row in store.fetch_runs() if row.info.model == "maple-8b"]
    view = View(runs=(maple,))
    queue = store.draw_queue(
        QueueRequest("pilot", view, 2, "", ShareOptions(["alice", "bob"], overlap=2))
    )
    write_queue(store.workspace, queue)
    app.session.queue_file = "pilot"
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_for_screen(pilot)
        for row in store.fetch_page(View(queue="pilot"), 0, 2):
            await app.session.record_review(row.item, Annotation(verdict=True))
        await pilot.press("v")
        expected_texts = ("items passed · 95 % intervals · 2 not blind", "pilot · alice", "2 / 2")
        end = monotonic() + 60
        text = ""
        while not all(expected in text for expected in expected_texts) and monotonic() < end:
            await sleep(0.02)  # estimates and the count of seen reviews follow one after the other
            lines = await wait_for_screen(pilot)
            text = "\n".join(lines)
        for expected in expected_texts:
            assert expected in text
        scores = [line for line in lines if "%" in line and "[" in line]
        assert len(scores) == 1 and "maple-8b" in scores[0]
        assert app.screen._overview.sampled_runs == {maple}
        n_seen_reviews = await app.session.read(
            lambda store: store.analysis.count_seen_reviews(maple, ["pilot"])
        )
        assert n_seen_reviews == 2, "alice is not blind"


async def test_a_run_is_estimated_when_its_list_grows(
    open_overview: OpenOverview, wait_for_screen: Any
) -> None:
    async with open_overview(size=(120, 40)) as (app, pilot):
        await pilot.press("slash", *"birch")
        await wait_for_screen(pilot)
        screen = app.screen
        (maple,) = [run.run for run in screen._overview.runs if run.info.model == "maple-8b"]
        screen._show_overview(replace(screen._overview, sampled_runs=frozenset({maple})))
        await pilot.press("escape")  # the lists have room for one run until the next layout
        await wait_for_screen(pilot)
        assert maple in screen._overview.estimates


async def test_digit_shows_a_panel_that_a_small_screen_hides(
    open_overview: OpenOverview, wait_for_screen: Any
) -> None:
    async with open_overview((80, 24)) as (app, pilot):
        for key, title, text in (
            ("4", "4 Scores", "corrected"),
            ("3", "3 Review", "reviewed"),
            ("2", "2 Why items fail", "value_error:string"),
        ):
            await pilot.press(key)
            shown = "\n".join(await wait_for_screen(pilot))
            assert title in shown and text in shown and "5 Next" in shown, shown
            assert app.screen.focused.id == PANELS[int(key) - 1]


async def test_figures_stay_on_the_way_back_unless_a_review_was_added(
    open_overview: OpenOverview, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures are read again, but until then the screen has the last ones."""
    shown_reasons: list[bool] = []
    show_overview = OverviewScreen._show_overview

    def record_and_show(screen: OverviewScreen, overview: Overview) -> None:
        shown_reasons.append(overview.reasons is not None)
        show_overview(screen, overview)

    async with open_overview() as (app, pilot):
        monkeypatch.setattr(OverviewScreen, "_show_overview", record_and_show)
        await pilot.press("escape")
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        assert shown_reasons and all(shown_reasons), "nothing has changed"

        await pilot.press("escape")
        await wait_for_screen(pilot)
        item = app.screen.list.row_at(0).item
        await app.session.record_review(item, Annotation(verdict=False))
        shown_reasons.clear()
        await pilot.press("v")
        await wait_for_screen(pilot)
        assert not shown_reasons[0], "the last figures are those of before the review"
        assert shown_reasons[-1]

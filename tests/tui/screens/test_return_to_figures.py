"""A list that was opened from a screen with figures returns to this screen, and from there to the
screen below it.
"""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.store.rows import View
from fcreview.store.workspace import Workspace
from fcreview.tui.queue_state import ListChoice
from fcreview.tui.screens.checks import CheckScreen
from fcreview.tui.screens.clusters import ClustersScreen
from fcreview.tui.screens.estimates import EstimatesScreen
from fcreview.tui.screens.overview import OverviewScreen
from fcreview.tui.screens.palette_context import QUEUE_SCREENS, open_estimates
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.screens.runs import RunsScreen
from fcreview.tui.screens.statistics import AgreementScreen, CalibrationScreen
from tests.examples import only_long
from tests.tui.screens.test_adjudication import open_adjudication, workspace
from tests.tui.screens.test_palette_everywhere import RUNS

__all__ = ["workspace"]

ESTIMATES_ON_OVERVIEW = [EstimatesScreen, OverviewScreen, QueueScreen]
CHECK_ON_OVERVIEW = [CheckScreen, OverviewScreen, QueueScreen]
WAYS = {
    "suspects of the estimates": (("v", "M", "s"), ESTIMATES_ON_OVERVIEW),
    "check of the overview": (("v", "exclamation_mark", "enter"), CHECK_ON_OVERVIEW),
    "runs of the overview": (("v", "r", "j", "enter"), [RunsScreen, OverviewScreen, QueueScreen]),
    "suspects of the overview": (("v", "s"), [OverviewScreen, QueueScreen]),
    "check of the list": (("exclamation_mark", "enter"), [CheckScreen, QueueScreen]),
    "clusters of the list": (("c", "enter"), [ClustersScreen, QueueScreen]),
    "clusters of the overview": (
        ("v", "colon", *"clusters", "enter", "enter"),
        [ClustersScreen, OverviewScreen, QueueScreen],
    ),
}
"""Name -> keys that open a list, and the screens to which Esc then returns, one after the other."""
SLOW_WAYS = ("suspects of the overview", "check of the list", "clusters of the list")


def _list_ways() -> list[Any]:
    ways = []
    for name, way in WAYS.items():
        marks = only_long if name in SLOW_WAYS else ()
        ways.append(pytest.param(*way, id=name, marks=marks))
    return ways


@pytest.mark.parametrize(("keys", "screens"), _list_ways())
async def test_escape_returns_to_the_screens_through_which_a_list_was_opened(
    make_app: Any, wait_for_screen: Any, keys: tuple[str, ...], screens: list[type]
) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        for key in keys:
            await pilot.press(key)
            await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen), "the list is open"

        for screen in screens:
            await pilot.press("escape")
            await wait_for_screen(pilot)
            assert isinstance(app.screen, screen)


@pytest.mark.parametrize("name", [name for name in QUEUE_SCREENS if name != "overview"])
async def test_each_list_of_the_palette_can_be_opened_on_the_overview(
    make_app: Any, wait_for_screen: Any, name: str
) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        app.screen.open_menu(name)
        await wait_for_screen(pilot)
        assert app.is_running


async def test_new_runs_belong_to_the_menus_of_the_overview(
    make_app: Any, wait_for_screen: Any
) -> None:
    """After an import while the app is open, the queue shows other runs."""
    app = make_app(runs=RUNS)
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        queue = app.screen
        queue.set_scope((1, 2))
        await pilot.press("v")
        await wait_for_screen(pilot)
        assert app.screen._menus._state.view.runs == queue.state.view.runs == (1, 2)


@pytest.mark.parametrize(
    ("name", "screen"), [("agreement", AgreementScreen), ("calibration", CalibrationScreen)]
)
async def test_statistics_of_the_palette_return_to_the_overview(
    workspace: Workspace, name: str, screen: type
) -> None:
    async with open_adjudication(workspace, (120, 34), adjudicate=False) as person:
        await person.press("v", "colon", *name, "enter")
        assert isinstance(person.app.screen, screen)
        await person.press("j", "enter")
        assert isinstance(person.app.screen, QueueScreen)
        await person.press("escape")
        assert isinstance(person.app.screen, screen)
        await person.press("escape")
        assert isinstance(person.app.screen, OverviewScreen)


async def test_estimates_without_overview_return_to_the_list_as_it_was(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"official:pass", "enter")
        await wait_for_screen(pilot)
        open_estimates(app, app.session)
        await wait_for_screen(pilot)
        await pilot.press("j")
        run = app.screen._selected_run
        await pilot.press("s")
        await wait_for_screen(pilot)
        queue = app.screen
        assert isinstance(queue, QueueScreen) and queue.state.where == ""

        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, EstimatesScreen) and app.screen._selected_run == run
        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert app.screen is queue and queue.state.where == "official:pass"


async def test_each_choice_on_the_overview_replaces_the_one_before(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        queue = app.screen
        await pilot.press("F", *"official:pass", "enter")
        await wait_for_screen(pilot)
        n_levels = len(queue._levels.above)
        for _ in range(3):
            await pilot.press("v", "down", "enter")
            await wait_for_screen(pilot)
            assert queue.state.run is not None and queue.state.where == ""
            assert len(queue._levels.above) == n_levels + 1

        for _ in range(2):
            await pilot.press("escape")
            await wait_for_screen(pilot)
        assert queue.state.where == "official:pass", "the list below the overview"


async def test_a_run_chosen_above_a_queue_file_shows_all_its_items(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        queue = app.screen
        queue.state.open_queue_file("judged")
        (run, *_) = await app.session.read(lambda store: store.fetch_runs())
        queue.apply_list_choice(ListChoice("runs", run.run))
        await wait_for_screen(pilot)
        assert queue.state.view == View(queue="failures", runs=(run.run,))

"""Every screen may be closed while it opens, and no screen opens after the user has left."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from textual.screen import Screen

from fcreview.cli.wiring import build_form_fields, build_golden_services
from fcreview.store.rows import View
from fcreview.tui.app import FcreviewApp, TerminalTooSmallScreen
from fcreview.tui.commands import CommandService, ReportServices
from fcreview.tui.screens.adjudication import AdjudicationScreen
from fcreview.tui.screens.annotators import AnnotatorPickerScreen, open_annotator_list
from fcreview.tui.screens.checks import CheckScreen
from fcreview.tui.screens.clusters import BulkReviewScreen, ClustersScreen
from fcreview.tui.screens.command_form import CommandFormScreen
from fcreview.tui.screens.command_palette import CommandPaletteScreen
from fcreview.tui.screens.compare import CompareScreen, FlipScreen
from fcreview.tui.screens.estimates import EstimatesScreen
from fcreview.tui.screens.golden_editor import GoldenEffectScreen, GoldenScreen
from fcreview.tui.screens.help import HelpScreen
from fcreview.tui.screens.issues import IssueScreen, IssuesScreen
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.overview import OverviewScreen
from fcreview.tui.screens.pager import CopyScreen, PagerScreen
from fcreview.tui.screens.prompts import AskScreen, ConfirmScreen, PanelPickerScreen, PickerScreen
from fcreview.tui.screens.question import QuestionScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.screens.review_dialogs import (
    FaultScreen,
    NoteScreen,
    OverrideReasonScreen,
    TagsScreen,
)
from fcreview.tui.screens.runs import RunsScreen
from fcreview.tui.screens.statistics import (
    AgreementScreen,
    CalibrationScreen,
    ConventionsScreen,
    RankingScreen,
    StatisticsScreen,
)
from fcreview.tui.widgets.base import BottomDialog, GuardedModalScreen, GuardedScreen
from tests.tui.idle import ignore_threads
from tests.tui.key_input import send_keys
from tests.tui.screens.test_palette_everywhere import RUNS
from tests.tui.test_structure import all_subclasses

KEYS: dict[type[Screen[Any]], str] = {
    AdjudicationScreen: "x",
    AgreementScreen: "percent_sign",
    AnnotatorPickerScreen: "A",
    AskScreen: "enter slash",
    BulkReviewScreen: "c B",
    CalibrationScreen: "C",
    CheckScreen: "exclamation_mark",
    ClustersScreen: "c",
    CommandFormScreen: "v X",
    CommandPaletteScreen: "colon",
    CompareScreen: "r equals_sign",
    ConfirmScreen: "c B f enter",
    ConventionsScreen: "number_sign",
    CopyScreen: "enter y",
    EstimatesScreen: "v M",
    FaultScreen: "enter f w",
    FlipScreen: "r j equals_sign j equals_sign enter",
    GoldenScreen: "enter G",
    HelpScreen: "question_mark",
    ItemScreen: "enter",
    NoteScreen: "enter n",
    OverrideReasonScreen: "enter p O",
    OverviewScreen: "v",
    PagerScreen: "enter R",
    PickerScreen: "o",
    QuestionScreen: "m",
    RankingScreen: "Z",
    RunsScreen: "r",
    TagsScreen: "enter f e",
}
"""Keys that open each screen from the queue."""
SCREENS_WITHOUT_KEY = {
    BottomDialog,
    GoldenEffectScreen,
    GuardedModalScreen,
    IssueScreen,
    IssuesScreen,
    PanelPickerScreen,
    StatisticsScreen,
    QueueScreen,
    TerminalTooSmallScreen,
}
"""Base classes, the first screen, the screen of a small terminal, and screens that need an item of a
benchmark or an import issue, which the app of these tests does not have.
"""
KEYS_BEFORE_NEXT = {CompareScreen: "end equals_sign k"}
"""Keys to press before the last key. The list of runs forgets the marked run."""
MAX_TURNS = 4


def test_all_screens_are_tested() -> None:
    screens = {each for each in all_subclasses(GuardedScreen) if "fcreview" in each.__module__}
    assert screens == set(KEYS) | SCREENS_WITHOUT_KEY


@pytest.fixture
def app(make_app: Any) -> Any:
    result = make_app(runs=RUNS, view=View(queue="dataset"))
    commands = CommandService(build_form_fields, lambda *_: pytest.fail("must not be called"))
    result.session.report_services = ReportServices(
        lambda *_: "accuracy 71.3 %", lambda _: pytest.fail("must not be called"), commands
    )
    result.session.golden_support = build_golden_services()
    return result


class EarlyDismissals:
    """Dismisses each screen a number of turns of the event loop after it was pushed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n_turns: int | None = None
        """Number of turns. None if screens stay open."""
        self.dismissed: list[type[Screen[Any]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        push_screen = FcreviewApp.push_screen

        def push_and_dismiss(app: FcreviewApp, screen: Any, *args: Any, **options: Any) -> Any:
            result = push_screen(app, screen, *args, **options)
            if self.n_turns is not None:
                self.dismissed.append(type(screen))
                task = asyncio.get_running_loop().create_task(self._dismiss(screen, self.n_turns))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            return result

        monkeypatch.setattr(FcreviewApp, "push_screen", push_and_dismiss)

    async def _dismiss(self, screen: GuardedScreen[Any], n_turns: int) -> None:
        for _ in range(n_turns):
            await asyncio.sleep(0)
        screen.dismiss(None)
        screen.dismiss(None)


@pytest.mark.parametrize("screen", KEYS)
async def test_screen_may_be_closed_while_it_opens(
    app: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch, screen: type[Screen[Any]]
) -> None:
    """Close the screen after 0 to 3 turns of the event loop."""
    *keys_before, key = KEYS[screen].split()
    dismissals = EarlyDismissals(monkeypatch)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_for_screen(pilot)
        for each in keys_before:
            await pilot.press(each)
            await wait_for_screen(pilot)
        before = app.screen_stack
        for n_turns in range(MAX_TURNS):
            dismissals.n_turns = n_turns
            send_keys(app, *KEYS_BEFORE_NEXT.get(screen, "").split(), key)
            await wait_for_screen(pilot)
            assert app.is_running and app.return_code is None
            assert app.screen_stack == before
        assert dismissals.dismissed == [screen] * MAX_TURNS


class SlowDescription:
    """Command service whose description of a command waits until the test continues it."""

    def __init__(self) -> None:
        self.was_called = threading.Event()
        self.may_continue = threading.Event()

    def describe(self, command: str) -> Any:
        self.was_called.set()
        assert self.may_continue.wait(10)
        return build_form_fields(command)


@pytest.mark.parametrize(
    ("keys", "leaving_keys"),
    [("v X", "escape"), ("v X", "escape enter"), ("v n H", "escape"), ("v X", "question_mark")],
)
async def test_form_does_not_open_after_the_user_has_left(
    app: Any, wait_for_screen: Any, keys: str, leaving_keys: str
) -> None:
    slow = SlowDescription()
    app.session.report_services = ReportServices(
        lambda *_: "",
        lambda _: pytest.fail("must not be called"),
        CommandService(slow.describe, lambda *_: pytest.fail("must not be called")),
    )
    *keys_before, key = keys.split()
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_for_screen(pilot)
        with ignore_threads():
            for each in keys_before:
                await pilot.press(each)
                await pilot.pause()
        slow.may_continue.set()
        await wait_for_screen(pilot)
        slow.was_called.clear()
        slow.may_continue.clear()

        with ignore_threads():
            send_keys(app, key)
            assert await asyncio.to_thread(slow.was_called.wait, 10)
            await pilot.press(*leaving_keys.split())
        slow.may_continue.set()
        await wait_for_screen(pilot)
        assert not any(isinstance(each, CommandFormScreen) for each in app.screen_stack)


async def test_annotators_are_not_listed_after_the_user_has_left(
    app: Any, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        may_continue = threading.Event()
        slow_query = asyncio.ensure_future(app.session.read(lambda _: may_continue.wait(10)))
        with ignore_threads():
            await pilot.pause()
            open_annotator_list(app, app.session)
            await pilot.press("escape")
        assert isinstance(app.screen, QueueScreen)
        may_continue.set()
        await slow_query
        await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen)

"""Run palette commands on the screen below the palette, on the queue and on the session.

A command that changes the queue first closes the screens above the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any, Literal

from textual.app import App

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import sanitize
from fcreview.store.filters.saved import SAVED_FILTER_PREFIX
from fcreview.store.rows import ItemMatch, RunRow
from fcreview.tui.actions import ACTIONS, Action
from fcreview.tui.commands import (
    ExportRequest,
    deliver_download,
    export_and_summarize,
    make_download_name,
    path_exists,
)
from fcreview.tui.figure_scope import make_scope_of_all_items
from fcreview.tui.keymap import find_action_key_names, list_available_actions
from fcreview.tui.queue.loader import KnownAnnotator, read_other_annotators, read_own_assignments
from fcreview.tui.queue_state import ListChoice
from fcreview.tui.screens.overview import OverviewScreen
from fcreview.tui.screens.pager import PagerScreen, PagerText
from fcreview.tui.screens.prompts import AskScreen
from fcreview.tui.screens.queue import QueueScreen, find_focused_item_pane, find_queue_screen
from fcreview.tui.text.messages import StatusMessage
from fcreview.tui.text.run_names import format_run_name

if TYPE_CHECKING:
    from textual.screen import Screen

    from fcreview.tui.commands import CommandForm, ReportServices
    from fcreview.tui.queue_state import QueueState
    from fcreview.tui.screens.item_pane import ItemPane
    from fcreview.tui.session import Session

QUEUE_SCREENS = (
    "overview",
    "check",
    "clusters",
    "runs",
    "issues",
    "agreement",
    "calibration",
    "conventions",
    "ranking",
    "adjudicate",
)
"""Lists and screens of the queue that the palette offers on other screens, in this order."""
MAX_ITEMS = 20
"""Largest number of items that a search returns."""


class PaletteContext:
    """Screen, queue and session that palette commands act on.

    Create it before the palette covers the screen.
    """

    def __init__(self, app: App[Any], session: Session, state: QueueState) -> None:
        """Record what is on screen when the palette opens. Runs and items are read later."""
        self.app = app
        self.session = session
        self.state = state
        available_actions = list_available_actions(app.screen)
        self.actions = [action for action in available_actions if action.id != "app.palette"]
        """Actions of the screen below the palette."""

        # The queue, and the item above it or beside it. An item that is loading is not used.
        self._queue = find_queue_screen(app)
        self._is_queue_on_top = app.screen is self._queue
        pane = find_focused_item_pane(app)
        is_item_loading = pane is not None and pane.is_item_loading
        self._item_pane = None if is_item_loading else pane

        # A command must not close a screen on which the user has typed something.
        has_unsaved_input = any(
            getattr(screen, "has_unsaved_input", False) for screen in app.screen_stack
        )
        self.has_queue = self._queue is not None and not has_unsaved_input and not is_item_loading
        """Whether the queue can be shown and changed, and items can be opened."""

        # What `load_from_store` and `find_items` read.
        self.runs: Sequence[RunRow] = ()
        self.queue_files: Mapping[str, bool] = {}
        """Maps the name of each queue file to whether it assigns items to the annotator."""
        self.annotators: Sequence[KnownAnnotator] = ()
        """Other annotators of the workspace. Empty if the annotator cannot be changed."""
        self.items: Sequence[ItemMatch] = ()
        """Items whose id matches the typed query."""

    async def load_from_store(self) -> None:
        """Read runs, queue files and annotators from the store."""
        self.queue_files = await self.session.read(read_own_assignments)
        if not self.session.fixed_annotator_reason:
            self.annotators = await self.session.read(read_other_annotators)

        scope = self.state.scope
        runs = await self.session.read(lambda store: store.fetch_runs())
        self.runs = [run for run in runs if not scope or run.run in scope]

    async def find_items(self, query: str) -> None:
        """Set `items` to the items whose id contains every word of the query, each in one run.

        The run on screen is preferred.
        """
        scope = self.state.scope
        run = self.state.run
        if self._item_pane is not None:
            run = self._item_pane.item_reviewer.displayed.detail.row.run
        self.items = await self.session.read(
            lambda store: store.search_item_ids(query, scope, run, MAX_ITEMS), interruptible=True
        )

    def show_message(self, message: str, style: str = "warn") -> None:
        """Show a message on the item, above the queue or, on other screens, as a notification."""
        if self._item_pane is not None and self._item_pane.screen is self.app.screen:
            self._item_pane.show_message(StatusMessage(sanitize(message), style))
        elif self._queue is not None and self.app.screen is self._queue:
            self._queue.pane.show_message(sanitize(message))
        else:
            severity: Literal["information", "error"] = "error" if style == "bad" else "information"
            self.app.notify(sanitize(message), severity=severity, markup=False)

    def open_item(self, item_number: int) -> None:
        """Open an item: above the displayed item, or from the queue, to which the app returns if
        necessary.
        """
        if self._item_pane is not None and not self._is_queue_on_top:
            self.app.push_screen(self._item_pane.make_screen(self.state.view, item_number))
        elif self._is_queue_on_top and self._queue is not None:
            self._queue.find_and_open_item(item_number)
        else:
            return_to_queue(
                self.app, self.session, lambda queue: queue.find_and_open_item(item_number)
            )

    def apply_queue_choice(self, menu_name: str, choice: Any) -> None:
        """Return to the queue and apply a choice of one of its menus.

        `menu_name`: key of `QueueMenus.menus`.
        """
        return_to_queue(self.app, self.session, lambda queue: queue.apply_choice(menu_name, choice))

    def queue_actions(self) -> Sequence[Action]:
        """Return the queue's actions that open lists and screens, for the command palette of
        another screen.

        Actions that the other screen has too are omitted, and those that the queue hides, for
        example in blind mode. The result is empty on the queue, because the palette there has all
        its actions already.
        """
        if self._queue is None or self._is_queue_on_top:
            return []

        own_actions = {action.action for action in self.actions}
        hidden_ids = self._queue.hidden_actions
        actions = []
        for screen_name in QUEUE_SCREENS:
            action_id = f"queue.{screen_name}"
            action = ACTIONS[action_id]
            if action_id not in hidden_ids and action.action not in own_actions:
                actions.append(action)
        return actions

    def run_queue_action(self, action: Action) -> None:
        """Return to the queue and run an action there.

        The overview instead opens above the current screen, and lists open above the overview.
        """
        _, _, name = action.id.partition(".")
        screen = self.app.screen
        if action.id == "queue.overview":
            open_overview(self.app, self.session)
        elif isinstance(screen, OverviewScreen):
            screen.open_menu(name)
        else:
            return_to_queue(self.app, self.session, lambda queue: queue.run_action(action.action))

    def compare_named_runs(self, names: str) -> None:
        """Compare two runs, given by number or name and separated by a space.

        A name may contain spaces itself, so the text is divided at each space until both parts are
        runs.
        """
        words = names.split()
        for n_words_of_first in range(1, len(words)):
            run_a = self._find_run(" ".join(words[:n_words_of_first]))
            run_b = self._find_run(" ".join(words[n_words_of_first:]))
            if run_a is not None and run_b is not None and run_a is not run_b:
                self.show_comparison(run_a, run_b)
                return
        self.show_message(f"Cannot compare {names}. Enter the numbers or names of two runs")

    def _find_run(self, name: str) -> RunRow | None:
        """Return the run that a user names by its number, its name, its model, or a part of its
        name.

        None if there is no such run, or several.
        """
        with_name = []
        with_model = []
        with_part_of_name = []
        for run in self.runs:
            if name in (str(run.run), format_run_name(run), run.run_name):
                with_name.append(run)
            if name == run.info.model:
                with_model.append(run)
            if name.lower() in run.run_name.lower():
                with_part_of_name.append(run)

        # A model or a part of the name counts only if no run has this number or name.
        matches = with_name or with_model or with_part_of_name
        return matches[0] if len(matches) == 1 else None

    def show_comparison(self, run_a: RunRow, run_b: RunRow) -> None:
        from fcreview.tui.screens.compare import CompareScreen

        self.app.push_screen(CompareScreen(self.session, (run_a, run_b)))

    def show_report(self) -> None:
        self.app.push_screen(
            PagerScreen("report", self._format_report, folder=self.session.workspace_folder)
        )

    async def _format_report(self) -> PagerText:
        """Return the report on the runs of the queue.

        The report takes long. If the pager closes earlier, it stops after the current run, so that
        other queries can run.
        """
        services = self.session.report_services
        if services is None:
            return PagerText("", "")
        format_report = services.format_report
        runs = self.state.view.runs
        is_closed = Event()

        try:
            text = await self.session.read(
                lambda store: format_report(store, runs, is_closed.is_set)
            )
        except asyncio.CancelledError:
            is_closed.set()
            raise
        except FcreviewError as error:
            text = str(error)
        return PagerText(text, text)

    def export_items(self, format_name: str, path: str) -> None:
        """Write all items of the chosen runs, or of the opened queue file, to a file."""
        if self.session.hidden_names is not None:
            # The file would have the numbers of the runs instead of their names.
            key = find_action_key_names(self.app).get("app.hide_models", "")
            self.show_message(f"An export names the models. Show their names first: press {key}")
            return
        scope = make_scope_of_all_items(self.state.view)
        request = ExportRequest(format_name, path=path, scope=scope)
        self.app.run_worker(self._write_export(request), group="export")

    async def _write_export(self, request: ExportRequest) -> None:
        """Export to a file and show a summary. In the browser, the file is downloaded."""
        services = self.session.report_services
        self.show_message(f"writing {request.path} ...")
        try:
            if self.session.in_browser:
                summary = await self._download_export(request, services)
            else:
                summary = await self.session.read(
                    lambda store: export_and_summarize(store, request, services)
                )
        except (FcreviewError, OSError) as error:
            self.show_message(str(error), "bad")
        else:
            self.show_message(summary, "good")

    async def _download_export(
        self, request: ExportRequest, services: ReportServices | None
    ) -> str:
        """Export to a temporary file on the server, and send it to the browser. Return the
        summary.
        """
        with TemporaryDirectory(prefix="fcreview-") as folder:
            path = Path(folder) / make_download_name(request.path)
            inside = replace(request, path=str(path))
            summary = await self.session.read(
                lambda store: export_and_summarize(store, inside, services)
            )
            deliver_download(self.app, path)
        # The folder does not exist on the user's machine.
        return summary.replace(f"{folder}/", "")

    def is_path_taken(self, path: str) -> bool:
        """Whether an export to `path` would replace a file."""
        return not self.session.in_browser and path_exists(path)

    def open_form(self, form: CommandForm) -> None:
        """Open the form of a command, filled in with the run and the item on screen."""
        from fcreview.tui.screens.command_form import open_command_form

        values = {}
        if self.state.run is not None:
            values["run"] = str(self.state.run)
        if self._item_pane is not None:
            row = self._item_pane.item_reviewer.displayed.detail.row
            values["item"] = row.id
            if form.command == "audit":
                # The history of an item needs its run, because other runs have the same item.
                values["run"] = str(row.run)
        open_command_form(self.app, self.session, form, values)

    def is_filter_saved(self, name: str) -> bool:
        return (
            name.removeprefix(SAVED_FILTER_PREFIX) in self.session.annotator_filters.saved_filters
        )

    def save_filter(self, filter_text: str, name: str) -> None:
        name = name.removeprefix(SAVED_FILTER_PREFIX)
        self._change_saved_filters(
            "Saved", name, lambda: self.session.annotator_filters.save_filter(name, filter_text)
        )

    def delete_filter(self, name: str) -> None:
        self._change_saved_filters(
            "Deleted", name, lambda: self.session.annotator_filters.delete_filter(name)
        )

    def _change_saved_filters(
        self, past_verb: str, name: str, change: Callable[[], object]
    ) -> None:
        """Save or remove a filter, and show what was done. `past_verb`: `saved` or `removed`."""
        try:
            change()
        except FcreviewError as error:
            self.show_message(str(error), "bad")
        else:
            self.show_message(f"{past_verb} the filter {SAVED_FILTER_PREFIX}{name}", "good")

    def run_with_argument(
        self,
        prompt: str,
        run: Callable[[str], None],
        is_taken: Callable[[str], bool],
        argument: str,
    ) -> None:
        """Run a command with an argument, such as a file.

        Without an argument, ask for one. If `is_taken(argument)`, ask whether to replace what
        already exists under this name.
        """
        if argument:
            self._run_unless_taken(run, is_taken, argument)
        else:
            self._ask_for_argument(f"{prompt}:", run, is_taken)

    def _run_unless_taken(
        self, run: Callable[[str], None], is_taken: Callable[[str], bool], argument: str
    ) -> None:
        """Run a command with an argument. If the argument is taken, ask first."""
        if is_taken(argument):
            question = "Already exists. Press Enter to replace it:"
            self._ask_for_argument(question, run, is_taken, confirmed_argument=argument)
        else:
            run(argument)

    def _ask_for_argument(
        self,
        question: str,
        run: Callable[[str], None],
        is_taken: Callable[[str], bool],
        confirmed_argument: str = "",
    ) -> None:
        """Ask for the argument of a command, and run the command.

        Without an answer, nothing happens. `confirmed_argument`: initial answer, which is accepted
        although it is taken.
        """

        def run_with_answer(answer: str | None) -> None:
            entered = (answer or "").strip()
            if not entered:
                return
            if entered == confirmed_argument:
                run(entered)
            else:
                self._run_unless_taken(run, is_taken, entered)

        self.app.push_screen(AskScreen(question, confirmed_argument), run_with_answer)


CLOSE_POLL_INTERVAL = 0.01
"""Seconds between two checks for whether a screen has closed."""


def return_to_queue(
    app: App[Any], session: Session, callback: Callable[[QueueScreen], object]
) -> None:
    """Close the screens above the queue, then call `callback`.

    If a review cannot be saved, its screen stays open and `callback` is not called.
    """
    queue = find_queue_screen(app)
    if queue is not None:
        app.run_worker(
            _return_to_queue(app, session, queue, callback), group="return_to_queue", exclusive=True
        )


async def _return_to_queue(
    app: App[Any], session: Session, queue: QueueScreen, callback: Callable[[QueueScreen], object]
) -> None:
    """Close one screen or item pane after the other until the queue has the focus, then call
    `callback`.

    Each one closes by its own action `back`, so that it can finish what it does.
    """
    while not _has_focus(app, queue):
        screen = app.screen
        pane = find_focused_item_pane(app)
        go_back = getattr(pane or screen, "action_back", screen.dismiss)
        go_back()

        # Reviews may still be written. If one cannot be saved, the screen says so and stays open.
        has_succeeded = await session.actions.wait_until_idle()
        if not has_succeeded:
            return
        await _wait_until_closed(app, screen, pane)
    queue.call_later(callback, queue)


def _has_focus(app: App[Any], queue: QueueScreen) -> bool:
    """Whether the queue is the top screen, and its list, not the item beside it, has the focus."""
    return app.screen is queue and find_focused_item_pane(app) is None


async def _wait_until_closed(app: App[Any], screen: Screen[Any], pane: ItemPane | None) -> None:
    """Wait until Textual has handled the messages that close a screen or an item pane."""
    while app.screen is screen and find_focused_item_pane(app) is pane:
        await asyncio.sleep(CLOSE_POLL_INTERVAL)


def open_overview(app: App[Any], session: Session) -> None:
    """Show the overview above the current screen.

    A choice closes both screens and changes the queue.
    """
    queue = find_queue_screen(app)
    if queue is None:
        return
    if app.screen is queue and find_focused_item_pane(app) is None:
        queue.action_overview()
    else:
        app.push_screen(queue.make_overview(), partial(_apply_list_choice, app, session))


def open_estimates(app: App[Any], session: Session) -> None:
    """Show the estimates above the current screen.

    A choice closes both screens and changes the queue.
    """
    queue = find_queue_screen(app)
    if queue is not None:
        estimates = queue.make_estimates(queue.state.run)
        app.push_screen(estimates, partial(_apply_list_choice, app, session))


def _apply_list_choice(app: App[Any], session: Session, choice: ListChoice | None) -> None:
    if choice is not None:
        return_to_queue(app, session, lambda queue: queue.apply_list_choice(choice))

"""What a command of the palette acts on: the screen below it, the queue, and the session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any

from textual.app import App

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import visible
from fcreview.store.filters.saved import SIGN
from fcreview.store.rows import Found, RunRow
from fcreview.tui.exports import ExportRequest, path_exists, write_export
from fcreview.tui.key_bindings import doable
from fcreview.tui.queue.loader import queue_file_names
from fcreview.tui.review.status import Remark
from fcreview.tui.screens.dialogs import AskScreen
from fcreview.tui.screens.item_pane import ItemPane
from fcreview.tui.screens.pager import PagerScreen, Text
from fcreview.tui.screens.queue import QueueScreen

if TYPE_CHECKING:
    from fcreview.tui.queue.state import QueueState
    from fcreview.tui.session import Session

MIN_QUERY = 2
"""Typed characters from which item ids are searched."""
MAX_ITEMS = 20
POLL = 0.01
"""Seconds between checks whether an item that was left has closed."""


def item_pane(app: App[Any]) -> ItemPane | None:
    """The item that has the focus, if any."""
    nodes = (app.focused or app.screen).ancestors_with_self
    return next((node for node in nodes if isinstance(node, ItemPane)), None)


class PaletteTarget:
    """Made when the palette opens, before it covers the screen."""

    def __init__(self, app: App[Any], session: Session, state: QueueState) -> None:
        self.app, self.session, self.state = app, session, state
        first = app.screen_stack[0]
        self._queue = first if isinstance(first, QueueScreen) else None
        self._at_queue = app.screen is self._queue
        pane = item_pane(app)
        self._item = pane if pane is not None and not pane.opening else None
        self.actions = [action for action in doable(app.screen) if action.id != "app.palette"]
        self.has_queue = self._queue is not None and (self._at_queue or self._item is not None)
        """Whether the queue can be changed and items can be opened. Otherwise only the screen's keys are listed."""
        self.runs: Sequence[RunRow] = ()
        self.queue_files: Mapping[str, bool] = {}
        """Whether the annotator has a share, by name of the queue file."""
        self.items: Sequence[Found] = ()
        """Items whose id matches the query."""

    async def load(self) -> None:
        """Read runs and queue files from the store."""
        self.queue_files = await self.session.ask(queue_file_names)
        runs, scope = await self.session.ask(lambda store: store.runs()), self.state.scope
        self.runs = [run for run in runs if not scope or run.run in scope]

    async def find_items(self, query: str) -> Sequence[Found]:
        """Items whose id contains every word, at most `MAX_ITEMS`. In several runs: the one of the run on screen."""
        scope, run = self.state.scope, self.state.run
        if self._item is not None:
            run = self._item.item_reviewer.displayed.detail.row.run
        return await self.session.ask(lambda store: store.like(query, scope, run, MAX_ITEMS), interruptible=True)

    def say(self, message: str, style: str = "warn") -> None:
        if self._item is not None:
            self._item.say(Remark(visible(message), style))
        elif self._queue is not None:
            self._queue.say(visible(message))

    def open_item(self, item: int) -> None:
        if self._item is not None and not self._at_queue:
            self.app.push_screen(self._item.make_screen(self.state.view, item))
        elif self._queue is not None:
            self._queue.jump(item)

    def change_queue(self, what: str, value: Any) -> None:
        """Return to the queue and set its `where`, `file`, `order` or `runs`."""
        self.app.run_worker(self._change_queue(what, value), group="change_queue", exclusive=True)

    async def _change_queue(self, what: str, value: Any) -> None:
        """An item stays open if its verdict cannot be saved."""
        if self._queue is None:
            return
        while (pane := item_pane(self.app)) is not None:
            pane.action_back()
            if not await self.session.actions.finished():
                return
            while item_pane(self.app) is pane:
                await asyncio.sleep(POLL)
        self._queue.call_later(self._queue.go, what, value)

    def show_report(self) -> None:
        self.app.push_screen(PagerScreen("report", self._report, folder=self.session.folder))

    async def _report(self) -> Text:
        """Stop after the current run when the screen is closed, so that the store is free again."""
        services, runs, closed = self.session.services, self.state.view.runs, Event()
        if services is None:
            return Text("", "")
        report = services.report
        try:
            text = await self.session.ask(lambda store: report(store, runs, closed.is_set))
        except asyncio.CancelledError:
            closed.set()
            raise
        except FcreviewError as error:
            text = str(error)
        return Text(text, text)

    def export(self, name: str, path: str) -> None:
        """Write the items of the view, or their runs, in a format. Without a path, or if the file exists, ask first."""
        request = ExportRequest(name, path, self.state.view)
        self.app.run_worker(self._export(request), group="export")

    async def _export(self, request: ExportRequest) -> None:
        services = self.session.services
        self.say(f"writing {request.path} ...")
        try:
            written = await self.session.ask(lambda store: write_export(store, request, services))
        except (FcreviewError, OSError) as error:
            self.say(str(error), "bad")
            return
        self.say(written, "good")

    def save_filter(self, name: str, where: str) -> None:
        self._change_filters(f"saved as {SIGN}{name}", lambda: self.session.typed.save(name, where))

    def forget_filter(self, name: str) -> None:
        self._change_filters(f"deleted {SIGN}{name}", lambda: self.session.typed.forget(name))

    def _change_filters(self, message: str, change: Callable[[], object]) -> None:
        try:
            change()
        except FcreviewError as error:
            self.say(str(error), "bad")
        else:
            self.say(message)

    def with_file(self, label: str, run: Callable[[str], None], path: str) -> None:
        """Run a command on a path. Ask for the path if it is empty, and before a file is replaced."""
        self._with_argument(f"{label} FILE", run, path_exists, path)

    def with_filter_name(self, label: str, run: Callable[[str], None], name: str) -> None:
        """Run a command on the name of a saved filter. Ask for it if it is empty, and before one is replaced."""
        saved = self.session.typed.saved
        self._with_argument(f"{label} NAME", lambda name: run(name.removeprefix(SIGN)),
                            lambda name: name.removeprefix(SIGN) in saved, name)  # fmt: skip

    def _with_argument(
        self, prompt: str, run: Callable[[str], None], exists: Callable[[str], bool], value: str, confirmed: str = ""
    ) -> None:
        if value and (value == confirmed or not exists(value)):
            run(value)
            return

        def answer(text: str | None) -> None:
            if text is not None and text.strip():
                self._with_argument(prompt, run, exists, text.strip(), value)

        self.app.push_screen(AskScreen("exists; Enter replaces it:" if value else f"{prompt}:", value), answer)

"""Commands of the command palette: actions, saved filters, orders, queue files, exports, runs and items."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from threading import Event
from typing import TYPE_CHECKING, Any, cast

from textual.app import App
from textual.command import Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen
from textual.style import Style

from fcreview.errors import FcreviewError
from fcreview.exporters.base import FORMATS
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.store.filters.saved import SAVED_FILTER_PREFIX
from fcreview.store.queries.run_lists import folder_label
from fcreview.store.rows import ItemMatch, RunRow
from fcreview.tui.exports import ExportRequest, path_exists, write_export
from fcreview.tui.key_bindings import available_actions
from fcreview.tui.queue.header import run_title
from fcreview.tui.queue.loader import queue_file_shares
from fcreview.tui.queue.state import ALL_RUNS, available_orders
from fcreview.tui.review.status import StatusMessage
from fcreview.tui.screens.dialogs import AskScreen
from fcreview.tui.screens.item_pane import ItemPane
from fcreview.tui.screens.pager import PagerScreen, PagerText
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.text.fuzzy import FuzzyMatch, match_words
from fcreview.tui.text.lines import truncate
from fcreview.tui.text.theme import is_colour_enabled
from fcreview.tui.themes import list_theme_names

if TYPE_CHECKING:
    from textual.types import IgnoreReturnCallbackType

    from fcreview.tui.queue.state import QueueState
    from fcreview.tui.session import Session

MIN_QUERY = 2
"""Smallest number of typed characters for which items are searched."""
MAX_ITEMS = 20
"""Largest number of items that a search returns."""
MAX_HITS = 300
"""Largest number of listed commands: for each kind while the input is empty, for all kinds together otherwise."""
MAX_CELLS = 200
"""Largest displayed width of a label or a help text, in cells."""
KIND_CELLS = 8
"""Width of the column with the kind of a command, in cells."""
EXACT_SCORE = 10_000
"""Score of a command with a typed argument, and of an item whose whole id was typed."""
CLOSE_POLL_INTERVAL = 0.01
"""Seconds between two checks for whether an item pane has closed."""


@dataclass(frozen=True, slots=True)
class PaletteCommand:
    """Command of the command palette. `label`, `help` and `key` are sanitized."""

    kind: str
    label: str
    """Text that is matched with the query."""
    run: Callable[..., object]
    """Function that runs the command. It is called with the typed argument if the command takes one, else without
    arguments."""
    help: str = ""
    key: str = ""
    argument: str = ""
    """Placeholder of the argument, such as `FILE`. Empty if the command takes no argument."""

    def typed_argument(self, query: str) -> str:
        """Return the argument: the text after the label in the query.

        Empty if there is none or the command takes no argument.
        """
        head = f"{self.label} ".lower()
        return query[len(head) :].strip() if self.argument and query.lower().startswith(head) else ""

    def to_hit(self, score: float, match: FuzzyMatch, match_style: Style, argument: str = "") -> Hit:
        """Format the command as a line: kind, key, label, argument and help.

        Text from data is never parsed as markup.
        """
        start = f" {self.kind:7}{self.key:>6}  "
        label = truncate(self.label, MAX_CELLS)
        shown_argument = sanitize(argument) or self.argument
        text = start + label + (f" {shown_argument}" if shown_argument else "")
        content = Content(f"{text}  {truncate(self.help, MAX_CELLS)}").stylize("dim", 0, KIND_CELLS)
        content = content.stylize("bold", KIND_CELLS, len(start)).stylize("dim", len(text))
        for position in match.positions:
            at = len(start) + position
            content = content.stylize(match_style, at, min(at + 1, len(start + label)))
        run = partial(self.run, argument) if self.argument else self.run
        return Hit(score, content, cast("IgnoreReturnCallbackType", run), text=self.label)


def focused_item_pane(app: App[Any]) -> ItemPane | None:
    """Return the item pane with the focus. None if no item pane has the focus."""
    nodes = (app.focused or app.screen).ancestors_with_self
    return next((node for node in nodes if isinstance(node, ItemPane)), None)


class PaletteContext:
    """Objects on which commands act: the screen below the palette, the queue and the session.

    Create the context before the palette covers the screen.
    """

    def __init__(self, app: App[Any], session: Session, state: QueueState) -> None:
        self.app, self.session, self.state = app, session, state
        bottom = app.screen_stack[0]
        self._queue = bottom if isinstance(bottom, QueueScreen) else None
        self._is_queue_on_top = app.screen is self._queue
        pane = focused_item_pane(app)
        self._item_pane = pane if pane is not None and not pane.opening else None
        self.actions = [action for action in available_actions(app.screen) if action.id != "app.palette"]
        self.has_queue = self._queue is not None and (self._is_queue_on_top or self._item_pane is not None)
        """Whether the queue can be changed and items can be opened. Otherwise the palette lists actions only."""
        self.runs: Sequence[RunRow] = ()
        self.queue_files: Mapping[str, bool] = {}
        """Maps the name of each queue file to whether it has a share for the annotator."""
        self.items: Sequence[ItemMatch] = ()
        """Items whose id matches the typed query."""

    async def load(self) -> None:
        """Read runs and queue files from the store."""
        self.queue_files = await self.session.query(queue_file_shares)
        runs, scope = await self.session.query(lambda store: store.fetch_runs()), self.state.scope
        self.runs = [run for run in runs if not scope or run.run in scope]

    async def find_items(self, query: str) -> None:
        """Set `items` to the items whose id contains every word of the query.

        An item that is in several runs is listed once, preferably in the run on screen.
        """
        scope, run = self.state.scope, self.state.run
        if self._item_pane is not None:
            run = self._item_pane.item_reviewer.displayed.detail.row.run
        self.items = await self.session.query(
            lambda store: store.search_item_ids(query, scope, run, MAX_ITEMS), interruptible=True
        )

    def show_message(self, message: str, style: str = "warn") -> None:
        if self._item_pane is not None:
            self._item_pane.show_message(StatusMessage(sanitize(message), style))
        elif self._queue is not None:
            self._queue.show_message(sanitize(message))

    def open_item(self, item: int) -> None:
        if self._item_pane is not None and not self._is_queue_on_top:
            self.app.push_screen(self._item_pane.make_screen(self.state.view, item))
        elif self._queue is not None:
            self._queue.find_and_open(item)

    def change_queue(self, menu_name: str, choice: Any) -> None:
        """Return to the queue and apply a choice of the menu `menu_name` of `QueueMenus`."""
        self.app.run_worker(self._change_queue(menu_name, choice), group="change_queue", exclusive=True)

    async def _change_queue(self, menu_name: str, choice: Any) -> None:
        """Close open items, then apply the choice.

        If a verdict cannot be saved, its item stays open and nothing is applied.
        """
        if self._queue is None:
            return
        while (pane := focused_item_pane(self.app)) is not None:
            pane.action_back()
            if not await self.session.actions.wait_until_idle():
                return
            while focused_item_pane(self.app) is pane:
                await asyncio.sleep(CLOSE_POLL_INTERVAL)
        self._queue.call_later(self._queue.apply_choice, menu_name, choice)

    def show_report(self) -> None:
        self.app.push_screen(PagerScreen("report", self._format_report, folder=self.session.folder))

    async def _format_report(self) -> PagerText:
        """Format the report.

        If the screen is closed, stop after the current run, so that other queries can use the store.
        """
        services, runs, is_closed = self.session.report_services, self.state.view.runs, Event()
        if services is None:
            return PagerText("", "")
        format_report = services.format_report
        try:
            text = await self.session.query(lambda store: format_report(store, runs, is_closed.is_set))
        except asyncio.CancelledError:
            is_closed.set()
            raise
        except FcreviewError as error:
            text = str(error)
        return PagerText(text, text)

    def export(self, name: str, path: str) -> None:
        """Write the items of the view to a file in the format `name`.

        Some formats write the whole runs of these items.
        """
        request = ExportRequest(name, path, self.state.view)
        self.app.run_worker(self._export(request), group="export")

    async def _export(self, request: ExportRequest) -> None:
        services = self.session.report_services
        self.show_message(f"writing {request.path} ...")
        try:
            summary = await self.session.query(lambda store: write_export(store, request, services))
        except (FcreviewError, OSError) as error:
            self.show_message(str(error), "bad")
        else:
            self.show_message(summary, "good")

    def is_filter_saved(self, name: str) -> bool:
        return name.removeprefix(SAVED_FILTER_PREFIX) in self.session.filter_history.saved_filters

    def save_filter(self, where: str, name: str) -> None:
        name = name.removeprefix(SAVED_FILTER_PREFIX)
        self._change_filters("saved as", name, lambda: self.session.filter_history.save_filter(name, where))

    def delete_filter(self, name: str) -> None:
        self._change_filters("deleted", name, lambda: self.session.filter_history.delete_filter(name))

    def _change_filters(self, message: str, name: str, change: Callable[[], object]) -> None:
        try:
            change()
        except FcreviewError as error:
            self.show_message(str(error), "bad")
        else:
            self.show_message(f"{message} {SAVED_FILTER_PREFIX}{name}", "good")

    def run_with_argument(
        self, prompt: str, run: Callable[[str], None], exists: Callable[[str], bool], value: str, confirmed: str = ""
    ) -> None:
        """Run a command with an argument, after a prompt if the argument is missing or already exists.

        The prompt for an existing file or name asks whether to replace it. `confirmed`: the argument that may be
        replaced.
        """
        if value and (value == confirmed or not exists(value)):
            run(value)
            return

        def submit(answer: str | None) -> None:
            if answer is not None and answer.strip():
                self.run_with_argument(prompt, run, exists, answer.strip(), value)

        self.app.push_screen(AskScreen("exists; Enter replaces it:" if value else f"{prompt}:", value), submit)

    def unavailable_command(self, kind: str, label: str, reason: str) -> PaletteCommand:
        """Return a command that only shows why it is not available."""
        return PaletteCommand(kind, label, partial(self.show_message, f"{label}: {reason}"), reason)


def action_commands(context: PaletteContext, *, are_shared: bool) -> Iterator[PaletteCommand]:
    """Return commands for the active actions.

    `are_shared`: only actions that many screens share, else only the rest.
    """
    for action in context.actions:
        if action.is_shared == are_shared:
            yield PaletteCommand("action", action.label, action.run, key=action.key)


def filter_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Return commands that apply, save and delete filters."""
    history = context.session.filter_history
    names = {name: sanitize(SAVED_FILTER_PREFIX + name) for name in history.saved_filters}
    for name, where in history.saved_filters.items():
        if reason := history.find_problem(where):
            yield context.unavailable_command("filter", names[name], sanitize(reason))
        else:
            apply = partial(context.change_queue, "where", where)
            yield PaletteCommand("filter", names[name], apply, sanitize(where))
    if where := context.state.combined_filter():
        save = partial(context.save_filter, where)
        run = partial(context.run_with_argument, "save filter NAME", save, context.is_filter_saved)
        yield PaletteCommand("filter", "save filter", run, sanitize(where), argument="NAME")
    for name, shown_name in names.items():
        yield PaletteCommand("filter", f"forget {shown_name}", partial(context.delete_filter, name))


def order_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    for name, description in available_orders(context.state.blind, context.state.file).items():
        run = partial(context.change_queue, "order", name)
        yield PaletteCommand("order", f"order {sanitize(name)}", run, description)


def queue_file_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    for name, has_share in context.queue_files.items():
        if name == context.state.file:
            continue
        label, run = f"queue {sanitize(name)}", partial(context.change_queue, "file", name)
        if has_share:
            yield PaletteCommand("queue", label, run, "your share of the queue file")
        else:
            yield context.unavailable_command("queue", label, "it has no share for you")


def export_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Return a command for the report and a command for each export format."""
    commands = [
        PaletteCommand("export", label := f"export {each.name}", partial(
            context.run_with_argument, f"{label} FILE", partial(context.export, each.name), path_exists
        ), each.help, argument="FILE")
        for each in FORMATS
    ]  # fmt: skip
    if context.session.report_services is not None:
        commands.insert(0, PaletteCommand("report", "report", context.show_report, "figures of the runs shown"))
    for command in commands:
        if context.state.blind:
            reason = "hidden in blind mode, because it contains other annotators' verdicts"
            yield context.unavailable_command(command.kind, command.label, reason)
        else:
            yield command


def run_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Return a command for each run. The commands show no rates, so that they are the same for a blind annotator."""
    runs = context.runs
    if len(runs) < 2:
        return
    run_counts = Counter(run.info.model for run in runs)
    show_all = partial(context.change_queue, "runs", ALL_RUNS)
    yield PaletteCommand("run", "all runs", show_all, format_count(len(runs), "run"))
    for run in runs:
        folder = sanitize(folder_label(run)) if run_counts[run.info.model] > 1 else ""
        details = ", ".join(filter(None, (run_title(run), folder, format_count(run.n_items, "item"))))
        yield PaletteCommand("run", sanitize(run.info.model), partial(context.change_queue, "runs", run.run), details)


def theme_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    if is_colour_enabled(os.environ):
        for name in list_theme_names():
            help_text = "current theme" if name == context.app.theme else ""
            yield PaletteCommand("theme", f"theme {name}", partial(setattr, context.app, "theme", name), help_text)


ACTION_SOURCES = (partial(action_commands, are_shared=False), partial(action_commands, are_shared=True))
SOURCES = (
    ACTION_SOURCES[0], filter_commands, order_commands, queue_file_commands, export_commands, run_commands,
    theme_commands, ACTION_SOURCES[1],
)  # fmt: skip
"""Functions that return the commands of one kind, in the order in which the palette lists the kinds."""


class PaletteProvider(Provider):
    """Provider of all commands of a context, for Textual's command palette."""

    def __init__(self, context: PaletteContext, screen: Screen[object], match_style: Style | None = None) -> None:
        super().__init__(screen, match_style)
        self._context = context
        self._sources = SOURCES if context.has_queue else (*ACTION_SOURCES, theme_commands)
        self._style = self.match_style or Style()

    async def discover(self) -> Hits:
        """Yield the commands that are listed before the user types a query."""
        for source in self._sources:
            for command in islice(source(self._context), MAX_HITS):
                yield command.to_hit(0, FuzzyMatch(0), self._style)

    async def search(self, query: str) -> Hits:
        """Yield the matching commands, then the items of the last call of `PaletteContext.find_items`."""
        hits: list[Hit] = []
        for source in self._sources:
            for command in source(self._context):
                if argument := command.typed_argument(query):
                    hits.append(command.to_hit(EXACT_SCORE, FuzzyMatch(0), self._style, argument))
                elif match := match_words(command.label, query, command.help):
                    hits.append(command.to_hit(match.score, match, self._style))
        for hit in sorted(hits, key=lambda hit: -hit.score)[:MAX_HITS]:
            yield hit
        for item in self._context.items:
            runs = f", in {format_count(item.n_runs, 'run')}" if item.n_runs > 1 else ""
            run = partial(self._context.open_item, item.item)
            command = PaletteCommand("item", sanitize(item.id), run, sanitize(item.category) + runs)
            is_exact = item.id.lower() == query.lower()
            match = match_words(command.label, query) or FuzzyMatch(0)
            yield command.to_hit(EXACT_SCORE if is_exact else 0, match, self._style)

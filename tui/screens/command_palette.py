"""The command palette (`:`): Textual's own, with a provider for each kind of command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.command import (
    Command,
    CommandInput,
    CommandList,
    CommandPalette,
    Hit,
    Hits,
    Provider,
    SearchIcon,
)
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.strip import Strip
from textual.style import Style
from textual.widgets import Input, LoadingIndicator, OptionList
from textual.worker import Worker

from fcreview.exporters.base import FORMATS
from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of
from fcreview.store.filters.saved import SIGN
from fcreview.store.queries.run_lists import folder_of
from fcreview.tui.actions import PALETTE
from fcreview.tui.key_bindings import bindings
from fcreview.tui.queue.header import run_title
from fcreview.tui.queue.state import ALL_RUNS, orders
from fcreview.tui.screens.palette_target import MIN_QUERY, PaletteTarget
from fcreview.tui.text.fuzzy import FuzzyMatch, match_words
from fcreview.tui.text.lines import cut
from fcreview.tui.text.theme import style, symbols
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import KeyLine
from fcreview.tui.widgets.safe_input import SafeInput

if TYPE_CHECKING:
    from textual.command import ProviderSource
    from textual.types import IgnoreReturnCallbackType

MAX_HITS = 300
"""Hits of one provider."""
KIND_CELLS = 8
MAX_CELLS = 200
"""Cells of a name or help text that are drawn."""
EXACT_ITEM = 10_000
"""Score of an item whose whole id was typed. All other items come last."""
HIDDEN = "hidden in blind mode, it tells what others found"


@dataclass(frozen=True, slots=True)
class PaletteCommand:
    kind: str
    label: str
    """Sanitised, like `help` and `key`: what the query is matched with."""
    run: Callable[..., object]
    """Called without arguments, or with what was typed behind the label if the command takes an argument."""
    help: str = ""
    key: str = ""
    argument: str = ""
    """`FILE` or `NAME` if the command takes an argument."""

    def argument_in(self, query: str) -> str:
        """What was typed behind the label."""
        head = f"{self.label} ".lower()
        return query[len(head) :].strip() if self.argument and query.lower().startswith(head) else ""

    def display(self, match: FuzzyMatch, match_style: Style, argument: str = "") -> Content:
        """One line: kind, key, label and help. Never parsed as markup."""
        start = f" {self.kind:7}{self.key:>6}  "
        label = cut(self.label, MAX_CELLS)
        behind = visible(argument) or self.argument
        text = start + label + (f" {behind}" if behind else "")
        content = Content(f"{text}  {cut(self.help, MAX_CELLS)}").stylize("dim", 0, KIND_CELLS)
        content = content.stylize("bold", KIND_CELLS, len(start)).stylize("dim", len(text))
        for at in match.positions:
            content = content.stylize(match_style, len(start) + at, min(len(start) + at + 1, len(start + label)))
        return content


class PaletteProvider(Provider):
    """Base class: lists the commands of one kind and matches them with the query."""

    RANK: ClassVar[int]
    """Place among the providers before anything is typed. Textual itself orders them at random."""

    def __init__(self, target: PaletteTarget, screen: Screen[object], match_style: Style | None = None) -> None:
        super().__init__(screen, match_style)
        self.target = target

    def commands(self) -> Iterable[PaletteCommand]:
        raise NotImplementedError

    async def discover(self) -> Hits:
        for at, command in enumerate(islice(self.commands(), MAX_HITS)):
            yield self._hit(command, -float(self.RANK * MAX_HITS + at), FuzzyMatch(0))

    async def search(self, query: str) -> Hits:
        found: list[Hit] = []
        for command in self.commands():
            if argument := command.argument_in(query):
                found.append(self._hit(command, EXACT_ITEM, FuzzyMatch(0), argument))
            elif match := match_words(command.label, query, command.help):
                found.append(self._hit(command, match.score, match))
        for hit in sorted(found, key=lambda hit: -hit.score)[:MAX_HITS]:
            yield hit

    def _hit(self, command: PaletteCommand, score: float, match: FuzzyMatch, argument: str = "") -> Hit:
        display = command.display(match, self.match_style or Style(), argument)
        run = partial(command.run, argument) if command.argument else command.run
        return Hit(score, display, cast("IgnoreReturnCallbackType", run), text=command.label)

    def disabled(self, kind: str, label: str, reason: str) -> PaletteCommand:
        """A command that only says why it is not available."""
        return PaletteCommand(kind, label, partial(self.target.say, f"{label}: {reason}"), reason)


class ActionProvider(PaletteProvider):
    """The actions available on the screen, with their keys."""

    RANK = 0
    SHARED = False

    def commands(self) -> Iterable[PaletteCommand]:
        for action in self.target.actions:
            if action.shared == self.SHARED:
                yield PaletteCommand("action", action.says, action.do, key=action.key)


class SharedActionProvider(ActionProvider):
    """Actions that many screens have, such as moving in a list."""

    RANK = 6
    SHARED = True


class FilterProvider(PaletteProvider):
    """Saved filters."""

    RANK = 1

    def commands(self) -> Iterable[PaletteCommand]:
        target, saved = self.target, self.target.session.typed
        for name, where in saved.every.items():
            if reason := saved.problem(where):
                yield self.disabled("filter", visible(SIGN + name), visible(reason))
            else:
                apply = partial(target.change_queue, "where", where)
                yield PaletteCommand("filter", visible(SIGN + name), apply, visible(where))
        if where := target.state.combined():
            save = partial(target.with_filter_name, "save filter", lambda name: target.save_filter(name, where))
            yield PaletteCommand("filter", "save filter", save, visible(where), argument="NAME")
        for name in saved.every:
            forget = partial(target.forget_filter, name)
            yield PaletteCommand("filter", visible(f"forget {SIGN}{name}"), forget)


class OrderProvider(PaletteProvider):
    """Orders of the queue."""

    RANK = 2

    def commands(self) -> Iterable[PaletteCommand]:
        for name, help_text in orders(self.target.state.blind, self.target.state.file).items():
            run = partial(self.target.change_queue, "order", name)
            yield PaletteCommand("order", f"order {visible(name)}", run, help_text)


class QueueProvider(PaletteProvider):
    """The workspace's queue files."""

    RANK = 3

    def commands(self) -> Iterable[PaletteCommand]:
        for name, has_share in self.target.queue_files.items():
            if name == self.target.state.file:
                continue
            label, run = f"queue {visible(name)}", partial(self.target.change_queue, "file", name)
            if has_share:
                yield PaletteCommand("queue", label, run, "your share of the queue file")
            else:
                yield self.disabled("queue", label, "it has no share for you")


class ExportProvider(PaletteProvider):
    """The report and the export formats."""

    RANK = 4

    def commands(self) -> Iterable[PaletteCommand]:
        target = self.target
        names = (["report"] if target.session.services else []) + [f"export {each.name}" for each in FORMATS]
        if target.state.blind:
            yield from (self.disabled(name.partition(" ")[0], name, HIDDEN) for name in names)
            return
        if target.session.services:
            yield PaletteCommand("report", "report", target.show_report, "figures of the runs shown")
        for each in FORMATS:
            label = f"export {each.name}"
            export = partial(target.with_file, label, partial(target.export, each.name))
            yield PaletteCommand("export", label, export, each.help, argument="FILE")


class RunProvider(PaletteProvider):
    """The runs, without their rates: a blind annotator sees the same."""

    RANK = 5

    def commands(self) -> Iterable[PaletteCommand]:
        runs = self.target.runs
        if len(runs) < 2:
            return
        models = Counter(run.info.model for run in runs)
        show_all = partial(self.target.change_queue, "runs", ALL_RUNS)
        yield PaletteCommand("run", "all runs", show_all, count_of(len(runs), "run"))
        for run in runs:
            folder = visible(folder_of(run)) if models[run.info.model] > 1 else ""
            help_text = ", ".join(filter(None, (run_title(run), folder, count_of(run.n_items, "item"))))
            show = partial(self.target.change_queue, "runs", run.run)
            yield PaletteCommand("run", visible(run.info.model), show, help_text)


class ItemProvider(PaletteProvider):
    """Items whose id contains the query. The palette searches them in the store while the other hits are shown."""

    RANK = 7

    def commands(self) -> Iterable[PaletteCommand]:
        return ()

    async def search(self, query: str) -> Hits:
        for item in self.target.items:
            runs = f", in {count_of(item.runs, 'run')}" if item.runs > 1 else ""
            run = partial(self.target.open_item, item.item)
            command = PaletteCommand("item", visible(item.id), run, visible(item.category) + runs)
            match = match_words(command.label, query) or FuzzyMatch(0)
            yield self._hit(command, EXACT_ITEM if item.id.lower() == query.lower() else 0, match)


QUEUE_PROVIDERS = (FilterProvider, OrderProvider, QueueProvider, ExportProvider, RunProvider, ItemProvider)


class PaletteInput(CommandInput, SafeInput):
    BINDINGS: ClassVar[list[BindingType]] = bindings(PALETTE)


class PaletteList(CommandList):
    """Options of one line, with the same cursor as other lists. Textual cannot draw one without colours."""

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        if y + self.scroll_offset.y != self.highlighted:
            return strip
        return Strip.join([Strip([Segment(symbols().cursor)]), strip.crop(1)]).apply_style(style("cursor"))


class CommandPaletteScreen(CommandPalette, inherit_bindings=False):
    """Textual's command palette over the lower part of the screen. Keys that choose wait until the list shows the
    matches of what was typed, so that Enter never runs a command of an earlier query."""

    CSS = """
    CommandPaletteScreen { background: transparent; align: left bottom; }
    CommandPaletteScreen #--container {
        display: block; visibility: visible; margin: 0; height: 15; max-height: 75vh; width: 1fr;
        background: ansi_default; border-top: solid ansi_default; border-title-style: bold;
    }
    CommandPaletteScreen #--input, CommandPaletteScreen #--input.--list-visible { height: 1; border: none; }
    CommandPaletteScreen SearchIcon { margin: 0; width: 3; color: ansi_default; text-style: bold; }
    CommandPaletteScreen CommandInput, CommandPaletteScreen CommandInput:focus {
        height: 1; width: 1fr; border: none; padding: 0; background: ansi_default;
    }
    CommandPaletteScreen #--results { overlay: none; height: 1fr; }
    CommandPaletteScreen CommandList {
        visibility: visible; height: 100%; max-height: 100%; border: none; background: ansi_default;
        text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 0;
    }
    CommandPaletteScreen CommandList > .option-list--option { padding: 0; color: ansi_default; text-style: none; }
    CommandPaletteScreen CommandList > .option-list--option-highlighted {
        color: ansi_default; background: ansi_default; text-style: none;
    }
    CommandPaletteScreen LoadingIndicator { display: none; }
    """

    def __init__(self, target: PaletteTarget) -> None:
        kinds = (ActionProvider, *(QUEUE_PROVIDERS if target.has_queue else ()), SharedActionProvider)
        providers = [lambda kind=kind: partial(kind, target) for kind in kinds]
        super().__init__(cast("ProviderSource", providers))
        self._target = target
        self._query: str | None = None
        """The query that the providers were last asked."""
        self._waiting_keys: list[tuple[Callable[[], None], bool]] = []
        self._has_moved = False

    def compose(self) -> ComposeResult:
        """As in Textual, with an input that draws no control characters and does not blink."""
        with Vertical(id="--container") as container:
            container.border_title = "palette"
            with Horizontal(id="--input"):
                icon = SearchIcon()
                icon.icon = " : "
                yield icon
                box = PaletteInput(placeholder="search actions, filters, runs, item ids", select_on_focus=False)
                box.cursor_blink = False
                yield box
            with Vertical(id="--results"):
                yield PaletteList(markup=False)
                yield LoadingIndicator()
            yield KeyLine(always=1)

    def on_mount(self) -> None:
        self._query = ""
        self.query_one(LoadingIndicator).auto_refresh = None
        self._load()

    @property
    def _box(self) -> PaletteInput:
        return self.query_one(PaletteInput)

    @property
    def _list(self) -> CommandList:
        return self.query_one(CommandList)

    @work()
    async def _load(self) -> None:
        if self._target.has_queue:
            await self._target.load()
            self._gather_commands(self._box.value.strip())

    @work(exclusive=True, group="items")
    async def _find_items(self, query: str) -> None:
        if self._target.has_queue and len(query) >= MIN_QUERY:
            self._target.items = await self._target.find_items(query)
            if self._target.items:
                self._gather_commands(query)

    def on_key(self, event: events.Key) -> None:
        """Insert characters that were typed before the input had the focus."""
        if event.is_printable and event.character is not None:
            event.stop()
            self._box.insert_text_at_cursor(event.character)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Runs before Textual's own handler, which asks the providers."""
        self._query = event.value.strip()
        self._has_moved = False
        self._waiting_keys.clear()
        self._target.items = ()
        self._find_items(self._query)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.prevent_default()
        event.stop()
        self._press(self._list.action_select, selects=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close, then run the command. Textual's own handler also stops drawing for a moment."""
        event.prevent_default()
        event.stop()
        if isinstance(event.option, Command):
            self.dismiss()
            self.app.call_later(event.option.hit.command)

    def _is_ready(self, selects: bool) -> bool:
        """Whether the list shows the matches of the text in the input. A key that selects also needs the answers of the
        store, unless the cursor was moved: an item whose whole id was typed comes first."""
        running = {worker.group for worker in self.workers if worker.node is self and not worker.is_finished}
        is_listed = self._query == self._box.value.strip() and self._GATHER_COMMANDS_GROUP not in running
        return is_listed and (not running or not selects or self._has_moved)

    def _press(self, key: Callable[[], None], *, selects: bool = False) -> None:
        """Do what a key stands for, behind the keys pressed before."""
        self._waiting_keys.append((key, selects))
        self._run_keys()

    def _run_keys(self) -> None:
        while self._waiting_keys and self._is_ready(self._waiting_keys[0][1]):
            self._waiting_keys.pop(0)[0]()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        event.stop()
        self._run_keys()

    def _refresh_command_list(self, command_list: CommandList, commands: list[Command], clear_current: bool) -> None:
        """Keep the cursor on its command when more hits arrive. Before anything is typed no command is selected. Hits
        that match letter by letter only are left out if there are better ones."""
        option = command_list.highlighted_option if self._has_moved else None
        before = option.prompt if option is not None else None
        best = [each for each in commands if not 0 < each.hit.score < 1]
        has_better = any(each.hit.score >= 1 for each in best)
        super()._refresh_command_list(command_list, best if has_better else commands, clear_current)
        prompts = [each.prompt for each in command_list.options]
        if before in prompts:
            command_list.highlighted = prompts.index(before)
        elif not self._query:
            command_list.highlighted = None

    def action_move(self, by: int) -> None:
        self._press(partial(self._move, self._list.action_cursor_down if by > 0 else self._list.action_cursor_up))

    def action_page(self, by: int) -> None:
        self._press(partial(self._move, self._list.action_page_down if by > 0 else self._list.action_page_up))

    def _move(self, move: Callable[[], None]) -> None:
        self._has_moved = True
        move()

    def action_complete(self) -> None:
        self._press(self._complete, selects=True)

    def _complete(self) -> None:
        option = self._list.highlighted_option
        if isinstance(option, Command):
            self._box.value = f"{option.hit.text} "
            self._box.action_end()

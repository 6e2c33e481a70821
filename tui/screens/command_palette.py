"""Show the command palette (`:`), which is Textual's command palette with the commands of `palette_commands`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.command import Command, CommandInput, CommandList, CommandPalette, SearchIcon
from textual.containers import Horizontal, Vertical
from textual.strip import Strip
from textual.widgets import Input, LoadingIndicator, OptionList
from textual.worker import Worker

from fcreview.tui.actions import COMMAND_PALETTE_ACTIONS
from fcreview.tui.key_bindings import make_bindings
from fcreview.tui.screens.palette_commands import MIN_QUERY, PaletteProvider
from fcreview.tui.screens.palette_context import PaletteContext
from fcreview.tui.text.theme import style, symbols
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import KeyLine
from fcreview.tui.widgets.safe_input import SafeInput
from fcreview.tui.widgets.screens import GuardedScreen

if TYPE_CHECKING:
    from textual.command import ProviderSource


class PaletteInput(CommandInput, SafeInput):
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COMMAND_PALETTE_ACTIONS)


class PaletteList(CommandList):
    """List of one-line commands that marks the cursor like other lists. The cursor of Textual's list needs colours."""

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        if y + self.scroll_offset.y != self.highlighted:
            return strip
        return Strip.join([Strip([Segment(symbols().cursor)]), strip.crop(1)]).apply_style(style("cursor"))


class CommandPaletteScreen(CommandPalette, GuardedScreen[None], inherit_bindings=False):
    """Command palette over the lower part of the screen.

    A key that chooses a command waits until the list shows the matches of the typed text, so that Enter never runs a
    command that matched an earlier query.
    """

    takes_text = True
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COMMAND_PALETTE_ACTIONS)  # used until the input has focus
    CSS = """
    CommandPaletteScreen { background: transparent; align: left bottom; }
    CommandPaletteScreen #--container {
        display: block; visibility: visible; margin: 0; height: 15; max-height: 75vh; width: 1fr;
        background: $background; border-top: solid $border; border-title-style: bold; border-title-color: $primary;
    }
    CommandPaletteScreen #--input, CommandPaletteScreen #--input.--list-visible { height: 1; border: none; }
    CommandPaletteScreen SearchIcon { margin: 0; width: 3; color: $foreground; text-style: bold; }
    CommandPaletteScreen CommandInput, CommandPaletteScreen CommandInput:focus {
        height: 1; width: 1fr; border: none; padding: 0; background: $background;
    }
    CommandPaletteScreen #--results { overlay: none; height: 1fr; }
    CommandPaletteScreen CommandList {
        visibility: visible; height: 100%; max-height: 100%; border: none; background: $background;
        text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 0;
    }
    CommandPaletteScreen CommandList > .option-list--option { padding: 0; color: $foreground; text-style: none; }
    CommandPaletteScreen CommandList > .option-list--option-highlighted {
        color: $foreground; background: $background; text-style: none;
    }
    CommandPaletteScreen LoadingIndicator { display: none; }
    """

    def __init__(self, context: PaletteContext) -> None:
        super().__init__(cast("ProviderSource", [lambda: partial(PaletteProvider, context)]))
        self._target = context
        self._query: str | None = None
        """Query of the last search, or None before the first search."""
        self._waiting_keys: list[tuple[Callable[[], None], bool]] = []
        """(method, needs_items) of each waiting key. `needs_items`: whether the method needs the items that match the
        query."""
        self._has_moved = False
        """Whether the cursor was moved since the query changed."""

    def compose(self) -> ComposeResult:
        """Compose the palette as Textual does, but with a sanitized input whose cursor does not blink."""
        with Vertical(id="--container") as container:
            container.border_title = "palette"
            with Horizontal(id="--input"):
                icon = SearchIcon()
                icon.icon = " : "
                yield icon
                query_input = PaletteInput(placeholder="search actions, filters, runs, item ids", select_on_focus=False)
                query_input.cursor_blink = False
                yield query_input
            with Vertical(id="--results"):
                yield PaletteList(markup=False)
                yield LoadingIndicator()
            yield KeyLine(keep_last=1)

    def on_mount(self) -> None:
        self._query = ""
        self.query_one(LoadingIndicator).auto_refresh = None
        self._load_context()

    @property
    def _input_box(self) -> PaletteInput:
        return self.query_one(PaletteInput)

    @property
    def _list(self) -> CommandList:
        return self.query_one(CommandList)

    @work()
    async def _load_context(self) -> None:
        if self._target.has_queue:
            await self._target.load()
            self._gather_commands(self._input_box.value.strip())

    @work(exclusive=True, group="items")
    async def _find_items(self, query: str) -> None:
        if self._target.has_queue and len(query) >= MIN_QUERY:
            await self._target.find_items(query)
            if self._target.items:
                self._gather_commands(query)

    def on_key(self, event: events.Key) -> None:
        """Insert characters that were typed before the input had the focus."""
        if event.is_printable and event.character is not None:
            event.stop()
            self._input_box.insert_text_at_cursor(event.character)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Prepare a search. The handler of Textual's palette runs after this handler and starts the search."""
        self._query = event.value.strip()
        self._has_moved = False
        self._waiting_keys.clear()
        self._target.items = ()
        self._find_items(self._query)

    async def action_submit(self) -> None:
        await self._input_box.action_submit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.prevent_default()
        event.stop()
        self._run_when_ready(self._list.action_select, needs_items=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close, then run the command. Textual's own handler also stops drawing for a moment."""
        event.prevent_default()
        event.stop()
        if isinstance(event.option, Command) and self.is_on_stack:
            self.dismiss()
            self.app.call_later(event.option.hit.command)

    def _is_ready(self, needs_items: bool) -> bool:
        """Whether the list shows the matches of the typed text.

        If `needs_items` is true, the matching items must be listed too, unless the user moved the cursor. An item whose
        whole id was typed comes first in the list.
        """
        running = {worker.group for worker in self.workers if worker.node is self and not worker.is_finished}
        is_listed = self._query == self._input_box.value.strip() and self._GATHER_COMMANDS_GROUP not in running
        return is_listed and (not running or not needs_items or self._has_moved)

    def _run_when_ready(self, method: Callable[[], None], *, needs_items: bool = False) -> None:
        """Run the method of a key after the methods of the keys pressed earlier."""
        self._waiting_keys.append((method, needs_items))
        self._run_keys()

    def _run_keys(self) -> None:
        while self._waiting_keys and self._is_ready(self._waiting_keys[0][1]):
            self._waiting_keys.pop(0)[0]()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        event.stop()
        self._run_keys()

    def _refresh_command_list(self, command_list: CommandList, commands: list[Command], clear_current: bool) -> None:
        """Update the list. The cursor stays on its command when more hits arrive.

        No command is selected before text is typed. Hits that only match letter by letter are omitted if there are
        better hits.
        """
        option = command_list.highlighted_option if self._has_moved else None
        selected_prompt = option.prompt if option is not None else None
        best = [each for each in commands if not 0 < each.hit.score < 1]
        has_better = any(each.hit.score >= 1 for each in best)
        super()._refresh_command_list(command_list, best if has_better else commands, clear_current)
        prompts = [each.prompt for each in command_list.options]
        if selected_prompt in prompts:
            command_list.highlighted = prompts.index(selected_prompt)
        elif not self._query:
            command_list.highlighted = None

    def action_move(self, by: int) -> None:
        self._move(self._list.action_cursor_down if by > 0 else self._list.action_cursor_up)

    def action_page(self, by: int) -> None:
        self._move(self._list.action_page_down if by > 0 else self._list.action_page_up)

    def _move(self, move_cursor: Callable[[], None]) -> None:
        def move() -> None:
            self._has_moved = True
            move_cursor()

        self._run_when_ready(move)

    def action_complete(self) -> None:
        self._run_when_ready(self._complete, needs_items=True)

    def _complete(self) -> None:
        """Replace the query by the label of the command under the cursor."""
        option = self._list.highlighted_option
        if isinstance(option, Command):
            self._input_box.value = f"{option.hit.text} "
            self._input_box.action_end()

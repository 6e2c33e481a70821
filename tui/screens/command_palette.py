"""Show the command palette (`:`), which is Textual's command palette with fcreview's commands
and its own search.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
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
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.store.filters.saved import SAVED_FILTER_PREFIX, find_filter_problem
from fcreview.tui.actions import ACTIONS, COMMAND_PALETTE_ACTIONS
from fcreview.tui.commands import FORMS
from fcreview.tui.keymap import make_bindings
from fcreview.tui.queue.header import format_run_title
from fcreview.tui.queue_state import ALL_RUNS, list_available_orders
from fcreview.tui.screens.annotators import switch_annotator
from fcreview.tui.screens.palette_context import PaletteContext, open_estimates
from fcreview.tui.text.lines import truncate
from fcreview.tui.text.run_names import format_run_name, format_run_names
from fcreview.tui.text.styles import get_style, is_colour_enabled, symbols
from fcreview.tui.themes import list_theme_names
from fcreview.tui.widgets.base import GuardedScreen, SafeInput, work
from fcreview.tui.widgets.document_view import KeyLine

if TYPE_CHECKING:
    from textual.command import ProviderSource
    from textual.types import IgnoreReturnCallbackType

    from fcreview.store.rows import ItemMatch, RunRow

MIN_QUERY = 2
"""Smallest number of typed characters for which items are searched."""
MAX_COMPARED_RUNS = 20
"""Largest number of runs for which each pair is listed as a comparison."""
MAX_HITS = 300
"""Largest number of listed commands: of each kind while the input is empty, of all kinds
together otherwise.
"""
MAX_CELLS = 200
"""Largest displayed width of a label or a help text, in cells."""
KIND_CELLS = 8
"""Width, in cells, of the kind, with the blank before it."""
KEY_CELLS = 6
"""Width of the column with the kind of a command, in cells."""
EXACT_SCORE = 10_000
"""Score of a command with a typed argument, and of an item whose whole id was typed."""


@dataclass(frozen=True, slots=True)
class PaletteCommand:
    """Command of the command palette. `label`, `help` and `key` are sanitized."""

    kind: str
    label: str
    """Text that is matched with the query."""
    run: Callable[..., object]
    """Function that runs the command. It is called with the typed argument if the command takes an
    argument, else without arguments.
    """
    help: str = ""
    key: str = ""
    argument: str = ""
    """Placeholder of the argument, such as `FILE`. Empty if the command takes no argument."""

    def extract_argument(self, query: str) -> str:
        """Return the text after the label in the query. Empty if the command takes no argument."""
        if not self.argument:
            return ""
        label_and_blank = f"{self.label} "
        if not query.lower().startswith(label_and_blank.lower()):
            return ""
        return query[len(label_and_blank) :].strip()

    def to_search_hit(
        self, score: float, match: FuzzyMatch, match_style: Style, argument: str = ""
    ) -> Hit:
        """Return the command as a line of the list: kind, key, label, argument and help.

        Markup is not parsed.
        """
        content = self._style_line(sanitize(argument) or self.argument)
        label_start = len(self._kind_and_key)
        for position in match.positions:
            # The match is of the whole label, of which the line may show only the beginning.
            if position < len(self._shown_label):
                start = label_start + position
                content = content.stylize(match_style, start, start + 1)

        run = partial(self.run, argument) if self.argument else self.run
        return Hit(score, content, cast("IgnoreReturnCallbackType", run), text=self.label)

    def _style_line(self, shown_argument: str) -> Content:
        """Return the line without a match: the kind and the help are dim, and the key is bold."""
        text = self._kind_and_key + self._shown_label
        if shown_argument:
            text += f" {shown_argument}"
        content = Content(f"{text}  {truncate(self.help, MAX_CELLS)}")

        dim = _find_dim_colour()
        content = content.stylize(dim, 0, KIND_CELLS)
        content = content.stylize("bold", KIND_CELLS, len(self._kind_and_key))
        return content.stylize(dim, len(text))

    @property
    def _kind_and_key(self) -> str:
        """Text before the label."""
        padded_kind = f" {self.kind}".ljust(KIND_CELLS)
        return f"{padded_kind}{self.key:>{KEY_CELLS}}  "

    @property
    def _shown_label(self) -> str:
        return truncate(self.label, MAX_CELLS)


def _find_dim_colour() -> str:
    """Return the colour of dim text. Textual's own `dim` is too faint in some themes."""
    colour = get_style("dim").color
    return colour.name if colour is not None else "dim"


def make_unavailable_command(
    context: PaletteContext, kind: str, label: str, reason: str
) -> PaletteCommand:
    """Return a command that only shows `reason`, because it is not available."""
    return PaletteCommand(
        kind, label, partial(context.show_message, f"{label}: {reason}"), help=reason
    )


def list_action_commands(context: PaletteContext, *, are_shared: bool) -> Iterator[PaletteCommand]:
    """Return the active actions of the screen as commands, each with its key.

    With `are_shared`, return only the actions that many screens have in common, such as help, else
    only the others.
    """
    for action in context.actions:
        if action.is_in_shared_group != are_shared:
            continue
        help_text = ""
        # The label of the others says enough.
        if are_shared:
            help_text = ACTIONS[action.id].help.removeprefix(f"{action.label}: ")
        yield PaletteCommand(
            "action", action.label, run=action.run_after_keys, help=help_text, key=action.key
        )


def list_filter_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Return commands that apply a saved filter, save the current filter, and delete a saved
    filter.
    """
    saved_filters = context.session.annotator_filters.saved_filters
    for name, where in saved_filters.items():
        yield _make_filter_command(context, name, where)
    current_filter = context.state.combine_filter_and_search()
    if current_filter:
        yield _make_save_filter_command(context, current_filter)
    for name in saved_filters:
        label = f"forget {_shown_filter_name(name)}"
        yield PaletteCommand("filter", label, run=partial(context.delete_filter, name))


def _shown_filter_name(name: str) -> str:
    return sanitize(SAVED_FILTER_PREFIX + name)


def _make_filter_command(context: PaletteContext, name: str, where: str) -> PaletteCommand:
    """Return the command that applies a saved filter, if the filter is still valid."""
    problem = find_filter_problem(where, blind=context.state.blind)
    if problem:
        return make_unavailable_command(
            context, "filter", _shown_filter_name(name), sanitize(problem)
        )
    apply = partial(context.apply_queue_choice, "where", where)
    return PaletteCommand("filter", _shown_filter_name(name), apply, help=sanitize(where))


def _make_save_filter_command(context: PaletteContext, where: str) -> PaletteCommand:
    save = partial(context.save_filter, where)
    ask_name = partial(context.run_with_argument, "save filter NAME", save, context.is_filter_saved)
    return PaletteCommand("filter", "save filter", ask_name, help=sanitize(where), argument="NAME")


def list_order_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    for name, description in list_available_orders(context.state.blind, context.state.file).items():
        run = partial(context.apply_queue_choice, "order", name)
        yield PaletteCommand("order", f"order {sanitize(name)}", run, help=description)


def list_queue_file_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Return a command for each queue file, which shows the items that it assigns to the
    annotator.
    """
    for name, has_assigned_items in context.queue_files.items():
        if name == context.state.file:
            continue
        label = f"queue {sanitize(name)}"
        if has_assigned_items:
            run = partial(context.apply_queue_choice, "file", name)
            help_text = "items of the queue file that are assigned to you"
            yield PaletteCommand("queue", label, run, help=help_text)
        else:
            yield make_unavailable_command(context, "queue", label, "no items are assigned to you")


def list_annotator_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Return commands that continue as another annotator of the workspace."""
    for each in context.annotators:
        run = partial(switch_annotator, context.app, context.session, each.name)
        yield PaletteCommand(
            "people",
            f"review as {sanitize(each.name)}",
            run,
            help=f"switch to this annotator; {each.facts}",
        )


def list_export_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Return a command for the report, and a command for each export format.

    In blind mode, they are listed, but not available.
    """
    commands = []
    if context.session.report_services is not None:
        help_text = "metrics of the runs on screen"
        commands.append(PaletteCommand("report", "report", context.show_report, help=help_text))
    for export_format in FORMATS:
        commands.append(_make_export_command(context, export_format.name, export_format.help))

    for command in commands:
        if context.state.blind:
            reason = "hidden in blind mode, because it contains other annotators' verdicts"
            yield make_unavailable_command(context, command.kind, command.label, reason)
        else:
            yield command


def _make_export_command(
    context: PaletteContext, format_name: str, help_text: str
) -> PaletteCommand:
    """Return the command that exports to a file, for which it asks."""
    label = f"export {format_name}"
    export_to_file = partial(context.export_items, format_name)
    run = partial(context.run_with_argument, f"{label} FILE", export_to_file, context.is_path_taken)
    return PaletteCommand("export", label, run, help=help_text, argument="FILE")


def list_form_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Return commands that open the form of a CLI command. In blind mode there are none, because
    forms show verdicts.
    """
    services = context.session.report_services
    if context.state.blind or services is None or services.commands is None:
        return
    for form in FORMS.values():
        if context.session.in_browser and not form.is_available_in_browser:
            continue
        yield PaletteCommand(
            "command", form.label, partial(context.open_form, form), help=form.help
        )


def list_run_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Return a command for each run, which shows its items, and one for all runs.

    The commands show no rates, so blind annotators may see them.
    """
    runs = context.runs
    if len(runs) < 2:
        return
    show_all = partial(context.apply_queue_choice, "runs", ALL_RUNS)
    yield PaletteCommand("run", "all runs", show_all, help=format_count(len(runs), "run"))
    for run in runs:
        details = f"{format_run_title(run)}, {format_count(run.n_items, 'item')}"
        yield PaletteCommand(
            "run",
            format_run_name(run),
            partial(context.apply_queue_choice, "runs", run.run),
            help=details,
        )


def list_queue_action_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Return commands that open the lists and screens of the queue, such as `clusters`, from
    elsewhere.
    """
    for action in context.queue_actions():
        _, _, label = action.id.partition(".")
        help_text = action.help.removeprefix(f"{label}: ")
        run = partial(context.run_queue_action, action)
        yield PaletteCommand("screen", label, run, help=help_text)
    if not context.state.blind:
        help_text = "accuracy of each run, its sample, and a form to draw more items"
        run = partial(open_estimates, context.app, context.session)
        yield PaletteCommand("screen", "estimates", run, help=help_text)


def list_comparison_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Return a command that compares two runs whose names the user enters.

    If there are few runs, a command for each pair of runs of the same benchmark follows.
    """
    runs = context.runs
    if context.state.blind or len(runs) < 2:
        return
    # A comparison replaces no file, so no name is taken.
    ask_runs = partial(
        context.run_with_argument, "compare A B", context.compare_named_runs, lambda _: False
    )
    help_text = "compare two runs, given by number or name"
    yield PaletteCommand("compare", "compare", ask_runs, help=help_text, argument="A B")

    names = format_run_names(runs)
    for run_a, run_b in combinations(runs[:MAX_COMPARED_RUNS], 2):
        if _benchmark_key(run_a) != _benchmark_key(run_b):
            continue
        label = f"compare {names[run_a.run]} {names[run_b.run]}"
        compare = partial(context.show_comparison, run_a, run_b)
        yield PaletteCommand("compare", label, compare, help=run_a.info.full_title)


def _benchmark_key(run: RunRow) -> tuple[str, str, str]:
    """Return what two runs must have in common, so that a comparison makes sense."""
    return run.info.benchmark, run.info.generation, run.info.language


def list_theme_commands(context: PaletteContext) -> Iterator[PaletteCommand]:
    """Yield a command for each theme, if the terminal shows colours."""
    if is_colour_enabled(os.environ):
        for name in list_theme_names():
            help_text = "current theme" if name == context.app.theme else ""
            yield PaletteCommand(
                "theme",
                f"theme {name}",
                partial(setattr, context.app, "theme", name),
                help=help_text,
            )


ACTION_SOURCES = (
    partial(list_action_commands, are_shared=False),
    partial(list_action_commands, are_shared=True),
)
COMMAND_SOURCES = (
    ACTION_SOURCES[0],
    list_queue_action_commands,
    list_filter_commands,
    list_order_commands,
    list_queue_file_commands,
    list_annotator_commands,
    list_export_commands,
    list_form_commands,
    list_run_commands,
    list_comparison_commands,
    list_theme_commands,
    ACTION_SOURCES[1],
)
"""Functions that return the commands of one kind, in the order in which the palette lists the
kinds.
"""


class PaletteProvider(Provider):
    """Provider of all commands of a context, for Textual's command palette."""

    def __init__(
        self, context: PaletteContext, screen: Screen[object], match_style: Style | None = None
    ) -> None:
        """Choose the sources of commands. Without a queue, there are fewer."""
        super().__init__(screen, match_style)
        self._context = context
        self._sources: Sequence[Callable[[PaletteContext], Iterator[PaletteCommand]]] = (
            COMMAND_SOURCES
        )
        if not context.has_queue:
            self._sources = (
                *ACTION_SOURCES,
                list_export_commands,
                list_form_commands,
                list_theme_commands,
            )
        self._style = self.match_style or Style()

    async def discover(self) -> Hits:
        """Yield the commands that are listed before the user types a query."""
        for source in self._sources:
            for command in islice(source(self._context), MAX_HITS):
                yield command.to_search_hit(0, FuzzyMatch(0), self._style)

    async def search(self, query: str) -> Hits:
        """Yield the matching commands, then the items of the last call of
        `PaletteContext.find_items`.
        """
        hits = self._find_commands(query)
        hits.sort(key=lambda hit: hit.score, reverse=True)
        for hit in hits[:MAX_HITS]:
            yield hit
        for item in self._context.items:
            yield self._make_item_hit(item, query)

    def _find_commands(self, query: str) -> list[Hit]:
        """Return the commands that match the typed text, with their scores.

        A command with an argument, such as `export csv FILE`, matches if the text contains the
        argument.
        """
        hits: list[Hit] = []
        for source in self._sources:
            for command in source(self._context):
                argument = command.extract_argument(query)
                if argument:
                    # The user has typed a complete command, so it comes first.
                    no_match = FuzzyMatch(0)
                    hit = command.to_search_hit(EXACT_SCORE, no_match, self._style, argument)
                    hits.append(hit)
                    continue
                match = match_query_words(command.label, query, command.help)
                if match is not None:
                    hits.append(command.to_search_hit(match.score, match, self._style))
        return hits

    def _make_item_hit(self, item: ItemMatch, query: str) -> Hit:
        """Return a hit for an item whose id matches the typed text. An exact match comes first."""
        help_text = sanitize(item.category)
        if item.n_runs > 1:
            help_text += f", in {format_count(item.n_runs, 'run')}"
        open_item = partial(self._context.open_item, item.item)
        command = PaletteCommand("item", sanitize(item.id), open_item, help=help_text)

        # The store has found the item by its id, so the match only says which letters to mark.
        match = match_query_words(command.label, query) or FuzzyMatch(0)
        is_exact = item.id.lower() == query.lower()
        return command.to_search_hit(EXACT_SCORE if is_exact else 0, match, self._style)


class PaletteInput(CommandInput, SafeInput):
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COMMAND_PALETTE_ACTIONS)


class PaletteList(CommandList):
    """List of one-line commands with the cursor sign of the other lists. Textual's own list marks
    the cursor only by colour.
    """

    def render_line(self, y: int) -> Strip:
        """Render a line of the list. The line under the cursor has a mark and another style."""
        strip = super().render_line(y)
        if y + self.scroll_offset.y != self.highlighted:
            return strip
        return Strip.join([Strip([Segment(symbols().cursor)]), strip.crop(1)]).apply_style(
            get_style("cursor")
        )


class CommandPaletteScreen(CommandPalette, GuardedScreen[None], inherit_bindings=False):
    """Command palette over the lower part of the screen.

    A key that chooses a command waits until the list shows the matches of the typed text, so that
    Enter never runs a command that matched an earlier query.
    """

    takes_text = True
    # used until the input has focus
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COMMAND_PALETTE_ACTIONS)
    CSS = """
    CommandPaletteScreen { background: transparent; align: left bottom; }
    CommandPaletteScreen #--container {
        display: block; visibility: visible; margin: 0; height: 15; max-height: 75vh; width: 1fr;
        background: $background; border-top: solid $border;
        border-title-style: bold; border-title-color: $primary;
    }
    CommandPaletteScreen #--input, CommandPaletteScreen #--input.--list-visible {
        height: 1; border: none;
    }
    CommandPaletteScreen SearchIcon { margin: 0; width: 3; color: $foreground; text-style: bold; }
    CommandPaletteScreen CommandInput, CommandPaletteScreen CommandInput:focus {
        height: 1; width: 1fr; border: none; padding: 0; background: $background;
    }
    CommandPaletteScreen #--results { overlay: none; height: 1fr; }
    CommandPaletteScreen CommandList {
        visibility: visible; height: 100%; max-height: 100%; border: none; background: $background;
        text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 0;
    }
    CommandPaletteScreen CommandList > .option-list--option {
        padding: 0; color: $foreground; text-style: none;
    }
    CommandPaletteScreen CommandList > .option-list--option-highlighted {
        color: $foreground; background: $background; text-style: none;
    }
    CommandPaletteScreen LoadingIndicator { display: none; }
    """

    def __init__(self, context: PaletteContext) -> None:
        """Prepare the palette. It lists the commands of `context`."""
        super().__init__(cast("ProviderSource", [lambda: partial(PaletteProvider, context)]))
        self._palette_context = context
        self._query: str | None = None
        """Query of the last search, or None before the first search."""
        self._waiting_keys: list[tuple[Callable[[], None], bool]] = []
        """(method, needs_items) of each waiting key.

        `needs_items`: whether matching items must be listed first.
        """
        self._has_moved = False
        """Whether the cursor was moved since the query changed."""

    def compose(self) -> ComposeResult:
        """Compose the palette as Textual does, but with a sanitized input whose cursor does not
        blink.
        """
        with Vertical(id="--container") as container:
            container.border_title = "palette"
            with Horizontal(id="--input"):
                icon = SearchIcon()
                icon.icon = " : "
                yield icon
                yield PaletteInput(
                    placeholder="search for actions, filters, runs or item ids",
                    select_on_focus=False,
                )
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
        if self._palette_context.has_queue:
            await self._palette_context.load_from_store()
            if self.is_on_stack:
                self._gather_commands(self._input_box.value.strip())

    @work(exclusive=True, group="items")
    async def _search_items(self, query: str) -> None:
        if self._palette_context.has_queue and len(query) >= MIN_QUERY:
            await self._palette_context.find_items(query)
            if self._palette_context.items and self.is_on_stack:
                self._gather_commands(query)

    @work(exclusive=True, group=CommandPalette._GATHER_COMMANDS_GROUP)
    async def _gather_commands(self, search_value: str) -> None:
        """Search for commands. The palette can be closed, and its list removed, before the search
        of Textual's palette begins.
        """
        search = CommandPalette._gather_commands.__wrapped__  # type: ignore[attr-defined]
        if self.query(CommandList):
            await search(self, search_value)

    def on_key(self, event: events.Key) -> None:
        """Insert characters that were typed before the input had the focus."""
        if event.is_printable and event.character is not None:
            event.stop()
            self._input_box.insert_text_at_cursor(event.character)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Prepare a search.

        The handler of Textual's palette runs after this handler and starts the search.
        """
        self._query = event.value.strip()
        self._has_moved = False
        self._waiting_keys.clear()
        self._palette_context.items = ()
        self._search_items(self._query)

    async def action_submit(self) -> None:
        await self._input_box.action_submit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.prevent_default()
        event.stop()
        self._run_when_ready(self._list.action_select, needs_items=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close the palette, then run the command.

        Textual's own handler would also pause drawing.
        """
        event.prevent_default()
        event.stop()
        if isinstance(event.option, Command) and self.is_on_stack:
            self.dismiss()
            self.app.call_later(event.option.hit.command)

    def _has_current_matches(self, needs_items: bool) -> bool:
        """Whether the list shows the commands that match the typed text.

        With `needs_items`, the items that match must be listed too, unless the user moved the
        cursor.
        """
        running_searches = set()
        for worker in self.workers:
            if worker.node is self and not worker.is_finished:
                running_searches.add(worker.group)

        is_query_current = self._query == self._input_box.value.strip()
        are_commands_listed = self._GATHER_COMMANDS_GROUP not in running_searches
        if not is_query_current or not are_commands_listed:
            return False

        # There are two searches, so another one that still runs is the one for items.
        are_items_listed = not running_searches
        must_list_items = needs_items and not self._has_moved
        return are_items_listed or not must_list_items

    def _run_when_ready(self, method: Callable[[], None], *, needs_items: bool = False) -> None:
        """Run the method of a key after the methods of earlier keys."""
        self._waiting_keys.append((method, needs_items))
        self._run_waiting_keys()

    def _run_waiting_keys(self) -> None:
        while self._waiting_keys and self._has_current_matches(self._waiting_keys[0][1]):
            self._waiting_keys.pop(0)[0]()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        event.stop()
        self._run_waiting_keys()

    def _refresh_command_list(
        self, command_list: CommandList, commands: list[Command], clear_current: bool
    ) -> None:
        """Update the list. The cursor stays on its command when more hits arrive.

        No command is selected before text is typed.
        """
        if not self.is_on_stack:
            # Textual's search for commands goes on after the palette has closed.
            return

        # Remember the command that the user moved to.
        option = command_list.highlighted_option if self._has_moved else None
        selected_prompt = option.prompt if option is not None else None
        super()._refresh_command_list(command_list, _omit_spread_hits(commands), clear_current)

        # Textual has selected the first command of the new list.
        prompts = [option.prompt for option in command_list.options]
        if selected_prompt in prompts:
            command_list.highlighted = prompts.index(selected_prompt)
        elif not self._query:
            command_list.highlighted = None

    def action_move(self, by: int) -> None:
        self._move_when_ready(
            self._list.action_cursor_down if by > 0 else self._list.action_cursor_up
        )

    def action_page(self, by: int) -> None:
        self._move_when_ready(self._list.action_page_down if by > 0 else self._list.action_page_up)

    def _move_when_ready(self, move_cursor: Callable[[], None]) -> None:
        def move() -> None:
            self._has_moved = True
            move_cursor()

        self._run_when_ready(move)

    def action_complete(self) -> None:
        self._run_when_ready(self._complete_query, needs_items=True)

    def _complete_query(self) -> None:
        """Replace the query by the label of the command under the cursor."""
        option = self._list.highlighted_option
        if isinstance(option, Command):
            self._input_box.value = f"{option.hit.text} "
            self._input_box.action_end()


def _omit_spread_hits(commands: list[Command]) -> list[Command]:
    """Omit hits that only match letter by letter, if there are better hits."""
    # A score of 1 or more is a match of whole words, and a lower one a match letter by letter.
    # Without a query, the score is 0.
    if all(command.hit.score < 1 for command in commands):
        return commands
    return [command for command in commands if not 0 < command.hit.score < 1]


EXACT, PREFIX, WORD_START, INSIDE, SPREAD, IN_HELP = 1000, 300, 100, 50, 20, 5
"""Score of each kind of match.

EXACT and PREFIX: the query is the whole text, or its beginning. WORD_START and INSIDE: a query word
is at the start of a word of the text, or inside a word. SPREAD: the letters of a query word are
spread over several words. IN_HELP: a query word is only in the help.
"""
MORE_THAN_ANY_SCORE = 10 * EXACT
MAX_MATCHED_CHARS = 300
"""Largest number of characters of a text that are searched.

The rest of a longer text is ignored.
"""


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """Match of a query with a text."""

    score: float
    """Above 1, or between 0 and 1 if the letters of a query word are spread over the text."""
    positions: frozenset[int] = frozenset()
    """Indexes of the matched characters in the text."""


def match_query_words(text: str, query: str, help_text: str = "") -> FuzzyMatch | None:
    """Match every word of the query, in any order and case.

    Return None if a word is neither in the text nor in the help. Textual's `FuzzySearch` tries
    every combination of letters, which takes minutes on a name such as `ababab...`. This search
    makes one pass for each word.
    """
    text = text[:MAX_MATCHED_CHARS]
    lower_text = text.lower()
    # Some letters have two lower-case letters, which would shift positions.
    if len(lower_text) != len(text):
        lower_text = text

    words = query.lower().split()
    matches: list[_WordMatch] = []
    positions: set[int] = set()
    for word in words:
        match = _match_word(lower_text, word, help_text)
        if match is None:
            return None
        matches.append(match)
        positions.update(match.positions)

    points = _points_for_whole_query(lower_text, words) - _deduct_for_length(text)
    return FuzzyMatch(_score_match(matches, points), frozenset(positions))


def _score_match(matches: Sequence[_WordMatch], points: int) -> float:
    """Return the score of a text. `points`: those that are not for a single word.

    A match of scattered letters is worse than any match of whole words, whose score is above 1.
    """
    points += sum(match.points for match in matches)
    score = 1.0 + max(points, 1)
    if any(match.is_spread for match in matches):
        return score / MORE_THAN_ANY_SCORE
    return score


def _deduct_for_length(text: str) -> int:
    """Return the points to deduct for the length of a text, at most 10. Of texts that match equally
    well, the shorter one is more likely to be meant.
    """
    return min(len(text), 40) // 4


@dataclass(frozen=True, slots=True)
class _WordMatch:
    """Match of one word of a query."""

    points: int
    positions: Sequence[int] = ()
    """Indexes of the matched characters in the text."""
    is_spread: bool = False
    """Whether the letters of the word are spread over several words of the text."""


def _match_word(text: str, word: str, help_text: str) -> _WordMatch | None:
    """Find a word in the lower-case text, in one of three ways.

    The best match is the word itself, then its letters in their order, then the word in the help.
    Each way gives fewer points than the one before. None if the word is not found.
    """
    positions = _find_word_positions(text, word)
    if positions:
        first = positions[0]
        points = WORD_START if _is_word_start(text, first) else INSIDE
        return _WordMatch(points - min(first, 30), positions)

    positions = _find_letter_positions(text, word)
    if positions:
        points = max(SPREAD - _count_skipped_letters(positions), 1)
        return _WordMatch(points, positions, is_spread=True)

    if len(word) > 1 and word in help_text.lower():
        return _WordMatch(IN_HELP)
    return None


def _points_for_whole_query(text: str, words: Sequence[str]) -> int:
    """Return points if the text is the query, or begins with it."""
    query = " ".join(words)
    if text == query:
        return EXACT
    if words and text.startswith(query):
        return PREFIX
    return 0


def _find_word_positions(text: str, word: str) -> Sequence[int]:
    """Return the positions of a word in a text. If it occurs several times, the start of a word is
    best.

    Empty without a match.
    """
    starts = [index for index in range(len(text)) if text.startswith(word, index)]
    if not starts:
        return range(0)
    starts_of_words = [index for index in starts if _is_word_start(text, index)]
    start = starts_of_words[0] if starts_of_words else starts[0]
    return range(start, start + len(word))


def _find_letter_positions(text: str, word: str) -> Sequence[int]:
    """Return the positions of the letters of `word` in this order, such as `gw` in `golden wrong`.

    The first letter must start a word of the text. Each other letter follows directly or, if
    possible, starts a word. Only the first place with all letters counts. The result is empty if
    there is none, or if its gaps are so long that it is a match by chance.
    """
    max_skipped_letters = MAX_SKIPPED_PER_LETTER * len(word) + MAX_SKIPPED_OF_SHORT_WORD
    for start in range(len(text)):
        if text[start] != word[0] or not _is_word_start(text, start):
            continue
        positions = _find_letters_from(text, word, start)
        if positions:
            has_short_gaps = _count_skipped_letters(positions) <= max_skipped_letters
            return positions if has_short_gaps else []
    return []


MAX_SKIPPED_PER_LETTER = 3
MAX_SKIPPED_OF_SHORT_WORD = 6
"""Letters that a match may skip in addition, so that two letters can stand for two long words."""


def _find_letters_from(text: str, word: str, start: int) -> list[int]:
    """Return the positions of the letters of `word`, the first at `start`. Empty if one is
    missing.

    A letter that does not follow the one before it is rather the beginning of a later word, such as
    `w` of `gw` in `go down wrong`.
    """
    positions = [start]
    for letter in word[1:]:
        next_index = positions[-1] + 1
        index = text.find(letter, next_index)
        if index < 0:
            return []
        is_adjacent = index == next_index
        if not is_adjacent:
            index = _find_word_with_letter(text, letter, index)
        positions.append(index)
    return positions


def _find_word_with_letter(text: str, letter: str, first_index: int) -> int:
    """Return the position of the first word that starts with the letter, else `first_index`."""
    for index in range(first_index, len(text)):
        if text[index] == letter and _is_word_start(text, index):
            return index
    return first_index


def _count_skipped_letters(positions: Sequence[int]) -> int:
    return positions[-1] - positions[0] + 1 - len(positions)


def _is_word_start(text: str, index: int) -> bool:
    return index == 0 or (text[index].isalnum() and not text[index - 1].isalnum())

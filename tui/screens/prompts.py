"""Ask the user to choose a row of a table, to enter a line of text, or to confirm.

A compact table covers only the lower part of the screen below it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.tui.actions import (
    CLEAR_SCOPE_ACTION,
    CONFIRM_ACTIONS,
    MODAL_HELP_ACTIONS,
    PICKER_ACTIONS,
    PROMPT_ACTIONS,
    PROMPT_HELP_ACTIONS,
)
from fcreview.tui.figure_scope import FigureScope, scope_chip
from fcreview.tui.keymap import (
    find_action_key_names,
    format_unavailable_key_message,
    list_key_hints,
    make_bindings,
)
from fcreview.tui.text.lines import (
    BLANK_LINE,
    ChoiceTable,
    Line,
    fit_line,
    justify_line,
    key_hints_line,
    line_width,
    make_line,
    progress_message,
    rule_line,
    sanitize_and_wrap,
)
from fcreview.tui.text.styles import symbols
from fcreview.tui.widgets.base import (
    BottomDialog,
    GuardedModalScreen,
    Panel,
    ProgressTimer,
    SafeInput,
    is_small_screen,
    work,
)
from fcreview.tui.widgets.document_view import KeyLine, LineBar, LineBlock, TopLine
from fcreview.tui.widgets.lists import TextList

T = TypeVar("T")
SEARCH_PROMPT = "/"


class PickerScreen(GuardedModalScreen[T | None]):
    """Screen with a table to choose a row from. The result is the value of the chosen row, or None
    after Esc.

    Until the choices are loaded, the screen is one line with a waiting message.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(PICKER_ACTIONS, MODAL_HELP_ACTIONS)
    CSS_PATH = "pick.tcss"
    WAITING_FOR = "reading"
    """Beginning of the message shown while choices are loaded."""

    def __init__(
        self,
        choices: ChoiceTable[T] | None = None,
        *,
        load: Callable[[], Awaitable[ChoiceTable[T] | None]] | None = None,
    ):
        """Create the screen with a table of choices, or with a function that loads the table."""
        # The style sheet knows these classes. A compact table has only as many rows as choices.
        css_class = None
        if choices is None:
            css_class = "waiting"
        elif choices.compact:
            css_class = "small"
        super().__init__(classes=css_class)

        self._choices = choices
        self._load_choices = load
        self.waiting = ProgressTimer(self, self._draw_waiting_time)
        self._message = ""
        """Message shown instead of the title until the cursor moves."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(id="pick-title")
            yield LineBar(id="pick-heading")
            yield TextList(id="pick-list")
            yield from self.compose_below_list()
            yield KeyLine()

    def compose_below_list(self) -> Iterable[Widget]:
        """Return widgets between the list and the key line."""
        return ()

    def on_mount(self) -> None:
        self.list.focus()
        self.watch(self.list, "cursor", lambda: self.show_message(""), init=False)
        if self._load_choices is not None:
            self._load_table()

    @property
    def list(self) -> TextList:
        return self.query_one("#pick-list", TextList)

    @property
    def table_width(self) -> int:
        """Width of the table, in cells."""
        return self.size.width

    @work()
    async def _load_table(self) -> None:
        """Load the choices, if the screen was opened without them. Keys typed meanwhile act on
        them.
        """
        if self._load_choices is not None:
            self.waiting.start()
            self._choices = await self._load_choices()
            self.waiting.stop()
            self._draw()
            self.handle_kept_keys()

    def must_wait(self, action: str) -> bool:
        """Whether an action must wait until the choices are loaded.

        The actions of the app and the one that changes the grouping do not wait.
        """
        is_loading = self._load_choices is not None and self._choices is None
        return is_loading and action != "next_grouping" and not action.startswith("app.")

    def _draw_waiting_time(self, seconds: float) -> None:
        """Draw what the screen waits for, and for how long, in place of the title."""
        message = make_line(progress_message(self.WAITING_FOR, seconds), "dim")
        cells = self.size.width
        if self._choices is None:
            line = rule_line(message, cells, symbols().rule)
        else:
            line = fit_line(((" ", ""), *message), cells)
        self.query_one("#pick-title", LineBar).show(line)

    def on_resize(self) -> None:
        self._draw()

    def show_message(self, message: str) -> None:
        """Show a message instead of the title. An empty message restores the title."""
        if message != self._message:
            self._message = message
            self._draw_title()

    def show_unavailable_key(self, key: str) -> None:
        self.show_message(format_unavailable_key_message(self.app, key))

    def _draw_title(self) -> None:
        """Draw the title with the number of choices, or a message in its place."""
        choices = self._choices
        if choices is None:
            self._draw_waiting_time(0)
            return

        title = self.query_one("#pick-title", LineBar)
        cells = self.size.width
        text = self._message_or_title(choices)
        # A compact list lies over a screen, so its title is a rule.
        if choices.compact:
            title.show(rule_line(text, cells, symbols().rule))
            return

        left: Line = ((" ", ""), *text)
        if self._message:
            title.show(fit_line(left, cells))
            return

        # Beside the title, at least two blanks away, stands a note.
        note_cells = max(cells - line_width(left) - 2, 0)
        note = fit_line(make_line(f"{choices.note} ", "dim"), note_cells)
        title.show(justify_line(left, note, cells))

    def _message_or_title(self, choices: ChoiceTable[Any]) -> Line:
        """Return the message or, without one, the title with the number of choices."""
        if self._message:
            return make_line(self._message, "warn")
        count = _format_choice_count(choices)
        return ((choices.title, "strong"), (f" {symbols().separator} {count}", ""))

    def _draw(self) -> None:
        """Draw the title and the table of choices."""
        choices = self._choices
        self._message = ""
        self._draw_title()
        if choices is None:
            return

        self.remove_class("waiting")
        if choices.compact:
            self.list.styles.height = len(choices.rows)
        heading, lines = choices.lines(self.table_width)
        self.query_one("#pick-heading", LineBar).show(heading)
        self.list.empty_line = ((" " + choices.empty_message, "dim"),)
        # When the table is drawn again, the cursor stays where it is.
        is_first_time = not self.list.total
        self.list.set_lines(lines, choices.cursor if is_first_time else None)

    def action_choose_row(self) -> None:
        if self._choices is not None and self._choices.values:
            self.dismiss(self._choices.values[self.list.cursor])

    def on_line_list_chosen(self) -> None:
        self.action_choose_row()


def _format_choice_count(choices: ChoiceTable[Any]) -> str:
    """Return how many choices there are, also those that are not in the table: `12 runs`."""
    n_choices = len(choices.rows) if choices.total is None else choices.total
    return format_count(n_choices, choices.noun)


BORDER_CELLS = 4
"""Width of the border and the margin of a panel, in cells."""


class PanelPickerScreen(PickerScreen[T], inherit_bindings=False):
    """Picker with a top line, whose table is in a panel. Messages are above the key line."""

    def __init__(
        self,
        path: tuple[str, ...],
        *,
        load: Callable[[], Awaitable[ChoiceTable[T] | None]] | None = None,
    ) -> None:
        """Create the screen.

        `path`: names for the top line. The last is the name of this screen.
        """
        super().__init__(load=load)
        self._path = path
        self.scope: FigureScope | None = None
        """Items of the figures in the table. None for a table without figures."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield TopLine()
            with Panel(id="pick-panel"):
                yield LineBar(id="pick-heading")
                yield TextList(id="pick-list")
                yield from self.compose_below_list()
            yield from self.compose_below_panel()
            yield LineBar(id="pick-title")
            yield KeyLine()

    def compose_below_panel(self) -> Iterable[Widget]:
        """Return widgets between the panel and the message line."""
        return ()

    def _scope_chip(self) -> Line:
        if self.scope is None:
            return BLANK_LINE
        return scope_chip(self.scope, find_action_key_names(self.app).get("scope.clear", ""))

    @property
    def hidden_actions(self) -> frozenset[str]:
        """Ids of actions that have no effect now. The key line and the help omit them."""
        is_limited = self.scope is not None and bool(self.scope.part)
        return frozenset() if is_limited else frozenset({CLEAR_SCOPE_ACTION.id})

    def action_clear_scope(self) -> None:
        """Compute the figures of all items of the runs."""
        if self.scope is not None and self.scope.part:
            self.scope = self.scope.without_limit
            self.refresh_bindings()
            self.read_again()

    def read_again(self) -> None:
        """Read the figures of the changed scope."""
        self._load_table()

    @property
    def table_width(self) -> int:
        return self.size.width - (0 if is_small_screen(self.size) else BORDER_CELLS)

    def _draw_title(self) -> None:
        """Draw the top line, a message below it, and the title of the panel with the number of
        choices.
        """
        choices = self._choices
        if choices is None:
            self._draw_waiting_time(0)
            return
        self.query_one(TopLine).show_path(self._path, self._scope_chip())
        message = self.query_one("#pick-title", LineBar)
        message.display = bool(self._message)
        message.show(fit_line(make_line(f" {self._message}", "warn"), self.size.width))
        self._draw_panel_title(choices)

    def _draw_panel_title(self, choices: ChoiceTable[T]) -> None:
        # Only the first letter changes, because the title may contain names.
        title = choices.title[:1].upper() + choices.title[1:]
        facts = _format_choice_count(choices)
        if choices.note:
            facts = f"{choices.note} {symbols().separator} {facts}"
        panel = self.query_one("#pick-panel", Panel)
        panel.set_flat(is_small_screen(self.size))
        panel.set_title(title, facts, flat_facts=True)


class AskScreen(BottomDialog[str | None]):
    """Prompt for one line of text. The result is the text, or None after Esc."""

    takes_text = True
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(PROMPT_ACTIONS)
    CSS = f"""{BottomDialog.CSS}
    AskScreen > Horizontal {{ height: 1; width: 1fr; background: $background; }}
    AskScreen Static {{ width: auto; text-style: bold; }}
    AskScreen Input {{ width: 1fr; height: 1; border: none; padding: 0; background: $background; }}
    AskScreen Input:focus {{ border: none; background: $background; }}
    """

    def __init__(self, prompt: str, value: str = "", *, hint: str = "") -> None:
        """Create the prompt. `hint`: text that the empty line shows."""
        super().__init__()
        self._prompt = prompt
        self._value = value
        self._hint = hint

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static(f" {self._prompt} ", markup=False)
            yield SafeInput(self._value, placeholder=sanitize(self._hint), select_on_focus=True)

    @property
    def unsaved_input(self) -> str:
        is_search = self._prompt == SEARCH_PROMPT
        texts = [field.value for field in self.query(SafeInput)]
        return "" if is_search or texts in ([], [self._value]) else "the text"

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


def make_search_prompt(last_search: str) -> AskScreen:
    """Return the prompt for a search in a text. It is empty, and names the last search."""
    hint = f"enter searches again for {last_search}" if last_search else ""
    return AskScreen(SEARCH_PROMPT, hint=hint)


class ConfirmScreen(BottomDialog[bool]):
    """Question that the user answers with yes or no."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(CONFIRM_ACTIONS, PROMPT_HELP_ACTIONS)

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        yield LineBlock()

    def on_resize(self) -> None:
        """Show the question on as many lines as it needs, with the keys on the last line."""
        cells = self.app.size.width
        question_rows = sanitize_and_wrap(self._question, cells - 2)
        lines: list[Line] = [make_line(f" {row}", "strong") for row in question_rows]

        hints = list_key_hints(self)
        keys_width = line_width(key_hints_line(hints, cells, len(hints)))
        if line_width(lines[-1]) + keys_width > cells:
            # The keys do not fit beside the end of the question.
            lines.append(())
        last_line = lines.pop()
        keys = key_hints_line(hints, cells - line_width(last_line), len(hints))
        self.query_one(LineBlock).show([*lines, (*last_line, *keys)])

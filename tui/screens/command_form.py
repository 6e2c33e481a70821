"""Form of a command: one line for each option. The command runs when the form is submitted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from fcreview.model.sanitize import sanitize
from fcreview.tui.actions import FORM_ACTIONS
from fcreview.tui.command_forms import CommandResult, FormField, build_arguments
from fcreview.tui.key_bindings import make_bindings
from fcreview.tui.text.lines import Line, fit_line
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.safe_input import SafeInput
from fcreview.tui.widgets.screens import GuardedModalScreen


class FormInput(SafeInput):
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(FORM_ACTIONS)


class CommandFormScreen(GuardedModalScreen[str | None]):
    """Form of a command. The result is the output of the command, or None if the form was cancelled.

    If the command fails, the form stays open and shows the reason.
    """

    takes_text = True
    has_unsaved_input = True
    CSS = """
    CommandFormScreen { background: transparent; align: left bottom; }
    CommandFormScreen > Vertical {
        height: auto; max-height: 100%; width: 1fr; background: $background; border-top: solid $border;
        border-title-style: bold; border-title-color: $primary;
    }
    CommandFormScreen VerticalScroll { height: auto; max-height: 20; scrollbar-size-vertical: 0; }
    CommandFormScreen Horizontal { height: 1; }
    CommandFormScreen Static { width: 16; padding: 0 1; }
    CommandFormScreen FormInput, CommandFormScreen FormInput:focus {
        width: 1fr; height: 1; border: none; padding: 0; background: $background;
    }
    CommandFormScreen FormInput:focus { text-style: underline; }
    """

    def __init__(
        self, title: str, fields: Sequence[FormField], run: Callable[[Sequence[str]], Awaitable[CommandResult]]
    ) -> None:
        """Create the form. `run` runs the command with its options and arguments."""
        super().__init__()
        self._form_title, self._fields, self._run_command = title, fields, run
        self._is_running = False

    def compose(self) -> ComposeResult:
        with Vertical() as container:
            container.border_title = self._form_title
            with VerticalScroll(can_focus=False):
                for field in self._fields:
                    with Horizontal():
                        yield Static(field.name, markup=False)
                        box = FormInput(field.default, select_on_focus=True)
                        box.cursor_blink = False
                        yield box
            yield LineBar(id="form-help")
            yield KeyLine()

    def on_mount(self) -> None:
        if self._fields:
            self._inputs[0].focus()
        else:
            self.action_submit()

    @property
    def _inputs(self) -> list[FormInput]:
        return list(self.query(FormInput))

    def on_descendant_focus(self) -> None:
        if not self._is_running and isinstance(self.focused, FormInput):
            field = self._fields[self._inputs.index(self.focused)]
            self._show(((sanitize(field.help) + (" (yes or no)" if field.is_switch else ""), "dim"),))

    def _show(self, line: Line) -> None:
        self.query_one("#form-help", LineBar).show(fit_line(((" ", ""), *line), self.app.size.width))

    def action_move(self, by: int) -> None:
        inputs = self._inputs
        at = inputs.index(self.focused) if isinstance(self.focused, FormInput) else 0
        inputs[(at + by) % len(inputs)].focus()

    def action_submit(self) -> None:
        if not self._is_running:
            self._is_running = True
            self._show((("running ...", "dim"),))
            self._run(build_arguments(self._fields, [box.value for box in self._inputs]))

    @work()
    async def _run(self, arguments: Sequence[str]) -> None:
        result = await self._run_command(arguments)
        self._is_running = False
        if result.is_successful or not self._fields:
            self.dismiss(result.text)
            return
        lines = result.text.strip().splitlines() or ["the command failed"]
        self._show(((sanitize(next((line for line in lines if "rror" in line), lines[-1])), "bad"),))

    def action_cancel(self) -> None:
        self.dismiss(None)

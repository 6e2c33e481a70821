"""Show a command as a form with one line for each option, and run the command when the user
submits the form.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.suggester import SuggestFromList
from textual.widgets import Static

from fcreview.model.sanitize import sanitize
from fcreview.tui.actions import FORM_ACTIONS
from fcreview.tui.commands import (
    CommandForm,
    CommandResult,
    CommandService,
    FormField,
    add_run_name_choices,
    build_command_arguments,
    run_and_deliver_download,
)
from fcreview.tui.keymap import make_bindings
from fcreview.tui.queue.loader import read_other_annotators
from fcreview.tui.screens.annotators import format_sample_annotators
from fcreview.tui.screens.pager import PagerScreen
from fcreview.tui.text.lines import Line, fit_line, make_line, sanitize_and_wrap, truncate
from fcreview.tui.text.run_names import format_run_names
from fcreview.tui.widgets.base import BottomDialog, SafeInput, work
from fcreview.tui.widgets.document_view import KeyLine, LineBlock

if TYPE_CHECKING:
    from fcreview.tui.session import Session


HELP_ROWS = 3


class FormInput(SafeInput):
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(FORM_ACTIONS)

    def action_clear_text(self) -> None:
        self.clear()


class FormFields(VerticalScroll):
    """Fields of a form, one on each line."""

    DEFAULT_CSS = """
    FormFields { height: auto; max-height: 20; scrollbar-size-vertical: 0; }
    FormFields Horizontal { height: 1; }
    FormFields Static { width: 16; padding: 0 1; }
    FormFields FormInput, FormFields FormInput:focus {
        width: 1fr; height: 1; border: none; padding: 0; background: $surface;
    }
    FormFields FormInput:focus { text-style: underline; }
    """

    def __init__(self, fields: Sequence[FormField] = (), *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, can_focus=False)
        self.fields = fields

    def compose(self) -> ComposeResult:
        for field in self.fields:
            with Horizontal():
                yield Static(field.name, markup=False)
                suggester = (
                    SuggestFromList(field.choices, case_sensitive=False) if field.choices else None
                )
                yield FormInput(field.default, select_on_focus=True, suggester=suggester)

    @property
    def inputs(self) -> list[FormInput]:
        return list(self.query(FormInput))

    async def set_fields(self, fields: Sequence[FormField]) -> None:
        self.fields = fields
        await self.recompose()

    @property
    def field_values(self) -> dict[str, str]:
        """Text of each field by name. Empty while the fields are replaced."""
        inputs = self.inputs
        if len(inputs) != len(self.fields):
            return {}
        return {field.name: box.value for field, box in zip(self.fields, inputs, strict=True)}

    @property
    def command_arguments(self) -> list[str]:
        """Command-line options and arguments that the fields stand for."""
        return build_command_arguments(self.fields, list(self.field_values.values()))

    def help_lines(self, width: int) -> list[Line]:
        """Return the help of the focused field, in at most `HELP_ROWS` lines. The last line may be
        cut.
        """
        index = self._focused_index
        if index is None or index >= len(self.fields):
            return []
        cells = width - 1
        rows = sanitize_and_wrap(sanitize(self.fields[index].help_with_choices), cells)
        if len(rows) > HELP_ROWS:
            last_row = truncate(" ".join(rows[HELP_ROWS - 1 :]), cells)
            rows = [*rows[: HELP_ROWS - 1], last_row]
        return [make_line(f" {row}", "dim") for row in rows]

    @property
    def _focused_index(self) -> int | None:
        for index, box in enumerate(self.inputs):
            if box.has_focus:
                return index
        return None

    def move_focus(self, by: int) -> bool:
        """Move the focus `by` fields. Return False, without a move, at the first and the last
        field. If no field has the focus, the first one gets it.
        """
        inputs = self.inputs
        focused_index = self._focused_index
        index = 0 if focused_index is None else focused_index + by
        if not 0 <= index < len(inputs):
            return False
        inputs[index].focus()
        return True


def find_error_line(result: CommandResult) -> Line:
    """Return the error message of a command that failed, else its last line."""
    lines = result.text.strip().splitlines() or ["the command failed"]
    error_lines = [line for line in lines if "error" in line or "Error" in line]
    message = error_lines[0] if error_lines else lines[-1]
    return make_line(sanitize(message), "bad")


def find_last_output_line(result: CommandResult) -> str:
    lines = result.text.strip().splitlines() or ["done"]
    return sanitize(lines[-1])


class CommandFormScreen(BottomDialog[str | None]):
    """Form of a command. The result is the output of the command, or None if the form was
    cancelled.

    If the command fails, the form stays open and shows the reason.
    """

    takes_text = True
    has_unsaved_input = True
    CSS = f"""{BottomDialog.CSS}
    CommandFormScreen > Vertical {{
        max-height: 100%; border-title-style: bold; border-title-color: $primary;
    }}
    """

    def __init__(
        self,
        title: str,
        fields: Sequence[FormField],
        run: Callable[[Sequence[str]], Awaitable[CommandResult]],
    ) -> None:
        """Create the form. `run`: runs the command with the entered options and arguments."""
        super().__init__()
        self._form_title = title
        self._fields = fields
        self._command_runner = run
        self._is_running = False

    def compose(self) -> ComposeResult:
        with Vertical() as container:
            container.border_title = self._form_title
            yield FormFields(self._fields)
            yield LineBlock(id="form-help")
            yield KeyLine()

    def on_mount(self) -> None:
        if self._fields:
            self._form.inputs[0].focus()
        else:
            self.action_submit()

    @property
    def _form(self) -> FormFields:
        return self.query_one(FormFields)

    def on_descendant_focus(self) -> None:
        if not self._is_running:
            self.query_one(LineBlock).show(self._form.help_lines(self.app.size.width))

    def _show_status_line(self, line: Line) -> None:
        self.query_one(LineBlock).show([fit_line(((" ", ""), *line), self.app.size.width)])

    def action_move(self, by: int) -> None:
        """Move the focus to another field. After the last field comes the first one."""
        inputs = self._form.inputs
        if not inputs:
            return
        if not self._form.move_focus(by):
            next_input = inputs[0] if by > 0 else inputs[-1]
            next_input.focus()

    def action_submit(self) -> None:
        if not self._is_running:
            self._is_running = True
            self._show_status_line((("running ...", "dim"),))
            self._run_command(self._form.command_arguments)

    @work()
    async def _run_command(self, arguments: Sequence[str]) -> None:
        """Run the command and close the form. After an error, the form stays, so that it can be
        corrected.
        """
        result = await self._command_runner(arguments)
        self._is_running = False
        if result.is_successful or not self._fields:
            self.dismiss(result.text)
            return
        self._show_status_line(find_error_line(result))


def open_command_form(
    app: App[Any], session: Session, form: CommandForm, values: Mapping[str, str]
) -> None:
    """Open the form of a command with initial values. When the command has run, show its output.

    The form is a way to run a command of the command line, such as `queue create`, inside the app.
    """
    services = session.report_services
    commands = services.commands if services is not None else None
    if commands is None:
        app.notify(f"{form.label}: not available here", markup=False)
        return
    if session.in_browser and not form.is_available_in_browser:
        message = f"Not available in the browser. Run fcreview {form.command} on the server."
        app.notify(message, markup=False)
        return

    screen = app.screen

    def show_output(output: str | None) -> None:
        if output is not None:
            text = output.strip() or "done"
            app.push_screen(PagerScreen(form.label, text, folder=session.workspace_folder))

    async def open_form() -> None:
        fields = await _read_form_fields(session, commands, form, values)
        has_left_screen = app.screen is not screen
        if has_left_screen:
            return
        run = _make_command_runner(app, session, commands, form)
        app.push_screen(CommandFormScreen(form.label, fields, run), show_output)

    app.run_worker(open_form(), group="form")


def _make_command_runner(
    app: App[Any], session: Session, commands: CommandService, form: CommandForm
) -> Callable[[Sequence[str]], Awaitable[CommandResult]]:
    """Return a function that runs the command. In a browser, the user downloads the written
    file.
    """
    if session.in_browser:
        return partial(run_and_deliver_download, app, commands, form)
    return partial(commands.run, form.command)


async def _read_form_fields(
    session: Session, commands: CommandService, form: CommandForm, values: Mapping[str, str]
) -> list[FormField]:
    """Return the fields of a command's form, which are its options.

    The initial values are `values`, else those of the form, else those of the command.
    """
    defaults = {**form.defaults, **values}
    if form.command == "queue create":
        others = await session.read(read_other_annotators)
        defaults["annotators"] = format_sample_annotators(others, session.annotator)

    fields = []
    for field in await asyncio.to_thread(commands.describe, form.command):
        # A browser has no access to files of the server, except to the file to download.
        is_hidden = session.in_browser and field.is_path and field.name != form.download
        if not is_hidden:
            fields.append(replace(field, default=defaults.get(field.name, field.default)))

    # The user chooses a run by its name, not by its number.
    if any(field.name == "run" for field in fields):
        runs = await session.read(lambda store: store.fetch_runs())
        fields = add_run_name_choices(fields, format_run_names(runs))
    return fields

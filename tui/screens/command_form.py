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
        is_complete = len(inputs) == len(self.fields)
        return (
            {field.name: box.value for field, box in zip(self.fields, inputs, strict=True)}
            if is_complete
            else {}
        )

    @property
    def command_arguments(self) -> list[str]:
        """Command-line options and arguments that the fields stand for."""
        return build_command_arguments(self.fields, list(self.field_values.values()))

    def help_lines(self, width: int) -> list[Line]:
        """Return the help of the focused field, in at most `HELP_ROWS` lines."""
        at = next((at for at, box in enumerate(self.inputs) if box.has_focus), None)
        if at is None or at >= len(self.fields):
            return []
        rows = sanitize_and_wrap(sanitize(self.fields[at].help_with_choices), width - 1)
        if len(rows) > HELP_ROWS:
            rows[HELP_ROWS - 1 :] = [truncate(" ".join(rows[HELP_ROWS - 1 :]), width - 1)]
        return [make_line(f" {row}", "dim") for row in rows]

    def move_focus(self, by: int) -> bool:
        """Move the focus `by` fields.

        Return False, without a move, at the first and the last field.
        """
        inputs = self.inputs
        at = next((at for at, box in enumerate(inputs) if box.has_focus), -by) + by
        if 0 <= at < len(inputs):
            inputs[at].focus()
        return 0 <= at < len(inputs)


def find_error_line(result: CommandResult) -> Line:
    """Return the error message of a command that failed."""
    lines = result.text.strip().splitlines() or ["the command failed"]
    return ((sanitize(next((line for line in lines if "rror" in line), lines[-1])), "bad"),)


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
        self._form_title, self._fields, self._command_runner = title, fields, run
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
        result = await self._command_runner(arguments)
        self._is_running = False
        if result.is_successful or not self._fields:
            self.dismiss(result.text)
            return
        self._show_status_line(find_error_line(result))


def open_command_form(
    app: App[Any], session: Session, form: CommandForm, values: Mapping[str, str]
) -> None:
    """Open the form of a command with initial values, and show the output of the command
    afterwards.
    """
    services = session.report_services
    commands = services.commands if services is not None else None
    if commands is None:
        app.notify(f"{form.label}: not available here", markup=False)
        return
    if session.in_browser and not form.is_available_in_browser:
        app.notify(
            f"Not available in the browser. Run fcreview {form.command} on the server.",
            markup=False,
        )
        return
    run = (
        partial(run_and_deliver_download, app, commands, form)
        if session.in_browser
        else partial(commands.run, form.command)
    )

    screen = app.screen

    async def open_form() -> None:
        defaults = {**form.defaults, **values}
        described = await asyncio.to_thread(commands.describe, form.command)
        if form.command == "queue create":
            known = await session.query(read_other_annotators)
            defaults["annotators"] = format_sample_annotators(known, session.annotator)
        fields = [
            replace(each, default=defaults.get(each.name, each.default))
            for each in described
            if not (session.in_browser and each.is_path and each.name != form.download)
        ]
        if any(each.name == "run" for each in fields):
            fields = add_run_name_choices(
                fields, format_run_names(await session.query(lambda store: store.fetch_runs()))
            )

        def show_output(output: str | None) -> None:
            if output is not None:
                app.push_screen(
                    PagerScreen(
                        form.label, output.strip() or "done", folder=session.workspace_folder
                    )
                )

        if app.screen is screen:  # the user has not gone to another screen in the meantime
            app.push_screen(CommandFormScreen(form.label, fields, run), show_output)

    app.run_worker(open_form(), group="form")

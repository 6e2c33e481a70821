"""Show a command as a form with one line for each option, and run the command when the user
submits the form.
"""

from __future__ import annotations

import asyncio
import os
import re
import string
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import Screen
from textual.suggester import Suggester, SuggestFromList
from textual.widgets import Static

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.actions import FORM_ACTIONS
from fcreview.tui.commands import (
    CommandForm,
    CommandResult,
    CommandService,
    FormField,
    add_run_name_choices,
    build_command_arguments,
    propose_output_name,
    run_and_deliver_download,
)
from fcreview.tui.figure_scope import FigureScope, scope_chip
from fcreview.tui.keymap import find_action_key_names, make_bindings
from fcreview.tui.queue.form_scope import SCOPE_FIELDS, describe_form_scope, make_form_scope
from fcreview.tui.queue.loader import read_other_annotators
from fcreview.tui.queue_state import QueueState
from fcreview.tui.review.clipboard import copy_text
from fcreview.tui.screens.annotators import format_sample_annotators
from fcreview.tui.screens.pager import PagerScreen
from fcreview.tui.text.lines import (
    Line,
    LineBuilder,
    fit_line,
    make_line,
    progress_message,
    sanitize_and_wrap,
    truncate,
    wrap_first_rows,
)
from fcreview.tui.text.run_names import format_run_names
from fcreview.tui.text.styles import symbols
from fcreview.tui.text.tables import truncate_at_word
from fcreview.tui.widgets.base import BottomDialog, ProgressTimer, SafeInput, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar, LineBlock

if TYPE_CHECKING:
    from fcreview.tui.session import Session


LIST_FIELDS = ("annotators",)
"""Fields with several values, separated by commas."""
HELP_ROWS = 3
CHOICE_ROWS = 5
"""Maximum number of choices that the form shows at once."""


class FormInput(SafeInput):
    """Text box of a field.

    In a field with choices, the keys left and right go to the previous and the next one.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(FORM_ACTIONS)

    def __init__(self, field: FormField, suggester: Suggester | None) -> None:
        self.field = field
        # Typed text replaces a value, but is added to a list of names.
        self._is_list = field.name in LIST_FIELDS
        super().__init__(field.default, select_on_focus=not self._is_list, suggester=suggester)
        self._choices = list(field.listed_choices)
        self._value_at_focus = ""

    def on_focus(self) -> None:
        self._value_at_focus = self.value
        if self._is_list:
            self.cursor_position = len(self.value)

    def insert_text_at_cursor(self, text: str) -> None:
        """Insert typed text. In a list of names, the first character begins another name."""
        if self._is_list and self._is_at_end_of_untouched_names and not text.startswith(","):
            text = f", {text}"
        super().insert_text_at_cursor(text)

    @property
    def _is_at_end_of_untouched_names(self) -> bool:
        """Whether the cursor is after the names, which have not changed since the field has the
        focus.
        """
        names = self.value.strip()
        has_names = bool(names) and not names.endswith(",")
        is_untouched = self.value == self._value_at_focus
        return has_names and is_untouched and self.cursor_position == len(self.value)

    def action_clear_text(self) -> None:
        self.clear()

    def action_cursor_left(self, select: bool = False) -> None:
        if not self._step_choice(-1):
            super().action_cursor_left(select)

    def action_cursor_right(self, select: bool = False) -> None:
        if not self._step_choice(1):
            super().action_cursor_right(select)

    def _step_choice(self, by: int) -> bool:
        """Show the next (1) or previous (-1) choice. Return False in a field without choices."""
        if not self._choices:
            return False
        index = find_choice_index(self._choices, self.value)
        if index is None:
            # The user has typed the beginning of a choice.
            self.value = _complete_choice(self._choices, self.value)
        else:
            self.value = self._choices[(index + by) % len(self._choices)]
        return True


def find_choice_index(choices: Sequence[str], text: str) -> int | None:
    """Return the index of the choice that the user entered. None for any other text."""
    value = text.strip().lower()
    for index, choice in enumerate(choices):
        if choice.lower() == value:
            return index
    return None


def _complete_choice(choices: Sequence[str], text: str) -> str:
    """Return the first choice that begins with the text, else the first choice."""
    beginning = text.strip().lower()
    for choice in choices:
        if choice.lower().startswith(beginning):
            return choice
    return choices[0]


class PathSuggester(Suggester):
    """Completes the path of a file or folder."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        return await asyncio.to_thread(complete_path, value)


MAX_LISTED_FILES = 2_000


def complete_path(text: str) -> str | None:
    """Complete a typed path, such as `~/data/res`, with the name of the first file or folder that
    begins so. None without such a file. A folder gets a slash.
    """
    folder_before_slash, slash, beginning = text.rpartition("/")
    # A single `~` is the home folder, which is completed after a slash.
    if not text or beginning == "~":
        return None

    typed_folder = folder_before_slash + slash
    try:
        names = _list_file_names(typed_folder or ".")
    except (OSError, ValueError):
        # The folder does not exist, cannot be read, or is no valid path.
        return None

    # After a slash, any name matches that begins with a letter or digit. So hidden files are
    # completed only if the user typed the dot.
    possible_beginnings = (beginning,) if beginning else tuple(VISIBLE_STARTS)
    matches = [name for name in names if name.startswith(possible_beginnings)]
    if not matches:
        return None
    return typed_folder + min(matches)


def _list_file_names(typed_folder: str) -> list[str]:
    """Return the names in a folder such as `~/data/`. Names of folders end with a slash."""
    # `expanduser` leaves a text such as `~x` as it is if no user has this name.
    folder = os.path.expanduser(typed_folder)  # noqa: PTH111
    entries = islice(os.scandir(folder), MAX_LISTED_FILES)
    return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]


VISIBLE_STARTS = string.ascii_letters + string.digits


FORMAT_FIELD = "format"
"""Field of the export form. It decides which other fields the form shows."""


class FormFields(VerticalScroll):
    """Fields of a form, one on each line.

    In the form of an export, only the fields of the chosen format are shown and used.
    """

    DEFAULT_CSS = """
    FormFields { height: auto; max-height: 20; scrollbar-size-vertical: 0; }
    FormFields Horizontal { height: 1; }
    FormFields Static { width: 24; padding: 0 1; }
    FormFields FormInput, FormFields FormInput:focus {
        width: 1fr; height: 1; border: none; padding: 0; background: $surface;
    }
    FormFields FormInput:focus { text-style: underline; }
    """

    def __init__(self, fields: Sequence[FormField] = (), *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, can_focus=False)
        self._all_fields = fields
        self._replacement_lock = asyncio.Lock()
        """Held while the fields are replaced, so that two replacements do not overlap."""

    def compose(self) -> ComposeResult:
        format_name = self._default_format
        for field in self._all_fields:
            with Horizontal() as row:
                row.display = field.is_shown_for(format_name)
                yield Static(field.title, markup=False)
                yield FormInput(field, _make_suggester(field))

    @property
    def _default_format(self) -> str:
        """Format that the form of an export proposes. Empty for another form."""
        for field in self._all_fields:
            if field.name == FORMAT_FIELD:
                return field.default
        return ""

    @property
    def fields(self) -> list[FormField]:
        """Fields on screen."""
        return [box.field for box in self.inputs]

    @property
    def inputs(self) -> list[FormInput]:
        """Text boxes of the fields on screen."""
        boxes: list[FormInput] = []
        for row in self.query(Horizontal):
            if row.display:
                boxes += row.query(FormInput)
        return boxes

    def show_fields_of_format(self, format_name: str) -> None:
        """Show the fields that a format of an export has. The others keep their values unseen."""
        for box in self.query(FormInput):
            row = box.parent
            if isinstance(row, Horizontal):
                row.display = box.field.is_shown_for(format_name)

    async def set_fields(self, fields: Sequence[FormField]) -> None:
        """Replace the fields. This runs to its end even if the caller is cancelled.

        Textual would cancel the message loops of the removed widgets too. The message loop of the
        app waits for them, would be cancelled as well, and the app would end.
        """
        await asyncio.shield(self._replace_fields(fields))

    async def _replace_fields(self, fields: Sequence[FormField]) -> None:
        async with self._replacement_lock:
            self._all_fields = fields
            await self.recompose()

    @property
    def field_values(self) -> dict[str, str]:
        """Text of each field on screen by name."""
        return {box.field.name: box.value for box in self.inputs}

    @property
    def command_arguments(self) -> list[str]:
        """Command-line options and arguments that the fields stand for."""
        return build_command_arguments(self.fields, list(self.field_values.values()))

    def help_lines(self, width: int) -> list[Line]:
        """Return the choices of the focused field with a line about each, or its help in at most
        `HELP_ROWS` lines. The last line may be cut.
        """
        index = self._focused_index
        if index is None:
            return []

        box = self.inputs[index]
        field = box.field
        if field.descriptions:
            return _choice_lines(field, box.value, width)

        # A blank stands before each line. What does not fit is cut from the last line.
        cells = width - 1
        rows = sanitize_and_wrap(sanitize(field.help_with_choices), cells)
        if len(rows) > HELP_ROWS:
            n_whole_rows = HELP_ROWS - 1
            rest = " ".join(rows[n_whole_rows:])
            rows = [*rows[:n_whole_rows], truncate(rest, cells)]
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


def _make_suggester(field: FormField) -> Suggester | None:
    if field.choices:
        return SuggestFromList(field.choices, case_sensitive=False)
    if field.is_path:
        return PathSuggester()
    return None


def _choice_lines(field: FormField, text: str, width: int) -> list[Line]:
    """Return a line for each choice near the entered one: its value and what it means, shortened to
    one line. What the entered choice means takes up to `MAX_MEANING_ROWS` lines.
    """
    choices = list(field.descriptions)
    name_cells = max(display_width(choice or NO_CHOICE) for choice in choices) + 2
    text_cells = max(width - CHOICE_MARGIN_CELLS - name_cells, 1)
    entered_index = find_choice_index(choices, text)
    entered_rows = _wrap_entered_meaning(field, entered_index, text_cells)

    lines: list[Line] = []
    for index in _choose_shown_choices(len(choices), entered_index or 0, len(entered_rows)):
        choice = choices[index]
        name = choice or NO_CHOICE
        if index == entered_index:
            lines += _entered_choice_lines(name, name_cells, entered_rows)
        else:
            meaning = truncate_at_word(sanitize(field.descriptions[choice]), text_cells)
            lines.append(fit_line(_other_choice_line(name, name_cells, meaning), width))
    lines.append(_choice_hint_line(len(choices)))
    return lines


def _wrap_entered_meaning(field: FormField, entered_index: int | None, cells: int) -> list[str]:
    """Return what the entered choice means, in rows. Empty if the text is no choice."""
    if entered_index is None:
        return []
    meanings = list(field.descriptions.values())
    return sanitize_and_wrap(sanitize(meanings[entered_index]), cells)[:MAX_MEANING_ROWS]


def _choice_hint_line(n_choices: int) -> Line:
    return make_line(f" left and right choose {symbols().separator} {n_choices} choices", "dim")


def _choose_shown_choices(n_choices: int, entered_index: int, n_entered_rows: int) -> range:
    """Return the indexes of the choices around the entered one that fit into `CHOICE_ROWS`.

    Further lines of the entered choice take the place of other choices.
    """
    n_further_rows = max(n_entered_rows - 1, 0)
    n_shown = CHOICE_ROWS - n_further_rows
    first_index = _find_first_shown_choice(n_choices, entered_index, n_shown)
    return range(first_index, min(first_index + n_shown, n_choices))


CHOICE_MARGIN_CELLS = 3
MAX_MEANING_ROWS = 2


def _other_choice_line(name: str, name_cells: int, meaning: str) -> Line:
    """Return the line of a choice that is not entered."""
    line = LineBuilder()
    line.add(" " * CHOICE_MARGIN_CELLS)
    line.add_padded(name, name_cells)
    line.add(meaning, "dim")
    return line.build()


def _entered_choice_lines(name: str, name_cells: int, meaning_rows: Sequence[str]) -> list[Line]:
    """Return the lines of the entered choice: its value with the cursor, and what it means."""
    lines = []
    cursor = f" {symbols().cursor} "
    for row in meaning_rows or [""]:
        line = LineBuilder()
        line.add(cursor, "primary")
        line.add_padded(name, name_cells, "strong")
        line.add(row)
        lines.append(line.build())
        # Only the first line names the choice.
        cursor = " " * CHOICE_MARGIN_CELLS
        name = ""
    return lines


def _find_first_shown_choice(n_choices: int, entered_index: int, n_shown: int) -> int:
    """Return the index of the first shown choice, so that the entered one is in the middle, and all
    rows are used.
    """
    first_index = max(entered_index - n_shown // 2, 0)
    last_possible_index = max(n_choices - n_shown, 0)
    return min(first_index, last_possible_index)


NO_CHOICE = "(none)"
OPTION_ERROR = re.compile(r"[Ii]nvalid value for '?(?:-\w / )?--([\w-]+)'?:? ?(.*)")
OPTION_NAME = re.compile(r"'?--([a-z][\w-]*)'?")
LISTED_OPTION = re.compile(r"--[a-z][\w-]*, ")
"""Option in a list that has no field, such as `--json`, which makes no sense in a form."""


@dataclass(frozen=True, slots=True)
class FormError:
    """Why a command failed, in the words of the form."""

    message: str
    field_name: str = ""
    """Field that has the wrong value. Empty if it is unknown."""


def find_form_error(result: CommandResult, fields: Sequence[FormField]) -> FormError:
    """Return why a command failed, in the words of its form: the message names fields instead of
    options.

    The result also has the first of these options, so that its field can get the focus.
    """
    # The first line with an error counts, else the last line.
    lines = result.text.strip().splitlines() or ["the command failed"]
    error_lines = [line for line in lines if "error" in line or "Error" in line]
    error_line = error_lines[0] if error_lines else lines[-1]
    message = re.sub(r"^(Error|error|fcreview): ", "", error_line)

    title_by_option = {field.flag.lstrip("-"): field.title for field in fields if field.flag}
    options = [name for name in OPTION_NAME.findall(message) if name in title_by_option]
    first_option = options[0] if options else ""
    return FormError(sanitize(_name_fields(message, title_by_option)), first_option)


def _name_fields(message: str, title_by_option: Mapping[str, str]) -> str:
    """Replace the options in an error message by the titles of their fields.

    `Invalid value for '--size': 0 is too small` becomes `Sample size: 0 is too small`. In a list of
    options, those without a field are left out.
    """
    # The message may be about one option, and name it first.
    option_error = OPTION_ERROR.search(message)
    if option_error is not None:
        option = option_error[1]
        reason = option_error[2]
        if option in title_by_option:
            message = f"{title_by_option[option]}: {reason}"

    # Other options in the message are named in quotes.
    def quote_title(match: re.Match[str]) -> str:
        title = title_by_option.get(match[1])
        return match[0] if title is None else f'"{title}"'

    message_with_titles = OPTION_NAME.sub(quote_title, message)
    return LISTED_OPTION.sub("", message_with_titles)


def find_last_output_line(result: CommandResult) -> str:
    lines = result.text.strip().splitlines() or ["done"]
    return sanitize(lines[-1])


COMMAND_ROWS = 2
ROWS_BESIDE_FIELDS = CHOICE_ROWS + COMMAND_ROWS + 5
"""Rows for the title, the choices with their hint, the count, the command and the keys."""
COUNT_DELAY = 0.4
"""Seconds without a change before the form counts what the command will write."""


@dataclass(frozen=True, slots=True)
class FormScope:
    """Items that the command of a form covers, as the user has filled it in."""

    scope: FigureScope
    description: str
    """Number of items and what the command writes, such as `640 items · writes 12 labels`."""


DescribeScope = Callable[[Mapping[str, str]], Awaitable[FormScope]]
CommandRunner = Callable[[Sequence[str], Callable[[str], object]], Awaitable[CommandResult]]
"""Runs a command with options and arguments, and passes its progress on as text."""


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
        run: CommandRunner,
        *,
        format_line: Callable[[Sequence[str]], str] = lambda _: "",
        describe_scope: DescribeScope | None = None,
        folder: Path | None = None,
    ) -> None:
        """Create the form.

        Args:
            run: Runs the command with the entered options and arguments.
            format_line: Returns the line for a shell with these options and arguments.
            describe_scope: Says which items the command covers with these values of the fields.
                None for a command without a choice of items.
            folder: Folder `.fcreview` of the workspace, for copied text.
        """
        super().__init__()
        self._form_title = title
        self._fields = fields
        self._format_line = format_line
        self._describe_scope = describe_scope
        self._folder = folder

        # The form of an export proposes an output, which changes with the format.
        self._proposed_output = ""
        """Text that the form itself entered as the output of an export."""
        for field in fields:
            if field.name == "output":
                self._proposed_output = field.default

        self._command_runner = run
        self._is_running = False
        """Whether the command runs."""
        self._progress = ""
        """Last progress report of the running command."""
        self._timer = ProgressTimer(self, self._show_running)

    def compose(self) -> ComposeResult:
        with Vertical() as container:
            container.border_title = self._form_title
            yield FormFields(self._fields)
            yield LineBlock(id="form-help")
            yield LineBar(id="form-scope")
            yield LineBlock(id="form-command")
            yield KeyLine()

    def on_resize(self) -> None:
        # Choices, command and keys stay visible below the fields.
        self._form.styles.max_height = max(self.app.size.height - ROWS_BESIDE_FIELDS, 1)
        self._draw_command()

    def on_mount(self) -> None:
        """Focus the first field. A form without fields runs its command at once."""
        self.query_one("#form-scope").display = self._describe_scope is not None
        self._draw_command()
        self._count_scope()
        if self._fields:
            self._form.inputs[0].focus()
        else:
            self.action_submit()

    @property
    def _form(self) -> FormFields:
        return self.query_one(FormFields)

    def on_descendant_focus(self) -> None:
        self._show_help()

    def on_input_changed(self) -> None:
        self._follow_format()
        self._draw_command()
        self._count_scope()
        self._show_help()

    def _show_help(self) -> None:
        if not self._is_running:
            lines = self._form.help_lines(self.app.size.width)
            self.query_one("#form-help", LineBlock).show(lines)

    def _follow_format(self) -> None:
        """Show the fields of the chosen format, and propose an output that fits it.

        Only the form of an export has a format.
        """
        boxes = {box.field.name: box for box in self._form.inputs}
        if FORMAT_FIELD not in boxes:
            return
        format_name = boxes[FORMAT_FIELD].value.strip()
        proposal = propose_output_name(format_name)
        # While the user types the name of a format, it is not known yet.
        if not proposal:
            return

        self._form.show_fields_of_format(format_name)
        output_box = boxes["output"]
        is_untouched = output_box.value == self._proposed_output
        if is_untouched:
            self._proposed_output = proposal
            output_box.value = proposal

    def _draw_command(self) -> None:
        """Draw the command that the form stands for."""
        block = self.query_one("#form-command", LineBlock)
        cells = self.app.size.width - 2
        first_rows = wrap_first_rows(self._command_line, cells, COMMAND_ROWS)
        rows = [row.rstrip() for row in first_rows.rows]
        # An ellipsis says that the command is longer than its rows.
        if first_rows.has_more:
            rows[-1] = f"{truncate(rows[-1], cells - 2)} {symbols().ellipsis}"
        block.show([make_line(f" {row}", "dim") for row in rows])

    @work(exclusive=True, group="count")
    async def _count_scope(self) -> None:
        """Show which items the command covers and what it writes, when the user stops typing."""
        if self._describe_scope is None:
            return
        bar = self.query_one("#form-scope", LineBar)
        bar.show(make_line(" counting ...", "dim"))
        # Each change of a field calls this method, and so cancels the earlier call (`exclusive`).
        await asyncio.sleep(COUNT_DELAY)
        try:
            form_scope = await self._describe_scope(dict(self._form.field_values))
        except FcreviewError as error:
            bar.show(make_line(f" {sanitize(str(error))}", "bad"))
            return
        bar.show(self._scope_line(form_scope))

    def _scope_line(self, form_scope: FormScope) -> Line:
        """Return the chip with the items, its key, and what the command writes."""
        key = find_action_key_names(self.app).get("form.clear_scope", "")
        line = LineBuilder()
        line.add(" ")
        line.add_line(scope_chip(form_scope.scope, key))
        line.add(f" {symbols().separator} {form_scope.description}", "strong")
        return line.build()

    def action_clear_scope(self) -> None:
        """Clear the fields that limit the items, so that the command covers all items."""
        for box in self._form.inputs:
            if box.field.name in SCOPE_FIELDS:
                box.clear()

    @property
    def _command_line(self) -> str:
        return self._format_line(self._form.command_arguments)

    def action_copy_command(self) -> None:
        message = copy_text(self._command_line, self._folder, self.app._driver)
        self._show_status_line(make_line(f"command: {message}", "good"))

    def _show_error_message(self, message: str) -> None:
        """Show why the command failed, in the rows of the help."""
        rows = sanitize_and_wrap(message, self.app.size.width - 1)[:HELP_ROWS]
        lines = [make_line(f" {row}", "bad") for row in rows]
        self.query_one("#form-help", LineBlock).show(lines)

    def _show_status_line(self, line: Line) -> None:
        lines = [fit_line(((" ", ""), *line), self.app.size.width)]
        self.query_one("#form-help", LineBlock).show(lines)

    def _show_running(self, seconds: float) -> None:
        """Show how long the command has been running, and its progress."""
        cancel_key = find_action_key_names(self.app).get("form.cancel", "")
        text = progress_message(self._progress or "running", seconds, cancel_key)
        self._show_status_line(make_line(sanitize(text), "dim"))

    def _set_progress(self, text: str) -> None:
        self._progress = text

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
            self._progress = ""
            self._show_running(0)
            self._timer.start()
            self._run_command(self._form.command_arguments)

    @work()
    async def _run_command(self, arguments: Sequence[str]) -> None:
        """Run the command and close the form. After an error, the form stays, so that it can be
        corrected.
        """
        result = await self._command_runner(arguments, self._set_progress)
        self._timer.stop()
        self._is_running = False
        if result.is_successful or not self._fields:
            self.dismiss(result.text)
            return
        self._show_error(find_form_error(result, self._fields))

    def _show_error(self, error: FormError) -> None:
        """Show why the command failed, with the cursor in the field that has the wrong value."""
        for box in self._form.inputs:
            if box.field.flag.lstrip("-") == error.field_name:
                box.focus()
        self.call_after_refresh(self._show_error_message, error.message)


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
    elif session.in_browser and not form.is_available_in_browser:
        message = f"Not available in the browser. Run fcreview {form.command} on the server."
        app.notify(message, markup=False)
    else:
        open_form = _open_form_above(app.screen, session, commands, form, values)
        app.run_worker(open_form, group="form")


async def _open_form_above(
    screen: Screen[Any],
    session: Session,
    commands: CommandService,
    form: CommandForm,
    values: Mapping[str, str],
) -> None:
    """Read the fields of a form, and open it unless the user has left the screen meanwhile."""
    app = screen.app
    fields = await _read_form_fields(session, commands, form, values)
    if app.screen is not screen:
        return

    def show_output(output: str | None) -> None:
        if output is not None:
            text = output.strip() or "done"
            app.push_screen(PagerScreen(form.label, text, folder=session.workspace_folder))

    form_screen = CommandFormScreen(
        form.label,
        fields,
        _make_command_runner(app, session, commands, form),
        format_line=partial(commands.format_line, form.command),
        describe_scope=_make_scope_description(app, session, form, fields),
        folder=session.workspace_folder,
    )
    app.push_screen(form_screen, show_output)


def _make_scope_description(
    app: App[Any], session: Session, form: CommandForm, fields: Sequence[FormField]
) -> DescribeScope | None:
    """Return a function that names and counts the items of a command. None for a command without a
    choice of items, and in blind review, where counts could reveal verdicts.
    """
    has_choice = any(field.name in SCOPE_FIELDS for field in fields)
    is_about_one_item = any(field.name == "item" for field in fields)
    if not has_choice or is_about_one_item or session.blind:
        return None

    # The screen at the bottom is the queue, whose runs the command covers.
    state = getattr(app.screen_stack[0], "state", None)
    runs = state.scope if isinstance(state, QueueState) else ()
    run_number_by_name = _collect_run_choices(fields)

    async def describe(values: Mapping[str, str]) -> FormScope:
        scope = make_form_scope(values, runs, run_number_by_name)
        description = await session.read_in_background(
            partial(describe_form_scope, command=form.command, values=values, scope=scope)
        )
        return FormScope(scope, description)

    return describe


def _collect_run_choices(fields: Sequence[FormField]) -> dict[str, str]:
    """Return the number of each run by its displayed name."""
    run_number_by_name: dict[str, str] = {}
    for field in fields:
        if field.name == "run":
            run_number_by_name.update(field.choices)
    return run_number_by_name


def _make_command_runner(
    app: App[Any], session: Session, commands: CommandService, form: CommandForm
) -> CommandRunner:
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

    The initial values are `values`, else those of the form, else those of the command. Only the
    annotators of a new queue are always those of the workspace.
    """
    defaults = {**form.defaults, **values}
    if form.command == "queue create":
        others = await session.read(read_other_annotators)
        defaults["annotators"] = format_sample_annotators(others, session.annotator)

    fields = []
    for field in await asyncio.to_thread(commands.describe, form.command):
        if not _is_hidden_in_browser(session, form, field):
            fields.append(replace(field, default=defaults.get(field.name, field.default)))

    # The user chooses a run by its name, not by its number.
    if any(field.name == "run" for field in fields):
        runs = await session.read(lambda store: store.fetch_runs())
        fields = add_run_name_choices(fields, format_run_names(runs))
    return fields


def _is_hidden_in_browser(session: Session, form: CommandForm, field: FormField) -> bool:
    """A browser has no access to files of the server, except to the file to download."""
    return session.in_browser and field.is_path and field.name != form.download

"""Read filters and searches from an input line: below the queue with completion and history, and
below the runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from fcreview.model.sanitize import display_width, sanitize
from fcreview.store.filters.parser import FilterError, list_filter_help, list_key_values, quote
from fcreview.store.filters.saved import SAVED_FILTER_PREFIX, AnnotatorFilters, SavedFilterError
from fcreview.tui.actions import FILTER_INPUT_ACTIONS, FILTER_LINE_ACTIONS, RUN_SEARCH_ACTIONS
from fcreview.tui.keymap import make_bindings
from fcreview.tui.queue.loader import Facets
from fcreview.tui.text.lines import truncate
from fcreview.tui.widgets.base import SafeInput
from fcreview.tui.widgets.document_view import LineBar

_LAST_WORD = re.compile(r"[^\s()]*$")
_UNQUOTED_VALUE = re.compile(r"[\w.:/-]+")


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    """Text that replaces the incomplete word, such as `official:` or `category:live_simple`."""
    description: str

    @property
    def display_text(self) -> str:
        """Text and description for display, sanitized."""
        return f"{sanitize(self.text)} {self.description}"


class WordAtCursor(NamedTuple):
    start: int
    text: str


def find_word_at_cursor(text: str, cursor: int) -> WordAtCursor:
    """Return the word to the left of the cursor. A leading minus is not part of the word."""
    match = _LAST_WORD.search(text[:cursor])
    start = match.start() if match else cursor
    if text[start:cursor].startswith("-"):
        start += 1
    return WordAtCursor(start, text[start:cursor])


@dataclass(frozen=True, slots=True)
class CompletionContext:
    """Data for completions: the values of each filter key, and the saved filters by name."""

    facets: Facets = field(default_factory=dict)
    saved: Mapping[str, str] = field(default_factory=dict)
    blind: bool = False


def list_completions(text: str, cursor: int, context: CompletionContext) -> list[Completion]:
    """Return completions of the word at the cursor, the most frequent value first."""
    word = find_word_at_cursor(text, cursor).text
    if not word:
        return _list_key_completions("", context) + _list_saved_filter_completions("", context)
    if word.startswith(SAVED_FILTER_PREFIX):
        return _list_saved_filter_completions(word, context)
    if ":" not in word:
        return _list_key_completions(word, context)
    return _list_value_completions(word, context)


def _list_saved_filter_completions(word: str, context: CompletionContext) -> list[Completion]:
    """Return the saved filters whose names begin with the typed word, each with its filter as
    help.
    """
    completions = []
    for name, where in context.saved.items():
        completion = Completion(SAVED_FILTER_PREFIX + name, sanitize(where))
        if completion.text.lower().startswith(word.lower()):
            completions.append(completion)
    return completions


def _list_key_completions(word: str, context: CompletionContext) -> list[Completion]:
    """Return the filter keys that begin with the word, such as `official:`."""
    return [
        Completion(key, description)
        for key, description in list_filter_help(blind=context.blind)
        if key.startswith(word.lower())
    ]


def _list_value_completions(word: str, context: CompletionContext) -> list[Completion]:
    """Return completions of the last value of a filter term, such as `live_` in
    `category:simple|live_`.

    A term without a known key has none.
    """
    key, _, values_text = word.partition(":")
    known_keys = {name for name, _ in list_filter_help(blind=context.blind)}
    if f"{key}:" not in known_keys:
        return []

    earlier_values, _, last_value = values_text.rpartition("|")
    text_before_value = f"{key}:{earlier_values}|" if earlier_values else f"{key}:"
    beginning = last_value.strip('"').lower()

    completions = []
    for value, description in _describe_values(key, context).items():
        if value.lower().startswith(beginning):
            completion_text = text_before_value + _quote_if_needed(value)
            completions.append(Completion(completion_text, description))
    return completions


def _describe_values(key: str, context: CompletionContext) -> dict[str, str]:
    """Return the values of a filter key with the number of their items.

    Values of the items come first, the most frequent one at the top. Other possible values follow,
    without a number.
    """
    descriptions = {}
    for value, count in context.facets.get(key, ()):
        descriptions[value] = f"{count:,}"
    for value in list_key_values(key, blind=context.blind):
        descriptions.setdefault(value, "")
    return descriptions


def _quote_if_needed(value: str) -> str:
    return value if _UNQUOTED_VALUE.fullmatch(value) else quote(value)


class EditedText(NamedTuple):
    text: str
    cursor: int


def insert_completion(text: str, cursor: int, completion: Completion) -> EditedText:
    """Replace the word at the cursor with a completion."""
    start = find_word_at_cursor(text, cursor).start
    return EditedText(text[:start] + completion.text + text[cursor:], start + len(completion.text))


def format_completions(
    completions: Sequence[Completion], first_index: int, max_count: int = 6
) -> str:
    """Format completions on one line: ` official: pass, fail ... and 3 more matches`.

    The line begins with the completion at `first_index`, the one that is being inserted.
    """
    if not completions:
        return " no matches"

    # The completions before it come last.
    rotated = [*completions[first_index:], *completions[:first_index]]
    labels = [completion.display_text.strip() for completion in rotated[:max_count]]
    line = " " + "   ".join(labels)
    n_more = len(completions) - max_count
    if n_more > 0:
        line += f"   and {n_more:,} more matches"
    return line


MIN_MOVED_CARET_CELLS = 3
"""Smallest distance, in cells, from the left edge at which an error caret may be moved."""


@dataclass(frozen=True, slots=True)
class _InsertedCompletion:
    """Completion that Tab has inserted."""

    edited_text: str
    """Text of the line after the completion was inserted."""
    choices: Sequence[Completion]
    index: int
    """Index of the inserted completion in `choices`."""


class FilterInput(SafeInput):
    """Text box of the filter line."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(FILTER_INPUT_ACTIONS)


def _place_message_at_caret(message: str, caret_cells: int, line_cells: int) -> str:
    """Return a line with a caret below an error, and the message on the side that has room for it.

    If neither side has enough room, the caret moves to the left, as far as the message needs. A
    caret near the beginning moves to the prompt. `caret_cells`: position of the error.
    """
    caret_and_message = f"^ {message}"
    message_and_caret = f"{message} ^"
    needed_cells = display_width(caret_and_message)
    if caret_cells + needed_cells <= line_cells:
        return " " * caret_cells + caret_and_message
    if needed_cells <= caret_cells:
        # The caret is the last character.
        indent = caret_cells + 1 - needed_cells
        return " " * indent + message_and_caret

    is_near_beginning = caret_cells < MIN_MOVED_CARET_CELLS
    if is_near_beginning:
        # Moved a little, the caret would point to a wrong place of the text.
        return caret_and_message
    indent = min(caret_cells, max(line_cells - needed_cells, 0))
    return " " * indent + caret_and_message


class RunSearchInput(SafeInput):
    """Search box below the list of runs."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(RUN_SEARCH_ACTIONS)

    def __init__(self, search: str = "") -> None:
        super().__init__(search, placeholder="model, benchmark, version or path", compact=True)
        self.display = bool(search)


class FilterLine(Vertical):
    """Input line for a filter or a search. It is hidden until `open` is called.

    Enter posts `Submitted` if the filter is valid. The screen then closes the line.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(FILTER_LINE_ACTIONS)

    FILTER_HINT = ' for example official:fail -reviewed error:value_error text:"celsius"'
    SEARCH_HINT = " finds items whose id or text contains the search term"
    NAME_HINT = " name of the saved filter: letters, digits and _ . -"

    @dataclass
    class Submitted(Message):
        """Posted when a filter or search was entered."""

        kind: str
        """`filter` or `search`, as passed to `open`."""
        text: str
        """Search term, or filter with each `@name` replaced by the saved filter."""

    @dataclass
    class Cancelled(Message):
        """Posted when the line was closed with Esc."""

    @dataclass
    class CompletionRequested(Message):
        """Posted when Tab was pressed. The screen answers with `apply_completion`."""

    def __init__(self, filters: AnnotatorFilters, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        """Begin hidden. `filters` has the saved filters and the history of the annotator."""
        super().__init__(id=id)
        self.display = False
        self.kind = ""
        """What the user types: `filter` or `search`."""
        self._hint = ""
        """Text below the input while there is nothing else to say."""
        self._filters = filters

        self._completion_context = CompletionContext(blind=filters.blind)
        """Values that the completions offer."""
        self._last_completion: _InsertedCompletion | None = None
        self._history_index = 0
        """Index into the history counted from its end: 0 for new text, -1 for the latest entry."""
        self._filter_to_save: str | None = None
        """Filter to save, while the annotator types a name for it. Otherwise None."""
        self._name_to_replace = ""
        """Name of the saved filter to replace if the annotator confirms.

        Empty if no confirmation is pending.
        """

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield LineBar(id="filter-prompt")
            yield FilterInput(compact=True, select_on_focus=False)
        yield LineBar(id="filter-says")

    def open(self, kind: str, text: str, hint: str) -> None:
        """Show the line with a text to edit.

        `kind`: `filter` or `search`. `hint`: shown until there is a message.
        """
        self.kind = kind
        self._hint = hint
        self._history_index = 0
        self._filter_to_save = None
        self.display = True
        self._set_prompt(kind, text, hint)
        self.query_one(FilterInput).focus()

    def _set_prompt(self, prompt_label: str, text: str, hint: str) -> None:
        """Show a prompt, such as `filter`, a text to edit, and a hint below it."""
        prompt = self.query_one("#filter-prompt", LineBar)
        prompt.styles.width = len(prompt_label) + 2
        prompt.show(((f" {prompt_label} ", "dim"),))
        self._last_completion = None
        self._set_text(text, len(text))
        self._show_message(hint, "dim")

    def close(self) -> None:
        self.display = False

    def show_error(self, message: str, position: int | None) -> None:
        """Show an error message, with a caret under the character at `position` of the text."""
        if position is None:
            self._show_message(f" {message}", "bad")
            return

        line = self.query_one(FilterInput)
        line.cursor_position = min(position, len(line.value))
        prompt_cells = len(self.kind) + 2
        text_cells = display_width(sanitize(line.value[:position]))
        caret_cells = prompt_cells + text_cells - int(line.scroll_offset.x)
        error_line = _place_message_at_caret(sanitize(message), caret_cells, self._line_cells)
        self._show_message(error_line, "bad")

    @property
    def _line_cells(self) -> int:
        """Width of the line. A line that was just shown has no size yet."""
        return self.size.width or self.screen.size.width

    def _show_message(self, text: str, style: str) -> None:
        message_bar = self.query_one("#filter-says", LineBar)
        message_bar.show(((truncate(text, self._line_cells), style),))

    def _set_text(self, text: str, cursor: int) -> None:
        line = self.query_one(FilterInput)
        with line.prevent(Input.Changed):
            line.value = text
        line.cursor_position = cursor

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Apply the filter or search that the user typed. If they typed a name, save the filter
        under it.
        """
        event.stop()
        text = event.value.strip()
        if self._filter_to_save is not None:
            self._save_filter(text, self._filter_to_save)
            return
        if text:
            self._filters.add_recent_text(self.kind, text)
        if self.kind == "filter":
            try:
                # A saved filter is named like `@name` in another filter.
                text = self._filters.expand_saved_filters(event.value).strip()
            except FilterError as error:
                self.show_error(error.message, error.position)
                return
        self.post_message(self.Submitted(self.kind, text))

    # -- completion

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the completions of the word that is being typed, or else a hint."""
        event.stop()
        self._last_completion = None
        # Only filters have completions. The line also asks for a search, or for the name of a
        # filter to save.
        if self.kind != "filter" or not self.display or self._filter_to_save is not None:
            return

        cursor = self.query_one(FilterInput).cursor_position
        word = find_word_at_cursor(event.value, cursor).text
        if word.startswith(SAVED_FILTER_PREFIX) and not self._completion_context.saved:
            self._read_saved_filters()

        completions = []
        if word:
            completions = list_completions(event.value, cursor, self._completion_context)
        message = self._hint
        if completions:
            message = format_completions(completions, 0)
        self._show_message(message, "dim")

    def _read_saved_filters(self) -> None:
        self._completion_context = replace(
            self._completion_context, saved=self._filters.usable_filters
        )

    def action_complete(self) -> None:
        if self.kind == "filter" and self._filter_to_save is None:
            self.post_message(self.CompletionRequested())

    def apply_completion(self, facets: Facets, *, blind: bool) -> None:
        """Replace the word at the cursor by its first completion.

        If the word was just completed, insert the next completion.
        """
        self._completion_context = CompletionContext(
            facets, saved=self._filters.usable_filters, blind=blind
        )
        line = self.query_one(FilterInput)
        last = self._last_completion
        if last is not None and last.edited_text == line.value:
            # The text is still as the last completion left it.
            choices = last.choices
            index = (last.index + 1) % len(choices)
        else:
            choices = list_completions(line.value, line.cursor_position, self._completion_context)
            index = 0

        if choices:
            self._insert_completion(choices, index)
        self._show_message(format_completions(choices, index), "dim")

    def _insert_completion(self, choices: Sequence[Completion], index: int) -> None:
        """Replace the word at the cursor by a completion.

        If there are several, remember them, so that the same key inserts the next one.
        """
        line = self.query_one(FilterInput)
        edited = insert_completion(line.value, line.cursor_position, choices[index])
        self._set_text(edited.text, edited.cursor)
        if len(choices) > 1:
            self._last_completion = _InsertedCompletion(edited.text, choices, index)
        else:
            self._last_completion = None

    # -- history and saved filters

    def action_history(self, by: int) -> None:
        """Replace the text by an earlier one (`by` negative) or a later one of the same kind."""
        if self._filter_to_save is not None:
            return
        # The latest text is at the end of the history, with the index -1. 0 stands for new text.
        entries = self._filters.list_recent_texts(self.kind)
        oldest_index = -len(entries)
        index = max(oldest_index, min(self._history_index + by, 0))
        if index == self._history_index:
            return

        self._history_index = index
        text = "" if index == 0 else entries[index]
        self._set_text(text, cursor=len(text))

    def action_save(self) -> None:
        """Ask for a name under which to save the filter. An invalid filter is not saved."""
        if self._filter_to_save is not None:
            return
        text = self.query_one(FilterInput).value.strip()
        if self.kind != "filter":
            self._show_message(" only filters can be saved", "bad")
            return
        if not text:
            self._show_message(" enter a filter to save", "bad")
            return
        try:
            self._filters.expand_saved_filters(text)
        except FilterError as error:
            self.show_error(error.message, error.position)
            return

        # The line now asks for the name.
        self._filter_to_save = text
        self._name_to_replace = ""
        self._set_prompt(f"save as {SAVED_FILTER_PREFIX}", "", self.NAME_HINT)

    def _save_filter(self, name: str, text: str) -> None:
        """Save a filter. To replace another one of this name, the annotator submits twice."""
        bare = name.removeprefix(SAVED_FILTER_PREFIX)
        is_confirmed = self._name_to_replace == bare
        if bare in self._filters.saved_filters and not is_confirmed:
            self._name_to_replace = bare
            message = f" {SAVED_FILTER_PREFIX}{bare} exists; press enter again to replace it"
            self._show_message(message, "warn")
            return
        try:
            self._filters.save_filter(name, text)
        except (SavedFilterError, FilterError) as error:
            self._show_message(f" {sanitize(str(error))}", "bad")
            return
        self._filter_to_save = None
        self._read_saved_filters()
        self._set_prompt(self.kind, text, f" saved as {SAVED_FILTER_PREFIX}{bare}")

    def action_cancel(self) -> None:
        """Close the line. While the user types a name for a filter, return to the filter
        instead.
        """
        if self._filter_to_save is not None:
            filter_text = self._filter_to_save
            self._filter_to_save = None
            self._set_prompt(self.kind, filter_text, self._hint)
            return
        self.close()
        self.post_message(self.Cancelled())

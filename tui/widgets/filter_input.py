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
    found = _LAST_WORD.search(text[:cursor])
    start = found.start() if found else cursor
    start += text[start:cursor].startswith("-")
    return WordAtCursor(start, text[start:cursor])


@dataclass(frozen=True, slots=True)
class CompletionContext:
    """Data for completions: the values of each filter key, and the saved filters by name."""

    facets: Facets = field(default_factory=dict)
    saved: Mapping[str, str] = field(default_factory=dict)
    blind: bool = False


def list_completions(text: str, cursor: int, context: CompletionContext) -> list[Completion]:
    """Return completions of the word at the cursor, the most frequent value first."""
    blind, facets = context.blind, context.facets
    word = find_word_at_cursor(text, cursor).text
    if word.startswith(SAVED_FILTER_PREFIX) or not word:
        saved = [
            Completion(SAVED_FILTER_PREFIX + name, sanitize(where))
            for name, where in context.saved.items()
        ]
        matching = [each for each in saved if each.text.lower().startswith(word.lower())]
        return (
            matching
            if word
            else [Completion(*each) for each in list_filter_help(blind=blind)] + matching
        )
    key, colon, typed = word.partition(":")
    if not colon:
        return [
            Completion(*each)
            for each in list_filter_help(blind=blind)
            if each[0].startswith(word.lower())
        ]
    if f"{key}:" not in {name for name, _ in list_filter_help(blind=blind)}:
        return []
    head, _, last = typed.rpartition("|")
    prefix = f"{key}:{head}|" if head else f"{key}:"
    counts = dict(facets.get(key, ()))
    values = [*counts, *(name for name in list_key_values(key, blind=blind) if name not in counts)]
    return [
        Completion(
            prefix + _quote_if_needed(value), f"{counts[value]:,}" if value in counts else ""
        )
        for value in values
        if value.lower().startswith(last.strip('"').lower())
    ]


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
    """Format completions on one line, starting with index `first_index`: ` official: pass, fail ...
    and 3 more matches`.
    """
    labels = [
        each.display_text.strip()
        for each in (*completions[first_index:], *completions[:first_index])[:max_count]
    ]
    more = (
        f"   and {len(completions) - max_count:,} more matches"
        if len(completions) > max_count
        else ""
    )
    return " " + "   ".join(labels) + more if labels else " no matches"


class FilterInput(SafeInput):
    """Text box of the filter line."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(FILTER_INPUT_ACTIONS)


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
        super().__init__(id=id)
        self.display = False
        self.kind = ""
        self._hint = ""
        self._filters = filters
        self._completion_context = CompletionContext(blind=filters.blind)
        self._last_completion: tuple[str, list[Completion], int] | None = None
        """(text after the last completion, all completions, index of the inserted completion)."""
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
        self.kind, self._hint, self._history_index, self._filter_to_save = kind, hint, 0, None
        self.display = True
        self._set_prompt(kind, text, hint)
        self.query_one(FilterInput).focus()

    def _set_prompt(self, prompt_label: str, text: str, hint: str) -> None:
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
        line = self.query_one(FilterInput)
        if position is None:
            self._show_message(f" {message}", "bad")
            return
        line.cursor_position = min(position, len(line.value))
        at = (
            len(self.kind)
            + 2
            + display_width(sanitize(line.value[:position]))
            - int(line.scroll_offset.x)
        )
        room = self.size.width or self.screen.size.width
        text = sanitize(message)
        if at + 2 + display_width(text) <= room:
            self._show_message(" " * at + "^ " + text, "bad")
        elif display_width(text) + 2 <= at:
            self._show_message(" " * (at - display_width(text) - 1) + text + " ^", "bad")
        else:
            indent = 0 if at < 3 else min(at, max(room - display_width(text) - 2, 0))
            self._show_message(" " * indent + "^ " + text, "bad")

    def _show_message(self, text: str, style: str) -> None:
        cells = self.size.width or self.screen.size.width
        self.query_one("#filter-says", LineBar).show(((truncate(text, cells), style),))

    def _set_text(self, text: str, cursor: int) -> None:
        line = self.query_one(FilterInput)
        with line.prevent(Input.Changed):
            line.value = text
        line.cursor_position = cursor

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = event.value.strip()
        if self._filter_to_save is not None:
            self._save_filter(text, self._filter_to_save)
            return
        if text:
            self._filters.add_recent_text(self.kind, text)
        if self.kind == "filter":
            try:
                text = self._filters.expand_saved_filters(event.value).strip()
            except FilterError as error:
                self.show_error(error.message, error.position)
                return
        self.post_message(self.Submitted(self.kind, text))

    # -- completion

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the completions of the word that is being typed."""
        event.stop()
        self._last_completion = None
        if self.kind != "filter" or not self.display or self._filter_to_save is not None:
            return
        cursor = self.query_one(FilterInput).cursor_position
        word = find_word_at_cursor(event.value, cursor).text
        if word.startswith(SAVED_FILTER_PREFIX) and not self._completion_context.saved:
            self._read_saved_filters()
        found = list_completions(event.value, cursor, self._completion_context) if word else []
        self._show_message(format_completions(found, 0) if found else self._hint, "dim")

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
        if self._last_completion is not None and self._last_completion[0] == line.value:
            _, found, at = self._last_completion
            at = (at + 1) % len(found)
        else:
            found, at = (
                list_completions(line.value, line.cursor_position, self._completion_context),
                0,
            )
        if found:
            text, cursor = insert_completion(line.value, line.cursor_position, found[at])
            self._set_text(text, cursor)
            self._last_completion = (text, found, at) if len(found) > 1 else None
        self._show_message(format_completions(found, at), "dim")

    # -- history and saved filters

    def action_history(self, by: int) -> None:
        if self._filter_to_save is not None:
            return
        entries = self._filters.list_recent_texts(self.kind)
        index = max(-len(entries), min(self._history_index + by, 0))
        if index != self._history_index:
            self._history_index = index
            text = entries[index] if index else ""
            self._set_text(text, len(text))

    def action_save(self) -> None:
        """Ask for a name under which to save the filter."""
        text = self.query_one(FilterInput).value.strip()
        if self._filter_to_save is not None:
            return
        if self.kind != "filter" or not text:
            message = (
                " enter a filter to save" if self.kind == "filter" else " only filters can be saved"
            )
            self._show_message(message, "bad")
            return
        try:
            self._filters.expand_saved_filters(text)
        except FilterError as error:
            self.show_error(error.message, error.position)
            return
        self._filter_to_save, self._name_to_replace = text, ""
        self._set_prompt(f"save as {SAVED_FILTER_PREFIX}", "", self.NAME_HINT)

    def _save_filter(self, name: str, text: str) -> None:
        bare = name.removeprefix(SAVED_FILTER_PREFIX)
        if bare in self._filters.saved_filters and self._name_to_replace != bare:
            self._name_to_replace = bare
            self._show_message(
                f" {SAVED_FILTER_PREFIX}{bare} exists; press enter again to replace it", "warn"
            )
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
        if self._filter_to_save is not None:
            text, self._filter_to_save = self._filter_to_save, None
            self._set_prompt(self.kind, text, self._hint)
            return
        self.close()
        self.post_message(self.Cancelled())

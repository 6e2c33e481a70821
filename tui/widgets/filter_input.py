"""The line at the bottom in which a filter or a search is typed; what is wrong with it is said below, at its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from fcreview.model.sanitize import visible, width
from fcreview.store.filters.parser import FilterError
from fcreview.store.filters.saved import SIGN, SavedError
from fcreview.tui.actions import FILTER, FILTER_INPUT
from fcreview.tui.key_bindings import bindings
from fcreview.tui.queue.choices import (
    Completion,
    CompletionContext,
    Facets,
    complete_word,
    completions_line,
    insert_completion,
    word_at,
)
from fcreview.tui.queue.state import FilterHistory
from fcreview.tui.text.lines import cut
from fcreview.tui.widgets.document_view import LineBar
from fcreview.tui.widgets.safe_input import SafeInput


class FilterInput(SafeInput):
    BINDINGS: ClassVar[list[BindingType]] = bindings(FILTER_INPUT)


class FilterLine(Vertical):
    """Hidden until `open`. Enter posts `Submitted`, with a filter that is understood; the screen closes the line."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(FILTER)

    FILTER = ' such as official:fail -reviewed error:value_error text:"celsius"'
    SEARCH = " items whose id or texts hold this"
    """What is said until something is typed."""
    NAMING = " a name to keep this filter under: letters, digits and _ . -"

    @dataclass
    class Submitted(Message):
        kind: str
        """As handed to `open`: `filter` or `search`."""
        text: str
        """Of a filter, with what each `@name` stands for."""

    @dataclass
    class Cancelled(Message):
        pass

    @dataclass
    class Completing(Message):
        """Whoever knows what there is calls `complete`."""

    def __init__(self, typed: FilterHistory, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.display = False
        self.kind = ""
        self._hint = ""
        self._typed = typed
        self._completion_context = CompletionContext(blind=typed.blind)
        self._offered: tuple[str, list[Completion], int] | None = None
        """What stands there since the last completion, what else was completions_line, and which of it was taken."""
        self._at = 0
        """Place in the history, from its end."""
        self._naming: str | None = None
        """The filter that a name is typed for, if one is."""
        self._asked = ""
        """The name of which was said that it is there."""

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield LineBar(id="filter-prompt")
            line = FilterInput(compact=True, select_on_focus=False)
            line.cursor_blink = False
            yield line
        yield LineBar(id="filter-says")

    def open(self, kind: str, text: str, hint: str) -> None:
        self.kind, self._hint, self._at, self._naming = kind, hint, 0, None
        self.display = True
        self._ask(kind, text, hint)
        self.query_one(FilterInput).focus()

    def _ask(self, prompted: str, text: str, hint: str) -> None:
        prompt = self.query_one("#filter-prompt", LineBar)
        prompt.styles.width = len(prompted) + 2
        prompt.show(((f" {prompted} ", "dim"),))
        self._offered = None
        self._put(text, len(text))
        self._say(hint, "dim")

    def close(self) -> None:
        self.display = False

    def complain(self, message: str, position: int | None) -> None:
        """Shows the message with a caret under the character at `position` of the text."""
        line = self.query_one(FilterInput)
        if position is None:
            self._say(f" {message}", "bad")
            return
        line.cursor_position = min(position, len(line.value))
        at = len(self.kind) + 2 + width(visible(line.value[:position])) - int(line.scroll_offset.x)
        room = self.size.width or self.screen.size.width
        says = visible(message)
        if at + 2 + width(says) <= room:
            self._say(" " * at + "^ " + says, "bad")
        elif width(says) + 2 <= at:
            self._say(" " * (at - width(says) - 1) + says + " ^", "bad")
        else:
            self._say("^ " + says if at < 3 else " " * min(at, max(room - width(says) - 2, 0)) + "^ " + says, "bad")

    def _say(self, text: str, style: str) -> None:
        cells = self.size.width or self.screen.size.width
        self.query_one("#filter-says", LineBar).show(((cut(text, cells), style),))

    def _put(self, text: str, cursor: int) -> None:
        line = self.query_one(FilterInput)
        with line.prevent(Input.Changed):
            line.value = text
        line.cursor_position = cursor

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = event.value.strip()
        if self._naming is not None:
            self._keep(text, self._naming)
            return
        if text:
            self._typed.remember(self.kind, text)
        if self.kind == "filter":
            try:
                text = self._typed.expand(event.value).strip()
            except FilterError as error:
                self.complain(error.message, error.position)
                return
        self.post_message(self.Submitted(self.kind, text))

    # -- completion

    def on_input_changed(self, event: Input.Changed) -> None:
        """What the word may become, while it is typed."""
        event.stop()
        self._offered = None
        if self.kind != "filter" or not self.display or self._naming is not None:
            return
        cursor = self.query_one(FilterInput).cursor_position
        _, word = word_at(event.value, cursor)
        if word.startswith(SIGN) and not self._completion_context.saved:
            self._completion_context = CompletionContext(
                self._completion_context.facets, self._typed.usable, self._completion_context.blind
            )
        found = complete_word(event.value, cursor, self._completion_context) if word else []
        self._say(completions_line(found, 0) if found else self._hint, "dim")

    def action_complete(self) -> None:
        if self.kind == "filter" and self._naming is None:
            self.post_message(self.Completing())

    def complete(self, facets: Facets, *, blind: bool) -> None:
        """The word at the cursor as the first candidate has it; again, as the next one does."""
        self._completion_context = CompletionContext(facets, self._typed.usable, blind)
        line = self.query_one(FilterInput)
        if self._offered is not None and self._offered[0] == line.value:
            _, found, at = self._offered
            at = (at + 1) % len(found)
        else:
            found, at = complete_word(line.value, line.cursor_position, self._completion_context), 0
        if not found:
            self._say(completions_line(found, 0), "dim")
            return
        text, cursor = insert_completion(line.value, line.cursor_position, found[at])
        self._put(text, cursor)
        self._offered = (text, found, at) if len(found) > 1 else None
        self._say(completions_line(found, at), "dim")

    # -- history, and filters with names

    def action_history(self, by: int) -> None:
        if self._naming is not None:
            return
        typed = self._typed.history(self.kind)
        at = max(-len(typed), min(self._at + by, 0))
        if at != self._at:
            self._at = at
            text = typed[at] if at else ""
            self._put(text, len(text))

    def action_save(self) -> None:
        """Asks for the name of the filter that stands there."""
        text = self.query_one(FilterInput).value.strip()
        if self._naming is not None:
            return
        if self.kind != "filter" or not text:
            self._say(" there is no filter to save" if self.kind == "filter" else " only filters are saved", "bad")
            return
        try:
            self._typed.expand(text)
        except FilterError as error:
            self.complain(error.message, error.position)
            return
        self._naming, self._asked = text, ""
        self._ask(f"save as {SIGN}", "", self.NAMING)

    def _keep(self, name: str, text: str) -> None:
        bare = name.removeprefix(SIGN)
        if bare in self._typed.saved and self._asked != bare:
            self._asked = bare
            self._say(f" it is there: enter again replaces {SIGN}{bare}", "warn")
            return
        try:
            self._typed.save(name, text)
        except (SavedError, FilterError) as error:
            self._say(f" {visible(str(error))}", "bad")
            return
        self._naming = None
        self._completion_context = CompletionContext(
            self._completion_context.facets, self._typed.usable, self._completion_context.blind
        )
        self._ask(self.kind, text, f" saved: {SIGN}{bare} stands for it from now on")

    def action_cancel(self) -> None:
        if self._naming is not None:
            text, self._naming = self._naming, None
            self._ask(self.kind, text, self._hint)
            return
        self.close()
        self.post_message(self.Cancelled())

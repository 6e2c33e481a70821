"""A list to choose one thing from, as a table over the whole screen or, if small, in its lower part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget

from fcreview.text.words import count_of
from fcreview.tui.keys import bindings, no_key
from fcreview.tui.keytable import IN_FRONT, PICKER
from fcreview.tui.text.choices import Choices
from fcreview.tui.text.format import waiting_words
from fcreview.tui.text.lines import Line, fit, rule, spread
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.document import LineBar
from fcreview.tui.widgets.line_list import TextList
from fcreview.tui.widgets.status import KeyLine
from fcreview.tui.widgets.waiting import Waiting
from fcreview.tui.widgets.work import work

T = TypeVar("T")


class PickScreen(ModalScreen[T | None]):
    """Gives the value that was chosen, or None. Choices that take a while come from an awaitable; until the first are
    there, one line over the screen below says what is waited for."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(PICKER, IN_FRONT)
    CSS_PATH = "pick.tcss"
    DOING = "reading"
    """What is told while choices are waited for."""

    def __init__(
        self, choices: Choices[T] | None = None, *, load: Callable[[], Awaitable[Choices[T] | None]] | None = None
    ):
        super().__init__(classes="waiting" if choices is None else "small" if choices.small else None)
        self._choices = choices
        self._load_choices = load
        self.waiting = Waiting(self, self._say_how_long)
        self._said = ""
        """In the place of the title, until the cursor moves."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(id="pick-title")
            yield LineBar(id="pick-heading")
            yield TextList(id="pick-list")
            yield from self.below()
            yield KeyLine()

    def below(self) -> Iterable[Widget]:
        """What stands between the list and the keys."""
        return ()

    def on_mount(self) -> None:
        self.list.focus()
        self.watch(self.list, "cursor", lambda: self.say(""), init=False)
        if self._load_choices is not None:
            self._load()

    @property
    def list(self) -> TextList:
        return self.query_one("#pick-list", TextList)

    @work()
    async def _load(self) -> None:
        if self._load_choices is not None:
            self.waiting.begin()
            self._choices = await self._load_choices()
            self.waiting.end()
            self._draw()

    def _say_how_long(self, seconds: float) -> None:
        said: Line = ((waiting_words(self.DOING, seconds), "dim"),)
        cells = self.size.width
        over = self._choices is None
        line = rule(said, cells, symbols().rule) if over else fit(((" ", ""), *said), cells)
        self.query_one("#pick-title", LineBar).show(line)

    def on_resize(self) -> None:
        self._draw()

    def say(self, message: str) -> None:
        """Why a key does nothing, in the place of the title."""
        if message != self._said:
            self._said = message
            self._draw_title()

    def no_key(self, key: str) -> None:
        self.say(no_key(self.app, key))

    def _draw_title(self) -> None:
        cells, choices = self.size.width, self._choices
        title = self.query_one("#pick-title", LineBar)
        if choices is None:
            self._say_how_long(0)
            return
        name: Line = ((f"{choices.title}", "strong"), (f" {symbols().between} {self._amount(choices)}", ""))
        if self._said:
            name = ((self._said, "warn"),)
        if choices.small:
            title.show(rule(name, cells, symbols().rule))
        elif self._said:
            title.show(fit(((" ", ""), *name), cells))
        else:
            title.show(spread(((" ", ""), *name), fit(((choices.note + " ", "dim"),), cells // 2), cells))

    def _draw(self) -> None:
        cells, choices = self.size.width, self._choices
        self._said = ""
        self._draw_title()
        if choices is None:
            return
        self.remove_class("waiting")
        if choices.small:
            self.list.styles.height = len(choices.rows)
        heading, lines = choices.lines(cells)
        self.query_one("#pick-heading", LineBar).show(heading)
        first = not self.list.total
        self.list.empty = ((" " + choices.empty, "dim"),)
        self.list.set_lines(lines, choices.cursor if first else None)

    def _amount(self, choices: Choices[T]) -> str:
        return count_of(len(choices.rows) if choices.amount is None else choices.amount, choices.noun)

    def action_take(self) -> None:
        if self._choices is not None and self._choices.values:
            self.dismiss(self._choices.values[self.list.cursor])

    def on_line_list_chosen(self) -> None:
        self.action_take()

    def action_close(self) -> None:
        self.dismiss(None)

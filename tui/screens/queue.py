"""The queue: the first screen. Which items, in which order, with what everybody says of them.

Its parts: `QueueState` is what the person set, `QueuePane` shows it, `Choosing` offers what to choose from.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from fcreview.tui.actions import QUEUE
from fcreview.tui.key_bindings import bindings, key_names
from fcreview.tui.queue.state import Levels, Position, QueueState, Standing
from fcreview.tui.screens.queue_choices import Choosing
from fcreview.tui.screens.queue_pane import QueuePane
from fcreview.tui.screens.split_view import Panes
from fcreview.tui.session import Session
from fcreview.tui.widgets.document_view import KeyLine
from fcreview.tui.widgets.filter_input import FilterLine
from fcreview.tui.widgets.lists import QueueList

if TYPE_CHECKING:
    from fcreview.tui.screens.item_pane import ItemScreen

ITEM = "fcreview.tui.screens.item_pane"
AT_REST = 0.3
"""Seconds behind the first rows after which what shows an item is imported, so that the first one opens like any."""
ACTIONS = {action.does.partition("(")[0] for action in QUEUE}


class QueueScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = bindings(QUEUE)

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """Textual would draw the whole screen anew each time the focus moves."""

    def __init__(
        self,
        session: Session,
        state: QueueState,
        *,
        open_item: int | str | None = None,
        message: str = "",
        position: Position | None = None,
    ) -> None:
        """`position`: where the queue was left the last time."""
        super().__init__()
        self._session = session
        self.state = state
        self._levels = Levels(state, position.levels if position else ())
        self._choosing = Choosing(session, state, self._levels)
        self.pane = QueuePane(session, state, self._choosing)
        self._panes = Panes(session, state, self.pane)
        self._imported = False
        self._beginning = (position.standing if position else Standing(), open_item, message)

    def compose(self) -> ComposeResult:
        yield self._panes
        yield KeyLine()

    def on_mount(self) -> None:
        self.list.focus()
        self.pane.begin(*self._beginning)

    @property
    def list(self) -> QueueList:
        return self.pane.list

    @property
    def _filter_line(self) -> FilterLine:
        return self.pane.filter_line

    # -- items

    def action_open(self) -> None:
        row = self.list.row_at(self.list.cursor)
        if row is not None and not self._panes.to_item():
            self.show_item(row.item)

    def action_to_item(self) -> None:
        if not self._panes.to_item():
            self.pane.say("there is no item")

    def on_line_list_chosen(self) -> None:
        self.action_open()

    def on_queue_pane_rows(self) -> None:
        if not self._imported:
            self._imported = True
            ahead = Thread(target=import_module, args=(ITEM,), name="ahead", daemon=True)
            self.set_timer(AT_REST, ahead.start)

    def on_queue_pane_found(self, found: QueuePane.Found) -> None:
        row = self.list.row_at(self.list.cursor)
        if row is None or row.item != found.item or not self._panes.to_item():
            self.show_item(found.item)

    def show_item(self, item: int) -> None:
        from fcreview.tui.screens.item_pane import ItemScreen

        screen = ItemScreen(self._session, self.state.view, item)
        screen.widens = not self._panes.two
        self.app.push_screen(screen, partial(self._back_from, screen))

    def _back_from(self, screen: ItemScreen, item: int | None) -> None:
        if screen.gave_way:  # to two panes, though there may be room for one by now
            self._panes.take_over(screen.pane)
        self._back(item)

    def action_adjudicate(self) -> None:
        if self.state.blind:
            self.pane.say("adjudication is hidden in blind mode: it shows what others said")
            return
        from fcreview.tui.screens.adjudication import AdjudicationScreen

        self.app.push_screen(AdjudicationScreen(self._session, self.state.view), self._back)

    def _back(self, item: int | None) -> None:  # reviews may have changed what the view holds, and its order
        self.pane.load(Standing(item, self.list.cursor))

    # -- what is set

    def action_filter(self) -> None:
        key = key_names(self.app).get("app.help", "")
        self._filter_line.open("filter", self.state.where, FilterLine.FILTER + (f"  ({key} lists all)" if key else ""))

    def action_search(self) -> None:
        self._filter_line.open("search", self.state.search, FilterLine.SEARCH)

    def on_filter_line_submitted(self, typed: FilterLine.Submitted) -> None:
        here, before = self.pane.here, self.state.setting
        if typed.kind == "search":
            self.state.search = typed.text
        else:
            self.state.where = typed.text
        self._levels.go_in(before, here)
        self._filter_line.close()
        self.list.focus()
        self.pane.load(Standing(here.item), leave=key_names(self.app).get("queue.back", ""))

    def on_filter_line_cancelled(self) -> None:
        self.list.focus()

    def on_descendant_focus(self) -> None:
        """A click into the list or the item while a filter is typed."""
        if self._filter_line.display and not self._filter_line.has_focus_within:
            self._filter_line.close()

    def action_clear_filter(self) -> None:
        if not self.state.narrowed:
            self.pane.say("all items are shown already")
            return
        here = self.pane.here
        self._levels.clear()
        self.pane.load(Standing(here.item))

    def action_choose(self, what: str) -> None:
        choice = self._choosing.choices[what]
        why = choice.why_not()
        if why:
            self.pane.say(why)
        elif choice.ask is not None:
            self.app.push_screen(choice.ask(), partial(self._chosen, what))

    def _chosen(self, what: str, answer: Any) -> None:
        if answer is not None:
            self.pane.load(self._choosing.take(what, answer, self.pane.here))

    def go(self, what: str, answer: Any) -> None:
        """Chosen in the palette."""
        self.pane.load(self._choosing.take(what, answer, self.pane.here, listed=False))

    def jump(self, item: int) -> None:
        """Opens it; the cursor is on it, too, if the view holds it."""
        self.pane.begin(self.pane.here, item, "")

    def say(self, message: str) -> None:
        self.pane.say(message)

    # -- levels

    def action_back(self, leave: bool) -> None:
        """To the level above, and to the list that led here; from the outermost, `leave` leaves the program."""
        level = self._levels.back()
        if level is not None:
            self.pane.load(level.standing)
            if level.via:
                self.action_choose(level.via)
        elif leave:
            self.app.call_later(self.app.run_action, "quit")
        else:
            self.pane.say(f"nothing lies above this: {key_names(self.app).get('queue.quit', '')} leaves")

    @property
    def position(self) -> Position:
        return Position(self.state.setting, self.pane.here, self._levels.above)

    @property
    def idle_keys(self) -> frozenset[str]:
        """Of actions that would only say why there is nothing to do."""
        hidden = {"queue.adjudicate"} if self.state.blind else set()
        return self._choosing.idle | hidden | (set() if self.state.narrowed else {"queue.clear"})

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        if action not in ACTIONS or not self.is_mounted:
            return True
        if action == "to_item" and not self._panes.two:
            return False
        return not (self._filter_line.display or self._panes.in_item or self._panes.opening)

    @property
    def opening(self) -> bool:
        return self._panes.opening

    def on_screen_resume(self) -> None:
        self._panes.resume()

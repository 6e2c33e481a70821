"""The item pane and the item screen: question, expected and predicted calls, verdicts, and one key for a verdict.

`ItemPane` connects keys and widgets to `ItemReviewer`, which records reviews and moves through the queue. `ItemScreen`
shows one pane; `split_view.Panes` shows it beside the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from math import inf
from time import monotonic
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen

from fcreview.model.address import ITEM
from fcreview.store.rows import View
from fcreview.tui.actions import ITEM as ITEM_ACTIONS
from fcreview.tui.item_view.blocks import Options
from fcreview.tui.item_view.document import header_line
from fcreview.tui.key_bindings import bindings, key_names
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.review.item_reviewer import ItemReviewer
from fcreview.tui.review.judge import ReviewSubject, unanswered_judge_verdicts
from fcreview.tui.review.prefetch import DisplayedItem, ItemPrefetcher, RequestedItem
from fcreview.tui.review.status import SILENT, Remark, status_line
from fcreview.tui.screens import item_dialogs
from fcreview.tui.screens.dialogs import AskScreen
from fcreview.tui.screens.golden_editor import ask_golden
from fcreview.tui.session import Session
from fcreview.tui.text.lines import TWO_FROM, Line
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.item_text import ItemBody, ItemText

DISARMED = Remark("verdict target: whole item", "warn")
NO_TARGET = Remark("no part under the cursor takes a verdict", "warn")


class VerdictTarget:
    """Selects what verdict keys are about: the whole item, or the part under the cursor."""

    def __init__(self) -> None:
        self.on_cursor = False

    def toggle(self, reader: Cursor) -> Remark:
        """Switch between the item and the part under the cursor, if there is one."""
        if not self.on_cursor and reader.target == ITEM:
            return NO_TARGET
        self.on_cursor = not self.on_cursor
        return SILENT if self.on_cursor else DISARMED

    def follow_cursor(self, reader: Cursor) -> Remark | None:
        """Return to the whole item if the cursor moved to a block that takes no verdict. Returns the message if so."""
        if not self.on_cursor or reader.target != ITEM:
            return None
        self.on_cursor = False
        return DISARMED


class KeyPressContext:
    """Finds the item that was on screen when a key was pressed. Until the next item is drawn, keys are about the
    previous one."""

    def __init__(self) -> None:
        self._drawn: ReviewSubject | None = None
        self._previous: ReviewSubject | None = None
        self._drawn_at = inf
        self._from_list = False

    def set_drawn(self, subject: ReviewSubject) -> None:
        """Set the subject that the header and the status line name from now on."""
        self._drawn = subject

    def begin_item(self, *, from_list: bool) -> None:
        """Note that another item is displayed but not drawn yet. `from_list`: the list beside it named it before."""
        self._previous, self._drawn_at, self._from_list = None if from_list else self._drawn, inf, from_list

    def end_item(self, moment: float) -> None:
        """Note that the item is drawn. `moment`: seconds of the monotonic clock."""
        self._drawn_at = moment

    def is_ambiguous(self, pressed: float | None) -> bool:
        """Whether list and header named different items when the key was pressed."""
        return self._from_list and pressed is not None and pressed < self._drawn_at

    def subject(self, pressed: float | None, current: ReviewSubject) -> ReviewSubject:
        """The subject on screen at a key press. `pressed`: its time, or None if no key was pressed."""
        return current if self._previous is None or pressed is None or pressed >= self._drawn_at else self._previous


class ItemPane(Vertical):
    """One item with its status line. Implements `ItemView`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(ITEM_ACTIONS)

    position: reactive[int | None] = reactive(None, repaint=False, init=False, always_update=True)
    """Index of the displayed item in the queue. Watchers run before the next key is handled."""

    @dataclass
    class Closed(Message):
        """The pane is closed. `item` was displayed last."""

        item: int

    @dataclass
    class ReviewSaved(Message):
        """A review of the item is on disk."""

        item: int

    def __init__(self, session: Session, view: View, make_screen: Callable[[View, int], Screen[int]]) -> None:
        """`make_screen` returns a screen that shows another item over this one."""
        super().__init__()
        self._session = session
        self.text = ItemText(id="item-text")
        self.make_screen = make_screen
        self._opened: int | None = None
        """The item that was to be opened last."""
        self._prefetcher = ItemPrefetcher(session, view)
        self.item_reviewer = ItemReviewer(session, self._prefetcher, self, self._key)
        self.is_left = False
        """The focus is in the list and its item is not known yet. Until it is, no review is recorded."""
        self._from_list = False
        """The list beside the pane asked for the next item."""
        self.follows_list = False
        """True while the list beside the pane has the focus: the pane shows the item under the list's cursor."""
        self._target, self._key_press = VerdictTarget(), KeyPressContext()
        self._remark = SILENT

    def compose(self) -> ComposeResult:
        yield LineBar(id="item-header")
        yield ItemBody(self.text)
        yield LineBar(id="item-status")

    def on_mount(self) -> None:
        self.watch(self.text, "moves", self._cursor_moved, init=False)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw_bars)

    def open(self, item: int) -> None:
        """Show the first item."""
        self._opened = item
        self.item_reviewer.open(item)

    def is_showing(self, item: int, view: View) -> bool:
        """Whether the item of this view is displayed, or is the next to be."""
        return self.item_reviewer.is_showing(item, view) and not self.is_left

    def request(self, requested: RequestedItem) -> None:
        """Set the item that `ItemReviewer.show_requested` displays. Until then no review is recorded."""
        self._opened, self.is_left, self._from_list = requested.item, False, True
        self.item_reviewer.request(requested)

    def continue_from(self, other: ItemPane) -> None:
        """Show the item of another pane that was closed, as it was there."""
        self._opened, self.is_left = other._opened, False
        self._target, self._remark = other._target, other._remark
        self.item_reviewer.continue_from(other.item_reviewer)
        self.text.go_on_from(other.text)
        self.refresh_bindings()
        self.call_after_refresh(self._prefetch)

    @property
    def opening(self) -> bool:
        """True until the item is displayed. Keys that would review it are dropped, and the app rings the bell."""
        return self.is_left or self.item_reviewer.has_request or not self.item_reviewer.has_item

    def resume(self) -> None:
        """Continue after a screen that covered the pane was closed."""
        self._session.queue = self._prefetcher.view.file  # the other screen may have shown another queue
        self.item_reviewer.resume()

    @property
    def reader(self) -> Cursor:
        """The cursor in the displayed item."""
        return self.text.reading

    @property
    def target(self) -> str:
        """Address that verdict keys are about."""
        return self.reader.target if self._target.on_cursor else ITEM

    def _subject(self) -> ReviewSubject | None:
        """The item and target on screen when the key was pressed.

        None, with a bell, if the list and the header named different items then.
        """
        pressed = getattr(self.app, "pressed", None)
        if self._key_press.is_ambiguous(pressed):
            self.app.bell()
            return None
        return self._key_press.subject(pressed, self._current_subject())

    def _current_subject(self) -> ReviewSubject:
        displayed = self.item_reviewer.displayed
        return ReviewSubject(displayed.walk.item, displayed.detail, self.target)

    def _key(self, action: str) -> str:
        return key_names(self.app).get(action, "")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return action == "back" or not (self.opening or (self.item_reviewer.is_gone and action != "step"))

    # -- what `ItemReviewer` shows

    @property
    def in_front(self) -> bool:
        """True if nothing covers the pane and it may show another item."""
        if self.follows_list:
            return False
        return self.app.screen is self.screen  # `is_current` is also true below a transparent prompt

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as long as the pane exists."""
        self.run_worker(work, group="actions")

    def begin(self, displayed: DisplayedItem, remark: Remark) -> None:
        """Show another item."""
        self._key_press.begin_item(from_list=self._from_list)
        self._from_list, self._target.on_cursor, self._remark = False, False, remark
        if self.text.reader is None:
            keys = " ".join(filter(None, map(self._key, ("item.group_previous", "item.group_next"))))
            options = Options(opener=self._key("item.fold"), group_keys=keys)
            self.text.open(Cursor(displayed.detail, self._session.annotator, self._session.blind, options))
        else:
            self.reader.show(displayed.detail)
            self.text.open(self.reader)
        self._go_to_unanswered()
        self.refresh_bindings()
        self.position = displayed.walk.position
        self.call_after_refresh(self._prefetch)

    def renew(self, displayed: DisplayedItem, remark: Remark) -> None:
        """Show the same item with its current reviews."""
        self._remark = remark
        self.text.renew(displayed.detail)
        self.refresh_bindings()
        self._go_to_unanswered()

    def _go_to_unanswered(self) -> None:
        """In the queue of judge verdicts, move the cursor to the first one that is not answered."""
        if self._prefetcher.view.queue == "judged":
            left = unanswered_judge_verdicts(self.reader.detail, self._session.annotator)
            self._target.on_cursor = bool(left) and self.text.go_to(left[0][0])
            self.draw_bars()

    def say(self, remark: Remark) -> None:
        """Show a message in the status line, with the bell for an error."""
        self._remark = remark
        if remark.style == "bad":
            self.app.bell()
        self.draw_bars()

    def notify_saved(self, item: int) -> None:
        """Announce that a review of the item is on disk."""
        self.post_message(self.ReviewSaved(item))

    def close(self, item: int) -> None:
        """Announce that the pane is closed."""
        self.is_left = True
        self.post_message(self.Closed(item))

    @work(exclusive=True, group="prefetch")
    async def _prefetch(self) -> None:
        self._key_press.end_item(monotonic())
        await self._prefetcher.prefetch(self.item_reviewer.displayed, self.item_reviewer.direction)
        if self.item_reviewer.pace.left is None and not self.follows_list:
            self.item_reviewer.pace.set_left(await self._prefetcher.count_unreviewed())

    def draw_bars(self) -> None:
        """Draw the header, the status line and the line of keys."""
        cells, keys = self.size.width, key_names(self.app)
        status: Line = ((f" {self._remark.text}", self._remark.style),)
        if self.item_reviewer.has_item:
            displayed, reader = self.item_reviewer.displayed, self.reader
            walk = displayed.walk
            header = header_line(displayed.detail, walk.position, walk.count, cells, hidden=reader.hidden)
            self.query_one("#item-header", LineBar).show(header)
            self._key_press.set_drawn(subject := self._current_subject())
            question = self.item_reviewer.pending_question(subject)
            share, pace = self.text.share, self.item_reviewer.pace.summary
            status = status_line(self._remark, question, share, reader.inside, cells, keys, pace)
            for line in self.screen.query(KeyLine):
                line.offer([] if self.follows_list else self.item_reviewer.hints)
        self.query_one("#item-status", LineBar).show(status)

    def _cursor_moved(self) -> None:
        if self.text.remark is not None:
            self._remark = self.text.remark
        self._remark = self._target.follow_cursor(self.reader) or self._remark
        self.draw_bars()

    def on_document_view_scrolled(self) -> None:
        self.draw_bars()

    # -- reviews

    def action_verdict(self, key: str) -> None:
        """Record a verdict. `key` is one of `judge.VERDICTS`."""
        if (subject := self._subject()) is not None:
            self.item_reviewer.record_verdict(subject, key)

    def action_score(self, value: int) -> None:
        """Record a score, or select the override reason with this number."""
        if (subject := self._subject()) is not None:
            self.item_reviewer.score(subject, value)

    def action_fault(self) -> None:
        """Ask who is to blame."""
        if (subject := self._subject()) is not None:
            item_dialogs.ask_fault(self, subject)

    def action_tag(self) -> None:
        """Ask for error tags."""
        if (subject := self._subject()) is not None:
            item_dialogs.ask_tags(self, subject, self._session, self._prefetcher)

    def action_note(self) -> None:
        """Ask for a note."""
        if (subject := self._subject()) is not None:
            item_dialogs.ask_note(self, subject)

    def action_last(self, prompt: str) -> None:
        """Open the prompt `fault`, `tag` or `note` for the item completed last, which the prompt names."""

        def ask(subject: ReviewSubject) -> None:
            if prompt == "fault":
                item_dialogs.ask_fault(self, subject, subject.name)
            elif prompt == "tag":
                item_dialogs.ask_tags(self, subject, self._session, self._prefetcher, subject.name)
            else:
                item_dialogs.ask_note(self, subject, subject.name)

        self.item_reviewer.with_last_item(ask)

    def action_undo(self) -> None:
        self.item_reviewer.undo()

    def action_target(self) -> None:
        """Switch verdict keys between the item and the part under the cursor."""
        self.say(self._target.toggle(self.reader))

    def action_golden(self) -> None:
        """Open the golden editor."""
        if (subject := self._subject()) is not None:
            ask_golden(self, self._session, subject)

    @work(group="dialog", exclusive=True)
    async def action_labels(self) -> None:
        """Ask for the labels of the response."""
        if (subject := self._subject()) is not None:
            await item_dialogs.ask_labels(self, self._session, subject)

    def action_why(self) -> None:
        """Ask why the last verdict overrides an automatic one."""
        item_dialogs.ask_why(self, self._session)

    # -- navigation and details

    def action_step(self, by: int) -> None:
        self.item_reviewer.step(by)

    def action_in_group(self, by: int) -> None:
        self.item_reviewer.step_in_group(by)

    def action_back(self) -> None:
        """Close the pane after the queued actions."""
        if not self.opening:
            self.item_reviewer.leave()
        elif self._opened is not None:
            self.close(self._opened)

    def action_raw(self) -> None:
        """Show the records of the result and score files."""
        item_dialogs.show_records(self, self._session)

    def on_item_text_opened(self, opened: ItemText.Opened) -> None:
        item_dialogs.show_text(self, self._session, opened.title, opened.text)

    def action_search(self) -> None:
        self.app.push_screen(AskScreen("/", self.reader.sought), lambda text: self.text.search(text) if text else None)

    @work(group="dialog", exclusive=True)
    async def action_elsewhere(self) -> None:
        """List the same item in other runs."""
        if (subject := self._subject()) is not None:
            await item_dialogs.show_other_runs(self, self._session, subject)

    def action_copy(self) -> None:
        """Ask what to copy."""
        item_dialogs.ask_copy(self, self._session)


class ItemScreen(Screen[int]):
    """A screen with one item pane. Its result is the item displayed last (`QueueRow.item`)."""

    CSS_PATH = "item.tcss"

    def __init__(self, session: Session, view: View, item: int) -> None:
        super().__init__()
        self._item = item
        session.queue = view.file
        self.pane = ItemPane(session, view, partial(ItemScreen, session))
        self.widens = False
        """True if the screen closes for two panes when the terminal is wide enough."""
        self.gave_way = False

    def compose(self) -> ComposeResult:
        yield self.pane
        yield KeyLine(always=1, id="item-keys")

    def on_mount(self) -> None:
        self.text.focus()
        self.pane.open(self._item)

    @property
    def opening(self) -> bool:
        return self.pane.opening

    @property
    def item_reviewer(self) -> ItemReviewer:
        return self.pane.item_reviewer

    @property
    def text(self) -> ItemText:
        return self.pane.text

    @property
    def reader(self) -> Cursor:
        return self.pane.reader

    @property
    def target(self) -> str:
        return self.pane.target

    @property
    def widened(self) -> bool:
        return self.widens and self.app.size.width >= TWO_FROM

    def on_screen_resume(self) -> None:
        self.pane.resume()
        self.on_resize()

    def on_resize(self) -> None:
        if self.widened and self.pane.in_front:
            self.gave_way = True
            self.pane.action_back()

    def on_item_pane_closed(self, closed: ItemPane.Closed) -> None:
        self.dismiss(closed.item)

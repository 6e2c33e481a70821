"""One item: what was asked, what was expected, what was done, what was said of it; and one key for a verdict.

The pane wires keys and widgets to its parts: the text moves and folds, `Reviewing` judges and goes from item to item,
`LookAhead` reads, `Prompts` asks. A screen is made of it, alone or beside the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen

from fcreview.store.rows import View
from fcreview.tui.document.blocks import Options
from fcreview.tui.document.header import header_line
from fcreview.tui.item.ahead import LookAhead, Shown, Wanted
from fcreview.tui.item.aim import Aim, Sight
from fcreview.tui.item.asked import judged_open
from fcreview.tui.item.cursor import Cursor
from fcreview.tui.item.digits.answering import Answering
from fcreview.tui.item.judging import About
from fcreview.tui.item.reviewing import Judgement
from fcreview.tui.item.status import SILENT, Remark, status_line
from fcreview.tui.keys import bindings, key_names
from fcreview.tui.keytable import ITEM
from fcreview.tui.screens.ask import AskScreen
from fcreview.tui.screens.closer.paging import show_records, show_text
from fcreview.tui.screens.panes.prompts import Prompts
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line
from fcreview.tui.widgets.document import LineBar
from fcreview.tui.widgets.item.body import ItemBody
from fcreview.tui.widgets.item.text import ItemText
from fcreview.tui.widgets.status import KeyLine
from fcreview.tui.widgets.work import work


class ItemPane(Vertical):
    BINDINGS: ClassVar[list[BindingType]] = bindings(ITEM)

    position: reactive[int | None] = reactive(None, repaint=False, init=False, always_update=True)
    """In the queue, from 0, of the item that is shown: what watches it goes along before the next key is heard."""

    @dataclass
    class Left(Message):
        """It is done with; the item is the one that was on screen last."""

        item: int

    @dataclass
    class Said(Message):
        """Something of the item is on disk."""

        item: int

    def __init__(self, session: Session, view: View, another: Callable[[View, int], Screen[int]]) -> None:
        """`another`: makes a screen of another item, to lie over this one."""
        super().__init__()
        self._session = session
        self.text = ItemText(id="item-text")
        self.another = another
        self._asked: int | None = None
        """The item that was to be opened."""
        self._ahead = LookAhead(session, view)
        self.reviewing = Answering(session, self._ahead, self, self._key)
        self._prompts = Prompts(self, self._ahead, session)
        self.left = self._led = False
        """Which item is wanted is not known: until it is, nothing is judged."""
        self.follows = False
        """A list stands beside it and leads: no item is gone on to."""
        self._aim, self._sight = Aim(), Sight()
        self._remark = SILENT

    def compose(self) -> ComposeResult:
        yield LineBar(id="item-header")
        yield ItemBody(self.text)
        yield LineBar(id="item-status")

    def on_mount(self) -> None:
        self.watch(self.text, "moves", self._moved, init=False)

    def open(self, item: int) -> None:
        self._asked = item
        self.reviewing.open(item)

    def shows(self, item: int, view: View) -> bool:
        """Or is about to."""
        return self.reviewing.shows(item, view) and not self.left

    def want(self, wanted: Wanted) -> None:
        """What the list beside it is on, shown by `reviewing.follow`; until then nothing is judged."""
        self._asked, self.left, self._led = wanted.item, False, True
        self.reviewing.want(wanted)

    def go_on_from(self, other: ItemPane) -> None:
        """Another pane is gone: its item is here, as it was there."""
        self._asked, self.left = other._asked, False
        self._aim, self._remark = other._aim, other._remark
        self.reviewing.go_on_from(other.reviewing)
        self.text.go_on_from(other.text)
        self.refresh_bindings()
        self.call_after_refresh(self._look_ahead)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw_bars)

    @property
    def opening(self) -> bool:
        """Its item is not there yet, or was left: keys that would judge it are dropped, and the app rings for each."""
        return self.left or self.reviewing.behind or not self.reviewing.begun

    def resume(self) -> None:
        """Nothing lies over it any more."""
        self._session.queue = self._ahead.view.file  # another item may have lain over this one
        self.reviewing.resume()

    @property
    def reader(self) -> Cursor:
        return self.text.reading

    @property
    def target(self) -> str:
        return self._aim.target(self.reader)

    def _about(self) -> About:
        shown = self.reviewing.shown
        return About(shown.item, shown.detail, self.target)

    def _seen(self) -> About:
        """What was on screen when the key was pressed."""
        return self._sight.at(getattr(self.app, "pressed", None), self._about())

    def _of_seen(self, act: Callable[[About], None]) -> None:
        """Dropped with a bell where the list named one item and the header another."""
        early = self._sight.early(getattr(self.app, "pressed", None))
        self.app.bell() if early else act(self._seen())

    def _key(self, action: str) -> str:
        return key_names(self.app).get(action, "")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return action == "back" or not (self.opening or (self.reviewing.shown.gone and action != "step"))

    # -- what is shown

    @property
    def in_front(self) -> bool:
        if self.follows:
            return False
        return self.app.screen is self.screen  # `is_current` also holds below a prompt that can be seen through

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        self.run_worker(work, group="acts")

    def begin(self, shown: Shown, remark: Remark) -> None:
        self._sight.turned(self._led)
        self._led, self._aim.on_cursor, self._remark = False, False, remark
        if self.text.reader is None:
            keys = " ".join(filter(None, map(self._key, ("item.group_previous", "item.group_next"))))
            options = Options(opener=self._key("item.fold"), group_keys=keys)
            self.text.open(Cursor(shown.detail, self._session.annotator, self._session.blind, options))
        else:
            self.reader.show(shown.detail)
            self.text.open(self.reader)
        self._to_judged()
        self.refresh_bindings()
        self.position = shown.walk.position
        self.call_after_refresh(self._look_ahead)

    def renew(self, shown: Shown, remark: Remark) -> None:
        self._remark = remark
        self.text.renew(shown.detail)
        self.refresh_bindings()
        self._to_judged()

    def _to_judged(self) -> None:
        """In the queue of what judges said, to the first of it that is not answered."""
        if self._ahead.view.queue != "judged":
            return
        left = judged_open(self.reader.detail, self._session.annotator)
        self._aim.on_cursor = bool(left) and self.text.go_to(left[0][0])
        self.draw_bars()

    def say(self, remark: Remark) -> None:
        self._remark = remark
        if remark.style == "bad":
            self.app.bell()
        self.draw_bars()

    def said(self, item: int) -> None:
        self.post_message(self.Said(item))

    def leave(self, item: int) -> None:
        self.left = True
        self.post_message(self.Left(item))

    @work(exclusive=True, group="ahead")
    async def _look_ahead(self) -> None:
        self._sight.drawn(monotonic())
        await self._ahead.look(self.reviewing.shown, self.reviewing.direction)
        if self.reviewing.pace.left is None and not self.follows:
            self.reviewing.pace.counted(await self._ahead.unjudged())

    def draw_bars(self) -> None:
        cells, keys = self.size.width, key_names(self.app)
        status: Line = ((f" {self._remark.text}", self._remark.style),)
        if self.reviewing.begun:
            shown, reader = self.reviewing.shown, self.reader
            header = header_line(shown.detail, shown.walk.position, shown.walk.count, cells, hidden=reader.hidden)
            self.query_one("#item-header", LineBar).show(header)
            self._sight.names(about := self._about())
            asked = self.reviewing.judging.spoken_to(about, self.reader)
            share, pace = self.text.share, self.reviewing.pace.said
            status = status_line(self._remark, asked, share, reader.inside, cells, keys, pace)
            for line in self.screen.query(KeyLine):
                line.offer([] if self.follows else self.reviewing.hints)
        self.query_one("#item-status", LineBar).show(status)

    def _moved(self) -> None:
        if self.text.remark is not None:
            self._remark = self.text.remark
        self._remark = self._aim.moved(self.reader) or self._remark
        self.draw_bars()

    def on_document_view_scrolled(self) -> None:
        self.draw_bars()

    # -- what is said of it

    def action_verdict(self, key: str) -> None:
        self._judge(partial(self.reviewing.judging.verdict, key=key))

    def action_score(self, value: int) -> None:
        self._of_seen(lambda about: self.reviewing.score(about, value, self.text))

    def action_fault(self) -> None:
        self._of_seen(partial(self._prompts.ask, "fault"))

    def action_tag(self) -> None:
        self._of_seen(partial(self._prompts.ask, "tag"))

    def action_note(self) -> None:
        self._of_seen(partial(self._prompts.ask, "note"))

    def action_last(self, what: str) -> None:
        """The same of the item that was judged last, which the prompt names."""
        self.reviewing.of_last(lambda about: self._prompts.ask(what, about, about.name))

    def action_undo(self) -> None:
        self.reviewing.undo()

    def _judge(self, judgement: Judgement) -> None:
        self._of_seen(lambda about: self.reviewing.judge(about, judgement))

    def action_target(self) -> None:
        self.say(self._aim.turn(self.reader))

    # -- where to go, and a closer look

    def action_step(self, by: int) -> None:
        self.reviewing.step(by)

    def action_in_group(self, by: int) -> None:
        self.reviewing.in_group(by)

    def action_back(self) -> None:
        if not self.opening:
            self.reviewing.leave()
        elif self._asked is not None:
            self.leave(self._asked)

    def action_raw(self) -> None:
        show_records(self, self._session)

    def on_item_text_opened(self, opened: ItemText.Opened) -> None:
        show_text(self, self._session, opened.title, opened.text)

    def action_search(self) -> None:
        self.app.push_screen(AskScreen("/", self.reader.sought), lambda text: self.text.search(text) if text else None)

    @work(group="closer", exclusive=True)
    async def action_closer(self, what: str) -> None:
        """What lies over the item: the golden answer, labels, other runs."""
        from fcreview.tui.screens.closer.opening import CLOSER

        await CLOSER[what](self, self._session, self._seen())

    def action_copy(self) -> None:
        from fcreview.tui.screens.closer.copying import ask_copy

        ask_copy(self, self._session)

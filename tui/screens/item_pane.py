"""What is asked of a person about an item: who is wrong, tags, a note. A part of the item pane.

What is answered is about what was on screen when the key was pressed.

One item: what was asked, what was expected, what was done, what was said of it; and one key for a verdict.

The pane wires keys and widgets to its parts: the text moves and folds, `Reviewing` judges and goes from item to item,
`LookAhead` reads, `Prompts` asks. A screen is made of it, alone or beside the queue.

One item on a screen of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, ClassVar, Protocol

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import reactive
from textual.screen import ModalScreen, Screen

from fcreview.model.address import words
from fcreview.model.sanitize import visible
from fcreview.store.rows import View
from fcreview.tui.actions import ITEM
from fcreview.tui.item_view.blocks import Options
from fcreview.tui.item_view.document import header_line
from fcreview.tui.key_bindings import bindings, key_names
from fcreview.tui.review.cursor import Aim, Cursor, Sight
from fcreview.tui.review.judge import About, Outcome, judged_open
from fcreview.tui.review.prefetch import LookAhead, Shown, Wanted
from fcreview.tui.review.reviewing import Answering, Judgement
from fcreview.tui.review.status import SILENT, Remark, status_line
from fcreview.tui.screens.dialogs import AskScreen, FaultScreen, NoteScreen, TagsScreen, tag_choices
from fcreview.tui.screens.item_dialogs import show_records, show_text
from fcreview.tui.session import Session
from fcreview.tui.text.lines import TWO_FROM, Line
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.item_text import ItemBody, ItemText


class Asking(Protocol):
    """The pane, as far as it is needed here."""

    reviewing: Answering

    @property
    def app(self) -> App[Any]: ...


class Prompts:
    def __init__(self, pane: Asking, ahead: LookAhead, session: Session) -> None:
        self._pane, self._ahead = pane, ahead
        self._blind, self._own = session.blind, session.vocabulary.tags

    def ask(self, what: str, about: About, name: str = "") -> None:
        """`what`: `fault`, `tag` or `note`; `name`: of the item, where it is not the one on screen."""
        if not name and about.item != self._pane.reviewing.shown.item:
            name = f"{visible(about.detail.row.id)} {about.part}".rstrip()
        {"fault": self._fault, "tag": self._tag, "note": self._note}[what](about, name)

    def _fault(self, about: About, name: str) -> None:
        self._put(about, FaultScreen(name or about.part), self._pane.reviewing.judging.fault)

    def _tag(self, about: About, name: str) -> None:
        judging = self._pane.reviewing.judging
        row, mine = about.detail.row, judging.mine(about)
        chosen = (mine.tags if mine else None) or []
        errors = [] if self._blind and row.you is None else [row.error_type, row.rule_error_type]
        tags = tag_choices(self._own, errors, about.detail.run.tags, chosen)
        self._put(about, TagsScreen(tags, chosen, self._ahead.used_tags, name or about.part), judging.tags)

    def _note(self, about: About, name: str) -> None:
        judging = self._pane.reviewing.judging
        mine = judging.mine(about)
        before = (mine.note if mine else None) or ""
        self._put(about, NoteScreen(name or visible(words(about.target)), before), judging.note)

    def _put(
        self, about: About, prompt: ModalScreen[Any], judgement: Callable[[About, Any], Awaitable[Outcome]]
    ) -> None:
        def take(answer: Any) -> None:
            if answer is not None:
                self._pane.reviewing.judge(about, lambda latest: judgement(latest, answer))

        self._pane.app.push_screen(prompt, take)


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
        from fcreview.tui.screens.item_dialogs import CLOSER

        await CLOSER[what](self, self._session, self._seen())

    def action_copy(self) -> None:
        from fcreview.tui.screens.item_dialogs import ask_copy

        ask_copy(self, self._session)


class ItemScreen(Screen[int]):
    """Gives the item that was on screen last (`QueueRow.item`)."""

    CSS_PATH = "item.tcss"

    def __init__(self, session: Session, view: View, item: int) -> None:
        super().__init__()
        self._item = item
        session.queue = view.file
        self.pane = ItemPane(session, view, partial(ItemScreen, session))
        self.widens = False
        """It gives way to two panes when there is room for them."""
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
    def reviewing(self) -> Answering:
        return self.pane.reviewing

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

    def on_item_pane_left(self, left: ItemPane.Left) -> None:
        self.dismiss(left.item)

"""What was imported while the app is open, shown without moving anything that a person looks at.

Numbers of items do not outlive an import: what they are in the store that takes another's place.

What a screen shows, found again in another store, so that it can be shown on at once and nothing moves.

A move is made and shown on the loop that draws; in between it asks both stores, in their thread.

Where what changed comes from: this room knows no importer.

Follows result files while the app is open: looks now and then, has what changed imported, shows it.

The store that is shown is another one from one moment to the next, and only while nothing is being said or asked and
nothing lies over list and item that may hold a number of the store before; else it waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from textual.css.query import NoMatches

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of
from fcreview.store.filters.tokens import Term, Value, words
from fcreview.store.rows import ItemDetail, News, View, item_of, presentation_of, presented
from fcreview.tui.queue.loader import Loaded, Request, Walk, load_rows
from fcreview.tui.queue.state import Standing
from fcreview.tui.review.prefetch import GONE, DisplayedItem
from fcreview.tui.review.status import SILENT, Remark
from fcreview.tui.screens.item_pane import ItemPane, ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.screens.queue_pane import QueuePane
from fcreview.tui.widgets.document_view import LineBar

if TYPE_CHECKING:
    from textual.screen import Screen

    from fcreview.store.rows import QueueRow
    from fcreview.store.store import Store
    from fcreview.tui.queue.state import Level, QueueState, Setting
    from fcreview.tui.session import Session


def number_in(now: Store, row: QueueRow) -> int | None:
    """The number of a row's item in another store; None if it is not there."""
    found = now.rows(now.find(row.id, row.run))
    same = next((each.item for each in found if each.category == row.category), None)
    return None if same is None else presented(same, presentation_of(row.item))


def first_there(now: Store, rows: Iterable[QueueRow]) -> int | None:
    return next((number for row in rows if (number := number_in(now, row)) is not None), None)


def renumbered(where: str, before: Store, now: Store) -> str:
    """A filter that names items by their numbers (`item:`), with those of the other store."""
    values = [value for word in words(where) if isinstance(word, Term) and word.key == "item" for value in word.values]
    known = {value.text for value in values if value.text.isascii() and value.text.isdigit()}
    rows = {str(row.item): row for row in before.rows([int(text) for text in known])} if known else {}
    for value in sorted(values, key=lambda value: -value.position):
        where = _put(where, value, number_in(now, rows[value.text]) if value.text in rows else None)
    return where


def items_in(items: Sequence[int], before: Store, now: Store) -> tuple[int, ...]:
    """The same items in the other store. If none is left, one that is not there, as none stands for all."""
    rows = before.rows(list(items)) if items else []
    found = tuple(item_of(number) for row in rows if (number := number_in(now, row)) is not None)
    return found or (0,) * bool(items)


def _put(where: str, value: Value, number: int | None) -> str:
    """0 is no item's number."""
    shown = str(0 if number is None else item_of(number))
    return where[: value.position] + shown + where[value.position + len(value.text) :]


FOLLOWING = 5
"""Items behind one that is gone of which the first that is still there takes its place."""


class Move(Protocol):
    @property
    def stamp(self) -> object:
        """As long as it stays the same, what was asked is of what is shown."""
        ...

    def prepare(self, now: Store) -> None:
        """In another thread than the one that answers what keys ask for."""
        ...

    def ask(self, before: Store, now: Store) -> None: ...

    def show(self, says: str) -> None: ...


@dataclass(slots=True)
class QueueMove:
    """The list: the cursor stays on its item, in its row of the screen."""

    pane: QueuePane
    state: QueueState
    levels: Sequence[Level]
    runs: tuple[int, ...]
    """Those that are shown now."""
    _loaded: Loaded | None = None
    _settings: list[Setting] = field(default_factory=list)
    """Of the queue and of its levels."""

    @property
    def stamp(self) -> object:
        return self.state.setting, self.pane.list.age, self.pane.list.cursor, len(self.levels), self.pane.settled

    def prepare(self, now: Store) -> None:
        """Has the order of the view worked out: of many items it takes longer than anybody should wait for a row."""
        now.count(replace(self.state, scope=self.runs).view)

    def ask(self, before: Store, now: Store) -> None:
        settings = [self.state.setting, *(level.setting for level in self.levels)]
        self._settings = [
            replace(each, where=renumbered(each.where, before, now), items=items_in(each.items, before, now))
            for each in settings
        ]
        row = self.pane.list.row_at(self.pane.list.cursor) if self.pane.list.total else None
        number = None if row is None else number_in(now, row)
        view = self._there().view
        self._loaded = load_rows(Request(view, Standing(number, self.pane.list.cursor)), now)

    def _there(self) -> QueueState:
        state = replace(self.state, scope=self.runs)
        state.restore(self._settings[0])
        return state

    def show(self, says: str) -> None:
        if self._loaded is None:
            return
        self.state.scope = self.runs
        self.state.restore(self._settings[0])
        for level, setting in zip(self.levels, self._settings[1:], strict=True):
            level.setting, level.standing = setting, replace(level.standing, item=None)
        self.pane.take_in(self._loaded, says)


@dataclass(slots=True)
class ItemMove:
    """The item: it stays, with its cursor and its folds, even if it is gone from the files."""

    pane: ItemPane
    view: Callable[[View], View]
    """The view of the same items now: of other runs."""
    _shown: DisplayedItem | None = None
    _last: int | None = None

    @property
    def stamp(self) -> object:
        return id(self.pane.item_reviewer.displayed), settled(self.pane)

    def prepare(self, now: Store) -> None:
        now.count(self.view(self.pane.item_reviewer.displayed.walk.view))

    def ask(self, before: Store, now: Store) -> None:
        reviewer = self.pane.item_reviewer
        shown, last = reviewer.displayed, reviewer.last_item
        view = self.view(shown.walk.view)
        view = replace(view, where=renumbered(view.where, before, now), items=items_in(view.items, before, now))
        number = number_in(now, shown.detail.row)
        detail = shown.detail if number is None else now.detail(number)
        self._shown = DisplayedItem(detail, _walk(before, now, shown.walk, view, GONE if number is None else number))
        row = None if last is None else before.row(last)
        self._last = None if row is None else number_in(now, row)

    def show(self, says: str) -> None:
        if self._shown is None:
            return
        was = self.pane.item_reviewer.displayed
        changed = _changed(was.detail, self._shown)
        remark = Remark(changed, "warn") if changed else Remark(says, "dim") if says else None
        self.pane.item_reviewer.change_store(self._shown, self._last)
        self.pane.text.take_in(self._shown.detail, remark)
        self.pane.refresh_bindings()


def settled(pane: ItemPane) -> bool:
    """Its item is there, and no other is on its way. One beside the list may have been left: it is shown again."""
    return pane.item_reviewer.is_settled and not (pane.opening and isinstance(pane.screen, ItemScreen))


def _walk(before: Store, now: Store, walk: Walk, view: View, number: int) -> Walk:
    """Its place in the new order; where it is not in it, that of the first behind it that is."""
    count = now.count(view)
    position = None if number == GONE else now.position(view, number)
    if position is not None:
        return Walk(view, number, count, position, position)
    behind = before.page(walk.view, walk.place + (walk.position is not None), FOLLOWING)
    follower = first_there(now, behind)
    place = None if follower is None else now.position(view, follower)
    return Walk(view, number, count, None, count if place is None else place)


def _changed(was: ItemDetail, shown: DisplayedItem) -> str:
    """What is another than it was, for who looks at it; verdicts only where they are not hidden."""
    now = shown.detail
    if shown.item == GONE:
        return "this item is no longer in the results: nothing can be said of it"
    parts = []
    if was.item.prediction_hash != now.item.prediction_hash:
        parts.append("prediction")
    if was.item.golden_hash != now.item.golden_hash:
        parts.append("golden answer")
    if not parts:
        verdicts = [(each.row.official, each.row.rule, each.row.judge) for each in (was, now)]
        return "its verdicts have changed" if verdicts[0] != verdicts[1] else ""
    stale = ": what you said of the earlier one is kept and does not count" if now.row.stale else ""
    return f"its record has changed: another {' and '.join(parts)}{stale}"


class FollowError(FcreviewError):
    """What changed could not be taken in; one line. The store is as it was."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import came to."""

    news: News
    runs: tuple[int, ...] = ()
    """Those at the paths now, by their numbers; empty for all of the workspace."""
    before: tuple[int, ...] = ()
    """Those that were there until now."""
    told: str = ""
    """What could not be read as it should, in one line."""

    @property
    def says(self) -> str:
        """`3 new items, 1 changed`; empty where items are as they were."""
        news = self.news
        parts = [count_of(news.new, "new item")] if news.new else []
        if news.changed:
            parts.append(f"{news.changed:,} changed" if parts else count_of(news.changed, "changed item"))
        if news.gone:
            parts.append(f"{news.gone:,} gone" if parts else f"{count_of(news.gone, 'item')} gone")
        return ", ".join(parts)


class Source(Protocol):
    """Asked in a thread, but for `close`."""

    interval: float
    """Seconds between two looks."""

    def changed(self) -> bool:
        """Whether files are other than at the last look."""
        ...

    def take_in(self) -> Taken:
        """Imports what changed. FollowError if that fails, or is broken off."""
        ...

    def close(self) -> None:
        """Breaks off what it is at, and leaves nothing running."""
        ...


AGAIN = 0.25
"""Seconds after which it is tried again to show what was imported."""
BRIEF = 8.0
"""Seconds for which it is said what came."""
SHARE = 3
"""Looking and importing take at most one part in so many of the time."""
AFTER_FAILURE = 6
"""Intervals before what failed is tried again."""


class Following(Protocol):
    """The app, as far as it is needed here."""

    @property
    def screen_stack(self) -> Sequence[Screen[Any]]: ...

    def set_timer(self, delay: float, callback: Callable[[], object]) -> object: ...


class Follower:
    def __init__(self, app: Following, session: Session, source: Source) -> None:
        self._app, self._session, self._source = app, session, source
        self._told = ""
        """What could not be read at the last import: said once."""

        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.create_task(self._follow())

    def end(self) -> None:
        """Nothing is looked for any more, and nothing runs."""
        if self._task is not None:
            self._task.cancel()
        self._source.close()

    async def _follow(self) -> None:
        pause = self._source.interval
        while True:
            await asyncio.sleep(pause)
            started = monotonic()
            pause = await self._look()
            pause = max(pause, SHARE * (monotonic() - started))

    async def _look(self) -> float:
        """Seconds to the next look."""
        interval = self._source.interval
        try:
            if not await asyncio.to_thread(self._source.changed):
                return interval
            taken = await asyncio.to_thread(self._source.take_in)
            await self._show(taken)
            if taken.told and taken.told != self._told:
                self._say(f"following: {taken.told}")
            self._told = taken.told
        except Exception as error:  # what cannot be read now may be so at the next look
            self._say(f"following: {error or type(error).__name__}")
            return AFTER_FAILURE * interval
        return interval

    async def _show(self, taken: Taken) -> None:
        await self._when(lambda: self._moves(taken) is not None)
        now = await asyncio.to_thread(self._session.open_current_store)
        try:
            for move in self._moves(taken) or ():
                await asyncio.to_thread(move.prepare, now)
            while not await self._shown(taken, now):
                await self._when(lambda: self._moves(taken) is not None)
        finally:
            if not self._session.uses_store(now):
                now.close()

    async def _shown(self, taken: Taken, now: Store) -> bool:
        """False if something was pressed meanwhile."""
        moves = self._moves(taken)
        if moves is None:
            return False
        stamp = self._stamp(moves)

        def ask(before: Store) -> None:
            now.refresh_reviews()
            for move in moves:
                move.ask(before, now)

        await self._session.ask(ask)
        if self._moves(taken) is None or self._stamp(moves) != stamp:
            return False
        self._session.swap_store(now)
        teller = moves[0] if len(self._app.screen_stack) == 1 else moves[-1]
        for move in moves:
            move.show(visible(taken.says) if move is teller else "")
        self._brief(visible(taken.says))
        return True

    def _stamp(self, moves: Sequence[Move]) -> object:
        screens = [id(screen) for screen in self._app.screen_stack]
        return screens, self._session.actions.added, [move.stamp for move in moves]

    def _moves(self, taken: Taken) -> list[Move] | None:
        """Of all that is shown, the uppermost last; None while something is on its way that holds numbers."""
        queue, *above = self._app.screen_stack
        known = isinstance(queue, QueueScreen) and all(isinstance(screen, ItemScreen) for screen in above)
        if not known or not self._session.actions.idle:
            return None
        lists, items = self._panes(QueuePane), self._panes(ItemPane)
        if not all(pane.settled for pane in lists) or not all(map(settled, items)):
            return None
        assert isinstance(queue, QueueScreen)  # noqa: S101 - for the type checker
        scope = queue.state.scope
        runs = taken.runs if scope == taken.before else scope  # a run that was asked for stays the only one

        def view(of: View) -> View:
            return replace(of, runs=runs) if of.runs == scope else of

        moves: list[Move] = [QueueMove(pane, queue.state, queue.position.levels, runs) for pane in lists]
        return [*moves, *(ItemMove(pane, view) for pane in items)]

    def _panes(self, kind: type[Any]) -> list[Any]:
        return [pane for screen in self._app.screen_stack for pane in screen.query(kind)]

    async def _when(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await asyncio.sleep(AGAIN)

    def _say(self, text: str) -> None:
        """On the uppermost list or item."""
        lists, items = self._panes(QueuePane), self._panes(ItemPane)
        if items:
            items[-1].say(Remark(visible(text), "warn"))
        elif lists:
            lists[-1].say(visible(text))

    def _brief(self, text: str) -> None:
        """It goes again."""

        def untell() -> None:
            with suppress(NoMatches):  # the screens are just going
                for queue in self._panes(QueuePane):
                    queue.unsay(text)
                for item in self._panes(ItemPane):
                    if item.query_one("#item-status", LineBar).line[0][0].strip() == text:
                        item.say(SILENT)

        if text:
            self._app.set_timer(BRIEF, untell)

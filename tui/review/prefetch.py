"""Reading items for the item screen: the one on it, and those likely to be next before they are asked for."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from fcreview.store.filters.build import narrowed
from fcreview.store.rows import ItemDetail, View, presentation_of, presented
from fcreview.tui.queue.loader import QueueNavigator, Remaining

if TYPE_CHECKING:
    from fcreview.model.review import ItemKey
    from fcreview.store.store import Store
    from fcreview.tui.session import Session


GONE = -1
"""The number of an item that is shown and is not in the store any more: there is none with this one."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An item as the store holds it, and its place in the queue."""

    detail: ItemDetail
    walk: QueueNavigator

    @property
    def item(self) -> int:
        """Its number in the store, `QueueRow.item`."""
        return self.walk.item

    @property
    def gone(self) -> bool:
        """It is not in the store any more."""
        return self.item == GONE


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a list beside the item is on."""

    item: int
    view: View
    anew: bool = False
    """The list was read anew: what was read ahead is old."""


@dataclass(frozen=True, slots=True)
class Near:
    """What lies around an item in the queue."""

    item: int
    following: int | None
    """The one to judge after it; None if there is no other."""
    step: int
    neighbour: int | None
    """The one that lies a `step` away."""


class LookAhead:
    def __init__(self, session: Session, view: View) -> None:
        self.view = view
        self._session = session
        self._ahead: dict[int, asyncio.Future[Shown]] = {}
        """Read, or being read."""
        self._near: Near | None = None
        self._age = 0
        self._numbers: dict[tuple[ItemKey, int], int] = {}
        """Items that were shown, by what reviews call them and for which time they came."""

    async def read(self, item: int, before: Shown | None = None) -> Shown:
        """`before`: what was on screen until now. What was read ahead is there at once."""
        shown = await self._read_ahead(item)
        if shown is None:
            shown = await self._session.ask(partial(_read, self.view, item, before))
        self._numbers[shown.detail.key, presentation_of(item)] = item
        return shown

    async def _read_ahead(self, item: int) -> Shown | None:
        ahead = self._ahead.pop(item, None)
        if ahead is not None:
            with suppress(Exception):
                return await asyncio.shield(ahead)
        return None

    async def again(self, shown: Shown) -> Shown:
        """The same item as it is now."""
        return Shown(await self.detail(shown.item), shown.walk)

    async def detail(self, item: int) -> ItemDetail:
        """As it is now: what was read ahead may be older."""
        self._ahead.pop(item, None)
        return await self._session.ask(lambda store: store.detail(item))

    async def look(self, of: Shown, direction: int) -> None:
        """Reads what is likely to be shown after this item. A failure here is none of the reader's: the item is read
        again when it is shown."""
        with suppress(Exception):
            age = self._age
            near = await self._session.ask(partial(_around, of.walk, direction))
            if age != self._age:
                return
            self._near = near
            wanted = {item for item in (near.following, near.neighbour) if item not in (None, of.item)}
            ahead = self._ahead = {item: known for item, known in self._ahead.items() if item in wanted}
            for item in filter(None, (near.following, near.neighbour)):
                if item in wanted - ahead.keys():
                    reading = asyncio.ensure_future(self._session.ask(partial(_read, self.view, item, of)))
                    reading.add_done_callback(_noticed)
                    ahead[item] = reading
                    await asyncio.wait([reading])

    def turn_to(self, view: View) -> None:
        """Another queue, or the same one in an order made anew."""
        self.view = view
        self.forget()

    def forget(self) -> None:
        """What was read ahead may no longer be so."""
        self._ahead, self._near = {}, None

    def renumber(self) -> None:
        """Another store is asked from now on; what is on its way is of the one before."""
        self._numbers.clear()
        self._age += 1

    async def following(self, of: Shown) -> int | None:
        """The item to judge after this one; None if there is no other."""
        if self._near is not None and self._near.item == of.item:
            return self._near.following
        return await self._session.ask(lambda store: of.walk.next_unreviewed(store))

    async def neighbour(self, of: Shown, step: int) -> int | None:
        """The next (1) or previous (-1) item; None at either end."""
        if self._near is not None and (self._near.item, self._near.step) == (of.item, step):
            return self._near.neighbour
        return await self._session.ask(lambda store: of.walk.neighbour(store, step))

    async def left(self, of: Shown) -> Remaining:
        return await self._session.ask(lambda store: of.walk.remaining(store))

    async def unjudged(self) -> int:
        """Items of the queue without a verdict of this annotator."""
        view = replace(self.view, where=narrowed(self.view.where, "you:none"))
        return await self._session.ask(lambda store: store.count(view))

    async def used_tags(self) -> list[str]:
        """Tags of earlier reviews, most used first."""
        return await self._session.ask(lambda store: store.used_tags())

    async def number(self, key: ItemKey, presentation: int = 1) -> int | None:
        """The item that reviews call so, by its full key: one id may occur in many runs."""
        known = self._numbers.get((key, presentation))
        if known is None:
            known = await self._session.ask(partial(number_of, key))
        return None if known is None else presented(known, presentation)


def _read(view: View, item: int, before: Shown | None, store: Store) -> Shown:
    return Shown(store.detail(item), QueueNavigator.locate(store, view, item, before.walk if before else None))


def _around(walk: QueueNavigator, step: int, store: Store) -> Near:
    return Near(walk.item, walk.next_unreviewed(store), step, walk.neighbour(store, step))


def number_of(key: ItemKey, store: Store) -> int | None:
    """The item that reviews call so; None if it is not in the store."""
    return next((item for item in store.find(key.id) if store.detail(item).key == key), None)


def _noticed(reading: asyncio.Future[Shown]) -> None:
    """Whoever needs the item reads it again."""
    if not reading.cancelled():
        reading.exception()

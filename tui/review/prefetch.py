"""Reads items for the item screen: the displayed one, and those likely to be next before they are needed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fcreview.store.filters.build import narrowed
from fcreview.store.rows import ItemDetail, View, presentation_of, presented
from fcreview.tui.queue.loader import QueueNavigator, Remaining

if TYPE_CHECKING:
    from fcreview.model.review import ItemKey
    from fcreview.store.store import Store
    from fcreview.tui.session import Session


GONE = -1
"""Number of a displayed item that is no longer in the store."""


@dataclass(frozen=True, slots=True)
class DisplayedItem:
    """An item with its position in the queue."""

    detail: ItemDetail
    walk: QueueNavigator

    @property
    def item(self) -> int:
        """Its number in the store, `QueueRow.item`."""
        return self.walk.item


@dataclass(frozen=True, slots=True)
class RequestedItem:
    """The item under the cursor of the list beside the item pane."""

    item: int
    view: View
    reload: bool = False
    """True if the list was read again, so that prefetched items are out of date."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Items around an item of the queue."""

    item: int
    following: int | None
    """The next item without a verdict, or None."""
    step: int
    neighbour: int | None
    """The item one `step` away, or None."""


class ItemPrefetcher:
    """Reads items of one view and caches those that are likely to be displayed next."""

    def __init__(self, session: Session, view: View) -> None:
        self.view = view
        self._session = session
        self._prefetched: dict[int, asyncio.Future[DisplayedItem]] = {}
        """Items that were read or are being read."""
        self._neighbours: Neighbours | None = None
        self._generation = 0
        """Number of store changes. A result of an earlier store is dropped."""
        self._numbers: dict[tuple[ItemKey, int], int] = {}
        """Numbers of displayed items by key and repetition."""

    async def read(self, item: int, before: DisplayedItem | None = None) -> DisplayedItem:
        """Return the item, at once if it was prefetched. `before`: the item displayed until now."""
        view, displayed = self.view, await self._read_prefetched(item)
        if displayed is None:
            displayed = await self._session.ask(lambda store: _read(store, view, item, before))
        self._numbers[displayed.detail.key, presentation_of(item)] = item
        return displayed

    async def _read_prefetched(self, item: int) -> DisplayedItem | None:
        prefetched = self._prefetched.pop(item, None)
        if prefetched is not None:
            with suppress(Exception):
                return await asyncio.shield(prefetched)
        return None

    async def read_again(self, displayed: DisplayedItem) -> DisplayedItem:
        """Return the item with its current reviews."""
        return DisplayedItem(await self.detail(displayed.item), displayed.walk)

    async def detail(self, item: int) -> ItemDetail:
        """The item's current detail, which may be newer than the prefetched one."""
        self._prefetched.pop(item, None)
        return await self._session.ask(lambda store: store.detail(item))

    async def prefetch(self, displayed: DisplayedItem, direction: int) -> None:
        """Read the items that are likely to be displayed next. Errors are ignored: the item is read again when it is
        displayed."""
        with suppress(Exception):
            generation = self._generation
            found = await self._session.ask(lambda store: _neighbours(store, displayed.walk, direction))
            if generation != self._generation:
                return
            self._neighbours = found
            wanted = {item for item in (found.following, found.neighbour) if item not in (None, displayed.item)}
            kept = self._prefetched = {item: known for item, known in self._prefetched.items() if item in wanted}
            for item in filter(None, (found.following, found.neighbour)):
                if item in wanted - kept.keys():
                    kept[item] = self._start_reading(item, displayed)
                    await asyncio.wait([kept[item]])

    def _start_reading(self, item: int, before: DisplayedItem) -> asyncio.Future[DisplayedItem]:
        view = self.view
        reading = asyncio.ensure_future(self._session.ask(lambda store: _read(store, view, item, before)))
        reading.add_done_callback(_ignore_error)
        return reading

    def set_view(self, view: View) -> None:
        """Read another queue from now on, or the same one in a new order."""
        self.view = view
        self.forget()

    def forget(self) -> None:
        """Drop prefetched items, which may be out of date."""
        self._prefetched, self._neighbours = {}, None

    def forget_numbers(self) -> None:
        """Drop item numbers: another store is read from now on. Results still to come belong to the earlier one."""
        self._numbers.clear()
        self._generation += 1

    async def following(self, displayed: DisplayedItem) -> int | None:
        """The next item without a verdict, or None."""
        if self._neighbours is not None and self._neighbours.item == displayed.item:
            return self._neighbours.following
        return await self._session.ask(lambda store: displayed.walk.next_unreviewed(store))

    async def neighbour(self, displayed: DisplayedItem, step: int) -> int | None:
        """The next (1) or previous (-1) item; None at either end."""
        found = self._neighbours
        if found is not None and (found.item, found.step) == (displayed.item, step):
            return found.neighbour
        return await self._session.ask(lambda store: displayed.walk.neighbour(store, step))

    async def left(self, displayed: DisplayedItem) -> Remaining:
        """The items of the queue without a verdict."""
        return await self._session.ask(lambda store: displayed.walk.remaining(store))

    async def count_unreviewed(self) -> int:
        """Number of items of the queue without a verdict of this annotator."""
        view = replace(self.view, where=narrowed(self.view.where, "you:none"))
        return await self._session.ask(lambda store: store.count(view))

    async def used_tags(self) -> list[str]:
        """Tags of earlier reviews, most used first."""
        return await self._session.ask(lambda store: store.used_tags())

    async def number(self, key: ItemKey, presentation: int = 1) -> int | None:
        """The number of the item with this full key. One id may occur in many runs."""
        known = self._numbers.get((key, presentation))
        if known is None:
            known = await self._session.ask(lambda store: number_of(store, key))
        return None if known is None else presented(known, presentation)


def _read(store: Store, view: View, item: int, before: DisplayedItem | None) -> DisplayedItem:
    return DisplayedItem(store.detail(item), QueueNavigator.locate(store, view, item, before.walk if before else None))


def _neighbours(store: Store, walk: QueueNavigator, step: int) -> Neighbours:
    return Neighbours(walk.item, walk.next_unreviewed(store), step, walk.neighbour(store, step))


def number_of(store: Store, key: ItemKey) -> int | None:
    """The number of the item with this key, or None if it is not in the store."""
    return next((item for item in store.find(key.id) if store.detail(item).key == key), None)


def _ignore_error(reading: asyncio.Future[DisplayedItem]) -> None:
    """Mark the error of a failed prefetch as seen, so that asyncio does not report it."""
    if not reading.cancelled():
        reading.exception()

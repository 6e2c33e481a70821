"""Reads items for the item screen: the displayed one, and those likely to be next before they are needed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fcreview.store.filters.build import add_terms
from fcreview.store.rows import ItemDetail, View, decode_repetition, encode_repetition
from fcreview.tui.queue.loader import QueueNavigator, RemainingItems

if TYPE_CHECKING:
    from fcreview.model.review import ItemKey
    from fcreview.store.store import Store
    from fcreview.tui.session import Session


GONE_ITEM = -1
"""Number of a displayed item that is no longer in the store."""


@dataclass(frozen=True, slots=True)
class DisplayedItem:
    """An item with its position in the queue."""

    detail: ItemDetail
    navigator: QueueNavigator

    @property
    def item(self) -> int:
        """Its number in the store, `QueueRow.item`."""
        return self.navigator.item


@dataclass(frozen=True, slots=True)
class RequestedItem:
    """The item under the cursor of the list beside the item pane."""

    item: int
    view: View
    is_reread: bool = False
    """True if the list was read again, so that prefetched items are out of date."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Items around an item of the queue."""

    item: int
    next_unreviewed: int | None
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

    async def read_item(self, item: int, before: DisplayedItem | None = None) -> DisplayedItem:
        """Return the item, at once if it was prefetched. `before`: the item displayed until now."""
        view, displayed = self.view, await self._read_prefetched(item)
        if displayed is None:
            displayed = await self._session.query(lambda store: _read_displayed(store, view, item, before))
        self._numbers[displayed.detail.key, decode_repetition(item)] = item
        return displayed

    async def _read_prefetched(self, item: int) -> DisplayedItem | None:
        prefetched = self._prefetched.pop(item, None)
        if prefetched is not None:
            with suppress(Exception):
                return await asyncio.shield(prefetched)
        return None

    async def reread(self, displayed: DisplayedItem) -> DisplayedItem:
        """Return the item with its current reviews."""
        return DisplayedItem(await self.read_detail(displayed.item), displayed.navigator)

    async def read_detail(self, item: int) -> ItemDetail:
        """The item's current detail, which may be newer than the prefetched one."""
        self._prefetched.pop(item, None)
        return await self._session.query(lambda store: store.read_detail(item))

    async def prefetch(self, displayed: DisplayedItem, direction: int) -> None:
        """Read the items that are likely to be displayed next. Errors are ignored: the item is read again when it is
        displayed."""
        with suppress(Exception):
            generation = self._generation
            found = await self._session.query(lambda store: _find_neighbours(store, displayed.navigator, direction))
            if generation != self._generation:
                return
            self._neighbours = found
            wanted = {item for item in (found.next_unreviewed, found.neighbour) if item not in (None, displayed.item)}
            kept = self._prefetched = {item: known for item, known in self._prefetched.items() if item in wanted}
            for item in filter(None, (found.next_unreviewed, found.neighbour)):
                if item in wanted - kept.keys():
                    kept[item] = self._start_reading(item, displayed)
                    await asyncio.wait([kept[item]])

    def _start_reading(self, item: int, before: DisplayedItem) -> asyncio.Future[DisplayedItem]:
        view = self.view
        reading = asyncio.ensure_future(self._session.query(lambda store: _read_displayed(store, view, item, before)))
        reading.add_done_callback(_ignore_error)
        return reading

    def set_view(self, view: View) -> None:
        """Read another queue from now on, or the same one in a new order."""
        self.view = view
        self.discard_prefetched()

    def discard_prefetched(self) -> None:
        """Drop prefetched items, which may be out of date."""
        self._prefetched, self._neighbours = {}, None

    def discard_numbers(self) -> None:
        """Drop item numbers: another store is read from now on. Results still to come belong to the earlier one."""
        self._numbers.clear()
        self._generation += 1

    async def find_next_unreviewed(self, displayed: DisplayedItem) -> int | None:
        """The next item without a verdict, or None."""
        if self._neighbours is not None and self._neighbours.item == displayed.item:
            return self._neighbours.next_unreviewed
        return await self._session.query(lambda store: displayed.navigator.find_next_unreviewed(store))

    async def find_neighbour(self, displayed: DisplayedItem, step: int) -> int | None:
        """The next (1) or previous (-1) item; None at either end."""
        found = self._neighbours
        if found is not None and (found.item, found.step) == (displayed.item, step):
            return found.neighbour
        return await self._session.query(lambda store: displayed.navigator.find_neighbour(store, step))

    async def find_remaining(self, displayed: DisplayedItem) -> RemainingItems:
        """The items of the queue without a verdict."""
        return await self._session.query(lambda store: displayed.navigator.find_remaining(store))

    async def count_unreviewed(self) -> int:
        """Number of items of the queue without a verdict of this annotator."""
        view = replace(self.view, where=add_terms(self.view.where, "you:none"))
        return await self._session.query(lambda store: store.count_items(view))

    async def read_used_tags(self) -> list[str]:
        """Tags of earlier reviews, most used first."""
        return await self._session.query(lambda store: store.fetch_used_tags())

    async def find_item(self, key: ItemKey, presentation: int = 1) -> int | None:
        """The number of the item with this full key. One id may occur in many runs."""
        known = self._numbers.get((key, presentation))
        if known is None:
            known = await self._session.query(lambda store: find_item_number(store, key))
        return None if known is None else encode_repetition(known, presentation)


def _read_displayed(store: Store, view: View, item: int, before: DisplayedItem | None) -> DisplayedItem:
    return DisplayedItem(
        store.read_detail(item), QueueNavigator.locate(store, view, item, before.navigator if before else None)
    )


def _find_neighbours(store: Store, walk: QueueNavigator, step: int) -> Neighbours:
    return Neighbours(walk.item, walk.find_next_unreviewed(store), step, walk.find_neighbour(store, step))


def find_item_number(store: Store, key: ItemKey) -> int | None:
    """The number of the item with this key, or None if it is not in the store."""
    return next((item for item in store.find_items(key.id) if store.read_detail(item).key == key), None)


def _ignore_error(reading: asyncio.Future[DisplayedItem]) -> None:
    """Mark the error of a failed prefetch as seen, so that asyncio does not report it."""
    if not reading.cancelled():
        reading.exception()

"""Prefetch the items that the item screen is likely to display next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from fcreview.store.rows import (
    ItemDetail,
    QueueRow,
    Suspicion,
    View,
    is_hidden_duplicate,
    to_item_number,
)
from fcreview.tui.queue.loader import QueueNavigator, RemainingItems, read_review_progress

if TYPE_CHECKING:
    from fcreview.model.review import ItemKey
    from fcreview.store.store import Store
    from fcreview.tui.session import Session


GONE_ITEM = -1
"""Number of a displayed item that is no longer in the results."""


@dataclass(frozen=True, slots=True)
class DisplayedItem:
    """Item on screen, with its position in the queue."""

    detail: ItemDetail
    navigator: QueueNavigator
    """Position in the queue, and number of the item: `navigator.item`, which may be `GONE_ITEM`."""
    other_runs: Sequence[QueueRow] | None = None
    """Rows of the same item in other runs. None if they were not prefetched."""
    suspicion: Suspicion | None = None


def describe_item_changes(before: ItemDetail, now: DisplayedItem) -> str:
    """Return a message about what an import changed in the displayed item. Empty if nothing
    changed.

    Only verdicts that the annotator may see are compared.
    """
    if now.navigator.item == GONE_ITEM:
        return "this item is no longer in the results and cannot be reviewed"

    changed_parts = []
    if before.item.prediction_hash != now.detail.item.prediction_hash:
        changed_parts.append("prediction")
    if before.item.golden_hash != now.detail.item.golden_hash:
        changed_parts.append("golden answer")
    if changed_parts:
        text = f"this item has a new {' and '.join(changed_parts)}"
        if now.detail.row.stale:
            text += "; your earlier review is kept but no longer counts"
        return text
    if _automatic_verdicts(before.row) != _automatic_verdicts(now.detail.row):
        return "the verdicts of this item have changed"
    return ""


def _automatic_verdicts(row: QueueRow) -> tuple[bool | None, bool | None, bool | None]:
    return row.official, row.rule, row.judge


@dataclass(frozen=True, slots=True)
class RequestedItem:
    """Item that the item pane should display, because the cursor of the list is on it."""

    item: int
    view: View
    is_reread: bool = False
    """Whether the list was read again. Prefetched items are then out of date."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Numbers of the items that the annotator will probably open after `item`."""

    item: int
    next_unreviewed: int | None
    step: int
    """Direction from `item` to `neighbour`: 1 or -1."""
    neighbour: int | None


class ItemPrefetcher:
    """Reads the items of one view, and prefetches items that are likely to be displayed next."""

    def __init__(self, session: Session, view: View) -> None:
        self._session = session
        self.view = view
        """Items among which the annotator moves."""
        self.prefetches_other_runs = False
        """Whether the rows of the same item in other runs are prefetched too."""

        # What was read in advance.
        self._prefetched: dict[int, asyncio.Future[DisplayedItem]] = {}
        """Number of an item -> the item, which may still be being read."""
        self._neighbours: Neighbours | None = None
        """Numbers of the items that the annotator probably opens next."""
        self._generation = 0
        """Number of switches to another store. Results from before a switch are dropped."""
        self._numbers: dict[tuple[ItemKey, bool], int] = {}
        """Numbers of the items that were displayed, by (key, whether it is a hidden duplicate)."""

    async def read_item(self, item: int, previous: DisplayedItem | None = None) -> DisplayedItem:
        """Return an item, without a query if it was prefetched.

        `previous`: the item displayed until now.
        """
        # The view may change while the item is read.
        view = self.view
        displayed = await self._read_prefetched(item)
        if displayed is None:
            displayed = await self._session.read(
                lambda store: self._read_displayed_item(store, view, item, previous)
            )

        # Remember the number, so that `find_item` needs no query to return to the item.
        self._numbers[displayed.detail.key, is_hidden_duplicate(item)] = item
        return displayed

    async def _read_prefetched(self, item: int) -> DisplayedItem | None:
        """Return the item with this number if it was read in advance.

        Returns None if it was not, or if the reading failed. The caller then reads the item and
        gets the error.
        """
        prefetched = self._prefetched.pop(item, None)
        if prefetched is not None:
            with suppress(Exception):
                return await asyncio.shield(prefetched)
        return None

    def _read_displayed_item(
        self, store: Store, view: View, item: int, previous: DisplayedItem | None
    ) -> DisplayedItem:
        """Read an item with its position in the queue and the reasons why its golden answer looks
        wrong, in the thread of the store.
        """
        navigator = QueueNavigator.locate_item(
            store, view, item, previous.navigator if previous is not None else None
        )
        return DisplayedItem(
            self._session.compare_with_accepted_golden(store.read_detail(item)),
            navigator,
            suspicion=store.fetch_suspicion(view, item),
        )

    async def reread(self, displayed: DisplayedItem) -> DisplayedItem:
        return replace(displayed, detail=await self.read_detail(displayed.navigator.item))

    async def read_detail(self, item: int) -> ItemDetail:
        """Read the current detail of an item, because a prefetched detail may be out of date."""
        self._prefetched.pop(item, None)
        return await self._session.read_detail(item)

    async def prefetch(self, displayed: DisplayedItem, direction: int) -> None:
        """Read the items that are likely to be displayed next. Errors are ignored. `direction`:
        1 or -1.
        """
        with suppress(Exception):
            await self._prefetch_neighbours(displayed, direction)

    async def _prefetch_neighbours(self, displayed: DisplayedItem, direction: int) -> None:
        """Read the items that the annotator probably opens next, so that they appear at once.

        These are the next unreviewed item and the next item in the direction of the last move.
        """
        generation_before = self._generation
        neighbours = await self._session.read(
            lambda store: _find_neighbours(store, displayed.navigator, direction)
        )
        if self._generation != generation_before:
            # The store was replaced, so that the numbers may be of other items.
            return
        self._neighbours = neighbours
        items = _list_items_to_prefetch(neighbours, displayed)

        # Forget the items that are no longer near. `prefetched` stays the dictionary of this call:
        # a later call may replace `self._prefetched` during the wait below. It then does not see
        # what this call reads.
        prefetched = {item: future for item, future in self._prefetched.items() if item in items}
        self._prefetched = prefetched
        for item in items:
            if item not in prefetched:
                prefetched[item] = self._start_reading(item, displayed)
                # One item after the other, so that other queries need not wait for both.
                await asyncio.wait([prefetched[item]])

    def _start_reading(self, item: int, previous: DisplayedItem) -> asyncio.Future[DisplayedItem]:
        """Start to read an item in the background. Return the future of the result.

        `previous`: displayed item, whose position in the queue helps to find that of this item.
        """
        # The settings of now count, not those when the store's thread begins to read.
        view = self.view
        has_other_runs = self.prefetches_other_runs

        def read(store: Store) -> DisplayedItem:
            displayed = self._read_displayed_item(store, view, item, previous)
            if not has_other_runs:
                return displayed
            return replace(displayed, other_runs=store.fetch_rows_in_other_runs(item))

        future = asyncio.ensure_future(self._session.read(read))
        future.add_done_callback(_ignore_exception)
        return future

    def set_view(self, view: View) -> None:
        """Switch to another view and drop the prefetched items."""
        self.view = view
        self.discard_prefetched()

    def discard_prefetched(self) -> None:
        """Drop the prefetched items, because they may be out of date."""
        self._prefetched = {}
        self._neighbours = None

    def forget_old_store(self) -> None:
        """Drop all item numbers and the results of running queries, after a switch to another
        store.
        """
        self._numbers.clear()
        self._generation += 1

    async def find_next_unreviewed(self, displayed: DisplayedItem) -> int | None:
        """Return the number of the next item that the annotator has not reviewed, or None."""
        if self._neighbours is not None and self._neighbours.item == displayed.navigator.item:
            return self._neighbours.next_unreviewed
        return await self._session.read(
            lambda store: displayed.navigator.find_next_unreviewed(store)
        )

    async def find_neighbour_item(self, displayed: DisplayedItem, step: int) -> int | None:
        """Return the number of the next (`step` 1) or previous (-1) item.

        None at the end or beginning of the queue. The neighbour is usually known already.
        """
        known = self._neighbours
        item = displayed.navigator.item
        if known is not None and known.item == item and known.step == step:
            return known.neighbour
        return await self._session.read(
            lambda store: displayed.navigator.find_neighbour_item(store, step)
        )

    async def count_remaining_items(self, displayed: DisplayedItem) -> RemainingItems:
        """Count the items without a verdict by the annotator, except the displayed item, and
        find the first of them.
        """
        return await self._session.read(
            lambda store: displayed.navigator.count_remaining_items(store)
        )

    async def count_unreviewed(self) -> int:
        """Count the items of the view without a verdict by the annotator."""
        progress = await self._session.read(partial(read_review_progress, self.view))
        return progress.n_items - progress.n_reviewed

    async def read_used_tags(self) -> list[str]:
        return await self._session.read(lambda store: store.fetch_used_tags())

    async def read_other_runs(self, displayed: DisplayedItem) -> Sequence[QueueRow]:
        """Return the rows of the same item in other runs, without a query if they were
        prefetched.
        """
        item = displayed.navigator.item
        if displayed.other_runs is None:
            return await self._session.read(lambda store: store.fetch_rows_in_other_runs(item))
        return displayed.other_runs

    async def find_item(self, key: ItemKey, *, is_duplicate: bool = False) -> int | None:
        """Return the number of the item with this key, or None if the workspace has no such item.

        `is_duplicate`: return the hidden duplicate of the item, which the annotator reviews as
        another item.
        """
        number = self._numbers.get((key, is_duplicate))
        if number is None:
            number = await self._session.read(lambda store: find_item_number(store, key))
        return None if number is None else to_item_number(number, is_duplicate=is_duplicate)


def _list_items_to_prefetch(neighbours: Neighbours, displayed: DisplayedItem) -> list[int]:
    """Return the numbers of the neighbours, which can be one item, without the displayed item."""
    items = []
    for item in dict.fromkeys((neighbours.next_unreviewed, neighbours.neighbour)):
        if item is not None and item != displayed.navigator.item:
            items.append(item)
    return items


def _find_neighbours(store: Store, navigator: QueueNavigator, direction: int) -> Neighbours:
    """Find the items that the user is likely to go to from here."""
    next_unreviewed = navigator.find_next_unreviewed(store)
    neighbour = navigator.find_neighbour_item(store, direction)
    return Neighbours(
        navigator.item, next_unreviewed=next_unreviewed, step=direction, neighbour=neighbour
    )


def find_item_number(store: Store, key: ItemKey) -> int | None:
    """Return the number of the item with this key, or None. Several runs may contain the id."""
    return next(
        (item for item in store.find_items(key.id) if store.read_detail(item).key == key), None
    )


def _ignore_exception(future: asyncio.Future[DisplayedItem]) -> None:
    if not future.cancelled():
        future.exception()

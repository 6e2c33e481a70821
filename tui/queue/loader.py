"""Queries of the queue: pages of a view, runs, filter values, and the next or previous item.

All of them run in the store's thread. Lists are read in windows of `WINDOW` rows, never as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from fcreview.matching.clusters import VALUE
from fcreview.store.filters.build import FAILING, narrowed
from fcreview.store.rows import Extent, QueueRow, RunRow, View
from fcreview.tui.queue.choices import Facets
from fcreview.tui.queue.state import ClusterCounts, CursorPosition

if TYPE_CHECKING:
    from fcreview.stats.estimation import Share
    from fcreview.store.store import Store
    from fcreview.tui.session import Session


WINDOW = 256
"""Rows read at a time."""
MAX_ESTIMATED_ITEMS = 20_000
"""Largest run, in items, whose pass rate is estimated on the queue screen: 4,000 items take a quarter of a second."""


@dataclass(frozen=True, slots=True)
class QueueRequest:
    """A view to read and the cursor position in it."""

    view: View
    position: CursorPosition
    refresh: bool = False
    """Read new reviews first."""


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Rows of the window around the cursor, and what the header and the columns need."""

    total: int
    cursor: int
    window: int
    """Index of the window that `rows` fill, from 0."""
    rows: Sequence[QueueRow]
    extent: Extent = field(default_factory=Extent)
    done: str = ""
    """Progress of the annotator in a queue file: `12 of 80`."""

    @property
    def row(self) -> QueueRow | None:
        """The row under the cursor."""
        at = self.cursor - self.window * WINDOW
        return self.rows[at] if 0 <= at < len(self.rows) else None


class QueueLoader:
    """Asynchronous queries of one queue; facets and the estimated share are cached."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._facets: dict[tuple[int, ...], Facets] = {}
        self._share_key: tuple[int, ...] = ()
        """Run and review counts for which `_share` was computed."""
        self._share: Share | None = None

    async def view(self, request: QueueRequest) -> QueuePage:
        """Raises: FilterError if the filter is invalid, SessionError if the store cannot be opened."""
        if request.refresh:
            await self._session.ask(lambda store: store.refresh_reviews())
        return await self._session.ask(partial(load_rows, request), interruptible=True)

    def clear_caches(self) -> None:
        """Clear the caches after the stores were exchanged."""
        self._facets, self._share_key, self._share = {}, (), None

    async def window(self, view: View, window: int) -> Sequence[QueueRow]:
        return await self._session.ask(lambda store: store.page(view, window * WINDOW, WINDOW))

    async def row(self, view: View, index: int) -> QueueRow | None:
        rows = await self._session.ask(lambda store: store.page(view, index, 1))
        return rows[0] if rows else None

    async def runs(self) -> list[RunRow]:
        return await self._session.ask(lambda store: store.runs())

    async def facets(self, view: View) -> Facets:
        """Filter values of the view's runs, regardless of the current filter."""
        if view.runs not in self._facets:
            self._facets = {view.runs: await self._session.ask(lambda store: store.facets(View(runs=view.runs)))}
        return self._facets[view.runs]

    async def share(self, run: RunRow) -> Share | None:
        """Estimated pass rate of a run with its interval; None without a random sample and for runs of more than
        `MAX_ESTIMATED_ITEMS` items."""
        if run.n_items > MAX_ESTIMATED_ITEMS:
            return None
        state = (run.run, run.reviewed, run.effective_pass, run.effective_known)
        if state != self._share_key:
            self._share = await self._session.ask(partial(_share, run.run))
            self._share_key = state
        return self._share

    async def find(self, item: int | str, run: int | None) -> int | None:
        """Number of an item given by id or by number; None if there is no item with this id."""
        if not isinstance(item, str):
            return item
        found = await self._session.ask(lambda store: store.find(item, run))
        return found[0] if found else None

    async def problems(self) -> str:
        """The first warning about an unreadable review and the number of further ones; empty without warnings."""
        warnings = await self._session.ask(_warnings)
        more = f", and {len(warnings) - 1} more: fcreview doctor" if len(warnings) > 1 else ""
        return f"reviews: {warnings[0]}{more}" if warnings else ""


def load_rows(request: QueueRequest, store: Store) -> QueuePage:
    view = request.view
    total = store.count(view)
    item, name = request.position.item, request.position.key
    if item is None and name is not None:
        item = next(iter(store.find(*name)), None)
    place = None if item is None else store.position(view, item)
    cursor = max(0, min(request.position.line, total - 1)) if place is None else place
    window = cursor // WINDOW
    own = store.progress(view.file, store.annotator) if view.file else []
    rows = store.page(view, window * WINDOW, WINDOW)
    return QueuePage(total, cursor, window, rows, store.extent(view), own[0].said if own else "")


def count_clusters(view: View, by: int, store: Store) -> ClusterCounts:
    clusters = store.clusters(view, by=by)
    if by != VALUE:
        return ClusterCounts(clusters, sum(cluster.count for cluster in clusters))
    failing = replace(view, where=narrowed(view.where, FAILING), queue=view.file or "dataset", share=False)
    return ClusterCounts(clusters, store.count(failing) if clusters else 0)


def queue_file_names(store: Store) -> Mapping[str, bool]:
    """Names of the workspace's queue files, and whether each has a share for this annotator."""
    from fcreview.store.queues.queue_file import QueueError, queue_names, read_queue

    def has_share(name: str) -> bool:
        try:
            return bool(read_queue(store.workspace, name).share_of(store.annotator))
        except QueueError:
            return False

    return {name: has_share(name) for name in queue_names(store.workspace)}


def _share(run: int, store: Store) -> Share | None:
    """None in blind mode and without queue files, as there is no random sample then."""
    from fcreview.store.queues.queue_file import queue_names

    if store.blind or not queue_names(store.workspace):
        return None
    from fcreview.stats.estimation import share
    from fcreview.tui.queue.header import HALF_WIDTH

    return share(store.told.standings(run).items, HALF_WIDTH)


def _warnings(store: Store) -> list[str]:
    """In blind mode only warnings about the annotator's own journal: the others would reveal names."""
    every = store.reviews.warnings
    return [each for each in every if each.startswith(f"{store.annotator}.jsonl ")] if store.blind else every


FIRST_BATCH = 50
MAX_REMAINING = 1000


class RowSource(Protocol):
    """The part of `Store` that a navigator needs."""

    def count(self, view: View) -> int: ...

    def page(self, view: View, offset: int, limit: int) -> list[QueueRow]: ...

    def position(self, view: View, item: int) -> int | None: ...


@dataclass(frozen=True, slots=True)
class QueueNavigator:
    """Position of an item in a queue, to find the next ones. If a verdict removes the item from the queue, the item
    after it takes its position."""

    view: View
    item: int
    count: int
    position: int | None
    """From 0; None if the item is not, or no longer, in the queue."""
    last_position: int = 0
    """The position, or the last known one."""

    @classmethod
    def locate(cls, source: RowSource, view: View, item: int, before: QueueNavigator | None = None) -> QueueNavigator:
        """Look the item up. `before` is the navigator of the previous item."""
        position = source.position(view, item)
        last = before.last_position if before is not None else 0
        return cls(view, item, source.count(view), position, last if position is None else position)

    def neighbour(self, source: RowSource, step: int) -> int | None:
        """The next (1) or previous (-1) item; None at either end."""
        at = self.last_position + (step if self.position is not None or step < 0 else 0)
        if not 0 <= at < self.count:
            return None
        rows = source.page(self.view, at, 1)
        return rows[0].item if rows else None

    def next_unreviewed(self, source: RowSource) -> int | None:
        """The next item after this one without a verdict by the annotator; None if there is none up to the end."""
        start = self.last_position + (0 if self.position is None else 1)
        return next((row.item for row in self._unreviewed(source, start) if row.item != self.item), None)

    def remaining(self, source: RowSource) -> Remaining:
        """Other items of the queue without a verdict by the annotator."""
        others = (row.item for row in self._unreviewed(source, 0) if row.item != self.item)
        found = list(islice(others, MAX_REMAINING))
        return Remaining(len(found), found[0] if found else None)

    def _unreviewed(self, source: RowSource, start: int) -> Iterator[QueueRow]:
        size = FIRST_BATCH
        while start < self.count:
            rows = source.page(self.view, start, min(size, self.count - start))
            yield from (row for row in rows if row.stale or not self._has_verdict(row))
            if not rows:
                return
            start += len(rows)
            size = MAX_REMAINING

    def _has_verdict(self, row: QueueRow) -> bool:
        """In the queue of judge verdicts a verdict on a part counts as well."""
        return row.you is not None or (self.view.queue == "judged" and row.your_parts > 0)


@dataclass(frozen=True, slots=True)
class Remaining:
    """Number of items without a verdict, counted up to `MAX_REMAINING`, and the first of them."""

    count: int
    first: int | None

    def __str__(self) -> str:
        return f"{self.count:,} or more" if self.count >= MAX_REMAINING else f"{self.count:,}"

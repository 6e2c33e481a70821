"""Queries of the queue: pages of a view, runs, filter values, and the next or previous item.

All of them run in the store's thread. Lists are read in windows of `WINDOW` rows, never as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from fcreview.matching.clusters import BY_VALUE
from fcreview.store.filters.build import FAILING_FILTER, add_terms
from fcreview.store.rows import ColumnWidths, QueueRow, RunRow, View
from fcreview.tui.queue.choices import Facets
from fcreview.tui.queue.state import ClusterCounts, CursorPosition

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate
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
    window_index: int
    """Index of the window that `rows` fill, from 0."""
    rows: Sequence[QueueRow]
    extent: ColumnWidths = field(default_factory=ColumnWidths)
    progress: str = ""
    """Progress of the annotator in a queue file: `12 of 80`."""

    @property
    def row(self) -> QueueRow | None:
        """The row under the cursor."""
        at = self.cursor - self.window_index * WINDOW
        return self.rows[at] if 0 <= at < len(self.rows) else None


class QueueLoader:
    """Asynchronous queries of one queue; facets and the estimated share are cached."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._facets: dict[tuple[int, ...], Facets] = {}
        self._share_key: tuple[int, ...] = ()
        """Run and review counts for which `_share` was computed."""
        self._share: PassRateEstimate | None = None

    async def load_view(self, request: QueueRequest) -> QueuePage:
        """Raises: FilterError if the filter is invalid, SessionError if the store cannot be opened."""
        if request.refresh:
            await self._session.query(lambda store: store.refresh_reviews())
        return await self._session.query(partial(load_page, request), interruptible=True)

    def clear_caches(self) -> None:
        """Clear the caches after the stores were exchanged."""
        self._facets, self._share_key, self._share = {}, (), None

    async def load_window(self, view: View, index: int) -> Sequence[QueueRow]:
        return await self._session.query(lambda store: store.fetch_page(view, index * WINDOW, WINDOW))

    async def load_row(self, view: View, index: int) -> QueueRow | None:
        rows = await self._session.query(lambda store: store.fetch_page(view, index, 1))
        return rows[0] if rows else None

    async def load_runs(self) -> list[RunRow]:
        return await self._session.query(lambda store: store.fetch_runs())

    async def load_facets(self, view: View) -> Facets:
        """Filter values of the view's runs, regardless of the current filter."""
        if view.runs not in self._facets:
            self._facets = {view.runs: await self._session.query(lambda store: store.fetch_facets(View(runs=view.runs)))}
        return self._facets[view.runs]

    async def load_estimate(self, run: RunRow) -> PassRateEstimate | None:
        """Estimated pass rate of a run with its interval; None without a random sample and for runs of more than
        `MAX_ESTIMATED_ITEMS` items."""
        if run.n_items > MAX_ESTIMATED_ITEMS:
            return None
        state = (run.run, run.reviewed, run.effective_pass, run.effective_known)
        if state != self._share_key:
            self._share = await self._session.query(partial(_estimate_pass_rate, run.run))
            self._share_key = state
        return self._share

    async def find_item(self, item: int | str, run: int | None) -> int | None:
        """Number of an item given by id or by number; None if there is no item with this id."""
        if not isinstance(item, str):
            return item
        found = await self._session.query(lambda store: store.find_items(item, run))
        return found[0] if found else None

    async def load_review_warnings(self) -> str:
        """The first warning about an unreadable review and the number of further ones; empty without warnings."""
        warnings = await self._session.query(_visible_warnings)
        more = f", and {len(warnings) - 1} more: fcreview doctor" if len(warnings) > 1 else ""
        return f"reviews: {warnings[0]}{more}" if warnings else ""


def load_page(request: QueueRequest, store: Store) -> QueuePage:
    view = request.view
    total = store.count_items(view)
    item, name = request.position.item, request.position.key
    if item is None and name is not None:
        item = next(iter(store.find_items(*name)), None)
    place = None if item is None else store.find_position(view, item)
    cursor = max(0, min(request.position.line, total - 1)) if place is None else place
    window = cursor // WINDOW
    own = store.measure_progress(view.queue_file, store.annotator) if view.queue_file else []
    rows = store.fetch_page(view, window * WINDOW, WINDOW)
    return QueuePage(total, cursor, window, rows, store.measure_columns(view), own[0].summary if own else "")


def count_clusters(view: View, grouping: int, store: Store) -> ClusterCounts:
    clusters = store.fetch_clusters(view, by=grouping)
    if grouping != BY_VALUE:
        return ClusterCounts(clusters, sum(cluster.count for cluster in clusters))
    failing = replace(
        view, where=add_terms(view.where, FAILING_FILTER), queue=view.queue_file or "dataset", share=False
    )
    return ClusterCounts(clusters, store.count_items(failing) if clusters else 0)


def queue_file_names(store: Store) -> Mapping[str, bool]:
    """Names of the workspace's queue files, and whether each has a share for this annotator."""
    from fcreview.store.queues.queue_file import QueueError, queue_names, read_queue

    def has_share(name: str) -> bool:
        try:
            return bool(read_queue(store.workspace, name).share_of(store.annotator))
        except QueueError:
            return False

    return {name: has_share(name) for name in queue_names(store.workspace)}


def _estimate_pass_rate(run: int, store: Store) -> PassRateEstimate | None:
    """None in blind mode and without queue files, as there is no random sample then."""
    from fcreview.store.queues.queue_file import queue_names

    if store.blind or not queue_names(store.workspace):
        return None
    from fcreview.stats.estimation import estimate_pass_rate
    from fcreview.tui.queue.header import TARGET_HALF_WIDTH

    return estimate_pass_rate(store.analysis.fetch_sample_status(run).items, TARGET_HALF_WIDTH)


def _visible_warnings(store: Store) -> list[str]:
    """In blind mode only warnings about the annotator's own journal: the others would reveal names."""
    every = store.reviews.warnings
    return [each for each in every if each.startswith(f"{store.annotator}.jsonl ")] if store.blind else every


FIRST_BATCH = 50
MAX_REMAINING = 1000


class RowSource(Protocol):
    """The part of `Store` that a navigator needs."""

    def count_items(self, view: View) -> int: ...

    def fetch_page(self, view: View, offset: int, limit: int) -> list[QueueRow]: ...

    def find_position(self, view: View, item: int) -> int | None: ...


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
    def locate(cls, source: RowSource, view: View, item: int, previous: QueueNavigator | None = None) -> QueueNavigator:
        """Look the item up. `before` is the navigator of the previous item."""
        position = source.find_position(view, item)
        last = previous.last_position if previous is not None else 0
        return cls(view, item, source.count_items(view), position, last if position is None else position)

    def find_neighbour(self, source: RowSource, step: int) -> int | None:
        """The next (1) or previous (-1) item; None at either end."""
        at = self.last_position + (step if self.position is not None or step < 0 else 0)
        if not 0 <= at < self.count:
            return None
        rows = source.fetch_page(self.view, at, 1)
        return rows[0].item if rows else None

    def find_next_unreviewed(self, source: RowSource) -> int | None:
        """The next item after this one without a verdict by the annotator; None if there is none up to the end."""
        start = self.last_position + (0 if self.position is None else 1)
        return next((row.item for row in self._unreviewed_rows(source, start) if row.item != self.item), None)

    def count_remaining(self, source: RowSource) -> RemainingItems:
        """Other items of the queue without a verdict by the annotator."""
        others = (row.item for row in self._unreviewed_rows(source, 0) if row.item != self.item)
        found = list(islice(others, MAX_REMAINING))
        return RemainingItems(len(found), found[0] if found else None)

    def _unreviewed_rows(self, source: RowSource, start: int) -> Iterator[QueueRow]:
        size = FIRST_BATCH
        while start < self.count:
            rows = source.fetch_page(self.view, start, min(size, self.count - start))
            yield from (row for row in rows if row.stale or not self._has_verdict(row))
            if not rows:
                return
            start += len(rows)
            size = MAX_REMAINING

    def _has_verdict(self, row: QueueRow) -> bool:
        """In the queue of judge verdicts a verdict on a part counts as well."""
        return row.you is not None or (self.view.queue == "judged" and row.your_parts > 0)


@dataclass(frozen=True, slots=True)
class RemainingItems:
    """Number of items without a verdict, counted up to `MAX_REMAINING`, and the first of them."""

    count: int
    first: int | None

    def __str__(self) -> str:
        return f"{self.count:,} or more" if self.count >= MAX_REMAINING else f"{self.count:,}"

"""Read the data of the queue: pages of a view, runs, annotators, filter values, and the next or
previous item.

All queries run in the store's thread. Lists are read in windows of `WINDOW` rows, never as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from fcreview.matching.clusters import BY_VALUE
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.store.filters.tokens import FAILING_FILTER, add_terms
from fcreview.store.rows import SUSPECTS_QUEUE, ColumnWidths, QueueRow, RunRow, View
from fcreview.tui.queue.columns import SuspectRow
from fcreview.tui.queue_state import ClusterCounts, CursorPosition, ReviewProgress

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate
    from fcreview.store.store import Store
    from fcreview.tables.runs import OwnScores
    from fcreview.tui.session import Session


WINDOW = 256
MAX_ESTIMATED_ITEMS = 20_000
"""Maximum number of items of a run whose pass rate is estimated. 4,000 items take 0.25 seconds."""
Facets = Mapping[str, Sequence[tuple[str, int]]]
"""(value, number of items) of each filter value in the queue, by filter key."""


@dataclass(frozen=True, slots=True)
class QueueRequest:
    """Request for the page of a view that contains the cursor."""

    view: View
    position: CursorPosition
    refresh: bool = False
    """Whether to read new reviews before the rows."""
    opens_unreviewed: bool = False
    """Whether to open the first item without a verdict by the annotator."""


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Rows around the cursor, with data for the header and the columns."""

    total: int
    cursor: int
    window_index: int
    """Index of the page. `rows` begins at row `window_index * WINDOW` of the view."""
    rows: Sequence[QueueRow]
    column_widths: ColumnWidths = field(default_factory=ColumnWidths)
    progress: ReviewProgress | None = None
    """Progress of the annotator in the list, if it was read with the page."""
    n_strong: int | None = None
    """Number of strong suspects. None except in the queue of suspects."""
    unreviewed: int | None = None
    """Number of the item to open if the request has `opens_unreviewed`. None if no item is left."""

    @property
    def cursor_row(self) -> QueueRow | None:
        index = self.cursor - self.window_index * WINDOW
        if 0 <= index < len(self.rows):
            return self.rows[index]
        return None


async def load_own_scores(session: Session, runs: Sequence[RunRow]) -> OwnScores:
    """Compute the value of the benchmark's own metric of each run, after all other queries.

    Empty if the session has no importers, or in blind mode.
    """
    services = session.report_services
    compute = services.compute_own_scores if services is not None else None
    if compute is None or session.blind or not runs:
        return {}
    return await session.read_in_background(lambda store: compute(store, runs))


class QueueLoader:
    """Runs the queries of one queue in the store's thread.

    Caches filter values and the estimated pass rate.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._facets: dict[tuple[int, ...], Facets] = {}
        self._estimate_key: tuple[int, ...] = ()
        self._estimate: PassRateEstimate | None = None
        self._n_stores = 1
        """Number of stores so far. A value that was read from an earlier one is not cached."""

    async def load_page(self, request: QueueRequest) -> QueuePage:
        """Load the requested page.

        Raises FilterError, or SessionError if the store cannot be opened.
        """
        if request.refresh:
            await self._session.read(lambda store: store.refresh_reviews())
        return await self._session.read(partial(read_page, request), interruptible=True)

    def clear_caches(self) -> None:
        """Clear the caches. Call this after the session has replaced its store."""
        self._facets = {}
        self._estimate_key = ()
        self._estimate = None
        self._n_stores += 1

    async def load_window(self, view: View, window_index: int) -> Sequence[QueueRow]:
        return await self._session.read(partial(fetch_rows, view, window_index * WINDOW, WINDOW))

    async def load_row(self, view: View, row_index: int) -> QueueRow | None:
        rows = await self._session.read(partial(fetch_rows, view, row_index, 1))
        return rows[0] if rows else None

    async def load_runs(self) -> list[RunRow]:
        return await self._session.read(lambda store: store.fetch_runs())

    async def load_progress(self, view: View) -> ReviewProgress:
        return await self._session.read(partial(read_review_progress, view))

    async def load_facets(self, view: View) -> Facets:
        """Load the filter values of the view's runs, regardless of the current filter.

        Only the values of the last runs are kept, because a queue seldom changes its runs.
        """
        known_facets = self._facets.get(view.runs)
        if known_facets is not None:
            return known_facets

        n_stores_before = self._n_stores
        facets = await self._session.read(lambda store: store.fetch_facets(View(runs=view.runs)))
        # If the session replaced its store meanwhile, the values are of the earlier store.
        is_same_store = n_stores_before == self._n_stores
        if is_same_store:
            self._facets = {view.runs: facets}
        return facets

    async def load_estimate(
        self, run: RunRow, *, is_low_priority: bool = False
    ) -> PassRateEstimate | None:
        """Estimate the pass rate of a run from its random sample, for the line with the rates.

        None without a sample, and for runs with over `MAX_ESTIMATED_ITEMS` items, which would take
        too long. The estimate is kept until reviews change the counts of the run.
        """
        if run.n_items > MAX_ESTIMATED_ITEMS:
            return None
        key = (run.run, run.reviewed, run.effective_pass, run.effective_known)
        if key == self._estimate_key:
            return self._estimate

        n_stores_before = self._n_stores
        read = self._session.read_in_background if is_low_priority else self._session.read
        estimate = await read(partial(_estimate_pass_rate, run.run))
        # If the session replaced its store meanwhile, the estimate is of the earlier store.
        is_same_store = n_stores_before == self._n_stores
        if is_same_store:
            self._estimate = estimate
            self._estimate_key = key
        return estimate

    async def find_item_number(self, item_or_id: int | str, run_number: int | None) -> int | None:
        """Return the number of an item, given its number or its id. None if no item of the run (of
        any run, if `run_number` is None) has this id.
        """
        if not isinstance(item_or_id, str):
            return item_or_id
        found = await self._session.read(lambda store: store.find_items(item_or_id, run_number))
        return found[0] if found else None

    async def load_store_warnings(self) -> str:
        """Return the first warning about the store and the number of further warnings. Empty if
        there are none.
        """
        warnings = await self._session.read(_list_visible_warnings)
        if not warnings:
            return ""
        first, *others = warnings
        if not others:
            return first
        return f"{first}, and {format_count(len(others), 'more warning')} (run fcreview doctor)"


def read_page(request: QueueRequest, store: Store) -> QueuePage:
    """Read the part of the queue around the cursor, and what the screen shows with it.

    The cursor is on the requested item or, with `opens_unreviewed`, on the first item without a
    review. If the queue no longer contains the item, the cursor keeps its line.
    """
    view = request.view
    total = store.count_items(view)

    # Find the item that gets the cursor.
    first_unreviewed = None
    if request.opens_unreviewed:
        navigator = QueueNavigator(view, NO_ITEM, total, None)
        first_unreviewed = navigator.find_next_unreviewed(store)
        item_at_cursor = first_unreviewed
    else:
        item_at_cursor = _find_item_at(request.position, store)

    # Find its position in the queue, from 0.
    position = None
    if item_at_cursor is not None:
        position = store.find_position(view, item_at_cursor)
    if position is None:
        last_position = total - 1
        position = max(0, min(request.position.line, last_position))

    # Only the window of rows with the cursor is read.
    window_index = position // WINDOW
    rows = fetch_rows(view, window_index * WINDOW, WINDOW, store)
    page = QueuePage(
        total=total,
        cursor=position,
        window_index=window_index,
        rows=rows,
        column_widths=store.measure_columns(view),
        progress=_read_share_progress(view, store),
        unreviewed=first_unreviewed,
    )
    if _shows_suspicion(view, store):
        return _add_suspicion(page, view, store)
    return page


def _add_suspicion(page: QueuePage, view: View, store: Store) -> QueuePage:
    """Add what the queue of suspects shows: the score of suspicion, and the number of strong
    suspects.

    A suspect is an item whose golden answer looks wrong.
    """
    # The reasons for suspicion need the room of the other columns.
    widths = replace(
        page.column_widths,
        has_score=True,
        has_difference=True,
        model=0,
        run_names=(),
        has_rule=False,
        has_judge=False,
    )
    return replace(
        page,
        column_widths=widths,
        n_strong=store.count_strong_suspects(view),
    )


def _find_item_at(position: CursorPosition, store: Store) -> int | None:
    """Return the number of the item under the cursor. A position of an earlier session has only
    its key.
    """
    if position.item is not None or position.key is None:
        return position.item
    items = store.find_items(*position.key)
    return items[0] if items else None


def _shows_suspicion(view: View, store: Store) -> bool:
    """Whether the rows of the view show why golden answers look wrong."""
    return view.queue == SUSPECTS_QUEUE and not store.blind


def fetch_rows(view: View, offset: int, limit: int, store: Store) -> Sequence[QueueRow]:
    """Read up to `limit` rows of a view, from position `offset` on.

    In the queue of suspects, each row has the reason why its golden answer looks wrong.
    """
    rows = store.fetch_page(view, offset, limit)
    if not _shows_suspicion(view, store):
        return rows
    n_strong = store.count_strong_suspects(view)
    suspect_rows = []
    for position, row in enumerate(rows, offset):
        # The strong suspects come first. Without any, no row is marked.
        is_first_weak = n_strong > 0 and position == n_strong
        suspect_rows.append(_build_suspect_row(row, view, store, is_first_weak))
    return suspect_rows


def _build_suspect_row(row: QueueRow, view: View, store: Store, is_first_weak: bool) -> QueueRow:
    """Return a row of the queue with the reasons why its golden answer looks wrong, if there are
    any.
    """
    suspicion = store.fetch_suspicion(view, row.item)
    if suspicion is None:
        return row
    values = {each.name: getattr(row, each.name) for each in fields(row)}
    return SuspectRow(**values, suspicion=suspicion, is_first_weak=is_first_weak)


def read_review_progress(view: View, store: Store) -> ReviewProgress:
    """Count the items of a view, and how many of them the annotator has reviewed."""
    progress = _read_share_progress(view, store)
    if progress is not None:
        return progress
    return ReviewProgress(store.count_reviewed_items(view), store.count_items(view))


def _read_share_progress(view: View, store: Store) -> ReviewProgress | None:
    """Read the annotator's progress in the queue file of a view. None if the view shows no queue
    file, or only a part of it.
    """
    if not view.queue_file or view.where or view.items:
        return None
    shares = store.measure_queue_progress(view.queue_file, store.annotator)
    if not shares:
        return None
    return ReviewProgress(shares[0].done, shares[0].total)


def count_clusters(view: View, grouping_index: int, store: Store) -> ClusterCounts:
    """Group the failing items of a view by what they have in common, and count them.

    `grouping_index`: index of the grouping in `GROUPINGS`.
    """
    clusters = store.fetch_clusters(view, grouping=grouping_index)
    if not clusters:
        return ClusterCounts(clusters, 0)
    if grouping_index != BY_VALUE:
        return ClusterCounts(clusters, sum(cluster.count for cluster in clusters))

    # Clusters by value contain only the most frequent values, so all failing items of the view are
    # counted instead, whatever part of the queue it shows.
    failing_items = replace(
        view,
        where=add_terms(view.where, FAILING_FILTER),
        queue=view.queue_file or "dataset",
        share=False,
    )
    return ClusterCounts(clusters, store.count_items(failing_items))


def read_own_assignments(store: Store) -> Mapping[str, bool]:
    """Return whether each queue file assigns items to the session's annotator, by queue name."""
    from fcreview.store.queue_file import list_queue_names
    from fcreview.tui.queue_state import has_assigned_items

    return {
        name: has_assigned_items(store.workspace, name, store.annotator)
        for name in list_queue_names(store.workspace)
    }


class UnfinishedShare(NamedTuple):
    """Queue file in which an annotator still has items to review."""

    queue_name: str
    n_items_left: int


def find_unfinished_share(store: Store) -> UnfinishedShare | None:
    """Return the first queue file in which the annotator of the session still has items to review.

    A queue file assigns each annotator a share of its items.
    """
    from fcreview.store.queue_file import QueueError, list_queue_names

    for name in list_queue_names(store.workspace):
        try:
            shares = store.measure_queue_progress(name, store.annotator)
        except QueueError:
            # Another screen reports queue files that cannot be read.
            continue
        left = sum(
            share.total - share.done for share in shares if share.annotator == store.annotator
        )
        if left:
            return UnfinishedShare(name, left)
    return None


def _estimate_pass_rate(run: int, store: Store) -> PassRateEstimate | None:
    """Estimate the pass rate of a run from its random sample. None without queue files."""
    from fcreview.store.queue_file import list_queue_names

    if store.blind or not list_queue_names(store.workspace):
        return None
    from fcreview.stats.estimation import estimate_pass_rate
    from fcreview.tui.queue.header import TARGET_HALF_WIDTH

    return estimate_pass_rate(store.analysis.fetch_sample_status(run).items, TARGET_HALF_WIDTH)


def _list_visible_warnings(store: Store) -> list[str]:
    """Return the warnings about the store and the workspace: damaged lake files, an unverified
    store, copies of files that two machines changed, damaged journals.

    In blind mode, warnings about the journals of other annotators are omitted.
    """
    from fcreview.store.sync_copies import describe_sync_copies

    warnings = []
    for file in store.damaged_files:
        name = file.removeprefix(f"{store.workspace.lake}/")
        warnings.append(f"lake: {sanitize(name)}")
    if not store.is_verified:
        warnings.append("reviews: store.duckdb is not verified: another user wrote it")
    warnings += [sanitize(message) for message in describe_sync_copies(store.workspace)]
    # A warning begins with the name of the journal file.
    own_journal = f"{store.annotator}.jsonl "
    for warning in store.reviews.warnings:
        if not store.blind or warning.startswith(own_journal):
            warnings.append(f"reviews: {warning}")
    return warnings


@dataclass(frozen=True, slots=True)
class KnownAnnotator:
    """Annotator with a journal in the workspace or with items in a queue file."""

    name: str
    facts: str = ""
    """Sanitized text about the assigned items, such as `20 items left of sample`."""
    queue: str | None = None
    """Name of the first queue file in which the annotator has items left. In blind mode, the first
    queue file that assigns items to the annotator.
    """


def read_other_annotators(store: Store) -> list[KnownAnnotator]:
    """Return the other annotators of the workspace, to whom the user can switch the session.

    Annotators with items left to review come first. Blind mode lists only annotators to whom a
    queue file assigns items, because nobody may see there how much others have reviewed.
    """
    from fcreview.store.reviews.journal_reader import list_journals, list_team_journals
    from fcreview.store.workspace import to_safe_annotator

    annotators = _read_assigned_annotators(store)
    if not store.blind:
        # Annotators with assigned items are known already.
        for journal in [*list_journals(store.workspace), *list_team_journals(store.workspace)]:
            annotators.setdefault(journal.stem, KnownAnnotator(journal.stem, "has reviews"))

    # The folder of the journals may contain other files, whose names no annotator can have.
    valid_annotators = [
        annotator
        for annotator in sorted(annotators.values(), key=lambda known: known.name.casefold())
        if to_safe_annotator(annotator.name) == annotator.name
    ]
    others = [annotator for annotator in valid_annotators if annotator.name != store.annotator]
    with_items = [annotator for annotator in others if annotator.queue is not None]
    without_items = [annotator for annotator in others if annotator.queue is None]
    return with_items + without_items


def _read_assigned_annotators(store: Store) -> dict[str, KnownAnnotator]:
    """Return the annotators to whom queue files assign items, by name.

    An annotator may be in several queue files. The first one with items left counts, else the last
    one.
    """
    from fcreview.store.queue_file import QueueError, list_queue_names

    annotators: dict[str, KnownAnnotator] = {}
    for queue_name in list_queue_names(store.workspace):
        try:
            assigned = _read_annotators_of_queue(store, queue_name)
        except QueueError:
            continue
        for annotator in assigned:
            known = annotators.get(annotator.name)
            # `queue` is None if the annotator has no items left.
            if known is None or known.queue is None:
                annotators[annotator.name] = annotator
    return annotators


def _read_annotators_of_queue(store: Store, queue_name: str) -> list[KnownAnnotator]:
    """Return the annotators of a queue file, each with the number of items that are left.

    Blind mode does not show how much others have reviewed, so there it is the number of assigned
    items.
    """
    from fcreview.store.queue_file import read_queue

    shares = read_queue(store.workspace, queue_name).shares
    if store.blind:
        n_items_by_annotator = {share.annotator: len(share.order) for share in shares}
        suffix = ""
    else:
        n_items_by_annotator = _count_items_left(store, queue_name)
        suffix = " left"

    annotators = []
    for share in shares:
        n_items = n_items_by_annotator.get(share.annotator, 0)
        count = format_count(n_items, "item") if n_items else "no items"
        facts = f"{count}{suffix} of {sanitize(queue_name)}"
        queue = queue_name if n_items else None
        annotators.append(KnownAnnotator(share.annotator, facts, queue))
    return annotators


def _count_items_left(store: Store, queue_name: str) -> dict[str, int]:
    """Return how many items of a queue file each annotator has not reviewed."""
    return {
        progress.annotator: progress.total - progress.done
        for progress in store.measure_queue_progress(queue_name)
    }


NO_ITEM = -1
FIRST_BATCH = 50
"""Number of rows that the search for unreviewed items reads first."""
LATER_BATCH = 1000
"""Number of rows that it reads at a time after the first ones."""
MAX_REMAINING = 1000
"""Number of remaining items at which counting stops."""


@dataclass(frozen=True, slots=True)
class QueueNavigator:
    """Position of an item in a queue, from which other items are found."""

    view: View
    item: int
    count: int
    """Number of items in the queue."""
    position: int | None
    """Index of the item in the queue. None if the queue does not contain the item (any longer)."""
    last_position: int = 0
    """Last known index of the item.

    After an item has left the queue, the next item is at this index.
    """

    @classmethod
    def locate_item(
        cls, store: Store, view: View, item: int, previous: QueueNavigator | None = None
    ) -> QueueNavigator:
        """Return a navigator with the position of an item in the queue.

        A review can remove the item from the queue. Then the navigator keeps the last position of
        `previous`, so that the annotator continues there.
        """
        position = store.find_position(view, item)
        if position is not None:
            last_position = position
        elif previous is not None:
            last_position = previous.last_position
        else:
            last_position = 0
        return cls(
            view,
            item,
            count=store.count_items(view),
            position=position,
            last_position=last_position,
        )

    def find_neighbour_item(self, store: Store, step: int) -> int | None:
        """Return the next (`step` 1) or previous (`step` -1) item, or None at the end or
        beginning of the queue.
        """
        index = self.last_position + step
        if self.position is None and step > 0:
            # The item has left the queue, so that the next item is at its last index.
            index = self.last_position
        if not 0 <= index < self.count:
            return None
        rows = store.fetch_page(self.view, index, 1)
        return rows[0].item if rows else None

    def find_next_unreviewed(self, store: Store) -> int | None:
        """Return the next item without a verdict by the annotator, or None at the end of the
        queue.
        """
        start = self.last_position if self.position is None else self.last_position + 1
        for row in self._read_unreviewed_rows(store, start):
            if row.item != self.item:
                return row.item
        return None

    def count_remaining_items(self, store: Store) -> RemainingItems:
        """Count the other items without a verdict by the annotator, and find the first of them."""
        unreviewed = (
            row.item for row in self._read_unreviewed_rows(store, 0) if row.item != self.item
        )
        items = list(islice(unreviewed, MAX_REMAINING))
        return RemainingItems(len(items), items[0] if items else None)

    def _read_unreviewed_rows(self, store: Store, start: int) -> Iterator[QueueRow]:
        """Yield the items from position `start` on that the annotator has not reviewed, in queue
        order.

        The first batch is small, because the caller usually needs only one item.
        """
        batch_size = FIRST_BATCH
        while start < self.count:
            rows = store.fetch_page(self.view, start, min(batch_size, self.count - start))
            if not rows:
                return
            for row in rows:
                # A stale review is of an earlier answer, so it must be done again.
                if row.stale or not self._has_own_verdict(row):
                    yield row
            start += len(rows)
            batch_size = LATER_BATCH

    def _has_own_verdict(self, row: QueueRow) -> bool:
        if row.your_bulk and self.view.queue_file:
            return False
        return row.you is not None or (self.view.queue == "judged" and row.your_parts > 0)


@dataclass(frozen=True, slots=True)
class RemainingItems:
    """Items of a queue without a verdict by the annotator."""

    count: int
    first: int | None
    """Number of the first item. None if no item remains."""

    def __str__(self) -> str:
        return f"{self.count:,} or more" if self.count >= MAX_REMAINING else f"{self.count:,}"

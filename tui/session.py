"""The session that all screens share: the store and the reviewer, used in one thread of their own, one call at a time.

Contains no Textual code.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fcreview.errors import FcreviewError
from fcreview.store.workspace import AnnotatorState
from fcreview.tui.action_queue import ActionQueue
from fcreview.tui.queue.state import FilterHistory, QueuePosition, load_position, save_position

if TYPE_CHECKING:
    from fcreview.model.item import Item, Run
    from fcreview.model.review import Event, ItemKey, Annotation
    from fcreview.store.reviews.reviewer import Reviewer
    from fcreview.store.rows import ItemDetail
    from fcreview.store.store import Store
    from fcreview.store.workspace import Workspace
    from fcreview.tui.exports import ReportServices
    from fcreview.tui.queue.state import QueueState


DEFAULT_REASONS = ("too strict", "misread", "other")
"""Reasons for an override, unless the configuration file has others."""


@dataclass(frozen=True, slots=True)
class AnnotatorVocabulary:
    """The annotator's own tags and reasons, from the configuration file."""

    tags: tuple[str, ...] = ()
    """Listed first in the tag prompt, with the digits from 1."""
    reasons: tuple[str, ...] = DEFAULT_REASONS


@dataclass(frozen=True, slots=True)
class GoldenSupport:
    """Functions of the importers for the golden editor. The caller passes them in: screens import no importer."""

    make_template: Callable[[Run, Item], dict[str, Any] | None]
    """Return the golden answer in the benchmark's form; see `Importer.draft`."""
    find_problem: Callable[[Run, Item, dict[str, Any]], str | None]
    """Return what is wrong with a golden answer; see `Importer.golden_problem`."""
    recheck: Callable[[Run, Item, dict[str, Any], Any], bool | None]
    """Recompute the verdict with another golden answer, given the item's record."""


T = TypeVar("T")
INTERRUPT_INTERVAL = 0.05
"""Seconds between attempts to interrupt a query."""


class SessionError(FcreviewError):
    """Raised when the store or the journal cannot be opened. The message is one line."""


def remove_page_cache(workspace: Workspace) -> None:
    """Delete the first rows that earlier versions cached in the workspace, in `.fcreview/first/<annotator>.json`."""
    shutil.rmtree(workspace.root / "first", ignore_errors=True)


class Session:
    """Opens the store with the first query and the journal with the first review, unless the caller passes them in."""

    def __init__(
        self,
        workspace: Workspace | None,
        annotator: str,
        store: Store | None = None,
        reviewer: Reviewer | None = None,
        *,
        blind: bool = False,
        golden: GoldenSupport | None = None,
        services: ReportServices | None = None,
    ) -> None:
        self.annotator = annotator
        self.golden_support = golden
        """Support for the golden editor; None disables it."""
        self.vocabulary = AnnotatorVocabulary()
        """The annotator's own words. Set before the first item is shown."""
        self.report_services = services
        """Makes reports and exports for the command palette. None disables those that need the benchmarks' files."""
        self.actions = ActionQueue()
        """Actions of the review screens. The program ends only after them."""
        self.blind = blind
        """Hide other verdicts on an item until this annotator submits one."""
        self.queue_file: str | None = None
        """Name of the open queue file, or None. Reviews record it."""
        self._workspace = workspace or (store.workspace if store is not None else None)
        self._store = store
        self._is_store_borrowed = store is not None
        """The caller passed the store in and closes it."""
        self._own = AnnotatorState(self.folder, annotator)
        self.filter_history = FilterHistory(self._own, blind=blind)
        """Filters and searches of this and earlier sessions, of this annotator."""
        self._reviewer = reviewer
        self._reviewed: dict[str, ItemKey] = {}
        """Items by the events of this session's reviews, without undone ones."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self.is_leaving = False
        """True once the program is ending: queries are refused, reviews are still written."""
        self._lock = threading.Lock()
        self._running: Callable[[Store], Any] | None = None
        """The query that is running and may be interrupted. A review is never interrupted. Guarded by `_gate`."""
        self._interrupts: set[asyncio.Task[None]] = set()
        """Running tasks that interrupt queries."""

    @property
    def folder(self) -> Path | None:
        """The workspace's folder `.fcreview`."""
        return self._workspace.root if self._workspace is not None else None

    def load_position(self, state: QueueState) -> QueuePosition | None:
        """Position at which this annotator left the queue, or None if they left another queue."""
        return load_position(self._own, state)

    def save_position(self, state: QueueState, position: QueuePosition) -> None:
        """Remember the position at which this annotator left the queue."""
        save_position(self._own, state, position)

    @property
    def reviewed_count(self) -> int:
        """Number of items reviewed since the start."""
        return len(set(self._reviewed.values()))

    def open_in_background(self) -> None:
        """Open the store while the first frames are drawn. The first `ask` raises what goes wrong."""
        self._thread.submit(self._open_store)

    async def query(self, query: Callable[[Store], T], *, interruptible: bool = False) -> T:
        """Run a query in the store's thread.

        `interruptible`: the query only reads and is interrupted when its caller is cancelled.

        Raises:
            SessionError: the store cannot be opened.
            CancelledError: the program is ending.
        """
        future = self._thread.submit(self._run_query, query)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if interruptible and not self.is_leaving:
                interrupting = asyncio.ensure_future(self._interrupt_until_done(future, query))
                self._interrupts.add(interrupting)
                interrupting.add_done_callback(self._interrupts.discard)
            raise
        except Exception:
            if self.is_leaving:
                raise asyncio.CancelledError from None
            raise

    def open_current_store(self) -> Store:
        """Open the store as it is on disk now, beside the one in use. Call it in a thread.

        The caller passes the store to `swap_store` or closes it.
        """
        from fcreview.store.store import Store

        return Store.open(self._open_store().workspace, self.annotator, blind=self.blind)

    def swap_store(self, store: Store) -> None:
        """Use this store for queries and reviews from now on. Not to be called while one is running."""
        before, borrowed, self._store, self._is_store_borrowed = self._store, self._is_store_borrowed, store, False
        if self._reviewer is not None:
            self._reviewer = self._reviewer.with_store(store)
        if before is not None and not borrowed:
            self._thread.submit(before.close)

    def uses_store(self, store: Store) -> bool:
        return self._store is store

    async def open_journal(self) -> None:
        """Open the journal. SessionError if that fails."""
        await self._run_uninterrupted(self._open_reviewer)

    async def record_review(self, item: int, annotation: Annotation, detail: ItemDetail | None = None) -> Event:
        """Write a review of an item. It is on disk when this returns.

        `detail`: the item as the annotator saw it; see `Reviewer.review`, which also lists the exceptions.
        """
        queue = self.queue_file

        def write() -> Event:
            reviewer = self._open_reviewer()
            reviewer.queue = queue
            event = reviewer.review(item, annotation, detail)
            self._reviewed[event.event] = event.key
            return event

        return await self._run_uninterrupted(write)

    async def undo(self) -> Event | None:
        """Retract this annotator's latest review and return it, or None if there is none."""

        def write() -> Event | None:
            event = self._open_reviewer().undo()
            if event is not None:
                self._reviewed.pop(event.event, None)
            return event

        return await self._run_uninterrupted(write)

    async def finish_actions(self) -> bool:
        """Wait for the queued actions and interrupt queries. Returns False if an action failed, so that the user has to
        see its message before the program ends."""
        self.is_leaving = True
        done = asyncio.ensure_future(self.actions.wait_until_idle())
        while not done.done():
            self._interrupt()
            await asyncio.wait([done], timeout=INTERRUPT_INTERVAL)
        self.is_leaving = done.result()
        return self.is_leaving

    def close(self) -> None:
        """Write the remaining reviews, interrupt queries and close the store."""
        self.is_leaving = True
        last = self._thread.submit(lambda: None)
        while not last.done():
            self._interrupt()
            wait([last], INTERRUPT_INTERVAL)
        self._thread.shutdown()
        if self._store is not None and not self._is_store_borrowed:
            self._store.close()
            self._store = None

    async def _run_uninterrupted(self, work: Callable[[], T]) -> T:
        """Run the work to its end, even if the caller is cancelled."""
        return await asyncio.shield(asyncio.wrap_future(self._thread.submit(work)))

    async def _interrupt_until_done(self, future: Future[Any], query: Callable[[Store], Any]) -> None:
        """Interrupt repeatedly, because an interrupt between two SQL statements has no effect."""
        while not future.done() and not self.is_leaving:
            self._interrupt(query)
            await asyncio.sleep(INTERRUPT_INTERVAL)

    def _interrupt(self, only_query: Callable[[Store], Any] | None = None) -> None:
        with self._lock:
            wanted = self._running is not None and only_query in (None, self._running)
            if wanted and self._store is not None:
                self._store.interrupt()

    def _run_query(self, query: Callable[[Store], T]) -> T:
        with self._lock:
            if self.is_leaving:
                raise SessionError("the session is closed")
            self._running = query
        try:
            return query(self._open_store())
        finally:
            with self._lock:
                self._running = None

    def _open_store(self) -> Store:
        if self._store is None:
            from fcreview.store.store import Store, StoreError

            if self._workspace is None:
                raise SessionError("no workspace")
            remove_page_cache(self._workspace)
            try:
                self._store = Store.open(self._workspace, self.annotator, blind=self.blind)
            except (StoreError, OSError) as error:
                raise SessionError(str(error)) from error
        return self._store

    def _open_reviewer(self) -> Reviewer:
        """The reviewer. Its journal is opened when first needed, because a reader needs none."""
        if self._reviewer is None:
            from fcreview.store.reviews.journal import Journal
            from fcreview.store.reviews.reviewer import Reviewer

            store = self._open_store()
            try:
                self._reviewer = Reviewer(store, Journal(store.workspace, self.annotator))
            except (FcreviewError, OSError) as error:
                raise SessionError(str(error)) from error
        return self._reviewer

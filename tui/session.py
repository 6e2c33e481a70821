"""Run the queries and reviews of all screens in a thread of their own. The module does not import Textual."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import sanitize
from fcreview.store.filters.saved import AnnotatorFilters
from fcreview.store.workspace import AnnotatorState
from fcreview.tui.queue.state import QueuePosition, load_position, save_position

if TYPE_CHECKING:
    from fcreview.model.item import Item, Run
    from fcreview.model.review import Annotation, Event, ItemKey
    from fcreview.store.reviews.reviewer import Reviewer
    from fcreview.store.rows import ItemDetail
    from fcreview.store.store import Store
    from fcreview.store.team_exchange import TeamSync
    from fcreview.store.workspace import Workspace
    from fcreview.tui.commands import ReportServices
    from fcreview.tui.queue.state import AnnotatorSwitch, QueueState, ReviewProgress


DEFAULT_REASONS = ("too strict", "misread", "other")
"""Reasons for an override if the configuration file has none."""


@dataclass(frozen=True, slots=True)
class AnnotatorVocabulary:
    """Tags and override reasons of the configuration file."""

    tags: tuple[str, ...] = ()
    """Configured error tags. The tag prompt lists these tags first, with the digits from 1 as keys."""
    reasons: tuple[str, ...] = DEFAULT_REASONS


@dataclass(frozen=True, slots=True)
class GoldenSupport:
    """Functions of the importers for the golden editor. Screens must not import importers themselves."""

    make_template: Callable[[Run, Item], dict[str, Any] | None]
    """Returns the golden answer in the benchmark's format. None if the golden answer is not known in this format."""
    find_problem: Callable[[Run, Item, dict[str, Any]], str | None]
    """Returns why a golden answer is invalid, or None if it is valid."""
    recheck: Callable[[Run, Item, dict[str, Any], Any], bool | None]
    """Recomputes the verdict with another golden answer. None if that is not possible.

    The last argument is the item's record in the result file.
    """
    is_unchanged: Callable[[Run, Item, dict[str, Any]], bool] = lambda *_: False
    """Returns whether a valid golden answer equals the golden answer of the dataset."""


T = TypeVar("T")
INTERRUPT_INTERVAL = 0.05
"""Seconds between two attempts to interrupt a running query."""


QueuedAction = Callable[[], Awaitable[bool]]
"""Action that a key press starts. Returns False if the action failed and has shown its error."""


class ActionQueue:
    """Queue that runs actions in the order in which they were added.

    When an action fails, the queue drops all later actions, because the user pressed their keys expecting the failed
    action to succeed.
    """

    def __init__(self) -> None:
        self._waiting: deque[QueuedAction] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._failed = False
        self.added_count = 0
        """Number of actions added so far. A caller can compare two values to learn whether an action was added."""

    @property
    def is_idle(self) -> bool:
        """Whether no action is running or waiting."""
        return self._idle.is_set()

    def add(self, action: QueuedAction) -> bool:
        """Append an action. Return True if the queue was idle: the caller must then call `run`."""
        self._waiting.append(action)
        self.added_count += 1
        was_idle = self.is_idle
        self._idle.clear()
        return was_idle

    async def run(self) -> int:
        """Run actions until none is waiting. Return the number of actions dropped because an earlier action failed."""
        dropped = 0
        try:
            while self._waiting:
                if not await self._waiting.popleft()():
                    self._failed = True
                    dropped += self.clear()
        finally:
            self.clear()
            self._idle.set()
        return dropped

    def clear(self) -> int:
        """Drop the waiting actions and return their number."""
        dropped = len(self._waiting)
        self._waiting.clear()
        return dropped

    async def wait_until_idle(self) -> bool:
        """Wait until the queue is idle. Return False if an action failed in the meantime."""
        self._failed = False
        await self._idle.wait()
        return not self._failed


class SessionError(FcreviewError):
    """Raised when the store or the journal cannot be opened. The message has one line."""


def remove_page_cache(workspace: Workspace) -> None:
    """Delete `.fcreview/first/<annotator>.json`, in which earlier versions cached the first rows of the queue."""
    shutil.rmtree(workspace.root / "first", ignore_errors=True)


class Session:
    """Queries and reviews of one annotator while the app is open.

    The store is opened by the first query and the journal by the first review, unless the caller passes them in.
    """

    def __init__(
        self,
        workspace: Workspace | None,
        annotator: str,
        store: Store | None = None,
        reviewer: Reviewer | None = None,
        *,
        blind: bool = False,
        golden: GoldenSupport | None = None,
        services: Callable[[], ReportServices] | None = None,
    ) -> None:
        self.annotator = annotator
        self.golden_support = golden
        """Support for the golden editor. None disables the editor."""
        self.vocabulary = AnnotatorVocabulary()
        """Tags and override reasons. The caller sets them before the first item is shown."""
        self.progress: ReviewProgress | None = None
        """Progress of the annotator in the queue. None before the first count."""
        self.n_bulk_changes = 0
        """Number of bulk reviews and undos so far. A list whose last known number is lower reads its rows again."""
        self.fixed_annotator_reason = ""
        """Why the user cannot review as another annotator. Empty if they can."""
        self.switch: AnnotatorSwitch | None = None
        """Request that started this session, if the user changed the annotator in the app. Else None."""
        self.request_switch: Callable[[AnnotatorSwitch], object] = lambda _: None
        """Ends the session and starts a new one as another annotator. The app sets it."""
        self.in_browser = False
        """Whether the app runs in a browser, where it writes only the annotator's files and downloads."""
        self.start_options = ""
        """Command-line options that choose the saved position to resume. Empty if there are none."""
        self.opens_overview = False
        """Whether the overview is the first screen if several runs are open and there is no position to resume."""
        self.shows_welcome = False
        """Whether the first screen shows a welcome message."""
        self.theme: str | None = None
        """Name of the theme to start with. None for the default."""
        self.save_theme: Callable[[str], None] = lambda _: None
        """Saves the theme that the user chose, so that the next start uses it."""
        self._build_services = services
        self.team: TeamSync | None = None
        """Exchange of reviews with the user's team. None without a team."""
        self.actions = ActionQueue()
        """Queued actions of the review screens. The app quits only after they have run."""
        self.blind = blind
        """Whether review is blind: the verdicts of other sources on an item are hidden until this annotator submits a
        verdict."""
        self.queue_file: str | None = None
        """Name of the open queue file, which each review records. None if no queue file is open."""
        self._workspace = workspace or (store.workspace if store is not None else None)
        self._store = store
        self._is_store_borrowed = store is not None
        """Whether the caller passed the store in. The caller then also closes the store."""
        self._annotator_state = AnnotatorState(self.folder, annotator)
        self.annotator_filters = AnnotatorFilters(self._annotator_state, blind=blind)
        """Filters and searches of this annotator, from this session and earlier ones."""
        self._reviewer = reviewer
        self._reviewed: dict[str, ItemKey] = {}
        """Items reviewed in this session, by the event id of the review. Undone reviews are removed."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self.is_leaving = False
        """Whether the app is quitting. The session then refuses queries but still writes reviews."""
        self._lock = threading.Lock()
        self._running: Callable[[Store], Any] | None = None
        """Running query, guarded by `_lock`. It is never a review, so reviews are not interrupted."""
        self._background: dict[Future[Any], Callable[[Store], Any]] = {}
        """Queries of `query_in_background` that are waiting or running, unless another query has interrupted them."""
        self._interrupts: set[asyncio.Task[None]] = set()
        """Tasks that interrupt a query. References keep asyncio from discarding them."""

    @cached_property
    def report_services(self) -> ReportServices | None:
        """Services for the command palette. None disables the report and the exports that need benchmark files."""
        return self._build_services() if self._build_services is not None else None

    @property
    def folder(self) -> Path | None:
        """The workspace's folder `.fcreview`, or None without a workspace."""
        return self._workspace.root if self._workspace is not None else None

    @property
    def folder_names(self) -> tuple[str, ...]:
        """First name in the path of the top line: the workspace's parent folder, sanitized. Empty if there is none."""
        name = sanitize(self.folder.parent.name) if self.folder is not None else ""
        return (f"{name}/",) if name else ()

    def load_position(self, state: QueueState) -> QueuePosition | None:
        """Return the position at which this annotator left the queue. None if the position belongs to another queue."""
        return load_position(self._annotator_state, state, self._can_open_queue_file, self.start_options)

    def _can_open_queue_file(self, name: str) -> bool:
        from fcreview.store.queue_file import QueueError, read_queue

        with suppress(QueueError):
            return self._workspace is not None and bool(read_queue(self._workspace, name))
        return False

    def save_position(self, state: QueueState, position: QueuePosition) -> None:
        """Save the position at which this annotator leaves the queue."""
        save_position(self._annotator_state, state, position, self.start_options)

    def position_for_annotator(self, annotator: str, position: QueuePosition) -> QueuePosition:
        """Return the position in the queue at which another annotator continues."""
        from fcreview.tui.queue.state import position_for_annotator

        return position_for_annotator(self._workspace, annotator, position, blind=self.blind)

    async def check_annotator(self, name: str) -> str:
        """Return the name of an annotator in normal form. Nothing is written.

        Raises: AnnotatorError or JournalError if the annotator cannot have a journal in the workspace.
        """
        from fcreview.store.reviews.journal import Journal

        return await self.query(lambda store: Journal(store.workspace, name).annotator)

    @property
    def reviewed_count(self) -> int:
        """Number of items reviewed in this session."""
        return len(set(self._reviewed.values()))

    def open_in_background(self) -> None:
        """Start to open the store while the first frame is drawn. An error is raised by the first `query`."""
        self._thread.submit(self._open_store)

    async def query(self, read: Callable[[Store], T], *, interruptible: bool = False) -> T:
        """Call `read` with the store, in the store's thread, and return its result.

        Args:
            interruptible: Interrupt the query when the caller is cancelled. Such a query must not write.

        Raises:
            SessionError: The store cannot be opened.
            CancelledError: The app is quitting.
        """
        if self.is_leaving:
            raise asyncio.CancelledError
        self._interrupt_background()
        future = self._thread.submit(self._run_query, read)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if interruptible:
                self._start_interrupt(future, read)
            raise
        except Exception:
            if self.is_leaving:
                raise asyncio.CancelledError from None
            raise

    async def query_in_background(self, read: Callable[[Store], T]) -> T:
        """Call `read` as `query` does, but with lower priority: any other query interrupts it, and it starts again.
        `read` must not write.

        Raises the exceptions of `query`.
        """
        while not self.is_leaving:
            future = self._thread.submit(self._run_query, read)
            self._background[future] = read
            try:
                return await asyncio.wrap_future(future)
            except asyncio.CancelledError:
                if future in self._background:  # the caller was cancelled
                    self._start_interrupt(future, read)
                    raise
            except Exception:
                if self.is_leaving:
                    raise asyncio.CancelledError from None
                if future in self._background:
                    raise
            finally:
                self._background.pop(future, None)
        raise asyncio.CancelledError

    def _interrupt_background(self) -> None:
        for future, read in self._background.items():
            if not future.done():
                self._start_interrupt(future, read)
        self._background.clear()

    def _start_interrupt(self, future: Future[Any], read: Callable[[Store], Any]) -> None:
        if not future.cancel() and not self.is_leaving:
            interrupt = asyncio.ensure_future(self._interrupt_until_done(future, read))
            self._interrupts.add(interrupt)
            interrupt.add_done_callback(self._interrupts.discard)

    def open_current_store(self) -> Store:
        """Open the store that is on disk now. The store in use stays open. Must be called in a thread.

        The caller passes the new store to `swap_store` or closes it.
        """
        from fcreview.store.store import Store

        return Store.open(self._open_store().workspace, self.annotator, blind=self.blind)

    def swap_store(self, store: Store) -> None:
        """Use another store for queries and reviews. Must not be called while a query or a review is running."""
        previous, is_borrowed = self._store, self._is_store_borrowed
        self._store, self._is_store_borrowed = store, False
        if self._reviewer is not None:
            self._reviewer = self._reviewer.with_store(store)
        if previous is not None and not is_borrowed:
            self._thread.submit(previous.close)

    def uses_store(self, store: Store) -> bool:
        return self._store is store

    async def open_journal(self) -> None:
        """Open the annotator's journal. Raises: SessionError if it cannot be opened."""
        await self._run_uninterrupted(self._open_reviewer)

    async def record_review(self, item: int, annotation: Annotation, detail: ItemDetail | None = None) -> Event:
        """Write a review of an item. The review is on disk when this returns.

        Args:
            detail: The item as it was on screen.

        Raises the exceptions of `Reviewer.review`.
        """
        queue = self.queue_file

        def write() -> Event:
            reviewer = self._open_reviewer()
            reviewer.queue = queue
            event = reviewer.review(item, annotation, detail)
            self._reviewed[event.event] = event.key
            return event

        return await self._run_uninterrupted(write)

    async def record_bulk_review(self, items: Sequence[int], annotation: Annotation) -> list[Event]:
        """Write one review for each item that the annotator has not reviewed. See `Reviewer.review_in_bulk`."""
        queue = self.queue_file

        def write() -> list[Event]:
            reviewer = self._open_reviewer()
            reviewer.queue = queue
            events = reviewer.review_in_bulk(items, annotation)
            self._reviewed.update({event.event: event.key for event in events})
            self.n_bulk_changes += 1
            return events

        return await self._run_uninterrupted(write)

    async def undo(self) -> list[Event]:
        """Retract this annotator's latest review or bulk review. See `Reviewer.undo`."""

        def write() -> list[Event]:
            events = self._open_reviewer().undo()
            for event in events:
                self._reviewed.pop(event.event, None)
            self.n_bulk_changes += 1
            return events

        return await self._run_uninterrupted(write)

    async def finish_actions(self) -> bool:
        """Prepare to quit: refuse queries, interrupt the running query and wait for the queued actions.

        Returns False if an action failed. The app must then not quit before the user has seen the error.
        """
        self.is_leaving = True
        idle = asyncio.ensure_future(self.actions.wait_until_idle())
        while not idle.done():
            self._interrupt()
            await asyncio.wait([idle], timeout=INTERRUPT_INTERVAL)
        self.is_leaving = idle.result()
        return self.is_leaving

    def close(self) -> None:
        """Write the remaining reviews, interrupt queries and close the store, unless the caller passed it in."""
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
        """Call `work` in the store's thread. It runs to its end even if the caller is cancelled."""
        self._interrupt_background()
        return await asyncio.shield(asyncio.wrap_future(self._thread.submit(work)))

    async def _interrupt_until_done(self, future: Future[Any], read: Callable[[Store], Any]) -> None:
        """Interrupt a query repeatedly, because an interrupt between two SQL statements has no effect."""
        while not future.done() and not self.is_leaving:
            self._interrupt(read)
            await asyncio.sleep(INTERRUPT_INTERVAL)

    def _interrupt(self, only_query: Callable[[Store], Any] | None = None) -> None:
        """Interrupt the running query. If `only_query` is given and another query is running, do nothing."""
        with self._lock:
            is_running = self._running is not None and only_query in (None, self._running)
            if is_running and self._store is not None:
                self._store.interrupt()

    def _run_query(self, read: Callable[[Store], T]) -> T:
        with self._lock:
            if self.is_leaving:
                raise SessionError("the session is closed")
            self._running = read
        try:
            return read(self._open_store())
        finally:
            with self._lock:
                self._running = None

    def _open_store(self) -> Store:
        if self._store is None:
            from fcreview.store.store import Store, StoreError

            if self._workspace is None:
                raise SessionError("no workspace is open")
            remove_page_cache(self._workspace)
            try:
                self._store = Store.open(self._workspace, self.annotator, blind=self.blind)
            except (StoreError, OSError) as error:
                raise SessionError(str(error)) from error
        return self._store

    def _open_reviewer(self) -> Reviewer:
        """Return the reviewer. The first review opens the journal: an annotator who only reads needs none."""
        if self._reviewer is None:
            from fcreview.store.reviews.journal import Journal
            from fcreview.store.reviews.reviewer import Reviewer

            store = self._open_store()
            try:
                self._reviewer = Reviewer(store, Journal(store.workspace, self.annotator))
            except (FcreviewError, OSError) as error:
                raise SessionError(str(error)) from error
        return self._reviewer

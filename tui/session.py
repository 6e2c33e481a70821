"""Run the queries and reviews of all screens in a thread of their own.

The module does not import Textual.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from fcreview.errors import FcreviewError
from fcreview.model.golden_fix import ACCEPTED, PROPOSED, GoldenStatus, RescoredVerdict
from fcreview.model.sanitize import HiddenNames, sanitize
from fcreview.store.drafts import DraftFile
from fcreview.store.filters.saved import AnnotatorFilters
from fcreview.store.workspace import AnnotatorState
from fcreview.tui.accepted_golden import compare_with_accepted_golden
from fcreview.tui.action_queue import ActionQueue
from fcreview.tui.queue_state import OverviewPlace, QueuePosition, load_position, save_position

if TYPE_CHECKING:
    from fcreview.model.item import Call, Item, Run
    from fcreview.model.review import Annotation, Event, ItemKey
    from fcreview.store.golden_fix_effect import Rescorer
    from fcreview.store.reviewer import Reviewer
    from fcreview.store.rows import ItemDetail
    from fcreview.store.store import Store
    from fcreview.store.team_exchange import TeamSync
    from fcreview.store.workspace import Workspace
    from fcreview.tui.commands import ReportServices
    from fcreview.tui.queue_state import AnnotatorSwitch, QueueState, ReviewProgress


DEFAULT_REASONS = ("too strict", "misread", "other")
"""Reasons for an override if the configuration file has none."""


@dataclass(frozen=True, slots=True)
class AnnotatorVocabulary:
    """Tags and override reasons of the configuration file."""

    tags: tuple[str, ...] = ()
    """Configured error tags.

    The tag prompt lists these tags first, with the digits from 1 as keys.
    """
    reasons: tuple[str, ...] = DEFAULT_REASONS


@dataclass(frozen=True, slots=True)
class GoldenSupport:
    """Functions of the importers for the golden editor, because screens must not import
    importers.
    """

    make_template: Callable[[Run, Item], dict[str, Any] | None]
    """Returns the golden answer in the benchmark's format.

    None if the golden answer is not known in this format.
    """
    find_problem: Callable[[Run, Item, dict[str, Any]], str | None]
    """Returns why a golden answer is invalid, or None if it is valid."""
    is_unchanged: Callable[[Run, Item, dict[str, Any]], bool] = lambda *_: False
    """Returns whether a valid golden answer equals the golden answer of the dataset."""
    rescore: Rescorer = lambda *_: RescoredVerdict(None, is_changed=False)
    """Recomputes the verdict with another golden answer, and says whether the verdict changes."""
    rescores: Callable[[Run], bool] = lambda *_: False
    """Returns whether an accepted golden answer changes verdicts of the run's benchmark."""
    needs_execution: Callable[[str, str], bool] = lambda *_: False
    """Returns whether only the execution of calls gives recomputed verdicts in a category of a
    benchmark.
    """
    make_from_prediction: Callable[[Run, Item], dict[str, Any] | None] = lambda *_: None
    """Returns the predicted calls as a golden answer in the benchmark's format, or None."""
    compare: Callable[[Run, Item, dict[str, Any]], Item | None] = lambda *_: None
    """Returns the item, compared with another golden answer, or None if that is not possible."""
    parse: Callable[[Run, Item, dict[str, Any]], list[Call]] = lambda *_: []
    """Returns the golden calls in a golden answer. Empty if they cannot be parsed."""
    explain_rejection: Callable[[Run, Item, dict[str, Any]], str | None] = lambda *_: None
    """Returns why a golden answer is invalid or changes nothing, or None if it can be applied."""


T = TypeVar("T")
INTERRUPT_INTERVAL = 0.05
"""Seconds between two attempts to interrupt a running query."""


def _is_caller_cancelled() -> bool:
    """Whether the current task is being cancelled, and not only a future for which it waits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class SessionError(FcreviewError):
    """Raised when the store or the journal cannot be opened. The message has one line."""


@dataclass(eq=False)
class SessionSettings:
    """Settings that the command line or the app sets before the first screen opens."""

    vocabulary: AnnotatorVocabulary = field(default_factory=AnnotatorVocabulary)
    """Tags and override reasons."""
    fixed_annotator_reason: str = ""
    """Why the user cannot review as another annotator. Empty if they can."""
    switch: AnnotatorSwitch | None = None
    """Request that started this session, if the user changed the annotator in the app.

    Else None.
    """
    request_switch: Callable[[AnnotatorSwitch], object] = lambda _: None
    """Ends the session and starts a new one as another annotator. The app sets it."""
    in_browser: bool = False
    """Whether the app runs in a browser, where it writes only the annotator's files and
    downloads.
    """
    start_options: str = ""
    """Command-line options that choose the saved position to resume.

    Empty if there are none.
    """
    opens_overview: bool = False
    """Whether the overview is the first screen if several runs are open and there is no position to
    resume.
    """
    shows_welcome: bool = False
    """Whether the first screen shows a welcome message."""
    theme: str | None = None
    """Name of the theme to start with. None for the default."""
    save_theme: Callable[[str], None] = lambda _: None
    """Saves the theme that the user chose, so that the next start uses it."""
    can_end_blind_review: bool = False
    """Whether a queue started the blind review, so that the user can end it in the app."""
    key_guard_time: float = 0.0
    """Seconds that an item must have been on screen before a review key acts. 0: no limit."""
    hidden_names: HiddenNames | None = None
    """Names of models that all screens hide. None if they show them."""
    clock: Callable[[], float] = monotonic
    """The clock of key presses and of frames that reach no terminal."""


class Session(SessionSettings):
    """Session of one annotator, which runs their queries on the store and writes their reviews.

    The first query opens the store and the first review opens the journal, unless the caller passes
    them in.
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
        super().__init__()

        # Who reviews, and which verdicts they see.
        self.annotator = annotator
        self.blind = blind
        """Whether review is blind: other verdicts on an item are hidden until this annotator
        submits one.
        """
        self.shows_judges = False
        """Whether verdicts of `fcreview judge` are visible before the annotator's own verdict. It
        must be set before the store is opened.
        """

        # What the command line provides for some screens.
        self.golden_support = golden
        """Support for the golden editor. None disables the editor."""
        self._build_services = services
        self.team: TeamSync | None = None
        """Exchange of reviews with the user's team. None without a team."""

        # The store of the items, and the writer of the reviews.
        self._workspace = workspace
        if workspace is None and store is not None:
            self._workspace = store.workspace
        self._store = store
        self._is_store_borrowed = store is not None
        """Whether the caller passed in the store, and therefore also closes it."""
        self._reviewer = reviewer
        self._reviewed: dict[str, ItemKey] = {}
        """Items reviewed in this session, by the event id of the review.

        Undone reviews are removed.
        """

        # What one screen leaves for the others.
        self.actions = ActionQueue()
        """Queued actions of the review screens. The app quits only after they have run."""
        self.overview_place = OverviewPlace()
        self.estimated_run: int | None = None
        """Number of the run under the cursor when the user left the estimates."""
        self.last_overview: object = None
        """Last `Overview`. The overview shows it while it reads the figures again."""
        self.progress: ReviewProgress | None = None
        """Progress of the annotator in the queue. None before the first count."""
        self.opened_run_names: tuple[str, ...] = ()
        """Names of the opened runs, also of those that the queue does not show now."""
        self.n_bulk_changes = 0
        """Number of bulk reviews and undos so far. When it changes, lists read their rows again."""
        self.queue_file: str | None = None
        """Name of the open queue file, which each review records. None if no queue file is open."""

        # What is kept on disk for the annotator's next session.
        self._annotator_state = AnnotatorState(self.workspace_folder, annotator)
        self.drafts = DraftFile(self._annotator_state)
        """Texts that the annotator typed and did not save."""
        self.annotator_filters = AnnotatorFilters(self._annotator_state, blind=blind)
        """Filters and searches of this annotator, from this session and earlier ones."""

        # The thread of the store, and its queries.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        """The only thread that uses the store."""
        self._lock = threading.Lock()
        self._running: Callable[[Store], Any] | None = None
        """Running query, guarded by `_lock`.

        It is never a review, so reviews are not interrupted.
        """
        self._background_queries: dict[Future[Any], Callable[[Store], Any]] = {}
        """Waiting or running queries of `read_in_background` that no other call has interrupted."""
        self._interrupts: set[asyncio.Task[None]] = set()
        """Tasks that interrupt a query. The set keeps asyncio from discarding them."""

    @cached_property
    def report_services(self) -> ReportServices | None:
        """Services for the command palette.

        None disables reports and exports that need benchmark files.
        """
        return self._build_services() if self._build_services is not None else None

    @property
    def is_leaving(self) -> bool:
        """Whether the app is quitting.

        The session then refuses to read, but still writes reviews.
        """
        return self.actions.is_quitting

    @property
    def workspace(self) -> Workspace | None:
        return self._workspace

    @property
    def workspace_folder(self) -> Path | None:
        """The workspace's folder `.fcreview`, or None without a workspace."""
        return self._workspace.root if self._workspace is not None else None

    @property
    def root_breadcrumb(self) -> tuple[str, ...]:
        """First name in the top line: the workspace's parent folder, sanitized.

        Empty without a workspace.
        """
        if self.workspace_folder is None:
            return ()
        name = sanitize(self.workspace_folder.parent.name)
        return (f"{name}/",) if name else ()

    def load_position(self, state: QueueState) -> QueuePosition | None:
        """Return the position at which this annotator left the queue.

        None if it cannot be restored.
        """
        store_state = self._workspace.measure_store() if self._workspace is not None else None
        return load_position(
            self._annotator_state,
            state,
            self._can_open_queue_file,
            start_options=self.start_options,
            store_state=store_state,
        )

    def is_blind_queue(self, name: str) -> bool:
        """Whether the items of a queue file are reviewed blind."""
        from fcreview.store.queue_file import is_blind_queue

        return is_blind_queue(self._workspace, name)

    def _can_open_queue_file(self, name: str) -> bool:
        from fcreview.store.queue_file import QueueError, read_queue

        with suppress(QueueError):
            return self._workspace is not None and bool(read_queue(self._workspace, name))
        return False

    def save_position(self, state: QueueState, position: QueuePosition) -> None:
        """Save the position at which this annotator leaves the queue."""
        save_position(
            self._annotator_state,
            state,
            position,
            start_options=self.start_options,
            store_state=self._store.file_state if self._store is not None else None,
        )

    def adapt_position_to_annotator(self, annotator: str, position: QueuePosition) -> QueuePosition:
        """Return the position in the queue at which another annotator continues."""
        from fcreview.tui.queue_state import adapt_position_to_annotator

        return adapt_position_to_annotator(self._workspace, annotator, position, blind=self.blind)

    async def normalize_annotator(self, name: str) -> str:
        """Check the name of an annotator, and return it in normal form (Unicode NFC).

        Raises: AnnotatorError or JournalError if the annotator cannot have a journal in the
        workspace.
        """
        from fcreview.store.reviews.journal import Journal

        return await self.read(lambda store: Journal(store.workspace, name).annotator)

    @property
    def reviewed_count(self) -> int:
        """Number of items reviewed in this session."""
        return len(set(self._reviewed.values()))

    def start_opening_store(self) -> None:
        """Start to open the store in its thread.

        If this fails, the first `read` raises the error.
        """
        self._thread.submit(self._get_store)

    # -- the three kinds of calls in the store's thread

    async def read(self, query: Callable[[Store], T], *, interruptible: bool = False) -> T:
        """Call a query with the store, in the store's thread, and return its result.

        Args:
            interruptible: Interrupt the query when the caller is cancelled. Such a query must not
            write.

        Raises:
            SessionError: The store cannot be opened.
            CancelledError: The app is quitting.
        """
        if self.is_leaving:
            raise asyncio.CancelledError
        self._interrupt_background_queries()
        # A context variable of the caller says which names of models are hidden. The query needs it
        # in its own thread, for the texts that it makes.
        future = self._thread.submit(copy_context().run, self._run_query, query)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            # Nobody waits for the result any more, but the query would keep the thread busy.
            if interruptible:
                self._start_interrupt(future, query)
            raise
        except Exception:
            # The app interrupts running queries to quit. The error is of no interest then.
            if self.is_leaving:
                raise asyncio.CancelledError from None
            raise

    async def read_detail(self, item: int) -> ItemDetail:
        """Return an item as screens show it. Raises the exceptions of `read`."""
        return await self.read(
            lambda store: self.compare_with_accepted_golden(store.read_detail(item))
        )

    def compare_with_accepted_golden(self, detail: ItemDetail) -> ItemDetail:
        """Return an item that is compared with the golden answer that annotators accepted, if there
        is one.
        """
        if self.golden_support is None:
            return detail
        return compare_with_accepted_golden(detail, self.golden_support.compare)

    async def read_in_background(self, query: Callable[[Store], T]) -> T:
        """Call a query as `read` does, but let every other call interrupt it.

        After an interruption, the query starts again. So it must not write. Raises the exceptions
        of `read`. A call that interrupts the query removes it from `_background_queries`.
        """
        while not self.is_leaving:
            future = self._thread.submit(copy_context().run, self._run_query, query)
            self._background_queries[future] = query
            try:
                return await asyncio.wrap_future(future)
            except asyncio.CancelledError:
                if _is_caller_cancelled():
                    self._start_interrupt(future, query)
                    raise
                # Another call has cancelled this one before it began. It starts again.
            except Exception:
                if self.is_leaving:
                    raise asyncio.CancelledError from None
                # A query that another call has interrupted starts again. Any other error is one of
                # the query itself.
                is_interrupted = future not in self._background_queries
                if not is_interrupted:
                    raise
            finally:
                self._background_queries.pop(future, None)
        raise asyncio.CancelledError

    async def write(self, change: Callable[[Reviewer], T]) -> T:
        """Call a function that writes reviews, in the store's thread, and return its result. It
        runs to its end even if the caller is cancelled or the app quits.

        Raises SessionError if the journal cannot be opened, and the exceptions of `Reviewer`.
        """
        self._interrupt_background_queries()
        future = self._thread.submit(self._run_change, change, self.queue_file)
        return await asyncio.shield(asyncio.wrap_future(future))

    def _run_change(self, change: Callable[[Reviewer], T], queue_file: str | None) -> T:
        """Call a function that writes reviews, and return its result.

        `queue_file`: queue file that was open when the user pressed the key. The reviews name it.
        """
        reviewer = self._get_reviewer()
        reviewer.queue = queue_file
        return change(reviewer)

    def _interrupt_background_queries(self) -> None:
        """Interrupt the queries of `read_in_background`, which then start again."""
        for future, query in self._background_queries.items():
            if not future.done():
                self._start_interrupt(future, query)
        self._background_queries.clear()

    def _start_interrupt(self, future: Future[Any], query: Callable[[Store], Any]) -> None:
        """Cancel a waiting query, or start a task that interrupts it if it is running."""
        # Only a query that has not begun can be cancelled.
        is_cancelled = future.cancel()
        if is_cancelled or self.is_leaving:
            return

        # asyncio keeps no reference to a task, so the set does until the task ends.
        interrupt = asyncio.ensure_future(self._interrupt_until_done(future, query))
        self._interrupts.add(interrupt)
        interrupt.add_done_callback(self._interrupts.discard)

    def open_latest_store(self) -> Store:
        """Open the store that is on disk now, while the store in use stays open. Must be called in
        a thread.

        The caller must pass the new store to `swap_store` or close it.
        """
        return self._hide_models_of(self._open_store(self._get_store().workspace))

    def _open_store(self, workspace: Workspace) -> Store:
        from fcreview.store.store import Store

        return Store.open(
            workspace, self.annotator, blind=self.blind, shows_judges=self.shows_judges
        )

    def _hide_models_of(self, store: Store) -> Store:
        """Hide the names of the store's models, if the session hides them."""
        if self.hidden_names is not None:
            self.hidden_names.hide(store.hide_models())
        return store

    def swap_store(self, store: Store) -> None:
        """Replace the store for queries and reviews.

        Must not be called while a query or a review is running.
        """
        old_store = self._store
        was_borrowed = self._is_store_borrowed
        self._store = store
        self._is_store_borrowed = False
        if self._reviewer is not None:
            self._reviewer = self._reviewer.with_store(store)

        # The caller closes a store that it passed in.
        if old_store is not None and not was_borrowed:
            self._thread.submit(old_store.close)

    def uses_store(self, store: Store) -> bool:
        return self._store is store

    # -- reviews

    async def open_journal(self) -> None:
        """Open the annotator's journal. Raises: SessionError if it cannot be opened."""
        await self.write(lambda _: None)

    async def record_review(
        self,
        item: int,
        annotation: Annotation,
        detail: ItemDetail | None = None,
        sibling_fixes: Sequence[tuple[int, Annotation]] = (),
    ) -> Event:
        """Write a review of an item. The review is on disk when this returns.

        Args:
            detail: The item as it was on screen.
            sibling_fixes: Golden fixes of siblings, which are saved with the review or not at all.

        Raises the exceptions of `Reviewer.review_with_siblings`.
        """

        def write_review(reviewer: Reviewer) -> Event:
            if sibling_fixes:
                event, *_ = reviewer.review_with_siblings(item, annotation, sibling_fixes, detail)
                self.n_bulk_changes += 1
            else:
                event = reviewer.review(item, annotation, detail)
            self._reviewed[event.event] = event.key
            return event

        return await self.write(write_review)

    async def find_golden_status(self) -> GoldenStatus:
        """Return the status of a golden fix that this annotator records now.

        A single annotator accepts it. With several, it is proposed until it is adjudicated.
        """
        if self.team is not None:
            return PROPOSED
        has_others = await self.read(lambda store: store.has_other_annotators(self.annotator))
        return PROPOSED if has_others else ACCEPTED

    async def record_bulk_review(self, items: Sequence[int], annotation: Annotation) -> list[Event]:
        """Write one review for each item that the annotator has not reviewed.

        See `Reviewer.review_in_bulk`.
        """

        def write_reviews(reviewer: Reviewer) -> list[Event]:
            events = reviewer.review_in_bulk(items, annotation)
            self._reviewed.update({event.event: event.key for event in events})
            self.n_bulk_changes += 1
            return events

        return await self.write(write_reviews)

    async def undo_latest_review(self) -> list[Event]:
        """Retract this annotator's latest review or bulk review. See `Reviewer.undo`."""

        def undo(reviewer: Reviewer) -> list[Event]:
            events = reviewer.undo()
            for event in events:
                self._reviewed.pop(event.event, None)
            self.n_bulk_changes += 1
            return events

        return await self.write(undo)

    async def prepare_to_quit(self) -> bool:
        """Refuse queries, interrupt the running query and wait for the queued actions.

        Return False if an action failed. The session then accepts queries again, so that the user
        can see the error.
        """
        self.actions.is_quitting = True
        waiting = asyncio.ensure_future(self.actions.wait_until_idle())
        while not waiting.done():
            self._interrupt_running_query()
            await asyncio.wait([waiting], timeout=INTERRUPT_INTERVAL)
        all_succeeded = waiting.result()
        self.actions.is_quitting = all_succeeded
        return all_succeeded

    def close(self) -> None:
        """Write the remaining reviews, interrupt queries and close the store, unless the caller
        passed it in.
        """
        self.actions.is_quitting = True
        # Calls run in order, so this one is done when all earlier reviews are written.
        last_call = self._thread.submit(lambda: None)
        while not last_call.done():
            self._interrupt_running_query()
            wait([last_call], INTERRUPT_INTERVAL)
        self._thread.shutdown()
        if self._store is not None and not self._is_store_borrowed:
            self._store.close()
            self._store = None

    async def _interrupt_until_done(
        self, future: Future[Any], query: Callable[[Store], Any]
    ) -> None:
        """Interrupt a query repeatedly, because an interrupt between two SQL statements has no
        effect.
        """
        while not future.done() and not self.is_leaving:
            self._interrupt_running_query(query)
            await asyncio.sleep(INTERRUPT_INTERVAL)

    def _interrupt_running_query(self, only_query: Callable[[Store], Any] | None = None) -> None:
        """Interrupt the running query.

        With `only_query`, do nothing if another query is running.
        """
        with self._lock:
            is_running = self._running is not None and only_query in (None, self._running)
            if is_running and self._store is not None:
                self._store.interrupt()

    def _run_query(self, query: Callable[[Store], T]) -> T:
        """Call a query with the store, and remember it so that it can be interrupted."""
        with self._lock:
            if self.is_leaving:
                raise SessionError("the session is closed")
            self._running = query
        try:
            return query(self._get_store())
        finally:
            with self._lock:
                self._running = None

    def _get_store(self) -> Store:
        """Return the store. The first call opens it."""
        if self._store is None:
            from fcreview.store.store import StoreError

            if self._workspace is None:
                raise SessionError("no workspace is open")
            # Earlier versions cached the first rows of the queue in this folder.
            shutil.rmtree(self._workspace.root / "first", ignore_errors=True)
            try:
                self._store = self._hide_models_of(self._open_store(self._workspace))
            except (StoreError, OSError) as error:
                raise SessionError(str(error)) from error
        return self._store

    def _get_reviewer(self) -> Reviewer:
        """Return the reviewer.

        The first call opens the journal, because an annotator who only reads needs none.
        """
        if self._reviewer is None:
            from fcreview.store.reviewer import Reviewer
            from fcreview.store.reviews.journal import Journal

            store = self._get_store()
            try:
                self._reviewer = Reviewer(store, Journal(store.workspace, self.annotator))
            except (FcreviewError, OSError) as error:
                raise SessionError(str(error)) from error
        return self._reviewer

"""What the screens share: store and reviewer, both in one thread of their own, where one thing is done at a time.

Words of one's own for what is said of items, as the configuration file gives them. Without Textual.
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
from fcreview.store.workspace import Own
from fcreview.tui.action_queue import InOrder
from fcreview.tui.queue.state import FilterHistory, QueuePosition, load_position, save_position

if TYPE_CHECKING:
    from fcreview.model.review import Event, ItemKey, Said
    from fcreview.store.reviews.reviewer import Reviewer
    from fcreview.store.store import Store
    from fcreview.store.workspace import Workspace
    from fcreview.tui.exports import ReportServices
    from fcreview.tui.queue.state import QueueState
    from fcreview.tui.review.golden_editor import Golden


REASONS = ("too strict", "misread", "other")
"""Why an automatic verdict is overruled, where the configuration names nothing else."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    tags: tuple[str, ...] = ()
    """Offered first, with the digits from 1."""
    reasons: tuple[str, ...] = REASONS


T = TypeVar("T")
AGAIN = 0.05
"""Seconds between attempts to break off a question."""


class SessionError(FcreviewError):
    """The store or the journal cannot be opened; one line."""


def remove_page_cache(workspace: Workspace) -> None:
    """Delete the first rows that earlier versions cached in the workspace, in `.fcreview/first/<annotator>.json`."""
    shutil.rmtree(workspace.root / "first", ignore_errors=True)


class Session:
    """Opens workspace and journal with the first question. A store and reviewer that are given are used as they are."""

    def __init__(
        self,
        workspace: Workspace | None,
        annotator: str,
        store: Store | None = None,
        reviewer: Reviewer | None = None,
        *,
        blind: bool = False,
        golden: Golden | None = None,
        services: ReportServices | None = None,
    ) -> None:
        self.annotator = annotator
        self.golden = golden
        """What the benchmarks know of golden answers; None: they are not corrected here."""
        self.vocabulary = Vocabulary()
        """Words of one's own, before the first item is shown."""
        self.services = services
        """Reports and the benchmarks' own files. None: the screens have no report and no export of such files."""
        self.acts = InOrder()
        """What was asked for on a screen that reviews: nobody leaves before it is done."""
        self.blind = blind
        """What others said of an item is hidden until this annotator gave a verdict."""
        self.queue: str | None = None
        """The queue file that items are found in: reviews name it."""
        self._workspace = workspace or (store.workspace if store is not None else None)
        self._store = store
        self._lent = store is not None
        self._own = Own(self.folder, annotator)
        self.typed = FilterHistory(self._own, blind=blind)
        """Filters and searches of this and earlier sessions."""
        self._reviewer = reviewer
        self._reviewed: dict[str, ItemKey] = {}
        """Items by the reviews of this session that were not undone."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self.leaving = False
        """Nothing is asked any more; what is said is still written."""
        self._gate = threading.Lock()
        self._answering: Callable[[Store], Any] | None = None
        """The question that the thread is at, which may be broken off; a review never is. Guarded by the gate."""
        self._breaking: set[asyncio.Task[None]] = set()
        """Kept while they run."""

    @property
    def folder(self) -> Path | None:
        """The workspace's own."""
        return self._workspace.root if self._workspace is not None else None

    def position(self, state: QueueState) -> QueuePosition | None:
        """Where this annotator left the queue; None where that was another one."""
        return load_position(self._own, state)

    def keep_position(self, state: QueueState, left: QueuePosition) -> None:
        save_position(self._own, state, left)

    @property
    def reviewed(self) -> int:
        """Items reviewed since the start."""
        return len(set(self._reviewed.values()))

    def begin(self) -> None:
        """Opens the store while the first frames are drawn. What goes wrong is told by the first `ask`."""
        self._thread.submit(self._opened)

    async def ask(self, question: Callable[[Store], T], *, leavable: bool = False) -> T:
        """The store's answer. SessionError if it cannot be opened; cancelled when the program is being left.
        `leavable`: it only reads, and is broken off when nobody waits for it any more."""
        asked = self._thread.submit(self._answer, question)
        try:
            return await asyncio.wrap_future(asked)
        except asyncio.CancelledError:
            if leavable and not self.leaving:
                breaking = asyncio.ensure_future(self._until_broken_off(asked, question))
                self._breaking.add(breaking)
                breaking.add_done_callback(self._breaking.discard)
            raise
        except Exception:
            if self.leaving:
                raise asyncio.CancelledError from None
            raise

    def another(self) -> Store:
        """The store as it is on disk now, beside the one in use: for `swap`, or to be closed. For a thread."""
        from fcreview.store.store import Store

        return Store.open(self._opened().workspace, self.annotator, blind=self.blind)

    def swap(self, store: Store) -> None:
        """From now on this store is asked, and reviews are of its items. Not while something is said or asked."""
        before, lent, self._store, self._lent = self._store, self._lent, store, False
        if self._reviewer is not None:
            self._reviewer = self._reviewer.on(store)
        if before is not None and not lent:
            self._thread.submit(before.close)

    def uses(self, store: Store) -> bool:
        return self._store is store

    async def ready(self) -> None:
        """SessionError if there is no journal to write to."""
        await self._kept(self._reviewing)

    async def review(self, item: int, said: Said) -> Event:
        """Says something of an item; it is on disk when this returns. Raises what the journal raises."""
        queue = self.queue

        def write() -> Event:
            reviewer = self._reviewing()
            reviewer.queue = queue
            event = reviewer.review(item, said)
            self._reviewed[event.event] = event.key
            return event

        return await self._kept(write)

    async def undo(self) -> Event | None:
        """Takes back this annotator's latest review that still stands; None if there is none."""

        def write() -> Event | None:
            event = self._reviewing().undo()
            if event is not None:
                self._reviewed.pop(event.event, None)
            return event

        return await self._kept(write)

    async def leave(self) -> bool:
        """Waits for what was asked for on a screen that reviews: whether all went well, and nobody has to be told
        before the program ends. Questions are not waited for: they are broken off."""
        self.leaving = True
        done = asyncio.ensure_future(self.acts.finished())
        while not done.done():
            self._break_off()
            await asyncio.wait([done], timeout=AGAIN)
        self.leaving = done.result()
        return self.leaving

    def close(self) -> None:
        """What was said is still saved; questions are broken off."""
        self.leaving = True
        last = self._thread.submit(lambda: None)
        while not last.done():
            self._break_off()
            wait([last], AGAIN)
        self._thread.shutdown()
        if self._store is not None and not self._lent:
            self._store.close()
            self._store = None

    async def _kept(self, work: Callable[[], T]) -> T:
        """Done to its end, also when nobody waits for it any more."""
        return await asyncio.shield(asyncio.wrap_future(self._thread.submit(work)))

    async def _until_broken_off(self, asked: Future[Any], question: Callable[[Store], Any]) -> None:
        """Between two statements there is nothing to break off: again and again."""
        while not asked.done() and not self.leaving:
            self._break_off(question)
            await asyncio.sleep(AGAIN)

    def _break_off(self, only: Callable[[Store], Any] | None = None) -> None:
        with self._gate:
            wanted = self._answering is not None and only in (None, self._answering)
            if wanted and self._store is not None:
                self._store.interrupt()

    def _answer(self, question: Callable[[Store], T]) -> T:
        with self._gate:
            if self.leaving:
                raise SessionError("nothing is asked any more")
            self._answering = question
        try:
            return question(self._opened())
        finally:
            with self._gate:
                self._answering = None

    def _opened(self) -> Store:
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

    def _reviewing(self) -> Reviewer:
        """Made when first needed: reading needs no journal of one's own."""
        if self._reviewer is None:
            from fcreview.store.reviews.journal import Journal
            from fcreview.store.reviews.reviewer import Reviewer

            store = self._opened()
            try:
                self._reviewer = Reviewer(store, Journal(store.workspace, self.annotator))
            except (FcreviewError, OSError) as error:
                raise SessionError(str(error)) from error
        return self._reviewer

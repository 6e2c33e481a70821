"""What the screens share: the opened store and the reviewer. Queries run one after another in a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from fcreview.errors import FcreviewError

if TYPE_CHECKING:
    from fcreview.review import Event, Said
    from fcreview.store.reviewer import Reviewer
    from fcreview.store.store import Store
    from fcreview.store.workspace import Workspace

T = TypeVar("T")


class SessionError(FcreviewError):
    """The store or the journal cannot be opened; one line."""


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
    ) -> None:
        self.annotator = annotator
        self._blind = blind
        self._workspace = workspace
        self._store = store
        self._reviewer = reviewer
        self._tally: Tally | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")

    def begin(self) -> None:
        """Opens the store while the first frames are drawn. What goes wrong is told by the first `ask`."""
        self._thread.submit(self._opened)

    async def ask(self, question: Callable[[Store], T]) -> T:
        """The answer of the store. Raises SessionError if it cannot be opened."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: question(self._opened()))

    @property
    def store(self) -> Store:
        return self._opened()

    @property
    def reviewer(self) -> Tally:
        """Made when first needed: reading needs no journal of one's own."""
        if self._tally is None:
            self._tally = Tally(self._reviewer or self._new_reviewer())
        return self._tally

    @property
    def reviewed(self) -> int:
        """Items reviewed since the start."""
        return self._tally.items if self._tally else 0

    def close(self) -> None:
        if self._store is not None:
            self._store.interrupt()
        self._thread.shutdown(wait=True, cancel_futures=True)
        if self._workspace is not None and self._store is not None:
            self._store.close()
            self._store = None

    def _opened(self) -> Store:
        if self._store is None:
            self._store = self._open()
        return self._store

    def _open(self) -> Store:
        from fcreview.store.store import Store, StoreError

        if self._workspace is None:
            raise SessionError("no workspace")
        try:
            return Store.open(self._workspace, self.annotator, blind=self._blind)
        except (StoreError, OSError) as error:
            raise SessionError(str(error)) from error

    def _new_reviewer(self) -> Reviewer:
        from fcreview.store.reviewer import Reviewer
        from fcreview.store.reviews.journal import Journal

        store = self._opened()
        try:
            return Reviewer(store, Journal(store.workspace, self.annotator))
        except (FcreviewError, OSError) as error:
            raise SessionError(str(error)) from error


class Tally:
    """A reviewer that counts: which items have reviews of this session that were not undone."""

    def __init__(self, reviewer: Reviewer) -> None:
        self._reviewer = reviewer
        self._events: dict[str, int] = {}

    @property
    def items(self) -> int:
        return len(set(self._events.values()))

    @property
    def annotator(self) -> str:
        return self._reviewer.annotator

    def review(self, item: int, said: Said) -> Event:
        event = self._reviewer.review(item, said)
        self._events[event.event] = item
        return event

    def undo(self) -> Event | None:
        event = self._reviewer.undo()
        if event is not None:
            self._events.pop(event.event, None)
        return event

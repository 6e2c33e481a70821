"""What the queue asks of the store: a view's rows in windows, the runs, an item by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from fcreview.calls.clusters import VALUE
from fcreview.store.filters.narrowing import FAILING, narrowed
from fcreview.store.rows import Extent, QueueRow, RunRow, View
from fcreview.tui.queue.completing import Facets
from fcreview.tui.queue.levels import Counted, Standing

if TYPE_CHECKING:
    from fcreview.estimate.share import Share
    from fcreview.store.store import Store
    from fcreview.tui.session import Session

WINDOW = 256
"""Rows asked for at a time."""
ESTIMATED = 20_000
"""Items of a run whose rate is estimated while people work: 4,000 take a quarter of a second."""


@dataclass(frozen=True, slots=True)
class Request:
    """A view, and where the cursor is to stand in it."""

    view: View
    standing: Standing
    """On its item, if that is in the view; else on its line, or as near as there is one."""
    anew: bool = False
    """Takes in what was reviewed since the last time."""


@dataclass(frozen=True, slots=True)
class Loaded:
    total: int
    cursor: int
    window: int
    """The one the cursor is in, from 0; its rows are there already."""
    rows: Sequence[QueueRow]
    extent: Extent = field(default_factory=Extent)
    done: str = ""
    """Of a queue file, how far this annotator is: `12 of 80`."""

    @property
    def row(self) -> QueueRow | None:
        """The one the cursor is on."""
        at = self.cursor - self.window * WINDOW
        return self.rows[at] if 0 <= at < len(self.rows) else None


class Loading:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._facets: dict[tuple[int, ...], Facets] = {}
        self._estimated: tuple[int, ...] = ()
        """The state of reviews that `_share` is of."""
        self._share: Share | None = None

    async def view(self, request: Request) -> Loaded:
        """FilterError if the view's filter is not understood, SessionError if there is no store."""

        def renew(store: Store) -> None:
            self._session.stamp_anew()
            store.refresh_reviews()

        if request.anew:
            await self._session.ask(renew)
        return await self._session.ask(partial(load_rows, request), leavable=True)

    def forget(self) -> None:
        """Another store is asked from now on."""
        self._facets, self._estimated, self._share = {}, (), None

    async def window(self, view: View, window: int) -> Sequence[QueueRow]:
        return await self._session.ask(lambda store: store.page(view, window * WINDOW, WINDOW))

    async def row(self, view: View, index: int) -> QueueRow | None:
        rows = await self._session.ask(lambda store: store.page(view, index, 1))
        return rows[0] if rows else None

    async def runs(self) -> list[RunRow]:
        return await self._session.ask(lambda store: store.runs())

    async def facets(self, view: View) -> Facets:
        """Of the runs that are shown, whatever filter is set: asked once for each choice of them."""
        if view.runs not in self._facets:
            self._facets = {view.runs: await self._session.ask(lambda store: store.facets(View(runs=view.runs)))}
        return self._facets[view.runs]

    async def share(self, run: RunRow) -> Share | None:
        """Of the items of a run that pass, with an interval; None without a random sample of them, and of a run so
        large that the next item would have to wait for it. Worked out anew when something was reviewed."""
        if run.n_items > ESTIMATED:
            return None
        state = (run.run, run.reviewed, run.effective_pass, run.effective_known)
        if state != self._estimated:
            self._share = await self._session.ask(partial(_share, run.run))
            self._estimated = state
        return self._share

    async def find(self, item: int | str, run: int | None) -> int | None:
        """The item that a person named: by its id in a run that is shown, or by its number."""
        if not isinstance(item, str):
            return item
        found = await self._session.ask(lambda store: store.find(item, run))
        return found[0] if found else None

    async def problems(self) -> str:
        """The first review that does not count because its line cannot be read, and how many more there are."""
        warnings = await self._session.ask(_warnings)
        more = f", and {len(warnings) - 1} more: fcreview doctor" if len(warnings) > 1 else ""
        return f"reviews: {warnings[0]}{more}" if warnings else ""


def load_rows(request: Request, store: Store) -> Loaded:
    view = request.view
    total = store.count(view)
    item, name = request.standing.item, request.standing.name
    if item is None and name is not None:
        item = next(iter(store.find(*name)), None)
    place = None if item is None else store.position(view, item)
    cursor = max(0, min(request.standing.line, total - 1)) if place is None else place
    window = cursor // WINDOW
    own = store.progress(view.file, store.annotator) if view.file else []
    rows = store.page(view, window * WINDOW, WINDOW)
    return Loaded(total, cursor, window, rows, store.extent(view), own[0].said if own else "")


def count_clusters(view: View, by: int, store: Store) -> Counted:
    clusters = store.clusters(view, by=by)
    told = sum(cluster.count for cluster in clusters)
    if by != VALUE:
        return Counted(clusters, told)
    failing = replace(view, where=narrowed(view.where, FAILING), queue=view.file or "dataset", share=False)
    return Counted(clusters, store.count(failing) if clusters else 0)


def _share(run: int, store: Store) -> Share | None:
    """Only worked out where a queue file can have drawn a sample."""
    from fcreview.store.queues.file import queue_names

    if store.blind or not queue_names(store.workspace):
        return None
    from fcreview.estimate.share import share
    from fcreview.tui.queue.header import HALF_WIDTH

    return share(store.told.standings(run).items, HALF_WIDTH)


def _warnings(store: Store) -> list[str]:
    """In blind mode of the annotator's own journal: others' names are none of theirs."""
    every = store.reviews.warnings
    return [each for each in every if each.startswith(f"{store.annotator}.jsonl ")] if store.blind else every

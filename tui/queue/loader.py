"""What the queue asks of the store: a view's rows in windows, the runs, an item by its name.

What the queue showed when it was last read, kept in the workspace: it stands on the screen while the store opens.

`first`: {"made": [...], "total", "cursor", "window", "rows": [a row's fields], "extent": {...}, "done", "bars":
{name: [[text, style]]}, "cells"}. It is shown only if nothing it was made of has changed since, and what the store says
then takes its place.

Walking a queue item by item, over windows of the query and never over the whole list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fcreview import __version__
from fcreview.matching.clusters import VALUE
from fcreview.model.sanitize import visible
from fcreview.store.filters.build import FAILING, narrowed
from fcreview.store.rows import Extent, QueueRow, RunRow, View
from fcreview.store.workspace import Stamp
from fcreview.tui.queue.choices import Facets
from fcreview.tui.queue.state import Counted, Standing
from fcreview.tui.text.lines import Line

if TYPE_CHECKING:
    from fcreview.stats.estimation import Share
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
            self._session.update_stamp()
            store.refresh_reviews()

        if request.anew:
            await self._session.ask(renew)
        return await self._session.ask(partial(load_rows, request), interruptible=True)

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
    from fcreview.store.queues.queue_file import queue_names

    if store.blind or not queue_names(store.workspace):
        return None
    from fcreview.stats.estimation import share
    from fcreview.tui.queue.header import HALF_WIDTH

    return share(store.told.standings(run).items, HALF_WIDTH)


def _warnings(store: Store) -> list[str]:
    """In blind mode of the annotator's own journal: others' names are none of theirs."""
    every = store.reviews.warnings
    return [each for each in every if each.startswith(f"{store.annotator}.jsonl ")] if store.blind else every


T = TypeVar("T")
FOLDER = "first"
KINDS = {
    "int": (int,),
    "str": (str,),
    "bool": (bool,),
    "str | None": (str, type(None)),
    "bool | None": (bool, type(None)),
    "Any": (str, bool, type(None)),
}
"""What a field of a row may hold, by how it is declared."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a queue that was read depends on."""

    stamp: Stamp
    """Of the workspace, from before it was read."""
    view: View
    annotator: str
    blind: bool

    def as_json(self) -> list[Any]:
        view = [list(value) if isinstance(value, tuple) else value for value in asdict(self.view).values()]
        return [__version__, self.stamp, view, self.annotator, self.blind]


@dataclass(frozen=True, slots=True)
class Glance:
    loaded: Loaded
    bars: Mapping[str, Line]
    """The header's lines by name."""
    cells: int
    """That they were drawn for."""


def keep_glance(session: Session, view: View, glance: Glance) -> None:
    """Store what the queue shows of this view for the next start."""
    made = Made(session.stamp, view, session.annotator, session.blind)
    if not made.stamp:
        return
    kept = asdict(glance.loaded) | {"made": made.as_json(), "bars": dict(glance.bars), "cells": glance.cells}
    session.own.keep(FOLDER, kept)


def read_glance(session: Session, view: View, standing: Standing) -> Glance | None:
    """What the queue showed of this view when it was last read, or None if it would show something else now, or the
    cursor at another row."""
    made, found = Made(session.current_stamp, view, session.annotator, session.blind), session.own.read(FOLDER)
    if not made.stamp or found.pop("made", None) != made.as_json():
        return None
    try:
        bars = {
            str(name): tuple((visible(text), str(style)) for text, style in bar) for name, bar in found["bars"].items()
        }
        rows = [_of(QueueRow, each) for each in found["rows"]]
        total, cursor, window = (int(found[name]) for name in ("total", "cursor", "window"))
        loaded = Loaded(total, cursor, window, rows, _of(Extent, found["extent"]), visible(found["done"]))
        glance = Glance(loaded, bars, int(found["cells"]))
    except (TypeError, ValueError, LookupError, AttributeError):
        return None
    return glance if _stands(loaded, standing) else None


def _stands(loaded: Loaded, standing: Standing) -> bool:
    row = loaded.row
    if standing.item is not None or (row is None) != (loaded.total == 0):
        return False
    if standing.name is not None:
        return row is not None and standing.name == (row.id, row.run)
    return loaded.cursor == standing.line


def _of(kind: type[T], found: Mapping[str, Any]) -> T:
    """TypeError for what such a thing cannot hold."""
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name in found and type(found[each.name]) not in KINDS[str(each.type)]:
            raise TypeError(each.name)
    return kind(**found)


NEIGHBOURS_WINDOW = 50
MOST_LEFT = 1000


class Pages(Protocol):
    """What is asked of a store here."""

    def count(self, view: View) -> int: ...

    def page(self, view: View, offset: int, limit: int) -> list[QueueRow]: ...

    def position(self, view: View, item: int) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Walk:
    """A place in a queue: that of the item on screen. An item that a verdict took out of the queue leaves its place to
    the one behind it."""

    view: View
    item: int
    count: int
    position: int | None
    """None: the item is not, or no longer, in the queue."""
    place: int = 0
    """The position, or the last one there was."""

    @classmethod
    def at(cls, pages: Pages, view: View, item: int, before: Walk | None = None) -> Walk:
        """`before`: the place on this walk that is left."""
        position = pages.position(view, item)
        last = before.place if before is not None else 0
        return cls(view, item, pages.count(view), position, last if position is None else position)

    def neighbour(self, pages: Pages, step: int) -> int | None:
        """The next (1) or previous (-1) item; None at either end."""
        at = self.place + (step if self.position is not None or step < 0 else 0)
        if not 0 <= at < self.count:
            return None
        rows = pages.page(self.view, at, 1)
        return rows[0].item if rows else None

    def needing(self, pages: Pages) -> int | None:
        """The next item behind this one without a verdict of this annotator; None if there is none up to the end."""
        start = self.place + (0 if self.position is None else 1)
        return next((row.item for row in self._lacking(pages, start) if row.item != self.item), None)

    def left(self, pages: Pages) -> Left:
        """What else of the whole queue lacks a verdict of this annotator."""
        lacking = (row.item for row in self._lacking(pages, 0) if row.item != self.item)
        found = list(islice(lacking, MOST_LEFT))
        return Left(len(found), found[0] if found else None)

    def _lacking(self, pages: Pages, start: int) -> Iterator[QueueRow]:
        size = NEIGHBOURS_WINDOW
        while start < self.count:
            rows = pages.page(self.view, start, min(size, self.count - start))
            yield from (row for row in rows if row.stale or not self._has_verdict(row))
            if not rows:
                return
            start += len(rows)
            size = MOST_LEFT

    def _has_verdict(self, row: QueueRow) -> bool:
        """Where judges are answered, a verdict on a part is what is wanted."""
        return row.you is not None or (self.view.queue == "judged" and row.your_parts > 0)


@dataclass(frozen=True, slots=True)
class Left:
    """Items without a verdict: how many, counted up to MOST_LEFT, and the first of them."""

    count: int
    first: int | None

    def __str__(self) -> str:
        return f"{self.count:,} or more" if self.count >= MOST_LEFT else f"{self.count:,}"

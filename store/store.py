"""The store as screens, commands and exporters see it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from fcreview.calls.clusters import Cluster
from fcreview.model import ImportIssue, Item
from fcreview.review import ItemKey
from fcreview.rollup import UNANIMOUS, Policy
from fcreview.store.connecting import StoreError, lock_settings, open_store, shut_out_files, with_room
from fcreview.store.queries.chunks import CHUNK, Chunk, chunks_of, items_of
from fcreview.store.queries.detail import find_items, raw_record, read_issues, read_items, score_record
from fcreview.store.queries.disputes import Disputed, disputed
from fcreview.store.queries.pages import Orders, hide, rows_of
from fcreview.store.queries.sqlguard import run_sql
from fcreview.store.queries.summaries import clusters, facets, run_infos, runs
from fcreview.store.reviews.tables import ReviewTables, follow
from fcreview.store.rows import ItemDetail, QueueRow, RunRow, View
from fcreview.store.workspace import Workspace

if TYPE_CHECKING:  # what only some commands ask for is loaded when it is asked for: the first rows do not wait
    from fcreview.agreement.ratings import Rating
    from fcreview.figures import FigureSource, Scored
    from fcreview.store.labels.reading import Choice
    from fcreview.store.queries.suspects import Panel

T = TypeVar("T")

DETAILS = 500
"""Items with all that belongs to them in one list: their texts are in memory together."""

__all__ = ["Store", "StoreError", "View"]


class Store:
    """A store open for reading, with the reviews beside it. May be used by several threads: calls wait for each other.

    It shows the file as it was when opened, whatever an import puts in its place.
    """

    def __init__(
        self,
        workspace: Workspace,
        connection: duckdb.DuckDBPyConnection,
        annotator: str | None,
        blind: bool,
        policy: Policy,
    ) -> None:
        self.workspace = workspace
        self.annotator = annotator
        self.blind = blind
        """What others found is hidden until this annotator has decided: rows, details, filters, orders, counts."""
        self.connection = connection
        self.lock = threading.RLock()
        """Held during every use of `connection`: temporary tables belong to one connection."""
        self.reviews: ReviewTables = follow(connection, workspace, annotator, policy)
        self._locked = False
        self._orders = Orders(connection, blind=blind)
        self._runs = run_infos(connection, workspace)
        self._models = {run: info.model for run, info in self._runs.items()}

    @classmethod
    def open(
        cls, workspace: Workspace, annotator: str | None = None, *, blind: bool = False, policy: Policy = UNANIMOUS
    ) -> Store:
        """`policy`: what counts where annotators differ. StoreError if nothing was imported yet or the file cannot be
        read."""
        connection = open_store(workspace)
        try:
            shut_out_files(connection)
            return cls(workspace, connection, annotator, blind, policy)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        with self.lock:
            self.connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def interrupt(self) -> None:
        """Breaks off what another thread is waiting for; there it raises duckdb.InterruptException."""
        self.connection.interrupt()

    def runs(self) -> list[RunRow]:
        return self._do(lambda: runs(self.connection, self.workspace, blind=self.blind))

    def count(self, view: View) -> int:
        """FilterError if the view's filter is not understood; so do `page`, `position`, `facets` and `clusters`."""
        return self._do(lambda: self._orders.of(view).count)

    def page(self, view: View, offset: int, limit: int) -> list[QueueRow]:
        """Rows `offset` to `offset + limit` of the view. Positions hold still until the next `refresh_...`."""
        return self._do(lambda: self._rows(self._orders.items(view, offset, limit)))

    def position(self, view: View, item: int) -> int | None:
        """Where the item is in the view, from 0."""
        return self._do(lambda: self._orders.position(view, item))

    def row(self, item: int) -> QueueRow | None:
        return self._do(lambda: next(iter(self._rows([item])), None))

    def rows(self, items: Sequence[int]) -> list[QueueRow]:
        """Rows of these items, in this order; items that are not there are left out."""
        return self._do(lambda: self._rows(items))

    def detail(self, item: int) -> ItemDetail:
        """Everything of one item; StoreError if there is none with this number."""
        return self._do(lambda: self._detail(item))

    def details(self, view: View, size: int = DETAILS) -> Iterator[list[ItemDetail]]:
        """Everything of the view's items, in the order of items, in lists of `size`; otherwise as `labels`."""
        if self.blind:
            raise StoreError("items are not handed out in blind mode")
        chunks = self._do(lambda: chunks_of(self.connection, view, size))
        return (self._do(partial(self._chunk, chunk)) for chunk in chunks)

    def raw(self, item: int) -> str:
        """The item's record in the result file; StoreError if it is no longer there."""
        return self._do(lambda: raw_record(self.connection, self.workspace, item))

    def raw_score(self, item: int) -> str | None:
        """The score file's entry that failed the item, None if there is none; StoreError if it is no longer there."""
        return self._do(lambda: score_record(self.connection, self.workspace, item))

    def find(self, name: str, run: int | None = None) -> list[int]:
        """Items with this id, in all runs or in one."""
        return self._do(lambda: find_items(self.connection, name, run))

    def facets(self, view: View) -> dict[str, list[tuple[str, int]]]:
        """`{"category": [("live_simple", 258), ...], "official": [("fail", 90), ...], ...}`, most frequent first."""
        return self._do(lambda: facets(self.connection, view, blind=self.blind))

    def clusters(self, view: View, limit: int | None = None) -> list[Cluster]:
        """Failures alike, largest group first; none in blind mode."""
        return [] if self.blind else self._do(lambda: clusters(self.connection, view, limit))

    def issues(self, item: int | None = None) -> list[ImportIssue]:
        """What could not be read as it should: of one item, or everything."""
        return self._do(lambda: read_issues(self.connection, item))

    def sql(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """(column names, rows) of one statement that only reads; SqlError otherwise. Not in blind mode."""
        if self.blind:
            raise StoreError("sql is not available in blind mode")
        with self.lock:
            if not self._locked:
                lock_settings(self.connection)
                self._locked = True
            return run_sql(self.connection, text)

    def scored(self, run: int) -> dict[FigureSource, list[Scored]]:
        """What the run's figures are computed from, by source. StoreError in blind mode."""
        if self.blind:
            raise StoreError("figures are not available in blind mode")
        from fcreview.store.queries.scored import scored

        return self._do(lambda: scored(self.connection, run))

    def agreement_rows(self, view: View) -> list[Rating]:
        """What annotators said of the view's items; see `queries.agreement.ratings`. StoreError in blind mode."""
        if self.blind:
            raise StoreError("agreement is not available in blind mode")
        from fcreview.store.queries.agreement import ratings

        return self._do(lambda: ratings(self.connection, self.reviews, view))

    def disputes(self, view: View) -> list[Disputed]:
        """What annotators differ on in the view's items; see `queries.disputes`. StoreError in blind mode."""
        if self.blind:
            raise StoreError("disputes are not available in blind mode")
        return self._do(lambda: disputed(self.connection, self.reviews, view))

    def panel(self, view: View) -> Panel:
        """The questions of the view's runs with what every run answered; see `queries.suspects.panel`. StoreError in
        blind mode."""
        if self.blind:
            raise StoreError("suspects are not available in blind mode")
        from fcreview.store.queries.suspects import panel

        return self._do(lambda: panel(self.connection, view))

    def labels(
        self, view: View, choice: Choice | None = None, size: int | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        """Labels of the view's items, in the order of items, each item's own label first, as `labels.fields`.

        In lists of about `size` items that end with an item; each is a query of its own, so others may use the store
        in between. FilterError for a filter that is not understood, StoreError in blind mode; both at once, not at the
        first list.
        """
        if self.blind:
            raise StoreError("labels are not available in blind mode")
        from fcreview.store.labels.reading import EVERY_LABEL, read_labels

        choice = choice or EVERY_LABEL
        size = size or (DETAILS if choice.content else CHUNK)
        chunks = self._do(lambda: chunks_of(self.connection, view, size))
        return (self._do(partial(read_labels, self.reviews, self.connection, chunk, choice)) for chunk in chunks)

    def refresh_reviews(self) -> int:
        """Takes in what was added to the journals, by other processes too. Returns how many events."""
        with self.lock:
            events = self.reviews.refresh()
            self._orders.forget()
            return events

    def refresh_views(self) -> None:
        """Queues whose filter or order depends on reviews are worked out anew: items move and leave only now."""
        with self.lock:
            self._orders.forget()

    def _do(self, work: Callable[[], T]) -> T:
        with self.lock:
            return with_room(self.connection, work)

    def _rows(self, items: Sequence[int]) -> list[QueueRow]:
        return rows_of(self.connection, items, self._models, blind=self.blind)

    def _detail(self, item: int) -> ItemDetail:
        found = self._details([item])
        if not found:
            raise StoreError("there is no such item")
        return found[0]

    def _chunk(self, chunk: Chunk) -> list[ItemDetail]:
        return self._details(items_of(self.connection, chunk))

    def _details(self, items: Sequence[int]) -> list[ItemDetail]:
        read = read_items(self.connection, items)
        return [self._with_reviews(row, read[row.item]) for row in self._rows(items)]

    def _with_reviews(self, row: QueueRow, item: Item) -> ItemDetail:
        run = self._runs[row.run]
        key = ItemKey(run.benchmark, run.generation, run.language, run.model, item.category, item.id)
        opinions = self.reviews.opinions(key, item.prediction_hash, item.golden_hash)
        detail = ItemDetail(row, key, run, item, opinions, self.reviews.history(key))
        if self.blind and row.you is None:
            self._hide(detail)
        return detail

    def _hide(self, detail: ItemDetail) -> None:
        """Blind mode, not yet decided: only the trajectory, the golden answer and this annotator's own words."""
        hide(detail.row)
        item = detail.item
        item.official = item.rule = item.judge = item.error_type = item.rule_error_type = None
        item.diff_function = item.diff_argument = item.first_difference = None
        item.verdicts = []
        detail.opinions = [opinion for opinion in detail.opinions if opinion.annotator == self.annotator]
        detail.history = [event for event in detail.history if event.annotator == self.annotator]

"""The store as screens, commands and exporters see it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from fcreview.matching.clusters import BY_ERROR_TYPE, Cluster
from fcreview.model.item import ImportIssue, Item
from fcreview.model.review import ItemKey, Annotation
from fcreview.model.verdict import UNANIMOUS, Policy
from fcreview.store.analysis import UnblindedAnalysis
from fcreview.store.column_widths import measure_columns, build_run_names
from fcreview.store.database import (
    SQL_TIMEOUT,
    StoreError,
    close_connection,
    lock_configuration,
    open_store,
    run_sql,
    disable_external_access,
    retry_with_more_memory,
)
from fcreview.store.queries.clusters import fetch_clusters, fetch_label_criteria
from fcreview.store.queries.golden_audit import SuspectTable
from fcreview.store.queries.item_detail import (
    Prediction,
    find_items,
    hide_detail_verdicts,
    search_item_ids,
    fetch_predictions,
    read_raw_record,
    read_issues,
    read_items,
    find_same_question,
    read_score_record,
    fetch_siblings,
)
from fcreview.store.queries.item_order import CHUNK_SIZE, ItemChunk, ViewOrders, split_into_chunks, fetch_chunk_items, fetch_rows
from fcreview.store.queries.summaries import fetch_facets, fetch_run_infos, fetch_run_rows
from fcreview.store.queues import repeat_items
from fcreview.store.queues.queue_file import QueueItemTable
from fcreview.store.reviews.review_tables import ReviewTables, open_review_tables
from fcreview.store.rows import ColumnWidths, ItemMatch, ItemDetail, QueueRow, RunRow, View, decode_item
from fcreview.store.workspace import Workspace

if TYPE_CHECKING:  # what only some commands ask for is loaded when it is asked for: the first rows do not wait
    from fcreview.store.labels.read import LabelSelection
    from fcreview.store.queues.create import QueueRequest
    from fcreview.store.queues.queue_file import ShareProgress, QueueFile

T = TypeVar("T")

DETAIL_BATCH_SIZE = 500
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
        self.reviews: ReviewTables = open_review_tables(connection, workspace, annotator, policy)
        self._locked = False
        self._places = QueueItemTable(connection, workspace)
        self._suspected = SuspectTable(connection)
        self._orders = ViewOrders(connection, self._places, self._suspected.load, annotator, blind=blind)
        self._runs = fetch_run_infos(connection, workspace)
        self._names = build_run_names(self._runs)

    @classmethod
    def open(
        cls, workspace: Workspace, annotator: str | None = None, *, blind: bool = False, policy: Policy = UNANIMOUS
    ) -> Store:
        """`policy`: what counts where annotators differ. StoreError if nothing was imported yet or the file cannot be
        read."""
        connection = open_store(workspace)
        try:
            store = cls(workspace, connection, annotator, blind, policy)
            disable_external_access(connection)
            return store
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        with self.lock:
            close_connection(self.connection, lambda: self.reviews.save_cache(self.workspace))

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def interrupt(self) -> None:
        """Breaks off what another thread is waiting for; there it raises duckdb.InterruptException."""
        self.connection.interrupt()

    def fetch_runs(self) -> list[RunRow]:
        return self._do(lambda: fetch_run_rows(self.connection, self.workspace, blind=self.blind))

    def count_items(self, view: View) -> int:
        """FilterError if the view's filter is not understood; so do `page`, `position`, `facets` and `clusters`."""
        return self._do(lambda: self._orders.order_of(view).count)

    def fetch_page(self, view: View, offset: int, limit: int) -> list[QueueRow]:
        """Rows `offset` to `offset + limit` of the view. Positions hold still until the next `refresh_...`."""
        return self._do(lambda: self._rows(self._orders.fetch_item_numbers(view, offset, limit)))

    def find_position(self, view: View, item: int) -> int | None:
        """Where the item is in the view, from 0."""
        return self._do(lambda: self._orders.position(view, item))

    def measure_columns(self, view: View) -> ColumnWidths:
        """What room the view's rows need."""
        return self._do(lambda: measure_columns(self.connection, self._orders.order_of(view).table, self._names, blind=self.blind))

    def fetch_row(self, item: int) -> QueueRow | None:
        return self._do(lambda: next(iter(self._rows([item])), None))

    def fetch_rows(self, items: Sequence[int]) -> list[QueueRow]:
        """Rows of these items, in this order; items that are not there are left out."""
        return self._do(lambda: self._rows(items))

    def read_detail(self, item: int) -> ItemDetail:
        """Everything of one item; StoreError if there is none with this number."""
        return self._do(lambda: self._detail(item))

    def iter_details(self, view: View, batch_size: int = DETAIL_BATCH_SIZE) -> Iterator[list[ItemDetail]]:
        """Everything of the view's items, in the order of items, in lists of `size`; otherwise as `labels`."""
        self._unless_blind("items are not handed out")
        chunks = self._do(lambda: split_into_chunks(self.connection, view, batch_size))
        return map(self._chunk, chunks)

    def read_raw_record(self, item: int) -> str:
        """The item's record in the result file; StoreError if it is no longer there, or may tell what is hidden."""
        self._open_to_all(item)
        return self._do(lambda: read_raw_record(self.connection, self.workspace, decode_item(item)))

    def read_score_record(self, item: int) -> str | None:
        """The score file's entry that failed the item, None if there is none; StoreError as `raw`."""
        self._open_to_all(item)
        return self._do(lambda: read_score_record(self.connection, self.workspace, decode_item(item)))

    def find_items(self, item_id: str, run: int | None = None) -> list[int]:
        """Items with this id, in all runs or in one."""
        return self._do(lambda: find_items(self.connection, item_id, run))

    def search_item_ids(self, text: str, runs: Sequence[int] = (), preferred_run: int | None = None, limit: int = 20) -> list[ItemMatch]:
        """Ids that hold every word of the text; see `detail.like`."""
        return self._do(lambda: search_item_ids(self.connection, text, runs, preferred_run, limit))

    def find_same_question(self, item: int) -> list[int]:
        """Items with this one's id and category in all runs of its benchmark, generation and language, itself too."""
        return self._do(lambda: find_same_question(self.connection, decode_item(item)))

    def fetch_predictions(self, item: int) -> list[Prediction]:
        """What the runs of `same_question` predicted, in the same order."""
        return self._do(lambda: fetch_predictions(self.connection, decode_item(item)))

    def fetch_label_criteria(self, item: int) -> list[str]:
        """Criteria on which the responses of the item's category and run have labels."""
        return self._do(lambda: fetch_label_criteria(self.connection, decode_item(item)))

    def fetch_facets(self, view: View) -> dict[str, list[tuple[str, int]]]:
        """`{"category": [("live_simple", 258), ...], "official": [("fail", 90), ...], ...}`, most frequent first."""
        return self._do(lambda: fetch_facets(self.connection, view, blind=self.blind))

    def fetch_used_tags(self) -> list[str]:
        """Tags of the reviews that stand, most used first; in blind mode this annotator's own."""
        return self._do(lambda: self.reviews.events.used_tags(self.annotator or "" if self.blind else None))

    def fetch_clusters(self, view: View, limit: int | None = None, by: int = BY_ERROR_TYPE) -> list[Cluster]:
        """Failures alike, see `queries.clusters`, largest group first; none in blind mode."""
        return [] if self.blind else self._do(lambda: fetch_clusters(self.connection, view, limit, by))

    def fetch_issues(self, item: int | None = None) -> list[ImportIssue]:
        """What could not be read as it should: of one item, or all. In blind mode none: some are of scores."""
        return [] if self.blind else self._do(lambda: read_issues(self.connection, item))

    def load_queue(self, name: str) -> QueueFile:
        """The queue file of this name; views of it may be asked for from then on. QueueError if there is none."""
        return self._do(lambda: self._places.load(name))

    def load_suspects(self, view: View) -> None:
        """The same for suspects among the view's runs; it takes a second or more. StoreError in blind mode."""
        self._unless_blind("suspects are not available")
        self._do(lambda: self._suspected.load(view))

    def create_queue(self, request: QueueRequest) -> QueueFile:
        """A queue made of the items of a view; nothing is written. See `queues.creating.create` for its errors."""
        from fcreview.store.queues.create import create_queue

        return self._do(lambda: create_queue(self.connection, request))

    def measure_progress(self, name: str, annotator: str | None = None) -> list[ShareProgress]:
        """How far annotators of a queue file are. QueueError if there is none of this name."""
        from fcreview.store.queues.queue_file import measure_progress

        return self._do(lambda: measure_progress(name, self._places, self.reviews, annotator))

    @property
    def analysis(self) -> UnblindedAnalysis:
        """What verdicts and others' reviews amount to. StoreError in blind mode."""
        self._unless_blind("what others found is not available")
        return UnblindedAnalysis(self.connection, self.workspace, self.reviews, self._do)

    def find_overrides(self, annotations: Sequence[tuple[int, Annotation]]) -> list[dict[str, Any] | None]:
        """For each (item, what is said of it) {source, by, value} of the automatic verdict that it would contradict, or
        None."""
        from fcreview.store.queries.scored_items import find_overrides

        return self._do(lambda: find_overrides(self.connection, annotations))

    def run_sql(self, statement: str, seconds: float = SQL_TIMEOUT) -> tuple[list[str], list[tuple[Any, ...]]]:
        """(column names, rows) of one statement that only reads; SqlError otherwise or beyond `seconds`. Not blind."""
        self._unless_blind("sql is not available")
        with self.lock:
            if not self._locked:
                lock_configuration(self.connection)
                self._locked = True
            self.reviews.create_sql_views()
            return run_sql(self.connection, statement, seconds)

    def iter_labels(
        self, view: View, selection: LabelSelection | None = None, batch_size: int | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        """Labels of the view's items, in the order of items, each item's own label first, as `labels.fields`; in lists
        of about `size` items, each a query of its own, so that others may use the store in between. FilterError for a
        filter that is not understood, StoreError in blind mode; both at once, not at the first list."""
        from fcreview.store.labels.read import read_labels

        return self._labels(read_labels, view, selection, batch_size)

    def iter_label_lines(self, view: View, selection: LabelSelection | None = None) -> Iterator[list[str]]:
        """As `labels`, each the text of a JSON object."""
        from fcreview.store.labels.read import read_label_lines

        return self._labels(read_label_lines, view, selection, None)

    def refresh_reviews(self) -> int:
        """Takes in what was added to the journals, by other processes too. Returns how many events. Queues whose filter
        or order depends on reviews are worked out anew: items move and leave only now."""
        with self.lock:
            events = self.reviews.refresh()
            self._orders.drop_review_orders()
            return events

    def _labels(
        self, read: Callable[..., list[T]], view: View, choice: LabelSelection | None, size: int | None
    ) -> Iterator[list[T]]:
        self._unless_blind("labels are not available")
        from fcreview.store.labels.read import ALL_LABELS

        choice = choice or ALL_LABELS
        size = size or (DETAIL_BATCH_SIZE if choice.with_content else CHUNK_SIZE)
        chunks = self._do(lambda: split_into_chunks(self.connection, view, size))
        return (self._do(partial(read, self.reviews, self.connection, chunk, choice)) for chunk in chunks)

    def _unless_blind(self, why_not: str) -> None:
        if self.blind:
            raise StoreError(f"{why_not} in blind mode")

    def _do(self, work: Callable[[], T]) -> T:
        with self.lock:
            return retry_with_more_memory(self.connection, work)

    def _rows(self, items: Sequence[int]) -> list[QueueRow]:
        wanted = list(dict.fromkeys(map(decode_item, items)))
        found = {row.item: row for row in fetch_rows(self.connection, wanted, self._runs, self._names, blind=self.blind)}
        there = [number for number in items if decode_item(number) in found]
        return [repeat_items.restrict_row_to_repetition(found[decode_item(number)], number, self.reviews, blind=self.blind) for number in there]

    def _detail(self, item: int) -> ItemDetail:
        found = self._details([item])
        if not found:
            raise StoreError("there is no such item")
        if item == decode_item(item):  # shown again, nothing tells what was said the first time
            found[0].siblings = fetch_siblings(self.connection, found[0].row, blind=self.blind)
        return found[0]

    def _chunk(self, chunk: ItemChunk) -> list[ItemDetail]:
        return self._do(lambda: self._details(fetch_chunk_items(self.connection, chunk)))

    def _details(self, items: Sequence[int]) -> list[ItemDetail]:
        read = read_items(self.connection, list(dict.fromkeys(map(decode_item, items))))
        return [self._with_reviews(row, read[decode_item(row.item)]) for row in self._rows(items)]

    def _with_reviews(self, row: QueueRow, item: Item) -> ItemDetail:
        run = self._runs[row.run]
        key = ItemKey(run.benchmark, run.generation, run.language, run.model, item.category, item.id)
        opinions = self.reviews.opinions(key, item.prediction_hash, item.golden_hash)
        detail = repeat_items.restrict_detail_to_repetition(ItemDetail(row, key, run, item, opinions, self.reviews.history(key)), self.reviews)
        if self.blind and row.you is None:
            hide_detail_verdicts(detail, self.annotator)
        return detail

    def _open_to_all(self, item: int) -> None:
        """A benchmark's record may hold its verdict. StoreError where that is hidden."""
        row = self.fetch_row(item) if self.blind else None
        if row is not None and row.you is None:
            raise StoreError("records may tell verdicts: they are shown when you have decided")

"""Read the imported runs and their reviews, for screens, commands and exporters."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
from duckdb import DuckDBPyConnection as Connection

from fcreview.matching.clusters import BY_ERROR_TYPE, Cluster
from fcreview.model.effective_verdict import UNANIMOUS, Policy
from fcreview.model.item import ImportIssue
from fcreview.model.review import Annotation
from fcreview.model.run_check import DEFAULT_LIMITS, CheckLimits, RunCheck, check_run
from fcreview.model.run_name import build_run_names, list_identifying_names
from fcreview.store import database
from fcreview.store.database import SQL_TIMEOUT, SqlResult, StoreError, retry_with_more_memory
from fcreview.store.judgements import JudgementTable
from fcreview.store.queries import item_detail, view_items
from fcreview.store.queries import runs as run_queries
from fcreview.store.queries.clusters import fetch_clusters_by_groupings
from fcreview.store.queries.run_check import fetch_checked_runs
from fcreview.store.queue_file import (
    QueueFile,
    QueueItemTable,
    measure_queue_progress,
)
from fcreview.store.reviews.decision_cache import attach_cache
from fcreview.store.reviews.review_tables import ReviewTables
from fcreview.store.rows import (
    SUSPECTS_QUEUE,
    ColumnWidths,
    ItemDetail,
    ItemMatch,
    QueueRow,
    RunRow,
    SuspectQuestions,
    Suspicion,
    View,
    is_hidden_duplicate,
    strip_duplicate_mark,
)
from fcreview.store.workspace import Workspace
from fcreview.tables.queues import ShareProgress

# modules of features that only some commands use are imported on use, to start faster
if TYPE_CHECKING:
    from fcreview.store.analysis import UnblindedAnalysis
    from fcreview.store.judgements import ItemJudgement
    from fcreview.store.label_fields import LabelSelection
    from fcreview.store.queries.contradictions import ItemContradiction
    from fcreview.store.queries.golden_audit import SuspectTable
    from fcreview.store.queue_sampling import QueueRequest

T = TypeVar("T")

DETAIL_BATCH_SIZE = 500  # maximum number of items whose full text is in memory at the same time

__all__ = ["Store", "StoreError", "View"]


class Store:
    """The imported runs and the reviews of a workspace, opened for reading.

    Several threads can use one store; their calls wait for each other. An import replaces the
    database file, but an open store continues to read the old one.

    Methods that take a view raise FilterError if its filter is invalid. Methods that take an item
    accept an item number (see `store.rows.to_item_number`).
    """

    def __init__(
        self,
        workspace: Workspace,
        connection: Connection,
        annotator: str | None,
        blind: bool,
        policy: Policy,
        shows_judges: bool,
    ) -> None:
        """Open the reviews, and prepare the queries. `annotator` is the one who reviews, if any."""
        self.workspace = workspace
        self.annotator = annotator
        self.blind = blind
        """Whether other verdicts are hidden until this annotator has reviewed an item."""
        self.connection = connection
        self.is_verified = database.has_only_verified_runs(connection, workspace)
        self.lock = threading.RLock()
        """For every use of `connection`, because all threads share its temporary tables."""
        self.reviews = ReviewTables(connection, workspace, annotator, policy)
        self.judgements = JudgementTable(
            connection, workspace, self._run_query, shows_all=shows_judges and not blind
        )
        self._is_interrupted = False
        """Whether `interrupt` was called during the running query."""
        self._is_locked = False
        """Whether `lock_configuration` was called."""
        self._analysis: UnblindedAnalysis | None = None
        self._queue_items = QueueItemTable(connection, workspace)
        self._orders = view_items.ViewOrders(
            connection,
            self._queue_items,
            # The table of suspects is created on first use, because few commands need it.
            load_suspects=lambda view: self._suspects.load_suspects(view),
            annotator=annotator,
            blind=blind,
        )
        self.runs = run_queries.fetch_run_infos(connection, workspace)
        """The runs by number, without the counts of `fetch_runs`."""
        self.run_names = build_run_names(self.runs)
        run_queries.create_run_names_table(connection, self.run_names)
        self._hides_models = False
        self.file_state: list[int] | None = None
        """`Workspace.measure_store` before the store was opened."""

    @classmethod
    def open(
        cls,
        workspace: Workspace,
        annotator: str | None = None,
        *,
        blind: bool = False,
        policy: Policy = UNANIMOUS,
        shows_judges: bool = False,
    ) -> Store:
        """Open the store of a workspace: a DuckDB file, or a lake of Parquet files.

        Raises StoreError if the workspace has no imported runs, or if they cannot be read.

        Args:
            workspace: The workspace.
            annotator: The annotator who reviews.
            blind: Whether other verdicts are hidden until the annotator has reviewed an item.
            policy: Which human verdict counts if annotators disagree.
            shows_judges: Whether verdicts of judges that fcreview asked are visible on an item
                before the annotator has reviewed it. They never are in blind mode.
        """
        if workspace.lake is not None:
            from fcreview.store.lake.reader import open_lake as open_store
        else:
            from fcreview.store.database import open_store
        # An import that replaces the file while it is opened makes this value outdated.
        file_state = workspace.measure_store()
        connection = open_store(workspace, lambda connection: attach_cache(connection, workspace))
        try:
            store = retry_with_more_memory(
                connection,
                lambda: cls(workspace, connection, annotator, blind, policy, shows_judges),
            )
            store.file_state = file_state
            return store
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        with self.lock:
            database.close_connection(
                self.connection, lambda: self.reviews.save_cache_if_outdated(self.workspace)
            )

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def interrupt(self) -> None:
        """Interrupt the query of another thread. That thread gets a duckdb.InterruptException."""
        self._is_interrupted = True
        self.connection.interrupt()

    @property
    def damaged_files(self) -> list[str]:
        """One message for each damaged file of a lake that queries omit."""
        return list(getattr(self.connection, "problems", ()))

    def fetch_runs(self) -> list[RunRow]:
        return self._run_query(
            lambda: self._number_runs(
                run_queries.fetch_run_rows(self.connection, self.workspace, blind=self.blind)
            )
        )

    def hide_models(self) -> set[str]:
        """Rename all runs to `run 1`, `run 2` and so on, because their names tell the model.
        Exported labels keep the names.

        Returns the texts that would tell the model of a run.
        """
        self._hides_models = True
        self.run_names = {number: f"run {number}" for number in self.runs}
        return list_identifying_names(self.runs.values())

    def _number_runs(self, rows: list[RunRow]) -> list[RunRow]:
        """Replace the names of runs by their numbers, if models are hidden."""
        if self._hides_models:
            for row in rows:
                row.run_name = f"run {row.run}"
        return rows

    def fetch_contradictions(self, runs: Sequence[int]) -> list[ItemContradiction]:
        """Return the items of the runs on which an annotator's own verdicts contradict each
        other.
        """
        from fcreview.store.queries.contradictions import fetch_contradictions

        return self._run_query(lambda: fetch_contradictions(self.connection, runs))

    def has_contradiction(self, item: int, annotator: str) -> bool:
        """Whether the verdict of an annotator on an item contradicts their own other verdicts on
        it.
        """
        from fcreview.store.queries.contradictions import has_contradiction

        number = strip_duplicate_mark(item)
        return self._run_query(lambda: has_contradiction(self.connection, number, annotator))

    def fetch_not_run(self, runs: Sequence[int] = ()) -> list[run_queries.RunMissingItem]:
        """Return the items of the dataset without a result, of these runs or (empty) of all
        runs.
        """
        return self._run_query(lambda: run_queries.fetch_not_run(self.connection, runs))

    def check_runs(
        self, rows: Sequence[RunRow], limits: CheckLimits = DEFAULT_LIMITS
    ) -> list[RunCheck]:
        """Check whether the scores of the runs are real. Raises StoreError in blind mode."""
        self._raise_if_blind("the check of runs")
        checked_runs = self._run_query(lambda: fetch_checked_runs(self.connection, rows))
        return [check_run(run, limits) for run in checked_runs]

    def fetch_source_hashes(self, run: int) -> list[tuple[str, str]]:
        """Return (kind, hash) of each file from which a run was imported, by kind and path."""
        return self._run_query(lambda: run_queries.fetch_source_hashes(self.connection, run))

    def fetch_source_paths(self) -> list[Path]:
        return self._run_query(
            lambda: run_queries.fetch_source_paths(self.connection, self.workspace)
        )

    def count_items(self, view: View) -> int:
        return self._run_query(lambda: self._orders.get_order(view, min_rows=0).count)

    def count_reviewed_items(self, view: View) -> int:
        """Count the items of `count_items` that have a verdict by the annotator now.

        Unlike a filter `you:any`, this count does not wait for `refresh_reviews`.
        """
        return self._run_query(lambda: self._orders.count_reviewed_items(view))

    def count_by_official_and_recomputed(
        self, view: View
    ) -> dict[tuple[bool | None, bool | None], int]:
        """Count the view's items by their official and recomputed verdict.

        Raises: StoreError in blind mode.
        """
        self._raise_if_blind("the count of verdicts")
        return self._run_query(
            lambda: view_items.count_by_official_and_recomputed(self.connection, view)
        )

    def fetch_page(self, view: View, offset: int, limit: int) -> list[QueueRow]:
        """Return up to `limit` rows of the view, from position `offset`.

        Only `refresh_reviews` changes positions.
        """
        return self._run_query(
            lambda: self._fetch_rows(self._orders.fetch_item_numbers(view, offset, limit))
        )

    def find_position(self, view: View, item: int) -> int | None:
        """Return the position of the item in the view, from 0; None if the item is not in the
        view.
        """
        return self._run_query(lambda: self._orders.find_position(view, item))

    def measure_columns(self, view: View) -> ColumnWidths:
        """Return how wide the longest texts of a view are, to choose the widths of its columns."""
        names = self.run_names
        blind = self.blind
        return self._run_query(
            lambda: view_items.measure_columns(
                self.connection,
                self._orders.get_order(view, min_rows=1),
                view.runs,
                names,
                blind=blind,
            )
        )

    def fetch_row(self, item: int) -> QueueRow | None:
        return self._run_query(lambda: next(iter(self._fetch_rows([item])), None))

    def fetch_rows(self, items: Sequence[int]) -> list[QueueRow]:
        """Return the rows of the items, in this order. Unknown items are omitted."""
        return self._run_query(lambda: self._fetch_rows(items))

    def read_detail(self, item: int) -> ItemDetail:
        """Return the complete content of one item.

        Raises: StoreError if the item does not exist.
        """
        return self._run_query(lambda: self._read_detail(item))

    def read_details(self, items: Sequence[int]) -> list[ItemDetail]:
        """Return the complete content of items, in this order, without the other items of their
        conversations.

        Unknown items are omitted.
        """
        return self._run_query(lambda: self._read_details(items))

    def iter_details(self, view: View) -> Iterator[list[ItemDetail]]:
        """Yield the complete items of the view in batches.

        Other threads can use the store between two batches.
        """
        self._raise_if_blind("an export of items")
        chunks = self._run_query(
            lambda: view_items.split_into_chunks(self.connection, view, DETAIL_BATCH_SIZE)
        )
        return map(self._read_chunk, chunks)

    def read_raw_record(self, item: int) -> str:
        """Read the item's record in the result file as text, without API keys. Raises StoreError if
        the file no longer contains the record, and in blind mode if this annotator has not reviewed
        the item.
        """
        self._raise_if_record_is_hidden(item)
        return self._run_query(
            lambda: item_detail.read_raw_record(self.connection, self.workspace, item)
        )

    def read_score_record(self, item: int) -> str | None:
        """Read the record in the score file like `read_raw_record`. None for most passing items."""
        self._raise_if_record_is_hidden(item)
        return self._run_query(
            lambda: item_detail.read_score_record(self.connection, self.workspace, item)
        )

    def find_items(self, item_id: str, run: int | None = None) -> list[int]:
        return self._run_query(lambda: item_detail.find_items(self.connection, item_id, run))

    def search_item_ids(
        self, text: str, runs: Sequence[int] = (), preferred_run: int | None = None, limit: int = 20
    ) -> list[ItemMatch]:
        """Return up to `limit` items whose ids contain every word of the text, ignoring case.

        First an id equal to the text, then ids that start with it, then all others, each from short
        to long. If several runs contain an id, only one item is returned: that of `preferred_run`
        if this run contains the id.
        """
        return self._run_query(
            lambda: item_detail.search_item_ids(self.connection, text, runs, preferred_run, limit)
        )

    def find_items_of_same_question(self, item: int) -> list[int]:
        """Return the numbers of this item and of the items with the same question in other runs of
        the same benchmark, version and language.
        """
        return self._run_query(
            lambda: item_detail.find_items_of_same_question(self.connection, item)
        )

    def fetch_predictions_of_same_question(self, item: int) -> list[item_detail.Prediction]:
        """Return the predictions of the items that `find_items_of_same_question` returns, in the
        same order.
        """
        return self._run_query(
            lambda: item_detail.fetch_predictions_of_same_question(self.connection, item)
        )

    def find_first_items_of_questions(self, view: View) -> list[int]:
        """Return the first item of each question of a view, in the order of the view. The items of
        several runs with the same question count as one question.
        """

        def find() -> list[int]:
            order_table = self._orders.get_order(view).table
            return item_detail.find_first_items_of_questions(self.connection, order_table)

        return self._run_query(find)

    def fetch_rows_in_other_runs(self, item: int) -> list[QueueRow]:
        """Return the rows of the same question in other runs of the same benchmark, version and
        language.
        """
        own = strip_duplicate_mark(item)
        return self.fetch_rows(
            [each for each in self.find_items_of_same_question(item) if each != own]
        )

    def fetch_multi_label_criteria(self, item: int) -> list[str]:
        """Return the multi-label criteria of responses, such as dialog acts, in the item's run
        and category.
        """
        return self._run_query(
            lambda: item_detail.fetch_multi_label_criteria(self.connection, item)
        )

    def fetch_facets(self, view: View) -> dict[str, list[tuple[str, int]]]:
        """Count the view's items by the values of filter keys: `{"category": [("live_simple",
        258), ...], ...}`.
        """
        return self._run_query(
            lambda: view_items.fetch_facets(self.connection, view, blind=self.blind)
        )

    def fetch_used_tags(self) -> list[str]:
        """Return the error tags in current reviews, most frequent first.

        In blind mode, only this annotator's tags.
        """
        return self._run_query(
            lambda: self.reviews.events.list_used_tags(self.annotator or "" if self.blind else None)
        )

    def fetch_clusters(
        self, view: View, limit: int | None = None, grouping: int = BY_ERROR_TYPE
    ) -> list[Cluster]:
        """Group the view's failing items by `GROUPINGS[grouping]`, largest cluster first.

        Empty in blind mode.
        """
        return self.fetch_clusters_by_groupings(view, [grouping], limit)[0]

    def fetch_clusters_by_groupings(
        self, view: View, groupings: Sequence[int], limit: int | None = None
    ) -> list[list[Cluster]]:
        """Return one list of clusters for each grouping, faster than with several calls of
        `fetch_clusters`.
        """
        if self.blind:
            return [[] for _ in groupings]
        check = self._raise_if_interrupted
        return self._run_query(
            lambda: fetch_clusters_by_groupings(self.connection, view, limit, groupings, check)
        )

    def fetch_issues(self, runs: Sequence[int] = ()) -> list[ImportIssue]:
        """Return the import issues of the runs (empty for all runs) and those that belong to no
        run, errors first. Return none in blind mode, because issues can reveal verdicts.
        """
        return (
            []
            if self.blind
            else self._run_query(lambda: item_detail.fetch_issues(self.connection, runs))
        )

    def count_missing_recomputed_by_reason(self, runs: Sequence[int]) -> list[tuple[str, int]]:
        """Count the items of the runs that have no recomputed verdict, by reason."""
        self._raise_if_blind("the count of recomputed verdicts")
        return self._run_query(
            lambda: run_queries.count_missing_recomputed_by_reason(self.connection, runs)
        )

    def load_queue(self, name: str) -> QueueFile:
        """Load a queue file, so that views can use the queue.

        Raises: QueueError if the file is missing or invalid.
        """
        return self._run_query(lambda: self._queue_items.load_queue(name))

    @cached_property
    def _suspects(self) -> SuspectTable:
        from fcreview.store.queries.golden_audit import SuspectTable

        return SuspectTable(self.connection)

    def load_suspects(
        self, view: View, on_progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Find the suspects in the view's runs for the queue `suspects`. This takes a second or
        more. It calls `on_progress` with the numbers of checked questions and of all questions.
        Raises StoreError in blind mode.
        """
        self._raise_if_blind("the queue of suspects")

        def report_progress(done: int, total: int) -> None:
            self._raise_if_interrupted()
            if on_progress is not None:
                on_progress(done, total)

        self._run_query(lambda: self._suspects.load_suspects(view, report_progress))

    def fetch_suspicion(self, view: View, item: int) -> Suspicion | None:
        """Return why the golden answer of an item is suspect.

        None outside the queue `suspects`, and in blind mode, because the reasons show verdicts.
        """
        if view.queue != SUSPECTS_QUEUE or self.blind:
            return None
        suspicions = self._suspects.get_suspicions(view)
        return suspicions.get(strip_duplicate_mark(item))

    def count_strong_suspects(self, view: View) -> int:
        """Count the strong suspects of a view, which come first.

        The queue of the view must be `suspects`.
        """

        def count_in_view() -> int:
            # This loads the suspects of the view's runs, unless they are loaded.
            self._orders.get_order(view, min_rows=1)
            suspicions = self._suspects.get_suspicions(view)

            # The filter of the view can exclude some suspects. The strong ones that it selects come
            # first, so they are among as many first items as the runs have strong suspects.
            max_strong = sum(suspicion.is_strong for suspicion in suspicions.values())
            first_items = self._orders.fetch_item_numbers(view, 0, max_strong)
            return sum(suspicions[item].is_strong for item in first_items)

        return self._run_query(count_in_view)

    def count_suspect_questions(self, view: View) -> SuspectQuestions:
        """Count the different questions of the suspects of a view. A question that a benchmark
        repeats counts once. The queue of the view must be `suspects`.
        """
        suspicions = self.fetch_suspicions(view).values()
        return SuspectQuestions(
            all=len({suspicion.question for suspicion in suspicions}),
            strong=len({suspicion.question for suspicion in suspicions if suspicion.is_strong}),
        )

    def fetch_suspicions(self, view: View) -> dict[int, Suspicion]:
        """Return the suspicions about a view's items by item number, strongest first. The queue of
        the view must be `suspects`. Raises StoreError in blind mode.
        """
        self._raise_if_blind("the queue of suspects")
        items = self._run_query(
            lambda: self._orders.fetch_item_numbers(view, 0, self._orders.get_order(view).count)
        )
        suspicions = self._suspects.get_suspicions(view)
        return {item: suspicions[item] for item in items}

    def draw_queue(self, request: QueueRequest) -> QueueFile:
        """Draw a queue from the items of a view without writing a file (see
        `queue_sampling.draw_queue`).
        """
        from fcreview.store.queue_file import QueueError, read_queues
        from fcreview.store.queue_sampling import draw_queue

        earlier = []
        if request.avoids_earlier_queues:
            earlier = [
                queue for queue in read_queues(self.workspace) if not isinstance(queue, QueueError)
            ]
        return self._run_query(lambda: draw_queue(self.connection, request, earlier))

    def measure_queue_progress(
        self, name: str, annotator: str | None = None
    ) -> list[ShareProgress]:
        """Return the progress of all annotators of a queue file, or only of `annotator`."""
        return self._run_query(
            lambda: measure_queue_progress(name, self._queue_items, self.reviews, annotator)
        )

    @property
    def analysis(self) -> UnblindedAnalysis:
        """Queries that reveal verdicts. Raises: StoreError in blind mode."""
        self._raise_if_blind("the analysis of verdicts")
        if self._analysis is None:
            from fcreview.store.analysis import UnblindedAnalysis

            self._analysis = UnblindedAnalysis(
                self.connection, self.lock, self.workspace, self.reviews, self.judgements
            )
        return self._analysis

    def find_overridden_verdicts(
        self, annotations: Sequence[tuple[int, Annotation]]
    ) -> list[dict[str, Any] | None]:
        """For each (item number, annotation), return the automatic verdict {source, by, value} that
        the annotation contradicts; None if it contradicts none.
        """
        from fcreview.store.queries.scored_items import find_overridden_verdicts

        return self._run_query(lambda: find_overridden_verdicts(self.connection, annotations))

    def run_sql(self, statement: str, timeout: float = SQL_TIMEOUT) -> SqlResult:
        """Run a read-only SQL statement. The first call locks the settings of the connection.

        Raises SqlError if the statement is not allowed, fails, or takes more than `timeout`
        seconds; StoreError in blind mode.
        """
        self._raise_if_blind("SQL")
        with self.lock:
            if not self._is_locked:
                from fcreview.store.label_fields import create_labels_view_sql

                self.connection.execute(create_labels_view_sql(self.reviews.policy))
                database.lock_configuration(self.connection)
                self._is_locked = True
            self.reviews.create_sql_views()
            return database.run_sql(self.connection, statement, timeout)

    def iter_label_batches(
        self, view: View, selection: LabelSelection | None = None
    ) -> Iterator[list[str]]:
        """Yield the labels of the view's items in batches. A label is the text of a JSON object.

        An item's own label comes before the labels of its parts. Other threads can use the store
        between two batches. Before the first batch, raises FilterError for an invalid filter and
        StoreError in blind mode.
        """
        self._raise_if_blind("an export of labels")
        from fcreview.store.label_fields import ALL_LABELS, read_label_lines

        selection = selection or ALL_LABELS
        size = DETAIL_BATCH_SIZE if selection.with_content else view_items.CHUNK_SIZE
        chunks = self._run_query(lambda: view_items.split_into_chunks(self.connection, view, size))
        return (
            self._run_query(
                partial(read_label_lines, self.reviews, self.connection, each, selection)
            )
            for each in chunks
        )

    def has_other_annotators(self, annotator: str) -> bool:
        """Return whether the workspace has reviews of anybody but this annotator."""
        return self._run_query(lambda: bool(self.reviews.events.list_annotators() - {annotator}))

    def refresh_reviews(self) -> int:
        """Read new journal events, update views that depend on reviews, and return the number of
        new events.
        """
        with self.lock:
            events = self.reviews.add_new_journal_events()
            self._orders.drop_review_dependent_orders()
            return events

    def has_new_reviews(self) -> bool:
        """Return whether other processes have written reviews since the last refresh."""
        with self.lock:
            return self.reviews.has_new_journal_lines()

    def fetch_visible_judgements(self, rows: Iterable[QueueRow]) -> dict[int, list[ItemJudgement]]:
        """Return the verdicts of judges that fcreview asked, by item number.

        Items that the annotator has not reviewed are left out, unless the store shows all verdicts
        of judges.
        """
        visible_numbers = [
            row.item for row in rows if self.judgements.shows_all or row.you is not None
        ]
        # A hidden duplicate of an item has the verdicts of the item.
        judgements = self.judgements.fetch(map(strip_duplicate_mark, visible_numbers))
        judgements_by_row = {}
        for number in visible_numbers:
            item_number = strip_duplicate_mark(number)
            if item_number in judgements:
                judgements_by_row[number] = judgements[item_number]
        return judgements_by_row

    def _raise_if_blind(self, feature: str) -> None:
        if self.blind:
            raise StoreError(f"{feature} is not available in blind mode")

    def _raise_if_record_is_hidden(self, item: int) -> None:
        row = self.fetch_row(item) if self.blind else None
        if row is not None and row.you is None:
            raise StoreError(
                "the raw record can contain verdicts. It is hidden until you submit your review"
            )

    def _raise_if_interrupted(self) -> None:
        if self._is_interrupted:
            raise duckdb.InterruptException("interrupted")

    def _run_query(self, query: Callable[[], T]) -> T:
        with self.lock:
            self._is_interrupted = False
            return retry_with_more_memory(self.connection, query)

    def _fetch_rows(self, item_numbers: Sequence[int]) -> list[QueueRow]:
        """Return the rows of items in the given order. The number of a hidden duplicate gives the
        row of its item, with the annotator's second review.
        """
        # Each item once.
        items = list(dict.fromkeys(map(strip_duplicate_mark, item_numbers)))
        row_by_item = {}
        for row in view_items.fetch_rows(
            self.connection, items, self.runs, self.run_names, blind=self.blind
        ):
            row_by_item[row.item] = row

        rows = []
        for number in item_numbers:
            item_row = row_by_item.get(strip_duplicate_mark(number))
            if item_row is not None:
                adapted = item_detail.adapt_row_to_duplicate(
                    item_row, number, self.reviews, blind=self.blind
                )
                rows.append(adapted)
        return rows

    def _read_detail(self, item: int) -> ItemDetail:
        """Read an item with its run, reviews and the same item in other runs. Raises StoreError
        without it.
        """
        details = self._read_details([item])
        if not details:
            raise StoreError("the item does not exist")
        # Siblings would show the first review of a hidden duplicate.
        if not is_hidden_duplicate(item):
            details[0].siblings = item_detail.fetch_siblings(
                self.connection, details[0].row, blind=self.blind
            )
        return details[0]

    def _read_chunk(self, chunk: view_items.ItemChunk) -> list[ItemDetail]:
        return self._run_query(
            lambda: self._read_details(view_items.fetch_chunk_items(self.connection, chunk))
        )

    def _read_details(self, item_numbers: Sequence[int]) -> list[ItemDetail]:
        """Return all data about items, in the given order. The number of a hidden duplicate gives
        its item.
        """
        numbers_without_marks = [strip_duplicate_mark(number) for number in item_numbers]
        # An item and its hidden duplicate are read once.
        unique_numbers = list(dict.fromkeys(numbers_without_marks))
        items = item_detail.read_items(self.connection, unique_numbers)
        rows = self._fetch_rows(item_numbers)
        judgements = self.fetch_visible_judgements(rows)
        details = []
        for row in rows:
            item = items.get(strip_duplicate_mark(row.item))
            if item is None:
                raise self._make_damage_error(row)
            detail = item_detail.build_detail(
                row, self.runs[row.run], item, self.reviews, blind=self.blind
            )
            detail.judgements = judgements.get(row.item, [])
            details.append(detail)
        return details

    def _make_damage_error(self, row: QueueRow) -> StoreError:
        """Return the error for a store that lacks the item of a row. It names the damaged file."""
        file = str(self.workspace.store)
        if self.workspace.lake:
            file = f"{self.workspace.lake}/benchmark=*/run={row.run}/items.parquet"
        return StoreError(
            f"{file} is damaged (item {row.id} is missing or has no id){database.IMPORT_AGAIN}"
        )

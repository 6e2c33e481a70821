"""Keep the reviews from the journals in temporary tables and views of one DuckDB connection.

The tables are temporary, because the database file is read-only. They belong to one connection;
even a `cursor()` of the connection does not see them. Rows are inserted as bound JSON text, which
needs no access to files.

* `review_events`: every event as JSON, in one row for each item that it is about (`item` is null
  without such an item)
* `review_retracted`: ids and annotators of retracted events
* `review_acts`: a view of the events with their fields, including retractions and retracted events
* `reviews`: a view of the events that are neither retractions nor retracted
* `human_labels`: one row for each (item, target, criterion) that an annotator reviewed; values are
  JSON text
* `human`: a view of `human_labels` for the items' own verdicts: item, you, human, decided_by,
  verdict (`human` as a boolean), stale, your_stale, your_bulk, n_opinions, n_parts, your_parts, and
  individual, individual_by and individual_verdict, which are human, decided_by and verdict without
  bulk reviews; incident_mark and your_incident_mark, which say whether all annotators or this
  annotator decided that the item is an incident; derived_verdict, the verdict that follows from
  decided verdicts on parts and other criteria, or from an accepted golden fix; golden_status and
  golden_verdict, the decision on the golden answer and the recomputed verdict that it changes
The rows of events and their views exist only after `ReviewTables.create_sql_views`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.model.benchmark_rules import find_benchmark_rules
from fcreview.model.decision import (
    Decision,
    apply_golden_fix,
    decide,
    has_seen_other_verdicts,
    set_verdicts_without_bulk,
)
from fcreview.model.effective_verdict import UNANIMOUS, Policy, RollUpContext
from fcreview.model.review import (
    ITEM_CORRECT,
    Event,
    ItemKey,
    Opinion,
    find_retracted_events,
    is_stale,
)
from fcreview.store import review_sql
from fcreview.store.database import pause_garbage_collection
from fcreview.store.reviews import decision_cache
from fcreview.store.reviews.journal_reader import JournalPrefix, JournalReader
from fcreview.store.reviews.review_index import EventIndex, ItemIndex, ItemReference
from fcreview.store.rows import (
    FIRST_PRESENTATION,
    SECOND_PRESENTATION,
    is_hidden_duplicate,
    strip_duplicate_mark,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ReviewedItem:
    item: int
    key: ItemKey
    hashes: tuple[str, str]  # (hash of the prediction, hash of the golden answer) of the item
    opinions: list[Opinion]


class ReviewTables:
    """Creates the review tables, and adds new journal events to them. Not thread-safe."""

    def __init__(
        self,
        connection: Connection,
        workspace: Workspace,
        annotator: str | None = None,
        policy: Policy = UNANIMOUS,
    ) -> None:
        """Create the review tables, and fill them from the journals of the workspace.

        If a valid cache of decisions is attached, only the events that are newer are read.

        Args:
            connection: The connection, which has the tables of `schema.sql`.
            workspace: The workspace.
            annotator: The annotator whose own reviews have columns of their own.
            policy: Which human verdict counts if annotators disagree.
        """
        self.annotator = annotator
        self.policy = policy
        self._connection = connection
        self._reader = JournalReader(workspace)
        self._unread: dict[str, JournalPrefix] = {}
        """Journals whose decisions come from the cache and whose events have not been read."""
        # Messages about lines of these journals.
        self._cached_warnings: list[str] = []
        # Not yet in `review_events`.
        self._events_without_rows: list[Event] = []
        self._has_sql_views = False
        self._is_cache_outdated = False
        with pause_garbage_collection():
            self._create_tables()
            cached = self._load_cached_decisions(workspace)
            if cached is not None and cached.prefixes:
                self._unread = cached.prefixes
                self._cached_warnings = cached.warnings
                self.add_new_journal_events()
            else:
                self._decide_all(self._reader.read_new_events())

    def _load_cached_decisions(self, workspace: Workspace) -> decision_cache.CachedJournals | None:
        inputs = decision_cache.collect_cache_inputs(self._connection, self.annotator, self.policy)
        if inputs is None:
            return None
        return decision_cache.load_cached_decisions(self._connection, workspace, inputs)

    @property
    def warnings(self) -> list[str]:
        """One message for each skipped journal line and for each gap in a chain."""
        return self._cached_warnings if self._unread else self._reader.warnings

    def save_cache_if_outdated(self, workspace: Workspace) -> None:
        """Write the cache if it is outdated and there are at least `MIN_EVENTS` events."""
        if not self._is_cache_outdated or len(self._events) < decision_cache.MIN_EVENTS:
            return
        self.add_new_journal_events()
        self._is_cache_outdated = False
        inputs = decision_cache.collect_cache_inputs(self._connection, self.annotator, self.policy)
        prefixes = self._reader.get_prefixes()
        if inputs and prefixes:
            journals = decision_cache.CachedJournals(prefixes, warnings=self._reader.warnings)
            decision_cache.write_decision_cache(self._connection, workspace, inputs, journals)

    def create_sql_views(self) -> None:
        """Create the rows and views that only users' SQL queries need: `review_events` and the
        views over it.
        """
        self._read_unread_events()
        if not self._has_sql_views:
            self._has_sql_views = True
            for statement in review_sql.EVENT_VIEWS:
                self._connection.execute(statement)
        events = self._events_without_rows
        if events:
            with self._transaction():
                review_sql.insert_events(
                    self._connection,
                    [row for event in events for row in self._build_event_rows(event)],
                )
                review_sql.insert_retracted_events(
                    self._connection, sorted(find_retracted_events(events))
                )
            self._events_without_rows = []

    def rebuild(self, events: Iterable[Event]) -> None:
        self._create_tables()
        self._decide_all(events)

    def _decide_all(self, events: Iterable[Event]) -> None:
        self._is_cache_outdated = True
        self._add_to_index(events)
        keys = list(self._events.by_key)
        self.items.load_items(keys)
        self._write_decisions(keys)

    def _create_tables(self) -> None:
        """Create empty tables, and forget the events that were read."""
        self.items = ItemIndex(self._connection)
        self._events = EventIndex(self.items)
        self._unread = {}
        self._events_without_rows = []
        for statement in (*review_sql.REVIEW_TABLES, review_sql.HUMAN_VIEW):
            self._connection.execute(statement)

    def _read_unread_events(self) -> None:
        """Read the events whose decisions come from the cache, if they have not been read."""
        if not self._unread:
            return
        unread = self._unread
        self._unread = {}
        with pause_garbage_collection():
            events = self._reader.read_verified_events(unread)
            # A journal has changed since the cache was loaded.
            if events is None:
                self.rebuild(self._reader.read_new_events())
                return
            self._add_to_index(events)
            self.items.load_items(list(self._events.by_key))
            self._load_roll_up_contexts(self._events.by_key)

    def _add_events(self, events: Iterable[Event]) -> int:
        """Add new events, rewrite the rows of their items, and return the number of new events."""
        new = self._add_to_index(events)
        if new:
            self._is_cache_outdated = True
            keys = list(dict.fromkeys(event.key for event in new))
            self.items.load_missing_items(keys)
            for key in keys:
                self._events.sort_events_of_item(key)
            self._write_decisions(keys, replace_existing=True)
        return len(new)

    def add_new_journal_events(self) -> int:
        """Add the events that were appended to the journals since the last call, by this or another
        process. Returns the number of new events.

        All new events are added here, so that their order is the one in which a later reader finds
        them. While the decisions come from the cache, the events before the new ones are unread.
        They are read first, but only if there are new ones.
        """
        if self._unread and not self._reader.has_size_changed_since(self._unread):
            return 0
        self._read_unread_events()
        events = self._reader.read_new_events()
        if self._reader.replaced:
            self.rebuild(events)
            return len(events)
        return self._add_events(events)

    def has_new_journal_lines(self) -> bool:
        """Return whether other processes have changed the journals since they were last read.

        Lines that this process writes are read at once, so they do not count.
        """
        return self._reader.has_size_changed_since(self._unread or self._reader.get_prefixes())

    @property
    def events(self) -> EventIndex:
        self._read_unread_events()
        return self._events

    def iter_reviewed_items(
        self, selected_items: Container[int], *, with_bulk: bool = False
    ) -> Iterator[ReviewedItem]:
        """Yield those of the selected items that have reviews, in the order of their first reviews.

        If several runs of a model have the same answer to an item, yield only one of these items.
        Without `with_bulk`, the opinions from bulk reviews are omitted, so an item can have none.
        """
        for key in self.events.by_key:
            # Of several items with the same hashes, the first one stays, because it comes last here.
            item_by_hashes: dict[tuple[str, str], int] = {}
            for item, prediction_hash, golden_hash in reversed(self.items.find_loaded_items(key)):
                if item in selected_items:
                    item_by_hashes[prediction_hash, golden_hash] = item
            for hashes, item in item_by_hashes.items():
                yield ReviewedItem(
                    item,
                    key=key,
                    hashes=hashes,
                    opinions=self.events.compute_opinions(key, *hashes, with_bulk=with_bulk),
                )

    def has_seen_verdicts(self, item_number: int, annotator: str) -> bool:
        """Return whether the annotator has seen other verdicts on an item, so that the next verdict
        would not be blind.

        The second review of a hidden duplicate is examined apart from the first one. Raises
        KeyError for an unknown item.
        """
        item = strip_duplicate_mark(item_number)
        key, prediction_hash, golden_hash = self.fetch_key_and_hashes(item)
        # Clocks can go back, so the order of the journal decides what the annotator did first.
        history = [
            event for event in self.events.by_key.get(key, ()) if event.annotator == annotator
        ]
        context = self.get_roll_up_context(item)
        is_duplicate = is_hidden_duplicate(item_number)
        presentation = SECOND_PRESENTATION if is_duplicate else FIRST_PRESENTATION
        return has_seen_other_verdicts(
            history, context, annotator, prediction_hash, golden_hash, presentation
        )

    def get_roll_up_context(self, item: int) -> RollUpContext:
        self._read_unread_events()
        return self.items.get_roll_up_context(item)

    def fetch_key_and_hashes(self, item: int) -> tuple[ItemKey, str, str]:
        """Return the key, prediction hash and golden hash of an item.

        Raises KeyError if it does not exist.
        """
        return self.items.fetch_key_and_hashes(item)

    def _add_to_index(self, events: Iterable[Event]) -> list[Event]:
        new = self._events.add_events(events)
        self._events_without_rows += new
        return new

    def _write_decisions(
        self, reviewed_keys: Sequence[ItemKey], *, replace_existing: bool = False
    ) -> None:
        """Compute the decisions on the items with these keys, and write them to the table. With
        `replace_existing`, earlier decisions on them are deleted.
        """
        keys = self._add_items_of_fixed_questions(reviewed_keys)
        self._load_roll_up_contexts(keys)
        rows: list[dict[str, Any]] = []
        item_numbers = []
        for key in keys:
            rows += self._build_decision_rows(key)
            # Several runs can have an item with the same key.
            item_numbers += [loaded.item for loaded in self.items.find_loaded_items(key)]

        with self._transaction():
            if replace_existing:
                review_sql.delete_decisions(self._connection, item_numbers)
            review_sql.insert_decisions(self._connection, rows)

    def _add_items_of_fixed_questions(self, keys: Sequence[ItemKey]) -> Sequence[ItemKey]:
        """Return the keys and those of the same questions in other runs, if the questions have a
        golden fix, because a fix counts for all runs.
        """
        questions = self._events.list_questions_with_fixes(keys)
        if not questions:
            return keys
        expanded = dict.fromkeys(keys)
        for question in questions:
            expanded.update(dict.fromkeys(self.items.find_keys_of_question(question)))
        # The caller decides these items again, which needs their data.
        self.items.load_missing_items(list(expanded))
        return list(expanded)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run the statements of a `with` block in a transaction, which an exception rolls back."""
        self._connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _load_roll_up_contexts(self, keys: Iterable[ItemKey]) -> None:
        self.items.load_roll_up_contexts([key for key in keys if self._needs_roll_up_context(key)])

    def _needs_roll_up_context(self, key: ItemKey) -> bool:
        """Whether verdicts on an item can follow from other reviews of it: of its parts, of other
        criteria or, in some benchmarks, of the item itself.
        """
        if find_benchmark_rules(key.benchmark).derivation.derives_verdicts:
            return True
        return any(
            (event.target, event.criterion) != ITEM_CORRECT
            for event in self._events.by_key.get(key, ())
        )

    def _build_event_rows(self, event: Event) -> Iterator[review_sql.EventRow]:
        """Yield rows (item number or None, whether the event is stale, JSON of the event): one for
        each item that the event is about.

        These are the items with the reviewed answer. If all answers have changed since, these are
        all items with the event's key, and the event is stale. If no item with the key is imported,
        there is one row without an item.
        """
        line = orjson.dumps(event, default=tuple).decode()
        references = self.items.find_loaded_items(event.key)
        if not references:
            yield None, False, line
            return

        current_items = []
        for reference in references:
            if not is_stale(event, reference.prediction_hash, reference.golden_hash):
                current_items.append(reference.item)
        if current_items:
            for item in current_items:
                yield item, False, line
        else:
            for reference in references:
                yield reference.item, True, line

    def _build_decision_rows(self, key: ItemKey) -> Iterator[dict[str, Any]]:
        """Yield the rows of the table `human_labels` about the items with a key: one for each
        decision, that is, each reviewed target and criterion.

        Several runs can have items with this key, whose answers can differ.
        """
        for reference in self.items.find_loaded_items(key):
            opinions = self._events.compute_opinions(
                key, reference.prediction_hash, reference.golden_hash
            )
            golden_fix = self._events.decide_golden_fix(key, reference.golden_hash)
            if not opinions and golden_fix is None:
                continue

            decisions = self._decide_item(key, reference, opinions)
            if golden_fix is not None:
                # `decide` returns a decision on the item first, even without opinions.
                decision_on_item = decisions[0]
                verdict = golden_fix.find_verdict(key.model, reference.prediction_hash)
                apply_golden_fix(decision_on_item, golden_fix, verdict)
            for decision in decisions:
                yield review_sql.to_decision_row(reference.item, decision)

    def _decide_item(
        self, key: ItemKey, reference: ItemReference, opinions: Sequence[Opinion]
    ) -> list[Decision]:
        """Return the decisions on an item and its parts.

        They also say what holds without bulk reviews, because some figures need that.
        """
        context = self.items.get_roll_up_context(reference.item)
        decisions = decide(opinions, context, self.annotator, self.policy)
        if any(opinion.bulk for opinion in opinions):
            individual_opinions = self._events.compute_opinions(
                key, reference.prediction_hash, reference.golden_hash, with_bulk=False
            )
            set_verdicts_without_bulk(
                decisions, decide(individual_opinions, context, self.annotator, self.policy)
            )
        return decisions

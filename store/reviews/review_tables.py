"""Reviews as tables of one DuckDB connection: what `reviews`, `labels` and the queue's `human` column show.

Temporary tables live beside the stored file, which is read-only, and belong to one connection (a `cursor()` of it
does not see them). Rows go in as bound JSON text, so this works after access to files has been locked as well.

`review_events`    every event as JSON, once for each item it is about (`item` is null if the item is not in the store)
`review_retracted` events that were taken back
`review_acts`      the events with their fields, retractions and what was retracted included
`reviews`          of those, what stands
`human_labels`     one row per (item, target, criterion) that anybody spoke of; values are JSON text
`human`            of those, item/correct: item, you, human, decided_by, verdict (human as a truth value), stale,
                   n_opinions

Those of events, and the view `labels`, are made when somebody asks for them: see `fill`.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.model.decision import decide, has_seen_other_verdicts, is_stale
from fcreview.model.review import ITEM_CORRECT, Event, ItemKey, Opinion
from fcreview.model.verdict import UNANIMOUS, RollUpContext, Policy
from fcreview.store.labels.fields import labels_view_sql
from fcreview.store.reviews import decision_cache
from fcreview.store.reviews.journal_reader import JournalReader, JournalPrefix
from fcreview.store.reviews.review_index import EventIndex, ItemReference, ItemIndex
from fcreview.store.reviews.review_sql import (
    EVENT_VIEWS,
    HUMAN_VIEW,
    REVIEW_TABLES,
    EventRow,
    to_decision_row,
    insert_decisions,
    insert_events,
    insert_retracted,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.workspace import Workspace


def open_review_tables(
    connection: DuckDBPyConnection, workspace: Workspace, annotator: str | None = None, policy: Policy = UNANIMOUS
) -> ReviewTables:
    """Makes the tables and views on a connection that has the tables and views of `schema.sql`, from the workspace's
    journals; `refresh` then takes in what other processes add. Before the connection is shut out from files: what stood
    the last time may be kept in one."""
    tables = ReviewTables(connection, annotator, policy)
    with _uncollected():
        tables.load(JournalReader(workspace), workspace)
    return tables


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without garbage collection: all objects made here are kept; looking through them costs a quarter more."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class ReviewTables:
    """Keeps the tables in step with the events. Not for two threads at once."""

    def __init__(self, connection: DuckDBPyConnection, annotator: str | None, policy: Policy) -> None:
        self.annotator = annotator
        self.policy = policy
        self.reader: JournalReader | None = None
        self._connection = connection
        self._references = ItemIndex(connection)
        self._said = EventIndex(self._references)
        self._unread: dict[str, JournalPrefix] = {}
        """Journals, by name, whose events are in `human_labels` and not read yet: see `snapshot`."""
        self._unwritten: list[Event] = []
        """Events that are in `human_labels`, and not in `review_events` before somebody asks for them."""
        self._viewed = False
        self._changed = False
        """Whether `human_labels` is not as it was kept."""

    @property
    def warnings(self) -> list[str]:
        """What was set aside in the journals."""
        return self.reader.warnings if self.reader else []

    def load(self, reader: JournalReader, workspace: Workspace) -> None:
        """From what stood the last time if that still holds, and what came since; else from the journals alone."""
        self.reader = reader
        self._make()
        made = decision_cache.describe_cache_inputs(self._connection, self.annotator, self.policy)
        self._unread = (decision_cache.load_decisions(self._connection, workspace, made) if made else None) or {}
        if self._unread:
            self.refresh()
        else:
            self._anew(reader.read())

    def save_cache(self, workspace: Workspace) -> None:
        """Keeps what stands for the next time, where reading it anew would take long."""
        if self.reader is None or not self._changed or len(self._said) < decision_cache.MIN_EVENTS:
            return
        self.refresh()
        self._changed = False
        made, journals = (
            decision_cache.describe_cache_inputs(self._connection, self.annotator, self.policy),
            self.reader.verified_prefixes(),
        )
        if made and journals:
            decision_cache.save_decisions(self._connection, workspace, made, journals)

    def create_sql_views(self) -> None:
        """Makes what only people's own SQL asks for: the rows of events, and the views over them and of labels."""
        self._read()
        if not self._viewed:
            self._viewed = True
            for statement in (*EVENT_VIEWS, labels_view_sql(self.policy)):
                self._connection.execute(statement)
        events = self._unwritten
        if events:
            gone = [e.retracts for e in events if e.retracts and (e.retracts, e.annotator) in self._said.retracted]
            with self._whole():
                insert_events(self._connection, [row for event in events for row in self._event_rows(event)])
                insert_retracted(self._connection, gone)
            self._unwritten = []

    def rebuild(self, events: Iterable[Event]) -> None:
        """Everything anew."""
        self._make()
        self._anew(events)

    def _anew(self, events: Iterable[Event]) -> None:
        self._changed = True
        self._register(events)
        self._references.load_many(list(self._said.by_key))
        self._write(list(self._said.by_key), anew=True)

    def _make(self) -> None:
        self._references = ItemIndex(self._connection)
        self._said = EventIndex(self._references)
        self._unread, self._unwritten = {}, []
        for statement in (*REVIEW_TABLES, HUMAN_VIEW):
            self._connection.execute(statement)

    def _read(self) -> None:
        """Reads what is behind `human_labels`, if that was kept from the last time."""
        if not self._unread or self.reader is None:
            return
        unread, self._unread = self._unread, {}
        with _uncollected():
            events = self.reader.read_verified(unread)
            if events is None:  # changed in between
                self.rebuild(self.reader.read())
                return
            self._register(events)
            self._references.load_many(list(self._said.by_key))
            self._find_parts(self._said.by_key)

    def add(self, events: Iterable[Event]) -> int:
        """Takes in new events and rewrites the rows of their items only. Returns how many were new."""
        self._read()
        fresh = self._register(events)
        if fresh:
            self._changed = True
            keys = list(dict.fromkeys(event.key for event in fresh))
            for key in keys:
                self._references.load(key)
                self._said.sort_events(key)
            self._write(keys, anew=False)
        return len(fresh)

    def refresh(self) -> int:
        """Takes in what was added to the journals since the last call, by other processes too. Returns how many."""
        if self.reader is None or (self._unread and not self.reader.has_changed_since(self._unread)):
            return 0
        self._read()
        events = self.reader.read()
        if self.reader.replaced:
            self.rebuild(events)
            return len(events)
        return self.add(events)

    @property
    def events(self) -> EventIndex:
        """All that anybody said."""
        self._read()
        return self._said

    def opinions(self, key: ItemKey, prediction_hash: str = "", golden_hash: str = "") -> list[Opinion]:
        """See `Events.opinions`, as of the next two."""
        return self.events.opinions(key, prediction_hash, golden_hash)

    def history(self, key: ItemKey) -> list[Event]:
        return self.events.history(key)

    def last_act(self, annotator: str) -> Event | None:
        return self.events.last_act(annotator)

    def items_with(self, key: ItemKey) -> Sequence[ItemReference]:
        """The items with a key that somebody spoke of."""
        return self._references.items_with(key)

    def reviewed_keys(self) -> Iterator[tuple[ItemKey, Sequence[ItemReference]]]:
        """Every key that anybody spoke of, with the items that have it."""
        return ((key, self._references.items_with(key)) for key in self.events.by_key)

    def has_seen_verdicts(self, item: int, annotator: str, presentation: int = 1) -> bool:
        """Whether what others found on the item was open to this annotator where it came the first or the second time,
        even in blind mode; see `opinions.has_seen`. KeyError if there is no such item."""
        key, prediction, golden = self.key_and_hashes(item)
        return has_seen_other_verdicts(
            self.history(key), self.roll_up_context(item), annotator, prediction, golden, presentation
        )

    def roll_up_context(self, item: int) -> RollUpContext:
        """What the roll-up must know of an item that somebody spoke of."""
        self._read()
        return self._references.parts_of(item).roll_up_context()

    def key_and_hashes(self, item: int) -> tuple[ItemKey, str, str]:
        """(key, prediction hash, golden hash) of an item; KeyError if there is none with this number."""
        return self._references.key_and_hashes(item)

    def _register(self, events: Iterable[Event]) -> list[Event]:
        fresh = self._said.add(events)
        self._unwritten += fresh
        return fresh

    def _write(self, keys: Sequence[ItemKey], *, anew: bool) -> None:
        items = [reference.item for key in keys for reference in self._references.items_with(key)]
        self._find_parts(keys)
        decisions = [row for key in keys for row in self._decision_rows(key)]
        with self._whole():
            for item in () if anew else items:
                self._connection.execute("DELETE FROM human_labels WHERE item = $1", [item])
            insert_decisions(self._connection, decisions)

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """All or nothing."""
        self._connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _find_parts(self, keys: Iterable[ItemKey]) -> None:
        spoken = [key for key in keys if any((e.target, e.criterion) != ITEM_CORRECT for e in self._said.by_key[key])]
        self._references.load_parts(spoken)

    def _event_rows(self, event: Event) -> Iterator[EventRow]:
        line = orjson.dumps(event, default=tuple).decode()
        references = self._references.items_with(event.key)
        here = [each.item for each in references if not is_stale(event, each.prediction_hash, each.golden_hash)]
        items: list[int | None] = [*(here or [each.item for each in references])]
        for item in items or [None]:
            yield item, bool(references) and not here, line

    def _decision_rows(self, key: ItemKey) -> Iterator[dict[str, Any]]:
        for item, prediction_hash, golden_hash in self._references.items_with(key):
            opinions = self.opinions(key, prediction_hash, golden_hash)
            if not opinions:
                continue
            for decision in decide(opinions, self.roll_up_context(item), self.annotator, self.policy):
                yield to_decision_row(item, decision)

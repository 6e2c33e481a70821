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
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.opinions import Decision, decide, fold, has_seen, is_stale, last_act, retractions
from fcreview.review import OWN, Event, ItemKey, Opinion
from fcreview.rollup import UNANIMOUS, Build, Policy
from fcreview.store.labels.view import labels_view
from fcreview.store.reviews.reader import JournalReader
from fcreview.store.reviews.references import Reference, References
from fcreview.store.reviews.views import DECISION_COLUMNS, DECISION_JSON, SCHEMA, VIEWS, columns_json

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.workspace import Workspace

FEW = 4
MANY = 10_000
"""Rows of one statement at most: what it binds takes memory twice."""


def load(
    connection: DuckDBPyConnection, events: Iterable[Event], annotator: str | None = None, policy: Policy = UNANIMOUS
) -> ReviewTables:
    """Makes the tables and views on a connection that has the tables and views of `schema.sql`."""
    tables = ReviewTables(connection, annotator, policy)
    with _uncollected():
        tables.replace(events)
    return tables


def follow(
    connection: DuckDBPyConnection, workspace: Workspace, annotator: str | None = None, policy: Policy = UNANIMOUS
) -> ReviewTables:
    """As `load`, from the workspace's journals; `refresh` then takes in what other processes add."""
    reader = JournalReader(workspace)
    with _uncollected():
        tables = load(connection, reader.read(), annotator, policy)
    tables.reader = reader
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
        self._references = References(connection)
        self._events: dict[str, Event] = {}
        self._by_key: dict[ItemKey, list[Event]] = {}
        self._retracted: set[tuple[str, str]] = set()

    @property
    def warnings(self) -> list[str]:
        """What was set aside in the journals."""
        return self.reader.warnings if self.reader else []

    def replace(self, events: Iterable[Event]) -> None:
        """Everything anew."""
        self._references = References(self._connection)
        self._events.clear()
        self._by_key.clear()
        self._retracted.clear()
        for statement in (*SCHEMA, *VIEWS, labels_view(self.policy)):
            self._connection.execute(statement)
        fresh = self._register(events)
        self._references.find_many(list(self._by_key))
        self._write(fresh, list(self._by_key), anew=True)

    def add(self, events: Iterable[Event]) -> int:
        """Takes in new events and rewrites the rows of their items only. Returns how many were new."""
        fresh = self._register(events)
        if fresh:
            keys = list(dict.fromkeys(event.key for event in fresh))
            for key in keys:
                self._references.find(key)
            self._write(fresh, keys, anew=False)
        return len(fresh)

    def refresh(self) -> int:
        """Takes in what was added to the journals since the last call, by other processes too. Returns how many."""
        if self.reader is None:
            return 0
        events = self.reader.read()
        if self.reader.replaced:
            self.replace(events)
            return len(events)
        return self.add(events)

    def opinions(self, key: ItemKey, prediction_hash: str = "", golden_hash: str = "") -> list[Opinion]:
        """What everybody now thinks of one item and its parts."""
        events = self._about(key, prediction_hash, golden_hash)
        return fold(events, self._retracted, prediction_hash, golden_hash)

    def spoke(self, key: ItemKey, annotator: str) -> bool:
        """Whether the annotator ever said anything of the item."""
        return any(event.annotator == annotator for event in self._by_key.get(key, ()))

    def answers(
        self, key: ItemKey, annotator: str, prediction_hash: str = "", golden_hash: str = "", presentation: int = 1
    ) -> list[Opinion]:
        """What one annotator says of the item where it came the first (1) or the second time (2)."""
        mine = [e for e in self._about(key, prediction_hash, golden_hash) if e.annotator == annotator]
        return fold(mine, self._retracted, prediction_hash, golden_hash, presentation)

    def asked_again(self, key: ItemKey) -> list[str]:
        """Who said something of the item when it came to them the second time."""
        return sorted({event.annotator for event in self._by_key.get(key, ()) if event.presentation})

    def both_answers(
        self, key: ItemKey, annotator: str, prediction_hash: str, golden_hash: str
    ) -> tuple[list[Opinion], list[Opinion]]:
        """What one annotator held when the item came the second time, and what they said then; nothing stale."""
        about = self._about(key, prediction_hash, golden_hash)
        mine = sorted((event for event in about if event.annotator == annotator), key=lambda event: event.time)
        again = next((at for at, event in enumerate(mine) if event.presentation), len(mine))
        first = fold(mine[:again], self._retracted, prediction_hash, golden_hash)
        second = fold(mine, self._retracted, prediction_hash, golden_hash, presentation=2)
        return [o for o in first if not o.stale], [o for o in second if not o.stale]

    def references(self, key: ItemKey) -> Sequence[Reference]:
        """The items with a key that somebody spoke of."""
        return self._references.of(key)

    def spoken_of(self) -> Iterator[tuple[ItemKey, Sequence[Reference]]]:
        """Every key that anybody spoke of, with the items that have it."""
        return ((key, self._references.of(key)) for key in self._by_key)

    def history(self, key: ItemKey) -> list[Event]:
        """Every event on one key, retractions and retracted ones included, by time."""
        return sorted(self._by_key.get(key, ()), key=lambda event: event.time)

    def seen_by(self, item: int, annotator: str) -> bool:
        """Whether what others found on the item was open to this annotator at some time, even in blind mode; see
        `opinions.has_seen`. KeyError if there is no such item."""
        key, *hashes = self.reference(item)
        return has_seen(self.history(key), self.build(item), annotator, *hashes)

    def build(self, item: int) -> Build:
        """What the roll-up must know of an item that somebody spoke of."""
        return self._references.parts(item).build()

    def last_act(self, annotator: str) -> Event | None:
        """The annotator's latest act that was not retracted."""
        return last_act(self._events.values(), annotator, self._retracted)

    def reference(self, item: int) -> tuple[ItemKey, str, str]:
        """(key, prediction hash, golden hash) of an item; KeyError if there is none with this number."""
        return self._references.named(item)

    def _register(self, events: Iterable[Event]) -> list[Event]:
        fresh = [event for event in events if event.event not in self._events]
        for event in fresh:
            self._events[event.event] = event
            self._by_key.setdefault(event.key, []).append(event)
        self._retracted |= retractions(fresh)
        return fresh

    def _about(self, key: ItemKey, prediction_hash: str, golden_hash: str) -> list[Event]:
        """Events on this item. Where runs of one model share a key, each gets those on its own answer; what is about
        another run's answer is not shown here as stale."""
        events = self._by_key.get(key, [])
        references = self._references.of(key)
        if len(references) < 2:
            return events
        others = [other for other in references if other[1:] != (prediction_hash, golden_hash)]
        return [
            event
            for event in events
            if not is_stale(event, prediction_hash, golden_hash)
            or all(is_stale(event, other.prediction_hash, other.golden_hash) for other in others)
        ]

    def _write(self, fresh: Sequence[Event], keys: Sequence[ItemKey], *, anew: bool) -> None:
        events = [row for event in fresh for row in self._event_rows(event)]
        gone = [event.retracts for event in fresh if (event.retracts, event.annotator) in self._retracted]
        items = [reference.item for key in keys for reference in self._references.of(key)]
        spoken = [key for key in keys if any((e.target, e.criterion) != OWN for e in self._by_key[key])]
        self._references.find_parts(spoken)
        decisions = [row for key in keys for row in self._decision_rows(key)]
        run = self._connection.execute
        run("BEGIN")
        try:
            for start in range(0, len(events), MANY):
                places, stale, lines = map(list, zip(*events[start : start + MANY], strict=True))
                columns = "unnest($1::BIGINT[]), unnest($2::BOOLEAN[]), unnest($3::VARCHAR[])"
                run(f"INSERT INTO review_events SELECT {columns}", [places, stale, lines])
            if gone:
                run("INSERT INTO review_retracted SELECT unnest($1::VARCHAR[])", [gone])
            for item in () if anew else items:
                run("DELETE FROM human_labels WHERE item = $1", [item])
            self._insert(decisions)
        except BaseException:
            run("ROLLBACK")
            raise
        run("COMMIT")

    def _insert(self, rows: Sequence[dict[str, Any]]) -> None:
        """Few rows as bound values (0.8 ms a row, as JSON 1.3 ms), many as JSON (50,000 rows in about 0.1 s)."""
        if len(rows) < FEW:
            places = ", ".join("?" for _ in DECISION_COLUMNS)
            for row in rows:
                values = [row.get(name) for name in DECISION_COLUMNS]
                self._connection.execute(f"INSERT INTO human_labels VALUES ({places})", values)
            return
        text = "SELECT unnest(from_json(line, $1)) FROM (SELECT unnest($2::VARCHAR[]) AS line)"
        for start in range(0, len(rows), MANY):
            lines = [orjson.dumps(row).decode() for row in rows[start : start + MANY]]
            self._connection.execute(f"INSERT INTO human_labels {text}", [columns_json(DECISION_COLUMNS), lines])

    def _event_rows(self, event: Event) -> Iterator[tuple[int | None, bool, str]]:
        line = orjson.dumps(event, default=tuple).decode()
        references = self._references.of(event.key)
        here = [each.item for each in references if not is_stale(event, each.prediction_hash, each.golden_hash)]
        items: list[int | None] = [*(here or [each.item for each in references])]
        for item in items or [None]:
            yield item, bool(references) and not here, line

    def _decision_rows(self, key: ItemKey) -> Iterator[dict[str, Any]]:
        for item, prediction_hash, golden_hash in self._references.of(key):
            opinions = self.opinions(key, prediction_hash, golden_hash)
            if not opinions:
                continue
            for decision in decide(opinions, self.build(item), self.annotator, self.policy):
                yield _decision_row(item, decision)


def _decision_row(item: int, decision: Decision) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(decision, name) for name in _DECISION}
    return {"item": item, **row, **{name: _json(row[name]) for name in DECISION_JSON}}


_DECISION = tuple(field.name for field in fields(Decision))


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()

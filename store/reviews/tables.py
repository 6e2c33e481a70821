"""Reviews as tables of one DuckDB connection: what `reviews`, `labels` and the queue's `human` column show.

Temporary tables live beside the stored file, which is read-only, and belong to one connection (a `cursor()` of it
does not see them). Rows go in as bound JSON text, so this works after access to files has been locked as well.

`review_events`    every event as JSON, once for each item it is about (`item` is null if the item is not in the store)
`review_retracted` events that were taken back
`review_acts`      the events with their fields, retractions and what was retracted included
`reviews`          of those, what stands
`human_labels`     one row per (item, target, criterion) that anybody spoke of; values are JSON text
`human`            of those, item/correct: item, you, human, effective_human, adjudicated, stale, n_opinions
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.opinions import ITEM, Decision, decide, fold, is_stale
from fcreview.store.reviews.lines import Event, Key, retractions
from fcreview.store.reviews.reader import JournalReader
from fcreview.store.reviews.views import LABEL_COLUMNS, SCHEMA, VIEWS, columns_json
from fcreview.store.rows import Opinion

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.review import ReviewEvent
    from fcreview.store.workspace import Workspace

FEW = 4
MANY = 10_000
"""Rows of one statement at most: what it binds takes memory twice."""

# Not through the views `pairs` and `verdicts`: those take every item apart before one is chosen.
_PAIRS = "SELECT item, p.turn, count(*) FROM (SELECT item, unnest(pairs) AS p {chosen}) GROUP BY item, p.turn"
_VERDICTS = (
    "SELECT item, v.target, v.criterion, v.source, CAST(v.value AS VARCHAR)"
    " FROM (SELECT item, unnest(verdicts) AS v {chosen})"
)
_CHOSEN = "FROM item_rows WHERE item IN ({items})"

Reference = tuple[int, str, str]
"""(item, prediction hash, golden hash)"""


def load(connection: DuckDBPyConnection, events: Iterable[Event], annotator: str | None = None) -> ReviewTables:
    """Makes the tables and views on a connection that has the tables and views of `schema.sql`."""
    tables = ReviewTables(connection, annotator)
    with _uncollected():
        tables.replace(events)
    return tables


def follow(connection: DuckDBPyConnection, workspace: Workspace, annotator: str | None = None) -> ReviewTables:
    """As `load`, from the workspace's journals; `refresh` then takes in what other processes add."""
    reader = JournalReader(workspace)
    with _uncollected():
        tables = load(connection, reader.read(), annotator)
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

    def __init__(self, connection: DuckDBPyConnection, annotator: str | None) -> None:
        self.annotator = annotator
        self.reader: JournalReader | None = None
        self._connection = connection
        self._events: dict[str, Event] = {}
        self._by_key: dict[Key, list[Event]] = {}
        self._references: dict[Key, list[Reference]] = {}
        self._retracted: set[tuple[str, str]] = set()
        self._pairs: dict[int, dict[int, int]] = {}
        self._runs: dict[tuple[str, ...], list[int]] = {}
        self._names: dict[int, tuple[str, str, str, str]] = {}
        self._verdicts: dict[int, dict[tuple[str, str, str], str]] = {}

    @property
    def warnings(self) -> list[str]:
        """What was set aside in the journals."""
        return self.reader.warnings if self.reader else []

    def replace(self, events: Iterable[Event]) -> None:
        """Everything anew."""
        for cache in (self._events, self._by_key, self._references, self._pairs, self._verdicts, self._runs):
            cache.clear()
        self._retracted.clear()
        for statement in (*SCHEMA, *VIEWS):
            self._connection.execute(statement)
        for run, *rest in self._rows("SELECT run, benchmark, generation, language, model FROM runs"):
            names = self._names[run] = (rest[0], rest[1], rest[2], rest[3])
            self._runs.setdefault(names, []).append(run)
        fresh = self._register(events)
        self._load_references(list(self._by_key))
        self._write(fresh, list(self._by_key), anew=True)

    def add(self, events: Iterable[Event]) -> int:
        """Takes in new events and rewrites the rows of their items only. Returns how many were new."""
        fresh = self._register(events)
        if fresh:
            keys = list(dict.fromkeys(event.key for event in fresh))
            for key in keys:
                if key not in self._references:
                    self._references[key] = self._find_references(key)
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

    def opinions(self, key: Key, prediction_hash: str = "", golden_hash: str = "") -> list[Opinion]:
        """What everybody now thinks of one item and its parts."""
        events = self._about(key, prediction_hash, golden_hash)
        return fold(events, self._retracted, prediction_hash, golden_hash)

    def history(self, key: Key) -> list[ReviewEvent]:
        """Every event on one key, retractions and retracted ones included, by time."""
        events = sorted(self._by_key.get(key, ()), key=lambda event: event.time)
        return [event.model() for event in events]

    def last_act(self, annotator: str) -> Event | None:
        """The annotator's latest act that was not retracted."""
        for event in reversed(self._events.values()):
            mine = event.annotator == annotator and event.act != "retract"
            if mine and (event.event, annotator) not in self._retracted:
                return event
        return None

    def reference(self, item: int) -> tuple[Key, str, str]:
        """(key, prediction hash, golden hash) of an item; KeyError if there is none with this number."""
        rows = self._rows(
            "SELECT run, category, id, prediction_hash, golden_hash FROM item_rows WHERE item = $1", [item]
        )
        if not rows:
            raise KeyError(item)
        run, category, name, prediction_hash, golden_hash = rows[0]
        key = (*self._names[run], category, name)
        return key, prediction_hash or "", golden_hash or ""

    def _register(self, events: Iterable[Event]) -> list[Event]:
        fresh = [event for event in events if event.event not in self._events]
        for event in fresh:
            self._events[event.event] = event
            self._by_key.setdefault(event.key, []).append(event)
        self._retracted |= retractions(fresh)
        return fresh

    def _about(self, key: Key, prediction_hash: str, golden_hash: str) -> list[Event]:
        """Events on this item. Where runs of one model share a key, each gets those on its own answer; what is about
        another run's answer is not shown here as stale."""
        events = self._by_key.get(key, [])
        references = self._references.get(key, ())
        if len(references) < 2:
            return events
        others = [r for r in references if r[1:] != (prediction_hash, golden_hash)]
        return [
            event
            for event in events
            if not is_stale(event, prediction_hash, golden_hash)
            or all(is_stale(event, other[1], other[2]) for other in others)
        ]

    def _write(self, fresh: Sequence[Event], keys: Sequence[Key], *, anew: bool) -> None:
        events = [row for event in fresh for row in self._event_rows(event)]
        gone = [event.retracts for event in fresh if (event.retracts, event.annotator) in self._retracted]
        items = [reference[0] for key in keys for reference in self._references[key]]
        self._load_parts(keys)
        labels = [row for key in keys for row in self._label_rows(key)]
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
            self._insert_labels(labels)
        except BaseException:
            run("ROLLBACK")
            raise
        run("COMMIT")

    def _insert_labels(self, rows: Sequence[dict[str, Any]]) -> None:
        """Few rows as bound values (0.8 ms a row, as JSON 1.3 ms), many as JSON (50,000 rows in about 0.1 s)."""
        if len(rows) < FEW:
            places = ", ".join("?" for _ in LABEL_COLUMNS)
            for row in rows:
                values = [row.get(name) for name in LABEL_COLUMNS]
                self._connection.execute(f"INSERT INTO human_labels VALUES ({places})", values)
            return
        text = "SELECT unnest(from_json(line, $1)) FROM (SELECT unnest($2::VARCHAR[]) AS line)"
        for start in range(0, len(rows), MANY):
            lines = [orjson.dumps(row).decode() for row in rows[start : start + MANY]]
            self._connection.execute(f"INSERT INTO human_labels {text}", [columns_json(LABEL_COLUMNS), lines])

    def _event_rows(self, event: Event) -> Iterator[tuple[int | None, bool, str]]:
        line = orjson.dumps(event).decode()
        references = self._references.get(event.key, [])
        here = [r[0] for r in references if not is_stale(event, r[1], r[2])]
        items: list[int | None] = [*(here or [reference[0] for reference in references])]
        for item in items or [None]:
            yield item, bool(references) and not here, line

    def _label_rows(self, key: Key) -> Iterator[dict[str, Any]]:
        for item, prediction_hash, golden_hash in self._references[key]:
            opinions = self.opinions(key, prediction_hash, golden_hash)
            if not opinions:
                continue
            said = self._verdicts.get(item, {})
            for decision in decide(opinions, self._pairs.get(item, {}), self.annotator):
                row = _label_row(item, decision)
                if (decision.target, decision.criterion) != ITEM:
                    for source in ("official", "rule", "judge"):
                        row[source] = said.get((decision.target, decision.criterion, source))
                yield row

    def _load_references(self, keys: Sequence[Key]) -> None:
        """Finds the items of many keys in one pass."""
        self._references.update({key: [] for key in keys})
        if not keys:
            return
        found = self._rows(
            "SELECT k.place, i.item, i.prediction_hash, i.golden_hash FROM items i JOIN"
            " (SELECT unnest(range($7::BIGINT)) AS place, unnest($1::VARCHAR[]) AS benchmark, unnest($2::VARCHAR[]) AS"
            " generation, unnest($3::VARCHAR[]) AS language, unnest($4::VARCHAR[]) AS model, unnest($5::VARCHAR[]) AS"
            " category, unnest($6::VARCHAR[]) AS id) k USING (benchmark, generation, language, model, category, id)"
            " ORDER BY i.item",
            [*(list(column) for column in zip(*keys, strict=True)), len(keys)],
        )
        for place, item, prediction_hash, golden_hash in found:
            self._references[keys[place]].append((item, prediction_hash or "", golden_hash or ""))

    def _find_references(self, key: Key) -> list[Reference]:
        """Finds the items of one key; looks through runs of its model only."""
        runs = self._runs.get(key[:4], [])
        rows = self._rows(
            "SELECT item, prediction_hash, golden_hash FROM item_rows"
            f" WHERE run IN ({', '.join(map(str, runs)) or 'NULL'}) AND id = $1 AND category = $2 ORDER BY item",
            [key[5], key[4]],
        )
        return [(item, prediction_hash or "", golden_hash or "") for item, prediction_hash, golden_hash in rows]

    def _load_parts(self, keys: Sequence[Key]) -> None:
        """For items whose parts were spoken of: the number of call pairs of each turn, and other verdicts on parts."""
        wanted = [key for key in keys if any((e.target, e.criterion) != ITEM for e in self._by_key[key])]
        items = [r[0] for key in wanted for r in self._references[key] if r[0] not in self._pairs]
        if not items:
            return
        for item in items:
            self._pairs[item], self._verdicts[item] = {}, {}
        chosen = _CHOSEN.format(items=", ".join(map(str, items)))  # numbers of our own; so that only their part is read
        for item, turn, count in self._rows(_PAIRS.format(chosen=chosen)):
            self._pairs[item][turn + 1] = count
        for item, target, criterion, source, value in self._rows(_VERDICTS.format(chosen=chosen)):
            self._verdicts[item][target, criterion, source] = value

    def _rows(self, text: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(text, list(values)).fetchall()


def _label_row(item: int, decision: Decision) -> dict[str, Any]:
    return {
        "item": item,
        "target": decision.target,
        "criterion": decision.criterion,
        "human": _json(decision.human),
        "you": _json(decision.you),
        "decided_by": decision.decided_by,
        "fault": decision.fault,
        "tags": decision.tags,
        "notes": decision.notes,
        "annotators": decision.annotators,
        "n_verdicts": decision.n_verdicts,
        "stale": decision.stale,
    }


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()

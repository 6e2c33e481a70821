"""SQL of the review tables and of the views `human`, `review_acts`, `reviews`. Values are JSON text.

Columns are those of `fcreview.model.review.Event` and `fcreview.model.decision.Decision`: a field that is added there
is a column here.

Rows of the review tables, put in as bound JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.model.decision import Decision
from fcreview.model.review import Event, ItemKey

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_TYPES = {
    **dict.fromkeys(("str", "Any", "dict[str, Any]", "DecidedBy"), "VARCHAR"),
    "list[str]": "VARCHAR[]",
    "int": "INTEGER",
    "bool": "BOOLEAN",
}
_KINDS = {
    "text": "VARCHAR",
    "texts": "VARCHAR[]",
    "object": "JSON",
    "value": "JSON",
    "flag": "BOOLEAN",
    "count": "INTEGER",
}
_INTERNAL = ("previous", "hash", "version", "extra")
"""Fields of an event that matter to the journal only."""


def _column_type(field: Field[Any]) -> str:
    return _TYPES[str(field.type).removesuffix(" | None")]


EVENT_COLUMNS: dict[str, str] = {
    field.name: "VARCHAR[]" if field.name == "key" else _KINDS[field.metadata.get("kind", "text")]
    for field in fields(Event)
    if field.name not in _INTERNAL
}
"""Fields of an `Event` as JSON; only the view takes them apart, so that adding one costs little."""

DECISION_COLUMNS: dict[str, str] = {
    "item": "BIGINT",
    **{field.name: _column_type(field) for field in fields(Decision)},
}
"""Of `human_labels`: what people say of a target."""
DECISION_JSON = tuple(field.name for field in fields(Decision) if str(field.type).startswith(("Any", "dict")))
"""Those of them that are JSON text."""


def columns_json(columns: dict[str, str]) -> str:
    """The structure that DuckDB's `from_json` takes: `{"item": "BIGINT", "tags": ["VARCHAR"]}`."""
    return json.dumps({name: [kind[:-2]] if kind.endswith("[]") else kind for name, kind in columns.items()})


def _table(name: str, columns: dict[str, str]) -> str:
    return f"CREATE OR REPLACE TEMP TABLE {name} ({', '.join(f'{c} {kind}' for c, kind in columns.items())})"


REVIEW_TABLES = (
    _table("review_events", {"item": "BIGINT", "stale": "BOOLEAN", "line": "VARCHAR"}),
    _table("review_retracted", {"event": "VARCHAR"}),
    _table("human_labels", DECISION_COLUMNS),
)

HUMAN_VIEW = """
CREATE OR REPLACE TEMP VIEW human AS
SELECT item, you, human, decided_by, CASE human WHEN 'true' THEN true WHEN 'false' THEN false END AS verdict,
       stale, your_stale, n_verdicts AS n_opinions, n_parts, your_parts
FROM human_labels WHERE target = 'item' AND criterion = 'correct'
"""

_KEYS = [f"e.key[{place}] AS {name}" for place, name in enumerate(ItemKey._fields, 1)]
_FIELDS = [
    f"CAST(e.{name} AS VARCHAR) AS {name}" if kind == "JSON" else f"e.{name}"
    for name, kind in EVENT_COLUMNS.items()
    if name != "key"
]
_ACTS = f"""
CREATE OR REPLACE TEMP VIEW review_acts AS
SELECT item, stale, {", ".join([*_KEYS, *_FIELDS])},
       e.event IN (SELECT event FROM review_retracted) AS retracted
FROM (SELECT item, stale, from_json(line, '{columns_json(EVENT_COLUMNS)}') AS e FROM review_events)
"""

_REVIEWS = """
CREATE OR REPLACE TEMP VIEW reviews AS
SELECT a.item, i.run, a.* EXCLUDE (item, retracts, retracted)
FROM review_acts a LEFT JOIN item_rows i ON i.item = a.item
WHERE a.act <> 'retract' AND NOT a.retracted
"""

EVENT_VIEWS = (_ACTS, _REVIEWS)


MIN_JSON_ROWS = 4
MAX_ROWS_PER_STATEMENT = 10_000
"""Rows of one statement at most: what it binds takes memory twice."""
_DECISION = tuple(field.name for field in fields(Decision))

EventRow = tuple[int | None, bool, str]
"""Of `review_events`: item, stale, line."""


def to_decision_row(item: int, decision: Decision) -> dict[str, Any]:
    """Of `human_labels`."""
    row: dict[str, Any] = {name: getattr(decision, name) for name in _DECISION}
    return {"item": item, **row, **{name: _json(row[name]) for name in DECISION_JSON}}


def insert_decisions(connection: DuckDBPyConnection, rows: Sequence[dict[str, Any]]) -> None:
    """Few rows as bound values (0.8 ms a row, as JSON 1.3 ms), many as JSON (50,000 rows in about 0.1 s)."""
    if len(rows) < MIN_JSON_ROWS:
        places = ", ".join("?" for _ in DECISION_COLUMNS)
        for row in rows:
            connection.execute(
                f"INSERT INTO human_labels VALUES ({places})", [row.get(name) for name in DECISION_COLUMNS]
            )
        return
    insert_decision_lines(connection, [orjson.dumps(row).decode() for row in rows])


def insert_decision_lines(connection: DuckDBPyConnection, lines: Sequence[str]) -> None:
    """The same, each the text of a JSON object."""
    text = "SELECT unnest(from_json(line, $1)) FROM (SELECT unnest($2::VARCHAR[]) AS line)"
    for start in range(0, len(lines), MAX_ROWS_PER_STATEMENT):
        values = [columns_json(DECISION_COLUMNS), list(lines[start : start + MAX_ROWS_PER_STATEMENT])]
        connection.execute(f"INSERT INTO human_labels {text}", values)


def insert_events(connection: DuckDBPyConnection, rows: Sequence[EventRow]) -> None:
    columns = "unnest($1::BIGINT[]), unnest($2::BOOLEAN[]), unnest($3::VARCHAR[])"
    for start in range(0, len(rows), MAX_ROWS_PER_STATEMENT):
        places, stale, lines = map(list, zip(*rows[start : start + MAX_ROWS_PER_STATEMENT], strict=True))
        connection.execute(f"INSERT INTO review_events SELECT {columns}", [places, stale, lines])


def insert_retracted(connection: DuckDBPyConnection, events: Sequence[str]) -> None:
    if events:
        connection.execute("INSERT INTO review_retracted SELECT unnest($1::VARCHAR[])", [list(events)])


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()

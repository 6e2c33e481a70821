"""Define the SQL of the effective verdict, the review tables and the review views, and insert rows.

Each field of `fcreview.model.review.Event` and `fcreview.model.decision.Decision` becomes a column.
Verdicts are JSON text. One bound list of JSON texts inserts many rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.model.decision import Decision
from fcreview.model.effective_verdict import RESOLUTIONS, SCORING_ORDER
from fcreview.model.review import Event, ItemKey

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_TYPE_OF_ANNOTATION = {
    **dict.fromkeys(("str", "Any", "dict[str, Any]", "DecidedBy"), "VARCHAR"),
    "list[str]": "VARCHAR[]",
    "int": "INTEGER",
    "bool": "BOOLEAN",
}
_TYPE_OF_KIND = {
    "text": "VARCHAR",
    "texts": "VARCHAR[]",
    "object": "JSON",
    "value": "JSON",
    "flag": "BOOLEAN",
    "count": "INTEGER",
}
# fields that `review_events` lacks
_JOURNAL_ONLY_FIELDS = (
    "place",
    "previous",
    "hash",
    "version",
    "extra",
)


EVENT_COLUMNS: dict[str, str] = {
    field.name: "VARCHAR[]"
    if field.name == "key"
    else _TYPE_OF_KIND[field.metadata.get("kind", "text")]
    for field in fields(Event)
    if field.name not in _JOURNAL_ONLY_FIELDS
}
"""Fields of an `Event` and their SQL types. The table `review_events` contains each event as JSON
text, because this is faster to insert than single columns.
"""

_DECISION_FIELDS = {field.metadata.get("column", field.name): field for field in fields(Decision)}
DECISION_COLUMNS: dict[str, str] = {
    "item": "BIGINT",
    **{
        name: _TYPE_OF_ANNOTATION[str(field.type).removesuffix(" | None")]
        for name, field in _DECISION_FIELDS.items()
    },
}
_JSON_DECISION_COLUMNS = tuple(
    name for name, field in _DECISION_FIELDS.items() if str(field.type).startswith(("Any", "dict"))
)


def format_json_structure(columns: dict[str, str]) -> str:
    """Convert columns to the notation of DuckDB's `from_json`, such as `{"item": "BIGINT",
    "tags": ["VARCHAR"]}`.
    """
    return json.dumps(
        {name: [kind[:-2]] if kind.endswith("[]") else kind for name, kind in columns.items()}
    )


def _create_table_sql(name: str, columns: dict[str, str]) -> str:
    return (
        f"CREATE OR REPLACE TEMP TABLE {name}"
        f" ({', '.join(f'{c} {kind}' for c, kind in columns.items())})"
    )


REVIEW_TABLES = (
    _create_table_sql("review_events", {"item": "BIGINT", "stale": "BOOLEAN", "line": "VARCHAR"}),
    _create_table_sql("review_retracted", {"event": "VARCHAR", "annotator": "VARCHAR"}),
    _create_table_sql("human_labels", DECISION_COLUMNS),
)

HUMAN_VIEW = """
CREATE OR REPLACE TEMP VIEW human AS
SELECT item, you, human, decided_by, CASE human WHEN 'true' THEN true WHEN 'false' THEN false END AS verdict,
       stale, your_stale, your_bulk, n_verdicts AS n_opinions, n_parts, your_parts, individual, individual_by,
       CASE individual WHEN 'true' THEN true WHEN 'false' THEN false END AS individual_verdict,
       incident_mark, your_incident_mark, golden_status, golden_verdict,
       CASE derived WHEN 'true' THEN true WHEN 'false' THEN false END AS derived_verdict, contradicting
FROM human_labels WHERE target = 'item' AND criterion = 'correct'
"""

_KEY_COLUMNS = [f"e.key[{place}] AS {name}" for place, name in enumerate(ItemKey._fields, 1)]
_EVENT_COLUMNS_SQL = [
    f"CAST(e.{name} AS VARCHAR) AS {name}" if kind == "JSON" else f"e.{name}"
    for name, kind in EVENT_COLUMNS.items()
    if name != "key"
]
_REVIEW_ACTS_VIEW = f"""
CREATE OR REPLACE TEMP VIEW review_acts AS
SELECT item, stale, {", ".join([*_KEY_COLUMNS, *_EVENT_COLUMNS_SQL])},
       (e.event, e.annotator) IN (SELECT (event, annotator) FROM review_retracted) AS retracted
FROM (SELECT item, stale, from_json(line, '{format_json_structure(EVENT_COLUMNS)}') AS e FROM review_events)
"""

_REVIEWS_VIEW = """
CREATE OR REPLACE TEMP VIEW reviews AS
SELECT a.item, i.run, a.* EXCLUDE (item, retracts, retracted)
FROM review_acts a LEFT JOIN item_rows i ON i.item = a.item
WHERE a.act <> 'retract' AND NOT a.retracted
"""

# statements that create the views over `review_events`
EVENT_VIEWS = (
    _REVIEW_ACTS_VIEW,
    _REVIEWS_VIEW,
)

MIN_JSON_ROWS = 4  # minimum number of rows for which JSON is faster than bound values
MAX_ROWS_PER_STATEMENT = (
    10_000  # DuckDB copies bound values, so they take twice their size in memory
)

EventRow = tuple[int | None, bool, str]  # a row of `review_events`: item, stale, line


def to_decision_row(item: int, decision: Decision) -> dict[str, Any]:
    """Return the row of a decision in the table `human_labels`."""
    row: dict[str, Any] = {
        name: getattr(decision, field.name) for name, field in _DECISION_FIELDS.items()
    }
    return {
        "item": item,
        **row,
        **{name: _to_json_text(row[name]) for name in _JSON_DECISION_COLUMNS},
    }


def insert_decisions(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows into `human_labels`. Bound values are faster for a few rows (0.8 ms per row
    instead of 1.3 ms), JSON is faster for many rows (0.1 s for 50,000 rows).
    """
    if len(rows) < MIN_JSON_ROWS:
        places = ", ".join("?" for _ in DECISION_COLUMNS)
        for row in rows:
            connection.execute(
                f"INSERT INTO human_labels VALUES ({places})",
                [row.get(name) for name in DECISION_COLUMNS],
            )
        return
    insert_decisions_from_json(connection, [orjson.dumps(row).decode() for row in rows])


def delete_decisions(connection: Connection, items: Sequence[int]) -> None:
    """Delete the rows of items from `human_labels`.

    Comparing with one value is twice as fast as with a list.
    """
    if len(items) == 1:
        connection.execute("DELETE FROM human_labels WHERE item = $1", list(items))
    else:
        connection.execute(
            "DELETE FROM human_labels WHERE item IN (SELECT unnest($1::BIGINT[]))", [list(items)]
        )


def insert_decisions_from_json(connection: Connection, lines: Sequence[str]) -> None:
    """Insert rows into `human_labels`, each given as the text of a JSON object."""
    text = "SELECT unnest(from_json(line, $1)) FROM (SELECT unnest($2::VARCHAR[]) AS line)"
    for start in range(0, len(lines), MAX_ROWS_PER_STATEMENT):
        values = [
            format_json_structure(DECISION_COLUMNS),
            list(lines[start : start + MAX_ROWS_PER_STATEMENT]),
        ]
        connection.execute(f"INSERT INTO human_labels {text}", values)


def insert_events(connection: Connection, rows: Sequence[EventRow]) -> None:
    """Insert rows into `review_events`, many with one statement."""
    columns = "unnest($1::BIGINT[]), unnest($2::BOOLEAN[]), unnest($3::VARCHAR[])"
    for start in range(0, len(rows), MAX_ROWS_PER_STATEMENT):
        items = []
        stale_flags = []
        lines = []
        for item, is_stale, line in rows[start : start + MAX_ROWS_PER_STATEMENT]:
            items.append(item)
            stale_flags.append(is_stale)
            lines.append(line)
        connection.execute(
            f"INSERT INTO review_events SELECT {columns}", [items, stale_flags, lines]
        )


def insert_retracted_events(
    connection: Connection, event_ids_and_annotators: Sequence[tuple[str, str]]
) -> None:
    """Insert the events that were retracted. An event id is unique only for one annotator."""
    if event_ids_and_annotators:
        values = "unnest($1::VARCHAR[]), unnest($2::VARCHAR[])"
        columns = [list(column) for column in zip(*event_ids_and_annotators, strict=True)]
        connection.execute(f"INSERT INTO review_retracted SELECT {values}", columns)


def _to_json_text(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


_RESOLUTIONS = ", ".join(f"'{resolution}'" for resolution in RESOLUTIONS)


def is_resolved_sql(decided_by_column: str) -> str:
    """Return the SQL condition that the human verdict is resolved, so that it is the effective
    verdict.
    """
    return f"{decided_by_column} IN ({_RESOLUTIONS})"


def automatic_verdict_sql(table: str) -> str:
    """Return SQL for the automatic verdict, from the columns `official`, `rule` and `judge` of a
    table.
    """
    return f"coalesce({', '.join(f'{table}.{source}' for source in SCORING_ORDER)})"


def effective_verdict_sql(
    human_column: str, decided_by_column: str, derived_column: str, table: str
) -> str:
    """Return SQL for the effective verdict: the human verdict if it is resolved, else the verdict
    that follows from other verdicts, else the automatic verdict.
    """
    unresolved = f"coalesce({derived_column}, {automatic_verdict_sql(table)})"
    return (
        f"CASE WHEN {is_resolved_sql(decided_by_column)} THEN {human_column} ELSE {unresolved} END"
    )


def decision_origin_sql(decided_by_column: str, table: str) -> str:
    """Return SQL for the origin of the effective verdict: `decided_by`, else the source of the
    automatic verdict.
    """
    sources = " ".join(
        f"WHEN {table}.{source} IS NOT NULL THEN '{source}'" for source in SCORING_ORDER
    )
    return f"CASE WHEN {decided_by_column} IS NOT NULL THEN {decided_by_column} {sources} END"


# over `item_rows i LEFT JOIN human h`
EFFECTIVE_VERDICT = effective_verdict_sql("h.verdict", "h.decided_by", "h.derived_verdict", "i")
AUTOMATIC_VERDICT = automatic_verdict_sql("i")  # automatic verdict on an item, over `item_rows i`

# what this annotator decided about the mark of an incident, for blind mode
OWN_MARK = "h.your_incident_mark"
DECIDED_MARK = "h.incident_mark"  # what all annotators decided about the mark of an incident


def automatic_incident_sql(table: str = "i") -> str:
    """Return the SQL condition that figures without incidents leave an item out, as long as nobody
    reviews the mark.

    `table` has the columns of `item_rows`. The rule is `is_counted_incident` in
    `fcreview/model/incident.py`.
    """
    is_known = f"{table}.incident IS NOT NULL AND {table}.incident <> 'limit'"
    return f"({is_known} AND {table}.incident_certainty IS DISTINCT FROM 'weak')"


def is_incident_sql(mark: str = DECIDED_MARK, table: str = "i") -> str:
    """Return the SQL condition that an item counts as an incident.

    `mark` is the column of the reviewers' decision.
    """
    return f"coalesce({mark}, {automatic_incident_sql(table)})"


def incident_kind_sql(mark: str = DECIDED_MARK, table: str = "i") -> str:
    """Return SQL for the kind of an item's incident (also `limit` and weak marks), or null.

    See `decide_incident`.
    """
    kind = f"{table}.incident"
    return f"CASE WHEN {mark} IS NULL THEN {kind} WHEN {mark} THEN coalesce({kind}, 'unknown') END"


def incident_certainty_sql(mark: str = DECIDED_MARK, table: str = "i") -> str:
    """Return SQL for the certainty of an item's incident: `human` if it counts only because of a
    review.
    """
    certainty = f"{table}.incident_certainty"
    marked = f"CASE WHEN {automatic_incident_sql(table)} THEN {certainty} ELSE 'human' END"
    return f"CASE WHEN {mark} IS NULL THEN {certainty} WHEN {mark} THEN {marked} END"


AUTOMATIC_INCIDENT = automatic_incident_sql()  # over `item_rows i`
HAS_INCIDENT = is_incident_sql()  # over `item_rows i LEFT JOIN human h`

"""SQL of the review tables and of the views `human`, `review_acts`, `reviews`. Values are JSON text.

Columns are those of `fcreview.review.Event` and `fcreview.opinions.Decision`: a field that is added there is a column
here.
"""

from __future__ import annotations

import json
from dataclasses import Field, fields
from typing import Any

from fcreview.opinions import Decision
from fcreview.review import Event, ItemKey

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


SCHEMA = (
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

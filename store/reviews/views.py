"""SQL of the review tables and of the views `human`, `review_acts`, `reviews`, `labels`. Values are JSON text.

Columns are those of `fcreview.review.Event` and `fcreview.opinions.Decision`: a field that is added there is a column
here. `LABEL_FIELDS` is the one list of what an exported label has.
"""

from __future__ import annotations

import json
from dataclasses import Field, fields
from typing import Any

from fcreview.opinions import Decision
from fcreview.review import Event, ItemKey
from fcreview.rollup import SCORING
from fcreview.store.reviews.effective import deciding, effective

_TYPES = {"str": "VARCHAR", "Any": "VARCHAR", "DecidedBy": "VARCHAR", "list[str]": "VARCHAR[]", "int": "INTEGER",
          "bool": "BOOLEAN"}  # fmt: skip
_KINDS = {"text": "VARCHAR", "texts": "VARCHAR[]", "object": "JSON", "value": "JSON", "flag": "BOOLEAN"}
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
    **dict.fromkeys(SCORING, "VARCHAR"),
}
"""Of `human_labels`: what people say of a target, and what the automatic sources say of a part."""

LABEL_FIELDS: dict[str, str] = {
    "run": "i.run",
    "model": "i.model",
    "benchmark": "i.benchmark",
    "generation": "i.generation",
    "language": "i.language",
    "category": "i.category",
    "id": "i.id",
    "target": "o.target",
    "criterion": "o.criterion",
    **{source: f"o.{source}" for source in SCORING},
    "human": "o.human",
    "effective": effective("o.human", "o.decided_by", "o"),
    "decided_by": deciding("o.decided_by", "o"),
    "fault": "o.fault",
    "tags": "coalesce(o.tags, [])",
    "notes": "coalesce(o.notes, [])",
    "annotators": "coalesce(o.annotators, [])",
    "n_annotators": "len(coalesce(o.annotators, []))",
    "stale": "coalesce(o.stale, false)",
    "error_type": "i.error_type",
    "rule_error_type": "i.rule_error_type",
    "prediction_hash": "i.prediction_hash",
    "golden_hash": "i.golden_hash",
}
"""Fields of a label in the order in which they are exported, and where each comes from."""

JSON_FIELDS = (*SCORING, "human", "effective")
"""Fields of a label whose values are JSON text in the store."""


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

_HUMAN = """
CREATE OR REPLACE TEMP VIEW human AS
SELECT item, you, human, decided_by, TRY_CAST(human AS BOOLEAN) AS verdict, stale, n_verdicts AS n_opinions
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

_SAID = ", ".join(f"h.{field.name}" for field in fields(Decision) if field.name not in ("target", "criterion"))
_LABELS = f"""
CREATE OR REPLACE TEMP VIEW labels AS
WITH own AS (
    SELECT i.item, coalesce(h.target, 'item') AS target, coalesce(h.criterion, 'correct') AS criterion,
           {", ".join(f"CAST(i.{source} AS VARCHAR) AS {source}" for source in SCORING)}, {_SAID}
    FROM items i LEFT JOIN human_labels h ON h.item = i.item AND h.target = 'item' AND h.criterion = 'correct'
    UNION ALL
    SELECT h.item, h.target, h.criterion, {", ".join(f"h.{source}" for source in SCORING)}, {_SAID}
    FROM human_labels h WHERE NOT (target = 'item' AND criterion = 'correct')
)
SELECT i.item, {", ".join(f"{source} AS {name}" for name, source in LABEL_FIELDS.items())}
FROM own o JOIN items i ON i.item = o.item
"""

VIEWS = (_HUMAN, _ACTS, _REVIEWS, _LABELS)

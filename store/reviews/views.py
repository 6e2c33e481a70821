"""SQL of the review tables and of the views `human`, `review_acts`, `reviews`, `labels`. Values are JSON text."""

from __future__ import annotations

import json

EVENT_FIELDS = {
    "event": "VARCHAR",
    "time": "VARCHAR",
    "annotator": "VARCHAR",
    "act": "VARCHAR",
    "key": "VARCHAR[]",
    "target": "VARCHAR",
    "criterion": "VARCHAR",
    "verdict": "JSON",
    "fault": "VARCHAR",
    "tags": "VARCHAR[]",
    "note": "VARCHAR",
    "golden_fix": "JSON",
    "retracts": "VARCHAR",
    "prediction_hash": "VARCHAR",
    "golden_hash": "VARCHAR",
}
"""Fields of an `Event` as JSON; only the view takes them apart, so that adding one costs little."""

LABEL_COLUMNS = {
    "item": "BIGINT",
    "target": "VARCHAR",
    "criterion": "VARCHAR",
    "human": "VARCHAR",
    "you": "VARCHAR",
    "decided_by": "VARCHAR",
    "fault": "VARCHAR",
    "tags": "VARCHAR[]",
    "notes": "VARCHAR[]",
    "annotators": "VARCHAR[]",
    "n_verdicts": "INTEGER",
    "stale": "BOOLEAN",
    "official": "VARCHAR",
    "rule": "VARCHAR",
    "judge": "VARCHAR",
}


def columns_json(columns: dict[str, str]) -> str:
    """The structure that DuckDB's `from_json` takes: `{"item": "BIGINT", "tags": ["VARCHAR"]}`."""
    return json.dumps({name: [kind[:-2]] if kind.endswith("[]") else kind for name, kind in columns.items()})


def _table(name: str, columns: dict[str, str]) -> str:
    return f"CREATE OR REPLACE TEMP TABLE {name} ({', '.join(f'{c} {kind}' for c, kind in columns.items())})"


SCHEMA = (
    _table("review_events", {"item": "BIGINT", "stale": "BOOLEAN", "line": "VARCHAR"}),
    _table("review_retracted", {"event": "VARCHAR"}),
    _table("human_labels", LABEL_COLUMNS),
)

_HUMAN = """
CREATE OR REPLACE TEMP VIEW human AS
SELECT item, you, human,
       CASE WHEN decided_by IN ('adjudication', 'unanimous') THEN TRY_CAST(human AS BOOLEAN) END AS effective_human,
       coalesce(decided_by = 'adjudication', false) AS adjudicated,
       stale, n_verdicts AS n_opinions
FROM human_labels WHERE target = 'item' AND criterion = 'correct'
"""

_ACTS = f"""
CREATE OR REPLACE TEMP VIEW review_acts AS
SELECT item, stale, e.event, e.time, e.annotator, e.act, e.key[1] AS benchmark, e.key[2] AS generation,
       e.key[3] AS language, e.key[4] AS model, e.key[5] AS category, e.key[6] AS id, e.target, e.criterion,
       CAST(e.verdict AS VARCHAR) AS verdict, e.fault, e.tags, e.note, CAST(e.golden_fix AS VARCHAR) AS golden_fix,
       e.retracts, e.event IN (SELECT event FROM review_retracted) AS retracted, e.prediction_hash, e.golden_hash
FROM (SELECT item, stale, from_json(line, '{columns_json(EVENT_FIELDS)}') AS e FROM review_events)
"""

_REVIEWS = """
CREATE OR REPLACE TEMP VIEW reviews AS
SELECT a.item, i.run, a.* EXCLUDE (item, retracts, retracted)
FROM review_acts a LEFT JOIN item_rows i ON i.item = a.item
WHERE a.act <> 'retract' AND NOT a.retracted
"""

_LABELS = """
CREATE OR REPLACE TEMP VIEW labels AS
WITH own AS (
    SELECT i.item, coalesce(h.target, 'item') AS target, coalesce(h.criterion, 'correct') AS criterion,
           CAST(i.official AS VARCHAR) AS official, CAST(i.rule AS VARCHAR) AS rule, CAST(i.judge AS VARCHAR) AS judge,
           h.human, h.decided_by AS settled_by, h.fault, h.tags, h.notes, h.annotators, h.stale
    FROM items i LEFT JOIN human_labels h ON h.item = i.item AND h.target = 'item' AND h.criterion = 'correct'
    UNION ALL
    SELECT item, target, criterion, official, rule, judge, human, decided_by, fault, tags, notes, annotators, stale
    FROM human_labels WHERE NOT (target = 'item' AND criterion = 'correct')
)
SELECT i.run, i.item, i.model, i.benchmark, i.generation, i.language, i.category, i.id, o.target, o.criterion,
       o.official, o.rule, o.judge, o.human,
       CASE WHEN settled_by IN ('adjudication', 'unanimous') THEN o.human
            WHEN settled_by = 'disputed' THEN NULL
            ELSE coalesce(o.official, o.rule, o.judge) END AS effective,
       CASE WHEN settled_by IS NOT NULL THEN settled_by
            WHEN o.official IS NOT NULL THEN 'official'
            WHEN o.rule IS NOT NULL THEN 'rule'
            WHEN o.judge IS NOT NULL THEN 'judge' END AS decided_by,
       o.fault, coalesce(o.tags, []) AS tags, coalesce(o.notes, []) AS notes,
       coalesce(o.annotators, []) AS annotators, len(coalesce(o.annotators, [])) AS n_annotators,
       coalesce(o.stale, false) AS stale,
       i.error_type, i.rule_error_type, i.prediction_hash, i.golden_hash
FROM own o JOIN items i ON i.item = o.item
"""

VIEWS = (_HUMAN, _ACTS, _REVIEWS, _LABELS)

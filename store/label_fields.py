"""Define the fields of an exported label, and the SQL that reads labels from the database.

A label is one row for one target and criterion of an item. Every item has a label for the verdict on the item. Any
other target has a label if it has an automatic verdict or a review. All export formats take their fields from
`LABEL_FIELDS`.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, fields
from typing import Any

from fcreview.model.address import ITEM
from fcreview.model.item import Side
from fcreview.model.review import CORRECT, OPTIONAL_FIELDS, FieldKind, Opinion
from fcreview.model.verdict import SCORING_ORDER, Policy
from fcreview.store.reviews.review_sql import DECISION_COLUMNS, decided_by_sql, effective_sql
from fcreview.store.rows import ALL_CALLS, ALL_MESSAGES

DuckDBType = str | list[Any] | dict[str, Any]
"""A column type in the notation of DuckDB's `from_json`: `"VARCHAR"`, `["VARCHAR"]` or
`[{"source": "VARCHAR", "value": "JSON"}]`. Export formats without a JSON type write `JSON` values as text."""
TEXT, NUMBER, FLAG, JSON = "VARCHAR", "BIGINT", "BOOLEAN", "JSON"
_TYPE_OF_KIND: dict[FieldKind, DuckDBType] = {
    "text": TEXT,
    "texts": [TEXT],
    "object": JSON,
    "value": JSON,
    "flag": FLAG,
    "count": NUMBER,
}
VERDICT_KEY = "value"  # key of the verdict in the objects of the fields `automatic` and `opinions`


@dataclass(frozen=True, slots=True)
class LabelField:
    """Type of one field of an export, and the SQL expression that reads it."""

    duckdb_type: DuckDBType
    sql: str | None = None
    """SQL expression. In `LABEL_FIELDS`, `o` is the label and `r` its run. `CONTENT_FIELDS` read `FROM_WHOLE_ITEMS`.
    The expression for `functions` returns hashes of function docs. None for `opinions`, which Python code adds."""


def _opinion_field_type(field: Field[Any]) -> DuckDBType:
    if field.name in OPTIONAL_FIELDS:
        return _TYPE_OF_KIND[OPTIONAL_FIELDS[field.name]]
    return FLAG if str(field.type).startswith("bool") else TEXT


OPINION_FIELDS: dict[str, DuckDBType] = {
    VERDICT_KEY if field.name == "verdict" else field.name: _opinion_field_type(field)
    for field in fields(Opinion)
    if field.name not in ("target", "criterion")
}
"""Keys and types of an object in the label field `opinions`, a `fcreview.model.review.Opinion`."""
AUTOMATIC_FIELDS: dict[str, DuckDBType] = {
    "source": TEXT, VERDICT_KEY: JSON, "by": TEXT, "error_type": TEXT, "rationale": TEXT,
}  # fmt: skip
"""Keys and types of an object in the label field `automatic`, a `fcreview.model.item.Verdict`."""
CALL_FIELDS: dict[str, DuckDBType] = {
    "name": TEXT, "arguments": JSON, "turn": NUMBER, "step": NUMBER, "index": NUMBER, "raw": TEXT, "decode_error": TEXT,
}  # fmt: skip
"""Arguments of golden calls are written as `{"city": {"any_of": ["Oslo"], "optional": false}}`."""
MESSAGE_FIELDS: dict[str, DuckDBType] = {"turn": NUMBER, "step": NUMBER, "role": TEXT, "content": TEXT, "name": TEXT}


def _calls_sql(side: Side) -> str:
    packed = ", ".join(f'"{name}" := c."{name}"' for name in CALL_FIELDS)
    return f"[struct_pack({packed}) FOR c IN coalesce({ALL_CALLS}, []) IF c.side = '{side}']"


LABEL_FIELDS: dict[str, LabelField] = {
    "run": LabelField(NUMBER, "o.run"),
    "model": LabelField(TEXT, "r.model"),
    "benchmark": LabelField(TEXT, "r.benchmark"),
    "generation": LabelField(TEXT, "r.generation"),
    "language": LabelField(TEXT, "r.language"),
    "category": LabelField(TEXT, "o.category"),
    "id": LabelField(TEXT, "o.id"),
    "target": LabelField(TEXT, "o.target"),
    "criterion": LabelField(TEXT, "o.criterion"),
    **{source: LabelField(JSON, f"o.{source}") for source in SCORING_ORDER},
    "human": LabelField(JSON, "o.human"),
    "effective": LabelField(JSON, effective_sql("o.human", "o.decided_by", "o")),
    "decided_by": LabelField(TEXT, decided_by_sql("o.decided_by", "o")),
    "policy": LabelField(TEXT, "o.policy"),
    "fault": LabelField(TEXT, "o.fault"),
    "golden_fix": LabelField(JSON, "o.golden_fix"),
    "tags": LabelField([TEXT], "coalesce(o.tags, [])"),
    "notes": LabelField([TEXT], "coalesce(o.notes, [])"),
    "annotators": LabelField([TEXT], "coalesce(o.annotators, [])"),
    "n_annotators": LabelField(NUMBER, "len(coalesce(o.annotators, []))"),
    "stale": LabelField(FLAG, "coalesce(o.stale, false)"),
    "error_type": LabelField(TEXT, "o.error_type"),
    "rule_error_type": LabelField(TEXT, "o.rule_error_type"),
    "prediction_hash": LabelField(TEXT, "o.prediction_hash"),
    "golden_hash": LabelField(TEXT, "o.golden_hash"),
    "automatic": LabelField([AUTOMATIC_FIELDS], "o.automatic"),
    "opinions": LabelField([OPINION_FIELDS]),
}
"""Fields of a label in the order in which they are exported."""

CONTENT_FIELDS: dict[str, LabelField] = {
    "question": LabelField(TEXT, "i.question"),
    "messages": LabelField([MESSAGE_FIELDS], f"coalesce({ALL_MESSAGES}, [])"),
    "functions": LabelField([JSON], "coalesce(i.functions, [])"),
    "golden_calls": LabelField([CALL_FIELDS], _calls_sql("golden")),
    "predicted_calls": LabelField([CALL_FIELDS], _calls_sql("predicted")),
}
"""Additional fields of an export with `--with content`, the same for all labels of an item."""


def label_field_types(*, with_content: bool) -> dict[str, DuckDBType]:
    """Return the type of every exported field, in export order."""
    exported = LABEL_FIELDS | (CONTENT_FIELDS if with_content else {})
    return {name: field.duckdb_type for name, field in exported.items()}


IS_ITEM_VERDICT = f"target = '{ITEM}' AND criterion = '{CORRECT}'"  # SQL condition: the label is the item's own verdict


def _automatic_struct_sql(**values: str) -> str:
    """Return SQL for a struct with the keys of `AUTOMATIC_FIELDS`; keys without a value are null."""
    packed = ", ".join(f'"{name}" := {values.get(name, "NULL::VARCHAR")}' for name in AUTOMATIC_FIELDS)
    return f"struct_pack({packed})"


_LISTED_VERDICT = _automatic_struct_sql(**{name: f'v."{name}"' for name in AUTOMATIC_FIELDS})
_COLUMN_VERDICTS = ", ".join(
    _automatic_struct_sql(source=f"'{source}'", **{VERDICT_KEY: f"to_json({source})"}) for source in SCORING_ORDER
)
# An importer may set the verdict on an item only in the column of its source, not in the list `verdicts`.
_UNLISTED_VERDICTS = (
    f"CASE WHEN {IS_ITEM_VERDICT} THEN [a FOR a IN [{_COLUMN_VERDICTS}] IF a.value IS NOT NULL"
    " AND NOT list_contains([s.source FOR s IN listed], a.source)] ELSE [] END"
)
_VERDICT_BY_SOURCE = ", ".join(
    f"""CAST(CASE WHEN {IS_ITEM_VERDICT} THEN to_json({source})
        ELSE list_last([s.value FOR s IN listed IF s.source = '{source}']) END AS VARCHAR) AS {source}"""
    for source in SCORING_ORDER
)
_ON_ITEM = f"(v.target = '{ITEM}' AND v.criterion = '{CORRECT}')"
_DECISION_COLUMNS = ", ".join(f"d.{name}" for name in DECISION_COLUMNS if name not in ("item", "target", "criterion"))


def labels_sql(policy: Policy, where: str = "true") -> str:
    """Return a SELECT of `item` and the `LABEL_FIELDS` that have SQL. Verdicts are JSON text. `where` is a condition on
    `item`, applied before lists are unnested, which is the slowest part."""
    columns = ", ".join(f"{field.sql} AS {name}" for name, field in LABEL_FIELDS.items() if field.sql)
    # `other_verdicts` unnests only verdicts on parts and in other criteria, because most runs have none.
    return f"""
WITH selected AS (SELECT * FROM item_rows WHERE {where}),
decisions AS (SELECT * FROM human_labels WHERE {where}),
other_verdicts AS (
    SELECT item, v.target AS target, v.criterion AS criterion, list({_LISTED_VERDICT} ORDER BY nth) AS listed
    FROM (SELECT item, unnest(parts) AS v, generate_subscripts(parts, 1) AS nth
          FROM (SELECT item, [v FOR v IN verdicts IF NOT {_ON_ITEM}] AS parts FROM selected))
    GROUP BY ALL
),
targets AS (
    SELECT item, '{ITEM}' AS target, '{CORRECT}' AS criterion,
           [{_LISTED_VERDICT} FOR v IN verdicts IF {_ON_ITEM}] AS listed
    FROM selected
    UNION ALL
    SELECT item, target, criterion, listed FROM other_verdicts FULL JOIN
        (SELECT item, target, criterion FROM decisions WHERE NOT ({IS_ITEM_VERDICT})) USING (item, target, criterion)
),
joined AS (
    SELECT s.*, t.target, t.criterion, {_DECISION_COLUMNS}, coalesce(t.listed, []) AS listed
    FROM targets t JOIN selected s USING (item) LEFT JOIN decisions d USING (item, target, criterion)
),
o AS (
    SELECT * EXCLUDE ({", ".join(SCORING_ORDER)}), '{policy}' AS policy, {_VERDICT_BY_SOURCE},
           listed || {_UNLISTED_VERDICTS} AS automatic
    FROM joined
)
SELECT o.item, {columns} FROM o JOIN runs r USING (run)
"""


def labels_view_sql(policy: Policy) -> str:
    return f"CREATE OR REPLACE TEMP VIEW labels AS {labels_sql(policy)}"

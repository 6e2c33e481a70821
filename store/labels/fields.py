"""What an exported label has: the one list of its fields. A field is added here, and every format has it.

A label is a row for one target of one item on one criterion: every item's own verdict, whatever an automatic source
gave a verdict on, whatever a person spoke of.

SQL of labels: of all, as the view `labels`, or of some items.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, fields
from typing import Any

from fcreview.model.address import ITEM
from fcreview.model.item import Side
from fcreview.model.review import CORRECT, OPTIONAL, Kind, Opinion
from fcreview.model.verdict import SCORING, Policy
from fcreview.store.reviews.review_sql import DECISION_COLUMNS
from fcreview.store.reviews.verdict_sql import decided_by_sql, effective_sql

DuckDBType = str | list[Any] | dict[str, Any]
"""A type as DuckDB's `from_json` takes it: `"VARCHAR"`, `["VARCHAR"]`, `[{"source": "VARCHAR", "value": "JSON"}]`.
JSON is any JSON value; where a format has no such thing, its text."""
TEXT, NUMBER, FLAG, JSON = "VARCHAR", "BIGINT", "BOOLEAN", "JSON"
_KINDS: dict[Kind, DuckDBType] = {
    "text": TEXT,
    "texts": [TEXT],
    "object": JSON,
    "value": JSON,
    "flag": FLAG,
    "count": NUMBER,
}
VERDICT_KEY = "value"
"""What a verdict says is called so in `automatic` and in `opinions`."""


@dataclass(frozen=True, slots=True)
class LabelField:
    duckdb_type: DuckDBType
    sql: str | None = None
    """Where it is read: of a label `o` is the item and what was said of it, `r` its run, of content `i` is the item.
    Function documents are read as hashes. None: made of the item's opinions when labels are exported."""


def _of_opinion(field: Field[Any]) -> DuckDBType:
    if field.name in OPTIONAL:
        return _KINDS[OPTIONAL[field.name]]
    return FLAG if str(field.type).startswith("bool") else TEXT


OPINION_FIELDS: dict[str, DuckDBType] = {
    VERDICT_KEY if each.name == "verdict" else each.name: _of_opinion(each)
    for each in fields(Opinion)
    if each.name not in ("target", "criterion")
}
"""Of `fcreview.model.review.Opinion`: what one annotator thinks of the label's target, as `value`, `fault`, `tags`
..."""
AUTOMATIC_FIELDS: dict[str, DuckDBType] = {"source": TEXT, VERDICT_KEY: JSON, "by": TEXT, "error_type": TEXT, "rationale": TEXT}
"""Of `fcreview.model.item.Verdict`."""
CALL_FIELDS: dict[str, DuckDBType] = {
    "name": TEXT, "arguments": JSON, "turn": NUMBER, "step": NUMBER, "index": NUMBER, "raw": TEXT, "decode_error": TEXT,
}  # fmt: skip
"""Of `fcreview.model.item.Call`. Golden arguments are `{"city": {"any_of": ["Oslo"], "optional": false}}`."""
MESSAGE_FIELDS: dict[str, DuckDBType] = {"turn": NUMBER, "step": NUMBER, "role": TEXT, "content": TEXT, "name": TEXT}


def _calls(side: Side) -> str:
    packed = ", ".join(f'"{name}" := c."{name}"' for name in CALL_FIELDS)
    return f"[struct_pack({packed}) FOR c IN coalesce(i.calls, []) IF c.side = '{side}']"


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
    **{source: LabelField(JSON, f"o.{source}") for source in SCORING},
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
    "messages": LabelField([MESSAGE_FIELDS], "coalesce(i.messages, [])"),
    "functions": LabelField([JSON], "coalesce(i.functions, [])"),
    "golden_calls": LabelField([CALL_FIELDS], _calls("golden")),
    "predicted_calls": LabelField([CALL_FIELDS], _calls("predicted")),
}
"""What the target is a part of, where that is asked for; as stored. The same for all labels of an item."""


def label_field_types(*, with_content: bool) -> dict[str, DuckDBType]:
    """The fields of an export and their types."""
    return {name: each.duckdb_type for name, each in (LABEL_FIELDS | (CONTENT_FIELDS if with_content else {})).items()}


IS_ITEM_VERDICT = f"target = '{ITEM}' AND criterion = '{CORRECT}'"


def _packed(**values: str) -> str:
    """A structure with the fields `AUTOMATIC`."""
    return f"""struct_pack({", ".join(f'"{name}" := {values.get(name, "NULL::VARCHAR")}' for name in AUTOMATIC_FIELDS)})"""


_SAID = _packed(**{name: f'v."{name}"' for name in AUTOMATIC_FIELDS})
_COLUMNS = ", ".join(_packed(source=f"'{source}'", **{VERDICT_KEY: f"to_json({source})"}) for source in SCORING)
# An importer may give the item's own verdict as a column only.
_ALONE = (
    f"CASE WHEN {IS_ITEM_VERDICT} THEN [a FOR a IN [{_COLUMNS}] IF a.value IS NOT NULL"
    " AND NOT list_contains([s.source FOR s IN said], a.source)] ELSE [] END"
)
_LAST = ", ".join(
    f"""CAST(CASE WHEN {IS_ITEM_VERDICT} THEN to_json({source})
        ELSE list_last([s.value FOR s IN said IF s.source = '{source}']) END AS VARCHAR) AS {source}"""
    for source in SCORING
)
_OF_ITEM = f"(v.target = '{ITEM}' AND v.criterion = '{CORRECT}')"
# Taken apart, once for all parts, is only what is not the item's own verdict: most runs have nothing else.
_PARTS = f"[v FOR v IN verdicts IF NOT {_OF_ITEM}]"
_PEOPLE = ", ".join(f"p.{name}" for name in DECISION_COLUMNS if name not in ("item", "target", "criterion"))


def labels_sql(policy: Policy, where: str = "true") -> str:
    """A SELECT of `item` and the fields of `LABEL_FIELDS` that are read in SQL. `where` chooses items by `item`; it is
    put where lists are taken apart, which costs most. Verdicts are JSON text."""
    columns = ", ".join(f"{each.sql} AS {name}" for name, each in LABEL_FIELDS.items() if each.sql)
    return f"""
WITH chosen AS (SELECT * FROM item_rows WHERE {where}),
people AS (SELECT * FROM human_labels WHERE {where}),
apart AS (
    SELECT item, v.target AS target, v.criterion AS criterion, list({_SAID} ORDER BY nth) AS said
    FROM (SELECT item, unnest(parts) AS v, generate_subscripts(parts, 1) AS nth
          FROM (SELECT item, {_PARTS} AS parts FROM chosen))
    GROUP BY ALL
),
judged AS (
    SELECT item, '{ITEM}' AS target, '{CORRECT}' AS criterion, [{_SAID} FOR v IN verdicts IF {_OF_ITEM}] AS said
    FROM chosen
    UNION ALL
    SELECT item, target, criterion, said FROM apart
    FULL JOIN (SELECT item, target, criterion FROM people WHERE NOT ({IS_ITEM_VERDICT})) USING (item, target, criterion)
),
about AS (
    SELECT c.*, j.target, j.criterion, {_PEOPLE}, coalesce(j.said, []) AS said
    FROM judged j JOIN chosen c USING (item) LEFT JOIN people p USING (item, target, criterion)
),
o AS (SELECT * EXCLUDE ({", ".join(SCORING)}), '{policy}' AS policy, {_LAST}, said || {_ALONE} AS automatic FROM about)
SELECT o.item, {columns} FROM o JOIN runs r USING (run)
"""


def labels_view_sql(policy: Policy) -> str:
    return f"CREATE OR REPLACE TEMP VIEW labels AS {labels_sql(policy)}"

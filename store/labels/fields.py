"""What an exported label has: the one list of its fields. A field is added here, and every format has it.

A label is a row for one target of one item on one criterion: every item's own verdict, whatever an automatic source
gave a verdict on, whatever a person spoke of.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, fields
from typing import Any

from fcreview.model import Side
from fcreview.review import OPTIONAL, Kind, Opinion
from fcreview.rollup import SCORING
from fcreview.store.reviews.effective import deciding, effective

Shape = str | list[Any] | dict[str, Any]
"""A type as DuckDB's `from_json` takes it: `"VARCHAR"`, `["VARCHAR"]`, `[{"source": "VARCHAR", "value": "JSON"}]`.
JSON is any JSON value; where a format has no such thing, its text."""
TEXT, NUMBER, FLAG, JSON = "VARCHAR", "BIGINT", "BOOLEAN", "JSON"
_KINDS: dict[Kind, Shape] = {
    "text": TEXT,
    "texts": [TEXT],
    "object": JSON,
    "value": JSON,
    "flag": FLAG,
    "count": NUMBER,
}
VALUE = "value"
"""What a verdict says is called so in `automatic` and in `opinions`."""


@dataclass(frozen=True, slots=True)
class LabelField:
    shape: Shape
    sql: str | None = None
    """Where it is read: of a label `o` is the item and what was said of it, `r` its run, of content `i` is the item.
    Function documents are read as hashes. None: made of the item's opinions when labels are exported."""


def _of_opinion(field: Field[Any]) -> Shape:
    if field.name in OPTIONAL:
        return _KINDS[OPTIONAL[field.name]]
    return FLAG if str(field.type).startswith("bool") else TEXT


OPINION: dict[str, Shape] = {
    VALUE if each.name == "verdict" else each.name: _of_opinion(each)
    for each in fields(Opinion)
    if each.name not in ("target", "criterion")
}
"""Of `fcreview.review.Opinion`: what one annotator thinks of the label's target, as `value`, `fault`, `tags` ..."""
AUTOMATIC: dict[str, Shape] = {"source": TEXT, VALUE: JSON, "by": TEXT, "error_type": TEXT, "rationale": TEXT}
"""Of `fcreview.model.Verdict`."""
CALL: dict[str, Shape] = {
    "name": TEXT, "arguments": JSON, "turn": NUMBER, "step": NUMBER, "index": NUMBER, "raw": TEXT, "decode_error": TEXT,
}  # fmt: skip
"""Of `fcreview.model.Call`. Golden arguments are `{"city": {"any_of": ["Oslo"], "optional": false}}`."""
MESSAGE: dict[str, Shape] = {"turn": NUMBER, "step": NUMBER, "role": TEXT, "content": TEXT, "name": TEXT}


def _calls(side: Side) -> str:
    packed = ", ".join(f'"{name}" := c."{name}"' for name in CALL)
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
    "effective": LabelField(JSON, effective("o.human", "o.decided_by", "o")),
    "decided_by": LabelField(TEXT, deciding("o.decided_by", "o")),
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
    "automatic": LabelField([AUTOMATIC], "o.automatic"),
    "opinions": LabelField([OPINION]),
}
"""Fields of a label in the order in which they are exported."""

CONTENT_FIELDS: dict[str, LabelField] = {
    "question": LabelField(TEXT, "i.question"),
    "messages": LabelField([MESSAGE], "coalesce(i.messages, [])"),
    "functions": LabelField([JSON], "coalesce(i.functions, [])"),
    "golden_calls": LabelField([CALL], _calls("golden")),
    "predicted_calls": LabelField([CALL], _calls("predicted")),
}
"""What the target is a part of, where that is asked for; as stored. The same for all labels of an item."""


def shapes(*, content: bool) -> dict[str, Shape]:
    """The fields of an export and their types."""
    return {name: each.shape for name, each in (LABEL_FIELDS | (CONTENT_FIELDS if content else {})).items()}

"""Export labels as CSV (RFC 4180, UTF-8, CRLF) that is safe to open in a spreadsheet.

The fields are the same as in the JSON Lines export. Booleans are `true` and `false`, null is empty, and lists are
joined with `; `. Verdicts and opinions are text, such as `judge gpt-4o fail: why` and `alice pass, golden, tags a b:
note`. Calls, messages and golden fixes are JSON. Text that a spreadsheet would read as a formula gets a leading
apostrophe; numbers stay numbers.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import orjson

from fcreview.exporters.base import ExportSource, Label, Sink
from fcreview.model.wording import format_answer
from fcreview.store.label_fields import FLAG, JSON, NUMBER, TEXT, DuckDBType

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that start a formula (OWASP, CSV injection). The last four are full-width forms of the first four."""


def write(source: ExportSource, out: Sink) -> None:
    shapes = source.label_field_types
    out.write(_encode_rows([list(shapes)]))
    for chunk in source.labels():
        out.write(
            _encode_rows(zip(*(_format_column(name, shape, chunk) for name, shape in shapes.items()), strict=True))
        )


def _format_column(name: str, shape: DuckDBType, labels: list[Label]) -> list[str]:
    """Format one field of all labels. Most columns are empty or plain text and need no call per cell."""
    values = [label[name] for label in labels]
    if shape not in (JSON, FLAG, NUMBER) and not any(values):
        return [""] * len(values)
    if name in _FIELD_FORMATTERS:
        return [format_cell(_FIELD_FORMATTERS[name](label)) if label[name] else "" for label in labels]
    if shape == TEXT:
        return ["" if not text else format_cell(text) if text[0] in FORMULA_STARTS else text for text in values]
    return ["" if value is None or value == [] else format_cell(value) for value in values]


def format_cell(value: Any) -> str:
    """Return the text of a cell. Text that a spreadsheet would read as a formula gets a leading apostrophe."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    return format_cell("; ".join(map(_format_value, value)) if isinstance(value, list) else _format_value(value))


def _format_value(value: Any) -> str:
    return orjson.dumps(value).decode() if isinstance(value, (dict, list)) else str(value)


def _format_automatic_verdicts(label: Label) -> list[str]:
    return [
        _format_verdict(label["criterion"], each["source"], each["by"], orjson.dumps(each["value"]), each["error_type"])
        + _format_reason(each["rationale"])
        for each in label["automatic"]
    ]


@lru_cache(4096)
def _format_verdict(criterion: str, source: str, by: str | None, value: bytes, error_type: str | None) -> str:
    return " ".join(word for word in (source, by, format_answer(criterion, orjson.loads(value)), error_type) if word)


def _format_opinions(label: Label) -> list[str]:
    texts = []
    for each in label["opinions"]:
        who = f"{each['annotator']} (adjudicator)" if each["act"] == "adjudicate" else each["annotator"]
        verdict = "" if each["value"] is None else " " + format_answer(label["criterion"], each["value"])
        tags, bulk = (f"tags {' '.join(each['tags'])}" if each["tags"] else None, "bulk" if each["bulk"] else None)
        parts = [f"{who}{verdict}", each["fault"], tags, bulk]
        texts.append(", ".join(part for part in parts if part) + _format_reason(each["note"]))
    return texts


def _format_reason(reason: str | None) -> str:
    return f": {reason}" if reason else ""


_FIELD_FORMATTERS: dict[str, Callable[[Label], list[str]]] = {
    "automatic": _format_automatic_verdicts,
    "opinions": _format_opinions,
}


def _encode_rows(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")

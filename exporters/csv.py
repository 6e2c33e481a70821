"""CSV (RFC 4180, UTF-8, CRLF): the fields of the JSON Lines export, fit to be opened in a spreadsheet.

Truth values are `true` and `false`, null is empty, lists are joined by `; `. What has parts is told in words: a verdict
as `judge gpt-4o fail: why`, an opinion as `alice pass, golden, tags a b: note`; calls, messages and golden fixes are
JSON. A text that a spreadsheet would take for a formula gets an apostrophe in front; numbers are written as they are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import orjson

from fcreview.exporters.base import Label, Sink, Source
from fcreview.model.wording import format_answer
from fcreview.store.labels.fields import FLAG, JSON, NUMBER, TEXT, DuckDBType

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What OWASP lists under CSV injection; the last four are the first four at full width."""


def write(source: Source, out: Sink) -> None:
    shapes = source.shapes
    out.write(_lines([list(shapes)]))
    for chunk in source.labels():
        out.write(_lines(zip(*(_column(name, shape, chunk) for name, shape in shapes.items()), strict=True)))


def _column(name: str, shape: DuckDBType, labels: list[Label]) -> list[str]:
    """The cells of one field: a column at a time, since nearly all of one are alike, empty or plain."""
    values = [label[name] for label in labels]
    if shape not in (JSON, FLAG, NUMBER) and not any(values):
        return [""] * len(values)
    if name in _TOLD:
        return [cell(_TOLD[name](label)) if label[name] else "" for label in labels]
    if shape == TEXT:
        return ["" if not text else cell(text) if text[0] in FORMULA_STARTS else text for text in values]
    return ["" if value is None or value == [] else cell(value) for value in values]


def cell(value: Any) -> str:
    """One cell's text, neutralised."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    return cell("; ".join(map(_text, value)) if isinstance(value, list) else _text(value))


def _text(value: Any) -> str:
    return orjson.dumps(value).decode() if isinstance(value, (dict, list)) else str(value)


def _automatic(label: Label) -> list[str]:
    return [
        _verdict(label["criterion"], said["source"], said["by"], orjson.dumps(said["value"]), said["error_type"])
        + _reason(said["rationale"])
        for said in label["automatic"]
    ]


@lru_cache(4096)
def _verdict(criterion: str, source: str, by: str | None, value: bytes, error_type: str | None) -> str:
    """Many verdicts are the same but for the reason."""
    return " ".join(word for word in (source, by, format_answer(criterion, orjson.loads(value)), error_type) if word)


def _opinions(label: Label) -> list[str]:
    told = []
    for said in label["opinions"]:
        who = f"{said['annotator']} (adjudicator)" if said["act"] == "adjudicate" else said["annotator"]
        verdict = "" if said["value"] is None else " " + format_answer(label["criterion"], said["value"])
        parts = [f"{who}{verdict}", said["fault"], f"tags {' '.join(said['tags'])}" if said["tags"] else None]
        told.append(", ".join(part for part in parts if part) + _reason(said["note"]))
    return told


def _reason(reason: str | None) -> str:
    return f": {reason}" if reason else ""


_TOLD: dict[str, Callable[[Label], list[str]]] = {"automatic": _automatic, "opinions": _opinions}
"""Fields that are told in words."""


def _lines(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")

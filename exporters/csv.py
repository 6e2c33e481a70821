"""CSV (RFC 4180, UTF-8, CRLF): the fields of the JSON Lines export, fit to be opened in a spreadsheet.

Truth values are `true` and `false`, null is empty, lists are joined by `; `. What has parts is told in words: a verdict
as `judge gpt-4o fail: why`, an opinion as `alice pass, golden, tags a b: note`; calls, messages and golden fixes are
JSON. A text that a spreadsheet would take for a formula gets an apostrophe in front; numbers are written as they are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from fcreview.exporters.base import Label, Sink, Source
from fcreview.text.answers import answer

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What OWASP lists under CSV injection."""


def write(source: Source, out: Sink) -> None:
    columns = list(source.shapes)
    out.write(_lines([columns]))
    for chunk in source.labels():
        out.write(_lines(_cells(label, columns) for label in chunk))


def _cells(label: Label, columns: list[str]) -> list[str]:
    row = label | {name: tell(label) for name, tell in _TOLD.items()}
    return [cell(row[column]) for column in columns]


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
    told = []
    for said in label["automatic"]:
        words = [said["source"], said["by"], answer(label["criterion"], said["value"]), said["error_type"]]
        told.append(_reasoned(" ".join(word for word in words if word), said["rationale"]))
    return told


def _opinions(label: Label) -> list[str]:
    told = []
    for said in label["opinions"]:
        who = f"{said['annotator']} (adjudicator)" if said["act"] == "adjudicate" else said["annotator"]
        verdict = "" if said["value"] is None else " " + answer(label["criterion"], said["value"])
        parts = [f"{who}{verdict}", said["fault"], f"tags {' '.join(said['tags'])}" if said["tags"] else None]
        told.append(_reasoned(", ".join(part for part in parts if part), said["note"]))
    return told


def _reasoned(head: str, reason: str | None) -> str:
    return f"{head}: {reason}" if reason else head


_TOLD: dict[str, Callable[[Label], list[str]]] = {"automatic": _automatic, "opinions": _opinions}
"""Fields that are told in words."""


def _lines(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")

"""CSV (RFC 4180, UTF-8, CRLF): the columns of the JSON Lines export, fit to be opened in a spreadsheet.

Truth values are `true` and `false`, null is empty, lists are joined by `; `. A text that a spreadsheet would take for a
formula gets an apostrophe in front; numbers are written as they are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

from fcreview.exporters.base import Sink, Source
from fcreview.store.queries.labels import COLUMNS

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What OWASP lists under CSV injection."""


def write(source: Source, out: Sink) -> None:
    out.write(_lines([COLUMNS]))
    for chunk in source.labels():
        out.write(_lines([cell(label[column]) for column in COLUMNS] for label in chunk))


def cell(value: Any) -> str:
    """One cell's text, neutralised."""
    if value is None:
        return ""
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _lines(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")

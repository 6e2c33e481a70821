"""Find the files that a mapping names, and read their records."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.discovery import measure_file
from fcreview.importers.common.json_file import JsonDocument, read_json_document
from fcreview.importers.common.json_text import JsonRecord
from fcreview.importers.common.jsonl import read_records
from fcreview.importers.mapping.expressions import (
    Expression,
    FailedExpression,
    evaluate,
)
from fcreview.importers.mapping.mapping_file import FileFormat, FilePattern
from fcreview.importers.mapping.tables import TABLE_FORMATS, Row, make_file_issue, read_table
from fcreview.model.item import ImportIssue

FORMAT_BY_SUFFIX: Mapping[str, FileFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""Format of a file by its suffix. Every other file is read as JSON."""
MAX_FILES = 100_000
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class MappedRecord:
    """Record of a file, with all places in which a value of an item can be."""

    file: Path
    line: int
    """Line, from 1; the number of the row in a Parquet file."""
    offset: int
    length: int
    value: Any
    document: Any = None
    """The whole document, if the file is one."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Groups of the pattern `name`, and the stem, the name and the path of the file."""
    entry: str | None = None
    index: int = 0


def list_files(base: Path, pattern: FilePattern) -> list[Path]:
    """Return the files of a source or join, sorted. `base` is the folder of the mapping file."""
    found: set[Path] = set()
    for glob in pattern.globs:
        for path in base.glob(glob):
            if len(found) >= MAX_FILES:
                break
            if path.is_file():
                found.add(Path(os.path.abspath(path)))  # noqa: PTH100 - keep symbolic links
    return sorted(found)


def find_groups(path: Path, base: Path, pattern: FilePattern) -> dict[str, str]:
    """Return what the path of a file says: the groups of `name`, and `stem`, `name` and `path`."""
    relative = os.path.relpath(path, base)
    groups = {"stem": path.stem, "name": path.name, "path": relative}
    match = pattern.name.search(path.as_posix()) if pattern.name is not None else None
    if match is not None:
        groups |= {name: text for name, text in match.groupdict().items() if text is not None}
    return groups


def find_format(path: Path, pattern: FilePattern) -> FileFormat:
    return pattern.format or FORMAT_BY_SUFFIX.get(path.suffix.lower(), "json")


def read_mapped_records(
    path: Path, base: Path, pattern: FilePattern
) -> Iterator[MappedRecord | ImportIssue]:
    """Yield the records of a file, and an issue for everything that cannot be read.

    JSON Lines, CSV and Parquet are read in pieces. A JSON document is read as a whole.
    """
    groups = find_groups(path, base, pattern)
    for reading in _read_file(path, pattern):
        if isinstance(reading, ImportIssue):
            yield reading
            continue
        yield MappedRecord(
            path,
            line=reading.line,
            offset=reading.offset,
            length=reading.length,
            value=reading.value,
            document=reading.document,
            groups=groups,
            entry=reading.entry,
            index=reading.index,
        )


def _read_file(path: Path, pattern: FilePattern) -> Iterator[Row | ImportIssue]:
    """Yield the rows of a file by its format. Options of tables for another format are an issue."""
    format_name = find_format(path, pattern)
    has_table_options = bool(pattern.delimiter or pattern.encoding)
    if has_table_options and format_name not in TABLE_FORMATS:
        what = f"delimiter and encoding are not used, because the file is read as {format_name}"
        yield ImportIssue(str(path), what=what)

    match format_name:
        case "json":
            yield from _read_json(path, pattern)
        case "jsonl":
            yield from _read_json_lines(path)
        case "csv" | "tsv":
            yield from read_table(path, format_name, pattern)
        case "parquet":
            yield from _read_parquet(path)


def _make_row(record: JsonRecord, index: int, document: Any = None) -> Row:
    """Make a row from a record of a JSON file. `document` is the object around it."""
    return Row(
        record.line,
        offset=record.offset,
        length=record.length,
        value=record.value,
        document=document,
        index=index,
    )


# -- JSON


def _read_json_lines(path: Path) -> Iterator[Row | ImportIssue]:
    """Yield the lines of a JSON Lines file, numbered from 0."""
    index = 0
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            yield record
            continue
        yield _make_row(record, index)
        index += 1


def _read_json(path: Path, pattern: FilePattern) -> Iterator[Row | ImportIssue]:
    """Yield the records of one document: its list, the list at a path, or the whole document."""
    list_name = _find_list_name(pattern)
    document = read_json_document(path, list_name)
    yield from document.issues
    if document.is_object:
        yield from _read_object(path, document, list_name, pattern)
        return
    values = [record.value for record in document.records]
    if pattern.items is None and not pattern.entries:
        for index, record in enumerate(document.records):
            yield _make_row(record, index, values)
        return
    yield from _read_items_at_path(path, values, pattern)


def _find_list_name(pattern: FilePattern) -> str:
    """Return the name of the document's field that contains the list of items. Return an empty text
    if the list is not a field of the document itself.
    """
    if pattern.items is None or pattern.entries:
        return ""
    is_field = _PLAIN_NAME.fullmatch(pattern.items.text) is not None
    return pattern.items.text if is_field else ""


def _read_object(
    path: Path, document: JsonDocument, list_name: str, pattern: FilePattern
) -> Iterator[Row | ImportIssue]:
    """Yield the rows of a document that is one object: its list, its items at a path, or the object
    itself.
    """
    fields: dict[str, Any] = dict(document.fields)
    if list_name and document.records:
        fields[list_name] = [record.value for record in document.records]
        for index, record in enumerate(document.records):
            yield _make_row(record, index, fields)
        return
    if pattern.items is None and not pattern.entries:
        yield Row(1, offset=0, length=measure_file(path), value=fields, document=fields)
        return
    # An empty list has no items at all.
    is_list_empty = bool(list_name) and fields.get(list_name) == []
    if not is_list_empty:
        yield from _read_items_at_path(path, fields, pattern)


def _read_items_at_path(
    path: Path, document: Any, pattern: FilePattern
) -> Iterator[Row | ImportIssue]:
    """Yield the items at the path of `items`. Their place is the whole file."""
    items = document
    if pattern.items is not None:
        try:
            items = evaluate(pattern.items, document)
        except FailedExpression as error:
            yield make_file_issue(path, str(error))
            return

    if pattern.entries:
        yield from _read_entries(path, items, document, pattern.items)
        return
    if not isinstance(items, list):
        yield make_file_issue(path, f"the items{_at(pattern.items)} are not a list")
        return

    length = measure_file(path)
    for index, value in enumerate(items):
        yield Row(1, offset=0, length=length, value=value, document=document, index=index)


def _read_entries(
    path: Path, items: Any, document: Any, expression: Expression | None
) -> Iterator[Row | ImportIssue]:
    """Yield a row for each key of an object, in a file whose items are the values of an object."""
    if not isinstance(items, dict):
        yield make_file_issue(path, f"the items{_at(expression)} are not an object")
        return
    length = measure_file(path)
    for index, (entry, value) in enumerate(items.items()):
        # The position of an entry in the file is not known, so that of the whole file is given.
        yield Row(
            1,
            offset=0,
            length=length,
            value=value,
            document=document,
            entry=entry,
            index=index,
        )


def _at(expression: Expression | None) -> str:
    return "" if expression is None else f" at {expression.text}"


# -- tables


def _read_parquet(path: Path) -> Iterator[Row | ImportIssue]:
    """Yield the rows of a Parquet file, which have no position in the file."""
    from fcreview.importers.mapping.parquet import UnreadableParquet, read_rows

    index = 0
    try:
        for value in read_rows(path):
            yield Row(index + 1, offset=0, length=0, value=value, index=index)
            index += 1
    except UnreadableParquet as error:
        yield make_file_issue(path, str(error))

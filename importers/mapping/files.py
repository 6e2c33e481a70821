"""Find the files that a mapping names, and read their records."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.discovery import measure_file
from fcreview.importers.common.file_form import BOM, PROBE_BYTES, find_refusal
from fcreview.importers.common.json_file import JsonDocument, read_json_document
from fcreview.importers.common.json_text import JsonRecord, make_excerpt
from fcreview.importers.common.jsonl import MAX_LINE_BYTES, read_records
from fcreview.importers.mapping.expressions import (
    Expression,
    FailedExpression,
    evaluate,
)
from fcreview.importers.mapping.mapping_file import FileFormat, FilePattern
from fcreview.model.item import ImportIssue
from fcreview.model.wording import format_count
from fcreview.safe_files import open_file

FORMAT_BY_SUFFIX: Mapping[str, FileFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""Format of a file by its suffix. Every other file is read as JSON."""
DELIMITERS: Mapping[FileFormat, str] = {"csv": ",", "tsv": "\t"}
MAX_FILES = 100_000
MORE_CELLS = "(more cells)"
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
    format_name = find_format(path, pattern)
    match format_name:
        case "json":
            readings = _read_json(path, pattern)
        case "jsonl":
            readings = _read_json_lines(path)
        case "csv" | "tsv":
            readings = _read_table(path, DELIMITERS[format_name])
        case "parquet":
            readings = _read_parquet(path)
    for reading in readings:
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


@dataclass(frozen=True, slots=True)
class _Row:
    """Record of a file, before what the path says is added."""

    line: int
    offset: int
    length: int
    value: Any
    document: Any = None
    entry: str | None = None
    index: int = 0


def _make_row(record: JsonRecord, index: int, document: Any = None) -> _Row:
    return _Row(
        record.line,
        offset=record.offset,
        length=record.length,
        value=record.value,
        document=document,
        index=index,
    )


# -- JSON


def _read_json_lines(path: Path) -> Iterator[_Row | ImportIssue]:
    index = 0
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            yield record
            continue
        yield _make_row(record, index)
        index += 1


def _read_json(path: Path, pattern: FilePattern) -> Iterator[_Row | ImportIssue]:
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
    """Return the field of the list of items, if it is a field of the document itself.

    Then each item has a place of its own in the file.
    """
    if pattern.items is None or pattern.entries:
        return ""
    is_field = _PLAIN_NAME.fullmatch(pattern.items.text) is not None
    return pattern.items.text if is_field else ""


def _read_object(
    path: Path, document: JsonDocument, list_name: str, pattern: FilePattern
) -> Iterator[_Row | ImportIssue]:
    fields: dict[str, Any] = dict(document.fields)
    if list_name and document.records:
        fields[list_name] = [record.value for record in document.records]
        for index, record in enumerate(document.records):
            yield _make_row(record, index, fields)
    elif pattern.items is None and not pattern.entries:
        yield _Row(1, offset=0, length=measure_file(path), value=fields, document=fields)
    elif not (list_name and fields.get(list_name) == []):
        yield from _read_items_at_path(path, fields, pattern)


def _read_items_at_path(
    path: Path, document: Any, pattern: FilePattern
) -> Iterator[_Row | ImportIssue]:
    """Yield the items at the path of `items`. Their place is the whole file."""
    items = document
    if pattern.items is not None:
        try:
            items = evaluate(pattern.items, document)
        except FailedExpression as error:
            yield _make_file_issue(path, str(error))
            return
    if pattern.entries:
        yield from _read_entries(path, items, document, pattern.items)
        return
    if not isinstance(items, list):
        yield _make_file_issue(path, f"the items{_at(pattern.items)} are not a list")
        return
    length = measure_file(path)
    for index, value in enumerate(items):
        yield _Row(1, offset=0, length=length, value=value, document=document, index=index)


def _read_entries(
    path: Path, items: Any, document: Any, expression: Expression | None
) -> Iterator[_Row | ImportIssue]:
    """Yield one item for each key of an object."""
    if not isinstance(items, dict):
        yield _make_file_issue(path, f"the items{_at(expression)} are not an object")
        return
    length = measure_file(path)
    for index, (entry, value) in enumerate(items.items()):
        yield _Row(
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


def _make_file_issue(path: Path, what: str, line: int | None = None) -> ImportIssue:
    return ImportIssue(str(path), line, what=what, severity="error")


# -- tables


def _read_table(path: Path, delimiter: str) -> Iterator[_Row | ImportIssue]:
    """Yield the rows of a CSV or TSV file. The first row has the names. Empty cells are missing."""
    try:
        with open_file(path) as file:
            refusal = find_refusal(os.pread(file.fileno(), PROBE_BYTES, 0))
            if refusal is not None:
                yield _make_file_issue(path, refusal)
                return
            yield from _TableReader(path, file, delimiter).read()
    except OSError as error:
        yield _make_file_issue(path, f"the file cannot be read: {error.strerror or error}")


class _TableReader:
    """Reads rows one by one, and knows where each of them is in the file."""

    def __init__(self, path: Path, file: Any, delimiter: str) -> None:
        self._path = path
        self._file = file
        self._issues: list[ImportIssue] = []
        self._line = 0
        self._offset = 0
        csv.field_size_limit(MAX_LINE_BYTES)
        self._rows = csv.reader(self._decode_lines(), delimiter=delimiter, strict=True)

    def read(self) -> Iterator[_Row | ImportIssue]:
        names: Sequence[str] | None = None
        index = 0
        while True:
            line = self._line + 1
            offset = self._offset
            try:
                cells = next(self._rows)
            except StopIteration:
                break
            except csv.Error as error:
                yield from self._take_issues()
                what = f"the row is not {self._path.suffix.lstrip('.').upper()}: {error}"
                yield _make_file_issue(self._path, what, line)
                continue
            yield from self._take_issues()
            if not cells:
                continue
            if names is None:
                names = cells
                yield from self._report_repeated_names(names, line)
                continue
            yield from self._report_cells(names, cells, line)
            yield _Row(
                line,
                offset=offset,
                length=self._offset - offset,
                value=_make_row_object(names, cells),
                index=index,
            )
            index += 1

    def _decode_lines(self) -> Iterator[str]:
        """Yield the lines as text, and count them. A row can have several lines."""
        while raw := self._file.readline(MAX_LINE_BYTES + 1):
            self._line += 1
            text_bytes = raw.removeprefix(BOM) if self._offset == 0 else raw
            self._offset += len(raw)
            try:
                text = text_bytes.decode("utf-8")
            except UnicodeDecodeError as error:
                text = text_bytes.decode("utf-8", "replace")
                what = f"byte {error.start + 1} of the line is not UTF-8 and was replaced by U+FFFD"
                self._issues.append(ImportIssue(str(self._path), self._line, what=what))
            yield text.replace("\0", "\N{REPLACEMENT CHARACTER}")

    def _take_issues(self) -> list[ImportIssue]:
        issues = self._issues
        self._issues = []
        return issues

    def _report_repeated_names(self, names: Sequence[str], line: int) -> Iterator[ImportIssue]:
        """Yield an issue for each name of several columns, of which only the last one is read."""
        for name, n_columns in Counter(names).items():
            if n_columns > 1:
                label = name or "without a name"
                what = f"{n_columns} columns are named {label}. Only the last one is read"
                yield ImportIssue(str(self._path), line, what=what)

    def _report_cells(
        self, names: Sequence[str], cells: Sequence[str], line: int
    ) -> Iterator[ImportIssue]:
        if len(cells) == len(names):
            return
        n_cells = format_count(len(cells), "cell")
        what = f"the row has {n_cells}, but the file has {len(names)} columns"
        if len(cells) < len(names):
            # The row was perhaps cut off, so that its last cell is not whole.
            yield ImportIssue(str(self._path), line, what=what, raw=make_excerpt("; ".join(cells)))
        else:
            raw = make_excerpt("; ".join(cells[len(names) :]))
            yield ImportIssue(str(self._path), line, what=what, raw=raw)


def _make_row_object(names: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = {
        name: cell for name, cell in zip(names, cells, strict=False) if cell != ""
    }
    if len(cells) > len(names):
        row[MORE_CELLS] = list(cells[len(names) :])
    return row


def _read_parquet(path: Path) -> Iterator[_Row | ImportIssue]:
    from fcreview.importers.mapping.parquet import UnreadableParquet, read_rows

    index = 0
    try:
        for value in read_rows(path):
            yield _Row(index + 1, offset=0, length=0, value=value, index=index)
            index += 1
    except UnreadableParquet as error:
        yield _make_file_issue(path, str(error))

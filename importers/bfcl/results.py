"""BFCL result files of one category: records by item id, in dataset order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.dataset import Dataset
from fcreview.importers.bfcl.joining import split_repeated_id
from fcreview.importers.common.jsonl import Record, excerpt, is_large, records, reread
from fcreview.model.item import ImportIssue
from fcreview.model.redact import redact


@dataclass(slots=True)
class Results:
    """`found` is by item id and in the order in which items are to be read; `issues` are of the files, not of items."""

    category: str
    records: dict[str, tuple[Path, Record]] = field(default_factory=dict)
    repeated_ids: dict[str, list[str]] = field(default_factory=dict)
    """Ids of several records that are items each, and the names of these."""
    issues: list[ImportIssue] = field(default_factory=list)

    def read_record(self, item: str) -> dict[str, Any] | None:
        """The result record of an item, keys of third parties left out; None if its file can no longer be read."""
        path, record = self.records[item]
        value: dict[str, Any] | None = record.value if record.value is not None else reread(path, record)
        if self.category == "rest":
            value = redact(value)
        return value


def load_results(paths: list[Path], category: str, data: Dataset | None = None, total: int | None = None) -> Results:
    """The records of one category. Of several with one id the last wins, with an issue, unless the dataset has as many
    questions with that id, or there is no dataset and `total`, how many were scored, counts every one of them."""
    results = Results(category)
    several: dict[str, tuple[tuple[Path, Record], ...]] = {}
    for path in paths:
        read = _read_file(path, results)
        base = _first_index([stated for stated, _ in read])
        for place, (stated, record) in enumerate(read):
            item = _item_id(stated, place, base, category)
            several[item] = (*several.get(item, ()), (path, record))
        del read
    all_scored = total == sum(map(len, several.values()))
    for item, there in several.items():
        if len(there) == 1 and (data is None or item not in data.repeated_ids):
            results.records[item] = there[0]
        else:
            _add_repeated(results, item, there, data or Dataset(), all_scored=all_scored)
    _sort_records(results)
    return results


def _read_file(path: Path, results: Results) -> list[tuple[Any, Record]]:
    """(stated id, record) of every usable line."""
    keep = not is_large(path)
    read: list[tuple[Any, Record]] = []
    unnamed = 0
    for record in records(path):
        if isinstance(record, ImportIssue):
            results.issues.append(record)
            continue
        value = record.value
        if not isinstance(value, dict) or ("result" not in value and "id" not in value and "idx" not in value):
            what = "not a result record: an object with id and result was expected"
            results.issues.append(ImportIssue(str(path), record.line, what, excerpt(str(value)), severity="error"))
            continue
        stated = value.get("id")
        if stated is None:
            stated = value.get("idx")
        unnamed += stated is None
        if not keep:
            record.value = None
        read.append((stated, record))
    if unnamed:
        what = f"{unnamed} records have no id: taken by their place in the file"
        results.issues.append(ImportIssue(str(path), None, what))
    if not read and not results.issues:
        results.issues.append(ImportIssue(str(path), None, "the result file is empty"))
    return read


def _first_index(stated: list[Any]) -> int:
    """0, or 1 where whole-number ids are clearly counted from 1."""
    numbers = [number for number in stated if isinstance(number, int)]
    return 1 if numbers and min(numbers) == 1 and max(numbers) == len(numbers) else 0


def _item_id(stated: Any, place: int, base: int, category: str) -> str:
    if isinstance(stated, str) and stated:
        return stated
    if isinstance(stated, int) and not isinstance(stated, bool):
        return f"{category}_{stated - base}"
    return f"{category}_{place}"


def _add_repeated(
    results: Results, item: str, there: Sequence[tuple[Path, Record]], data: Dataset, *, all_scored: bool
) -> None:
    names = split_repeated_id(item, [_read_reply(*place) for place in there], data, all_scored=all_scored)
    if names is not None:
        results.repeated_ids[item] = names
        results.records.update(sorted(zip(names, there, strict=True), key=lambda pair: pair[0]))
        return
    for (before, earlier), (path, record) in itertools.pairwise(there):
        what = f"{item} occurs again; this later record counts, not line {earlier.line}"
        if before != path:
            what += f" of {before}"
        results.issues.append(ImportIssue(str(path), record.line, what, item=item))
    results.records[item] = there[-1]


def _read_reply(path: Path, record: Record) -> Any:
    value = record.value if record.value is not None else reread(path, record)
    return value.get("result") if isinstance(value, dict) else None


def _sort_records(results: Results) -> None:
    """By the ids' numbers, which count in dataset order; ids without a number follow."""
    numbers = [filenames.item_number(item) for item in results.records]
    known = [number if number is not None else 1 << 62 for number in numbers]
    if any(one > other for one, other in itertools.pairwise(known)):
        order = sorted(zip(known, results.records, strict=True), key=lambda pair: pair[0])
        results.records = {item: results.records[item] for _, item in order}

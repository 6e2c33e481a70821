"""Load the result files of one BFCL category: result records by item id, in dataset order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.dataset import Dataset
from fcreview.importers.bfcl.joining import split_repeated_id
from fcreview.importers.common.jsonl import JsonRecord, is_large_file, make_excerpt, read_records, reread_value
from fcreview.model.item import ImportIssue
from fcreview.model.redact import redact


@dataclass(slots=True)
class Results:
    """Result records of one category."""

    category: str
    records: dict[str, tuple[Path, JsonRecord]] = field(default_factory=dict)
    """Item id -> file and record, in dataset order."""
    repeated_ids: dict[str, list[str]] = field(default_factory=dict)
    """Record id of several items -> their item ids."""
    replaced: dict[str, int] = field(default_factory=dict)
    """Item id -> number of earlier records that a later one with the same id replaces."""
    issues: list[ImportIssue] = field(default_factory=list)
    """Issues of the files. Items have their own issues."""

    def read_record(self, item_id: str) -> dict[str, Any] | None:
        """Return the result record of an item without third-party API keys; None if its file cannot be read again."""
        value: dict[str, Any] | None = _record_value(*self.records[item_id])
        return redact(value) if self.category == "rest" else value


def _record_value(path: Path, record: JsonRecord) -> Any:
    return record.value if record.value is not None else reread_value(path, record)


def load_results(
    paths: list[Path], category: str, dataset: Dataset | None = None, n_scored: int | None = None
) -> Results:
    """Load the result records of a category. `n_scored` is the number of scored records in the score file's header."""
    results = Results(category)
    by_id: dict[str, tuple[tuple[Path, JsonRecord], ...]] = {}
    for path in paths:
        read = _read_file(path, results)
        first_index = _detect_first_index([stated for stated, _ in read])
        for position, (stated, record) in enumerate(read):
            item_id = _item_id(stated, position, first_index, category)
            by_id[item_id] = (*by_id.get(item_id, ()), (path, record))
        del read
    all_scored = n_scored == sum(map(len, by_id.values()))
    for item_id, found in by_id.items():
        if len(found) == 1 and (dataset is None or item_id not in dataset.repeated_ids):
            results.records[item_id] = found[0]
        else:
            _add_repeated(results, item_id, found, dataset or Dataset(), all_scored=all_scored)
    _sort_records(results)
    return results


def _read_file(path: Path, results: Results) -> list[tuple[Any, JsonRecord]]:
    """Return (stated id, record) of every valid line, and add the issues. Records of large files have no value."""
    large = is_large_file(path)
    read: list[tuple[Any, JsonRecord]] = []
    n_without_id = 0
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            results.issues.append(record)
            continue
        value = record.value
        if not isinstance(value, dict) or ("result" not in value and "id" not in value and "idx" not in value):
            what = "not a result record: expected an object with id and result"
            results.issues.append(ImportIssue(str(path), record.line, what, make_excerpt(str(value)), severity="error"))
            continue
        stated = value.get("id")
        if stated is None:
            stated = value.get("idx")
        n_without_id += stated is None
        if large:
            record.value = None
        read.append((stated, record))
    if n_without_id:
        what = f"{n_without_id} records have no id; they are identified by their position in the file"
        results.issues.append(ImportIssue(str(path), None, what))
    if not read and not results.issues:
        results.issues.append(ImportIssue(str(path), None, "the result file is empty"))
    return read


def _detect_first_index(stated_ids: list[Any]) -> int:
    """Return 1 if the integer ids count from 1, else 0."""
    numbers = [number for number in stated_ids if isinstance(number, int)]
    return 1 if numbers and min(numbers) == 1 and max(numbers) == len(numbers) else 0


def _item_id(stated: Any, position: int, first_index: int, category: str) -> str:
    if isinstance(stated, str) and stated:
        return stated
    if isinstance(stated, int) and not isinstance(stated, bool):
        return f"{category}_{stated - first_index}"
    return f"{category}_{position}"


def _add_repeated(
    results: Results, item_id: str, found: Sequence[tuple[Path, JsonRecord]], dataset: Dataset, *, all_scored: bool
) -> None:
    """Add records with the same id: each as an item of its own, or only the last record, with an issue."""
    values = [_record_value(*each) for each in found]
    replies = [value.get("result") if isinstance(value, dict) else None for value in values]
    item_ids = split_repeated_id(item_id, replies, dataset, all_scored=all_scored)
    if item_ids is not None:
        results.repeated_ids[item_id] = item_ids
        results.records.update(sorted(zip(item_ids, found, strict=True), key=lambda pair: pair[0]))
        return
    for (before, earlier), (path, record) in itertools.pairwise(found):
        what = f"{item_id} occurs again. This record replaces the one in line {earlier.line}"
        if before != path:
            what += f" of {before}"
        results.issues.append(ImportIssue(str(path), record.line, what, item=item_id))
    results.records[item_id] = found[-1]
    results.replaced[item_id] = len(found) - 1


def _sort_records(results: Results) -> None:
    """Sort records by the numbers in their ids, which is the order of the dataset. Ids without a number are last."""

    def sort_key(item_id: str) -> int:
        number = filenames.item_number(item_id)
        return number if number is not None else 1 << 62

    results.records = {item_id: results.records[item_id] for item_id in sorted(results.records, key=sort_key)}

"""Divide the items of a mapping into runs: the results of one model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fcreview.importers.mapping.files import MappedRecord, find_groups, read_mapped_records
from fcreview.importers.mapping.mapping_file import FilePattern, ItemMapping, Value
from fcreview.importers.mapping.values import UnreadableValue, find_value, to_name
from fcreview.model.item import ImportIssue


@dataclass(frozen=True, slots=True)
class RunKey:
    """What all items of a run have in common."""

    model: str | None
    name: str | None


@dataclass(frozen=True, slots=True)
class SourceFile:
    path: Path
    source: FilePattern


def find_run_key(mapping: ItemMapping, record: MappedRecord) -> RunKey:
    """Return the run to which a record belongs."""
    values = mapping.item.values
    return RunKey(
        _read_name(values.get("model"), record), name=_read_name(values.get("run"), record)
    )


def _read_name(value: Value | None, record: MappedRecord) -> str | None:
    """Return the name of a model or run, or None if there is none. A name that cannot be read also
    gives None, because `read_items` reports it.
    """
    if value is None or value.join:
        return None
    found = find_value(value, record)
    try:
        return None if found.problem else to_name(found.value)
    except UnreadableValue:
        return None


def group_files_by_run(
    mapping: ItemMapping, files: Sequence[SourceFile], base: Path
) -> dict[RunKey, list[Path]]:
    """Return the files of each run.

    If the model is a value of the records, all records are read to find the runs.
    """
    files_by_run: dict[RunKey, list[Path]] = {}
    for file in files:
        for key in _find_run_keys(mapping, file, base):
            files_by_run.setdefault(key, []).append(file.path)
    return files_by_run


def _find_run_keys(mapping: ItemMapping, file: SourceFile, base: Path) -> Iterable[RunKey]:
    """Return the model and the run name of each run in a file. The file is read only if the model
    or the name is stated in its records.
    """
    values = mapping.item.values
    named = [values[name] for name in ("model", "run") if name in values]
    if all(value.is_known_by_file for value in named):
        groups = find_groups(file.path, base, file.source)
        place = MappedRecord(file.path, 1, offset=0, length=0, value=None, groups=groups)
        return [find_run_key(mapping, place)]

    keys: dict[RunKey, None] = {}
    for reading in read_mapped_records(file.path, base, file.source):
        if not isinstance(reading, ImportIssue):
            keys[find_run_key(mapping, reading)] = None
    # A file without records belongs to a run, too, so that its damage is reported.
    return list(keys) or [RunKey(None, None)]

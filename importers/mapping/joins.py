"""Read the rows of other files that belong to items, such as the verdicts of judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.importers.mapping.counts import JoinCount
from fcreview.importers.mapping.files import MappedRecord, list_files, read_mapped_records
from fcreview.importers.mapping.mapping_file import ItemMapping, Join, Value
from fcreview.importers.mapping.values import FoundValue, UnreadableValue, find_value, to_name
from fcreview.model.item import ImportIssue

MAX_ROWS = 2_000_000


@dataclass(slots=True)
class JoinRow:
    """Row of a join, of which only the values that the mapping names are kept."""

    place: str
    """`FILE:LINE`"""
    groups: Mapping[str, str]
    """Groups of the join's pattern `name`."""
    values: dict[str, FoundValue]
    """Values by their key in the mapping file: `judge[0].verdict`."""
    is_used: bool = False


@dataclass(slots=True)
class LoadedJoin:
    """Rows of a join by the key on which they are joined."""

    join: Join
    rows: dict[str, list[JoinRow]] = field(default_factory=dict)
    issues: list[ImportIssue] = field(default_factory=list)
    n_rows: int = 0

    def find_rows(self, key: str, groups: Mapping[str, str]) -> list[JoinRow]:
        """Return the rows of an item, and mark them as used.

        A group that both patterns `name` have, such as the model, must be the same.
        """
        rows = [row for row in self.rows.get(key, []) if _is_same_group(row.groups, groups)]
        for row in rows:
            row.is_used = True
        return rows

    def count(self, items_without_row: Sequence[str]) -> JoinCount:
        unused = [key for key, rows in self.rows.items() for row in rows if not row.is_used]
        return JoinCount(
            self.n_rows, rows_without_item=unused, items_without_row=list(items_without_row)
        )


def _is_same_group(row_groups: Mapping[str, str], item_groups: Mapping[str, str]) -> bool:
    return all(item_groups.get(name, text) == text for name, text in row_groups.items())


def list_join_files(mapping: ItemMapping, base: Path) -> list[Path]:
    """Return the files of all joins."""
    files: dict[Path, None] = {}
    for join in mapping.joins.values():
        files |= dict.fromkeys(list_files(base, join.files))
    return list(files)


def load_joins(mapping: ItemMapping, base: Path) -> dict[str, LoadedJoin]:
    """Read the rows of all joins."""
    return {
        name: _load_join(join, list(_list_joined_values(mapping, name)), base)
        for name, join in mapping.joins.items()
    }


def _list_joined_values(mapping: ItemMapping, name: str) -> Iterator[Value]:
    """Yield the values that are in the rows of a join."""
    for value in mapping.item.values.values():
        if value.join == name:
            yield value
    for opinion in (*mapping.judges, *mapping.humans):
        if opinion.join == name:
            yield from opinion.values.values()


def _load_join(join: Join, values: Sequence[Value], base: Path) -> LoadedJoin:
    """Load the rows of a join: files whose rows belong to items by a key.

    `values` are the values that the items need from a row.
    """
    loaded = LoadedJoin(join)
    files = list_files(base, join.files)
    if not files:
        globs = ", ".join(join.files.globs)
        what = f"join {join.name}: no file matches {globs}"
        loaded.issues.append(ImportIssue(str(base), what=what, severity="error"))

    for path in files:
        for reading in read_mapped_records(path, base, join.files):
            if isinstance(reading, ImportIssue):
                loaded.issues.append(reading)
                continue
            if loaded.n_rows >= MAX_ROWS:
                loaded.issues.append(_make_limit_issue(join, path))
                return loaded
            loaded.n_rows += 1
            _add_row(loaded, reading, values)
    return loaded


def _make_limit_issue(join: Join, path: Path) -> ImportIssue:
    what = f"join {join.name}: more than {MAX_ROWS:,} rows. The others were skipped"
    return ImportIssue(str(path), what=what, severity="error")


def _add_row(loaded: LoadedJoin, record: MappedRecord, values: Sequence[Value]) -> None:
    """Add a row under its key. A row without a key becomes an issue."""
    join = loaded.join
    key = _find_key(join, record)
    if key is None:
        _, _, key_name = join.on.key.rpartition(".")
        what = f"join {join.name}: the row has no {key_name}"
        loaded.issues.append(ImportIssue(str(record.file), record.line, what=what))
        return

    row = JoinRow(
        f"{record.file.name}:{record.line}",
        groups=_select_groups(join, record),
        values={value.key: find_value(value, record) for value in values},
    )
    loaded.rows.setdefault(key, []).append(row)


def _select_groups(join: Join, record: MappedRecord) -> dict[str, str]:
    """Return the groups of the pattern `name` in the name of a row's file, which must be those of
    the item. Other texts about the file, such as its path, may differ.
    """
    if join.files.name is None:
        return {}
    names = join.files.name.groupindex
    return {name: record.groups[name] for name in names if name in record.groups}


def _find_key(join: Join, record: MappedRecord) -> str | None:
    """Return the key of a row, or None if it has none that can be read."""
    found_key = find_value(join.on, record)
    if found_key.problem:
        return None
    try:
        return to_name(found_key.value)
    except UnreadableValue:
        return None

"""Read the items of a run as a mapping file says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fcreview.importers.common.records import as_object, fill_safely, set_position
from fcreview.importers.mapping.counts import (
    MappingCounts,
    collect_field_names,
    suggest_fields,
)
from fcreview.importers.mapping.files import MappedRecord, list_files, read_mapped_records
from fcreview.importers.mapping.incidents import add_error, check_answer
from fcreview.importers.mapping.item_parts import fill_answer, fill_golden_answer
from fcreview.importers.mapping.joins import JoinRow, LoadedJoin, load_joins
from fcreview.importers.mapping.mapping_file import (
    FilePattern,
    InvalidMapping,
    ItemForm,
    ItemMapping,
    Value,
    load_mapping,
)
from fcreview.importers.mapping.runs import RunKey, find_run_key
from fcreview.importers.mapping.shared_files import get_shared_reader
from fcreview.importers.mapping.value_reader import ValueReader
from fcreview.importers.mapping.verdicts import add_judges, add_official_verdict, add_people
from fcreview.model.item import ImportIssue, Item, ReadRecord
from fcreview.model.wording import format_count
from fcreview.run_plan import RunPlan

MIN_ATTACHED_ROWS = 100_000
MAX_ROWS_OF_AN_ITEM = 10
"""The items of a run may have together `MIN_ATTACHED_ROWS` rows of a join, and for each item and
each row this number. Usually each row belongs to one item, or each item has one row.
"""
ALL = "all"
"""Category of items without one."""


@dataclass(frozen=True, slots=True)
class MappedRun:
    """What `find_runs` passes to `read_items`: which of the mapped items are one run."""

    mapping_file: Path
    base: Path
    """Folder to which the patterns of the mapping file are relative."""
    key: RunKey
    reported_files: tuple[Path, ...]
    """Files whose unreadable records this run reports. Several runs may share a file."""
    is_only_run: bool


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield the items of a run, and an issue for everything that is not as the mapping says."""
    mapped_run: MappedRun = plan.importer_data
    try:
        mapping = load_mapping(mapped_run.mapping_file)
    except InvalidMapping as error:
        file = str(mapped_run.mapping_file)
        for problem in error.problems:
            yield ImportIssue(file, what=problem, severity="error")
        return

    reader = MappingReader(mapping, _load_joins(mapping, mapped_run))
    results = frozenset(plan.results)
    for source in mapping.sources:
        for path in list_files(mapped_run.base, source):
            if path in results:
                yield from _read_file(reader, path, source, mapped_run)
    scope = "all items" if mapped_run.is_only_run else "all items of this run"
    yield from reader.report_keys_without_value(scope)
    if mapped_run.is_only_run:
        yield from reader.report_joins()


def _load_joins(mapping: ItemMapping, mapped_run: MappedRun) -> Mapping[str, LoadedJoin]:
    """Return the rows of all joins. Only an only run marks them as used, to report the others."""
    if mapped_run.is_only_run:
        return load_joins(mapping, mapped_run.base)
    return get_shared_reader(mapping, mapped_run.base).load_joins()


def _read_file(
    reader: MappingReader, path: Path, source: FilePattern, mapped_run: MappedRun
) -> Iterator[Item | ImportIssue]:
    """Yield the items of a file that belong to the run, and the issues of the file.

    Several runs can be in one file. Only one of them has its issues.
    """
    is_reported = path in mapped_run.reported_files
    for reading in _read_records(reader.mapping, path, source, mapped_run):
        if isinstance(reading, ImportIssue):
            if is_reported:
                yield reading
        elif reader.find_run(reading) == mapped_run.key:
            yield from reader.read_record(reading)


def _read_records(
    mapping: ItemMapping, path: Path, source: FilePattern, mapped_run: MappedRun
) -> Iterable[MappedRecord | ImportIssue]:
    """Return the records of a file. Records of other runs may be among the result."""
    if mapped_run.is_only_run:
        return read_mapped_records(path, mapped_run.base, source)
    reader = get_shared_reader(mapping, mapped_run.base)
    return reader.read_records(path, source, mapped_run.key)


def check_items(mapping: ItemMapping, base: Path) -> Iterator[Item | ImportIssue | MappingCounts]:
    """Yield the items and issues of all runs of a mapping, and then the counts of its keys."""
    reader = MappingReader(mapping, load_joins(mapping, base))
    for source in mapping.sources:
        for path in list_files(base, source):
            for reading in read_mapped_records(path, base, source):
                if isinstance(reading, ImportIssue):
                    yield reading
                else:
                    yield from reader.read_record(reading)
    yield from reader.report_keys_without_value("all items")
    yield from reader.report_joins()
    yield reader.counts


class MappingReader:
    """Reads records one by one, gives their items ids, and counts what was found."""

    def __init__(self, mapping: ItemMapping, joins: Mapping[str, LoadedJoin]) -> None:
        self.counts = MappingCounts()
        self.mapping = mapping
        self._joins = joins
        self._n_attached_rows = 0
        self._places_by_id: dict[tuple[RunKey, str], str] = {}
        self._numbers_by_id: Counter[tuple[RunKey, str]] = Counter()
        """Number of the last item that got an id of its own, by the id that it wanted."""
        self._items_without_row: dict[str, list[str]] = {name: [] for name in self._joins}

    def find_run(self, record: MappedRecord) -> RunKey:
        return find_run_key(self.mapping, record)

    def read_record(self, record: MappedRecord) -> Iterator[Item | ImportIssue]:
        """Yield the item of a record, or an issue for a record without an id."""
        # The fields of the first record are suggested in place of a misspelled one.
        if not self.counts.n_items:
            self.counts.known_fields = collect_field_names(record.value)
        self.counts.n_items += 1
        reader = ValueReader(record, self.counts)
        item_id = reader.read_name(self.mapping.item.values.get("id"))
        if item_id is None:
            reader.add_issue(self._describe_missing_id(record), severity="error")
            yield from reader.issues
        else:
            yield self._read_item(item_id, reader)

    def _read_item(self, item_id: str, reader: ValueReader) -> Item:
        """Make the item of a record, with the issues of its values."""
        trial = reader.read_name(self.mapping.item.values.get("trial"))
        item = self._make_item(item_id, trial, reader)
        self._attach_rows(item_id, reader)
        fill_safely(item, partial(self._fill_item, item, reader))
        add_error(item, self.mapping.item, reader)
        check_answer(item, self.mapping.item)
        for issue in reader.issues:
            issue.item = item.id
        item.issues.extend(reader.issues)
        return item

    def _describe_missing_id(self, record: MappedRecord) -> str:
        """Say that a record is skipped, and which of its fields may be the id."""
        value = self.mapping.item.values.get("id")
        what = "the record has no id, so it was skipped"
        if value is None or value.expression is None or value.source != "path":
            return what
        return what + suggest_fields(
            value.expression.text, sorted(collect_field_names(record.value))
        )

    def _make_item(self, item_id: str, trial: str | None, reader: ValueReader) -> Item:
        """Make an item with an id that no other item of its run has."""
        record = reader.record
        wanted_id = item_id if trial is None else f"{item_id}_trial_{trial}"
        unique_id = self._reserve_id(wanted_id, reader)

        item = Item(unique_id, category=ALL, file=str(record.file))
        set_position(item, record)
        if trial is not None:
            item.group = item_id
            item.extra.metadata["trial"] = trial
        return item

    def _reserve_id(self, wanted_id: str, reader: ValueReader) -> str:
        """Return the wanted id. If an earlier item of the run has it, report that and return
        `ID#NUMBER`, with the number of the record in its file.
        """
        record = reader.record
        run = self.find_run(record)
        first_place = self._places_by_id.get((run, wanted_id))
        unique_id = wanted_id
        if first_place is not None:
            unique_id = self._find_free_id(run, f"{wanted_id}#{record.index + 1}")
            reader.add_issue(
                f"same id, trial and model as {first_place} ({wanted_id}). This record is"
                f" imported as {unique_id}",
                severity="error",
            )
        self._places_by_id[run, unique_id] = f"{record.file.name}:{record.line}"
        return unique_id

    def _find_free_id(self, run: RunKey, wanted_id: str) -> str:
        free_id = wanted_id
        while (run, free_id) in self._places_by_id:
            self._numbers_by_id[run, wanted_id] += 1
            free_id = f"{wanted_id}#{self._numbers_by_id[run, wanted_id] + 1}"
        return free_id

    def _attach_rows(self, item_id: str, reader: ValueReader) -> None:
        """Give the reader the rows of each join that belong to the item, and note the joins without
        such a row.
        """
        key = self._read_join_key(item_id, reader)
        reader.rows = {}
        for name, join in self._joins.items():
            rows = []
            if key is not None:
                rows = join.find_rows(key, reader.record.groups)
            if not rows:
                self._items_without_row[name].append(item_id)
            reader.rows[name] = self._limit_rows(join, rows, reader)

    def _read_join_key(self, item_id: str, reader: ValueReader) -> str | None:
        """Return the text by which joins name the item: its id, or the value that the mapping file
        calls `join_key`. None if the record lacks this value.
        """
        join_key = self.mapping.item.join_key
        if join_key is None:
            return item_id
        return reader.read_name(join_key)

    def _limit_rows(
        self, join: LoadedJoin, rows: Sequence[JoinRow], reader: ValueReader
    ) -> Sequence[JoinRow]:
        """Return the rows that the item may get, and count them as attached.

        If all items and all rows have the same key, the attached rows would be as many as the
        product of their numbers. The limit is proportional to their sum.
        """
        n_allowed = MIN_ATTACHED_ROWS + MAX_ROWS_OF_AN_ITEM * (join.n_rows + self.counts.n_items)
        n_left = max(n_allowed - self._n_attached_rows, 0)
        if len(rows) > n_left:
            n_omitted = format_count(len(rows) - n_left, "row")
            reader.add_issue(
                f"join {join.join.name}: {n_omitted} omitted, because too many items of the run"
                " have the same rows",
                severity="error",
            )
        attached = rows[:n_left]
        self._n_attached_rows += len(attached)
        return attached

    def _fill_item(self, item: Item, reader: ValueReader) -> None:
        """Fill an item with the values that the mapping file names."""
        form = self.mapping.item
        item.category = reader.read_name(form.values.get("category")) or ALL
        item.group = reader.read_name(form.values.get("group")) or item.group
        # These decide to which run the item belongs. They are read here only to be counted.
        for name in ("model", "run"):
            reader.read_name(form.values.get(name))
        fill_answer(item, form, reader)
        _add_metadata(item, form, reader)
        fill_golden_answer(item, form, reader)
        add_official_verdict(item, form, reader)
        add_judges(item, self.mapping.judges, reader)
        add_people(item, self.mapping.humans, reader)

    # -- what concerns no single item

    def report_keys_without_value(self, scope: str) -> Iterator[ImportIssue]:
        """Yield a warning for each key of [item] that no item has. `scope` says of which items:
        `all items of this run`.
        """
        # One item does not show that a key is wrong, because any value may be missing.
        if self.counts.n_items <= 1:
            return
        for value in self.mapping.item.values.values():
            if self._is_missing_in_all_items(value):
                what = f"{value.key} is missing in {scope}{self._suggest(value)}"
                yield ImportIssue(str(self.mapping.path), what=what)

    def _is_missing_in_all_items(self, value: Value) -> bool:
        """Whether a key was read and never had a value, also none of a wrong kind."""
        count = self.counts.keys.get(value.key)
        if count is None:
            return False
        return not count.n_found and not count.others

    def _suggest(self, value: Value) -> str:
        if value.expression is None:
            return ""
        return suggest_fields(value.expression.text, sorted(self.counts.known_fields))

    def report_joins(self) -> Iterator[ImportIssue]:
        """Yield what is wrong with joins, and count rows and items that found no partner."""
        for name, join in self._joins.items():
            yield from join.issues
            count = join.count(self._items_without_row[name])
            self.counts.joins[name] = count
            if count.rows_without_item:
                yield self._make_join_issue(name, count.rows_without_item, "rows match no item")
            if count.items_without_row:
                yield self._make_join_issue(name, count.items_without_row, "items have no row")

    def _make_join_issue(self, name: str, keys: Sequence[str], what: str) -> ImportIssue:
        text = f"join {name}: {len(keys):,} {what}, such as {keys[0]}"
        return ImportIssue(str(self.mapping.path), what=text, severity="notice")


def _add_metadata(item: Item, form: ItemForm, reader: ValueReader) -> None:
    """Add the metadata and the time of an item."""
    metadata = reader.read(form.values.get("metadata"))
    if metadata is not None and not isinstance(metadata, dict):
        reader.add_issue("item.metadata is not an object", raw=metadata)
    item.extra.metadata |= as_object(metadata)
    time = reader.read_name(form.values.get("time"))
    if time is not None:
        item.extra.metadata["time"] = time

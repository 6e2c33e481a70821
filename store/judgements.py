"""Read, write and merge the verdicts of judges: `.fcreview/judgements/NAME.jsonl`.

Each line is a record of `fcreview.judging.records`. fcreview appends a line with one `write`, and
syncs the file before it counts the verdict. A line that a crash left incomplete is skipped by
readers, and ended by the next writer.

An import does not change these files. The table `judgements` joins their verdicts with the items of
the store by content, so that verdicts on an answer that has changed are stale. One other query reads
the table: `store/queries/source_verdicts.py`, for strata of estimates. No other figure contains
these verdicts, unless a command asks for them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.errors import CommandError
from fcreview.judging.records import (
    ItemContent,
    JudgeIncident,
    Judgement,
    JudgeRecord,
    JudgeSetup,
    RecordError,
    parse_record,
    serialize_record,
)
from fcreview.model.review import ItemKey
from fcreview.model.sync_copy import find_original_name
from fcreview.safe_files import MAX_JOURNAL_BYTES
from fcreview.store.review_sql import is_resolved_sql
from fcreview.store.workspace import Workspace, make_write_error, to_safe_annotator

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

SUFFIX = ".jsonl"
OWN_JUDGE_MARK = "fcreview"
"""Word behind the name of a judge that fcreview asked, so that it differs from imported ones."""


class JudgeFileError(CommandError):
    """Raised if a judge's file cannot be written, or has verdicts of another setup."""


@dataclass(slots=True)
class JudgeFile:
    """The records of one judge."""

    name: str
    setup: JudgeSetup | None = None
    """The first setup of the file; None for an empty file."""
    verdicts: dict[ItemContent, Judgement] = field(default_factory=dict)
    """The first verdict on each item that belongs to the setup."""
    incidents: list[JudgeIncident] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _setup_id: str = ""

    @property
    def label(self) -> str:
        """Name of the judge in tables: `gpt-4o (fcreview)`."""
        return f"{self.name} ({OWN_JUDGE_MARK})"

    @property
    def example_contents(self) -> set[ItemContent]:
        """Items that the judge got as examples. The quality of the judge must not be measured on
        them.
        """
        if self.setup is None:
            return set()
        return {example.content for example in self.setup.examples}

    def add_record(self, record: JudgeRecord) -> None:
        """Add a record of the file. The first setup counts, and for each answer its first verdict."""
        if isinstance(record, JudgeSetup):
            if self.setup is None:
                self.setup = record
                self._setup_id = record.id
            return
        if self.setup is None or record.setup != self._setup_id:
            self.warnings.append(f"{self.name}: a record belongs to another setup. It is ignored")
        elif isinstance(record, JudgeIncident):
            self.incidents.append(record)
        else:
            self.verdicts.setdefault(record.content, record)


def get_judgements_folder(workspace: Workspace) -> Path:
    return workspace.root / "judgements"


def list_judges(workspace: Workspace) -> list[str]:
    """Return the names of the judges of a workspace, in alphabetical order.

    Copies that a sync program made are no judges. `store/sync_copies.py` names them.
    """
    judges = []
    for path in get_judgements_folder(workspace).glob(f"*{SUFFIX}"):
        # A file with another name was not written by fcreview.
        has_judge_name = to_safe_annotator(path.stem) == path.stem
        if has_judge_name and find_original_name(path.name) is None:
            judges.append(path.stem)
    return sorted(judges)


def get_judge_path(workspace: Workspace, name: str) -> Path:
    return get_judgements_folder(workspace) / f"{name}{SUFFIX}"


def read_judge(workspace: Workspace, name: str) -> JudgeFile:
    """Read the file of a judge. Invalid lines become warnings. Empty if there is no file."""
    judge = JudgeFile(name)
    try:
        content = workspace.files.read(get_judge_path(workspace, name), MAX_JOURNAL_BYTES)
    except FileNotFoundError:
        return judge
    except OSError as error:
        judge.warnings.append(f"judgements/{name}{SUFFIX}: {error.strerror or error}")
        return judge

    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            judge.add_record(parse_record(line))
        except RecordError as error:
            judge.warnings.append(f"judgements/{name}{SUFFIX} line {number}: {error}")
    return judge


def read_judges(workspace: Workspace) -> list[JudgeFile]:
    return [read_judge(workspace, name) for name in list_judges(workspace)]


class JudgeWriter:
    """Appends records to the file of one judge. The file is locked until the writer is closed."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path

    def append(self, *records: JudgeRecord) -> None:
        """Append records, and wait until they are on disk. Raises JudgeFileError if that fails."""
        lines = b"".join(serialize_record(record) for record in records)
        try:
            _append_line(self._descriptor, lines)
        except OSError as error:
            raise JudgeFileError(f"{self._path}: {error.strerror or error}") from error


@contextmanager
def open_judge_writer(workspace: Workspace, name: str) -> Iterator[JudgeWriter]:
    """Open the file of a judge for appending, and create it if it is missing.

    Raises JudgeFileError if another process writes to it.
    """
    path = get_judge_path(workspace, name)
    files = workspace.files
    try:
        files.make_folder(path.parent)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        descriptor = files.open(path, flags, group_can_write=True)
    except OSError as error:
        raise make_write_error(workspace.parent_folder, error) from error

    try:
        _lock_file(descriptor, name)
        _end_incomplete_line(descriptor)
        files.sync_folder(path.parent)
        yield JudgeWriter(descriptor, path)
    finally:
        os.close(descriptor)  # releases the lock


def _lock_file(descriptor: int, name: str) -> None:
    """Lock the file of a judge until it is closed. Raises JudgeFileError if another process writes
    it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JudgeFileError(
            f"another process asks the judge {name}. Wait until it has ended, or choose another"
            " --name"
        ) from None
    except OSError:
        # Some file systems have no locks. Readers then still count one verdict for each item.
        return


def _end_incomplete_line(descriptor: int) -> None:
    """Append the newline that is missing after a crash, so that the next record has its own line."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        _append_line(descriptor, b"\n")


def _append_line(descriptor: int, line: bytes) -> None:
    """Append bytes and sync them, or leave the file as it was and raise OSError."""
    start = os.fstat(descriptor).st_size
    n_written = 0
    try:
        while n_written < len(line):
            n_written += os.write(descriptor, line[n_written:])
    except OSError:
        os.ftruncate(descriptor, start)
        raise
    os.fsync(descriptor)


@dataclass(frozen=True, slots=True)
class MergedJudge:
    """Result of merging the file of a judge. The fields are also the keys of the JSON output."""

    judge: str
    kept_as: str
    """Name of the judge in this workspace."""
    new: int = 0
    """Number of new verdicts."""
    known: int = 0
    why: str = ""
    """Why the file could not be merged; empty on success."""


def merge_judges(workspace: Workspace, other: Workspace) -> Iterator[MergedJudge]:
    """Add the judges of another workspace to this one.

    A judge with the same name and another setup gets a name of its own. If both workspaces have a
    verdict of the same judge on an item, this workspace keeps its own.
    """
    for name in list_judges(other):
        source = read_judge(other, name)
        if source.setup is None:
            yield MergedJudge(name, kept_as="", why="; ".join(source.warnings) or "it is empty")
            continue
        try:
            yield _merge_judge(workspace, source)
        except CommandError as error:
            yield MergedJudge(name, kept_as="", why=str(error))


SETUP_ID_LENGTH = 8  # number of characters of the id of a setup in the name of a judge


def _merge_judge(workspace: Workspace, source: JudgeFile) -> MergedJudge:
    """Add the records of another copy of a judge that this workspace does not have."""
    own = _read_own_copy(workspace, source)
    new_verdicts = [
        verdict for content, verdict in source.verdicts.items() if content not in own.verdicts
    ]
    new_records = [
        *_list_new_setups(own, source),
        *new_verdicts,
        *_list_new_incidents(own, source),
    ]
    if new_records:
        with open_judge_writer(workspace, own.name) as writer:
            writer.append(*new_records)
    return MergedJudge(
        source.name,
        kept_as=own.name,
        new=len(new_verdicts),
        known=len(source.verdicts) - len(new_verdicts),
    )


def _read_own_copy(workspace: Workspace, source: JudgeFile) -> JudgeFile:
    """Return this workspace's file of a judge, or an empty one.

    If the workspace has a judge of the same name with another setup, the file has a name that
    contains the id of the setup.
    """
    assert source.setup is not None  # noqa: S101 - the caller has checked it
    own = read_judge(workspace, source.name)
    if own.setup is None or own.setup.id == source.setup.id:
        return own

    # The same setup has the same name after each merge.
    name = to_safe_annotator(f"{source.name}-{source.setup.id[:SETUP_ID_LENGTH]}")
    return read_judge(workspace, name)


def _list_new_setups(own: JudgeFile, source: JudgeFile) -> list[JudgeRecord]:
    """Return the setup of a judge in a list, or an empty list if its own file already has one."""
    if own.setup is not None or source.setup is None:
        return []
    return [source.setup]


def _list_new_incidents(own: JudgeFile, source: JudgeFile) -> list[JudgeRecord]:
    known = set(own.incidents)
    return [incident for incident in source.incidents if incident not in known]


_KEY_COLUMNS = {
    "judge": "VARCHAR",
    "benchmark": "VARCHAR",
    "generation": "VARCHAR",
    "language": "VARCHAR",
    "model": "VARCHAR",
    "category": "VARCHAR",
    "id": "VARCHAR",
    "prediction_hash": "VARCHAR",
    "golden_hash": "VARCHAR",
}
_COLUMNS = _KEY_COLUMNS | {
    "target": "VARCHAR",
    "criterion": "VARCHAR",
    "verdict": "BOOLEAN",
    "rationale": "VARCHAR",
    "judge_model": "VARCHAR",
    "prompt_hash": "VARCHAR",
    "split": "VARCHAR",
    "time": "VARCHAR",
}
_CREATE_TABLE = """
CREATE OR REPLACE TEMP TABLE judgements (
    item BIGINT, run INTEGER, id VARCHAR, judge VARCHAR, target VARCHAR, criterion VARCHAR, verdict BOOLEAN,
    rationale VARCHAR, model VARCHAR, prompt_hash VARCHAR, split VARCHAR, "time" VARCHAR, stale BOOLEAN
)
"""
_INSERT_ROWS = """
INSERT INTO judgements
SELECT i.item, i.run, i.id, j.judge, j.target, j.criterion, j.verdict, j.rationale, j.judge_model, j.prompt_hash,
       j.split, j."time",
       i.prediction_hash <> j.prediction_hash OR i.golden_hash <> j.golden_hash
FROM (SELECT unnest(from_json(line, $1)) FROM (SELECT unnest($2::VARCHAR[]) AS line)) j
JOIN runs r ON (r.benchmark, r.generation, r.language, r.model) = (j.benchmark, j.generation, j.language, j.model)
JOIN item_rows i ON i.run = r.run AND i.category = j.category AND i.id = j.id
"""
_UNDECIDED_COLUMNS = _KEY_COLUMNS | {"is_example": "BOOLEAN", "time": "VARCHAR"}
_CREATE_UNDECIDED_TABLE = """
CREATE OR REPLACE TEMP TABLE undecided_judgements (item BIGINT, judge VARCHAR, is_example BOOLEAN, "time" VARCHAR)
"""
_INSERT_UNDECIDED_ROWS = """
INSERT INTO undecided_judgements
SELECT i.item, j.judge, j.is_example, j."time"
FROM (SELECT unnest(from_json(line, $1)) FROM (SELECT unnest($2::VARCHAR[]) AS line)) j
JOIN runs r ON (r.benchmark, r.generation, r.language, r.model) = (j.benchmark, j.generation, j.language, j.model)
JOIN item_rows i ON i.run = r.run AND i.category = j.category AND i.id = j.id
     AND i.prediction_hash = j.prediction_hash AND i.golden_hash = j.golden_hash
"""
_CURRENT = "SELECT * FROM judgements WHERE NOT stale"
_REVIEWED = "item IN (SELECT item FROM human WHERE you IS NOT NULL)"
_CREATE_VISIBLE_VIEW = {
    True: f"CREATE OR REPLACE TEMP VIEW visible_judgements AS {_CURRENT}",
    False: f"CREATE OR REPLACE TEMP VIEW visible_judgements AS {_CURRENT} AND {_REVIEWED}",
}
"""Whether all verdicts are shown -> statement for the view of those that the annotator may see."""
_SELECT_VISIBLE = """
SELECT item, judge, target, criterion, verdict, rationale, model, prompt_hash, split, "time"
FROM visible_judgements ORDER BY item, judge
"""
_COUNT_HIDDEN = """
SELECT count(DISTINCT item) FROM judgements
WHERE NOT stale AND item IN (SELECT item FROM human WHERE human IS NOT NULL)
      AND item NOT IN (SELECT item FROM visible_judgements)
"""
_SELECT_JUDGEMENTS = """
SELECT item, judge, target, criterion, verdict, rationale, model, prompt_hash, split, "time" FROM judgements
WHERE NOT stale AND item IN (SELECT unnest($1::BIGINT[])) ORDER BY item, judge
"""
MAX_ROWS_PER_STATEMENT = 10_000


@dataclass(frozen=True, slots=True)
class ItemJudgement:
    """A current verdict of a judge that fcreview asked, on an item of the store."""

    judge: str
    target: str
    criterion: str
    verdict: bool
    rationale: str
    model: str
    prompt_hash: str
    split: str
    time: str

    @property
    def label(self) -> str:
        """Name of the judge in tables: `gpt-4o (fcreview)`."""
        return f"{self.judge} ({OWN_JUDGE_MARK})"


def create_judgements_table(connection: Connection, workspace: Workspace) -> list[str]:
    """Create the temporary tables `judgements` and `undecided_judgements`, and fill them from the
    files of the workspace. The second one has the items on which a judge has no verdict, because it
    failed, or because the item is one of its examples.

    Returns a message for each line that cannot be read.
    """
    connection.execute(_CREATE_TABLE)
    connection.execute(_CREATE_UNDECIDED_TABLE)
    warnings: list[str] = []
    rows: list[dict[str, Any]] = []
    undecided_rows: list[dict[str, Any]] = []
    for judge in read_judges(workspace):
        warnings += judge.warnings
        rows += _build_rows(judge)
        undecided_rows += _build_undecided_rows(judge)

    _insert_rows(connection, _INSERT_ROWS, _COLUMNS, rows)
    _insert_rows(connection, _INSERT_UNDECIDED_ROWS, _UNDECIDED_COLUMNS, undecided_rows)
    return warnings


def _insert_rows(
    connection: Connection,
    statement: str,
    columns: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
) -> None:
    """Insert rows with a statement that reads them as lines of JSON."""
    structure = orjson.dumps(columns).decode()
    for start in range(0, len(rows), MAX_ROWS_PER_STATEMENT):
        batch = rows[start : start + MAX_ROWS_PER_STATEMENT]
        lines = [orjson.dumps(row).decode() for row in batch]
        connection.execute(statement, [structure, lines])


def _build_rows(judge: JudgeFile) -> Iterator[dict[str, Any]]:
    """Yield a row for each verdict, without those on items that were examples of the judge."""
    examples = judge.example_contents
    for content, verdict in judge.verdicts.items():
        if content in examples:
            continue
        yield _build_key_row(judge, content) | {
            "target": verdict.target,
            "criterion": verdict.criterion,
            "verdict": verdict.verdict,
            "rationale": verdict.rationale,
            "judge_model": verdict.model,
            "prompt_hash": verdict.prompt_hash,
            "split": verdict.split,
            "time": verdict.time,
        }


def _build_key_row(judge: JudgeFile, content: ItemContent) -> dict[str, Any]:
    return content.key._asdict() | {
        "judge": judge.name,
        "prediction_hash": content.prediction_hash,
        "golden_hash": content.golden_hash,
    }


def _build_undecided_rows(judge: JudgeFile) -> Iterator[dict[str, Any]]:
    """Yield a row for each failure of the judge, and for each of its examples."""
    for content in judge.example_contents:
        yield _build_key_row(judge, content) | {"is_example": True, "time": ""}
    for incident in judge.incidents:
        yield _build_key_row(judge, incident.content) | {
            "is_example": False,
            "time": incident.time,
        }


_SELECT_CONTENTS = """
SELECT i.item, r.benchmark, r.generation, r.language, r.model, i.category, i.id, i.prediction_hash, i.golden_hash
FROM item_rows i JOIN runs r ON r.run = i.run WHERE i.item IN (SELECT unnest($1::BIGINT[]))
"""
_SELECT_LABELS = f"""
SELECT item, individual = 'true' FROM human_labels
WHERE target = 'item' AND criterion = $1 AND derived IS NULL AND individual IN ('true', 'false')
      AND {is_resolved_sql("individual_by")} AND item IN (SELECT unnest($2::BIGINT[]))
"""


class JudgementTable:
    """Queries for the verdicts of judges that fcreview asked. The caller decides who sees them."""

    def __init__(
        self,
        connection: Connection,
        workspace: Workspace,
        run_query: Callable[..., Any],
        *,
        shows_all: bool,
    ) -> None:
        """Create the tables. They need the view `human` of the reviews.

        `shows_all`: Whether the annotator sees verdicts before their own verdict on the item.
        """
        self.shows_all = shows_all
        self.warnings = create_judgements_table(connection, workspace)
        """A message for each line that cannot be read."""
        connection.execute(_CREATE_VISIBLE_VIEW[shows_all])
        self._connection = connection
        self._run_query = run_query
        rows = connection.execute("SELECT DISTINCT judge FROM judgements ORDER BY judge").fetchall()
        self.names: list[str] = [name for (name,) in rows]
        """Judges with a verdict on an item of the store, also a stale one."""

    def fetch(self, items: Iterable[int]) -> dict[int, list[ItemJudgement]]:
        """Return the current verdicts on items by item number."""
        if not self.names:
            return {}
        return _group_by_item(self._fetch_rows(_SELECT_JUDGEMENTS, [list(items)]))

    def fetch_visible(self) -> dict[int, list[ItemJudgement]]:
        """Return all current verdicts that the annotator may see, by item number."""
        if not self.names:
            return {}
        return _group_by_item(self._fetch_rows(_SELECT_VISIBLE, []))

    def count_hidden_labelled_items(self) -> int:
        """Count the items with a human verdict whose judge verdicts the annotator must not see."""
        if not self.names or self.shows_all:
            return 0
        ((count,),) = self._fetch_rows(_COUNT_HIDDEN, [])
        return int(count)

    def fetch_contents(self, items: Iterable[int]) -> dict[int, ItemContent]:
        """Return the keys and hashes that identify the items and their answers, by item number.
        Verdicts of judges are stored for them.
        """
        contents = {}
        n_key_fields = len(ItemKey._fields)
        for item, *values in self._fetch_rows(_SELECT_CONTENTS, [list(items)]):
            prediction_hash, golden_hash = values[n_key_fields:]
            contents[item] = ItemContent(
                ItemKey(*values[:n_key_fields]),
                prediction_hash=prediction_hash,
                golden_hash=golden_hash,
            )
        return contents

    def fetch_labels(self, items: Iterable[int], criterion: str) -> dict[int, bool]:
        """Return the resolved human verdicts on whole items, without bulk reviews."""
        return dict(self._fetch_rows(_SELECT_LABELS, [criterion, list(items)]))

    def _fetch_rows(self, query: str, values: list[Any]) -> list[Any]:
        rows: list[Any] = self._run_query(
            lambda: self._connection.execute(query, values).fetchall()
        )
        return rows


def _group_by_item(rows: Iterable[Sequence[Any]]) -> dict[int, list[ItemJudgement]]:
    """Return the verdicts by item. Each row has the item and the fields of a verdict."""
    judgements: dict[int, list[ItemJudgement]] = {}
    for item, *values in rows:
        judgements.setdefault(item, []).append(ItemJudgement(*values))
    return judgements

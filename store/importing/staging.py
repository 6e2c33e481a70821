"""Write the staging files of an import, which DuckDB loads: items, function docs and questions as
lines of JSON.

Staging redacts API keys in every item, after the importers have computed verdicts and differences
from the original values. Content that many items share (`SharedList`) is
serialised and redacted only once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, assert_never
from weakref import ref

import orjson

from fcreview.model.incident import is_counted_incident
from fcreview.model.item import (
    RUN_SPECIFIC_FIELDS,
    Call,
    ImportIssue,
    Item,
    ItemFlag,
    Message,
    MissingItem,
    PartSummary,
    ReadRecord,
    RunFact,
    SharedList,
)
from fcreview.model.json_value import to_plain_json
from fcreview.model.sanitize import redact_api_keys, redact_api_keys_in_text, redact_credentials
from fcreview.store.rows import ITEM_COLUMNS, make_item_number

_MAX_CACHED_LISTS = 20_000  # maximum number of function lists whose hashes are cached
_LIST_FIELDS = ("predicted", "pairs", "verdicts")
_SHARED_FIELDS = tuple(name for name in ITEM_COLUMNS if name not in RUN_SPECIFIC_FIELDS)
_get_run_specific = attrgetter(*RUN_SPECIFIC_FIELDS)
_get_shared = attrgetter(*_SHARED_FIELDS)
_get_lists = attrgetter(*_LIST_FIELDS)
_NO_MESSAGES: SharedList[Message] = SharedList()


class SharedRowCache:
    """Content hashes of all function docs and questions that a staging file already contains."""

    def __init__(self) -> None:
        """Start without rows."""
        # hashes of function docs (text) and questions (numbers)
        self.written_hashes: set[str | int] = set()
        self._hash_lists: dict[int, tuple[Callable[[], list[dict[str, Any]] | None], bytes]] = {}
        """(reference to a list of function docs, hashes of the docs as JSON), by `id` of the list."""

    def find_hash_list(self, functions: list[dict[str, Any]]) -> bytes | None:
        """Return the hashes of the docs in this very list, as JSON, or None if they are unknown."""
        if id(functions) not in self._hash_lists:
            return None
        get_list, hashes = self._hash_lists[id(functions)]
        # Python can give the id of a deleted list to a new one.
        is_same_list = get_list() is functions
        return hashes if is_same_list else None

    def remember_hash_list(self, functions: list[dict[str, Any]], hashes: bytes) -> None:
        """Remember the hashes of a list of function docs.

        The reference to a `SharedList` is weak, because a large dataset has thousands of such
        lists. Python has no weak references to other lists, so these are kept alive.
        """
        if len(self._hash_lists) >= _MAX_CACHED_LISTS:
            self._hash_lists.clear()
        reference = ref(functions) if type(functions) is SharedList else lambda: functions
        self._hash_lists[id(functions)] = (reference, hashes)

    def clear(self) -> None:
        """Forget all hashes, because a staging file was discarded. The next file then contains the
        rows again.
        """
        self.written_hashes.clear()
        self._hash_lists.clear()


class SharedRowWriter:
    """Writes each function doc and each question only once, as a line of JSON with its content
    hash.
    """

    def __init__(self, stream: IO[bytes], cache: SharedRowCache) -> None:
        self.longest_line = 0  # length of the longest line in bytes
        self._stream = stream
        self._cache = cache

    def write_and_hash_functions(self, functions: list[dict[str, Any]]) -> bytes:
        """Write the function docs that no staging file contains yet, and return the hashes of all
        docs as a JSON list.

        Many items share one list of docs, so the hashes of a list are cached.
        """
        cached_hashes = self._cache.find_hash_list(functions)
        if cached_hashes is not None:
            return cached_hashes
        hash_list = [self._write_and_hash_function(function) for function in functions]
        # An original result of orjson would keep a larger buffer in memory.
        hashes = _copy_bytes(orjson.dumps(hash_list))
        self._cache.remember_hash_list(functions, hashes)
        return hashes

    def _write_and_hash_function(self, function: dict[str, Any]) -> str:
        """Write the docs of a function, unless a staging file already has them, and return their
        hash.
        """
        text = redact_api_keys(dump_json(function))
        digest = blake2b(text, digest_size=8).hexdigest()
        if digest not in self._cache.written_hashes:
            self._cache.written_hashes.add(digest)
            name = function.get("name") if isinstance(function, dict) else None
            json_name = dump_json(name if isinstance(name, str) else "")
            self._write_line(
                b'{"hash":"%s","name":%s,"document":%s}\n' % (digest.encode(), json_name, text)
            )
        return digest

    def write_and_hash_question(
        self, opening: SharedList[Message], golden: SharedList[Call]
    ) -> int:
        """Write the question if no staging file contains it yet. Return its hash."""
        text = b'"messages":%b,"calls":%b' % (_serialize_list(opening), _serialize_list(golden))
        question_hash = int.from_bytes(blake2b(text, digest_size=8).digest(), "big", signed=True)
        if question_hash not in self._cache.written_hashes:
            self._cache.written_hashes.add(question_hash)
            self._write_line(b'{"question_hash":%d,%b}\n' % (question_hash, text))
        return question_hash

    def _write_line(self, line: bytes) -> None:
        self.longest_line = max(self.longest_line, len(line))
        self._stream.write(line)


def serialize_item(run_number: int, seq: int, item: Item, shared_writer: SharedRowWriter) -> bytes:
    """Serialise an item as one line of JSON.

    Write its function docs and shared question with `shared_writer`.
    """
    shared_members = _serialize_shared_fields(item)
    question_hash = None
    shared_golden = _get_shared_golden(item)
    if shared_golden is not None:
        question_hash = shared_writer.write_and_hash_question(
            item.shared_opening or _NO_MESSAGES, shared_golden
        )
    own_members = _serialize_run_specific_fields(item, question_hash)
    function_hashes = b"[]"
    if item.functions:
        function_hashes = shared_writer.write_and_hash_functions(item.functions)
    return b'{"run":%d,"seq":%d,"functions":%b,%b,%b}\n' % (
        run_number,
        seq,
        function_hashes,
        own_members,
        shared_members,
    )


def _get_shared_golden(item: Item) -> SharedList[Call] | None:
    """Return the golden calls if the importer shares them between several items, else None.

    Shared golden calls and the opening messages have one row in the table `questions`.
    """
    return item.golden if type(item.golden) is SharedList else None


def _serialize_run_specific_fields(item: Item, question_hash: int | None) -> bytes:
    """Serialise the fields that differ between runs, as a JSON object without braces.

    `question_hash` refers to the shared question, if the item has one.
    """
    values = dict(zip(RUN_SPECIFIC_FIELDS, _get_run_specific(item), strict=True))
    values["n_issues"] = len(item.issues)
    values["question_hash"] = question_hash
    members = _serialize_without_braces(values)
    # `stage_run` redacts the path of the file, so that only the text of an incident can contain a
    # key.
    if item.incident_text is not None:
        return redact_api_keys(members)
    return members


def _serialize_shared_fields(item: Item) -> bytes:
    """Serialise the fields that several runs can share, such as the question and the golden answer,
    as a JSON object without braces. API keys in them are redacted.
    """
    values = dict(zip(_SHARED_FIELDS, _get_shared(item), strict=True))
    values["n_golden"] = len(item.golden)
    values |= _list_own_question_fields(item)
    values["extra"] = item.extra.as_json()
    if item.extra.metadata:
        values["extra"]["more"] = redact_credentials(item.extra.metadata)

    # `_serialize_list` serialises and redacts a list that several items share only once. The lists
    # of this item are redacted with its other values.
    members = []
    for name, elements in zip(_LIST_FIELDS, _get_lists(item), strict=True):
        if type(elements) is SharedList:
            members.append(b'"%b":%b' % (name.encode(), _serialize_list(elements)))
        else:
            values[name] = elements
    members.append(redact_api_keys(_serialize_without_braces(values)))
    return b",".join(members)


def _list_own_question_fields(item: Item) -> dict[str, Any]:
    """Return the golden calls and messages that the row of the item itself stores: all, or without
    those in the table `questions`.
    """
    if _get_shared_golden(item) is None:
        return {"golden": item.golden, "messages": item.messages}
    n_shared_messages = len(item.shared_opening or ())
    return {"golden": (), "messages": item.messages[n_shared_messages:]}


def _serialize_without_braces(values: dict[str, Any]) -> bytes:
    """Serialise a JSON object without its braces, so that the text can be joined with further
    members.
    """
    try:
        text = orjson.dumps(values)
    except (
        TypeError
    ):  # orjson.JSONEncodeError: huge integers, lone surrogates, keys that are not text, too deep
        text = dump_json({name: _dataclasses_to_dicts(value) for name, value in values.items()})
    return text[1:-1]


def _serialize_list(elements: SharedList[Any]) -> bytes:
    if elements.json_text is None:
        elements.json_text = _copy_bytes(redact_api_keys(dump_json(elements)))
    return elements.json_text


def _copy_bytes(data: bytes) -> bytes:
    """Copy bytes before they are cached, because a result of orjson keeps a buffer of several
    kilobytes in memory.
    """
    return bytes(memoryview(data))


def dump_json(value: Any) -> bytes:
    """Serialise a value, even if JSON cannot represent it, such as a huge integer or a text with
    lone surrogates.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(to_plain_json(_dataclasses_to_dicts(value)))


def _dataclasses_to_dicts(value: Any) -> Any:
    """Convert a dataclass of `fcreview.model`, or a list of dataclasses, to dicts.

    Other values stay unchanged.
    """
    if isinstance(value, list):
        return [_dataclasses_to_dicts(element) for element in value]
    if not is_dataclass(value) or isinstance(value, type):
        return value

    plain = {field.name: getattr(value, field.name) for field in fields(value)}
    # The differences of a pair are dataclasses too.
    if "diff" in plain:
        plain["diff"] = _dataclasses_to_dicts(plain["diff"])
    return plain


WRITE_BUFFER_BYTES = 1 << 18
ITEMS_PER_REPORT = 500  # number of items between two calls of `on_progress`


@dataclass(slots=True)
class StagedFile:
    """A file with lines of JSON, which DuckDB loads."""

    path: Path
    longest_line: int = 0  # length of the longest line in bytes
    first_seq: int = 0  # position in the run of the first item of a file with items


@dataclass(slots=True)
class StagedRun:
    """The staging files of a run with its items, and the issues, facts and other data that the
    importer yielded. A run that was read in parts has a file with items for each part.
    """

    run_number: int
    items: list[StagedFile] = field(default_factory=list)
    # function docs and questions, once for all staging files of a process
    shared_rows: list[StagedFile] = field(default_factory=list)
    n_items: int = 0
    # file, line, what, raw, item, severity and seq
    issues: list[dict[str, Any]] = field(default_factory=list)
    facts: list[RunFact] = field(default_factory=list)
    not_run: list[MissingItem] = field(default_factory=list)
    part_summary: Any = None  # content of the summary, if a part of a run was read

    def append(self, part: StagedRun) -> None:
        """Add the next part of the run, whose items follow those of the earlier parts."""
        n_earlier_items = self.n_items
        for file in part.items:
            first_seq = n_earlier_items + file.first_seq
            self.items.append(replace(file, first_seq=first_seq))
        for issue in part.issues:
            seq = issue["seq"]
            self.issues.append(issue | {"seq": None if seq is None else n_earlier_items + seq})
        self.shared_rows += part.shared_rows
        self.n_items += part.n_items
        self.facts += part.facts
        self.not_run += part.not_run


def stage_run(
    records: Iterable[ReadRecord],
    run_number: int,
    path_stem: Path,
    to_stored_path: Callable[[str], str],
    cache: SharedRowCache,
    on_progress: Callable[[int], None] | None = None,
) -> StagedRun:
    """Run an importer, and write its items to staging files, from which DuckDB loads them.

    Function docs and questions, which many items share, are written to a file of their own.
    Exceptions of the importer are not caught.

    Args:
        records: The items, issues and facts of the run. Iterating over them runs the importer.
        run_number: Number of the run.
        path_stem: The staging files are `path_stem`.items and `path_stem`.shared.
        to_stored_path: Converts a path to the form in which the store has it.
        cache: Shared rows that this process has already written.
        on_progress: Gets the number of bytes of result files that the importer has read.
    """
    items = StagedFile(path_stem.with_suffix(".items"))
    shared_file = StagedFile(path_stem.with_suffix(".shared"))
    staged = StagedRun(run_number, items=[items], shared_rows=[shared_file])
    stored_paths = _StoredPaths(to_stored_path)
    if on_progress is not None:
        records = _report_read_bytes(records, on_progress)
    with (
        items.path.open("wb", WRITE_BUFFER_BYTES) as lines,
        shared_file.path.open("wb") as shared_lines,
    ):
        shared_rows = SharedRowWriter(shared_lines, cache)
        for record in records:
            if not isinstance(record, Item):
                _stage_run_record(staged, record)
                continue
            record.file = stored_paths.find(record.file)
            line = _stage_item(staged, record, shared_rows)
            items.longest_line = max(items.longest_line, len(line))
            lines.write(line)
        shared_file.longest_line = shared_rows.longest_line
    return staged


def _report_read_bytes(
    records: Iterable[ReadRecord], on_progress: Callable[[int], None]
) -> Iterator[ReadRecord]:
    """Yield the records, and report after every 500 items how many bytes of result files they
    have.
    """
    n_items = 0
    n_bytes = 0
    for record in records:
        yield record
        if not isinstance(record, Item):
            continue
        n_items += 1
        n_bytes += record.length
        if n_items % ITEMS_PER_REPORT == 0:
            on_progress(n_bytes)


def _stage_item(staged: StagedRun, item: Item, shared_rows: SharedRowWriter) -> bytes:
    """Count an item, add its issues to the run, and return its line."""
    seq = staged.n_items
    item.flags = list_item_flags(item)
    line = serialize_item(staged.run_number, seq, item, shared_rows)
    for issue in item.issues:
        staged.issues.append(_redact_issue(issue, item.id, seq))
    staged.n_items += 1
    return line


class _StoredPaths:
    """Converts the paths of result files, each once, because most items have the same file."""

    def __init__(self, to_stored_path: Callable[[str], str]) -> None:
        self._to_stored_path = to_stored_path
        self._stored_paths: dict[str, str] = {"": ""}

    def find(self, path: str) -> str:
        """Return the path as in the store, without API keys."""
        stored_path = self._stored_paths.get(path)
        if stored_path is None:
            stored_path = redact_api_keys_in_text(self._to_stored_path(path))
            self._stored_paths[path] = stored_path
        return stored_path


def list_item_flags(item: Item) -> list[ItemFlag]:
    """Return the flags of an item, including those that follow from its calls and verdicts.

    `undecoded` marks a reply that the decoder could not read. It is not added to an incident, such
    as a failed request.
    """
    flags: list[ItemFlag] = list(item.flags)
    is_incident = is_counted_incident(item.incident, item.incident_certainty)
    if not is_incident and any(call.decode_error for call in item.predicted):
        flags.append("undecoded")
    if any(verdict.failure for verdict in item.verdicts):
        flags.append("judge_failed")
    return list(dict.fromkeys(flags))


def _stage_run_record(
    staged: StagedRun, record: ImportIssue | RunFact | MissingItem | PartSummary
) -> None:
    """Keep a record that is about the run as a whole, not about an item."""
    match record:
        case ImportIssue():
            staged.issues.append(_redact_issue(record, None, None))
        case RunFact():
            staged.facts.append(record)
        case MissingItem():
            staged.not_run.append(record)
        case PartSummary():
            staged.part_summary = record.content
        case _:
            assert_never(record)


def read_staged_item(file: StagedFile, line_number: int) -> dict[str, Any] | None:
    """Read the item in line `line_number` (from 1) of a file, with its position in the run as
    `seq`; None if the file has fewer lines.
    """
    with file.path.open("rb") as lines:
        line = next(itertools.islice(lines, line_number - 1, None), None)
    if line is None:
        return None
    item: dict[str, Any] = orjson.loads(line)
    return item | {"seq": file.first_seq + item["seq"]}


def redact_json(value: dict[str, Any]) -> Any:
    """Redact credentials and API keys in a JSON object, such as the settings of a run."""
    return orjson.loads(redact_api_keys(dump_json(redact_credentials(value))))


def _redact_issue(issue: ImportIssue, item_id: str | None, seq: int | None) -> dict[str, Any]:
    """Return the fields of an issue, without API keys that a file contains by mistake.

    `item_id` is the item of an issue that names none.
    """
    return {
        **asdict(issue),
        "what": redact_api_keys_in_text(issue.what),
        "raw": _redact_if_any(issue.raw),
        "item": _redact_if_any(issue.item or item_id),
        "seq": seq,
    }


def _redact_if_any(text: str | None) -> str | None:
    """Remove API keys from a text. Return a missing or empty text as it is."""
    if not text:
        return text
    return redact_api_keys_in_text(text)


def serialize_issues(
    issues: Iterable[dict[str, Any]], run_number: int | None, to_stored_path: Callable[[str], str]
) -> Iterator[bytes]:
    """Yield each issue as a row of the table `import_issues`, in the form of a JSON object.

    An issue names its item by its id. The row has the id as `id`, and the number of the item in the
    store as `item`.
    """
    for issue in issues:
        item_id = issue["item"]
        seq = issue.get("seq")
        item_number = None
        if seq is not None and run_number is not None:
            item_number = make_item_number(run_number, seq)

        row = {name: issue[name] for name in ("line", "what", "raw", "severity")}
        row["file"] = to_stored_path(issue["file"]) if issue["file"] else ""
        row["run"] = run_number
        row["id"] = item_id
        row["item"] = item_number
        yield dump_json(row)

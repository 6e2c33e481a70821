"""Columns of `item_rows` that hold a field of `Item` as it is.

An item as a line of JSON, the form in which it reaches DuckDB. Every item of an import passes here, and leaves the
keys it carries behind: verdicts and differences were made before, of the values as they are.

The line is put together of pieces: what many items have in common (`Common`, `Repeated`) is written and searched for
keys once.

A run as files of newline-delimited JSON: items and function documents, ready to be loaded.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import IO, Any
from weakref import ref

import orjson

from fcreview.model.item import RUN_SPECIFIC_FIELDS, Extra, ImportIssue, Item, SharedList
from fcreview.model.json_value import to_plain_json
from fcreview.model.redact import redact_keys_in_text, redact_credentials, redact_keys

ITEM_COLUMNS = (
    "id",
    "category",
    "group",
    "question",
    "official",
    "rule",
    "judge",
    "error_type",
    "rule_error_type",
    "rule_note",
    "n_turns",
    "n_steps",
    "tokens_in",
    "tokens_out",
    "latency",
    "seconds",
    "setting",
    "diff_function",
    "diff_argument",
    "first_difference",
    "diff_golden",
    "diff_predicted",
    "prediction_hash",
    "golden_hash",
    "file",
    "line",
    "offset",
    "length",
)


_REMEMBERED = 20_000
"""Function lists whose hashes are kept."""
_LISTS = ("messages", "golden", "predicted", "pairs", "verdicts")
_ALIKE = tuple(name for name in ITEM_COLUMNS if name not in RUN_SPECIFIC_FIELDS)
_own, _alike, _lists = attrgetter(*RUN_SPECIFIC_FIELDS), attrgetter(*_ALIKE), attrgetter(*_LISTS)


class FunctionCache:
    """Function documents of all runs, by content hash. Lists of them are known by identity, and kept alive if they are
    not `Repeated`: of a large dataset they are let go by the thousand."""

    def __init__(self) -> None:
        self.written_hashes: set[str] = set()
        """Hashes of the documents that are in some part."""
        self.hash_lists: dict[int, tuple[Callable[[], list[dict[str, Any]] | None], bytes]] = {}

    def clear(self) -> None:
        """They are written again: the part they were in is thrown away."""
        self.written_hashes.clear()
        self.hash_lists.clear()


class FunctionWriter:
    """Writes each function document once, and gives its content hash."""

    def __init__(self, stream: IO[bytes], shared: FunctionCache) -> None:
        self.longest_line = 0
        self._stream = stream
        self._shared = shared

    def write(self, functions: list[dict[str, Any]]) -> bytes:
        """Their content hashes as a JSON list."""
        lists = self._shared.hash_lists
        known = lists.get(id(functions))
        if known is None or known[0]() is not functions:
            if len(lists) >= _REMEMBERED:
                lists.clear()
            holder = ref(functions) if type(functions) is SharedList else lambda: functions
            known = lists[id(functions)] = (holder, _trim(orjson.dumps([self._hash(one) for one in functions])))
        return known[1]

    def _hash(self, document: dict[str, Any]) -> str:
        text = redact_keys(dump_json(document))
        digest = blake2b(text, digest_size=8).hexdigest()
        if digest not in self._shared.written_hashes:
            self._shared.written_hashes.add(digest)
            name = document.get("name") if isinstance(document, dict) else None
            named = name if isinstance(name, str) else ""
            line = b'{"hash":"%s","name":%s,"document":%s}\n' % (digest.encode(), dump_json(named), text)
            self.longest_line = max(self.longest_line, len(line))
            self._stream.write(line)
        return digest


def serialize_item(run: int, seq: int, item: Item, functions: FunctionWriter) -> bytes:
    """The item as one line of JSON: its fields, `functions` as hashes, `run` and `seq`."""
    common = item.shared_content
    if common is None:
        text = _common(item)
    else:
        text = common.json_text or _common(item)
        common.json_text = text
    own = dict(zip(RUN_SPECIFIC_FIELDS, _own(item), strict=True))
    own["n_issues"] = len(item.issues)
    hashes = functions.write(item.functions) if item.functions else b"[]"
    return b'{"run":%d,"seq":%d,"functions":%b,%b,%b}\n' % (run, seq, hashes, _inside(own), text)


def _common(item: Item) -> bytes:
    """What other items may have in common with this one, as the inside of a JSON object."""
    rest = dict(zip(_ALIKE, _alike(item), strict=True))
    pieces = []
    for name, values in zip(_LISTS, _lists(item), strict=True):
        if type(values) is SharedList:
            pieces.append(b'"%b":%b' % (name.encode(), values.json_text or _text(values)))
        else:
            rest[name] = values
    rest["extra"] = _extra(item.extra)
    return b",".join([*pieces, _inside(rest)])


def _inside(values: dict[str, Any]) -> bytes:
    """An object's JSON without the braces and without keys."""
    try:
        text = orjson.dumps(values)
    except TypeError:  # orjson.JSONEncodeError: huge integers, lone surrogates, keys that are not text, too deep
        text = orjson.dumps(to_plain_json({name: _shallow(value) for name, value in values.items()}))
    return redact_keys(text[1:-1])


def _text(values: SharedList[Any]) -> bytes:
    """The list as JSON, from now on kept with it."""
    try:
        text = orjson.dumps(values)
    except TypeError:
        text = orjson.dumps(to_plain_json(_shallow(values)))
    values.json_text = _trim(redact_keys(text))
    return values.json_text


def _trim(text: bytes) -> bytes:
    """A copy to keep: what orjson has written holds on to kilobytes, however short it is."""
    return bytes(memoryview(text))


def _extra(extra: Extra) -> dict[str, Any]:
    """Only what is set: most items have nothing."""
    found = extra.as_json()
    if extra.metadata:
        found["more"] = redact_credentials(extra.metadata)
    return found


def dump_json(value: Any) -> bytes:
    """Any JSON-like value as JSON."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(to_plain_json(value))


def _shallow(value: Any) -> Any:
    """Dataclasses of the vocabulary as objects; the data in them as it is."""
    if isinstance(value, list):
        return [_shallow(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        plain = {f.name: getattr(value, f.name) for f in fields(value)}
        return plain | {"diff": _shallow(plain["diff"])} if "diff" in plain else plain
    return value


ITEMS_PER_REPORT = 500
"""Items between two reports of progress."""


@dataclass(slots=True)
class StagedRun:
    """One run as files, ready to load."""

    run_number: int
    items: Path
    functions: Path
    n_items: int = 0
    longest_item: int = 0
    """Bytes of the longest line of `items`."""
    longest_function: int = 0
    """Bytes of the longest line of `functions`."""
    issues: list[dict[str, Any]] = field(default_factory=list)
    """{file, line, what, raw, item, severity} and `seq`, the item's number in the run, or null."""


def stage_run(
    records: Iterable[Item | ImportIssue],
    run_number: int,
    stem: Path,
    to_stored_path: Callable[[str], str],
    cache: FunctionCache,
    on_progress: Callable[[int], None] | None = None,
) -> StagedRun:
    """Writes `stem`.items and `stem`.functions. `short` gives a path as the store keeps it; `report` is told the bytes
    of the result files that were read so far. What `read` raises is passed on."""
    part = StagedRun(run_number, stem.with_suffix(".items"), stem.with_suffix(".functions"))
    paths: dict[str, str] = {}
    n_bytes = seq = 0
    with part.items.open("wb") as lines, part.functions.open("wb") as documents:
        functions = FunctionWriter(documents, cache)
        for item in records:
            if isinstance(item, ImportIssue):
                part.issues.append(_issue(item, None, None))
                continue
            file = paths.get(item.file)
            if file is None:
                file = paths[item.file] = to_stored_path(item.file) if item.file else ""
            item.file = file
            line = serialize_item(run_number, seq, item, functions)
            lines.write(line)
            if len(line) > part.longest_item:
                part.longest_item = len(line)
            if item.issues:
                part.issues.extend(_issue(issue, item.id, seq) for issue in item.issues)
            seq += 1
            n_bytes += item.length
            if on_progress is not None and not seq % ITEMS_PER_REPORT:
                on_progress(n_bytes)
        part.longest_function = functions.longest_line
    part.n_items = seq
    return part


def read_staged_item(staged: StagedRun, number: int) -> dict[str, Any] | None:
    """A line of `part.items`, from 1; None if there is none."""
    with staged.items.open("rb") as lines:
        for line in itertools.islice(lines, number - 1, number):
            found: dict[str, Any] = orjson.loads(line)
            return found
    return None


def redact_json(value: dict[str, Any]) -> Any:
    """Of a run. What names it (model, benchmark, path) stays as it is: it is known by that."""
    return orjson.loads(redact_keys(dump_json(redact_credentials(value))))


def _issue(issue: ImportIssue, item: str | None, seq: int | None) -> dict[str, Any]:
    what, raw = redact_keys_in_text(issue.what), issue.raw and redact_keys_in_text(issue.raw)
    return {**asdict(issue), "what": what, "raw": raw, "item": issue.item or item, "seq": seq}


def serialize_issues(issues: Iterable[dict[str, Any]], run_number: int | None, to_stored_path: Callable[[str], str]) -> Iterator[bytes]:
    """Lines for the table `import_issues`."""
    for issue in issues:
        seq = issue.get("seq")
        row = {k: issue[k] for k in ("line", "what", "raw", "severity")}
        row["file"] = to_stored_path(issue["file"]) if issue["file"] else ""
        row |= {"run": run_number, "item": None if seq is None or run_number is None else (run_number << 32) + seq, "id": issue["item"]}
        yield dump_json(row)

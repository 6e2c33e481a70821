"""Items to newline-delimited JSON: the form in which a run reaches DuckDB. Every item of an import passes here.

One `orjson.dumps` an item, straight from the dataclass; only what orjson refuses is rebuilt by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import orjson

from fcreview.model import ImportIssue, Item
from fcreview.values import json_safe

REPORT_EVERY = 500
"""Items between two reports of progress."""
_REMEMBERED = 20_000
"""Function lists whose hashes are kept; lists are kept alive that long."""


@dataclass(slots=True)
class Part:
    """One run as files, ready to load."""

    run: int
    items: Path
    functions: Path
    n_items: int = 0
    longest: int = 0
    """Bytes of the longest line of either file."""
    issues: list[dict[str, Any]] = field(default_factory=list)
    """{file, line, what, raw, item, severity} and `seq`, the item's number in the run, or null."""


class FunctionDocuments:
    """Writes each function document once, and gives its content hash. `seen` may be shared by several parts."""

    def __init__(self, stream: IO[bytes], seen: set[str]) -> None:
        self.longest = 0
        self._stream = stream
        self._seen = seen
        self._lists: dict[int, tuple[list[dict[str, Any]], list[str]]] = {}

    def hashes(self, documents: list[dict[str, Any]]) -> list[str]:
        known = self._lists.get(id(documents))
        if known is None:
            if len(self._lists) >= _REMEMBERED:
                self._lists.clear()
            known = self._lists[id(documents)] = (documents, [self._hash(document) for document in documents])
        return known[1]

    def _hash(self, document: dict[str, Any]) -> str:
        text = dump(document)
        digest = blake2b(text, digest_size=8).hexdigest()
        if digest not in self._seen:
            self._seen.add(digest)
            name = document.get("name") if isinstance(document, dict) else None
            named = name if isinstance(name, str) else ""
            line = b'{"hash":"%s","name":%s,"document":%s}\n' % (digest.encode(), dump(named), text)
            self.longest = max(self.longest, len(line))
            self._stream.write(line)
        return digest


def write_part(
    read: Iterable[Item | ImportIssue],
    run: int,
    stem: Path,
    short: Callable[[str], str],
    seen: set[str],
    report: Callable[[int], None] | None = None,
) -> Part:
    """Writes `stem`.items and `stem`.functions. `short` gives a path as the store keeps it; `report` is told the bytes
    of the result files that were read so far. What `read` raises is passed on."""
    part = Part(run, stem.with_suffix(".items"), stem.with_suffix(".functions"))
    paths: dict[str, str] = {}
    n_bytes = seq = 0
    with part.items.open("wb") as lines, part.functions.open("wb") as documents:
        functions = FunctionDocuments(documents, seen)
        for item in read:
            if isinstance(item, ImportIssue):
                part.issues.append(_issue(item, None, None))
                continue
            file = paths.get(item.file)
            if file is None:
                file = paths[item.file] = short(item.file) if item.file else ""
            item.file = file
            line = item_line(run, seq, item, functions)
            lines.write(line)
            if len(line) > part.longest:
                part.longest = len(line)
            if item.issues:
                part.issues.extend(_issue(issue, item.id, seq) for issue in item.issues)
            seq += 1
            n_bytes += item.length
            if report is not None and not seq % REPORT_EVERY:
                report(n_bytes)
        part.longest = max(part.longest, functions.longest)
    part.n_items = seq
    return part


def item_line(run: int, seq: int, item: Item, functions: FunctionDocuments) -> bytes:
    """The item as one line of JSON: its fields, `functions` as hashes, `run` and `seq`."""
    documents = item.functions
    item.functions = functions.hashes(documents) if documents else documents  # type: ignore[assignment]
    try:
        line = orjson.dumps(item)
    except TypeError:  # orjson.JSONEncodeError: huge integers, lone surrogates, keys that are not text, too deep
        line = orjson.dumps(json_safe(_plain(item)))
    finally:
        item.functions = documents
    return b'{"run":%d,"seq":%d,%s\n' % (run, seq, line[1:])


def dump(value: Any) -> bytes:
    """Any JSON-like value as JSON."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(json_safe(value))


def _plain(item: Item) -> dict[str, Any]:
    """The item's own dataclasses as objects; the data in them as it is."""
    return {f.name: _shallow(getattr(item, f.name)) for f in fields(item)}


def _shallow(value: Any) -> Any:
    if isinstance(value, list):
        return [_shallow(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        plain = {f.name: getattr(value, f.name) for f in fields(value)}
        return plain | {"diff": _shallow(plain["diff"])} if "diff" in plain else plain
    return value


def _issue(issue: ImportIssue, item: str | None, seq: int | None) -> dict[str, Any]:
    return {**asdict(issue), "item": issue.item or item, "seq": seq}


def issue_rows(issues: Iterable[dict[str, Any]], run: int | None, short: Callable[[str], str]) -> Iterator[bytes]:
    """Lines for the table `import_issues`."""
    for issue in issues:
        seq = issue.get("seq")
        row = {k: issue[k] for k in ("line", "what", "raw", "severity")}
        row["file"] = short(issue["file"]) if issue["file"] else ""
        row |= {"run": run, "item": None if seq is None or run is None else (run << 32) + seq, "id": issue["item"]}
        yield dump(row)

"""Items to newline-delimited JSON: the form in which a run reaches DuckDB. Every item of an import passes here, and
leaves the keys it carries behind: verdicts and differences were made before, of the values as they are.

One `orjson.dumps` an item, straight from the dataclass; only what orjson refuses is rebuilt by hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import orjson

from fcreview.extra import Extra
from fcreview.model import ImportIssue, Item
from fcreview.text.redact import text_without_keys, without_credentials, without_keys
from fcreview.values import json_safe

REPORT_EVERY = 500
"""Items between two reports of progress."""
_REMEMBERED = 20_000
"""Function lists whose hashes are kept; lists are kept alive that long."""
_KEPT = 8_000_000
"""Bytes of calls and pairs that are kept as JSON."""
_LARGE = 4096
"""Bytes beyond which they are not kept: as objects they take many times that."""


@dataclass(slots=True)
class Part:
    """One run as files, ready to load."""

    run: int
    items: Path
    functions: Path
    n_items: int = 0
    longest: int = 0
    """Bytes of the longest line of `items`."""
    longest_document: int = 0
    """Bytes of the longest line of `functions`."""
    issues: list[dict[str, Any]] = field(default_factory=list)
    """{file, line, what, raw, item, severity} and `seq`, the item's number in the run, or null."""


class Shared:
    """What many items have in common, worked out once for all runs: function documents, by content hash, and calls
    and pairs as JSON. Lists are known by identity, and kept alive."""

    def __init__(self) -> None:
        self.written: set[str] = set()
        """Hashes of the documents that are in some part."""
        self.hashes: dict[int, tuple[list[dict[str, Any]], list[str]]] = {}
        self._texts: dict[int, tuple[list[Any], orjson.Fragment]] = {}
        self._size = 0

    def text(self, values: list[Any]) -> Any:
        """What orjson writes as the list; the list itself if it refuses it."""
        if not values:
            return values
        known = self._texts.get(id(values))
        if known is None:
            try:
                text = orjson.dumps(values)
            except TypeError:
                return values
            if len(text) > _LARGE:
                return orjson.Fragment(text)
            self._size += len(text)
            if self._size > _KEPT:
                self._texts.clear()
                self._size = len(text)
            known = self._texts[id(values)] = (values, orjson.Fragment(text))
        return known[1]

    def forget_documents(self) -> None:
        """They are written again: the part they were in is thrown away."""
        self.written.clear()
        self.hashes.clear()


class FunctionDocuments:
    """Writes each function document once, and gives its content hash."""

    def __init__(self, stream: IO[bytes], shared: Shared) -> None:
        self.longest = 0
        self._stream = stream
        self._shared = shared

    def hashes(self, documents: list[dict[str, Any]]) -> list[str]:
        lists = self._shared.hashes
        known = lists.get(id(documents))
        if known is None:
            if len(lists) >= _REMEMBERED:
                lists.clear()
            known = lists[id(documents)] = (documents, [self._hash(document) for document in documents])
        return known[1]

    def _hash(self, document: dict[str, Any]) -> str:
        text = without_keys(dump(document))
        digest = blake2b(text, digest_size=8).hexdigest()
        if digest not in self._shared.written:
            self._shared.written.add(digest)
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
    shared: Shared,
    report: Callable[[int], None] | None = None,
) -> Part:
    """Writes `stem`.items and `stem`.functions. `short` gives a path as the store keeps it; `report` is told the bytes
    of the result files that were read so far. What `read` raises is passed on."""
    part = Part(run, stem.with_suffix(".items"), stem.with_suffix(".functions"))
    paths: dict[str, str] = {}
    n_bytes = seq = 0
    with part.items.open("wb") as lines, part.functions.open("wb") as documents:
        functions = FunctionDocuments(documents, shared)
        for item in read:
            if isinstance(item, ImportIssue):
                part.issues.append(_issue(item, None, None))
                continue
            file = paths.get(item.file)
            if file is None:
                file = paths[item.file] = short(item.file) if item.file else ""
            item.file = file
            line = item_line(run, seq, item, functions, shared)
            lines.write(line)
            if len(line) > part.longest:
                part.longest = len(line)
            if item.issues:
                part.issues.extend(_issue(issue, item.id, seq) for issue in item.issues)
            seq += 1
            n_bytes += item.length
            if report is not None and not seq % REPORT_EVERY:
                report(n_bytes)
        part.longest_document = functions.longest
    part.n_items = seq
    return part


def item_line(run: int, seq: int, item: Item, functions: FunctionDocuments, shared: Shared) -> bytes:
    """The item as one line of JSON: its fields, `functions` as hashes, `run` and `seq`."""
    documents, golden, predicted, pairs, extra = item.functions, item.golden, item.predicted, item.pairs, item.extra
    if documents:
        item.functions = functions.hashes(documents)  # type: ignore[assignment]
    item.golden, item.predicted, item.pairs = shared.text(golden), shared.text(predicted), shared.text(pairs)
    item.extra = _extra(extra)  # type: ignore[assignment]
    try:
        line = orjson.dumps(item)
    except TypeError:  # orjson.JSONEncodeError: huge integers, lone surrogates, keys that are not text, too deep
        item.golden, item.predicted, item.pairs = golden, predicted, pairs
        line = orjson.dumps(json_safe(_plain(item)))
    finally:
        item.functions, item.golden, item.predicted, item.pairs = documents, golden, predicted, pairs
        item.extra = extra
    return b'{"run":%d,"seq":%d,%s\n' % (run, seq, without_keys(line[1:]))


def _extra(extra: Extra) -> dict[str, Any]:
    """Only what is set: most items have nothing."""
    found = extra.as_json()
    if extra.more:
        found["more"] = without_credentials(extra.more)
    return found


def read_line(part: Part, number: int) -> dict[str, Any] | None:
    """A line of `part.items`, from 1; None if there is none."""
    with part.items.open("rb") as lines:
        for line in itertools.islice(lines, number - 1, number):
            found: dict[str, Any] = orjson.loads(line)
            return found
    return None


def dump(value: Any) -> bytes:
    """Any JSON-like value as JSON."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(json_safe(value))


def settings_without_keys(value: dict[str, Any]) -> Any:
    """Of a run. What names it (model, benchmark, path) stays as it is: it is known by that."""
    return orjson.loads(without_keys(dump(without_credentials(value))))


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
    what, raw = text_without_keys(issue.what), issue.raw and text_without_keys(issue.raw)
    return {**asdict(issue), "what": what, "raw": raw, "item": issue.item or item, "seq": seq}


def issue_rows(issues: Iterable[dict[str, Any]], run: int | None, short: Callable[[str], str]) -> Iterator[bytes]:
    """Lines for the table `import_issues`."""
    for issue in issues:
        seq = issue.get("seq")
        row = {k: issue[k] for k in ("line", "what", "raw", "severity")}
        row["file"] = short(issue["file"]) if issue["file"] else ""
        row |= {"run": run, "item": None if seq is None or run is None else (run << 32) + seq, "id": issue["item"]}
        yield dump(row)

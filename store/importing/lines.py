"""An item as a line of JSON, the form in which it reaches DuckDB. Every item of an import passes here, and leaves the
keys it carries behind: verdicts and differences were made before, of the values as they are.

The line is put together of pieces: what many items have in common (`Common`, `Repeated`) is written and searched for
keys once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from operator import attrgetter
from typing import IO, Any
from weakref import ref

import orjson

from fcreview.extra import Extra
from fcreview.model import OWN, Item, Repeated
from fcreview.store.importing.columns import PLAIN
from fcreview.text.redact import without_credentials, without_keys
from fcreview.values import json_safe

_REMEMBERED = 20_000
"""Function lists whose hashes are kept."""
_LISTS = ("messages", "golden", "predicted", "pairs", "verdicts")
_ALIKE = tuple(name for name in PLAIN if name not in OWN)
_own, _alike, _lists = attrgetter(*OWN), attrgetter(*_ALIKE), attrgetter(*_LISTS)


class Shared:
    """Function documents of all runs, by content hash. Lists of them are known by identity, and kept alive if they are
    not `Repeated`: of a large dataset they are let go by the thousand."""

    def __init__(self) -> None:
        self.written: set[str] = set()
        """Hashes of the documents that are in some part."""
        self.hashes: dict[int, tuple[Callable[[], list[dict[str, Any]] | None], bytes]] = {}

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

    def hashes(self, documents: list[dict[str, Any]]) -> bytes:
        """Their content hashes as a JSON list."""
        lists = self._shared.hashes
        known = lists.get(id(documents))
        if known is None or known[0]() is not documents:
            if len(lists) >= _REMEMBERED:
                lists.clear()
            holder = ref(documents) if type(documents) is Repeated else lambda: documents
            known = lists[id(documents)] = (holder, _trim(orjson.dumps([self._hash(one) for one in documents])))
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


def item_line(run: int, seq: int, item: Item, functions: FunctionDocuments) -> bytes:
    """The item as one line of JSON: its fields, `functions` as hashes, `run` and `seq`."""
    common = item.common
    if common is None:
        text = _common(item)
    else:
        text = common.text or _common(item)
        common.text = text
    own = dict(zip(OWN, _own(item), strict=True))
    own["n_issues"] = len(item.issues)
    hashes = functions.hashes(item.functions) if item.functions else b"[]"
    return b'{"run":%d,"seq":%d,"functions":%b,%b,%b}\n' % (run, seq, hashes, _inside(own), text)


def _common(item: Item) -> bytes:
    """What other items may have in common with this one, as the inside of a JSON object."""
    rest = dict(zip(_ALIKE, _alike(item), strict=True))
    pieces = []
    for name, values in zip(_LISTS, _lists(item), strict=True):
        if type(values) is Repeated:
            pieces.append(b'"%b":%b' % (name.encode(), values.text or _text(values)))
        else:
            rest[name] = values
    rest["extra"] = _extra(item.extra)
    return b",".join([*pieces, _inside(rest)])


def _inside(values: dict[str, Any]) -> bytes:
    """An object's JSON without the braces and without keys."""
    try:
        text = orjson.dumps(values)
    except TypeError:  # orjson.JSONEncodeError: huge integers, lone surrogates, keys that are not text, too deep
        text = orjson.dumps(json_safe({name: _shallow(value) for name, value in values.items()}))
    return without_keys(text[1:-1])


def _text(values: Repeated[Any]) -> bytes:
    """The list as JSON, from now on kept with it."""
    try:
        text = orjson.dumps(values)
    except TypeError:
        text = orjson.dumps(json_safe(_shallow(values)))
    values.text = _trim(without_keys(text))
    return values.text


def _trim(text: bytes) -> bytes:
    """A copy to keep: what orjson has written holds on to kilobytes, however short it is."""
    return bytes(memoryview(text))


def _extra(extra: Extra) -> dict[str, Any]:
    """Only what is set: most items have nothing."""
    found = extra.as_json()
    if extra.more:
        found["more"] = without_credentials(extra.more)
    return found


def dump(value: Any) -> bytes:
    """Any JSON-like value as JSON."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(json_safe(value))


def _shallow(value: Any) -> Any:
    """Dataclasses of the vocabulary as objects; the data in them as it is."""
    if isinstance(value, list):
        return [_shallow(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        plain = {f.name: getattr(value, f.name) for f in fields(value)}
        return plain | {"diff": _shallow(plain["diff"])} if "diff" in plain else plain
    return value

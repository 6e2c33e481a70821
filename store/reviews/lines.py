"""A line of a journal: written, read back, checked. Nothing here touches a file.

A line is a `ReviewEvent` as JSON. Journals are read whole at every start, so lines are checked by hand into light
`Event`s rather than pydantic models, and nobody waits for pydantic to load; whatever passes here also passes
`ReviewEvent`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from itertools import pairwise
from sys import intern
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.faults import FAULTS

if TYPE_CHECKING:
    from fcreview.review import ReviewEvent

Key = tuple[str, str, str, str, str, str]
"""The fields of `ItemKey` in their order."""

KEY_FIELDS = ("benchmark", "generation", "language", "model", "category", "id")
VERSION = 1
ACTS = ("review", "retract", "adjudicate")
_TEXTS = ("event", "time", "annotator", "act")
_OPTIONAL_TEXTS = ("prediction_hash", "golden_hash", "target", "criterion", "previous", "hash")
_STR = {str}


class LineError(ValueError):
    """Why a line is set aside: never counted, never deleted."""


@dataclass(slots=True)
class Event:
    """A `ReviewEvent` as it is kept in memory; see there for what the fields mean."""

    event: str
    time: str
    annotator: str
    act: str
    key: Key
    prediction_hash: str = ""
    golden_hash: str = ""
    target: str = "item"
    criterion: str = "correct"
    verdict: Any = None
    fault: str | None = None
    tags: list[str] | None = None
    note: str | None = None
    golden_fix: dict[str, Any] | None = None
    retracts: str | None = None
    previous: str = ""
    hash: str = ""
    version: int = VERSION
    extra: dict[str, Any] | None = None
    """Fields of a newer version."""

    def model(self) -> ReviewEvent:
        """The same event in the vocabulary of `fcreview.review`."""
        from fcreview.review import ReviewEvent

        content = {name: getattr(self, name) for name in _KNOWN}
        content["key"] = dict(zip(KEY_FIELDS, self.key, strict=True))
        return ReviewEvent.model_validate({**(self.extra or {}), **content})


_KNOWN = frozenset(field.name for field in fields(Event)) - {"extra"}
"""The fields of `ReviewEvent`."""


def digest(content: dict[str, Any]) -> str:
    """The `hash` of an event: blake2b-16 of its canonical JSON (sorted keys, compact) without `hash`."""
    bare = content.copy()
    bare.pop("hash", None)
    return blake2b(orjson.dumps(bare, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()


def seal(event: ReviewEvent, previous: str) -> tuple[Event, bytes]:
    """The event with its place in the chain and its hash, and the line (with its newline) that says so.

    Fields that are None are left out. LineError if something cannot be written as JSON (an integer over 64 bits, say).
    """
    content = {name: _clean(value) for name, value in event.model_dump().items() if value is not None}
    content["previous"] = previous
    try:
        content = orjson.loads(orjson.dumps(content))  # what readers will see is what is hashed
        content["hash"] = digest(content)
        line = orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)
    except (TypeError, ValueError) as error:
        raise LineError(f"cannot be written as JSON: {error}") from None
    return parse_line(line), line


def parse_line(line: bytes) -> Event:
    """The event of one line. LineError says why it is set aside: not JSON, wrong shape, altered."""
    try:
        content = orjson.loads(line)
    except ValueError:
        raise LineError("not readable as JSON") from None
    if not isinstance(content, dict):
        raise LineError("not a JSON object")
    _check(content)
    try:
        sealed = digest(content)
    except (TypeError, ValueError):
        raise LineError("nested too deeply") from None
    if content.get("hash") != sealed:
        raise LineError("altered: its hash does not fit its content")
    return _event(content)


def stated_hash(line: bytes) -> str | None:
    """The hash a line claims, even if the line is set aside: what follows an altered line is not broken itself."""
    try:
        content = orjson.loads(line)
    except ValueError:
        return None
    stated = content.get("hash") if isinstance(content, dict) else None
    return stated if isinstance(stated, str) else None


def in_chain_order(events: Sequence[Event]) -> list[Event]:
    """Each event after the one it names as `previous`, else by time: a union of two copies reads like one journal."""
    if all(after.previous == before.hash for before, after in pairwise(events)):
        return list(events)
    position = {event.hash: number for number, event in enumerate(events)}
    followers: dict[int, list[int]] = {}
    ready: list[tuple[str, str, int]] = []
    for number, event in enumerate(events):
        parent = position.get(event.previous)
        if parent is None or parent == number:
            heapq.heappush(ready, (event.time, event.event, number))
        else:
            followers.setdefault(parent, []).append(number)
    ordered: list[Event] = []
    while ready:
        *_, number = heapq.heappop(ready)
        ordered.append(events[number])
        for follower in followers.get(number, ()):
            heapq.heappush(ready, (events[follower].time, events[follower].event, follower))
    return ordered


def retractions(events: Iterable[Event]) -> set[tuple[str, str]]:
    """(event, annotator) of what was taken back. Nobody takes back what another said."""
    return {(event.retracts, event.annotator) for event in events if event.act == "retract" and event.retracts}


def last_act(events: Sequence[Event], annotator: str) -> Event | None:
    """The annotator's latest act that was not retracted."""
    gone = retractions(events)
    for event in reversed(events):
        mine = event.annotator == annotator and event.act != "retract"
        if mine and (event.event, annotator) not in gone:
            return event
    return None


def _check(content: dict[str, Any]) -> None:
    get = content.get
    version = get("version", VERSION)
    if type(version) is not int or version < 1:
        raise LineError("version is not a number")
    newer = " (written by a newer version)" if version > VERSION else ""
    for name in _TEXTS:
        if type(get(name)) is not str:
            raise LineError(f"{name} is missing or not text{newer}")
    for name in _OPTIONAL_TEXTS:
        if type(get(name, "")) is not str:
            raise LineError(f"{name} is not text{newer}")
    if content["act"] not in ACTS or not content["event"]:
        raise LineError(f"unknown act{newer}")
    key = get("key")
    if type(key) is not dict or len(key) != 6 or {*map(type, map(key.get, KEY_FIELDS))} != _STR:
        raise LineError(f"key has not the fields {', '.join(KEY_FIELDS)}{newer}")
    for name in content.keys() & _SHAPES.keys():
        value = content[name]
        if value is not None and not _SHAPES[name](value):
            raise LineError(f"{name} is of the wrong type{newer}")
    if content["act"] == "retract" and not get("retracts"):
        raise LineError("a retraction that names no event")


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


_SHAPES: dict[str, Callable[[Any], bool]] = {
    "verdict": lambda value: isinstance(value, (bool, int, str)) or _texts(value),
    "fault": lambda value: isinstance(value, str) and value in FAULTS,
    "tags": _texts,
    "note": lambda value: isinstance(value, str),
    "golden_fix": lambda value: isinstance(value, dict),
    "retracts": lambda value: isinstance(value, str),
}


def _event(content: dict[str, Any]) -> Event:
    key = content["key"]
    get = content.get
    extra = None if content.keys() <= _KNOWN else {name: content[name] for name in content if name not in _KNOWN}
    return Event(
        content["event"],
        content["time"],
        intern(content["annotator"]),
        intern(content["act"]),
        (
            intern(key["benchmark"]),
            intern(key["generation"]),
            intern(key["language"]),
            intern(key["model"]),
            intern(key["category"]),
            key["id"],
        ),
        get("prediction_hash", ""),
        get("golden_hash", ""),
        intern(get("target", "item")),
        intern(get("criterion", "correct")),
        get("verdict"),
        get("fault"),
        get("tags"),
        get("note"),
        get("golden_fix"),
        get("retracts"),
        get("previous", ""),
        content["hash"],
        get("version", VERSION),
        extra,
    )


def _clean(value: Any) -> Any:
    """Lone surrogates (undecodable bytes typed in a terminal) cannot be written as UTF-8: they become U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_clean(name): _clean(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_clean(part) for part in value]
    return value

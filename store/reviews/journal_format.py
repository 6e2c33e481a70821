"""A line of a journal: written, read back, checked. Nothing here touches a file.

A line is a `fcreview.model.review.Event` as JSON. Whoever reads a journal gets each line checked field by field; a line
that does not pass is set aside with the reason, never counted and never deleted.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import fields
from itertools import pairwise
from sys import intern
from typing import Any

import orjson

from fcreview.model.json_value import json_hash
from fcreview.model.review import ACTS, OPTIONAL_FIELDS, JOURNAL_VERSION, Event, ItemKey, describe_field_error

_KEY = frozenset(ItemKey._fields)
_WRITTEN = tuple(field.name for field in fields(Event) if field.name not in ("extra", "hash"))
_KNOWN = {*_WRITTEN, "hash"}
_NEEDED = ("event", "time", "annotator", "act")
_TEXTS = ("prediction_hash", "golden_hash", "target", "criterion", "previous", "hash")
_REPEATED = ("annotator", "act", "target", "criterion")
"""Texts that many lines share: kept once in memory."""
_STR = {str}


class LineError(ValueError):
    """Why a line is set aside: never counted, never deleted."""


def hash_event(content: dict[str, Any]) -> str:
    """The `hash` of an event: blake2b-16 of its canonical JSON (sorted keys, compact) without `hash`."""
    bare = content.copy()
    bare.pop("hash", None)
    return json_hash(bare, 16)


def seal_event(event: Event, previous: str) -> tuple[Event, bytes]:
    """The event with its place in the chain and its hash, and the line (with its newline) that says so.

    Fields that are None are left out. LineError for a value that its field cannot have, and for what cannot be written
    as JSON (an integer over 64 bits, say).
    """
    content = {name: value for name in _WRITTEN if (value := getattr(event, name)) is not None}
    content["key"] = event.key._asdict()
    content = {name: _clean(value) for name, value in ({**(event.extra or {}), **content}).items()}
    content["previous"] = previous
    _check(content)
    try:
        content = orjson.loads(orjson.dumps(content))  # what readers will see is what is hashed
        content["hash"] = hash_event(content)  # last, so that the end of a journal tells it from any other
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
        sealed = hash_event(content)
    except (TypeError, ValueError):
        raise LineError("nested too deeply") from None
    if content.get("hash") != sealed:
        raise LineError("altered: its hash does not fit its content")
    return _event(content)


def parse_verified_line(line: bytes) -> Event:
    """The event of a line that `parse_line` took before; nothing is checked again."""
    return _event(orjson.loads(line))


def read_stated_hash(line: bytes) -> str | None:
    """The hash a line claims, even if the line is set aside: what follows an altered line is not broken itself."""
    try:
        content = orjson.loads(line)
    except ValueError:
        return None
    stated = content.get("hash") if isinstance(content, dict) else None
    return stated if isinstance(stated, str) else None


def sort_by_chain(events: Sequence[Event]) -> list[Event]:
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


def _check(content: dict[str, Any]) -> None:
    """LineError for content that is not an event."""
    version = content.get("version", JOURNAL_VERSION)
    if type(version) is not int or version < 1:
        raise LineError("version is not a number")
    if wrong := _problem(content):
        raise LineError(wrong + (" (written by a newer version)" if version > JOURNAL_VERSION else ""))


def _problem(content: dict[str, Any]) -> str | None:
    get = content.get
    for name in _NEEDED:
        if type(get(name)) is not str:
            return f"{name} is missing or not text"
    for name in _TEXTS:
        if type(get(name, "")) is not str:
            return f"{name} is not text"
    if content["act"] not in ACTS or not content["event"]:
        return "unknown act"
    key = get("key")
    if type(key) is not dict or key.keys() != _KEY or {*map(type, key.values())} != _STR:
        return f"key has not the fields {', '.join(ItemKey._fields)}"
    for name in OPTIONAL_FIELDS:
        value = get(name)
        if value is not None and (wrong := describe_field_error(name, value)):
            return wrong
    return "a retraction that names no event" if content["act"] == "retract" and not get("retracts") else None


def _event(content: dict[str, Any]) -> Event:
    if not content.keys() <= _KNOWN:
        extra = {name: content[name] for name in content if name not in _KNOWN}
        content = {name: content[name] for name in content if name in _KNOWN} | {"extra": extra}
    for name in _REPEATED:
        if name in content:
            content[name] = intern(content[name])
    key = content["key"]
    content["key"] = ItemKey(
        intern(key["benchmark"]),
        intern(key["generation"]),
        intern(key["language"]),
        intern(key["model"]),
        intern(key["category"]),
        key["id"],
    )
    return Event(**content)


def _clean(value: Any) -> Any:
    """Lone surrogates (undecodable bytes typed in a terminal) cannot be written as UTF-8: they become U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_clean(name): _clean(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_clean(part) for part in value]
    return value

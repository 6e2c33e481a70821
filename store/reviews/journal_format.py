"""Write, parse and validate a journal line, which is one `fcreview.model.review.Event` as JSON.

Readers validate every field. An invalid line is skipped and reported with the reason. It never counts and is never
deleted.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import pairwise
from sys import intern
from typing import Any

import orjson

from fcreview.model.json_value import canonical_json, json_hash
from fcreview.model.review import ACTS, JOURNAL_VERSION, OPTIONAL_FIELDS, Event, ItemKey, describe_field_error

_KEY_FIELDS = frozenset(ItemKey._fields)
_WRITTEN_FIELDS = tuple(field.name for field in fields(Event) if field.name not in ("extra", "hash"))
_KNOWN_FIELDS = {*_WRITTEN_FIELDS, "hash"}
_REQUIRED_TEXT_FIELDS = ("event", "time", "annotator", "act")
_TEXT_FIELDS = ("prediction_hash", "golden_hash", "target", "criterion", "previous", "hash")
_INTERNED_FIELDS = ("annotator", "act", "target", "criterion")
"""Text fields with the same value in many lines. Interning stores each value only once in memory."""
_STR = {str}


class LineError(ValueError):
    """Raised for a line that readers skip. The message states the reason."""


def hash_event(content: dict[str, Any]) -> str:
    """Return the `hash` of an event: BLAKE2b (16 bytes, in hex) of its canonical JSON without the field `hash`."""
    unhashed = content.copy()
    unhashed.pop("hash", None)
    return json_hash(unhashed, 16)


def seal_event(event: Event, previous: str) -> tuple[Event, bytes]:
    """Return the event with its `previous` and `hash`, and its line with a newline.

    Fields that are None are omitted. Raises LineError for a value that its field cannot have, and for a value that
    cannot be written as JSON, such as an integer of more than 64 bits.
    """
    content = {name: value for name in _WRITTEN_FIELDS if (value := getattr(event, name)) is not None}
    content["key"] = event.key._asdict()
    content = {name: _replace_surrogates(value) for name, value in ({**(event.extra or {}), **content}).items()}
    content["previous"] = previous
    _validate_event(content)
    try:
        # Readers hash the parsed line, so the hash is computed from parsed JSON here too.
        content = orjson.loads(orjson.dumps(content))
        # The hash is the last field, so that the last bytes of a journal identify its content.
        content["hash"] = hash_event(content)
        line = orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)
    except (TypeError, ValueError) as error:
        raise LineError(f"cannot be written as JSON: {error}") from None
    return _to_event(content), line


def parse_line(line: bytes) -> Event:
    """Parse and validate a line. Raises LineError if it is not JSON, lacks a field, or was altered."""
    try:
        content = orjson.loads(line)
    except ValueError:
        raise LineError("not valid JSON") from None
    if not isinstance(content, dict):
        raise LineError("not a JSON object")
    _validate_event(content)
    try:
        expected_hash = hash_event(content)
    except (TypeError, ValueError):
        raise LineError("nested too deeply") from None
    if content.get("hash") != expected_hash:
        raise LineError("altered: the hash does not match the content")
    return _to_event(content)


def parse_verified_line(line: bytes) -> Event:
    """Parse a line that `parse_line` has accepted before, without validation."""
    return _to_event(orjson.loads(line))


def read_stated_hash(line: bytes) -> str | None:
    """Return the `hash` field of a line that may be invalid.

    Readers use this hash so that the event after an altered line is not reported as a break of the chain.
    """
    try:
        content = orjson.loads(line)
    except ValueError:
        return None
    stated = content.get("hash") if isinstance(content, dict) else None
    return stated if isinstance(stated, str) else None


def is_same_event(one: Event, other: Event) -> bool:
    """Whether two lines contain the same event. The preceding events may differ, for example if the same labels were
    imported into two copies of a workspace."""
    return one.hash == other.hash or _content_without_chain(one) == _content_without_chain(other)


def _content_without_chain(event: Event) -> bytes:
    return canonical_json(replace(event, previous="", hash=""), tuple)


def sort_by_chain(events: Sequence[Event], *, is_partial: bool = False) -> list[Event]:
    """Sort the events of one journal, given in file order, so that each event follows its `previous` event.

    First events and events with the same `previous` event come from merged copies of the journal. They are sorted by
    time, so that the order is the same in every copy. An event whose previous line is lost stays after the event before
    it in the file. In a partial journal, where that is the rule, such events are sorted by time as first events are.
    """
    if all(after.previous == before.hash for before, after in pairwise(events)):
        return list(events)
    position = {event.hash: number for number, event in enumerate(events)}
    chained = [position.get(event.previous, _NONE) for event in events]
    parents, before_gap = list(chained), dict[str, int]()
    for number, event in enumerate(events):
        if chained[number] == _NONE and event.previous and not is_partial:
            # Branches that begin at the same lost line also begin at the same event.
            parents[number] = before_gap.setdefault(event.previous, number - 1)
    ordered = _sort_tree(events, parents)
    # If the lines were reordered, the event before a gap can itself depend on an event after the gap.
    return ordered if len(ordered) == len(events) else _sort_tree(events, chained)


_NONE = -1
"""Parent number of an event without a preceding event."""


def _sort_tree(events: Sequence[Event], parents: Sequence[int]) -> list[Event]:
    """Return the events sorted by time, except that each event follows its parent. Parents are given by number.

    Events that do not descend from an event without a parent are omitted.
    """
    followers: dict[int, list[int]] = {}
    for number, parent in enumerate(parents):
        followers.setdefault(parent, []).append(number)
    ordered: list[Event] = []
    ready: list[tuple[str, str, str, int]] = []
    latest = _NONE
    while True:
        for number in followers.get(latest, ()):
            event = events[number]
            heapq.heappush(ready, (event.time, event.event, event.hash, number))
        if not ready:
            return ordered
        latest = heapq.heappop(ready)[-1]
        ordered.append(events[latest])


def _validate_event(content: dict[str, Any]) -> None:
    """Raise LineError for content that is not an event."""
    version = content.get("version", JOURNAL_VERSION)
    if type(version) is not int or version < 1:
        raise LineError("version is not a positive number")
    if problem := _describe_problem(content):
        raise LineError(problem + (" (written by a newer version)" if version > JOURNAL_VERSION else ""))


def _describe_problem(content: dict[str, Any]) -> str | None:
    get = content.get
    for name in _REQUIRED_TEXT_FIELDS:
        if type(get(name)) is not str:
            return f"{name} is missing or not a string"
    for name in _TEXT_FIELDS:
        if type(get(name, "")) is not str:
            return f"{name} is not a string"
    if not content["event"]:
        return "event id is empty"
    if content["act"] not in ACTS:
        return "unknown act"
    key = get("key")
    if type(key) is not dict or key.keys() != _KEY_FIELDS or {*map(type, key.values())} != _STR:
        return f"key must be an object with the text fields {', '.join(ItemKey._fields)}"
    for name in OPTIONAL_FIELDS:
        value = get(name)
        if value is not None and (problem := describe_field_error(name, value)):
            return problem
    return "retraction without the id of an event" if content["act"] == "retract" and not get("retracts") else None


def _to_event(content: dict[str, Any]) -> Event:
    if not content.keys() <= _KNOWN_FIELDS:
        extra = {name: content[name] for name in content if name not in _KNOWN_FIELDS}
        content = {name: content[name] for name in content if name in _KNOWN_FIELDS} | {"extra": extra}
    for name in _INTERNED_FIELDS:
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


def _replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which come from undecodable bytes of a terminal and are not valid UTF-8, by U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_replace_surrogates(name): _replace_surrogates(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_replace_surrogates(part) for part in value]
    return value

"""Streams of Cohere's second chat API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.dialects.streams.pieces import JsonObject, Pieces, StreamForm

START = "message-start"
END = "message-end"
PIECE_ENDING = "-delta"
"""Ending of the types of events with a piece of a text or a call."""
EVENTS = (
    START,
    "content-start",
    "content-delta",
    "content-end",
    "tool-plan-delta",
    "tool-call-start",
    "tool-call-delta",
    "tool-call-end",
    "citation-start",
    "citation-end",
    "debug",
    END,
)


def _is_start(event: JsonObject) -> bool:
    return event.get("type") == START


def _is_event(event: JsonObject) -> bool:
    """Whether an event has a known type, and the piece that belongs to it."""
    kind = event.get("type")
    if isinstance(kind, str) and kind.endswith(PIECE_ENDING):
        return isinstance(as_object(event.get("delta")).get("message"), dict)
    return kind in EVENTS


def _count_replies(events: Sequence[JsonObject]) -> int:
    return sum(map(_is_start, events))


def _is_ended(events: Sequence[JsonObject]) -> bool:
    return any(event.get("type") == END for event in events)


def _join(events: Sequence[JsonObject]) -> JsonObject:
    """Join the events of a message: its texts, its calls, and its end with the token counts."""
    response: JsonObject = {}
    message = _Message()
    for event in events:
        delta = as_object(event.get("delta"))
        if event.get("type") == START:
            response["id"] = event.get("id")
        if event.get("type") == END:
            response |= delta
        else:
            message.add(as_object(delta.get("message")), event.get("index"))
    return response | {"message": message.to_json()}


FORM = StreamForm(
    end=END,
    is_only_piece=_is_start,
    is_piece=_is_event,
    count_replies=_count_replies,
    is_ended=_is_ended,
    join=_join,
)


class _Message:
    """Collects the pieces of a message."""

    def __init__(self) -> None:
        self._fields = Pieces({"role": "assistant"}, whole=("role",))
        self._content: dict[str, Pieces] = {}
        self._calls: dict[str, Pieces] = {}

    def add(self, piece: JsonObject, index: Any) -> None:
        """Add the piece of an event. Contents and calls are counted by indexes of their own."""
        self._fields.add({name: piece.get(name) for name in ("role", "tool_plan")})
        for content_piece in _list_pieces(piece.get("content")):
            content = self._content.setdefault(str(index), Pieces(whole=("type",)))
            content.add(content_piece)
        for call_piece in _list_pieces(piece.get("tool_calls")):
            call = self._calls.setdefault(str(index), Pieces(whole=("id", "type", "name")))
            call.add(call_piece)

    def to_json(self) -> JsonObject:
        message = self._fields.join()
        message["content"] = [content.join() for content in self._content.values()]
        calls = [call.join() for call in self._calls.values()]
        if calls:
            message["tool_calls"] = calls
        return message


def _list_pieces(written: Any) -> list[JsonObject]:
    """Return the pieces in a field: one object, or a list, which is empty in the first event."""
    return [written] if isinstance(written, dict) else list_objects(written)

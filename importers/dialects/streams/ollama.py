"""Streams of Ollama, whose pieces are responses with a further piece of the message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.dialects.streams.pieces import JsonObject, Pieces, StreamForm, merge_fields

END = "done"


def _is_piece(event: JsonObject) -> bool:
    return isinstance(event.get("message"), dict) and isinstance(event.get(END), bool)


def _is_only_piece(event: JsonObject) -> bool:
    return _is_piece(event) and event[END] is False


def _count_replies(events: Sequence[JsonObject]) -> int:
    """Return the number of replies. Further pieces after the end belong to another reply."""
    n_ends_before_last = sum(event[END] is True for event in events[:-1])
    return 1 + n_ends_before_last


def _is_ended(events: Sequence[JsonObject]) -> bool:
    return any(event[END] for event in events)


def _join(events: Sequence[JsonObject]) -> JsonObject:
    """Join the responses of a stream. Each has a further piece of the text, or whole calls."""
    message = Pieces(whole=("role",))
    calls: list[Any] = []
    for event in events:
        piece = as_object(event.get("message"))
        calls.extend(as_list(piece.get("tool_calls")))
        message.add(piece)
    joined_message = message.join()
    if calls:
        joined_message["tool_calls"] = calls
    return merge_fields(events) | {"message": joined_message}


FORM = StreamForm(
    end=END,
    is_only_piece=_is_only_piece,
    is_piece=_is_piece,
    count_replies=_count_replies,
    is_ended=_is_ended,
    join=_join,
)

"""Streams of Bedrock's Converse API: events with one key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.dialects.streams.pieces import JsonObject, Pieces, StreamForm

START = "messageStart"
BLOCK_START = "contentBlockStart"
BLOCK_PIECE = "contentBlockDelta"
END = "messageStop"
METADATA = "metadata"
EVENTS = {START, BLOCK_START, BLOCK_PIECE, "contentBlockStop", END, METADATA}


def _is_start(event: JsonObject) -> bool:
    return isinstance(event.get(START), dict)


def _is_event(event: JsonObject) -> bool:
    """Whether an event has a known name, and the piece that belongs to it."""
    if BLOCK_PIECE in event:
        return bool(as_object(as_object(event[BLOCK_PIECE]).get("delta")))
    return bool(event.keys() & EVENTS)


def _count_replies(events: Sequence[JsonObject]) -> int:
    return sum(map(_is_start, events))


def _is_ended(events: Sequence[JsonObject]) -> bool:
    return any(END in event for event in events)


def _join(events: Sequence[JsonObject]) -> JsonObject:
    """Join the events of a message. The last event has the token counts."""
    message: JsonObject = {}
    response: JsonObject = {}
    for event in events:
        message |= as_object(event.get(START))
        response |= as_object(event.get(END))
        response |= as_object(event.get(METADATA))
    message["content"] = _join_blocks(events)
    return response | {"output": {"message": message}}


def _join_blocks(events: Sequence[JsonObject]) -> list[JsonObject]:
    blocks: dict[str, _Block] = {}
    for event in events:
        content = event.get(BLOCK_START) or event.get(BLOCK_PIECE)
        if isinstance(content, dict):
            block = blocks.setdefault(str(content.get("contentBlockIndex")), _Block())
            block.add(content.get("start"))
            block.add(content.get("delta"))
    return [block.to_json() for block in blocks.values()]


FORM = StreamForm(
    end=END,
    is_only_piece=_is_start,
    is_piece=_is_event,
    count_replies=_count_replies,
    is_ended=_is_ended,
    join=_join,
)


class _Block:
    """Collects the pieces of a content block."""

    def __init__(self) -> None:
        self._block = Pieces(whole=("toolUseId", "name", "type", "status"))

    def add(self, piece: Any) -> None:
        self._block.add(piece)

    def to_json(self) -> JsonObject:
        block = self._block.join()
        # A whole reply has the text and the signature of its reasoning one level deeper.
        reasoning = block.get("reasoningContent")
        if isinstance(reasoning, dict) and "redactedContent" not in reasoning:
            block["reasoningContent"] = {"reasoningText": reasoning}
        return block

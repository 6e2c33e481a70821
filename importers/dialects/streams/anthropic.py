"""Streams of Anthropic's messages: the start of a message, and then its blocks in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.dialects.streams.pieces import JsonObject, Pieces, StreamForm, merge_fields

START = "message_start"
BLOCK_START = "content_block_start"
BLOCK_PIECE = "content_block_delta"
MESSAGE_PIECE = "message_delta"
END = "message_stop"
EVENTS = (START, BLOCK_START, BLOCK_PIECE, "content_block_stop", MESSAGE_PIECE, END, "ping")
INPUT_PIECE = "input_json_delta"
FIELD_BY_PIECE: Mapping[str, str] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}
"""Field of a block that a piece continues, by the type of the piece."""
BLOCK_BY_PIECE: Mapping[str, str] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    INPUT_PIECE: "tool_use",
}
"""Type of a block whose start is missing, by the type of the piece."""


def _is_start(event: JsonObject) -> bool:
    return event.get("type") == START and isinstance(event.get("message"), dict)


def _is_event(event: JsonObject) -> bool:
    """Whether an event has a known type, and the piece that belongs to it."""
    piece = as_object(event.get("delta"))
    if event.get("type") == BLOCK_PIECE:
        return isinstance(piece.get("type"), str)
    return event.get("type") in EVENTS


def _count_replies(events: Sequence[JsonObject]) -> int:
    return sum(map(_is_start, events))


def _is_ended(events: Sequence[JsonObject]) -> bool:
    return any(event.get("type") == END for event in events)


def _join(events: Sequence[JsonObject]) -> JsonObject:
    """Join the events of a message: its start, its blocks, and its end with the token counts."""
    message: JsonObject = {}
    usages: list[JsonObject] = []
    for event in events:
        if event.get("type") == START:
            message = dict(as_object(event.get("message")))
            usages.append(as_object(message.get("usage")))
        elif event.get("type") == MESSAGE_PIECE:
            message |= as_object(event.get("delta"))
            usages.append(as_object(event.get("usage")))
    message["usage"] = merge_fields(usages)
    message["content"] = _join_blocks(events)
    return message


def _join_blocks(events: Sequence[JsonObject]) -> list[JsonObject]:
    blocks: dict[str, _Block] = {}
    for event in events:
        if event.get("type") in (BLOCK_START, BLOCK_PIECE):
            blocks.setdefault(str(event.get("index")), _Block()).add(event)
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
        self._block = Pieces(whole=("type", "id", "name"))
        self._kind: Any = None
        self._input: list[str] = []

    def add(self, event: JsonObject) -> None:
        if event.get("type") == BLOCK_START:
            self._start(as_object(event.get("content_block")))
        else:
            self._add_piece(as_object(event.get("delta")))

    def _start(self, block: JsonObject) -> None:
        self._kind = block.get("type")
        self._block.add(block)

    def _add_piece(self, piece: JsonObject) -> None:
        kind = str(piece.get("type"))
        if self._kind is None:
            self._start({"type": BLOCK_BY_PIECE.get(kind)})
        if kind == INPUT_PIECE:
            self._input.append(str(piece.get("partial_json", "")))
        elif kind in FIELD_BY_PIECE:
            field = FIELD_BY_PIECE[kind]
            self._block.add({field: piece.get(field)})
        else:
            # An unknown piece stays in the block, so that reading the block reports it.
            self._block.add({kind: piece})

    def to_json(self) -> JsonObject:
        block = self._block.join()
        input_text = "".join(self._input)
        if input_text:
            # The input is JSON text. Reading the block parses it.
            block["input"] = input_text
        return block

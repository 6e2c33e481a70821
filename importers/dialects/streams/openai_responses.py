"""Streams of OpenAI's Responses, whose last event has the whole response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.dialects.streams.pieces import JsonObject, StreamForm, merge_fields

PREFIX = "response."
KEEP_ALIVE = "keepalive"
START = "response.created"
ENDS = ("response.completed", "response.incomplete", "response.failed")
ITEM_START = "response.output_item.added"
ITEM_END = "response.output_item.done"
FIELD_BY_DELTA: Mapping[str, str] = {
    "response.function_call_arguments.delta": "arguments",
    "response.mcp_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.code_interpreter_call_code.delta": "code",
}
"""Field of an item that a piece continues, by the type of the piece."""
PART_BY_DELTA: Mapping[str, tuple[str, str, str]] = {
    "response.output_text.delta": ("content", "output_text", "text"),
    "response.refusal.delta": ("content", "refusal", "refusal"),
    "response.reasoning_text.delta": ("content", "reasoning_text", "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_text", "text"),
}
"""List of parts, type of the part and field that a piece continues, by the type of the piece."""


def _is_event(event: JsonObject) -> bool:
    kind = event.get("type")
    return isinstance(kind, str) and (kind.startswith(PREFIX) or kind == KEEP_ALIVE)


def _count_replies(events: Sequence[JsonObject]) -> int:
    """Return the number of replies. Each has one first and one last event."""
    kinds = [event.get("type") for event in events]
    n_ends = sum(kind in ENDS for kind in kinds)
    return max(kinds.count(START), n_ends, 1)


def _is_ended(events: Sequence[JsonObject]) -> bool:
    return any(event.get("type") in ENDS for event in events)


def _join(events: Sequence[JsonObject]) -> JsonObject:
    """Return the response in the last event. A stream that broke off has the items so far."""
    for event in events:
        if event.get("type") in ENDS:
            return dict(as_object(event.get("response")))

    # The first events have the response without its output.
    response = merge_fields(as_object(event.get("response")) for event in events)
    items: dict[str, _Item] = {}
    for event in events:
        items.setdefault(str(event.get("output_index")), _Item()).add(event)
    response["output"] = [item.to_json() for item in items.values() if item.is_begun]
    return response


FORM = StreamForm(
    end="response.completed",
    is_only_piece=_is_event,
    is_piece=_is_event,
    count_replies=_count_replies,
    is_ended=_is_ended,
    join=_join,
)


class _Item:
    """Collects the pieces of an item. The last one repeats the whole item."""

    def __init__(self) -> None:
        self._fields: JsonObject = {}
        self._texts: dict[str, list[str]] = {}
        self._parts: dict[tuple[str, str, str], list[str]] = {}
        self._whole: JsonObject = {}

    @property
    def is_begun(self) -> bool:
        return bool(self._fields or self._whole)

    def add(self, event: JsonObject) -> None:
        """Add what an event says about the item. Other events repeat the pieces as a whole."""
        kind = str(event.get("type"))
        text = str(event.get("delta", ""))
        if kind == ITEM_START:
            self._fields = as_object(event.get("item"))
        elif kind == ITEM_END:
            self._whole = as_object(event.get("item"))
        elif kind in FIELD_BY_DELTA:
            self._texts.setdefault(FIELD_BY_DELTA[kind], []).append(text)
        elif kind in PART_BY_DELTA:
            self._parts.setdefault(PART_BY_DELTA[kind], []).append(text)

    def to_json(self) -> JsonObject:
        if self._whole:
            return self._whole
        item = dict(self._fields)
        for name, texts in self._texts.items():
            item[name] = "".join(texts)
        for (name, kind, field), texts in self._parts.items():
            part = {"type": kind, field: "".join(texts)}
            item[name] = [*list_objects(item.get(name)), part]
        return item

"""Streams of OpenAI's chat completions, and of the many servers that write them alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_object, is_integer, list_objects
from fcreview.importers.dialects.streams.pieces import (
    JsonObject,
    Pieces,
    StreamForm,
    merge_fields,
)

CHUNK = "chat.completion.chunk"
AZURE_CHECK = "prompt_filter_results"
"""Field of Azure's first event, which has neither a reply nor its id."""


def _is_only_piece(event: JsonObject) -> bool:
    is_check_of_prompt = AZURE_CHECK in event and event.get("choices") == []
    if event.get("object") == CHUNK or is_check_of_prompt:
        return True
    return any("delta" in choice for choice in list_objects(event.get("choices")))


def _is_chunk(event: JsonObject) -> bool:
    """Whether an event is a chunk. The one with the token counts has no choices."""
    choices = event.get("choices") or []
    has_known_form = isinstance(choices, list) and all(map(_is_choice, choices))
    return has_known_form and (bool(choices) or "choices" in event or "usage" in event)


def _is_choice(value: Any) -> bool:
    choice = as_object(value)
    return "delta" in choice and (choice["delta"] is None or isinstance(choice["delta"], dict))


def _count_replies(events: Sequence[JsonObject]) -> int:
    """Return the number of ids. All chunks of a reply have its id, except Azure's first one."""
    ids = {event["id"] for event in events if isinstance(event.get("id"), str) and event["id"]}
    return max(len(ids), 1)


def _is_ended(events: Sequence[JsonObject]) -> bool:
    """Whether the first choice has a finish reason."""
    for number, chunk in _number_chunks(events):
        if number == 0 and chunk.get("finish_reason") is not None:
            return True
    return False


def _join(events: Sequence[JsonObject]) -> JsonObject:
    # The last chunk has the token counts.
    response = merge_fields(events) | {"object": "chat.completion"}
    response["choices"] = _join_choices(events)
    return response


def _join_choices(events: Sequence[JsonObject]) -> list[JsonObject]:
    choices: dict[int, _Choice] = {}
    for number, chunk in _number_chunks(events):
        if number not in choices:
            choices[number] = _Choice()
        choices[number].add(chunk)
    return [choices[number].to_json() for number in sorted(choices)]


def _number_chunks(events: Sequence[JsonObject]) -> Iterator[tuple[int, JsonObject]]:
    """Yield the number of a choice, and a piece of it. Without an index, the place counts."""
    for event in events:
        for position, chunk in enumerate(list_objects(event.get("choices"))):
            index = chunk.get("index")
            yield index if is_integer(index) else position, chunk


FORM = StreamForm(
    end="finish_reason",
    is_only_piece=_is_only_piece,
    is_piece=_is_chunk,
    count_replies=_count_replies,
    is_ended=_is_ended,
    join=_join,
)


class _Choice:
    """Collects the pieces of one reply."""

    def __init__(self) -> None:
        self._message = Pieces({"role": "assistant"}, whole=("role", "id"))
        self._content: list[Any] = []
        self._calls = _Calls()
        self._finish_reason: Any = None

    def add(self, chunk: JsonObject) -> None:
        """Add the piece of a chunk: texts are appended, calls are joined by their index."""
        delta = dict(as_object(chunk.get("delta")))
        self._add_content(delta.pop("content", None))
        for call in list_objects(delta.pop("tool_calls", None)):
            self._calls.add(call)
        self._message.add(delta)
        if chunk.get("finish_reason") is not None:
            self._finish_reason = chunk["finish_reason"]

    def _add_content(self, piece: Any) -> None:
        """Add a piece of the content: a text, or Mistral's list of parts."""
        if isinstance(piece, list):
            self._content.extend(piece)
        elif piece is not None:
            self._content.append(piece)

    def to_json(self) -> JsonObject:
        message = self._message.join() | {"content": _join_content(self._content)}
        calls = self._calls.to_json()
        if calls:
            message["tool_calls"] = calls
        return {"message": message, "finish_reason": self._finish_reason}


def _join_content(pieces: Sequence[Any]) -> Any:
    """Return the joined texts or, if there are other parts, a list of parts."""
    if not pieces:
        return None
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    return [_make_part(piece) for piece in pieces]


def _make_part(piece: Any) -> Any:
    return {"type": "text", "text": piece} if isinstance(piece, str) else piece


class _Calls:
    """Collects the pieces of the calls of a reply.

    OpenAI gives each call an index. Some servers leave the index out, and some give several calls
    the same one.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._call_by_index: dict[int, _Call] = {}

    def add(self, piece: JsonObject) -> None:
        call = self._find_begun_call(piece)
        if call is None or call.is_followed_by(piece):
            call = _Call()
            self._calls.append(call)
        index = piece.get("index")
        if is_integer(index):
            call.index = index
            self._call_by_index[index] = call
        call.add(piece)

    def _find_begun_call(self, piece: JsonObject) -> _Call | None:
        """Return the call with the index of a piece. Without an index, it is the last call."""
        index = piece.get("index")
        if is_integer(index):
            return self._call_by_index.get(index)
        return self._calls[-1] if self._calls else None

    def to_json(self) -> list[JsonObject]:
        """Return the calls in the order of their indexes. Calls without one keep their place."""
        if all(call.index is not None for call in self._calls):
            self._calls.sort(key=lambda call: call.index or 0)
        return [call.to_json() for call in self._calls]


class _Call:
    """Collects the pieces of a call. The text of its arguments is cut anywhere."""

    def __init__(self) -> None:
        self._pieces = Pieces(whole=("type", "index"))
        self._id: Any = None
        self._name: Any = None
        self.index: int | None = None

    def is_followed_by(self, piece: JsonObject) -> bool:
        """Whether a piece begins another call: it has a name, and not the id of this call."""
        has_other_id = not piece.get("id") or piece["id"] != self._id
        return bool(_find_name(piece)) and self._name is not None and has_other_id

    def add(self, piece: JsonObject) -> None:
        """Add a piece. Some servers repeat the name in each one, or give each one another id."""
        fields = dict(piece)
        call_id = fields.pop("id", None)
        self._id = self._id or call_id
        if self._name is not None and _find_name(piece) == self._name:
            function = dict(as_object(fields.get("function")))
            function.pop("name", None)
            fields["function"] = function
        self._name = self._name or _find_name(piece)
        self._pieces.add(fields)

    def to_json(self) -> JsonObject:
        return {"id": self._id} | self._pieces.join()


def _find_name(piece: JsonObject) -> Any:
    """Return the name in a piece of a call to a function or a custom tool, or None."""
    for kind in ("function", "custom"):
        name = as_object(piece.get(kind)).get("name")
        if name:
            return name
    return None

"""Join the pieces of a streamed reply to the response that the API would have sent as a whole.

Proxies log a streamed reply as the list of its pieces, or as the text of server-sent events. Only
pieces of one reply are joined. Nothing is added: a reply that broke off stays incomplete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fcreview.importers.common.json_text import parse_json_text
from fcreview.importers.common.records import as_list, as_object, list_objects

JsonObject = dict[str, Any]
DATA_FIELD = "data:"
LAST_DATA = "[DONE]"
"""Data of OpenAI's last event, which has no content."""
OPENAI_CHUNK = "chat.completion.chunk"
ENDS_OF_RESPONSES = ("response.completed", "response.incomplete", "response.failed")
"""Events of OpenAI's Responses with the whole response."""
FIELD_BY_PIECE = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}
"""Field of one of Anthropic's blocks that a piece continues, by the type of the piece."""


def join_stream(written: Any) -> JsonObject | None:
    """Return the response whose pieces a list or a text of server-sent events has.

    None if the value has another form, or pieces of several replies.
    """
    events = _parse_server_events(written) if isinstance(written, str) else written
    if not isinstance(events, list) or not events:
        return None
    if not all(isinstance(event, dict) for event in events):
        return None
    for is_piece, join in JOINERS:
        if is_piece(events[0]):
            return join(events)
    return None


def is_stream_piece(value: Any) -> bool:
    """Whether a JSON value is a piece of a streamed reply that is no response by itself."""
    event = as_object(value)
    return _is_openai_chunk(event) or _is_anthropic_event(event) or _is_responses_event(event)


def parse_stream_text(text: str) -> list[Any] | None:
    """Return the pieces in a text: server-sent events, or one JSON value on each line.

    None if a line is neither.
    """
    is_server_events = text.lstrip().startswith((DATA_FIELD, "event:"))
    if is_server_events:
        return _parse_server_events(text)
    try:
        return [parse_json_text(line, []) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None


def _parse_server_events(text: str) -> list[Any] | None:
    """Return the data of server-sent events. Other fields of events, such as their name, repeat
    what is in the data.
    """
    events = []
    for line in text.splitlines():
        if not line.startswith(DATA_FIELD):
            continue
        data = line.removeprefix(DATA_FIELD).strip()
        if data in ("", LAST_DATA):
            continue
        try:
            events.append(parse_json_text(data, []))
        except (ValueError, RecursionError):
            return None
    return events


class _Pieces:
    """Fields whose values arrive in pieces: texts are appended, other values replace each other."""

    def __init__(self, start: JsonObject | None = None, *, whole: Sequence[str] = ()) -> None:
        """`whole` names the fields that every piece repeats as a whole."""
        self._whole = whole
        self._values: JsonObject = {}
        self._texts: dict[str, list[str]] = {}
        self.add(start)

    def add(self, fields: Any) -> None:
        for name, value in as_object(fields).items():
            if isinstance(value, str) and name not in self._whole:
                self._texts.setdefault(name, []).append(value)
            elif value is not None or name not in self._values:
                self._values[name] = value

    def join(self) -> JsonObject:
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        return self._values | texts


# -- OpenAI's chat completions


def _is_openai_chunk(event: JsonObject) -> bool:
    if event.get("object") == OPENAI_CHUNK:
        return True
    return any("delta" in choice for choice in list_objects(event.get("choices")))


def _join_openai_chunks(events: Sequence[JsonObject]) -> JsonObject | None:
    """Join chunks. All chunks of a reply have its id."""
    ids = {event.get("id") for event in events if isinstance(event.get("id"), str)}
    if len(ids) > 1:
        return None
    choices: dict[int, _OpenAIChoice] = {}
    for event in events:
        for chunk in list_objects(event.get("choices")):
            index = chunk.get("index")
            number = index if isinstance(index, int) else 0
            choices.setdefault(number, _OpenAIChoice()).add(chunk)
    response = events[0] | {"object": "chat.completion"}
    response["choices"] = [choices[number].to_json() for number in sorted(choices)]
    # The last chunk has the token counts.
    for event in events:
        if event.get("usage"):
            response["usage"] = event["usage"]
    return response


class _OpenAIChoice:
    """Collects the pieces of one reply."""

    def __init__(self) -> None:
        self._message = _Pieces({"role": "assistant", "content": None}, whole=("role",))
        self._legacy_call = _Pieces()
        self._calls: dict[int, _OpenAICall] = {}
        self._finish_reason: Any = None

    def add(self, chunk: JsonObject) -> None:
        """Add the piece of a chunk: texts are appended, calls are joined by their index."""
        delta = dict(as_object(chunk.get("delta")))
        for call in list_objects(delta.pop("tool_calls", None)):
            self._add_call(call)
        self._legacy_call.add(delta.pop("function_call", None))
        self._message.add(delta)
        if chunk.get("finish_reason") is not None:
            self._finish_reason = chunk["finish_reason"]

    def _add_call(self, piece: JsonObject) -> None:
        """Add a piece of a call. Servers that send whole calls leave the index out."""
        index = piece.get("index")
        number = index if isinstance(index, int) else len(self._calls)
        self._calls.setdefault(number, _OpenAICall()).add(piece)

    def to_json(self) -> JsonObject:
        message = self._message.join()
        if self._calls:
            message["tool_calls"] = [
                self._calls[number].to_json() for number in sorted(self._calls)
            ]
        legacy_call = self._legacy_call.join()
        if legacy_call:
            message["function_call"] = legacy_call
        return {"message": message, "finish_reason": self._finish_reason}


class _OpenAICall:
    """Collects the pieces of a call. The text of its arguments is cut anywhere."""

    def __init__(self) -> None:
        self._fields = _Pieces(whole=("id", "type", "index"))
        self._function = _Pieces()

    def add(self, piece: JsonObject) -> None:
        fields = dict(piece)
        self._function.add(fields.pop("function", None))
        self._fields.add(fields)

    def to_json(self) -> JsonObject:
        function = self._function.join()
        return self._fields.join() | ({"function": function} if function else {})


# -- Anthropic's messages


def _is_anthropic_event(event: JsonObject) -> bool:
    return event.get("type") == "message_start" and isinstance(event.get("message"), dict)


def _join_anthropic_events(events: Sequence[JsonObject]) -> JsonObject | None:
    """Join the events of a message: its start, and the starts and pieces of its blocks."""
    n_messages = sum(map(_is_anthropic_event, events))
    if n_messages != 1:
        return None
    message = dict(as_object(events[0]["message"]))
    blocks: dict[Any, _AnthropicBlock] = {}
    for event in events:
        index = event.get("index")
        if event.get("type") == "content_block_start":
            blocks[str(index)] = _AnthropicBlock(as_object(event.get("content_block")))
        elif event.get("type") == "content_block_delta" and str(index) in blocks:
            blocks[str(index)].add(as_object(event.get("delta")))
        elif event.get("type") == "message_delta":
            message |= as_object(event.get("delta"))
    message["content"] = [block.to_json() for block in blocks.values()]
    return message


class _AnthropicBlock:
    """Collects the pieces of a content block."""

    def __init__(self, start: JsonObject) -> None:
        self._block = _Pieces(start, whole=("type", "id", "name"))
        self._input: list[str] = []

    def add(self, piece: JsonObject) -> None:
        kind = str(piece.get("type"))
        if kind == "input_json_delta":
            self._input.append(str(piece.get("partial_json", "")))
        elif kind in FIELD_BY_PIECE:
            field = FIELD_BY_PIECE[kind]
            self._block.add({field: piece.get(field)})
        else:
            # An unknown piece stays in the block, so that reading the block reports it.
            self._block.add({kind: piece})

    def to_json(self) -> JsonObject:
        # The input is JSON text. Reading the block parses it.
        input_text = "".join(self._input)
        return self._block.join() | ({"input": input_text} if input_text else {})


# -- OpenAI's Responses, Gemini, Ollama


def _is_responses_event(event: JsonObject) -> bool:
    kind = event.get("type")
    return isinstance(kind, str) and kind.startswith("response.")


def _join_responses_events(events: Sequence[JsonObject]) -> JsonObject | None:
    """Return the response in the last event. A stream that broke off has the items that were
    finished.
    """
    ends = [event for event in events if event.get("type") in ENDS_OF_RESPONSES]
    if len(ends) > 1:
        return None
    if ends:
        return as_object(ends[0].get("response"))
    finished = [
        event.get("item") for event in events if event.get("type") == "response.output_item.done"
    ]
    return {"output": finished, "status": "incomplete"} if finished else None


def _is_gemini_response(event: JsonObject) -> bool:
    return isinstance(event.get("candidates"), list)


def _join_gemini_responses(events: Sequence[JsonObject]) -> JsonObject:
    """Join the responses of a stream. Each has further parts of the first candidate."""
    joined = dict(events[-1])
    candidate: JsonObject = {}
    parts: list[Any] = []
    for event in events:
        piece = as_object(next(iter(as_list(event.get("candidates"))), None))
        parts.extend(as_list(as_object(piece.get("content")).get("parts")))
        candidate |= piece
    if parts:
        candidate["content"] = {"role": "model", "parts": parts}
    joined["candidates"] = [candidate]
    return joined


def _is_ollama_response(event: JsonObject) -> bool:
    return isinstance(event.get("message"), dict) and isinstance(event.get("done"), bool)


def _join_ollama_responses(events: Sequence[JsonObject]) -> JsonObject:
    """Join the responses of a stream. Each has a further piece of the text, or whole calls."""
    pieces = _Pieces(whole=("role",))
    calls: list[Any] = []
    for event in events:
        piece = as_object(event.get("message"))
        calls.extend(as_list(piece.get("tool_calls")))
        pieces.add(piece)
    message = pieces.join()
    if calls:
        message["tool_calls"] = calls
    return events[-1] | {"message": message}


Joiner = Callable[[Sequence[JsonObject]], JsonObject | None]
JOINERS: Sequence[tuple[Callable[[JsonObject], bool], Joiner]] = (
    (_is_openai_chunk, _join_openai_chunks),
    (_is_anthropic_event, _join_anthropic_events),
    (_is_responses_event, _join_responses_events),
    (_is_gemini_response, _join_gemini_responses),
    (_is_ollama_response, _join_ollama_responses),
)
"""Whether an event is a piece in the form of an API, and the function that joins its pieces."""

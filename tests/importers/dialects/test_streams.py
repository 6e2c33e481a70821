"""The joined pieces of a streamed reply give the same calls and texts as the whole reply."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fcreview.importers.dialects.read import read_conversation
from fcreview.importers.dialects.streams import is_stream_piece, join_stream
from tests.importers.dialects.writers import Reply, make_conversation

N_CONVERSATIONS = 40


def cut(text: str, rng: random.Random) -> Iterator[str]:
    """Yield the pieces of a text, which is cut anywhere."""
    while text:
        length = rng.randint(1, 8)
        yield text[:length]
        text = text[length:]


def stream_openai(reply: Reply, rng: random.Random) -> list[Any]:
    deltas: list[Any] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in cut(reply.reasoning or "", rng)]
    deltas += [{"content": piece} for piece in cut(reply.text, rng)]
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        start = {"index": index, "id": call.id, "type": "function", "function": function}
        deltas.append({"tool_calls": [start]})
        for piece in cut(json.dumps(call.arguments), rng):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    chunks: list[Any] = [
        {"id": "r", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
        for delta in deltas
    ]
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    return [*chunks, {"id": "r", "choices": [end]}, {"id": "r", "choices": [], "usage": {"x": 1}}]


def stream_anthropic(reply: Reply, rng: random.Random) -> list[Any]:
    start = {"role": "assistant", "type": "message", "content": []}
    events: list[Any] = [{"type": "message_start", "message": start}]
    blocks: list[tuple[Any, Any]] = []
    if reply.reasoning:
        pieces = [{"type": "thinking_delta", "thinking": p} for p in cut(reply.reasoning, rng)]
        blocks.append(({"type": "thinking", "thinking": ""}, pieces))
    pieces = [{"type": "text_delta", "text": piece} for piece in cut(reply.text, rng)]
    blocks.append(({"type": "text", "text": ""}, pieces))
    for call in reply.calls:
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        text = json.dumps(call.arguments)
        pieces = [{"type": "input_json_delta", "partial_json": p} for p in cut(text, rng)]
        blocks.append((block, pieces))
    for index, (block, pieces) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        for piece in pieces:
            events.append({"type": "content_block_delta", "index": index, "delta": piece})
    return [*events, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}]


STREAMS: dict[str, Callable[[Reply, random.Random], list[Any]]] = {
    "OpenAI": stream_openai,
    "Anthropic": stream_anthropic,
}


def read_reply(response: Any) -> list[Any]:
    (message,) = read_conversation(response).messages
    calls = [(call.id, call.name, call.arguments) for call in message.calls]
    return [message.text, message.reasoning, calls]


@pytest.mark.parametrize("api", STREAMS)
def test_pieces_give_the_calls_and_texts_of_the_reply(api: str) -> None:
    rng = random.Random(api)
    n_calls = 0
    for _ in range(N_CONVERSATIONS):
        for turn in make_conversation(rng).turns:
            for reply in turn.replies:
                calls = [(call.id, call.name, call.arguments) for call in reply.calls]
                response = join_stream(STREAMS[api](reply, rng))
                assert read_reply(response) == [reply.text, reply.reasoning, calls]
                n_calls += len(calls)
    assert n_calls > N_CONVERSATIONS


@pytest.mark.parametrize("api", STREAMS)
def test_text_of_server_events_is_joined(api: str) -> None:
    rng = random.Random(api)
    (reply,) = [Reply("Hello there.", None)]
    pieces = STREAMS[api](reply, rng)
    text = "".join(f"event: x\ndata: {json.dumps(piece)}\n\n" for piece in pieces)
    assert read_reply(join_stream(text + "data: [DONE]\n\n"))[0] == "Hello there."


@pytest.mark.parametrize("api", STREAMS)
def test_pieces_of_two_replies_are_not_joined(api: str) -> None:
    rng = random.Random(api)
    first = STREAMS[api](Reply("One.", None), rng)
    second = STREAMS[api](Reply("Two.", None), rng)
    for piece in second:
        piece["id"] = "other"
    assert is_stream_piece(first[0])
    assert join_stream(first + second) is None


def test_arguments_that_broke_off_are_no_arguments() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"x": '}}
    chunk = {"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    read = read_conversation(join_stream([chunk]))
    assert [(each.arguments, each.raw) for each in read.messages[0].calls] == [(None, '{"x": ')]
    assert read.issues


CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"x": 1}'}
GEMINI_CALL = {"functionCall": {"name": "f", "args": {"x": 1}}}
OLLAMA_CALL = {"function": {"name": "f", "arguments": {"x": 1}}}
OTHER_STREAMS: dict[str, list[Any]] = {
    "Responses": [
        {"type": "response.created", "response": {"output": []}},
        {"type": "response.completed", "response": {"output": [CALL]}},
    ],
    "Responses that broke off": [
        {"type": "response.created", "response": {"output": []}},
        {"type": "response.output_item.done", "item": CALL},
    ],
    "Gemini": [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "I "}]}}]},
        {"candidates": [{"content": {"parts": [GEMINI_CALL]}, "finishReason": "STOP"}]},
    ],
    "Ollama": [
        {"message": {"role": "assistant", "content": "I "}, "done": False},
        {"message": {"role": "assistant", "tool_calls": [OLLAMA_CALL]}, "done": True},
    ],
}


@pytest.mark.parametrize("api", OTHER_STREAMS)
def test_call_in_a_stream_is_read(api: str) -> None:
    text, _, calls = read_reply(join_stream(OTHER_STREAMS[api]))
    assert [call[1:] for call in calls] == [("f", {"x": 1})]
    assert text == ("" if "Responses" in api else "I ")

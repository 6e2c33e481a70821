"""The joined pieces of a streamed reply give the same calls and texts as the whole reply."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fcreview.importers.dialects.read import read_conversation
from fcreview.importers.dialects.streams.join import is_stream_piece, join_stream
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
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    return [*events, end, {"type": "message_stop"}]


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


def make_chunk(delta: Any, **choice: Any) -> dict[str, Any]:
    choices = [{"index": 0, "delta": delta} | choice]
    return {"id": "r", "object": "chat.completion.chunk", "choices": choices}


def make_call_chunk(name: str | None, arguments: str, **fields: Any) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return make_chunk({"tool_calls": [fields | {"function": function}]})


PIECES_OF_CALLS: dict[str, list[Any]] = {
    "interleaved indexes": [
        make_call_chunk("g", "", index=1, id="b"),
        make_call_chunk("f", "", index=0, id="a"),
        make_call_chunk(None, '{"y": 2}', index=1),
        make_call_chunk(None, '{"x": 1}', index=0),
    ],
    "no index": [
        make_call_chunk("f", "", id="a"),
        make_call_chunk(None, '{"x"'),
        make_call_chunk(None, ": 1}"),
        make_call_chunk("g", '{"y": 2}', id="b"),
    ],
    "one index for all calls": [
        make_call_chunk("f", '{"x": 1}', index=0, id="a"),
        make_call_chunk("g", '{"y": 2}', index=0, id="b"),
    ],
    "repeated names": [
        make_call_chunk("f", "", index=0, id="a"),
        make_call_chunk("f", '{"x": 1}', index=0, id="a"),
        make_call_chunk("g", '{"y": 2}', index=1, id="b"),
    ],
    "another id for each piece": [
        make_call_chunk("f", "", index=0, id="a"),
        make_call_chunk(None, '{"x": 1}', index=0, id="other"),
        make_call_chunk("g", '{"y": 2}', index=1, id="b"),
    ],
}


@pytest.mark.parametrize("form", PIECES_OF_CALLS)
def test_pieces_of_calls_are_joined_as_servers_write_them(form: str) -> None:
    _, _, calls = read_reply(join_stream(PIECES_OF_CALLS[form]))
    assert calls == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]


def test_input_of_a_custom_tool_is_joined() -> None:
    pieces = [{"id": "a", "type": "custom", "custom": {"name": "query", "input": "SEL"}}]
    pieces.append({"custom": {"input": "ECT"}})
    chunks = [make_chunk({"tool_calls": [piece | {"index": 0}]}) for piece in pieces]
    _, _, calls = read_reply(join_stream(chunks))
    assert calls == [("a", "query", {"input": "SELECT"})]


def test_parts_of_reasoning_and_texts_are_joined() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    chunks = [make_chunk({"content": [thinking]}), make_chunk({"content": "I "})]
    assert read_reply(join_stream([*chunks, make_chunk({"content": "see."})])) == [
        "I see.", "Hm.", [],
    ]  # fmt: skip


def test_fields_that_are_null_say_nothing() -> None:
    first = make_chunk({"role": "assistant", "content": None, "tool_calls": None})
    last = make_chunk(None, finish_reason="stop")
    chunks = [first | {"usage": None}, make_chunk({"content": "I see."}), last | {"usage": None}]
    response = join_stream(chunks)
    assert response is not None and "status" not in response
    assert read_reply(response) == ["I see.", None, []]


def test_choices_of_openai_and_candidates_of_gemini_stay_apart() -> None:
    chunks = [
        make_chunk({"content": "other"}, index=1),
        make_chunk({"content": "first"}, index=0),
        make_chunk({}, index=0, finish_reason="stop"),
    ]
    candidates = [
        {"index": number, "content": {"role": "model", "parts": [{"text": text}]}}
        for number, text in ((0, "fir"), (1, "other"), (0, "st"))
    ]
    candidates[-1]["finishReason"] = "STOP"
    for stream in (chunks, [{"candidates": [candidate]} for candidate in candidates]):
        response = join_stream(stream)
        assert response is not None and "status" not in response
        replies = response.get("choices") or response["candidates"][:1]
        assert read_reply({"choices": replies} if stream is chunks else {"candidates": replies}) == [
            "first", None, [],
        ]  # fmt: skip


def test_separators_within_a_text_do_not_end_a_line() -> None:
    chunks = [make_chunk({"content": "a\u2028b\x85c"}), make_chunk({}, finish_reason="stop")]
    text = "".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n" for chunk in chunks)
    response = join_stream(": comment\r\n\r\n" + text)
    assert response is not None and "status" not in response
    assert read_reply(response)[0] == "a\u2028b\x85c"


@pytest.mark.parametrize("mark", ["finish reason", "[DONE]"])
def test_stream_of_openai_ends_with_one_of_two_marks(mark: str) -> None:
    chunks = [make_chunk({"content": "I see."})]
    if mark == "finish reason":
        chunks.append(make_chunk({}, finish_reason="stop"))
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    if mark == "[DONE]":
        text += "data: [DONE]\n\n"
    response = join_stream(text)
    assert response is not None and "status" not in response


def test_event_of_unknown_form_is_stated() -> None:
    chunks = [
        make_chunk({"content": "I see."}),
        {"delta": "x"},
        make_chunk({}, finish_reason="stop"),
    ]
    response = join_stream(chunks)
    assert response is not None
    assert response["incomplete_details"] == {"reason": "1 event of the stream had an unknown form"}


BROKEN_EVENTS: dict[str, tuple[list[Any], Any]] = {
    "OpenAI": ([make_chunk({"content": "I see."})], {"id": "r", "choices": [5]}),
    "Anthropic": (
        [{"type": "message_start", "message": {"role": "assistant"}}],
        {"type": "content_block_delta", "index": 0, "delta": 5},
    ),
    "Bedrock": ([{"messageStart": {"role": "assistant"}}], {"contentBlockDelta": {"delta": None}}),
    "Cohere": ([{"type": "message-start"}], {"type": "content-delta", "delta": []}),
    "Cohere's type": ([{"type": "message-start"}], {"type": ["content-delta"]}),
    "Gemini": (
        [{"candidates": [{"content": {"parts": []}}], "responseId": ["r"]}],
        {"candidates": "I see."},
    ),
    "not an object": ([make_chunk({"content": "I see."})], "I see."),
}


@pytest.mark.parametrize("form", BROKEN_EVENTS)
def test_event_without_its_piece_is_stated(form: str) -> None:
    events, broken = BROKEN_EVENTS[form]
    response = join_stream([*events, broken])
    assert response is not None
    assert "1 event of the stream" in response["incomplete_details"]["reason"]


def test_value_among_the_texts_of_a_field_is_shown() -> None:
    chunks = [make_chunk({"reasoning": piece}) for piece in ("I ", 5, None, " see.")]
    assert read_reply(join_stream([*chunks, make_chunk({"content": "Yes."})]))[:2] == [
        "Yes.", "I 5 see.",
    ]  # fmt: skip


def test_calls_of_cohere_can_be_in_a_list() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    events = [
        {"type": "message-start", "delta": {"message": {"role": "assistant", "tool_calls": []}}},
        {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": [call]}}},
    ]
    _, _, calls = read_reply(join_stream(events))
    assert calls == [("c", "f", {"x": 1})]

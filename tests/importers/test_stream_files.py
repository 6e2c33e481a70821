"""Files with streamed replies: whole ones, and those that broke off."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover
from fcreview.model.item import ImportIssue, Item
from tests.commands import environment, run_in_this_process
from tests.importers.run_reading import read_runs

REQUEST = {"input": "How warm is it?"}
GEMINI_REQUEST = {"contents": [{"role": "user", "parts": [{"text": "How warm is it?"}]}]}
ARGUMENTS = '{"x": 1}'


def make_chunk(delta: dict[str, Any], **choice: Any) -> dict[str, Any]:
    choices = [{"index": 0, "delta": delta} | choice]
    return {"id": "r", "object": "chat.completion.chunk", "choices": choices}


def start_block(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def add_to_block(index: int, kind: str, **piece: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind} | piece}


def start_item(index: int, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def add_to_item(index: int, kind: str, delta: str) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": delta}


def make_cohere_event(kind: str, index: int | None = None, **message: Any) -> dict[str, Any]:
    return {"type": kind, "index": index, "delta": {"message": message}}


TEXT = {"type": "output_text", "text": "I see."}
MESSAGE = {"type": "message", "role": "assistant", "content": [TEXT]}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": ARGUMENTS}
STREAMS: dict[str, list[Any]] = {
    "OpenAI": [
        make_chunk({"role": "assistant", "content": "I "}),
        make_chunk({"content": "see."}),
        make_chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]}),
        make_chunk({"tool_calls": [{"index": 0, "function": {"arguments": ARGUMENTS}}]}),
        make_chunk({}, finish_reason="tool_calls"),
        {"id": "r", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}},
    ],
    "Anthropic": [
        {
            "type": "message_start",
            "message": {
                "id": "r",
                "type": "message",
                "role": "assistant",
                "content": [],
                "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1},
            },
        },
        start_block(0, type="text", text=""),
        {"type": "ping"},
        add_to_block(0, "text_delta", text="I "),
        add_to_block(0, "text_delta", text="see."),
        start_block(1, type="tool_use", id="c", name="f", input={}),
        add_to_block(1, "input_json_delta", partial_json='{"x"'),
        add_to_block(1, "input_json_delta", partial_json=": 1}"),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ],
    "Responses": [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress"}},
        start_item(0, type="message", role="assistant", content=[]),
        add_to_item(0, "output_text", "I "),
        add_to_item(0, "output_text", "see."),
        start_item(1, type="function_call", call_id="c", name="f", arguments=""),
        add_to_item(1, "function_call_arguments", ARGUMENTS),
        {
            "type": "response.completed",
            "response": {
                "id": "r",
                "status": "completed",
                "output": [MESSAGE, CALL],
                "usage": {"input_tokens": 7, "output_tokens": 5},
            },
        },
    ],
    "Bedrock": [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": "I "}, "contentBlockIndex": 0}},
        {"contentBlockDelta": {"delta": {"text": "see."}, "contentBlockIndex": 0}},
        {
            "contentBlockStart": {
                "start": {"toolUse": {"toolUseId": "c", "name": "f"}},
                "contentBlockIndex": 1,
            }
        },
        {"contentBlockDelta": {"delta": {"toolUse": {"input": ARGUMENTS}}, "contentBlockIndex": 1}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"inputTokens": 7, "outputTokens": 5}}},
    ],
    "Cohere": [
        {"type": "message-start", "id": "r", "delta": {"message": {"role": "assistant"}}},
        make_cohere_event("tool-plan-delta", tool_plan="I "),
        make_cohere_event("tool-plan-delta", tool_plan="see."),
        make_cohere_event(
            "tool-call-start",
            0,
            tool_calls={"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}},
        ),
        make_cohere_event("tool-call-delta", 0, tool_calls={"function": {"arguments": ARGUMENTS}}),
        {
            "type": "message-end",
            "delta": {
                "finish_reason": "TOOL_CALL",
                "usage": {"tokens": {"input_tokens": 7, "output_tokens": 5}},
            },
        },
    ],
    "Gemini": [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "I "}]}}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "see."}]}}]},
        {
            "candidates": [
                {
                    "content": {"parts": [{"functionCall": {"name": "f", "args": {"x": 1}}}]},
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 7,
                "candidatesTokenCount": 3,
                "thoughtsTokenCount": 2,
            },
        },
    ],
    "Ollama": [
        {"model": "m", "message": {"role": "assistant", "content": "I "}, "done": False},
        {"model": "m", "message": {"role": "assistant", "content": "see."}, "done": False},
        {
            "model": "m",
            "message": {"tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
            "done": False,
        },
        {
            "model": "m",
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "prompt_eval_count": 7,
            "eval_count": 5,
        },
    ],
}
N_EVENTS_AFTER_END = {"OpenAI": 1, "Bedrock": 1}
"""Number of events after the one that ends the reply. They have the token counts."""


def write_lines(path: Path, values: list[Any]) -> None:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))


def write_stream(path: Path, form: str, events: list[Any]) -> None:
    match form:
        case "lines":
            write_lines(path, events)
        case "list":
            path.write_text(json.dumps(events, indent=1))
        case "server events":
            path.write_text("".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events))
        case "response":
            request = GEMINI_REQUEST if "candidates" in events[0] else REQUEST
            write_lines(path, [{"request": request, "response": events}])


def read(path: Path) -> tuple[list[Item], list[ImportIssue]]:
    return read_runs(discover([path]).plans)


def get_reply(item: Item) -> list[Any]:
    texts = [message.content for message in item.messages if message.role == "assistant"]
    return ["".join(texts), [(call.name, call.arguments) for call in item.predicted]]


def find_gaps(issues: list[ImportIssue]) -> list[ImportIssue]:
    return [issue for issue in issues if "reply incomplete" in issue.what]


FORMS = ("lines", "list", "server events", "response")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("api", STREAMS)
def test_stream_is_one_reply_with_its_token_counts(tmp_path: Path, api: str, form: str) -> None:
    path = tmp_path / "stream.json"
    write_stream(path, form, STREAMS[api])
    (item,), issues = read(path)
    assert get_reply(item) == ["I see.", [("f", {"x": 1})]]
    assert (item.tokens_in, item.tokens_out) == (7, 5)
    assert issues == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("api", STREAMS)
def test_stream_that_broke_off_is_an_issue(tmp_path: Path, api: str, form: str) -> None:
    path = tmp_path / "stream.json"
    n_events_of_reply = len(STREAMS[api]) - N_EVENTS_AFTER_END.get(api, 0)
    for n_events in range(2, n_events_of_reply):
        write_stream(path, form, STREAMS[api][:n_events])
        (item,), issues = read(path)
        gaps = find_gaps(issues)
        assert len(gaps) == 1 and gaps == find_gaps(item.issues), n_events
        assert "the stream broke off, because it has no final event" in gaps[0].what
        assert (gaps[0].file, gaps[0].line, gaps[0].severity) == (str(path), 1, "warning")


@pytest.mark.parametrize("api", STREAMS)
def test_stream_that_was_cut_anywhere_is_never_a_whole_reply(tmp_path: Path, api: str) -> None:
    rng = random.Random(api)
    path = tmp_path / "stream.json"
    n_events_of_reply = len(STREAMS[api]) - N_EVENTS_AFTER_END.get(api, 0)
    write_stream(path, "lines", STREAMS[api][:n_events_of_reply])
    whole_text = path.read_text().rstrip("\n")
    for _ in range(15):
        path.write_text(whole_text[: rng.randrange(len(whole_text))])
        items, issues = read(path)
        assert all(item.has_incident for item in items) or find_gaps(issues)


@pytest.mark.parametrize("api", STREAMS)
def test_file_with_two_streams_is_refused(tmp_path: Path, api: str) -> None:
    first = STREAMS[api]
    second = [event | {"id": "other"} if "id" in event else event for event in STREAMS[api]]
    for n_events in (2, len(first)):
        write_lines(tmp_path / "stream.jsonl", [*first[:n_events], *second])
        found = discover([tmp_path])
        if n_events == 2 and api in ("Gemini", "Ollama"):
            # Their pieces have no ids and no first event.
            continue
        assert found.plans == [], n_events
        assert "skipped because no importer recognizes them" in found.issues[0].what


ERRORS: dict[str, Any] = {
    "OpenAI": {"error": {"message": "Overloaded", "code": 529}},
    "Anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "Responses": {"type": "error", "code": "server_error", "message": "Overloaded"},
    "Bedrock": {"modelStreamErrorException": {"message": "Overloaded"}},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("api", ERRORS)
def test_error_in_a_stream_is_an_incident(tmp_path: Path, api: str, form: str) -> None:
    write_stream(tmp_path / "stream.json", form, [*STREAMS[api][:4], ERRORS[api]])
    (item,), issues = read(tmp_path)
    assert item.incident is not None and "Overloaded" in str(item.incident_text)
    assert len(find_gaps(issues)) == 1


def test_empty_reply_of_a_stream_is_an_incident(tmp_path: Path) -> None:
    chunks = [make_chunk({"role": "assistant", "content": ""})]
    write_lines(tmp_path / "stream.jsonl", [*chunks, make_chunk({}, finish_reason="stop")])
    (item,), _ = read(tmp_path)
    assert item.incident == "empty_reply"


def test_further_choice_of_a_stream_is_an_issue(tmp_path: Path) -> None:
    further = make_chunk({"content": "other"}, index=1, finish_reason="length")
    write_lines(tmp_path / "stream.jsonl", [further, *STREAMS["OpenAI"]])
    (item,), issues = read(tmp_path)
    assert get_reply(item)[0] == "I see."
    assert [issue.what for issue in issues] == [
        "choices[1]: 1 further reply to the same request not read, only the first"
    ]


def test_first_event_of_azure_has_no_reply(tmp_path: Path) -> None:
    check = {"id": "", "object": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    write_lines(tmp_path / "stream.jsonl", [check, *STREAMS["OpenAI"]])
    (item,), issues = read(tmp_path)
    assert (item.id, get_reply(item)[0], issues) == ("r", "I see.", [])


def test_arguments_of_gemini_in_pieces_are_an_issue(tmp_path: Path) -> None:
    piece = {"jsonPath": "$.x", "stringValue": "1"}
    call = {"functionCall": {"name": "f", "partialArgs": [piece], "willContinue": True}}
    candidate = {"content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}
    write_lines(tmp_path / "log.jsonl", [{"contents": [], "candidates": [candidate]}])
    _, issues = read(tmp_path)
    assert any("(partialArgs), which are not read" in issue.what for issue in issues)


def test_incomplete_response_is_an_issue(tmp_path: Path) -> None:
    response = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [MESSAGE],
    }
    write_lines(tmp_path / "log.jsonl", [{"request": REQUEST, "response": response}])
    _, issues = read(tmp_path)
    assert [issue.what for issue in issues] == ["response: reply incomplete: max_output_tokens"]


def test_import_command_reports_a_stream_that_broke_off(tmp_path: Path) -> None:
    path = tmp_path / "stream.jsonl"
    write_lines(path, STREAMS["Anthropic"][:5])
    done = run_in_this_process(["import", path], tmp_path, environment(tmp_path))
    output = done.out + done.err
    assert "reply incomplete: the stream broke off" in output
    assert "stream.jsonl:1" in output


MESSAGES_WITH_USAGE: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
        "usage": {"x": 1},
    },
    {"role": "tool", "tool_call_id": "1", "content": "r"},
    {"role": "assistant", "content": "done", "usage": {"x": 1}},
]
JSON_IN_A_REPLY = 'Here it is:\n{"cpu": 3, "usage": 80}\nAnything else?'


def read_only_item(path: Path) -> Item:
    [item], _ = read(path)
    return item


def test_messages_with_a_field_of_streams_are_no_stream(tmp_path: Path) -> None:
    line = {"input": [{"role": "user", "content": "q"}], "output": MESSAGES_WITH_USAGE}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n")
    item = read_only_item(tmp_path)
    roles = [message.role for message in item.messages]
    assert roles == ["user", "tool", "assistant"], "the call has no text, so it has no message"
    assert len(item.predicted) == 1


def test_json_in_the_text_of_a_reply_is_no_stream(tmp_path: Path) -> None:
    line = {"input": [{"role": "user", "content": "Show the load"}], "output": JSON_IN_A_REPLY}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n")
    assert read_only_item(tmp_path).messages[-1].content == JSON_IN_A_REPLY


def test_a_message_on_each_line_is_one_conversation(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    lines = "".join(f"{json.dumps(message)}\n" for message in messages)
    (tmp_path / "chat.jsonl").write_text(lines)
    assert [message.content for message in read_only_item(tmp_path).messages] == ["hi", "hello"]


def test_gemini_responses_with_ids_of_the_log_are_separate_conversations(tmp_path: Path) -> None:
    lines = []
    for name in ("A", "B"):
        content = {"role": "model", "parts": [{"text": name}]}
        lines.append(json.dumps({"id": name, "candidates": [{"content": content}]}) + "\n")
    (tmp_path / "log.jsonl").write_text("".join(lines))
    items, _ = read(tmp_path)
    assert [item.messages[-1].content for item in items] == ["A", "B"]

"""Chat logs of several programs: where each one has the request, the response and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover
from fcreview.model.item import Item
from tests.importers.run_reading import read_runs

QUESTION = {"role": "user", "content": "How warm is it?"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
REPLY = {"role": "assistant", "content": "", "tool_calls": [CALL]}
COMPLETION = {"choices": [{"message": REPLY, "finish_reason": "tool_calls"}]}
GEMINI_QUESTION = [{"role": "user", "parts": [{"text": "How warm is it?"}]}]
BEDROCK_REPLY = {
    "role": "assistant",
    "content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": {"x": 1}}}],
}
ANTHROPIC_REPLY = {
    "role": "assistant",
    "type": "message",
    "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}],
}
EXCHANGES: dict[str, dict[str, Any]] = {
    "Langfuse": {"id": "o", "type": "GENERATION", "input": [QUESTION], "output": REPLY},
    "Langfuse with tools": {"input": {"messages": [QUESTION], "tools": []}, "output": REPLY},
    "Weave": {"inputs": {"messages": [QUESTION]}, "output": COMPLETION},
    "Helicone": {"request_body": {"messages": [QUESTION]}, "response_body": COMPLETION},
    "Bedrock": {
        "schemaType": "ModelInvocationLog",
        "input": {"inputBodyJson": {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}},
        "output": {"outputBodyJson": {"output": {"message": BEDROCK_REPLY}}},
    },
    "OpenAI's batch": {"custom_id": "q", "response": {"status_code": 200, "body": COMPLETION}},
    "streamed reply": {
        "request": {"messages": [QUESTION]},
        "response": [
            {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        ],
    },
    "JSON texts": {
        "request": json.dumps({"messages": [QUESTION]}),
        "response": json.dumps(COMPLETION),
    },
    "messages as JSON text": {"id": "m", "messages": json.dumps([QUESTION, REPLY])},
    "Braintrust": {"input": [QUESTION], "output": [{"index": 0, "message": REPLY}]},
    "Bedrock's batch": {
        "recordId": "q",
        "modelInput": {"messages": [QUESTION]},
        "modelOutput": ANTHROPIC_REPLY,
    },
    "a response without a request": COMPLETION,
    "flat call": {
        "messages": [
            QUESTION,
            {"role": "assistant", "tool_calls": [{"id": "c", "name": "f", "args": {"x": 1}}]},
        ]
    },
    "calls as JSON text": {"messages": [QUESTION, REPLY | {"tool_calls": json.dumps([CALL])}]},
    "LangChain without types": {
        "messages": [
            {
                "lc": 1,
                "type": "constructor",
                "id": ["m", "HumanMessage"],
                "kwargs": {"content": "?"},
            },
            {
                "lc": 1,
                "type": "constructor",
                "id": ["m", "AIMessage"],
                "kwargs": {"content": "", "additional_kwargs": {"tool_calls": [CALL]}},
            },
        ]
    },
    "ShareGPT": {
        "conversations": [
            {"from": "human", "value": "How warm is it?"},
            {"from": "function_call", "value": '{"name": "f", "arguments": {"x": 1}}'},
        ],
        "system": "Be brief.",
        "category": "weather",
        "tools": "",
    },
    "conversations of messages": {"conversations": [QUESTION, REPLY], "source": "own"},
    "Anthropic's batch": {
        "custom_id": "q",
        "result": {"type": "succeeded", "message": ANTHROPIC_REPLY},
    },
}
FAILED_REQUESTS: dict[str, dict[str, Any]] = {
    "status": {"custom_id": "q", "response": {"status_code": 500, "body": {}}},
    "expired": {"custom_id": "q", "response": None, "error": {"code": "batch_expired"}},
    "Anthropic": {"custom_id": "q", "result": {"type": "errored", "error": {"type": "api_error"}}},
    "Gemini": {"key": "q", "error": {"code": 3, "message": "bad"}},
    "Gemini's status": {"key": "q", "status": {"code": 13, "message": "internal"}},
    "Vertex": {
        "status": "Bad Request: x",
        "request": {"contents": GEMINI_QUESTION},
        "response": {},
    },
    "Bedrock": {
        "recordId": "q",
        "modelInput": {"messages": [QUESTION]},
        "error": {"errorCode": 400},
    },
    "LiteLLM": {"messages": [QUESTION], "response": {}, "status": "failure", "error_str": "429"},
    "blocked by Gemini": {
        "request": {"contents": GEMINI_QUESTION},
        "response": {"promptFeedback": {"blockReason": "SAFETY"}},
    },
    "filtered by Gemini": {
        "request": {"contents": GEMINI_QUESTION},
        "response": {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]},
    },
}
UNREAD_RESPONSES: dict[str, Any] = {
    "object": {"detail": "Internal Server Error"},
    "text": "Internal Server Error",
    "list": [{"object": "unknown"}],
    "choices without a message": {"choices": [{"messages": [REPLY]}]},
    "nothing": {},
}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
DECLARED_TOOLS: dict[str, Any] = {
    "Anthropic": [{"name": "f", "input_schema": SCHEMA}],
    "Gemini": [{"function_declarations": [{"name": "f", "parameters_json_schema": SCHEMA}]}],
    "by name": {"f": {"parameters": SCHEMA}},
    "JSON text": json.dumps([{"name": "f", "parameters": SCHEMA}]),
    "JSON text of a tool": json.dumps({"name": "f", "parameters": SCHEMA}),
    "OpenAI": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
}
REFUSED = {
    "the output of claude -p --output-format json": {
        "type": "result",
        "subtype": "success",
        "num_turns": 2,
        "duration_api_ms": 5,
    },
    "an export of ChatGPT": {"mapping": {}, "current_node": "a", "create_time": 1},
    "an export of claude.ai": {"chat_messages": [{"sender": "human"}]},
    "a log of OpenAI Evals": {"spec": {"completion_fns": []}},
    "spans of OpenInference (Phoenix)": {"attributes": {"openinference.span.kind": "LLM"}},
    "steps of smolagents": {"step_number": 1, "model_input_messages": []},
    "a trajectory of DSPy": {"trajectory": {"tool_name_0": "f"}},
    "an output of CrewAI": {"raw": "", "tasks_output": []},
    "a chat history of Semantic Kernel": {"messages": [{"Role": {"Label": "user"}, "Items": []}]},
    "a chat log in another form": {"own": [{"role": "user", "content": "Hi"}]},
}


def read_one(folder: Path, *lines: dict[str, Any]) -> Item:
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (item,), _ = read_runs(discover([folder]).plans)
    return item


def list_issues(item: Item) -> list[str]:
    return [issue.what for issue in item.issues]


@pytest.mark.parametrize("program", EXCHANGES)
def test_call_in_the_response_is_read(tmp_path: Path, program: str) -> None:
    item = read_one(tmp_path, EXCHANGES[program])
    assert [(call.name, call.arguments) for call in item.predicted] == [("f", {"x": 1})]
    assert item.issues == []


def test_output_that_is_a_text_is_the_reply(tmp_path: Path) -> None:
    item = read_one(tmp_path, {"input": [QUESTION], "output": "18 degrees."})
    assert [message.content for message in item.messages] == ["How warm is it?", "18 degrees."]
    assert item.issues == []


def test_output_beside_a_reply_is_metadata(tmp_path: Path) -> None:
    messages = [QUESTION, {"role": "assistant", "content": "18."}]
    item = read_one(tmp_path, {"messages": messages, "output": "a summary"})
    assert [message.content for message in item.messages] == ["How warm is it?", "18."]
    assert item.extra.metadata["output"] == "a summary"


def test_output_of_unknown_form_is_an_issue(tmp_path: Path) -> None:
    item = read_one(tmp_path, {"input": [QUESTION], "output": {"answer": "18 degrees."}})
    assert list_issues(item) == ["messages[1]: message of unknown role without a name"]
    assert "18 degrees." in item.messages[-1].content


def test_trace_with_observations_is_no_chat_log(tmp_path: Path) -> None:
    trace = EXCHANGES["Langfuse"] | {"observations": [{"type": "TOOL"}], "scores": []}
    (tmp_path / "log.jsonl").write_text(json.dumps(trace) + "\n")
    found = discover([tmp_path])
    assert found.plans == []
    assert "looks like a Langfuse export" in found.issues[-1].what


@pytest.mark.parametrize("kind", FAILED_REQUESTS)
def test_failed_request_of_a_batch_is_an_incident(tmp_path: Path, kind: str) -> None:
    item = read_one(tmp_path, FAILED_REQUESTS[kind])
    assert item.incident is not None
    assert item.predicted == []


@pytest.mark.parametrize("form", UNREAD_RESPONSES)
def test_response_that_is_not_read_is_an_issue(tmp_path: Path, form: str) -> None:
    exchange = {"request": {"messages": [QUESTION]}, "response": UNREAD_RESPONSES[form]}
    item = read_one(tmp_path, exchange)
    (issue,) = (issue for issue in item.issues if issue.what.startswith("response: response "))
    assert issue.line == 1
    assert [message.content for message in item.messages] == ["How warm is it?"]


@pytest.mark.parametrize("form", DECLARED_TOOLS)
def test_parameters_of_tools_are_read_beside_plain_messages(tmp_path: Path, form: str) -> None:
    line = {"messages": [QUESTION, REPLY], "tools": DECLARED_TOOLS[form]}
    item = read_one(tmp_path, line)
    assert [list(doc["parameters"]["properties"]) for doc in item.functions] == [["city"]]
    assert item.issues == []


def test_record_with_tools_as_text_and_without_messages_is_no_chat_log(tmp_path: Path) -> None:
    line = {"question": "How warm is it?", "tools": json.dumps([{"name": "f"}])}
    (tmp_path / "questions.jsonl").write_text(json.dumps(line))
    assert discover([tmp_path]).plans == []


@pytest.mark.parametrize("tools", ["f(city)", [{"name": "f", "parameters": SCHEMA}, "g"]])
def test_tool_that_is_no_object_is_an_issue(tmp_path: Path, tools: Any) -> None:
    item = read_one(tmp_path, {"messages": [QUESTION, REPLY], "tools": tools})
    assert any("tool is not an object" in text for text in list_issues(item))
    assert len(item.predicted) == 1


@pytest.mark.parametrize("field", ["system", "instructions"])
def test_place_of_an_issue_counts_the_messages_of_the_request(tmp_path: Path, field: str) -> None:
    unknown = {"type": "hologram"}
    messages = [QUESTION, {"role": "assistant", "content": [unknown, {"type": "text", "text": ""}]}]
    item = read_one(tmp_path, {field: "Be brief.", "messages": messages})
    assert "messages[1].content[0]: unknown content part hologram" in list_issues(item)


def test_id_that_the_user_gave_a_request_is_the_id_of_the_item(tmp_path: Path) -> None:
    item = read_one(tmp_path, EXCHANGES["OpenAI's batch"] | {"id": "batch_req_7f"})
    assert (item.id, item.extra.metadata["id"]) == ("q", "batch_req_7f")


@pytest.mark.parametrize("text", ['{"answer": 18}', "[18]"])
def test_reply_that_is_json_text_stays_a_text(tmp_path: Path, text: str) -> None:
    item = read_one(tmp_path, {"input": [QUESTION], "output": text})
    assert item.messages[-1].content == text


def write_lines(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_file_with_the_pieces_of_a_reply_is_one_conversation(tmp_path: Path) -> None:
    pieces = EXCHANGES["streamed reply"]["response"]
    write_lines(tmp_path / "stream.jsonl", pieces)
    (item,), issues = read_runs(discover([tmp_path]).plans)
    assert [(call.name, call.arguments) for call in item.predicted] == [("f", {"x": 1})]
    assert (item.issues, issues) == ([], [])


def test_file_with_the_pieces_of_several_replies_is_refused(tmp_path: Path) -> None:
    start = {"type": "message_start", "message": {"role": "assistant", "content": []}}
    write_lines(tmp_path / "log.jsonl", [start, start])
    found = discover([tmp_path])
    assert found.plans == []
    assert "the events of several replies of Anthropic's API" in found.issues[-1].what


@pytest.mark.parametrize("name", ["choices", "candidates"])
def test_further_replies_to_a_request_are_an_issue(tmp_path: Path, name: str) -> None:
    replies = {"choices": [{"message": REPLY}] * 3, "candidates": [{"content": {"parts": []}}] * 3}
    item = read_one(tmp_path, {"messages": [QUESTION], name: replies[name]})
    issues = [text for text in list_issues(item) if "further replies" in text]
    assert issues == [f"{name}[1]: 2 further replies to the same request not read, only the first"]


def test_tag_of_a_call_in_a_text_is_a_notice(tmp_path: Path) -> None:
    reply = {"role": "assistant", "content": '<tool_call>{"name": "f"}</tool_call>'}
    item = read_one(tmp_path, {"messages": [QUESTION, reply]})
    (issue,) = item.issues
    assert (issue.severity, issue.what.startswith("messages[1]: <tool_call> is read as text")) == (
        "notice", True,
    )  # fmt: skip
    assert item.predicted == []


def test_call_in_a_message_of_the_user_is_an_issue(tmp_path: Path) -> None:
    item = read_one(tmp_path, {"messages": [QUESTION, REPLY | {"role": "user"}]})
    assert "messages[1]: calls in a message of role user" in list_issues(item)


@pytest.mark.parametrize("title", REFUSED)
def test_format_that_is_not_imported_is_named(tmp_path: Path, title: str) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps(REFUSED[title]) + "\n")
    found = discover([tmp_path])
    assert found.plans == []
    assert f"log.jsonl looks like {title}, which" in found.issues[-1].what


LLAMA_INDEX_QUESTION = {"role": "user", "blocks": [{"block_type": "text", "text": "How warm?"}]}
LLAMA_INDEX_REPLY = {"role": "assistant", "blocks": [], "additional_kwargs": {"tool_calls": [CALL]}}
REPLIES_WITH_CONTENT: dict[str, dict[str, Any]] = {
    "parts of OpenTelemetry": {
        "messages": [
            {"role": "user", "parts": [{"type": "text", "content": "How warm is it?"}]},
            {"role": "assistant", "parts": [{"type": "text", "content": "18"}]},
        ]
    },
    "blocks of LlamaIndex": {
        "messages": [
            LLAMA_INDEX_QUESTION,
            {"role": "assistant", "blocks": [{"block_type": "text", "text": "18"}]},
        ]
    },
    "calls beside the blocks of LlamaIndex": {
        "messages": [LLAMA_INDEX_QUESTION, LLAMA_INDEX_REPLY]
    },
    "spoken reply": {
        "messages": [QUESTION],
        "choices": [
            {"message": {"role": "assistant", "content": None, "audio": {"transcript": "18"}}}
        ],
    },
}


@pytest.mark.parametrize("form", REPLIES_WITH_CONTENT)
def test_reply_in_another_field_is_no_empty_reply(tmp_path: Path, form: str) -> None:
    item = read_one(tmp_path, REPLIES_WITH_CONTENT[form])
    assert item.predicted or item.messages[-1].content == "18"
    assert item.incident is None


EMPTY_REPLIES: dict[str, dict[str, Any]] = {
    "OpenAI": {"choices": [{"message": {"role": "assistant", "content": ""}}]},
    "Responses": {
        "output": [
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": ""}],
            }
        ]
    },
    "Anthropic": {"role": "assistant", "content": [], "stop_reason": "end_turn"},
    "Gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}}]},
    "Bedrock": {"output": {"message": {"role": "assistant", "content": []}}},
}


@pytest.mark.parametrize("api", EMPTY_REPLIES)
def test_empty_reply_is_an_incident(tmp_path: Path, api: str) -> None:
    line = {"request": {"input": "How warm is it?"}, "response": EMPTY_REPLIES[api]}
    assert read_one(tmp_path, line).incident == "empty_reply"


def test_empty_reply_of_sharegpt_is_an_incident(tmp_path: Path) -> None:
    messages = [{"from": "human", "value": "How warm is it?"}, {"from": "gpt", "value": ""}]
    assert read_one(tmp_path, {"conversations": messages}).incident == "empty_reply"


@pytest.mark.parametrize("output", [[], EMPTY_REPLIES["Responses"]["output"]])
def test_text_of_a_request_is_the_question(tmp_path: Path, output: list[Any]) -> None:
    line = {"request": {"input": "How warm is it?"}, "response": {"output": output}}
    item = read_one(tmp_path, line)
    assert item.question == "How warm is it?"
    has_gap = "response: response has no reply that could be read" in list_issues(item)
    assert has_gap == (output == [])


def test_finish_reason_in_the_metadata_of_haystack_can_be_an_incident(tmp_path: Path) -> None:
    reply = {
        "role": "assistant",
        "content": [{"text": "I"}],
        "name": None,
        "meta": {"finish_reason": "content_filter"},
    }
    question = {"role": "user", "content": [{"text": "How warm?"}], "name": None, "meta": {}}
    item = read_one(tmp_path, {"messages": [question, reply]})
    assert (item.incident, item.issues) == ("content_filter", [])


def test_call_of_llama_index_beside_other_blocks_is_an_issue(tmp_path: Path) -> None:
    block = {
        "block_type": "tool_call",
        "tool_call_id": "other",
        "tool_name": "g",
        "tool_kwargs": {},
    }
    item = read_one(
        tmp_path, {"messages": [LLAMA_INDEX_QUESTION, LLAMA_INDEX_REPLY | {"blocks": [block]}]}
    )
    assert [call.name for call in item.predicted] == ["g"]
    assert list_issues(item) == [
        "messages[1]: a call in additional_kwargs is not among the blocks, and is not read"
    ]


TOKENS: dict[str, dict[str, Any]] = {
    "OpenAI": {"usage": {"prompt_tokens": 7, "completion_tokens": 5}},
    "OpenAI as text": {"usage": {"prompt_tokens": "7", "completion_tokens": "5"}},
    "Groq": {"x_groq": {"usage": {"prompt_tokens": 7, "completion_tokens": 5}}},
    "Responses": {"usage": {"input_tokens": 7, "output_tokens": 5}},
    "Anthropic": {
        "usage": {
            "input_tokens": 1,
            "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": 4,
            "output_tokens": 5,
        }
    },
    "Bedrock": {"usage": {"inputTokens": 3, "cacheReadInputTokens": 4, "outputTokens": 5}},
    "Gemini": {
        "usageMetadata": {
            "promptTokenCount": 7,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 2,
        }
    },
    "Gemini in Python": {"usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 5}},
    "Cohere": {"usage": {"tokens": {"input_tokens": 7, "output_tokens": 5}}},
    "Ollama": {"prompt_eval_count": 7, "eval_count": 5},
    "LlamaIndex": {"additional_kwargs": {"prompt_tokens": 7, "completion_tokens": 5}},
}


@pytest.mark.parametrize("api", TOKENS)
def test_tokens_of_a_response_are_counted(tmp_path: Path, api: str) -> None:
    response = {"message": {"role": "assistant", "content": "18"}} | TOKENS[api]
    item = read_one(tmp_path, {"request": {"messages": [QUESTION]}, "response": response})
    assert (item.tokens_in, item.tokens_out) == (7, 5)


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": None}, {"prompt_tokens": 2.5}])
def test_tokens_that_are_no_whole_number_are_unknown(tmp_path: Path, usage: Any) -> None:
    response = {"message": {"role": "assistant", "content": "18"}, "usage": usage}
    item = read_one(tmp_path, {"request": {"messages": [QUESTION]}, "response": response})
    assert (item.tokens_in, item.tokens_out) == (None, None)


@pytest.mark.parametrize("request_body", [None, 5, {}, {"prompt": "How warm is it?"}])
def test_request_that_is_not_read_is_an_issue(tmp_path: Path, request_body: Any) -> None:
    item = read_one(tmp_path, {"request": request_body, "response": COMPLETION})
    assert list_issues(item) == ["request: request has no messages that could be read"]


def test_messages_beside_a_request_are_its_messages(tmp_path: Path) -> None:
    line = {"request": {"url": "/chat"}, "messages": [QUESTION], "response": COMPLETION}
    item = read_one(tmp_path, line)
    assert (item.question, list_issues(item)) == ("How warm is it?", [])


@pytest.mark.parametrize("has_request", [True, False])
def test_incomplete_reply_is_no_failed_request(tmp_path: Path, has_request: bool) -> None:
    text = {"type": "output_text", "text": "It is"}
    reply = {"type": "message", "role": "assistant", "content": [text]}
    details = {"reason": "max_output_tokens"}
    response = {"status": "incomplete", "incomplete_details": details, "output": [reply]}
    line = {"request": {"input": "How warm is it?"}, "response": response}
    item = read_one(tmp_path, line if has_request else response)
    assert (item.messages[-1].content, item.incident) == ("It is", None)
    assert list_issues(item) == ["response: reply incomplete: max_output_tokens"]


def test_refusal_without_a_text_is_no_empty_reply(tmp_path: Path) -> None:
    reply = {"role": "assistant", "content": [], "stop_reason": "refusal"}
    item = read_one(tmp_path, {"request": {"messages": [QUESTION]}, "response": reply})
    assert item.incident is None

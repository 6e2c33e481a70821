"""Requests to models in exports of tracing programs open as conversations."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.dialects.read import read_conversation
from fcreview.importers.dialects.to_item import fill_conversation
from fcreview.importers.registry import discover
from fcreview.model.item import ImportIssue, Item
from fcreview.model.json_value import to_plain_json
from tests.importers.dialects.writers import DIALECTS, make_conversation
from tests.importers.run_reading import read_runs

FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {"x": {}}}}
QUESTION = {"role": "user", "parts": [{"type": "text", "content": "How warm is it?"}]}
CALL = {"type": "tool_call", "id": "c", "name": "f", "arguments": {"x": 1}}
REPLY = {"role": "assistant", "parts": [CALL], "finish_reason": "tool_call"}
OPENAI_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
OPENAI_REPLY = {"role": "assistant", "content": "", "tool_calls": [OPENAI_CALL]}


def encode(value: Any) -> dict[str, Any]:
    """Write the value of an attribute as OpenTelemetry's JSON does."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [encode(element) for element in value]}}
        case dict():
            entries = [{"key": key, "value": encode(element)} for key, element in value.items()]
            return {"kvlistValue": {"values": entries}}
    return {"stringValue": value}


def write_attributes(attributes: dict[str, Any]) -> list[Any]:
    return [{"key": name, "value": encode(value)} for name, value in attributes.items()]


def make_span(number: int, attributes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    span = {"traceId": "t", "spanId": f"s{number}", "attributes": write_attributes(attributes)}
    return span | fields


def make_export(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def read(folder: Path, *lines: Any) -> tuple[list[Item], list[ImportIssue]]:
    (folder / "traces.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read_runs(discover([folder]).plans)


def list_calls(item: Item) -> list[Any]:
    return [(call.name, call.arguments) for call in item.predicted]


REQUEST = {
    "gen_ai.operation.name": "chat",
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.input.messages": [QUESTION],
    "gen_ai.output.messages": [REPLY],
    "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}],
    "gen_ai.tool.definitions": [FUNCTION | {"type": "function"}],
}


@pytest.mark.parametrize("form", ["attributes", "JSON text", "event"])
def test_request_in_a_span_of_opentelemetry_is_read(tmp_path: Path, form: str) -> None:
    attributes: dict[str, Any] = dict(REQUEST)
    if form == "JSON text":
        attributes = {n: json.dumps(v) if isinstance(v, list) else v for n, v in REQUEST.items()}
    span = make_span(1, attributes)
    if form == "event":
        event = {"name": "gen_ai.client.inference.operation.details"}
        span["attributes"] = write_attributes({"gen_ai.operation.name": "chat"})
        span["events"] = [event | {"attributes": write_attributes(attributes)}]
    (item,), issues = read(tmp_path, make_export(span))
    assert (item.id, item.group, item.tokens_in) == ("s1", "t", 7)
    assert [(m.role, m.content) for m in item.messages] == [
        ("system", "Be brief."), ("user", "How warm is it?"),
    ]  # fmt: skip
    assert list_calls(item) == [("f", {"x": 1})]
    assert [doc["name"] for doc in item.functions] == ["f"]
    assert (item.issues, issues) == ([], [])


def test_written_conversations_in_spans_are_read(tmp_path: Path) -> None:
    rng = random.Random("spans")
    conversations = [DIALECTS["otel_genai"].write(make_conversation(rng)) for _ in range(10)]
    spans = [
        make_span(number, {"gen_ai.input.messages": json.dumps(messages)})
        for number, messages in enumerate(conversations)
    ]
    items, issues = read(tmp_path, make_export(*spans[:4]), make_export(*spans[4:]))
    for item, messages in zip(items, conversations, strict=True):
        expected = Item("expected", "")
        fill_conversation(expected, read_conversation(messages))
        assert to_plain_json(list_calls(item)) == to_plain_json(list_calls(expected))
        assert [m.content for m in item.messages] == [m.content for m in expected.messages]
    assert issues == []


def test_spans_that_give_no_item_are_counted(tmp_path: Path) -> None:
    without_content = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    export = make_export(
        make_span(1, REQUEST),
        make_span(2, without_content),
        make_span(3, without_content),
        make_span(4, {"gen_ai.operation.name": "execute_tool"}),
        make_span(5, {"http.method": "GET"}),
    )
    items, issues = read(tmp_path, export)
    assert [item.id for item in items] == ["s1"]
    texts = [issue.what for issue in issues]
    assert any(
        text.startswith("2 entries not read: requests without gen_ai.input") for text in texts
    )
    assert "1 entry not read: spans of the operation execute_tool" in texts
    assert len(texts) == 3 and all(issue.line == 1 for issue in issues)


def test_attribute_with_broken_messages_is_an_issue(tmp_path: Path) -> None:
    attributes = REQUEST | {"gen_ai.output.messages": '[{"role": "assi'}
    (item,), issues = read(tmp_path, make_export(make_span(1, attributes)))
    assert [m.role for m in item.messages] == ["system", "user"]
    assert [issue.what for issue in issues] == ["gen_ai.output.messages of span s1 is not a list"]


def test_failed_span_is_an_incident(tmp_path: Path) -> None:
    attributes = {"gen_ai.input.messages": [QUESTION], "error.type": "RateLimitError"}
    span = make_span(1, attributes, status={"code": 2, "message": "Error code: 429"})
    (item,), _ = read(tmp_path, make_export(span))
    assert (item.incident is not None, item.incident_text) == (True, "Error code: 429")


def test_spans_without_requests_to_a_model_are_refused_by_name(tmp_path: Path) -> None:
    export = make_export(make_span(1, {"http.method": "GET"}))
    (tmp_path / "traces.jsonl").write_text(json.dumps(export) + "\n")
    found = discover([tmp_path])
    assert found.plans == []
    assert "looks like spans of OpenTelemetry without messages" in found.issues[-1].what


def make_run(inputs: Any, outputs: Any, **fields: Any) -> dict[str, Any]:
    run = {"id": "r1", "run_type": "llm", "trace_id": "t", "parent_run_id": None}
    return run | {"inputs": inputs, "outputs": outputs} | fields


def make_langchain_message(kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain_core", kind], "kwargs": kwargs}


LANGCHAIN_REPLY = make_langchain_message(
    "AIMessage", content="", tool_calls=[{"id": "c", "name": "f", "args": {"x": 1}}]
)
RUNS = {
    "LangChain": make_run(
        {"messages": [[make_langchain_message("HumanMessage", content="How warm is it?")]]},
        {"generations": [[{"text": "", "message": LANGCHAIN_REPLY}]]},
        extra={"invocation_params": {"tools": [{"type": "function", "function": FUNCTION}]}},
    ),
    "OpenAI": make_run(
        {
            "messages": [{"role": "user", "content": "How warm is it?"}],
            "tools": [{"type": "function", "function": FUNCTION}],
        },
        {"choices": [{"message": OPENAI_REPLY}]},
    ),
}


@pytest.mark.parametrize("program", RUNS)
def test_request_in_a_run_of_langsmith_is_read(tmp_path: Path, program: str) -> None:
    chain = make_run({"input": "How warm is it?"}, {}, id="r0", run_type="chain")
    (item,), issues = read(tmp_path, chain, RUNS[program])
    assert (item.id, item.group, item.question) == ("r1", "t", "How warm is it?")
    assert list_calls(item) == [("f", {"x": 1})]
    assert [doc["name"] for doc in item.functions] == ["f"]
    assert item.issues == []
    assert [issue.what for issue in issues] == ["1 entry not read: runs of the type chain"]


def test_outputs_of_a_run_that_are_not_read_are_an_issue(tmp_path: Path) -> None:
    run = RUNS["OpenAI"] | {"outputs": {"answer": "18"}}
    (item,), issues = read(tmp_path, run)
    assert item.predicted == []
    assert "outputs of the run have no reply that could be read" in [
        issue.what for issue in [*issues, *item.issues]
    ]


def test_failed_run_is_an_incident(tmp_path: Path) -> None:
    run = RUNS["LangChain"] | {"outputs": None, "error": "RateLimitError('429')"}
    (item,), _ = read(tmp_path, run)
    assert item.incident is not None


def test_only_the_first_of_several_output_messages_is_the_reply(tmp_path: Path) -> None:
    text = {"type": "text", "content": "It is warm."}
    other = {"role": "assistant", "parts": [text], "finish_reason": "content_filter"}
    span = make_span(1, REQUEST | {"gen_ai.output.messages": [REPLY, other, other]})
    (item,), issues = read(tmp_path, make_export(span))
    assert list_calls(item) == [("f", {"x": 1})]
    assert [m.content for m in item.messages if m.role == "assistant"] == []
    assert item.incident is None
    (issue,) = issues
    assert issue.what == (
        "gen_ai.output.messages[1]: 2 further replies to the same request not read, only the first"
    )
    assert (issue.item, issue.line) == ("s1", 1)
    assert "It is warm." in str(issue.raw)


@pytest.mark.parametrize("place", ["message", "attribute"])
def test_finish_reason_of_the_first_reply_can_be_an_incident(tmp_path: Path, place: str) -> None:
    reply = {"role": "assistant", "parts": []}
    attributes = REQUEST | {"gen_ai.output.messages": [reply | {"finish_reason": "content_filter"}]}
    if place == "attribute":
        attributes["gen_ai.output.messages"] = [reply]
        attributes["gen_ai.response.finish_reasons"] = ["content_filter", "stop"]
    (item,), _ = read(tmp_path, make_export(make_span(1, attributes)))
    assert item.incident == "content_filter"


def test_reply_in_parts_is_no_empty_reply(tmp_path: Path) -> None:
    parts = [{"type": "text", "content": "It is warm."}]
    attributes = REQUEST | {"gen_ai.output.messages": [{"role": "assistant", "parts": parts}]}
    (item,), issues = read(tmp_path, make_export(make_span(1, attributes)))
    assert item.messages[-1].content == "It is warm."
    assert (item.incident, issues) == (None, [])


def test_empty_reply_in_a_span_is_an_incident(tmp_path: Path) -> None:
    attributes = REQUEST | {"gen_ai.output.messages": [{"role": "assistant", "parts": []}]}
    (item,), _ = read(tmp_path, make_export(make_span(1, attributes)))
    assert item.incident == "empty_reply"


@pytest.mark.parametrize("is_recorded", [True, False])
def test_span_without_a_reply_is_an_issue(tmp_path: Path, is_recorded: bool) -> None:
    attributes = dict(REQUEST)
    del attributes["gen_ai.output.messages"]
    if is_recorded:
        attributes["gen_ai.output.messages"] = "[]"
    (_,), issues = read(tmp_path, make_export(make_span(1, attributes)))
    assert [(issue.what, issue.item) for issue in issues] == [
        ("no reply of span s1 was recorded", "s1")
    ]


def test_run_without_outputs_is_an_issue(tmp_path: Path) -> None:
    (_,), issues = read(tmp_path, RUNS["LangChain"] | {"outputs": None})
    assert [issue.what for issue in issues] == ["the run has no outputs"]


def test_attributes_that_were_not_recorded_are_an_issue(tmp_path: Path) -> None:
    span = make_span(1, REQUEST, droppedAttributesCount=3)
    (_,), issues = read(tmp_path, make_export(span))
    assert [(issue.what, issue.item) for issue in issues] == [
        ("3 attributes of the span not recorded, so that messages may be missing", "s1")
    ]


SEVERAL_REPLIES = {
    "generations": {
        "generations": [
            [
                {"text": "", "message": LANGCHAIN_REPLY, "generation_info": {}},
                {"text": "It is warm.", "generation_info": {"finish_reason": "content_filter"}},
            ]
        ]
    },
    "choices": {
        "choices": [
            {"message": OPENAI_REPLY, "finish_reason": "tool_calls"},
            {
                "message": {"role": "assistant", "content": "It is warm."},
                "finish_reason": "content_filter",
            },
        ]
    },
    "messages": {"messages": [OPENAI_REPLY, {"role": "assistant", "content": "It is warm."}]},
}


@pytest.mark.parametrize("name", SEVERAL_REPLIES)
def test_only_the_first_of_several_replies_of_a_run_is_read(tmp_path: Path, name: str) -> None:
    program = "LangChain" if name == "generations" else "OpenAI"
    (item,), issues = read(tmp_path, RUNS[program] | {"outputs": SEVERAL_REPLIES[name]})
    assert list_calls(item) == [("f", {"x": 1})]
    assert not any(message.content == "It is warm." for message in item.messages)
    assert item.incident is None
    (issue,) = issues
    assert issue.what.endswith("[1]: 1 further reply to the same request not read, only the first")
    assert issue.what.startswith(name) and issue.item == "r1"
    assert "It is warm." in str(issue.raw)


FINISHES = {
    "generation": {
        "generations": [[{"text": "", "generation_info": {"finish_reason": "content_filter"}}]]
    },
    "metadata": {
        "generations": [
            [
                {
                    "text": "",
                    "message": make_langchain_message(
                        "AIMessage",
                        content="",
                        response_metadata={"finish_reason": "content_filter"},
                    ),
                }
            ]
        ]
    },
    "choice": {
        "choices": [
            {"message": {"role": "assistant", "content": ""}, "finish_reason": "content_filter"}
        ]
    },
}


@pytest.mark.parametrize("place", FINISHES)
def test_finish_reason_of_a_run_can_be_an_incident(tmp_path: Path, place: str) -> None:
    (item,), _ = read(tmp_path, RUNS["OpenAI"] | {"outputs": FINISHES[place]})
    assert item.incident == "content_filter"


def make_reply_with_usage(counts: dict[str, int]) -> dict[str, Any]:
    return make_langchain_message("AIMessage", content="Warm.", usage_metadata=counts)


OPENAI_COUNTS = {"prompt_tokens": 7, "completion_tokens": 5}
COUNTS = {"input_tokens": 7, "output_tokens": 5}
TOKENS_OF_RUNS: dict[str, Any] = {
    "run": OPENAI_COUNTS,
    "message": {"outputs": {"generations": [[{"message": make_reply_with_usage(COUNTS)}]]}},
    "outputs of LangChain": {
        "outputs": {
            "generations": [[{"text": "Warm."}]],
            "llm_output": {"token_usage": OPENAI_COUNTS},
        }
    },
    "outputs of OpenAI": {
        "outputs": {"choices": [{"message": OPENAI_REPLY}], "usage": OPENAI_COUNTS}
    },
    "outputs of LangSmith": {
        "outputs": {"choices": [{"message": OPENAI_REPLY}], "usage_metadata": COUNTS}
    },
}


@pytest.mark.parametrize("place", TOKENS_OF_RUNS)
def test_tokens_of_a_run_are_counted(tmp_path: Path, place: str) -> None:
    (item,), _ = read(tmp_path, RUNS["OpenAI"] | TOKENS_OF_RUNS[place])
    assert (item.tokens_in, item.tokens_out) == (7, 5)


@pytest.mark.parametrize("form", ["conversations", "prompts"])
def test_further_prompt_of_a_run_is_an_issue(tmp_path: Path, form: str) -> None:
    inputs: dict[str, Any] = {"prompts": ["How warm is it?", "How cold is it?"]}
    if form == "conversations":
        messages = [make_langchain_message("HumanMessage", content=t) for t in inputs["prompts"]]
        inputs = {"messages": [[message] for message in messages]}
    run = RUNS["LangChain"] | {"inputs": inputs}
    if form == "prompts":
        run |= {"outputs": {"generations": [[{"text": "Warm."}], [{"text": "Not cold."}]]}}
    (item,), issues = read(tmp_path, run)
    assert item.question == "How warm is it?"
    assert not any(message.content == "Not cold." for message in item.messages)
    assert [issue.what for issue in issues] == [
        "1 further prompt of the run not read, only the first"
    ]


def test_span_without_a_prompt_is_an_issue(tmp_path: Path) -> None:
    attributes = REQUEST | {"gen_ai.input.messages": []}
    (_,), issues = read(tmp_path, make_export(make_span(1, attributes)))
    assert [issue.what for issue in issues] == ["no prompt of span s1 was recorded"]


@pytest.mark.parametrize("value", [{"kvlistValue": None}, {"kvlistValue": {"values": "x"}}])
def test_arguments_in_a_broken_value_are_not_empty(tmp_path: Path, value: Any) -> None:
    span = make_span(1, REQUEST)
    text = json.dumps(make_export(span))
    arguments = json.dumps(encode({"x": 1}))
    assert text.count(arguments) == 1
    (item,), issues = read(tmp_path, json.loads(text.replace(arguments, json.dumps(value))))
    # They are shown as they are written.
    assert (list_calls(item), issues) == ([("f", value)], [])


def test_arguments_without_a_value_are_missing(tmp_path: Path) -> None:
    text = json.dumps(make_export(make_span(1, REQUEST)))
    span = json.loads(text.replace(json.dumps(encode({"x": 1})), "{}"))
    (item,), issues = read(tmp_path, span)
    assert list_calls(item) == [("f", None)]
    assert [issue.what for issue in issues] == [
        "messages[2].parts[0]: arguments of call c are missing"
    ]


@pytest.mark.parametrize("inputs", [{}, {"messages": []}, {"text": "How warm is it?"}])
def test_inputs_of_a_run_that_are_not_read_are_an_issue(tmp_path: Path, inputs: Any) -> None:
    (_,), issues = read(tmp_path, RUNS["OpenAI"] | {"inputs": inputs})
    assert [issue.what for issue in issues] == [
        "inputs of the run have no messages that could be read"
    ]


def test_tools_of_a_run_that_are_no_list_are_an_issue(tmp_path: Path) -> None:
    inputs = RUNS["OpenAI"]["inputs"] | {"tools": "f"}
    (_,), issues = read(tmp_path, RUNS["OpenAI"] | {"inputs": inputs})
    assert [issue.what for issue in issues] == ["tools of the run are not a list"]


def test_requests_in_child_runs_are_read(tmp_path: Path) -> None:
    children = [RUNS["OpenAI"], RUNS["LangChain"] | {"id": "r2"}, {"run_type": "tool"}]
    tool = make_run({}, {}, id="r3", run_type="tool", child_runs=[RUNS["OpenAI"] | {"id": "r4"}])
    chain = make_run({}, {}, id="r0", run_type="chain", child_runs=[*children, tool])
    items, issues = read(tmp_path, chain)
    assert [item.id for item in items] == ["r1", "r2", "r4"]
    assert all(list_calls(item) == [("f", {"x": 1})] for item in items)
    assert [issue.what for issue in issues] == [
        "1 entry not read: runs of the type chain",
        "2 entries not read: runs of the type tool",
    ]

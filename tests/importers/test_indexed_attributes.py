"""Requests in spans of OpenLLMetry, whose attributes have one field of a message each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fcreview.importers.registry import discover
from fcreview.model.item import ImportIssue, Item
from tests.importers.run_reading import read_runs
from tests.importers.test_traces import list_calls, make_export, make_span

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
REQUEST: dict[str, Any] = {
    "llm.request.type": "chat",
    "gen_ai.system": "OpenAI",
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Be brief.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": "How warm is it?",
    "gen_ai.prompt.2.role": "assistant",
    "gen_ai.prompt.2.tool_calls.0.id": "a",
    "gen_ai.prompt.2.tool_calls.0.name": "f",
    "gen_ai.prompt.2.tool_calls.0.arguments": '{"x": 1}',
    "gen_ai.prompt.3.role": "tool",
    "gen_ai.prompt.3.tool_call_id": "a",
    "gen_ai.prompt.3.content": '{"degrees": 18}',
    "llm.request.functions.0.name": "f",
    "llm.request.functions.0.description": "Get the temperature",
    "llm.request.functions.0.parameters": json.dumps(SCHEMA),
    "gen_ai.usage.prompt_tokens": 7,
    "gen_ai.usage.completion_tokens": 5,
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.finish_reason": "tool_calls",
    "gen_ai.completion.0.content": "I see.",
    "gen_ai.completion.0.tool_calls.0.id": "b",
    "gen_ai.completion.0.tool_calls.0.name": "f",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"x": 2}',
    "gen_ai.completion.0.tool_calls.1.id": "c",
    "gen_ai.completion.0.tool_calls.1.name": "f",
    "gen_ai.completion.0.tool_calls.1.arguments": '{"x": 3}',
}


def read(folder: Path, attributes: dict[str, Any]) -> tuple[list[Item], list[ImportIssue]]:
    export = make_export(make_span(1, attributes))
    (folder / "traces.json").write_text(json.dumps(export))
    return read_runs(discover([folder]).plans)


def list_messages(item: Item) -> list[Any]:
    return [(message.role, message.content) for message in item.messages]


def test_request_is_read(tmp_path: Path) -> None:
    # The attributes have no order.
    (item,), issues = read(tmp_path, dict(reversed(REQUEST.items())))
    assert list_messages(item) == [
        ("system", "Be brief."),
        ("user", "How warm is it?"),
        ("tool", '{"degrees": 18}'),
        ("assistant", "I see."),
    ]
    assert list_calls(item) == [("f", {"x": 1}), ("f", {"x": 2}), ("f", {"x": 3})]
    assert [doc["parameters"] for doc in item.functions] == [SCHEMA]
    assert (item.tokens_in, item.tokens_out) == (7, 5)
    assert not any(name.startswith("gen_ai.prompt") for name in item.extra.metadata)
    assert issues == []


def test_messages_have_the_order_of_their_numbers(tmp_path: Path) -> None:
    attributes = {"gen_ai.system": "OpenAI"}
    for number in range(12):
        attributes[f"gen_ai.prompt.{number}.role"] = "user"
        attributes[f"gen_ai.prompt.{number}.content"] = str(number)
    (item,), _ = read(tmp_path, attributes)
    assert [content for _, content in list_messages(item)] == [str(n) for n in range(12)]


def test_only_the_first_completion_is_the_reply(tmp_path: Path) -> None:
    further = {
        "gen_ai.completion.1.role": "assistant",
        "gen_ai.completion.1.content": "It is warm.",
        "gen_ai.completion.1.finish_reason": "content_filter",
    }
    (item,), issues = read(tmp_path, REQUEST | further)
    assert list_messages(item)[-1] == ("assistant", "I see.")
    assert item.incident is None
    assert [issue.what for issue in issues] == [
        "gen_ai.completion[1]: 1 further reply to the same request not read, only the first"
    ]


def test_reasoning_of_anthropic_belongs_to_the_reply_after_it(tmp_path: Path) -> None:
    attributes = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "How warm is it?",
        "gen_ai.completion.0.finish_reason": "end_turn",
        "gen_ai.completion.0.role": "thinking",
        "gen_ai.completion.0.content": "I guess.",
        "gen_ai.completion.1.role": "assistant",
        "gen_ai.completion.1.content": "It is warm.",
    }
    (item,), issues = read(tmp_path, attributes)
    assert list_messages(item)[1:] == [("assistant", "I guess."), ("assistant", "It is warm.")]
    assert item.messages[1].name == "reasoning"
    assert issues == []


def test_calls_beside_results_of_anthropic_are_read(tmp_path: Path) -> None:
    text = [{"type": "text", "text": "I look."}]
    result = {"type": "tool_result", "tool_use_id": "a", "content": "18", "is_error": True}
    attributes = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "How warm is it?",
        "gen_ai.prompt.1.role": "assistant",
        "gen_ai.prompt.1.content": json.dumps(text),
        "gen_ai.prompt.1.tool_calls.0.id": "a",
        "gen_ai.prompt.1.tool_calls.0.name": "f",
        "gen_ai.prompt.1.tool_calls.0.arguments": '{"x": 1}',
        "gen_ai.prompt.2.role": "user",
        "gen_ai.prompt.2.content": json.dumps([result]),
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "It is warm.",
    }
    (item,), issues = read(tmp_path, attributes)
    assert list_messages(item) == [
        ("user", "How warm is it?"),
        ("assistant", "I look."),
        ("tool", "[error] 18"),
        ("assistant", "It is warm."),
    ]
    assert list_calls(item) == [("f", {"x": 1})]
    assert issues == []


def test_calls_of_the_reply_after_a_result_of_anthropic_are_read(tmp_path: Path) -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "18"}
    attributes = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": json.dumps([result]),
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "",
        "gen_ai.completion.0.tool_calls.0.id": "b",
        "gen_ai.completion.0.tool_calls.0.name": "f",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"x": 2}',
    }
    (item,), _ = read(tmp_path, attributes)
    assert list_calls(item) == [("f", {"x": 2})]


def test_text_that_is_json_stays_a_text(tmp_path: Path) -> None:
    (item,), _ = read(tmp_path, REQUEST | {"gen_ai.prompt.1.content": '[{"x": 1}]'})
    assert item.question == '[{"x": 1}]'


def test_prompt_without_a_role_is_the_users(tmp_path: Path) -> None:
    attributes = {"gen_ai.prompt.0.user": "How warm is it?", "gen_ai.completion.0.content": "Warm."}
    (item,), issues = read(tmp_path, attributes)
    assert list_messages(item) == [("user", "How warm is it?"), ("assistant", "Warm.")]
    assert issues == []


def test_missing_message_is_an_issue(tmp_path: Path) -> None:
    attributes = {n: v for n, v in REQUEST.items() if not n.startswith("gen_ai.prompt.1.")}
    _, issues = read(tmp_path, attributes)
    assert [issue.what for issue in issues] == [
        "gen_ai.prompt.1 of span s1 is missing, although a later one is there"
    ]


def test_fields_of_unknown_form_are_issues(tmp_path: Path) -> None:
    attributes = REQUEST | {"gen_ai.prompt.1": "How warm is it?", "gen_ai.completion.0.x.y": "z"}
    _, issues = read(tmp_path, attributes)
    texts = [issue.what for issue in issues]
    assert any("field value is not read" in text for text in texts)
    assert any("field x is not read" in text for text in texts)


def test_names_with_huge_numbers_and_many_parts_are_metadata_or_issues(tmp_path: Path) -> None:
    huge = f"gen_ai.prompt.{'9' * 5_000}.role"
    deep = f"gen_ai.prompt.1{'.a' * 5_000}"
    (item,), issues = read(tmp_path, REQUEST | {huge: "user", deep: "z"})
    assert huge in item.extra.metadata
    assert any("field a is not read" in issue.what for issue in issues)


def test_embeddings_are_counted_as_another_kind(tmp_path: Path) -> None:
    attributes = {"llm.request.type": "embedding", "gen_ai.prompt.0.content": "text"}
    items, issues = read(tmp_path, attributes)
    assert items == []
    assert "1 entry not read: spans of the request type embedding" in [i.what for i in issues]

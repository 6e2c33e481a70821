"""Conversations in every dialect are read as they were written, and nothing is lost in silence."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.dialects.conversation import ParsedConversation, ParsedMessage
from fcreview.importers.dialects.read import read_conversation
from fcreview.importers.dialects.text_calls import UnknownStyle, read_text_calls
from tests.importers.dialects.writers import (
    DIALECTS,
    Conversation,
    expect,
    make_conversation,
    write_ai_sdk_turns,
    write_sharegpt_tags,
)

N_CONVERSATIONS = 200
N_MUTATIONS = 250
CARRIERS = {
    "role", "content", "text", "parts", "message", "tool_calls", "function", "name", "arguments",
    "input", "args", "parameters", "id", "call_id", "tool_call_id", "tool_use_id", "toolUseId",
    "toolUse", "toolResult", "functionCall", "functionResponse", "response", "output", "outputs",
    "tool_results", "type", "data", "status", "thought", "is_error", "reasoning",
    "reasoning_content", "thinking", "reasoningContent", "reasoningText", "summary", "toolCallId",
    "toolName", "value", "state", "errorText", "kind", "part_kind", "tool_name", "blocks",
    "block_type", "tool_kwargs", "additional_kwargs", "tool_call", "tool_call_result", "result",
    "origin", "error", "reasoning_text", "from",
}  # fmt: skip
"""Fields that carry a role, a text, reasoning, a call, a result, an error or an id."""
OPTIONAL_FIELDS = {
    "status removed", "thought removed", "is_error removed", "thinking removed",
    "reasoning_content removed",
}  # fmt: skip
"""Removed fields without which a message is still valid in every dialect."""
OPTIONAL = {
    ("anthropic", "content removed"),  # a tool that returned nothing
    ("gemini", "args removed"),  # a call without arguments
    ("gemini", "output removed"),  # a response without an output
    ("gemini", "error removed"),  # the same
    ("openai_chat", "content removed"),  # a reply with calls only
    ("ollama", "content removed"),  # the same
}
"""Changes after which a conversation is still what the API writes."""


def list_readings(conversation: ParsedConversation) -> list[tuple[Any, ...]]:
    readings: list[tuple[Any, ...]] = []
    for message in conversation.messages:
        if message.role == "assistant":
            calls = [(call.id, call.name, call.arguments) for call in message.calls]
            readings.append(("assistant", message.text, message.reasoning, calls))
        elif message.role != "tool":
            readings.append((message.role, message.text))
        for result in message.results:
            readings.append(("result", result.call_index, result.text, result.is_error))
    return readings


@pytest.mark.parametrize("dialect", DIALECTS)
def test_written_conversations_are_read(dialect: str) -> None:
    rng = random.Random(dialect)
    for _ in range(N_CONVERSATIONS):
        conversation = make_conversation(rng)
        read = read_conversation(DIALECTS[dialect].write(conversation), dialect=dialect)
        assert list_readings(read) == expect(conversation, DIALECTS[dialect])
        assert read.issues == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialect_is_recognised(dialect: str) -> None:
    rng = random.Random(dialect)
    for _ in range(N_CONVERSATIONS):
        conversation = make_conversation(rng)
        has_calls = any(reply.calls for turn in conversation.turns for reply in turn.replies)
        if has_calls:
            assert read_conversation(DIALECTS[dialect].write(conversation)).dialect == dialect


def list_places(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the objects and fields that carry content."""
    if isinstance(value, list):
        for element in value:
            yield from list_places(element)
    elif isinstance(value, dict):
        for name, field in value.items():
            if name in CARRIERS:
                yield value, name
            is_arguments = name in ("arguments", "input", "args", "parameters")
            if not is_arguments or isinstance(field, list):
                yield from list_places(field)


def mutate(written: Any, rng: random.Random) -> str:
    holder, name = rng.choice(list(list_places(written)))
    match rng.choice(["removed", "renamed", "retyped"]):
        case "removed":
            del holder[name]
            return f"{name} removed"
        case "renamed":
            holder[f"{name}_x"] = holder.pop(name)
            return f"{name} renamed"
        case _:
            holder[name] = 5 if isinstance(holder[name], str | list) else "five"
            return f"{name} retyped"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_damaged_fields_are_reported(dialect: str) -> None:
    assert list_losses(dialect, DIALECTS[dialect].write) == []


def list_losses(dialect: str, write: Callable[[Conversation], Any]) -> list[str]:
    """Return the changes of fields after which a conversation is read otherwise, without an
    issue.
    """
    rng = random.Random(f"damage {dialect}")
    lost = []
    for _ in range(N_MUTATIONS):
        written = write(make_conversation(rng))
        before = list_readings(read_conversation(written, dialect=dialect))
        damaged = copy.deepcopy(written)
        change = mutate(damaged, rng)
        read = read_conversation(damaged, dialect=dialect)
        is_visible = any(mark in str(list_readings(read)) for mark in ("five", "'5'", ": 5", "_x"))
        is_lost = list_readings(read) != before and not read.issues and not is_visible
        is_optional = (dialect, change) in OPTIONAL or change in OPTIONAL_FIELDS
        if is_lost and not is_optional:
            lost.append(change)
    return lost


def test_messages_of_the_user_interface_of_the_ai_sdk_are_read() -> None:
    rng = random.Random("ai_sdk turns")
    for _ in range(N_CONVERSATIONS):
        conversation = make_conversation(rng)
        read = read_conversation(write_ai_sdk_turns(conversation))
        assert read.dialect == "ai_sdk"
        assert list_readings(read) == expect(conversation, DIALECTS["ai_sdk"])
        assert read.issues == []
    assert list_losses("ai_sdk", write_ai_sdk_turns) == []


def test_calls_and_results_in_tags_of_sharegpt_are_read() -> None:
    rng = random.Random("sharegpt tags")
    for _ in range(N_CONVERSATIONS):
        conversation = make_conversation(rng)
        read = read_conversation(write_sharegpt_tags(conversation))
        assert list_readings(read) == expect(conversation, DIALECTS["sharegpt"])
        assert read.issues == []
    assert list_losses("sharegpt", write_sharegpt_tags) == []


SHAREGPT_CALL = '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>'


def read_sharegpt(*values: tuple[str, Any], **fields: Any) -> ParsedConversation:
    messages = [{"from": speaker, "value": value} for speaker, value in values]
    return read_conversation({"conversations": messages, **fields})


@pytest.mark.parametrize(
    ("tag", "arguments"),
    [
        (SHAREGPT_CALL, {"x": 1}),
        ("<tool_call>\n{'name': 'f', 'arguments': {'x': None}}\n</tool_call>", {"x": None}),
        ("<tool_call><function=f><parameter=x>1</parameter></function></tool_call>", {"x": "1"}),
        ("<tool_call>f<arg_key>x</arg_key><arg_value>1</arg_value></tool_call>", {"x": "1"}),
    ],
)
def test_calls_of_sharegpt_in_each_style_of_tag_are_read(tag: str, arguments: Any) -> None:
    read = read_sharegpt(("human", "Go."), ("gpt", f"I look.\n{tag}"), ("tool", "2"))
    readings = list_readings(read)
    assert readings[1] == ("assistant", "I look.", None, [(None, "f", arguments)])
    assert readings[2] == ("result", 0, "2", None)
    assert all(issue.severity == "notice" for issue in read.issues)


def test_tags_of_sharegpt_are_calls_if_there_are_tools() -> None:
    values = (("human", "Go."), ("gpt", SHAREGPT_CALL))
    tool = {"name": "f", "parameters": {"type": "object", "properties": {}}}
    prompt = ("system", "You may call <tools></tools>.")
    for read in (read_sharegpt(*values, tools=[tool]), read_sharegpt(prompt, *values)):
        assert [call.name for call in read.messages[-1].calls] == ["f"]
    quoted = read_sharegpt(*values)
    assert (quoted.messages[-1].text, quoted.messages[-1].calls) == (SHAREGPT_CALL, [])


def test_call_of_sharegpt_that_is_not_json_stays_with_an_issue() -> None:
    read = read_sharegpt(("human", "Go."), ("function_call", "f(x)"), ("observation", "2"))
    assert read.messages[1].unknown_parts == ["f(x)"]
    assert [issue.what for issue in read.issues] == [
        "call is not JSON", "result without an id belongs to no call",
    ]  # fmt: skip


def test_results_in_tags_of_the_user_are_results() -> None:
    results = "<tool_response>\n2\n</tool_response>\n<tool_response>3</tool_response>"
    read = read_sharegpt(
        ("human", "Go."), ("gpt", SHAREGPT_CALL + SHAREGPT_CALL), ("human", results), tools=[{}]
    )
    assert [(r.text, r.call_index) for m in read.messages for r in m.results] == [
        ("2", 0), ("3", 1),
    ]  # fmt: skip


def test_many_tags_without_an_end_are_read_in_short_time() -> None:
    text = SHAREGPT_CALL + "<tool_call>{" * 50_000
    read = read_sharegpt(("human", "Go."), ("gpt", text), ("tool", "2"))
    assert read.messages[1].text == text
    assert "too many tags to read the calls in a text" in [issue.what for issue in read.issues]


@pytest.mark.parametrize("call_form", ["toolInvocations", "parts"])
def test_calls_of_version_4_of_the_ai_sdk_are_read(call_form: str) -> None:
    call = {"toolCallId": "c", "toolName": "f", "args": {"x": 1}, "state": "result", "result": [2]}
    message: dict[str, Any] = {"role": "assistant", "content": "Done.", "toolInvocations": [call]}
    if call_form == "parts":
        message["parts"] = [{"type": "tool-invocation", "toolInvocation": call}]
    read = read_conversation([{"role": "user", "content": "Go."}, message])
    assert [c.arguments for m in read.messages for c in m.calls] == [{"x": 1}]
    assert [r.text for m in read.messages for r in m.results] == ["[2]"]
    assert read.issues == []


def test_reasoning_of_haystack_without_calls_is_read() -> None:
    reasoning = {"reasoning": {"reasoning_text": "Hm.", "extra": {}}}
    messages = [
        {"role": "user", "meta": {}, "name": None, "content": [{"text": "Go."}]},
        {"role": "assistant", "meta": {}, "name": None, "content": [reasoning, {"text": "Done."}]},
    ]
    read = read_conversation(messages)
    assert [(m.text, m.reasoning) for m in read.messages] == [("Go.", None), ("Done.", "Hm.")]
    assert (read.dialect, read.issues) == ("haystack", [])


def test_underscored_names_of_old_haystack_are_read() -> None:
    call = {"tool_call": {"id": "c", "tool_name": "f", "arguments": {"x": 1}}}
    read = read_conversation(
        [{"_role": "assistant", "_meta": {}, "_name": None, "_content": [call]}]
    )
    assert [(c.name, c.arguments) for c in read.messages[0].calls] == [("f", {"x": 1})]
    assert read.issues == []


def test_calls_of_llama_index_in_the_kwargs_count_once() -> None:
    repeated = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    kwargs = {"tool_calls": [repeated]}
    block = {
        "block_type": "tool_call",
        "tool_call_id": "c",
        "tool_name": "f",
        "tool_kwargs": {"x": 1},
    }
    for blocks in ([], [block]):
        read = read_conversation(
            [{"role": "assistant", "additional_kwargs": kwargs, "blocks": blocks}]
        )
        assert [(c.name, c.arguments) for c in read.messages[0].calls] == [("f", {"x": 1})]
        assert (read.dialect, read.issues) == ("llama_index", [])


def test_calls_of_qwen_agent_beside_parts_without_type_are_read() -> None:
    call = {"name": "f", "arguments": '{"x": 1}'}
    read = read_conversation(
        [
            {"role": "user", "content": [{"text": "Go."}]},
            {"role": "assistant", "content": "", "function_call": call},
            {"role": "function", "name": "f", "content": "2"},
            {"role": "assistant", "content": [{"text": "Done."}]},
        ]
    )
    texts = [(message.role, message.text) for message in read.messages]
    assert texts == [("user", "Go."), ("assistant", ""), ("tool", ""), ("assistant", "Done.")]
    assert [c.arguments for m in read.messages for c in m.calls] == [{"x": 1}]
    assert read.issues == []


@pytest.mark.bench
def test_published_conversations_are_read(bench: Path) -> None:
    folder = bench / "dialects"
    truth = json.loads((folder / "truth.json").read_text())
    n_files = 0
    for name, expected in truth.items():
        if not name.endswith(".json"):
            continue
        read = read_conversation(json.loads((folder / name).read_text()))
        # Both dialects are read alike.
        assert read.dialect == expected["dialect"] or read.dialect == "ollama"
        assert len(read.messages) == len(expected["messages"]), name
        for message, wanted in zip(read.messages, expected["messages"], strict=True):
            compare_message(message, wanted)
        assert len(read.issues) == len(expected["issues"]), name
        n_files += 1
    assert n_files == 23


def compare_message(message: ParsedMessage, wanted: dict[str, Any]) -> None:
    assert message.role == wanted["role"]
    assert message.text == wanted.get("text", "")
    assert message.reasoning == wanted.get("reasoning")
    assert message.is_refusal == wanted.get("refusal", False)
    calls = wanted.get("calls", [])
    assert len(message.calls) == len(calls)
    for call, wanted_call in zip(message.calls, calls, strict=True):
        assert (call.id, call.name) == (wanted_call["id"], wanted_call["name"])
        assert call.arguments == wanted_call["arguments"]
        assert call.is_custom == wanted_call.get("custom", False)
        assert call.is_by_provider == wanted_call.get("by_provider", False)
        assert call.server == wanted_call.get("server")
        if "raw" in wanted_call:
            assert call.raw == wanted_call["raw"]
        if "result" in wanted_call:
            assert call.result is not None
            assert call.result.text == wanted_call["result"]["text"]
            assert call.result.is_error == wanted_call["result"]["error"]
    for result, wanted_result in zip(message.results, wanted.get("results", []), strict=True):
        assert (result.call_id, result.text) == (wanted_result["call_id"], wanted_result["text"])
        assert result.is_error == wanted_result["error"]
        if wanted_result.get("call_index") is not None:
            assert result.call_index == wanted_result["call_index"]


@pytest.mark.bench
def test_published_text_calls_are_read(bench: Path) -> None:
    folder = bench / "dialects"
    truth = json.loads((folder / "truth.json").read_text())["text_tags.jsonl"]
    texts = [json.loads(line)["text"] for line in (folder / "text_tags.jsonl").open()]
    for text, wanted in zip(texts, truth["messages"], strict=True):
        if wanted["style"] == "none":
            continue
        reply = read_text_calls(text, wanted["style"])
        calls = [{"name": call.name, "arguments": call.arguments} for call in reply.calls]
        assert (reply.text, calls, reply.reasoning) == (
            wanted["text"],
            wanted["calls"],
            wanted["reasoning"],
        )


def call(identifier: str | None, name: str = "f") -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    return {"id": identifier, "type": "function", "function": function}


def result(identifier: str | None, name: str | None = None) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identifier, "content": "x", "name": name}


def pair(*messages: dict[str, Any]) -> list[int | None]:
    read = read_conversation([{"role": "user", "content": "hi"}, *messages])
    return [each.call_index for message in read.messages for each in message.results]


def test_repeated_ids_belong_to_the_last_call() -> None:
    first = {"role": "assistant", "tool_calls": [call("call_0")]}
    second = {"role": "assistant", "tool_calls": [call("call_0")]}
    assert pair(first, result("call_0"), second, result("call_0")) == [0, 1]
    assert pair(first, second, result("call_0"), result("call_0")) == [1, 0]


def test_results_without_ids_follow_the_order_and_names() -> None:
    reply = {"role": "assistant", "tool_calls": [call(None, "f"), call(None, "g")]}
    assert pair(reply, result(None), result(None)) == [0, 1]
    assert pair(reply, result(None, "g"), result(None, "f")) == [1, 0]
    assert pair(reply, result(None, "h")) == [None]


def test_results_without_ids_never_answer_calls_before_a_user_message() -> None:
    reply = {"role": "assistant", "tool_calls": [call(None)]}
    assert pair(reply, {"role": "user", "content": "and?"}, result(None)) == [None]


def test_many_calls_are_paired_in_linear_time() -> None:
    n_calls = 50_000
    reply = {"role": "assistant", "tool_calls": [call(f"c{i}") for i in range(n_calls)]}
    indexes = pair(reply, *(result(f"c{i}") for i in reversed(range(n_calls))))
    assert indexes == list(reversed(range(n_calls)))


def test_unclosed_text_call_is_reported() -> None:
    reply = read_text_calls('I try. <tool_call>{"name": "f"', "hermes")
    assert (reply.text, reply.calls) == ("I try.", [])
    assert [issue.what for issue in reply.issues] == ["call not closed"]
    assert reply.issues[0].raw == '<tool_call>{"name": "f"'


@pytest.mark.parametrize("style", ["pythonic", "llama3_json"])
def test_text_without_calls_stays_text(style: str) -> None:
    reply = read_text_calls("Rome is warmer.", style)
    assert (reply.text, reply.calls, reply.issues) == ("Rome is warmer.", [], [])


def test_pythonic_calls_are_never_run() -> None:
    reply = read_text_calls("[f(a=__import__('os').getpid())]", "pythonic")
    assert all(isinstance(call.arguments["a"], str) for call in reply.calls if call.arguments)


def read_reply(dialect: str, blocks: list[Any]) -> ParsedConversation:
    """Read a reply that consists of blocks, or of parts."""
    field = "parts" if dialect == "gemini" else "content"
    role = "model" if dialect == "gemini" else "assistant"
    return read_conversation([{"role": role, field: blocks}], dialect=dialect)


def test_cited_and_guarded_texts_of_bedrock_are_read() -> None:
    cited = {"content": [{"text": "The answer is 5."}], "citations": [{"title": "Book"}]}
    guarded = {"text": {"text": " Safe.", "qualifiers": ["query"]}}
    read = read_reply("bedrock_converse", [{"citationsContent": cited}, {"guardContent": guarded}])
    assert read.messages[0].text == "The answer is 5. Safe."
    assert read.messages[0].notes == [{"citations": [{"title": "Book"}]}]
    assert read.issues == []


@pytest.mark.parametrize(
    ("dialect", "block"),
    [
        ("bedrock_converse", {"text": "I look.", "toolUse": {"name": "f", "input": {"x": 1}}}),
        ("bedrock_converse", {"toolUse": {"name": "f", "input": {"x": 1}}, "text": "I look."}),
        ("gemini", {"text": "I look.", "functionCall": {"name": "f", "args": {"x": 1}}}),
        (
            "gemini",
            {
                "thoughtSignature": "s",
                "function_call": {"name": "f", "args": {"x": 1}},
                "text": "I look.",
            },
        ),
    ],
)
def test_all_keys_of_a_block_are_read(dialect: str, block: dict[str, Any]) -> None:
    read = read_reply(dialect, [block])
    assert list_readings(read) == [("assistant", "I look.", None, [(None, "f", {"x": 1})])]
    assert read.issues == []


@pytest.mark.parametrize(
    ("dialect", "block"),
    [
        ("bedrock_converse", {"text": "and?", "toolResult": {"content": [{"text": "5"}]}}),
        ("gemini", {"functionResponse": {"response": {"output": "5"}}, "text": "and?"}),
    ],
)
def test_result_and_text_of_one_block_are_read(dialect: str, block: dict[str, Any]) -> None:
    field = "parts" if dialect == "gemini" else "content"
    read = read_conversation([{"role": "user", field: [block]}], dialect=dialect)
    assert [m.text for m in read.messages if m.role == "user"] == ["and?"]
    assert [result.text for m in read.messages for result in m.results] == ["5"]


@pytest.mark.parametrize("dialect", ["bedrock_converse", "gemini"])
def test_unknown_key_beside_a_known_one_is_an_issue(dialect: str) -> None:
    read = read_reply(dialect, [{"text": "Hi.", "newThing": {"text": "lost"}}])
    assert read.messages[0].text == "Hi."
    (issue,) = read.issues
    assert "newThing" in issue.what


def reply_with_both_fields(name: str, arguments: str) -> ParsedConversation:
    tool_call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    legacy_call = {"name": name, "arguments": arguments}
    reply = {
        "role": "assistant",
        "content": None,
        "tool_calls": [tool_call],
        "function_call": legacy_call,
    }
    return read_conversation([reply], dialect="openai_chat")


def test_call_that_is_named_in_both_fields_is_one_call() -> None:
    read = reply_with_both_fields("f", '{"x":1}')
    assert [call.id for call in read.messages[0].calls] == ["c"]
    assert read.issues == []


@pytest.mark.parametrize(("name", "arguments"), [("g", '{"x": 1}'), ("f", '{"x": true}')])
def test_another_call_in_the_old_field_is_an_issue(name: str, arguments: str) -> None:
    read = reply_with_both_fields(name, arguments)
    assert [call.name for call in read.messages[0].calls] == ["f", name]
    assert [issue.what for issue in read.issues] == [
        "function_call is another call than those in tool_calls"
    ]


def test_repeated_argument_in_the_text_of_a_call_is_an_issue() -> None:
    function = {"name": "f", "arguments": '{"x": 1, "x": 2}'}
    reply = {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]}
    read = read_conversation([reply])
    assert read.messages[0].calls[0].arguments == {"x": 2}
    assert "arguments of call c have the key x more than once" in [i.what for i in read.issues]


def test_unknown_style_is_refused() -> None:
    with pytest.raises(UnknownStyle, match="unknown style xml"):
        read_text_calls("x", "xml")


def test_reply_of_several_mistral_entries_has_the_place_of_the_first() -> None:
    entries = [
        {"type": "message.output", "role": "assistant", "content": "I look."},
        {"type": "function.call", "tool_call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function.result", "tool_call_id": "c", "result": "18"},
        {"type": "message.output", "role": "assistant", "content": "18 degrees."},
    ]
    conversation = read_conversation({"outputs": entries})
    places = [message.path for message in conversation.messages]
    assert places == ["outputs[0]", "outputs[2]", "outputs[3]"]

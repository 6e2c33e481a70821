"""Messages of any API in files of other formats give the same calls and results."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.dialects.read import read_conversation
from fcreview.importers.dialects.to_item import NO_RESULT, fill_conversation
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import UNKNOWN_PARTS, Item
from fcreview.model.json_value import to_plain_json
from tests.importers.dialects.writers import DIALECTS, make_conversation
from tests.importers.inspect.test_damage import make_log
from tests.importers.tau.test_damage import make_simulation

PLACEHOLDERS = {NO_RESULT, "(no result)"}
UNKNOWN_BLOCK = {"type": "hologram", "name": "f", "input": {"x": 1}}


def write_atif(messages: list[Any]) -> Any:
    agent = {"name": "a", "version": "1"}
    steps = list(messages)
    if "step_id" not in steps[0]:
        steps.insert(0, {"step_id": 1, "source": "system", "message": "Be brief."})
    return {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": agent, "steps": steps}


def write_tau1(messages: list[Any]) -> Any:
    task = {"user_id": "u", "instruction": "i", "actions": [], "outputs": []}
    info = {"task": task, "reward_info": {"reward": 1.0, "info": {"r_actions": 1.0}}}
    return [{"task_id": 0, "trial": 0, "reward": 1.0, "info": info, "traj": messages}]


def write_tau2(messages: list[Any]) -> Any:
    simulation = make_simulation(0, "t", reward=1.0, info={"reward": 1.0}, text="Done.")
    simulation["messages"] = messages
    run = {"agent_info": {"llm": "m"}, "environment_info": {"domain_name": "d"}}
    return {"info": run, "tasks": [{"id": "t"}], "simulations": [simulation]}


def write_inspect(messages: list[Any]) -> Any:
    log = make_log()
    log["samples"] = [log["samples"][0] | {"messages": messages}]
    return log


def write_nemo_gym(messages: list[Any]) -> Any:
    response = {"model": "m", "output": messages}
    return {"responses_create_params": {"input": []}, "response": response, "reward": 1.0}


def write_verifiers(messages: list[Any]) -> Any:
    rollout = {"example_id": 0, "prompt": [], "completion": messages, "reward": 1.0}
    return rollout | {"metrics": {}, "is_completed": True, "stop_condition": "no_tools_called"}


def write_evalscope(messages: list[Any]) -> Any:
    reply = {"role": "assistant", "content": "Done."}
    output = {"model": "m", "choices": [{"message": reply}]}
    return {"index": 0, "model": "m", "model_output": output, "messages": messages}


FORMATS: dict[str, Callable[[list[Any]], Any]] = {
    "atif": write_atif,
    "tau v1": write_tau1,
    "tau2": write_tau2,
    "inspect": write_inspect,
    "nemo_gym": write_nemo_gym,
    "verifiers": write_verifiers,
    "evalscope": write_evalscope,
}
FILE_NAMES = {
    "nemo_gym": "rollouts.jsonl",
    "verifiers": "results.jsonl",
    "evalscope": "predictions/m/own_default.jsonl",
}
CHAT_FORM = ("openai_chat", "ollama")


def read_item(folder: Path, format_name: str, messages: list[Any]) -> Item:
    path = folder / FILE_NAMES.get(format_name, "trajectory.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(FORMATS[format_name](messages)))
    (plan,) = discover([folder]).plans
    (item,) = (record for record in read_items(plan) if isinstance(record, Item))
    return item


def list_calls(item: Item) -> list[Any]:
    return [(call.name, call.arguments) for call in item.predicted]


def list_results(item: Item) -> list[str]:
    """Return the texts of results, without the marks that formats put before errors."""
    results = []
    for message in item.messages:
        if message.role == "tool" and message.content not in PLACEHOLDERS:
            text = message.content.removeprefix("[error] ").removeprefix("error (unknown): ")
            results.append(text)
    return results


def list_written_messages(dialect: str, seed: str) -> list[Any]:
    """Write a conversation, and return the messages without the system prompt outside them."""
    written = DIALECTS[dialect].write(make_conversation(random.Random(seed)))
    if isinstance(written, list):
        return written
    for name in ("messages", "contents", "conversations", "chat_history", "input"):
        if name in written:
            return list(written[name])
    raise AssertionError(written)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("format_name", FORMATS)
def test_messages_of_other_dialects_give_their_calls_and_results(
    tmp_path: Path, format_name: str, dialect: str
) -> None:
    if format_name == "evalscope" and dialect in CHAT_FORM:
        pytest.skip("EvalScope's own messages have fields that chat messages lack")
    if (format_name, dialect) == ("atif", "sharegpt"):
        pytest.skip("each message is a step, and so are parallel calls: their results are issues")
    for seed in range(3):
        messages = list_written_messages(dialect, f"{dialect} {seed}")
        expected = Item("expected", "")
        fill_conversation(expected, read_conversation(messages, dialect=dialect))
        item = read_item(tmp_path, format_name, messages)
        # Inspect's logs keep integers of more than 64 bits as texts.
        assert to_plain_json(list_calls(item)) == to_plain_json(list_calls(expected))
        assert sorted(list_results(item)) == sorted(list_results(expected))
        texts = {message.content for message in item.messages if message.role == "assistant"}
        assert {m.content for m in expected.messages if m.role == "assistant"} <= texts


@pytest.mark.parametrize("format_name", ["atif", "tau v1", "tau2", "inspect"])
def test_unknown_block_is_an_issue_and_is_shown(tmp_path: Path, format_name: str) -> None:
    block_and_text = [UNKNOWN_BLOCK, {"type": "text", "text": "Hi."}]
    reply: dict[str, Any] = {"role": "assistant", "content": block_and_text}
    if format_name == "atif":
        reply = {"step_id": 1, "source": "agent", "message": block_and_text}
    item = read_item(tmp_path, format_name, [reply])
    (issue,) = (issue for issue in item.issues if "hologram" in issue.what)
    assert issue.file.endswith("trajectory.json")
    assert issue.line is not None
    assert [m.content for m in item.messages if m.role == "assistant"] == ["Hi."]
    (shown,) = (message for message in item.messages if message.name == UNKNOWN_PARTS)
    assert json.loads(shown.content) == [UNKNOWN_BLOCK]
    assert item.predicted == []


def test_call_and_result_of_anthropic_in_steps_of_atif(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "5", "is_error": True}
    text = {"type": "text", "text": "I look."}
    steps = [
        {"step_id": 1, "source": "user", "message": "How?"},
        {"step_id": 2, "source": "agent", "message": [text, call], "reasoning_content": "Hm."},
        {"step_id": 3, "source": "user", "message": [result]},
        {"step_id": 4, "source": "agent", "message": "Five."},
    ]
    item = read_item(tmp_path, "atif", steps)
    assert list_calls(item) == [("f", {"x": 1})]
    shown = [(message.role, message.content) for message in item.messages]
    assert shown == [
        ("user", "How?"),
        ("assistant", "Hm."),
        ("assistant", "I look."),
        ("tool", "[error] 5"),
        ("assistant", "Five."),
    ]
    assert (item.n_turns, item.issues) == (1, [])


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
        {"id": "c", "name": "f", "args": {"x": 1}},
        {"tool_call_id": "c", "function_name": "f", "arguments": '{"x": 1}'},
    ],
)
def test_calls_of_atif_in_other_forms_keep_name_and_arguments(
    tmp_path: Path, call: dict[str, Any]
) -> None:
    observation = {"results": [{"source_call_id": "c", "content": "5"}]}
    step = {"step_id": 1, "source": "agent", "message": "", "observation": observation}
    item = read_item(tmp_path, "atif", [step | {"tool_calls": [call]}])
    assert list_calls(item) == [("f", {"x": 1})]
    assert list_results(item) == ["5"]
    assert item.predicted[0].decode_error is None


@pytest.mark.parametrize(
    ("written", "reason"),
    [('{"x": 1} junk', "are not JSON"), ("[1]", "are not an object")],
)
def test_issue_and_call_of_atif_give_the_same_reason(
    tmp_path: Path, written: str, reason: str
) -> None:
    call = {"tool_call_id": "c", "function_name": "f", "arguments": written}
    step = {"step_id": 1, "source": "agent", "message": "", "tool_calls": [call]}
    item = read_item(tmp_path, "atif", [step])
    assert item.predicted[0].decode_error == f"the arguments {reason}"
    assert f"arguments of call f {reason}" in item.issues[0].what


GEMINI_PART = {"functionCall": {"id": "c", "name": "f", "args": {"x": 1}}}
RESPONSES_CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"x": 1}'}
MESSAGES_WITH_CALLS: dict[str, dict[str, Any]] = {
    "Gemini": {"message": [{"text": "I look."}, GEMINI_PART]},
    "Responses": {
        "message": [{"type": "output_text", "text": "I look."}],
        "tool_calls": [RESPONSES_CALL],
    },
}


@pytest.mark.parametrize("api", MESSAGES_WITH_CALLS)
def test_text_and_call_of_an_api_in_one_step_of_atif(tmp_path: Path, api: str) -> None:
    observation = {"results": [{"source_call_id": "c", "content": "5"}]}
    step = {"step_id": 1, "source": "agent", "observation": observation}
    item = read_item(tmp_path, "atif", [step | MESSAGES_WITH_CALLS[api]])
    assert list_calls(item) == [("f", {"x": 1})]
    assert list_results(item) == ["5"]
    assert [m.content for m in item.messages if m.role == "assistant"] == ["I look."]
    assert item.issues == []


@pytest.mark.parametrize("field", ["message", "tool_calls", "observation"])
def test_renamed_fields_of_a_step_are_reported(tmp_path: Path, field: str) -> None:
    call = {"tool_call_id": "c", "function_name": "f", "arguments": {}}
    observation = {"results": [{"source_call_id": "c", "content": "5"}]}
    step = {
        "step_id": 1, "source": "agent", "message": "Hi.", "tool_calls": [call],
        "observation": observation,
    }  # fmt: skip
    step[f"{field}_"] = step.pop(field)
    item = read_item(tmp_path, "atif", [step])
    assert f"steps[0]: field {field}_ is not read" in [issue.what for issue in item.issues]


def test_call_of_anthropic_in_inspect_keeps_its_arguments_and_its_own_parts(
    tmp_path: Path,
) -> None:
    call = {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}
    server_call = {
        "type": "tool_use", "tool_type": "web_search", "id": "s", "name": "web_search",
        "arguments": '{"query": "q"}', "result": "hits",
    }  # fmt: skip
    content = [{"type": "reasoning", "reasoning": "Hm."}, server_call, call]
    result = {"role": "tool", "tool_call_id": "c", "function": "f", "content": "5"}
    item = read_item(tmp_path, "inspect", [{"role": "assistant", "content": content}, result])
    assert list_calls(item) == [("web_search", {"query": "q"}), ("f", {"x": 1})]
    assert list_results(item) == ["hits", "5"]
    assert item.messages[0].content == "Hm."

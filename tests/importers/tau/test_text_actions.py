"""Text actions of the tau-bench v1 strategies `act` and `react` are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.importers.tau.conversation import ConversationMessage
from fcreview.importers.tau.version1 import convert_actions_in_text
from fcreview.model.item import Item

TOOL = {
    "type": "function",
    "function": {"name": "get_order_details", "parameters": {"type": "object"}},
}
CALL = (
    'Thought:\nI look it up: it may cost 1250.\nAction:\n{"name": "get_order_details", "arguments":'
    ' {"order_id": "#1"}}'
)


def respond_action(text: str) -> str:
    return "Thought:\nI answer.\nAction:\n" + json.dumps(
        {"name": "respond", "arguments": {"content": text}}
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    def entry(task: int, reply: str, reward: float) -> dict[str, object]:
        messages = [
            {
                "role": "system",
                "content": f"Be brief.\n#Available tools\n{json.dumps([TOOL])}\n# Instruction\n...",
            },
            {"role": "user", "content": "How much?"},
            {"role": "assistant", "content": CALL},
            {"role": "user", "content": 'API output: {"price": 1250}'},
            {"role": "assistant", "content": reply},
            {"role": "user", "content": "###STOP###"},
        ]
        actions = [{"name": "get_order_details", "kwargs": {"order_id": "#1"}}]
        task_of = {"instruction": "Ask.", "actions": actions, "outputs": ["1250"]}
        checks = {"r_outputs": reward, "outputs": {"1250": bool(reward)}}
        info = {"task": task_of, "reward_info": {"reward": reward, "info": checks}}
        return {"task_id": task, "trial": 0, "reward": reward, "info": info, "traj": messages}

    path = tmp_path / "react-m-0.0_range_0-2_user-u-llm_0102030405.json"
    entries = [
        entry(0, respond_action("It costs 1,250."), 1.0),
        entry(1, respond_action("I do not know."), 0.0),
        entry(2, "1,250", 1.0),
    ]
    path.write_text(json.dumps(entries))
    return path


def test_actions_are_calls_results_and_replies(run: Path) -> None:
    (plan,) = discover([run]).plans
    items = [each for each in read_items(plan) if isinstance(each, Item)]
    assert plan.run.settings["strategy"] == "react"
    assert [(item.official, item.rule) for item in items] == [
        (True, True),
        (False, False),
        (True, True),
    ]
    first = items[0]
    assert (first.category, [each["name"] for each in first.functions]) == (
        "retail",
        ["get_order_details"],
    )
    assert [(pair.name, pair.state) for pair in first.pairs] == [("get_order_details", "=")]
    (result,) = [message for message in first.messages if message.role == "tool"]
    assert (result.content, result.name) == ('{"price": 1250}', "get_order_details")
    assert first.messages[-2].content == "Thought:\nI answer.\n\nIt costs 1,250."


@pytest.mark.parametrize(
    ("text", "n_calls", "reply"),
    [
        ("Action: [1]", 1, None),
        ('Action: {"name": 5}', 1, None),
        ('Action: {"name": "f", "arguments": 5}', 1, None),
        ("", 0, ""),
        ("Action:", 0, ""),
        ('Action: {"name": "respond", "arguments": {"content": 5}}', 0, ""),
        ("Action: " + "[" * 100_000, 0, "[" * 100_000),
        ('{"name": "f", "arguments": {}}', 1, None),
    ],
)
def test_odd_actions(text: str, n_calls: int, reply: str | None) -> None:
    (message,) = convert_actions_in_text([ConversationMessage("assistant", text)])
    assert (len(message.calls), message.reply) == (n_calls, reply)

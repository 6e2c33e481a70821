"""Importers read messages, end states, golden replies and pairs of calls for the item screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.acebench import agent, read
from fcreview.importers.acebench.agent import (
    MAX_STATE_DIFFERENCES,
    choose_milestone_sequence,
    describe_milestones,
    find_milestone_messages,
    find_state_differences,
    pair_milestones,
)
from fcreview.importers.confetti.read import RunRecords
from fcreview.importers.confetti.read import fill_call_item as confetti_call
from fcreview.importers.hammerbench.read import SnapshotData, fill_snapshot_item
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ABSENT, Call, Item, Message, StateDifference

HISTORY = """\
|---------------|-----------|-----------|---------------------|
| message_index | sender    | recipient | content             |
|---------------|-----------|-----------|---------------------|
| 0             | user      | agent     | I am Jack.  I want  |
|               |           |           | a pizza             |
| 1             | agent     | user      | Which one?          |
| 2             | user      | agent     | The small one       |
| 3             | agent     | execution | [order(size='s')]   |
| 4             | execution | agent     | no wifi             |
| 5             | agent     | execution | [turn_on_wifi()]    |
| 6             | execution | agent     | on                  |
|---------------|-----------|-----------|---------------------|
"""


def make_agent_item(tmp_path: Path, category: str, question: str) -> Item:
    history = tmp_path / "0_history.txt"
    history.write_text(HISTORY)
    item = Item(f"{category}_0", category)
    record = {
        "process": ["[order(size='s')]", "[turn_on_wifi()]"],
        "result": [{"Base": {"wifi": True, "paid": 0}}],
    }
    answer = {
        "mile_stone": ["[turn_on_wifi()]", "[order(size='s')]"],
        "ground_truth": [{"Base": {"wifi": True, "paid": 9}}],
    }
    agent.fill_agent_item(
        item,
        record,
        question={"question": question, "initial_config": {"Base": {"wifi": False}}},
        answer=answer,
        history_file=history,
    )
    return item


def test_request_opens_turn_and_messages_keep_order(tmp_path: Path) -> None:
    item = make_agent_item(
        tmp_path, "agent_multi_turn", "You are Jack. Respond, but volunteer nothing."
    )
    messages = [(m.step, m.role, m.name) for m in item.messages]
    assert messages == [
        (-1, "system", agent.SIMULATED_USER_INSTRUCTION),
        (-1, "state", "at the start"),
        (-1, "user", None),
        (0, "assistant", None),
        (0, "user", None),
        (1, "tool", None),
        (2, "tool", None),
    ]
    assert [(call.name, call.step) for call in item.predicted] == [
        ("order", 1),
        ("turn_on_wifi", 2),
    ]


def test_question_repeated_in_history_is_shown_once(tmp_path: Path) -> None:
    item = make_agent_item(tmp_path, "agent_multi_step", "I am Jack. I want a pizza")
    assert [m.content for m in item.messages if m.role == "user"] == [
        "I am Jack. I want a pizza",
        "The small one",
    ]


def test_milestones_are_counted_like_scorer(tmp_path: Path) -> None:
    item = make_agent_item(tmp_path, "agent_multi_step", "I am Jack. I want a pizza")
    found = [(pair.name, pair.golden, pair.predicted, pair.state) for pair in item.pairs]
    assert found == [("turn_on_wifi", 0, 1, "="), ("order", 1, None, "-"), ("order", None, 0, "+")]
    assert item.extra.metadata["milestones"] == "1 of 2 met: turn_on_wifi; missed: order"
    assert item.extra.state_differences == {"Base.paid": StateDifference(9, 0)}


def test_calls_after_last_met_milestone_are_paired_with_rest() -> None:
    golden = [Call("golden", name, arguments={}, index=at) for at, name in enumerate("abc")]
    predicted = [Call("predicted", name, arguments={}, index=at) for at, name in enumerate("cabc")]
    assert find_milestone_messages(["c", "a", "b", "x"], ["a", "b", "c"]) == [1, 2]
    pairs = [(pair.golden, pair.predicted) for pair in pair_milestones(golden, predicted, [1])]
    assert pairs == [(0, 1), (1, 2), (2, 3), (None, 0)]
    assert choose_milestone_sequence(["b"], [["a"], ["b", "c"]]) == (["b", "c"], [["a"]])
    assert describe_milestones(["[f(a=1)]"], 1) == "1 of 1 met: f"


def test_state_differences_name_values() -> None:
    golden = [
        {"Food": {"users": {"Eve": {"balance": 1, "id": 2}}, "orders": [{"n": 1}]}},
        {"ReminderAPI": {}},
    ]
    states = [
        {"Food": {"users": {"Eve": {"balance": 3, "id": 2}}, "orders": [{"n": 2}], "new": 1}},
        {"Reminderapi": {}},
    ]
    assert find_state_differences(states, golden) == {
        "Food.users.Eve.balance": StateDifference(1, 3),
        "Food.orders[0].n": StateDifference(1, 2),
        "Food.new": StateDifference(ABSENT, 1),
    }
    assert find_state_differences(states[:1], [{"Other": {}}]) == {
        "Other": StateDifference({}, ABSENT),
        "Food": StateDifference(ABSENT, states[0]["Food"]),
    }
    many = {str(n): n for n in range(MAX_STATE_DIFFERENCES + 5)}
    found = find_state_differences([{"A": {"x": many}}], [{"A": {"x": dict.fromkeys(many, -1)}}])
    assert found is not None and list(found)[-1] == "(5 more)"
    assert find_state_differences("nothing", golden) is None


def test_special_item_has_golden_reply() -> None:
    item = Item("special_incomplete_0", "special_incomplete")
    question = {"question": "user: Book it."}
    golden = {"book": ["day", "hour"]}
    reply = read.Reply("Which?", question=question, can_recompute=True)
    read.grade_reply(item, reply, golden)
    assert item.extra.golden_reply == (
        "required text: Missing necessary parameters\nrequired words for book: day, hour"
    )


@pytest.mark.parametrize("label", ["Sorry, no tool.", {"name": "x", "arguments": {}}])
def test_golden_refusal_is_not_model_message(label: Any) -> None:
    item = Item("IS_0_3", "IS" if isinstance(label, str) else "ir_ST_Perfect")
    messages = [
        Message(0, -1, role="user", content="The weather?"),
        Message(0, 1, role="assistant", content="Sorry, no tool."),
    ]
    fill_snapshot_item(item, SnapshotData("I cannot do that.", label, messages, []))
    assert [m.content for m in item.messages] == ["The weather?", "I cannot do that."]
    assert item.extra.golden_reply == "Sorry, no tool."


def make_confetti_item(stars: int) -> Item:
    item = Item(
        "c_137", "conversationsclean", messages=[Message(0, -1, role="user", content="A hotel.")]
    )
    item.functions = [
        {
            "name": "f",
            "parameters": {"type": "object", "properties": {"stars": {"type": "integer"}}},
        }
    ]
    confetti_call(
        item,
        f"[f(stars={stars})]",
        {"ground_truth": [{"f": {"stars": [4, 5]}}]},
        "c_137",
        RunRecords(),
    )
    return item


def test_golden_list_is_shown_as_stored() -> None:
    (pair,) = make_confetti_item(4).pairs
    assert (pair.state, [(place.path, place.state) for place in pair.diff]) == (
        "~",
        [("stars", "~")],
    )
    assert (
        pair.diff[0].reason
        == "the golden answer contains the list [4, 5], and the rules accept each element"
    )
    (pair,) = make_confetti_item(3).pairs
    assert pair.state == "!" and pair.diff[0].reason.endswith(
        "; the golden answer contains the list [4, 5]"
    )


def test_refused_call_keeps_compared_golden_call(bench: Path) -> None:
    (plan,) = discover([bench / "complexfuncbench"]).plans
    item = next(
        each for each in read_items(plan) if isinstance(each, Item) and each.id == "Cross-0"
    )
    assert item.extra.compared_with == {"turn:1/call:9": 5}
    assert (
        item.golden[5].name
        == item.predicted[item.pairs[8].predicted or 0].name
        == "Taxi_Search_Location"
    )

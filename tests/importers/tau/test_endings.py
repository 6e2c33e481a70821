"""How a conversation ended, messages of unknown roles, and simulations without a reward."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover
from fcreview.model.item import Item
from tests.importers.tau.test_damage import (
    make_old_entries,
    make_run,
    read,
    set_value,
    write_file,
    write_folder,
)

SIMULATION = ("simulations", 0)


def read_first_item(path: Path) -> Item:
    items, _, _ = read(path)
    return next(item for item in items if item.extra.metadata["simulation"] == "s0")


@pytest.mark.parametrize(
    "reason", ["max_steps", "agent_error", "user_stop", "infrastructure_error"]
)
def test_termination_reason_is_the_ending(tmp_path: Path, reason: str) -> None:
    run = make_run()
    run["simulations"][0]["termination_reason"] = reason
    assert read_first_item(write_file(tmp_path, run)).ended == reason


def test_unknown_termination_reason_is_reported_and_fails_by_the_rules(tmp_path: Path) -> None:
    run = make_run()
    run["simulations"][0]["termination_reason"] = "some_future_reason"
    item = read_first_item(write_file(tmp_path, run))
    assert (item.official, item.rule, item.ended) == (True, False, "some_future_reason")
    assert "'some_future_reason' is unknown" in item.issues[0].what


@pytest.mark.parametrize("write", [write_file, write_folder])
def test_simulation_without_reward_changes_no_corrected_figure(tmp_path: Path, write: Any) -> None:
    run = make_run(has_text=False)
    run["simulations"][0]["reward_info"] = None
    item = read_first_item(write(tmp_path, run))
    assert (item.official, item.rule) == (None, None)
    assert "no recorded reward" in str(item.rule_note)
    part = next(v for v in item.verdicts if (v.source, v.criterion) == ("rule", "communicate"))
    assert part.value is False  # the part is still checked


def test_run_without_any_reward_has_recomputed_verdicts(tmp_path: Path) -> None:
    run = make_run(has_text=False)
    for simulation in run["simulations"]:
        simulation["reward_info"] = None
    assert read_first_item(write_file(tmp_path, run)).rule is False


def test_message_of_the_developer_is_shown_with_its_role(tmp_path: Path) -> None:
    run = make_run()
    run["simulations"][0]["messages"].insert(4, {"role": "developer", "content": "Be kind."})
    item = read_first_item(write_file(tmp_path, run))
    (message,) = [message for message in item.messages if message.role == "other"]
    assert (message.name, message.content) == ("developer", "Be kind.")
    assert [message.content for message in item.messages if message.role == "assistant"][
        -1
    ].startswith("It costs")
    assert item.rule is True
    assert [issue.what for issue in item.issues] == ["a message has the unknown role 'developer'"]


DAMAGED_MESSAGES = {
    "an unknown role": {"role": "agent", "content": "It costs 1,250 a night."},
    "no role": {"content": "It costs 1,250 a night."},
    "text": "It costs 1,250 a night.",
    "null": None,
    "calls that are no list": {"role": "assistant", "content": "It costs 1,250.", "tool_calls": 7},
    "calls of an unknown role": {
        "role": "agent",
        "content": "1,250",
        "tool_calls": [{"name": "book"}],
    },
}


@pytest.mark.parametrize("kind", DAMAGED_MESSAGES)
def test_unreadable_message_hides_no_other_message_and_recomputes_nothing(
    tmp_path: Path, kind: str
) -> None:
    run = make_run()
    set_value(DAMAGED_MESSAGES[kind], *SIMULATION, "messages", 4)(run)
    item = read_first_item(write_file(tmp_path, run))
    assert [call.name for call in item.predicted] == ["book"]
    assert any(message.content == "A room, please." for message in item.messages)
    (message,) = [message for message in item.messages if message.role == "other"]
    assert "1,250" in message.content or kind == "null"
    assert (item.official, item.rule) == (True, None)
    assert any(
        issue.severity == "error" and "Nothing is recomputed" in issue.what for issue in item.issues
    )


def test_list_of_simulations_is_read_without_tasks(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(json.dumps(make_run()["simulations"]))
    (plan,) = discover([tmp_path / "list.json"]).plans
    assert "without info and tasks" in plan.issues[0].what
    items, _, _ = read(tmp_path / "list.json")
    assert [item.official for item in items] == [True, False, False]
    assert {item.ended for item in items} == {"user_stop"}


def end_with(messages: list[Any]) -> Any:
    return lambda entry: entry["traj"].extend(messages)


VERSION1_ENDINGS: dict[str, Any] = {
    "user_stop": lambda entry: None,
    "max_steps": lambda entry: entry["info"].update(reward_info=None),
    "error": lambda entry: (entry.update(traj=[]), entry["info"].update(error="RateLimitError")),
    "transfer": end_with([{"role": "tool", "name": "transfer_to_human_agents", "content": "ok"}]),
}


@pytest.mark.parametrize("ending", VERSION1_ENDINGS)
def test_ending_of_version1_follows_from_the_last_message(tmp_path: Path, ending: str) -> None:
    entries = make_old_entries()
    VERSION1_ENDINGS[ending](entries[1])
    path = tmp_path / "tool-calling-m-0.0_range_0-3_user-u-llm_1.json"
    path.write_text(json.dumps(entries))
    items, _, _ = read(path)
    assert items[1].ended == ending

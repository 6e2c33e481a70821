"""Bombs of tau-bench."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bombs.bomb import MEGABYTE, Bomb, Json, name_values, nest, write_json
from tests.importers.tau.test_damage import make_run

SECOND_SIMULATION = "t1_trial_0"


def write_run(folder: Path, run: Json) -> None:
    write_json(folder / "run.json", run)


def repeated_trials(folder: Path, size: int) -> None:
    run = make_run()
    run["simulations"] = [run["simulations"][0]] * size
    write_run(folder, run)


def golden_actions(folder: Path, size: int) -> None:
    run = make_run()
    action = {"action_id": "a", "requestor": "assistant", "name": "book"}
    actions = [{**action, "arguments": {"room": number}} for number in range(size)]
    run["tasks"][1]["evaluation_criteria"]["actions"] = actions
    write_run(folder, run)


def write_call(folder: Path, arguments: str) -> None:
    run = make_run()
    run["simulations"][1]["messages"][2]["tool_calls"][0]["arguments"] = "ARGUMENTS"
    write_run(folder, run)
    path = folder / "run.json"
    path.write_text(path.read_text().replace('"ARGUMENTS"', arguments))


def deep_arguments(folder: Path, size: int) -> None:
    write_call(folder, f'{{"a": {nest(size)}}}')


def wide_arguments(folder: Path, size: int) -> None:
    write_call(folder, json.dumps(name_values(size)))


def long_text(folder: Path, size: int) -> None:
    """A message of `size` megabytes."""
    run = make_run()
    run["simulations"][1]["messages"][4]["content"] = "x" * (size * MEGABYTE)
    write_run(folder, run)


def calls_in_a_turn(folder: Path, size: int) -> None:
    """`size` calls in a turn, as many golden actions, and a check of each."""
    run = make_run()
    simulation = run["simulations"][1]
    call = {"name": "book", "requestor": "assistant"}
    calls = [call | {"id": f"c{n}", "arguments": {"room": n}} for n in range(size)]
    result = {"role": "tool", "content": "ok", "requestor": "assistant", "error": False}
    messages = simulation["messages"]
    messages[2]["tool_calls"] = calls
    messages[3:4] = [result | {"id": f"c{n}"} for n in range(size)]
    for number, message in enumerate(messages):
        message["turn_idx"] = number

    action = {"action_id": "a", "requestor": "assistant", "name": "book"}
    actions = [{**action, "arguments": {"room": number + 1}} for number in range(size)]
    run["tasks"][1]["evaluation_criteria"]["actions"] = actions
    simulation["reward_info"]["action_checks"] = [
        {"action": each, "action_match": False, "action_reward": 0.0} for each in actions
    ]
    write_run(folder, run)


def many_messages(folder: Path, size: int) -> None:
    run = make_run()
    texts = [{"role": role, "content": "text"} for role in ("assistant", "user")] * size
    run["simulations"][1]["messages"] = [
        text | {"turn_idx": number} for number, text in enumerate(texts)
    ]
    write_run(folder, run)


def many_scores(folder: Path, size: int) -> None:
    """`size` checks of a simulation by a judge."""
    run = make_run()
    checks = [
        {"nl_assertion": f"assertion {number}", "met": False, "justification": "no"}
        for number in range(size)
    ]
    run["simulations"][2]["reward_info"]["nl_assertions"] = checks
    run["tasks"][2]["evaluation_criteria"]["nl_assertions"] = [
        check["nl_assertion"] for check in checks
    ]
    write_run(folder, run)


BOMBS = {
    "repeated trials": Bomb(repeated_trials, "t0_trial_0", size=1_500, small_size=200),
    "golden actions": Bomb(golden_actions, SECOND_SIMULATION, size=20_000, small_size=500),
    "calls in a turn": Bomb(calls_in_a_turn, SECOND_SIMULATION, size=6_000, small_size=0),
    "deep": Bomb(deep_arguments, "t0_trial_0", size=20_000, small_size=0),
    "wide": Bomb(wide_arguments, SECOND_SIMULATION, size=80_000, small_size=0),
    "long": Bomb(long_text, SECOND_SIMULATION, size=40, small_size=40, is_cut=True),
    "many messages": Bomb(many_messages, SECOND_SIMULATION, size=12_000, small_size=0),
    "many scores": Bomb(many_scores, "t2_trial_0", size=10_000, small_size=0),
}

"""Damaged tau-bench files: no crash, no lost simulation without an issue, and no invented
verdict.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.importers.tau.leaderboard import compute_metrics
from fcreview.model.item import ImportIssue, Item, Run
from fcreview.model.json_value import to_plain_json
from fcreview.model.metric import ScoredItem
from tests.importers.damage import ENCODINGS, ODD

Result = dict[str, Any]
Damage = Callable[[Any], Any]
SOME = ("null", "a number", "text", "an object")


def make_simulation(number: int, task: str, reward: float, info: Result, text: str) -> Result:
    call = {
        "id": "c1",
        "name": "book",
        "arguments": {"room": 1, "hour": 9},
        "requestor": "assistant",
    }
    messages = [
        {"role": "assistant", "content": "Hello, how can I help?", "turn_idx": 0},
        {"role": "user", "content": "A room, please.", "turn_idx": 1},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call],
            "turn_idx": 2,
            "usage": {"prompt_tokens": 3},
        },
        {
            "role": "tool",
            "id": "c1",
            "content": "ok",
            "requestor": "assistant",
            "error": False,
            "turn_idx": 3,
        },
        {"role": "assistant", "content": text, "turn_idx": 4},
        {"role": "user", "content": "###STOP###", "turn_idx": 5},
    ]
    return {
        "id": f"s{number}",
        "task_id": task,
        "trial": 0,
        "termination_reason": "user_stop",
        "agent_cost": 0.5,
        "user_cost": 0.1,
        "duration": 3.0,
        "messages": messages,
        "reward_info": {"reward": reward, **info},
    }


def make_run(*, has_text: bool = True) -> Result:
    """Make a run of three tasks.

    `s0` passes if it has the price, `s1` fails by its action and `s2` by a judge.
    """
    action = {
        "action_id": "a",
        "requestor": "assistant",
        "name": "book",
        "arguments": {"room": 1, "hour": 9},
    }
    wrong = {**action, "arguments": {"room": 2, "hour": 9}}
    with_text = {
        "reward_basis": ["DB", "COMMUNICATE"],
        "actions": [action],
        "communicate_info": ["1250"],
    }
    acted = {"reward_basis": ["ACTION"], "actions": [wrong], "communicate_info": None}
    judged = {
        "reward_basis": ["ENV_ASSERTION", "NL_ASSERTION"],
        "actions": None,
        "nl_assertions": ["is polite"],
    }
    both = {
        "reward_basis": with_text["reward_basis"],
        "reward_breakdown": {"DB": 1.0, "COMMUNICATE": float(has_text)},
        "db_check": {"db_match": True, "db_reward": 1.0},
        "info": {},
        "communicate_checks": [{"info": "1250", "met": has_text, "justification": ""}],
        "action_checks": [
            {"action": action, "action_match": True, "action_reward": 1.0, "tool_type": "write"}
        ],
    }
    one = {
        "reward_basis": ["ACTION"],
        "reward_breakdown": {"ACTION": 0.0},
        "action_checks": [{"action": wrong, "action_match": False, "action_reward": 0.0}],
    }
    judge = {
        "reward_basis": judged["reward_basis"],
        "reward_breakdown": {"ENV_ASSERTION": 1.0, "NL_ASSERTION": 0.0},
        "env_assertions": [
            {"env_assertion": {"func_name": "f", "arguments": {}}, "met": True, "reward": 1.0}
        ],
        "nl_assertions": [
            {"nl_assertion": "is polite", "met": False, "justification": "no greeting"}
        ],
    }
    return {
        "timestamp": "2026-02-03T10:00:00",
        "info": {
            "num_trials": 1,
            "agent_info": {"implementation": "llm_agent", "llm": "m"},
            "user_info": {"llm": "u"},
            "environment_info": {"domain_name": "hotel", "policy": "Be brief."},
        },
        "tasks": [
            {
                "id": f"t{n}",
                "user_scenario": {"instructions": "A room."},
                "evaluation_criteria": each,
            }
            for n, each in enumerate((with_text, acted, judged))
        ],
        "simulations": [
            make_simulation(
                0, "t0", float(has_text), both, "It costs 1,250 a night." if has_text else "Booked."
            ),
            make_simulation(1, "t1", 0.0, one, "Booked."),
            make_simulation(2, "t2", 0.0, judge, "Booked."),
        ],
    }


def set_value(value: Any, *keys: Any) -> Damage:

    def damage(result: Any) -> None:
        for key in keys[:-1]:
            result = result[key]
        result[keys[-1]] = value

    return damage


def remove_value(*keys: Any) -> Damage:
    def damage(result: Any) -> None:
        for key in keys[:-1]:
            result = result[key]
        if isinstance(result, list) or keys[-1] in result:
            del result[keys[-1]]

    return damage


S, M, R = ("simulations", 0), ("simulations", 0, "messages"), ("simulations", 0, "reward_info")
C = ("tasks", 0, "evaluation_criteria")
WRONG: dict[str, tuple[Any, ...]] = {
    **{name: (name,) for name in ("info", "tasks", "simulation_index", "timestamp")},
    **{
        f"info.{name}": ("info", name)
        for name in ("num_trials", "agent_info", "user_info", "environment_info")
    },
    **{
        f"environment.{name}": ("info", "environment_info", name)
        for name in ("domain_name", "policy", "tool_defs")
    },
    "a task": ("tasks", 0),
    **{
        f"task.{name}": ("tasks", 0, name)
        for name in ("id", "user_scenario", "evaluation_criteria", "issues")
    },
    **{
        f"criteria.{name}": (*C, name)
        for name in ("actions", "communicate_info", "nl_assertions", "reward_basis")
    },
    "an action": (*C, "actions", 0),
    **{
        f"action.{name}": (*C, "actions", 0, name) for name in ("name", "arguments", "compare_args")
    },
    "a simulation": S,
    **{
        f"simulation.{name}": (*S, name)
        for name in (
            "id",
            "task_id",
            "trial",
            "termination_reason",
            "reward_info",
            "messages",
            "ticks",
            "agent_cost",
            "duration",
            "review",
            "auth_classification",
            "info",
        )
    },
    "a message": (*M, 4),
    **{
        f"message.{name}": (*M, 4, name)
        for name in ("role", "content", "tool_calls", "tool_messages", "turn_idx")
    },
    "a call": (*M, 2, "tool_calls", 0),
    **{
        f"call.{name}": (*M, 2, "tool_calls", 0, name)
        for name in ("id", "name", "arguments", "requestor")
    },
    **{
        f"reward_info.{name}": (*R, name)
        for name in (
            "reward",
            "reward_basis",
            "reward_breakdown",
            "db_check",
            "communicate_checks",
            "action_checks",
        )
    },
    "a check": (*R, "communicate_checks", 0),
    "check.met": (*R, "communicate_checks", 0, "met"),
    "a part": (*R, "reward_breakdown", "DB"),
}
"""Keys by name of a place in a result file. Each place gets each odd value, and is removed."""
SILENT = ("a message is missing", "message.content is ", "the agent says nothing")
"""Damage that leaves a conversation without the expected text, so that the recomputed verdict of
`s0` is a failure.
"""
OTHERS: dict[str, Damage] = {
    "the simulations are reversed": lambda result: result["simulations"].reverse(),
    "the tasks are reversed": lambda result: result["tasks"].reverse(),
    "a simulation is doubled": lambda result: result["simulations"].append(
        copy.deepcopy(result["simulations"][0])
    ),
    "a task is doubled": lambda result: result["tasks"].append(copy.deepcopy(result["tasks"][0])),
    "two tasks share an id": set_value("t0", "tasks", 1, "id"),
    "an empty simulation": lambda result: result["simulations"].insert(0, {}),
    "no simulations": remove_value("simulations"),
    "simulations is an object": set_value({}, "simulations"),
    "the messages are reversed": lambda result: result["simulations"][0]["messages"].reverse(),
    "a message is doubled": lambda result: result["simulations"][0]["messages"].insert(
        2, result["simulations"][0]["messages"][2]
    ),
    "the first half of the messages": lambda result: result["simulations"][0].update(
        messages=result["simulations"][0]["messages"][:3] + result["simulations"][0]["messages"][4:]
    ),
    "the agent says nothing": set_value("", *M, 4, "content"),
    "messages is an empty list": set_value([], *M),
    "a check is doubled": lambda result: result["simulations"][0]["reward_info"][
        "communicate_checks"
    ].append({"info": "1250", "met": True}),
    "a part nobody knows": set_value(1.0, *R, "reward_breakdown", "STYLE"),
    "a basis nobody knows": set_value(["STYLE"], *C, "reward_basis"),
    "a part outside 0 and 1": set_value(7.0, *R, "reward_breakdown", "DB"),
    "reward not a number": set_value(float("nan"), *R, "reward"),
    "reward as text": set_value("1.0", *R, "reward"),
    "an ending nobody knows": set_value("alien", *S, "termination_reason"),
    "arguments as text": set_value('{"room": 1, "hour": 9}', *M, 2, "tool_calls", 0, "arguments"),
    "arguments as damaged text": set_value('{"room": 1,', *M, 2, "tool_calls", 0, "arguments"),
}
BYTES: dict[str, Callable[[bytes], bytes]] = {
    **ENCODINGS,
    "cut in the tasks": lambda raw: raw[: raw.index(b'"tasks"') + 200],
    "a byte that is not UTF-8": lambda raw: raw.replace(
        b"A room, please", b"A \xffroom, please", 1
    ),
    "a NUL byte": lambda raw: raw.replace(b'"trial"', b'"tri\0al"', 1),
    "written twice": lambda raw: raw + raw,
    "NaN as reward": lambda raw: raw.replace(b'"reward": 1.0', b'"reward": NaN', 1),
    "a list around it": lambda raw: b"[" + raw + b"]",
    "null": lambda raw: b"null",
}
EXPECTED = {"s0": True, "s1": False, "s2": False}
ALL: dict[str, Damage] = {
    **{
        f"{place} is {kind}": set_value(ODD[kind], *keys)
        for place, keys in WRONG.items()
        for kind in SOME
    },
    **{f"{place} is missing": remove_value(*keys) for place, keys in WRONG.items()},
    **{f"reward is {kind}": set_value(value, *R, "reward") for kind, value in ODD.items()},
    **{
        f"a tool call is {kind}": set_value([value], *M, 2, "tool_calls")
        for kind, value in ODD.items()
    },
    **OTHERS,
}


def write_file(folder: Path, result: Result) -> Path:
    (folder / "run.json").write_text(json.dumps(result))
    return folder / "run.json"


def write_folder(folder: Path, result: Result) -> Path:
    """Write the folder layout.

    Simulations that cannot be listed stay in `results.json`, where they are ignored.
    """
    simulations = result.get("simulations")
    (folder / "simulations").mkdir(exist_ok=True)
    for path in (folder / "simulations").iterdir():
        path.unlink()
    main = dict(result)
    if isinstance(simulations, list):
        main.pop("simulations")
        for at, each in enumerate(simulations):
            (folder / "simulations" / f"{at}.json").write_text(json.dumps(each))
    (folder / "results.json").write_text(json.dumps(main))
    return folder


def read(path: Path) -> tuple[list[Item], list[ImportIssue], Run | None]:
    found = discover([path], format="tau")
    issues, items = [*found.issues], list[Item]()
    for plan in found.plans:
        for each in read_items(plan):
            items += [each] if isinstance(each, Item) else []
            issues += [each] if isinstance(each, ImportIssue) else each.issues
    return items, issues, found.plans[0].run if found.plans else None


def check(path: Path, n_simulations: int) -> tuple[list[Item], list[ImportIssue]]:
    """Read a damaged run.

    Every item can be stored, a lost one has an issue, and the figures are numbers.
    """
    items, issues, run = read(path)
    assert len(items) >= n_simulations or issues
    assert len({item.id for item in items}) == len(items)
    for item in items:
        orjson.dumps(to_plain_json(item.extra.as_json()))
        orjson.dumps([item.messages, item.verdicts, item.predicted, item.pairs])
        assert item.id and item.category
    rows = [
        ScoredItem(i.id, i.category, i.group, i.official, metadata=i.extra.metadata) for i in items
    ]
    for metric in compute_metrics(rows, run) if run is not None else ():
        assert metric.value is None or isinstance(metric.value, (int, float))
    return items, issues


def recorded_verdict(one: Any) -> bool | None:
    """The official verdict, from the file."""
    info = one.get("reward_info") if isinstance(one, dict) else None
    reward = info.get("reward") if isinstance(info, dict) else None
    if (
        isinstance(reward, bool)
        or not isinstance(reward, (int, float))
        or reward != reward
        or reward > 1e300
    ):
        return None
    return abs(reward - 1) <= 1e-6


def test_folder_of_simulations_is_no_chat_log(tmp_path: Path) -> None:
    found = discover([write_folder(tmp_path, make_run())])
    assert [(plan.run.full_title, len(plan.results)) for plan in found.plans] == [("tau2-bench", 3)]
    assert not found.issues


@pytest.mark.parametrize(
    ("write", "has_text"),
    [
        (write_file, True),
        (write_file, False),
        pytest.param(write_folder, True, marks=pytest.mark.sweep),
    ],
)
def test_wrong_missing_and_duplicate_parts_are_reported(
    tmp_path: Path, write: Any, has_text: bool
) -> None:
    assert len(ALL) + len(BYTES) >= 200
    _, issues = check(write(tmp_path, make_run()), 3)
    assert not issues
    for name, damage in ALL.items():
        result = make_run(has_text=has_text)
        damage(result)
        raw = result.get("simulations")
        raw = raw if isinstance(raw, list) else []
        try:
            items, issues = check(write(tmp_path, result), len(raw))
            verify(name, items, issues, raw, has_text=has_text)
        except Exception as error:
            raise AssertionError(name) from error


@pytest.mark.parametrize("tasks", [[], make_run()["tasks"][2:]])
def test_missing_task_is_reported(tmp_path: Path, tasks: list[Any]) -> None:
    items, issues = check(write_file(tmp_path, make_run() | {"tasks": tasks}), 3)
    assert [(item.official, item.rule) for item in items] == [
        (True, True),
        (False, False),
        (False, False),
    ]
    assert issues and all("golden answer" in issue.what for issue in issues)


def verify(
    name: str, items: list[Item], issues: list[ImportIssue], raw: list[Any], *, has_text: bool
) -> None:
    by_id = {str(each.get("id")): each for each in raw if isinstance(each, dict)}
    expected = {
        "task t0": has_text and not name.startswith(SILENT),
        "task t1": False,
        "task t2": False,
    }
    for item in items:
        simulation_id = str(item.extra.metadata.get("simulation"))
        if simulation_id in by_id:
            official = recorded_verdict(by_id[simulation_id])
            assert item.official is official or (item.official is None and item.issues), (
                simulation_id
            )
        if simulation_id in ("s1", "s2") and not name.startswith(
            ("info", "tasks", "two tasks", "environment")
        ):
            assert (item.official, item.rule) == (False, False), simulation_id
        known = expected.get(item.group or "", False)
        assert item.rule in (known, None) or issues, f"{simulation_id} is recomputed as {item.rule}"


def test_damaged_bytes_are_reported(tmp_path: Path) -> None:
    raw = json.dumps(make_run()).encode()
    for name, damage in BYTES.items():
        path = tmp_path / "run.json"
        path.write_bytes(damage(raw))
        (tmp_path / "NAME").mkdir(exist_ok=True)
        write_folder(tmp_path / "NAME", make_run())
        one = tmp_path / "NAME" / "simulations" / "0.json"
        one.write_bytes(damage(one.read_bytes()) if "tasks" not in name else damage(raw))
        try:
            for target in (path, tmp_path / "NAME"):
                items, issues = check(target, 3)
                for item in items:
                    assert (
                        item.rule in (EXPECTED[str(item.extra.metadata["simulation"])], None)
                        or issues
                    )
        except Exception as error:
            raise AssertionError(name) from error


def make_old_entries() -> list[Result]:
    """Make v1 entries: the text is present, the database differs, the text is missing."""
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "book_reservation", "arguments": '{"room": 1}'},
    }

    def entry(task: int, reward: float, outputs: list[str], checks: Result, text: str) -> Result:
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "A room."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "name": "book_reservation", "tool_call_id": "c", "content": "ok"},
            {"role": "assistant", "content": text},
            {"role": "user", "content": "###STOP###"},
        ]
        actions = [{"name": "book_reservation", "kwargs": {"room": 1}}]
        golden = {"user_id": "u", "instruction": "A room.", "actions": actions, "outputs": outputs}
        info = {
            "task": golden,
            "user_cost": 0.1,
            "reward_info": {"reward": reward, "info": checks, "actions": actions},
        }
        return {"task_id": task, "trial": 0, "reward": reward, "info": info, "traj": messages}

    checks = {"r_outputs": 1.0, "outputs": {"1250": True}}
    return [
        entry(0, 1.0, ["1250"], checks, "It costs 1,250."),
        entry(1, 0.0, [], {"r_actions": 0.0, "gt_data_hash": "h"}, "Done."),
        entry(2, 0.0, ["7"], {"r_outputs": 0.0, "outputs": {"7": False}}, "Done."),
    ]


F, T = (2, "info"), (2, "traj")
OLD_WRONG: dict[str, tuple[Any, ...]] = {
    "entry": (2,),
    **{name: (2, name) for name in ("task_id", "trial", "reward", "info", "traj")},
    **{f"info.{name}": (*F, name) for name in ("task", "reward_info", "user_cost")},
    **{f"task.{name}": (*F, "task", name) for name in ("instruction", "actions", "outputs")},
    **{f"reward_info.{name}": (*F, "reward_info", name) for name in ("info", "reward", "actions")},
    **{f"checks.{name}": (*F, "reward_info", "info", name) for name in ("r_outputs", "outputs")},
    "a message": (*T, 4),
    **{f"message.{name}": (*T, 4, name) for name in ("role", "content", "tool_calls")},
    "a call": (*T, 2, "tool_calls", 0),
    **{
        f"function.{name}": (*T, 2, "tool_calls", 0, "function", name)
        for name in ("name", "arguments")
    },
}


def test_damaged_v1_entries_are_reported(tmp_path: Path) -> None:
    damages = {
        f"{name} is {kind}": set_value(ODD[kind], *keys)
        for name, keys in OLD_WRONG.items()
        for kind in SOME
    }
    damages |= {f"{name} is missing": remove_value(*keys) for name, keys in OLD_WRONG.items()}
    path = tmp_path / "tool-calling-m-0.0_range_0-3_user-u-llm_1.json"
    for name, damage in damages.items():
        entries = make_old_entries()
        damage(entries)
        path.write_text(json.dumps(entries))
        try:
            items, issues = check(path, len(entries))
            verdicts = [(item.official, item.rule) for item in items]
            assert verdicts[:2] == [(True, True), (False, False)]
            official, rule = verdicts[2] if len(verdicts) > 2 else (None, None)
            assert rule in (False, None) or issues
            assert official is False or issues or len(entries) < 3
        except Exception as error:
            raise AssertionError(name) from error


def test_repeated_simulations_are_counted(tmp_path: Path) -> None:
    run = make_run()
    run["simulations"] = [run["simulations"][0]] * 4
    (tmp_path / "run.json").write_text(json.dumps(run))

    (plan,) = discover([tmp_path], format="tau").plans
    items = [record for record in read_items(plan) if isinstance(record, Item)]
    assert [item.id for item in items] == ["t0_trial_0", "t0_s0", "t0_s0#2", "t0_s0#3"]

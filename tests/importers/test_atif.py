"""ATIF trajectories and Harbor jobs have the figures of Harbor, and damaged files lose no
verdict.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.atif.leaderboard import compute_metrics, estimate_pass_at_k
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item, Run
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT

Json = Any


def read(folder: Path) -> tuple[list[Item], list[ImportIssue], list[Run]]:
    found = discover([folder], format="atif")
    items, issues = [], list(found.issues)
    for plan in found.plans:
        for each in read_items(plan):
            if isinstance(each, Item):
                items.append(each)
                issues += each.issues
            else:
                issues.append(each)
    return items, issues, [plan.run for plan in found.plans]


def score_item(item: Item, override: bool | None = None) -> ScoredItem:
    values = {
        v.criterion: v.value for v in item.verdicts if v.source == "official" and v.target == "item"
    }
    valid = item.official if override is None else override
    overrides = {ITEM_CORRECT: override} if override is not None else {}
    return ScoredItem(
        item.id,
        item.category,
        item.group,
        valid,
        values=values | {"correct": valid},
        overrides=overrides,
        metadata=item.extra.metadata,
        tokens_in=item.tokens_in,
        tokens_out=item.tokens_out,
    )


def compute_statistics(items: list[Item], **overrides: bool) -> dict[tuple[str, str], float | None]:
    rows = [score_item(item, overrides.get(item.id)) for item in items]
    return {
        (each.table, each.name): each.value
        for each in compute_metrics(rows, Run("atif", "", "", "m", ""))
    }


def test_job_has_figures_of_harbor(bench: Path) -> None:
    job = bench / "harbor_job" / "2026-11-23__demo"
    truth = json.loads((bench / "harbor_job" / "2026-11-23__demo.truth.json").read_text())
    items, issues, (run,) = read(job)
    assert [issue for issue in issues if issue.severity != "notice"] == []
    by_id = {item.id: item for item in items}
    assert len(by_id) == truth["job"]["n_total_trials"]
    for trial in truth["trials"]:
        item = by_id[trial["trial"]]
        reward = (trial["rewards"] or {}).get("reward")
        assert item.official == (None if reward is None else reward == 1)
        assert (item.group, item.category) == (trial["task"], trial["source"])
        assert run.settings["agent"] == trial["agent"] and run.settings["model"] == trial["model"]
        assert item.extra.metadata["steps"] == trial["steps"]
        assert [call.name for call in item.predicted] == trial["tool_calls"]
        assert item.extra.metadata.get("subagents", []) == trial["subagents"]
        assert item.extra.metadata.get("exception") == trial["exception"]
    stats = truth["job"]["stats"]
    ((key, recorded),) = stats["evals"].items()
    assert list(run.official_metrics) == [key]
    values = compute_statistics(items)
    assert values["reward", "mean"] == pytest.approx(recorded["metrics"][0]["mean"], abs=1e-9)
    for k, value in recorded["pass_at_k"].items():
        assert values["reward", f"pass@{k}"] == pytest.approx(value, abs=1e-9)
    assert values["usage", "input tokens"] == stats["n_input_tokens"]
    assert values["usage", "cached tokens"] == stats["n_cache_tokens"]
    assert values["usage", "output tokens"] == stats["n_output_tokens"]
    assert values["usage", "cost"] == pytest.approx(stats["cost_usd"], abs=1e-9)


def test_single_trajectories_have_numbers_of_files(bench: Path) -> None:
    items, _, _ = read(bench / "atif")
    by_file = {Path(item.file).name: item for item in items}
    for path in sorted((bench / "atif").glob("*.json")):
        if ".cont-" in path.name:
            continue
        parts = [path, *sorted(path.parent.glob(f"{path.stem}.cont-*.json"))]
        documents = [json.loads(each.read_text()) for each in parts]
        steps = [step for each in documents for step in each["steps"]]
        own = [
            step
            for step in steps
            if step["source"] == "agent" and not step.get("is_copied_context")
        ]
        item = by_file.pop(path.name)
        assert item.extra.metadata["steps"] == len(steps)
        assert item.n_steps == len(own)
        calls = [
            (c["function_name"], c["arguments"])
            for step in own
            for c in step.get("tool_calls") or []
        ]
        assert [(call.name, call.arguments) for call in item.predicted] == calls
        final = documents[-1].get("final_metrics")
        sums = [
            sum(s.get("metrics", {}).get(name, 0) for s in own)
            for name in ("prompt_tokens", "completion_tokens")
        ]
        if final:
            sums = [final["total_prompt_tokens"], final["total_completion_tokens"]]
            assert item.extra.metadata["cost_usd"] == pytest.approx(
                final["total_cost_usd"], abs=1e-9
            )
        assert [item.tokens_in, item.tokens_out] == sums
        reward = documents[-1].get("extra", {}).get("reward")
        assert item.official == (None if reward is None else reward == 1)
    assert by_file == {}


@pytest.fixture(scope="module")
def sample(samples: Path) -> Path:
    return samples / "atif"


def test_overrides_change_figures(sample: Path) -> None:
    """The test computes the mean and pass@k from `result.json`."""
    items, _, _ = read(sample / "jobs")
    results = {
        path.parent.name: json.loads(path.read_text())
        for path in (sample / "jobs").glob("*/*/result.json")
    }
    for name in [None, *results]:
        for override in (True, False):
            rewards = {
                trial: float(override)
                if trial == name
                else ((result["verifier_result"] or {}).get("rewards") or {"reward": 0.0})["reward"]
                for trial, result in results.items()
            }
            values = compute_statistics(items, **({name: override} if name else {}))
            assert values["reward", "mean"] == pytest.approx(
                sum(rewards.values()) / len(rewards), abs=1e-12
            )
            tasks: dict[str, list[float]] = {}
            for trial, reward in rewards.items():
                tasks.setdefault(results[trial]["task_name"], []).append(reward)
            at_2 = [1 - comb(len(t) - int(sum(t)), 2) / comb(len(t), 2) for t in tasks.values()]
            assert values["reward", "pass@2"] == pytest.approx(sum(at_2) / len(at_2), abs=1e-12)


@pytest.mark.parametrize(
    ("n", "passed", "k"), [(5, 2, 2), (10, 1, 5), (4, 4, 2), (4, 0, 4), (8, 3, 8)]
)
def test_pass_at_k_is_binomial_formula(n: int, passed: int, k: int) -> None:
    assert estimate_pass_at_k(n, passed, k) == pytest.approx(
        1 - comb(n - passed, k) / comb(n, k), abs=1e-12
    )


def test_trajectory_items_are_complete(sample: Path) -> None:
    items = {item.id: item for item in read(sample)[0]}
    helper = items["tidy-logs__bbbbbb1"]
    assert [call.name for call in helper.predicted] == ["delegate"]
    (log,) = [m for m in helper.messages if m.role == "log"]
    assert log.name == "mover" and "mv *.log old/" in log.content
    greeting = items["greeting"]
    assert greeting.n_steps == 2 and greeting.official is True and greeting.n_turns == 1
    assert [m.name for m in greeting.messages if m.role == "log"] == ["copied context"]
    assert "images/sign.png" in items["picture"].messages[0].content
    failed = items["count-lines__aaaaaa2"]
    assert failed.error_type == "failed_test:test_number" and "expected 12" in (
        failed.first_difference or ""
    )
    ended = items["tidy-logs__bbbbbb2"]
    assert ended.official is None and ended.error_type == "TimeoutError"


def test_results_belong_to_their_calls(tmp_path: Path) -> None:
    step = {
        "step_id": 1,
        "source": "agent",
        "message": "",
        "tool_calls": [{"tool_call_id": x, "function_name": x, "arguments": {}} for x in "abc"],
        "observation": {
            "results": [{"source_call_id": x, "content": x} for x in "ca"] + [{"content": "loose"}]
        },
    }
    write(
        tmp_path / "x.json",
        {"schema_version": "ATIF-v1.2", "agent": {"name": "n"}, "steps": [step]},
    )
    ((item,), _, _) = read(tmp_path)
    tools = [message.content for message in item.messages if message.role == "tool"]
    assert tools == ["a", "(no result)", "c"]
    assert [m.content for m in item.messages if m.role == "log"] == ["loose"]


def test_lines_are_items(tmp_path: Path) -> None:
    one = {
        "schema_version": "1.5",
        "agent": {"name": "n"},
        "steps": [{"step_id": 1, "source": "user", "message": "a"}],
    }
    lines = [one | {"session_id": "s"}, one | {"session_id": "s"}, one]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    items, issues, _ = read(tmp_path)
    assert [item.id for item in items] == ["s", "s#2", "all:3"]
    assert any("several trials have the id" in issue.what for issue in issues)


def write(path: Path, value: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2))


def put(*keys: str | int, value: Json = None, drop: bool = False) -> Callable[[Json], Json]:
    """Return a function that changes the value at a path of keys."""

    def change(document: Json) -> Json:
        at = document
        for key in keys[:-1]:
            at = at[key]
        if drop:
            del at[keys[-1]]
        else:
            at[keys[-1]] = value
        return document

    return change


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda raw: b"\xef\xbb\xbf" + raw,
    "UTF-16": lambda raw: raw.decode().encode("utf-16"),
    "CR line ends": lambda raw: raw.replace(b"\n", b"\r"),
    "CRLF line ends": lambda raw: raw.replace(b"\n", b"\r\n"),
    "one line": lambda raw: json.dumps(json.loads(raw)).encode(),
    "cut in the middle": lambda raw: raw[: len(raw) // 2],
    "cut before the last brace": lambda raw: raw[:-3],
    "doubled": lambda raw: raw + raw,
    "empty": lambda _: b"",
    "null": lambda _: b"null",
    "bytes that are not UTF-8": lambda raw: raw.replace(b"Count", b"C\xff\xfe"),
    "NaN": lambda raw: raw.replace(b"0.001", b"NaN"),
    "gzip signature": lambda raw: b"\x1f\x8b" + raw,
}
AGENT_STEP = 2
"""Index of the first step of the agent in the trial that is damaged."""
STEP = ("steps", AGENT_STEP)
TRAJECTORY: dict[str, Callable[[Json], Json]] = {
    "no steps": put("steps", drop=True),
    "steps empty": put("steps", value=[]),
    "steps an object": put("steps", value={"1": {}}),
    "step null": put(*STEP, value=None),
    "step a list": put(*STEP, value=[1]),
    "step ids reversed": lambda d: (
        d | {"steps": [s | {"step_id": 9 - s["step_id"]} for s in d["steps"]]}
    ),
    "steps doubled": lambda d: d | {"steps": d["steps"] * 2},
    "steps reordered": lambda d: d | {"steps": d["steps"][::-1]},
    "step id text": put(*STEP, "step_id", value="three"),
    "source unknown": put(*STEP, "source", value="robot"),
    "source missing": put(*STEP, "source", drop=True),
    "source user with calls": put(*STEP, "source", value="user"),
    "message missing": put(*STEP, "message", drop=True),
    "message a number": put(*STEP, "message", value=5),
    "message parts of wrong types": put(
        *STEP, "message", value=[None, 5, {"type": "text"}, {"source": 3}, "x"]
    ),
    "tool_calls an object": put(*STEP, "tool_calls", value={"a": 1}),
    "tool_calls text": put(*STEP, "tool_calls", value="ls"),
    "call null": put(*STEP, "tool_calls", value=[None]),
    "function name missing": put(*STEP, "tool_calls", 0, "function_name", drop=True),
    "function name a list": put(*STEP, "tool_calls", 0, "function_name", value=["bash"]),
    "arguments text": put(*STEP, "tool_calls", 0, "arguments", value="ls"),
    "arguments missing": put(*STEP, "tool_calls", 0, "arguments", drop=True),
    "call ids doubled": lambda d: put(
        *STEP, "tool_calls", value=d["steps"][AGENT_STEP]["tool_calls"] * 2
    )(d),
    "result names another call": put(
        *STEP, "observation", "results", 0, "source_call_id", value="none"
    ),
    "result null": put(*STEP, "observation", "results", value=[None]),
    "results an object": put(*STEP, "observation", "results", value={"content": "x"}),
    "observation text": put(*STEP, "observation", value="x"),
    "result content a number": put(*STEP, "observation", "results", 0, "content", value=4),
    "reference to nothing": put(
        *STEP, "observation", "results", 0, "subagent_trajectory_ref", value=[{}]
    ),
    "reference to a parent folder": put(
        *STEP,
        "observation",
        "results",
        0,
        "subagent_trajectory_ref",
        value=[{"trajectory_path": "../../../../../../etc/passwd"}],
    ),
    "reference to itself": lambda d: put(
        *STEP,
        "observation",
        "results",
        0,
        "subagent_trajectory_ref",
        value=[{"trajectory_id": "me"}],
    )(d | {"subagent_trajectories": [{"trajectory_id": "me", "steps": copy.deepcopy(d["steps"])}]}),
    "metrics a list": put(*STEP, "metrics", value=[1]),
    "token counts text": put(*STEP, "metrics", value={"prompt_tokens": "many", "cost_usd": True}),
    "final metrics text": put("final_metrics", value="x"),
    "final tokens negative and huge": put(
        "final_metrics", value={"total_prompt_tokens": -1, "total_cost_usd": 1e308}
    ),
    "agent without name": put("agent", "name", drop=True),
    "agent text": put("agent", value="kite"),
    "tool definitions of wrong types": put(
        "agent", "tool_definitions", value=[None, 5, {"function": 4}, "x"]
    ),
    "extra a list": put("extra", value=[1]),
    "version 2": put("schema_version", value="ATIF-v2.0"),
    "version a number": put("schema_version", value=1.7),
    "unknown fields": put("mood", value={"x": [1]}),
    "continuation missing": put("continued_trajectory_ref", value="trajectory.cont-1.json"),
    "all steps copied": lambda d: (
        d | {"steps": [s | {"is_copied_context": True} for s in d["steps"]]}
    ),
}
RESULT: dict[str, Callable[[Json], Json]] = {
    "verifier_result a list": put("verifier_result", value=[1]),
    "rewards text": put("verifier_result", "rewards", value="1"),
    "reward text": put("verifier_result", "rewards", "reward", value="1.0"),
    "reward a list": put("verifier_result", "rewards", "reward", value=[1]),
    "agent_info null": put("agent_info", value=None),
    "agent_result text": put("agent_result", value="x"),
    "exception_info text": put("exception_info", value="boom"),
    "task_name a number": put("task_name", value=5),
    "trial_name missing": put("trial_name", drop=True),
}
DAMAGES = [
    *(("agent/trajectory.json", name) for name in (*ENCODINGS, *TRAJECTORY)),
    *(("result.json", name) for name in (*ENCODINGS, *RESULT)),
    *(
        (f"verifier/{file}", name)
        for file in ("reward.txt", "ctrf.json")
        for name in ("empty", "UTF-16", "null")
    ),
]


@pytest.fixture(scope="module")
def trial(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job") / "count-lines__aaaaaa1"
    shutil.copytree(next((sample / "jobs").glob("*/count-lines__aaaaaa1")), folder)
    return folder


@pytest.mark.parametrize(
    ("file", "damage"), DAMAGES, ids=[f"{file} {name}" for file, name in DAMAGES]
)
def test_structural_damage_never_crashes_or_flips_verdict(
    trial: Path, file: str, damage: str
) -> None:
    """The trial passes.

    With damage it passes or its verdict is unknown, and lost data has an issue.
    """
    path = trial / file
    raw = path.read_bytes()
    try:
        if damage in ENCODINGS:
            path.write_bytes(ENCODINGS[damage](raw))
        else:
            write(path, (TRAJECTORY | RESULT)[damage](json.loads(raw)))
        items, issues, _ = read(trial.parent)
    finally:
        path.write_bytes(raw)
    assert len(items) == 1
    (item,) = items
    assert item.official in (True, None)
    assert item.official or issues
    if len(item.predicted) != 2 and damage != "all steps copied":
        assert issues, "calls were lost silently"


def test_trajectory_refers_only_to_files_of_its_run(trial: Path) -> None:
    """A path from a file is compared with the files that were found, and never opened."""
    outside = trial.parent.parent / "outside.json"
    write(outside, {"steps": [{"source": "user", "message": "secret"}]})
    path = trial / "agent" / "trajectory.json"
    raw = path.read_bytes()
    try:
        reference = [{"trajectory_path": "../../../outside.json"}]
        write(
            path,
            put(*STEP, "observation", "results", 0, "subagent_trajectory_ref", value=reference)(
                json.loads(raw)
            ),
        )
        ((item,), _, _) = read(trial.parent)
    finally:
        path.write_bytes(raw)
    assert "secret" not in str(item.messages)
    assert any("the trajectory of the subagent" in issue.what for issue in item.issues)


SUBAGENT_STEPS: Json = [
    {"step_id": 1, "source": "user", "message": "Find the bakery."},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "A search helps.", "signature": "s"},
            {"type": "text", "text": "I search."},
            {"type": "tool_use", "id": "t1", "name": "search", "input": {"query": "bakery"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "3 km"}]},
    {
        "source": "agent",
        "message": [{"type": "hologram", "data": "x"}],
        "tool_calls": [{"id": "c", "function": {"name": "route", "arguments": '{"to": "A"}'}}],
    },
    "lost",
]


def read_with_subagent(tmp_path: Path, steps: Json) -> Item:
    call = {"tool_call_id": "a", "function_name": "delegate", "arguments": {}}
    result = {
        "source_call_id": "a",
        "content": "done",
        "subagent_trajectory_ref": [{"trajectory_id": "helper"}],
    }
    document = {
        "schema_version": "ATIF-v1.7",
        "agent": {"name": "kite", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Find the bakery."},
            {
                "step_id": 2,
                "source": "agent",
                "message": "",
                "tool_calls": [call],
                "observation": {"results": [result]},
            },
        ],
        "subagent_trajectories": [
            {"trajectory_id": "helper", "agent": {"name": "mole"}, "steps": steps}
        ],
    }
    write(tmp_path / "trajectory.json", document)
    ((item,), _, _) = read(tmp_path)
    return item


def test_foreign_blocks_of_a_subagent_are_read(tmp_path: Path) -> None:
    item = read_with_subagent(tmp_path, SUBAGENT_STEPS)
    (log,) = [message for message in item.messages if message.name == "mole"]
    assert log.content.splitlines() == [
        "subagent mole:",
        "user: Find the bakery.",
        "reasoning: A search helps.",
        "agent: I search.",
        '  call search({"query": "bakery"})',
        "  result 3 km",
        "agent: ",
        '  call route({"to": "A"})',
        'unknown parts: [{"type": "hologram", "data": "x"}]',
    ]
    assert [issue.what for issue in item.issues if "hologram" in issue.what] != []
    assert "subagent helper: step 5 is not an object, so it was skipped" in [
        issue.what for issue in item.issues
    ]
    assert all(issue.file.endswith("trajectory.json") for issue in item.issues)


def test_subagent_without_a_list_of_steps_is_an_issue(tmp_path: Path) -> None:
    item = read_with_subagent(tmp_path, {"1": SUBAGENT_STEPS[0]})
    assert "subagent helper: the trajectory has no steps" in [issue.what for issue in item.issues]


@pytest.mark.parametrize(
    ("reward", "shown"), [('"1.0"', '"1.0"'), ("NaN", "NaN"), ("[1]", "[1]"), ("1e999", "Infinity")]
)
def test_reward_that_is_no_number_gets_a_notice(tmp_path: Path, reward: str, shown: str) -> None:
    trial = tmp_path / "job" / "task__abcdefg"
    trial.mkdir(parents=True)
    text = (
        f'{{"trial_name": "task__abcdefg", "verifier_result": {{"rewards": {{"reward":'
        f" {reward}}}}}}}"
    )
    (trial / "result.json").write_text(text)
    found = discover([tmp_path])
    assert not found.issues
    (item,) = [record for record in read_items(found.plans[0]) if isinstance(record, Item)]
    assert item.official is None
    (notice,) = [issue for issue in item.issues if "gives no verdict" in issue.what]
    assert notice.severity == "notice" and shown in notice.what


def test_reward_file_with_nan_gets_a_notice(tmp_path: Path) -> None:
    verifier = tmp_path / "job" / "task__abcdefg" / "verifier"
    verifier.mkdir(parents=True)
    (verifier.parent / "result.json").write_text(
        '{"trial_name": "task__abcdefg", "verifier_result": null}'
    )
    (verifier / "reward.txt").write_text("nan\n")
    (plan,) = discover([tmp_path]).plans
    (item,) = [record for record in read_items(plan) if isinstance(record, Item)]
    assert any(issue.severity == "notice" and "NaN" in issue.what for issue in item.issues)


ENDINGS = [("null", "completed"), ('{"exception_type": "AgentTimeoutError"}', "AgentTimeoutError")]


@pytest.mark.parametrize(("exception", "ending"), ENDINGS)
def test_ending_of_a_trial_is_its_exception(tmp_path: Path, exception: str, ending: str) -> None:
    trial = tmp_path / "job" / "task__abcdefg"
    trial.mkdir(parents=True)
    (trial / "result.json").write_text(
        f'{{"trial_name": "task__abcdefg", "exception_info": {exception}}}'
    )
    (plan,) = discover([tmp_path]).plans
    (item,) = [record for record in read_items(plan) if isinstance(record, Item)]
    assert item.ended == ending

"""Bombs of ATIF trajectories and Harbor jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bombs.bomb import MEGABYTE, Bomb, Json, name_values, nest, write_json


def write_trajectory(folder: Path, steps: list[Json], **fields: Any) -> None:
    document = {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "trajectory_id": "main",
        "agent": {"name": "agent", "version": "1", "model_name": "model"},
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        **fields,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "item.trajectory.json").write_text(json.dumps(document))


def make_referring_steps(name: str, size: int) -> list[Json]:
    """Steps whose results refer to a subagent `size` times."""
    results = [
        {"content": "r", "subagent_trajectory_ref": [{"trajectory_id": name}]} for _ in range(size)
    ]
    return [
        {"source": "user", "message": "go on"},
        {"source": "agent", "message": "answer", "observation": {"results": results}},
    ]


def subagent_often(folder: Path, size: int) -> None:
    subagent = {
        "trajectory_id": "sub",
        "agent": {"name": "sub"},
        "steps": [{"source": "agent", "message": "x" * MEGABYTE}],
    }
    write_trajectory(folder, make_referring_steps("sub", size), subagent_trajectories=[subagent])


def subagent_of_itself(folder: Path, size: int) -> None:
    subagent: Json = {
        "trajectory_id": "sub",
        "agent": {"name": "sub"},
        "steps": make_referring_steps("sub", size),
    }
    subagent["subagent_trajectories"] = [dict(subagent)]
    (folder).mkdir(parents=True, exist_ok=True)
    write_trajectory(folder, make_referring_steps("sub", size), subagent_trajectories=[subagent])


def file_of_itself(folder: Path, size: int) -> None:
    """A subagent in another file, which refers to its own file `size` times."""
    path = "item.trajectory.sub.json"
    results = [
        {"content": "r", "subagent_trajectory_ref": [{"trajectory_path": path}]}
        for _ in range(size)
    ]
    steps = [
        {"step_id": 1, "source": "user", "message": "go on"},
        {"step_id": 2, "source": "agent", "message": "answer", "observation": {"results": results}},
    ]
    write_trajectory(
        folder, [{key: value for key, value in step.items() if key != "step_id"} for step in steps]
    )
    document = json.loads((folder / "item.trajectory.json").read_text())
    (folder / path).write_text(json.dumps(document))


def calls_in_a_step_of_atif(folder: Path, size: int) -> None:
    calls = [
        {"tool_call_id": f"c{n}", "function_name": "f", "arguments": {"a": n}} for n in range(size)
    ]
    results = [{"source_call_id": f"c{n}", "content": "ok"} for n in range(size)]
    step = {
        "source": "agent",
        "message": "",
        "tool_calls": calls,
        "observation": {"results": results},
    }
    write_trajectory(folder, [{"source": "user", "message": "go on"}, step])


def write_call(folder: Path, arguments: Any) -> None:
    call = {"tool_call_id": "c", "function_name": "f", "arguments": arguments}
    step = {"source": "agent", "message": "", "tool_calls": [call]}
    write_trajectory(folder, [{"source": "user", "message": "go on"}, step])


def deep_arguments(folder: Path, size: int) -> None:
    write_call(folder, {"a": "NESTED"})
    path = folder / "item.trajectory.json"
    path.write_text(path.read_text().replace('"NESTED"', nest(size)))


def wide_arguments(folder: Path, size: int) -> None:
    write_call(folder, name_values(size))


def long_text(folder: Path, size: int) -> None:
    """A reply of `size` megabytes."""
    reply = {"source": "agent", "message": "x" * (size * MEGABYTE)}
    write_trajectory(folder, [{"source": "user", "message": "go on"}, reply])


def many_steps(folder: Path, size: int) -> None:
    sources = ("user", "agent")
    steps = [{"source": source, "message": "text"} for source in sources * size]
    write_trajectory(folder, steps)


def copied_steps(folder: Path, size: int) -> None:
    """Steps of which each second one is copied from an earlier trajectory."""
    copied = {"source": "user", "message": "copied", "is_copied_context": True}
    write_trajectory(folder, [copied, {"source": "agent", "message": "text"}] * size)


def many_files(folder: Path, size: int) -> None:
    """`size` trajectories in one folder, each with a subagent in a file of its own."""
    write_trajectory(
        folder, [{"source": "user", "message": "x"}, {"source": "agent", "message": "y"}]
    )
    text = (folder / "item.trajectory.json").read_text()
    for number in range(size):
        (folder / f"t{number}.trajectory.json").write_text(text)
        (folder / f"t{number}.trajectory.summarization-1.json").write_text(text)


def many_continuations(folder: Path, size: int) -> None:
    """A trajectory that goes on in `size` further files."""
    write_trajectory(
        folder, [{"source": "user", "message": "x"}, {"source": "agent", "message": "y"}]
    )
    text = (folder / "item.trajectory.json").read_text()
    for number in range(1, size + 1):
        (folder / f"item.trajectory.cont-{number}.json").write_text(text)


def write_trial(folder: Path, name: str, rewards: Json, tests: list[Json]) -> None:
    trial = folder / f"{name}__abcdefg"
    write_trajectory(
        trial / "agent", [{"source": "user", "message": "x"}, {"source": "agent", "message": "y"}]
    )
    (trial / "agent" / "item.trajectory.json").rename(trial / "agent" / "trajectory.json")
    result = {
        "trial_name": trial.name,
        "task_name": name,
        "agent_info": {"name": "agent", "version": "1", "model_info": {"name": "model"}},
        "verifier_result": {"rewards": rewards},
    }
    write_json(trial / "result.json", result)
    write_json(trial / "verifier" / "ctrf.json", {"results": {"tests": tests}})


def many_rewards(folder: Path, size: int) -> None:
    rewards = {"reward": 1.0} | {f"r{number}": 0.5 for number in range(size)}
    write_trial(folder / "job", "task", rewards, [])


def many_tests(folder: Path, size: int) -> None:
    tests = [{"name": f"t{number}", "status": "failed", "message": "no"} for number in range(size)]
    write_trial(folder / "job", "task", {"reward": 0.0}, tests)


def write_rubric(folder: Path, rubric: Any) -> None:
    write_trial(folder / "job", "task", {"reward": 0.0}, [])
    write_json(folder / "job" / "task__abcdefg" / "verifier" / "rubric_breakdown.json", rubric)


def many_criteria(folder: Path, size: int) -> None:
    criterion = {"title": "The answer is right", "score": 1.0, "justification": "It is right. " * 5}
    write_rubric(folder, {"results": [criterion] * size})


def long_criteria(folder: Path, size: int) -> None:
    """Criteria, within their maximum number, with texts of more than an item may have."""
    criterion = {"title": "x" * MEGABYTE, "score": 1.0, "justification": "y" * MEGABYTE}
    write_rubric(folder, {"results": [criterion] * size})


def deep_rubric(folder: Path, size: int) -> None:
    write_rubric(folder, {"results": [{"title": "t", "score": 1.0, "more": "NESTED"}]})
    path = folder / "job" / "task__abcdefg" / "verifier" / "rubric_breakdown.json"
    path.write_text(path.read_text().replace('"NESTED"', nest(size)))


def many_trials(folder: Path, size: int) -> None:
    for number in range(size):
        write_trial(folder / "job", f"task{number}", {"reward": 1.0}, [])


BOMBS = {
    "subagent often": Bomb(subagent_often, "item", size=1_000, small_size=100, is_cut=True),
    "subagent of itself": Bomb(subagent_of_itself, "item", size=150, small_size=150, is_cut=True),
    "file of itself": Bomb(file_of_itself, "item", size=40, small_size=0, is_cut=True),
    "calls in a step": Bomb(calls_in_a_step_of_atif, "item", size=15_000, small_size=1_000),
    "deep": Bomb(deep_arguments, "item", size=20_000, small_size=5_000),
    "wide": Bomb(wide_arguments, "item", size=80_000, small_size=0),
    "long": Bomb(long_text, "item", size=40, small_size=0, is_cut=True),
    "many steps": Bomb(many_steps, "item", size=12_000, small_size=0),
    "copied steps": Bomb(copied_steps, "item", size=10_000, small_size=0),
    "many files": Bomb(many_files, "item", size=300, small_size=50),
    "many continuations": Bomb(many_continuations, "item", size=300, small_size=0),
    "many scores": Bomb(many_rewards, "task__abcdefg", size=5_000, small_size=0),
    "many tests": Bomb(many_tests, "task__abcdefg", size=10_000, small_size=0),
    "many criteria": Bomb(many_criteria, "task__abcdefg", size=5_000, small_size=0, is_cut=True),
    "long criteria": Bomb(long_criteria, "task__abcdefg", size=20, small_size=0, is_cut=True),
    "deep rubric": Bomb(deep_rubric, "task__abcdefg", size=20_000, small_size=0),
    "many trials": Bomb(many_trials, "task0__abcdefg", size=200, small_size=0),
}

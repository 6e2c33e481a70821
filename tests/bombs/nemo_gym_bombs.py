"""Bombs of NeMo Gym rollouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.bombs.bomb import MEGABYTE, Bomb, Json, name_values, nest, write_lines

TASK = "task_0_rollout_0"


def make_rollout(output: list[Any], **fields: Any) -> Json:
    request = {"input": [{"role": "user", "content": "go on"}], "tools": []}
    response = {"model": "model", "output": output}
    indexes = {"_ng_task_index": 0, "_ng_rollout_index": 0}
    rollout = {"responses_create_params": request, "response": response, "reward": 1.0}
    return rollout | indexes | fields


def make_call(number: int, arguments: str) -> Json:
    return {"type": "function_call", "call_id": f"c{number}", "name": "f", "arguments": arguments}


def write_rollouts(folder: Path, rollouts: list[Json]) -> None:
    write_lines(folder / "run.jsonl", rollouts)


def calls_in_a_rollout(folder: Path, size: int) -> None:
    """Calls and results, and as many golden calls in reverse order."""
    output: list[Json] = []
    for number in range(size):
        output.append(make_call(number, f'{{"a": {number}}}'))
    for number in range(size):
        output.append({"type": "function_call_output", "call_id": f"c{number}", "output": "ok"})
    golden = [{"name": "f", "arguments": {"a": number}} for number in reversed(range(size))]
    write_rollouts(folder, [make_rollout(output, expected_answers=golden)])


def deep_arguments(folder: Path, size: int) -> None:
    write_rollouts(folder, [make_rollout([make_call(0, f'{{"a": {nest(size)}}}')])])


def deep_output(folder: Path, size: int) -> None:
    """An output of lists in each other, which are read as one list."""
    write_rollouts(folder, [make_rollout([], name="NESTED")])
    path = folder / "run.jsonl"
    path.write_text(path.read_text().replace('"NESTED"', nest(size)))


def wide_metadata(folder: Path, size: int) -> None:
    message = {"type": "message", "role": "assistant", "content": "answer"}
    write_rollouts(folder, [make_rollout([message], **name_values(size))])


def long_text(folder: Path, size: int) -> None:
    message = {"type": "message", "role": "assistant", "content": "x" * (size * MEGABYTE)}
    write_rollouts(folder, [make_rollout([message])])


def many_judges(folder: Path, size: int) -> None:
    evaluation = {"response": {"output": []}, "verdict_label": "[[A=B]]"}
    message = {"type": "message", "role": "assistant", "content": "answer"}
    write_rollouts(folder, [make_rollout([message], judge_evaluations=[evaluation] * size)])


def repeated_call_ids(folder: Path, size: int) -> None:
    """Calls with one id, and as many results of that id."""
    output: list[Json] = []
    for number in range(size):
        output.append(make_call(0, f'{{"a": {number}}}'))
        output.append({"type": "function_call_output", "call_id": "c0", "output": "ok"})
    write_rollouts(folder, [make_rollout(output)])


def many_rollouts(folder: Path, size: int) -> None:
    """Rollouts of one task, of which every other one is repeated, and inputs for all of them."""
    message = {"type": "message", "role": "assistant", "content": "answer"}
    rollouts = [
        make_rollout([message], _ng_rollout_index=number // 2, reward=number / 7)
        for number in range(size)
    ]
    write_rollouts(folder, rollouts)
    inputs = [
        {
            "responses_create_params": {"input": [{"role": "user", "content": f"go {number}"}]},
            "_ng_task_index": number,
            "_ng_rollout_index": 0,
        }
        for number in range(size)
    ]
    write_lines(folder / "run_materialized_inputs.jsonl", inputs)


def many_attempts(folder: Path, size: int) -> None:
    message = {"type": "message", "role": "assistant", "content": "answer"}
    write_rollouts(folder, [make_rollout([message])])
    failure = make_rollout([], _ng_failure_class="transient", _ng_rollout_index=1)
    write_lines(folder / "run_failures.jsonl", [failure] * size)


BOMBS = {
    "calls": Bomb(calls_in_a_rollout, TASK, size=4_000, small_size=500),
    "deep": Bomb(deep_arguments, TASK, size=10_000, small_size=1_000),
    "deep output": Bomb(deep_output, "", size=20_000, small_size=5_000, has_items=False),
    "wide": Bomb(wide_metadata, TASK, size=40_000, small_size=0),
    "long": Bomb(long_text, TASK, size=14, small_size=14, is_cut=True),
    "many judges": Bomb(many_judges, TASK, size=5_000, small_size=200),
    "repeated call ids": Bomb(repeated_call_ids, TASK, size=4_000, small_size=0),
    "many rollouts": Bomb(many_rollouts, TASK, size=2_000, small_size=0),
    "many attempts": Bomb(many_attempts, TASK, size=5_000, small_size=0),
}

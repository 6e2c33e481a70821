"""Bombs of verifiers traces and legacy results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.bombs.bomb import MEGABYTE, Bomb, Json, name_values, nest, write_lines

ITEM = "task_rollout_0"
EXAMPLE = "example_0_rollout_0"


def make_episode(nodes: list[Json], **fields: Any) -> Json:
    trace = {
        "agent": {"name": "agent", "trainable": True},
        "tools": [],
        "nodes": nodes,
        "rewards": {"correct": {"score": 1.0, "weight": 1.0}},
    }
    task = {"key": "task", "data": {"prompt": "go on", "answer": "42"}}
    return {"id": "e", "env": {"id": "env"}, "task": task, "traces": [trace | fields]}


def make_node(role: str, content: Any, parent: int | None = None, **fields: Any) -> Json:
    node = {"message": {"role": role, "content": content} | fields, "sampled": role == "assistant"}
    return node if parent is None else node | {"parent": parent}


def write_episodes(folder: Path, *episodes: Json) -> None:
    write_lines(folder / "traces.jsonl", episodes)


def long_chain_with_leaves(folder: Path, size: int) -> None:
    """A chain of messages, each of which is also the root of a branch of one message."""
    nodes = [make_node("user", "go on")]
    for number in range(size):
        nodes.append(make_node("assistant", "next", parent=2 * max(number - 1, 0)))
        nodes.append(make_node("user", "side", parent=max(2 * number - 1, 0)))
    write_episodes(folder, make_episode(nodes))


def many_roots(folder: Path, size: int) -> None:
    nodes = [make_node("assistant", "answer") for _ in range(size)]
    write_episodes(folder, make_episode(nodes))


def parents_in_a_circle(folder: Path, size: int) -> None:
    """Messages each of which names itself or a later one as its parent."""
    nodes = [make_node("assistant", "next", parent=number + number % 2) for number in range(size)]
    write_episodes(folder, make_episode(nodes))


def wide_info(folder: Path, size: int) -> None:
    answer = make_node("assistant", "answer")
    write_episodes(folder, make_episode([answer], info=name_values(size)))


def many_messages(folder: Path, size: int) -> None:
    kinds = ("user", "assistant")
    nodes = [
        make_node(kinds[number % 2], "text", parent=number - 1 if number else None)
        for number in range(size)
    ]
    write_episodes(folder, make_episode(nodes))


def calls_in_a_message(folder: Path, size: int) -> None:
    calls = [
        {"id": f"c{number}", "name": "f", "arguments": f'{{"a": {number}}}'}
        for number in range(size)
    ]
    nodes = [make_node("user", "go on"), make_node("assistant", "", parent=0, tool_calls=calls)]
    for number in range(size):
        nodes.append(make_node("tool", "ok", parent=number + 1, tool_call_id=f"c{number}"))
    write_episodes(folder, make_episode(nodes))


def deep_arguments(folder: Path, size: int) -> None:
    call = {"id": "c", "name": "f", "arguments": f'{{"a": {nest(size)}}}'}
    nodes = [make_node("user", "go on"), make_node("assistant", "", parent=0, tool_calls=[call])]
    write_episodes(folder, make_episode(nodes))


def long_text(folder: Path, size: int) -> None:
    nodes = [make_node("user", "go on"), make_node("assistant", "x" * (size * MEGABYTE), parent=0)]
    write_episodes(folder, make_episode(nodes))


def many_rewards(folder: Path, size: int) -> None:
    rewards = {f"r{number}": {"score": number / 3, "weight": 1.0} for number in range(size)}
    write_episodes(folder, make_episode([make_node("assistant", "answer")], rewards=rewards))


def many_agents(folder: Path, size: int) -> None:
    episode = make_episode([make_node("assistant", "answer")])
    write_episodes(folder, episode | {"traces": episode["traces"] * size})


def many_episodes(folder: Path, size: int) -> None:
    write_episodes(folder, *[make_episode([make_node("assistant", "answer")])] * size)


def nested_call_texts(folder: Path, size: int) -> None:
    """A legacy call whose text is a JSON text of a JSON text."""
    call = nest(size)
    row = {"example_id": 0, "prompt": "go on", "reward": 1.0, "metrics": name_values(size // 10)}
    completion = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    write_lines(folder / "results.jsonl", [row | {"completion": completion}])


BOMBS = {
    "leaves": Bomb(long_chain_with_leaves, ITEM, size=3_000, small_size=400),
    "roots": Bomb(many_roots, ITEM, size=3_000, small_size=0),
    "circle": Bomb(parents_in_a_circle, ITEM, size=3_000, small_size=0),
    "wide": Bomb(wide_info, ITEM, size=40_000, small_size=0),
    "many messages": Bomb(many_messages, ITEM, size=10_000, small_size=0),
    "calls": Bomb(calls_in_a_message, ITEM, size=4_000, small_size=500),
    "deep": Bomb(deep_arguments, ITEM, size=10_000, small_size=1_000),
    "long": Bomb(long_text, ITEM, size=14, small_size=14, is_cut=True),
    "many rewards": Bomb(many_rewards, ITEM, size=5_000, small_size=0),
    "many agents": Bomb(many_agents, ITEM, size=2_000, small_size=200),
    "many episodes": Bomb(many_episodes, ITEM, size=3_000, small_size=0),
    "call texts": Bomb(nested_call_texts, EXAMPLE, size=20_000, small_size=2_000),
}

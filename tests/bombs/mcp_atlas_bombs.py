"""Bombs of MCP-Atlas files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from tests.bombs.bomb import MEGABYTE, Bomb, Json, nest

COLUMNS = (
    "TASK",
    "PROMPT",
    "ENABLED_TOOLS",
    "TRAJECTORY",
    "GTFA_CLAIMS",
    "raw_conversation_history",
    "response",
    "coverage_score",
    "coverage_details_json",
)


def write_tasks(folder: Path, *tasks: Json) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    defaults = {"TASK": "item", "PROMPT": "go on", "response": "answer", "coverage_score": "1.0"}
    with (folder / "scored_model.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        writer.writerows(defaults | task for task in tasks)


def make_conversation(messages: list[Json]) -> Json:
    return {"raw_conversation_history": json.dumps(messages)}


def calls_in_a_task(folder: Path, size: int) -> None:
    """Calls of the model, and as many of the golden trajectory in reverse order."""
    calls = [
        {"id": f"c{number}", "function": {"name": "f", "arguments": f'{{"a": {number}}}'}}
        for number in range(size)
    ]
    trajectory = json.dumps([{"role": "assistant", "tool_calls": calls[::-1]}])
    conversation = make_conversation([{"role": "assistant", "tool_calls": calls}])
    write_tasks(folder, conversation | {"TRAJECTORY": trajectory})


def many_claims(folder: Path, size: int) -> None:
    claims = [f"claim number {number}" for number in range(size)]
    judged = [{"claim": claim, "score": 1.0, "covered": True, "reason": "yes"} for claim in claims]
    details = json.dumps({"per_claim": judged})
    write_tasks(folder, {"GTFA_CLAIMS": json.dumps(claims), "coverage_details_json": details})


def deep_claims(folder: Path, size: int) -> None:
    """Claims as a Python list of lists in each other."""
    write_tasks(folder, {"GTFA_CLAIMS": nest(size).replace("[]", "['claim']")})


def deep_conversation(folder: Path, size: int) -> None:
    write_tasks(folder, {"raw_conversation_history": nest(size)})


def repeated_call_ids(folder: Path, size: int) -> None:
    """Calls with one id in as many messages, each with a result of that id."""
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    messages: list[Json] = []
    for _ in range(size):
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": "c", "content": "ok"})
    write_tasks(folder, make_conversation(messages))


def long_response(folder: Path, size: int) -> None:
    write_tasks(folder, {"response": "x" * (size * MEGABYTE)})


def open_quote(folder: Path, size: int) -> None:
    """A cell that never ends, so that the rest of the file is one record."""
    write_tasks(folder, {})
    with (folder / "scored_model.csv").open("a") as file:
        file.write('"' + "line\n" * size)


def many_columns(folder: Path, size: int) -> None:
    write_tasks(folder, {})
    path = folder / "scored_model.csv"
    header, row, *_ = path.read_text().splitlines()
    names = ",".join(f"c{number}" for number in range(size))
    path.write_text(f"{header},{names}\n{row}{',x' * size}\n")


def many_tasks(folder: Path, size: int) -> None:
    """Tasks with one id, and outputs with the same conversations."""
    tasks = [make_conversation([{"role": "assistant", "content": "answer"}])] * size
    write_tasks(folder, *tasks)
    with (folder / "outputs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task_id", "raw_conversation_history", "response"])
        writer.writerows([["other", "[]", "answer"]] * size)


BOMBS = {
    "calls": Bomb(calls_in_a_task, "item", size=4_000, small_size=500),
    "many claims": Bomb(many_claims, "item", size=5_000, small_size=300),
    "deep claims": Bomb(deep_claims, "item", size=20_000, small_size=2_000),
    "deep conversation": Bomb(deep_conversation, "item", size=50_000, small_size=0),
    "repeated call ids": Bomb(repeated_call_ids, "item", size=4_000, small_size=0),
    "long": Bomb(long_response, "item", size=20, small_size=20, is_cut=True),
    "open quote": Bomb(open_quote, "item", size=200_000, small_size=20_000),
    "many columns": Bomb(many_columns, "item", size=1_500, small_size=500),
    "many tasks": Bomb(many_tasks, "", size=3_000, small_size=0),
}

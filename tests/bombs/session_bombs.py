"""Bombs of sessions of coding agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.bombs.bomb import MEGABYTE, Bomb, Json, name_values, nest, write_lines

SESSION = "item"


def make_line(number: int, kind: str, content: Any, parent: int | None) -> Json:
    return {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": None if parent is None else f"u{parent}",
        "sessionId": SESSION,
        "message": {"role": kind, "content": content},
    }


def write_session(folder: Path, lines: list[Json]) -> None:
    write_lines(folder / "session.jsonl", lines)


def many_messages(folder: Path, size: int) -> None:
    kinds = ("user", "assistant")
    write_session(
        folder, [make_line(n, kinds[n % 2], "text", n - 1 if n else None) for n in range(size)]
    )


def long_text(folder: Path, size: int) -> None:
    prompt = make_line(0, "user", "x" * (size * MEGABYTE), None)
    rows = [prompt, make_line(1, "assistant", "x" * (size * MEGABYTE), 0)]
    write_session(folder, [*rows, make_line(2, "user", "y" * (size * MEGABYTE), 1)])


def many_branches(folder: Path, size: int) -> None:
    """Retries of one prompt, each of which is an older version."""
    lines = [make_line(0, "user", "go on", None)]
    lines += [make_line(n, "assistant", "answer", 0) for n in range(1, size)]
    write_session(folder, lines)


def parents_in_a_circle(folder: Path, size: int) -> None:
    write_session(folder, [make_line(n, "user", "text", (n + 1) % size) for n in range(size)])


def many_subagents(folder: Path, size: int) -> None:
    lines = [make_line(0, "user", "go on", None), make_line(1, "assistant", "answer", 0)]
    for number in range(2, size):
        side = make_line(number, "user", "look", None)
        lines.append(side | {"isSidechain": True, "agentId": f"a{number}"})
    write_session(folder, lines)


def deep_arguments(folder: Path, size: int) -> None:
    write_session(
        folder, [make_line(0, "user", "go on", None), make_line(1, "assistant", "answer", 0)]
    )
    line = '{"type": "assistant", "uuid": "d", "sessionId": "item", "message": {"content": '
    with (folder / "session.jsonl").open("a") as file:
        file.write(f"{line}{nest(size)}}}}}\n")


def calls_in_a_turn(folder: Path, size: int) -> None:
    calls = [
        {"type": "tool_use", "id": f"c{number}", "name": "f", "input": {"a": number}}
        for number in range(size)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": f"c{number}", "content": "ok"}
        for number in reversed(range(size))
    ]
    lines = [make_line(0, "user", "go on", None), make_line(1, "assistant", calls, 0)]
    write_session(folder, [*lines, make_line(2, "user", results, 1)])


def wide_arguments(folder: Path, size: int) -> None:
    call = {"type": "tool_use", "id": "c", "name": "f", "input": name_values(size)}
    write_session(
        folder, [make_line(0, "user", "go on", None), make_line(1, "assistant", [call], 0)]
    )


def calls_of_one_subagent(folder: Path, size: int) -> None:
    """Calls whose results all name one subagent, which has as many messages."""
    lines = [make_line(0, "user", "go on", None)]
    for number in range(size):
        call = {"type": "tool_use", "id": f"c{number}", "name": "Task", "input": {"prompt": "look"}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "ok"}
        lines.append(make_line(2 * number + 1, "assistant", [call], 2 * number))
        answer = make_line(2 * number + 2, "user", [result], 2 * number + 1)
        lines.append(answer | {"toolUseResult": {"agentId": "a"}})
    for number in range(size):
        side = make_line(10 * size + number, "assistant", "look", None)
        lines.append(side | {"isSidechain": True, "agentId": "a"})
    write_session(folder, lines)


def calls_of_codex(folder: Path, size: int) -> None:
    """Calls of Codex, and their results in reverse order."""
    payloads: list[Json] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]}
    ]
    payloads += [
        {"type": "function_call", "call_id": f"c{number}", "name": "f", "arguments": "{}"}
        for number in range(size)
    ]
    payloads += [
        {"type": "function_call_output", "call_id": f"c{number}", "output": "ok"}
        for number in reversed(range(size))
    ]
    lines: list[Json] = [{"type": "session_meta", "payload": {"id": SESSION}}]
    lines += [{"type": "response_item", "payload": payload} for payload in payloads]
    write_session(folder, lines)


def many_rewinds(folder: Path, size: int) -> None:
    rows: list[Json] = [{"sessionId": SESSION, "projectHash": "h", "startTime": "t"}]
    rows.append({"id": "first", "type": "user", "content": "go on"})
    for number in range(size):
        rows.append({"id": str(number), "type": "gemini", "content": "answer"})
        rows.append({"$rewindTo": str(number)})
    write_session(folder, rows)


def many_messages_of_gemini(folder: Path, size: int) -> None:
    rows: list[Json] = [{"sessionId": SESSION, "projectHash": "h", "startTime": "t"}]
    rows += [{"id": str(n), "type": "user", "content": "go on"} for n in range(size)]
    write_session(folder, rows)


BOMBS = {
    "many messages": Bomb(many_messages, SESSION, size=25_000, small_size=1_000),
    "long": Bomb(long_text, SESSION, size=14, small_size=14, is_cut=True),
    "many branches": Bomb(many_branches, SESSION, size=20_000, small_size=1_000),
    "parents in a circle": Bomb(parents_in_a_circle, SESSION, size=20_000, small_size=0),
    "many subagents": Bomb(many_subagents, SESSION, size=5_000, small_size=500),
    "deep": Bomb(deep_arguments, SESSION, size=10_000, small_size=900, is_cut=True),
    "calls": Bomb(calls_in_a_turn, SESSION, size=4_000, small_size=0),
    "wide": Bomb(wide_arguments, SESSION, size=40_000, small_size=0),
    "one subagent": Bomb(calls_of_one_subagent, SESSION, size=4_000, small_size=0),
    "calls of Codex": Bomb(calls_of_codex, SESSION, size=4_000, small_size=0),
    "many rewinds": Bomb(many_rewinds, SESSION, size=5_000, small_size=500),
    "many messages of Gemini": Bomb(many_messages_of_gemini, SESSION, size=10_000, small_size=0),
}

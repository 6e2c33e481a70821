"""Bombs of the generic format."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bombs.bomb import MEGABYTE, Bomb, Json


def write_generic(folder: Path, record: Json) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    header = {"fcreview": 1, "benchmark": "bomb", "model": "model", "language": "en"}
    (folder / "run.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(record)}\n")


def calls_in_a_turn_of_generic(folder: Path, size: int) -> None:
    calls = [
        {"id": f"c{n}", "function": {"name": "f", "arguments": f'{{"a": {n}}}'}}
        for n in range(size)
    ]
    messages: list[Json] = [
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": None, "tool_calls": calls},
    ]
    messages += [{"role": "tool", "tool_call_id": call["id"], "content": "{}"} for call in calls]
    golden = [{"name": "f", "arguments": {"a": number}} for number in range(size)]
    write_generic(folder, {"id": "item", "messages": messages, "golden": golden})


def deep_arguments(folder: Path, size: int) -> None:
    arguments = '{"a":' * size + "1" + "}" * size
    call = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    messages = [
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    write_generic(folder, {"id": "item", "messages": messages})


def wide_arguments(folder: Path, size: int) -> None:
    arguments = json.dumps({f"a{number}": number for number in range(size)})
    call = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    messages = [
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    write_generic(folder, {"id": "item", "messages": messages})


def long_text(folder: Path, size: int) -> None:
    """A message of `size` megabytes."""
    messages = [
        {"role": "user", "content": "x" * (size * MEGABYTE)},
        {"role": "assistant", "content": "answer"},
    ]
    write_generic(folder, {"id": "item", "messages": messages})


def many_scores(folder: Path, size: int) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    verdicts = [
        {"source": "judge", "value": True, "criterion": f"criterion{number}", "by": "judge"}
        for number in range(size)
    ]
    write_generic(folder, {"id": "item", "messages": messages, "verdicts": verdicts})


def many_messages(folder: Path, size: int) -> None:
    messages = [{"role": role, "content": "text"} for role in ("user", "assistant")] * size
    write_generic(folder, {"id": "item", "messages": messages})


def large_extra(folder: Path, size: int) -> None:
    """Metadata of `size` megabytes."""
    messages = [{"role": "user", "content": "go on"}, {"role": "assistant", "content": "answer"}]
    extra = {"text": "x" * (size * MEGABYTE)}
    write_generic(folder, {"id": "item", "messages": messages, "extra": extra})


def many_functions(folder: Path, size: int) -> None:
    tools = [{"name": f"f{number}", "parameters": {"type": "object"}} for number in range(size)]
    messages = [{"role": "user", "content": "go on"}, {"role": "assistant", "content": "answer"}]
    write_generic(folder, {"id": "item", "messages": messages, "tools": tools})


def repeated_id(folder: Path, size: int) -> None:
    messages = [{"role": "user", "content": "go on"}, {"role": "assistant", "content": "answer"}]
    write_generic(folder, {"id": "item", "messages": messages})
    path = folder / "run.jsonl"
    header, record = path.read_text().splitlines()
    path.write_text("\n".join([header, *[record] * size]))


BOMBS = {
    "calls in a turn": Bomb(calls_in_a_turn_of_generic, "item", size=15_000, small_size=1_000),
    "deep": Bomb(deep_arguments, "item", size=10_000, small_size=1_000),
    "wide": Bomb(wide_arguments, "item", size=80_000, small_size=0),
    "long": Bomb(long_text, "item", size=14, small_size=14, is_cut=True),
    "large extra": Bomb(large_extra, "item", size=14, small_size=0, is_cut=True),
    "many scores": Bomb(many_scores, "item", size=10_000, small_size=200),
    "many messages": Bomb(many_messages, "item", size=25_000, small_size=0),
    "many functions": Bomb(many_functions, "item", size=25_000, small_size=0),
    "repeated id": Bomb(repeated_id, "item", size=10_000, small_size=0),
}

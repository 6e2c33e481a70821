"""Measure the import of many sessions of coding agents.

    python benchmarks/many_sessions.py [MEGABYTES]

Writes sessions of Claude Code, Codex and Gemini CLI with texts of random words, among them one of a
tenth of the size. Prints the number of items, the seconds, and the peak memory of the command and of
its worker processes together.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
SESSION_BYTES = 1 << 20
WORDS = ("garden", "test", "file", "error", "value", "function", "return", "None", "\n", "{", "}")
POLL_SECONDS = 0.05
TEXT_WORDS = 300


def make_text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=TEXT_WORDS))


def iter_claude_rows(rng: random.Random, name: str) -> Iterator[Row]:
    """Yield the lines of a session of Claude Code: a prompt, then calls with their results."""
    parent: str | None = None
    number = 0
    while True:
        number += 1
        is_reply = number % 2 == 0
        uuid = f"{name}-{number}"
        line: Row = {
            "type": "assistant" if is_reply else "user",
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": name,
            "isSidechain": False,
            "timestamp": "2026-10-04T09:00:00.000Z",
        }
        call_id = f"call-{number // 2}"
        if is_reply:
            call = {"type": "tool_use", "id": f"call-{number // 2}", "name": "Read"}
            content: Any = [call | {"input": {"file_path": f"file{number}.py"}}]
            line["message"] = {"role": "assistant", "id": f"m{number}", "content": content}
            line["message"]["model"] = "maple-code-1"
        elif number == 1:
            line["message"] = {"role": "user", "content": make_text(rng)}
        else:
            text = make_text(rng)
            result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
            line["message"] = {"role": "user", "content": [result]}
            line["toolUseResult"] = {"file": {"content": text}}
        parent = uuid
        yield line


def iter_codex_rows(rng: random.Random, name: str) -> Iterator[Row]:
    """Yield the rows of an endless Codex session: a prompt, then calls with their output."""
    yield {"timestamp": "t", "type": "session_meta", "payload": {"id": name, "cwd": "/garden"}}
    prompt = [{"type": "input_text", "text": make_text(rng)}]
    yield make_item({"type": "message", "role": "user", "content": prompt})
    number = 0
    while True:
        number += 1
        call_id = f"call-{number}"
        arguments = json.dumps({"cmd": f"cat file{number}.py"})
        call = {"type": "function_call", "name": "exec", "arguments": arguments}
        yield make_item(call | {"call_id": call_id})
        output = {"type": "function_call_output", "call_id": call_id, "output": make_text(rng)}
        yield make_item(output)


def make_item(payload: Row) -> Row:
    return {"timestamp": "t", "type": "response_item", "payload": payload}


def iter_gemini_rows(rng: random.Random, name: str) -> Iterator[Row]:
    """Yield the rows of an endless Gemini session: a prompt, then calls with their output."""
    yield {"sessionId": name, "projectHash": "ab" * 32, "startTime": "t", "lastUpdated": "t"}
    yield {"id": "0", "type": "user", "content": make_text(rng)}
    number = 0
    while True:
        number += 1
        response = {"name": "read_file", "response": {"output": make_text(rng)}}
        call = {
            "id": f"call-{number}",
            "name": "read_file",
            "args": {"path": f"file{number}.py"},
            "result": [{"functionResponse": response | {"id": f"call-{number}"}}],
            "status": "success",
        }
        yield {"id": str(number), "type": "gemini", "content": "", "toolCalls": [call]}


PROGRAMS: tuple[tuple[str, Callable[[random.Random, str], Iterator[Row]]], ...] = (
    ("claude/{}.jsonl", iter_claude_rows),
    ("codex/rollout-{}.jsonl", iter_codex_rows),
    ("gemini/session-{}.jsonl", iter_gemini_rows),
)


def write_sessions(folder: Path, megabytes: int) -> int:
    """Write sessions of about a megabyte, and one of a tenth of the size. Return their number."""
    rng = random.Random(0)
    n_small = max(megabytes * 9 // 10 * (1 << 20) // SESSION_BYTES, 1)
    for number in range(n_small):
        pattern, iter_rows = PROGRAMS[number % len(PROGRAMS)]
        path = folder / pattern.format(f"s{number}")
        write_session(path, iter_rows(rng, f"s{number}"), SESSION_BYTES)
    large = folder / "claude/large.jsonl"
    write_session(large, iter_claude_rows(rng, "large"), (megabytes << 20) // 10)
    return n_small + 1


def write_session(path: Path, rows: Iterator[Row], n_bytes: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        written = 0
        while written < n_bytes:
            written += file.write(json.dumps(next(rows)) + "\n")


def read_memory(process: int) -> int:
    """Return the memory of a process and its children in bytes, each shared page in parts."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            is_ours = int(folder.name) == process or int(fields[1]) == process
            if is_ours:
                rollup = (folder / "smaps_rollup").read_text()
                total += int(rollup.partition("\nPss:")[2].split()[0]) << 10
        except (OSError, IndexError, ValueError):
            continue
    return total


def main() -> None:
    """Import many sessions in another process, and print its time and its memory."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_sessions = write_sessions(folder / "sessions", megabytes)
        command = [sys.executable, "-m", "fcreview.cli", "import", "sessions", "--json"]
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
        )
        peak = 0
        while process.poll() is None:
            peak = max(peak, read_memory(process.pid))
            time.sleep(POLL_SECONDS)
        seconds = time.perf_counter() - started
        output = process.stdout.read() if process.stdout is not None else ""
        rows = [json.loads(line) for line in output.splitlines()]
        n_items = sum(row["items"] for row in rows if row["kind"] == "run")
        print(f"{megabytes} MB, {n_sessions} sessions, {n_items} items")
        print(f"{seconds:.1f} s, {peak / (1 << 20):.0f} MB of memory")


if __name__ == "__main__":
    main()

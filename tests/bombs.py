"""Bombs: small files that a careless importer expands to gigabytes, or reads in quadratic time, by
kind and size.

`run_bounded` runs a command on them in a process with limited memory and time, so that a bomb harms
no other test.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.commands import PROGRAM
from tests.importers.tau.test_damage import make_run as make_tau_run

Json = dict[str, Any]
MAX_ADDRESS_BYTES = 4_000_000_000
"""Address space of a command. Above it, an allocation fails, as with `ulimit -v 4000000`."""
TEXT = "attachment://aaaa"
MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class BoundedRun:
    code: int
    out: str
    err: str
    seconds: float
    """Processor time."""
    max_megabytes: int
    """Maximum resident memory."""

    @property
    def ended_in_words(self) -> bool:
        """Whether the command ended by itself, with a result or a reason, and not by a signal or
        an internal error.
        """
        return (
            self.code in (0, 1) and "internal error" not in self.err and "Traceback" not in self.err
        )


def run_bounded(
    arguments: Sequence[str | Path], cwd: Path, environ: Mapping[str, str], timeout: float = 120
) -> BoundedRun:
    """Run fcreview with at most 4 GB of addresses, and measure its processor time and memory."""

    def limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_BYTES, MAX_ADDRESS_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (int(timeout), int(timeout)))

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=dict(environ),
            cwd=cwd,
            preexec_fn=limit_memory,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return BoundedRun(
            code=process.returncode,
            out=out.read().decode("utf-8", "replace"),
            err=err.read().decode("utf-8", "replace"),
            seconds=usage.ru_utime + usage.ru_stime,
            max_megabytes=usage.ru_maxrss // 1024,
        )


# Inspect


def make_inspect_sample(messages: list[Json], **fields: Any) -> Json:
    return {
        "id": "s1",
        "epoch": 1,
        "input": "question",
        "target": "answer",
        "messages": [{"role": "user", "content": "question"}, *messages],
        "scores": {"match": {"value": "C"}},
        **fields,
    }


def write_eval(folder: Path, *samples: Json | bytes, method: int = zipfile.ZIP_DEFLATED) -> None:
    """Write an Inspect log. A sample is an object, or its text."""
    folder.mkdir(parents=True, exist_ok=True)
    header = {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "task",
            "model": "model",
            "created": "2026-01-01T00:00:00",
            "dataset": {},
            "config": {},
        },
    }
    with zipfile.ZipFile(folder / "log.eval", "w", method) as archive:
        archive.writestr("header.json", json.dumps(header))
        for number, sample in enumerate(samples, 1):
            text = sample if isinstance(sample, bytes) else json.dumps(sample).encode()
            archive.writestr(f"samples/s{number}_epoch_1.json", text)


def reference_in_parts(folder: Path, size: int) -> None:
    parts = [{"type": "text", "text": TEXT} for _ in range(size)]
    write_referring_log(folder, [{"role": "assistant", "content": parts}])


def reference_in_messages(folder: Path, size: int) -> None:
    write_referring_log(folder, [{"role": "assistant", "content": TEXT} for _ in range(size)])


def reference_in_arguments(folder: Path, size: int) -> None:
    calls = [{"id": f"c{n}", "function": "f", "arguments": {"a": TEXT}} for n in range(size)]
    write_referring_log(folder, [{"role": "assistant", "content": "", "tool_calls": calls}])


def reference_in_reasoning(folder: Path, size: int) -> None:
    parts = [{"type": "reasoning", "reasoning": TEXT} for _ in range(size)]
    write_referring_log(folder, [{"role": "assistant", "content": parts}])


def write_referring_log(folder: Path, messages: list[Json]) -> None:
    write_eval(folder, make_inspect_sample(messages, attachments={"aaaa": "x" * MEGABYTE}))


def large_fields(folder: Path, size: int) -> None:
    """A sample of `size` fields of 30 MB each, which is a thousandth of this size in the
    archive.
    """
    fields = {f"field{n}": "x" * (30 * MEGABYTE) for n in range(size)}
    text = json.dumps(make_inspect_sample([{"role": "assistant", "content": "answer"}])).encode()
    parts = [text[:-1]]
    for name, value in fields.items():
        parts.append(f', "{name}": "{value}"'.encode())
    write_eval(folder, b"".join(parts) + b"}")


def large_attachments(folder: Path, size: int) -> None:
    attachments = {f"a{n}": "x" * (10 * MEGABYTE) for n in range(size)}
    messages = [{"role": "assistant", "content": f"attachment://a{n}"} for n in range(size)]
    write_eval(folder, make_inspect_sample(messages, attachments=attachments))


def spaces_before_sample(folder: Path, size: int) -> None:
    """A sample after `size` times 20 MB of spaces."""
    text = json.dumps(make_inspect_sample([{"role": "assistant", "content": "answer"}])).encode()
    write_eval(folder, b" " * (size * 20 * MEGABYTE) + text)


def calls_in_a_turn_of_inspect(folder: Path, size: int) -> None:
    calls = [{"id": f"c{n}", "function": "f", "arguments": {"a": n}} for n in range(size)]
    results = [
        {"role": "tool", "tool_call_id": f"c{n}", "function": "f", "content": "ok"}
        for n in range(size)
    ]
    write_eval(
        folder,
        make_inspect_sample([{"role": "assistant", "content": "", "tool_calls": calls}, *results]),
    )


# ATIF


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


# tau-bench


def repeated_trials(folder: Path, size: int) -> None:
    run = make_tau_run()
    run["simulations"] = [run["simulations"][0]] * size
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(run))


def golden_actions(folder: Path, size: int) -> None:
    run = make_tau_run()
    action = {"action_id": "a", "requestor": "assistant", "name": "book", "arguments": {"room": 1}}
    run["tasks"][1]["evaluation_criteria"]["actions"] = [
        {**action, "arguments": {"room": number}} for number in range(size)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(run))


# Generic


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


@dataclass(frozen=True, slots=True)
class Bomb:
    write: Callable[[Path, int], None]
    size: int
    """Size in the long form: the file of 1, 2 and 4 times this size is read in linear time."""
    small_size: int
    """Size in `make test`."""
    is_cut: bool
    """Whether something is left out at both sizes, so that an import issue must say so."""


BOMBS: dict[str, Bomb] = {
    "inspect: reference in parts": Bomb(
        reference_in_parts, size=3_000, small_size=3_000, is_cut=True
    ),
    "inspect: reference in messages": Bomb(
        reference_in_messages, size=3_000, small_size=300, is_cut=True
    ),
    "inspect: reference in arguments": Bomb(
        reference_in_arguments, size=3_000, small_size=300, is_cut=True
    ),
    "inspect: reference in reasoning": Bomb(
        reference_in_reasoning, size=3_000, small_size=300, is_cut=True
    ),
    "inspect: large fields": Bomb(large_fields, size=4, small_size=2, is_cut=True),
    "inspect: large attachments": Bomb(large_attachments, size=10, small_size=4, is_cut=True),
    "inspect: spaces": Bomb(spaces_before_sample, size=6, small_size=1, is_cut=False),
    "inspect: calls in a turn": Bomb(
        calls_in_a_turn_of_inspect, size=5_000, small_size=1_000, is_cut=False
    ),
    "atif: subagent often": Bomb(subagent_often, size=1_000, small_size=100, is_cut=True),
    "atif: subagent of itself": Bomb(subagent_of_itself, size=150, small_size=150, is_cut=True),
    "atif: file of itself": Bomb(file_of_itself, size=40, small_size=20, is_cut=True),
    "atif: calls in a step": Bomb(
        calls_in_a_step_of_atif, size=5_000, small_size=1_000, is_cut=False
    ),
    "tau: repeated trials": Bomb(repeated_trials, size=1_000, small_size=200, is_cut=False),
    "tau: golden actions": Bomb(golden_actions, size=5_000, small_size=500, is_cut=False),
    "generic: calls in a turn": Bomb(
        calls_in_a_turn_of_generic, size=5_000, small_size=1_000, is_cut=False
    ),
    "generic: deep arguments": Bomb(deep_arguments, size=10_000, small_size=1_000, is_cut=False),
    "generic: wide arguments": Bomb(wide_arguments, size=20_000, small_size=2_000, is_cut=False),
    "generic: long text": Bomb(long_text, size=40, small_size=40, is_cut=True),
}

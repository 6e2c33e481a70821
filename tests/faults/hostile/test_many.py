"""One item with thousands of calls, each with a judge verdict and two reviews: no command is slower
than linear in the number of calls.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.commands import run_in_this_process
from tests.faults.hostile.exercise import check
from tests.faults.processes import LONG, times

FEW = 1_000
MANY = times(4_000, 16_000)
COMMANDS = [
    ["import", "PLACE"],
    ["import-labels", "PLACE", "labels.jsonl", "--annotator", "alice", "--said-by", "carol"],
    ["import-labels", "PLACE", "labels.jsonl", "--annotator", "bob", "--said-by", "carol"],
    ["import-labels", "PLACE", "labels.jsonl", "--annotator", "bob", "--said-by", "carol"],
    ["show", "PLACE", "big"],
    ["show", "PLACE", "big", "--full"],
    ["show", "PLACE", "big", "--json"],
    ["show", "PLACE", "big", "--html", "item.html", "--force"],
    ["audit", "PLACE", "big"],
    ["audit", "PLACE", "big", "--json"],
    ["label", "PLACE", "big", "--verdict", "fail"],
    ["items", "PLACE", "--json"],
    ["adjudicate", "PLACE", "--json"],
    ["agreement", "PLACE"],
    ["calibrate", "PLACE"],
    ["suspects", "PLACE"],
    ["report", "PLACE"],
    ["triage", "PLACE"],
    ["export", "PLACE", "--force", "-o", "out.jsonl"],
    ["estimate", "PLACE"],
    ["export", "PLACE", "--format", "csv", "--force", "-o", "out.csv"],
    ["doctor", "PLACE"],
]
FIXED = 2.0
"""Seconds that a command may take for any item."""


def write_run(place: Path, count: int) -> Path:
    """Write a generic run with one item of `count` calls, and a label for each call to
    `labels.jsonl`.
    """
    place.mkdir(parents=True)
    calls = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": f"f{n % 50}", "arguments": f'{{"a": {n}, "b": 1}}'},
        }
        for n in range(count)
    ]
    record = {
        "id": "big",
        "messages": [
            {"role": "user", "content": "go on"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            *({"role": "tool", "tool_call_id": call["id"], "content": "{}"} for call in calls),
        ],
        "golden": [{"name": f"f{n % 50}", "arguments": {"a": n, "b": n % 3}} for n in range(count)],
        "verdicts": [
            {
                "source": "judge",
                "value": n % 2 == 0,
                "by": "j",
                "rationale": "so",
                "target": f"turn:1/call:{n + 1}",
            }
            for n in range(count)
        ],
    }
    header = {"fcreview": 1, "benchmark": "many", "model": "maple", "language": "en"}
    (place / "run.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(record)}\n")
    opinions = [{"annotator": "carol", "value": n % 3 == 0, "note": "n"} for n in range(count)]
    labels = [
        {"id": "big", "target": f"turn:1/call:{n + 1}", "opinions": [each]}
        for n, each in enumerate(opinions)
    ]
    (place.parent / "labels.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in labels))
    return place


def measure_commands(folder: Path, environ: dict[str, str], count: int) -> list[float]:
    """Return the processor time of each command."""
    place = write_run(folder / "runs", count)
    taken = []
    for words in COMMANDS:
        start = time.process_time()
        done = run_in_this_process(
            [place if word == "PLACE" else word for word in words], folder, environ
        )
        taken.append(time.process_time() - start)
        check(words, done)
        assert done.code == 0, (words, done.err)
    return taken


@pytest.mark.skipif(not LONG, reason="takes half a minute: make faults")
@pytest.mark.fuzz
@pytest.mark.sweep
def test_commands_are_linear_in_the_number_of_calls(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    few = measure_commands(tmp_path / "few", environ, FEW)
    many = measure_commands(tmp_path / "many", environ, MANY)
    slow = [
        (words, before, after)
        for words, before, after in zip(COMMANDS, few, many, strict=True)
        if after > FIXED + 3 * (MANY / FEW) * before
    ]
    assert slow == []
    largest = max(zip(many, COMMANDS, strict=True))
    print(
        f"{MANY} calls: {len(COMMANDS)} commands, the slowest {largest[0]:.1f} s"
        f" {' '.join(largest[1])}"
    )

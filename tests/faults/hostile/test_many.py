"""One item with thousands of calls, each judged by a program and by two people: what looks at them all looks at each of
them once, not at all of them for each."""

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
    ["show", "PLACE", "big"], ["show", "PLACE", "big", "--full"], ["show", "PLACE", "big", "--json"],
    ["show", "PLACE", "big", "--html", "item.html", "--force"],
    ["audit", "PLACE", "big"], ["audit", "PLACE", "big", "--json"],
    ["label", "PLACE", "big", "--verdict", "fail"], ["items", "PLACE", "--json"], ["adjudicate", "PLACE", "--json"],
    ["agreement", "PLACE"], ["calibrate", "PLACE"], ["suspects", "PLACE"], ["report", "PLACE"], ["triage", "PLACE"],
    ["export", "PLACE", "--force", "-o", "out.jsonl"], ["estimate", "PLACE"],
    ["export", "PLACE", "--format", "csv", "--force", "-o", "out.csv"], ["doctor", "PLACE"],
]  # fmt: skip
FIXED = 2.0
"""Seconds that a command may take before it looks at anything."""


def made(place: Path, count: int) -> Path:
    """A run of the generic form with one item of so many calls, and a review of each in `labels.jsonl`."""
    place.mkdir(parents=True)
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": f"f{n % 50}", "arguments": f'{{"a": {n}, "b": 1}}'}}
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
            {"source": "judge", "value": n % 2 == 0, "by": "j", "rationale": "so", "target": f"turn:1/call:{n + 1}"}
            for n in range(count)
        ],
    }
    header = {"fcreview": 1, "benchmark": "many", "model": "maple", "language": "en"}
    (place / "run.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(record)}\n")
    opinions = [{"annotator": "carol", "value": n % 3 == 0, "note": "n"} for n in range(count)]
    labels = [{"id": "big", "target": f"turn:1/call:{n + 1}", "opinions": [each]} for n, each in enumerate(opinions)]
    (place.parent / "labels.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in labels))
    return place


def seconds(folder: Path, environ: dict[str, str], count: int) -> list[float]:
    """Of the processor, command by command."""
    place = made(folder / "runs", count)
    taken = []
    for words in COMMANDS:
        begun = time.process_time()
        done = run_in_this_process([place if word == "PLACE" else word for word in words], folder, environ)
        taken.append(time.process_time() - begun)
        check(words, done)
        assert done.code == 0, (words, done.err)
    return taken


@pytest.mark.skipif(not LONG, reason="takes half a minute: make faults")
@pytest.mark.hunt
@pytest.mark.sweep
def test_what_grows_with_an_item_grows_no_faster_than_it(tmp_path: Path, environ: dict[str, str]) -> None:
    few = seconds(tmp_path / "few", environ, FEW)
    many = seconds(tmp_path / "many", environ, MANY)
    slow = [
        (words, before, after)
        for words, before, after in zip(COMMANDS, few, many, strict=True)
        if after > FIXED + 3 * (MANY / FEW) * before
    ]
    assert slow == []
    largest = max(zip(many, COMMANDS, strict=True))
    print(f"{MANY} calls: {len(COMMANDS)} commands, the slowest {largest[0]:.1f} s {' '.join(largest[1])}")

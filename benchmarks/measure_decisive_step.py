"""Measure the guessed decisive step against annotated root causes (AgentRx, 29 failed tau retail
items).

The rules were developed on the 19 lowest ids. The other 10 items were scored once, after the rules
were finished.

Usage: python benchmarks/measure_decisive_step.py FOLDER    (with tau_failed.json and tau_ground_truth.json)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import JsonRecord
from fcreview.importers.tau.version1 import _read_item, _read_messages, check_outputs
from fcreview.matching.conversation import build_chat_messages
from fcreview.matching.decisive_step import _has_same_effect, find_decisive_step, is_read_only
from fcreview.model.item import Item
from fcreview.stats.intervals import compute_wilson_interval

N_DEVELOPMENT = 19


def guess(item: Item, entry: Any) -> int | None:
    outputs = [each for each in entry["info"]["task"].get("outputs") or () if isinstance(each, str)]
    was_said = check_outputs(outputs, _read_messages(entry["traj"]))
    step = find_decisive_step(
        build_chat_messages(item), item.golden, [text for text in was_said if not was_said[text]]
    )
    return step.message if step else None


def baseline(item: Item) -> int | None:
    """Return the model's first writing call that differs from all golden actions."""
    for number, message in enumerate(build_chat_messages(item), 1):
        for call in message.calls:
            if not is_read_only(call.name) and not any(
                _has_same_effect(golden, call) for golden in item.golden
            ):
                return number
    return None


def report(name: str, pairs: Sequence[tuple[int | None, int]]) -> None:
    if not pairs:
        print(f"{name:<24} no items")
        return
    parts = []
    for distance in (0, 2, 3):
        count = sum(found is not None and abs(found - root) <= distance for found, root in pairs)
        low, high = compute_wilson_interval(count, len(pairs))
        parts.append(f"within {distance}: {count} of {len(pairs)} ({low:.0%} to {high:.0%})")
    print(f"{name:<24} {'; '.join(parts)}")


def main(folder: Path) -> None:
    """Compare guessed decisive steps with annotated ones, for fcreview's rules and for a baseline.

    The rules were developed on the first items. The others test them.
    """
    path = folder / "tau_failed.json"
    entries = {entry["task_id"]: entry for entry in json.loads(path.read_text())}
    roots = {}
    for truth in json.loads((folder / "tau_ground_truth.json").read_text()):
        root = truth["root_cause"]["failure_id"]
        roots[truth["trajectory_id"]] = next(
            each["step_number"] for each in truth["failures"] if each["failure_id"] == root
        )
    ids = sorted(roots)
    items = {
        each: _read_item(
            JsonRecord(1, offset=0, length=0, value=entries[each]), str(each), "retail", path
        )
        for each in ids
    }
    for part, part_ids in (
        ("development", ids[:N_DEVELOPMENT]),
        ("held out", ids[N_DEVELOPMENT:]),
        ("all", ids),
    ):
        report(
            f"{part}, rules",
            [(guess(items[each], entries[each]), roots[each]) for each in part_ids],
        )
        report(f"{part}, baseline", [(baseline(items[each]), roots[each]) for each in part_ids])


if __name__ == "__main__":
    main(Path(sys.argv[1]))

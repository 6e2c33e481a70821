"""Runs of a made-up BFCL model with siblings: the same question in three multi-turn categories."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

TASK = [
    "Please copy the report of the last quarter from the folder archive into the folder with the"
    " name backup and keep the original where it is, because others still need it",
    "Then list what is in the backup",
]
DOC = {"name": "cp", "description": "", "parameters": {"type": "dict", "properties": {}}}
CALLS = ["cp(source='report')", "ls(folder='backup')"]
GOLDEN = {
    "multi_turn_base": [[CALLS[0]], [CALLS[1]]],
    "multi_turn_miss_func": [[], [CALLS[0]], [CALLS[1]]],
    "multi_turn_long_context": [["mv(source='report')"], [CALLS[1]]],
}
"""Golden calls of each turn by category. The last one differs from the others."""
FIX = {"ground_truth": [["cp(source='report', destination='backup')"], [CALLS[1]]]}
BASE_ITEM = "multi_turn_base_0"


def write_lines(path: Path, records: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def write_sibling_runs(root: Path) -> Path:
    """Write dataset and results below `root`, and return it."""
    for category, golden in GOLDEN.items():
        item_id = f"{category}_0"
        texts = list(TASK) if len(golden) == len(TASK) else [TASK[0], "", TASK[1]]
        question = [[{"role": "user", "content": text}] for text in texts]
        name = f"BFCL_v4_{category}"
        dataset = {"id": item_id, "question": question, "function": [DOC], "involved_classes": []}
        write_lines(root / "data" / f"{name}.json", [dataset])
        answer = {"id": item_id, "ground_truth": golden}
        write_lines(root / "data" / "possible_answer" / f"{name}.json", [answer])
        replies = [[f"[{', '.join(calls)}]"] for calls in golden]
        result = root / "result" / "maple-8b" / "multi_turn" / f"{name}_result.json"
        write_lines(result, [{"id": item_id, "result": replies}])
    return root

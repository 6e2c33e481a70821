"""Compare multi-turn verdicts of BFCL that `import --execute` recomputes with the official ones.

Prints how many verdicts and error types are equal, for each published run. Needs `bfcl-eval`: in
this Python, or in the one that FCREVIEW_BFCL_PYTHON names (docs/errata.md).

Usage: python -m benchmarks.execution FOLDER [--items N]. FOLDER has the folders `data`, `result` and
`score` of BFCL V4. Without --items, the program takes about 15 minutes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any


def copy_multi_turn(source: Path, target: Path, max_items: int | None) -> None:
    """Copy the multi-turn results and scores, of each category the first `max_items` results."""
    for folder in ("result", "score"):
        for model in (source / folder).iterdir():
            if (model / "multi_turn").is_dir():
                place = target / folder / model.name / "multi_turn"
                shutil.copytree(model / "multi_turn", place)
    if max_items is None:
        return
    for path in target.glob("result/*/multi_turn/*_result.json"):
        lines = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:max_items]))


def import_and_list_items(runs: Path, data: Path, workspace: Path) -> list[dict[str, Any]]:
    """Import the runs with executed calls, and return their items."""
    program = [sys.executable, "-m", "fcreview.cli"]
    place = ["--workspace", str(workspace)]
    words = ["import", str(runs), "--data", str(data), "--execute", *place]
    subprocess.run([*program, *words], check=True, stdout=subprocess.DEVNULL)

    words = ["items", str(runs), "--json", "--queue", "dataset", *place]
    done = subprocess.run([*program, *words], check=True, stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def describe_equality(items: list[dict[str, Any]]) -> str:
    """Return how many verdicts and error types are equal. A recomputed verdict on a failed request
    has no error type.
    """
    n_verdicts = 0
    n_equal = 0
    n_failing = 0
    n_equal_types = 0
    for item in items:
        if item["official"] is None:
            continue
        n_verdicts += 1
        n_equal += item["rule"] is item["official"]
        if item["error_type"] is None or item["incident"] is not None:
            continue
        n_failing += 1
        n_equal_types += item["rule_error_type"] == item["error_type"]
    return (
        f"{n_equal:,} of {n_verdicts:,} verdicts and {n_equal_types:,} of {n_failing:,} error types"
        " are equal"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", type=int, help="items of each category and run")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        copy_multi_turn(arguments.folder, runs, arguments.items)
        data = arguments.folder.resolve() / "data"
        items = import_and_list_items(runs, data, Path(folder) / "workspace")

    for run_name, n_items in Counter(item["run_name"] for item in items).items():
        items_of_run = [item for item in items if item["run_name"] == run_name]
        print(f"{run_name}: {n_items:,} items, {describe_equality(items_of_run)}")
    print(f"together: {len(items):,} items, {describe_equality(items)}")


if __name__ == "__main__":
    main()

"""Compare the processor time and the memory of `fcreview import` in two versions of fcreview.

    python benchmarks/versions_compared.py BEFORE NOW FOLDER... [--rounds 5]

BEFORE and NOW are the programs `fcreview` of two environments. Each FOLDER has runs and perhaps a
dataset, as `enlarged.py` writes them. Both versions import each folder in turn. The program prints
the least processor time and the largest memory, and fails if a ratio is above its budget.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from process_cost import Cost, measure_process, select_least

MAX_RATIO_OF_BFCL = 0.5
MAX_RATIO = 0.8
DATASET_FOLDERS = ("data", "data_all")


def main() -> None:
    """Measure each folder, and print a row of a table for it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="program of the version before")
    parser.add_argument("now", help="program of the version now")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()

    missed = []
    print("| benchmark | before | now | ratio | budget |\n|---|---|---|---|---|")
    for folder in arguments.folders:
        before, now = compare(arguments.before, arguments.now, folder, arguments.rounds)
        ratio = now.processor_seconds / before.processor_seconds
        budget = MAX_RATIO_OF_BFCL if "bfcl" in folder.name else MAX_RATIO
        print(
            f"| {folder.name} | {format_cost(before)} | {format_cost(now)} | {ratio:.2f} | {budget} |"
        )
        if ratio > budget:
            missed.append(folder.name)
    if missed:
        raise SystemExit(f"above the budget: {', '.join(missed)}")


def compare(before: str, now: str, folder: Path, n_rounds: int) -> tuple[Cost, Cost]:
    """Return the costs of the import of a folder with each of the two versions."""
    costs_before = []
    costs_now = []
    for _ in range(n_rounds):
        costs_before.append(measure_import(before, folder))
        costs_now.append(measure_import(now, folder))
    return select_least(costs_before), select_least(costs_now)


def measure_import(program: str, folder: Path) -> Cost:
    command = [program, "import", os.fspath(folder)]
    for name in DATASET_FOLDERS:
        if (folder / name).is_dir():
            command += ["--data", os.fspath(folder / name)]
    with tempfile.TemporaryDirectory() as workspace:
        return measure_process([*command, "--workspace", workspace])


def format_cost(cost: Cost) -> str:
    return f"{cost.processor_seconds:.2f} s, {cost.peak_megabytes:.0f} MB"


if __name__ == "__main__":
    main()

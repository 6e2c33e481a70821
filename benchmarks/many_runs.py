"""Measure commands, an export and the first screen of a workspace with many runs.

Usage: python benchmarks/many_runs.py [--runs 300] [--items 1600] [--keep FOLDER] The runs are
copies of one synthetic run under other names. They are opened by path, so that every query names
each run by number. Prints the elapsed and the processor time of each command, and the ratio of the
processor time to a bare scan of the same store (a process that counts its items by category).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from synthetic import write_run
from terminal import Terminal

from fcreview.store.workspace import find_workspace

FCREVIEW = str(Path(sys.executable).with_name("fcreview"))
TIMES = 3
SCAN = (
    "import duckdb, sys; duckdb.connect(sys.argv[1], read_only=True).execute({query!r}).fetchall()"
)
QUERY = "SELECT run, category, count(*), count(*) FILTER (official) FROM item_rows GROUP BY ALL"


def write_runs(folder: Path, runs: int, items: int) -> Path:
    """Write `runs` runs of `items` items each. Returns the folder of their results."""
    write_run(folder, items)
    for number in range(1, runs):
        for kind in ("result", "score"):
            shutil.copytree(folder / kind / "synthetic", folder / kind / f"synthetic-{number:04d}")
    return folder / "result"


def time_command(command: list[str], times: int = TIMES) -> tuple[float, float]:
    """Return the medians of the elapsed and the processor time of a command, in seconds."""
    clock, processor = [], []
    for _ in range(times):
        start, before = time.perf_counter(), os.times()
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        after = os.times()
        clock.append(time.perf_counter() - start)
        processor.append(
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
    return median(clock), median(processor)


def print_times(label: str, times: tuple[float, float], bare: float | None = None) -> None:
    clock, processor = times
    scans = "" if bare is None else f"   {processor / bare:5.1f} scans"
    print(f"  {label:<18} {clock:6.2f} s   processor {processor:6.2f} s{scans}", flush=True)


def measure(results: Path, items: int) -> None:
    """Print the times of commands, relative to a plain query that reads all items."""
    path = str(results)
    store = str(find_workspace(results).store)
    scan = time_command([sys.executable, "-c", SCAN.format(query=QUERY), store])
    print_times("bare scan", scan)
    for label, arguments in (
        ("--version", ["--version"]),
        ("runs", ["runs", path]),
        ("triage", ["triage", path]),
        ("report", ["report", path]),
        ("compare two", ["compare", path, "synthetic", "synthetic-0001"]),
        ("compare all", ["compare", path]),
        (
            "filter: a column",
            ["items", path, "--where", "effective:fail function:stock.reserve", "--limit", "5"],
        ),
        ("filter: a text", ["items", path, "--where", f"text:A-{items - 1:06d}", "--limit", "5"]),
        ("export, JSON Lines", ["export", path, "--format", "jsonl", "-o", "-"]),
    ):
        print_times(label, time_command([FCREVIEW, *arguments]), scan[1])


def measure_keys(results: Path) -> None:
    """Measure the overview, and the keys that leave it during the search for suspects.

    The runs are opened by path, so that every query names each run by number.
    """
    keys = (("o", "by corrected"), ("L", "simple_python_"), ("c", "share"), ("q", "first diff"))
    with Terminal([FCREVIEW, "open", str(results)], 120, 34) as terminal:
        runs = terminal.wait_for("synthetic")
        print(f"  runs               {runs:6.2f} s on the clock")
        print(f"  failures           {terminal.wait_for('error type') - runs:6.2f} s later")
        for key, expected in (*keys, ("r", "all runs")):
            before = time.perf_counter()
            terminal.press(key)
            print(
                f"  key {key:<8}      "
                f" {terminal.wait_for(expected) + terminal.started - before:6.2f} s"
            )


def main() -> None:
    """Write the runs, if there are none, and measure the import, the commands and the keys."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--items", type=int, default=1600, help="items of each run")
    parser.add_argument(
        "--keep",
        type=Path,
        help="folder of the runs, written if it is missing; default: a temporary folder",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary) / "runs"
        results = folder / "result"
        if not results.is_dir():
            write_runs(folder, arguments.runs, arguments.items)
        print(f"{arguments.runs} runs of {arguments.items:,} items")
        print_times("import", time_command([FCREVIEW, "import", str(results)], 1))
        measure(results, arguments.items)
        measure_keys(results)


if __name__ == "__main__":
    main()

"""Measure the time of `report --ranking` on imported runs, as a whole process.

Usage: python -m benchmarks.ranking PATH [--data DIR]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = [sys.executable, "-m", "fcreview.cli"]


def read_processor_seconds() -> float:
    """Return the processor time of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        workspace = ["--workspace", folder]
        data = ["--data", str(arguments.data)] if arguments.data else []
        words = ["import", str(arguments.path), *workspace, *data]
        subprocess.run([*PROGRAM, *words], check=True, capture_output=True)

        start = time.perf_counter()
        processor_start = read_processor_seconds()
        words = ["report", str(arguments.path), "--ranking", "--json", *workspace]
        done = subprocess.run([*PROGRAM, *words], check=True, stdout=subprocess.PIPE)
        seconds = time.perf_counter() - start
        processor_seconds = read_processor_seconds() - processor_start

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    n_runs = len({line["run"] for line in lines})
    n_questions = max(line["questions"] for line in lines)
    n_rankings = len({(line["ranking"], line["figure"], str(line["convention"])) for line in lines})
    print(
        f"{n_runs} runs, {n_questions:,} questions, {n_rankings} rankings:"
        f" {seconds:.1f} s, {processor_seconds:.1f} s of processor time"
    )


if __name__ == "__main__":
    main()

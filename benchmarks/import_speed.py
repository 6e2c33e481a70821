"""Import against a bare orjson parse of the same lines, in one run on one machine.

Usage: python benchmarks/import_speed.py PATH... [--data DIR ...]
Prints, for each PATH: items, bytes, seconds of the parse and of the import, and their ratio; the same in processor
time over all processes, which others on the machine disturb less; then what importing it again, unchanged, takes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path

import orjson

from fcreview.importers.registry import discover, read_plan
from fcreview.plan import RunPlan
from fcreview.store.importing.import_runs import import_runs
from fcreview.store.workspace import find_workspace


def processor_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def parse_seconds(plans: list[RunPlan]) -> tuple[float, float, int]:
    """The best of three bare parses of every result, score and log line, wall and processor, and how many bytes."""
    lines = [
        line
        for path in {path for plan in plans for path in (*plan.results, *plan.scores, *plan.logs)}
        for line in path.read_bytes().split(b"\n")
        if line.strip()
    ]
    best = worked = float("inf")
    for _ in range(3):
        start, work = time.perf_counter(), time.process_time()
        for text in lines:
            try:
                orjson.loads(text)
            except orjson.JSONDecodeError:
                try:
                    json.loads(text)
                except ValueError:
                    pass
        best, worked = min(best, time.perf_counter() - start), min(worked, time.process_time() - work)
    return best, worked, sum(map(len, lines))


def measure(path: Path, data: list[Path], jobs: int | None) -> None:
    found = discover([path], data=data)
    with tempfile.TemporaryDirectory() as folder:
        workspace = find_workspace(path, Path(folder) / "ws")
        start, work = time.perf_counter(), processor_seconds()
        summary = import_runs(workspace, discover([path], data=data).plans, read_plan, jobs=jobs)
        first, work = time.perf_counter() - start, processor_seconds() - work
        start = time.perf_counter()
        import_runs(workspace, discover([path], data=data).plans, read_plan, jobs=jobs)
        again = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    bare, bare_work, size = parse_seconds(found.plans)
    print(f"{path.name}: {summary.n_items:,} items in {len(found.plans)} runs, {size / 1e6:.1f} MB")
    print(f"  bare orjson parse  {bare:6.2f} s")
    each = first / max(summary.n_items, 1) * 1e6
    print(f"  import             {first:6.2f} s   ratio {first / bare:5.1f}   {each:.0f} µs an item")
    print(f"  processor time     {work:6.2f} s   ratio {work / bare_work:5.1f}   (parse {bare_work:.2f} s)")
    print(f"  unchanged import   {again:6.2f} s   peak memory {peak:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--data", action="append", default=[], type=Path)
    parser.add_argument("--jobs", type=int, help="reading processes; 1 keeps everything in this one")
    arguments = parser.parse_args()
    for path in arguments.paths:
        measure(path.resolve(), [folder.resolve() for folder in arguments.data], arguments.jobs)


if __name__ == "__main__":
    main()

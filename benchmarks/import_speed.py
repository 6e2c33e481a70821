"""Import against a bare orjson parse of the same lines, in one run on one machine.

Usage: python benchmarks/import_speed.py PATH... [--data DIR ...]
Prints, for each PATH: items, bytes, seconds of the parse and of the import, and their ratio; then what importing
it again, unchanged, takes.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import orjson

from fcreview.importers.registry import discover, read_plan
from fcreview.plan import RunPlan
from fcreview.store.importing import import_runs
from fcreview.store.workspace import find_workspace


def parse_seconds(plans: list[RunPlan]) -> tuple[float, int]:
    """The best of three bare parses of every result, score and log line, and how many bytes that was."""
    lines = [
        line
        for path in {path for plan in plans for path in (*plan.results, *plan.scores, *plan.logs)}
        for line in path.read_bytes().split(b"\n")
        if line.strip()
    ]
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for text in lines:
            try:
                orjson.loads(text)
            except orjson.JSONDecodeError:
                try:
                    json.loads(text)
                except ValueError:
                    pass
        best = min(best, time.perf_counter() - start)
    return best, sum(map(len, lines))


def measure(path: Path, data: list[Path], jobs: int | None) -> None:
    found = discover([path], data=data)
    bare, size = parse_seconds(found.plans)
    with tempfile.TemporaryDirectory() as folder:
        workspace = find_workspace(path, Path(folder) / "ws")
        start = time.perf_counter()
        summary = import_runs(workspace, discover([path], data=data).plans, read_plan, jobs=jobs)
        first = time.perf_counter() - start
        start = time.perf_counter()
        import_runs(workspace, discover([path], data=data).plans, read_plan, jobs=jobs)
        again = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{path.name}: {summary.n_items:,} items in {len(found.plans)} runs, {size / 1e6:.1f} MB")
    print(f"  bare orjson parse  {bare:6.2f} s")
    each = first / max(summary.n_items, 1) * 1e6
    print(f"  import             {first:6.2f} s   ratio {first / bare:5.1f}   {each:.0f} µs an item")
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

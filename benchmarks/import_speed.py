"""Measure an import relative to parsing the same lines with orjson.

Usage: python benchmarks/import_speed.py PATH... [--data DIR ...] [--stages] Prints for each PATH
the number of items and bytes, the seconds of the parse and of the import, and their ratio. The same
values in processor time of all processes follow, because other programs on the machine influence
them less, then the time to import the unchanged run again. With --stages, prints the time of each
stage and of DuckDB alone instead.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import process_time
from typing import TypeVar

import duckdb
import orjson

from fcreview.importers.registry import discover, read_items
from fcreview.run_plan import RunPlan
from fcreview.store.importing.builder import LOADING_MEMORY_LIMIT, StoreBuilder, read_json_sql
from fcreview.store.importing.run_importer import BATCH_BYTES, import_runs
from fcreview.store.importing.staging import SharedRowCache, StagedRun, stage_run
from fcreview.store.workspace import find_workspace

T = TypeVar("T")
READ = ("id", "question", "messages", "pairs", "verdicts", "extra")
CALLS = (
    'STRUCT(side VARCHAR, turn INTEGER, "index" INTEGER, name VARCHAR, arguments JSON, raw'
    " VARCHAR)[]"
)
"""Type of the calls, which are the largest part of a line."""


def processor_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def parse_seconds(plans: list[RunPlan]) -> tuple[float, float, int]:
    """Parse every result, score and log line three times. Return the smallest elapsed and processor
    time, in seconds, and the number of bytes.
    """
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
        best, worked = (
            min(best, time.perf_counter() - start),
            min(worked, time.process_time() - work),
        )
    return best, worked, sum(map(len, lines))


def measure(path: Path, data: list[Path], jobs: int | None) -> None:
    """Print how long the import of the runs at a path takes, relative to parsing their lines with
    orjson.
    """
    found = discover([path], data=data)
    with tempfile.TemporaryDirectory() as folder:
        workspace = find_workspace(path, Path(folder) / "ws")
        start, work = time.perf_counter(), processor_seconds()
        summary = import_runs(
            workspace, discover([path], data=data).plans, read_items, n_workers=jobs
        )
        first, work = time.perf_counter() - start, processor_seconds() - work
        start = time.perf_counter()
        import_runs(workspace, discover([path], data=data).plans, read_items, n_workers=jobs)
        again = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    bare, bare_work, size = parse_seconds(found.plans)
    print(f"{path.name}: {summary.n_items:,} items in {len(found.plans)} runs, {size / 1e6:.1f} MB")
    print(f"  bare orjson parse  {bare:6.2f} s")
    each = first / max(summary.n_items, 1) * 1e6
    print(
        f"  import             {first:6.2f} s   ratio {first / bare:5.1f}   {each:.0f} µs an item"
    )
    print(
        f"  processor time     {work:6.2f} s   ratio {work / bare_work:5.1f}   (parse"
        f" {bare_work:.2f} s)"
    )
    print(f"  unchanged import   {again:6.2f} s   peak memory {peak:.0f} MB")


class Clock:
    """Measures the processor seconds inside an iterator."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def of(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, and add up the processor time that it takes to make them."""
        every = iter(items)
        while True:
            start = process_time()
            try:
                item = next(every)
            except StopIteration:
                return
            finally:
                self.seconds += process_time() - start
            yield item


def batches(parts: list[StagedRun]) -> Iterator[list[StagedRun]]:
    """Group staging files as an import loads them."""
    waiting: list[StagedRun] = []
    for part in parts:
        waiting.append(part)
        if sum(one.items.stat().st_size for one in waiting) >= BATCH_BYTES:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def lines_alone(parts: list[StagedRun], types: dict[str, str]) -> float:
    """Return the processor time that DuckDB needs only to read the lines of staged runs."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = 1; SET memory_limit = '{LOADING_MEMORY_LIMIT}'")
    largest = max(1 << 21, max(part.longest_item for part in parts) + 1024)
    start = process_time()
    for some in batches(parts):
        query = f"SELECT max(hash(line)) FROM {read_json_sql(types, largest)} line"  # noqa: S608
        connection.execute(query, [[os.fspath(part.items) for part in some]]).fetchall()
    taken = process_time() - start
    connection.close()
    return taken


def measure_stages(path: Path, data: list[Path]) -> None:
    """Print the processor time of each stage, in µs per item, in one process.

    The floor is the time of DuckDB with these tables. For `lines alone`, DuckDB only reads the
    lines into columns.
    """
    plans = discover([path], data=data).plans
    with tempfile.TemporaryDirectory() as folder:
        workspace, shared, clock = (
            find_workspace(path, Path(folder) / "ws"),
            SharedRowCache(),
            Clock(),
        )
        place = workspace.temporary / "stages"
        workspace.files.make_folder(place)
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        start = process_time()
        parts = [
            stage_run(
                clock.of(read_items(plan)), at, place / f"{at}", workspace.to_stored_path, shared
            )
            for at, plan in enumerate(plans, 1)
        ]
        written = process_time() - start
        size = sum(part.items.stat().st_size for part in parts)
        start = process_time()
        with StoreBuilder(workspace, place, copy_existing=False) as builder:
            for some in batches(parts):
                builder.load_runs(some)
            loaded = process_time() - start
            builder.load_functions_and_questions(parts)
            builder.finish_and_replace_store()
            finished = process_time() - start - loaded
            types = {name: builder._types["item_rows"][name] for name in READ} | {
                "golden": CALLS,
                "predicted": CALLS,
            }
        alone = lines_alone(parts, types)
    items = sum(part.n_items for part in parts)
    parse = parse_seconds(plans)[1]
    print(f"{path}: {items:,} items in {len(plans)} runs, load {os.getloadavg()[0]:.0f}")
    print(f"  {size / items:,.0f} bytes of JSON an item on the way to DuckDB")
    for label, seconds in (
        ("orjson parses the lines", parse),
        ("reading", clock.seconds),
        ("items as lines", written - clock.seconds),
        ("loading", loaded),
        ("  lines alone", alone),
        ("  the file", loaded - alone),
        ("index, checkpoint", finished),
    ):
        print(f"  {label:<24} {seconds / items * 1e6:6.1f} µs   {seconds / parse:5.1f}x")
    print(
        f"  {'floor: DuckDB':<24} {(loaded + finished) / items * 1e6:6.1f} µs  "
        f" {(loaded + finished) / parse:5.1f}x"
    )


def main() -> None:
    """Measure the import of each path, in total or by stage."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--data", action="append", default=[], type=Path)
    parser.add_argument(
        "--jobs", type=int, help="number of reading processes; 1 reads in the main process"
    )
    parser.add_argument("--stages", action="store_true", help="measure each stage, in one process")
    arguments = parser.parse_args()
    data = [folder.resolve() for folder in arguments.data]
    for path in map(Path.resolve, arguments.paths):
        if arguments.stages:
            measure_stages(path, data)
        else:
            measure(path, data, arguments.jobs)


if __name__ == "__main__":
    main()

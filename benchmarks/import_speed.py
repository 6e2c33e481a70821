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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
from fcreview.store.workspace import Workspace, find_workspace

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


def iter_batches(parts: Iterable[StagedRun]) -> Iterator[list[StagedRun]]:
    """Group staged runs as an import loads them."""
    batch: list[StagedRun] = []
    n_bytes = 0
    for part in parts:
        batch.append(part)
        n_bytes += count_bytes(part)
        if n_bytes >= BATCH_BYTES:
            yield batch
            batch = []
            n_bytes = 0
    if batch:
        yield batch


def count_bytes(part: StagedRun) -> int:
    """Return the size of the files with the items of a run."""
    return sum(file.path.stat().st_size for file in part.items)


def measure_lines_alone(parts: Sequence[StagedRun], types: dict[str, str]) -> float:
    """Return the processor time that DuckDB needs only to read the lines of staged runs."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = 1; SET memory_limit = '{LOADING_MEMORY_LIMIT}'")
    longest_line = max(file.longest_line for part in parts for file in part.items)
    max_line_bytes = max(1 << 21, longest_line + 1024)
    query = f"SELECT max(hash(line)) FROM {read_json_sql(types, max_line_bytes)} line"  # noqa: S608
    start = process_time()
    for batch in iter_batches(parts):
        paths = [os.fspath(file.path) for part in batch for file in part.items]
        connection.execute(query, [paths]).fetchall()
    seconds = process_time() - start
    connection.close()
    return seconds


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Processor seconds of the stages of an import."""

    reading: float
    writing_lines: float
    loading: float
    lines_alone: float
    finishing: float


def measure_stages(path: Path, data: list[Path]) -> None:
    """Print the processor time of each stage, in µs per item, in one process.

    The floor is the time of DuckDB with these tables. For `lines alone`, DuckDB only reads the
    lines into columns.
    """
    plans = discover([path], data=data).plans
    with tempfile.TemporaryDirectory() as folder:
        workspace = find_workspace(path, Path(folder) / "ws", create=True)
        place = workspace.temporary / "stages"
        workspace.files.make_folder(place)
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        parts, times = measure_stages_of_plans(workspace, place, plans)
        size = sum(count_bytes(part) for part in parts)

    n_items = sum(part.n_items for part in parts)
    _, parsing, _ = parse_seconds(plans)
    floor = times.loading + times.finishing
    print(f"{path}: {n_items:,} items in {len(plans)} runs, load {os.getloadavg()[0]:.0f}")
    print(f"  {size / n_items:,.0f} bytes of JSON an item on the way to DuckDB")
    for label, seconds in (
        ("orjson parses the lines", parsing),
        ("reading", times.reading),
        ("items as lines", times.writing_lines),
        ("loading", times.loading),
        ("  lines alone", times.lines_alone),
        ("  the file", times.loading - times.lines_alone),
        ("index, checkpoint", times.finishing),
        ("floor: DuckDB", floor),
    ):
        print(f"  {label:<24} {seconds / n_items * 1e6:6.1f} µs   {seconds / parsing:5.1f}x")


def measure_stages_of_plans(
    workspace: Workspace, place: Path, plans: Sequence[RunPlan]
) -> tuple[list[StagedRun], StageTimes]:
    """Import runs in one process. Return the staged runs and the times of the stages.

    `place` is the folder of the staging files.
    """
    clock = Clock()
    shared_rows = SharedRowCache()
    start = process_time()
    parts = []
    for number, plan in enumerate(plans, 1):
        records = clock.of(read_items(plan))
        stem = place / f"{number}"
        parts.append(stage_run(records, number, stem, workspace.to_stored_path, shared_rows))
    staged = process_time()

    with StoreBuilder(workspace, place, copy_existing=False) as builder:
        for batch in iter_batches(parts):
            builder.load_runs(batch)
        loaded = process_time()
        builder.load_functions_and_questions([file for part in parts for file in part.shared_rows])
        builder.finish_and_replace_store()
        finished = process_time()
        types_of_table = builder._types["item_rows"]
    types = {name: types_of_table[name] for name in READ} | {"golden": CALLS, "predicted": CALLS}
    times = StageTimes(
        reading=clock.seconds,
        writing_lines=staged - start - clock.seconds,
        loading=loaded - staged,
        lines_alone=measure_lines_alone(parts, types),
        finishing=finished - loaded,
    )
    return parts, times


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

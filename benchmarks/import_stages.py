"""Where the processor time of an import goes, stage by stage, in µs an item, in one process.

Usage: python benchmarks/import_stages.py PATH... [--data DIR ...]
`lines alone`: DuckDB reads the same lines of JSON into columns and keeps nothing. It and `the file` make up `loading`.
The floor is what DuckDB takes: nothing else is asked of it with these tables.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import process_time
from typing import TypeVar

import duckdb
from import_speed import parse_seconds

from fcreview.importers.registry import discover, read_plan
from fcreview.store.importing.building import MEMORY, Builder, _reader
from fcreview.store.importing.import_runs import TOGETHER
from fcreview.store.importing.lines import Shared
from fcreview.store.importing.stage import Part, write_part
from fcreview.store.workspace import find_workspace

T = TypeVar("T")
READ = ("id", "question", "messages", "pairs", "verdicts", "extra")
CALLS = 'STRUCT(side VARCHAR, turn INTEGER, "index" INTEGER, name VARCHAR, arguments JSON, raw VARCHAR)[]'
"""Most of a line."""


class Clock:
    """Processor seconds inside an iterator."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def of(self, items: Iterable[T]) -> Iterator[T]:
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


def batches(parts: list[Part]) -> Iterator[list[Part]]:
    """As an import loads them."""
    waiting: list[Part] = []
    for part in parts:
        waiting.append(part)
        if sum(one.items.stat().st_size for one in waiting) >= TOGETHER:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def lines_alone(parts: list[Part], types: dict[str, str]) -> float:
    connection = duckdb.connect()
    connection.execute(f"SET threads = 1; SET memory_limit = '{MEMORY}'")
    largest = max(1 << 21, max(part.longest for part in parts) + 1024)
    start = process_time()
    for some in batches(parts):
        query = f"SELECT max(hash(line)) FROM {_reader(types, largest)} line"  # noqa: S608
        connection.execute(query, [[os.fspath(part.items) for part in some]]).fetchall()
    taken = process_time() - start
    connection.close()
    return taken


def measure(path: Path, data: list[Path]) -> None:
    plans = discover([path], data=data).plans
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        workspace, shared, clock = find_workspace(path, place / "ws"), Shared(), Clock()
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        start = process_time()
        parts = [
            write_part(clock.of(read_plan(plan)), at, place / f"{at}", workspace.short, shared)
            for at, plan in enumerate(plans, 1)
        ]
        written = process_time() - start
        size = sum(part.items.stat().st_size for part in parts)
        start = process_time()
        with Builder(workspace, place, keep=False) as builder:
            for some in batches(parts):
                builder.load(some)
            loaded = process_time() - start
            builder.load_functions(parts)
            builder.finish()
            finished = process_time() - start - loaded
            types = {name: builder._types["item_rows"][name] for name in READ} | {"golden": CALLS, "predicted": CALLS}
        alone = lines_alone(parts, types)
    items = sum(part.n_items for part in parts)
    parse = parse_seconds(plans)[1]
    print(f"{path}: {items:,} items in {len(plans)} runs, load {os.getloadavg()[0]:.0f}")
    print(f"  {size / items:,.0f} bytes of JSON an item on the way to DuckDB")
    for label, seconds in (
        ("orjson parses the lines", parse), ("reading", clock.seconds), ("items as lines", written - clock.seconds),
        ("loading", loaded), ("  lines alone", alone), ("  the file", loaded - alone), ("index, checkpoint", finished),
    ):  # fmt: skip
        print(f"  {label:<24} {seconds / items * 1e6:6.1f} µs   {seconds / parse:5.1f}x")
    print(f"  {'floor: DuckDB':<24} {(loaded + finished) / items * 1e6:6.1f} µs   {(loaded + finished) / parse:5.1f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--data", action="append", default=[], type=Path)
    asked = parser.parse_args()
    for path in asked.paths:
        measure(path.resolve(), [folder.resolve() for folder in asked.data])


if __name__ == "__main__":
    main()

"""Make a lake of ten million items from real runs, and measure the queries of the screens.

Usage: python benchmarks/lake.py make PATH LAKE [--items N]    real runs at PATH, repeated until the lake has N items
       python benchmarks/lake.py time LAKE                     median of three processes: each query, whole commands

The runs of the lake are windows of 5,000 items at random positions. It has 16 parts and 280 bytes
per item.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from fcreview.importers.registry import discover, read_items
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.lake.lake_files import open_lake_files
from fcreview.store.lake.writer import LakeWriter, derive_run_number
from fcreview.store.store import Store, View
from fcreview.store.workspace import find_workspace

ITEMS_PER_RUN, PARTS = 5_000, 16
COMMANDS = (["runs"], ["triage"], ["items", "--limit", "40"], ["report"], ["estimate"])
CPU = False
SETTINGS = "SET threads = 2"


def make(path: Path, folder: Path, n_items: int) -> None:
    """Make a lake with `n_items` items, by writing windows of the items of real runs many times."""
    n_runs = max(1, n_items // ITEMS_PER_RUN)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        workspace = find_workspace(place, place)
        import_runs(workspace, discover([path]).plans, read_items)
        for part in range(PARTS):
            (place / str(part)).mkdir()
            with LakeWriter(
                open_lake_files(str(folder)), f"made-{part + 1}-of-{PARTS}", place / str(part)
            ) as writer:
                execute = writer.connection.execute
                execute(f"ATTACH '{workspace.store}' AS store (READ_ONLY)")
                execute(
                    "CREATE TEMP TABLE whole AS SELECT row_number() OVER (ORDER BY i.item) - 1 AS"
                    " place,"
                    " i.* EXCLUDE (item, run, seq, question_hash, messages, calls), NULL::BIGINT AS"
                    " question_hash,"
                    " list_concat(q.messages, i.messages) AS messages, list_concat(q.calls,"
                    " i.calls) AS calls"
                    " FROM store.item_rows i LEFT JOIN store.questions q ON q.hash ="
                    " i.question_hash"
                )
                total = execute("SELECT count(*) FROM whole").fetchall()[0][0]
                for number in range(part, n_runs, PARTS):
                    make_run(writer, number, number * 3_571 % max(1, total - ITEMS_PER_RUN))
                writer.write_index_of_added_runs()
            print(f"part {part + 1} of {PARTS}", flush=True)


def make_run(writer: LakeWriter, number: int, first: int) -> None:
    """Write one made run: a window of the real items, with another model name."""
    run = derive_run_number(str(number))
    window = f"place >= {first} AND place < {first + ITEMS_PER_RUN}"
    row = {
        "run": run,
        "key": str(number),
        "benchmark": "bfcl",
        "generation": "V4",
        "language": "en",
        "model": f"model-{number:04}",
        "path": f"/made/{number}",
        "dataset": None,
        "needs_dataset": True,
        "title": "BFCL",
        "tags": [],
        "settings": {},
        "official_metrics": {},
        "name": "",
        "name_parts": [],
        "facts": {},
        "not_run": [],
        "version": 1,
        "n_items": ITEMS_PER_RUN,
        "imported_at": "2026-01-01T00:00:00Z",
    }
    seq = f"place - {first}"
    item = (
        f"{run}::BIGINT * 4294967296 + {seq} AS item, {run}::INTEGER AS run, ({seq})::INTEGER AS"
        " seq"
    )
    names = f"SELECT unnest(functions) FROM whole WHERE {window}"  # noqa: S608
    queries = {
        "items": f"SELECT {item}, * EXCLUDE (place) FROM whole WHERE {window} ORDER BY place",  # noqa: S608
        "functions": f"SELECT * FROM store.functions WHERE hash IN ({names}) ORDER BY hash",  # noqa: S608
    }
    writer.write_run(row, [], queries)


def queries(folder: Path) -> dict[str, float]:
    """Measure the seconds to open the store and of each query on the newly opened store."""
    workspace = replace(find_workspace(folder, folder), lake=str(folder))
    seconds = {}
    began, cpu = time.perf_counter(), time.process_time()

    def note(name: str) -> None:
        nonlocal began, cpu
        seconds[name] = time.perf_counter() - began
        if CPU:
            print(f"{name}: cpu {time.process_time() - cpu:.2f}")
        began, cpu = time.perf_counter(), time.process_time()

    with Store.open(workspace, "nobody") as store:
        store.connection.execute(SETTINGS)
        note("open")
        run = store.fetch_runs()[-1].run
        note("overview: fetch_runs")
        store.fetch_clusters(View(), 10)
        note("triage: fetch_clusters")
        page = store.fetch_page(View(runs=(run,)), 0, 40)
        note("page of one run's failures")
        store.fetch_page(View(queue="dataset"), 0, 40)
        note("page of all items")
        store.fetch_page(View(queue="failures"), 0, 40)
        note("page of all items, failures first")
        store.count_items(View(queue="failures"))
        note("count of all items")
        store.read_detail(page[7].item)
        note("first item")
        store.read_detail(page[8].item)
        note("next item")
    return seconds


def main() -> None:
    """Make the lake, or measure the queries and commands on it. `once` prints the times of one
    process.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("make", "time", "once"))
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--items", type=int, default=10_000_000)
    given = parser.parse_args()
    if given.what == "make":
        make(given.paths[0].resolve(), given.paths[1].resolve(), given.items)
    elif given.what == "once":
        for name, value in queries(given.paths[0].resolve()).items():
            print(f"{name}\t{value}")
    else:
        runs = []
        for _ in range(3):
            done = subprocess.run(
                [sys.executable, __file__, "once", *map(str, given.paths)],
                capture_output=True,
                check=True,
            )
            runs.append([line.split("\t") for line in done.stdout.decode().splitlines()])
        for rows in zip(*runs, strict=True):
            print(f"{median(float(value) for _, value in rows):6.2f} s  {rows[0][0]}")
        for command in COMMANDS:
            seconds = median(time_command(command, given.paths[0]) for _ in range(3))
            print(f"{seconds:6.2f} s  fcreview {' '.join(command)}")


def time_command(command: Sequence[str], folder: Path) -> float:
    program = [sys.executable, "-m", "fcreview.cli", command[0], str(folder), *command[1:]]
    began = time.perf_counter()
    subprocess.run(program, capture_output=True, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()

"""Measure the budgets of docs/performance.md that first_paint.py and import_speed.py do not
measure.

Usage: python benchmarks/budgets.py Measures an item with a tool result of 300 KB, a verdict that is
written to disk, an export of 50,000 labels, an unchanged run, and compare, report and suspects for
12 and 71 runs. Times of commands are medians of three. Their processor time and that of `fcreview
--version`, run in between, are printed too, because only these are reliable on a busy machine.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import orjson
from first_paint import FCREVIEW
from many_runs import time_command, write_runs
from synthetic import write_run
from terminal import Terminal

from fcreview.model.review import Annotation
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace

LABELS = 50_000
OBSERVATION = 300_000
"""Size of the tool result, in bytes."""


def time_call(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def run(*arguments: object) -> None:
    subprocess.run(
        [FCREVIEW, *map(str, arguments)], check=True, stdin=subprocess.DEVNULL, capture_output=True
    )


def print_time(label: str, elapsed: float, budget: float, note: str = "") -> None:
    status = "within" if elapsed <= budget else "over"
    times = f"{elapsed * 1000:8,.0f} ms   {status:>6} {budget * 1000:8,.0f} ms"
    print(f"  {label:<42} {times}   {note}".rstrip(), flush=True)


def measure_command(
    label: str, budget: float, *arguments: object, without_start: bool = False
) -> None:
    """Measure a command. `without_start`: subtract the time of `fcreview --version`."""
    start, start_work = time_command([FCREVIEW, "--version"])
    clock, work = time_command([FCREVIEW, *map(str, arguments)])
    note = f"processor {work:.2f} s, a start {start_work:.2f} s"
    print_time(label, clock - start if without_start else clock, budget, note)


def measure_long_item(folder: Path) -> None:
    """Measure the time to open the first item, and to open the next items."""
    long = "\n".join(f"row {n}: " + "abcdefghij" * 9 for n in range(OBSERVATION // 100))
    call = {"id": "1", "function": {"name": "table_read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Read the table."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": long},
    ]
    file = folder / "long.jsonl"
    file.write_bytes(
        b"\n".join(orjson.dumps({"id": f"long_{n}", "messages": messages}) for n in range(12))
    )
    run("import", file)
    with Terminal([FCREVIEW, "open", str(file)]) as terminal:
        terminal.wait_for("long_3")
        terminal.settle(0.5)
        before = time.perf_counter() - terminal.started
        terminal.press("enter", 0)
        first = terminal.wait_for("verdict on") - before
        terminal.settle(0.5)
        times = sorted(terminal.press("]").settled for _ in range(10))
    print_time(
        "item with 300 KB of observation, the first", first, 0.1, "modules are loaded for it"
    )
    print_time("... the next ones", median(times), 0.1, f"worst {times[-1] * 1000:.0f} ms")


def measure_verdict(results: Path) -> None:
    """Measure how long a verdict takes until it is on disk, without the time of the disk itself."""
    workspace = find_workspace(results)
    with_review, bare = [], []
    with (
        Store.open(workspace, "alice") as store,
        (workspace.root / "bare").open("ab", buffering=0) as file,
    ):
        reviewer = Reviewer(store, Journal(workspace, "alice"))
        items = [
            row[0]
            for row in store.connection.execute("SELECT item FROM item_rows LIMIT 60").fetchall()
        ]
        for item in items:
            bare.append(time_call(lambda: (file.write(b"x" * 500), os.fsync(file.fileno()))))
            with_review.append(
                time_call(lambda item=item: reviewer.review(item, Annotation(verdict=True)))
            )
    fsync = median(bare)
    print_time(
        "a verdict, durable, beyond the disk's fsync",
        median(with_review) - fsync,
        0.01,
        f"fsync {fsync * 1000:.1f} ms",
    )


def measure_exports(results: Path, folder: Path) -> None:
    """Measure the exports of labels in three formats."""
    for name in ("jsonl", "csv", "parquet"):
        measure_command(
            f"export of {LABELS:,} labels, {name}",
            2.0,
            "export",
            results,
            "--format",
            name,
            "--force",
            "-o",
            folder / name,
        )


def measure_many_runs(folder: Path, runs: int, budget: float) -> None:
    """Measure the commands that read all runs of a workspace."""
    results = write_runs(folder / f"of-{runs}", runs, 1000)
    run("import", results)
    measure_command(
        f"{runs} runs of 1,000: compare two",
        budget,
        "compare",
        results,
        "synthetic",
        "synthetic-0001",
    )
    measure_command(f"{runs} runs of 1,000: compare all", budget, "compare", results)
    measure_command(f"{runs} runs of 1,000: suspects", budget, "suspects", results)
    measure_command(
        f"{runs} runs of 1,000: report --html",
        budget,
        "report",
        results,
        "--force",
        "--html",
        folder / f"{runs}.html",
    )


def main() -> None:
    """Measure each budget, with runs that are written for this purpose."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        measure_long_item(folder)
        results = write_run(folder / "labels", LABELS)
        run("import", results)
        measure_command(
            f"an unchanged run of {LABELS:,} items, beyond a start",
            0.3,
            "import",
            results,
            without_start=True,
        )
        measure_exports(results, folder)
        measure_verdict(results)
        measure_many_runs(folder, 12, 2.0)
        measure_many_runs(folder, 71, 10.0)


if __name__ == "__main__":
    main()

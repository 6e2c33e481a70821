"""The promises of docs/performance.md that first_paint.py and import_speed.py do not measure, each beside its budget.

Usage: python benchmarks/budgets.py
An item with 300 KB of observation; a verdict, durable; an export of 50,000 labels; an unchanged run; comparison, page
and suspects of 12 and 71 runs. Whole commands are clocked, medians of three; beside it their processor time and that of
`--version` in between, which takes nothing but a start: on a busy machine only these say something.
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
from many_runs import seconds, write_runs
from synthetic import write_run
from terminal import Terminal

from fcreview.model.review import Annotation
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace

LABELS = 50_000
OBSERVATION = 300_000
"""Bytes."""


def clocked(do: Callable[[], object]) -> float:
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


def run(*arguments: object) -> None:
    subprocess.run([FCREVIEW, *map(str, arguments)], check=True, stdin=subprocess.DEVNULL, capture_output=True)


def told(what: str, taken: float, budget: float, more: str = "") -> None:
    kept = "kept" if taken <= budget else "missed"
    print(f"  {what:<42} {taken * 1000:8,.0f} ms   of {budget * 1000:8,.0f} ms   {kept}   {more}".rstrip(), flush=True)


def command(what: str, budget: float, *arguments: object, beyond: bool = False) -> None:
    """`beyond`: the budget is of what it takes more than a start."""
    start, start_work = seconds([FCREVIEW, "--version"])
    clock, work = seconds([FCREVIEW, *map(str, arguments)])
    more = f"processor {work:.2f} s, a start {start_work:.2f} s"
    told(what, clock - start if beyond else clock, budget, more)


def observation(folder: Path) -> None:
    """Opened for the first time, then again from the queue."""
    long = "\n".join(f"row {n}: " + "abcdefghij" * 9 for n in range(OBSERVATION // 100))
    call = {"id": "1", "function": {"name": "table_read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Read the table."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": long},
    ]
    file = folder / "long.jsonl"
    file.write_bytes(b"\n".join(orjson.dumps({"id": f"long_{n}", "messages": messages}) for n in range(12)))
    run("import", file)
    with Terminal([FCREVIEW, "open", str(file)]) as terminal:
        terminal.wait_for("long_3")
        terminal.settle(0.5)
        before = time.perf_counter() - terminal.started
        terminal.press("enter", 0)
        first = terminal.wait_for("verdict on") - before
        terminal.settle(0.5)
        times = sorted(terminal.press("]").settled for _ in range(10))
    told("item with 300 KB of observation, the first", first, 0.1, "modules are loaded for it")
    told("... the next ones", median(times), 0.1, f"worst {times[-1] * 1000:.0f} ms")


def verdict(place: Path) -> None:
    workspace = find_workspace(place)
    said, bare = [], []
    with Store.open(workspace, "alice") as store, (workspace.root / "bare").open("ab", buffering=0) as file:
        reviewer = Reviewer(store, Journal(workspace, "alice"))
        items = [row[0] for row in store.connection.execute("SELECT item FROM item_rows LIMIT 60").fetchall()]
        for item in items:
            bare.append(clocked(lambda: (file.write(b"x" * 500), os.fsync(file.fileno()))))
            said.append(clocked(lambda item=item: reviewer.review(item, Annotation(verdict=True))))
    fsync = median(bare)
    told("a verdict, durable, beyond the disk's fsync", median(said) - fsync, 0.01, f"fsync {fsync * 1000:.1f} ms")


def exports(place: Path, folder: Path) -> None:
    for name in ("jsonl", "csv", "parquet"):
        command(
            f"export of {LABELS:,} labels, {name}",
            2.0,
            "export",
            place,
            "--format",
            name,
            "--force",
            "-o",
            folder / name,
        )


def several(folder: Path, runs: int, budget: float) -> None:
    results = write_runs(folder / f"of-{runs}", runs, 1000)
    run("import", results)
    command(f"{runs} runs of 1,000: compare two", budget, "compare", results, "synthetic", "synthetic-0001")
    command(f"{runs} runs of 1,000: compare all", budget, "compare", results)
    command(f"{runs} runs of 1,000: suspects", budget, "suspects", results)
    command(
        f"{runs} runs of 1,000: report --html", budget, "report", results, "--force", "--html", folder / f"{runs}.html"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        observation(folder)
        place = write_run(folder / "labels", LABELS)
        run("import", place)
        command(f"an unchanged run of {LABELS:,} items, beyond a start", 0.3, "import", place, beyond=True)
        exports(place, folder)
        verdict(place)
        several(folder, 12, 2.0)
        several(folder, 71, 10.0)


if __name__ == "__main__":
    main()

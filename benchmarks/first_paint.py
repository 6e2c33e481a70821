"""Measure the time to the first rows of an imported run relative to an empty Textual app, and the
cost of keys.

Usage: python benchmarks/first_paint.py [ITEMS ...]        (default: 500, 5000, 100000, and 100,000 reviews)
Each value is the median of five starts. The empty app is started in between, so that a busy machine slows both equally.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from reviewed import write_reviews
from synthetic import write_run
from terminal import Stroke, Terminal

from fcreview.store.workspace import find_workspace

HERE = Path(__file__).parent
FCREVIEW = str(Path(sys.executable).with_name("fcreview"))
STARTS = 5


def empty_paint() -> float:
    with Terminal([sys.executable, str(HERE / "empty_app.py")]) as terminal:
        return terminal.wait_for("line 10")


def line(label: str, strokes: list[Stroke]) -> str:
    times = sorted(stroke.settled * 1000 for stroke in strokes)
    size = max(stroke.bytes for stroke in strokes)
    return (
        f"  {label:<14} median {median(times):5.1f} ms   worst {times[-1]:5.1f} ms   at most"
        f" {size:,} bytes"
    )


def paint(command: list[str]) -> str:
    """Return the time until the first rows are on screen, and its ratio to that of an empty app."""
    ours, empty = [], []
    for _ in range(STARTS):
        empty.append(empty_paint())
        with Terminal(command) as terminal:
            ours.append(terminal.wait_for("simple_python_"))
    ratio = median(ours) / median(empty)
    return (
        f"  first paint    {median(ours):.2f} s   empty app {median(empty):.2f} s   ratio"
        f" {ratio:.2f}"
    )


def measure_reviewed(events: int, folder: Path) -> None:
    """Measure a run whose items were all reviewed by three annotators: the first start and later
    starts.
    """
    run = write_run(folder / "reviewed", events // 3)
    command = [FCREVIEW, "open", str(run)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    workspace = find_workspace(run)
    write_reviews(workspace, events)
    print(f"{events:,} reviews")
    with Terminal(command) as terminal:
        print(f"  first time     {terminal.wait_for('simple_python_'):.2f} s")
        terminal.settle(0.5)
    # The first start reads the reviews.
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    print(paint(command))


def measure(items: int, folder: Path) -> None:
    """Print the times of the first picture and of keys, for a run with this number of items."""
    run = write_run(folder / f"run-{items}", items)
    command = [FCREVIEW, "open", str(run)]
    # The command imports the run and prints a few items.
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    print(f"{items:,} items")
    with Terminal(command) as terminal:
        print(f"  first time     {terminal.wait_for('simple_python_'):.2f} s")
        terminal.settle(0.5)
    print(paint(command))
    with Terminal(command) as terminal:
        terminal.wait_for("simple_python_")
        terminal.settle(0.5)
        print(line("cursor down", [terminal.press("down") for _ in range(20)]))
        print(line("page down", [terminal.press("pagedown") for _ in range(20)]))
        terminal.press("enter")
        terminal.wait_for("golden")
        terminal.settle(0.5)
        print(line("next item", [terminal.press("]") for _ in range(20)]))
        print(f"  memory         {terminal.memory_mb():.0f} MB")


def main() -> None:
    sizes = [int(text) for text in sys.argv[1:]] or [500, 5_000, 100_000]
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            measure(size, Path(folder))
        if len(sys.argv) == 1:
            measure_reviewed(100_000, Path(folder))


if __name__ == "__main__":
    main()

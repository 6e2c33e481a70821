"""Measure bytes and times of keys with two panes (160x50) and with one pane (119x50), and the time
to the first rows.

Usage: python benchmarks/two_panes.py PATH [WORKSPACE]     (PATH: a run that is already imported)
The bytes of a key are all bytes until half a second passes without output, so they include the next item.
"""

from __future__ import annotations

import sys
from statistics import median

from first_paint import FCREVIEW, STARTS
from terminal import Stroke, Terminal

from fcreview.tui.text.lines import TWO_PANES_MIN_WIDTH

QUIET = 0.5
TIMES = 15


def line(label: str, strokes: list[Stroke]) -> str:
    times = sorted(stroke.settled * 1000 for stroke in strokes)
    sizes = sorted(stroke.bytes for stroke in strokes)
    return (
        f"  {label:<28} median {median(times):6.1f} ms   worst {times[-1]:6.1f} ms"
        f"   {median(sizes):7,.0f} bytes   at most {sizes[-1]:,}"
    )


def strokes(terminal: Terminal, key: str) -> list[Stroke]:
    return [terminal.press(key, QUIET) for _ in range(TIMES)]


def measure(command: list[str], columns: int) -> None:
    two = columns >= TWO_PANES_MIN_WIDTH
    print(f"{columns}x50")
    with Terminal(command, columns, 50) as terminal:
        terminal.wait_for("enter open")
        terminal.settle(2.0)
        print(line("cursor down", strokes(terminal, "j")))
        print(line("page down", strokes(terminal, "pagedown")))
        print(
            line(
                "20 times cursor down at once", [terminal.press("j" * 20, QUIET) for _ in range(3)]
            )
        )
        terminal.press("enter", QUIET)
        terminal.wait_for("verdict on")
        terminal.settle(QUIET)
        print(line("next item", strokes(terminal, "]")))
        print(line("verdict and next item", [terminal.press("u", QUIET) for _ in range(5)]))
        if two:
            print(line("from pane to pane", strokes(terminal, "\t")))


def first_rows(command: list[str], columns: int) -> float:
    with Terminal(command, columns, 50) as terminal:
        return terminal.wait_for("· 1/")


def main() -> None:
    path, *workspace = sys.argv[1:]
    command = [
        FCREVIEW,
        "open",
        path,
        "--queue",
        "failures",
        *(["--workspace", workspace[0]] if workspace else []),
    ]
    for columns in (119, 160):
        measure(command, columns)
    pairs = [(first_rows(command, 119), first_rows(command, 160)) for _ in range(STARTS)]
    one, two = (median(times) for times in zip(*pairs, strict=True))
    print(f"first rows   one pane {one:.2f} s   two panes {two:.2f} s   ratio {two / one:.2f}")


if __name__ == "__main__":
    main()

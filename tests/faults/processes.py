"""Running processes, and the number of repetitions of a test."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

WANTED = os.environ.get("FCREVIEW_FAULTS", "")
LONG = WANTED == "long"
FIRST_SEED = int(os.environ.get("FCREVIEW_SEED", "0"))
"""Seed of the first random run. Another one gives other runs."""


def times(short: int, long: int) -> int:
    """Return the number of repetitions: `long` if FCREVIEW_FAULTS=long, its value if it is a
    number, else `short`.
    """
    return min(int(WANTED), long) if WANTED.isdigit() else long if LONG else short


def children(process: int) -> int:
    """Count the child processes. Much faster than `processes_with`."""
    try:
        return len(Path(f"/proc/{process}/task/{process}/children").read_text().split())
    except OSError:  # the process has ended, or the system has no such file
        return 0


def processes_with(text: str) -> list[int]:
    """Return the ids of other processes with `text` on their command line."""
    if not sys.platform.startswith("linux"):
        pytest.skip("looks for processes in /proc")
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if text in command and state != "Z":
                found.append(int(entry.name))
    return found

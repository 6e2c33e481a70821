"""Which processes there are, and how often things are tried."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

WANTED = os.environ.get("FCREVIEW_FAULTS", "")
LONG = WANTED == "long"


def times(short: int, long: int) -> int:
    """How often something is tried: as docs/reliability.md says with FCREVIEW_FAULTS=long; a number is a number."""
    return min(int(WANTED), long) if WANTED.isdigit() else long if LONG else short


def children(process: int) -> int:
    """How many the process has. Asked hundreds of times a second, where `processes_with` would cost a whole core."""
    try:
        return len(Path(f"/proc/{process}/task/{process}/children").read_text().split())
    except OSError:  # it has ended, or the system does not say
        return 0


def processes_with(text: str) -> list[int]:
    """Processes that name `text` on their command line, this one left out."""
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

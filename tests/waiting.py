"""Waiting on a condition, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

LOCKS = Path("/proc/locks")


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Returns once the condition holds; fails if it does not in so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.005)


def waits_for_a_lock(process: int) -> bool:
    """Whether the process stands in line for a file lock. Skips the test where no system file tells."""
    if not LOCKS.exists():
        pytest.skip("who waits for a lock is told in /proc/locks only")
    return any(" -> " in line and f" {process} " in line for line in LOCKS.read_text().splitlines())

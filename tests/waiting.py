"""Wait for a condition instead of a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

LOCKS = Path("/proc/locks")


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until the condition is true. Fails after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition was never true"
        time.sleep(0.005)


def is_waiting_for_lock(process: int) -> bool:
    """Return whether the process waits for a file lock. Skips the test without /proc/locks."""
    if not LOCKS.exists():
        pytest.skip("needs /proc/locks")
    return any(" -> " in line and f" {process} " in line for line in LOCKS.read_text().splitlines())

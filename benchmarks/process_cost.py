"""Measures the cost of a whole process: processor time, elapsed time and memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
KIBIBYTES = 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process and its child processes needed. The memory is that of the largest."""

    processor_seconds: float
    elapsed_seconds: float
    peak_megabytes: float


def measure_process(command: Sequence[str], accepted_codes: Sequence[int] = (0,)) -> Cost:
    """Run a command and return its cost. The program ends if the command fails.

    Args:
        command: The program and its arguments.
        accepted_codes: Exit codes with which the command has not failed.
    """
    # Without this variable, a program compiles its modules once, as when pip has installed it.
    environment = {name: os.environ[name] for name in os.environ if name != NO_BYTECODE}
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, used = os.wait4(process.pid, 0)
    elapsed_seconds = time.perf_counter() - start

    if os.waitstatus_to_exitcode(status) not in accepted_codes:
        raise SystemExit(f"failed: {' '.join(command)}")
    return Cost(
        processor_seconds=used.ru_utime + used.ru_stime,
        elapsed_seconds=elapsed_seconds,
        peak_megabytes=used.ru_maxrss / KIBIBYTES,
    )


def select_least(costs: Sequence[Cost]) -> Cost:
    """Return the least time of each kind and the largest memory of several measurements."""
    return Cost(
        processor_seconds=min(cost.processor_seconds for cost in costs),
        elapsed_seconds=min(cost.elapsed_seconds for cost in costs),
        peak_megabytes=max(cost.peak_megabytes for cost in costs),
    )

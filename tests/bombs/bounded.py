"""Run a command with limited memory and time, so that a bomb harms no other test."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.commands import PROGRAM

MAX_ADDRESS_BYTES = 4_000_000_000
"""Address space of a command. Above it, an allocation fails, as with `ulimit -v 4000000`."""


@dataclass(frozen=True, slots=True)
class BoundedRun:
    code: int
    out: str
    err: str
    seconds: float
    """Processor time."""
    max_megabytes: int
    """Maximum resident memory."""

    @property
    def ended_in_words(self) -> bool:
        """Whether the command ended by itself, with a result or a reason, and not by a signal or
        an internal error.
        """
        if self.code not in (0, 1):
            return False
        return "internal error" not in self.err and "Traceback" not in self.err


def run_bounded(
    arguments: Sequence[str | Path], cwd: Path, environ: Mapping[str, str], timeout: float = 120
) -> BoundedRun:
    """Run fcreview with at most 4 GB of addresses, and measure its processor time and memory."""

    def limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_BYTES, MAX_ADDRESS_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (int(timeout), int(timeout)))

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=dict(environ),
            cwd=cwd,
            preexec_fn=limit_memory,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return BoundedRun(
            code=process.returncode,
            out=out.read().decode("utf-8", "replace"),
            err=err.read().decode("utf-8", "replace"),
            seconds=usage.ru_utime + usage.ru_stime,
            max_megabytes=usage.ru_maxrss // 1024,
        )

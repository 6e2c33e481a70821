"""No decoder needs much time or memory for a reply that was made to exhaust it."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import run_in_this_process
from tests.examples import only_long
from tests.faults.hostile.bombs import BOMBS
from tests.faults.hostile.limits import time_limit
from tests.faults.processes import LONG

ROOT = Path(__file__).resolve().parents[3]
SHORT = [
    *("bfcl V1 maple python", "hammerbench default"),
    pytest.param("acebench", marks=[pytest.mark.sweep, only_long]),
]
MEMORY = 1 << 30
"""Limit of the address space, in bytes. The interpreter with its modules needs a third of it."""
SECONDS = 5.0
"""Limit of the processor time for one reply."""


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize(
    "decoder", [""] if LONG else SHORT, ids=lambda decoder: decoder or "all decoders"
)
def test_bomb_is_decoded_or_refused_in_time(environ: dict[str, str], decoder: str) -> None:
    command = [sys.executable, "-m", "tests.faults.hostile.decode_bombs", decoder]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=environ,
        cwd=ROOT,
        timeout=3600 if LONG else 60,
        preexec_fn=_limited,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-500:])
    took = [line.split(" ", 2)[1:] for line in lines if line.startswith("took")]
    assert len(took) >= len(BOMBS)
    assert len(took) == sum(line.startswith("begins") for line in lines)
    assert [name for seconds, name in took if float(seconds) > SECONDS] == []
    print(f"{len(took)} decoded or refused")


@pytest.mark.parametrize(
    "text",
    [
        "id:" + "*a" * 4000,
        "id:" + "*\\_" * 2000 + "*b",
        "(" * 5000,
        "-" * 5000,
        "a OR " * 2000,
        "note:" + '"' * 9999,
        "a|" * 4999,
    ],
    ids=["wildcards", "escaped wildcards", "brackets", "signs", "alternatives", "quotes", "values"],
)
def test_expensive_filter_is_answered(sample: Path, environ: dict[str, str], text: str) -> None:
    with time_limit(30):
        done = run_in_this_process(["items", sample, "--where", text], sample, environ)
    assert done.code in (0, 1, 2)
    assert "internal error" not in done.err
    assert "Traceback" not in done.err

"""Replies made to exhaust a decoder cost it neither time nor memory, whoever decodes them."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import run_in_this_process
from tests.faults.hostile.bombs import BOMBS
from tests.faults.hostile.limits import within
from tests.faults.processes import LONG

ROOT = Path(__file__).resolve().parents[3]
SHORT = ["bfcl V1 maple python", "acebench", "hammerbench default"]
MEMORY = 1 << 30
"""Bytes of address space; the interpreter with what it loads takes a third of it."""
SECONDS = 5.0
"""Of the processor, for one reply."""


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize("way", [""] if LONG else SHORT, ids=lambda way: way or "every way")
def test_a_bomb_is_decoded_or_refused_in_bounds(environ: dict[str, str], way: str) -> None:
    command = [sys.executable, "-m", "tests.faults.hostile.decode_bombs", way]
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
        "id:" + "*a" * 4000, "id:" + "*\\_" * 2000 + "*b", "(" * 5000, "-" * 5000, "a OR " * 2000,
        "note:" + '"' * 9999, "a|" * 4999,
    ],
    ids=["wildcards", "escaped wildcards", "brackets", "signs", "alternatives", "quotes", "values"],
)  # fmt: skip
def test_a_filter_made_to_take_for_ever_is_answered(sample: Path, environ: dict[str, str], text: str) -> None:
    with within(30):
        done = run_in_this_process(["items", sample, "--where", text], sample, environ)
    assert done.code in (0, 1, 2)
    assert "internal error" not in done.err
    assert "Traceback" not in done.err

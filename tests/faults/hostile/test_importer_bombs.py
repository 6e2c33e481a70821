"""Bombs of all importers at 1, 2 and 4 times a size: memory is bounded, and time is linear in
the size.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bombs import BOMBS, run_bounded
from tests.faults.processes import LONG

MAX_MEGABYTES = 1_500
MAX_SECONDS = 60
MAX_RATIO = 5
"""Maximum ratio of the times at 4 times the size and at the size itself."""
COMMANDS = ("import", "items", "report", "triage")


@pytest.mark.skipif(not LONG, reason="only in the long form (make faults)")
@pytest.mark.parametrize("name", sorted(BOMBS))
def test_bomb_takes_linear_time_and_bounded_memory(
    name: str, tmp_path: Path, environ: dict[str, str]
) -> None:
    bomb = BOMBS[name]
    seconds: dict[int, float] = {}
    for factor in (1, 2, 4):
        folder = tmp_path / f"run{factor}"
        bomb.write(folder, bomb.size * factor)
        seconds[factor] = 0.0
        for command in COMMANDS:
            done = run_bounded([command, folder], tmp_path, environ, MAX_SECONDS)
            assert done.ended_in_words, (command, factor, done.code, done.err)
            assert done.max_megabytes < MAX_MEGABYTES, (command, factor)
            seconds[factor] += done.seconds
    assert seconds[4] < MAX_RATIO * seconds[1], seconds

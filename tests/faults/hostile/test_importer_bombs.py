"""Bombs of all importers at 1, 2 and 4 times a size: memory is bounded, and time is linear in the
size.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bombs.bomb import MEGABYTE, Bomb
from tests.bombs.bounded import run_bounded
from tests.bombs.catalogue import BOMBS, CUT_WORDS
from tests.faults.processes import LONG

MAX_MEGABYTES = 1_500
MAX_SECONDS = 60
"""Maximum processor time of one command on files of less than 10 MB."""
LARGE_BYTES = 10 * MEGABYTE
MAX_RATIO = 5
"""Maximum ratio of the times at 4 times the size and at the size itself."""
MIN_COMPARED_SECONDS = 0.5
"""Time that a command may take for any files. Below it, times are not compared."""


def list_commands(bomb: Bomb, folder: Path) -> list[list[str | Path]]:
    commands: list[list[str | Path]] = [
        ["import", folder, "--json"],
        ["items", folder],
        ["report", folder],
        ["triage", folder],
    ]
    if bomb.has_items and bomb.item:
        commands.append(["show", folder, bomb.item])
    if bomb.has_items:
        commands.append(["export", folder, "--force", "-o", folder.parent / "labels.jsonl"])
    return commands


def measure_commands(
    bomb: Bomb, folder: Path, environ: dict[str, str], *, is_small: bool
) -> dict[str, float]:
    """Return the processor time of each command, in seconds."""
    limit = MAX_SECONDS if is_small else 4 * MAX_SECONDS
    seconds: dict[str, float] = {}
    for words in list_commands(bomb, folder):
        command = str(words[0])
        done = run_bounded(words, folder.parent, environ, limit)
        assert done.ended_in_words, (command, done.code, done.err)
        assert done.max_megabytes < MAX_MEGABYTES, (command, done.max_megabytes)
        assert done.code == 0 or not bomb.has_items, (command, done.err)
        if command == "import" and bomb.is_cut:
            assert any(word in done.out for word in CUT_WORDS), done.out[:2_000]
        seconds[command] = done.seconds
    return seconds


@pytest.mark.skipif(not LONG, reason="only in the long form (make faults)")
@pytest.mark.parametrize("name", sorted(BOMBS))
def test_bomb_takes_linear_time_and_bounded_memory(
    name: str, tmp_path: Path, environ: dict[str, str]
) -> None:
    bomb = BOMBS[name]
    seconds_by_factor = {}
    for factor in (1, 2, 4):
        folder = tmp_path / f"run{factor}"
        bomb.write(folder, bomb.size * factor)
        n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        is_small = n_bytes < LARGE_BYTES
        seconds_by_factor[factor] = measure_commands(bomb, folder, environ, is_small=is_small)

    print(name, seconds_by_factor)
    for command, before in seconds_by_factor[1].items():
        after = seconds_by_factor[4][command]
        assert after < MAX_RATIO * max(before, MIN_COMPARED_SECONDS), (command, seconds_by_factor)

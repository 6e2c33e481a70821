"""Bombs are imported and shown with little memory, and an import issue says what was left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bombs import BOMBS, run_bounded
from tests.commands import environment

MAX_MEGABYTES = 1_500
MAX_SECONDS = 60
CUT_WORDS = ("omitted", "not replaced", "placeholder", "not followed", "too deep", "cut after")


@pytest.mark.process
@pytest.mark.parametrize("name", sorted(BOMBS))
def test_bomb_is_imported_within_bounds(name: str, tmp_path: Path) -> None:
    bomb = BOMBS[name]
    bomb.write(tmp_path / "run", bomb.small_size)
    (tmp_path / "home").mkdir()

    done = run_bounded(
        ["import", tmp_path / "run", "--json"],
        tmp_path,
        environment(tmp_path / "home"),
        MAX_SECONDS,
    )
    assert done.ended_in_words, (done.code, done.err)
    assert done.max_megabytes < MAX_MEGABYTES
    assert '"status":"imported"' in done.out.replace(" ", "")
    if bomb.is_cut:
        assert any(word in done.out for word in CUT_WORDS), done.out[:2000]


@pytest.mark.process
def test_bomb_does_not_hide_the_healthy_runs_beside_it(samples: Path, tmp_path: Path) -> None:
    """A crash of the process would hide them, because no barrier catches a signal."""
    bomb = BOMBS["inspect: reference in parts"]
    bomb.write(tmp_path / "runs" / "bomb", bomb.size)
    for path in (samples / "inspect").glob("*.eval"):
        (tmp_path / "runs" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "home").mkdir()

    for command in ("items", "report"):
        done = run_bounded(
            [command, tmp_path / "runs"], tmp_path, environment(tmp_path / "home"), MAX_SECONDS
        )
        assert done.code == 0, done.err
        assert done.max_megabytes < MAX_MEGABYTES

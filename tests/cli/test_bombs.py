"""Bombs are imported and shown with little memory, and an import issue says what was left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bombs.bounded import BoundedRun, run_bounded
from tests.bombs.catalogue import BOMBS, CUT_WORDS, SMALL_BOMBS
from tests.commands import environment
from tests.examples import only_long

MAX_MEGABYTES = 1_500
MAX_SECONDS = 60
FREQUENTLY_TESTED = {
    "acebench: deep",
    "atif: subagent of itself",
    "bfcl: many golden calls",
    "complexfuncbench: calls in a turn",
    "confetti: deep",
    "evalscope: trajectory",
    "generic: many scores",
    "hammerbench: repeated id",
    "inspect: calls in a turn",
    "mapping: unclosed quote",
    "mcp_atlas: deep claims",
    "nemo_gym: deep output",
    "sessions: many branches",
    "tau: repeated trials",
    "verifiers: leaves",
}
"""One bomb of each importer, of different kinds. The others are in the long form."""


def run_command(*arguments: str | Path, folder: Path) -> BoundedRun:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    done = run_bounded(arguments, folder, environment(home), MAX_SECONDS)
    assert done.ended_in_words, (arguments, done.code, done.err)
    assert done.max_megabytes < MAX_MEGABYTES, arguments
    return done


def list_bomb_parameters() -> list[Any]:
    return [
        pytest.param(name, marks=() if name in FREQUENTLY_TESTED else only_long)
        for name in sorted(SMALL_BOMBS)
    ]


def read_issues(done: BoundedRun) -> list[str]:
    """Return the texts of the issues of `import --json`."""
    records: list[dict[str, Any]] = [json.loads(line) for line in done.out.split("\n") if line]
    return [record["what"] for record in records if record["kind"] == "issue"]


@pytest.mark.process
@pytest.mark.parametrize("name", list_bomb_parameters())
def test_bomb_is_imported_and_shown_within_bounds(name: str, tmp_path: Path) -> None:
    bomb = BOMBS[name]
    bomb.write(tmp_path / "run", bomb.small_size)

    imported = run_command("import", tmp_path / "run", "--json", folder=tmp_path)
    if bomb.is_cut:
        issues = read_issues(imported)
        assert any(word in issue for issue in issues for word in CUT_WORDS), issues

    assert ('"status":"imported"' in imported.out.replace(" ", "")) == bomb.has_items
    if bomb.has_items:
        shown = run_command("show", tmp_path / "run", bomb.item, folder=tmp_path)
        assert shown.code == 0, shown.err


def test_each_importer_has_a_frequently_tested_bomb() -> None:
    importers = {name.partition(":")[0] for name in SMALL_BOMBS}
    assert {name.partition(":")[0] for name in FREQUENTLY_TESTED} == importers
    assert SMALL_BOMBS.keys() >= FREQUENTLY_TESTED


@pytest.mark.process
def test_bomb_does_not_hide_the_healthy_runs_beside_it(samples: Path, tmp_path: Path) -> None:
    """A crash of the process would hide them, because no barrier catches a signal."""
    bomb = BOMBS["inspect: reference in parts"]
    bomb.write(tmp_path / "runs" / "bomb", bomb.size)
    for path in (samples / "inspect").glob("*.eval"):
        (tmp_path / "runs" / path.name).write_bytes(path.read_bytes())

    for command in ("items", "report"):
        done = run_command(command, tmp_path / "runs", folder=tmp_path)
        assert done.code == 0, done.err

"""Every command reports events in the journal of another annotator, which do not count."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Done

Cli = Callable[..., Done]
ITEM = "simple_python_1"
COMMANDS = [
    ["runs"],
    ["items"],
    ["show", ITEM],
    ["report"],
    ["agreement"],
    ["adjudicate"],
    ["audit", ITEM],
    ["export"],
    ["triage"],
    ["estimate"],
    ["sql", "FROM reviews"],
]


def test_every_command_reports_events_of_other_annotator(cli: Cli, imported_run: Path) -> None:
    assert cli("label", imported_run, ITEM, "--verdict", "pass", "--annotator", "alice").code == 0
    reviews = imported_run / ".fcreview" / "reviews"
    (reviews / "mallory.jsonl").write_bytes((reviews / "alice.jsonl").read_bytes())
    (reviews / "alice.jsonl").unlink()
    message = (
        "mallory.jsonl: 1 review by 'alice' not counted, because the file has another name than the"
        " journal."
    )
    for command in COMMANDS:
        done = cli(command[0], imported_run, *command[1:])
        assert f"fcreview: {message}" in done.err, command
    assert not cli("sql", imported_run, "FROM reviews", "--json").objects
    done = cli("doctor", imported_run)
    assert done.code == 1
    assert f"! journal         mallory: {message}" in done.out


@pytest.mark.parametrize(
    "name",
    [
        "alice (conflicted copy).jsonl",
        "alice.sync-conflict-20261128-101112-ABCDEFG.jsonl",
        "old reviews.jsonl",
    ],
)
def test_message_names_the_command_that_merges_a_conflict_copy(
    cli: Cli, imported_run: Path, name: str
) -> None:
    reviews = imported_run / ".fcreview" / "reviews"
    for verdict in ("pass", "fail"):
        assert (
            cli("label", imported_run, ITEM, "--verdict", verdict, "--annotator", "alice").code == 0
        )
        (reviews / "alice.jsonl").rename(reviews / (name if verdict == "pass" else "kept"))
    (reviews / "kept").rename(reviews / "alice.jsonl")
    (warning,) = cli("runs", imported_run).err.splitlines()
    assert f"{name}: 1 review by 'alice' not counted" in warning
    words = shlex.split(warning.rpartition("run: ")[2])
    assert words[:2] == ["fcreview", "merge"]
    refused = cli(*words[1:], "--annotator", "alice")
    assert (refused.code, "New reviews:" in refused.err) == (1, True), (
        "nothing is merged without a confirmation"
    )
    merged = cli(*words[1:], "--annotator", "alice", "--yes")
    assert merged.out == "alice: 1 new event, 0 already in this workspace\n"
    assert len(cli("sql", imported_run, "FROM reviews", "--json").objects) == 2
    (warning,) = cli("runs", imported_run).err.splitlines()
    assert warning.endswith(
        "all reviews in this file also count in the journal of 'alice', so you can delete the file"
    )


def test_file_that_is_no_journal_is_not_merged(
    cli: Cli, imported_run: Path, tmp_path: Path
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no journal\n")
    done = cli("merge", imported_run, file, "--yes")
    assert (done.code, done.out) == (1, "")
    assert "contains no valid review" in done.err

"""Every command reports events in the journal of another annotator, which do not count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.commands import Done

Cli = Callable[..., Done]
ITEM = "simple_python_1"
COMMANDS = [
    ["runs"], ["items"], ["show", ITEM], ["report"], ["agreement"], ["adjudicate"], ["audit", ITEM], ["export"],
    ["triage"], ["estimate"], ["sql", "FROM reviews"],
]  # fmt: skip


def test_every_command_reports_events_of_other_annotator(cli: Cli, imported_run: Path) -> None:
    assert cli("label", imported_run, ITEM, "--verdict", "pass", "--annotator", "alice").code == 0
    reviews = imported_run / ".fcreview" / "reviews"
    (reviews / "mallory.jsonl").write_bytes((reviews / "alice.jsonl").read_bytes())
    (reviews / "alice.jsonl").unlink()
    message = (
        "mallory.jsonl line 1: fcreview ignores 1 event by 'alice', because only events by 'mallory' count in this file"
    )
    for command in COMMANDS:
        done = cli(command[0], imported_run, *command[1:])
        assert f"fcreview: {message}\n" in done.err, command
    assert not cli("sql", imported_run, "FROM reviews", "--json").objects
    done = cli("doctor", imported_run)
    assert done.code == 1
    assert f"! journal         mallory: {message}" in done.out

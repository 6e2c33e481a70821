"""Edits of an Inspect log become reviews of an annotator when `import-labels` imports them, and
only once.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Done

Cli = Callable[..., Done]


@pytest.fixture
def log(samples: Path, tmp_path: Path) -> Path:
    (source,) = (samples / "inspect").glob("*.json")
    return Path(shutil.copy(source, tmp_path / "log.json"))


def test_edit_counts_only_after_import(cli: Cli, log: Path) -> None:
    shown = cli("show", log, "heat_1").out
    assert "inspect: dana" in shown and "bath room is the same room" in shown
    (before,) = [
        row
        for row in map(json.loads, cli("items", log, "--json").out.splitlines())
        if row["id"] == "heat_1"
    ]
    assert (before["official"], before["human"], before["effective"]) == (False, None, False)
    done = cli(
        "import-labels", log, log, "--format", "inspect", "--said-by", "dana", "--annotator", "dana"
    )
    assert "wrote 1 review by dana" in done.out
    (after,) = [
        row
        for row in map(json.loads, cli("items", log, "--json").out.splitlines())
        if row["id"] == "heat_1"
    ]
    assert (after["official"], after["human"], after["effective"]) == (False, True, True)
    again = cli(
        "import-labels", log, log, "--format", "inspect", "--said-by", "dana", "--annotator", "dana"
    )
    assert "wrote 0 reviews" in again.out and "1 review: already recorded" in again.out


def test_edits_by_others_are_named(cli: Cli, log: Path) -> None:
    failed = cli("import-labels", log, log, "--format", "inspect", "--annotator", "alice")
    assert failed.code == 1 and "only by dana (1)" in failed.err


def test_blind_annotator_does_not_see_edit(cli: Cli, log: Path) -> None:
    assert "dana" not in cli("show", log, "heat_1", "--blind", "--annotator", "alice").out


def test_exported_edit_is_not_duplicated(cli: Cli, log: Path) -> None:
    cli("label", log, "heat_1", "--verdict", "pass", "--annotator", "alice")
    (journal,) = (log.parent / ".fcreview" / "reviews").glob("alice.jsonl")
    event = json.loads(journal.read_text().splitlines()[-1])["event"]
    content = json.loads(log.read_text())
    (sample,) = [
        each for each in content["samples"] if (each["id"], each["epoch"]) == ("heat_1", 1)
    ]
    provenance = sample["scores"]["device_state"]["history"][1]["provenance"]
    provenance |= {"author": "alice", "metadata": {"fcreview": {"events": [event]}}}
    log.write_text(json.dumps(content))
    assert "inspect: alice" not in cli("show", log, "heat_1").out
    done = cli("import-labels", log, log, "--format", "inspect", "--annotator", "alice")
    assert "wrote 0 reviews" in done.out

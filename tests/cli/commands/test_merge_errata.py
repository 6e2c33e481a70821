"""`fcreview merge` merges errata and accepted rules, and runs are rescored with them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fcreview.errata import parse_errata
from tests.commands import Done

Cli = Callable[..., Done]
ITEM, SECOND = "live_simple_3-3-0", "live_simple_0-0-0"

pytestmark = pytest.mark.sweep


@pytest.fixture
def copies(tmp_path: Path, samples: Path) -> tuple[Path, Path]:
    copies = tmp_path / "one", tmp_path / "two"
    for place in copies:
        shutil.copytree(samples / "bfcl", place, ignore=shutil.ignore_patterns("__pycache__"))
    return copies


def apply_errata(cli: Cli, runs: Path, minutes: int, who: str, *rules: str) -> Path:
    """Create errata with one golden answer and apply them in this workspace."""
    fix = json.dumps(
        {"ground_truth": [{"timer.start": {"minutes": [minutes], "name": ["bread", ""]}}]}
    )
    options = (
        "--run",
        "maple-8b",
        "--annotator",
        who,
        "--golden-fix",
        fix,
        "--reason",
        f"{who} says so",
    )
    assert cli("label", runs, ITEM, *options).code == 0
    for rule in rules:
        assert cli("rules", "add", runs, rule).code == 0
    out = runs / f"{who}.jsonl"
    done = cli("errata", "create", runs, "-o", out)
    assert done.code == 0, done.err
    assert cli("import", runs, "--errata", out).code == 0
    return out


def rule_verdicts(cli: Cli, runs: Path) -> dict[tuple[str, str], bool | None]:
    rows = cli("items", runs, "--json", "--queue", "dataset").objects
    return {(row["model"], row["id"]): row["rule"] for row in rows}


def test_errata_and_rules_are_merged(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    before = rule_verdicts(cli, here)
    apply_errata(cli, other, 30, "bob", "ignore-case")
    assert rule_verdicts(cli, other) != before
    done = cli("merge", here, other, "--yes")
    assert "errata: 1 new golden answer, 0 already in this workspace; 1 new rule" in done.out
    assert (
        "accepted rules: 1 new, 0 already in this workspace" in done.out
        and "the next command on these runs applies the errata" in done.err
    )
    assert rule_verdicts(cli, here) == rule_verdicts(cli, other)
    assert (here / ".fcreview/errata.jsonl").read_bytes() == (
        other / ".fcreview/errata.jsonl"
    ).read_bytes()
    assert "ignore-case" in cli("rules", "list", here).out
    again = [
        each for each in cli("merge", here, other, "--yes", "--json").objects if "kind" in each
    ]
    assert [(each["kind"], each["new"], each["known"]) for each in again] == [
        ("errata", 0, 1),
        ("rules", 0, 1),
    ]


def test_conflicting_corrections_are_reported_and_kept(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    apply_errata(cli, here, 30, "alice")
    apply_errata(cli, other, 31, "bob")
    mine, theirs = ((place / ".fcreview/errata.jsonl").read_bytes() for place in copies)
    done = cli("merge", here, other, "--yes")
    assert (
        done.code == 0
        and f"{ITEM}: the workspaces correct this golden answer differently. This" in done.err
    )
    assert (here / ".fcreview/errata.jsonl").read_bytes() == mine
    (kept,) = (here / ".fcreview").glob("errata-*.jsonl")
    assert kept.read_bytes() == theirs and kept.name in done.err
    assert parse_errata(kept.read_bytes()).entries
    cli("merge", here, other, "--yes")
    assert [*(here / ".fcreview").glob("errata-*.jsonl")] == [kept], "merging again adds nothing"


def test_damaged_errata_are_reported_and_reviews_merged(
    cli: Cli, copies: tuple[Path, Path]
) -> None:
    here, other = copies
    rule_verdicts(cli, here)
    apply_errata(cli, other, 30, "bob")
    file = other / ".fcreview/errata.jsonl"
    file.write_text(file.read_text().replace("bob says so", "bob said so"))
    done = cli("merge", here, other, "--yes")
    assert (
        done.code == 0
        and "errata were not merged" in done.err
        and "changed after it was written" in done.err
    )
    assert "bob: 1 new event" in done.out
    assert not (here / ".fcreview/errata.jsonl").exists()

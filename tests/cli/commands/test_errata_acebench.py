"""Errata of ACEBench are created from a golden fix and applied to a run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Done

Cli = Callable[..., Done]
ITEM = "normal_single_turn_single_function_3"

pytestmark = pytest.mark.sweep


@pytest.fixture
def runs(tmp_path: Path, samples: Path) -> Path:
    place = tmp_path / "runs"
    shutil.copytree(samples / "acebench", place)
    return place


def test_erratum_rescores_item_and_appears_in_report(cli: Cli, runs: Path, tmp_path: Path) -> None:
    one = ("--run", "1")
    (shown,) = cli("show", runs, ITEM, *one, "--json").objects
    assert shown["row"]["rule"] is False and shown["run"]["language"] == "en"
    arguments = {call["name"]: call["arguments"] for call in shown["item"]["predicted"]}
    done = cli(
        "label",
        runs,
        ITEM,
        *one,
        "--golden-fix",
        json.dumps({"ground_truth": arguments}),
        "--reason",
        "so asked",
    )
    assert done.code == 0, done.err
    assert cli("errata", "create", runs, "-o", tmp_path / "e.jsonl").code == 0
    plain = cli("report", runs, "--json").objects
    lines = cli("report", runs, "--errata", tmp_path / "e.jsonl", "--json").objects
    assert [line["rule"] for line in lines] == [line["rule"] for line in plain], "without errata"
    assert [line["official"] for line in lines] == [line["official"] for line in plain]
    moved = [
        line
        for line in lines
        if line.get("errata") not in (None, line["rule"]) and line["table"] == "accuracy"
    ]
    assert moved and all(line["errata"] > line["rule"] for line in moved)
    (shown,) = cli("show", runs, ITEM, *one, "--json").objects
    assert shown["row"]["rule"] is True and shown["item"]["extra"]["erratum"]["reasons"] == [
        "so asked"
    ]
    assert "golden answer from errata" in cli("show", runs, ITEM, *one).out
    assert cli("report", runs, "--errata", "none", "--json").objects == plain


def test_equivalence_rules_do_not_apply(cli: Cli, runs: Path) -> None:
    done = cli("rules", "try", runs, "ignore-case")
    assert done.code == 1 and "the rule changes nothing" in done.err

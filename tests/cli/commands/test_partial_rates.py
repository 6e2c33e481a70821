"""A rate over the items that happen to have a verdict is never shown as if it were the run's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.wording import NO_DATASET_MESSAGE, format_rate_of_known, format_recomputed_rate

Cli = Callable[..., Any]


@pytest.fixture
def bare(samples: Path, tmp_path: Path) -> Path:
    """The sample runs of BFCL without their dataset: only entries of score files carry a golden answer."""
    shutil.copytree(samples / "bfcl", tmp_path / "runs", ignore=shutil.ignore_patterns("data"))
    return tmp_path / "runs"


def test_words() -> None:
    assert (format_recomputed_rate(3, 4, 4), format_recomputed_rate(0, 61, 1000), format_recomputed_rate(0, 0, 9)) == (
        "75.0 %",
        "– (61 of 1,000)",
        "–",
    )
    assert (format_rate_of_known(3, 4, 4), format_rate_of_known(3, 4, 1000), format_rate_of_known(0, 0, 9)) == (
        "75.0 %",
        "75.0 % of 4",
        "–",
    )


def test_runs_without_a_dataset_say_so_and_show_no_rate(cli: Cli, bare: Path) -> None:
    done = cli("runs", bare)
    rows = [json.loads(line) for line in cli("runs", bare, "--json").out.splitlines()]
    assert all(0 < row["rule_known"] < row["n_items"] for row in rows)
    for row, line in zip(rows, done.out.splitlines()[1:], strict=False):
        assert f"– ({row['rule_known']} of {row['n_items']})" in line
    assert NO_DATASET_MESSAGE in done.err


def test_warning_lists_the_first_runs_without_a_dataset(cli: Cli, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcreview.cli.commands.runs.MAX_LISTED_RUNS", 1)
    assert f"run 1 and 1 more: {NO_DATASET_MESSAGE}" in " ".join(cli("runs", bare).err.split())


@pytest.mark.sweep
def test_a_figure_recomputed_of_a_part_is_not_set_beside_a_whole_one(cli: Cli, bare: Path) -> None:
    done = cli("report", bare, "--run", 1)
    assert NO_DATASET_MESSAGE in done.err
    figures = [each for each in cli("report", bare, "--run", 1, "--json").objects if each["table"] == "accuracy"]
    partial = {each["name"] for each in figures if each["of"] and each["n"]["rule"] < each["of"]}
    assert "overall" in partial
    lines = {line.split("  ")[0].strip() or line.strip().split("  ")[0]: line for line in done.out.splitlines()}
    assert "–" in lines["overall"] and "(recomputed " in lines["overall"]


def test_with_its_dataset_a_run_has_nothing_to_say(cli: Cli, samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples / "bfcl", tmp_path / "runs")
    assert cli("runs", tmp_path / "runs").err == ""

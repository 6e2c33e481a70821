"""Rates of runs with missing verdicts are shown with their denominator."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.wording import (
    NO_DATASET_MESSAGE,
    format_rate_with_count,
    format_recomputed_rate,
    is_nearly_complete,
)

Cli = Callable[..., Any]


@pytest.fixture
def runs_without_dataset(samples: Path, tmp_path: Path) -> Path:
    """The BFCL sample runs without their dataset.

    Only entries of score files have a golden answer.
    """
    shutil.copytree(samples / "bfcl", tmp_path / "runs", ignore=shutil.ignore_patterns("data"))
    return tmp_path / "runs"


def test_rate_formats() -> None:
    assert (
        format_recomputed_rate(3, 4, 4),
        format_recomputed_rate(0, 61, 1000),
        format_recomputed_rate(0, 0, 9),
    ) == (
        "75.0 %",
        "– (61 of 1,000)",
        "–",
    )
    assert (
        format_rate_with_count(3, 4, 4),
        format_rate_with_count(3, 4, 1000),
        format_rate_with_count(0, 0, 9),
    ) == (
        "75.0 %",
        "75.0 % of 4",
        "–",
    )


def test_recomputed_rate_of_most_items_has_its_denominator() -> None:
    assert format_recomputed_rate(1, 2, 3) == "50.0 % of 2"
    assert format_recomputed_rate(300, 399, 400) == "75.2 % of 399"
    assert format_recomputed_rate(0, 399, 400, lacks_dataset=True) == "– (399 of 400)"
    assert [is_nearly_complete(n, 30) for n in (26, 27, 29)] == [False, True, True]
    assert is_nearly_complete(2, 3)


def test_runs_without_dataset_show_no_rate(cli: Cli, runs_without_dataset: Path) -> None:
    done = cli("runs", runs_without_dataset)
    rows = [
        json.loads(line) for line in cli("runs", runs_without_dataset, "--json").out.splitlines()
    ]
    assert all(0 < row["rule_known"] < row["n_items"] for row in rows)
    for row, line in zip(rows, done.out.splitlines()[1:], strict=False):
        assert f"– ({row['rule_known']} of {row['n_items']})" in line
    assert NO_DATASET_MESSAGE in done.err


def test_warning_lists_first_runs_without_dataset(
    cli: Cli, runs_without_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcreview.cli.commands.runs.MAX_LISTED_RUNS", 1)
    assert f"run 1 and 1 more: {NO_DATASET_MESSAGE}" in " ".join(
        cli("runs", runs_without_dataset).err.split()
    )


@pytest.mark.sweep
def test_partially_recomputed_figure_is_not_compared(cli: Cli, runs_without_dataset: Path) -> None:
    done = cli("report", runs_without_dataset, "--run", 1)
    assert NO_DATASET_MESSAGE in done.err
    figures = [
        each
        for each in cli("report", runs_without_dataset, "--run", 1, "--json").objects
        if each["table"] == "accuracy"
    ]
    partial = {each["name"] for each in figures if each["of"] and each["n"]["rule"] < each["of"]}
    assert "overall" in partial
    lines = {
        line.split("  ")[0].strip() or line.strip().split("  ")[0]: line
        for line in done.out.splitlines()
    }
    assert "–" in lines["overall"] and "(recomputed " in lines["overall"]


def test_run_with_dataset_gives_no_warning(cli: Cli, samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples / "bfcl", tmp_path / "runs")
    assert cli("runs", tmp_path / "runs").err == ""

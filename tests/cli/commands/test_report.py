"""`fcreview report` prints official, recomputed and corrected figures of every benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fcreview.importers.registry import list_importer_names
from tests.commands import Done

Cli = Callable[..., Done]
CHINESE = "benchmark:hammerbench language:zh"
OWN_NAMES = {"mapping": "canteen orders"}
"""Benchmarks that the sample runs of an importer name themselves."""
MORE_NAMES = {"helpdesk", "travel-desk"}
"""Benchmarks of further runs in the generic format, such as the demo."""
BENCHMARKS = {OWN_NAMES.get(name, name) for name in list_importer_names()} | MORE_NAMES


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report") / "ws"


def report_rows(cli: Cli, samples: Path, workspace: Path) -> list[dict]:
    done = cli("report", samples, "--workspace", workspace, "--json")
    assert done.code == 0, done.err
    return done.objects


@pytest.mark.sweep
def test_every_run_has_tables_with_three_sources(cli: Cli, samples: Path, workspace: Path) -> None:
    rows = report_rows(cli, samples, workspace)
    assert {row["benchmark"] for row in rows} == BENCHMARKS
    assert all(
        {"run", "model", "table", "name", "unit", "official", "rule", "corrected"} <= row.keys()
        for row in rows
    )
    ace = {
        row["name"]: row
        for row in rows
        if row["benchmark"] == "acebench" and row["table"] == "result.xlsx"
    }
    assert ace["Summary"]["official"] == ace["Summary"]["rule"] is not None


@pytest.mark.sweep
def test_review_changes_only_corrected_figure(cli: Cli, samples: Path, workspace: Path) -> None:
    def find_figure(rows: list[dict]) -> dict:
        wanted = ("hammerbench", "zh", "ST_Perfect", "Args_Acc")
        (row,) = [
            r for r in rows if (r["benchmark"], r["language"], r["table"], r["name"]) == wanted
        ]
        return row

    before = find_figure(report_rows(cli, samples, workspace))
    shown = cli(
        "items", samples, "--workspace", workspace, "--json", "--where", f"{CHINESE} rule:fail"
    )
    failing = shown.objects
    item = next((row for row in failing if row["category"] == "ST_Perfect"), None)
    if item is None:
        shown = cli("items", samples, "--workspace", workspace, "--json", "--where", CHINESE)
        rows = shown.objects
        item = next(row for row in rows if row["category"] == "ST_Perfect")
    verdict = "fail" if item["rule"] else "pass"
    run = str(item["run"])
    done = cli(
        "label",
        samples,
        item["id"],
        "--run",
        run,
        "--verdict",
        verdict,
        "--annotator",
        "ann",
        "--workspace",
        workspace,
    )
    assert done.code == 0, done.err
    after = find_figure(report_rows(cli, samples, workspace))
    assert (before["reviewed"], after["reviewed"]) == (0, 1)
    text = cli("report", samples, "--workspace", workspace).out
    assert text.count("corrected: reviews of 1 item replace automatic verdicts") == 1
    assert after["rule"] == before["rule"]
    assert after["corrected"] == (0.0 if verdict == "fail" else 1.0) != before["corrected"]


def test_plain_report_names_tables_and_columns(cli: Cli, samples: Path, workspace: Path) -> None:
    done = cli("report", samples / "complexfuncbench", "--workspace", workspace)
    assert done.code == 0, done.err
    assert "as printed" in done.out
    assert "over the records present" in done.out
    assert "Overall Success Rate" in done.out
    assert "corrected" in done.out


def test_schema_is_printed_as_json(cli: Cli) -> None:
    done = cli("schema")
    assert done.code == 0
    assert json.loads(done.out)["title"].startswith("fcreview generic format")


def test_doctor_finds_no_problem_in_sample_runs(cli: Cli, samples: Path, workspace: Path) -> None:
    done = cli("doctor", samples, "--workspace", workspace)
    assert "missing" not in done.out.lower()
    assert "no score files" not in done.out

"""`fcreview report` and `fcreview schema`: tables official, recomputed and corrected, over every benchmark at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHINESE = "benchmark:hammerbench language:zh"
BENCHMARKS = {"bfcl", "acebench", "hammerbench", "confetti", "complexfuncbench", "helpdesk", "generic"}


def fcreview(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fcreview.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report") / "ws"


def report(samples: Path, workspace: Path) -> list[dict]:
    done = fcreview("report", samples, "--workspace", workspace, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_run_has_tables_with_the_three_sources(samples: Path, workspace: Path) -> None:
    rows = report(samples, workspace)
    assert {row["benchmark"] for row in rows} == BENCHMARKS
    assert all({"run", "model", "table", "name", "unit", "official", "rule", "corrected"} <= row.keys() for row in rows)
    ace = {row["name"]: row for row in rows if row["benchmark"] == "acebench" and row["table"] == "result.xlsx"}
    assert ace["Summary"]["official"] == ace["Summary"]["rule"] is not None


def test_a_review_moves_the_corrected_figure_only(samples: Path, workspace: Path) -> None:
    def figure(rows: list[dict]) -> dict:
        wanted = ("hammerbench", "zh", "ST_Perfect", "Args_Acc")
        (row,) = [r for r in rows if (r["benchmark"], r["language"], r["table"], r["name"]) == wanted]
        return row

    before = figure(report(samples, workspace))
    shown = fcreview(
        "items", samples, "--workspace", workspace, "--json", "--where", "benchmark:hammerbench language:zh rule:fail"
    )
    failing = [json.loads(line) for line in shown.stdout.splitlines()]
    item = next((row for row in failing if row["category"] == "ST_Perfect"), None)
    if item is None:
        shown = fcreview(
            "items", samples, "--workspace", workspace, "--json", "--where", "benchmark:hammerbench language:zh"
        )
        rows = [json.loads(line) for line in shown.stdout.splitlines()]
        item = next(row for row in rows if row["category"] == "ST_Perfect")
    verdict = "fail" if item["rule"] else "pass"
    run = str(item["run"])
    done = fcreview(
        "label", samples, item["id"], "--run", run, "--verdict", verdict, "--annotator", "ann", "--workspace", workspace
    )
    assert done.returncode == 0, done.stderr
    after = figure(report(samples, workspace))
    assert after["rule"] == before["rule"]
    assert after["corrected"] == (0.0 if verdict == "fail" else 1.0) != before["corrected"]


def test_the_plain_report_names_table_and_columns(samples: Path, workspace: Path) -> None:
    done = fcreview("report", samples / "complexfuncbench", "--workspace", workspace)
    assert done.returncode == 0, done.stderr
    assert "as printed" in done.stdout
    assert "over the records present" in done.stdout
    assert "Overall Success Rate" in done.stdout
    assert "corrected" in done.stdout


def test_schema_is_printed_as_json() -> None:
    done = fcreview("schema")
    assert done.returncode == 0
    assert json.loads(done.stdout)["title"].startswith("fcreview generic format")


def test_doctor_misses_nothing_in_the_sample_runs(samples: Path, workspace: Path) -> None:
    done = fcreview("doctor", samples, "--workspace", workspace)
    assert "missing" not in done.stdout.lower()
    assert "no score files" not in done.stdout

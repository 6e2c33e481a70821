"""`fcreview report --html` and `--markdown` write the whole report for every benchmark and for
hostile runs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.exporters.page_reader import read_page


@pytest.mark.sweep
def test_page_has_whole_report(cli: Cli, two_imported_runs: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    for name, verdict in (("alice", "pass"), ("bob", "fail")):
        done = cli(
            "label",
            two_imported_runs,
            "simple_python_1",
            "--run",
            "maple",
            "--verdict",
            verdict,
            "--annotator",
            name,
        )
        assert done.code == 0, done.err
    done = cli(
        "queue",
        "create",
        two_imported_runs,
        "--name",
        "pilot",
        "--size",
        "4",
        "--annotators",
        "alice,bob",
    )
    assert done.code == 0, done.err
    done = cli("report", two_imported_runs, "--html", target)
    assert (done.code, done.out) == (0, ""), done.err
    found = read_page(target.read_text())
    assert found.faults == []
    titles = ("Pass rate by category", "Scores", "Metrics of each run", "Failure clusters")
    titles += ("Why items fail", "Inter-annotator agreement", "Review progress", "Item selection")
    assert set(titles) <= set(found.texts)
    # The item with the open disagreement still fails, so it is the example of its cluster.
    assert {
        "run 1: birch",
        "run 2: maple",
        "simple_python_1",
        'city "Rome" (golden "Oslo")',
        "pilot",
    } <= set(found.texts)
    assert {"16.7 % · 1 open", "1 · 16.67 % to 33.33 %"} <= set(found.texts)
    assert {"value_error:string", "16.67 %", "100.00 %", "4 of 12"} <= set(found.texts)
    # The command `agreement` has the same line.
    done = cli("agreement", two_imported_runs)
    assert (
        done.out.split("\n")[0]
        == "reviews that were not blind: 2 annotators (alice, bob), 2 labels"
    )
    assert done.out.split("\n")[0] in found.texts


def test_hostile_run_is_shown_as_text(
    cli: Cli, hostile_run: Path, tmp_path: Path, raw: tuple[str, ...]
) -> None:
    assert cli("report", hostile_run, "--html", tmp_path / "report.html").code == 0
    text = (tmp_path / "report.html").read_text()
    assert read_page(text).faults == []
    assert not any(char in text for char in raw)
    done = cli("report", hostile_run, "--markdown")
    assert done.code == 0
    assert not any(char in done.out for char in raw)


@pytest.mark.sweep
@pytest.mark.slow
def test_every_benchmark_has_page(cli: Cli, samples: Path, tmp_path: Path) -> None:
    done = cli(
        "report", samples, "--workspace", tmp_path / "ws", "--html", tmp_path / "report.html"
    )
    assert done.code == 0, done.err
    found = read_page((tmp_path / "report.html").read_text())
    assert found.faults == []
    assert {"result.xlsx", "Args_Acc"} <= set(found.texts)
    assert any(text.startswith("combined: ") for text in found.texts)


def test_single_run(cli: Cli, two_imported_runs: Path) -> None:
    out = cli("report", two_imported_runs, "--run", "2", "--markdown").out
    assert "### run 2: maple" in out
    assert "birch" not in out
    assert "Best of" not in out, "one run is not compared"
    assert "5 failing items" in out


@pytest.mark.sweep
def test_page_has_estimates_of_sample(cli: Cli, two_imported_runs: Path, tmp_path: Path) -> None:
    """The page has the intervals of `fcreview estimate`."""

    def report_texts() -> list[str]:
        assert (
            cli("report", two_imported_runs, "--force", "--html", tmp_path / "report.html").code
            == 0
        )
        found = read_page((tmp_path / "report.html").read_text())
        assert found.faults == []
        return found.texts

    assert "items passed, est. [95 % CI]" not in report_texts()
    options = ("--name", "pilot", "--run", "maple", "--size", "4", "--annotators", "alice")
    assert cli("queue", "create", two_imported_runs, *options).code == 0
    for item in cli("queue", "show", two_imported_runs, "pilot", "--json").objects[1:]:
        options = ("--run", "maple", "--verdict", "pass", "--annotator", "alice")
        assert cli("label", two_imported_runs, item["id"], *options).code == 0
    estimated = [
        each
        for each in cli("estimate", two_imported_runs, "--json").objects
        if each["low"] is not None
    ]
    assert estimated
    texts = report_texts()
    assert "items passed, est. [95 % CI]" in texts
    for each in estimated:
        shown = [
            f"[{100 * each['low']:.{digits}f}, {100 * each['high']:.{digits}f}]"
            for digits in (1, 2)
        ]
        assert any(interval in text for text in texts for interval in shown), each
    assert sum(text.endswith("; 4 sampled") for text in texts) == len(estimated)


def test_page_has_suspects_of_command(cli: Cli, two_imported_runs: Path, tmp_path: Path) -> None:
    listed = [
        each for each in cli("suspects", two_imported_runs, "--json").objects if each["reasons"]
    ]
    assert listed
    assert cli("report", two_imported_runs, "--html", tmp_path / "report.html").code == 0
    texts = read_page((tmp_path / "report.html").read_text()).texts
    assert "Golden answers that look wrong" in texts
    counts = cli("suspects", two_imported_runs).out.splitlines()[0]
    assert any(text.startswith(counts) for text in texts)
    for each in listed:
        assert any(text.startswith(each["reasons"][0]) for text in texts), each


@pytest.mark.sweep
def test_page_has_calibration_of_command(cli: Cli, two_imported_runs: Path, tmp_path: Path) -> None:
    for at, verdict in enumerate(("pass", "fail", "fail", "pass")):
        options = ("--run", "maple", "--verdict", verdict, "--annotator", "alice")
        assert cli("label", two_imported_runs, f"simple_python_{at}", *options).code == 0
    figures = [
        each
        for each in cli("calibrate", two_imported_runs, "--by", "overall", "--json").objects
        if "rates" in each
    ]
    assert {each["source"] for each in figures} == {"official", "rule"}
    assert cli("report", two_imported_runs, "--html", tmp_path / "report.html").code == 0
    found = read_page((tmp_path / "report.html").read_text())
    assert found.faults == []
    assert "Calibration of automatic verdicts" in found.texts
    assert any(
        text.startswith("The items were chosen by hand, so the measures describe only these items.")
        for text in found.texts
    )
    for each in figures:
        name = {"rule": "recomputed"}.get(each["source"], each["source"])
        at = found.texts.index(f"{name} · correct · by hand")
        assert found.texts[at + 1] == "4"
        rates = {rate["metric"]: rate for rate in each["rates"]}
        low, high = (f"{100 * rates['agreement'][end]:.1f}" for end in ("low", "high"))
        assert f"[{low}, {high}]" in found.texts[at : at + 60]


def test_item_reviewed_as_pass_is_not_failing(cli: Cli, two_imported_runs: Path) -> None:
    assert (
        cli(
            "label", two_imported_runs, "simple_python_1", "--run", "maple", "--verdict", "pass"
        ).code
        == 0
    )
    assert "4 failing items" in cli("report", two_imported_runs, "--markdown").out


def test_output_forms_exclude_each_other(cli: Cli, two_imported_runs: Path, tmp_path: Path) -> None:
    for forms in (
        ["--markdown", "--json"],
        ["--html", tmp_path / "x", "--json"],
        ["--html", tmp_path / "x", "--markdown"],
    ):
        done = cli("report", two_imported_runs, *forms)
        assert (done.code, done.out) == (2, "")
        assert "Pass only one of them" in done.err
    assert not (tmp_path / "x").exists()


def test_unwritable_output_is_reported(cli: Cli, two_imported_runs: Path, tmp_path: Path) -> None:
    done = cli("report", two_imported_runs, "--html", tmp_path)
    assert done.code == 1
    assert "is a folder" in done.err

"""`fcreview check` says whether the scores of runs are real."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.run_check import LINE_TITLES
from tests.cli.conftest import CATEGORY, RIGHT, Cli, write_dataset, write_model

TIMED_OUT = "Error during inference: Request timed out."


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """A run whose recomputed verdicts equal the official ones."""
    root = tmp_path / "bench"
    write_dataset(root, 4)
    write_model(root, "gpt-4o-2024-11-20", [RIGHT] * 4, {})
    return root


def make_incident(root: Path) -> None:
    write_model(
        root, "gpt-4o-2024-11-20", [RIGHT] * 3 + [TIMED_OUT], {3: "ast_decoder:decoder_failed"}
    )


def read_line(objects: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(line for line in objects[0]["lines"] if line["name"] == name)


def test_a_clean_run_is_ok(cli: Cli, clean: Path) -> None:
    done = cli("check", clean)
    assert done.code == 0, done.out
    assert "1 run, no problem" in done.out
    assert [title for title in LINE_TITLES.values() if title not in done.out] == []


def test_json_has_an_object_for_each_run(cli: Cli, clean: Path) -> None:
    done = cli("check", clean, "--json")
    assert done.code == 0
    (value,) = done.objects
    assert (value["run"], value["run_name"], value["ok"]) == (1, "gpt-4o-2024-11-20", True)
    assert [line["name"] for line in value["lines"]] == list(LINE_TITLES)
    assert all(
        line.keys() == {"name", "state", "count", "expected", "where", "detail"}
        for line in value["lines"]
    )
    assert {line["state"] for line in value["lines"]} <= {"ok", "unknown"}


def test_missing_items_are_a_problem(cli: Cli, clean: Path) -> None:
    write_dataset(clean, 9)
    done = cli("check", clean, "--json")
    assert done.code == 1
    line = read_line(done.objects, "items")
    assert (line["state"], line["count"], line["expected"]) == ("problem", 5, 9)


def test_an_incident_is_a_problem_with_a_filter(cli: Cli, clean: Path) -> None:
    make_incident(clean)
    done = cli("check", clean)
    assert done.code == 1
    assert "!      incidents                1 timeout" in done.out
    assert "--where 'incident:any'" in done.out
    line = read_line(cli("check", clean, "--json").objects, "incidents")
    found = cli("items", clean, "--where", line["where"], "--json").objects
    assert [row["id"] for row in found] == [f"{CATEGORY}_3"]


def test_incidents_can_be_allowed(cli: Cli, clean: Path) -> None:
    make_incident(clean)
    assert cli("check", clean, "--max-incidents", "1").code == 0


def make_difference(root: Path) -> None:
    """Write a score file with a failing entry for a right answer."""
    write_model(root, "gpt-4o-2024-11-20", [RIGHT] * 4, {1: "value_error:string"})


def test_another_recomputed_verdict_is_a_problem(cli: Cli, clean: Path) -> None:
    make_difference(clean)
    done = cli("check", clean, "--json")
    assert done.code == 1
    line = read_line(done.objects, "differences")
    assert (line["state"], line["count"], line["expected"]) == ("problem", 1, 4)
    assert "official fail, recomputed pass" in line["detail"]
    assert [
        row["id"] for row in cli("items", clean, "--where", line["where"], "--json").objects
    ] == [f"{CATEGORY}_1"]


@pytest.mark.parametrize(("share", "code"), [("25%", 0), ("0.25", 0), ("24.9%", 1), ("0", 1)])
def test_differences_can_be_allowed(cli: Cli, clean: Path, share: str, code: int) -> None:
    make_difference(clean)
    assert cli("check", clean, "--max-difference", share).code == code


@pytest.mark.parametrize("share", ["5", "-1%", "x", "1%%", "nan", "101%"])
def test_an_invalid_share_is_wrong_usage(cli: Cli, clean: Path, share: str) -> None:
    done = cli("check", clean, "--max-difference", share)
    assert (done.code, done.out) == (2, "")


def test_without_scores_and_dataset_nothing_is_a_problem(cli: Cli, clean: Path) -> None:
    shutil.rmtree(clean / "score")
    shutil.rmtree(clean / "data")
    done = cli("check", clean, "--json")
    assert done.code == 0, done.out
    states = {line["name"]: line["state"] for line in done.objects[0]["lines"]}
    assert (
        states["items"]
        == states["differences"]
        == states["dataset"]
        == states["scored_twice"]
        == "unknown"
    )


def test_a_failed_command_prints_nothing_to_stdout(cli: Cli, tmp_path: Path) -> None:
    done = cli("check", tmp_path / "missing", "--json")
    assert (done.code, done.out) == (1, "") and done.err


def test_one_run_can_be_selected(cli: Cli, clean: Path) -> None:
    make_incident(clean)
    write_model(clean, "other", [RIGHT] * 4, {})
    assert [each["run_name"] for each in cli("check", clean, "--json").objects] == [
        "gpt-4o-2024-11-20",
        "other",
    ]
    done = cli("check", clean, "--run", "other", "--json")
    assert done.code == 0 and [each["run_name"] for each in done.objects] == ["other"]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("beside", "found beside the run"),
        ("option", "chosen by --data"),
        ("remembered", "remembered from an earlier command"),
        ("environment", "found by FCREVIEW_DATA"),
        ("configuration", "found by the configuration"),
    ],
)
def test_the_choice_of_the_dataset_is_shown(
    cli: Cli, clean: Path, tmp_path: Path, how: str, reason: str
) -> None:
    folder = clean / "data"
    if how != "beside":
        folder = tmp_path / "elsewhere" / "bfcl"
        shutil.move(clean / "data", folder)
    config = tmp_path / "config.toml"
    config.write_text(f'data = ["{folder}"]\n' if how == "configuration" else "")
    environment = {"FCREVIEW_CONFIG": str(config)}
    if how == "environment":
        environment["FCREVIEW_DATA"] = str(folder)
    options = ["--data", str(folder)] if how in ("option", "remembered") else []
    if how == "remembered":
        cli("import", clean, *options, **environment)
        make_incident(clean)  # so that the run is read again
        options = []

    detail = read_line(cli("check", clean, *options, "--json", **environment).objects, "dataset")[
        "detail"
    ]
    assert detail == f"V4, {folder} ({reason})"
    assert cli("runs", clean, "--json", **environment).objects[0]["dataset_version"] == "V4"


def test_the_import_names_runs_with_problems(cli: Cli, clean: Path) -> None:
    assert "fcreview check" not in cli("import", clean).out
    make_incident(clean)
    write_dataset(clean, 9)
    out = cli("import", clean).out
    problem = "5 of 9 items not run, 1 incident"
    assert f"! gpt-4o-2024-11-20: {problem}: run fcreview check {clean}" in out
    (row,) = [each for each in cli("import", clean, "--json").objects if each["kind"] == "run"]
    assert row["problems"] == problem


def test_details_are_sanitised(
    cli: Cli, tmp_path: Path, hostile: str, raw: tuple[str, ...]
) -> None:
    root = tmp_path / "bench"
    write_dataset(root, 2)
    write_model(root, "oak", [RIGHT, RIGHT], {0: f"error {hostile}"})
    out = cli("check", root).out
    assert "evil" in out and not any(char in out for char in raw)


def test_the_report_has_the_problems_of_each_run(cli: Cli, clean: Path) -> None:
    assert "! " not in cli("report", clean).out
    make_incident(clean)
    assert "! 1 incident: run fcreview check for details" in cli("report", clean).out
    assert {row["problems"] for row in cli("report", clean, "--json").objects} == {"1 incident"}


def test_the_full_report_has_a_table_for_each_run(cli: Cli, clean: Path, tmp_path: Path) -> None:
    make_incident(clean)
    write_model(clean, "other", [RIGHT] * 4, {})
    out = cli("report", clean, "--markdown").out
    section = out[out.index("## Is this score real?") :]
    assert "1 of 2 runs with a problem" in section
    assert section.index("run 1: gpt-4o-2024-11-20") < section.index("run 2: other"), (
        "problems come first"
    )
    assert "| `!` | incidents | 1 timeout | incident:any |" in section

    page = tmp_path / "report.html"
    assert cli("report", clean, "--html", page).code == 0
    text = page.read_text()
    assert "Is this score real?" in text and "incident:any" in text and "1 timeout" in text


def test_the_section_of_the_report_is_folded_without_problems(
    cli: Cli, clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "report.html"
    title = "<summary>Is this score real?</summary>"
    cli("report", clean, "--html", page)
    assert title in page.read_text()

    # The report can take a minute, so it is not computed for a path that it cannot have.
    with monkeypatch.context() as patch:
        patch.setattr("fcreview.cli.commands.report.build_report_page", None)
        refused = cli("report", clean, "--html", page)
    assert refused.code == 1 and "the file already exists. Pass --force" in refused.err

    make_incident(clean)
    cli("report", clean, "--html", page, "--force")
    assert title not in page.read_text() and "Is this score real?" in page.read_text()


def test_a_run_that_cannot_be_imported_is_a_problem(cli: Cli, clean: Path) -> None:
    """The other runs are checked, and the exit code says that not all are."""
    (clean / "notes.jsonl").write_text('{"fcreview": 1, "model": "broken"}\nno JSON\n')
    done = cli("check", clean, "--json")
    assert [(each["run_name"], each["ok"]) for each in done.objects] == [
        ("gpt-4o-2024-11-20", True)
    ]
    assert done.code == 1 and "broken" in done.err

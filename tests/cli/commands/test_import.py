"""`fcreview import` imports runs and reports issues, and commands find the workspace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


def filter_kind(done: Any, kind: str) -> list[dict[str, Any]]:
    return [each for each in done.objects if each["kind"] == kind]


def test_import_prints_summary(cli: Cli, two_runs: Path) -> None:
    done = cli("import", two_runs)
    assert done.code == 0
    assert "maple" in done.out
    assert "16.7 %" in done.out
    assert "12 items in 2 runs" in done.out


def test_json_has_one_object_per_run_and_issue(cli: Cli, two_runs: Path) -> None:
    done = cli("import", two_runs, "--json")
    runs = {run["model"]: run for run in filter_kind(done, "run")}
    assert {each["kind"] for each in done.objects} <= {"run", "issue"}
    assert runs["maple"]["items"] == 6
    assert (runs["maple"]["official_pass"], runs["maple"]["official_known"]) == (1, 6)
    assert (runs["birch"]["benchmark"], runs["birch"]["status"]) == ("bfcl", "imported")


def test_unchanged_run_is_not_imported_again(cli: Cli, one_run: Path) -> None:
    cli("import", one_run)
    assert [run["status"] for run in filter_kind(cli("import", one_run, "--json"), "run")] == [
        "unchanged"
    ]


@pytest.mark.sweep
def test_every_command_imports_changed_run(cli: Cli, one_run: Path) -> None:
    assert cli("items", one_run, "--json").objects[4]["n_predicted"] == 0
    file = next((one_run / "result").rglob("*.json"))
    file.write_text(file.read_text().replace("I cannot do that.", "[get_weather(city='Oslo')]"))
    assert cli("items", one_run, "--json").objects[4]["n_predicted"] == 1


@pytest.mark.sweep
def test_invalid_line_is_issue_and_rest_is_imported(cli: Cli, one_run: Path) -> None:
    file = next((one_run / "result").rglob("*.json"))
    file.write_text(file.read_text() + '{"id": "simple_python_9", "resu')
    done = cli("import", one_run, "--json")
    assert done.code == 0
    assert filter_kind(done, "run")[0]["items"] >= 6
    assert any(
        issue["line"] == 7 and issue["file"].endswith(file.name)
        for issue in filter_kind(done, "issue")
    )
    assert "1 issue of unchanged runs" in cli("import", one_run).out
    assert f"{file.name}:7" in cli("import", one_run, "--workspace", one_run.parent / "other").out


def test_path_without_runs_exits_with_1(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = cli("import", "empty")
    assert done.code == 1
    assert "no run" in done.err
    assert cli("items", "empty").code == 1
    assert not (tmp_path / "empty" / ".fcreview").exists()


def test_workspace_option_sets_folder(cli: Cli, one_run: Path, tmp_path: Path) -> None:
    assert cli("import", one_run, "--workspace", "reviews").code == 0
    assert (tmp_path / "reviews" / ".fcreview" / "store.duckdb").exists()
    assert not (one_run / ".fcreview").exists()
    assert len(cli("items", "reviews", "--json").objects) == 6


def test_several_paths_share_workspace_of_common_folder(cli: Cli, two_runs: Path) -> None:
    done = cli("import", two_runs / "result" / "maple", two_runs / "result" / "birch", "--json")
    assert {run["model"] for run in filter_kind(done, "run")} == {"maple", "birch"}
    assert (two_runs / "result" / ".fcreview").is_dir()


def test_missing_dataset_folder_is_error(cli: Cli, one_run: Path) -> None:
    done = cli("items", one_run, "--data", "nowhere")
    assert (done.code, done.out) == (1, "")
    assert "--data nowhere" in done.err


def test_unknown_format_is_wrong_usage(cli: Cli, one_run: Path) -> None:
    done = cli("import", one_run, "--format", "nonsense")
    assert done.code == 2
    assert "bfcl" in done.err


def test_runs_lists_rates_and_counts(cli: Cli, two_runs: Path) -> None:
    runs = {run["model"]: run for run in cli("runs", two_runs, "--json").objects}
    assert runs["birch"]["n_items"] == runs["birch"]["official_pass"] == 6
    assert runs["maple"]["categories"][0]["category"] == "simple_python"
    assert "16.7 %" in cli("runs", two_runs).out


@pytest.mark.sweep
def test_configuration_sets_annotator_and_dataset(cli: Cli, one_run: Path, tmp_path: Path) -> None:
    (one_run / "data").rename(tmp_path / "elsewhere")
    config = tmp_path / "config.toml"
    config.write_text(f'annotator = "carol"\ndata = [{json.dumps(str(tmp_path / "elsewhere"))}]\n')
    settings = {"FCREVIEW_CONFIG": str(config), "FCREVIEW_ANNOTATOR": ""}
    done = cli("label", one_run, "simple_python_0", "--verdict", "pass", "--json", **settings)
    assert done.objects[0]["annotator"] == "carol"
    assert {item["n_golden"] for item in cli("items", one_run, "--json", **settings).objects} == {1}


def test_invalid_configuration_is_reported_with_file(
    cli: Cli, one_run: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    for text in ("annotator = 5", "anotator = 'x'", "data = 'x", "data = [1]"):
        config.write_text(text)
        done = cli("items", one_run, FCREVIEW_CONFIG=str(config))
        assert done.code == 1
        assert str(config) in done.err

"""All commands call a run by the same unique name, and a user can name it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

CASES = Path(__file__).parents[1] / "cases" / "run_names"
PROVIDERS = ["gpt-mini · provider-a", "gpt-mini · provider-b"]


@pytest.fixture
def providers(tmp_path: Path) -> Path:
    """Runs of one model at two providers, with a copy of the result file of the first."""
    return Path(shutil.copytree(CASES / "complexfuncbench_providers", tmp_path / "providers"))


def list_names(objects: list[dict[str, Any]]) -> list[str]:
    return [each["run_name"] for each in objects if each.get("kind", "run") == "run"]


def write_config(folder: Path, text: str) -> str:
    file = folder / "config.toml"
    file.write_text(text)
    return str(file)


def test_import_names_runs_of_one_model_by_provider(cli: Cli, providers: Path) -> None:
    done = cli("import", providers, "--json")
    assert list_names(done.objects) == PROVIDERS
    notices = [
        each
        for each in done.objects
        if each["kind"] == "issue" and "a copy of full.jsonl" in each["what"]
    ]
    assert [Path(each["file"]).name for each in notices] == ["full_backup.jsonl"]


def test_a_copy_is_imported_if_its_path_is_given(cli: Cli, providers: Path) -> None:
    copy = providers / "result" / "provider-a" / "gpt-mini" / "full_backup.jsonl"
    assert list_names(cli("import", copy, "--json").objects) == ["gpt-mini"]


def test_a_bfcl_run_in_another_result_folder_has_another_name(cli: Cli, tmp_path: Path) -> None:
    folder = shutil.copytree(CASES / "bfcl_suffixes", tmp_path / "suffixes")
    names = list_names(cli("runs", folder, "--json").objects)
    assert names == ["gpt-4o-2024-11-20-FC", "gpt-4o-2024-11-20-FC · result_v1"]


@pytest.mark.parametrize(
    "command",
    [
        ["runs"],
        ["items"],
        ["report"],
        ["estimate"],
        ["import"],
        ["compare", "1", "2"],
        ["report", "--markdown"],
    ],
)
def test_text_output_has_the_names(cli: Cli, providers: Path, command: list[str]) -> None:
    name, *options = command
    out = cli(name, providers, *options).out
    assert all(run_name in out for run_name in PROVIDERS), out


@pytest.mark.parametrize("command", [["runs"], ["items"], ["report"], ["estimate"], ["import"]])
def test_json_output_has_the_names(cli: Cli, providers: Path, command: list[str]) -> None:
    objects = cli(command[0], providers, *command[1:], "--json").objects
    assert list(dict.fromkeys(list_names(objects))) == PROVIDERS


def test_json_of_a_comparison_has_the_names(cli: Cli, providers: Path) -> None:
    overall = cli("compare", providers, "1", "2", "--json").objects[0]
    assert [overall[side]["run_name"] for side in "ab"] == PROVIDERS


def test_exported_labels_have_the_names(cli: Cli, providers: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    assert cli("export", providers, "--format", "csv", "-o", out).code == 0
    assert all(name in out.read_text() for name in PROVIDERS)
    assert (
        PROVIDERS[0] in cli("sql", providers, "SELECT DISTINCT run_name FROM labels ORDER BY 1").out
    )


@pytest.mark.parametrize("text", ["gpt-mini · provider-b", "gpt-mini provider-b", "2"])
def test_run_option_accepts_a_name(cli: Cli, providers: Path, text: str) -> None:
    rows = cli("items", providers, "--run", text, "--json").objects
    assert {row["run_name"] for row in rows} == {PROVIDERS[1]}


def test_an_ambiguous_model_is_refused_with_the_names(cli: Cli, providers: Path) -> None:
    done = cli("items", providers, "--run", "gpt-mini")
    assert done.code == 1 and all(name in done.err for name in PROVIDERS)


def test_name_option_names_one_run_without_reading_it_again(cli: Cli, providers: Path) -> None:
    cli("import", providers)
    folder = providers / "result" / "provider-b"
    (row,) = cli(
        "import", folder, "--workspace", providers, "--name", "my baseline", "--json"
    ).objects[:1]
    assert (row["run_name"], row["status"]) == ("my baseline", "unchanged")
    assert list_names(cli("runs", providers, "--json").objects) == ["gpt-mini", "my baseline"], (
        "it is remembered"
    )
    assert cli("items", providers, "--run", "my baseline", "--json").objects[0]["run"] == row["run"]

    (row,) = cli("import", folder, "--workspace", providers, "--name", "", "--json").objects[:1]
    assert row["run_name"] == PROVIDERS[1], "an empty name is forgotten"


def test_name_option_refuses_several_runs(cli: Cli, providers: Path) -> None:
    done = cli("import", providers, "--name", "baseline")
    assert done.code == 2 and not done.out
    assert all(name in done.err for name in PROVIDERS)


@pytest.mark.parametrize("pattern", ["*/provider-a/gpt-mini/*", "provider-a/*/full.jsonl"])
def test_configuration_names_a_run_by_its_path(
    cli: Cli, providers: Path, tmp_path: Path, pattern: str
) -> None:
    cli("import", providers)
    config = write_config(tmp_path, f'[run_names]\n"{pattern}" = "baseline"\n')
    objects = cli("runs", providers, "--json", FCREVIEW_CONFIG=config).objects
    assert list_names(objects) == ["baseline", "gpt-mini"]
    assert list_names(cli("runs", providers, "--json").objects) == PROVIDERS, (
        "without the configuration"
    )


def test_runs_with_the_same_configured_name_differ(
    cli: Cli, providers: Path, tmp_path: Path
) -> None:
    config = write_config(tmp_path, '[run_names]\n"gpt-*" = "small"\n')
    objects = cli("runs", providers, "--json", FCREVIEW_CONFIG=config).objects
    assert list_names(objects) == ["small · provider-a", "small · provider-b"]


def test_name_option_takes_precedence_over_the_configuration(
    cli: Cli, providers: Path, tmp_path: Path
) -> None:
    config = write_config(tmp_path, '[run_names]\n"gpt-*" = "small"\n')
    folder = providers / "result" / "provider-a"
    objects = cli("import", folder, "--name", "mine", "--json", FCREVIEW_CONFIG=config).objects
    assert list_names(objects) == ["mine"]


def test_invalid_run_names_are_refused(cli: Cli, providers: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, "[run_names]\nx = 3\n")
    done = cli("runs", providers, FCREVIEW_CONFIG=config)
    assert done.code == 1 and "[run_names]" in done.err


def test_hostile_names_are_sanitised(
    cli: Cli, providers: Path, hostile: str, raw: tuple[str, ...]
) -> None:
    cli("import", providers / "result" / "provider-a", "--name", hostile)
    out = cli("runs", providers / "result" / "provider-a").out
    assert "evil" in out and not any(char in out for char in raw)


def test_runs_in_a_lake_have_the_names_of_the_whole_lake(
    cli: Cli, providers: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    for part in ("1/2", "2/2"):
        objects = cli("import", providers, "--lake", lake, "--part", part, "--json").objects
    assert set(list_names(cli("runs", lake, "--json").objects)) == set(PROVIDERS)
    assert set(list_names(objects)) <= set(PROVIDERS)

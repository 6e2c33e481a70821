"""The dataset of an import is remembered until `--forget-data`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.separate_dataset import (
    SeparateDataset,
    count_facts,
    import_statuses,
    separate_dataset,
)

pytestmark = pytest.mark.slow  # several imports each
Cli = Callable[..., Any]


@pytest.fixture
def paths(one_run: Path, tmp_path: Path) -> SeparateDataset:
    """A run of one model with six items, and its dataset in another folder."""
    return separate_dataset(one_run, tmp_path / "paths")


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("bfcl", "data"),
        ("acebench", "data_all"),
        ("hammerbench", "data"),
        ("confetti", "data"),
        ("complexfuncbench", "data"),
    ],
)
def test_commands_use_dataset_of_import(
    cli: Cli, samples: Path, tmp_path: Path, name: str, data: str
) -> None:
    paths = separate_dataset(samples / name, tmp_path / "paths", data)
    without = count_facts(cli, paths.run, "--workspace", tmp_path / "without")
    assert cli("import", paths.run, "--data", paths.data).code == 0
    full = count_facts(cli, paths.run, "--data", paths.data)
    assert full["n"] > without["n"]
    assert count_facts(cli, paths.run) == full
    assert set(import_statuses(cli, paths.run).values()) == {"unchanged"}
    (paths.run / ".fcreview" / "seen.json").unlink()
    done = cli("items", paths.run)
    assert "dataset" not in done.err


@pytest.mark.sweep
def test_run_without_dataset_has_no_golden_answers(cli: Cli, paths: SeparateDataset) -> None:
    counts = count_facts(cli, paths.run)
    assert (counts["golden"], counts["rule"]) == (0, 0)
    assert count_facts(cli, paths.run, "--data", paths.data)["golden"] == 6
    assert count_facts(cli, paths.run)["golden"] == 6


@pytest.mark.sweep
def test_dataset_is_searched_once(cli: Cli, paths: SeparateDataset) -> None:
    cli("import", paths.run, "--data", paths.data)
    count_facts(cli, paths.run)
    seen = (paths.run / ".fcreview" / "seen.json").stat()
    count_facts(cli, paths.run)
    assert (paths.run / ".fcreview" / "seen.json").stat().st_ino == seen.st_ino


@pytest.mark.sweep
def test_new_dataset_replaces_old_one(cli: Cli, paths: SeparateDataset, tmp_path: Path) -> None:
    def passed() -> list[str]:
        return [item["id"] for item in cli("items", paths.run, "--json").objects if item["rule"]]

    cli("import", paths.run, "--data", paths.data)
    assert passed() == ["simple_python_0"]
    other = tmp_path / "other" / "place" / "shared"
    shutil.copytree(paths.data, other)
    for file in other.rglob("possible_answer/*.json"):
        file.write_text(file.read_text().replace("Oslo", "Rome"))
    assert import_statuses(cli, paths.run, "--data", other) == {"maple": "imported"}
    assert passed() == ["simple_python_1"]
    shutil.rmtree(paths.data)
    assert passed() == ["simple_python_1"]


@pytest.mark.sweep
def test_folder_without_dataset_keeps_old_dataset(
    cli: Cli, paths: SeparateDataset, tmp_path: Path
) -> None:
    cli("import", paths.run, "--data", paths.data)
    (tmp_path / "unfit").mkdir()
    done = cli("import", paths.run, "--data", tmp_path / "unfit", "--json")
    run, *issues = done.objects
    assert run["status"] == "unchanged"
    assert any(
        str(paths.data) in issue["what"] and issue["severity"] == "notice" for issue in issues
    )
    assert count_facts(cli, paths.run)["golden"] == 6


@pytest.mark.sweep
def test_later_run_uses_dataset_of_others(cli: Cli, paths: SeparateDataset) -> None:
    cli("import", paths.run, "--data", paths.data)
    shutil.copytree(paths.run / "result" / "maple", paths.run / "result" / "birch")
    assert count_facts(cli, paths.run) == {
        "n": 4,
        "items": 12,
        "rule": 12,
        "golden": 12,
        "questions": 12,
    }
    assert import_statuses(cli, paths.run) == {"birch": "unchanged", "maple": "unchanged"}


@pytest.mark.sweep
def test_each_run_keeps_its_dataset(cli: Cli, two_runs: Path, tmp_path: Path) -> None:
    paths = separate_dataset(two_runs, tmp_path / "paths")
    other = tmp_path / "other" / "place" / "shared"
    shutil.copytree(paths.data, other)
    for file in other.rglob("*.json"):
        file.write_text(file.read_text().replace("Oslo", "Rome"))
    maple, birch = (paths.run / "result" / name for name in ("maple", "birch"))
    home = ("--workspace", tmp_path / "home")
    assert cli("import", maple, "--data", paths.data, *home).code == 0
    assert cli("import", birch, "--data", other, *home).code == 0
    done = cli("items", paths.run, "--json", *home)
    questions = {(item["model"], "Rome" in item["question"]) for item in done.objects}
    assert questions == {("maple", False), ("birch", True)}
    assert import_statuses(cli, paths.run, *home) == {"birch": "unchanged", "maple": "unchanged"}
    shutil.rmtree(other)
    done = cli("items", paths.run, "--json", *home)
    assert {(item["model"], "Rome" in item["question"]) for item in done.objects} == questions
    assert "birch" in done.err
    assert "maple" not in done.err
    assert import_statuses(cli, paths.run, *home) == {"birch": "kept", "maple": "unchanged"}


@pytest.mark.sweep
def test_dataset_is_found_after_move_with_run(
    cli: Cli, paths: SeparateDataset, tmp_path: Path
) -> None:
    cli("import", paths.run, "--data", paths.data)
    before = count_facts(cli, paths.run)
    (tmp_path / "new").mkdir()
    paths.root.rename(tmp_path / "new" / "name")
    moved = tmp_path / "new" / "name" / "runs"
    done = cli("items", moved, "--json")
    assert "dataset" not in done.err
    assert count_facts(cli, moved) == before
    assert import_statuses(cli, moved) == {"maple": "unchanged"}


@pytest.mark.sweep
def test_rebuilt_store_uses_dataset(cli: Cli, paths: SeparateDataset) -> None:
    cli("import", paths.run, "--data", paths.data)
    before = count_facts(cli, paths.run)
    (paths.run / ".fcreview" / "store.duckdb").unlink()
    assert count_facts(cli, paths.run) == before


@pytest.mark.sweep
def test_forget_data_forgets_dataset(cli: Cli, paths: SeparateDataset) -> None:
    cli("import", paths.run, "--data", paths.data)
    assert import_statuses(cli, paths.run, "--forget-data") == {"maple": "imported"}
    counts = count_facts(cli, paths.run)
    assert (counts["golden"], counts["rule"]) == (0, 0)
    assert cli("items", paths.run).err == cli("items", paths.run).err == "6 items\n"
    assert import_statuses(cli, paths.run, "--data", paths.data, "--forget-data") == {
        "maple": "imported"
    }
    assert count_facts(cli, paths.run)["golden"] == 6
    help_ = " ".join(cli("import", "--help").out.split())
    assert "--forget-data" in help_


def test_doctor_shows_dataset_and_missing_dataset(cli: Cli, paths: SeparateDataset) -> None:
    cli("import", paths.run, "--data", paths.data)
    facts = {
        (fact["kind"], fact["problem"]): fact["value"]
        for fact in cli("doctor", paths.run, "--json").objects
    }
    assert str(paths.data) in facts["dataset", False]
    shutil.rmtree(paths.data)
    facts = {
        (fact["kind"], fact["problem"]): fact["value"]
        for fact in cli("doctor", paths.run, "--json").objects
    }
    assert str(paths.data) in facts["missing", True]
    assert "--data" in facts["missing", True]

"""A dataset that was given once is not forgotten, and a run never gets poorer unless somebody asks for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.separate_dataset import Separate, known, separate, statuses

pytestmark = pytest.mark.slow  # several imports each
Cli = Callable[..., Any]


@pytest.fixture
def apart(one_run: Path, tmp_path: Path) -> Separate:
    """The run of one model, six items, all with a golden answer in the dataset."""
    return separate(one_run, tmp_path / "apart")


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
def test_what_was_given_to_the_import_holds_for_every_command(
    cli: Cli, samples: Path, tmp_path: Path, name: str, data: str
) -> None:
    apart = separate(samples / name, tmp_path / "apart", data)
    without = known(cli, apart.run, "--workspace", tmp_path / "without")
    assert cli("import", apart.run, "--data", apart.data).code == 0
    full = known(cli, apart.run, "--data", apart.data)
    assert full["n"] > without["n"]
    assert known(cli, apart.run) == full
    assert set(statuses(cli, apart.run).values()) == {"unchanged"}
    (apart.run / ".fcreview" / "seen.json").unlink()
    done = cli("items", apart.run)
    assert "dataset" not in done.err


@pytest.mark.sweep
def test_a_run_without_a_dataset_is_as_it_was(cli: Cli, apart: Separate) -> None:
    poor = known(cli, apart.run)
    assert (poor["golden"], poor["rule"]) == (0, 0)
    assert known(cli, apart.run, "--data", apart.data)["golden"] == 6
    assert known(cli, apart.run)["golden"] == 6


@pytest.mark.sweep
def test_nothing_is_searched_again_once_it_was_found(cli: Cli, apart: Separate) -> None:
    cli("import", apart.run, "--data", apart.data)
    known(cli, apart.run)
    seen = (apart.run / ".fcreview" / "seen.json").stat()
    known(cli, apart.run)
    assert (apart.run / ".fcreview" / "seen.json").stat().st_ino == seen.st_ino


@pytest.mark.sweep
def test_another_dataset_takes_its_place(cli: Cli, apart: Separate, tmp_path: Path) -> None:
    def passed() -> list[str]:
        return [item["id"] for item in cli("items", apart.run, "--json").objects if item["rule"]]

    cli("import", apart.run, "--data", apart.data)
    assert passed() == ["simple_python_0"]
    other = tmp_path / "other" / "place" / "shared"
    shutil.copytree(apart.data, other)
    for file in other.rglob("possible_answer/*.json"):
        file.write_text(file.read_text().replace("Oslo", "Rome"))
    assert statuses(cli, apart.run, "--data", other) == {"maple": "imported"}
    assert passed() == ["simple_python_1"]
    shutil.rmtree(apart.data)
    assert passed() == ["simple_python_1"]


@pytest.mark.sweep
def test_a_folder_that_does_not_fit_takes_nothing_away(cli: Cli, apart: Separate, tmp_path: Path) -> None:
    cli("import", apart.run, "--data", apart.data)
    (tmp_path / "unfit").mkdir()
    done = cli("import", apart.run, "--data", tmp_path / "unfit", "--json")
    run, *issues = done.objects
    assert run["status"] == "unchanged"
    assert any(str(apart.data) in issue["what"] and issue["severity"] == "notice" for issue in issues)
    assert known(cli, apart.run)["golden"] == 6


@pytest.mark.sweep
def test_a_run_that_comes_later_gets_what_the_others_have(cli: Cli, apart: Separate) -> None:
    cli("import", apart.run, "--data", apart.data)
    shutil.copytree(apart.run / "result" / "maple", apart.run / "result" / "birch")
    assert known(cli, apart.run) == {"n": 4, "items": 12, "rule": 12, "golden": 12, "questions": 12}
    assert statuses(cli, apart.run) == {"birch": "unchanged", "maple": "unchanged"}


@pytest.mark.sweep
def test_each_run_of_a_workspace_has_its_own_dataset(cli: Cli, two_runs: Path, tmp_path: Path) -> None:
    apart = separate(two_runs, tmp_path / "apart")
    other = tmp_path / "other" / "place" / "shared"
    shutil.copytree(apart.data, other)
    for file in other.rglob("*.json"):
        file.write_text(file.read_text().replace("Oslo", "Rome"))
    maple, birch = (apart.run / "result" / name for name in ("maple", "birch"))
    home = ("--workspace", tmp_path / "home")
    assert cli("import", maple, "--data", apart.data, *home).code == 0
    assert cli("import", birch, "--data", other, *home).code == 0
    done = cli("items", apart.run, "--json", *home)
    asked = {(item["model"], "Rome" in item["question"]) for item in done.objects}
    assert asked == {("maple", False), ("birch", True)}
    assert statuses(cli, apart.run, *home) == {"birch": "unchanged", "maple": "unchanged"}
    shutil.rmtree(other)
    done = cli("items", apart.run, "--json", *home)
    assert {(item["model"], "Rome" in item["question"]) for item in done.objects} == asked
    assert "birch" in done.err
    assert "maple" not in done.err
    assert statuses(cli, apart.run, *home) == {"birch": "kept", "maple": "unchanged"}


@pytest.mark.sweep
def test_it_holds_when_everything_moved_together(cli: Cli, apart: Separate, tmp_path: Path) -> None:
    cli("import", apart.run, "--data", apart.data)
    before = known(cli, apart.run)
    (tmp_path / "new").mkdir()
    apart.root.rename(tmp_path / "new" / "name")
    moved = tmp_path / "new" / "name" / "runs"
    done = cli("items", moved, "--json")
    assert "dataset" not in done.err
    assert known(cli, moved) == before
    assert statuses(cli, moved) == {"maple": "unchanged"}


@pytest.mark.sweep
def test_a_store_that_is_built_again_has_it(cli: Cli, apart: Separate) -> None:
    cli("import", apart.run, "--data", apart.data)
    before = known(cli, apart.run)
    (apart.run / ".fcreview" / "store.duckdb").unlink()
    assert known(cli, apart.run) == before


@pytest.mark.sweep
def test_it_is_forgotten_when_asked_for(cli: Cli, apart: Separate) -> None:
    cli("import", apart.run, "--data", apart.data)
    assert statuses(cli, apart.run, "--forget-data") == {"maple": "imported"}
    poor = known(cli, apart.run)
    assert (poor["golden"], poor["rule"]) == (0, 0)
    assert cli("items", apart.run).err == cli("items", apart.run).err == "6 items\n"
    assert statuses(cli, apart.run, "--data", apart.data, "--forget-data") == {"maple": "imported"}
    assert known(cli, apart.run)["golden"] == 6
    help_ = " ".join(cli("import", "--help").out.split())
    assert "--forget-data" in help_


def test_doctor_says_where_it_comes_from_and_where_it_is_not(cli: Cli, apart: Separate) -> None:
    cli("import", apart.run, "--data", apart.data)
    facts = {(fact["kind"], fact["problem"]): fact["value"] for fact in cli("doctor", apart.run, "--json").objects}
    assert str(apart.data) in facts["dataset", False]
    shutil.rmtree(apart.data)
    facts = {(fact["kind"], fact["problem"]): fact["value"] for fact in cli("doctor", apart.run, "--json").objects}
    assert str(apart.data) in facts["missing", True]
    assert "--data" in facts["missing", True]

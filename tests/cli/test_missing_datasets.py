"""If a dataset is missing, the last import is kept and one line names the run, the dataset and
the option to use.
"""

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
from tests.examples import LONG

pytestmark = pytest.mark.slow  # several imports each
Cli = Callable[..., Any]


@pytest.fixture
def paths(cli: Cli, one_run: Path, tmp_path: Path) -> SeparateDataset:
    """A run imported with a dataset in another folder."""
    paths = separate_dataset(one_run, tmp_path / "paths")
    assert cli("import", paths.run, "--data", paths.data).code == 0
    return paths


def dataset_warnings(cli: Cli, path: Path) -> list[str]:
    """Return the lines about datasets that `items` prints on standard error."""
    done = cli("items", path, "--json")
    assert done.code == 0
    return [line for line in done.err.splitlines() if "dataset" in line]


def change_results(run: Path) -> None:
    file = next(run.rglob("*_result.json"))
    file.write_text(file.read_text().replace("I cannot do that.", "[get_weather(city='Oslo')]"))


def fifth_call_count(cli: Cli, path: Path) -> int:
    """Return the number of predicted calls of the item that `change_results` changes."""
    return int(cli("items", path, "--json").objects[4]["n_predicted"])


@pytest.mark.sweep
def test_last_import_is_kept_with_one_warning(cli: Cli, paths: SeparateDataset) -> None:
    before = count_facts(cli, paths.run)
    paths.data.rename(paths.data.with_name("gone"))
    assert count_facts(cli, paths.run) == before
    for _ in range(2):
        (line,) = dataset_warnings(cli, paths.run)
        assert all(part in line for part in ("maple", str(paths.data), "--data DIR", "kept"))
    done = cli("import", paths.run, "--json")
    (run,) = (each for each in done.objects if each["kind"] == "run")
    assert (done.code, run["status"], run["missing_dataset"], run["items"]) == (
        0,
        "kept",
        str(paths.data),
        6,
    )
    assert str(paths.data) in done.err
    assert "kept" in cli("import", paths.run).out
    paths.data.with_name("gone").rename(paths.data)
    assert dataset_warnings(cli, paths.run) == []
    (run,) = (each for each in cli("import", paths.run, "--json").objects if each["kind"] == "run")
    assert (run["status"], run["missing_dataset"]) == ("unchanged", None)


@pytest.mark.sweep
def test_empty_mount_point_is_missing_dataset(cli: Cli, paths: SeparateDataset) -> None:
    before = count_facts(cli, paths.run)
    shutil.rmtree(paths.data)
    paths.data.mkdir()
    assert count_facts(cli, paths.run) == before
    assert len(dataset_warnings(cli, paths.run)) == 1


@pytest.mark.sweep
def test_dataset_without_answers_is_missing(cli: Cli, paths: SeparateDataset) -> None:
    before = count_facts(cli, paths.run)
    shutil.rmtree(paths.data / "possible_answer")
    assert count_facts(cli, paths.run) == before
    assert len(dataset_warnings(cli, paths.run)) == 1
    assert import_statuses(cli, paths.run, "--forget-data") == {"maple": "imported"}
    assert count_facts(cli, paths.run)["golden"] == 0


@pytest.mark.sweep
def test_moved_dataset_beside_run_keeps_import(cli: Cli, one_run: Path, tmp_path: Path) -> None:
    before = count_facts(cli, one_run)
    (one_run / "data").rename(tmp_path / "elsewhere")
    assert count_facts(cli, one_run) == before
    (line,) = dataset_warnings(cli, one_run)
    assert str(one_run / "data") in line
    assert count_facts(cli, one_run, "--data", tmp_path / "elsewhere") == before
    assert dataset_warnings(cli, one_run) == []
    (tmp_path / "elsewhere").rename(one_run / "data")
    assert count_facts(cli, one_run) == before


@pytest.mark.sweep
def test_dataset_of_environment_is_remembered(cli: Cli, one_run: Path, tmp_path: Path) -> None:
    paths = separate_dataset(one_run, tmp_path / "paths")
    cli("import", paths.run, FCREVIEW_DATA=str(paths.data))
    before = count_facts(cli, paths.run)
    assert before["golden"] == 6
    (line,) = dataset_warnings(cli, paths.run)
    assert str(paths.data) in line
    paths.data.rename(paths.data.with_name("moved"))
    cli("import", paths.run, FCREVIEW_DATA=str(paths.data.with_name("moved")))
    assert count_facts(cli, paths.run) == before


@pytest.mark.sweep
def test_data_option_finds_moved_dataset(cli: Cli, paths: SeparateDataset) -> None:
    before = count_facts(cli, paths.run)
    moved = paths.data.with_name("moved")
    paths.data.rename(moved)
    assert import_statuses(cli, paths.run, "--data", moved) == {"maple": "imported"}
    assert dataset_warnings(cli, paths.run) == []
    assert count_facts(cli, paths.run) == before


@pytest.mark.sweep
def test_other_dataset_does_not_replace_missing_one(
    cli: Cli, paths: SeparateDataset, tmp_path: Path
) -> None:
    """A dataset beside the run does not replace the missing dataset of --data."""
    other = paths.run / "data"
    shutil.copytree(paths.data, other)
    for file in other.rglob("possible_answer/*.json"):
        file.write_text(file.read_text().replace("Oslo", "Rome"))
    right = [item["rule"] for item in cli("items", paths.run, "--json").objects]
    paths.data.rename(paths.data.with_name("gone"))
    assert [item["rule"] for item in cli("items", paths.run, "--json").objects] == right
    assert len(dataset_warnings(cli, paths.run)) == 1
    assert import_statuses(cli, paths.run, "--forget-data") == {"maple": "imported"}
    assert [item["rule"] for item in cli("items", paths.run, "--json").objects] != right
    assert dataset_warnings(cli, paths.run) == []


@pytest.mark.sweep
def test_changed_results_wait_for_missing_dataset(cli: Cli, paths: SeparateDataset) -> None:
    before = count_facts(cli, paths.run)
    paths.data.rename(paths.data.with_name("gone"))
    change_results(paths.run)
    assert count_facts(cli, paths.run) == before
    assert fifth_call_count(cli, paths.run) == 0
    (line,) = dataset_warnings(cli, paths.run)
    assert "changed" in line
    done = cli("import", paths.run, "--json")
    assert (done.code, [each["status"] for each in done.objects if each["kind"] == "run"]) == (
        1,
        ["outdated"],
    )
    paths.data.with_name("gone").rename(paths.data)
    assert fifth_call_count(cli, paths.run) == 1
    assert count_facts(cli, paths.run) == before


@pytest.mark.sweep
def test_forget_data_imports_changed_results(cli: Cli, paths: SeparateDataset) -> None:
    shutil.rmtree(paths.data)
    change_results(paths.run)
    assert cli("import", paths.run, "--forget-data").code == 0
    assert fifth_call_count(cli, paths.run) == 1
    assert dataset_warnings(cli, paths.run) == []


@pytest.mark.sweep
def test_store_rebuilt_without_dataset_is_completed_later(cli: Cli, paths: SeparateDataset) -> None:
    before = count_facts(cli, paths.run)
    paths.data.rename(paths.data.with_name("gone"))
    (paths.run / ".fcreview" / "store.duckdb").unlink()
    for _ in range(2):
        (line,) = dataset_warnings(cli, paths.run)
        assert all(part in line for part in ("maple", str(paths.data), "--data DIR"))
        assert "kept" not in line
    assert count_facts(cli, paths.run)["golden"] == 0
    change_results(paths.run)
    assert fifth_call_count(cli, paths.run) == 1
    paths.data.with_name("gone").rename(paths.data)
    assert dataset_warnings(cli, paths.run) == []
    assert count_facts(cli, paths.run) == before


@pytest.mark.sweep
@pytest.mark.parametrize(
    "content",
    [None, b'{"x": [{"at": 1}], "y": 2}', *([b"", b"[1]", b'{"a"', b"\xff"] if LONG else [])],
)
def test_damaged_datasets_file_gives_one_warning(
    cli: Cli, paths: SeparateDataset, content: bytes | None
) -> None:
    before = count_facts(cli, paths.run)
    file = paths.run / ".fcreview" / "datasets.json"
    file.unlink() if content is None else file.write_bytes(content)
    (paths.run / ".fcreview" / "seen.json").unlink()
    assert count_facts(cli, paths.run) == before
    assert len(dataset_warnings(cli, paths.run)) == 1
    count_facts(cli, paths.run, "--data", paths.data)
    assert dataset_warnings(cli, paths.run) == []


@pytest.mark.sweep
def test_deleted_result_removes_only_its_items(cli: Cli, samples: Path, tmp_path: Path) -> None:
    """The unused part of the dataset is not reported as missing."""
    paths = separate_dataset(samples / "bfcl", tmp_path / "many")
    cli("import", paths.run, "--data", paths.data)
    before = count_facts(cli, paths.run)
    for file in paths.run.rglob("*simple_java_*"):
        file.unlink()
    after = count_facts(cli, paths.run)
    assert 0 < before["items"] - after["items"] < before["items"]
    assert dataset_warnings(cli, paths.run) == []


@pytest.mark.sweep
def test_missing_dataset_of_many_runs_gives_one_warning(cli: Cli, paths: SeparateDataset) -> None:
    for name in ("birch", "cedar", "larch"):
        shutil.copytree(paths.run / "result" / "maple", paths.run / "result" / name)
    cli("import", paths.run)
    shutil.rmtree(paths.data)
    (line,) = dataset_warnings(cli, paths.run)
    assert "4 runs" in line

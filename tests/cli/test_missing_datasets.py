"""A dataset that is lost costs nothing: the last import is kept, and one line says which run, where and what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.separate_dataset import Separate, known, separate, statuses
from tests.examples import LONG

pytestmark = pytest.mark.slow  # several imports each
Cli = Callable[..., Any]


@pytest.fixture
def apart(cli: Cli, one_run: Path, tmp_path: Path) -> Separate:
    """A run that was imported with a dataset elsewhere."""
    place = separate(one_run, tmp_path / "apart")
    assert cli("import", place.run, "--data", place.data).code == 0
    return place


def told(cli: Cli, path: Path) -> list[str]:
    """What `items` says of datasets, on standard error."""
    done = cli("items", path, "--json")
    assert done.code == 0
    return [line for line in done.err.splitlines() if "dataset" in line]


def change_results(run: Path) -> None:
    file = next(run.rglob("*_result.json"))
    file.write_text(file.read_text().replace("I cannot do that.", "[get_weather(city='Oslo')]"))


def fifth(cli: Cli, path: Path) -> int:
    """Calls of the item whose result `change_results` changes."""
    return int(cli("items", path, "--json").objects[4]["n_predicted"])


@pytest.mark.sweep
def test_the_last_import_is_kept_and_one_line_says_so(cli: Cli, apart: Separate) -> None:
    before = known(cli, apart.run)
    apart.data.rename(apart.data.with_name("gone"))
    assert known(cli, apart.run) == before
    for _ in range(2):
        (line,) = told(cli, apart.run)
        assert all(part in line for part in ("maple", str(apart.data), "--data DIR", "kept"))
    done = cli("import", apart.run, "--json")
    (run,) = (each for each in done.objects if each["kind"] == "run")
    assert (done.code, run["status"], run["missing_dataset"], run["items"]) == (0, "kept", str(apart.data), 6)
    assert str(apart.data) in done.err
    assert "kept" in cli("import", apart.run).out
    apart.data.with_name("gone").rename(apart.data)
    assert told(cli, apart.run) == []
    (run,) = (each for each in cli("import", apart.run, "--json").objects if each["kind"] == "run")
    assert (run["status"], run["missing_dataset"]) == ("unchanged", None)


@pytest.mark.sweep
def test_an_empty_mount_point_is_no_dataset(cli: Cli, apart: Separate) -> None:
    before = known(cli, apart.run)
    shutil.rmtree(apart.data)
    apart.data.mkdir()
    assert known(cli, apart.run) == before
    assert len(told(cli, apart.run)) == 1


@pytest.mark.sweep
def test_a_part_that_is_lost_is_lost(cli: Cli, apart: Separate) -> None:
    before = known(cli, apart.run)
    shutil.rmtree(apart.data / "possible_answer")
    assert known(cli, apart.run) == before
    assert len(told(cli, apart.run)) == 1
    assert statuses(cli, apart.run, "--forget-data") == {"maple": "imported"}
    assert known(cli, apart.run)["golden"] == 0


@pytest.mark.sweep
def test_a_dataset_that_lay_beside_the_run_is_kept_too(cli: Cli, one_run: Path, tmp_path: Path) -> None:
    before = known(cli, one_run)
    (one_run / "data").rename(tmp_path / "elsewhere")
    assert known(cli, one_run) == before
    (line,) = told(cli, one_run)
    assert str(one_run / "data") in line
    assert known(cli, one_run, "--data", tmp_path / "elsewhere") == before
    assert told(cli, one_run) == []
    (tmp_path / "elsewhere").rename(one_run / "data")
    assert known(cli, one_run) == before


@pytest.mark.sweep
def test_a_dataset_of_the_environment_is_kept_where_that_says_nothing(cli: Cli, one_run: Path, tmp_path: Path) -> None:
    place = separate(one_run, tmp_path / "apart")
    cli("import", place.run, FCREVIEW_DATA=str(place.data))
    before = known(cli, place.run)
    assert before["golden"] == 6
    (line,) = told(cli, place.run)
    assert str(place.data) in line
    place.data.rename(place.data.with_name("moved"))
    cli("import", place.run, FCREVIEW_DATA=str(place.data.with_name("moved")))
    assert known(cli, place.run) == before


@pytest.mark.sweep
def test_where_it_is_now_can_be_said(cli: Cli, apart: Separate) -> None:
    before = known(cli, apart.run)
    moved = apart.data.with_name("moved")
    apart.data.rename(moved)
    assert statuses(cli, apart.run, "--data", moved) == {"maple": "imported"}
    assert told(cli, apart.run) == []
    assert known(cli, apart.run) == before


@pytest.mark.sweep
def test_no_other_dataset_slips_in(cli: Cli, apart: Separate, tmp_path: Path) -> None:
    """One that is found by itself does not stand in for one that a person chose."""
    other = apart.run / "data"
    shutil.copytree(apart.data, other)
    for file in other.rglob("possible_answer/*.json"):
        file.write_text(file.read_text().replace("Oslo", "Rome"))
    right = [item["rule"] for item in cli("items", apart.run, "--json").objects]
    apart.data.rename(apart.data.with_name("gone"))
    assert [item["rule"] for item in cli("items", apart.run, "--json").objects] == right
    assert len(told(cli, apart.run)) == 1
    assert statuses(cli, apart.run, "--forget-data") == {"maple": "imported"}
    assert [item["rule"] for item in cli("items", apart.run, "--json").objects] != right
    assert told(cli, apart.run) == []


@pytest.mark.sweep
def test_results_that_changed_meanwhile_wait_for_the_dataset(cli: Cli, apart: Separate) -> None:
    before = known(cli, apart.run)
    apart.data.rename(apart.data.with_name("gone"))
    change_results(apart.run)
    assert known(cli, apart.run) == before
    assert fifth(cli, apart.run) == 0
    (line,) = told(cli, apart.run)
    assert "changed" in line
    done = cli("import", apart.run, "--json")
    assert (done.code, [each["status"] for each in done.objects if each["kind"] == "run"]) == (1, ["outdated"])
    apart.data.with_name("gone").rename(apart.data)
    assert fifth(cli, apart.run) == 1
    assert known(cli, apart.run) == before


@pytest.mark.sweep
def test_results_that_changed_are_imported_without_it_when_asked_for(cli: Cli, apart: Separate) -> None:
    shutil.rmtree(apart.data)
    change_results(apart.run)
    assert cli("import", apart.run, "--forget-data").code == 0
    assert fifth(cli, apart.run) == 1
    assert told(cli, apart.run) == []


@pytest.mark.sweep
def test_a_store_that_is_built_again_meanwhile_waits_for_it(cli: Cli, apart: Separate) -> None:
    before = known(cli, apart.run)
    apart.data.rename(apart.data.with_name("gone"))
    (apart.run / ".fcreview" / "store.duckdb").unlink()
    for _ in range(2):
        (line,) = told(cli, apart.run)
        assert all(part in line for part in ("maple", str(apart.data), "--data DIR"))
        assert "kept" not in line
    assert known(cli, apart.run)["golden"] == 0
    change_results(apart.run)
    assert fifth(cli, apart.run) == 1
    apart.data.with_name("gone").rename(apart.data)
    assert told(cli, apart.run) == []
    assert known(cli, apart.run) == before


@pytest.mark.sweep
@pytest.mark.parametrize(
    "content", [None, b'{"x": [{"at": 1}], "y": 2}', *([b"", b"[1]", b'{"a"', b"\xff"] if LONG else [])]
)
def test_a_note_of_it_that_is_lost_or_damaged_costs_a_line(cli: Cli, apart: Separate, content: bytes | None) -> None:
    before = known(cli, apart.run)
    note = apart.run / ".fcreview" / "datasets.json"
    note.unlink() if content is None else note.write_bytes(content)
    (apart.run / ".fcreview" / "seen.json").unlink()
    assert known(cli, apart.run) == before
    assert len(told(cli, apart.run)) == 1
    known(cli, apart.run, "--data", apart.data)
    assert told(cli, apart.run) == []


@pytest.mark.sweep
def test_a_result_that_was_deleted_takes_nothing_else_along(cli: Cli, samples: Path, tmp_path: Path) -> None:
    """Its part of the dataset is not needed any more; that is no loss."""
    place = separate(samples / "bfcl", tmp_path / "many")
    cli("import", place.run, "--data", place.data)
    before = known(cli, place.run)
    for file in place.run.rglob("*simple_java_*"):
        file.unlink()
    after = known(cli, place.run)
    assert 0 < before["items"] - after["items"] < before["items"]
    assert told(cli, place.run) == []


@pytest.mark.sweep
def test_many_runs_with_one_dataset_are_told_in_one_line(cli: Cli, apart: Separate) -> None:
    for name in ("birch", "cedar", "larch"):
        shutil.copytree(apart.run / "result" / "maple", apart.run / "result" / name)
    cli("import", apart.run)
    shutil.rmtree(apart.data)
    (line,) = told(cli, apart.run)
    assert "4 runs" in line

"""`fcreview doctor` summarizes many runs and lists refused files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pytest

from tests.cli.conftest import Cli, write_model


def test_same_problem_of_many_runs_is_one_line(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    for number in range(5):
        write_model(root, f"maple-{number}", ["[f(x=1)]"], {})
    lines = [line for line in cli("doctor", root).out.splitlines() if "no dataset" in line]
    assert len(lines) == 1 and " and 4 more: the run has no dataset" in lines[0]
    assert sum("no dataset" in fact["value"] for fact in cli("doctor", root, "--json").objects) == 5


def test_stored_runs_without_their_files_are_listed(cli: Cli, two_imported_runs: Path) -> None:
    """`runs` lists them too."""
    for folder in ("result", "score"):
        shutil.rmtree(two_imported_runs / folder)
    assert cli("runs", two_imported_runs).code == 0
    done = cli("doctor", two_imported_runs, "--json")
    assert done.code == 0, done.err
    runs = {each["name"]: each["value"] for each in done.objects if each["kind"] == "run"}
    assert runs.keys() == {"birch", "maple"}
    assert all(
        "6 items imported from" in value and value.endswith("which no longer exists")
        for value in runs.values()
    )
    assert not any(each["kind"] == "error" for each in done.objects)


def test_rebuild_after_upgrade_is_reported(cli: Cli, two_imported_runs: Path) -> None:
    assert (
        cli("label", two_imported_runs, "simple_python_1", "--run", "1", "--verdict", "pass").code
        == 0
    )
    with duckdb.connect(two_imported_runs / ".fcreview" / "store.duckdb") as connection:
        connection.execute("UPDATE meta SET value = '0' WHERE key = 'schema_version'")
    assert any(
        each["kind"] == "store" and each["problem"]
        for each in cli("doctor", two_imported_runs, "--json").objects
    )
    done = cli("runs", two_imported_runs, "--json")
    assert done.code == 0
    assert (
        "written by another version of fcreview. The new store has 2 runs; your reviews are"
        " unchanged\n" in done.err
    )
    assert sum(each["reviewed"] for each in done.objects) == 1
    assert "Rebuilt" not in cli("runs", two_imported_runs).err


def test_import_after_upgrade_is_reported(cli: Cli, two_imported_runs: Path) -> None:
    assert (
        cli("label", two_imported_runs, "simple_python_1", "--run", "1", "--verdict", "pass").code
        == 0
    )
    with duckdb.connect(two_imported_runs / ".fcreview" / "store.duckdb") as connection:
        connection.execute("UPDATE runs SET version = version - 1")
    done = cli("runs", two_imported_runs, "--json")
    assert done.code == 0
    assert (
        "another version of fcreview had imported 2 runs. This version has imported them again;"
        " your" in done.err
    )
    assert sum(each["reviewed"] for each in done.objects) == 1
    assert "Imported" not in cli("runs", two_imported_runs).err


def test_refused_workspace_files_are_listed(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    assert cli("doctor", imported_run).code == 0
    assert "store           verified" in cli("doctor", imported_run).out
    root, outside = imported_run / ".fcreview", tmp_path / "outside"
    outside.write_text("")
    (root / "torn").symlink_to(tmp_path)
    (root / "reviews" / "alice.jsonl").symlink_to(outside)
    os.link(outside, root / "rules.jsonl")
    (root / "queues").mkdir()
    os.mkfifo(root / "queues" / "pilot.json")
    done = cli("doctor", imported_run)
    assert done.code == 1
    for name, why in (
        ("torn", "torn is a symbolic link"),
        ("reviews/alice.jsonl", "alice.jsonl is a symbolic link"),
        ("rules.jsonl", "rules.jsonl has 2 hard links"),
        ("queues/pilot.json", "pilot.json is not a regular file"),
    ):
        assert f"! workspace       {name}: {why}" in done.out


@pytest.mark.skipif(os.getuid() != 0, reason="gives a file to another user, which only root can")
def test_store_of_other_user_is_marked(cli: Cli, imported_run: Path) -> None:
    store = imported_run / ".fcreview" / "store.duckdb"
    os.chown(store, 4242, 4242)
    assert (
        "! store           the store is not verified. Another user wrote this store"
        in cli("doctor", imported_run).out
    )
    for path in imported_run.iterdir():
        if path.name != ".fcreview":
            path.rename(imported_run.parent / path.name)
    done = cli("items", imported_run)
    assert done.code == 0
    assert f"{store} is not verified. Another user wrote this store" in done.err


def test_copies_that_another_machine_changed_are_listed(cli: Cli, imported_run: Path) -> None:
    folder = imported_run / ".fcreview"
    (folder / "drafts").mkdir()
    names = ["errata (conflicted copy).jsonl", "drafts/ann.sync-conflict-20261128-101010-A.json"]
    for name in names:
        (folder / name).write_text("{}\n")
    done = cli("doctor", imported_run)
    assert done.code == 1
    for name, original in zip(names, ["errata.jsonl", "ann.json"], strict=True):
        (line,) = [line for line in done.out.splitlines() if name in line]
        assert f"a copy of {original} that another machine changed" in line

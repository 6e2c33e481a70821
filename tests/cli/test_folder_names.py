"""Folders whose names contain characters of DuckDB's file patterns are opened like all others."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.importers.tau.test_damage import make_run, write_file

Cli = Callable[..., Any]
NAMES = ["what?", "all*", "run[1]", "back\\slash", "{a,b}", "it's", "a\\?*[b]{c}"]


@pytest.fixture(params=NAMES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / request.param
    folder.mkdir()
    write_file(folder, make_run())
    # A sibling that the name matches as a pattern must not be read.
    (tmp_path / "whatX").mkdir()
    return folder


def test_folder_with_special_name_is_imported_reviewed_and_exported(folder: Path, cli: Cli) -> None:
    assert cli("import", folder).code == 0
    assert (folder / ".fcreview" / "store.duckdb").is_file()
    assert cli("label", folder, "t0_trial_0", "--verdict", "fail").code == 0
    assert [row["human"] for row in cli("items", folder, "--json").objects] == [False, None, None]
    assert cli("export", folder, "--format", "parquet", "-o", folder / "labels.parquet").code == 0
    assert (folder / "labels.parquet").stat().st_size > 0


def test_changed_run_in_folder_with_special_name_is_imported_again(folder: Path, cli: Cli) -> None:
    cli("import", folder)
    run = make_run()
    run["simulations"][0]["reward_info"]["reward"] = 0.0
    write_file(folder, run)
    (row,) = cli("import", folder, "--json").objects[:1]
    assert row["status"] == "imported"
    assert [row["official"] for row in cli("items", folder, "--json").objects] == [
        False,
        False,
        False,
    ]


def test_lake_in_folder_with_special_name(folder: Path, cli: Cli) -> None:
    assert cli("import", folder, "--lake", folder / "lake").code == 0
    assert len(cli("items", folder / "lake", "--json").objects) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_place_that_cannot_be_written_is_refused_with_the_option(folder: Path, cli: Cli) -> None:
    folder.chmod(0o500)
    done = cli("import", folder)
    folder.chmod(0o700)
    assert done.code == 1
    assert "--workspace" in done.err

"""Commands import changed files, and skip the search if nothing changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


def item_ids(cli: Cli, run: Path) -> list[str]:
    done = cli("items", run, "--json")
    assert done.code == 0, done.err
    return [item["id"] for item in done.objects]


def seen_file(run: Path) -> Path:
    return run / ".fcreview" / "seen.json"


def result_file(run: Path) -> Path:
    return next(run.rglob("*_result.json"))


@pytest.mark.sweep
def test_unchanged_paths_are_not_searched(cli: Cli, one_run: Path) -> None:
    before = item_ids(cli, one_run)
    written = seen_file(one_run).stat()
    assert item_ids(cli, one_run) == before
    assert seen_file(one_run).stat().st_ino == written.st_ino
    assert seen_file(one_run).stat().st_mtime_ns == written.st_mtime_ns


@pytest.mark.sweep
def test_changed_result_is_imported(cli: Cli, one_run: Path) -> None:
    def rule_verdict() -> bool:
        (verdict,) = [
            each["rule"]
            for each in cli("items", one_run, "--json").objects
            if each["id"].endswith("_1")
        ]
        return bool(verdict)

    assert not rule_verdict()
    file = result_file(one_run)
    changed = file.read_bytes().replace(b"Rome", b"Oslo")
    assert changed != file.read_bytes()
    file.write_bytes(changed)
    assert rule_verdict()


@pytest.mark.sweep
def test_new_run_is_imported(cli: Cli, one_run: Path) -> None:
    before = len(item_ids(cli, one_run))
    folder = next(path for path in (one_run / "result").iterdir() if path.is_dir())
    other = folder.with_name("another-model")
    for file in folder.rglob("*_result.json"):
        copy = other / file.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    assert len(item_ids(cli, one_run)) == 2 * before


@pytest.mark.sweep
def test_deleted_store_is_rebuilt(cli: Cli, one_run: Path) -> None:
    before = item_ids(cli, one_run)
    (one_run / ".fcreview" / "store.duckdb").unlink()
    assert item_ids(cli, one_run) == before


@pytest.mark.sweep
@pytest.mark.parametrize("content", [b"", b"[1]", b'{"a"', b"\xff", b"null"])
def test_damaged_seen_file_is_ignored(cli: Cli, one_run: Path, content: bytes) -> None:
    before = item_ids(cli, one_run)
    seen_file(one_run).write_bytes(content)
    assert item_ids(cli, one_run) == before


@pytest.mark.parametrize(
    "broken", [1, {"state": 1, "dataset_files": [2], "runs": ["x"]}, {"dataset_files": None}]
)
def test_damaged_entry_of_seen_file_is_ignored(cli: Cli, one_run: Path, broken: Any) -> None:
    before = item_ids(cli, one_run)
    seen_file(one_run).write_text(
        json.dumps(dict.fromkeys(json.loads(seen_file(one_run).read_bytes()), broken))
    )
    assert item_ids(cli, one_run) == before


@pytest.mark.sweep
def test_changed_dataset_is_imported(cli: Cli, one_run: Path) -> None:
    item_ids(cli, one_run)
    (state,) = json.loads(seen_file(one_run).read_bytes()).values()
    data = [file for file in one_run.rglob("*.json") if "answer" in os.fspath(file)]
    assert data
    data[0].write_bytes(data[0].read_bytes().replace(b"\n", b"\n\n", 1))
    item_ids(cli, one_run)
    (after,) = json.loads(seen_file(one_run).read_bytes()).values()
    assert after["state"] != state["state"]

"""What changed at the paths is always seen; what did not is not searched again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


def ids(cli: Cli, run: Path) -> list[str]:
    done = cli("items", run, "--json")
    assert done.code == 0, done.err
    return [item["id"] for item in done.objects]


def seen(run: Path) -> Path:
    return run / ".fcreview" / "seen.json"


def result_file(run: Path) -> Path:
    return next(run.rglob("*_result.json"))


@pytest.mark.sweep
def test_nothing_is_searched_where_nothing_changed(cli: Cli, one_run: Path) -> None:
    before = ids(cli, one_run)
    written = seen(one_run).stat()
    assert ids(cli, one_run) == before
    assert seen(one_run).stat().st_ino == written.st_ino
    assert seen(one_run).stat().st_mtime_ns == written.st_mtime_ns


@pytest.mark.sweep
def test_a_changed_result_is_read_again(cli: Cli, one_run: Path) -> None:
    def rule() -> bool:
        (verdict,) = [each["rule"] for each in cli("items", one_run, "--json").objects if each["id"].endswith("_1")]
        return bool(verdict)

    assert not rule()
    file = result_file(one_run)
    changed = file.read_bytes().replace(b"Rome", b"Oslo")
    assert changed != file.read_bytes()
    file.write_bytes(changed)
    assert rule()


@pytest.mark.sweep
def test_a_new_run_beside_it_is_found(cli: Cli, one_run: Path) -> None:
    before = len(ids(cli, one_run))
    folder = next(path for path in (one_run / "result").iterdir() if path.is_dir())
    other = folder.with_name("another-model")
    for file in folder.rglob("*_result.json"):
        copy = other / file.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    assert len(ids(cli, one_run)) == 2 * before


@pytest.mark.sweep
def test_a_store_that_is_gone_is_built_again(cli: Cli, one_run: Path) -> None:
    before = ids(cli, one_run)
    (one_run / ".fcreview" / "store.duckdb").unlink()
    assert ids(cli, one_run) == before


@pytest.mark.sweep
@pytest.mark.parametrize("content", [b"", b"[1]", b'{"a"', b"\xff", b"null"])
def test_a_damaged_note_costs_a_search_only(cli: Cli, one_run: Path, content: bytes) -> None:
    before = ids(cli, one_run)
    seen(one_run).write_bytes(content)
    assert ids(cli, one_run) == before


@pytest.mark.parametrize("broken", [1, {"state": 1, "others": [2], "runs": ["x"]}, {"others": None}])
def test_a_damaged_entry_costs_a_search_only(cli: Cli, one_run: Path, broken: Any) -> None:
    before = ids(cli, one_run)
    seen(one_run).write_text(json.dumps(dict.fromkeys(json.loads(seen(one_run).read_bytes()), broken)))
    assert ids(cli, one_run) == before


@pytest.mark.sweep
def test_a_changed_dataset_is_read_again(cli: Cli, one_run: Path) -> None:
    ids(cli, one_run)
    (state,) = json.loads(seen(one_run).read_bytes()).values()
    data = [file for file in one_run.rglob("*.json") if "answer" in os.fspath(file)]
    assert data
    data[0].write_bytes(data[0].read_bytes().replace(b"\n", b"\n\n", 1))
    ids(cli, one_run)
    (after,) = json.loads(seen(one_run).read_bytes()).values()
    assert after["state"] != state["state"]

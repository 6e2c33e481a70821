"""Reviews belong to the content of an item: they stay with a moved run and become stale if the
answer changes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Done, run_in_this_process

ITEM = "simple_python_0"
OTHER = "simple_python_1"
MODEL = "maple-8b"


@pytest.fixture
def cli(tmp_path: Path, environ: dict[str, str]) -> Callable[..., Done]:
    return lambda *words: run_in_this_process(words, tmp_path, environ)


@pytest.fixture
def place(samples: Path, tmp_path: Path, cli: Callable[..., Done]) -> Path:
    """A BFCL run with two reviewed items, one pass and one fail."""
    place = shutil.copytree(samples / "bfcl", tmp_path / "runs")
    for item, verdict in ((ITEM, "pass"), (OTHER, "fail")):
        assert cli("label", place, item, "--verdict", verdict, "--run", MODEL).code == 0
    return place


def reviewed(cli: Callable[..., Done], place: Path) -> dict[str, Any]:
    """Return the verdict by item, None for a stale review."""
    rows = cli(
        "items", place, "--json", "--run", MODEL, "--where", "category:simple_python"
    ).objects
    return {row["id"]: row["human"] for row in rows if row["id"] in (ITEM, OTHER)}


def rewrite(file: Path, item: str, change: Callable[[dict[str, Any]], None]) -> None:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows:
        if row["id"] == item:
            change(row)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.sweep
def test_moved_run_keeps_its_reviews(place: Path, cli: Callable[..., Done]) -> None:
    assert reviewed(cli, place) == {ITEM: True, OTHER: False}
    moved = place.rename(place.parent / "elsewhere with spaces")
    assert reviewed(cli, moved) == {ITEM: True, OTHER: False}


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("file", "change"),
    [
        (
            "result/maple-8b/non_live/BFCL_v4_simple_python_result.json",
            lambda row: row.update(result="[other(a=1)]"),
        ),
        (
            "data/possible_answer/BFCL_v4_simple_python.json",
            lambda row: row.update(
                ground_truth=[{name: {"z": [1]} for name in row["ground_truth"][0]}]
            ),
        ),
    ],
    ids=["prediction", "golden answer"],
)
def test_changed_answer_makes_only_its_review_stale(
    place: Path, cli: Callable[..., Done], file: str, change: Callable[[dict[str, Any]], None]
) -> None:
    assert reviewed(cli, place) == {ITEM: True, OTHER: False}
    before = (place / file).read_bytes()
    rewrite(place / file, ITEM, change)
    assert reviewed(cli, place) == {ITEM: None, OTHER: False}
    assert "STALE" in cli("audit", place, ITEM, "--run", MODEL).out
    (place / file).write_bytes(before)
    assert reviewed(cli, place) == {ITEM: True, OTHER: False}


@pytest.mark.sweep
def test_reviews_of_a_renamed_model_return_with_the_old_name(
    place: Path, cli: Callable[..., Done]
) -> None:
    for folder in ("result", "score"):
        (place / folder / MODEL).rename(place / folder / "other")
    rows = cli("items", place, "--json", "--run", "other").objects
    assert rows
    assert {row["human"] for row in rows} == {None}
    for folder in ("result", "score"):
        (place / folder / "other").rename(place / folder / MODEL)
    assert reviewed(cli, place) == {ITEM: True, OTHER: False}

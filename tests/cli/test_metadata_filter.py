"""The filter finds metadata and errors of Inspect logs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
CASES = Path(__file__).parents[1] / "cases" / "inspect"


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("metadata:difficulty=hard", "a"),
        ('metadata:"difficulty=HARD"', "a"),
        ("metadata:difficulty=e*", "b"),
        ("metadata:n=3", "a"),
        ("metadata:hard", "a"),
        ("metadata:reviewed=yes", "abc"),
        ("metadata:golden-bug", "abc"),
        ("metadata:epoch=1", "abc"),
        ("metadata:difficulty=hard|easy", "ab"),
        ("-metadata:difficulty=hard", "bc"),
        ("metadata:difficulty=%", ""),
        ("metadata:other=hard", ""),
    ],
)
def test_filter_finds_metadata(cli: Cli, tmp_path: Path, term: str, expected: str) -> None:
    logs = shutil.copytree(CASES / "60-log-edits", tmp_path / "logs")
    found = cli("items", logs, "--where", term, "--json").objects
    assert "".join(item["id"] for item in found) == expected


def test_metadata_filter_is_not_allowed_in_blind_review(cli: Cli, tmp_path: Path) -> None:
    logs = shutil.copytree(CASES / "60-log-edits", tmp_path / "logs")
    assert cli("open", logs, "--blind", "--where", "metadata:hard").code == 2


def test_error_filter_finds_samples_with_an_error(cli: Cli, tmp_path: Path) -> None:
    logs = shutil.copytree(CASES / "17-errors-limits", tmp_path / "logs")
    found = {item["id"] for item in cli("items", logs, "--where", "error:*", "--json").objects}
    assert {"err-scored", "err-unscored", "limit"} <= found

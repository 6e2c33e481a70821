"""Fault injection.

Each test has a short form and a long form (`make faults`, counts in docs/reliability.md).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import environment, run_in_this_process

ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/faults/"):
            item.add_marker("process")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir(exist_ok=True)
    return environment(tmp_path / "home", PYTHONPATH=os.environ.get("PYTHONPATH", ""))


@pytest.fixture(scope="session")
def imported_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("faults")
    shutil.copytree(ROOT / "sample_runs" / "acebench", place / "runs")
    assert run_in_this_process(["import", place / "runs"], place, environment(place)).code == 0
    return place / "runs"


@pytest.fixture
def sample(imported_sample: Path, tmp_path: Path) -> Path:
    """A copy of the imported ACEBench sample run."""
    return shutil.copytree(imported_sample, tmp_path / "runs")


@pytest.fixture
def screens(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the app in this process, as the tests of the screens do."""
    from tests.tui import idle
    from tests.tui.parsed_styles import parse_styles_once
    from tests.tui.plain_terminal import set_plain_terminal

    with set_plain_terminal(monkeypatch):
        idle.replace_pauses(monkeypatch)
        parse_styles_once(monkeypatch)
        yield

"""The language of a run can be named or follow from a dataset.

The run then replaces the one without the language.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Done

CASES = Path(__file__).parents[1] / "cases" / "acebench"
DATA = CASES / "10-acebench-october-2025-rules/data_all/data_en"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Results whose folder names tell no language."""
    return shutil.copytree(CASES / "11b-acebench-no-language-folder", tmp_path / "place")


def list_languages(cli: Callable[..., Done], runs: Path) -> list[str]:
    return [run["language"] for run in cli("runs", runs, "--json").objects]


def test_named_language_is_remembered_until_it_is_reset(
    cli: Callable[..., Done], runs: Path
) -> None:
    for language in ("en", "zh"):
        shutil.copytree(DATA, runs / f"data_all/data_{language}")
    cli("import", runs, "--language", "zh")
    assert list_languages(cli, runs) == ["zh"]
    assert "unchanged" in cli("import", runs).out
    cli("import", runs, "--language", "auto")
    assert list_languages(cli, runs) == ["en"]


def test_run_with_new_language_replaces_the_earlier_one(
    cli: Callable[..., Done], runs: Path
) -> None:
    cli("import", runs)
    assert list_languages(cli, runs) == [""]
    cli("import", runs, "--data", DATA)
    (run,) = cli("runs", runs, "--json").objects
    assert (run["run"], run["language"], run["rule_pass"]) == (1, "en", 4)


def test_run_keeps_its_language_if_its_dataset_is_lost(
    cli: Callable[..., Done], runs: Path, tmp_path: Path
) -> None:
    data = shutil.copytree(DATA, tmp_path / "data_en")
    cli("import", runs, "--data", data)
    shutil.rmtree(data)
    done = cli("import", runs, "--json")
    (run,) = [each for each in done.objects if each["kind"] == "run"]
    assert (run["language"], run["status"]) == ("en", "kept")
    assert list_languages(cli, runs) == ["en"]


def test_evaluator_is_remembered_and_listed(cli: Callable[..., Done], tmp_path: Path) -> None:
    place = shutil.copytree(CASES / "10-acebench-october-2025-rules", tmp_path / "place")
    cli("import", place, "--evaluator", "2025-08")
    (run,) = cli("runs", place, "--json").objects
    assert (run["evaluator"], run["evaluator_reason"], run["rule_pass"]) == (
        "2025-08",
        "chosen by the user",
        1,
    )
    cli("import", place, "--evaluator", "auto")
    (run,) = cli("runs", place, "--json").objects
    assert (run["evaluator"], run["rule_pass"]) == ("2025-10", 4)


def test_unknown_evaluator_is_refused(cli: Callable[..., Done]) -> None:
    done = cli("import", CASES / "10-acebench-october-2025-rules", "--evaluator", "2024-01")
    assert done.code == 2 and "2025-08, 2025-10, auto" in done.err

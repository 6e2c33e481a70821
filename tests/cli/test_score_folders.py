"""`--score DIR` joins results with scores elsewhere, is remembered, and its loss is reported
like that of a dataset.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # several imports each
Cli = Callable[..., Any]


@dataclass(frozen=True)
class SeparateScores:
    """Paths of a run and its scores. The model has another name in the folder of the scores."""

    run: Path
    scores: Path

    @property
    def gone(self) -> Path:
        return self.scores.with_name("gone")


@pytest.fixture
def paths(one_run: Path, tmp_path: Path) -> SeparateScores:
    found = SeparateScores(one_run, tmp_path / "far" / "away" / "evaluation-7")
    found.scores.parent.mkdir(parents=True)
    (model,) = (one_run / "score").iterdir()
    shutil.move(model, found.scores)
    shutil.rmtree(one_run / "score")
    return found


def count_official(cli: Cli, path: Path) -> dict[bool | None, int]:
    """Return the number of items for each official verdict."""
    verdicts = [item["official"] for item in cli("items", path, "--json").objects]
    return {verdict: verdicts.count(verdict) for verdict in set(verdicts)}


def import_run(cli: Cli, *arguments: str | Path) -> dict[str, Any]:
    """Run `fcreview import` and return the only run."""
    done = cli("import", *arguments, "--json")
    (run,) = (each for each in done.objects if each["kind"] == "run")
    return dict(run)


def score_warnings(cli: Cli, path: Path) -> list[str]:
    return [line for line in cli("items", path, "--json").err.splitlines() if "the scores" in line]


def test_scores_are_joined_and_remembered(cli: Cli, paths: SeparateScores) -> None:
    assert count_official(cli, paths.run).keys() == {None}
    assert cli("import", paths.run, "--score", paths.scores).code == 0
    joined = count_official(cli, paths.run)
    assert joined.keys() == {True, False}
    saved = json.loads((paths.run / ".fcreview/score_folders.json").read_text())
    assert [[each["at"] for each in folders] for folders in saved.values()] == [[str(paths.scores)]]

    # A rebuild of the store finds the scores again.
    for name in ("store.duckdb", "seen.json"):
        (paths.run / ".fcreview" / name).unlink()
    assert count_official(cli, paths.run) == joined


def test_scores_are_found_after_both_folders_moved(
    cli: Cli, paths: SeparateScores, tmp_path: Path
) -> None:
    cli("import", paths.run, "--score", paths.scores)
    joined = count_official(cli, paths.run)
    place = tmp_path / "moved"
    place.mkdir()
    for folder in (paths.run, tmp_path / "far"):
        shutil.move(folder, place / folder.name)
    (place / paths.run.name / ".fcreview/store.duckdb").unlink()
    assert count_official(cli, place / paths.run.name) == joined


def test_missing_scores_keep_last_import(cli: Cli, paths: SeparateScores) -> None:
    cli("import", paths.run, "--score", paths.scores)
    joined = count_official(cli, paths.run)
    paths.scores.rename(paths.gone)
    for _ in range(2):
        (line,) = score_warnings(cli, paths.run)
        assert all(
            part in line for part in (str(paths.scores), "uses the last import", "--score none")
        )
    run = import_run(cli, paths.run)
    assert (run["status"], run["missing_scores"]) == ("kept", str(paths.scores))
    assert count_official(cli, paths.run) == joined

    paths.gone.rename(paths.scores)
    assert score_warnings(cli, paths.run) == []
    run = import_run(cli, paths.run)
    assert (run["status"], run["missing_scores"]) == ("unchanged", None)


def test_empty_score_folder_is_missing_scores(cli: Cli, paths: SeparateScores) -> None:
    cli("import", paths.run, "--score", paths.scores)
    paths.scores.rename(paths.gone)
    paths.scores.mkdir()
    assert import_run(cli, paths.run)["missing_scores"] == str(paths.scores)


def test_changed_results_wait_for_missing_scores(cli: Cli, paths: SeparateScores) -> None:
    cli("import", paths.run, "--score", paths.scores)
    paths.scores.rename(paths.gone)
    file = next(paths.run.rglob("*_result.json"))
    file.write_text(file.read_text().replace("I cannot do that.", "[get_weather(city='Oslo')]"))
    assert import_run(cli, paths.run)["status"] == "outdated"


def test_none_forgets_scores(cli: Cli, paths: SeparateScores) -> None:
    cli("import", paths.run, "--score", paths.scores)
    assert import_run(cli, paths.run, "--score", "none")["status"] == "imported"
    assert count_official(cli, paths.run).keys() == {None}
    shutil.rmtree(paths.scores)
    assert score_warnings(cli, paths.run) == []


def test_new_folder_replaces_lost_one(cli: Cli, paths: SeparateScores) -> None:
    cli("import", paths.run, "--score", paths.scores)
    joined = count_official(cli, paths.run)
    paths.scores.rename(paths.gone)
    done = cli("import", paths.run, "--score", paths.gone)
    assert "no longer" not in done.out + done.err
    assert "no longer" not in cli("import", paths.run).out
    assert count_official(cli, paths.run) == joined
    assert score_warnings(cli, paths.run) == []


def test_missing_folder_of_option_is_error(cli: Cli, paths: SeparateScores) -> None:
    done = cli("import", paths.run, "--score", paths.gone)
    assert done.code == 1
    assert "does not exist" in done.err


def test_scores_of_no_run_are_error_of_import(
    cli: Cli, paths: SeparateScores, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    done = cli("import", paths.run, "--score", tmp_path / "empty")
    assert "no score file in this folder of --score fits the results" in done.out


def test_evaluations_can_be_compared(cli: Cli, one_run: Path) -> None:
    shutil.copytree(one_run / "score", one_run / "score_2025")
    file = next((one_run / "score_2025").rglob("*_score.json"))
    header, *entries = file.read_text().splitlines()
    counts = json.loads(header)
    counts["correct_count"] += 1
    file.write_text("\n".join([json.dumps(counts), *entries[1:]]))
    runs = [each for each in cli("runs", one_run, "--json").objects if "run_name" in each]
    assert len({each["run_name"] for each in runs}) == len(runs) == 2
    assert {each["model"] for each in runs} == {"maple"}
    first, second = (each["run"] for each in runs)
    done = cli("compare", one_run, str(first), str(second), "--json")
    assert done.code == 0
    assert [each["kind"] for each in done.objects].count("overall") == 1

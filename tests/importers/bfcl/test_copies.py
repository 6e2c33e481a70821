"""Copies beside result and score files are neither runs nor second score files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fcreview.importers.common.copies import list_original_names
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from fcreview.run_plan import DiscoveredRuns
from tests.importers.bfcl.conftest import OFFICIAL, RESULT, SCORE, official_verdicts

CASES = Path(__file__).parents[2] / "cases"
SCORE_NAME = Path(SCORE).name


def find_notices(found: DiscoveredRuns) -> list[ImportIssue]:
    return [issue for issue in found.issues if "ignored" in issue.what]


@pytest.mark.parametrize(
    "copied",
    [
        "old_{}.json",
        "{}_backup.json",
        "{}_backup_2025-01-31.json",
        "{}_backup_before_fix.json",
        "{} copy.json",
        "{} copy 2.json",
        "{} - Copy (2).json",
        "Copy of {}.json",
        "{} (1).json",
        "{}.json.bak",
        "{}.json~",
        "{}.json.old",
        "{}.bak.json",
        "{}_old2.json",
        "{} - Kopie.json",
    ],
)
def test_names_of_copies(copied: str) -> None:
    assert "data_score.json" in list_original_names(copied.format("data_score"))


@pytest.mark.parametrize(
    "name",
    [
        "BFCL_v4_old_questions_result.json",
        "bakery_result.json",
        "copyright_score.json",
        "full_old_prompt.jsonl",
        "BFCL_v4_simple_python_result.json",
        "gold.json",
        "old.json",
        "backup.json",
    ],
)
def test_names_that_only_resemble_copies(name: str) -> None:
    assert list_original_names(name) == []


def test_backup_beside_acebench_scores_is_ignored() -> None:
    found = discover([CASES / "acebench" / "22-acebench-backup-score-file"])
    assert [plan.run.benchmark for plan in found.plans] == ["acebench"]
    (notice,) = find_notices(found)
    assert notice.severity == "notice"
    assert notice.what == "ignored, a copy of data_normal_single_turn_single_function_score.json"


@pytest.mark.parametrize(
    ("original", "copy"),
    [
        (SCORE, "score/m/non_live/old_{}"),
        (SCORE, "score/m/non_live/{}.bak"),
        (SCORE, "score/m/backup/{}"),
        (SCORE, "score/m/non_live/old_scores/{}"),
        (SCORE, "score/m_backup/non_live/{}"),
        (SCORE, "score/m copy/non_live/{}"),
        (SCORE, "score_backup/m/non_live/{}"),
        (SCORE, "score copy/m/non_live/{}"),
        (SCORE, "score/m/non_live/BFCL_v4_simple_python_backup_score.json"),
        (SCORE, "score/m/non_live/BFCL_v4_simple_python_score (1).json"),
        (RESULT, "result/m/non_live/old_{}"),
        (RESULT, "result/m_old/non_live/{}"),
        (RESULT, "result/m/backup/{}"),
        (RESULT, "result/m/non_live/BFCL_v4_simple_python_result_backup.json"),
        (RESULT, "result/old_m/non_live/{}"),
        (RESULT, "result copy/m/non_live/{}"),
    ],
)
@pytest.mark.parametrize("opened", [".", "result", "result/m"])
def test_copy_is_no_run(v4: Path, original: str, copy: str, opened: str) -> None:
    place = v4 / copy.format(Path(original).name)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(v4 / original, place)
    found = discover([v4 / opened])
    (plan,) = found.plans
    assert (plan.run.model, plan.results, plan.scores) == ("m", [v4 / RESULT], [v4 / SCORE])
    items = [record for record in read_items(plan) if isinstance(record, Item)]
    assert official_verdicts(items) == OFFICIAL
    assert bool(find_notices(found)) is place.is_relative_to(v4 / opened)


def test_copied_folder_gives_one_notice(v4: Path) -> None:
    for category in ("multiple", "parallel"):
        shutil.copy(v4 / RESULT, v4 / RESULT.replace("simple_python", category))
    shutil.copytree(v4 / "result/m", v4 / "result/m_backup")
    (notice,) = find_notices(discover([v4]))
    assert notice.file == str(v4 / "result/m_backup/non_live")
    assert notice.what.startswith("ignored 3 files, copies of the files in")


@pytest.mark.parametrize("copied", ["result_backup", "result/m_backup"])
def test_opened_copy_is_run(v4: Path, copied: str) -> None:
    shutil.copytree(v4 / copied.removesuffix("_backup"), v4 / copied)
    (plan,) = discover([v4 / copied]).plans
    assert plan.results[0].is_relative_to(v4 / copied)


def test_copy_without_original_is_named_but_not_read(v4: Path) -> None:
    (v4 / SCORE).rename((v4 / SCORE).with_name(f"old_{SCORE_NAME}"))
    found = discover([v4])
    (plan,) = found.plans
    assert plan.scores == []
    (notice,) = [
        issue for issue in found.issues if "copies of result and score files" in issue.what
    ]
    assert notice.severity == "notice"


def test_category_may_have_name_of_copy(v4: Path) -> None:
    place = v4 / RESULT.replace("simple_python", "my_backup")
    shutil.copy(v4 / RESULT, place)
    (plan,) = discover([v4]).plans
    assert list(plan.importer_data) == ["simple_python", "my_backup"]


def test_folders_without_originals_are_no_copies(v4: Path) -> None:
    for name in ("result", "score"):
        (v4 / name).rename(v4 / f"{name}_backup")
    (plan,) = discover([v4]).plans
    assert (len(plan.results), len(plan.scores)) == (1, 1)

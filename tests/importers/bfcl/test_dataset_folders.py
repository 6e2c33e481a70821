"""Datasets can be spread over several folders, share golden answers, and have question files
with a suffix.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.importers.registry import rewrite_golden as rewrite
from fcreview.model.item import ImportIssue, Item
from fcreview.run_plan import AppliedGoldenFix, RunPlan
from tests.importers.bfcl.conftest import CATEGORY, GOLDEN
from tests.importers.bfcl.test_not_run import CASES, read_coverage

NAME = f"BFCL_v4_{CATEGORY}.json"
FIRST, SECOND = f"{CATEGORY}_0", f"{CATEGORY}_1"


def read(plan: RunPlan) -> tuple[dict[str, bool | None], list[ImportIssue]]:
    """Return the recomputed verdicts and the issues of a run."""
    records = list(read_items(plan))
    items = [record for record in records if isinstance(record, Item)]
    issues = [*plan.issues, *(record for record in records if isinstance(record, ImportIssue))]
    for item in items:
        issues += item.issues
    return {item.id: item.rule for item in items}, issues


def find_issue(issues: list[ImportIssue], text: str) -> ImportIssue:
    (issue,) = [issue for issue in issues if text in issue.what]
    return issue


@pytest.mark.parametrize(
    "data",
    [
        ["data/zh_questions", "data"],
        ["data/zh_questions"],
        ["data/zh_questions", "data/possible_answer"],
    ],
)
def test_question_folders_share_golden_answers(data: list[str]) -> None:
    case = CASES / "14-shared-possible-answer"
    (plan,) = discover([case / "result"], data=[case / folder for folder in data]).plans
    verdicts, issues = read(plan)
    assert verdicts == {FIRST: True, SECOND: False}
    notice = find_issue(issues, "no golden answers beside these questions")
    assert (notice.severity, str(case / "data/possible_answer") in notice.what) == ("notice", True)
    assert not any("has no golden answer" in issue.what for issue in issues)


def test_golden_answers_beside_questions_come_first(
    v4: Path, plans: Any, write_lines: Any, question: Any
) -> None:
    write_lines(
        v4 / "other/possible_answer" / NAME,
        {"id": FIRST, "ground_truth": [{"area": {"base": [0]}}]},
    )
    (plan,) = plans(v4, data=[v4 / "other", v4 / "data"])
    assert read(plan)[0] == {FIRST: True, SECOND: False}
    assert plan.issues == []


def test_missing_golden_answers_are_one_message(v4: Path, plans: Any) -> None:
    (v4 / "data/possible_answer" / NAME).unlink()
    (v4 / f"score/m/non_live/BFCL_v4_{CATEGORY}_score.json").unlink()
    (plan,) = plans(v4)
    verdicts, issues = read(plan)
    assert verdicts == {FIRST: None, SECOND: None}
    assert find_issue(issues, "golden answer").what.startswith(
        "2 of 2 results have no golden answer"
    )


Split = Callable[..., list[Path]]


@pytest.fixture
def split_dataset(v4: Path, write_lines: Any, question: Any) -> Split:
    """Write each item of the dataset of `v4` to a folder of its own. `texts` changes the question
    of an item in a folder, and `both` adds both items to the second folder.
    """

    def split(*, both: bool = False, text: str = "How large is it?") -> list[Path]:
        for path in (v4 / "data" / NAME, v4 / "data/possible_answer" / NAME):
            path.unlink()
        for folder, ids in (("a", [FIRST]), ("b", [FIRST, SECOND] if both else [SECOND])):
            write_lines(
                v4 / folder / NAME,
                *(question(item, text if folder == "b" else "How large is it?") for item in ids),
            )
            write_lines(
                v4 / folder / "possible_answer" / NAME, *({"id": item, **GOLDEN} for item in ids)
            )
        return [v4 / "a", v4 / "b"]

    return split


@pytest.mark.parametrize("reverse", [False, True])
def test_records_of_several_data_folders_are_combined(
    v4: Path, plans: Any, split_dataset: Split, reverse: bool
) -> None:
    folders = split_dataset()
    (plan,) = plans(v4 / "result", data=reversed(folders) if reverse else folders)
    verdicts, issues = read(plan)
    assert verdicts == {FIRST: True, SECOND: False}
    assert all(issue.severity == "notice" for issue in issues)
    missing, fact = read_coverage(plan)
    assert missing == []
    assert fact is not None
    assert fact.value == 2
    assert {path.parent.name for path in plan.data} == {"a", "b", "possible_answer"}


def test_equal_records_of_several_data_folders_are_one(
    v4: Path, plans: Any, split_dataset: Split
) -> None:
    (plan,) = plans(v4 / "result", data=split_dataset(both=True))
    verdicts, issues = read(plan)
    assert verdicts == {FIRST: True, SECOND: False}
    assert all(issue.severity == "notice" for issue in issues)


def test_different_records_of_one_id_name_both_folders(
    v4: Path, plans: Any, split_dataset: Split, write_lines: Any, question: Any
) -> None:
    first, second = split_dataset(both=True)
    write_lines(first / NAME, question(FIRST), question(SECOND))
    write_lines(second / NAME, question(FIRST, "How wide is it?"), question(SECOND))
    (v4 / f"score/m/non_live/BFCL_v4_{CATEGORY}_score.json").unlink()
    (plan,) = plans(v4 / "result", data=[first, second])
    items = [record for record in read_items(plan) if isinstance(record, Item)]
    assert items[0].question == "How large is it?"
    issue = find_issue(read(plan)[1], "different records")
    assert issue.severity == "warning"
    assert (
        issue.what
        == f"1 id with different records in {first} and {second}, such as {FIRST}. Using those in"
        f" {first}"
    )


def test_folder_with_golden_answer_completes_other(
    v4: Path, plans: Any, split_dataset: Split, write_lines: Any, question: Any
) -> None:
    """A folder of questions without golden answers and one with both are one dataset."""
    first, second = split_dataset(both=True)
    write_lines(first / NAME, question(FIRST), question(SECOND))
    write_lines(first / "possible_answer" / NAME, {"id": FIRST, **GOLDEN})
    (plan,) = plans(v4 / "result", data=[first, second])
    assert read(plan)[0] == {FIRST: True, SECOND: False}


def test_golden_fix_is_written_to_folder_of_its_record(
    v4: Path, plans: Any, split_dataset: Split
) -> None:
    folders = split_dataset()
    (plan,) = plans(v4 / "result", data=folders)
    fix = {"ground_truth": [{"area": {"base": [1], "height": [5]}}]}
    for item_id, folder in ((FIRST, folders[0]), (SECOND, folders[1])):
        applied = [
            each
            for each in rewrite(plan, {(CATEGORY, item_id): fix})
            if isinstance(each, AppliedGoldenFix)
        ]
        assert [each.path for each in applied] == [folder / "possible_answer" / NAME]


def test_subfolders_of_one_data_folder_are_versions(
    v4: Path, plans: Any, split_dataset: Split
) -> None:
    """Versions of a dataset below one folder are not mixed."""
    split_dataset()
    (plan,) = plans(v4 / "result", data=[v4])
    assert {path.parent.name for path in plan.data} in (
        {"a", "possible_answer"},
        {"b", "possible_answer"},
    )


@pytest.mark.parametrize(
    "suffixed", ["simple_python_translated", "zh_simple_python", "simple_python-v2"]
)
@pytest.mark.parametrize("answers_too", [False, True])
def test_question_file_with_suffix_is_used(
    v4: Path, plans: Any, suffixed: str, answers_too: bool
) -> None:
    (v4 / "data" / NAME).rename(v4 / f"data/BFCL_v4_{suffixed}.json")
    if answers_too:
        (v4 / "data/possible_answer" / NAME).rename(
            v4 / f"data/possible_answer/BFCL_v4_{suffixed}.json"
        )
    (plan,) = plans(v4)
    verdicts, issues = read(plan)
    assert verdicts == {FIRST: True, SECOND: False}
    notice = find_issue(issues, "no question file has the exact name")
    assert (notice.severity, f"BFCL_v4_{suffixed}.json" in notice.what) == ("notice", True)
    missing, fact = read_coverage(plan)
    assert missing == []
    assert fact is not None
    assert (fact.value, fact.reason) == (2, "the category of the dataset")


def test_exact_question_file_comes_first(
    v4: Path, plans: Any, write_lines: Any, question: Any
) -> None:
    write_lines(v4 / "data/BFCL_v4_simple_python_translated.json", question(FIRST, "Wie groß?"))
    (plan,) = plans(v4)
    assert plan.data[0] == v4 / "data" / NAME
    assert plan.issues == []


@pytest.mark.parametrize("other", ["parallel_multiple", "simple_python_zh"])
def test_question_file_of_other_category_is_not_used(
    v4: Path, plans: Any, write_lines: Any, question: Any, result: Any, other: str
) -> None:
    """The names contain the category, but the files have ids of another one."""
    category = "multiple" if other == "parallel_multiple" else CATEGORY
    (v4 / "data" / NAME).unlink()
    write_lines(v4 / f"data/BFCL_v4_{other}.json", question(f"{other}_0"))
    write_lines(v4 / f"result/m/non_live/BFCL_v4_{category}_result.json", result(f"{category}_0"))
    (plan,) = plans(v4)
    assert plan.importer_data[category].dataset_files == []


def test_own_categories_have_questions_of_their_own() -> None:
    (plan,) = discover([CASES / "15-custom-categories"]).plans
    verdicts, issues = read(plan)
    assert len(verdicts) == 8
    assert set(verdicts.values()) == {True, False}
    assert [issue.what for issue in issues] == [
        "no score files, so the items have no official verdict"
    ]

"""Scores that quote other replies than the result files say nothing about the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover, read_items, rewrite_scores
from fcreview.model.item import ImportIssue, Item, RunFact
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import RunPlan, Unrepresentable
from tests.importers.bfcl.conftest import CATEGORY, OFFICIAL, RESULT, SCORE, official_verdicts
from tests.importers.bfcl.test_not_run import CASES

OTHER_CATEGORY = "multiple"
OTHER_RESULT = RESULT.replace(CATEGORY, OTHER_CATEGORY)
OTHER_SCORE = SCORE.replace(CATEGORY, OTHER_CATEGORY)


def find_fact(plan: RunPlan) -> RunFact | None:
    facts = [record for record in read_items(plan) if isinstance(record, RunFact)]
    return next((fact for fact in facts if fact.name == "scores_of_other_replies"), None)


def test_scores_of_other_run_give_no_official_verdict() -> None:
    (plan,) = discover([CASES / "27-scores-of-another-run"]).plans
    records = list(read_items(plan))
    found = [record for record in records if isinstance(record, Item)]
    assert {item.official for item in found} == {None}
    assert not any(item.issues for item in found)
    assert [item.flags for item in found] == [[]] * 4 + [["other_reply"]] * 4
    (issue,) = [record for record in records if isinstance(record, ImportIssue)]
    assert issue.severity == "error"
    assert "4 of 4 failing score entries with a result quote another reply" in issue.what
    assert find_fact(plan) == RunFact(
        "scores_of_other_replies",
        4,
        "4 of 4 failing score entries with a result quote another reply",
    )
    assert plan.run.official_metrics == {}


def test_scores_of_other_run_are_not_rewritten() -> None:
    (plan,) = discover([CASES / "27-scores-of-another-run"]).plans
    row = ScoredItem(f"{CATEGORY}_0", CATEGORY, None, False, overrides={ITEM_CORRECT: False})
    (problem,) = rewrite_scores(plan, [row])
    assert problem == Unrepresentable("items whose score files belong to other replies", 1)


@pytest.mark.parametrize(
    ("n_same", "n_other", "are_known"),
    [(2, 2, True), (2, 3, False), (0, 1, False), (5, 1, True), (0, 5, False)],
)
def test_more_than_half_of_all_categories_decides(
    v4: Path,
    plans: Any,
    write_lines: Any,
    header: Any,
    failure: Any,
    result: Any,
    n_same: int,
    n_other: int,
    are_known: bool,
) -> None:
    """The share is that of the run. One category alone does not decide."""
    write_lines(
        v4 / RESULT,
        *(result(f"{CATEGORY}_{n}", 11) for n in range(n_same)),
        result(f"{CATEGORY}_9"),
    )
    entries = [failure(f"{CATEGORY}_{n}") for n in range(n_same)]
    write_lines(v4 / SCORE, header(1, 1 + len(entries)), *entries)
    ids = [f"{OTHER_CATEGORY}_{n}" for n in range(n_other)]
    write_lines(v4 / OTHER_RESULT, *(result(item_id, 12) for item_id in ids))
    write_lines(v4 / OTHER_SCORE, header(0, len(ids)), *(failure(item_id) for item_id in ids))
    (plan,) = plans(v4)
    found = [record for record in read_items(plan) if isinstance(record, Item)]
    is_any_known = any(item.official is not None for item in found)
    assert is_any_known is are_known
    assert (find_fact(plan) is None) is are_known
    n_issues = sum(
        "replies in the result file and the score file differ" in str(item.issues) for item in found
    )
    assert n_issues == (n_other if are_known else 0)
    assert [item.id for item in found if item.flags == ["other_reply"]] == ids


def test_entries_without_result_are_no_items_of_rewritten_run(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any, header: Any, failure: Any
) -> None:
    write_lines(v4 / RESULT, result(f"{CATEGORY}_0", 99))
    write_lines(v4 / SCORE, header(0, 3), *(failure(f"{CATEGORY}_{n}") for n in range(3)))
    (plan,) = plans(v4)
    found, _ = items(plan)
    assert official_verdicts(found) == {f"{CATEGORY}_0": None}


def test_entries_that_cannot_be_compared_do_not_count(
    v4: Path, plans: Any, items: Any, write_lines: Any, header: Any, failure: Any
) -> None:
    entry = failure(f"{CATEGORY}_1")
    del entry["model_result_raw"]
    write_lines(v4 / SCORE, header(1, 2), entry)
    (plan,) = plans(v4)
    assert official_verdicts(items(plan)[0]) == OFFICIAL
    assert find_fact(plan) is None


def test_large_categories_are_compared_too(
    v4: Path, plans: Any, monkeypatch: Any, write_lines: Any, result: Any
) -> None:
    monkeypatch.setattr("fcreview.importers.bfcl.read.MAX_KEPT_BYTES", 0)
    write_lines(v4 / RESULT, result(f"{CATEGORY}_0"), result(f"{CATEGORY}_1", 12))
    (plan,) = plans(v4)
    assert find_fact(plan) is not None


@pytest.mark.parametrize("n_entries", [2, 3])
def test_item_with_several_score_entries_is_marked(
    v4: Path, plans: Any, items: Any, write_lines: Any, header: Any, failure: Any, n_entries: int
) -> None:
    write_lines(v4 / SCORE, header(1, 2), *[failure(f"{CATEGORY}_1")] * n_entries)
    (plan,) = plans(v4)
    found, _ = items(plan)
    assert [item.flags for item in found] == [[], ["scored_twice"]]
    assert official_verdicts(found) == OFFICIAL

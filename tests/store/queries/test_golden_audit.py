"""The golden audit gets questions with the answers of all runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation, Fault
from fcreview.store.queries.golden_audit import AuditInput
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store, StoreError
from tests.store.factory import Imported

Rows = dict[str, list[dict[str, Any]]]
Make = Callable[[Rows], AuditInput]

PASS: dict[str, Any] = {"official": True, "rule": True, "prediction_hash": "right"}
FAIL: dict[str, Any] = {"official": False, "rule": False, "prediction_hash": "wrong"}


@pytest.fixture
def panel(imported: Imported, tmp_path: Path) -> Make:
    def make(runs: Rows) -> AuditInput:
        with Store.open(imported(tmp_path / "runs", runs), "alice") as store:
            return store.analysis.fetch_audit_input(View())

    return make


def test_equal_answers_are_combined(panel: Make) -> None:
    (case,) = panel({"gpt-1": [FAIL], "claude-1": [PASS], "llama-1": [FAIL]}).questions
    assert sorted((answer.passed, len(answer.runs)) for answer in case.answers) == [
        (False, 2),
        (True, 1),
    ]
    assert case.n_failing == 2
    (failing,) = case.failing_answers
    assert [(each.function, each.path) for each in failing.differences] == [("get_weather", "city")]
    assert case.golden[0].arguments is not None
    assert case.golden[0].arguments["city"].any_of == ["Hangzhou", "Hangzhou, China"]
    assert case.functions[0]["name"] == "get_weather"


def test_answers_with_equal_calls_are_compared_once(panel: Make) -> None:
    (case,) = panel(
        {"gpt-1": [FAIL], "llama-1": [{**FAIL, "prediction_hash": "wrong, in other words"}]}
    ).questions
    one, other = case.failing_answers
    assert one.runs != other.runs
    assert one.differences
    assert one.differences is other.differences


def test_passing_answers_without_a_difference_are_combined(panel: Make) -> None:
    equal: dict[str, Any] = {**PASS, "pairs": []}
    other = {**equal, "prediction_hash": "right, in other words"}
    (case,) = panel({"gpt-1": [equal], "llama-1": [other], "claude-1": [FAIL]}).questions
    assert sorted((answer.passed, len(answer.runs)) for answer in case.answers) == [
        (False, 1),
        (True, 2),
    ]


def test_pass_rates_of_runs_by_category(panel: Make) -> None:
    rows = [PASS] * 8 + [{**FAIL, "category": "other"}] * 8
    (witness,) = panel({"gpt-4o-mini": rows}).run_profiles.values()
    assert (witness.model, witness.family) == ("gpt-4o-mini", "gpt")
    assert witness.pass_rate == pytest.approx(0.5)
    assert (witness.n_passed, witness.n_verdicts) == (8, 16)
    assert witness.pass_rate_by_category == pytest.approx({"simple": 0.9, "other": 0.1})


def test_most_common_golden_answer_counts(panel: Make) -> None:
    old, new = {"golden_hash": "old", **FAIL}, {"golden_hash": "new", **PASS}
    (case,) = panel({"a": [old], "b": [new], "c": [new]}).questions
    assert len(case.runs) == 2
    assert case.n_failing == 0


def test_question_ends_with_the_last_user_message(panel: Make) -> None:
    def make_messages(*roles: str) -> list[dict[str, Any]]:
        return [
            {"turn": 0, "step": at, "role": role, "content": f"{role} {at}"}
            for at, role in enumerate(roles)
        ]

    talk = {"messages": make_messages("system", "user", "assistant", "user", "assistant")}
    tools = {"messages": make_messages("user", "assistant", "tool", "assistant")}
    first, second = panel({"a": [talk, tools]}).questions
    assert (first.text, first.is_self_contained) == ("system 0\nuser 1\nassistant 2\nuser 3", True)
    assert (second.text, second.is_self_contained) == ("user 0", False)


def test_contradicted_verdicts_are_marked(panel: Make) -> None:
    (case,) = panel({"a": [{**FAIL, "rule": True}]}).questions
    assert [answer.has_verdict_conflict for answer in case.answers] == [True]


@pytest.mark.parametrize(
    ("others", "fault"), [(None, {"golden": 1}), ("golden", {"golden": 1}), ("model", {})]
)
def test_undisputed_faults_are_included(
    imported: Imported, tmp_path: Path, others: Fault | None, fault: dict[str, int]
) -> None:
    workspace = imported(tmp_path / "runs", {"gpt-1": [FAIL], "claude-1": [PASS]})
    with Store.open(workspace, "alice") as store:
        item = next(row.item for row in store.fetch_page(View(), 0, 9) if row.official is False)
        Reviewer(store, Journal(workspace, "alice")).review(
            item, Annotation(verdict=True, fault="golden")
        )
        if others:
            Reviewer(store, Journal(workspace, "bob")).review(
                item, Annotation(verdict=others == "golden", fault=others)
            )
        (case,) = store.analysis.fetch_audit_input(View()).questions
        assert case.faults == fault


def test_filter_selects_questions_but_keeps_all_answers(imported: Imported, tmp_path: Path) -> None:
    workspace = imported(tmp_path / "runs", {"a": [FAIL, PASS], "b": [PASS, PASS]})
    with Store.open(workspace, "alice") as store:
        found = store.analysis.fetch_audit_input(View(where="official:fail"))
        assert found.selected_keys is not None
        assert [key.id for key in found.selected_keys] == ["simple_0"]
        assert [len(case.runs) for case in found.questions] == [2, 2]
        (only,) = {
            len(case.runs) for case in store.analysis.fetch_audit_input(View(runs=(1,))).questions
        }
        assert only == 1
    with Store.open(workspace, "alice", blind=True) as store, pytest.raises(StoreError):
        store.analysis.fetch_audit_input(View())

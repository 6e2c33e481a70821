from __future__ import annotations

import pytest

from fcreview.golden_audit.question import AuditedQuestion, Reason
from fcreview.golden_audit.score import (
    MIN_CONVENTION_ITEMS,
    PRIOR_REVIEWS,
    REASON_CHANCES,
    build_suspect,
    is_benchmark_at_fault,
    rank_suspects,
    update_chances,
)
from tests.golden_audit.cases import ModelAnswer, make_golden, make_profiles, make_question, make_schema

DEFAULT = make_schema(unit="Default is 'km'.", place="Where.")


def make_suspect_question(number: int, faults: dict[str, int] | None = None) -> AuditedQuestion:
    """Return a question whose golden answer requires a default."""
    return make_question(
        [make_golden(unit=["km"])], [DEFAULT], question=f"Question {number} on km", number=number, faults=faults
    )


def make_plain_question(number: int) -> AuditedQuestion:
    return make_question([make_golden(place=["Oslo"])], [DEFAULT], question=f"Question {number} on Oslo", number=number)


def test_all_questions_are_ranked_by_score() -> None:
    agreed = make_question(
        [make_golden(unit=["km"])], [DEFAULT], [ModelAnswer(range(6), {"unit": "mile"})], question="km", number=2
    )
    found = rank_suspects([make_plain_question(0), make_suspect_question(1), agreed], make_profiles())
    assert [each.question.key.id for each in found] == ["simple_2", "simple_1", "simple_0"]
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert 0 == found[2].score < found[1].score < found[0].score < 1
    assert not found[2].reasons


def test_score_combines_the_strongest_reason_of_each_kind() -> None:
    reasons = [Reason("default", 1.0, "a"), Reason("default", 0.5, "b"), Reason("loose", 0.5, "c")]
    made = build_suspect(make_plain_question(0), reasons, {"default": 0.5, "loose": 0.4})
    assert made.score == pytest.approx(1 - 0.5 * 0.8)
    assert [reason.text for reason in made.reasons] == ["a", "b", "c"]


def test_failures_alone_are_no_strong_suspicion() -> None:
    reasons = [Reason("failing", 1.0, "a"), Reason("reversed", 1.0, "b")]
    assert not build_suspect(make_plain_question(0), reasons, REASON_CHANCES).is_strong
    assert build_suspect(make_plain_question(0), [Reason("default", 1.0, "c")], REASON_CHANCES).is_strong


def test_alternative_is_preferably_an_answer_of_models() -> None:
    answers = [ModelAnswer([0, 2, 3], {"unit": "mile"})]
    (found,) = rank_suspects(
        [make_question([make_golden(unit=["km"])], [DEFAULT], answers, question="km")], make_profiles()
    )
    assert found.alternative is not None
    assert found.alternative.answer == 'unit: "mile"'
    (alone,) = rank_suspects([make_suspect_question(0)], make_profiles())
    assert alone.alternative is not None
    assert (alone.alternative.answer, alone.alternative.models) == ("without unit", ())


def test_reviewed_faults_change_scores_of_items_with_the_same_reason() -> None:
    def compute_score(faults: dict[str, int] | None) -> float:
        found = rank_suspects(
            [*(make_suspect_question(n, faults) for n in range(4)), make_suspect_question(9)], make_profiles()
        )
        return next(each.score for each in found if each.question.key.id == "simple_9")

    assert compute_score({"model": 1}) < compute_score(None) < compute_score({"golden": 1})
    assert compute_score(None) == pytest.approx(REASON_CHANCES["default"])
    assert compute_score({"golden": 1}) == pytest.approx(
        (PRIOR_REVIEWS * REASON_CHANCES["default"] + 4) / (PRIOR_REVIEWS + 4)
    )
    assert compute_score({"judge": 1}) == compute_score(None)


def test_reviewed_faults_do_not_change_other_kinds() -> None:
    chances = update_chances(
        {"default": 0.5, "loose": 0.4}, [(make_suspect_question(0, {"golden": 2}), [Reason("default", 1.0, "a")])]
    )
    assert chances == {
        "default": pytest.approx((PRIOR_REVIEWS * 0.5 + 1) / (PRIOR_REVIEWS + 1)),
        "loose": pytest.approx(0.4),
    }


@pytest.mark.parametrize(
    ("faults", "verdict"),
    [({}, None), ({"model": 2}, False), ({"golden": 1}, True), ({"checker": 1}, True), ({"question": 1}, True),
     ({"model": 3, "golden": 1}, True), ({"judge": 1}, None)],
)  # fmt: skip
def test_one_run_with_benchmark_at_fault_is_enough(faults: dict[str, int], verdict: bool | None) -> None:
    assert is_benchmark_at_fault(make_suspect_question(0, faults)) is verdict


def test_reviewed_fault_is_the_first_reason_and_changes_the_rank() -> None:
    (right, open_, wrong) = rank_suspects(
        [make_suspect_question(0, {"golden": 1}), make_suspect_question(1, {"model": 1}), make_suspect_question(2)],
        make_profiles(),
    )
    assert [each.question.key.id for each in (right, open_, wrong)] == ["simple_0", "simple_2", "simple_1"]
    assert right.reasons[0].text == "reviewed: annotators decided that the benchmark is at fault"


def test_convention_of_a_whole_dataset_lowers_the_score() -> None:
    everywhere = [make_suspect_question(n) for n in range(2 * MIN_CONVENTION_ITEMS)]
    here_and_there = [make_suspect_question(n) for n in range(MIN_CONVENTION_ITEMS)] + [
        make_plain_question(n) for n in range(MIN_CONVENTION_ITEMS, 20 * MIN_CONVENTION_ITEMS)
    ]
    assert rank_suspects(everywhere, make_profiles())[0].score == pytest.approx(REASON_CHANCES["default"] / 10)
    assert rank_suspects(here_and_there, make_profiles())[0].score == pytest.approx(REASON_CHANCES["default"])


def test_strange_data_is_ranked_without_errors() -> None:
    deep: list[object] = []
    for _ in range(90):
        deep = [deep]
    strange = [
        make_question([], []),
        make_question(
            [make_golden(x=[deep, {"a": [deep]}, None, 10**18, "\x1b[2J" * 500])],
            [DEFAULT, {}, {"name": []}],
            [ModelAnswer([0, 2], {"x": deep, "y": "…" * 5000}), ModelAnswer([3], None), ModelAnswer([99], {"x": 1})],
        ),
        make_question(
            [make_golden("f", **{"": [""]})], [{"name": "f", "parameters": {"properties": {"": {"enum": [[1], {}]}}}}]
        ),
    ]
    assert len(rank_suspects(strange, make_profiles())) == 3
    assert len(rank_suspects(strange, {})) == 3

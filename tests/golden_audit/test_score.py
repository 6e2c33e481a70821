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
from tests.golden_audit.cases import Said, case, document, golden, witnesses

DEFAULT = document(unit="Default is 'km'.", place="Where.")


def demanding(number: int, faults: dict[str, int] | None = None) -> AuditedQuestion:
    """Golden demands a default."""
    return case([golden(unit=["km"])], [DEFAULT], question=f"Question {number} on km", number=number, faults=faults)


def plain_one(number: int) -> AuditedQuestion:
    return case([golden(place=["Oslo"])], [DEFAULT], question=f"Question {number} on Oslo", number=number)


def test_every_case_is_there_most_suspect_first() -> None:
    agreed = case([golden(unit=["km"])], [DEFAULT], [Said(range(6), {"unit": "mile"})], question="km", number=2)
    found = rank_suspects([plain_one(0), demanding(1), agreed], witnesses())
    assert [each.question.key.id for each in found] == ["simple_2", "simple_1", "simple_0"]
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert 0 == found[2].score < found[1].score < found[0].score < 1
    assert not found[2].reasons


def test_reasons_add_up_as_independent_chances_and_the_clearest_of_a_kind_counts() -> None:
    reasons = [Reason("default", 1.0, "a"), Reason("default", 0.5, "b"), Reason("loose", 0.5, "c")]
    made = build_suspect(plain_one(0), reasons, {"default": 0.5, "loose": 0.4})
    assert made.score == pytest.approx(1 - 0.5 * 0.8)
    assert [reason.text for reason in made.reasons] == ["a", "b", "c"]


def test_an_answer_that_models_gave_is_the_alternative_rather_than_one_that_follows_from_golden() -> None:
    said = [Said([0, 2, 3], {"unit": "mile"})]
    (found,) = rank_suspects([case([golden(unit=["km"])], [DEFAULT], said, question="km")], witnesses())
    assert found.alternative is not None
    assert found.alternative.answer == 'unit: "mile"'
    (alone,) = rank_suspects([demanding(0)], witnesses())
    assert alone.alternative is not None
    assert (alone.alternative.answer, alone.alternative.models) == ("without unit", ())


def test_settled_faults_raise_and_lower_other_items_with_the_same_reason() -> None:
    def score(faults: dict[str, int] | None) -> float:
        found = rank_suspects([*(demanding(n, faults) for n in range(4)), demanding(9)], witnesses())
        return next(each.score for each in found if each.question.key.id == "simple_9")

    assert score({"model": 1}) < score(None) < score({"golden": 1})
    assert score(None) == pytest.approx(REASON_CHANCES["default"])
    assert score({"golden": 1}) == pytest.approx((PRIOR_REVIEWS * REASON_CHANCES["default"] + 4) / (PRIOR_REVIEWS + 4))
    assert score({"judge": 1}) == score(None)


def test_settled_faults_leave_other_kinds_alone() -> None:
    chances = update_chances(
        {"default": 0.5, "loose": 0.4}, [(demanding(0, {"golden": 2}), [Reason("default", 1.0, "a")])]
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
def test_one_run_at_which_the_benchmark_is_at_fault_settles_it(faults: dict[str, int], verdict: bool | None) -> None:
    assert is_benchmark_at_fault(demanding(0, faults)) is verdict


def test_what_is_settled_is_said_first_and_moves_the_item_itself() -> None:
    (right, open_, wrong) = rank_suspects(
        [demanding(0, {"golden": 1}), demanding(1, {"model": 1}), demanding(2)], witnesses()
    )
    assert [each.question.key.id for each in (right, open_, wrong)] == ["simple_0", "simple_2", "simple_1"]
    assert right.reasons[0].text == "annotators decided that the benchmark is at fault"


def test_what_a_dataset_does_everywhere_is_its_habit() -> None:
    everywhere = [demanding(n) for n in range(2 * MIN_CONVENTION_ITEMS)]
    here_and_there = [demanding(n) for n in range(MIN_CONVENTION_ITEMS)] + [
        plain_one(n) for n in range(MIN_CONVENTION_ITEMS, 20 * MIN_CONVENTION_ITEMS)
    ]
    assert rank_suspects(everywhere, witnesses())[0].score == pytest.approx(REASON_CHANCES["default"] / 10)
    assert rank_suspects(here_and_there, witnesses())[0].score == pytest.approx(REASON_CHANCES["default"])


def test_strange_data_is_no_trouble() -> None:
    deep: list[object] = []
    for _ in range(90):
        deep = [deep]
    strange = [
        case([], []),
        case([golden(x=[deep, {"a": [deep]}, None, 10**18, "\x1b[2J" * 500])], [DEFAULT, {}, {"name": []}],
             [Said([0, 2], {"x": deep, "y": "…" * 5000}), Said([3], None), Said([99], {"x": 1})]),
        case([golden("f", **{"": [""]})], [{"name": "f", "parameters": {"properties": {"": {"enum": [[1], {}]}}}}]),
    ]  # fmt: skip
    assert len(rank_suspects(strange, witnesses())) == 3
    assert len(rank_suspects(strange, {})) == 3

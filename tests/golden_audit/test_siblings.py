from __future__ import annotations

from typing import Any

from fcreview.golden_audit.consistency import GoldenAnswerIndex, find_deviations_from_other_items
from fcreview.golden_audit.question import AuditedQuestion
from tests.golden_audit.cases import OPTIONAL, make_evidence, make_golden, make_question, make_schema

DOCUMENT = make_schema(unit="Unit.")


def make_audited(number: int, values: list[Any], *, question: str = "", required: bool = False) -> AuditedQuestion:
    documents = [make_schema(unit="Unit.", required=["unit"])] if required else [DOCUMENT]
    return make_question(
        [make_golden(unit=values)], documents, question=question or f"Question {number}", number=number
    )


def find_reasons(one: AuditedQuestion, others: list[AuditedQuestion]) -> list[str]:
    return [
        reason.text
        for reason in find_deviations_from_other_items(make_evidence(one), GoldenAnswerIndex([one, *others]))
    ]


def test_required_argument_that_other_items_allow_omitting_is_suspect() -> None:
    others = [make_audited(n, ["km", OPTIONAL]) for n in range(1, 5)]
    assert find_reasons(make_audited(0, ["km"]), others) == [
        "unlike other items: unit must be given, but 4 other items allow omitting it"
    ]
    assert find_reasons(make_audited(0, ["km", OPTIONAL]), others) == []
    assert find_reasons(make_audited(0, ["km"], required=True), others) == []
    assert find_reasons(make_audited(0, ["km"]), others[:2]) == []


def test_value_of_another_type_than_other_items_is_suspect() -> None:
    others = [make_audited(n, [["km"]]) for n in range(1, 5)]
    (text,) = find_reasons(make_audited(0, ["km"]), others)
    assert text == 'unlike other items: unit is string, list in 4 other items; golden value: "km"'
    assert find_reasons(make_audited(0, [["mile"]]), others) == []


def test_same_question_with_different_golden_answer_is_suspect() -> None:
    other = make_audited(1, ["mile"], question="How far is it?")
    assert find_reasons(make_audited(0, ["km"], question="how far is it"), [other]) == [
        "unlike other items: simple_1 has the same question but a different golden answer"
    ]
    assert find_reasons(make_audited(0, ["Mile"], question="how far is it"), [other]) == []
    assert find_reasons(make_audited(0, ["km"], question="How near is it?"), [other]) == []


def test_turns_and_empty_questions_are_not_compared() -> None:
    one, other = make_audited(0, ["km"], question="Go on."), make_audited(1, ["mile"], question="Go on.")
    one.group = other.group = "talk"
    assert find_reasons(one, [other]) == []
    assert find_reasons(make_audited(0, ["km"], question=" "), [make_audited(1, ["mile"], question=" ")]) == []


def test_item_that_accepts_both_values_is_found() -> None:
    known = GoldenAnswerIndex([make_audited(3, ["english", "en"])])
    assert known.find_item_accepting_both("unit", ["English"], "EN") == "simple_3"
    assert known.find_item_accepting_both("unit", ["english"], "de") is None
    assert known.find_item_accepting_both("place", ["english"], "en") is None
    assert known.find_item_accepting_both("unit", [5], 6) is None

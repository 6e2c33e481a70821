from __future__ import annotations

from typing import Any

from fcreview.golden_audit.consistency import GoldenAnswerIndex, find_deviations_from_other_items
from fcreview.golden_audit.question import AuditedQuestion
from tests.golden_audit.cases import OPTIONAL, case, document, golden, seen

DOCUMENT = document(unit="Unit.")


def asks(number: int, values: list[Any], *, question: str = "", required: bool = False) -> AuditedQuestion:
    documents = [document(unit="Unit.", required=["unit"])] if required else [DOCUMENT]
    return case([golden(unit=values)], documents, question=question or f"Question {number}", number=number)


def reasons(one: AuditedQuestion, others: list[AuditedQuestion]) -> list[str]:
    return [reason.text for reason in find_deviations_from_other_items(seen(one), GoldenAnswerIndex([one, *others]))]


def test_demanding_what_others_let_be_left_out_is_suspect() -> None:
    others = [asks(n, ["km", OPTIONAL]) for n in range(1, 5)]
    assert reasons(asks(0, ["km"]), others) == [
        "golden answer requires unit of convert, which 4 other items allow omitting"
    ]
    assert reasons(asks(0, ["km", OPTIONAL]), others) == []
    assert reasons(asks(0, ["km"], required=True), others) == []
    assert reasons(asks(0, ["km"]), others[:2]) == []


def test_a_value_of_another_shape_than_others_have_is_suspect() -> None:
    others = [asks(n, [["km"]]) for n in range(1, 5)]
    (text,) = reasons(asks(0, ["km"]), others)
    assert text == 'golden value for unit of convert is a string, "km"; 4 other items have a list'
    assert reasons(asks(0, [["mile"]]), others) == []


def test_the_same_question_with_another_answer_is_suspect() -> None:
    other = asks(1, ["mile"], question="How far is it?")
    assert reasons(asks(0, ["km"], question="how far is it"), [other]) == [
        "simple_1 has the same question but a different golden answer"
    ]
    assert reasons(asks(0, ["Mile"], question="how far is it"), [other]) == []
    assert reasons(asks(0, ["km"], question="How near is it?"), [other]) == []


def test_turns_of_a_conversation_and_empty_questions_are_not_the_same_question() -> None:
    one, other = asks(0, ["km"], question="Go on."), asks(1, ["mile"], question="Go on.")
    one.group = other.group = "talk"
    assert reasons(one, [other]) == []
    assert reasons(asks(0, ["km"], question=" "), [asks(1, ["mile"], question=" ")]) == []


def test_values_are_accepted_together_in_an_argument_of_the_same_name() -> None:
    known = GoldenAnswerIndex([asks(3, ["english", "en"])])
    assert known.find_item_accepting_both("unit", ["English"], "EN") == "simple_3"
    assert known.find_item_accepting_both("unit", ["english"], "de") is None
    assert known.find_item_accepting_both("place", ["english"], "en") is None
    assert known.find_item_accepting_both("unit", [5], 6) is None

from __future__ import annotations

from typing import Any

import pytest

from fcreview.golden_audit.grounding import TextContent, find_ungrounded_values
from tests.golden_audit.cases import OPTIONAL, make_evidence, make_golden, make_question, make_schema

NUMBER = {"type": "float", "description": "How many."}


def find_reasons(values: list[Any], question: str, parameter: Any = NUMBER) -> list[tuple[float, str]]:
    made = make_question([make_golden(x=values)], [make_schema(x=parameter)], question=question)
    return [(reason.strength, reason.text) for reason in find_ungrounded_values(make_evidence(made))]


def test_number_that_is_not_in_the_question_is_suspect() -> None:
    ((clear, text),) = find_reasons([20.0], "Fuel efficiency of 25 MPG")
    assert clear == 1
    assert text == ("not in the question: x is 20.0; the question has 25, which the golden answer does not use")
    ((weaker, _),) = find_reasons([20.0], "Fuel efficiency of a car")
    assert weaker < clear


@pytest.mark.parametrize(
    ("value", "question"),
    [
        (25, "25 MPG"),
        (5000, "invest $5,000"),
        (2, "in two days"),
        (0.05, "at 5 %"),
        (-122.4, "longitude 122.4 W"),
        (24, "two dozen: 2 dozens"),
        (3000000, "a 3 million house"),
        ([1, 2, 3], "of 1, 2 and 3"),
        (1, "nothing of the kind"),
        (True, "nothing of the kind"),
    ],
)
def test_number_in_another_form_is_grounded(value: Any, question: str) -> None:
    assert find_reasons([value], question) == []


def test_value_in_function_docs_or_another_accepted_value_is_grounded() -> None:
    assert find_reasons([20.0, 25.0], "25 MPG") == []
    assert find_reasons([20.0], "25 MPG", {"type": "float", "description": "20 is usual."}) == []
    assert find_reasons(["en"], "Is this nice?", {"type": "string", "enum": ["en"]}) == []
    assert find_reasons([10, OPTIONAL], "any", {"type": "integer", "default": 10}) == []


def test_name_that_is_not_in_the_question_is_suspect() -> None:
    assert [clear for clear, _ in find_reasons(["Los Angeles"], "Three pumpkins, please.", "A place.")] == [0.5]
    assert find_reasons(["Los Angeles"], "In LOS ANGELES.", "A place.") == []
    assert find_reasons(["predict"], "A prediction.", "A thing.") == []
    assert find_reasons(["上海市"], "上海的天气", "A place.") == []


def test_incomplete_question_gives_no_reasons() -> None:
    made = make_question([make_golden(x=[20.0])], [make_schema(x=NUMBER)], question="25 MPG")
    made.is_self_contained = False
    assert find_ungrounded_values(make_evidence(made)) == []
    assert find_reasons([20.0], "  ") == []


def test_numbers_are_read_from_text() -> None:
    assert {1234567.0, 0.5, 12.0} <= TextContent("1,234,567 and .5 and 12").numbers
    assert {22.0, 33.0, 42.0} <= TextContent("[22,33,42]").numbers

from __future__ import annotations

from typing import Any

import pytest

from fcreview.golden_audit.golden_checks import (
    GoldenAnswerIndex,
    TextContent,
    find_deviations_from_other_items,
    find_format_conflicts,
    find_function_doc_conflicts,
    find_ungrounded_values,
)
from fcreview.golden_audit.question import AuditedQuestion, Reason
from fcreview.model.item import Call
from tests.golden_audit.cases import (
    OPTIONAL,
    ModelAnswer,
    make_evidence,
    make_golden,
    make_question,
    make_schema,
    select_kind,
)


def find_reasons(wanted: list[Call], *documents: dict[str, Any]) -> list[Reason]:
    evidence = make_evidence(make_question(wanted, documents))
    return [*find_function_doc_conflicts(evidence), *find_format_conflicts(evidence)]


def find_kinds(
    values: list[Any], parameter: Any, *, required: bool = False
) -> list[tuple[str, float]]:
    reasons = find_reasons(
        [make_golden(x=values)], make_schema(x=parameter, required=["x"] if required else [])
    )
    return [(reason.kind, reason.strength) for reason in reasons]


@pytest.mark.parametrize("default", [{"default": 5}, {"description": "Default is 5."}])
def test_required_default_of_optional_argument_is_suspect(default: dict[str, Any]) -> None:
    parameter = {"type": "integer", **default}
    assert find_kinds([5], parameter) == [("default", 1.0)]
    assert find_kinds([5, OPTIONAL], parameter) == []
    assert find_kinds([6], parameter) == []
    assert find_kinds([5], parameter, required=True) == []


def test_omission_and_default_must_both_be_accepted() -> None:
    metres = {"type": "string", "description": "Default is 'm'."}
    assert find_kinds(["cm", OPTIONAL], metres) == [("omission", 1.0)]
    assert find_kinds(["m", OPTIONAL], metres) == []
    assert find_kinds(["cm", "meters", OPTIONAL], metres) == []
    assert find_kinds([OPTIONAL], metres) == [("omission", 0.5)]
    assert find_kinds(["cm", OPTIONAL], {"type": "string"}) == []


def test_default_is_not_required_if_an_answer_without_it_passes() -> None:
    made = make_question(
        [make_golden(x=[5])],
        [make_schema(x={"type": "integer", "default": 5})],
        [ModelAnswer([0], {}, passed=True)],
    )
    assert find_function_doc_conflicts(make_evidence(made)) == []


@pytest.mark.parametrize(
    ("values", "parameter", "strength"),
    [
        (["67813"], {"type": "array", "items": {"type": "string"}}, 1.0),
        ([["a"]], {"type": "array", "items": {"type": "integer"}}, 1.0),
        (["no"], {"type": "boolean"}, 1.0),
        ([0.5], {"type": "integer"}, 1.0),
        (["b"], {"type": "string", "enum": ["a"]}, 1.0),
        (["a", "b"], {"type": "string", "enum": ["a"]}, 0.5),
        (["March 1"], {"type": "string", "description": "Format: yyyy-mm-dd."}, 1.0),
        (["Oslo"], {"type": "string", "description": "In the format City, State."}, 0.5),
    ],
)
def test_value_that_violates_the_schema_is_suspect(
    values: list[Any], parameter: Any, strength: float
) -> None:
    assert find_kinds(values, parameter) == [("contract", strength)]


@pytest.mark.parametrize(
    ("values", "parameter"),
    [
        ([5], {"type": "float"}),
        ([5.0], {"type": "integer"}),
        ([["a"]], {"type": "array", "items": {"type": "string"}}),
        (["a"], {"type": "string", "enum": ["a"]}),
        ([{"a": 1}], {"type": "dict"}),
        ([None], {"type": "integer"}),
        (["myItems"], {"type": "array"}),
        (["2023-03-01", "March 1"], {"type": "string", "description": "Format: yyyy-mm-dd."}),
        (["any"], {"type": "string", "description": "yyyy-mm-dd, or any"}),
        ([5], {"type": "any"}),
        ([5], {}),
    ],
)
def test_value_that_follows_the_schema_is_not_suspect(values: list[Any], parameter: Any) -> None:
    assert find_kinds(values, parameter) == []


@pytest.mark.parametrize(
    ("value", "parameter", "text"),
    [
        (
            True,
            {"type": "string"},
            "wrong type: x is boolean, but documented as string; golden value: true",
        ),
        (
            ["a"],
            {"type": "array", "items": {"type": "integer"}},
            "wrong element type: x contains string, but documented as",
        ),
        (
            "b",
            {"type": "string", "enum": ["a"]},
            'undocumented value: x is "b", which the function docs do not list',
        ),
        (
            "Oslo",
            {"type": "string", "description": "In the format City, State."},
            'wrong format: x is "Oslo", but document',
        ),
        ("a ", {"type": "string"}, 'damaged string: x is "a "'),
    ],
)
def test_reason_begins_with_what_is_wrong(value: Any, parameter: Any, text: str) -> None:
    (reason,) = find_reasons([make_golden(x=[value])], make_schema(x=parameter))
    assert reason.text.startswith(text) and reason.function == "convert"


def test_undocumented_functions_and_arguments_are_suspect() -> None:
    (unknown,) = find_reasons([make_golden("other", x=["a"])], make_schema(x=""))
    assert unknown.text == "undocumented function: other has no function docs"
    (extra,) = find_reasons([make_golden(y=["a"])], make_schema(x=""))
    assert extra.full_text == "undocumented argument: y is not in the function docs (convert)"
    (missing,) = find_reasons([make_golden()], make_schema(x="", required=["x"]))
    assert missing.text == "missing argument: the golden answer omits x, which is required"
    assert find_reasons([make_golden("a_b 2", x=["a"])], make_schema("a.b", x="")) == []


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["3x^2"], ["notation"]),
        (["2**x^2"], ["notation"]),
        (["3x^2", "3x**2"], []),
        (["3x**2"], []),
        (["m^2"], []),
        (["San Francisco, CA", "San Francisco", "CA"], ["loose"]),
        (["San Francisco, CA", "San Francisco"], []),
        (["New York, NY", "New York", "NY"], []),
        (["'Golden Gate"], ["loose"]),
        (['"detailed"'], ["loose"]),
        (["Oslo "], ["loose"]),
        (["the driver's seat"], []),
    ],
)
def test_one_sided_notations_and_damaged_strings_are_suspect(
    values: list[str], kind: list[str]
) -> None:
    assert [name for name, _ in find_kinds(values, "A text.")] == kind


def test_schema_without_parameters_is_no_evidence() -> None:
    assert select_kind(find_reasons([make_golden(x=["a"])], {"name": "convert"}), "contract") == []


DOCUMENT = make_schema(unit="Unit.")


def make_audited(
    number: int, values: list[Any], *, question: str = "", required: bool = False
) -> AuditedQuestion:
    documents = [make_schema(unit="Unit.", required=["unit"])] if required else [DOCUMENT]
    return make_question(
        [make_golden(unit=values)],
        documents,
        question=question or f"Question {number}",
        number=number,
    )


def find_deviations(one: AuditedQuestion, others: list[AuditedQuestion]) -> list[str]:
    return [
        reason.text
        for reason in find_deviations_from_other_items(
            make_evidence(one), GoldenAnswerIndex([one, *others])
        )
    ]


def test_required_argument_that_other_items_allow_omitting_is_suspect() -> None:
    others = [make_audited(n, ["km", OPTIONAL]) for n in range(1, 5)]
    assert find_deviations(make_audited(0, ["km"]), others) == [
        "unlike other items: unit must be given, but 4 other items allow omitting it"
    ]
    assert find_deviations(make_audited(0, ["km", OPTIONAL]), others) == []
    assert find_deviations(make_audited(0, ["km"], required=True), others) == []
    assert find_deviations(make_audited(0, ["km"]), others[:2]) == []


def test_value_of_another_type_than_other_items_is_suspect() -> None:
    others = [make_audited(n, [["km"]]) for n in range(1, 5)]
    (text,) = find_deviations(make_audited(0, ["km"]), others)
    assert (
        text == 'unlike other items: unit is string, but list in 4 other items; golden value: "km"'
    )
    assert find_deviations(make_audited(0, [["mile"]]), others) == []


def test_same_question_with_different_golden_answer_is_suspect() -> None:
    other = make_audited(1, ["mile"], question="How far is it?")
    assert find_deviations(make_audited(0, ["km"], question="how far is it"), [other]) == [
        "unlike other items: simple_1 has the same question but a different golden answer"
    ]
    assert find_deviations(make_audited(0, ["Mile"], question="how far is it"), [other]) == []
    assert find_deviations(make_audited(0, ["km"], question="How near is it?"), [other]) == []


def test_turns_and_empty_questions_are_not_compared() -> None:
    one, other = (
        make_audited(0, ["km"], question="Go on."),
        make_audited(1, ["mile"], question="Go on."),
    )
    one.group = other.group = "talk"
    assert find_deviations(one, [other]) == []
    assert (
        find_deviations(
            make_audited(0, ["km"], question=" "), [make_audited(1, ["mile"], question=" ")]
        )
        == []
    )


def test_item_that_accepts_both_values_is_found() -> None:
    known = GoldenAnswerIndex([make_audited(3, ["english", "en"])])
    assert known.find_item_id_accepting_both("unit", ["English"], "EN") == "simple_3"
    assert known.find_item_id_accepting_both("unit", ["english"], "de") is None
    assert known.find_item_id_accepting_both("place", ["english"], "en") is None
    assert known.find_item_id_accepting_both("unit", [5], 6) is None


NUMBER = {"type": "float", "description": "How many."}


def find_ungrounded(
    values: list[Any], question: str, parameter: Any = NUMBER
) -> list[tuple[float, str]]:
    made = make_question([make_golden(x=values)], [make_schema(x=parameter)], question=question)
    return [
        (reason.strength, reason.text) for reason in find_ungrounded_values(make_evidence(made))
    ]


def test_number_that_is_not_in_the_question_is_suspect() -> None:
    ((clear, text),) = find_ungrounded([20.0], "Fuel efficiency of 25 MPG")
    assert clear == 1
    assert text == (
        "not in the question: x is 20.0, but the golden answer does not use 25 from the question"
    )
    ((weaker, _),) = find_ungrounded([20.0], "Fuel efficiency of a car")
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
    assert find_ungrounded([value], question) == []


def test_value_in_function_docs_or_another_accepted_value_is_grounded() -> None:
    assert find_ungrounded([20.0, 25.0], "25 MPG") == []
    assert find_ungrounded([20.0], "25 MPG", {"type": "float", "description": "20 is usual."}) == []
    assert find_ungrounded(["en"], "Is this nice?", {"type": "string", "enum": ["en"]}) == []
    assert find_ungrounded([10, OPTIONAL], "any", {"type": "integer", "default": 10}) == []


def test_name_that_is_not_in_the_question_is_suspect() -> None:
    assert [
        clear
        for clear, _ in find_ungrounded(["Los Angeles"], "Three pumpkins, please.", "A place.")
    ] == [0.5]
    assert find_ungrounded(["Los Angeles"], "In LOS ANGELES.", "A place.") == []
    assert find_ungrounded(["predict"], "A prediction.", "A thing.") == []
    assert find_ungrounded(["上海市"], "上海的天气", "A place.") == []


def test_incomplete_question_gives_no_reasons() -> None:
    made = make_question([make_golden(x=[20.0])], [make_schema(x=NUMBER)], question="25 MPG")
    made.is_self_contained = False
    assert find_ungrounded_values(make_evidence(made)) == []
    assert find_ungrounded([20.0], "  ") == []


def test_numbers_are_read_from_text() -> None:
    assert {1234567.0, 0.5, 12.0} <= TextContent("1,234,567 and .5 and 12").numbers
    assert {22.0, 33.0, 42.0} <= TextContent("[22,33,42]").numbers

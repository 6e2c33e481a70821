from __future__ import annotations

from typing import Any

import pytest

from fcreview.golden_audit.consistency import find_function_doc_conflicts
from fcreview.golden_audit.grounding import find_format_conflicts
from fcreview.golden_audit.question import Reason
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


def find_kinds(values: list[Any], parameter: Any, *, required: bool = False) -> list[tuple[str, float]]:
    reasons = find_reasons([make_golden(x=values)], make_schema(x=parameter, required=["x"] if required else []))
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
        [make_golden(x=[5])], [make_schema(x={"type": "integer", "default": 5})], [ModelAnswer([0], {}, passed=True)]
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
def test_value_that_violates_the_schema_is_suspect(values: list[Any], parameter: Any, strength: float) -> None:
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
        (True, {"type": "string"}, "wrong type: x is boolean, documented as string; golden value: true"),
        (
            ["a"],
            {"type": "array", "items": {"type": "integer"}},
            "wrong element type: x contains string, documented as",
        ),
        ("b", {"type": "string", "enum": ["a"]}, 'undocumented value: x is "b", which the function docs do not list'),
        (
            "Oslo",
            {"type": "string", "description": "In the format City, State."},
            'wrong format: x is "Oslo", document',
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
def test_one_sided_notations_and_damaged_strings_are_suspect(values: list[str], kind: list[str]) -> None:
    assert [name for name, _ in find_kinds(values, "A text.")] == kind


def test_schema_without_parameters_is_no_evidence() -> None:
    assert select_kind(find_reasons([make_golden(x=["a"])], {"name": "convert"}), "contract") == []

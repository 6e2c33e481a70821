from __future__ import annotations

from typing import Any

import pytest

from fcreview.golden_audit.consistency import find_function_doc_conflicts as checked
from fcreview.golden_audit.grounding import find_format_conflicts
from fcreview.golden_audit.question import Reason
from fcreview.model.item import Call
from tests.golden_audit.cases import OPTIONAL, Said, case, document, golden, of_kind, seen


def found(wanted: list[Call], *documents: dict[str, Any]) -> list[Reason]:
    of = seen(case(wanted, documents))
    return [*checked(of), *find_format_conflicts(of)]


def kinds(values: list[Any], parameter: Any, *, required: bool = False) -> list[tuple[str, float]]:
    of = found([golden(x=values)], document(x=parameter, required=["x"] if required else []))
    return [(reason.kind, reason.strength) for reason in of]


@pytest.mark.parametrize("default", [{"default": 5}, {"description": "Default is 5."}])
def test_demanding_the_default_of_an_optional_argument_is_suspect(default: dict[str, Any]) -> None:
    parameter = {"type": "integer", **default}
    assert kinds([5], parameter) == [("default", 1.0)]
    assert kinds([5, OPTIONAL], parameter) == []
    assert kinds([6], parameter) == []
    assert kinds([5], parameter, required=True) == []


def test_leaving_out_and_the_default_must_be_accepted_alike() -> None:
    metres = {"type": "string", "description": "Default is 'm'."}
    assert kinds(["cm", OPTIONAL], metres) == [("omission", 1.0)]
    assert kinds(["m", OPTIONAL], metres) == []
    assert kinds(["cm", "meters", OPTIONAL], metres) == []
    assert kinds([OPTIONAL], metres) == [("omission", 0.5)]
    assert kinds(["cm", OPTIONAL], {"type": "string"}) == []


def test_a_default_is_not_demanded_if_an_answer_without_it_passes() -> None:
    made = case([golden(x=[5])], [document(x={"type": "integer", "default": 5})], [Said([0], {}, passed=True)])
    assert checked(seen(made)) == []


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
def test_a_value_against_the_document_is_suspect(values: list[Any], parameter: Any, strength: float) -> None:
    assert kinds(values, parameter) == [("contract", strength)]


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
def test_a_value_as_documented_is_not(values: list[Any], parameter: Any) -> None:
    assert kinds(values, parameter) == []


def test_functions_and_arguments_that_have_no_document_are_suspect() -> None:
    (unknown,) = found([golden("other", x=["a"])], document(x=""))
    assert unknown.text == "golden answer calls other, which has no function docs"
    (extra,) = found([golden(y=["a"])], document(x=""))
    assert extra.text == "golden answer has y, which the function docs of convert do not list"
    (missing,) = found([golden()], document(x="", required=["x"]))
    assert missing.text == "golden answer omits x of convert, which is required"
    assert found([golden("a_b 2", x=["a"])], document("a.b", x="")) == []


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
def test_one_sided_notations_and_damaged_texts_are_suspect(values: list[str], kind: list[str]) -> None:
    assert [name for name, _ in kinds(values, "A text.")] == kind


def test_a_document_without_parameters_is_no_evidence() -> None:
    assert of_kind(found([golden(x=["a"])], {"name": "convert"}), "contract") == []

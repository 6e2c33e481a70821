"""Comparisons show the differences that the checker finds with the function document."""

from __future__ import annotations

from typing import Any

from fcreview.importers.bfcl.checker.evaluate import (
    EvaluatedReply,
    EvaluationSettings,
    evaluate_record,
)
from fcreview.importers.bfcl.dataset import DatasetItem, parse_golden_calls
from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME
from fcreview.matching.first_difference import build_argument_rows
from fcreview.tui.item_view.call_diff import difference_reasons, missing_predicted_label
from tests.importers.bfcl.checker.cases import S, document

PRIMES = document("primes", ["number", "formatted"], number="integer", formatted="boolean")


def evaluate_call(
    reply: Any, answer: Any, *functions: Any, category: str = "simple_python"
) -> EvaluatedReply:
    case = DatasetItem("c_0", category, functions=list(functions), ground_truth=answer)
    case.golden_calls = parse_golden_calls(answer, category, functions)
    decoder = DECODERS_BY_NAME["PROMPT" if isinstance(reply, str) else "FC"]
    return evaluate_record(case, {"result": reply}, EvaluationSettings("V4", category, decoder))


def test_argument_required_by_function_is_missing() -> None:
    reply = evaluate_call(
        "[primes(number=450)]", [{"primes": {"number": [450], "formatted": [True, ""]}}], PRIMES
    )
    assert reply.evaluation.error_type == f"{S}missing_required"
    (pair,) = reply.pairs
    assert pair.state == "!" and [(place.path, place.state) for place in pair.diff] == [
        ("formatted", "-")
    ]


def test_missing_argument_is_shown_with_reason() -> None:
    answer = [{"primes": {"number": [450], "formatted": [True, ""]}}]
    golden = parse_golden_calls(answer, "simple_python", [PRIMES])
    reply = evaluate_call("[primes(number=450)]", answer, PRIMES)
    rows = build_argument_rows(golden[0], reply.predicted[0], reply.pairs[0].diff)
    row = next(row for row in rows if row.path == "formatted")
    assert missing_predicted_label(row) == "(missing)" and difference_reasons(row) == [
        "required by the function, but not by the golden answer"
    ]


def test_golden_arguments_unknown_to_function_fail() -> None:
    answer = [{"primes": {"number": [450], "bound": [3, ""]}}]
    reply = evaluate_call("[primes(number=450, formatted=True, bound=3)]", answer, PRIMES)
    assert reply.evaluation.error_type == f"{S}unexpected_param"
    states = {place.path: place.state for place in reply.pairs[0].diff}
    assert states == {"formatted": "+", "bound": "!"}


def test_each_call_uses_its_function_document() -> None:
    answer = [{"primes": {"number": [1], "formatted": [True, ""]}}, {"ls": {"path": ["."]}}]
    other = document("ls", ["path"], path="string")
    reply = evaluate_call(
        "[ls(path='.'), primes(number=1)]", answer, PRIMES, other, category="parallel_multiple"
    )
    assert {pair.name: pair.state for pair in reply.pairs} == {"primes": "!", "ls": "="}


def test_passing_call_is_compared_only_with_golden_answer() -> None:
    answer = [{"ls": {"path": [".", ""]}}]
    reply = evaluate_call("[ls()]", answer, document("ls", path="string"))
    assert reply.evaluation.valid and reply.pairs[0].state == "=" and not reply.pairs[0].diff


DRAW = document("draw", at="array", count="integer", label="String")
GOLDEN = [{"draw": {"at": [[60, 30]], "count": [5], "label": ["a b"]}}]


def list_differences(reply: EvaluatedReply) -> dict[str, str]:
    (pair,) = reply.pairs
    return {place.path: f"{place.state} {place.reason}" for place in pair.diff}


def test_passing_source_text_is_compared_after_conversion() -> None:
    reply = evaluate_call(
        "[draw(at=[60,30], count=5, label='a b')]", GOLDEN, DRAW, category="simple_javascript"
    )
    assert reply.evaluation.valid and reply.pairs[0].state == "~"
    assert list_differences(reply) == {
        "at": "~ equal after conversion: [60, 30]",
        "count": "~ equal after conversion: 5",
    }
    assert reply.predicted[0].arguments == {"at": "[60,30]", "count": "5", "label": "a b"}


def test_only_failing_argument_differs() -> None:
    reply = evaluate_call(
        "[draw(at=[60,31], count=5, label='ab')]", GOLDEN, DRAW, category="simple_javascript"
    )
    assert reply.evaluation.argument == "at" and reply.pairs[0].state == "!"
    assert list_differences(reply) == {
        "at": "! after conversion, [1]: value differs: 31, golden 30",
        "count": "~ equal after conversion: 5",
        "label": '~ equal after normalisation: "ab"',
    }


def test_java_long_without_suffix_differs() -> None:
    reply = evaluate_call(
        "[f(n=5);]", [{"f": {"n": [5]}}], document("f", n="long"), category="simple_java"
    )
    assert reply.evaluation.error_type == "type_error:simple"
    assert list_differences(reply) == {"n": '! type differs: string "5", golden integer 5'}


def test_value_without_source_text_differs() -> None:
    golden = [{"draw": {"at": [[60, 30]], "count": [5, ""], "label": ["", "x"]}}]
    reply = evaluate_call(
        [{"draw": '{"at": [60, 30], "count": "5"}'}], golden, DRAW, category="simple_javascript"
    )
    assert reply.evaluation.error_type == "type_error:js"
    assert list_differences(reply) == {
        "at": "! [60, 30] is not a string with JavaScript code",
        "count": "~ equal after conversion: 5",
    }


def test_equal_number_of_other_type_does_not_differ() -> None:
    answer = [{"f": {"rate": [5], "goal": [{"low": [1]}]}}]
    reply = evaluate_call(
        "[f(rate=5.0, goal={'low': 1.0})]", answer, document("f", rate="float", goal="dict")
    )
    assert reply.evaluation.valid and list_differences(reply).keys() == {"rate", "goal"}
    assert reply.pairs[0].state == "~"


def test_function_name_expected_by_checker_does_not_differ() -> None:
    """In BFCL V1, `simple_363` expects the name in the function doc, not the one in the golden
    answer.
    """
    reply = evaluate_call(
        "[shop.find(n=1)]", [{"find": {"n": [1]}}], document("shop.find", n="integer")
    )
    assert reply.evaluation.valid and reply.pairs[0].state == "~"

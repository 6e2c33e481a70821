"""The AST rules of V4 and V1 decide single records, and arguments of each type are checked."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from fcreview.equivalence import parse_rule
from fcreview.importers.bfcl.checker.evaluate import decode_step
from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME
from tests.importers.bfcl.checker.cases import AREA, F, P, S, area, array, document, evaluate, one


@pytest.mark.parametrize(
    ("name", "arguments", "error", "argument"),
    [
        ("math.area", {"base": 10}, None, None),
        ("math_area", {"base": 10, "unit": "M"}, None, None),
        ("area", {"base": 10}, S + "wrong_func_name", None),
        ("math.area", {"unit": "m"}, S + "missing_required", "base"),
        ("math.area", {"base": 10, "extra": "x"}, S + "unexpected_param", "extra"),
        ("math.area", {"base": 10, "other": 1}, S + "unexpected_param", "other"),
        ("math.area", {"base": 11, "other": 1}, "value_error:others", "base"),
        ("math.area", {"base": 10, "unit": "km"}, "value_error:string", "unit"),
    ],
)
def test_one_call(
    name: str, arguments: dict[str, Any], error: str | None, argument: str | None
) -> None:
    found = area((name, arguments))
    assert (found.error_type, found.argument) == (error, argument)
    assert found.function == (None if error is None else "math.area")
    assert len(found.messages) == (0 if error is None else 1)


def test_underscores_for_dots_are_refused_in_prompt_mode() -> None:
    found = evaluate(
        "[math_area(base=10)]", AREA, version="V4", category="simple_python", model="gpt-4o"
    )
    assert found.error_type == S + "wrong_func_name"


def test_parameter_optional_only_in_document() -> None:
    case = DatasetItem(
        "c",
        "simple_python",
        functions=[document("f", x="integer")],
        ground_truth=[{"f": {"x": [1]}}],
    )
    found = evaluate([{"f": "{}"}], case, version="V4", category="simple_python")
    assert (found.error_type, found.argument) == (S + "missing_optional", "x")


@pytest.mark.parametrize(
    ("category", "generation", "error"),
    [
        ("simple_python", "V4", S + "wrong_count"),
        ("multiple", "V4", "multiple_function_checker:wrong_count"),
        ("live_multiple", "V4", "multiple_function_checker:wrong_count"),
        ("parallel", "V4", P + "wrong_count"),
        ("multiple_function", "V1", P + "wrong_count"),
    ],
)
def test_wrong_count(category: str, generation: str, error: str) -> None:
    answer: Any = (
        {"math.area": {"base": [10]}} if generation == "V1" else [{"math.area": {"base": [10]}}]
    )
    case = DatasetItem("c", category, functions=[F], ground_truth=answer)
    assert (
        evaluate([], case, version=generation, category=category, model="x-FC").error_type == error
    )
    assert evaluate("", case, version=generation, category=category, model="x").error_type == error


G = document("g", ["x"], x="integer")
PAIR = DatasetItem(
    "parallel_0", "parallel", functions=[G], ground_truth=[{"g": {"x": [1, 2]}}, {"g": {"x": [1]}}]
)


def test_parallel_calls_match_in_any_order_and_greedily() -> None:
    """The first golden call takes x=1, although the second one accepts only x=1."""
    calls = [("g", {"x": 2}), ("g", {"x": 1})]
    assert area(*calls, category="parallel", case=PAIR).valid is True
    found = area(*reversed(calls), category="parallel", case=PAIR)
    assert (found.error_type, found.function, found.argument) == (P + "cannot_find_match", "g", "x")


def test_v1_answers_number_repeated_functions() -> None:
    answer = {"g_1": {"x": [1]}, "g_2": {"x": [2]}}
    case = DatasetItem("p", "parallel_function", functions=[G], ground_truth=answer)
    result = [{"g": '{"x": 2}'}, {"g": '{"x": 1}'}]
    assert evaluate(result, case, version="V1", category="parallel_function").valid is True


def test_v1_fails_golden_call_without_document() -> None:
    case = DatasetItem(
        "p", "parallel_multiple_function", functions=[G], ground_truth={"g": {"x": [1]}, "deck": {}}
    )
    found = evaluate(
        [{"g": '{"x": 1}'}] * 2, case, version="V1", category="parallel_multiple_function"
    )
    assert found.error_type == P + "cannot_find_description"


@pytest.mark.parametrize(
    ("count", "category", "error"),
    [
        (1, "parallel", P + "wrong_count"),
        (2, "parallel", P + "cannot_find_description"),
        (2, "live_parallel_multiple", P + "cannot_find_description"),
        (0, "multiple", "multiple_function_checker:wrong_count"),
        (1, "multiple", "multiple_function_checker:cannot_find_description"),
    ],
)
def test_count_is_compared_before_a_golden_call_without_document(
    count: int, category: str, error: str
) -> None:
    """The golden call may also have another form, because it is broken."""
    answer: list[Any] = [{"deck": [[], ""]}]
    if category != "multiple":
        answer.insert(0, {"g": {"x": [1]}})
    case = DatasetItem("p", category, functions=[G], ground_truth=answer)
    found = evaluate([{"g": '{"x": 1}'}] * count, case, version="V4", category=category)
    assert (found.valid, found.error_type, found.note) == (False, error, None)


def test_golden_call_of_unknown_form_matters_only_if_it_is_reached() -> None:
    case = DatasetItem(
        "p", "parallel", functions=[G], ground_truth=[{"g": {"x": [1]}}, {"g": ["x"]}]
    )
    call = {"g": '{"x": 1}'}
    assert evaluate([call], case, version="V4", category="parallel").error_type == P + "wrong_count"
    assert evaluate([call, call], case, version="V4", category="parallel").valid is None


@pytest.mark.parametrize(
    ("result", "category", "generation", "error"),
    [
        ("I cannot.", "irrelevance", "V4", None),
        ("[]", "irrelevance", "V4", None),
        ("[f(a=1)]", "irrelevance", "V4", "irrelevance_error:decoder_success"),
        ("[f(a=1", "live_irrelevance", "V4", None),
        ("[f(1)]", "irrelevance", "V4", "irrelevance_error:decoder_success"),
        ("[f(1)]", "relevance", "V1", None),
        ("[f(a=1)]", "relevance", "V1", "relevance_error:decoder_success"),
        ("[anything(a=1)]", "live_relevance", "V4", None),
        ("No.", "live_relevance", "V4", "relevance_error:decoder_failed"),
        ("[]", "live_relevance", "V4", "relevance_error:decoder_failed"),
    ],
)
def test_relevance_and_irrelevance(
    result: str, category: str, generation: str, error: str | None
) -> None:
    found = evaluate(
        result, DatasetItem("c", category), version=generation, category=category, model="m"
    )
    assert (found.valid, found.error_type) == (error is None, error)


@pytest.mark.parametrize(
    ("category", "word"),
    [
        ("executable_simple", "executable"),
        ("exec_parallel", "executable"),
        ("rest", "executable"),
        ("multi_turn_base", "multi-turn"),
        ("memory_kv", "agentic"),
        ("web_search_base", "agentic"),
        ("sql", "not score"),
    ],
)
def test_imported_only_categories_have_note(category: str, word: str) -> None:
    found = evaluate(
        "[f(a=1)]",
        DatasetItem("c", category, ground_truth=["f(a=1)"]),
        version="V3",
        category=category,
    )
    assert found.valid is None
    assert word in (found.note or "")
    assert found.calls == [("f", {"a": 1})]


def test_item_without_golden_answer_has_calls_but_no_verdict() -> None:
    found = evaluate(
        [{"f": "{}"}], DatasetItem("c", "simple_python"), version="V4", category="simple_python"
    )
    assert (found.valid, found.calls) == (None, [("f", {})])
    assert found.note


def test_undecodable_and_malformed_replies() -> None:
    broken = evaluate("[math.area(base=10", AREA, version="V4", category="simple_python")
    assert (broken.error_type, broken.calls) == ("ast_decoder:decoder_failed", None)
    assert broken.decode_error
    wrong = evaluate([{"f": "[1]"}], AREA, version="V4", category="simple_python")
    assert (wrong.error_type, wrong.calls) == (
        "ast_decoder:decoder_wrong_output_format",
        [("f", None)],
    )


@pytest.mark.parametrize(
    ("model", "reply", "reason"),
    [
        ("gpt-4o", "```python\n[math.area(base=10)]\n```", "wrapped in a code fence (```python)"),
        (
            "gpt-4o",
            "\n```json\n[math.area(base=)]\n```\n",
            "wrapped in a code fence (```json); without the fence: not Python call syntax: invalid"
            " syntax",
        ),
        (
            "microsoft_phi-4",
            "```python\n[math.area(base=)]\n```",
            "not Python call syntax: invalid syntax",
        ),
        ("gpt-4o", "[math.area(base=)]", "not Python call syntax: invalid syntax"),
    ],
)
def test_code_fence_is_the_reason_if_the_decoder_keeps_it(
    model: str, reply: str, reason: str
) -> None:
    found = evaluate(reply, AREA, version="V4", category="simple_python", model=model)
    assert (found.valid, found.error_type) == (False, "ast_decoder:decoder_failed")
    assert (found.decode_error, found.messages) == (reason, [reason])


def test_format_sensitivity_uses_original_category() -> None:
    config = "ret_fmt=json&tool_call_tag=False"
    text = '[{"function": "math.area", "parameters": {"base": 10}}]'
    found = evaluate(
        text, AREA, version="V4", category="format_sensitivity", config=config, model="gpt-4o"
    )
    assert found.valid is True


def test_outputs_differing_in_type_are_checked_separately() -> None:
    texts = [
        "[math_area(base=10, height=5)]",
        "[math_area(base=10.0, height=5)]",
        "[math_area(base=True, height=5)]",
    ]
    case = replace(AREA, evaluation_cache={})
    found = [
        evaluate(text, case, version="V4", category="simple_python", model="gpt-4o")
        for text in texts * 2
    ]
    assert [type(one.calls[0][1]["base"]) for one in found if one.calls] == [int, float, bool] * 2
    assert found[0] is found[3]


@pytest.mark.parametrize(
    ("kind", "accepted", "value", "rule", "valid"),
    [
        ("integer", 5, 5.0, "number-equal", True),
        ("integer", 5, 6.0, "number-equal", False),
        (array("integer"), [1, 2], [1.0, 2.0], "number-equal", True),
        (array("integer"), [1, 2], [1.0, 2.0], "number-equal in y", False),
        (array("integer"), [1, 2], [3], "accept [3] for [1, 2]", True),
    ],
)
def test_equivalence_rules_accept_more(
    kind: Any, accepted: Any, value: Any, rule: str, valid: bool
) -> None:
    functions, answer = [document("f", x=kind)], [{"f": {"x": [accepted]}}]
    result = [{"f": json.dumps({"x": value})}]
    found = [
        evaluate(
            result,
            DatasetItem(
                "c_0",
                "simple_python",
                functions=functions,
                ground_truth=answer,
                equivalence_rules=rules,
            ),
            version="V4",
            category="simple_python",
        )
        for rules in ((), (parse_rule(rule),))
    ]
    assert [one.valid for one in found] == [False, valid]


@pytest.mark.parametrize(
    ("kind", "accepted", "value", "error"),
    [
        ("string", ["Hangzhou, China"], "hangzhou-CHINA", None),
        ("string", ["It's"], 'it"s', None),
        ("string", ["a:b"], "ab", "value_error:string"),
        ("string", ["a\tb"], "ab", "value_error:string"),
        ("string", ["a", ""], "", None),
        ("string", ["a"], 5, "type_error:simple"),
        ("integer", [5], 5, None),
        ("integer", [5], 5.0, "type_error:simple"),
        ("integer", [5], "5", "type_error:simple"),
        ("integer", [1], True, "type_error:simple"),
        ("integer", [5], 6, "value_error:others"),
        ("float", [5.0], 5, None),
        ("float", [5.0], 5.5, "value_error:others"),
        ("float", [5], 5, "value_error:others:G"),
        ("boolean", [True], True, None),
        ("boolean", [True], 1, "type_error:simple"),
        ("any", ["x"], "X", None),
        ("any", ["x"], 5, "type_error:simple"),
        ("integer", ["user_id"], "user_id", None),
        ("integer", ["user_id"], "User_id", "value_error:others"),
        ("integer", ["user_id"], 5, "value_error:others"),
        ("string", [5], "five", "value_error:others"),
        ("string", [None], None, None),
        ("string", [""], 5, "type_error:simple"),
        ("string", [""], "x", "value_error:string"),
        ("integer", [""], 5, "value_error:others"),
        (array("string"), [["A b", "c"]], ["ab", "C"], None),
        (array("string"), [["a", "b"]], ["b", "a"], "value_error:list/tuple"),
        (array("string"), [["a"]], [1], "type_error:nested"),
        (array("string"), [["a"]], "a", "type_error:simple"),
        (array("integer"), [["x"]], ["X"], None),
        (array("float"), [[1.0]], [1], "type_error:nested"),
        (array("integer"), [[1], ""], [], None),
        (array("integer"), [[1], ""], ["q"], "value_error:list/tuple"),
        (array("integer"), ["v"], ["q"], "value_error:others"),
        (array("array"), [[[1, 2]]], [[1, 2]], None),
        (array("array"), [[["a b"]]], [["ab"]], "value_error:list/tuple"),
        (array("integer", "tuple"), [[1, 2]], "py:(1, 2)", None),
        (array("integer"), [[1, 2]], "py:(1, 2)", "type_error:simple"),
        (array("array"), [[[1, 2]]], "py:[(1, 2)]", "type_error:nested"),
        ("dict", [{"a": [1], "b": ["X", ""]}], {"a": 1}, None),
        ("dict", [{"a": [1], "b": ["X", ""]}], {"a": 1, "b": "x"}, None),
        ("dict", [{"a": [1]}], {"a": 2}, "value_error:dict_value"),
        ("dict", [{"a": [1]}], {"b": 1}, "value_error:dict_key"),
        ("dict", [{"a": [1], "b": [2]}], {"a": 5}, "value_error:dict_key"),
        ("dict", [{"a": [1]}, {"a": [2]}], {"a": 2}, None),
        ("dict", [""], {"a": 2}, "dict_checker:unclear"),
        ("dict", [{"a": [{"b": [1]}]}], {"a": {"b": 1}}, "value_error:dict_value"),
        (array("dict"), [[{"a": [1]}, {"a": ["x"]}]], [{"a": 1}, {"a": "X"}], None),
        (array("dict"), [[{"a": [1]}]], [{"a": 1}, {"a": 1}], "value_error:list_dict_count"),
        (array("dict"), [[{"a": [1]}]], [{"a": 2}], "value_error:dict_value"),
        (array("dict"), [[{"a": [1]}], ""], [], None),
    ],
)
def test_values(kind: Any, accepted: list[Any], value: Any, error: str | None) -> None:
    found = one(kind, accepted, value)
    if error == "value_error:others:G":  # a golden integer makes the parameter a variable
        error = None
    assert found.error_type == error, found.messages
    assert found.valid is (error is None)


@pytest.mark.parametrize(
    ("accepted", "value", "error"),
    [
        ([{"a": [1], "b": ["", "x"]}], {"a": 1}, "value_error:dict_items"),
        ([{"a": [1]}], {"b": 1}, "value_error:dict_key"),
        ([{"a": {"b": [1]}}], {"a": {"b": 1}}, None),
        ([{"a": {"b": [1]}}], {"a": {"b": 2}}, "value_error:dict_value"),
    ],
)
def test_objects_in_v1(accepted: list[Any], value: Any, error: str | None) -> None:
    assert one("dict", accepted, value, v1=True, category="simple").error_type == error


def test_message_names_values_briefly() -> None:
    found = one("string", ["Hangzhou, China", "Hangzhou", ""], "Hangzhou, CN")
    assert found.messages == ['x: "Hangzhou, CN" is not one of "Hangzhou, China", "Hangzhou"']


def test_shown_arguments_are_valid_json() -> None:
    found = evaluate(
        [{"f": '{"a": NaN, "b": [1e999]}'}], AREA, version="V4", category="simple_python"
    )
    assert found.calls == [("f", {"a": "NaN", "b": ["Infinity"]})]
    found = evaluate("[f(a=b'x', **y)]", AREA, version="V4", category="simple_python")
    json.dumps(found.calls, allow_nan=False)
    shown = partial(decode_step, decoder=DECODERS_BY_NAME["AUTO"], rules_version="V4")
    assert shown("[f(a=1e999)]") == [("f", {"a": "Infinity"})]
    assert shown("Done.") is None
    assert shown([{"cd": '{"folder": "a"}'}]) == [("cd", {"folder": "a"})]

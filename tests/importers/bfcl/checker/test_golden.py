"""Golden answers are parsed into calls, and comparisons are as lenient as the benchmark."""

from __future__ import annotations

from fcreview.importers.bfcl.checker.schema import COMPARISON_RULES
from fcreview.importers.bfcl.dataset import parse_golden_calls
from fcreview.matching.diff import diff_call
from fcreview.model.item import AcceptedValues, Call, GoldenObject

PLAY = [{"name": "play", "parameters": {"properties": {"song": {}, "loud": {}}}}]


def test_lists_of_acceptable_values() -> None:
    answer = [{"f": {"unit": ["C", ""], "only": [""], "none": [None], "n": [1, 2]}}]
    (call,) = parse_golden_calls(answer, "simple_python", [])
    assert call.arguments == {
        "unit": AcceptedValues(["C"], True),
        "only": AcceptedValues([], True),
        "none": AcceptedValues([None]),
        "n": AcceptedValues([1, 2]),
    }


def test_objects_have_alternatives() -> None:
    answer = [{"f": {"o": [{"unit": ["C", ""], "in": [{"deep": [1]}]}], "rows": [[{"a": [1]}]]}}]
    (call,) = parse_golden_calls(answer, "simple_python", [])
    assert call.arguments == {
        "o": AcceptedValues(
            [
                GoldenObject(
                    {
                        "unit": AcceptedValues(["C"], True),
                        "in": AcceptedValues([GoldenObject({"deep": AcceptedValues([1])})]),
                    }
                )
            ]
        ),
        "rows": AcceptedValues([[GoldenObject({"a": AcceptedValues([1])})]]),
    }


def test_calls_without_arguments_are_kept() -> None:
    (call,) = parse_golden_calls({"deck": [[], ""]}, "parallel_multiple_function", [])
    assert call.decode_error and call.raw == '{"deck": [[], ""]}'


def test_v1_suffixes_of_declared_functions_are_stripped() -> None:
    calls = parse_golden_calls(
        {"play_1": {"song": ["a"]}, "play_2": {"song": ["b"]}, "top_10": {}},
        "parallel_function",
        PLAY,
    )
    assert [(call.name, call.index) for call in calls] == [("play", 0), ("play", 1), ("top_10", 2)]
    calls = parse_golden_calls(
        {"play 1": {}, "play 2": {}, "top 10": {}}, "parallel_function", PLAY
    )
    assert [call.name for call in calls] == ["play", "play", "top 10"]


def test_v1_nested_objects() -> None:
    (call,) = parse_golden_calls({"f": {"o": [{"in": {"deep": [1]}}]}}, "simple", [])
    assert call.arguments == {
        "o": AcceptedValues(
            [GoldenObject({"in": AcceptedValues([GoldenObject({"deep": AcceptedValues([1])})])})]
        )
    }


def test_executable_answers_are_call_strings() -> None:
    calls = parse_golden_calls(
        ["play('x', loud=True)", "broken("], "executable_parallel_function", PLAY
    )
    assert calls[0].arguments == {"song": AcceptedValues(["x"]), "loud": AcceptedValues([True])}
    assert (calls[1].arguments, calls[1].raw) == (None, "broken(")


def test_multi_turn_answers_are_numbered_by_turn() -> None:
    calls = parse_golden_calls([["cd(folder='a')", "ls()"], [], ["pwd()"]], "multi_turn_base", [])
    assert [(call.turn, call.index, call.name) for call in calls] == [
        (0, 0, "cd"),
        (0, 1, "ls"),
        (2, 0, "pwd"),
    ]


def test_agentic_answers_are_not_calls() -> None:
    assert parse_golden_calls(["7", "seven"], "memory_kv", []) == []
    assert parse_golden_calls(None, "irrelevance", []) == []


def test_comparison_is_as_lenient_as_benchmark() -> None:
    golden = Call(
        "golden",
        "math.area",
        arguments={"place": AcceptedValues(["Hangzhou, China"]), "x": AcceptedValues([5.0])},
    )
    predicted = Call("predicted", "math_area", arguments={"place": "hangzhou china", "x": 5})
    assert COMPARISON_RULES.is_same_name("math.area", "math_area")
    assert not COMPARISON_RULES.is_same_name("math.area", "area")
    assert {diff.state for diff in diff_call(golden, predicted, COMPARISON_RULES)} == {"~"}

"""The diff of arguments gives states, reasons and paths."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.matching.align import align_calls
from fcreview.matching.diff import (
    EXACT_RULES,
    MAX_DIFFERENCES,
    ComparisonRules,
    diff_call,
    is_equivalent_scalar,
)
from fcreview.matching.first_difference import (
    ArgumentRow,
    FirstDifference,
    build_argument_rows,
    find_first_difference,
    is_in_argument,
    set_difference_location,
)
from fcreview.model.item import AcceptedValues, ArgumentDiff, Call, CallPair, GoldenObject, Item
from fcreview.model.json_value import append_to_path
from tests.model.test_json_value import accepts, json_values, nest

LENIENT = ComparisonRules(
    normalise=lambda text: text.lower().replace(" ", ""),
    int_is_float=True,
    tuple_is_list=True,
    is_same_name=lambda golden, predicted: golden.replace(".", "_") == predicted.replace(".", "_"),
)


def make_golden(_name: str = "f", **arguments: Any) -> Call:
    return Call(
        "golden",
        _name,
        arguments={
            k: v if isinstance(v, AcceptedValues) else AcceptedValues([v])
            for k, v in arguments.items()
        },
    )


def make_predicted(_name: str = "f", **arguments: Any) -> Call:
    return Call("predicted", _name, arguments=arguments)


def diff_value(
    expected: Any, value: Any, rules: ComparisonRules = EXACT_RULES
) -> list[tuple[str, str, str]]:
    diff = diff_call(make_golden(a=expected), make_predicted(a=value), rules)
    return [(place.path, place.state, place.reason) for place in diff]


@pytest.mark.parametrize(
    ("expected", "value", "state", "reason"),
    [
        (5, "5", "!", 'type differs: string "5", golden integer 5'),
        (5, 5.0, "!", "type differs: float 5.0, golden integer 5"),
        (5.0, 5, "!", "type differs: integer 5, golden float 5.0"),
        (1, True, "!", "type differs: boolean true, golden integer 1"),
        (None, 0, "!", "type differs: integer 0, golden null"),
        ("x", None, "!", 'type differs: null, golden string "x"'),
        (5, 3, "!", "value differs: 3, golden 5"),
        ("Paris", "paris", "!", 'differs only in case from "Paris"'),
        ("a b", "ab", "!", 'differs only in white space from "a b"'),
        ("x", '"x"', "!", 'differs only in quotation marks from "x"'),
        (AcceptedValues(["a", "b"]), "c", "!", "none of 2 accepted values"),
        (
            AcceptedValues(["a", "b"]),
            "B",
            "!",
            'none of 2 accepted values: differs only in case from "b"',
        ),
        (AcceptedValues([1, 2]), "1", "!", 'type differs: string "1", none of 2 accepted values'),
        (AcceptedValues([], True), 1, "!", "must be omitted, because no value is accepted"),
        ([1], (1,), "!", "type differs: tuple (1,), golden list [1]"),
        ({"x": 1}, "x", "!", 'type differs: string "x", golden object {"x": 1}'),
    ],
)
def test_single_difference(expected: Any, value: Any, state: str, reason: str) -> None:
    assert diff_value(expected, value) == [("a", state, reason)]


@pytest.mark.parametrize(
    ("expected", "value", "reason"),
    [
        (AcceptedValues(["A B", "c"]), "ab", 'equal after normalisation: "ab"'),
        (5.0, 5, "integer 5 accepted as float 5.0"),
        ([1], (1,), "tuple accepted as list"),
    ],
)
def test_values_equal_by_benchmark_rules(expected: Any, value: Any, reason: str) -> None:
    assert diff_value(expected, value, LENIENT) == [("a", "~", reason)]
    assert diff_value(expected, value)[0][1] == "!"


def test_rules_are_not_symmetric() -> None:
    assert diff_value(5, 5.0, LENIENT)[0][1] == "!"
    assert diff_value(True, 1, LENIENT)[0][1] == "!"
    assert diff_value((1,), [1], LENIENT)[0][1] == "!"


def test_missing_optional_and_extra_arguments() -> None:
    wanted = make_golden(a=1, b=AcceptedValues([2], optional=True), c=3)
    assert diff_call(wanted, make_predicted(c=3, d=4)) == [
        ArgumentDiff("a", state="-", reason="required, but missing"),
        ArgumentDiff("d", state="+", reason="not in golden"),
    ]
    assert diff_call(wanted, make_predicted(a=1, c=3)) == []


def test_paths_inside_objects_and_lists() -> None:
    wanted = {"price": {"max": 5, "min": 1}, "tags": ["a", "b"], "gone": 1}
    given_ = {"price": {"max": 6, "min": 1}, "tags": ["a", "c"], "new": 2}
    assert [(path, state) for path, state, _ in diff_value(wanted, given_)] == [
        ("a.price.max", "!"),
        ("a.tags[1]", "!"),
        ("a.gone", "-"),
        ("a.new", "+"),
    ]


def test_nested_alternatives() -> None:
    item = GoldenObject(
        {"unit": AcceptedValues(["C", "F"]), "days": AcceptedValues([1], optional=True)}
    )
    assert diff_value(item, {"unit": "F"}) == []
    assert diff_value([item, item], [{"unit": "C"}, {"unit": "F", "days": 1}]) == []
    assert diff_value([item], [{"unit": "K", "days": 1}]) == [
        ("a[0].unit", "!", "none of 2 accepted values")
    ]
    assert diff_value(GoldenObject({"in": AcceptedValues([item])}), {"in": {}}) == [
        ("a.in.unit", "-", "required, but missing")
    ]


def test_closest_alternative_gives_the_reason() -> None:
    several = AcceptedValues(["", {"x": 1, "y": 2, "z": 3}, {"x": 7, "y": 8, "z": 3}])
    assert diff_value(several, {"x": 7, "y": 9, "z": 3}) == [
        ("a.y", "!", "value differs: 9, golden 8 (closest of 3 accepted values)")
    ]


def test_lists_of_different_length_are_aligned_at_both_ends() -> None:
    assert diff_value(["a", "b", "c"], ["b", "c"]) == [
        ("a", "!", "length 2, golden 3"),
        ("a[0]", "-", "missing"),
    ]
    assert diff_value([1, 4], [1, 2, 3, 4]) == [
        ("a", "!", "length 4, golden 2"),
        ("a[1]", "+", "not in golden"),
        ("a[2]", "+", "not in golden"),
    ]
    assert diff_value([], [1])[0] == ("a", "!", "length 1, golden 0")


def test_different_functions_and_different_spellings() -> None:
    assert diff_call(make_golden("math.pow"), make_predicted("math_pow"), LENIENT) == []
    assert diff_call(make_golden("math.pow"), make_predicted("math_pow")) == [
        ArgumentDiff("", state="!", reason="function differs: math_pow, golden math.pow")
    ]


def test_undecodable_calls() -> None:
    broken = Call("predicted", "f", arguments=None, raw="f(", decode_error="bracket is not closed")
    assert diff_call(make_golden(a=1), broken) == [
        ArgumentDiff("", state="!", reason="bracket is not closed")
    ]
    assert align_calls([make_golden(a=1)], [broken])[0].state == "!"
    assert (
        diff_call(Call("golden", "f", arguments=None, raw="f("), make_predicted(a=1))[0].reason
        == 'golden call cannot be decoded: "f("'
    )
    assert diff_call(Call("golden", "f", arguments=None, raw="f("), broken) == []


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_call_equals_itself(arguments: dict[str, Any]) -> None:
    wanted = Call(
        "golden",
        "f",
        arguments={
            name: AcceptedValues([copy.deepcopy(value)]) for name, value in arguments.items()
        },
    )
    assert diff_call(wanted, Call("predicted", "f", arguments=arguments)) == []


@given(
    st.dictionaries(st.text("ab"), accepts, max_size=3),
    st.dictionaries(st.text("ab"), json_values, max_size=3),
)
def test_differences_have_rows_and_one_line_reasons(
    wanted: dict[str, AcceptedValues], given_: dict[str, Any]
) -> None:
    left, right = Call("golden", "f", arguments=wanted), Call("predicted", "f", arguments=given_)
    diff = diff_call(left, right)
    rows = build_argument_rows(left, right, diff)
    names = [*wanted, *(name for name in given_ if name not in wanted)]
    assert [row.path for row in rows if row.depth == 0] == [
        append_to_path("", name) for name in names
    ]
    shown = {(row.path, row.state) for row in rows}
    assert {(place.path, place.state) for place in diff if place.state != "~"} <= shown
    assert all(place.reason and "\n" not in place.reason for place in diff)


@pytest.mark.parametrize("rules", [EXACT_RULES, LENIENT])
def test_deep_nesting_fails_without_a_crash(rules: ComparisonRules) -> None:
    assert diff_value(nest(5000), nest(5000), rules)[0][1] == "!"
    assert diff_value(nest(3), nest(5000), rules)[0][1] == "!"
    deep: Any = {"x": 1}
    wanted = AcceptedValues([1])
    for _ in range(5000):
        deep, wanted = {"x": deep}, AcceptedValues([GoldenObject({"x": wanted})])
    assert diff_value(wanted, deep, rules)[0][1] == "!"


@pytest.mark.sweep
@pytest.mark.slow
def test_large_differences_have_limited_time_and_length() -> None:
    start = time.monotonic()
    found = diff_value(list(range(100_000)), [*range(1, 100_001), 7])
    assert len(found) == MAX_DIFFERENCES + 1
    assert "nested values differ" in found[0][2]
    tower: Any = 1
    other: Any = 2
    for _ in range(90):
        tower, other = [tower, 0], [0, other, 5]
    diff_value(tower, other)
    assert time.monotonic() - start < 5


def test_rows_show_types_alternatives_and_omissions() -> None:
    wanted = make_golden(
        unit=AcceptedValues(["C", "F"]), days=5, lang=AcceptedValues(["en"], optional=True), gone=1
    )
    given_ = make_predicted(unit="C", days="5", more=None)
    assert build_argument_rows(wanted, given_, diff_call(wanted, given_)) == [
        ArgumentRow("unit", 0, "=", '"C" or "F"', '"C"', None),
        ArgumentRow("days", 0, "!", "5", '"5"', 'type differs: string "5", golden integer 5'),
        ArgumentRow("lang", 0, "=", '"en"', None, "optional, omitted", True),
        ArgumentRow("gone", 0, "-", "1", None, "required, but missing"),
        ArgumentRow("more", 0, "+", None, "null", "not in golden"),
    ]


def test_nested_rows_follow_their_argument() -> None:
    item = GoldenObject({"unit": AcceptedValues(["C", "F"]), "n": AcceptedValues([1])})
    wanted = make_golden(items=AcceptedValues([[item], [item, item]]), z=1)
    given_ = make_predicted(items=[{"unit": "C", "n": 1}, {"unit": "K", "n": 1}], z=1)
    rows = build_argument_rows(wanted, given_, diff_call(wanted, given_))
    assert [(row.path, row.depth, row.state, row.golden, row.predicted) for row in rows[1:]] == [
        ("items[1].unit", 2, "!", '"C" or "F"', '"K"'),
        ("z", 0, "=", "1", "1"),
    ]
    assert (rows[0].state, rows[0].reason) == ("!", "1 nested value differs")


def test_rows_of_shifted_lists_show_one_side_only() -> None:
    wanted, given_ = make_golden(a=["x", "y"]), make_predicted(a=["y"])
    rows = build_argument_rows(wanted, given_, diff_call(wanted, given_))
    assert [(row.path, row.golden, row.predicted) for row in rows] == [
        ("a", '["x", "y"]', '["y"]'),
        ("a[0]", '"x"', None),
    ]


def test_rows_without_a_partner() -> None:
    wanted = make_golden(a=1, b=AcceptedValues([2], optional=True))
    assert [
        (row.state, row.golden, row.predicted) for row in build_argument_rows(wanted, None, [])
    ] == [
        ("-", "1", None),
        ("-", "2", None),
    ]
    assert [
        (row.state, row.golden, row.predicted)
        for row in build_argument_rows(None, make_predicted(a=None), [])
    ] == [("+", None, "null")]
    assert build_argument_rows(None, None, []) == []


def test_row_for_the_whole_call() -> None:
    wanted, given_ = make_golden("f", a=1), make_predicted("g", a=1)
    assert build_argument_rows(wanted, given_, diff_call(wanted, given_))[0] == ArgumentRow(
        "", 0, "!", "f", "g", "function differs: g, golden f"
    )


@pytest.mark.parametrize(
    ("wanted", "given_", "found"),
    [
        (
            make_golden(location=AcceptedValues(["Hangzhou, China", "Hangzhou"])),
            make_predicted(location="Hangzhou, CN"),
            (
                "f",
                "location",
                'location "Hangzhou, CN" (golden "Hangzhou, China" or 1 more)',
                '"Hangzhou, China" or 1 more',
                '"Hangzhou, CN"',
            ),
        ),
        (
            make_golden(days=3),
            make_predicted(days=3.0),
            ("f", "days", "days 3.0 (golden 3)", "3", "3.0"),
        ),
        (make_golden(), make_predicted(days=3), ("f", "days", "days 3 (not in golden)", None, "3")),
        (
            make_golden(days=3),
            make_predicted(),
            ("f", "days", "days missing (golden 3)", "3", None),
        ),
        (
            make_golden(a={"b": [1]}),
            make_predicted(a={"b": [2]}),
            ("f", "a.b[0]", "a.b[0] 2 (golden 1)", "1", "2"),
        ),
        (
            make_golden(a=[1, 2]),
            make_predicted(a=[1]),
            ("f", "a", "a length 1, golden 2", "[1, 2]", "[1]"),
        ),
        (make_golden(), make_predicted("g"), ("f", None, "g called (golden f)", None, None)),
        (
            make_golden(),
            Call("predicted", "", arguments=None),
            ("f", None, "a call that cannot be decoded (golden f)", None, None),
        ),
        (make_golden(a=1), None, ("f", None, "f not called", None, None)),
        (None, make_predicted("g"), ("g", None, "g called, not in golden", None, None)),
        (make_golden(a=1), make_predicted(a=1), (None,) * 5),
        (make_golden(a=AcceptedValues(["X"])), make_predicted(a="x"), (None,) * 5),
    ],
)
def test_first_difference(wanted: Call | None, given_: Call | None, found: tuple[Any, ...]) -> None:
    left, right = [wanted] if wanted else [], [given_] if given_ else []
    rules = LENIENT if found == (None,) * 5 else EXACT_RULES
    assert find_first_difference(
        align_calls(left, right, rules), left, right, rules
    ) == FirstDifference(*found)


def test_first_difference_uses_the_given_turn() -> None:
    left = [make_golden(a=1), make_golden(a=2)]
    right = [make_predicted(a=1), make_predicted(a=5)]
    left[1].turn = right[1].turn = 1
    pairs = [CallPair(0, 0, 0, "f", "="), CallPair(1, 0, 0, "f", "!", diff_call(left[1], right[1]))]
    assert find_first_difference(pairs, left, right) == FirstDifference(
        "f", "a", "a 5 (golden 2)", "2", "5"
    )


def test_values_of_the_address_that_the_rule_reports() -> None:
    """The address of an argument includes its nested differences, but not those of other
    arguments.
    """
    for argument, kept in (("a", "1"), ("a.b[0]", "1"), ("c", None), (None, None)):
        item = Item("x", "c")
        left, right = [make_golden(a={"b": [1]})], [make_predicted(a={"b": [2]})]
        find_first_difference(align_calls(left, right), left, right).apply_to(item)
        set_difference_location(item, "f", argument)
        assert (item.diff_argument, item.diff_golden) == (argument, kept)


@pytest.mark.parametrize(
    ("path", "argument", "expected"),
    [
        ("price", "price", True),
        ("price.max[0]", "price", True),
        ("price.max[0]", "price.max[0]", True),
        ("prices", "price", False),
        ('["unit.price"]', "unit.price", True),
        ('["unit.price"].max', "unit.price", True),
        ("unit.price", "unit", True),
        (None, "price", False),
        ("price", None, False),
        (None, None, False),
    ],
)
def test_path_belongs_to_argument_with_its_whole_name(
    path: str | None, argument: str | None, expected: bool
) -> None:
    assert is_in_argument(path, argument) is expected
    item = Item("x", "c", diff_function="f", diff_argument=path, diff_golden="1")
    set_difference_location(item, "f", argument)
    assert item.diff_golden == ("1" if expected else None)


def test_integer_equals_float_only_at_top_level() -> None:
    lenient = ComparisonRules(int_is_float=True)
    golden = Call(
        "golden", "f", arguments={"x": AcceptedValues([1.0]), "xs": AcceptedValues([[1.0, 3.0]])}
    )
    found = diff_call(golden, Call("predicted", "f", arguments={"x": 1, "xs": [1, 3.0]}), lenient)
    assert [(one.path, one.state) for one in found] == [("x", "~"), ("xs[0]", "!")]


@pytest.mark.parametrize(
    ("expected", "value", "equivalent"),
    [
        (1.0, 1, True),
        (1.0, 2, False),
        (1, 1.0, False),
        (1, 1, False),
        (1.0, True, False),
        ("A b", "ab", True),
    ],
)
def test_only_integers_and_texts_are_equivalent_scalars(
    expected: Any, value: Any, equivalent: bool
) -> None:
    assert is_equivalent_scalar(expected, value, LENIENT) is equivalent
    assert not is_equivalent_scalar(expected, value, EXACT_RULES)

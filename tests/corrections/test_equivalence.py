"""Equivalence rules are parsed from text and determine which values are equal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.equivalence import (
    RULE_KINDS,
    EquivalenceRule,
    ErrataError,
    can_be_omitted,
    is_equivalent,
    parse_rule,
)
from fcreview.model.function_schema import read_function_schema

NAMES = st.text(max_size=8).map(str.strip)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | NAMES
)
VALUES = SCALARS | st.lists(SCALARS, max_size=3)
RULES = st.builds(EquivalenceRule, st.sampled_from([*RULE_KINDS]), NAMES, NAMES, NAMES)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("ignore case in city", EquivalenceRule("ignore-case", argument="city")),
        (
            "a default may be left out of weather",
            EquivalenceRule("default-omittable", function="weather"),
        ),
        ("x^2 is x**2 on bfcl", EquivalenceRule("power-notation", benchmark="bfcl")),
        ("accept 5.0 for 5", EquivalenceRule("accept", given=5.0, wanted=5)),
        (
            'accept CA for "San Francisco, CA" in city of f',
            EquivalenceRule("accept", "", "f", "city", "CA", "San Francisco, CA"),
        ),
        ('number-equal in "for"', EquivalenceRule("number-equal", argument="for")),
    ],
)
def test_rules_are_parsed(text: str, rule: EquivalenceRule) -> None:
    assert parse_rule(text) == rule
    assert (type(parse_rule(text).given), type(parse_rule(text).wanted)) == (
        type(rule.given),
        type(rule.wanted),
    )


@given(RULES, VALUES, VALUES)
def test_rules_round_trip(rule: EquivalenceRule, given: Any, wanted: Any) -> None:
    if rule.kind == "accept":
        rule = EquivalenceRule(
            rule.kind, rule.benchmark, rule.function, rule.argument, given, wanted
        )
    assert parse_rule(str(rule)) == rule
    assert EquivalenceRule.from_json(rule.as_json()) == rule


def test_rules_with_equal_content_are_equal() -> None:
    texts = (
        "accept [1] for [2]",
        "accept 1 for 0",
        "accept 1.0 for 0",
        "accept true for 0",
        "accept [1] for [2]",
    )
    assert list(dict.fromkeys(map(parse_rule, texts))) == list(map(parse_rule, texts[:4]))
    assert EquivalenceRule("ignore-case", who="ann", date="2026-01-02") == EquivalenceRule(
        "ignore-case"
    )
    assert EquivalenceRule("ignore-case") != "ignore-case"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ignore",
        "accept 5",
        "accept 5 for",
        "accept 5 as 6",
        "ignore-case in",
        "ignore-case in a in b",
        "number-equal everywhere",
        "__import__('os')",
    ],
)
def test_invalid_rule_is_refused(text: str) -> None:
    with pytest.raises(ErrataError, match="invalid rule"):
        parse_rule(text)


@pytest.mark.parametrize(
    ("rule", "wanted", "given", "is_equal"),
    [
        ("number-equal", 5, 5.0, True),
        ("number-equal", 1, True, False),
        ("number-equal", [1, [2]], [1.0, [2.0]], True),
        ("number-equal", [1, 2], [1.0], False),
        ("number-equal", {"a": [1, 2], "b": ["", 3]}, {"a": 2.0}, True),
        ("number-equal", {"a": [1], "b": [3]}, {"a": 1.0}, False),
        ("number-equal", {"a": [1]}, {"a": 1.0, "c": 2}, False),
        ("number-equal", "5", 5, False),
        ("ignore-case", "Paris", "PARIS", True),
        ("ignore-case", "Paris", "Pari", False),
        ("power-notation", "3*x**2 + 1", "3*x ^ 2 + 1", True),
        ("power-notation", "one two", "one\ntwo", False),
        ("power-notation", "3*x**2", "3*x**3", False),
        ("accept CA for California", "California", "CA", True),
        ("accept CA for California", "CA", "California", False),
        ("accept 5.0 for 5", 5, 5.0, True),
        ("accept 1 for 0", False, True, False),
        ("accept [1] for [2]", [2], [1], True),
        ("accept [1] for [2]", [2], [1.0], False),
        ("ignore-case", ["a", [1]], ["A", [1.0]], False),
    ],
)
def test_rule_determines_equality(rule: str, wanted: Any, given: Any, is_equal: bool) -> None:
    assert is_equivalent([parse_rule(rule)], wanted, given) is is_equal


@pytest.mark.parametrize(
    ("schema", "accepted", "can_omit"),
    [
        ({"description": "Unit. Default is 'km'."}, ["km", "miles"], True),
        ({"description": "Unit. Default is 'km'."}, ["miles"], False),
        ({"default": 5}, [5.0], True),
        ({"default": False}, [False], True),
        ({"default": 1}, [True], False),
        ({"description": "Unit."}, ["km"], False),
    ],
)
def test_default_may_be_omitted_if_it_is_golden(
    schema: Any, accepted: list[Any], can_omit: bool
) -> None:
    document = read_function_schema({"name": "f", "parameters": {"properties": {"unit": schema}}})
    parameter = document.parameters["unit"]
    assert can_be_omitted([EquivalenceRule("default-omittable")], parameter, accepted) is can_omit
    assert not can_be_omitted([EquivalenceRule("number-equal")], parameter, accepted)

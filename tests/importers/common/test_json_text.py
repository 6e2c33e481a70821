"""Searches of JSON texts that are fast because most texts have nothing to find."""

from __future__ import annotations

import json
import random
import re

import pytest

from fcreview.importers.common.json_text import (
    MAX_DEPTH,
    is_nested_too_deeply,
    may_have_surrogates,
    parse_json_text,
)

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""An escaped surrogate, or a lone one."""
PIECES = ["\\ud", "\\uD", "\\u", "\\", "d", "D", "8", "f", "\ud800", "é", "\U0001f600", "text"]


def test_surrogates_are_found_like_by_their_definition() -> None:
    rng = random.Random(1)
    found = set()
    for _ in range(3_000):
        text = "".join(rng.choices(PIECES, k=rng.randrange(6)))
        found.add(may_have_surrogates(text))
        assert may_have_surrogates(text) == (SURROGATE.search(text) is not None), text
    assert found == {True, False}


@pytest.mark.parametrize("leaf", [1, 10**30, "\ud800"])
def test_value_with_more_levels_than_the_limit_is_nested_too_deeply(leaf: object) -> None:
    assert not is_nested_too_deeply(nest(leaf, MAX_DEPTH))
    assert is_nested_too_deeply(nest(leaf, MAX_DEPTH + 1))
    assert is_nested_too_deeply([leaf, nest(leaf, 100 * MAX_DEPTH)])


def nest(value: object, n_levels: int) -> object:
    """Put a value into lists and objects in turn."""
    for level in range(n_levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    "text",
    [
        "-0",
        "NaN",
        "[1e400]",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "0.12345678901234567890",
        '{"a": 1, "a": 2}',
        '"\\ud83d\\ude00"',
    ],
)
def test_values_are_those_of_pythons_parser(text: str) -> None:
    expected = json.loads(text)
    assert repr(parse_json_text(text, [])) == repr(expected)


def test_too_long_integer_becomes_text() -> None:
    long_numbers: list[str] = []
    value = parse_json_text("[" + "1" * 5_000 + "]", long_numbers)
    assert value == long_numbers
    assert "5,000 digits" in long_numbers[0]

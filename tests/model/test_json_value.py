"""Values are written as text and as JSON, and golden arguments are read back from JSON."""

from __future__ import annotations

import math
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.item import AcceptedValues, GoldenObject
from fcreview.model.json_value import (
    TOO_DEEP_TEXT,
    abbreviate,
    answer_hash,
    append_to_path,
    canonical_json,
    json_hash,
    parse_accepted_values,
    split_path,
    to_json_text,
    to_plain_json,
)

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
literals: st.SearchStrategy[Any] = st.recursive(
    scalars
    | st.just(math.nan)
    | st.binary()
    | st.complex_numbers()
    | st.just(...)
    | st.frozensets(st.integers()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(
            st.text() | st.integers() | st.none() | st.tuples(st.integers()), inner, max_size=4
        )
    ),
    max_leaves=12,
)
plain = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
)
plain = plain | st.text(st.characters(exclude_categories=["Cs"]))
accepts: st.SearchStrategy[AcceptedValues] = st.recursive(
    st.builds(
        AcceptedValues, st.lists(plain | st.lists(plain, max_size=3), max_size=3), st.booleans()
    ),
    lambda inner: st.builds(
        AcceptedValues,
        st.lists(
            st.builds(GoldenObject, st.dictionaries(st.text("ab"), inner, max_size=2)), max_size=2
        ),
        st.booleans(),
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (5.0, "5.0"),
        ("5", '"5"'),
        (True, "true"),
        (None, "null"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        ({"a": [1, "é\n"], "b": {}}, '{"a": [1, "é\\n"], "b": {}}'),
        ((1,), "(1,)"),
        ((1, "2"), '(1, "2")'),
        ({1: 2, "1": 3}, '{1: 2, "1": 3}'),
        (b"x", "b'x'"),
        (AcceptedValues(["C", "F"]), '"C" or "F"'),
        (AcceptedValues([], True), "(omitted)"),
        (
            GoldenObject({"unit": AcceptedValues(["C", "F"], True), "x": AcceptedValues([1])}),
            '{"unit"?: "C" or "F", "x": 1}',
        ),
    ],
)
def test_text_distinguishes_types(value: Any, text: str) -> None:
    assert to_json_text(value) == text


@given(json_values)
def test_text_of_json_value_is_json(value: Any) -> None:
    import json

    assert json.loads(to_json_text(value)) == value


@given(literals)
def test_any_value_is_written(value: Any) -> None:
    orjson.dumps(to_plain_json(value))
    to_json_text(value)


@given(json_values)
def test_plain_json_equals_orjson_output(value: Any) -> None:
    try:
        written = orjson.dumps(value)
    except TypeError:
        return
    if b"null" not in written:  # orjson writes non-finite numbers as null
        assert orjson.dumps(to_plain_json(value)) == written


def test_equal_keys_keep_all_values() -> None:
    assert to_plain_json({1: "a", "1": "b", None: "c"}) == {"1": "a", "1′": "b", "null": "c"}


def test_values_unknown_to_json_become_text() -> None:
    assert to_plain_json([2**70, math.nan, math.inf, "\ud800", (1,)]) == [
        str(2**70),
        "NaN",
        "Infinity",
        "\\ud800",
        [1],
    ]


def nest(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"a": v}, lambda v: (v,)])
def test_deep_nesting_is_truncated_with_a_note(wrap: Any) -> None:
    value = wrap(nest(10_000))
    assert TOO_DEEP_TEXT in to_json_text(value)
    assert TOO_DEEP_TEXT.encode() in orjson.dumps(to_plain_json(value))


def test_very_long_integers_are_written() -> None:
    assert to_json_text(10**5000).startswith("0x")
    orjson.dumps(to_plain_json(10**5000))


def test_abbreviated_text_has_limited_length() -> None:
    assert abbreviate("x" * 1_000_000, 20) == '"' + "x" * 18 + "…"
    assert abbreviate("ab") == '"ab"'


@given(accepts)
def test_golden_arguments_round_trip(accept: AcceptedValues) -> None:
    assert parse_accepted_values(orjson.loads(orjson.dumps(to_plain_json(accept)))) == accept


def test_golden_arguments_are_stored_like_the_dataclass() -> None:
    accept = AcceptedValues(
        [GoldenObject({"unit": AcceptedValues(["C"], True)}), [GoldenObject({})], 3]
    )
    assert orjson.dumps(to_plain_json(accept)) == orjson.dumps(accept)


@pytest.mark.parametrize("stored", [None, [], {"any_of": 3}, {"any_of": [], "else": 1}, "x"])
def test_malformed_golden_arguments_are_refused(stored: Any) -> None:
    with pytest.raises(ValueError, match="any_of"):
        parse_accepted_values(stored)


def test_deep_golden_argument_is_kept() -> None:
    assert parse_accepted_values({"any_of": [nest(5000)]}).any_of


@given(st.lists(st.text() | st.integers(-9, 99), min_size=1))
def test_paths_round_trip(names: list[str | int]) -> None:
    path = ""
    for name in names:
        path = append_to_path(path, name)
    assert split_path(path) == names


def test_paths_use_dots_and_brackets() -> None:
    assert append_to_path(append_to_path(append_to_path("", "items"), 2), "name") == "items[2].name"
    assert append_to_path("filter", "a.b") == 'filter["a.b"]'


def test_hashes_on_disk_never_change() -> None:
    """Journals, errata, queues and stores of all versions contain these hashes."""
    value = {"b": [1, 1.0, True, None], "a": {"é": "x"}}
    assert canonical_json(value) == '{"a":{"é":"x"},"b":[1,1.0,true,null]}'.encode()
    assert json_hash(value, 16) == "bc94f8d7c01edb9fa2863af01bea5300"
    assert json_hash({"a": (1, 2)}, 8, default=tuple) == json_hash({"a": [1, 2]}, 8)
    assert answer_hash(value) == "f88921b2d6e69b66" != answer_hash(dict(reversed(value.items())))

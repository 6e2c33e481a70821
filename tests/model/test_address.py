"""Target addresses are parsed from the text that they are written as."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.address import (
    PartAddress,
    describe_address,
    get_enclosing_call_address,
    is_address,
    parse_address,
)

TARGETS = st.builds(
    lambda turn, call, path: PartAddress(turn, call, path if call is not None else None),
    st.integers(0, 500),
    st.none() | st.integers(0, 500),
    st.none() | st.text(min_size=1),
)


@given(TARGETS)
def test_addresses_round_trip(target: PartAddress) -> None:
    assert parse_address(str(target)) == target
    assert is_address(str(target))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "turn:0",
        "turn:x",
        "turn:1/",
        "turn:1/call:0",
        "call:1",
        "turn:1/arg:x",
        "turn:1/call:1/arg:",
        "Item",
    ],
)
def test_invalid_address_is_none(text: str) -> None:
    assert parse_address(text) is None
    assert not is_address(text)


def test_text_counts_from_1_and_fields_from_0() -> None:
    assert parse_address("turn:2/call:1/arg:city") == PartAddress(1, 0, "city")
    assert str(PartAddress(1, 0)) == "turn:2/call:1"
    assert parse_address("item") is None
    assert is_address("item") and is_address("response")


def test_enclosing_call_of_an_argument() -> None:
    assert get_enclosing_call_address("turn:2/call:1/arg:a/call:9") == "turn:2/call:1"
    assert get_enclosing_call_address("turn:2") is None
    assert get_enclosing_call_address("response") is None


def test_address_is_described_in_words() -> None:
    assert describe_address("turn:2/call:1/arg:filter/a:b") == "turn 2 call 1 filter/a:b"
    assert describe_address("turn:2") == "turn 2"
    assert describe_address("item") == "item"

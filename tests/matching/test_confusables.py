"""Texts that look alike: what is said of them."""

from __future__ import annotations

import pytest

from fcreview.matching.first_difference import MAX_TEXT_LENGTH, describe_hidden_difference, make_confusable_skeleton


@pytest.mark.parametrize(
    ("golden", "predicted", "said"),
    [
        (
            "Kazan",
            "K\u0430zan",
            "texts look alike: U+0430 CYRILLIC SMALL LETTER A instead of U+0061 LATIN SMALL LETTER A at character 2",
        ),
        ("a b", "a  b", "texts look alike: extra 1 blank at character 3"),
        ("a b", "a\u00a0b", "texts look alike: U+00A0 NO-BREAK SPACE instead of 1 blank at character 2"),
        ("ab", "a\u200bb", "texts look alike: extra U+200B ZERO WIDTH SPACE at character 2"),
        ("ab ", "ab", "texts look alike: missing 1 blank at character 3"),
        ('"ab "', '"ab"', "texts look alike: missing 1 blank at character 4"),
        (
            "it's",
            "it’s",
            "texts look alike: U+2019 RIGHT SINGLE QUOTATION MARK instead of U+0027 APOSTROPHE at character 3",
        ),
    ],
)
def test_what_cannot_be_seen_is_named(golden: str, predicted: str, said: str) -> None:
    assert describe_hidden_difference(golden, predicted) == said


def test_composed_and_decomposed_letters() -> None:
    said = describe_hidden_difference("caf\u00e9", "cafe\u0301")
    assert said is not None and "U+0301 COMBINING ACUTE ACCENT" in said


@pytest.mark.parametrize(
    ("golden", "predicted"), [("a", "a"), ("Ulm", "ulm"), ("cafe", "coffee"), ("1", "l"), ("", "x")]
)
def test_of_equal_texts_and_of_those_that_look_different_nothing_is_said(golden: str, predicted: str) -> None:
    assert describe_hidden_difference(golden, predicted) is None


def test_long_texts_are_not_looked_through() -> None:
    assert describe_hidden_difference("a " * MAX_TEXT_LENGTH, "a  " * MAX_TEXT_LENGTH) is None
    assert make_confusable_skeleton(" а\u200b б") == "a б"

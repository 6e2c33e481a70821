"""Differences between texts that look alike are described."""

from __future__ import annotations

import pytest

from fcreview.matching.first_difference import (
    MAX_TEXT_LENGTH,
    describe_hidden_difference,
    normalize_lookalikes,
)


@pytest.mark.parametrize(
    ("golden", "predicted", "description"),
    [
        (
            "Kazan",
            "K\u0430zan",
            "texts look alike: U+0430 CYRILLIC SMALL LETTER A instead of U+0061 LATIN SMALL LETTER"
            " A at character 2",
        ),
        ("a b", "a  b", "texts look alike: extra 1 blank at character 3"),
        (
            "a b",
            "a\u00a0b",
            "texts look alike: U+00A0 NO-BREAK SPACE instead of 1 blank at character 2",
        ),
        ("ab", "a\u200bb", "texts look alike: extra U+200B ZERO WIDTH SPACE at character 2"),
        ("ab ", "ab", "texts look alike: missing 1 blank at character 3"),
        ('"ab "', '"ab"', "texts look alike: missing 1 blank at character 4"),
        (
            "it's",
            "it’s",
            "texts look alike: U+2019 RIGHT SINGLE QUOTATION MARK instead of U+0027 APOSTROPHE at"
            " character 3",
        ),
    ],
)
def test_invisible_difference_is_named(golden: str, predicted: str, description: str) -> None:
    assert describe_hidden_difference(golden, predicted) == description


def test_decomposed_letter_is_named() -> None:
    description = describe_hidden_difference("caf\u00e9", "cafe\u0301")
    assert description is not None and "U+0301 COMBINING ACUTE ACCENT" in description


@pytest.mark.parametrize(
    ("golden", "predicted"), [("a", "a"), ("Ulm", "ulm"), ("cafe", "coffee"), ("1", "l"), ("", "x")]
)
def test_equal_and_visibly_different_texts_have_no_description(golden: str, predicted: str) -> None:
    assert describe_hidden_difference(golden, predicted) is None


def test_long_texts_are_not_compared() -> None:
    assert describe_hidden_difference("a " * MAX_TEXT_LENGTH, "a  " * MAX_TEXT_LENGTH) is None
    assert normalize_lookalikes(" а\u200b б") == "a б"

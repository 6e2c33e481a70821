"""What a header says of a category whose results are missing."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.wording import HeaderAccuracy, format_official_rate, read_header_accuracy

HEADER = {"accuracy": 0.86, "correct_count": 344, "total_count": 400}


def test_where_only_failures_are_known_the_header_counts() -> None:
    assert read_header_accuracy(HEADER, 56, 0) == HeaderAccuracy(344, 400)
    assert read_header_accuracy(HEADER, 20, 0) == HeaderAccuracy(344, 400)  # a score file that breaks off


@pytest.mark.parametrize(
    ("header", "items", "passed"),
    [
        (HEADER, 400, 344),
        (HEADER, 57, 0),
        ({"correct_count": 0, "total_count": 56}, 56, 0),
        ({"correct_count": "344", "total_count": 400}, 56, 0),
        ({}, 56, 0),
        (None, 56, 0),
    ],
)
def test_elsewhere_the_items_do(header: Any, items: int, passed: int) -> None:
    assert read_header_accuracy(header, items, passed) is None


def test_a_rate_over_items_comes_before_what_is_stated() -> None:
    assert format_official_rate(3, 4, 4, stated_pass=344, stated_of=400) == "75.0 %"
    assert format_official_rate(0, 0, 4, stated_pass=344, stated_of=400) == "86.0 % stated"
    assert format_official_rate(0, 0, 4) == "–"

"""The header of a score file gives the accuracy of a category whose result file is missing."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.wording import HeaderAccuracy, format_official_rate, read_header_accuracy

HEADER = {"accuracy": 0.86, "correct_count": 344, "total_count": 400}


def test_header_accuracy_counts_if_only_failures_are_known() -> None:
    assert read_header_accuracy(HEADER, 56, 0) == HeaderAccuracy(344, 400)
    assert read_header_accuracy(HEADER, 20, 0) == HeaderAccuracy(344, 400)  # The score file is truncated.


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
def test_header_accuracy_is_ignored_otherwise(header: Any, items: int, passed: int) -> None:
    assert read_header_accuracy(header, items, passed) is None


def test_rate_over_items_precedes_stated_rate() -> None:
    assert format_official_rate(3, 4, 4, stated_pass=344, stated_of=400) == "75.0 %"
    assert format_official_rate(0, 0, 4, stated_pass=344, stated_of=400) == "86.0 % stated"
    assert format_official_rate(0, 0, 4) == "–"

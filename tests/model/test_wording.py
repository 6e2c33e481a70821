"""Table columns get widths that fit the available cells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import (
    COLUMN_GAP,
    HeaderAccuracy,
    align_row,
    compute_column_widths,
    describe_error_type,
    format_official_rate,
    read_header_accuracy,
)

TEXT = st.text(max_size=30).map(sanitize)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=6), st.integers(20, 100))
def test_table_fits_unless_its_titles_are_too_wide(
    rows: list[tuple[str, str, str]], cells: int
) -> None:
    titles = ("n", "name", "example")
    sizes = compute_column_widths(titles, rows, table_width=cells)
    assert sum(sizes) + 2 * COLUMN_GAP <= max(cells, sum(map(len, titles)) + 2 * COLUMN_GAP)
    free = compute_column_widths(titles, rows)
    assert all(size <= most for size, most in zip(sizes, free, strict=True))
    if sum(free) + 2 * COLUMN_GAP <= cells:
        assert sizes == free


def test_last_column_shrinks_first_and_minimum_widths_hold() -> None:
    rows = [("1", "x" * 20, "y" * 30)]
    assert compute_column_widths(("n", "name", "example"), rows, table_width=40) == [1, 20, 15]
    assert compute_column_widths(("n", "name", "example"), rows, table_width=30) == [1, 18, 7]
    assert compute_column_widths(
        ("n", "name", "example"), rows, table_width=30, min_widths=(1, 19, 9)
    ) == [1, 19, 9]


def test_all_columns_but_the_last_have_a_maximum_width() -> None:
    assert compute_column_widths(("a", "b"), [("x" * 90, "y" * 90)], max_width=60) == [60, 90]


def test_numbers_align_right_and_wide_characters_take_two_cells() -> None:
    assert (pad("7", 3, align_right=True), pad("城", 3), pad("ab", 2)) == ("  7", "城 ", "ab")
    assert display_width(pad("城市", 6)) == 6


def test_row_is_clipped_and_padded() -> None:
    assert (
        "".join(align_row(["abcdef", "7", "x"], [4, 3, 2], right_columns=(1,))) == "abc…    7  x "
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("value_error:string", "string is not an accepted value"),
        ("value_error:never_seen", "argument value is not accepted"),
        ("multiple_function_checker:wrong_count", "wrong number of calls"),
        ("simple_function_checker:missing_required", "required argument is missing"),
        ("type_error:simple", "value has the wrong type"),
        ("relevance_error:decoder_success", "no function fits, but one was called"),
        ("relevance_error:decoder_failed", "no call was made, but one was expected"),
        ("dialog_act:no_overlap", "reply has none of the golden reply's labels"),
        (
            "db_mismatch + not_communicated",
            "final database differs from the expected one and model did not give the user an"
            " expected text",
        ),
        ("db_mismatch + never_seen", ""),
        ("something else", ""),
        ("", ""),
    ],
)
def test_error_type_is_described(error: str, words: str) -> None:
    assert describe_error_type(error) == words


HEADER = {"accuracy": 0.86, "correct_count": 344, "total_count": 400}


def test_header_accuracy_counts_if_only_failures_are_known() -> None:
    assert read_header_accuracy(HEADER, 56, 0) == HeaderAccuracy(344, 400)
    # The score file is truncated.
    assert read_header_accuracy(HEADER, 20, 0) == HeaderAccuracy(344, 400)


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

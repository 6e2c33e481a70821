"""Table columns get widths that fit the available cells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import COLUMN_GAP, align_row, compute_column_widths

TEXT = st.text(max_size=30).map(sanitize)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=6), st.integers(20, 100))
def test_table_fits_unless_its_titles_are_too_wide(rows: list[tuple[str, str, str]], cells: int) -> None:
    titles = ("n", "name", "example")
    sizes = compute_column_widths(titles, rows, cells=cells)
    assert sum(sizes) + 2 * COLUMN_GAP <= max(cells, sum(map(len, titles)) + 2 * COLUMN_GAP)
    free = compute_column_widths(titles, rows)
    assert all(size <= most for size, most in zip(sizes, free, strict=True))
    if sum(free) + 2 * COLUMN_GAP <= cells:
        assert sizes == free


def test_last_column_shrinks_first_and_minimum_widths_hold() -> None:
    rows = [("1", "x" * 20, "y" * 30)]
    assert compute_column_widths(("n", "name", "example"), rows, cells=40) == [1, 20, 15]
    assert compute_column_widths(("n", "name", "example"), rows, cells=30) == [1, 18, 7]
    assert compute_column_widths(("n", "name", "example"), rows, cells=30, least=(1, 19, 9)) == [1, 19, 9]


def test_all_columns_but_the_last_have_a_maximum_width() -> None:
    assert compute_column_widths(("a", "b"), [("x" * 90, "y" * 90)], widest=60) == [60, 90]


def test_numbers_align_right_and_wide_characters_take_two_cells() -> None:
    assert (pad("7", 3, right=True), pad("城", 3), pad("ab", 2)) == ("  7", "城 ", "ab")
    assert display_width(pad("城市", 6)) == 6


def test_row_is_clipped_and_padded() -> None:
    assert "".join(align_row(["abcdef", "7", "x"], [4, 3, 2], right=(1,))) == "abc…    7  x "

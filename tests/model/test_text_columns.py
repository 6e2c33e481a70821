"""How wide the columns of tables are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.sanitize import visible, width
from fcreview.model.wording import GAP, align_row, column_sizes, filled

TEXT = st.text(max_size=30).map(visible)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=6), st.integers(20, 100))
def test_a_table_fits_its_room_unless_its_titles_do_not(rows: list[tuple[str, str, str]], cells: int) -> None:
    titles = ("n", "name", "example")
    sizes = column_sizes(titles, rows, cells=cells)
    assert sum(sizes) + 2 * GAP <= max(cells, sum(map(len, titles)) + 2 * GAP)
    free = column_sizes(titles, rows)
    assert all(size <= most for size, most in zip(sizes, free, strict=True))
    if sum(free) + 2 * GAP <= cells:
        assert sizes == free


def test_the_last_column_gives_first_then_the_widest_and_none_below_its_least() -> None:
    rows = [("1", "x" * 20, "y" * 30)]
    assert column_sizes(("n", "name", "example"), rows, cells=40) == [1, 20, 15]
    assert column_sizes(("n", "name", "example"), rows, cells=30) == [1, 18, 7]
    assert column_sizes(("n", "name", "example"), rows, cells=30, least=(1, 19, 9)) == [1, 19, 9]


def test_columns_but_the_last_have_a_widest() -> None:
    assert column_sizes(("a", "b"), [("x" * 90, "y" * 90)], widest=60) == [60, 90]


def test_numbers_stand_at_the_right_and_wide_characters_take_two_cells() -> None:
    assert (filled("7", 3, right=True), filled("城", 3), filled("ab", 2)) == ("  7", "城 ", "ab")
    assert width(filled("城市", 6)) == 6


def test_a_row_is_clipped_and_padded_to_its_columns() -> None:
    assert "".join(align_row(["abcdef", "7", "x"], [4, 3, 2], right=(1,))) == "abc…    7  x "

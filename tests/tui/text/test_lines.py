"""Long texts are wrapped into rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.text.lines import (
    FixedColumn,
    LineBuilder,
    fixed_columns_width,
    join_lines,
    lay_out_fixed_columns,
    make_line,
    plain_text,
    sanitize_and_wrap,
    wrap_first_rows,
    wrap_sanitized,
)


@pytest.mark.parametrize("cells", [1, 2, 7, 80])
@example(text="0000\u0300\u0300\u03000" + 4 * "\u0300" + "0" + 5 * "\u0300")
@given(text=st.text())
def test_wrapped_rows_join_to_the_text_and_fit(cells: int, text: str) -> None:
    shown = sanitize(text)
    rows = wrap_sanitized(shown, cells)
    assert "".join(rows) == shown
    assert all(display_width(row) <= max(cells, 2) for row in rows)
    assert wrap_sanitized(shown, cells, 2) == rows[:2]


def test_wrapping_the_head_reads_only_the_start_of_a_text() -> None:
    class LimitedText(str):
        def __getitem__(self, key: Any) -> str:
            assert isinstance(key, slice) and (key.stop or 0) < 2000
            return str.__getitem__(self, key)

    rows, more = wrap_first_rows(LimitedText("x" * 300_000), 60, 4)
    assert len(rows) == 4 and more
    assert sanitize_and_wrap("a\nb\r\n\x85c", 10) == ["a", "b␍", "‹U+0085›c"]


def test_row_that_fits_exactly_is_full() -> None:
    assert wrap_sanitized("abcdefgh", 4) == ["abcd", "efgh"]
    assert wrap_sanitized("一二三", 4) == ["一二", "三"]


def test_built_line_is_padded_and_has_no_empty_part() -> None:
    line = LineBuilder()
    assert line.is_empty
    line.add("", "dim")
    line.add("\u6771\u4eac", "strong")
    line.pad_to(6)
    line.pad_to(3)
    line.add_padded("a long text", 5, "dim")
    assert line.build() == (("\u6771\u4eac", "strong"), ("  ", ""), ("a lo\u2026", "dim"))
    assert line.width == 11


def test_joined_lines_omit_empty_lines() -> None:
    joined = join_lines([(), make_line("a"), (), make_line("b")], (" \u00b7 ", "dim"))
    assert plain_text(joined) == "a \u00b7 b"


def test_heading_and_rows_follow_from_the_fixed_columns() -> None:
    columns = [
        FixedColumn("name", 6, lambda number: make_line("x" * number), gap=""),
        FixedColumn("count", 7, lambda number: make_line(f"{number:,}"), align_right=True),
    ]
    table = lay_out_fixed_columns(columns, [2, 7])
    assert plain_text(table.heading) == "name      count"
    assert [plain_text(row) for row in table.rows] == ["xx            2", "xxxxxxx        7"]
    assert fixed_columns_width(columns) == len(plain_text(table.heading))

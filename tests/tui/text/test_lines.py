"""Long texts are wrapped into rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.text.lines import sanitize_and_wrap, wrap_first_rows, wrap_sanitized


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

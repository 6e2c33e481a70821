"""Layout of long documents: scrolling, revealing a row, and splitting texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.tui.text.layout import (
    CHUNK_SIZE,
    DocumentLayout,
    TextSource,
    find_chunk_starts,
    find_match_offset,
    indent_json,
)
from fcreview.tui.text.lines import Line, plain_text


class CountingSource:
    """Blocks of the given sizes. Records which blocks were laid out."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.requested: set[int] = set()

    def __len__(self) -> int:
        return len(self.sizes)

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        self.requested.add(index)
        return [((f"{index}.{row}", ""),) for row in range(self.sizes[index])]


def test_only_visible_blocks_are_laid_out() -> None:
    source = CountingSource([3] * 100_000)
    layout = DocumentLayout(source, 80, 20)
    layout.visible_rows()
    layout.scroll_by(30)
    layout.scroll_to(layout.find_last_top())
    assert layout.visible_rows()[-1] == (99_999, 2)
    assert len(source.requested) < 60


def test_scroll_position() -> None:
    assert DocumentLayout(CountingSource([3, 2]), 80, 5).scroll_position == ""
    assert DocumentLayout(CountingSource([]), 80, 5).scroll_position == ""
    layout = DocumentLayout(CountingSource([4] * 5), 80, 8)
    positions = []
    for _ in range(4):
        positions.append(layout.scroll_position)
        layout.scroll_by(4)
    assert positions == ["top", "60 %", "80 %", "end"]


SIZES = st.lists(st.integers(0, 7), min_size=1, max_size=12)


@given(SIZES, st.integers(1, 9), st.lists(st.integers(-15, 15), max_size=8))
def test_scrolling_shows_consecutive_rows(sizes: list[int], height: int, steps: list[int]) -> None:
    layout = DocumentLayout(CountingSource(sizes), 80, height)
    whole = [(index, row) for index, size in enumerate(sizes) for row in range(size)]
    at = 0
    for step in steps:
        layout.scroll_by(step)
        at = min(max(at + step, 0), max(len(whole) - height, 0))
        assert layout.visible_rows() == whole[at : at + height]


@given(SIZES, st.integers(1, 9), st.data())
def test_revealed_row_is_visible(sizes: list[int], height: int, data: st.DataObject) -> None:
    layout = DocumentLayout(CountingSource(sizes), 80, height)
    layout.scroll_by(data.draw(st.integers(0, 40)))
    index = data.draw(st.sampled_from([n for n, size in enumerate(sizes) if size] or [-1]))
    if index < 0:
        return
    row = data.draw(st.integers(0, sizes[index] - 1))
    layout.reveal(index, row)
    assert (index, row) in layout.visible_rows()
    before = layout.top
    layout.reveal(index, row)
    assert layout.top == before


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_chunks_join_to_the_text(text: str) -> None:
    source = TextSource(text)
    assert "\n".join(source.read_chunk(n) for n in range(len(source))) == text


def test_long_line_is_split_into_chunks() -> None:
    text = "word, " * 50_000
    starts = find_chunk_starts(text)
    assert max(b - a for a, b in pairwise(starts)) <= CHUNK_SIZE
    assert "".join(TextSource(text).read_chunk(n) for n in range(len(starts))) == text
    assert all(text[start - 1] == " " for start in starts[1:])


@pytest.mark.parametrize("width", [20, 79])
def test_text_position_is_found_on_screen(width: int) -> None:
    text = "a\tb\n" + "x" * 5000 + " needle " + "y" * 5000 + "\nend"
    source = TextSource(text)
    index, row = source.find_row(text.index("needle"), width)
    assert "needle" in plain_text(source.lines(index, width)[row])


def test_search_wraps_around_in_both_directions() -> None:
    text = "One two one"
    assert find_match_offset(text, "one", -1, 1) == 0
    assert find_match_offset(text, "one", 0, 1) == 8
    assert find_match_offset(text, "one", 8, 1) == 0
    assert find_match_offset(text, "one", 0, -1) == 8
    assert find_match_offset(text, "One", 0, 1) == 0
    assert find_match_offset(text, "none", -1, 1) is None


def test_only_json_is_indented() -> None:
    assert indent_json('{"a": [1, "ü"]}') == '{\n  "a": [\n    1,\n    "ü"\n  ]\n}'
    assert indent_json("{not json") == "{not json"
    assert indent_json("[" * 100_000) == "[" * 100_000

"""Which rows are on screen: scrolling, revealing, and texts of any size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.tui.text.layout import CHUNK_SIZE, DocumentLayout, TextSource, find_chunk_starts, find_match, indent_json
from fcreview.tui.text.lines import Line, plain_text


class Counting:
    """Blocks of the given sizes; remembers which were asked for."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.asked: set[int] = set()

    def __len__(self) -> int:
        return len(self.sizes)

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        self.asked.add(index)
        return [((f"{index}.{row}", ""),) for row in range(self.sizes[index])]


def test_only_what_is_visible_is_laid_out() -> None:
    source = Counting([3] * 100_000)
    layout = DocumentLayout(source, 80, 20)
    layout.visible_rows()
    layout.scroll_by(30)
    layout.scroll_to(layout.max_top())
    assert layout.visible_rows()[-1] == (99_999, 2)
    assert len(source.asked) < 60


sizes = st.lists(st.integers(0, 7), min_size=1, max_size=12)


@given(sizes, st.integers(1, 9), st.lists(st.integers(-15, 15), max_size=8))
def test_scrolling_shows_a_window_of_the_whole(of: list[int], height: int, steps: list[int]) -> None:
    layout = DocumentLayout(Counting(of), 80, height)
    whole = [(index, row) for index, size in enumerate(of) for row in range(size)]
    at = 0
    for step in steps:
        layout.scroll_by(step)
        at = min(max(at + step, 0), max(len(whole) - height, 0))
        assert layout.visible_rows() == whole[at : at + height]


@given(sizes, st.integers(1, 9), st.data())
def test_what_is_revealed_is_on_screen(of: list[int], height: int, data: st.DataObject) -> None:
    layout = DocumentLayout(Counting(of), 80, height)
    layout.scroll_by(data.draw(st.integers(0, 40)))
    index = data.draw(st.sampled_from([n for n, size in enumerate(of) if size] or [-1]))
    if index < 0:
        return
    row = data.draw(st.integers(0, of[index] - 1))
    layout.reveal(index, row)
    assert (index, row) in layout.visible_rows()
    before = layout.top
    layout.reveal(index, row)
    assert layout.top == before


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_pieces_are_the_text(text: str) -> None:
    source = TextSource(text)
    assert "\n".join(source.chunk(n) for n in range(len(source))) == text


def test_a_line_of_300_kb_is_cut_into_pieces() -> None:
    text = "word, " * 50_000
    starts = find_chunk_starts(text)
    assert max(b - a for a, b in pairwise(starts)) <= CHUNK_SIZE
    assert "".join(TextSource(text).chunk(n) for n in range(len(starts))) == text
    assert all(text[start - 1] == " " for start in starts[1:])


@pytest.mark.parametrize("width", [20, 79])
def test_a_place_in_the_text_is_found_on_screen(width: int) -> None:
    text = "a\tb\n" + "x" * 5000 + " needle " + "y" * 5000 + "\nend"
    source = TextSource(text)
    index, row = source.find_row(text.index("needle"), width)
    assert "needle" in plain_text(source.lines(index, width)[row])


def test_search_goes_round_in_both_directions() -> None:
    text = "One two one"
    assert find_match(text, "one", -1, 1) == 0
    assert find_match(text, "one", 0, 1) == 8
    assert find_match(text, "one", 8, 1) == 0
    assert find_match(text, "one", 0, -1) == 8
    assert find_match(text, "One", 0, 1) == 0
    assert find_match(text, "none", -1, 1) is None


def test_only_json_is_indented() -> None:
    assert indent_json('{"a": [1, "ü"]}') == '{\n  "a": [\n    1,\n    "ü"\n  ]\n}'
    assert indent_json("{not json") == "{not json"
    assert indent_json("[" * 100_000) == "[" * 100_000

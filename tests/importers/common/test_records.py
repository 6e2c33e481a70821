"""A question on one line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.common.records import LONGEST, question_line


def test_it_is_one_line() -> None:
    assert question_line(" What is\n\tthe  time? ") == "What is the time?"
    assert question_line("x" * LONGEST) == "x" * LONGEST
    assert question_line("") == ""


def test_what_is_left_out_is_told() -> None:
    assert question_line("x" * (LONGEST + 1)) == "x" * (LONGEST - 1) + "…"
    assert question_line("a " * LONGEST).endswith(" a…")
    assert question_line("word" + " " * 10 * LONGEST + "end") == "word…", "no more of it is looked at than is needed"


@given(st.text(max_size=5 * LONGEST))
def test_it_is_never_too_long_and_says_so_where_it_goes_on(text: str) -> None:
    line, whole = question_line(text), " ".join(text.split())
    assert len(line) <= LONGEST
    assert line == whole or (line.endswith("…") and whole.startswith(line[:-1]))

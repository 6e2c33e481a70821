"""Questions are shortened to one line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.common.records import MAX_QUESTION_LENGTH, shorten_question


def test_question_is_one_line() -> None:
    assert shorten_question(" What is\n\tthe  time? ") == "What is the time?"
    assert shorten_question("x" * MAX_QUESTION_LENGTH) == "x" * MAX_QUESTION_LENGTH
    assert shorten_question("") == ""


def test_omitted_text_is_marked() -> None:
    assert (
        shorten_question("x" * (MAX_QUESTION_LENGTH + 1)) == "x" * (MAX_QUESTION_LENGTH - 1) + "…"
    )
    assert shorten_question("a " * MAX_QUESTION_LENGTH).endswith(" a…")
    assert shorten_question("word" + " " * 10 * MAX_QUESTION_LENGTH + "end") == "word…", (
        "no more of it is looked at than is needed"
    )


@given(st.text(max_size=5 * MAX_QUESTION_LENGTH))
def test_long_question_is_shortened_and_marked(text: str) -> None:
    line, whole = shorten_question(text), " ".join(text.split())
    assert len(line) <= MAX_QUESTION_LENGTH
    assert line == whole or (line.endswith("…") and whole.startswith(line[:-1]))

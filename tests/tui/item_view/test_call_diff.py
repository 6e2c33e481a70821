"""Differences are marked in the predicted text."""

from __future__ import annotations

import time

import pytest

from fcreview.matching.align import align_calls
from fcreview.matching.diff import diff_call
from fcreview.matching.first_difference import build_argument_rows
from fcreview.model.item import AcceptedValues, Call
from fcreview.tui.item_view.call_diff import (
    argument_lines,
    compute_argument_columns,
    find_changed_spans,
    mark_spans,
)
from fcreview.tui.text.lines import plain_text

GOLDEN = "the quick brown fox jumps over the lazy dog while the cat sleeps on the warm mat"


def changed_texts(golden: str, predicted: str) -> list[str]:
    return [predicted[start:end] for start, end in find_changed_spans(golden, predicted)]


def test_only_changed_words_of_long_texts_are_marked() -> None:
    assert changed_texts(GOLDEN, GOLDEN.replace("quick", "slow").replace("warm", "cold")) == [
        "slow",
        "cold",
    ]
    assert changed_texts(
        f'"other" or "{GOLDEN}"', f'"{GOLDEN.replace("brown", "red").replace("mat", "rug")}"'
    ) == [
        "red",
        "rug",
    ]


def test_short_texts_have_one_marked_span() -> None:
    assert changed_texts('"Ulm, DE"', '"Bonn, NL"') == ["Bonn, NL"]
    assert changed_texts("same", "same") == [""]


def test_missing_words_are_marked_at_their_position() -> None:
    shorter = GOLDEN.replace("quick ", "")
    assert find_changed_spans(GOLDEN, shorter)[0][0] == shorter.index("brown")


def test_texts_of_many_words_are_compared_quickly() -> None:
    one, other = "a b " * 50_000, "b a " * 50_000
    start = time.perf_counter()
    find_changed_spans(one, other)
    assert time.perf_counter() - start < 1


def test_marks_span_rows_and_show_blanks_at_their_edges() -> None:
    assert mark_spans("abcdef", 10, [(8, 12), (14, 30)], "x") == (
        ("ab", "diff"),
        ("cd", "x"),
        ("ef", "diff"),
    )
    assert mark_spans("a  b", 0, [(1, 3)], "x") == (("a", "x"), ("␣␣", "diff"), ("b", "x"))
    assert mark_spans("abc", 0, [], "x") == (("abc", "x"),)


def test_lookalike_character_is_named() -> None:
    golden = Call("golden", "f", arguments={"city": AcceptedValues(["Ulm", "Kazan"])})
    predicted = Call("predicted", "f", arguments={"city": "K\u0430zan"})
    rows = build_argument_rows(golden, predicted, diff_call(golden, predicted))
    shown = [
        plain_text(line) for line in argument_lines(rows[0], compute_argument_columns(rows, 80))
    ]
    assert "CYRILLIC SMALL LETTER A instead of U+0061" in " ".join(" ".join(shown).split())


@pytest.mark.parametrize(
    ("reference", "text", "marked"),
    [
        ("false", "true", "true"),
        ("5.0", "5", "5"),
        ("[1, 2.0]", "[1, 2]", "2"),
        ("0.0001", "0.0002", "0.0002"),
        ('"New York"', '"New Work"', "W"),
    ],
)
def test_marks_divide_no_number_and_no_word_outside_strings(
    reference: str, text: str, marked: str
) -> None:
    spans = find_changed_spans(reference, text)
    assert [text[start:end] for start, end in spans] == [marked]


def test_equal_numbers_of_other_form_take_one_line() -> None:
    golden = Call("golden", "f", arguments={"a": AcceptedValues([5.0])})
    predicted = Call("predicted", "f", arguments={"a": 5})
    (pair,) = align_calls([golden], [predicted])
    rows = build_argument_rows(golden, predicted, pair.diff)
    (line,) = argument_lines(rows[0], compute_argument_columns(rows, 70))
    assert plain_text(line).split() == ["≠", "a", "5.0", "5", "integer,", "golden", "float"]

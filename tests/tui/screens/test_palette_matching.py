"""Fuzzy matching of the palette: which names match, their order and the marked letters."""

from __future__ import annotations

import time

import pytest

from fcreview.tui.screens.command_palette import match_query_words

NAMES = [
    "golden wrong",
    "unsure",
    "filter",
    "first difference",
    "clusters",
    "the same item in other runs",
    "runs",
]


def find_best(typed: str) -> list[str]:
    """Return the matches as the palette does: letter-by-letter matches count only if there are
    no others.
    """
    found = [
        (match.score, name)
        for name in NAMES
        if (match := match_query_words(name, typed)) is not None
    ]
    better = [each for each in found if each[0] >= 1] or found
    return [name for _, name in sorted(better, key=lambda each: -each[0])]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("runs", ["runs", "the same item in other runs"]),
        ("RUN", ["runs", "the same item in other runs"]),
        ("gw", ["golden wrong"]),
        ("fd", ["first difference"]),
        ("wrong gold", ["golden wrong"]),
        ("fil", ["filter"]),
        ("fltr", ["filter"]),
        ("ue", ["unsure"]),
        ("tsi", ["the same item in other runs"]),
        ("item run", ["the same item in other runs"]),
        ("xyz", []),
        ("run xyz", []),
    ],
)
def test_best_match_is_first(typed: str, found: list[str]) -> None:
    assert find_best(typed) == found


def test_empty_text_keeps_the_order() -> None:
    assert find_best(" ") == NAMES


def test_matching_letters_are_marked() -> None:
    match = match_query_words("golden wrong", "gw")
    assert match is not None and match.positions == {0, 7}
    match = match_query_words("the same item", "sam")
    assert match is not None and match.positions == {4, 5, 6}
    match = match_query_words("filter", "turns", "official:fail turns>=3")
    assert match is not None and match.positions == set()


@pytest.mark.parametrize("name", ["İstanbul", "ﬁlter", "a\u0301b", "東京 filter", ""])
def test_letters_that_change_length_in_lower_case_are_harmless(name: str) -> None:
    for typed in ("i", "filter", "İ", "b", "京"):
        match = match_query_words(name, typed)
        assert match is None or all(0 <= at < len(name) for at in match.positions)


def test_very_long_names_are_matched_quickly() -> None:
    """A model may have such a name, and each typed letter is matched with every name."""
    start = time.process_time()
    for name in ("a " * 500_000, "ab " * 300_000, "ab" * 500_000, "a" * 1_000_000):
        for typed in ("ab", "acd", "x", "a a a", "aabb" * 10):
            match_query_words(name, typed)
    assert time.process_time() - start < 1

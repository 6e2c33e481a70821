"""What fits what was typed, what fits better, and which letters are marked."""

from __future__ import annotations

import time

import pytest

from fcreview.tui.text.fuzzy import match_words

NAMES = ["golden wrong", "unsure", "filter", "first difference", "clusters", "the same item in other runs", "runs"]


def best(typed: str) -> list[str]:
    """What the palette lists: names of which a word matches letter by letter only, if there are no others."""
    found = [(match.score, name) for name in NAMES if (match := match_words(name, typed)) is not None]
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
def test_the_best_comes_first(typed: str, found: list[str]) -> None:
    assert best(typed) == found


def test_nothing_typed_leaves_the_order() -> None:
    assert best(" ") == NAMES


def test_the_letters_that_fit_are_marked() -> None:
    match = match_words("golden wrong", "gw")
    assert match is not None and match.positions == {0, 7}
    match = match_words("the same item", "sam")
    assert match is not None and match.positions == {4, 5, 6}
    match = match_words("filter", "turns", "official:fail turns>=3")
    assert match is not None and match.positions == set()


@pytest.mark.parametrize("name", ["İstanbul", "ﬁlter", "a\u0301b", "東京 filter", ""])
def test_letters_that_change_their_length_do_no_harm(name: str) -> None:
    for typed in ("i", "filter", "İ", "b", "京"):
        match = match_words(name, typed)
        assert match is None or all(0 <= at < len(name) for at in match.positions)


def test_a_name_of_a_million_letters_does_not_hold_up_the_keys() -> None:
    """A model may be called so, and every name is looked at for every letter that is typed."""
    begun = time.process_time()
    for name in ("a " * 500_000, "ab " * 300_000, "ab" * 500_000, "a" * 1_000_000):
        for typed in ("ab", "acd", "x", "a a a", "aabb" * 10):
            match_words(name, typed)
    assert time.process_time() - begun < 1

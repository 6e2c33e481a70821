"""What fits what was typed, what fits better, and which letters are marked."""

from __future__ import annotations

import time

import pytest

from fcreview.model.sanitize import width
from fcreview.tui.palette.palette import Entry, Match, fit, line_of, merged, ranked
from fcreview.tui.text.lines import line_width, plain

NAMES = ["golden wrong", "unsure", "filter", "first difference", "clusters", "the same item in other runs", "runs"]


def best(typed: str) -> list[str]:
    return [match.entry.text for match in ranked([Entry("action", name) for name in NAMES], typed)]


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
    fitted = fit("golden wrong", "gw")
    assert fitted is not None and fitted.marks == (0, 7)
    fitted = fit("the same item", "sam")
    assert fitted is not None and fitted.marks == (4, 5, 6)
    fitted = fit("filter", "turns", "official:fail turns>=3")
    assert fitted is not None and fitted.marks == ()


@pytest.mark.parametrize("name", ["İstanbul", "ﬁlter", "a\u0301b", "東京 filter", ""])
def test_letters_that_change_their_length_do_no_harm(name: str) -> None:
    for typed in ("i", "filter", "İ", "b", "京"):
        fitted = fit(name, typed)
        assert fitted is None or all(0 <= at < len(name) for at in fitted.marks)


def test_a_name_of_a_million_letters_does_not_hold_up_the_keys() -> None:
    """A model may be called so, and every name is looked at for every letter that is typed."""
    begun = time.process_time()
    for name in ("a " * 500_000, "ab " * 300_000, "a" * 1_000_000):
        for typed in ("ab", "acd", "x", "a a a"):
            fit(name, typed)
    assert time.process_time() - begun < 1


EXPORT = Entry("export", "export csv", "a table", value="csv", wants="FILE")


def test_what_is_typed_behind_a_name_is_its_argument() -> None:
    (match,) = ranked([EXPORT, Entry("action", "export")], "Export csv ~/my labels.csv ")
    assert (match.entry, match.argument) == (EXPORT, "~/my labels.csv")
    assert [each.argument for each in ranked([EXPORT], "export csv")] == [""]


def test_items_come_behind_unless_the_id_is_what_was_typed() -> None:
    first = [Match(Entry("action", "simple"))]
    items = [Match(Entry("item", "simple_1")), Match(Entry("item", "simple_10"))]
    assert [each.entry.text for each in merged(first, items, "simple_")] == ["simple", "simple_1", "simple_10"]
    assert [each.entry.text for each in merged(first, items, " Simple_1")] == ["simple_1", "simple", "simple_10"]


@pytest.mark.parametrize("cells", [59, 79, 159])
@pytest.mark.parametrize("text", ["pass", "x" * 200, "東京" * 60])
@pytest.mark.parametrize("argument", ["", "a.csv", "y" * 200])
def test_a_line_is_as_wide_as_the_screen(cells: int, text: str, argument: str) -> None:
    entry = Entry("export", text, "z" * 100, key="enter", wants="FILE")
    drawn = line_of(Match(entry, (0, 1), argument), cells)
    assert line_width(drawn) <= cells and plain(drawn).endswith(" export")
    assert line_width(drawn) == width(plain(drawn))

"""Saved filters are stored in a file, expanded in other filters, and reported if they are
invalid.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fcreview.store.filters.parser import FilterError, parse_filter
from fcreview.store.filters.saved import (
    MAX_SAVED_FILTERS,
    AnnotatorFilters,
    SavedFilterError,
    expand_saved_filters,
    find_filter_problem,
)
from fcreview.store.workspace import AnnotatorState

KNOWN = {
    "hard": "official:fail turns>=3",
    "either": "you:none OR stale",
    "old": "catgory:live",
    "mine": "you:any",
}


def open_filters(folder: Path, annotator: str = "alice") -> AnnotatorFilters:
    return AnnotatorFilters(AnnotatorState(folder, annotator))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("@hard", "official:fail turns>=3"),
        ("@hard category:live", "(official:fail turns>=3) category:live"),
        ("category:live -@either", "category:live -(you:none OR stale)"),
        ("(@mine OR @hard)", "((you:any) OR (official:fail turns>=3))"),
        ('"@hard"', '"@hard"'),
        ("tag:@hard", "tag:@hard"),
        ("@", "@"),
        ("you:none", "you:none"),
        ("", ""),
    ],
)
def test_name_is_replaced_by_its_filter(typed: str, meant: str) -> None:
    assert expand_saved_filters(typed, KNOWN) == meant
    parse_filter(meant)


@pytest.mark.parametrize(
    ("typed", "says", "at"),
    [
        ("you:none @hrd", "no saved filter @hrd (saved: @hard, @either", 9),
        ("stale @old", "@old: unknown key catgory: did you mean category:?", 6),
        ("@hard (stale", "unclosed parenthesis", 6),
    ],
)
def test_error_has_the_position_of_the_name(typed: str, says: str, at: int) -> None:
    with pytest.raises(FilterError) as caught:
        expand_saved_filters(typed, KNOWN)
    assert caught.value.message.startswith(says)
    assert caught.value.position == at


def test_saved_filter_reveals_no_verdicts_in_blind_mode() -> None:
    assert expand_saved_filters("@mine", KNOWN, blind=True) == "you:any"
    with pytest.raises(FilterError, match="@hard: official is hidden in blind mode"):
        expand_saved_filters("@hard", KNOWN, blind=True)
    assert find_filter_problem(KNOWN["hard"]) == "" and "hidden" in find_filter_problem(
        KNOWN["hard"], blind=True
    )


def test_filters_are_saved_replaced_and_deleted(tmp_path: Path) -> None:
    open_filters(tmp_path).save_filter("@hard", "official:fail")
    open_filters(tmp_path).save_filter("harder", "@hard turns>=3")
    open_filters(tmp_path, "bob").save_filter("his", "stale")
    assert open_filters(tmp_path).saved_filters == {
        "hard": "official:fail",
        "harder": "(official:fail) turns>=3",
    }
    open_filters(tmp_path).save_filter("hard", "rule:fail")
    assert open_filters(tmp_path).saved_filters["harder"] == "(official:fail) turns>=3"
    assert open_filters(tmp_path).delete_filter("hard") and not open_filters(
        tmp_path
    ).delete_filter("hard")
    assert list(open_filters(tmp_path).saved_filters) == ["harder"]
    assert sorted(each.name for each in tmp_path.rglob("*.json")) == ["alice.json", "bob.json"]


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "x" * 41, "a/b", "@", '"'])
def test_invalid_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SavedFilterError, match=r"invalid name\. Use"):
        open_filters(tmp_path).save_filter(name, "stale")
    assert list(tmp_path.iterdir()) == []


def test_invalid_filters_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(SavedFilterError, match="no filter"):
        open_filters(tmp_path).save_filter("all", " ")
    with pytest.raises(FilterError):
        open_filters(tmp_path).save_filter("bad", "catgory:live")
    open_filters(tmp_path).save_filter("n0", "stale")
    (tmp_path / "filters" / "alice.json").write_text(
        json.dumps({f"n{at}": "stale" for at in range(MAX_SAVED_FILTERS)})
    )
    with pytest.raises(SavedFilterError, match="500 saved filters"):
        open_filters(tmp_path).save_filter("more", "stale")
    open_filters(tmp_path).save_filter("n1", "you:any")
    assert open_filters(tmp_path).saved_filters["n1"] == "you:any"
    (tmp_path / "filters" / "carol.json").mkdir()
    with pytest.raises(SavedFilterError, match=r"carol\.json"):
        open_filters(tmp_path, "carol").save_filter("x", "stale")


@pytest.mark.parametrize(
    "content", [b"", b"[1]", b'{"a": 1, "b c": "stale", "ok": "stale"}', b"\xff{"]
)
def test_malformed_file_is_ignored(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "filters" / "alice.json"
    file.parent.mkdir()
    file.write_bytes(content)
    assert open_filters(tmp_path).saved_filters in ({}, {"ok": "stale"})


@pytest.mark.parametrize("text", ["item:7", "-item:7|8 official:fail", "ITEM:7"])
def test_item_numbers_are_neither_saved_nor_used_after_an_import(tmp_path: Path, text: str) -> None:
    filters = open_filters(tmp_path)
    with pytest.raises(SavedFilterError, match="cannot have item numbers"):
        filters.save_filter("mine", text)
    filters.add_recent_text("filter", text)
    filters.add_recent_text("search", text)
    assert filters.list_recent_texts("filter") == []
    assert filters.list_recent_texts("search") == [text]
    # Earlier versions saved such filters.
    with pytest.raises(FilterError, match="item number of an older import"):
        expand_saved_filters("@mine", {"mine": text})


def test_a_filter_with_the_word_item_is_saved(tmp_path: Path) -> None:
    filters = open_filters(tmp_path)
    filters.save_filter("words", '"item:7" OR id:item')
    assert expand_saved_filters("@words", filters.saved_filters)

"""Saved filters are stored in a file, expanded in other filters, and reported if they are invalid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fcreview.store.filters.parser import FilterError, parse_filter
from fcreview.store.filters.saved import (
    MAX_SAVED_FILTERS,
    SavedFilterError,
    delete_filter,
    expand_saved_filters,
    find_filter_problem,
    load_saved_filters,
    save_filter,
)
from fcreview.store.workspace import AnnotatorState

KNOWN = {"hard": "official:fail turns>=3", "either": "you:none OR stale", "old": "catgory:live", "mine": "you:any"}


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
    assert find_filter_problem(KNOWN["hard"]) == "" and "hidden" in find_filter_problem(KNOWN["hard"], blind=True)


def test_filters_are_saved_replaced_and_deleted(tmp_path: Path) -> None:
    save_filter(AnnotatorState(tmp_path, "alice"), "@hard", "official:fail")
    save_filter(AnnotatorState(tmp_path, "alice"), "harder", "@hard turns>=3")
    save_filter(AnnotatorState(tmp_path, "bob"), "his", "stale")
    assert load_saved_filters(AnnotatorState(tmp_path, "alice")) == {
        "hard": "official:fail",
        "harder": "(official:fail) turns>=3",
    }
    save_filter(AnnotatorState(tmp_path, "alice"), "hard", "rule:fail")
    assert load_saved_filters(AnnotatorState(tmp_path, "alice"))["harder"] == "(official:fail) turns>=3"
    assert delete_filter(AnnotatorState(tmp_path, "alice"), "hard") and not delete_filter(
        AnnotatorState(tmp_path, "alice"), "hard"
    )
    assert list(load_saved_filters(AnnotatorState(tmp_path, "alice"))) == ["harder"]
    assert sorted(each.name for each in tmp_path.rglob("*.json")) == ["alice.json", "bob.json"]


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "x" * 41, "a/b", "@", '"'])
def test_invalid_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SavedFilterError, match=r"invalid name\. Use"):
        save_filter(AnnotatorState(tmp_path, "alice"), name, "stale")
    assert list(tmp_path.iterdir()) == []


def test_invalid_filters_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(SavedFilterError, match="no filter"):
        save_filter(AnnotatorState(tmp_path, "alice"), "all", " ")
    with pytest.raises(FilterError):
        save_filter(AnnotatorState(tmp_path, "alice"), "bad", "catgory:live")
    save_filter(AnnotatorState(tmp_path, "alice"), "n0", "stale")
    (tmp_path / "filters" / "alice.json").write_text(json.dumps({f"n{at}": "stale" for at in range(MAX_SAVED_FILTERS)}))
    with pytest.raises(SavedFilterError, match="500 saved filters"):
        save_filter(AnnotatorState(tmp_path, "alice"), "more", "stale")
    save_filter(AnnotatorState(tmp_path, "alice"), "n1", "you:any")
    assert load_saved_filters(AnnotatorState(tmp_path, "alice"))["n1"] == "you:any"
    (tmp_path / "filters" / "carol.json").mkdir()
    with pytest.raises(SavedFilterError, match=r"carol\.json"):
        save_filter(AnnotatorState(tmp_path, "carol"), "x", "stale")


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"a": 1, "b c": "stale", "ok": "stale"}', b"\xff{"])
def test_malformed_file_is_ignored(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "filters" / "alice.json"
    file.parent.mkdir()
    file.write_bytes(content)
    assert load_saved_filters(AnnotatorState(tmp_path, "alice")) in ({}, {"ok": "stale"})

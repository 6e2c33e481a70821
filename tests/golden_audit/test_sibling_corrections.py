"""The correction of a golden answer is applied to its siblings where it fits."""

from __future__ import annotations

from fcreview.golden_audit.sibling_corrections import transfer_correction
from fcreview.golden_audit.siblings import format_golden_call
from fcreview.model.item import Call


def make_calls(*turns: str) -> list[Call]:
    """Return calls of functions with one letter each: `ab` is a turn with the calls `a` and `b`."""
    calls = []
    for turn, names in enumerate(turns):
        for index, name in enumerate(names):
            calls.append(Call("golden", name, arguments={}, turn=turn, index=index))
    return calls


def list_turns(calls: list[Call] | None, n_turns: int) -> list[str] | None:
    if calls is None:
        return None
    turns = [""] * n_turns
    for call in calls:
        assert call.index == len(turns[call.turn])
        turns[call.turn] += format_golden_call(call).removesuffix("()")
    return turns


def test_replaced_call_is_replaced_in_the_turn_of_the_sibling() -> None:
    calls = transfer_correction(make_calls("ab", "c"), make_calls("ax", "c"), make_calls("", "abc"))
    assert list_turns(calls, 2) == ["", "axc"]


def test_other_calls_of_the_sibling_stay() -> None:
    calls = transfer_correction(make_calls("abc"), make_calls("axc"), make_calls("qabc", "q"))
    assert list_turns(calls, 2) == ["qaxc", "q"]


def test_removed_and_inserted_calls() -> None:
    calls = transfer_correction(make_calls("abc"), make_calls("bcx"), make_calls("ab", "c"))
    assert list_turns(calls, 2) == ["b", "cx"]


def test_inserted_call_joins_the_call_of_its_turn() -> None:
    old, new = make_calls("a", "b"), make_calls("a", "xb")
    assert list_turns(transfer_correction(old, new, make_calls("a", "b")), 2) == ["a", "xb"]
    old, new = make_calls("a", "b"), make_calls("ax", "b")
    assert list_turns(transfer_correction(old, new, make_calls("a", "b")), 2) == ["ax", "b"]
    old, new = make_calls("a"), make_calls("xa")
    assert list_turns(transfer_correction(old, new, make_calls("", "a")), 2) == ["", "xa"]


def test_several_edits_are_applied() -> None:
    calls = transfer_correction(make_calls("abcd"), make_calls("xbyd"), make_calls("ab", "cd"))
    assert list_turns(calls, 2) == ["xb", "yd"]


def test_correction_does_not_fit_without_the_replaced_calls() -> None:
    assert transfer_correction(make_calls("ab"), make_calls("ax"), make_calls("ac")) is None


def test_correction_does_not_fit_if_another_call_is_between() -> None:
    assert transfer_correction(make_calls("abc"), make_calls("ax"), make_calls("abqc")) is None


def test_correction_does_not_fit_without_a_neighbour_of_inserted_calls() -> None:
    assert transfer_correction(make_calls("ab"), make_calls("abx"), make_calls("ac")) is None

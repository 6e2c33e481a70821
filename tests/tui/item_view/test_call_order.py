"""The labels of thousands of calls in a turn are made from one order of the turn, and name other
orders.
"""

from __future__ import annotations

from fcreview.model.item import CallPair
from fcreview.tui.item_view.blocks import find_call_order
from fcreview.tui.item_view.call_pairs import format_call_label


def make_pairs(*indexes: tuple[int | None, int | None]) -> list[CallPair]:
    return [
        CallPair(turn=0, golden=golden, predicted=predicted, name="f", state="=")
        for golden, predicted in indexes
    ]


def test_label_counts_the_calls_of_the_turn() -> None:
    order = find_call_order(make_pairs((0, 0), (1, 1), (None, 2)))
    assert [format_call_label(order, index) for index in range(3)] == [
        "call 1 of 3",
        "call 2 of 3",
        "call 3 of 3",
    ]


def test_label_names_golden_calls_in_another_order() -> None:
    order = find_call_order(make_pairs((0, 1), (1, 0), (None, 2)))
    labels = [format_call_label(order, index) for index in range(3)]
    assert labels == ["golden call 1 of 2", "golden call 2 of 2", "call 3 of 3"]


def test_number_of_a_golden_call_is_that_of_its_first_pair() -> None:
    order = find_call_order(make_pairs((None, 0), (3, 1), (2, None)))
    assert dict(order.number_by_golden_index) == {3: 2, 2: 3}

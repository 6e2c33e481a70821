"""What there is to settle: its order, what a settlement changes, and where it goes on."""

from __future__ import annotations

from fcreview.model.decision import Disagreement
from fcreview.tui.review.adjudication import CaseList

CALL = "turn:1/call:1"


def dispute(target: str = "item", criterion: str = "correct") -> Disagreement:
    return Disagreement(target, criterion, [], None)


def case_list() -> CaseList:
    return CaseList.from_disagreements([(7, dispute()), (7, dispute(CALL)), (3, dispute("response"))])


def test_parts_come_before_their_item_and_items_stay_in_order() -> None:
    assert [case.key for case in case_list().cases] == [
        (7, CALL, "correct"),
        (7, "item", "correct"),
        (3, "response", "correct"),
    ]


def test_a_call_that_is_settled_may_settle_its_item_and_a_new_dispute_stands_behind_them() -> None:
    made = case_list()
    made.update_item(7, [dispute(criterion="equivalent")])
    assert [(case.item, case.disagreement.criterion, case.resolved) for case in made.cases] == [
        (7, "correct", True),
        (7, "correct", True),
        (7, "equivalent", False),
        (3, "correct", False),
    ]
    assert made.n_resolved == 2
    assert made.at == 0
    made.update_item(7, [dispute(CALL), dispute()])  # undone
    assert [case.resolved for case in made.cases] == [False, False, True, False]


def test_it_goes_on_round_the_end_and_stops_when_all_is_settled() -> None:
    made = case_list()
    made.at = 2
    made.update_item(3, [])
    assert made.move_to_next_open()
    assert made.at == 0
    made.update_item(7, [])
    assert made.all_resolved
    assert not made.move_to_next_open()
    assert not made.step(-1)
    assert made.step(1)
    assert made.move_to((3, "response", "correct"))
    assert not made.move_to((3, "item", "correct"))


def test_nothing_to_settle() -> None:
    empty = CaseList.from_disagreements([])
    assert empty.case is None
    assert not empty.move_to_next_open()
    assert empty.all_resolved

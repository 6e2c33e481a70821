"""The list of disagreements: order, resolving and navigation."""

from __future__ import annotations

from fcreview.model.decision import Disagreement
from fcreview.tui.review.adjudication import CaseList

CALL = "turn:1/call:1"


def make_disagreement(target: str = "item", criterion: str = "correct") -> Disagreement:
    return Disagreement(target, criterion, [], None)


def make_case_list() -> CaseList:
    return CaseList.from_disagreements(
        [(7, make_disagreement()), (7, make_disagreement(CALL)), (3, make_disagreement("response"))]
    )


def test_parts_precede_their_item_and_items_keep_their_order() -> None:
    assert [case.key for case in make_case_list().cases] == [
        (7, CALL, "correct"),
        (7, "item", "correct"),
        (3, "response", "correct"),
    ]


def test_update_resolves_and_adds_disagreements_of_an_item() -> None:
    cases = make_case_list()
    cases.update_item_cases(7, [make_disagreement(criterion="equivalent")])
    assert [(case.item, case.disagreement.criterion, case.resolved) for case in cases.cases] == [
        (7, "correct", True),
        (7, "correct", True),
        (7, "equivalent", False),
        (3, "correct", False),
    ]
    assert cases.n_resolved == 2
    assert cases.at == 0
    # the adjudication was undone
    cases.update_item_cases(7, [make_disagreement(CALL), make_disagreement()])
    assert [case.resolved for case in cases.cases] == [False, False, True, False]


def test_next_open_case_wraps_around_until_all_are_resolved() -> None:
    cases = make_case_list()
    cases.at = 2
    cases.update_item_cases(3, [])
    assert cases.move_to_next_unresolved()
    assert cases.at == 0
    cases.update_item_cases(7, [])
    assert cases.are_all_resolved
    assert not cases.move_to_next_unresolved()
    assert not cases.step(-1)
    assert cases.step(1)
    assert cases.move_to((3, "response", "correct"))
    assert not cases.move_to((3, "item", "correct"))


def test_empty_list_is_resolved() -> None:
    empty = CaseList.from_disagreements([])
    assert empty.current is None
    assert not empty.move_to_next_unresolved()
    assert empty.are_all_resolved

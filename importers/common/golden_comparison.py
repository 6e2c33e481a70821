"""Compare predicted calls with golden calls exactly, and recompute the verdict on an item."""

from __future__ import annotations

from fcreview.matching.align import align_calls_by_turn
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.item import CallPair, Item, Verdict
from fcreview.model.review import CORRECT

ERROR_TYPE_BY_STATE = {"-": "missing_argument", "+": "extra_argument"}
"""State of the first different argument -> error type."""


def compare_with_golden_calls(item: Item, *, keep_order: bool = False) -> None:
    """Set the pairs, the first difference and the recomputed verdict of an item.

    The item has its golden and predicted calls. It passes if all calls equal the golden calls. A
    recomputed verdict that the item already has counts instead.
    """
    item.pairs = align_calls_by_turn(item.golden, item.predicted, keep_order=keep_order)
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    differing = _find_different_pair(item)
    item.rule = differing is None
    if differing is not None:
        item.rule_error_type = _choose_error_type(differing)
    if not _has_stated_verdict(item):
        verdict = Verdict("rule", item.rule, by="exact comparison")
        verdict.error_type = item.rule_error_type
        verdict.rationale = item.first_difference
        item.verdicts.append(verdict)


def _find_different_pair(item: Item) -> CallPair | None:
    for pair in item.pairs:
        if pair.state != "=":
            return pair
    return None


def _has_stated_verdict(item: Item) -> bool:
    return any(
        verdict.source == "rule" and verdict.criterion == CORRECT for verdict in item.verdicts
    )


def _choose_error_type(differing_pair: CallPair) -> str:
    if differing_pair.state == "-":
        return "missing_call"
    if differing_pair.state == "+":
        return "extra_call"
    if not differing_pair.diff or not differing_pair.diff[0].path:
        return "wrong_function"
    return ERROR_TYPE_BY_STATE.get(differing_pair.diff[0].state, "wrong_value")

"""Compare predicted calls with golden calls exactly, and recompute the verdict on an item."""

from __future__ import annotations

from fcreview.matching.align import align_calls_by_turn
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.item import CallPair, Item, Verdict
from fcreview.model.review import CORRECT

ERROR_TYPE_BY_STATE = {"-": "missing_argument", "+": "extra_argument"}
"""State of the first different argument -> error type."""


def compare_with_golden_calls(item: Item, *, keep_order: bool = False) -> None:
    """Compare the predicted calls of an item with its golden calls, for benchmarks without a
    checker of their own.

    The item passes if all calls are equal, in the same order if `keep_order`. Sets the pairs, the
    first difference and the recomputed verdict. A recomputed verdict that the files state is kept.
    """
    item.pairs = align_calls_by_turn(item.golden, item.predicted, keep_order=keep_order)
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)

    different_pair = _find_different_pair(item)
    item.rule = different_pair is None
    if different_pair is not None:
        item.rule_error_type = _choose_error_type(different_pair)
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
    """Return the error type of an item from the first pair of calls that differs."""
    if differing_pair.state == "-":
        return "missing_call"
    if differing_pair.state == "+":
        return "extra_call"
    if not differing_pair.diff or not differing_pair.diff[0].path:
        return "wrong_function"
    return ERROR_TYPE_BY_STATE.get(differing_pair.diff[0].state, "wrong_value")

"""Compare an item with the golden answer that annotators accepted, for display.

The item itself keeps the golden answer of the dataset, to which reviews and exports refer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fcreview.model.item import CallPair, Item, Run, Verdict
from fcreview.model.review import ITEM_CORRECT
from fcreview.store.rows import ItemDetail

GoldenComparer = Callable[[Run, Item, dict[str, Any]], Item | None]
"""Returns an item, compared with another golden answer, or None if that is not possible."""
CORRECTED_REASON = "with the corrected golden answer"


def compare_with_accepted_golden(detail: ItemDetail, compare: GoldenComparer) -> ItemDetail:
    """Return an item that is compared with the golden answer that annotators accepted, if any.

    The comparison is `corrected_item` of the result. `compare` compares an item with another golden
    answer, and returns None if its benchmark cannot do that.
    """
    decision = detail.golden
    if decision is None or not decision.counts or decision.golden_fix is None:
        return detail

    corrected = compare(detail.run, detail.item, decision.golden_fix)
    if corrected is None or _moves_parts_with_verdicts(detail, corrected):
        return detail

    # The recomputed verdict is the one with the accepted golden answer, which the row has.
    corrected.rule = detail.row.recomputed
    corrected.rule_error_type = None
    corrected.rule_note = None
    corrected.verdicts = [_correct_verdict(verdict, corrected) for verdict in corrected.verdicts]
    return replace(detail, corrected_item=corrected)


def _moves_parts_with_verdicts(detail: ItemDetail, corrected: Item) -> bool:
    """Whether verdicts on calls or arguments would refer to other calls in the corrected item.

    A corrected golden answer can pair the calls differently. Verdicts name a call by its position,
    so they would then stand beside another call. Reviews count as verdicts here.
    """
    targets = [verdict.target for verdict in detail.item.verdicts]
    targets += [opinion.target for opinion in detail.opinions]
    if not any("/call:" in target for target in targets):
        return False
    return _list_positions(detail.item.pairs) != _list_positions(corrected.pairs)


def _list_positions(pairs: Sequence[CallPair]) -> list[tuple[int, int | None, int | None]]:
    return [(pair.turn, pair.golden, pair.predicted) for pair in pairs]


def _correct_verdict(verdict: Verdict, corrected: Item) -> Verdict:
    """Return the recomputed verdict on the item with the corrected golden answer. Other verdicts
    stay, because they are facts of the run.
    """
    is_recomputed = verdict.source == "rule"
    if not is_recomputed or (verdict.target, verdict.criterion) != ITEM_CORRECT:
        return verdict
    reason = CORRECTED_REASON
    if corrected.rule is False and corrected.first_difference:
        reason = f"{reason}: {corrected.first_difference}"
    return replace(verdict, value=corrected.rule, error_type=None, rationale=reason)

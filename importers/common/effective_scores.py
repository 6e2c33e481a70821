"""Scores and verdicts of items for metrics, with what follows from reviews."""

from __future__ import annotations

from dataclasses import replace

from fcreview.importers.common.records import is_number
from fcreview.model.address import ITEM
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT


def get_effective_score(item: ScoredItem, benchmark: str, criterion: str) -> float | None:
    """Return the score on a criterion of an item, with reviews of other criteria."""
    derived = item.derive_verdict(benchmark, ITEM, criterion)
    score = item.values.get(criterion) if derived is None else derived
    return float(score) if is_number(score) else None


def apply_derived_verdict(item: ScoredItem, benchmark: str) -> ScoredItem:
    """Return an item with the verdict that follows from overrides of its other criteria."""
    verdict = item.derive_verdict(benchmark, *ITEM_CORRECT)
    return item if verdict is None else replace(item, valid=verdict)

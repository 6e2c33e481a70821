"""Golden answers that annotators write for sessions, in the form of the generic format."""

from __future__ import annotations

from typing import Any

from fcreview.importers.generic_format import writeback
from fcreview.matching.align import align_calls_by_turn
from fcreview.model.item import Call, Item, Run


def check_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
    """Return the first error of a golden answer, or None if it is valid."""
    return writeback.check_golden_fix(run, item, golden_fix)


def make_golden_template(run: Run, item: Item) -> dict[str, Any] | None:
    """Return an empty golden answer: sessions have none of their own."""
    return writeback.make_golden_template(run, item)


def parse_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> list[Call]:
    return writeback.parse_golden_fix(run, item, golden_fix)


def recompute_verdict(run: Run, item: Item, golden_fix: dict[str, Any]) -> bool:
    """Return whether the calls of a session equal those of a golden answer."""
    golden = parse_golden_fix(run, item, golden_fix)
    pairs = align_calls_by_turn(golden, item.predicted)
    return all(pair.state == "=" for pair in pairs)

"""Summarize a queue in which the annotator has reviewed every item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fcreview.model.address import ITEM
from fcreview.model.review import CORRECT, UNSURE
from fcreview.model.wording import format_count
from fcreview.store.rows import View

if TYPE_CHECKING:
    from fcreview.store.store import Store

MAX_SUMMARY_ITEMS = 5_000
"""Largest number of items that the summary counts."""


def summarize_queue(
    store: Store, view: View, reviewed: Mapping[int, str], pace: str, annotator: str, *, blind: bool
) -> list[str]:
    """Return the lines of the summary: verdicts, pace, and agreement with other annotators unless review is blind.

    Args:
        view: The queue. If its filter selects no reviewed items, the items of this session are counted instead.
        reviewed: Number and id of each item reviewed in this session.
        pace: Pace of the session, such as `30 reviewed · 4.1 s/item`.
    """
    rows = [row for row in store.fetch_page(view, 0, MAX_SUMMARY_ITEMS) if row.you is not None]
    if not rows and reviewed:
        view = View(f"item:{','.join(map(str, reviewed))}", "dataset")
        rows = store.fetch_page(view, 0, MAX_SUMMARY_ITEMS)
        rows = [row for row in rows if row.you is not None and row.id == reviewed[row.item]]
    counts = {"pass": 0, "fail": 0, "unsure": 0}
    for row in rows:
        counts["unsure" if row.you == UNSURE else "pass" if row.you else "fail"] += 1
    items = format_count(len(rows), "item")
    lines = [f"{items} reviewed: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()), pace]
    if not blind and (agreement := _format_agreement(store, view, annotator)):
        lines.append(agreement)
    return [line for line in lines if line]


def _format_agreement(store: Store, view: View, annotator: str) -> str:
    """Return the number of items on which the annotator and all other annotators agree, as text.

    Empty if no other annotator gave a verdict on an item.
    """
    verdicts: dict[int, dict[str, object]] = {}
    for rating in store.analysis.fetch_ratings(view):
        if rating.target == ITEM and rating.criterion == CORRECT and rating.value != UNSURE:
            verdicts.setdefault(rating.item, {})[rating.annotator] = rating.value
    shared = [each for each in verdicts.values() if annotator in each and len(each) > 1]
    equal = sum(len(set(each.values())) == 1 for each in shared)
    if not shared:
        return ""
    return f"all annotators agree on {equal:,} of {format_count(len(shared), 'shared item')}"

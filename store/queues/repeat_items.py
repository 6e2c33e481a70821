"""Prepare hidden duplicates: items that an annotator reviews twice, without seeing the first review the second time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fcreview.model.decision import decide
from fcreview.store.queries.item_order import hide_row_verdicts
from fcreview.store.rows import decode_item, decode_repetition

if TYPE_CHECKING:
    from fcreview.store.reviews.review_tables import ReviewTables
    from fcreview.store.rows import ItemDetail, QueueRow


def restrict_row_to_repetition(row: QueueRow, item_number: int, reviews: ReviewTables, *, blind: bool) -> QueueRow:
    """Return the row of a hidden duplicate with the second review only. Other rows are returned unchanged."""
    if decode_repetition(item_number) == 1:
        return row
    key, prediction_hash, golden_hash = reviews.key_and_hashes(decode_item(item_number))
    opinions = reviews.events.opinions_of_annotator(key, reviews.annotator or "", prediction_hash, golden_hash, 2)
    second = decide(opinions, reviews.roll_up_context(row.item), reviews.annotator)[0] if opinions else None
    row = replace(
        row, item=item_number, you=second and second.mine, your_parts=second.n_my_part_verdicts if second else 0
    )
    if row.you is None:
        row.human = row.effective = None
        row.parts = row.your_parts
        if blind:
            hide_row_verdicts(row)
    return row


def restrict_detail_to_repetition(detail: ItemDetail, reviews: ReviewTables) -> ItemDetail:
    """Remove this annotator's first review from a hidden duplicate. Other items are returned unchanged."""
    presentation = decode_repetition(detail.row.item)
    if presentation == 1:
        return detail
    detail.presentation = presentation
    annotator, item = reviews.annotator or "", detail.item
    second = reviews.events.opinions_of_annotator(
        detail.key, annotator, item.prediction_hash, item.golden_hash, presentation
    )
    detail.opinions = [opinion for opinion in detail.opinions if opinion.annotator != annotator] + second
    detail.history = [e for e in detail.history if e.annotator != annotator or e.presentation == presentation]
    return detail

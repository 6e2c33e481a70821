"""An item that comes to an annotator a second time: what they said the first time neither shows nor counts there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fcreview.model.decision import decide
from fcreview.store.queries.item_order import hide_row_verdicts
from fcreview.store.rows import item_of, presentation_of

if TYPE_CHECKING:
    from fcreview.store.reviews.review_tables import ReviewTables
    from fcreview.store.rows import ItemDetail, QueueRow


def restrict_row_to_repetition(row: QueueRow, item_number: int, reviews: ReviewTables, *, blind: bool) -> QueueRow:
    """The row of the item as it is for this presentation."""
    if presentation_of(item_number) == 1:
        return row
    key, prediction_hash, golden_hash = reviews.key_and_hashes(item_of(item_number))
    said = reviews.events.opinions_by(key, reviews.annotator or "", prediction_hash, golden_hash, 2)
    own = decide(said, reviews.roll_up_context(row.item), reviews.annotator)[0] if said else None
    row = replace(row, item=item_number, you=own.you if own else None, your_parts=own.your_parts if own else 0)
    if row.you is None:
        row.human = row.effective = None
        row.parts = row.your_parts
        if blind:
            hide_row_verdicts(row)
    return row


def restrict_detail_to_repetition(detail: ItemDetail, reviews: ReviewTables) -> ItemDetail:
    """Of this annotator only what was said at this presentation."""
    presentation = presentation_of(detail.row.item)
    if presentation == 1:
        return detail
    detail.presentation = presentation
    me, item = reviews.annotator or "", detail.item
    mine = reviews.events.opinions_by(detail.key, me, item.prediction_hash, item.golden_hash, presentation)
    detail.opinions = [opinion for opinion in detail.opinions if opinion.annotator != me] + mine
    detail.history = [e for e in detail.history if e.annotator != me or e.presentation == presentation]
    return detail

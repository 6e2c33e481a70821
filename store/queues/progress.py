"""How far annotators are with their shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.agreement.held import held
from fcreview.review import OWN

if TYPE_CHECKING:
    from fcreview.review import ItemKey
    from fcreview.store.queues.places import QueuePlaces
    from fcreview.store.reviews.tables import ReviewTables


@dataclass(frozen=True, slots=True)
class Progress:
    """Of one annotator."""

    annotator: str
    done: int
    total: int
    """Of what they are shown: an item that comes twice is two."""
    missing: int
    """Of the queue, but not in the store any more."""

    @property
    def said(self) -> str:
        """`12 of 80`"""
        return f"{self.done:,} of {self.total:,}"


def progress(name: str, places: QueuePlaces, reviews: ReviewTables, only: str | None = None) -> list[Progress]:
    """Of every annotator of the queue, or of one. What has a verdict on the answer that is now there is done."""
    queue, items = places.take(name), places.items(name)
    found = []
    for share in queue.shares:
        if only not in (None, share.annotator):
            continue
        done, repeats = 0, set(share.repeats)
        for place, at in enumerate(share.order):
            item, key = items[at], queue.items[at].key
            if item is not None and reviews.said.spoke(key, share.annotator):
                done += _decided(key, item, share.annotator, reviews, 2 if place in repeats else 1)
        missing = sum(items[at] is None for at in share.order)
        found.append(Progress(share.annotator, done, len(share.order) - missing, missing))
    return found


def _decided(key: ItemKey, item: int, annotator: str, reviews: ReviewTables, presentation: int) -> bool:
    there = next((each for each in reviews.references(key) if each.item == item), None)
    if there is None:
        return False
    mine = reviews.said.answers(key, annotator, there.prediction_hash, there.golden_hash, presentation)
    return annotator in held(mine, reviews.build(item))[OWN].verdicts

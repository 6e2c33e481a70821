"""Record the reviews of one annotator. A review is on disk before any query returns it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fcreview.model.verdict import find_contradicted_verdict
from fcreview.store.database import StoreError
from fcreview.store.rows import decode_item, decode_repetition

if TYPE_CHECKING:
    from fcreview.model.review import Annotation, Event
    from fcreview.store.reviews.journal import Journal
    from fcreview.store.rows import ItemDetail
    from fcreview.store.store import Store


class Reviewer:
    """Appends an annotator's reviews to their journal and updates the store's review tables."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal
        self.queue: str | None = None  # Name of the open queue file, or None. It is recorded in each review.

    def with_store(self, store: Store) -> Reviewer:
        """Return a reviewer with the same journal for another store of the workspace."""
        reviewer = Reviewer(store, self._journal)
        reviewer.queue = self.queue
        return reviewer

    @property
    def annotator(self) -> str:
        return self._journal.annotator

    def review(self, item: int, annotation: Annotation, detail: ItemDetail | None = None) -> Event:
        """Write a review of an item (`QueueRow.item`). The event is on disk when this returns.

        In blind mode, and on a hidden duplicate, reviews count as blind until the annotator has submitted a verdict. A
        verdict that overrides a visible automatic verdict records that verdict. `detail` is the item as the annotator
        saw it; without it, and in blind mode, the database is queried.

        Raises JournalError if the review could not be saved; KeyError if the item does not exist.
        """
        if detail is None or detail.row.item != item or self._store.blind:
            circumstances, annotation = self._query_circumstances(item, annotation)
        else:
            circumstances = {
                "key": detail.key,
                "prediction_hash": detail.item.prediction_hash,
                "golden_hash": detail.item.golden_hash,
                "blind": False,
                "presentation": detail.presentation,
            }
            if annotation.verdict is not None and annotation.overrules is None:
                annotation = replace(annotation, overrules=find_contradicted_verdict(detail.item, annotation))
        event = self._journal.append(annotation=annotation, queue=self.queue, **circumstances)
        with self._store.lock:
            self._store.reviews.add([event])
        return event

    def _query_circumstances(self, item: int, annotation: Annotation) -> tuple[dict[str, Any], Annotation]:
        """Return the keyword arguments of `Journal.append`, and the annotation with the verdict that it overrides."""
        with self._store.lock:
            reviews, number, presentation = self._store.reviews, decode_item(item), decode_repetition(item)
            key, prediction_hash, golden_hash = reviews.key_and_hashes(number)
            blind = self._store.blind and not reviews.has_seen_verdicts(number, self.annotator, presentation)
            if not blind and annotation.verdict is not None and annotation.overrules is None:
                annotation = replace(
                    annotation, overrules=self._store.find_overridden_verdicts([(number, annotation)])[0]
                )
        hashes = {"prediction_hash": prediction_hash, "golden_hash": golden_hash}
        recorded_presentation = presentation if presentation > 1 else None
        return {"key": key, **hashes, "blind": blind, "presentation": recorded_presentation}, annotation

    def review_in_bulk(self, items: Iterable[int], annotation: Annotation) -> list[Event]:
        """Write one bulk review of the items that this annotator has not reviewed. The events are on disk when this
        returns. Raises StoreError in blind mode; JournalError if the reviews could not be saved."""
        if self._store.blind:
            raise StoreError("bulk review is not available in blind mode")
        with self._store.lock:
            self._store.reviews.refresh()
            reviews = self._store.reviews.items.find_unreviewed(items)
            overridden = self._store.find_overridden_verdicts([(item, annotation) for item, *_ in reviews])
        subjects = [
            (key, prediction_hash, golden_hash, replace(annotation, overrules=overrides))
            for (_, key, prediction_hash, golden_hash), overrides in zip(reviews, overridden, strict=True)
        ]
        events = self._journal.append_bulk(subjects, queue=self.queue)
        with self._store.lock:
            self._store.reviews.add(events)
        return events

    def undo(self) -> list[Event]:
        """Retract this annotator's latest review, with its bulk review, and return the retracted events."""
        with self._store.lock:
            self._store.reviews.refresh()
            events = self._store.reviews.events.last_reviews(self.annotator)
        retractions = self._journal.retract(*events)
        with self._store.lock:
            self._store.reviews.add(retractions)
        return events

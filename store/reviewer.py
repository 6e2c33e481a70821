"""Record the reviews of one annotator. Each review is on disk before queries return it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fcreview.model.effective_verdict import find_overridden_verdict
from fcreview.store.database import StoreError
from fcreview.store.rows import SECOND_PRESENTATION, is_hidden_duplicate, strip_duplicate_mark

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
        self.queue: str | None = (
            None  # Name of the open queue file, or None. It is recorded in each review.
        )

    def with_store(self, store: Store) -> Reviewer:
        """Return a reviewer with the same journal for another open store of the workspace."""
        reviewer = Reviewer(store, self._journal)
        reviewer.queue = self.queue
        return reviewer

    @property
    def annotator(self) -> str:
        return self._journal.annotator

    def review(self, item: int, annotation: Annotation, detail: ItemDetail | None = None) -> Event:
        """Write a review of an item to the annotator's journal. It is on disk when this returns.

        In blind mode, a review counts as blind until the annotator has submitted a verdict. If the
        verdict overrides a visible automatic verdict, the review records that one.

        Raises JournalError if the review could not be saved; KeyError if the item does not exist.

        Args:
            item: Number of the item (`QueueRow.item`).
            annotation: What the annotator decided.
            detail: The item as the annotator saw it. Without it, and in blind mode, the database is
                queried.
        """
        fields, annotation = self._complete_review(item, annotation, detail)
        event = self._journal.append(annotation=annotation, queue=self.queue, **fields)
        with self._store.lock:
            self._store.reviews.add_new_journal_events()
        return event

    def review_with_siblings(
        self,
        item: int,
        annotation: Annotation,
        sibling_fixes: Iterable[tuple[int, Annotation]],
        detail: ItemDetail | None = None,
    ) -> list[Event]:
        """Write a review of an item, and the golden fixes of siblings of its question. Either all
        are on disk when this returns, or none. One undo retracts all.

        Return the review, and then the fixes. Each fix is for the question of an item.

        Raises StoreError in blind mode; JournalError and KeyError like `review`.
        """
        if self._store.blind:
            raise StoreError("golden fixes of siblings are not available in blind mode")
        fields, annotation = self._complete_review(item, annotation, detail)
        review = self._journal.make_event(annotation=annotation, queue=self.queue, **fields)
        fixes = [
            self._make_sibling_fix(sibling, fix, review.event) for sibling, fix in sibling_fixes
        ]
        events = self._journal.extend([review, *fixes])
        with self._store.lock:
            self._store.reviews.add_new_journal_events()
        return events

    def _complete_review(
        self, item: int, annotation: Annotation, detail: ItemDetail | None
    ) -> tuple[dict[str, Any], Annotation]:
        """Return the further fields of a review, and its annotation with the automatic verdict that
        it overrides. See `review` for the arguments.
        """
        # A blind detail lacks the automatic verdicts, so that the store must say which one counts.
        if detail is None or detail.row.item != item or self._store.blind:
            return self._fetch_fields_and_override(item, annotation)
        fields = {
            "key": detail.key,
            "prediction_hash": detail.item.prediction_hash,
            "golden_hash": detail.item.golden_hash,
            "blind": False,
            "presentation": detail.presentation,
        }
        if annotation.verdict is not None and annotation.overrules is None:
            overridden = find_overridden_verdict(detail.item, annotation)
            annotation = replace(annotation, overrules=overridden)
        return fields, annotation

    def _make_sibling_fix(self, item: int, fix: Annotation, review_id: str) -> Event:
        """Return the event that corrects the golden answer of a sibling question. Undoing the
        review with the id `review_id` retracts this event too.
        """
        with self._store.lock:
            key, prediction_hash, golden_hash = self._store.reviews.fetch_key_and_hashes(item)
        return self._journal.make_event(
            key,
            fix,
            prediction_hash=prediction_hash,
            golden_hash=golden_hash,
            blind=False,
            queue=self.queue,
            bulk=review_id,
        )

    def _fetch_fields_and_override(
        self, item: int, annotation: Annotation
    ) -> tuple[dict[str, Any], Annotation]:
        """Return the further fields of a review, and its annotation with the automatic verdict that
        it overrides.

        The fields are the key and the hashes of the item, whether the annotator was blind, and
        which presentation of the item was reviewed.
        """
        # The store has an item and its hidden duplicate under one number. Only the reviews of the
        # two are kept apart.
        number_in_store = strip_duplicate_mark(item)
        presentation = SECOND_PRESENTATION if is_hidden_duplicate(item) else None
        with self._store.lock:
            reviews = self._store.reviews
            key, prediction_hash, golden_hash = reviews.fetch_key_and_hashes(number_in_store)
            blind = self._store.blind and not reviews.has_seen_verdicts(item, self.annotator)
            # A blind annotator does not know the verdict, so that the review overrides none.
            if not blind:
                annotation = self._add_overridden_verdict(number_in_store, annotation)
        fields = {
            "key": key,
            "prediction_hash": prediction_hash,
            "golden_hash": golden_hash,
            "blind": blind,
            "presentation": presentation,
        }
        return fields, annotation

    def _add_overridden_verdict(self, item: int, annotation: Annotation) -> Annotation:
        """Return the annotation with the automatic verdict that it overrides, unless it has no
        verdict or already states the overridden one. Needs the lock of the store.
        """
        if annotation.verdict is None or annotation.overrules is not None:
            return annotation
        (overridden,) = self._store.find_overridden_verdicts([(item, annotation)])
        return replace(annotation, overrules=overridden)

    def review_in_bulk(self, items: Iterable[int], annotation: Annotation) -> list[Event]:
        """Write one bulk review of those items that this annotator has not reviewed. The events are
        on disk when this returns. Raises StoreError in blind mode; JournalError if the reviews
        could not be saved.
        """
        if self._store.blind:
            raise StoreError("bulk review is not available in blind mode")
        with self._store.lock:
            self._store.reviews.add_new_journal_events()
            unreviewed = self._store.reviews.items.find_unreviewed_items(items)
            overridden = self._store.find_overridden_verdicts(
                [(each.item, annotation) for each in unreviewed]
            )
        annotations = [replace(annotation, overrules=verdict) for verdict in overridden]
        events = self._journal.append_bulk_review(
            zip(unreviewed, annotations, strict=True), queue=self.queue
        )
        with self._store.lock:
            self._store.reviews.add_new_journal_events()
        return events

    def undo(self) -> list[Event]:
        """Retract this annotator's latest review (all reviews of a bulk review), and return the
        retracted events.
        """
        with self._store.lock:
            self._store.reviews.add_new_journal_events()
            events = self._store.reviews.events.find_latest_reviews(self.annotator)
        self._journal.retract(*events)
        with self._store.lock:
            self._store.reviews.add_new_journal_events()
        return events

"""One annotator reviewing: an act is on disk before it shows, and shows at once everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fcreview.store.rows import item_of, presentation_of

if TYPE_CHECKING:
    from fcreview.model.review import Event, Said
    from fcreview.store.reviews.journal import Journal
    from fcreview.store.store import Store


class Reviewer:
    """Writes an annotator's acts to their journal and keeps the store's review tables in step."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal
        self.queue: str | None = None
        """The queue file that items are found in: reviews name it."""

    def on(self, store: Store) -> Reviewer:
        """The same annotator on another store of the same workspace."""
        reviewer = Reviewer(store, self._journal)
        reviewer.queue = self.queue
        return reviewer

    @property
    def annotator(self) -> str:
        return self._journal.annotator

    def review(self, item: int, annotation: Said) -> Event:
        """Says something of an item of the store (`QueueRow.item`). It is blind in blind mode, until the annotator has
        decided on the item: then what others found is shown. When it comes a second time that is hidden again, and
        what is said is blind until they have decided there.

        A verdict that contradicts the benchmark's own on this target and criterion names it, if it was in sight.
        When this returns, the event is on disk. JournalError if it could not be saved, KeyError if there is no such
        item.
        """
        with self._store.lock:
            reviews, number, presentation = self._store.reviews, item_of(item), presentation_of(item)
            key, prediction_hash, golden_hash = reviews.key_and_hashes(number)
            blind = self._store.blind and not reviews.has_seen_verdicts(number, self.annotator, presentation)
            if not blind and annotation.verdict is not None and annotation.overrules is None:
                annotation = replace(annotation, overrules=self._store.overruled([(number, annotation)])[0])
        event = self._journal.append(
            key,
            annotation,
            prediction_hash=prediction_hash,
            golden_hash=golden_hash,
            blind=blind,
            queue=self.queue,
            presentation=presentation if presentation > 1 else None,
        )
        with self._store.lock:
            self._store.reviews.add([event])
        return event

    def undo(self) -> Event | None:
        """Takes back this annotator's latest act that still stands, of whichever session; returns it, or None."""
        with self._store.lock:
            self._store.reviews.refresh()
            event = self._store.reviews.last_act(self.annotator)
        if event is None:
            return None
        retraction = self._journal.retract(event)
        with self._store.lock:
            self._store.reviews.add([retraction])
        return event

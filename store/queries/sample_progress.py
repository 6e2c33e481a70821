"""Determine which items of a random sample annotators have reached.

The same rule applies to reviews recorded in the app, with `label` and with `import-labels`. Annotators review their
share of the sample in random order. All items up to the last item that was reviewed after the queue was created count
as reached. A reached item without a verdict was skipped. Later items do not count yet, even with an older verdict,
because the items with older reviews may not be a random selection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from fcreview.model.decision import is_stale
from fcreview.model.review import UNSURE

if TYPE_CHECKING:
    from fcreview.model.review import Event
    from fcreview.stats.posterior import SampleOutcome
    from fcreview.store.queues.queue_file import QueueFile, QueueItem
    from fcreview.store.reviews.review_index import EventIndex

ContentKey = str
"""An item's key fields and hashes as a JSON list, the same in every copy of the workspace."""
_SECONDS = len("2026-01-31T12:00:00")


def to_content_key(*parts: str | None) -> ContentKey:
    """Join key fields, prediction hash and golden hash to a content key."""
    return orjson.dumps([part or "" for part in parts]).decode()


def sampled_keys(queue: QueueFile) -> list[ContentKey]:
    """Return the content key of each drawn item, in the order of the file."""
    return [to_content_key(*item.key, item.prediction_hash, item.golden_hash) for item in queue.items]


def find_sample_outcomes(
    queues: Sequence[QueueFile], events: EventIndex, decisions: Mapping[ContentKey, SampleOutcome]
) -> dict[ContentKey, SampleOutcome]:
    """Return content key -> outcome, for each drawn item that annotators have reached.

    Args:
        queues: Queue files.
        events: Reviews of all annotators.
        decisions: Outcome by item, for items with a resolved verdict or a disagreement.
    """
    outcomes: dict[ContentKey, SampleOutcome] = {}
    for queue in queues:
        keys = sampled_keys(queue)
        verdicts = [_current_verdicts(item, events) for item in queue.items]
        for at in _find_reached_items(queue, verdicts):
            is_unsure = any(each.verdict == UNSURE for each in verdicts[at])
            outcomes[keys[at]] = decisions.get(keys[at], "unsure" if is_unsure else "skipped")
    return outcomes


def _find_reached_items(queue: QueueFile, verdicts: Sequence[Sequence[Event]]) -> set[int]:
    """Return the indexes of the reached items. `verdicts`: current verdicts on each drawn item."""
    if all(verdicts):
        return set(range(len(queue.items)))
    owners = {share.annotator for share in queue.shares}
    reached: set[int] = set()
    for share in queue.shares:
        last = 0
        for position, at in enumerate(share.order, 1):
            is_reviewed = any(
                (each.queue == queue.name or each.time[:_SECONDS] >= queue.created[:_SECONDS])
                and (each.annotator == share.annotator or each.annotator not in owners)
                for each in verdicts[at]
            )
            if is_reviewed and position - 1 not in share.repeats:
                last = position
        reached.update(share.order[:last])
    return reached


def _current_verdicts(item: QueueItem, events: EventIndex) -> list[Event]:
    """Return the individual reviews with a verdict on an item or its parts that are neither stale nor retracted."""
    hashes = item.prediction_hash, item.golden_hash
    return [
        event
        for event in events.events_on(item.key, *hashes)
        if event.verdict is not None
        and not event.presentation
        and not event.bulk
        and (event.event, event.annotator) not in events.retracted
        and not is_stale(event, *hashes)
    ]

"""Every event of the journals in memory, by what it is about: what somebody said, in which order, and what stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fcreview.opinions import fold, is_stale, last_act, retractions
from fcreview.review import Event, ItemKey, Opinion
from fcreview.store.reviews.references import References


class Events:
    """Events, each once. `references` tells the items that share a key."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._events: dict[str, Event] = {}
        self.by_key: dict[ItemKey, list[Event]] = {}
        self.retracted: set[tuple[str, str]] = set()
        """(event, annotator)"""

    def __len__(self) -> int:
        return len(self._events)

    def register(self, events: Iterable[Event]) -> list[Event]:
        """Those that are new."""
        fresh = [event for event in events if event.event not in self._events]
        for event in fresh:
            self._events[event.event] = event
            self.by_key.setdefault(event.key, []).append(event)
        self.retracted |= retractions(fresh)
        return fresh

    def in_order(self, key: ItemKey) -> None:
        """As journals are read: one after the other."""
        self.by_key[key].sort(key=lambda event: f"{event.annotator}.jsonl")

    def about(self, key: ItemKey, prediction_hash: str, golden_hash: str) -> list[Event]:
        """Events on this item. Where runs of one model share a key, each gets those on its own answer; what is about
        another run's answer is not shown here as stale."""
        events = self.by_key.get(key, [])
        references = self._references.of(key)
        if len(references) < 2:
            return events
        others = [other for other in references if other[1:] != (prediction_hash, golden_hash)]
        return [
            event
            for event in events
            if not is_stale(event, prediction_hash, golden_hash)
            or all(is_stale(event, other.prediction_hash, other.golden_hash) for other in others)
        ]

    def opinions(self, key: ItemKey, prediction_hash: str = "", golden_hash: str = "") -> list[Opinion]:
        """What everybody now thinks of one item and its parts."""
        return fold(self.about(key, prediction_hash, golden_hash), self.retracted, prediction_hash, golden_hash)

    def history(self, key: ItemKey) -> list[Event]:
        """Every event on one key, retractions and retracted ones included, by time."""
        return sorted(self.by_key.get(key, ()), key=lambda event: event.time)

    def last_act(self, annotator: str) -> Event | None:
        """The annotator's latest act that was not retracted."""
        return last_act(self._events.values(), annotator, self.retracted)

    def tags(self, annotator: str | None = None) -> list[str]:
        """Tags of what was not taken back, of everybody or of one annotator, most used first."""
        counts = Counter(
            tag
            for event in self._events.values()
            if annotator in (None, event.annotator) and (event.event, event.annotator) not in self.retracted
            for tag in event.tags or ()
        )
        return sorted(counts, key=lambda tag: (-counts[tag], tag))

    def spoke(self, key: ItemKey, annotator: str) -> bool:
        """Whether the annotator ever said anything of the item."""
        return any(event.annotator == annotator for event in self.by_key.get(key, ()))

    def drawn_in(self, key: ItemKey, prediction_hash: str, golden_hash: str) -> set[str]:
        """The queue files that put the item before people when they gave verdicts that stand."""
        return {
            event.queue
            for event in self.about(key, prediction_hash, golden_hash)
            if event.queue
            and event.verdict is not None
            and not event.presentation
            and (event.event, event.annotator) not in self.retracted
            and not is_stale(event, prediction_hash, golden_hash)
        }

    def answers(
        self, key: ItemKey, annotator: str, prediction_hash: str = "", golden_hash: str = "", presentation: int = 1
    ) -> list[Opinion]:
        """What one annotator says of the item where it came the first (1) or the second time (2)."""
        mine = [e for e in self.about(key, prediction_hash, golden_hash) if e.annotator == annotator]
        return fold(mine, self.retracted, prediction_hash, golden_hash, presentation)

    def asked_again(self, key: ItemKey) -> list[str]:
        """Who said something of the item when it came to them the second time."""
        return sorted({event.annotator for event in self.by_key.get(key, ()) if event.presentation})

    def both_answers(
        self, key: ItemKey, annotator: str, prediction_hash: str, golden_hash: str
    ) -> tuple[list[Opinion], list[Opinion]]:
        """What one annotator held when the item came the second time, and what they said then; nothing stale."""
        about = self.about(key, prediction_hash, golden_hash)
        mine = [event for event in about if event.annotator == annotator]  # as the journal has them: clocks go back
        again = next((at for at, event in enumerate(mine) if event.presentation), len(mine))
        first = fold(mine[:again], self.retracted, prediction_hash, golden_hash)
        second = fold(mine, self.retracted, prediction_hash, golden_hash, presentation=2)
        return [o for o in first if not o.stale], [o for o in second if not o.stale]

"""Which items of the store a review is about, and what the roll-up must know of them.

Every event of the journals in memory, by what it is about: what somebody said, in which order, and what stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from fcreview.model.decision import ROLL_UP_CRITERIA, fold_events, is_stale, find_last_event, find_retracted_events
from fcreview.model.review import Event, ItemKey, Opinion
from fcreview.model.verdict import SCORING_ORDER, RollUpContext
from fcreview.store.reviews.verdict_sql import AUTOMATIC_VERDICT

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class ItemReference(NamedTuple):
    """An item that a key names, as it is in the store now."""

    item: int
    prediction_hash: str
    golden_hash: str


@dataclass(slots=True)
class ItemParts:
    """What is known of the parts of one item."""

    pairs: dict[int, int]
    """Call pairs by turn, from 0."""
    verdicts: dict[tuple[str, str, str], str]
    """Automatic verdicts as JSON text by target, criterion and source."""
    needs: list[list[str]] | None = None
    """See `fcreview.model.item.Extra.needs`."""
    item_verdict: bool | None = None
    """What the benchmark says of the item itself."""

    def roll_up_context(self) -> RollUpContext:
        own: dict[str, Any] = {}
        for criterion in reversed(ROLL_UP_CRITERIA):
            for source in reversed(SCORING_ORDER):
                said = [(t, text) for (t, c, by), text in self.verdicts.items() if (c, by) == (criterion, source)]
                own.update({target: text == "true" for target, text in said if text in ("true", "false")})
        return RollUpContext(self.pairs, own, self.needs, self.item_verdict)


# Not through the views `pairs` and `verdicts`: those take every item apart before one is chosen.
_PAIRS = "SELECT item, p.turn, count(*) FROM (SELECT item, unnest(pairs) AS p {chosen}) GROUP BY item, p.turn"
_VERDICTS = (
    "SELECT item, v.target, v.criterion, v.source, CAST(v.value AS VARCHAR)"
    " FROM (SELECT item, unnest(verdicts) AS v {chosen})"
)
_CHOSEN = "FROM item_rows WHERE item IN ({items})"
_WHOLE = f"SELECT i.item, CAST(i.extra->'$.needs' AS VARCHAR), {AUTOMATIC_VERDICT} FROM item_rows i WHERE i.item IN ({{items}})"
_NO_PARTS = ItemParts({}, {})


class ItemIndex:
    """Finds items by key, and keeps what it found."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self._found: dict[ItemKey, list[ItemReference]] = {}
        self._parts: dict[int, ItemParts] = {}
        self._runs: dict[tuple[str, ...], list[int]] = {}
        self._names: dict[int, tuple[str, str, str, str]] = {}
        for run, *names in self._rows("SELECT run, benchmark, generation, language, model FROM runs"):
            benchmark, generation, language, model = names
            self._names[run] = (benchmark, generation, language, model)
            self._runs.setdefault(self._names[run], []).append(run)

    def items_with(self, key: ItemKey) -> list[ItemReference]:
        """The items with this key: none, or several where runs of one model share it. As far as `find` was asked."""
        return self._found.get(key, [])

    def parts_of(self, item: int) -> ItemParts:
        """As far as `find_parts` was asked."""
        return self._parts.get(item, _NO_PARTS)

    def key_and_hashes(self, item: int) -> tuple[ItemKey, str, str]:
        """(key, prediction hash, golden hash) of an item; KeyError if there is none with this number."""
        rows = self._rows(
            "SELECT run, category, id, prediction_hash, golden_hash FROM item_rows WHERE item = $1", [item]
        )
        if not rows:
            raise KeyError(item)
        run, category, name, prediction_hash, golden_hash = rows[0]
        return ItemKey(*self._names[run], category, name), prediction_hash or "", golden_hash or ""

    def load(self, key: ItemKey) -> None:
        """One key; looks through runs of its model only."""
        if key in self._found:
            return
        runs = self._runs.get(key[:4], [])
        rows = self._rows(
            "SELECT item, prediction_hash, golden_hash FROM item_rows"
            f" WHERE run IN ({', '.join(map(str, runs)) or 'NULL'}) AND id = $1 AND category = $2 ORDER BY item",
            [key.id, key.category],
        )
        self._found[key] = [ItemReference(item, prediction or "", golden or "") for item, prediction, golden in rows]

    def load_many(self, keys: Sequence[ItemKey]) -> None:
        """Many keys in one pass."""
        self._found.update({key: [] for key in keys})
        if not keys:
            return
        names = ", ".join(f"unnest(${place}::VARCHAR[]) AS {name}" for place, name in enumerate(ItemKey._fields, 2))
        found = self._rows(
            "SELECT k.place, i.item, i.prediction_hash, i.golden_hash FROM items i JOIN"
            f" (SELECT unnest(range($1::BIGINT)) AS place, {names}) k USING ({', '.join(ItemKey._fields)})"
            " ORDER BY i.item",
            [len(keys), *(list(column) for column in zip(*keys, strict=True))],
        )
        for place, item, prediction_hash, golden_hash in found:
            self._found[keys[place]].append(ItemReference(item, prediction_hash or "", golden_hash or ""))

    def load_parts(self, keys: Sequence[ItemKey]) -> None:
        """The number of call pairs of each turn, and automatic verdicts on parts and on other criteria."""
        items = [each.item for key in keys for each in self.items_with(key) if each.item not in self._parts]
        if not items:
            return
        self._parts.update({item: ItemParts({}, {}) for item in items})
        numbers = ", ".join(map(str, items))  # our own numbers; so that only their part is read
        chosen = _CHOSEN.format(items=numbers)
        for item, turn, count in self._rows(_PAIRS.format(chosen=chosen)):
            self._parts[item].pairs[turn] = count
        for item, target, criterion, source, value in self._rows(_VERDICTS.format(chosen=chosen)):
            self._parts[item].verdicts[target, criterion, source] = value
        for item, needs, own in self._rows(_WHOLE.format(items=numbers)):
            self._parts[item].needs, self._parts[item].item_verdict = orjson.loads(needs) if needs else None, own

    def _rows(self, text: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(text, list(values)).fetchall()


class EventIndex:
    """Events, each once. `references` tells the items that share a key."""

    def __init__(self, references: ItemIndex) -> None:
        self._references = references
        self._events: dict[str, Event] = {}
        self.by_key: dict[ItemKey, list[Event]] = {}
        self.retracted: set[tuple[str, str]] = set()
        """(event, annotator)"""

    def __len__(self) -> int:
        return len(self._events)

    def add(self, events: Iterable[Event]) -> list[Event]:
        """Those that are new."""
        fresh = [event for event in events if event.event not in self._events]
        for event in fresh:
            self._events[event.event] = event
            self.by_key.setdefault(event.key, []).append(event)
        self.retracted |= find_retracted_events(fresh)
        return fresh

    def sort_events(self, key: ItemKey) -> None:
        """As journals are read: one after the other."""
        self.by_key[key].sort(key=lambda event: f"{event.annotator}.jsonl")

    def events_on(self, key: ItemKey, prediction_hash: str, golden_hash: str) -> list[Event]:
        """Events on this item. Where runs of one model share a key, each gets those on its own answer; what is about
        another run's answer is not shown here as stale."""
        events = self.by_key.get(key, [])
        references = self._references.items_with(key)
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
        return fold_events(
            self.events_on(key, prediction_hash, golden_hash), self.retracted, prediction_hash, golden_hash
        )

    def history(self, key: ItemKey) -> list[Event]:
        """Every event on one key, retractions and retracted ones included, by time."""
        return sorted(self.by_key.get(key, ()), key=lambda event: event.time)

    def last_act(self, annotator: str) -> Event | None:
        """The annotator's latest act that was not retracted."""
        return find_last_event(self._events.values(), annotator, self.retracted)

    def used_tags(self, annotator: str | None = None) -> list[str]:
        """Tags of what was not taken back, of everybody or of one annotator, most used first."""
        counts = Counter(
            tag
            for event in self._events.values()
            if annotator in (None, event.annotator) and (event.event, event.annotator) not in self.retracted
            for tag in event.tags or ()
        )
        return sorted(counts, key=lambda tag: (-counts[tag], tag))

    def has_reviewed(self, key: ItemKey, annotator: str) -> bool:
        """Whether the annotator ever said anything of the item."""
        return any(event.annotator == annotator for event in self.by_key.get(key, ()))

    def source_queues(self, key: ItemKey, prediction_hash: str, golden_hash: str) -> set[str]:
        """The queue files that put the item before people when they gave verdicts that stand."""
        return {
            event.queue
            for event in self.events_on(key, prediction_hash, golden_hash)
            if event.queue
            and event.verdict is not None
            and not event.presentation
            and (event.event, event.annotator) not in self.retracted
            and not is_stale(event, prediction_hash, golden_hash)
        }

    def opinions_by(
        self, key: ItemKey, annotator: str, prediction_hash: str = "", golden_hash: str = "", presentation: int = 1
    ) -> list[Opinion]:
        """What one annotator says of the item where it came the first (1) or the second time (2)."""
        mine = [e for e in self.events_on(key, prediction_hash, golden_hash) if e.annotator == annotator]
        return fold_events(mine, self.retracted, prediction_hash, golden_hash, presentation)

    def annotators_with_repetition(self, key: ItemKey) -> list[str]:
        """Who said something of the item when it came to them the second time."""
        return sorted({event.annotator for event in self.by_key.get(key, ()) if event.presentation})

    def first_and_second_opinions(
        self, key: ItemKey, annotator: str, prediction_hash: str, golden_hash: str
    ) -> tuple[list[Opinion], list[Opinion]]:
        """What one annotator held when the item came the second time, and what they said then; nothing stale."""
        about = self.events_on(key, prediction_hash, golden_hash)
        mine = [event for event in about if event.annotator == annotator]  # as the journal has them: clocks go back
        again = next((at for at, event in enumerate(mine) if event.presentation), len(mine))
        first = fold_events(mine[:again], self.retracted, prediction_hash, golden_hash)
        second = fold_events(mine, self.retracted, prediction_hash, golden_hash, presentation=2)
        return [o for o in first if not o.stale], [o for o in second if not o.stale]

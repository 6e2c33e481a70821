"""Index items and reviews in memory: the items of the database by key, and the journal events by
item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from fcreview.model.decision import OpenGoldenFixes
from fcreview.model.effective_verdict import ROLL_UP_CRITERIA, SCORING_ORDER, RollUpContext
from fcreview.model.golden_fix import (
    DISPUTED_FIX,
    PROPOSED,
    GoldenFixDecision,
    decide_golden_fix,
    find_question_key,
)
from fcreview.model.incident import INCIDENT
from fcreview.model.json_value import parse_json
from fcreview.model.review import (
    ITEM_CORRECT,
    Event,
    ItemKey,
    Opinion,
    QuestionKey,
    find_last_event,
    find_retracted_events,
    fold_events,
    is_stale,
)
from fcreview.model.verdict import TargetCriterion
from fcreview.store.database import and_runs_of_items_sql
from fcreview.store.review_sql import AUTOMATIC_VERDICT
from fcreview.store.rows import FIRST_PRESENTATION, SECOND_PRESENTATION

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class ItemReference(NamedTuple):
    """An item of the database, and the hashes of its current prediction and golden answer."""

    item: int
    prediction_hash: str
    golden_hash: str


class UnreviewedItem(NamedTuple):
    item: int
    key: ItemKey
    prediction_hash: str
    golden_hash: str


# These queries do not use the views `pairs` and `verdicts`, which would unnest the lists of all
# items.
_N_PAIRS = (
    "SELECT item, p.turn, count(*) FROM (SELECT item, unnest(pairs) AS p FROM item_rows WHERE item"
    " IN ({items}){runs})"
    " GROUP BY item, p.turn"
)
_VERDICTS = (
    "SELECT item, v.target, v.criterion, v.source, CAST(v.value AS VARCHAR)"
    " FROM (SELECT item, unnest(verdicts) AS v FROM item_rows WHERE item IN ({items}){runs})"
)
_ITEM_VERDICTS = (
    f"SELECT i.item, CAST(i.extra->'$.needs' AS VARCHAR), {AUTOMATIC_VERDICT}, r.benchmark,"
    " CAST(i.extra->'$.more' AS VARCHAR) FROM item_rows i JOIN runs r USING (run) WHERE i.item IN"
    " ({items}){runs}"
)
_UNREVIEWED = (
    "SELECT i.run, i.category, i.id, coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, ''),"
    " i.item"
    " FROM item_rows i LEFT JOIN human h USING (item) WHERE h.you IS NULL AND i.item IN (SELECT"
    " unnest($1::BIGINT[]))"
    " ORDER BY i.item"
)
_NO_PARTS = RollUpContext()
MAX_SINGLE_QUERIES = (
    8  # maximum number of keys for which one query per key is faster than one query for all keys
)


class _RunKey(NamedTuple):
    """The first fields of an item key, which are equal for all items of a run."""

    benchmark: str
    generation: str
    language: str
    model: str


class ItemIndex:
    """Finds the items of the database by key, and caches the results."""

    def __init__(self, connection: Connection) -> None:
        """Read which runs the store has. Their items are loaded when they are needed."""
        self._connection = connection
        self._references: dict[ItemKey, list[ItemReference]] = {}
        self._contexts: dict[int, RollUpContext] = {}
        self._runs_by_key: dict[_RunKey, list[int]] = {}
        self._run_keys: dict[int, _RunKey] = {}
        for run, *names in self._fetch(
            "SELECT run, benchmark, generation, language, model FROM runs"
        ):
            run_key = _RunKey(*names)
            self._run_keys[run] = run_key
            self._runs_by_key.setdefault(run_key, []).append(run)

    def find_loaded_items(self, key: ItemKey) -> list[ItemReference]:
        """Return the loaded items with a key.

        Several runs of a model can have items with the same key.
        """
        return self._references.get(key, [])

    def get_roll_up_context(self, item: int) -> RollUpContext:
        """Return the roll-up context of an item; an empty context if it was not loaded."""
        return self._contexts.get(item, _NO_PARTS)

    def fetch_key_and_hashes(self, item: int) -> tuple[ItemKey, str, str]:
        """Return the key, prediction hash and golden hash of an item.

        Raises KeyError if it does not exist.
        """
        rows = self._fetch(
            "SELECT run, category, id, prediction_hash, golden_hash FROM item_rows WHERE item = $1",
            [item],
        )
        if not rows:
            raise KeyError(item)
        run, category, item_id, prediction_hash, golden_hash = rows[0]
        return (
            ItemKey(*self._run_keys[run], category, item_id),
            prediction_hash or "",
            golden_hash or "",
        )

    def find_unreviewed_items(self, items: Iterable[int]) -> list[UnreviewedItem]:
        """Return those of the items that have no verdict by the current annotator.

        If several runs of a model have the same answer to an item, only one of these items is
        returned, because its review counts for all.
        """
        found: dict[tuple[ItemKey, str, str], int] = {}
        for run, category, item_id, prediction_hash, golden_hash, item in self._fetch(
            _UNREVIEWED, [list(items)]
        ):
            key = ItemKey(*self._run_keys[run], category, item_id)
            found.setdefault((key, prediction_hash, golden_hash), item)
        return [UnreviewedItem(item, *reviewed) for reviewed, item in found.items()]

    def find_keys_of_question(self, question: QuestionKey) -> list[ItemKey]:
        """Return the key of the question's item for each model with a run of the dataset."""
        dataset = (question.benchmark, question.generation, question.language)
        keys = []
        for run in self._runs_by_key:
            if (run.benchmark, run.generation, run.language) == dataset:
                keys.append(ItemKey(*run, question.category, question.id))
        return keys

    def load_missing_items(self, keys: Sequence[ItemKey]) -> None:
        """Load the items with these keys that are not loaded yet. For many, one query is faster."""
        missing = [key for key in keys if key not in self._references]
        if len(missing) > MAX_SINGLE_QUERIES:
            self.load_items(missing)
        else:
            for key in missing:
                self._load_items_with_key(key)

    def _load_items_with_key(self, key: ItemKey) -> None:
        """Load the items of all runs that have a key, with the hashes of their answers."""
        run_key = _RunKey(key.benchmark, key.generation, key.language, key.model)
        runs = self._runs_by_key.get(run_key, [])
        listed_runs = ", ".join(str(run) for run in runs) or "NULL"
        rows = self._fetch(
            "SELECT item, coalesce(prediction_hash, ''), coalesce(golden_hash, '') FROM item_rows"
            f" WHERE run IN ({listed_runs}) AND id = $1 AND category = $2 ORDER BY item",
            [key.id, key.category],
        )
        self._references[key] = [ItemReference(*row) for row in rows]

    def load_items(self, keys: Sequence[ItemKey]) -> None:
        """Load the items with these keys in one query."""
        self._references.update({key: [] for key in keys})
        if not keys:
            return

        # The keys become the rows of a table `k`, with a column for each field and the index of the
        # key in `keys`. DuckDB unnests the lists of the columns side by side.
        columns = ["unnest($key_index::BIGINT[]) AS key_index"]
        values: dict[str, list[Any]] = {"key_index": list(range(len(keys)))}
        for name in ItemKey._fields:
            columns.append(f"unnest(${name}::VARCHAR[]) AS {name}")
            values[name] = [getattr(key, name) for key in keys]
        rows = self._fetch(
            "SELECT k.key_index, i.item, coalesce(i.prediction_hash, ''),"
            " coalesce(i.golden_hash, '')"
            f" FROM items i JOIN (SELECT {', '.join(columns)}) k"
            f" USING ({', '.join(ItemKey._fields)}) ORDER BY i.item",
            values,
        )
        for key_index, *reference in rows:
            self._references[keys[key_index]].append(ItemReference(*reference))

    def load_roll_up_contexts(self, keys: Sequence[ItemKey]) -> None:
        """Load the data from which the verdict on an item follows from verdicts on its parts, for
        all items with these keys. Items that are already loaded are skipped.
        """
        new_items = self._list_items_without_context(keys)
        if not new_items:
            return

        n_pairs_by_item = self._fetch_pair_counts(new_items)
        verdicts_by_item = self._fetch_verdicts(new_items)
        for row in self._fetch_of_items(_ITEM_VERDICTS, new_items):
            item, needs, item_verdict, benchmark, metadata = row
            automatic = _select_automatic_verdicts(verdicts_by_item[item])
            automatic[ITEM_CORRECT] = item_verdict
            self._contexts[item] = RollUpContext(
                n_pairs_by_item[item],
                benchmark_part_verdicts=_select_benchmark_part_verdicts(verdicts_by_item[item]),
                needs=parse_json(needs),
                benchmark_item_verdict=item_verdict,
                benchmark=benchmark,
                automatic=automatic,
                metadata=parse_json(metadata) or {},
            )

    def _list_items_without_context(self, keys: Iterable[ItemKey]) -> list[int]:
        items = []
        for key in keys:
            for reference in self.find_loaded_items(key):
                if reference.item not in self._contexts:
                    items.append(reference.item)
        return items

    def _fetch_pair_counts(self, items: Sequence[int]) -> dict[int, dict[int, int]]:
        """Return the number of call pairs of each item by turn."""
        counts: dict[int, dict[int, int]] = {item: {} for item in items}
        for item, turn, count in self._fetch_of_items(_N_PAIRS, items):
            counts[item][turn] = count
        return counts

    def _fetch_verdicts(self, items: Sequence[int]) -> dict[int, dict[tuple[str, str, str], str]]:
        """Return the verdicts of each item as JSON text, by (target, criterion, source)."""
        verdicts: dict[int, dict[tuple[str, str, str], str]] = {item: {} for item in items}
        for item, target, criterion, source, value in self._fetch_of_items(_VERDICTS, items):
            verdicts[item][target, criterion, source] = value
        return verdicts

    def _fetch_of_items(self, query: str, items: Sequence[int]) -> list[tuple[Any, ...]]:
        """Run a query with the places `items` and `runs`.

        Literal numbers let DuckDB skip the other rows, a bound list does not.
        """
        numbers = ", ".join(map(str, items))
        runs = and_runs_of_items_sql(self._connection, items)
        return self._fetch(query.format(items=numbers, runs=runs))

    def _fetch(
        self, sql: str, values: list[Any] | dict[str, Any] | None = None
    ) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values or []).fetchall()


def _select_benchmark_part_verdicts(
    verdicts: Mapping[tuple[str, str, str], str],
) -> dict[str, bool]:
    """Return whether each part passes, by address. If a part has several verdicts, the first
    criterion in `ROLL_UP_CRITERIA` counts and, among its verdicts, the first source in
    `SCORING_ORDER`.
    """
    parts: dict[str, bool] = {}
    # The first criterion and source come last, so that their verdicts replace the others.
    for roll_up_criterion in reversed(ROLL_UP_CRITERIA):
        for scoring_source in reversed(SCORING_ORDER):
            for (target, criterion, source), text in verdicts.items():
                is_searched = criterion == roll_up_criterion and source == scoring_source
                if is_searched and text in ("true", "false"):
                    parts[target] = text == "true"
    return parts


def _select_automatic_verdicts(
    verdicts: Mapping[tuple[str, str, str], str],
) -> dict[TargetCriterion, Any]:
    """Return the automatic verdicts by (target, criterion).

    `verdicts`: JSON text by (target, criterion, source).
    """
    automatic: dict[TargetCriterion, Any] = {}
    for scoring_source in reversed(SCORING_ORDER):
        for (target, criterion, source), text in verdicts.items():
            if source == scoring_source:
                automatic[target, criterion] = parse_json(text)
    return automatic


def _make_golden_opinion(event: Event) -> Opinion:
    """Return the opinion on the golden answer that an annotator recorded on the item of another run.

    It has no verdict, because a verdict on that run's prediction says nothing about this one.
    """
    return Opinion(
        annotator=event.annotator,
        fault="golden",
        note=event.note,
        golden_fix=event.golden_fix,
        golden_status=event.golden_status,
        golden_verdicts=event.golden_verdicts,
        time=event.time,
    )


class EventIndex:
    """All journal events, indexed by the key of their item."""

    def __init__(self, items: ItemIndex) -> None:
        """Begin without events. `items` finds the items that they are about."""
        self._items = items
        # (event id, annotator) -> event.
        self._events: dict[tuple[str, str], Event] = {}
        # Events of one annotator after the other, in journal order.
        self.by_key: dict[ItemKey, list[Event]] = {}
        # (event id, annotator) of each retracted event
        self.retracted: set[tuple[str, str]] = set()
        # question -> reviews of its golden answer in all runs, in the journal order of each annotator
        self._golden_reviews: dict[QuestionKey, list[Event]] = {}

    def __len__(self) -> int:
        return len(self._events)

    def add_events(self, events: Iterable[Event]) -> list[Event]:
        """Add the events that the index does not contain yet, and return these events."""
        new = [event for event in events if (event.event, event.annotator) not in self._events]
        for event in new:
            self._events[event.event, event.annotator] = event
            self.by_key.setdefault(event.key, []).append(event)
            if event.golden_fix is not None or event.golden_status is not None:
                question = find_question_key(event.key)
                self._golden_reviews.setdefault(question, []).append(event)
        self.retracted |= find_retracted_events(new)
        return new

    def list_questions_with_fixes(self, keys: Iterable[ItemKey] | None = None) -> list[QuestionKey]:
        """Return the questions with a golden fix: those of these items, by default all."""
        if not self._golden_reviews:
            return []
        if keys is None:
            return list(self._golden_reviews)
        questions = dict.fromkeys(find_question_key(key) for key in keys)
        return [question for question in questions if question in self._golden_reviews]

    def decide_golden_fix(self, key: ItemKey, golden_hash: str) -> GoldenFixDecision | None:
        """Return what annotators decided about the golden answer of an item. None if nobody
        corrected it.

        The reviews of the question in all runs count. `golden_hash` is the hash of the golden
        answer in the dataset: corrections of another golden answer do not count.
        """
        return decide_golden_fix(self._list_current_fixes(key, golden_hash))

    def find_golden_status(self, key: ItemKey, golden_hash: str, annotator: str) -> str | None:
        """Return the status of an annotator's golden fix of an item's question, or None."""
        status = None
        for event in self._list_current_fixes(key, golden_hash):
            if event.annotator == annotator and event.act == "review":
                status = event.golden_status
        return status

    def find_open_fixes(self, key: ItemKey, golden_hash: str) -> OpenGoldenFixes | None:
        """Return the corrected golden answers (golden fixes) of a question that an adjudicator must
        decide. None if there are none, or if none of them was recorded on the item with this key.

        Annotators record a golden fix on the item of one run, but it concerns the question in all
        runs.
        """
        decision = self.decide_golden_fix(key, golden_hash)
        if decision is None or decision.status not in (PROPOSED, DISPUTED_FIX):
            return None
        events = self._list_current_fixes(key, golden_hash)
        is_recorded_here = any(event.key == key for event in events)
        if not is_recorded_here:
            return None

        # The events of an annotator are in journal order, so the latest one stays.
        latest_by_annotator = {event.annotator: event for event in events}
        from_other_runs = []
        for event in latest_by_annotator.values():
            if event.key != key and event.golden_status is not None:
                from_other_runs.append(_make_golden_opinion(event))
        return OpenGoldenFixes(decision.status, from_other_runs)

    def _list_current_fixes(self, key: ItemKey, golden_hash: str) -> list[Event]:
        """Return the current golden fixes of an item's question in all runs, in the journal order
        of each annotator.
        """
        events = self._golden_reviews.get(find_question_key(key), ())
        return [event for event in events if self._is_current_fix(event, golden_hash)]

    def _is_current_fix(self, event: Event, golden_hash: str) -> bool:
        is_retracted = (event.event, event.annotator) in self.retracted
        is_on_item = (event.target, event.criterion) == ITEM_CORRECT
        # A new prediction does not change the golden answer.
        is_golden_stale = is_stale(event, prediction_hash="", golden_hash=golden_hash)
        return is_on_item and not is_retracted and not is_golden_stale

    def list_annotators(self) -> set[str]:
        """Return the annotators with an event."""
        return {annotator for _, annotator in self._events}

    def sort_events_of_item(self, key: ItemKey) -> None:
        """Sort the events on a key after events were added."""
        self.by_key[key].sort(key=lambda event: f"{event.annotator}.jsonl")

    def list_events_on(self, key: ItemKey, prediction_hash: str, golden_hash: str) -> list[Event]:
        """Return the events on an item, including stale ones, which are on an earlier answer.

        Several runs of a model can have the same item with different answers. Events on the answer
        of another run are left out.
        """
        events = self.by_key.get(key, [])
        references = self._items.find_loaded_items(key)
        if len(references) < 2:
            return events

        # An event on none of the present answers is on an earlier answer of any of the runs, so it
        # counts for all of them.
        events_on_item = []
        for event in events:
            is_on_this_answer = not is_stale(event, prediction_hash, golden_hash)
            is_on_any_answer = any(
                not is_stale(event, reference.prediction_hash, reference.golden_hash)
                for reference in references
            )
            if is_on_this_answer or not is_on_any_answer:
                events_on_item.append(event)
        return events_on_item

    def compute_opinions(
        self,
        key: ItemKey,
        prediction_hash: str = "",
        golden_hash: str = "",
        *,
        with_bulk: bool = True,
    ) -> list[Opinion]:
        """Return all annotators' opinions on an item and its parts.

        `with_bulk`: include bulk reviews.
        """
        events = self.list_events_on(key, prediction_hash, golden_hash)
        events = events if with_bulk else [event for event in events if not event.bulk]
        return fold_events(events, self.retracted, prediction_hash, golden_hash)

    def get_history(self, key: ItemKey) -> list[Event]:
        """Return all events on a key, sorted by time, including retractions and retracted
        events.
        """
        return sorted(self.by_key.get(key, ()), key=lambda event: event.time)

    def find_latest_reviews(self, annotator: str) -> list[Event]:
        """Return the annotator's latest review, which an undo would retract. If it was a bulk
        review (one verdict on many items), return all of its reviews, in journal order, with the
        review that it belongs to.

        The field `bulk` of all reviews of one bulk review has the same value. If the bulk review
        follows from the review of one item, this value is the id of that review.
        """
        last = find_last_event(self._events.values(), annotator, self.retracted)
        if last is None:
            return []
        if last.bulk is None:
            return [last]

        reviews = []
        for event in self._events.values():
            if event.annotator != annotator or event.act == "retract":
                continue
            is_of_bulk_review = event.bulk == last.bulk
            started_bulk_review = event.event == last.bulk
            is_retracted = (event.event, annotator) in self.retracted
            if (is_of_bulk_review or started_bulk_review) and not is_retracted:
                reviews.append(event)
        return reviews

    def list_used_tags(self, annotator: str | None = None) -> list[str]:
        """Return the error tags in current reviews by the annotator (None: by all annotators),
        most frequent first.
        """
        counts: Counter[str] = Counter()
        for event in self._events.values():
            is_selected = annotator is None or event.annotator == annotator
            is_retracted = (event.event, event.annotator) in self.retracted
            if is_selected and not is_retracted:
                counts.update(event.tags or ())
        return sorted(counts, key=lambda tag: (-counts[tag], tag))

    def has_events_by(self, key: ItemKey, annotator: str) -> bool:
        return any(event.annotator == annotator for event in self.by_key.get(key, ()))

    def list_current_verdict_events(
        self, key: ItemKey, prediction_hash: str, golden_hash: str
    ) -> list[Event]:
        """Return the reviews with a verdict on an item or its parts, without stale, retracted and
        bulk reviews.

        Reviews of the mark of an incident are omitted, because they are no verdict on the answer.
        """
        return [
            event
            for event in self.list_events_on(key, prediction_hash, golden_hash)
            if event.verdict is not None
            and event.criterion != INCIDENT
            and not event.presentation
            and not event.bulk
            and (event.event, event.annotator) not in self.retracted
            and not is_stale(event, prediction_hash, golden_hash)
        ]

    def compute_opinions_of_annotator(
        self,
        key: ItemKey,
        annotator: str,
        prediction_hash: str,
        golden_hash: str,
        *,
        is_duplicate: bool,
    ) -> list[Opinion]:
        """Return one annotator's opinions on an item or on its hidden duplicate, without bulk
        reviews.
        """
        own = self._individual_events(key, annotator, prediction_hash, golden_hash)
        presentation = SECOND_PRESENTATION if is_duplicate else FIRST_PRESENTATION
        return fold_events(
            own, self.retracted, prediction_hash, golden_hash, presentation=presentation
        )

    def _individual_events(self, key: ItemKey, annotator: str, *hashes: str) -> list[Event]:
        return [
            event
            for event in self.list_events_on(key, *hashes)
            if event.annotator == annotator and not event.bulk
        ]

    def list_annotators_of_duplicate(self, key: ItemKey) -> list[str]:
        """Return the names of the annotators who reviewed the item as a hidden duplicate."""
        return sorted({event.annotator for event in self.by_key.get(key, ()) if event.presentation})

    def compute_opinions_before_and_on_duplicate(
        self, key: ItemKey, annotator: str, prediction_hash: str, golden_hash: str
    ) -> tuple[list[Opinion], list[Opinion]]:
        """Return an annotator's opinions on an item, and on its hidden duplicate.

        An annotator sees some items twice without knowing it. The two lists show whether they agree
        with themselves. Stale opinions are omitted.
        """
        own_events = self._individual_events(key, annotator, prediction_hash, golden_hash)
        # Clocks can go back, so the order in the journal decides which opinions came before the
        # duplicate.
        events_before = list(takewhile(lambda event: not event.presentation, own_events))
        first = fold_events(events_before, self.retracted, prediction_hash, golden_hash)
        second = fold_events(
            own_events,
            self.retracted,
            prediction_hash,
            golden_hash,
            presentation=SECOND_PRESENTATION,
        )
        current_first = [opinion for opinion in first if not opinion.stale]
        current_second = [opinion for opinion in second if not opinion.stale]
        return current_first, current_second

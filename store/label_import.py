"""Import reviews from a file: check each record, find the item, and append new reviews to an
annotator's journal.

A second import of the same file changes nothing, because reviews that the annotator already has are
skipped. The id of an imported event is a hash of its content, so merged copies of a workspace
contain the event only once. Reviews that are older than the annotator's current review of the same
target are skipped too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fcreview.errors import FcreviewError
from fcreview.model.address import ADDRESS_FORMS, ITEM, is_address, parse_address
from fcreview.model.decision import RESOLUTION_REQUIREMENT, can_resolve_disagreement
from fcreview.model.effective_verdict import is_same_verdict
from fcreview.model.json_value import json_hash
from fcreview.model.review import (
    ANNOTATION_FIELDS,
    CORRECT,
    Annotation,
    Event,
    ItemKey,
    Opinion,
    describe_field_error,
    is_stale,
)
from fcreview.model.wording import describe_scale_error, format_count, parse_answer
from fcreview.store.label_fields import VERDICT_KEY
from fcreview.store.reviews.journal import LineError, hash_and_serialize_event

if TYPE_CHECKING:
    from fcreview.store.reviews.journal import Journal
    from fcreview.store.store import Store

MAX_LISTED_PROBLEMS = 10  # maximum number of invalid records that an error message lists


class LabelImportError(FcreviewError):
    """Raised when a file of reviews cannot be imported. No review has been written."""


@dataclass(frozen=True, slots=True)
class InvalidRecord:
    # line number in the file, from 1; the number of the task in a Label Studio file, of the row in
    # a table
    line: int
    reason: str  # why the record is invalid, for an error message


@dataclass(frozen=True, slots=True)
class ImportedReview:
    """A review from an imported file, before the item is looked up."""

    # line number in the file, from 1; the number of the task in a Label Studio file, of the row in
    # a table
    line: int
    key_fields: dict[str, str]  # `id`, and as many other fields of `ItemKey` as the file has
    annotation: Annotation
    annotator: str | None = None  # `None` means the importing annotator
    time: str | None = (
        # Time of the review, UTC, ISO 8601 with milliseconds. None means the time of the import.
        None
    )
    blind: bool | None = None  # Whether other verdicts were hidden. None if unknown.
    bulk: str | None = (
        None  # Id of the bulk review that recorded the review. None for an individual review.
    )
    prediction_hash: str = (
        ""  # Hash of the reviewed prediction. Empty means the prediction in the database.
    )
    golden_hash: str = ""  # empty means the golden answer in the database
    exported_events: tuple[str, ...] = ()  # ids of the events that fcreview exported as this review


def parse_review(
    line_number: int,
    label: Mapping[str, Any],
    opinion: Mapping[str, Any],
    *,
    check_scale: bool = False,
) -> ImportedReview:
    """Build a review from a record of exported labels. Raises ValueError for an invalid record.

    Args:
        line_number: Line of the record.
        label: The fields that say what was reviewed, such as `id` and `target`. Only `id` is
            required.
        opinion: The fields with the annotator's opinion, such as `value` and `fault`. At least one
            is required.
        check_scale: Whether a person wrote the record. A verdict must then be a value on the scale
            of the criterion, or a word for such a value, such as `pass`.
    """
    _check_label_fields(label)
    blind = opinion.get("blind")
    return ImportedReview(
        line_number,
        key_fields={name: label[name] for name in ItemKey._fields if label.get(name)},
        annotation=_read_annotation(label, opinion, check_scale=check_scale),
        annotator=_get_optional_text(opinion, "annotator") or None,
        time=normalize_time(_get_optional_text(opinion, "time")),
        blind=blind if isinstance(blind, bool) else None,
        bulk=_get_optional_text(opinion, "bulk") or None,
        prediction_hash=_get_hash(label, opinion, "prediction_hash"),
        golden_hash=_get_hash(label, opinion, "golden_hash"),
    )


def _read_annotation(
    label: Mapping[str, Any], opinion: Mapping[str, Any], *, check_scale: bool
) -> Annotation:
    """Read the annotation of an imported opinion: what it is about, and its verdict and other
    fields. Raises ValueError for an invalid field.
    """
    target = label.get("target", ITEM)
    if not is_address(target):
        raise ValueError(f"invalid target {target!r}: use {ADDRESS_FORMS}")
    criterion = label.get("criterion", CORRECT)
    values = _read_annotation_fields(opinion, criterion, check_scale=check_scale)
    act = opinion.get("act", "review")
    if act not in ("review", "adjudicate"):
        raise ValueError(f"invalid `act` {act!r}: use review or adjudicate")
    return Annotation(act=act, target=target, criterion=criterion, **values)


def _get_hash(label: Mapping[str, Any], opinion: Mapping[str, Any], name: str) -> str:
    """Return a hash of the answer that the annotator saw. It is in the opinion or, in older files,
    in the label.
    """
    return _get_optional_text(opinion, name) or _get_optional_text(label, name)


def _check_label_fields(label: Mapping[str, Any]) -> None:
    for name in (*ItemKey._fields, "target", "criterion"):
        if not isinstance(label.get(name, ""), str):
            raise ValueError(f"`{name}` is not a string")
    if not label.get("id"):
        raise ValueError("`id` is missing")


def _read_annotation_fields(
    opinion: Mapping[str, Any], criterion: str, *, check_scale: bool
) -> dict[str, Any]:
    """Read the fields of an annotation, such as verdict, fault and note, from an imported opinion.

    With `check_scale`, the verdict must be on the scale of its criterion, such as pass or fail.
    Raises ValueError for an invalid value.
    """
    values = {}
    for name in ANNOTATION_FIELDS:
        if name == "verdict":
            values[name] = _read_verdict(opinion, criterion, check_scale=check_scale)
        else:
            values[name] = opinion.get(name)

    for name, value in values.items():
        if value is None:
            continue
        problem = describe_field_error(name, value)
        if not problem and check_scale and name == "verdict":
            problem = describe_scale_error(criterion, value)
        if problem:
            # In the file, the verdict has another name.
            raise ValueError(problem.replace("verdict is", f"{VERDICT_KEY} is"))
    return values


def _read_verdict(opinion: Mapping[str, Any], criterion: str, *, check_scale: bool) -> Any:
    """Return the verdict of an imported opinion, which is not yet checked.

    With `check_scale`, a person wrote the record. A text that is no value of the criterion's scale
    is then a word for one, such as `pass`, and is replaced by the value.
    """
    verdict = opinion.get(VERDICT_KEY)
    if not check_scale or not isinstance(verdict, str):
        return verdict
    is_word = describe_scale_error(criterion, verdict) is not None
    return parse_answer(criterion, verdict) if is_word else verdict


def to_adjudication(record: ImportedReview | InvalidRecord) -> ImportedReview | InvalidRecord:
    """Turn a review into an adjudication.

    A review that cannot resolve a disagreement becomes an `InvalidRecord`.
    """
    if isinstance(record, InvalidRecord):
        return record
    if not can_resolve_disagreement(record.annotation):
        return InvalidRecord(
            record.line, f"the review cannot resolve a disagreement: {RESOLUTION_REQUIREMENT}"
        )
    return replace(record, annotation=replace(record.annotation, act="adjudicate"))


def mark_not_blind(record: ImportedReview | InvalidRecord) -> ImportedReview | InvalidRecord:
    """Set `blind` to False in a review if the file has neither its time nor its value of
    `blind`.
    """
    if isinstance(record, InvalidRecord) or record.time is not None or record.blind is not None:
        return record
    return replace(record, blind=False)


def normalize_time(text: str) -> str | None:
    """Convert an ISO 8601 time to UTC with milliseconds; empty text becomes None.

    Raises ValueError for other text.
    """
    if not text:
        return None
    time = datetime.fromisoformat(text)
    # A time without a time zone is in UTC.
    utc_time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    return utc_time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def raise_for_invalid_records(
    file_name: str, invalid_records: list[InvalidRecord], record_unit: str
) -> None:
    """If there are invalid records, raise a LabelImportError that lists the first ones."""
    if not invalid_records:
        return
    lines = []
    for record in invalid_records[:MAX_LISTED_PROBLEMS]:
        lines.append(f"{file_name} {record_unit} {record.line}: {record.reason}")
    n_more = len(invalid_records) - MAX_LISTED_PROBLEMS
    if n_more > 0:
        lines.append(f"and {format_count(n_more, 'more invalid record')}")
    lines.append("No reviews were imported.")
    raise LabelImportError("\n".join(lines))


def _get_optional_text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"`{name}` is not a string")
    return value or ""


@dataclass(slots=True)
class LabelImportResult:
    """The events that an import wrote, and the numbers of reviews that it skipped."""

    written: list[Event] = field(default_factory=list)
    already: int = 0  # reviews that repeat the annotator's opinion or an earlier event
    older: int = 0  # reviews before the annotator's current review of the target and criterion


@dataclass(frozen=True, slots=True)
class ReviewFile:
    """The records of a file, and the runs in which the import looks up their items."""

    name: str
    records: Sequence[ImportedReview | InvalidRecord]
    unit: str = "line"  # unit that `line` of a record counts, for messages: `line`, `row` or `task`
    run_number: int | None = None  # run number that all records belong to; None for any run
    preferred_runs: Sequence[
        int
    ] = ()  # numbers of the runs to prefer when several runs have an item with the same id


def import_reviews(
    store: Store, journal: Journal, file: ReviewFile, annotator_in_file: str | None = None
) -> LabelImportResult:
    """Write the reviews in a file that are by the journal's annotator to the journal.

    Reviews that the journal already has are skipped. Raises LabelImportError, without writing
    anything, if a record is invalid or no review is by this annotator.

    Args:
        store: The store with the items.
        journal: The annotator's journal.
        file: The reviews of the file.
        annotator_in_file: The annotator's name in the file, if it differs.
    """
    reviews = _select_reviews_of_annotator(file, annotator_in_file or journal.annotator)
    with store.lock:
        store.refresh_reviews()
        events, unusable = _build_events(store, journal.annotator, reviews, file)
        raise_for_invalid_records(file.name, unusable, file.unit)
        result = _select_new_events(store, events)
    # Waiting for the disk happens without the lock.
    result.written = journal.extend(result.written)
    with store.lock:
        store.reviews.add_new_journal_events()
    return result


def _select_reviews_of_annotator(file: ReviewFile, name: str) -> list[ImportedReview]:
    """Return the reviews by an annotator, and those that name no annotator.

    Raises LabelImportError if any record of the file is invalid, or if there is no such review.
    """
    unreadable = [record for record in file.records if isinstance(record, InvalidRecord)]
    raise_for_invalid_records(file.name, unreadable, file.unit)
    reviews = []
    for record in file.records:
        if isinstance(record, ImportedReview) and record.annotator in (None, name):
            reviews.append(record)
    if not reviews:
        raise LabelImportError(_no_reviews_message(file, name))
    return reviews


def _build_events(
    store: Store, annotator: str, reviews: Sequence[ImportedReview], file: ReviewFile
) -> tuple[list[tuple[ImportedReview, Event]], list[InvalidRecord]]:
    """Build the event of a journal for each review.

    Returns the events with their reviews, and the invalid records in the order of the file. A
    review is invalid if the store does not have its item, or if a journal cannot hold its values.
    """
    reviews_with_items, invalid = _find_items_of_reviews(store, reviews, file)
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    events: list[tuple[ImportedReview, Event]] = []
    for review, item in _add_overridden_verdicts(store, reviews_with_items):
        try:
            event = _build_event(review, item, annotator, now)
        except LineError as error:
            invalid.append(InvalidRecord(review.line, str(error)))
        else:
            events.append((review, event))
    invalid.sort(key=lambda record: record.line)
    return events, invalid


def _find_items_of_reviews(
    store: Store, reviews: Sequence[ImportedReview], file: ReviewFile
) -> tuple[list[tuple[ImportedReview, _StoredItem]], list[InvalidRecord]]:
    """Find the item of each review. Returns the reviews with their items, and an invalid record for
    each review without an item.
    """
    item_ids = {review.key_fields["id"] for review in reviews}
    finder = _ItemFinder(store, item_ids, file)
    reviews_with_items: list[tuple[ImportedReview, _StoredItem]] = []
    invalid = []
    for review in reviews:
        try:
            item = finder.find_reviewed_item(review)
        except ValueError as error:
            invalid.append(InvalidRecord(review.line, str(error)))
        else:
            reviews_with_items.append((review, item))
    return reviews_with_items, invalid


def _select_new_events(
    store: Store, events: Iterable[tuple[ImportedReview, Event]]
) -> LabelImportResult:
    """Select the imported reviews that are new for this workspace, and count the others.

    A review is not new if the workspace already has it, or has a later opinion by the same
    annotator.
    """
    result = LabelImportResult()
    existing = _ExistingReviews(store)
    for review, event in events:
        if existing.has_review(review, event):
            result.already += 1
        elif existing.has_newer_opinion(review, event):
            result.older += 1
        else:
            # The same review can occur twice in the file.
            existing.add_event(event)
            result.written.append(event)
    return result


class _ExistingReviews:
    """The events and opinions in the workspace, to compare imported reviews with. They are cached
    by item, because a file can have thousands of reviews of one item.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._event_ids: dict[ItemKey, set[str]] = {}
        self._opinions: dict[tuple[ItemKey, str, str], dict[tuple[str, ...], Opinion]] = {}

    def has_review(self, review: ImportedReview, event: Event) -> bool:
        """Whether the annotator of an event has the same review of the item: an event with one of
        its ids, or an opinion that says the same.
        """
        ids = {event.event, *review.exported_events}
        if not self._get_event_ids(event).isdisjoint(ids):
            return True
        opinion = self.find_opinion(event)
        return opinion is not None and _is_repetition_of(event, opinion)

    def has_newer_opinion(self, review: ImportedReview, event: Event) -> bool:
        """Whether the annotator has a later opinion. A review without a time counts as newer."""
        opinion = self.find_opinion(event)
        return opinion is not None and review.time is not None and opinion.time >= event.time

    def add_event(self, event: Event) -> None:
        """Add a new event, which `has_review` finds from then on."""
        self._get_event_ids(event).add(event.event)

    def _get_event_ids(self, event: Event) -> set[str]:
        """Return the ids of all events on the event's item by the event's annotator."""
        if event.key not in self._event_ids:
            self._event_ids[event.key] = {
                earlier.event
                for earlier in self._store.reviews.events.get_history(event.key)
                if earlier.annotator == event.annotator
            }
        return self._event_ids[event.key]

    def find_opinion(self, event: Event) -> Opinion | None:
        """Return the annotator's opinion on the target and criterion of an event."""
        answer = (event.key, event.prediction_hash, event.golden_hash)
        if answer not in self._opinions:
            opinions: dict[tuple[str, ...], Opinion] = {}
            for opinion in self._store.reviews.events.compute_opinions(*answer):
                if not is_stale(event, opinion.prediction_hash, opinion.golden_hash):
                    opinions.setdefault(_opinion_key(opinion), opinion)
            self._opinions[answer] = opinions
        return self._opinions[answer].get(_opinion_key(event))


def _opinion_key(review: Event | Opinion) -> tuple[str, ...]:
    return review.annotator, review.target, review.criterion, review.act


def _is_repetition_of(event: Event, opinion: Opinion) -> bool:
    """Return whether the event would not change the opinion."""
    return not any(_changes_field(event, opinion, name) for name in ANNOTATION_FIELDS)


def _changes_field(event: Event, opinion: Opinion, name: str) -> bool:
    """Whether an event gives a field of the opinion another value. A field that the event lacks
    stays, except the fault: an event with a verdict also sets or clears the fault.
    """
    new_value = getattr(event, name)
    present_value = getattr(opinion, name)
    if name == "verdict":
        return new_value is not None and not is_same_verdict(present_value, new_value)

    clears_fault = name == "fault" and event.verdict is not None
    if new_value is None and not clears_fault:
        return False
    # An empty value, such as no tags, is the same as none.
    return (new_value or None) != (present_value or None)


_KEY_COLUMNS = (
    "r.benchmark",
    "r.generation",
    "r.language",
    "r.model",
    "i.category",
    "i.id",
)
"""SQL of the fields of `ItemKey`."""


class _ItemFinder:
    def __init__(self, store: Store, ids: set[str], file: ReviewFile) -> None:
        """Read the items with the given ids from the store, to find the item of each review.

        Several items can have the same id, in other runs or benchmarks. `file` says in which runs
        to search, and which ones to prefer.
        """
        self._scope = frozenset(file.preferred_runs)
        self._by_id: dict[str, list[_StoredItem]] = {}
        for stored in _fetch_stored_items(store, ids, file.run_number):
            self._by_id.setdefault(stored.key.id, []).append(stored)

    def find_reviewed_item(self, review: ImportedReview) -> _StoredItem:
        """Return the item of a review.

        Raises ValueError unless exactly one item matches and has the target.
        """
        item = self._find_item_by_key(review)
        if item.has_hashes_of(review):
            raise_if_target_is_missing(
                review.annotation.target, item.key.id, item.n_turns, item.n_pairs_by_turn
            )
        return item

    def _find_item_by_key(self, review: ImportedReview) -> _StoredItem:
        """Return the item of the workspace that an imported review is about.

        Raises ValueError if no item matches, or items with different keys.
        """
        matching = self._list_preferred_items(review.key_fields)
        keys = {item.key for item in matching}
        if len(keys) > 1:
            item_id = review.key_fields["id"]
            names = " and ".join(_list_differing_fields(keys))
            raise ValueError(f"{item_id} matches {len(keys)} items: add {names} to the record")

        # Several runs of a model can have different answers to the same item. A review without
        # hashes, or of an earlier answer, belongs to all of them, so the first one stands for them.
        hashes = (review.prediction_hash, review.golden_hash)
        for item in matching:
            if (item.prediction_hash, item.golden_hash) == hashes:
                return item
        return matching[0]

    def _list_preferred_items(self, key_fields: Mapping[str, str]) -> list[_StoredItem]:
        """Return the items that have these fields in their keys. If their keys differ, those of the
        selected runs count, if there are any.
        """
        matching = self._list_matching_items(key_fields)
        if len({item.key for item in matching}) == 1:
            return matching
        preferred = [item for item in matching if item.run in self._scope]
        return preferred or matching

    def _list_matching_items(self, key_fields: Mapping[str, str]) -> list[_StoredItem]:
        """Return the items that have these fields in their keys. Raises ValueError without one."""
        matching = []
        for item in self._by_id.get(key_fields["id"], []):
            # A review may state only some fields of the key.
            if key_fields.items() <= item.key._asdict().items():
                matching.append(item)
        if not matching:
            listed = ", ".join(f"{name} {value}" for name, value in key_fields.items())
            raise ValueError(f"item not found: {listed}")
        return matching


def _fetch_stored_items(
    store: Store, ids: Iterable[str], run_number: int | None
) -> list[_StoredItem]:
    """Return the items with these ids: those of one run or, without a number, those of all runs."""
    # Without a number of a run ($2), the comparison with it is NULL, and all runs count.
    rows = store.connection.execute(
        f"SELECT i.item, i.run, {', '.join(_KEY_COLUMNS)}, coalesce(i.prediction_hash, ''),"
        " coalesce(i.golden_hash, ''), i.n_turns,"
        " list_transform(coalesce(i.pairs, []), lambda p: p.turn)"
        " FROM item_rows i JOIN runs r USING (run) WHERE i.id IN (SELECT unnest($1::VARCHAR[]))"
        " AND coalesce(i.run = $2, true) ORDER BY i.item",
        [sorted(ids), run_number],
    ).fetchall()
    items = []
    for item, run, *key_fields, prediction_hash, golden_hash, n_turns, turns_of_pairs in rows:
        stored = _StoredItem(
            item,
            run=run,
            key=ItemKey(*key_fields),
            prediction_hash=prediction_hash,
            golden_hash=golden_hash,
            n_turns=n_turns,
            n_pairs_by_turn=Counter(turns_of_pairs),
        )
        items.append(stored)
    return items


def _list_differing_fields(keys: Collection[ItemKey]) -> list[str]:
    names = []
    for name in ItemKey._fields:
        if len({getattr(key, name) for key in keys}) > 1:
            names.append(name)
    return names


@dataclass(frozen=True, slots=True)
class _StoredItem:
    item: int
    run: int
    key: ItemKey
    prediction_hash: str
    golden_hash: str
    n_turns: int
    n_pairs_by_turn: Counter[int]  # turns count from 0

    def has_hashes_of(self, review: ImportedReview) -> bool:
        """Return whether the review is about this prediction and golden answer.

        A missing hash counts as equal.
        """
        has_prediction_hash = review.prediction_hash in ("", self.prediction_hash)
        has_golden_hash = review.golden_hash in ("", self.golden_hash)
        return has_prediction_hash and has_golden_hash


def raise_if_target_is_missing(
    target: str, item_id: str, n_turns: int, n_pairs_by_turn: Counter[int]
) -> None:
    """Raise ValueError, with advice, if an item does not have the target of a review.

    Args:
        target: The target, such as `turn:2/call:1`, in which numbers count from 1.
        item_id: Id of the item, for the message.
        n_turns: Number of turns of the item.
        n_pairs_by_turn: Turn, from 0 -> number of its call pairs.
    """
    part = parse_address(target)
    if part is None:
        return
    # Calls may be in turns without messages.
    n_turns_with_pairs = max(n_pairs_by_turn, default=-1) + 1
    n_all_turns = max(n_turns, n_turns_with_pairs)
    n_pairs = n_pairs_by_turn[part.turn]
    if part.turn >= n_all_turns:
        raise ValueError(
            f"target {target} does not exist: {item_id} has {format_count(n_all_turns, 'turn')}"
        )
    if part.call is not None and part.call >= n_pairs:
        raise ValueError(_describe_missing_call(target, item_id, part.turn + 1, n_pairs))


def _describe_missing_call(target: str, item_id: str, turn: int, n_pairs: int) -> str:
    """Say that a turn has too few call pairs for a target. `turn` counts from 1."""
    if n_pairs:
        return (
            f"target {target} does not exist: turn {turn} of {item_id} has"
            f" {format_count(n_pairs, 'call')}"
        )
    advice = f"no call of turn {turn} is compared with a golden call. Use turn:{turn} or item"
    return f"target {target} does not exist in {item_id}: {advice}"


def _add_overridden_verdicts(
    store: Store, located: Sequence[tuple[ImportedReview, _StoredItem]]
) -> Iterator[tuple[ImportedReview, _StoredItem]]:
    """Yield the reviews and items, and add to each new review the automatic verdict that it
    overrides.
    """
    annotations_by_position = []
    for review, item in located:
        # All reviews have a place in the list, so that the results fit them. An annotation without
        # a verdict overrides nothing.
        annotation = Annotation()
        if _can_determine_override(review, item):
            annotation = review.annotation
        annotations_by_position.append((item.item, annotation))

    overridden_verdicts = store.find_overridden_verdicts(annotations_by_position)
    for (review, item), overridden in zip(located, overridden_verdicts, strict=True):
        if overridden:
            annotation = replace(review.annotation, overrules=overridden)
            yield replace(review, annotation=annotation), item
        else:
            yield review, item


def _can_determine_override(review: ImportedReview, item: _StoredItem) -> bool:
    """Whether fcreview can find out which automatic verdict an imported review overrides.

    The review must be new (without a time), not blind, and about the present answer. It must not
    state an overridden verdict itself.
    """
    is_new_and_not_blind = review.blind is False and review.time is None
    is_on_present_answer = item.has_hashes_of(review)
    return is_new_and_not_blind and is_on_present_answer and review.annotation.overrules is None


_ANNOTATION_FIELDS = [each.name for each in fields(Annotation)]
_IDENTIFYING_FIELDS = [
    each.name for each in fields(Event) if each.name not in ("event", "place", "previous", "hash")
]
"""Fields of an imported event whose values determine its id."""
_NEWER_FIELDS = ("bulk", "golden_status", "golden_verdicts")
"""Fields that older versions do not know."""


def _build_event(
    review: ImportedReview, item: _StoredItem, annotator: str, import_time: str
) -> Event:
    """Make the journal event of an imported review.

    Its id is a hash of its content, so that importing the same file again gives the same events.
    Raises LineError if a journal cannot hold the event.
    """
    event = Event(
        **{name: getattr(review.annotation, name) for name in _ANNOTATION_FIELDS},
        event="",  # `_derive_event_id` needs the other fields
        time=review.time or import_time,
        annotator=annotator,
        key=item.key,
        prediction_hash=review.prediction_hash or item.prediction_hash,
        golden_hash=review.golden_hash or item.golden_hash,
        blind=review.blind,
        bulk=review.bulk,
    )
    event.event = _derive_event_id(event)
    # This checks the event. The journal makes its line later, when it knows the line before.
    hash_and_serialize_event(event, "")
    return event


def _derive_event_id(event: Event) -> str:
    """Return the id of an imported event, a hash of its content.

    An event without a newer field has the same id as in versions without the field.
    """
    content = {}
    for name in _IDENTIFYING_FIELDS:
        value = getattr(event, name)
        if value is not None or name not in _NEWER_FIELDS:
            content[name] = value
    return json_hash(content, 16, default=tuple)


def _no_reviews_message(file: ReviewFile, annotator: str) -> str:
    """Return the message that a file has no reviews by the annotator. It names the annotators whose
    reviews the file has.
    """
    counts = Counter(
        each.annotator
        for each in file.records
        if isinstance(each, ImportedReview) and each.annotator
    )
    if not counts:
        return f"{file.name} has no reviews by {annotator}"
    listed = ", ".join(f"{name} ({count:,})" for name, count in counts.most_common(8))
    advice = "To import the reviews of one of them, pass --said-by NAME to fcreview import-labels."
    return f"{file.name} has no reviews by {annotator}, only by {listed}. {advice}"

"""Reviews that come from a file: what one is, and what makes it none. Which item it is about is found by `placing`.

Finds the items that incoming reviews are about, and writes to the annotator's journal what is not said there yet.

Twice is the same as once: an event's number is made of what it says, so merged copies of a workspace hold it once, and
what the annotator thinks already is not written again. What they said later stands: an older review is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fcreview.errors import FcreviewError
from fcreview.model.address import FORMS, ITEM, is_address, part_of
from fcreview.model.decision import SETTLING, is_stale, settles
from fcreview.model.json_value import json_hash
from fcreview.model.review import CORRECT, PARTS, Event, ItemKey, Opinion, Said, problem
from fcreview.model.verdict import alike
from fcreview.model.wording import answered, count_of, off_scale
from fcreview.store.labels.fields import VERDICT_KEY
from fcreview.store.reviews.journal_format import LineError, seal_event

if TYPE_CHECKING:
    from fcreview.store.reviews.journal import Journal
    from fcreview.store.store import Store


MAX_LISTED_PROBLEMS = 10
"""Mistakes of one file that are told."""


class LabelImportError(FcreviewError):
    """A file that was not taken in; nothing of it was written."""


@dataclass(frozen=True, slots=True)
class InvalidRecord:
    """What is wrong at one place of the file."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class ImportedReview:
    """What somebody said, as a file has it."""

    line: int
    """Of the file, from 1; in Label Studio's the number of the task."""
    key_fields: dict[str, str]
    """Of `ItemKey` what the file says: `id`, and as much more as tells the item from others."""
    annotation: Said
    annotator: str | None = None
    """None: whoever takes the file in."""
    time: str | None = None
    """UTC, ISO 8601 with milliseconds; None: now."""
    blind: bool | None = None
    """False of what is said here and now too, see `as_said_here`."""
    prediction_hash: str = ""
    """Of the answer that was reviewed; empty: the present one. So `golden_hash`."""
    golden_hash: str = ""


def parse_review(line: int, label: Mapping[str, Any], opinion: Mapping[str, Any], *, check_scale: bool = False) -> ImportedReview:
    """From the fields of a label (`id`, `target` ...) and of an opinion (`value`, `fault` ...), see `labels.fields`;
    only `id` and something said are needed. `written` by hand, a value must be on the criterion's scale; what comes
    from a journal was taken once. A value may also be a word of the criterion's scale. ValueError for what is
    no review."""
    for name in (*ItemKey._fields, "target", "criterion"):
        if not isinstance(label.get(name, ""), str):
            raise ValueError(f"{name} is not text")
    if not label.get("id"):
        raise ValueError("no id")
    target, criterion = label.get("target", ITEM), label.get("criterion", CORRECT)
    if not is_address(target):
        raise ValueError(f"no target {target!r}: {FORMS}")
    parts = {name: opinion.get(VERDICT_KEY if name == "verdict" else name) for name in PARTS}
    if check_scale and isinstance(parts["verdict"], str) and off_scale(criterion, parts["verdict"]):
        parts["verdict"] = answered(criterion, parts["verdict"])
    for name, value in parts.items():
        wrong = None if value is None else problem(name, value)
        if wrong or (check_scale and name == "verdict" and value is not None and (wrong := off_scale(criterion, value))):
            raise ValueError(wrong.replace("verdict is", f"{VERDICT_KEY} is"))
    act = opinion.get("act", "review")
    if act not in ("review", "adjudicate"):
        raise ValueError(f"no act {act!r}: there are review and adjudicate")
    return ImportedReview(
        line,
        {name: label[name] for name in ItemKey._fields if label.get(name)},
        Said(act=act, target=target, criterion=criterion, **parts),
        _text(opinion, "annotator") or None,
        normalize_time(_text(opinion, "time")),
        opinion.get("blind") if isinstance(opinion.get("blind"), bool) else None,
        _text(opinion, "prediction_hash") or _text(label, "prediction_hash"),
        _text(opinion, "golden_hash") or _text(label, "golden_hash"),
    )


def as_adjudication(said: ImportedReview | InvalidRecord) -> ImportedReview | InvalidRecord:
    """The same as an act that settles its target; a mistake if it would settle nothing."""
    if isinstance(said, InvalidRecord):
        return said
    if not settles(said.annotation):
        return InvalidRecord(said.line, f"settles nothing: {SETTLING}")
    return replace(said, said=replace(said.annotation, act="adjudicate"))


def as_said_here(said: ImportedReview | InvalidRecord) -> ImportedReview | InvalidRecord:
    """The same as said now, of items that are shown as they are; what the file gives a time was said at that time."""
    if isinstance(said, InvalidRecord) or said.time is not None or said.blind is not None:
        return said
    return replace(said, blind=False)


def normalize_time(text: str) -> str | None:
    """A time as events have it; None for an empty text. ValueError if it is no time."""
    if not text:
        return None
    time = datetime.fromisoformat(text)
    time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def raise_if_invalid(file: str, mistakes: list[InvalidRecord], unit: str) -> None:
    """IncomingError, if there are mistakes."""
    if mistakes:
        told = [f"{file} {unit} {each.line}: {each.reason}" for each in mistakes[:MAX_LISTED_PROBLEMS]]
        more = [f"and {count_of(len(mistakes) - MAX_LISTED_PROBLEMS, 'more mistake')}"] if len(mistakes) > MAX_LISTED_PROBLEMS else []
        raise LabelImportError("\n".join([*told, *more, "nothing was written"]))


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is not text")
    return value or ""


@dataclass(slots=True)
class LabelImportResult:
    """What came of a file."""

    written: list[Event] = field(default_factory=list)
    already: int = 0
    """The annotator thinks so already, or said just this and took it back."""
    older: int = 0
    """The annotator has said something else of the same since."""


@dataclass(frozen=True, slots=True)
class File:
    """What was read of a file."""

    name: str
    found: Sequence[ImportedReview | InvalidRecord]
    unit: str = "line"
    run: int | None = None
    """All of it is about items of this run."""
    scope: Sequence[int] = ()
    """Of an id that several runs have, an item of these is meant."""


def take_in(store: Store, journal: Journal, file: File, said_by: str | None = None) -> LabelImportResult:
    """Writes the reviews of the journal's annotator, who may have another name in the file (`said_by`).

    IncomingError, and nothing is written, if anything in the file is wrong or it has no review of theirs.
    """
    name = said_by or journal.annotator
    mine = [each for each in file.found if isinstance(each, ImportedReview) and each.annotator in (None, name)]
    mistakes = [each for each in file.found if isinstance(each, InvalidRecord)]
    raise_if_invalid(file.name, mistakes, file.unit)
    if not mine:
        raise LabelImportError(_nobody(file, name))
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    with store.lock:
        store.refresh_reviews()
        items = _Items(store, {each.key_fields["id"] for each in mine}, file)
        about: list[tuple[ImportedReview, _Item]] = []
        for each in mine:
            try:
                about.append((each, items.find(each)))
            except ValueError as error:
                mistakes.append(InvalidRecord(each.line, str(error)))
        events: list[tuple[ImportedReview, Event]] = []
        for each, item in _overruling(store, about):
            try:
                events.append((each, _event(each, item, journal.annotator, now)))
            except LineError as error:
                mistakes.append(InvalidRecord(each.line, str(error)))
        raise_if_invalid(file.name, sorted(mistakes, key=lambda each: each.line), file.unit)
        placed = _new(store, events)
    placed.written = journal.extend(placed.written)
    with store.lock:
        store.reviews.add(placed.written)
    return placed


def _new(store: Store, events: Iterable[tuple[ImportedReview, Event]]) -> LabelImportResult:
    """What is to be written."""
    placed = LabelImportResult()
    said_before = _SaidBefore(store)
    for said, event in events:
        known, own = said_before.of(event)
        if event.event in known or (own is not None and _thinks(own, event)):
            placed.already += 1
        elif own is not None and said.time is not None and own.time >= event.time:
            placed.older += 1
        else:
            known.add(event.event)
            placed.written.append(event)
    return placed


class _SaidBefore:
    """What was said of items until now, looked up once each: a file may have thousands of reviews of one item."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[ItemKey, set[str]] = {}
        self._own: dict[tuple[ItemKey, str, str], dict[tuple[str, ...], Opinion]] = {}

    def of(self, event: Event) -> tuple[set[str], Opinion | None]:
        """Ids of events about the item, which may be added to; what the annotator answers to the same question."""
        key, shown = event.key, (event.prediction_hash, event.golden_hash)
        if key not in self._known:
            self._known[key] = {each.event for each in self._store.reviews.history(key)}
        if (key, *shown) not in self._own:
            own = self._own[key, *shown] = {}
            for each in self._store.reviews.opinions(key, *shown):
                if not is_stale(event, each.prediction_hash, each.golden_hash):
                    own.setdefault(_question(each), each)
        return self._known[key], self._own[key, *shown].get(_question(event))


def _question(of: Event | Opinion) -> tuple[str, ...]:
    return of.annotator, of.target, of.criterion, of.act


def _thinks(opinion: Opinion, event: Event) -> bool:
    """Whether the event would change nothing. One with a verdict also sets the fault, or takes it back."""
    if event.verdict is not None and not alike(opinion.verdict, event.verdict):
        return False
    for name in PARTS:
        said, held = getattr(event, name), getattr(opinion, name)
        silent = said is None and (name != "fault" or event.verdict is None)
        if name != "verdict" and not silent and (said or None) != (held or None):
            return False
    return True


class _Items:
    """The items that have one of these ids."""

    def __init__(self, store: Store, ids: set[str], file: File) -> None:
        self._scope = frozenset(file.scope)
        rows = store.connection.execute(
            "SELECT i.id, i.item, i.run, r.benchmark, r.generation, r.language, r.model, i.category, i.prediction_hash,"
            " i.golden_hash, i.n_turns, list_transform(coalesce(i.pairs, []), lambda p: p.turn)"
            " FROM item_rows i JOIN runs r USING (run) WHERE i.id IN (SELECT unnest($1::VARCHAR[]))"
            " AND coalesce(i.run = $2, true) ORDER BY i.item",
            [sorted(ids), file.run],
        ).fetchall()
        self._by_id: dict[str, list[_Item]] = {}
        for name, item, run, benchmark, generation, language, model, category, prediction, golden, turns, pairs in rows:
            key = ItemKey(benchmark, generation, language, model, category, name)
            found = _Item(item, run, key, prediction or "", golden or "", turns, Counter(pairs))
            self._by_id.setdefault(name, []).append(found)

    def find(self, said: ImportedReview) -> _Item:
        """ValueError if there is no such item or target, or it may be several."""
        item = self._item(said)
        if item.is_shown_by(said):
            item.check(said.annotation.target)
        return item

    def _item(self, said: ImportedReview) -> _Item:
        wanted = said.key_fields.items()
        found = [each for each in self._by_id.get(said.key_fields["id"], []) if wanted <= each.key._asdict().items()]
        if len({each.key for each in found}) > 1:
            found = [each for each in found if each.run in self._scope] or found
        keys = {each.key for each in found}
        if not found:
            names = ", ".join(f"{name} {value}" for name, value in wanted)
            raise ValueError(f"no such item: {names}")
        if len(keys) > 1:
            differ = [name for at, name in enumerate(ItemKey._fields) if len({key[at] for key in keys}) > 1]
            raise ValueError(f"{said.key_fields['id']} is {len(keys)} items: say which {' and '.join(differ)}")
        hashes = (said.prediction_hash, said.golden_hash)
        return next((each for each in found if (each.prediction_hash, each.golden_hash) == hashes), found[0])


@dataclass(frozen=True, slots=True)
class _Item:
    item: int
    run: int
    key: ItemKey
    prediction_hash: str
    golden_hash: str
    n_turns: int
    pairs: Counter[int]
    """Call pairs by turn, from 0."""

    def is_shown_by(self, said: ImportedReview) -> bool:
        """Whether it is about the present prediction and golden answer."""
        return said.prediction_hash in ("", self.prediction_hash) and said.golden_hash in ("", self.golden_hash)

    def check(self, target: str) -> None:
        """ValueError for a turn or call that the item does not have."""
        check_target(target, self.key.id, max([self.n_turns, *(turn + 1 for turn in self.pairs)]), self.pairs)


def check_target(target: str, name: str, turns: int, pairs: Counter[int]) -> None:
    """ValueError for a turn or call that an item with these turns and call pairs (by turn, from 0) does not have."""
    part = part_of(target)
    if part is None:
        return
    if part.turn >= turns:
        raise ValueError(f"{name} has {count_of(turns, 'turn')}: no {target}")
    calls = pairs[part.turn]
    if part.call is not None and part.call >= calls:
        has = count_of(calls, "call") if calls else "no calls"
        raise ValueError(f"turn {part.turn + 1} of {name} has {has}: no {target}")


def _overruling(store: Store, about: Sequence[tuple[ImportedReview, _Item]]) -> Iterator[tuple[ImportedReview, _Item]]:
    """Verdicts that are given now name the benchmark's own that they contradict, as those from the screens do."""
    asked = [(item.item, each.annotation if _now(each, item) else Said()) for each, item in about]
    for (each, item), overrules in zip(about, store.overruled(asked), strict=True):
        yield (replace(each, said=replace(each.annotation, overrules=overrules)) if overrules else each), item


def _now(said: ImportedReview, item: _Item) -> bool:
    here = said.blind is False and said.time is None and item.is_shown_by(said)
    return here and said.annotation.overrules is None


def _event(said: ImportedReview, item: _Item, annotator: str, now: str) -> Event:
    """LineError for what no journal takes."""
    event = Event(
        **asdict(said.annotation),
        event="new",
        time=said.time or now,
        annotator=annotator,
        key=item.key,
        prediction_hash=said.prediction_hash or item.prediction_hash,
        golden_hash=said.golden_hash or item.golden_hash,
        blind=said.blind,
    )
    event.event = _number(event)
    seal_event(event, "")
    return event


def _number(event: Event) -> str:
    """128 bits in hex, of all that the event says."""
    content = {name: value for name, value in asdict(event).items() if name not in ("event", "previous", "hash")}
    return json_hash(content, 16, default=tuple)


def _nobody(file: File, name: str) -> str:
    others = Counter(each.annotator for each in file.found if isinstance(each, ImportedReview) and each.annotator)
    there = ", ".join(f"{who} ({count:,})" for who, count in others.most_common(8))
    return f"{file.name} has no reviews by {name}" + (f": there are {there}; say whose with --said-by" if there else "")

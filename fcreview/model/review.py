"""Define reviews: the fields of an annotation, the journal event that records it, and an
annotator's current opinion.

`fold_events` combines the events of an annotator into opinions. An event with a verdict also
replaces the fault of the opinion. If an annotator gives "pass" with the fault golden and later
"fail" without a fault, the opinion is "fail" without a fault. Tags, notes and golden fixes do not
change until an event contains new ones. An event with a fault but without a verdict sets only the
fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Reversible
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from fcreview.model.address import ITEM
from fcreview.model.json_value import is_string_list

Act = Literal["review", "retract", "adjudicate"]
"""Kind of an event: `review` sets the fields that the event contains, `retract` undoes the event
with the id in `retracts`, and `adjudicate` is a review that resolves the disagreement on its
target.
"""
ACTS: tuple[Act, ...] = ("review", "retract", "adjudicate")
Fault = Literal["model", "golden", "checker", "judge", "simulator", "question"]
FAULTS: tuple[Fault, ...] = ("model", "golden", "checker", "judge", "simulator", "question")
CORRECT = "correct"
UNSURE = "unsure"
ITEM_CORRECT = (ITEM, CORRECT)
JOURNAL_VERSION = 1

FieldKind = Literal["text", "texts", "object", "value", "flag", "count"]
"""Type of a review field in JSON: string, list of strings, object, verdict, boolean, or integer
of at least 1.
"""


_IS_KIND: dict[FieldKind, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "texts": is_string_list,
    "object": lambda value: isinstance(value, dict),
    "value": lambda value: (
        math.isfinite(value)
        if isinstance(value, float)
        else isinstance(value, (bool, int, str)) or is_string_list(value)
    ),
    "flag": lambda value: isinstance(value, bool),
    "count": lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
}


def _make_field_metadata(kind: FieldKind, allowed_values: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"kind": kind, "allowed": allowed_values}


class ItemKey(NamedTuple):
    """Identity of a reviewed item, which re-imports, renamed folders and merges do not change."""

    benchmark: str
    generation: str
    language: str
    model: str
    category: str
    id: str


class QuestionKey(NamedTuple):
    """Identity of a question in the runs of all models."""

    benchmark: str
    generation: str
    language: str
    category: str
    id: str


@dataclass(slots=True, kw_only=True)
class Annotation:
    """Review of one target and criterion.

    A field of None keeps the earlier value; an empty note or list removes it.
    """

    act: Act = "review"
    target: str = ITEM
    criterion: str = CORRECT
    verdict: Any = field(default=None, metadata=_make_field_metadata("value"))
    """Verdict: true, false, "unsure", a finite number, a label or a list of labels."""
    fault: Fault | None = field(default=None, metadata=_make_field_metadata("text", FAULTS))
    tags: list[str] | None = field(default=None, metadata=_make_field_metadata("texts"))
    note: str | None = field(default=None, metadata=_make_field_metadata("text"))
    golden_fix: dict[str, Any] | None = field(default=None, metadata=_make_field_metadata("object"))
    golden_status: str | None = field(default=None, metadata=_make_field_metadata("text"))
    """What the annotator decided about the golden answer: `accepted`, `proposed` or `rejected`
    (see `fcreview.model.golden_fix`). None if the fix is only a note for the maintainers.
    """
    golden_verdicts: dict[str, Any] | None = field(
        default=None, metadata=_make_field_metadata("object")
    )
    """Recomputed verdicts that `golden_fix` changes, by model and hash of the prediction."""
    overrules: dict[str, Any] | None = field(default=None, metadata=_make_field_metadata("object"))
    """Automatic verdict that the annotator's verdict overrides: {source, by, value} as in
    `model.item.Verdict`. fcreview sets this field. A later event without a verdict can add the
    annotator's reason under the key `reason`.
    """

    @property
    def reason(self) -> str:
        """Reason for the override; empty if the annotator gave none."""
        reason = (self.overrules or {}).get("reason")
        return reason if isinstance(reason, str) else ""


@dataclass(slots=True, kw_only=True)
class Event(Annotation):
    """One line of a journal, `.fcreview/reviews/<annotator>.jsonl`."""

    event: str
    """Random 128-bit id in hex.

    It identifies the event when fcreview merges copies of a journal.
    """
    time: str
    annotator: str
    key: ItemKey
    """Identity of the reviewed item, stored as a JSON object with the field names of `ItemKey`."""
    prediction_hash: str = ""
    golden_hash: str = ""
    retracts: str | None = field(default=None, metadata=_make_field_metadata("text"))
    blind: bool | None = field(default=None, metadata=_make_field_metadata("flag"))
    """Whether other verdicts were hidden from the annotator; None if unknown, as in retractions
    and old journals.
    """
    queue: str | None = field(default=None, metadata=_make_field_metadata("text"))
    """Queue file in which the annotator opened the item; None if the annotator did not use a
    queue file.
    """
    presentation: int | None = field(default=None, metadata=_make_field_metadata("count"))
    """2 for a hidden duplicate. Its review measures self-agreement and never decides a verdict."""
    bulk: str | None = field(default=None, metadata=_make_field_metadata("text"))
    """Id of the bulk review to which the event belongs. A bulk review gives one verdict to all
    items of a cluster. Agreement, calibration, estimates and self-agreement ignore bulk reviews.
    """
    place: list[str] | None = field(default=None, metadata=_make_field_metadata("texts"))
    """Place of the event in the order of the annotator's events (see `store.reviews.line_order`);
    None in journals of older versions.
    """
    previous: str = ""
    hash: str = ""
    """Hash of this event: BLAKE2b (16 bytes, as hex) of its canonical JSON (sorted keys) without
    this field.
    """
    version: int = JOURNAL_VERSION
    extra: dict[str, Any] | None = None
    """Fields from a newer version of fcreview. fcreview does not change them."""


@dataclass(slots=True, kw_only=True)
class Opinion(Annotation):
    """An annotator's current review of one target and criterion, combined from all events of the
    annotator.
    """

    annotator: str
    time: str = ""
    blind: bool | None = None
    bulk: str | None = None
    prediction_hash: str = ""
    golden_hash: str = ""
    stale: bool = False
    """Whether the prediction or the golden answer changed after the review."""

    @property
    def is_adjudication(self) -> bool:
        return self.act == "adjudicate"


ANNOTATION_FIELDS: tuple[str, ...] = tuple(
    each.name for each in fields(Annotation) if each.metadata
)
_OPTIONAL = {each.name: each.metadata for each in fields(Event) if each.metadata}
OPTIONAL_FIELDS: dict[str, FieldKind] = {
    name: metadata["kind"] for name, metadata in _OPTIONAL.items()
}


def describe_field_error(name: str, value: Any) -> str | None:
    """Describe why a value of one of `OPTIONAL_FIELDS` is invalid: `fault must be one of model,
    golden`; else None.
    """
    metadata = _OPTIONAL[name]
    is_kind = _IS_KIND[metadata["kind"]]
    if not is_kind(value):
        return f"{name} has the wrong type"

    allowed_values = metadata["allowed"]
    if allowed_values and value not in allowed_values:
        return f"{name} must be one of {', '.join(allowed_values)}"
    return None


RetractedEvent = tuple[str, str]
"""(event id, annotator) of a retracted event."""


def find_retracted_events(events: Iterable[Event]) -> set[RetractedEvent]:
    """Find the retracted events. Annotators can retract only their own events."""
    return {
        (event.retracts, event.annotator)
        for event in events
        if event.act == "retract" and event.retracts
    }


def find_last_event(
    events: Reversible[Event], annotator: str, retracted: set[RetractedEvent]
) -> Event | None:
    """Return the latest event of an annotator that is neither retracted nor a retraction, or
    None.
    """
    for event in reversed(events):
        if event.annotator != annotator or event.act == "retract":
            continue
        if (event.event, annotator) not in retracted:
            return event
    return None


def is_stale(event: Event, prediction_hash: str, golden_hash: str) -> bool:
    """Whether the prediction or the golden answer changed after the annotator recorded the event.
    An empty hash means that the answer is unknown. An unknown answer never makes an event stale.
    """
    return _is_changed(event.prediction_hash, prediction_hash) or _is_changed(
        event.golden_hash, golden_hash
    )


def _is_changed(recorded_hash: str, current_hash: str) -> bool:
    is_known = recorded_hash != "" and current_hash != ""
    return is_known and recorded_hash != current_hash


def fold_events(
    events: Iterable[Event],
    retracted: set[RetractedEvent],
    prediction_hash: str = "",
    golden_hash: str = "",
    presentation: int = 1,
) -> list[Opinion]:
    """Combine the journal events of one item into the current opinions of the annotators.

    An annotator has one opinion on each target (the item or a part of it) and criterion, and
    another one as adjudicator. An event changes only the fields that it contains. An opinion on an
    earlier answer is stale, and is dropped when the annotator reviews the current answer.

    Args:
        events: The events in journal order.
        retracted: Events that an annotator undid. They do not count.
        prediction_hash: Hash of the current answer, or an empty text if it is unknown.
        golden_hash: Hash of the current golden answer, likewise.
        presentation: 1 for normal reviews, 2 for reviews of hidden duplicates.
    """
    opinions: dict[tuple[str, str, str, str], Opinion] = {}
    for event in events:
        if event.act == "retract" or (event.event, event.annotator) in retracted:
            continue
        if (event.presentation or 1) != presentation:
            continue

        subject = (event.annotator, event.target, event.criterion, event.act)
        opinion = opinions.get(subject)
        is_about_earlier_answer = is_stale(event, prediction_hash, golden_hash)
        # A review of the current answer is not changed by one of an earlier answer.
        if opinion is not None and not opinion.stale and is_about_earlier_answer:
            continue
        # The first review of the current answer replaces that of an earlier answer.
        if opinion is None or opinion.stale != is_about_earlier_answer:
            opinion = _start_opinion(event, is_stale=is_about_earlier_answer)
            opinions[subject] = opinion
        _update_opinion(opinion, event)
    return list(opinions.values())


def _start_opinion(event: Event, *, is_stale: bool) -> Opinion:
    """Return an opinion without values yet, on what the event is about."""
    return Opinion(
        annotator=event.annotator,
        target=event.target,
        criterion=event.criterion,
        act=event.act,
        stale=is_stale,
    )


def _update_opinion(opinion: Opinion, event: Event) -> None:
    """Apply an event to the opinion of its annotator."""
    opinion.time = event.time
    opinion.prediction_hash = event.prediction_hash
    opinion.golden_hash = event.golden_hash
    if event.verdict is not None:
        # The fault and the reason were about the earlier verdict.
        opinion.fault = None
        opinion.overrules = None
        opinion.blind = event.blind
        opinion.bulk = event.bulk

    if event.golden_fix is not None or event.golden_status is not None:
        # The status and the verdicts were about the earlier fix.
        opinion.golden_fix = None
        opinion.golden_status = None
        opinion.golden_verdicts = None

    for name in ANNOTATION_FIELDS:
        value = getattr(event, name)
        # An empty text removes the earlier one.
        if value == "":
            setattr(opinion, name, None)
        elif value is not None:
            setattr(opinion, name, value)

"""Decide on the golden fixes of a question: corrected golden answers that annotators propose or
accept.

A golden answer belongs to the question, so a fix counts for the items of all runs on this question
that have the same golden answer in the dataset. Each annotator has one fix: the latest one on any
of these items.

* An adjudication decides: it accepts a fix, or rejects all of them.
* Otherwise, different fixes are a disagreement, and the dataset's golden answer counts.
* Otherwise, the fix counts if an annotator accepted it. A proposed fix does not count.

An accepted fix contains the recomputed verdicts that it changes, because only the importers can
compute them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fcreview.model.json_value import canonical_json
from fcreview.model.review import Event, ItemKey, Opinion, QuestionKey

GoldenStatus = Literal["accepted", "proposed", "rejected", "disputed"]
ACCEPTED: GoldenStatus = "accepted"
PROPOSED: GoldenStatus = "proposed"
REJECTED: GoldenStatus = "rejected"
"""An adjudicator decided that the golden answer of the dataset stays."""
DISPUTED_FIX: GoldenStatus = "disputed"

RecomputedVerdicts = Mapping[str, Mapping[str, bool | None]]
"""Model -> hash of the prediction -> recomputed verdict that a golden fix changes.

None if the fix does not change the verdict, or if it cannot be recomputed.
"""


def has_golden_fix(opinions: Iterable[Opinion]) -> bool:
    """Whether an annotator proposed or accepted a golden fix."""
    return any(opinion.golden_status is not None for opinion in opinions)


@dataclass(frozen=True, slots=True)
class RescoredVerdict:
    """Recomputed verdict on an item with a golden fix."""

    verdict: bool | None
    """None if it cannot be recomputed."""
    is_changed: bool
    """Whether the fix changes the recomputed verdict, and with it the figures of the run."""


def find_question_key(key: ItemKey) -> QuestionKey:
    """Return the key of the question of an item. It has no model, because a fix counts for all
    runs.
    """
    return QuestionKey(
        key.benchmark,
        generation=key.generation,
        language=key.language,
        category=key.category,
        id=key.id,
    )


@dataclass(frozen=True, slots=True)
class GoldenFixDecision:
    """Decision of all annotators on the golden answer of a question."""

    status: GoldenStatus
    golden_fix: dict[str, Any] | None = None
    """The fix that counts or, if it is only proposed, that would count. None without one."""
    annotators: tuple[str, ...] = ()
    """Annotators who recorded the fix, or the adjudicator."""
    time: str = ""
    verdicts: dict[str, dict[str, bool | None]] = field(default_factory=dict)
    """See `RecomputedVerdicts`."""

    @property
    def counts(self) -> bool:
        return self.status == ACCEPTED

    def is_covered(self, model: str, prediction_hash: str) -> bool:
        """Whether the recomputed verdict on a prediction is known."""
        return prediction_hash in self.verdicts.get(model, {})

    def find_verdict(self, model: str, prediction_hash: str) -> bool | None:
        """Return the recomputed verdict on a prediction that the fix changes, else None."""
        if not self.counts:
            return None
        return self.verdicts.get(model, {}).get(prediction_hash)


def decide_golden_fix(events: Iterable[Event]) -> GoldenFixDecision | None:
    """Decide whether the golden fix (corrected golden answer) of a question is proposed, accepted,
    rejected or disputed.

    An adjudication decides. Without one, different fixes are disputed, and one acceptance is enough
    for equal fixes. Returns None if no annotator proposed or accepted a fix.

    Args:
        events: Reviews with a golden fix or a status, without retracted and stale ones, in the
            journal order of each annotator.
    """
    # The journal, not the clock, decides which event of an annotator is the latest.
    latest_reviews: dict[str, Event] = {}
    latest_adjudications: dict[str, Event] = {}
    for event in events:
        if event.act == "review":
            latest_reviews[event.annotator] = event
        elif event.act == "adjudicate" and event.golden_status is not None:
            latest_adjudications[event.annotator] = event

    reviews = sorted(latest_reviews.values(), key=_get_time)
    if latest_adjudications:
        adjudication = max(latest_adjudications.values(), key=_get_time)
        return _decide_by_adjudication(adjudication, reviews)
    # A fix without a status was recorded as a note for maintainers, so it decides nothing.
    return _decide_by_reviews([event for event in reviews if event.golden_status is not None])


def _decide_by_reviews(reviews: list[Event]) -> GoldenFixDecision | None:
    """Return the decision without an adjudicator. `reviews` have a status, the earliest first."""
    if not reviews:
        return None
    different_fixes = {canonical_json(event.golden_fix) for event in reviews}
    if len(different_fixes) > 1:
        return GoldenFixDecision(DISPUTED_FIX)
    is_accepted = any(event.golden_status == ACCEPTED for event in reviews)
    return _make_decision(ACCEPTED if is_accepted else PROPOSED, reviews)


def _get_time(event: Event) -> tuple[str, str]:
    """Return the time, and the annotator, so that equal times have one order on all machines."""
    return event.time, event.annotator


def _decide_by_adjudication(adjudication: Event, reviews: Iterable[Event]) -> GoldenFixDecision:
    """Return the decision of the adjudicator on a golden fix: the accepted fix, or that all are
    rejected.
    """
    if adjudication.golden_status != ACCEPTED or not adjudication.golden_fix:
        return GoldenFixDecision(
            REJECTED, annotators=(adjudication.annotator,), time=adjudication.time
        )
    # The reviews of the same fix can cover predictions that the adjudicator's workspace lacks.
    accepted_fix = canonical_json(adjudication.golden_fix)
    equal_reviews = [event for event in reviews if canonical_json(event.golden_fix) == accepted_fix]
    decision = _make_decision(ACCEPTED, [*equal_reviews, adjudication])
    return GoldenFixDecision(
        ACCEPTED,
        golden_fix=decision.golden_fix,
        annotators=(adjudication.annotator,),
        time=adjudication.time,
        verdicts=decision.verdicts,
    )


def _make_decision(status: GoldenStatus, events: list[Event]) -> GoldenFixDecision:
    """Combine events with the same golden fix, the earliest first, into one decision.

    The events can contain verdicts: how answers (by model and hash) fare with the corrected golden
    answer. Later events override them.
    """
    verdicts: dict[str, dict[str, bool | None]] = {}
    for event in events:
        for model, verdict_by_hash in _select_valid_verdicts(event.golden_verdicts).items():
            verdicts.setdefault(model, {}).update(verdict_by_hash)
    annotators = dict.fromkeys(event.annotator for event in events)
    return GoldenFixDecision(
        status,
        golden_fix=events[0].golden_fix,
        annotators=tuple(annotators),
        time=events[-1].time,
        verdicts=verdicts,
    )


def count_changed_predictions(golden_verdicts: Any) -> int:
    """Count the predictions whose verdict a golden fix changes."""
    n_changes = 0
    for verdict_by_hash in _select_valid_verdicts(golden_verdicts).values():
        n_changes += sum(verdict is not None for verdict in verdict_by_hash.values())
    return n_changes


def count_rescored_predictions(golden_verdicts: Any) -> int:
    """Count the predictions whose verdict was recomputed with a golden fix."""
    return sum(len(by_hash) for by_hash in _select_valid_verdicts(golden_verdicts).values())


def _select_valid_verdicts(raw: Any) -> dict[str, dict[str, bool | None]]:
    """Return the verdicts of a journal line that have the form of `RecomputedVerdicts`."""
    valid: dict[str, dict[str, bool | None]] = {}
    if not isinstance(raw, dict):
        return valid
    for model, verdict_by_hash in raw.items():
        if not isinstance(verdict_by_hash, dict):
            continue
        for prediction_hash, verdict in verdict_by_hash.items():
            if verdict is None or isinstance(verdict, bool):
                valid.setdefault(model, {})[prediction_hash] = verdict
    return valid

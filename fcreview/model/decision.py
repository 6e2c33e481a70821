"""Combine the reviews of all annotators into decisions on an item.

* `fold_events` combines journal events into opinions. An opinion is an annotator's current review of one target and
  criterion.
* `decide` combines opinions into decisions. A decision is the adjudicated verdict, else the unanimous verdict, else the
  majority verdict if the policy allows it, else "disputed". An "unsure" opinion never decides.
* `find_disagreements` lists the targets that an adjudicator has to resolve, because annotators have different current
  verdicts, or pass the target with different faults. An adjudication becomes stale when the prediction or the golden
  answer changes. The disagreement is then open again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Reversible, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from fcreview.model.address import ITEM
from fcreview.model.review import ANNOTATION_FIELDS, CORRECT, ITEM_CORRECT, UNSURE, Annotation, Event, ItemKey, Opinion
from fcreview.model.verdict import (
    DISPUTED,
    PASS_FAIL_CRITERIA,
    UNANIMOUS,
    DecidedBy,
    Policy,
    RollUpContext,
    TargetCriterion,
    agreed_verdict,
    decides,
    derive_verdict,
    find_derivation_sources,
    find_derived_targets,
    has_contradiction,
    is_same_verdict,
    majority_verdict,
    roll_up_benchmark_verdicts,
    roll_up_parts,
)

ROLL_UP_CRITERIA = (CORRECT, "equivalent")
"""Criteria whose verdicts on parts determine the verdict on the item. If a part has verdicts on both criteria, the
first criterion takes precedence."""


@dataclass(slots=True)
class VerdictsByAnnotator:
    """Current verdicts of all annotators on one target and criterion."""

    verdicts: dict[str, Any]
    """Annotator -> verdict, which may be "unsure". Adjudications are not included."""
    adjudication: Any = None
    independent: dict[str, Any] = field(default_factory=dict)
    """Annotator -> verdict that follows only from this annotator's own reviews."""


def collect_verdicts(opinions: Sequence[Opinion], context: RollUpContext) -> dict[TargetCriterion, VerdictsByAnnotator]:
    """Collect the current verdicts on an item and its parts. The first key is `item`/`correct`. If an annotator gave no
    verdict or is unsure, derive the verdict from the annotator's other verdicts: the item verdict from verdicts on
    parts, and a verdict on a reviewed criterion from verdicts on other criteria."""
    by_target = _group_by_target(opinions)
    by_target = {ITEM_CORRECT: by_target.pop(ITEM_CORRECT, []), **by_target}
    collected = {}
    for target_criterion, about in by_target.items():
        last = find_latest_adjudication(about)
        verdicts = {o.annotator: o.verdict for o in about if _is_current(o) and o.verdict is not None}
        collected[target_criterion] = VerdictsByAnnotator(verdicts, last.verdict if last else None, dict(verdicts))
    parts = select_part_opinions(opinions)
    if parts:
        _add_verdicts_from_parts(collected[ITEM_CORRECT], parts, context)
    if context.benchmark:
        _add_verdicts_from_criteria(collected, opinions, context)
    return collected


def _group_by_target(opinions: Iterable[Opinion]) -> dict[TargetCriterion, list[Opinion]]:
    groups: dict[TargetCriterion, list[Opinion]] = {}
    for opinion in opinions:
        groups.setdefault((opinion.target, opinion.criterion), []).append(opinion)
    return groups


def _is_current(opinion: Opinion) -> bool:
    return not opinion.stale and not opinion.is_adjudication


def _add_verdicts_from_parts(
    item_verdicts: VerdictsByAnnotator, part_opinions: Sequence[Opinion], context: RollUpContext
) -> None:
    """Add the item verdict of each annotator who reviewed parts but not the item. An annotator who only confirms the
    benchmark's verdicts gets no item verdict, unless another annotator overrides one of these verdicts. The item
    verdict is then the benchmark's verdict on the item."""
    adjudicated = _collect_part_verdicts([o for o in part_opinions if o.is_adjudication])
    if item_verdicts.adjudication is None:
        item_verdicts.adjudication = roll_up_parts(adjudicated, context)
    names = dict.fromkeys(o.annotator for o in part_opinions if not o.is_adjudication)
    own = {
        name: _collect_part_verdicts([o for o in part_opinions if o.annotator == name and _is_current(o)])
        for name in names
    }
    combined = {name: {**verdicts, **adjudicated} for name, verdicts in own.items()}
    rolled_up = {name: roll_up_parts(verdicts, context) for name, verdicts in combined.items()}
    overriding = [combined[name] for name, verdict in rolled_up.items() if verdict is not None]
    for name in names:
        verdict = rolled_up[name]
        if verdict is None and any(has_contradiction(combined[name], other) for other in overriding):
            verdict = roll_up_benchmark_verdicts(context)
        _set_unless_decided(item_verdicts.verdicts, name, verdict)
        _set_unless_decided(item_verdicts.independent, name, roll_up_parts(own[name], context))


def _add_verdicts_from_criteria(
    collected: dict[TargetCriterion, VerdictsByAnnotator], opinions: Iterable[Opinion], context: RollUpContext
) -> None:
    """Derive verdicts from verdicts on other criteria and add them to `collected`. If no annotator reviewed a target
    and criterion, derived verdicts on it are added only if they differ between annotators. Verdicts on which annotators
    disagree are not used."""
    given: dict[str, dict[TargetCriterion, Any]] = {}
    adjudicated: dict[TargetCriterion, Any] = {}
    for opinion in sorted(opinions, key=lambda o: o.time):
        if decides(opinion.verdict) and not opinion.stale:
            verdicts = adjudicated if opinion.is_adjudication else given.setdefault(opinion.annotator, {})
            verdicts[opinion.target, opinion.criterion] = opinion.verdict
    if len(given) < 2:
        return
    disputed = {
        target_criterion
        for target_criterion, each in collected.items()
        if each.adjudication is None and agreed_verdict(each.verdicts.values()) == DISPUTED
    }
    combined = {name: {**own, **adjudicated} for name, own in given.items()}
    for target_criterion in {target_criterion: None for own in given.values() for target_criterion in own}:
        for name, derived in _derive_verdict_by_annotator(target_criterion, combined, context).items():
            _set_unless_decided(collected[target_criterion].verdicts, name, derived)
    for target_criterion in find_derived_targets(context.benchmark, collected):
        resolved = {
            name: {source: verdict for source, verdict in verdicts.items() if source not in disputed}
            for name, verdicts in combined.items()
        }
        by_annotator = _derive_verdict_by_annotator(target_criterion, resolved, context)
        if agreed_verdict(by_annotator.values()) == DISPUTED:
            collected[target_criterion] = VerdictsByAnnotator(by_annotator)


def _derive_verdict_by_annotator(
    target_criterion: TargetCriterion, verdicts: Mapping[str, Mapping[TargetCriterion, Any]], context: RollUpContext
) -> dict[str, Any]:
    """Derive each annotator's verdict on `target_criterion` from the annotator's other verdicts. If an annotator only
    confirms automatic verdicts, and another annotator overrides one of these, the derived verdict is the automatic
    verdict on `target_criterion`."""
    given = {source: None for own in verdicts.values() for source in own}
    sources = find_derivation_sources(context.benchmark, target_criterion, given)
    overriding = {
        name: {
            source: own[source]
            for source in sources
            if source in own and not is_same_verdict(own[source], context.automatic.get(source))
        }
        for name, own in verdicts.items()
    }
    overridden = {source for own in overriding.values() for source in own}
    derived = {
        name: derive_verdict(context.benchmark, target_criterion, own, context.metadata)
        for name, own in overriding.items()
    }
    for name, own in verdicts.items():
        if derived[name] is None and not overriding[name] and not overridden.isdisjoint(own):
            derived[name] = context.automatic.get(target_criterion)
    return {name: verdict for name, verdict in derived.items() if verdict is not None}


def _set_unless_decided(verdicts: dict[str, Any], annotator: str, verdict: Any) -> None:
    if verdict is not None and not decides(verdicts.get(annotator)):
        verdicts[annotator] = verdict


def select_part_opinions(opinions: Iterable[Opinion]) -> list[Opinion]:
    """Select the current opinions from which an item verdict can follow: opinions on parts, on `ROLL_UP_CRITERIA`."""
    return [o for o in opinions if not o.stale and o.criterion in ROLL_UP_CRITERIA and o.target != ITEM]


def find_latest_adjudication(opinions: Iterable[Opinion]) -> Opinion | None:
    """Return the latest adjudication that is not stale and whose verdict is not "unsure", or None if there is none."""
    found = [o for o in opinions if o.is_adjudication and not o.stale and decides(o.verdict)]
    return max(found, key=lambda o: o.time) if found else None


def _collect_part_verdicts(opinions: Iterable[Opinion]) -> dict[str, Any]:
    verdicts: dict[str, Any] = {}
    for criterion in reversed(ROLL_UP_CRITERIA):
        by_time = sorted((o for o in opinions if o.criterion == criterion), key=lambda o: o.time)
        verdicts.update({o.target: o.verdict for o in by_time if o.verdict is not None})
    return verdicts


RESOLUTION_REQUIREMENT = "give a verdict other than unsure, or a fault"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An open disagreement of annotators on one target and criterion of an item."""

    target: str
    criterion: str
    answers: list[Opinion]
    """One opinion for each annotator with a current verdict, which may be "unsure". The order is random, to hide the
    annotators. A verdict on the item may follow from verdicts on parts."""
    majority: Any
    """Verdict of more than half of the annotators; None if there is none. The adjudication screen shows it."""


def can_resolve_disagreement(annotation: Annotation) -> bool:
    """Whether an adjudication resolves a disagreement. It must have a verdict other than "unsure", or a fault and no
    verdict."""
    return decides(annotation.verdict) or (annotation.verdict is None and annotation.fault is not None)


def find_disagreements(item_key: ItemKey, opinions: Sequence[Opinion], context: RollUpContext) -> list[Disagreement]:
    """Return the open disagreements on an item. A disagreement on `item`/`correct` comes first."""
    found = []
    current = _group_by_target(o for o in opinions if not o.stale)
    for (target, criterion), collected in collect_verdicts(opinions, context).items():
        about = current.get((target, criterion), [])
        if _is_disputed(about, collected, criterion):
            given = collected.verdicts
            answers = [_build_opinion_with_verdict(name, about, target, criterion, given[name]) for name in given]
            answers = shuffle_opinions(item_key, answers)
            found.append(Disagreement(target, criterion, answers, majority_verdict(given.values())))
    return found


def shuffle_opinions(item_key: ItemKey, opinions: Iterable[Opinion]) -> list[Opinion]:
    """Sort opinions by a hash. Their order is therefore random, but the same on every machine."""

    def compute_hash(opinion: Opinion) -> bytes:
        text = "\0".join([*item_key, opinion.target, opinion.criterion, opinion.annotator])
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    return sorted(opinions, key=compute_hash)


def answer_letter(index: int) -> str:
    """Return the name of the answer at an index, from 0: A, B ... Z, AA, AB ..."""
    quotient, last = divmod(index, 26)
    return (answer_letter(quotient - 1) if quotient else "") + chr(ord("A") + last)


def _is_disputed(opinions: Sequence[Opinion], collected: VerdictsByAnnotator, criterion: str) -> bool:
    if collected.adjudication is not None:
        return False
    agreed = agreed_verdict(collected.verdicts.values())
    if agreed == DISPUTED:
        return True
    if agreed is not True or criterion not in PASS_FAIL_CRITERIA:
        return False
    if any(o.is_adjudication and can_resolve_disagreement(o) for o in opinions):
        return False
    return len({o.fault for o in opinions if o.verdict is True and not o.is_adjudication}) > 1


def _build_opinion_with_verdict(
    annotator: str, opinions: Iterable[Opinion], target: str, criterion: str, verdict: Any
) -> Opinion:
    own = next((o for o in opinions if o.annotator == annotator and not o.is_adjudication), None)
    if own is not None and decides(own.verdict):
        return own
    tags, note = (own.tags, own.note) if own is not None else (None, None)
    return Opinion(annotator=annotator, target=target, criterion=criterion, verdict=verdict, tags=tags, note=note)


@dataclass(slots=True)
class Decision:
    """Combined reviews of all annotators on one target and criterion. Each field is a column of the table
    `human_labels`. The name of the column is in the field's metadata, if it differs from the name of the field."""

    target: str
    criterion: str
    human: Any = None
    """Decided verdict; "disputed" if annotators disagree; "unsure" if all verdicts are unsure; None if there is no
    current verdict."""
    decided_by: DecidedBy | None = None
    """How the annotators decided. None if no annotator decided, so that the automatic verdict is used."""
    mine: Any = field(default=None, metadata={"column": "you"})
    """Verdict of the annotator who uses fcreview."""
    fault: str | None = None
    """Fault that the adjudicator gave, or None if the adjudicator passed the target without a fault. Without an
    adjudication, the fault on which the annotators agree, or "disputed". After a majority decision, only the annotators
    of the majority and unsure annotators are considered."""
    golden_fix: dict[str, Any] | None = None
    """Golden fix of the adjudicator, else of the annotators; None if their golden fixes differ."""
    tags: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    annotators: list[str] = field(default_factory=list)
    n_verdicts: int = 0
    """Number of annotators and adjudicators with a current verdict, which may be "unsure"."""
    stale: bool = False
    """Whether an annotator reviewed an earlier prediction or golden answer. Such a review does not affect the
    decision."""
    n_part_verdicts: int = field(default=0, compare=False, metadata={"column": "n_parts"})
    """Number of other targets and criteria with a current verdict. Set only on `item`/`correct`."""
    n_my_part_verdicts: int = field(default=0, compare=False, metadata={"column": "your_parts"})
    """Number of other targets and criteria with a current verdict of the annotator who uses fcreview."""
    mine_stale: bool = field(default=False, metadata={"column": "your_stale"})
    mine_bulk: bool = field(default=False, metadata={"column": "your_bulk"})
    individual: Any = None
    """Value of `human` without bulk reviews."""
    individual_by: DecidedBy | None = None


RetractedEvent = tuple[str, str]
"""(event id, annotator) of a retracted event."""


def find_retracted_events(events: Iterable[Event]) -> set[RetractedEvent]:
    """Find the retracted events. Annotators can retract only their own events."""
    return {(event.retracts, event.annotator) for event in events if event.act == "retract" and event.retracts}


def find_last_event(events: Reversible[Event], annotator: str, retracted: set[RetractedEvent]) -> Event | None:
    """Return the latest event of an annotator that is neither retracted nor a retraction, or None."""
    own = (event for event in reversed(events) if event.annotator == annotator and event.act != "retract")
    return next((event for event in own if (event.event, annotator) not in retracted), None)


def is_stale(event: Event, prediction_hash: str, golden_hash: str) -> bool:
    """Whether the prediction or the golden answer changed after the annotator recorded the event. An empty hash means
    that the answer is unknown. An unknown answer never makes an event stale."""
    hashes = ((event.prediction_hash, prediction_hash), (event.golden_hash, golden_hash))
    return any(recorded and current and recorded != current for recorded, current in hashes)


def fold_events(
    events: Iterable[Event],
    retracted: set[RetractedEvent],
    prediction_hash: str = "",
    golden_hash: str = "",
    presentation: int = 1,
) -> list[Opinion]:
    """Combine the events of one item into current opinions, in the order of the first event on each target. An event
    changes only the fields that it contains. An event with a verdict also clears the fault. If an annotator reviews a
    target again, the annotator's stale opinion on the target is dropped.

    An empty hash means that the answer is unknown. `presentation` is 1 for normal reviews and 2 for hidden duplicates.
    """
    opinions: dict[tuple[str, str, str, str], Opinion] = {}
    for event in events:
        if event.act == "retract" or (event.event, event.annotator) in retracted:
            continue
        if (event.presentation or 1) != presentation:
            continue
        stale = is_stale(event, prediction_hash, golden_hash)
        subject = (event.annotator, event.target, event.criterion, event.act)
        opinion = opinions.get(subject)
        if opinion is None or (opinion.stale and not stale):
            opinion = opinions[subject] = Opinion(
                annotator=event.annotator, target=event.target, criterion=event.criterion, act=event.act, stale=stale
            )
        elif stale and not opinion.stale:
            continue
        _update_opinion(opinion, event)
    return list(opinions.values())


def _update_opinion(opinion: Opinion, event: Event) -> None:
    opinion.time = event.time
    opinion.prediction_hash, opinion.golden_hash = event.prediction_hash, event.golden_hash
    if event.verdict is not None:
        opinion.fault = opinion.overrules = None
        opinion.blind, opinion.bulk = event.blind, event.bulk
    for name in ANNOTATION_FIELDS:
        value = getattr(event, name)
        if value is not None:
            setattr(opinion, name, None if value == "" else value)


def has_seen_other_verdicts(
    events: Sequence[Event],
    context: RollUpContext,
    annotator: str,
    prediction_hash: str = "",
    golden_hash: str = "",
    presentation: int = 1,
) -> bool:
    """Whether an annotator has seen other verdicts on an item. Other verdicts become visible when the annotator submits
    a verdict that decides the item, or records an event outside blind review. They stay visible after an undo. `events`
    contains all events of the item, sorted by time."""
    decided = {1: False, 2: False}
    for number, event in enumerate(events, 1):
        if event.annotator != annotator or is_stale(event, prediction_hash, golden_hash):
            continue
        shown_as = event.presentation or 1
        if decided[shown_as]:
            continue
        if event.blind is False:
            return True
        until = events[:number]
        opinions = fold_events(until, find_retracted_events(until), prediction_hash, golden_hash, shown_as)
        decided[shown_as] = decide(opinions, context, annotator)[0].mine is not None
    return decided[presentation]


def decide(
    opinions: Sequence[Opinion], context: RollUpContext, annotator: str | None = None, policy: Policy = UNANIMOUS
) -> list[Decision]:
    """Combine the opinions of all annotators on one item into decisions. The first decision is on `item`/`correct`. One
    decision for each other reviewed target and criterion follows. `Decision.mine` is the verdict of `annotator`."""
    by_target = _group_by_target(opinions)
    if len(opinions) == 1 and ITEM_CORRECT in by_target and _is_current(opinions[0]):
        return [_decide_by_single_opinion(opinions[0], annotator)]
    collected = collect_verdicts(opinions, context)
    decisions = [_decide_item(by_target.pop(ITEM_CORRECT, []), opinions, collected[ITEM_CORRECT], annotator, policy)]
    for target_criterion, each in collected.items():
        if target_criterion != ITEM_CORRECT:
            decisions.append(
                _decide_target(target_criterion, by_target.get(target_criterion, []), each, annotator, policy)
            )
    return decisions


def set_individual_verdicts(decisions: Iterable[Decision], individual_decisions: Iterable[Decision]) -> None:
    """Set the fields of `decisions` that depend on bulk reviews: `individual`, `individual_by` and `mine_bulk`.
    `individual_decisions` are the decisions that follow from individual reviews only."""
    individual = {(each.target, each.criterion): each for each in individual_decisions}
    for decision in decisions:
        target_criterion = decision.target, decision.criterion
        own = individual.get(target_criterion) or Decision(*target_criterion)
        decision.individual, decision.individual_by = own.human, own.decided_by
        decision.mine_bulk = decision.mine is not None and own.mine is None


def _decide_by_single_opinion(opinion: Opinion, annotator: str | None) -> Decision:
    """Decide on an item that has a single opinion. The result is the same as from `_decide_item`, but faster."""
    verdict = opinion.verdict
    decided_by: DecidedBy | None = "unanimous" if decides(verdict) else None
    return Decision(
        *ITEM_CORRECT, human=verdict, decided_by=decided_by, individual=verdict, individual_by=decided_by,
        mine=verdict if opinion.annotator == annotator else None, fault=opinion.fault, golden_fix=opinion.golden_fix,
        tags=list(dict.fromkeys(opinion.tags or ())), notes=[opinion.note] if opinion.note else [],
        annotators=[opinion.annotator], n_verdicts=int(verdict is not None),
    )  # fmt: skip


def _decide_item(
    item_opinions: Sequence[Opinion],
    all_opinions: Sequence[Opinion],
    collected: VerdictsByAnnotator,
    annotator: str | None,
    policy: Policy,
) -> Decision:
    decision = _decide_target(ITEM_CORRECT, item_opinions, collected, annotator, policy)
    from_parts = {
        o.annotator
        for o in select_part_opinions(all_opinions)
        if o.annotator in collected.verdicts or o.is_adjudication
    }
    decision.annotators = sorted({*decision.annotators, *from_parts})
    decision.n_verdicts = decision.n_verdicts or int(collected.adjudication is not None)
    decision.stale = any(o.stale for o in all_opinions)
    current = [o for o in all_opinions if not o.stale and o.verdict is not None]
    mine = [o for o in current if o.annotator == annotator and not o.is_adjudication]
    decision.n_part_verdicts = len({(o.target, o.criterion) for o in current} - {ITEM_CORRECT})
    decision.n_my_part_verdicts = len({(o.target, o.criterion) for o in mine} - {ITEM_CORRECT})
    decision.mine_stale = any(o.stale for o in all_opinions if o.annotator == annotator)
    return decision


def _decide_target(
    target_criterion: TargetCriterion,
    opinions: Sequence[Opinion],
    collected: VerdictsByAnnotator,
    annotator: str | None,
    policy: Policy,
) -> Decision:
    verdicts, adjudication = collected.verdicts, collected.adjudication
    current = [o for o in opinions if not o.stale]
    adjudications = [o for o in current if o.is_adjudication]
    decision = Decision(
        *target_criterion, mine=collected.independent.get(annotator) if annotator else None,
        fault=_find_decided_fault(adjudications, current),
        golden_fix=_find_common_golden_fix(adjudications) or _find_common_golden_fix(current),
        tags=list(dict.fromkeys(tag for o in current for tag in o.tags or ())),
        notes=[o.note for o in current if o.note], annotators=sorted({o.annotator for o in current}),
        n_verdicts=len({*verdicts, *(o.annotator for o in adjudications if o.verdict is not None)}),
        stale=any(o.stale for o in opinions), mine_stale=any(o.stale for o in opinions if o.annotator == annotator),
    )  # fmt: skip
    agreed = agreed_verdict(verdicts.values())
    majority = majority_verdict(verdicts.values()) if agreed == DISPUTED and policy == "majority" else None
    if adjudication is not None:
        decision.human, decision.decided_by = adjudication, "adjudication"
    elif majority is not None:
        decision.human, decision.decided_by = majority, "majority"
        decision.fault = _find_common_fault(
            o for o in current if not decides(o.verdict) or is_same_verdict(o.verdict, majority)
        )
    elif agreed is None:
        decision.human = _find_common_abstention(verdicts.values())
    else:
        decision.human, decision.decided_by = agreed, "disputed" if agreed == DISPUTED else "unanimous"
    decision.individual, decision.individual_by = decision.human, decision.decided_by
    return decision


def _find_common_abstention(verdicts: Iterable[Any]) -> Any:
    given = {*verdicts}
    return given.pop() if len(given) == 1 else UNSURE if given else None


def _find_common_fault(opinions: Iterable[Opinion]) -> str | None:
    faults = {opinion.fault for opinion in opinions if opinion.fault}
    return faults.pop() if len(faults) == 1 else DISPUTED if faults else None


def _find_decided_fault(adjudications: Sequence[Opinion], current: Iterable[Opinion]) -> str | None:
    """Return the fault with which an adjudicator passed the target. Otherwise, return the common fault of all opinions
    whose verdict agrees with the decision, or "disputed" if they have different faults."""
    last = find_latest_adjudication(adjudications)
    if last is not None and last.verdict is True:
        return last.fault
    if last is not None and decides(last.verdict):
        current = [o for o in current if not decides(o.verdict) or is_same_verdict(o.verdict, last.verdict)]
    return _find_common_fault(adjudications) or _find_common_fault(current)


def _find_common_golden_fix(opinions: Iterable[Opinion]) -> dict[str, Any] | None:
    fixes = [opinion.golden_fix for opinion in opinions if opinion.golden_fix]
    return fixes[0] if fixes and all(fix == fixes[0] for fix in fixes) else None

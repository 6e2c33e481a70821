"""Combine the reviews of all annotators into decisions on an item.

* `fold_events` combines journal events into opinions: an annotator's current reviews of one target and criterion.
* `decide` combines opinions into decisions: the adjudicated verdict, else the unanimous verdict, else the majority
  verdict if the policy allows it, else "disputed". An "unsure" opinion never decides.
* `find_disagreements` lists the targets that an adjudicator has to resolve: annotators have different current verdicts,
  or pass the target with different faults. An adjudication becomes stale when the prediction or the golden answer
  changes. The disagreement is then open again."""

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
    contradicts,
    decides,
    derive_verdict,
    find_derivation_sources,
    find_derived_targets,
    majority_verdict,
    roll_up_benchmark,
    roll_up_parts,
    same_verdict,
)

ROLL_UP_CRITERIA = (CORRECT, "equivalent")
"""Criteria whose verdicts on parts determine the verdict on the item. On a part with both, the first takes
precedence."""


@dataclass(slots=True)
class VerdictsByAnnotator:
    """Current verdicts of all annotators on one target and criterion."""

    verdicts: dict[str, Any]
    """Annotator -> verdict, including "unsure" and excluding adjudications."""
    adjudication: Any = None
    independent: dict[str, Any] = field(default_factory=dict)
    """Annotator -> verdict, determined only from this annotator's own reviews."""


def collect_verdicts(opinions: Sequence[Opinion], context: RollUpContext) -> dict[TargetCriterion, VerdictsByAnnotator]:
    """Collect the current verdicts on an item and its parts, those on `item`/`correct` first. If an annotator gave no
    verdict or is unsure, the verdict is derived from the annotator's other verdicts: the item's verdict from verdicts
    on parts, and a verdict on a reviewed criterion from verdicts on other criteria."""
    by_target = _group_by_target(opinions)
    by_target = {ITEM_CORRECT: by_target.pop(ITEM_CORRECT, []), **by_target}
    collected = {}
    for target_criterion, about in by_target.items():
        last = latest_adjudication(about)
        verdicts = {o.annotator: o.verdict for o in about if _is_current(o) and o.verdict is not None}
        collected[target_criterion] = VerdictsByAnnotator(verdicts, last.verdict if last else None, dict(verdicts))
    parts = select_part_opinions(opinions)
    if parts:
        _complete_from_parts(collected[ITEM_CORRECT], parts, context)
    if context.benchmark:
        _complete_from_criteria(collected, opinions, context)
    return collected


def _group_by_target(opinions: Iterable[Opinion]) -> dict[TargetCriterion, list[Opinion]]:
    groups: dict[TargetCriterion, list[Opinion]] = {}
    for opinion in opinions:
        groups.setdefault((opinion.target, opinion.criterion), []).append(opinion)
    return groups


def _is_current(opinion: Opinion) -> bool:
    return not opinion.stale and not opinion.is_adjudication


def _complete_from_parts(on_item: VerdictsByAnnotator, parts: Sequence[Opinion], context: RollUpContext) -> None:
    """Derive the item verdict of each annotator who gave verdicts on parts only. If the annotator only confirms the
    benchmark's verdicts, nothing is derived unless another annotator overrides one of these verdicts. The derived
    verdict is then the benchmark's verdict on the item."""
    adjudicated = _collect_part_verdicts([o for o in parts if o.is_adjudication])
    if on_item.adjudication is None:
        on_item.adjudication = roll_up_parts(adjudicated, context)
    names = dict.fromkeys(o.annotator for o in parts if not o.is_adjudication)
    own = {name: _collect_part_verdicts([o for o in parts if o.annotator == name and _is_current(o)]) for name in names}
    combined = {name: {**verdicts, **adjudicated} for name, verdicts in own.items()}
    rolled_up = {name: roll_up_parts(verdicts, context) for name, verdicts in combined.items()}
    overriding = [combined[name] for name, verdict in rolled_up.items() if verdict is not None]
    for name in names:
        verdict = rolled_up[name]
        if verdict is None and any(contradicts(combined[name], other) for other in overriding):
            verdict = roll_up_benchmark(context)
        _set_unless_decided(on_item.verdicts, name, verdict)
        _set_unless_decided(on_item.independent, name, roll_up_parts(own[name], context))


def _complete_from_criteria(
    collected: dict[TargetCriterion, VerdictsByAnnotator], opinions: Iterable[Opinion], context: RollUpContext
) -> None:
    """Derive verdicts from verdicts on other criteria and add them to `collected`. If nobody gave a verdict on a target
    and criterion, derived verdicts are added only if those of different annotators differ. They are not derived from
    verdicts on which annotators disagree."""
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
        for name, derived in _derive_by_annotator(target_criterion, combined, context).items():
            _set_unless_decided(collected[target_criterion].verdicts, name, derived)
    for target_criterion in find_derived_targets(context.benchmark, collected):
        resolved = {
            name: {source: verdict for source, verdict in verdicts.items() if source not in disputed}
            for name, verdicts in combined.items()
        }
        by_annotator = _derive_by_annotator(target_criterion, resolved, context)
        if agreed_verdict(by_annotator.values()) == DISPUTED:
            collected[target_criterion] = VerdictsByAnnotator(by_annotator)


def _derive_by_annotator(
    target_criterion: TargetCriterion, verdicts: Mapping[str, Mapping[TargetCriterion, Any]], context: RollUpContext
) -> dict[str, Any]:
    """Derive each annotator's verdict on `target_criterion` from the annotator's other verdicts. If an annotator only
    confirms automatic verdicts, and another annotator overrides one of them, the derived verdict is the automatic
    verdict."""
    given = {source: None for own in verdicts.values() for source in own}
    sources = find_derivation_sources(context.benchmark, target_criterion, given)
    overriding = {
        name: {
            source: own[source]
            for source in sources
            if source in own and not same_verdict(own[source], context.automatic.get(source))
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
    return [o for o in opinions if not o.stale and o.criterion in ROLL_UP_CRITERIA and o.target != ITEM]


def latest_adjudication(opinions: Iterable[Opinion]) -> Opinion | None:
    """Return the latest adjudication that has a deciding verdict and is not stale, or None if there is none."""
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
    """One opinion for each annotator with a current verdict, including "unsure", shuffled to hide the annotators. A
    verdict on the item may follow from verdicts on parts."""
    majority: Any
    """Verdict of more than half of the annotators; None if there is none. The adjudicator sees it."""


def can_resolve(annotation: Annotation) -> bool:
    """Whether an adjudication resolves a disagreement. It must have a deciding verdict, or a fault and no verdict."""
    return decides(annotation.verdict) or (annotation.verdict is None and annotation.fault is not None)


def find_disagreements(key: ItemKey, opinions: Sequence[Opinion], context: RollUpContext) -> list[Disagreement]:
    """Return the open disagreements on an item. A disagreement on `item`/`correct` comes first."""
    found = []
    current = _group_by_target(o for o in opinions if not o.stale)
    for (target, criterion), collected in collect_verdicts(opinions, context).items():
        about = current.get((target, criterion), [])
        if _is_disputed(about, collected, criterion):
            given = collected.verdicts
            answers = [_opinion_with_verdict(name, about, target, criterion, given[name]) for name in given]
            answers = shuffle_opinions(key, answers)
            found.append(Disagreement(target, criterion, answers, majority_verdict(given.values())))
    return found


def shuffle_opinions(key: ItemKey, opinions: Iterable[Opinion]) -> list[Opinion]:
    """Sort opinions by a hash, so that their order seems random but is the same on every machine."""

    def digest(opinion: Opinion) -> bytes:
        text = "\0".join([*key, opinion.target, opinion.criterion, opinion.annotator])
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    return sorted(opinions, key=digest)


def answer_letter(index: int) -> str:
    """Return the name of the answer at an index, from 0: A, B ... Z, AA, AB ..."""
    quotient, last = divmod(index, 26)
    return (answer_letter(quotient - 1) if quotient else "") + chr(ord("A") + last)


def _is_disputed(about: Sequence[Opinion], collected: VerdictsByAnnotator, criterion: str) -> bool:
    if collected.adjudication is not None:
        return False
    agreed = agreed_verdict(collected.verdicts.values())
    if agreed == DISPUTED:
        return True
    if agreed is not True or criterion not in PASS_FAIL_CRITERIA:
        return False
    if any(o.is_adjudication and can_resolve(o) for o in about):
        return False
    return len({o.fault for o in about if o.verdict is True and not o.is_adjudication}) > 1


def _opinion_with_verdict(
    annotator: str, about: Iterable[Opinion], target: str, criterion: str, verdict: Any
) -> Opinion:
    own = next((o for o in about if o.annotator == annotator and not o.is_adjudication), None)
    if own is not None and decides(own.verdict):
        return own
    tags, note = (own.tags, own.note) if own is not None else (None, None)
    return Opinion(annotator=annotator, target=target, criterion=criterion, verdict=verdict, tags=tags, note=note)


@dataclass(slots=True)
class Decision:
    """Combined reviews of all annotators on one target and criterion. Each field is a column of the table
    `human_labels`. The column has the name in the field's metadata, or else the name of the field."""

    target: str
    criterion: str
    human: Any = None
    """The decided verdict; "disputed"; "unsure" if all verdicts are unsure; None if there is no current verdict."""
    decided_by: DecidedBy | None = None
    """How the verdict was decided. None if no annotator decided, so that the automatic verdict is used."""
    mine: Any = field(default=None, metadata={"column": "you"})
    fault: str | None = None
    """Fault by the adjudicator, or None if the adjudicator passed the target without a fault. Otherwise the fault on
    which the annotators agree, or "disputed". After a majority decision, only annotators of the majority and unsure
    ones are considered."""
    golden_fix: dict[str, Any] | None = None
    """Golden fix by the adjudicator, else by the annotators; None if they gave different ones."""
    tags: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    annotators: list[str] = field(default_factory=list)
    n_verdicts: int = 0
    """Number of annotators and adjudicators with a current verdict, including "unsure"."""
    stale: bool = False
    """Whether a review is of an earlier prediction or golden answer. It has no influence on the decision."""
    n_part_verdicts: int = field(default=0, compare=False, metadata={"column": "n_parts"})
    """Number of other targets and criteria with a current verdict. Set only on `item`/`correct`."""
    n_my_part_verdicts: int = field(default=0, compare=False, metadata={"column": "your_parts"})
    """Number of these targets and criteria with a verdict by the current annotator."""
    mine_stale: bool = field(default=False, metadata={"column": "your_stale"})
    mine_bulk: bool = field(default=False, metadata={"column": "your_bulk"})
    individual: Any = None
    """Value of `human` without bulk reviews."""
    individual_by: DecidedBy | None = None


def find_retracted_events(events: Iterable[Event]) -> set[tuple[str, str]]:
    """Return (event id, annotator) of each retracted event. Annotators can retract only their own events."""
    return {(event.retracts, event.annotator) for event in events if event.act == "retract" and event.retracts}


def find_last_event(events: Reversible[Event], annotator: str, retracted: set[tuple[str, str]]) -> Event | None:
    """Return the annotator's latest event that is neither retracted nor a retraction, or None."""
    own = (event for event in reversed(events) if event.annotator == annotator and event.act != "retract")
    return next((event for event in own if (event.event, annotator) not in retracted), None)


def is_stale(event: Event, prediction_hash: str, golden_hash: str) -> bool:
    """Whether the prediction or the golden answer changed after the event was recorded. An empty hash means that the
    answer is unknown. An unknown answer never makes an event stale."""
    hashes = ((event.prediction_hash, prediction_hash), (event.golden_hash, golden_hash))
    return any(recorded and current and recorded != current for recorded, current in hashes)


def fold_events(
    events: Iterable[Event],
    retracted: set[tuple[str, str]],
    prediction_hash: str = "",
    golden_hash: str = "",
    presentation: int = 1,
) -> list[Opinion]:
    """Combine the events of one item into current opinions, in the order of the first event on each target. An event
    changes only the fields that it contains, and a verdict also clears the fault. Stale opinions of an annotator are
    dropped after a newer review of the same target.

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
    """Whether an annotator has seen other verdicts on an item. They become visible when the annotator submits a verdict
    that decides the item, or records an event outside blind review, and stay visible after an undo. `events` contains
    all events of the item, sorted by time."""
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
    """Combine the opinions of all annotators on one item into decisions. The first decision is on `item`/`correct`,
    followed by one for each other reviewed target and criterion. `Decision.mine` is the verdict of `annotator`."""
    by_target = _group_by_target(opinions)
    if len(opinions) == 1 and ITEM_CORRECT in by_target and _is_current(opinions[0]):
        return [_decide_single(opinions[0], annotator)]
    collected = collect_verdicts(opinions, context)
    decisions = [_decide_item(by_target.pop(ITEM_CORRECT, []), opinions, collected[ITEM_CORRECT], annotator, policy)]
    for target_criterion, each in collected.items():
        if target_criterion != ITEM_CORRECT:
            decisions.append(
                _decide_target(target_criterion, by_target.get(target_criterion, []), each, annotator, policy)
            )
    return decisions


def set_individual_verdicts(decisions: Iterable[Decision], without_bulk: Iterable[Decision]) -> None:
    """Set the fields that depend on bulk reviews: `individual`, `individual_by` and `mine_bulk`. `without_bulk`
    contains the decisions from individual reviews only."""
    individual = {(each.target, each.criterion): each for each in without_bulk}
    for decision in decisions:
        target_criterion = decision.target, decision.criterion
        own = individual.get(target_criterion) or Decision(*target_criterion)
        decision.individual, decision.individual_by = own.human, own.decided_by
        decision.mine_bulk = decision.mine is not None and own.mine is None


def _decide_single(opinion: Opinion, annotator: str | None) -> Decision:
    """Decide on an item that has only one opinion. This is faster than `_decide_item` and gives the same result."""
    verdict = opinion.verdict
    decided_by: DecidedBy | None = "unanimous" if decides(verdict) else None
    return Decision(
        *ITEM_CORRECT, human=verdict, decided_by=decided_by, individual=verdict, individual_by=decided_by,
        mine=verdict if opinion.annotator == annotator else None, fault=opinion.fault, golden_fix=opinion.golden_fix,
        tags=list(dict.fromkeys(opinion.tags or ())), notes=[opinion.note] if opinion.note else [],
        annotators=[opinion.annotator], n_verdicts=int(verdict is not None),
    )  # fmt: skip


def _decide_item(
    about: Sequence[Opinion],
    opinions: Sequence[Opinion],
    collected: VerdictsByAnnotator,
    annotator: str | None,
    policy: Policy,
) -> Decision:
    decision = _decide_target(ITEM_CORRECT, about, collected, annotator, policy)
    from_parts = {
        o.annotator for o in select_part_opinions(opinions) if o.annotator in collected.verdicts or o.is_adjudication
    }
    decision.annotators = sorted({*decision.annotators, *from_parts})
    decision.n_verdicts = decision.n_verdicts or int(collected.adjudication is not None)
    decision.stale = any(o.stale for o in opinions)
    current = [o for o in opinions if not o.stale and o.verdict is not None]
    mine = [o for o in current if o.annotator == annotator and not o.is_adjudication]
    decision.n_part_verdicts = len({(o.target, o.criterion) for o in current} - {ITEM_CORRECT})
    decision.n_my_part_verdicts = len({(o.target, o.criterion) for o in mine} - {ITEM_CORRECT})
    decision.mine_stale = any(o.stale for o in opinions if o.annotator == annotator)
    return decision


def _decide_target(
    target_criterion: TargetCriterion,
    about: Sequence[Opinion],
    collected: VerdictsByAnnotator,
    annotator: str | None,
    policy: Policy,
) -> Decision:
    verdicts, adjudication = collected.verdicts, collected.adjudication
    current = [o for o in about if not o.stale]
    adjudications = [o for o in current if o.is_adjudication]
    decision = Decision(
        *target_criterion, mine=collected.independent.get(annotator) if annotator else None,
        fault=_find_decided_fault(adjudications, current),
        golden_fix=_find_common_golden_fix(adjudications) or _find_common_golden_fix(current),
        tags=list(dict.fromkeys(tag for o in current for tag in o.tags or ())),
        notes=[o.note for o in current if o.note], annotators=sorted({o.annotator for o in current}),
        n_verdicts=len({*verdicts, *(o.annotator for o in adjudications if o.verdict is not None)}),
        stale=any(o.stale for o in about), mine_stale=any(o.stale for o in about if o.annotator == annotator),
    )  # fmt: skip
    agreed = agreed_verdict(verdicts.values())
    majority = majority_verdict(verdicts.values()) if agreed == DISPUTED and policy == "majority" else None
    if adjudication is not None:
        decision.human, decision.decided_by = adjudication, "adjudication"
    elif majority is not None:
        decision.human, decision.decided_by = majority, "majority"
        decision.fault = _find_common_fault(
            o for o in current if not decides(o.verdict) or same_verdict(o.verdict, majority)
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
    """Return the fault that adjudicators gave to a pass. Otherwise return the fault on which all opinions that agree
    with the decision agree, or "disputed"."""
    last = latest_adjudication(adjudications)
    if last is not None and last.verdict is True:
        return last.fault
    if last is not None and decides(last.verdict):
        current = [o for o in current if not decides(o.verdict) or same_verdict(o.verdict, last.verdict)]
    return _find_common_fault(adjudications) or _find_common_fault(current)


def _find_common_golden_fix(opinions: Iterable[Opinion]) -> dict[str, Any] | None:
    fixes = [opinion.golden_fix for opinion in opinions if opinion.golden_fix]
    return fixes[0] if fixes and all(fix == fixes[0] for fix in fixes) else None

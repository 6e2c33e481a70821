"""Combine the opinions of all annotators on an item into decisions, and find the open
disagreements.

A decision is the adjudicated verdict, else the unanimous verdict, else the majority verdict if the
policy allows it, else "disputed". An "unsure" opinion never decides. An adjudication becomes stale
when the prediction or the golden answer changes. The disagreement is then open again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from string import ascii_uppercase
from typing import Any

from fcreview.model.address import ITEM
from fcreview.model.effective_verdict import (
    DISPUTED,
    ERRATUM,
    RESOLUTIONS,
    UNANIMOUS,
    DecidedBy,
    Policy,
    RollUpContext,
    VerdictsByAnnotator,
    collect_verdicts,
    find_agreed_verdict,
    find_latest_adjudication,
    find_majority_verdict,
    group_by_target,
    is_current_review,
    is_definite,
    is_same_verdict,
    select_part_opinions,
)
from fcreview.model.golden_fix import DISPUTED_FIX, REJECTED, GoldenFixDecision
from fcreview.model.incident import INCIDENT
from fcreview.model.review import (
    ITEM_CORRECT,
    UNSURE,
    Annotation,
    Event,
    ItemKey,
    Opinion,
    find_retracted_events,
    fold_events,
    is_stale,
)
from fcreview.model.verdict import (
    PASS_FAIL_CRITERIA,
    TargetCriterion,
)

RESOLUTION_REQUIREMENT = "give a verdict other than unsure, or a fault"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An open disagreement of annotators on one target and criterion of an item."""

    target: str
    criterion: str
    answers: list[Opinion]
    """One opinion for each annotator with a current verdict, which may be "unsure". The order is
    random, to hide the annotators. A verdict on the item may follow from verdicts on parts.
    """
    majority: Any
    """Verdict of more than half of the annotators; None if there is none.

    The adjudication screen shows it.
    """
    golden_status: str | None = None
    """`proposed` or `disputed` if annotators' golden fixes need a decision. Then the answers
    include the fixes that annotators recorded on the question in other runs.
    """
    is_only_about_golden: bool = False
    """Whether the annotators agree on the verdict and the fault."""

    @property
    def golden_fixes(self) -> list[dict[str, Any]]:
        """Return the different golden fixes that need a decision."""
        if not self.golden_status:
            return []
        fixes: list[dict[str, Any]] = []
        for answer in self.answers:
            fix = answer.golden_fix
            # A fix without a status was only a note.
            if fix and answer.golden_status and fix not in fixes:
                fixes.append(fix)
        return fixes


def can_resolve_disagreement(annotation: Annotation) -> bool:
    """Whether an adjudication has a verdict other than "unsure", or a fault and no verdict."""
    return is_definite(annotation.verdict) or (
        annotation.verdict is None and annotation.fault is not None
    )


@dataclass(frozen=True, slots=True)
class OpenGoldenFixes:
    """Golden fixes of a question that need an adjudicator: proposed or different ones."""

    status: str
    """`proposed` or `disputed`."""
    from_other_runs: Sequence[Opinion]
    """Fixes that annotators recorded on the question in other runs, without verdicts."""


def find_disagreements(
    item_key: ItemKey,
    opinions: Sequence[Opinion],
    context: RollUpContext,
    open_fixes: OpenGoldenFixes | None = None,
) -> list[Disagreement]:
    """Return the open disagreements of annotators on an item, each with the answers of all
    annotators in a random order. A disagreement on `item`/`correct` comes first.

    A disagreement is about a verdict, about whose fault a failure is, or about a correction of the
    golden answer (`is_only_about_golden`).

    Args:
        item_key: The item. It determines the random order.
        opinions: The current opinions of all annotators on the item and its parts.
        context: Data by which verdicts follow from other verdicts.
        open_fixes: Golden fixes of the item's question that need a decision, else None.
    """
    current_opinions = group_by_target(opinion for opinion in opinions if not opinion.stale)
    disagreements = []
    # The first key of these verdicts is always `item`/`correct`, even if nobody reviewed the item.
    for target_criterion, collected in collect_verdicts(opinions, context).items():
        _, criterion = target_criterion
        opinions_on_target = current_opinions.get(target_criterion, [])
        is_disputed = _is_disputed(opinions_on_target, collected, criterion)
        # Golden fixes are about the whole item.
        fixes = open_fixes if target_criterion == ITEM_CORRECT else None
        if not is_disputed and fixes is None:
            continue

        answers = _list_answers(target_criterion, opinions_on_target, collected, fixes)
        disagreements.append(
            Disagreement(
                *target_criterion,
                answers=shuffle_opinions(item_key, answers),
                majority=find_majority_verdict(collected.verdicts.values()),
                golden_status=None if fixes is None else fixes.status,
                is_only_about_golden=not is_disputed,
            )
        )
    return disagreements


def _list_answers(
    target_criterion: TargetCriterion,
    opinions: Sequence[Opinion],
    collected: VerdictsByAnnotator,
    fixes: OpenGoldenFixes | None,
) -> list[Opinion]:
    """Return one opinion for each annotator with a verdict on a target and criterion, then the
    golden fixes of other annotators.
    """
    target, criterion = target_criterion
    answers = [
        _build_opinion_with_verdict(
            annotator, opinions, target=target, criterion=criterion, verdict=verdict
        )
        for annotator, verdict in collected.verdicts.items()
    ]
    if fixes is not None:
        answers += _list_answers_with_fixes(answers, opinions, fixes)
    return answers


def _list_answers_with_fixes(
    answers: Iterable[Opinion], opinions_on_item: Iterable[Opinion], fixes: OpenGoldenFixes
) -> list[Opinion]:
    """Return the golden fixes of annotators who gave no verdict on this item."""
    annotators = {answer.annotator for answer in answers}
    added = []
    for opinion in [*opinions_on_item, *fixes.from_other_runs]:
        has_fix = opinion.golden_status is not None and not opinion.is_adjudication
        if has_fix and opinion.annotator not in annotators:
            annotators.add(opinion.annotator)
            added.append(opinion)
    return added


def shuffle_opinions(item_key: ItemKey, opinions: Iterable[Opinion]) -> list[Opinion]:
    """Sort opinions by a hash, so that their order is random, but the same on every machine."""

    def compute_shuffle_key(opinion: Opinion) -> bytes:
        text = "\0".join([*item_key, opinion.target, opinion.criterion, opinion.annotator])
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    return sorted(opinions, key=compute_shuffle_key)


def format_answer_letter(index: int) -> str:
    """Return the name of the answer at an index, from 0: A, B ... Z, AA, AB ..."""
    n_complete_alphabets, place_in_alphabet = divmod(index, len(ascii_uppercase))
    letter = ascii_uppercase[place_in_alphabet]
    if n_complete_alphabets == 0:
        return letter
    return format_answer_letter(n_complete_alphabets - 1) + letter


def _is_disputed(
    opinions: Sequence[Opinion], collected: VerdictsByAnnotator, criterion: str
) -> bool:
    """Whether annotators disagree on the verdict or, if all pass the target, on the fault."""
    if collected.adjudication is not None:
        return False
    agreed = find_agreed_verdict(collected.verdicts.values())
    if agreed == DISPUTED:
        return True

    # Only a pass against the golden answer needs a fault on which all agree.
    is_agreed_pass = agreed is True and criterion in PASS_FAIL_CRITERIA
    return is_agreed_pass and _is_fault_disputed(opinions)


def _is_fault_disputed(opinions: Iterable[Opinion]) -> bool:
    """Whether the annotators who pass a target name different faults, and no adjudication resolves
    this.
    """
    faults = set()
    for opinion in opinions:
        if opinion.is_adjudication and can_resolve_disagreement(opinion):
            return False
        if opinion.verdict is True and not opinion.is_adjudication:
            faults.add(opinion.fault)
    return len(faults) > 1


def _build_opinion_with_verdict(
    annotator: str, opinions: Iterable[Opinion], *, target: str, criterion: str, verdict: Any
) -> Opinion:
    """Return an annotator's opinion on the target if it has a verdict other than "unsure".
    Otherwise, return an opinion with the verdict that follows from the annotator's verdicts on
    other targets.
    """
    own_opinion: Opinion | None = None
    for opinion in opinions:
        if opinion.annotator == annotator and not opinion.is_adjudication:
            own_opinion = opinion
            break
    if own_opinion is not None and is_definite(own_opinion.verdict):
        return own_opinion

    derived_opinion = Opinion(
        annotator=annotator, target=target, criterion=criterion, verdict=verdict
    )
    if own_opinion is not None:
        derived_opinion.tags = own_opinion.tags
        derived_opinion.note = own_opinion.note
    return derived_opinion


@dataclass(slots=True)
class Decision:
    """Combined reviews of all annotators on one target and criterion. Each field is a column of the
    table `human_labels`. The name of the column is in the field's metadata, if it differs from the
    name of the field.
    """

    target: str
    criterion: str
    human: Any = None
    """Decided verdict; "disputed" if annotators disagree, "unsure" if all are unsure, None if
    there is none.
    """
    decided_by: DecidedBy | None = None
    """How the annotators decided.

    None if no annotator decided, so that the automatic verdict is used.
    """
    mine: Any = field(default=None, metadata={"column": "you"})
    """Verdict of the annotator who uses fcreview."""
    fault: str | None = None
    """Fault that the adjudicator gave, or None if the adjudicator passed the target without a
    fault. Without an adjudication, the fault on which the annotators agree, or "disputed". After a
    majority decision, only the annotators of the majority and unsure annotators are considered.
    """
    golden_fix: dict[str, Any] | None = None
    """Golden fix of the adjudicator, else of the annotators; None if their golden fixes differ."""
    golden_status: str | None = None
    """What annotators decided about the golden answer of the question (`GoldenStatus`). Set only
    on `item`/`correct`. None without a proposed or accepted fix.
    """
    golden_verdict: bool | None = None
    """Recomputed verdict with the accepted fix, if the fix changes it. It counts unless a human
    verdict does. Set only on `item`/`correct`.
    """
    tags: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    annotators: list[str] = field(default_factory=list)
    n_verdicts: int = 0
    """Number of annotators and adjudicators with a current verdict, which may be "unsure"."""
    stale: bool = False
    """Whether an annotator reviewed an earlier prediction or golden answer.

    Such a review does not count.
    """
    n_part_verdicts: int = field(default=0, compare=False, metadata={"column": "n_parts"})
    """Number of other targets and criteria with a current verdict. Set only on `item`/`correct`."""
    n_my_part_verdicts: int = field(default=0, compare=False, metadata={"column": "your_parts"})
    """Number of other targets and criteria with a current verdict of the annotator who uses
    fcreview.
    """
    mine_stale: bool = field(default=False, metadata={"column": "your_stale"})
    mine_bulk: bool = field(default=False, metadata={"column": "your_bulk"})
    individual: Any = None
    """Value of `human` without bulk reviews."""
    individual_by: DecidedBy | None = None
    incident_mark: bool | None = None
    """Whether the annotators decided that the item is an incident; None if they did not. Set only
    on `item`/`correct`, so that one row of the table `human_labels` has all that lists and counts
    need.
    """
    my_incident_mark: bool | None = field(default=None, metadata={"column": "your_incident_mark"})
    """The same decision by the annotator who uses fcreview alone, for blind review."""
    derived: Any = None
    """Verdict that follows from decided verdicts on other targets and criteria by the rules of the
    benchmark. It counts if the annotators decided nothing about this target and criterion. If it
    contradicts nothing, `human` has it too.
    """
    contradicting: list[str] = field(default_factory=list)
    """Annotators whose verdict on the item contradicts their own verdicts on parts or other
    criteria. Set only on `item`/`correct`.
    """


def has_seen_other_verdicts(
    events: Sequence[Event],
    context: RollUpContext,
    annotator: str,
    prediction_hash: str = "",
    golden_hash: str = "",
    presentation: int = 1,
) -> bool:
    """Whether an annotator has seen the verdicts of others on an item, so that the next verdict
    would no longer be blind.

    Other verdicts become visible when the annotator submits a verdict that decides the item, or
    records an event outside blind review. They stay visible after an undo.

    Args:
        events: The annotator's events on the item, in order.
        context: Data by which verdicts follow from other verdicts.
        annotator: The annotator.
        prediction_hash: Hash of the current answer. Events on another answer do not count.
        golden_hash: Hash of the current golden answer. Events on another one do not count.
        presentation: 1 for the normal review of the item, 2 for its hidden duplicate.
    """
    # Whether the annotator decided the item in its normal review (1), and in its duplicate (2).
    decided_presentations: set[int] = set()
    for n_events, event in enumerate(events, start=1):
        if event.annotator != annotator or is_stale(event, prediction_hash, golden_hash):
            continue
        shown_as = event.presentation or 1
        if shown_as in decided_presentations:
            # Once the item is decided, this presentation shows the verdicts of others anyway. Later
            # events on it do not mean that they were seen before the other presentation.
            continue
        if event.blind is False:
            return True

        # Only events until then count, so that a later undo does not hide the verdicts again.
        events_until_then = events[:n_events]
        opinions = fold_events(
            events_until_then,
            find_retracted_events(events_until_then),
            prediction_hash,
            golden_hash,
            presentation=shown_as,
        )
        if _has_verdict_on_item(opinions, context, annotator):
            decided_presentations.add(shown_as)
    return presentation in decided_presentations


def _has_verdict_on_item(
    opinions: Sequence[Opinion], context: RollUpContext, annotator: str
) -> bool:
    """Whether an annotator's opinions decide the item: they have a verdict on it, or on parts and
    criteria from which one follows.
    """
    item_decision, *_ = decide(opinions, context, annotator)
    return item_decision.mine is not None


def decide(
    opinions: Sequence[Opinion],
    context: RollUpContext,
    annotator: str | None = None,
    policy: Policy = UNANIMOUS,
) -> list[Decision]:
    """Combine the opinions of all annotators on one item into decisions: the verdict on which they
    agree, or which wins by the policy or by adjudication.

    The first decision is on `item`/`correct`. One decision for each other reviewed target and
    criterion follows, such as `turn:1`/`correct` or `item`/`fluency`.

    Args:
        opinions: The opinions on the item and its parts.
        context: Data by which verdicts follow from other verdicts.
        annotator: Whose verdict `Decision.mine` is.
        policy: Whether a majority decides, or only a unanimous verdict.
    """
    opinions_by_target = group_by_target(opinions)
    # A fast path, because most items have a single opinion, on `item`/`correct`. It contradicts no
    # other opinion, and it is no mark of an incident, which has a criterion of its own.
    is_single_opinion = len(opinions) == 1 and ITEM_CORRECT in opinions_by_target
    if is_single_opinion and is_current_review(opinions[0]):
        decision = _decide_by_single_opinion(opinions[0], annotator)
        return _apply_derived_verdicts([decision], {}, context)

    collected = collect_verdicts(opinions, context)
    item_decision = _decide_item(
        opinions_by_target.get(ITEM_CORRECT, []),
        opinions,
        collected[ITEM_CORRECT],
        annotator,
        policy,
    )
    item_decision.contradicting = find_contradicting_annotators(opinions, context)
    decisions = [item_decision]
    for target_criterion, verdicts in collected.items():
        if target_criterion != ITEM_CORRECT:
            opinions_on_target = opinions_by_target.get(target_criterion, [])
            decisions.append(
                _decide_target(target_criterion, opinions_on_target, verdicts, annotator, policy)
            )
    _copy_incident_mark(decisions)
    return _apply_derived_verdicts(decisions, collected, context)


def apply_golden_fix(decision: Decision, fix: GoldenFixDecision, verdict: bool | None) -> None:
    """Add the decision on the golden answer to the decision on an item.

    Args:
        decision: The decision on the item. It is changed.
        fix: The decision on the golden answer.
        verdict: The recomputed verdict, if the accepted fix changes it, else None. It counts less
            than human verdicts and more than the automatic verdict.
    """
    decision.golden_status = fix.status
    if fix.golden_fix is not None:
        decision.golden_fix = fix.golden_fix
    elif fix.status in (DISPUTED_FIX, REJECTED):
        # No fix holds, so the fix that an annotator of the item recorded does not hold either.
        decision.golden_fix = None

    decision.golden_verdict = verdict
    is_decided_by_annotators = decision.decided_by in RESOLUTIONS
    if verdict is None or is_decided_by_annotators:
        return
    decision.derived = verdict
    # A disagreement of annotators stays marked as one.
    if decision.decided_by is None:
        decision.decided_by = ERRATUM


def find_contradicting_annotators(opinions: Iterable[Opinion], context: RollUpContext) -> list[str]:
    """Return the annotators whose verdict on the item contradicts their own verdicts on its parts.

    In tau-bench, for example, an item cannot pass if the criterion `db` fails.
    """
    if not context.derivation.derives_verdicts:
        return []

    contradicting = []
    for annotator, own_verdicts in _group_definite_verdicts(opinions).items():
        # The verdict on the item must not take part in deriving the implied one.
        item_verdict = own_verdicts.pop(ITEM_CORRECT, None)
        implied_verdict = context.derivation.derive_item_verdict_from_reviews_alone(
            own_verdicts, context.metadata
        )
        has_both = isinstance(item_verdict, bool) and implied_verdict is not None
        if has_both and item_verdict is not implied_verdict:
            contradicting.append(annotator)
    return sorted(contradicting)


def _group_definite_verdicts(
    opinions: Iterable[Opinion],
) -> dict[str, dict[TargetCriterion, Any]]:
    """Return annotator -> target and criterion -> the annotator's current verdict. Abstentions
    such as `unsure` are left out.
    """
    verdicts_by_annotator: dict[str, dict[TargetCriterion, Any]] = {}
    for opinion in opinions:
        if is_current_review(opinion) and is_definite(opinion.verdict):
            own_verdicts = verdicts_by_annotator.setdefault(opinion.annotator, {})
            own_verdicts[opinion.target, opinion.criterion] = opinion.verdict
    return verdicts_by_annotator


def _apply_derived_verdicts(
    decisions: list[Decision],
    collected: Mapping[TargetCriterion, VerdictsByAnnotator],
    context: RollUpContext,
) -> list[Decision]:
    """Return all decisions, with the verdicts that follow from those of annotators by the rules of
    the benchmark. An item may fail, for example, because an annotator failed one of its calls.

    The result has a decision for each target and criterion whose verdict changes, even if nobody
    reviewed it. Metrics derive the same verdicts (`ScoredItem.derive_verdict`).
    """
    if not context.derivation.derives_verdicts:
        return decisions
    overriding_decisions = _find_overriding_decisions(decisions, context)
    if not overriding_decisions:
        return decisions

    overrides = {key: decision.human for key, decision in overriding_decisions.items()}
    all_decisions = {(decision.target, decision.criterion): decision for decision in decisions}
    for key in context.derivation.list_derivable_targets(overrides, context.automatic):
        if key in all_decisions and not _can_derive(all_decisions[key], collected):
            continue
        verdict = _derive_changed_verdict(key, overrides, context)
        if verdict is None:
            continue

        # The decisions on other targets and criteria from which the verdict follows.
        sources = context.derivation.find_sources(key, overrides)
        deciding = [overriding_decisions[source] for source in sources if source in overrides]
        decision = all_decisions.setdefault(key, Decision(*key))
        _set_derived_verdict(decision, verdict, deciding)
    return list(all_decisions.values())


def _derive_changed_verdict(
    target_criterion: TargetCriterion,
    overrides: Mapping[TargetCriterion, Any],
    context: RollUpContext,
) -> Any:
    """Return the verdict that follows from overrides, or None if it is the automatic one."""
    verdict = context.derivation.derive(
        target_criterion, overrides, context.metadata, context.automatic
    )
    if is_same_verdict(verdict, context.automatic.get(target_criterion)):
        return None
    return verdict


def _find_overriding_decisions(
    decisions: Iterable[Decision], context: RollUpContext
) -> dict[TargetCriterion, Decision]:
    """Return the decisions that contradict automatic verdicts."""
    overriding = {}
    for decision in decisions:
        target_criterion = (decision.target, decision.criterion)
        is_decided = decision.decided_by in RESOLUTIONS
        # A mark of an incident is no verdict on the answer.
        if not is_decided or decision.criterion == INCIDENT:
            continue
        if not is_same_verdict(decision.human, context.automatic.get(target_criterion)):
            overriding[target_criterion] = decision
    return overriding


def _can_derive(
    decision: Decision, collected: Mapping[TargetCriterion, VerdictsByAnnotator]
) -> bool:
    """Whether a verdict may be derived for a target from verdicts on other targets or criteria.

    It may if nobody decided on the target, or if the reviews of the target disagree. But if one of
    the disagreeing verdicts is itself derived, the disagreement stays open.
    """
    if decision.decided_by is None:
        return True
    if decision.decided_by != DISPUTED:
        return False
    return not collected[decision.target, decision.criterion].has_derived


def _set_derived_verdict(decision: Decision, verdict: Any, deciding: Sequence[Decision]) -> None:
    """Set the derived verdict of a decision. It is as certain as the least certain decision in
    `deciding`, from which it follows.

    If annotators disagree, the disagreement stays open in all fields for human verdicts.
    """
    decision.derived = verdict
    if decision.decided_by == DISPUTED:
        return

    decided_by = _find_weakest_way(deciding)
    decision.human = verdict
    decision.decided_by = decided_by
    decision.individual = verdict
    decision.individual_by = decided_by

    annotators = set(decision.annotators)
    for source in deciding:
        annotators.update(source.annotators)
    decision.annotators = sorted(annotators)


def _find_weakest_way(decisions: Iterable[Decision]) -> DecidedBy | None:
    """Return the weakest way of deciding, because a verdict that follows from all decisions needs
    each of them.
    """
    ways = {decision.decided_by for decision in decisions}
    for way in reversed(RESOLUTIONS):
        if way in ways:
            return way
    return None


def _copy_incident_mark(decisions: Sequence[Decision]) -> None:
    """Copy the decision on the criterion `incident` to the first decision, which is on
    `item`/`correct`.
    """
    item_decision, *other_decisions = decisions
    for decision in other_decisions:
        if (decision.target, decision.criterion) != (ITEM, INCIDENT):
            continue
        if decision.decided_by in RESOLUTIONS and isinstance(decision.human, bool):
            item_decision.incident_mark = decision.human
        if isinstance(decision.mine, bool):
            item_decision.my_incident_mark = decision.mine


def set_verdicts_without_bulk(
    decisions: Iterable[Decision], decisions_without_bulk: Iterable[Decision]
) -> None:
    """Set the fields of decisions that say what holds without bulk reviews: `individual`,
    `individual_by` and `mine_bulk`.

    Args:
        decisions: Decisions from all reviews. They are changed.
        decisions_without_bulk: Decisions from the reviews that are no bulk reviews.
    """
    without_bulk = {
        (decision.target, decision.criterion): decision for decision in decisions_without_bulk
    }
    for decision in decisions:
        target_criterion = (decision.target, decision.criterion)
        individual = without_bulk.get(target_criterion, Decision(*target_criterion))
        decision.individual = individual.human
        decision.individual_by = individual.decided_by
        decision.mine_bulk = decision.mine is not None and individual.mine is None


def _decide_by_single_opinion(opinion: Opinion, annotator: str | None) -> Decision:
    """Return the result of `_decide_item` for an item with a single opinion. This is faster."""
    verdict = opinion.verdict
    decided_by: DecidedBy | None = "unanimous" if is_definite(verdict) else None
    return Decision(
        *ITEM_CORRECT,
        human=verdict,
        decided_by=decided_by,
        individual=verdict,
        individual_by=decided_by,
        mine=verdict if opinion.annotator == annotator else None,
        fault=opinion.fault,
        golden_fix=opinion.golden_fix,
        tags=list(dict.fromkeys(opinion.tags or ())),
        notes=[opinion.note] if opinion.note else [],
        annotators=[opinion.annotator],
        n_verdicts=int(verdict is not None),
    )


def _decide_item(
    item_opinions: Sequence[Opinion],
    all_opinions: Sequence[Opinion],
    collected: VerdictsByAnnotator,
    annotator: str | None,
    policy: Policy,
) -> Decision:
    """Combine the opinions on an item into the decision whether it is correct.

    Opinions on parts of the item count too: for its annotators, for the marks of stale opinions and
    for the numbers of verdicts.

    Args:
        item_opinions: The opinions on the item itself.
        all_opinions: The opinions on the item and its parts.
        collected: The verdicts on the item, including those that follow from verdicts on parts.
        annotator: Whose verdict `Decision.mine` is.
        policy: Whether a majority decides, or only a unanimous verdict.
    """
    decision = _decide_target(ITEM_CORRECT, item_opinions, collected, annotator, policy)
    decision.annotators = sorted(
        {*decision.annotators, *_list_annotators_of_parts(all_opinions, collected)}
    )
    # `_decide_target` counts the verdicts on the item itself. If there is none, but an adjudication
    # of parts decides the item, the adjudicator counts.
    if not decision.n_verdicts and collected.adjudication is not None:
        decision.n_verdicts = 1

    decision.stale = any(opinion.stale for opinion in all_opinions)
    own_opinions = [opinion for opinion in all_opinions if opinion.annotator == annotator]
    decision.mine_stale = any(opinion.stale for opinion in own_opinions)
    decision.n_part_verdicts = _count_part_verdicts(all_opinions)
    decision.n_my_part_verdicts = _count_part_verdicts(
        opinion for opinion in own_opinions if not opinion.is_adjudication
    )
    return decision


def _list_annotators_of_parts(
    opinions: Sequence[Opinion], collected: VerdictsByAnnotator
) -> set[str]:
    """Return the annotators whose verdicts on parts give a verdict on the item."""
    annotators = set()
    for opinion in select_part_opinions(opinions):
        # Adjudications are not in `verdicts`, but count for the item.
        if opinion.annotator in collected.verdicts or opinion.is_adjudication:
            annotators.add(opinion.annotator)
    return annotators


def _count_part_verdicts(opinions: Iterable[Opinion]) -> int:
    """Count the targets and criteria, other than `item`/`correct`, with a current verdict.

    A review that marks an incident does not count, because it says nothing about the answer.
    """
    targets = set()
    for opinion in opinions:
        if _has_current_verdict(opinion) and opinion.criterion != INCIDENT:
            targets.add((opinion.target, opinion.criterion))
    return len(targets - {ITEM_CORRECT})


def _has_current_verdict(opinion: Opinion) -> bool:
    return not opinion.stale and opinion.verdict is not None


def _decide_target(
    target_criterion: TargetCriterion,
    opinions: Sequence[Opinion],
    collected: VerdictsByAnnotator,
    annotator: str | None,
    policy: Policy,
) -> Decision:
    """Combine the opinions on one target and criterion into a decision.

    Args:
        target_criterion: The target, such as `item`, and the criterion, such as `correct`.
        opinions: All opinions on them. Stale ones, on an earlier answer, only set the marks `stale`
            and `mine_stale`.
        collected: The current verdicts on them, including those that follow from other verdicts.
        annotator: Whose verdict `Decision.mine` is.
        policy: Whether a majority decides, or only a unanimous verdict.
    """
    current = [opinion for opinion in opinions if not opinion.stale]
    adjudications = [opinion for opinion in current if opinion.is_adjudication]
    stale_annotators = {opinion.annotator for opinion in opinions if opinion.stale}
    outcome = _find_outcome(collected, policy)
    return Decision(
        *target_criterion,
        human=outcome.verdict,
        decided_by=outcome.decided_by,
        # The same until `set_verdicts_without_bulk` leaves out bulk reviews.
        individual=outcome.verdict,
        individual_by=outcome.decided_by,
        mine=collected.independent.get(annotator) if annotator else None,
        fault=_find_decided_fault(outcome, adjudications, current),
        golden_fix=_find_common_golden_fix(adjudications) or _find_common_golden_fix(current),
        tags=_list_tags(current),
        notes=[opinion.note for opinion in current if opinion.note],
        annotators=sorted({opinion.annotator for opinion in current}),
        n_verdicts=_count_voters(collected, adjudications),
        stale=bool(stale_annotators),
        mine_stale=annotator in stale_annotators,
    )


def _list_tags(opinions: Iterable[Opinion]) -> list[str]:
    """List the tags without duplicates, in the order in which they were given."""
    tags: dict[str, None] = {}
    for opinion in opinions:
        tags.update(dict.fromkeys(opinion.tags or ()))
    return list(tags)


def _count_voters(collected: VerdictsByAnnotator, adjudications: Iterable[Opinion]) -> int:
    """Count the annotators and adjudicators with a verdict."""
    voters = set(collected.verdicts)
    for adjudication in adjudications:
        if adjudication.verdict is not None:
            voters.add(adjudication.annotator)
    return len(voters)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The decided verdict, and how it was decided."""

    verdict: Any
    decided_by: DecidedBy | None


def _find_outcome(collected: VerdictsByAnnotator, policy: Policy) -> _Outcome:
    """Apply the rule at the top of this module to the verdicts on one target and criterion."""
    if collected.adjudication is not None:
        return _Outcome(collected.adjudication, "adjudication")

    verdicts = list(collected.verdicts.values())
    agreed = find_agreed_verdict(verdicts)
    if agreed is None:
        return _Outcome(_find_common_abstention(verdicts), decided_by=None)
    if agreed != DISPUTED:
        return _Outcome(agreed, "unanimous")

    majority = find_majority_verdict(verdicts) if policy == "majority" else None
    if majority is not None:
        return _Outcome(majority, "majority")
    return _Outcome(DISPUTED, "disputed")


def _find_common_abstention(verdicts: Iterable[Any]) -> Any:
    """Return the verdict of annotators of whom none decided: None without verdicts."""
    abstentions = set(verdicts)
    if not abstentions:
        return None
    if len(abstentions) > 1:
        return UNSURE
    return abstentions.pop()


def _select_agreeing(opinions: Iterable[Opinion], verdict: Any) -> list[Opinion]:
    """Return the opinions that do not contradict a verdict: equal ones, and those that decide
    nothing, such as "unsure".
    """
    return [
        opinion
        for opinion in opinions
        if not is_definite(opinion.verdict) or is_same_verdict(opinion.verdict, verdict)
    ]


def _find_common_fault(opinions: Iterable[Opinion]) -> str | None:
    """Return the fault that all opinions with a fault give, "disputed" if these differ, or None."""
    faults = {opinion.fault for opinion in opinions if opinion.fault}
    if not faults:
        return None
    if len(faults) > 1:
        return DISPUTED
    return faults.pop()


def _find_decided_fault(
    outcome: _Outcome, adjudications: Sequence[Opinion], current: Sequence[Opinion]
) -> str | None:
    """Return whose fault a failure is by the decision on a target: the fault of an adjudicator who
    passed the target, else the common fault of the opinions that count.

    Returns "disputed" if these opinions name different faults.

    Args:
        outcome: The decision on the target.
        adjudications: The current adjudications.
        current: The current opinions, including the adjudications.
    """
    if outcome.decided_by == "majority":
        # The reasons of the outvoted annotators do not count.
        return _find_common_fault(_select_agreeing(current, outcome.verdict))

    last_adjudication = find_latest_adjudication(adjudications)
    counted = current
    if last_adjudication is not None:
        if last_adjudication.verdict is True:
            return last_adjudication.fault
        counted = _select_agreeing(current, last_adjudication.verdict)
    # The fault that adjudicators name comes before that of the other annotators.
    return _find_common_fault(adjudications) or _find_common_fault(counted)


def _find_common_golden_fix(opinions: Iterable[Opinion]) -> dict[str, Any] | None:
    """Return the golden fix of the opinions that have one; None if they differ."""
    fixes = [opinion.golden_fix for opinion in opinions if opinion.golden_fix]
    if not fixes:
        return None
    first_fix, *other_fixes = fixes
    if any(fix != first_fix for fix in other_fixes):
        return None
    return first_fix

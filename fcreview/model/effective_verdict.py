"""Determine the effective verdict, which is the verdict of the annotators if they decided on one,
else the automatic verdict.

A `Policy` states how many annotators must agree. The verdict of an annotator can also follow from
the annotator's verdicts on parts of the item (`roll_up_parts`) or on other criteria
(`fcreview.model.verdict`). The store computes effective verdicts in SQL, which
`fcreview.store.reviews.review_sql` generates from `SCORING_ORDER`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fcreview.model.address import (
    ITEM,
    RESPONSE,
    get_enclosing_call_address,
    parse_address,
    turn_address,
)
from fcreview.model.item import Item, SourceName
from fcreview.model.review import CORRECT, ITEM_CORRECT, Annotation, Opinion
from fcreview.model.verdict import (
    ABSTENTIONS,
    EQUIVALENT,
    TargetCriterion,
    derive_verdict,
    find_derivation_sources,
    find_derived_targets,
)

DISPUTED = "disputed"
DecidedBy = Literal["adjudication", "unanimous", "majority", "disputed"]
RESOLUTIONS: tuple[DecidedBy, ...] = ("adjudication", "unanimous", "majority")
"""Ways to decide by which a human verdict replaces the automatic verdict.

Disputed items keep the automatic verdict.
"""
Policy = Literal["unanimous", "majority"]
POLICIES: tuple[Policy, ...] = ("unanimous", "majority")
"""Policies for items without an adjudication: all annotators must agree, or more than half of
them.
"""
UNANIMOUS: Policy = "unanimous"
SCORING_ORDER: tuple[SourceName, ...] = ("official", "rule", "judge")
"""Automatic sources by precedence.

The first source with a verdict determines the automatic verdict.
"""


def is_definite(verdict: Any) -> bool:
    """Whether a verdict is neither None (no verdict) nor "unsure"."""
    return verdict is not None and verdict not in ABSTENTIONS.values()


def is_same_verdict(first: Any, second: Any) -> bool:
    """Whether two verdicts are equal.

    The order of labels does not matter, and 1 equals 1.0 but not true.
    """
    if isinstance(first, list) and isinstance(second, list):
        return set(map(repr, first)) == set(map(repr, second))
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return isinstance(first, bool) is isinstance(second, bool) and first == second
    return type(first) is type(second) and bool(first == second)


def find_agreed_verdict(verdicts: Iterable[Any]) -> Any:
    """Return the verdict on which all annotators agree, "disputed" if they disagree, or None if
    all are unsure.
    """
    definite = [*filter(is_definite, verdicts)]
    if not definite:
        return None
    return (
        definite[0]
        if all(is_same_verdict(definite[0], other) for other in definite[1:])
        else DISPUTED
    )


def find_majority_verdict(verdicts: Iterable[Any]) -> Any:
    """Return the verdict of more than half of the annotators who are not unsure, or None if
    there is none.
    """
    definite = [*filter(is_definite, verdicts)]
    for verdict in definite:
        if 2 * sum(is_same_verdict(verdict, other) for other in definite) > len(definite):
            return verdict
    return None


def select_automatic_verdict(verdict_by_source: Mapping[SourceName, Any]) -> Any:
    """Return the first automatic verdict in `SCORING_ORDER`, or None if there is none."""
    found = (verdict_by_source.get(source) for source in SCORING_ORDER)
    return next((verdict for verdict in found if verdict is not None), None)


def select_effective_verdict(
    automatic: Any, human: Any = None, decided_by: DecidedBy | None = None, derived: Any = None
) -> Any:
    """Return the human verdict if the annotators decided on one, else the verdict that follows from
    their verdicts on other targets and criteria, else the automatic verdict.
    """
    if decided_by in RESOLUTIONS:
        return human
    return automatic if derived is None else derived


OverriddenVerdict = dict[str, Any]
"""Automatic verdict that an annotator's verdict overrides: {source, by, value}."""


def select_overridden_verdict(
    automatic: Mapping[str, Mapping[str, Any]], human: Any
) -> OverriddenVerdict | None:
    """Return the automatic verdict that counts if a human verdict overrides it, else None.
    `automatic` maps sources to {by, value}.
    """
    if not is_definite(human):
        return None
    for source in SCORING_ORDER:
        verdict = automatic.get(source)
        if verdict is not None and verdict["value"] is not None:
            return (
                None if is_same_verdict(human, verdict["value"]) else {"source": source, **verdict}
            )
    return None


def find_overridden_verdict(item: Item, annotation: Annotation) -> OverriddenVerdict | None:
    """Return the first automatic verdict in `SCORING_ORDER` if an annotation of the item
    overrides it, else None.
    """
    found: dict[str, dict[str, Any]] = {}
    if (annotation.target, annotation.criterion) == ITEM_CORRECT:
        found = {source: {"by": None, "value": getattr(item, source)} for source in SCORING_ORDER}
    for each in item.verdicts:
        if (each.target, each.criterion) == (annotation.target, annotation.criterion):
            found[each.source] = {"by": each.by, "value": each.value}
    return select_overridden_verdict(found, annotation.verdict)


@dataclass(slots=True)
class RollUpContext:
    """Data about an item that is needed to derive its verdict from the annotators' verdicts on
    its parts.
    """

    n_pairs: Mapping[int, int] = field(default_factory=dict)
    """Turn (from 0) -> number of call pairs."""
    benchmark_part_verdicts: Mapping[str, Any] = field(default_factory=dict)
    """Address of a part -> the benchmark's verdict on it."""
    needs: Sequence[Sequence[str]] | None = None
    """`Extra.needs`: the parts that must pass."""
    benchmark_item_verdict: bool | None = None
    benchmark: str = ""
    automatic: Mapping[TargetCriterion, Any] = field(default_factory=dict)
    """Automatic verdicts on the item and its parts."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


PartVerdicts = Mapping[str, Any]
"""Address of a part -> verdict on the part."""


def roll_up_parts(verdicts: PartVerdicts, context: RollUpContext) -> bool | None:
    """Return the item verdict that follows from an annotator's verdicts on parts, or None. Parts
    without a review keep the benchmark's verdict. Reviews that confirm the benchmark are ignored,
    because its item verdict includes them.
    """
    benchmark = context.benchmark_part_verdicts
    overriding = {
        address: verdict
        for address, verdict in verdicts.items()
        if not is_same_verdict(verdict, benchmark.get(address))
    }
    if not any(isinstance(verdict, bool) for verdict in overriding.values()):
        return None
    if context.needs is None:
        verdicts_on_parts = {**_select_confirmed_passes(benchmark, overriding), **overriding}
        return roll_up_if_all_must_pass(verdicts_on_parts, context.n_pairs)

    if overriding.get(RESPONSE) is False:
        return False
    if _is_each_need_met(context.needs, overriding, benchmark):
        return True
    return False if False in overriding.values() else None


def _select_confirmed_passes(benchmark: PartVerdicts, overriding: PartVerdicts) -> dict[str, bool]:
    """Return the parts that pass by the benchmark's verdict, without calls of which an annotator
    failed a part.
    """
    failed_calls = {
        get_enclosing_call_address(address)
        for address, verdict in overriding.items()
        if verdict is False
    }
    return {
        address: True
        for address, verdict in benchmark.items()
        if verdict is True and address not in failed_calls
    }


def _is_each_need_met(
    needs: Iterable[Iterable[str]], overriding: PartVerdicts, benchmark: PartVerdicts
) -> bool:
    """Whether at least one part of each group passes."""
    for group in needs:
        if not any(_is_part_passing(address, overriding, benchmark) for address in group):
            return False
    return True


def roll_up_benchmark_verdicts(context: RollUpContext) -> bool | None:
    """Return the benchmark's verdict on the item, else the item verdict that follows from its
    verdicts on the parts.
    """
    if context.benchmark_item_verdict is not None:
        return context.benchmark_item_verdict
    if context.needs is None:
        return roll_up_if_all_must_pass(context.benchmark_part_verdicts, context.n_pairs)
    return all(
        any(context.benchmark_part_verdicts.get(address) is True for address in group)
        for group in context.needs
    )


def has_contradiction(first: PartVerdicts, second: PartVerdicts) -> bool:
    """Whether the part verdicts of two annotators contradict each other: they differ on a part, or
    one annotator passes a turn or call, and the other annotator fails a part inside it.
    """
    return any(
        (first_address == second_address and not is_same_verdict(first_verdict, second_verdict))
        or _is_failure_inside_pass(first_address, first_verdict, second_address, second_verdict)
        or _is_failure_inside_pass(second_address, second_verdict, first_address, first_verdict)
        for first_address, first_verdict in first.items()
        if isinstance(first_verdict, bool)
        for second_address, second_verdict in second.items()
        if isinstance(second_verdict, bool)
    )


def _is_failure_inside_pass(
    outer_address: str, outer_verdict: bool, address: str, verdict: bool
) -> bool:
    return outer_verdict and not verdict and address.startswith(outer_address + "/")


def _is_part_passing(
    address: str, verdicts: PartVerdicts, benchmark_verdicts: PartVerdicts
) -> bool:
    """Whether the part at an address passes. The verdict on its turn decides, else the verdict on
    the part, else a failing argument of the part, else the benchmark's verdict.
    """
    part = parse_address(address)
    on_turn = verdicts.get(turn_address(part.turn)) if part else None
    for verdict in (on_turn, verdicts.get(address)):
        if isinstance(verdict, bool):
            return verdict
    failed = [other for other, verdict in verdicts.items() if verdict is False and other != address]
    if any(get_enclosing_call_address(other) == address for other in failed):
        return False
    return benchmark_verdicts.get(address) is True


ArgumentVerdict = tuple[str | None, Any]
"""Path of an argument, or None for the whole turn or call, and the verdict."""


def roll_up_if_all_must_pass(
    verdicts: PartVerdicts, n_pairs_by_turn: Mapping[int, int]
) -> bool | None:
    """Return the item verdict if all calls of all turns must pass, or, without calls, the response.
    A verdict on a turn or call takes precedence over verdicts on its parts. Returns None if
    verdicts are missing.
    """
    turns: dict[int, dict[int | None, list[ArgumentVerdict]]] = {
        turn: {} for turn in n_pairs_by_turn
    }
    for address, verdict in verdicts.items():
        part = parse_address(address)
        if part is not None:
            turns.setdefault(part.turn, {}).setdefault(part.call, []).append(
                (part.argument, verdict)
            )
    on_turns = [_roll_up_turn(calls, n_pairs_by_turn.get(turn, 0)) for turn, calls in turns.items()]
    if False in on_turns or verdicts.get(RESPONSE) is False:
        return False
    if not n_pairs_by_turn:
        return True if verdicts.get(RESPONSE) is True and None not in on_turns else None
    return True if all(verdict is True for verdict in on_turns) else None


def _roll_up_turn(
    verdicts_by_call: Mapping[int | None, Sequence[ArgumentVerdict]], n_pairs: int
) -> bool | None:
    on_turn = next((verdict for _, verdict in verdicts_by_call.get(None, ())), None)
    if isinstance(on_turn, bool):
        return on_turn
    on_calls = [
        _roll_up_call(verdicts) for call, verdicts in verdicts_by_call.items() if call is not None
    ]
    if False in on_calls:
        return False
    return True if n_pairs and sum(verdict is True for verdict in on_calls) >= n_pairs else None


def _roll_up_call(verdicts: Sequence[ArgumentVerdict]) -> bool | None:
    on_call = next((verdict for argument, verdict in verdicts if argument is None), None)
    if isinstance(on_call, bool):
        return on_call
    return False if any(verdict is False for _, verdict in verdicts) else None


ROLL_UP_CRITERIA = (CORRECT, EQUIVALENT)
"""Criteria whose verdicts on parts determine the item verdict.

For a part with both, the first criterion counts.
"""


@dataclass(slots=True)
class VerdictsByAnnotator:
    """Current verdicts of all annotators on one target and criterion."""

    verdicts: dict[str, Any]
    """Annotator -> verdict, which may be "unsure". Adjudications are not included."""
    adjudication: Any = None
    independent: dict[str, Any] = field(default_factory=dict)
    """Annotator -> verdict that follows only from this annotator's own reviews."""
    has_derived: bool = False
    """Whether a verdict in `verdicts` follows from an annotator's other verdicts."""


def collect_verdicts(
    opinions: Sequence[Opinion], context: RollUpContext
) -> dict[TargetCriterion, VerdictsByAnnotator]:
    """Collect the current verdicts on an item and its parts. The first key is `item`/`correct`.

    If an annotator gave no item verdict or is unsure, it is derived from the annotator's verdicts
    on parts. If an annotator did not review a criterion that another annotator reviewed, the
    verdict on it is derived from the annotator's verdicts on other criteria.
    """
    by_target = group_by_target(opinions)
    by_target = {ITEM_CORRECT: by_target.pop(ITEM_CORRECT, []), **by_target}
    collected = {}
    for target_criterion, about in by_target.items():
        last = find_latest_adjudication(about)
        verdicts = {
            o.annotator: o.verdict for o in about if is_current_review(o) and o.verdict is not None
        }
        collected[target_criterion] = VerdictsByAnnotator(
            verdicts, adjudication=last.verdict if last else None, independent=dict(verdicts)
        )
    parts = select_part_opinions(opinions)
    if parts:
        _add_verdicts_from_parts(collected[ITEM_CORRECT], parts, context)
    if context.benchmark:
        _add_verdicts_from_criteria(collected, opinions, context)
    return collected


def group_by_target(opinions: Iterable[Opinion]) -> dict[TargetCriterion, list[Opinion]]:
    groups: dict[TargetCriterion, list[Opinion]] = {}
    for opinion in opinions:
        groups.setdefault((opinion.target, opinion.criterion), []).append(opinion)
    return groups


def is_current_review(opinion: Opinion) -> bool:
    return not opinion.stale and not opinion.is_adjudication


def _add_verdicts_from_parts(
    item_verdicts: VerdictsByAnnotator, part_opinions: Sequence[Opinion], context: RollUpContext
) -> None:
    """Add the item verdict of each annotator who reviewed parts but not the item. An annotator who
    only confirms the benchmark's verdicts gets no item verdict, unless another annotator overrides
    one of these verdicts. The item verdict is then the benchmark's verdict on the item.
    """
    adjudications = [opinion for opinion in part_opinions if opinion.is_adjudication]
    adjudicated = _collect_part_verdicts(adjudications)
    if item_verdicts.adjudication is None:
        item_verdicts.adjudication = roll_up_parts(adjudicated, context)

    own_verdicts: dict[str, PartVerdicts] = {}
    combined: dict[str, PartVerdicts] = {}
    rolled_up: dict[str, bool | None] = {}
    for name in dict.fromkeys(o.annotator for o in part_opinions if not o.is_adjudication):
        own_opinions = [
            opinion
            for opinion in part_opinions
            if opinion.annotator == name and is_current_review(opinion)
        ]
        own_verdicts[name] = _collect_part_verdicts(own_opinions)
        combined[name] = {**own_verdicts[name], **adjudicated}
        rolled_up[name] = roll_up_parts(combined[name], context)

    overriding = [combined[name] for name, verdict in rolled_up.items() if verdict is not None]
    for name, verdict in rolled_up.items():
        if verdict is None and _contradicts_any(combined[name], overriding):
            verdict = roll_up_benchmark_verdicts(context)
        if verdict is not None and not is_definite(item_verdicts.verdicts.get(name)):
            item_verdicts.verdicts[name] = verdict
            item_verdicts.has_derived = True
        independent = roll_up_parts(own_verdicts[name], context)
        if independent is not None and not is_definite(item_verdicts.independent.get(name)):
            item_verdicts.independent[name] = independent


def _contradicts_any(verdicts: PartVerdicts, others: Iterable[PartVerdicts]) -> bool:
    return any(has_contradiction(verdicts, other) for other in others)


def _add_verdicts_from_criteria(
    collected: dict[TargetCriterion, VerdictsByAnnotator],
    opinions: Iterable[Opinion],
    context: RollUpContext,
) -> None:
    """Derive verdicts from verdicts on other criteria, and add them to `collected`. For a target
    and criterion without a review, derived verdicts are added only if they differ and follow from
    undisputed verdicts.
    """
    by_annotator, adjudicated = _collect_definite_verdicts(opinions)
    if len(by_annotator) < 2:
        return
    disputed = _find_disputed_targets(collected)
    combined = {name: {**own, **adjudicated} for name, own in by_annotator.items()}
    reviewed = dict.fromkeys(itertools.chain.from_iterable(by_annotator.values()))
    for target_criterion in reviewed:
        verdicts = collected[target_criterion]
        derived = _derive_verdict_by_annotator(target_criterion, combined, context)
        for name, verdict in derived.items():
            # An annotator who is unsure about a criterion leaves the verdict on it to the others.
            if name not in verdicts.verdicts:
                verdicts.verdicts[name] = verdict
                verdicts.has_derived = True

    undisputed = {name: _omit_keys(verdicts, disputed) for name, verdicts in combined.items()}
    for target_criterion in find_derived_targets(context.benchmark, collected):
        derived = _derive_verdict_by_annotator(target_criterion, undisputed, context)
        if find_agreed_verdict(derived.values()) == DISPUTED:
            collected[target_criterion] = VerdictsByAnnotator(derived, has_derived=True)


_Verdicts = dict[TargetCriterion, Any]


def _collect_definite_verdicts(
    opinions: Iterable[Opinion],
) -> tuple[dict[str, _Verdicts], _Verdicts]:
    """Return the current definite verdicts of each annotator, and those of adjudicators. A later
    verdict replaces an earlier one.
    """
    by_annotator: dict[str, _Verdicts] = {}
    adjudicated: _Verdicts = {}
    for opinion in sorted(opinions, key=lambda opinion: opinion.time):
        if opinion.stale or not is_definite(opinion.verdict):
            continue
        if opinion.is_adjudication:
            verdicts = adjudicated
        else:
            verdicts = by_annotator.setdefault(opinion.annotator, {})
        verdicts[opinion.target, opinion.criterion] = opinion.verdict
    return by_annotator, adjudicated


def _find_disputed_targets(
    collected: Mapping[TargetCriterion, VerdictsByAnnotator],
) -> set[TargetCriterion]:
    """Return the targets and criteria on which annotators disagree and nobody has adjudicated."""
    disputed = set()
    for target_criterion, verdicts in collected.items():
        is_adjudicated = verdicts.adjudication is not None
        if not is_adjudicated and find_agreed_verdict(verdicts.verdicts.values()) == DISPUTED:
            disputed.add(target_criterion)
    return disputed


def _omit_keys(verdicts: _Verdicts, omitted: Collection[TargetCriterion]) -> _Verdicts:
    return {key: verdict for key, verdict in verdicts.items() if key not in omitted}


def _derive_verdict_by_annotator(
    target_criterion: TargetCriterion,
    verdicts: Mapping[str, Mapping[TargetCriterion, Any]],
    context: RollUpContext,
) -> dict[str, Any]:
    """Derive each annotator's verdict on `target_criterion` from those of the annotator's verdicts
    that override automatic ones. An annotator who only confirms verdicts that others override gets
    the automatic verdict.
    """
    reviewed = dict.fromkeys(itertools.chain.from_iterable(verdicts.values()))
    sources = find_derivation_sources(context.benchmark, target_criterion, reviewed)
    overriding = {
        name: _select_overriding(own, sources, context.automatic) for name, own in verdicts.items()
    }
    overridden = set(itertools.chain.from_iterable(overriding.values()))

    derived: dict[str, Any] = {}
    for name, own in verdicts.items():
        verdict = derive_verdict(
            context.benchmark,
            target_criterion,
            overriding[name],
            context.metadata,
            context.automatic,
        )
        only_confirms = not overriding[name] and not overridden.isdisjoint(own)
        if verdict is None and only_confirms:
            verdict = context.automatic.get(target_criterion)
        if verdict is not None:
            derived[name] = verdict
    return derived


def _select_overriding(
    verdicts: Mapping[TargetCriterion, Any],
    sources: Iterable[TargetCriterion],
    automatic: Mapping[TargetCriterion, Any],
) -> _Verdicts:
    """Return the verdicts on these sources that differ from the automatic verdicts."""
    return {
        source: verdicts[source]
        for source in sources
        if source in verdicts and not is_same_verdict(verdicts[source], automatic.get(source))
    }


def select_part_opinions(opinions: Iterable[Opinion]) -> list[Opinion]:
    """Select the current opinions from which an item verdict can follow: opinions on parts, on
    `ROLL_UP_CRITERIA`.
    """
    return [
        o for o in opinions if not o.stale and o.criterion in ROLL_UP_CRITERIA and o.target != ITEM
    ]


def find_latest_adjudication(opinions: Iterable[Opinion]) -> Opinion | None:
    """Return the latest adjudication that is not stale and whose verdict is not "unsure", or
    None if there is none.
    """
    found = [o for o in opinions if o.is_adjudication and not o.stale and is_definite(o.verdict)]
    return max(found, key=lambda o: o.time) if found else None


def _collect_part_verdicts(opinions: Iterable[Opinion]) -> PartVerdicts:
    verdicts: dict[str, Any] = {}
    for criterion in reversed(ROLL_UP_CRITERIA):
        by_time = sorted((o for o in opinions if o.criterion == criterion), key=lambda o: o.time)
        verdicts.update({o.target: o.verdict for o in by_time if o.verdict is not None})
    return verdicts

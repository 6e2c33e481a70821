"""Determine the effective verdict, which is the verdict of the annotators if they decided on one,
else the automatic verdict.

A `Policy` states how many annotators must agree. The verdict of an annotator can also follow from
the annotator's verdicts on parts of the item (`roll_up_parts`) or on other criteria
(`fcreview.model.verdict`). The store computes effective verdicts in SQL, which
`fcreview.store.review_sql` generates from `SCORING_ORDER`.
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
from fcreview.model.benchmark_rules import find_benchmark_rules
from fcreview.model.derivation import DerivationRules
from fcreview.model.item import Item, SourceName
from fcreview.model.review import CORRECT, ITEM_CORRECT, Annotation, Opinion
from fcreview.model.verdict import (
    ABSTENTIONS,
    EQUIVALENT,
    TargetCriterion,
)

DISPUTED = "disputed"
DecidedBy = Literal["adjudication", "unanimous", "majority", "disputed", "erratum"]
"""How annotators decided on a verdict.

`erratum`: they accepted a golden fix, from which the verdict follows by the benchmark's rules.
"""
ERRATUM: DecidedBy = "erratum"
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

    The order of labels in a list does not matter, and 1 equals 1.0 but not true.
    """
    if isinstance(first, list) and isinstance(second, list):
        first_labels = {repr(label) for label in first}
        second_labels = {repr(label) for label in second}
        return first_labels == second_labels

    # In Python, true equals 1.
    if isinstance(first, bool) is not isinstance(second, bool):
        return False
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return first == second
    return type(first) is type(second) and bool(first == second)


def find_agreed_verdict(verdicts: Iterable[Any]) -> Any:
    """Return the verdict on which all annotators agree, "disputed" if they disagree, or None if
    all are unsure.
    """
    definite_verdicts = [verdict for verdict in verdicts if is_definite(verdict)]
    if not definite_verdicts:
        return None

    first_verdict, *other_verdicts = definite_verdicts
    for verdict in other_verdicts:
        if not is_same_verdict(first_verdict, verdict):
            return DISPUTED
    return first_verdict


def find_majority_verdict(verdicts: Iterable[Any]) -> Any:
    """Return the verdict of more than half of the annotators who are not unsure, or None if
    there is none.
    """
    definite_verdicts = [verdict for verdict in verdicts if is_definite(verdict)]
    for verdict in definite_verdicts:
        n_equal = sum(is_same_verdict(verdict, other) for other in definite_verdicts)
        if 2 * n_equal > len(definite_verdicts):
            return verdict
    return None


def select_automatic_verdict(verdict_by_source: Mapping[SourceName, Any]) -> Any:
    """Return the first automatic verdict in `SCORING_ORDER`, or None if there is none."""
    for source in SCORING_ORDER:
        verdict = verdict_by_source.get(source)
        if verdict is not None:
            return verdict
    return None


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
    """Return the automatic verdict that counts if a human verdict differs from it, else None.

    Args:
        automatic: Source -> {by, value}.
        human: The human verdict. One that is unsure overrides nothing.
    """
    if not is_definite(human):
        return None
    for source in SCORING_ORDER:
        verdict = automatic.get(source)
        if verdict is None or verdict["value"] is None:
            continue
        # Only the first source with a verdict counts, so that the others are not overridden.
        if is_same_verdict(human, verdict["value"]):
            return None
        return {"source": source, **verdict}
    return None


def find_overridden_verdict(item: Item, annotation: Annotation) -> OverriddenVerdict | None:
    """Return the automatic verdict that an annotation of the item overrides, or None.

    Only the automatic verdict that counts can be overridden: that of the first source in
    `SCORING_ORDER` that has a verdict. Verdicts of other sources do not matter.
    """
    target_criterion = (annotation.target, annotation.criterion)
    verdict_by_source: dict[str, dict[str, Any]] = {}
    if target_criterion == ITEM_CORRECT:
        # The item has a field for each source.
        for source in SCORING_ORDER:
            verdict_by_source[source] = {"by": None, "value": getattr(item, source)}

    # A verdict in the item's list also says who gave it, so it replaces that of the item's field.
    for verdict in item.verdicts:
        if (verdict.target, verdict.criterion) == target_criterion:
            verdict_by_source[verdict.source] = {"by": verdict.by, "value": verdict.value}
    return select_overridden_verdict(verdict_by_source, annotation.verdict)


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

    @property
    def derivation(self) -> DerivationRules:
        """Rules by which verdicts follow from verdicts on other criteria of the item."""
        return find_benchmark_rules(self.benchmark).derivation


PartVerdicts = Mapping[str, Any]
"""Address of a part -> verdict on the part."""


def roll_up_parts(verdicts: PartVerdicts, context: RollUpContext) -> bool | None:
    """Return the item verdict that follows from an annotator's verdicts on turns, calls and
    arguments, or None if none follows.

    Only verdicts that differ from the benchmark's count, because the benchmark's item verdict
    already includes the others. Parts without a review keep the benchmark's verdict.
    """
    benchmark_verdicts = context.benchmark_part_verdicts
    overriding = {
        address: verdict
        for address, verdict in verdicts.items()
        if not is_same_verdict(verdict, benchmark_verdicts.get(address))
    }
    overrides_pass_or_fail = any(isinstance(verdict, bool) for verdict in overriding.values())
    if not overrides_pass_or_fail:
        return None

    if context.needs is not None:
        return _roll_up_by_needs(context.needs, overriding, benchmark_verdicts)
    # Without `needs`, all calls of all turns must pass. A part that fails only by the benchmark
    # counts as unknown: the item cannot pass with it, but fails only if the annotator fails a part.
    confirmed_passes = _select_confirmed_passes(benchmark_verdicts, overriding)
    return roll_up_if_all_must_pass({**confirmed_passes, **overriding}, context.n_pairs)


def _roll_up_by_needs(
    needs: Iterable[Iterable[str]], overriding: PartVerdicts, benchmark: PartVerdicts
) -> bool | None:
    """Return the item verdict by the benchmark's rule which parts must pass, or None if it stays
    open.

    Args:
        needs: Groups of parts. Of each group, at least one part must pass.
        overriding: The annotator's verdicts that differ from the benchmark's.
        benchmark: The benchmark's verdicts, which count for the other parts.
    """
    if overriding.get(RESPONSE) is False:
        return False
    if _is_each_need_met(needs, overriding, benchmark):
        return True
    # Without a failure by the annotator, the missing parts may be right.
    if False in overriding.values():
        return False
    return None


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

    on_parts = context.benchmark_part_verdicts
    if context.needs is None:
        return roll_up_if_all_must_pass(on_parts, context.n_pairs)
    # `needs` has groups of parts. In each group, at least one part must pass.
    passed_parts = {address for address, verdict in on_parts.items() if verdict is True}
    return all(not passed_parts.isdisjoint(group) for group in context.needs)


def has_contradiction(first: PartVerdicts, second: PartVerdicts) -> bool:
    """Whether the part verdicts of two annotators contradict each other.

    They do if the annotators differ on a part, or if one passes a turn or call of which the other
    one fails a part.
    """
    first_verdicts = _select_passes_and_failures(first)
    second_verdicts = _select_passes_and_failures(second)
    for address in first_verdicts.keys() & second_verdicts.keys():
        if first_verdicts[address] is not second_verdicts[address]:
            return True

    if _has_failure_inside_pass(first_verdicts, second_verdicts):
        return True
    return _has_failure_inside_pass(second_verdicts, first_verdicts)


def _select_passes_and_failures(verdicts: PartVerdicts) -> dict[str, bool]:
    return {address: verdict for address, verdict in verdicts.items() if isinstance(verdict, bool)}


def _has_failure_inside_pass(verdicts: PartVerdicts, others: PartVerdicts) -> bool:
    """Whether a turn or call passes, although a part of it fails by the other verdicts.

    The address of a part begins with that of the whole: `turn:0/call:1` is a part of `turn:0`.
    """
    passed = [address for address, verdict in verdicts.items() if verdict is True]
    failed = [address for address, verdict in others.items() if verdict is False]
    for passed_address in passed:
        if any(address.startswith(passed_address + "/") for address in failed):
            return True
    return False


def _is_part_passing(
    address: str, verdicts: PartVerdicts, benchmark_verdicts: PartVerdicts
) -> bool:
    """Whether the part at an address passes.

    The first of these verdicts decides: the verdict on its turn, the verdict on the part itself, a
    failure of an argument of the part, the benchmark's verdict.
    """
    part = parse_address(address)
    if part is not None:
        on_turn = verdicts.get(turn_address(part.turn))
        if isinstance(on_turn, bool):
            return on_turn

    on_part = verdicts.get(address)
    if isinstance(on_part, bool):
        return on_part

    for other_address, verdict in verdicts.items():
        is_inside = other_address != address and (
            get_enclosing_call_address(other_address) == address
        )
        if is_inside and verdict is False:
            return False
    return benchmark_verdicts.get(address) is True


def roll_up_if_all_must_pass(
    verdicts: PartVerdicts, n_pairs_by_turn: Mapping[int, int]
) -> bool | None:
    """Return the item verdict if all calls of all turns must pass. Returns None if verdicts are
    missing.

    A failed response also fails the item. If the item has no calls, the response must pass. A
    verdict on a turn or call takes precedence over verdicts on its parts.
    """
    on_turns = []
    for turn, turn_verdicts in _group_by_turn(verdicts, n_pairs_by_turn).items():
        n_pairs = n_pairs_by_turn.get(turn, 0)
        on_turns.append(_roll_up_turn(turn_verdicts, n_pairs))

    on_response = verdicts.get(RESPONSE)
    if False in on_turns or on_response is False:
        return False
    has_calls = bool(n_pairs_by_turn)
    if not has_calls and on_response is not True:
        return None
    if None in on_turns:
        return None
    return True


@dataclass(slots=True)
class _CallVerdicts:
    on_call: Any = None
    """Verdict on the whole call; None without one."""
    on_arguments: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class _TurnVerdicts:
    on_turn: Any = None
    """Verdict on the whole turn; None without one."""
    by_call: dict[int, _CallVerdicts] = field(default_factory=dict)


def _group_by_turn(verdicts: PartVerdicts, turns: Iterable[int]) -> dict[int, _TurnVerdicts]:
    """Group a person's verdicts on parts by turn: those on the turn itself, and those on its calls
    and their arguments. The result has each of `turns`, even without verdicts.
    """
    groups = {turn: _TurnVerdicts() for turn in turns}
    for address, verdict in verdicts.items():
        part = parse_address(address)
        if part is None:
            continue

        turn_verdicts = groups.setdefault(part.turn, _TurnVerdicts())
        if part.call is None:
            turn_verdicts.on_turn = verdict
            continue
        call_verdicts = turn_verdicts.by_call.setdefault(part.call, _CallVerdicts())
        if part.argument is None:
            call_verdicts.on_call = verdict
        else:
            call_verdicts.on_arguments.append(verdict)
    return groups


def _roll_up_turn(verdicts: _TurnVerdicts, n_pairs: int) -> bool | None:
    """Return the verdict on a turn of which all call pairs must pass; None if one is unknown."""
    if isinstance(verdicts.on_turn, bool):
        return verdicts.on_turn

    on_calls = [_roll_up_call(call_verdicts) for call_verdicts in verdicts.by_call.values()]
    if False in on_calls:
        return False
    n_passed = on_calls.count(True)
    return True if 0 < n_pairs <= n_passed else None


def _roll_up_call(verdicts: _CallVerdicts) -> bool | None:
    """Return the verdict on a call. An argument that fails fails the call, but arguments that pass
    do not say that all are right.
    """
    if isinstance(verdicts.on_call, bool):
        return verdicts.on_call
    has_failure = any(verdict is False for verdict in verdicts.on_arguments)
    return False if has_failure else None


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

    Missing verdicts are derived in two cases:

    * The item verdict of an annotator who gave none, or is unsure, follows from the annotator's
      verdicts on parts.
    * The verdict on a criterion that an annotator did not review, but another one did, follows from
      the annotator's verdicts on other criteria.
    """
    # The item comes first, even if nobody reviewed it as a whole.
    opinions_by_target: dict[TargetCriterion, list[Opinion]] = {
        ITEM_CORRECT: [],
        **group_by_target(opinions),
    }
    collected = {
        target_criterion: _collect_given_verdicts(opinions_on_target)
        for target_criterion, opinions_on_target in opinions_by_target.items()
    }

    parts = select_part_opinions(opinions)
    if parts:
        _add_verdicts_from_parts(collected[ITEM_CORRECT], parts, context)
    if context.benchmark:
        _add_verdicts_from_criteria(collected, opinions, context)
    return collected


def _collect_given_verdicts(opinions: Sequence[Opinion]) -> VerdictsByAnnotator:
    """Collect the verdicts that annotators gave on one target and criterion."""
    verdicts = {}
    for opinion in opinions:
        if is_current_review(opinion) and opinion.verdict is not None:
            verdicts[opinion.annotator] = opinion.verdict
    adjudication = find_latest_adjudication(opinions)
    return VerdictsByAnnotator(
        verdicts,
        adjudication=None if adjudication is None else adjudication.verdict,
        independent=dict(verdicts),
    )


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
    """Add the item verdicts that follow from verdicts on parts: turns, calls and arguments.

    They count where a person gave no verdict on the item or is unsure. Three kinds are added: the
    adjudicator's, each annotator's with the adjudicated parts, and each annotator's alone.

    Args:
        item_verdicts: The verdicts on the item so far. They are changed.
        part_opinions: The opinions on parts of the item.
        context: Data by which an item verdict follows from those on parts.
    """
    adjudications = [opinion for opinion in part_opinions if opinion.is_adjudication]
    adjudicated = _collect_part_verdicts(adjudications)
    if item_verdicts.adjudication is None:
        item_verdicts.adjudication = roll_up_parts(adjudicated, context)

    # These verdicts are compared between annotators, so it is noted that some of them are derived.
    own_part_verdicts = _collect_part_verdicts_by_annotator(part_opinions)
    derived_verdicts = _derive_item_verdicts(own_part_verdicts, adjudicated, context)
    for name, verdict in derived_verdicts.items():
        if not is_definite(item_verdicts.verdicts.get(name)):
            item_verdicts.verdicts[name] = verdict
            item_verdicts.has_derived = True

    # What the annotator alone thinks, without the adjudicator and the other annotators.
    for name, part_verdicts in own_part_verdicts.items():
        independent = roll_up_parts(part_verdicts, context)
        if independent is not None and not is_definite(item_verdicts.independent.get(name)):
            item_verdicts.independent[name] = independent


def _collect_part_verdicts_by_annotator(
    part_opinions: Iterable[Opinion],
) -> dict[str, PartVerdicts]:
    """Return the verdicts of each annotator on the parts of an item."""
    reviews: dict[str, list[Opinion]] = {}
    for opinion in part_opinions:
        if is_current_review(opinion):
            reviews.setdefault(opinion.annotator, []).append(opinion)
    return {name: _collect_part_verdicts(own_reviews) for name, own_reviews in reviews.items()}


def _derive_item_verdicts(
    own_verdicts: Mapping[str, PartVerdicts], adjudicated: PartVerdicts, context: RollUpContext
) -> dict[str, bool]:
    """Derive the item verdict of each annotator from verdicts on parts. Annotators for whom none
    follows are omitted.

    Adjudicated verdicts replace the annotator's own ones. An annotator who only confirms the
    benchmark's verdicts gets no item verdict, with one exception: if another annotator overrides
    one of the confirmed verdicts, the confirmation is an opinion against the override. The item
    verdict is then the benchmark's.
    """
    part_verdicts = {name: {**own, **adjudicated} for name, own in own_verdicts.items()}
    # None for annotators who only confirm the benchmark's verdicts.
    rolled_up = {name: roll_up_parts(verdicts, context) for name, verdicts in part_verdicts.items()}
    overriding = [part_verdicts[name] for name, verdict in rolled_up.items() if verdict is not None]
    benchmark_verdict = roll_up_benchmark_verdicts(context)

    derived: dict[str, bool] = {}
    for name, item_verdict in rolled_up.items():
        if item_verdict is None and _contradicts_any(part_verdicts[name], overriding):
            item_verdict = benchmark_verdict
        if item_verdict is not None:
            derived[name] = item_verdict
    return derived


def _contradicts_any(verdicts: PartVerdicts, others: Iterable[PartVerdicts]) -> bool:
    return any(has_contradiction(verdicts, other) for other in others)


def _add_verdicts_from_criteria(
    collected: dict[TargetCriterion, VerdictsByAnnotator],
    opinions: Iterable[Opinion],
    context: RollUpContext,
) -> None:
    """Add the verdicts of annotators that follow from their verdicts on other criteria. In
    tau-bench, for example, a failure of `db` makes `correct` fail.

    This matters only with several annotators: one who did not review a criterion can still disagree
    on it with the others.

    Args:
        collected: Target and criterion -> verdicts of the annotators. It is changed.
        opinions: The opinions on the item and its parts.
        context: Data by which verdicts follow from other verdicts.
    """
    definite = _collect_definite_verdicts(opinions)
    if len(definite.by_annotator) < 2:
        return

    # These are the disputes about given verdicts, before derived ones are added.
    disputed = _find_disputed_targets(collected)
    # Adjudicated verdicts replace those of each annotator.
    verdicts_by_annotator = {
        name: {**own, **definite.adjudicated} for name, own in definite.by_annotator.items()
    }
    reviewed_targets = _list_reviewed_targets(definite.by_annotator)
    _add_to_reviewed_criteria(collected, verdicts_by_annotator, reviewed_targets, context)

    # A criterion that nobody reviewed is added only if annotators differ on it for a reason that is
    # not a dispute already. So nothing is derived from the disputed verdicts.
    undisputed_verdicts = {
        name: _omit_keys(verdicts, disputed) for name, verdicts in verdicts_by_annotator.items()
    }
    _add_disputed_criteria(collected, undisputed_verdicts, context)


def _add_to_reviewed_criteria(
    collected: dict[TargetCriterion, VerdictsByAnnotator],
    verdicts_by_annotator: Mapping[str, _Verdicts],
    reviewed_targets: Iterable[TargetCriterion],
    context: RollUpContext,
) -> None:
    """Add derived verdicts on criteria that somebody reviewed, for the annotators who did not.

    Args:
        collected: Target and criterion -> verdicts of the annotators. It is changed.
        verdicts_by_annotator: Annotator -> target and criterion -> verdict, from which others
            follow.
        reviewed_targets: The targets and criteria that somebody reviewed.
        context: Data by which verdicts follow from other verdicts.
    """
    for target_criterion in reviewed_targets:
        on_target = collected[target_criterion]
        derived = _derive_verdict_by_annotator(target_criterion, verdicts_by_annotator, context)
        for name, verdict in derived.items():
            # An annotator who is unsure about a criterion leaves the verdict on it to the others.
            if name not in on_target.verdicts:
                on_target.verdicts[name] = verdict
                on_target.has_derived = True


def _add_disputed_criteria(
    collected: dict[TargetCriterion, VerdictsByAnnotator],
    undisputed: Mapping[str, _Verdicts],
    context: RollUpContext,
) -> None:
    """Add the criteria that nobody reviewed, but on which the derived verdicts of annotators
    differ. `undisputed` are the verdicts from which they are derived.
    """
    for target_criterion in context.derivation.find_derived_targets(collected):
        derived = _derive_verdict_by_annotator(target_criterion, undisputed, context)
        if find_agreed_verdict(derived.values()) == DISPUTED:
            collected[target_criterion] = VerdictsByAnnotator(derived, has_derived=True)


def _list_reviewed_targets(
    verdicts_by_annotator: Mapping[str, Mapping[TargetCriterion, Any]],
) -> list[TargetCriterion]:
    """List what any annotator reviewed, without duplicates, in the order of the reviews."""
    targets = itertools.chain.from_iterable(verdicts_by_annotator.values())
    return list(dict.fromkeys(targets))


_Verdicts = dict[TargetCriterion, Any]


@dataclass(frozen=True, slots=True)
class _DefiniteVerdicts:
    by_annotator: dict[str, _Verdicts]
    adjudicated: _Verdicts


def _collect_definite_verdicts(opinions: Iterable[Opinion]) -> _DefiniteVerdicts:
    """Return the current definite verdicts of each annotator, and those of adjudicators. A later
    verdict replaces an earlier one.
    """
    by_annotator: dict[str, _Verdicts] = {}
    adjudicated: _Verdicts = {}
    for opinion in sorted(opinions, key=lambda opinion: opinion.time):
        if opinion.stale or not is_definite(opinion.verdict):
            continue
        target_criterion = (opinion.target, opinion.criterion)
        if opinion.is_adjudication:
            adjudicated[target_criterion] = opinion.verdict
        else:
            own_verdicts = by_annotator.setdefault(opinion.annotator, {})
            own_verdicts[target_criterion] = opinion.verdict
    return _DefiniteVerdicts(by_annotator, adjudicated)


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
    """Derive each annotator's verdict on one criterion from verdicts on other criteria.

    An annotator who overrides automatic verdicts gets the verdict that follows from the overrides.
    An annotator who overrides nothing, but reviewed what another one overrides, gets the automatic
    verdict, because this confirmation contradicts the override. All others get no verdict.

    Args:
        target_criterion: What the derived verdicts are about.
        verdicts: Annotator -> target and criterion -> verdict.
        context: Data by which verdicts follow from other verdicts.
    """
    reviewed = _list_reviewed_targets(verdicts)
    sources = context.derivation.find_sources(target_criterion, reviewed)
    overrides_by_annotator = {
        name: _select_overriding(own, sources, context.automatic) for name, own in verdicts.items()
    }
    overridden_by_anyone = set(_list_reviewed_targets(overrides_by_annotator))

    derived: dict[str, Any] = {}
    for name, own_verdicts in verdicts.items():
        own_overrides = overrides_by_annotator[name]
        verdict = context.derivation.derive(
            target_criterion, own_overrides, context.metadata, context.automatic
        )
        confirms_overridden_verdict = not overridden_by_anyone.isdisjoint(own_verdicts)
        if verdict is None and not own_overrides and confirms_overridden_verdict:
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
    selected = []
    for opinion in opinions:
        is_on_part = opinion.target != ITEM and opinion.criterion in ROLL_UP_CRITERIA
        if is_on_part and not opinion.stale:
            selected.append(opinion)
    return selected


def find_latest_adjudication(opinions: Iterable[Opinion]) -> Opinion | None:
    """Return the latest adjudication that is not stale and whose verdict is not "unsure", or
    None if there is none.
    """
    adjudications = []
    for opinion in opinions:
        is_current = opinion.is_adjudication and not opinion.stale
        if is_current and is_definite(opinion.verdict):
            adjudications.append(opinion)
    return max(adjudications, key=lambda opinion: opinion.time, default=None)


def _collect_part_verdicts(opinions: Sequence[Opinion]) -> PartVerdicts:
    """Return the latest verdict on each part.

    A part can have verdicts on several of `ROLL_UP_CRITERIA`. The first of these criteria counts.
    """
    verdicts: dict[str, Any] = {}
    # Later verdicts replace earlier ones, so the criterion that counts comes last.
    for criterion in reversed(ROLL_UP_CRITERIA):
        on_criterion = [opinion for opinion in opinions if opinion.criterion == criterion]
        for opinion in sorted(on_criterion, key=lambda opinion: opinion.time):
            if opinion.verdict is not None:
                verdicts[opinion.target] = opinion.verdict
    return verdicts

"""Derive verdicts from verdicts on other criteria or parts of an item.

A class holds the rules of one kind of benchmark. `benchmark_rules.py` says which benchmark has
which rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from fcreview.model.address import ITEM, RESPONSE, WHOLE_TARGETS, parse_address
from fcreview.model.review import CORRECT
from fcreview.model.verdict import (
    CLAIM_PREFIX,
    COVERAGE,
    EQUIVALENT,
    TOTAL_REWARD,
    TargetCriterion,
)

Metadata = Mapping[str, Any]
NO_VERDICTS: Mapping[TargetCriterion, Any] = MappingProxyType({})
DerivationRule = tuple[TargetCriterion, Callable[[Any, Metadata], Any]]
"""Target and criterion of a verdict, and a function that derives another verdict from it and the
item's metadata.
"""

GOLDEN_ACTS_KEY = "golden dialog acts"
"""Metadata key of the golden dialog acts of a CONFETTI item."""
MILESTONES_MET = "milestones met"
"""Metadata key of ACEBench agent items: the process accuracy of an item whose final state is
wrong.
"""
SAME_NAMES_KEY = "same function and argument names"
"""Metadata key of HammerBench items with a judge verdict: whether function and argument names equal
the golden names. If they differ, the benchmark fails the item even if the judge accepts the
arguments.
"""
DECLINE_KEY = "expected"
"""Metadata key of HammerBench items for which no function is suitable, so that the model should
not call any.
"""

FIRST_FUNCTION_KEY = "first snapshot calls the golden function"
"""Metadata key of HammerBench snapshots after the first one of a conversation, in runs that the
script for conversations evaluates: whether the first snapshot has the golden function. If not, all
snapshots of it fail.
"""
FIXED_SOFT_SCORE_KEY = "soft score stays"
"""Metadata key of CONFETTI items whose soft score does not follow from the scores of the
arguments.
"""
SOFT_SCORE_DECIMALS = 4

PASSING_REWARD_KEY = "passes from reward"
"""Metadata key of rollouts whose rewards are verdicts: the reward from which a rollout passes."""
CLAIM_SCORES_KEY = "claim scores"
"""Metadata key of MCP-Atlas items: the score of each claim, or None if the judge failed."""
PASSING_COVERAGE = 0.75
"""Coverage from which an item of MCP-Atlas passes (`score_claims.py`, `pass_rate_0.75`)."""
COVERAGE_DECIMALS = 3
REWARD_PARTS = "reward parts"
"""Metadata key of tau-bench items: part of the reward -> value from 0 to 1, or None if it is
unknown.
"""
REWARD_CHECKS = "reward checks"
"""Metadata key of tau-bench items: part of the reward -> its checks: [target, criterion,
verdict, kind].
"""


def _derive_arguments_verdict(item_verdict: Any, metadata: Metadata) -> bool | None:
    """The verdict on the item is also that on its arguments, unless no call is expected."""
    if not isinstance(item_verdict, bool) or DECLINE_KEY in metadata:
        return None
    return item_verdict


def _derive_verdict_if_same_names(verdict: Any, metadata: Metadata) -> bool | None:
    """The arguments are right only if the names of the function and the arguments are."""
    if not isinstance(verdict, bool):
        return None
    return verdict and bool(metadata.get(SAME_NAMES_KEY))


def _derive_function_verdict(item_verdict: Any, metadata: Metadata) -> bool | None:
    """If the item passes, so does its function, unless no call is expected. A failure may be due
    to the arguments.
    """
    if item_verdict is not True or DECLINE_KEY in metadata:
        return None
    return True


def _derive_process_accuracy(item_verdict: Any, metadata: Metadata) -> float | None:
    """Return the process accuracy that follows from the verdict on an item: 1 if the item passes,
    else the recorded share of reached milestones.
    """
    if item_verdict is True:
        return 1.0
    share = metadata.get(MILESTONES_MET)
    if not isinstance(share, (int, float)):
        return None
    return float(share)


def _has_golden_act(labels: Any, metadata: Metadata) -> bool | None:
    """Whether one of the labels is a golden dialog act. One is enough."""
    golden_acts = metadata.get(GOLDEN_ACTS_KEY)
    if not isinstance(labels, list) or not isinstance(golden_acts, list):
        return None
    return not set(labels).isdisjoint(golden_acts)


def _derive_verdict_from_total_reward(reward: Any, metadata: Metadata) -> bool | None:
    """A rollout passes from a reward on, if the rewards of its run are verdicts."""
    threshold = metadata.get(PASSING_REWARD_KEY)
    if not _is_number(reward) or not _is_number(threshold):
        return None
    return bool(reward >= threshold)


def _derive_total_reward(verdict: Any, metadata: Metadata) -> float | None:
    """A verdict determines the reward only if all rewards of the run are 0 or 1: then the passing
    reward is 1. For `TOTAL_REWARD_RULES`.
    """
    if not isinstance(verdict, bool) or metadata.get(PASSING_REWARD_KEY) != 1:
        return None
    return float(verdict)


def _is_full_reward(reward: Any, metadata: Metadata) -> bool | None:  # noqa: ARG001
    return abs(reward - 1) <= 1e-6 if _is_number(reward) else None


PART = "part"
"""Placeholder in a `RuleTable` for the address of any turn, call or argument."""
ITEM_VERDICT = (ITEM, CORRECT)
RuleTable = Mapping[TargetCriterion, tuple[DerivationRule, ...]]
"""Derived target and criterion -> rules that derive the verdict, in order of precedence."""


class DerivationRules:
    """Rules that derive a verdict from one other verdict of the item."""

    needs_other_criteria = False
    """Whether several criteria determine a verdict together, so that the automatic verdicts on
    those that nobody overrides count too.
    """

    def __init__(self, table: RuleTable = MappingProxyType({})) -> None:
        self._table = table

    @property
    def derives_verdicts(self) -> bool:
        """Whether there are any rules."""
        return bool(self._table)

    def find_sources(
        self,
        target_criterion: TargetCriterion,
        reviewed: Iterable[TargetCriterion] = (),  # noqa: ARG002 - for benchmarks with parts
    ) -> list[TargetCriterion]:
        """Return the targets and criteria from which a verdict can be derived, in order of
        precedence.

        `reviewed` contains the reviewed targets and criteria. It matters only for benchmarks whose
        items have different parts.
        """
        return [source for source, _ in self._find_rules(target_criterion)]

    def derive(
        self,
        target_criterion: TargetCriterion,
        verdicts: Mapping[TargetCriterion, Any],
        metadata: Metadata,
        automatic: Mapping[TargetCriterion, Any] = NO_VERDICTS,  # noqa: ARG002 - see find_sources
    ) -> Any:
        """Derive the verdict on a target and criterion from verdicts on other criteria. Returns
        None if no verdict follows.

        Args:
            target_criterion: What the verdict is about, such as (`item`, `correct`).
            verdicts: Verdicts of people. Only those that contradict automatic verdicts are allowed.
            metadata: The item's metadata, in which importers store recorded parts and checks.
            automatic: The automatic verdicts. They are needed where several criteria or parts
                determine a verdict together, of which only some are in `verdicts`.
        """
        # Only the first rule whose source has a verdict counts.
        for source, derive in self._find_rules(target_criterion):
            if source in verdicts:
                return derive(verdicts[source], metadata)
        return None

    def list_derivable_targets(
        self,
        overrides: Iterable[TargetCriterion],
        automatic: Iterable[TargetCriterion],  # noqa: ARG002 - see find_sources
    ) -> list[TargetCriterion]:
        """Return the targets and criteria whose verdicts can follow from overrides, without
        duplicates.

        In the rules, the target `PART` stands for any part: a verdict on one criterion of a part
        can follow from another criterion of the same part.

        Args:
            overrides: Targets and criteria whose automatic verdicts people override.
            automatic: All targets and criteria with an automatic verdict.
        """
        overridden_parts = [target for target, _ in overrides if target not in WHOLE_TARGETS]
        targets: list[TargetCriterion] = []
        for target, criterion in self._list_targets():
            if target == PART:
                targets.extend((part, criterion) for part in overridden_parts)
            else:
                targets.append((target, criterion))
        return list(dict.fromkeys(targets))

    def find_derived_targets(self, reviewed: Iterable[TargetCriterion]) -> list[TargetCriterion]:
        """Return the targets and criteria without a review whose verdict follows from at least two
        reviewed criteria.
        """
        reviewed_targets = set(reviewed)
        derived_targets = []
        for candidate in self._list_targets():
            if candidate in reviewed_targets:
                continue
            sources = self.find_sources(candidate, reviewed_targets)
            if len(reviewed_targets.intersection(sources)) > 1:
                derived_targets.append(candidate)
        return derived_targets

    def derive_item_verdict_from_reviews_alone(
        self, verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
    ) -> bool | None:
        """Return the item verdict that an annotator's verdicts on parts and criteria imply,
        whatever the other parts are.

        Recorded values of other parts are made unknown first, because the annotator's verdict on
        the item can include another opinion about them.
        """
        known = self._forget_unreviewed_parts(metadata, verdicts)
        derived = self.derive(ITEM_VERDICT, verdicts, known)
        return derived if isinstance(derived, bool) else None

    def _forget_unreviewed_parts(
        self,
        metadata: Metadata,
        verdicts: Mapping[TargetCriterion, Any],  # noqa: ARG002 - see find_sources
    ) -> Metadata:
        """Return the metadata without the results of parts that have no verdict."""
        return metadata

    def _list_targets(self) -> Iterable[TargetCriterion]:
        """Return the targets and criteria whose verdicts can be derived."""
        return self._table

    def _find_rules(self, target_criterion: TargetCriterion) -> list[DerivationRule]:
        """Return the rules for a target, with its address in place of `PART`."""
        target, criterion = target_criterion
        rule_target = target if target in WHOLE_TARGETS else PART

        rules = []
        for source, derive in self._table.get((rule_target, criterion), ()):
            source_target, source_criterion = source
            if source_target == PART:
                source_target = target
            rules.append(((source_target, source_criterion), derive))
        return rules


NO_DERIVATION = DerivationRules()


def _derive_full_reward(item_verdict: Any, metadata: Metadata) -> float | None:  # noqa: ARG001
    """Return the reward that follows from the verdict on an item: 1 if the item passes, 0 if it
    fails.

    This is a rule of `REWARD_RULES`.
    """
    return float(item_verdict) if isinstance(item_verdict, bool) else None


PROCESS_ACCURACY_RULES = DerivationRules(
    {(ITEM, "process_accuracy"): ((ITEM_VERDICT, _derive_process_accuracy),)}
)
"""The share of milestones follows from the item's verdict."""
REWARD_RULES = DerivationRules(
    {
        (ITEM, "reward"): ((ITEM_VERDICT, _derive_full_reward),),
        ITEM_VERDICT: (((ITEM, "reward"), _is_full_reward),),
    }
)
"""Rules of benchmarks in which an item passes with the reward 1, in all runs."""
TOTAL_REWARD_RULES = DerivationRules(
    {
        (ITEM, TOTAL_REWARD): ((ITEM_VERDICT, _derive_total_reward),),
        ITEM_VERDICT: (((ITEM, TOTAL_REWARD), _derive_verdict_from_total_reward),),
    }
)
"""Rules of benchmarks in which each run has its own passing reward, if it has one. The metadata
states it (`PASSING_REWARD_KEY`).
"""
EQUIVALENT_PARTS_RULES = DerivationRules(
    {(PART, EQUIVALENT): (((PART, CORRECT), lambda verdict, _: verdict),)}
)
"""A part is equivalent to its golden counterpart if it is correct."""


class SnapshotRules(DerivationRules):
    """Rules of HammerBench: a snapshot passes if its function and its arguments are right."""

    needs_other_criteria = True

    def find_sources(
        self, target_criterion: TargetCriterion, reviewed: Iterable[TargetCriterion] = ()
    ) -> list[TargetCriterion]:
        """Return the sources of the base class, and the criteria of a snapshot."""
        sources = super().find_sources(target_criterion, reviewed)
        if target_criterion == ITEM_VERDICT:
            sources += _SNAPSHOT_CRITERIA
        return sources

    def derive(
        self,
        target_criterion: TargetCriterion,
        verdicts: Mapping[TargetCriterion, Any],
        metadata: Metadata,
        automatic: Mapping[TargetCriterion, Any] = NO_VERDICTS,
    ) -> Any:
        """Derive the verdict of a snapshot with an expected call from its own criteria."""
        expects_call = DECLINE_KEY not in metadata
        if target_criterion == ITEM_VERDICT and expects_call:
            return _derive_snapshot_verdict(verdicts, metadata, automatic)
        return super().derive(target_criterion, verdicts, metadata, automatic)

    def _forget_unreviewed_parts(
        self,
        metadata: Metadata,
        verdicts: Mapping[TargetCriterion, Any],  # noqa: ARG002 - see DerivationRules.find_sources
    ) -> Metadata:
        return {name: value for name, value in metadata.items() if name != FIRST_FUNCTION_KEY}


_SNAPSHOT_CRITERIA = ((ITEM, "func_ok"), (ITEM, "args_ok"))


def _derive_snapshot_verdict(
    verdicts: Mapping[TargetCriterion, Any],
    metadata: Metadata,
    automatic: Mapping[TargetCriterion, Any],
) -> bool | None:
    """Derive the verdict on a snapshot of HammerBench, a step of a conversation.

    It passes if the function and the arguments are right (`evaluate.py`). Returns None if people
    override neither, or if one is unknown.
    """
    function_key, arguments_key = _SNAPSHOT_CRITERIA
    # In a whole conversation, the function of the first snapshot counts for all snapshots, and the
    # metadata says whether it was right. A verdict on the own function then changes nothing.
    is_first_function_ok = metadata.get(FIRST_FUNCTION_KEY)
    if isinstance(is_first_function_ok, bool):
        is_function_ok: Any = is_first_function_ok
        is_overridden = arguments_key in verdicts
    else:
        is_function_ok = verdicts.get(function_key, automatic.get(function_key))
        is_overridden = arguments_key in verdicts or function_key in verdicts
    if not is_overridden:
        return None

    are_arguments_ok = verdicts.get(arguments_key, automatic.get(arguments_key))
    if is_function_ok is False or are_arguments_ok is False:
        return False
    if is_function_ok is True and are_arguments_ok is True:
        return True
    return None


def _reject_if_function_ok(verdict: Any, metadata: Metadata) -> bool | None:  # noqa: ARG001
    """A reply with the right function does not reject the question."""
    return False if verdict is True else None


def _reject_if_item_passes(item_verdict: Any, metadata: Metadata) -> bool | None:
    return False if _derive_function_verdict(item_verdict, metadata) else None


def _derive_verdict_if_decline_is_right(verdict: Any, metadata: Metadata) -> Any:
    """Where no function is suitable, the item passes if the model rejects the question."""
    return verdict if DECLINE_KEY in metadata else None


SNAPSHOT_RULES = SnapshotRules(
    {
        (ITEM, "func_ok"): ((ITEM_VERDICT, _derive_function_verdict),),
        (ITEM, "args_ok"): ((ITEM_VERDICT, _derive_arguments_verdict),),
        (ITEM, "args_ok_llm"): (
            ((ITEM, EQUIVALENT), _derive_verdict_if_same_names),
            (ITEM_VERDICT, _derive_arguments_verdict),
        ),
        (ITEM, "rejected"): (
            ((ITEM, "func_ok"), _reject_if_function_ok),
            (ITEM_VERDICT, _reject_if_item_passes),
        ),
        ITEM_VERDICT: (((ITEM, "rejected"), _derive_verdict_if_decline_is_right),),
    }
)


class ArgumentScoreRules(DerivationRules):
    """Rules of CONFETTI: the soft score of an item follows from the scores of its arguments.
    Whether an argument is hallucinated follows from the item's list of hallucinated arguments.
    """

    def find_sources(
        self, target_criterion: TargetCriterion, reviewed: Iterable[TargetCriterion] = ()
    ) -> list[TargetCriterion]:
        """Return the reviewed criteria that a score of arguments follows from, too."""
        sources = super().find_sources(target_criterion, reviewed)
        if target_criterion == _ITEM_SOFT_SCORE:
            sources += [source for source in reviewed if _is_on_part(source, "soft_score")]
        elif _is_on_part(target_criterion, "hallucinated"):
            sources.append(_HALLUCINATED_ARGUMENTS)
        return sources

    def derive(
        self,
        target_criterion: TargetCriterion,
        verdicts: Mapping[TargetCriterion, Any],
        metadata: Metadata,
        automatic: Mapping[TargetCriterion, Any] = NO_VERDICTS,
    ) -> Any:
        """Derive a score of arguments from reviewed ones, other verdicts like the base class."""
        if target_criterion == _ITEM_SOFT_SCORE:
            return _derive_soft_score(verdicts, metadata, automatic)
        if _is_on_part(target_criterion, "hallucinated"):
            return _is_listed_as_hallucinated(target_criterion, verdicts)
        return super().derive(target_criterion, verdicts, metadata, automatic)

    def list_derivable_targets(
        self, overrides: Iterable[TargetCriterion], automatic: Iterable[TargetCriterion]
    ) -> list[TargetCriterion]:
        """Return the targets of the base class, the score of the item, and those about
        hallucination.
        """
        targets = super().list_derivable_targets(overrides, automatic)
        targets.append(_ITEM_SOFT_SCORE)
        targets.extend(each for each in automatic if _is_on_part(each, "hallucinated"))
        return list(dict.fromkeys(targets))


_ITEM_SOFT_SCORE = (ITEM, "soft_score")
_HALLUCINATED_ARGUMENTS = (ITEM, "hallucinated")
"""The names of the hallucinated arguments of all calls of an item."""


def _is_on_part(target_criterion: TargetCriterion, criterion: str) -> bool:
    target, own_criterion = target_criterion
    return target not in WHOLE_TARGETS and own_criterion == criterion


def _derive_soft_score(
    verdicts: Mapping[TargetCriterion, Any],
    metadata: Metadata,
    automatic: Mapping[TargetCriterion, Any],
) -> float | None:
    """Derive the soft score of a call from the soft scores of its arguments.

    Returns None if no annotator overrides the score of an argument, or if the score of the call
    does not follow from those of its arguments.
    """
    overrides = _select_argument_scores(verdicts)
    has_automatic_score = _is_number(automatic.get(_ITEM_SOFT_SCORE))
    if not overrides or FIXED_SOFT_SCORE_KEY in metadata or not has_automatic_score:
        return None

    scores = {**_select_argument_scores(automatic), **overrides}
    if not all(_is_number(score) for score in scores.values()):
        return None
    return combine_soft_scores(scores.values())


def _select_argument_scores(
    verdicts: Mapping[TargetCriterion, Any],
) -> dict[TargetCriterion, Any]:
    return {key: value for key, value in verdicts.items() if _is_on_part(key, "soft_score")}


def combine_soft_scores(argument_scores: Iterable[float]) -> float:
    """Return the soft score of a CONFETTI call with the golden name: the mean of the scores of its
    arguments.

    If one argument has the score 0, so has the call. A call without arguments has the score 1.
    """
    scores = list(argument_scores)
    if not scores:
        return 1.0
    if any(score == 0 for score in scores):
        return 0.0
    mean = sum(scores) / len(scores)
    return round(mean, SOFT_SCORE_DECIMALS)


def _is_listed_as_hallucinated(
    target_criterion: TargetCriterion, verdicts: Mapping[TargetCriterion, Any]
) -> bool | None:
    """Whether an argument is in the list of hallucinated arguments. None if there is no list.

    The list is a verdict on a CONFETTI item, and covers the arguments of all calls of the item.
    """
    target, _ = target_criterion
    address = parse_address(target)
    hallucinated_names = verdicts.get(_HALLUCINATED_ARGUMENTS)
    if address is None or not isinstance(hallucinated_names, list):
        return None
    return address.argument in hallucinated_names


ARGUMENT_SCORE_RULES = ArgumentScoreRules(
    {ITEM_VERDICT: (((RESPONSE, "dialog_act"), _has_golden_act),)}
)


class ClaimMeanRules(DerivationRules):
    """Rules of MCP-Atlas: an item's verdict follows from the mean of the scores of its claims."""

    @property
    def derives_verdicts(self) -> bool:
        return True

    def find_sources(
        self, target_criterion: TargetCriterion, reviewed: Iterable[TargetCriterion] = ()
    ) -> list[TargetCriterion]:
        """Return the claims that determine the coverage and, with the coverage, the item's
        verdict.
        """
        reviewed_claims = []
        for target, criterion in reviewed:
            if criterion.startswith(CLAIM_PREFIX):
                reviewed_claims.append((target, criterion))

        if target_criterion == _COVERAGE:
            return reviewed_claims
        if target_criterion == ITEM_VERDICT:
            return [_COVERAGE, *reviewed_claims]
        return []

    def derive(
        self,
        target_criterion: TargetCriterion,
        verdicts: Mapping[TargetCriterion, Any],
        metadata: Metadata,
        automatic: Mapping[TargetCriterion, Any] = NO_VERDICTS,  # noqa: ARG002 - see the base class
    ) -> Any:
        """Derive the score of an item from the scores of its claims."""
        return _derive_from_claims(target_criterion, verdicts, metadata)

    def _list_targets(self) -> Iterable[TargetCriterion]:
        return (_COVERAGE, ITEM_VERDICT)

    def _forget_unreviewed_parts(
        self,
        metadata: Metadata,
        verdicts: Mapping[TargetCriterion, Any],  # noqa: ARG002 - see the base class
    ) -> Metadata:
        """Return the metadata with unknown scores in place of those of the claims."""
        claim_scores = metadata.get(CLAIM_SCORES_KEY)
        if not isinstance(claim_scores, list):
            return metadata
        return {**metadata, CLAIM_SCORES_KEY: [_UNKNOWN_SCORE] * len(claim_scores)}


_COVERAGE = (ITEM, COVERAGE)
_UNKNOWN_SCORE = "unknown"
"""Score of a claim that an annotator did not review, where only the reviews count."""


def _derive_from_claims(
    target_criterion: TargetCriterion, verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> bool | float | None:
    """Derive the coverage from the scores of the claims, or the item verdict from the coverage."""
    if target_criterion == _COVERAGE:
        return _compute_coverage(verdicts, metadata)
    if target_criterion != ITEM_VERDICT:
        return None

    # A verdict of people on the coverage counts more than their verdicts on the claims.
    coverage = verdicts.get(_COVERAGE)
    if not _is_number(coverage):
        coverage = _compute_coverage(verdicts, metadata)
    if coverage is None:
        return None
    return bool(coverage >= PASSING_COVERAGE)


def _compute_coverage(verdicts: Mapping[TargetCriterion, Any], metadata: Metadata) -> float | None:
    """Return the mean score of the claims of an answer after the reviews, as MCP-Atlas rounds it.

    Returns None if no review overrides the score of a claim, or if the score of a claim is unknown.
    A claim whose judge failed counts as 0.
    """
    recorded_scores = metadata.get(CLAIM_SCORES_KEY)
    if not isinstance(recorded_scores, list) or not recorded_scores:
        return None

    scores: list[float] = []
    is_overridden = False
    for number, recorded_score in enumerate(recorded_scores, start=1):
        verdict = verdicts.get((RESPONSE, f"{CLAIM_PREFIX}{number}"))
        if isinstance(verdict, (bool, int, float)):
            is_overridden = True
            scores.append(float(verdict))
        elif recorded_score == _UNKNOWN_SCORE:
            return None
        elif _is_number(recorded_score):
            scores.append(float(recorded_score))
        else:
            scores.append(0.0)

    if not is_overridden:
        return None
    return round(sum(scores) / len(scores), COVERAGE_DECIMALS)


CLAIM_MEAN_RULES = ClaimMeanRules()


class RewardProductRules(DerivationRules):
    """Rules of tau-bench: the reward is a product of parts, so that overrides of several parts
    count together. An item passes with the reward 1.
    """

    @property
    def derives_verdicts(self) -> bool:
        return True

    def find_sources(
        self, target_criterion: TargetCriterion, reviewed: Iterable[TargetCriterion] = ()
    ) -> list[TargetCriterion]:
        """Return what the reward or the verdict on the item follows from: the other of the two, and
        the reviewed parts of the reward.
        """
        reviewed_parts = []
        for target, criterion in reviewed:
            if criterion.startswith(_REWARD_CRITERIA):
                reviewed_parts.append((target, criterion))

        if target_criterion == _REWARD:
            return [ITEM_VERDICT, *reviewed_parts]
        if target_criterion == ITEM_VERDICT:
            return [_REWARD, *reviewed_parts]
        return []

    def derive(
        self,
        target_criterion: TargetCriterion,
        verdicts: Mapping[TargetCriterion, Any],
        metadata: Metadata,
        automatic: Mapping[TargetCriterion, Any] = NO_VERDICTS,  # noqa: ARG002 - see the base class
    ) -> Any:
        """Derive the reward from its parts, or the verdict on the item from the reward."""
        if target_criterion == _REWARD:
            return _derive_reward(verdicts, metadata)
        if target_criterion == ITEM_VERDICT:
            return _derive_verdict_from_reward(verdicts, metadata)
        return None

    def _list_targets(self) -> Iterable[TargetCriterion]:
        return (_REWARD, ITEM_VERDICT)

    def _forget_unreviewed_parts(
        self, metadata: Metadata, verdicts: Mapping[TargetCriterion, Any]
    ) -> Metadata:
        """Return the metadata with unknown parts of the reward, and with only the checks that
        reviewers failed.
        """
        reward_parts = metadata.get(REWARD_PARTS)
        if not isinstance(reward_parts, dict):
            return metadata
        return {
            **metadata,
            REWARD_PARTS: dict.fromkeys(reward_parts),
            REWARD_CHECKS: _select_failed_checks(metadata.get(REWARD_CHECKS), verdicts),
        }


_REWARD = (ITEM, "reward")
_REWARD_CRITERIA = ("db", "env_assertion", "action", "communicate", "nl_assertion")


def _derive_reward(verdicts: Mapping[TargetCriterion, Any], metadata: Metadata) -> float | None:
    """Derive the reward from the verdict on the item, else from the parts of the reward."""
    item_verdict = verdicts.get(ITEM_VERDICT)
    if isinstance(item_verdict, bool):
        return float(item_verdict)
    return _derive_reward_from_parts(verdicts, metadata)


def _derive_verdict_from_reward(
    verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> bool | None:
    """Derive the verdict on the item from the reward, else from the parts of the reward."""
    reward = verdicts.get(_REWARD)
    if not _is_number(reward):
        reward = _derive_reward_from_parts(verdicts, metadata)
    return _is_full_reward(reward, metadata)


def _derive_reward_from_parts(
    verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> float | None:
    """Return the reward of a tau-bench item after reviews: the product of its parts, such as `DB`
    and `COMMUNICATE`.

    Returns None if no verdict overrides a part, or if the product depends on an unknown part.
    """
    values = metadata.get(REWARD_PARTS)
    checks = metadata.get(REWARD_CHECKS)
    if not isinstance(values, dict):
        return None
    parts = [derive_reward_part(part, value, checks, verdicts) for part, value in values.items()]
    if not any(part.is_overridden for part in parts):
        return None

    # One part with 0 decides, even if others are unknown.
    if any(part.value == 0 for part in parts):
        return 0.0
    product = 1.0
    for part in parts:
        if part.value is None:
            return None
        product *= part.value
    return product


class RewardPart(NamedTuple):
    value: float | None
    """Value from 0 to 1; None if it is unknown."""
    is_overridden: bool


def derive_reward_part(
    part: str, value: Any, checks: Any, verdicts: Mapping[TargetCriterion, Any]
) -> RewardPart:
    """Derive the value of one part of a reward from verdicts on it or on its checks.

    Without such verdicts, the part keeps its value.

    Args:
        part: Name of the part, such as `COMMUNICATE`.
        value: The recorded value, a number or None if it is unknown.
        checks: The recorded checks of all parts, such as whether an expected text was said.
        verdicts: The verdicts of a person.
    """
    own_verdict = verdicts.get((ITEM, part.lower()))
    if isinstance(own_verdict, (bool, int, float)):
        return RewardPart(float(own_verdict), is_overridden=True)

    recorded_checks = _read_checks(checks, part)
    has_reviewed_check = any(
        isinstance(verdicts.get(target_criterion), bool) for target_criterion in recorded_checks
    )
    if not has_reviewed_check:
        known_value = float(value) if isinstance(value, (int, float)) else None
        return RewardPart(known_value, is_overridden=False)

    # All checks of a part must pass. Checks without a review keep the recorded verdict.
    passes = all(
        verdicts.get(target_criterion, recorded_verdict) is True
        for target_criterion, recorded_verdict in recorded_checks.items()
    )
    return RewardPart(float(passes), is_overridden=True)


def _read_checks(checks: Any, part: str) -> dict[TargetCriterion, Any]:
    """Return the target and criterion of each check of a part, with its recorded verdict."""
    listed_checks = checks.get(part) if isinstance(checks, dict) else None
    recorded: dict[TargetCriterion, Any] = {}
    for check in listed_checks or ():
        if isinstance(check, list) and len(check) >= 3:
            target, criterion, verdict, *_ = check
            recorded[str(target), str(criterion)] = verdict
    return recorded


def _select_failed_checks(
    checks: Any, verdicts: Mapping[TargetCriterion, Any]
) -> dict[str, list[Any]]:
    """Return the checks of each part of a reward that fail by the given verdicts."""
    failed_checks: dict[str, list[Any]] = {}
    for part, checks_of_part in (checks or {}).items():
        failed_checks[part] = []
        for check in checks_of_part:
            target, criterion, *_ = check
            if verdicts.get((target, criterion)) is False:
                failed_checks[part].append(check)
    return failed_checks


REWARD_PRODUCT_RULES = RewardProductRules()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

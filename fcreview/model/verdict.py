"""Define the answers that each criterion allows, and derive verdicts from verdicts on other
criteria.

A verdict is true, false, "unsure", "disputed", a number or a list of labels. None means that there
is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from fcreview.model.address import ITEM, RESPONSE, WHOLE_TARGETS, parse_address
from fcreview.model.incident import INCIDENT
from fcreview.model.review import CORRECT, UNSURE

TargetCriterion = tuple[str, str]
EQUIVALENT = "equivalent"
DECISIVE_STEP = "decisive_step"
"""Criterion whose verdict is the number, from 1, of the message after which a conversation could
not succeed.
"""
TOTAL_REWARD = "total_reward"
"""Criterion of rewards of any range, such as the sum of the parts of a reward."""
COVERAGE = "coverage"
"""Criterion of the share of the claims about an answer that it fulfils."""
CLAIM_PREFIX = "claim "
"""Beginning of the criteria of claims about an answer: `claim 1`. A claim passes, fails, or has a
number between, such as 0.5 for a partly fulfilled one.
"""
ABSTENTIONS: dict[str, Any] = {"unsure": UNSURE}
PASS_FAIL: dict[str, Any] = {"pass": True, "fail": False, **ABSTENTIONS}
YES_NO: dict[str, Any] = {"yes": True, "no": False, **ABSTENTIONS}


@dataclass(frozen=True, slots=True)
class Scale:
    """Answers that a criterion allows: words, and possibly numbers in a range or lists of
    labels.
    """

    words: Mapping[str, Any] = field(default_factory=lambda: ABSTENTIONS)
    numbers: tuple[float, float] | None = None
    whole_numbers: bool = False
    labels: bool = False
    known_labels: tuple[str, ...] = ()
    """Labels that the screens offer. Any other label is allowed too."""

    def describe_answers(self) -> str:
        """Describe the allowed answers: `pass, fail or unsure`, `a number from 0 to 1 or
        unsure`.
        """
        kinds = []
        if self.numbers is not None:
            kinds.append(self._describe_range())
        if self.labels:
            kinds.append("labels separated by commas")
        kinds.extend(self.words)
        return f"{', '.join(kinds[:-1])} or {kinds[-1]}"

    def parse_typed_answer(self, text: str) -> Any:
        """Return the verdict for a typed answer.

        Raises ValueError with the allowed answers if it is not allowed.
        """
        if text in self.words:
            return self.words[text]
        if self.labels:
            labels = [label.strip() for label in text.split(",")]
            return [label for label in dict.fromkeys(labels) if label]

        number = _parse_number(text)
        if not self.is_number_allowed(number):
            raise ValueError(self.describe_answers())
        return number

    def is_number_allowed(self, value: Any) -> bool:
        if self.numbers is None:
            return False
        # The exact type is compared, because a boolean is an integer in Python.
        is_number = type(value) is int or (type(value) is float and not self.whole_numbers)
        if not is_number:
            return False
        low, high = self.numbers
        return bool(low <= value <= high)

    def _describe_range(self) -> str:
        """Describe the range of the numbers: `a number from 0 to 1`, `a whole number from 1`."""
        description = "a whole number" if self.whole_numbers else "a number"
        if self.numbers is None:
            return description
        low, high = self.numbers
        if math.isfinite(low):
            description += f" from {low:g}"
        if math.isfinite(high):
            description += f" to {high:g}"
        return description


_SHARE = Scale(numbers=(0.0, 1.0))
_ANY_NUMBER = Scale(numbers=(-math.inf, math.inf))
_ZERO_TO_TWO = Scale(words={"0": 0, "1": 1, "2": 2, **ABSTENTIONS})

DIALOG_ACTS = (
    "agent_function_calling",
    "agent_inform_user",
    "agent_seek_information",
    "agent_reject_request",
    "agent_other",
)
"""Dialog acts of CONFETTI (Figure 5 of its paper)."""

SCALES: dict[str, Scale] = {
    **dict.fromkeys(
        (CORRECT, EQUIVALENT, "func_ok", "args_ok", "args_ok_llm", "name_matches"), Scale(PASS_FAIL)
    ),
    **dict.fromkeys(
        ("db", "env_assertion", "action", "communicate", "nl_assertion"), Scale(PASS_FAIL)
    ),
    "reward": _SHARE,
    TOTAL_REWARD: _ANY_NUMBER,
    COVERAGE: _SHARE,
    **dict.fromkeys(("hallucinated", INCIDENT), Scale(YES_NO)),
    "completeness": _ZERO_TO_TWO,
    "correctness": _ZERO_TO_TWO,
    "soft_score": _SHARE,
    "process_accuracy": _SHARE,
    DECISIVE_STEP: Scale(numbers=(1, math.inf), whole_numbers=True),
    "dialog_act": Scale(labels=True, known_labels=DIALOG_ACTS),
}

_CLAIM = Scale(PASS_FAIL, numbers=(0.0, 1.0))
ZERO_TO_TWO_CRITERIA = tuple(name for name, scale in SCALES.items() if scale is _ZERO_TO_TWO)
TRUE_MEANS_FAILURE = ("hallucinated",)
JUDGE_NOTE_CRITERIA = ("name_matches",)
"""Criteria of additional remarks by a judge. These remarks do not decide whether a call passes."""
UNIVERSAL_CRITERIA = (CORRECT, EQUIVALENT, "hallucinated", "completeness", "correctness", INCIDENT)
"""Criteria on which annotators can review every item, with or without an automatic verdict on
the criterion.
"""
PASS_FAIL_CRITERIA = tuple(name for name, scale in SCALES.items() if scale.words is PASS_FAIL)
"""Criteria where true means a pass. On all other yes/no criteria, true means yes."""


def find_scale(criterion: str, benchmark_values: Iterable[Any] = ()) -> Scale | None:
    """Return the scale of a criterion. If the benchmark's values are lists or the criterion is
    unknown, the values determine the scale. Returns None for an unknown criterion without values.
    """
    values = [value for value in benchmark_values if value is not None]
    if any(isinstance(value, list) for value in values):
        return Scale(labels=True)
    if criterion.startswith(CLAIM_PREFIX):
        return _CLAIM
    if criterion in SCALES or not values:
        return SCALES.get(criterion)

    if all(isinstance(value, bool) for value in values):
        return Scale({**YES_NO, **PASS_FAIL})
    if not all(_is_number(value) for value in values):
        return Scale(labels=True)
    # Whole numbers from 0 to 1 could also be counts.
    has_fraction = any(isinstance(value, float) for value in values)
    are_in_range = all(0 <= value <= 1 for value in values)
    return _SHARE if has_fraction and are_in_range else _ANY_NUMBER


_MAX_INTEGER_LENGTH = 15
"""Number of characters of a whole number that a float represents exactly."""


def _parse_number(text: str) -> int | float | None:
    """Parse a finite number; return None for any other text."""
    is_whole = text.lstrip("+-").isdecimal() and len(text) <= _MAX_INTEGER_LENGTH
    try:
        number = int(text) if is_whole else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


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
    """A passing item has reached all milestones, a failing one those in the metadata."""
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
    """A verdict determines the reward only if all rewards of the run are 0 or 1."""
    if not isinstance(verdict, bool) or metadata.get(PASSING_REWARD_KEY) != 1:
        return None
    return float(verdict)


def _is_full_reward(reward: Any, metadata: Metadata) -> bool | None:  # noqa: ARG001
    return abs(reward - 1) <= 1e-6 if _is_number(reward) else None


_PART = "part"
"""Placeholder in `_RULES` for the address of any turn, call or argument."""
_ITEM_VERDICT = (ITEM, CORRECT)
_REWARD_RULES: dict[TargetCriterion, tuple[DerivationRule, ...]] = {
    (ITEM, "reward"): (
        (_ITEM_VERDICT, lambda verdict, _: float(verdict) if isinstance(verdict, bool) else None),
    ),
    _ITEM_VERDICT: (((ITEM, "reward"), _is_full_reward),),
}
_TOTAL_REWARD_RULES: dict[TargetCriterion, tuple[DerivationRule, ...]] = {
    (ITEM, TOTAL_REWARD): ((_ITEM_VERDICT, _derive_total_reward),),
    _ITEM_VERDICT: (((ITEM, TOTAL_REWARD), _derive_verdict_from_total_reward),),
}
_RULES: dict[str, dict[TargetCriterion, tuple[DerivationRule, ...]]] = {
    "acebench": {(ITEM, "process_accuracy"): ((_ITEM_VERDICT, _derive_process_accuracy),)},
    "hammerbench": {
        (ITEM, "func_ok"): ((_ITEM_VERDICT, _derive_function_verdict),),
        (ITEM, "args_ok"): ((_ITEM_VERDICT, _derive_arguments_verdict),),
        (ITEM, "args_ok_llm"): (
            ((ITEM, "equivalent"), _derive_verdict_if_same_names),
            (_ITEM_VERDICT, _derive_arguments_verdict),
        ),
        (ITEM, "rejected"): (
            ((ITEM, "func_ok"), lambda verdict, _: False if verdict is True else None),
            (_ITEM_VERDICT, lambda *verdict: False if _derive_function_verdict(*verdict) else None),
        ),
        _ITEM_VERDICT: (
            (
                (ITEM, "rejected"),
                lambda verdict, metadata: verdict if DECLINE_KEY in metadata else None,
            ),
        ),
    },
    "confetti": {_ITEM_VERDICT: (((RESPONSE, "dialog_act"), _has_golden_act),)},
    "atif": _REWARD_RULES,
    "nemo_gym": _TOTAL_REWARD_RULES,
    "verifiers": _TOTAL_REWARD_RULES,
    "complexfuncbench": {(_PART, "equivalent"): (((_PART, CORRECT), lambda verdict, _: verdict),)},
}
"""Benchmark -> derived target and criterion -> rules that derive the verdict, in order of
precedence.
"""

SNAPSHOT_BENCHMARK = "hammerbench"
"""Benchmark whose item verdict follows from two criteria together: the function and the
arguments must be right.
"""
_SNAPSHOT_CRITERIA = ((ITEM, "func_ok"), (ITEM, "args_ok"))
_SOFT_SCORE_BENCHMARK = "confetti"
_ITEM_SOFT_SCORE = (ITEM, "soft_score")
_HALLUCINATED_ARGUMENTS = (ITEM, "hallucinated")
"""CONFETTI: the names of the hallucinated arguments of all calls of an item."""

_CLAIMS_BENCHMARK = "mcp_atlas"
"""Benchmark whose item verdict follows from the mean of the scores of claims."""
_COVERAGE = (ITEM, COVERAGE)
_UNKNOWN_SCORE = "unknown"
"""Score of a claim that an annotator did not review, where only the reviews count."""

_PRODUCT_BENCHMARK = "tau"
"""Benchmark whose item verdict follows from a product of parts, so that overrides of several
parts count together.
"""
_REWARD = (ITEM, "reward")
_REWARD_CRITERIA = ("db", "env_assertion", "action", "communicate", "nl_assertion")


def find_derivation_sources(
    benchmark: str, target_criterion: TargetCriterion, reviewed: Iterable[TargetCriterion] = ()
) -> list[TargetCriterion]:
    """Return the targets and criteria from which a verdict can be derived, in order of precedence.
    `reviewed` contains the reviewed targets and criteria. It matters only for benchmarks whose
    items have different parts.
    """
    if benchmark == _CLAIMS_BENCHMARK:
        return _find_claim_sources(target_criterion, reviewed)
    if benchmark != _PRODUCT_BENCHMARK:
        sources = [source for source, _ in _find_derivation_rules(benchmark, target_criterion)]
        return sources + _find_combined_sources(benchmark, target_criterion, reviewed)
    if target_criterion not in (_REWARD, _ITEM_VERDICT):
        return []
    other = _ITEM_VERDICT if target_criterion == _REWARD else _REWARD
    return [other, *(each for each in reviewed if each[1].startswith(_REWARD_CRITERIA))]


def _find_claim_sources(
    target_criterion: TargetCriterion, reviewed: Iterable[TargetCriterion]
) -> list[TargetCriterion]:
    """Return the claims that determine the coverage and, with the coverage, the item's verdict."""
    claims = [each for each in reviewed if each[1].startswith(CLAIM_PREFIX)]
    if target_criterion == _ITEM_VERDICT:
        return [_COVERAGE, *claims]
    return claims if target_criterion == _COVERAGE else []


def _derive_from_claims(
    target_criterion: TargetCriterion, verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> bool | float | None:
    """Derive the coverage, or the item verdict from the coverage."""
    if target_criterion not in (_COVERAGE, _ITEM_VERDICT):
        return None
    coverage = verdicts.get(_COVERAGE)
    if target_criterion == _COVERAGE or not _is_number(coverage):
        coverage = _compute_coverage(verdicts, metadata)
    if coverage is None or target_criterion == _COVERAGE:
        return coverage
    return bool(coverage >= PASSING_COVERAGE)


def _compute_coverage(verdicts: Mapping[TargetCriterion, Any], metadata: Metadata) -> float | None:
    """Return the mean of the scores of the claims, as MCP-Atlas rounds it. Returns None if no
    verdict overrides a claim, or if the scores of others are unknown.

    A claim whose judge failed counts as 0.
    """
    recorded = metadata.get(CLAIM_SCORES_KEY)
    if not isinstance(recorded, list) or not recorded:
        return None
    scores: list[float] = []
    is_overridden = False
    for number, score in enumerate(recorded, 1):
        verdict = verdicts.get((RESPONSE, f"{CLAIM_PREFIX}{number}"))
        if isinstance(verdict, (bool, int, float)):
            is_overridden = True
            score = float(verdict)
        if score == _UNKNOWN_SCORE:
            return None
        scores.append(float(score) if _is_number(score) else 0.0)
    if not is_overridden:
        return None
    return round(sum(scores) / len(scores), COVERAGE_DECIMALS)


def _find_combined_sources(
    benchmark: str, target_criterion: TargetCriterion, reviewed: Iterable[TargetCriterion]
) -> list[TargetCriterion]:
    """Return the targets and criteria that determine a verdict together. Empty if a benchmark has
    no such rule for the verdict.
    """
    if benchmark == SNAPSHOT_BENCHMARK and target_criterion == _ITEM_VERDICT:
        return list(_SNAPSHOT_CRITERIA)
    if benchmark == _SOFT_SCORE_BENCHMARK:
        return _find_soft_score_sources(target_criterion, reviewed)
    return []


def _find_soft_score_sources(
    target_criterion: TargetCriterion, reviewed: Iterable[TargetCriterion]
) -> list[TargetCriterion]:
    """Return the sources of a verdict of CONFETTI.

    The soft score of an item follows from the scores of its arguments. Whether an argument is
    hallucinated follows from the item's list of hallucinated arguments.
    """
    target, criterion = target_criterion
    if target_criterion == _ITEM_SOFT_SCORE:
        return [source for source in reviewed if _is_on_part(source, "soft_score")]
    if criterion == "hallucinated" and target not in WHOLE_TARGETS:
        return [_HALLUCINATED_ARGUMENTS]
    return []


def _is_on_part(target_criterion: TargetCriterion, criterion: str) -> bool:
    target, own_criterion = target_criterion
    return target not in WHOLE_TARGETS and own_criterion == criterion


def _derive_reward_or_item_verdict(
    target_criterion: TargetCriterion, verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> bool | float | None:
    """Derive the reward or the item verdict from the other, else from the parts of the reward
    and their checks.
    """
    if target_criterion not in (_REWARD, _ITEM_VERDICT):
        return None

    item_verdict = verdicts.get(_ITEM_VERDICT)
    if target_criterion == _REWARD and isinstance(item_verdict, bool):
        return float(item_verdict)
    reward = verdicts.get(_REWARD)
    if target_criterion == _ITEM_VERDICT and _is_number(reward):
        return _is_full_reward(reward, metadata)

    product = _derive_reward_from_parts(verdicts, metadata)
    if product is None or target_criterion == _REWARD:
        return product
    return _is_full_reward(product, metadata)


def _derive_reward_from_parts(
    verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> float | None:
    """Return the reward of a tau-bench item if annotators override one of its parts, such as `DB`
    or `COMMUNICATE`: the product of all parts.

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


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def derive_verdict(
    benchmark: str,
    target_criterion: TargetCriterion,
    verdicts: Mapping[TargetCriterion, Any],
    metadata: Metadata,
    automatic: Mapping[TargetCriterion, Any] = NO_VERDICTS,
) -> Any:
    """Derive the verdict on a target and criterion from verdicts on other criteria, by the rules of
    the benchmark. Returns None if no verdict follows.

    Args:
        benchmark: Name of the benchmark, such as `tau`.
        target_criterion: What the verdict is about, such as (`item`, `correct`).
        verdicts: Verdicts of people. Only those that contradict automatic verdicts are allowed.
        metadata: The item's metadata, in which importers store recorded parts and checks.
        automatic: The automatic verdicts. They are needed where several criteria or parts determine
            a verdict together, of which only some are in `verdicts`.
    """
    if benchmark == _PRODUCT_BENCHMARK:
        return _derive_reward_or_item_verdict(target_criterion, verdicts, metadata)
    if benchmark == _CLAIMS_BENCHMARK:
        return _derive_from_claims(target_criterion, verdicts, metadata)
    if benchmark == SNAPSHOT_BENCHMARK and target_criterion == _ITEM_VERDICT:
        expects_call = DECLINE_KEY not in metadata
        if expects_call:
            return _derive_snapshot_verdict(verdicts, metadata, automatic)
    if benchmark == _SOFT_SCORE_BENCHMARK and target_criterion == _ITEM_SOFT_SCORE:
        return _derive_soft_score(verdicts, metadata, automatic)
    if benchmark == _SOFT_SCORE_BENCHMARK and _is_on_part(target_criterion, "hallucinated"):
        return _is_listed_as_hallucinated(target_criterion, verdicts)

    # Only the first rule whose source has a verdict counts.
    for source, derive in _find_derivation_rules(benchmark, target_criterion):
        if source in verdicts:
            return derive(verdicts[source], metadata)
    return None


def _derive_snapshot_verdict(
    verdicts: Mapping[TargetCriterion, Any],
    metadata: Metadata,
    automatic: Mapping[TargetCriterion, Any],
) -> bool | None:
    """Derive the verdict on a snapshot of HammerBench, a single turn of a conversation: it passes
    if the function and the arguments are right (`evaluate.py`). Returns None if people override
    neither, or if one is unknown.

    In the script for conversations, the function of the first snapshot counts for all snapshots.
    """
    function_key, arguments_key = _SNAPSHOT_CRITERIA
    # Only in conversations, the metadata says whether the first function was right.
    is_function_ok = metadata.get(FIRST_FUNCTION_KEY)
    is_own_function_counted = not isinstance(is_function_ok, bool)
    if is_own_function_counted:
        is_function_ok = verdicts.get(function_key, automatic.get(function_key))
    are_arguments_ok = verdicts.get(arguments_key, automatic.get(arguments_key))

    is_overridden = arguments_key in verdicts or (
        is_own_function_counted and function_key in verdicts
    )
    if not is_overridden:
        return None
    if is_function_ok is False or are_arguments_ok is False:
        return False
    return True if is_function_ok is True and are_arguments_ok is True else None


def _derive_soft_score(
    verdicts: Mapping[TargetCriterion, Any],
    metadata: Metadata,
    automatic: Mapping[TargetCriterion, Any],
) -> float | None:
    """The soft score of a call follows from the scores of its arguments if an annotator
    overrides one of these.
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
    arguments, 0 if one of them is 0, and 1 if there are no arguments.
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
    """A list of names for a CONFETTI item covers the arguments of all its calls."""
    target, _ = target_criterion
    address = parse_address(target)
    hallucinated_names = verdicts.get(_HALLUCINATED_ARGUMENTS)
    if address is None or not isinstance(hallucinated_names, list):
        return None
    return address.argument in hallucinated_names


def derive_item_verdict_from_reviews_alone(
    benchmark: str, verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> bool | None:
    """Return the item verdict that an annotator's verdicts on parts and criteria imply, whatever
    the other parts are.

    Recorded values of other parts are made unknown first, because the annotator's verdict on the
    item can include another opinion about them.
    """
    known: dict[str, Any] = dict(metadata)
    known.pop(FIRST_FUNCTION_KEY, None)
    if isinstance(known.get(REWARD_PARTS), dict):
        known[REWARD_PARTS] = dict.fromkeys(known[REWARD_PARTS])
        known[REWARD_CHECKS] = _select_failed_checks(metadata.get(REWARD_CHECKS), verdicts)
    if isinstance(known.get(CLAIM_SCORES_KEY), list):
        known[CLAIM_SCORES_KEY] = [_UNKNOWN_SCORE] * len(known[CLAIM_SCORES_KEY])
    found = derive_verdict(benchmark, _ITEM_VERDICT, verdicts, known)
    return found if isinstance(found, bool) else None


def _select_failed_checks(
    checks: Any, verdicts: Mapping[TargetCriterion, Any]
) -> dict[str, list[Any]]:
    """Return the checks of each part of a reward that fail by the given verdicts.

    One of them makes the part fail.
    """
    failed: dict[str, list[Any]] = {}
    for part, listed in (checks or {}).items():
        failed[part] = [check for check in listed if verdicts.get((check[0], check[1])) is False]
    return failed


def derives_verdicts(benchmark: str) -> bool:
    """Whether verdicts of the benchmark follow from verdicts on other criteria."""
    return benchmark in (_PRODUCT_BENCHMARK, _CLAIMS_BENCHMARK) or benchmark in _RULES


def list_derivable_targets(
    benchmark: str, overrides: Iterable[TargetCriterion], automatic: Iterable[TargetCriterion]
) -> list[TargetCriterion]:
    """Return the targets and criteria whose verdicts can follow from overrides, without duplicates.

    Args:
        benchmark: Name of the benchmark, whose rules say what follows from what.
        overrides: Targets and criteria whose automatic verdicts people override.
        automatic: All targets and criteria with an automatic verdict.
    """
    if benchmark == _PRODUCT_BENCHMARK:
        return [_REWARD, _ITEM_VERDICT]
    if benchmark == _CLAIMS_BENCHMARK:
        return [_COVERAGE, _ITEM_VERDICT]

    targets: list[TargetCriterion] = []
    for target, criterion in _RULES.get(benchmark, {}):
        if target == _PART:
            reviewed_parts = [part for part, _ in overrides if part not in WHOLE_TARGETS]
            targets.extend((part, criterion) for part in reviewed_parts)
        else:
            targets.append((target, criterion))

    if benchmark == _SOFT_SCORE_BENCHMARK:
        targets.append(_ITEM_SOFT_SCORE)
        targets.extend(each for each in automatic if _is_on_part(each, "hallucinated"))
    return list(dict.fromkeys(targets))


def _find_derivation_rules(
    benchmark: str, target_criterion: TargetCriterion
) -> list[DerivationRule]:
    """Return the rules for a target, with its address in place of `_PART`."""
    target, criterion = target_criterion
    rules_of_benchmark = _RULES.get(benchmark, {})
    rule_target = target if target in WHOLE_TARGETS else _PART

    rules = []
    for source, derive in rules_of_benchmark.get((rule_target, criterion), ()):
        source_target, source_criterion = source
        if source_target == _PART:
            source_target = target
        rules.append(((source_target, source_criterion), derive))
    return rules


def find_derived_targets(
    benchmark: str, reviewed: Iterable[TargetCriterion]
) -> list[TargetCriterion]:
    """Return the targets and criteria without a review whose verdict follows from at least two
    reviewed criteria.
    """
    candidates: Iterable[TargetCriterion] = _RULES.get(benchmark, {})
    if benchmark == _PRODUCT_BENCHMARK:
        candidates = (_REWARD, _ITEM_VERDICT)
    elif benchmark == _CLAIMS_BENCHMARK:
        candidates = (_COVERAGE, _ITEM_VERDICT)

    reviewed_targets = set(reviewed)
    derived_targets = []
    for candidate in candidates:
        if candidate in reviewed_targets:
            continue
        sources = find_derivation_sources(benchmark, candidate, reviewed_targets)
        if len(reviewed_targets.intersection(sources)) > 1:
            derived_targets.append(candidate)
    return derived_targets

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
        kinds = (self._describe_range(), "labels separated by commas" * self.labels, *self.words)
        *first, last = filter(None, kinds)
        return f"{', '.join(first)} or {last}"

    def parse_typed_answer(self, text: str) -> Any:
        """Return the verdict for a typed answer.

        Raises ValueError with the allowed answers if it is not allowed.
        """
        if text in self.words:
            return self.words[text]
        if self.labels:
            return list(dict.fromkeys(label for part in text.split(",") if (label := part.strip())))
        if self.is_number_allowed(number := _parse_number(text)):
            return number
        raise ValueError(self.describe_answers())

    def is_number_allowed(self, value: Any) -> bool:
        types = (int,) if self.whole_numbers else (int, float)
        return (
            self.numbers is not None
            and type(value) in types
            and self.numbers[0] <= value <= self.numbers[1]
        )

    def _describe_range(self) -> str:
        if self.numbers is None:
            return ""
        low, high = (f"{bound:g}" if math.isfinite(bound) else "" for bound in self.numbers)
        kind = "a whole number" if self.whole_numbers else "a number"
        return kind + (f" from {low}" if low else "") + (f" to {high}" if high else "")


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
    **dict.fromkeys(("hallucinated", INCIDENT), Scale(YES_NO)),
    "completeness": _ZERO_TO_TWO,
    "correctness": _ZERO_TO_TWO,
    "soft_score": _SHARE,
    "process_accuracy": _SHARE,
    DECISIVE_STEP: Scale(numbers=(1, math.inf), whole_numbers=True),
    "dialog_act": Scale(labels=True, known_labels=DIALOG_ACTS),
}

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
    if criterion in SCALES or not values:
        return SCALES.get(criterion)
    if all(isinstance(value, bool) for value in values):
        return Scale({**YES_NO, **PASS_FAIL})
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        are_shares = all(0 <= value <= 1 for value in values) and any(
            isinstance(value, float) for value in values
        )
        return _SHARE if are_shares else _ANY_NUMBER
    return Scale(labels=True)


def _parse_number(text: str) -> int | float | None:
    try:
        number = int(text) if text.lstrip("+-").isdecimal() and len(text) < 16 else float(text)
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

REWARD_PARTS = "reward parts"
"""Metadata key of tau-bench items: part of the reward -> value from 0 to 1, or None if it is
unknown.
"""
REWARD_CHECKS = "reward checks"
"""Metadata key of tau-bench items: part of the reward -> its checks: [target, criterion,
verdict, kind].
"""


def _derive_arguments_verdict(item_verdict: Any, metadata: Metadata) -> bool | None:
    return item_verdict if isinstance(item_verdict, bool) and DECLINE_KEY not in metadata else None


def _derive_verdict_if_same_names(verdict: Any, metadata: Metadata) -> bool | None:
    return verdict and bool(metadata.get(SAME_NAMES_KEY)) if isinstance(verdict, bool) else None


def _derive_function_verdict(item_verdict: Any, metadata: Metadata) -> bool | None:
    return True if item_verdict is True and DECLINE_KEY not in metadata else None


def _derive_process_accuracy(item_verdict: Any, metadata: Metadata) -> float | None:
    share = metadata.get(MILESTONES_MET)
    return (
        1.0 if item_verdict is True else float(share) if isinstance(share, (int, float)) else None
    )


def _has_golden_act(labels: Any, metadata: Metadata) -> bool | None:
    golden = metadata.get(GOLDEN_ACTS_KEY)
    return (
        bool(set(labels) & set(golden))
        if isinstance(labels, list) and isinstance(golden, list)
        else None
    )


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
    if benchmark != _PRODUCT_BENCHMARK:
        sources = [source for source, _ in _find_derivation_rules(benchmark, target_criterion)]
        return sources + _find_combined_sources(benchmark, target_criterion, reviewed)
    if target_criterion not in (_REWARD, _ITEM_VERDICT):
        return []
    other = _ITEM_VERDICT if target_criterion == _REWARD else _REWARD
    return [other, *(each for each in reviewed if each[1].startswith(_REWARD_CRITERIA))]


def _find_combined_sources(
    benchmark: str, target_criterion: TargetCriterion, reviewed: Iterable[TargetCriterion]
) -> list[TargetCriterion]:
    """Return the targets and criteria that determine a verdict together."""
    if benchmark == SNAPSHOT_BENCHMARK and target_criterion == _ITEM_VERDICT:
        return list(_SNAPSHOT_CRITERIA)
    if benchmark != _SOFT_SCORE_BENCHMARK:
        return []
    target, criterion = target_criterion
    if target_criterion == _ITEM_SOFT_SCORE:
        return [each for each in reviewed if _is_on_part(each, "soft_score")]
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
    if target_criterion == _REWARD and isinstance(verdicts.get(_ITEM_VERDICT), bool):
        return float(verdicts[_ITEM_VERDICT])
    if target_criterion == _ITEM_VERDICT and _is_number(verdicts.get(_REWARD)):
        return _is_full_reward(verdicts[_REWARD], metadata)
    if target_criterion not in (_REWARD, _ITEM_VERDICT):
        return None
    parts, checks = metadata.get(REWARD_PARTS), metadata.get(REWARD_CHECKS)
    if not isinstance(parts, dict):
        return None
    values = [derive_reward_part(part, value, checks, verdicts) for part, value in parts.items()]
    if not any(is_overridden for _, is_overridden in values):
        return None
    product = 0.0 if any(value == 0 for value, _ in values) else 1.0
    for value, _ in values if product else ():
        if value is None:
            return None
        product *= value
    return product if target_criterion == _REWARD else abs(product - 1) <= 1e-6


class RewardPart(NamedTuple):
    value: float | None
    """Value from 0 to 1; None if it is unknown."""
    is_overridden: bool


def derive_reward_part(
    part: str, value: Any, checks: Any, verdicts: Mapping[TargetCriterion, Any]
) -> RewardPart:
    """Derive a part of the reward from verdicts on it or its checks.

    Without them, the part keeps its value.
    """
    own = verdicts.get((ITEM, part.lower()))
    if isinstance(own, (bool, int, float)):
        return RewardPart(float(own), is_overridden=True)
    listed = checks.get(part) if isinstance(checks, dict) else None
    keys = {
        (str(each[0]), str(each[1])): each[2]
        for each in listed or ()
        if isinstance(each, list) and len(each) > 2
    }
    if not any(isinstance(verdicts.get(key), bool) for key in keys):
        return RewardPart(
            float(value) if isinstance(value, (int, float)) else None, is_overridden=False
        )
    passes = all(verdicts.get(key, verdict) is True for key, verdict in keys.items())
    return RewardPart(float(passes), is_overridden=True)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def derive_verdict(
    benchmark: str,
    target_criterion: TargetCriterion,
    verdicts: Mapping[TargetCriterion, Any],
    metadata: Metadata,
    automatic: Mapping[TargetCriterion, Any] = NO_VERDICTS,
) -> Any:
    """Derive the verdict on a target and criterion from verdicts on other criteria. Returns None if
    no verdict follows.

    `verdicts` must contain only verdicts that contradict automatic verdicts. `automatic` has the
    automatic verdicts. It is needed where several criteria or parts determine a verdict together,
    of which only some are in `verdicts`.
    """
    if benchmark == _PRODUCT_BENCHMARK:
        return _derive_reward_or_item_verdict(target_criterion, verdicts, metadata)
    if (
        benchmark == SNAPSHOT_BENCHMARK
        and target_criterion == _ITEM_VERDICT
        and DECLINE_KEY not in metadata
    ):
        return _derive_snapshot_verdict(verdicts, metadata, automatic)
    if benchmark == _SOFT_SCORE_BENCHMARK and target_criterion == _ITEM_SOFT_SCORE:
        return _derive_soft_score(verdicts, metadata, automatic)
    if benchmark == _SOFT_SCORE_BENCHMARK and _is_on_part(target_criterion, "hallucinated"):
        return _is_listed_as_hallucinated(target_criterion, verdicts)
    rules = _find_derivation_rules(benchmark, target_criterion)
    return next(
        (derive(verdicts[source], metadata) for source, derive in rules if source in verdicts), None
    )


def _derive_snapshot_verdict(
    verdicts: Mapping[TargetCriterion, Any],
    metadata: Metadata,
    automatic: Mapping[TargetCriterion, Any],
) -> bool | None:
    """A snapshot of HammerBench passes if the function and the arguments are right (`evaluate.py`).

    In the script for conversations, the function of the first snapshot counts for all snapshots.
    """
    function_key, arguments_key = _SNAPSHOT_CRITERIA
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
    scores = {key: value for key, value in automatic.items() if _is_on_part(key, "soft_score")}
    overrides = {key: value for key, value in verdicts.items() if _is_on_part(key, "soft_score")}
    if (
        not overrides
        or FIXED_SOFT_SCORE_KEY in metadata
        or not _is_number(automatic.get(_ITEM_SOFT_SCORE))
    ):
        return None
    scores |= overrides
    return combine_soft_scores(scores.values()) if all(map(_is_number, scores.values())) else None


def combine_soft_scores(argument_scores: Iterable[float]) -> float:
    """Return the soft score of a CONFETTI call with the golden name: the mean of the scores of its
    arguments, 0 if one of them is 0, and 1 if there are no arguments.
    """
    scores = list(argument_scores)
    if any(score == 0 for score in scores):
        return 0.0
    return round(sum(scores) / len(scores), SOFT_SCORE_DECIMALS) if scores else 1.0


def _is_listed_as_hallucinated(
    target_criterion: TargetCriterion, verdicts: Mapping[TargetCriterion, Any]
) -> bool | None:
    """A list of names for a CONFETTI item covers the arguments of all its calls."""
    names = verdicts.get(_HALLUCINATED_ARGUMENTS)
    address = parse_address(target_criterion[0])
    return address.argument in names if isinstance(names, list) and address is not None else None


def derive_item_verdict_from_reviews_alone(
    benchmark: str, verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> bool | None:
    """Return the item verdict that an annotator's verdicts on parts and criteria imply, whatever
    the other parts are.

    Parts without a verdict of the annotator are unknown, because the annotator's verdict on the
    item can include an opinion about them.
    """
    known: dict[str, Any] = dict(metadata)
    known.pop(FIRST_FUNCTION_KEY, None)
    if isinstance(known.get(REWARD_PARTS), dict):
        known[REWARD_PARTS] = dict.fromkeys(known[REWARD_PARTS])
        known[REWARD_CHECKS] = _select_failed_checks(metadata.get(REWARD_CHECKS), verdicts)
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
    return benchmark == _PRODUCT_BENCHMARK or benchmark in _RULES


def list_derivable_targets(
    benchmark: str, overrides: Iterable[TargetCriterion], automatic: Iterable[TargetCriterion]
) -> list[TargetCriterion]:
    """Return the targets and criteria whose verdicts can follow from overrides, without
    duplicates.
    """
    if benchmark == _PRODUCT_BENCHMARK:
        return [_REWARD, _ITEM_VERDICT]
    found: dict[TargetCriterion, None] = {}
    for target, criterion in _RULES.get(benchmark, {}):
        if target != _PART:
            found[target, criterion] = None
            continue
        for part, _ in overrides:
            if part not in WHOLE_TARGETS:
                found[part, criterion] = None
    if benchmark == _SOFT_SCORE_BENCHMARK:
        found[_ITEM_SOFT_SCORE] = None
        found |= {each: None for each in automatic if _is_on_part(each, "hallucinated")}
    return list(found)


def _find_derivation_rules(
    benchmark: str, target_criterion: TargetCriterion
) -> list[DerivationRule]:
    target, criterion = target_criterion
    rules = _RULES.get(benchmark, {}).get(
        (target if target in WHOLE_TARGETS else _PART, criterion), ()
    )
    return [
        ((target if place == _PART else place, source), derive) for (place, source), derive in rules
    ]


def find_derived_targets(
    benchmark: str, reviewed: Iterable[TargetCriterion]
) -> list[TargetCriterion]:
    """Return the targets and criteria without a review whose verdict follows from at least two
    reviewed criteria.
    """
    given = set(reviewed)
    return [
        each
        for each in (
            (_REWARD, _ITEM_VERDICT)
            if benchmark == _PRODUCT_BENCHMARK
            else _RULES.get(benchmark, {})
        )
        if each not in given
        and len(given.intersection(find_derivation_sources(benchmark, each, given))) > 1
    ]

"""Define the answers that each criterion allows, determine the effective verdict, and derive verdicts from verdicts on
parts and on other criteria.

A verdict is true, false, "unsure", "disputed", a number or a list of labels. None means that there is no verdict. The
store computes the effective verdict in SQL, which `fcreview.store.reviews.review_sql` generates from `SCORING_ORDER`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from fcreview.model.address import (
    ITEM,
    RESPONSE,
    WHOLE_TARGETS,
    get_enclosing_call_address,
    parse_address,
    turn_address,
)
from fcreview.model.item import Item, SourceName
from fcreview.model.review import CORRECT, ITEM_CORRECT, UNSURE, Annotation

TargetCriterion = tuple[str, str]
EQUIVALENT = "equivalent"
DECISIVE_STEP = "decisive_step"
"""Criterion whose verdict is the number, from 1, of a message: after this message, a failed conversation could no
longer succeed."""
ABSTENTIONS: dict[str, Any] = {"unsure": UNSURE}
PASS_FAIL: dict[str, Any] = {"pass": True, "fail": False, **ABSTENTIONS}
YES_NO: dict[str, Any] = {"yes": True, "no": False, **ABSTENTIONS}


def decides(verdict: Any) -> bool:
    """Whether a verdict is a decision: it is neither None (no verdict) nor "unsure"."""
    return verdict is not None and verdict not in ABSTENTIONS.values()


@dataclass(frozen=True, slots=True)
class Scale:
    """Answers that a criterion allows: words, and possibly numbers in a range or lists of labels."""

    words: Mapping[str, Any] = field(default_factory=lambda: ABSTENTIONS)
    numbers: tuple[float, float] | None = None
    whole_numbers: bool = False
    labels: bool = False
    known_labels: tuple[str, ...] = ()
    """Labels that the screens offer. Any other label is allowed too."""

    def describe_answers(self) -> str:
        """Describe the allowed answers: `pass, fail, unsure` or `a number from 0 to 1, unsure`."""
        return ", ".join(
            filter(None, (self._describe_range(), "labels separated by commas" * self.labels, *self.words))
        )

    def parse_typed_answer(self, text: str) -> Any:
        """Return the verdict for an answer that an annotator typed. Raises ValueError with the allowed answers if the
        answer is not allowed."""
        if text in self.words:
            return self.words[text]
        if self.labels:
            return list(dict.fromkeys(label for part in text.split(",") if (label := part.strip())))
        if self.is_number_allowed(number := _parse_number(text)):
            return number
        raise ValueError(self.describe_answers())

    def is_number_allowed(self, value: Any) -> bool:
        types = (int,) if self.whole_numbers else (int, float)
        return self.numbers is not None and type(value) in types and self.numbers[0] <= value <= self.numbers[1]

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
    "agent_function_calling", "agent_inform_user", "agent_seek_information", "agent_reject_request", "agent_other"
)  # fmt: skip
"""Dialog acts of CONFETTI (Figure 5 of its paper)."""

SCALES: dict[str, Scale] = {
    **dict.fromkeys((CORRECT, EQUIVALENT, "func_ok", "args_ok", "args_ok_llm", "name_matches"), Scale(PASS_FAIL)),
    **dict.fromkeys(("db", "env_assertion", "action", "communicate", "nl_assertion"), Scale(PASS_FAIL)),
    "reward": _SHARE,
    "hallucinated": Scale(YES_NO),
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
UNIVERSAL_CRITERIA = (CORRECT, EQUIVALENT, "hallucinated", "completeness", "correctness")
"""Criteria on which annotators can review every item. On any other criterion, annotators can review only items with an
automatic verdict."""
PASS_FAIL_CRITERIA = tuple(name for name, scale in SCALES.items() if scale.words is PASS_FAIL)
"""Criteria where true means a pass. On all other yes/no criteria, true means yes."""


def find_scale(criterion: str, benchmark_values: Iterable[Any] = ()) -> Scale | None:
    """Return the scale of a criterion. If the benchmark's values are lists or the criterion is unknown, the values
    determine the scale. Returns None for an unknown criterion without values."""
    values = [value for value in benchmark_values if value is not None]
    if any(isinstance(value, list) for value in values):
        return Scale(labels=True)
    if criterion in SCALES or not values:
        return SCALES.get(criterion)
    if all(isinstance(value, bool) for value in values):
        return Scale({**YES_NO, **PASS_FAIL})
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        are_shares = all(0 <= value <= 1 for value in values) and any(isinstance(value, float) for value in values)
        return _SHARE if are_shares else _ANY_NUMBER
    return Scale(labels=True)


def _parse_number(text: str) -> int | float | None:
    try:
        number = int(text) if text.lstrip("+-").isdecimal() and len(text) < 16 else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


DISPUTED = "disputed"
DecidedBy = Literal["adjudication", "unanimous", "majority", "disputed"]
RESOLUTIONS: tuple[DecidedBy, ...] = ("adjudication", "unanimous", "majority")
Policy = Literal["unanimous", "majority"]
POLICIES: tuple[Policy, ...] = ("unanimous", "majority")
"""Policies by which verdicts of annotators decide without an adjudication: all annotators must agree, or more than half
of them."""
UNANIMOUS: Policy = "unanimous"
SCORING_ORDER: tuple[SourceName, ...] = ("official", "rule", "judge")
"""Automatic sources by precedence. The first source with a verdict determines the automatic verdict."""


def agreed_verdict(verdicts: Iterable[Any]) -> Any:
    """Return the unanimous verdict of the annotators, "disputed" if they disagree, or None if there is no verdict other
    than "unsure". Verdicts "unsure" and the order of labels are ignored."""
    deciding = [*filter(decides, verdicts)]
    if not deciding:
        return None
    return deciding[0] if all(is_same_verdict(deciding[0], other) for other in deciding[1:]) else DISPUTED


def majority_verdict(verdicts: Iterable[Any]) -> Any:
    """Return the verdict of more than half of the annotators who are not unsure, or None if there is none."""
    deciding = [*filter(decides, verdicts)]
    for verdict in deciding:
        if 2 * sum(is_same_verdict(verdict, other) for other in deciding) > len(deciding):
            return verdict
    return None


def automatic_verdict(verdicts: Mapping[SourceName, Any]) -> Any:
    """Return the first automatic verdict in `SCORING_ORDER`, or None if there is none."""
    return next((verdicts[source] for source in SCORING_ORDER if verdicts.get(source) is not None), None)


def effective_verdict(automatic: Any, human: Any = None, decided_by: DecidedBy | None = None) -> Any:
    """Return the human verdict if the annotators decided on one, else the automatic verdict."""
    return human if decided_by in RESOLUTIONS else automatic


@dataclass(slots=True)
class RollUpContext:
    """Data about an item from which its verdict follows, together with verdicts on its parts."""

    n_pairs: Mapping[int, int] = field(default_factory=dict)
    """Turn (from 0) -> number of call pairs."""
    benchmark_parts: Mapping[str, Any] = field(default_factory=dict)
    """Address of a part -> the benchmark's verdict on it."""
    needs: Sequence[Sequence[str]] | None = None
    benchmark_item: bool | None = None
    benchmark: str = ""
    """Name of the benchmark. Its rules determine which verdicts follow from other verdicts."""
    automatic: Mapping[TargetCriterion, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


PartVerdicts = Mapping[str, Any]
"""Address of a part -> verdict on the part."""


def roll_up_parts(verdicts: PartVerdicts, context: RollUpContext) -> bool | None:
    """Return the item verdict that follows from an annotator's verdicts on parts, or None. Verdicts that confirm the
    benchmark's verdict on a part are ignored, because the benchmark's verdict on the item already includes them. Parts
    without a review keep the benchmark's verdict."""
    benchmark = context.benchmark_parts
    overriding = {
        address: verdict
        for address, verdict in verdicts.items()
        if not is_same_verdict(verdict, benchmark.get(address))
    }
    if not any(isinstance(verdict, bool) for verdict in overriding.values()):
        return None
    if context.needs is None:
        failed = {get_enclosing_call_address(address) for address, verdict in overriding.items() if verdict is False}
        passed = {address: True for address, verdict in benchmark.items() if verdict is True and address not in failed}
        return roll_up_by_common_rule({**passed, **overriding}, context.n_pairs)
    if overriding.get(RESPONSE) is False:
        return False
    if all(any(_is_part_passing(address, overriding, benchmark) for address in group) for group in context.needs):
        return True
    return False if False in overriding.values() else None


def roll_up_benchmark_verdicts(context: RollUpContext) -> bool | None:
    """Return the benchmark's verdict on the item, else the item verdict that follows from its verdicts on the parts."""
    if context.benchmark_item is not None:
        return context.benchmark_item
    if context.needs is None:
        return roll_up_by_common_rule(context.benchmark_parts, context.n_pairs)
    return all(any(context.benchmark_parts.get(address) is True for address in group) for group in context.needs)


def has_contradiction(first: PartVerdicts, second: PartVerdicts) -> bool:
    """Whether the part verdicts of two annotators contradict each other: they differ on a part, or one annotator passes
    a turn or call, and the other annotator fails a part inside it."""
    return any(
        (first_address == second_address and not is_same_verdict(first_verdict, second_verdict))
        or _is_failure_inside_pass(first_address, first_verdict, second_address, second_verdict)
        or _is_failure_inside_pass(second_address, second_verdict, first_address, first_verdict)
        for first_address, first_verdict in first.items()
        if isinstance(first_verdict, bool)
        for second_address, second_verdict in second.items()
        if isinstance(second_verdict, bool)
    )


def _is_failure_inside_pass(outer_address: str, outer_verdict: bool, address: str, verdict: bool) -> bool:
    return outer_verdict and not verdict and address.startswith(outer_address + "/")


def _is_part_passing(address: str, verdicts: PartVerdicts, benchmark_verdicts: PartVerdicts) -> bool:
    """Whether the part at an address passes. The verdict on its turn decides, else the verdict on the part, else a
    failing argument of the part, else the benchmark's verdict."""
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


def roll_up_by_common_rule(verdicts: PartVerdicts, n_pairs: Mapping[int, int]) -> bool | None:
    """Return the item verdict by the rule that most benchmarks share: the item passes if all calls of all turns pass,
    or, without calls, if the response passes. A verdict on a turn or call takes precedence over verdicts on its parts.
    Returns None if the verdicts are not sufficient. `n_pairs` maps turns (from 0) to numbers of call pairs."""
    turns: dict[int, dict[int | None, list[ArgumentVerdict]]] = {turn: {} for turn in n_pairs}
    for address, verdict in verdicts.items():
        part = parse_address(address)
        if part is not None:
            turns.setdefault(part.turn, {}).setdefault(part.call, []).append((part.argument, verdict))
    on_turns = [_roll_up_turn(calls, n_pairs.get(turn, 0)) for turn, calls in turns.items()]
    if False in on_turns or verdicts.get(RESPONSE) is False:
        return False
    if not n_pairs:
        return True if verdicts.get(RESPONSE) is True and None not in on_turns else None
    return True if all(verdict is True for verdict in on_turns) else None


def _roll_up_turn(verdicts_by_call: Mapping[int | None, Sequence[ArgumentVerdict]], n_pairs: int) -> bool | None:
    on_turn = next((verdict for _, verdict in verdicts_by_call.get(None, ())), None)
    if isinstance(on_turn, bool):
        return on_turn
    on_calls = [_roll_up_call(verdicts) for call, verdicts in verdicts_by_call.items() if call is not None]
    if False in on_calls:
        return False
    return True if n_pairs and sum(verdict is True for verdict in on_calls) >= n_pairs else None


def _roll_up_call(verdicts: Sequence[ArgumentVerdict]) -> bool | None:
    on_call = next((verdict for argument, verdict in verdicts if argument is None), None)
    if isinstance(on_call, bool):
        return on_call
    return False if any(verdict is False for _, verdict in verdicts) else None


def is_same_verdict(first: Any, second: Any) -> bool:
    """Whether two verdicts are equal. The order of labels does not matter, and 1 equals 1.0 but not true."""
    if isinstance(first, list) and isinstance(second, list):
        return set(map(repr, first)) == set(map(repr, second))
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return isinstance(first, bool) is isinstance(second, bool) and first == second
    return type(first) is type(second) and bool(first == second)


AutomaticVerdicts = Mapping[str, Mapping[str, Any]]
"""Source -> {by, value} of its automatic verdict, for one target and criterion."""
ContradictedVerdict = dict[str, Any]
"""Automatic verdict that an annotator contradicts: {source, by, value}."""


def find_first_contradicted_verdict(automatic: AutomaticVerdicts, human: Any) -> ContradictedVerdict | None:
    """Return the first automatic verdict in `SCORING_ORDER` if a human verdict contradicts it, else None."""
    if not decides(human):
        return None
    for source in SCORING_ORDER:
        own = automatic.get(source)
        if own is not None and own["value"] is not None:
            return None if is_same_verdict(human, own["value"]) else {"source": source, **own}
    return None


def find_contradicted_verdict(item: Item, annotation: Annotation) -> ContradictedVerdict | None:
    """Return the first automatic verdict in `SCORING_ORDER` if an annotation of the item contradicts it, else None."""
    found: dict[str, dict[str, Any]] = {}
    if (annotation.target, annotation.criterion) == ITEM_CORRECT:
        found = {source: {"by": None, "value": getattr(item, source)} for source in SCORING_ORDER}
    for each in item.verdicts:
        if (each.target, each.criterion) == (annotation.target, annotation.criterion):
            found[each.source] = {"by": each.by, "value": each.value}
    return find_first_contradicted_verdict(found, annotation.verdict)


Metadata = Mapping[str, Any]
DerivationRule = tuple[TargetCriterion, Callable[[Any, Metadata], Any]]
"""Target and criterion of a given verdict, and a function. The function derives another verdict, or None, from the
given verdict and the item's metadata."""

GOLDEN_ACTS_KEY = "golden dialog acts"
"""Metadata key of the golden dialog acts of a CONFETTI item."""
MILESTONES_MET = "milestones met"
"""Metadata key of ACEBench agent items: the process accuracy of an item whose final state is wrong."""
SAME_NAMES_KEY = "same function and argument names"
"""Metadata key of HammerBench items with a judge verdict: whether function and argument names equal the golden names.
If they differ, the benchmark fails the item even if the judge accepts the arguments."""
DECLINE_KEY = "expected"
"""Metadata key of HammerBench items for which no function is suitable, so that the model should not call any."""

REWARD_PARTS = "reward parts"
"""Metadata key of tau-bench items: part of the reward -> value from 0 to 1, or None if it is unknown."""
REWARD_CHECKS = "reward checks"
"""Metadata key of tau-bench items: part of the reward -> checks of this part, each as [target, criterion, verdict,
kind]. The part passes if all of its checks pass."""


def _derive_arguments_verdict(item_verdict: Any, metadata: Metadata) -> bool | None:
    return item_verdict if isinstance(item_verdict, bool) and DECLINE_KEY not in metadata else None


def _derive_verdict_if_same_names(verdict: Any, metadata: Metadata) -> bool | None:
    return verdict and bool(metadata.get(SAME_NAMES_KEY)) if isinstance(verdict, bool) else None


def _derive_function_verdict(item_verdict: Any, metadata: Metadata) -> bool | None:
    return True if item_verdict is True and DECLINE_KEY not in metadata else None


def _derive_process_accuracy(item_verdict: Any, metadata: Metadata) -> float | None:
    share = metadata.get(MILESTONES_MET)
    return 1.0 if item_verdict is True else float(share) if isinstance(share, (int, float)) else None


def _has_golden_act(labels: Any, metadata: Metadata) -> bool | None:
    golden = metadata.get(GOLDEN_ACTS_KEY)
    return bool(set(labels) & set(golden)) if isinstance(labels, list) and isinstance(golden, list) else None


def _is_full_reward(reward: Any, metadata: Metadata) -> bool | None:  # noqa: ARG001
    return abs(reward - 1) <= 1e-6 if _is_number(reward) else None


_PART = "part"
"""Placeholder in `_RULES` for the address of any turn, call or argument."""
_ITEM_VERDICT = (ITEM, CORRECT)
_REWARD_RULES: dict[TargetCriterion, tuple[DerivationRule, ...]] = {
    (ITEM, "reward"): ((_ITEM_VERDICT, lambda verdict, _: float(verdict) if isinstance(verdict, bool) else None),),
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
        _ITEM_VERDICT: (((ITEM, "rejected"), lambda verdict, metadata: verdict if DECLINE_KEY in metadata else None),),
    },
    "confetti": {_ITEM_VERDICT: (((RESPONSE, "dialog_act"), _has_golden_act),)},
    "atif": _REWARD_RULES,
    "complexfuncbench": {(_PART, "equivalent"): (((_PART, CORRECT), lambda verdict, _: verdict),)},
}
"""Benchmark -> derived target and criterion -> rules that derive the verdict, in order of precedence."""

_PRODUCT_BENCHMARK = "tau"
"""Benchmark whose item verdict follows from a product of parts. Overrides of several parts together determine the
verdict."""
_REWARD = (ITEM, "reward")
_REWARD_CRITERIA = ("db", "env_assertion", "action", "communicate", "nl_assertion")


def find_derivation_sources(
    benchmark: str, target_criterion: TargetCriterion, reviewed: Iterable[TargetCriterion] = ()
) -> list[TargetCriterion]:
    """Return the targets and criteria from which a verdict can be derived, in order of precedence. `reviewed` contains
    the reviewed targets and criteria. It matters only for tau-bench, because its items have different checks."""
    if benchmark != _PRODUCT_BENCHMARK:
        return [source for source, _ in _find_derivation_rules(benchmark, target_criterion)]
    if target_criterion not in (_REWARD, _ITEM_VERDICT):
        return []
    other = _ITEM_VERDICT if target_criterion == _REWARD else _REWARD
    return [other, *(each for each in reviewed if each[1].startswith(_REWARD_CRITERIA))]


def _derive_from_reward(
    target_criterion: TargetCriterion, verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> bool | float | None:
    """Derive the reward from the item verdict, or the item verdict from the reward. Without such a verdict, derive the
    reward or the item verdict from the parts of the reward and their checks."""
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


def derive_reward_part(part: str, value: Any, checks: Any, verdicts: Mapping[TargetCriterion, Any]) -> RewardPart:
    """Derive a part of the reward from verdicts on the part or on its checks. Without such verdicts, the part keeps its
    value. `checks` is the item's metadata for `REWARD_CHECKS`."""
    own = verdicts.get((ITEM, part.lower()))
    if isinstance(own, (bool, int, float)):
        return RewardPart(float(own), is_overridden=True)
    listed = checks.get(part) if isinstance(checks, dict) else None
    keys = {(str(each[0]), str(each[1])): each[2] for each in listed or () if isinstance(each, list) and len(each) > 2}
    if not any(isinstance(verdicts.get(key), bool) for key in keys):
        return RewardPart(float(value) if isinstance(value, (int, float)) else None, is_overridden=False)
    passes = all(verdicts.get(key, verdict) is True for key, verdict in keys.items())
    return RewardPart(float(passes), is_overridden=True)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def derive_verdict(
    benchmark: str, target_criterion: TargetCriterion, verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> Any:
    """Derive the verdict on a target and criterion from verdicts on other criteria. Returns None if no verdict follows.
    `verdicts` must contain only verdicts that contradict automatic verdicts."""
    if benchmark == _PRODUCT_BENCHMARK:
        return _derive_from_reward(target_criterion, verdicts, metadata)
    rules = _find_derivation_rules(benchmark, target_criterion)
    return next((derive(verdicts[source], metadata) for source, derive in rules if source in verdicts), None)


def _find_derivation_rules(benchmark: str, target_criterion: TargetCriterion) -> list[DerivationRule]:
    target, criterion = target_criterion
    rules = _RULES.get(benchmark, {}).get((target if target in WHOLE_TARGETS else _PART, criterion), ())
    return [((target if place == _PART else place, source), derive) for (place, source), derive in rules]


def find_derived_targets(benchmark: str, reviewed: Iterable[TargetCriterion]) -> list[TargetCriterion]:
    """Return the targets and criteria without a review whose verdict follows from at least two reviewed criteria."""
    given = set(reviewed)
    return [
        each
        for each in ((_REWARD, _ITEM_VERDICT) if benchmark == _PRODUCT_BENCHMARK else _RULES.get(benchmark, {}))
        if each not in given and len(given.intersection(find_derivation_sources(benchmark, each, given))) > 1
    ]

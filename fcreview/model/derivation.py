"""Derive verdicts from an annotator's verdicts on other criteria, by the rules of each benchmark.

A verdict that the annotator gave takes precedence over a derived verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fcreview.model.address import ITEM, RESPONSE, WHOLE_TARGETS
from fcreview.model.review import CORRECT

TargetCriterion = tuple[str, str]
Metadata = Mapping[str, Any]
Rule = tuple[TargetCriterion, Callable[[Any, Metadata], Any]]
"""(target and criterion of a given verdict, function). From the given verdict and the item's metadata, the function
computes the derived verdict, or None."""

GOLDEN_ACTS_KEY = "golden dialog acts"
"""Metadata key of the golden dialog acts of a CONFETTI item."""
MILESTONES_MET = "milestones met"
"""Metadata key of ACEBench agent items. The value is the process accuracy of an item whose end state is wrong."""
SAME_NAMES_KEY = "same function and argument names"
"""Metadata key of HammerBench items with a judge verdict. The value states whether function and argument names equal
the golden names. If it is false, the evaluator fails the item even if the judge accepts the arguments."""
DECLINE_KEY = "expected"
"""Metadata key of HammerBench items in which the model should call no function, because no available function is
suitable."""

REWARD_PARTS = "reward parts"
"""Metadata key of tau-bench items: part of the reward -> value from 0 to 1, or None if it is unknown."""
REWARD_CHECKS = "reward checks"
"""Metadata key of tau-bench items: part of the reward -> its checks, each as [target, criterion, verdict, kind]. All
checks must pass."""


def _arguments_verdict(verdict: Any, metadata: Metadata) -> bool | None:
    return verdict if isinstance(verdict, bool) and DECLINE_KEY not in metadata else None


def _verdict_if_same_names(verdict: Any, metadata: Metadata) -> bool | None:
    return verdict and bool(metadata.get(SAME_NAMES_KEY)) if isinstance(verdict, bool) else None


def _function_verdict(verdict: Any, metadata: Metadata) -> bool | None:
    return True if verdict is True and DECLINE_KEY not in metadata else None


def _process_accuracy(verdict: Any, metadata: Metadata) -> float | None:
    share = metadata.get(MILESTONES_MET)
    return 1.0 if verdict is True else float(share) if isinstance(share, (int, float)) else None


def _has_golden_act(labels: Any, metadata: Metadata) -> bool | None:
    golden = metadata.get(GOLDEN_ACTS_KEY)
    return bool(set(labels) & set(golden)) if isinstance(labels, list) and isinstance(golden, list) else None


def _is_full_reward(reward: Any, metadata: Metadata) -> bool | None:  # noqa: ARG001
    return abs(reward - 1) <= 1e-6 if _is_number(reward) else None


_PART = "part"
"""Placeholder in `_RULES` for the address of any turn, call or argument."""
_ITEM_VERDICT = (ITEM, CORRECT)
_REWARD_RULES: dict[TargetCriterion, tuple[Rule, ...]] = {
    (ITEM, "reward"): ((_ITEM_VERDICT, lambda verdict, _: float(verdict) if isinstance(verdict, bool) else None),),
    _ITEM_VERDICT: (((ITEM, "reward"), _is_full_reward),),
}
_RULES: dict[str, dict[TargetCriterion, tuple[Rule, ...]]] = {
    "acebench": {(ITEM, "process_accuracy"): ((_ITEM_VERDICT, _process_accuracy),)},
    "hammerbench": {
        (ITEM, "func_ok"): ((_ITEM_VERDICT, _function_verdict),),
        (ITEM, "args_ok"): ((_ITEM_VERDICT, _arguments_verdict),),
        (ITEM, "args_ok_llm"): (((ITEM, "equivalent"), _verdict_if_same_names), (_ITEM_VERDICT, _arguments_verdict)),
        (ITEM, "rejected"): (
            ((ITEM, "func_ok"), lambda verdict, _: False if verdict is True else None),
            (_ITEM_VERDICT, lambda *verdict: False if _function_verdict(*verdict) else None),
        ),
        _ITEM_VERDICT: (((ITEM, "rejected"), lambda verdict, metadata: verdict if DECLINE_KEY in metadata else None),),
    },
    "confetti": {_ITEM_VERDICT: (((RESPONSE, "dialog_act"), _has_golden_act),)},
    "atif": _REWARD_RULES,
    "complexfuncbench": {(_PART, "equivalent"): (((_PART, CORRECT), lambda verdict, _: verdict),)},
}
"""Benchmark -> target and criterion of the derived verdict -> rules. The first rule applies for which there is a
verdict."""

_PRODUCT_BENCHMARK = "tau"
"""Benchmark whose verdict is a product of several parts, so that overrides of several parts together determine the
verdict."""
_REWARD = (ITEM, "reward")
_REWARD_CRITERIA = ("db", "env_assertion", "action", "communicate", "nl_assertion")


def find_sources(
    benchmark: str, question: TargetCriterion, given: Iterable[TargetCriterion] = ()
) -> list[TargetCriterion]:
    """Return the targets and criteria from which the verdict on `question` can be derived, in order of precedence.
    `given` contains the reviewed targets and criteria. It is needed for tau-bench, where items have different
    checks."""
    if benchmark != _PRODUCT_BENCHMARK:
        return [source for source, _ in _find_rules(benchmark, question)]
    if question not in (_REWARD, _ITEM_VERDICT):
        return []
    other = _ITEM_VERDICT if question == _REWARD else _REWARD
    return [other, *(each for each in given if each[1].startswith(_REWARD_CRITERIA))]


def _derive_from_reward(
    question: TargetCriterion, verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> bool | float | None:
    """Derive the reward from the item verdict, or the item verdict from the reward. Without an item verdict or reward,
    derive them from the parts of the reward and the checks of each part."""
    if question == _REWARD and isinstance(verdicts.get(_ITEM_VERDICT), bool):
        return float(verdicts[_ITEM_VERDICT])
    if question == _ITEM_VERDICT and _is_number(verdicts.get(_REWARD)):
        return _is_full_reward(verdicts[_REWARD], metadata)
    if question not in (_REWARD, _ITEM_VERDICT):
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
    return product if question == _REWARD else abs(product - 1) <= 1e-6


def derive_reward_part(
    part: str, value: Any, checks: Any, verdicts: Mapping[TargetCriterion, Any]
) -> tuple[float | None, bool]:
    """Return the value of a part of the reward, and whether a verdict overrides it. The value is None if it is
    unknown."""
    own = verdicts.get((ITEM, part.lower()))
    if isinstance(own, (bool, int, float)):
        return float(own), True
    listed = checks.get(part) if isinstance(checks, dict) else None
    keys = {(str(each[0]), str(each[1])): each[2] for each in listed or () if isinstance(each, list) and len(each) > 2}
    if not any(isinstance(verdicts.get(key), bool) for key in keys):
        return (float(value) if isinstance(value, (int, float)) else None), False
    return float(all(verdicts.get(key, verdict) is True for key, verdict in keys.items())), True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def derive_verdict(
    benchmark: str, question: TargetCriterion, verdicts: Mapping[TargetCriterion, Any], metadata: Metadata
) -> Any:
    """Derive the verdict on `question` from verdicts on other criteria. Returns None if none follows. `verdicts` must
    contain only verdicts that contradict automatic verdicts."""
    if benchmark == _PRODUCT_BENCHMARK:
        return _derive_from_reward(question, verdicts, metadata)
    rules = _find_rules(benchmark, question)
    return next((derive(verdicts[source], metadata) for source, derive in rules if source in verdicts), None)


def _find_rules(benchmark: str, question: TargetCriterion) -> list[Rule]:
    target, criterion = question
    rules = _RULES.get(benchmark, {}).get((target if target in WHOLE_TARGETS else _PART, criterion), ())
    return [((target if place == _PART else place, source), derive) for (place, source), derive in rules]


def find_derived_targets(benchmark: str, reviewed: Iterable[TargetCriterion]) -> list[TargetCriterion]:
    """Return the targets and criteria outside `reviewed` whose verdict can be derived from at least two targets and
    criteria in `reviewed`."""
    given = set(reviewed)
    return [
        each
        for each in ((_REWARD, _ITEM_VERDICT) if benchmark == _PRODUCT_BENCHMARK else _RULES.get(benchmark, {}))
        if each not in given and len(given.intersection(find_sources(benchmark, each, given))) > 1
    ]

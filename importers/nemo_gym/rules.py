"""Recompute verdicts by the rules of environments that compare calls.

The rules are those of `resources_servers/xlam_fc/app.py` and of
`resources_servers/single_step_tool_use_with_argument_comparison` (commit 07d6b0d07).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.nemo_gym.inputs import EXPECTED_ACTION, Golden
from fcreview.model.item import AcceptedValues, Call, Item, Verdict

EXPECTED_ANSWERS = "expected_answers"
XLAM = "rules of xlam_fc"
SINGLE_STEP = "rules of single-step tool use"
FINAL_STATE_NOTE = "the environment compares final states, not calls"
EXTRA_CALLS_NOTE = "more calls than expected, which the environment's configuration may allow"
THRESHOLD_NOTE = (
    "the calls have other arguments, and the environment's configuration decides how similar they"
    " must be"
)
TOO_MANY_CALLS_NOTE = "too many calls in another order than the expected ones"
MAX_COMPARISONS = 250_000
"""Maximum number of calls that are compared with expected calls. In the same order, each expected
call is compared once.
"""


class TooManyCalls(Exception):
    """Raised if the calls cannot be compared with the expected ones in a short time."""


@dataclass(frozen=True, slots=True)
class RuleResult:
    passed: bool
    error_type: str | None = None
    reason: str | None = None


def recompute_verdict(item: Item, golden: Golden, calls: Sequence[Call]) -> None:
    """Set the recomputed verdict, or the reason why there is none.

    `calls` are the predicted calls, without those that the provider of the model ran.
    """
    if golden.problems:
        item.rule_note = "the golden answer cannot be read"
    elif golden.field_name == EXPECTED_ANSWERS:
        _recompute_expected_answers(item, golden.calls or [], calls)
    elif golden.field_name == EXPECTED_ACTION:
        _recompute_expected_action(item, golden.calls or [], calls)
    else:
        item.rule_note = FINAL_STATE_NOTE


def _recompute_expected_answers(item: Item, golden: Sequence[Call], calls: Sequence[Call]) -> None:
    try:
        result = _compare_with_expected_answers(golden, calls)
    except TooManyCalls:
        item.rule_note = TOO_MANY_CALLS_NOTE
    else:
        _set_verdict(item, result, XLAM)


def _set_verdict(item: Item, result: RuleResult, rules: str) -> None:
    item.rule = result.passed
    item.rule_error_type = result.error_type
    verdict = Verdict("rule", result.passed, error_type=result.error_type, by=rules)
    verdict.rationale = result.reason or item.first_difference
    item.verdicts.append(verdict)


def _compare_with_expected_answers(golden: Sequence[Call], calls: Sequence[Call]) -> RuleResult:
    """Check calls by the rule of the environments with `expected_answers`: each expected call needs
    a call of its own, and no call may be left over.

    A call must have the expected arguments, and may have more. Raises TooManyCalls.
    """
    if len(calls) != len(golden):
        error_type = "missing_call" if len(calls) < len(golden) else "extra_call"
        reason = f"{len(calls)} calls instead of {len(golden)}"
        return RuleResult(passed=False, error_type=error_type, reason=reason)

    unmatched_call = _find_unmatched_call(golden, calls)
    if unmatched_call is not None:
        reason = f"no call matches the expected call of {unmatched_call.name}"
        return RuleResult(passed=False, error_type="wrong_call", reason=reason)
    return RuleResult(passed=True)


def _find_unmatched_call(golden: Sequence[Call], calls: Sequence[Call]) -> Call | None:
    """Return the first expected call that no call matches. A call matches only one expected call.

    Raises TooManyCalls if very many comparisons are needed, which would take too long.
    """
    remaining_calls = list(calls)
    n_comparisons = 0
    for expected in golden:
        index = _find_match(expected, remaining_calls)
        if index is None:
            return expected
        del remaining_calls[index]
        # The search compared all calls up to the match.
        n_comparisons += index + 1
        if n_comparisons > MAX_COMPARISONS:
            raise TooManyCalls
    return None


def _find_match(expected: Call, calls: Sequence[Call]) -> int | None:
    """Return the index of the first call that matches the expected call, or None."""
    for index, call in enumerate(calls):
        if call.name == expected.name and _has_arguments(call, expected.arguments or {}):
            return index
    return None


def _has_arguments(call: Call, expected: Mapping[str, AcceptedValues]) -> bool:
    # The environment reads arguments that are no JSON object as no arguments.
    given: Mapping[str, Any] = call.arguments or {}
    return all(name in given and given[name] in value.any_of for name, value in expected.items())


def _recompute_expected_action(item: Item, golden: Sequence[Call], calls: Sequence[Call]) -> None:
    """Recompute the verdict of an item with an expected action: a message, or one or more calls.

    Some cases depend on the configuration of the environment, which is not in the files. Then the
    item gets a note instead.
    """
    if not golden:
        _set_verdict(item, _check_expected_message(item, calls), SINGLE_STEP)
        return
    if len(calls) > len(golden):
        item.rule_note = EXTRA_CALLS_NOTE
        return
    expected_names = sorted(call.name for call in golden)
    if sorted(call.name for call in calls) != expected_names:
        error_type = "wrong_function" if calls else "missing_call"
        _set_verdict(item, RuleResult(passed=False, error_type=error_type), SINGLE_STEP)
        return

    # Whether arguments pass that are only similar depends on the environment's configuration.
    if all(pair.state == "=" for pair in item.pairs):
        _set_verdict(item, RuleResult(passed=True), SINGLE_STEP)
    else:
        item.rule_note = THRESHOLD_NOTE


def _check_expected_message(item: Item, calls: Sequence[Call]) -> RuleResult:
    """Any message passes where a message is expected, whatever it says."""
    if calls:
        reason = "a message is expected, and the model makes a call"
        return RuleResult(passed=False, error_type="unexpected_call", reason=reason)
    last = item.messages[-1] if item.messages else None
    if last is None or last.role != "assistant" or not last.content:
        return RuleResult(passed=False, error_type="no_action", reason="the reply is empty")
    return RuleResult(passed=True)

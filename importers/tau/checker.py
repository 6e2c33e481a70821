"""Determine the verdicts of a simulation from its reward, its recorded checks and its messages.

The reward is the product of the parts in `reward_basis`. fcreview recomputes the parts ACTION and
COMMUNICATE by the rules of tau2-bench (`evaluator_action.py`, `evaluator_communicate.py`). It takes
DB, ENV_ASSERTION and NL_ASSERTION from the file, because they depend on the simulator or on a
language model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fcreview.importers.common.records import add_issue, as_list, as_object, is_number, list_objects
from fcreview.importers.tau.conversation import (
    ConversationMessage,
    find_spoken_texts,
    pair_golden_actions,
    read_golden_actions,
)
from fcreview.importers.tau.golden_action import CallFinder, GoldenAction
from fcreview.importers.tau.task import describe_env_assertion
from fcreview.matching.decisive_step import add_decisive_step
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.address import ITEM
from fcreview.model.derivation import REWARD_CHECKS, REWARD_PARTS
from fcreview.model.item import Item, SourceName, Verdict

JsonObject = dict[str, Any]
REWARD_PART_NAMES = ("DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION")
ERROR_TYPES = {
    "DB": "db_mismatch",
    "ENV_ASSERTION": "env_assertion_failed",
    "ACTION": "action_not_made",
    "COMMUNICATE": "not_communicated",
    "NL_ASSERTION": "nl_assertion_failed",
}
"""Part of the reward -> error type of an item that fails because of this part.

` + ` joins several error types.
"""
SUCCESS_TOLERANCE = 1e-6
"""Maximum difference between 1 and the reward of a success, as in the official metric code of
tau2-bench.
"""
GRADED_ENDINGS = ("user_stop", "agent_stop")
"""Termination reasons after which tau2-bench checks a simulation. With any other reason, the reward
is 0 without a check. Source: `evaluator/evaluator.py` (`evaluate_simulation`).
"""
INFRASTRUCTURE_ERROR = "infrastructure_error"
"""Termination reason of a simulation that was not run. No metric counts such a simulation."""
UNCHECKED_ENDINGS = (
    "max_steps",
    "timeout",
    "too_many_errors",
    "agent_error",
    "user_error",
    "context_window_exceeded",
    "unexpected_error",
)
GOLDEN_FIELDS = (
    ("ACTION", "actions", dict, "objects"),
    ("COMMUNICATE", "communicate_info", str, "texts"),
)
"""Part of the reward that fcreview recomputes, its field of the criteria, and the type of the
elements in this field, with its name.
"""
KNOWN_ENDINGS = (*GRADED_ENDINGS, *UNCHECKED_ENDINGS, INFRASTRUCTURE_ERROR)
"""Termination reasons of tau2-bench 0.1.0 to 1.0.1."""
NO_REWARD = "the simulation has no recorded reward, so the benchmark's figures leave it out"
DEFAULT_BASIS = ["DB", "COMMUNICATE"]
NL_CRITERION = "nl_assertion_{}"
"""Criterion of the verdict on a natural-language assertion, with its number from 1."""
OWN_FIELD = "fcreview"
"""Field of an exported note that contains the review.

In `reward_info.info`, it marks a reward that reviews changed.
"""


def is_success(reward: float) -> bool:
    return abs(reward - 1.0) <= SUCCESS_TOLERANCE


def to_finite_number(value: Any) -> float | None:
    """Return a finite number as a float, or None for any other value."""
    try:
        number = float(value) if is_number(value) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def to_part_value(value: Any) -> float | None:
    """Return the recorded value of a part of the reward if it is a number from 0 to 1, else
    None.
    """
    number = to_finite_number(value)
    return number if number is not None and 0 <= number <= 1 else None


def part_value_to_verdict(value: float) -> bool | float:
    """Return the verdict for the value of a part of the reward: True for 1, False for 0, else
    the number itself.
    """
    return bool(value) if value in (0, 1) else value


@dataclass(slots=True)
class RewardParts:
    """The parts of the reward that count, from one source, with the reasons why parts fail."""

    values: dict[str, float | None] = field(default_factory=dict)
    """Part of the reward -> its value from 0 to 1, or None if it is unknown."""
    missing_texts: list[str] = field(default_factory=list)
    """Texts that the agent had to say and did not say."""
    unmet_assertions: list[str] = field(default_factory=list)
    missing_actions: list[str] = field(default_factory=list)
    """Golden actions that no call matches."""

    @property
    def reward(self) -> float | None:
        """Product of the parts, or None if a part is unknown and no other part is 0."""
        known = [value for value in self.values.values() if value is not None]
        if any(value == 0 for value in known):
            return 0.0
        return math.prod(known) if len(known) == len(self.values) else None

    @property
    def failing_parts(self) -> list[str]:
        return [
            part
            for part, value in self.values.items()
            if value is not None and not is_success(value)
        ]

    @property
    def error_type(self) -> str | None:
        error_types = [ERROR_TYPES.get(part, part.lower()) for part in self.failing_parts]
        return " + ".join(error_types) or None

    def explain_reward(self, has_actions: bool) -> str:
        """Explain in words how the reward follows from its parts: `reward = DB 1 x COMMUNICATE 0;
        the agent never said ...`.

        `has_actions` states whether the task has golden actions, which do not count in all tasks.
        """
        if not self.values:
            return "no part counts for the reward"

        factors = []
        for part, value in self.values.items():
            shown = "unknown" if value is None else f"{value:g}"
            factors.append(f"{part} {shown}")
        sentences = [f"reward = {' x '.join(factors)}"]
        sentences += [self.explain_part(part) for part in self.failing_parts]
        if has_actions and "ACTION" not in self.values:
            sentences.append(
                "the golden actions do not count for the reward, because there are other ways to"
                " the goal"
            )
        return "; ".join(sentences)

    def explain_part(self, part: str) -> str:
        """Explain why a part fails."""
        match part:
            case "DB":
                return "the final database differs from the expected one"
            case "COMMUNICATE":
                texts = _join_quoted(self.missing_texts) or "an expected text"
                return f"the agent never said {texts}"
            case "ACTION":
                if not self.missing_actions:
                    return "no call matches a golden action"
                names = ", ".join(dict.fromkeys(self.missing_actions))
                return f"no call matches the golden action {names}"
        if self.unmet_assertions:
            return f"an assertion does not hold: {_join_quoted(self.unmet_assertions)}"
        return f"the part {part} failed"


def _join_quoted(texts: Sequence[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


class CheckedParts(NamedTuple):
    official: RewardParts
    """Parts of the reward that the file records."""
    recomputed: RewardParts


@dataclass(slots=True)
class Grading:
    """What the grading of an item adds to its `Extra`."""

    uncounted_states: str
    """As in `Extra.uncounted_states`."""
    metadata: JsonObject = field(default_factory=dict)
    """Parts and checks of the reward, from which a reviewed reward is computed."""


def add_unchecked_verdicts(
    item: Item, reward: float | None, error_type: str, rationale: str, *, is_left_out: bool = False
) -> None:
    """Add the verdicts on an item that the benchmark failed without a check, for example because
    the agent did not finish.

    Args:
        item: The item.
        reward: The recorded reward, or None.
        error_type: The error type of the failure.
        rationale: Why it fails, in words.
        is_left_out: Whether the benchmark leaves the item out of its figures, because it has no
            recorded reward although others have one. Then it gets no recomputed verdict.
    """
    # First the fields of the item, because the verdicts repeat them.
    _set_official_verdict(item, reward)
    if is_left_out:
        item.rule_note = NO_REWARD
    else:
        _set_failure_without_check(item, error_type, rationale)

    no_parts = RewardParts()
    item.verdicts += _make_official_verdicts(item, reward, parts=no_parts, rationale=rationale)
    if not is_left_out:
        item.verdicts += _make_recomputed_verdicts(item, 0.0, parts=no_parts, rationale=rationale)
    add_decisive_step(item)


def _set_failure_without_check(item: Item, error_type: str, rationale: str) -> None:
    """Set on the item that it fails by the rules, with the error type and the reason.

    The error type becomes that of the item only if it also failed officially. The official verdict
    must be set before.
    """
    item.rule = False
    item.rule_error_type = error_type
    item.error_type = error_type if item.official is False else None
    item.first_difference = rationale


def add_reward_verdicts(
    item: Item, reward: float | None, parts: CheckedParts, *, is_left_out: bool = False
) -> JsonObject:
    """Set the verdicts of an item that follow from its reward and the parts of the reward, and list
    them with those on the parts. Return the parts as metadata.

    The reward is the product of its parts, such as DB (the final database is right) and COMMUNICATE
    (the agent said the expected texts). Each part is known as recorded, as recomputed, or both.

    Args:
        item: The item.
        reward: The recorded reward, or None.
        parts: The official and the recomputed parts.
        is_left_out: Whether the benchmark leaves the item out of its figures, because it has no
            recorded reward although others have one. Then only the parts get verdicts: a recomputed
            verdict would change corrected figures although nobody has reviewed anything.
    """
    # First the fields of the item, because the listed verdicts repeat them.
    _set_verdict_fields(item, reward, parts, is_left_out=is_left_out)

    # The reasons of the listed verdicts say which parts failed, and why.
    has_actions = bool(item.golden)
    official_reason = None
    if parts.official.values:
        official_reason = parts.official.explain_reward(has_actions)
    item.verdicts += _make_official_verdicts(item, reward, parts.official, official_reason)

    recomputed_reward = None if is_left_out else parts.recomputed.reward
    recomputed_reason = parts.recomputed.explain_reward(has_actions)
    item.verdicts += _make_recomputed_verdicts(
        item, recomputed_reward, parts.recomputed, recomputed_reason
    )

    _add_failure(item, parts)
    return {REWARD_PARTS: _choose_part_values(parts)}


def _set_verdict_fields(
    item: Item, reward: float | None, parts: CheckedParts, *, is_left_out: bool
) -> None:
    """Set the official and the recomputed verdict of an item, and its error type if it failed
    officially.
    """
    _set_official_verdict(item, reward)
    if is_left_out:
        item.rule_note = NO_REWARD
    else:
        _set_recomputed_verdict(item, parts.recomputed)
    if item.official is False:
        item.error_type = parts.official.error_type or parts.recomputed.error_type


def _add_failure(item: Item, parts: CheckedParts) -> None:
    """Set the first difference of an item that failed, and the step that decided about its
    texts.
    """
    official = parts.official
    recomputed = parts.recomputed
    verdict = item.official if item.rule is None else item.rule
    if verdict is False:
        # The recomputed parts tell more about the failure, if one of them fails at all.
        failed_parts = recomputed if recomputed.failing_parts else official
        _set_first_difference(item, failed_parts)
    add_decisive_step(item, recomputed.missing_texts or official.missing_texts)


def _choose_part_values(parts: CheckedParts) -> dict[str, float | None]:
    """Return the value of each part of the reward from which a corrected reward is computed.

    A recomputed value counts only where the file records none, because a review of one part must
    not change the others.
    """
    values = dict(parts.recomputed.values)
    for part, recorded in parts.official.values.items():
        if recorded is not None:
            values[part] = recorded
    return values


def _set_official_verdict(item: Item, reward: float | None) -> None:
    item.official = None if reward is None else is_success(reward)


def _set_recomputed_verdict(item: Item, recomputed: RewardParts) -> None:
    """Set the recomputed verdict of an item or, if a part of the reward is unknown, the reason why
    it has none.
    """
    if recomputed.reward is not None:
        item.rule = is_success(recomputed.reward)
        item.rule_error_type = recomputed.error_type if item.rule is False else None
        return
    unknown = [part for part, value in recomputed.values.items() if value is None]
    if unknown:
        item.rule_note = f"the result file does not contain the value of {', '.join(unknown)}"


def _make_official_verdicts(
    item: Item, reward: float | None, parts: RewardParts, rationale: str | None
) -> Iterator[Verdict]:
    """Yield the verdicts of the file on an item, on its reward and on the parts of the reward."""
    verdict = Verdict("official", item.official, error_type=item.error_type, by="reward")
    verdict.rationale = rationale
    yield verdict
    if reward is not None:
        yield Verdict("official", reward, criterion="reward", by="reward")
    yield from _make_part_verdicts("official", parts)


def _make_recomputed_verdicts(
    item: Item, reward: float | None, parts: RewardParts, rationale: str | None
) -> Iterator[Verdict]:
    """Yield the recomputed verdicts on an item, on its reward and on the parts of the reward."""
    by = "product of the parts"
    verdict = Verdict("rule", item.rule, error_type=item.rule_error_type, by=by)
    verdict.rationale = rationale
    yield verdict
    if reward is not None:
        yield Verdict("rule", reward, criterion="reward", by=by)
    yield from _make_part_verdicts("rule", parts)


def _make_part_verdicts(source: SourceName, parts: RewardParts) -> Iterator[Verdict]:
    """Yield a verdict on each part whose value is known."""
    for part, value in parts.values.items():
        if value is None:
            continue
        verdict = _make_part_verdict(source, part, value=value, by="reward_info")
        if part in parts.failing_parts:
            verdict.error_type = ERROR_TYPES.get(part)
            verdict.rationale = parts.explain_part(part)
        yield verdict


def _make_part_verdict(source: SourceName, part: str, *, value: float, by: str) -> Verdict:
    verdict_value = part_value_to_verdict(value)
    return Verdict(source, verdict_value, target=ITEM, criterion=part.lower(), by=by)


def _set_first_difference(item: Item, parts: RewardParts) -> None:
    """Set the first difference of the item to the first failing part.

    It names a call only if this part is `ACTION`.
    """
    if not parts.failing_parts:
        return
    part = parts.failing_parts[0]
    item.first_difference = parts.explain_part(part)
    if part == "ACTION":
        counted = [pair for pair in item.pairs if pair.state in "-!"]
        find_first_difference(counted, item.golden, item.predicted).apply_to(item)
    elif part == "COMMUNICATE" and parts.missing_texts:
        item.diff_golden = parts.missing_texts[0][:120]


def add_pairs_and_verdicts(
    item: Item,
    simulation: JsonObject,
    *,
    criteria: JsonObject | None,
    messages: Sequence[ConversationMessage] | None,
    run_has_rewards: bool,
) -> Grading:
    """Add call pairs and all verdicts to an item that already has its conversation.

    Args:
        item: The item.
        simulation: The record of the item, with the recorded reward.
        criteria: The `evaluation_criteria` of the task, or None if they are missing.
        messages: The messages, or None if the conversation cannot be read. In this case, no part of
            the reward is recomputed.
        run_has_rewards: Whether a simulation of the run has a recorded reward.
    """
    reason = simulation.get("termination_reason")
    recorded = as_object(simulation.get("reward_info"))
    actions = read_golden_actions(criteria or {})
    addresses = pair_golden_actions(item, actions)
    # None means that the simulation fails without any check.
    counted_parts = _list_counted_parts(recorded, criteria, reason)
    grading = Grading(_find_uncounted_states(counted_parts or []))
    if reason == INFRASTRUCTURE_ERROR:
        _set_infrastructure_error(item)
        return grading

    reward = _read_reward(item, simulation)
    is_left_out = reward is None and run_has_rewards
    if counted_parts is None:
        _add_verdicts_without_checks(item, reward, reason, recorded, is_left_out=is_left_out)
        return grading

    checks = _CheckedSimulation(
        recorded,
        criteria=criteria,
        actions=actions,
        addresses=addresses,
        counted_parts=counted_parts,
    )
    grading.metadata = checks.add_verdicts(item, reward, messages, is_left_out=is_left_out)
    return grading


EXTRA_CALLS = "+"
ALL_DIFFERENCES = "-!+"
"""Values of `Extra.uncounted_states`: the states of call pairs that are no failure. A pair has the
state `-` if the golden call is missing, `!` if the arguments differ, and `+` if the call is extra.
"""


def _find_uncounted_states(counted_parts: Sequence[str]) -> str:
    """Return which differences between golden actions and calls are no failure.

    The golden actions show one way to the goal. Only the part ACTION requires them, and it allows
    further calls too.
    """
    return EXTRA_CALLS if "ACTION" in counted_parts else ALL_DIFFERENCES


def _set_infrastructure_error(item: Item) -> None:
    """Set the fields of an item whose simulation did not run. It gets no verdict."""
    item.error_type = INFRASTRUCTURE_ERROR
    item.rule_note = "an infrastructure error prevented this simulation, so no metric counts it"
    item.first_difference = item.rule_note


def _read_reward(item: Item, simulation: JsonObject) -> float | None:
    """Return the recorded reward of a simulation, or None.

    A missing reward is an issue, unless the simulation ended normally and was not graded at all.
    """
    reward = to_finite_number(as_object(simulation.get("reward_info")).get("reward"))
    was_graded = simulation.get("reward_info") is not None
    ended_normally = simulation.get("termination_reason") in GRADED_ENDINGS
    if reward is None and (was_graded or not ended_normally):
        add_issue(item, "the simulation has no recorded reward")
    return reward


def _add_verdicts_without_checks(
    item: Item, reward: float | None, reason: Any, recorded: JsonObject, *, is_left_out: bool
) -> None:
    """Add the verdicts on a simulation that ended in a way after which nothing is checked.

    Args:
        item: The item of the simulation.
        reward: The recorded reward, or None.
        reason: The recorded reason of the end. A text, if it is recorded.
        recorded: The recorded checks, which may have a note.
        is_left_out: Whether the benchmark leaves the item out of its figures.
    """
    if reward is None and not isinstance(reason, str):
        item.rule_note = "the simulation has neither a recorded reward nor a termination reason"
        add_issue(item, item.rule_note)
        return

    rationale = f"the simulation ended with {reason}, so it fails without any check"
    note = as_object(recorded.get("info")).get("note")
    if isinstance(note, str):
        rationale = f"{rationale}: {note}"
    add_unchecked_verdicts(item, reward, str(reason), rationale, is_left_out=is_left_out)
    # A file can have checks all the same. None of them counts, and none is recomputed.
    item.verdicts += _make_uncounted_verdicts(recorded, counted_parts=[], recomputed_values={})


@dataclass(frozen=True, slots=True)
class _MessageChecks:
    """What the calls and messages of a conversation meet."""

    are_matched: list[bool]
    """For each golden action, whether a call matches it."""
    said_by_text: dict[str, bool]
    """Expected text -> whether the agent said it."""
    is_complete: bool
    """Whether the whole conversation could be read."""

    @property
    def has_all_actions(self) -> bool:
        return all(self.are_matched)

    @property
    def missing_texts(self) -> list[str]:
        return [text for text, is_said in self.said_by_text.items() if not is_said]


@dataclass(frozen=True, slots=True)
class _CheckedSimulation:
    """The recorded checks of a simulation, and the golden side of its task."""

    recorded: JsonObject
    """`reward_info` of the simulation."""
    criteria: JsonObject | None
    """`evaluation_criteria` of the task; None if they are missing."""
    actions: list[GoldenAction]
    addresses: list[str]
    """Address of the call pair of each golden action."""
    counted_parts: list[str]

    def add_verdicts(
        self,
        item: Item,
        reward: float | None,
        messages: Sequence[ConversationMessage] | None,
        *,
        is_left_out: bool,
    ) -> JsonObject:
        """Add the verdicts on the item, on the parts of its reward and on the single checks.

        The official ones are as recorded, the recomputed ones follow from the messages. Returns
        metadata with the parts and the checks.
        """
        problem_by_part = _describe_malformed_parts(self.criteria)
        results = self._check_messages(item, messages)
        recomputed_values = self._recompute_part_values(results, problem_by_part.keys())
        official = _read_official_parts(self.recorded, self.counted_parts)
        recomputed = self._make_recomputed_parts(official, recomputed_values, results)

        problems = list(problem_by_part.values())
        # Without the task, there is nothing to compare the recorded checks with. An item without
        # its task has no golden hash.
        if item.golden_hash:
            problems += self._find_contradictions(list(results.said_by_text), official.reward)
        for problem in problems:
            add_issue(item, problem)

        # Verdicts are shown in this order: item and counted parts, other parts, single checks.
        metadata = add_reward_verdicts(
            item, reward, CheckedParts(official, recomputed), is_left_out=is_left_out
        )
        item.verdicts += _make_uncounted_verdicts(
            self.recorded, self.counted_parts, recomputed_values
        )
        checks = self._make_single_checks(results.are_matched)
        item.verdicts += checks.list_verdicts()
        if checks.to_metadata():
            metadata[REWARD_CHECKS] = checks.to_metadata()
        return metadata

    def _make_single_checks(self, matches: Sequence[bool]) -> _SingleChecks:
        """Return the checks of each golden action and of each assertion.

        `matches` says for each golden action whether a call matches it.
        """
        actions = list(self._list_action_checks(matches))
        return _SingleChecks(actions, list(_make_assertion_verdicts(self.recorded)))

    def _check_messages(
        self, item: Item, messages: Sequence[ConversationMessage] | None
    ) -> _MessageChecks:
        """Find the golden actions and the expected texts in a conversation."""
        finder = CallFinder(item.predicted)
        are_matched = [finder.has_match(action) for action in self.actions]
        said_by_text = self._find_expected_texts(messages or ())
        return _MessageChecks(are_matched, said_by_text, is_complete=messages is not None)

    def _make_recomputed_parts(
        self,
        official: RewardParts,
        recomputed_values: Mapping[str, float | None],
        results: _MessageChecks,
    ) -> RewardParts:
        """Return the parts that count: recomputed values where fcreview can recompute them, else
        the recorded ones.
        """
        values = dict(official.values)
        for part, value in recomputed_values.items():
            if part in self.counted_parts:
                values[part] = value
        return RewardParts(
            values,
            missing_texts=results.missing_texts,
            unmet_assertions=official.unmet_assertions,
            missing_actions=self._list_missing_actions(results),
        )

    def _find_expected_texts(self, messages: Sequence[ConversationMessage]) -> dict[str, bool]:
        """Return expected text -> whether the agent said it."""
        expected = as_list((self.criteria or {}).get("communicate_info"))
        texts = [text for text in expected if isinstance(text, str)]
        replies = [message.content for message in messages if message.role == "assistant"]
        return find_spoken_texts(texts, [reply for reply in replies if reply])

    def _list_missing_actions(self, results: _MessageChecks) -> list[str]:
        missing = []
        for action, is_matched in zip(self.actions, results.are_matched, strict=True):
            if not is_matched:
                missing.append(action.name)
        return missing

    def _recompute_part_values(
        self, results: _MessageChecks, malformed_parts: Set[str]
    ) -> dict[str, float | None]:
        """Recompute two parts of the reward: ACTION (all golden actions were called) and
        COMMUNICATE (all expected texts were said).

        A value is None if the file does not determine it. Without criteria, no part is recomputed.
        `malformed_parts` are the parts whose golden answer is malformed.
        """
        if self.criteria is None:
            return {}
        are_met = {"ACTION": results.has_all_actions, "COMMUNICATE": not results.missing_texts}
        values: dict[str, float | None] = {}
        for part, is_met in are_met.items():
            # Messages that could not be read may contain the missing calls and texts.
            is_known = results.is_complete and part not in malformed_parts
            values[part] = float(is_met) if is_known else None
        return values

    def _find_contradictions(
        self, golden_texts: list[str], part_product: float | None
    ) -> Iterator[str]:
        """Yield what contradicts itself: recorded checks and the task, or the reward and the
        product of its parts.

        Args:
            golden_texts: The texts that the agent must say by the task.
            part_product: The product of the recorded parts, or None if a part is unknown.
        """
        if OWN_FIELD in as_object(self.recorded.get("info")):
            # This file was exported by fcreview, so reviews may contradict the checks.
            return

        text_checks = list_objects(self.recorded.get("communicate_checks"))
        checked_texts = {str(check["info"]) for check in text_checks if "info" in check}
        if checked_texts and checked_texts != set(golden_texts):
            yield "the recorded communicate checks and the task contain different expected texts"

        checked_actions = _list_checked_actions(self.recorded)
        if checked_actions and checked_actions != [action.name for action in self.actions]:
            yield "the recorded action checks and the task contain different golden actions"

        reward = to_finite_number(self.recorded.get("reward"))
        if part_product is None or reward is None:
            return
        if abs(part_product - reward) > SUCCESS_TOLERANCE:
            what = f"the recorded reward is {reward:g}, but the product of its recorded parts is"
            yield f"{what} {part_product:g}"

    def _list_action_checks(self, matches: Sequence[bool]) -> Iterator[_ActionCheck]:
        """Yield the check of each golden action.

        `matches` says for each golden action whether a call matches it.
        """
        recorded_checks = list_objects(self.recorded.get("action_checks"))
        names = [action.name for action in self.actions]
        # Recorded checks of other actions say nothing about these.
        if _list_checked_actions(self.recorded) != names:
            recorded_checks = [{} for _ in names]

        for address, check, is_matched in zip(
            self.addresses, recorded_checks, matches, strict=True
        ):
            recorded_match = check.get("action_match")
            tool_kind = check.get("tool_type")
            yield _ActionCheck(
                address,
                recorded_match=recorded_match if isinstance(recorded_match, bool) else None,
                is_matched=is_matched,
                tool_kind=tool_kind if isinstance(tool_kind, str) else None,
            )


@dataclass(frozen=True, slots=True)
class _ActionCheck:
    """Whether a predicted call matches a golden action."""

    address: str
    """Address of the call pair."""
    recorded_match: bool | None
    """The recorded check; None without one."""
    is_matched: bool
    """The recomputed check."""
    tool_kind: str | None
    """Recorded kind of the tool, such as "write"."""

    @property
    def counted_match(self) -> bool:
        """The check that counts. As for the parts of the reward, the recomputed one counts only
        where the file records none.
        """
        return self.is_matched if self.recorded_match is None else self.recorded_match

    def make_verdicts(self) -> Iterator[Verdict]:
        """Yield the recorded verdict, if there is one, and the recomputed one."""
        if self.recorded_match is not None:
            official = Verdict("official", self.recorded_match, target=self.address)
            official.criterion = "action"
            official.by = "action_checks"
            yield official
        recomputed = Verdict("rule", self.is_matched, target=self.address, criterion="action")
        recomputed.by = "tau2-bench rules"
        if not self.is_matched:
            recomputed.rationale = "no call has this function name and these arguments"
        yield recomputed


@dataclass(frozen=True, slots=True)
class _SingleChecks:
    """The checks of which the parts of a reward consist."""

    actions: list[_ActionCheck]
    assertions: list[Verdict]
    """Verdicts of a judge on assertions in natural language."""

    def list_verdicts(self) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for check in self.actions:
            verdicts += check.make_verdicts()
        return verdicts + self.assertions

    def to_metadata(self) -> dict[str, list[Any]]:
        """Return the checks by part of the reward, without parts that have none.

        A check is a list [target, criterion, value, kind of tool].
        """
        checks: dict[str, list[Any]] = {}
        if self.actions:
            checks["ACTION"] = [
                [check.address, "action", check.counted_match, check.tool_kind]
                for check in self.actions
            ]
        if self.assertions:
            checks["NL_ASSERTION"] = [
                [ITEM, verdict.criterion, verdict.value, None] for verdict in self.assertions
            ]
        return checks


def _list_checked_actions(recorded: JsonObject) -> list[str | None]:
    """Return the name of the golden action of each recorded check."""
    checks = list_objects(recorded.get("action_checks"))
    return [as_object(check.get("action")).get("name") for check in checks]


def _describe_malformed_parts(criteria: JsonObject | None) -> dict[str, str]:
    """Return part of the reward -> what is wrong with its golden answer in the criteria."""
    problems = {}
    for part, field_name, element_type, type_name in GOLDEN_FIELDS:
        golden = (criteria or {}).get(field_name)
        if golden is not None and not _is_list_of(golden, element_type):
            what = f"the field {field_name} of the task is not a list of {type_name}, so the reward"
            problems[part] = f"{what} part {part} is unknown"
    return problems


def _is_list_of(value: Any, element_type: type) -> bool:
    return isinstance(value, list) and all(isinstance(element, element_type) for element in value)


def _list_counted_parts(
    recorded: dict[str, Any], criteria: dict[str, Any] | None, termination_reason: Any
) -> list[str] | None:
    """Return the parts that count for the reward, or None if the simulation fails without any
    check.
    """
    # `evaluate_simulation` (`evaluator/evaluator.py`) checks nothing after an early end.
    has_reason = isinstance(termination_reason, str)
    if has_reason and termination_reason not in GRADED_ENDINGS:
        return None

    # The breakdown has the parts that were checked. The basis can contain others too.
    for name in ("reward_breakdown", "reward_basis"):
        value = recorded.get(name)
        if isinstance(value, (dict, list)) and value:
            return [str(part) for part in value]
    # Neither a reason nor recorded parts say that the simulation was checked.
    if not has_reason:
        return None
    return [] if criteria is None else read_reward_basis(criteria)


def read_reward_basis(criteria: JsonObject) -> list[str]:
    basis = criteria.get("reward_basis")
    return [str(part) for part in basis] if isinstance(basis, list) else DEFAULT_BASIS


def _read_official_parts(recorded: dict[str, Any], counted_parts: Sequence[str]) -> RewardParts:
    """Read the parts of the reward, and the checks that failed, from the recorded `reward_info`.

    `counted_parts` are the names of the parts that count for the task.
    """
    failed_texts = _list_failed_checks(recorded.get("communicate_checks"))
    return RewardParts(
        _read_part_values(recorded, counted_parts),
        missing_texts=[str(check.get("info")) for check in failed_texts],
        unmet_assertions=list(_iterate_unmet_assertions(recorded)),
        missing_actions=list(_iterate_missing_actions(recorded)),
    )


def _read_part_values(
    recorded: dict[str, Any], counted_parts: Sequence[str]
) -> dict[str, float | None]:
    """Return the recorded value of each part: as stated, else from the checks of the part."""
    breakdown = as_object(recorded.get("reward_breakdown"))
    values: dict[str, float | None] = {}
    for part in counted_parts:
        values[part] = to_part_value(breakdown.get(part))
        if values[part] is None:
            values[part] = _read_recorded_part_value(recorded, part)
    return values


def _iterate_unmet_assertions(recorded: dict[str, Any]) -> Iterator[str]:
    """Yield the texts of the assertions about the conversation and the environment that failed."""
    for check in _list_failed_checks(recorded.get("nl_assertions")):
        yield str(check.get("nl_assertion"))
    for check in _list_failed_checks(recorded.get("env_assertions")):
        yield _describe_env_assertion(check.get("env_assertion"))


def _iterate_missing_actions(recorded: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the golden actions that no call matched."""
    for check in _list_failed_checks(recorded.get("action_checks"), "action_match"):
        action = check.get("action")
        if isinstance(action, dict):
            yield str(action.get("name"))


def _list_failed_checks(checks: Any, result_field: str = "met") -> list[JsonObject]:
    return [check for check in list_objects(checks) if not check.get(result_field)]


def _describe_env_assertion(assertion: Any) -> str:
    if not isinstance(assertion, dict):
        return "an assertion about the environment"
    return describe_env_assertion(assertion)


def _read_recorded_part_value(recorded: dict[str, Any], part: str) -> float | None:
    """Compute a part of the reward from its recorded checks. None if there are none."""
    if part == "DB":
        return _read_database_value(recorded.get("db_check"))
    if part == "ENV_ASSERTION":
        return _multiply_assertion_rewards(recorded.get("env_assertions"))
    if part == "ACTION":
        return _read_conjunction(recorded.get("action_checks"), "action_match")
    if part == "COMMUNICATE":
        return _read_conjunction(recorded.get("communicate_checks"), "met")
    if part == "NL_ASSERTION":
        return _read_conjunction(recorded.get("nl_assertions"), "met")
    return None


def _read_database_value(check: Any) -> float | None:
    """Return the part of the reward for the final database, or None if it is not recorded."""
    if not isinstance(check, dict):
        return None
    value = to_part_value(check.get("db_reward"))
    if value is not None:
        return value
    is_matching = check.get("db_match")
    return float(is_matching) if isinstance(is_matching, bool) else None


def _multiply_assertion_rewards(assertions: Any) -> float | None:
    """Return the product of the rewards. None without assertions, or if a reward is unknown."""
    rewards = []
    for assertion in list_objects(assertions):
        reward = to_part_value(assertion.get("reward"))
        if reward is None:
            return None
        rewards.append(reward)
    return math.prod(rewards) if rewards else None


def _read_conjunction(checks: Any, result_field: str) -> float | None:
    """Return 1 if all checks succeeded, else 0. None without checks, or if a result is unknown."""
    results = [check.get(result_field) for check in list_objects(checks)]
    if not results or not all(isinstance(result, bool) for result in results):
        return None
    return float(all(results))


def _make_uncounted_verdicts(
    recorded: dict[str, Any],
    counted_parts: Sequence[str],
    recomputed_values: Mapping[str, float | None],
) -> Iterator[Verdict]:
    """Yield verdicts on the recorded parts that do not count for the reward.

    tau2-bench records checks also where they do not count. A part that fcreview cannot recompute,
    such as the final database, is taken over as recorded. So is a part whose value in
    `recomputed_values` is missing, but not one whose value there is None, which means unknown.
    """
    by = "does not count for the reward"
    for part in REWARD_PART_NAMES:
        value = _read_recorded_part_value(recorded, part)
        if part in counted_parts or value is None:
            continue
        yield _make_part_verdict("official", part, value=value, by=by)
        recomputed = recomputed_values.get(part, value)
        if recomputed is not None:
            yield _make_part_verdict("rule", part, value=recomputed, by=by)


def _make_assertion_verdicts(recorded: dict[str, Any]) -> Iterator[Verdict]:
    """Yield a judge's verdict on each assertion of a task in natural language, such as "The agent
    offered a refund".
    """
    for number, check in enumerate(list_objects(recorded.get("nl_assertions")), 1):
        value = check.get("met")
        if not isinstance(value, bool):
            value = None
        criterion = NL_CRITERION.format(number)
        verdict = Verdict("judge", value, target=ITEM, criterion=criterion, by="NL assertions")
        justification = check.get("justification") or ""
        verdict.rationale = f'"{check.get("nl_assertion")}" {justification}'.rstrip()
        yield verdict

"""Determine the verdicts of a simulation from its reward, its recorded checks and its messages.

The reward is the product of the parts in `reward_basis`. fcreview recomputes the parts ACTION and
COMMUNICATE by the rules of tau2-bench (`evaluator_action.py`, `evaluator_communicate.py`). It takes
DB, ENV_ASSERTION and NL_ASSERTION from the file, because they depend on the simulator or on a
language model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fcreview.importers.common.records import add_issue, as_list, as_object, is_number, list_objects
from fcreview.importers.tau.conversation import (
    ConversationMessage,
    GoldenAction,
    find_spoken_texts,
    pair_golden_actions,
    read_golden_actions,
)
from fcreview.importers.tau.task import describe_env_assertion
from fcreview.matching.decisive_step import add_decisive_step
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.address import ITEM
from fcreview.model.item import Item, SourceName, Verdict
from fcreview.model.verdict import REWARD_CHECKS, REWARD_PARTS

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
        return (
            " + ".join(ERROR_TYPES.get(part, part.lower()) for part in self.failing_parts) or None
        )

    def explain_reward(self, has_actions: bool) -> str:
        """Explain how the reward follows from its parts.

        `has_actions` states whether the task has golden actions.
        """
        if not self.values:
            return "no part counts for the reward"
        shown = [
            f"{part} {'unknown' if value is None else f'{value:g}'}"
            for part, value in self.values.items()
        ]
        sentences = [
            f"reward = {' x '.join(shown)}",
            *(self.explain_part(part) for part in self.failing_parts),
        ]
        if has_actions and "ACTION" not in self.values:
            sentences.append(
                "the golden actions do not count for the reward, because there are other ways to"
                " the goal"
            )
        return "; ".join(sentences)

    def explain_part(self, part: str) -> str:
        if part == "DB":
            return "the final database differs from the expected one"
        if part == "COMMUNICATE":
            texts = _join_quoted(self.missing_texts)
            return (
                f"the agent never said {texts}"
                if texts
                else "the agent never said an expected text"
            )
        if part == "ACTION":
            names = ", ".join(dict.fromkeys(self.missing_actions))
            return (
                f"no call matches the golden action {names}"
                if names
                else "no call matches a golden action"
            )
        assertions = _join_quoted(self.unmet_assertions)
        return (
            f"an assertion does not hold: {assertions}" if assertions else f"the part {part} failed"
        )


def _join_quoted(texts: Sequence[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


class CheckedParts(NamedTuple):
    official: RewardParts
    """Parts of the reward that the file records."""
    recomputed: RewardParts


def add_unchecked_verdicts(
    item: Item, reward: float | None, error_type: str, rationale: str, *, is_left_out: bool = False
) -> None:
    """Add the verdicts on an item that the benchmark did not check. It fails with `error_type`.

    `is_left_out`: as in `add_reward_verdicts`.
    """
    _set_official_verdict(item, reward)
    no_parts = RewardParts()
    if is_left_out:
        item.rule_note = NO_REWARD
        _add_verdicts_of_source(item, "official", reward, no_parts, rationale)
    else:
        item.rule = False
        item.rule_error_type = error_type
        item.error_type = error_type if item.official is False else None
        item.first_difference = rationale
        _add_verdicts_of_source(item, "official", reward, no_parts, rationale)
        _add_verdicts_of_source(item, "rule", 0.0, no_parts, rationale)
    add_decisive_step(item)


def add_reward_verdicts(
    item: Item, reward: float | None, parts: CheckedParts, *, is_left_out: bool = False
) -> None:
    """Add the verdicts that follow from the recorded reward and its parts.

    `is_left_out`: whether the benchmark leaves the item out of its figures, because it has no
    recorded reward although others have one. Then only the parts have verdicts. A recomputed
    verdict on the item would change corrected figures although nobody has reviewed anything.
    """
    official, recomputed = parts
    value = None if is_left_out else recomputed.reward
    _set_official_verdict(item, reward)
    if is_left_out:
        item.rule_note = NO_REWARD
    else:
        _set_recomputed_verdict(item, recomputed)
    if item.official is False:
        item.error_type = official.error_type or recomputed.error_type

    item.extra.metadata[REWARD_PARTS] = _choose_part_values(parts)
    has_actions = bool(item.golden)
    explanation = official.explain_reward(has_actions) if official.values else None
    _add_verdicts_of_source(item, "official", reward, official, explanation)
    _add_verdicts_of_source(item, "rule", value, recomputed, recomputed.explain_reward(has_actions))

    if item.rule is False or (item.rule is None and item.official is False):
        _set_first_difference(item, recomputed if recomputed.failing_parts else official)
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
    if recomputed.reward is not None:
        item.rule = is_success(recomputed.reward)
        item.rule_error_type = recomputed.error_type if item.rule is False else None
        return
    unknown = [part for part, value in recomputed.values.items() if value is None]
    if unknown:
        item.rule_note = f"the result file does not contain the value of {', '.join(unknown)}"


def _add_verdicts_of_source(
    item: Item, source: SourceName, reward: float | None, parts: RewardParts, rationale: str | None
) -> None:
    value = item.official if source == "official" else item.rule
    error_type = item.error_type if source == "official" else item.rule_error_type
    by = "reward" if source == "official" else "product of the parts"
    item.verdicts.append(Verdict(source, value, error_type=error_type, rationale=rationale, by=by))
    if reward is not None:
        item.verdicts.append(Verdict(source, reward, criterion="reward", by=by))
    for part, number in parts.values.items():
        if number is not None:
            verdict = Verdict(
                source,
                part_value_to_verdict(number),
                target=ITEM,
                criterion=part.lower(),
                by="reward_info",
            )
            if part in parts.failing_parts:
                verdict.error_type, verdict.rationale = (
                    ERROR_TYPES.get(part),
                    parts.explain_part(part),
                )
            item.verdicts.append(verdict)


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
    criteria: JsonObject | None,
    messages: Sequence[ConversationMessage] | None,
    *,
    run_has_rewards: bool,
) -> None:
    """Add call pairs and all verdicts to an item that already has its conversation.

    `criteria` are the `evaluation_criteria` of the task, or None if they are missing. `messages` is
    None if the conversation cannot be read. In this case, no part is recomputed. `run_has_rewards`:
    whether a simulation of the run has a recorded reward.
    """
    reason = simulation.get("termination_reason")
    recorded = as_object(simulation.get("reward_info"))
    actions = read_golden_actions(criteria or {})
    addresses = pair_golden_actions(item, actions)
    counted_parts = _list_counted_parts(recorded, criteria, reason)
    actions_count = counted_parts is not None and "ACTION" in counted_parts
    item.extra.uncounted_states = "+" if actions_count else "-!+"

    if reason == INFRASTRUCTURE_ERROR:
        item.error_type = INFRASTRUCTURE_ERROR
        item.rule_note = "an infrastructure error prevented this simulation, so no metric counts it"
        item.first_difference = item.rule_note
        return

    reward = to_finite_number(recorded.get("reward"))
    is_reward_expected = simulation.get("reward_info") is not None or reason not in GRADED_ENDINGS
    if reward is None and is_reward_expected:
        add_issue(item, "the simulation has no recorded reward")
    is_left_out = reward is None and run_has_rewards
    if counted_parts is None:
        _add_verdicts_without_checks(item, reward, reason, recorded, is_left_out=is_left_out)
        return

    checks = _CheckedSimulation(
        recorded,
        criteria=criteria,
        actions=actions,
        addresses=addresses,
        counted_parts=counted_parts,
    )
    checks.add_verdicts(item, reward, messages, is_left_out=is_left_out)


def _add_verdicts_without_checks(
    item: Item, reward: float | None, reason: Any, recorded: JsonObject, *, is_left_out: bool
) -> None:
    if reward is None and not isinstance(reason, str):
        item.rule_note = "the simulation has neither a recorded reward nor a termination reason"
        add_issue(item, item.rule_note)
        return

    rationale = f"the simulation ended with {reason}, so it fails without any check"
    note = as_object(recorded.get("info")).get("note")
    if isinstance(note, str):
        rationale = f"{rationale}: {note}"
    add_unchecked_verdicts(item, reward, str(reason), rationale, is_left_out=is_left_out)
    _add_uncounted_checks(item, recorded, counted_parts=[], recomputed_values={})


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
    ) -> None:
        """Add the verdicts on the item, on the parts of its reward and on the single checks."""
        matches = [
            any(action.matches_call(call) for call in item.predicted) for action in self.actions
        ]
        said = self._find_expected_texts(messages or ())
        met = (
            {} if messages is None else {"ACTION": all(matches), "COMMUNICATE": all(said.values())}
        )
        recomputed_values = _recompute_part_values(item, self.criteria, met)

        official = _read_official_parts(self.recorded, self.counted_parts)
        recomputed = RewardParts(
            values=dict(official.values),
            missing_texts=[text for text, is_said in said.items() if not is_said],
            unmet_assertions=official.unmet_assertions,
            missing_actions=self._list_missing_actions(matches),
        )
        for part, value in recomputed_values.items():
            if part in self.counted_parts:
                recomputed.values[part] = value
        add_reward_verdicts(
            item, reward, CheckedParts(official, recomputed), is_left_out=is_left_out
        )

        has_task = item.golden_hash != ""
        if has_task:
            names = [action.name for action in self.actions]
            _report_contradicting_checks(item, self.recorded, list(said), names, official.reward)
        _add_uncounted_checks(item, self.recorded, self.counted_parts, recomputed_values)
        _add_action_checks(item, self.recorded, self.actions, self.addresses, matches)
        _add_nl_assertions(item, self.recorded)

    def _find_expected_texts(self, messages: Sequence[ConversationMessage]) -> dict[str, bool]:
        """Return expected text -> whether the agent said it."""
        expected = as_list((self.criteria or {}).get("communicate_info"))
        texts = [text for text in expected if isinstance(text, str)]
        replies = [
            message.content
            for message in messages
            if message.role == "assistant" and message.content
        ]
        return find_spoken_texts(texts, replies)

    def _list_missing_actions(self, matches: Sequence[bool]) -> list[str]:
        return [
            action.name
            for action, is_matched in zip(self.actions, matches, strict=True)
            if not is_matched
        ]


def _report_contradicting_checks(
    item: Item,
    recorded: dict[str, Any],
    golden_texts: list[str],
    golden_actions: list[str],
    part_product: float | None,
) -> None:
    """Add issues for recorded checks that contradict the task, and for a reward that contradicts
    its parts.
    """
    if OWN_FIELD in as_object(recorded.get("info")):
        return  # fcreview exported this file, and reviews may contradict the checks.
    checked = {
        str(each["info"])
        for each in list_objects(recorded.get("communicate_checks"))
        if "info" in each
    }
    checked_actions, reward = (
        _list_checked_actions(recorded),
        to_finite_number(recorded.get("reward")),
    )
    if checked and checked != set(golden_texts):
        add_issue(
            item, "the recorded communicate checks and the task contain different expected texts"
        )
    if checked_actions and checked_actions != golden_actions:
        add_issue(item, "the recorded action checks and the task contain different golden actions")
    if (
        part_product is not None
        and reward is not None
        and abs(part_product - reward) > SUCCESS_TOLERANCE
    ):
        add_issue(
            item,
            f"the recorded reward is {reward:g}, but the product of its recorded parts is"
            f" {part_product:g}",
        )


def _list_checked_actions(recorded: JsonObject) -> list[str | None]:
    return [
        as_object(check.get("action")).get("name")
        for check in list_objects(recorded.get("action_checks"))
    ]


def _recompute_part_values(
    item: Item, criteria: JsonObject | None, met: Mapping[str, bool]
) -> dict[str, float | None]:
    """Return the recomputed values of ACTION and COMMUNICATE. A value is None if the file does not
    determine it.

    `met` has, for both parts, whether the conversation meets the criteria. It is empty for an
    unreadable conversation.
    """
    if criteria is None:
        return {}
    own: dict[str, float | None] = {}
    for part, name, kind in (("ACTION", "actions", dict), ("COMMUNICATE", "communicate_info", str)):
        golden = criteria.get(name)
        is_valid = golden is None or (
            isinstance(golden, list) and all(isinstance(each, kind) for each in golden)
        )
        if not is_valid:
            kinds = "objects" if kind is dict else "texts"
            what = (
                f"the field {name} of the task is not a list of {kinds}, so the reward part {part}"
                " is unknown"
            )
            add_issue(item, what)
        own[part] = float(met[part]) if is_valid and met else None
    return own


def _list_counted_parts(
    recorded: dict[str, Any], criteria: dict[str, Any] | None, termination_reason: Any
) -> list[str] | None:
    """Return the parts that count for the reward, or None if the simulation fails without any
    check.
    """
    if isinstance(termination_reason, str) and termination_reason not in GRADED_ENDINGS:
        return None
    for name in ("reward_breakdown", "reward_basis"):
        value = recorded.get(name)
        if isinstance(value, (dict, list)) and value:
            return [str(part) for part in value]
    if termination_reason not in GRADED_ENDINGS:
        return None
    return [] if criteria is None else read_reward_basis(criteria)


def read_reward_basis(criteria: JsonObject) -> list[str]:
    basis = criteria.get("reward_basis")
    return [str(part) for part in basis] if isinstance(basis, list) else DEFAULT_BASIS


def _read_official_parts(recorded: dict[str, Any], counted_parts: Sequence[str]) -> RewardParts:
    breakdown = as_object(recorded.get("reward_breakdown"))
    parts = RewardParts()
    for part in counted_parts:
        value = to_part_value(breakdown.get(part))
        parts.values[part] = (
            value if value is not None else _read_recorded_part_value(recorded, part)
        )
    parts.missing_texts = [
        str(each.get("info")) for each in _list_failed_checks(recorded.get("communicate_checks"))
    ]
    actions = (
        each.get("action")
        for each in _list_failed_checks(recorded.get("action_checks"), "action_match")
    )
    parts.missing_actions = [
        str(action.get("name")) for action in actions if isinstance(action, dict)
    ]
    failed = _list_failed_checks(recorded.get("nl_assertions"))
    parts.unmet_assertions = [str(each.get("nl_assertion")) for each in failed]
    failed = _list_failed_checks(recorded.get("env_assertions"))
    parts.unmet_assertions += [
        _describe_env_assertion(each.get("env_assertion")) for each in failed
    ]
    return parts


def _list_failed_checks(checks: Any, result_field: str = "met") -> list[JsonObject]:
    return [each for each in list_objects(checks) if not each.get(result_field)]


def _describe_env_assertion(assertion: Any) -> str:
    if not isinstance(assertion, dict):
        return "an assertion about the environment"
    return describe_env_assertion(assertion)


def _read_recorded_part_value(recorded: dict[str, Any], part: str) -> float | None:
    if part == "DB":
        check = recorded.get("db_check")
        if not isinstance(check, dict):
            return None
        value, matches = to_part_value(check.get("db_reward")), check.get("db_match")
        return value if value is not None else float(matches) if isinstance(matches, bool) else None
    if part == "ENV_ASSERTION":
        rewards = [
            to_part_value(each.get("reward"))
            for each in list_objects(recorded.get("env_assertions"))
        ]
        known = [reward for reward in rewards if reward is not None]
        return math.prod(known) if known and len(known) == len(rewards) else None
    name, field = {
        "ACTION": ("action_checks", "action_match"),
        "COMMUNICATE": ("communicate_checks", "met"),
        "NL_ASSERTION": ("nl_assertions", "met"),
    }.get(part, ("", ""))
    values = [each.get(field) for each in list_objects(recorded.get(name))]
    is_known = bool(values) and all(isinstance(value, bool) for value in values)
    return float(all(values)) if is_known else None


def _add_uncounted_checks(
    item: Item,
    recorded: dict[str, Any],
    counted_parts: Sequence[str],
    recomputed_values: Mapping[str, float | None],
) -> None:
    """Add verdicts on the recorded parts that do not count for the reward."""
    for part in REWARD_PART_NAMES:
        value = _read_recorded_part_value(recorded, part)
        if part not in counted_parts and value is not None:
            by = "does not count for the reward"
            item.verdicts.append(
                Verdict(
                    "official",
                    part_value_to_verdict(value),
                    target=ITEM,
                    criterion=part.lower(),
                    by=by,
                )
            )
            if (recomputed := recomputed_values.get(part, value)) is not None:
                item.verdicts.append(
                    Verdict(
                        "rule",
                        part_value_to_verdict(recomputed),
                        target=ITEM,
                        criterion=part.lower(),
                        by=by,
                    )
                )


def _add_action_checks(
    item: Item,
    recorded: JsonObject,
    actions: list[GoldenAction],
    addresses: list[str],
    are_matched: list[bool],
) -> None:
    checks = list_objects(recorded.get("action_checks"))
    has_checks = _list_checked_actions(recorded) == [action.name for action in actions]
    listed = []
    for index, (address, is_matched) in enumerate(zip(addresses, are_matched, strict=True)):
        check = checks[index] if has_checks else {}
        recorded_match = check.get("action_match")
        kind = check.get("tool_type")

        if isinstance(recorded_match, bool):
            item.verdicts.append(
                Verdict(
                    "official",
                    recorded_match,
                    target=address,
                    criterion="action",
                    by="action_checks",
                )
            )
        rationale = None if is_matched else "no call has this function name and these arguments"
        item.verdicts.append(
            Verdict(
                "rule",
                is_matched,
                target=address,
                criterion="action",
                rationale=rationale,
                by="tau2-bench rules",
            )
        )

        # As for the parts of the reward, the recomputed check counts only where the file records
        # none.
        counted_match = recorded_match if isinstance(recorded_match, bool) else is_matched
        listed.append([address, "action", counted_match, kind if isinstance(kind, str) else None])
    if listed:
        item.extra.metadata.setdefault(REWARD_CHECKS, {})["ACTION"] = listed


def _add_nl_assertions(item: Item, recorded: dict[str, Any]) -> None:
    listed = []
    for number, check in enumerate(list_objects(recorded.get("nl_assertions")), 1):
        met, criterion = check.get("met"), NL_CRITERION.format(number)
        rationale = f'"{check.get("nl_assertion")}" {check.get("justification") or ""}'.rstrip()
        value = met if isinstance(met, bool) else None
        item.verdicts.append(
            Verdict(
                "judge",
                value,
                target=ITEM,
                criterion=criterion,
                error_type=None,
                rationale=rationale,
                by="NL assertions",
            )
        )
        listed.append([ITEM, criterion, value, None])
    if listed:
        item.extra.metadata.setdefault(REWARD_CHECKS, {})["NL_ASSERTION"] = listed

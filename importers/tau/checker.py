"""Determine the verdicts of a simulation from its reward, its recorded checks and its messages.

The reward is the product of the parts that count. ACTION and COMMUNICATE are recomputed by the rules of tau2-bench
(`evaluator_action.py`, `evaluator_communicate.py`). DB, ENV_ASSERTION and NL_ASSERTION need the simulator or a language
model and are taken as recorded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.records import add_issue, as_list, as_object, is_number, list_objects
from fcreview.importers.tau.conversation import (
    ConversationMessage,
    GoldenAction,
    find_spoken_texts,
    pair_actions,
    read_actions,
)
from fcreview.matching.decisive_step import add_decisive_step
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.address import ITEM, call_address
from fcreview.model.item import Item, SourceName, Verdict
from fcreview.model.verdict import REWARD_CHECKS, REWARD_PARTS

JsonObject = dict[str, Any]
PARTS = ("DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION")
ERROR_TYPES = {
    "DB": "db_mismatch", "ENV_ASSERTION": "env_assertion_failed", "ACTION": "action_not_made",
    "COMMUNICATE": "not_communicated", "NL_ASSERTION": "nl_assertion_failed",
}  # fmt: skip
"""Part of the reward -> error type of an item that fails because of it. Several error types are joined with ` + `."""
SUCCESS_TOLERANCE = 1e-6
"""Maximum difference between 1 and the reward of a success, as in the official metric code of tau2-bench."""
GRADED_ENDINGS = ("user_stop", "agent_stop")
INFRASTRUCTURE_ERROR = "infrastructure_error"
"""Termination reason of a simulation that was not run. No metric counts the simulation."""
DEFAULT_BASIS = ["DB", "COMMUNICATE"]
NL_CRITERION = "nl_assertion_{}"
"""Criterion of the verdict on one natural-language assertion, counted from 1."""
OWN_FIELD = "fcreview"
"""Field of exported notes with data of the review. In `reward_info.info`, it marks a reward that reviews changed."""


def is_success(reward: float) -> bool:
    return abs(reward - 1.0) <= SUCCESS_TOLERANCE


def read_number(value: Any) -> float | None:
    """Return a finite number as a float, or None for any other value."""
    try:
        number = float(value) if is_number(value) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def read_part_value(value: Any) -> float | None:
    """Return the value of a part of the reward if it is a number from 0 to 1, else None."""
    number = read_number(value)
    return number if number is not None and 0 <= number <= 1 else None


def to_verdict(value: float) -> bool | float:
    """Return the verdict for the value of a part of the reward: True for 1, False for 0, else the number itself."""
    return bool(value) if value in (0, 1) else value


@dataclass(slots=True)
class Parts:
    """Values of the parts of the reward that count, from one source, with the causes of failing parts."""

    values: dict[str, float | None] = field(default_factory=dict)
    """Value of each reward part, from 0 to 1; None if unknown."""
    missing_texts: list[str] = field(default_factory=list)
    """Texts that the agent had to say and did not say."""
    unmet_assertions: list[str] = field(default_factory=list)
    missing_actions: list[str] = field(default_factory=list)
    """Golden actions that no call matches."""

    @property
    def reward(self) -> float | None:
        """Product of the parts. It is 0 if one part is 0, else None if the value of a part is unknown."""
        known = [value for value in self.values.values() if value is not None]
        if any(value == 0 for value in known):
            return 0.0
        return math.prod(known) if len(known) == len(self.values) else None

    @property
    def failing(self) -> list[str]:
        return [part for part, value in self.values.items() if value is not None and not is_success(value)]

    @property
    def error_type(self) -> str | None:
        return " + ".join(ERROR_TYPES.get(part, part.lower()) for part in self.failing) or None

    def explain(self, has_actions: bool) -> str:
        """Explain the reward: its parts, and why parts fail. `has_actions` is whether the task has golden actions."""
        if not self.values:
            return "nothing counts for the reward"
        shown = [f"{part} {'unknown' if value is None else f'{value:g}'}" for part, value in self.values.items()]
        sentences = [f"reward = {' x '.join(shown)}", *(self.explain_part(part) for part in self.failing)]
        if has_actions and "ACTION" not in self.values:
            sentences.append("golden actions are only one way to the goal and do not count for the reward")
        return "; ".join(sentences)

    def explain_part(self, part: str) -> str:
        if part == "DB":
            return "the final database differs from the expected one"
        if part == "COMMUNICATE":
            texts = _quote(self.missing_texts)
            return f"the agent never said {texts}" if texts else "the agent never said an expected text"
        if part == "ACTION":
            names = ", ".join(dict.fromkeys(self.missing_actions))
            return f"no call matches the golden action {names}" if names else "a golden action was not made"
        return f"not met: {_quote(self.unmet_assertions)}" if self.unmet_assertions else f"{part} failed"


def _quote(texts: Sequence[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def set_reward_verdicts(
    item: Item, reward: float | None, parts: tuple[Parts, Parts] | None, ended: str = "", reason: str | None = None
) -> None:
    """Set the verdicts of an item from the recorded reward and its parts.

    `parts` is (recorded parts, recomputed parts), or None if nothing was checked. Without parts, the error type is
    `ended` and the rationale is `reason`.
    """
    item.official = None if reward is None else is_success(reward)
    official, recomputed = parts or (Parts(), Parts())
    if parts is None:
        item.rule, item.rule_error_type = False, ended
        item.error_type = ended if item.official is False else None
        item.first_difference = reason
        _add_source_verdicts(item, "official", reward, official, reason)
        _add_source_verdicts(item, "rule", 0.0, recomputed, reason)
        add_decisive_step(item)
        return
    value = recomputed.reward
    item.rule = None if value is None else is_success(value)
    item.rule_error_type = recomputed.error_type if item.rule is False else None
    if item.rule is None:
        unknown = [part for part, each in recomputed.values.items() if each is None]
        item.rule_note = f"the file does not contain the value of {', '.join(unknown)}" if unknown else None
    item.error_type = (official.error_type or recomputed.error_type) if item.official is False else None
    item.extra.metadata[REWARD_PARTS] = {
        part: value if value is not None else official.values.get(part) for part, value in recomputed.values.items()
    }
    has_actions = bool(item.golden)
    _add_source_verdicts(item, "official", reward, official, official.explain(has_actions) if official.values else None)
    _add_source_verdicts(item, "rule", value, recomputed, recomputed.explain(has_actions))
    if item.rule is False or (item.rule is None and item.official is False):
        _set_first_difference(item, recomputed if recomputed.failing else official)
    add_decisive_step(item, recomputed.missing_texts or official.missing_texts)


def _add_source_verdicts(
    item: Item, source: SourceName, reward: float | None, parts: Parts, rationale: str | None
) -> None:
    value = item.official if source == "official" else item.rule
    error_type = item.error_type if source == "official" else item.rule_error_type
    by = "reward" if source == "official" else "product of the parts"
    item.verdicts.append(Verdict(source, value, error_type=error_type, rationale=rationale, by=by))
    if reward is not None:
        item.verdicts.append(Verdict(source, reward, criterion="reward", by=by))
    for part, number in parts.values.items():
        if number is not None:
            reason, error = (parts.explain_part(part), ERROR_TYPES.get(part)) if part in parts.failing else (None, None)
            item.verdicts.append(
                Verdict(source, to_verdict(number), "item", part.lower(), error, reason, "reward_info")
            )


def _set_first_difference(item: Item, parts: Parts) -> None:
    """Set the first difference of the item to the first failing part. Calls are mentioned only if `ACTION` fails."""
    if not parts.failing:
        return
    part = parts.failing[0]
    item.first_difference = parts.explain_part(part)
    if part == "ACTION":
        counted = [pair for pair in item.pairs if pair.state in "-!"]
        find_first_difference(counted, item.golden, item.predicted).apply_to(item)
    elif part == "COMMUNICATE" and parts.missing_texts:
        item.diff_golden = parts.missing_texts[0][:120]


def add_verdicts(
    item: Item, simulation: JsonObject, criteria: JsonObject | None, messages: Sequence[ConversationMessage] | None
) -> None:
    """Add call pairs and all verdicts to an item whose conversation was added before.

    `criteria` are the task's `evaluation_criteria`; None if the task has none or is not in the file. `messages` is None
    if the conversation cannot be read; in that case no part is recomputed.
    """
    reason = simulation.get("termination_reason")
    recorded = as_object(simulation.get("reward_info"))
    actions = read_actions(criteria or {})
    addresses = _pair_addresses(item, pair_actions(item, actions))
    matches = [any(action.matches(call) for call in item.predicted) for action in actions]
    basis = _counted_parts(recorded, criteria, reason)
    item.extra.uncounted_states = "+" if basis is not None and "ACTION" in basis else "-!+"
    if reason == INFRASTRUCTURE_ERROR:
        item.error_type = INFRASTRUCTURE_ERROR
        item.rule_note = "not run because of an infrastructure error; omitted from all metrics"
        item.first_difference = item.rule_note
        return
    reward = read_number(recorded.get("reward"))
    if reward is None and (simulation.get("reward_info") is not None or reason not in GRADED_ENDINGS):
        add_issue(item, "no reward is recorded")
    if basis is None and reward is None and not isinstance(reason, str):
        item.rule_note = "neither a reward nor a termination reason is recorded"
        add_issue(item, item.rule_note)
        return
    if basis is None:
        note = as_object(recorded.get("info")).get("note")
        text = f"ended with {reason}; nothing was checked"
        set_reward_verdicts(item, reward, None, str(reason), f"{text}: {note}" if isinstance(note, str) else text)
        return
    expected = [text for text in as_list((criteria or {}).get("communicate_info")) if isinstance(text, str)]
    texts = find_spoken_texts(
        expected, [each.content for each in messages or () if each.role == "assistant" and each.content]
    )
    official = _official_parts(recorded, basis)
    recomputed = Parts(
        dict(official.values),
        [text for text, found in texts.items() if not found],
        official.unmet_assertions,
        [action.name for action, matched in zip(actions, matches, strict=True) if not matched],
    )
    own = _recompute(item, criteria, None if messages is None else (all(matches), all(texts.values())))
    recomputed.values |= {part: value for part, value in own.items() if part in basis}
    set_reward_verdicts(item, reward, (official, recomputed))
    if item.golden_hash:  # The task is in the file.
        _report_contradictions(item, recorded, list(texts), [action.name for action in actions], official.reward)
    _add_uncounted_checks(item, recorded, basis, own)
    _add_action_checks(item, recorded, actions, addresses, matches)
    _add_nl_assertions(item, recorded)


def _report_contradictions(
    item: Item, recorded: dict[str, Any], texts: list[str], actions: list[str], product: float | None
) -> None:
    """Add an issue if the recorded checks differ from the task's, or the recorded reward from the parts' product."""
    if OWN_FIELD in as_object(recorded.get("info")):
        return  # fcreview exported this file, and reviews may contradict the checks.
    checked = {str(each["info"]) for each in list_objects(recorded.get("communicate_checks")) if "info" in each}
    checked_actions, reward = _checked_actions(recorded), read_number(recorded.get("reward"))
    if checked and checked != set(texts):
        add_issue(item, "the recorded communicate checks expect different texts from those in the task")
    if checked_actions and checked_actions != actions:
        add_issue(item, "the recorded action checks list different actions from those in the task")
    if product is not None and reward is not None and abs(product - reward) > SUCCESS_TOLERANCE:
        add_issue(item, f"the product of the recorded parts is {product:g}, but the recorded reward is {reward:g}")


def _checked_actions(recorded: JsonObject) -> list[str | None]:
    return [as_object(check.get("action")).get("name") for check in list_objects(recorded.get("action_checks"))]


def _recompute(item: Item, criteria: dict[str, Any] | None, met: tuple[bool, bool] | None) -> dict[str, float | None]:
    """Return the recomputed values of ACTION and COMMUNICATE; None for a value that the file does not determine.

    `met` is (all golden actions were made, all texts were said); None if the conversation cannot be read.
    """
    if criteria is None:
        return {}
    own: dict[str, float | None] = {}
    for at, (part, name, kind) in enumerate((("ACTION", "actions", dict), ("COMMUNICATE", "communicate_info", str))):
        golden = criteria.get(name)
        is_valid = golden is None or (isinstance(golden, list) and all(isinstance(each, kind) for each in golden))
        if not is_valid:
            kinds = "objects" if kind is dict else "texts"
            add_issue(item, f"{name} of the task is not a list of {kinds}, so {part} is unknown")
        own[part] = float(met[at]) if is_valid and met is not None else None
    return own


def _pair_addresses(item: Item, positions: Sequence[int]) -> list[str]:
    """Return the address of each action's call pair. `positions` are the indices of the pairs in `item.pairs`."""
    first_of_turn: dict[int, int] = {}
    for at, pair in enumerate(item.pairs):
        first_of_turn.setdefault(pair.turn, at)
    return [call_address(item.pairs[at].turn, at - first_of_turn[item.pairs[at].turn]) for at in positions]


def _counted_parts(recorded: dict[str, Any], criteria: dict[str, Any] | None, reason: Any) -> list[str] | None:
    """Return the parts that count for the reward, or None for a conversation that ended without any check."""
    for name in ("reward_breakdown", "reward_basis"):
        value = recorded.get(name)
        if isinstance(value, (dict, list)) and value:
            return [str(part) for part in value]
    if reason not in GRADED_ENDINGS:
        return None
    return [] if criteria is None else read_reward_basis(criteria)


def read_reward_basis(criteria: JsonObject) -> list[str]:
    basis = criteria.get("reward_basis")
    return [str(part) for part in basis] if isinstance(basis, list) else DEFAULT_BASIS


def _official_parts(recorded: dict[str, Any], basis: Sequence[str]) -> Parts:
    breakdown = as_object(recorded.get("reward_breakdown"))
    parts = Parts()
    for part in basis:
        value = read_part_value(breakdown.get(part))
        parts.values[part] = value if value is not None else _recorded_part(recorded, part)
    parts.missing_texts = [str(each.get("info")) for each in _list_failed_checks(recorded.get("communicate_checks"))]
    failed_actions = _list_failed_checks(recorded.get("action_checks"), "action_match")
    parts.missing_actions = [
        str(each["action"].get("name")) for each in failed_actions if isinstance(each.get("action"), dict)
    ]
    parts.unmet_assertions = [
        str(each.get("nl_assertion")) for each in _list_failed_checks(recorded.get("nl_assertions"))
    ]
    env_assertions = _list_failed_checks(recorded.get("env_assertions"))
    parts.unmet_assertions += [_describe_env_assertion(each.get("env_assertion")) for each in env_assertions]
    return parts


def _list_failed_checks(checks: Any, field: str = "met") -> list[JsonObject]:
    return [each for each in list_objects(checks) if not each.get(field)]


def _describe_env_assertion(assertion: Any) -> str:
    if not isinstance(assertion, dict):
        return "an assertion on the environment"
    if message := assertion.get("message"):
        return str(message)
    shown = ", ".join(f"{name}={value!r}" for name, value in as_object(assertion.get("arguments")).items())
    return f"{assertion.get('func_name')}({shown}) is {assertion.get('assert_value')}"


def _recorded_part(recorded: dict[str, Any], part: str) -> float | None:
    if part == "DB":
        check = recorded.get("db_check")
        if not isinstance(check, dict):
            return None
        value, matches = read_part_value(check.get("db_reward")), check.get("db_match")
        return value if value is not None else float(matches) if isinstance(matches, bool) else None
    if part == "ENV_ASSERTION":
        rewards = [read_part_value(each.get("reward")) for each in list_objects(recorded.get("env_assertions"))]
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
    item: Item, recorded: dict[str, Any], basis: Sequence[str], own: Mapping[str, float | None]
) -> None:
    """Add the recorded checks that do not count for the reward. `own` are the recomputed values of parts."""
    for part in PARTS:
        value = _recorded_part(recorded, part)
        if part not in basis and value is not None:
            by = "does not count for the reward"
            item.verdicts.append(Verdict("official", to_verdict(value), ITEM, part.lower(), by=by))
            if (recomputed := own.get(part, value)) is not None:
                item.verdicts.append(Verdict("rule", to_verdict(recomputed), ITEM, part.lower(), by=by))


def _add_action_checks(
    item: Item, recorded: JsonObject, actions: list[GoldenAction], addresses: list[str], matches: list[bool]
) -> None:
    checks = list_objects(recorded.get("action_checks"))
    has_checks = _checked_actions(recorded) == [action.name for action in actions]
    listed = []
    for at, (address, matched) in enumerate(zip(addresses, matches, strict=True)):
        check = checks[at] if has_checks else {}
        if isinstance(check.get("action_match"), bool):
            item.verdicts.append(Verdict("official", check["action_match"], address, "action", by="action_checks"))
        rationale = None if matched else "no call has this name and these arguments"
        item.verdicts.append(Verdict("rule", matched, address, "action", rationale=rationale, by="tau2-bench rules"))
        kind = check.get("tool_type")
        listed.append([address, "action", matched, kind if isinstance(kind, str) else None])
    if listed:
        item.extra.metadata.setdefault(REWARD_CHECKS, {})["ACTION"] = listed


def _add_nl_assertions(item: Item, recorded: dict[str, Any]) -> None:
    listed = []
    for number, check in enumerate(list_objects(recorded.get("nl_assertions")), 1):
        met, criterion = check.get("met"), NL_CRITERION.format(number)
        rationale = f'"{check.get("nl_assertion")}" {check.get("justification") or ""}'.rstrip()
        value = met if isinstance(met, bool) else None
        item.verdicts.append(Verdict("judge", value, ITEM, criterion, None, rationale, "NL assertions"))
        listed.append([ITEM, criterion, value, None])
    if listed:
        item.extra.metadata.setdefault(REWARD_CHECKS, {})["NL_ASSERTION"] = listed

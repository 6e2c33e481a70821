"""Determine the verdicts of a tau2-bench simulation from its recorded checks and its messages.

ACTION and COMMUNICATE are recomputed by the rules of tau2-bench (`evaluator_action.py`, `evaluator_communicate.py`).
DB, ENV_ASSERTION and NL_ASSERTION need the simulator or a language model and are taken as recorded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fcreview.importers.common.records import add_issue, as_list, as_object, list_objects
from fcreview.importers.tau.conversation import ConversationMessage
from fcreview.importers.tau.notes import OWN_FIELD
from fcreview.importers.tau.pairing import GoldenAction, pair_actions
from fcreview.importers.tau.reward import (
    PARTS,
    SUCCESS_TOLERANCE,
    Parts,
    read_number,
    read_part_value,
    record_reward,
    to_verdict,
)
from fcreview.model.address import ITEM, call_address
from fcreview.model.item import Item, Verdict
from fcreview.model.verdict import REWARD_CHECKS

JsonObject = dict[str, Any]
GRADED_ENDINGS = ("user_stop", "agent_stop")
"""Termination reasons after which a simulation is graded."""
INFRASTRUCTURE_ERROR = "infrastructure_error"
"""Termination reason of a simulation that was not run. No metric counts the simulation."""
DEFAULT_BASIS = ["DB", "COMMUNICATE"]
"""`reward_basis` of a task without this field."""
NL_CRITERION = "nl_assertion_{}"
"""Criterion of the verdict on one natural-language assertion, counted from 1."""


def read_actions(criteria: dict[str, Any]) -> list[GoldenAction]:
    actions = []
    for action in list_objects(criteria.get("actions")):
        arguments, names = action.get("arguments"), action.get("compare_args")
        arguments = arguments if isinstance(arguments, dict) else None
        compared = [str(name) for name in names] if isinstance(names, list) else None
        actions.append(GoldenAction(str(action.get("name")), arguments, compared))
    return actions


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
        record_reward(item, reward, None, str(reason), f"{text}: {note}" if isinstance(note, str) else text)
        return
    texts = _find_texts(_read_texts(criteria), messages or ())
    official = _official_parts(recorded, basis)
    recomputed = Parts(
        dict(official.values),
        [text for text, found in texts.items() if not found],
        official.unmet_assertions,
        [action.name for action, matched in zip(actions, matches, strict=True) if not matched],
    )
    own = _recompute(item, criteria, None if messages is None else (all(matches), all(texts.values())))
    recomputed.values |= {part: value for part, value in own.items() if part in basis}
    record_reward(item, reward, (official, recomputed))
    if item.golden_hash:  # The task is in the file.
        _report_contradictions(item, recorded, list(texts), [action.name for action in actions], official.reward)
    _add_uncounted(item, recorded, basis, own)
    _add_action_checks(item, recorded, actions, addresses, matches)
    _add_nl_assertions(item, recorded)


def _report_contradictions(
    item: Item, recorded: dict[str, Any], texts: list[str], actions: list[str], product: float | None
) -> None:
    """Add an issue if the recorded checks differ from the task's, or the recorded reward from the parts' product."""
    checked = [each["info"] for each in list_objects(recorded.get("communicate_checks")) if "info" in each]
    checked_actions = _checked_actions(recorded)
    reward = read_number(recorded.get("reward"))
    if OWN_FIELD in as_object(recorded.get("info")):
        return  # fcreview exported this file, and reviews may contradict the checks.
    if checked and set(map(str, checked)) != set(texts):
        add_issue(item, "the recorded communicate checks expect different texts from those in the task")
    if checked_actions and checked_actions != actions:
        add_issue(item, "the recorded action checks list different actions from those in the task")
    if product is not None and reward is not None and abs(product - reward) > SUCCESS_TOLERANCE:
        add_issue(item, f"the product of the recorded parts is {product:g}, but the recorded reward is {reward:g}")


def _checked_actions(recorded: dict[str, Any]) -> list[str | None]:
    checks = list_objects(recorded.get("action_checks"))
    return [check["action"].get("name") if isinstance(check.get("action"), dict) else None for check in checks]


def _recompute(item: Item, criteria: dict[str, Any] | None, met: tuple[bool, bool] | None) -> dict[str, float | None]:
    """Return the recomputed values of ACTION and COMMUNICATE; None for a value that the file does not determine.

    `met`: (all golden actions were made, all texts were said); None if the conversation cannot be read.
    """
    if criteria is None:
        return {}
    own: dict[str, float | None] = {"ACTION": None, "COMMUNICATE": None}
    for at, (part, name, kind) in enumerate((("ACTION", "actions", dict), ("COMMUNICATE", "communicate_info", str))):
        golden = criteria.get(name)
        if golden is not None and not (isinstance(golden, list) and all(isinstance(each, kind) for each in golden)):
            kinds = "objects" if kind is dict else "texts"
            add_issue(item, f"{name} of the task is not a list of {kinds}, so {part} is unknown")
        elif met is not None:
            own[part] = float(met[at])
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
    if criteria is None:
        return []
    basis = criteria.get("reward_basis")
    return [str(part) for part in basis] if isinstance(basis, list) else DEFAULT_BASIS


def _official_parts(recorded: dict[str, Any], basis: Sequence[str]) -> Parts:
    breakdown = as_object(recorded.get("reward_breakdown"))
    parts = Parts()
    for part in basis:
        value = read_part_value(breakdown.get(part))
        parts.values[part] = value if value is not None else _recorded_part(recorded, part)
    parts.missing_texts = [str(each.get("info")) for each in _failed(recorded.get("communicate_checks"))]
    parts.missing_actions = [
        str(each["action"].get("name"))
        for each in list_objects(recorded.get("action_checks"))
        if not each.get("action_match") and isinstance(each.get("action"), dict)
    ]
    parts.unmet_assertions = [str(each.get("nl_assertion")) for each in _failed(recorded.get("nl_assertions"))]
    env_assertions = _failed(recorded.get("env_assertions"))
    parts.unmet_assertions += [_describe_env_assertion(each.get("env_assertion")) for each in env_assertions]
    return parts


def _failed(checks: Any) -> list[dict[str, Any]]:
    return [each for each in list_objects(checks) if not each.get("met")]


def _describe_env_assertion(assertion: Any) -> str:
    if not isinstance(assertion, dict):
        return "an assertion on the environment"
    if message := assertion.get("message"):
        return str(message)
    shown = ", ".join(f"{name}={value!r}" for name, value in as_object(assertion.get("arguments")).items())
    return f"{assertion.get('func_name')}({shown}) is {assertion.get('assert_value')}"


def _recorded_part(recorded: dict[str, Any], part: str) -> float | None:
    """Compute the value of a reward part from its recorded checks. None without recorded checks."""
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


def _read_texts(criteria: dict[str, Any] | None) -> list[str]:
    return [text for text in as_list((criteria or {}).get("communicate_info")) if isinstance(text, str)]


def _find_texts(texts: Sequence[str], messages: Sequence[ConversationMessage]) -> dict[str, bool]:
    """Return {text: whether the agent said it}. As officially, commas are removed from the messages only."""
    replies = [each.content.lower().replace(",", "") for each in messages if each.role == "assistant" and each.content]
    return {text: any(text.lower() in message for message in replies) for text in texts}


def _add_uncounted(item: Item, recorded: dict[str, Any], basis: Sequence[str], own: Mapping[str, float | None]) -> None:
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
    """Add a verdict on each golden action. It is true if a call of the conversation matches the action."""
    checks = list_objects(recorded.get("action_checks"))
    has_checks = _checked_actions(recorded) == [action.name for action in actions]
    listed = []
    for at, (address, matched) in enumerate(zip(addresses, matches, strict=True)):
        kind = None
        if has_checks:
            kind = checks[at].get("tool_type")
            value = checks[at].get("action_match")
            if isinstance(value, bool):
                item.verdicts.append(Verdict("official", value, address, "action", by="action_checks"))
        rationale = None if matched else "no call has this name and these arguments"
        item.verdicts.append(Verdict("rule", matched, address, "action", rationale=rationale, by="tau2-bench rules"))
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

"""Compute the reward of a simulation, which is the product of the parts that count, and the verdicts from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.records import is_number
from fcreview.matching.decisive_step import add_decisive_step
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.item import Item, SourceName, Verdict
from fcreview.model.verdict import REWARD_PARTS

PARTS = ("DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION")
ERROR_TYPES = {
    "DB": "db_mismatch", "ENV_ASSERTION": "env_assertion_failed", "ACTION": "action_not_made",
    "COMMUNICATE": "not_communicated", "NL_ASSERTION": "nl_assertion_failed",
}  # fmt: skip
"""Part -> error type of an item that fails because of the part. Several error types are joined with ` + `."""
SUCCESS_TOLERANCE = 1e-6
"""Maximum difference between 1 and the reward of a success, as in the official metric code of tau2-bench."""


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
    """Return the value of a part, which is a number from 0 to 1, or None for any other value."""
    number = read_number(value)
    return number if number is not None and 0 <= number <= 1 else None


def to_verdict(value: float) -> bool | float:
    """Return the verdict for the value of a part: True for 1, False for 0, else the number itself."""
    return bool(value) if value in (0, 1) else value


@dataclass(slots=True)
class Parts:
    """Values of the parts that count for the reward, from one source, with the causes of failing parts."""

    values: dict[str, float | None] = field(default_factory=dict)
    """Part -> value from 0 to 1; None if it is not known."""
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

    def explain(self, *, has_actions: bool) -> str:
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
            return "final database differs from the expected one"
        if part == "COMMUNICATE":
            texts = _quote(self.missing_texts)
            return f"agent never said {texts}" if texts else "an expected text was not said"
        if part == "ACTION":
            names = ", ".join(dict.fromkeys(self.missing_actions))
            return f"no call matches the golden action {names}" if names else "a golden action was not made"
        return f"not met: {_quote(self.unmet_assertions)}" if self.unmet_assertions else f"{part} failed"


def _quote(texts: Sequence[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def record_reward(
    item: Item, reward: float | None, parts: tuple[Parts, Parts] | None, ended: str = "", reason: str | None = None
) -> None:
    """Set the official and the recomputed verdicts of an item.

    Args:
        item: the item, with its call pairs.
        reward: the recorded reward.
        parts: (recorded parts, recomputed parts); None if nothing was checked.
        ended: error type of a conversation that ended without any check.
        reason: rationale of `ended`.
    """
    item.official = None if reward is None else is_success(reward)
    official, recomputed = parts or (Parts(), Parts())
    if parts is None:
        item.rule, item.rule_error_type = False, ended
        item.error_type = ended if item.official is False else None
        item.first_difference = reason
        _add_source(item, "official", reward, official, reason)
        _add_source(item, "rule", 0.0, recomputed, reason)
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
    explanation = official.explain(has_actions=has_actions) if official.values else None
    _add_source(item, "official", reward, official, explanation)
    _add_source(item, "rule", value, recomputed, recomputed.explain(has_actions=has_actions))
    if item.rule is False or (item.rule is None and item.official is False):
        _set_first_difference(item, recomputed if recomputed.failing else official)
    add_decisive_step(item, recomputed.missing_texts or official.missing_texts)


def _add_source(item: Item, source: SourceName, reward: float | None, parts: Parts, rationale: str | None) -> None:
    value = item.official if source == "official" else item.rule
    error_type = item.error_type if source == "official" else item.rule_error_type
    by = "reward" if source == "official" else "product of the parts"
    item.verdicts.append(Verdict(source, value, error_type=error_type, rationale=rationale, by=by))
    if reward is not None:
        item.verdicts.append(Verdict(source, reward, criterion="reward", by=by))
    for part, number in parts.values.items():
        if number is not None:
            reason, error = (parts.explain_part(part), ERROR_TYPES.get(part)) if part in parts.failing else (None, None)
            verdict = Verdict(source, to_verdict(number), "item", part.lower(), error, reason, "reward_info")
            item.verdicts.append(verdict)


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

"""Rewards of rollouts: numbers of any range, which are verdicts only from a threshold."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.records import add_issue, is_number
from fcreview.model.address import ITEM
from fcreview.model.derivation import PASSING_REWARD_KEY
from fcreview.model.item import Item, RunFact, Verdict
from fcreview.model.json_value import to_json_text
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import TOTAL_REWARD

ITEM_REWARD = (ITEM, TOTAL_REWARD)
MAX_SHOWN_REWARD_LENGTH = 60
MAX_LISTED_THRESHOLDS = 5
_THRESHOLD = re.compile(r"reward>=(-?[0-9.]{1,20}(?:e[+-]?[0-9]{1,3})?)")


def read_reward(value: Any) -> float | None:
    """Return a finite number, and None for any other value."""
    if not is_number(value) or not math.isfinite(value):
        return None
    return float(value)


def format_threshold(reward: float) -> str:
    """Return a value of --verdict-from: `reward>=0.5`."""
    shortest = repr(reward).removesuffix(".0")
    return f"reward>={shortest}"


def parse_threshold(text: str) -> float | None:
    """Return the number in a condition such as `reward>=0.5`, or None for another text."""
    match = _THRESHOLD.fullmatch(text)
    if match is None:
        return None
    try:
        return float(match[1])
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class PassRule:
    """Rewards from which a rollout passes."""

    threshold: float | None
    """None if rewards are no verdicts."""
    reason: str
    is_chosen: bool = False
    """Whether the user chose the threshold."""

    def make_fact(self) -> RunFact:
        """Return what `fcreview check` and the import summary say about the verdicts."""
        name = None if self.threshold is None else format_threshold(self.threshold)
        return RunFact("verdict_from", name, self.reason, is_notable=self.threshold is None)


def choose_pass_rule(
    chosen: str, thresholds: list[str], *, are_verdicts: bool, default_threshold: float = 1.0
) -> PassRule:
    """Return the rule of a run.

    Args:
        chosen: value of --verdict-from, or empty.
        thresholds: values that --verdict-from accepts.
        are_verdicts: whether the rewards are verdicts by themselves.
        default_threshold: reward from which a rollout passes if they are.
    """
    threshold = parse_threshold(chosen)
    if threshold is not None:
        return PassRule(threshold, "chosen with --verdict-from", is_chosen=True)
    if are_verdicts:
        return PassRule(default_threshold, "every reward is 0 or 1")
    listed = ", ".join(thresholds[:MAX_LISTED_THRESHOLDS])
    reason = "no verdicts: the rewards are not only 0 and 1"
    if listed:
        reason = f"{reason}; choose one of {listed} with --verdict-from"
    return PassRule(None, reason)


def add_reward_verdicts(item: Item, written: Any, rule: PassRule, *, by: str) -> None:
    """Add the reward of an item as a score and, if the rule says which rewards pass, as a verdict.

    Args:
        item: The item.
        written: The reward in the file. Null means that it was not computed. Any other value than a
            number gives an issue.
        rule: The lowest reward that passes, or none if the rewards are no verdicts.
        by: The program that computed the reward.
    """
    reward = read_reward(written)
    if reward is None:
        if written is not None:
            shown = to_json_text(written)[:MAX_SHOWN_REWARD_LENGTH]
            add_issue(item, f"the reward is {shown}, which is not a finite number")
        return

    item.verdicts.append(Verdict("official", reward, criterion=TOTAL_REWARD, by=by))
    if rule.threshold is None:
        return
    item.official = reward >= rule.threshold
    item.verdicts.append(Verdict("official", item.official, by=by))
    item.extra.metadata[PASSING_REWARD_KEY] = rule.threshold


def get_reviewed_reward(item: ScoredItem) -> float | None:
    """Return the reward that annotators set, or 1 or 0 for a verdict where every reward of the run
    is 0 or 1.
    """
    reward: Any = item.overrides.get(ITEM_REWARD)
    if is_number(reward):
        return float(reward)
    verdict = item.overrides.get(ITEM_CORRECT)
    if isinstance(verdict, bool) and item.metadata.get(PASSING_REWARD_KEY) == 1:
        return float(verdict)
    return None

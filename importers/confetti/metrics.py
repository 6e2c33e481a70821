"""CONFETTI's figures over call records and dialog-act records.

Source: the paper's metrics section (ACL 2025): soft accuracy per call, chain product per agent turn, parameter
validity over calls whose name is the golden one, dialog-act accuracy as at least one label in common.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import prod

LABELS = (
    "agent_function_calling",
    "agent_inform_user",
    "agent_seek_information",
    "agent_reject_request",
    "agent_other",
)


def chain_scores(records: Iterable[tuple[str, float]]) -> dict[str, float]:
    """(turn, soft score of a call) -> product a turn."""
    turns: dict[str, list[float]] = defaultdict(list)
    for turn, score in records:
        turns[turn].append(score)
    return {turn: prod(scores) for turn, scores in turns.items()}


def length_group(length: int) -> str:
    return str(length) if length < 4 else "4+"


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def by_group(values: Iterable[tuple[str, float]]) -> dict[str, dict[str, float]]:
    """`{group: {"turns": n, "score": mean}}`"""
    groups: dict[str, list[float]] = defaultdict(list)
    for group, value in values:
        groups[group].append(value)
    return {group: {"turns": len(scores), "score": mean(scores)} for group, scores in sorted(groups.items())}


def parameter_validity(actions: Iterable[tuple[Sequence[str], Sequence[str]]]) -> tuple[int, int]:
    """(valid, judged) over (predicted parameter names, flagged names) of calls whose name is the golden one."""
    valid = judged = 0
    for names, flagged in actions:
        judged += len(names)
        valid += sum(name not in flagged for name in names)
    return valid, judged


def acts_match(predicted: Iterable[str], golden: Iterable[str]) -> bool:
    """At least one label in common."""
    return bool(set(predicted) & set(golden))


def act_confusion(pairs: Iterable[tuple[Iterable[str], Iterable[str]]]) -> Mapping[str, dict[str, int]]:
    """label -> {both, only_golden, only_predicted} over (predicted, golden) label sets."""
    table = {label: {"both": 0, "only_golden": 0, "only_predicted": 0} for label in LABELS}
    for predicted, golden in pairs:
        ours, theirs = set(predicted), set(golden)
        for label in ours | theirs:
            cell = "both" if label in ours & theirs else "only_golden" if label in theirs else "only_predicted"
            table.setdefault(label, {"both": 0, "only_golden": 0, "only_predicted": 0})[cell] += 1
    return table

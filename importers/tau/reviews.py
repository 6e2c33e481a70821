"""Read the reviews by a language model in tau2-bench files as judge verdicts on the item and its turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fcreview.importers.tau.conversation import list_objects
from fcreview.model.address import ITEM, turn_address
from fcreview.model.item import Item, Verdict

FAULTS = {"agent": "model", "user": "simulator"}
"""Source of an error in the file -> fault in fcreview."""
ITEM_FLAGS = ("agent_error", "user_error", "critical_user_error")
REVIEWS = {"review": "review", "user_only_review": "review of the user"}
"""Field of a simulation -> name of the judge."""


def add_reviews(item: Item, simulation: Mapping[str, Any], turn_of: Mapping[str, Mapping[int, int]]) -> None:
    """Add the verdicts of the reviews of a simulation.

    `turn_of` maps `turn_idx` and `tick` numbers to turns, from 0.
    """
    counts: dict[str, int] = {}
    for name, judge in REVIEWS.items():
        review = simulation.get(name)
        if not isinstance(review, dict):
            continue
        summary = review.get("summary")
        for flag in ITEM_FLAGS:
            if isinstance(review.get(flag), bool):
                rationale, summary = summary if isinstance(summary, str) else None, None
                item.verdicts.append(Verdict("judge", review[flag], ITEM, flag, rationale=rationale, by=judge))
        errors = list_objects(review.get("errors"))
        _add_errors(item, errors, judge, turn_of)
        for error in errors:
            kind = f"{error.get('source') or 'unknown'} {error.get('severity') or 'unknown'}"
            counts[kind] = counts.get(kind, 0) + 1
    if counts:
        item.extra.metadata["errors found by the review"] = counts


def _add_errors(item: Item, errors: list[dict[str, Any]], judge: str, turn_of: Mapping[str, Mapping[int, int]]) -> None:
    by_place: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for error in errors:
        criterion = "user_error" if error.get("source") == "user" else "agent_error"
        by_place.setdefault((_find_target(error, turn_of), criterion), []).append(error)
    for (target, criterion), found in by_place.items():
        if target == ITEM and any(v.criterion == criterion and v.by == judge for v in item.verdicts):
            criterion = f"{criterion}_without_turn"
        kinds = list(dict.fromkeys(str(each.get("error_type") or "error") for each in found))
        rationale = "\n".join(map(_describe_error, found))
        item.verdicts.append(Verdict("judge", True, target, criterion, " + ".join(kinds), rationale, judge))


def _find_target(error: dict[str, Any], turn_of: Mapping[str, Mapping[int, int]]) -> str:
    for name, kind in (("turn_idx", "turn_idx"), ("tick_start", "tick")):
        at = error.get(name)
        turn = turn_of[kind].get(at) if isinstance(at, int) else None
        if turn is not None:
            return turn_address(turn)
    return ITEM


def _describe_error(error: dict[str, Any]) -> str:
    parts = [f"fault: {FAULTS.get(str(error.get('source')), 'unknown')}"]
    tags = error.get("error_tags")
    if isinstance(tags, list) and tags:
        parts.append(", ".join(map(str, tags)))
    for name, label in (("severity", ""), ("reasoning", ""), ("correct_behavior", "correct: ")):
        if isinstance(error.get(name), str) and error[name]:
            parts.append(label + error[name])
    return " · ".join(parts)

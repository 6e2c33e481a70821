"""Compute CONFETTI's metrics.

Source: the paper's metrics section (ACL 2025). Soft accuracy per call is the mean of the soft scores. In soft accuracy
per turn, the score of an agent turn is the product of the scores of its calls. Parameter validity covers the calls of
the golden function. In dialog act accuracy, a turn is correct if at least one predicted label is golden.

The table shows the effects of an override. An override on an item or call takes precedence over overrides on its parts.

| override | changes |
|---|---|
| `correct` of a call item or its parts | binary accuracy |
| `soft_score` of a call item | soft accuracy per call and per turn |
| `soft_score` of an argument | the score of the call is recomputed, with the same effects |
| `hallucinated` of an argument, or the list of names for the item | parameter validity |
| `name_matches` of a call | whether its arguments count in parameter validity |
| `dialog_act` of the response | dialog act accuracy, labels, confusion |
| `correct` of a dialog act item | dialog act accuracy |

A human verdict on an item or argument takes precedence over a verdict that follows from another verdict. Values on
which annotators disagree keep the automatic verdict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fcreview.importers.confetti import checker
from fcreview.importers.confetti.checker import FIXED_SCORE_REASON, compute_soft_score
from fcreview.importers.confetti.discovery import ACTS_CATEGORY, CALLS_CATEGORY
from fcreview.model.address import ITEM, get_enclosing_call_address, parse_address
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, cached_on_item, get_chain_id, pass_rate

SOFT_SCORE_CRITERION = "soft_score"
HALLUCINATED_CRITERION = "hallucinated"


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    call_items = [item for item in items if item.category == CALLS_CATEGORY]
    act_items = [item for item in items if item.category == ACTS_CATEGORY]
    metrics = [Metric("function calling", "binary accuracy", pass_rate(call_items))] if call_items else []
    scores = [(item, get_soft_score(item)) for item in call_items]
    soft_scores = [score for _, score in scores if score is not None]
    if soft_scores:
        metrics.append(Metric("function calling", "soft accuracy, per call", mean_or_zero(soft_scores)))
        metrics += _compute_chain_metrics(scores)
    metrics += _compute_validity_metrics(call_items)
    return metrics + (checker.compute_act_metrics(act_items) if act_items else [])


@cached_on_item
def get_soft_score(item: ScoredItem) -> float | None:
    """Return the effective soft score of a call item, or None without one.

    It is the reviewed score or, without one, follows from overridden arguments. Otherwise, it is the recorded score.
    """
    value = item.values.get(SOFT_SCORE_CRITERION)
    if not isinstance(value, (int, float)):
        return None
    is_overridden = any(criterion == SOFT_SCORE_CRITERION for _, criterion in item.overrides)
    if not is_overridden or item.is_target_reviewed(ITEM, SOFT_SCORE_CRITERION) or FIXED_SCORE_REASON in item.metadata:
        return float(value)
    scores = {target: score for target, criterion, score in item.part_verdicts if criterion == SOFT_SCORE_CRITERION}
    is_complete = all(isinstance(score, (int, float)) for score in scores.values())
    return compute_soft_score(True, scores) if is_complete else None


def _compute_chain_metrics(item_scores: Sequence[tuple[ScoredItem, float | None]]) -> list[Metric]:
    scores_by_turn = [(turn, item, score) for item, score in item_scores if (turn := get_chain_id(item)) is not None]
    items_by_turn = {turn: item for turn, item, _ in scores_by_turn}
    products: dict[str, float] = {}
    for turn, _, score in scores_by_turn:
        if score is not None:
            products[turn] = products.get(turn, 1.0) * score
    if not products:
        return []
    metrics = [
        Metric("function calling", "soft accuracy, chain product per turn", mean_or_zero(list(products.values())))
    ]
    tables: dict[str, Callable[[ScoredItem], str]] = {
        "by chain length": lambda item: str(length) if (length := item.metadata["chain"]["length"]) < 4 else "4+",
        "by functions offered": lambda item: _choose_bucket_name(item.n_functions, (9, 19), ("1-9", "10-19", "20+")),
        "by user turns": lambda item: _choose_bucket_name(item.n_turns, (5, 10), ("1-5", "6-10", "11+")),
    }
    for table, group_name in tables.items():
        groups: defaultdict[str, list[float]] = defaultdict(list)
        for turn, product in products.items():
            groups[group_name(items_by_turn[turn])].append(product)
        metrics += [
            Metric(table, name, mean_or_zero(part), note=f"{len(part)} turns") for name, part in sorted(groups.items())
        ]
    return metrics


def _choose_bucket_name(value: int, limits: tuple[int, int], names: tuple[str, str, str]) -> str:
    return names[0] if value <= limits[0] else names[1] if value <= limits[1] else names[2]


def _compute_validity_metrics(call_items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the share of arguments that the judge did not flag. Only predicted calls of the golden function count."""
    counts = [_count_valid_arguments(item) for item in call_items]
    n_valid, n_judged = sum(count.valid for count in counts), sum(count.judged for count in counts)
    if not n_judged:
        return []
    note = f"share of {n_judged} arguments that the judge checked"
    return [Metric("parameter validity", "valid parameters", n_valid / n_judged, note=note)]


class ArgumentCounts(NamedTuple):
    """Numbers of arguments in the predicted calls of the golden function."""

    valid: int
    """Number of arguments that the judge did not flag."""
    judged: int


@cached_on_item
def _count_valid_arguments(item: ScoredItem) -> ArgumentCounts:
    flags = get_hallucination_flags(item)
    named_calls = {target for target, criterion, value in item.part_verdicts if criterion == "name_matches" and value}
    judged = [flag for target, flag in flags.items() if get_enclosing_call_address(target) in named_calls]
    return ArgumentCounts(sum(not flag for flag in judged), len(judged))


def get_hallucination_flags(item: ScoredItem) -> dict[str, Any]:
    """Return whether each argument is hallucinated, by address. An override of the item's list covers all its calls."""
    flags = {target: value for target, criterion, value in item.part_verdicts if criterion == HALLUCINATED_CRITERION}
    names = item.overrides.get((ITEM, HALLUCINATED_CRITERION))
    if isinstance(names, list):
        for target in flags:
            address = parse_address(target)
            if address is not None and not item.is_target_reviewed(target, HALLUCINATED_CRITERION):
                flags[target] = address.argument in names
    return flags


def mean_or_zero(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0

"""CONFETTI's figures from scored call and dialog-act records.

Source: the paper's metrics section (ACL 2025): soft accuracy per call, chain product per agent turn, parameter
validity over calls whose name is the golden one, dialog-act accuracy as at least one label in common.

What follows from a verdict that overrules the automatic one; one on the whole counts before one on its parts:

| said of | moves |
|---|---|
| `correct`, a call record (its parts roll up) | binary accuracy |
| `soft_score`, a call record | soft accuracy per call, the product of its chain |
| `soft_score`, an argument | the call's score is computed again, and as above |
| `hallucinated`, an argument, or the record's list of names | parameter validity |
| `name_matches`, a call | whether its arguments count in parameter validity |
| `dialog_act`, the response | whether labels match: accuracy; labels, confusion |
| `correct`, a dialog-act record | dialog act accuracy |

What people differ on is left out; with a soft score, its chain too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

from fcreview.importers.confetti import checker
from fcreview.importers.confetti.checker import FIXED_SCORE_KEY, compute_soft_score
from fcreview.importers.confetti.discovery import ACTS_CATEGORY, CALLS_CATEGORY
from fcreview.model.address import ITEM, enclosing_call, parse_address
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, chain_id, cached_on_item, pass_rate

SOFT_SCORE_CRITERION = "soft_score"
HALLUCINATED_CRITERION = "hallucinated"


def compute_metrics(rows: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    calls = [row for row in rows if row.category == CALLS_CATEGORY]
    replies = [row for row in rows if row.category == ACTS_CATEGORY]
    found = [Metric("function calling", "binary accuracy", pass_rate(calls))] if calls else []
    scores = [(row, get_soft_score(row)) for row in calls]
    known = [score for _, score in scores if score is not None]
    if known:
        found.append(Metric("function calling", "soft accuracy, per call", mean(known)))
        found += _chain_metrics(scores)
    found += _validity_metrics(calls)
    return found + (checker.compute_act_metrics(replies) if replies else [])


@cached_on_item
def get_soft_score(row: ScoredItem) -> float | None:
    """As recorded, or as people say, or computed again from the arguments that people gave another score."""
    value = row.values.get(SOFT_SCORE_CRITERION)
    if not isinstance(value, (int, float)):
        return None
    said = [target for target, criterion in row.overrides if criterion == SOFT_SCORE_CRITERION and target != ITEM]
    if not said or (ITEM, SOFT_SCORE_CRITERION) in row.overrides or FIXED_SCORE_KEY in row.metadata:
        return float(value)
    scores = {target: score for target, criterion, score in row.part_verdicts if criterion == SOFT_SCORE_CRITERION}
    if not all(isinstance(score, (int, float)) for score in scores.values()):
        return None
    return compute_soft_score(True, scores)


def _chain_metrics(scores: Sequence[tuple[ScoredItem, float | None]]) -> list[Metric]:
    linked = [(turn, row, score) for row, score in scores if (turn := chain_id(row)) is not None]
    turns = {turn: row for turn, row, _ in linked}
    open_ones = {turn for turn, row, score in linked if score is None and (ITEM, SOFT_SCORE_CRITERION) in row.overrides}
    known = [(turn, score) for turn, _, score in linked if score is not None]
    products = multiply_chains((turn, score) for turn, score in known if turn not in open_ones)
    if not products:
        return []
    found = [Metric("function calling", "soft accuracy, chain product per turn", mean(list(products.values())))]
    tables: dict[str, Callable[[ScoredItem], str]] = {
        "by chain length": lambda row: chain_length_group(row.metadata["chain"]["length"]),
        "by functions offered": lambda row: _bucket_name(row.n_functions, (9, 19), ("1-9", "10-19", "20+")),
        "by user turns": lambda row: _bucket_name(row.n_turns, (5, 10), ("1-5", "6-10", "11+")),
    }
    for table, group in tables.items():
        for name, part in mean_by_group((group(turns[turn]), value) for turn, value in products.items()).items():
            found.append(Metric(table, name, part["score"], note=f"{part['turns']:.0f} turns"))
    return found


def _bucket_name(value: int, limits: tuple[int, int], names: tuple[str, str, str]) -> str:
    return names[0] if value <= limits[0] else names[1] if value <= limits[1] else names[2]


def _validity_metrics(calls: Sequence[ScoredItem]) -> list[Metric]:
    """Over predicted calls of the golden function: the arguments that the judge did not flag."""
    counts = [_count_item_arguments(row) for row in calls]
    valid, judged = sum(each[0] for each in counts), sum(each[1] for each in counts)
    if not judged:
        return []
    return [Metric("parameter validity", "valid parameters", valid / judged, note=f"{judged} judged")]


@cached_on_item
def _count_item_arguments(row: ScoredItem) -> tuple[int, int]:
    """(valid, judged) of the calls with the golden name."""
    flags = get_hallucination_flags(row)
    named = [target for target, criterion, value in row.part_verdicts if criterion == "name_matches" and value]
    own = [{target: value for target, value in flags.items() if enclosing_call(target) == call} for call in named]
    return count_valid_parameters((list(each), [target for target, value in each.items() if value]) for each in own)


def get_hallucination_flags(row: ScoredItem) -> dict[str, Any]:
    """Argument -> flagged or not; the names people give for the record hold for all its calls."""
    flags = {target: value for target, criterion, value in row.part_verdicts if criterion == HALLUCINATED_CRITERION}
    names = row.overrides.get((ITEM, HALLUCINATED_CRITERION))
    if isinstance(names, list):
        for target in flags:
            part = parse_address(target)
            if part is not None and (target, HALLUCINATED_CRITERION) not in row.overrides:
                flags[target] = part.argument in names
    return {target: value for target, value in flags.items() if value is not None}


def multiply_chains(records: Iterable[tuple[str, float]]) -> dict[str, float]:
    """(turn, soft score of a call) -> product a turn."""
    turns: dict[str, list[float]] = defaultdict(list)
    for turn, score in records:
        turns[turn].append(score)
    return {turn: prod(scores) for turn, scores in turns.items()}


def chain_length_group(length: int) -> str:
    return str(length) if length < 4 else "4+"


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def mean_by_group(values: Iterable[tuple[str, float]]) -> dict[str, dict[str, float]]:
    """`{group: {"turns": n, "score": mean}}`"""
    groups: dict[str, list[float]] = defaultdict(list)
    for group, value in values:
        groups[group].append(value)
    return {group: {"turns": len(scores), "score": mean(scores)} for group, scores in sorted(groups.items())}


def count_valid_parameters(actions: Iterable[tuple[Sequence[str], Sequence[str]]]) -> tuple[int, int]:
    """(valid, judged) over (predicted parameter names, flagged names) of calls whose name is the golden one."""
    valid = judged = 0
    for names, flagged in actions:
        judged += len(names)
        valid += sum(name not in flagged for name in names)
    return valid, judged

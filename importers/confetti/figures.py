"""CONFETTI's figures from scored call and dialog-act records.

Source: the paper's metrics section (ACL 2025): soft accuracy per call, chain product per agent turn, parameter
validity over calls whose name is the golden one, dialog-act accuracy as at least one label in common.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod

from fcreview.figures import Figure, Scored, pass_rate
from fcreview.importers.confetti.find import ACTS, CALLS
from fcreview.model import Run
from fcreview.review import OWN
from fcreview.targets import call_of

LABELS = (
    "agent_function_calling",
    "agent_inform_user",
    "agent_seek_information",
    "agent_reject_request",
    "agent_other",
)


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:  # noqa: ARG001
    calls = [row for row in rows if row.category == CALLS]
    acts = [row for row in rows if row.category == ACTS]
    found = [Figure("function calling", "binary accuracy", pass_rate(calls))] if calls else []
    scores = [(row, score) for row in calls if (score := _soft(row)) is not None]
    if scores:
        found.append(Figure("function calling", "soft accuracy, per call", mean([score for _, score in scores])))
        found += _chains(scores)
    found += _validity(calls)
    if acts:
        found.append(Figure("response quality", "dialog act accuracy", pass_rate(acts)))
        found += _confusion(acts)
    return found


def _soft(row: Scored) -> float | None:
    """A person who overrules the verdict on the record gives it a soft score of 1 or 0, unless they gave a score."""
    own = row.overruled.get(OWN)
    if isinstance(own, bool):
        return float(own)
    value = row.values.get("soft_score")
    return float(value) if isinstance(value, (int, float)) else None


def _chains(scores: list[tuple[Scored, float]]) -> list[Figure]:
    linked = [(row, score) for row, score in scores if isinstance(row.more.get("chain"), dict)]
    turns = {str(row.more["chain"]["turn"]): row for row, _ in linked}
    products = chain_scores((str(row.more["chain"]["turn"]), score) for row, score in linked)
    if not products:
        return []
    found = [Figure("function calling", "soft accuracy, chain product per turn", mean(list(products.values())))]
    tables: dict[str, Callable[[Scored], str]] = {
        "by chain length": lambda row: length_group(row.more["chain"]["length"]),
        "by functions offered": lambda row: _bucket(row.n_functions, (9, 19), ("1-9", "10-19", "20+")),
        "by user turns": lambda row: _bucket(row.n_turns, (5, 10), ("1-5", "6-10", "11+")),
    }
    for table, group in tables.items():
        for name, part in by_group((group(turns[turn]), value) for turn, value in products.items()).items():
            found.append(Figure(table, name, part["score"], note=f"{part['turns']:.0f} turns"))
    return found


def _bucket(value: int, limits: tuple[int, int], names: tuple[str, str, str]) -> str:
    return names[0] if value <= limits[0] else names[1] if value <= limits[1] else names[2]


def _confusion(acts: Sequence[Scored]) -> list[Figure]:
    """Per label: how often both sides have it, only the golden one, only the prediction."""
    pairs = [(row.values.get("dialog_act"), row.more.get("golden dialog acts")) for row in acts]
    known = [(ours, theirs) for ours, theirs in pairs if isinstance(ours, list) and isinstance(theirs, list)]
    words = {"both": "golden and predicted", "only_golden": "golden only", "only_predicted": "predicted only"}
    return [
        Figure("dialog acts", f"{label}: {words[cell]}", count, "count", 1)
        for label, cells in (act_confusion(known) if known else {}).items()
        for cell, count in cells.items()
    ]


def _validity(calls: Sequence[Scored]) -> list[Figure]:
    """Over predicted calls of the golden function: the arguments that the judge did not flag."""
    actions = []
    for row in calls:
        named = [target for target, criterion, value in row.parts if criterion == "name_matches" and value]
        said = [(target, value) for target, criterion, value in row.parts if criterion == "hallucinated"]
        for call in named:
            own = [(target, value) for target, value in said if call_of(target) == call]
            actions.append(([target for target, _ in own], [target for target, value in own if value]))
    valid, judged = parameter_validity(actions)
    if not judged:
        return []
    return [Figure("parameter validity", "valid parameters", valid / judged, note=f"{judged} judged")]


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

"""A confirmed verdict on one criterion keeps its metric, whatever the verdicts on other criteria of the same target.

A value that an annotator recorded takes precedence over a value derived from another criterion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.address import WHOLE_TARGETS
from fcreview.model.decision import ROLL_UP_CRITERIA
from fcreview.model.review import Event
from fcreview.model.verdict import SCALES, decides, same_verdict
from tests.examples import LONG
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns, find_changes

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
FIGURES: dict[str, dict[str, tuple[str, ...]]] = {
    "bfcl": {"correct": ("overall",)},
    "acebench": {
        "correct": ("agent_summary", "normal_summary"),
        "process_accuracy": ("agent_multi_turn_process", "agent_multi_step_process"),
    },
    "hammerbench": {
        "correct": ("declined",),
        "func_ok": ("Func_Acc",),
        "args_ok": ("Args_Acc",),
        "args_ok_llm": ("Args_Acc LLM",),
        "rejected": ("Rejection rate",),
        "is_text": ("Output string ratio",),
        "hallucinated": ("Average number of parameter hallucinations",),
        "missing": ("Average number of missing parameters",),
    },
    "confetti": {
        "correct": ("binary accuracy", "dialog act accuracy"),
        "soft_score": ("soft accuracy, per call",),
        "hallucinated": ("valid parameters",),
        "dialog_act": ("precision", "recall"),
    },
    "complexfuncbench": {
        "correct": ("Overall Success Rate",),
        "equivalent": ("Overall Call Accuracy",),
        "completeness": ("Complete Score",),
        "correctness": ("Correct Score",),
    },
    "inspect": {"correct": ("light", "heating", "all")},
    "atif": {"correct": ("all items",), "reward": ("mean",)},
    "generic": {"correct": ("all items",), "completeness": ("completeness",), "helpful": ("helpful",)},
}
"""Names of the metrics that each criterion determines, by benchmark and criterion."""


def contradicting_values(criterion: str, automatic: Any) -> list[Any]:
    """Return the values that contradict an automatic verdict, or all values of the scale without one."""
    if isinstance(automatic, list):
        return [[], ["agent_other"]]
    scale = SCALES.get(criterion)
    values = [0.0, 1.0] if scale is not None and scale.numbers else [*scale.words.values()] if scale else [True, False]
    return [value for value in values if decides(value) and not same_verdict(value, automatic)]


def verdicts_on_other_criteria(one: ItemVerdict, known: dict[tuple[int, str, str], Any]) -> Iterator[ItemVerdict]:
    """Yield verdicts on other criteria of the same target. A whole item and its response are one target."""
    targets = WHOLE_TARGETS if one.target in WHOLE_TARGETS else (one.target,)
    questions = {key[1:] for key in known if key[0] == one.item and key[1] in targets}
    questions |= {(one.target, criterion) for criterion in ROLL_UP_CRITERIA}
    for target, criterion in questions - {(one.target, one.criterion)}:
        for value in contradicting_values(criterion, known.get((one.item, target, criterion))):
            yield ItemVerdict(one.item, target, criterion, value)


def is_separate(one: ItemVerdict, other: ItemVerdict, known: dict[tuple[int, str, str], Any]) -> bool:
    """Return whether a verdict on the other criterion leaves this metric unchanged.

    The HammerBench script for conversations counts arguments only if the function is right, so a verdict on the
    function changes the metrics of the arguments.
    """
    is_argument_metric = one.criterion in ("args_ok", "args_ok_llm")
    return not is_argument_metric or (other.criterion != "func_ok" and known.get((one.item, "item", "func_ok")) is True)


Kind = tuple[str, str, str, str]
"""Other target kind, criterion and verdict; confirmed criterion."""


def find_pairs(runs: ReviewedRuns, benchmark: str) -> dict[Kind, list[tuple[ItemVerdict, ItemVerdict]]]:
    """Return (verdict on another criterion, confirmed verdict) pairs of all items, by kind."""
    every = runs.automatic_verdicts()
    known = {(one.item, one.target, one.criterion): one.value for one in every}
    found: dict[Kind, list[tuple[ItemVerdict, ItemVerdict]]] = {}
    for one in every:
        is_rolled_up = one.criterion == "correct" and one.target != "item"  # The metric belongs to the item.
        if is_rolled_up or one.criterion not in FIGURES[benchmark] or (one.item, "item", "correct") not in known:
            continue
        for other in verdicts_on_other_criteria(one, known):
            if is_separate(one, other, known):
                place = other.target if other.target in WHOLE_TARGETS else "part"
                kind = (place, other.criterion, repr(other.value), one.criterion)
                found.setdefault(kind, []).append((other, one))
    return found


@pytest.mark.parametrize("benchmark", FIGURES)
def test_confirmed_criterion_keeps_its_metric(samples: Path, open_runs: OpenRuns, benchmark: str) -> None:
    runs = open_runs([samples / benchmark])
    before = runs.compute_metrics()
    kinds = find_pairs(runs, benchmark)
    wrong = []
    for number, ((place, criterion, value, confirmed), verdicts) in enumerate(kinds.items()):
        others, own = [other for other, _ in verdicts], [one for _, one in verdicts]
        orders: list[tuple[str, list[Event]]] = [
            ("ann, then ann", [*runs.make_events(others), *runs.make_events(own)]),
            ("ann, before ann", [*runs.make_events(own), *runs.make_events(others)]),
            ("bob", [*runs.make_events(others), *runs.make_events(own, annotator="bob")]),
        ]
        for who, events in orders if LONG else [orders[number % 3]]:
            moved = find_changes(before, runs.compute_metrics(*events))
            wrong += [
                f"{place} {criterion} {value}, then {confirmed} confirmed by {who}: {key[2]} {values}"
                for (_, key), values in moved.items()
                if key[2] in FIGURES[benchmark][confirmed]
            ]
    assert kinds
    assert wrong == []

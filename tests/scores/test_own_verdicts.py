"""The law of criteria: whoever confirms a verdict on one criterion keeps its figure, whatever anyone says on another
criterion of the same target. A value that an annotator gave counts before one that follows from another."""

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
from tests.scores.reviewed import Reviewed, Said, changed

Opened = Callable[[Sequence[Path]], Reviewed]
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
"""Benchmark -> criterion -> names of the figures that it decides."""


def alternatives(criterion: str, automatic: Any) -> list[Any]:
    """Verdicts that contradict an automatic one, or all of the scale if there is none."""
    if isinstance(automatic, list):
        return [[], ["agent_other"]]
    scale = SCALES.get(criterion)
    values = [0.0, 1.0] if scale is not None and scale.numbers else [*scale.words.values()] if scale else [True, False]
    return [value for value in values if decides(value) and not same_verdict(value, automatic)]


def others_on(one: Said, known: dict[tuple[int, str, str], Any]) -> Iterator[Said]:
    """Verdicts on other criteria of the same target. A whole item and its response are one target."""
    targets = WHOLE_TARGETS if one.target in WHOLE_TARGETS else (one.target,)
    questions = {key[1:] for key in known if key[0] == one.item and key[1] in targets}
    questions |= {(one.target, criterion) for criterion in ROLL_UP_CRITERIA}
    for target, criterion in questions - {(one.target, one.criterion)}:
        for value in alternatives(criterion, known.get((one.item, target, criterion))):
            yield Said(one.item, target, criterion, value)


def is_separate(one: Said, other: Said, known: dict[tuple[int, str, str], Any]) -> bool:
    """HammerBench's script for conversations counts arguments only if the function is right, so a verdict on the
    function changes the figure of the arguments by its rule."""
    by_script = one.criterion in ("args_ok", "args_ok_llm")
    return not by_script or (other.criterion != "func_ok" and known.get((one.item, "item", "func_ok")) is True)


Kind = tuple[str, str, str, str]
"""Other target kind, criterion and verdict; confirmed criterion."""


def pairs(runs: Reviewed, benchmark: str) -> dict[Kind, list[tuple[Said, Said]]]:
    """(verdict on another criterion, confirmed verdict) of every item, by kind."""
    every = runs.automatic()
    known = {(one.item, one.target, one.criterion): one.value for one in every}
    found: dict[Kind, list[tuple[Said, Said]]] = {}
    for one in every:
        is_rolled_up = one.criterion == "correct" and one.target != "item"  # the figure is the item's
        if is_rolled_up or one.criterion not in FIGURES[benchmark] or (one.item, "item", "correct") not in known:
            continue
        for other in others_on(one, known):
            if is_separate(one, other, known):
                place = other.target if other.target in WHOLE_TARGETS else "part"
                kind = (place, other.criterion, repr(other.value), one.criterion)
                found.setdefault(kind, []).append((other, one))
    return found


@pytest.mark.parametrize("benchmark", FIGURES)
def test_a_confirmed_criterion_keeps_its_figure(samples: Path, opened: Opened, benchmark: str) -> None:
    runs = opened([samples / benchmark])
    before = runs.figures()
    kinds = pairs(runs, benchmark)
    wrong = []
    for number, ((place, criterion, value, confirmed), said) in enumerate(kinds.items()):
        others, own = [other for other, _ in said], [one for _, one in said]
        orders: list[tuple[str, list[Event]]] = [
            ("ann, then ann", [*runs.says(others), *runs.says(own)]),
            ("ann, before ann", [*runs.says(own), *runs.says(others)]),
            ("bob", [*runs.says(others), *runs.says(own, who="bob")]),
        ]
        for who, events in orders if LONG else [orders[number % 3]]:
            moved = changed(before, runs.figures(*events))
            wrong += [
                f"{place} {criterion} {value}, then {confirmed} confirmed by {who}: {key[2]} {values}"
                for (_, key), values in moved.items()
                if key[2] in FIGURES[benchmark][confirmed]
            ]
    assert kinds
    assert wrong == []

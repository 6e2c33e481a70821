"""Item outcomes for comparisons of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.model.review import QuestionKey
from fcreview.stats.run_comparison import ItemOutcome


def make_outcome(name: str, verdict: bool | None, **fields: Any) -> ItemOutcome:
    place = QuestionKey(
        "bfcl", fields.pop("generation", "V1"), "en", fields.pop("category", "simple"), name
    )
    usual: dict[str, Any] = {
        "item": 0,
        "group": None,
        "question": f"What is {name}?",
        "error_type": None if verdict else "value_error",
        "first_difference": None if verdict else f'city "{name}" (golden "Oslo")',
        "prediction_hash": f"p {name} {verdict}",
        "golden_hash": f"g {name}",
    }
    return ItemOutcome(question_key=place, verdict=verdict, **usual | fields)


def make_outcomes(letters: str, **fields: Any) -> list[ItemOutcome]:
    """Return outcomes of items 0, 1, ...: `make_outcomes("PF.")` has a pass, a fail and an item
    without a verdict.
    """
    verdicts_by_letter = {"P": True, "F": False, ".": None}
    return [
        make_outcome(str(at), verdicts_by_letter[letter], **fields)
        for at, letter in enumerate(letters)
    ]


def make_trials(tasks: Sequence[str], **fields: Any) -> list[ItemOutcome]:
    """Return outcomes of trials: `make_trials(["PF", "PP"])` has two tasks with two trials each."""
    trials = []
    for task, letters in enumerate(tasks):
        for number, letter in enumerate(letters):
            name = f"{task}_trial_{number}"
            verdicts_by_letter = {"P": True, "F": False, ".": None}
            shared = {
                "group": str(task),
                "question": f"What is {task}?",
                "golden_hash": f"g {task}",
            }
            trials.append(make_outcome(name, verdicts_by_letter[letter], **shared | fields))
    return trials

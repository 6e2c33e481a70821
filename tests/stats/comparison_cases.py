"""Outcomes made by hand."""

from __future__ import annotations

from typing import Any

from fcreview.stats.run_comparison import ItemOutcome, QuestionKey


def outcome(name: str, verdict: bool | None, **fields: Any) -> ItemOutcome:
    place = QuestionKey("bfcl", fields.pop("generation", "V1"), "en", fields.pop("category", "simple"), name)
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


def run(verdicts: str, **fields: Any) -> list[ItemOutcome]:
    """`run("PF.")`: items 0, 1 and 2, the first passing, the second failing, the third without a verdict."""
    words = {"P": True, "F": False, ".": None}
    return [outcome(str(at), words[verdict], **fields) for at, verdict in enumerate(verdicts)]

"""What the released `print_results.py` (commit c37b284) prints, and the same over the records that are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

SAMPLES = {"Hotels": 150, "Flights": 150, "Car-Rental": 150, "Attraction": 150, "Cross": 400}
"""Denominators of the official success rate, whatever is in the file."""
TOTAL = sum(SAMPLES.values())


@dataclass(frozen=True, slots=True)
class Row:
    domain: str
    success: bool | None
    """None while people differ: then it counts in no success rate."""
    correct_calls: int
    golden_calls: int
    completeness: int | None = None
    """0-2; None, -1 and -2 stand for no usable verdict."""
    correctness: int | None = None


def official(rows: Sequence[Row]) -> dict[str, float | dict[str, float]]:
    """Under the names that are printed, in percent; a domain without a success is absent from the first table."""
    successes: dict[str, int] = defaultdict(int)
    for row in rows:
        if row.success:
            successes[row.domain] += 1
    return {
        "Domain Success Rate": {name: count / SAMPLES.get(name, 150) * 100 for name, count in successes.items()},
        "Domain Call Accuracy": call_accuracy_by_domain(rows),
        "Overall Success Rate": sum(successes.values()) / TOTAL * 100,
        "Overall Call Accuracy": call_accuracy(rows),
        "Complete Score": mean_score([row.completeness for row in rows]),
        "Correct Score": mean_score([row.correctness for row in rows]),
    }


def present(rows: Sequence[Row]) -> dict[str, float | dict[str, float]]:
    """The same figures over the records that are there."""
    domains = list(dict.fromkeys(row.domain for row in rows))
    rates = {name: success_rate([row for row in rows if row.domain == name]) for name in domains}
    return official(rows) | {"Domain Success Rate": rates, "Overall Success Rate": success_rate(rows)}


def success_rate(rows: Sequence[Row]) -> float:
    known = [row.success for row in rows if row.success is not None]
    return sum(known) / len(known) * 100 if known else 0.0


def call_accuracy(rows: Sequence[Row]) -> float:
    golden = sum(row.golden_calls for row in rows)
    return sum(row.correct_calls for row in rows) / golden * 100 if golden else 0.0


def call_accuracy_by_domain(rows: Sequence[Row]) -> dict[str, float]:
    domains = list(dict.fromkeys(row.domain for row in rows))
    return {name: call_accuracy([row for row in rows if row.domain == name]) for name in domains}


def mean_score(scores: Sequence[int | None]) -> float:
    usable = [score for score in scores if score in (0, 1, 2)]
    return sum(usable) / len(usable) if usable else 0.0

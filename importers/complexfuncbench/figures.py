"""ComplexFuncBench's figures: as printed officially (fixed denominators), the same over the records that are there, and
error tables.

Source: the released `print_results.py` (commit c37b284).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.figures import Figure, Scored
from fcreview.model import Run
from fcreview.review import CORRECT
from fcreview.targets import call_of

SAMPLES = {"Hotels": 150, "Flights": 150, "Car-Rental": 150, "Attraction": 150, "Cross": 400}
"""Denominators of the official success rate, whatever is in the file."""
TOTAL = sum(SAMPLES.values())
FIXED = "divided by 150 samples a domain (Cross 400, all 1000), whatever is in the file"


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:  # noqa: ARG001
    known = [row for row in rows if row.valid is not None]
    if not known:
        return []
    made = [_row(row) for row in known]
    found = _printed("as printed", official(made), FIXED) + _printed("over the records present", present(made), "")
    errors = Counter(row.error_type for row in known if row.error_type)
    found += [Figure("error types", str(name), count, "count") for name, count in errors.most_common()]
    kinds = Counter(kind for row in known for kind in _kinds(row))
    found += [Figure("wrong parameters by type", name, count, "count") for name, count in kinds.most_common()]
    steps = [row.more["counts"] for row in known if isinstance(row.more.get("counts"), dict)]
    taken = sum(_count(one, "real_turn_num") for one in steps)
    shortest = sum(_count(one, "total_turn_num") for one in steps)
    if shortest:
        found.append(Figure("steps", "taken / golden path", taken / shortest, "score"))
    return found


def _printed(table: str, values: Mapping[str, Any], note: str) -> list[Figure]:
    found = []
    for name, value in values.items():
        if isinstance(value, dict):
            found += [Figure(table, f"{name}: {domain}", one, "percent", 1) for domain, one in value.items()]
        else:
            unit: Any = "score" if name.endswith("Score") else "percent"
            found.append(Figure(table, name, value, unit, note=note if "Success" in name else ""))
    return found


def _row(item: Scored) -> Row:
    counts = item.more.get("counts")
    counts = counts if isinstance(counts, dict) else {}
    return Row(
        item.category,
        bool(item.valid),
        _correct_calls(item, _count(counts, "correct_call_num")),
        _count(counts, "total_call_num") or item.n_golden,
        _score(item.values.get("completeness")),
        _score(item.values.get("correctness")),
    )


def _count(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0


def _score(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _correct_calls(item: Scored, recorded: int) -> int:
    """The recorded number, moved by what people said of single calls."""
    said = {target: value for target, criterion, value in item.parts if criterion == "equivalent"}
    people = {target: value for target, criterion, value in item.parts if criterion == CORRECT and call_of(target)}
    return recorded + sum(bool(value) - bool(said.get(target)) for target, value in people.items())


def _kinds(item: Scored) -> list[str]:
    wrong = item.more.get("wrong parameters")
    return [str(kind) for kind in wrong.values()] if isinstance(wrong, dict) else []


@dataclass(frozen=True, slots=True)
class Row:
    domain: str
    success: bool
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
    return sum(row.success for row in rows) / len(rows) * 100 if rows else 0.0


def call_accuracy(rows: Sequence[Row]) -> float:
    golden = sum(row.golden_calls for row in rows)
    return sum(row.correct_calls for row in rows) / golden * 100 if golden else 0.0


def call_accuracy_by_domain(rows: Sequence[Row]) -> dict[str, float]:
    domains = list(dict.fromkeys(row.domain for row in rows))
    return {name: call_accuracy([row for row in rows if row.domain == name]) for name in domains}


def mean_score(scores: Sequence[int | None]) -> float:
    usable = [score for score in scores if score in (0, 1, 2)]
    return sum(usable) / len(usable) if usable else 0.0

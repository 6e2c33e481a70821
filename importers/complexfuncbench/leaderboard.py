"""What the released `print_results.py` (commit c37b284) prints, and the same over the records that are there.

ComplexFuncBench's figures: as printed officially (fixed denominators), the same over the records that are there,
and the paper's error analysis (Figures 4 and 5) and step distribution (Figure 6).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.complexfuncbench.calls import KINDS
from fcreview.importers.complexfuncbench.read import Judged, call_counts, error, judged, number, wrong_parameters
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem
from fcreview.model.review import ITEM_CORRECT

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


FIXED = "divided by 150 samples a domain (Cross 400, all 1000), whatever is in the file"
ERRORS = ("func_error", "param_missing", "param_hallucination", "value_error", "stop_early")
"""The five of the paper's Figure 4, which calls the third hallucination."""
Sample = tuple[ScoredItem, list[Judged]]


def compute_metrics(rows: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """A sample without a record counts once people give it a verdict."""
    known = [(row, judged(row)) for row in rows if row.valid is not None or ITEM_CORRECT in row.overrides]
    if not known:
        return []
    made = [_row(row, calls) for row, calls in known]
    found = _printed("as printed", official(made), FIXED) + _printed("over the records present", present(made), "")
    return found + _errors(known) + _parameters(known) + _steps([row for row, _ in known])


def _printed(table: str, values: Mapping[str, Any], note: str) -> list[Metric]:
    found = []
    for name, value in values.items():
        if isinstance(value, dict):
            found += [Metric(table, f"{name}: {domain}", one, "percent", 1) for domain, one in value.items()]
        else:
            unit: Any = "score" if name.endswith("Score") else "percent"
            found.append(Metric(table, name, value, unit, note=note if "Success" in name else ""))
    return found


def _row(item: ScoredItem, calls: list[Judged]) -> Row:
    counts = call_counts(item, calls)
    completeness, correctness = (_score(item.values.get(name)) for name in ("completeness", "correctness"))
    return Row(item.category, item.valid, counts.correct, counts.golden, completeness, correctness)


def _score(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _errors(known: Sequence[Sample]) -> list[Metric]:
    """Figure 4: each word's share of the failed samples that have one. Other words than the paper's five come after."""
    words = Counter(word for row, calls in known if (word := error(row, calls)))
    names = [*ERRORS, *(name for name in words if name not in ERRORS)]
    total = words.total()
    counts = [Metric("error types", name, words[name], "count") for name in names]
    note = "of the failed samples with an error word"
    return counts + [Metric("error shares", n, words[n] / total if total else None, note=note) for n in names]


def _parameters(known: Sequence[Sample]) -> list[Metric]:
    """Figure 5: parameters in which refused calls differ from golden ones, by the paper's types."""
    wrong = Counter(kind for _, calls in known for kind in wrong_parameters(calls))
    compared: Counter[str] = Counter()
    for row, _ in known:
        compared.update(row.metadata.get("parameters compared") or {})
    kinds = [kind for kind in KINDS if compared[kind]]
    counts = [Metric("wrong parameters by type", kind, wrong[kind], "count") for kind in kinds]
    note = "of the parameters of compared calls"
    rates = [Metric("error rate by type", kind, wrong[kind] / compared[kind], note=note) for kind in kinds]
    return counts + rates


def _steps(rows: Sequence[ScoredItem]) -> list[Metric]:
    counts = [row.metadata["counts"] for row in rows if isinstance(row.metadata.get("counts"), dict)]
    taken = [number(one, "real_turn_num") for one in counts]
    shortest = [number(one, "total_turn_num") for one in counts]
    if not sum(shortest):
        return []
    found = [Metric("steps", "taken / golden path", sum(taken) / sum(shortest), "score")]
    for name, values in (("taken", taken), ("golden path", shortest)):
        found.append(Metric("steps", f"mean, {name}", sum(values) / len(values), "score"))
    return found + _distribution("steps taken", taken) + _distribution("steps of the golden path", shortest)


def _distribution(table: str, values: Iterable[int]) -> list[Metric]:
    """Figure 6: samples by number of steps."""
    return [Metric(table, f"{steps}", count, "count") for steps, count in sorted(Counter(values).items())]

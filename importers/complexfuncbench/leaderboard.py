"""What the released `print_results.py` (commit c37b284) prints, and the same over the records that are there.

ComplexFuncBench's figures: as printed officially (fixed denominators), the same over the records that are there,
and the paper's error analysis (Figures 4 and 5) and step distribution (Figure 6).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.complexfuncbench.calls import PARAMETER_TYPES
from fcreview.importers.complexfuncbench.read import ReviewedCall, count_accepted_calls, get_sample_error, read_reviewed_calls, read_count, list_wrong_parameter_types
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem
from fcreview.model.review import ITEM_CORRECT

SAMPLES_PER_DOMAIN = {"Hotels": 150, "Flights": 150, "Car-Rental": 150, "Attraction": 150, "Cross": 400}
"""Denominators of the official success rate, whatever is in the file."""
N_SAMPLES = sum(SAMPLES_PER_DOMAIN.values())


@dataclass(frozen=True, slots=True)
class SampleOutcome:
    domain: str
    success: bool | None
    """None while people differ: then it counts in no success rate."""
    correct_calls: int
    golden_calls: int
    completeness: int | None = None
    """0-2; None, -1 and -2 stand for no usable verdict."""
    correctness: int | None = None


def compute_printed_metrics(rows: Sequence[SampleOutcome]) -> dict[str, float | dict[str, float]]:
    """Under the names that are printed, in percent; a domain without a success is absent from the first table."""
    successes: dict[str, int] = defaultdict(int)
    for row in rows:
        if row.success:
            successes[row.domain] += 1
    return {
        "Domain Success Rate": {name: count / SAMPLES_PER_DOMAIN.get(name, 150) * 100 for name, count in successes.items()},
        "Domain Call Accuracy": call_accuracy_by_domain(rows),
        "Overall Success Rate": sum(successes.values()) / N_SAMPLES * 100,
        "Overall Call Accuracy": call_accuracy(rows),
        "Complete Score": mean_score([row.completeness for row in rows]),
        "Correct Score": mean_score([row.correctness for row in rows]),
    }


def compute_present_metrics(rows: Sequence[SampleOutcome]) -> dict[str, float | dict[str, float]]:
    """The same figures over the records that are there."""
    domains = list(dict.fromkeys(row.domain for row in rows))
    rates = {name: success_rate([row for row in rows if row.domain == name]) for name in domains}
    return compute_printed_metrics(rows) | {"Domain Success Rate": rates, "Overall Success Rate": success_rate(rows)}


def success_rate(rows: Sequence[SampleOutcome]) -> float:
    known = [row.success for row in rows if row.success is not None]
    return sum(known) / len(known) * 100 if known else 0.0


def call_accuracy(rows: Sequence[SampleOutcome]) -> float:
    golden = sum(row.golden_calls for row in rows)
    return sum(row.correct_calls for row in rows) / golden * 100 if golden else 0.0


def call_accuracy_by_domain(rows: Sequence[SampleOutcome]) -> dict[str, float]:
    domains = list(dict.fromkeys(row.domain for row in rows))
    return {name: call_accuracy([row for row in rows if row.domain == name]) for name in domains}


def mean_score(scores: Sequence[int | None]) -> float:
    usable = [score for score in scores if score in (0, 1, 2)]
    return sum(usable) / len(usable) if usable else 0.0


FIXED_DENOMINATOR_NOTE = "divided by 150 samples a domain (Cross 400, all 1000), whatever is in the file"
PAPER_ERROR_TYPES = ("func_error", "param_missing", "param_hallucination", "value_error", "stop_early")
"""The five of the paper's Figure 4, which calls the third hallucination."""
ReviewedSample = tuple[ScoredItem, list[ReviewedCall]]


def compute_metrics(rows: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """A sample without a record counts once people give it a verdict."""
    known = [(row, read_reviewed_calls(row)) for row in rows if row.valid is not None or ITEM_CORRECT in row.overrides]
    if not known:
        return []
    made = [_make_outcome(row, calls) for row, calls in known]
    found = _make_metrics("as printed", compute_printed_metrics(made), FIXED_DENOMINATOR_NOTE) + _make_metrics("over the records present", compute_present_metrics(made), "")
    return found + _error_type_metrics(known) + _parameter_type_metrics(known) + _step_metrics([row for row, _ in known])


def _make_metrics(table: str, values: Mapping[str, Any], note: str) -> list[Metric]:
    found = []
    for name, value in values.items():
        if isinstance(value, dict):
            found += [Metric(table, f"{name}: {domain}", one, "percent", 1) for domain, one in value.items()]
        else:
            unit: Any = "score" if name.endswith("Score") else "percent"
            found.append(Metric(table, name, value, unit, note=note if "Success" in name else ""))
    return found


def _make_outcome(item: ScoredItem, calls: list[ReviewedCall]) -> SampleOutcome:
    counts = count_accepted_calls(item, calls)
    completeness, correctness = (_int_or_none(item.values.get(name)) for name in ("completeness", "correctness"))
    return SampleOutcome(item.category, item.valid, counts.correct, counts.golden, completeness, correctness)


def _int_or_none(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _error_type_metrics(known: Sequence[ReviewedSample]) -> list[Metric]:
    """Figure 4: each word's share of the failed samples that have one. Other words than the paper's five come after."""
    words = Counter(word for row, calls in known if (word := get_sample_error(row, calls)))
    names = [*PAPER_ERROR_TYPES, *(name for name in words if name not in PAPER_ERROR_TYPES)]
    total = words.total()
    counts = [Metric("error types", name, words[name], "count") for name in names]
    note = "of the failed samples with an error word"
    return counts + [Metric("error shares", n, words[n] / total if total else None, note=note) for n in names]


def _parameter_type_metrics(known: Sequence[ReviewedSample]) -> list[Metric]:
    """Figure 5: parameters in which refused calls differ from golden ones, by the paper's types."""
    wrong = Counter(kind for _, calls in known for kind in list_wrong_parameter_types(calls))
    compared: Counter[str] = Counter()
    for row, _ in known:
        compared.update(row.metadata.get("parameters compared") or {})
    kinds = [kind for kind in PARAMETER_TYPES if compared[kind]]
    counts = [Metric("wrong parameters by type", kind, wrong[kind], "count") for kind in kinds]
    note = "of the parameters of compared calls"
    rates = [Metric("error rate by type", kind, wrong[kind] / compared[kind], note=note) for kind in kinds]
    return counts + rates


def _step_metrics(rows: Sequence[ScoredItem]) -> list[Metric]:
    counts = [row.metadata["counts"] for row in rows if isinstance(row.metadata.get("counts"), dict)]
    taken = [read_count(one, "real_turn_num") for one in counts]
    shortest = [read_count(one, "total_turn_num") for one in counts]
    if not sum(shortest):
        return []
    found = [Metric("steps", "taken / golden path", sum(taken) / sum(shortest), "score")]
    for name, values in (("taken", taken), ("golden path", shortest)):
        found.append(Metric("steps", f"mean, {name}", sum(values) / len(values), "score"))
    return found + _count_samples_by_steps("steps taken", taken) + _count_samples_by_steps("steps of the golden path", shortest)


def _count_samples_by_steps(table: str, values: Iterable[int]) -> list[Metric]:
    """Figure 6: samples by number of steps."""
    return [Metric(table, f"{steps}", count, "count") for steps, count in sorted(Counter(values).items())]

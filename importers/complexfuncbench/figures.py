"""ComplexFuncBench's figures: as printed officially (fixed denominators), the same over the records that are there,
and the paper's error analysis (Figures 4 and 5) and step distribution (Figure 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fcreview.figures import Figure, Scored
from fcreview.importers.complexfuncbench.judged import (
    Judged,
    call_counts,
    error,
    judged,
    number,
    wrong_parameters,
)
from fcreview.importers.complexfuncbench.parameters import KINDS
from fcreview.importers.complexfuncbench.printed import Row, official, present
from fcreview.model import Run
from fcreview.review import OWN

FIXED = "divided by 150 samples a domain (Cross 400, all 1000), whatever is in the file"
ERRORS = ("func_error", "param_missing", "param_hallucination", "value_error", "stop_early")
"""The five of the paper's Figure 4, which calls the third hallucination."""
Sample = tuple[Scored, list[Judged]]


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:  # noqa: ARG001
    """A sample without a record counts once people give it a verdict."""
    known = [(row, judged(row)) for row in rows if row.valid is not None or OWN in row.overruled]
    if not known:
        return []
    made = [_row(row, calls) for row, calls in known]
    found = _printed("as printed", official(made), FIXED) + _printed("over the records present", present(made), "")
    return found + _errors(known) + _parameters(known) + _steps([row for row, _ in known])


def _printed(table: str, values: Mapping[str, Any], note: str) -> list[Figure]:
    found = []
    for name, value in values.items():
        if isinstance(value, dict):
            found += [Figure(table, f"{name}: {domain}", one, "percent", 1) for domain, one in value.items()]
        else:
            unit: Any = "score" if name.endswith("Score") else "percent"
            found.append(Figure(table, name, value, unit, note=note if "Success" in name else ""))
    return found


def _row(item: Scored, calls: list[Judged]) -> Row:
    counts = call_counts(item, calls)
    completeness, correctness = (_score(item.values.get(name)) for name in ("completeness", "correctness"))
    return Row(item.category, item.valid, counts.correct, counts.golden, completeness, correctness)


def _score(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _errors(known: Sequence[Sample]) -> list[Figure]:
    """Figure 4: each word's share of the failed samples that have one. Other words than the paper's five come after."""
    words = Counter(word for row, calls in known if (word := error(row, calls)))
    names = [*ERRORS, *(name for name in words if name not in ERRORS)]
    total = words.total()
    counts = [Figure("error types", name, words[name], "count") for name in names]
    note = "of the failed samples with an error word"
    return counts + [Figure("error shares", n, words[n] / total if total else None, note=note) for n in names]


def _parameters(known: Sequence[Sample]) -> list[Figure]:
    """Figure 5: parameters in which refused calls differ from golden ones, by the paper's types."""
    wrong = Counter(kind for _, calls in known for kind in wrong_parameters(calls))
    compared: Counter[str] = Counter()
    for row, _ in known:
        compared.update(row.more.get("parameters compared") or {})
    kinds = [kind for kind in KINDS if compared[kind]]
    counts = [Figure("wrong parameters by type", kind, wrong[kind], "count") for kind in kinds]
    note = "of the parameters of compared calls"
    rates = [Figure("error rate by type", kind, wrong[kind] / compared[kind], note=note) for kind in kinds]
    return counts + rates


def _steps(rows: Sequence[Scored]) -> list[Figure]:
    counts = [row.more["counts"] for row in rows if isinstance(row.more.get("counts"), dict)]
    taken = [number(one, "real_turn_num") for one in counts]
    shortest = [number(one, "total_turn_num") for one in counts]
    if not sum(shortest):
        return []
    found = [Figure("steps", "taken / golden path", sum(taken) / sum(shortest), "score")]
    for name, values in (("taken", taken), ("golden path", shortest)):
        found.append(Figure("steps", f"mean, {name}", sum(values) / len(values), "score"))
    return found + _distribution("steps taken", taken) + _distribution("steps of the golden path", shortest)


def _distribution(table: str, values: Iterable[int]) -> list[Figure]:
    """Figure 6: samples by number of steps."""
    return [Figure(table, f"{steps}", count, "count") for steps, count in sorted(Counter(values).items())]

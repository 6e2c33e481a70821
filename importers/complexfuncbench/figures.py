"""ComplexFuncBench's printed figures, the same over the records that are there, and error tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fcreview.figures import Figure, Scored
from fcreview.importers.complexfuncbench.metrics import Row, official, present
from fcreview.model import Run

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
    steps = [row.extra["counts"] for row in known if isinstance(row.extra.get("counts"), dict)]
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
    counts = item.extra.get("counts")
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
    people = {target: value for target, criterion, value in item.parts if criterion == "correct" and "/call:" in target}
    return recorded + sum(bool(value) - bool(said.get(target)) for target, value in people.items())


def _kinds(item: Scored) -> list[str]:
    wrong = item.extra.get("wrong parameters")
    return [str(kind) for kind in wrong.values()] if isinstance(wrong, dict) else []

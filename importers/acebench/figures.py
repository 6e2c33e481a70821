"""ACEBench's summary row and category accuracies from scored items."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.figures import Figure, Scored
from fcreview.importers.acebench.files import CATEGORIES
from fcreview.importers.acebench.metrics import MULTIPLE, accuracy, by_dialogue, paper_weights, summary
from fcreview.model import Run


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:  # noqa: ARG001
    """`result.xlsx` as the program computes it, then the same with object columns in place and the paper's weights."""
    by_category: dict[str, list[Scored]] = {}
    for row in rows:
        if row.valid is not None:
            by_category.setdefault(row.category, []).append(row)
    scores: dict[str, float] = {}
    process: dict[str, float] = {}
    exact: dict[str, float] = {}
    for name, part in by_category.items():
        valid = [bool(row.valid) for row in part]
        if name in MULTIPLE:
            scores[name], process[name] = by_dialogue([(str(row.group), bool(row.valid)) for row in part])
            exact[name] = scores[name]
        else:
            scores[name] = accuracy(valid, None if name.startswith("special") else 3)
            exact[name] = accuracy(valid, None)
        shares = [row.values.get("process_accuracy") for row in part]
        if name.startswith("agent") and all(isinstance(share, (int, float)) for share in shares):
            process[name] = round(sum(map(float, shares)) / len(shares), 3)  # type: ignore[arg-type]
    if not scores:
        return []
    found = [Figure("accuracy", name, scores[name]) for name in CATEGORIES if name in scores]
    found += [Figure("process accuracy", name, process[name]) for name in CATEGORIES if name in process]
    row_ = summary(scores, process)
    swapped = "the program writes the two object columns into each other's place"
    found += [
        Figure("result.xlsx", name, value, note=swapped if name.startswith("object_") else "")
        for name, value in row_.items()
    ]
    counts = [
        sum(len(p) for n, p in by_category.items() if n.startswith(kind)) for kind in ("normal", "special", "agent")
    ]
    sound = summary(exact, process, paper_weights((counts[0], counts[1], counts[2])), swap_object_columns=False)
    note = "weights by the square root of the sample counts, as in the paper"
    names = ("object_short", "object_deep", "Summary")
    return found + [Figure("sound", name, sound[name], note=note if name == "Summary" else "") for name in names]

"""What ACEBench failures are, counted from the checker's error types: the paper's figure 6 (normal) and table 5
(special), and agent end states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fcreview.figures import Figure, Scored

CLASSES = {
    "param value": ("value_error",),
    "output format": ("wrong_output_format",),
    "function name": ("function_mismatch", "wrong_function_name"),
    "param type": ("type_error",),
    "other": (),
}
"""Classes of figure 6 (examples in appendix G.1) and the beginnings of the error types that are taken for them. The
paper does not say where the checker's other types belong: they are counted as other."""
UNKNOWN = "no error type"
"""Of failures that people found and the checker did not."""
NOTE = "classes as in the paper's figure 6; which error types they hold is our reading"


def error_types(rows: Sequence[Scored]) -> list[Figure]:
    """Counts of failures: normal ones by class and error type, special and agent ones by error type."""
    failing = [row for row in rows if row.valid is False]
    normal = Counter(row.error_type or UNKNOWN for row in failing if row.category.startswith("normal"))
    lines: list[Figure] = []
    for name in CLASSES:
        held = {kind: count for kind, count in normal.most_common() if class_of(kind) == name}
        lines.append(Figure("normal errors", name, sum(held.values()), "count", note=NOTE if not lines else ""))
        lines += [Figure("normal errors", kind, count, "count", level=1) for kind, count in held.items()]
    for kind in ("special", "agent"):
        of = Counter(row.error_type or UNKNOWN for row in failing if row.category.startswith(kind))
        lines += [Figure(f"{kind} errors", name, count, "count") for name, count in of.most_common()]
    return lines


def class_of(error_type: str) -> str:
    """The class of figure 6 that an error type of the normal checker is of."""
    found = (name for name, starts in CLASSES.items() if starts and error_type.startswith(starts))
    return next(found, "other")

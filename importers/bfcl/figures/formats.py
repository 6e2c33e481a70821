"""BFCL's format sensitivity: how far accuracy varies with the prompt format. Source: `eval_runner.py` (bfcl-eval
2026.3.23)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import stdev

from fcreview.figures import Figure, Scored, rated

TABLE = "format sensitivity"


def format_sensitivity(rows: Sequence[Scored]) -> list[Figure]:
    """Greatest difference and sample standard deviation of the configurations' accuracies, in points of a percentage,
    and these accuracies. The spread of a single configuration is 0; none is given if one has no verdict."""
    by_config: dict[str, list[Scored]] = {}
    for row in rows:
        if row.category == "format_sensitivity" and row.setting is not None:
            by_config.setdefault(row.setting, []).append(row)
    if not by_config:
        return []
    lines = [rated(TABLE, config, part, level=1) for config, part in by_config.items()]
    values = [100 * line.value for line in lines if line.value is not None]
    whole = len(values) == len(lines)
    spread = {
        "max delta": max(values) - min(values) if whole else None,
        "standard deviation": (stdev(values) if len(values) > 1 else 0.0) if whole else None,
    }
    n, of = sum(line.n or 0 for line in lines), sum(line.of or 0 for line in lines)
    for line in lines:
        line.digits = 2
    top = [Figure(TABLE, name, value, "percent", n=n, of=of, digits=2) for name, value in spread.items()]
    return top + lines

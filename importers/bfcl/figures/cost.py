"""What a run cost and how long its steps took, as the leaderboard counts it.

Source: `record_cost_latency` and `get_cost_latency_info` of `eval_runner_helper.py` (bfcl-eval 2026.3.23): every step
of a multi-turn item counts for itself, and what was recorded as 0 does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import dist, fsum, sqrt

from fcreview.figures import Figure, Scored
from fcreview.importers.bfcl.figures.prices import GPU_HOUR, REQUESTS, price
from fcreview.importers.bfcl.figures.tables import APART
from fcreview.model import Run

TABLE = "cost and latency"


@dataclass(frozen=True, slots=True)
class Spent:
    """What the steps of a run took together, in seconds. Steps that took no time are none."""

    steps: int
    total: float
    mean: float
    deviation: float | None
    p95: float


def cost_and_latency(rows: Sequence[Scored], run: Run) -> list[Figure]:
    """Dollars and seconds; what the files do not say is left out. Verdicts do not matter here."""
    used = [row for row in rows if row.category not in APART[1:]]
    spent = _spent(tuple(row.seconds for row in used))
    tokens_in, tokens_out = sum(row.tokens_in or 0 for row in used), sum(row.tokens_out or 0 for row in used)
    lines = [Figure(TABLE, "input tokens", tokens_in, "count"), Figure(TABLE, "output tokens", tokens_out, "count")]
    found = [line for line in lines if line.value]
    if run.generation not in ("V1", "V2", "V3"):
        found += _cost(run.model, tokens_in, tokens_out, spent)
    if spent is None:
        return found
    values = (("mean", spent.mean), ("standard deviation", spent.deviation), ("95th percentile", spent.p95))
    return found + [
        Figure(TABLE, f"latency {name}", value, "seconds", n=spent.steps, of=spent.steps, counted="steps", digits=2)
        for name, value in values
    ]


@lru_cache(maxsize=1)
def _spent(of_rows: tuple[tuple[float, ...], ...]) -> Spent | None:
    """None if no step took any time. Every source asks for the same, in turn. `statistics.stdev` counts in fractions
    and takes twenty times as long."""
    seconds = sorted(filter(None, chain.from_iterable(of_rows)))
    if not seconds:
        return None
    steps, total = len(seconds), fsum(seconds)
    mean = total / steps
    deviation = dist(seconds, [mean] * steps) / sqrt(steps - 1) if steps > 1 else None
    return Spent(steps, total, mean, deviation, percentile(seconds, 95))


def _cost(model: str, tokens_in: int, tokens_out: int, spent: Spent | None) -> list[Figure]:
    """By the program's price of tokens; of models it has no price for, by the time of the machine."""
    of = price(model)
    if of is not None:
        dollars = (tokens_in * of[0] + tokens_out * of[1]) / 1e6
        note = f"{of[0]} and {of[1]} $ a million tokens, the official program's prices of March 2026"
        return [Figure(TABLE, "cost", dollars, "dollars", note=note, digits=2)] if tokens_in and tokens_out else []
    if spent is None:
        return []
    note = f"no price in the official program: machine time at {GPU_HOUR} $ an hour for {REQUESTS} requests at once"
    dollars = spent.total / 3600 * GPU_HOUR / REQUESTS
    return [Figure(TABLE, "cost", dollars, "dollars", note=note, digits=2)]


def percentile(values: Sequence[float], percent: float) -> float:
    """Of ranked values: between the two nearest ranks in proportion, as NumPy's default. IndexError for no values."""
    place = (len(values) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)

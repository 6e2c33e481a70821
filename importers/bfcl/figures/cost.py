"""What a run cost and how long its steps took, as the leaderboard counts it.

Source: `record_cost_latency` and `get_cost_latency_info` of `eval_runner_helper.py` (bfcl-eval 2026.3.23): every step
of a multi-turn item counts for itself, and what was recorded as 0 does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import dist, fsum, sqrt
from statistics import fmean

from fcreview.figures import Figure, Scored
from fcreview.importers.bfcl.figures.prices import GPU_HOUR, REQUESTS, price
from fcreview.importers.bfcl.figures.tables import APART
from fcreview.model import Run

TABLE = "cost and latency"


def cost_and_latency(rows: Sequence[Scored], run: Run) -> list[Figure]:
    """Dollars and seconds; what the files do not say is left out. Verdicts do not matter here."""
    used = [row for row in rows if row.category not in APART[1:]]
    seconds = sorted(one for row in used for one in row.seconds if one)
    tokens_in, tokens_out = sum(row.tokens_in or 0 for row in used), sum(row.tokens_out or 0 for row in used)
    lines = [Figure(TABLE, "input tokens", tokens_in, "count"), Figure(TABLE, "output tokens", tokens_out, "count")]
    found = [line for line in lines if line.value]
    if run.generation not in ("V1", "V2", "V3"):
        found += _cost(run.model, tokens_in, tokens_out, seconds)
    if not seconds:
        return found
    steps = len(seconds)
    return found + [
        Figure(TABLE, name, value, "seconds", n=steps, of=steps, counted="steps", digits=2)
        for name, value in _spread(tuple(seconds)).items()
    ]


@lru_cache(maxsize=1)
def _spread(seconds: tuple[float, ...]) -> dict[str, float | None]:
    """Of ranked seconds. Asked for every source in turn. `statistics.stdev` takes thirty times as long: it counts in
    fractions."""
    steps, middle = len(seconds), fmean(seconds)
    deviation = dist(seconds, (middle,) * steps) / sqrt(steps - 1) if steps > 1 else None
    return {
        "latency mean": middle,
        "latency standard deviation": deviation,
        "latency 95th percentile": percentile(seconds, 95),
    }


def _cost(model: str, tokens_in: int, tokens_out: int, seconds: Sequence[float]) -> list[Figure]:
    """By the program's price of tokens; of models it has no price for, by the time of the machine."""
    of = price(model)
    if of is not None:
        dollars = (tokens_in * of[0] + tokens_out * of[1]) / 1e6
        note = f"{of[0]} and {of[1]} $ a million tokens, the official program's prices of March 2026"
        return [Figure(TABLE, "cost", dollars, "dollars", note=note, digits=2)] if tokens_in and tokens_out else []
    note = f"no price in the official program: machine time at {GPU_HOUR} $ an hour for {REQUESTS} requests at once"
    dollars = fsum(seconds) / 3600 * GPU_HOUR / REQUESTS
    return [Figure(TABLE, "cost", dollars, "dollars", note=note, digits=2)] if seconds else []


def percentile(values: Sequence[float], percent: float) -> float:
    """Of ranked values: between the two nearest ranks in proportion, as NumPy's default. IndexError for no values."""
    place = (len(values) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)

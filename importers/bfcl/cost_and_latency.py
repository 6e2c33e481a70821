"""Compute tokens, cost and latency of a BFCL run, as on the V4 leaderboard.

The prices and the rules are from package bfcl-eval 2026.3.23, `constants/model_config.py` and `eval_runner_helper.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import dist, fsum, sqrt

from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem

UNSCORED_CATEGORIES = ("chatable", "sql")
TOKEN_PRICES: dict[str, tuple[float, float]] = {
    "gpt-5.2-2025-12-11": (1.75, 14), "gpt-5-mini-2025-08-07": (0.25, 2), "gpt-5-nano-2025-08-07": (0.05, 0.4),
    "gpt-4.1-2025-04-14": (2, 8), "gpt-4.1-mini-2025-04-14": (0.4, 1.6), "gpt-4.1-nano-2025-04-14": (0.1, 0.4),
    "gpt-4o-2024-11-20": (2.5, 10), "gpt-4o-mini-2024-07-18": (0.15, 0.6), "o3-2025-04-16": (2, 8),
    "o4-mini-2025-04-16": (1.1, 4.4), "claude-opus-4-5-20251101": (5, 25), "claude-sonnet-4-5-20250929": (3, 15),
    "claude-haiku-4-5-20251001": (0.8, 4), "nova-pro-v1.0": (0.8, 3.2), "nova-2-lite-v1.0": (0.3, 2.5),
    "nova-micro-v1.0": (0.035, 0.14), "open-mistral-nemo-2407": (0.15, 0.15), "mistral-large-2411": (2, 6),
    "mistral-small-2506": (0.1, 0.3), "mistral-medium-2505": (0.4, 2), "gemini-2.5-flash-lite": (0.1, 0.4),
    "gemini-2.5-flash": (0.3, 2.5), "gemini-3-pro-preview": (2, 12), "gemini-3.1-flash-lite-preview": (0.25, 1.5),
    "command-r7b-12-2024": (0.0375, 0.15), "command-a-03-2025": (2.5, 10), "palmyra-x-004": (5, 12),
    "grok-4-0709": (3, 15), "grok-4-1-fast-reasoning": (0.2, 0.5), "grok-4-1-fast-non-reasoning": (0.2, 0.5),
    "meta-llama_llama-4-maverick-17b-128e-instruct-fp8-novita": (0.2, 0.85),
    "meta-llama_llama-4-scout-17b-16e-instruct-novita": (0.1, 0.5), "qwen_qwq-32b-novita": (0.18, 0.2),
}  # fmt: skip
"""Model folder without `-FC` -> price of a million input tokens and of a million output tokens, in dollars.

Models that are not listed are served locally.
"""
GPU_HOUR_PRICE = 23.92
"""Price of an hour of the machine that serves local models, in dollars."""
CONCURRENT_REQUESTS = 100
COST_TABLE = "cost and latency"


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Latency of the steps of a run, in seconds. As in the official program, steps with a latency of 0 are ignored."""

    n_steps: int
    total: float
    mean: float
    deviation: float | None
    """Sample standard deviation; None for a single step."""
    p95: float


def compute_cost_and_latency(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Return tokens, cost in dollars and latency in seconds, if the files contain them. Verdicts are not used."""
    used = [item for item in items if item.category not in UNSCORED_CATEGORIES]
    times = _summarize_step_times(tuple(item.seconds for item in used))
    tokens_in, tokens_out = sum(item.tokens_in or 0 for item in used), sum(item.tokens_out or 0 for item in used)
    tokens = {"input tokens": tokens_in, "output tokens": tokens_out}
    metrics = [Metric(COST_TABLE, name, value, "count") for name, value in tokens.items() if value]
    if run.generation not in ("V1", "V2", "V3"):
        metrics += _estimate_cost(run.model, tokens_in, tokens_out, times)
    if times is None:
        return metrics
    n = times.n_steps
    latencies = {"mean": times.mean, "standard deviation": times.deviation, "95th percentile": times.p95}
    return metrics + [
        Metric(COST_TABLE, f"latency {name}", value, "seconds", n=n, total=n, counted_noun="steps", digits=2)
        for name, value in latencies.items()
    ]


@lru_cache(maxsize=1)  # all sources of a run have the same latencies and are computed one after the other
def _summarize_step_times(seconds_by_item: tuple[tuple[float, ...], ...]) -> StepTimes | None:
    """Compute latency statistics over the steps of all items. Returns None if no step has a latency."""
    seconds = sorted(filter(None, chain.from_iterable(seconds_by_item)))
    if not seconds:
        return None
    n_steps, total = len(seconds), fsum(seconds)
    mean = total / n_steps
    # `statistics.stdev` computes with fractions and takes twenty times as long.
    deviation = dist(seconds, [mean] * n_steps) / sqrt(n_steps - 1) if n_steps > 1 else None
    position = (n_steps - 1) * 95 / 100  # linear interpolation, as in NumPy
    low, high = seconds[int(position)], seconds[min(int(position) + 1, n_steps - 1)]
    return StepTimes(n_steps, total, mean, deviation, low + (high - low) * (position - int(position)))


def _estimate_cost(model: str, tokens_in: int, tokens_out: int, times: StepTimes | None) -> list[Metric]:
    """Return the cost as a metric, or an empty list if tokens and latencies are missing."""
    price = TOKEN_PRICES.get(model.removesuffix("-FC").replace("-FC-", "-"))
    if price is not None:
        if not (tokens_in and tokens_out):
            return []
        dollars = (tokens_in * price[0] + tokens_out * price[1]) / 1e6
        note = (
            f"prices of the official program in March 2026, per million tokens: ${price[0]} input, ${price[1]} output"
        )
    elif times is not None:
        dollars = times.total / 3600 * GPU_HOUR_PRICE / CONCURRENT_REQUESTS
        note = f"estimated from machine time: ${GPU_HOUR_PRICE} per hour, with {CONCURRENT_REQUESTS} concurrent "
        note += "requests. The official program has no token price for this model"
    else:
        return []
    return [Metric(COST_TABLE, "cost", dollars, "dollars", note=note, digits=2)]

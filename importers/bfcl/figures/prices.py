"""What the official program takes tokens to cost. Source: `constants/model_config.py` of package bfcl-eval 2026.3.23
(Apache-2.0)."""

from __future__ import annotations

PRICES: dict[str, tuple[float, float]] = {
    "gpt-5.2-2025-12-11": (1.75, 14),
    "gpt-5-mini-2025-08-07": (0.25, 2),
    "gpt-5-nano-2025-08-07": (0.05, 0.4),
    "gpt-4.1-2025-04-14": (2, 8),
    "gpt-4.1-mini-2025-04-14": (0.4, 1.6),
    "gpt-4.1-nano-2025-04-14": (0.1, 0.4),
    "gpt-4o-2024-11-20": (2.5, 10),
    "gpt-4o-mini-2024-07-18": (0.15, 0.6),
    "o3-2025-04-16": (2, 8),
    "o4-mini-2025-04-16": (1.1, 4.4),
    "claude-opus-4-5-20251101": (5, 25),
    "claude-sonnet-4-5-20250929": (3, 15),
    "claude-haiku-4-5-20251001": (0.8, 4),
    "nova-pro-v1.0": (0.8, 3.2),
    "nova-2-lite-v1.0": (0.3, 2.5),
    "nova-micro-v1.0": (0.035, 0.14),
    "open-mistral-nemo-2407": (0.15, 0.15),
    "mistral-large-2411": (2, 6),
    "mistral-small-2506": (0.1, 0.3),
    "mistral-medium-2505": (0.4, 2),
    "gemini-2.5-flash-lite": (0.1, 0.4),
    "gemini-2.5-flash": (0.3, 2.5),
    "gemini-3-pro-preview": (2, 12),
    "gemini-3.1-flash-lite-preview": (0.25, 1.5),
    "command-r7b-12-2024": (0.0375, 0.15),
    "command-a-03-2025": (2.5, 10),
    "palmyra-x-004": (5, 12),
    "grok-4-0709": (3, 15),
    "grok-4-1-fast-reasoning": (0.2, 0.5),
    "grok-4-1-fast-non-reasoning": (0.2, 0.5),
    "meta-llama_llama-4-maverick-17b-128e-instruct-fp8-novita": (0.2, 0.85),
    "meta-llama_llama-4-scout-17b-16e-instruct-novita": (0.1, 0.5),
    "qwen_qwq-32b-novita": (0.18, 0.2),
}
"""Model folder without `FC` -> dollars a million input and output tokens. Others are served locally."""
GPU_HOUR = 23.92
"""Dollars an hour of the machine that serves local models, for `REQUESTS` requests at once."""
REQUESTS = 100


def price(model: str) -> tuple[float, float] | None:
    """(input, output) in dollars a million tokens; None for a model without a price."""
    return PRICES.get(model.removesuffix("-FC").replace("-FC-", "-"))

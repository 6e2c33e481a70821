"""Words of one's own for what is said of items, as the configuration file gives them. Without Textual."""

from __future__ import annotations

from dataclasses import dataclass

REASONS = ("too strict", "misread", "other")
"""Why an automatic verdict is overruled, where the configuration names nothing else."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    tags: tuple[str, ...] = ()
    """Offered first, with the digits from 1."""
    reasons: tuple[str, ...] = REASONS

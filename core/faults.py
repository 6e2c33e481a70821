"""Who is wrong. Apart from `review.py`, so that what only names faults does without pydantic."""

from __future__ import annotations

from typing import Literal

Fault = Literal["model", "golden", "checker", "judge", "simulator", "question"]
FAULTS: tuple[Fault, ...] = ("model", "golden", "checker", "judge", "simulator", "question")

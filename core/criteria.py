"""What is asked of a target, and what may be answered: the words people give, and the values that are stored."""

from __future__ import annotations

from typing import Any

from fcreview.review import CORRECT, UNSURE

EQUIVALENT = "equivalent"
PASS_FAIL: dict[str, Any] = {"pass": True, "fail": False, "unsure": UNSURE}
YES_NO: dict[str, Any] = {"yes": True, "no": False, "unsure": UNSURE}
ZERO_TO_TWO: dict[str, Any] = {"0": 0, "1": 1, "2": 2, "unsure": UNSURE}

SCALES: dict[str, dict[str, Any]] = {
    CORRECT: PASS_FAIL,
    EQUIVALENT: PASS_FAIL,
    "hallucinated": YES_NO,
    "completeness": ZERO_TO_TWO,
    "correctness": ZERO_TO_TWO,
}
"""Criterion -> word -> value."""

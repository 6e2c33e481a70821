"""What a score file says of a category whose results are not there.

Score files list failures only. Where the results are missing, every item that is known has failed, and a rate over them
would be 0 whatever the model did: then the figure of the file's header is all that is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Stated:
    """Passes out of the items that were scored, by the header."""

    passed: int
    of: int

    @property
    def words(self) -> str:
        """`the score file says 86.00 % (344 of 400); without results only what failed is known`"""
        share = f"{100 * self.passed / self.of:.2f} %"
        return f"the score file says {share} ({self.passed} of {self.of}); without results only what failed is known"


def stated(header: Any, items: int, passed: int) -> Stated | None:
    """The header's figure, `{"correct_count": 344, "total_count": 400, ...}`, if the items of the category, none of
    which passed, are no more than the failures that it counts; else None."""
    correct, total = (header.get("correct_count"), header.get("total_count")) if isinstance(header, dict) else (0, 0)
    if not isinstance(correct, int) or not isinstance(total, int) or passed:
        return None
    return Stated(correct, total) if 0 < correct < total and items <= total - correct else None

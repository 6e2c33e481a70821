"""Counts, rates and verdicts in words: the same in commands and on screens. Pure."""

from __future__ import annotations

from typing import Any

from fcreview.criteria import PASSING
from fcreview.review import CORRECT
from fcreview.sanitise import visible

NOTHING = "-"
_WORDS = {True: "pass", False: "fail", None: NOTHING}


def count_of(number: int, noun: str, plural: str = "") -> str:
    """`1 item`, `1,234 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def rate(passed: int, known: int) -> str:
    """`71.3 %`, or `-` where nothing is known."""
    return f"{100 * passed / known:.1f} %" if known else NOTHING


def official_rate(passed: int, known: int, stated_pass: int, stated_of: int) -> str:
    """`71.3 %`; `86.0 % stated` where only the headers of score files say it, the results being missing."""
    if known or not stated_of:
        return rate(passed, known)
    return f"{rate(stated_pass, stated_of)} stated"


def word(value: Any, criterion: str = CORRECT) -> str:
    """A verdict: pass, fail, or yes, no where true does not mean right; `-` for none, unsure, disputed, a number or
    labels. Visible text."""
    if isinstance(value, bool) and criterion not in PASSING:
        return "yes" if value else "no"
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    return visible(", ".join(map(str, value)) if isinstance(value, list) else str(value))

"""Counts, rates and verdicts in words: the same in commands and on screens. Pure."""

from __future__ import annotations

from typing import Any

from fcreview.criteria import PASSING
from fcreview.review import CORRECT
from fcreview.sanitise import visible

NOTHING = "-"
NO_DATASET = "no dataset: golden answers and questions missing; --data DIR"
_WORDS = {True: "pass", False: "fail", None: NOTHING}


def count_of(number: int, noun: str, plural: str = "") -> str:
    """`1 item`, `1,234 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def kind_of(benchmark: str, generation: str, language: str) -> str:
    """Of which dataset a run is, as commands name it: `acebench v1 zh`."""
    return " ".join(word for word in (benchmark, generation, language) if word)


def rate(passed: int, known: int) -> str:
    """`71.3 %`, or `-` where nothing is known."""
    return f"{100 * passed / known:.1f} %" if known else NOTHING


def rate_of(passed: int, known: int, items: int) -> str:
    """`71.3 %`, and where some items have no such verdict the number of those that have: `71.3 % of 998`."""
    return rate(passed, known) + (f" of {known:,}" if 0 < known < items else "")


def recomputed(passed: int, known: int, items: int, unknown: str = "·") -> str:
    """A rate only where every item could be judged anew, else how many could: `34.3 %`, `· (61 of 1,000)`. Which those
    are is no accident (without a dataset only failing items carry a golden answer), so that a rate misleads."""
    return rate(passed, known) if known in (0, items) else f"{unknown} ({known:,} of {items:,})"


def official_rate(passed: int, known: int, items: int, *, stated_pass: int = 0, stated_of: int = 0) -> str:
    """As `rate_of`; `86.0 % stated` where only the headers of score files say it, the results being missing."""
    if known or not stated_of:
        return rate_of(passed, known, items)
    return f"{rate(stated_pass, stated_of)} stated"


def word(value: Any, criterion: str = CORRECT) -> str:
    """A verdict: pass, fail, or yes, no where true does not mean right; `-` for none, unsure, disputed, a number or
    labels. Visible text."""
    if isinstance(value, bool) and criterion not in PASSING:
        return "yes" if value else "no"
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    return visible(", ".join(map(str, value)) if isinstance(value, list) else str(value))

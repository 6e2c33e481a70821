"""Counts, rates and verdicts in words, as screens and plain text say them."""

from __future__ import annotations

from typing import Any

_VERDICTS = {True: "pass", False: "fail"}


def count_of(number: int, noun: str, plural: str = "") -> str:
    """`1 item`, `1,234 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def rate(passed: int, known: int, nothing: str = "-") -> str:
    """`71.3 %`, or `nothing` where nothing is known."""
    return f"{100 * passed / known:.1f} %" if known else nothing


def share(part: int, whole: int) -> str:
    """`17 %`; `<1 %` rather than nothing."""
    return f"{100 * part / whole:.0f} %" if 100 * part >= whole else "<1 %"


def verdict(value: Any, nothing: str = "-") -> str:
    """A verdict in plain words: pass, fail, `nothing` for none, unsure, disputed, a number or labels.

    Not safe to draw before `sanitise.visible`: labels come from data.
    """
    if value is None:
        return nothing
    if isinstance(value, bool):
        return _VERDICTS[value]
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

"""What the drawn screen names: the item, what a verdict and what a score is about. Read off the rows, not asked of the
program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

PLACE = re.compile(
    r"^ (?P<id>.+?) +(?P<place>[\d,]+/[\d,]+) +official +(?P<official>\S+) +(recomp\.|recomputed) +(?P<rule>\S+)"
)
ABOUT = re.compile(r"verdict on: (?P<about>.+?)(?: · +\d+ % ?)?$")
SCORED = re.compile(r" 0 1 2 on: (?P<scored>.+?) ·")
WHY = re.compile(r" O why (?P<why>.+?):? +1 ")
MARKS = {"✓": True, "✗": False, "PASS": True, "FAIL": False}


@dataclass(frozen=True, slots=True)
class Named:
    id: str
    place: str
    about: str
    """`turn 1 call 2 equivalent`; empty where the line has room for a remark only: then it is the item."""
    scored: str
    why: str
    """Whose verdict digits give a reason for."""
    official: bool | None
    rule: bool | None


def named(rows: Sequence[str]) -> Named:
    head = PLACE.match(rows[0])
    assert head is not None, rows[0]
    about, scored = ABOUT.search(rows[-2]), SCORED.search(rows[-2])
    return Named(
        head["id"],
        head["place"],
        about["about"].strip() if about else "",
        scored["scored"].strip() if scored else "",
        why["why"] if (why := WHY.search(rows[-1])) else "",
        MARKS.get(head["official"]),
        MARKS.get(head["rule"]),
    )


def same(shown: str, whole: str) -> bool:
    """Whether a text that may be cut at its end or in its middle is this one."""
    head, cut, tail = shown.partition("…")
    return shown == whole if not cut else whole.startswith(head) and whole.endswith(tail)

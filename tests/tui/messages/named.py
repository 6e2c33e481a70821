"""What the drawn screen names: the item, what a verdict and what a score is about. Read off the rows, not asked of the
program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

ID = re.compile(r"^ fcreview +(?:.+ › )?(?P<id>.+?)(?: +[─━].*| {2,}.*)$")
PLACE = re.compile(r"^ (?P<place>[\d,]+/[\d,]+) +official +(?P<official>\S+) +(recomp\.|recomputed) +(?P<rule>\S+)")
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
    path, head = ID.search(rows[0]), PLACE.match(rows[1])
    assert path is not None and head is not None, rows[:2]
    about, scored = ABOUT.search(rows[-2]), SCORED.search(rows[-2])
    return Named(
        path["id"],
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

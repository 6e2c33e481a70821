"""Read the item, and the targets of verdict and score keys, from the rows of the drawn screen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

ID = re.compile(r"^ fcreview +(?:.+ › )?(?P<id>.+?)(?: +[─━].*| {2,}.*)$")
PLACE = re.compile(
    r"^ (?P<place>[\d,]+/[\d,]+) +official +(?P<official>\S+) +(recomp\.|recomputed) +(?P<rule>\S+)"
)
ABOUT = re.compile(r"verdict on: (?P<about>.+?)(?: · (?:top|end|\d+ %) ?)?$")
SCORED = re.compile(r" 0 1 2 on: (?P<scored>.+?) ·")
WHY = re.compile(r" Why .+ (?:passed|failed|to|for) (?P<why>.+?)\?")
MARKS = {"✓": True, "✗": False, "PASS": True, "FAIL": False}


@dataclass(frozen=True, slots=True)
class ScreenFacts:
    id: str
    place: str
    about: str
    """For example `turn 1 call 2 equivalent`.

    Empty if a message fills the line: then the item is the target.
    """
    scored: str
    why: str
    """The verdict for which the digit keys record a reason."""
    official: bool | None
    rule: bool | None


def read_facts(rows: Sequence[str]) -> ScreenFacts:
    path, head = ID.search(rows[0]), PLACE.match(rows[1])
    assert path is not None and head is not None, rows[:2]
    about, scored = ABOUT.search(rows[-2]), SCORED.search(rows[-2])
    return ScreenFacts(
        path["id"],
        head["place"],
        about["about"].strip() if about else "",
        scored["scored"].strip() if scored else "",
        why["why"] if (why := WHY.search(rows[-3])) else "",
        MARKS.get(head["official"]),
        MARKS.get(head["rule"]),
    )


def matches_cut_text(shown: str, whole: str) -> bool:
    """Return whether `shown` is this text, maybe cut at its end or in its middle."""
    head, cut, tail = shown.partition("…")
    return shown == whole if not cut else whole.startswith(head) and whole.endswith(tail)

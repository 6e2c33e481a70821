"""Why an automatic verdict was overruled: said of the verdict given last, with one key. Knows no screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fcreview.review import Event, Said
from fcreview.sanitise import visible
from fcreview.tui.item.judging import About, KeyOf
from fcreview.tui.text.format import cut_middle

NAME = 24
"""Cells of the item's or part's name in the line of keys."""
DIRECT = ("item.score_1", "item.score_2", "item.reason_3")
"""Actions that give the first reasons at once, where nothing is scored."""


@dataclass(frozen=True, slots=True)
class Overruled:
    """A verdict that contradicts an automatic one."""

    about: About
    criterion: str
    over: dict[str, Any]
    """{source, by, value}, as `Said.overrules`."""

    def says(self, reason: str) -> Said:
        """A part of its own: the verdict stays what it is."""
        return Said(target=self.about.target, criterion=self.criterion, overrules={**self.over, "reason": reason})


class Why:
    """The verdict given last, if it overrules one, and the reasons there are for that."""

    def __init__(self, reasons: Sequence[str], key: KeyOf) -> None:
        self.overruled: Overruled | None = None
        self._reasons, self._key = reasons, key

    def judged(self, about: About, event: Event | None) -> None:
        """What was said last, if it was a verdict."""
        if event is not None and event.verdict is not None:
            there = replace(about, target=event.target)  # a score is given wherever the cursor is
            self.overruled = Overruled(there, event.criterion, event.overrules) if event.overrules else None

    def reason(self, number: int) -> str:
        """The reason of this number, from 1; empty if there is none."""
        return self._reasons[number - 1] if 0 < number <= len(self._reasons) else ""

    @property
    def lacks(self) -> str:
        """Why no reason can be given, in words."""
        if self.overruled is None:
            return "the verdict given last overrules none"
        return f"reasons are {', '.join(f'{at} {visible(one)}' for at, one in enumerate(self._reasons, 1))}"

    def hints(self, *, scored: bool) -> list[tuple[str, str]]:
        """(key, what it says) for the line of keys: `1 too strict`, behind what it is about. Where the digits are
        scores, only the key that asks for a reason in a prompt. Nothing where nothing was overruled."""
        if self.overruled is None:
            return []
        asks = f"why {cut_middle(self.overruled.about.name, NAME)}"
        digits = [] if scored else zip(map(self._key, DIRECT), map(visible, self._reasons), strict=False)
        shown = [(key, says) for key, says in digits if key]
        return [(self._key("item.why"), f"{asks}:" if shown else asks), *shown]

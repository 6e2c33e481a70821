"""The item screen's last two lines: what was said, what a verdict would be about, and keys. Pure.

How far a person is in a session: items done, seconds each, items left. Pure.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from fcreview.model.address import ITEM, words
from fcreview.model.review import CORRECT
from fcreview.model.sanitize import visible, width
from fcreview.tui.review.judge import GOLDEN_WRONG, Asked
from fcreview.tui.text.lines import Line, Part, cut, hints_line, line_width, spread
from fcreview.tui.text.theme import symbols

PAUSE = 180.0
"""Seconds: whoever needs longer for an item was away."""
LATEST = 50
"""Items whose time counts."""


@dataclass(slots=True)
class Pace:
    left: int | None = None
    """Items of the queue that this annotator had not judged when it was counted; None: not counted yet."""
    done: set[Hashable] = field(default_factory=set)
    """Items judged since."""
    _times: list[float] = field(default_factory=list)
    _last: float | None = None

    def judged(self, item: Hashable, now: float) -> None:
        """`now` in seconds of a clock that never goes back."""
        if self._last is not None and now - self._last < PAUSE:
            self._times = [*self._times, now - self._last][-LATEST:]
        self._last = now
        self.done.add(item)

    def undone(self, item: Hashable) -> None:
        self.done.discard(item)

    def begin(self, now: float) -> None:
        """The first item is on screen."""
        self._last = now

    def counted(self, left: int) -> None:
        """Items without a verdict now, those that are done not among them."""
        self.left = left + len(self.done)

    @property
    def said(self) -> str:
        """`30 done · 4.1 s each · 1,482 left`; empty before the first item is done."""
        if not self.done:
            return ""
        parts = [f"{len(self.done):,} done"]
        parts += [f"{median(self._times):.1f} s each"] if self._times else []
        parts += [f"{max(self.left - len(self.done), 0):,} left"] if self.left is not None else []
        return " · ".join(parts)


class Remark(NamedTuple):
    """What is said to the person, and the name of its style."""

    text: str
    style: str = "good"


SILENT = Remark("", "")
SCORES = ("item.score", "item.score_1", "item.score_2")


@dataclass(frozen=True, slots=True)
class Hint:
    actions: tuple[str, ...]
    says: str
    stays: int
    """How long it stays when there is less and less room: 0 goes first."""


HINTS = (
    Hint(("item.next", "item.previous"), "items", 3),
    Hint(("item.down", "item.up"), "move", 3),
    Hint(("item.fold",), "open", 1),
    Hint(("item.difference",), "difference", 2),
    Hint(("item.dialogue",), "dialogue", 1),
    Hint(("item.document",), "document", 0),
    Hint(("item.raw",), "records", 0),
    Hint(("item.search",), "search", 1),
    Hint(("item.back",), "queue", 2),
)


def status_line(
    remark: tuple[str, str],
    asked: Asked,
    share: int,
    inside: bool,
    cells: int,
    keys: Mapping[str, str] | None = None,
    pace: str = "",
) -> Line:
    """` saved: fail · live_simple_3-2-1     T verdict on: turn 2 call 1 · 40 %`; hints where there is no remark.

    `share`: per cent of the document that lies above; `keys`: of actions, by their ids; `pace`: how far the session is.
    """
    keys = keys or {}
    target = asked.target
    on = words(target) if asked.criterion == CORRECT else f"{words(target)} {asked.criterion}"
    about: Part = (f"verdict on: {visible(on)}", "dim" if target == ITEM else "warn")
    key = f" {keys['item.target']} " if "item.target" in keys else " "
    digits = " ".join(keys[action] for action in SCORES if action in keys)
    scored = f" {digits} on: {visible(asked.scored)}"
    score: Line = ((f"{scored} ·", "warn"),) if asked.scored else ()
    alone: Line = ((scored, "warn"),) if asked.scored else ()
    there: Part = (f" · {share:3} % ", "dim")
    right: Line = ((" in arguments ·" if inside else "", "dim"), *score, (key, "key"), about, there)
    bare: Line = (*score, (key, "key"), about)
    text, style = remark
    if not text:
        right = right if line_width(right) < cells else bare
        return spread(((" " + hints(keys, cells - line_width(right) - 2), "dim"),), right, cells)
    left: Line = ((" " + text, style),)
    own: Part = (f" · {pace}" if pace else "", "dim")
    led: Line = (own, (" ·" if pace else "", "dim"))
    if target == ITEM:
        choices = [(*led, *right), (*(led if score else (own,)), *alone, there), (*alone, there), alone]
    else:
        choices = [(*led, *right), right, bare]
        if score and asked.scored.startswith(words(target)):
            choices.append(alone)
    fits = (each for each in choices if line_width(left) + line_width(each) < cells)
    chosen = next(fits, choices[-1])  # what a verdict or a score is about stays
    place = f" · {visible(words(target))}"
    if target != ITEM and text.endswith(place) and line_width(left) + line_width(chosen) >= cells:
        if not score:  # it need not be said twice
            chosen = ((key, "key"), (f"verdict on:{place[2:]}", "warn"))
        room, said = max(cells - line_width(chosen) - 2, 1), text.removesuffix(place)
        for shorter in (f"golden {symbols().failed} ", f"{symbols().ellipsis} "):  # what was asked stands behind it
            if width(said) > room:
                said = text.removesuffix(place).replace(GOLDEN_WRONG, shorter)
        left = ((" " + cut(said, room), style),)
    return spread(left, chosen, cells)


def asked_here(target: str, criterion: str) -> Remark:
    """Where a score key led, instead of giving one."""
    return Remark(visible(f"{criterion} of the {words(target)} is asked here: 0 1 2"), "warn")


def hints(keys: Mapping[str, str], cells: int) -> str:
    """`] [ items · j k move · . difference · q queue`: as many as fit, those that stay longest in any case."""
    most = max(hint.stays for hint in HINTS)
    for stays in range(most + 1):
        shown = [
            " ".join([*(keys[action] for action in hint.actions if action in keys), hint.says])
            for hint in HINTS
            if hint.stays >= stays and any(action in keys for action in hint.actions)
        ]
        text = " · ".join(shown)
        if len(text) <= cells or stays == most:
            return text
    return ""


def key_line(hints: Sequence[tuple[str, str]], cells: int) -> Line:
    """As many keys as fit, from the left; help always, at the end."""
    return hints_line(sorted(hints, key=lambda hint: hint[1] == "help"), cells, 1)

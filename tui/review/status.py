"""The status line and the line of keys of the item screen, and the pace of a review session. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from fcreview.model.address import ITEM, describe_address
from fcreview.model.review import CORRECT
from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.review.judge import GOLDEN_WRONG_PREFIX, PendingQuestion
from fcreview.tui.text.lines import Line, StyledText, justify_line, key_hints_line, line_width, truncate
from fcreview.tui.text.theme import symbols

BREAK_SECONDS = 180.0
"""Seconds. A longer time for an item is a break and not counted."""
AVERAGED_ITEMS = 50
"""Number of recent items whose time is averaged."""


@dataclass(slots=True)
class Pace:
    """Items reviewed in this session, seconds an item and items left."""

    unreviewed_at_start: int | None = None
    """Items of the queue without a verdict of this annotator when the session began; None until they are counted."""
    reviewed_items: set[Hashable] = field(default_factory=set)
    """Items reviewed since."""
    _times: list[float] = field(default_factory=list)
    _last: float | None = None

    def record_item(self, item: Hashable, now: float) -> None:
        """Count an item. `now`: seconds of a monotonic clock."""
        if self._last is not None and now - self._last < BREAK_SECONDS:
            self._times = [*self._times, now - self._last][-AVERAGED_ITEMS:]
        self._last = now
        self.reviewed_items.add(item)

    def remove_item(self, item: Hashable) -> None:
        self.reviewed_items.discard(item)

    def start(self, now: float) -> None:
        """Start the clock: the first item is on screen."""
        self._last = now

    def set_unreviewed(self, left: int) -> None:
        """Set the number of items without a verdict, counted now."""
        self.unreviewed_at_start = left + len(self.reviewed_items)

    @property
    def summary(self) -> str:
        """`30 done · 4.1 s each · 1,482 left`, or an empty string before the first item is done."""
        if not self.reviewed_items:
            return ""
        parts = [f"{len(self.reviewed_items):,} done"]
        parts += [f"{median(self._times):.1f} s each"] if self._times else []
        parts += [f"{max(self.unreviewed_at_start - len(self.reviewed_items), 0):,} left"] if self.unreviewed_at_start is not None else []
        return " · ".join(parts)


class StatusMessage(NamedTuple):
    """A message of the status line and the name of its style."""

    text: str
    style: str = "good"


NO_MESSAGE = StatusMessage("", "")
SCORE_ACTIONS = ("item.score", "item.score_1", "item.score_2")


@dataclass(frozen=True, slots=True)
class KeyHint:
    actions: tuple[str, ...]
    label: str
    priority: int
    """Hints with the lowest priority are dropped first when the line is too short."""


KEY_HINTS = (
    KeyHint(("item.next", "item.previous"), "items", 3),
    KeyHint(("item.down", "item.up"), "move", 3),
    KeyHint(("item.fold",), "open", 1),
    KeyHint(("item.difference",), "difference", 2),
    KeyHint(("item.dialogue",), "dialogue", 1),
    KeyHint(("item.document",), "document", 0),
    KeyHint(("item.raw",), "records", 0),
    KeyHint(("item.search",), "search", 1),
    KeyHint(("item.back",), "queue", 2),
)


def status_line(
    message: tuple[str, str],
    question: PendingQuestion,
    percent: int,
    in_arguments: bool,
    cells: int,
    keys: Mapping[str, str] | None = None,
    pace: str = "",
) -> Line:
    """` saved: fail · live_simple_3-2-1     T verdict on: turn 2 call 1 · 40 %`; hints instead of an empty remark.

    `share`: percentage of the document above the bottom of the screen; `inside`: the cursor stops at arguments; `keys`:
    keys by action id; `pace`: summary of the session.
    """
    keys = keys or {}
    target = question.target
    on = (
        describe_address(target)
        if question.criterion == CORRECT
        else f"{describe_address(target)} {question.criterion}"
    )
    about: StyledText = (f"verdict on: {sanitize(on)}", "dim" if target == ITEM else "warn")
    key = f" {keys['item.target']} " if "item.target" in keys else " "
    digits = " ".join(keys[action] for action in SCORE_ACTIONS if action in keys)
    scored = f" {digits} on: {sanitize(question.score_question)}"
    score: Line = ((f"{scored} ·", "warn"),) if question.score_question else ()
    alone: Line = ((scored, "warn"),) if question.score_question else ()
    there: StyledText = (f" · {percent:3} % ", "dim")
    right: Line = ((" in arguments ·" if in_arguments else "", "dim"), *score, (key, "key"), about, there)
    bare: Line = (*score, (key, "key"), about)
    text, style = message
    if not text:
        right = right if line_width(right) < cells else bare
        return justify_line(((" " + format_hints(keys, cells - line_width(right) - 2), "dim"),), right, cells)
    left: Line = ((" " + text, style),)
    own: StyledText = (f" · {pace}" if pace else "", "dim")
    led: Line = (own, (" ·" if pace else "", "dim"))
    if target == ITEM:
        choices = [(*led, *right), (*(led if score else (own,)), *alone, there), (*alone, there), alone]
    else:
        choices = [(*led, *right), right, bare]
        if score and question.score_question.startswith(describe_address(target)):
            choices.append(alone)
    fits = (each for each in choices if line_width(left) + line_width(each) < cells)
    chosen = next(fits, choices[-1])  # the target of a verdict or score is always shown
    place = f" · {sanitize(describe_address(target))}"
    if target != ITEM and text.endswith(place) and line_width(left) + line_width(chosen) >= cells:
        if not score:  # avoid naming the part twice
            chosen = ((key, "key"), (f"verdict on:{place[2:]}", "warn"))
        room, shown = max(cells - line_width(chosen) - 2, 1), text.removesuffix(place)
        for shorter in (f"golden {symbols().failed} ", f"{symbols().ellipsis} "):  # keep the criterion at the end
            if display_width(shown) > room:
                shown = text.removesuffix(place).replace(GOLDEN_WRONG_PREFIX, shorter)
        left = ((" " + truncate(shown, room), style),)
    return justify_line(left, chosen, cells)


def score_moved_message(target: str, criterion: str) -> StatusMessage:
    """Message after a score key moved the cursor to the criterion instead of recording a score."""
    return StatusMessage(sanitize(f"{criterion} of the {describe_address(target)} is asked here: 0 1 2"), "warn")


def format_hints(keys: Mapping[str, str], cells: int) -> str:
    """`] [ items · j k move · . difference · q queue`: as many as fit, by priority."""
    most = max(hint.priority for hint in KEY_HINTS)
    for lowest in range(most + 1):
        shown = [
            " ".join([*(keys[action] for action in hint.actions if action in keys), hint.label])
            for hint in KEY_HINTS
            if hint.priority >= lowest and any(action in keys for action in hint.actions)
        ]
        text = " · ".join(shown)
        if len(text) <= cells or lowest == most:
            return text
    return ""


def fit_key_hints(hints: Sequence[tuple[str, str]], cells: int) -> Line:
    """As many keys as fit from the left, then always the help key."""
    return key_hints_line(sorted(hints, key=lambda hint: hint[1] == "help"), cells, 1)

"""Decide to which item a pressed key applies, and ignore review keys that nobody can have meant for
it.

Times are seconds of the monotonic clock. An item is on screen from the flush of the frame that
shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from fcreview.tui.review.recorder import ReviewSubject
from fcreview.tui.text.messages import StatusMessage

if TYPE_CHECKING:
    from textual.app import App

REPEAT_TIME = 0.3
"""Seconds after a verdict in which the same key on the same item is taken for a slip."""
HELD_KEY_TIME = 0.1
"""Longest time between two presses of a key that is held down."""
JUST_APPEARED = "the item had just appeared"
PRESSED_TWICE = "it was pressed twice"


def make_ignored_key_message(app: App[Any], reason: str) -> StatusMessage:
    """Return the message that the last pressed key was ignored."""
    key = getattr(app, "last_key_name", "key")
    return StatusMessage(f"{key} ignored: {reason}", "warn")


def _never() -> float:
    return inf


@dataclass(frozen=True, slots=True)
class VerdictPress:
    verdict_key: str
    """Name of the key, as in `verdict_keys.VERDICT_KEY_BY_NAME`."""
    subject: tuple[int, str, str]
    """Item, target and criterion."""
    time: float


class KeyGuard:
    """Finds the item to which a pressed key applies, and the keys that must be ignored.

    A key applies to the item that was on screen when it was pressed.

    Args:
        guard_time: Time in seconds for which an item must have been on screen before a review key
            acts on it. With 0, every key acts.
    """

    def __init__(self, guard_time: float) -> None:
        self.guard_time = guard_time
        self.drawn: ReviewSubject | None = None
        """Item and target that the header and the status line name."""
        self._find_flush_time: Callable[[], float] = _never
        """Returns when the terminal received the first frame with the item. Infinity before."""
        self._from_list = False
        """Whether the item is on screen because the cursor of the list moved to it."""
        self._previous: ReviewSubject | None = None
        """The last item that was on screen before the current one. None if it has gone."""
        self._previous_drawn_at = inf
        """When the terminal received that item, in seconds of the monotonic clock."""

        self._last_press: VerdictPress | None = None
        """The last press of a verdict key."""
        self._last_verdict: VerdictPress | None = None
        """The last press that was not ignored."""

    @property
    def drawn_at(self) -> float:
        """When the current item appeared on screen. Infinity if it has not appeared."""
        return self._find_flush_time()

    def record_new_item(self, *, is_from_list: bool) -> None:
        """Record that a new item was selected but is not on screen yet.

        `is_from_list`: whether the user selected the item in the list, where it is highlighted at
        once. A key that is pressed now then cannot be meant for the previous item.
        """
        drawn_at = self.drawn_at
        was_drawn = drawn_at < inf
        if is_from_list:
            self._previous = None
        elif was_drawn:
            # It stays on screen until the new item is drawn. An item that was never drawn is
            # skipped: the one before it is still on screen.
            self._previous = self.drawn
            self._previous_drawn_at = drawn_at

        # `record_frame` waits for the first frame with the new item.
        self._find_flush_time = _never
        self._from_list = is_from_list

    def record_frame(self, find_flush_time: Callable[[], float]) -> None:
        """Record that the app sent a frame with the current item to the terminal.

        `find_flush_time`: returns the time at which the terminal received the frame, or infinity if
        it has not received the frame yet.
        """
        # Only the first frame with the item counts.
        is_first_frame = self._find_flush_time is _never
        if is_first_frame:
            self._find_flush_time = find_flush_time

    def is_item_ambiguous(self, key_time: float | None) -> bool:
        """Whether list and header named different items when the key was pressed."""
        return self._from_list and key_time is not None and key_time < self.drawn_at

    def subject_at_key_press(self, key_time: float | None, current: ReviewSubject) -> ReviewSubject:
        """Return the item and target on screen when the key was pressed.

        `current`: those on screen now.
        """
        if self._previous is None or key_time is None or key_time >= self.drawn_at:
            return current
        return self._previous

    def has_just_appeared(self, subject: ReviewSubject, key_time: float | None) -> bool:
        """Whether an item had been on screen for less than the guard time when a key was pressed.

        `subject`: the item, as `subject_at_key_press` returned it.
        """
        if not self.guard_time or key_time is None:
            return False
        drawn_at = self._previous_drawn_at if subject is self._previous else self.drawn_at
        return key_time < drawn_at + self.guard_time

    def record_press(self, verdict_key: str, subject: ReviewSubject, key_time: float | None) -> str:
        """Record that a verdict key was pressed. Return why it must be ignored, or an empty string
        if it acts.

        A key is ignored if the user cannot have seen the item when they pressed it, or if it is the
        same press again.
        """
        if not self.guard_time or key_time is None:
            return ""

        press = VerdictPress(
            verdict_key, (subject.item, subject.target, subject.criterion), time=key_time
        )
        # A held key repeats quickly, also after a press that was ignored. A key that is pressed
        # twice by mistake repeats more slowly.
        is_held = _is_repeat(press, self._last_press, HELD_KEY_TIME)
        is_pressed_twice = _is_repeat(press, self._last_verdict, REPEAT_TIME)
        self._last_press = press

        if self.has_just_appeared(subject, key_time):
            return JUST_APPEARED
        if is_held or is_pressed_twice:
            return PRESSED_TWICE
        self._last_verdict = press
        return ""


def _is_repeat(press: VerdictPress, earlier: VerdictPress | None, seconds: float) -> bool:
    """Whether a press is the same verdict on the same target as an earlier one, within `seconds`.

    Presses with equal times do not repeat each other, because one of them is a command without a
    key.
    """
    if earlier is None or earlier.verdict_key != press.verdict_key:
        return False
    return earlier.subject == press.subject and 0 < press.time - earlier.time <= seconds

"""Reviews the items of a queue: records what keys and prompts submit for the displayed item, and moves to the next one.

Actions run in the order of their keys, each for the item that was on screen when its key was pressed. An item whose
verdict is on disk is replaced by the next one as soon as no further action waits for it. Contains no Textual code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from fcreview.model.address import ITEM, describe_address
from fcreview.model.review import Annotation, Event
from fcreview.model.sanitize import sanitize
from fcreview.store.rows import ItemDetail, View
from fcreview.tui.action_queue import QueuedAction
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.review.judge import KeyLookup, ReviewOutcome, PendingQuestion, ReviewRecorder, ReviewSubject, score_criteria
from fcreview.tui.review.prefetch import GONE_ITEM, DisplayedItem, ItemPrefetcher, RequestedItem
from fcreview.tui.review.status import NO_MESSAGE, Pace, StatusMessage, score_moved_message
from fcreview.tui.session import Session
from fcreview.tui.text.lines import truncate_middle

if TYPE_CHECKING:
    from textual.app import App
    from textual.screen import Screen

    from fcreview.tui.widgets.item_text import ItemText


SLOW_ACTION_DELAY = 0.4
"""Seconds after which the status line names what an action waits for."""
NAME_CELLS = 24
"""Width in cells of the item's or part's name in the line of keys."""
REASON_ACTIONS = ("item.score_1", "item.score_2", "item.reason_3")
"""Actions that select the first three override reasons on an item without scores."""
SCORE_VALUES = (0, 1, 2)

RecordAction = Callable[[ReviewSubject], Awaitable[ReviewOutcome]]
"""Records a review of a subject, as the methods of `ReviewRecorder` do."""


class ItemView(Protocol):
    """The pane that shows an item, as `ItemReviewer` and the dialogs use it."""

    item_reviewer: ItemReviewer
    text: ItemText

    @property
    def app(self) -> App[Any]: ...

    @property
    def cursor(self) -> Cursor:
        """The cursor in the displayed item."""
        ...

    @property
    def is_in_front(self) -> bool:
        """True if nothing covers the pane and it may show another item."""
        ...

    def show_item(self, displayed: DisplayedItem, remark: StatusMessage) -> None:
        """Show another item."""
        ...

    def refresh_item(self, displayed: DisplayedItem, remark: StatusMessage) -> None:
        """Show the same item with its current reviews."""
        ...

    def show_message(self, remark: StatusMessage) -> None:
        """Show a message in the status line."""
        ...

    def close(self, item: int) -> None:
        """Close the pane. `item`: the item displayed last."""
        ...

    def notify_saved(self, item: int) -> None:
        """Announce that a review of the item is on disk, so that other widgets read the item again."""
        ...

    def run_coroutine(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as long as the pane exists."""
        ...

    def make_screen(self, view: View, item: int) -> Screen[int]:
        """Return a screen that shows another item over this one."""
        ...


class ActionRunner:
    """Runs the actions of a review screen through the session's queue and reports errors and delays."""

    def __init__(
        self, session: Session, say: Callable[[StatusMessage], None], run: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        """`say` shows a message. `run` runs a coroutine as long as the screen exists."""
        self._session, self._show_message, self._run = session, say, run
        self._last = NO_MESSAGE

    def queue_action(self, action: QueuedAction, waiting: str = "waiting for the disk") -> None:
        """Queue an action. `waiting` is the message shown if it takes longer than `PATIENCE`."""
        if self._session.actions.add(lambda: self._run_guarded(action, waiting)):
            self._run(self._run_all())

    def show_message(self, text: str, style: str = "good") -> None:
        """Show a message."""
        self._last = StatusMessage(text, style)
        self._show_message(self._last)

    async def _run_all(self) -> None:
        dropped = await self._session.actions.run()
        if dropped:
            keys = "1 key" if dropped == 1 else f"{dropped} keys"
            self.show_message(f"{self._last.text} · not done: {keys} pressed after it", "bad")

    async def _run_guarded(self, action: QueuedAction, waiting: str) -> bool:
        slow = asyncio.get_running_loop().call_later(SLOW_ACTION_DELAY, self.show_message, waiting, "warn")
        try:
            return await action()
        except asyncio.CancelledError:
            if not self._session.is_leaving:
                raise
            return True  # an item that can no longer be shown does not stop the reviews queued behind it
        except Exception as error:  # an item that cannot be read must not end the program
            self.show_message(sanitize(str(error) or type(error).__name__), "bad")
            return False
        finally:
            slow.cancel()


@dataclass(frozen=True, slots=True)
class Override:
    """A verdict that contradicts an automatic one."""

    subject: ReviewSubject
    criterion: str
    contradicted: dict[str, Any]
    """{source, by, value} of the automatic verdict, as in `Said.overrules`."""

    def annotation(self, reason: str) -> Annotation:
        """The reason as an annotation of its own. It changes no verdict."""
        overrules = {**self.contradicted, "reason": reason}
        return Annotation(target=self.subject.target, criterion=self.criterion, overrules=overrules)


class OverrideReasons:
    """The last verdict, if it overrides an automatic one, and the reasons to choose from."""

    def __init__(self, reasons: Sequence[str], key: KeyLookup) -> None:
        self.override: Override | None = None
        self._reasons, self._key = reasons, key

    def remember_override(self, subject: ReviewSubject, event: Event | None) -> None:
        """Keep the event's override if the event has a verdict."""
        if event is not None and event.verdict is not None:
            about = replace(subject, target=event.target)  # a score's target may differ from the cursor's
            self.override = Override(about, event.criterion, event.overrules) if event.overrules else None

    def reason_at(self, number: int) -> str:
        """The reason with this number, from 1, or an empty string."""
        return self._reasons[number - 1] if 0 < number <= len(self._reasons) else ""

    @property
    def unavailable_message(self) -> str:
        """Message for a key that selects no reason."""
        if self.override is None:
            return "the last verdict overrides nothing"
        return f"reasons are {', '.join(f'{at} {sanitize(one)}' for at, one in enumerate(self._reasons, 1))}"

    def key_hints(self, *, scored: bool) -> list[tuple[str, str]]:
        """(key, label) for the line of keys: `1 too strict`, after the name of the item or part.

        Where digits are scores, only the key that opens the prompt. Empty without an override.
        """
        if self.override is None:
            return []
        label = f"why {truncate_middle(self.override.subject.name, NAME_CELLS)}"
        digits = [] if scored else zip(map(self._key, REASON_ACTIONS), map(sanitize, self._reasons), strict=False)
        shown = [(key, reason) for key, reason in digits if key]
        return [(self._key("item.why"), f"{label}:" if shown else label), *shown]


class ItemReviewer:
    """Records reviews of the item on an `ItemView` and moves the view through the queue."""

    def __init__(self, session: Session, prefetcher: ItemPrefetcher, view: ItemView, key: KeyLookup) -> None:
        self.recorder = ReviewRecorder(session, key)
        self.override_reasons = OverrideReasons(session.vocabulary.reasons, key)
        self.direction = 1
        """1 if the user last moved forward, -1 if backward."""
        self.last_completed_item: int | None = None
        """The item that was completed last."""
        self.pace = Pace()
        self._session, self._prefetcher, self._view, self._key = session, prefetcher, view, key
        self._runner = ActionRunner(session, view.show_message, view.run_coroutine)
        self._displayed: DisplayedItem | None = None
        self._is_detail_stale = False
        """True if a review of the item was written since the item was read."""
        self._pending_item: tuple[int, StatusMessage] | None = None
        """The item to show, with its message, once no action waits for the displayed one."""
        self._requested: RequestedItem | None = None
        """The item that the list asked for, until it is displayed."""

    # -- the displayed item

    @property
    def has_item(self) -> bool:
        """True once an item was read. Keys do nothing before."""
        return self._displayed is not None

    @property
    def is_gone(self) -> bool:
        """True if the displayed item is no longer in the store."""
        return self._displayed is not None and self._displayed.navigator.item == GONE_ITEM

    @property
    def displayed(self) -> DisplayedItem:
        """The displayed item. RuntimeError before one was read."""
        if self._displayed is None:
            raise RuntimeError("no item was read yet")
        return self._displayed

    @property
    def is_settled(self) -> bool:
        """True if an item is displayed and no other one is due."""
        return self._displayed is not None and self._pending_item is None and self._requested is None

    @property
    def has_request(self) -> bool:
        """True if the list asked for another item than the displayed one."""
        return self._requested is not None

    def is_showing(self, item: int, view: View) -> bool:
        """Whether the item of this view is displayed, or is the next to be."""
        if self._requested is not None:
            return (self._requested.item, self._requested.view) == (item, view)
        here = self._displayed is not None and self._displayed.item == item
        return here and self._prefetcher.view == view and not self._is_detail_stale and self._pending_item is None

    def switch_store(self, displayed: DisplayedItem, last_item: int | None) -> None:
        """Continue with the same item in another store. `last_item`: the number there of the item completed last."""
        self._displayed, self._is_detail_stale, self.last_completed_item, self.pace.unreviewed_at_start = displayed, False, last_item, None
        self._prefetcher.set_view(displayed.navigator.view)
        self._prefetcher.discard_numbers()

    def continue_from(self, other: ItemReviewer) -> None:
        """Continue with the state of another pane that was closed."""
        self._displayed, self._is_detail_stale, self._pending_item = other._displayed, other._is_detail_stale, other._pending_item
        self.last_completed_item, self.pace, self.direction = other.last_completed_item, other.pace, other.direction
        self.recorder, self.override_reasons, self._requested = other.recorder, other.override_reasons, None
        self._prefetcher.set_view(other._prefetcher.view)

    # -- reviews

    def record_verdict(self, subject: ReviewSubject, key: str) -> None:
        """Record a verdict. `key` is one of `judge.VERDICTS`."""
        self.record(subject, lambda latest: self.recorder.record_verdict(latest, key))

    def record(self, subject: ReviewSubject, action: RecordAction) -> None:
        """Queue the recording of a review."""
        self._queue_action(lambda: self._record(subject, action))

    async def _record(self, subject: ReviewSubject, action: RecordAction) -> bool:
        """Record a review of the subject's current state: an earlier review may not have been on disk at the key
        press."""
        displayed = subject.item == self.displayed.navigator.item
        subject = replace(subject, detail=await self._latest_detail(subject))
        outcome = await action(subject)
        self.override_reasons.remember_override(subject, outcome.event)
        if not outcome.succeeded:
            self._show_message(outcome.text, outcome.style)
            return outcome.style != "bad"
        self._view.notify_saved(subject.item)
        if outcome.completes_item:
            self.last_completed_item = subject.item
            self.pace.record_item(subject.detail.key, monotonic())
        if not displayed:
            self._prefetcher.discard_prefetched()
            self._show_message(f"{outcome.text} · {sanitize(subject.detail.row.id)}")
        elif outcome.completes_item:
            await self._complete_item(outcome)
        elif self._pending_item is not None:
            self._is_detail_stale, self._pending_item = True, (self._pending_item[0], StatusMessage(outcome.message))
        else:
            await self._refresh(outcome.message)
        return True

    async def _latest_detail(self, subject: ReviewSubject) -> ItemDetail:
        if subject.item == self.displayed.navigator.item and not self._is_detail_stale:
            return self.displayed.detail
        try:
            return await self._prefetcher.read_detail(subject.item)
        except asyncio.CancelledError:
            if not self._session.is_leaving:
                raise
            return subject.detail  # the program is ending: nothing more is read, but the review is written

    async def _complete_item(self, outcome: ReviewOutcome) -> None:
        self._is_detail_stale = True
        following = await self._prefetcher.find_next_unreviewed(self.displayed)
        if following is None:
            await self._refresh(f"{outcome.text} · {await self._end_message()}")
            return
        self._pending_item = (following, StatusMessage(outcome.message))
        if not self._view.is_in_front:
            self._show_message(outcome.message)
        self._queue_action(self._show_pending_item)  # after the actions that were queued meanwhile

    async def _end_message(self) -> str:
        left = await self._prefetcher.find_remaining(self.displayed)
        if not left.count:
            return "queue complete · next: fcreview export, fcreview report"
        key = self._key("item.next")
        return f"end of the queue, {left} left unreviewed{key and f': {key} goes there'}"

    def score(self, subject: ReviewSubject, value: int) -> None:
        """Record a score at the block of its criterion; from elsewhere, move the cursor there first.

        On an item without scores the number selects a reason for the last override, if there is one.
        """
        target, criterion = self.recorder.next_score(subject) or ("", "")
        if target and subject.item != self.displayed.item:
            self._show_message("score not saved: another item was opened", "bad")
        elif target and needs_cursor_move(target, self._view.cursor) and self._view.text.move_to_target(target):
            self._view.show_message(score_moved_message(target, criterion))
        else:
            self._queue_action(lambda: self._score(subject, value))

    async def _score(self, subject: ReviewSubject, value: int) -> bool:
        scored = bool(score_criteria(subject.detail))
        if scored and value not in SCORE_VALUES:
            self._show_message("a score is 0, 1 or 2", "warn")
            return True
        if not scored and value and self.override_reasons.override is not None:
            return await self._record_override_reason(value)
        return await self._record(subject, lambda latest: self.recorder.record_score(latest, value))

    def pending_question(self, subject: ReviewSubject) -> PendingQuestion:
        """The question that verdict and score keys answer, for the status line."""
        target, criterion = self.recorder.next_score(subject) or ("", "")
        here = bool(target) and not needs_cursor_move(target, self._view.cursor)
        return replace(subject.question, score_question=f"{describe_address(target)} {criterion}" if here else "")

    @property
    def override_hints(self) -> list[tuple[str, str]]:
        """(key, label) of the reasons for the last override."""
        return self.override_reasons.key_hints(scored=bool(score_criteria(self.displayed.detail))) if self.has_item else []

    def with_last_override(self, ask: Callable[[str], None]) -> None:
        """Call `ask` with the name of the item or part that was overridden last, once queued verdicts are on disk."""

        async def act() -> bool:
            if self.override_reasons.override is None:
                self._show_message(self.override_reasons.unavailable_message, "warn")
            else:
                ask(self.override_reasons.override.subject.name)
            return True

        self._queue_action(act)

    def record_override_reason(self, number: int) -> None:
        """Record the reason with this number, from 1, for the last override."""
        self._queue_action(lambda: self._record_override_reason(number))

    async def _record_override_reason(self, number: int) -> bool:
        override, reason = self.override_reasons.override, self.override_reasons.reason_at(number)
        if override is None or not reason:
            self._show_message(self.override_reasons.unavailable_message, "warn")
            return True
        annotation = override.annotation(reason)
        return await self._record(
            override.subject, lambda latest: self.recorder.record_override_reason(latest, annotation, reason)
        )

    def with_last_item(self, ask: Callable[[ReviewSubject], None]) -> None:
        """Call `ask` with the item that was completed last, once queued verdicts are on disk."""

        async def act() -> bool:
            if self.last_completed_item is None:
                self._show_message("no item was reviewed yet", "warn")
            else:
                ask(ReviewSubject(self.last_completed_item, await self._prefetcher.read_detail(self.last_completed_item)))
            return True

        self._queue_action(act)

    def undo(self) -> None:
        """Retract the annotator's latest review and show its item."""
        self._queue_action(self._undo)

    async def _undo(self) -> bool:
        self.override_reasons.override = None
        outcome = await self.recorder.undo()
        if outcome.undone is None:
            self._show_message(outcome.text, outcome.style)
            return outcome.style != "bad"
        self._prefetcher.discard_prefetched()
        item = await self._prefetcher.find_item(outcome.undone, outcome.repetition)
        self.pace.remove_item(outcome.undone)
        if item is not None:
            self._view.notify_saved(item)
        if item is None:
            await self._refresh(f"{outcome.message} (an item that is not in this workspace)")
        elif item == self.displayed.item:
            self._pending_item = None
            await self._refresh(outcome.message)
        else:
            await self._show_item(item, StatusMessage(outcome.message))
        return True

    # -- from item to item

    def open_item(self, item: int) -> None:
        """Show the first item."""
        self._queue_action(lambda: self._open_item(item))

    async def _open_item(self, item: int) -> bool:
        await self._session.open_journal()
        self._display(await self._prefetcher.read_item(item), NO_MESSAGE)
        self.pace.start(monotonic())
        return True

    def start_pace(self) -> None:
        """Start the clock of `pace`: the user moved from the list to the item."""
        self._queue_action(self._start_pace)

    async def _start_pace(self) -> bool:
        await self._session.open_journal()
        self.pace.start(monotonic())
        return True

    def set_request(self, requested: RequestedItem) -> None:
        """Set the item that `show_requested` displays, once the cursor of the list rests."""
        self._requested = requested

    def show_requested(self) -> None:
        """Display the item that was requested last."""
        self._queue_action(self._show_requested)

    async def _show_requested(self) -> bool:
        """The displayed item keeps its cursor and folds if it is the requested one."""
        requested = self._requested
        if requested is None:
            return True
        if requested.is_reread or requested.view != self._prefetcher.view:
            self._prefetcher.set_view(requested.view)
            self._session.queue_file = requested.view.queue_file
        displayed, before = await self._prefetcher.read_item(requested.item), self._displayed
        if self._requested is not requested:
            return True
        self._requested = None
        self.direction = -1 if before is not None and displayed.navigator.last_position < before.navigator.last_position else 1
        if before is not None and before.item == requested.item:
            self._displayed, self._is_detail_stale, self._pending_item = displayed, False, None
            self._view.refresh_item(displayed, NO_MESSAGE)
        else:
            self._display(displayed, NO_MESSAGE)
        return True

    def step_item(self, by: int) -> None:
        """Show the next (1) or previous (-1) item of the queue."""
        self._queue_action(lambda: self._step_item(by))

    async def _step_item(self, by: int) -> bool:
        self.direction, self._pending_item = by, None
        item, remark = await self._prefetcher.find_neighbour(self.displayed, by), NO_MESSAGE
        if item is None and by > 0 and (self._is_detail_stale or self.displayed.detail.row.you is not None):
            item = (await self._prefetcher.find_remaining(self.displayed)).first
            remark = StatusMessage("end of queue · first unreviewed item")
        if item is None:
            self._show_message("this is the last item" if by > 0 else "this is the first item", "warn")
        else:
            await self._show_item(item, remark)
        return True

    def step_in_group(self, by: int) -> None:
        """Show the next (1) or previous (-1) item of the same conversation, whether it is in the queue or not."""
        self._queue_action(lambda: self._step_in_group(by))

    async def _step_in_group(self, by: int) -> bool:
        group = [sibling.item for sibling in self.displayed.detail.siblings]
        if len(group) < 2:
            self._show_message("this item belongs to no group", "warn")
            return True
        at = group.index(self.displayed.item) + by
        if not 0 <= at < len(group):
            self._show_message(f"this is the {'last' if by > 0 else 'first'} item of its group", "warn")
            return True
        self._pending_item = None
        await self._show_item(group[at], NO_MESSAGE)
        return True

    def close_view(self) -> None:
        """Close the view once the queued actions are done."""
        self._queue_action(self._close_view)

    async def _close_view(self) -> bool:
        self._session.actions.clear()
        due, self._pending_item = self._pending_item, None
        self._view.close(due[0] if due is not None else self.displayed.item)
        return True

    def show_pending_item(self) -> None:
        """Show the item that is due: nothing covers the view any more."""
        if self._pending_item is not None:
            self._queue_action(self._show_pending_item)

    async def _show_pending_item(self) -> bool:
        if self._pending_item is not None and self._view.is_in_front:
            await self._show_item(*self._pending_item)
        return True

    async def _show_item(self, item: int, remark: StatusMessage) -> None:
        """Show the item as soon as nothing covers the view."""
        displayed = await self._prefetcher.read_item(item, self.displayed) if self._view.is_in_front else None
        if displayed is not None and self._view.is_in_front:
            self._display(displayed, remark)
        else:
            self._pending_item = (item, remark)

    def _display(self, displayed: DisplayedItem, remark: StatusMessage) -> None:
        self._displayed, self._is_detail_stale, self._pending_item = displayed, False, None
        self.recorder.is_judged_queue = displayed.navigator.view.queue == "judged"
        self._view.show_item(displayed, remark)

    async def _refresh(self, remark: str) -> None:
        self._displayed, self._is_detail_stale = await self._prefetcher.reread(self.displayed), False
        self._view.refresh_item(self._displayed, StatusMessage(remark))

    def _queue_action(self, action: QueuedAction) -> None:
        self._runner.queue_action(action)

    def _show_message(self, text: str, style: str = "good") -> None:
        self._runner.show_message(text, style)


def needs_cursor_move(target: str, reader: Cursor) -> bool:
    """Whether a score key moves the cursor to the target's block before it records a score there."""
    return target not in (ITEM, reader.target) and reader.has_target(target)

"""Review the items of a queue: record reviews of the displayed item and move to the next one.

Actions run in the order in which their keys were pressed. An action applies to the item that was on
screen when its key was pressed. After the verdict on an item is on disk, the next item is shown as
soon as no queued action applies to the reviewed item.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial, update_wrapper
from time import monotonic
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol

from fcreview.model.address import ITEM, describe_address
from fcreview.model.sanitize import sanitize
from fcreview.model.verdict import TargetCriterion
from fcreview.store.rows import View
from fcreview.tui.action_queue import ActionScreen, QueuedAction
from fcreview.tui.item_view.cursor import Cursor
from fcreview.tui.review.prefetch import GONE_ITEM, DisplayedItem, ItemPrefetcher, RequestedItem
from fcreview.tui.review.recorder import (
    KeyLookup,
    NewReview,
    PendingQuestion,
    Refusal,
    ReviewRecorder,
    ReviewSubject,
    SavedReview,
    UndoneReview,
    describe_automatic_answer,
    find_score_criteria,
)
from fcreview.tui.review.status import (
    Override,
    OverrideReasons,
    Pace,
    score_prompt_message,
    summarize_queue,
)
from fcreview.tui.session import Session
from fcreview.tui.text.messages import NO_MESSAGE, StatusMessage

if TYPE_CHECKING:
    from textual.app import App
    from textual.screen import Screen

    from fcreview.model.review import Fault
    from fcreview.store.drafts import DraftSlot
    from fcreview.tui.queue.loader import RemainingItems
    from fcreview.tui.review.golden_effect import GoldenCorrection
    from fcreview.tui.widgets.item_text import ItemText


SCORE_VALUES = (0, 1, 2)


class ItemView(ActionScreen, Protocol):
    """Pane that shows an item. `ItemReviewer` and the dialogs use this interface."""

    item_reviewer: ItemReviewer
    text: ItemText

    @property
    def app(self) -> App[Any]: ...

    @property
    def cursor(self) -> Cursor: ...

    @property
    def is_in_front(self) -> bool:
        """Whether no other screen covers the pane. Only then may the pane show another item."""
        ...

    def show_item(self, displayed: DisplayedItem, message: StatusMessage) -> None: ...

    def refresh_item(self, displayed: DisplayedItem, message: StatusMessage) -> None:
        """Show the same item with its current reviews."""
        ...

    def show_summary(self, lines: Sequence[str]) -> None:
        """Show the summary of a complete queue below the item until another item or review is
        shown.
        """
        ...

    def close(self, last_item: int) -> None:
        """Close the pane. `last_item`: number of the last displayed item."""
        ...

    def notify_review_saved(self, item: int | None) -> None:
        """Notify other widgets that a review of this item is on disk.

        `item` is None after a bulk review.
        """
        ...

    def make_screen(self, view: View, item: int) -> Screen[int]:
        """Return a new screen that shows an item of a view.

        The caller opens it above the current screen.
        """
        ...


Params = ParamSpec("Params")


def queued_action(
    method: Callable[Concatenate[ItemReviewer, Params], Awaitable[None]],
) -> Callable[Concatenate[ItemReviewer, Params], None]:
    """Decorate a method so that a call adds it to the session's action queue and returns at once.

    The method runs after the actions of all earlier keys. If it raises an exception, the view shows
    the error.
    """

    def add_to_queue(self: ItemReviewer, /, *args: Params.args, **kwargs: Params.kwargs) -> None:
        self.add_action(partial(method, self, *args, **kwargs))

    update_wrapper(add_to_queue, method)
    return add_to_queue


class ItemReviewer:
    """Controller that records reviews of the item in an `ItemView`, and shows other items of the
    queue there.
    """

    def __init__(
        self, session: Session, prefetcher: ItemPrefetcher, view: ItemView, key: KeyLookup
    ) -> None:
        """Begin without an item. `view` shows the items, and `key` names the key of an action."""
        self.recorder = ReviewRecorder(session, key)
        self.override_reasons = OverrideReasons(session.vocabulary.reasons, key)
        self.direction = 1
        """Direction of the user's last move: 1 for forward, -1 for backward."""
        self.last_completed_item: int | None = None
        self.pace = Pace()
        self._session = session
        self._prefetcher = prefetcher
        self._view = view
        self._key = key
        self._reviewed_ids: dict[int, str] = {}
        self._displayed: DisplayedItem | None = None
        self._is_detail_stale = False
        """Whether a review of the displayed item was written since the item was read."""
        self._pending_item: tuple[int, StatusMessage] | None = None
        """(number, message) of the next item.

        It is shown after the queued actions on the displayed item.
        """
        self._requested: RequestedItem | None = None

    # -- the displayed item

    @property
    def has_item(self) -> bool:
        """Whether an item was read. Until then, keys do nothing."""
        return self._displayed is not None

    @property
    def is_removed_from_results(self) -> bool:
        """Whether the results no longer contain the displayed item."""
        return self._displayed is not None and self._displayed.navigator.item == GONE_ITEM

    @property
    def displayed(self) -> DisplayedItem:
        """The displayed item. Raises RuntimeError if no item was read yet."""
        if self._displayed is None:
            raise RuntimeError("no item was read yet")
        return self._displayed

    @property
    def is_staying_on_item(self) -> bool:
        """Whether an item is displayed and no other item is about to replace it."""
        return (
            self._displayed is not None and self._pending_item is None and self._requested is None
        )

    @property
    def has_requested_item(self) -> bool:
        """Whether the list requested an item that is not displayed yet."""
        return self._requested is not None

    @property
    def must_show_another_item(self) -> bool:
        """Whether the list requested another item than the displayed one."""
        if self._requested is None:
            return False
        return self._displayed is None or self._displayed.navigator.item != self._requested.item

    def is_shown_or_requested(self, item: int, view: View) -> bool:
        """Whether an item of a view is requested, or displayed with its current reviews."""
        if self._requested is not None:
            return (self._requested.item, self._requested.view) == (item, view)
        is_displayed = self._displayed is not None and self._displayed.navigator.item == item
        is_current = not self._is_detail_stale and self._pending_item is None
        return is_displayed and is_current and self._prefetcher.view == view

    def switch_store(self, displayed: DisplayedItem, last_completed_item: int | None) -> None:
        """Switch to another store. Both arguments have the item numbers of that store."""
        self._displayed = displayed
        self._is_detail_stale = False
        self.last_completed_item = last_completed_item
        self.pace.request_count()
        self._prefetcher.set_view(displayed.navigator.view)
        self._prefetcher.forget_old_store()

    def copy_state_from(self, other: ItemReviewer) -> None:
        """Copy the state of `other`, which belongs to a pane that was closed."""
        self._displayed = other._displayed
        self._is_detail_stale = other._is_detail_stale
        self._pending_item = other._pending_item
        self._requested = None
        self.last_completed_item = other.last_completed_item
        self.pace = other.pace
        self.direction = other.direction
        self.recorder = other.recorder
        self.override_reasons = other.override_reasons
        self._prefetcher.set_view(other._prefetcher.view)

    # -- reviews: what each key does in its turn
    #
    # A subject is the item that was on screen when the key was pressed. Earlier keys may have
    # changed its reviews, so each action composes its review from the latest detail.

    def add_action(self, action: QueuedAction) -> None:
        """Run an action after the actions of all earlier keys."""
        self._session.actions.add(action, self._view)

    @queued_action
    async def record_verdict(self, subject: ReviewSubject, verdict_key: str) -> None:
        """Record a verdict. `verdict_key` is one of `verdict_keys.VERDICT_KEY_BY_NAME`."""
        latest = await self._read_latest(subject)
        await self._save_and_show(self.recorder.compose_verdict(latest, verdict_key))

    @queued_action
    async def record_fault(self, subject: ReviewSubject, fault: Fault) -> None:
        latest = await self._read_latest(subject)
        await self._save_and_show(self.recorder.compose_fault(latest, fault))

    @queued_action
    async def record_tags(self, subject: ReviewSubject, tags: list[str]) -> None:
        latest = await self._read_latest(subject)
        await self._save_and_show(self.recorder.compose_tags(latest, tags))

    @queued_action
    async def record_note(self, subject: ReviewSubject, note: str, draft: DraftSlot) -> None:
        """Record a note. Its draft is removed as soon as the note is on disk."""
        latest = await self._read_latest(subject)
        await self._save_and_show(self.recorder.compose_note(latest, note), draft)

    @queued_action
    async def record_golden_fix(
        self, subject: ReviewSubject, correction: GoldenCorrection, draft: DraftSlot
    ) -> None:
        """Record a golden fix. Its draft is removed as soon as the fix is on disk."""
        latest = await self._read_latest(subject)
        await self._save_and_show(self.recorder.compose_golden_fix(latest, correction), draft)

    @queued_action
    async def record_labels(
        self, subject: ReviewSubject, criterion: str, labels: list[str]
    ) -> None:
        """Record the labels of the response, such as dialog acts."""
        latest = await self._read_latest(subject)
        await self._save_and_show(self.recorder.compose_labels(latest, criterion, labels))

    @queued_action
    async def toggle_incident(self, subject: ReviewSubject) -> None:
        """Set or clear the mark that the item has no answer for a reason outside the question."""
        latest = await self._read_latest(subject)
        await self._save_and_show(self.recorder.compose_incident(latest))

    def mark_decisive_step(self, subject: ReviewSubject, message_number: int) -> None:
        """Record a message as the decisive step. Messages count from 1."""
        if self._is_displayed(subject):
            self._record_decisive_step(subject, message_number)
        else:
            self._show_message("decisive step not saved: another item was opened", "bad")

    @queued_action
    async def _record_decisive_step(self, subject: ReviewSubject, message_number: int) -> None:
        latest = await self._read_latest(subject)
        await self._save_and_show(self.recorder.compose_decisive_step(latest, message_number))

    async def _read_latest(self, subject: ReviewSubject) -> ReviewSubject:
        """Return the subject with the reviews of all earlier keys."""
        if self._is_displayed(subject) and not self._is_detail_stale:
            return replace(subject, detail=self.displayed.detail)
        try:
            return replace(subject, detail=await self._prefetcher.read_detail(subject.item))
        except asyncio.CancelledError:
            if not self._session.is_leaving:
                raise
            # While quitting, the review is written although the store is no longer read.
            return subject

    async def _save_and_show(
        self, review: NewReview | Refusal, draft: DraftSlot | None = None
    ) -> None:
        """Write a review to the journal and wait for the disk. Then count it and show the outcome.

        Raises ReviewNotSavedError.
        """
        if isinstance(review, Refusal):
            self._show_message(review.text, "warn")
            return

        saved = await self.recorder.save(review)
        if draft is not None:
            draft.remove()
        self.override_reasons.remember_override(review.subject, saved.event)
        self._notify_review_saved(
            review.subject.item, changes_other_items=review.changes_other_items
        )
        if review.completes_item:
            self._count_completed_item(review.subject)
        if self._is_displayed(review.subject):
            await self._show_saved_review(saved)
        else:
            # Another item was opened before the review was written. This item may have been read
            # in advance, without the review.
            self._prefetcher.discard_prefetched()
            item_name = sanitize(review.subject.detail.row.id)
            self._show_message(f"{saved.text} · {item_name}", saved.style)

    def _is_displayed(self, subject: ReviewSubject) -> bool:
        return subject.item == self.displayed.navigator.item

    def _show_message(self, text: str, style: str = "good") -> None:
        self._view.show_message(StatusMessage(text, style))

    def _notify_review_saved(self, item: int, *, changes_other_items: bool) -> None:
        """Let lists read the row of the item again, or all rows if other items changed too."""
        if changes_other_items:
            self._prefetcher.discard_prefetched()
            self.pace.request_count()
        self._view.notify_review_saved(None if changes_other_items else item)

    def _count_completed_item(self, subject: ReviewSubject) -> None:
        """Count an item whose review is complete, for the pace and the summary of the session."""
        self.last_completed_item = subject.item
        is_first_verdict = subject.detail.row.you is None
        self.pace.record_item(subject.detail.key, monotonic(), is_first_verdict=is_first_verdict)
        self._reviewed_ids[subject.item] = subject.detail.key.id

    async def _show_saved_review(self, saved: SavedReview) -> None:
        """Show the next item, or the same item with the review that was just saved."""
        if saved.review.completes_item:
            await self._queue_next_item(saved)
        elif self._pending_item is not None:
            # The next item is shown soon, so that the displayed item need not be read again.
            next_item, _ = self._pending_item
            self._is_detail_stale = True
            self._pending_item = (next_item, StatusMessage(saved.message, saved.style))
        else:
            await self._refresh_item(saved.message, saved.style)

    async def _queue_next_item(self, saved: SavedReview) -> None:
        """Queue the display of the next unreviewed item or, if there is none, show that the
        queue has ended.
        """
        # The displayed item lacks the saved review. It is only read again if it stays on screen.
        self._is_detail_stale = True
        next_item = await self._prefetcher.find_next_unreviewed(self.displayed)
        if next_item is None:
            await self._show_end_of_queue(saved)
            return

        self._pending_item = (next_item, StatusMessage(saved.message, saved.style))
        if not self._view.is_in_front:
            # The next item must wait until the screen in front has closed. The message need not.
            self._show_message(saved.message, saved.style)
        # The item is shown after the actions that were queued in the meantime.
        self.show_pending_item()

    async def _show_end_of_queue(self, saved: SavedReview) -> None:
        """Show that a queue has no further item and, if all items are reviewed, a summary."""
        remaining = await self._prefetcher.count_remaining_items(self.displayed)
        summary: Sequence[str] = ()
        if not remaining.count:
            summary = await self._summarize_queue()
        text = f"{saved.text} · {self._format_end_message(remaining)}"
        await self._refresh_item(text, saved.style)
        self._view.show_summary(summary)

    async def _summarize_queue(self) -> list[str]:
        """Return the lines below the last item of a complete queue."""
        session = self._session
        view = self.displayed.navigator.view
        pace = self.pace.summary
        lines = await session.read(
            lambda store: summarize_queue(
                store, view, self._reviewed_ids, pace, session.annotator, blind=session.blind
            )
        )
        hints = self._list_next_step_hints()
        if hints:
            lines.append(f"Next: {'; '.join(hints)}")
        return ["Queue complete", *lines]

    def _list_next_step_hints(self) -> list[str]:
        """Return what the user can do after the queue, with the keys."""
        hints = []
        overview_key = self._key("item.overview")
        if overview_key:
            hints.append(f"{overview_key} overview")
        palette_key = self._key("app.palette")
        if palette_key:
            # In blind mode, figures of other annotators are hidden.
            commands = "export" if self._session.blind else "export, estimate or report"
            hints.append(f"{palette_key} {commands}")
        annotator_key = self._key("app.annotator")
        if annotator_key and not self._session.fixed_annotator_reason:
            hints.append(f"{annotator_key} review as another annotator")
        return hints

    def _format_end_message(self, remaining: RemainingItems) -> str:
        """Say that the queue ends here, and which key leads on."""
        if not remaining.count:
            key = self._key("item.overview")
            return f"queue complete · next: {key} overview" if key else "queue complete"
        text = f"end of the queue, {remaining} unreviewed"
        key = self._key("item.next")
        return f"{text}; press {key} for the first" if key else text

    def record_score_or_move_cursor(self, subject: ReviewSubject, value: int) -> None:
        """Record a score for the next criterion without one, if the cursor is on the scored place.

        The user must see what they score. So if the cursor is elsewhere, the key only moves it
        there, and the next key records the score. On an item without scores, the digit selects the
        reason for an override.
        """
        question = self.recorder.find_next_score(subject)
        if question is None:
            self._record_digit(subject, value)
            return
        if subject.item != self.displayed.navigator.item:
            self._show_message("score not saved: another item was opened", "bad")
            return

        target, criterion = question
        must_move = needs_cursor_move(target, self._view.cursor)
        if must_move and self._view.text.move_to_target(target):
            self._view.show_message(score_prompt_message(target, criterion))
        else:
            self._record_digit(subject, value)

    @queued_action
    async def _record_digit(self, subject: ReviewSubject, value: int) -> None:
        """Record the digit that the user pressed: a score of the item or, on an item without
        scores, the number of the reason for the last override.

        An override is a review that contradicts an automatic verdict.
        """
        has_scores = bool(find_score_criteria(subject.detail))
        if has_scores and value not in SCORE_VALUES:
            self._show_message("scores are 0, 1 and 2", "warn")
            return

        # Reasons are counted from 1.
        can_record_reason = self.override_reasons.can_digits_record_reason(subject.item)
        if not has_scores and value > 0 and can_record_reason:
            await self._save_override_reason(value)
            return
        # If the digit has no meaning here, the composed review is a refusal that says so.
        latest = await self._read_latest(subject)
        await self._save_and_show(self.recorder.compose_score(latest, value))

    def pending_question(self, subject: ReviewSubject) -> PendingQuestion:
        """Return the question for the status line: the targets of the verdict keys and of the
        score keys.
        """
        next_score = self._find_score_of_digits(subject)
        if next_score is None:
            return replace(subject.question, score_question="")
        target, criterion = next_score
        score_question = f"{describe_address(target)} {criterion}"
        return replace(subject.question, score_question=score_question)

    def describe_automatic_answer(self, subject: ReviewSubject) -> str:
        """Return the automatic answer to the question that the next digit or verdict key answers.

        The answer is in words, such as `judge: not hallucinated`. It is empty for the criterion
        `correct`, whose verdict the header shows.
        """
        question = (subject.target, subject.question.criterion)
        target, criterion = self._find_score_of_digits(subject) or question
        return describe_automatic_answer(subject.detail.item, target, criterion)

    def _find_score_of_digits(self, subject: ReviewSubject) -> TargetCriterion | None:
        """Return the (target, criterion) pair whose score a digit key records now.

        Returns None if digits answer the question of the subject instead, if the item has no
        scores, or if the first digit would only move the cursor to the scored place.
        """
        if subject.question.digit_answers:
            return None
        next_score = self.recorder.find_next_score(subject)
        if next_score is None:
            return None
        target, _ = next_score
        return None if needs_cursor_move(target, self._view.cursor) else next_score

    def list_priority_hints(self, subject: ReviewSubject) -> list[tuple[str, str]]:
        """Return the (key, label) pairs that come first in the key line.

        First are the answers to a question with words instead of pass and fail, such as
        `hallucinated`. The key to choose labels and the reasons for the last override follow.
        """
        hints = []
        answers = subject.question.digit_answers
        for digit, answer in enumerate(answers, 1):
            hints.append((self._key(f"item.score_{digit}"), answer.label))

        # The automatic verdict is a list of labels, so the annotator answers with labels too.
        if isinstance(subject.question.automatic, list):
            hints.append((self._key("item.labels"), "choose labels"))

        # Digits choose a reason only if they do not already answer a question.
        has_scores = bool(find_score_criteria(subject.detail))
        hints += self.override_reasons.key_hints(digits_are_answers=has_scores or bool(answers))
        # An action without a key has no hint.
        return [(key, label) for key, label in hints if key]

    @queued_action
    async def prompt_about_last_override(self, open_prompt: Callable[[Override], None]) -> None:
        """Call `open_prompt` with the last override, after all queued verdicts are on disk."""
        if self.override_reasons.override is None:
            self._show_message(self.override_reasons.unavailable_message, "warn")
        else:
            open_prompt(self.override_reasons.override)

    @queued_action
    async def record_override_reason(self, number: int) -> None:
        """Record the reason with this number, from 1, for the last override."""
        await self._save_override_reason(number)

    async def _save_override_reason(self, number: int) -> None:
        """Save the reason why the annotator overrode the last automatic verdict."""
        override = self.override_reasons.override
        reason = self.override_reasons.find_reason(number)
        if override is None or not reason:
            self._show_message(self.override_reasons.unavailable_message, "warn")
            return
        latest = await self._read_latest(override.subject)
        annotation = override.make_annotation(reason)
        await self._save_and_show(self.recorder.compose_override_reason(latest, annotation, reason))

    @queued_action
    async def prompt_about_last_item(self, open_prompt: Callable[[ReviewSubject], None]) -> None:
        """Call `open_prompt` with the last completed item, after all queued verdicts are on
        disk.
        """
        item = self.last_completed_item
        if item is None:
            self._show_message("no item was reviewed yet", "warn")
        else:
            open_prompt(ReviewSubject(item, await self._prefetcher.read_detail(item)))

    @queued_action
    async def undo(self) -> None:
        """Undo the annotator's latest review and show its item."""
        self.override_reasons.override = None
        undone = await self.recorder.undo()
        if undone is None:
            self._show_message("nothing to undo", "warn")
            return

        # Items that were read in advance contain the undone review.
        self._prefetcher.discard_prefetched()
        self.pace.request_count()
        # A bulk review is of many items, so the displayed item stays.
        if undone.is_bulk:
            self._view.notify_review_saved(None)
            await self._refresh_item(undone.message)
            return

        key = undone.event.key
        item = await self._prefetcher.find_item(key, is_duplicate=undone.is_duplicate)
        if item is None:
            self.pace.remove_item(key)
            await self._refresh_item(f"{undone.message} (this item is not in the workspace)")
            return
        self._notify_review_saved(item, changes_other_items=undone.changes_other_items)
        await self._show_undone_review(item, undone)

    async def _show_undone_review(self, item: int, undone: UndoneReview) -> None:
        """Show the item whose review was undone, and the message about it."""
        detail = await self._prefetcher.read_detail(item)
        is_unreviewed = detail.row.you is None
        if is_unreviewed:
            self.pace.remove_item(undone.event.key)

        if item == self.displayed.navigator.item:
            self._pending_item = None
            await self._refresh_item(undone.message)
        else:
            await self._show_item(item, StatusMessage(undone.message))

    @queued_action
    async def reread_item(self) -> None:
        """Show the item with reviews that were recorded on another screen."""
        self._forget_read_items()
        await self._refresh_item("")

    @queued_action
    async def show_other_item(self, item: int) -> None:
        """Show the item to which another screen moved on, perhaps after reviews there."""
        self._forget_read_items()
        self._pending_item = None
        await self._show_item(item, NO_MESSAGE)

    def _forget_read_items(self) -> None:
        """Let this view and the list read items again after reviews on another screen."""
        self._prefetcher.discard_prefetched()
        self.pace.request_count()
        self._view.notify_review_saved(None)

    # -- moving to another item

    @queued_action
    async def open_item(self, item: int) -> None:
        """Show `item`, the first item of a new view."""
        await self._session.open_journal()
        self._display(await self._prefetcher.read_item(item), NO_MESSAGE)
        self.pace.restart_clock(monotonic())

    @queued_action
    async def start_measuring_pace(self) -> None:
        """Start to measure the time per item when the user moves from the list to the item."""
        await self._session.open_journal()
        self.pace.restart_clock(monotonic())

    def request_item(self, requested_item: RequestedItem) -> None:
        """Remember the item that `show_requested_item` displays."""
        self._requested = requested_item

    @queued_action
    async def show_requested_item(self) -> None:
        """Display the last requested item. If this item is already displayed, its cursor and
        folds stay.
        """
        requested = self._requested
        if requested is None:
            return
        if requested.is_reread or requested.view != self._prefetcher.view:
            self._switch_to_list(requested.view)

        previous = self._displayed
        displayed = await self._prefetcher.read_item(requested.item)
        # Another item may have been requested while this one was read. It has an action of its own.
        if self._requested is not requested:
            return
        self._requested = None

        # The direction of the move decides which item is read in advance.
        last_position = 0 if previous is None else previous.navigator.last_position
        moves_back = displayed.navigator.last_position < last_position
        self.direction = -1 if moves_back else 1

        if previous is not None and previous.navigator.item == requested.item:
            self._set_displayed(displayed)
            self._view.refresh_item(displayed, NO_MESSAGE)
        else:
            self._display(displayed, NO_MESSAGE)

    def _switch_to_list(self, view: View) -> None:
        """Follow the list `view` from now on: it decides which items come next, how many are left,
        and to which queue reviews belong.
        """
        self._prefetcher.set_view(view)
        self.pace.request_count()
        self._session.queue_file = view.queue_file

    def _set_displayed(self, displayed: DisplayedItem) -> None:
        """Remember an item that was just read as the displayed item."""
        self._displayed = displayed
        self._is_detail_stale = False
        self._pending_item = None

    @queued_action
    async def step_item(self, direction: int) -> None:
        """Show the next (1) or previous (-1) item of the queue. After the last item, show the
        first unreviewed item.
        """
        self.direction = direction
        self._pending_item = None
        item = await self._prefetcher.find_neighbour_item(self.displayed, direction)
        if item is not None:
            await self._show_item(item, NO_MESSAGE)
            return

        # After a review in this visit, the displayed item does not contain it yet.
        was_just_reviewed = self._is_detail_stale
        is_reviewed = was_just_reviewed or self.displayed.detail.row.you is not None
        if direction > 0 and is_reviewed:
            remaining = await self._prefetcher.count_remaining_items(self.displayed)
            if remaining.first is not None:
                message = StatusMessage("end of queue · continuing at the first unreviewed item")
                await self._show_item(remaining.first, message)
                return
        place = "last" if direction > 0 else "first"
        self._show_message(f"this is the {place} item", "warn")

    @queued_action
    async def step_in_group(self, direction: int) -> None:
        """Show the next (1) or previous (-1) item of the same conversation, in the queue or not."""
        group = [sibling.item for sibling in self.displayed.detail.siblings]
        if len(group) < 2:
            self._show_message("this item belongs to no group", "warn")
            return
        index = group.index(self.displayed.navigator.item) + direction
        if not 0 <= index < len(group):
            place = "last" if direction > 0 else "first"
            self._show_message(f"this is the {place} item of its group", "warn")
            return
        self._pending_item = None
        await self._show_item(group[index], NO_MESSAGE)

    @queued_action
    async def close_view(self) -> None:
        """Close the view after all earlier actions have run. Later actions are dropped."""
        self._session.actions.drop_waiting()
        last_item = self.displayed.navigator.item
        if self._pending_item is not None:
            last_item, _ = self._pending_item
            self._pending_item = None
        self._view.close(last_item)

    def show_pending_item(self) -> None:
        """Show the next item after the actions of all earlier keys."""
        if self._pending_item is not None:
            self._show_pending_item()

    @queued_action
    async def _show_pending_item(self) -> None:
        # If another screen covers the view, the item is shown after that screen has closed.
        if self._pending_item is not None and self._view.is_in_front:
            await self._show_item(*self._pending_item)

    async def _show_item(self, item: int, message: StatusMessage) -> None:
        """Show an item. If another screen covers the view, show the item after that screen has
        closed.
        """
        if self._view.is_in_front:
            displayed = await self._prefetcher.read_item(item, self.displayed)
            # A screen may have opened while the item was read.
            if self._view.is_in_front:
                self._display(displayed, message)
                return
        self._pending_item = (item, message)

    def _display(self, displayed: DisplayedItem, message: StatusMessage) -> None:
        self._set_displayed(displayed)
        self.recorder.is_judged_queue = displayed.navigator.view.queue == "judged"
        self._view.show_item(displayed, message)

    async def _refresh_item(self, message: str, style: str = "good") -> None:
        displayed = await self._prefetcher.reread(self.displayed)
        self._displayed = displayed
        self._is_detail_stale = False
        self._view.refresh_item(displayed, StatusMessage(message, style))


def needs_cursor_move(target: str, cursor: Cursor) -> bool:
    """Whether a score key moves the cursor to the block of `target` instead of recording a
    score.
    """
    return target not in (ITEM, cursor.target) and cursor.has_target(target)

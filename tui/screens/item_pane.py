"""Show an item in a pane or on a screen: question, golden and predicted calls, verdicts, and keys
to review them.

`ItemPane` connects keys and widgets to `ItemReviewer`, which records reviews and moves through the
queue. `ItemScreen` shows one pane on a screen of its own, and `SplitView` shows one beside the
queue.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import reactive

from fcreview.model.address import ITEM
from fcreview.model.sanitize import sanitize
from fcreview.store.rows import ItemDetail, View
from fcreview.tui.actions import ITEM_ACTIONS
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.cursor import Cursor
from fcreview.tui.item_view.document import header_line, mark_focused_header
from fcreview.tui.keymap import find_action_key_names, format_unavailable_key_message, make_bindings
from fcreview.tui.queue.header import top_progress_line
from fcreview.tui.queue_state import ReviewProgress
from fcreview.tui.review.guidelines import NO_GUIDELINES, read_guidelines
from fcreview.tui.review.item_reviewer import ItemReviewer
from fcreview.tui.review.key_guard import JUST_APPEARED, KeyGuard, make_ignored_key_message
from fcreview.tui.review.prefetch import DisplayedItem, ItemPrefetcher, RequestedItem
from fcreview.tui.review.recorder import (
    DigitAnswer,
    ReviewSubject,
    find_score_criteria,
    find_unanswered_judge_verdicts,
)
from fcreview.tui.review.status import status_line
from fcreview.tui.screens import pager, review_dialogs
from fcreview.tui.screens.golden_editor import open_golden_editor
from fcreview.tui.screens.prompts import make_search_prompt
from fcreview.tui.screens.question import QuestionOpener, QuestionResult
from fcreview.tui.session import Session
from fcreview.tui.terminal_output import watch_flush
from fcreview.tui.text.lines import (
    BLANK_LINE,
    TWO_PANES_MIN_WIDTH,
    Line,
    fit_line,
    justify_line,
    line_width,
    make_line,
)
from fcreview.tui.text.messages import NO_MESSAGE, StatusMessage
from fcreview.tui.text.styles import symbols
from fcreview.tui.widgets.base import GuardedScreen, is_small_screen, run_while_open, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar, LineBlock, TopLine
from fcreview.tui.widgets.item_text import ItemBody, ItemText

MAX_BLANK_TIME = 0.3
"""Seconds after which the screen is drawn although its item is still being read."""
TARGET_RESET = StatusMessage("verdict target: whole item", "warn")
NO_CHAT_MESSAGE = StatusMessage("the cursor is not on a message of a conversation", "warn")
NO_PART = StatusMessage("the part under the cursor cannot have a verdict", "warn")


class ItemPane(Vertical):
    """Pane with an item, its header and its status line. Implements `ItemView`."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(ITEM_ACTIONS)
    DEFAULT_CSS = "ItemPane.-focused #item-header { background: $bar; }"

    position: reactive[int | None] = reactive(None, repaint=False, init=False, always_update=True)
    """Index of the displayed item in the queue. None if the queue does not contain it. Textual
    calls the watchers before it handles the next key.
    """

    @dataclass
    class Closed(Message):
        item: int
        """Number of the last displayed item."""

    @dataclass
    class ReviewSaved(Message):
        """Posted when a review is on disk."""

        item: int | None
        """Number of the item. None after a bulk review of many items."""

    class ItemsCounted(Message):
        """Posted when it is known how many items of the list are left."""

    def __init__(
        self, session: Session, view: View, make_screen: Callable[[View, int], GuardedScreen[int]]
    ) -> None:
        """Create the pane.

        `make_screen` returns a screen that shows an item of a view above this pane.
        """
        super().__init__()
        self._session = session
        self.make_screen = make_screen

        # The item: who reads it, who displays it, and who records reviews of it.
        self._prefetcher = ItemPrefetcher(session, view)
        self.text = ItemText(id="item-text")
        self.item_reviewer = ItemReviewer(session, self._prefetcher, self, self._key_name)
        self._opened: int | None = None
        """Number of the item that was opened or requested last."""

        # The list beside the pane.
        self.is_awaiting_list = False
        """Whether the pane waits for the next item from the list.

        Until then, no review is recorded.
        """
        self._from_list = False
        """Whether the list beside the pane requested the next item."""
        self.follows_list = False
        """Whether the pane shows the item under the cursor of the list beside it, because the
        list has the focus.
        """

        self._is_item_hidden = False
        """Whether the pane says that an item is being read, instead of showing the item before
        it.
        """

        # What the lines around the item show.
        self.is_named_above = False
        """Whether the top line of the screen shows the id of the item."""
        self._is_marked_as_focused = False
        """Whether the header shows that this pane, and not the list beside it, has the focus."""
        self._message = NO_MESSAGE
        self._unavailable_key_message = NO_MESSAGE

        # What keys review, and when.
        self._is_target_at_cursor = False
        """Whether verdict keys apply to the part under the cursor instead of the whole item."""
        self._key_guard = KeyGuard(session.key_guard_time)

    def compose(self) -> ComposeResult:
        yield LineBar(id="item-header")
        yield ItemBody(self.text)
        # These two are shown only while they have a text.
        summary = LineBlock(id="item-summary")
        summary.display = False
        question = LineBar(id="item-why")
        question.display = False
        yield summary
        yield question
        yield LineBar(id="item-status")

    def on_mount(self) -> None:
        self.watch(self.text, "moves", self._on_cursor_moved, init=False)

    def on_resize(self) -> None:
        self.text.set_section_frames(not is_small_screen(self.app.size))
        self.call_after_refresh(self.draw_bars)

    def open(self, item_number: int) -> None:
        """Show an item in a pane that was just created."""
        self._opened = item_number
        self.item_reviewer.open_item(item_number)

    def is_showing(self, item: int, view: View) -> bool:
        """Whether the pane displays the item of `view` with its current reviews, or will display
        it.
        """
        return self.item_reviewer.is_shown_or_requested(item, view) and not self.is_awaiting_list

    def request_item(self, requested_item: RequestedItem) -> None:
        """Set the item that `ItemReviewer.show_requested_item` displays.

        Until then, no review is recorded.
        """
        self._opened = requested_item.item
        self.is_awaiting_list = False
        self._from_list = True
        self.item_reviewer.request_item(requested_item)

    def hide_outdated_item(self) -> None:
        """Say that the requested item is being read, if the displayed item is another one.

        The list already has its cursor on the requested item, so the other item beside it would
        mislead.
        """
        if not self.item_reviewer.must_show_another_item:
            return
        self._is_item_hidden = True
        self._message = NO_MESSAGE
        self.query_one(ItemBody).set_blank(True)
        self.draw_bars()

    def _stop_hiding_item(self) -> None:
        """Let the item appear again. The caller draws it."""
        self._is_item_hidden = False
        self.query_one(ItemBody).set_blank(False)

    def mark_as_focused(self, is_focused: bool) -> None:
        """Show or remove the mark of the focused pane beside a list."""
        if is_focused != self._is_marked_as_focused:
            self._is_marked_as_focused = is_focused
            self.set_class(is_focused, "-focused")
            self.draw_bars()

    def copy_state_from(self, other: ItemPane) -> None:
        """Show the item of a closed pane with its cursor and folds."""
        self._opened = other._opened
        self.is_awaiting_list = False
        self._is_target_at_cursor = other._is_target_at_cursor
        self._message = other._message
        self.item_reviewer.copy_state_from(other.item_reviewer)
        self._stop_hiding_item()
        self.text.copy_state_from(other.text)
        self.refresh_bindings()
        self._run_when_drawn(self._opened)

    @property
    def is_item_loading(self) -> bool:
        """Whether the item is not displayed yet.

        The app then rings the bell for keys that would review the item.
        """
        return (
            self.is_awaiting_list
            or self.item_reviewer.has_requested_item
            or not self.item_reviewer.has_item
        )

    def resume(self) -> None:
        """Resume after a screen that covered the pane has closed."""
        # a closed screen may have changed it
        self._session.queue_file = self._prefetcher.view.queue_file
        self.item_reviewer.show_pending_item()

    @property
    def cursor(self) -> Cursor:
        return self.text.required_cursor

    @property
    def target(self) -> str:
        """Target of verdict keys."""
        return self.cursor.target if self._is_target_at_cursor else ITEM

    @property
    def criterion(self) -> str:
        """Criterion of verdict keys, if the cursor is at a further scorer's verdict; else empty."""
        return self.cursor.criterion if self._is_target_at_cursor else ""

    def _subject_at_key_press(self) -> ReviewSubject | None:
        """Return the item and the part of it that were on screen when the user last pressed a key.

        If the list and the header named different items at that time, the app rings the bell and
        the result is None.
        """
        pressed = self._last_key_time
        if self._key_guard.is_item_ambiguous(pressed):
            self.app.bell()
            if self._key_guard.guard_time:
                self._show_ignored_key(JUST_APPEARED)
            return None
        return self._key_guard.subject_at_key_press(pressed, self._current_subject())

    def _subject_on_screen_for_a_while(self) -> ReviewSubject | None:
        """Return `_subject_at_key_press`. If it had just appeared, say so and return None."""
        subject = self._subject_at_key_press()
        if subject is None:
            return None
        if self._key_guard.has_just_appeared(subject, self._last_key_time):
            self._show_ignored_key(JUST_APPEARED)
            return None
        return subject

    @property
    def _last_key_time(self) -> float | None:
        return getattr(self.app, "last_key_time", None)

    def _show_ignored_key(self, reason: str) -> None:
        self.show_message(make_ignored_key_message(self.app, reason))

    def _current_subject(self) -> ReviewSubject:
        """Return what a review would be about now: the item, and the target and criterion at the
        cursor.
        """
        displayed = self.item_reviewer.displayed
        return ReviewSubject(
            displayed.navigator.item,
            detail=displayed.detail,
            target=self.target,
            criterion=self.criterion,
        )

    def _key_name(self, action_id: str) -> str:
        return find_action_key_names(self.app).get(action_id, "")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return action == "back" or not (
            self.is_item_loading
            or (self.item_reviewer.is_removed_from_results and action != "step_item")
        )

    # -- methods of `ItemView`

    @property
    def is_in_front(self) -> bool:
        # `Screen.is_current` is also true for a screen below a transparent prompt
        return not self.follows_list and self.app.screen is self.screen

    def run_coroutine(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self.run_worker(run_while_open(self, coroutine), group="actions")

    def show_item(self, displayed: DisplayedItem, message: StatusMessage) -> None:
        """Show an item that has been read, with a message in the status line.

        Without a message, offer to continue a text that the annotator did not save.
        """
        self._forget_last_item()
        self._message = message
        if message == NO_MESSAGE:
            self._message = self._offer_draft(displayed)

        self._open_document(displayed)
        self._move_to_first_unanswered_verdict()
        self.refresh_bindings()
        self.position = displayed.navigator.position
        self._run_when_drawn(displayed.navigator.item)

    def _forget_last_item(self) -> None:
        """Reset what belonged to the item before: the summary at the end of the queue, the target
        of the verdict keys, and keys that were pressed before the new item appears.
        """
        self._stop_hiding_item()
        self.show_summary(())
        self._is_target_at_cursor = False
        self._key_guard.record_new_item(is_from_list=self._from_list)
        self._from_list = False

    def _open_document(self, displayed: DisplayedItem) -> None:
        # The first item gets a new cursor. Later ones keep its folds.
        if self.text.document_cursor is None:
            self.text.open(self._make_cursor(displayed))
        else:
            self.cursor.show_item(displayed.detail, displayed.suspicion)
            self.text.open(self.cursor)

        # A large screen compares the item with other runs. Blind review hides their verdicts.
        shows_other_runs = self.cursor.options.panels and not self._session.blind
        self._prefetcher.prefetches_other_runs = shows_other_runs
        if displayed.other_runs is not None:
            self.text.show_other_runs(displayed.detail.row.item, displayed.other_runs)

    def _offer_draft(self, displayed: DisplayedItem) -> StatusMessage:
        """Return a message about a text on the item that the annotator did not save."""
        drafts = self._session.drafts.find_for_item(displayed.detail.key)
        if not drafts:
            return NO_MESSAGE
        kind = drafts[-1].kind
        key = self._key_name("item.note" if kind == "note" else "item.golden")
        return StatusMessage(f"unsaved {kind}: press {key} to continue", "warn")

    def compare_with_accepted_golden(self, detail: ItemDetail) -> ItemDetail:
        return self._session.compare_with_accepted_golden(detail)

    def refresh_item(self, displayed: DisplayedItem, message: StatusMessage) -> None:
        """Show the displayed item again after it has changed. The cursor and the folds stay."""
        self._stop_hiding_item()
        self.show_summary(())
        self._message = message
        self.cursor.options = replace(self.cursor.options, suspicion=displayed.suspicion)
        self.text.update_item(displayed.detail)
        self.refresh_bindings()
        self._move_to_first_unanswered_verdict()
        self._count_items_left()

    def _move_to_first_unanswered_verdict(self) -> None:
        """In the queue `judged`, move the cursor to the first unanswered judge verdict."""
        if self._prefetcher.view.queue != "judged":
            return
        unanswered = find_unanswered_judge_verdicts(self.cursor.detail, self._session.annotator)
        has_moved = False
        if unanswered:
            target, _ = unanswered[0]
            has_moved = self.text.move_to_target(target)
        self._is_target_at_cursor = has_moved
        self.draw_bars()

    def show_message(self, message: StatusMessage) -> None:
        """Show a message in the status line. Ring the bell if the message is an error."""
        self._message = message
        if message.style == "bad":
            self.app.bell()
        self.draw_bars()

    def clear_message_if_shown(self, message: StatusMessage) -> None:
        if self._message == message:
            self.show_message(NO_MESSAGE)

    def show_unavailable_key(self, key: str) -> None:
        """Show that the key has no action here, unless a reload removed the item."""
        if not self.item_reviewer.is_removed_from_results:
            message = StatusMessage(format_unavailable_key_message(self.app, key), "warn")
            self._unavailable_key_message = message
            self.show_message(message)

    def clear_unavailable_key_message(self) -> None:
        """Remove the message about a key without an action, if it is still displayed."""
        message = self._unavailable_key_message
        self._unavailable_key_message = NO_MESSAGE
        if message != NO_MESSAGE:
            self.clear_message_if_shown(message)

    def show_summary(self, lines: Sequence[str]) -> None:
        """Show the summary of the session above the item. The first line is its title."""
        shown: list[Line] = []
        for index, text in enumerate(lines):
            style = "strong" if index == 0 else ""
            shown.append(fit_line(make_line(f" {text}", style), self.size.width))

        # There is no block while the screen closes.
        for block in self.query("#item-summary").results(LineBlock):
            block.display = bool(shown)
            block.show(shown)

    def notify_review_saved(self, item: int | None) -> None:
        self.post_message(self.ReviewSaved(item))

    def close(self, last_item: int) -> None:
        """Close the pane. `last_item`: number of the last displayed item."""
        self.is_awaiting_list = True
        self.post_message(self.Closed(last_item))

    def _run_when_drawn(self, item: int | None) -> None:
        """Read ahead after the frame with this item was sent to the terminal."""

        def run() -> None:
            self.record_frame(item)
            self._prefetch()

        self.call_after_refresh(run)

    def record_frame(self, item: int | None) -> None:
        """Record that a frame was sent to the terminal. It shows the item with this number, unless
        the screen is still blank.
        """
        if not self.item_reviewer.has_item or not getattr(self.screen, "is_drawing", True):
            return
        if self.item_reviewer.displayed.navigator.item == item:
            self._key_guard.record_frame(watch_flush(self.app._driver, self._session.clock))

    @work(exclusive=True, group="prefetch")
    async def _prefetch(self) -> None:
        """Read the next items and the item in other runs in the background, while the user reads
        this one.
        """
        self._show_suspicion_if_hidden()
        await self._prefetcher.prefetch(self.item_reviewer.displayed, self.item_reviewer.direction)
        self._count_items_left()
        if self._prefetcher.prefetches_other_runs:
            displayed = self.item_reviewer.displayed
            self.text.show_other_runs(
                displayed.detail.row.item, await self._prefetcher.read_other_runs(displayed)
            )

    @work(exclusive=True, group="left")
    async def _count_items_left(self) -> None:
        """Count the items of the list that are left, unless the number is known or not shown."""
        pace = self.item_reviewer.pace
        if pace.n_left is not None or self.follows_list:
            return
        n_changes = pace.n_changes
        pace.set_count(await self._prefetcher.count_unreviewed(), n_changes)
        self.draw_bars()
        self.post_message(self.ItemsCounted())

    def _make_cursor(self, displayed: DisplayedItem) -> Cursor:
        """Create the cursor of the first item. Later items keep its folds and options."""
        group_keys = [self._key_name("item.group_previous"), self._key_name("item.group_next")]
        options = DisplayOptions(
            open_key=self._key_name("item.fold"),
            group_keys=" ".join(key for key in group_keys if key),
            confirm_key=self._key_name("item.decisive_step"),
            suspicion=displayed.suspicion,
            frames=True,
            panels=not is_small_screen(self.app.size),
        )
        return Cursor(
            displayed.detail,
            annotator=self._session.annotator,
            blind=self._session.blind,
            options=options,
        )

    def _show_suspicion_if_hidden(self) -> None:
        """If the reasons why the golden answer is suspect are scrolled out of view, show them in
        the status line.
        """
        suspicion = self.cursor.options.suspicion
        if suspicion is not None and not self.text.is_start_visible and self._message == NO_MESSAGE:
            self.show_message(StatusMessage(sanitize(suspicion.summary), "golden"))

    def draw_bars(self) -> None:
        """Draw the header, the status line and the key line. A closed pane has none of them."""
        if not self.query("#item-status"):
            return
        if self._is_item_hidden:
            waiting = make_line(f" Reading the item {symbols().ellipsis}", "dim")
            self.query_one("#item-header", LineBar).show(waiting)
            status = make_line(f" {self._message.text}", self._message.style)
        elif self.item_reviewer.has_item:
            self._draw_header()
            # From now on, a key applies to what the user sees.
            self._key_guard.drawn = self._current_subject()
            status = self._status_line()
            self._draw_priority_hints()
        else:
            status = make_line(f" {self._message.text}", self._message.style)
        self.query_one("#item-status", LineBar).show(status)
        self._draw_override_question()

    def _draw_header(self) -> None:
        """Draw the header of the item and, at its right end, the automatic answer that a key
        accepts.
        """
        displayed = self.item_reviewer.displayed
        answer = self._automatic_answer_part()
        header_cells = self.size.width
        if answer:
            # At least one blank stands between the header and the answer.
            header_cells -= line_width(answer) + 1
        header = header_line(
            displayed.detail,
            displayed.navigator.position,
            displayed.navigator.count,
            header_cells,
            hide_verdicts=self.cursor.hides_verdicts,
            show_id=not self.is_named_above,
            run_names=self._session.opened_run_names,
        )
        if self._is_marked_as_focused:
            header = mark_focused_header(header)
        if answer:
            header = justify_line(header, answer, self.size.width)
        self.query_one("#item-header", LineBar).show(header)

    def _automatic_answer_part(self) -> Line:
        """Return ` judge: hallucinated `, the automatic answer on the target of the verdict keys if
        its scale has other words than pass and fail. Empty in blind mode.
        """
        if self.cursor.hides_verdicts:
            return BLANK_LINE
        answer = self.item_reviewer.describe_automatic_answer(self._current_subject())
        return make_line(f" {answer} ", "strong") if answer else BLANK_LINE

    def _status_line(self) -> Line:
        """Return the status line: a message or question, the position in the text, and keys."""
        keys = find_action_key_names(self.app)
        if self.follows_list and self._message == NO_MESSAGE:
            # The keys of the item do not work while the list has the focus.
            key = keys.get("queue.item", "")
            return make_line(f" press {key} to review this item" if key else "", "dim")
        if self.cursor.block.message_number is None:
            # Only a message of a conversation can be the decisive step.
            keys = {name: key for name, key in keys.items() if name != "item.decisive_step"}
        return status_line(
            self._message,
            self.item_reviewer.pending_question(self._current_subject()),
            self.text.scroll_position,
            self.cursor.in_arguments,
            self.size.width,
            keys,
            self.item_reviewer.pace.summary,
        )

    def _draw_priority_hints(self) -> None:
        """Show the keys for answers and for override reasons in the key line.

        They are omitted while the list has the focus, because keys then act on the list.
        """
        hints: list[tuple[str, str]] = []
        if not self.follows_list:
            hints = self.item_reviewer.list_priority_hints(self._current_subject())
        for line in self.screen.query(KeyLine):
            line.set_priority_hints(hints)

    def _draw_override_question(self) -> None:
        """Ask for the reason of an override that has none."""
        reasons = self.item_reviewer.override_reasons
        override = None if reasons.is_answered else reasons.override
        bar = self.query_one("#item-why", LineBar)
        bar.display = override is not None and not self.follows_list
        if override is not None:
            question = override.format_question(self.size.width - 2)
            bar.show(make_line(f" {question}", "warn"))

    def _on_cursor_moved(self) -> None:
        """Show a message about the move. Verdict keys apply to the whole item again if the cursor
        is not on a part.
        """
        if self.text.message is not None:
            self._message = self.text.message
        if self._is_target_at_cursor and not self.cursor.has_own_verdict:
            self._is_target_at_cursor = False
            self._message = TARGET_RESET
        self.draw_bars()

    def on_document_view_scrolled(self) -> None:
        self.draw_bars()

    # -- reviews

    def action_verdict(self, verdict_key: str) -> None:
        """Record a verdict. `verdict_key` is one of `verdict_keys.VERDICT_KEY_BY_NAME`."""
        subject = self._subject_at_key_press()
        if subject is None:
            return
        reason = self._key_guard.record_press(verdict_key, subject, self._last_key_time)
        if reason:
            self._show_ignored_key(reason)
        else:
            self.item_reviewer.record_verdict(subject, verdict_key)

    def action_score(self, value: int) -> None:
        """Give the answer of the target, the score or the override reason with this number."""
        subject = self._subject_at_key_press()
        if subject is None:
            return
        if subject.question.digit_answers:
            self._give_digit_answer(subject.question.digit_answers, value)
            return
        if not find_score_criteria(subject.detail):
            # The digit gives the reason for the last override, whatever item is shown.
            self.item_reviewer.record_score_or_move_cursor(subject, value)
            return
        # As for a verdict, the user must have seen the item that they score.
        scored_subject = self._subject_on_screen_for_a_while()
        if scored_subject is not None:
            self.item_reviewer.record_score_or_move_cursor(scored_subject, value)

    def _give_digit_answer(self, answers: Sequence[DigitAnswer], number: int) -> None:
        """Record the answer with this number, from 1."""
        if 1 <= number <= len(answers):
            self.action_verdict(answers[number - 1].verdict_key)
            return
        choices = [f"{digit} {answer.label}" for digit, answer in enumerate(answers, 1)]
        self.show_message(StatusMessage(f"answers: {', '.join(choices)}", "warn"))

    def action_mark_decisive_step(self) -> None:
        """Mark the message under the cursor as the one with which the model failed the item."""
        subject = self._subject_on_screen_for_a_while()
        if subject is None:
            return
        message_number = self.cursor.block.message_number
        if message_number is None:
            self.show_message(NO_CHAT_MESSAGE)
        else:
            self.item_reviewer.mark_decisive_step(subject, message_number)

    def action_toggle_incident(self) -> None:
        if (subject := self._subject_on_screen_for_a_while()) is not None:
            self.item_reviewer.toggle_incident(subject)

    def action_ask_fault(self) -> None:
        if (subject := self._subject_at_key_press()) is not None:
            review_dialogs.ask_fault(self, subject)

    def action_edit_tags(self) -> None:
        if (subject := self._subject_at_key_press()) is not None:
            review_dialogs.ask_tags(self, subject, self._session, self._prefetcher)

    def action_edit_note(self) -> None:
        if (subject := self._subject_at_key_press()) is not None:
            review_dialogs.ask_note(self, self._session, subject)

    def action_prompt_for_last_item(self, dialog_name: str) -> None:
        """Ask for a fault, tags or a note on the item that the annotator reviewed last.

        The screen already shows the next item, so the dialog names the item. `dialog_name`:
        `fault`, `tag` or `note`.
        """

        def open_prompt(subject: ReviewSubject) -> None:
            """Open the dialog when the actions of earlier keys have run."""
            if not self.is_in_front:
                # The user has gone to another screen in the meantime.
                return
            if dialog_name == "fault":
                review_dialogs.ask_fault(self, subject, subject.name)
            elif dialog_name == "tag":
                review_dialogs.ask_tags(
                    self, subject, self._session, self._prefetcher, subject.name
                )
            else:
                review_dialogs.ask_note(self, self._session, subject, subject.name)

        self.item_reviewer.prompt_about_last_item(open_prompt)

    def action_undo(self) -> None:
        self.item_reviewer.undo()

    def action_switch_target(self) -> None:
        """Switch between verdicts on the whole item and on the part of it at the cursor."""
        if self._is_target_at_cursor:
            self._is_target_at_cursor = False
            self.show_message(TARGET_RESET)
        elif self.cursor.has_own_verdict:
            self._is_target_at_cursor = True
            self.show_message(NO_MESSAGE)
        else:
            # The part at the cursor cannot have a verdict of its own.
            self.show_message(NO_PART)

    def action_edit_golden(self) -> None:
        if (subject := self._subject_at_key_press()) is not None:
            open_golden_editor(self, self._session, subject)

    @work(group="dialog", exclusive=True)
    async def action_choose_labels(self) -> None:
        if (subject := self._subject_at_key_press()) is not None:
            await review_dialogs.ask_response_labels(self, self._session, subject)

    def action_give_override_reason(self) -> None:
        review_dialogs.ask_override_reason(self, self._session)

    # -- navigation and details

    def action_step_item(self, by: int) -> None:
        self.item_reviewer.step_item(by)

    def action_step_in_group(self, by: int) -> None:
        self.item_reviewer.step_in_group(by)

    def action_back(self) -> None:
        """Close the pane after the queued actions have run."""
        if not self.is_item_loading:
            self.item_reviewer.close_view()
        elif self._opened is not None:
            self.close(self._opened)

    def action_show_records(self) -> None:
        pager.show_records(self, self._session)

    def action_show_guidelines(self) -> None:
        text = read_guidelines(self._session.workspace_folder)
        if text is None:
            self.show_message(NO_GUIDELINES)
        else:
            pager.show_guidelines(self.app, self._session, text)

    def on_item_text_opened(self, opened: ItemText.Opened) -> None:
        pager.show_text(self, self._session, opened.title, opened.text)

    def action_search(self) -> None:
        """Ask for a text, and move to its next match in the item."""

        def search(typed: str | None) -> None:
            # An empty line repeats the last search. Esc searches for nothing.
            term = typed or self.cursor.last_search
            if typed is not None and term:
                self.text.search(term)

        self.app.push_screen(make_search_prompt(self.cursor.last_search), search)

    @work(group="dialog", exclusive=True)
    async def action_show_question(self) -> None:
        """Show the answers of all runs to the question of the item. Blind review hides them."""
        subject = self._subject_at_key_press()
        if subject is None:
            return
        if self.cursor.hides_verdicts:
            self.show_message(StatusMessage("other runs are hidden until you submit", "warn"))
            return
        opener = QuestionOpener(self.app, self._session, self.make_screen)
        problem = await opener.open(self._prefetcher.view, subject.item, self._leave_question)
        if problem:
            self.show_message(StatusMessage(problem, "warn"))

    def _leave_question(self, result: QuestionResult | None) -> None:
        if result is None:
            return
        if result.item is not None:
            self.item_reviewer.show_other_item(result.item)
        elif result.has_changed_reviews:
            self.item_reviewer.reread_item()

    def action_copy(self) -> None:
        pager.ask_copy(self, self._session)


class ItemScreen(GuardedScreen[int]):
    """Screen with one item pane.

    The result of the screen is the number of the last displayed item.
    """

    place_name = "item"
    CSS_PATH = "item.tcss"

    def __init__(self, session: Session, view: View, item: int) -> None:
        """Prepare the screen. The item is read when the screen is shown."""
        super().__init__()
        self._item = item
        self._session = session
        self._progress = session.progress
        session.queue_file = view.queue_file
        self.pane = ItemPane(session, view, partial(ItemScreen, session))
        self.pane.is_named_above = True
        self.can_close_for_split = False
        """Whether the screen closes when the terminal becomes wide enough for two panes."""
        self.is_drawing = False
        """Whether the screen is drawn.

        It stays blank until the item is read, for at most `MAX_BLANK_TIME`.
        """
        self.closed_for_split = False
        """Whether the screen closed because the terminal became wide enough for two panes."""

    def compose(self) -> ComposeResult:
        yield TopLine()
        yield self.pane
        yield KeyLine(keep_last=1, id="item-keys")

    def on_mount(self) -> None:
        self.watch(self.pane, "position", self._draw_when_laid_out, init=False)
        self.set_timer(MAX_BLANK_TIME, self._start_drawing)
        self.text.focus()
        self.pane.open(self._item)

    def _draw_when_laid_out(self) -> None:
        self._draw_top()
        self.call_after_refresh(self._start_drawing)

    def _draw_top(self) -> None:
        """Draw the top line: run and item, the progress of the review, and the annotator."""
        self._update_progress()
        detail = self.item_reviewer.displayed.detail
        path = (*self._session.root_breadcrumb, sanitize(detail.row.id))
        progress_line = top_progress_line(
            self._session.annotator, self._progress, self.app.size.width
        )
        self.query_one(TopLine).show_path(path, progress_line)

    def _update_progress(self) -> None:
        """Follow the reviews on this screen, and those that were undone."""
        # The queue may count its items only after this screen was opened.
        self._progress = self._progress or self._session.progress
        n_left = self.item_reviewer.pace.n_left
        if self._progress is None or n_left is None:
            return
        n_items = self._progress.n_items
        self._progress = ReviewProgress(max(n_items - n_left, 0), n_items)

    def _start_drawing(self) -> None:
        if not self.is_drawing:
            self.is_drawing = True
            self.refresh()
            self.call_after_refresh(self._record_first_frame)

    def _record_first_frame(self) -> None:
        if self.item_reviewer.has_item:
            self.pane.record_frame(self.item_reviewer.displayed.navigator.item)

    def _compositor_refresh(self) -> None:
        """Draw the changes, unless the screen must stay blank."""
        if self.is_drawing:
            super()._compositor_refresh()

    @property
    def is_item_loading(self) -> bool:
        return self.pane.is_item_loading

    @property
    def item_reviewer(self) -> ItemReviewer:
        return self.pane.item_reviewer

    @property
    def text(self) -> ItemText:
        return self.pane.text

    @property
    def cursor(self) -> Cursor:
        return self.pane.cursor

    @property
    def target(self) -> str:
        return self.pane.target

    @property
    def should_close_for_split(self) -> bool:
        """Whether the terminal has become wide enough to show the item beside the list."""
        return self.can_close_for_split and self.app.size.width >= TWO_PANES_MIN_WIDTH

    def on_screen_resume(self) -> None:
        self.pane.resume()
        self.on_resize()

    def on_resize(self) -> None:
        if self.item_reviewer.has_item:
            self._draw_top()
        if self.should_close_for_split and self.pane.is_in_front:
            self.closed_for_split = True
            self.pane.action_back()

    def on_item_pane_review_saved(self) -> None:
        self._draw_top()

    def on_item_pane_items_counted(self) -> None:
        self._draw_top()

    def show_unavailable_key(self, key: str) -> None:
        self.pane.show_unavailable_key(key)

    def clear_unavailable_key_message(self) -> None:
        self.pane.clear_unavailable_key_message()

    def on_item_pane_closed(self, closed: ItemPane.Closed) -> None:
        self.dismiss(closed.item)


def make_question_opener(app: App[Any], session: Session) -> QuestionOpener:
    return QuestionOpener(app, session, partial(ItemScreen, session))

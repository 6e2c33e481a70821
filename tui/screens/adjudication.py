"""Show one disagreement of annotators at a time. The adjudicator resolves it with one key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from fcreview.model.address import ITEM, get_enclosing_call_address
from fcreview.model.effective_verdict import is_definite
from fcreview.model.review import CORRECT
from fcreview.model.sanitize import sanitize
from fcreview.model.verdict import PASS_FAIL_CRITERIA
from fcreview.store.rows import ItemDetail
from fcreview.tui.actions import ADJUDICATION_ACTIONS
from fcreview.tui.figure_scope import FigureScope, scope_chip
from fcreview.tui.item_view.blocks import Block, DisplayOptions
from fcreview.tui.item_view.cursor import Cursor
from fcreview.tui.keymap import (
    find_action_key_names,
    format_key,
    format_unavailable_key_message,
    list_key_hints,
    make_bindings,
)
from fcreview.tui.review.adjudication import (
    SEARCHING,
    AdjudicationCase,
    Adjudicator,
    case_name,
    format_unresolved_count,
    shorten_message,
)
from fcreview.tui.review.answer_cards import (
    adjudication_keys_line,
    adjudication_progress_line,
    answer_lines,
    format_all_answers,
    question_line,
)
from fcreview.tui.review.clipboard import copy_text
from fcreview.tui.review.guidelines import NO_GUIDELINES, read_guidelines
from fcreview.tui.review.key_guard import KeyGuard, make_ignored_key_message
from fcreview.tui.review.recorder import ReviewSubject
from fcreview.tui.review.status import format_key_hints
from fcreview.tui.screens.pager import PagerScreen, PagerText, read_records, show_guidelines
from fcreview.tui.screens.prompts import AskScreen, make_search_prompt
from fcreview.tui.screens.review_dialogs import FaultScreen, NoteScreen
from fcreview.tui.session import Session
from fcreview.tui.terminal_output import watch_flush
from fcreview.tui.text.lines import BLANK_LINE, Line, justify_line, line_width, make_line, rule_line
from fcreview.tui.text.messages import NO_MESSAGE, StatusMessage
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.styles import symbols
from fcreview.tui.widgets.base import GuardedScreen, is_small_screen, run_while_open
from fcreview.tui.widgets.document_view import LineBar, LineBlock, TopLine
from fcreview.tui.widgets.item_text import ItemText

REVIEW_ACTIONS = frozenset(
    {"accept_answer", "verdict", "ask_fault", "edit_note", "enter_value", "undo"}
)
"""Actions that record a review."""


MARKER_KEY = "disputed"


@dataclass(slots=True)
class DisagreementCursor(Cursor):
    """Cursor in the item of a disagreement. It marks the disputed target, and hides the reviews
    until the disagreement is resolved.
    """

    case: AdjudicationCase | None = None

    def show_case(self, case: AdjudicationCase, detail: ItemDetail) -> None:
        """Show another case, with the cursor on the target of the case."""
        self.case = case
        self.show_item(_hide_reviews_until_resolved(case, detail))
        self.index = self._target_index() if case.disagreement.target != ITEM else self.index

    def refresh_case(self, case: AdjudicationCase, detail: ItemDetail) -> None:
        """Reload the current disagreement with its latest reviews."""
        self.case = case
        self.refresh(_hide_reviews_until_resolved(case, detail))

    def _target_index(self) -> int:
        """Return the index of the block that the displayed disagreement is about."""
        target = self.case.disagreement.target if self.case else ITEM
        exact = (at for at, block in enumerate(self.blocks) if target in (block.target, block.key))
        return next(exact, self.find_block_index(target))

    def _build_blocks(self, cursor_block_key: str) -> None:
        """Build the blocks of the item, with a line that marks the part on which annotators
        disagree.
        """
        # A dataclass with slots is a new class, so `super()` without arguments fails.
        Cursor._build_blocks(self, cursor_block_key)
        if self.case is None or self.case.disagreement.target == ITEM:
            return

        # For a call or an argument, the line stands above the frame of the call. Otherwise, it
        # stands above the part itself.
        marker_index = self._target_index()
        call_address = get_enclosing_call_address(self.case.disagreement.target)
        for index, block in enumerate(self.blocks):
            if block.key == call_address:
                marker_index = index
                break

        render_marker = partial(_disagreement_marker_lines, self.case)
        parent = self.blocks[marker_index].parent
        self.blocks.insert(marker_index, Block(MARKER_KEY, render_marker, parent=parent))


def _hide_reviews_until_resolved(case: AdjudicationCase, detail: ItemDetail) -> ItemDetail:
    return detail if case.resolved else replace(detail, opinions=[], history=[])


def _disagreement_marker_lines(case: AdjudicationCase, cells: int) -> list[Line]:
    """Return the line that marks the disputed part in the item's text."""
    criterion = case.disagreement.criterion
    suffix = "" if criterion == CORRECT else f" {symbols().separator} {sanitize(criterion)}"
    state, style = ("resolved", "good") if case.resolved else ("annotators disagree", "disputed")
    return [rule_line(((state + suffix, style),), cells)]


class AdjudicationScreen(GuardedScreen[None]):
    """Screen with the text of an item above the annotators' answers.

    `Adjudicator` records the reviews.
    """

    place_name = "adjudication"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(ADJUDICATION_ACTIONS)
    CSS = """
    AdjudicationScreen { layout: vertical; overflow: hidden hidden; }
    AdjudicationScreen #item-keys { background: $bar; }
    """

    def __init__(self, session: Session, scope: FigureScope, *, is_top_level: bool = False) -> None:
        """Create the screen.

        Args:
            scope: Items whose disagreements are listed.
            is_top_level: Whether closing the screen ends the program.
        """
        super().__init__()
        self._session = session
        self._is_top_level = is_top_level
        self.scope = scope
        self.adjudicator = Adjudicator(session, scope.view, self, self._key_name)
        self._key_guard = KeyGuard(session.key_guard_time)
        self._message = NO_MESSAGE

    def compose(self) -> ComposeResult:
        yield TopLine()
        yield LineBar(id="adjudication-question")
        yield ItemText(id="item-text")
        yield LineBlock(id="adjudication-answers")
        yield LineBar(id="item-status")
        yield LineBar(id="item-keys")

    def on_mount(self) -> None:
        self.text.focus()
        self.watch(self.text, "moves", self._on_text_moved, init=False)
        self.adjudicator.load_cases()

    def on_resize(self) -> None:
        self.text.set_section_frames(not is_small_screen(self.app.size))
        self.call_after_refresh(self._draw)

    @property
    def text(self) -> ItemText:
        return self.query_one("#item-text", ItemText)

    def _key_name(self, action_id: str) -> str:
        return find_action_key_names(self.app).get(action_id, "")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action is possible for the disagreement on screen. Textual asks before each
        key.
        """
        if action == "back":
            return True
        if action == "undo" and not self.is_item_loading:
            return True

        case = self.adjudicator.cases.current
        if case is None or self.adjudicator.detail is None:
            return False
        if action == "verdict" and is_definite(parameters[0]):
            # The keys for pass and fail do not fit other scales.
            return case.disagreement.criterion in PASS_FAIL_CRITERIA
        if action == "accept_answer":
            answer_number = int(str(parameters[0]))
            return answer_number <= len(case.disagreement.answers)
        return True

    @property
    def is_item_loading(self) -> bool:
        """Whether the first disagreement is loading.

        Until it is displayed, review keys only ring the bell.
        """
        return not self.adjudicator.is_loaded

    def must_wait(self, action: str) -> bool:
        return self.is_item_loading and not action.startswith("app.")

    def must_ignore(self, action: str) -> bool:
        return self.is_item_loading and action in REVIEW_ACTIONS

    @property
    def hidden_actions(self) -> frozenset[str]:
        """Ids of actions that only show a message for this disagreement.

        The key line and the help omit them.
        """
        case = self.adjudicator.cases.current
        # The target of verdict keys is always the part on which annotators disagree.
        hidden = {"item.target"}
        if case is not None and case.disagreement.criterion in PASS_FAIL_CRITERIA:
            hidden.add("adjudication.other")
        if not self.scope.part:
            hidden.add("scope.clear")
        return frozenset(hidden)

    def show_unavailable_key(self, key: str) -> None:
        self.show_message(StatusMessage(format_unavailable_key_message(self.app, key), "warn"))

    # -- display

    def run_coroutine(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self.run_worker(run_while_open(self, coroutine), group="actions")

    def show_case(self, message: StatusMessage) -> None:
        """Show the current disagreement of the adjudicator, which is another one than before."""
        self._message = message
        case = self.adjudicator.cases.current
        detail = self.adjudicator.detail
        if case is not None and detail is not None:
            cursor = self._find_or_make_cursor(detail)
            cursor.show_case(case, detail)
            self.text.open(cursor)
            self._scroll_to_target_mark(cursor)
            self._key_guard.record_new_item(is_from_list=False)
            self.call_after_refresh(self._record_frame, case)
        self._draw()
        self.handle_kept_keys()

    def _record_frame(self, case: AdjudicationCase) -> None:
        """Record that a frame with this case was sent to the terminal."""
        if case is self.adjudicator.cases.current:
            self._key_guard.record_frame(watch_flush(self.app._driver, self._session.clock))

    def _find_or_make_cursor(self, detail: ItemDetail) -> DisagreementCursor:
        """Return the cursor of the previous case, which keeps folds and options, or a new one."""
        cursor = self.text.document_cursor
        if isinstance(cursor, DisagreementCursor):
            return cursor
        options = DisplayOptions(
            open_key=self._key_name("item.fold"),
            frames=True,
            panels=not is_small_screen(self.app.size),
        )
        return DisagreementCursor(detail, self._session.annotator, options=options)

    def _scroll_to_target_mark(self, cursor: DisagreementCursor) -> None:
        """Scroll to the mark of the disputed target, after the item is drawn."""
        for index, block in enumerate(cursor.blocks):
            if block.key == MARKER_KEY:
                self.call_after_refresh(self.text.scroll_to_block, index)
                return

    def refresh_case(self, message: StatusMessage) -> None:
        """Redraw the displayed disagreement after a review."""
        self._message = message
        case = self.adjudicator.cases.current
        detail = self.adjudicator.detail
        cursor = self.text.document_cursor
        if case is not None and detail is not None and isinstance(cursor, DisagreementCursor):
            cursor.refresh_case(case, detail)
            self.text.update_item(cursor.detail)
        self._draw()

    def show_message(self, message: StatusMessage) -> None:
        """Show a message in the status line. Ring the bell if the message is an error."""
        self._message = message
        if message.style == "bad":
            self.app.bell()
        self._draw_bars()

    def clear_message_if_shown(self, message: StatusMessage) -> None:
        if self._message == message:
            self.show_message(NO_MESSAGE)

    def _on_text_moved(self) -> None:
        if self.text.message is not None:
            self._message = self.text.message
        self._draw_bars()

    def on_document_view_scrolled(self) -> None:
        self._draw_bars()

    def _draw(self) -> None:
        self._draw_path()
        self._draw_question_and_answers()
        self.refresh_bindings()
        self._draw_bars()

    def _draw_path(self) -> None:
        """Draw the top line: the path to the screen, the items that it covers, and the progress."""
        path = list(self._session.root_breadcrumb)
        if self.adjudicator.detail is not None:
            path.append(format_run_name(self.adjudicator.detail.row))
        path.append("disagreements")
        progress = adjudication_progress_line(
            self.adjudicator.cases, self._session.annotator, self.app.size.width
        )
        chip: Line = BLANK_LINE
        if self.scope.part:
            chip = (*scope_chip(self.scope, self._key_name("scope.clear")), ("  ", ""))
        self.query_one(TopLine).show_path(tuple(path), (*chip, *progress))

    def _draw_question_and_answers(self) -> None:
        """Draw the disagreement on screen: what it is about, and the answers of the annotators.

        Without one, draw how many disagreements are unresolved.
        """
        cases = self.adjudicator.cases
        detail = self.adjudicator.detail
        answers: list[Line] = []
        if cases.current is not None and detail is not None:
            answers = answer_lines(
                cases.current,
                detail.displayed_item,
                self.adjudicator.role,
                self.app.size,
                self._key_name("adjudication.answers"),
            )
            question = question_line(cases, cases.current, detail, self.app.size.width)
        elif self.adjudicator.is_loaded:
            question = make_line(f" {format_unresolved_count(cases)}", "strong")
        else:
            question = make_line(f" {SEARCHING}", "strong")
        self.query_one(LineBlock).show(answers)
        self.query_one("#adjudication-question", LineBar).show(question)

    def _draw_bars(self) -> None:
        """Draw the status line with the message or the keys of the item, and the key line."""
        cells = self.app.size.width
        right = make_line(f" {self.text.scroll_position} ", "dim")
        left = self._message_or_key_hints(cells - line_width(right) - 2)
        self.query_one("#item-status", LineBar).show(justify_line(left, right, cells))
        keys_line = adjudication_keys_line(self._list_key_hints(), cells)
        self.query_one("#item-keys", LineBar).show(keys_line)

    def _message_or_key_hints(self, cells: int) -> Line:
        """Return the message or, without one, the keys of the item. Both are cut to `cells`."""
        if self._message.text or self.adjudicator.cases.current is None:
            message = shorten_message(self._message.text, cells)
            return make_line(f" {message}", self._message.style)
        # The decisive step cannot be marked here.
        keys = {
            name: key
            for name, key in find_action_key_names(self.app).items()
            if name != "item.decisive_step"
        }
        return make_line(f" {format_key_hints(keys, cells)}", "dim")

    def _list_key_hints(self) -> list[tuple[str, str]]:
        """Return the hints of the key line. Without a case, only leaving is possible."""
        hints = list_key_hints(self)
        if not self.adjudicator.is_loaded or self.adjudicator.cases.current is not None:
            return hints
        other_hints = [(key, label) for key, label in hints if label != "undo"]
        back_label = "quit" if self._is_top_level else "back"
        return [(self._key_name("item.back"), back_label), *other_hints]

    # -- reviews

    def _must_ignore_key(self, key_name: str) -> bool:
        """Whether to ignore a verdict key, because it cannot have been meant for this disagreement.

        The disagreement may have appeared just before the key was pressed, or the key may be the
        same press again. A message then gives the reason.
        """
        case = self.adjudicator.cases.current
        detail = self.adjudicator.detail
        if case is None or detail is None:
            return False
        subject = ReviewSubject(
            case.item,
            detail=detail,
            target=case.disagreement.target,
            criterion=case.disagreement.criterion,
        )
        pressed = getattr(self.app, "last_key_time", None)
        reason = self._key_guard.record_press(key_name, subject, pressed)
        if reason:
            self.show_message(make_ignored_key_message(self.app, reason))
        return bool(reason)

    def action_accept_answer(self, number: int) -> None:
        if not self._must_ignore_key(f"answer {number}"):
            self.adjudicator.accept_answer(number)

    def action_verdict(self, verdict_key: str) -> None:
        if not self._must_ignore_key(verdict_key):
            self.adjudicator.record_verdict(verdict_key)

    def action_switch_target(self) -> None:
        self.show_message(StatusMessage("only the disputed target can be reviewed here", "warn"))

    def action_enter_value(self) -> None:
        """Ask for a verdict on a scale other than pass and fail, such as a score from 0 to 2."""
        case = self.adjudicator.cases.current
        if case is not None and case.disagreement.criterion in PASS_FAIL_CRITERIA:
            keys = [self._key_name("item.pass"), self._key_name("item.fail")]
            key_names = " or ".join(key for key in keys if key)
            message = f"the only values are pass and fail; press {key_names}"
            self.show_message(StatusMessage(message, "warn"))
            return
        prompt = f"{self.adjudicator.describe_allowed_values()}:"
        self.app.push_screen(
            AskScreen(sanitize(prompt)),
            lambda text: self.adjudicator.record_value(text) if text else None,
        )

    def action_ask_fault(self) -> None:
        name = sanitize(self.adjudicator.detail.row.id) if self.adjudicator.detail else ""
        self.app.push_screen(
            FaultScreen(name), lambda fault: self.adjudicator.record_fault(fault) if fault else None
        )

    def action_edit_note(self) -> None:
        """Ask for a note on the disagreement. The prompt begins with the adjudicator's own note."""
        case = self.adjudicator.cases.current
        detail = self.adjudicator.detail
        if case is None or detail is None:
            return

        own_review = self.adjudicator.own_review
        saved_note = ""
        if own_review is not None and own_review.note:
            saved_note = own_review.note

        def record_note(note: str | None) -> None:
            # None: the prompt was cancelled.
            if note is not None:
                self.adjudicator.record_note(note)

        self.app.push_screen(NoteScreen(case_name(case, detail), saved_note), record_note)

    def action_undo(self) -> None:
        self.adjudicator.undo()

    # -- navigation and details

    def action_clear_scope(self) -> None:
        """List the disagreements of all items of the runs."""
        if self.scope.part:
            self.scope = self.scope.without_limit
            self.adjudicator.load_cases_of(self.scope.view)

    def action_step_item(self, by: int) -> None:
        self.adjudicator.step(by)

    def action_back(self) -> None:
        """Close the screen as soon as all reviews are on disk. At the top level, Esc only says how
        to quit, as in the queue.
        """
        quit_key = self._key_name("item.back")
        escape = format_key("escape")
        was_escape_pressed = getattr(self.app, "last_key_name", "") == escape
        if self._is_top_level and was_escape_pressed and quit_key != escape:
            message = f"Already at the top level; press {quit_key} to quit"
            self.show_message(StatusMessage(message, "warn"))
            return
        self.adjudicator.call_after_queued_actions(self.dismiss)

    def action_show_answers(self) -> None:
        """Show the full answers of all annotators to the displayed case."""
        case = self.adjudicator.cases.current
        detail = self.adjudicator.detail
        if case is not None and detail is not None:
            self._open_pager(
                f"{case_name(case, detail)} · answers", format_all_answers(case, detail)
            )

    def action_show_records(self) -> None:
        """Show the records of the item as they are in the files of the run."""
        case = self.adjudicator.cases.current
        detail = self.adjudicator.detail
        if case is not None and detail is not None:
            self._open_pager(
                f"{detail.row.id} · records",
                partial(read_records, self._session, case.item, detail.item),
            )

    def action_show_guidelines(self) -> None:
        text = read_guidelines(self._session.workspace_folder)
        if text is None:
            self.show_message(NO_GUIDELINES)
        else:
            show_guidelines(self.app, self._session, text)

    def on_item_text_opened(self, opened: ItemText.Opened) -> None:
        self._open_pager(f"{self.text.required_cursor.detail.row.id} · {opened.title}", opened.text)

    def _open_pager(self, title: str, text: str | Callable[[], Awaitable[PagerText]]) -> None:
        find = self.text.required_cursor.last_search if self.text.document_cursor else ""
        self.app.push_screen(
            PagerScreen(title, text, find=find, folder=self._session.workspace_folder)
        )

    def action_search(self) -> None:
        """Ask for a text, and go to its next occurrence in the item."""
        last_search = self.text.required_cursor.last_search

        def search(typed: str | None) -> None:
            # An empty line repeats the last search. Esc searches for nothing.
            term = typed or last_search
            if typed is not None and term:
                self.text.search(term)

        self.app.push_screen(make_search_prompt(last_search), search)

    def action_copy(self) -> None:
        self.show_message(
            StatusMessage(
                copy_text(self.text.text_to_copy, self._session.workspace_folder, self.app._driver)
            )
        )

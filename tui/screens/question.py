"""Show one question with the golden answer and the answers of all runs, grouped by equal answers.

A verdict key records the verdict for every run of the group under the cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen

from fcreview.errors import FcreviewError
from fcreview.model.review import Annotation
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count, format_verdict
from fcreview.store.rows import View, strip_duplicate_mark
from fcreview.tui.action_queue import QueuedAction
from fcreview.tui.actions import QUESTION_ACTIONS
from fcreview.tui.item_view.blocks import Block, BlockSource
from fcreview.tui.keymap import find_action_key_names, format_unavailable_key_message, make_bindings
from fcreview.tui.review.guidelines import NO_GUIDELINES, read_guidelines
from fcreview.tui.review.key_guard import KeyGuard, make_ignored_key_message
from fcreview.tui.review.question import (
    AnswerGroup,
    Question,
    build_answer_blocks,
    docs_lines,
    question_lines,
    read_question,
    summarize_groups,
)
from fcreview.tui.review.recorder import (
    Refusal,
    ReviewNotSavedError,
    ReviewRecorder,
    ReviewSubject,
)
from fcreview.tui.screens.pager import show_guidelines
from fcreview.tui.session import Session
from fcreview.tui.terminal_output import watch_flush
from fcreview.tui.text.layout import DOCUMENT_START
from fcreview.tui.text.lines import Line, fit_line, make_line
from fcreview.tui.text.messages import NO_MESSAGE, StatusMessage
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.styles import symbols
from fcreview.tui.verdict_keys import VERDICT_KEY_BY_NAME
from fcreview.tui.widgets.base import (
    GuardedScreen,
    Panel,
    is_small_screen,
    run_while_open,
    work,
)
from fcreview.tui.widgets.document_view import (
    DocumentView,
    KeyLine,
    LineBar,
    LineBlock,
    TopLine,
)

MIN_COLUMNS_WIDTH = 140
"""Minimum screen width, in cells, for the golden answer and the answers side by side."""
QUESTION_WIDTH_SHARE = 0.4
MIN_QUESTION_ROWS = 4
PANEL_MARGIN = 4
"""Width, in cells, of the frame of a panel with the blanks inside."""
SMALL_PANEL_MARGIN = 1
"""Width, in cells, of the blank before the lines of a panel without a frame."""
ROWS_BESIDE_PANELS = 6
"""Rows of a wide screen that are not for the lines of its panels."""
HIDDEN_ANSWERS = "Other runs are hidden until you review this question in a run"
BLIND_BULK = "In blind mode, press {key} and review each run"
ONLY_RUN = "No other run has this question"
MIN_RUNS = 2
"""Smallest number of runs of a question that is worth a screen."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What happened on the screen, for the screen below."""

    item: int | None
    """First item of the last displayed question in the view, if it is another question than the
    first one.
    """
    has_changed_reviews: bool = False


QuestionCallback = Callable[[QuestionResult | None], None]
ItemScreenMaker = Callable[[View, int], Screen[int]]
"""Returns a screen that shows an item of a view."""


class QuestionScreen(GuardedScreen[QuestionResult]):
    """Screen with a question, its golden answer and the groups of equal answers."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(QUESTION_ACTIONS)
    CSS = """
    QuestionScreen { layout: vertical; overflow: hidden hidden; }
    QuestionScreen #question-body { height: 1fr; layout: vertical; }
    QuestionScreen #question-panel { height: auto; }
    QuestionScreen.columns #question-body { layout: horizontal; }
    QuestionScreen.columns #question-panel { height: 1fr; width: 2fr; }
    QuestionScreen.columns #answers-panel { width: 3fr; }
    """

    def __init__(
        self, session: Session, view: View, question: Question, make_item_screen: ItemScreenMaker
    ) -> None:
        """Create the screen. `view`: items whose questions the keys for the next and the previous
        question show.
        """
        super().__init__()
        self._session = session
        self._view = view
        self._make_item_screen = make_item_screen
        self._question = question
        self._first_question = question
        self._cursor = 0
        """Index of the group under the cursor."""
        self._first_items: list[int] | None = None
        """First item of each question of the view. None until it is read."""
        self._message = NO_MESSAGE
        self._recorder = ReviewRecorder(session, self._key_name)
        self._key_guard = KeyGuard(session.key_guard_time)
        self._has_changed_reviews = False

    def compose(self) -> ComposeResult:
        yield TopLine()
        with Container(id="question-body"):
            with Panel(id="question-panel"):
                yield LineBlock(id="question")
            with Panel(id="answers-panel"):
                yield DocumentView(id="answers")
        yield LineBar(id="question-message")
        yield KeyLine()

    def on_mount(self) -> None:
        self._answers.focus()
        self._show_question(self._question)
        self._read_first_items()

    def on_resize(self) -> None:
        self.set_class(self.app.size.width >= MIN_COLUMNS_WIDTH, "columns")
        self.call_after_refresh(self._draw)

    # -- state

    @property
    def _answers(self) -> DocumentView:
        return self.query_one("#answers", DocumentView)

    @property
    def _are_answers_hidden(self) -> bool:
        """Whether the annotator must review the question in a run first."""
        return self._session.blind and not self._question.is_reviewed

    @property
    def _group(self) -> AnswerGroup | None:
        """Group under the cursor. None while the answers are hidden."""
        if self._are_answers_hidden or not self._question.groups:
            return None
        return self._question.groups[self._cursor]

    @property
    def _position(self) -> int | None:
        """Index of the question in the view. None if it is unknown, or if the view lacks it."""
        if self._first_items is None:
            return None
        for position, item in enumerate(self._first_items):
            if strip_duplicate_mark(item) in self._question.items:
                return position
        return None

    def _key_name(self, action_id: str) -> str:
        return find_action_key_names(self.app).get(action_id, "")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return action != "step_question" or self._first_items is not None

    def must_wait(self, action: str) -> bool:
        return action == "step_question" and self._first_items is None

    @work(exclusive=True, group="questions")
    async def _read_first_items(self) -> None:
        """Read the questions of the list, which takes long, so that keys can go to the next one."""
        view = self._view
        self._first_items = await self._session.read(
            lambda store: store.find_first_items_of_questions(view), interruptible=True
        )
        self._draw_top()
        self.refresh_bindings()
        self.handle_kept_keys()

    # -- drawing

    def _show_question(self, question: Question, message: StatusMessage = NO_MESSAGE) -> None:
        """Show another question, with the cursor on the most frequent answer."""
        self._question = question
        self._cursor = 0
        self._message = message
        self._key_guard.record_new_item(is_from_list=False)
        self._draw()
        self._answers.scroll_to_edge(-1)
        self.call_after_refresh(self._record_frame, question)

    def _record_frame(self, question: Question) -> None:
        """Record that a frame with this question was sent to the terminal."""
        if question is self._question:
            self._key_guard.record_frame(watch_flush(self.app._driver, self._session.clock))

    def _draw(self) -> None:
        """Draw the whole screen again. On a small screen, the panels have no frames."""
        is_small = is_small_screen(self.app.size)
        for panel in self.query(Panel):
            panel.set_flat(is_small)
        self._draw_top()
        self._draw_question()
        self._draw_answers()
        self._draw_message()

    def _draw_top(self) -> None:
        """Draw the top line: the path, the position among the questions, and the annotator."""
        detail = self._question.detail
        path = (*self._session.root_breadcrumb, "question", sanitize(detail.row.id))
        right = make_line(sanitize(self._session.annotator), "people")
        position = self._position
        if position is not None and self._first_items is not None:
            place = f"question {position + 1:,} / {len(self._first_items):,}  "
            right = (*make_line(place, "dim"), *right)
        self.query_one(TopLine).show_path(path, right)

    def _draw_question(self) -> None:
        """Draw the question and, if it stands beside the answers, the function docs."""
        panel = self.query_one("#question-panel", Panel)
        panel.set_title("Question", sanitize(self._question.detail.row.category), flat_facts=True)

        is_small = is_small_screen(self.app.size)
        margin = SMALL_PANEL_MARGIN if is_small else PANEL_MARGIN
        if self.has_class("columns"):
            lines = self._question_lines_beside_answers(margin)
        else:
            lines = self._question_lines_above_answers(margin)
        if is_small:
            # Without a border, a blank stands before each line.
            lines = [((" ", ""), *line) for line in lines]
        self.query_one("#question", LineBlock).show(lines)

    def _question_lines_beside_answers(self, margin: int) -> list[Line]:
        """Return the question and the function docs. `margin`: cells at both sides."""
        size = self.app.size
        item = self._question.detail.displayed_item
        max_rows = size.height - ROWS_BESIDE_PANELS
        cells = int(size.width * QUESTION_WIDTH_SHARE) - margin
        lines = question_lines(item, cells, max_rows)
        return lines + docs_lines(item, cells, max_rows - len(lines))

    def _question_lines_above_answers(self, margin: int) -> list[Line]:
        """Return the question. `margin`: cells at both sides."""
        size = self.app.size
        # The question takes a third of the screen, of which the title needs a row.
        max_rows = max(size.height // 3 - 1, MIN_QUESTION_ROWS)
        item = self._question.detail.displayed_item
        return question_lines(item, size.width - margin, max_rows)

    def _draw_answers(self) -> None:
        """Draw the answers of the runs, or a note that they are hidden."""
        groups = self._question.groups
        blind = self._session.blind
        facts = ""
        if not self._are_answers_hidden:
            facts = summarize_groups(groups, hides_verdicts=blind)
        self.query_one("#answers-panel", Panel).set_title("Answers", facts, flat_facts=True)
        if self._are_answers_hidden:
            self._answers.show(BlockSource([Block("hidden", _hidden_answers_lines)]))
            return
        blocks = build_answer_blocks(self._question, blind=blind)
        # When the answers are drawn again, they stay where the reader has scrolled them.
        layout = self._answers.document_layout
        top = DOCUMENT_START if layout is None else layout.top
        self._answers.show(BlockSource(blocks), top=top, cursor=self._cursor)

    def _draw_message(self) -> None:
        line = make_line(f" {self._message.text}", self._message.style)
        self.query_one("#question-message", LineBar).show(fit_line(line, self.app.size.width))

    def show_message(self, message: StatusMessage) -> None:
        """Show a message. Ring the bell if it is an error."""
        self._message = message
        if message.style == "bad":
            self.app.bell()
        self._draw_message()

    def clear_message_if_shown(self, message: StatusMessage) -> None:
        if self._message == message:
            self.show_message(NO_MESSAGE)

    def show_unavailable_key(self, key: str) -> None:
        self.show_message(StatusMessage(format_unavailable_key_message(self.app, key), "warn"))

    def run_coroutine(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self.run_worker(run_while_open(self, coroutine), group="actions")

    def _add_action(self, action: QueuedAction) -> None:
        """Run an action after the actions of all earlier keys."""
        self._session.actions.add(action, self)

    # -- movement

    def action_move(self, by: int) -> None:
        """Move the cursor to another group."""
        self.action_move_to(min(max(self._cursor + by, 0), len(self._question.groups) - 1))

    def action_move_to(self, index: int) -> None:
        """Move the cursor to the group at `index`, or to the last one for -1."""
        if self._group is None:
            return
        self._cursor = index % len(self._question.groups)
        self._message = NO_MESSAGE
        self._answers.cursor = self._cursor
        self._answers.reveal(self._cursor)
        self._answers.redraw()
        self._draw_message()

    def action_page(self, by: int) -> None:
        self._answers.scroll_rows(by * max(self._answers.size.height - 1, 1))

    def action_step_question(self, by: int) -> None:
        # Until the other question is on screen, a verdict key may be meant for either of them.
        self._key_guard.record_new_item(is_from_list=False)
        self._add_action(partial(self._step_question, by))

    async def _step_question(self, by: int) -> None:
        """Show the next (1) or previous (-1) question of the view."""
        first_items = self._first_items or []
        position = self._position
        next_position = 0 if position is None else position + by
        if not 0 <= next_position < len(first_items):
            place = "last" if by > 0 else "first"
            self.show_message(StatusMessage(f"this is the {place} question", "warn"))
            self.call_after_refresh(self._record_frame, self._question)
            return
        item = first_items[next_position]
        self._show_question(await _read_question(self._session, item))
        self._draw_top()

    def action_open_item(self) -> None:
        """Open the item of the first run of the group, in a list with the items of all runs."""
        group = self._group
        if group is not None:
            item = group.rows[0].item
            view = self._question.view
        else:
            # The other runs are hidden.
            item = self._question.detail.row.item
            view = View(f"item:{item}", "dataset")
        self.app.push_screen(self._make_item_screen(view, item), self._reread_after_item)

    def _reread_after_item(self, _: int | None) -> None:
        self._has_changed_reviews = True
        self._add_action(partial(self._reread, NO_MESSAGE))

    async def _reread(self, message: StatusMessage) -> None:
        """Read the question again after a review. The cursor stays on its answer."""
        item = self._question.detail.row.item
        group = self._group
        question = await _read_question(self._session, item)
        self._question = question
        if group is not None:
            keys = [each.key for each in question.groups]
            self._cursor = keys.index(group.key) if group.key in keys else 0
        self._message = message
        self._draw()

    def action_show_guidelines(self) -> None:
        text = read_guidelines(self._session.workspace_folder)
        if text is None:
            self.show_message(NO_GUIDELINES)
        else:
            show_guidelines(self.app, self._session, text)

    # -- reviews

    def action_verdict(self, verdict_key: str) -> None:
        """Record a verdict for all runs of the group under the cursor that the annotator has not
        reviewed. `verdict_key` is one of `VERDICT_KEY_BY_NAME`.
        """
        group = self._group
        if group is None:
            self.show_message(StatusMessage(HIDDEN_ANSWERS, "warn"))
            return
        subject = ReviewSubject(group.rows[0].item, group.detail)
        key_time = getattr(self.app, "last_key_time", None)
        reason = self._key_guard.record_press(verdict_key, subject, key_time)
        if reason:
            self.show_message(make_ignored_key_message(self.app, reason))
            return

        problem = self._find_problem(group)
        if problem:
            self.show_message(StatusMessage(problem, "warn"))
        elif len(group.rows) == 1:
            self._add_action(partial(self._record_single, subject, verdict_key))
        else:
            self._add_action(partial(self._record_group, group, verdict_key))

    def _find_problem(self, group: AnswerGroup) -> str:
        """Return why one verdict cannot be given for the group. Empty if it can be given."""
        open_key = self._key_name("question.open")
        if len(group.rows) == 1:
            return ""
        if self._session.blind:
            return BLIND_BULK.format(key=open_key)
        if group.has_mixed_verdicts:
            return (
                "These runs have equal calls but different verdicts, so more than the calls"
                f" differs. Press {open_key} and review each run"
            )
        if not group.unreviewed_items:
            return f"You have reviewed all runs of this answer. Press {open_key} to change one"
        return ""

    async def _record_single(self, subject: ReviewSubject, verdict_key: str) -> None:
        review = self._recorder.compose_verdict(subject, verdict_key)
        if isinstance(review, Refusal):
            self.show_message(StatusMessage(review.text, "warn"))
            return
        saved = await self._recorder.save(review)
        run_name = sanitize(format_run_name(subject.detail.row))
        await self._show_saved(f"{saved.text} for {run_name}")

    async def _record_group(self, group: AnswerGroup, verdict_key: str) -> None:
        """Record a verdict on all unreviewed items of a group, which have the same answer."""
        key = VERDICT_KEY_BY_NAME[verdict_key]
        annotation = Annotation(verdict=key.value, fault=key.fault)
        text = format_verdict(key.value, "correct")
        if key.fault:
            text += f", fault: {key.fault}"
        try:
            events = await self._session.record_bulk_review(group.unreviewed_items, annotation)
        except Exception as error:
            # The annotator must see that the reviews are not saved.
            reason = sanitize(str(error) or type(error).__name__)
            raise ReviewNotSavedError(f"NOT SAVED ({text}): {reason}") from error
        await self._show_saved(f"saved: {text} for {format_count(len(events), 'run')}")

    async def _show_saved(self, text: str) -> None:
        """Show what a review did, and go on to the next answer without a verdict."""
        self._has_changed_reviews = True
        undo = self._key_name("item.undo")
        await self._reread(NO_MESSAGE)
        self._move_to_next_unreviewed_group()
        hint = f" {symbols().separator} {undo} undo" if undo else ""
        self.show_message(StatusMessage(text + hint))

    def _move_to_next_unreviewed_group(self) -> None:
        """Move to the next group of answers that has an unreviewed item, if there is one."""
        groups = self._question.groups
        for step in range(1, len(groups)):
            index = (self._cursor + step) % len(groups)
            if groups[index].unreviewed_items:
                # A key that was meant for the reviewed answer must not act on the next one.
                self._key_guard.record_new_item(is_from_list=False)
                self.action_move_to(index)
                self.call_after_refresh(self._record_frame, self._question)
                return

    def action_undo(self) -> None:
        self._add_action(self._undo)

    async def _undo(self) -> None:
        """Undo the last review, and read the answers again."""
        undone = await self._recorder.undo()
        if undone is None:
            self.show_message(StatusMessage("nothing to undo", "warn"))
            return
        self._has_changed_reviews = True
        await self._reread(NO_MESSAGE)
        self.show_message(StatusMessage(undone.message))

    def action_close(self) -> None:
        """Close the screen after the queued actions have run."""
        self._add_action(self._close)

    async def _close(self) -> None:
        position = self._position
        is_first = self._question.items & self._first_question.items
        item = None
        if not is_first and position is not None and self._first_items is not None:
            item = self._first_items[position]
        self.dismiss(QuestionResult(item, has_changed_reviews=self._has_changed_reviews))


def _hidden_answers_lines(cells: int) -> list[Line]:
    return [fit_line(make_line(HIDDEN_ANSWERS, "dim"), cells)]


async def _read_question(session: Session, item: int) -> Question:
    compare = session.compare_with_accepted_golden
    return await session.read(lambda store: read_question(store, item, compare))


@dataclass(frozen=True, slots=True)
class QuestionOpener:
    """Opens questions above the current screen."""

    app: App[Any]
    session: Session
    make_item_screen: ItemScreenMaker

    async def open(self, view: View, item: int, callback: QuestionCallback) -> str:
        """Open the question of an item across all runs. Return why it cannot be opened, or an empty
        text.

        `callback` receives the `QuestionResult`, or None.
        """
        screen = self.app.screen
        try:
            question = await _read_question(self.session, item)
        except FcreviewError as error:
            return sanitize(str(error))
        if self.app.screen is not screen:
            return ""
        if len(question.items) < MIN_RUNS:
            return ONLY_RUN
        if self.session.blind and not question.is_reviewed:
            return HIDDEN_ANSWERS
        opened = QuestionScreen(self.session, view, question, self.make_item_screen)
        self.app.push_screen(opened, callback)
        return ""

"""Let the annotator correct the golden answer of an item as JSON, beside the question, the
predicted calls and the function docs. While the annotator types, check the text and recompute the
verdicts on the item in all runs.

Letters run commands, such as taking the predicted calls as the golden answer, until a key moves
into the text.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.containers import Container
from textual.widgets import TextArea

from fcreview.errors import FcreviewError
from fcreview.model.golden_fix import ACCEPTED, PROPOSED, GoldenStatus
from fcreview.model.item import Item, Run
from fcreview.model.review import Opinion
from fcreview.model.sanitize import sanitize
from fcreview.store.drafts import DraftSlot
from fcreview.store.rows import ItemDetail, strip_duplicate_mark
from fcreview.tui.actions import (
    GOLDEN_EDITOR_ACTIONS,
    GOLDEN_EFFECT_ACTIONS,
    GOLDEN_TEXT_ACTIONS,
    PROMPT_HELP_ACTIONS,
)
from fcreview.tui.item_view.blocks import Block, BlockSource
from fcreview.tui.item_view.call_diff import format_call
from fcreview.tui.item_view.golden_reference import build_golden_reference
from fcreview.tui.item_view.other_runs import find_most_given_answer
from fcreview.tui.keymap import find_action_key_names, list_key_hints, make_bindings
from fcreview.tui.review.golden_effect import (
    GoldenCorrection,
    GoldenFixEffects,
    golden_effect_lines,
    measure_effects,
)
from fcreview.tui.review.item_reviewer import ItemView
from fcreview.tui.review.recorder import ReviewSubject
from fcreview.tui.review.sibling_search import SiblingPlan, SiblingSearch, sibling_lines
from fcreview.tui.screens.review_dialogs import (
    NoteScreen,
    SafeTextArea,
    make_draft_slot,
)
from fcreview.tui.session import GoldenSupport, Session
from fcreview.tui.text.lines import (
    Line,
    fit_line,
    format_json,
    justify_line,
    key_hints_line,
    line_width,
    make_line,
)
from fcreview.tui.text.messages import StatusMessage
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.widgets.base import GuardedModalScreen, Panel, is_small_screen, work
from fcreview.tui.widgets.document_view import Divider, DocumentView, LineBar

EMPTY_GOLDEN = "{\n}"
"""Text of the editor if the benchmark has no template for a golden answer."""
JSON_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(:)?|[{}\[\]]')


@dataclass(frozen=True, slots=True)
class CheckedText:
    """Result of a check."""

    golden_fix: dict[str, Any] | None
    """Parsed golden answer. None if the text is invalid."""
    problem: str = ""
    position: int = 0
    """Position of the problem in the text, in characters."""


def format_original_golden(golden: GoldenSupport, run: Run, item: Item) -> str:
    """Return the golden answer of the dataset as JSON.

    If it cannot be parsed, return its text in the dataset.
    """
    try:
        template = golden.make_template(run, item)
    except FcreviewError:
        template = None
    if template is not None:
        return format_json(template)
    return _join_golden_texts(item) or EMPTY_GOLDEN


def _join_golden_texts(item: Item) -> str:
    """Return the texts of the golden calls, one below the other. Empty without golden calls."""
    return "\n".join(call.raw or format_call(call) for call in item.golden)


def check_text(text: str, golden: GoldenSupport, run: Run, item: Item) -> CheckedText:
    """Parse the text of a corrected golden answer, and check it by the rules of the benchmark.

    The result has the corrected answer, or a problem with its position in the text.
    """
    parsed = _parse_text(text)
    if parsed.golden_fix is None:
        return parsed

    try:
        problem = golden.find_problem(run, item, parsed.golden_fix)
    except FcreviewError as error:
        problem = str(error)
    if problem:
        position = find_problem_position(problem, text)
        return CheckedText(None, problem=problem, position=position)
    return parsed


def _parse_text(text: str) -> CheckedText:
    """Parse the text as a JSON object. The rules of the benchmark are not checked yet."""
    try:
        fix = json.loads(text)
    except json.JSONDecodeError as error:
        return CheckedText(None, problem=f"invalid JSON: {error.msg}", position=error.pos)
    except (ValueError, RecursionError) as error:
        return CheckedText(None, problem=f"invalid JSON: {error}")
    if not isinstance(fix, dict):
        problem = "the text is not a JSON object with the fields of the golden record"
        return CheckedText(None, problem=problem)
    return CheckedText(fix)


def find_problem_position(problem: str, text: str) -> int:
    """Return the index in `text` of the JSON string that a message about a problem names.

    The cursor moves there, so that the user can correct the problem. If the message names several
    strings, the most deeply nested one counts. Returns 0 if it names none.
    """
    depth = 0
    deepest_depth = 0
    position = 0
    # A token is a bracket or a string.
    for token in JSON_TOKEN.finditer(text):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
        elif depth > deepest_depth and _contains_name(problem, token[1]):
            deepest_depth = depth
            position = token.start()
    return position


def _contains_name(message: str, name: str | None) -> bool:
    """Whether a message contains a name that is not a part of a longer word."""
    return bool(name) and re.search(rf"(?<!\w){re.escape(str(name))}(?!\w)", message) is not None


def to_line_and_column(text: str, position: int) -> tuple[int, int]:
    """Convert a position in characters to (line, column).

    Lines, columns and positions count from 0.
    """
    return text.count("\n", 0, position), position - (text.rfind("\n", 0, position) + 1)


CHECK_DELAY = 0.3
"""Seconds without a key press before the text is checked."""


MIN_COLUMNS_WIDTH = 120
"""Minimum screen width, in cells, for showing the text beside the question and the docs."""


class GoldenEffectScreen(GuardedModalScreen[GoldenCorrection | None]):
    """Screen that shows, before a corrected golden answer is saved, which verdicts it changes.

    The annotator answers with a verdict. The result is None if they go back to the text.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(
        GOLDEN_EFFECT_ACTIONS, PROMPT_HELP_ACTIONS
    )
    CSS = """
    GoldenEffectScreen { background: $background; layout: vertical; }
    """

    def __init__(
        self,
        session: Session,
        golden: GoldenSupport,
        detail: ItemDetail,
        golden_fix: dict[str, Any],
        reason: str | None,
        *,
        siblings: SiblingSearch,
        hides_verdicts: bool,
    ) -> None:
        """Create the screen.

        With `hides_verdicts`, as in blind review, it does not show verdicts of runs.
        """
        super().__init__()
        self._siblings = siblings
        self._plan = SiblingPlan()
        self._session = session
        self._golden = golden
        self._detail = detail
        self._golden_fix = golden_fix
        self._reason = reason
        self._hides_verdicts = hides_verdicts
        self._status: GoldenStatus = PROPOSED
        self._effects: GoldenFixEffects | None = None
        self._is_complete = False
        """Whether the verdicts of all runs have been recomputed, and the siblings are known."""
        self._verdict_key = ""
        """Name of the verdict key that was pressed before the verdicts were complete."""

    def compose(self) -> ComposeResult:
        yield LineBar(id="effect-title")
        document = DocumentView(id="effect-runs")
        document.can_focus = False
        yield document
        yield LineBar(id="effect-message")
        yield LineBar(id="effect-keys")

    def on_mount(self) -> None:
        self._measure()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    @property
    def _document(self) -> DocumentView:
        return self.query_one("#effect-runs", DocumentView)

    @work(exclusive=True, group="effect")
    async def _measure(self) -> None:
        """Recompute the verdicts of all runs with the corrected golden answer, and show them one by
        one.

        If the user pressed a verdict key in the meantime, close with this verdict.
        """
        self._status = await self._session.find_golden_status()
        error_text = ""
        try:
            async for effects in measure_effects(
                self._session, self._golden, self._detail, self._golden_fix
            ):
                self._effects = effects
                self._draw()
        except Exception as error:
            # The correction can be saved even if another run cannot be read.
            error_text = sanitize(str(error) or type(error).__name__)

        self._plan = await self._siblings.plan(self._golden_fix)
        self._is_complete = True
        self._draw()
        if error_text:
            self._show_message(f"some verdicts cannot be recomputed: {error_text}", "warn")
        if self._verdict_key:
            self._finish(self._verdict_key)

    def _draw(self) -> None:
        title: Line = (
            (" corrected golden answer ", "strong"),
            (sanitize(self._detail.row.id), ""),
        )
        self.query_one("#effect-title", LineBar).show(title)
        self._document.show(
            BlockSource([Block("runs", self._effect_lines), Block("siblings", self._sibling_lines)])
        )
        self._show_message(self._question)
        hints = list_key_hints(self)
        self.query_one("#effect-keys", LineBar).show(
            key_hints_line(hints, self.app.size.width, len(hints))
        )

    def _effect_lines(self, cells: int) -> list[Line]:
        """Return what the correction changes. Blind review hides it, because it contains
        verdicts.
        """
        if self._hides_verdicts:
            return [make_line("verdicts are hidden until you submit", "dim")]
        if self._effects is None:
            return [make_line("recomputing verdicts ...", "dim")]
        return golden_effect_lines(self._effects, cells)

    def _sibling_lines(self, cells: int) -> list[Line]:
        key = find_action_key_names(self.app).get("golden_effect.siblings", "")
        return sibling_lines(self._plan, key, cells)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return action != "toggle_siblings" or bool(self._plan.possible_fixes)

    def action_toggle_siblings(self) -> None:
        """Correct the siblings too, or leave them."""
        self._plan.is_chosen = not self._plan.is_chosen
        if self._plan.is_chosen and not self._plan.is_measured:
            self._is_complete = False
            self._measure_siblings()
        self._draw()

    @work(exclusive=True, group="siblings")
    async def _measure_siblings(self) -> None:
        """Recompute the verdicts on the siblings in all runs, and show them one by one.

        A sibling is a nearly equal question in another category or version. If the user pressed a
        verdict key in the meantime (`_verdict_key`), close with this verdict.
        """
        try:
            await self._measure_each_sibling()
        except Exception as error:
            # Whatever the reason, the correction of the item itself can still be saved. A verdict
            # key that was pressed for all of them is forgotten.
            self._plan.is_chosen = False
            self._verdict_key = ""
            self._accept_verdict_keys()
            reason = sanitize(str(error) or type(error).__name__)
            self._show_message(f"siblings cannot be corrected: {reason}", "bad")
            return

        self._accept_verdict_keys()
        if self._verdict_key:
            self._finish(self._verdict_key)

    async def _measure_each_sibling(self) -> None:
        for fix in self._plan.possible_fixes:
            is_measured = fix.question.item in self._plan.annotations
            if not is_measured:
                await self._siblings.measure(fix, self._plan, self._reason, self._status)
                self._draw()

    def _accept_verdict_keys(self) -> None:
        """From now on, a verdict key acts at once."""
        self._is_complete = True
        self._draw()

    @property
    def _question(self) -> str:
        if not self._is_complete:
            return "recomputing verdicts, looking for siblings ..."
        if self._status == ACCEPTED:
            return "Is this answer right? Your verdict accepts the golden answer for all runs."
        return "Is this answer right? Your verdict sends the proposal to an adjudicator."

    def _show_message(self, text: str, style: str = "strong") -> None:
        self.query_one("#effect-message", LineBar).show(((f" {text}", style),))

    def action_scroll(self, rows: int) -> None:
        self._document.scroll_rows(rows)

    def action_page(self, pages: int) -> None:
        self.action_scroll(pages * max(self._document.size.height - 1, 1))

    def action_verdict(self, verdict_key: str) -> None:
        """Save the fix with a verdict, as soon as the verdicts of all runs are known."""
        self._verdict_key = verdict_key
        if self._is_complete:
            self._finish(verdict_key)

    def _finish(self, verdict_key: str) -> None:
        """Close with the correction, the annotator's verdict, and what the correction changes."""
        effects = self._effects
        changed_verdicts = effects.changed_verdicts if effects is not None else {}
        summary = ""
        if effects is not None and not self._hides_verdicts:
            summary = effects.summary

        correction = GoldenCorrection(
            self._golden_fix,
            reason=self._reason,
            verdict_key=verdict_key,
            status=self._status,
            golden_verdicts=changed_verdicts,
            summary=summary,
            sibling_fixes=self._plan.chosen_fixes,
            n_siblings_left=self._plan.n_left,
        )
        self.dismiss(correction)

    def action_cancel(self) -> None:
        self.dismiss(None)


class GoldenTextArea(SafeTextArea):
    """Text area with the golden answer as JSON."""

    ACTIONS = GOLDEN_TEXT_ACTIONS
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(GOLDEN_TEXT_ACTIONS)


class GoldenScreen(GuardedModalScreen[GoldenCorrection | None]):
    """Editor of a golden answer. It starts with the annotator's saved correction, if there is one.

    The result is the correction, or None if nothing is to be saved.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(
        GOLDEN_EDITOR_ACTIONS, PROMPT_HELP_ACTIONS
    )
    has_unsaved_input = True
    AUTO_FOCUS = ""  # the focus must not move when the prompt for the reason closes
    CSS = """
    GoldenScreen { background: $background; layout: vertical; }
    GoldenScreen #golden-body { height: 1fr; layout: vertical; }
    GoldenScreen #golden-reference { height: 1fr; }
    GoldenScreen GoldenTextArea {
        height: auto; min-height: 5; max-height: 12; border: none; padding: 0;
        background: $background;
    }
    GoldenScreen #golden-side { height: auto; min-height: 6; max-height: 60%; width: 1fr; }
    GoldenScreen Divider { display: none; }
    GoldenScreen.columns #golden-body { layout: horizontal; }
    GoldenScreen.columns #golden-side { height: 1fr; max-height: 100%; }
    GoldenScreen.columns GoldenTextArea { height: 1fr; max-height: 100%; }
    GoldenScreen.columns.flat Divider { display: block; }
    GoldenScreen GoldenTextArea:focus { border: none; }
    GoldenScreen #golden-message { height: 1; }
    """

    def __init__(
        self,
        session: Session,
        golden: GoldenSupport,
        subject: ReviewSubject,
        *,
        hides_verdicts: bool,
        draft: DraftSlot | None = None,
    ) -> None:
        """Create the editor.

        Args:
            hides_verdicts: Whether it does not recompute verdicts, as in blind review.
            draft: Draft of the golden answer, which then is the text to start with.
        """
        super().__init__()
        self._session = session
        self._golden = golden
        self._item = subject.item
        self._siblings = SiblingSearch(session, golden, subject.item)
        self._detail = subject.detail
        self._hides_verdicts = hides_verdicts

        # The correction that the annotator saved earlier, if any.
        saved = _find_saved_correction(subject.detail, session.annotator)
        self._saved_fix = saved.golden_fix if saved is not None else None
        self._saved_reason = (saved.note or "") if saved is not None else ""
        self._reason = self._saved_reason

        # The text without changes: the saved correction, else the golden answer of the dataset.
        if self._saved_fix:
            self._initial_text = format_json(self._saved_fix)
        else:
            self._initial_text = format_original_golden(golden, self._detail.run, self._detail.item)

        # The text with which the editor starts: the draft, else the text without changes.
        self._draft = draft
        draft_text = draft.read() if draft is not None else None
        self._first_text = self._initial_text if draft_text is None else draft_text

        self._checked = CheckedText(None)
        """Result of the last check of the text."""
        self._message: Line = ()
        self._confirms_cancel = False
        """Whether the next press of the cancel key discards the changes."""

    def compose(self) -> ComposeResult:
        yield LineBar(id="golden-title")
        reference = DocumentView(id="golden-reference")
        reference.can_focus = False
        with Container(id="golden-body"):
            yield reference
            yield Divider()
            with Panel(id="golden-side"):
                yield GoldenTextArea(
                    self._first_text,
                    soft_wrap=True,
                    show_line_numbers=True,
                    tab_behavior="indent",
                    compact=True,
                )
        yield LineBar(id="golden-message")
        yield LineBar(id="golden-keys")

    def on_mount(self) -> None:
        self.query_one(Panel).set_title("corrected golden answer")
        self._siblings.start()
        self._check_text()

    def on_unmount(self) -> None:
        self._siblings.stop()

    def on_resize(self) -> None:
        """Draw the parts as panels, or below rules on a small screen."""
        is_small = is_small_screen(self.app.size)
        self.set_class(self.app.size.width >= MIN_COLUMNS_WIDTH, "columns")
        self.set_class(is_small, "flat")
        self.query_one(Panel).set_flat(is_small)
        blocks = build_golden_reference(
            self._detail.item, format_run_name(self._detail.row), is_framed=not is_small
        )
        self._reference.show(BlockSource(blocks))
        self.call_after_refresh(self._draw_bars)

    @property
    def _reference(self) -> DocumentView:
        return self.query_one("#golden-reference", DocumentView)

    @property
    def _text_area(self) -> GoldenTextArea:
        return self.query_one(GoldenTextArea)

    @property
    def _is_editing(self) -> bool:
        return self.focused is not None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return action in ("leave_text", "help") or not self._is_editing

    # -- checks

    def on_text_area_changed(self, _: TextArea.Changed) -> None:
        self._confirms_cancel = False
        self._check_text()
        self.keep_draft_after_pause()

    def keep_draft(self) -> str:
        """Keep a changed text, so that it is there when the editor is opened again. Return why it
        could not be written, or an empty text.
        """
        if self._draft is None:
            return ""
        if self._text_area.text != self._initial_text:
            return self._draft.keep(self._text_area.text)
        self._draft.remove()
        return ""

    @work(exclusive=True, group="check")
    async def _check_text(self) -> None:
        """Check the text when the user stops typing, and show a problem or what the correction
        changes.
        """
        is_first_check = not (self._checked.golden_fix or self._checked.problem)
        if not is_first_check:
            await asyncio.sleep(CHECK_DELAY)  # until the user stops typing
        text = self._text_area.text
        self._checked = await asyncio.to_thread(
            check_text, text, self._golden, self._detail.run, self._detail.item
        )

        await self._show_check_result(self._checked, text)

    async def _show_check_result(self, checked: CheckedText, text: str) -> None:
        """Show the problem of the text or, if it has none, the verdicts that it changes."""
        if checked.golden_fix is None:
            line, _ = to_line_and_column(text, checked.position)
            self._show_message(f"line {line + 1}: {sanitize(checked.problem)}", "warn")
        elif self._hides_verdicts:
            self._show_message("valid · verdicts are hidden until you submit")
        else:
            self._show_message("valid")
            await self._show_changed_verdicts(checked.golden_fix)

    async def _show_changed_verdicts(self, golden_fix: dict[str, Any]) -> None:
        """Show how many verdicts the correction changes, updated after each run."""
        try:
            async for effects in measure_effects(
                self._session, self._golden, self._detail, golden_fix
            ):
                self._show_message(effects.describe(), "good" if effects.this_verdict else "")
        except Exception as error:  # a fix can be saved even if another run cannot be read
            reason = sanitize(str(error) or type(error).__name__)
            self._show_message(f"valid · verdicts cannot be recomputed: {reason}", "warn")

    def _show_message(self, text: str, style: str = "") -> None:
        self._message = ((f" {text}", style),)
        self._draw_bars()

    def _draw_bars(self) -> None:
        self._draw_title()
        self.query_one("#golden-message", LineBar).show(self._message)
        self._draw_key_hints()

    def _draw_title(self) -> None:
        """Draw the item on the left, and the reason for the correction on the right."""
        cells = self.app.size.width
        left: Line = ((" golden answer ", "strong"), (sanitize(self._detail.row.id), ""))
        reason = "no reason given "
        if self._reason:
            reason = f"reason: {self._reason} "
        right: Line = ((sanitize(reason.replace("\n", " ")), "dim"),)
        fitted_right = fit_line(right, cells // 2)
        self.query_one("#golden-title", LineBar).show(justify_line(left, fitted_right, cells))

    def _draw_key_hints(self) -> None:
        mode = make_line(" text " if self._is_editing else " keys ", "head")
        free_cells = self.app.size.width - line_width(mode)
        hints = key_hints_line(list_key_hints(self), free_cells, 1)
        self.query_one("#golden-keys", LineBar).show((*mode, *hints))

    def on_descendant_focus(self) -> None:
        self.call_after_refresh(self._draw_bars)

    on_descendant_blur = on_descendant_focus

    # -- keys

    def action_leave_text(self) -> None:
        self.set_focus(None)

    def action_edit_text(self) -> None:
        self._text_area.focus()

    def action_save(self) -> None:
        """Check the text and ask for a verdict, with which the correction is saved.

        If the text is invalid, move the cursor to the problem instead. If it equals the golden
        answer of the dataset, there is nothing to save.
        """
        detail = self._detail
        checked = check_text(self._text_area.text, self._golden, detail.run, detail.item)
        if checked.golden_fix is None:
            # The focus stays: a verdict key that follows must not become a letter of the text.
            self._text_area.move_cursor(to_line_and_column(self._text_area.text, checked.position))
            self._show_message(f"NOT SAVED: {sanitize(checked.problem)}", "bad")
            self.app.bell()
            return
        if self._golden.is_unchanged(detail.run, detail.item, checked.golden_fix):
            self._show_message("NOT SAVED: the text equals the golden answer of the dataset", "bad")
            self.app.bell()
            return
        self._ask_for_verdict(checked.golden_fix)

    def _ask_for_verdict(self, golden_fix: dict[str, Any]) -> None:
        """Show what the correction changes, and close with the verdict of the annotator.

        Without a change since the last time, close without a correction.
        """
        # None keeps the saved reason.
        reason = self._reason if self._reason != self._saved_reason else None
        if reason is None and golden_fix == self._saved_fix:
            self.dismiss(None)
            return

        def close_with(correction: GoldenCorrection | None) -> None:
            if correction is not None:
                self.dismiss(correction)

        screen = GoldenEffectScreen(
            self._session,
            self._golden,
            self._detail,
            golden_fix,
            reason,
            siblings=self._siblings,
            hides_verdicts=self._hides_verdicts,
        )
        self.app.push_screen(screen, close_with)

    def action_scroll(self, rows: int) -> None:
        """Scroll the question, the predicted calls and the docs."""
        self._reference.scroll_rows(rows)

    def action_page(self, pages: int) -> None:
        self.action_scroll(pages * max(self._reference.size.height - 1, 1))

    def action_take_this_answer(self) -> None:
        """Replace the text by the predicted calls of this run."""
        self._take_answer(self._detail.run, self._detail.item, "this answer")

    @work(exclusive=True, group="take")
    async def action_take_most_given_answer(self) -> None:
        """Replace the text by the predicted calls that most runs gave."""
        if self._hides_verdicts:
            self._show_message("answers of other runs are hidden until you submit", "warn")
            return
        own = strip_duplicate_mark(self._item)
        item = await self._session.read(lambda store: find_most_given_answer(store, own))
        if item is None:
            self._show_message("no run called a function", "warn")
            return
        detail = await self._session.read(lambda store: store.read_detail(item))
        self._take_answer(detail.run, detail.item, "the answer that most runs gave")

    def _take_answer(self, run: Run, item: Item, name: str) -> None:
        """Replace the text by the predicted calls of a run."""
        golden_fix = self._golden.make_from_prediction(run, item)
        if golden_fix is None:
            self._show_message(f"{name} has no calls that can be a golden answer", "warn")
            return
        self._text_area.text = format_json(golden_fix)

    def action_edit_reason(self) -> None:
        def set_reason(reason: str | None) -> None:
            if reason is not None:
                self._reason = reason
            self._draw_bars()

        self.app.push_screen(NoteScreen("the golden answer", self._reason), set_reason)

    def action_restore_original(self) -> None:
        self._text_area.text = format_original_golden(
            self._golden, self._detail.run, self._detail.item
        )

    def action_open_editor(self) -> None:
        """Edit the text in the program that is set in VISUAL or EDITOR.

        If the program fails, its changes are discarded.
        """
        if self._session.in_browser:
            self._show_message("not available in the browser: edit the text here", "warn")
            return

        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        try:
            edited = self._edit_in_program(command)
        except (OSError, ValueError, SuspendNotSupported) as error:
            reason = sanitize(str(error) or "cannot be started")
            self._show_message(f"{sanitize(command)}: {reason}", "bad")
        else:
            if edited.exit_code == 0:
                self._text_area.text = edited.text
            else:
                message = f"{sanitize(command)} failed (exit code {edited.exit_code})"
                self._show_message(f"{message}. The edit was discarded.", "warn")
        self.refresh(layout=True)

    def _edit_in_program(self, command: str) -> _EditedText:
        """Let a program edit the text in a temporary file. It has the terminal until it ends.

        Raises the exceptions of `subprocess.run`, of reading the file and of suspending the app.
        """
        with tempfile.TemporaryDirectory(prefix="fcreview-") as folder:
            file = Path(folder) / "golden.json"
            file.write_text(self._text_area.text + "\n", "utf-8")
            with self.app.suspend():
                process = subprocess.run(  # noqa: S603
                    [*shlex.split(command), str(file)], check=False
                )
            text = file.read_text("utf-8") if process.returncode == 0 else ""
            return _EditedText(process.returncode, text.rstrip("\n"))

    @property
    def unsaved_input(self) -> str:
        is_changed = (
            self._text_area.text != self._initial_text or self._reason != self._saved_reason
        )
        return "the golden answer" if is_changed else ""

    def action_cancel(self) -> None:
        """Close without saving. If the text was changed, only the second key press closes."""
        if self._text_area.text == self._initial_text or self._confirms_cancel:
            if self._draft is not None:
                self._draft.remove()
            self.dismiss(None)
        else:
            self._confirms_cancel = True
            key = find_action_key_names(self.app).get("golden.cancel", "")
            self._show_message(f"not saved: press {key} again to discard the text", "warn")


class _EditedText(NamedTuple):
    """Text from an editor that was started from here."""

    exit_code: int
    text: str
    """Empty if the editor failed."""


def _find_saved_correction(detail: ItemDetail, annotator: str) -> Opinion | None:
    """Return the annotator's review that corrects the golden answer, if there is one."""
    for opinion in detail.opinions:
        is_own = opinion.annotator == annotator
        if is_own and opinion.golden_fix and opinion.golden_status:
            return opinion
    return None


def open_golden_editor(view: ItemView, session: Session, subject: ReviewSubject) -> None:
    """Open the golden editor, and record the correction with which it closes.

    The text that the annotator types is kept as a draft until the correction is recorded.
    """
    if session.golden_support is None:
        view.show_message(StatusMessage("the golden editor is not available here", "warn"))
        return

    draft = make_draft_slot(session, "golden answer", subject)

    def record_correction(correction: GoldenCorrection | None) -> None:
        if correction is not None:
            view.item_reviewer.record_golden_fix(subject, correction, draft)

    editor = GoldenScreen(
        session,
        session.golden_support,
        subject,
        hides_verdicts=view.cursor.hides_verdicts,
        draft=draft,
    )
    view.app.push_screen(editor, record_correction)

"""Let the annotator correct the golden answer of an item as JSON, and check the text while it is typed.

A key leaves the text, so that letters run commands instead of being typed.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.widgets import TextArea

from fcreview.model.sanitize import sanitize
from fcreview.tui.actions import GOLDEN_EDITOR_ACTIONS, GOLDEN_TEXT_ACTIONS, PROMPT_HELP_ACTIONS
from fcreview.tui.key_bindings import active_key_names, key_hints, make_bindings
from fcreview.tui.review.golden_correction import CheckedText, check_text, initial_text, line_and_column, recheck_runs
from fcreview.tui.review.item_reviewer import ItemView
from fcreview.tui.review.recorder import ReviewSubject
from fcreview.tui.review.status import StatusMessage
from fcreview.tui.screens.dialogs import NoteScreen, SafeTextArea
from fcreview.tui.session import GoldenSupport, Session
from fcreview.tui.text.lines import Line, fit_line, format_json, justify_line, key_hints_line
from fcreview.tui.widgets.base import GuardedModalScreen, work
from fcreview.tui.widgets.document_view import LineBar

CHECK_DELAY = 0.3
"""Seconds without a key press before the text is checked."""


@dataclass(frozen=True, slots=True)
class GoldenCorrection:
    """Corrected golden answer and the reason for it."""

    golden_fix: dict[str, Any]
    """The golden answer in the benchmark's format."""
    reason: str | None
    """New reason for the correction. None if the reason did not change."""


class GoldenTextArea(SafeTextArea):
    """Text area with the golden answer as JSON."""

    ACTIONS = GOLDEN_TEXT_ACTIONS
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(GOLDEN_TEXT_ACTIONS)


class GoldenScreen(GuardedModalScreen[GoldenCorrection | None]):
    """Editor of a golden answer, which starts with the annotator's earlier fix.

    The result is None if the user cancelled.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(GOLDEN_EDITOR_ACTIONS, PROMPT_HELP_ACTIONS)
    has_unsaved_input = True
    AUTO_FOCUS = ""  # the focus must not move when the prompt for the reason closes
    CSS = """
    GoldenScreen { background: $background; layout: vertical; }
    GoldenScreen GoldenTextArea { height: 1fr; border: none; padding: 0; background: $background; }
    GoldenScreen GoldenTextArea:focus { border: none; }
    GoldenScreen #golden-message { height: 2; }
    """

    def __init__(
        self, session: Session, golden: GoldenSupport, subject: ReviewSubject, *, hides_verdicts: bool
    ) -> None:
        """Create the editor.

        If `hides_verdicts`, blind review hides verdicts, and the editor does not recompute them.
        """
        super().__init__()
        self._session, self._golden = session, golden
        self._item, self._detail = subject.item, (detail := subject.detail)
        self._hides_verdicts = hides_verdicts
        own = next((o for o in detail.opinions if o.annotator == session.annotator and o.golden_fix), None)
        self._reason = (own.note if own else None) or ""
        self._saved_reason = self._reason
        self._saved_fix = own.golden_fix if own else None
        self._initial_text = (
            format_json(self._saved_fix) if self._saved_fix else initial_text(golden, detail.run, detail.item)
        )
        self._checked = CheckedText(None)
        self._message: Line = ()
        self._confirms_cancel = False
        """Whether the next press of the cancel key discards the changed text."""

    def compose(self) -> ComposeResult:
        yield LineBar(id="golden-title")
        yield GoldenTextArea(
            self._initial_text, soft_wrap=True, show_line_numbers=True, tab_behavior="indent", compact=True
        )
        yield LineBar(id="golden-message")
        yield LineBar(id="golden-keys")

    def on_mount(self) -> None:
        self._text_area.focus()
        self._check_text()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw_bars)

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

    @work(exclusive=True, group="check")
    async def _check_text(self) -> None:
        await asyncio.sleep(CHECK_DELAY if self._checked.golden_fix or self._checked.problem else 0)
        detail, text = self._detail, self._text_area.text
        self._checked = await asyncio.to_thread(check_text, text, self._golden, detail.run, detail.item)
        fix = self._checked.golden_fix
        if fix is None:
            line, _ = line_and_column(text, self._checked.position)
            self._show_message(f"line {line + 1}: {sanitize(self._checked.problem)}", "warn")
        elif self._hides_verdicts:
            self._show_message("valid · verdicts are hidden until you submit")
        else:
            self._show_message("valid")
            try:
                async for summary in recheck_runs(self._session, self._golden, self._item, fix):
                    self._show_message(summary.describe(), "good" if summary.this_verdict else "")
            except Exception as error:  # a fix can be saved even if another run cannot be read
                reason = sanitize(str(error) or type(error).__name__)
                self._show_message(f"valid · verdicts cannot be recomputed: {reason}", "warn")

    def _show_message(self, text: str, style: str = "") -> None:
        self._message = ((f" {text}", style),)
        self._draw_bars()

    def _draw_bars(self) -> None:
        cells = self.app.size.width
        left: Line = ((" golden answer ", "strong"), (sanitize(self._detail.row.id), ""))
        reason = f"reason: {self._reason} " if self._reason else "no reason given "
        right: Line = ((sanitize(reason.replace("\n", " ")), "dim"),)
        self.query_one("#golden-title", LineBar).show(justify_line(left, fit_line(right, cells // 2), cells))
        self.query_one("#golden-message", LineBar).show(self._message)
        mode: Line = ((" text " if self._is_editing else " keys ", "head"),)
        self.query_one("#golden-keys", LineBar).show((*mode, *key_hints_line(key_hints(self), cells - 6, 1)))

    def on_descendant_focus(self) -> None:
        self.call_after_refresh(self._draw_bars)

    def on_descendant_blur(self) -> None:
        self.call_after_refresh(self._draw_bars)

    # -- keys

    def action_leave_text(self) -> None:
        self.set_focus(None)

    def action_edit_text(self) -> None:
        self._text_area.focus()

    def action_save(self) -> None:
        """Close with the correction, or with None if it is already saved. If the text is invalid, move the cursor to
        the problem instead."""
        detail = self._detail
        checked = check_text(self._text_area.text, self._golden, detail.run, detail.item)
        if checked.golden_fix is not None and self._golden.is_unchanged(detail.run, detail.item, checked.golden_fix):
            self._show_message("NOT SAVED: the text equals the golden answer of the dataset", "bad")
            self.app.bell()
        elif checked.golden_fix is None:
            self._text_area.move_cursor(line_and_column(self._text_area.text, checked.position))
            self._text_area.focus()
            self._show_message(f"NOT SAVED: {sanitize(checked.problem)}", "bad")
            self.app.bell()
        else:
            reason = self._reason if self._reason != self._saved_reason else None
            is_saved = reason is None and checked.golden_fix == self._saved_fix
            self.dismiss(None if is_saved else GoldenCorrection(checked.golden_fix, reason))

    def action_edit_reason(self) -> None:
        def set_reason(reason: str | None) -> None:
            if reason is not None:
                self._reason = reason
            self._draw_bars()

        self.app.push_screen(NoteScreen("the golden answer", self._reason), set_reason)

    def action_restore_original(self) -> None:
        self._text_area.text = initial_text(self._golden, self._detail.run, self._detail.item)

    def action_open_editor(self) -> None:
        """Edit the text in the program that is set in VISUAL or EDITOR."""
        if self._session.in_browser:
            self._show_message("not available in the browser: edit the text here", "warn")
            return
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with tempfile.TemporaryDirectory(prefix="fcreview-") as folder:
            file = Path(folder) / "golden.json"
            file.write_text(self._text_area.text + "\n", "utf-8")
            try:
                with self.app.suspend():
                    code = subprocess.run([*shlex.split(command), str(file)], check=False).returncode  # noqa: S603
                if code == 0:
                    self._text_area.text = file.read_text("utf-8").rstrip("\n")
                else:
                    message = f"{sanitize(command)} failed (exit code {code}). The edit was discarded."
                    self._show_message(message, "warn")
            except (OSError, ValueError, SuspendNotSupported) as error:
                self._show_message(f"{sanitize(command)}: {sanitize(str(error) or 'cannot be started')}", "bad")
        self.refresh(layout=True)

    def action_cancel(self) -> None:
        """Close without saving. If the text changed, the key must be pressed twice."""
        if self._text_area.text == self._initial_text or self._confirms_cancel:
            self.dismiss(None)
        else:
            self._confirms_cancel = True
            key = active_key_names(self.app).get("golden.cancel", "")
            self._show_message(f"not saved: press {key} again to discard the text", "warn")


def open_golden_editor(view: ItemView, session: Session, subject: ReviewSubject) -> None:
    """Open the golden editor and record the correction."""
    if session.golden_support is None:
        view.show_message(StatusMessage("the golden editor is not available here", "warn"))
        return

    def record_correction(correction: GoldenCorrection | None) -> None:
        if correction is not None:
            recorder = view.item_reviewer.recorder
            view.item_reviewer.record(
                subject, lambda latest: recorder.record_golden_fix(latest, correction.golden_fix, correction.reason)
            )

    hides_verdicts = view.cursor.hides_verdicts
    view.app.push_screen(
        GoldenScreen(session, session.golden_support, subject, hides_verdicts=hides_verdicts), record_correction
    )

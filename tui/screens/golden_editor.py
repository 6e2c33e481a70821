"""The golden editor: corrects an item's golden answer as JSON, checked while it is typed.

Tab switches between the text, where letters are typed, and the keys, where letters are commands.
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

from textual import events
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.widgets import TextArea

from fcreview.model.sanitize import visible
from fcreview.tui.actions import GOLDEN, GOLDEN_TEXT
from fcreview.tui.key_bindings import bindings, key_hints, key_names, keys_of
from fcreview.tui.review.golden_editor import CheckedText, check_text, draft_text, line_of, recheck_runs
from fcreview.tui.review.item_reviewer import ItemView
from fcreview.tui.review.judge import ReviewSubject
from fcreview.tui.review.status import Remark
from fcreview.tui.screens.dialogs import NoteScreen
from fcreview.tui.session import GoldenSupport, Session
from fcreview.tui.text.lines import Line, fit, hints_line, laid_out, spread
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import LineBar
from fcreview.tui.widgets.safe_text_area import SafeTextArea

PAUSE = 0.3
"""Seconds without a key press before the text is checked."""


@dataclass(frozen=True, slots=True)
class GoldenCorrection:
    """A corrected golden answer and the reason for it."""

    fix: dict[str, Any]
    reason: str | None
    """None if the reason did not change."""


class GoldenBox(SafeTextArea):
    """The text of the golden answer."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(GOLDEN_TEXT)

    def on_key(self, event: events.Key) -> None:
        if event.key in keys_of(self.app, GOLDEN_TEXT):
            event.prevent_default()


class GoldenScreen(ModalScreen[GoldenCorrection | None]):
    """Edits the golden answer, beginning with this annotator's earlier fix. Returns the correction to save, or None.

    `hidden`: no verdict is recomputed, because a blind annotator has not decided yet.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(GOLDEN)
    AUTO_FOCUS = ""  # the focus stays where it was when the prompt for the reason closes
    CSS = """
    GoldenScreen { background: ansi_default; layout: vertical; }
    GoldenScreen GoldenBox { height: 1fr; border: none; padding: 0; background: ansi_default; }
    GoldenScreen GoldenBox:focus { border: none; }
    GoldenScreen #golden-message { height: 2; }
    """

    def __init__(self, session: Session, golden: GoldenSupport, subject: ReviewSubject, *, hidden: bool) -> None:
        super().__init__()
        self._session, self._golden = session, golden
        self._item, self._detail = subject.item, (detail := subject.detail)
        self._hidden = hidden
        mine = next((o for o in detail.opinions if o.annotator == session.annotator and o.golden_fix), None)
        self._reason = (mine.note if mine else None) or ""
        self._reason_before = self._reason
        fix = mine.golden_fix if mine else None
        self._before = laid_out(fix) if fix else draft_text(golden, detail.run, detail.item)
        self._checked = CheckedText(None)
        self._leaving = False

    def compose(self) -> ComposeResult:
        yield LineBar(id="golden-title")
        box = GoldenBox(self._before, soft_wrap=True, show_line_numbers=True, tab_behavior="indent", compact=True)
        box.cursor_blink = False
        yield box
        yield LineBar(id="golden-message")
        yield LineBar(id="golden-keys")

    def on_mount(self) -> None:
        self._box.focus()
        self._check()

    def on_resize(self) -> None:
        self.call_after_refresh(self._bars)

    @property
    def _box(self) -> GoldenBox:
        return self.query_one(GoldenBox)

    @property
    def _editing(self) -> bool:
        return self.focused is not None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return action in ("keys", "help") or not self._editing

    # -- checks

    def on_text_area_changed(self, _: TextArea.Changed) -> None:
        self._leaving = False
        self._check()

    @work(exclusive=True, group="check")
    async def _check(self) -> None:
        await asyncio.sleep(PAUSE if self._checked.fix or self._checked.problem else 0)
        detail, text = self._detail, self._box.text
        self._checked = await asyncio.to_thread(check_text, text, self._golden, detail.run, detail.item)
        fix = self._checked.fix
        if fix is None:
            line, _ = line_of(text, self._checked.at)
            self._say(f"line {line + 1}: {visible(self._checked.problem)}", "warn")
        elif self._hidden:
            self._say("valid · verdicts are hidden until you submit")
        else:
            self._say("valid")
            try:
                async for summary in recheck_runs(self._session, self._golden, self._item, fix):
                    self._say(summary.words(), "good" if summary.here else "")
            except Exception as error:  # a fix can be saved even if another run cannot be read
                self._say(
                    f"valid · verdicts cannot be recomputed: {visible(str(error) or type(error).__name__)}", "warn"
                )

    def _say(self, text: str, style: str = "") -> None:
        self._message: Line = ((f" {text}", style),)
        self._bars()

    _message: Line = ()

    def _bars(self) -> None:
        cells = self.app.size.width
        left: Line = ((" golden answer ", "strong"), (visible(self._detail.row.id), ""))
        reason = f"reason: {self._reason} " if self._reason else "no reason given "
        right: Line = ((visible(reason.replace("\n", " ")), "dim"),)
        self.query_one("#golden-title", LineBar).show(spread(left, fit(right, cells // 2), cells))
        self.query_one("#golden-message", LineBar).show(self._message)
        where: Line = ((" text ", "head") if self._editing else (" keys ", "head"),)
        self.query_one("#golden-keys", LineBar).show((*where, *hints_line(key_hints(self), cells - 6, 1)))

    def on_descendant_focus(self) -> None:
        self.call_after_refresh(self._bars)

    def on_descendant_blur(self) -> None:
        self.call_after_refresh(self._bars)

    # -- keys

    def action_keys(self) -> None:
        self.set_focus(None)

    def action_edit(self) -> None:
        self._box.focus()

    def action_save(self) -> None:
        """Close with the correction. If the text is invalid, show the problem with the cursor on it instead."""
        detail = self._detail
        now = check_text(self._box.text, self._golden, detail.run, detail.item)
        if now.fix is None:
            self._box.move_cursor(line_of(self._box.text, now.at))
            self._box.focus()
            self._say(f"NOT SAVED: {visible(now.problem)}", "bad")
            self.app.bell()
        else:
            self.dismiss(GoldenCorrection(now.fix, self._reason if self._reason != self._reason_before else None))

    def action_reason(self) -> None:
        def take(reason: str | None) -> None:
            if reason is not None:
                self._reason = reason
            self._bars()

        self.app.push_screen(NoteScreen("the golden answer", self._reason), take)

    def action_start(self) -> None:
        """Restore the golden answer of the dataset."""
        self._box.text = draft_text(self._golden, self._detail.run, self._detail.item)

    def action_editor(self) -> None:
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with tempfile.TemporaryDirectory(prefix="fcreview-") as folder:
            file = Path(folder) / "golden.json"
            file.write_text(self._box.text + "\n", "utf-8")
            try:
                with self.app.suspend():
                    done = subprocess.run([*shlex.split(command), str(file)], check=False)  # noqa: S603
                if done.returncode == 0:
                    self._box.text = file.read_text("utf-8").rstrip("\n")
                else:
                    self._say(
                        f"{visible(command)} failed (exit code {done.returncode}). Its text was not used.", "warn"
                    )
            except (OSError, ValueError, SuspendNotSupported) as error:
                self._say(f"{visible(command)}: {visible(str(error) or 'cannot be started')}", "bad")
        self.refresh(layout=True)

    def action_cancel(self) -> None:
        """Close without saving. If the text changed, the key has to be pressed twice."""
        if self._box.text == self._before or self._leaving:
            self.dismiss(None)
        else:
            self._leaving = True
            key = key_names(self.app).get("golden.cancel", "")
            self._say(f"not saved: press {key} again to discard the text", "warn")


def ask_golden(view: ItemView, session: Session, subject: ReviewSubject) -> None:
    """Open the golden editor. A correction is recorded for the item that was on screen when the key was pressed."""
    if session.golden is None:
        view.say(Remark("the golden editor is not available here", "warn"))
        return

    def record(answer: GoldenCorrection | None) -> None:
        if answer is not None:
            recorder = view.item_reviewer.recorder
            view.item_reviewer.record(
                subject, lambda latest: recorder.record_golden_fix(latest, answer.fix, answer.reason)
            )

    view.app.push_screen(GoldenScreen(session, session.golden, subject, hidden=view.reader.hidden), record)

"""The golden answer of an item, to be corrected: JSON in an editor, looked at as it is typed.

Tab leads from the text to the keys and back: letters are text in the one and commands in the other.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.widgets import TextArea

from fcreview.model.sanitize import visible
from fcreview.tui.actions import GOLDEN, GOLDEN_TEXT
from fcreview.tui.key_bindings import bindings, key_hints, key_names, keys_of
from fcreview.tui.review.golden_editor import Golden, Typed, drafted, line_of, regraded, typed
from fcreview.tui.review.judge import About
from fcreview.tui.review.status import Remark
from fcreview.tui.screens.dialogs import NoteScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line, fit, hints_line, laid_out, spread
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import LineBar
from fcreview.tui.widgets.safe_text_area import SafeTextArea

if TYPE_CHECKING:
    from fcreview.tui.screens.item_dialogs import Host

PAUSE = 0.3
"""Seconds without a key until what is typed is rechecked."""


@dataclass(frozen=True, slots=True)
class Correction:
    fix: dict[str, Any]
    reason: str | None
    """None: nothing is said of it."""


class GoldenBox(SafeTextArea):
    BINDINGS: ClassVar[list[BindingType]] = bindings(GOLDEN_TEXT)

    def on_key(self, event: events.Key) -> None:
        if event.key in keys_of(self.app, GOLDEN_TEXT):
            event.prevent_default()


class GoldenScreen(ModalScreen[Correction | None]):
    """Gives what is to be saved, or None. `before`: this annotator's fix, which is gone on from; `hidden`: a blind
    annotator has not decided, so that nothing is rechecked: it would tell the rule's verdict."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(GOLDEN)
    AUTO_FOCUS = ""  # behind a reason that was given, the keys stay where they were
    CSS = """
    GoldenScreen { background: ansi_default; layout: vertical; }
    GoldenScreen GoldenBox { height: 1fr; border: none; padding: 0; background: ansi_default; }
    GoldenScreen GoldenBox:focus { border: none; }
    GoldenScreen #golden-says { height: 2; }
    """

    def __init__(self, session: Session, golden: Golden, about: About, *, hidden: bool) -> None:
        super().__init__()
        self._session, self._golden = session, golden
        self._item, self._detail = about.item, (detail := about.detail)
        self._hidden = hidden
        mine = next((o for o in detail.opinions if o.annotator == session.annotator and o.golden_fix), None)
        self._reason = (mine.note if mine else None) or ""
        self._reason_before = self._reason
        fix = mine.golden_fix if mine else None
        self._before = laid_out(fix) if fix else drafted(golden, detail.run, detail.item)
        self._typed = Typed(None)
        self._leaving = False

    def compose(self) -> ComposeResult:
        yield LineBar(id="golden-title")
        box = GoldenBox(self._before, soft_wrap=True, show_line_numbers=True, tab_behavior="indent", compact=True)
        box.cursor_blink = False
        yield box
        yield LineBar(id="golden-says")
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

    # -- looking at what is typed

    def on_text_area_changed(self, _: TextArea.Changed) -> None:
        self._leaving = False
        self._check()

    @work(exclusive=True, group="check")
    async def _check(self) -> None:
        await asyncio.sleep(PAUSE if self._typed.fix or self._typed.problem else 0)
        detail, text = self._detail, self._box.text
        self._typed = await asyncio.to_thread(typed, text, self._golden, detail.run, detail.item)
        fix = self._typed.fix
        if fix is None:
            line, _ = line_of(text, self._typed.at)
            self._say(f"line {line + 1}: {visible(self._typed.problem)}", "warn")
        elif self._hidden:
            self._say("well formed · rechecked when you have decided")
        else:
            self._say("well formed")
            try:
                async for known in regraded(self._session, self._golden, self._item, fix):
                    self._say(known.words(), "good" if known.here else "")
            except Exception as error:  # a correction can be saved, whatever cannot be read of other runs
                self._say(f"well formed · cannot be rechecked: {visible(str(error) or type(error).__name__)}", "warn")

    def _say(self, text: str, style: str = "") -> None:
        self._said: Line = ((f" {text}", style),)
        self._bars()

    _said: Line = ()

    def _bars(self) -> None:
        cells = self.app.size.width
        left: Line = ((" golden answer ", "strong"), (visible(self._detail.row.id), ""))
        reason = f"reason: {self._reason} " if self._reason else "no reason given "
        right: Line = ((visible(reason.replace("\n", " ")), "dim"),)
        self.query_one("#golden-title", LineBar).show(spread(left, fit(right, cells // 2), cells))
        self.query_one("#golden-says", LineBar).show(self._said)
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
        """What is wrong is shown instead, with the cursor on it."""
        detail = self._detail
        now = typed(self._box.text, self._golden, detail.run, detail.item)
        if now.fix is None:
            self._box.move_cursor(line_of(self._box.text, now.at))
            self._box.focus()
            self._say(f"NOT SAVED: {visible(now.problem)}", "bad")
            self.app.bell()
        else:
            self.dismiss(Correction(now.fix, self._reason if self._reason != self._reason_before else None))

    def action_reason(self) -> None:
        def take(reason: str | None) -> None:
            if reason is not None:
                self._reason = reason
            self._bars()

        self.app.push_screen(NoteScreen("the golden answer", self._reason), take)

    def action_start(self) -> None:
        """The golden answer as it is in the dataset."""
        self._box.text = drafted(self._golden, self._detail.run, self._detail.item)

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
                    self._say(f"{visible(command)} ended with {done.returncode}: nothing is taken from it", "warn")
            except (OSError, ValueError, SuspendNotSupported) as error:
                self._say(f"{visible(command)}: {visible(str(error) or 'cannot be started here')}", "bad")
        self.refresh(layout=True)

    def action_cancel(self) -> None:
        """Twice, if something was typed."""
        if self._box.text == self._before or self._leaving:
            self.dismiss(None)
        else:
            self._leaving = True
            key = key_names(self.app).get("golden.cancel", "")
            self._say(f"not saved: {key} again drops what was typed", "warn")


async def ask_golden(screen: Host, session: Session, about: About) -> None:
    """What is saved is about the item that was on screen when the key was pressed."""
    if session.golden is None:
        screen.say(Remark("golden answers are not corrected here", "warn"))
        return

    def take(answer: Correction | None) -> None:
        if answer is not None:
            judging = screen.reviewing.judging
            screen.reviewing.judge(about, lambda latest: judging.golden(latest, answer.fix, answer.reason))

    screen.app.push_screen(GoldenScreen(session, session.golden, about, hidden=screen.reader.hidden), take)

"""What is asked of a person about an item: who is wrong, tags, a note. A part of the item pane.

What is answered is about what was on screen when the key was pressed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from textual.app import App
from textual.screen import ModalScreen

from fcreview.sanitise import visible
from fcreview.targets import words
from fcreview.tui.item.ahead import LookAhead
from fcreview.tui.item.digits.answering import Answering
from fcreview.tui.item.judging import About, Outcome
from fcreview.tui.screens.fault import FaultScreen
from fcreview.tui.screens.note import NoteScreen
from fcreview.tui.screens.tags import TagsScreen, tag_choices
from fcreview.tui.session import Session


class Asking(Protocol):
    """The pane, as far as it is needed here."""

    reviewing: Answering

    @property
    def app(self) -> App[Any]: ...


class Prompts:
    def __init__(self, pane: Asking, ahead: LookAhead, session: Session) -> None:
        self._pane, self._ahead = pane, ahead
        self._blind, self._own = session.blind, session.vocabulary.tags

    def ask(self, what: str, about: About, name: str = "") -> None:
        """`what`: `fault`, `tag` or `note`; `name`: of the item, where it is not the one on screen."""
        if not name and about.item != self._pane.reviewing.shown.item:
            name = f"{visible(about.detail.row.id)} {about.part}".rstrip()
        {"fault": self._fault, "tag": self._tag, "note": self._note}[what](about, name)

    def _fault(self, about: About, name: str) -> None:
        self._put(about, FaultScreen(name or about.part), self._pane.reviewing.judging.fault)

    def _tag(self, about: About, name: str) -> None:
        judging = self._pane.reviewing.judging
        row, mine = about.detail.row, judging.mine(about)
        chosen = (mine.tags if mine else None) or []
        errors = [] if self._blind and row.you is None else [row.error_type, row.rule_error_type]
        tags = tag_choices(self._own, errors, about.detail.run.tags, chosen)
        self._put(about, TagsScreen(tags, chosen, self._ahead.used_tags, name or about.part), judging.tags)

    def _note(self, about: About, name: str) -> None:
        judging = self._pane.reviewing.judging
        mine = judging.mine(about)
        before = (mine.note if mine else None) or ""
        self._put(about, NoteScreen(name or visible(words(about.target)), before), judging.note)

    def _put(
        self, about: About, prompt: ModalScreen[Any], judgement: Callable[[About, Any], Awaitable[Outcome]]
    ) -> None:
        def take(answer: Any) -> None:
            if answer is not None:
                self._pane.reviewing.judge(about, lambda latest: judgement(latest, answer))

        self._pane.app.push_screen(prompt, take)

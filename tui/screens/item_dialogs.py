"""The item screen, as far as what lies over it needs it.

What to copy? One letter answers.

The same item in other runs: a list to choose from, and the item of that run over the one on screen.

Labels of a response, such as dialog acts: a list to set and clear, and what is set is the verdict.

A text of the item in the pager: what is too long to unfold in place, and the records as they stand in the files.

Why does the verdict given last overrule the benchmark's? One digit answers.

What single keys of the item screen open over it, by the names that the key table has for them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen, Screen

from fcreview.model.address import RESPONSE
from fcreview.model.sanitize import visible
from fcreview.store.rows import View
from fcreview.tui.actions import COPY, WHY
from fcreview.tui.item_view.document import joined
from fcreview.tui.key_bindings import bindings, key_hints, key_names
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.review.item_actions import (
    asked_labels,
    call_copy,
    choices,
    command_copy,
    diff_copy,
    json_copy,
    markdown_copy,
    offered,
    raw_records,
    read,
)
from fcreview.tui.review.judge import About
from fcreview.tui.review.reviewing import NAME, Answering
from fcreview.tui.review.status import Remark
from fcreview.tui.screens.dialogs import TagsScreen
from fcreview.tui.screens.golden_editor import ask_golden
from fcreview.tui.screens.pager import PagerScreen, Text
from fcreview.tui.screens.picker import PickScreen
from fcreview.tui.session import Session
from fcreview.tui.text.clipboard import copied
from fcreview.tui.text.lines import Line, cut_middle, hints_line, line_width
from fcreview.tui.widgets.document_view import LineBar

if TYPE_CHECKING:
    from pathlib import Path


class Copied(Protocol):
    @property
    def copied(self) -> str:
        """What is under the cursor."""
        ...


class Host(Protocol):
    reviewing: Answering

    @property
    def app(self) -> App[Any]: ...

    @property
    def reader(self) -> Cursor: ...

    @property
    def text(self) -> Copied: ...

    @property
    def in_front(self) -> bool: ...

    def say(self, remark: Remark) -> None: ...

    def another(self, view: View, item: int) -> Screen[int]:
        """The screen of another item."""
        ...


class CopyScreen(ModalScreen[str | None]):
    """Gives one of the names in `copy_of`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(COPY)
    CSS = """
    CopyScreen { background: transparent; align: left bottom; }
    CopyScreen LineBar { background: ansi_default; }
    """

    def compose(self) -> ComposeResult:
        yield LineBar(id="copy")

    def on_mount(self) -> None:
        what: Line = ((" copy", "strong"),)
        self.query_one(LineBar).show((*what, *hints_line(key_hints(self), self.app.size.width - line_width(what), 1)))

    def action_take(self, what: str) -> None:
        self.dismiss(what)

    def action_cancel(self) -> None:
        self.dismiss(None)


def copy_of(what: str, this: str, reader: Cursor, folder: Path | None) -> str:
    """`this`: what is under the cursor; `folder`: the workspace's own."""
    detail, annotator = reader.detail, reader.annotator
    command = command_copy(detail, folder.parent if folder is not None else None)
    texts: dict[str, Callable[[], str]] = {
        "this": lambda: this,
        "call": lambda: call_copy(detail, reader.target),
        "diff": lambda: diff_copy(detail, annotator, hidden=reader.hidden),
        "markdown": lambda: markdown_copy(detail, annotator, command, hidden=reader.hidden),
        "json": lambda: json_copy(detail),
        "command": lambda: command,
    }
    return texts[what]()


def ask_copy(screen: Host, session: Session) -> None:
    def copy(what: str | None) -> None:
        if what is not None:
            text = copy_of(what, screen.text.copied, screen.reader, session.folder)
            screen.say(Remark(f"{what}: {copied(text, session.folder, screen.app._driver)}"))

    screen.app.push_screen(CopyScreen(), copy)


async def show_elsewhere(screen: Host, session: Session, about: About) -> None:
    """What is chosen is opened over this item, which is there again when that is left; `]` and `[` lead from run to
    run."""
    item = about.item
    if screen.reader.hidden:
        screen.say(Remark("other runs are shown when you have decided", "warn"))
        return
    try:
        runs = await session.ask(lambda store: read(store, item))
    except Exception as error:  # what cannot be read must not end the program
        screen.say(Remark(visible(str(error) or type(error).__name__), "bad"))
        return
    if not screen.in_front or screen.reviewing.shown.item != item:
        return  # gone on meanwhile
    if len(runs) < 2:
        screen.say(Remark("no other run here has this item", "warn"))
        return
    view = View(f"item:{','.join(str(each.row.item) for each in runs)}", "dataset")

    def opened(chosen: int | None) -> None:
        if chosen is not None and chosen != item:
            screen.app.push_screen(screen.another(view, chosen))

    screen.app.push_screen(PickScreen(choices(runs, item)), opened)


async def ask_labels(screen: Host, session: Session, about: About) -> None:
    """Of the first criterion on which the benchmark gives labels."""
    try:
        criteria = await session.ask(lambda store: asked_labels(store, about.item))
    except Exception as error:  # what cannot be read must not end the program
        screen.say(Remark(visible(str(error) or type(error).__name__), "bad"))
        return
    if not screen.in_front or screen.reviewing.shown.item != about.item:
        return  # gone on meanwhile
    if not criteria:
        screen.say(Remark("responses have no labels here", "warn"))
        return
    criterion = criteria[0]
    choice = offered(about.detail, session.annotator, criterion)

    def take(labels: list[str] | None) -> None:
        if labels is not None:
            judging = screen.reviewing.judging
            screen.reviewing.judge(about, lambda latest: judging.labels(latest, criterion, labels))

    screen.app.push_screen(
        TagsScreen(choice.labels, choice.chosen, name=RESPONSE, what=criterion.replace("_", " ")), take
    )


def show_text(screen: Host, session: Session, title: str, text: str | Callable[[], Awaitable[Text]]) -> None:
    name = f"{screen.reviewing.shown.detail.row.id} · {title}"
    screen.app.push_screen(PagerScreen(name, text, find=screen.reader.sought, folder=session.folder))


def show_records(screen: Host, session: Session) -> None:
    if screen.reader.hidden:
        screen.say(Remark("records may tell verdicts: they are shown when you have decided", "warn"))
        return
    shown = screen.reviewing.shown

    async def load() -> Text:
        records = await raw_records(session, shown.item, shown.detail.item)
        return Text(joined(records, indented=False), joined(records, indented=True))

    show_text(screen, session, "records", load)


class WhyScreen(ModalScreen[int | None]):
    """Gives the number of a reason, from 1, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(WHY)
    CSS = """
    WhyScreen { background: transparent; align: left bottom; }
    WhyScreen LineBar { background: ansi_default; }
    """

    def __init__(self, name: str, reasons: Sequence[str]) -> None:
        """`name`: of the item or the part whose verdict it is."""
        super().__init__()
        self._about, self._reasons = name, reasons

    def compose(self) -> ComposeResult:
        yield LineBar(id="why")

    def on_mount(self) -> None:
        names = key_names(self.app)
        digits = [(names.get(f"why.take_{at}", ""), visible(one)) for at, one in enumerate(self._reasons, 1)]
        head: Line = ((" why?", "strong"), (f" {cut_middle(self._about, NAME)}", "warn"))
        hints = [*((key, says) for key, says in digits if key), *key_hints(self)]
        self.query_one(LineBar).show((*head, *hints_line(hints, self.app.size.width - line_width(head), 1)))

    def action_take(self, number: int) -> None:
        if number <= len(self._reasons):
            self.dismiss(number)

    def action_cancel(self) -> None:
        self.dismiss(None)


async def ask_why(screen: Host, session: Session, about: About) -> None:  # noqa: ARG001 - of the verdict given last
    reviewing, reasons = screen.reviewing, session.vocabulary.reasons

    def ask(name: str) -> None:
        screen.app.push_screen(WhyScreen(name, reasons), lambda number: reviewing.why(number) if number else None)

    reviewing.of_overruled(ask)


CLOSER: dict[str, Callable[[Host, Session, About], Awaitable[None]]] = {
    "golden": ask_golden,
    "labels": ask_labels,
    "elsewhere": show_elsewhere,
    "why": ask_why,
}

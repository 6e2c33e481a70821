"""Dialogs of the item pane: fault, tags, note, labels, override reason, copy, the same item in other runs, and texts.

A review submitted in a dialog is about the item that was on screen when its key was pressed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from fcreview.model.address import RESPONSE, describe_address
from fcreview.model.sanitize import sanitize
from fcreview.store.rows import View
from fcreview.tui.actions import COPY_ACTIONS, OVERRIDE_REASON_ACTIONS
from fcreview.tui.item_view.document import join_records
from fcreview.tui.key_bindings import active_key_names, key_hints, make_bindings
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.review.item_actions import (
    calls_text,
    open_command,
    diff_text,
    json_text,
    label_choices,
    markdown_text,
    read_raw_records,
    read_predictions,
    prediction_choices,
)
from fcreview.tui.review.item_reviewer import NAME_CELLS, ItemView
from fcreview.tui.review.judge import ReviewOutcome, ReviewSubject
from fcreview.tui.review.status import StatusMessage
from fcreview.tui.screens.dialogs import FaultScreen, NoteScreen, TagsScreen, tag_choices
from fcreview.tui.screens.pager import PagerScreen, PagerText
from fcreview.tui.screens.picker import PickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.clipboard import copy_text
from fcreview.tui.text.lines import Line, key_hints_line, line_width, truncate_middle
from fcreview.tui.widgets.document_view import LineBar

if TYPE_CHECKING:
    from pathlib import Path

    from fcreview.tui.review.prefetch import ItemPrefetcher


def ask_fault(view: ItemView, subject: ReviewSubject, name: str = "") -> None:
    """Ask who is to blame. `name`: of the item, if it is not the displayed one."""
    prompt = FaultScreen(name or _other_item_name(view, subject) or subject.part_name)
    _record_answer(view, subject, prompt, view.item_reviewer.recorder.record_fault)


def ask_tags(
    view: ItemView, subject: ReviewSubject, session: Session, prefetcher: ItemPrefetcher, name: str = ""
) -> None:
    """Ask for error tags. `name`: of the item, if it is not the displayed one."""
    recorder = view.item_reviewer.recorder
    row, mine = subject.detail.row, recorder.find_own_opinion(subject)
    chosen = (mine.tags if mine else None) or []
    errors = [] if session.blind and row.you is None else [row.error_type, row.rule_error_type]
    tags = tag_choices(session.vocabulary.tags, errors, subject.detail.run.tags, chosen)
    name = name or _other_item_name(view, subject) or subject.part_name
    _record_answer(view, subject, TagsScreen(tags, chosen, prefetcher.read_used_tags, name), recorder.record_tags)


def ask_note(view: ItemView, subject: ReviewSubject, name: str = "") -> None:
    """Ask for a note. `name`: of the item, if it is not the displayed one."""
    recorder = view.item_reviewer.recorder
    mine = recorder.find_own_opinion(subject)
    name = name or _other_item_name(view, subject) or sanitize(describe_address(subject.target))
    _record_answer(view, subject, NoteScreen(name, (mine.note if mine else None) or ""), recorder.record_note)


def _other_item_name(view: ItemView, subject: ReviewSubject) -> str:
    """Name of the subject if its item is no longer the displayed one, else an empty string."""
    if subject.item == view.item_reviewer.displayed.item:
        return ""
    return f"{sanitize(subject.detail.row.id)} {subject.part_name}".rstrip()


def _record_answer(
    view: ItemView,
    subject: ReviewSubject,
    prompt: ModalScreen[Any],
    record: Callable[[ReviewSubject, Any], Awaitable[ReviewOutcome]],
) -> None:
    def take(answer: Any) -> None:
        if answer is not None:
            view.item_reviewer.record(subject, lambda latest: record(latest, answer))

    view.app.push_screen(prompt, take)


class CopyScreen(ModalScreen[str | None]):
    """Asks what to copy. Its result is one of the names in `copy_of`, or None."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COPY_ACTIONS)
    CSS = """
    CopyScreen { background: transparent; align: left bottom; }
    CopyScreen LineBar { background: ansi_default; }
    """

    def compose(self) -> ComposeResult:
        yield LineBar(id="copy")

    def on_mount(self) -> None:
        what: Line = ((" copy", "strong"),)
        self.query_one(LineBar).show(
            (*what, *key_hints_line(key_hints(self), self.app.size.width - line_width(what), 1))
        )

    def action_take(self, what: str) -> None:
        self.dismiss(what)

    def action_cancel(self) -> None:
        self.dismiss(None)


def text_to_copy(kind: str, block_text: str, reader: Cursor, folder: Path | None) -> str:
    """The text to copy. `this`: the block under the cursor; `folder`: the workspace's `.fcreview`."""
    detail, annotator = reader.detail, reader.annotator
    command = open_command(detail, folder.parent if folder is not None else None)
    texts: dict[str, Callable[[], str]] = {
        "this": lambda: block_text,
        "call": lambda: calls_text(detail, reader.target),
        "diff": lambda: diff_text(detail, annotator, hidden=reader.hides_verdicts),
        "markdown": lambda: markdown_text(detail, annotator, command, hidden=reader.hides_verdicts),
        "json": lambda: json_text(detail),
        "command": lambda: command,
    }
    return texts[kind]()


def ask_copy(view: ItemView, session: Session) -> None:
    """Ask what to copy and copy it."""

    def copy(what: str | None) -> None:
        if what is not None:
            text = text_to_copy(what, view.text.text_to_copy, view.cursor, session.folder)
            view.show_message(StatusMessage(f"{what}: {copy_text(text, session.folder, view.app._driver)}"))

    view.app.push_screen(CopyScreen(), copy)


async def show_other_runs(view: ItemView, session: Session, subject: ReviewSubject) -> None:
    """List the same item in other runs. The chosen run's item opens over this one; `]` and `[` go from run to run."""
    item = subject.item
    if view.cursor.hides_verdicts:
        view.show_message(StatusMessage("other runs are hidden until you submit", "warn"))
        return
    try:
        runs = await session.query(lambda store: read_predictions(store, item))
    except Exception as error:  # a query that fails must not end the program
        view.show_message(StatusMessage(sanitize(str(error) or type(error).__name__), "bad"))
        return
    if not view.is_in_front or view.item_reviewer.displayed.item != item:
        return  # another item was opened meanwhile
    if len(runs) < 2:
        view.show_message(StatusMessage("no other run has this item", "warn"))
        return
    items = View(f"item:{','.join(str(each.row.item) for each in runs)}", "dataset")

    def open_run(chosen: int | None) -> None:
        if chosen is not None and chosen != item:
            view.app.push_screen(view.make_screen(items, chosen))

    view.app.push_screen(PickerScreen(prediction_choices(runs, item)), open_run)


async def ask_labels(view: ItemView, session: Session, subject: ReviewSubject) -> None:
    """Ask for the labels of the response on the first criterion that has labels."""
    try:
        criteria = await session.query(lambda store: store.fetch_label_criteria(subject.item))
    except Exception as error:  # a query that fails must not end the program
        view.show_message(StatusMessage(sanitize(str(error) or type(error).__name__), "bad"))
        return
    if not view.is_in_front or view.item_reviewer.displayed.item != subject.item:
        return  # another item was opened meanwhile
    if not criteria:
        view.show_message(StatusMessage("this benchmark has no response labels", "warn"))
        return
    criterion = criteria[0]
    choice = label_choices(subject.detail, session.annotator, criterion)
    recorder = view.item_reviewer.recorder
    prompt = TagsScreen(choice.labels, choice.selected, name=RESPONSE, label=criterion.replace("_", " "))
    _record_answer(view, subject, prompt, lambda latest, labels: recorder.record_labels(latest, criterion, labels))


def show_text(view: ItemView, session: Session, title: str, text: str | Callable[[], Awaitable[PagerText]]) -> None:
    """Show a text of the item in the pager."""
    name = f"{view.item_reviewer.displayed.detail.row.id} · {title}"
    view.app.push_screen(PagerScreen(name, text, find=view.cursor.last_search, folder=session.folder))


def show_records(view: ItemView, session: Session) -> None:
    """Show the item's records of the result and score files in the pager."""
    if view.cursor.hides_verdicts:
        view.show_message(StatusMessage("records may tell verdicts: they are shown when you have decided", "warn"))
        return
    displayed = view.item_reviewer.displayed

    async def load() -> PagerText:
        records = await read_raw_records(session, displayed.item, displayed.detail.item)
        return PagerText(join_records(records, indented=False), join_records(records, indented=True))

    show_text(view, session, "records", load)


class WhyScreen(ModalScreen[int | None]):
    """Asks why a verdict overrides an automatic one. Its result is the number of a reason, from 1, or None."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(OVERRIDE_REASON_ACTIONS)
    CSS = """
    WhyScreen { background: transparent; align: left bottom; }
    WhyScreen LineBar { background: ansi_default; }
    """

    def __init__(self, name: str, reasons: Sequence[str]) -> None:
        """`name`: of the item or the part with the verdict."""
        super().__init__()
        self._subject_name, self._reasons = name, reasons

    def compose(self) -> ComposeResult:
        yield LineBar(id="why")

    def on_mount(self) -> None:
        names = active_key_names(self.app)
        digits = [(names.get(f"why.take_{at}", ""), sanitize(one)) for at, one in enumerate(self._reasons, 1)]
        head: Line = ((" why?", "strong"), (f" {truncate_middle(self._subject_name, NAME_CELLS)}", "warn"))
        hints = [*((key, reason) for key, reason in digits if key), *key_hints(self)]
        self.query_one(LineBar).show((*head, *key_hints_line(hints, self.app.size.width - line_width(head), 1)))

    def action_take(self, number: int) -> None:
        if number <= len(self._reasons):
            self.dismiss(number)

    def action_cancel(self) -> None:
        self.dismiss(None)


def ask_why(view: ItemView, session: Session) -> None:
    """Ask why the last verdict overrides an automatic one."""
    reasons = session.vocabulary.reasons

    def ask(name: str) -> None:
        view.app.push_screen(WhyScreen(name, reasons), record)

    def record(number: int | None) -> None:
        if number is not None:
            view.item_reviewer.record_override_reason(number)

    view.item_reviewer.with_last_override(ask)

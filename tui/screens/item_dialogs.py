"""Open the dialogs of the item pane: fault, tags, note, labels, override reason, copy, other runs, and long texts.

A review from a dialog is about the item that was on screen when the key of the dialog was pressed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType

from fcreview.model.address import RESPONSE, describe_address
from fcreview.model.sanitize import sanitize
from fcreview.model.verdict import SCALES
from fcreview.store.rows import ItemDetail, View
from fcreview.tui.actions import COPY_ACTIONS, OVERRIDE_REASON_ACTIONS, PROMPT_HELP_ACTIONS
from fcreview.tui.key_bindings import active_key_names, key_hints, make_bindings
from fcreview.tui.review.clipboard import (
    calls_text,
    copy_text,
    diff_text,
    format_open_command,
    json_text,
    markdown_text,
)
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.review.item_reviewer import ItemView
from fcreview.tui.review.other_runs import prediction_choice_table, read_predictions
from fcreview.tui.review.recorder import Override, ReviewOutcome, ReviewSubject
from fcreview.tui.review.status import StatusMessage
from fcreview.tui.screens.choice_list import PickerScreen
from fcreview.tui.screens.dialogs import FaultScreen, NoteScreen, TagsScreen, tag_choices
from fcreview.tui.screens.pager import PagerScreen, PagerText, read_records
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line, key_hints_line, line_width, make_line
from fcreview.tui.widgets.base import BottomDialog, GuardedModalScreen
from fcreview.tui.widgets.document_view import LineBar, LineBlock

if TYPE_CHECKING:
    from fcreview.tui.review.prefetch import ItemPrefetcher

T = TypeVar("T")


def ask_fault(view: ItemView, subject: ReviewSubject, item_name: str = "") -> None:
    """Ask for the fault. `item_name`: name of the item, shown in the prompt if another item is displayed."""
    prompt = FaultScreen(item_name or _other_item_name(view, subject) or subject.part_name)
    _ask_and_record(view, subject, prompt, view.item_reviewer.recorder.record_fault)


def ask_tags(
    view: ItemView, subject: ReviewSubject, session: Session, prefetcher: ItemPrefetcher, item_name: str = ""
) -> None:
    """Ask for error tags. `item_name`: name of the item, shown in the prompt if another item is displayed."""
    recorder = view.item_reviewer.recorder
    row, own = subject.detail.row, recorder.find_own_opinion(subject)
    chosen = (own.tags if own else None) or []
    errors = [] if session.blind and row.you is None else [row.error_type, row.rule_error_type]
    tags = tag_choices(session.vocabulary.tags, errors, subject.detail.run.tags, chosen)
    item_name = item_name or _other_item_name(view, subject) or subject.part_name
    _ask_and_record(view, subject, TagsScreen(tags, chosen, prefetcher.read_used_tags, item_name), recorder.record_tags)


def ask_note(view: ItemView, subject: ReviewSubject, item_name: str = "") -> None:
    """Ask for a note. `item_name`: name of the item, shown in the prompt if another item is displayed."""
    recorder = view.item_reviewer.recorder
    own = recorder.find_own_opinion(subject)
    item_name = item_name or _other_item_name(view, subject) or sanitize(describe_address(subject.target))
    _ask_and_record(view, subject, NoteScreen(item_name, (own.note if own else None) or ""), recorder.record_note)


def _other_item_name(view: ItemView, subject: ReviewSubject) -> str:
    """Return the name of the reviewed item and part if another item is displayed now, else an empty string."""
    if subject.item == view.item_reviewer.displayed.navigator.item:
        return ""
    return f"{sanitize(subject.detail.row.id)} {subject.part_name}".rstrip()


def _ask_and_record(
    view: ItemView,
    subject: ReviewSubject,
    prompt: GuardedModalScreen[Any],
    record: Callable[[ReviewSubject, Any], Awaitable[ReviewOutcome]],
) -> None:

    def submit(answer: Any) -> None:
        if answer is not None:
            view.item_reviewer.record(subject, lambda latest: record(latest, answer))

    view.app.push_screen(prompt, submit)


class CopyScreen(BottomDialog[str | None]):
    """Prompt that asks what to copy. The result is the `kind` for `text_to_copy`, or None if the user cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COPY_ACTIONS, PROMPT_HELP_ACTIONS)

    def compose(self) -> ComposeResult:
        yield LineBar(id="copy")

    def on_mount(self) -> None:
        title: Line = ((" copy", "strong"),)
        hints = key_hints_line(key_hints(self), self.app.size.width - line_width(title), 1)
        self.query_one(LineBar).show((*title, *hints))


def text_to_copy(kind: str, block_text: str, cursor: Cursor, folder: Path | None) -> str:
    """Return a text to copy.

    Args:
        kind: One of `this`, `call`, `diff`, `markdown`, `json` and `command`.
        block_text: Text of the block under the cursor.
        folder: The workspace's folder `.fcreview`.
    """
    detail, annotator = cursor.detail, cursor.annotator
    command = format_open_command(detail, folder.parent if folder is not None else None)
    texts: dict[str, Callable[[], str]] = {
        "this": lambda: block_text,
        "call": lambda: calls_text(detail, cursor.target),
        "diff": lambda: diff_text(detail, annotator, hide_verdicts=cursor.hides_verdicts),
        "markdown": lambda: markdown_text(detail, annotator, command, hide_verdicts=cursor.hides_verdicts),
        "json": lambda: json_text(detail),
        "command": lambda: command,
    }
    return texts[kind]()


def ask_copy(view: ItemView, session: Session) -> None:

    def copy_kind(kind: str | None) -> None:
        if kind is not None:
            text = text_to_copy(kind, view.text.text_to_copy, view.cursor, session.folder)
            view.show_message(StatusMessage(f"{kind}: {copy_text(text, session.folder, view.app._driver)}"))

    view.app.push_screen(CopyScreen(), copy_kind)


async def _query_item(view: ItemView, session: Session, item: int, read: Callable[[Any], T]) -> T | None:
    """Run a query for a dialog. Return None if the query fails, or if another item was opened before it finished."""
    try:
        result = await session.query(read)
    except Exception as error:  # a query that fails must not end the app
        view.show_message(StatusMessage(sanitize(str(error) or type(error).__name__), "bad"))
        return None
    return result if view.is_in_front and view.item_reviewer.displayed.navigator.item == item else None


async def show_other_runs(view: ItemView, session: Session, subject: ReviewSubject) -> None:
    """List the same item in other runs. The chosen item opens above this one, in a queue with the item
    of every run."""
    item = subject.item
    if view.cursor.hides_verdicts:
        view.show_message(StatusMessage("other runs are hidden until you submit", "warn"))
        return
    runs = await _query_item(view, session, item, lambda store: read_predictions(store, item))
    if runs is None:
        return
    if len(runs) < 2:
        view.show_message(StatusMessage("no other run has this item", "warn"))
        return
    items = View(f"item:{','.join(str(each.row.item) for each in runs)}", "dataset")

    def open_chosen_item(chosen_item: int | None) -> None:
        if chosen_item is not None and chosen_item != item:
            view.app.push_screen(view.make_screen(items, chosen_item))

    view.app.push_screen(PickerScreen(prediction_choice_table(runs, item, blind=session.blind)), open_chosen_item)


async def ask_labels(view: ItemView, session: Session, subject: ReviewSubject) -> None:
    """Ask for the correct labels of the response, for the first criterion that has labels."""
    item = subject.item
    criteria = await _query_item(view, session, item, lambda store: store.fetch_multi_label_criteria(item))
    if criteria is None:
        return
    if not criteria:
        view.show_message(StatusMessage("this benchmark has no response labels", "warn"))
        return
    criterion = criteria[0]
    choices = label_choices(subject.detail, session.annotator, criterion)
    recorder = view.item_reviewer.recorder
    prompt = TagsScreen(choices.labels, choices.selected, name=RESPONSE, label=criterion.replace("_", " "))
    _ask_and_record(view, subject, prompt, lambda latest, labels: recorder.record_labels(latest, criterion, labels))


def show_text(view: ItemView, session: Session, title: str, text: str | Callable[[], Awaitable[PagerText]]) -> None:
    """Show a text of the displayed item in the pager. If `text` is a function, the pager calls it to load the text."""
    name = f"{view.item_reviewer.displayed.detail.row.id} · {title}"
    view.app.push_screen(PagerScreen(name, text, find=view.cursor.last_search, folder=session.folder))


def show_records(view: ItemView, session: Session) -> None:
    """Show the item's records of the result and score files in the pager."""
    if view.cursor.hides_verdicts:
        view.show_message(
            StatusMessage("records are hidden until you submit, because they may contain verdicts", "warn")
        )
        return
    displayed = view.item_reviewer.displayed
    read = partial(read_records, session, displayed.navigator.item, displayed.detail.item)
    show_text(view, session, "records", read)


class OverrideReasonScreen(BottomDialog[int | None]):
    """Prompt for the reason why the last verdict overrides an automatic verdict. The result is the number of the
    reason, from 1, or None."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(OVERRIDE_REASON_ACTIONS, PROMPT_HELP_ACTIONS)

    def __init__(self, override: Override, reasons: Sequence[str]) -> None:
        super().__init__()
        self._override, self._reasons = override, reasons

    def compose(self) -> ComposeResult:
        yield LineBlock(id="why")

    def on_resize(self) -> None:
        names, cells = active_key_names(self.app), self.app.size.width
        keys = [names.get(f"why.take_{at}", "") for at in range(1, len(self._reasons) + 1)]
        labels = map(self._override.reason_label, self._reasons)
        hints = [*((key, label) for key, label in zip(keys, labels, strict=True) if key), *key_hints(self)]
        question = make_line(f" {self._override.question(cells - 2)}", "strong")
        self.query_one(LineBlock).show([question, key_hints_line(hints, cells, 1)])

    def action_answer(self, answer: int | None) -> None:
        if answer is not None and answer <= len(self._reasons):
            self.dismiss(answer)


def ask_override_reason(view: ItemView, session: Session) -> None:
    """Ask for the reason why the last verdict overrides an automatic one, and record it."""
    reasons = session.vocabulary.reasons

    def ask_reason(override: Override) -> None:
        view.app.push_screen(OverrideReasonScreen(override, reasons), record_reason)

    def record_reason(number: int | None) -> None:
        if number is not None:
            view.item_reviewer.record_override_reason(number)

    view.item_reviewer.prompt_about_last_override(ask_reason)


@dataclass(frozen=True, slots=True)
class LabelChoices:
    labels: list[str]
    selected: list[str]


def label_choices(detail: ItemDetail, annotator: str, criterion: str) -> LabelChoices:
    """Return the labels to choose from. The annotator's own labels are selected, else the benchmark's."""
    verdicts = [v.value for v in detail.item.verdicts if (v.target, v.criterion) == (RESPONSE, criterion)]
    automatic = next((value for value in verdicts if isinstance(value, list)), [])
    own_key = (annotator, RESPONSE, criterion)
    own = next((o.verdict for o in detail.opinions if (o.annotator, o.target, o.criterion) == own_key), None)
    selected = own if isinstance(own, list) else automatic
    known = scale.known_labels if (scale := SCALES.get(criterion)) is not None else ()
    golden = detail.item.extra.golden_labels or []
    labels = dict.fromkeys([*known, *map(str, golden), *map(str, automatic), *selected])
    return LabelChoices(list(labels), list(selected))

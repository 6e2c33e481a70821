"""Show details of the displayed item: other runs, records and long texts. Copy the item."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType

from fcreview.model.sanitize import sanitize
from fcreview.store.rows import View
from fcreview.tui.actions import COPY_ACTIONS, PROMPT_HELP_ACTIONS
from fcreview.tui.keymap import list_key_hints, make_bindings
from fcreview.tui.review.clipboard import (
    copy_text,
    format_call_diff,
    format_item_json,
    format_item_markdown,
    format_open_command,
    format_target_calls,
)
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.review.item_reviewer import ItemView
from fcreview.tui.review.other_runs import prediction_choice_table, read_predictions
from fcreview.tui.review.recorder import ReviewSubject
from fcreview.tui.review.status import StatusMessage
from fcreview.tui.screens.pager import PagerScreen, PagerText, read_records
from fcreview.tui.screens.prompts import PickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line, key_hints_line, line_width
from fcreview.tui.widgets.base import BottomDialog
from fcreview.tui.widgets.document_view import LineBar

if TYPE_CHECKING:
    pass

T = TypeVar("T")


class CopyScreen(BottomDialog[str | None]):
    """Prompt for what to copy. The result is the `kind` for `make_copy_text`, or None if the user cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COPY_ACTIONS, PROMPT_HELP_ACTIONS)

    def compose(self) -> ComposeResult:
        yield LineBar(id="copy")

    def on_mount(self) -> None:
        title: Line = ((" copy", "strong"),)
        hints = key_hints_line(list_key_hints(self), self.app.size.width - line_width(title), 1)
        self.query_one(LineBar).show((*title, *hints))


def make_copy_text(kind: str, block_text: str, cursor: Cursor, folder: Path | None) -> str:
    """Return the text that the copy prompt offers as `kind`: `this`, `call`, `diff`, `markdown`, `json` or `command`.

    `block_text`: text of the block under the cursor. `folder`: the workspace's folder `.fcreview`.
    """
    detail, annotator = cursor.detail, cursor.annotator
    command = format_open_command(detail, folder.parent if folder is not None else None)
    texts: dict[str, Callable[[], str]] = {
        "this": lambda: block_text,
        "call": lambda: format_target_calls(detail, cursor.target),
        "diff": lambda: format_call_diff(detail, annotator, hide_verdicts=cursor.hides_verdicts),
        "markdown": lambda: format_item_markdown(detail, annotator, command, hide_verdicts=cursor.hides_verdicts),
        "json": lambda: format_item_json(detail),
        "command": lambda: command,
    }
    return texts[kind]()


def ask_copy(view: ItemView, session: Session) -> None:

    def copy_kind(kind: str | None) -> None:
        if kind is not None:
            text = make_copy_text(kind, view.text.text_to_copy, view.cursor, session.workspace_folder)
            view.show_message(StatusMessage(f"{kind}: {copy_text(text, session.workspace_folder, view.app._driver)}"))

    view.app.push_screen(CopyScreen(), copy_kind)


async def query_if_item_stays(view: ItemView, session: Session, item: int, read: Callable[[Any], T]) -> T | None:
    """Run a query about the displayed item. Return None if it fails or if another item was opened meanwhile."""
    try:
        result = await session.query(read)
    except Exception as error:  # a query that fails must not end the app
        view.show_message(StatusMessage(sanitize(str(error) or type(error).__name__), "bad"))
        return None
    return result if view.is_in_front and view.item_reviewer.displayed.navigator.item == item else None


async def show_other_runs(view: ItemView, session: Session, subject: ReviewSubject) -> None:
    """List the same item in other runs. The chosen item opens on a new screen, in a queue with the item of every
    run."""
    item = subject.item
    if view.cursor.hides_verdicts:
        view.show_message(StatusMessage("other runs are hidden until you submit", "warn"))
        return
    runs = await query_if_item_stays(view, session, item, lambda store: read_predictions(store, item))
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


def show_text(view: ItemView, session: Session, title: str, text: str | Callable[[], Awaitable[PagerText]]) -> None:
    """Show a text of the displayed item, or a text that the function `text` loads, in the pager."""
    name = f"{view.item_reviewer.displayed.detail.row.id} · {title}"
    view.app.push_screen(PagerScreen(name, text, find=view.cursor.last_search, folder=session.workspace_folder))


def show_records(view: ItemView, session: Session) -> None:
    """Show the records of the displayed item in the result and score files."""
    if view.cursor.hides_verdicts:
        view.show_message(
            StatusMessage("records are hidden until you submit, because they may contain verdicts", "warn")
        )
        return
    displayed = view.item_reviewer.displayed
    read = partial(read_records, session, displayed.navigator.item, displayed.detail.item)
    show_text(view, session, "records", read)

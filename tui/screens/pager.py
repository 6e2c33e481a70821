"""Show a long text on the whole screen, show other runs and records of the displayed item, and copy
the item.

The pager lays out only the visible part of a text, so the text may be very long.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from textual.app import App, ComposeResult
from textual.binding import BindingType

from fcreview.model.item import Item
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.tui.actions import COPY_ACTIONS, PAGER_ACTIONS, PROMPT_HELP_ACTIONS
from fcreview.tui.item_view.cursor import Cursor
from fcreview.tui.item_view.document import (
    RawRecord,
    format_location,
    format_score_record_location,
    join_records,
)
from fcreview.tui.keymap import list_key_hints, make_bindings
from fcreview.tui.review.clipboard import (
    copy_text,
    format_call_diff,
    format_item_json,
    format_item_markdown,
    format_open_command,
    format_target_calls,
)
from fcreview.tui.review.item_reviewer import ItemView
from fcreview.tui.screens.prompts import make_search_prompt
from fcreview.tui.session import Session
from fcreview.tui.text.layout import (
    DocumentLayout,
    TextSource,
    find_match_offset,
    find_max_indent_level,
    fold_indented_lines,
    indent_json,
)
from fcreview.tui.text.lines import (
    Line,
    LineBuilder,
    format_size,
    justify_line,
    key_hints_line,
    line_width,
    make_line,
)
from fcreview.tui.text.messages import StatusMessage
from fcreview.tui.widgets.base import BottomDialog, GuardedScreen, work
from fcreview.tui.widgets.document_view import DocumentView, KeyLine, LineBar

if TYPE_CHECKING:
    from fcreview.tui.session import Session

T = TypeVar("T")


class PagerText(NamedTuple):
    """Text for the pager in two forms."""

    raw: str
    """Text as in the file. The copy action copies this text."""
    indented: str
    """Text with indented JSON."""


async def read_records(session: Session, item_number: int, item: Item) -> PagerText:
    """Read the records of item `item_number` from the result and score files."""
    records = await read_raw_records(session, item_number, item)
    return PagerText(join_records(records, indented=False), join_records(records, indented=True))


class PagerScreen(GuardedScreen[bool]):
    """Screen that shows JSON indented and other text unchanged. A key switches to the raw text."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(PAGER_ACTIONS)
    DEFAULT_CSS = "PagerScreen { layout: vertical; }"

    def __init__(
        self,
        title: str,
        text: str | Callable[[], Awaitable[PagerText]],
        *,
        find: str = "",
        folder: Path | None = None,
    ) -> None:
        """Create the screen.

        Args:
            text: Text to show, or a function that loads the text.
            find: Search term at the start.
            folder: Folder to which copies of the text are written.
        """
        super().__init__()
        self._title = title
        self._folder = folder

        # A text that must be loaded is empty until the screen has loaded it.
        if isinstance(text, str):
            self._load_text = None
            self._text = PagerText(text, indent_json(text))
        else:
            self._load_text = text
            self._text = PagerText("", "")
        self._raw = False
        """Whether the text is shown as it is, instead of indented."""
        self._depth: int | None = None
        """Number of indentation levels that are shown, or None for all."""

        self._find = find
        """Text that was searched last."""
        self._hit = -1
        """Offset of the current match of the search, or -1."""

    def compose(self) -> ComposeResult:
        yield LineBar(id="pager-title")
        yield DocumentView(gutter=False, id="pager-text")
        yield KeyLine()

    def on_mount(self) -> None:
        self._view.focus()
        if self._load_text is None:
            self._show_text()
        else:
            self._draw_bars("reading")
            self._load_and_show(self._load_text)

    @work()
    async def _load_and_show(self, load_text: Callable[[], Awaitable[PagerText]]) -> None:
        self._text = await load_text()
        self._show_text()

    @property
    def _view(self) -> DocumentView:
        return self.query_one("#pager-text", DocumentView)

    @property
    def _displayed_text(self) -> str:
        """The text as it is in the file, or indented and folded to the depth that the user
        chose.
        """
        if self._raw:
            return self._text.raw
        if self._depth is None:
            return self._text.indented
        return fold_indented_lines(self._text.indented, self._depth)

    def _show_text(self) -> None:
        """Show the text from its beginning, or at the first match of the search."""
        self._view.show(TextSource(self._displayed_text))
        if self._find:
            self.call_after_refresh(self._search, self._find)
        self._draw_bars()
        self.call_after_refresh(self._draw_bars)

    def _draw_bars(self, message: str = "") -> None:
        """Draw the title of the text, a message, and at the right end its size and the position in
        it.
        """
        left = LineBuilder()
        left.add(f" {sanitize(self._title)}", "strong")
        if message:
            left.add(f"  {message}", "warn")

        facts = [format_size(self._text.raw), self._describe_display()]
        if self._view.document_layout is not None:
            facts.append(self._view.document_layout.scroll_position)
        # The position is empty if the whole text is visible.
        joined_facts = " · ".join(fact for fact in facts if fact)
        right = make_line(f"{joined_facts} ", "dim")
        title = justify_line(left.build(), right, self.app.size.width)
        self.query_one("#pager-title", LineBar).show(title)

    def _describe_display(self) -> str:
        """Return how the text is displayed: `raw`, `indented`, or `indented, 2 levels`."""
        is_raw = self._raw or self._text.indented is self._text.raw
        description = "raw" if is_raw else "indented"
        if self._depth is not None and not self._raw:
            description += f", {format_count(self._depth, 'level')}"
        return description

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw_bars)

    def on_document_view_scrolled(self) -> None:
        self._draw_bars()

    def action_scroll(self, rows: int) -> None:
        self._view.scroll_rows(rows)
        self._draw_bars()

    def action_page(self, pages: int) -> None:
        self.action_scroll(pages * max(self._view.size.height - 1, 1))

    def action_scroll_to_edge(self, side: int) -> None:
        self._view.scroll_to_edge(side)
        self._draw_bars()

    def action_toggle_raw(self) -> None:
        self._raw = not self._raw
        self._show_from_top()

    def _show_from_top(self) -> None:
        self._hit = -1
        self._view.show(TextSource(self._displayed_text))
        self._draw_bars()

    def action_change_depth(self, by: int) -> None:
        """Show `by` more indentation levels, or fewer if negative."""
        max_depth = find_max_indent_level(self._text.indented)
        if self._raw or not max_depth:
            self._draw_bars("the text has no JSON to fold")
            return

        current_depth = max_depth if self._depth is None else self._depth
        new_depth = min(max(current_depth + by, 1), max_depth)
        shows_all_levels = new_depth == max_depth
        self._depth = None if shows_all_levels else new_depth
        self._show_from_top()

    def action_search(self) -> None:
        """Ask for a text, and move to its next match."""

        def search(typed: str | None) -> None:
            # An empty line repeats the last search. Esc searches for nothing.
            term = typed or self._find
            if typed is not None and term:
                self._search(term)

        self.app.push_screen(make_search_prompt(self._find), search)

    def action_search_again(self, step: int) -> None:
        if self._find:
            self._search(self._find, step)

    def _search(self, text: str, step: int = 1) -> None:
        """Move to the next match of a text, and mark all matches.

        `step`: 1 for the next match, -1 for the previous one.
        """
        # Another text is searched from the beginning. The same text is searched from its last hit.
        if text != self._find:
            self._hit = -1
        self._find = text

        if self._depth is not None:
            # Unfold all levels, because the search must also find folded lines.
            self._depth = None
            self._view.show(TextSource(self._displayed_text))

        self._view.highlight = text.casefold()
        hit = find_match_offset(self._displayed_text, text, self._hit, step)
        if hit is None or self._view.document_layout is None:
            self._view.redraw()
            self._draw_bars(f"no match for {sanitize(text)}")
            return

        self._hit = hit
        self._reveal_hit(hit, self._view.document_layout)
        self._draw_bars()

    def _reveal_hit(self, hit: int, layout: DocumentLayout) -> None:
        """Scroll to the character at index `hit` of the displayed text."""
        # The pager shows only texts, so the source is a `TextSource`.
        source = layout.source
        if not isinstance(source, TextSource):
            source = TextSource(self._displayed_text)
        index, row = source.find_row(hit, layout.cells)
        self._view.redraw()
        self._view.reveal(index, row, entire_block=False)

    def action_copy(self) -> None:
        self._draw_bars(copy_text(self._text.raw, self._folder, self.app._driver))


async def read_raw_records(session: Session, item_number: int, item: Item) -> list[RawRecord]:
    """Return the records of an item as they are in the run's files.

    The first one is from the result file. If the benchmark has score files, a second one is from
    the score file. An error that prevents reading is shown as the text of the record.
    """
    result_text = await _read_or_describe_error(
        session, lambda store: store.read_raw_record(item_number)
    )
    location = format_location(item.file, item.line)
    records = [RawRecord("result", location=location, text=result_text or "")]

    score_text = await _read_or_describe_error(
        session, lambda store: store.read_score_record(item_number)
    )
    if score_text is not None:
        location = format_score_record_location(item)
        records.append(RawRecord("score", location=location, text=score_text))
    return records


async def _read_or_describe_error(session: Session, read: Callable[..., str | None]) -> str | None:
    try:
        return await session.read(read)
    except Exception as error:
        # The file may be gone, changed or unreadable.
        return f"The record cannot be read: {error}"


class CopyScreen(BottomDialog[str | None]):
    """Prompt for what to copy.

    The result is the `kind` for `make_copy_text`, or None if the user cancelled.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COPY_ACTIONS, PROMPT_HELP_ACTIONS)

    def compose(self) -> ComposeResult:
        yield LineBar(id="copy")

    def on_mount(self) -> None:
        title: Line = ((" copy", "strong"),)
        hints = key_hints_line(list_key_hints(self), self.app.size.width - line_width(title), 1)
        self.query_one(LineBar).show((*title, *hints))


def make_copy_text(kind: str, block_text: str, cursor: Cursor, folder: Path | None) -> str:
    """Return the text that the copy prompt offers as `kind`: `this`, `call`, `diff`, `markdown`,
    `json` or `command`.

    `block_text`: text of the block under the cursor. `folder`: the workspace's folder `.fcreview`.
    """
    detail = cursor.detail
    annotator = cursor.annotator
    hides_verdicts = cursor.hides_verdicts
    if kind == "this":
        return block_text
    if kind == "call":
        return format_target_calls(detail, cursor.target)
    if kind == "diff":
        return format_call_diff(detail, annotator, hide_verdicts=hides_verdicts)
    if kind == "json":
        return format_item_json(detail)

    # The command that opens the item in fcreview.
    command = format_open_command(detail, folder.parent if folder is not None else None)
    if kind == "command":
        return command
    if kind == "markdown":
        return format_item_markdown(detail, annotator, command, hide_verdicts=hides_verdicts)
    raise ValueError(f"unknown kind of copy {kind!r}")


def ask_copy(view: ItemView, session: Session) -> None:
    """Ask what to copy from the item, and copy it to the clipboard."""

    def copy_kind(kind: str | None) -> None:
        if kind is None:
            return
        folder = session.workspace_folder
        text = make_copy_text(kind, view.text.text_to_copy, view.cursor, folder)
        result = copy_text(text, folder, view.app._driver)
        view.show_message(StatusMessage(f"{kind}: {result}"))

    view.app.push_screen(CopyScreen(), copy_kind)


async def query_if_item_stays(
    view: ItemView, session: Session, item: int, read: Callable[[Any], T]
) -> T | None:
    """Return the result of a query about the displayed item, if the item is still displayed then.

    Returns None if the user has opened another item or screen meanwhile. If the query fails, a
    message says so, and the result is None too.
    """
    try:
        result = await session.read(read)
    except Exception as error:
        # A query that fails must not end the app.
        view.show_message(StatusMessage(sanitize(str(error) or type(error).__name__), "bad"))
        return None

    if not view.is_in_front:
        return None
    is_item_displayed = view.item_reviewer.displayed.navigator.item == item
    return result if is_item_displayed else None


def show_text(
    view: ItemView, session: Session, title: str, text: str | Callable[[], Awaitable[PagerText]]
) -> None:
    """Show a text of the displayed item, or a text that the function `text` loads, in the pager."""
    name = f"{view.item_reviewer.displayed.detail.row.id} · {title}"
    view.app.push_screen(
        PagerScreen(name, text, find=view.cursor.last_search, folder=session.workspace_folder)
    )


def show_guidelines(app: App[Any], session: Session, text: str) -> None:
    """Show the guidelines of the workspace in the pager."""
    app.push_screen(PagerScreen("guidelines", text, folder=session.workspace_folder))


def show_records(view: ItemView, session: Session) -> None:
    """Show the records of the displayed item in the result and score files."""
    if view.cursor.hides_verdicts:
        message = "records are hidden until you submit, because they may contain verdicts"
        view.show_message(StatusMessage(message, "warn"))
        return
    displayed = view.item_reviewer.displayed
    read = partial(read_records, session, displayed.navigator.item, displayed.detail.item)
    show_text(view, session, "records", read)

"""Record one review for all items of a cluster."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from fcreview.model.review import Fault
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.tui.actions import BULK_REVIEW_ACTIONS, MODAL_HELP_ACTIONS
from fcreview.tui.key_bindings import active_key_names, make_bindings, unavailable_key_message
from fcreview.tui.review.recorder import (
    MAX_SHOWN_ITEMS,
    NOT_MEASURED,
    BulkReview,
    bulk_entry_lines,
    bulk_item_lines,
    describe_bulk,
)
from fcreview.tui.screens.choice_list import BORDER_CELLS
from fcreview.tui.screens.dialogs import ConfirmScreen, FaultScreen, TagsScreen, tag_choices
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line, fit_line
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import KeyLine, LineBar, LineBlock, TopLine
from fcreview.tui.widgets.lists import TextList
from fcreview.tui.widgets.panel import Panel, is_small
from fcreview.tui.widgets.screens import GuardedModalScreen


class BulkReviewScreen(GuardedModalScreen[str | None]):
    """Screen with the items of a cluster, where the user enters one verdict, fault and list of tags for all items.

    The result is a message after the reviews are on disk, or None if the annotator cancelled.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(BULK_REVIEW_ACTIONS, MODAL_HELP_ACTIONS)
    CSS = """
    BulkReviewScreen { background: $background; layout: vertical; }
    BulkReviewScreen #bulk-entry-panel { height: auto; }
    """
    AUTO_FOCUS = ""
    has_unsaved_input = True

    def __init__(self, session: Session, path: tuple[str, ...], review: BulkReview) -> None:
        """Create the screen. `path`: names for the top line."""
        super().__init__()
        self._session, self._path, self._review = session, path, review
        self._is_recording = False

    def compose(self) -> ComposeResult:
        yield TopLine()
        with Panel(id="bulk-items-panel"):
            yield TextList(id="bulk-items", cursor=False)
        with Panel(id="bulk-entry-panel"):
            yield LineBlock(id="bulk-entry")
        yield LineBar(id="bulk-message")
        yield KeyLine(keep_last=2)

    def on_mount(self) -> None:
        self._draw()
        self._show_message(NOT_MEASURED, "dim")

    def on_resize(self) -> None:
        self._draw()

    def no_key(self, key: str) -> None:
        self._show_message(unavailable_key_message(self.app, key))

    def _draw(self) -> None:
        review, small = self._review, is_small(self.size)
        self.query_one(TopLine).show_path(self._path, ((sanitize(self._session.annotator), "people"),))
        for panel in self.query(Panel):
            panel.set_flat(small)
        cells = self.size.width - (2 if small else BORDER_CELLS)
        margin: Line = ((" ", ""),) if small else ()
        count = format_count(len(review.items), "item")
        shown = f"the first {MAX_SHOWN_ITEMS} of {count}" if len(review.items) > MAX_SHOWN_ITEMS else count
        self.query_one("#bulk-items-panel", Panel).set_title("Items you have not reviewed", shown, flat_facts=True)
        self.query_one("#bulk-items", TextList).set_lines([(*margin, *line) for line in bulk_item_lines(review, cells)])
        self.query_one("#bulk-entry-panel", Panel).set_title(f"Review of {count}")
        self.query_one("#bulk-entry", LineBlock).show([(*margin, *line) for line in bulk_entry_lines(review)])

    def _show_message(self, text: str, style: str = "warn") -> None:
        self.query_one("#bulk-message", LineBar).show(fit_line(((f" {text}", style),), self.size.width))

    # -- entry

    def action_verdict(self, key: str) -> None:
        """Set the verdict. `key` is one of `VERDICTS_BY_KEY`."""
        self._review.set_verdict(key)
        self._draw()

    def action_fault(self) -> None:
        def take(fault: Fault | None) -> None:
            self._review.fault = fault or self._review.fault
            self._draw()

        self.app.push_screen(FaultScreen(), take)

    def action_tag(self) -> None:
        review = self._review
        errors = [row.error_type or row.rule_error_type for row in review.rows]
        tags = tag_choices(self._session.vocabulary.tags, errors, review.known_tags, review.tags)

        async def load_used() -> list[str]:
            return await self._session.query(lambda store: store.fetch_used_tags())

        def take(chosen: list[str] | None) -> None:
            review.tags = review.tags if chosen is None else chosen
            self._draw()

        self.app.push_screen(TagsScreen(tags, review.tags, load_used), take)

    def action_record(self) -> None:
        """Ask to confirm the number of items, and record the reviews."""
        if not self._review.verdict_key:
            names = active_key_names(self.app)
            keys = (names.get(f"item.{name}") for name in ("pass", "fail", "golden_wrong", "unsure"))
            self._show_message(f"Give a verdict first: {' '.join(filter(None, keys))}")
        elif not self._is_recording:
            self.app.push_screen(ConfirmScreen(self._review.question), self._record_if_confirmed)

    def _record_if_confirmed(self, confirmed: bool | None) -> None:
        if confirmed:
            self._record()

    @work(group="record", exclusive=True)
    async def _record(self) -> None:
        self._is_recording = True
        review = self._review
        try:
            events = await self._session.record_bulk_review(review.items, review.annotation)
        except Exception as error:  # the annotator must see that the reviews are not saved
            self._is_recording = False
            self.app.bell()
            reason = sanitize(str(error) or type(error).__name__)
            self._show_message(f"NOT SAVED ({review.describe()}): {reason}", "bad")
            return
        self.dismiss(f"saved: {review.describe()}, {describe_bulk(events)}")

    # -- scrolling

    def action_scroll(self, by: int) -> None:
        self.query_one("#bulk-items", TextList).action_move(by)

    def action_page(self, by: int) -> None:
        self.query_one("#bulk-items", TextList).action_move_page(by)

    def action_cancel(self) -> None:
        if not self._is_recording:
            self.dismiss(None)

"""The adjudication screen: shows one disagreement of annotators after the other, each resolved with one key.

`Adjudicator` records reviews and moves from case to case. The text below moves and folds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from fcreview.model.sanitize import visible
from fcreview.model.verdict import PASSING, decides
from fcreview.store.rows import View
from fcreview.tui.actions import ADJUDICATION
from fcreview.tui.item_view.blocks import Options
from fcreview.tui.item_view.document import joined
from fcreview.tui.key_bindings import bindings, key_hints, key_names, no_key
from fcreview.tui.review.adjudication import (
    MARK,
    Adjudicator,
    DisputeCursor,
    PanelSize,
    header_line,
    left_text,
    name_of,
    panel,
    whole_text,
)
from fcreview.tui.review.item_actions import raw_records
from fcreview.tui.review.status import SILENT, Remark, hints, key_line
from fcreview.tui.screens.dialogs import AskScreen, FaultScreen, NoteScreen
from fcreview.tui.screens.pager import PagerScreen, Text
from fcreview.tui.session import Session
from fcreview.tui.text.clipboard import copied
from fcreview.tui.text.lines import Line, line_width, spread
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.document_view import LineBar, LineBlock
from fcreview.tui.widgets.item_text import ItemText

SHARE = 0.4
"""Of the screen's rows that answers take at most."""
LEAST = 6


class AdjudicationScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = bindings(ADJUDICATION)
    CSS = "AdjudicationScreen { layout: vertical; overflow: hidden hidden; }"

    def __init__(self, session: Session, view: View) -> None:
        super().__init__()
        self._session = session
        self.adjudicator = Adjudicator(session, view, self, self._key)
        self._remark = SILENT

    def compose(self) -> ComposeResult:
        yield LineBar(id="adjudication-header")
        yield LineBlock(id="adjudication-answers")
        yield LineBar(id="adjudication-rule")
        yield ItemText(id="item-text")
        yield LineBar(id="item-status")
        yield LineBar(id="item-keys")

    def on_mount(self) -> None:
        self.text.focus()
        self.watch(self.text, "moves", self._moved, init=False)
        self.adjudicator.open()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    @property
    def text(self) -> ItemText:
        return self.query_one("#item-text", ItemText)

    def _key(self, action: str) -> str:
        return key_names(self.app).get(action, "")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        case = self.adjudicator.cases.case
        if action in ("back", "undo"):
            return True
        if case is None or self.adjudicator.detail is None:
            return False
        if action == "verdict" and decides(parameters[0]):
            return case.dispute.criterion in PASSING
        return action != "take" or int(str(parameters[0])) <= len(case.dispute.answers)

    @property
    def idle_keys(self) -> frozenset[str]:
        """Of actions that would only say why there is nothing to do."""
        case = self.adjudicator.cases.case
        passing = case is not None and case.dispute.criterion in PASSING
        return frozenset({"item.target", *(["adjudication.other"] if passing else [])})

    def no_key(self, key: str) -> None:
        self.say(Remark(no_key(self.app, key), "warn"))

    # -- what is shown

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        self.run_worker(work, group="actions")

    def begin(self, remark: Remark) -> None:
        self._remark = remark
        case, detail = self.adjudicator.cases.case, self.adjudicator.detail
        if case is not None and detail is not None:
            reader = self.text.reader
            if not isinstance(reader, DisputeCursor):
                options = Options(opener=self._key("item.fold"))
                reader = DisputeCursor(detail, self._session.annotator, options=options)
            reader.show_case(case, detail)
            self.text.open(reader)
            self._to_the_mark(reader)
        self._draw()

    def renew(self, remark: Remark) -> None:
        self._remark = remark
        case, detail, reader = self.adjudicator.cases.case, self.adjudicator.detail, self.text.reader
        if case is not None and detail is not None and isinstance(reader, DisputeCursor):
            reader.renew_case(case, detail)
            self.text.renew(reader.detail)
        self._draw()

    def _to_the_mark(self, reader: DisputeCursor) -> None:
        mark = next((at for at, block in enumerate(reader.blocks) if block.key == MARK), None)
        if mark is not None:
            self.call_after_refresh(self.text.put_on_top, mark)

    def say(self, remark: Remark) -> None:
        self._remark = remark
        if remark.style == "bad":
            self.app.bell()
        self._draw_bars()

    def _moved(self) -> None:
        if self.text.remark is not None:
            self._remark = self.text.remark
        self._draw_bars()

    def on_document_view_scrolled(self) -> None:
        self._draw_bars()

    def _draw(self) -> None:
        cells, cases, detail = self.app.size.width, self.adjudicator.cases, self.adjudicator.detail
        lines: list[Line] = [((f" {left_text(cases) if self.adjudicator.begun else symbols().ellipsis}", "strong"),)]
        if cases.case is not None and detail is not None:
            size = PanelSize(cells, max(int(self.app.size.height * SHARE), LEAST), self._key("adjudication.answers"))
            lines = panel(cases.case, detail.item, self.adjudicator.mine, size)
        self.query_one(LineBlock).show(lines)
        self.query_one("#adjudication-header", LineBar).show(header_line(cases, detail, cells))
        self.query_one("#adjudication-rule", LineBar).show(((symbols().rule * cells, "dim"),))
        self.refresh_bindings()
        self._draw_bars()

    def _draw_bars(self) -> None:
        cells, keys = self.app.size.width, key_names(self.app)
        right: Line = ((f" {self.text.share:3} % ", "dim"),) if self.text.reader else ()
        text, style = self._remark
        left: Line = ((f" {text}", style),)
        if not text and self.adjudicator.cases.case:
            left = ((" " + hints(keys, cells - line_width(right) - 2), "dim"),)
        self.query_one("#item-status", LineBar).show(spread(left, right, cells))
        found = key_hints(self)
        found.sort(key=lambda hint: not hint[1].startswith(("take ", "other ")))
        self.query_one("#item-keys", LineBar).show(key_line(found, cells))

    # -- what is said

    def action_take(self, number: int) -> None:
        self.adjudicator.take(number)

    def action_verdict(self, key: str) -> None:
        self.adjudicator.verdict(key)

    def action_target(self) -> None:
        self.say(Remark("what annotators disagree on is settled, nothing else of the item", "warn"))

    def action_other(self) -> None:
        case = self.adjudicator.cases.case
        if case is not None and case.dispute.criterion in PASSING:
            said = " or ".join(filter(None, map(self._key, ("item.pass", "item.fail"))))
            self.say(Remark(f"there is no other value than pass and fail: {said} says it", "warn"))
            return
        prompt = f"{self.adjudicator.allowed()}:"
        self.app.push_screen(AskScreen(visible(prompt)), lambda text: self.adjudicator.other(text) if text else None)

    def action_fault(self) -> None:
        self.app.push_screen(FaultScreen(), lambda fault: self.adjudicator.fault(fault) if fault else None)

    def action_note(self) -> None:
        case, detail, mine = self.adjudicator.cases.case, self.adjudicator.detail, self.adjudicator.mine
        if case is not None and detail is not None:
            before = (mine.note if mine else None) or ""
            prompt = NoteScreen(name_of(case, detail), before)
            self.app.push_screen(prompt, lambda note: self.adjudicator.note(note) if note is not None else None)

    def action_undo(self) -> None:
        self.adjudicator.undo()

    # -- where to go, and a closer look

    def action_step(self, by: int) -> None:
        self.adjudicator.step(by)

    def action_back(self) -> None:
        """What was said before is on disk first."""
        self.adjudicator.leave(self.dismiss)

    def action_answers(self) -> None:
        case, detail = self.adjudicator.cases.case, self.adjudicator.detail
        if case is not None and detail is not None:
            self._page(f"{name_of(case, detail)} · answers", whole_text(case, detail))

    def action_raw(self) -> None:
        case, detail = self.adjudicator.cases.case, self.adjudicator.detail
        if case is None or detail is None:
            return

        async def load() -> Text:
            records = await raw_records(self._session, case.item, detail.item)
            return Text(joined(records, indented=False), joined(records, indented=True))

        self._page(f"{detail.row.id} · records", load)

    def on_item_text_opened(self, opened: ItemText.Opened) -> None:
        self._page(f"{self.text.reading.detail.row.id} · {opened.title}", opened.text)

    def _page(self, title: str, text: str | Callable[[], Awaitable[Text]]) -> None:
        find = self.text.reading.sought if self.text.reader else ""
        self.app.push_screen(PagerScreen(title, text, find=find, folder=self._session.folder))

    def action_search(self) -> None:
        sought = self.text.reading.sought
        self.app.push_screen(AskScreen("/", sought), lambda text: self.text.search(text) if text else None)

    def action_copy(self) -> None:
        self.say(Remark(copied(self.text.copied, self._session.folder, self.app._driver)))

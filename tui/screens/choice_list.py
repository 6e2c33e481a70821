"""Screens to choose a row of a table. A compact screen covers only the lower part of the screen below it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widget import Widget

from fcreview.matching.clusters import GROUPINGS, computed_grouping, group_clusters
from fcreview.model.wording import format_count
from fcreview.tui.actions import CLUSTER_ACTIONS, MODAL_HELP_ACTIONS, PICKER_ACTIONS
from fcreview.tui.key_bindings import make_bindings, unavailable_key_message
from fcreview.tui.queue.choices import (
    ClusterRow,
    cluster_rows,
    cluster_table,
    explain_cluster_row,
    is_unfoldable,
)
from fcreview.tui.queue.state import ClusterCounts, ClusterListState
from fcreview.tui.text.lines import ChoiceTable, Line, fit_line, justify_line, progress_message, rule_line
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.base import ProgressTimer, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.lists import TextList
from fcreview.tui.widgets.screens import GuardedModalScreen

T = TypeVar("T")


class PickerScreen(GuardedModalScreen[T | None]):
    """Screen with a table to choose a row from. The result is the value of the chosen row, or None after Esc.

    Until the choices are loaded, the screen is one line with a waiting message.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(PICKER_ACTIONS, MODAL_HELP_ACTIONS)
    CSS_PATH = "pick.tcss"
    WAITING_FOR = "reading"
    """Waiting message while choices are loaded."""

    def __init__(
        self,
        choices: ChoiceTable[T] | None = None,
        *,
        load: Callable[[], Awaitable[ChoiceTable[T] | None]] | None = None,
    ):
        """Create the screen with choices, or with a function `load` that loads the choices."""
        super().__init__(classes="waiting" if choices is None else "small" if choices.compact else None)
        self._choices = choices
        self._load_choices = load
        self.waiting = ProgressTimer(self, self._draw_waiting_time)
        self._message = ""
        """Message that replaces the title until the cursor moves."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(id="pick-title")
            yield LineBar(id="pick-heading")
            yield TextList(id="pick-list")
            yield from self.compose_below_list()
            yield KeyLine()

    def compose_below_list(self) -> Iterable[Widget]:
        """Return widgets between the list and the key line."""
        return ()

    def on_mount(self) -> None:
        self.list.focus()
        self.watch(self.list, "cursor", lambda: self.show_message(""), init=False)
        if self._load_choices is not None:
            self._load()

    @property
    def list(self) -> TextList:
        return self.query_one("#pick-list", TextList)

    @work()
    async def _load(self) -> None:
        if self._load_choices is not None:
            self.waiting.start()
            self._choices = await self._load_choices()
            self.waiting.stop()
            self._draw()

    def _draw_waiting_time(self, seconds: float) -> None:
        message: Line = ((progress_message(self.WAITING_FOR, seconds), "dim"),)
        cells, is_empty = self.size.width, self._choices is None
        line = rule_line(message, cells, symbols().rule) if is_empty else fit_line(((" ", ""), *message), cells)
        self.query_one("#pick-title", LineBar).show(line)

    def on_resize(self) -> None:
        self._draw()

    def show_message(self, message: str) -> None:
        """Show a message instead of the title. An empty message restores the title."""
        if message != self._message:
            self._message = message
            self._draw_title()

    def no_key(self, key: str) -> None:
        self.show_message(unavailable_key_message(self.app, key))

    def _draw_title(self) -> None:
        cells, choices = self.size.width, self._choices
        title = self.query_one("#pick-title", LineBar)
        if choices is None:
            self._draw_waiting_time(0)
            return
        count = format_count(len(choices.rows) if choices.total is None else choices.total, choices.noun)
        text: Line = ((choices.title, "strong"), (f" {symbols().separator} {count}", ""))
        if self._message:
            text = ((self._message, "warn"),)
        if choices.compact:
            title.show(rule_line(text, cells, symbols().rule))
        elif self._message:
            title.show(fit_line(((" ", ""), *text), cells))
        else:
            title.show(justify_line(((" ", ""), *text), fit_line(((choices.note + " ", "dim"),), cells // 2), cells))

    def _draw(self) -> None:
        cells, choices = self.size.width, self._choices
        self._message = ""
        self._draw_title()
        if choices is None:
            return
        self.remove_class("waiting")
        if choices.compact:
            self.list.styles.height = len(choices.rows)
        heading, lines = choices.lines(cells)
        self.query_one("#pick-heading", LineBar).show(heading)
        self.list.empty_line = ((" " + choices.empty_message, "dim"),)
        self.list.set_lines(lines, None if self.list.total else choices.cursor)

    def action_take(self) -> None:
        if self._choices is not None and self._choices.values:
            self.dismiss(self._choices.values[self.list.cursor])

    def on_line_list_chosen(self) -> None:
        self.action_take()

    def action_close(self) -> None:
        self.dismiss(None)


class ClustersScreen(PickerScreen[tuple[str, ...]], inherit_bindings=False):
    """Table of clusters of failing items, in groups that can be unfolded.

    The result is the filter terms of the chosen group or cluster.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(CLUSTER_ACTIONS, MODAL_HELP_ACTIONS)
    WAITING_FOR = "counting failures"

    def __init__(self, load: Callable[[int], Awaitable[ClusterCounts]], state: ClusterListState) -> None:
        """Create the table.

        Args:
            load: Counts the failing items by cluster for a grouping.
            state: State of the table, kept for the next time the table opens. Counts in the state are shown at once.
        """
        super().__init__(load=self._load_counts)
        self._count_failures = load
        self._state = state
        self._rows: list[ClusterRow] = []

    def on_mount(self) -> None:
        self._choices = self._build_choices()
        self._draw()
        self.watch(self.list, "cursor", self._remember_cursor, init=False)
        super().on_mount()

    def compose_below_list(self) -> Iterable[Widget]:
        yield LineBar(id="means")
        yield LineBar(id="difference")

    def _draw_description(self) -> None:
        """Draw the explanation and the example of the line under the cursor."""
        cells, texts = self.size.width, ("", "")
        if self._rows:
            texts = explain_cluster_row(self._rows[self.list.cursor], self._state.grouping, cells - 2)
        for name, style, text in zip(("means", "difference"), ("", "dim"), texts, strict=True):
            self.query_one(f"#{name}", LineBar).show(fit_line((("  ", ""), (text, style)), cells))

    def _remember_cursor(self) -> None:
        if self._rows:
            self._state.terms = self._rows[self.list.cursor].terms
            self._draw_description()

    async def _load_counts(self) -> ChoiceTable[tuple[str, ...]] | None:
        grouping = computed_grouping(self._state.grouping)
        self._state.counts[grouping] = await self._count_failures(grouping)
        return self._build_choices()

    def _build_choices(self) -> ChoiceTable[tuple[str, ...]] | None:
        """Return the table of clusters. None until the clusters are counted."""
        grouping, unfolded, cells = self._state.grouping, self._state.unfolded, self.size.width
        counts = self._state.counts.get(computed_grouping(grouping))
        groups = group_clusters(counts.clusters, grouping) if counts else []
        self._rows = cluster_rows(groups, unfolded)
        if counts is None:
            return None
        table = cluster_table(self._rows, grouping, counts.failures, unfolded, cells)
        table.cursor = table.values.index(self._state.terms) if self._state.terms in table.values else 0
        rare = counts.failures - sum(group.count for group in groups)
        table.note = f"{format_count(rare, 'failure')} with rare values not listed" if rare else ""
        return table

    def _draw(self) -> None:
        super()._draw()
        if self._choices is not None:
            self.list.move_cursor(self._choices.cursor)
            self._draw_description()

    def action_take(self) -> None:
        self._remember_cursor()
        super().action_take()

    def _redraw_at(self, cursor: int) -> None:
        self._choices = self._build_choices()
        self._draw()
        self.list.move_cursor(cursor)
        self.refresh_bindings()

    def on_resize(self) -> None:
        self._choices = self._build_choices()
        super().on_resize()

    def action_unfold(self, unfold: bool) -> None:
        """Unfold or fold the group under the cursor. Folding moves the cursor to the line of the group."""
        if not self._rows:
            return
        group = self._rows[self.list.cursor].group
        if (group.term in self._state.unfolded) == unfold or not is_unfoldable(group):
            return
        self._state.unfolded ^= {group.term}
        group_line = next(index for index, row in enumerate(self._rows) if row.group is group)
        self._redraw_at(self.list.cursor if unfold else group_line)

    def action_grouping(self) -> None:
        """Switch to the next grouping."""
        self._state.grouping = (self._state.grouping + 1) % len(GROUPINGS)
        self._redraw_at(0)
        if self._choices is None:
            self._load()

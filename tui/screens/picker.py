"""A list to choose one thing from, as a table over the whole screen or, if small, in its lower part.

Failures in groups: what to look at first. A group (of an error type, a function, an argument, a category or a pair
of values) unfolds into what it is divided by.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget

from fcreview.matching.clusters import GROUPINGS, group_clusters, computed_grouping
from fcreview.model.wording import format_count
from fcreview.tui.actions import CLUSTER_ACTIONS, MODAL_HELP_ACTIONS, PICKER_ACTIONS
from fcreview.tui.key_bindings import make_bindings, unavailable_key_message
from fcreview.tui.queue.choices import (
    ClusterRow,
    cluster_cells,
    cluster_columns,
    cluster_rows,
    describe_cluster,
    is_unfoldable,
)
from fcreview.tui.queue.state import ClusterCounts, ClusterListState
from fcreview.tui.text.lines import ChoiceTable, Line, fit_line, justify_line, progress_message, rule_line
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.base import ProgressTimer, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.lists import TextList

T = TypeVar("T")


class PickerScreen(ModalScreen[T | None]):
    """Gives the value that was chosen, or None. Choices that take a while come from an awaitable; until the first are
    there, one line over the screen below says what is waited for."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(PICKER_ACTIONS, MODAL_HELP_ACTIONS)
    CSS_PATH = "pick.tcss"
    WAITING_FOR = "reading"
    """What is told while choices are waited for."""

    def __init__(
        self,
        choices: ChoiceTable[T] | None = None,
        *,
        load: Callable[[], Awaitable[ChoiceTable[T] | None]] | None = None,
    ):
        super().__init__(classes="waiting" if choices is None else "small" if choices.compact else None)
        self._choices = choices
        self._load_choices = load
        self.waiting = ProgressTimer(self, self._draw_waiting_time)
        self._message = ""
        """In the place of the title, until the cursor moves."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(id="pick-title")
            yield LineBar(id="pick-heading")
            yield TextList(id="pick-list")
            yield from self.compose_below_list()
            yield KeyLine()

    def compose_below_list(self) -> Iterable[Widget]:
        """What stands between the list and the keys."""
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
        said: Line = ((progress_message(self.WAITING_FOR, seconds), "dim"),)
        cells = self.size.width
        over = self._choices is None
        line = rule_line(said, cells, symbols().rule) if over else fit_line(((" ", ""), *said), cells)
        self.query_one("#pick-title", LineBar).show(line)

    def on_resize(self) -> None:
        self._draw()

    def show_message(self, message: str) -> None:
        """Why a key does nothing, in the place of the title."""
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
        name: Line = ((f"{choices.title}", "strong"), (f" {symbols().separator} {self._format_count(choices)}", ""))
        if self._message:
            name = ((self._message, "warn"),)
        if choices.compact:
            title.show(rule_line(name, cells, symbols().rule))
        elif self._message:
            title.show(fit_line(((" ", ""), *name), cells))
        else:
            title.show(justify_line(((" ", ""), *name), fit_line(((choices.note + " ", "dim"),), cells // 2), cells))

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
        first = not self.list.total
        self.list.empty_line = ((" " + choices.empty_message, "dim"),)
        self.list.set_lines(lines, choices.cursor if first else None)

    def _format_count(self, choices: ChoiceTable[T]) -> str:
        return format_count(len(choices.rows) if choices.total is None else choices.total, choices.noun)

    def action_take(self) -> None:
        if self._choices is not None and self._choices.values:
            self.dismiss(self._choices.values[self.list.cursor])

    def on_line_list_chosen(self) -> None:
        self.action_take()

    def action_close(self) -> None:
        self.dismiss(None)


class ClustersScreen(PickerScreen[tuple[str, ...]], inherit_bindings=False):
    """Gives the filter terms of the group or cluster that was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(CLUSTER_ACTIONS, MODAL_HELP_ACTIONS)
    WAITING_FOR = "counting failures"

    def __init__(self, load: Callable[[int], Awaitable[ClusterCounts]], state: ClusterListState) -> None:
        super().__init__(load=self._load_counts)
        self._count_failures = load
        self._state = state
        """As the list was left, and as it is left now. What was counted then is there at once."""
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
        says = describe_cluster(self._rows[self.list.cursor], self._grouping, self.size.width - 2) if self._rows else ("", "")
        for name, text in zip(("means", "difference"), says, strict=True):
            self.query_one(f"#{name}", LineBar).show(fit_line((("  ", ""), (text, "" if name == "means" else "dim")),
                                                         self.size.width))  # fmt: skip

    @property
    def _grouping(self) -> int:
        return self._state.grouping

    @property
    def _unfolded(self) -> set[str]:
        return self._state.unfolded

    def _remember_cursor(self) -> None:
        if self._rows:
            self._state.terms = self._rows[self.list.cursor].terms
            self._draw_description()

    async def _load_counts(self) -> ChoiceTable[tuple[str, ...]] | None:
        kind = computed_grouping(self._grouping)
        self._state.counts[kind] = await self._count_failures(kind)
        return self._build_choices()

    def _build_choices(self) -> ChoiceTable[tuple[str, ...]] | None:
        """None until they are counted."""
        found = self._state.counts.get(computed_grouping(self._grouping))
        groups = group_clusters(found.clusters, self._grouping) if found else []
        self._rows = cluster_rows(groups, self._unfolded)
        if found is None:
            return None
        values = [row.terms for row in self._rows]
        failures = found.failures
        rarer = failures - sum(group.count for group in groups)
        cells = self.size.width
        return ChoiceTable(
            title=f"{format_count(failures, 'failure')} by {GROUPINGS[self._grouping]}",
            noun="group",
            total=len(groups),
            columns=cluster_columns(self._grouping, cells),
            rows=[cluster_cells(row, self._grouping, failures, self._unfolded, cells) for row in self._rows],
            values=values,
            cursor=values.index(self._state.terms) if self._state.terms in values else 0,
            empty_message="no failures here",
            note=f"{format_count(rarer, 'failure')} of rarer values not listed" if rarer else "",
        )

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

    def action_unfold(self, wanted: bool) -> None:
        """The group under the cursor; folding from inside it leads back to its line."""
        if not self._rows:
            return
        row = self._rows[self.list.cursor]
        term = row.group.term
        if (term in self._unfolded) == wanted or not is_unfoldable(row.group):
            return
        self._state.unfolded ^= {term}
        at = next(at for at, each in enumerate(self._rows) if each.group is row.group)
        self._redraw_at(at if not wanted else self.list.cursor)

    def action_grouping(self) -> None:
        self._state.grouping = (self._grouping + 1) % len(GROUPINGS)
        self._redraw_at(0)
        if self._choices is None:
            self._load()

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

from fcreview.matching.clusters import GROUPINGS, counted, grouped
from fcreview.model.wording import count_of
from fcreview.tui.actions import CLUSTERS, IN_FRONT, PICKER
from fcreview.tui.key_bindings import bindings, no_key
from fcreview.tui.queue.choices import (
    ClusterRow,
    cluster_cells,
    cluster_columns,
    cluster_rows,
    describe_row,
    is_unfoldable,
)
from fcreview.tui.queue.state import ClusterCounts, ClusterListState
from fcreview.tui.text.lines import Choices, Line, fit, rule, spread, waiting_words
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.base import Waiting, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.lists import TextList

T = TypeVar("T")


class PickScreen(ModalScreen[T | None]):
    """Gives the value that was chosen, or None. Choices that take a while come from an awaitable; until the first are
    there, one line over the screen below says what is waited for."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(PICKER, IN_FRONT)
    CSS_PATH = "pick.tcss"
    DOING = "reading"
    """What is told while choices are waited for."""

    def __init__(
        self, choices: Choices[T] | None = None, *, load: Callable[[], Awaitable[Choices[T] | None]] | None = None
    ):
        super().__init__(classes="waiting" if choices is None else "small" if choices.small else None)
        self._choices = choices
        self._load_choices = load
        self.waiting = Waiting(self, self._say_how_long)
        self._said = ""
        """In the place of the title, until the cursor moves."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(id="pick-title")
            yield LineBar(id="pick-heading")
            yield TextList(id="pick-list")
            yield from self.below()
            yield KeyLine()

    def below(self) -> Iterable[Widget]:
        """What stands between the list and the keys."""
        return ()

    def on_mount(self) -> None:
        self.list.focus()
        self.watch(self.list, "cursor", lambda: self.say(""), init=False)
        if self._load_choices is not None:
            self._load()

    @property
    def list(self) -> TextList:
        return self.query_one("#pick-list", TextList)

    @work()
    async def _load(self) -> None:
        if self._load_choices is not None:
            self.waiting.begin()
            self._choices = await self._load_choices()
            self.waiting.end()
            self._draw()

    def _say_how_long(self, seconds: float) -> None:
        said: Line = ((waiting_words(self.DOING, seconds), "dim"),)
        cells = self.size.width
        over = self._choices is None
        line = rule(said, cells, symbols().rule) if over else fit(((" ", ""), *said), cells)
        self.query_one("#pick-title", LineBar).show(line)

    def on_resize(self) -> None:
        self._draw()

    def say(self, message: str) -> None:
        """Why a key does nothing, in the place of the title."""
        if message != self._said:
            self._said = message
            self._draw_title()

    def no_key(self, key: str) -> None:
        self.say(no_key(self.app, key))

    def _draw_title(self) -> None:
        cells, choices = self.size.width, self._choices
        title = self.query_one("#pick-title", LineBar)
        if choices is None:
            self._say_how_long(0)
            return
        name: Line = ((f"{choices.title}", "strong"), (f" {symbols().between} {self._amount(choices)}", ""))
        if self._said:
            name = ((self._said, "warn"),)
        if choices.small:
            title.show(rule(name, cells, symbols().rule))
        elif self._said:
            title.show(fit(((" ", ""), *name), cells))
        else:
            title.show(spread(((" ", ""), *name), fit(((choices.note + " ", "dim"),), cells // 2), cells))

    def _draw(self) -> None:
        cells, choices = self.size.width, self._choices
        self._said = ""
        self._draw_title()
        if choices is None:
            return
        self.remove_class("waiting")
        if choices.small:
            self.list.styles.height = len(choices.rows)
        heading, lines = choices.lines(cells)
        self.query_one("#pick-heading", LineBar).show(heading)
        first = not self.list.total
        self.list.empty = ((" " + choices.empty, "dim"),)
        self.list.set_lines(lines, choices.cursor if first else None)

    def _amount(self, choices: Choices[T]) -> str:
        return count_of(len(choices.rows) if choices.amount is None else choices.amount, choices.noun)

    def action_take(self) -> None:
        if self._choices is not None and self._choices.values:
            self.dismiss(self._choices.values[self.list.cursor])

    def on_line_list_chosen(self) -> None:
        self.action_take()

    def action_close(self) -> None:
        self.dismiss(None)


class ClustersScreen(PickScreen[tuple[str, ...]], inherit_bindings=False):
    """Gives the filter terms of the group or cluster that was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(CLUSTERS, IN_FRONT)
    DOING = "counting failures"

    def __init__(self, load: Callable[[int], Awaitable[ClusterCounts]], place: ClusterListState) -> None:
        super().__init__(load=self._counted)
        self._ask = load
        self._place = place
        """As the list was left, and as it is left now. What was counted then is there at once."""
        self._rows: list[ClusterRow] = []

    def on_mount(self) -> None:
        self._choices = self._made()
        self._draw()
        self.watch(self.list, "cursor", self._moved, init=False)
        super().on_mount()

    def below(self) -> Iterable[Widget]:
        yield LineBar(id="means")
        yield LineBar(id="difference")

    def _teach(self) -> None:
        says = describe_row(self._rows[self.list.cursor], self._by, self.size.width - 2) if self._rows else ("", "")
        for name, text in zip(("means", "difference"), says, strict=True):
            self.query_one(f"#{name}", LineBar).show(fit((("  ", ""), (text, "" if name == "means" else "dim")),
                                                         self.size.width))  # fmt: skip

    @property
    def _by(self) -> int:
        return self._place.by

    @property
    def _unfolded(self) -> set[str]:
        return self._place.unfolded

    def _moved(self) -> None:
        if self._rows:
            self._place.terms = self._rows[self.list.cursor].terms
            self._teach()

    async def _counted(self) -> Choices[tuple[str, ...]] | None:
        kind = counted(self._by)
        self._place.counted[kind] = await self._ask(kind)
        return self._made()

    def _made(self) -> Choices[tuple[str, ...]] | None:
        """None until they are counted."""
        found = self._place.counted.get(counted(self._by))
        groups = grouped(found.clusters, self._by) if found else []
        self._rows = cluster_rows(groups, self._unfolded)
        if found is None:
            return None
        values = [row.terms for row in self._rows]
        failures = found.failures
        rarer = failures - sum(group.count for group in groups)
        cells = self.size.width
        return Choices(
            title=f"{count_of(failures, 'failure')} by {GROUPINGS[self._by]}",
            noun="group",
            amount=len(groups),
            columns=cluster_columns(self._by, cells),
            rows=[cluster_cells(row, self._by, failures, self._unfolded, cells) for row in self._rows],
            values=values,
            cursor=values.index(self._place.terms) if self._place.terms in values else 0,
            empty="no failures here",
            note=f"{count_of(rarer, 'failure')} of rarer values not listed" if rarer else "",
        )

    def _draw(self) -> None:
        super()._draw()
        if self._choices is not None:
            self.list.move_cursor(self._choices.cursor)
            self._teach()

    def action_take(self) -> None:
        self._moved()
        super().action_take()

    def _again(self, cursor: int) -> None:
        self._choices = self._made()
        self._draw()
        self.list.move_cursor(cursor)
        self.refresh_bindings()

    def on_resize(self) -> None:
        self._choices = self._made()
        super().on_resize()

    def action_unfold(self, wanted: bool) -> None:
        """The group under the cursor; folding from inside it leads back to its line."""
        if not self._rows:
            return
        row = self._rows[self.list.cursor]
        term = row.group.term
        if (term in self._unfolded) == wanted or not is_unfoldable(row.group):
            return
        self._place.unfolded ^= {term}
        at = next(at for at, each in enumerate(self._rows) if each.group is row.group)
        self._again(at if not wanted else self.list.cursor)

    def action_grouping(self) -> None:
        self._place.by = (self._by + 1) % len(GROUPINGS)
        self._again(0)
        if self._choices is None:
            self._load()

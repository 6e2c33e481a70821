"""Failures in groups: what to look at first. A group (of an error type, a function, an argument, a category or a pair
of values) unfolds into what it is divided by."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from fcreview.calls.clusters import GROUPINGS, counted, grouped
from fcreview.text.words import count_of
from fcreview.tui.keys import bindings
from fcreview.tui.keytable import CLUSTERS, IN_FRONT
from fcreview.tui.queue.clusters import Row, can_unfold, columns, parts, rows_of, taught
from fcreview.tui.queue.levels import ClusterPlace, Counted
from fcreview.tui.screens.pick import PickScreen
from fcreview.tui.text.choices import Choices
from fcreview.tui.text.lines import fit
from fcreview.tui.widgets.document import LineBar


class ClustersScreen(PickScreen[tuple[str, ...]], inherit_bindings=False):
    """Gives the filter terms of the group or cluster that was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(CLUSTERS, IN_FRONT)
    DOING = "counting failures"

    def __init__(self, load: Callable[[int], Awaitable[Counted]], place: ClusterPlace) -> None:
        super().__init__(load=self._counted)
        self._ask = load
        self._place = place
        """As the list was left, and as it is left now. What was counted then is there at once."""
        self._rows: list[Row] = []

    def on_mount(self) -> None:
        self._choices = self._made()
        self._draw()
        self.watch(self.list, "cursor", self._moved, init=False)
        super().on_mount()

    def below(self) -> Iterable[Widget]:
        yield LineBar(id="means")
        yield LineBar(id="difference")

    def _teach(self) -> None:
        says = taught(self._rows[self.list.cursor], self._by, self.size.width - 2) if self._rows else ("", "")
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
        self._rows = rows_of(groups, self._unfolded)
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
            columns=columns(self._by, cells),
            rows=[parts(row, self._by, failures, self._unfolded, cells) for row in self._rows],
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
        if (term in self._unfolded) == wanted or not can_unfold(row.group):
            return
        self._place.unfolded ^= {term}
        at = next(at for at, each in enumerate(self._rows) if each.group is row.group)
        self._again(at if not wanted else self.list.cursor)

    def action_grouping(self) -> None:
        self._place.by = (self._by + 1) % len(GROUPINGS)
        self._again(0)
        if self._choices is None:
            self._load()

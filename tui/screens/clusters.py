"""Failures in groups: what to look at first. A group (error type, function or argument) unfolds into the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType

from fcreview.calls.clusters import GROUPINGS, Cluster, grouped
from fcreview.text.words import count_of
from fcreview.tui.keys import bindings
from fcreview.tui.keytable import CLUSTERS
from fcreview.tui.queue.clusters import Row, can_unfold, columns, parts, rows_of
from fcreview.tui.screens.pick import PickScreen
from fcreview.tui.text.choices import Choices


class ClustersScreen(PickScreen[tuple[str, ...]], inherit_bindings=False):
    """Gives the filter terms of the group or cluster that was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(CLUSTERS)

    def __init__(self, load: Callable[[], Awaitable[Sequence[Cluster]]]) -> None:
        super().__init__(load=self._first)
        self._ask = load
        self._clusters: Sequence[Cluster] = ()
        self._by = 0
        self._unfolded: set[str] = set()
        self._rows: list[Row] = []

    async def _first(self) -> Choices[tuple[str, ...]]:
        self._clusters = await self._ask()
        return self._made()

    def _made(self) -> Choices[tuple[str, ...]]:
        groups = grouped(self._clusters, self._by)
        self._rows = rows_of(groups, self._unfolded)
        failures = sum(group.count for group in groups)
        cells = self.size.width
        return Choices(
            title=f"{count_of(failures, 'failure')} by {GROUPINGS[self._by]}",
            noun="group",
            amount=len(groups),
            columns=columns(self._by, cells),
            rows=[parts(row, self._by, failures, self._unfolded, cells) for row in self._rows],
            values=[row.terms for row in self._rows],
            empty="no failures here",
        )

    def _again(self, cursor: int) -> None:
        self._choices = self._made()
        self._draw()
        self.list.move_cursor(cursor)
        self.refresh_bindings()

    def on_resize(self) -> None:
        if self._choices is not None:
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
        self._unfolded ^= {term}
        at = next(at for at, each in enumerate(self._rows) if each.group is row.group)
        self._again(at if not wanted else self.list.cursor)

    def action_grouping(self) -> None:
        self._by = (self._by + 1) % len(GROUPINGS)
        self._again(0)

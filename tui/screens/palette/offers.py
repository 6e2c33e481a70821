"""What the palette offers over a screen: by the screen's keys, the session and what the queue shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fcreview.store.rows import RunRow
from fcreview.tui.palette import sources
from fcreview.tui.palette.asking import QueueFiles, is_there, queue_files
from fcreview.tui.palette.entries import Entry, Match

if TYPE_CHECKING:
    from fcreview.tui.keys import Doable
    from fcreview.tui.queue.state import QueueState
    from fcreview.tui.session import Session

LEAST = 2
"""Letters from which ids are looked for."""
MOST_ITEMS = 20


@dataclass(slots=True)
class Offers:
    keys: Sequence[Doable]
    session: Session
    state: QueueState
    leads: bool = True
    """The queue lies below: what changes it, and items, can be gone to. Else keys only."""
    run: int | None = None
    """Of the item on screen: ids are looked for there first."""
    _runs: Sequence[RunRow] = ()
    _files: QueueFiles = field(default_factory=lambda: QueueFiles((), set()))

    _made: list[Entry] = field(default_factory=list)

    @property
    def entries(self) -> list[Entry]:
        """Made once, and anew when the store has answered."""
        self._made = self._made or self._entries()
        return self._made

    def _entries(self) -> list[Entry]:
        keys = [each for each in self.keys if each.id != "app.palette"]
        own = sources.action_entries(each for each in keys if not each.shared)
        shared = sources.action_entries(each for each in keys if each.shared)
        if not self.leads:
            return [*own, *shared]
        state, typed = self.state, self.session.typed
        return [
            *own,
            *sources.filter_entries(typed),
            *sources.order_entries(state),
            *sources.queue_entries(self._files.names, self._files.mine, state),
            *sources.leaving_entries(state, can_report=self.session.lent is not None),
            *sources.keeping_entries(state, typed),
            *sources.run_entries(self._runs),
            *shared,
        ]

    async def load(self) -> None:
        """What the store has to be asked for."""
        if not self.leads:
            return
        self._files = await self.session.ask(queue_files)
        runs = await self.session.ask(lambda store: store.runs())
        scope = self.state.scope
        self._runs = [run for run in runs if not scope or run.run in scope]
        self._made = []

    def looks_for(self, text: str) -> bool:
        return self.leads and len(text.strip()) >= LEAST

    async def items(self, text: str) -> list[Match]:
        scope, run = self.state.scope, self.run if self.run is not None else self.state.run
        found = await self.session.ask(lambda store: store.like(text, scope, run, MOST_ITEMS))
        return sources.item_matches(found, text)

    def doubt(self, match: Match) -> str:
        """What is asked before something is replaced; empty if nothing is."""
        return sources.argument_problem(match, self.session.typed, is_there)

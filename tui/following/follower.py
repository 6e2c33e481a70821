"""Follows result files while the app is open: looks now and then, has what changed imported, shows it.

The store that is shown is another one from one moment to the next, and only while nothing is being said or asked and
nothing lies over list and item that may hold a number of the store before; else it waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from textual.css.query import NoMatches

from fcreview.sanitise import visible
from fcreview.store.rows import View
from fcreview.tui.following.moves import ItemMove, Move, QueueMove, settled
from fcreview.tui.following.source import Source, Taken
from fcreview.tui.item.status import SILENT, Remark
from fcreview.tui.screens.item import ItemScreen
from fcreview.tui.screens.panes.item import ItemPane
from fcreview.tui.screens.panes.queue import QueuePane
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.widgets.document import LineBar

if TYPE_CHECKING:
    from textual.screen import Screen

    from fcreview.store.store import Store
    from fcreview.tui.session import Session

AGAIN = 0.25
"""Seconds after which it is tried again to show what was imported."""
BRIEF = 8.0
"""Seconds for which it is said what came."""
SHARE = 3
"""Looking and importing take at most one part in so many of the time."""
AFTER_FAILURE = 6
"""Intervals before what failed is tried again."""


class Following(Protocol):
    """The app, as far as it is needed here."""

    @property
    def screen_stack(self) -> Sequence[Screen[Any]]: ...

    def set_timer(self, delay: float, callback: Callable[[], object]) -> object: ...


class Follower:
    def __init__(self, app: Following, session: Session, source: Source) -> None:
        self._app, self._session, self._source = app, session, source
        self._told = ""
        """What could not be read at the last import: said once."""

        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.create_task(self._follow())

    def end(self) -> None:
        """Nothing is looked for any more, and nothing runs."""
        if self._task is not None:
            self._task.cancel()
        self._source.close()

    async def _follow(self) -> None:
        pause = self._source.interval
        while True:
            await asyncio.sleep(pause)
            started = monotonic()
            pause = await self._look()
            pause = max(pause, SHARE * (monotonic() - started))

    async def _look(self) -> float:
        """Seconds to the next look."""
        interval = self._source.interval
        try:
            if not await asyncio.to_thread(self._source.changed):
                return interval
            taken = await asyncio.to_thread(self._source.take_in)
            await self._show(taken)
            if taken.told and taken.told != self._told:
                self._say(f"following: {taken.told}")
            self._told = taken.told
        except Exception as error:  # what cannot be read now may be so at the next look
            self._say(f"following: {error or type(error).__name__}")
            return AFTER_FAILURE * interval
        return interval

    async def _show(self, taken: Taken) -> None:
        await self._when(lambda: self._moves(taken) is not None)
        now = await asyncio.to_thread(self._session.another)
        try:
            for move in self._moves(taken) or ():
                await asyncio.to_thread(move.prepare, now)
            while not await self._shown(taken, now):
                await self._when(lambda: self._moves(taken) is not None)
        finally:
            if not self._session.uses(now):
                now.close()

    async def _shown(self, taken: Taken, now: Store) -> bool:
        """False if something was pressed meanwhile."""
        moves = self._moves(taken)
        if moves is None:
            return False
        stamp = self._stamp(moves)

        def ask(before: Store) -> None:
            now.refresh_reviews()
            for move in moves:
                move.ask(before, now)

        await self._session.ask(ask)
        if self._moves(taken) is None or self._stamp(moves) != stamp:
            return False
        self._session.swap(now)
        teller = moves[0] if len(self._app.screen_stack) == 1 else moves[-1]
        for move in moves:
            move.show(visible(taken.says) if move is teller else "")
        self._brief(visible(taken.says))
        return True

    def _stamp(self, moves: Sequence[Move]) -> object:
        screens = [id(screen) for screen in self._app.screen_stack]
        return screens, self._session.acts.added, [move.stamp for move in moves]

    def _moves(self, taken: Taken) -> list[Move] | None:
        """Of all that is shown, the uppermost last; None while something is on its way that holds numbers."""
        queue, *above = self._app.screen_stack
        known = isinstance(queue, QueueScreen) and all(isinstance(screen, ItemScreen) for screen in above)
        if not known or not self._session.acts.idle:
            return None
        lists, items = self._panes(QueuePane), self._panes(ItemPane)
        if not all(pane.settled for pane in lists) or not all(map(settled, items)):
            return None
        assert isinstance(queue, QueueScreen)  # noqa: S101 - for the type checker
        scope = queue.state.scope
        runs = taken.runs if scope == taken.before else scope  # a run that was asked for stays the only one

        def view(of: View) -> View:
            return replace(of, runs=runs) if of.runs == scope else of

        moves: list[Move] = [QueueMove(pane, queue.state, queue.position.levels, runs) for pane in lists]
        return [*moves, *(ItemMove(pane, view) for pane in items)]

    def _panes(self, kind: type[Any]) -> list[Any]:
        return [pane for screen in self._app.screen_stack for pane in screen.query(kind)]

    async def _when(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await asyncio.sleep(AGAIN)

    def _say(self, text: str) -> None:
        """On the uppermost list or item."""
        lists, items = self._panes(QueuePane), self._panes(ItemPane)
        if items:
            items[-1].say(Remark(visible(text), "warn"))
        elif lists:
            lists[-1].say(visible(text))

    def _brief(self, text: str) -> None:
        """It goes again."""

        def untell() -> None:
            with suppress(NoMatches):  # the screens are just going
                for queue in self._panes(QueuePane):
                    queue.unsay(text)
                for item in self._panes(ItemPane):
                    if item.query_one("#item-status", LineBar).line[0][0].strip() == text:
                        item.say(SILENT)

        if text:
            self._app.set_timer(BRIEF, untell)

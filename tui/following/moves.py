"""What a screen shows, found again in another store, so that it can be shown on at once and nothing moves.

A move is made and shown on the loop that draws; in between it asks both stores, in their thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from fcreview.store.rows import ItemDetail, View
from fcreview.tui.following.numbers import first_there, items_in, number_in, renumbered
from fcreview.tui.item.ahead import GONE, Shown
from fcreview.tui.item.status import Remark
from fcreview.tui.queue.levels import Standing
from fcreview.tui.queue.loading import Loaded, Request, load_rows
from fcreview.tui.queue.walk import Walk
from fcreview.tui.screens.item import ItemScreen

if TYPE_CHECKING:
    from fcreview.store.store import Store
    from fcreview.tui.queue.levels import Level
    from fcreview.tui.queue.state import QueueState, Setting
    from fcreview.tui.screens.panes.item import ItemPane
    from fcreview.tui.screens.panes.queue import QueuePane

FOLLOWING = 5
"""Items behind one that is gone of which the first that is still there takes its place."""


class Move(Protocol):
    @property
    def stamp(self) -> object:
        """As long as it stays the same, what was asked is of what is shown."""
        ...

    def prepare(self, now: Store) -> None:
        """In another thread than the one that answers what keys ask for."""
        ...

    def ask(self, before: Store, now: Store) -> None: ...

    def show(self, says: str) -> None: ...


@dataclass(slots=True)
class QueueMove:
    """The list: the cursor stays on its item, in its row of the screen."""

    pane: QueuePane
    state: QueueState
    levels: Sequence[Level]
    runs: tuple[int, ...]
    """Those that are shown now."""
    _loaded: Loaded | None = None
    _settings: list[Setting] = field(default_factory=list)
    """Of the queue and of its levels."""

    @property
    def stamp(self) -> object:
        return self.state.setting, self.pane.list.age, self.pane.list.cursor, len(self.levels), self.pane.settled

    def prepare(self, now: Store) -> None:
        """Has the order of the view worked out: of many items it takes longer than anybody should wait for a row."""
        now.count(replace(self.state, scope=self.runs).view)

    def ask(self, before: Store, now: Store) -> None:
        settings = [self.state.setting, *(level.setting for level in self.levels)]
        self._settings = [
            replace(each, where=renumbered(each.where, before, now), items=items_in(each.items, before, now))
            for each in settings
        ]
        row = self.pane.list.row_at(self.pane.list.cursor) if self.pane.list.total else None
        number = None if row is None else number_in(now, row)
        view = self._there().view
        self._loaded = load_rows(Request(view, Standing(number, self.pane.list.cursor)), now)

    def _there(self) -> QueueState:
        state = replace(self.state, scope=self.runs)
        state.restore(self._settings[0])
        return state

    def show(self, says: str) -> None:
        if self._loaded is None:
            return
        self.state.scope = self.runs
        self.state.restore(self._settings[0])
        for level, setting in zip(self.levels, self._settings[1:], strict=True):
            level.setting, level.standing = setting, replace(level.standing, item=None)
        self.pane.take_in(self._loaded, says)


@dataclass(slots=True)
class ItemMove:
    """The item: it stays, with its cursor and its folds, even if it is gone from the files."""

    pane: ItemPane
    view: Callable[[View], View]
    """The view of the same items now: of other runs."""
    _shown: Shown | None = None
    _last: int | None = None

    @property
    def stamp(self) -> object:
        return id(self.pane.reviewing.shown), settled(self.pane)

    def prepare(self, now: Store) -> None:
        now.count(self.view(self.pane.reviewing.shown.walk.view))

    def ask(self, before: Store, now: Store) -> None:
        reviewing = self.pane.reviewing
        shown, last = reviewing.shown, reviewing.last
        view = self.view(shown.walk.view)
        view = replace(view, where=renumbered(view.where, before, now), items=items_in(view.items, before, now))
        number = number_in(now, shown.detail.row)
        detail = shown.detail if number is None else now.detail(number)
        self._shown = Shown(detail, _walk(before, now, shown.walk, view, GONE if number is None else number))
        row = None if last is None else before.row(last)
        self._last = None if row is None else number_in(now, row)

    def show(self, says: str) -> None:
        if self._shown is None:
            return
        was = self.pane.reviewing.shown
        changed = _changed(was.detail, self._shown)
        remark = Remark(changed, "warn") if changed else Remark(says, "dim") if says else None
        self.pane.reviewing.take_in(self._shown, self._last)
        self.pane.text.take_in(self._shown.detail, remark)
        self.pane.refresh_bindings()


def settled(pane: ItemPane) -> bool:
    """Its item is there, and no other is on its way. One beside the list may have been left: it is shown again."""
    return pane.reviewing.settled and not (pane.opening and isinstance(pane.screen, ItemScreen))


def _walk(before: Store, now: Store, walk: Walk, view: View, number: int) -> Walk:
    """Its place in the new order; where it is not in it, that of the first behind it that is."""
    count = now.count(view)
    position = None if number == GONE else now.position(view, number)
    if position is not None:
        return Walk(view, number, count, position, position)
    behind = before.page(walk.view, walk.place + (walk.position is not None), FOLLOWING)
    follower = first_there(now, behind)
    place = None if follower is None else now.position(view, follower)
    return Walk(view, number, count, None, count if place is None else place)


def _changed(was: ItemDetail, shown: Shown) -> str:
    """What is another than it was, for who looks at it; verdicts only where they are not hidden."""
    now = shown.detail
    if shown.gone:
        return "this item is no longer in the results: nothing can be said of it"
    parts = []
    if was.item.prediction_hash != now.item.prediction_hash:
        parts.append("prediction")
    if was.item.golden_hash != now.item.golden_hash:
        parts.append("golden answer")
    if not parts:
        verdicts = [(each.row.official, each.row.rule, each.row.judge) for each in (was, now)]
        return "its verdicts have changed" if verdicts[0] != verdicts[1] else ""
    stale = ": what you said of the earlier one is kept and does not count" if now.row.stale else ""
    return f"its record has changed: another {' and '.join(parts)}{stale}"

"""Reload changed runs (`open --follow`) and the reviews of a team while the app is open.

A `RunWatcher` finds changed files and imports them in another process. The app then opens the new store, looks up the
displayed items in it by run, category and id, and replaces the old store in one step, so that the cursor, the displayed
item and its folds stay. A reload waits while a key press is handled or a dialog is open, because both use item numbers,
which an import changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from textual.app import App
from textual.css.query import NoMatches

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.store.filters.tokens import FilterTerm, tokenize
from fcreview.store.rows import (
    ImportChanges,
    ItemDetail,
    View,
    is_hidden_duplicate,
    strip_duplicate_mark,
    to_item_number,
)
from fcreview.tui.queue.loader import QueueNavigator, QueueRequest, read_page
from fcreview.tui.queue.state import CursorPosition
from fcreview.tui.review.prefetch import GONE_ITEM, DisplayedItem
from fcreview.tui.review.status import NO_MESSAGE, StatusMessage
from fcreview.tui.screens.adjudication import AdjudicationScreen
from fcreview.tui.screens.item_pane import ItemPane, ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.widgets.document_view import LineBar, TopLine

if TYPE_CHECKING:
    from fcreview.store.rows import QueueRow
    from fcreview.store.store import Store
    from fcreview.store.team_exchange import TeamSync
    from fcreview.tui.queue.state import QueueSettings
    from fcreview.tui.session import Session

RETRY_DELAY = 0.25
"""Seconds between two attempts to replace the old store."""
TEAM_INTERVAL = 0.5
"""Seconds between two checks for reviews from the team's server."""
TEAM_PAUSE_FACTOR = 10
"""Minimum pause after received reviews were shown, as a multiple of the time that was needed to show them."""
MESSAGE_DURATION = 8.0
"""Number of seconds to show the summary of an import."""
PAUSE_FACTOR = 3
"""Minimum pause after a check, as a multiple of the time that the check and its import took."""
FAILURE_PAUSE = 6
"""Pause after a failed check or import, as a multiple of the check interval."""
MAX_FOLLOWERS = 5
"""Maximum number of later items to try as the new position of the cursor if its item was removed."""

ShowReload = Callable[[str], None]
"""Shows data of the new store. It is called after the old store was replaced, with the message to show."""


class ReloadError(FcreviewError):
    """Raised when changed files cannot be imported. The store is unchanged."""


@dataclass(frozen=True, slots=True)
class ReloadResult:
    """Result of an import of changed files."""

    news: ImportChanges
    runs: tuple[int, ...] = ()
    """Numbers of the opened runs after the import. Empty if all runs of the workspace are open."""
    previous_runs: tuple[int, ...] = ()
    """Numbers of the opened runs before the import. Empty if all runs of the workspace are open."""
    warning: str = ""
    """The first warning of the import."""

    @property
    def summary(self) -> str:
        """Counts of changed items, such as `3 new items, 1 changed`. Empty if no item changed."""
        counts = (("new", self.news.new), ("changed", self.news.changed), ("removed", self.news.gone))
        parts: list[str] = []
        for kind, count in counts:
            if count:
                parts.append(f"{count:,} {kind}" if parts else format_count(count, f"{kind} item"))
        return ", ".join(parts)


class RunWatcher(Protocol):
    """Watcher that finds and imports changed files. All methods except `close` are called in a thread."""

    interval: float
    """Seconds between two checks."""

    def has_changed(self) -> bool:
        """Return True if a file has changed since the last check, or if the last import failed."""
        ...

    def import_changes(self) -> ReloadResult:
        """Import the changed files. Raises: ReloadError if the import fails or is interrupted."""
        ...

    def close(self) -> None:
        """Stop a running import."""
        ...


def find_same_item(row: QueueRow, store: Store) -> int | None:
    """Return the number in `store` of the item that `row` shows. None if `store` does not contain the item."""
    candidates = store.fetch_rows(store.find_items(row.id, row.run))
    item = next((each.item for each in candidates if each.category == row.category), None)
    return None if item is None else to_item_number(item, is_duplicate=is_hidden_duplicate(row.item))


def find_same_items(items: Sequence[int], old_store: Store, new_store: Store) -> tuple[int, ...]:
    """Return the numbers that the items have in the new store `new_store`. Removed items are omitted.

    If all items were removed, the result is (0,), which selects no item. An empty tuple would select every item.
    """
    rows = old_store.fetch_rows(list(items)) if items else []
    numbers = tuple(
        strip_duplicate_mark(number) for row in rows if (number := find_same_item(row, new_store)) is not None
    )
    return numbers or (0,) * bool(items)


def replace_item_numbers(filter_text: str, old_store: Store, new_store: Store) -> str:
    """Replace the item numbers in a filter by the numbers that the items have in the new store `new_store`.

    The number of a removed item becomes 0, which selects no item.
    """
    values = [
        value
        for word in tokenize(filter_text)
        if isinstance(word, FilterTerm) and word.key == "item"
        for value in word.values
    ]
    numbers = [int(value.text) for value in values if value.text.isascii() and value.text.isdigit()]
    new_numbers = (
        {str(row.item): find_same_item(row, new_store) for row in old_store.fetch_rows(numbers)} if numbers else {}
    )
    for value in sorted(values, key=lambda value: -value.position):
        number = str(strip_duplicate_mark(new_numbers.get(value.text) or 0))
        filter_text = filter_text[: value.position] + number + filter_text[value.position + len(value.text) :]
    return filter_text


def prepare_queue_reload(queue: QueueScreen, runs: tuple[int, ...], old_store: Store, new_store: Store) -> ShowReload:
    """Read the queue's rows from the new store and return the function that shows them.

    The cursor stays on its item, on the same line of the screen.
    """
    state, levels, rows = queue.state, queue.position.levels, queue.list

    def renumber(settings: QueueSettings) -> QueueSettings:
        where = replace_item_numbers(settings.where, old_store, new_store)
        return replace(settings, where=where, items=find_same_items(settings.items, old_store, new_store))

    settings, settings_above = renumber(state.settings), [renumber(level.settings) for level in levels]
    row = rows.row_at(rows.cursor) if rows.total else None
    item = None if row is None else find_same_item(row, new_store)
    new_state = replace(state, scope=runs)
    new_state.restore_settings(settings)
    page = read_page(QueueRequest(new_state.view, CursorPosition(item, rows.cursor)), new_store)

    def show(message: str) -> None:
        state.scope = runs
        state.restore_settings(settings)
        for level, level_settings in zip(levels, settings_above, strict=True):
            level.settings, level.cursor = level_settings, replace(level.cursor, item=None)
        queue.pane.show_reloaded_page(page, message)

    return show


def prepare_item_reload(pane: ItemPane, view: View, old_store: Store, new_store: Store) -> ShowReload:
    """Read the pane's item from the new store and return the function that shows it.

    Cursor and folds stay. An item that is no longer in the results stays on screen.
    """
    reviewer = pane.item_reviewer
    old = reviewer.displayed
    view = replace(
        view,
        where=replace_item_numbers(view.where, old_store, new_store),
        items=find_same_items(view.items, old_store, new_store),
    )
    item = find_same_item(old.detail.row, new_store)
    detail = old.detail if item is None else new_store.read_detail(item)
    new = DisplayedItem(
        detail, _locate_after_reload(old.navigator, view, GONE_ITEM if item is None else item, old_store, new_store)
    )
    last = None if reviewer.last_completed_item is None else old_store.fetch_row(reviewer.last_completed_item)
    last_item = None if last is None else find_same_item(last, new_store)

    def show(message: str) -> None:
        changes = _describe_changes(old.detail, new)
        status = StatusMessage(changes, "warn") if changes else StatusMessage(message, "dim") if message else None
        reviewer.switch_store(new, last_item)
        pane.text.update_after_reload(detail, status)
        pane.refresh_bindings()

    return show


def _locate_after_reload(
    old_navigator: QueueNavigator, view: View, item: int, old_store: Store, new_store: Store
) -> QueueNavigator:
    """Find the item's position in the new store. If the item was removed, use the position of the first later item that
    still exists."""
    count = new_store.count_items(view)
    position = None if item == GONE_ITEM else new_store.find_position(view, item)
    if position is not None:
        return QueueNavigator(view, item, count, position, position)
    followers = old_store.fetch_page(
        old_navigator.view, old_navigator.last_position + (old_navigator.position is not None), MAX_FOLLOWERS
    )
    follower = next((number for row in followers if (number := find_same_item(row, new_store)) is not None), None)
    next_position = None if follower is None else new_store.find_position(view, follower)
    return QueueNavigator(view, item, count, None, count if next_position is None else next_position)


def _describe_changes(before: ItemDetail, shown: DisplayedItem) -> str:
    """Return a message about the changes of the displayed item, or an empty string if it has not changed.

    Only verdicts that the annotator may see are compared.
    """
    now = shown.detail
    if shown.navigator.item == GONE_ITEM:
        return "this item is no longer in the results and cannot be reviewed"
    parts = []
    if before.item.prediction_hash != now.item.prediction_hash:
        parts.append("prediction")
    if before.item.golden_hash != now.item.golden_hash:
        parts.append("golden answer")
    if not parts:
        verdicts = [(each.row.official, each.row.rule, each.row.judge) for each in (before, now)]
        return "the verdicts of this item have changed" if verdicts[0] != verdicts[1] else ""
    stale = "; your earlier review is kept but no longer counts" if now.row.stale else ""
    return f"this item has a new {' and '.join(parts)}{stale}"


class LiveReload:
    """Tasks on the app's event loop that check for changed files and reviews of the team, import them and show the
    result."""

    def __init__(self, app: App[Any], session: Session, watcher: RunWatcher | None) -> None:
        self._app, self._session, self._watcher = app, session, watcher
        self._warning = ""
        """Warning of the last import. The same warning is not shown twice in a row."""
        self._tasks: list[asyncio.Task[None]] = []
        self._reload_lock = asyncio.Lock()
        """Lock that prevents two reloads at the same time."""

    def start(self) -> None:
        if self._watcher is not None:
            self._tasks.append(asyncio.create_task(self._watch_runs(self._watcher)))
        if self._session.team is not None:
            self._tasks.append(asyncio.create_task(self._watch_team(self._session.team)))

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._watcher is not None:
            self._watcher.close()

    async def _watch_team(self, team: TeamSync) -> None:
        """Show the number of unsent reviews in the top line, and show received reviews on the screens."""
        shown = 0
        while True:
            await asyncio.sleep(TEAM_INTERVAL)
            status = team.status
            self._show_team_note(f"{status.unsent:,} unsent" if status.unsent and status.problem else "")
            if status.received == shown:
                continue
            started, shown = monotonic(), status.received
            with suppress(FcreviewError, NoMatches):  # the next received reviews start another attempt
                await self._refresh_reviews()
            await asyncio.sleep(TEAM_PAUSE_FACTOR * (monotonic() - started))

    def _show_team_note(self, note: str) -> None:
        if note != getattr(self._app, "team_note", ""):
            self._app.team_note = note  # type: ignore[attr-defined]
            for screen in self._app.screen_stack:
                for line in screen.query(TopLine):
                    line.on_resize()

    async def _refresh_reviews(self) -> None:
        """Read the received reviews, and show them in the list and in the items on screen."""
        await self._session.query(
            lambda store: store.refresh_reviews()
        )  # The query writes, so it must not be interrupted.
        for screen in self._app.screen_stack:
            if isinstance(screen, AdjudicationScreen):
                screen.adjudicator.refresh_cases()
        if not isinstance(self._app.screen_stack[0], QueueScreen):
            return
        view = self._queue_screen.state.view
        await self._session.query_in_background(
            lambda store: store.count_items(view)
        )  # Counting orders the view, which takes long.
        async with self._reload_lock:
            await self._wait_until_ready()
            while not await self._replace_store(ReloadResult(ImportChanges(), self._queue_screen.state.scope), None):
                await self._wait_until_ready()

    async def _watch_runs(self, watcher: RunWatcher) -> None:
        pause = watcher.interval
        while True:
            await asyncio.sleep(pause)
            started = monotonic()
            pause = watcher.interval
            try:
                await self._check_for_changes(watcher)
            except Exception as error:  # a file that cannot be read now may be readable at the next check
                self._warn(f"reload failed: {error or type(error).__name__}")
                pause *= FAILURE_PAUSE
            pause = max(pause, PAUSE_FACTOR * (monotonic() - started))

    async def _check_for_changes(self, watcher: RunWatcher) -> None:
        if not await asyncio.to_thread(watcher.has_changed):
            return
        result = await asyncio.to_thread(watcher.import_changes)
        async with self._reload_lock:
            await self._reload(result)
        if result.warning and result.warning != self._warning:
            self._warn(f"import warning: {result.warning}")
        self._warning = result.warning

    async def _reload(self, result: ReloadResult) -> None:
        await self._wait_until_ready()
        store = await asyncio.to_thread(self._session.open_current_store)
        try:
            for view in self._views_to_show(result):  # ordering a large view takes longer than a key press may wait
                await asyncio.to_thread(store.count_items, view)
            while not await self._replace_store(result, store):
                await self._wait_until_ready()
        finally:
            if not self._session.uses_store(store):
                store.close()

    async def _replace_store(self, result: ReloadResult, store: Store | None) -> bool:
        """Replace the old store and show the data of the new one. If `store` is None, read and show the data of the
        current store again.

        Return False if the screen changed while the store was read.
        """
        snapshot = self._read_reload_state()
        if snapshot is None:
            return False
        queue, items = self._queue_screen, self._item_panes
        _, *views = self._views_to_show(result)
        runs = self._runs_to_show(result)

        def prepare(before: Store) -> list[ShowReload]:
            now = before
            if store is not None:
                store.refresh_reviews()
                now = store
            shows = [prepare_queue_reload(queue, runs, before, now)]
            return shows + [
                prepare_item_reload(item, view, before, now) for item, view in zip(items, views, strict=True)
            ]

        shows = await self._session.query(prepare)
        if self._read_reload_state() != snapshot:
            return False
        if store is not None:
            self._session.swap_store(store)
        summary = sanitize(result.summary)
        front = shows[0 if len(self._app.screen_stack) == 1 else -1]
        for show in shows:
            show(summary if show is front else "")
        if summary:
            self._app.set_timer(MESSAGE_DURATION, lambda: self._clear_message(summary))
        return True

    @property
    def _queue_screen(self) -> QueueScreen:
        queue = self._app.screen_stack[0]
        assert isinstance(queue, QueueScreen)  # noqa: S101 - for the type checker
        return queue

    @property
    def _item_panes(self) -> list[ItemPane]:
        """Return the item panes of all open screens. The topmost pane is last."""
        return [pane for screen in self._app.screen_stack for pane in screen.query(ItemPane)]

    def _runs_to_show(self, result: ReloadResult) -> tuple[int, ...]:
        """Return the numbers of the runs to show: the opened runs after the import. If the list shows only some of
        them, return the current numbers."""
        scope = self._queue_screen.state.scope
        return result.runs if scope == result.previous_runs else scope

    def _views_to_show(self, result: ReloadResult) -> list[View]:
        """Return the view of the list and the views of the open items. Numbers of runs are new, but numbers of items
        are still old."""
        state, runs = self._queue_screen.state, self._runs_to_show(result)
        views = [state.view, *(pane.item_reviewer.displayed.navigator.view for pane in self._item_panes)]
        return [replace(view, runs=runs) if view.runs == state.scope else view for view in views]

    def _read_reload_state(self) -> tuple[object, ...] | None:
        """Return the state of the screen. If the state differs after the new data is read, the reload must start again.

        Return None if no reload is possible: while a key press is handled, while rows or an item are loading, or while
        a screen without an item covers the queue.
        """
        screens, items, actions = self._app.screen_stack, self._item_panes, self._session.actions
        if not all(isinstance(screen, ItemScreen) for screen in screens[1:]) or not actions.is_idle:
            return None
        queue = self._queue_screen
        if not queue.pane.is_settled or not all(map(is_pane_settled, items)):
            return None
        rows, levels = queue.list, len(queue.position.levels)
        shown = [id(pane.item_reviewer.displayed) for pane in items]
        return (
            list(map(id, screens)),
            actions.added_count,
            queue.state.settings,
            levels,
            rows.version,
            rows.cursor,
            shown,
        )

    async def _wait_until_ready(self) -> None:
        while self._read_reload_state() is None:
            await asyncio.sleep(RETRY_DELAY)

    def _warn(self, message: str) -> None:
        """Show a warning on the topmost item pane, or above the list if no item is open."""
        if items := self._item_panes:
            items[-1].show_message(StatusMessage(sanitize(message), "warn"))
        else:
            self._queue_screen.pane.show_message(sanitize(message))

    def _clear_message(self, message: str) -> None:
        with suppress(NoMatches):  # The app is closing.
            self._queue_screen.pane.clear_message(message)
            for item in self._item_panes:
                if item.query_one("#item-status", LineBar).line[0][0].strip() == message:
                    item.show_message(NO_MESSAGE)


def is_pane_settled(pane: ItemPane) -> bool:
    """Whether the pane shows an item and is not loading another item. The pane need not have the focus."""
    return pane.item_reviewer.is_staying_on_item and not (pane.is_opening and isinstance(pane.screen, ItemScreen))

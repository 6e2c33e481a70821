"""Reload changed runs (`open --follow`) and the reviews of a team while the app is open.

A `RunWatcher` finds changed files and imports them in another process. The app then opens the new
store and finds the displayed items in it by run, category and id. It replaces the old store in one
step, so that the cursor, the displayed item and its folds stay. A reload waits while a key press is
handled or a dialog is open, because both use item numbers, and an import changes these numbers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from textual.app import App
from textual.css.query import NoMatches

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import sanitize
from fcreview.store.filters.tokens import FilterTerm, tokenize
from fcreview.store.reviews.journal_reader import measure_journals
from fcreview.store.rows import (
    ImportChanges,
    View,
    is_hidden_duplicate,
    strip_duplicate_mark,
    to_item_number,
)
from fcreview.tui.queue.loader import QueueNavigator, QueueRequest, read_page
from fcreview.tui.queue.state import CursorPosition, QueueSettings
from fcreview.tui.review.prefetch import GONE_ITEM, DisplayedItem, describe_item_changes
from fcreview.tui.review.status import NO_MESSAGE, StatusMessage
from fcreview.tui.screens.adjudication import AdjudicationScreen
from fcreview.tui.screens.item_pane import ItemPane, ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.widgets.document_view import LineBar, TopLine

if TYPE_CHECKING:
    from fcreview.store.rows import QueueRow
    from fcreview.store.store import Store
    from fcreview.store.team_exchange import TeamSync
    from fcreview.store.workspace import Workspace
    from fcreview.tui.session import Session

RETRY_DELAY = 0.25
"""Seconds between two attempts to replace the old store."""
TEAM_INTERVAL = 0.5
"""Seconds between two checks for reviews from the team's server."""
JOURNAL_INTERVAL = 1.0
"""Seconds between two checks for reviews that another browser tab has written."""
TEAM_PAUSE_FACTOR = 10
"""Minimum pause after received reviews were shown, as a multiple of the time to show them."""
MESSAGE_DURATION = 8.0
"""Number of seconds to show the summary of an import."""
PAUSE_FACTOR = 3
"""Minimum pause after a check, as a multiple of the time that the check and its import took."""
FAILURE_PAUSE = 6
"""Pause after a failed check or import, as a multiple of the check interval."""
MAX_FOLLOWERS = 5
"""Maximum number of later items to try as the new position of the cursor if its item was
removed.
"""

ShowReload = Callable[[str], None]
"""Shows the prepared data of the new store and a message.

It is called after the old store was replaced.
"""


class ReloadError(FcreviewError):
    """Raised when changed files cannot be imported. The store is unchanged."""


@dataclass(frozen=True, slots=True)
class ReloadResult:
    """Result of an import of changed files."""

    changes: ImportChanges
    runs: tuple[int, ...] = ()
    """Numbers of the opened runs after the import. Empty if all runs of the workspace are open."""
    previous_runs: tuple[int, ...] = ()
    """Numbers of the opened runs before the import. Empty if all runs of the workspace are open."""
    warning: str = ""
    """The first warning of the import."""


class RunWatcher(Protocol):
    """Finds and imports changed files. All methods except `close` are called in a thread."""

    interval: float
    """Seconds between two checks."""

    def has_changed_files(self) -> bool:
        """Whether a file has changed since the last check, or the last import failed."""
        ...

    def import_changes(self) -> ReloadResult:
        """Import the changed files. Raises: ReloadError if the import fails or is interrupted."""
        ...

    def close(self) -> None:
        """Stop a running import."""
        ...


def find_new_item_number(row: QueueRow, new_store: Store) -> int | None:
    """Return the number of a row's item in the new store. None if the item was removed."""
    candidates = new_store.fetch_rows(new_store.find_items(row.id, row.run))
    item = next((each.item for each in candidates if each.category == row.category), None)
    return (
        None if item is None else to_item_number(item, is_duplicate=is_hidden_duplicate(row.item))
    )


def find_new_item_numbers(
    item_numbers: Sequence[int], old_store: Store, new_store: Store
) -> tuple[int, ...]:
    """Return the numbers of items in the new store, without removed items.

    If all items were removed, the result is (0,), which selects no item. An empty tuple would
    select every item.
    """
    rows = old_store.fetch_rows(list(item_numbers)) if item_numbers else []
    numbers = tuple(
        strip_duplicate_mark(number)
        for row in rows
        if (number := find_new_item_number(row, new_store)) is not None
    )
    return numbers or (0,) * bool(item_numbers)


def renumber_filter(filter_text: str, old_store: Store, new_store: Store) -> str:
    """Replace the item numbers in a filter by those of the new store. The number of a removed item
    becomes 0, which selects no item.
    """
    words = [
        word
        for word in tokenize(filter_text)
        if isinstance(word, FilterTerm) and word.key == "item"
    ]
    values = [value for word in words for value in word.values]
    numbers = [int(value.text) for value in values if value.text.isascii() and value.text.isdigit()]
    rows = old_store.fetch_rows(numbers) if numbers else []
    new_numbers = {str(row.item): find_new_item_number(row, new_store) for row in rows}
    for value in sorted(values, key=lambda value: -value.position):
        number = str(strip_duplicate_mark(new_numbers.get(value.text) or 0))
        filter_text = (
            filter_text[: value.position] + number + filter_text[value.position + len(value.text) :]
        )
    return filter_text


Selection = TypeVar("Selection", QueueSettings, View)


def renumber_items(selection: Selection, old_store: Store, new_store: Store) -> Selection:
    """Replace the item numbers in the filter and the selected items by those of the new store."""
    where = renumber_filter(selection.where, old_store, new_store)
    return replace(
        selection, where=where, items=find_new_item_numbers(selection.items, old_store, new_store)
    )


def prepare_queue_reload(
    queue: QueueScreen, run_numbers: tuple[int, ...], old_store: Store, new_store: Store
) -> ShowReload:
    """Read the queue's rows from the new store and return the function that shows them.

    The cursor stays on its item, on the same line of the screen.
    """
    state, levels, rows = queue.state, queue.position.levels, queue.list
    settings, *settings_above = (
        renumber_items(each, old_store, new_store)
        for each in (state.settings, *(level.settings for level in levels))
    )
    row = rows.row_at(rows.cursor) if rows.total else None
    item = None if row is None else find_new_item_number(row, new_store)
    new_state = replace(state, scope=run_numbers)
    new_state.restore_settings(settings)
    page = read_page(QueueRequest(new_state.view, CursorPosition(item, rows.cursor)), new_store)

    def show(message: str) -> None:
        state.scope = run_numbers
        state.restore_settings(settings)
        for level, level_settings in zip(levels, settings_above, strict=True):
            level.settings, level.cursor = level_settings, replace(level.cursor, item=None)
        queue.pane.show_reloaded_page(page, message)

    return show


def prepare_item_reload(
    pane: ItemPane, view: View, old_store: Store, new_store: Store
) -> ShowReload:
    """Read the pane's item from the new store and return the function that shows it.

    The cursor and the folds stay. An item that is no longer in the results stays on screen.
    """
    reviewer = pane.item_reviewer
    old = reviewer.displayed
    view = renumber_items(view, old_store, new_store)
    item = find_new_item_number(old.detail.row, new_store)
    detail = old.detail if item is None else new_store.read_detail(item)
    new = DisplayedItem(
        detail, _locate_in_new_store(old.navigator, view, item, old_store, new_store)
    )
    last = (
        None
        if reviewer.last_completed_item is None
        else old_store.fetch_row(reviewer.last_completed_item)
    )
    last_item = None if last is None else find_new_item_number(last, new_store)

    def show(message: str) -> None:
        changes = describe_item_changes(old.detail, new)
        status = (
            StatusMessage(changes, "warn")
            if changes
            else StatusMessage(message, "dim")
            if message
            else None
        )
        reviewer.switch_store(new, last_item)
        pane.text.update_after_reload(detail, status)
        pane.refresh_bindings()

    return show


def _locate_in_new_store(
    old_navigator: QueueNavigator,
    view: View,
    new_number: int | None,
    old_store: Store,
    new_store: Store,
) -> QueueNavigator:
    """Find an item's position in the new store. If the item was removed (`new_number` is None) or
    left the view, use the position of the first later item that still exists.
    """
    item, count = GONE_ITEM if new_number is None else new_number, new_store.count_items(view)
    position = None if new_number is None else new_store.find_position(view, new_number)
    if position is not None:
        return QueueNavigator(
            view, item=item, count=count, position=position, last_position=position
        )
    start = old_navigator.last_position + (old_navigator.position is not None)
    followers = old_store.fetch_page(old_navigator.view, start, MAX_FOLLOWERS)
    follower = next(
        (
            number
            for row in followers
            if (number := find_new_item_number(row, new_store)) is not None
        ),
        None,
    )
    next_position = None if follower is None else new_store.find_position(view, follower)
    return QueueNavigator(
        view,
        item=item,
        count=count,
        position=None,
        last_position=count if next_position is None else next_position,
    )


class LiveReload:
    """Tasks on the app's event loop that import and show changed files and reviews of the team."""

    def __init__(self, app: App[Any], session: Session, watcher: RunWatcher | None) -> None:
        self._app, self._session, self._watcher = app, session, watcher
        self._warning = ""
        """Warning of the last import.

        It is not shown again if the next import has the same warning.
        """
        self._tasks: list[asyncio.Task[None]] = []
        self._reload_lock = asyncio.Lock()
        """Lock that prevents two reloads at the same time."""

    def start(self) -> None:
        if self._watcher is not None:
            self._tasks.append(asyncio.create_task(self._watch_runs(self._watcher)))
        if self._session.team is not None:
            self._tasks.append(asyncio.create_task(self._watch_team(self._session.team)))
        if self._session.in_browser and self._session.workspace is not None:
            self._tasks.append(asyncio.create_task(self._watch_journals(self._session.workspace)))

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._watcher is not None:
            self._watcher.close()

    async def _watch_team(self, team: TeamSync) -> None:
        """Show the number of unsent reviews in the top line, and show received reviews on the
        screens.
        """
        shown = 0
        while True:
            await asyncio.sleep(TEAM_INTERVAL)
            status = team.status
            self._show_team_note(status.note)
            if status.received == shown:
                continue
            started, shown = monotonic(), status.received
            # the next received reviews start another attempt
            with suppress(FcreviewError, NoMatches):
                await self._show_received_reviews()
            await asyncio.sleep(TEAM_PAUSE_FACTOR * (monotonic() - started))

    async def _watch_journals(self, workspace: Workspace) -> None:
        """Show the reviews of the annotator's other browser tabs, and of other annotators."""
        sizes = await asyncio.to_thread(measure_journals, workspace)
        while True:
            await asyncio.sleep(JOURNAL_INTERVAL)
            previous = sizes
            sizes = await asyncio.to_thread(measure_journals, workspace)
            if sizes == previous:
                continue
            # the next change starts another attempt
            with suppress(FcreviewError, NoMatches):
                if await self._session.query(lambda store: store.has_new_reviews()):
                    await self._show_received_reviews()

    def _show_team_note(self, note: str) -> None:
        if note != getattr(self._app, "team_note", ""):
            self._app.team_note = note  # type: ignore[attr-defined]
            for screen in self._app.screen_stack:
                for line in screen.query(TopLine):
                    line.on_resize()

    async def _show_received_reviews(self) -> None:
        """Read the received reviews, and show them in the list and in the items on screen."""
        # The query writes, so it must not be interrupted.
        await self._session.query(lambda store: store.refresh_reviews())
        for screen in self._app.screen_stack:
            if isinstance(screen, AdjudicationScreen):
                screen.adjudicator.refresh_cases()
        if not isinstance(self._app.screen_stack[0], QueueScreen):
            return
        view = self._queue_screen.state.view
        # Counting orders the view, which takes long.
        await self._session.query_at_low_priority(lambda store: store.count_items(view))
        async with self._reload_lock:
            result = ReloadResult(ImportChanges(), self._queue_screen.state.scope)
            while not await self._try_to_replace_store(result, None):
                await self._wait_until_ready()

    async def _watch_runs(self, watcher: RunWatcher) -> None:
        pause = watcher.interval
        while True:
            await asyncio.sleep(pause)
            started, pause = monotonic(), watcher.interval
            try:
                await self._import_and_show_changes(watcher)
            except (
                Exception
            ) as error:  # a file that cannot be read now may be readable at the next check
                self._show_warning(f"reload failed: {error or type(error).__name__}")
                pause *= FAILURE_PAUSE
            pause = max(pause, PAUSE_FACTOR * (monotonic() - started))

    async def _import_and_show_changes(self, watcher: RunWatcher) -> None:
        if not await asyncio.to_thread(watcher.has_changed_files):
            return
        result = await asyncio.to_thread(watcher.import_changes)
        async with self._reload_lock:
            await self._show_import(result)
        if result.warning and result.warning != self._warning:
            self._show_warning(f"import warning: {result.warning}")
        self._warning = result.warning

    async def _show_import(self, result: ReloadResult) -> None:
        await self._wait_until_ready()
        store = await asyncio.to_thread(self._session.open_latest_store)
        try:
            # ordering a large view takes longer than a key press may wait
            for view in self._list_new_views(result):
                await asyncio.to_thread(store.count_items, view)
            while not await self._try_to_replace_store(result, store):
                await self._wait_until_ready()
        finally:
            if not self._session.uses_store(store):
                store.close()

    async def _try_to_replace_store(self, result: ReloadResult, store: Store | None) -> bool:
        """Replace the old store by `store` and show its data. If `store` is None, show the data of
        the current store again. Return False if the screen changed while the data was read.
        """
        snapshot = self._take_screen_snapshot()
        if snapshot is None:
            return False
        queue, items = self._queue_screen, self._item_panes
        _, *views = self._list_new_views(result)
        runs = self._find_new_runs(result)

        def prepare(before: Store) -> list[ShowReload]:
            now = store or before
            if store is not None:
                store.refresh_reviews()
            pairs = zip(items, views, strict=True)
            return [
                prepare_queue_reload(queue, runs, before, now),
                *(prepare_item_reload(item, view, before, now) for item, view in pairs),
            ]

        shows = await self._session.query(prepare)
        if self._take_screen_snapshot() != snapshot:
            return False
        if store is not None:
            self._session.swap_store(store)
        summary = result.changes.summary
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
        """Item panes of all open screens. The topmost pane is last."""
        return [pane for screen in self._app.screen_stack for pane in screen.query(ItemPane)]

    def _find_new_runs(self, result: ReloadResult) -> tuple[int, ...]:
        """Return the numbers of the opened runs after the import, or of the shown runs if the
        queue shows others.
        """
        scope = self._queue_screen.state.scope
        return result.runs if scope == result.previous_runs else scope

    def _list_new_views(self, result: ReloadResult) -> list[View]:
        """Return the views of the list and of open items, with new run numbers and old item
        numbers.
        """
        state, runs = self._queue_screen.state, self._find_new_runs(result)
        views = [
            state.view,
            *(pane.item_reviewer.displayed.navigator.view for pane in self._item_panes),
        ]
        return [replace(view, runs=runs) if view.runs == state.scope else view for view in views]

    def _take_screen_snapshot(self) -> tuple[object, ...] | None:
        """Return values that change when the screen changes. A reload starts again if they differ
        after it has read the new data.

        Return None if no reload is possible: while a key press is handled, while rows or an item
        are loading, or while a screen without an item covers the queue.
        """
        screens, items, actions = self._app.screen_stack, self._item_panes, self._session.actions
        if not all(isinstance(screen, ItemScreen) for screen in screens[1:]) or not actions.is_idle:
            return None
        queue = self._queue_screen
        if not queue.pane.has_current_rows or not all(map(is_item_loaded, items)):
            return None
        rows, levels = queue.list, len(queue.position.levels)
        shown = [id(each) for each in (*screens, *(pane.item_reviewer.displayed for pane in items))]
        return shown, actions.added_count, queue.state.settings, levels, rows.version, rows.cursor

    async def _wait_until_ready(self) -> None:
        while self._take_screen_snapshot() is None:
            await asyncio.sleep(RETRY_DELAY)

    def _show_warning(self, message: str) -> None:
        """Show a warning on the topmost item pane, or above the list if no item is open."""
        if items := self._item_panes:
            items[-1].show_message(StatusMessage(sanitize(message), "warn"))
        else:
            self._queue_screen.pane.show_message(sanitize(message))

    def _clear_message(self, message: str) -> None:
        with suppress(NoMatches):  # The app is closing.
            self._queue_screen.pane.clear_message_if_shown(message)
            for item in self._item_panes:
                if item.query_one("#item-status", LineBar).line[0][0].strip() == message:
                    item.show_message(NO_MESSAGE)


def is_item_loaded(pane: ItemPane) -> bool:
    """Whether the pane shows an item and is not loading another item."""
    return pane.item_reviewer.is_staying_on_item and not (
        pane.is_item_loading and isinstance(pane.screen, ItemScreen)
    )

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
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from textual.app import App
from textual.css.query import NoMatches

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import sanitize
from fcreview.store.filters.tokens import FilterTerm, FilterValue, tokenize
from fcreview.store.reviews.journal_reader import measure_journals
from fcreview.store.rows import (
    ImportChanges,
    View,
    is_hidden_duplicate,
    strip_duplicate_mark,
    to_item_number,
)
from fcreview.tui.queue.loader import QueueNavigator, QueuePage, QueueRequest, read_page
from fcreview.tui.queue_state import CursorPosition, QueueSettings
from fcreview.tui.review.prefetch import GONE_ITEM, DisplayedItem, describe_item_changes
from fcreview.tui.screens.adjudication import AdjudicationScreen
from fcreview.tui.screens.item_pane import ItemPane, ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.text.messages import NO_MESSAGE, StatusMessage
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

NO_ITEM = 0
"""Item number that selects no item."""

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
    for candidate in new_store.fetch_rows(new_store.find_items(row.id, row.run)):
        if candidate.category == row.category:
            return to_item_number(candidate.item, is_duplicate=is_hidden_duplicate(row.item))
    return None


def find_new_item_numbers(
    item_numbers: Sequence[int], old_store: Store, new_store: Store
) -> tuple[int, ...]:
    """Return the numbers that items have in a new store, without removed items.

    An import can give an item another number. If all items were removed, the result is (0,), which
    selects no item. An empty tuple would select every item.
    """
    if not item_numbers:
        return ()

    new_numbers = []
    for row in old_store.fetch_rows(list(item_numbers)):
        number = find_new_item_number(row, new_store)
        if number is not None:
            # A selection has the number in the database, also for a hidden duplicate.
            new_numbers.append(strip_duplicate_mark(number))
    if not new_numbers:
        return (NO_ITEM,)
    return tuple(new_numbers)


def renumber_filter(filter_text: str, old_store: Store, new_store: Store) -> str:
    """Replace the item numbers in a filter, such as `item:17`, by those of a new store.

    The number of a removed item becomes 0, which selects no item.
    """
    values = _list_item_values(filter_text)
    new_number_by_text = _map_item_numbers(values, old_store, new_store)

    # The last value comes first, so that the positions of the others stay valid.
    new_text = filter_text
    for value in sorted(values, key=lambda value: value.position, reverse=True):
        number = new_number_by_text.get(value.text, NO_ITEM)
        value_end = value.position + len(value.text)
        new_text = f"{new_text[: value.position]}{number}{new_text[value_end:]}"
    return new_text


def _list_item_values(filter_text: str) -> list[FilterValue]:
    """Return the values of the terms `item:NUMBER`, also of excluded terms."""
    values: list[FilterValue] = []
    for word in tokenize(filter_text):
        if isinstance(word, FilterTerm) and word.key == "item":
            values += word.values
    return values


def _map_item_numbers(
    values: Sequence[FilterValue], old_store: Store, new_store: Store
) -> dict[str, int]:
    """Return the numbers that the items in a filter have after an import, by their old numbers.

    Removed items are missing, and so are values that are no numbers.
    """
    old_numbers = []
    for value in values:
        if value.text.isascii() and value.text.isdigit():
            old_numbers.append(int(value.text))
    if not old_numbers:
        return {}

    new_numbers = {}
    for row in old_store.fetch_rows(old_numbers):
        new_number = find_new_item_number(row, new_store)
        if new_number is not None:
            # A filter has the number in the database, also for a hidden duplicate.
            new_numbers[str(row.item)] = strip_duplicate_mark(new_number)
    return new_numbers


Selection = TypeVar("Selection", QueueSettings, View)


def renumber_items(selection: Selection, old_store: Store, new_store: Store) -> Selection:
    """Replace the item numbers in the filter and the selected items by those of the new store."""
    where = renumber_filter(selection.where, old_store, new_store)
    items = find_new_item_numbers(selection.items, old_store, new_store)
    return replace(selection, where=where, items=items)


def prepare_queue_reload(
    queue: QueueScreen, run_numbers: tuple[int, ...], old_store: Store, new_store: Store
) -> ShowReload:
    """Read the queue's rows from the new store, and return the function that shows them.

    Reading takes time and happens on the store's thread. The returned function is fast, and is
    called when no key is handled. The cursor stays on its item, on the same line of the screen.
    """
    settings = renumber_items(queue.state.settings, old_store, new_store)
    # A level is a queue from which another one was opened.
    levels = queue.position.levels
    settings_of_levels = []
    for level in levels:
        settings_of_levels.append(renumber_items(level.settings, old_store, new_store))

    new_state = replace(queue.state, scope=run_numbers)
    new_state.restore_settings(settings)
    page = _read_page_at_cursor(queue, new_state.view, new_store)

    def show(message: str) -> None:
        queue.set_scope(run_numbers)
        queue.state.restore_settings(settings)
        for level, level_settings in zip(levels, settings_of_levels, strict=True):
            level.settings = level_settings
            # The item of an earlier level is found by its line, because its number may be old.
            level.cursor = replace(level.cursor, item=None)
        queue.pane.show_reloaded_page(page, message)

    return show


def _read_page_at_cursor(queue: QueueScreen, new_view: View, new_store: Store) -> QueuePage:
    """Read the page that contains the item under the cursor, or its line if it was removed."""
    row = queue.list.row_at(queue.list.cursor) if queue.list.total else None
    item_at_cursor = None if row is None else find_new_item_number(row, new_store)
    cursor = CursorPosition(item_at_cursor, queue.list.cursor)
    return read_page(QueueRequest(new_view, cursor), new_store)


def prepare_item_reload(
    pane: ItemPane, view: View, old_store: Store, new_store: Store
) -> ShowReload:
    """Read the pane's item from the new store, and return the function that shows it.

    The cursor and the folds stay. An item that is no longer in the results stays on screen.
    """
    old_item = pane.item_reviewer.displayed
    new_view = renumber_items(view, old_store, new_store)
    new_number = find_new_item_number(old_item.detail.row, new_store)
    if new_number is None:
        new_detail = old_item.detail
    else:
        new_detail = pane.compare_with_accepted_golden(new_store.read_detail(new_number))
    navigator = _locate_in_new_store(old_item.navigator, new_view, new_number, old_store, new_store)
    new_item = DisplayedItem(new_detail, navigator)
    last_completed_item = _find_last_completed_item(pane, old_store, new_store)

    def show(message: str) -> None:
        # What changed in this item matters more than what changed in the workspace.
        changes = describe_item_changes(old_item.detail, new_item)
        status = None
        if changes:
            status = StatusMessage(changes, "warn")
        elif message:
            status = StatusMessage(message, "dim")
        pane.item_reviewer.switch_store(new_item, last_completed_item)
        pane.text.update_after_reload(new_detail, status)
        pane.refresh_bindings()

    return show


def _find_last_completed_item(pane: ItemPane, old_store: Store, new_store: Store) -> int | None:
    """Return the number, in the new store, of the item that the annotator completed last."""
    old_number = pane.item_reviewer.last_completed_item
    if old_number is None:
        return None
    row = old_store.fetch_row(old_number)
    if row is None:
        return None
    return find_new_item_number(row, new_store)


def _locate_in_new_store(
    old_navigator: QueueNavigator,
    view: View,
    new_number: int | None,
    old_store: Store,
    new_store: Store,
) -> QueueNavigator:
    """Find the position of an item in the queue of the new store.

    If the item was removed (`new_number` is None) or left the queue, the position is that of the
    first later item that still exists, so that the annotator continues there.
    """
    count = new_store.count_items(view)
    if new_number is not None:
        position = new_store.find_position(view, new_number)
        if position is not None:
            return QueueNavigator(
                view, item=new_number, count=count, position=position, last_position=position
            )

    next_position = _find_position_of_next_item(old_navigator, view, old_store, new_store)
    return QueueNavigator(
        view,
        item=GONE_ITEM if new_number is None else new_number,
        count=count,
        position=None,
        last_position=count if next_position is None else next_position,
    )


def _find_position_of_next_item(
    old_navigator: QueueNavigator, new_view: View, old_store: Store, new_store: Store
) -> int | None:
    """Return the position, in the new queue, of the next item that still exists after an import.

    The search begins after the current item of the old queue. Returns None if none of the next
    `MAX_FOLLOWERS` items exists any more, or if the found item is not in the new queue.
    """
    # After an item has left the queue, the next item is at its last position.
    next_position = old_navigator.last_position
    is_item_in_queue = old_navigator.position is not None
    if is_item_in_queue:
        next_position += 1
    for row in old_store.fetch_page(old_navigator.view, next_position, MAX_FOLLOWERS):
        number = find_new_item_number(row, new_store)
        if number is not None:
            return new_store.find_position(new_view, number)
    return None


@dataclass(frozen=True, slots=True)
class _ScreenSnapshot:
    """Values that change when the screen changes."""

    screen_ids: list[int]
    item_ids: list[int]
    """Identities of the displayed items."""
    n_actions: int
    """Number of the actions of keys so far."""
    queue_settings: QueueSettings
    n_levels: int
    list_version: int
    list_cursor: int


@dataclass(frozen=True, slots=True)
class _OpenScreens:
    """The queue and the item panes on screen, with the runs and views to show after a reload."""

    queue: QueueScreen
    panes: Sequence[ItemPane]
    pane_views: Sequence[View]
    """The view of each pane."""
    runs: tuple[int, ...]

    def prepare_reload(self, old_store: Store, new_store: Store | None) -> list[ShowReload]:
        """Read the new data of the queue and of each open item. Return the functions that show
        them.

        `new_store` is None if the data of the current store have changed, for example by reviews.
        """
        store = old_store
        if new_store is not None:
            # Reviews may have been added while the import ran.
            new_store.refresh_reviews()
            store = new_store

        shows = [prepare_queue_reload(self.queue, self.runs, old_store, store)]
        for pane, view in zip(self.panes, self.pane_views, strict=True):
            shows.append(prepare_item_reload(pane, view, old_store, store))
        return shows


class LiveReload:
    """Tasks on the app's event loop that import and show changed files and reviews of the team."""

    def __init__(self, app: App[Any], session: Session, watcher: RunWatcher | None) -> None:
        self._app = app
        self._session = session
        self._watcher = watcher
        self._warning = ""
        """Warning of the last import.

        It is not shown again if the next import has the same warning.
        """
        self._unshown_import: ReloadResult | None = None
        """Last import, if it could not be shown yet."""
        self._tasks: list[asyncio.Task[None]] = []
        self._reload_lock = asyncio.Lock()
        """Lock that prevents two reloads at the same time."""

    def start(self) -> None:
        """Start to watch the files of the runs, the team's server and the journals of other
        users.
        """
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
        """Show how many reviews are not sent to the team, and show reviews that were received."""
        n_shown = 0
        while True:
            await asyncio.sleep(TEAM_INTERVAL)
            status = team.status
            self._show_team_note(status.note)
            if status.received == n_shown:
                continue

            started = monotonic()
            # If this fails, the next check tries again.
            with suppress(FcreviewError, NoMatches):
                await self._show_received_reviews()
                n_shown = status.received
            # If showing takes long, wait longer, so that the app stays responsive.
            await asyncio.sleep(TEAM_PAUSE_FACTOR * (monotonic() - started))

    async def _watch_journals(self, workspace: Workspace) -> None:
        """Show the reviews of the annotator's other browser tabs, and of other annotators."""
        known_sizes = await asyncio.to_thread(measure_journals, workspace)
        is_shown = True
        while True:
            await asyncio.sleep(JOURNAL_INTERVAL)
            sizes = await asyncio.to_thread(measure_journals, workspace)
            if sizes == known_sizes and is_shown:
                continue
            # After a failed attempt, the store may have read the reviews, but they are not shown.
            must_show = not is_shown
            known_sizes = sizes
            is_shown = await self._try_to_show_new_reviews(must_show=must_show)

    async def _try_to_show_new_reviews(self, *, must_show: bool) -> bool:
        """Show the reviews in the journals that are new for the store, or with `must_show` in any
        case. Return False if that fails, for example because a screen is just closing.
        """
        try:
            if must_show or await self._session.read(lambda store: store.has_new_reviews()):
                await self._show_received_reviews()
        except (FcreviewError, NoMatches):
            return False
        return True

    def _show_team_note(self, note: str) -> None:
        """Show the state of the exchange with the team's server in the top line of all screens."""
        if note != getattr(self._app, "team_note", ""):
            self._app.team_note = note  # type: ignore[attr-defined]
            for screen in self._app.screen_stack:
                for line in screen.query(TopLine):
                    line.on_resize()

    async def _show_received_reviews(self) -> None:
        """Read the reviews of others, and show them in the list and in the items on screen."""
        # The query writes, so it is not interruptible.
        await self._session.read(lambda store: store.refresh_reviews())
        for screen in self._app.screen_stack:
            if isinstance(screen, AdjudicationScreen):
                screen.adjudicator.refresh_cases()

        # An app that shows only disagreements has no list.
        if not isinstance(self._app.screen_stack[0], QueueScreen):
            return
        view = self._queue_screen.state.view
        # Counting sorts the items of the view and caches the order. This takes long, so it is
        # done before the list is replaced.
        await self._session.read_in_background(lambda store: store.count_items(view))

        # The list and the items are read again as after an import, but from the same store, and
        # without changed files. If the user presses a key meanwhile, they are read once more.
        no_changes = ImportChanges()
        same_store = None
        async with self._reload_lock:
            result = ReloadResult(no_changes, self._queue_screen.state.scope)
            while not await self._try_to_replace_store(result, same_store):
                await self._wait_until_ready()

    async def _watch_runs(self, watcher: RunWatcher) -> None:
        """Import changed files and show the changes, again and again.

        The pause between two checks grows with the time that a check takes, so that fcreview stays
        responsive.
        """
        pause = watcher.interval
        while True:
            await asyncio.sleep(pause)
            started = monotonic()
            min_pause = watcher.interval
            try:
                await self._import_and_show_changes(watcher)
            except Exception as error:
                # A file that cannot be read now may be readable at the next check.
                self._show_warning(f"reload failed: {error or type(error).__name__}")
                min_pause *= FAILURE_PAUSE
            pause = max(min_pause, PAUSE_FACTOR * (monotonic() - started))

    async def _import_and_show_changes(self, watcher: RunWatcher) -> None:
        """Import the files of runs that have changed, and show the changes. A warning is shown
        once.

        If the changes cannot be shown, the next call tries again.
        """
        if await asyncio.to_thread(watcher.has_changed_files):
            imported = await asyncio.to_thread(watcher.import_changes)
            self._unshown_import = _join_imports(self._unshown_import, imported)
        result = self._unshown_import
        if result is None:
            return

        async with self._reload_lock:
            await self._show_import(result)
        self._unshown_import = None
        if result.warning and result.warning != self._warning:
            self._show_warning(f"import warning: {result.warning}")
        self._warning = result.warning

    async def _show_import(self, result: ReloadResult) -> None:
        """Open the store of an import, and show its data as soon as no key press is handled."""
        await self._wait_until_ready()
        store = await asyncio.to_thread(self._session.open_latest_store)
        try:
            # Order large views now, because a key press could not wait for that.
            for view in self._list_new_views(result):
                await asyncio.to_thread(store.count_items, view)
            while not await self._try_to_replace_store(result, store):
                await self._wait_until_ready()
        finally:
            # The store was not taken over, for example because the app ends.
            if not self._session.uses_store(store):
                store.close()

    async def _try_to_replace_store(self, result: ReloadResult, store: Store | None) -> bool:
        """Read the data of a new store, and show them. Return False if the screen changed in the
        meantime, so that the caller must try again.

        If `store` is None, read the data of the current store again.
        """
        # Without a snapshot, no reload is possible now, for example because a key is handled.
        snapshot = self._take_screen_snapshot()
        if snapshot is None:
            return False

        # The first view is that of the list. The others are those of the open items.
        _, *pane_views = self._list_new_views(result)
        open_screens = _OpenScreens(
            self._queue_screen,
            panes=self._item_panes,
            pane_views=pane_views,
            runs=self._find_new_runs(result),
        )
        shows = await self._session.read(partial(open_screens.prepare_reload, new_store=store))
        if self._take_screen_snapshot() != snapshot:
            return False

        # From here on, nothing waits, so no key can come between.
        if store is not None:
            self._session.swap_store(store)
        self._show_new_data(shows, result.changes.summary)
        return True

    def _show_new_data(self, shows: Sequence[ShowReload], summary: str) -> None:
        """Show the prepared data on the queue and on the item panes.

        The summary of what changed is shown in front, for some seconds. `shows`: one function for
        the queue, then one for each item pane, the topmost last.
        """
        is_queue_in_front = len(self._app.screen_stack) == 1
        show_in_front = shows[0] if is_queue_in_front else shows[-1]
        for show in shows:
            show(summary if show is show_in_front else "")
        if summary:
            self._app.set_timer(MESSAGE_DURATION, lambda: self._clear_message(summary))

    @property
    def _queue_screen(self) -> QueueScreen:
        queue = self._app.screen_stack[0]
        assert isinstance(queue, QueueScreen)  # noqa: S101 - for the type checker
        return queue

    @property
    def _item_panes(self) -> list[ItemPane]:
        """Item panes of all open screens. The topmost pane is last."""
        panes: list[ItemPane] = []
        for screen in self._app.screen_stack:
            panes += screen.query(ItemPane)
        return panes

    def _find_new_runs(self, result: ReloadResult) -> tuple[int, ...]:
        """Return the numbers of the runs that the queue shows after an import.

        These are the opened runs. If the queue shows other runs, these stay.
        """
        scope = self._queue_screen.state.scope
        return result.runs if scope == result.previous_runs else scope

    def _list_new_views(self, result: ReloadResult) -> list[View]:
        """Return the views of the list and of each open item, with the runs as they are after an
        import.

        A view names items by number. These numbers are still those of the old store.
        """
        state = self._queue_screen.state
        views = [state.view]
        for pane in self._item_panes:
            views.append(pane.item_reviewer.displayed.navigator.view)

        new_runs = self._find_new_runs(result)
        new_views = []
        for view in views:
            shows_opened_runs = view.runs == state.scope
            new_views.append(replace(view, runs=new_runs) if shows_opened_runs else view)
        return new_views

    def _take_screen_snapshot(self) -> _ScreenSnapshot | None:
        """Return facts about the screen by which a reload notices that the screen has changed.

        The reload compares two snapshots, from before and after it reads the new data. Returns None
        if no reload is possible now: while a key press is handled, while rows or an item are
        loading, or while a screen without an item covers the queue.
        """
        screens = self._app.screen_stack
        covering_screens = screens[1:]
        if not all(isinstance(screen, ItemScreen) for screen in covering_screens):
            return None
        if not self._session.actions.is_idle:
            return None
        queue = self._queue_screen
        panes = self._item_panes
        if not queue.pane.has_current_rows or not all(is_item_loaded(pane) for pane in panes):
            return None

        return _ScreenSnapshot(
            screen_ids=[id(screen) for screen in screens],
            item_ids=[id(pane.item_reviewer.displayed) for pane in panes],
            n_actions=self._session.actions.added_count,
            queue_settings=queue.state.settings,
            n_levels=len(queue.position.levels),
            list_version=queue.list.version,
            list_cursor=queue.list.cursor,
        )

    async def _wait_until_ready(self) -> None:
        while self._take_screen_snapshot() is None:
            await asyncio.sleep(RETRY_DELAY)

    def _show_warning(self, message: str) -> None:
        """Show a warning on the topmost item pane, or above the list if no item is open."""
        panes = self._item_panes
        if panes:
            panes[-1].show_message(StatusMessage(sanitize(message), "warn"))
        else:
            self._queue_screen.pane.show_message(sanitize(message))

    def _clear_message(self, message: str) -> None:
        """Remove a message from the screen, unless another one has replaced it."""
        # The app is closing.
        with suppress(NoMatches):
            self._queue_screen.pane.clear_message_if_shown(message)
            for pane in self._item_panes:
                status_line = pane.query_one("#item-status", LineBar).line
                first_text, _ = status_line[0]
                if first_text.strip() == message:
                    pane.show_message(NO_MESSAGE)


def _join_imports(earlier: ReloadResult | None, later: ReloadResult) -> ReloadResult:
    """Return an import with the changes of an earlier one that was not shown. The screen still
    shows the runs from before the earlier one.
    """
    if earlier is None:
        return later
    changes = ImportChanges(
        new=earlier.changes.new + later.changes.new,
        changed=earlier.changes.changed + later.changes.changed,
        gone=earlier.changes.gone + later.changes.gone,
    )
    return replace(later, changes=changes, previous_runs=earlier.previous_runs)


def is_item_loaded(pane: ItemPane) -> bool:
    """Whether the pane shows an item and is not loading another item."""
    is_loading_on_item_screen = pane.is_item_loading and isinstance(pane.screen, ItemScreen)
    return pane.item_reviewer.is_staying_on_item and not is_loading_on_item_screen

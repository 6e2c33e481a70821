"""Show the queue, which is the list of items to review, and return to it from the screens above.

`QueueState` has the order and the filters, `QueuePane` shows the list, `QueueMenus` opens lists of
orders, runs and clusters, and `SplitView` shows the item under the cursor on a wide screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import inf
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.reactive import Reactive
from textual.widget import Widget

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.store.drafts import describe_drafts
from fcreview.store.rows import SUSPECTS_QUEUE, RunRow, View
from fcreview.tui.actions import LIST_ACTIONS, QUEUE_ACTIONS
from fcreview.tui.figure_scope import make_scope_of_all_items
from fcreview.tui.keymap import (
    find_action_key_names,
    format_unavailable_key_message,
    format_welcome_message,
    make_bindings,
)
from fcreview.tui.queue.loader import find_unfinished_share
from fcreview.tui.queue_state import (
    ADJUDICATION,
    ESTIMATES,
    OVERVIEW,
    AnnotatorSwitch,
    CursorPosition,
    ListChoice,
    QueueLevels,
    QueuePosition,
    QueueState,
    describe_resumed_queue,
    first_unreviewed_position,
    is_on_overview,
)
from fcreview.tui.screens.queue_pane import QueueMenus, QueuePane
from fcreview.tui.screens.split_view import SplitView
from fcreview.tui.session import Session
from fcreview.tui.text.lines import truncate_middle
from fcreview.tui.widgets.base import GuardedScreen, work
from fcreview.tui.widgets.document_view import KeyLine, TopLine
from fcreview.tui.widgets.filter_input import FilterLine
from fcreview.tui.widgets.lists import QueueList

if TYPE_CHECKING:
    from fcreview.tui.screens.estimates import EstimatesScreen
    from fcreview.tui.screens.item_pane import ItemPane, ItemScreen
    from fcreview.tui.screens.overview import OverviewScreen
    from fcreview.tui.screens.question import QuestionResult

ITEM_MODULE = "fcreview.tui.screens.item_pane"
PRELOAD_DELAY = 0.3
"""Seconds from the first rows to the import of the item screen's modules.

The first item then opens fast.
"""
MAX_SEARCH_CELLS = 40
"""Maximum width of a search in a message, in cells."""
QUEUE_ACTION_NAMES = {action.action.partition("(")[0] for action in QUEUE_ACTIONS}
LIST_ACTION_NAMES = {action.action.partition("(")[0] for action in LIST_ACTIONS}


@dataclass(frozen=True, slots=True)
class _Start:
    """What the queue shows first."""

    item: int | str | None
    """Id or number of the item to open."""
    message: str
    """Message above the list."""
    position: QueuePosition | None
    """Position at which the annotator left the queue. None for a queue that was not resumed."""

    @property
    def cursor(self) -> CursorPosition:
        return CursorPosition() if self.position is None else self.position.cursor

    @property
    def opens_unreviewed(self) -> bool:
        """Whether to open the first unreviewed item."""
        return self.position is not None and self.position.opens_unreviewed

    @property
    def reopens_item(self) -> bool:
        """Whether the item under the cursor was open when the annotator left."""
        return self.position is not None and self.position.is_item_open


class QueueScreen(GuardedScreen[None]):
    """Screen with the queue. It handles the keys of the queue."""

    place_name = "list"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(QUEUE_ACTIONS)

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """Focused widget.

    Overridden because Textual would draw the whole screen each time the focus moves.
    """

    def __init__(
        self,
        session: Session,
        state: QueueState,
        *,
        open_item: int | str | None = None,
        message: str = "",
        position: QueuePosition | None = None,
    ) -> None:
        """Create the screen.

        Args:
            open_item: Id or number of the item to open at the start.
            message: Message above the list.
            position: Position at which the annotator left the queue.
        """
        super().__init__()
        self._session = session
        self.state = state
        self._levels = QueueLevels(state, position.levels if position else ())
        self._menus = QueueMenus(session, state, self._levels)
        self._state_of_all_items = QueueState(queue="dataset", blind=state.blind, scope=state.scope)
        """Selection of all items of the opened runs, whatever the queue shows."""
        self._overview_menus = QueueMenus(
            session, self._state_of_all_items, QueueLevels(self._state_of_all_items)
        )
        """Menus that open on the overview, which is about all items."""
        self.pane = QueuePane(session, state, self._menus)
        self._split = SplitView(session, state, self.pane)
        self._start = _Start(open_item, message, position)
        self._opens_overview = session.opens_overview and position is None and open_item is None
        """Whether the overview opens as soon as the runs are known."""
        self._opens_place = session.switch.opens if session.switch is not None else ""
        """Place that opens as soon as the runs are known. Empty for none."""
        self._has_loaded = False
        """Whether the first rows have been loaded."""
        self._may_suggest_queue_file = True
        """Whether the message above the list may point to a queue file. It does so only once, and
        only if there is no other message at the start.
        """
        self._unavailable_key_message = ""
        """Message about the last key without an action here. Empty when it was removed."""
        self._focused_at = 0.0
        """When the list was drawn after it got the focus, in seconds of the monotonic clock."""

    def compose(self) -> ComposeResult:
        yield TopLine()
        yield self._split
        yield KeyLine()

    def on_mount(self) -> None:
        """Load the first rows, at the position where the annotator left the queue."""
        self.list.focus()
        start = self._start
        if start.opens_unreviewed:
            self.pane.load_and_open_unreviewed()
            self.app.notify(start.message, markup=False)
        else:
            self.pane.load_first_rows(start.cursor, start.item, start.message)

    @property
    def list(self) -> QueueList:
        return self.pane.list

    # -- items

    def action_open(self) -> None:
        row = None if self.pane.is_loading else self.list.row_at(self.list.cursor)
        if row is not None and not self._split.focus_item():
            self.open_item_screen(row.item)

    def action_focus_item(self) -> None:
        if not self._split.focus_item():
            self.pane.show_message("No item selected")

    def on_line_list_chosen(self) -> None:
        self.action_open()

    @work(group="question", exclusive=True)
    async def action_show_question(self) -> None:
        """Show the question under the cursor across all runs."""
        from fcreview.tui.screens.item_pane import make_question_opener

        row = None if self.pane.is_loading else self.list.row_at(self.list.cursor)
        if row is None:
            return
        opener = make_question_opener(self.app, self._session)
        problem = await opener.open(self.state.view, row.item, self._leave_question)
        if problem:
            self.pane.show_message(problem)

    def _leave_question(self, result: QuestionResult | None) -> None:
        if result is None:
            return
        if result.item is not None or result.has_changed_reviews:
            self._reload_view(result.item or self.pane.cursor_position.item)

    def must_wait(self, action: str) -> bool:
        """Return whether the key of an action waits for the list.

        A key that opens an item waits until the view is loaded. A key that moves the cursor waits
        only for the first rows of the view.
        """
        belongs_to_list = self.check_action("open", ())
        is_loading = self.pane.is_loading or not self._has_loaded
        if not belongs_to_list or not is_loading:
            return False
        if action == "open":
            return True
        are_rows_of_view = not (self.pane.is_changing_view or self.list.is_waiting)
        has_first_rows = self._has_loaded and are_rows_of_view
        return action in LIST_ACTION_NAMES and not has_first_rows

    @property
    def must_keep_keys(self) -> bool:
        """Whether the overview is about to open, which then gets the keys."""
        return self._opens_overview

    def on_queue_pane_rows_loaded(self) -> None:
        """Handle the keys that waited for the list and, the first time, do what follows the
        start.
        """
        is_first_time = not self._has_loaded
        self._has_loaded = True
        self.handle_kept_keys()
        if not is_first_time:
            return

        self._mention_resumed_queue()
        self._mention_drafts()
        # Load the modules of the item screen while the user reads the list.
        preload = Thread(target=import_module, args=(ITEM_MODULE,), name="preload", daemon=True)
        self.set_timer(PRELOAD_DELAY, preload.start)
        self._reopen_item()

    def _reopen_item(self) -> None:
        """Open the item that was open when the annotator left, if the cursor found it again."""
        row = self.list.row_at(self.list.cursor)
        if row is None or not self._start.reopens_item:
            return
        is_same_item = (row.id, row.run) == self._start.cursor.key
        if is_same_item:
            self.action_open()

    def _mention_resumed_queue(self) -> None:
        """Name the search, filter or queue that was resumed from the last session, and how to
        leave it.
        """
        name = describe_resumed_queue(self.state)
        if self._start.position is None or not name:
            return
        # What was resumed matters more than another queue.
        self._may_suggest_queue_file = False
        if self._session.switch is not None:
            # The user opened the queue a moment ago, and has left nothing.
            return
        message = f"{truncate_middle(sanitize(name), MAX_SEARCH_CELLS)} resumed"
        hint = self._hint_to_leave_queue()
        self.pane.append_message(f"{message}. Press {hint}" if hint else message)

    def _mention_drafts(self) -> None:
        """Say which texts the annotator did not save in an earlier session."""
        drafts = self._session.drafts.read_all()
        if not drafts:
            return
        action_id = "item.note" if drafts[-1].kind == "note" else "item.golden"
        key = find_action_key_names(self.app).get(action_id, "")
        hint = f". Open the item and press {key} to continue" if key else ""
        # The draft matters more than another queue.
        self._may_suggest_queue_file = False
        self.pane.append_message(sanitize(describe_drafts(drafts)) + hint)

    def _hint_to_leave_queue(self) -> str:
        """Return the key that leaves the resumed queue, and its effect. Empty without such a
        key.
        """
        keys = find_action_key_names(self.app)
        if self.state.is_narrowed:
            action_id = "queue.clear"
            effect = "to show all items"
        elif self._levels.above:
            action_id = "queue.back"
            effect = "to leave it"
        else:
            action_id = "queue.order"
            effect = "to choose another queue"
        return f"{keys[action_id]} {effect}" if action_id in keys else ""

    def on_queue_pane_item_found(self, found: QueuePane.ItemFound) -> None:
        row = self.list.row_at(self.list.cursor)
        if row is None or row.item != found.item or not self._split.focus_item():
            self.open_item_screen(found.item)

    def open_item_screen(self, item_number: int) -> None:
        """Open the item on a screen of its own."""
        from fcreview.tui.screens.item_pane import ItemScreen

        screen = ItemScreen(self._session, self.state.view, item_number)
        screen.can_close_for_split = not self._split.is_split
        self.app.push_screen(screen, partial(self._on_item_screen_closed, screen))

    def _on_item_screen_closed(self, screen: ItemScreen, item_number: int | None) -> None:
        # reached even if the terminal is no longer wide enough for two panes
        if screen.closed_for_split:
            self._split.take_over_item(screen.pane)
        self._reload_view(item_number)

    def action_adjudicate(self) -> None:
        """Open the screen that resolves disagreements between annotators."""
        if self.state.blind:
            self._refuse_adjudication()
            return
        from fcreview.tui.screens.adjudication import AdjudicationScreen

        scope = make_scope_of_all_items(self.state.view)
        self.app.push_screen(AdjudicationScreen(self._session, scope), self._reload_view)

    def _refuse_adjudication(self) -> None:
        """Offer to end a blind review that a queue started, or say why a blind review has no
        adjudication.
        """
        from fcreview.tui.screens.annotators import (
            REVIEWS_OF_OTHERS_REASON,
            ask_to_end_blind_review,
        )

        if not ask_to_end_blind_review(
            self.app, self._session, REVIEWS_OF_OTHERS_REASON, ADJUDICATION
        ):
            self.pane.show_message(
                "Adjudication is not available in blind mode because it shows other reviews"
            )

    def on_queue_pane_runs_loaded(self, loaded: QueuePane.RunsLoaded) -> None:
        """At the start, open the overview of several runs, or say how to go on.

        The runs are read again later, and then nothing of this happens.
        """
        self._overview_menus.runs = self._menus.runs
        self._split.draw_item_header()
        opens_overview = self._opens_overview
        self._opens_overview = False
        place = self._opens_place
        self._opens_place = ""

        is_on_top = self.app.screen is self
        if place and is_on_top:
            self._reopen(place)
        elif opens_overview and loaded.count > 1 and is_on_top:
            self.app.push_screen(self.make_overview(self._menus.runs or ()), self._leave_overview)
            self.handle_kept_keys()
            return

        # Keys that were pressed before the runs were read act now. With the overview, they did so
        # above, because they are for it.
        self.handle_kept_keys()
        if self._may_suggest_queue_file and self.state.file is None:
            self._suggest_queue_file()
        self._may_suggest_queue_file = False
        if self._session.shows_welcome and is_on_top:
            self._session.shows_welcome = False
            self.pane.show_message(format_welcome_message(self.app))

    @work(group="share")
    async def _suggest_queue_file(self) -> None:
        """If a queue file assigns unreviewed items to the annotator, show which keys open it."""
        share = await self._session.read_in_background(find_unfinished_share)
        is_covered = self.app.screen is not self
        if share is None or is_covered:
            return

        # The first key opens the overview, and the second one opens the queue file there.
        key_names = find_action_key_names(self.app)
        keys = []
        for action_id in ("queue.overview", "overview.queue"):
            if key_names.get(action_id):
                keys.append(key_names[action_id])
        if not keys:
            return

        queue_name, n_left = share
        items = format_count(n_left, "item")
        message = f"Press {', then '.join(keys)} to review your {items} of queue {queue_name}"
        self.pane.show_message(sanitize(message))

    def action_overview(self) -> None:
        self.app.push_screen(self.make_overview(), self._leave_overview)

    def set_scope(self, run_numbers: tuple[int, ...]) -> None:
        """Show the runs with these numbers, in the queue and in the menus of the overview."""
        self.state.scope = run_numbers
        self._state_of_all_items.scope = run_numbers

    def make_overview(self, runs: Sequence[RunRow] = (), *, opens: str = "") -> OverviewScreen:
        """Return the overview.

        Args:
            runs: The runs if they were just read.
            opens: Screen that opens above the overview, because the user returns to it.
        """
        from fcreview.tui.screens.overview import OverviewScreen

        return OverviewScreen(
            self._session,
            View(runs=self.state.scope),
            runs,
            menus=self._overview_menus,
            blind=self.state.blind,
            opens=opens,
        )

    def make_estimates(self, run: int | None) -> EstimatesScreen:
        """Return the estimates, without the overview below. `run`: number of the run with the
        cursor.
        """
        from fcreview.tui.screens.estimates import EstimatesScreen

        return EstimatesScreen(self._session, View(runs=self.state.scope), run)

    def _leave_for_blind_session(self, menu_name: str, choice: Any, opened_from: str = "") -> bool:
        """Start a blind session if the user chose a queue file whose items are reviewed blind.

        In a browser, a message asks the user to start a blind server instead. Returns True in both
        cases: the queue must not be opened here. Returns False, without an effect, for any other
        choice and if the session is blind already.

        `opened_from`: place to which the key for back leads from the queue file.
        """
        if menu_name != "file" or not isinstance(choice, str) or self.state.blind:
            return False
        if not self._session.is_blind_queue(choice):
            return False
        if self._session.in_browser:
            self.pane.show_message(
                "The queue is reviewed blind. Ask for a server with fcreview serve --blind"
            )
            return True
        # A blind session has the overview, but no screen with verdicts above it.
        place = OVERVIEW if is_on_overview(opened_from) else ""
        position = first_unreviewed_position(choice, place)
        self._session.request_switch(AnnotatorSwitch(self._session.annotator, position, blind=True))
        return True

    def _leave_overview(self, choice: ListChoice | None) -> None:
        if choice is None:
            self._reload_view(self.pane.cursor_position.item)
        else:
            self.apply_list_choice(choice)

    def apply_list_choice(self, choice: ListChoice) -> None:
        """List the items that the user chose on the overview or on the estimates.

        The key for back returns to the place of the choice.
        """
        if self._leave_for_blind_session(choice.menu_name, choice.value, choice.opened_from):
            return

        # The level above is the list below the overview or the estimates, as it was.
        cursor_before = None
        if is_on_overview(choice.opened_from):
            cursor_before = self._levels.leave_lists_of_overview()
        if cursor_before is None:
            cursor_before = self.pane.cursor_position
        settings_before = self.state.settings
        self._replace_filters(choice)
        self._levels.push_level(settings_before, cursor_before, choice.opened_from)

        if choice.menu_name == "file":
            self.pane.load_and_open_unreviewed()
        else:
            self.pane.load_view(CursorPosition())

    def _replace_filters(self, choice: ListChoice) -> None:
        """List what the user chose from all items, because the overview and the estimates are about
        all items.
        """
        hid_items = self.state.order_hides_items
        self.state.show_all_runs()
        if choice.menu_name == "clusters" or (choice.menu_name == "runs" and hid_items):
            # Clusters group failures, and a run is chosen for its failures.
            self.state.select_order("failures")
        self._menus.select(choice.menu_name, choice.value)

    def _reload_view(self, cursor_item: int | None) -> None:
        """Load the view again, because reviews may have changed it.

        `cursor_item`: number of the item at the cursor.
        """
        self.pane.load_view(CursorPosition(cursor_item, self.list.cursor))

    # -- settings

    def action_open_filter(self) -> None:
        key = find_action_key_names(self.app).get("app.help", "")
        hint = FilterLine.FILTER_HINT + (f"  ({key} lists all filter keys)" if key else "")
        self.pane.filter_line.open("filter", self.state.where, hint)

    def action_open_search(self) -> None:
        hint = FilterLine.SEARCH_HINT
        recent_searches = self._session.annotator_filters.list_recent_texts("search")
        if recent_searches:
            hint += f". Up: {sanitize(recent_searches[-1])}"
        self.pane.filter_line.open("search", "", hint)

    def on_filter_line_submitted(self, submitted: FilterLine.Submitted) -> None:
        """Apply the filter or search that the user typed, on a new level above the current one."""
        cursor = self.pane.cursor_position
        settings_before = self.state.settings
        if submitted.kind == "search":
            self.state.search = submitted.text
        else:
            self.state.where = submitted.text
        self._levels.push_level(settings_before, cursor)

        self.pane.filter_line.close()
        self.list.focus()
        cancel_key = find_action_key_names(self.app).get("queue.back", "")
        self.pane.load_view(CursorPosition(cursor.item), cancel_key=cancel_key)

    def on_filter_line_cancelled(self) -> None:
        self.list.focus()

    def on_descendant_focus(self) -> None:
        """Close the filter line when a click moves the focus to the list or to the item."""
        self._ignore_quit_until_drawn()
        self.clear_unavailable_key_message()
        if self.pane.filter_line.display and not self.pane.filter_line.has_focus_within:
            self.pane.filter_line.close()

    def action_clear_filter(self) -> None:
        """Show all items of the run. The cursor stays on its item."""
        if not self.state.is_narrowed:
            self.pane.show_message("Already at the top level; no filter to clear")
            return
        item = self.pane.cursor_position.item
        self._levels.show_all_items()
        self.pane.load_view(CursorPosition(item))

    def action_suspects(self) -> None:
        """List the items whose golden answer looks wrong, on a new level above the current one."""
        if self.state.blind:
            self.pane.show_message("suspects: not available in blind mode")
            return
        cursor = self.pane.cursor_position
        settings_before = self.state.settings
        self.state.show_suspects()
        self._levels.push_level(settings_before, cursor)

        cancel_key = find_action_key_names(self.app).get("queue.back", "")
        self.pane.load_view(CursorPosition(), cancel_key=cancel_key)

    def action_show_list(self, list_name: str) -> None:
        """Open the list `list_name` in which one chooses what the queue shows, such as `clusters`.
        If there is nothing to choose, say why.
        """
        menu_name = list_name
        if list_name == "clusters" and self.state.view.queue == SUSPECTS_QUEUE:
            # Suspects are not grouped by cluster, but by the reason why they are suspects.
            menu_name = "reasons"

        menu = self._menus.menus[menu_name]
        disabled_reason = menu.disabled_reason()
        if disabled_reason:
            self.pane.show_message(disabled_reason)
            return
        if menu.make_screen is None:
            return

        # The number tells afterwards whether the menu reviewed items in bulk.
        apply_choice = partial(self._apply_menu_choice, menu_name, self._session.n_bulk_changes)
        self.app.push_screen(menu.make_screen(), apply_choice)

    def _apply_menu_choice(self, menu_name: str, n_bulk_changes_before: int, choice: Any) -> None:
        """Apply a choice of a menu.

        Without a choice, load the view again if items were reviewed in bulk meanwhile, or if the
        menu cleared the filter.
        """
        if self._leave_for_blind_session(menu_name, choice):
            return
        if choice is not None:
            cursor = self._menus.apply_choice(menu_name, choice, self.pane.cursor_position)
            self.pane.load_view(cursor)
            return
        has_bulk_changes = self._session.n_bulk_changes != n_bulk_changes_before
        if has_bulk_changes or not self.pane.shows_state:
            self._reload_view(self.pane.cursor_position.item)

    def apply_choice(self, menu_name: str, choice: Any) -> None:
        """Apply a choice that was made in the command palette, for the menu `menu_name` of
        `QueueMenus`.
        """
        if self._leave_for_blind_session(menu_name, choice):
            return
        self.pane.load_view(
            self._menus.apply_choice(menu_name, choice, self.pane.cursor_position, opened_from="")
        )

    def find_and_open_item(self, item_number: int) -> None:
        """Open an item. If the view contains the item, the cursor moves to it."""
        self.pane.load_first_rows(self.pane.cursor_position, item_number, "")

    # -- levels

    def action_back(self, can_quit: bool) -> None:
        """Return to the level above, and open the menu where the current level was selected.

        At the top level, quit the app if `can_quit` is true.
        """
        level = self._levels.pop_level()
        if level is not None:
            self.pane.load_view(level.cursor)
            self._reopen(level.opened_from)
        elif can_quit:
            self._quit_with_last_key()
        else:
            quit_key = find_action_key_names(self.app).get("queue.quit", "")
            self.pane.show_message(f"Already at the top level; press {quit_key} to quit")

    def _quit_with_last_key(self) -> None:
        """Quit the app, unless the last key was pressed before the list appeared. The key was then
        meant for the screen above it, and only the bell answers.
        """
        last_key_time = getattr(self.app, "last_key_time", None)
        was_meant_for_list = last_key_time is None or last_key_time >= self._focused_at
        if was_meant_for_list:
            self.app.call_later(self.app.run_action, "quit")
        else:
            self.app.bell()

    def _reopen(self, place: str) -> None:
        """Open a screen to which the user returns, above the screen on which it was open.

        `place`: as in `QueueLevel.opened_from`.
        """
        first_name, _, name_above = place.partition("/")
        if first_name == OVERVIEW:
            self.app.push_screen(self.make_overview(opens=name_above), self._leave_overview)
        elif first_name == ESTIMATES:
            estimates = self.make_estimates(self._session.estimated_run)
            self.app.push_screen(estimates, self._leave_overview)
        elif first_name == ADJUDICATION:
            self.action_adjudicate()
        elif first_name:
            self.action_show_list(first_name)

    @property
    def position(self) -> QueuePosition:
        """Settings, cursor and levels of the queue. A later session continues at this position."""
        return QueuePosition(
            self.state.settings, cursor=self.pane.cursor_position, levels=self._levels.above
        )

    @property
    def hint_labels(self) -> Mapping[str, str]:
        """Label of the action `queue.quit` where its key returns to the level above, by action id.

        It is empty at the top level, where the key quits the app.
        """
        if not self._levels.above:
            return {}
        # The label is the menu or screen that opens again, such as `clusters`.
        level_above = self._levels.above[-1]
        return {"queue.quit": level_above.place_name or "back"}

    @property
    def hidden_actions(self) -> frozenset[str]:
        """Ids of actions that only show a message now. The key line and the help omit them."""
        hidden = set(self._menus.disabled_actions)
        if self.state.blind:
            hidden |= {"queue.adjudicate", "queue.suspects"}
        if not self.state.is_narrowed:
            hidden.add("queue.clear")
        return frozenset(hidden)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Whether an action is possible. While the user types or is in the item, keys of the list
        are not.
        """
        if action not in QUEUE_ACTION_NAMES or not self.is_mounted:
            return True
        if action == "focus_item" and not self._split.is_split:
            return False
        is_typing = self.pane.filter_line.display
        is_in_item = self._split.is_item_focused or self.is_item_loading
        return not is_typing and not is_in_item

    @property
    def is_item_loading(self) -> bool:
        """Whether an item that was opened is still being read."""
        return self._split.is_item_loading or self.pane.opens_unreviewed

    def show_unavailable_key(self, key: str) -> None:
        """Say that a key does nothing here, above the list or in the item pane."""
        if self.pane.filter_line.display:
            return
        if self._split.is_item_focused and self._split.item_pane is not None:
            self._split.item_pane.show_unavailable_key(key)
            return
        open_key = find_action_key_names(self.app).get("queue.open", "") if self.list.total else ""
        message = format_unavailable_key_message(self.app, key, open_key)
        self._unavailable_key_message = message
        self.pane.show_message(message)

    def clear_unavailable_key_message(self) -> None:
        """Remove the message about a key without an action, because it no longer helps after
        another key or in another pane.
        """
        if self._unavailable_key_message:
            self.pane.clear_message_if_shown(self._unavailable_key_message)
            self._unavailable_key_message = ""
        if self._split.item_pane is not None:
            self._split.item_pane.clear_unavailable_key_message()

    def on_screen_resume(self) -> None:
        self._split.resume()
        self._ignore_quit_until_drawn()

    def _ignore_quit_until_drawn(self) -> None:
        """Ignore the quit key until the list is drawn, because the user pressed it to leave an
        item or a menu.
        """
        # The list was not left yet.
        if not self._has_loaded:
            return
        self._focused_at = inf

        def set_focus_time() -> None:
            self._focused_at = monotonic()

        self.call_after_refresh(set_focus_time)


def find_focused_item_pane(app: App[Any]) -> ItemPane | None:
    """Return the item pane with the focus. None if no item pane has the focus."""
    from fcreview.tui.screens.item_pane import ItemPane

    nodes = (app.focused or app.screen).ancestors_with_self
    return next((node for node in nodes if isinstance(node, ItemPane)), None)


def find_queue_screen(app: App[Any]) -> QueueScreen | None:
    """Return the queue at the bottom of the screen stack.

    None if the app shows disagreements only.
    """
    bottom = app.screen_stack[0]
    return bottom if isinstance(bottom, QueueScreen) else None

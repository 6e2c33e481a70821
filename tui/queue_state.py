"""Keep the state of the queue: the order, run and filters of the current level and of the levels
above it.

The file `positions/<annotator>.json` in the workspace saves the state between sessions: {"scope":
[run], "blind": bool, "start": options, "open": bool, "levels": [{where, search, queue, seed, run,
file, items, item, line, via}]}. The last level is the queue as the annotator left it. `open` is
true if the item under the cursor was open.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from fcreview.matching.clusters import Cluster
from fcreview.store.filters.parser import FilterCondition, FilterError, parse_filter, quote
from fcreview.store.filters.saved import has_item_numbers
from fcreview.store.filters.tokens import FAILING_FILTER, add_terms
from fcreview.store.rows import BUILTIN_QUEUES, PARTIAL_QUEUES, SUSPECTS_QUEUE, VERDICT_QUEUES, View
from fcreview.store.workspace import AnnotatorState, Workspace
from fcreview.tables.queues import ShareProgress

ORDER_DESCRIPTIONS = {
    "failures": "failing items first",
    "dataset": "order of the benchmark's files",
    "disagreement": "items with different official, recomputed or judge verdicts come first",
    "unreviewed": "items that you have not reviewed come first",
    "random": "random (select again to reshuffle)",
    "stratified": "random order, with one item of each category in turn",
    "judged": "only items with a judge verdict",
    "uncertain": "only near misses: one argument differs, or the judge score is 1 (of 0 to 2)",
    "suspects": "only items whose golden answer looks wrong, the most suspicious first",
}
SHUFFLED = ("random", "stratified")
"""Orders that depend on a seed."""
SHARE_ORDER = "items of the queue file that are assigned to you, in the file's order"
"""Description of the order of an opened queue file."""
ALL_RUNS = -1


def list_available_orders(blind: bool, queue_file: str | None = None) -> dict[str, str]:
    """Return the descriptions of the available orders, by name. `queue_file`: name of the opened
    queue file, which is an order too.
    """
    orders = {}
    if queue_file:
        orders[queue_file] = SHARE_ORDER
    for queue in BUILTIN_QUEUES:
        reveals_verdicts = queue in VERDICT_QUEUES
        if not (blind and reveals_verdicts):
            orders[queue] = ORDER_DESCRIPTIONS[queue]
    return orders


@dataclass(frozen=True, slots=True)
class CheckedItems:
    """The items that a line of the check lists."""

    run: int
    where: str = ""
    """Filter; empty for all items of the run."""


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Settings of one level of the queue. `QueueState` describes the fields."""

    where: str = ""
    search: str = ""
    queue: str = "failures"
    seed: int = 0
    run: int | None = None
    file: str | None = None
    items: tuple[int, ...] = ()


@dataclass(slots=True)
class QueueState:
    """Selection and order of the items in the queue."""

    where: str = ""
    """Filter, in the filter language. Empty for no filter."""
    search: str = ""
    queue: str = "failures"
    """Name of the order (see `list_available_orders`)."""
    seed: int = 0
    """Seed of a random order."""
    run: int | None = None
    """Number of the selected run, or None for all opened runs."""
    blind: bool = False
    scope: tuple[int, ...] = ()
    """Numbers of the opened runs. Empty for all runs of the workspace."""
    file: str | None = None
    """Name of the opened queue file. None if no queue file is open."""
    items: tuple[int, ...] = ()
    """Numbers of the selected items, such as the items behind a statistic. Empty if all items are
    selected. The filter applies to the selected items only.
    """

    @classmethod
    def from_view(cls, view: View, blind: bool = False) -> QueueState:
        """Return the state of a queue that shows a view.

        If the order of the view is not available, for example in blind mode, use the order of the
        dataset.
        """
        is_available = view.queue in list_available_orders(blind, view.queue_file)
        return cls(
            where=view.where,
            queue=view.queue if is_available else "dataset",
            seed=view.seed,
            blind=blind,
            scope=view.runs,
            file=view.queue_file,
        )

    @property
    def view(self) -> View:
        """Items that the queue shows, with filter and search combined."""
        return View(
            where=self.combine_filter_and_search(),
            queue=self.queue,
            seed=self.seed,
            runs=self.scope if self.run is None else (self.run,),
            share=self.queue == self.file,
            items=self.items,
        )

    @property
    def settings(self) -> QueueSettings:
        """Return the settings of this level of the queue, to restore them later."""
        return QueueSettings(
            self.where,
            search=self.search,
            queue=self.queue,
            seed=self.seed,
            run=self.run,
            file=self.file,
            items=self.items,
        )

    def restore_settings(self, settings: QueueSettings) -> None:
        """Apply the saved settings of a queue, such as its filter.

        An order that is no longer available is ignored.
        """
        self.file = settings.file or self.file
        if settings.queue in list_available_orders(self.blind, self.file):
            self.queue = settings.queue
            self.seed = settings.seed
        self.where = settings.where
        self.search = settings.search
        self.run = settings.run
        self.items = settings.items

    @property
    def is_narrowed(self) -> bool:
        """Whether a filter, a search or a selection of items narrows the queue."""
        return bool(self.where or self.search or self.items)

    def combine_filter_and_search(self) -> str:
        """Return one filter for the filter and the search. A search applies to texts and ids."""
        if not self.search:
            return self.where
        text = quote(self.search)
        search_filter = f"(text:{text} OR {text})"
        if self.where:
            return f"({self.where}) {search_filter}"
        return search_filter

    def parse_filter(self, where: str) -> FilterCondition:
        """Parse a filter. Raises: FilterError with the position of the error."""
        return parse_filter(where, blind=self.blind)

    def reset_to_filter(self, where: str) -> None:
        """Set the filter, and clear the search and the selection of items."""
        self.where = where
        self.search = ""
        self.items = ()

    def show_all_runs(self) -> None:
        """Show all items of all opened runs, in an order that hides none of them."""
        self.reset_to_filter("")
        self.run = None
        self.show_all_in_order()

    def narrow_to_cluster(self, filter_terms: Sequence[str]) -> None:
        """Narrow the filter to the failing items of a cluster."""
        self.where = add_terms(self.where, FAILING_FILTER, *filter_terms)

    def show_issue_item(self, issue_filter: str) -> None:
        """Show the item of an import issue.

        An empty `issue_filter` (an issue about a file) changes nothing.
        """
        if issue_filter:
            self.reset_to_filter(issue_filter)

    def show_checked_items(self, checked: CheckedItems) -> None:
        """Show the items that a line of the check of a run lists, also those that pass."""
        self.reset_to_filter(checked.where)
        self.run = checked.run
        if checked.where:
            self.queue = "dataset"

    def select_items(self, item_numbers: Sequence[int]) -> None:
        """Select items, and clear filter and search."""
        self.reset_to_filter("")
        self.items = tuple(item_numbers)

    @property
    def order_hides_items(self) -> bool:
        """Whether the order has only a part of the items.

        Such orders are a queue file and partial queues, for example the suspects.
        """
        return self.queue == self.file or self.queue in PARTIAL_QUEUES

    def show_all_in_order(self) -> None:
        """Change to the order of the dataset if the current order hides items."""
        if self.order_hides_items:
            self.queue = "dataset"

    def show_suspects(self, item_numbers: Sequence[int] = ()) -> None:
        """Show the items whose golden answer looks wrong, or only the items with these numbers."""
        self.select_items(item_numbers)
        self.queue = SUSPECTS_QUEUE

    def open_queue_file(self, queue_name: str) -> None:
        """Show the items that a queue file assigns to the annotator."""
        self.file = queue_name
        self.queue = queue_name

    def select_run(self, run_number: int) -> None:
        """Select the run with this number, or all runs with `ALL_RUNS`."""
        self.run = None if run_number == ALL_RUNS else run_number

    def select_order(self, order: str) -> None:
        """Set the order, if it is available. Setting a random order again reshuffles the items."""
        if order not in list_available_orders(self.blind, self.file):
            return
        if order == self.queue and order in SHUFFLED:
            self.seed += 1
        self.queue = order


def describe_resumed_queue(state: QueueState) -> str:
    """Return the name of the queue with which a session continues, such as `queue pilot`.

    A search, filter or selection is its name if there is one. Empty for all items in their usual
    order.
    """
    if state.search:
        return f'search "{state.search}"'
    if state.where == FAILING_FILTER:
        return "failures"
    if state.where:
        return f"filter {state.where}"
    if state.items:
        return f"selection of {len(state.items):,} items"
    if state.queue == state.file:
        return f"queue {state.file}"
    if state.queue in PARTIAL_QUEUES or state.queue in SHUFFLED:
        return f"queue {state.queue}"
    return ""


@dataclass(slots=True)
class OverviewPlace:
    """Focus, cursors and order of the overview when the user left it.

    The overview opens again at this place.
    """

    panel: str = ""
    """Id of the list with the focus. Empty for the first one."""
    entries: dict[str, Hashable] = field(default_factory=dict)
    """Id of a list -> key of the entry under its cursor, such as the number of a run."""
    scroll_rows: dict[str, int] = field(default_factory=dict)
    """Id of a list -> number of rows above the visible ones."""
    first_category: int = 0
    order: str = ""
    """Order of the runs."""
    search: str = ""
    """Search for runs."""


class ReviewProgress(NamedTuple):
    """Progress of the session's annotator in the queue."""

    n_reviewed: int
    n_items: int


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """Progress of one annotator in a queue file."""

    queue: str
    """Name of the queue file."""
    share: ShareProgress

    @property
    def n_reviews_left(self) -> int:
        """Number of reviews that the annotator still has to record."""
        return self.share.total - self.share.done


@dataclass(frozen=True, slots=True)
class CursorPosition:
    """Position of the cursor in a view: on the item, or on the line `line` if the view does not
    contain the item.
    """

    item: int | None = None
    """Number of the item in the store. None if unknown. An import may change the number."""
    line: int = 0
    key: tuple[str, int] | None = None
    """(id, run number), by which a later session finds the item."""


@dataclass(frozen=True, slots=True)
class ClusterCounts:
    clusters: Sequence[Cluster]
    failures: int
    """Number of failing items."""


@dataclass(slots=True)
class ClusterListState:
    """State of the cluster list at one level of the queue: grouping, unfolded groups and cursor."""

    grouping: int = 0
    """Index in `fcreview.matching.clusters.GROUPINGS`."""
    unfolded: set[str] = field(default_factory=set)
    """Filter terms of the unfolded groups."""
    terms: tuple[str, ...] = ()
    """Filter terms of the row under the cursor."""
    counts: dict[int, ClusterCounts] = field(default_factory=dict)
    """Latest counts by grouping (see `get_computed_grouping`).

    The list shows them until new counts are read.
    """


@dataclass(frozen=True, slots=True)
class StatisticsPlace:
    """Table and row that were selected when the user left a screen with statistics.

    The screen opens again at this place.
    """

    table: str = ""
    """Name of the table on screen. Empty for the first one."""
    group: str = ""
    """First cell of the heading above the row under the cursor."""
    row: str = ""
    """First cell of the row under the cursor. Empty for the first row of the table."""


@dataclass(slots=True)
class ListStates:
    """State of the lists that were opened from one level of the queue."""

    clusters: ClusterListState = field(default_factory=ClusterListState)
    statistics: dict[str, StatisticsPlace] = field(default_factory=dict)
    """Where the user left each screen with statistics, by the name of its menu."""
    selections: dict[str, Any] = field(default_factory=dict)
    """Value of the last selected row, by the name of the list."""


@dataclass(slots=True)
class QueueLevel:
    """Level of the queue above the current level. The key `queue.back` returns to it."""

    settings: QueueSettings
    cursor: CursorPosition
    opened_from: str = ""
    """Place at which the user chose the next level, which `queue.back` opens again. Empty if there
    is none.

    A place is the name of a list or screen. If the screen was open above another one, the names of
    both are joined by a slash, such as `overview/estimates`.
    """
    lists: ListStates = field(default_factory=ListStates)

    @property
    def place_name(self) -> str:
        """Name of the screen to which `queue.back` returns, such as `check`. Empty for a list."""
        _, _, name = self.opened_from.rpartition("/")
        return name

    @property
    def is_opened_from_overview(self) -> bool:
        """Whether the next level was chosen on the overview or on a screen above it."""
        return is_on_overview(self.opened_from)


OVERVIEW = "overview"
ESTIMATES = "estimates"
ADJUDICATION = "adjudicate"
"""Names of screens in places. The other names in places are those of the queue's menus."""


def place_above_overview(name: str) -> str:
    """Return the place of a screen that was opened on the overview, such as `overview/check`."""
    return f"{OVERVIEW}/{name}"


def is_on_overview(place: str) -> bool:
    """Whether a place is the overview or a screen above it."""
    first_name, _, _ = place.partition("/")
    return first_name == OVERVIEW


@dataclass(frozen=True, slots=True)
class ListChoice:
    """Items that the user chose to list on a screen above the queue, such as the overview."""

    menu_name: str
    """Name of a menu of the queue."""
    value: Any
    """Choice in this menu."""
    opened_from: str = OVERVIEW
    """Place to which the key `queue.back` returns from the list."""


class QueueLevels:
    """Levels of the queue above the current level, outermost first."""

    def __init__(self, state: QueueState, above: Sequence[QueueLevel] = ()) -> None:
        self._state = state
        self.above = list(above)
        self.lists = ListStates()

    def push_level(
        self, settings: QueueSettings, cursor: CursorPosition, opened_from: str = ""
    ) -> None:
        """Save the previous settings of the queue as a level to which the key `queue.back` returns.

        Without a change of the settings, no level is added. There is one exception: after a choice
        on the overview, the key returns to the overview.

        Args:
            settings: Settings of the queue before the change.
            opened_from: Place at which the user chose the new settings.
        """
        if settings != self._state.settings or is_on_overview(opened_from):
            level = QueueLevel(settings, cursor=cursor, opened_from=opened_from, lists=self.lists)
            self.above.append(level)
            self.lists = ListStates()

    def pop_level(self) -> QueueLevel | None:
        """Return to the level above the current level, and return this level.

        None at the outermost level.
        """
        if not self.above:
            return None
        level = self.above.pop()
        self._state.restore_settings(level.settings)
        self.lists = level.lists
        return level

    def show_all_items(self) -> None:
        """Show all items of the selected run, without a filter.

        The levels to which `queue.back` would return are removed if they show the same run.
        """
        self._state.reset_to_filter("")
        selected_run = self._state.run
        self.above = [level for level in self.above if level.settings.run != selected_run]

    def leave_lists_of_overview(self) -> CursorPosition | None:
        """Return to the list below the overview, from which the user had opened it.

        Lists that were chosen on the overview are left, so that each choice there replaces the one
        before. Returns the cursor of the list below. None if no such list is open.
        """
        for index, level in enumerate(self.above):
            if level.is_opened_from_overview:
                self.above = self.above[:index]
                self._state.restore_settings(level.settings)
                self.lists = level.lists
                return level.cursor
        return None


def level_to_json(settings: QueueSettings, cursor: CursorPosition) -> dict[str, Any]:
    """Convert a level of the queue to the JSON object {where, search, queue, seed, run, file,
    items: [number], item: [id, run] or null, line}.
    """
    return {**asdict(settings), "item": cursor.key, "line": cursor.line}


def level_from_json(fields: Mapping[str, Any]) -> tuple[QueueSettings, CursorPosition]:
    """Convert the result of `level_to_json` back to the settings of a queue and the position in it.

    Raises ValueError, TypeError or KeyError if `fields` is invalid.
    """
    settings = _settings_from_json(fields)
    line = int(fields["line"])
    if fields["item"] is None:
        return settings, CursorPosition(None, line=line, key=None)
    # The item is found again by its id and run, because its line may change.
    item_id, run = fields["item"]
    return settings, CursorPosition(None, line=line, key=(str(item_id), int(run)))


def _settings_from_json(fields: Mapping[str, Any]) -> QueueSettings:
    run = fields["run"]
    if run is not None and not isinstance(run, int):
        raise ValueError("invalid run in a saved queue position")
    file = fields.get("file")
    return QueueSettings(
        where=_get_text(fields, "where"),
        search=_get_text(fields, "search"),
        queue=_get_text(fields, "queue"),
        seed=int(fields["seed"]),
        run=run,
        file=None if file is None else str(file),
        items=tuple(int(item) for item in fields.get("items", ())),
    )


def _get_text(fields: Mapping[str, Any], name: str) -> str:
    text = fields[name]
    if not isinstance(text, str):
        raise ValueError(f"invalid {name} in a saved queue position")
    return text


POSITIONS_FOLDER = "positions"
MAX_SAVED_LEVELS = 20
"""Maximum number of levels that are saved.

If there are more, only the innermost levels are saved.
"""


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Current level of a queue with its cursor, and the levels above it."""

    settings: QueueSettings
    cursor: CursorPosition
    levels: Sequence[QueueLevel] = ()
    is_item_open: bool = False
    opens_unreviewed: bool = False
    """Whether the first unreviewed item opens at the start. Not saved."""
    note: str = ""
    """Message for the annotator. Not saved."""

    def is_at_queue_start(self, settings: QueueSettings) -> bool:
        """Whether this is the first line of the queue with these settings, and nothing is open."""
        is_first_line = self.cursor.line == 0 and not self.levels
        opens_item = self.is_item_open or self.opens_unreviewed
        return is_first_line and not opens_item and self.settings == settings


def save_position(
    annotator_state: AnnotatorState,
    state: QueueState,
    position: QueuePosition,
    *,
    start_options: str = "",
    store_state: Sequence[int] | None = None,
) -> None:
    """Save where the annotator is in the queue, so that the next session continues there.

    The levels, which are the queues from which this one was opened, are saved too.

    Args:
        start_options: Command-line options that select the queue. `load_position` needs the same
            ones.
        store_state: `Workspace.measure_store` of the store that the item numbers belong to.
    """
    levels_above = position.levels[-MAX_SAVED_LEVELS:]
    current_level = QueueLevel(position.settings, position.cursor)
    levels = []
    for level in (*levels_above, current_level):
        fields = level_to_json(level.settings, level.cursor)
        levels.append(fields | {"via": level.opened_from})
    saved_position = {
        "scope": list(state.scope),
        "blind": state.blind,
        "start": start_options,
        "store": store_state,
        "open": position.is_item_open,
        "levels": levels,
    }
    annotator_state.try_write(POSITIONS_FOLDER, saved_position)


def load_position(
    annotator_state: AnnotatorState,
    state: QueueState,
    can_open_file: Callable[[str], bool],
    *,
    start_options: str = "",
    store_state: Sequence[int] | None = None,
) -> QueuePosition | None:
    """Return the position in the queue at which the annotator left the last session.

    Returns None if the position was saved for other runs, another blind mode or other options, if a
    filter is invalid, or if `can_open_file` returns False for a queue file.

    A position consists of levels: the current queue and those from which it was opened. An import
    can give another number to an item. So, if the store has changed since then, the first level
    that selects items by number and the levels below it are omitted.

    Args:
        start_options: Command-line options that select the queue.
        store_state: `Workspace.measure_store` of the current store. None counts as changed.
    """
    saved_position = annotator_state.read(POSITIONS_FOLDER)
    if not _is_of_this_session(saved_position, state, start_options):
        return None
    saved_levels = _read_saved_levels(saved_position, state)
    has_same_store = store_state is not None and saved_position.get("store") == list(store_state)
    valid_levels = saved_levels
    if not has_same_store:
        valid_levels = _keep_levels_without_item_numbers(saved_levels)
    if not valid_levels or not _can_open_files(valid_levels, can_open_file):
        return None

    *above, current = valid_levels
    are_levels_omitted = len(valid_levels) < len(saved_levels)
    was_item_open = saved_position.get("open") is True
    return QueuePosition(
        current.settings,
        current.cursor,
        above,
        is_item_open=was_item_open and not are_levels_omitted,
        note=ITEMS_OF_OLDER_IMPORT if are_levels_omitted else "",
    )


def _can_open_files(levels: Sequence[QueueLevel], can_open_file: Callable[[str], bool]) -> bool:
    files = {level.settings.file for level in levels if level.settings.file}
    return all(can_open_file(file) for file in files)


def _is_of_this_session(
    saved_position: Mapping[str, Any], state: QueueState, start_options: str
) -> bool:
    """Whether a position was saved for the same runs, blind mode and command-line options."""
    has_same_runs = saved_position.get("scope") == list(state.scope)
    has_same_mode = saved_position.get("blind") is state.blind
    has_same_options = saved_position.get("start", "") == start_options
    return has_same_runs and has_same_mode and has_same_options


def _read_saved_levels(saved_position: Mapping[str, Any], state: QueueState) -> list[QueueLevel]:
    """Return the levels of a saved position, the current one last. Empty if one of them is
    invalid.
    """
    try:
        levels = [_level_from_saved_json(fields) for fields in saved_position["levels"]]
        for level in levels:
            state.parse_filter(level.settings.where)
    except (FilterError, ValueError, TypeError, KeyError):
        return []
    return levels


ITEMS_OF_OLDER_IMPORT = "The selected items are not shown: their numbers are of an older import"


def _keep_levels_without_item_numbers(levels: Sequence[QueueLevel]) -> list[QueueLevel]:
    """Return the levels above the first one that selects items by number."""
    kept = []
    for level in levels:
        if level.settings.items or has_item_numbers(level.settings.where):
            break
        kept.append(level)
    return kept


def _level_from_saved_json(fields: Mapping[str, Any]) -> QueueLevel:
    settings, cursor = level_from_json(fields)
    return QueueLevel(settings, cursor, str(fields["via"]))


@dataclass(frozen=True, slots=True)
class AnnotatorSwitch:
    """Request to end the session and to start a new one, as another annotator or in another
    mode.
    """

    annotator: str
    position: QueuePosition | None = None
    """Position in the queue at which the new session starts. None to start on the first screen."""
    blind: bool | None = None
    """Whether the new session is blind. None for the mode of the earlier session."""
    hides_models: bool | None = None
    """Whether the new session hides the names of models. None for the same as before."""
    opens: str = ""
    """Place that opens at the start, because the user asked for it. Empty for none."""


def has_assigned_items(workspace: Workspace, queue_name: str, annotator: str | None) -> bool:
    """Whether a queue file assigns items to the annotator. False if the file cannot be read."""
    from fcreview.store.queue_file import QueueError, read_queue

    try:
        return bool(read_queue(workspace, queue_name).find_share(annotator))
    except QueueError:
        return False


def first_unreviewed_position(queue_name: str, opened_from: str = "") -> QueuePosition:
    """Return the position that opens the first unreviewed item of a queue file.

    `opened_from`: place to which the key `queue.back` returns from the queue file. Empty for none.
    """
    levels = []
    if opened_from:
        # Below the place is the list of all items.
        levels.append(QueueLevel(QueueSettings(queue="dataset"), CursorPosition(), opened_from))
    return QueuePosition(
        QueueSettings(queue=queue_name, file=queue_name),
        CursorPosition(),
        levels,
        opens_unreviewed=True,
    )


def adapt_position_to_annotator(
    workspace: Workspace | None, annotator: str, position: QueuePosition, *, blind: bool
) -> QueuePosition:
    """Return where another annotator continues when the session switches to them.

    They keep the position, but not queue files that assign them no items.
    """

    def can_open(settings: QueueSettings) -> bool:
        if settings.file is None:
            return True
        return workspace is not None and has_assigned_items(workspace, settings.file, annotator)

    levels = tuple(level for level in position.levels if can_open(level.settings))
    settings = position.settings
    if settings.file is None:
        return QueuePosition(settings, position.cursor, levels)

    # In a queue file, each annotator has other items in another order, so the cursor begins at the
    # first one.
    if not can_open(settings):
        settings = _leave_queue_file(settings, blind=blind)
    return QueuePosition(settings, CursorPosition(), levels)


def _leave_queue_file(settings: QueueSettings, *, blind: bool) -> QueueSettings:
    """Return the settings without the queue file. Its order is replaced by the default order."""
    order = settings.queue
    if order == settings.file:
        order = "dataset" if blind else "failures"
    return replace(settings, file=None, queue=order)

"""Show the list of runs: search, sort or group it, choose a run, or mark two runs to compare
them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.store.queries.runs import (
    GROUP_LABELS,
    VERDICT_ORDERS,
    RunGroup,
    find_run_date_or_folder,
    group_runs,
    make_run_figures,
    search_runs,
    sort_runs,
)
from fcreview.store.rows import RunRow
from fcreview.tables.runs import OwnScores, RunColumn, RunFigures, list_score_columns
from fcreview.tables.table import (
    ALWAYS_SHOWN,
    EMPTY_CELL,
    SEPARATOR,
    Cell,
    CellStyle,
    Column,
    Row,
    Table,
)
from fcreview.tui.actions import MODAL_HELP_ACTIONS, RUN_LIST_ACTIONS
from fcreview.tui.keymap import find_action_key_names, make_bindings
from fcreview.tui.queue.header import format_run_title
from fcreview.tui.queue_state import ALL_RUNS
from fcreview.tui.screens.prompts import PickerScreen
from fcreview.tui.text.styles import symbols
from fcreview.tui.text.tables import FigureTable, make_figure_table
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.filter_input import RunSearchInput

RUN_ORDERS = (
    "run",
    "official",
    "corrected",
    "model",
    "date",
    "reviewed",
    "yours",
    "items",
    "issues",
)
GROUPINGS = ("", *GROUP_LABELS)
RunChoice = int | str
"""Line of the list of runs: the number of a run, `ALL_RUNS`, or the name of a group."""


def available_run_orders(*, blind: bool) -> list[str]:
    return [name for name in RUN_ORDERS if not (blind and name in VERDICT_ORDERS)]


@dataclass(slots=True)
class RunListState:
    """Order, grouping, search and folds of the list of runs."""

    order: str = "run"
    is_reversed: bool = False
    grouping: str = ""
    search: str = ""
    unfolded: set[str] = field(default_factory=set)

    def select_next_order(self, *, blind: bool) -> None:
        """Sort by the next of the orders, which follow each other in a circle."""
        names = available_run_orders(blind=blind)
        next_index = (names.index(self.order) + 1) % len(names)
        self.order = names[next_index]
        self.is_reversed = False

    def select_next_grouping(self) -> None:
        """Switch to the next grouping and fold all groups."""
        self.grouping = GROUPINGS[(GROUPINGS.index(self.grouping) + 1) % len(GROUPINGS)]
        self.unfolded.clear()

    @property
    def order_description(self) -> str:
        """Order and grouping, such as `by official, grouped by model`. Empty for the default."""
        parts = []
        if self.is_reversed:
            parts.append(f"by {self.order} reversed")
        elif self.order != "run":
            parts.append(f"by {self.order}")
        if self.grouping:
            parts.append(f"grouped by {self.grouping}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class RunListRow:
    """Line in the list of runs. It stands for all runs, for a group of runs, or for one run.

    `group` and `run` are None in the line for all runs.
    """

    runs: Sequence[RunRow]
    group: RunGroup | None = None
    run: RunRow | None = None
    is_in_group: bool = False

    @property
    def choice(self) -> RunChoice:
        if self.group is not None:
            return self.group.name
        return ALL_RUNS if self.run is None else self.run.run


def list_run_rows(runs: Sequence[RunRow], state: RunListState) -> list[RunListRow]:
    """Return the lines of the list of runs: a line for all runs, then groups and the runs in them.

    A search shows only the runs that it finds, and unfolds all groups.
    """
    found_runs = search_runs(runs, state.search)
    sorted_runs = sort_runs(found_runs, state.order, reverse=state.is_reversed)

    rows = [] if state.search else [RunListRow(runs)]
    for group in group_runs(sorted_runs, state.grouping):
        # A group with a single run may have no line of its own.
        has_line = _has_group_line(group, state)
        if has_line:
            rows.append(RunListRow(group.runs, group))
        is_unfolded = state.search or group.name in state.unfolded
        if is_unfolded or not has_line:
            rows += [RunListRow((run,), run=run, is_in_group=has_line) for run in group.runs]
    return rows


def _has_group_line(group: RunGroup, state: RunListState) -> bool:
    """Whether a group has a line of its own. A model with a single run has none."""
    if not state.grouping:
        return False
    return state.grouping != "model" or len(group.runs) > 1


MARK = "="
"""Sign before the name of the run that is marked to be compared."""
COLUMN_TITLES = {"yours": "by you", "date": "folder", "rule": "recomputed"}
"""Titles of the columns whose order has another name."""


@dataclass(frozen=True, slots=True)
class ListColumn:
    """Column of the list of runs."""

    column: Column
    make_cell: Callable[[RunListRow], Cell]


def build_run_list_table(
    runs: Sequence[RunRow],
    state: RunListState,
    *,
    blind: bool = False,
    own_scores: OwnScores | None = None,
    marked_run: int | None = None,
) -> FigureTable[RunChoice]:
    """Return the table of runs. Choosing a line shows the items of its run or runs.

    Columns without values are omitted. `own_scores`: values of the benchmark's own metric, if they
    are computed. `marked_run`: number of the run that is marked to be compared.
    """
    rows = list_run_rows(runs, state)
    # A benchmark that all runs share is named once, in the note.
    titles = {format_run_title(run) for run in runs}
    common_title = titles.pop() if len(titles) == 1 else ""

    columns = _list_columns(
        runs,
        state,
        own_scores or {},
        marked_run,
        show_benchmark=not common_title,
        blind=blind,
    )
    columns = [_keep_sorted_column(column, state) for column in columns]
    figure = Table(
        [column.column for column in columns],
        [Row([column.make_cell(row) for column in columns]) for row in rows],
        title="runs",
    )

    n_runs = len(runs)
    if state.search:
        n_runs = len({run.run for row in rows for run in row.runs})
    return make_figure_table(
        figure,
        [row.choice for row in rows],
        noun="run",
        total=n_runs,
        note=_format_list_note(runs, state, common_title, blind=blind),
        empty_message="no matches",
    )


def _format_list_note(
    runs: Sequence[RunRow], state: RunListState, common_title: str, *, blind: bool
) -> str:
    """Return the note beside the title: order, common benchmark, missing dataset, meaning of the
    rates.
    """
    notes = [state.order_description]
    if common_title:
        notes.append(common_title)
    if runs and all(run.info.lacks_dataset for run in runs):
        notes.append("no dataset")
    if not blind:
        notes.append("rates: items passed")
    return f" {symbols().separator} ".join(note for note in notes if note)


def _keep_sorted_column(column: ListColumn, state: RunListState) -> ListColumn:
    """Return the column. If the list is sorted by it, it is never omitted."""
    if column.column.title != COLUMN_TITLES.get(state.order, state.order):
        return column
    return replace(column, column=replace(column.column, priority=ALWAYS_SHOWN))


def _list_columns(
    runs: Sequence[RunRow],
    state: RunListState,
    own_scores: OwnScores,
    marked_run: int | None,
    *,
    show_benchmark: bool,
    blind: bool,
) -> list[ListColumn]:
    """Return the columns of the list of runs: those that tell the runs apart, and those with
    values.
    """
    columns = [_name_column(state, marked_run), _items_column(runs)]
    # Runs of one group have the same date or the same version, so its column is not needed.
    if state.grouping != "date" and len({find_run_date_or_folder(run) for run in runs}) > 1:
        columns.append(_folder_column())
    if state.grouping != "generation" and show_benchmark:
        columns.append(_benchmark_column())
    if not blind:
        columns += _score_columns(runs, own_scores)
    if len({run.info.lacks_dataset for run in runs}) > 1:
        columns.append(_dataset_column())

    # A narrow table omits the columns with the lowest priority.
    columns.append(_count_column("by you", "yours", priority=8))
    if any(run.n_issues for run in runs):
        columns.append(_count_column("issues", "n_issues", priority=1, style="warn"))
    return columns


RATE_SOURCES = {"official": "official", "recomputed": "rule", "corrected": "effective"}
"""Prefix of the counts of a column with pass rates, by its title."""


def _score_columns(runs: Sequence[RunRow], own_scores: OwnScores) -> list[ListColumn]:
    """Return the columns of scores, which `fcreview runs` prints too.

    The line of a group shows the lowest and the highest rate of the runs in it.
    """
    figures = {}
    for run in runs:
        figures[run.run] = replace(make_run_figures(run), own=own_scores.get(run.run))
    columns = []
    for run_column in list_score_columns(list(figures.values())):
        columns.append(_make_score_column(run_column, figures))
    return columns


def _make_score_column(column: RunColumn, figures: Mapping[int, RunFigures]) -> ListColumn:
    """Return a column of scores. A run has its score, and a group the range of its scores or their
    sum.
    """

    def make_cell(row: RunListRow) -> Cell:
        if row.run is not None:
            return column.make_cell(figures[row.run.run])
        if column.title in RATE_SOURCES:
            return _make_rate_range_cell(row, RATE_SOURCES[column.title])
        if column.title == "reviewed":
            n_reviewed = sum(figures[run.run].reviewed for run in row.runs)
            return Cell(f"{n_reviewed:,}")
        return EMPTY_CELL

    return ListColumn(column.column, make_cell)


def _name_column(state: RunListState, marked_run: int | None) -> ListColumn:
    """Return the column with the names of runs. The run that is marked for a comparison has a
    mark.
    """

    def make_cell(row: RunListRow) -> Cell:
        cell = _make_name_cell(row, state)
        is_marked = row.run is not None and row.run.run == marked_run
        return Cell(f"{MARK} {cell.text}", "strong") if is_marked else cell

    return ListColumn(Column("name", cut="middle", min_cells=12), make_cell)


def _folder_column() -> ListColumn:
    column = Column("folder", cut="middle", priority=2)
    return _single_run_column(
        column, lambda run: Cell(sanitize(find_run_date_or_folder(run)), "dim")
    )


def _benchmark_column() -> ListColumn:
    column = Column("benchmark", min_cells=7, priority=5)
    return _single_run_column(column, lambda run: Cell(format_run_title(run), "dim"))


def _dataset_column() -> ListColumn:
    """Return the column that marks runs without a dataset."""
    column = Column("dataset", priority=7)
    return _single_run_column(
        column, lambda run: Cell("none" if run.info.lacks_dataset else "", "warn")
    )


def _items_column(runs: Sequence[RunRow]) -> ListColumn:
    """Return the column with the number of items.

    A run that lacks items of the dataset shows both numbers: `3 of 400`.
    """
    if not any(run.not_run for run in runs):
        return _count_column("items", "n_items", 6)

    def make_cell(row: RunListRow) -> Cell:
        if row.run is None:
            return Cell(f"{sum(run.n_items for run in row.runs):,}")
        return Cell(row.run.items_text, "warn" if row.run.is_unfinished else "")

    return ListColumn(Column("items", align_right=True), make_cell)


def _count_column(title: str, attribute: str, priority: int, style: CellStyle = "") -> ListColumn:
    """Return a column with the sum of an attribute of the runs, such as `n_items`."""

    def make_cell(row: RunListRow) -> Cell:
        return Cell(f"{sum(getattr(run, attribute) for run in row.runs):,}", style)

    return ListColumn(Column(title, align_right=True, priority=priority), make_cell)


def _single_run_column(column: Column, make_run_cell: Callable[[RunRow], Cell]) -> ListColumn:
    """Return a column that has values only in the lines of single runs, not of groups or of all
    runs.
    """

    def make_cell(row: RunListRow) -> Cell:
        return EMPTY_CELL if row.run is None else make_run_cell(row.run)

    return ListColumn(column, make_cell)


def _make_name_cell(row: RunListRow, state: RunListState) -> Cell:
    """Return the name of a line: a group, all runs, or a run, which is indented below its group."""
    if row.group is not None:
        return _make_group_name_cell(row, row.group, state)
    if row.run is None:
        return Cell("all runs", "strong")
    name = row.run.run_name
    if row.is_in_group:
        # The group already has the name of the model.
        if state.grouping == "model":
            name = _remove_model(name, row.run)
        return Cell(f"    {name}")
    if state.grouping:
        return Cell(f"  {name}")
    return Cell(name)


def _make_group_name_cell(row: RunListRow, group: RunGroup, state: RunListState) -> Cell:
    is_unfolded = state.search or group.name in state.unfolded
    sign = symbols().unfolded if is_unfolded else symbols().folded
    name = sanitize(group.name) or "(none)"
    return Cell(f"{sign} {name}  {format_count(len(row.runs), 'run')}", "strong")


def _remove_model(name: str, run: RunRow) -> str:
    """Return the rest of a run name without the model, which the heading of the group names."""
    return name.removeprefix(f"{sanitize(run.info.model)}{SEPARATOR}")


def _make_rate_range_cell(row: RunListRow, source: str) -> Cell:
    """Return the lowest and the highest pass rate of a group of runs, such as `61.2-74.9 %`.

    A run counts only if all its items have a verdict. `source`: prefix of the attributes with the
    counts of passed and known verdicts, such as `official`.
    """
    if row.group is None:
        return EMPTY_CELL
    rates = []
    for run in row.runs:
        has_all_verdicts = getattr(run, f"{source}_known") == run.n_items
        if run.n_items > 0 and has_all_verdicts:
            rates.append(getattr(run, f"{source}_pass") / run.n_items)
    if not rates:
        return EMPTY_CELL

    lowest = f"{100 * min(rates):.1f}"
    highest = f"{100 * max(rates):.1f}"
    if lowest == highest:
        return Cell(f"{lowest} %", "dim")
    return Cell(f"{lowest}-{highest} %", "dim")


class RunsScreen(PickerScreen[RunChoice], inherit_bindings=False):
    """List of runs that can be sorted, searched and grouped. The result is the number of the chosen
    run.

    To compare two runs, the user marks one after the other.
    """

    place_name = "runs"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(RUN_LIST_ACTIONS, MODAL_HELP_ACTIONS)

    def __init__(
        self,
        runs: Sequence[RunRow],
        list_state: RunListState,
        initial_run: int | None,
        make_compare_screen: Callable[[int, int], Screen[Any]] | None,
        load_own_scores: Callable[[], Awaitable[OwnScores]] | None = None,
    ) -> None:
        """Create the list with the cursor on the run `initial_run`.

        `list_state` keeps the order and the search. In blind review, `make_compare_screen` and
        `load_own_scores` are None.
        """
        super().__init__()
        self._load_own_scores = load_own_scores
        self._own_scores: OwnScores = {}
        self._runs = runs
        self._list_state = list_state
        self._initial_run = initial_run
        self._make_compare_screen = make_compare_screen
        self._marked_run: int | None = None
        """Number of the first run to compare."""

    def compose_below_list(self) -> Iterable[Widget]:
        yield RunSearchInput(self._list_state.search)

    def on_mount(self) -> None:
        super().on_mount()
        self._redraw(self._initial_run)
        self._read_own_scores()

    @work(exclusive=True, group="own scores")
    async def _read_own_scores(self) -> None:
        """Read the values of the benchmark's own metric, and add their column."""
        if self._load_own_scores is None:
            return
        self._own_scores = await self._load_own_scores()
        self._redraw(self._choice_at_cursor)

    @property
    def _search_box(self) -> RunSearchInput:
        return self.query_one(RunSearchInput)

    @property
    def _is_searching(self) -> bool:
        return self.is_mounted and isinstance(self.focused, RunSearchInput)

    def on_resize(self) -> None:
        self._redraw(self._choice_at_cursor)

    @property
    def _choice_at_cursor(self) -> RunChoice | None:
        values = self._choices.values if self._choices is not None else ()
        return values[self.list.cursor] if values else self._initial_run

    def _redraw(self, cursor_choice: RunChoice | None) -> None:
        """Redraw the list with the cursor on this line, or on its group if the group is folded."""
        choices = build_run_list_table(
            self._runs,
            self._list_state,
            blind=self._is_blind,
            own_scores=self._own_scores,
            marked_run=self._marked_run,
        )
        if self._marked_run is not None:
            choices.note = self._describe_mark()
        choices.cursor = self._find_choice_index(choices.values, cursor_choice)
        self._choices = choices

        self._draw()
        self.list.move_cursor(choices.cursor)
        self.refresh_bindings()

    @property
    def _is_blind(self) -> bool:
        return self._make_compare_screen is None

    def _describe_mark(self) -> str:
        """Return the note that one run is marked, and the key that marks the other one."""
        key = find_action_key_names(self.app).get("runs.compare", "")
        hint = f" {symbols().separator} {key} on another run compares" if key else ""
        return f"1 of 2 marked{hint}"

    def _find_choice_index(self, values: Sequence[RunChoice], choice: RunChoice | None) -> int:
        """Return the index of a choice, or of its group, or 0."""
        if choice in values:
            return values.index(choice)
        if not self._list_state.grouping:
            return 0

        # The group of the run is folded, so the line of the group stands for the run.
        name_group = GROUP_LABELS[self._list_state.grouping]
        for run in self._runs:
            if run.run == choice:
                group = name_group(run)
                return values.index(group) if group in values else 0
        return 0

    # -- order, groups and search

    def action_next_order(self) -> None:
        self._list_state.select_next_order(blind=self._is_blind)
        self._redraw(self._choice_at_cursor)

    def action_reverse_order(self) -> None:
        self._list_state.is_reversed = not self._list_state.is_reversed
        self._redraw(self._choice_at_cursor)

    def action_next_grouping(self) -> None:
        self._list_state.select_next_grouping()
        self._redraw(self._choice_at_cursor)

    def action_unfold(self, unfold: bool) -> None:
        """Unfold or fold the group under the cursor.

        After folding, the cursor is on the line of the group.
        """
        if self._choices is None:
            return

        # The value of a group's line is its name, and that of a run's line is a number. The runs
        # of a group stand below its line, so the last name above the cursor is the group.
        values_up_to_cursor = self._choices.values[: self.list.cursor + 1]
        group_names = [value for value in values_up_to_cursor if isinstance(value, str)]
        if not group_names or values_up_to_cursor[-1] == ALL_RUNS:
            return
        group_name = group_names[-1]

        unfolded_groups = self._list_state.unfolded
        is_unfolded = group_name in unfolded_groups
        if is_unfolded == unfold:
            return
        if unfold:
            unfolded_groups.add(group_name)
            self._redraw(self._choice_at_cursor)
        else:
            unfolded_groups.remove(group_name)
            self._redraw(group_name)

    def action_move(self, by: int) -> None:
        self.list.action_move(by)

    def action_open_search(self) -> None:
        self._search_box.display = True
        self._search_box.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self._list_state.search:
            self._list_state.search = event.value
            self._redraw(self._choice_at_cursor)

    def action_end_search(self, keep_search: bool) -> None:
        """Return from the search box to the list. Without `keep_search`, show all runs again."""
        if not keep_search:
            self._search_box.value = self._list_state.search = ""
        self._search_box.display = bool(self._list_state.search)
        self.list.focus()
        self._redraw(self._choice_at_cursor)

    # -- choosing and comparing runs

    def action_choose_row(self) -> None:
        """Choose the run under the cursor. A row that stands for several runs is unfolded or
        folded.
        """
        here = self._choice_at_cursor
        if isinstance(here, str):
            self.action_unfold(here not in self._list_state.unfolded)
        elif here is not None and self._choices is not None and self._choices.values:
            self.dismiss(here)

    def action_close(self) -> None:
        if self._list_state.search:
            self.action_end_search(False)
        else:
            super().action_close()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return not self._is_searching or action in ("end_search", "move")

    @property
    def hidden_actions(self) -> frozenset[str]:
        """Ids of actions that only show a message now. The key line and the help omit them."""
        hidden = {"runs.compare"} if self._is_blind else set()
        return frozenset(hidden | ({"app.help"} if self._is_searching else set()))

    def action_mark_run(self) -> None:
        """Mark the run under the cursor, compare it with the marked run, or remove its mark."""
        if self._make_compare_screen is None:
            self.show_message(
                "comparing runs is not available in blind review because it reveals verdicts"
            )
            return
        run = self._choice_at_cursor
        if run is None or isinstance(run, str) or run == ALL_RUNS:
            self.show_message("move to a run to mark it for comparison")
            return

        first_run = self._marked_run
        if first_run is None:
            self._marked_run = run
            self._redraw(run)
            return

        self._marked_run = None
        self._redraw(run)
        if first_run == run:
            self.show_message("the mark is removed")
        else:
            self.app.push_screen(self._make_compare_screen(first_run, run))

"""Show the list of runs: search, sort or group it, choose a run, or mark two runs to compare
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import COLUMN_GAP, compute_column_widths, format_count
from fcreview.store.queries.runs import (
    GROUP_LABELS,
    VERDICT_ORDERS,
    RunGroup,
    find_run_date_or_folder,
    group_runs,
    search_runs,
    sort_runs,
)
from fcreview.store.rows import RunRow
from fcreview.tui.actions import MODAL_HELP_ACTIONS, RUN_LIST_ACTIONS
from fcreview.tui.keymap import find_action_key_names, make_bindings
from fcreview.tui.queue.header import format_run_title
from fcreview.tui.queue.state import ALL_RUNS
from fcreview.tui.screens.prompts import PickerScreen
from fcreview.tui.text.lines import (
    ChoiceTable,
    StyledText,
    TextColumn,
    format_pass_rate,
    format_recomputed_pass_rate,
    truncate_middle,
)
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.styles import symbols
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
        names = available_run_orders(blind=blind)
        self.order, self.is_reversed = names[(names.index(self.order) + 1) % len(names)], False

    def select_next_grouping(self) -> None:
        """Switch to the next grouping and fold all groups."""
        self.grouping = GROUPINGS[(GROUPINGS.index(self.grouping) + 1) % len(GROUPINGS)]
        self.unfolded.clear()

    @property
    def order_description(self) -> str:
        """Order and grouping, such as `by official, grouped by model`. Empty for the default."""
        order = f"by {self.order}" if self.order != "run" or self.is_reversed else ""
        parts = [
            order + " reversed" * self.is_reversed,
            f"grouped by {self.grouping}" if self.grouping else "",
        ]
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class RunListRow:
    """Line for all runs, for a group, or for one run.

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
    """Return a line for all runs, then groups and runs.

    A search omits the first line and unfolds all groups.
    """
    found_runs = search_runs(runs, state.search)
    sorted_runs = sort_runs(found_runs, state.order, reverse=state.is_reversed)

    rows = [] if state.search else [RunListRow(runs)]
    for group in group_runs(sorted_runs, state.grouping):
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


MIN_MODEL_CELLS = 12
MARGIN_CELLS = 3
ALWAYS_SHOWN, SORTED_COLUMN = 100, 99
"""Priorities of fixed columns and of the sorted column. These columns are never omitted."""
COLUMN_TITLES = {"yours": "by you", "date": "folder"}


@dataclass(frozen=True, slots=True)
class RunColumn:
    column: TextColumn
    format_cell: Callable[[RunListRow], StyledText]
    priority: int = ALWAYS_SHOWN
    """Priority of the column.

    If model names would be cut, columns with the lowest priority are omitted first.
    """


def build_run_list_table(
    runs: Sequence[RunRow], state: RunListState, width: int, *, blind: bool = False
) -> ChoiceTable[RunChoice]:
    """Return the table of runs without empty columns and, if `width` is small, without less
    important columns.
    """
    rows = list_run_rows(runs, state)
    titles = {format_run_title(run) for run in runs}
    common_title = titles.pop() if len(titles) == 1 else ""

    columns = _run_columns(runs, state, show_benchmark=not common_title, blind=blind)
    columns = _keep_sorted_column(columns, state)
    columns = _drop_columns_to_fit(columns, rows, width - MARGIN_CELLS)

    n_runs = len(runs)
    if state.search:
        n_runs = len({run.run for row in rows for run in row.runs})
    return ChoiceTable(
        title="runs",
        noun="run",
        columns=[column.column for column in columns],
        rows=[[column.format_cell(row) for column in columns] for row in rows],
        values=[row.choice for row in rows],
        total=n_runs,
        note=_format_list_note(runs, state, common_title),
        empty_message="no matches",
    )


def _format_list_note(runs: Sequence[RunRow], state: RunListState, common_title: str) -> str:
    notes = [state.order_description]
    if common_title:
        notes.append(common_title)
    if runs and all(run.info.lacks_dataset for run in runs):
        notes.append("no dataset")
    return f" {symbols().separator} ".join(note for note in notes if note)


def _keep_sorted_column(columns: Sequence[RunColumn], state: RunListState) -> list[RunColumn]:
    """Return the columns with a priority for the sorted column that is never omitted."""
    sorted_title = COLUMN_TITLES.get(state.order, state.order)
    return [
        replace(column, priority=SORTED_COLUMN) if column.column.title == sorted_title else column
        for column in columns
    ]


def _drop_columns_to_fit(
    columns: list[RunColumn], rows: Sequence[RunListRow], width: int
) -> list[RunColumn]:
    """Omit the columns with the lowest priorities until the table is at most `width` cells wide."""
    titles = [column.column.title for column in columns]
    texts = [[column.format_cell(row)[0] for column in columns] for row in rows]
    cells_by_column = dict(zip(columns, compute_column_widths(titles, texts), strict=True))

    while True:
        table_cells = sum(cells_by_column.values()) + COLUMN_GAP * (len(cells_by_column) - 1)
        if table_cells <= width:
            break
        least_important = min(cells_by_column, key=lambda column: column.priority)
        if least_important.priority >= SORTED_COLUMN:
            break
        del cells_by_column[least_important]
    return list(cells_by_column)


def _run_columns(
    runs: Sequence[RunRow], state: RunListState, *, show_benchmark: bool, blind: bool
) -> list[RunColumn]:
    """Return the columns that distinguish the runs or have a value for any run."""
    columns = [_name_column(state), _items_column(runs)]
    if state.grouping != "date" and len({find_run_date_or_folder(run) for run in runs}) > 1:
        columns.append(_folder_column())
    if state.grouping != "generation" and show_benchmark:
        columns.append(_benchmark_column())
    if not blind:
        columns += _verdict_columns(runs)
    if len({run.info.lacks_dataset for run in runs}) > 1:
        columns.append(_dataset_column())

    columns.append(_count_column("by you", "yours", 8))
    if not blind and any(run.reviewed > run.yours for run in runs):
        columns.append(_count_column("reviewed", "reviewed", 7))
    if any(run.n_issues for run in runs):
        columns.append(_count_column("issues", "n_issues", 1, style="warn"))
    return columns


def _verdict_columns(runs: Sequence[RunRow]) -> list[RunColumn]:
    """Return the columns with pass rates. The corrected rate is always shown if there are reviews,
    because otherwise it equals the official one.
    """
    columns = [_rate_column("official", "official", ALWAYS_SHOWN, _official_cell)]
    if any(run.incidents for run in runs):
        columns.append(_without_incidents_column())
    if any(run.rule_known for run in runs):
        columns.append(_rate_column("recomp.", "rule", 4, _recomputed_cell))
    has_reviews = any(run.reviewed or run.in_part for run in runs)
    corrected_priority = ALWAYS_SHOWN if has_reviews else 3
    columns.append(_rate_column("corrected", "effective", corrected_priority, _corrected_cell))
    return columns


def _name_column(state: RunListState) -> RunColumn:
    column = TextColumn("name", truncate=_cut_middle_evenly, min_width=MIN_MODEL_CELLS)
    return RunColumn(column, format_cell=lambda row: _name_cell(row, state))


def _folder_column() -> RunColumn:
    column = TextColumn("folder", truncate=_cut_middle_evenly)
    return _single_run_column(
        column, 2, lambda run: (sanitize(find_run_date_or_folder(run)), "dim")
    )


def _benchmark_column() -> RunColumn:
    column = TextColumn("bench", min_width=7)
    return _single_run_column(column, 5, lambda run: (format_run_title(run), "dim"))


def _dataset_column() -> RunColumn:
    """Return the column that marks runs without a dataset."""
    return _single_run_column(
        TextColumn("dataset"), 7, lambda run: ("none" if run.info.lacks_dataset else "", "warn")
    )


def _without_incidents_column() -> RunColumn:
    column = TextColumn("w/o incidents", align_right=True)
    return _single_run_column(column, 8, lambda run: (run.without_incidents_text, ""))


def _items_column(runs: Sequence[RunRow]) -> RunColumn:
    """Return the column with the number of items: `3 of 400` for a run that lacks items of the
    dataset.
    """
    if not any(run.not_run for run in runs):
        return _count_column("items", "n_items", 6)

    def format_cell(row: RunListRow) -> StyledText:
        if row.run is None:
            return f"{sum(run.n_items for run in row.runs):,}", ""
        return row.run.items_text, "warn" if row.run.is_unfinished else ""

    return RunColumn(
        TextColumn("items", align_right=True), format_cell=format_cell, priority=ALWAYS_SHOWN
    )


def _count_column(title: str, attribute: str, priority: int, style: str = "") -> RunColumn:
    """Return a column with the sum of an attribute of the runs, such as `n_items`."""
    column = TextColumn(title, align_right=True)
    return RunColumn(
        column,
        format_cell=lambda row: (f"{sum(getattr(run, attribute) for run in row.runs):,}", style),
        priority=priority,
    )


def _name_cell(row: RunListRow, state: RunListState) -> StyledText:
    if row.group is not None:
        return _group_name_cell(row, row.group, state)
    if row.run is None:
        return "all runs", "strong"
    name = format_run_name(row.run)
    if row.is_in_group:
        if state.grouping == "model":
            name = _remove_model(name, row.run)
        return f"    {name}", ""
    if state.grouping:
        return f"  {name}", ""
    return name, ""


def _group_name_cell(row: RunListRow, group: RunGroup, state: RunListState) -> StyledText:
    is_unfolded = state.search or group.name in state.unfolded
    sign = symbols().unfolded if is_unfolded else symbols().folded
    name = sanitize(group.name) or "(none)"
    return f"{sign} {name}  {format_count(len(row.runs), 'run')}", "strong"


def _remove_model(name: str, run: RunRow) -> str:
    """Return what a name says beside the model, which is the heading of the group."""
    start = f"{sanitize(run.info.model)} {symbols().separator} "
    return name.removeprefix(start)


def _single_run_column(
    column: TextColumn, priority: int, format_run: Callable[[RunRow], StyledText]
) -> RunColumn:
    """Return a column that has values only in the lines of single runs, not of groups or of all
    runs.
    """
    return RunColumn(
        column,
        format_cell=lambda row: ("", "") if row.run is None else format_run(row.run),
        priority=priority,
    )


def _rate_column(
    title: str, source: str, priority: int, format_run: Callable[[RunRow], StyledText]
) -> RunColumn:
    """Return a column with the pass rates of runs, and the range of rates in the line of a group.

    `source`: prefix of the attributes with the counts of passed and known verdicts, such as
    `official`.
    """
    column = TextColumn(title, align_right=True)
    return RunColumn(
        column,
        format_cell=lambda row: (
            _rate_range_cell(row, source) if row.run is None else format_run(row.run)
        ),
        priority=priority,
    )


def _official_cell(run: RunRow) -> StyledText:
    return run.official_rate_text, ""


def _recomputed_cell(run: RunRow) -> StyledText:
    rate = format_recomputed_pass_rate(
        run.rule_pass, run.rule_known, run.n_items, lacks_dataset=run.info.lacks_dataset
    )
    return rate, ""


def _corrected_cell(run: RunRow) -> StyledText:
    text = format_pass_rate(run.effective_pass, run.effective_known, run.n_items)
    if run.disputed:
        text += f" {symbols().separator} {run.disputed:,} open"
    return text, "strong"


def _rate_range_cell(row: RunListRow, source: str) -> StyledText:
    """Return the lowest and highest pass rate of the runs of a group.

    A run counts only if all its items have a verdict.
    """
    if row.group is None:
        return "", ""
    rates = []
    for run in row.runs:
        n_known = getattr(run, f"{source}_known")
        if n_known == run.n_items > 0:
            rates.append(getattr(run, f"{source}_pass") / run.n_items)
    if not rates:
        return "", ""

    lowest = f"{100 * min(rates):.1f}"
    highest = f"{100 * max(rates):.1f}"
    if lowest == highest:
        return f"{lowest} %", "dim"
    return f"{lowest}-{highest} %", "dim"


def _cut_middle_evenly(text: str, width: int) -> str:
    return truncate_middle(text, width, 1 / 2)


class RunsScreen(PickerScreen[RunChoice], inherit_bindings=False):
    """List of runs that can be sorted, searched and grouped. The result is the number of the chosen
    run.

    To compare two runs, the user marks one after the other.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(RUN_LIST_ACTIONS, MODAL_HELP_ACTIONS)

    def __init__(
        self,
        runs: Sequence[RunRow],
        list_state: RunListState,
        initial_run: int | None,
        make_compare_screen: Callable[[int, int], Screen[Any]] | None,
    ) -> None:
        """Create the list with the cursor on the run `initial_run`.

        `list_state` keeps the order and the search. In blind review, `make_compare_screen` is None.
        """
        super().__init__()
        self._runs, self._list_state, self._initial_run = runs, list_state, initial_run
        self._make_compare_screen = make_compare_screen
        self._marked_run: int | None = None
        """Number of the first run to compare."""

    def compose_below_list(self) -> Iterable[Widget]:
        yield RunSearchInput(self._list_state.search)

    def on_mount(self) -> None:
        super().on_mount()
        self._redraw(self._initial_run)

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
            self._runs, self._list_state, self.size.width, blind=self._is_blind
        )
        if self._marked_run is not None:
            choices.note = self._format_marked_run(self._marked_run)
        choices.cursor = self._find_choice_index(choices.values, cursor_choice)
        self._choices = choices

        self._draw()
        self.list.move_cursor(choices.cursor)
        self.refresh_bindings()

    @property
    def _is_blind(self) -> bool:
        return self._make_compare_screen is None

    def _format_marked_run(self, run_number: int) -> str:
        """Return the note that names run A and the key that chooses run B."""
        marked = [run for run in self._runs if run.run == run_number]
        name = format_run_name(marked[0]) if marked else ""
        key = find_action_key_names(self.app).get("runs.compare", "")
        return f"A: run {run_number} {truncate_middle(name, 30)}; mark B with {key}"

    def _find_choice_index(self, values: Sequence[RunChoice], choice: RunChoice | None) -> int:
        """Return the index of a choice, or of its group, or 0."""
        if choice not in values and self._list_state.grouping:
            label = GROUP_LABELS[self._list_state.grouping]
            groups = [label(run) for run in self._runs if run.run == choice]
            choice = groups[0] if groups else None
        return values.index(choice) if choice in values else 0

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
        # The runs of a group stand below its line.
        values_up_to_cursor = self._choices.values[: self.list.cursor + 1]
        group_names = [value for value in values_up_to_cursor if isinstance(value, str)]
        if not group_names or values_up_to_cursor[-1] == ALL_RUNS:
            return

        group_name = group_names[-1]
        if (group_name in self._list_state.unfolded) == unfold:
            return
        self._list_state.unfolded ^= {group_name}
        self._redraw(self._choice_at_cursor if unfold else group_name)

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
        run = self._choice_at_cursor
        if self._make_compare_screen is None:
            self.show_message(
                "comparing runs is not available in blind review because it reveals verdicts"
            )
            return
        if run is None or isinstance(run, str) or run == ALL_RUNS:
            self.show_message("move to a run to mark it for comparison")
            return
        marked, self._marked_run = self._marked_run, run if self._marked_run is None else None
        if marked is not None and marked != run:
            self.app.push_screen(self._make_compare_screen(marked, run))
        self._redraw(run)

"""Show the list of runs: search, sort or group it, choose a run, or mark two runs to compare them."""

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
    SORT_KEYS,
    VERDICT_ORDERS,
    RunGroup,
    find_run_date_or_folder,
    group_runs,
    search_runs,
    sort_runs,
)
from fcreview.store.rows import RunRow
from fcreview.tui.actions import MODAL_HELP_ACTIONS, RUN_LIST_ACTIONS, RUN_SEARCH_ACTIONS
from fcreview.tui.keymap import find_action_key_names, make_bindings
from fcreview.tui.queue.header import run_title
from fcreview.tui.queue.state import ALL_RUNS
from fcreview.tui.screens.prompts import PickerScreen
from fcreview.tui.text.lines import (
    ChoiceTable,
    TextColumn,
    format_pass_rate,
    format_recomputed_pass_rate,
    truncate_middle,
)
from fcreview.tui.text.lines import StyledText as Cell
from fcreview.tui.text.styles import symbols
from fcreview.tui.widgets.base import SafeInput

RUN_ORDERS = ("run", "official", "corrected", "model", "date", "reviewed", "yours", "items", "issues")
GROUPINGS = ("", *GROUP_LABELS)


def available_run_orders(*, blind: bool) -> list[str]:
    return [name for name in RUN_ORDERS if name in SORT_KEYS and not (blind and name in VERDICT_ORDERS)]


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

    def has_group_line(self, group: RunGroup) -> bool:
        """Whether the list has a line for the group. A model with only one run has no group line."""
        return bool(self.grouping) and not (self.grouping == "model" and len(group.runs) == 1)

    @property
    def order_description(self) -> str:
        """Order and grouping, such as `by official, grouped by model`. Empty for the default."""
        order = f"by {self.order}" if self.order != "run" or self.is_reversed else ""
        parts = [order + " reversed" * self.is_reversed, f"grouped by {self.grouping}" if self.grouping else ""]
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class RunListRow:
    """Line of the list of runs. It shows all runs together, a group, or one run."""

    runs: Sequence[RunRow]
    group: RunGroup | None = None
    run: RunRow | None = None
    is_in_group: bool = False

    @property
    def result_value(self) -> int | str:
        """Value that the list returns when the user chooses the line: the number of the run, `ALL_RUNS`, or the name of
        the group."""
        if self.group is not None:
            return self.group.name
        return ALL_RUNS if self.run is None else self.run.run


def list_run_rows(runs: Sequence[RunRow], state: RunListState) -> list[RunListRow]:
    """Return the lines of the list: the line for all runs, then groups and runs. During a search, the line for all runs
    is omitted and all groups are unfolded."""
    matching = sort_runs(search_runs(runs, state.search), state.order, reverse=state.is_reversed)
    rows = [] if state.search else [RunListRow(runs)]
    for group in group_runs(matching, state.grouping):
        has_line = state.has_group_line(group)
        if has_line:
            rows.append(RunListRow(group.runs, group))
        if not has_line or state.search or group.name in state.unfolded:
            rows += [RunListRow((run,), run=run, is_in_group=has_line) for run in group.runs]
    return rows


MIN_MODEL_CELLS = 12
MARGIN_CELLS = 3
ALWAYS_SHOWN, SORTED_COLUMN = 100, 99
"""Priorities of fixed columns and of the sorted column. These columns are never omitted."""
COLUMN_TITLES = {"reviewed": "by anyone", "yours": "by you", "date": "folder"}


@dataclass(frozen=True, slots=True)
class RunColumn:
    column: TextColumn
    format_cell: Callable[[RunListRow], Cell]
    priority: int = ALWAYS_SHOWN
    """Priority of the column. If model names would be cut, columns with the lowest priority are omitted first."""


def run_choices(
    runs: Sequence[RunRow], state: RunListState, width: int, *, selected_run: int | None = None, blind: bool = False
) -> ChoiceTable[int | str]:
    """Return the table of runs without empty columns. `selected_run`: number of the run under the cursor."""
    rows = list_run_rows(runs, state)
    titles = {run_title(run) for run in runs}
    title = titles.pop() if len(titles) == 1 else ""
    sorted_title = COLUMN_TITLES.get(state.order, state.order)
    columns = [
        replace(each, priority=SORTED_COLUMN) if each.column.title == sorted_title != "model" else each
        for each in _run_columns(runs, state, show_benchmark=not title, blind=blind)
    ]
    columns = _drop_columns_to_fit(columns, rows, width - MARGIN_CELLS)
    values = [row.result_value for row in rows]
    lacks_dataset = bool(runs) and all(run.info.lacks_dataset for run in runs)
    notes = [state.order_description, title, "no dataset" if lacks_dataset else ""]
    return ChoiceTable(
        title="runs",
        noun="run",
        columns=[each.column for each in columns],
        rows=[[each.format_cell(row) for each in columns] for row in rows],
        values=values,
        cursor=values.index(selected_run) if selected_run in values else 0,
        total=len({run.run for row in rows for run in row.runs} if state.search else runs),
        note=f" {symbols().separator} ".join(filter(None, notes)),
        empty_message="no matches",
    )


def _drop_columns_to_fit(columns: list[RunColumn], rows: Sequence[RunListRow], width: int) -> list[RunColumn]:
    texts = [[each.format_cell(row)[0] for each in columns] for row in rows]
    sizes = compute_column_widths([each.column.title for each in columns], texts)
    kept = dict(zip(columns, sizes, strict=True))
    while sum(kept.values()) + COLUMN_GAP * (len(kept) - 1) > width:
        lowest = min(kept, key=lambda each: each.priority)
        if lowest.priority >= SORTED_COLUMN:
            break
        del kept[lowest]
    return list(kept)


def _run_columns(runs: Sequence[RunRow], state: RunListState, *, show_benchmark: bool, blind: bool) -> list[RunColumn]:
    lacking = {run.info.lacks_dataset for run in runs}
    has_reviews = any(run.reviewed or run.in_part for run in runs)
    has_repeated_models = len({run.info.model for run in runs}) < len(runs)
    columns = [
        RunColumn(
            TextColumn("model", truncate=_cut_middle_evenly, min_width=MIN_MODEL_CELLS), _name_cell_formatter(state)
        ),
        _count_column("items", "n_items", 6),
    ]
    if len({find_run_date_or_folder(run) for run in runs}) > 1 and state.grouping not in ("date", "model"):
        folder = TextColumn("folder", truncate=_cut_middle_evenly)
        priority = 9 if has_repeated_models else 2
        columns.append(
            _single_run_column(folder, priority, lambda run: (sanitize(find_run_date_or_folder(run)), "dim"))
        )
    if show_benchmark and state.grouping not in ("generation", "model"):
        columns.append(_single_run_column(TextColumn("bench", min_width=7), 5, lambda run: (run_title(run), "dim")))
    if not blind:
        columns.append(RunColumn(TextColumn("official", align_right=True), _official_cell))
        if any(run.rule_known for run in runs):
            columns.append(RunColumn(TextColumn("recomp.", align_right=True), _recomputed_cell, 4))
        corrected = TextColumn("corrected", align_right=True)
        columns.append(RunColumn(corrected, _corrected_cell, ALWAYS_SHOWN if has_reviews else 3))
    if len(lacking) > 1:
        dataset = TextColumn("dataset")
        columns.append(_single_run_column(dataset, 7, lambda run: ("none" if run.info.lacks_dataset else "", "warn")))
    columns.append(_count_column("by you", "yours", 8))
    if not blind and any(run.reviewed > run.yours for run in runs):
        columns.append(_count_column("by anyone", "reviewed", 7))
    if any(run.n_issues for run in runs):
        columns.append(_count_column("issues", "n_issues", 1, "warn"))
    return columns


def _count_column(title: str, field_name: str, priority: int, style: str = "") -> RunColumn:
    def format_cell(row: RunListRow) -> Cell:
        return f"{sum(getattr(run, field_name) for run in row.runs):,}", style

    return RunColumn(TextColumn(title, align_right=True), format_cell, priority)


def _name_cell_formatter(state: RunListState) -> Callable[[RunListRow], Cell]:
    def format_cell(row: RunListRow) -> Cell:
        if row.group is not None:
            is_unfolded = state.search or row.group.name in state.unfolded
            sign = symbols().unfolded if is_unfolded else symbols().folded
            return f"{sign} {sanitize(row.group.name) or '(none)'}  {format_count(len(row.runs), 'run')}", "strong"
        if row.run is None:
            return "all runs", "strong"
        model = sanitize(row.run.info.model)
        if not row.is_in_group:
            return ("  " if state.grouping else "") + model, ""
        title = f"{run_title(row.run)}  {sanitize(find_run_date_or_folder(row.run))}"
        return "    " + (title if state.grouping == "model" else model), ""

    return format_cell


def _single_run_column(column: TextColumn, priority: int, format_run: Callable[[RunRow], Cell]) -> RunColumn:
    """Return a column that has values only in the lines of single runs, not of groups or of all runs."""
    return RunColumn(column, lambda row: ("", "") if row.run is None else format_run(row.run), priority)


def _official_cell(row: RunListRow) -> Cell:
    return (row.run.official_rate_text, "") if row.run is not None else _rate_range_cell(row, "official")


def _recomputed_cell(row: RunListRow) -> Cell:
    if row.run is None:
        return _rate_range_cell(row, "rule")
    return format_recomputed_pass_rate(row.run.rule_pass, row.run.rule_known, row.run.n_items), ""


def _corrected_cell(row: RunListRow) -> Cell:
    if row.run is None:
        return _rate_range_cell(row, "effective")
    rate = format_pass_rate(row.run.effective_pass, row.run.effective_known, row.run.n_items)
    disputed = f" {symbols().separator} {row.run.disputed:,} open" if row.run.disputed else ""
    return rate + disputed, "strong"


def _rate_range_cell(row: RunListRow, source: str) -> Cell:
    if row.group is None:
        return "", ""
    complete = [run for run in row.runs if getattr(run, f"{source}_known") == run.n_items > 0]
    rates = sorted(getattr(run, f"{source}_pass") / run.n_items for run in complete)
    if not rates:
        return "", ""
    lowest, highest = (f"{100 * rate:.1f}" for rate in (rates[0], rates[-1]))
    return (f"{lowest} %" if lowest == highest else f"{lowest}-{highest} %"), "dim"


def _cut_middle_evenly(text: str, width: int) -> str:
    return truncate_middle(text, width, 1 / 2)


class RunSearchInput(SafeInput):
    """Search box below the list of runs."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(RUN_SEARCH_ACTIONS)

    def __init__(self, search: str = "") -> None:
        super().__init__(search, placeholder="model, benchmark, version or path", compact=True)
        self.display = bool(search)


class RunsScreen(PickerScreen["int | str"], inherit_bindings=False):
    """List of runs that can be sorted, searched and grouped. The result is the number of the chosen run.

    To compare two runs, the user marks one after the other.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(RUN_LIST_ACTIONS, MODAL_HELP_ACTIONS)
    CSS_PATH = "pick.tcss"

    def __init__(
        self,
        runs: Sequence[RunRow],
        list_state: RunListState,
        selected: int | None,
        compare: Callable[[int, int], Screen[Any]] | None,
    ) -> None:
        """Create the list with the cursor on the run `selected`. The list keeps its order and search in `list_state`.

        `compare` makes the screen that compares two runs. It is None in blind review.
        """
        super().__init__()
        self._runs, self._list_state, self._selected, self._compare = runs, list_state, selected, compare
        self._marked: int | None = None

    def compose_below_list(self) -> Iterable[Widget]:
        yield RunSearchInput(self._list_state.search)

    def on_mount(self) -> None:
        super().on_mount()
        self._redraw(self._selected)

    @property
    def _search_input(self) -> RunSearchInput:
        return self.query_one(RunSearchInput)

    def on_resize(self) -> None:
        self._redraw(self._value_at_cursor)

    @property
    def _value_at_cursor(self) -> int | str | None:
        values = self._choices.values if self._choices is not None else ()
        return values[self.list.cursor] if values else self._selected

    def _redraw(self, cursor_value: int | str | None) -> None:
        """Redraw the list with the cursor on the run or group `cursor_value`.

        If the run is in a folded group, the cursor is on the group.
        """
        blind = self._compare is None
        choices = run_choices(self._runs, self._list_state, self.size.width, blind=blind)
        if self._marked is not None:
            model = next((sanitize(run.info.model) for run in self._runs if run.run == self._marked), "")
            key = find_action_key_names(self.app).get("runs.compare", "")
            choices.note = f"A: run {self._marked} {truncate_middle(model, 30)}; mark B with {key}"
        if cursor_value not in choices.values and self._list_state.grouping:
            label = GROUP_LABELS[self._list_state.grouping]
            cursor_value = next((label(run) for run in self._runs if run.run == cursor_value), None)
        choices.cursor = choices.values.index(cursor_value) if cursor_value in choices.values else 0
        self._choices = choices
        self._draw()
        self.list.move_cursor(choices.cursor)
        self.refresh_bindings()

    # -- order, groups and search

    def action_next_order(self) -> None:
        self._list_state.select_next_order(blind=self._compare is None)
        self._redraw(self._value_at_cursor)

    def action_reverse_order(self) -> None:
        self._list_state.is_reversed = not self._list_state.is_reversed
        self._redraw(self._value_at_cursor)

    def action_next_grouping(self) -> None:
        here = self._value_at_cursor
        self._list_state.select_next_grouping()
        self._redraw(here)

    def action_unfold(self, unfold: bool) -> None:
        """Unfold or fold the group under the cursor. Folding a group from one of its runs moves to the group's line."""
        rows, at = self._choices.values if self._choices is not None else (), self.list.cursor
        name = next((value for value in reversed(rows[: at + 1]) if isinstance(value, str)), None)
        if name is None or (name in self._list_state.unfolded) == unfold or rows[at] == ALL_RUNS:
            return
        self._list_state.unfolded ^= {name}
        self._redraw(name if not unfold else self._value_at_cursor)

    def action_move(self, by: int) -> None:
        self.list.action_move(by)

    def action_open_search(self) -> None:
        self._search_input.display = True
        self._search_input.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self._list_state.search:
            self._list_state.search = event.value
            self._redraw(self._value_at_cursor)

    def action_end_search(self, keep_search: bool) -> None:
        """Return from the search box to the list. `keep_search`: keep the search; otherwise show all runs."""
        if not keep_search:
            self._search_input.value = self._list_state.search = ""
        self._search_input.display = bool(self._list_state.search)
        self.list.focus()
        self._redraw(self._value_at_cursor)

    # -- choosing and comparing runs

    def action_choose_row(self) -> None:
        here = self._value_at_cursor
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
        if self.is_mounted and isinstance(self.focused, RunSearchInput):
            return action in ("end_search", "move")
        return True

    @property
    def idle_actions(self) -> frozenset[str]:
        """Ids of actions whose keys only explain why there is nothing to do. The key line and the help omit them."""
        hidden = {"runs.compare"} if self._compare is None else set()
        typing = self.is_mounted and isinstance(self.focused, RunSearchInput)
        return frozenset(hidden | ({"app.help"} if typing else set()))

    def action_mark_run(self) -> None:
        """Mark the run under the cursor, compare it with the marked run, or remove its mark."""
        run = self._value_at_cursor
        if self._compare is None:
            self.show_message("comparing runs is not available in blind review because it reveals verdicts")
            return
        if run is None or isinstance(run, str) or run == ALL_RUNS:
            self.show_message("move to a run to mark it for comparison")
            return
        if self._marked is None:
            self._marked = run
        else:
            if self._marked != run:
                self.app.push_screen(self._compare(self._marked, run))
            self._marked = None
        self._redraw(run)

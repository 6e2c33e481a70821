"""Show the list of runs: search, sort or group it, choose a run, or mark two runs to compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from fcreview.model.sanitize import sanitize
from fcreview.store.queries.run_lists import GROUP_LABELS
from fcreview.store.rows import RunRow
from fcreview.tui.actions import MODAL_HELP_ACTIONS, RUN_LIST_ACTIONS, RUN_SEARCH_ACTIONS
from fcreview.tui.key_bindings import active_key_names, make_bindings
from fcreview.tui.queue.runs import RunListState, run_choices
from fcreview.tui.queue.state import ALL_RUNS
from fcreview.tui.screens.choice_list import PickerScreen
from fcreview.tui.text.lines import truncate_middle
from fcreview.tui.widgets.base import SafeInput


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

    def _redraw(self, at: int | str | None) -> None:
        """Redraw the list with the cursor on the run or group `at`.

        If the run is in a folded group, the cursor is on the group.
        """
        blind = self._compare is None
        choices = run_choices(self._runs, self._list_state, self.size.width, blind=blind)
        if self._marked is not None:
            model = next((sanitize(run.info.model) for run in self._runs if run.run == self._marked), "")
            key = active_key_names(self.app).get("runs.compare", "")
            choices.note = f"A: run {self._marked} {truncate_middle(model, 30)}; mark B with {key}"
        if at not in choices.values and self._list_state.grouping:
            label = GROUP_LABELS[self._list_state.grouping]
            at = next((label(run) for run in self._runs if run.run == at), None)
        choices.cursor = choices.values.index(at) if at in choices.values else 0
        self._choices = choices
        self._draw()
        self.list.move_cursor(choices.cursor)
        self.refresh_bindings()

    # -- order, groups and search

    def action_order(self) -> None:
        self._list_state.next_order(blind=self._compare is None)
        self._redraw(self._value_at_cursor)

    def action_reverse(self) -> None:
        self._list_state.is_reversed = not self._list_state.is_reversed
        self._redraw(self._value_at_cursor)

    def action_grouping(self) -> None:
        here = self._value_at_cursor
        self._list_state.next_grouping()
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

    def action_find(self) -> None:
        self._search_input.display = True
        self._search_input.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self._list_state.search:
            self._list_state.search = event.value
            self._redraw(self._value_at_cursor)

    def action_end_search(self, apply: bool) -> None:
        """Return from the search box to the list. `apply`: keep the search; otherwise show all runs."""
        if not apply:
            self._search_input.value = self._list_state.search = ""
        self._search_input.display = bool(self._list_state.search)
        self.list.focus()
        self._redraw(self._value_at_cursor)

    # -- choosing and comparing runs

    def action_take(self) -> None:
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
    def idle_keys(self) -> frozenset[str]:
        """Ids of actions whose keys only explain why there is nothing to do. The key line and the help omit them."""
        hidden = {"runs.compare"} if self._compare is None else set()
        typing = self.is_mounted and isinstance(self.focused, RunSearchInput)
        return frozenset(hidden | ({"app.help"} if typing else set()))

    def action_mark(self) -> None:
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

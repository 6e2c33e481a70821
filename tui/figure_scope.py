"""Name the items that the figures of a screen cover: all items of the chosen runs, or a part of
them, such as the items of a filter or of a queue file.
"""

from __future__ import annotations

from dataclasses import dataclass

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.store.rows import PARTIAL_QUEUES, SUSPECTS_QUEUE, View
from fcreview.tui.queue_state import QueueState
from fcreview.tui.text.lines import BLANK_LINE, Line, make_line, truncate
from fcreview.tui.text.styles import symbols

MAX_CHIP_CELLS = 34
"""Largest width of the name of a part on its chip, in cells."""


@dataclass(frozen=True, slots=True)
class FigureScope:
    """Items that the figures of a screen cover."""

    view: View
    part: str = ""
    """What limits the items, such as `where official:fail`. Empty for all items of the runs."""

    @property
    def without_limit(self) -> FigureScope:
        """All items of the same runs."""
        return FigureScope(View(queue="dataset", runs=self.view.runs))


def make_scope(view: View) -> FigureScope:
    """Return the scope of the items of a view."""
    return FigureScope(view, _name_part(view, view.where, search_text=""))


def make_scope_of_list(state: QueueState) -> FigureScope:
    """Return the scope of the items that a list shows, with its filter and its search."""
    return FigureScope(state.view, _name_part(state.view, state.where, state.search))


def make_scope_of_all_items(view: View) -> FigureScope:
    """Return the scope of all items in the runs, or in the queue file, that a list shows.

    The filter, search, selection and order of the list are ignored. If someone selected items by
    their verdicts, figures about this selection would be wrong for the whole run.
    """
    return make_scope(View(queue=view.queue_file or "dataset", runs=view.runs))


def _name_part(view: View, filter_text: str, search_text: str) -> str:
    """Return what limits the items of a view: `queue pilot where official:fail search weather`.

    Empty for all items of its runs.
    """
    names = []
    if view.queue_file:
        names.append(f"queue {sanitize(view.queue_file)}")
    elif view.queue == SUSPECTS_QUEUE:
        names.append("suspects")
    elif view.queue in PARTIAL_QUEUES:
        names.append(f"{view.queue} items")
    if view.items:
        names.append(f"selected {format_count(len(view.items), 'item')}")
    if filter_text:
        names.append(f"where {sanitize(filter_text)}")
    if search_text:
        names.append(f"search {sanitize(search_text)}")
    return " ".join(names)


def scope_chip(scope: FigureScope, clear_key: str) -> Line:
    """Return the chip of a scope: `where official:fail × Bksp`, or a dim `all items`.

    `clear_key`: displayed name of the key that shows the figures of all items.
    """
    if not scope.part:
        return make_line("all items", "dim")
    key: Line = ((f" {clear_key}", "key"),) if clear_key else BLANK_LINE
    name = truncate(scope.part, MAX_CHIP_CELLS)
    return ((f"{name} {symbols().remove}", "warn"), *key)


def whole_runs_chip(n_runs: int) -> Line:
    """Return the chip of a screen that always covers whole runs: a dim `all items of 2 runs`."""
    return make_line(f"all items of {format_count(n_runs, 'run')}", "dim")

"""Name and count the items that the command of a form covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.store.rows import View
from fcreview.tui.commands import describe_exported_labels
from fcreview.tui.figure_scope import FigureScope
from fcreview.tui.text.styles import symbols

if TYPE_CHECKING:
    from fcreview.store.store import Store

SCOPE_FIELDS = ("run", "queue", "where")
"""Fields of forms that limit a command to a part of the items."""


def make_form_scope(
    values: Mapping[str, str], runs: Sequence[int], run_numbers: Mapping[str, str]
) -> FigureScope:
    """Return the items that the command of a form covers.

    Args:
        values: Text of each field by name.
        runs: Numbers of the opened runs. Empty for all runs.
        run_numbers: Number of each run by name.
    """
    run_name = values.get("run", "").strip()
    run_number = run_numbers.get(run_name, run_name)
    queue = values.get("queue", "").strip()
    where = values.get("where", "").strip()
    if run_number.isdecimal():
        runs = (int(run_number),)

    parts = []
    for name in SCOPE_FIELDS:
        value = values.get(name, "").strip()
        if value:
            parts.append(f"{name} {sanitize(value)}")
    return FigureScope(View(where, queue or "dataset", runs=tuple(runs)), " ".join(parts))


def describe_form_scope(
    store: Store, command: str, values: Mapping[str, str], scope: FigureScope
) -> str:
    """Return the number of items that a command would work on, such as `3,051 items`.

    For `export`, the number of labels in the output follows: `3,051 items · writes 12 labels`.
    `values` are the options in the form. Raises FilterError for an invalid filter.
    """
    n_items = format_count(store.count_items(scope.view), "item")
    if command != "export":
        return n_items
    labels = describe_exported_labels(store, values, scope.view)
    return f"{n_items} {symbols().separator} {labels}" if labels else n_items

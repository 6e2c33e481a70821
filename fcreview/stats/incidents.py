"""Prepare the items of a run for figures without incidents.

An incident is an item without an answer, for a reason outside the question
(`fcreview.model.incident`). The benchmark's own metrics are computed from the other items. Official
metrics always include incidents, as the benchmark counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fcreview.model.item import Run
from fcreview.model.metric import ScoredItem

WITHOUT_INCIDENTS = "without incidents"
"""Words after the name of a figure that leaves incidents out."""

_FigureKey = tuple[str, str | None]
"""(category, setting) of an item. Benchmarks publish at least one figure for each of them."""


def count_incidents(items: Iterable[ScoredItem]) -> int:
    return sum(item.n_items for item in items if item.is_incident)


def omit_incidents(items: Sequence[ScoredItem]) -> list[ScoredItem]:
    """Return the items without incidents.

    If all items of a category are incidents, they stay, with unknown verdicts. Without them,
    benchmarks would count the category as not run, and many count such a category as 0 in their
    means. The mean is unknown instead.
    """
    return list(omit_incidents_keeping_positions(items).values())


def omit_incidents_keeping_positions(items: Sequence[ScoredItem]) -> dict[int, ScoredItem]:
    """Return the items that `omit_incidents` keeps, by their position in `items`. Items of a task
    or conversation with an incident are marked as an incomplete group.
    """
    answered_figures = {_get_figure_key(item) for item in items if not item.is_incident}
    incomplete_groups = {
        item.group for item in items if item.is_incident and item.group is not None
    }
    kept = {}
    for position, item in enumerate(items):
        if item.is_incident:
            # If all items of a category are incidents, they stay, without verdicts.
            if _get_figure_key(item) not in answered_figures:
                kept[position] = _without_verdicts(item)
        elif item.group in incomplete_groups:
            kept[position] = replace(item, is_group_incomplete=True)
        else:
            kept[position] = item
    return kept


def _get_figure_key(item: ScoredItem) -> _FigureKey:
    return item.category, item.setting


def _without_verdicts(item: ScoredItem) -> ScoredItem:
    """Return an item that counts like one that was never scored."""
    return replace(
        item,
        valid=None,
        error_type=None,
        values={},
        part_verdicts=(),
        overrides={},
        reviewed=(),
        disputed=(),
        tokens_in=None,
        tokens_out=None,
        seconds=(),
        tags=(),
    )


def omit_stated_accuracies(run: Run, items: Iterable[ScoredItem]) -> Run:
    """Return the run without the accuracies that its score files state for categories. They include
    incidents, and a benchmark's metrics use them if no known item of a category passes.
    """
    categories = {item.category for item in items}
    kept = {name: value for name, value in run.official_metrics.items() if name not in categories}
    return replace(run, official_metrics=kept)

"""Report the items of a dataset that a run has no result for."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from itertools import islice

from fcreview.importers.common.discovery import MAX_LISTED
from fcreview.model.item import MissingItem, RunFact

MAX_MISSING_ITEMS = 100_000
"""Maximum number of missing items that are listed for a run. `expected_items` counts the others as well."""


def report_missing_items(
    expected: Mapping[str, Collection[str]], present: Container[str], reason: str = ""
) -> Iterator[MissingItem | RunFact]:
    """Yield the number of items that the dataset has in the run's categories, and each item without a result.

    Args:
        expected: category -> ids of its items in the dataset. Only categories that the run has results of.
        present: ids of the run's results.
        reason: which categories these are, as a phrase.
    """
    n_expected = sum(len(item_ids) for item_ids in expected.values())
    if n_expected == 0:
        return
    yield RunFact("expected_items", n_expected, reason)
    yield from islice(_list_missing_items(expected, present), MAX_MISSING_ITEMS)


def _list_missing_items(expected: Mapping[str, Collection[str]], present: Container[str]) -> Iterator[MissingItem]:
    for category, item_ids in expected.items():
        for item_id in item_ids:
            if item_id not in present:
                yield MissingItem(item_id, category)


def list_some(names: Sequence[str]) -> str:
    """Return the first names as a list in a text: `a, b, c, d and 3 more`."""
    text = ", ".join(names[:MAX_LISTED])
    n_more = len(names) - MAX_LISTED
    return f"{text} and {n_more} more" if n_more > 0 else text

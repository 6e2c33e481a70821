"""Report the items of a dataset that a run has no result for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from fcreview.importers.common.discovery import MAX_LISTED
from fcreview.model.item import MissingItem, RunFact

MAX_MISSING_ITEMS = 100_000
"""Maximum number of missing items that are listed for a run.

`expected_items` counts the others as well.
"""

MAX_UNKNOWN_SHARE = 0.01
"""Largest share of results whose ids are not in the dataset. With more, the dataset is of another
version, so it does not tell which items are missing.
"""


@dataclass(frozen=True, slots=True)
class CategoryIds:
    """Ids of the items of a category in the results and in the dataset."""

    name: str
    result_ids: Collection[str]
    dataset_ids: Collection[str]

    @property
    def matches_dataset(self) -> bool:
        """Whether the dataset is of the version of the results."""
        n_unknown = sum(item_id not in self.dataset_ids for item_id in self.result_ids)
        return bool(self.dataset_ids) and n_unknown <= MAX_UNKNOWN_SHARE * len(self.result_ids)

    @property
    def ids_of_complete_run(self) -> Collection[str]:
        """Ids of the items that a complete run has. If the dataset does not tell them, the results
        are taken for complete.
        """
        return self.dataset_ids if self.matches_dataset else self.result_ids


def group_ids_by_category(
    item_ids: Iterable[str], find_category: Callable[[str], str]
) -> dict[str, dict[str, None]]:
    """Return the ids of each category, in order and without duplicates."""
    found: dict[str, dict[str, None]] = {}
    for item_id in item_ids:
        found.setdefault(find_category(item_id), {})[item_id] = None
    return found


def compare_with_dataset(
    result_ids: Iterable[str], dataset_ids: Iterable[str], find_category: Callable[[str], str]
) -> Iterator[MissingItem | RunFact]:
    """Report the items of the dataset that a run has no result for.

    Only the categories that the run has are compared. Yields how many items a complete run has in
    them, and each item without a result. Yields nothing if no category fits the dataset.

    Args:
        result_ids: The ids of the items in the run.
        dataset_ids: The ids of the items in the dataset, empty if there is none.
        find_category: Returns the category of an id.
    """
    dataset_ids_by_category = group_ids_by_category(dataset_ids, find_category)
    result_ids_by_category = group_ids_by_category(result_ids, find_category)
    categories = _list_categories_of_run(result_ids_by_category, dataset_ids_by_category)
    uncompared = [category.name for category in categories if not category.matches_dataset]
    if len(uncompared) == len(categories):
        return

    ids_of_complete_run = {category.name: category.ids_of_complete_run for category in categories}
    present_ids: set[str] = set()
    for category in categories:
        present_ids.update(category.result_ids)
    without_results = [
        name for name in dataset_ids_by_category if name not in result_ids_by_category
    ]
    scope = _describe_categories(dataset_ids_by_category, without_results, uncompared)
    yield from report_missing_items(ids_of_complete_run, present_ids, scope)


def _list_categories_of_run(
    result_ids_by_category: Mapping[str, Collection[str]],
    dataset_ids_by_category: Mapping[str, Collection[str]],
) -> list[CategoryIds]:
    """List the categories of a run in the order of the dataset, then those that it lacks."""
    names = [name for name in dataset_ids_by_category if name in result_ids_by_category]
    names += sorted(result_ids_by_category.keys() - dataset_ids_by_category.keys())
    categories = []
    for name in names:
        category = CategoryIds(
            name,
            result_ids=result_ids_by_category[name],
            dataset_ids=dataset_ids_by_category.get(name, {}),
        )
        categories.append(category)
    return categories


def _describe_categories(
    expected: Collection[str], without_results: Sequence[str], uncompared: Sequence[str]
) -> str:
    """Say which categories of the dataset the number of missing items covers, and which ones
    not.
    """
    n_covered = len(expected) - len(without_results)
    reason = f"{n_covered} of {len(expected)} categories of the dataset"
    if without_results:
        reason += f"; no results for {list_some(without_results)}"
    if uncompared:
        reason += f"; not compared with the dataset: {list_some(uncompared)}"
    return reason


def report_missing_items(
    expected: Mapping[str, Collection[str]], present: Container[str], reason: str = ""
) -> Iterator[MissingItem | RunFact]:
    """Yield the number of items that the dataset has in the run's categories, and each item without
    a result.

    Args:
        expected: Category -> ids of its items in the dataset, for the categories of the run.
        present: The ids of the run's results.
        reason: Which categories these are, as a phrase.
    """
    n_expected = sum(len(item_ids) for item_ids in expected.values())
    if n_expected == 0:
        return
    yield RunFact("expected_items", value=n_expected, reason=reason)
    yield from islice(_list_missing_items(expected, present), MAX_MISSING_ITEMS)


def _list_missing_items(
    expected: Mapping[str, Collection[str]], present: Container[str]
) -> Iterator[MissingItem]:
    for category, item_ids in expected.items():
        for item_id in item_ids:
            if item_id not in present:
                yield MissingItem(item_id, category)


def list_some(names: Sequence[str]) -> str:
    """Return the first names as a list in a text: `a, b, c, d and 3 more`."""
    text = ", ".join(names[:MAX_LISTED])
    n_more = len(names) - MAX_LISTED
    return f"{text} and {n_more} more" if n_more > 0 else text

"""Find the items of the dataset for which a run has no result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fcreview.importers.acebench.inputs import CategoryInputs
from fcreview.importers.common.not_run import list_some, report_missing_items
from fcreview.model.item import MissingItem, RunFact
from fcreview.model.wording import format_count

MAX_UNKNOWN_SHARE = 0.01
"""Largest share of results whose ids are not in the dataset. With more, the dataset is of another
version, so it does not tell which items are missing.
"""


def find_missing_items(categories: Sequence[CategoryInputs]) -> Iterator[MissingItem | RunFact]:
    """Yield the number of items that a complete run has in the run's categories, and each item
    without a result.
    """
    expected: dict[str, list[str]] = {}
    present: set[str] = set()
    uncompared = []
    for inputs in categories:
        result_ids = [record["id"] for record in inputs.results.read_answers()]
        present.update(result_ids)
        if _matches_dataset(inputs, result_ids):
            expected[inputs.category] = inputs.question_ids
        else:
            expected[inputs.category] = result_ids
            uncompared.append(inputs.category)

    if len(uncompared) < len(categories):
        yield from report_missing_items(
            expected, present, _describe_categories(expected, uncompared)
        )


def _matches_dataset(inputs: CategoryInputs, result_ids: Sequence[str]) -> bool:
    n_unknown = sum(item_id not in inputs.questions for item_id in result_ids)
    return bool(inputs.questions) and n_unknown <= MAX_UNKNOWN_SHARE * len(result_ids)


def _describe_categories(expected: dict[str, list[str]], uncompared: Sequence[str]) -> str:
    """Say for how many categories of a run the number of missing items is known."""
    n_compared = len(expected) - len(uncompared)
    reason = (
        f"the dataset's items of {format_count(n_compared, 'category', 'categories')} of the run"
    )
    if uncompared:
        reason += f"; not compared with the dataset: {list_some(uncompared)}"
    return reason

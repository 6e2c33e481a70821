"""Recompute multi-turn verdicts with a corrected golden answer (`errata rescore --execute`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fcreview.importers.bfcl import filenames, writeback
from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.importers.bfcl.execution.executor import Executor
from fcreview.importers.bfcl.execution.golden import GROUND_TRUTH
from fcreview.importers.bfcl.execution.recompute import recompute_multi_turn
from fcreview.importers.importer import RecomputeVerdict
from fcreview.model.item import Item, Run


@contextmanager
def open_recomputation() -> Iterator[RecomputeVerdict]:
    """Start the executor, and yield a function that recomputes verdicts on all categories.

    Raises ExecutionError if the official package is missing.
    """
    with Executor() as executor:

        def recompute_verdict(
            run: Run, item: Item, golden_fix: dict[str, Any], record: Any
        ) -> bool | None:
            if not item.category.startswith("multi_turn"):
                return writeback.recompute_verdict(run, item, golden_fix, record)
            return _recompute_by_execution(executor, run, item, golden_fix, record)

        yield recompute_verdict


def _recompute_by_execution(
    executor: Executor, run: Run, item: Item, golden_fix: dict[str, Any], record: Any
) -> bool | None:
    """Return the official verdict on the replies with another golden answer, or None.

    The store does not have the initial state of a question, so it comes from the dataset of the
    package. An import executed the item only if this dataset has the same question.
    """
    own = executor.find_own_item(item.id)
    if own is None or not isinstance(record, dict):
        return None
    version = filenames.get_rules_version(run.generation)

    def make_dataset_item(ground_truth: Any) -> DatasetItem:
        return DatasetItem(
            item.id, item.category, ground_truth=ground_truth, extra=dict(own.question)
        )

    verdict = recompute_multi_turn(
        executor,
        make_dataset_item(golden_fix.get(GROUND_TRUTH)),
        uncorrected=make_dataset_item(own.ground_truth),
        result=record.get("result"),
        decoder=writeback.find_run_decoder(run, version),
        version=version,
    )
    return verdict.valid

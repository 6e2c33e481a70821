"""Read the items of a run of tau-bench v1 or tau2-bench."""

from __future__ import annotations

from collections.abc import Iterator

from fcreview.importers.tau.version1 import read_version1
from fcreview.importers.tau.version2 import read_version2
from fcreview.model.item import ImportIssue, Item
from fcreview.run_plan import RunPlan


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    yield from read_version1(plan.results[0], plan) if plan.run.generation == "v1" else read_version2(plan)

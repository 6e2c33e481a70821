"""Find the dataset of each run: in --data if it fits, else in the folders of earlier commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from fcreview.model.item import ImportIssue
from fcreview.run_plan import DiscoveredRuns, RunPlan
from fcreview.store.importing.dataset_paths import DatasetFolders, select_dataset_folders

Folders = tuple[Path, ...]
Search = Callable[[Folders], DiscoveredRuns]
"""Finds the runs with their datasets, searching the given folders first."""
RunId = tuple[str, ...]
"""Benchmark, generation, language, model and path of a run."""


def assign_datasets(search: Search, named: Folders, remembered: DatasetFolders) -> DiscoveredRuns:
    """Runs with the dataset that fits each. It takes one search for each different dataset.

    Args:
        named: folders of --data.
        remembered: folders of earlier commands.
    """
    once, usual = cache(search), _existing(remembered.most_common)
    finder = _DatasetFinder(cache(lambda folders: _by_run_id(once(folders).plans)), named, remembered, usual)
    found = once(named or usual)
    return replace(found, plans=[finder.assign(plan) for plan in found.plans])


@dataclass(frozen=True, slots=True)
class _DatasetFinder:
    plans: Callable[[Folders], Mapping[RunId, RunPlan]]
    """Plans by run, with datasets from these folders."""
    named: Folders
    remembered: DatasetFolders
    usual: Folders

    def assign(self, plan: RunPlan) -> RunPlan:
        """The plan with the dataset that fits its run."""
        if select_dataset_folders(self.named, plan):
            return plan
        before = self.remembered.folders_of(plan.run)
        own = self._search(_existing(before) or self.named, plan)
        if self.named and before:
            what = f"--data has no dataset for this run: using {before[0]} from an earlier command"
            own.issues.append(ImportIssue(plan.run.path, None, what, severity="notice"))
        if own.data or before or not own.run.needs_dataset:
            return own
        usual = self._search(self.usual, plan)  # a new run without a dataset of its own
        return usual if usual.data else own

    def _search(self, folders: Folders, plan: RunPlan) -> RunPlan:
        return self.plans(folders).get(_run_id(plan), plan)


def _by_run_id(plans: Iterable[RunPlan]) -> dict[RunId, RunPlan]:
    found: dict[RunId, RunPlan] = {}
    for plan in plans:
        found.setdefault(_run_id(plan), plan)
    return found


def _run_id(plan: RunPlan) -> RunId:
    run = plan.run
    return run.benchmark, run.generation, run.language, run.model, run.path


def _existing(folders: Iterable[Path]) -> Folders:
    return tuple(folder for folder in folders if folder.is_dir())

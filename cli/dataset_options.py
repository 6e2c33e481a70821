"""Each run with its own dataset: the one named now, if it fits, else the one that was named before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from fcreview.model.item import ImportIssue
from fcreview.run_plan import Found, RunPlan
from fcreview.store.importing.dataset_paths import Remembered, supplying

Folders = tuple[Path, ...]
Search = Callable[[Folders], Found]
"""The runs with the datasets that are found when these folders are looked at first."""
Names = tuple[str, ...]
"""Of a run: benchmark, generation, language, model, path."""


def with_datasets(search: Search, named: Folders, remembered: Remembered) -> Found:
    """The runs. `named` are the folders of --data. Mostly one search: as many as there are different datasets."""
    once, usual = cache(search), _there(remembered.usual)
    finder = _Finder(cache(lambda folders: _by_names(once(folders).plans)), named, remembered, usual)
    found = once(named or usual)
    return replace(found, plans=[finder.with_its_own(plan) for plan in found.plans])


@dataclass(frozen=True, slots=True)
class _Finder:
    plans: Callable[[Folders], Mapping[Names, RunPlan]]
    """As they are with the datasets of these folders."""
    named: Folders
    remembered: Remembered
    usual: Folders

    def with_its_own(self, plan: RunPlan) -> RunPlan:
        """The plan as it is with the folders that hold for this run."""
        if supplying(self.named, plan):
            return plan
        before = self.remembered.of(plan.run)
        own = self._searched(_there(before) or self.named, plan)
        if self.named and before:
            what = (
                f"the folders given with --data have no dataset for this run: the one named before holds, {before[0]}"
            )
            own.issues.append(ImportIssue(plan.run.path, None, what, severity="notice"))
        if own.data or before or not own.run.needs_dataset:
            return own
        usual = self._searched(self.usual, plan)  # a run that is new beside others, which has none of its own
        return usual if usual.data else own

    def _searched(self, folders: Folders, plan: RunPlan) -> RunPlan:
        return self.plans(folders).get(_names(plan), plan)


def _by_names(plans: Iterable[RunPlan]) -> dict[Names, RunPlan]:
    found: dict[Names, RunPlan] = {}
    for plan in plans:
        found.setdefault(_names(plan), plan)
    return found


def _names(plan: RunPlan) -> Names:
    run = plan.run
    return run.benchmark, run.generation, run.language, run.model, run.path


def _there(folders: Iterable[Path]) -> Folders:
    return tuple(folder for folder in folders if folder.is_dir())

"""Find stored runs with the same results as a planned run of another key.

The path of a run is part of its key. If a folder of results is deleted and the score files remain,
the next import finds a run at the score folder, which is the same run with fewer files. Without
this module, the store would list the run twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fcreview.model.item import Run
from fcreview.run_plan import RunPlan
from fcreview.store.importing.source_files import StoredRun, build_run_key
from fcreview.store.workspace import Workspace

_ModelKey = tuple[str, str, str, str]
"""Benchmark, version, language and model of a run."""


@dataclass(slots=True)
class EarlierImports:
    """Stored runs that are earlier imports of planned runs, by the key of the planned run."""

    lost: dict[str, StoredRun] = field(default_factory=dict)
    """The results of these stored runs were deleted. The planned run has only their other files."""
    contained: dict[str, list[StoredRun]] = field(default_factory=dict)
    """The planned run has all files of these stored runs."""


@dataclass(frozen=True, slots=True)
class _Files:
    """The files with the answers of a run and with their scores, as stored paths."""

    results: frozenset[str]
    scores: frozenset[str]

    def has_common_file(self, other: _Files) -> bool:
        return bool(self.results & other.results or self.scores & other.scores)


def find_earlier_imports(
    workspace: Workspace, plans: Sequence[RunPlan], stored_runs: Mapping[str, StoredRun]
) -> EarlierImports:
    """Find earlier imports of the planned runs that the store has under another key, for example
    because files were moved or added.

    Stored runs that are planned themselves are no such earlier imports.

    Args:
        workspace: The workspace.
        plans: The runs that will be imported.
        stored_runs: All runs of the store, by key.
    """
    planned_keys = {build_run_key(workspace, plan.run) for plan in plans}
    unplanned: dict[_ModelKey, list[StoredRun]] = {}
    for key, stored in stored_runs.items():
        if key not in planned_keys:
            unplanned.setdefault(_make_model_key(stored.info), []).append(stored)

    earlier = EarlierImports()
    for plan in plans:
        for stored in unplanned.get(_make_model_key(plan.run), []):
            _compare_files(workspace, plan, stored, earlier)
    return earlier


def _make_model_key(run: Run) -> _ModelKey:
    return run.benchmark, run.generation, run.language, run.model


def _compare_files(
    workspace: Workspace, plan: RunPlan, stored: StoredRun, earlier: EarlierImports
) -> None:
    """Add a stored run to `earlier` if its files show that it is an earlier import of the planned
    run.

    A stored run without a file of the plan is another run. Else, the results that only one of both
    has tell what happened:

    * The plan has all results of the stored run: the run is contained in the plan, if the plan also
      has its scores. The same results with other scores are a run of their own.
    * The stored run has more results, the plan has none of its own, and those of the stored run no
      longer exist: they are lost.
    * Both have results of their own, or those of the stored run still exist: they are different
      runs, because two folders of results can share a score folder.
    """
    planned_files = _list_planned_files(workspace, plan)
    stored_files = _list_stored_files(stored)
    if not planned_files.has_common_file(stored_files):
        return

    key = build_run_key(workspace, plan.run)
    only_stored = stored_files.results - planned_files.results
    only_planned = planned_files.results - stored_files.results
    if not only_stored:
        if stored_files.scores <= planned_files.scores:
            earlier.contained.setdefault(key, []).append(stored)
    elif not only_planned and not _exists_any(workspace, only_stored):
        earlier.lost.setdefault(key, stored)


def _list_planned_files(workspace: Workspace, plan: RunPlan) -> _Files:
    return _Files(
        results=frozenset(map(workspace.to_stored_path, plan.results)),
        scores=frozenset(map(workspace.to_stored_path, plan.scores)),
    )


def _list_stored_files(stored: StoredRun) -> _Files:
    return _Files(
        results=frozenset(source.path for source in stored.sources if source.kind == "result"),
        scores=frozenset(source.path for source in stored.sources if source.kind == "score"),
    )


def _exists_any(workspace: Workspace, stored_paths: Iterable[str]) -> bool:
    return any(os.path.lexists(workspace.to_absolute_path(path)) for path in stored_paths)

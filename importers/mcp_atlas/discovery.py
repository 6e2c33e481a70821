"""Recognise MCP-Atlas files by the columns of their first line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.importers.common.csv_records import read_csv_header
from fcreview.importers.mcp_atlas.columns import DIAGNOSIS, find_kind
from fcreview.importers.mcp_atlas.copies import ScoredCopy, find_scored_copies
from fcreview.model.item import ImportIssue, Run
from fcreview.model.wording import format_count
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions

SUFFIXES = (".csv", ".tsv")
STATISTICS = "coverage_stats_"
SPLITS = ("all", "public", "private", "combined")
_MODEL_NAMES = (
    re.compile(r"(?:scored|merged)_(?P<model>.+)"),
    re.compile(r"mcp_eval_(?P<model>.+?)_\d+tasks_.*"),
)


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Files of a run. This is the plan's `importer_data`."""

    results: Path
    tasks: Path | None = None
    diagnosis: Path | None = None
    statistics: Path | None = None
    """File with the official figures of all splits, or of all tasks."""
    is_scored: bool = True
    model: str = ""
    scored_copy: ScoredCopy | None = None
    """Records of the outputs that the run of a scored file has."""


@dataclass(slots=True)
class _FoundFiles:
    scored: list[Path] = field(default_factory=list)
    diagnoses: list[Path] = field(default_factory=list)
    outputs: list[Path] = field(default_factory=list)
    tasks: list[Path] = field(default_factory=list)


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,  # noqa: ARG001 - scored files contain the scores
) -> DiscoveredRuns:
    """Find the runs among the opened files: each file with scored answers is one.

    Files with answers that were not scored, and diagnoses of failed tasks, can be runs as well.
    """
    sorted_files = _sort_files(files)
    known_files = set(files)
    named_tasks = _find_task_files(dataset_folders)
    runs = DiscoveredRuns()
    runs.claimed.update(
        sorted_files.scored, sorted_files.diagnoses, sorted_files.outputs, sorted_files.tasks
    )
    runs.plans += _plan_scored_files(sorted_files, named_tasks, known_files)
    scored_files = [*sorted_files.scored, *sorted_files.diagnoses]
    _add_runs_of_outputs(runs, sorted_files, named_tasks, scored_files)
    runs.claimed.update(_list_statistics(known_files, scored_files))
    return runs


def _plan_scored_files(
    sorted_files: _FoundFiles, named_tasks: Sequence[Path], known_files: set[Path]
) -> list[RunPlan]:
    """Make the plan of each scored file, and of each diagnosis whose scored file is missing. A
    diagnosis repeats the columns of the scored file.
    """
    plans = [
        _plan_scored_file(path, sorted_files, named_tasks, known_files)
        for path in sorted_files.scored
    ]
    used_diagnoses = {plan.importer_data.diagnosis for plan in plans}
    for path in sorted_files.diagnoses:
        if path not in used_diagnoses:
            plans.append(_plan_scored_file(path, sorted_files, named_tasks, known_files))
    return plans


def _add_runs_of_outputs(
    runs: DiscoveredRuns,
    sorted_files: _FoundFiles,
    named_tasks: list[Path],
    scored_files: list[Path],
) -> None:
    """Add a run for each file of answers that the scorer did not copy completely into a scored
    file. The others become issues.
    """
    copies = find_scored_copies(sorted_files.outputs, scored_files)
    for path in sorted_files.outputs:
        copy = copies.get(path)
        if copy is not None:
            runs.issues.append(_report_scored_copy(path, copy))
        if copy is None or not copy.is_complete:
            runs.plans.append(_plan_outputs(path, sorted_files, named_tasks, copy))


def _list_statistics(files: set[Path], scored: Sequence[Path]) -> set[Path]:
    """Return the files with figures, which belong to a run although not all of them are read."""
    scored_folders = {path.parent for path in scored}
    return {
        path for path in files if path.name.startswith(STATISTICS) and path.parent in scored_folders
    }


def _find_task_files(dataset_folders: Sequence[Path]) -> list[Path]:
    """Return the task files in the folders of --data."""
    paths: list[Path] = []
    for folder in dataset_folders:
        paths += sorted(folder.glob("*.csv"))
    return _sort_files(paths).tasks


def _sort_files(files: Sequence[Path]) -> _FoundFiles:
    """Sort the CSV files by their columns into outputs, scored outputs, diagnoses and tasks. Other
    files are ignored.
    """
    found = _FoundFiles()
    for path in files:
        if path.suffix not in SUFFIXES:
            continue
        columns = read_csv_header(path)
        match find_kind(columns):
            case "scored" if DIAGNOSIS in columns:
                found.diagnoses.append(path)
            case "scored":
                found.scored.append(path)
            case "outputs":
                found.outputs.append(path)
            case "tasks":
                found.tasks.append(path)
    return found


def _plan_scored_file(
    path: Path, found: _FoundFiles, named_tasks: Sequence[Path], known_files: set[Path]
) -> RunPlan:
    """Make the import plan of a file with scored answers, with the files that belong to it."""
    model = _find_model_name(path)
    diagnosis = None
    for diagnosis_file in found.diagnoses:
        is_beside = diagnosis_file != path and diagnosis_file.parent == path.parent
        if is_beside and _is_diagnosis_of(diagnosis_file, model):
            diagnosis = diagnosis_file
    return _make_plan(
        RunFiles(
            path,
            tasks=_choose_task_file(path, found.tasks, named_tasks),
            diagnosis=diagnosis,
            statistics=_find_statistics(path, model, known_files),
            model=model,
        )
    )


def _plan_outputs(
    path: Path, found: _FoundFiles, named_tasks: Sequence[Path], copy: ScoredCopy | None
) -> RunPlan:
    """Make the import plan of a file with outputs of a model that are not scored."""
    return _make_plan(
        RunFiles(
            path,
            tasks=_choose_task_file(path, found.tasks, named_tasks),
            is_scored=False,
            model=_find_model_name(path),
            scored_copy=copy,
        )
    )


def _report_scored_copy(outputs: Path, copy: ScoredCopy) -> ImportIssue:
    """Return a notice that a scored file repeats all or some records of a file of answers."""
    count = format_count(copy.n_records, "record")
    if not copy.is_complete:
        n_copies = f"{len(copy.lines):,} of {count}"
        what = f"{n_copies} are left out because {copy.path.name} has scored copies"
        return ImportIssue(str(outputs), line=None, what=what, severity="notice")
    what = f"left out because {copy.path.name} has a scored copy of its {count}"
    return ImportIssue(str(outputs), line=None, what=what, severity="notice")


def _make_plan(files: RunFiles) -> RunPlan:
    """Make the import plan of a run from its files."""
    run = Run(
        benchmark="mcp_atlas",
        generation="",
        language="",
        model=files.model,
        path=str(files.results),
        needs_dataset=False,
    )
    run.name_parts = [files.results.stem, files.results.parent.name]
    others = (files.diagnosis, files.statistics)
    return RunPlan(
        run,
        results=[files.results],
        scores=[path for path in others if path is not None],
        data=_list_data(files),
        confidence=0.95,
        reason="the columns of MCP-Atlas",
        importer_data=files,
        needs_scores=not files.is_scored,
    )


def _list_data(files: RunFiles) -> list[Path]:
    """Return the files besides results and scores on which the items of a run depend."""
    data = [files.tasks] if files.tasks else []
    if files.scored_copy is not None:
        data.append(files.scored_copy.path)
    return data


def _find_model_name(path: Path) -> str:
    """Return the model in a file name: `scored_MODEL.csv`, `mcp_eval_MODEL_50tasks_DATE.csv`."""
    for pattern in _MODEL_NAMES:
        match = pattern.fullmatch(path.stem)
        if match is not None:
            return match["model"]
    return path.stem.removeprefix("diagnosis_")


def _is_diagnosis_of(path: Path, model: str) -> bool:
    return path.stem.startswith(f"diagnosis_{model}_") or path.stem == f"diagnosis_{model}"


def _find_statistics(path: Path, model: str, known_files: set[Path]) -> Path | None:
    for split in ("combined", "all"):
        statistics = path.with_name(f"{STATISTICS}{model}_{split}.json")
        if statistics in known_files:
            return statistics
    return None


def _choose_task_file(
    path: Path, tasks: Sequence[Path], named_tasks: Sequence[Path]
) -> Path | None:
    """Return a named task file, or else the nearest one: beside the results, or in a folder above
    them.
    """
    if named_tasks:
        return named_tasks[0]
    for folder in path.parents:
        for candidate in tasks:
            if candidate.parent == folder:
                return candidate
    return None

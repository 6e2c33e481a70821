"""Recognize CONFETTI files.

A run is the folder of a model with the results of one or both categories, in files with BFCL V2
names. Score files are in the same folder or in the folder of the model in `score/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fcreview.importers.common.discovery import list_telling_folders, report_missing_scores
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions

CALLS_CATEGORY = "conversationsclean"
ACTS_CATEGORY = "dialogacts"
RESULT_FILES = {f"BFCL_v2_{name}_result.json": name for name in (CALLS_CATEGORY, ACTS_CATEGORY)}
SCORE_FILES = {f"BFCL_v2_{name}_score.json": name for name in (CALLS_CATEGORY, ACTS_CATEGORY)}
QUESTION_FILES = {f"BFCL_v2_{name}.json": name for name in (CALLS_CATEGORY, ACTS_CATEGORY)}
"""Name of a question file -> category.

Files of golden answers in `possible_answer/` have the same names.
"""
SOFT_SCORE_FILE = "BFCL_v2_conversationsclean_soft.json"
HALLUCINATION_FILE = "parameter_hallucination_judge.json"
ACT_JUDGE_FILE = "dialog_act_judge.json"
METRICS_FILE = "metrics.json"
MAX_LEVELS = 4
"""Number of folders above the results in which a dataset is searched."""
SCORE_FOLDER_FILES = (*SCORE_FILES, SOFT_SCORE_FILE, HALLUCINATION_FILE, ACT_JUDGE_FILE)
"""Names of the files that contain verdicts on items: score files, soft scores and judge
verdicts.
"""


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    """Find the runs among the opened files: each folder with result files is one.

    Also claims all other files of the benchmark, so that no other importer reads them.
    """
    found = DiscoveredRuns()
    known_names = {*RESULT_FILES, *QUESTION_FILES, *SCORE_FOLDER_FILES}
    results_by_folder: dict[Path, list[Path]] = {}
    for path in files:
        if path.name in RESULT_FILES:
            results_by_folder.setdefault(path.parent, []).append(path)
        if path.name in known_names:
            found.claimed.add(path)

    for folder, result_files in results_by_folder.items():
        plan = _make_plan(folder, result_files, list(dataset_folders))
        found.plans.append(plan)
        found.claimed.update(plan.files)
        score_folder = find_score_folder(folder)
        if score_folder is not None:
            found.claimed.add(score_folder / METRICS_FILE)
    return found


def _make_plan(
    result_folder: Path, result_files: list[Path], dataset_folders: list[Path]
) -> RunPlan:
    """Make the import plan of a run with its dataset and score files.

    The folder of the results has the name of the model. Folders above it can tell several runs of
    the model apart.
    """
    dataset_folder = find_dataset_folder(result_folder, dataset_folders)
    run = Run(
        benchmark="confetti",
        generation="v1",
        language="en",
        model=result_folder.name,
        path=str(result_folder),
        dataset=str(dataset_folder) if dataset_folder else None,
    )
    run.name_parts = list_telling_folders(result_folder.parent)

    reason = "BFCL_v2 result files of the categories conversationsclean and dialogacts"
    plan = RunPlan(run, sorted(result_files), reason=reason)
    plan.scores = _list_score_files(result_folder)
    if dataset_folder is None:
        what = "no CONFETTI questions were found. Pass --data DIR."
        plan.issues.append(ImportIssue(str(result_folder), what=what))
    else:
        plan.data = _list_dataset_files(dataset_folder)

    categories = [RESULT_FILES[path.name] for path in plan.results]
    scored_categories = {SCORE_FILES[path.name] for path in plan.scores if path.name in SCORE_FILES}
    unscored = [category for category in categories if category not in scored_categories]
    report_missing_scores(plan, categories, unscored)
    return plan


def _list_score_files(result_folder: Path) -> list[Path]:
    score_folder = find_score_folder(result_folder)
    if score_folder is None:
        return []
    candidates = [score_folder / name for name in SCORE_FOLDER_FILES]
    return [path for path in candidates if path.is_file()]


def _list_dataset_files(dataset_folder: Path) -> list[Path]:
    """Return the files with questions and golden answers that exist."""
    paths = []
    for name in QUESTION_FILES:
        for path in (dataset_folder / name, dataset_folder / "possible_answer" / name):
            if path.is_file():
                paths.append(path)
    return paths


def find_score_folder(result_folder: Path) -> Path | None:
    """Return the folder with score files: the result folder itself or `score/MODEL` for
    `result/MODEL`.
    """
    for folder in (result_folder, result_folder.parent.parent / "score" / result_folder.name):
        if any((folder / name).is_file() for name in SCORE_FOLDER_FILES):
            return folder
    return None


def find_dataset_folder(result_folder: Path, dataset_folders: list[Path]) -> Path | None:
    """Return the first folder with question files: one of `dataset_folders` or one near the run."""
    candidates = list(dataset_folders)
    candidates += [folder / "data" for folder in dataset_folders]
    for parent in list(result_folder.parents)[:MAX_LEVELS]:
        candidates.append(parent / "data")
        candidates.append(parent)

    for folder in candidates:
        if any((folder / name).is_file() for name in QUESTION_FILES):
            return folder
    return None

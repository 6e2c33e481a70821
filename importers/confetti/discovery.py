"""Recognize CONFETTI files, and load all files of a run except the results.

A run is the folder of a model with the results of one or both categories, in files with BFCL V2 names. Score files are
in the same folder or in the folder of the model in `score/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.discovery import report_missing_scores
from fcreview.importers.common.jsonl import read_objects_with_id
from fcreview.importers.common.records import (
    FailureList,
    as_object,
    load_failure_list,
    load_records_by_id,
    validate_failure_list,
)
from fcreview.importers.confetti.checker import ChainPosition, find_chain_positions
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan

CALLS_CATEGORY, ACTS_CATEGORY = "conversationsclean", "dialogacts"
RESULT_FILES = {f"BFCL_v2_{name}_result.json": name for name in (CALLS_CATEGORY, ACTS_CATEGORY)}
SCORE_FILES = {f"BFCL_v2_{name}_score.json": name for name in (CALLS_CATEGORY, ACTS_CATEGORY)}
QUESTION_FILES = {f"BFCL_v2_{name}.json": name for name in (CALLS_CATEGORY, ACTS_CATEGORY)}
"""Name of a question file -> category. Files of golden answers in `possible_answer/` have the same names."""
SOFT_SCORE_FILE = "BFCL_v2_conversationsclean_soft.json"
HALLUCINATION_FILE = "parameter_hallucination_judge.json"
ACT_JUDGE_FILE = "dialog_act_judge.json"
METRICS_FILE = "metrics.json"
SCORE_FOLDER_FILES = (*SCORE_FILES, SOFT_SCORE_FILE, HALLUCINATION_FILE, ACT_JUDGE_FILE)
"""Names of the files that contain verdicts on items: score files, soft scores and judge verdicts."""


def find_runs(files: Sequence[Path], dataset_folders: Sequence[Path]) -> DiscoveredRuns:
    """Make a run of each folder with result files."""
    found = DiscoveredRuns()
    results_by_folder: dict[Path, list[Path]] = {}
    for path in files:
        if path.name in RESULT_FILES:
            results_by_folder.setdefault(path.parent, []).append(path)
        if path.name in RESULT_FILES or path.name in QUESTION_FILES or path.name in SCORE_FOLDER_FILES:
            found.claimed.add(path)
    for folder, result_files in results_by_folder.items():
        plan = _make_plan(folder, result_files, list(dataset_folders))
        found.plans.append(plan)
        found.claimed.update(plan.files)
        score_folder = find_score_folder(folder)
        if score_folder is not None:
            found.claimed.add(score_folder / METRICS_FILE)
    return found


def _make_plan(result_folder: Path, result_files: list[Path], dataset_folders: list[Path]) -> RunPlan:
    dataset_folder = find_dataset_folder(result_folder, dataset_folders)
    run = Run(
        "confetti",
        "v1",
        "en",
        result_folder.name,
        str(result_folder),
        dataset=str(dataset_folder) if dataset_folder else None,
    )
    reason = "BFCL_v2 result files of the categories conversationsclean and dialogacts"
    plan = RunPlan(run, sorted(result_files), reason=reason)
    score_folder = find_score_folder(result_folder)
    if score_folder is not None:
        plan.scores = [score_folder / name for name in SCORE_FOLDER_FILES if (score_folder / name).is_file()]
    if dataset_folder is not None:
        candidates = [dataset_folder / sub / name for name in QUESTION_FILES for sub in ("", "possible_answer")]
        plan.data = [path for path in candidates if path.is_file()]
    else:
        plan.issues.append(ImportIssue(str(result_folder), None, "no CONFETTI questions were found. Pass --data DIR."))
    categories = [RESULT_FILES[path.name] for path in plan.results]
    scored = {SCORE_FILES[path.name] for path in plan.scores if path.name in SCORE_FILES}
    report_missing_scores(plan, categories, [category for category in categories if category not in scored])
    return plan


def find_score_folder(result_folder: Path) -> Path | None:
    """Return the folder with score files: the result folder itself or `score/MODEL` for `result/MODEL`."""
    for folder in (result_folder, result_folder.parent.parent / "score" / result_folder.name):
        if any((folder / name).is_file() for name in SCORE_FOLDER_FILES):
            return folder
    return None


def find_dataset_folder(result_folder: Path, dataset_folders: list[Path]) -> Path | None:
    """Return the first folder with question files: one of `dataset_folders` or one near the run."""
    nearby_folders = [root / subfolder for root in list(result_folder.parents)[:4] for subfolder in ("data", "")]
    for folder in [*dataset_folders, *(root / "data" for root in dataset_folders), *nearby_folders]:
        if any((folder / name).is_file() for name in QUESTION_FILES):
            return folder
    return None


RecordsById = dict[str, dict[str, Any]]


@dataclass(slots=True)
class RunRecords:
    """All records of a run except the results. Except for `scores_by_category`, the keys are item ids."""

    questions: RecordsById = field(default_factory=dict)
    answers: RecordsById = field(default_factory=dict)
    scores_by_category: dict[str, FailureList] = field(default_factory=dict)
    soft_scores: RecordsById = field(default_factory=dict)
    hallucination_flags: RecordsById = field(default_factory=dict)
    act_labels: RecordsById = field(default_factory=dict)
    chain_positions: dict[str, ChainPosition] = field(default_factory=dict)
    """Item id -> position of the call in its agent turn."""


def load_run_records(plan: RunPlan, issues: list[ImportIssue]) -> RunRecords:
    """Load all files of a run except the results."""
    loaded = RunRecords()
    answers: dict[str, RecordsById] = {CALLS_CATEGORY: {}, ACTS_CATEGORY: {}}
    for path in plan.data:
        records = load_records_by_id(path, issues)
        if path.parent.name == "possible_answer":
            loaded.answers |= records
            answers[QUESTION_FILES[path.name]] = records
        else:
            loaded.questions |= records
    calls, acts = (
        [each for each in part.values() if isinstance(each.get("dialog_id"), str)] for part in answers.values()
    )
    loaded.chain_positions = find_chain_positions(calls, acts)
    for path in plan.scores:
        if path.name in SCORE_FILES:
            _load_score_file(SCORE_FILES[path.name], path, loaded, plan, issues)
        elif path.name == SOFT_SCORE_FILE:
            loaded.soft_scores = load_records_by_id(path, issues)
        elif path.name == HALLUCINATION_FILE:
            loaded.hallucination_flags = load_records_by_id(path, issues)
        elif path.name == ACT_JUDGE_FILE:
            loaded.act_labels = load_records_by_id(path, issues)
    return loaded


def _load_score_file(
    category: str, score_file: Path, records: RunRecords, plan: RunPlan, issues: list[ImportIssue]
) -> None:
    """Load the score file of a category and compare its counts with the results. Skip a category without results."""
    result_files = [file for file in plan.results if RESULT_FILES[file.name] == category]
    if not result_files:
        return
    scored = load_failure_list(score_file, lambda entry: get_failing_item_id(entry, category), issues)
    if scored.header:
        plan.run.official_metrics[category] = scored.header
    for item_id, entry in scored.entries.items():
        if item_id != (expected := get_failing_item_id({"id": entry["id"]}, category)):
            text = f"score entry {entry['id']} should have the id {expected}, but has {item_id}. Using {item_id}"
            issues.append(ImportIssue(str(score_file), None, text, item=item_id))
    validate_failure_list(scored, [each["id"] for file in result_files for each in read_objects_with_id(file)], issues)
    records.scores_by_category[category] = scored


def get_failing_item_id(score_entry: dict[str, Any], category: str) -> str:
    """Return the item id in the prompt of a score entry or, without one, the id for its line number (from 1)."""
    prompt_id, position = as_object(score_entry.get("prompt")).get("id"), score_entry["id"]
    return str(prompt_id or (f"{category}_{position - 1}" if isinstance(position, int) else position))

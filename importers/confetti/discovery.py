"""CONFETTI runs among files: a model folder with results of its two categories, under BFCL v2 names, and the extension
files beside the scores.

Everything a CONFETTI run is made of, read once: questions, answers, scores, soft scores, judges, chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.confetti.checker import ChainPosition, find_chain_positions
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan

CALLS_CATEGORY, ACTS_CATEGORY = "conversationsclean", "dialogacts"
RESULT_FILES = {f"BFCL_v2_{name}_result.json": name for name in (CALLS_CATEGORY, ACTS_CATEGORY)}
SCORE_FILES = {f"BFCL_v2_{name}_score.json": name for name in (CALLS_CATEGORY, ACTS_CATEGORY)}
QUESTION_FILES = {f"BFCL_v2_{name}.json": name for name in (CALLS_CATEGORY, ACTS_CATEGORY)}
SOFT_SCORE_FILE = "BFCL_v2_conversationsclean_soft.json"
HALLUCINATION_FILE = "parameter_hallucination_judge.json"
ACT_JUDGE_FILE = "dialog_act_judge.json"
METRICS_FILE = "metrics.json"
SCORE_FOLDER_FILES = (*SCORE_FILES, SOFT_SCORE_FILE, HALLUCINATION_FILE, ACT_JUDGE_FILE)


def find_runs(files: Sequence[Path], data: Sequence[Path]) -> DiscoveredRuns:
    found = DiscoveredRuns()
    folders: dict[Path, list[Path]] = {}
    for path in files:
        if path.name in RESULT_FILES:
            folders.setdefault(path.parent, []).append(path)
        if path.name in RESULT_FILES or path.name in QUESTION_FILES or path.name in SCORE_FOLDER_FILES:
            found.claimed.add(path)
    for folder, results in folders.items():
        plan = _make_plan(folder, results, list(data))
        found.plans.append(plan)
        found.claimed.update(plan.files)
        scores = find_score_folder(folder)
        if scores is not None:
            found.claimed.add(scores / METRICS_FILE)
    return found


def _make_plan(folder: Path, results: list[Path], data: list[Path]) -> RunPlan:
    place = find_dataset_folder(folder, data)
    run = Run("confetti", "v1", "en", folder.name, str(folder), dataset=str(place) if place else None)
    plan = RunPlan(run, sorted(results), reason="BFCL_v2 files of the categories conversationsclean and dialogacts")
    scores = find_score_folder(folder)
    if scores is not None:
        plan.scores = [scores / name for name in SCORE_FOLDER_FILES if (scores / name).is_file()]
    if place is not None:
        names = [place / sub / name for name in QUESTION_FILES for sub in ("", "possible_answer")]
        plan.data = [path for path in names if path.is_file()]
    else:
        plan.issues.append(ImportIssue(str(folder), None, "no CONFETTI questions found: give --data"))
    return plan


def find_score_folder(result_folder: Path) -> Path | None:
    """`score/MODEL` for `result/MODEL`, or the folder itself where scores lie beside results."""
    for place in (result_folder, result_folder.parent.parent / "score" / result_folder.name):
        if any((place / name).is_file() for name in SCORE_FOLDER_FILES):
            return place
    return None


def find_dataset_folder(result_folder: Path, given: list[Path]) -> Path | None:
    around = [root / sub for root in list(result_folder.parents)[:4] for sub in ("data", "")]
    for place in [*given, *(root / "data" for root in given), *around]:
        if any((place / name).is_file() for name in QUESTION_FILES):
            return place
    return None


RecordsById = dict[str, dict[str, Any]]


@dataclass(slots=True)
class RunRecords:
    questions: RecordsById = field(default_factory=dict)
    answers: RecordsById = field(default_factory=dict)
    failures_by_category: dict[str, RecordsById | None] = field(default_factory=lambda: {CALLS_CATEGORY: None, ACTS_CATEGORY: None})
    """By category: failing entries by item id; None without a score file."""
    soft_scores: RecordsById = field(default_factory=dict)
    hallucination_flags: RecordsById = field(default_factory=dict)
    act_labels: RecordsById = field(default_factory=dict)
    chain_positions: dict[str, ChainPosition] = field(default_factory=dict)


def load_run_records(plan: RunPlan, issues: list[ImportIssue]) -> RunRecords:
    out = RunRecords()
    acts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for path in plan.data:
        rows = _read_objects(path, issues)
        if path.parent.name == "possible_answer":
            out.answers.update(_index_by_id(rows))
            (calls if QUESTION_FILES[path.name] == CALLS_CATEGORY else acts).extend(
                r for r in rows if isinstance(r.get("dialog_id"), str)
            )
        else:
            out.questions.update(_index_by_id(rows))
    out.chain_positions = find_chain_positions([call for call in calls if isinstance(call.get("id"), str)], acts)
    for path in plan.scores:
        rows = _read_objects(path, issues)
        if path.name in SCORE_FILES:
            _index_failures(SCORE_FILES[path.name], path, rows, out, plan, issues)
        elif path.name == SOFT_SCORE_FILE:
            out.soft_scores = _index_by_id(rows)
        elif path.name == HALLUCINATION_FILE:
            out.hallucination_flags = _index_by_id(rows)
        elif path.name == ACT_JUDGE_FILE:
            out.act_labels = _index_by_id(rows)
    return out


def _read_objects(path: Path, issues: list[ImportIssue]) -> list[dict[str, Any]]:
    found = []
    for row in read_records(path):
        if not isinstance(row, JsonRecord):
            issues.append(row)
        elif isinstance(row.value, dict):
            found.append(row.value)
        else:
            issues.append(ImportIssue(str(path), row.line, "not an object", str(row.value)[:300]))
    return found


def _index_by_id(rows: list[dict[str, Any]]) -> RecordsById:
    return {row["id"]: row for row in rows if isinstance(row.get("id"), str)}


def _index_failures(
    category: str, path: Path, rows: list[dict[str, Any]], out: RunRecords, plan: RunPlan, issues: list[ImportIssue]
) -> None:
    """Score ids are 1-based line numbers; the real id stands in the embedded prompt, and the two must agree."""
    failures: RecordsById = {}
    for row in rows:
        if "id" not in row:
            plan.run.official_metrics[category] = row
            continue
        position = row["id"]
        prompt = row.get("prompt")
        name = prompt.get("id") if isinstance(prompt, dict) else None
        counted = f"{category}_{position - 1}" if isinstance(position, int) else str(position)
        if name is not None and name != counted:
            text = f"score id {position} stands for {counted}, its prompt says {name}: the prompt counts"
            issues.append(ImportIssue(str(path), None, text, item=str(name)))
        failures[str(name or counted)] = row
    out.failures_by_category[category] = failures

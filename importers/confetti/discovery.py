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
from fcreview.importers.confetti.checker import Link, chains
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan

CALLS, ACTS = "conversationsclean", "dialogacts"
RESULTS = {f"BFCL_v2_{name}_result.json": name for name in (CALLS, ACTS)}
SCORES = {f"BFCL_v2_{name}_score.json": name for name in (CALLS, ACTS)}
QUESTIONS = {f"BFCL_v2_{name}.json": name for name in (CALLS, ACTS)}
SOFT = "BFCL_v2_conversationsclean_soft.json"
HALLUCINATION = "parameter_hallucination_judge.json"
ACT_JUDGE = "dialog_act_judge.json"
METRICS = "metrics.json"
BESIDE_SCORES = (*SCORES, SOFT, HALLUCINATION, ACT_JUDGE)


def find_runs(files: Sequence[Path], data: Sequence[Path]) -> DiscoveredRuns:
    found = DiscoveredRuns()
    folders: dict[Path, list[Path]] = {}
    for path in files:
        if path.name in RESULTS:
            folders.setdefault(path.parent, []).append(path)
        if path.name in RESULTS or path.name in QUESTIONS or path.name in BESIDE_SCORES:
            found.claimed.add(path)
    for folder, results in folders.items():
        plan = _plan(folder, results, list(data))
        found.plans.append(plan)
        found.claimed.update(plan.files)
        scores = score_folder(folder)
        if scores is not None:
            found.claimed.add(scores / METRICS)
    return found


def _plan(folder: Path, results: list[Path], data: list[Path]) -> RunPlan:
    place = dataset_folder(folder, data)
    run = Run("confetti", "v1", "en", folder.name, str(folder), dataset=str(place) if place else None)
    plan = RunPlan(run, sorted(results), reason="BFCL_v2 files of the categories conversationsclean and dialogacts")
    scores = score_folder(folder)
    if scores is not None:
        plan.scores = [scores / name for name in BESIDE_SCORES if (scores / name).is_file()]
    if place is not None:
        names = [place / sub / name for name in QUESTIONS for sub in ("", "possible_answer")]
        plan.data = [path for path in names if path.is_file()]
    else:
        plan.issues.append(ImportIssue(str(folder), None, "no CONFETTI questions found: give --data"))
    return plan


def score_folder(result_folder: Path) -> Path | None:
    """`score/MODEL` for `result/MODEL`, or the folder itself where scores lie beside results."""
    for place in (result_folder, result_folder.parent.parent / "score" / result_folder.name):
        if any((place / name).is_file() for name in BESIDE_SCORES):
            return place
    return None


def dataset_folder(result_folder: Path, given: list[Path]) -> Path | None:
    around = [root / sub for root in list(result_folder.parents)[:4] for sub in ("data", "")]
    for place in [*given, *(root / "data" for root in given), *around]:
        if any((place / name).is_file() for name in QUESTIONS):
            return place
    return None


Rows = dict[str, dict[str, Any]]


@dataclass(slots=True)
class Sources:
    questions: Rows = field(default_factory=dict)
    answers: Rows = field(default_factory=dict)
    failures: dict[str, Rows | None] = field(default_factory=lambda: {CALLS: None, ACTS: None})
    """By category: failing entries by item id; None without a score file."""
    soft: Rows = field(default_factory=dict)
    hallucination: Rows = field(default_factory=dict)
    act_judge: Rows = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)


def load(plan: RunPlan, issues: list[ImportIssue]) -> Sources:
    out = Sources()
    acts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for path in plan.data:
        rows = _rows(path, issues)
        if path.parent.name == "possible_answer":
            out.answers.update(_by_id(rows))
            (calls if QUESTIONS[path.name] == CALLS else acts).extend(
                r for r in rows if isinstance(r.get("dialog_id"), str)
            )
        else:
            out.questions.update(_by_id(rows))
    out.links = chains([call for call in calls if isinstance(call.get("id"), str)], acts)
    for path in plan.scores:
        rows = _rows(path, issues)
        if path.name in SCORES:
            _scores(SCORES[path.name], path, rows, out, plan, issues)
        elif path.name == SOFT:
            out.soft = _by_id(rows)
        elif path.name == HALLUCINATION:
            out.hallucination = _by_id(rows)
        elif path.name == ACT_JUDGE:
            out.act_judge = _by_id(rows)
    return out


def _rows(path: Path, issues: list[ImportIssue]) -> list[dict[str, Any]]:
    found = []
    for row in read_records(path):
        if not isinstance(row, JsonRecord):
            issues.append(row)
        elif isinstance(row.value, dict):
            found.append(row.value)
        else:
            issues.append(ImportIssue(str(path), row.line, "not an object", str(row.value)[:300]))
    return found


def _by_id(rows: list[dict[str, Any]]) -> Rows:
    return {row["id"]: row for row in rows if isinstance(row.get("id"), str)}


def _scores(
    category: str, path: Path, rows: list[dict[str, Any]], out: Sources, plan: RunPlan, issues: list[ImportIssue]
) -> None:
    """Score ids are 1-based line numbers; the real id stands in the embedded prompt, and the two must agree."""
    failures: Rows = {}
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
    out.failures[category] = failures

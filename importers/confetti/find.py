"""CONFETTI runs among files: a model folder with results of its two categories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fcreview.importers.confetti.files import BESIDE_SCORES, METRICS, QUESTIONS, RESULTS, dataset_folder, score_folder
from fcreview.model import ImportIssue, Run
from fcreview.plan import Found, RunPlan


def find(files: Sequence[Path], data: Sequence[Path]) -> Found:
    found = Found()
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

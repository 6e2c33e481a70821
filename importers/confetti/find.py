"""CONFETTI runs among files: a model folder with results of its two categories, under BFCL v2 names, and the extension
files beside the scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fcreview.model import ImportIssue, Run
from fcreview.plan import Found, RunPlan

CALLS, ACTS = "conversationsclean", "dialogacts"
RESULTS = {f"BFCL_v2_{name}_result.json": name for name in (CALLS, ACTS)}
SCORES = {f"BFCL_v2_{name}_score.json": name for name in (CALLS, ACTS)}
QUESTIONS = {f"BFCL_v2_{name}.json": name for name in (CALLS, ACTS)}
SOFT = "BFCL_v2_conversationsclean_soft.json"
HALLUCINATION = "parameter_hallucination_judge.json"
ACT_JUDGE = "dialog_act_judge.json"
METRICS = "metrics.json"
BESIDE_SCORES = (*SCORES, SOFT, HALLUCINATION, ACT_JUDGE)


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

"""Which files are CONFETTI's: BFCL v2 names with the two categories, and the extension files beside the scores."""

from __future__ import annotations

from pathlib import Path

CALLS, ACTS = "conversationsclean", "dialogacts"
RESULTS = {f"BFCL_v2_{name}_result.json": name for name in (CALLS, ACTS)}
SCORES = {f"BFCL_v2_{name}_score.json": name for name in (CALLS, ACTS)}
QUESTIONS = {f"BFCL_v2_{name}.json": name for name in (CALLS, ACTS)}
SOFT = "BFCL_v2_conversationsclean_soft.json"
HALLUCINATION = "parameter_hallucination_judge.json"
ACT_JUDGE = "dialog_act_judge.json"
METRICS = "metrics.json"
BESIDE_SCORES = (*SCORES, SOFT, HALLUCINATION, ACT_JUDGE)


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

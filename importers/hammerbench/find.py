"""HammerBench runs among files: a flat log is a run; the per-conversation folders of one model are one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from fcreview.importers.hammerbench.files import (
    DATASET,
    array_head,
    dataset_files,
    is_flat_log,
    language_of,
    type_of_folder,
)
from fcreview.model import Run
from fcreview.plan import Found, RunPlan

COMPANIONS = ("LLM_check_response.json", "LLM_check_L.json", "turn_flags_res.json", "badcase.csv")


def find(files: Sequence[Path], data: Sequence[Path]) -> Found:
    found = Found()
    legacy: dict[Path, list[Path]] = defaultdict(list)
    for path in files:
        if path.name == "MT_res.json":
            legacy[path.parent.parent].append(path)
        elif path.name in (*COMPANIONS, "MT_0.json") or path.name.startswith("evaluate_stdout_"):
            if (path.parent / "MT_res.json").is_file():
                found.claimed.add(path)
        elif DATASET.fullmatch(path.name) and path.suffix == ".json" and "messages" in (array_head(path) or {}):
            found.claimed.add(path)
        elif path.suffix == ".json" and is_flat_log(path):
            found.plans.append(_flat(path, data))
    for folder, results in legacy.items():
        found.plans.append(_legacy(folder, results))
    for plan in found.plans:
        found.claimed.update(plan.files)
    return found


def _flat(path: Path, data: Sequence[Path]) -> RunPlan:
    first = array_head(path) or {}
    language = language_of(path, str(first.get("input", "")))
    files = list(dict.fromkeys(dataset_files(path, language, data)))
    run = Run(
        "hammerbench", "flat", language, path.stem, str(path), dataset=str(files[0].parent.parent) if files else None
    )
    return RunPlan(
        run, [path], data=files, reason="a JSON array of records with input, predict and label", needs_scores=False
    )


def _legacy(folder: Path, results: list[Path]) -> RunPlan:
    types = [type_of_folder(path.parent) or path.parent.name for path in results]
    language = language_of(results[0], "")
    run = Run("hammerbench", "conversation", language, folder.name, str(folder), dataset="MT_0.json beside each result")
    companions = [path.parent / name for path in results for name in COMPANIONS if (path.parent / name).is_file()]
    data = [path.parent / "MT_0.json" for path in results if (path.parent / "MT_0.json").is_file()]
    reason = f"folders with MT_res.json: {', '.join(types)}"
    return RunPlan(run, results, scores=companions, data=data, reason=reason)

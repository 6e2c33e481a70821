"""ComplexFuncBench runs among files: `result/<model>/<experiment>.jsonl`, its logs beside it, the dataset around it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import read_first_record
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan

RESULT_KEYS = {"id", "gen_convs", "message", "count_dict"}
DATASET_KEYS = {"id", "conversations", "functions"}
MAX_FIRST_RECORD_BYTES = 64 << 20


def find_runs(files: Sequence[Path], data: Sequence[Path]) -> DiscoveredRuns:
    found = DiscoveredRuns()
    results: list[Path] = []
    datasets: list[Path] = []
    for path in files:
        if path.suffix == ".log" and path.parent.name == "logs":
            if (path.parent.parent.with_suffix(".jsonl")).is_file() or path.parent.parent.with_name(
                path.parent.parent.name + ".jsonl"
            ).is_file():
                found.claimed.add(path)
        elif path.suffix == ".jsonl":
            keys = _read_first_record_keys(path)
            if keys >= RESULT_KEYS:
                results.append(path)
            elif keys >= DATASET_KEYS:
                datasets.append(path)
    for path in results:
        found.plans.append(_make_plan(path, results, datasets, data))
    for plan in found.plans:
        found.claimed.update(plan.files)
    found.claimed.update(datasets)
    return found


def _read_first_record_keys(path: Path) -> set[str]:
    first: Any = read_first_record(path, MAX_FIRST_RECORD_BYTES)
    return set(first) if isinstance(first, dict) else set()


def _make_plan(path: Path, results: list[Path], datasets: list[Path], data: Sequence[Path]) -> RunPlan:
    siblings = [other for other in results if other.parent == path.parent]
    name = path.parent.name if len(siblings) == 1 else f"{path.parent.name} ({path.stem})"
    files = _find_run_dataset(path, datasets, data)
    folder = path.with_suffix("") / "logs"
    run = Run("complexfuncbench", "v1", "en", name, str(path), dataset=_common_path(files))
    run.settings["experiment"] = path.stem
    plan = RunPlan(
        run,
        [path],
        data=files,
        reason="records with gen_convs, message and count_dict",
        needs_scores=False,
    )
    plan.logs = sorted(path for path in folder.glob("*.log") if path.is_file()) if folder.is_dir() else []
    if not files:
        plan.issues.append(
            ImportIssue(str(path), None, "no ComplexFuncBench.jsonl found: golden calls are missing; give --data")
        )
    if not plan.logs:
        text = "no logs beside the result: how each call was judged is partly unknown"
        plan.issues.append(ImportIssue(str(path), None, text, severity="notice"))
    return plan


def _find_run_dataset(path: Path, found: Sequence[Path], data: Sequence[Path]) -> list[Path]:
    """All files of the run's dataset: those below the folders given, else those nearest to the run."""
    given = list(_iter_dataset_files(data))
    if given or not found:
        return given or _nearest_files(path, list(_iter_dataset_files(_candidate_folders(path))))
    return _nearest_files(path, found)


def _nearest_files(path: Path, files: Sequence[Path]) -> list[Path]:
    """Those that share the most folders with the run: a dataset may be several files, and there may be another one's
    of another run."""
    shared = {file: len(os.path.commonpath([path.absolute(), file.absolute()])) for file in dict.fromkeys(files)}
    return sorted(file for file, length in shared.items() if length == max(shared.values()))


def _common_path(files: Sequence[Path]) -> str | None:
    """The file, or the folder of several."""
    return (
        None
        if not files
        else str(files[0] if len(files) == 1 else os.path.commonpath([file.absolute() for file in files]))
    )


def _candidate_folders(path: Path) -> Iterator[Path]:
    for root in list(path.parents)[:4]:
        yield root / "data"
        yield root


def _iter_dataset_files(folders: Sequence[Path] | Iterator[Path]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
            if _read_first_record_keys(path) >= DATASET_KEYS:
                yield path

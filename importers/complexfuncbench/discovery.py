"""Recognize ComplexFuncBench files: a run is `result/<model>/<experiment>.jsonl` with logs in
`<experiment>/logs/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fcreview.importers.common.discovery import list_telling_folders
from fcreview.importers.common.file_form import PROBE_BYTES, detect_form
from fcreview.importers.common.jsonl import read_first_record
from fcreview.importers.common.records import as_object
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from fcreview.safe_files import open_file

RESULT_KEYS = {"id", "gen_convs", "message", "count_dict"}
DATASET_NAME = "ComplexFuncBench.jsonl"
DATASET_KEYS = {"id", "conversations", "functions"}
MAX_FIRST_RECORD_BYTES = 64 << 20


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    """Make a run of each result file, and claim the dataset files and logs."""
    found = DiscoveredRuns()
    result_files: list[Path] = []
    dataset_files: list[Path] = []
    for path in files:
        if path.suffix == ".log" and path.parent.name == "logs":
            folder = path.parent.parent
            if (
                folder.with_suffix(".jsonl").is_file()
                or folder.with_name(folder.name + ".jsonl").is_file()
            ):
                found.claimed.add(path)
        elif path.suffix == ".jsonl" or _is_array_of_results(path):
            keys = _read_first_record_keys(path)
            if keys >= RESULT_KEYS:
                result_files.append(path)
            elif _is_dataset_file(path, keys):
                dataset_files.append(path)
    for path in result_files:
        plan = _make_plan(path, result_files, dataset_files, dataset_folders)
        found.plans.append(plan)
        found.claimed.update(plan.files)
    found.claimed.update(dataset_files)
    return found


def _is_array_of_results(path: Path) -> bool:
    """Return whether a file begins with a JSON array of result records, which can be long.

    Only its start is read.
    """
    if path.suffix != ".json":
        return False
    try:
        with open_file(path) as file:
            start = file.read(PROBE_BYTES)
    except OSError:
        return False
    return b'"gen_convs"' in start and detect_form(start) == "array"


def _read_first_record_keys(path: Path) -> set[str]:
    return set(as_object(read_first_record(path, MAX_FIRST_RECORD_BYTES)))


def _is_dataset_file(path: Path, keys: set[str]) -> bool:
    """Return whether `keys`, the keys of the first record of a file, are those of a sample.

    An empty file with the name of the dataset is also a dataset file.
    """
    return keys >= DATASET_KEYS or (path.name == DATASET_NAME and not keys)


def _make_plan(
    result_file: Path,
    result_files: list[Path],
    dataset_files: list[Path],
    dataset_folders: Sequence[Path],
) -> RunPlan:
    siblings = [other for other in result_files if other.parent == result_file.parent]
    name = (
        result_file.parent.name
        if len(siblings) == 1
        else f"{result_file.parent.name} ({result_file.stem})"
    )
    files = _find_run_dataset(result_file, dataset_files, dataset_folders)
    log_folder = result_file.with_suffix("") / "logs"
    dataset = (
        os.path.commonpath([each.absolute() for each in files])
        if len(files) > 1
        else "".join(map(str, files))
    )
    run = Run("complexfuncbench", "v1", "en", name, str(result_file), dataset=dataset or None)
    run.settings["experiment"] = result_file.stem
    run.name_parts = list_telling_folders(result_file.parent.parent)
    reason = "the records have gen_convs, message and count_dict"
    plan = RunPlan(run, [result_file], data=files, reason=reason, needs_scores=False)
    plan.logs = sorted(path for path in log_folder.glob("*.log") if path.is_file())
    if not files:
        text = (
            f"{DATASET_NAME} was not found, so there are no golden calls. Pass --data DIR, the"
            " folder of the file."
        )
        plan.issues.append(ImportIssue(str(result_file), None, what=text))
    if not plan.logs:
        text = (
            f"the folder {result_file.stem}/logs has no logs, so the verdicts on some calls are"
            " unknown"
        )
        plan.issues.append(ImportIssue(str(result_file), None, what=text, severity="notice"))
    return plan


def _find_run_dataset(
    result_file: Path, dataset_files: Sequence[Path], dataset_folders: Sequence[Path]
) -> list[Path]:
    if passed := list(_iter_dataset_files(dataset_folders)):
        return passed
    folders = [folder for root in list(result_file.parents)[:4] for folder in (root / "data", root)]
    files = dataset_files or list(_iter_dataset_files(folders))
    # A file that shares fewer parent folders with the run may belong to another run.
    shared = {
        file: len(os.path.commonpath([result_file.absolute(), file.absolute()])) for file in files
    }
    return sorted(file for file, length in shared.items() if length == max(shared.values()))


def _iter_dataset_files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
            if _is_dataset_file(path, _read_first_record_keys(path)):
                yield path

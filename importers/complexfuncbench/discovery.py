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
MAX_LEVELS = 4
"""Number of folders above the results in which a dataset is searched."""


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    """Find the runs among the opened files: each file with result records is one.

    The dataset files and the evaluator's logs are claimed too, so that they are not reported as
    unknown.
    """
    logs = [path for path in files if path.suffix == ".log" and _is_log_of_experiment(path)]
    result_files: list[Path] = []
    dataset_files: list[Path] = []
    for path in files:
        if path.suffix != ".jsonl" and not _is_array_of_results(path):
            continue
        keys = _read_first_record_keys(path)
        if keys >= RESULT_KEYS:
            result_files.append(path)
        elif _is_dataset_file(path, keys):
            dataset_files.append(path)

    found = DiscoveredRuns(claimed={*logs, *dataset_files})
    for path in result_files:
        run_dataset = _find_run_dataset(path, dataset_files, dataset_folders)
        plan = _make_plan(path, _name_run(path, result_files), run_dataset)
        found.plans.append(plan)
        found.claimed.update(plan.files)
    return found


def _is_log_of_experiment(path: Path) -> bool:
    """Return whether a file is in the folder `EXPERIMENT/logs` beside `EXPERIMENT.jsonl`."""
    if path.parent.name != "logs":
        return False
    experiment = path.parent.parent
    # The name of an experiment can contain a dot.
    result_file = experiment.with_name(f"{experiment.name}.jsonl")
    return experiment.with_suffix(".jsonl").is_file() or result_file.is_file()


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


def _name_run(result_file: Path, result_files: list[Path]) -> str:
    """Return the model, and also the experiment if the model has several."""
    model = result_file.parent.name
    n_experiments = sum(other.parent == result_file.parent for other in result_files)
    return model if n_experiments == 1 else f"{model} ({result_file.stem})"


def _make_plan(result_file: Path, name: str, dataset_files: list[Path]) -> RunPlan:
    """Make the import plan of a run.

    The logs are in a folder beside the result file: `RUN/logs` for `RUN.jsonl`. Only they contain
    the evaluator's verdicts on calls.
    """
    dataset = _find_dataset_path(dataset_files)
    run = Run(
        benchmark="complexfuncbench",
        generation="v1",
        language="en",
        model=name,
        path=str(result_file),
        dataset=dataset,
    )
    run.settings["experiment"] = result_file.stem
    run.name_parts = list_telling_folders(result_file.parent.parent)

    reason = "the records have gen_convs, message and count_dict"
    plan = RunPlan(run, [result_file], data=dataset_files, reason=reason, needs_scores=False)
    log_folder = result_file.with_suffix("") / "logs"
    plan.logs = sorted(path for path in log_folder.glob("*.log") if path.is_file())
    plan.issues += _report_missing_files(plan)
    return plan


def _report_missing_files(plan: RunPlan) -> Iterator[ImportIssue]:
    """Yield an issue if the dataset was not found, and one if there are no logs."""
    result_file = plan.results[0]
    if not plan.data:
        what = (
            f"{DATASET_NAME} was not found, so there are no golden calls. Pass --data DIR, the"
            " folder of the file."
        )
        yield ImportIssue(str(result_file), what=what)
    if not plan.logs:
        what = (
            f"the folder {result_file.stem}/logs has no logs, so the verdicts on some calls are"
            " unknown"
        )
        yield ImportIssue(str(result_file), what=what, severity="notice")


def _find_dataset_path(dataset_files: Sequence[Path]) -> str | None:
    """Return the path of the dataset: the only file, or the folder of several files."""
    if not dataset_files:
        return None
    if len(dataset_files) == 1:
        return str(dataset_files[0])
    return os.path.commonpath([file.absolute() for file in dataset_files])


def _find_run_dataset(
    result_file: Path, dataset_files: Sequence[Path], dataset_folders: Sequence[Path]
) -> list[Path]:
    """Choose the dataset files of a run: those in the folders that the user named, else those among
    the opened files, else those near the run.

    Of files that the user did not name, only the nearest ones are used, because another file may
    belong to another run.

    Args:
        result_file: The result file of the run.
        dataset_files: The dataset files among the opened files.
        dataset_folders: The folders that the user named.
    """
    named_files = list(_iter_dataset_files(dataset_folders))
    if named_files:
        return named_files
    if dataset_files:
        return _select_nearest_files(dataset_files, result_file)

    folders = []
    for parent in list(result_file.parents)[:MAX_LEVELS]:
        folders.append(parent / "data")
        folders.append(parent)
    return _select_nearest_files(list(_iter_dataset_files(folders)), result_file)


def _select_nearest_files(files: Sequence[Path], result_file: Path) -> list[Path]:
    """Return the files that are nearest to a result file.

    A file is nearer if the path that it shares with the result file is longer.
    """
    length_by_file = {}
    for file in files:
        shared_path = os.path.commonpath([result_file.absolute(), file.absolute()])
        length_by_file[file] = len(shared_path)
    longest = max(length_by_file.values(), default=0)
    return sorted(file for file, length in length_by_file.items() if length == longest)


def _iter_dataset_files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        if not folder.is_dir():
            continue
        for path in sorted(folder.glob("*.jsonl")):
            if _is_dataset_file(path, _read_first_record_keys(path)):
                yield path

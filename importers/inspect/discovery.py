"""Recognize Inspect logs by their content, whatever their names. One log is one run.

A log is an archive, a JSON object, a folder with the members of an archive, or several parts in
`NAME.shards/`. `attempts.py` chooses between several logs of a task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.importers.common.faulty_files import make_failed_plan
from fcreview.importers.common.records import as_object
from fcreview.importers.inspect.found_logs import ChosenLog, FoundLog, SkippedLog
from fcreview.importers.inspect.log_start import (
    HEADER,
    SAMPLE_FOLDER,
    START,
    UnreadableLog,
    is_log,
    list_unpacked_samples,
)
from fcreview.importers.inspect.names import (
    get_task_name,
    list_name_parts,
    remove_control_characters,
)
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from fcreview.safe_files import SIGNATURE, open_file

if TYPE_CHECKING:
    from fcreview.importers.bfcl.dataset import DatasetFiles

LOG_SUFFIXES = (".eval", ".json")
OTHER_FORMATS = frozenset(
    {
        ".bmp",
        ".css",
        ".csv",
        ".gif",
        ".gz",
        ".htm",
        ".html",
        ".ico",
        ".ipynb",
        ".jpeg",
        ".jpg",
        ".js",
        ".jsonl",
        ".lock",
        ".log",
        ".md",
        ".mp3",
        ".mp4",
        ".ndjson",
        ".npy",
        ".npz",
        ".parquet",
        ".pdf",
        ".pickle",
        ".pkl",
        ".png",
        ".pt",
        ".py",
        ".pyc",
        ".rst",
        ".safetensors",
        ".sh",
        ".sql",
        ".svg",
        ".tar",
        ".tgz",
        ".toml",
        ".tsv",
        ".txt",
        ".wav",
        ".webp",
        ".xlsx",
        ".xml",
        ".xz",
        ".yaml",
        ".yml",
        ".zst",
    }
)
"""Suffixes of files that are not opened to find logs with other names."""
JOURNAL_FOLDER = "_journal"
UNPACKED_FILES = (HEADER, "summaries.json", "reductions.json")
SHARDS_SUFFIX = ".shards"
_INDEX_FILES = frozenset({"logs.json", "listing.json", "eval-set.json"})
"""Names of files in a log folder that are not logs."""
BFCL = "bfcl"
"""Task whose samples are joined with the BFCL dataset."""
MAX_LISTED_ATTEMPTS = 3
NOT_A_LOG = (
    "this file is not an Inspect log: it is neither an archive with header.json nor JSON with"
    " `eval`"
)


@dataclass(frozen=True, slots=True)
class LogSources:
    """Data of a run's plan: where the reader finds more than the result files."""

    unpacked: Path | None = None
    """Folder of an unpacked log."""
    datasets: Mapping[str, DatasetFiles] = field(default_factory=dict)
    """BFCL category -> its files."""


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    """Find the runs among the opened files: the logs, except attempts and copies of others."""
    found = DiscoveredRuns()
    logs = _find_logs(files, found)
    chosen = _choose_logs(logs)
    plans = [_make_plan(each, dataset_folders) for each in chosen]
    _set_name_parts(plans, chosen)
    found.plans = [*plans, *found.plans]
    return found


def _find_logs(files: Sequence[Path], found: DiscoveredRuns) -> list[FoundLog]:
    """Find the logs of Inspect among the opened files, and claim their files.

    A log is an archive, a JSON file, several files with parts of a run, or the folder of an
    unpacked archive. A log that cannot be read becomes a plan that fails.
    """
    unpacked_folders = _find_unpacked_folders(files)
    log_files = _claim_log_files(files, unpacked_folders, found)
    logs = _join_shards(log_files)
    logs += [FoundLog([folder]) for folder in unpacked_folders]

    readable_logs = []
    for log in logs:
        try:
            log.fields = _read_fields(log.path)
        except UnreadableLog as error:
            reason = f"the log cannot be read: {error}"
            found.plans.append(make_failed_plan("inspect", log.path, reason))
            continue
        readable_logs.append(log)
    return readable_logs


def _claim_log_files(
    files: Sequence[Path], unpacked_folders: Sequence[Path], found: DiscoveredRuns
) -> list[Path]:
    """Claim the files of Inspect, and return those that are logs.

    An archive of Inspect by its name that is no log becomes a plan that fails.
    """
    # The index of a log folder has a name that other programs use too.
    is_log_folder = any(path.suffix == ".eval" for path in files)
    log_files = []
    for path in files:
        if _find_unpacked_folder(path, unpacked_folders) is not None:
            found.claimed.add(path)  # The folder is the log.
        elif path.name in _INDEX_FILES:
            if is_log_folder:
                found.claimed.add(path)
        elif not _may_be_log(path):
            continue
        elif is_log(path):
            found.claimed.add(path)
            log_files.append(path)
        elif path.suffix == ".eval":
            found.claimed.add(path)
            found.plans.append(make_failed_plan("inspect", path, NOT_A_LOG))
    return log_files


def _join_shards(log_files: Sequence[Path]) -> list[FoundLog]:
    """Return the logs of these files: first the single files, then one log for each folder
    `NAME.shards`.
    """
    single_logs = []
    logs_in_parts: dict[Path, FoundLog] = {}
    for path in log_files:
        shards_folder = _find_shards_folder(path)
        if shards_folder is None:
            single_logs.append(FoundLog([path]))
        elif shards_folder in logs_in_parts:
            logs_in_parts[shards_folder].paths.append(path)
        else:
            logs_in_parts[shards_folder] = FoundLog([path], is_in_parts=True)
    return [*single_logs, *logs_in_parts.values()]


def _find_unpacked_folders(files: Sequence[Path]) -> list[Path]:
    """Find the folders into which users have unpacked the archive of a log.

    Such a folder contains the header of the log, or the record with which a run starts, and a
    folder with samples or a journal.
    """
    folders: dict[Path, None] = {}
    for path in files:
        is_start = path.name == Path(START).name and path.parent.name == JOURNAL_FOLDER
        if path.name != HEADER and not is_start:
            continue
        # The start record is in the journal, one folder deeper than the header.
        folder = path.parent.parent if is_start else path.parent
        has_samples = (folder / SAMPLE_FOLDER).is_dir()
        has_journal = (folder / JOURNAL_FOLDER).is_dir()
        has_members = has_samples or has_journal
        if folder not in folders and has_members and is_log(path):
            folders[folder] = None
    return list(folders)


def _find_unpacked_folder(path: Path, unpacked: Sequence[Path]) -> Path | None:
    """Return the unpacked log to which a file belongs, or None."""
    for folder in unpacked:
        if path.parent == folder and path.name in UNPACKED_FILES:
            return folder
        if (folder / SAMPLE_FOLDER) in path.parents or (folder / JOURNAL_FOLDER) in path.parents:
            return folder
    return None


def _may_be_log(path: Path) -> bool:
    """Whether a file is worth a look.

    A file with another name than a log must begin as an archive or an object.
    """
    if path.suffix in LOG_SUFFIXES:
        return True
    if path.suffix.lower() in OTHER_FORMATS:
        return False
    try:
        with open_file(path) as file:
            start = file.read(len(SIGNATURE))
    except (OSError, ValueError):
        return False
    return start == SIGNATURE or start.startswith(b"{")


def _find_shards_folder(path: Path) -> Path | None:
    """Return the folder `NAME.shards` that contains the file, or None."""
    return next((parent for parent in path.parents if parent.suffix == SHARDS_SUFFIX), None)


def _choose_logs(logs: Sequence[FoundLog]) -> list[ChosenLog]:
    """Return the logs to import, in the order of their tasks. If a task was run several times, the
    log of the best attempt is returned.
    """
    groups: dict[tuple[str, str], list[FoundLog]] = {}
    for log in logs:
        # Logs with the same key are attempts at one task, or copies.
        groups.setdefault(log.attempt_key, []).append(log)

    chosen: list[ChosenLog] = []
    for group in groups.values():
        if len(group) == 1:
            chosen.append(ChosenLog(group[0]))
        else:
            # Most searches find each log once, and need no comparison of logs.
            from fcreview.importers.inspect.attempts import choose_attempt

            chosen += choose_attempt(group)
    return chosen


def _read_fields(path: Path) -> dict[str, Any]:
    """Return the object `eval` of a log, which describes the run. Raises UnreadableLog."""
    from fcreview.importers.inspect.log import open_log, read_eval_fields

    if not path.is_dir():
        return read_eval_fields(path)
    with open_log(path) as log:
        return as_object(log.header.get("eval"))


def _make_plan(chosen: ChosenLog, dataset_folders: Sequence[Path]) -> RunPlan:
    """Make the import plan of a run from the log that was chosen among its attempts and copies."""
    log = chosen.log
    path = log.path
    run = Run(
        benchmark="inspect",
        generation=get_task_name(log.fields),
        language="en",
        model=remove_control_characters(str(log.fields.get("model") or "unknown model")),
        path=str(_find_run_path(log)),
        needs_dataset=False,
    )
    plan = RunPlan(
        run, log.paths, reason="an Inspect log (an archive or a JSON object with `eval`)"
    )
    plan.needs_scores = False
    if path.is_dir():
        _set_unpacked_files(plan, path)
    if run.generation == BFCL:
        _attach_bfcl_dataset(plan, log.fields, dataset_folders)
    if chosen.skipped:
        plan.issues.append(_make_skipped_issue(chosen, path))
    return plan


def _find_run_path(log: FoundLog) -> Path:
    """Return the path of a log or, if the log is in parts, the folder of these."""
    if log.is_in_parts:
        return _find_shards_folder(log.path) or log.path
    return log.path


def _set_unpacked_files(plan: RunPlan, folder: Path) -> None:
    """Set the files of an unpacked log.

    The samples contain the items. A log without samples has only its header.
    """
    header = next(path for path in (folder / HEADER, folder / START) if path.is_file())
    plan.results = list_unpacked_samples(folder) or [header]
    plan.logs = [header]
    plan.importer_data = LogSources(unpacked=folder)


def _make_skipped_issue(chosen: ChosenLog, path: Path) -> ImportIssue:
    """Return the notice that names the other attempts at a task, which are not imported."""
    listed = [_describe_skipped(skipped) for skipped in chosen.skipped[-MAX_LISTED_ATTEMPTS:]]
    n_others = len(chosen.skipped) - len(listed)
    more = f" and {n_others} more" if n_others else ""
    what = f"other logs of the same task and model were skipped: {', '.join(listed)}{more}."
    what += " To import such a log, pass its path"
    return ImportIssue(str(path), None, what=what, severity="notice")


def _describe_skipped(skipped: SkippedLog) -> str:
    return f"{skipped.path.name} ({skipped.reason})"


def _set_name_parts(plans: Sequence[RunPlan], chosen: Sequence[ChosenLog]) -> None:
    """Set the texts that distinguish the runs of a model in the list of runs.

    The status of a log takes time to read. It is only needed if the model has several runs of the
    task.
    """
    n_runs_of_model = Counter((plan.run.model, plan.run.generation) for plan in plans)
    for plan, chosen_log in zip(plans, chosen, strict=True):
        log = chosen_log.log
        status = ""
        if n_runs_of_model[plan.run.model, plan.run.generation] > 1:
            status = _read_status(log.path)
        plan.run.name_parts = list_name_parts(log.fields, status, Path(plan.run.path))


def _read_status(path: Path) -> str:
    from fcreview.importers.inspect.log import open_log

    try:
        with open_log(path) as log:
            return str(log.header.get("status") or "") if log.has_header else "started"
    except UnreadableLog:
        return ""


def _attach_bfcl_dataset(
    plan: RunPlan, eval_fields: dict[str, Any], dataset_folders: Sequence[Path]
) -> None:
    """Find the BFCL dataset of a log in which Inspect ran BFCL, and set it in the plan.

    A missing dataset is not an issue, because a log contains the questions and the golden answers.
    """
    from fcreview.importers.inspect.tasks import list_sample_categories

    sample_ids = as_object(eval_fields.get("dataset")).get("sample_ids")
    categories = list_sample_categories(sample_ids)
    if not categories:
        return

    bfcl_plan = _plan_bfcl_run(plan, categories, dataset_folders)
    datasets = {}
    for category, files in bfcl_plan.importer_data.items():
        if files.dataset_files:
            datasets[category] = files.dataset_files[0]
    sources = plan.importer_data or LogSources()
    plan.importer_data = replace(sources, datasets=datasets)
    plan.data = bfcl_plan.data
    plan.run.dataset = bfcl_plan.run.dataset


def _plan_bfcl_run(
    plan: RunPlan, categories: Iterable[str], dataset_folders: Sequence[Path]
) -> RunPlan:
    """Return a plan of a BFCL run of the same model, for which the BFCL importer has found the
    dataset.

    Its `importer_data` has the files of each category.
    """
    from fcreview.importers.bfcl.discovery import CategoryFiles, attach_dataset, walk_folders
    from fcreview.importers.bfcl.filenames import read_first

    bfcl_run = Run(
        benchmark="bfcl",
        generation="V4",
        language="en",
        model=plan.run.model,
        path=plan.run.path,
    )
    bfcl_plan = RunPlan(bfcl_run, plan.results)
    bfcl_plan.importer_data = {category: CategoryFiles() for category in categories}

    folders: list[Path] = []
    for root in dataset_folders:
        folders += walk_folders(root)
    # Each search for runs reads the first records again, because files may have changed.
    read_first.cache_clear()
    attach_dataset(bfcl_plan, data_folders=folders, opened_folders=[])
    return bfcl_plan

"""Recognize Inspect logs by their content. One log is one run.

Logs with the same task id are attempts at the same run, because a retry copies the finished samples and an edit writes
another file. fcreview imports only the latest attempt, so that no sample counts twice. If several workers wrote parts
of a log (`NAME.shards/`), these parts are one run, unless the merged log exists.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.inspect.log import UnreadableLog, is_log, read_copy_recency, read_eval_fields
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions

LOG_SUFFIXES = (".eval", ".json")
SHARDS_SUFFIX = ".shards"
_INDEX_FILES = frozenset({"logs.json", "listing.json", "eval-set.json"})
"""Names of files in a log folder that are not logs."""
BFCL = "bfcl"
"""Task whose samples are joined with the BFCL dataset."""
_UNSAFE = re.compile(r"[\x00-\x1f\x7f]")
MAX_LISTED_ATTEMPTS = 3


@dataclass(slots=True)
class FoundLog:
    """The files of a log, with the data that identifies its run."""

    paths: list[Path]
    """Path of the log, or paths of the parts that several workers wrote."""
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def task_id(self) -> str:
        return str(self.fields.get("task_id") or self.fields.get("run_id") or self.paths[0])

    @property
    def sort_key(self) -> tuple[str, int, tuple[int, ...], str]:
        """Sort key of attempts: the latest attempt is last. A log and its edited copies have the same `created`."""
        return str(self.fields.get("created") or ""), *read_copy_recency(self.paths[-1]), str(self.paths[-1])


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    found = DiscoveredRuns()
    logs: list[FoundLog] = []
    shards: dict[Path, list[Path]] = {}
    for path in files:
        if path.suffix not in LOG_SUFFIXES:
            continue
        if path.name in _INDEX_FILES or not is_log(path):
            if path.suffix == ".eval":
                what = "this file is not an Inspect log: it is neither an archive with header.json nor JSON with `eval`"
                found.issues.append(ImportIssue(str(path), None, what, severity="error"))
            elif path.name in _INDEX_FILES and any(each.suffix == ".eval" for each in files):
                found.claimed.add(path)
            continue
        found.claimed.add(path)
        if (folder := _find_shards_folder(path)) is not None:
            shards.setdefault(folder, []).append(path)
        else:
            logs.append(FoundLog([path]))
    logs += [FoundLog(paths) for paths in shards.values()]
    for log in [*logs]:
        try:
            log.fields = read_eval_fields(log.paths[0])
        except UnreadableLog as error:
            what = f"the log cannot be read: {error}"
            found.issues.append(ImportIssue(str(log.paths[0]), None, what, severity="error"))
            logs.remove(log)
    found.plans = [_make_plan(attempts, dataset_folders) for attempts in _group_attempts(logs)]
    return found


def _find_shards_folder(path: Path) -> Path | None:
    """Return the folder `NAME.shards` that contains the file, or None."""
    return next((parent for parent in path.parents if parent.suffix == SHARDS_SUFFIX), None)


def _group_attempts(logs: Sequence[FoundLog]) -> list[list[FoundLog]]:
    """Group logs by task id. The last log of a group is the latest attempt."""
    groups: dict[str, list[FoundLog]] = {}
    for log in logs:
        groups.setdefault(log.task_id, []).append(log)
    for attempts in groups.values():
        if len(attempts) > 1:  # A merged log comes after its parts.
            attempts.sort(key=lambda log: (_find_shards_folder(log.paths[0]) is None, log.sort_key))
    return list(groups.values())


def get_task_name(eval_fields: dict[str, Any]) -> str:
    """Return the last part of the task's name: `bfcl` for `inspect_evals/bfcl`."""
    name = eval_fields.get("task_registry_name") or eval_fields.get("task")
    return _UNSAFE.sub("", str(name or "unknown task")).rpartition("/")[2] or "unknown task"


def _make_plan(attempts: Sequence[FoundLog], dataset_folders: Sequence[Path]) -> RunPlan:
    log = attempts[-1]
    eval_fields, path = log.fields, log.paths[0]
    run_path = path if len(log.paths) == 1 else _find_shards_folder(path) or path
    model = _UNSAFE.sub("", str(eval_fields.get("model") or "unknown model"))
    run = Run("inspect", get_task_name(eval_fields), "en", model, str(run_path), needs_dataset=False)
    reason = "an Inspect log (an archive or a JSON object with `eval`)"
    plan = RunPlan(run, log.paths, reason=reason, needs_scores=False)
    if run.generation == BFCL:
        _attach_bfcl_dataset(plan, eval_fields, dataset_folders)
    if older := [part.paths[0].name for part in attempts[:-1]]:
        names = ", ".join(older[-MAX_LISTED_ATTEMPTS:])
        names += f" and {len(older) - MAX_LISTED_ATTEMPTS} more" if len(older) > MAX_LISTED_ATTEMPTS else ""
        what = f"older logs of the same task were skipped: {names}. To import such a log, pass its path"
        plan.issues.append(ImportIssue(str(path), None, what, severity="notice"))
    return plan


def _attach_bfcl_dataset(plan: RunPlan, eval_fields: dict[str, Any], dataset_folders: Sequence[Path]) -> None:
    """Find the BFCL dataset in the same way as for BFCL runs.

    A missing dataset is not an issue, because a log contains the questions and golden answers.
    """
    from fcreview.importers.bfcl.discovery import CategoryFiles, attach_dataset, walk_folders
    from fcreview.importers.bfcl.filenames import read_first
    from fcreview.importers.inspect.tasks import list_sample_categories

    names = list_sample_categories(as_object(eval_fields.get("dataset")).get("sample_ids"))
    if not names:
        return
    search = RunPlan(Run("bfcl", "V4", "en", plan.run.model, plan.run.path), plan.results)
    search.importer_data = {name: CategoryFiles() for name in names}
    named = [folder for root in dataset_folders for folder in walk_folders(root)]
    read_first.cache_clear()
    attach_dataset(search, named, [])
    plan.importer_data = {
        name: files.dataset_files[0] for name, files in search.importer_data.items() if files.dataset_files
    }
    plan.data, plan.run.dataset = search.data, search.run.dataset

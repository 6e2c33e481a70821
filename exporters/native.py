"""Export a copy of the benchmark's own files, with reviewed verdicts in the score files.

The copy has all files of a run at the same relative paths: results, scores, logs, and the dataset
if it is next to them. The original of a changed score file is kept as `NAME.orig`. Files with
metrics that the benchmark computed from changed scores, such as leaderboards, are omitted, because
their values would be wrong.

`write_notes` exports reviews as notes for the viewer of tau2-bench, one file `*_note.json` for each
review. The field `fcreview` of a note contains the complete review. `import-labels --format
tau2-notes` reads this field, and the viewer ignores it. Adjudications are not exported.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.exporters.base import ExportError, ExportSource
from fcreview.model.address import ITEM
from fcreview.model.json_value import json_hash
from fcreview.model.review import CORRECT, Opinion
from fcreview.model.wording import format_count, format_verdict
from fcreview.run_plan import RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import open_file, read_file
from fcreview.store.rows import ItemDetail

ORIGINAL_SUFFIX = ".orig"
PATH_LEVELS = 2
"""Number of folders above a run whose names may identify the run, for example by model or
language.
"""
MAX_REASON_CHARS = 200  # maximum length of the message of an exception in an error
MAX_TASK_ID_CHARS = 60  # maximum length of a task id in the name of a note file
ERROR_SOURCES = {"model": "agent", "simulator": "user", "checker": "system"}
"""Value of the note's field `error_source` for each fault.

The viewer has no value for the other faults.
"""
ERROR_TYPES = frozenset(
    {"transcription", "vad", "logical", "hallucination", "unresponsive", "early_termination"}
)
_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(slots=True)
class _RewrittenRun:
    plan: RunPlan
    summaries: list[Path] = field(default_factory=list)
    changed: list[RewrittenFile] = field(default_factory=list)
    unrepresentable: list[Unrepresentable] = field(default_factory=list)


def write_benchmark_files(source: ExportSource, folder: Path) -> None:
    """Write copies of the files of the runs, in which scores follow the reviews.

    The benchmark's own programs can read the copies. Raises OSError if a file is missing or is not
    a regular file, because copying a device would fill the disk. Raises ExportError if there is no
    run or a file has unexpected content.
    """
    runs = []
    for row in source.runs:
        plan = source.benchmark_services.find_plan(row.info)
        runs.append(_rewrite_run_files(source, row.run, plan))
    if not runs:
        raise ExportError("no run to export. Import a run first.")

    # The copies keep the arrangement of the files below their common folder.
    root = find_common_folder([run.plan for run in runs])
    files = _list_files_to_copy(runs)
    copied_files = [path for path in files.paths if path.is_relative_to(root)]
    for path in copied_files:
        _copy_or_rewrite_file(path, folder / path.relative_to(root), files.new_contents.get(path))

    source.counts |= {
        "run": len(runs),
        "file": len(copied_files),
        "changed file": len(files.new_contents),
    }
    for note in _list_omissions(runs, files, root):
        source.print_note(note)


def _list_omissions(
    runs: Sequence[_RewrittenRun], files: _FilesToCopy, root: Path
) -> Iterator[str]:
    """Say what the copies lack: reviews and dataset files of each run, and outdated summaries."""
    for run in runs:
        yield from _list_omissions_of_run(run, root)
    for path in files.stale_summaries:
        yield (
            f"{path.name} is omitted. Run the benchmark's own program to compute it from the new"
            " scores."
        )


@dataclass(frozen=True, slots=True)
class _FilesToCopy:
    """Files of several runs, each once."""

    paths: Sequence[Path]
    new_contents: dict[Path, bytes]
    """Contents of the files that differ from the originals."""
    stale_summaries: Sequence[Path]
    """Files with metrics that no longer fit the scores, so they are not in `paths`."""


def _list_files_to_copy(runs: Sequence[_RewrittenRun]) -> _FilesToCopy:
    """List the files of all runs, each once.

    A summary of scores is left out if the scores have changed, because it no longer fits them.
    """
    # Dictionaries keep each path once, in this order.
    paths: dict[Path, None] = {}
    stale_summaries: dict[Path, None] = {}
    new_contents: dict[Path, bytes] = {}
    for run in runs:
        paths |= dict.fromkeys([*run.plan.files, *run.summaries])
        for file in run.changed:
            new_contents[file.path] = file.content
        if run.changed:
            stale_summaries |= dict.fromkeys(run.summaries)

    paths_to_copy = [path for path in paths if path not in stale_summaries]
    return _FilesToCopy(paths_to_copy, new_contents, list(stale_summaries))


def _rewrite_run_files(source: ExportSource, run_number: int, plan: RunPlan) -> _RewrittenRun:
    """Compute the new contents of a run's files, with scores that follow the reviews.

    Raises ExportError if a file has unexpected content.
    """
    services = source.benchmark_services
    rewritten = _RewrittenRun(plan, services.find_summary_files(plan))
    corrected_scores = source.store.analysis.fetch_scored_items(run_number)["corrected"]
    try:
        for change in services.rewrite_scores(plan, corrected_scores):
            if isinstance(change, Unrepresentable):
                rewritten.unrepresentable.append(change)
            elif change.content != read_file(change.path):
                rewritten.changed.append(change)
    except MALFORMED_DATA as error:
        reason = f"{type(error).__name__}: {str(error)[:MAX_REASON_CHARS]}"
        raise ExportError(f"{plan.run.model}: a file has unexpected content: {reason}") from error
    return rewritten


def _copy_or_rewrite_file(path: Path, target: Path, new_content: bytes | None) -> None:
    """Copy a file. If it has new content, write that, and copy the original beside it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target_of_original = target
    if new_content is not None:
        target.write_bytes(new_content)
        target_of_original = target.with_name(target.name + ORIGINAL_SUFFIX)
    with open_file(path) as file, target_of_original.open("wb") as copy:
        shutil.copyfileobj(file, copy)


def find_common_folder(plans: Sequence[RunPlan]) -> Path:
    """Return the folder below which files are copied, so that the benchmark's programs find them.

    It contains all results, scores and logs, and the folders whose names identify the runs. If the
    folder above it contains a dataset too, that folder is returned.
    """
    paths = [_find_folder_naming_run(plan) for plan in plans]
    for plan in plans:
        paths += [*plan.results, *plan.scores, *plan.logs]
    common = Path(os.path.commonpath(paths))
    if common.is_file():
        common = common.parent

    folder_above = common.parent
    is_root = folder_above == Path(folder_above.anchor)
    if not is_root and _has_dataset_beside(plans, common):
        return folder_above
    return common


def _has_dataset_beside(plans: Sequence[RunPlan], folder: Path) -> bool:
    """Whether a run has a dataset file next to the folder, so not in the folder itself."""
    for plan in plans:
        for path in plan.data:
            if path.is_relative_to(folder.parent) and not path.is_relative_to(folder):
                return True
    return False


def _find_folder_naming_run(plan: RunPlan) -> Path:
    """Return the highest folder above a run whose name may identify the run."""
    path = Path(plan.run.path)
    folder = path.parent if path.is_file() else path
    for _ in range(PATH_LEVELS):
        folder = folder.parent
    return folder


def _list_omissions_of_run(run: _RewrittenRun, root: Path) -> Iterator[str]:
    """Say which reviews and dataset files the copy of a run lacks."""
    name = f"{run.plan.run.full_title}, {run.plan.run.model}"
    if run.unrepresentable:
        omissions = [f"{each.description} ({each.count:,})" for each in run.unrepresentable]
        yield (
            f"{name}: these reviews are omitted, because the files cannot represent them:"
            f" {'; '.join(omissions)}"
        )

    files_outside = [path for path in run.plan.data if not path.is_relative_to(root)]
    if files_outside:
        files = format_count(len(files_outside), "dataset file")
        folder = run.plan.run.dataset or files_outside[0].parent
        yield f"{name}: the copy lacks {files} from {folder}"


def write_notes(source: ExportSource, folder: Path) -> None:
    """Write a note file for each review of an item of tau2-bench, which its viewer can show.

    Raises ExportError if no run comes from tau2-bench.
    """
    run_numbers = _find_tau2_runs(source)
    if not run_numbers:
        raise ExportError("no run comes from tau2-bench. Choose another format.")

    n_notes = 0
    n_omitted = 0
    for chunk in source.iter_item_chunks():
        for detail in chunk:
            if detail.row.run not in run_numbers:
                continue
            opinions = _list_annotator_opinions(detail)
            if not _has_simulation(detail):
                n_omitted += len(opinions)
                continue
            for opinion in opinions:
                _write_note(folder, _make_note(detail, opinion))
                n_notes += 1

    if n_omitted:
        reviews = format_count(n_omitted, "review")
        source.print_note(f"omitted {reviews}: the simulation has no id or no trial number")
    source.counts.clear()
    source.counts["note"] = n_notes


def _find_tau2_runs(source: ExportSource) -> set[int]:
    """Return the numbers of the runs of the second version of tau-bench."""
    run_numbers = set()
    for run in source.runs:
        if run.info.benchmark == "tau" and run.info.generation == "v2":
            run_numbers.add(run.run)
    return run_numbers


def _list_annotator_opinions(detail: ItemDetail) -> list[Opinion]:
    """Return the opinions on the present answer, without adjudications."""
    opinions = []
    for opinion in detail.opinions:
        if not opinion.stale and not opinion.is_adjudication:
            opinions.append(opinion)
    return opinions


def _has_simulation(detail: ItemDetail) -> bool:
    """Whether the item names its simulation and trial, which each note needs."""
    metadata = detail.item.extra.metadata
    return isinstance(metadata.get("trial"), int) and isinstance(metadata.get("simulation"), str)


def _write_note(folder: Path, note: dict[str, Any]) -> None:
    task_id = note["task_id"][:MAX_TASK_ID_CHARS]
    name = _UNSAFE.sub("_", f"task_{task_id}_{note['id']}_note.json")
    text = json.dumps(note, indent=2, ensure_ascii=False) + "\n"
    (folder / name).write_text(text, "utf-8")


def _make_note(detail: ItemDetail, opinion: Opinion) -> dict[str, Any]:
    """Convert a review to a note of tau2-bench's viewer. The complete review is in a field of its
    own.
    """
    item = detail.item
    review = _make_review_field(detail, opinion)
    return {
        "id": f"note_{json_hash([item.id, review], 4)}",
        "note": _format_note_text(opinion),
        "author_email": opinion.annotator,
        "created_at": opinion.time or None,
        "simulation_id": item.extra.metadata["simulation"],
        "task_id": (item.group or item.id).removeprefix("task "),
        "trial": item.extra.metadata["trial"],
        "source_results_file": _name_results_file(PurePath(detail.run.path)),
        "simulation_file": None,
        "error_source": ERROR_SOURCES.get(opinion.fault or ""),
        "error_type": _find_error_type(opinion),
        "fcreview": review,
    }


def _make_review_field(detail: ItemDetail, opinion: Opinion) -> dict[str, Any]:
    """Return a review as JSON, with the ids of its events in the journal."""
    opinion_key = (opinion.annotator, opinion.target, opinion.criterion)
    event_ids = []
    for event in detail.history:
        if (event.annotator, event.target, event.criterion) == opinion_key:
            event_ids.append(event.event)
    return {
        "annotator": opinion.annotator,
        "target": opinion.target,
        "criterion": opinion.criterion,
        "verdict": opinion.verdict,
        "fault": opinion.fault,
        "tags": opinion.tags,
        "note": opinion.note,
        "events": event_ids,
    }


def _name_results_file(run_path: PurePath) -> str:
    if run_path.suffix == ".json":
        return run_path.name
    return f"{run_path.name}/results.json"


def _find_error_type(opinion: Opinion) -> str | None:
    """Return the first tag that is an error type of the viewer."""
    for tag in opinion.tags or ():
        name = tag.replace(" ", "_")
        if name in ERROR_TYPES:
            return name
    return None


def _format_note_text(opinion: Opinion) -> str:
    """Format a review as the text of a note: `fail · fault: model · too early`."""
    parts = []
    if opinion.verdict is not None:
        parts.append(format_verdict(opinion.verdict, opinion.criterion))
    if opinion.criterion != CORRECT:
        parts.append(opinion.criterion)
    if opinion.target != ITEM:
        parts.append(f"on {opinion.target}")
    if opinion.fault:
        parts.append(f"fault: {opinion.fault}")
    parts += opinion.tags or []
    if opinion.note:
        parts.append(opinion.note)
    return " · ".join(parts) or "reviewed"

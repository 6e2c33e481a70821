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
from collections.abc import Sequence
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
    """Write copies of the runs' benchmark files. Raises OSError if a file is missing or is not a
    regular file, because copying a device would fill the disk. Raises ExportError if there is no
    run or a file has unexpected content.
    """
    runs = [
        _rewrite_run_files(source, run.run, source.benchmark_services.find_plan(run.info))
        for run in source.runs
    ]
    if not runs:
        raise ExportError("no run to export. Import a run first.")
    root = find_common_folder([run.plan for run in runs])
    changed = {each.path: each.content for run in runs for each in run.changed}
    stale = [path for run in runs if run.changed for path in run.summaries]
    files = dict.fromkeys(path for run in runs for path in [*run.plan.files, *run.summaries])
    files = {path: None for path in files if path.is_relative_to(root) and path not in stale}
    for path in files:
        _copy_or_rewrite_file(path, folder / path.relative_to(root), changed.get(path))
    source.counts |= {"run": len(runs), "file": len(files), "changed file": len(changed)}
    messages = [message for run in runs for message in _list_omission_messages(run, root)]
    advice = "Run the benchmark's own program to compute it from the new scores."
    for message in [
        *messages,
        *(f"{path.name} is omitted. {advice}" for path in dict.fromkeys(stale)),
    ]:
        source.print_note(message)


def _rewrite_run_files(source: ExportSource, run_number: int, plan: RunPlan) -> _RewrittenRun:
    benchmarks = source.benchmark_services
    found = _RewrittenRun(plan, benchmarks.find_summary_files(plan))
    try:
        for each in benchmarks.rewrite_scores(
            plan, source.store.analysis.fetch_scored_items(run_number)["corrected"]
        ):
            if isinstance(each, Unrepresentable):
                found.unrepresentable.append(each)
            elif each.content != read_file(each.path):
                found.changed.append(each)
    except MALFORMED_DATA as error:
        why = f"{type(error).__name__}: {str(error)[:200]}"
        raise ExportError(f"{plan.run.model}: a file has unexpected content: {why}") from error
    return found


def _copy_or_rewrite_file(path: Path, target: Path, new_content: bytes | None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if new_content is not None:
        target.write_bytes(new_content)
        target = target.with_name(target.name + ORIGINAL_SUFFIX)
    with open_file(path) as file, target.open("wb") as copy:
        shutil.copyfileobj(file, copy)


def find_common_folder(plans: Sequence[RunPlan]) -> Path:
    """Return the lowest folder that contains all results, scores and logs, and the folders whose
    names identify the runs. If a dataset is next to this folder, return the folder above.
    """
    naming = map(_find_folder_naming_run, plans)
    paths = [
        *naming,
        *(path for plan in plans for path in [*plan.results, *plan.scores, *plan.logs]),
    ]
    own = Path(os.path.commonpath(paths))
    own = own.parent if own.is_file() else own
    outer, data = own.parent, [path for plan in plans for path in plan.data]
    has_dataset = any(path.is_relative_to(outer) and not path.is_relative_to(own) for path in data)
    return outer if has_dataset and outer != Path(outer.anchor) else own


def _find_folder_naming_run(plan: RunPlan) -> Path:
    """Return the highest folder above a run whose name may identify the run."""
    path = Path(plan.run.path)
    above = [path, *path.parents]
    return above[min(PATH_LEVELS + path.is_file(), len(above) - 1)]


def _list_omission_messages(run: _RewrittenRun, root: Path) -> list[str]:
    """Return messages about the reviews and dataset files that the copy lacks."""
    name = f"{run.plan.run.full_title}, {run.plan.run.model}"
    problems = "; ".join(f"{each.description} ({each.count:,})" for each in run.unrepresentable)
    text = f"{name}: these reviews are omitted, because the files cannot represent them: {problems}"
    found = [text] if problems else []
    far = [path for path in run.plan.data if not path.is_relative_to(root)]
    if far:
        where = run.plan.run.dataset or far[0].parent
        found.append(
            f"{name}: the copy lacks {format_count(len(far), 'dataset file')} from {where}"
        )
    return found


def write_notes(source: ExportSource, folder: Path) -> None:
    """Write a note for each review of an item of tau2-bench.

    Raises ExportError if no run comes from tau2-bench.
    """
    runs = {
        run.run for run in source.runs if (run.info.benchmark, run.info.generation) == ("tau", "v2")
    }
    if not runs:
        raise ExportError("no run comes from tau2-bench. Choose another format.")
    n_notes = n_lost = 0
    for chunk in source.iter_item_chunks():
        for detail in chunk:
            if detail.row.run not in runs:
                continue
            metadata = detail.item.extra.metadata
            opinions = [
                each for each in detail.opinions if not each.stale and not each.is_adjudication
            ]
            if not isinstance(metadata.get("trial"), int) or not isinstance(
                metadata.get("simulation"), str
            ):
                n_lost += len(opinions)
                continue
            for opinion in opinions:
                note = _make_note(detail, opinion)
                path = folder / _UNSAFE.sub(
                    "_", f"task_{note['task_id'][:60]}_{note['id']}_note.json"
                )
                path.write_text(json.dumps(note, indent=2, ensure_ascii=False) + "\n", "utf-8")
                n_notes += 1
    if n_lost:
        source.print_note(
            f"omitted {format_count(n_lost, 'review')}: the simulation has no id or no trial number"
        )
    source.counts.clear()
    source.counts["note"] = n_notes


def _make_note(detail: ItemDetail, opinion: Opinion) -> dict[str, Any]:
    item, path = detail.item, PurePath(detail.run.path)
    about = opinion.annotator, opinion.target, opinion.criterion
    events = [
        each.event
        for each in detail.history
        if (each.annotator, each.target, each.criterion) == about
    ]
    own = {
        "annotator": opinion.annotator,
        "target": opinion.target,
        "criterion": opinion.criterion,
        "verdict": opinion.verdict,
        "fault": opinion.fault,
        "tags": opinion.tags,
        "note": opinion.note,
        "events": events,
    }
    tags = [tag.replace(" ", "_") for tag in opinion.tags or ()]
    return {
        "id": f"note_{json_hash([item.id, own], 4)}",
        "note": _format_note_text(opinion),
        "author_email": opinion.annotator,
        "created_at": opinion.time or None,
        "simulation_id": item.extra.metadata["simulation"],
        "task_id": (item.group or item.id).removeprefix("task "),
        "trial": item.extra.metadata["trial"],
        "source_results_file": path.name if path.suffix == ".json" else f"{path.name}/results.json",
        "simulation_file": None,
        "error_source": ERROR_SOURCES.get(opinion.fault or ""),
        "error_type": next((tag for tag in tags if tag in ERROR_TYPES), None),
        "fcreview": own,
    }


def _format_note_text(opinion: Opinion) -> str:
    parts = [] if opinion.verdict is None else [format_verdict(opinion.verdict, opinion.criterion)]
    parts += [opinion.criterion] if opinion.criterion != CORRECT else []
    parts += [f"on {opinion.target}"] if opinion.target != ITEM else []
    parts += [f"fault: {opinion.fault}"] if opinion.fault else []
    parts += opinion.tags or []
    parts += [opinion.note] if opinion.note else []
    return " · ".join(parts) or "reviewed"

"""A folder with the runs as their benchmarks have them, score files by what people say.

Everything a run is made of is copied to the same place below the new folder: results, logs, and the dataset where it
lies near. A score file that changes has its original beside it, as `NAME.orig`. Figures that another program makes of
the scores (leaderboards, summaries) are left out where scores changed: they would be wrong.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.errors import MALFORMED_DATA
from fcreview.exporters.base import ExportError, Source
from fcreview.model.wording import format_count
from fcreview.run_plan import Unrepresentable, RewrittenFile, RunPlan
from fcreview.safe_files import open_file, read_file

ORIGINAL = ".orig"
UP = 1
"""Folders above a run that its dataset may lie in to be copied with it."""
_CHUNK = 1 << 20
KEPT = 2
"""Names of folders above a run that benchmarks take the model, the language and the like from."""


@dataclass(slots=True)
class _Written:
    """What a run comes to."""

    plan: RunPlan
    summaries: list[Path] = field(default_factory=list)
    changed: list[RewrittenFile] = field(default_factory=list)
    unsaid: list[Unrepresentable] = field(default_factory=list)


def write(source: Source, folder: Path) -> None:
    """ExportError if a benchmark's files cannot be written, OSError for a file of a run that is gone or is none: a link
    to a device would be copied until the disk is full."""
    runs = [_written(source, run.run, source.benchmarks.plan(run.info)) for run in source.runs]
    if not runs:
        raise ExportError("there is no run to write")
    root = common_folder([run.plan for run in runs])
    changed = {each.path: each.content for run in runs for each in run.changed}
    stale = [path for run in runs if run.changed for path in run.summaries]
    files = dict.fromkeys(path for run in runs for path in [*run.plan.files, *run.summaries])
    files = {path: None for path in files if path.is_relative_to(root) and path not in stale}
    for path in files:
        _put(path, folder / path.relative_to(root), changed.get(path))
    source.counts |= {"run": len(runs), "file": len(files), "changed file": len(changed)}
    for remark in (remark for run in runs for remark in _remarks(run, root)):
        source.benchmarks.tell(remark)
    for path in dict.fromkeys(stale):
        source.benchmarks.tell(f"{path.name} is left out: the benchmark's own program makes it of the scores")


def _written(source: Source, run: int, plan: RunPlan) -> _Written:
    lent = source.benchmarks
    found = _Written(plan, lent.summaries(plan))
    try:
        for each in lent.rewrite(plan, source.store.analysis.fetch_scored_items(run)["corrected"]):
            if isinstance(each, Unrepresentable):
                found.unsaid.append(each)
            elif each.content != read_file(each.path):
                found.changed.append(each)
    except MALFORMED_DATA as error:
        why = f"{type(error).__name__}: {str(error)[:200]}"
        raise ExportError(f"the files of {plan.run.model} are not of the expected form: {why}") from error
    return found


def _put(path: Path, target: Path, content: bytes | None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if content is not None:
        target.write_bytes(content)
        target = target.with_name(target.name + ORIGINAL)
    with open_file(path) as file, target.open("wb") as copy:
        shutil.copyfileobj(file, copy, _CHUNK)


def common_folder(plans: Sequence[RunPlan]) -> Path:
    """The folder whose content is copied: holds the results, scores and logs of all runs with the folders that name
    them, and the datasets that lie near."""
    own = _common(path for plan in plans for path in [*plan.results, *plan.scores, *plan.logs, _above(plan)])
    for folder in list(own.parents)[:UP]:
        data = [path for plan in plans for path in plan.data]
        near = [path for path in data if path.is_relative_to(folder) and not path.is_relative_to(own)]
        if near and folder != Path(folder.anchor):
            return folder
    return own


def _above(plan: RunPlan) -> Path:
    path = Path(plan.run.path)
    above = [path, *path.parents]
    return above[min(KEPT + path.is_file(), len(above) - 1)]


def _common(paths: Iterable[Path]) -> Path:
    found = Path(os.path.commonpath([os.fspath(path) for path in paths]))
    return found.parent if found.is_file() else found


def _remarks(run: _Written, root: Path) -> list[str]:
    """What people said and the files cannot hold; where the dataset is."""
    name = f"{run.plan.run.full_title}, {run.plan.run.model}"
    said = [f"{each.description} ({each.count:,})" for each in run.unsaid]
    found = [f"{name}: not in its files: {'; '.join(said)}"] if said else []
    far = [path for path in run.plan.data if not path.is_relative_to(root)]
    if far:
        where = run.plan.run.dataset or far[0].parent
        found.append(f"{name}: {format_count(len(far), 'dataset file')} not copied, from {where}")
    return found

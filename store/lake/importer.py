"""Import one part of the runs into a lake, through temporary stores."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from fcreview.model.item import ImportIssue
from fcreview.run_plan import RunPlan
from fcreview.safe_files import WorkspaceFiles
from fcreview.store.importing.builder import build_run_key
from fcreview.store.importing.dataset_paths import DatasetOptions
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.importing.sources import iter_files
from fcreview.store.importing.workers import ImportProgressCallback, RunReader
from fcreview.store.lake.files import LakeFiles
from fcreview.store.lake.layout import digest, number_of_key
from fcreview.store.lake.writer import LakeWriter
from fcreview.store.rows import ImportSummary
from fcreview.store.workspace import Workspace, find_workspace

BATCH_BYTES = 1_000_000_000
"""Size in bytes of the files that one temporary store is built from."""


@dataclass(frozen=True, slots=True)
class LakePart:
    """Part `number` of `count`, from 1."""

    number: int = 1
    count: int = 1

    def has(self, key: str) -> bool:
        """Whether the run with this key belongs to the part. The part of a run does not depend on the other runs."""
        return number_of_key(digest(key)) % self.count == self.number - 1

    def name_for(self, paths: Sequence[Path]) -> str:
        """Return the name of the part's index in an import of these paths."""
        return f"{digest(chr(0).join(sorted(map(str, paths))), 6)}-{self.number}-of-{self.count}"


@dataclass(frozen=True, slots=True)
class LakeImport:
    """The arguments of an import into a lake that all parts share."""

    files: LakeFiles
    paths: Sequence[Path]
    read: RunReader
    prepare: Callable[[Sequence[RunPlan], Workspace], None]
    """Function that sets the decoders and errata of plans, called with a temporary workspace."""
    dataset_options: DatasetOptions
    on_progress: ImportProgressCallback | None = None
    n_workers: int | None = None
    """Number of processes; None to choose by the size of the files."""
    on_batch: Callable[[Workspace, dict[int, int]], None] = lambda *_: None
    """Called with each temporary store and the numbers of its runs in the lake."""


def import_part(
    lake: LakeImport, plans: Sequence[RunPlan], issues: Sequence[ImportIssue], part: LakePart
) -> ImportSummary:
    """Import the runs of one part. Every part gets the same plans and issues.

    Run numbers in the summary are those in the lake; a failed run has number 0.
    """
    summary = ImportSummary()
    with tempfile.TemporaryDirectory(prefix="fcreview-lake-") as name:
        scratch = Path(name)
        own, twice = _select_plans(plans, part, find_workspace(scratch, scratch))
        WorkspaceFiles(scratch).make_folder(scratch / "parquet")
        with LakeWriter(lake.files, part.name_for(lake.paths), scratch / "parquet") as writer:
            for number, batch in enumerate(_split_into_batches(own)):
                folder = scratch / f"batch-{number}"
                workspace = find_workspace(folder, folder)
                _import_batch(lake, batch, workspace, writer, summary)
                workspace.files.remove(workspace.store)
            found = [asdict(issue) for issue in [*issues, *twice]]
            writer.write_issues(found, part.name_for(lake.paths).partition("-")[0])
            summary.issues[:0] = found
            writer.finish()
    return summary


def _select_plans(
    plans: Sequence[RunPlan], part: LakePart, workspace: Workspace
) -> tuple[list[RunPlan], list[ImportIssue]]:
    """Return the plans of the part by key, and an issue for each run that was found twice."""
    by_key: dict[str, RunPlan] = {}
    twice = []
    for plan in plans:
        if by_key.setdefault(build_run_key(workspace, plan.run), plan) is not plan:
            what = f"run {plan.run.model} was found twice. The first one is imported"
            twice.append(ImportIssue(plan.run.path, None, what))
    return [by_key[key] for key in sorted(by_key) if part.has(key)], twice


def _split_into_batches(plans: Sequence[RunPlan]) -> Iterator[list[RunPlan]]:
    batch: list[RunPlan] = []
    size = 0
    for plan in plans:
        batch.append(plan)
        size += sum(path.stat().st_size for kind, path in iter_files(plan) if kind != "data" and path.is_file())
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _import_batch(
    lake: LakeImport, plans: Sequence[RunPlan], workspace: Workspace, writer: LakeWriter, summary: ImportSummary
) -> None:
    lake.prepare(plans, workspace)
    result = import_runs(
        workspace,
        plans,
        lake.read,
        on_progress=lake.on_progress,
        n_workers=lake.n_workers,
        dataset_options=lake.dataset_options,
    )
    numbers = writer.add_runs(workspace)
    lake.on_batch(workspace, numbers)
    for row in result.runs:
        if row["status"] == "failed":
            _record_failure(row, result.issues, writer, workspace)
        summary.runs.append(row | {"run": numbers.get(row["run"], 0)})
    for issue in result.issues:
        run = issue.get("run")
        summary.issues.append(issue if run is None else issue | {"run": numbers.get(run, 0)})


def _record_failure(
    row: dict[str, Any], issues: Sequence[dict[str, Any]], writer: LakeWriter, workspace: Workspace
) -> None:
    """Write the issues of a run that was not imported. The next successful import of the run removes them."""
    path = workspace.to_stored_path(row["path"])
    key = orjson.dumps([row["benchmark"], row["generation"], row["language"], row["model"], path]).decode()
    own = [issue for issue in issues if issue.get("run") is None and issue["file"] == row["path"]]
    writer.write_issues(own, digest(key))

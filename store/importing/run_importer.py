"""What an import brought: items that are new, that have changed, that are gone.

Which of the planned runs are as they were, which are read, and which are kept because their dataset is lost.

Importing: planned runs become the store's new file. Only what changed is read; readers are never disturbed.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO, Any

import duckdb

from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import RunPlan
from fcreview.safe_files import make_folder, apply_folder_permissions
from fcreview.store.database import attach_read_only, quote_literal
from fcreview.store.importing.builder import StoreBuilder, StoreIndex, LoadError, StoredRun, read_store_index, build_run_key
from fcreview.store.importing.dataset_paths import DatasetOptions, DatasetFolders, find_lost_dataset, find_missing_folder, select_dataset_folders
from fcreview.store.importing.sources import SourceFile, iter_files, stat_sources, is_unchanged
from fcreview.store.importing.staging import StagedRun, read_staged_item
from fcreview.store.importing.workers import ReadJob, ReadOutcome, ImportProgressCallback, RunReader, read_runs
from fcreview.store.rows import ImportSummary, ImportChanges
from fcreview.store.workspace import Workspace, WorkspaceError

_ITEMS = (
    "SELECT run, hash(category, id) AS item, any_value(hash(prediction_hash, golden_hash)) AS content"
    " FROM store.item_rows GROUP BY ALL"
)


class ItemSnapshot:
    """The items as they were before an import: two hashes of each. Use as a context manager."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._connection = attach_read_only(workspace.store)
        self._connection.execute(f"CREATE TEMP TABLE before AS {_ITEMS}")
        self._connection.execute("USE memory")
        self._connection.execute("DETACH store")  # so that the file that takes its place can be attached

    def __enter__(self) -> ItemSnapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def compare(self, runs: Sequence[int]) -> ImportChanges:
        """Of these runs; of all, if none is named. An item has changed if its prediction or golden answer has."""
        self._connection.execute(f"ATTACH {quote_literal(self._workspace.store)} AS store (READ_ONLY)")
        found = self._connection.execute(
            "SELECT count(*) FILTER (b.run IS NULL), count(*) FILTER (b.content <> a.content),"
            f" count(*) FILTER (a.run IS NULL) FROM ({_ITEMS}) a FULL JOIN temp.before b USING (run, item)"
            " WHERE len(?::INTEGER[]) = 0 OR list_contains(?::INTEGER[], coalesce(a.run, b.run))",
            [list(runs), list(runs)],
        ).fetchall()
        return ImportChanges(*found[0])


@dataclass(slots=True)
class ImportPlan:
    summary_rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Of the summary, by run."""
    plans: dict[int, RunPlan] = field(default_factory=dict)
    """By run."""
    jobs: list[ReadJob] = field(default_factory=list)
    """Runs that are read."""
    new_mtime_jobs: list[ReadJob] = field(default_factory=list)
    """Runs whose files have another time and the same content."""
    skipped_plans: list[RunPlan] = field(default_factory=list)
    """Runs that stay as they are, whatever their files hold now, since their dataset is lost."""
    issues: list[ImportIssue] = field(default_factory=list)


class ImportPlanner:
    """Goes through the plans of one import."""

    def __init__(self, workspace: Workspace, index: StoreIndex, choice: DatasetOptions) -> None:
        self._workspace = workspace
        self._index = index
        self._choice = choice
        self._remembered = DatasetFolders(workspace)

    def plan_import(self, plans: Sequence[RunPlan]) -> ImportPlan:
        done, known = ImportPlan(), set()
        next_run = self._index.next_run_number
        for plan in plans:
            key = build_run_key(self._workspace, plan.run)
            if key in known:
                what = f"run {plan.run.model} was found twice; the first counts"
                done.issues.append(ImportIssue(plan.run.path, None, what))
                continue
            known.add(key)
            stored = self._index.runs.get(key)
            number = stored.run_number if stored else next_run
            next_run += stored is None
            done.summary_rows[number], done.plans[number] = _summary_row(number, plan.run), plan
            self._add(done, ReadJob(number, plan, stat_sources(plan, self._workspace.to_stored_path)), stored)
        return done

    def save_dataset_folders(self, done: ImportPlan) -> None:
        """Of each run that is now in the store as it was planned, which of the folders named have its dataset. A run
        that is new beside others has what they have."""
        usual = () if self._choice.forget else self._remembered.most_common
        for number, plan in done.plans.items():
            if done.summary_rows[number]["status"] in ("imported", "unchanged"):
                inherited = () if self._remembered.folders_of(plan.run) else select_dataset_folders(usual, plan)
                given = select_dataset_folders(self._choice.folders, plan) or inherited
                if given or self._choice.forget:
                    self._remembered.set_folders(plan.run, given)
        self._remembered.save()

    def _add(self, done: ImportPlan, job: ReadJob, stored: StoredRun | None) -> None:
        row, plan = done.summary_rows[job.run_number], job.plan
        before = self._remembered.folders_of(plan.run)
        anew = self._choice.forget or bool(set(select_dataset_folders(self._choice.folders, plan)) - set(before))
        chosen = () if anew else before
        gone = find_lost_dataset(self._workspace, plan, stored, chosen) if stored and not anew else None
        absent = gone or find_missing_folder(plan, chosen)
        row["missing_dataset"] = str(absent) if absent else None
        if stored and gone:
            row |= _what_is_stored(stored)
            row["status"] = "kept" if self._same_results(job, stored) else "outdated"
            done.skipped_plans.append(plan)
        elif stored and stored.version == plan.import_fingerprint and self._same(job.sources, stored.sources):
            row |= _what_is_stored(stored)
            if _take_hashes(job, stored):
                done.new_mtime_jobs.append(job)
        else:
            done.jobs.append(job)

    def _same(self, now: list[SourceFile], before: list[SourceFile]) -> bool:
        return is_unchanged(now, before, self._workspace.to_absolute_path)

    def _same_results(self, job: ReadJob, stored: StoredRun) -> bool:
        """Whether all but the dataset is as it was."""
        now, before = ([s for s in sources if s.kind != "data"] for sources in (job.sources, stored.sources))
        return self._same(now, before)


def _what_is_stored(stored: StoredRun) -> dict[str, Any]:
    return {"items": stored.n_items, "issues": stored.n_issues, "dataset": stored.dataset}


def _take_hashes(job: ReadJob, stored: StoredRun) -> bool:
    """Whether a file has another time; its content is the same, so its hash is."""
    old = {(source.path, source.kind): source for source in stored.sources}
    if all(source.mtime_ns == old[source.path, source.kind].mtime_ns for source in job.sources):
        return False
    for n, source in enumerate(job.sources):
        was = old[source.path, source.kind]
        job.sources[n] = SourceFile(source.path, source.kind, source.size, source.mtime_ns, was.hash)
    return True


def _summary_row(number: int, run: Run) -> dict[str, Any]:
    return {
        "run": number,
        "benchmark": run.benchmark,
        "generation": run.generation,
        "language": run.language,
        "model": run.model,
        "path": run.path,
        "items": 0,
        "status": "unchanged",
        "seconds": 0.0,
        "dataset": run.dataset,
        "missing_dataset": None,
        "issues": 0,
    }


_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
BATCH_BYTES = 16_000_000
"""Bytes of parts that are loaded by one statement, while others are read."""


def import_runs(
    workspace: Workspace,
    plans: Sequence[RunPlan],
    read: RunReader,
    *,
    issues: Sequence[ImportIssue] = (),
    on_progress: ImportProgressCallback | None = None,
    n_workers: int | None = None,
    dataset_options: DatasetOptions = DatasetOptions(),  # noqa: B008 - frozen
) -> ImportSummary:
    """Brings the store up to date with the plans; runs imported earlier from elsewhere stay.

    `read` gives a plan's items; it must be a top-level function to be used by several processes. `issues` are those of
    the search for runs. `progress(label, bytes done, bytes in all)` is called from this thread. `jobs` is the number of
    processes; None chooses. `data` is what was said of datasets: without a word, a run whose dataset is lost stays as
    it is. WorkspaceError if the workspace cannot be written to.
    """
    started = time.perf_counter()
    asked = _Request(plans, read, issues, on_progress, n_workers, dataset_options)
    try:
        with _alone(workspace):
            summary = _Import(workspace, asked).run()
    except (OSError, duckdb.IOException) as error:
        if getattr(error, "errno", None) in _READ_ONLY and (known := _Import(workspace, asked).known()) is not None:
            return known
        raise WorkspaceError(
            f"cannot write to {workspace.root} ({_why(error)}):"
            " name a folder that can be written to with --workspace DIR"
        ) from error
    summary.seconds = time.perf_counter() - started
    return summary


def _why(error: OSError | duckdb.IOException) -> str:
    """DuckDB tells of the database first and of the disk last."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return (str(error).splitlines() or [""])[0].rpartition(": ")[2]


@dataclass(frozen=True, slots=True)
class _Request:
    """What `import_runs` is asked for."""

    plans: Sequence[RunPlan]
    read: RunReader
    issues: Sequence[ImportIssue]
    progress: ImportProgressCallback | None
    workers: int | None
    data: DatasetOptions


class _Import:
    def __init__(self, workspace: Workspace, asked: _Request) -> None:
        self._workspace = workspace
        self._asked = asked
        self._folder = workspace.temporary / str(os.getpid())
        self._index: StoreIndex = read_store_index(workspace)
        self._todo = ImportPlan()
        self._problems: list[dict[str, Any]] = []

    def run(self) -> ImportSummary:
        sorting, todo = self._look()
        if todo.jobs or todo.new_mtime_jobs or not self._index.usable:
            self._build()
        sorting.save_dataset_folders(todo)
        return ImportSummary(list(todo.summary_rows.values()), self._problems)

    def known(self) -> ImportSummary | None:
        """Where nothing can be written: what `run` would say if there is nothing to bring in; else None."""
        _, todo = self._look()
        if todo.jobs or not self._index.usable:
            return None
        return ImportSummary(list(todo.summary_rows.values()), self._problems)

    def _look(self) -> tuple[ImportPlanner, ImportPlan]:
        asked = self._asked
        sorting = ImportPlanner(self._workspace, self._index, asked.data)
        todo = self._todo = sorting.plan_import(asked.plans)
        loose = [*asked.issues, *(issue for plan in self._looked_at() for issue in plan.issues)]
        if self._index.rebuild_reason:
            loose.append(ImportIssue(str(self._workspace.store), None, self._index.rebuild_reason, severity="notice"))
        self._problems = [asdict(issue) for issue in [*loose, *todo.issues]]
        return sorting, todo

    def _build(self) -> None:
        """Reads what is to be read and writes the new file, unless reading got nothing that is worth one."""
        shutil.rmtree(self._folder, ignore_errors=True)
        make_folder(self._folder)
        todo, asked = self._todo, self._asked
        outcomes = read_runs(self._workspace, self._folder, todo.jobs, asked.read, asked.workers, asked.progress)
        try:
            first = next(outcomes, None)  # before DuckDB starts threads: processes are forked here
            with StoreBuilder(self._workspace, self._folder, keep=self._index.usable) as builder:
                for job in todo.new_mtime_jobs:
                    builder.set_sources(job.run_number, job.sources)
                parts = self._load(builder, itertools.chain([first] if first else [], outcomes))
                if parts or todo.new_mtime_jobs or not self._index.usable:
                    builder.load_functions(parts)
                    builder.replace_issues(self._about(), (issue for issue in self._problems if issue.get("run") is None))
                    builder.finish()
        finally:
            outcomes.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _load(self, builder: StoreBuilder, outcomes: Iterable[ReadOutcome]) -> list[StagedRun]:
        """Loads parts in batches as they come. Returns those whose function documents are wanted."""
        loaded: list[StagedRun] = []
        waiting: list[ReadOutcome] = []
        for outcome in outcomes:
            if outcome.staged is None:
                self._fail(outcome, outcome.error or "not read")
                continue
            waiting.append(outcome)
            loaded.append(outcome.staged)
            if sum(one.staged.items.stat().st_size for one in waiting if one.staged) >= BATCH_BYTES:
                self._load_batch(builder, waiting)
                waiting = []
        self._load_batch(builder, waiting)
        return loaded

    def _load_batch(self, builder: StoreBuilder, outcomes: Sequence[ReadOutcome]) -> None:
        """All at once; if DuckDB refuses, one by one, and the one at fault without the values that do not fit."""
        parts = [outcome.staged for outcome in outcomes if outcome.staged]
        try:
            builder.load_runs(parts)
        except LoadError as error:
            if len(outcomes) == 1:
                self._load_leniently(builder, outcomes[0], error)
            else:
                for outcome in outcomes:
                    self._load_batch(builder, [outcome])
        else:
            for outcome in outcomes:
                self._succeed(builder, outcome)
        for part in parts:
            part.items.unlink(missing_ok=True)

    def _load_leniently(self, builder: StoreBuilder, outcome: ReadOutcome, refused: LoadError) -> None:
        """One item whose values do not fit does not cost the run."""
        part = outcome.staged
        assert part is not None  # noqa: S101 - for the type checker: outcomes without one have failed
        at_fault = read_staged_item(part, refused.line) if refused.line is not None else None
        if at_fault is None:
            self._fail(outcome, str(refused))
            return
        what = f"what does not fit the store was left out, in this item and perhaps in later ones: {refused}"
        issue = ImportIssue(at_fault["file"], at_fault["line"], what, item=at_fault["id"], severity="error")
        part.issues.append({**asdict(issue), "seq": at_fault["seq"]})
        try:
            builder.load_runs([part], omit_invalid=True)
        except LoadError as error:
            self._fail(outcome, str(error))
        else:
            self._succeed(builder, outcome)

    def _succeed(self, builder: StoreBuilder, outcome: ReadOutcome) -> None:
        job, part, info = outcome.job, outcome.staged, outcome.info
        assert part is not None  # noqa: S101 - for the type checker: outcomes without one have failed
        key = build_run_key(self._workspace, job.plan.run)
        builder.set_run(job.run_number, key, info, job.plan.import_fingerprint, part.n_items, outcome.sources)
        self._problems += [{**{k: v for k, v in issue.items() if k != "seq"}, "run": job.run_number} for issue in part.issues]
        self._todo.summary_rows[job.run_number] |= {
            "items": part.n_items,
            "issues": len(part.issues),
            "dataset": info.dataset,
            "status": "imported",
            "seconds": outcome.seconds,
        }

    def _fail(self, outcome: ReadOutcome, reason: str) -> None:
        """The run's earlier items stay, if there are any."""
        job = outcome.job
        stored = self._index.runs.get(build_run_key(self._workspace, job.plan.run))
        kept = f"; its {stored.n_items} items of the import before are kept" if stored else ""
        what = f"run {job.plan.run.model} was not imported: {reason}{kept}"
        self._problems.append(asdict(ImportIssue(job.plan.run.path, None, what, severity="error")))
        self._todo.summary_rows[job.run_number] |= {
            "items": stored.n_items if stored else 0,
            "status": "failed",
            "seconds": outcome.seconds,
            "issues": (stored.n_issues if stored else 0) + 1,
        }

    def _looked_at(self) -> list[RunPlan]:
        return [plan for plan in self._asked.plans if not any(plan is held for held in self._todo.skipped_plans)]

    def _about(self) -> set[str]:
        """Files whose loose issues of earlier imports no longer hold: all that were looked at now."""
        plans = self._looked_at()
        looked = {os.fspath(path) for plan in plans for _, path in iter_files(plan)}
        return looked | {issue["file"] for issue in self._problems} | {plan.run.path for plan in plans}


@contextlib.contextmanager
def _alone(workspace: Workspace) -> Iterator[None]:
    """One importer at a time: another one waits. What a crashed one left is swept away first."""
    fresh = not workspace.lock.exists()
    with workspace.lock.open("a") as handle:
        if fresh:
            apply_folder_permissions(workspace.lock, group_can_write=True)
        _flock(handle)
        for left in workspace.root.glob(f"{workspace.store.name}.*.tmp*"):
            left.unlink(missing_ok=True)
        shutil.rmtree(workspace.temporary, ignore_errors=True)
        yield


def _flock(handle: IO[str]) -> None:
    """Waits for the lock, which goes with the process. Where there are none, the last importer's file counts."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
    except (ImportError, OSError):
        return

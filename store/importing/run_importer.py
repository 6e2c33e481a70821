"""Import runs: find the new and changed runs, read them, and replace the store.

Unchanged runs are not read again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from fcreview.model.item import ImportIssue, Run
from fcreview.model.run_name import build_run_names
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.run_plan import RunPlan
from fcreview.store.database import attach_store, quote_path
from fcreview.store.importing.builder import LoadError, StoreBuilder, StoreIndex, read_store_index
from fcreview.store.importing.earlier_imports import EarlierImports, find_earlier_imports
from fcreview.store.importing.source_files import (
    DatasetFolders,
    DatasetOptions,
    SourceFile,
    StoredRun,
    build_run_key,
    find_folder_of_lost_dataset,
    find_folder_without_dataset,
    is_content_unchanged,
    iter_source_kinds_and_paths,
    select_folders_with_dataset,
    stat_sources,
)
from fcreview.store.importing.staging import StagedFile, StagedRun, read_staged_item
from fcreview.store.importing.workers import (
    ImportProgressCallback,
    ReadJob,
    ReadOutcome,
    RunReader,
    read_and_stage_runs,
)
from fcreview.store.rows import ImportChanges, ImportSummary
from fcreview.store.workspace import Workspace, make_write_error

_ITEM_HASHES = (
    "SELECT run, hash(category, id) AS item, any_value(hash(prediction_hash, golden_hash)) AS"
    " content"
    " FROM store.item_rows GROUP BY ALL"
)


class ItemSnapshot:
    """Hashes of the items before an import, to count the changes after the import."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._connection = attach_store(workspace)
        self._connection.execute(f"CREATE TEMP TABLE before AS {_ITEM_HASHES}")
        self._connection.execute("USE memory")
        self._connection.execute("DETACH store")  # so that `compare` can attach the new file

    def __enter__(self) -> ItemSnapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def count_changes(self, runs: Sequence[int]) -> ImportChanges:
        """Count the new, changed and removed items of the runs; without runs, of all runs.

        Call it once, after the import: it reads the items `now` from the new store, and those
        `before` from the table that the constructor filled. An item is in one or in both.
        """
        self._connection.execute(f"ATTACH {quote_path(self._workspace.store)} AS store (READ_ONLY)")
        where = "true"
        if runs:
            numbers = ", ".join(str(int(run)) for run in runs)
            where = f"coalesce(now.run, before.run) IN ({numbers})"
        ((n_new, n_changed, n_removed),) = self._connection.execute(
            "SELECT count(*) FILTER (before.run IS NULL),"
            " count(*) FILTER (before.content <> now.content),"
            " count(*) FILTER (now.run IS NULL)"
            f" FROM ({_ITEM_HASHES}) now FULL JOIN temp.before before USING (run, item)"
            f" WHERE {where}"
        ).fetchall()
        return ImportChanges(n_new, changed=n_changed, gone=n_removed)


@dataclass(slots=True)
class ImportPlan:
    """The runs of one import: those to read, to update or to skip."""

    # `ImportSummary.runs` by number
    summary_rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    plans: dict[int, RunPlan] = field(default_factory=dict)
    jobs: list[ReadJob] = field(default_factory=list)
    # unchanged runs with new modification times
    new_mtime_jobs: list[ReadJob] = field(default_factory=list)
    # runs that are not read and have another name, by number
    renamed: dict[int, Run] = field(default_factory=dict)
    # runs in `jobs` that another importer version read
    upgraded: set[int] = field(default_factory=set)
    # runs that keep their last import, because their dataset or their results are missing
    skipped_plans: list[RunPlan] = field(default_factory=list)
    # stored runs to delete, because another stored run has all of their files
    doubled_runs: list[int] = field(default_factory=list)
    issues: list[ImportIssue] = field(default_factory=list)


class _RunNumbers:
    """Chooses the number of each planned run. A run that replaces a stored run gets the number of
    the stored run.
    """

    def __init__(
        self,
        index: StoreIndex,
        earlier: EarlierImports,
        numbers_of_other_language: Mapping[str, int],
    ) -> None:
        """`numbers_of_other_language`: number of the stored run that a run with a new language
        replaces, by key.
        """
        self._index = index
        self._earlier = earlier
        self._numbers_of_other_language = numbers_of_other_language
        last = max((run.run_number for run in index.runs.values()), default=0)
        self._new_numbers = itertools.count(last + 1)

    def choose_number(self, run_key: str) -> int:
        """Return the number of a run.

        This is the number of the stored run with the same key, of an earlier import of the same
        files, or of the same run with another language. Any other run gets a new number.
        """
        stored = self._index.runs.get(run_key)
        if stored is not None:
            return stored.run_number
        contained = self._earlier.contained.get(run_key)
        if contained:
            return contained[0].run_number
        if run_key in self._numbers_of_other_language:
            return self._numbers_of_other_language[run_key]
        return next(self._new_numbers)


class ImportPlanner:
    """Decides which runs an import reads, by comparing their files with the store."""

    def __init__(self, workspace: Workspace, index: StoreIndex, options: DatasetOptions) -> None:
        self._workspace = workspace
        self._index = index
        self._options = options
        self._dataset_folders = DatasetFolders(workspace)

    def plan_import(self, plans: Sequence[RunPlan]) -> ImportPlan:
        """Decide for each run that was found whether to read it, or to keep its last import.

        Each run gets its number, and a row of the summary. If `plans` contains a run twice, the
        second one becomes an import issue.
        """
        import_plan = ImportPlan()
        # Languages are a part of the keys. Earlier imports are found by the languages that the
        # planned runs state. All steps after it use the completed languages.
        earlier = find_earlier_imports(self._workspace, plans, self._index.runs)
        numbers_of_other_language = self._reconcile_languages(plans)
        numbers = _RunNumbers(self._index, earlier, numbers_of_other_language)

        planned_keys: set[str] = set()
        for plan in plans:
            key = build_run_key(self._workspace, plan.run)
            if key in planned_keys:
                import_plan.issues.append(_report_second_run(plan.run))
                continue
            planned_keys.add(key)

            import_plan.doubled_runs += self._list_doubled_runs(key, earlier)
            if key in earlier.lost:
                # Its answers were deleted, so the last import of the run, with another key, stays.
                self._keep_run_without_results(import_plan, plan, earlier.lost[key])
            else:
                number = numbers.choose_number(key)
                self._plan_run(import_plan, plan, number, self._index.runs.get(key))
        return import_plan

    def _plan_run(
        self, import_plan: ImportPlan, plan: RunPlan, number: int, stored_run: StoredRun | None
    ) -> None:
        """Add a run with its answers to the plan of the import."""
        import_plan.summary_rows[number] = _make_summary_row(number, plan.run)
        import_plan.plans[number] = plan
        sources = stat_sources(plan, self._workspace.to_stored_path)
        job = ReadJob(number, plan=plan, sources=sources)
        self._add_run_to_plan(import_plan, job, stored_run)

    def _list_doubled_runs(self, run_key: str, earlier: EarlierImports) -> list[int]:
        """Return the numbers of stored runs to delete, because another run has their files."""
        stored = self._index.runs.get(run_key)
        if stored is None:
            return []
        if run_key in earlier.lost:
            return [stored.run_number]
        return [run.run_number for run in earlier.contained.get(run_key, [])]

    def _reconcile_languages(self, plans: Sequence[RunPlan]) -> dict[str, int]:
        """Complete the language of planned runs, and return which stored runs are replaced because
        their language is another one: the key of the planned run -> the number of the stored run.

        The language changes if the user names one, or if a dataset states one. A planned run
        without a language gets that of the stored run, and then has the key of the stored run.
        """
        numbers = {}
        for plan, stored_run in self._find_runs_of_other_language(plans):
            if plan.run.language:
                key = build_run_key(self._workspace, plan.run)
                numbers[key] = stored_run.run_number
            else:
                plan.run.language = stored_run.info.language
        return numbers

    def _find_runs_of_other_language(
        self, plans: Sequence[RunPlan]
    ) -> list[tuple[RunPlan, StoredRun]]:
        """Return the planned runs that were imported earlier with another language, each with the
        stored run. In all but the language, both runs are the same.
        """
        earlier_runs = self._find_stored_runs_without_plan(plans)
        pairs = []
        for plan in plans:
            is_stored = build_run_key(self._workspace, plan.run) in self._index.runs
            results = [self._workspace.to_stored_path(path) for path in plan.results]
            earlier_run = earlier_runs.get(_make_language_free_key(plan.run, results))
            if earlier_run is not None and not is_stored:
                pairs.append((plan, earlier_run))
        return pairs

    def _find_stored_runs_without_plan(
        self, plans: Sequence[RunPlan]
    ) -> dict[tuple[str, ...], StoredRun]:
        """Return the stored runs that are in none of the plans, by `_make_language_free_key`."""
        planned_keys = {build_run_key(self._workspace, plan.run) for plan in plans}
        runs = {}
        for key, stored in self._index.runs.items():
            if key in planned_keys:
                continue
            results = [source.path for source in stored.sources if source.kind == "result"]
            runs[_make_language_free_key(stored.info, results)] = stored
        return runs

    def save_dataset_folders(self, import_plan: ImportPlan) -> None:
        """Remember the dataset folders of each up-to-date run."""
        # What is remembered below does not change which folders most runs had.
        most_common = self._dataset_folders.most_common_folders
        for number, plan in import_plan.plans.items():
            # The folders of a failed run may be wrong.
            status = import_plan.summary_rows[number]["status"]
            if status not in ("imported", "unchanged"):
                continue

            if self._options.forget:
                folders = select_folders_with_dataset(self._options.folders, plan)
                self._dataset_folders.remember_folders(plan.run, folders)
                continue
            folders = self._choose_new_dataset_folders(plan, most_common)
            if folders:
                self._dataset_folders.remember_folders(plan.run, folders)
        self._dataset_folders.save()

    def _choose_new_dataset_folders(
        self, plan: RunPlan, most_common: Sequence[Path]
    ) -> tuple[Path, ...]:
        """Return the folders of --data with the run's dataset, which replace the remembered ones.

        A run for which no folder is named or remembered gets the folders that most runs have. An
        empty result leaves what is remembered.
        """
        named = select_folders_with_dataset(self._options.folders, plan)
        if named or self._dataset_folders.get_dataset_folders(plan.run):
            return named
        return select_folders_with_dataset(most_common, plan)

    def _add_run_to_plan(
        self, import_plan: ImportPlan, job: ReadJob, stored_run: StoredRun | None
    ) -> None:
        """Decide whether to read a run, to keep its last import, or only to update its row.

        Args:
            import_plan: The plan of the import, which gets the decision.
            job: The run, with its files.
            stored_run: The run in the store, or None if it was never imported.
        """
        row = import_plan.summary_rows[job.run_number]
        plan = job.plan
        missing_dataset = self._find_missing_dataset(plan, stored_run)
        _note_missing_folders(row, plan, missing_dataset)

        if stored_run is None:
            import_plan.jobs.append(job)
        # Without its dataset or its scores, an import would lose what the last one had.
        elif missing_dataset.is_lost or plan.lost_score_folder:
            row["status"] = self._describe_kept_run(
                job, stored_run, is_dataset_lost=missing_dataset.is_lost
            )
            import_plan.skipped_plans.append(plan)
            _keep_stored_run(import_plan, job, stored_run)
        elif self._is_up_to_date(job, stored_run):
            _plan_new_mtimes(import_plan, job, stored_run)
            _keep_stored_run(import_plan, job, stored_run)
        else:
            import_plan.jobs.append(job)
            if not plan.has_importer_version(stored_run.import_fingerprint):
                import_plan.upgraded.add(job.run_number)

    def _describe_kept_run(
        self, job: ReadJob, stored_run: StoredRun, *, is_dataset_lost: bool
    ) -> str:
        """Return the status of a run that keeps its last import: `kept`, or `outdated` if files
        other than the lost ones have changed.
        """
        lost_kinds = []
        if is_dataset_lost:
            lost_kinds.append("data")
        if job.plan.lost_score_folder:
            lost_kinds.append("score")
        is_unchanged = self._has_same_sources(job, stored_run, ignored_kinds=lost_kinds)
        return "kept" if is_unchanged else "outdated"

    def _find_missing_dataset(self, plan: RunPlan, stored_run: StoredRun | None) -> _MissingDataset:
        """Return which dataset folder of a run is missing.

        If the user names new folders, or forgets the folders (--forget-data), the earlier folders
        no longer count, so none is missing.
        """
        remembered = self._dataset_folders.get_dataset_folders(plan.run)
        named = select_folders_with_dataset(self._options.folders, plan)
        has_new_folders = not set(named).issubset(remembered)
        if self._options.forget or has_new_folders:
            return _MissingDataset(folder=None, is_lost=False)

        if stored_run is not None:
            folder = find_folder_of_lost_dataset(self._workspace, plan, stored_run, remembered)
            if folder is not None:
                return _MissingDataset(folder, is_lost=True)
        return _MissingDataset(find_folder_without_dataset(plan, remembered), is_lost=False)

    def _is_up_to_date(self, job: ReadJob, stored_run: StoredRun) -> bool:
        """Whether the store has a run as it would be imported now: from the same files, with the
        same options.
        """
        has_same_options = job.plan.has_same_settings(stored_run.import_fingerprint)
        return has_same_options and is_content_unchanged(
            self._workspace, job.sources, stored_run.sources
        )

    def _keep_run_without_results(
        self, import_plan: ImportPlan, plan: RunPlan, stored: StoredRun
    ) -> None:
        """Plan to keep the last import of a run whose result files were deleted.

        Its scores may still exist. They would only give the failing items, so they are not read.

        Args:
            import_plan: The plan of the import.
            plan: The plan of the run with the files that are left.
            stored: The run in the store.
        """
        has_same_scores = self._has_same_scores(plan, stored)
        row = _make_summary_row(stored.run_number, stored.info)
        row["status"] = "kept" if has_same_scores else "outdated"
        row |= {"items": stored.n_items, "issues": stored.n_issues, "dataset": stored.info.dataset}

        import_plan.summary_rows[stored.run_number] = row
        import_plan.skipped_plans.append(plan)
        import_plan.issues.append(_report_lost_results(stored, has_same_scores=has_same_scores))

    def _has_same_scores(self, plan: RunPlan, stored: StoredRun) -> bool:
        """Whether the score files of a run are those of its last import. Without the results, the
        other files do not matter.
        """
        sources = stat_sources(plan, self._workspace.to_stored_path)
        job = ReadJob(stored.run_number, plan=plan, sources=sources)
        return self._has_same_sources(job, stored, ignored_kinds=("result", "data", "log"))

    def _has_same_sources(
        self, job: ReadJob, stored_run: StoredRun, *, ignored_kinds: Sequence[str]
    ) -> bool:
        """Whether the files of all kinds but the ignored ones are unchanged."""
        now = [source for source in job.sources if source.kind not in ignored_kinds]
        before = [source for source in stored_run.sources if source.kind not in ignored_kinds]
        return is_content_unchanged(self._workspace, now, before)


@dataclass(frozen=True, slots=True)
class _MissingDataset:
    """The dataset folder that an import of a run did not find."""

    folder: Path | None
    """None if no folder is missing."""
    is_lost: bool
    """Whether the last import of the run had the dataset."""


def _note_missing_folders(
    row: dict[str, Any], plan: RunPlan, missing_dataset: _MissingDataset
) -> None:
    """Write into the summary row of a run which folders are missing."""
    if missing_dataset.folder is not None:
        row["missing_dataset"] = str(missing_dataset.folder)
    if plan.lost_score_folder:
        row["missing_scores"] = str(plan.lost_score_folder)


def _plan_new_mtimes(import_plan: ImportPlan, job: ReadJob, stored_run: StoredRun) -> None:
    """Plan to store the modification times of a run whose files have the same content as before.

    With equal times, the next import need not compare the content again.
    """
    if _has_new_mtimes(job, stored_run):
        job.sources = _add_stored_hashes(job.sources, stored_run.sources)
        import_plan.new_mtime_jobs.append(job)


def _report_lost_results(stored: StoredRun, *, has_same_scores: bool) -> ImportIssue:
    """Return the notice that a run keeps its last import, because its results were deleted."""
    what = (
        f"the results of run {stored.info.model} no longer exist. fcreview keeps the last"
        f" import ({format_count(stored.n_items, 'item')})"
    )
    if not has_same_scores:
        what += " and does not import scores that changed since then"
    return ImportIssue(stored.info.path, None, what=what, severity="notice")


def _report_second_run(run: Run) -> ImportIssue:
    """Return the issue of a run that was found a second time in the opened files."""
    what = f"run {run.model} was found twice. The first one is imported"
    return ImportIssue(run.path, None, what=what)


def _make_language_free_key(run: Run, result_files: Sequence[str]) -> tuple[str, ...]:
    return (run.benchmark, run.generation, run.model, str(run.path), *sorted(result_files))


def _has_new_mtimes(job: ReadJob, stored: StoredRun) -> bool:
    """Return whether a file of an unchanged run has another modification time than in the store."""
    stored_mtimes = {(source.path, source.kind): source.mtime_ns for source in stored.sources}
    return any(source.mtime_ns != stored_mtimes[source.path, source.kind] for source in job.sources)


def _add_stored_hashes(
    sources: Sequence[SourceFile], stored_sources: Sequence[SourceFile]
) -> list[SourceFile]:
    """Return the files of an unchanged run with the hashes that the store has of them."""
    hashes = {(source.path, source.kind): source.hash for source in stored_sources}
    return [replace(source, hash=hashes[source.path, source.kind]) for source in sources]


def _has_other_name(run: Run, stored: Run) -> bool:
    return (run.name, run.name_parts) != (stored.name, stored.name_parts)


def _keep_stored_run(import_plan: ImportPlan, job: ReadJob, stored_run: StoredRun) -> None:
    """Note the counts and the name of a run that is not read again."""
    row = import_plan.summary_rows[job.run_number]
    row["items"] = stored_run.n_items
    row["issues"] = stored_run.n_issues
    row["dataset"] = stored_run.info.dataset

    run = job.plan.run
    # An importer can find parts of the name while it reads the items. A run that is not read
    # again lacks them, so those of the store stay.
    run.name_parts = run.name_parts or stored_run.info.name_parts
    if _has_other_name(run, stored_run.info):
        import_plan.renamed[job.run_number] = run


def _make_summary_row(run_number: int, run: Run) -> dict[str, Any]:
    """Return the row of a run for the summary of the import, as if the run were unchanged."""
    return {
        "run": run_number,
        "run_name": run.model,  # `_name_runs` replaces the name
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
        "missing_scores": None,
        "issues": 0,
    }


_READ_ONLY_ERRORS = (errno.EACCES, errno.EPERM, errno.EROFS)
BATCH_BYTES = 16_000_000  # size of the staging files that one statement loads


def import_runs(
    workspace: Workspace,
    plans: Sequence[RunPlan],
    read_items: RunReader,
    *,
    issues: Sequence[ImportIssue] = (),
    on_progress: ImportProgressCallback | None = None,
    n_workers: int | None = None,
    dataset_options: DatasetOptions = DatasetOptions(),  # noqa: B008 - frozen
) -> ImportSummary:
    """Update the store with the planned runs. Runs that were imported earlier and are not planned
    are kept.

    Args:
        read_items: Reads the items of a plan. It must be a top-level function, so that worker
            processes can call it.
        issues: Import issues from the search for runs.
        n_workers: Number of processes; None to choose by the size of the files.
        dataset_options: The dataset folders. By default, a run whose dataset is missing keeps its
            last import.

    Raises WorkspaceError if the workspace is not writable and there is something to import.
    """
    started = time.perf_counter()
    new_import = partial(
        _Import,
        workspace,
        plans,
        read_items,
        issues=issues,
        on_progress=on_progress,
        n_workers=n_workers,
        dataset_options=dataset_options,
    )
    try:
        with import_lock(workspace):
            summary = new_import().run()
    except (OSError, duckdb.IOException) as error:
        # A workspace that nobody can write to is fine if the store is up to date.
        if getattr(error, "errno", None) in _READ_ONLY_ERRORS:
            unchanged = new_import().summarize_if_unchanged()
            if unchanged is not None:
                return unchanged
        raise make_write_error(workspace.root, _to_os_error(error)) from error
    summary.seconds = time.perf_counter() - started
    return summary


def _to_os_error(error: OSError | duckdb.IOException) -> OSError:
    """Return the error of the operating system.

    The first line of DuckDB's message begins with the path of the database and ends with the reason
    from the operating system.
    """
    if isinstance(error, OSError):
        return error
    first_line, _, _ = str(error).partition("\n")
    _, _, reason = first_line.rpartition(": ")
    return OSError(reason)


@dataclass(slots=True)
class _Import:
    """The state of one import. The public fields are the arguments of `import_runs`."""

    workspace: Workspace
    plans: Sequence[RunPlan]
    read_items: RunReader
    issues: Sequence[ImportIssue]
    on_progress: ImportProgressCallback | None
    n_workers: int | None
    dataset_options: DatasetOptions
    _index: StoreIndex = field(init=False)
    _plan: ImportPlan = field(default_factory=ImportPlan)
    _named_runs: dict[int, Run] = field(default_factory=dict)
    """Runs of the store after the import, by number."""
    _all_issues: list[dict[str, Any]] = field(default_factory=list)
    """Import issues in the form of `ImportSummary.issues`.

    Issues of a run also have the key `run`.
    """

    def __post_init__(self) -> None:
        """Read which runs the store contains. The index is empty if the store is to be rebuilt.

        That is so if another user wrote the store, and this import can read all of its runs again.
        """
        self._index = read_store_index(self.workspace)
        planned_keys = {build_run_key(self.workspace, plan.run) for plan in self.plans}
        can_be_rebuilt = os.access(self.workspace.root, os.W_OK) and planned_keys.issuperset(
            self._index.runs
        )
        if not self._index.is_verified and can_be_rebuilt:
            reason = f"{self.workspace.store} was written by another user"
            self._index = StoreIndex(rebuild_reason=reason)

    def run(self) -> ImportSummary:
        """Import the runs that have changed, and return what was done. Without changes, the store
        stays.
        """
        planner = ImportPlanner(self.workspace, self._index, self.dataset_options)
        plan = planner.plan_import(self.plans)
        self._set_plan(plan)
        if self._has_changes():
            self._build_store()

        # Only now is known which runs failed. Their dataset folders are not remembered.
        planner.save_dataset_folders(plan)
        # An importer can find parts of a run's name while it reads the run.
        self._name_runs()
        return ImportSummary(
            list(plan.summary_rows.values()),
            self._all_issues,
            rebuild_reason=self._index.rebuild_reason or "",
            n_upgraded=_count_imported_upgrades(plan),
        )

    def _has_changes(self) -> bool:
        """Whether the store must be written, before any run is read."""
        has_changes = bool(self._plan.jobs) or self._has_changes_of_unread_runs()
        return has_changes or not self._index.usable

    def summarize_if_unchanged(self) -> ImportSummary | None:
        """Return the summary of an import that need not write, or None if runs must be read."""
        planner = ImportPlanner(self.workspace, self._index, self.dataset_options)
        self._set_plan(planner.plan_import(self.plans))
        if self._plan.jobs or not self._index.usable:
            return None
        self._name_runs()
        return ImportSummary(list(self._plan.summary_rows.values()), self._all_issues)

    def _name_runs(self) -> None:
        """Add the names of the runs to the summary.

        Other runs of the workspace can have the same model.
        """
        names = build_run_names(self._named_runs)
        for number, row in self._plan.summary_rows.items():
            row["run_name"] = names.get(number) or sanitize(row["model"])

    def _set_plan(self, plan: ImportPlan) -> None:
        """Set the plan, and with it the runs and issues that are known before reading."""
        self._plan = plan
        self._named_runs = self._collect_stored_runs()
        self._all_issues = self._collect_issues_before_reading()

    def _collect_stored_runs(self) -> dict[int, Run]:
        """Return the stored runs that this import keeps, with their new names, by number."""
        runs = {stored.run_number: stored.info for stored in self._index.runs.values()}
        runs.update(self._plan.renamed)
        for number in self._plan.doubled_runs:
            runs.pop(number, None)
        return runs

    def _collect_issues_before_reading(self) -> list[dict[str, Any]]:
        """Return the issues of the search for runs, of the plan and of the unchanged runs."""
        issues = list(self.issues)
        rebuild_reason = self._index.rebuild_reason
        if rebuild_reason:
            store_path = str(self.workspace.store)
            issues.append(ImportIssue(store_path, None, what=rebuild_reason, severity="notice"))
        issues += self._plan.issues
        issue_rows = [asdict(issue) for issue in issues]

        # The issues of a run that is read are added when it is loaded or fails.
        numbers_of_read_runs = {job.run_number for job in self._plan.jobs}
        for number, run_plan in self._plan.plans.items():
            is_unchanged = self._plan.summary_rows[number]["status"] == "unchanged"
            if number in numbers_of_read_runs or not is_unchanged:
                continue
            for issue in run_plan.issues:
                issue_rows.append(asdict(issue) | {"run": number})
        return issue_rows

    def _build_store(self) -> None:
        """Read the planned runs in worker processes, write a new store, and replace the old one if
        anything changed.

        Workers write the items of a run to staging files, which DuckDB then loads. The first
        outcome is awaited before the new store is opened, because it starts the worker processes:
        a process with DuckDB's threads cannot be forked safely.
        """
        folder = self.workspace.temporary / str(os.getpid())
        self.workspace.files.remove(folder)
        self.workspace.files.make_folder(folder)
        outcomes = read_and_stage_runs(
            self.workspace,
            folder,
            self._plan.jobs,
            self.read_items,
            self.n_workers,
            self.on_progress,
        )
        try:
            all_outcomes = _start_reading(outcomes)
            with StoreBuilder(self.workspace, folder, copy_existing=self._index.usable) as builder:
                self._update_unread_runs(builder)
                shared_rows = self._load_outcomes(builder, all_outcomes)
                # There are rows if a run was loaded.
                has_changes = bool(shared_rows) or self._has_changes_of_unread_runs()
                if has_changes or not self._index.usable:
                    self._finish_store(builder, shared_rows)
        finally:
            # This ends workers that still write to the folder.
            outcomes.close()
            self.workspace.files.remove(folder)

    def _finish_store(self, builder: StoreBuilder, shared_rows: Sequence[StagedFile]) -> None:
        """Complete the tables that all runs share, and put the new store in place."""
        builder.load_functions_and_questions(shared_rows)
        issues_without_run = [issue for issue in self._all_issues if issue.get("run") is None]
        builder.replace_issues_without_run(self._list_examined_files(), issues_without_run)
        builder.finish_and_replace_store()

    def _update_unread_runs(self, builder: StoreBuilder) -> None:
        """Change the rows of stored runs that this import does not read again."""
        for job in self._plan.new_mtime_jobs:
            builder.set_source_rows(job.run_number, job.sources)
        builder.delete_runs(self._plan.doubled_runs)
        for number, run in self._plan.renamed.items():
            builder.rename_run(number, run.name, run.name_parts)

    def _has_changes_of_unread_runs(self) -> bool:
        plan = self._plan
        return bool(plan.new_mtime_jobs or plan.renamed or plan.doubled_runs)

    def _load_outcomes(
        self, builder: StoreBuilder, outcomes: Iterable[ReadOutcome]
    ) -> list[StagedFile]:
        """Load the runs that workers have read into the new store, in batches, while the workers
        read more runs.

        A run that could not be read is recorded as failed. Returns the files with the function docs
        and questions that the loaded runs need; empty if no run was loaded. A process writes each
        doc only once, so a run can need those of a part that failed (`other_shared_rows`).
        """
        shared_rows: list[StagedFile] = []
        other_shared_rows: list[StagedFile] = []
        batch: list[ReadOutcome] = []
        for outcome in outcomes:
            other_shared_rows += outcome.other_shared_rows
            staged = self._take_staged_run(outcome)
            if staged is None:
                continue
            shared_rows += staged.shared_rows

            batch.append(outcome)
            if _measure_staged_bytes(batch) >= BATCH_BYTES:
                self._load_batch(builder, batch)
                batch = []
        self._load_batch(builder, batch)
        return shared_rows + other_shared_rows if shared_rows else []

    def _take_staged_run(self, outcome: ReadOutcome) -> StagedRun | None:
        """Return the staged run, to which the issues of its plan are added. If it could not be
        read, record the failure and return None.
        """
        staged = outcome.staged
        if staged is None:
            self._record_failure(outcome, outcome.error or "the run could not be read")
            return None
        reason = _explain_unreadable_run(outcome.job.plan, staged)
        if reason is not None:
            self._record_failure(outcome, reason)
            return None

        # Issues of the plan are about the run as a whole, so they come first and have no item.
        plan_issues = [asdict(issue) | {"seq": None} for issue in outcome.job.plan.issues]
        staged.issues = plan_issues + staged.issues
        return staged

    def _load_batch(self, builder: StoreBuilder, outcomes: Sequence[ReadOutcome]) -> None:
        """Load the items of several runs in one transaction, and delete their staging files. If the
        transaction fails, load each run alone.
        """
        staged_runs = [outcome.staged for outcome in outcomes if outcome.staged]
        try:
            builder.load_runs(staged_runs)
        except LoadError as error:
            self._load_one_by_one(builder, outcomes, error)
        else:
            for outcome in outcomes:
                self._record_success(builder, outcome)

        # A run that was loaded alone has removed its files already.
        for staged in staged_runs:
            for file in staged.items:
                file.path.unlink(missing_ok=True)

    def _load_one_by_one(
        self, builder: StoreBuilder, outcomes: Sequence[ReadOutcome], error: LoadError
    ) -> None:
        """Load each run in a transaction of its own, after the common one has failed with `error`.
        If a run fails alone, load it without its invalid values.
        """
        if len(outcomes) == 1:
            self._load_without_invalid_values(builder, outcomes[0], error)
            return
        for outcome in outcomes:
            self._load_batch(builder, [outcome])

    def _load_without_invalid_values(
        self, builder: StoreBuilder, outcome: ReadOutcome, load_error: LoadError
    ) -> None:
        """Load a run again, without the values that the database could not store.

        The item with the first of these values gets an import issue. If this item cannot be found,
        the run fails.
        """
        staged = outcome.staged
        assert staged is not None  # noqa: S101 - for the type checker: outcomes without staging files have failed
        invalid_item = _find_invalid_item(staged, load_error)
        if invalid_item is None:
            self._record_failure(outcome, str(load_error))
            return

        issue = _make_invalid_values_issue(invalid_item, load_error)
        staged.issues.append({**asdict(issue), "seq": invalid_item["seq"]})
        try:
            builder.load_runs([staged], omit_invalid_values=True)
        except LoadError as error:
            self._record_failure(outcome, str(error))
        else:
            self._record_success(builder, outcome)

    def _record_success(self, builder: StoreBuilder, outcome: ReadOutcome) -> None:
        """Write the row of a run whose items were loaded, and add its issues and counts to the
        summary of the import.
        """
        job = outcome.job
        staged = outcome.staged
        info = outcome.info
        assert staged is not None  # noqa: S101 - for the type checker: outcomes without staging files have failed
        key = build_run_key(self.workspace, job.plan.run)
        self._named_runs[job.run_number] = info
        builder.set_run_row(
            job.run_number, key, info, job.plan.import_fingerprint, staged.n_items, outcome.sources
        )

        self._all_issues += _make_issues_of_run(staged, job.run_number)
        self._plan.summary_rows[job.run_number] |= {
            "items": staged.n_items,
            "issues": len(staged.issues),
            "dataset": info.dataset,
            "status": "imported",
            "seconds": outcome.seconds,
        }

    def _record_failure(self, outcome: ReadOutcome, reason: str) -> None:
        """Add the reason why a run was not imported. A stored run keeps its last import."""
        job = outcome.job
        stored = self._index.runs.get(build_run_key(self.workspace, job.plan.run))
        what = f"run {job.plan.run.model} was not imported: {reason}"
        n_items = 0
        n_issues = 1  # the issue about the failure
        if stored is not None:
            what += f". The {stored.n_items} items of the last import are kept"
            n_items = stored.n_items
            n_issues += stored.n_issues

        failure = ImportIssue(job.plan.run.path, None, what=what, severity="error")
        self._all_issues += [asdict(issue) for issue in [*job.plan.issues, failure]]
        self._plan.summary_rows[job.run_number] |= {
            "items": n_items,
            "status": "failed",
            "seconds": outcome.seconds,
            "issues": n_issues,
        }

    def _list_examined_files(self) -> set[str]:
        """Return the files that this import examined.

        Their old issues are replaced if the issues belong to no run.
        """
        skipped = {id(plan) for plan in self._plan.skipped_plans}
        files = {issue["file"] for issue in self._all_issues}
        for plan in self.plans:
            if id(plan) in skipped:
                continue
            files.add(plan.run.path)
            for _, path in iter_source_kinds_and_paths(plan):
                files.add(os.fspath(path))
        return files


def _start_reading(outcomes: Iterator[ReadOutcome]) -> Iterator[ReadOutcome]:
    """Wait for the first outcome, and return all outcomes. The first one starts the processes."""
    first = next(outcomes, None)
    if first is None:
        return outcomes
    return itertools.chain([first], outcomes)


def _count_imported_upgrades(plan: ImportPlan) -> int:
    """Return how many runs were read again because the importer has a new version. Runs that failed
    do not count.
    """
    return sum(plan.summary_rows[run]["status"] == "imported" for run in plan.upgraded)


def _measure_staged_bytes(outcomes: Iterable[ReadOutcome]) -> int:
    n_bytes = 0
    for outcome in outcomes:
        if outcome.staged is not None:
            n_bytes += sum(file.path.stat().st_size for file in outcome.staged.items)
    return n_bytes


def _find_invalid_item(staged: StagedRun, load_error: LoadError) -> dict[str, Any] | None:
    """Return the item that the database could not load, or None if the error does not name its
    line.
    """
    file = load_error.find_file(staged.items)
    if file is None or load_error.line is None:
        return None
    return read_staged_item(file, load_error.line)


def _make_issues_of_run(staged: StagedRun, run_number: int) -> list[dict[str, Any]]:
    """Return the issues of a loaded run as the summary of the import has them."""
    issues = []
    for staged_issue in staged.issues:
        issue = staged_issue | {"run": run_number}
        del issue["seq"]  # the position of the item is only needed to load the issue
        issues.append(issue)
    return issues


def _make_invalid_values_issue(item: Mapping[str, Any], load_error: LoadError) -> ImportIssue:
    what = (
        "values that the database cannot hold were omitted from this item and possibly from"
        f" later ones: {load_error}"
    )
    return ImportIssue(item["file"], item["line"], what=what, item=item["id"], severity="error")


def _explain_unreadable_run(plan: RunPlan, staged: StagedRun) -> str | None:
    """Return why no record of a run can be read.

    None if the run has items, or its files are empty but not damaged.
    """
    if staged.n_items:
        return None
    result_files = {plan.run.path, *(os.fspath(path) for path in plan.results)}
    errors = [
        issue
        for issue in staged.issues
        if issue["severity"] == "error" and issue["file"] in result_files
    ]
    # The last error is about the file as a whole, if there is such an error.
    return str(errors[-1]["what"]) if errors else None


@contextlib.contextmanager
def import_lock(workspace: Workspace) -> Iterator[None]:
    """Wait until no other import runs in the workspace, and delete the files that a crashed import
    left. If the file system has no locks, two imports can run at the same time, and the last one
    replaces the store.
    """
    descriptor = workspace.files.open(workspace.lock, os.O_RDWR | os.O_CREAT, group_can_write=True)
    try:
        with contextlib.suppress(OSError):
            # the system releases the lock when the process ends
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        for file in [workspace.temporary, *workspace.root.glob(f"{workspace.store.name}.*.tmp*")]:
            workspace.files.remove(file)
        yield
    finally:
        os.close(descriptor)

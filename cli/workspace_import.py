"""Find the runs at the paths on the command line, and import new and changed runs into their
workspace.

fcreview chooses the dataset, the decoder and the errata of each run from options, the configuration
and earlier commands (`cli/run_options.py`). It copies the file of `--errata` to
`.fcreview/errata.jsonl`, so that the workspace does not depend on the original.

If no file changed since the last command, `ImportCache` makes the search and the import
unnecessary. For each set of options (paths, dataset folders, format, decoders),
`.fcreview/seen.json` has an entry `{"state": digest, "others": files outside the paths, "runs": run
numbers in the store}`. The digest covers names, sizes and times of the result files, the datasets,
the store, and the code of importers and store. Runs without a dataset get no entry, so that every
command searches for their dataset. If the file is lost or damaged, fcreview searches again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fcreview.importers
import fcreview.store
from fcreview.cli.config import Config, load_config
from fcreview.cli.dataset_choice import DatasetSources, set_dataset_facts
from fcreview.cli.options import NO_SCORES, WorkspaceOptions
from fcreview.cli.output import Progress, check_choice, print_limited_messages, print_message
from fcreview.cli.run_options import SavedLanguages, remember_languages, set_options_and_errata
from fcreview.cli.workspace import (
    MAX_MESSAGES,
    RunNumbers,
    WorkspaceSession,
    find_lake_location,
    is_whole_workspace,
    locate_workspace,
    pop_lake_problems,
    resolve_annotator,
    resolve_run_paths,
)
from fcreview.errors import CommandError
from fcreview.importers.common.discovery import gather_files
from fcreview.model.effective_verdict import POLICIES
from fcreview.model.item import ImportIssue
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.run_plan import SearchOptions

if TYPE_CHECKING:
    from fcreview.model.item import Run
    from fcreview.run_plan import DiscoveredRuns, RunPlan
    from fcreview.store.importing.source_files import DatasetFolders
    from fcreview.store.rows import ImportSummary
    from fcreview.store.workspace import Workspace

Folders = tuple[Path, ...]
# function that finds runs, and their datasets in these folders first
RunSearch = Callable[[Folders], "DiscoveredRuns"]
RunId = tuple[str, str, str, str, str]  # benchmark, version, language, model and path of a run
MAX_CACHE_ENTRIES = 32
# packages whose code determines the result of an import
CODE_PACKAGES = (
    fcreview.importers,
    fcreview.store,
)


@contextmanager
def open_workspace(options: WorkspaceOptions) -> Iterator[WorkspaceSession]:
    """Import new and changed runs and yield a session of their workspace.

    Raises CommandError if every import fails.
    """
    policy = check_choice(POLICIES, options.policy, "policy")
    config = load_config()
    updated = update_workspace(options, config)
    session = WorkspaceSession(
        updated.workspace,
        annotator=resolve_annotator(options, config),
        scope=updated.scope,
        policy=policy,
        options=options,
        failed_runs=updated.failed_runs,
    )
    try:
        yield session
    finally:
        session.close()


@dataclass(frozen=True, slots=True)
class UpdatedWorkspace:
    """A workspace after the import of new and changed runs."""

    workspace: Workspace
    scope: RunNumbers = ()
    """Numbers of the selected runs; empty for all runs."""
    failed_runs: tuple[str, ...] = ()
    """Names of the runs whose import failed."""


def update_workspace(options: WorkspaceOptions, config: Config) -> UpdatedWorkspace:
    """Import new and changed runs.

    Skip the import for a lake, and if no file changed since the last command.
    """
    if find_lake_location(options.paths) is not None:
        pop_lake_problems()  # discards the problems that earlier commands in this process found
        return UpdatedWorkspace(locate_workspace(options))

    cache = _create_import_cache(options, config)
    unchanged = _find_unchanged_workspace(options, cache)
    if unchanged is not None:
        return unchanged

    with Progress("looking for runs") as search:
        search.show_first_line()
        discovered = discover_runs(options, config)
    cache.record_dataset_state(discovered.plans)
    workspace, summary = import_discovered_runs(options, discovered, config)
    _print_failed_imports(summary)
    print_missing_datasets(summary)
    _print_unapplied_errata(summary, workspace.errata)

    scope = _select_scope(options, workspace, summary)
    if all(map(_is_up_to_date, summary.runs)):
        cache.save_run_numbers(workspace, scope)  # the store has the current results of every run
    failed = tuple(row["run_name"] for row in summary.runs if row["status"] == "failed")
    return UpdatedWorkspace(workspace, scope=scope, failed_runs=failed)


def _create_import_cache(options: WorkspaceOptions, config: Config) -> ImportCache:
    """Create the cache for the paths and for all settings that change the result of an import."""
    settings = (
        f"{options.format} {options.language} {options.score} {options.import_options}"
        f" {config.decoders}"
        f" {config.run_names}"
    )
    return ImportCache(resolve_run_paths(options), list_data_folders(options, config), settings)


def _find_unchanged_workspace(
    options: WorkspaceOptions, cache: ImportCache
) -> UpdatedWorkspace | None:
    """Return the workspace if it exists and no file changed since the last command, else None."""
    from fcreview.store.workspace import WorkspaceError

    if options.errata is not None:  # only an import checks and applies the file of --errata
        return None
    try:
        workspace = locate_workspace(options, create=False)
        runs = cache.find_unchanged_runs(workspace)
    except WorkspaceError:
        return None
    return None if runs is None else UpdatedWorkspace(workspace, runs)


def _select_scope(
    options: WorkspaceOptions, workspace: Workspace, summary: ImportSummary
) -> RunNumbers:
    """Return the numbers of the runs at the paths, or () for all runs of the workspace.

    Raises CommandError without runs, except for the whole of a workspace that has none.
    """
    # A run whose import failed still has the items of its last import.
    usable = [row["run"] for row in summary.runs if row["status"] != "failed" or row["items"]]
    is_whole = is_whole_workspace(workspace, options.paths)
    if not usable and (summary.runs or not is_whole):
        raise CommandError(explain_no_runs(options, summary))

    if is_whole:
        return ()
    return tuple(sorted(usable))


def _is_up_to_date(row: Mapping[str, Any]) -> bool:
    """Whether a run was imported with all its files."""
    has_all_folders = row["missing_dataset"] is None and row["missing_scores"] is None
    return row["status"] in ("imported", "unchanged") and has_all_folders


class ImportCache:
    """Cache of the run numbers at the paths, valid until a file changes. Create the cache before
    the search for runs, so that the next command notices files that change during the import.
    """

    def __init__(self, paths: Sequence[Path], data_folders: Sequence[Path], settings: str) -> None:
        self._key = _hash_texts(
            f"{len(paths)} {settings}", *map(os.fspath, [*paths, *data_folders])
        )
        self._files = gather_files(paths).files
        code = gather_files(
            Path(folder) for package in CODE_PACKAGES for folder in package.__path__
        )
        self._inside = _hash_file_states([*self._files, *code.files])
        self._others: list[str] | None = None
        self._outside = ""

    def find_unchanged_runs(self, workspace: Workspace) -> RunNumbers | None:
        """Return the numbers of the runs at the paths, or None if a file changed since
        `save_run_numbers`.
        """
        match workspace.files.read_json_object(_locate_cache_file(workspace)).get(self._key):
            case {"state": state, "others": [*others], "runs": [*runs]}:
                if any(type(path) is not str for path in others) or any(
                    type(run) is not int for run in runs
                ):
                    return None
                unchanged = state == self._compute_digest(
                    workspace, _hash_file_states(map(Path, others))
                )
                return tuple(runs) if unchanged else None
        return None

    def record_dataset_state(self, plans: Sequence[RunPlan]) -> None:
        """Record the state of the datasets. Call this before the import reads the datasets."""
        if plans and all(plan.data for plan in plans):
            inside = set(self._files)
            self._others = sorted(
                {os.fspath(path) for plan in plans for path in plan.files if path not in inside}
            )
            self._outside = _hash_file_states(map(Path, self._others))

    def save_run_numbers(self, workspace: Workspace, run_numbers: Sequence[int]) -> None:
        """Save the numbers of the runs in `.fcreview/seen.json`.

        Call this when the store has their current results.
        """
        if self._others is None:
            return
        state = self._compute_digest(workspace, self._outside)
        entry = {"state": state, "others": self._others, "runs": list(run_numbers)}
        saved = workspace.files.read_json_object(_locate_cache_file(workspace))
        others = [pair for pair in saved.items() if pair[0] != self._key]
        entries = dict(others[1 - MAX_CACHE_ENTRIES :]) | {self._key: entry}
        with suppress(OSError):
            workspace.files.write_json(_locate_cache_file(workspace), entries)

    def _compute_digest(self, workspace: Workspace, outside_digest: str) -> str:
        return _hash_texts(
            self._inside, outside_digest, _hash_file_states([workspace.store, workspace.errata])
        )


def _hash_file_states(files: Iterable[Path]) -> str:
    return _hash_texts(*(_fingerprint_file(file) for file in files))


def _fingerprint_file(file: Path) -> str:
    """Return the name, size, times and inode of a file as text.

    A new ctime shows that the permissions changed.
    """
    try:
        status = file.stat()
    except OSError:
        return f"{file} -"
    return f"{file} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _hash_texts(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _locate_cache_file(workspace: Workspace) -> Path:
    return workspace.root / "seen.json"


def discover_runs(options: WorkspaceOptions, config: Config) -> DiscoveredRuns:
    """Find the runs at the paths, each with its dataset. Raises CommandError for a missing path."""
    from fcreview.importers.common.discovery import list_environment_folders
    from fcreview.importers.registry import discover, list_importer_names

    if options.format is not None:
        check_choice(list_importer_names(), options.format, "format")
    paths, permanent = (
        resolve_run_paths(options),
        list_data_folders(replace(options, data=None), config),
    )

    search_options = SearchOptions(
        resolve_score_option(options),
        options.language or "",
        remembered_scores=load_remembered_scores(options),
        remembered_languages=load_remembered_languages(options),
    )

    def search_runs(folders: Folders) -> DiscoveredRuns:
        return discover(
            paths, data=[*folders, *permanent], format=options.format, search=search_options
        )

    remembered = None if options.forget_data else load_remembered_datasets(options)
    named = resolve_data_option(options)
    if remembered is None:
        discovered = search_runs(named)
    else:
        discovered = find_runs_and_datasets(search_runs, named, remembered)
    sources = DatasetSources(
        named,
        remembered=remembered,
        environment=list_environment_folders(),
        configured=config.dataset_folders,
    )
    set_dataset_facts(discovered.plans, sources)
    return discovered


def load_remembered_languages(options: WorkspaceOptions) -> dict[Path, str]:
    """Load the language of earlier commands for each folder of results."""
    from fcreview.store.workspace import WorkspaceError

    try:
        return SavedLanguages(locate_workspace(options, create=False)).get_languages()
    except WorkspaceError:
        return {}


def load_remembered_datasets(options: WorkspaceOptions) -> DatasetFolders | None:
    """Load the dataset folders of earlier commands, or None if there is no workspace."""
    from fcreview.store.importing.source_files import DatasetFolders
    from fcreview.store.workspace import WorkspaceError

    try:
        return DatasetFolders(locate_workspace(options, create=False))
    except WorkspaceError:
        return None


def resolve_data_option(options: WorkspaceOptions) -> tuple[Path, ...]:
    """Return the folders of --data as absolute paths.

    Raises CommandError if a folder does not exist.
    """
    for folder in options.data or ():
        if not os.path.exists(folder):  # noqa: PTH110 - Path.exists raises OSError for a name that is too long
            raise CommandError(
                f"the folder of --data {folder} does not exist. Pass the folder of a dataset"
            )
    return tuple(dict.fromkeys(Path(os.path.abspath(each)) for each in options.data or ()))  # noqa: PTH100 - keep symbolic links


def forgets_scores(options: WorkspaceOptions) -> bool:
    """Whether the command has `--score none`, and no folder has this name."""
    return list(options.score or ()) == [Path(NO_SCORES)] and not Path(NO_SCORES).is_dir()


def resolve_score_option(options: WorkspaceOptions) -> tuple[Path, ...]:
    """Return the folders of --score as absolute paths.

    Raises CommandError if a folder does not exist.
    """
    if forgets_scores(options):
        return ()
    folders = []
    for folder in options.score or ():
        if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises OSError for a name that is too long
            raise CommandError(
                f"the folder of --score {folder} does not exist. Pass a folder with score files"
            )
        folders.append(Path(os.path.abspath(folder)))  # noqa: PTH100 - keep symbolic links
    return tuple(dict.fromkeys(folders))


def load_remembered_scores(options: WorkspaceOptions) -> Mapping[Path, tuple[Path, ...]]:
    """Load the score folders that earlier commands named, by folder of results."""
    from fcreview.store.importing.score_folders import ScoreFolders
    from fcreview.store.workspace import WorkspaceError

    if forgets_scores(options):
        return {}
    try:
        return ScoreFolders(locate_workspace(options, create=False)).get_folders()
    except WorkspaceError:
        return {}


def remember_score_folders(
    plans: Sequence[RunPlan], options: WorkspaceOptions, workspace: Workspace
) -> None:
    """Remember the folders of --score that contain scores of the runs.

    A place that cannot be written is ignored.
    """
    from fcreview.store.importing.score_folders import ScoreFolders

    score_folders = ScoreFolders(workspace)
    named = resolve_score_option(options)
    for plan in plans:
        if plan.results_folder is None:
            continue
        if forgets_scores(options):
            score_folders.forget_folders(plan.results_folder)
        elif plan.named_score_folder in named:
            score_folders.add_folders(plan.results_folder, [plan.named_score_folder])
    with suppress(OSError):
        score_folders.save()


def list_data_folders(options: WorkspaceOptions, config: Config) -> list[Path]:
    """List the dataset folders of --data, FCREVIEW_DATA and the configuration, without
    duplicates.
    """
    from fcreview.importers.common.discovery import list_environment_folders

    permanent = [each.absolute() for each in [*list_environment_folders(), *config.dataset_folders]]
    return list(dict.fromkeys([*resolve_data_option(options), *permanent]))


def find_runs_and_datasets(
    search_runs: RunSearch, data_option: Folders, remembered: DatasetFolders
) -> DiscoveredRuns:
    """Find the runs, and choose the matching dataset for each run.

    `data_option` are the folders of --data. `remembered` are the dataset folders of earlier
    commands.
    """
    from fcreview.store.importing.source_files import select_folders_with_dataset

    search_once, usual_folders = (
        cache(search_runs),
        _select_existing_folders(remembered.most_common_folders),
    )

    @cache
    def search_plans(folders: Folders) -> dict[RunId, RunPlan]:
        plans: dict[RunId, RunPlan] = {}
        for plan in search_once(folders).plans:
            plans.setdefault(_make_run_id(plan.run), plan)
        return plans

    def assign_dataset(plan: RunPlan) -> RunPlan:
        if select_folders_with_dataset(data_option, plan):
            return plan
        before = remembered.get_dataset_folders(plan.run)
        assigned = search_plans(_select_existing_folders(before) or data_option).get(
            _make_run_id(plan.run), plan
        )
        if data_option and before:
            problem = (
                f"--data has no dataset for this run, so fcreview uses {before[0]} from an earlier"
                " command"
            )
            assigned.issues.append(
                ImportIssue(plan.run.path, None, what=problem, severity="notice")
            )
        if assigned.data or before or not assigned.run.needs_dataset:
            return assigned
        usual = search_plans(usual_folders).get(_make_run_id(plan.run), plan)
        return usual if usual.data else assigned  # a new run gets the dataset of most other runs

    found = search_once(data_option or usual_folders)
    return replace(found, plans=[assign_dataset(plan) for plan in found.plans])


def _make_run_id(run: Run) -> RunId:
    return run.benchmark, run.generation, run.language, run.model, run.path


def _select_existing_folders(folders: Iterable[Path]) -> Folders:
    return tuple(folder for folder in folders if folder.is_dir())


def import_discovered_runs(
    options: WorkspaceOptions, discovered: DiscoveredRuns, config: Config
) -> tuple[Workspace, ImportSummary]:
    """Import new and changed runs.

    Raises CommandError if there is neither a run nor a workspace.
    """
    from fcreview.importers.registry import read_items
    from fcreview.store.importing.run_importer import import_runs
    from fcreview.store.importing.source_files import DatasetOptions
    from fcreview.store.rows import ImportSummary
    from fcreview.store.workspace import WorkspaceError

    if not discovered.plans:
        summary = ImportSummary(issues=[asdict(issue) for issue in discovered.issues])
        try:
            return locate_workspace(options, create=False), summary
        except WorkspaceError:
            raise CommandError(explain_no_runs(options, summary)) from None
    workspace = locate_workspace(options)
    set_options_and_errata(discovered.plans, options, config, workspace)
    remember_languages(discovered.plans, options, workspace)
    remember_score_folders(discovered.plans, options, workspace)
    datasets = DatasetOptions(resolve_data_option(options), options.forget_data)
    with Progress() as progress:
        progress.show_first_line()
        summary = import_runs(
            workspace,
            discovered.plans,
            read_items,
            issues=discovered.issues,
            on_progress=progress,
            dataset_options=datasets,
        )
    _print_reimport_reason(summary)
    return workspace, summary


def _print_reimport_reason(summary: ImportSummary) -> None:
    """Say why runs were imported again although their files did not change."""
    if summary.rebuild_reason:
        count = format_count(sum(row["items"] > 0 for row in summary.runs), "run")
        print_message(
            f"fcreview: {summary.rebuild_reason}. The new store has {count}; your reviews are"
            " unchanged"
        )
    elif summary.n_upgraded:
        count = format_count(summary.n_upgraded, "run")
        pronoun = "it" if summary.n_upgraded == 1 else "them"
        print_message(
            f"fcreview: another version of fcreview had imported {count}. This version has"
            f" imported {pronoun} again; your reviews are unchanged"
        )


_SCORES_ADVICE = "Pass --score DIR, or forget the folder with --score none"
_DATASET_ADVICE = "Pass --data DIR, or forget the folder with fcreview import --forget-data"
_MISSING_FOLDER_EFFECTS = {
    "kept": "fcreview uses the last import",
    "outdated": "fcreview uses the last import and did not import results that changed since then",
}


def print_missing_datasets(summary: ImportSummary) -> None:
    """Print a line for each missing folder of datasets or scores with the affected runs, the
    effect and the remedy.
    """
    _print_missing_folders(
        summary, "missing_dataset", "the dataset is", _DATASET_ADVICE, "the dataset"
    )
    _print_missing_folders(
        summary, "missing_scores", "the scores are", _SCORES_ADVICE, "the scores"
    )


def _print_missing_folders(
    summary: ImportSummary, field: str, subject: str, advice: str, noun: str
) -> None:
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in summary.runs:
        if row[field] is not None:
            effect = _MISSING_FOLDER_EFFECTS.get(
                row["status"], f"fcreview imported the results without {noun}"
            )
            alike.setdefault((row[field], effect), []).append(row)
    for (folder, effect), rows in alike.items():
        names = ", ".join(row["model"] for row in rows[:MAX_MESSAGES])
        if len(rows) > 1:
            names = (
                f"{format_count(len(rows), 'run')}"
                f" ({names}{' ...' if len(rows) > MAX_MESSAGES else ''})"
            )
        print_message(f"fcreview: {names}: {subject} no longer in {folder}. {effect}. {advice}")


def _print_failed_imports(summary: ImportSummary) -> None:
    reasons = []
    for row in summary.runs:
        if row["status"] == "failed":
            issues = (
                i["what"]
                for i in summary.issues
                if i["file"] == row["path"] and i["severity"] == "error"
            )
            reasons.append(next(issues, f"the import of {row['run_name']} failed"))
    more = "could not be imported. Run fcreview import for details"
    print_limited_messages(
        reasons, MAX_MESSAGES, lambda rest: f"{format_count(rest, 'more run')} {more}"
    )


def _print_unapplied_errata(summary: ImportSummary, errata: Path) -> None:
    problems = sorted(
        {(i["line"], i["item"], i["what"]) for i in summary.issues if i["file"] == str(errata)}
    )
    texts = [
        f"line {line} of the errata, item {sanitize(item)}: {what}" for line, item, what in problems
    ]
    more = "cannot be applied. Run fcreview import to list them"
    print_limited_messages(
        texts,
        MAX_MESSAGES,
        lambda rest: f"{format_count(rest, 'more erratum', 'more errata')} {more}",
    )


def explain_no_runs(options: WorkspaceOptions, summary: ImportSummary) -> str:
    """Return the reason as one line or, for files of unknown formats, as a few lines."""
    from fcreview.importers.registry import NO_RESULTS

    where = ", ".join(str(path) for path in options.paths)
    if summary.runs:
        return f"no run could be imported from {where}. Run fcreview import for details"
    errors = [issue for issue in summary.issues if issue["severity"] != "notice"]
    if errors and errors[0]["what"].startswith(NO_RESULTS):
        return "\n  ".join([f"no runs found in {where}", *errors[0]["what"].split(". ")])
    file = f"{errors[0]['file']}: " if errors and errors[0]["file"] != where else ""
    reason = f": {file}{errors[0]['what']}" if errors else ""
    return f"no runs found in {where}{reason}. Run fcreview doctor for details"

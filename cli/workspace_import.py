"""Find the runs at the paths on the command line, and import new and changed runs into their
workspace.

fcreview chooses the dataset, the decoder and the errata of each run from options, the configuration
and earlier commands (`cli/run_options.py`). It copies the file of `--errata` to
`.fcreview/errata.jsonl`, so that the workspace does not depend on the original.

If no file changed since the last command, `ImportCache` makes the search and the import
unnecessary. For each set of options (paths, dataset folders, format, decoders),
`.fcreview/seen.json` has an entry `{"state": digest, "dataset_files": dataset files outside the
paths, "runs": run numbers in the store}`. The digest covers names, sizes and times of the result
files, the datasets, the store, and the code of importers and store. Runs without a dataset get no
entry, so that every command searches for their dataset. If the file is lost or damaged, fcreview
searches again.
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
from fcreview.cli.options import NO_MAPPING, NO_SCORES, WorkspaceOptions
from fcreview.cli.output import Progress, check_choice, print_limited_messages, print_message
from fcreview.cli.run_options import (
    SavedLanguages,
    SavedMappings,
    remember_languages,
    remember_mapping,
    set_options_and_errata,
)
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
    """Import new and changed runs, and yield a session of their workspace.

    This is how most commands begin. Raises CommandError if every import fails.
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
        shows_judges=options.show_judge or config.review.show_judge,
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
    """Import new and changed runs at the paths, and return their workspace.

    The import is skipped for a lake, and if no file changed since the last command.
    """
    if find_lake_location(options.paths) is not None:
        # Discard the problems that earlier commands in this process found.
        pop_lake_problems()
        return UpdatedWorkspace(locate_workspace(options))

    cache = _create_import_cache(options, config)
    unchanged_workspace = _find_unchanged_workspace(options, cache)
    if unchanged_workspace is not None:
        return unchanged_workspace

    discovered = _discover_runs_with_progress(options, config)
    cache.record_dataset_state(discovered.plans)
    workspace, summary = import_discovered_runs(options, discovered, config)
    _print_failed_imports(summary)
    print_missing_datasets(summary)
    _print_unapplied_errata(summary, workspace.errata)

    scope = _select_scope(options, workspace, summary)
    # The next command may skip the import only if the store has the current results of every run.
    if all(_is_up_to_date(row) for row in summary.runs):
        cache.save_run_numbers(workspace, scope)
    failed_runs = [row["run_name"] for row in summary.runs if row["status"] == "failed"]
    return UpdatedWorkspace(workspace, scope=scope, failed_runs=tuple(failed_runs))


def _discover_runs_with_progress(options: WorkspaceOptions, config: Config) -> DiscoveredRuns:
    with Progress("looking for runs") as search:
        search.show_first_line()
        return discover_runs(options, config)


def _create_import_cache(options: WorkspaceOptions, config: Config) -> ImportCache:
    """Create the cache that tells whether an import can be skipped.

    It depends on the paths and on all settings that change the result of an import.
    """
    settings = (
        options.format,
        options.language,
        options.score,
        options.import_options,
        options.mapping,
        config.decoders,
        config.run_names,
    )
    return ImportCache(
        resolve_run_paths(options),
        data_folders=list_data_folders(options, config),
        settings=" ".join(str(setting) for setting in settings),
    )


def _find_unchanged_workspace(
    options: WorkspaceOptions, cache: ImportCache
) -> UpdatedWorkspace | None:
    """Return the workspace if it exists and no file changed since the last command, else None."""
    from fcreview.store.workspace import WorkspaceError

    # Only an import checks and applies the file of --errata.
    if options.errata is not None:
        return None
    try:
        workspace = locate_workspace(options, create=False)
        run_numbers = cache.find_unchanged_runs(workspace)
    except WorkspaceError:
        return None
    if run_numbers is None:
        return None
    return UpdatedWorkspace(workspace, run_numbers)


def _select_scope(
    options: WorkspaceOptions, workspace: Workspace, summary: ImportSummary
) -> RunNumbers:
    """Return the numbers of the runs at the paths, or () for all runs of the workspace.

    Raises CommandError if there is no run at the paths. The whole of a workspace may have none.
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


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    """Entry of `.fcreview/seen.json`."""

    digest: str
    """Digest of the state of all compared files."""
    dataset_files: list[str]
    """The dataset files outside the paths."""
    run_numbers: list[int]

    @classmethod
    def from_json(cls, value: Any) -> _CacheEntry | None:
        """Return the entry of a JSON value. None if there is no entry, or if it is damaged or from
        another program.
        """
        if not isinstance(value, dict):
            return None
        digest = value.get("state")
        dataset_files: Any = value.get("dataset_files")
        run_numbers: Any = value.get("runs")
        if not isinstance(digest, str):
            return None
        if _is_list_of(str, dataset_files) and _is_list_of(int, run_numbers):
            return cls(digest, dataset_files, run_numbers)
        return None

    def to_json(self) -> dict[str, Any]:
        return {
            "state": self.digest,
            "dataset_files": self.dataset_files,
            "runs": self.run_numbers,
        }


def _is_list_of(element_type: type, value: Any) -> bool:
    """Whether a JSON value is a list of elements of exactly this type. (`True` is no number.)"""
    return isinstance(value, list) and all(type(element) is element_type for element in value)


class ImportCache:
    """Remembers which runs a search found at some paths, so that the next command need not search
    again if no file has changed.

    Files are compared by size, times and inode: all files at the paths, the code of fcreview, the
    dataset files elsewhere, the store and the errata. Create the cache before the search for runs,
    so that the next command notices files that change during the import.
    """

    def __init__(
        self, paths: Sequence[Path], *, data_folders: Sequence[Path], settings: str
    ) -> None:
        """Record the state of the files now, so that later changes to them are found."""
        folders = [os.fspath(path) for path in (*paths, *data_folders)]
        self._key = _hash_texts([f"{len(paths)} {settings}", *folders])

        self._files_at_paths = gather_files(paths).files
        # Another version of fcreview may import the same files differently.
        code_folders: list[Path] = []
        for package in CODE_PACKAGES:
            code_folders += map(Path, package.__path__)
        code_files = gather_files(code_folders).files
        self._digest_at_paths = _hash_file_states([*self._files_at_paths, *code_files])

        self._dataset_files: list[str] | None = None
        """Dataset files that are not at the paths; None if a run has no dataset."""
        self._dataset_digest = ""

    def find_unchanged_runs(self, workspace: Workspace) -> RunNumbers | None:
        """Return the numbers of the runs at the paths if nothing changed since `save_run_numbers`,
        else None.

        The state of the files is compared by a digest of their names, sizes and times.
        """
        entries = workspace.files.read_json_object(_locate_cache_file(workspace))
        entry = _CacheEntry.from_json(entries.get(self._key))
        if entry is None:
            return None

        dataset_digest = _hash_file_states(Path(file) for file in entry.dataset_files)
        present_digest = self._compute_digest(workspace, dataset_digest)
        if present_digest == entry.digest:
            return tuple(entry.run_numbers)
        return None

    def record_dataset_state(self, plans: Sequence[RunPlan]) -> None:
        """Record the state of the files that the runs use elsewhere than at the paths: their
        datasets. Call this before the import reads the datasets.
        """
        if not plans or not all(plan.data for plan in plans):
            # The dataset of a run may appear anywhere, so the next command has to look for it.
            return

        used_files: set[Path] = set()
        for plan in plans:
            used_files.update(plan.files)
        # The state of the files at the paths is already in `_digest_at_paths`.
        files_elsewhere = used_files.difference(self._files_at_paths)
        self._dataset_files = sorted(os.fspath(file) for file in files_elsewhere)
        self._dataset_digest = _hash_file_states(Path(file) for file in self._dataset_files)

    def save_run_numbers(self, workspace: Workspace, run_numbers: Sequence[int]) -> None:
        """Save in `.fcreview/seen.json` which runs are in the store, with a digest of the sizes and
        times of the files. By it, the next command sees whether anything changed.

        Call this when the store has the current results of these runs.
        """
        if self._dataset_files is None:
            return

        cache_file = _locate_cache_file(workspace)
        entries = workspace.files.read_json_object(cache_file)
        # The entry becomes the newest one.
        entries.pop(self._key, None)
        while len(entries) >= MAX_CACHE_ENTRIES:
            oldest_key = next(iter(entries))
            del entries[oldest_key]

        entry = _CacheEntry(
            self._compute_digest(workspace, self._dataset_digest),
            dataset_files=self._dataset_files,
            run_numbers=list(run_numbers),
        )
        entries[self._key] = entry.to_json()
        # Without the cache, the next command only takes longer.
        with suppress(OSError):
            workspace.files.write_json(cache_file, entries)

    def _compute_digest(self, workspace: Workspace, dataset_digest: str) -> str:
        workspace_digest = _hash_file_states([workspace.store, workspace.errata])
        return _hash_texts([self._digest_at_paths, dataset_digest, workspace_digest])


def _hash_file_states(files: Iterable[Path]) -> str:
    return _hash_texts(_fingerprint_file(file) for file in files)


def _fingerprint_file(file: Path) -> str:
    """Return the name, size, times and inode of a file as text.

    A new ctime shows that the permissions changed.
    """
    try:
        status = file.stat()
    except OSError:
        return f"{file} -"
    return f"{file} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _hash_texts(texts: Iterable[str]) -> str:
    """Return a digest of texts, which contain no NUL character. A path may be no UTF-8."""
    content = "\0".join(texts).encode("utf-8", "surrogateescape")
    return blake2b(content, digest_size=16).hexdigest()


def _locate_cache_file(workspace: Workspace) -> Path:
    return workspace.root / "seen.json"


def discover_runs(options: WorkspaceOptions, config: Config) -> DiscoveredRuns:
    """Find the runs at the paths, each with its dataset.

    The dataset is searched in the folders of --data, then in those of earlier commands, then in the
    folders of the environment and the configuration. Raises CommandError for a missing path.
    """
    from fcreview.importers.common.discovery import list_environment_folders

    search_runs = _prepare_search(options, config)
    data_option = resolve_data_option(options)
    remembered_datasets = None
    if not options.forget_data:
        # This is None, too, if there is no workspace yet.
        remembered_datasets = load_remembered_datasets(options)

    if remembered_datasets is None:
        discovered = search_runs(data_option)
    else:
        discovered = find_runs_and_datasets(search_runs, data_option, remembered_datasets)

    # Each run gets to know where its dataset was found.
    sources = DatasetSources(
        data_option,
        remembered=remembered_datasets,
        environment=list_environment_folders(),
        configured=config.dataset_folders,
    )
    set_dataset_facts(discovered.plans, sources)
    return discovered


def _prepare_search(options: WorkspaceOptions, config: Config) -> RunSearch:
    """Return a function that finds the runs at the paths of a command. It gets the folders in which
    it first searches for datasets. Those of the environment and the configuration follow.

    Raises CommandError for a missing path, and UsageError for an unknown format.
    """
    from fcreview.importers.registry import discover, list_importer_names

    if options.format is not None:
        check_choice(list_importer_names(), options.format, "format")
    paths = resolve_run_paths(options)
    search_options = SearchOptions(
        resolve_score_option(options),
        options.language or "",
        remembered_scores=load_remembered_scores(options),
        remembered_languages=load_remembered_languages(options),
        mapping_file=resolve_mapping_option(options),
        remembered_mappings=load_remembered_mappings(options),
    )
    permanent_folders = list_data_folders(replace(options, data=None), config)

    def search_runs(first_folders: Folders) -> DiscoveredRuns:
        data_folders = [*first_folders, *permanent_folders]
        return discover(paths, data=data_folders, format=options.format, search=search_options)

    return search_runs


def load_remembered_languages(options: WorkspaceOptions) -> dict[Path, str]:
    """Load the language of earlier commands for each folder of results."""
    from fcreview.store.workspace import WorkspaceError

    try:
        return SavedLanguages(locate_workspace(options, create=False)).get_languages()
    except WorkspaceError:
        return {}


def resolve_mapping_option(options: WorkspaceOptions) -> Path | None:
    """Return the path of the mapping file of --map.

    Raises CommandError if it does not exist, and InvalidMapping if it has mistakes.
    """
    if options.mapping is None or options.mapping == NO_MAPPING:
        return None
    return resolve_mapping_file(options.mapping)


def resolve_mapping_file(name: str) -> Path:
    """Return the path of a mapping file that the user names, or that is a part of fcreview.

    Raises CommandError if it does not exist, and InvalidMapping if it has mistakes.
    """
    from fcreview.importers.mapping.check import find_sources_without_files
    from fcreview.importers.mapping.mapping_choice import list_shipped_mappings
    from fcreview.importers.mapping.mapping_file import InvalidMapping, load_mapping

    path = Path(os.path.abspath(name))  # noqa: PTH100 - keep symbolic links
    if not path.exists():
        shipped = list_shipped_mappings()
        if name not in shipped:
            raise CommandError(
                f"the file of --map {name} does not exist. Pass a mapping file, or"
                f" {' or '.join(shipped)}"
            )
        return shipped[name]
    problems = find_sources_without_files(load_mapping(path), path.parent)
    if problems:
        raise InvalidMapping(path, problems)
    return path


def load_remembered_mappings(options: WorkspaceOptions) -> tuple[Path, ...]:
    """Load the mapping files that earlier commands named. Empty if this command names one."""
    from fcreview.store.workspace import WorkspaceError

    if options.mapping is not None:
        return ()
    try:
        return SavedMappings(locate_workspace(options, create=False)).get_files()
    except WorkspaceError:
        return ()


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
    folders = []
    for folder in options.data or ():
        if not os.path.exists(folder):  # noqa: PTH110 - Path.exists raises OSError for a name that is too long
            raise CommandError(
                f"the folder of --data {folder} does not exist. Pass the folder of a dataset"
            )
        folders.append(Path(os.path.abspath(folder)))  # noqa: PTH100 - keep symbolic links
    return tuple(dict.fromkeys(folders))


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
        # Symbolic links stay, so that the folder keeps its name.
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
    """Remember which folders of --score contain scores of the runs, so that later commands find
    them.

    If the workspace cannot be written, nothing is remembered.
    """
    from fcreview.store.importing.score_folders import ScoreFolders

    score_folders = ScoreFolders(workspace)
    folders_of_option = resolve_score_option(options)
    for plan in plans:
        if plan.results_folder is None:
            continue
        if forgets_scores(options):
            score_folders.forget_folders(plan.results_folder)
        elif plan.named_score_folder in folders_of_option:
            score_folders.add_folders(plan.results_folder, [plan.named_score_folder])
    with suppress(OSError):
        score_folders.save()


def list_data_folders(options: WorkspaceOptions, config: Config) -> list[Path]:
    """List the dataset folders of --data, FCREVIEW_DATA and the configuration, without
    duplicates.
    """
    from fcreview.importers.common.discovery import list_environment_folders

    folders = list(resolve_data_option(options))
    for folder in (*list_environment_folders(), *config.dataset_folders):
        folders.append(folder.absolute())
    return list(dict.fromkeys(folders))


def find_runs_and_datasets(
    search_runs: RunSearch, data_option: Folders, remembered: DatasetFolders
) -> DiscoveredRuns:
    """Find the runs, and choose the matching dataset for each run.

    `data_option` are the folders of --data. `remembered` are the dataset folders of earlier
    commands.
    """
    chooser = _DatasetChooser(search_runs, data_option, remembered)
    discovered = chooser.search_runs(data_option or chooser.usual_folders)
    plans = [chooser.choose_dataset(plan) for plan in discovered.plans]
    return replace(discovered, plans=plans)


class _DatasetChooser:
    """Chooses the dataset folders of runs."""

    def __init__(
        self, search_runs: RunSearch, data_option: Folders, remembered: DatasetFolders
    ) -> None:
        # A search reads many files, so it is made once for the same folders.
        self.search_runs = cache(search_runs)
        self._index_plans = cache(self._index_plans_once)
        self._data_option = data_option
        self._remembered = remembered
        self.usual_folders = _select_existing_folders(remembered.most_common_folders)
        """Dataset folders of most runs in earlier commands."""

    def choose_dataset(self, plan: RunPlan) -> RunPlan:
        """Return the plan of a run with its dataset.

        The folders of --data come first, then the folders that the run had in an earlier command. A
        new run without a dataset gets that of most other runs.

        Args:
            plan: The run, as the search in the folders of --data has found it.
        """
        from fcreview.store.importing.source_files import select_folders_with_dataset

        if select_folders_with_dataset(self._data_option, plan):
            return plan
        earlier_folders = self._remembered.get_dataset_folders(plan.run)
        if earlier_folders:
            return self._find_dataset_of_earlier_command(plan, earlier_folders)

        # For a new run, the dataset may also be beside the run or in a permanent folder.
        plan_of_new_run = self._find_same_run(plan, self._data_option)
        if plan_of_new_run.run.needs_dataset and not plan_of_new_run.data:
            plan_like_others = self._find_same_run(plan, self.usual_folders)
            if plan_like_others.data:
                return plan_like_others
        return plan_of_new_run

    def _find_dataset_of_earlier_command(self, plan: RunPlan, earlier_folders: Folders) -> RunPlan:
        """Return the plan of a run with the dataset in its folders of an earlier command.

        If none of them exists, those of --data are searched. The user who passed --data must know
        that it has no effect on this run.
        """
        existing_folders = _select_existing_folders(earlier_folders)
        plan_as_before = self._find_same_run(plan, existing_folders or self._data_option)
        if self._data_option:
            problem = (
                f"--data has no dataset for this run, so fcreview uses {earlier_folders[0]} from an"
                " earlier command"
            )
            plan_as_before.issues.append(
                ImportIssue(plan.run.path, what=problem, severity="notice")
            )
        return plan_as_before

    def _find_same_run(self, plan: RunPlan, folders: Folders) -> RunPlan:
        """Search these folders for the dataset of a run, and return the resulting plan of the run.
        If the search does not find the run, return `plan`.
        """
        return self._index_plans(folders).get(_make_run_id(plan.run), plan)

    def _index_plans_once(self, folders: Folders) -> dict[RunId, RunPlan]:
        plans: dict[RunId, RunPlan] = {}
        for plan in self.search_runs(folders).plans:
            plans.setdefault(_make_run_id(plan.run), plan)
        return plans


def _make_run_id(run: Run) -> RunId:
    return run.benchmark, run.generation, run.language, run.model, run.path


def _select_existing_folders(folders: Iterable[Path]) -> Folders:
    return tuple(folder for folder in folders if folder.is_dir())


def import_discovered_runs(
    options: WorkspaceOptions, discovered: DiscoveredRuns, config: Config
) -> tuple[Workspace, ImportSummary]:
    """Import new and changed runs. Return the workspace and the summary of the import.

    Raises CommandError if there is neither a run nor a workspace.
    """
    from fcreview.importers.registry import read_items
    from fcreview.store.importing.run_importer import import_runs
    from fcreview.store.importing.source_files import DatasetOptions
    from fcreview.store.rows import ImportSummary

    if not discovered.plans:
        summary_without_runs = ImportSummary(issues=[asdict(issue) for issue in discovered.issues])
        workspace = _locate_workspace_without_runs(options, summary_without_runs)
        remember_mapping(options, resolve_mapping_option(options), workspace)
        return workspace, summary_without_runs

    # Save what the user chose, for later commands.
    workspace = locate_workspace(options)
    set_options_and_errata(discovered.plans, options, config, workspace)
    remember_languages(discovered.plans, options, workspace)
    remember_mapping(options, resolve_mapping_option(options), workspace)
    remember_score_folders(discovered.plans, options, workspace)

    with Progress() as progress:
        progress.show_first_line()
        summary = import_runs(
            workspace,
            discovered.plans,
            read_items,
            issues=discovered.issues,
            on_progress=progress,
            dataset_options=DatasetOptions(resolve_data_option(options), options.forget_data),
        )
    _print_reimport_reason(summary)
    return workspace, summary


def _locate_workspace_without_runs(options: WorkspaceOptions, summary: ImportSummary) -> Workspace:
    """Locate the workspace of earlier imports. Raises CommandError if there is none."""
    from fcreview.store.workspace import WorkspaceError

    try:
        return locate_workspace(options, create=False)
    except WorkspaceError:
        raise CommandError(explain_no_runs(options, summary)) from None


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
            f"fcreview: another version of fcreview had imported {count}. This version has imported"
            f" {pronoun} again; your reviews are unchanged"
        )


_MISSING_FOLDER_EFFECTS = {
    "kept": "fcreview uses the last import",
    "outdated": "fcreview uses the last import and did not import results that changed since then",
}


@dataclass(frozen=True, slots=True)
class _FolderKind:
    """A kind of folder that a run needs, such as datasets, with the words for a message about a
    missing one.
    """

    field: str
    """Field of a run of the import summary, with the folder that no longer exists, or None."""
    subject: str
    noun: str
    advice: str


_DATASET_FOLDER = _FolderKind(
    "missing_dataset",
    subject="the dataset is",
    noun="the dataset",
    advice="Pass --data DIR, or forget the folder with fcreview import --forget-data",
)
_SCORE_FOLDER = _FolderKind(
    "missing_scores",
    subject="the scores are",
    noun="the scores",
    advice="Pass --score DIR, or forget the folder with --score none",
)


def print_missing_datasets(summary: ImportSummary) -> None:
    """Print a line for each missing folder of datasets or scores with the affected runs, the
    effect and the remedy.
    """
    _print_missing_folders(summary, _DATASET_FOLDER)
    _print_missing_folders(summary, _SCORE_FOLDER)


def _print_missing_folders(summary: ImportSummary, kind: _FolderKind) -> None:
    """Print which folders of a kind, such as datasets, no longer exist, and which runs that
    affects.
    """
    # Runs with the same folder and the same effect share a line.
    names_by_problem: dict[tuple[str, str], list[str]] = {}
    for row in summary.runs:
        folder = row[kind.field]
        if folder is not None:
            effect = _MISSING_FOLDER_EFFECTS.get(
                row["status"], f"fcreview imported the results without {kind.noun}"
            )
            names_by_problem.setdefault((folder, effect), []).append(row["model"])

    for (folder, effect), names in names_by_problem.items():
        runs = _format_affected_runs(names)
        print_message(
            f"fcreview: {runs}: {kind.subject} no longer in {folder}. {effect}. {kind.advice}"
        )


def _format_affected_runs(names: Sequence[str]) -> str:
    """Format the names of runs as `gpt-4o`, `2 runs (gpt-4o, maple-8b)` or `9 runs (pine ...)`."""
    listed = ", ".join(names[:MAX_MESSAGES])
    if len(names) == 1:
        return listed
    if len(names) > MAX_MESSAGES:
        listed += " ..."
    return f"{format_count(len(names), 'run')} ({listed})"


def _print_failed_imports(summary: ImportSummary) -> None:
    """Print the reasons of the first failed imports."""
    reasons = []
    for row in summary.runs:
        if row["status"] == "failed":
            reasons.append(_find_failure_reason(row, summary))

    def describe_more(n_more: int) -> str:
        runs = format_count(n_more, "more run")
        return f"{runs} could not be imported. Run fcreview import for details"

    print_limited_messages(reasons, MAX_MESSAGES, describe_more)


def _find_failure_reason(row: Mapping[str, Any], summary: ImportSummary) -> str:
    """Return the first error of a run whose import failed."""
    for issue in summary.issues:
        if issue["file"] == row["path"] and issue["severity"] == "error":
            return str(issue["what"])
    return f"the import of {row['run_name']} failed"


def _print_unapplied_errata(summary: ImportSummary, errata: Path) -> None:
    """Print the first errata that no longer fit an item."""
    # An erratum that fits several runs has the same issue in each of them.
    problems = set()
    for issue in summary.issues:
        if issue["file"] == str(errata):
            problems.add((issue["line"], issue["item"], issue["what"]))

    messages = []
    for line, item, problem in sorted(problems):
        messages.append(f"line {line} of the errata, item {sanitize(item)}: {problem}")

    def describe_more(n_more: int) -> str:
        errata_text = format_count(n_more, "more erratum", "more errata")
        return f"{errata_text} cannot be applied. Run fcreview import to list them"

    print_limited_messages(messages, MAX_MESSAGES, describe_more)


def explain_no_runs(options: WorkspaceOptions, summary: ImportSummary) -> str:
    """Return the reason why there is no run to open: one line, or a few lines for files of unknown
    formats.
    """
    from fcreview.importers.registry import NO_RESULTS

    paths = ", ".join(str(path) for path in options.paths)
    if summary.runs:
        return f"no run could be imported from {paths}. Run fcreview import for details"

    errors = [issue for issue in summary.issues if issue["severity"] != "notice"]
    if not errors:
        return f"no runs found in {paths}. Run fcreview doctor for details"

    file = errors[0]["file"]
    reason = errors[0]["what"]
    if reason.startswith(NO_RESULTS):
        # The sentences say which files were found and what to do.
        return "\n  ".join([f"no runs found in {paths}", *reason.split(". ")])
    if file != paths:
        reason = f"{file}: {reason}"
    return f"no runs found in {paths}: {reason}. Run fcreview doctor for details"

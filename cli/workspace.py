"""Open the workspace for the paths on the command line.

`open_workspace` finds the runs and their workspace, imports new and changed runs and yields a `WorkspaceSession`.

If no file changed since the last command, `ImportCache` makes the search and the import unnecessary. For each set of
options (paths, dataset folders, format, decoders), `.fcreview/seen.json` has an entry `{"state": digest, "others":
files outside the paths, "runs": run numbers in the store}`. The digest covers names, sizes and times of the result
files, the datasets, the store, and the code of importers and store. Runs without a dataset get no entry, so that every
command searches for their dataset. If the file is lost or damaged, fcreview searches again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fcreview.importers
import fcreview.store
from fcreview.cli.config import Config, load_config
from fcreview.cli.output import Progress, check_choice, emit, print_limited_messages, print_message
from fcreview.errors import CommandError, UsageError
from fcreview.importers.common.discovery import LAKE_FILE, gather_files
from fcreview.model.effective_verdict import POLICIES, UNANIMOUS, Policy
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.run_plan import DiscoveredRuns, RunPlan
    from fcreview.store.importing.source_files import DatasetFolders
    from fcreview.store.queue_file import QueueFile
    from fcreview.store.reviews.journal import Journal
    from fcreview.store.reviews.reviewer import Reviewer
    from fcreview.store.rows import ImportSummary, RunRow, View
    from fcreview.store.store import Store
    from fcreview.store.workspace import Workspace

RunNumbers = tuple[int, ...]
MAX_CACHE_ENTRIES = 32
CODE_PACKAGES = (fcreview.importers, fcreview.store)  # packages whose code determines the result of an import


class ImportCache:
    """Cache of the run numbers at the paths, valid until a file changes. Create the cache before the search for runs,
    so that the next command notices files that change during the import."""

    def __init__(self, paths: Sequence[Path], data: Sequence[Path], settings: str) -> None:
        self._key = _digest_texts(f"{len(paths)} {settings}", *map(os.fspath, [*paths, *data]))
        self._files = gather_files(paths).files
        code = gather_files(Path(folder) for package in CODE_PACKAGES for folder in package.__path__)
        self._inside = _digest_files([*self._files, *code.files])
        self._others: list[str] | None = None
        self._outside = ""

    def find_unchanged_runs(self, workspace: Workspace) -> RunNumbers | None:
        """Return the numbers of the runs at the paths, or None if a file changed since `save_runs`."""
        match workspace.files.read_json_object(_cache_file(workspace)).get(self._key):
            case {"state": state, "others": [*others], "runs": [*runs]}:
                if any(type(path) is not str for path in others) or any(type(run) is not int for run in runs):
                    return None
                unchanged = state == self._compute_digest(workspace, _digest_files(map(Path, others)))
                return tuple(runs) if unchanged else None
        return None

    def record_datasets(self, plans: Sequence[RunPlan]) -> None:
        """Record the state of the datasets. Call this before the import reads the datasets."""
        if plans and all(plan.data for plan in plans):
            inside = set(self._files)
            self._others = sorted({os.fspath(path) for plan in plans for path in plan.files if path not in inside})
            self._outside = _digest_files(map(Path, self._others))

    def save_runs(self, workspace: Workspace, run_numbers: Sequence[int]) -> None:
        """Save the numbers of the runs in `.fcreview/seen.json`. Call this when the store has their current results."""
        if self._others is None:
            return
        state = self._compute_digest(workspace, self._outside)
        entry = {"state": state, "others": self._others, "runs": list(run_numbers)}
        saved = workspace.files.read_json_object(_cache_file(workspace))
        others = [pair for pair in saved.items() if pair[0] != self._key]
        entries = dict(others[1 - MAX_CACHE_ENTRIES :]) | {self._key: entry}
        with suppress(OSError):
            workspace.files.write_json(_cache_file(workspace), entries)

    def _compute_digest(self, workspace: Workspace, others_digest: str) -> str:
        return _digest_texts(self._inside, others_digest, _digest_files([workspace.store, workspace.errata]))


def _digest_files(files: Iterable[Path]) -> str:
    return _digest_texts(*(_fingerprint_file(file) for file in files))


def _fingerprint_file(file: Path) -> str:
    """Return the name, size, times and inode of a file as text. A new ctime shows that the permissions changed."""
    try:
        status = file.stat()
    except OSError:
        return f"{file} -"
    return f"{file} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _digest_texts(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _cache_file(workspace: Workspace) -> Path:
    return workspace.root / "seen.json"


NOT_VERIFIED_ADVICE = "Another user wrote this store. Open all of its runs to import them again"
MAX_MESSAGES = 3  # maximum number of runs, journal problems or errata that a warning lists
_DATASET_ADVICE = "Pass --data DIR, or forget the folder with fcreview import --forget-data"
_MISSING_DATASET_EFFECTS = {
    "kept": "fcreview uses the last import",
    "outdated": "fcreview uses the last import and did not import results that changed since then",
}


def print_missing_datasets(summary: ImportSummary) -> None:
    """Print a line for each missing dataset folder with the affected runs, the effect and the remedy."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in summary.runs:
        if row["missing_dataset"] is not None:
            effect = _MISSING_DATASET_EFFECTS.get(row["status"], "fcreview imported the results without the dataset")
            alike.setdefault((row["missing_dataset"], effect), []).append(row)
    for (folder, effect), rows in alike.items():
        names = ", ".join(row["model"] for row in rows[:MAX_MESSAGES])
        if len(rows) > 1:
            names = f"{format_count(len(rows), 'run')} ({names}{' ...' if len(rows) > MAX_MESSAGES else ''})"
        print_message(f"fcreview: {names}: the dataset is no longer in {folder}. {effect}. {_DATASET_ADVICE}")


def _print_failed_imports(summary: ImportSummary) -> None:
    reasons = []
    for row in summary.runs:
        if row["status"] == "failed":
            issues = (i["what"] for i in summary.issues if i["file"] == row["path"] and i["severity"] == "error")
            reasons.append(next(issues, f"the import of {row['model']} failed"))
    more = "could not be imported. Run fcreview import for details"
    print_limited_messages(reasons, MAX_MESSAGES, lambda rest: f"{format_count(rest, 'more run')} {more}")


def _print_unapplied_errata(summary: ImportSummary, errata: Path) -> None:
    problems = sorted({(i["line"], i["item"], i["what"]) for i in summary.issues if i["file"] == str(errata)})
    texts = [f"line {line} of the errata, item {sanitize(item)}: {what}" for line, item, what in problems]
    more = "cannot be applied. Run fcreview import to list them"
    print_limited_messages(
        texts, MAX_MESSAGES, lambda rest: f"{format_count(rest, 'more erratum', 'more errata')} {more}"
    )


MAX_LISTED_RUNS = 8  # maximum number of runs that an error message lists


@dataclass(slots=True)
class WorkspaceSession:
    """Workspace of a command, with its up-to-date store, the annotator, and the runs that the command line selects."""

    workspace: Workspace
    annotator: str
    scope: RunNumbers = ()  # numbers of the selected runs; empty for all runs of the workspace
    policy: Policy = UNANIMOUS  # policy that decides items on which annotators disagree
    options: WorkspaceOptions | None = None
    _store: Store | None = None
    _runs: list[RunRow] = field(default_factory=list)

    @property
    def store(self) -> Store:
        if self._store is None:
            from fcreview.store.store import Store

            self._store = Store.open(self.workspace, self.annotator, policy=self.policy)
            print_journal_warnings(self._store.reviews.warnings)
            if not self._store.is_verified:
                advice = NOT_VERIFIED_ADVICE if self.workspace.lake is None else "Another user wrote this file"
                print_message(f"fcreview: {self.workspace.lake or self.workspace.store} is not verified. {advice}")
        return self._store

    @property
    def runs(self) -> list[RunRow]:
        """Selected runs, loaded on first use."""
        if not self._runs:
            self._runs = [row for row in self.store.fetch_runs() if not self.scope or row.run in self.scope]
        return self._runs

    @property
    def n_runs(self) -> int:
        """Number of selected runs. Unlike `runs`, this does not count their items, which takes long."""
        return len(self.scope) or len(self.store.runs)

    def print_policy(self, *, as_json: bool = False) -> None:
        """Print the policy for disagreements unless it is the default: to stderr with `as_json`, else to stdout."""
        if self.policy != UNANIMOUS:
            show = print_message if as_json else emit
            show(f"policy {self.policy}: if annotators disagree, the majority verdict counts")

    def explain_empty_view(self, view: View) -> str:
        """Explain why a view has no items. For example, its filter selects reviewed items, but there are no reviews."""
        from fcreview.store.filters.parser import parse_filter
        from fcreview.store.reviews.journal_reader import list_journals, list_team_journals

        if not view.where.strip():
            return "there are no items"
        message = f"no item matches {sanitize(view.where)}"
        journals = [*list_journals(self.workspace), *list_team_journals(self.workspace)]
        names = sorted({journal.stem for journal in journals})
        if not parse_filter(view.where).depends_on_reviews or self.annotator in names:
            return message
        others = f" Choose --annotator {sanitize(', '.join(names[:8]))}" if names else ""
        return f"{message}. {sanitize(self.annotator)} has no reviews in this workspace.{others}"

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
        if self.workspace.lake is not None:
            print_lake_problems()

    def build_view(
        self, where: str = "", *, queue: str = "dataset", seed: int = 0, run: str | None = None, blind: bool = False
    ) -> View:
        """Build the view of the items that a filter selects, in queue order.

        `@name` in the filter stands for a saved filter. `run` is the number or model of the only run to include.
        `blind` excludes queues that reveal verdicts. Raises FilterError for an invalid filter, and UsageError for a
        queue that is unknown or excluded.
        """
        from fcreview.store.filters.saved import expand_saved_filters, load_saved_filters
        from fcreview.store.rows import BUILTIN_QUEUES, SUSPECTS_QUEUE, VERDICT_QUEUES, View
        from fcreview.store.workspace import AnnotatorState

        if queue not in BUILTIN_QUEUES:
            self.load_queue_file(queue)
        if blind and queue in VERDICT_QUEUES:
            open_ = [name for name in BUILTIN_QUEUES if name not in VERDICT_QUEUES]
            raise UsageError(
                f"--queue {queue} reveals verdicts. With --blind, choose {', '.join(open_)} or a queue file"
            )
        where = expand_saved_filters(
            where, load_saved_filters(AnnotatorState(self.workspace.root, self.annotator)), blind=blind
        )
        view = View(where, queue, seed, (self.find_run_number(run),) if run else self.scope)
        if queue == SUSPECTS_QUEUE:
            self.store.load_suspects(view)
        return view

    def build_review_view(
        self, where: str = "", *, queue: str | None = None, seed: int = 0, run: str | None = None, blind: bool = False
    ) -> View:
        """Build a view for review. If the queue is a file, the view has only the items that it assigns to the
        annotator. For the parameters, see `build_view`."""
        default = "dataset" if blind else "failures"
        return self.limit_to_annotator(self.build_view(where, queue=queue or default, seed=seed, run=run, blind=blind))

    def load_queue_file(self, name: str) -> QueueFile:
        """Load a queue file into the store, so that a `View` can refer to it. Raises UsageError for an unknown name."""
        from fcreview.store.queue_file import list_queue_names
        from fcreview.store.rows import BUILTIN_QUEUES

        names = list_queue_names(self.workspace)
        if name not in names:
            raise UsageError(f"queue not found: {name!a}. Available queues: {', '.join((*BUILTIN_QUEUES, *names))}")
        return self.store.load_queue(name)

    def limit_to_annotator(self, view: View) -> View:
        """Limit a view of a queue file to the annotator's items. Raises CommandError if the annotator has no items."""
        if view.queue_file is None:
            return view
        queue = self.load_queue_file(view.queue_file)
        if queue.find_share(self.annotator) is None:
            names = ", ".join(share.annotator for share in queue.shares)
            raise CommandError(
                f"queue {view.queue_file} assigns no items to {self.annotator}. Choose --annotator {names}"
            )
        return replace(view, share=True)

    def find_run_number(self, number_or_model: str) -> int:
        """Return the number of the run with this number or model. Raises CommandError unless one run matches."""
        matches = [row for row in self.runs if number_or_model in (str(row.run), row.info.model)]
        if len(matches) == 1:
            return matches[0].run
        problem = f"{number_or_model!r} matches several runs" if matches else f"there is no run {number_or_model!r}"
        raise CommandError(f"{problem}. Choose {format_run_choices(matches or self.runs)}")

    def select_runs(self, number_or_model: str | None) -> list[RunRow]:
        """Return the run with this number or model, or all runs for None."""
        number = None if number_or_model is None else self.find_run_number(number_or_model)
        return [row for row in self.runs if number in (None, row.run)]

    def create_reviewer(self) -> Reviewer:
        from fcreview.store.reviews.reviewer import Reviewer

        return Reviewer(self.store, self.open_journal())

    def open_journal(self) -> Journal:
        from fcreview.store.reviews.journal import Journal

        return Journal(self.workspace, self.annotator)


def format_run_choices(rows: Sequence[RunRow]) -> str:
    """Format values for --run as `1 gpt-4o, 2 maple-8b`. The text is not sanitised."""
    names = ", ".join(f"{row.run} {row.info.model}" for row in rows[:MAX_LISTED_RUNS])
    return f"{names} and {len(rows) - MAX_LISTED_RUNS} more" if len(rows) > MAX_LISTED_RUNS else names


def print_journal_warnings(warnings: Sequence[str]) -> None:
    """Print warnings about unreadable journal lines, whose reviews do not count."""
    print_limited_messages(warnings, MAX_MESSAGES, "{} more journal problems. Run fcreview doctor to list them".format)


@dataclass(frozen=True, slots=True)
class WorkspaceOptions:
    """Arguments and options that select a workspace and determine how runs are imported."""

    paths: Sequence[Path]
    data: Sequence[Path] | None = None
    workspace: Path | None = None
    format: str | None = None
    annotator: str | None = None
    policy: str = UNANIMOUS
    forget_data: bool = False  # whether to forget the dataset folders of earlier commands
    decoder: str | None = None  # name of the decoder for BFCL responses, in the spelling that `check_decoder` returns
    errata: str | None = None  # path of the errata file, `import_options.NO_ERRATA` to remove errata, or None


def resolve_data_option(options: WorkspaceOptions) -> tuple[Path, ...]:
    """Return the folders of --data as absolute paths. Raises CommandError if a folder does not exist."""
    for folder in options.data or ():
        if not os.path.exists(folder):  # noqa: PTH110 - Path.exists raises OSError for a name that is too long
            raise CommandError(f"the folder of --data {folder} does not exist. Pass the folder of a dataset")
    return tuple(dict.fromkeys(Path(os.path.abspath(each)) for each in options.data or ()))  # noqa: PTH100 - keep symbolic links


def list_data_folders(options: WorkspaceOptions, config: Config) -> list[Path]:
    """List the folders of --data, FCREVIEW_DATA and the configuration, without duplicates. FCREVIEW_DATA has the format
    of PATH."""
    environment = [Path(each) for each in os.environ.get("FCREVIEW_DATA", "").split(os.pathsep) if each]
    permanent = [each.absolute() for each in [*environment, *config.dataset_folders]]
    return list(dict.fromkeys([*resolve_data_option(options), *permanent]))


def locate_workspace(options: WorkspaceOptions, *, create: bool = True) -> Workspace:
    """Locate the workspace of the path, or of the common parent of several paths."""
    from fcreview.store.workspace import find_workspace

    lake = find_lake(options.paths)
    if lake is not None:
        given = {"data": options.data, "errata": options.errata, "format": options.format, "decoder": options.decoder}
        for name, value in given.items():
            if value:
                raise UsageError(f"--{name} has no effect on a lake. Pass --{name} to fcreview import --lake")
        return locate_lake_workspace(lake, options.workspace)
    start = options.paths[0]
    if len(options.paths) > 1 and options.workspace is None:
        start = Path(os.path.commonpath([path.resolve() for path in options.paths]))
        if start in (Path(start.anchor), Path.home()):
            raise CommandError(
                "the paths have no common folder. Pass --workspace DIR to choose where reviews are stored"
            )
    return find_workspace(start, options.workspace, create=create)


MAX_LAKE_PROBLEMS = 5  # maximum number of damaged files that a warning lists
_S3 = "s3:/"


def find_lake(paths: Sequence[Path]) -> str | None:
    """Return the absolute path or the `s3://` address of the lake if the only path is a lake, else None."""
    found = [lake for path in paths if (lake := _find_lake_at(path)) is not None]
    if found and len(paths) > 1:
        raise UsageError("fcreview cannot open a lake together with other paths. Pass only the lake")
    return found[0] if found else None


def _find_lake_at(path: Path) -> str | None:
    if str(path).startswith(_S3):
        return resolve_lake_location(str(path))
    folder = path.parent if path.name == ".fcreview" else path
    return os.path.realpath(folder) if (folder / LAKE_FILE).is_file() else None


def resolve_lake_location(location: str) -> str:
    """Return the absolute path or the `s3://` address of a lake. `Path` changes `s3://` to `s3:/`, so that `location`
    may begin with `s3:/`."""
    if location.startswith(_S3):
        return "s3://" + location[len(_S3) :].strip("/")
    return os.path.realpath(os.path.expanduser(location))  # noqa: PTH111


def locate_lake_workspace(lake: str, folder: Path | None) -> Workspace:
    """Return the workspace with the reviews of a lake: `folder`, or by default `.fcreview/` in the lake."""
    from fcreview.store.workspace import find_workspace

    if folder is None and not os.path.isabs(lake):  # noqa: PTH117 - an address
        raise UsageError(f"{lake} needs --workspace DIR. Choose a local folder for the reviews")
    folder = folder or Path(lake)
    return replace(find_workspace(folder, folder), lake=lake)


def pop_lake_problems() -> list[str]:
    """Return messages about the damaged files that this process has found in lakes since the last call."""
    from fcreview.store.lake.reader import found_problems

    problems = list(dict.fromkeys(found_problems))
    found_problems.clear()
    return problems


def print_lake_problems() -> None:
    """Print warnings about damaged files that this command has found in lakes. Runs in these files are omitted."""
    more = "{} more damaged files. Run fcreview doctor to list them"
    print_limited_messages([*map(sanitize, pop_lake_problems())], MAX_LAKE_PROBLEMS, more.format)


def resolve_search_paths(options: WorkspaceOptions) -> list[Path]:
    """Resolve the paths to search, with `.fcreview` replaced by its parent. Raises CommandError for a missing path."""
    lake = find_lake(options.paths)
    if lake is not None:
        raise CommandError(f"{lake} is a lake and has no result files. Pass the folder that you imported")
    for path in options.paths:
        if not path.exists():
            raise CommandError(f"no such file or folder: {path}")
    paths = [path.resolve() for path in options.paths]
    return [path.parent if path.name == ".fcreview" else path for path in paths]


def discover_runs(options: WorkspaceOptions, config: Config) -> DiscoveredRuns:
    """Find the runs at the paths, each with its dataset. Raises CommandError for a missing path."""
    from fcreview.cli.import_options import Folders, assign_datasets
    from fcreview.importers.registry import IMPORTERS, discover

    if options.format is not None:
        check_choice(sorted(IMPORTERS), options.format, "format")
    paths, permanent = resolve_search_paths(options), list_data_folders(replace(options, data=None), config)

    def search_runs(folders: Folders) -> DiscoveredRuns:
        return discover(paths, data=[*folders, *permanent], format=options.format)

    remembered = None if options.forget_data else load_remembered_datasets(options)
    named = resolve_data_option(options)
    return search_runs(named) if remembered is None else assign_datasets(search_runs, named, remembered)


def load_remembered_datasets(options: WorkspaceOptions) -> DatasetFolders | None:
    """Load the dataset folders of earlier commands, or None if there is no workspace."""
    from fcreview.store.importing.source_files import DatasetFolders
    from fcreview.store.workspace import WorkspaceError

    try:
        return DatasetFolders(locate_workspace(options, create=False))
    except WorkspaceError:
        return None


def import_discovered_runs(
    options: WorkspaceOptions, discovered: DiscoveredRuns, config: Config
) -> tuple[Workspace, ImportSummary]:
    """Import new and changed runs. Raises CommandError if there is neither a run nor a workspace."""
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
    set_import_options(discovered.plans, options, config, workspace)
    progress, choice = Progress(), DatasetOptions(resolve_data_option(options), options.forget_data)
    progress.show_at_once()
    try:
        summary = import_runs(
            workspace, discovered.plans, read_items, issues=discovered.issues, on_progress=progress,
            dataset_options=choice,
        )  # fmt: skip
    finally:
        progress.erase()
    if summary.rebuild_reason:
        count = format_count(sum(row["items"] > 0 for row in summary.runs), "run")
        print_message(f"fcreview: {summary.rebuild_reason}. The new store has {count}; your reviews are unchanged")
    elif summary.n_upgraded:
        count, noun = format_count(summary.n_upgraded, "run"), "it" if summary.n_upgraded == 1 else "them"
        reason = f"another version of fcreview had imported {count}"
        print_message(f"fcreview: {reason}. This version has imported {noun} again; your reviews are unchanged")
    return workspace, summary


def set_import_options(
    plans: Sequence[RunPlan], options: WorkspaceOptions, config: Config, workspace: Workspace
) -> None:
    """Set the decoder and the errata of each run, from the options or from earlier commands."""
    from fcreview.cli.import_options import set_decoders, set_errata

    set_decoders(plans, options.decoder, config.decoders, workspace)
    set_errata(plans, options.errata, workspace)


@contextmanager
def open_workspace(options: WorkspaceOptions) -> Iterator[WorkspaceSession]:
    """Import new and changed runs and yield a session of their workspace. Raises CommandError if every import fails."""
    policy = check_choice(POLICIES, options.policy, "policy")
    config = load_config()
    workspace, scope = update_workspace(options, config)
    session = WorkspaceSession(workspace, resolve_annotator(options, config), scope, policy, options)
    try:
        yield session
    finally:
        session.close()


def update_workspace(options: WorkspaceOptions, config: Config) -> tuple[Workspace, RunNumbers]:
    """Import new and changed runs, and return the workspace and the numbers of the selected runs (empty for all). Skip
    the import for a lake, and if no file changed since the last command."""
    from fcreview.store.workspace import WorkspaceError

    if find_lake(options.paths) is not None:
        pop_lake_problems()  # discards the problems that earlier commands in this process found
        return locate_workspace(options), ()
    cache = ImportCache(
        resolve_search_paths(options),
        list_data_folders(options, config),
        f"{options.format} {options.decoder} {config.decoders}",
    )
    with suppress(WorkspaceError):
        workspace = locate_workspace(options, create=False)
        if options.errata is None:  # with --errata, only an import checks and applies the file
            runs = cache.find_unchanged_runs(workspace)
            if runs is not None:
                return workspace, runs
    search = Progress("looking for runs")
    search.show_at_once()
    try:
        discovered = discover_runs(options, config)
    finally:
        search.erase()
    cache.record_datasets(discovered.plans)
    workspace, summary = import_discovered_runs(options, discovered, config)
    usable = [row for row in summary.runs if row["status"] != "failed" or row["items"]]
    _print_failed_imports(summary)
    print_missing_datasets(summary)
    _print_unapplied_errata(summary, workspace.errata)
    if not usable and (summary.runs or not is_workspace_path(workspace, options.paths)):
        raise CommandError(explain_no_runs(options, summary))
    scope = () if is_workspace_path(workspace, options.paths) else tuple(sorted(row["run"] for row in usable))
    if all(row["status"] in ("imported", "unchanged") and not row["missing_dataset"] for row in summary.runs):
        cache.save_runs(workspace, scope)  # the store has the current results of every run
    return workspace, scope


def resolve_annotator(options: WorkspaceOptions, config: Config) -> str:
    """Return the annotator name from --annotator, FCREVIEW_ANNOTATOR, the configuration, git or the login name. Raises
    AnnotatorError if the name cannot be a file name."""
    from fcreview.store.workspace import check_annotator, find_default_annotator

    if options.annotator is not None:
        return check_annotator(options.annotator)
    if config.annotator and not os.environ.get("FCREVIEW_ANNOTATOR"):
        return check_annotator(config.annotator)
    return find_default_annotator()


def is_workspace_path(workspace: Workspace, paths: Sequence[Path]) -> bool:
    """Whether every path is the folder of the workspace, and the workspace has a store."""
    own = {workspace.root.resolve(), workspace.parent_folder.resolve()}
    return workspace.store.exists() and all(path.resolve() in own for path in paths)


def explain_no_runs(options: WorkspaceOptions, summary: ImportSummary) -> str:
    where = ", ".join(str(path) for path in options.paths)
    if summary.runs:
        return f"no run could be imported from {where}. Run fcreview import for details"
    errors = [issue for issue in summary.issues if issue["severity"] != "notice"]
    file = f"{errors[0]['file']}: " if errors and errors[0]["file"] != where else ""
    reason = f": {file}{errors[0]['what']}" if errors else ""
    return f"no runs found in {where}{reason}. Run fcreview doctor for details"

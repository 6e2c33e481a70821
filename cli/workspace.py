"""Locate the workspace of a command, and give the command access to its store, runs, journal and
errata.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.cli.config import locate_config_file
from fcreview.cli.options import NO_ERRATA, WorkspaceOptions
from fcreview.cli.output import emit, print_limited_messages, print_message, print_warning
from fcreview.errors import CommandError, UsageError
from fcreview.importers.common.discovery import LAKE_FILE
from fcreview.model.effective_verdict import UNANIMOUS, Policy
from fcreview.model.run_name import NAME_SEPARATOR
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.cli.config import Config
    from fcreview.equivalence import EquivalenceRule
    from fcreview.errata import Errata
    from fcreview.run_plan import RunPlan
    from fcreview.store.queue_file import QueueFile
    from fcreview.store.reviewer import Reviewer
    from fcreview.store.reviews.journal import Journal
    from fcreview.store.rows import RunRow, View
    from fcreview.store.store import Store
    from fcreview.store.workspace import Workspace


RunNumbers = tuple[int, ...]
NOT_VERIFIED_ADVICE = "Another user wrote this store. Open all of its runs to import them again"
MAX_MESSAGES = 3  # maximum number of runs, journal problems or errata that a warning lists
MAX_LISTED_RUNS = 8  # maximum number of runs that an error message lists
MAX_LISTED_ANNOTATORS = 8  # maximum number of annotators that an error message lists
MAX_SEARCHED_NAMES = 1_000
"""Number of names in a folder among which a mistyped one is searched."""
MAX_LAKE_PROBLEMS = 5  # maximum number of damaged files that a warning lists
_S3 = "s3:/"


def locate_workspace(options: WorkspaceOptions, *, create: bool = True) -> Workspace:
    """Find the workspace of the path, or of the common parent of several paths.

    With `create`, a missing workspace is created.
    """
    from fcreview.store.workspace import find_workspace

    lake = find_lake_location(options.paths)
    if lake is not None:
        _raise_for_import_options(options)
        return locate_lake_workspace(lake, options.workspace)

    start = options.paths[0]
    if len(options.paths) > 1 and options.workspace is None:
        start = _find_common_folder(options.paths)
    return find_workspace(start, options.workspace, create=create)


def _raise_for_import_options(options: WorkspaceOptions) -> None:
    """Raise UsageError for an option of an import, because a lake is already imported."""
    values: dict[str, object] = {
        "data": options.data,
        "errata": options.errata,
        "format": options.format,
        "score": options.score,
        "language": options.language,
        "map": options.mapping,
        **options.import_options,
    }
    for name, value in values.items():
        if value:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{flag} has no effect on a lake. Pass {flag} to fcreview import --lake"
            )


def _find_common_folder(paths: Sequence[Path]) -> Path:
    """Return the common parent of several paths.

    Raises CommandError for `/` and the home folder, where nobody looks for reviews.
    """
    folder = Path(os.path.commonpath([path.resolve() for path in paths]))
    if folder in (Path(folder.anchor), Path.home()):
        raise CommandError(
            "the paths have no common folder. Pass --workspace DIR to choose where reviews are"
            " stored"
        )
    return folder


def resolve_run_paths(options: WorkspaceOptions) -> list[Path]:
    """Return the absolute paths at which runs are searched.

    The path of a workspace (`.fcreview`) stands for its parent folder. Raises CommandError for a
    missing path.
    """
    lake = find_lake_location(options.paths)
    if lake is not None:
        raise CommandError(
            f"{lake} is a lake and has no result files. Pass the folder that you imported"
        )

    run_paths = []
    for path in options.paths:
        if not path.exists():
            raise CommandError(describe_missing_path(path))
        resolved = path.resolve()
        is_workspace = resolved.name == ".fcreview"
        run_paths.append(resolved.parent if is_workspace else resolved)
    return run_paths


def describe_missing_path(path: Path) -> str:
    """Say that a path does not exist, and name the entry of its folder with the nearest name."""
    message = f"no such file or folder: {path}"
    try:
        names = [entry.name for entry in islice(path.parent.iterdir(), MAX_SEARCHED_NAMES)]
    except OSError:
        return message
    nearest = get_close_matches(path.name, names, n=1)
    if not nearest:
        return message
    return f"{message}. Did you mean {path.with_name(nearest[0])}?"


def is_whole_workspace(workspace: Workspace, paths: Sequence[Path]) -> bool:
    """Whether every path is the folder of the workspace, and the workspace has a store."""
    if not workspace.store.exists():
        return False
    folders = {workspace.root.resolve(), workspace.parent_folder.resolve()}
    return all(path.resolve() in folders for path in paths)


def resolve_annotator(options: WorkspaceOptions, config: Config) -> str:
    """Return the annotator name from --annotator, FCREVIEW_ANNOTATOR, the configuration, git or the
    login name. Raises AnnotatorError if the name cannot be a file name.
    """
    from fcreview.store.workspace import check_annotator, find_default_annotator

    if options.annotator is not None:
        return check_annotator(options.annotator)
    if config.annotator and not os.environ.get("FCREVIEW_ANNOTATOR"):
        return check_annotator(config.annotator)
    return find_default_annotator()


def find_lake_location(paths: Sequence[Path]) -> str | None:
    """Return the absolute path or the `s3://` address of the lake if the only path is a lake,
    else None.
    """
    for path in paths:
        lake = _find_lake_at(path)
        if lake is None:
            continue
        if len(paths) > 1:
            raise UsageError(
                "fcreview cannot open a lake together with other paths. Pass only the lake"
            )
        return lake
    return None


def _find_lake_at(path: Path) -> str | None:
    """Return the location of the lake at a path, or None if there is none."""
    if str(path).startswith(_S3):
        return resolve_lake_location(str(path))
    folder = path.parent if path.name == ".fcreview" else path
    if (folder / LAKE_FILE).is_file():
        return os.path.realpath(folder)
    return None


def resolve_lake_location(location: str) -> str:
    """Return the path or address of a lake.

    `Path` changes `s3://` to `s3:/`, so both forms are accepted.
    """
    if location.startswith(_S3):
        return "s3://" + location[len(_S3) :].strip("/")
    return os.path.realpath(os.path.expanduser(location))  # noqa: PTH111


def locate_lake_workspace(lake: str, reviews_folder: Path | None) -> Workspace:
    """Return the workspace that holds the reviews of a lake, which is a store of Parquet files.

    `lake` is an absolute path or an address such as `s3://bucket`. Without `reviews_folder`, the
    workspace is in the folder of the lake. Raises UsageError for an address, because it cannot hold
    reviews.
    """
    from fcreview.store.workspace import find_workspace

    folder = reviews_folder
    if folder is None:
        is_local_folder = os.path.isabs(lake)  # noqa: PTH117 - it may be an address
        if not is_local_folder:
            raise UsageError(f"{lake} needs --workspace DIR. Choose a local folder for the reviews")
        folder = Path(lake)

    # The workspace is exactly in this folder. fcreview does not search the folders above it.
    workspace = find_workspace(folder, override=folder)
    return replace(workspace, lake=lake)


def pop_lake_problems() -> list[str]:
    """Return messages about the damaged files that this process has found in lakes since the
    last call.
    """
    from fcreview.store.lake.reader import found_problems

    problems = list(dict.fromkeys(found_problems))
    found_problems.clear()
    return problems


def print_lake_problems() -> None:
    """Print warnings about damaged files that this command has found in lakes.

    Runs in these files are omitted.
    """
    more = "{} more damaged files. Run fcreview doctor to list them"
    print_limited_messages([*map(sanitize, pop_lake_problems())], MAX_LAKE_PROBLEMS, more.format)


def _warn_about_unrescored_items(store: Store) -> None:
    """Warn if an accepted golden answer does not count for all items of its question."""
    from fcreview.store.golden_fix_effect import find_unrescored_fixes

    n_items = sum(fix.n_items for fix in find_unrescored_fixes(store))
    if n_items:
        items = format_count(n_items, "item")
        print_warning(
            f"accepted golden answers do not count yet for {items} of runs that were imported"
            " later. Run fcreview errata rescore"
        )


@dataclass(slots=True)
class WorkspaceSession:
    """Workspace of a command, with its up-to-date store, the annotator, and the runs that the
    command line selects.
    """

    workspace: Workspace
    annotator: str
    scope: RunNumbers = ()  # numbers of the selected runs; empty for all runs of the workspace
    policy: Policy = UNANIMOUS  # policy that decides items on which annotators disagree
    options: WorkspaceOptions | None = None
    failed_runs: tuple[str, ...] = ()  # names of the runs whose import by this command failed
    # whether verdicts of `fcreview judge` are visible before the annotator's own verdict
    shows_judges: bool = False
    _store: Store | None = None
    _runs: list[RunRow] = field(default_factory=list)

    @property
    def store(self) -> Store:
        """The store with the items and reviews. It is opened at the first access, with warnings."""
        if self._store is None:
            from fcreview.store.store import Store

            self._store = Store.open(
                self.workspace,
                self.annotator,
                policy=self.policy,
                shows_judges=self.shows_judges,
            )
            print_journal_warnings(
                [*self._store.reviews.warnings, *self._store.judgements.warnings]
            )
            warn_about_sync_copies(self.workspace)
            _warn_about_unrescored_items(self._store)
            if not self._store.is_verified:
                self._print_not_verified()
        return self._store

    def _print_not_verified(self) -> None:
        """Warn that the store may contain anything, because it was not built from files of this
        user.
        """
        if self.workspace.lake is None:
            message = f"{self.workspace.store} is not verified. {NOT_VERIFIED_ADVICE}"
        else:
            message = f"{self.workspace.lake} is not verified. Another user wrote it"
        print_message(f"fcreview: {message}")

    @property
    def runs(self) -> list[RunRow]:
        """Selected runs, loaded on first use."""
        if not self._runs:
            self._runs = [
                row for row in self.store.fetch_runs() if not self.scope or row.run in self.scope
            ]
        return self._runs

    @property
    def n_runs(self) -> int:
        """Number of selected runs.

        Unlike `runs`, this does not count their items, which takes long.
        """
        return len(self.scope) or len(self.store.runs)

    def print_policy(self, *, as_json: bool = False) -> None:
        """Print the policy for disagreements, unless it is the default.

        With `as_json`, print it to stderr.
        """
        if self.policy != UNANIMOUS:
            show = print_message if as_json else emit
            show(f"policy {self.policy}: if annotators disagree, the majority verdict counts")

    def explain_empty_view(self, view: View) -> str:
        """Explain why a view has no items.

        If its filter depends on reviews, the reason may be that the annotator has none. Then other
        annotators are named.
        """
        from fcreview.store.filters.parser import parse_filter

        if not view.where.strip():
            return "there are no items"

        message = f"no item matches {sanitize(view.where)}"
        if not parse_filter(view.where).depends_on_reviews:
            return message
        names = self._list_annotators()
        if self.annotator in names:
            return message

        message += f". {sanitize(self.annotator)} has no reviews in this workspace."
        if names:
            choices = sanitize(", ".join(names[:MAX_LISTED_ANNOTATORS]))
            message += f" Choose --annotator {choices}"
        return message

    def _list_annotators(self) -> list[str]:
        """List the annotators whose journals are in the workspace, in alphabetical order."""
        from fcreview.store.reviews.journal_reader import list_journals, list_team_journals

        journals = [*list_journals(self.workspace), *list_team_journals(self.workspace)]
        return sorted({journal.stem for journal in journals})

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
        if self.workspace.lake is not None:
            print_lake_problems()

    def build_view(
        self,
        where: str = "",
        *,
        queue: str = "dataset",
        seed: int = 0,
        run: str | None = None,
        blind: bool = False,
    ) -> View:
        """Build the view of the items that a filter selects, in the order of a queue.

        Raises FilterError for an invalid filter, and UsageError for a queue that is unknown or
        excluded.

        Args:
            where: Filter, in which `@name` stands for a saved filter.
            run: Number, name or model of the only run to include.
            blind: Whether to refuse queues that reveal verdicts.
        """
        from fcreview.store.filters.saved import AnnotatorFilters
        from fcreview.store.rows import BUILTIN_QUEUES, SUSPECTS_QUEUE, View
        from fcreview.store.workspace import AnnotatorState

        if queue not in BUILTIN_QUEUES:
            self.load_queue_file(queue)
        if blind:
            _raise_if_queue_reveals_verdicts(queue)

        filters = AnnotatorFilters(AnnotatorState(self.workspace.root, self.annotator), blind=blind)
        expanded_filter = filters.expand_saved_filters(where)
        runs = (self.find_run_number(run),) if run else self.scope
        view = View(expanded_filter, queue=queue, seed=seed, runs=runs)
        # The order of suspects must be computed before the view is used.
        if queue == SUSPECTS_QUEUE:
            self.store.load_suspects(view)
        return view

    def build_review_view(
        self,
        where: str = "",
        *,
        queue: str | None = None,
        seed: int = 0,
        run: str | None = None,
        blind: bool = False,
    ) -> View:
        """Build a view for review.

        Limit a queue file to the annotator's items. For parameters, see `build_view`.
        """
        default = "dataset" if blind else "failures"
        return self.limit_to_assigned_items(
            self.build_view(where, queue=queue or default, seed=seed, run=run, blind=blind)
        )

    def load_queue_file(self, name: str) -> QueueFile:
        """Load a queue file into the store, so that a `View` can refer to it.

        Raises UsageError for an unknown name.
        """
        from fcreview.store.queue_file import list_queue_names
        from fcreview.store.rows import BUILTIN_QUEUES

        names = list_queue_names(self.workspace)
        if name not in names:
            available = ", ".join((*BUILTIN_QUEUES, *names))
            raise UsageError(f"queue not found: {name!a}. Available queues: {available}")
        return self.store.load_queue(name)

    def limit_to_assigned_items(self, view: View) -> View:
        """Limit a view of a queue file to the items that it assigns to the annotator.

        Raises CommandError if it assigns none.
        """
        if view.queue_file is None:
            return view
        queue = self.load_queue_file(view.queue_file)
        if queue.find_share(self.annotator) is None:
            names = ", ".join(share.annotator for share in queue.shares)
            raise CommandError(
                f"queue {view.queue_file} assigns no items to {self.annotator}. Choose --annotator"
                f" {names}"
            )
        return replace(view, share=True)

    def find_run_number(self, name: str) -> int:
        """Return the number of a run that the user chose by its number, name or model. Raises
        CommandError unless one run matches.

        If the text is the name of one run and the model of others, the run with the name is meant.
        """
        for is_match in (_has_number_or_name, _has_model):
            matches = [row for row in self.runs if is_match(row, name)]
            if len(matches) == 1:
                return matches[0].run
            if matches:
                raise CommandError(
                    f"{name!r} matches several runs. Choose {format_run_choices(matches)}"
                )
        raise CommandError(f"there is no run {name!r}. Choose {format_run_choices(self.runs)}")

    def select_runs(self, name: str | None) -> list[RunRow]:
        """Return the run with this number, name or model, or all runs for None."""
        number = None if name is None else self.find_run_number(name)
        return [row for row in self.runs if number in (None, row.run)]

    def create_reviewer(self) -> Reviewer:
        from fcreview.store.reviewer import Reviewer

        return Reviewer(self.store, self.open_journal())

    def open_journal(self) -> Journal:
        from fcreview.store.reviews.journal import Journal

        return Journal(self.workspace, self.annotator)


def _has_number_or_name(row: RunRow, text: str) -> bool:
    """Whether this is the number or the name of the run.

    Spaces can replace the separators of a name.
    """
    words = text.replace(NAME_SEPARATOR, " ")
    return text == str(row.run) or words == row.run_name.replace(NAME_SEPARATOR, " ")


def _has_model(row: RunRow, text: str) -> bool:
    return text == row.info.model


def _raise_if_queue_reveals_verdicts(queue: str) -> None:
    """Raise UsageError for a queue that no annotator may open in blind mode."""
    from fcreview.store.rows import BUILTIN_QUEUES, VERDICT_QUEUES

    if queue in VERDICT_QUEUES:
        blind_queues = [name for name in BUILTIN_QUEUES if name not in VERDICT_QUEUES]
        raise UsageError(
            f"--queue {queue} reveals verdicts. With --blind, choose {', '.join(blind_queues)} or a"
            " queue file"
        )


def format_run_choices(rows: Sequence[RunRow]) -> str:
    """Format values for --run as `1 gpt-4o, 2 maple-8b · V3`."""
    choices = ", ".join(f"{row.run} {row.run_name}" for row in rows[:MAX_LISTED_RUNS])
    n_more = len(rows) - MAX_LISTED_RUNS
    if n_more > 0:
        return f"{choices} and {n_more} more"
    return choices


def print_journal_warnings(warnings: Sequence[str]) -> None:
    """Print warnings about unreadable journal lines, whose reviews do not count."""
    print_limited_messages(
        warnings, MAX_MESSAGES, "{} more journal problems. Run fcreview doctor to list them".format
    )


def warn_about_sync_copies(workspace: Workspace) -> None:
    """Warn about copies of files, such as queues, errata and the configuration, that two machines
    changed.
    """
    from fcreview.store.sync_copies import (
        describe_sync_copies,
        describe_sync_copy,
        find_sync_copies,
    )

    messages = describe_sync_copies(workspace)
    config_file = locate_config_file()
    for path in find_sync_copies(config_file.parent, config_file.name):
        messages.append(f"{path}: {describe_sync_copy(path)}")
    print_limited_messages(
        [sanitize(message) for message in messages],
        MAX_MESSAGES,
        "{} more copies that other machines changed. Run fcreview doctor to list them".format,
    )


def load_workspace_errata(workspace: Workspace) -> Errata | None:
    """Load the errata of the workspace. Return None if it has no errata file."""
    from fcreview.errata import parse_errata

    content = read_workspace_file(workspace, workspace.errata)
    return None if content is None else parse_errata(content, str(workspace.errata))


def set_and_save_errata(
    plans: Iterable[RunPlan], errata_option: str | None, workspace: Workspace
) -> None:
    """Set the errata, published corrections of golden answers, of each run.

    A valid file of --errata is copied to the workspace, so that later commands apply it too.
    """
    if errata_option == NO_ERRATA:
        workspace.errata.unlink(missing_ok=True)
    elif errata_option is not None:
        path = Path(errata_option)
        if not path.is_file():
            raise CommandError(
                f"the file of --errata {errata_option} does not exist. Pass an errata file"
            )
        _check_errata_support(load_errata(path), errata_option)
        workspace.files.write(workspace.errata, read_small_file(path))

    errata = load_workspace_errata(workspace)
    for plan in plans:
        plan.errata = select_errata(errata, plan.importer)


def load_errata(path: Path) -> Errata:
    """Load an errata file.

    Raises ErrataError if it is invalid, CommandError if it cannot be read.
    """
    from fcreview.errata import parse_errata

    return parse_errata(read_small_file(path), str(path))


def select_errata(errata: Errata | None, importer_name: str) -> Errata | None:
    """Select the errata that apply to the runs of an importer.

    Return None if the importer supports no errata.
    """
    if errata is None or not supports_errata(importer_name):
        return None
    return errata.select_for_benchmark(
        importer_name, include_rules=supports_equivalences(importer_name)
    )


def _check_errata_support(errata: Errata, file_name: str) -> None:
    """Warn of errata for benchmarks whose golden answers fcreview cannot correct.

    Raises CommandError if the file contains nothing else.
    """
    benchmarks = {entry.benchmark for entry in errata.entries.values()}
    unsupported = [benchmark for benchmark in benchmarks if not supports_errata(benchmark)]
    if not unsupported:
        return

    problem = _explain_unsupported_errata(unsupported)
    if len(unsupported) == len(benchmarks) and not errata.rules:
        raise CommandError(f"{file_name}: {problem}")
    print_message(f"fcreview: {file_name}: {problem}")


def _explain_unsupported_errata(unsupported: Sequence[str]) -> str:
    """Name these benchmarks, and the benchmarks whose errata fcreview can apply."""
    from fcreview.importers.registry import IMPORTERS

    title_by_name = {importer.name: importer.title for importer in IMPORTERS}
    unsupported_titles = {title_by_name.get(name, name) for name in unsupported}
    supported_titles = [title for name, title in title_by_name.items() if supports_errata(name)]
    return (
        f"fcreview cannot apply errata of {', '.join(sorted(unsupported_titles))}, only errata of"
        f" {', '.join(supported_titles)}"
    )


def supports_errata(importer_name: str) -> bool:
    """Whether the importer can apply corrected golden answers."""
    from fcreview.importers.registry import find_importer

    importer = find_importer(importer_name)
    return importer is not None and importer.applies_errata


def supports_equivalences(importer_name: str) -> bool:
    """Whether the importer can apply equivalence rules."""
    from fcreview.importers.registry import find_importer

    importer = find_importer(importer_name)
    return importer is not None and importer.applies_equivalences


def read_small_file(path: Path) -> bytes:
    """Read a small file. Raises CommandError with the path on failure."""
    from fcreview import safe_files

    try:
        return safe_files.read_file(path, safe_files.MAX_FILE_BYTES)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error


def read_workspace_file(workspace: Workspace, path: Path) -> bytes | None:
    """Read a file of the workspace.

    Return None if it does not exist. Raises CommandError with the path on failure.
    """
    try:
        return workspace.files.read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error


def load_accepted_rules(workspace: Workspace) -> list[EquivalenceRule]:
    """Load the accepted rules of the workspace, oldest first.

    Raises ErrataError for an invalid line.
    """
    from fcreview.errata import parse_rules

    content = read_workspace_file(workspace, workspace.rules)
    return [] if content is None else parse_rules(content, str(workspace.rules))


def save_accepted_rules(workspace: Workspace, rules: Sequence[EquivalenceRule]) -> None:
    from fcreview.errata import serialize_rules

    workspace.files.write(workspace.rules, serialize_rules(rules))

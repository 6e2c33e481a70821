"""`fcreview doctor`: check runs, datasets, journals, versions and the terminal without changing
anything.
"""

from __future__ import annotations

import locale
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from fcreview.cli.config import Config, load_config
from fcreview.cli.options import (
    ONE_PATH_HELP,
    JsonOption,
    WorkspaceOptions,
    argument,
    workspace_command,
)
from fcreview.cli.output import can_show_app, emit, emit_json, format_cell
from fcreview.cli.workspace import (
    NOT_VERIFIED_ADVICE,
    find_lake_location,
    is_whole_workspace,
    locate_workspace,
)
from fcreview.cli.workspace_import import (
    discover_runs,
    list_data_folders,
    load_remembered_datasets,
    resolve_data_option,
)
from fcreview.errors import EXIT_FAILURE
from fcreview.model.run_name import build_run_names
from fcreview.model.sync_copy import find_original_name
from fcreview.model.wording import format_count
from fcreview.safe_files import UnsafeFileError

if TYPE_CHECKING:
    from fcreview.run_plan import DiscoveredRuns, RunPlan
    from fcreview.store.importing.builder import StoreIndex
    from fcreview.store.importing.source_files import DatasetFolders
    from fcreview.store.reviews.journal_reader import JournalReport
    from fcreview.store.workspace import Workspace

PACKAGES = (
    "fcreview",
    "textual",
    "rich",
    "duckdb",
    "orjson",
    "pydantic",
    "typer",
    "psycopg",
    "bfcl-eval",
)
OPTIONAL_PACKAGES = ("psycopg", "bfcl-eval")
MAX_ISSUES = 20  # maximum number of import issues that are printed
GROUPED_KINDS = ("missing", "dataset", "notice", "warning", "error")
# JSON object {kind, name, value, problem}; `problem` is true for something damaged or missing
Fact = dict[str, Any]

OPTIONAL_PATH_ARGUMENT = (
    Annotated[Path, argument("PATH", ONE_PATH_HELP, show_default=True)],
    Path(),
)


@workspace_command(
    "format", common_options=("data", "workspace"), path_argument=OPTIONAL_PATH_ARGUMENT
)
def doctor(options: WorkspaceOptions, as_json: JsonOption = False) -> None:
    """Check the setup.

    Reports runs, datasets, journals, caches, versions and terminal features, and marks problems
    with `!`. Compares the files of a lake with their hashes. Changes nothing. The exit code is 1 if
    a journal or a lake is damaged, or if the workspace has a file that fcreview does not trust.

    Example: fcreview doctor runs/gpt4o
    """

    config = load_config()
    lake = find_lake_location(options.paths)
    facts = _collect_workspace_facts(options)
    if lake is not None:
        facts += _collect_lake_facts(lake)
    # Only these problems mean damage. Later ones, such as a missing dataset, do not.
    is_damaged = any(fact["problem"] for fact in facts)

    facts += _collect_cache_facts(options)
    if lake is None:
        facts += _collect_run_facts(options, discover_runs(options, config))
    facts += _collect_configuration_facts(options, config)
    facts += _collect_version_facts()
    facts += _collect_terminal_facts()

    _print_facts(facts, as_json=as_json)
    if is_damaged:
        raise typer.Exit(EXIT_FAILURE)


def _print_facts(facts: Sequence[Fact], *, as_json: bool) -> None:
    if as_json:
        emit_json(*facts)
        return
    for fact in _merge_similar_facts(facts):
        _print_fact(fact)


def _collect_configuration_facts(options: WorkspaceOptions, config: Config) -> Iterator[Fact]:
    """Report the folders that are searched for datasets, and the configuration file."""
    for folder in list_data_folders(options, config):
        yield _build_fact("dataset folder", str(folder))
    missing = "" if config.file.exists() else " (does not exist)"
    yield _build_fact("configuration", f"{config.file}{missing}")


def _print_fact(fact: Fact) -> None:
    """Print a fact as `! missing   maple-8b: the run has no dataset`. `!` marks a problem."""
    mark = "!" if fact["problem"] else " "
    texts = [text for text in (fact["name"], fact["value"]) if text]
    emit(f"{mark} {fact['kind']:<15} {format_cell(': '.join(texts))}")


def _collect_workspace_facts(options: WorkspaceOptions) -> list[Fact]:
    """Report the workspace, its journals and its unsafe files."""

    from fcreview.store.workspace import WorkspaceError

    try:
        workspace = locate_workspace(options, create=False)
    except WorkspaceError as error:
        return [_build_fact("workspace", str(error))]
    return [
        _build_fact("workspace", str(workspace.root)),
        *_collect_journal_facts(workspace),
        *_collect_unsafe_file_facts(workspace),
        *_collect_copied_file_facts(workspace),
    ]


def _collect_cache_facts(options: WorkspaceOptions) -> list[Fact]:
    """Return the state of the cache of review decisions, if the workspace exists and has one."""
    from fcreview.store.reviews.decision_cache import describe_cache_state
    from fcreview.store.workspace import WorkspaceError

    try:
        workspace = locate_workspace(options, create=False)
    except WorkspaceError:
        return []
    state = describe_cache_state(workspace)
    if not state:
        return []
    return [_build_fact("cache", state, workspace.decision_cache.name)]


def _collect_run_facts(options: WorkspaceOptions, discovered: DiscoveredRuns) -> list[Fact]:
    """Report the store and the runs: those found at the path, or else those in the store."""
    facts = _collect_store_facts(options, discovered)
    has_stored_runs = any(fact["kind"] == "run" for fact in facts)
    if discovered.plans or not has_stored_runs:
        facts += _collect_discovered_run_facts(discovered, options)
    return facts


def _collect_format_facts() -> Iterator[Fact]:
    """Yield a fact for each importer with the files that it recognises, for a path without runs."""
    from fcreview.importers.registry import IMPORTERS

    for importer in IMPORTERS:
        yield _build_fact("format", importer.expected_files, importer.title)


def _build_fact(kind: str, value: str, name: str = "", *, is_problem: bool = False) -> Fact:
    return {"kind": kind, "name": name, "value": value, "problem": is_problem}


def _merge_similar_facts(facts: Iterable[Fact]) -> list[Fact]:
    """Replace facts that differ only in name by one fact, such as `runs/a and 3 more`."""
    groups: dict[tuple[object, ...], list[Fact]] = {}
    for number, fact in enumerate(facts):
        # A key with the number of the fact keeps it apart from all others.
        key: tuple[object, ...] = (number,)
        if fact["kind"] in GROUPED_KINDS:
            key = (fact["kind"], fact["value"], fact["problem"])
        groups.setdefault(key, []).append(fact)

    merged = []
    for first, *others in groups.values():
        if others:
            first = first | {"name": f"{first['name']} and {len(others):,} more"}
        merged.append(first)
    return merged


def _collect_lake_facts(location: str) -> Iterator[Fact]:
    """Report the runs and items of a lake, and files that are damaged. The files are read
    completely.
    """
    from fcreview.store.lake.lake_files import (
        find_damaged_files,
        open_lake_files,
        read_lake,
    )

    files = open_lake_files(location)
    contents = read_lake(files)
    items = sum(int(run.row["n_items"] or 0) for run in contents.runs.values())
    yield _build_fact(
        "lake",
        f"{format_count(len(contents.runs), 'run')}, {format_count(items, 'item')}",
        location,
    )
    for problem in contents.problems:
        yield _build_fact("lake", problem, is_problem=True)
    for damaged in find_damaged_files(files, contents):
        path = f"{location}/{damaged.lake_path}"
        yield _build_fact(
            "lake", f"{path} is damaged. Import the run in this file again", is_problem=True
        )


def _collect_journal_facts(workspace: Workspace) -> Iterator[Fact]:
    """Report the journal of each annotator: its reviews, damaged lines and lines that were set
    aside.
    """
    from fcreview.store.reviews.journal_reader import check_journals

    reports = check_journals(workspace)
    if not reports:
        yield _build_fact("journal", "no reviews yet")
    for report in reports:
        yield _build_fact("journal", _describe_journal(report), report.annotator)
        for warning in report.warnings:
            yield _build_fact("journal", warning, report.annotator, is_problem=True)
        for torn in report.torn:
            yield _build_fact(
                "journal", f"fcreview saved an incomplete last line as {torn}", report.annotator
            )


def _describe_journal(report: JournalReport) -> str:
    """Summarize a journal, which is the file with an annotator's reviews: `12 reviews; intact`."""
    text = format_count(report.events, "review")
    if report.retracted:
        text += f", {report.retracted} retracted"
    if report.warnings:
        return f"{text}; {format_count(len(report.warnings), 'problem')}"
    return f"{text}; intact"


def _collect_store_facts(options: WorkspaceOptions, discovered: DiscoveredRuns) -> list[Fact]:
    """Report the state of the store, and the runs in the store that have no files at the path."""
    from fcreview.store.importing.builder import read_store_index
    from fcreview.store.workspace import WorkspaceError

    try:
        workspace = locate_workspace(options, create=False)
    except WorkspaceError:
        return []
    index = read_store_index(workspace)
    facts = list(_collect_store_state_facts(index))
    # The path shows only a part of the runs, so a run that is missing there is not lost.
    if is_whole_workspace(workspace, options.paths):
        facts += _collect_lost_run_facts(workspace, index, discovered)
    return facts


def _collect_store_state_facts(index: StoreIndex) -> Iterator[Fact]:
    """Report whether the store must be rebuilt, and whether it is verified."""
    if index.rebuild_reason:
        yield _build_fact("store", index.rebuild_reason, is_problem=True)
    if index.usable and index.is_verified:
        yield _build_fact("store", "verified")
    elif index.usable:
        problem = f"the store is not verified. {NOT_VERIFIED_ADVICE}"
        yield _build_fact("store", problem, is_problem=True)


def _collect_lost_run_facts(
    workspace: Workspace, index: StoreIndex, discovered: DiscoveredRuns
) -> Iterator[Fact]:
    """Report the runs in the store whose files were not found."""
    from fcreview.store.importing.source_files import build_run_key

    discovered_keys = {build_run_key(workspace, plan.run) for plan in discovered.plans}
    for key, stored in index.runs.items():
        if key not in discovered_keys:
            yield _build_stored_run_fact(workspace, key, stored.n_items)


def _build_stored_run_fact(workspace: Workspace, run_key: str, n_items: int) -> Fact:
    """Describe a run of the store whose files are not at the path."""
    benchmark, version, language, model, path = orjson.loads(run_key)
    folder = workspace.to_absolute_path(path)
    origin = f"imported from {folder}"
    if not folder.exists():
        origin += ", which no longer exists"
    items = format_count(n_items, "item")
    return _build_fact("run", f"{benchmark} {version} {language}; {items} {origin}", model)


def _collect_unsafe_file_facts(workspace: Workspace) -> Iterator[Fact]:
    """Yield a problem for each file of the workspace that fcreview does not trust."""
    for folder, folder_names, file_names in os.walk(workspace.root):
        for path in sorted(Path(folder, name) for name in (*folder_names, *file_names)):
            problem = _find_unsafe_file_problem(workspace, path)
            if problem is not None:
                location = str(path.relative_to(workspace.root))
                yield _build_fact("workspace", problem, location, is_problem=True)


def _collect_copied_file_facts(workspace: Workspace) -> Iterator[Fact]:
    """Yield a problem for each copy of a file, such as the errata, that two machines changed.

    Copies of journals count as journals, and have problems of their own.
    """
    from fcreview.store.sync_copies import describe_sync_copy

    for path in sorted(workspace.root.rglob("*")):
        is_copy = find_original_name(path.name) is not None
        if is_copy and not path.is_relative_to(workspace.reviews):
            location = str(path.relative_to(workspace.root))
            yield _build_fact("workspace", describe_sync_copy(path), location, is_problem=True)


def _find_unsafe_file_problem(workspace: Workspace, path: Path) -> str | None:
    """Return why fcreview does not trust a file of the workspace, or None if it does."""
    try:
        descriptor = workspace.files.open(path)
    except UnsafeFileError as error:
        # A folder is no file that one can open, but it is safe. A link to a folder is not.
        is_folder = path.is_dir() and not path.is_symlink()
        return None if is_folder else str(error.strerror)
    except OSError:
        # The file was deleted, or this user cannot read it.
        return None
    os.close(descriptor)
    return None


def _collect_discovered_run_facts(
    discovered: DiscoveredRuns, options: WorkspaceOptions
) -> Iterator[Fact]:
    """Report the runs at the path, what they lack, and problems with their files."""
    if not discovered.plans:
        yield from _collect_format_facts()

    remembered = load_remembered_datasets(options)
    names = build_run_names(dict(enumerate(plan.run for plan in discovered.plans)))
    for number, plan in enumerate(discovered.plans):
        name = names[number]
        yield _build_fact("run", _describe_plan(plan), name=name)
        if not plan.scores and plan.needs_scores:
            problem = "the run has no score files, so its items have no official verdicts"
            yield _build_fact("missing", problem, name=name, is_problem=True)
        yield from _collect_dataset_facts(plan, name, options, remembered)
    yield from _collect_issue_facts(discovered, options.paths[0])


def _collect_issue_facts(discovered: DiscoveredRuns, path: Path) -> Iterator[Fact]:
    """Yield the first import issues, and a notice if there are more."""
    issues = list(discovered.issues)
    for plan in discovered.plans:
        issues += plan.issues

    for issue in issues[:MAX_ISSUES]:
        location = f"{issue.file}:{issue.line}" if issue.line else issue.file
        is_error = issue.severity == "error"
        yield _build_fact(issue.severity, issue.what, location, is_problem=is_error)
    n_more = len(issues) - MAX_ISSUES
    if n_more > 0:
        notice = f"{n_more} more issues in {path}. Run fcreview import --json to list them"
        yield _build_fact("notice", notice)


def _describe_plan(plan: RunPlan) -> str:
    """Describe a run: its dataset, how it was recognised, its path and the number of its files."""
    run = plan.run
    files = {
        "result file": plan.results,
        "score file": plan.scores,
        "dataset file": plan.data,
        "log": plan.logs,
    }
    counts = [format_count(len(paths), noun) for noun, paths in files.items() if paths]
    dataset = f"{run.benchmark} {run.generation} {run.language}".strip()
    parts = [dataset, plan.reason, run.path, ", ".join(counts)]
    return "; ".join(part for part in parts if part)


def _collect_dataset_facts(
    plan: RunPlan, name: str, options: WorkspaceOptions, remembered: DatasetFolders | None
) -> Iterator[Fact]:
    """Report the dataset of a run, or why it has none."""

    from fcreview.store.importing.source_files import (
        find_folder_without_dataset,
        select_folders_with_dataset,
    )

    run = plan.run
    # A folder of --data replaces the folders of earlier imports.
    lost_folder = None
    has_folder_of_option = bool(select_folders_with_dataset(resolve_data_option(options), plan))
    if remembered is not None and not has_folder_of_option:
        lost_folder = find_folder_without_dataset(plan, remembered.get_dataset_folders(run))

    if lost_folder:
        problem = f"the dataset is no longer in {lost_folder}. Pass --data DIR"
        yield _build_fact("missing", problem, name, is_problem=True)
    elif not plan.data and run.needs_dataset:
        problem = "the run has no dataset. Pass --data DIR"
        yield _build_fact("missing", problem, name, is_problem=True)
    elif run.dataset:
        yield _build_fact("dataset", run.dataset, name)


def _collect_version_facts() -> Iterator[Fact]:
    """Report the versions of packages and of Python. A missing optional package is no problem."""

    from importlib.metadata import PackageNotFoundError, version

    for package in PACKAGES:
        try:
            yield _build_fact("version", version(package), package)
        except PackageNotFoundError:
            if package not in OPTIONAL_PACKAGES:
                yield _build_fact("version", "not installed", package, is_problem=True)
    machine = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield _build_fact("version", machine, "Python")


def _collect_terminal_facts() -> Iterator[Fact]:
    """Report what the terminal can show, and the environment variables that decide it."""
    size = "unknown, because standard output is not a terminal"
    if sys.stdout.isatty():
        columns, rows = os.get_terminal_size()
        size = f"{columns}x{rows}"
    yield _build_fact("terminal", size, name="size")

    app = "yes" if can_show_app() else "no, so fcreview open prints text"
    yield _build_fact("terminal", app, name="full-screen app")

    for name in ("TERM", "COLORTERM", "NO_COLOR", "TMUX", "FCREVIEW_ASCII"):
        value = os.environ.get(name)
        if value:
            # The value of TMUX is the path of a socket.
            shown_value = "set" if name == "TMUX" else value
            yield _build_fact("terminal", shown_value, name=name)

    encoding = f"{sys.stdout.encoding}, locale {locale.setlocale(locale.LC_CTYPE)}"
    yield _build_fact("terminal", encoding, name="encoding")

"""`fcreview doctor`: check runs, datasets, journals, versions and the terminal without changing
anything.
"""

from __future__ import annotations

import locale
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from fcreview.cli.config import load_config
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
from fcreview.model.wording import format_count
from fcreview.safe_files import UnsafeFileError

if TYPE_CHECKING:
    from fcreview.run_plan import DiscoveredRuns
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
    from fcreview.store.reviews.decision_cache import describe_cache_state
    from fcreview.store.workspace import WorkspaceError

    config = load_config()
    lake = find_lake_location(options.paths)
    caches: list[Fact] = []
    try:
        workspace = locate_workspace(options, create=False)
    except WorkspaceError as error:
        facts = [_build_fact("workspace", str(error))]
    else:
        facts = [_build_fact("workspace", str(workspace.root)), *_collect_journal_facts(workspace)]
        facts += _collect_unsafe_file_facts(workspace)
        if state := describe_cache_state(workspace):
            caches = [_build_fact("cache", state, workspace.decision_cache.name)]
    if lake is not None:
        facts += _collect_lake_facts(lake)
    damaged = any(fact["problem"] for fact in facts)
    facts += caches
    if lake is None:
        discovered = discover_runs(options, config)
        stored = _collect_store_facts(options, discovered)
        facts += stored
        if discovered.plans or not any(fact["kind"] == "run" for fact in stored):
            facts += _collect_discovered_run_facts(discovered, options)
    facts += [
        _build_fact("dataset folder", str(folder)) for folder in list_data_folders(options, config)
    ]
    facts += [
        _build_fact(
            "configuration", f"{config.file}{'' if config.file.exists() else ' (does not exist)'}"
        ),
        *_collect_versions_and_terminal_facts(),
    ]
    if as_json:
        emit_json(*facts)
    for fact in () if as_json else _merge_similar_facts(facts):
        mark = "!" if fact["problem"] else " "
        emit(
            f"{mark} {fact['kind']:<15}"
            f" {format_cell(': '.join(filter(None, (fact['name'], fact['value']))))}"
        )
    if damaged:
        raise typer.Exit(EXIT_FAILURE)


def _collect_format_facts() -> Iterator[Fact]:
    """Yield a fact for each importer with the files that it recognises, for a path without runs."""
    from fcreview.importers.registry import IMPORTERS

    for importer in IMPORTERS:
        yield _build_fact("format", importer.expected_files, importer.title)


def _build_fact(kind: str, value: str, name: str = "", *, is_problem: bool = False) -> Fact:
    return {"kind": kind, "name": name, "value": value, "problem": is_problem}


def _merge_similar_facts(facts: Iterable[Fact]) -> list[Fact]:
    """Replace facts that differ only in name by the first fact, whose name then ends in `and N
    more`.
    """
    groups: dict[tuple[object, ...], list[Fact]] = {}
    for at, fact in enumerate(facts):
        key = (
            (fact["kind"], fact["value"], fact["problem"])
            if fact["kind"] in GROUPED_KINDS
            else (at,)
        )
        groups.setdefault(key, []).append(fact)
    return [
        first | {"name": f"{first['name']} and {len(others):,} more"} if others else first
        for first, *others in groups.values()
    ]


def _collect_lake_facts(location: str) -> Iterator[Fact]:
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
    from fcreview.store.reviews.journal_reader import check_journals

    reports = check_journals(workspace)
    if not reports:
        yield _build_fact("journal", "no reviews yet")
    for report in reports:
        state = (
            "intact" if not report.warnings else f"{format_count(len(report.warnings), 'problem')}"
        )
        retracted = f", {report.retracted} retracted" if report.retracted else ""
        yield _build_fact(
            "journal",
            f"{format_count(report.events, 'review')}{retracted}; {state}",
            report.annotator,
        )
        for warning in report.warnings:
            yield _build_fact("journal", warning, report.annotator, is_problem=True)
        for torn in report.torn:
            yield _build_fact(
                "journal", f"fcreview saved an incomplete last line as {torn}", report.annotator
            )


def _collect_store_facts(options: WorkspaceOptions, discovered: DiscoveredRuns) -> list[Fact]:
    """Report the state of the store, and the runs in the store that have no files at the path."""
    from fcreview.store.importing.builder import read_store_index
    from fcreview.store.importing.source_files import build_run_key
    from fcreview.store.workspace import WorkspaceError

    try:
        workspace = locate_workspace(options, create=False)
    except WorkspaceError:
        return []
    index = read_store_index(workspace)
    facts = (
        [_build_fact("store", index.rebuild_reason, is_problem=True)]
        if index.rebuild_reason
        else []
    )
    if index.usable:
        state = (
            "verified" if index.is_verified else f"the store is not verified. {NOT_VERIFIED_ADVICE}"
        )
        facts.append(_build_fact("store", state, is_problem=not index.is_verified))
    if not is_whole_workspace(workspace, options.paths):
        return facts
    found = {build_run_key(workspace, plan.run) for plan in discovered.plans}
    for key, stored in index.runs.items():
        if key not in found:
            benchmark, version, language, model, path = orjson.loads(key)
            folder = workspace.to_absolute_path(path)
            origin = (
                f"imported from {folder}"
                if folder.exists()
                else f"imported from {folder}, which no longer exists"
            )
            items = format_count(stored.n_items, "item")
            facts.append(
                _build_fact("run", f"{benchmark} {version} {language}; {items} {origin}", model)
            )
    return facts


def _collect_unsafe_file_facts(workspace: Workspace) -> Iterator[Fact]:
    for parent, folders, names in os.walk(workspace.root):
        for path in sorted(Path(parent, name) for name in (*folders, *names)):
            try:
                os.close(workspace.files.open(path))
            except UnsafeFileError as error:
                if path.is_symlink() or not path.is_dir():
                    where = str(path.relative_to(workspace.root))
                    yield _build_fact("workspace", str(error.strerror), where, is_problem=True)
            except OSError:
                continue  # the file was deleted, or this user cannot read it


def _collect_discovered_run_facts(
    discovered: DiscoveredRuns, options: WorkspaceOptions
) -> Iterator[Fact]:
    from fcreview.store.importing.source_files import (
        find_folder_without_dataset,
        select_folders_with_dataset,
    )

    remembered = load_remembered_datasets(options)
    if not discovered.plans:
        yield from _collect_format_facts()
    names = build_run_names(dict(enumerate(plan.run for plan in discovered.plans)))
    for number, plan in enumerate(discovered.plans):
        run = plan.run
        name = names[number]
        parts = [f"{run.benchmark} {run.generation} {run.language}".strip(), plan.reason, run.path]
        files = {
            "result file": plan.results,
            "score file": plan.scores,
            "dataset file": plan.data,
            "log": plan.logs,
        }
        parts.append(
            ", ".join(format_count(len(found), noun) for noun, found in files.items() if found)
        )
        yield _build_fact("run", "; ".join(part for part in parts if part), name)
        if not plan.scores and plan.needs_scores:
            problem = "the run has no score files, so its items have no official verdicts"
            yield _build_fact("missing", problem, name, is_problem=True)
        given_now = bool(select_folders_with_dataset(resolve_data_option(options), plan))
        before = (
            None
            if given_now or remembered is None
            else find_folder_without_dataset(plan, remembered.get_dataset_folders(run))
        )
        if before:
            problem = f"the dataset is no longer in {before}. Pass --data DIR"
            yield _build_fact("missing", problem, name, is_problem=True)
        elif not plan.data and run.needs_dataset:
            yield _build_fact(
                "missing", "the run has no dataset. Pass --data DIR", name, is_problem=True
            )
        elif run.dataset:
            yield _build_fact("dataset", run.dataset, name)
    issues = [*discovered.issues, *(issue for plan in discovered.plans for issue in plan.issues)]
    for issue in issues[:MAX_ISSUES]:
        where = f"{issue.file}:{issue.line}" if issue.line else issue.file
        yield _build_fact(issue.severity, issue.what, where, is_problem=issue.severity == "error")
    if len(issues) > MAX_ISSUES:
        more = f"{len(issues) - MAX_ISSUES} more issues in {options.paths[0]}"
        yield _build_fact("notice", f"{more}. Run fcreview import --json to list them")


def _collect_versions_and_terminal_facts() -> Iterator[Fact]:
    from importlib.metadata import PackageNotFoundError, version

    for package in PACKAGES:
        try:
            yield _build_fact("version", version(package), package)
        except PackageNotFoundError:
            if package not in OPTIONAL_PACKAGES:
                yield _build_fact("version", "not installed", package, is_problem=True)
    yield _build_fact(
        "version",
        f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "Python",
    )
    size = "{}x{}".format(*os.get_terminal_size()) if sys.stdout.isatty() else ""
    yield _build_fact(
        "terminal", size or "unknown, because standard output is not a terminal", "size"
    )
    yield _build_fact(
        "terminal",
        "yes" if can_show_app() else "no, so fcreview open prints text",
        "full-screen app",
    )
    for name in ("TERM", "COLORTERM", "NO_COLOR", "TMUX", "FCREVIEW_ASCII"):
        if os.environ.get(name):
            yield _build_fact("terminal", "set" if name == "TMUX" else os.environ[name], name)
    yield _build_fact(
        "terminal", f"{sys.stdout.encoding}, locale {locale.setlocale(locale.LC_CTYPE)}", "encoding"
    )

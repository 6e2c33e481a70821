"""`fcreview import`: import runs into a workspace or a lake.

`fcreview schema`: print the schema of the generic format, or of a command's JSON lines.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.config import Config, load_config
from fcreview.cli.options import (
    IMPORT_OPTIONS,
    NO_ERRATA,
    PATHS_ARGUMENT,
    JsonOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    Progress,
    emit,
    emit_json,
    emit_lines,
    format_cell,
    print_table,
)
from fcreview.cli.run_options import set_options_and_errata, warn_of_execution
from fcreview.cli.workspace import (
    MAX_LISTED_RUNS,
    locate_lake_workspace,
    resolve_lake_location,
    warn_about_sync_copies,
)
from fcreview.cli.workspace_import import (
    discover_runs,
    explain_no_runs,
    import_discovered_runs,
    print_missing_datasets,
    resolve_data_option,
)
from fcreview.errors import EXIT_FAILURE, CommandError, UsageError
from fcreview.importers.common.discovery import LAKE_FILE
from fcreview.model.run_name import build_run_names
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import (
    NO_ANSWERS,
    format_count,
    format_dataset_name,
    format_judge_rate,
    format_official_rate,
    format_rate_with_count,
)

if TYPE_CHECKING:
    from fcreview.cli.dask_cluster import PartOutcome
    from fcreview.model.item import Run
    from fcreview.run_plan import DiscoveredRuns, RunPlan
    from fcreview.store.lake.writer import LakePart
    from fcreview.store.rows import ImportSummary
    from fcreview.store.workspace import Workspace

MAX_LISTED_PROBLEMS = 20  # maximum number of runs with problems in text output
MAX_KINDS = 30  # maximum number of kinds of issues in text output
_NUMBER = re.compile(r"…?(?<![A-Za-z])\d(?:[\d,.-]*\d)?(?![A-Za-z])…?")
SEVERITIES = ("error", "warning", "notice")
MAX_LISTED_CHOICES = 20
"""Maximum number of choices of importers, such as decoders, in the import summary."""


@workspace_command(*IMPORT_OPTIONS, path_argument=PATHS_ARGUMENT)
def import_(
    options: WorkspaceOptions,
    forget_data: Annotated[
        bool, option("--forget-data", "Forget the remembered dataset folders of these runs.")
    ] = False,
    name: Annotated[
        str | None,
        option(
            "--name TEXT",
            "Name the run. fcreview remembers the name; an empty one restores the default.",
        ),
    ] = None,
    lake: Annotated[
        str | None,
        option("--lake DIR", "Write Parquet files to DIR or s3://BUCKET/NAME instead of a store."),
    ] = None,
    part: Annotated[
        str | None, option("--part K/N", "Import only the K-th of N parts of the runs.")
    ] = None,
    dask: Annotated[
        str | None,
        option(
            "--dask ADDRESS",
            "Import into the lake with the workers of this Dask scheduler. Pass --part N to set the"
            " number of parts.",
        ),
    ] = None,
    execute: Annotated[
        bool,
        option(
            "--execute",
            "Recompute BFCL multi-turn verdicts. bfcl-eval executes the models' calls in an"
            " isolated process (docs/bfcl.md).",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Import runs and print an import summary.

    Imports only new and changed runs. A run whose dataset folder is missing keeps its last import.
    The exit code is 1 if the import of a run failed, if no run was found, or if a run has changed
    but its dataset is missing.

    With --lake, the command writes the runs to a folder of Parquet files that other commands read
    like a workspace. Several machines can import one part each, such as `fcreview import archive
    --lake lake --part 3/16` (docs/lake.md).

    Example: fcreview import runs/gpt4o --data bfcl/data --json
    """
    started = time.perf_counter()
    if execute:
        warn_of_execution()
    options = replace(options, forget_data=forget_data, name=name, execute=execute)
    config = load_config()
    if lake is not None:
        outcome = _import_to_lake(options, config, lake, part=part, dask=dask)
    else:
        _check_options_without_lake(part, dask)
        outcome = _import_to_workspace(options, config)

    summary = outcome.summary
    rows = _build_run_rows(summary, outcome.scores)
    issues = _build_issue_rows(summary)
    if as_json:
        emit_json(*rows, *issues)
    elif rows or issues:
        seconds = time.perf_counter() - started
        _print_import_summary(rows, issues, outcome.location, seconds)
        _print_problems(rows, sanitize(outcome.check_command))

    # One part of several may have no runs.
    is_single_part = part is not None and dask is None
    if not rows and not is_single_part:
        raise CommandError(explain_no_runs(options, summary))
    print_missing_datasets(summary)
    if any(row["status"] in ("failed", "outdated") for row in rows):
        raise typer.Exit(EXIT_FAILURE)


def _build_issue_rows(summary: ImportSummary) -> list[dict[str, Any]]:
    """Build a JSON object for each issue, with the most severe issues first."""
    rows = [{"kind": "issue", **issue} for issue in summary.issues]
    return sorted(rows, key=lambda row: SEVERITIES.index(row["severity"]))


@dataclass(frozen=True)
class _ImportOutcome:
    summary: ImportSummary
    scores: ScoresByRun
    location: str
    """Folder of the workspace, or folder or address of the lake."""
    check_command: str
    """Command that shows the problems of the imported runs."""


def _check_options_without_lake(part: str | None, dask: str | None) -> None:
    """Raise UsageError for options that only an import into a lake has."""
    if part is not None:
        raise UsageError("--part needs --lake DIR")
    if dask is not None:
        raise UsageError("--dask needs --lake DIR")


def _import_to_workspace(options: WorkspaceOptions, config: Config) -> _ImportOutcome:
    """Find the runs and import them, and count their scores."""
    workspace, summary = import_discovered_runs(options, _discover_runs(options, config), config)
    warn_about_sync_copies(workspace)
    scores: ScoresByRun = {}
    if workspace.store.exists():
        scores = _fetch_score_counts(workspace)
    return _ImportOutcome(
        summary,
        scores=scores,
        location=str(workspace.root),
        check_command=format_check_command(options),
    )


def _import_to_lake(
    options: WorkspaceOptions, config: Config, lake: str, *, part: str | None, dask: str | None
) -> _ImportOutcome:
    """Import into a lake: all parts with the workers of a Dask cluster, or one part on this
    machine.

    The parameters from `lake` on are the values of the command's options.
    """
    _check_lake_options(options, is_on_cluster=dask is not None)
    location = resolve_lake_location(lake)
    if dask is not None:
        n_parts = _parse_part_count(part)
        summary, scores = _import_on_cluster(options, location, dask, n_parts)
    else:
        summary, scores = _import_part(options, config, location, _parse_part(part))
    _use_names_of_lake(summary, location)
    return _ImportOutcome(
        summary,
        scores=scores,
        location=location,
        check_command=f"fcreview check {location}",
    )


def _check_lake_options(options: WorkspaceOptions, *, is_on_cluster: bool) -> None:
    """Raise UsageError for options that an import into a lake would ignore."""
    if options.workspace is not None:
        raise UsageError(
            "--workspace has no effect with --lake. Pass --workspace to the commands that read the"
            " lake"
        )
    if is_on_cluster and options.name is not None:
        raise UsageError("--name has no effect with --dask. Use [run_names] in the configuration")


def _build_run_rows(summary: ImportSummary, scores: ScoresByRun) -> list[dict[str, Any]]:
    """Build the JSON object of each run. A run that could not be read has no counts."""
    no_scores: dict[str, Any] = dict.fromkeys(_list_score_names(), 0)
    no_scores["expected_items"] = None
    no_scores["problems"] = ""
    no_scores["choices"] = []

    rows = []
    for run in summary.runs:
        run_scores = scores.get(run["run"], no_scores)
        rows.append({"kind": "run", **run, **run_scores})
    return rows


def _discover_runs(options: WorkspaceOptions, config: Config) -> DiscoveredRuns:
    """Find the runs at the paths. Raises UsageError if --name is given and there is more than one
    run.
    """
    discovered = discover_runs(options, config)
    n_runs = len(discovered.plans)
    if options.name is not None and n_runs > 1:
        raise UsageError(
            f"--name is for one run, but {n_runs} were found. Pass the path of one:"
            f" {_list_run_choices(discovered.plans)}"
        )
    return discovered


def _list_run_choices(plans: Sequence[RunPlan]) -> str:
    """Return the names and paths of the first runs, so that the user can choose one."""
    names = build_run_names(dict(enumerate(plan.run for plan in plans)))
    choices = []
    for number, plan in enumerate(plans[:MAX_LISTED_RUNS]):
        choices.append(f"{names[number]} ({sanitize(plan.run.path)})")
    listed = ", ".join(choices)
    n_more = len(plans) - MAX_LISTED_RUNS
    if n_more > 0:
        listed += f" and {n_more} more"
    return listed


def _format_official_rate(row: dict[str, Any]) -> str:
    """Format the official pass rate or, if only judges gave verdicts, the pass rate of these."""
    has_other_verdicts = row["official_known"] or row["rule_known"] or row["stated_of"]
    if row["judge_known"] and not has_other_verdicts:
        return format_judge_rate(row["judge_pass"], row["judge_known"], row["items"])
    return format_official_rate(
        row["official_pass"],
        row["official_known"],
        row["items"],
        stated_pass=row["stated_pass"],
        stated_of=row["stated_of"],
    )


def _print_import_summary(
    rows: list[dict[str, Any]], issues: list[dict[str, Any]], location: str, seconds: float
) -> None:
    """Print the runs, the choices of importers, the issues by severity, and the totals."""
    if rows:
        _print_run_table(rows)
    _print_choices(rows)
    for severity in SEVERITIES:
        issues_of_severity = [issue for issue in issues if issue["severity"] == severity]
        _print_issues(issues_of_severity, severity)
    _print_omitted_issues(_count_issues_of_unchanged_runs(rows, issues))

    n_items = format_count(sum(row["items"] for row in rows), "item")
    n_runs = format_count(len(rows), "run")
    emit()
    emit(f"{n_items} in {n_runs}, {seconds:.1f} s, saved in {format_cell(location)}")


def _print_omitted_issues(n_omitted: int) -> None:
    """Say where to find the issues of runs that were imported earlier, if there are any."""
    if n_omitted > 0:
        emit()
        emit(
            f"The list omits {format_count(n_omitted, 'issue')} of unchanged runs. Use fcreview sql"
            " to query the table import_issues"
        )


def _print_run_table(rows: list[dict[str, Any]]) -> None:
    """Print the imported runs. A run with incidents has a second row, without these items."""
    table: list[list[str]] = []
    for row in rows:
        table.append(_format_run_cells(row))
        if row["incidents"]:
            table.append(_format_cells_without_incidents(row))
    headers = ["benchmark", "name", "items", "official", "issues", "status"]
    print_table(headers, table, right_aligned=(2, 3, 4))


def _count_issues_of_unchanged_runs(
    rows: list[dict[str, Any]], issues: list[dict[str, Any]]
) -> int:
    """Count the issues of unchanged runs that `issues` does not list.

    An unchanged run was not read again. Its issues are known from an earlier import.
    """
    n_issues_by_unchanged_run: dict[int, int] = {}
    for row in rows:
        was_read = row["status"] in ("imported", "failed")
        if not was_read:
            n_issues_by_unchanged_run[row["run"]] = row["issues"]

    n_listed = sum(issue.get("run") in n_issues_by_unchanged_run for issue in issues)
    return sum(n_issues_by_unchanged_run.values()) - n_listed


def _print_problems(rows: Sequence[dict[str, Any]], command: str) -> None:
    """Print a line for each run whose score may not be real."""
    rows_with_problem = [row for row in rows if row["problems"]]
    for row in rows_with_problem[:MAX_LISTED_PROBLEMS]:
        emit(f"! {row['run_name']}: {row['problems']}: run {command}")
    n_more = len(rows_with_problem) - MAX_LISTED_PROBLEMS
    if n_more > 0:
        emit(f"! {format_count(n_more, 'more run')} with problems: run {command}")


def format_check_command(options: WorkspaceOptions) -> str:
    """Format the command that checks the runs of this command."""
    words = ["fcreview", "check", *map(str, options.paths[:1])]
    if options.workspace is not None:
        words += ["--workspace", str(options.workspace)]
    return shlex.join(words)


def _format_run_cells(row: dict[str, Any]) -> list[str]:
    """Format the cells of a run: dataset, name, items, pass rate, issues and status.

    If items of the dataset have no result, their number follows: `380 of 400`.
    """
    n_items = f"{row['items']:,}"
    if row["not_run"] and row["expected_items"]:
        n_items += f" of {row['expected_items']:,}"
    return [
        format_cell(format_dataset_name(row["benchmark"], row["generation"], row["language"])),
        row["run_name"],
        n_items,
        _format_official_rate(row),
        f"{row['issues']:,}",
        row["status"],
    ]


def _format_cells_without_incidents(row: dict[str, Any]) -> list[str]:
    """Return the cells of the line below a run with incidents, which has the official figure
    without them.
    """
    n_answered = row["items"] - row["incidents"]
    title = f"  without {format_count(row['incidents'], 'incident')}"
    passed = row["official_pass_without_incidents"]
    known = row["official_known_without_incidents"]
    rate = format_rate_with_count(passed, known, n_answered) if n_answered else NO_ANSWERS
    return ["", title, f"{n_answered:,}", rate, "", ""]


def _print_choices(rows: list[dict[str, Any]]) -> None:
    """Print the decisions that importers made in reading the runs, such as the decoder, with a
    reason.

    Example: `decoder FC: agrees with 40 of 40 official verdicts`.
    """
    lines = []
    for row in rows:
        for choice in row["choices"]:
            text = f"{choice['name']} {choice['value']}: {choice['reason']}"
            lines.append(f"  {row['run_name']}: {format_cell(text)}")
    if not lines:
        return

    emit()
    emit(format_count(len(lines), "choice"))
    emit_lines(lines[:MAX_LISTED_CHOICES])
    n_more = len(lines) - MAX_LISTED_CHOICES
    if n_more > 0:
        emit(f"  … {n_more:,} more. Use fcreview runs --json to list all of them")


def _print_issues(issues: list[dict[str, Any]], severity: str) -> None:
    """Print the number of import issues of one severity, and an example of each kind.

    The most frequent kinds come first.
    """
    if not issues:
        return
    groups = _group_issues_by_kind(issues)

    emit()
    emit(format_count(len(issues), severity))
    for group in groups[:MAX_KINDS]:
        emit(f"  {len(group):>5} x  {format_cell(_summarize_issues(group))}")
        emit(f"           {_format_issue_location(group)}")
    n_more_kinds = len(groups) - MAX_KINDS
    if n_more_kinds > 0:
        emit(f"  … {n_more_kinds} more kinds of issues. Use --json to list all issues")


def _group_issues_by_kind(issues: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the issues of each kind, the most frequent kind first."""
    issues_by_kind: dict[str, list[dict[str, Any]]] = {}
    for issue in issues:
        issues_by_kind.setdefault(_get_issue_kind(issue), []).append(issue)
    return sorted(issues_by_kind.values(), key=len, reverse=True)


def _format_issue_location(group: list[dict[str, Any]]) -> str:
    """Format where the first issue of a kind is: `FILE:LINE and others`."""
    first = group[0]
    location = format_cell(first["file"])
    if first["line"]:
        location += f":{first['line']}"
    if len(group) > 1:
        location += " and others"
    return location


def _get_issue_kind(issue: dict[str, Any]) -> str:
    """Return the kind of an issue: the first sentence of its message, in which `…` replaces ids
    and numbers.
    """
    return _mask_ids_and_numbers(issue).partition(". ")[0]


def _summarize_issues(issues_of_kind: list[dict[str, Any]]) -> str:
    """Return the common message of issues: as it is, without ids and numbers, or only its kind."""
    first_issue = issues_of_kind[0]
    if len({issue["what"] for issue in issues_of_kind}) == 1:
        return str(first_issue["what"])
    if len({_mask_ids_and_numbers(issue) for issue in issues_of_kind}) == 1:
        return _mask_ids_and_numbers(first_issue)
    return _get_issue_kind(first_issue)


def _mask_ids_and_numbers(issue: dict[str, Any]) -> str:
    """Return the message of an issue in which `…` replaces the item's id and all numbers."""
    message = str(issue["what"])
    item_id = issue["item"]
    if item_id:
        message = message.replace(item_id, "…")
        # Repeated ids have a number: `ID#2`.
        first_id, _, _ = str(item_id).partition("#")
        if first_id:
            message = message.replace(first_id, "…")
    return _NUMBER.sub("…", message)


def _list_score_names() -> tuple[str, ...]:
    """Return the fields of `RunRow` that an import prints for each run."""
    from fcreview.store.rows import IMPORT_COUNTS

    return (*IMPORT_COUNTS, "not_run", "expected_items")


# counts by name (see `_list_score_names`), `problems` and `choices` by run
ScoresByRun = dict[int, dict[str, Any]]
# A worker imports one part at a time, because an import uses the whole process.
_import_lock = threading.Lock()


def _fetch_score_counts(workspace: Workspace) -> ScoresByRun:
    """Return the counts of verdicts of each run in a workspace, and problems with its scores."""

    from fcreview.store.store import Store

    with Store.open(workspace) as store:
        rows = store.fetch_runs()
        checks = store.check_runs(rows)
    scores: ScoresByRun = {}
    for row, check in zip(rows, checks, strict=True):
        counts = {name: getattr(row, name) for name in _list_score_names()}
        scores[row.run] = {**counts, "problems": check.summary, "choices": _list_choices(row.info)}
    return scores


def _list_choices(run: Run) -> list[dict[str, Any]]:
    """Return the notable decisions that the importer made in reading a run, such as the decoder,
    each with its reason.
    """
    facts = [fact for fact in run.facts.values() if fact.is_notable]
    return [{"name": fact.name, "value": fact.value, "reason": fact.reason} for fact in facts]


def _parse_part(text: str | None) -> LakePart:
    """Parse the value of --part without --dask. Without the option, the part is the whole."""
    from fcreview.store.lake.writer import LakePart

    match = re.fullmatch(r"(?P<number>\d{1,6})/(?P<parts>\d{1,6})", text or "1/1")
    if match is not None:
        number = int(match["number"])
        n_parts = int(match["parts"])
        if 1 <= number <= n_parts:
            return LakePart(number, n_parts)
    raise UsageError(f"--part {text} is invalid. Pass K/N with K from 1 to N, such as 1/4")


def _parse_part_count(text: str | None) -> int | None:
    """Parse the value of --part with --dask, the number of parts. None without the option."""
    if text is None:
        return None
    if not re.fullmatch(r"[1-9]\d{0,5}", text):
        raise UsageError(
            f"--part {text} is invalid. With --dask, pass the number of parts, such as 16"
        )
    return int(text)


def _import_part(
    options: WorkspaceOptions,
    config: Config,
    location: str,
    part: LakePart,
    n_workers: int | None = None,
) -> tuple[ImportSummary, ScoresByRun]:
    """Import a part of the runs into a lake. Return its summary and the counts of verdicts by run.

    A large import is divided into parts, which several machines can import at the same time.
    `n_workers` is the number of processes; None lets fcreview choose. Raises CommandError if the
    lake cannot be written.
    """
    from fcreview.importers.registry import read_items
    from fcreview.store.importing.source_files import DatasetOptions
    from fcreview.store.lake.lake_files import open_lake_files
    from fcreview.store.lake.writer import LakeImport, import_part

    _check_lake_folder(location)
    discovered = _discover_runs(options, config)
    scores: ScoresByRun = {}

    def prepare_plans(plans: Sequence[RunPlan], workspace: Workspace) -> None:
        set_options_and_errata(plans, options, config, workspace)

    def save_score_counts(workspace: Workspace, lake_run_numbers: dict[int, int]) -> None:
        scores.update(_renumber_runs(_fetch_score_counts(workspace), lake_run_numbers))

    with Progress() as progress:
        lake = LakeImport(
            open_lake_files(location),
            paths=sorted(path.resolve() for path in options.paths),
            read=read_items,
            prepare=prepare_plans,
            dataset_options=DatasetOptions(resolve_data_option(options)),
            on_progress=progress,
            n_workers=n_workers,
            on_batch=save_score_counts,
        )
        try:
            summary = import_part(lake, discovered.plans, discovered.issues, part)
        except OSError as error:
            raise CommandError(
                f"fcreview cannot write to the lake {location}: {error.strerror or error}"
            ) from error
    return summary, scores


def _renumber_runs(scores: ScoresByRun, lake_run_numbers: dict[int, int]) -> ScoresByRun:
    """Return the counts by the number of a run in the lake. Each batch of an import is a temporary
    workspace, which numbers its runs in its own way.
    """
    return {
        lake_run_numbers[run]: counts for run, counts in scores.items() if run in lake_run_numbers
    }


def _use_names_of_lake(summary: ImportSummary, location: str) -> None:
    """Replace the run names in the summary of an import by the names in the complete lake.

    An import of a part of the lake knows only the runs of the part. Similar runs in other parts can
    change the name of a run.
    """
    from fcreview.store.store import Store, StoreError

    with tempfile.TemporaryDirectory(prefix="fcreview-lake-") as folder:
        try:
            with Store.open(locate_lake_workspace(location, Path(folder))) as store:
                names = store.run_names
        except StoreError:
            # The lake cannot be opened, so the names of this part stay.
            return
    for row in summary.runs:
        row["run_name"] = names.get(row["run"], row["run_name"])


def _check_lake_folder(location: str) -> None:
    """Raise CommandError if the folder has files but is not a lake, so that no other folder is
    changed.

    Temporary files are ignored, because the import of another part may be creating the lake.
    """
    folder = Path(location)
    if location.startswith("s3://") or not folder.is_dir():
        return

    names = []
    for name in os.listdir(folder):  # noqa: PTH208
        is_temporary = name.startswith(".") or name.endswith(".tmp")
        if not is_temporary:
            names.append(name)
    if names and LAKE_FILE not in names:
        raise CommandError(
            f"{location} contains files and is not a lake. Choose an empty folder for the lake"
        )


def _import_on_cluster(
    options: WorkspaceOptions, location: str, scheduler: str, n_parts: int | None
) -> tuple[ImportSummary, ScoresByRun]:
    """Import all runs at the paths into a lake, with the workers of a Dask cluster.

    The workers need access to the paths. Raises CommandError if the cluster cannot be used, or if a
    part failed.

    Args:
        scheduler: Address of the Dask scheduler, or its scheduler file.
        n_parts: Number of parts; None lets fcreview choose.
    """
    from fcreview.cli.dask_cluster import run_parts_on_cluster
    from fcreview.store.lake.writer import LakePart

    worker_options = _make_paths_absolute(options)

    def make_call(number: int, count: int) -> Sequence[Any]:
        """Return the function of a part and its arguments, which are sent to a worker."""
        return import_part_on_worker, worker_options, location, LakePart(number, count)

    outcomes = run_parts_on_cluster(scheduler, n_parts, make_call)
    _check_all_parts_succeeded(outcomes)
    return _merge_parts([outcome.result for outcome in outcomes if outcome.result is not None])


def _check_all_parts_succeeded(outcomes: Sequence[PartOutcome[Any]]) -> None:
    """Raise CommandError with the error of the first part that failed."""
    failures = [outcome for outcome in outcomes if outcome.result is None]
    if failures:
        first = failures[0]
        raise CommandError(
            f"{len(failures)} of {len(outcomes)} parts failed. The lake contains the other parts."
            f" part {first.number}/{len(outcomes)}: {first.error}"
        )


def _merge_parts(
    results: Sequence[tuple[ImportSummary, ScoresByRun]],
) -> tuple[ImportSummary, ScoresByRun]:
    """Join the summaries of all parts, and the counts of verdicts of their runs."""
    from fcreview.store.rows import ImportSummary

    summary = ImportSummary()
    scores: ScoresByRun = {}
    for summary_of_part, scores_of_part in results:
        summary.runs += summary_of_part.runs
        _add_new_issues(summary, summary_of_part.issues)
        scores |= scores_of_part
    return summary, scores


def _make_paths_absolute(options: WorkspaceOptions) -> WorkspaceOptions:
    """Make the paths independent of the working folder, which other processes do not share."""
    errata = options.errata
    if errata not in (None, NO_ERRATA):
        errata = os.path.abspath(errata)  # noqa: PTH100
    return replace(
        options,
        paths=[path.resolve() for path in options.paths],
        data=[path.resolve() for path in options.data or ()],
        errata=errata,
    )


def _add_new_issues(summary: ImportSummary, issues: Sequence[dict[str, Any]]) -> None:
    """Add the issues of a part. Each worker searches for runs, so that the results of all parts
    repeat the issues of the search, which belong to no run.
    """
    for issue in issues:
        if "run" in issue or issue not in summary.issues:
            summary.issues.append(issue)


def import_part_on_worker(
    options: WorkspaceOptions, location: str, part: LakePart
) -> tuple[ImportSummary, ScoresByRun]:
    """Import one part of the runs in a worker of a Dask cluster, in a single process."""
    with _import_lock:
        return _import_part(options, load_config(), location, part, n_workers=1)


def schema(
    command: Annotated[
        str | None,
        option(
            "--command NAME",
            "Print the schema of the lines of `fcreview NAME --json`, such as report or 'queue"
            " list'.",
        ),
    ] = None,
    commands: Annotated[
        bool, option("--commands", "List the commands whose JSON lines have a schema.")
    ] = False,
) -> None:
    """Print the JSON Schema of the generic format or a command.

    fcreview can import your own results if you write them as JSON Lines that match this schema
    (docs/generic.md). With --command, prints the schema of one line of a command's --json output.
    Its `version` changes if a field is removed or changes its meaning. New fields do not change it.

    Example: fcreview schema > fcreview.schema.json
    """
    if commands:
        if command is not None:
            raise UsageError("--command and --commands exclude each other. Pass only one of them")
        emit_lines(_list_commands_with_schema())
        return

    if command is not None:
        found = _build_command_schema(command)
    else:
        from fcreview.importers.generic_format.read import build_json_schema

        found = build_json_schema()
    emit(json.dumps(found, indent=2, ensure_ascii=True))


def _list_commands_with_schema() -> list[str]:
    from fcreview.cli.json_schemas.commands import LINES_BY_COMMAND

    return sorted(LINES_BY_COMMAND)


def _build_command_schema(command: str) -> dict[str, Any]:
    """Build the schema of a command's JSON lines. Raises UsageError if it has none."""
    from fcreview.cli.json_schemas.commands import LINES_BY_COMMAND
    from fcreview.cli.json_schemas.declaration import build_schema

    name = " ".join(command.split())
    if name not in LINES_BY_COMMAND:
        choices = ", ".join(_list_commands_with_schema())
        raise UsageError(f"no command {command!a} with a JSON schema: choose one of {choices}")
    return build_schema(name, LINES_BY_COMMAND[name])

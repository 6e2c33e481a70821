"""`fcreview runs`: list runs with their pass rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.options import JsonOption, WorkspaceOptions, option, workspace_command
from fcreview.cli.output import (
    check_choice,
    emit,
    emit_json,
    format_cell,
    format_table,
    print_warning,
)
from fcreview.cli.workspace_import import open_workspace
from fcreview.model.wording import (
    NO_ANSWERS,
    NO_DATASET_MESSAGE,
    format_corrected_rate,
    format_count,
    format_dataset_name,
    format_judge_rate,
    format_rate_with_count,
    format_recomputed_rate,
)
from fcreview.store.queries.runs import (
    GROUP_LABELS,
    SORT_KEYS,
    RunGroup,
    find_run_date_or_folder,
    group_runs,
    search_runs,
    sort_runs,
)

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.store.rows import RunRow

MAX_LISTED_RUNS = 10  # maximum number of run numbers in a warning
INCIDENTS_NOTE = (
    "An incident is an item without an answer, for a reason outside the question. List them with"
    " fcreview items --where incident:any."
)
NOT_RUN_NOTE = (
    "If items of the dataset have no result, the column items shows how many of them have one."
)
HEADERS = [
    "run",
    "benchmark",
    "name",
    "items",
    "official",
    "recomp.",
    "corrected",
    "reviewed",
    "part",
    "issues",
]


@workspace_command("annotator", "policy")
def runs(
    options: WorkspaceOptions,
    sort: Annotated[
        str,
        option("--sort KEY", f"Sort by {', '.join(SORT_KEYS)}. Numbers are sorted highest first."),
    ] = "run",
    reverse: Annotated[bool, option("--reverse", "Reverse the sort order.")] = False,
    group: Annotated[
        str | None,
        option(
            "--group BY", f"Group by {', '.join(GROUP_LABELS)}. The date comes from folder names."
        ),
    ] = None,
    only: Annotated[
        str,
        option(
            "--only TEXT", "List only runs with these words in benchmark, version, model or path."
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """List runs with their pass rates.

    Prints the official, the recomputed and the corrected pass rate. If only some items have a
    verdict, their number follows the rate. --json adds counts by category.

    Example: fcreview runs result/ --sort official --group model --only v3
    """
    check_choice(SORT_KEYS, sort, "--sort")
    grouping = check_choice(GROUP_LABELS, group, "--group") if group else ""
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        selected = _select_and_sort_runs(session, only, sort, reverse=reverse)
        groups = group_runs(selected, grouping)
        if as_json:
            _emit_runs_as_json(groups, shows_groups=bool(grouping))
            return
        if only and not selected:
            emit(f"None of {format_count(len(session.runs), 'run')} matches {format_cell(only)}")
            return

        _print_run_table(groups, shows_groups=bool(grouping))
        _print_notes(selected)


def _emit_runs_as_json(groups: Sequence[RunGroup], *, shows_groups: bool) -> None:
    for run_group in groups:
        for row in run_group.runs:
            fields = _build_run_json(row)
            if shows_groups:
                fields["group"] = run_group.name
            emit_json(fields)


def _print_notes(selected: Sequence[RunRow]) -> None:
    """Print the number of runs, and explain what the table shows of some of them."""
    n_runs = format_count(len(selected), "run")
    emit("", f"{n_runs}. If only some items have a verdict, their number follows the rate.")
    if any(row.incidents for row in selected):
        emit(INCIDENTS_NOTE)
    if any(row.not_run for row in selected):
        emit(NOT_RUN_NOTE)

    numbers = [str(row.run) for row in selected if row.info.lacks_dataset]
    if numbers:
        listed = ", ".join(numbers[:MAX_LISTED_RUNS])
        n_more = len(numbers) - MAX_LISTED_RUNS
        if n_more > 0:
            listed += f" and {n_more:,} more"
        print_warning(f"run {listed}: {NO_DATASET_MESSAGE}")


def _select_and_sort_runs(
    session: WorkspaceSession, search_text: str, sort: str, *, reverse: bool
) -> list[RunRow]:
    """Select and sort runs.

    In a lake, run numbers are hashes, so that the default order is by benchmark and model.
    """
    matching = search_runs(session.runs, search_text)
    if sort == "run" and session.workspace.lake is not None:
        return sorted(matching, key=_get_dataset_and_model, reverse=reverse)
    return sort_runs(matching, sort, reverse=reverse)


def _get_dataset_and_model(row: RunRow) -> tuple[str, ...]:
    info = row.info
    return info.benchmark, info.generation, info.language, info.model, info.path


def _print_run_table(groups: Sequence[RunGroup], *, shows_groups: bool) -> None:
    """Print a line for each run, and a second line for a run with incidents."""
    # One table for all groups gives each of them the same columns. Its lines are printed one run
    # after the other, below the heading of their group.
    cells: list[list[str]] = []
    for run_group in groups:
        for row in run_group.runs:
            cells.append(_format_run_cells(row))
            if row.incidents:
                cells.append(_format_cells_without_incidents(row))
    heading, *lines = format_table(HEADERS, cells, right_aligned=(0, *range(3, 10)), max_width=60)

    emit(heading)
    remaining_lines = iter(lines)
    for run_group in groups:
        if shows_groups:
            name = format_cell(run_group.name) or "(none)"
            emit(f"{name}: {format_count(len(run_group.runs), 'run')}")
        for row in run_group.runs:
            emit(next(remaining_lines))
            if row.incidents:
                emit(next(remaining_lines))


def _format_cells_without_incidents(row: RunRow) -> list[str]:
    """Return the cells of the line below a run with incidents: the figures without them."""
    title = f"  without {format_count(row.incidents, 'incident')}"
    official = _format_official_rate_without_incidents(row)
    recomputed = format_recomputed_rate(
        row.rule_pass_without_incidents,
        row.rule_known_without_incidents,
        row.n_answered,
        lacks_dataset=row.info.lacks_dataset,
    )
    corrected = format_rate_with_count(
        row.effective_pass_without_incidents,
        row.effective_known_without_incidents,
        row.n_answered,
    )
    return ["", "", title, f"{row.n_answered:,}", official, recomputed, corrected, "", "", ""]


def _format_official_rate_without_incidents(row: RunRow) -> str:
    if not row.n_answered:
        return NO_ANSWERS
    # The verdicts of a judge take the place of official verdicts that a run does not have.
    if row.has_only_judge_verdicts:
        return format_judge_rate(
            row.judge_pass_without_incidents, row.judge_known_without_incidents, row.n_answered
        )
    return format_rate_with_count(
        row.official_pass_without_incidents,
        row.official_known_without_incidents,
        row.n_answered,
    )


def _format_run_cells(row: RunRow) -> list[str]:
    info = row.info
    return [
        str(row.run),
        format_cell(format_dataset_name(info.benchmark, info.generation, info.language)),
        row.run_name,
        row.items_text,
        row.official_rate_text,
        format_recomputed_rate(
            row.rule_pass, row.rule_known, row.n_items, lacks_dataset=info.lacks_dataset
        ),
        format_corrected_rate(row.effective_pass, row.effective_known, row.n_items, row.disputed),
        f"{row.reviewed:,}",
        f"{row.in_part:,}",
        f"{row.n_issues:,}",
    ]


def _build_run_json(row: RunRow) -> dict[str, Any]:
    """Build the flat JSON object of a run. `date` is the date in the name of a parent folder, or
    the name of the folder if it contains no date. Each fact is two fields: NAME and NAME_reason.
    """
    fields = asdict(row)
    info = fields.pop("info")
    facts: dict[str, Any] = {}
    for fact in info.pop("facts").values():
        facts[fact["name"]] = fact["value"]
        facts[f"{fact['name']}_reason"] = fact["reason"]
    names = {"run": fields.pop("run"), "run_name": fields.pop("run_name")}
    return {**names, **facts, **info, "date": find_run_date_or_folder(row), **fields}

"""`fcreview runs`: list runs with their pass rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.options import JsonOption, WorkspaceOptions, option, workspace_command
from fcreview.cli.output import (
    check_choice,
    emit,
    emit_json,
    emit_lines,
    format_cell,
    format_figure,
    print_warning,
)
from fcreview.cli.report_data import MAX_RUNS_WITH_OWN_SCORE, compute_own_scores
from fcreview.cli.workspace_import import open_workspace
from fcreview.model.metric import OwnScore
from fcreview.model.wording import NO_DATASET_MESSAGE, format_count
from fcreview.store.queries.runs import (
    GROUP_LABELS,
    SORT_KEYS,
    RunGroup,
    find_run_date_or_folder,
    group_runs,
    make_run_figures,
    search_runs,
    sort_runs,
)
from fcreview.tables.runs import OwnScores, RunFiguresGroup, build_run_list

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.store.rows import RunRow

OWN_SCORES_NOTE = (
    f"Only the first {MAX_RUNS_WITH_OWN_SCORE} runs have their benchmark's own metric. Use fcreview"
    " report for the others."
)
MAX_LISTED_RUNS = 10  # maximum number of run numbers in a warning
INCIDENTS_NOTE = (
    "An incident is an item without an answer, for a reason outside the question. List them with"
    " fcreview items --where incident:any."
)
NOT_RUN_NOTE = (
    "If items of the dataset have no result, the column items shows how many of them have one."
)


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

    Prints the benchmark's own metric, and the share of items that pass by official, recomputed and
    corrected verdicts. If only some items have a verdict, their number follows the rate. --json
    adds counts by category.

    Example: fcreview runs result/ --sort official --group model --only v3
    """
    check_choice(SORT_KEYS, sort, "--sort")
    grouping = check_choice(GROUP_LABELS, group, "--group") if group else ""
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        selected = _select_and_sort_runs(session, only, sort, reverse=reverse)
        groups = group_runs(selected, grouping)
        own_scores = compute_own_scores(session.store.analysis, selected)
        if as_json:
            _emit_runs_as_json(groups, own_scores, shows_groups=bool(grouping))
            return
        if only and not selected:
            emit(f"None of {format_count(len(session.runs), 'run')} matches {format_cell(only)}")
            return

        table = build_run_list(
            _build_figure_groups(groups, own_scores, shows_groups=bool(grouping))
        )
        emit_lines(format_figure(table))
        _print_notes(selected, table.notes)


def _emit_runs_as_json(
    groups: Sequence[RunGroup], own_scores: OwnScores, *, shows_groups: bool
) -> None:
    """Print a JSON object for each run, with its group if the runs are grouped."""
    for run_group in groups:
        for row in run_group.runs:
            fields = _build_run_json(row, own_scores.get(row.run))
            if shows_groups:
                fields["group"] = run_group.name
            emit_json(fields)


def _print_notes(selected: Sequence[RunRow], notes: Sequence[str]) -> None:
    """Print notes below the table of runs: their number, and what is special about some of them."""
    n_runs = format_count(len(selected), "run")
    emit("", f"{n_runs}. If only some items have a verdict, their number follows the rate.")
    emit_lines(notes)
    if len(selected) > MAX_RUNS_WITH_OWN_SCORE:
        emit(OWN_SCORES_NOTE)
    if any(row.incidents for row in selected):
        emit(INCIDENTS_NOTE)
    if any(row.not_run for row in selected):
        emit(NOT_RUN_NOTE)
    _warn_of_missing_datasets(selected)


def _warn_of_missing_datasets(selected: Sequence[RunRow]) -> None:
    """Warn of the runs that were imported without their dataset."""
    numbers = [str(row.run) for row in selected if row.info.lacks_dataset]
    if not numbers:
        return
    listed = ", ".join(numbers[:MAX_LISTED_RUNS])
    n_more = len(numbers) - MAX_LISTED_RUNS
    if n_more > 0:
        listed += f" and {n_more:,} more"
    print_warning(f"run {listed}: {NO_DATASET_MESSAGE}")


def _select_and_sort_runs(
    session: WorkspaceSession, search_text: str, sort: str, *, reverse: bool
) -> list[RunRow]:
    """Return the runs that match a search text, sorted by `sort`.

    In a lake, run numbers are hashes. So the order `run`, the default, is by benchmark and model
    there.
    """
    matching = search_runs(session.runs, search_text)
    if sort == "run" and session.workspace.lake is not None:
        return sorted(matching, key=_get_dataset_and_model, reverse=reverse)
    return sort_runs(matching, sort, reverse=reverse)


def _get_dataset_and_model(row: RunRow) -> tuple[str, ...]:
    info = row.info
    return info.benchmark, info.generation, info.language, info.model, info.path


def _build_figure_groups(
    groups: Sequence[RunGroup], own_scores: OwnScores, *, shows_groups: bool
) -> list[RunFiguresGroup]:
    """Return the figures of the runs by group, with a heading such as `gpt-4o: 3 runs`.

    Without grouping, there is one group without a heading.
    """
    figure_groups = []
    for run_group in groups:
        heading = ""
        if shows_groups:
            name = format_cell(run_group.name) or "(none)"
            heading = f"{name}: {format_count(len(run_group.runs), 'run')}"
        figures = []
        for row in run_group.runs:
            figures.append(replace(make_run_figures(row), own=own_scores.get(row.run)))
        figure_groups.append(RunFiguresGroup(heading, figures))
    return figure_groups


def _build_run_json(row: RunRow, own: OwnScore | None) -> dict[str, Any]:
    """Build the flat JSON object of a run.

    A fact about the run, such as its decoder, is two fields: NAME and NAME_reason. `date` is the
    date in the name of a parent folder, or the name of the folder if it contains no date.
    `own_metric`, `own_value` and `own_unit` are the benchmark's own metric, or null.
    """
    fields = asdict(row)
    info = fields.pop("info")
    facts: dict[str, Any] = {}
    for fact in info.pop("facts").values():
        facts[fact["name"]] = fact["value"]
        facts[f"{fact['name']}_reason"] = fact["reason"]

    # The fields that name the run come first.
    names = {"run": fields.pop("run"), "run_name": fields.pop("run_name")}
    date = {"date": find_run_date_or_folder(row)}
    return {**names, **facts, **info, **date, **fields, **_build_own_score_json(own)}


def _build_own_score_json(own: OwnScore | None) -> dict[str, Any]:
    if own is None:
        return {"own_metric": None, "own_value": None, "own_unit": None}
    return {"own_metric": own.title, "own_value": own.value, "own_unit": own.unit}

"""`fcreview calibrate`: measure automatic verdicts against adjudicated and agreed human
verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.options import (
    JsonOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import check_choice, emit, emit_json, emit_lines, format_cell, print_table
from fcreview.cli.workspace_import import open_workspace
from fcreview.model.wording import format_verdict
from fcreview.stats.calibration import (
    CALIBRATION_SCOPES,
    MAX_ERROR_GROUPS,
    MEASURE_LABELS,
    NO_PAIRS_MESSAGE,
    NOTES,
    CalibrationScope,
    VerdictPair,
    describe_selection,
    format_error,
    format_measures,
    format_source_and_criterion,
)

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.stats.calibration import Calibration, ConfusionCell, ErrorGroup

FilterBuilder = Callable[..., str | None]  # `_build_cell_filter` without its first two parameters
# JSON keys that differ from the names of their fields
_JSON_KEYS = {
    "automatic": "said",
    "human": "settled",
}


@workspace_command("policy")
def calibrate(
    options: WorkspaceOptions,
    where: WhereOption = "",
    run: RunOption = None,
    by: Annotated[
        list[str] | None,
        option(
            "--by NAME",
            f"Table to print: {', '.join(CALIBRATION_SCOPES)}. You can repeat the option.",
            show_default="all tables",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure checkers and judges against human labels.

    Prints a confusion matrix, TPR, TNR, precision, F1 and kappa with confidence intervals for each
    source (official, recomputed, each judge) and criterion. Tables by benchmark, category, tier and
    error type follow. The last table has the most frequent errors of each source, with filters.
    docs/calibration.md explains the measures.

    Example: fcreview calibrate runs/gpt4o --by category --where benchmark:bfcl
    """
    for each in by or ():
        check_choice(CALIBRATION_SCOPES, each, "--by")
    scopes = [scope for scope in CALIBRATION_SCOPES if not by or scope in by]
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        view = session.build_view(where, run=run, queue="dataset")
        verdict_pairs = session.store.analysis.fetch_verdict_pairs(view)
        base_filter = (
            view.where
            if run is None
            else f"{view.where} run:{session.find_run_number(run)}".strip()
        )
        build_filter = partial(_build_cell_filter, session, base_filter)
        (_print_calibration_json if as_json else _print_calibration_tables)(
            build_filter, verdict_pairs, scopes
        )


def _build_cell_filter(
    session: WorkspaceSession,
    base_filter: str,
    group: Calibration | ErrorGroup,
    cell: ConfusionCell | ErrorGroup,
    scope: str,
) -> str | None:
    """Build the filter that selects the items of a cell.

    Return None if it would have to list too many item ids.
    """
    from fcreview.store.queries.estimation import CalibrationCell

    verdicts = cell.automatic, cell.human
    found = CalibrationCell(group.source, group.criterion, *verdicts, scope, group.name, cell.items)
    return session.store.analysis.build_cell_filter(base_filter, found)


def _print_calibration_json(
    build_filter: FilterBuilder,
    verdict_pairs: Sequence[VerdictPair],
    scopes: Sequence[CalibrationScope],
) -> None:
    """Print a JSON object for each calibration, and then for each group of frequent errors.

    The key `said` is the automatic verdict, and `settled` the human verdict. `where` is a filter
    that selects the items.
    """
    from fcreview.stats.calibration import compute_calibrations, find_error_groups

    for group in compute_calibrations(verdict_pairs, scopes):
        cells = [
            _build_group_json(cell) | {"where": build_filter(group, cell, group.scope)}
            for cell in group.cells
        ]
        emit_json({"kind": "calibration"} | asdict(group) | {"cells": cells})
    for kind in find_error_groups(verdict_pairs):
        emit_json(
            {"kind": "wrong"}
            | _build_group_json(kind)
            | {"where": build_filter(kind, kind, kind.by)}
        )


def _build_group_json(group: ConfusionCell | ErrorGroup) -> dict[str, Any]:
    return {
        _JSON_KEYS.get(name, name): value
        for name, value in asdict(group).items()
        if name != "items"
    }


def _print_calibration_tables(
    build_filter: FilterBuilder,
    verdict_pairs: Sequence[VerdictPair],
    scopes: Sequence[CalibrationScope],
) -> None:
    from fcreview.stats.calibration import compute_calibrations, find_error_groups

    if not verdict_pairs:
        emit(NO_PAIRS_MESSAGE)
        return
    emit_lines(describe_selection(verdict_pairs))
    emit_lines(NOTES)

    calibrations = compute_calibrations(verdict_pairs, scopes)
    for scope, groups_of_scope in groupby(calibrations, lambda group: group.scope):
        groups = list(groups_of_scope)
        if scope == "overall":
            _print_confusion_matrices(build_filter, groups)
        # A scope with one group would repeat the overall table.
        n_names = len({group.name for group in groups})
        if scope == "overall" or n_names > 1:
            _print_measures(groups, scope)

    error_groups = list(find_error_groups(verdict_pairs))
    if error_groups:
        _print_error_groups(build_filter, error_groups)


def _print_confusion_matrices(build_filter: FilterBuilder, groups: Sequence[Calibration]) -> None:
    """Print a row for each pair of an automatic and a human verdict. Only the first row of a group
    names its source and criterion.
    """
    rows = []
    for group in groups:
        name_cells = list(format_source_and_criterion(group))
        for cell in group.cells:
            automatic = format_verdict(cell.automatic, group.criterion)
            human = format_verdict(cell.human, group.criterion)
            item_filter = build_filter(group, cell, group.scope) or ""
            rows.append([*name_cells, automatic, human, f"{cell.n:,}", format_cell(item_filter)])
            name_cells = ["", ""]

    emit()
    headers = ["source", "criterion", "verdict", "human", "n", "filter"]
    print_table(headers, rows, right_aligned=(4,), max_width=36)


def _print_measures(groups: Sequence[Calibration], scope: CalibrationScope) -> None:
    """Print a row with TPR, TNR and the other measures for each group of a scope."""
    is_overall = scope == "overall"
    emit("", scope if is_overall else f"by {scope}")

    headers = ["source", "criterion", "n", "chosen", *MEASURE_LABELS.values()]
    if not is_overall:
        headers.insert(0, scope)

    rows = []
    for group in groups:
        measures = format_measures(group.rates).values()
        row = [*format_source_and_criterion(group), f"{group.n:,}", group.chosen, *measures]
        if not is_overall:
            row.insert(0, format_cell(group.name))
        rows.append(row)
    print_table(headers, rows, right_aligned=(headers.index("n"),), max_width=32)


def _print_error_groups(build_filter: FilterBuilder, error_groups: Sequence[ErrorGroup]) -> None:
    """Print the most frequent kinds of errors of each source and criterion."""
    emit("", "most frequent errors")
    rows = []
    for _, groups_of_source in groupby(
        error_groups, lambda group: (group.source, group.judge, group.criterion)
    ):
        most_frequent = sorted(groups_of_source, key=lambda group: group.wrong, reverse=True)
        for group in most_frequent[:MAX_ERROR_GROUPS]:
            rows.append(_build_error_row(build_filter, group))

    headers = ["source", "criterion", "by", "kind", "verdict", "wrong", "filter"]
    print_table(headers, rows, right_aligned=(5,), max_width=32)


def _build_error_row(build_filter: FilterBuilder, group: ErrorGroup) -> list[str]:
    item_filter = build_filter(group, group, group.by) or ""
    return [
        *format_source_and_criterion(group),
        group.by,
        format_cell(group.name),
        format_error(group),
        f"{group.wrong:,} of {group.of:,}",
        format_cell(item_filter),
    ]
